//! The *shape* of a thread's store buffers: which cells have stores waiting, in
//! which order, and the store-store fences between them. The values are state
//! variables ([`StateVar::Slot`], [`StateVar::CellSlot`]); the shape is control.
//!
//! Under TSO the shape is the queue of cells, oldest first, without fences.
//! Under PSO there is one queue per cell, so the order between different cells
//! does not matter, but a store issued after `fence(ss)` may leave only when no
//! store issued before it is buffered any more. Stores between two fences form
//! a *group*; a store may leave when it is in the first group and the oldest of
//! its cell. A shape has one form:
//!
//! - within a group the cells are sorted (PSO);
//! - there is no fence before the first store, and no two fences in a row: such
//!   a fence separates nothing. A fence after the last store stays: it waits
//!   for stores to come.
//!
//! This is DESIGN's account of PSO read literally ("may leave its buffer only
//! when no store issued before it is still in any of the thread's buffers").

use crate::state::StateVar;
use palisade_program::{Cell, Model};

/// A place in a [`Buffer`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Item {
    /// A store to this cell waits.
    Store(Cell),
    /// A store-store fence (PSO).
    Fence,
}

/// The shape of one thread's store buffers. See the module's header for the one
/// form of each shape.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Buffer(pub Vec<Item>);

/// A buffered store that may go to memory now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Departure {
    /// The cell that changes.
    pub(crate) cell: Cell,
    /// The slot whose value it receives.
    pub(crate) slot: StateVar,
    /// The shape afterwards.
    pub(crate) after: Buffer,
    /// Slots that move up: the first takes the value of the second.
    pub(crate) moves: Vec<(StateVar, StateVar)>,
}

impl Buffer {
    /// Whether no store waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The cells of the waiting stores, in order.
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = Cell> + '_ {
        self.0.iter().filter_map(|item| match item {
            Item::Store(cell) => Some(*cell),
            Item::Fence => None,
        })
    }

    fn count(&self, cell: Cell) -> u32 {
        self.cells().filter(|c| *c == cell).count() as u32
    }

    fn len(&self) -> u32 {
        self.cells().count() as u32
    }

    /// Whether this is the one form of its shape under `model`.
    pub fn is_canonical(&self, model: Model) -> bool {
        match model {
            Model::Sc | Model::Rma => self.0.is_empty(),
            Model::Tso => !self.0.contains(&Item::Fence),
            Model::Pso => {
                let mut canonical = self.clone();
                canonical.normalise();
                canonical == *self
            }
        }
    }

    /// Brings a PSO shape to its one form: sorts the stores between fences and
    /// drops fences that separate nothing. Writers of certificates may use it on
    /// shapes whose groups are in any order.
    pub fn normalise(&mut self) {
        let mut out: Vec<Item> = Vec::with_capacity(self.0.len());
        for group in self.0.split_inclusive(|item| *item == Item::Fence) {
            let mut group = group.to_vec();
            let fence = group.pop_if(|item| *item == Item::Fence);
            group.sort_unstable();
            // A group without stores is dropped together with its fence.
            if !group.is_empty() {
                out.extend(group);
                out.extend(fence);
            }
        }
        self.0 = out;
    }

    /// The slots of the waiting stores.
    pub(crate) fn slots(&self, model: Model, thread: u32) -> Vec<StateVar> {
        let mut slots = Vec::new();
        let mut seen: Vec<Cell> = Vec::new();
        for (position, cell) in self.cells().enumerate() {
            let earlier = seen.iter().filter(|c| **c == cell).count();
            slots.push(match model {
                Model::Pso => StateVar::CellSlot {
                    thread,
                    cell,
                    position: earlier as u32,
                },
                Model::Sc | Model::Tso | Model::Rma => StateVar::Slot {
                    thread,
                    position: position as u32,
                },
            });
            seen.push(cell);
        }
        slots
    }

    /// The slot of the newest store to `cell`: what the thread itself reads.
    pub(crate) fn newest(&self, model: Model, thread: u32, cell: Cell) -> Option<StateVar> {
        match model {
            Model::Pso => self
                .count(cell)
                .checked_sub(1)
                .map(|position| StateVar::CellSlot {
                    thread,
                    cell,
                    position,
                }),
            Model::Sc | Model::Tso | Model::Rma => {
                let cells: Vec<Cell> = self.cells().collect();
                let position = cells.iter().rposition(|c| *c == cell)? as u32;
                Some(StateVar::Slot { thread, position })
            }
        }
    }

    /// The shape with one more store to `cell`, and the slot of its value.
    pub(crate) fn with_store(&self, model: Model, thread: u32, cell: Cell) -> (Self, StateVar) {
        let mut after = self.clone();
        match model {
            Model::Pso => {
                let fence = after.0.iter().rposition(|item| *item == Item::Fence);
                let group = fence.map_or(0, |at| at + 1);
                let at = after.0[group..].partition_point(|item| *item <= Item::Store(cell));
                after.0.insert(group + at, Item::Store(cell));
                let position = self.count(cell);
                (
                    after,
                    StateVar::CellSlot {
                        thread,
                        cell,
                        position,
                    },
                )
            }
            Model::Sc | Model::Tso | Model::Rma => {
                after.0.push(Item::Store(cell));
                let position = self.len();
                (after, StateVar::Slot { thread, position })
            }
        }
    }

    /// The shape after a store-store fence.
    pub(crate) fn with_fence(&self, model: Model) -> Self {
        let mut after = self.clone();
        let needed = match model {
            Model::Pso => matches!(self.0.last(), Some(Item::Store(_))),
            Model::Sc | Model::Tso | Model::Rma => false,
        };
        if needed {
            after.0.push(Item::Fence);
        }
        after
    }

    /// The stores that may go to memory now.
    pub(crate) fn departures(&self, model: Model, thread: u32) -> Vec<Departure> {
        match model {
            Model::Pso => self.pso_departures(thread),
            Model::Sc | Model::Tso | Model::Rma => self.tso_departure(thread).into_iter().collect(),
        }
    }

    fn tso_departure(&self, thread: u32) -> Option<Departure> {
        let cell = self.cells().next()?;
        let slot = |position| StateVar::Slot { thread, position };
        Some(Departure {
            cell,
            slot: slot(0),
            after: Self(self.0[1..].to_vec()),
            moves: (1..self.len()).map(|i| (slot(i - 1), slot(i))).collect(),
        })
    }

    fn pso_departures(&self, thread: u32) -> Vec<Departure> {
        let group = self.0.split(|item| *item == Item::Fence).next();
        let mut departures: Vec<Departure> = Vec::new();
        for (at, item) in group.unwrap_or(&[]).iter().enumerate() {
            let Item::Store(cell) = *item else { continue };
            // Of several stores to one cell only the oldest may leave.
            if departures.iter().any(|d| d.cell == cell) {
                continue;
            }
            let slot = |position| StateVar::CellSlot {
                thread,
                cell,
                position,
            };
            let mut after = self.clone();
            after.0.remove(at);
            after.normalise();
            let moves = (1..self.count(cell)).map(|i| (slot(i - 1), slot(i)));
            departures.push(Departure {
                cell,
                slot: slot(0),
                after,
                moves: moves.collect(),
            });
        }
        departures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Buffer {
        let item = |c: char| match c {
            '|' => Item::Fence,
            c => Item::Store(Cell(c as u32 - 'a' as u32)),
        };
        Buffer(text.chars().map(item).collect())
    }

    fn after(buffer: &Buffer, model: Model) -> Vec<Buffer> {
        let departures = buffer.departures(model, 0);
        departures.into_iter().map(|d| d.after).collect()
    }

    #[test]
    fn tso_is_one_queue() {
        let buffer = shape("bab");
        assert_eq!(after(&buffer, Model::Tso), [shape("ab")]);
        let newest = |c| buffer.newest(Model::Tso, 0, Cell(c));
        let slot = |position| StateVar::Slot {
            thread: 0,
            position,
        };
        assert_eq!(newest(0), Some(slot(1)));
        assert_eq!(newest(1), Some(slot(2)));
        assert_eq!(newest(2), None);
        assert_eq!(buffer.with_store(Model::Tso, 0, Cell(0)).1, slot(3));
        assert_eq!(buffer.with_fence(Model::Tso), buffer);
    }

    #[test]
    fn pso_is_a_queue_per_cell() {
        let (buffer, slot) = shape("abb").with_store(Model::Pso, 0, Cell(0));
        assert_eq!(buffer, shape("aabb"));
        let own = |position| StateVar::CellSlot {
            thread: 0,
            cell: Cell(0),
            position,
        };
        assert_eq!(slot, own(1));
        assert_eq!(after(&buffer, Model::Pso), [shape("abb"), shape("aab")]);
        assert_eq!(
            buffer.departures(Model::Pso, 0)[0].moves,
            [(own(0), own(1))]
        );
    }

    #[test]
    fn a_store_store_fence_holds_back_what_comes_after_it() {
        let fenced = shape("a").with_fence(Model::Pso);
        assert_eq!(fenced, shape("a|"));
        assert_eq!(fenced.with_fence(Model::Pso), fenced);
        let buffer = fenced.with_store(Model::Pso, 0, Cell(1)).0;
        assert_eq!(buffer, shape("a|b"));
        assert_eq!(after(&buffer, Model::Pso), [shape("b")]);
        assert_eq!(after(&fenced, Model::Pso), [shape("")]);
        assert_eq!(
            after(&shape("ab|a"), Model::Pso),
            [shape("b|a"), shape("a|a")]
        );
        assert_eq!(shape("").with_fence(Model::Pso), shape(""));
    }

    #[test]
    fn each_shape_has_one_form() {
        for bad in ["|a", "ba", "a||b", "|"] {
            assert!(!shape(bad).is_canonical(Model::Pso), "{bad}");
        }
        for good in ["", "a", "ab", "a|", "b|a", "aab|ab|"] {
            assert!(shape(good).is_canonical(Model::Pso), "{good}");
        }
        assert!(shape("ba").is_canonical(Model::Tso));
        assert!(!shape("a|b").is_canonical(Model::Tso));
        assert!(!shape("a").is_canonical(Model::Sc));
    }
}
