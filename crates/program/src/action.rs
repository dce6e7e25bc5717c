//! *Actions*: the steps of a run in terms of the program. The concrete machine takes them
//! one by one, so that a run that was written down can be run again.

use crate::ids::{Cell, EdgeId};

/// A step of a run inside an atomic block: the edge of the block's body, and the
/// value chosen if it is a `*`.
pub type BlockStep = (EdgeId, Option<i64>);

/// One step of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Action {
    /// The thread that steps, or for which memory steps: an index into
    /// [`Program::instances`](crate::Program::instances).
    pub thread: usize,
    /// What happens.
    pub kind: ActionKind,
}

/// What happens in a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ActionKind {
    /// The thread takes an edge of its template that is no atomic block.
    Step {
        /// The edge.
        edge: EdgeId,
        /// The value of a `*`.
        choice: Option<i64>,
    },
    /// The thread runs an atomic block.
    Block {
        /// The edge.
        edge: EdgeId,
        /// The run inside: edges of the body, up to its exit or a failing assertion.
        path: Vec<BlockStep>,
    },
    /// RC11: the thread does an access, a fence or an atomic block.
    Ordered {
        /// The edge.
        edge: EdgeId,
        /// The run inside an atomic block.
        path: Vec<BlockStep>,
        /// Which of the ways in which that may happen.
        pick: usize,
    },
    /// TSO, PSO: the thread's oldest buffered store (PSO: to `cell`) reaches memory.
    Update {
        /// The cell that is written.
        cell: Cell,
    },
    /// RMA: the network does the read half of a pending operation.
    NetworkRead {
        /// The cell that is read.
        source: Cell,
        /// The cell that will be written.
        target: Cell,
    },
    /// RMA: the network reads an operand of a remote atomic operation.
    AtomicRead {
        /// The cell that the operation will change.
        target: Cell,
        /// Which of the thread's operations on that cell, from 0 in the order of issue.
        position: usize,
        /// Which operand, from 0.
        operand: usize,
    },
    /// RMA: the thread's oldest remote atomic operation on a cell changes it.
    AtomicApply {
        /// The cell.
        target: Cell,
    },
    /// RMA: the network does the write half of a pending operation.
    NetworkWrite {
        /// The cell that is written.
        target: Cell,
        /// The value.
        value: i64,
    },
}

impl Action {
    /// The value of a `*` that the step chooses.
    pub const fn choice(&self) -> Option<i64> {
        match &self.kind {
            ActionKind::Step { choice, .. } => *choice,
            ActionKind::Block { .. } | ActionKind::Ordered { .. } => None,
            ActionKind::Update { .. } | ActionKind::NetworkRead { .. } => None,
            ActionKind::AtomicRead { .. } | ActionKind::AtomicApply { .. } => None,
            ActionKind::NetworkWrite { .. } => None,
        }
    }
}
