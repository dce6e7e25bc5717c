//! *Prompt* runs: every event happens as soon as it can. They are all that needs to be looked at.
//!
//! An execution of RC11 is a graph; the machine takes its events in some order that extends program order and
//! reads-from, and each such order is a run of the machine: where a store stands in its history,
//! and an SC event in the SC order, does not depend on when it happens. So one order of each graph is enough. It is
//! made by these rules (`prompt_moves`), with what a thread can do at a location in [`Stand`]:
//!
//! - Some thread whose next event can happen is chosen, whichever: nobody else moves. Local steps, fences and stores can
//!   happen; a read can if the store that it reads has. All ways in which the event may happen are followed.
//! - If the graph may have it that the next event of the chosen thread reads what is not there yet, or that the thread
//!   does nothing more, runs are followed, too, in which it is *late*: others go on, and it reads nothing that is
//!   there. A store is read by late threads right after it, or by nobody who is late then. A read-modify-write that
//!   reads at once is a store that others read at once.
//! - A thread without end must not keep others from moving: on each cycle of its locations there is a read, at
//!   which it may be late in any case, or a *pause*. Threads at a pause move when all others are late or
//!   have ended, in any order.
//!
//! Assertions that fail and data races are events of a graph, and are found in whatever order it is
//! taken; `finally` speaks of graphs that are complete. A deadlock is a graph, too: one in which every thread has ended, or waits at a
//! read that the newest message does not let it past. Such threads are not made to do anything (see below), so that the state of just
//! this graph is among those that are found. A `never` speaks of where threads are
//! at the same time, and so does progress: with these no run is left out.
//!
//! *What a thread is made to do that the graph does not have.* The graph of a violation may have no next event of the
//! chosen thread. If that event reads nothing, or reads and is possible whatever is read ([`Reads::always`]), the
//! graph with one more event is an execution, too: one that stands last in its history and in the SC order, and reads the
//! newest message. No relation leads from it to another event, so that it closes no cycle; and if it races, that
//! is a violation. Between two pauses, or reads on a cycle, only finitely many events are added. Where the event waits
//! for a value, and at reads on a cycle, the thread may be late for ever instead.
//!
//! So of a thread that is late although it could always go on, some message has to be missing: once no other thread can store
//! to the location that it reads, this is no run of interest (`hopeless`). A thread that is late for
//! ever counts as ended for what is forgotten.
//!
//! Of a graph, what comes before an assertion that fails in program order and reads-from is a graph, too, and so is what comes
//! before two accesses that race. A thread that never writes comes before nobody else, and two such threads do not
//! race. So where only that is asked, runs are enough in which all but one of these threads do nothing.
//!
//! A thread that waits while others go on without end then reads what is new, not any of the messages
//! in between, of which a summary knows little.

use std::collections::BTreeSet;

use palisade_program::{
    Atomic, AtomicKind, Cfg, FenceKind, Instance, LocId, Program, PropertyKind, Step, TemplateId,
};

use super::access::{Access, Source};
use super::{Judge, State, Trouble, Way, block_order};
use crate::expression::are_opposite;

/// Whether prompt runs are enough.
pub(super) fn suffices(program: &Program) -> bool {
    let mut kinds = program.properties.iter().map(|property| property.kind);
    let over_ends = kinds.all(|kind| match kind {
        PropertyKind::Finally => true,
        PropertyKind::Never => false,
    });
    over_ends && !program.progress
}

/// What a thread can do at a location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stand {
    /// Local steps and fences only, which follow at once what comes before them.
    Passes,
    /// Nothing that reads.
    Acts,
    /// Nothing that reads, on a cycle without reads.
    Pauses,
    /// It may read.
    Reads(Reads),
}

/// A location at which a thread may read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reads {
    cells: BTreeSet<usize>,
    /// Whether a step is possible whatever messages there are.
    always: bool,
    /// Whether a thread may come back here.
    cyclic: bool,
}

/// What threads of a template can do at its locations. On every cycle there is a pause or a read.
pub(super) fn stands(program: &Program, template: TemplateId) -> Vec<Stand> {
    let cfg = &program.template(template).cfg;
    let cyclic = on_cycles(cfg);
    let mut all: Vec<Stand> = cfg
        .locs()
        .map(|loc| stand(program, cfg, loc, cyclic[loc.index()]))
        .collect();
    let silent: Vec<bool> = all
        .iter()
        .map(|stand| !matches!(stand, Stand::Reads(_)))
        .collect();
    let mut pauses = cfg.cycle_cuts(&silent);
    let to_itself = cfg.edges.iter().filter(|edge| edge.from == edge.to);
    pauses.extend(to_itself.map(|edge| edge.from));
    for loc in pauses {
        if silent[loc.index()] {
            all[loc.index()] = Stand::Pauses;
        }
    }
    all
}

fn stand(program: &Program, cfg: &Cfg, loc: LocId, cyclic: bool) -> Stand {
    let mut cells = BTreeSet::new();
    let (mut always, mut passes) = (false, loc != cfg.exit);
    for (_, edge) in cfg.outgoing(loc) {
        read_by(program, &edge.step, &mut cells);
        always |= match &edge.step {
            Step::Load { .. } | Step::Store { .. } | Step::Skip | Step::Fence(_) => true,
            Step::Assign { .. } | Step::Havoc { .. } | Step::Assert { .. } => true,
            Step::Assume(_) => false,
            Step::Atomic(atomic) => is_always_possible(atomic),
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => false,
        };
        passes &= match &edge.step {
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => true,
            Step::Assert { .. } => true,
            Step::Fence(FenceKind::Full | FenceKind::Ordered(_) | FenceKind::Candidate) => true,
            Step::Fence(FenceKind::StoreStore) => false,
            Step::Load { .. } | Step::Store { .. } | Step::Atomic(_) => false,
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => false,
        };
    }
    if !cells.is_empty() {
        Stand::Reads(Reads {
            cells,
            always,
            cyclic,
        })
    } else if passes {
        Stand::Passes
    } else {
        Stand::Acts
    }
}

/// The cells that a step may read.
fn read_by(program: &Program, step: &Step, cells: &mut BTreeSet<usize>) {
    match step {
        Step::Load { src, .. } => {
            let first = program.cell(src.var, 0).index();
            cells.extend(first..first + program.global(src.var).cell_count());
        }
        Step::Atomic(atomic) => {
            let edges = atomic.body.edges.iter();
            edges.for_each(|edge| read_by(program, &edge.step, cells));
        }
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
        Step::Assert { .. } | Step::Fence(_) | Step::Store { .. } => {}
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {}
    }
}

/// Whether a block has a way to its end whatever it reads: it has no cycle, and its conditions are pairs of
/// opposite ones.
fn is_always_possible(atomic: &Atomic) -> bool {
    let body = &atomic.body;
    let waits = match atomic.kind {
        AtomicKind::Lock => true,
        AtomicKind::Block | AtomicKind::Read | AtomicKind::Cas => false,
        AtomicKind::Xchg | AtomicKind::FetchAdd | AtomicKind::Unlock => false,
    };
    let goes_on = |loc: LocId| {
        let edges: Vec<&Step> = body.outgoing(loc).map(|(_, edge)| &edge.step).collect();
        match edges[..] {
            [Step::Assume(a), Step::Assume(b)] => are_opposite(a, b),
            [Step::Assume(_), ..] | [] => false,
            [_] => true,
            [..] => false,
        }
    };
    !waits && !body.has_cycle() && body.locs().all(|loc| loc == body.exit || goes_on(loc))
}

/// The locations that lie on a cycle.
fn on_cycles(cfg: &Cfg) -> Vec<bool> {
    let reached = |from: LocId, backwards: bool| {
        let mut seen = vec![false; cfg.loc_count()];
        let mut open = vec![from];
        let mut neighbours: Vec<Vec<LocId>> = vec![Vec::new(); cfg.loc_count()];
        for edge in &cfg.edges {
            let (a, b) = if backwards {
                (edge.to, edge.from)
            } else {
                (edge.from, edge.to)
            };
            neighbours[a.index()].push(b);
        }
        while let Some(loc) = open.pop() {
            for next in &neighbours[loc.index()] {
                if !std::mem::replace(&mut seen[next.index()], true) {
                    open.push(*next);
                }
            }
        }
        seen
    };
    let mut cyclic = vec![false; cfg.loc_count()];
    for edge in cfg.edges.iter().filter(|edge| edge.from == edge.to) {
        cyclic[edge.from.index()] = true;
    }
    for cut in cfg.cycle_cuts(&vec![true; cfg.loc_count()]) {
        let both = reached(cut, false).into_iter().zip(reached(cut, true));
        for (own, (there, back)) in cyclic.iter_mut().zip(both) {
            *own |= there && back;
        }
    }
    cyclic
}

/// Which threads do nothing, in each of the searches that are made.
pub(super) fn absences(program: &Program, instances: &[Instance]) -> Vec<Vec<bool>> {
    let writes = |step: &Step| match step {
        Step::Store { .. } | Step::Put { .. } | Step::Get { .. } => true,
        Step::RemoteAtomic(_) | Step::Flush(_) => true,
        Step::Atomic(atomic) => atomic.body.edges.iter().any(|e| e.step.stored().is_some()),
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
        Step::Assert { .. } | Step::Fence(_) | Step::Load { .. } => false,
    };
    let is_reader = |instance: &Instance| {
        let edges = &program.template(instance.template).cfg.edges;
        !edges.iter().any(|edge| writes(&edge.step))
    };
    let readers: Vec<usize> = (0..instances.len())
        .filter(|&thread| is_reader(&instances[thread]))
        .collect();
    if readers.len() < 2 || !program.properties.is_empty() || program.deadlock {
        return vec![vec![false; instances.len()]];
    }
    let only = |reader: &usize| {
        let absent = |thread| thread != *reader && readers.contains(&thread);
        (0..instances.len()).map(absent).collect()
    };
    readers.iter().map(only).collect()
}

impl Judge<'_> {
    fn stand(&self, state: &State, thread: usize) -> &Stand {
        &self.stands[thread][state.at[thread].index()]
    }

    /// Whether a thread may move at all.
    fn is_active(&self, state: &State, thread: usize) -> bool {
        !state.late[thread] && state.at[thread] != self.cfg(thread).exit
    }

    fn may_store(&self, state: &State, thread: usize, cells: &BTreeSet<usize>) -> bool {
        let at = state.at[thread];
        let ahead = &self.ahead[thread][at.index()];
        at != self.cfg(thread).exit && !ahead.store.is_disjoint(cells)
    }

    /// Whether the graph may have it that the next event of a thread reads what is not there yet, or that there is none.
    fn may_be_late(&self, state: &State, thread: usize) -> bool {
        match self.stand(state, thread) {
            Stand::Passes | Stand::Acts | Stand::Pauses => false,
            Stand::Reads(reads) => {
                let mut others = (0..state.at.len()).filter(|other| *other != thread);
                let served = others.any(|other| self.may_store(state, other, &reads.cells));
                served || reads.cyclic || !reads.always
            }
        }
    }

    /// Threads that do nothing more: those that are late, and whom nobody can serve.
    pub(super) fn rests(&self, state: &State) -> Vec<bool> {
        let threads = 0..state.at.len();
        let mut moves: Vec<bool> = threads
            .clone()
            .map(|thread| self.is_active(state, thread))
            .collect();
        loop {
            let served = |thread: usize| match self.stand(state, thread) {
                Stand::Reads(reads) => {
                    let mut others = threads.clone().filter(|other| *other != thread);
                    others.any(|other| moves[other] && self.may_store(state, other, &reads.cells))
                }
                Stand::Passes | Stand::Acts | Stand::Pauses => false,
            };
            let late = threads.clone().filter(|thread| state.late[*thread]);
            let Some(next) = late.into_iter().find(|&t| !moves[t] && served(t)) else {
                break;
            };
            moves[next] = true;
        }
        threads
            .map(|thread| state.late[thread] && !moves[thread])
            .collect()
    }

    /// Whether a thread is late for nothing, although it could always go on.
    fn is_hopeless(&self, state: &State) -> bool {
        let rests = self.rests(state);
        (0..state.at.len()).any(|thread| match self.stand(state, thread) {
            Stand::Reads(reads) => rests[thread] && reads.always && !reads.cyclic,
            Stand::Passes | Stand::Acts | Stand::Pauses => false,
        })
    }

    /// The thread whose next event comes first: one that has no choice but to move, if there is one.
    fn chosen(&self, state: &State) -> Option<usize> {
        let moving = (0..state.at.len()).filter(|&thread| {
            self.is_active(state, thread) && *self.stand(state, thread) != Stand::Pauses
        });
        moving.min_by_key(|&thread| match self.stand(state, thread) {
            Stand::Passes | Stand::Acts | Stand::Pauses => 0,
            Stand::Reads(_) => 1 + u8::from(self.may_be_late(state, thread)),
        })
    }

    /// The states behind a move in prompt runs.
    pub(super) fn prompt_moves(&self, state: &State) -> Result<Vec<State>, Trouble> {
        let mut state = state.clone();
        let mut done = Vec::new();
        while let Some(thread) = self.chosen(&state) {
            let moved = self.take(&state, thread, &mut done)?;
            if moved && !self.may_be_late(&state, thread) {
                return Ok(done);
            }
            // Who cannot move at all waits for ever, or for a message.
            state.late[thread] = true;
        }
        for thread in 0..state.at.len() {
            if self.is_active(&state, thread) {
                self.take(&state, thread, &mut done)?;
            }
        }
        Ok(done)
    }

    /// The states behind a step of a thread, and what follows it at once. Whether there is such a step.
    fn take(&self, state: &State, thread: usize, out: &mut Vec<State>) -> Result<bool, Trouble> {
        let mut taken = Vec::new();
        for (_, edge) in self.cfg(thread).outgoing(state.at[thread]) {
            self.step(state, thread, edge, &mut taken)?;
        }
        let moved = !taken.is_empty();
        for after in taken {
            for after in self.noticed(after)? {
                for state in self.run_on(after)? {
                    let state = self.settled(state)?;
                    if !self.is_hopeless(&state) {
                        out.push(state);
                    }
                }
            }
        }
        Ok(moved)
    }

    /// Every thread goes on to its next stop. One that cannot go on stays where it is.
    pub(super) fn run_on(&self, state: State) -> Result<Vec<State>, Trouble> {
        let mut open = vec![state];
        let mut done = Vec::new();
        while let Some(state) = open.pop() {
            let mut moving = (0..state.at.len()).filter(|&thread| {
                !self.stops[thread][state.at[thread].index()] && !state.stuck[thread]
            });
            let Some(thread) = moving.next() else {
                done.push(state);
                continue;
            };
            let before = open.len();
            for (_, edge) in self.cfg(thread).outgoing(state.at[thread]) {
                self.step(&state, thread, edge, &mut open)?;
            }
            if open.len() == before {
                let mut stuck = state;
                stuck.stuck[thread] = true;
                open.push(stuck);
            }
        }
        Ok(done)
    }

    /// The states behind a step: threads that are late read what it wrote at once, or not at all.
    fn noticed(&self, after: State) -> Result<Vec<State>, Trouble> {
        let mut done = Vec::new();
        let mut open = vec![(after, Vec::new())];
        while let Some((mut state, mut unread)) = open.pop() {
            if let Some((cell, source)) = state.news.take() {
                unread.push((cell, source, 0));
            }
            let Some((cell, source, first)) = unread.last().copied() else {
                done.push(state);
                continue;
            };
            let reads = |&thread: &usize| match self.stand(&state, thread) {
                Stand::Reads(reads) => state.late[thread] && reads.cells.contains(&cell),
                Stand::Passes | Stand::Acts | Stand::Pauses => false,
            };
            let last = unread.len() - 1;
            let Some(thread) = (first..state.at.len()).find(reads) else {
                unread.truncate(last);
                open.push((state, unread));
                continue;
            };
            unread[last].2 = thread + 1;
            let mut more = Vec::new();
            self.read_at_once(&state, thread, (cell, source), &mut more)?;
            open.extend(more.into_iter().map(|state| (state, unread.clone())));
            open.push((state, unread));
        }
        Ok(done)
    }

    /// A thread that is late reads this message.
    fn read_at_once(
        &self,
        state: &State,
        thread: usize,
        (cell, source): (usize, Source),
        out: &mut Vec<State>,
    ) -> Result<(), Trouble> {
        let sources = state.memory.sources(thread, cell);
        let Some((_, value)) = sources.into_iter().find(|(s, _)| *s == source) else {
            return Ok(());
        };
        let mut ready = state.clone();
        ready.late[thread] = false;
        for (_, edge) in self.cfg(thread).outgoing(state.at[thread]) {
            match &edge.step {
                Step::Load { dst, src } => {
                    if self.cell(&ready, thread, src, edge.span)? != cell {
                        continue;
                    }
                    let access = Access {
                        thread,
                        cell,
                        order: src.order,
                        read: Some(source),
                        write: None,
                    };
                    let mut after = ready.clone();
                    after.locals[thread][dst.index()] = value;
                    after.at[thread] = edge.to;
                    self.happen(&after, &access, edge.span, out)?;
                }
                Step::Atomic(atomic) => {
                    let way = Way {
                        state: ready.clone(),
                        at: atomic.body.entry,
                        event: None,
                        reads: None,
                    };
                    let order = block_order(atomic.kind);
                    for (way, span) in self.ways(&atomic.body, thread, order, way)? {
                        let reads =
                            |access: &Access| access.cell == cell && access.read == Some(source);
                        let Some(access) = way.event.filter(reads) else {
                            continue;
                        };
                        let mut after = way.state;
                        after.at[thread] = edge.to;
                        self.happen(&after, &access, span, out)?;
                    }
                }
                Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
                Step::Assert { .. } | Step::Fence(_) | Step::Store { .. } => {}
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) => {}
                Step::Flush(_) => {}
            }
        }
        Ok(())
    }
}
