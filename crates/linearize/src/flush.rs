//! How the machine uses *store buffers* (`buffer`): what a step does under TSO and PSO, and moves of memory.

use palisade_program::LocId;
use palisade_program::heap::{Edge, Place, Specification, Step};

use crate::buffer::{self, Cell, Store};
use crate::machine::{Bound, End, Event, Machine, Move, Wrong, private};
use crate::options::{Buffers, Reclaim};
use crate::spec::BrokenSpec;
use crate::state::State;
use crate::step::{Fault, Use, fault, packed};
use crate::track::{self, Open};
use crate::value::{Life, Value};

/// What a step does, as far as the buffer decides it.
pub(crate) enum Effected {
    /// What it does under SC.
    Memory,
    /// Nothing, until the buffer is empty, or has room.
    Waits,
    /// It goes wrong.
    Wrong(Fault),
    /// This store comes into the buffer.
    Stored(Store),
    /// It reads the thread's own store: the locals then.
    Forwarded(Vec<Value>),
}

impl Machine<'_> {
    /// Whether the step waits until the thread's stores have reached memory.
    pub(crate) fn drains(&self, edge: &Edge) -> bool {
        match edge.step {
            Step::Fence | Step::Cas { .. } | Step::Lock(_) | Step::Unlock(_) => true,
            Step::Free(_) => self.options.reclaim != Reclaim::Never,
            Step::Skip
            | Step::Assume(_)
            | Step::Assign { .. }
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Read { .. }
            | Step::Write { .. }
            | Step::Compute { .. }
            | Step::Fail(_)
            | Step::Return(_) => false,
        }
    }

    /// What an edge of a method does.
    pub(crate) fn effect(
        &self,
        state: &State,
        thread: usize,
        index: usize,
        edge: &Edge,
    ) -> Effected {
        let (Some(frame), Some(buffer)) = (&state.threads[thread], state.buffers.get(thread))
        else {
            return Effected::Memory;
        };
        let body = self.code(frame.method).body;
        let atomic = |at: LocId| body.locations[at.index()].atomic;
        if atomic(edge.from) {
            return Effected::Memory;
        }
        if (self.drains(edge) || atomic(edge.to)) && !buffer.is_empty() {
            return Effected::Waits;
        }
        if atomic(edge.to) {
            return Effected::Memory;
        }
        let (memory, locals) = (&state.memory, &frame.locals);
        let wrong = |place, how| fault(memory, place, locals, how, thread as u32, &self.rules);
        match &edge.step {
            Step::Read { to, tag, from } => {
                let own = Cell::of(*from, locals).and_then(|at| buffer::newest(buffer, at));
                let Some(word) = own else {
                    return Effected::Memory;
                };
                if let Some(fault) = wrong(*from, Use::Read) {
                    return Effected::Wrong(fault);
                }
                let mut locals = locals.clone();
                locals[to.index()] = word.value;
                if let Some(tag) = tag {
                    locals[tag.index()] = word.tag;
                }
                Effected::Forwarded(locals)
            }
            Step::Write { to, value, tag } => {
                if let Some(fault) = wrong(*to, Use::Write) {
                    return Effected::Wrong(fault);
                }
                let word = match packed(*value, *tag, memory, locals) {
                    Ok(word) => word,
                    Err(fault) => return Effected::Wrong(fault),
                };
                let Some(at) = Cell::of(*to, locals) else {
                    return Effected::Wrong(Fault::NullDereference);
                };
                if self.unnoticed(state, thread, *to, at) {
                    return Effected::Memory;
                }
                if buffer.len() >= self.options.stores {
                    self.touch(Bound::Stores);
                    return Effected::Waits;
                }
                Effected::Stored(Store {
                    at,
                    word,
                    made: (frame.method, index),
                })
            }
            Step::Skip
            | Step::Fence
            | Step::Assume(_)
            | Step::Assign { .. }
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Cas { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Free(_)
            | Step::Compute { .. }
            | Step::Fail(_)
            | Step::Return(_) => Effected::Memory,
        }
    }

    /// Whether it makes no difference when a store reaches memory. Under TSO a store into a node that nobody else can reach is in
    /// memory before the store, or behind the `cas`, by which others can.
    fn unnoticed(&self, state: &State, thread: usize, place: Place, at: Cell) -> bool {
        let model = self.options.buffers == Buffers::Tso && self.options.reduce;
        let node = match place {
            Place::Shared(_) => None,
            Place::Field { .. } => at.node(),
        };
        model && node.is_some_and(|node| private(state, thread, node))
    }

    /// Whether a call of the thread that returns now is complete.
    pub(crate) fn is_complete(&self, state: &State, thread: usize) -> bool {
        let waits = state.buffers.get(thread).is_some_and(|b| !b.is_empty());
        !waits || self.options.real_time
    }

    /// Stores of a thread reach memory.
    pub(crate) fn flushes(
        &self,
        state: &State,
        thread: usize,
        moves: &mut Vec<Move>,
    ) -> Result<(), BrokenSpec> {
        let Some(buffer) = state.buffers.get(thread) else {
            return Ok(());
        };
        for index in buffer::next(buffer, self.options.buffers) {
            let mut next = state.clone();
            let (store, complete) = buffer::flush(
                &mut next.buffers[thread],
                index,
                &mut next.returned[thread],
                &mut next.memory,
            );
            let (method, edge) = store.made;
            let span = self.program.methods[method].body.edges[edge].span;
            let wrong = self.flushed(&mut next, thread, store, complete)?;
            let end = match wrong {
                Some(what) => End::Wrong { what, span },
                None => self.checked(next, span),
            };
            moves.push(Move {
                thread,
                events: vec![Event::Flush { index, store }],
                end,
            });
        }
        Ok(())
    }

    /// What goes wrong when a store has reached memory; ends the calls that are complete now.
    fn flushed(
        &self,
        state: &mut State,
        thread: usize,
        store: Store,
        complete: usize,
    ) -> Result<Option<Wrong>, BrokenSpec> {
        let life = |node: u32| state.memory.nodes[node as usize].life;
        if store.at.node().is_some_and(|node| life(node) != Life::Live) {
            return Ok(Some(Wrong::Step(Fault::UseAfterFree)));
        }
        if complete == 0 {
            return Ok(None);
        }
        if self.program.specification != Specification::Nothing {
            let pending = self.all_pending(state);
            let open = Open {
                pending: &pending,
                returned: &state.returned,
            };
            let count = complete as u32;
            let after = track::completed(&self.oracle, &state.beliefs, open, thread, count)?;
            state.beliefs = after;
            if state.beliefs.is_empty() {
                return Ok(Some(Wrong::NotLinearizable));
            }
        }
        state.returned[thread].drain(..complete);
        Ok(None)
    }
}
