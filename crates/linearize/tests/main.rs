//! All tests of this folder as one program: linking one for each file took most of the build.

mod certificates;
mod examples;
mod language;
mod lockstep;
mod mutants;
mod naive;
mod objects;
mod prove;
mod random;
mod relaxed;
mod returns;
mod sets;
mod soft;
