//! What an exploration is asked for ([`Options`]), which bounds it may touch
//! ([`Bound`]), and what it hands back ([`Exploration`]).
//!
//! A *bound* is a place where the search leaves something out: a buffer that
//! would grow beyond [`Options::buffer`], a value outside [`Options::range`], a
//! choice among infinitely many integers. A touched bound makes `holds`
//! impossible; a violation found nevertheless is one.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub use palisade_program::SearchBound as Bound;
use palisade_program::{Domain, Model, Span, Vacuous, Verdict, Violation};

use crate::replay::Witness;

/// How to explore. [`Options::new`] has the defaults.
// Each switch is a yes or no of its own: no smaller type says it better.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug)]
pub struct Options {
    /// The memory model.
    pub model: Model,
    /// Most stores in one buffer (TSO: of a thread; PSO: of a thread and cell;
    /// RMA: pending operations of a process; RC11: stores to a cell that some thread
    /// has not passed). `None`: no bound.
    pub buffer: Option<usize>,
    /// RMA: equal pending operations are counted up to this number (1 at least), which then
    /// means so many or more. Programs that issue operations without bound have finitely
    /// many states then. There are more runs than those of the program: that nothing is
    /// violated is proved for all numbers of operations, and a violation that cannot be
    /// replayed gives `unknown`. `None`: they are counted exactly.
    pub saturate: Option<usize>,
    /// RC11: fold old messages into a summary, which only adds behaviours: that nothing is
    /// violated is proved for histories of every length, and a violation that cannot be
    /// replayed gives `unknown`. `None`: histories are exact.
    pub summary: Option<crate::rc11::Summary>,
    /// RC11: whether a data race is a violation. Else a run goes on behind it, as if plain
    /// accesses were relaxed ones that synchronise nothing.
    pub races: bool,
    /// Values that variables may take; a step to a value outside is cut off.
    /// `None`: what fits 64 bits.
    pub range: Option<Domain>,
    /// The values from which an unbounded `*` picks.
    pub any: Domain,
    /// Copies of templates declared with `[*]`.
    pub threads: u32,
    /// Most states to store.
    pub max_states: Option<u64>,
    /// Most bytes to use for the state store.
    pub max_memory: Option<u64>,
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Set by another thread to stop the search.
    pub cancel: Arc<AtomicBool>,
    /// Partial-order reduction.
    pub partial_order: bool,
    /// Symmetry reduction: copies that are interchangeable.
    pub symmetry: bool,
    /// SC, TSO, PSO: states that differ by a shift of counters are one ([`palisade_program::shift`]), so that
    /// programs in which these grow without bound may have finitely many. Not with a range or with final
    /// states, whose values count.
    pub shift: bool,
    /// Whether to note deadlocks that do not count, and what no run reaches.
    pub notes: bool,
    /// Whether to look for a shortest run into a violation, by a second search without
    /// partial-order reduction; else the run is the one by which it was found.
    pub shortest: bool,
    /// Whether to collect all final states. Switches symmetry off, since only one
    /// of several symmetric states would be listed.
    pub collect_finals: bool,
    /// Worker threads; 0 for one per core. No result depends on it.
    pub workers: usize,
    /// Told how many states are stored.
    pub progress: Option<fn(u64)>,
}

impl Options {
    /// The defaults for `model`: buffers of 16, two copies for `[*]`, `*` picks
    /// from -4 to 4, partial-order and symmetry reduction on, one worker per core, no other limit.
    pub fn new(model: Model) -> Self {
        Self {
            model,
            buffer: Some(16),
            saturate: None,
            summary: None,
            races: true,
            range: None,
            any: Domain { lo: -4, hi: 4 },
            threads: 2,
            max_states: None,
            max_memory: None,
            deadline: None,
            cancel: Arc::default(),
            partial_order: true,
            symmetry: true,
            shift: false,
            notes: true,
            shortest: true,
            collect_finals: false,
            workers: 0,
            progress: None,
        }
    }
}

/// A set of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Bounds(u16);

impl Bounds {
    /// Adds a bound.
    pub fn touch(&mut self, bound: Bound) {
        self.0 |= 1 << bound as u8;
    }

    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    pub(crate) fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether `bound` was touched.
    pub fn contains(self, bound: Bound) -> bool {
        self.0 & (1 << bound as u8) != 0
    }

    /// Whether none was touched.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The touched bounds in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = Bound> {
        Bound::ALL.into_iter().filter(move |&b| self.contains(b))
    }
}

/// A state in which all threads have ended and everything has drained.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Final {
    /// Memory, by [`Cell`](palisade_program::Cell).
    pub cells: Vec<i64>,
    /// Locals of each thread, in the order of
    /// [`Program::instances`](palisade_program::Program::instances), by
    /// [`LocalId`](palisade_program::LocalId). Temporaries are 0.
    pub locals: Vec<Vec<i64>>,
}

/// Figures of a search.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stats {
    /// Distinct states.
    pub states: u64,
    /// Steps taken, those to known states too.
    pub transitions: u64,
    /// Length of the longest shortest run.
    pub depth: u32,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Bytes of the state store.
    pub bytes: u64,
    /// States of the second, unreduced search for a shortest trace.
    pub trace_states: u64,
    /// Whether the trace is known to be a shortest one: the second search was
    /// not cut short by a limit.
    pub shortest: bool,
}

impl Stats {
    /// Bytes of the store for each state.
    pub fn bytes_per_state(&self) -> f64 {
        self.bytes as f64 / self.states.max(1) as f64
    }
}

/// The result of an exploration.
#[derive(Clone, PartialEq, Debug)]
pub struct Exploration {
    /// What it says about the properties.
    pub verdict: Verdict,
    /// The run of a violation, for replays.
    pub witness: Option<Witness>,
    /// The violation that ended the search, if it is not asked about
    /// ([`Asked`](palisade_program::Asked)) and none that is was found.
    pub beside_the_point: Option<Box<Violation>>,
    /// All final states, sorted, if they were asked for.
    pub finals: Vec<Final>,
    /// A run into a deadlock, if one is reachable and no violation ended the
    /// search before.
    pub deadlock: Option<Box<Violation>>,
    /// What no run got to, where nothing is violated.
    pub vacuous: Vec<(Span, Vacuous)>,
    /// A run for each `reach`, where nothing is violated.
    pub reached: Vec<Violation>,
    /// The bounds that were touched.
    pub bounds: Bounds,
    /// Figures.
    pub stats: Stats,
}

/// Why a program cannot be explored as asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Unsupported {
    /// What is wrong.
    pub message: String,
    /// Where in the source.
    pub span: Span,
    /// What to do about it.
    pub help: String,
}
