//! The *memory* of RC11: a history for each location, the SC order, and what each thread knows.
//!
//! The SC order is a list of *marks*, one for each SC access and fence. It is not the order of
//! execution: an event is inserted anywhere behind what must precede it. What the order asks of
//! accesses is kept as bounds: of a mark g and a location, `before` is the newest position that
//! an event strictly before g imposes on what follows g, `through` the same with g included,
//! and `ceiling` the oldest position that an event from g on allows to what precedes it.
//! So the gap between two marks has `through` of the left one as its floor and
//! `ceiling` of the right one as its ceiling.
//!
//! Fences ask less of SC accesses than of what comes behind other fences. A fence f and an
//! access a behind another fence are related through all that f's thread has read
//! (`hb; eco; hb` in psc-F); f and an SC access a only through stores that happen before f
//! (`scb; hb?` in psc-base) [Lahav et al., PLDI 2017, s. 3.2]. Where a program can tell the two
//! apart ([`palisade_program::Program::mixed_seq_cst`]) there are two floors and two ceilings:
//! `before`, `through` and `after_fence` for the former, `before_sc`, `through_sc` and `ceiling`
//! for the latter.

use std::sync::Arc;

use palisade_program::shift::{FAR, Group};

use super::view::{Flat, FlatPos, NONE, Old, Pos, ScView, View, add};

/// No ceiling.
pub(crate) const OPEN: i16 = i16::MAX;
/// Below every kept message.
pub(crate) const LOWEST: i16 = -1;

/// A store.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Message {
    pub(crate) value: i64,
    /// A read-modify-write has read it: nothing fits between the two.
    pub(crate) attached: bool,
    /// What an acquire brings that reads it.
    pub(crate) view: View,
    /// The threads that do not read it, one bit each ([`super::prompt`]).
    pub(crate) refused: u64,
}

/// An event of the SC order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Mark {
    pub(crate) before: Vec<Pos>,
    pub(crate) through: Vec<Pos>,
    /// Twice the index of a message that must be newer, plus one where that message itself
    /// is allowed; [`OPEN`] or [`LOWEST`].
    pub(crate) ceiling: Vec<i16>,
    /// The floors for SC accesses, and the ceiling that accesses behind fences set; empty where
    /// these are the ones above.
    pub(crate) before_sc: Vec<Pos>,
    pub(crate) through_sc: Vec<Pos>,
    pub(crate) after_fence: Vec<i16>,
}

impl Mark {
    /// All positions at a location.
    fn positions(&mut self, cell: usize, f: &mut impl FnMut(&mut Pos)) {
        f(&mut self.before[cell]);
        f(&mut self.through[cell]);
        if let (Some(before), Some(through)) =
            (self.before_sc.get_mut(cell), self.through_sc.get_mut(cell))
        {
            f(before);
            f(through);
        }
    }

    /// All ceilings at a location.
    pub(crate) fn ceilings(&mut self, cell: usize) -> impl Iterator<Item = &mut i16> {
        let behind = self.after_fence.get_mut(cell);
        std::iter::once(&mut self.ceiling[cell]).chain(behind)
    }

    /// The floor of an SC access behind it.
    pub(crate) fn floor_sc(&self, cell: usize) -> &Pos {
        self.through_sc.get(cell).unwrap_or(&self.through[cell])
    }

    /// The ceiling of an SC store in front of it.
    pub(crate) fn ceiling_of_store(&self, cell: usize) -> i16 {
        let behind = self.after_fence.get(cell).copied().unwrap_or(OPEN);
        self.ceiling[cell].min(behind)
    }

    /// Whether an SC fence of this view may not stand in front of it.
    pub(crate) fn forbids_fence(&self, view: &View) -> bool {
        let is_above =
            |pos: &Pos, ceiling: i16| matches!(pos, Pos::Kept(i) if 2 * *i as i16 >= ceiling);
        let all = if self.after_fence.is_empty() {
            &self.ceiling
        } else {
            &self.after_fence
        };
        let mut known = view.pos.iter().zip(all);
        let mut stores = view.stores.iter();
        known.any(|(pos, ceiling)| is_above(pos, *ceiling))
            || stores.any(|(cell, pos)| is_above(pos, self.ceiling[*cell as usize]))
    }
}

/// What a thread knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Known {
    /// Bounds its accesses.
    pub(crate) current: View,
    /// What an acquire fence would bring, with `current`.
    pub(crate) acquirable: View,
    /// What a relaxed store to each location publishes.
    pub(crate) released: Vec<View>,
    /// An SC access and its location, as long as all events of the thread behind it are
    /// accesses of that location.
    pub(crate) pending: Option<(i16, u32)>,
    /// Its last SC event.
    pub(crate) own: i16,
    /// Its SC events before that, newest first; only with a summary.
    pub(crate) earlier: Vec<i16>,
    /// For each location, what an SC access to it must follow because of linked SC accesses.
    pub(crate) linked: Vec<i16>,
    /// It has refused messages, or cannot move.
    pub(crate) late: bool,
}

/// Histories, SC order and views.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Memory {
    pub(crate) history: Vec<Vec<Message>>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) threads: Vec<Known>,
    /// Whether stores that happen before are told from what was read.
    pub(crate) mixed: bool,
}

impl Memory {
    /// The start: one message for each location, which everyone knows.
    pub(crate) fn new(values: &[i64], threads: usize, words: usize, mixed: bool) -> Self {
        let cells = values.len();
        let bottom = View::bottom(cells, words);
        let mut start = bottom.clone();
        start.pos = vec![Pos::Kept(0); cells];
        start.unseen.0.fill(0);
        let message = |&value: &i64| Message {
            value,
            attached: false,
            view: start.clone(),
            refused: 0,
        };
        let known = Known {
            current: start.clone(),
            acquirable: start.clone(),
            released: vec![start.clone(); cells],
            pending: None,
            own: NONE,
            earlier: Vec::new(),
            linked: vec![NONE; cells],
            late: false,
        };
        Self {
            history: values.iter().map(|v| vec![message(v)]).collect(),
            marks: Vec::new(),
            threads: vec![known; threads],
            mixed,
        }
    }

    /// The newest value of a location.
    pub(crate) fn newest(&self, cell: usize) -> i64 {
        let last = self.history[cell].last();
        last.expect("a history is never empty").value
    }

    /// All views.
    pub(crate) fn views(&mut self, f: &mut impl FnMut(&mut View)) {
        for known in &mut self.threads {
            f(&mut known.current);
            f(&mut known.acquirable);
            known.released.iter_mut().for_each(&mut *f);
        }
        for message in self.history.iter_mut().flatten() {
            f(&mut message.view);
        }
    }

    /// All positions at a location that are not inside what old messages carry.
    pub(crate) fn positions(&mut self, cell: usize, f: &mut impl FnMut(&mut Pos)) {
        self.views(&mut |view| view.positions(cell, f));
        for mark in &mut self.marks {
            mark.positions(cell, f);
        }
    }

    /// All that old messages are known to carry.
    pub(crate) fn carried(&mut self, f: &mut impl FnMut(&mut Flat)) {
        for cell in 0..self.history.len() {
            self.positions(cell, &mut |pos| {
                if let Pos::Old(old) = pos
                    && !old.carried.is_empty()
                {
                    let old = Arc::make_mut(old);
                    old.carried.iter_mut().for_each(|(_, flat)| f(flat));
                }
            });
        }
    }

    /// All indices into the SC order.
    pub(crate) fn refs(&mut self, f: &mut impl FnMut(&mut i16)) {
        self.views(&mut |view| view.sc.refs(f));
        self.carried(&mut |flat| flat.sc.refs(f));
        for known in &mut self.threads {
            if let Some((mark, _)) = &mut known.pending {
                f(mark);
            }
            f(&mut known.own);
            known.earlier.iter_mut().for_each(&mut *f);
            known.linked.iter_mut().for_each(&mut *f);
        }
    }

    /// What is known of the SC order in all views.
    pub(crate) fn sc_views(&mut self, f: &mut impl FnMut(&mut ScView)) {
        self.views(&mut |view| f(&mut view.sc));
        self.carried(&mut |flat| f(&mut flat.sc));
    }

    /// A new message at `at`: everything behind it moves up, also in what it carries.
    pub(crate) fn insert_message(&mut self, cell: usize, at: usize, message: Message) {
        self.history[cell].insert(at, message);
        let moved = |i: &mut u32| {
            if *i >= at as u32 {
                *i += 1;
            }
        };
        self.positions(cell, &mut |pos| {
            if let Pos::Kept(i) = pos {
                moved(i);
            }
        });
        self.flat_positions(cell, &mut |pos| {
            if let FlatPos::Kept(i) = pos {
                moved(i);
            }
        });
        for mark in &mut self.marks {
            for ceiling in mark.ceilings(cell) {
                if *ceiling != OPEN && *ceiling >= 2 * at as i16 {
                    *ceiling += 2;
                }
            }
        }
    }

    /// A new message among the old ones, right behind a free one of value `anchor`: whoever may
    /// still see that one may see the new one too.
    pub(crate) fn insert_old(&mut self, cell: usize, anchor: i64, value: i64) {
        self.positions(cell, &mut |pos| {
            if pos.may_read_old(anchor, true)
                && let Pos::Old(old) = pos
            {
                Arc::make_mut(old).add(value, true, None);
            }
        });
        self.flat_positions(cell, &mut |pos| {
            if let FlatPos::Old(values) = pos
                && values.contains(&(anchor, true))
            {
                add(values, value, true);
            }
        });
    }

    /// The oldest kept message of a location joins the old ones.
    pub(crate) fn fold(&mut self, cell: usize, carries: bool) {
        let message = self.history[cell].remove(0);
        let (value, free) = (message.value, !message.attached);
        let down = |pos: &mut FlatPos| match pos {
            FlatPos::Bottom => {}
            FlatPos::Old(values) => add(values, value, free),
            FlatPos::Kept(0) => *pos = FlatPos::Old(vec![(value, free)]),
            FlatPos::Kept(i) => *i -= 1,
        };
        // Its own position in what it carries is itself.
        let mut flat = message.view.flat();
        flat.positions(cell, &mut |pos| down(pos));
        self.flat_positions(cell, &mut |pos| down(pos));
        let known = carries.then_some(&flat);
        self.positions(cell, &mut |pos| match pos {
            Pos::Bottom => {}
            Pos::Old(old) => Arc::make_mut(old).add(value, free, known),
            Pos::Kept(0) => {
                let mut old = Old::default();
                old.add(value, free, known);
                *pos = Pos::Old(Arc::new(old));
            }
            Pos::Kept(i) => *i -= 1,
        });
        for ceiling in self.marks.iter_mut().flat_map(|m| m.ceilings(cell)) {
            lower(ceiling, 1);
        }
    }

    /// All positions at a location inside what old messages carry.
    fn flat_positions(&mut self, cell: usize, f: &mut impl FnMut(&mut FlatPos)) {
        self.carried(&mut |flat| flat.positions(cell, f));
    }

    /// What is known of stores to a location up to the message `first`, which everyone knows,
    /// bounds no access any more. A fence must still follow the SC accesses that are older:
    /// that becomes a place in the SC order.
    pub(crate) fn pass_stores(&mut self, cell: usize, first: u32) {
        let ceilings: Vec<i16> = self.marks.iter().map(|m| m.ceiling[cell]).collect();
        let last = |pos: Option<u32>| -> i16 {
            let forbids = |c: &i16| pos.is_some_and(|i| 2 * i as i16 >= *c);
            let found = ceilings.iter().rposition(forbids);
            found.map_or(NONE, |mark| mark as i16)
        };
        self.views(&mut |view| {
            let ScView { any, .. } = &mut view.sc;
            view.stores.retain(|(at, pos)| {
                let passed = match pos {
                    _ if *at as usize != cell => return true,
                    Pos::Kept(i) if *i > first => return true,
                    Pos::Kept(i) => Some(*i),
                    Pos::Old(_) | Pos::Bottom => None,
                };
                *any = (*any).max(last(passed));
                false
            });
        });
        self.carried(&mut |flat| {
            let ScView { any, .. } = &mut flat.sc;
            flat.stores.retain(|(at, pos)| {
                let passed = match pos {
                    _ if *at as usize != cell => return true,
                    FlatPos::Kept(i) if *i > first => return true,
                    FlatPos::Kept(i) => Some(*i),
                    FlatPos::Old(_) | FlatPos::Bottom => None,
                };
                *any = (*any).max(last(passed));
                false
            });
        });
    }

    /// The oldest `count` messages of a location are forgotten: everyone has passed them.
    pub(crate) fn forget(&mut self, cell: usize, count: u32) {
        self.history[cell].drain(..count as usize);
        self.positions(cell, &mut |pos| {
            if let Pos::Kept(i) = pos {
                *i -= count;
            }
        });
        self.flat_positions(cell, &mut |pos| {
            if let FlatPos::Kept(i) = pos {
                *i -= count;
            }
        });
        for ceiling in self.marks.iter_mut().flat_map(|m| m.ceilings(cell)) {
            // Nothing is older than the first message now.
            if *ceiling == 2 * count as i16 {
                *ceiling = LOWEST;
            }
            lower(ceiling, count as i16);
        }
    }

    /// Takes `by` from every value of a location: it belongs to a group of counters
    /// ([`palisade_program::shift`]). Old values far behind are one: [`FAR`].
    pub(crate) fn shift(&mut self, cell: usize, by: i64, group: &Group) {
        let moved = |value: i64| group.moved(value, by).unwrap_or(value);
        for message in &mut self.history[cell] {
            message.value = moved(message.value);
        }
        let name = |value: i64| {
            if value == FAR || group.is_behind(moved(value)) {
                FAR
            } else {
                moved(value)
            }
        };
        let stays = |values: &[(i64, bool)]| values.iter().all(|e| name(e.0) == e.0);
        self.positions(cell, &mut |pos| {
            if let Pos::Old(old) = pos
                && !stays(&old.values)
            {
                let mut renamed = Old::default();
                for &(value, free) in &old.values {
                    renamed.add(name(value), free, old.carried(value));
                }
                *pos = Pos::Old(Arc::new(renamed));
            }
        });
        self.flat_positions(cell, &mut |pos| {
            if let FlatPos::Old(values) = pos
                && !stays(values)
            {
                let mut renamed = Vec::new();
                for &(value, free) in &*values {
                    add(&mut renamed, name(value), free);
                }
                *values = renamed;
            }
        });
    }

    /// A new mark at `at`, which asks nothing yet.
    pub(crate) fn insert_mark(&mut self, at: usize) {
        self.refs(&mut |r| {
            if *r >= at as i16 {
                *r += 1;
            }
        });
        let cells = self.history.len();
        let second = if self.mixed { cells } else { 0 };
        let (before, before_sc) = match at.checked_sub(1) {
            Some(left) => {
                let left = &self.marks[left];
                (left.through.clone(), left.through_sc.clone())
            }
            None => (vec![Pos::Bottom; cells], vec![Pos::Bottom; second]),
        };
        let (ceiling, after_fence) = match self.marks.get(at) {
            Some(right) => (right.ceiling.clone(), right.after_fence.clone()),
            None => (vec![OPEN; cells], vec![OPEN; second]),
        };
        let mark = Mark {
            through: before.clone(),
            before,
            ceiling,
            through_sc: before_sc.clone(),
            before_sc,
            after_fence,
        };
        self.marks.insert(at, mark);
    }

    /// The SC store at mark `at` bounds what follows it from below.
    pub(crate) fn raise(&mut self, at: usize, cell: usize, pos: &Pos) {
        self.raise_fence(at, cell, pos);
        self.raise_sc(at, cell, pos);
    }

    /// Mark `at` bounds from below what follows a fence behind it.
    pub(crate) fn raise_fence(&mut self, at: usize, cell: usize, pos: &Pos) {
        let own = &mut self.marks[at].through[cell];
        *own = own.join(pos);
        for mark in &mut self.marks[at + 1..] {
            mark.before[cell] = mark.before[cell].join(pos);
            mark.through[cell] = mark.through[cell].join(pos);
        }
    }

    /// Mark `at` bounds from below the SC accesses behind it.
    pub(crate) fn raise_sc(&mut self, at: usize, cell: usize, pos: &Pos) {
        if !self.mixed {
            return;
        }
        let own = &mut self.marks[at].through_sc[cell];
        *own = own.join(pos);
        for mark in &mut self.marks[at + 1..] {
            mark.before_sc[cell] = mark.before_sc[cell].join(pos);
            mark.through_sc[cell] = mark.through_sc[cell].join(pos);
        }
    }

    /// The SC access at mark `at` bounds what precedes it from above.
    pub(crate) fn limit(&mut self, at: usize, cell: usize, ceiling: i16) {
        for mark in &mut self.marks[..=at] {
            let own = &mut mark.ceiling[cell];
            *own = (*own).min(ceiling);
        }
    }

    /// An access behind the fence at mark `at` bounds what precedes that from above.
    pub(crate) fn limit_fence(&mut self, at: usize, cell: usize, ceiling: i16) {
        if !self.mixed {
            self.limit(at, cell, ceiling);
            return;
        }
        for mark in &mut self.marks[..=at] {
            let own = &mut mark.after_fence[cell];
            *own = (*own).min(ceiling);
        }
    }

    /// Forgets a mark: what refers to it refers to the one before it. The gap that is left has
    /// the left floor and the right ceiling, and so admits at least what both had.
    pub(crate) fn drop_mark(&mut self, at: usize) {
        self.marks.remove(at);
        self.refs(&mut |r| {
            if *r >= at as i16 {
                *r -= 1;
            }
        });
    }
}

/// A ceiling after the oldest `count` messages are gone.
fn lower(ceiling: &mut i16, count: i16) {
    if *ceiling != OPEN {
        *ceiling = if *ceiling < 2 * count {
            LOWEST
        } else {
            *ceiling - 2 * count
        };
    }
}
