//! *States* of concrete runs: memory, threads, how many calls are left, beliefs.

use palisade_program::LocId;

use crate::track::Belief;
use crate::value::{Memory, Value};

/// A call that runs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Frame {
    pub(crate) method: usize,
    pub(crate) at: LocId,
    pub(crate) arguments: Vec<Value>,
    pub(crate) locals: Vec<Value>,
}

/// A state between two steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) memory: Memory,
    /// By thread; `None` between calls.
    pub(crate) threads: Vec<Option<Frame>>,
    /// Calls that may still begin.
    pub(crate) calls_left: u32,
    /// Number of the next data value that no call was given yet.
    pub(crate) fresh: u32,
    /// What is possible about the specification.
    pub(crate) beliefs: Vec<Belief>,
}
