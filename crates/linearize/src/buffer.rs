//! *Store buffers* [Owens, Sarkar and Sewell, TPHOLs 2009]: a store waits in a buffer of its thread, which
//! finds it when it loads the word, and reaches memory at any later time.
//!
//! | step | under TSO and PSO |
//! |---|---|
//! | write | behind the thread's other stores |
//! | read | the thread's newest store to the word, else memory |
//! | `cas`, `xchg`, `fetch_add`, `lock`, `unlock`, `fence`, `atomic`, `free` (with reclamation) | waits until the buffer is empty, acts on memory |
//! | `new`, `return`, steps over locals | do not wait |
//! | flush, at any time between steps, also after the return | the oldest store (TSO), the oldest to some word (PSO), goes to memory |
//!
//! A new node has its defaults in memory: the allocator has seen to that. Stores into it wait like others.
//! A store that reaches a node after it was freed is a write to a freed node.
//!
//! *When is a call complete?* Linearizability orders a call before another if it was complete when the other began. Here
//! a call is complete when it has returned and all stores that its thread has made until then have reached memory: as if the
//! return left a mark in the buffer [Burckhardt et al., ESOP 2012; Derrick, Smith and Dongol, iFM 2014]. Until then it may
//! take effect, but always after the calls that its thread has made before. So Lamport's ring is linearizable on TSO, though a call of
//! `dequeue` may find nothing after `enqueue` has returned: what the producer stores afterwards can
//! be seen only after the value itself (under PSO only if the client has a fence). With
//! [`Options::real_time`](crate::Options::real_time) a call is complete when it returns: more is asked.

use palisade_program::heap::{Operation, Place};
use palisade_program::{FieldId, LocalId, SharedId};

use crate::options::Buffers;
use crate::value::{Memory, Value, Word};

/// A word of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Cell {
    Shared(SharedId),
    Field { node: u32, field: FieldId },
}

/// A store that has not reached memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Store {
    pub(crate) at: Cell,
    pub(crate) word: Word,
    /// Method and edge that have made it: for people only, and not part of what makes states equal.
    pub(crate) made: (usize, usize),
}

/// A call that has returned and is not complete.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Returned {
    pub(crate) operation: Operation,
    pub(crate) arguments: Vec<Value>,
    pub(crate) value: Value,
    /// How many of the stores in the buffer, the first ones, its thread has made before the return.
    pub(crate) waits: usize,
}

impl Cell {
    /// The cell of a place, if the local leads to a node.
    pub(crate) fn of(place: Place, locals: &[Value]) -> Option<Self> {
        match place {
            Place::Shared(id) => Some(Self::Shared(id)),
            Place::Field { of, field } => node(of, locals).map(|node| Self::Field { node, field }),
        }
    }

    /// The node that it belongs to.
    pub(crate) const fn node(self) -> Option<u32> {
        match self {
            Self::Shared(_) => None,
            Self::Field { node, .. } => Some(node),
        }
    }
}

fn node(local: LocalId, locals: &[Value]) -> Option<u32> {
    match locals[local.index()] {
        Value::Node(index) => Some(index),
        _ => None,
    }
}

/// The thread's newest store to a cell.
pub(crate) fn newest(buffer: &[Store], at: Cell) -> Option<Word> {
    let mut newest = buffer.iter().rev();
    newest.find(|store| store.at == at).map(|store| store.word)
}

/// The stores of a buffer that may reach memory next.
pub(crate) fn next(buffer: &[Store], model: Buffers) -> Vec<usize> {
    match model {
        Buffers::Sc => Vec::new(),
        Buffers::Tso => (0..buffer.len().min(1)).collect(),
        Buffers::Pso => {
            let first = |index: &usize| {
                let earlier = &buffer[..*index];
                earlier.iter().all(|store| store.at != buffer[*index].at)
            };
            (0..buffer.len()).filter(first).collect()
        }
    }
}

/// Lets the store at `index` reach memory: gives it, and how many of the calls that have
/// returned are complete.
pub(crate) fn flush(
    buffer: &mut Vec<Store>,
    index: usize,
    returned: &mut [Returned],
    memory: &mut Memory,
) -> (Store, usize) {
    let store = buffer.remove(index);
    match store.at {
        Cell::Shared(id) => memory.shared[id.index()] = store.word,
        Cell::Field { node, field } => {
            memory.nodes[node as usize].words[field.index()] = store.word;
        }
    }
    for call in &mut *returned {
        call.waits -= usize::from(call.waits > index);
    }
    let complete = returned.iter().rposition(|call| call.waits == 0);
    (store, complete.map_or(0, |last| last + 1))
}
