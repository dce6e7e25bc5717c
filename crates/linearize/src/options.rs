//! *Options* of the search: bounds, and which memory management is assumed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What `free` does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reclaim {
    /// Nothing: memory is garbage-collected.
    #[default]
    Never,
    /// Freed nodes come back from `new` as they are, and may be read meanwhile.
    Recycle,
    /// Freed nodes come back from `new`, and must not be touched meanwhile.
    Strict,
}

/// Which stores threads may not see at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Buffers {
    /// None: sequential consistency.
    #[default]
    Sc,
    /// One buffer for each thread, first in, first out.
    Tso,
    /// One buffer for each thread and word of memory.
    Pso,
}

/// Bounds and assumptions.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "switches are independent")]
pub struct Options {
    /// Threads that call.
    pub threads: u32,
    /// Calls in one run, over all threads.
    pub calls: u32,
    /// Nodes that exist at the same time.
    pub nodes: usize,
    /// Different values for arguments of type int and for `*`, and for data where
    /// methods or the specification compare data.
    pub values: u32,
    /// What `free` does.
    pub reclaim: Reclaim,
    /// The memory model.
    pub buffers: Buffers,
    /// Stores of one thread that wait for memory, at most.
    pub stores: usize,
    /// With store buffers: whether a call is complete when it returns, and not only when the
    /// stores that its thread has made until then have reached memory.
    pub real_time: bool,
    /// Whether a cycle of nodes that are reached from shared variables is a violation.
    pub check_cycles: bool,
    /// Whether a node that nothing leads to, and that is not freed, is a violation; only
    /// with reclamation.
    pub check_leaks: bool,
    /// Whether steps that nobody notices are run together, and threads taken for alike.
    /// Off only to test that this changes no verdict.
    pub reduce: bool,
    /// States to store at most.
    pub max_states: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Raised from outside to end the search.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Told how many states are stored.
    pub progress: Option<fn(u64)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 2,
            calls: 4,
            nodes: 8,
            values: 2,
            reclaim: Reclaim::Never,
            buffers: Buffers::Sc,
            stores: 8,
            real_time: false,
            check_cycles: true,
            check_leaks: true,
            reduce: true,
            max_states: 2_000_000,
            deadline: None,
            cancel: None,
            progress: None,
        }
    }
}
