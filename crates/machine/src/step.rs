//! One step of one thread, and the steps of memory: the operational semantics of
//! docs/memory-models.md. [`Machine::apply`] does a thread's step that is no
//! atomic block (those are in [`crate::block`]); [`Machine::update`],
//! [`Machine::network_read`] and [`Machine::network_write`] are the steps of the
//! memory system.

use palisade_program::{LocId, Model, Stuck};

use crate::code::Code;
use crate::expand::{Quiet, Scratch};
use crate::machine::{Act, Arc, Machine, Spot};
use crate::options::{Bound, Bounds};
use crate::state::{NO_CELL, Pending, State};

/// What became of an attempt to step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// Done: the next state is there.
    Done,
    /// Not enabled, and only a step of the thread itself could change that.
    Disabled,
    /// Not enabled until memory steps have emptied buffers.
    Waits,
    /// An assertion fails.
    Fails,
    /// Left out because of a bound. [`Bound::Buffer`] waits, the others do not.
    Cut(Bound),
}

impl Machine<'_> {
    /// The cell that a place names.
    pub(crate) fn cell_of(&self, spot: Spot, slots: &[i64]) -> Result<u32, Bound> {
        match spot {
            Spot::Cell(cell) => Ok(cell),
            Spot::Element { base, len, index } => {
                let index = self.table.eval(index, &[], slots)?;
                if (0..i64::from(len)).contains(&index) {
                    Ok(base + index as u32)
                } else {
                    Err(Bound::Index)
                }
            }
        }
    }

    /// The value of an expression that is to be kept in a variable.
    pub(crate) fn kept(&self, value: Code, slots: &[i64]) -> Result<i64, Bound> {
        let value = self.table.eval(value, &[], slots)?;
        if self.range.contains(value) {
            Ok(value)
        } else {
            Err(Bound::Range)
        }
    }

    /// Tries the step of arc `arc` of thread `t`, with `choice` as the value of
    /// a `*`. On [`Effect::Done`] the result is in `next`, else `next` is untouched.
    pub(crate) fn apply(
        &self,
        state: &State,
        next: &mut State,
        t: usize,
        arc: usize,
        choice: i64,
    ) -> Effect {
        let edge = &self.threads[t].graph.arcs[arc];
        match self.act(state, next, t, arc, choice) {
            Ok(Effect::Done) => {
                arrive(edge, next, t);
                if self.has_passed(t, state.pcs[t], edge.to) {
                    self.settle(next);
                }
                Effect::Done
            }
            Ok(effect) => effect,
            Err(bound) => Effect::Cut(bound),
        }
    }

    fn act(
        &self,
        state: &State,
        next: &mut State,
        t: usize,
        arc: usize,
        choice: i64,
    ) -> Result<Effect, Bound> {
        let slots = &state.slots;
        let queue = &state.queues[t];
        match self.threads[t].graph.arcs[arc].act {
            Act::Skip => next.clone_from(state),
            Act::Assume(cond) => {
                if self.table.eval(cond, &[], slots)? == 0 {
                    return Ok(Effect::Disabled);
                }
                next.clone_from(state);
            }
            Act::Assert(cond) => {
                if self.table.eval(cond, &[], slots)? == 0 {
                    return Ok(Effect::Fails);
                }
                next.clone_from(state);
            }
            Act::Assign { dst, value } => {
                let value = self.kept(value, slots)?;
                next.clone_from(state);
                next.slots[dst as usize] = value;
            }
            Act::Havoc { dst, .. } => {
                next.clone_from(state);
                next.slots[dst as usize] = choice;
            }
            Act::Load { dst, src, .. } => {
                let cell = self.cell_of(src, slots)?;
                let value = queue.newest(cell).unwrap_or(slots[cell as usize]);
                next.clone_from(state);
                next.slots[dst as usize] = value;
            }
            Act::Store { dst, value, .. } => {
                let cell = self.cell_of(dst, slots)?;
                let value = self.kept(value, slots)?;
                next.clone_from(state);
                next.slots[cell as usize] = value;
            }
            Act::Buffer { dst, value } => {
                let cell = self.cell_of(dst, slots)?;
                let value = self.kept(value, slots)?;
                let held = match self.model {
                    Model::Pso => queue.stores.iter().filter(|s| s.cell == cell).count(),
                    Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => queue.stores.len(),
                };
                if held >= self.buffer {
                    return Err(Bound::Buffer);
                }
                next.clone_from(state);
                match self.model {
                    Model::Pso => next.queues[t].insert(cell, value, arc as u32),
                    Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => {
                        next.queues[t].push(cell, value, arc as u32);
                    }
                }
            }
            Act::Fence => {
                if !queue.stores.is_empty() {
                    return Ok(Effect::Waits);
                }
                next.clone_from(state);
            }
            Act::StoreStore => {
                next.clone_from(state);
                next.queues[t].store_store_fence();
            }
            Act::Copy { dst, src } => {
                let (dst, src) = (self.cell_of(dst, slots)?, self.cell_of(src, slots)?);
                next.clone_from(state);
                next.slots[dst as usize] = slots[src as usize];
            }
            Act::Issue {
                dst,
                src,
                remote,
                put,
            } => {
                let (target, source) = (self.cell_of(dst, slots)?, self.cell_of(src, slots)?);
                if queue.pending.len() + queue.atomics.len() >= self.buffer {
                    return Err(Bound::Buffer);
                }
                let remote = remote.thread(target, source);
                next.clone_from(state);
                let pending = Pending {
                    remote,
                    source,
                    target,
                    put,
                    value: 0,
                    origin: arc as u32,
                };
                self.add_pending(next, t, pending);
            }
            Act::Remote(index) => {
                let code = &self.threads[t].remotes[index as usize];
                self.remote_step(state, next, t, code, arc)?;
            }
            Act::Flush {
                first,
                count,
                copy,
                local,
            } => {
                let threads = match copy {
                    None => first..first + count,
                    Some(copy) => {
                        let copy = self.table.eval(copy, &[], slots)?;
                        if !(0..i64::from(count)).contains(&copy) {
                            return Err(Bound::Index);
                        }
                        first + copy as u32..first + copy as u32 + 1
                    }
                };
                let mut pending = queue.pending.iter();
                let mut atomics = queue.atomics.iter();
                let waits = pending
                    .any(|p| threads.contains(&p.remote) && !(local && p.is_locally_done()))
                    || atomics
                        .any(|a| threads.contains(&a.remote) && !(local && a.is_locally_done()));
                if waits {
                    return Ok(Effect::Waits);
                }
                next.clone_from(state);
            }
            Act::Ordered(_) => unreachable!("fences of C11 are turns of RC11"),
            Act::Block(_) => unreachable!("atomic blocks are run by `run_block`"),
        }
        Ok(Effect::Done)
    }

    /// Whether the buffered store at `index` of thread `t` may reach memory now.
    pub(crate) fn may_update(&self, state: &State, t: usize, index: usize) -> bool {
        match self.model {
            Model::Pso => state.queues[t].may_leave(index),
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => index == 0,
        }
    }

    /// The buffered store at `index` of thread `t` reaches memory.
    pub(crate) fn update(state: &State, next: &mut State, t: usize, index: usize) {
        next.clone_from(state);
        let store = next.queues[t].remove(index);
        next.slots[store.cell as usize] = store.value;
    }

    /// The network does the half of a remote operation that is next: the read,
    /// which leaves the write, or the write.
    pub(crate) fn network(&self, state: &State, next: &mut State, t: usize, index: usize) {
        next.clone_from(state);
        let mut pending = next.queues[t].pending.remove(index);
        if pending.source == NO_CELL {
            next.slots[pending.target as usize] = pending.value;
        } else {
            pending.value = state.slots[pending.source as usize];
            pending.source = NO_CELL;
            self.add_pending(next, t, pending);
        }
    }

    /// Adds a pending operation, unless there are as many as are counted.
    pub(crate) fn add_pending(&self, next: &mut State, t: usize, pending: Pending) {
        let queue = &mut next.queues[t];
        if self.equal(&queue.pending, &pending) >= self.saturate {
            return;
        }
        queue.add_pending(pending);
    }

    /// How many pending operations are equal to this one; 0 if that does not matter.
    pub(crate) fn equal(&self, all: &[Pending], pending: &Pending) -> usize {
        if self.saturate == usize::MAX {
            return 0;
        }
        all.iter().filter(|p| p.same(pending)).count()
    }

    /// Whether all threads have ended.
    #[inline]
    pub(crate) fn all_ended(&self, state: &State) -> bool {
        let mut both = self.threads.iter().zip(&state.pcs);
        both.all(|(thread, &pc)| pc == thread.graph.exit)
    }

    /// Whether nothing can move and a thread waits. Under RC11 threads that have not seen all stores could
    /// move once more; what counts is that they cannot when they have.
    pub(crate) fn is_stuck(
        &self,
        state: &State,
        scratch: &mut Scratch,
        bounds: &mut Bounds,
    ) -> bool {
        if !self.is_deadlock(state) {
            return false;
        }
        let outcome = self.expand(&self.arrived(state), false, scratch, &mut Quiet);
        bounds.merge(outcome.bounds);
        outcome.steps == 0 && outcome.bounds.is_empty()
    }

    /// Whether a state in which the reduction under RC11 has left no step has none.
    pub(crate) fn is_blocked(&self, state: &State) -> bool {
        let (mut scratch, mut bounds) = (Scratch::default(), Bounds::default());
        self.is_stuck(state, &mut scratch, &mut bounds)
    }

    /// Whether a state in which nothing can move is a deadlock.
    pub(crate) fn is_deadlock(&self, state: &State) -> bool {
        let both = self.threads.iter().zip(&state.pcs);
        let mut stuck = both.map(|(thread, &pc)| {
            let template = self.program.template(thread.instance.template);
            template.stuck_at(LocId(pc))
        });
        let mut waits = false;
        stuck.all(|stuck| {
            waits |= stuck == Stuck::Waits;
            stuck != Stuck::Over
        }) && waits
    }

    /// Whether all threads have ended and everything has drained.
    #[inline]
    pub(crate) fn is_final(&self, state: &State) -> bool {
        self.all_ended(state) && state.queues.iter().all(crate::state::Queue::is_empty)
    }
}

/// The thread moves to the end of the edge and forgets what is dead there.
#[inline]
pub(crate) fn arrive(edge: &Arc, next: &mut State, t: usize) {
    next.pcs[t] = edge.to;
    for &slot in &edge.dead {
        next.slots[slot as usize] = 0;
    }
}
