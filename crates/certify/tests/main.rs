//! All tests of this folder as one program: linking one for each file took most of the build.

mod abstract_buffers;
mod by_hand;
mod forged;
mod persistent;
mod random_programs;
mod support;
mod text;
mod ticket;
