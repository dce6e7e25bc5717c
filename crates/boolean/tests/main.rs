//! All tests of this folder as one program: linking one for each file took most of the build.

mod broadcast;
mod export;
mod language;
mod many;
mod plain;
mod templates;
mod two_phases;
