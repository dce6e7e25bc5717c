//! Verdicts, and the traces that are evidence for violations: the words that all
//! engines share with the reports.

use std::collections::BTreeMap;
use std::fmt;

use crate::action::Action;
use crate::cfg::{AssertKind, AtomicKind};
use crate::expr::EvalError;
use crate::ids::LocalId;
use crate::order::Orders;
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
    /// The repaired C11 model.
    Rc11,
}

impl Model {
    /// What front ends make of memory orders for it.
    pub const fn orders(self) -> Orders {
        match self {
            Self::Rc11 => Orders::Kept,
            Self::Sc | Self::Tso | Self::Pso | Self::Rma => Orders::Mapped,
        }
    }

    /// What is said with every verdict under it.
    pub const fn caveat(self) -> Option<&'static str> {
        match self {
            Self::Rc11 => Some(
                "RC11 has no load buffering: relaxed loads are not reordered after later stores",
            ),
            Self::Sc | Self::Tso | Self::Pso | Self::Rma => None,
        }
    }
}

impl Model {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Sc, Self::Tso, Self::Pso, Self::Rma, Self::Rc11];
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sc => "sc",
            Self::Tso => "tso",
            Self::Pso => "pso",
            Self::Rma => "rma",
            Self::Rc11 => "rc11",
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
    /// An assertion in the code, of this kind.
    Assert(AssertKind),
    /// The `never` or `finally` with this index in [`Program::properties`](crate::Program::properties).
    Property(usize),
    /// No thread can move although not all have ended (only when asked for).
    Deadlock,
    /// A thread spins for ever and nobody can change that (only when asked for).
    Progress,
    /// No run reaches what the `reach` with this index in
    /// [`Program::reaches`](crate::Program::reaches) says. There is no run to show.
    Unreachable(usize),
    /// Two accesses of a variable, one of them plain, one of them a store, of which none happens
    /// before the other (RC11).
    DataRace,
}

impl Broken {
    /// What sort of property it is, in one word for scripts.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Property(_) => "property",
            Self::Deadlock => "deadlock",
            Self::Progress => "progress",
            Self::Unreachable(_) => "unreachable",
            Self::DataRace => "data-race",
            Self::Assert(kind) => match kind {
                AssertKind::User => "assertion",
                AssertKind::Index => "index",
                AssertKind::Domain => "range",
                AssertKind::SignedOverflow => "overflow",
                AssertKind::ErrorCall(_) => "error-call",
                AssertKind::Language(_) => "language",
                AssertKind::LockMisuse(_) => "lock-misuse",
                AssertKind::ThreadMisuse(_) => "thread-misuse",
                AssertKind::RemoteRace { .. } => "remote-race",
                AssertKind::EpochMisuse(_) => "epoch-misuse",
                AssertKind::Memory(error) => error.name(),
                AssertKind::Uninitialised { .. } => "uninitialised",
                AssertKind::Specification(_) => "specification",
                AssertKind::Unsupported(_) => "unsupported",
                AssertKind::BufferOverflow | AssertKind::Summary(_) | AssertKind::ListedValue => {
                    "bound"
                }
            },
        }
    }
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

/// A place where the search of the concrete machine leaves something out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum SearchBound {
    /// A store found its buffer full.
    Buffer,
    /// A value left the range that is searched.
    Range,
    /// A value left 64 bits.
    Overflow,
    /// Division by zero or a shift outside 0..=63.
    Undefined,
    /// An array index was out of range and no assertion stood before it.
    Index,
    /// `*` stands for more values than were tried.
    Choice,
    /// A template runs in any number of copies.
    Threads,
    /// As many states were stored as may be.
    States,
    /// An atomic block ran for too many steps.
    Block,
    /// A state was too large to be stored.
    StateSize,
    /// RC11: a thread lags behind more stores than are remembered.
    History,
}

impl SearchBound {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Buffer,
        Self::Range,
        Self::Overflow,
        Self::Undefined,
        Self::Index,
        Self::Choice,
        Self::Threads,
        Self::States,
        Self::Block,
        Self::StateSize,
        Self::History,
    ];
}

impl From<EvalError> for SearchBound {
    fn from(error: EvalError) -> Self {
        match error {
            EvalError::Overflow => Self::Overflow,
            EvalError::Undefined => Self::Undefined,
        }
    }
}

impl fmt::Display for SearchBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Buffer => "buffer size",
            Self::Range => "value range",
            Self::Overflow => "64-bit integers",
            Self::Undefined => "undefined arithmetic",
            Self::Index => "array index",
            Self::Choice => "values of *",
            Self::Threads => "number of threads",
            Self::States => "number of states",
            Self::Block => "steps of an atomic block",
            Self::StateSize => "size of a state",
            Self::History => "stores that a thread lags behind",
        })
    }
}

/// A place where a search or an abstraction leaves something out. A bound that was
/// touched makes `holds` impossible.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Bound {
    /// Of the concrete machine.
    Search(SearchBound),
    /// An abstract search stored as many states as it may.
    AbstractStates(usize),
    /// A search of a Boolean program stored as many states as it may.
    BooleanStates(usize),
    /// A store found no room in a bounded buffer of a reduction; in which.
    BufferOverflow(Option<BufferName>),
    /// Only buffers of a few stores were searched.
    FewStores,
    /// Only a few pending instances of each remote operation were searched.
    FewOperations,
    /// The summary invariant of buffered stores to this variable is wrong.
    Summary(String),
    /// Abstract store buffers with so many exact cells are too coarse.
    ExactCells(u32),
    /// Value sets of remote operations are too coarse.
    ValueSets,
    /// RC11: histories of so many exact messages are too coarse.
    Histories(u32),
    /// The proof is for so many copies of templates declared with `[*]`.
    Copies(u32),
}

/// A store buffer, by names.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferName {
    /// The thread's.
    pub thread: String,
    /// Under PSO, for which variable.
    pub variable: Option<String>,
}

impl fmt::Display for BufferName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.variable {
            Some(variable) => write!(f, "that of `{}` for `{variable}`", self.thread),
            None => write!(f, "that of `{}`", self.thread),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spurious = "(they have a violation that the machine does not have)";
        match self {
            Self::Search(bound) => bound.fmt(f),
            Self::AbstractStates(n) => write!(f, "{n} abstract states"),
            Self::BooleanStates(n) => write!(f, "{n} states"),
            Self::BufferOverflow(buffer) => {
                f.write_str("overflow of a bounded store buffer")?;
                match buffer {
                    Some(buffer) => write!(f, ", {buffer}"),
                    None => Ok(()),
                }
            }
            Self::FewStores => {
                f.write_str("buffers of a few stores (the program stores without bound)")
            }
            Self::FewOperations => f.write_str("a few pending instances of a remote operation"),
            Self::Summary(name) => write!(
                f,
                "a summary invariant of buffered stores to {name}, which is wrong"
            ),
            Self::ExactCells(k) => {
                write!(f, "{k} exact cells of abstract store buffers {spurious}")
            }
            Self::ValueSets => write!(f, "value sets of remote operations {spurious}"),
            Self::Histories(k) => {
                write!(f, "{k} exact messages of each history {spurious}")
            }
            Self::Copies(n) => write!(f, "{n} copies of templates declared with [*]"),
        }
    }
}

/// Why there is no verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// Bounds of the search that were touched.
    Bound(Vec<Bound>),
    /// The time limit was reached.
    Time,
    /// The memory limit was reached.
    Memory,
    /// The user stopped the run.
    Interrupted,
    /// States that are not in memory, or a process that has some, cannot be reached any more.
    Lost(String),
    /// The method ran out of ideas: what, and where it got stuck.
    GaveUp(String),
    /// The program uses something that this method cannot treat.
    Unsupported(String, Span),
    /// This variable is read before anything was written to it: ask about
    /// [`crate::Program::choosing`] it.
    Uninitialised(String, Span),
    /// A proof was found but the independent check refused it: a bug in Palisade.
    CertificateRefused(String),
    /// A trace was found but the concrete machine could not run it: a bug in
    /// Palisade, or an abstraction that could not be made precise.
    ReplayFailed(String),
}

impl Unknown {
    /// Whether nothing else can be tried: time, memory or patience has run out.
    pub const fn ends_everything(&self) -> bool {
        matches!(
            self,
            Self::Time | Self::Memory | Self::Interrupted | Self::Lost(_)
        )
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound(bounds) => write!(f, "bound touched: {}", listed(bounds)),
            Self::Time => f.write_str("time limit reached"),
            Self::Memory => f.write_str("memory limit reached"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Lost(why) => write!(f, "states were lost: {why}"),
            Self::GaveUp(why) => f.write_str(why),
            Self::Unsupported(what, _) => write!(f, "unsupported: {what}"),
            Self::Uninitialised(variable, _) => {
                write!(f, "`{variable}` is read before anything was written to it")
            }
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

/// Bounds as one line.
pub fn listed(bounds: &[Bound]) -> String {
    let words: Vec<String> = bounds.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// A run of the program, step by step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Names of the threads, in the order of their columns.
    pub threads: Vec<String>,
    /// Memory before the first step: every cell.
    pub initial: BTreeMap<String, i64>,
    /// What locals that may start with any value start with, by thread.
    pub locals: BTreeMap<(usize, LocalId), i64>,
    /// The steps.
    pub steps: Vec<TraceStep>,
    /// The first of the steps that are repeated for ever, if the run is a lasso: those from
    /// there on are one round.
    pub repeats: Option<usize>,
    /// Where each thread stands at the end.
    pub standing: Vec<Standing>,
    /// The variables of the violated condition with their values.
    pub because: Vec<(String, i64)>,
}

/// Where a thread stands at the end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It has ended.
    Ended,
    /// Before what stands here.
    Before(Span),
}

/// What others can see of a step, or what it sees of others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A cell of shared memory is read.
    Read {
        /// Its name.
        cell: String,
        /// What is read.
        value: i64,
        /// Whether it comes from the thread's own buffer.
        own: bool,
        /// RC11: how many newer stores of the cell there are.
        behind: usize,
    },
    /// A cell of shared memory, or of the buffer in front of it, is written.
    Write {
        /// Its name.
        cell: String,
        /// What is written.
        value: i64,
        /// Whether it waits in a buffer first.
        buffered: bool,
        /// RC11: how many newer stores of the cell there are.
        below: usize,
    },
    /// A fence.
    Fence,
    /// Something else that the step's text says: a remote operation, a flush.
    Other,
}

/// One step of a [`Trace`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceStep {
    /// Column: index into [`Trace::threads`].
    pub thread: usize,
    /// The step as the concrete machine takes it, if it has.
    pub action: Option<Action>,
    /// Whether the memory system acts for the thread (a buffered store reaches
    /// memory, a pending remote operation is done) instead of the thread itself.
    pub by_memory: bool,
    /// Where the step (for memory steps: the store or remote statement) stands.
    pub span: Span,
    /// The step in words, with the values: `r = x (1)`.
    pub text: String,
    /// What it does to shared memory; nothing for steps that touch the thread's own
    /// variables only.
    pub events: Vec<Event>,
    /// RC11: the cells whose old values an acquire lets the thread read no longer, and the oldest value
    /// that is left.
    pub brings: Vec<(String, i64)>,
    /// What became this atomic block, if it is one.
    pub block: Option<AtomicKind>,
    /// Whether an assertion fails in it.
    pub failed: bool,
    /// All of memory after the step.
    pub memory: BTreeMap<String, i64>,
    /// The thread's locals after the step, temporaries left out.
    pub locals: BTreeMap<String, i64>,
    /// All non-empty buffers (RMA: pending operations) after the step, oldest
    /// entry first; keys name the thread, under PSO thread and variable.
    pub buffers: BTreeMap<String, Vec<String>>,
}
