//! Counters of queries, by *purpose*. Shared between provers (of several
//! threads) through an `Arc`; reading them while queries run is allowed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a query is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Purpose {
    /// Building the abstract transformer.
    Abstract,
    /// Deciding whether an abstract state passes a guard.
    Guard,
    /// Replaying an abstract trace symbolically.
    Simulate,
    /// Finding new predicates.
    Refine,
    /// Computing and re-checking interpolants.
    Interpolate,
    /// Checking a certificate.
    Certify,
    /// Anything else.
    Other,
}

impl Purpose {
    /// All purposes, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Abstract,
        Self::Guard,
        Self::Simulate,
        Self::Refine,
        Self::Interpolate,
        Self::Certify,
        Self::Other,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Abstract => "abstract",
            Self::Guard => "guard",
            Self::Simulate => "simulate",
            Self::Refine => "refine",
            Self::Interpolate => "interpolate",
            Self::Certify => "certify",
            Self::Other => "other",
        }
    }
}

/// What answered a query.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// By form: a false literal, a literal beside its negation.
    Trivial,
    /// The same set of literals was asked before.
    Exact,
    /// A stored model satisfies all literals.
    Model,
    /// A stored core is among the literals.
    Core,
    /// The procedure for difference bounds.
    Difference,
    /// Z3.
    Solver,
}

impl Source {
    /// All sources, in the order in which they are tried.
    pub const ALL: [Self; 6] = [
        Self::Trivial,
        Self::Exact,
        Self::Model,
        Self::Core,
        Self::Difference,
        Self::Solver,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Exact => "exact",
            Self::Model => "model",
            Self::Core => "core",
            Self::Difference => "difference",
            Self::Solver => "solver",
        }
    }
}

/// Shared counters.
#[derive(Debug, Default)]
pub struct SolverStats {
    answers: [[AtomicU64; Source::ALL.len()]; Purpose::ALL.len()],
    calls: [AtomicU64; Purpose::ALL.len()],
    nanoseconds: [AtomicU64; Purpose::ALL.len()],
}

impl SolverStats {
    /// Counts one answer.
    pub fn count(&self, purpose: Purpose, source: Source) {
        self.answers[purpose as usize][source as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one call of Z3, answered or not, and its time.
    pub fn count_call(&self, purpose: Purpose, time: Duration) {
        self.calls[purpose as usize].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds[purpose as usize].fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Answers to queries of `purpose` that came from `source`.
    pub fn answers(&self, purpose: Purpose, source: Source) -> u64 {
        self.answers[purpose as usize][source as usize].load(Ordering::Relaxed)
    }

    /// Time spent in Z3 for `purpose`.
    pub fn time(&self, purpose: Purpose) -> Duration {
        Duration::from_nanos(self.nanoseconds[purpose as usize].load(Ordering::Relaxed))
    }

    /// Calls of Z3 for `purpose`, answered or not.
    pub fn solver_calls(&self, purpose: Purpose) -> u64 {
        self.calls[purpose as usize].load(Ordering::Relaxed)
    }

    /// Calls of Z3 for all purposes.
    pub fn total_solver_calls(&self) -> u64 {
        Purpose::ALL.iter().map(|p| self.solver_calls(*p)).sum()
    }

    /// Queries that were answered without Z3, for all purposes.
    pub fn total_hits(&self) -> u64 {
        let before_solver = Source::ALL.iter().filter(|s| **s != Source::Solver);
        let of = |source: &Source| -> u64 {
            Purpose::ALL.iter().map(|p| self.answers(*p, *source)).sum()
        };
        before_solver.map(of).sum()
    }
}
