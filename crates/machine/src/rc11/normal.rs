//! The *normal form* of memory: what no thread can observe any more is forgotten, and equal
//! futures get equal states. In the exact machine nothing is lost:
//!
//! - *Base*: what all threads know. It joins every view (whoever reads a message knows it
//!   already); messages in front of it go.
//! - A thread that never accesses a location again has passed it; but while a thread has an SC fence ahead, only
//!   where no mark bounds what a fence in front of it may know.
//! - *Marks* in front of every thread's last SC event bound nothing any more, except those of
//!   SC fences that somebody knows and whose floor is newer than the base. Lower bounds in the
//!   SC order rise to the least last event.
//! - What acquire fences would bring, and what relaxed stores would publish, goes where the
//!   thread has none of these ahead.
//!
//! A [`Summary`] folds old messages and forgets marks, and so only adds behaviours:
//! each thread keeps its last `events` SC events, its current fence, and the last mark that its
//! next SC fence or SC store must follow. Where few are kept, earlier events that are *idle* do not count: loads in a loop
//! that waits ask nothing that the events beside them do not ask.

use super::ahead::Ahead;
use super::memory::{LOWEST, Memory, OPEN};
use super::races::Races;
use super::view::{NONE, Pos, View};

/// How much of histories and of the SC order is kept exactly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Summary {
    /// Newest messages of each location.
    pub messages: u32,
    /// Whether it is remembered what old messages carry.
    pub carried: bool,
    /// SC events of each thread.
    pub events: u32,
    /// Whether groups of counters are shifted ([`palisade_program::shift`]).
    pub shifted: bool,
}

/// With so many SC events of each thread, idle ones are kept as well.
const MANY: u32 = 8;

/// What lies ahead of each thread.
pub(crate) type Futures<'a> = [Option<&'a Ahead>];

impl Memory {
    /// Brings memory into normal form. `ahead` says of each thread what it may still do; `None`
    /// if it has ended.
    pub(crate) fn normalise(
        &mut self,
        ahead: &Futures<'_>,
        races: &Races,
        summary: Option<Summary>,
    ) {
        if let Some(summary) = summary {
            for cell in 0..self.history.len() {
                while self.history[cell].len() > summary.messages as usize {
                    self.fold(cell, summary.carried);
                }
            }
        }
        // A summary forgets what other threads' marks ask: those of threads that have no more SC
        // events are kept as well.
        let keeps = summary.is_some() && ahead.iter().flatten().any(|a| a.sc);
        self.drop_unused(ahead, keeps);
        match summary {
            Some(summary) => self.thin_marks(ahead, summary),
            None => self.threads.iter_mut().for_each(|t| t.earlier.clear()),
        }
        let base = self.base(ahead, races);
        self.rise_to(&base);
        self.pass_marks(ahead, &base, summary);
        if summary.is_some_and(|s| s.carried) {
            self.drop_known(&base);
        }
    }

    /// What only later steps of another kind would use.
    fn drop_unused(&mut self, ahead: &Futures<'_>, keeps: bool) {
        let (cells, words) = (self.history.len(), self.words());
        let bottom = View::bottom(cells, words);
        for (known, ahead) in self.threads.iter_mut().zip(ahead) {
            let Some(ahead) = ahead else {
                known.current = bottom.clone();
                known.acquirable = bottom.clone();
                known.released.fill(bottom.clone());
                known.pending = None;
                known.linked.fill(NONE);
                if !keeps {
                    known.own = NONE;
                    known.earlier.clear();
                }
                continue;
            };
            if !ahead.acquire_fence {
                known.acquirable = bottom.clone();
            }
            for (cell, released) in known.released.iter_mut().enumerate() {
                if !ahead.relaxed_store[cell] {
                    released.clone_from(&bottom);
                }
            }
            if !ahead.sc {
                known.linked.fill(NONE);
                if !keeps {
                    known.own = NONE;
                    known.earlier.clear();
                }
            }
        }
    }

    fn words(&self) -> usize {
        self.threads.first().map_or(0, |t| t.current.unseen.0.len())
    }

    /// What all threads know that are still there.
    fn base(&self, ahead: &Futures<'_>, races: &Races) -> View {
        let live = || self.threads.iter().zip(ahead).filter(|(_, a)| a.is_some());
        let mut base = match live().next() {
            Some((known, _)) => known.current.clone(),
            None => View::bottom(self.history.len(), self.words()),
        };
        for (known, _) in live() {
            base.meet(&known.current);
        }
        let fenced = live().any(|(_, a)| a.is_some_and(|a| a.sc_fence));
        for (cell, history) in self.history.iter().enumerate() {
            // Where an SC fence may stand depends on what its thread knows of any location.
            let is_bound = |mark: &super::memory::Mark| {
                let behind = mark.after_fence.get(cell);
                mark.ceiling[cell] != OPEN || behind.is_some_and(|ceiling| *ceiling != OPEN)
            };
            let all = fenced && self.marks.iter().any(is_bound);
            let users = live().filter(|(_, a)| all || a.is_some_and(|a| a.access[cell]));
            let mut users = users.map(|(known, _)| &known.current.pos[cell]);
            let newest = Pos::Kept(history.len() as u32 - 1);
            let first = users.next();
            base.pos[cell] = first.map_or(newest, |pos| {
                users.fold(pos.clone(), |all, pos| all.meet(pos))
            });
        }
        // Each keeps its own account of stores.
        base.stores.clear();
        let relevant = races.relevant(|t, cell| ahead[t].is_some_and(|a| a.access[cell]));
        for (word, relevant) in base.unseen.0.iter_mut().zip(relevant) {
            *word &= relevant;
        }
        base
    }

    /// What all know joins every view, and what is in front of it goes.
    fn rise_to(&mut self, base: &View) {
        self.views(&mut |view| view.join(base));
        for mark in &mut self.marks {
            let floors = [
                &mut mark.before,
                &mut mark.through,
                &mut mark.before_sc,
                &mut mark.through_sc,
            ];
            for (floor, base) in floors.into_iter().flat_map(|f| f.iter_mut().zip(&base.pos)) {
                *floor = floor.join(base);
            }
        }
        // Last, since positions that join bring what they know of old messages.
        let flat = base.flat();
        self.carried(&mut |known| *known = known.join(&flat));
        for (cell, pos) in base.pos.iter().enumerate() {
            let Pos::Kept(first) = pos else { continue };
            if self.mixed {
                self.pass_stores(cell, *first);
            }
            if *first > 0 {
                self.forget(cell, *first);
            }
        }
    }

    /// Marks in front of the last SC event of every thread that may have another one.
    fn pass_marks(&mut self, ahead: &Futures<'_>, base: &View, summary: Option<Summary>) {
        let threads = self.threads.iter().zip(ahead);
        let acting = threads.filter(|(_, a)| a.is_some_and(|a| a.sc));
        let least = acting.map(|(known, _)| known.own).min();
        let Some(least) = least else {
            // Nobody has an SC event ahead: only the floors of fences are left.
            self.sc_views(&mut |sc| {
                sc.linked = NONE;
                sc.any = NONE;
                sc.same.fill(NONE);
            });
            self.threads.iter_mut().for_each(|t| t.pending = None);
            self.forget_floors(self.marks.len(), base);
            return;
        };
        if least == NONE {
            return;
        }
        for known in &mut self.threads {
            if known.pending.is_some_and(|(mark, _)| mark < least) {
                known.pending = None;
            }
            known.earlier.retain(|e| *e >= least);
            if known.own < least {
                known.own = NONE;
            }
        }
        self.sc_views(&mut |sc| {
            sc.linked = sc.linked.max(least);
            sc.any = sc.any.max(least);
            for same in &mut sc.same {
                *same = (*same).max(least);
            }
        });
        for (known, ahead) in self.threads.iter_mut().zip(ahead) {
            if ahead.is_some_and(|a| a.sc) {
                for linked in &mut known.linked {
                    *linked = (*linked).max(least);
                }
            }
        }
        if summary.is_some() {
            self.keep_fences(least as usize);
        } else {
            self.forget_floors(least as usize, base);
        }
    }

    /// Of the first `count` marks, keeps those of SC fences with a floor above the base.
    fn forget_floors(&mut self, count: usize, base: &View) {
        let mut first = base.clone();
        for pos in &mut first.pos {
            if let Pos::Kept(i) = pos {
                *i = 0;
            }
        }
        let bounds = |m: &super::memory::Mark| m.before != first.pos;
        let floors: Vec<bool> = self.marks[..count].iter().map(bounds).collect();
        let mut used = vec![false; count];
        self.sc_views(&mut |sc| {
            if let Ok(fence) = usize::try_from(sc.fence)
                && fence < count
            {
                if floors[fence] {
                    used[fence] = true;
                } else {
                    sc.fence = NONE;
                }
            }
        });
        self.keep(&used);
        // Nothing is inserted in front of them.
        let last = used.iter().filter(|u| **u).count();
        for mark in self.marks.iter_mut().take(last + 1) {
            mark.ceiling.fill(OPEN);
            mark.after_fence.fill(OPEN);
        }
        for mark in self.marks.iter_mut().take(last) {
            mark.through.clone_from(&mark.before);
            mark.before_sc.fill(Pos::Bottom);
            mark.through_sc.fill(Pos::Bottom);
        }
    }

    /// Of the first marks, keeps those of the fences that threads know (with a summary).
    fn keep_fences(&mut self, count: usize) {
        let mut used = vec![false; count];
        for known in &self.threads {
            for fence in [known.current.sc.fence, known.acquirable.sc.fence] {
                if let Ok(fence) = usize::try_from(fence)
                    && fence < count
                {
                    used[fence] = true;
                }
            }
        }
        self.keep(&used);
    }

    /// Forgets those of the first marks that are not used.
    fn keep(&mut self, used: &[bool]) {
        for at in (0..used.len()).rev() {
            if !used[at] {
                self.drop_mark(at);
            }
        }
    }

    /// Whether a mark has the floors of the one before it, and the ceilings of the one behind it.
    fn is_idle(&self, at: usize) -> bool {
        let marks = &self.marks;
        let (Some(mark), Some(right)) = (marks.get(at), marks.get(at + 1)) else {
            return false;
        };
        let left = at.checked_sub(1).map(|left| &marks[left]);
        left.is_some_and(|left| {
            (&mark.through, &mark.through_sc) == (&left.through, &left.through_sc)
                && (&mark.ceiling, &mark.after_fence) == (&right.ceiling, &right.after_fence)
        })
    }

    /// With a summary: only a few marks of each thread.
    fn thin_marks(&mut self, ahead: &Futures<'_>, summary: Summary) {
        let mut used = vec![false; self.marks.len()];
        let mut keep = |mark: i16| {
            if let Ok(mark) = usize::try_from(mark) {
                used[mark] = true;
            }
        };
        let few = summary.events < MANY;
        let idle: Vec<bool> = (0..self.marks.len())
            .map(|at| few && self.is_idle(at))
            .collect();
        let is_idle = |mark: &i16| usize::try_from(*mark).is_ok_and(|at| idle[at]);
        for (known, ahead) in self.threads.iter_mut().zip(ahead) {
            known.earlier.retain(|mark| !is_idle(mark));
            known.earlier.truncate(summary.events.max(1) as usize - 1);
            known.earlier.iter().for_each(|&mark| keep(mark));
            keep(known.own);
            let Some(ahead) = ahead else { continue };
            let (current, sc) = (&known.current, &known.current.sc);
            keep(sc.fence);
            // The last mark in front of which the next SC fence, or SC store, may not stand.
            let last = |forbids: &dyn Fn(&super::memory::Mark) -> bool| {
                let found = self.marks.iter().rposition(forbids);
                found.map_or(NONE, |mark| mark as i16)
            };
            if ahead.sc_fence {
                let forbidden = last(&|mark| mark.forbids_fence(current));
                let least = known.own.max(sc.fence).max(sc.linked).max(sc.any);
                keep(least.max(forbidden));
            }
            for (cell, pos) in current.pos.iter().enumerate() {
                let least = known
                    .own
                    .max(sc.fence)
                    .max(known.linked[cell])
                    .max(sc.same[cell]);
                if ahead.sc_store[cell] {
                    // Its oldest place: not between a message and its update.
                    let history = &self.history[cell];
                    let place = match pos {
                        Pos::Kept(i) => {
                            let free = (*i as usize..history.len()).find(|&i| !history[i].attached);
                            free.map(|i| i as i16 + 1)
                        }
                        Pos::Old(_) | Pos::Bottom => None,
                    };
                    let forbidden = last(&|mark| {
                        let c = mark.ceiling_of_store(cell);
                        c != OPEN && place.is_some_and(|at| c <= LOWEST || at > c >> 1)
                    });
                    keep(least.max(forbidden));
                }
                if ahead.sc_load[cell] {
                    keep(least);
                }
            }
        }
        self.keep(&used);
    }

    /// To learn what everyone knows is to learn nothing.
    fn drop_known(&mut self, base: &View) {
        let mut base = base.clone();
        for pos in &mut base.pos {
            if let Pos::Kept(i) = pos {
                *i = 0;
            }
        }
        let flat = base.flat();
        for cell in 0..self.history.len() {
            self.positions(cell, &mut |pos| {
                let Pos::Old(old) = pos else { return };
                let values = old.values.clone();
                let teaches = |(_, known): &(i64, super::view::Flat)| {
                    let mut plain = flat.clone();
                    plain.pos[cell].clone_from(&known.pos[cell]);
                    *known != plain || known.pos[cell].teaches(&values)
                };
                if !old.carried.iter().all(teaches) {
                    std::sync::Arc::make_mut(old).carried.retain(teaches);
                }
            });
        }
    }
}
