//! Certificates: inductive invariants as evidence for `holds`, their text, and
//! the independent check.
//!
//! `verify` turns what its engine found into a [`Certificate`]; [`check()`]
//! confirms it with its own derivation of the program's steps under SC, TSO,
//! PSO, RMA and RC11 and a fresh solver session. This crate shares nothing with
//! `palisade-memory`, `palisade-abstraction`, `palisade-checker` and
//! `palisade-machine`: a wrong reduction or a wrong transformer cannot certify
//! itself.
//!
//! | file | term |
//! |---|---|
//! | [`certificate`] | what a certificate is and means |
//! | [`state`], [`buffer`] | state variables, shapes of store buffers |
//! | [`buffer_summary`] | abstract buffers: long ones, known in part |
//! | `histories` | RC11: messages, views, the SC order |
//! | `reach` | all reachable states, found by the check |
//! | `unbuffered` | stores that need no buffer |
//! | `interference` | accesses at which a thread need not stop |
//! | [`remote`], [`remote_atomic`] | pending remote operations |
//! | [`fingerprint`] | which program a certificate is for |
//! | [`stops`] | where a thread can be interrupted |
//! | `steps` | steps under a memory model, run symbolically |
//! | `initial`, `property` | initial states, `never` and `finally` |
//! | `deadlock` | that some step is possible |
//! | `progress` | that no thread spins for ever |
//! | `shift` | the rules for counters that are shifted together |
//! | `views` | any number of threads: invariants over some of them |
//! | `worker`, `judge` | obligations and how they are proved |
//! | `context`, `index`, `wellformed` | tables of one check, lookup of controls, form |
//! | [`check`](mod@check) | the whole check |
//! | [`refusal`] | why a certificate is not accepted |
//! | [`places`] | an invariant by place, for people |
//! | [`print`](mod@print), [`parse`](mod@parse), `atom_text`, `token`, `names` | the text of a certificate |

// A new kind of step must be thought of in every place that tells steps apart.
#![warn(clippy::wildcard_enum_match_arm)]

mod atom_text;
pub mod buffer;
pub mod buffer_summary;
pub mod certificate;
pub mod check;
mod context;
mod deadlock;
mod expression;
pub mod fingerprint;
mod histories;
mod index;
mod initial;
mod interference;
mod judge;
mod names;
pub mod parse;
pub mod places;
pub mod print;
mod progress;
mod property;
mod reach;
pub mod refusal;
pub mod remote;
pub mod remote_atomic;
mod shift;
pub mod state;
mod steps;
pub mod stops;
mod token;
mod unbuffered;
mod views;
mod wellformed;
mod worker;

pub use buffer::{Buffer, Item};
pub use buffer_summary::{BufferSummary, Keep, SummaryInvariant};
pub use certificate::{Certificate, Control, Counters, Cube, Entry, Kind, Reachable, Summary};
pub use check::{Checked, Options, check};
pub use fingerprint::Fingerprint;
pub use interference::{
    AccessLoc, Disturbances, candidates, disturbed, empty_buffers, stops_passing,
};
pub use parse::{ParseError, parse};
pub use print::print;
pub use refusal::{Reason, Refusal, Site};
pub use remote::{Operation, Pending, operations, set_of};
pub use remote_atomic::{AtomicOperation, PendingAtomic, atomic_operations};
pub use state::StateVar;
pub use unbuffered::confirm_unbuffered;
