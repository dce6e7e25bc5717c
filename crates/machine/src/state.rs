//! A *state* of the machine: where each thread is, the values of all memory
//! cells and locals, and what is under way: buffered stores (TSO, PSO) or
//! pending halves of remote operations (RMA).
//!
//! Slots hold the memory cells first, then the locals of each thread. Dead
//! locals are 0 during searches.
//!
//! *PSO.* One FIFO per thread and cell, and store-store fences, are kept as one
//! list per thread: each store carries an *epoch*, the number of fences before
//! it that still matter. The list is sorted by epoch, then cell, stores to one
//! cell in the order of issue. Only stores of epoch 0 may leave; when the last of
//! them has left, all epochs go down by one. [`Queue::fresh`] says that the next
//! store opens a new epoch (a fence was passed since the last store that is still
//! here). So epochs are always 0, 1, ..., k without gaps, and the list is a
//! canonical form.

use crate::rc11::Memory;
use crate::remote::PendingAtomic;

/// No source: the half of a remote operation that is left is the write.
pub(crate) const NO_CELL: u32 = u32::MAX;

/// A buffered store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Buffered {
    /// Where to.
    pub(crate) cell: u32,
    /// PSO: see the module's header. TSO: 0.
    pub(crate) epoch: u32,
    /// What.
    pub(crate) value: i64,
    /// The edge that issued it; only for reports, not part of the state.
    pub(crate) origin: u32,
}

/// What is left of a remote operation: the read half (and then the write), or
/// the write half alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Pending {
    /// Index of the thread on the remote side.
    pub(crate) remote: u32,
    /// Cell to read, or [`NO_CELL`] once that is done.
    pub(crate) source: u32,
    /// Cell to write.
    pub(crate) target: u32,
    /// Whether it is a put: then its own side is done once the source is read.
    pub(crate) put: bool,
    /// The value read; 0 before.
    pub(crate) value: i64,
    /// The edge that issued it; only for reports, not part of the state.
    pub(crate) origin: u32,
}

impl Pending {
    /// Equal but for the origin.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let key = |p: &Self| (p.remote, p.source, p.target, p.put, p.value);
        key(self) == key(other)
    }

    /// Whether the own side is done.
    pub(crate) const fn is_locally_done(&self) -> bool {
        self.put && self.source == NO_CELL
    }
}

/// What a thread has under way.
#[derive(PartialEq, Eq, Debug, Default)]
pub(crate) struct Queue {
    /// Buffered stores.
    pub(crate) stores: Vec<Buffered>,
    /// PSO: the next store opens a new epoch. Never set while `stores` is empty.
    pub(crate) fresh: bool,
    /// Pending remote operations: a multiset, sorted.
    pub(crate) pending: Vec<Pending>,
    /// Remote atomic operations that have not changed their cell yet, by cell, for one
    /// cell in the order of issue.
    pub(crate) atomics: Vec<PendingAtomic>,
}

impl Clone for Queue {
    fn clone(&self) -> Self {
        Self {
            stores: self.stores.clone(),
            fresh: self.fresh,
            pending: self.pending.clone(),
            atomics: self.atomics.clone(),
        }
    }

    // Searches copy states all the time: keep the allocations.
    fn clone_from(&mut self, other: &Self) {
        self.stores.clone_from(&other.stores);
        self.fresh = other.fresh;
        self.pending.clone_from(&other.pending);
        self.atomics.clone_from(&other.atomics);
    }
}

impl Queue {
    /// Whether nothing is under way.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.stores.is_empty() && self.pending.is_empty() && self.atomics.is_empty()
    }

    /// The value of the newest buffered store to `cell`.
    #[inline]
    pub(crate) fn newest(&self, cell: u32) -> Option<i64> {
        // Under PSO later epochs stand later, so the last match is the newest.
        let newest = self.stores.iter().rev().find(|s| s.cell == cell);
        newest.map(|s| s.value)
    }

    /// TSO: adds a store at the end.
    pub(crate) fn push(&mut self, cell: u32, value: i64, origin: u32) {
        self.stores.push(Buffered {
            cell,
            epoch: 0,
            value,
            origin,
        });
    }

    /// PSO: adds a store at its place.
    pub(crate) fn insert(&mut self, cell: u32, value: i64, origin: u32) {
        let last = self.stores.last().map_or(0, |s| s.epoch);
        let epoch = last + u32::from(self.fresh);
        self.fresh = false;
        let at = self
            .stores
            .partition_point(|s| (s.epoch, s.cell) <= (epoch, cell));
        let store = Buffered {
            cell,
            epoch,
            value,
            origin,
        };
        self.stores.insert(at, store);
    }

    /// Whether the store at `index` may leave under PSO: no fence holds it back
    /// and it is the oldest of its cell.
    pub(crate) fn may_leave(&self, index: usize) -> bool {
        let store = self.stores[index];
        store.epoch == 0 && (index == 0 || self.stores[index - 1].cell != store.cell)
    }

    /// Takes the store at `index` out.
    pub(crate) fn remove(&mut self, index: usize) -> Buffered {
        let store = self.stores.remove(index);
        if self.stores.is_empty() {
            self.fresh = false;
        } else if self.stores[0].epoch > 0 {
            for store in &mut self.stores {
                store.epoch -= 1;
            }
        }
        store
    }

    /// A store-store fence under PSO.
    pub(crate) fn store_store_fence(&mut self) {
        self.fresh = !self.stores.is_empty();
    }

    /// Adds a pending operation, keeping the order.
    pub(crate) fn add_pending(&mut self, pending: Pending) {
        let at = self.pending.partition_point(|p| *p <= pending);
        self.pending.insert(at, pending);
    }

    /// Adds a remote atomic operation behind the others on its cell.
    pub(crate) fn add_atomic(&mut self, atomic: PendingAtomic) {
        let at = self.atomics.partition_point(|a| a.cell <= atomic.cell);
        self.atomics.insert(at, atomic);
    }
}

/// A state.
#[derive(PartialEq, Eq, Debug, Default)]
pub(crate) struct State {
    /// Location of each thread.
    pub(crate) pcs: Vec<u32>,
    /// Memory, then locals.
    pub(crate) slots: Vec<i64>,
    /// What each thread has under way.
    pub(crate) queues: Vec<Queue>,
    /// RC11: histories and views. The cells of `slots` are the newest messages then.
    pub(crate) memory: Option<Box<Memory>>,
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self {
            pcs: self.pcs.clone(),
            slots: self.slots.clone(),
            queues: self.queues.clone(),
            memory: self.memory.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.pcs.clone_from(&other.pcs);
        self.slots.clone_from(&other.slots);
        self.queues.clone_from(&other.queues);
        self.memory.clone_from(&other.memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_store_fences_hold_later_stores_back() {
        let mut q = Queue::default();
        q.store_store_fence(); // nothing before it: no effect
        q.insert(1, 10, 0);
        q.insert(0, 20, 0);
        q.store_store_fence();
        q.store_store_fence(); // two in a row are one
        q.insert(0, 21, 0);
        q.insert(1, 11, 0);
        let cells: Vec<(u32, u32)> = q.stores.iter().map(|s| (s.epoch, s.cell)).collect();
        assert_eq!(cells, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(q.newest(0), Some(21));
        assert!(q.may_leave(0) && q.may_leave(1));
        assert!(!q.may_leave(2) && !q.may_leave(3));
        assert_eq!(q.remove(1).value, 10);
        assert!(!q.may_leave(1), "cell 0 of epoch 0 is still there");
        assert_eq!(q.remove(0).value, 20);
        assert!(q.may_leave(0) && q.may_leave(1), "the epoch is over");
    }

    #[test]
    fn a_fence_is_forgotten_when_all_before_it_have_left() {
        let mut q = Queue::default();
        q.insert(1, 10, 0);
        q.store_store_fence();
        q.remove(0);
        assert_eq!(q, Queue::default());
    }
}
