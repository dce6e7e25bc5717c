//! Differential testing by the million [Groce et al., ICSE 2007]: random small programs, each decided
//! twice by accounts that share neither reductions nor search. A difference is reduced to a few
//! lines before it is reported.
//!
//! | file | what |
//! |---|---|
//! | [`rows`] | the table: what is generated, how it is compared, how many of them |
//! | [`campaign`] | runs a row: seeds in turn, on several threads, counts |
//! | [`mod@reference`] | a naive interpreter of the memory models |
//! | `compare` | machine, proofs, parameterised proofs, repairs: each against another account |
//!
//! Tests run a few programs of every row; `make soak` runs a million.

pub mod campaign;
mod compare;
pub mod reference;
pub mod rows;

pub use campaign::{Counts, run};
pub use rows::{ROWS, Row};

/// What came of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both accounts say that it holds; the proof was certified.
    Holds,
    /// Both accounts have a violation.
    Violated,
    /// The engine under test did not decide.
    Unknown,
    /// The program was not compared: too large for the other account, or not of the row's kind.
    Skipped,
}

/// What the accounts say of a program that they do not agree about.
pub type Difference = String;
