//! All tests of this folder as one program: linking one for each file took most of the build.

mod agreement;
mod common;
mod interpolate;
mod lower;
mod normal_form;
mod session;
