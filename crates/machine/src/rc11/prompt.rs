//! *Prompt runs*: partial-order reduction under RC11. An execution is a graph; each order of its events that extends
//! program order and reads-from is a run, since a store may be inserted anywhere into its history, and an SC event into the
//! SC order. So nothing depends on the order of events but reads on the stores that they read, and one order of each graph is enough
//! [cf. Kokologiannakis et al., POPL 2022, where graphs are enumerated; here they are states, and those with the same
//! future are one]. What is decided about a thread at a location ([`Stand`]):
//!
//! - *Free*: no step there reads. Such a thread may move alone: whatever others do, they do it behind that as well. Where
//!   this might go on for ever it is a *pause*: the thread moves when no other can, and then any thread at a pause.
//! - *Reads*: either the message is there already; then the thread may read it now, alone. Or it comes later: the thread
//!   *refuses* all messages that are there, and others move. It reads a message that it has not refused when one has come.
//!
//! A thread refuses nothing if no other can store there any more, and if it can read whatever there is: a graph in
//! which it stops has one more event in a larger graph, last in all orders. (At a location that it may come back to it may
//! always refuse: this need not end.) For the same reason a search may give up a state in which a thread has refused all messages
//! and none can come.
//!
//! Failing assertions, data races and final states are all found: they are seen in the graph, not in the order. So are deadlocks:
//! threads that wait where the newest message does not let them go on, and so may refuse what is there. Progress
//! and `never` speak of several threads at one time; then nothing is reduced. Nor is it with a summary,
//! which does not tell one old message from another.

use palisade_program::{Atomic, Cfg, Program, PropertyKind, Step};

use crate::expand::{Outcome, Scratch, Sink};
use crate::machine::{Act, Graph, Machine, Spot};
use crate::partial_order::break_cycles;
use crate::state::State;

use super::ahead::Ahead;
use super::cells;
use super::memory::Memory;
use super::turn::Turn;

/// Threads that may refuse messages: so many bits has a message.
const MOST_THREADS: usize = 64;

/// What a thread can do at a location; see the module's header.
#[derive(Clone, Debug)]
enum Stand {
    Free,
    Pauses,
    Reads(Reads),
}

#[derive(Clone, Debug)]
struct Reads {
    cells: Vec<usize>,
    /// Whether it has a step whatever messages there are.
    always: bool,
    /// Whether it may come back.
    cyclic: bool,
}

/// The reduction of a program.
pub(crate) struct Prompt {
    stands: Vec<Vec<Stand>>,
}

impl Prompt {
    /// `None` where order matters.
    pub(crate) fn of(machine: &Machine<'_>) -> Option<Self> {
        let rc11 = machine.rc11.as_ref()?;
        let program = machine.program;
        let fits = machine.threads.len() <= MOST_THREADS && rc11.summary.is_none();
        (fits && is_unordered(program)).then(|| Self {
            stands: machine
                .threads
                .iter()
                .map(|thread| {
                    let cfg = &program.template(thread.instance.template).cfg;
                    stands(cfg, &thread.graph, &thread.blocks)
                })
                .collect(),
        })
    }
}

/// Whether what is asked is seen in the graph.
fn is_unordered(program: &Program) -> bool {
    let mut kinds = program.properties.iter().map(|property| property.kind);
    !program.progress
        && kinds.all(|kind| match kind {
            PropertyKind::Finally => true,
            PropertyKind::Never => false,
        })
}

fn stands(cfg: &Cfg, graph: &Graph, blocks: &[Graph]) -> Vec<Stand> {
    let cyclic = cyclic(graph);
    let mut free = vec![true; graph.loc_count()];
    let mut all = Vec::new();
    for loc in 0..graph.loc_count() {
        let mut places = Vec::new();
        let mut always = false;
        for arc in graph.from(loc as u32) {
            let act = graph.arcs[arc].act;
            loads(act, blocks, &mut places);
            always |= match act {
                Act::Assume(_) => false,
                Act::Block(_) => cfg.edges[arc].step.block().is_some_and(is_total),
                Act::Skip | Act::Assign { .. } | Act::Havoc { .. } | Act::Assert(_) => true,
                Act::Load { .. } | Act::Store { .. } | Act::Ordered(_) => true,
                Act::Buffer { .. } | Act::Fence | Act::StoreStore | Act::Copy { .. } => false,
                Act::Issue { .. } | Act::Remote(_) | Act::Flush { .. } => false,
            };
        }
        free[loc] = places.is_empty();
        all.push(if places.is_empty() {
            Stand::Free
        } else {
            Stand::Reads(Reads {
                cells: places,
                always,
                cyclic: cyclic[loc],
            })
        });
    }
    let silent = free.clone();
    break_cycles(graph, &mut free);
    for (stand, (was, is)) in all.iter_mut().zip(silent.into_iter().zip(free)) {
        if was && !is {
            *stand = Stand::Pauses;
        }
    }
    all
}

/// The cells that a step may load from.
fn loads(act: Act, blocks: &[Graph], places: &mut Vec<usize>) {
    match act {
        Act::Load { src, .. } => add(src, places),
        Act::Block(block) => {
            for arc in &blocks[block as usize].arcs {
                loads(arc.act, blocks, places);
            }
        }
        Act::Skip | Act::Assume(_) | Act::Assign { .. } | Act::Havoc { .. } => {}
        Act::Assert(_) | Act::Store { .. } | Act::Ordered(_) => {}
        Act::Buffer { .. } | Act::Fence | Act::StoreStore | Act::Copy { .. } => {}
        Act::Issue { .. } | Act::Remote(_) | Act::Flush { .. } => {}
    }
}

fn add(spot: Spot, places: &mut Vec<usize>) {
    for cell in cells(spot) {
        if !places.contains(&cell) {
            places.push(cell);
        }
    }
}

/// Whether a block gets to its end whatever it loads: nothing in it waits, but at one of two conditions that
/// exclude each other.
fn is_total(atomic: &Atomic) -> bool {
    let body = &atomic.body;
    !body.has_cycle()
        && body.locs().all(|loc| {
            let mut steps = body.outgoing(loc).map(|(_, edge)| &edge.step);
            match (steps.next(), steps.next(), steps.next()) {
                (None, ..) => loc == body.exit,
                (Some(Step::Assume(a)), Some(Step::Assume(b)), None) => a.clone().negate() == *b,
                (Some(Step::Assume(_)), ..) | (Some(_), Some(_), _) => false,
                (Some(_), None, _) => true,
            }
        })
}

/// The locations that are on a cycle, or between two: all that is left when those without a way in, or out, go
/// one after another.
fn cyclic(graph: &Graph) -> Vec<bool> {
    let mut left = vec![true; graph.loc_count()];
    loop {
        let mut into = vec![false; left.len()];
        let mut out = vec![false; left.len()];
        for from in (0..left.len()).filter(|&loc| left[loc]) {
            for arc in graph.from(from as u32) {
                let to = graph.arcs[arc].to as usize;
                if left[to] {
                    out[from] = true;
                    into[to] = true;
                }
            }
        }
        let stays = |loc: usize| left[loc] && into[loc] && out[loc];
        let next: Vec<bool> = (0..left.len()).map(stays).collect();
        if next == left {
            return left;
        }
        left = next;
    }
}

impl Memory {
    /// Whether a turn of a thread reads what it has refused, or what it could have done at once.
    fn refuses(&self, t: usize, turn: &Turn) -> bool {
        if !self.threads[t].late {
            return false;
        }
        let is_refused = |(cell, i): (usize, usize)| self.history[cell][i].refused >> t & 1 == 1;
        turn.source.is_none_or(is_refused)
    }

    /// Whether there is a message for a thread that it has not refused.
    fn has_news(&self, t: usize, cells: &[usize]) -> bool {
        cells.iter().any(|&cell| {
            let kept = self.readable(t, cell).into_iter().filter_map(|r| r.kept);
            kept.into_iter()
                .any(|i| self.history[cell][i].refused >> t & 1 == 0)
        })
    }

    fn refuse(&mut self, t: usize, cells: &[usize]) {
        self.threads[t].late = true;
        for &cell in cells {
            for message in &mut self.history[cell] {
                message.refused |= 1 << t;
            }
        }
    }

    /// The thread has moved.
    pub(super) fn accept(&mut self, t: usize) {
        if std::mem::replace(&mut self.threads[t].late, false) {
            for message in self.history.iter_mut().flatten() {
                message.refused &= !(1 << t);
            }
        }
    }
}

/// A state that is reduced.
struct Scene<'a, 'p> {
    machine: &'a Machine<'p>,
    prompt: &'a Prompt,
    ahead: &'a [Vec<Ahead>],
}

impl Scene<'_, '_> {
    fn reads<'s>(&'s self, state: &State, t: usize) -> Option<&'s Reads> {
        match &self.prompt.stands[t][state.pcs[t] as usize] {
            Stand::Free | Stand::Pauses => None,
            Stand::Reads(reads) => Some(reads),
        }
    }

    fn ended(&self, state: &State, t: usize) -> bool {
        state.pcs[t] == self.machine.threads[t].graph.exit
    }

    /// Whether it is worth looking at the thread's steps.
    fn moves(&self, state: &State, t: usize) -> bool {
        let Some(memory) = state.memory.as_deref() else {
            return false;
        };
        let news = || {
            let reads = self.reads(state, t);
            reads.is_some_and(|reads| memory.has_news(t, &reads.cells))
        };
        !self.ended(state, t) && (!memory.threads[t].late || news())
    }

    /// Whether some of these threads, but not `t`, may still store to what is read.
    fn served(&self, state: &State, t: usize, reads: &Reads, by: &[bool]) -> bool {
        (0..by.len()).any(|u| {
            let ahead = &self.ahead[u][state.pcs[u] as usize];
            u != t
                && by[u]
                && !self.ended(state, u)
                && reads.cells.iter().any(|&cell| ahead.store[cell])
        })
    }

    /// Whether the thread may leave all messages that are there to others.
    fn may_refuse(&self, state: &State, t: usize) -> bool {
        self.reads(state, t).is_some_and(|reads| {
            let all = vec![true; state.pcs.len()];
            reads.cyclic || !reads.always || self.served(state, t, reads, &all)
        })
    }

    /// Whether a thread that could go on has refused all messages, and none can come.
    fn is_pointless(&self, state: &State) -> bool {
        let threads = 0..state.pcs.len();
        let mut moving: Vec<bool> = threads.clone().map(|t| self.moves(state, t)).collect();
        if (0..moving.len()).all(|t| moving[t] || self.ended(state, t)) {
            return false;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for t in threads.clone() {
                let reads = self.reads(state, t);
                if !moving[t] && reads.is_some_and(|r| self.served(state, t, r, &moving)) {
                    moving[t] = true;
                    changed = true;
                }
            }
        }
        let mut rest = threads.filter(|&t| !moving[t] && !self.ended(state, t));
        rest.any(|t| {
            self.reads(state, t)
                .is_some_and(|reads| reads.always && !reads.cyclic)
        })
    }

    /// The thread that moves next: one that refuses nothing, if there is one.
    fn next(&self, state: &State) -> Option<(usize, bool)> {
        let mut waiting = None;
        for t in 0..state.pcs.len() {
            let stand = &self.prompt.stands[t][state.pcs[t] as usize];
            if matches!(stand, Stand::Pauses) || !self.moves(state, t) {
                continue;
            }
            if !self.may_refuse(state, t) {
                return Some((t, false));
            }
            waiting = waiting.or(Some((t, true)));
        }
        waiting
    }
}

/// Hands on what is not pointless.
struct Pointed<'a, 'p, S> {
    scene: &'a Scene<'a, 'p>,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Pointed<'_, '_, S> {
    fn next(&mut self, next: &State, step: crate::expand::Move<'_>) {
        if !self.scene.is_pointless(next) {
            self.sink.next(next, step);
        }
    }

    fn fails(&mut self, step: crate::expand::Move<'_>) {
        self.sink.fails(step);
    }
}

impl Machine<'_> {
    /// Whether a turn that follows from a state is one that the reduction has left out.
    pub(crate) fn is_refused(state: &State, t: usize, turn: &Turn) -> bool {
        let memory = state.memory.as_deref();
        memory.is_some_and(|memory| memory.refuses(t, turn))
    }

    /// Enough successors of a state; `None` if nothing is reduced.
    pub(crate) fn expand_promptly(
        &self,
        state: &State,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Option<Outcome> {
        let prompt = self.prompt.as_ref()?;
        let scene = Scene {
            machine: self,
            prompt,
            ahead: &self.rc11.as_ref()?.ahead,
        };
        let mut sink = Pointed {
            scene: &scene,
            sink,
        };
        let mut total = Outcome::default();
        let mut state = state.clone();
        while let Some((t, may_refuse)) = scene.next(&state) {
            let outcome = self.expand_thread(&state, t, scratch, &mut sink);
            total.merge(outcome);
            if outcome.steps > 0 && !may_refuse {
                return Some(total);
            }
            let cells = scene.reads(&state, t).map_or(&[][..], |r| &r.cells);
            state.memory.as_mut()?.refuse(t, cells);
        }
        for t in 0..self.threads.len() {
            if scene.moves(&state, t) {
                total.merge(self.expand_thread(&state, t, scratch, &mut sink));
            }
        }
        Some(total)
    }
}
