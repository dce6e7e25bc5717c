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
//! This is docs/memory-models.md's account of PSO read literally ("may leave its buffer only
//! when no store issued before it is still in any of the thread's buffers").

use crate::buffer_summary::{BufferSummary, Keep, SummaryInvariant};
use crate::remote::Pending;
use crate::remote_atomic::PendingAtomic;
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
pub struct Buffer {
    /// The stores that are known exactly, and fences between them.
    pub items: Vec<Item>,
    /// Abstract buffers: the cells of all others, in ascending order, each once
    /// (`buffer_summary.rs` has the meaning).
    pub many: Vec<Cell>,
    /// RMA: pending operations, in ascending order (`remote.rs` has the meaning).
    pub pending: Vec<Pending>,
    /// RMA: the operations with instances beyond those of `pending`, in ascending order.
    pub sets: Vec<u32>,
    /// RMA: pending remote atomic operations, in ascending order.
    pub atomics: Vec<PendingAtomic>,
}

/// A buffered store that may go to memory now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Departure {
    /// The cell that changes.
    pub(crate) cell: Cell,
    /// The state variable whose value it receives; `None` if all that is known of
    /// the value is what the certificate claims.
    pub(crate) slot: Option<StateVar>,
    /// The shape afterwards.
    pub(crate) after: Buffer,
    /// Slots that move up: the first takes the value of the second.
    pub(crate) moves: Vec<(StateVar, StateVar)>,
}

/// A store that is not known exactly any more.
pub(crate) struct Joining {
    /// Its cell.
    pub(crate) cell: Cell,
    /// Its slot.
    pub(crate) slot: StateVar,
    /// Whether others to its cell were so before.
    pub(crate) held: bool,
    /// The shape afterwards.
    pub(crate) after: Buffer,
    /// Slots that move up: the first takes the value of the second.
    pub(crate) moves: Vec<(StateVar, StateVar)>,
}

impl Buffer {
    /// The shape in which all stores are known exactly.
    pub fn exact(items: Vec<Item>) -> Self {
        Self {
            items,
            ..Self::default()
        }
    }

    /// Whether nothing waits: no store, no remote operation.
    pub fn is_empty(&self) -> bool {
        self.has_no_store() && self.has_no_remote()
    }

    fn has_no_remote(&self) -> bool {
        self.pending.is_empty() && self.sets.is_empty() && self.atomics.is_empty()
    }

    /// Whether no store waits: what fences and atomic blocks wait for.
    pub(crate) fn has_no_store(&self) -> bool {
        self.items.is_empty() && self.many.is_empty()
    }

    /// The cells of the waiting stores that are known exactly, in order.
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = Cell> + '_ {
        self.items.iter().filter_map(|item| match item {
            Item::Store(cell) => Some(*cell),
            Item::Fence => None,
        })
    }

    /// Whether a store to this cell waits.
    pub(crate) fn has_store_to(&self, cell: Cell) -> bool {
        self.many.contains(&cell) || self.items.contains(&Item::Store(cell))
    }

    fn count(&self, cell: Cell) -> u32 {
        self.cells().filter(|c| *c == cell).count() as u32
    }

    fn len(&self) -> u32 {
        self.cells().count() as u32
    }

    /// Whether this is the one form of its shape under `model`.
    pub fn is_canonical(&self, model: Model) -> bool {
        let ascending = self.many.windows(2).all(|pair| pair[0] < pair[1]);
        let pending = match model {
            Model::Rma => self.pending_is_canonical() && self.atomics_are_canonical(),
            Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => self.has_no_remote(),
        };
        ascending && pending && self.items_are_canonical(model)
    }

    fn items_are_canonical(&self, model: Model) -> bool {
        match model {
            Model::Sc | Model::Rma | Model::Rc11 => self.items.is_empty(),
            Model::Tso => !self.items.contains(&Item::Fence),
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
        let mut out: Vec<Item> = Vec::with_capacity(self.items.len());
        for group in self.items.split_inclusive(|item| *item == Item::Fence) {
            let mut group = group.to_vec();
            let fence = group.pop_if(|item| *item == Item::Fence);
            group.sort_unstable();
            // A group without stores is dropped together with its fence.
            if !group.is_empty() {
                out.extend(group);
                out.extend(fence);
            }
        }
        self.items = out;
    }

    /// The slots of the waiting stores, and what is known of those beyond.
    pub(crate) fn slots(
        &self,
        model: Model,
        thread: u32,
        beyond: Option<&BufferSummary>,
    ) -> Vec<StateVar> {
        let read = self.pending.iter().filter(|p| p.read);
        let mut slots: Vec<StateVar> = read.map(|p| StateVar::carried(thread, *p)).collect();
        slots.extend(self.atomics.iter().flat_map(|p| p.vars(thread)));
        let element = |&operation: &u32| StateVar::Element { thread, operation };
        slots.extend(self.sets.iter().map(element));
        for &cell in &self.many {
            slots.push(StateVar::Last { thread, cell });
            if beyond.is_some_and(|b| *b.claim(thread, cell) == SummaryInvariant::Rising) {
                slots.push(StateVar::Low { thread, cell });
            }
        }
        let mut seen: Vec<Cell> = Vec::new();
        for (position, cell) in self.cells().enumerate() {
            let earlier = seen.iter().filter(|c| **c == cell).count();
            slots.push(match model {
                Model::Pso => StateVar::CellSlot {
                    thread,
                    cell,
                    position: earlier as u32,
                },
                Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => StateVar::Slot {
                    thread,
                    position: position as u32,
                },
            });
            seen.push(cell);
        }
        slots
    }

    /// Where the value of the newest store to `cell` is: what the thread itself
    /// reads.
    pub(crate) fn newest(
        &self,
        model: Model,
        thread: u32,
        cell: Cell,
        keep: Keep,
    ) -> Option<StateVar> {
        let exact = || self.newest_exact(model, thread, cell);
        let known = self.many.contains(&cell);
        let last = known.then_some(StateVar::Last { thread, cell });
        match keep {
            Keep::Newest => exact().or(last),
            Keep::Oldest => last.or_else(exact),
        }
    }

    fn newest_exact(&self, model: Model, thread: u32, cell: Cell) -> Option<StateVar> {
        match model {
            Model::Pso => self
                .count(cell)
                .checked_sub(1)
                .map(|position| StateVar::CellSlot {
                    thread,
                    cell,
                    position,
                }),
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => {
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
                let fence = after.items.iter().rposition(|item| *item == Item::Fence);
                let group = fence.map_or(0, |at| at + 1);
                let at = after.items[group..].partition_point(|item| *item <= Item::Store(cell));
                after.items.insert(group + at, Item::Store(cell));
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
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => {
                after.items.push(Item::Store(cell));
                let position = self.len();
                (after, StateVar::Slot { thread, position })
            }
        }
    }

    /// The shape after a store-store fence.
    pub(crate) fn with_fence(&self, model: Model) -> Self {
        let mut after = self.clone();
        let needed = match model {
            Model::Pso => matches!(self.items.last(), Some(Item::Store(_))),
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => false,
        };
        if needed {
            after.items.push(Item::Fence);
        }
        after
    }

    /// How many stores that are known exactly count against a bound when there is
    /// one more to `cell`.
    fn counted(&self, model: Model, cell: Cell) -> u32 {
        match model {
            Model::Pso => self.count(cell),
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => self.len(),
        }
    }

    /// Whether a new store to `cell` cannot be known exactly with `Keep::Oldest`:
    /// the room is used up, or stores before it in its queue are not known.
    pub(crate) fn is_beyond(
        &self,
        model: Model,
        thread: u32,
        cell: Cell,
        beyond: &BufferSummary,
    ) -> bool {
        let queued = match model {
            Model::Pso => self.many.contains(&cell),
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => !self.many.is_empty(),
        };
        queued || self.counted(model, cell) >= beyond.cells(model, thread, cell)
    }

    /// With `Keep::Newest`, after a store to `cell`: the store that has no room.
    pub(crate) fn too_old(
        &self,
        model: Model,
        thread: u32,
        cell: Cell,
        beyond: &BufferSummary,
    ) -> Option<Joining> {
        if self.counted(model, cell) <= beyond.cells(model, thread, cell) {
            return None;
        }
        let (at, cell) = match model {
            Model::Pso => {
                let own = |item: &Item| *item == Item::Store(cell);
                (self.items.iter().position(own)?, cell)
            }
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => (0, self.cells().next()?),
        };
        let (slot, moves) = self.head(model, thread, cell);
        let mut after = self.clone();
        after.items.remove(at);
        if model == Model::Pso {
            after.normalise();
        }
        let held = after.join(cell);
        Some(Joining {
            cell,
            slot,
            held,
            after,
            moves,
        })
    }

    /// Adds a cell to `many`; tells whether it was there.
    pub(crate) fn join(&mut self, cell: Cell) -> bool {
        match self.many.binary_search(&cell) {
            Ok(_) => true,
            Err(at) => {
                self.many.insert(at, cell);
                false
            }
        }
    }

    /// The slot of the oldest exact store (PSO: to `cell`), and the moves of the
    /// others when it leaves.
    fn head(&self, model: Model, thread: u32, cell: Cell) -> (StateVar, Vec<(StateVar, StateVar)>) {
        let slot = |position| match model {
            Model::Pso => StateVar::CellSlot {
                thread,
                cell,
                position,
            },
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => {
                StateVar::Slot { thread, position }
            }
        };
        let count = self.counted(model, cell);
        let moves = (1..count).map(|i| (slot(i - 1), slot(i))).collect();
        (slot(0), moves)
    }

    /// The stores that may go to memory now.
    pub(crate) fn departures(&self, model: Model, thread: u32, keep: Keep) -> Vec<Departure> {
        let waits = |cell: Cell| match (keep, model) {
            (Keep::Newest, _) => false,
            (Keep::Oldest, Model::Pso) => self.count(cell) > 0,
            (Keep::Oldest, Model::Sc | Model::Tso | Model::Rma | Model::Rc11) => {
                !self.items.is_empty()
            }
        };
        let mut all: Vec<Departure> = Vec::new();
        for (at, &cell) in self.many.iter().enumerate() {
            if !waits(cell) {
                all.extend(self.unknown_departures(thread, at, cell));
            }
        }
        all.extend(match model {
            Model::Pso => self.pso_departures(thread, keep),
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => self.tso_departure(thread, keep),
        });
        all
    }

    /// A store to `cell`, one of `many`, leaves: as the only one, or as one of several.
    fn unknown_departures(&self, thread: u32, at: usize, cell: Cell) -> [Departure; 2] {
        let mut after = self.clone();
        after.many.remove(at);
        let only = Departure {
            cell,
            slot: Some(StateVar::Last { thread, cell }),
            after,
            moves: Vec::new(),
        };
        let one = Departure {
            cell,
            slot: None,
            after: self.clone(),
            moves: Vec::new(),
        };
        [only, one]
    }

    fn tso_departure(&self, thread: u32, keep: Keep) -> Vec<Departure> {
        let waits = keep == Keep::Newest && !self.many.is_empty();
        let Some(cell) = self.cells().next().filter(|_| !waits) else {
            return Vec::new();
        };
        let (slot, moves) = self.head(Model::Tso, thread, cell);
        let mut after = self.clone();
        after.items.remove(0);
        vec![Departure {
            cell,
            slot: Some(slot),
            after,
            moves,
        }]
    }

    fn pso_departures(&self, thread: u32, keep: Keep) -> Vec<Departure> {
        let group = self.items.split(|item| *item == Item::Fence).next();
        let mut departures: Vec<Departure> = Vec::new();
        for (at, item) in group.unwrap_or(&[]).iter().enumerate() {
            let Item::Store(cell) = *item else { continue };
            // Of several stores to one cell only the oldest may leave.
            let waits = keep == Keep::Newest && self.many.contains(&cell);
            if waits || departures.iter().any(|d| d.cell == cell) {
                continue;
            }
            let (slot, moves) = self.head(Model::Pso, thread, cell);
            let mut after = self.clone();
            after.items.remove(at);
            after.normalise();
            departures.push(Departure {
                cell,
                slot: Some(slot),
                after,
                moves,
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
        Buffer::exact(text.chars().map(item).collect())
    }

    fn after(buffer: &Buffer, model: Model) -> Vec<Buffer> {
        let departures = buffer.departures(model, 0, Keep::Newest);
        departures.into_iter().map(|d| d.after).collect()
    }

    #[test]
    fn tso_is_one_queue() {
        let buffer = shape("bab");
        assert_eq!(after(&buffer, Model::Tso), [shape("ab")]);
        let newest = |c| buffer.newest(Model::Tso, 0, Cell(c), Keep::Newest);
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
            buffer.departures(Model::Pso, 0, Keep::Newest)[0].moves,
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

    fn abstract_shape(text: &str, many: &str) -> Buffer {
        let many = many.chars().map(|c| Cell(c as u32 - 'a' as u32)).collect();
        Buffer {
            many,
            ..shape(text)
        }
    }

    #[test]
    fn what_is_kept_decides_what_leaves_first() {
        let both = abstract_shape("ba", "ab");
        let leaving = |buffer: &Buffer, model, keep| -> Vec<(u32, bool)> {
            let all = buffer.departures(model, 0, keep).into_iter();
            all.map(|d| (d.cell.0, d.slot.is_some())).collect()
        };
        let all_of_part = [(0, true), (0, false), (1, true), (1, false)];
        assert_eq!(leaving(&both, Model::Tso, Keep::Newest), all_of_part);
        assert_eq!(leaving(&both, Model::Tso, Keep::Oldest), [(1, true)]);
        let part = abstract_shape("", "ab");
        assert_eq!(leaving(&part, Model::Tso, Keep::Oldest), all_of_part);
        let pso = abstract_shape("ab", "b");
        let first = [(1, true), (1, false), (0, true)];
        assert_eq!(leaving(&pso, Model::Pso, Keep::Newest), first);
        assert_eq!(
            leaving(&pso, Model::Pso, Keep::Oldest),
            [(0, true), (1, true)]
        );
    }

    #[test]
    fn a_full_buffer_forgets_its_oldest_store() {
        let beyond = BufferSummary {
            cells: 2,
            sizes: vec![(1, None, 3), (1, Some(Cell(1)), 1)],
            keep: Keep::Newest,
            claims: Vec::new(),
            slots: Vec::new(),
        };
        let forget = |buffer: &Buffer, model, cell| {
            let joining = buffer.too_old(model, 0, Cell(cell), &beyond)?;
            Some((joining.cell.0, joining.held, joining.after))
        };
        assert_eq!(forget(&shape("ab"), Model::Tso, 1), None);
        // Another thread has more room, under PSO less for one cell.
        let other = |text: &str, model, cell| shape(text).too_old(model, 1, Cell(cell), &beyond);
        assert!(other("bab", Model::Tso, 1).is_none());
        assert!(other("abab", Model::Tso, 1).is_some());
        assert!(other("aa", Model::Pso, 0).is_none());
        assert!(other("bb", Model::Pso, 1).is_some());
        let after = Some((1, false, abstract_shape("ab", "b")));
        assert_eq!(forget(&shape("bab"), Model::Tso, 1), after);
        let after = Some((1, true, abstract_shape("ab", "ab")));
        assert_eq!(forget(&abstract_shape("bab", "ab"), Model::Tso, 1), after);
        assert_eq!(forget(&shape("aab"), Model::Pso, 1), None);
        // The fence after the forgotten store separates nothing any more.
        let after = Some((0, false, abstract_shape("aa", "a")));
        assert_eq!(forget(&shape("a|aa"), Model::Pso, 0), after);
        let after = Some((0, false, abstract_shape("b|aa", "a")));
        assert_eq!(forget(&shape("ab|aa"), Model::Pso, 0), after);
    }

    #[test]
    fn a_load_reads_the_newest_store() {
        let buffer = abstract_shape("a", "ab");
        let newest = |c, keep| buffer.newest(Model::Tso, 0, Cell(c), keep);
        let last = |c| StateVar::Last {
            thread: 0,
            cell: Cell(c),
        };
        let slot = StateVar::Slot {
            thread: 0,
            position: 0,
        };
        assert_eq!(newest(0, Keep::Newest), Some(slot));
        assert_eq!(newest(1, Keep::Newest), Some(last(1)));
        assert_eq!(newest(0, Keep::Oldest), Some(last(0)));
        assert_eq!(newest(2, Keep::Oldest), None);
    }
}
