//! All tests of this folder as one program: linking one for each file took most of the build.

mod embedding;
mod examples;
mod input;
mod laws;
mod models;
mod mutate;
mod output;
mod random;
