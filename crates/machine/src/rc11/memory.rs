//! The *memory* of RC11: a history for each location, the SC order, and what each thread knows.
//!
//! The SC order is a list of *marks*, one for each SC access and fence. It is not the order of
//! execution: an event is inserted anywhere behind what must precede it. What the order asks of
//! accesses is kept as bounds: of a mark g and a location, `before` is the newest position that
//! an event strictly before g imposes on what follows g, `through` the same with g included,
//! and `ceiling` the oldest position that an event from g on allows to what precedes it.
//! So the gap between two marks has `through` of the left one as its floor and
//! `ceiling` of the right one as its ceiling.

use std::sync::Arc;

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
}

/// An event of the SC order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Mark {
    pub(crate) before: Vec<Pos>,
    pub(crate) through: Vec<Pos>,
    /// Twice the index of a message that must be newer, plus one where that message itself
    /// is allowed; [`OPEN`] or [`LOWEST`].
    pub(crate) ceiling: Vec<i16>,
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
}

/// Histories, SC order and views.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Memory {
    pub(crate) history: Vec<Vec<Message>>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) threads: Vec<Known>,
}

impl Memory {
    /// The start: one message for each location, which everyone knows.
    pub(crate) fn new(values: &[i64], threads: usize, words: usize) -> Self {
        let cells = values.len();
        let bottom = View::bottom(cells, words);
        let mut start = bottom.clone();
        start.pos = vec![Pos::Kept(0); cells];
        start.unseen.0.fill(0);
        let message = |&value: &i64| Message {
            value,
            attached: false,
            view: start.clone(),
        };
        let known = Known {
            current: start.clone(),
            acquirable: start.clone(),
            released: vec![start.clone(); cells],
            pending: None,
            own: NONE,
            earlier: Vec::new(),
            linked: vec![NONE; cells],
        };
        Self {
            history: values.iter().map(|v| vec![message(v)]).collect(),
            marks: Vec::new(),
            threads: vec![known; threads],
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
        self.views(&mut |view| f(&mut view.pos[cell]));
        for mark in &mut self.marks {
            f(&mut mark.before[cell]);
            f(&mut mark.through[cell]);
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
        self.carried(&mut |flat| {
            if let FlatPos::Kept(i) = &mut flat.pos[cell] {
                moved(i);
            }
        });
        for mark in &mut self.marks {
            let ceiling = &mut mark.ceiling[cell];
            if *ceiling != OPEN && *ceiling >= 2 * at as i16 {
                *ceiling += 2;
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
        self.carried(&mut |flat| {
            if let FlatPos::Old(values) = &mut flat.pos[cell]
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
        down(&mut flat.pos[cell]);
        self.carried(&mut |flat| down(&mut flat.pos[cell]));
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
        for mark in &mut self.marks {
            lower(&mut mark.ceiling[cell], 1);
        }
    }

    /// The oldest `count` messages of a location are forgotten: everyone has passed them.
    pub(crate) fn forget(&mut self, cell: usize, count: u32) {
        self.history[cell].drain(..count as usize);
        self.positions(cell, &mut |pos| {
            if let Pos::Kept(i) = pos {
                *i -= count;
            }
        });
        self.carried(&mut |flat| {
            if let FlatPos::Kept(i) = &mut flat.pos[cell] {
                *i -= count;
            }
        });
        for mark in &mut self.marks {
            let ceiling = &mut mark.ceiling[cell];
            // Nothing is older than the first message now.
            if *ceiling == 2 * count as i16 {
                *ceiling = LOWEST;
            }
            lower(ceiling, count as i16);
        }
    }

    /// A new mark at `at`, which asks nothing yet.
    pub(crate) fn insert_mark(&mut self, at: usize) {
        self.refs(&mut |r| {
            if *r >= at as i16 {
                *r += 1;
            }
        });
        let cells = self.history.len();
        let before = match at.checked_sub(1) {
            Some(left) => self.marks[left].through.clone(),
            None => vec![Pos::Bottom; cells],
        };
        let ceiling = match self.marks.get(at) {
            Some(right) => right.ceiling.clone(),
            None => vec![OPEN; cells],
        };
        let mark = Mark {
            through: before.clone(),
            before,
            ceiling,
        };
        self.marks.insert(at, mark);
    }

    /// Mark `at` bounds what follows it from below.
    pub(crate) fn raise(&mut self, at: usize, cell: usize, pos: &Pos) {
        let own = &mut self.marks[at].through[cell];
        *own = own.join(pos);
        for mark in &mut self.marks[at + 1..] {
            mark.before[cell] = mark.before[cell].join(pos);
            mark.through[cell] = mark.through[cell].join(pos);
        }
    }

    /// Mark `at` bounds what precedes it from above.
    pub(crate) fn limit(&mut self, at: usize, cell: usize, ceiling: i16) {
        for mark in &mut self.marks[..=at] {
            let own = &mut mark.ceiling[cell];
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
