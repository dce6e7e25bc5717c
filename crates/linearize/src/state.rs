//! *States* of concrete runs: memory, threads, how many calls are left, beliefs.

use palisade_program::LocId;

use crate::buffer::{Returned, Store};
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
    /// By thread, what it keeps between calls. While a call runs, what its body has as locals
    /// is there, and here it is [`Value::Nothing`].
    pub(crate) kept: Vec<Vec<Value>>,
    /// By role, the thread that has it, once it has made a call of that role.
    pub(crate) roles: Vec<Option<u32>>,
    /// By thread, stores that have not reached memory, the oldest first. No threads are here under SC.
    pub(crate) buffers: Vec<Vec<Store>>,
    /// By thread, calls that have returned and are not complete, the oldest first; as above.
    pub(crate) returned: Vec<Vec<Returned>>,
    /// Calls that may still begin.
    pub(crate) calls_left: u32,
    /// Number of the next data value that no call was given yet.
    pub(crate) fresh: u32,
    /// What is possible about the specification.
    pub(crate) beliefs: Vec<Belief>,
}
