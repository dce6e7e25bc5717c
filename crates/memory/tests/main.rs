//! All tests of this folder as one program: linking one for each file took most of the build.

mod abstract_buffers;
mod common;
mod faults;
mod random;
mod rma;
mod shapes;
mod unbuffered;
