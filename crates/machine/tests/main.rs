//! All tests of this folder as one program: linking one for each file took most of the build.

mod axioms;
mod common;
mod explore;
mod litmus;
mod partial_order;
mod random;
mod random_schedule;
mod rc11;
mod replay;
mod storage;
mod symmetry;
