//! All tests of this folder as one program: linking one for each file took most of the build.

mod certificates;
mod examples;
mod language;
mod lockstep;
mod mutants;
mod prove;
mod random;
mod returns;
mod sets;
mod soft;
