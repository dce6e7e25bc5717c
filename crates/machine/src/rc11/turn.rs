//! A thread's *turn* under RC11: an access, a fence or an atomic block, with every choice of the
//! message that is read and of the places that are taken.
//!
//! An atomic block is one event (`meaning` has refused others): its load and its store together
//! are an update (read-modify-write) with the store's order; without a store it is a load with
//! the load's order; without a load it is a store.

use palisade_program::Order;
use palisade_program::shift::FAR;

use crate::block::{BlockEnd, BlockScratch};
use crate::machine::{Act, Graph, Machine};
use crate::options::{Bound, Bounds};
use crate::state::State;
use crate::step::arrive;
use palisade_program::BlockStep;

use super::access::{Event, Outcome, Readable};
use super::memory::Memory;

/// One way in which a step may happen.
pub(crate) struct Turn {
    /// The state behind it; where it fails, that before it.
    pub(crate) next: State,
    /// The run inside an atomic block.
    pub(crate) path: Vec<BlockStep>,
    /// Its number among all.
    pub(crate) pick: usize,
    pub(crate) end: TurnEnd,
    /// The access, if it is one.
    pub(crate) event: Option<Event>,
    /// The location and index of the message that is read, if that is not an old one.
    pub(crate) source: Option<(usize, usize)>,
    /// How many newer stores there are than the one that was made.
    pub(crate) below: usize,
}

/// What a turn ends in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TurnEnd {
    Done,
    /// An assertion in a block fails.
    Fails,
    /// A data race with this thread.
    Race(usize),
}

/// All turns of a step, and the bounds that it touches.
#[derive(Default)]
pub(crate) struct Turns {
    pub(crate) all: Vec<Turn>,
    pub(crate) bounds: Bounds,
}

/// Most marks for each message that is allowed.
const MARKS: usize = 4;

impl Machine<'_> {
    /// All turns of thread `t` along `arc`; `None` if the step is none of memory.
    pub(crate) fn turns(
        &self,
        state: &State,
        t: usize,
        arc: usize,
        scratch: &mut BlockScratch,
    ) -> Option<Turns> {
        let memory = state.memory.as_deref()?;
        let mut turns = Turns::default();
        let mut taking = Taking {
            machine: self,
            state,
            memory,
            t,
            arc,
            turns: &mut turns,
        };
        let done = match self.threads[t].graph.arcs[arc].act {
            Act::Load { dst, src, order } => taking.load(dst, src, order),
            Act::Store { dst, value, order } => taking.store(dst, value, order),
            Act::Ordered(order) => {
                taking.fence(order);
                Ok(())
            }
            Act::Block(block) => {
                taking.block(&self.threads[t].blocks[block as usize], block, scratch)
            }
            Act::Skip | Act::Assume(_) | Act::Assign { .. } | Act::Havoc { .. } => return None,
            Act::Assert(_) => return None,
            Act::Buffer { .. } | Act::Fence | Act::StoreStore | Act::Copy { .. } => return None,
            Act::Issue { .. } | Act::Remote(_) | Act::Flush { .. } => return None,
        };
        if let Err(bound) = done {
            turns.bounds.touch(bound);
        }
        Some(turns)
    }
}

impl Machine<'_> {
    /// What an acquire brings: the locations of which a thread can read fewer messages behind a turn,
    /// but for the one that it accesses, and the oldest value that is left.
    pub(crate) fn brought(
        &self,
        state: &State,
        t: usize,
        arc: usize,
        turn: &Turn,
    ) -> Vec<(usize, i64)> {
        let (Some(before), Some(rc11)) = (state.memory.as_deref(), &self.rc11) else {
            return Vec::new();
        };
        // All outcomes of an event bring the same: they differ in places of stores and marks.
        let after = match (turn.event, self.threads[t].graph.arcs[arc].act) {
            (Some(event), _) => before
                .access(event, &rc11.races)
                .into_iter()
                .next()
                .map(|o| o.memory),
            (None, Act::Ordered(order)) => before.fence(t, order).into_iter().next(),
            (None, _) => None,
        };
        let Some(after) = after else {
            return Vec::new();
        };
        let own = turn.event.map(|event| event.cell);
        let others = (0..self.cells).filter(|cell| Some(*cell) != own);
        let oldest = others.filter_map(|cell| {
            let left = after.readable(t, cell);
            let fewer = left.len() < before.readable(t, cell).len();
            left.first()
                .filter(|_| fewer)
                .map(|read| (cell, read.value))
        });
        oldest.collect()
    }
}

/// Whether no way through a block is without a store.
fn always_stores(graph: &Graph) -> bool {
    let mut seen = vec![false; graph.loc_count()];
    let mut work = vec![graph.entry];
    while let Some(at) = work.pop() {
        if std::mem::replace(&mut seen[at as usize], true) {
            continue;
        }
        let arcs = graph.from(at).map(|arc| &graph.arcs[arc]);
        let onward = arcs.filter(|arc| !matches!(arc.act, Act::Store { .. }));
        work.extend(onward.map(|arc| arc.to));
    }
    !seen[graph.exit as usize]
}

struct Taking<'a, 'p> {
    machine: &'a Machine<'p>,
    state: &'a State,
    memory: &'a Memory,
    t: usize,
    arc: usize,
    turns: &'a mut Turns,
}

impl Taking<'_, '_> {
    /// A state with this memory behind the step.
    fn arrived(&self, slots: &[i64], memory: Memory) -> State {
        let mut next = self.state.clone();
        next.slots.copy_from_slice(slots);
        next.memory = Some(Box::new(memory));
        let edge = &self.machine.threads[self.t].graph.arcs[self.arc];
        arrive(edge, &mut next, self.t);
        if let Some(memory) = &mut next.memory {
            memory.accept(self.t);
        }
        self.machine.settle(&mut next);
        next
    }

    fn push(
        &mut self,
        next: State,
        end: TurnEnd,
        path: &[BlockStep],
        event: Option<(&Event, usize)>,
    ) {
        let pick = self.turns.all.len();
        self.turns.all.push(Turn {
            next,
            path: path.to_vec(),
            pick,
            end,
            event: event.map(|(e, _)| *e),
            source: event.and_then(|(e, _)| e.source()),
            below: event.map_or(0, |(_, below)| below),
        });
    }

    fn fence(&mut self, order: Order) {
        let slots = &self.state.slots;
        if order == Order::SeqCst && self.is_full_of_marks() {
            self.turns.bounds.touch(Bound::History);
            return;
        }
        for memory in self.memory.fence(self.t, order) {
            let next = self.arrived(slots, memory);
            self.push(next, TurnEnd::Done, &[], None);
        }
    }

    fn is_full_of_marks(&self) -> bool {
        let most = self.machine.rc11.as_ref().map_or(usize::MAX, |r| r.most);
        self.memory.marks.len() >= most.saturating_mul(MARKS)
    }

    /// Whether an event needs more room than there is.
    fn room(&self, event: &Event) -> Result<(), Bound> {
        let rc11 = self.machine.rc11.as_ref();
        let most = rc11.map_or(usize::MAX, |r| r.most);
        let full = event.write.is_some() && self.memory.history[event.cell].len() >= most;
        if full || (event.order == Order::SeqCst && self.is_full_of_marks()) {
            return Err(Bound::History);
        }
        Ok(())
    }

    /// The messages that may be read, by a step that `updates` or one that may not. A value
    /// far behind is not known well enough.
    fn readable(&self, cell: usize, updates: bool) -> Result<Vec<Readable>, Bound> {
        let mut all = self.memory.readable(self.t, cell);
        if all.iter().any(|read| read.value == FAR) {
            let pos = &self.memory.threads[self.t].current.pos[cell];
            if !updates || pos.may_read_old(FAR, true) {
                return Err(Bound::History);
            }
            all.retain(|read| read.value != FAR);
        }
        Ok(all)
    }

    /// Whether this is the first of the messages that could be read.
    fn is_first(&self, read: Option<(usize, Readable)>) -> bool {
        read.is_none_or(|(cell, read)| self.memory.readable(self.t, cell).first() == Some(&read))
    }

    /// Every way in which `event` happens; `slots` are those behind it.
    fn event(&mut self, event: &Event, slots: &[i64], path: &[BlockStep]) -> Result<(), Bound> {
        let Some(rc11) = &self.machine.rc11 else {
            return Ok(());
        };
        self.room(event)?;
        for Outcome {
            memory,
            below,
            race,
        } in self.memory.access(*event, &rc11.races)
        {
            let next = self.arrived(slots, memory);
            let end = race.map_or(TurnEnd::Done, TurnEnd::Race);
            self.push(next, end, path, Some((event, below)));
        }
        Ok(())
    }

    fn load(&mut self, dst: u32, src: crate::machine::Spot, order: Order) -> Result<(), Bound> {
        let mut slots = self.state.slots.clone();
        let cell = self.machine.cell_of(src, &slots)? as usize;
        for read in self.readable(cell, false)? {
            slots[dst as usize] = read.value;
            let event = Event {
                thread: self.t,
                cell,
                order,
                read: Some(read),
                write: None,
            };
            self.event(&event, &slots, &[])?;
        }
        Ok(())
    }

    fn store(
        &mut self,
        dst: crate::machine::Spot,
        value: crate::code::Code,
        order: Order,
    ) -> Result<(), Bound> {
        let slots = &self.state.slots;
        let cell = self.machine.cell_of(dst, slots)? as usize;
        let event = Event {
            thread: self.t,
            cell,
            order,
            read: None,
            write: Some(self.machine.kept(value, slots)?),
        };
        self.event(&event, slots, &[])
    }

    fn block(
        &mut self,
        graph: &Graph,
        block: u32,
        scratch: &mut BlockScratch,
    ) -> Result<(), Bound> {
        let mut cells = Vec::new();
        for (spot, _) in graph.arcs.iter().filter_map(|arc| super::accessed(arc.act)) {
            // One that is out of range is behind an assertion, or not on the way.
            if let Ok(cell) = self.machine.cell_of(spot, &self.state.slots)
                && !cells.contains(&cell)
            {
                cells.push(cell);
            }
        }
        if cells.is_empty() {
            return self.run(graph, block, None, true, scratch);
        }
        let mut first = true;
        let updates = always_stores(graph);
        for cell in cells.into_iter().map(|cell| cell as usize) {
            for read in self.readable(cell, updates)? {
                self.run(graph, block, Some((cell, read)), first, scratch)?;
                first = false;
            }
        }
        Ok(())
    }

    /// Runs a block that reads this message where it reads. Runs that read nothing are taken
    /// the `first` time only.
    fn run(
        &mut self,
        graph: &Graph,
        block: u32,
        read: Option<(usize, Readable)>,
        first: bool,
        scratch: &mut BlockScratch,
    ) -> Result<(), Bound> {
        let mut before = self.state.clone();
        if let Some((cell, read)) = read {
            before.slots[cell] = read.value;
        }
        let mut ends = Vec::new();
        self.machine
            .run_block(&before, self.t, block, scratch, |end, slots, path| {
                ends.push((end, slots.to_vec(), path.to_vec()));
            });
        let has_store = graph
            .arcs
            .iter()
            .any(|a| matches!(a.act, Act::Store { .. }));
        for (end, slots, path) in ends {
            // The place that this way accesses, and the orders.
            let mut at = None;
            let (mut loads, mut stores) = (None, None);
            for (edge, _) in &path {
                let act = graph.arcs[edge.index()].act;
                if let Some((spot, order)) = super::accessed(act) {
                    let place = self.machine.cell_of(spot, &self.state.slots).ok();
                    assert!(
                        at.is_none() || at == place,
                        "a way through a block accesses one place: others have no meaning"
                    );
                    at = place;
                    if matches!(act, Act::Store { .. }) {
                        stores = Some(order);
                    } else {
                        loads = Some(order);
                    }
                }
            }
            let cell = read.map(|(cell, _)| cell);
            let elsewhere = at.is_some() && at.map(|at| at as usize) != cell;
            let repeated = !first && at.is_none();
            // A store without a load is taken with one of the messages that could be read.
            let idle = loads.is_none() && stores.is_some() && !self.is_first(read);
            if elsewhere || repeated || idle {
                continue;
            }
            let event = read.and_then(|(cell, read)| {
                Some(Event {
                    thread: self.t,
                    cell,
                    order: stores.or(loads)?,
                    read: loads.map(|_| read),
                    write: stores.map(|_| slots[cell]),
                })
            });
            match (end, event) {
                (BlockEnd::Cut(bound), _) => self.turns.bounds.touch(bound),
                (BlockEnd::Exit, Some(event)) => self.event(&event, &slots, &path)?,
                (BlockEnd::Exit, None) => {
                    let next = self.arrived(&slots, self.memory.clone());
                    self.push(next, TurnEnd::Done, &path, None);
                }
                (BlockEnd::Fails, event) => {
                    // The update that it would be must be possible.
                    let possible = event.is_none_or(|event| {
                        let write = has_store.then_some(0);
                        let event = Event { write, ..event };
                        let rc11 = self.machine.rc11.as_ref();
                        rc11.is_some_and(|r| !self.memory.access(event, &r.races).is_empty())
                    });
                    if possible {
                        self.push(self.state.clone(), TurnEnd::Fails, &path, None);
                        if let Some(turn) = self.turns.all.last_mut() {
                            turn.source = event.as_ref().and_then(Event::source);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
