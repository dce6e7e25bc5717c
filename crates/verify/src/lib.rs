//! From a question to a verdict: reduce, abstract, check, simulate, refine; then evidence.
//! `holds` comes with an inductive invariant that `palisade-certify` has checked;
//! `violated` with a run that `palisade-machine` has replayed.
//!
//! Read in this order:
//!
//! | file | term |
//! |---|---|
//! | [`question`] | a program, a memory model, options |
//! | [`portfolio`] | what is tried, in which order, within which limits: data |
//! | [`schedule`] | the loop over it |
//! | [`answer`] | a proof, a run, or a gap that says what was missing; the report |
//! | [`reduction`] | everything that changes the program first, and the way back |
//! | [`method`] | the searches |
//! | [`evidence`] | replay and certificates |
//! | [`knowledge`] | what one verification leaves for the next |

// A new kind of step must be thought of in every place that tells steps apart.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod answer;
pub mod evidence;
pub mod knowledge;
pub mod method;
pub mod portfolio;
pub mod question;
pub mod reduction;
pub mod schedule;

pub use answer::{Answer, Attempt, Gap, Progress, Report, Stats, StuckStep, Vacuity, Weak};
pub use knowledge::Knowledge;
pub use method::falsify::{Bug, falsify};
pub use method::parameterised::refusal;
pub use method::prepare::{Prepared, prepare};
pub use palisade_certify::Certificate;
pub use question::{Buffers, Extrapolate, Goal, Keep, Options, Promote, Sharing, Sizes, Strategy};
pub use reduction::generalise::{Threads, with_threads};
pub use reduction::joins::waits_for_all;
pub use reduction::model::{cell_values, stored_values};
pub use schedule::{check_given, verify, verify_threads, verify_with};
