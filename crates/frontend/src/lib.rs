//! Front ends: source text in, [`Program`](palisade_program::Program) out.
//!
//! First stage of the pipeline. A front end reads the whole of its input, reports
//! as many errors as it can find in one run, each at its exact span with a
//! remedy, and lowers what is right to the one IR that all engines read.
//! A construct that a front end does not support is a located error, never a guess.
//!
//! | module | term |
//! |---|---|
//! | [`diagnostic`] | errors and warnings with spans, and how they are shown |
//! | [`pal`] | the `.pal` language: parse, format, print |
//! | [`litmus`] | herd's `.litmus` format |

pub mod diagnostic;
pub mod litmus;
pub mod pal;

pub use diagnostic::{Diagnostic, Diagnostics, Severity};
