//! What bounds a query, and the *reason* why one stayed unknown. A limit never
//! turns into an answer: it makes the answer unknown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limits of a prover's queries; clones share the cancellation flag.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Longest time for one query.
    pub query: Option<Duration>,
    /// When everything must end.
    pub deadline: Option<Instant>,
    /// Set from anywhere (Ctrl-C, another worker) to end all queries.
    pub cancel: Arc<AtomicBool>,
}

/// Why a query has no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    /// The cancellation flag was set.
    #[error("cancelled")]
    Cancelled,
    /// The deadline of the whole run passed.
    #[error("the time limit was reached")]
    Deadline,
    /// The query took longer than one query may.
    #[error("a solver query exceeded its time limit")]
    QueryTime,
    /// The solver gave up; its own words.
    #[error("the solver gave up: {0}")]
    Solver(String),
    /// There is a model, but it has numbers beyond 128 bits.
    #[error("a model has numbers beyond 128 bits")]
    ModelTooLarge,
    /// The solver's model does not satisfy the formulas when evaluated here.
    #[error("the solver's model does not satisfy the query")]
    ModelRejected,
}

impl Limits {
    /// The reason to stop, if one applies to a query begun at `started`.
    pub fn exceeded(&self, started: Instant) -> Option<Reason> {
        if self.cancel.load(Ordering::Relaxed) {
            return Some(Reason::Cancelled);
        }
        if self.deadline.is_none() && self.query.is_none() {
            return None;
        }
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Reason::Deadline);
        }
        let spent = now.duration_since(started);
        self.query
            .is_some_and(|limit| spent >= limit)
            .then_some(Reason::QueryTime)
    }

    /// Time left for a query begun at `started`.
    pub(crate) fn remaining(&self, started: Instant) -> Option<Duration> {
        let now = Instant::now();
        let of_query = self
            .query
            .map(|q| q.saturating_sub(now.duration_since(started)));
        let of_run = self.deadline.map(|d| d.saturating_duration_since(now));
        of_query.into_iter().chain(of_run).min()
    }
}
