//! *Prompt* runs: a load happens as soon as it can. They are all that needs to be looked at.
//!
//! An execution of RC11 is a graph; the machine takes its events in some order that extends program order and
//! reads-from, and each such order is a run of the machine: where a store stands in its history,
//! and an SC event in the SC order, does not depend on when it happens. Call an event *idle* if it is a load at a
//! location where its thread can only load, or a fence or a local step at one that is no stop ([`stops`]). Every finite graph has an order in which an idle event comes first wherever one can be taken
//! (its predecessor in program order, and the store that it reads, have been taken). So it is enough to
//! look at runs in which
//!
//! - local steps and fences follow at once what comes before them in their thread;
//! - when a thread takes another step than an idle one, each other thread that waits at a load
//!   does so since the store that its load will read is not there yet: from then on it is *late*, and
//!   reads nothing that is there;
//! - a store is read by late threads right after it, or by nobody who is late then.
//!
//! Assertions that fail and data races are events of a graph, and are found in whatever order it is
//! taken; `finally` speaks of graphs that are complete. A `never` speaks of where threads are
//! at the same time, and so do deadlock and progress: with these no run is left out.
//!
//! Of a graph, what comes before an assertion that fails in program order and reads-from is a graph, too, and so is what comes
//! before two accesses that race. A thread that never writes comes before nobody else, and two such threads do not
//! race. So where there is no `finally`, runs are enough in which all but one of these threads do nothing.
//!
//! A thread that waits while others go on without end then reads what is new, not any of the messages
//! in between, of which a summary knows little.

use palisade_program::{Cfg, FenceKind, Instance, LocId, Program, PropertyKind, Step};

use super::access::Access;
use super::{Judge, State, Trouble};

/// Whether prompt runs are enough.
pub(super) fn suffices(program: &Program) -> bool {
    let mut kinds = program.properties.iter().map(|property| property.kind);
    let over_ends = kinds.all(|kind| match kind {
        PropertyKind::Finally => true,
        PropertyKind::Never => false,
    });
    over_ends && !program.deadlock && !program.progress
}

/// The stops of prompt runs: all locations but those with local steps and fences only. On every
/// cycle there is one.
pub(super) fn stops(cfg: &Cfg) -> Vec<bool> {
    let passes = |step: &Step| match step {
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => true,
        Step::Assert { .. } => true,
        Step::Fence(FenceKind::Full | FenceKind::Ordered(_) | FenceKind::Candidate) => true,
        Step::Fence(FenceKind::StoreStore) => false,
        Step::Load { .. } | Step::Store { .. } | Step::Atomic(_) => false,
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => false,
    };
    let mut inside: Vec<bool> = vec![false; cfg.loc_count()];
    for loc in cfg.locs().filter(|loc| *loc != cfg.exit) {
        let mut edges = cfg.outgoing(loc).map(|(_, edge)| edge);
        inside[loc.index()] = edges.all(|edge| edge.to != loc && passes(&edge.step));
    }
    for cut in cfg.cycle_cuts(&inside) {
        inside[cut.index()] = false;
    }
    inside.iter().map(|inside| !inside).collect()
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
    if readers.len() < 2 || !program.properties.is_empty() {
        return vec![vec![false; instances.len()]];
    }
    let only = |reader: &usize| {
        let absent = |thread| thread != *reader && readers.contains(&thread);
        (0..instances.len()).map(absent).collect()
    };
    readers.iter().map(only).collect()
}

/// The locations at which a thread can do nothing but load.
pub(super) fn loads(cfg: &Cfg) -> Vec<bool> {
    let only_loads = |loc: LocId| {
        let mut edges = cfg.outgoing(loc).map(|(_, edge)| edge).peekable();
        let some = edges.peek().is_some();
        some && edges.all(|edge| matches!(edge.step, Step::Load { .. }))
    };
    cfg.locs().map(only_loads).collect()
}

impl Judge<'_> {
    fn loads(&self, state: &State, thread: usize) -> bool {
        self.loads[thread][state.at[thread].index()]
    }

    /// The states behind a move of a thread in prompt runs.
    pub(super) fn prompt_moves(&self, state: &State, thread: usize) -> Result<Vec<State>, Trouble> {
        let cfg = self.cfg(thread);
        let loads = self.loads(state, thread);
        if state.at[thread] == cfg.exit || (loads && state.late[thread]) {
            return Ok(Vec::new());
        }
        let mut taken = Vec::new();
        for (_, edge) in cfg.outgoing(state.at[thread]) {
            self.step(state, thread, edge, &mut taken)?;
        }
        let mut done = Vec::new();
        for after in taken {
            let all = if loads {
                vec![after]
            } else {
                self.noticed(after, thread)?
            };
            for mut after in all {
                after.news = None;
                done.extend(self.run_on(after)?);
            }
        }
        done.into_iter().map(|state| self.settled(state)).collect()
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

    /// The states behind a step that is not idle: others read what it wrote at once, or are late.
    fn noticed(&self, after: State, by: usize) -> Result<Vec<State>, Trouble> {
        let news = after.news;
        let mut all = vec![after];
        for thread in (0..self.instances.len()).filter(|thread| *thread != by) {
            let mut more = Vec::new();
            for state in all {
                if !self.loads(&state, thread) {
                    more.push(state);
                    continue;
                }
                if let Some((cell, source)) = news {
                    self.read_at_once(&state, thread, (cell, source), &mut more)?;
                }
                let mut late = state;
                late.late[thread] = true;
                more.push(late);
            }
            all = more;
        }
        Ok(all)
    }

    /// A thread that waits at a load of this cell reads this message.
    fn read_at_once(
        &self,
        state: &State,
        thread: usize,
        (cell, source): (usize, super::access::Source),
        out: &mut Vec<State>,
    ) -> Result<(), Trouble> {
        let sources = state.memory.sources(thread, cell);
        let Some((_, value)) = sources.into_iter().find(|(s, _)| *s == source) else {
            return Ok(());
        };
        for (_, edge) in self.cfg(thread).outgoing(state.at[thread]) {
            let Step::Load { dst, src } = &edge.step else {
                continue;
            };
            if self.cell(state, thread, src, edge.span)? != cell {
                continue;
            }
            let access = Access {
                thread,
                cell,
                order: src.order,
                read: Some(source),
                write: None,
            };
            let mut after = state.clone();
            after.locals[thread][dst.index()] = value;
            after.at[thread] = edge.to;
            after.late[thread] = false;
            self.happen(&after, &access, edge.span, out)?;
        }
        Ok(())
    }
}
