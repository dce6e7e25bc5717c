//! A memory model is a *reduction* Program -> Program: the store
//! buffers of the model become variables of the program, its buffer steps become
//! steps of the program, and the result runs under SC. What the engines know of
//! TSO, PSO and RMA they know from here; the concrete machine and the certificate
//! checker have their own accounts.
//!
//! | file | term |
//! |---|---|
//! | [`reduced`] | a reduced program and what its parts stand for |
//! | [`blocks`] | building blocks of steps |
//! | [`unbuffered`] | which stores need no buffer |
//! | [`need`] | how large buffers can get |
//! | [`summary`] | the abstract part of a buffer |
//! | [`tso`] | one buffer per thread |
//! | [`pso`] | one buffer per thread and variable |
//! | [`rma`] | pending remote operations |
//! | [`remote_atomics`] | pending compare-and-swap, fetch-and-op, accumulate |
//! | [`value_sets`] | all values that pending operations may write |

// A new kind of step must be thought of in every place that tells steps apart.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod blocks;
pub mod need;
pub mod pso;
pub mod reduced;
pub mod remote_atomics;
pub mod rma;
pub mod summary;
pub mod tso;
pub mod unbuffered;
pub mod value_sets;
