//! All tests of this folder as one program.

mod together;
mod work;
