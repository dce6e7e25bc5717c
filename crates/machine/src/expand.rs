//! All successors of a state: the steps of every thread and of memory, handed
//! to a [`Sink`] one by one. With partial-order reduction a thread that may be
//! preferred (see [`crate::partial_order`]) is expanded alone, and the network does not do
//! what can wait (see [`crate::delay`]).

use palisade_program::{Cell, EdgeId, Model};

use crate::block::{BlockEnd, BlockScratch};
use crate::delay::Late;
use crate::machine::{Act, Machine};
use crate::options::{Bound, Bounds};
use crate::rc11::{TurnEnd, Turns};
use crate::remote::{Part, parts};
use crate::state::{NO_CELL, State};
use crate::step::{Effect, arrive};
use palisade_program::BlockStep;
use palisade_program::{Action, ActionKind};

/// A step that was taken, cheaply; [`Move::action`] makes it an [`Action`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move<'a> {
    /// The thread that steps, or for which memory steps.
    pub(crate) thread: usize,
    /// What it does.
    pub(crate) kind: MoveKind<'a>,
}

/// See [`Move`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum MoveKind<'a> {
    /// The arc, and the value of a `*`.
    Step(usize, Option<i64>),
    /// The arc, and the run inside the block.
    Block(usize, &'a [BlockStep]),
    /// RC11: the arc, the run inside a block, and which of the ways.
    Ordered(usize, &'a [BlockStep], usize),
    /// Index of the store in the thread's list.
    Update(usize),
    /// Index of the operation in the thread's list.
    Network(usize),
    /// Index of the remote atomic operation in the thread's list, and which part.
    Atomic(usize, Part),
}

impl Move<'_> {
    /// Whether memory steps, not the thread.
    pub(crate) fn by_memory(&self) -> bool {
        match self.kind {
            MoveKind::Update(_) | MoveKind::Network(_) | MoveKind::Atomic(..) => true,
            MoveKind::Step(..) | MoveKind::Block(..) | MoveKind::Ordered(..) => false,
        }
    }

    /// The same in terms of the program; `state` is where it is taken.
    pub(crate) fn action(&self, state: &State) -> Action {
        let queue = &state.queues[self.thread];
        let kind = match self.kind {
            MoveKind::Step(arc, choice) => ActionKind::Step {
                edge: EdgeId::from(arc),
                choice,
            },
            MoveKind::Block(arc, path) => ActionKind::Block {
                edge: EdgeId::from(arc),
                path: path.to_vec(),
            },
            MoveKind::Ordered(arc, path, pick) => ActionKind::Ordered {
                edge: EdgeId::from(arc),
                path: path.to_vec(),
                pick,
            },
            MoveKind::Update(index) => ActionKind::Update {
                cell: Cell(queue.stores[index].cell),
            },
            MoveKind::Atomic(index, part) => {
                let target = queue.atomics[index].cell;
                let position = queue.atomics[..index]
                    .iter()
                    .filter(|a| a.cell == target)
                    .count();
                let target = Cell(target);
                match part {
                    Part::Read(operand) => ActionKind::AtomicRead {
                        target,
                        position,
                        operand,
                    },
                    Part::Apply => ActionKind::AtomicApply { target },
                }
            }
            MoveKind::Network(index) => {
                let pending = queue.pending[index];
                if pending.source == NO_CELL {
                    ActionKind::NetworkWrite {
                        target: Cell(pending.target),
                        value: pending.value,
                    }
                } else {
                    ActionKind::NetworkRead {
                        source: Cell(pending.source),
                        target: Cell(pending.target),
                    }
                }
            }
        };
        Action {
            thread: self.thread,
            kind,
        }
    }
}

/// Receives successors.
pub(crate) trait Sink {
    /// A step leads to `next`.
    fn next(&mut self, next: &State, step: Move<'_>);
    /// A step fails an assertion.
    fn fails(&mut self, step: Move<'_>);
}

/// Keeps nothing: only the [`Outcome`] is asked for.
pub(crate) struct Quiet;

impl Sink for Quiet {
    fn next(&mut self, _next: &State, _step: Move<'_>) {}
    fn fails(&mut self, _step: Move<'_>) {}
}

/// Memory for expanding states, reused.
#[derive(Default)]
pub(crate) struct Scratch {
    next: State,
    block: BlockScratch,
    late: Late,
}

/// What the steps of one thread, or of a whole state, came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    /// Successors and failing assertions.
    pub(crate) steps: u64,
    /// Whether some step waits for memory steps.
    pub(crate) waits: bool,
    /// Bounds that were touched.
    pub(crate) bounds: Bounds,
}

impl Outcome {
    pub(crate) fn merge(&mut self, other: Self) {
        self.steps += other.steps;
        self.waits |= other.waits;
        self.bounds.merge(other.bounds);
    }
}

impl Machine<'_> {
    /// Hands all successors of `state` to `sink`; with `reduce`, enough of them.
    pub(crate) fn expand(
        &self,
        state: &State,
        reduce: bool,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Outcome {
        if reduce && let Some(outcome) = self.expand_promptly(state, scratch, sink) {
            return outcome;
        }
        let mut total = Outcome::default();
        let mut done = 0_u64;
        if reduce {
            for (t, thread) in self.threads.iter().enumerate().take(64) {
                if thread.safe[state.pcs[t] as usize] {
                    let outcome = self.expand_thread(state, t, scratch, sink);
                    total.merge(outcome);
                    done |= 1 << t;
                    if outcome.steps > 0 && !outcome.waits {
                        return total;
                    }
                }
            }
        }
        let mut late = std::mem::take(&mut scratch.late);
        late.clear();
        if reduce {
            self.delays.find(self, state, &mut late);
        }
        for t in 0..self.threads.len() {
            if t >= 64 || done >> t & 1 == 0 {
                total.merge(self.expand_thread(state, t, scratch, sink));
            }
            total.merge(self.expand_memory(state, t, &late, scratch, sink));
        }
        if total.steps == 0 && !late.is_empty() {
            late.clear();
            for t in 0..self.threads.len() {
                total.merge(self.expand_memory(state, t, &late, scratch, sink));
            }
        }
        scratch.late = late;
        total
    }

    /// The thread's own steps.
    pub(crate) fn expand_thread(
        &self,
        state: &State,
        t: usize,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let graph = &self.threads[t].graph;
        let pc = state.pcs[t];
        if pc == graph.exit {
            return outcome;
        }
        for arc in graph.from(pc) {
            if let Some(turns) = self.turns(state, t, arc, &mut scratch.block) {
                outcome.merge(hand_over(state, t, arc, &turns, sink));
                continue;
            }
            match graph.arcs[arc].act {
                Act::Block(block) => {
                    outcome.merge(self.expand_block(state, t, arc, block, scratch, sink));
                }
                Act::Havoc { choice, .. } => {
                    if !choice.complete {
                        outcome.bounds.touch(Bound::Choice);
                    }
                    for value in choice.tried.lo..=choice.tried.hi {
                        let effect = self.apply(state, &mut scratch.next, t, arc, value);
                        let kind = MoveKind::Step(arc, Some(value));
                        report(
                            effect,
                            Move { thread: t, kind },
                            scratch,
                            sink,
                            &mut outcome,
                        );
                    }
                }
                Act::Skip
                | Act::Assume(_)
                | Act::Assign { .. }
                | Act::Load { .. }
                | Act::Store { .. }
                | Act::Buffer { .. }
                | Act::Fence
                | Act::StoreStore
                | Act::Ordered(_)
                | Act::Assert(_)
                | Act::Copy { .. }
                | Act::Issue { .. }
                | Act::Remote(_)
                | Act::Flush { .. } => {
                    let effect = self.apply(state, &mut scratch.next, t, arc, 0);
                    let kind = MoveKind::Step(arc, None);
                    report(
                        effect,
                        Move { thread: t, kind },
                        scratch,
                        sink,
                        &mut outcome,
                    );
                }
            }
        }
        outcome
    }

    fn expand_block(
        &self,
        state: &State,
        t: usize,
        arc: usize,
        block: u32,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let waits = self.threads[t].blocks[block as usize].drains;
        if waits && !state.queues[t].stores.is_empty() {
            outcome.waits = true;
            return outcome;
        }
        let Scratch {
            next, block: inner, ..
        } = scratch;
        let edge = &self.threads[t].graph.arcs[arc];
        self.run_block(state, t, block, inner, |end, slots, path| {
            let kind = MoveKind::Block(arc, path);
            let step = Move { thread: t, kind };
            match end {
                BlockEnd::Exit => {
                    next.clone_from(state);
                    next.slots.copy_from_slice(slots);
                    arrive(edge, next, t);
                    outcome.steps += 1;
                    sink.next(next, step);
                }
                BlockEnd::Fails => {
                    outcome.steps += 1;
                    sink.fails(step);
                }
                BlockEnd::Cut(bound) => outcome.bounds.touch(bound),
            }
        });
        outcome
    }

    /// Memory's steps for the thread, without those that are late.
    fn expand_memory(
        &self,
        state: &State,
        t: usize,
        late: &Late,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Outcome {
        let queue = &state.queues[t];
        let mut outcome = Outcome::default();
        let movable = match self.model {
            Model::Tso => queue.stores.len().min(1),
            Model::Sc | Model::Pso | Model::Rma | Model::Rc11 => queue.stores.len(),
        };
        for index in 0..movable {
            if self.may_update(state, t, index) {
                Self::update(state, &mut scratch.next, t, index);
                outcome.steps += 1;
                let kind = MoveKind::Update(index);
                sink.next(&scratch.next, Move { thread: t, kind });
            }
        }
        for index in 0..queue.pending.len() {
            if late.contains(t, index) {
                continue;
            }
            // Equal operations are interchangeable.
            if index == 0 || !queue.pending[index].same(&queue.pending[index - 1]) {
                self.network(state, &mut scratch.next, t, index);
                outcome.steps += 1;
                let kind = MoveKind::Network(index);
                sink.next(&scratch.next, Move { thread: t, kind });
                if self.equal(&queue.pending, &queue.pending[index]) >= self.saturate {
                    // So many or more: after one is done there may still be as many.
                    self.add_pending(&mut scratch.next, t, queue.pending[index]);
                    outcome.steps += 1;
                    sink.next(&scratch.next, Move { thread: t, kind });
                }
            }
        }
        for index in 0..queue.atomics.len() {
            for part in parts(&queue.atomics, index) {
                match self.network_atomic(state, &mut scratch.next, t, index, part) {
                    Ok(()) => {
                        outcome.steps += 1;
                        let kind = MoveKind::Atomic(index, part);
                        sink.next(&scratch.next, Move { thread: t, kind });
                    }
                    Err(bound) => outcome.bounds.touch(bound),
                }
            }
        }
        outcome
    }
}

/// Hands the turns of a step under RC11 to `sink`.
fn hand_over(state: &State, t: usize, arc: usize, turns: &Turns, sink: &mut impl Sink) -> Outcome {
    let all = || {
        turns
            .all
            .iter()
            .filter(|turn| !Machine::is_refused(state, t, turn))
    };
    for turn in all() {
        let step = Move {
            thread: t,
            kind: MoveKind::Ordered(arc, &turn.path, turn.pick),
        };
        match turn.end {
            TurnEnd::Done => sink.next(&turn.next, step),
            TurnEnd::Fails | TurnEnd::Race(_) => sink.fails(step),
        }
    }
    Outcome {
        steps: all().count() as u64,
        waits: false,
        bounds: turns.bounds,
    }
}

#[inline]
fn report(
    effect: Effect,
    step: Move<'_>,
    scratch: &Scratch,
    sink: &mut impl Sink,
    outcome: &mut Outcome,
) {
    match effect {
        Effect::Done => {
            outcome.steps += 1;
            sink.next(&scratch.next, step);
        }
        Effect::Fails => {
            outcome.steps += 1;
            sink.fails(step);
        }
        Effect::Disabled => {}
        Effect::Waits => outcome.waits = true,
        Effect::Cut(Bound::Buffer) => {
            outcome.waits = true;
            outcome.bounds.touch(Bound::Buffer);
        }
        Effect::Cut(bound) => outcome.bounds.touch(bound),
    }
}
