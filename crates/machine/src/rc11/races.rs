//! *Data races*: two accesses of a location by different threads, one of them a store and one
//! of them plain, of which none happens before the other. RC11 gives programs with a race no
//! meaning.
//!
//! Happens-before is what views carry. A view has a bit for each thread, location and class of
//! access: the thread's last such access does not happen before what the view belongs to. An
//! access sets its bit in every view but its own thread's; views that join forget what
//! either side has seen. If the last access of a class is seen, all earlier ones are.
//! Only locations with some plain access have bits.

use palisade_program::Order;

use super::memory::Memory;
use super::view::View;

/// Classes of accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    PlainLoad,
    PlainStore,
    AtomicLoad,
    AtomicStore,
}

const CLASSES: [Access; 4] = [
    Access::PlainLoad,
    Access::PlainStore,
    Access::AtomicLoad,
    Access::AtomicStore,
];

impl Access {
    /// The class of an access with this order.
    pub(crate) const fn of(order: Order, is_store: bool) -> Self {
        match (order, is_store) {
            (Order::Plain, false) => Self::PlainLoad,
            (Order::Plain, true) => Self::PlainStore,
            (_, false) => Self::AtomicLoad,
            (_, true) => Self::AtomicStore,
        }
    }

    /// Whether two accesses that nothing orders are a race.
    const fn conflicts(self, other: Self) -> bool {
        match (self, other) {
            (Self::PlainStore, _) | (_, Self::PlainStore) => true,
            (Self::PlainLoad, Self::AtomicStore) | (Self::AtomicStore, Self::PlainLoad) => true,
            (Self::PlainLoad | Self::AtomicLoad, Self::PlainLoad | Self::AtomicLoad) => false,
            (Self::AtomicLoad | Self::AtomicStore, Self::AtomicLoad | Self::AtomicStore) => false,
        }
    }
}

/// Which locations can race, and where their bits are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Races {
    threads: usize,
    /// For each location its number among those that can race.
    number: Vec<Option<usize>>,
    bits: usize,
}

impl Races {
    /// `plain` says which locations have plain accesses.
    pub(crate) fn new(plain: &[bool], threads: usize) -> Self {
        let mut count = 0;
        let number = plain.iter().map(|&is_plain| {
            is_plain.then(|| {
                count += 1;
                count - 1
            })
        });
        Self {
            threads,
            number: number.collect(),
            bits: count * threads * CLASSES.len(),
        }
    }

    /// Words of bits in a view.
    pub(crate) const fn words(&self) -> usize {
        self.bits.div_ceil(64)
    }

    fn bit(&self, cell: usize, thread: usize, class: Access) -> Option<(usize, u64)> {
        let number = self.number[cell]?;
        let bit = (number * self.threads + thread) * CLASSES.len() + class as usize;
        Some((bit / 64, 1 << (bit % 64)))
    }

    /// A thread whose access races with one of `t`, which has this view.
    pub(crate) fn found(
        &self,
        view: &View,
        t: usize,
        cell: usize,
        access: Access,
    ) -> Option<usize> {
        self.number[cell]?;
        (0..self.threads).filter(|&u| u != t).find(|&u| {
            CLASSES.iter().any(|&other| {
                access.conflicts(other)
                    && self
                        .bit(cell, u, other)
                        .is_some_and(|(word, mask)| view.unseen.0[word] & mask != 0)
            })
        })
    }

    /// Thread `t` has done an access: nobody else knows of it yet.
    pub(crate) fn happened(&self, memory: &mut Memory, t: usize, cell: usize, access: Access) {
        let Some((word, mask)) = self.bit(cell, t, access) else {
            return;
        };
        memory.views(&mut |view| view.unseen.0[word] |= mask);
        memory.carried(&mut |flat| flat.unseen.0[word] |= mask);
        memory.threads[t].current.unseen.0[word] &= !mask;
    }

    /// The bits that matter while exactly these threads may still access each location.
    pub(crate) fn relevant(&self, may_access: impl Fn(usize, usize) -> bool) -> Vec<u64> {
        let mut words = vec![0; self.words()];
        for cell in 0..self.number.len() {
            for t in 0..self.threads {
                if !(0..self.threads).any(|u| u != t && may_access(u, cell)) {
                    continue;
                }
                for class in CLASSES {
                    if let Some((word, mask)) = self.bit(cell, t, class) {
                        words[word] |= mask;
                    }
                }
            }
        }
        words
    }
}
