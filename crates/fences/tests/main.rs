//! All tests of this folder as one program: linking one for each file took most of the build.

mod cases;
mod common;
mod flushes;
mod minimality;
mod orders;
mod patches;
mod rmm;
mod shared_work;
