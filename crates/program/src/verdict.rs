//! Verdicts, and the traces that are evidence for violations: the words that all
//! engines share with the reports.

use std::collections::BTreeMap;
use std::fmt;

use crate::source::Span;

/// The memory models. What they mean is the concrete machine's and the
/// reductions' business; here they are names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Model {
    /// Sequential consistency.
    #[default]
    Sc,
    /// x86-TSO: one store buffer per thread.
    Tso,
    /// Partial store order: one buffer per thread and variable.
    Pso,
    /// Remote memory access without in-order routing.
    Rma,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sc => "sc",
            Self::Tso => "tso",
            Self::Pso => "pso",
            Self::Rma => "rma",
        })
    }
}

/// What a run says about a program under a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No property can be violated.
    Holds,
    /// A property is violated, and the concrete machine has run this trace.
    Violated(Box<Violation>),
    /// Neither could be shown.
    Unknown(Unknown),
}

/// Which property a trace violates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// An assertion in the code.
    Assert,
    /// The `never` or `finally` with this index in [`Program::properties`](crate::Program::properties).
    Property(usize),
    /// No thread can move although not all have ended (only when asked for).
    Deadlock,
}

/// A violated property with the run that violates it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which property.
    pub broken: Broken,
    /// Where it stands in the source.
    pub span: Span,
    /// One line for people: `assertion failed: x == 1`.
    pub message: String,
    /// The run.
    pub trace: Trace,
}

/// Why there is no verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// A bound of the search was touched; each entry names one.
    Bound(Vec<String>),
    /// The time limit was reached.
    Time,
    /// The memory limit was reached.
    Memory,
    /// The user stopped the run.
    Interrupted,
    /// The method ran out of ideas: what, and where it got stuck.
    GaveUp(String),
    /// The program uses something that this method cannot treat.
    Unsupported(String, Span),
    /// A proof was found but the independent check refused it: a bug in Palisade.
    CertificateRefused(String),
    /// A trace was found but the concrete machine could not run it: a bug in
    /// Palisade, or an abstraction that could not be made precise.
    ReplayFailed(String),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound(bounds) => write!(f, "bound touched: {}", bounds.join(", ")),
            Self::Time => f.write_str("time limit reached"),
            Self::Memory => f.write_str("memory limit reached"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::GaveUp(why) => f.write_str(why),
            Self::Unsupported(what, _) => write!(f, "unsupported: {what}"),
            Self::CertificateRefused(why) => {
                write!(
                    f,
                    "the proof's certificate was refused (a bug in Palisade): {why}"
                )
            }
            Self::ReplayFailed(why) => write!(f, "a trace could not be replayed: {why}"),
        }
    }
}

/// A run of the program, step by step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Names of the threads, in the order of their columns.
    pub threads: Vec<String>,
    /// Memory before the first step: every cell.
    pub initial: BTreeMap<String, i64>,
    /// The steps.
    pub steps: Vec<TraceStep>,
}

/// One step of a [`Trace`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep {
    /// Column: index into [`Trace::threads`].
    pub thread: usize,
    /// Whether the memory system acts for the thread (a buffered store reaches
    /// memory, a pending remote operation is done) instead of the thread itself.
    pub by_memory: bool,
    /// Where the step (for memory steps: the store or remote statement) stands.
    pub span: Span,
    /// The step in words, with the values: `r = x (1)`.
    pub text: String,
    /// All of memory after the step.
    pub memory: BTreeMap<String, i64>,
    /// The thread's locals after the step, temporaries left out.
    pub locals: BTreeMap<String, i64>,
    /// All non-empty buffers (RMA: pending operations) after the step, oldest
    /// entry first; keys name the thread, under PSO thread and variable.
    pub buffers: BTreeMap<String, Vec<String>>,
}
