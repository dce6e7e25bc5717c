//! *Positions and views*: what a thread, a message or a fence knows of each location.
//!
//! A location's history is a list of *kept* messages, newest last. In the exact machine nothing
//! else exists. With a [`Summary`](super::Summary) older messages are folded into the positions
//! that can still see them: an *old* position says which values may be read from there on,
//! which of these messages may still be read by a read-modify-write, and (optionally) what
//! every message of a value carries at least.
//!
//! | law | |
//! |---|---|
//! | join | knows what either side knows: associative, commutative, idempotent |
//! | meet | knows what both sides know: the same laws |

use std::sync::Arc;

/// No event of the SC order.
pub(crate) const NONE: i16 = -1;

/// Old messages from a position on: for each value whether one of them may be free for a
/// read-modify-write. Sorted by value.
pub(crate) type Values = Vec<(i64, bool)>;

/// A set of race bits: which accesses happened that a view does not know of (see
/// [`super::races`]). Empty where no location has plain accesses.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Unseen(pub(crate) Vec<u64>);

impl Unseen {
    fn join(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a &= b;
        }
    }

    fn meet(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
}

/// What is known of the SC order, as indices of its list; [`NONE`] is before all.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ScView {
    /// The last SC fence that happened before.
    pub(crate) fence: i16,
    /// For each location the last SC access to it that happened before.
    pub(crate) same: Vec<i16>,
    /// The last SC access that is followed, in its thread, by an access of another location
    /// which happened before; or SC fence.
    pub(crate) linked: i16,
    /// The last SC event that happened before.
    pub(crate) any: i16,
}

impl ScView {
    fn each(&mut self, other: &Self, f: impl Fn(i16, i16) -> i16) {
        self.fence = f(self.fence, other.fence);
        self.linked = f(self.linked, other.linked);
        self.any = f(self.any, other.any);
        for (a, b) in self.same.iter_mut().zip(&other.same) {
            *a = f(*a, *b);
        }
    }

    /// All indices.
    pub(crate) fn refs(&mut self, f: &mut impl FnMut(&mut i16)) {
        f(&mut self.fence);
        f(&mut self.linked);
        f(&mut self.any);
        self.same.iter_mut().for_each(f);
    }
}

/// A position whose old part has no details: inside what is known of old messages.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FlatPos {
    /// Nothing is known.
    Bottom,
    /// Among the old messages.
    Old(Values),
    /// The kept message with this index.
    Kept(u32),
}

impl FlatPos {
    fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Old(a), Self::Old(b)) => Self::Old(intersection(a, b)),
            (Self::Bottom, x) | (x, Self::Bottom) => x.clone(),
            (Self::Kept(a), Self::Kept(b)) => Self::Kept(*a.max(b)),
            (Self::Kept(a), Self::Old(_)) | (Self::Old(_), Self::Kept(a)) => Self::Kept(*a),
        }
    }

    fn meet(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Old(a), Self::Old(b)) => Self::Old(union(a, b)),
            (Self::Bottom, _) | (_, Self::Bottom) => Self::Bottom,
            (Self::Kept(a), Self::Kept(b)) => Self::Kept(*a.min(b)),
            (Self::Kept(_), old) | (old, Self::Kept(_)) => old.clone(),
        }
    }
}

impl FlatPos {
    fn pos(&self) -> Pos {
        match self {
            Self::Bottom => Pos::Bottom,
            Self::Kept(i) => Pos::Kept(*i),
            Self::Old(values) => Pos::Old(Arc::new(Old {
                values: values.clone(),
                carried: Vec::new(),
            })),
        }
    }

    /// Whether a position among `values` learns something from this one.
    pub(crate) fn teaches(&self, values: &Values) -> bool {
        match self {
            Self::Bottom => false,
            Self::Old(known) => intersection(values, known) != *values,
            Self::Kept(_) => true,
        }
    }
}

fn intersection(a: &Values, b: &Values) -> Values {
    let both = |&(v, free): &(i64, bool)| has(b, v).map(|other| (v, free && other));
    a.iter().filter_map(both).collect()
}

fn union(a: &Values, b: &Values) -> Values {
    let mut all = a.clone();
    for &(value, free) in b {
        add(&mut all, value, free);
    }
    all
}

fn has(values: &Values, value: i64) -> Option<bool> {
    let found = values.binary_search_by_key(&value, |e| e.0);
    found.ok().map(|i| values[i].1)
}

/// One more message.
pub(crate) fn add(values: &mut Values, value: i64, free: bool) {
    match values.binary_search_by_key(&value, |e| e.0) {
        Ok(i) => values[i].1 |= free,
        Err(i) => values.insert(i, (value, free)),
    }
}

/// Positions of some locations, by location; elsewhere nothing is known. Sorted.
pub(crate) type Partial<P> = Vec<(u32, P)>;

/// What either side knows, or what both know.
fn merged<P: Clone>(
    a: &Partial<P>,
    b: &Partial<P>,
    f: impl Fn(&P, &P) -> P,
    either: bool,
) -> Partial<P> {
    let mut all: Partial<P> = Vec::new();
    for (cell, own) in a {
        let other = b.iter().find(|e| e.0 == *cell);
        match other {
            Some((_, other)) => all.push((*cell, f(own, other))),
            None if either => all.push((*cell, own.clone())),
            None => {}
        }
    }
    if either {
        let more = b.iter().filter(|e| a.iter().all(|own| own.0 != e.0));
        all.extend(more.cloned());
        all.sort_by_key(|e| e.0);
    }
    all
}

/// A view whose positions are flat: what an old message carries at least.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Flat {
    pub(crate) pos: Vec<FlatPos>,
    pub(crate) stores: Partial<FlatPos>,
    pub(crate) sc: ScView,
    pub(crate) unseen: Unseen,
}

impl Flat {
    pub(crate) fn join(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        for (a, b) in joined.pos.iter_mut().zip(&other.pos) {
            *a = a.join(b);
        }
        joined.stores = merged(&self.stores, &other.stores, FlatPos::join, true);
        joined.sc.each(&other.sc, i16::max);
        joined.unseen.join(&other.unseen);
        joined
    }

    fn meet(&self, other: &Self) -> Self {
        let mut met = self.clone();
        for (a, b) in met.pos.iter_mut().zip(&other.pos) {
            *a = a.meet(b);
        }
        met.stores = merged(&self.stores, &other.stores, FlatPos::meet, false);
        met.sc.each(&other.sc, i16::min);
        met.unseen.meet(&other.unseen);
        met
    }

    /// Its positions at a location.
    pub(crate) fn positions(&mut self, cell: usize, f: &mut impl FnMut(&mut FlatPos)) {
        f(&mut self.pos[cell]);
        if let Some((_, store)) = self.stores.iter_mut().find(|e| e.0 as usize == cell) {
            f(store);
        }
    }

    /// The same as a view.
    pub(crate) fn view(&self) -> View {
        let stores = self.stores.iter().map(|(cell, p)| (*cell, p.pos()));
        View {
            pos: self.pos.iter().map(FlatPos::pos).collect(),
            stores: stores.collect(),
            sc: self.sc.clone(),
            unseen: self.unseen.clone(),
        }
    }
}

/// The old messages from a position on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Old {
    /// Their values.
    pub(crate) values: Values,
    /// For a value, what each of its messages carries at least; nothing is known of a value
    /// without entry. Sorted by value.
    pub(crate) carried: Vec<(i64, Flat)>,
}

impl Old {
    pub(crate) fn carried(&self, value: i64) -> Option<&Flat> {
        let found = self.carried.iter().find(|e| e.0 == value);
        found.map(|e| &e.1)
    }

    /// One more message from here on, of which `view` is known.
    pub(crate) fn add(&mut self, value: i64, free: bool, view: Option<&Flat>) {
        let had = has(&self.values, value).is_some();
        add(&mut self.values, value, free);
        let now = match (view, had) {
            (None, _) => None,
            (Some(view), true) => self.carried(value).map(|known| known.meet(view)),
            (Some(view), false) => Some(view.clone()),
        };
        self.carried.retain(|e| e.0 != value);
        if let Some(now) = now {
            let at = self.carried.partition_point(|e| e.0 < value);
            self.carried.insert(at, (value, now));
        }
    }
}

/// Where a view stands in a location's history.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Pos {
    /// Nothing is known.
    Bottom,
    /// Among the old messages.
    Old(Arc<Old>),
    /// The kept message with this index.
    Kept(u32),
}

impl Pos {
    pub(crate) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Old(a), Self::Old(b)) => {
                let values = intersection(&a.values, &b.values);
                let carried = values.iter().filter_map(|&(v, _)| {
                    let known = match (a.carried(v), b.carried(v)) {
                        (Some(x), Some(y)) => x.join(y),
                        (Some(x), None) | (None, Some(x)) => x.clone(),
                        (None, None) => return None,
                    };
                    Some((v, known))
                });
                let carried = carried.collect();
                Self::Old(Arc::new(Old { values, carried }))
            }
            (Self::Bottom, x) | (x, Self::Bottom) => x.clone(),
            (Self::Kept(a), Self::Kept(b)) => Self::Kept(*a.max(b)),
            (Self::Kept(a), Self::Old(_)) | (Self::Old(_), Self::Kept(a)) => Self::Kept(*a),
        }
    }

    pub(crate) fn meet(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Old(a), Self::Old(b)) => {
                let values = union(&a.values, &b.values);
                let carried = values.iter().filter_map(|&(v, _)| {
                    let known = match (has(&a.values, v), has(&b.values, v)) {
                        (Some(_), Some(_)) => a.carried(v)?.meet(b.carried(v)?),
                        (Some(_), None) => a.carried(v)?.clone(),
                        (None, _) => b.carried(v)?.clone(),
                    };
                    Some((v, known))
                });
                let carried = carried.collect();
                Self::Old(Arc::new(Old { values, carried }))
            }
            (Self::Bottom, _) | (_, Self::Bottom) => Self::Bottom,
            (Self::Kept(a), Self::Kept(b)) => Self::Kept(*a.min(b)),
            (Self::Kept(_), old) | (old, Self::Kept(_)) => old.clone(),
        }
    }

    /// Whether an old message of this value may be read from here, by a read-modify-write if
    /// `free`.
    pub(crate) fn may_read_old(&self, value: i64, free: bool) -> bool {
        match self {
            Self::Old(old) => has(&old.values, value).is_some_and(|f| f || !free),
            Self::Bottom | Self::Kept(_) => false,
        }
    }

    /// What the old messages of this value from here on carry at least.
    pub(crate) fn carried(&self, value: i64) -> Option<&Flat> {
        match self {
            Self::Old(old) => old.carried(value),
            Self::Bottom | Self::Kept(_) => None,
        }
    }

    pub(crate) fn flat(&self) -> FlatPos {
        match self {
            Self::Bottom => FlatPos::Bottom,
            Self::Old(old) => FlatPos::Old(old.values.clone()),
            Self::Kept(i) => FlatPos::Kept(*i),
        }
    }
}

/// What is known: a position for each location, of the SC order, and of races.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct View {
    pub(crate) pos: Vec<Pos>,
    /// The newest store to a location that happens before, where that is newer than what all
    /// threads know. Kept in programs only where it may differ from `pos` in effect
    /// ([`palisade_program::Program::mixed_seq_cst`]).
    pub(crate) stores: Partial<Pos>,
    pub(crate) sc: ScView,
    pub(crate) unseen: Unseen,
}

impl View {
    /// Nothing is known; `words` of race bits.
    pub(crate) fn bottom(cells: usize, words: usize) -> Self {
        Self {
            pos: vec![Pos::Bottom; cells],
            stores: Vec::new(),
            sc: ScView {
                fence: NONE,
                same: vec![NONE; cells],
                linked: NONE,
                any: NONE,
            },
            unseen: Unseen(vec![u64::MAX; words]),
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for (a, b) in self.pos.iter_mut().zip(&other.pos) {
            if a != b {
                *a = a.join(b);
            }
        }
        if self.stores != other.stores {
            self.stores = merged(&self.stores, &other.stores, Pos::join, true);
        }
        self.sc.each(&other.sc, i16::max);
        self.unseen.join(&other.unseen);
    }

    pub(crate) fn meet(&mut self, other: &Self) {
        for (a, b) in self.pos.iter_mut().zip(&other.pos) {
            if a != b {
                *a = a.meet(b);
            }
        }
        if self.stores != other.stores {
            self.stores = merged(&self.stores, &other.stores, Pos::meet, false);
        }
        self.sc.each(&other.sc, i16::min);
        self.unseen.meet(&other.unseen);
    }

    /// Its positions at a location.
    pub(crate) fn positions(&mut self, cell: usize, f: &mut impl FnMut(&mut Pos)) {
        f(&mut self.pos[cell]);
        if let Some((_, store)) = self.stores.iter_mut().find(|e| e.0 as usize == cell) {
            f(store);
        }
    }

    /// The newest store to `cell` that happens before is this one.
    pub(crate) fn set_store(&mut self, cell: usize, pos: Pos) {
        self.stores.retain(|e| e.0 as usize != cell);
        let at = self.stores.partition_point(|e| (e.0 as usize) < cell);
        self.stores.insert(at, (cell as u32, pos));
    }

    pub(crate) fn flat(&self) -> Flat {
        Flat {
            pos: self.pos.iter().map(Pos::flat).collect(),
            stores: self.stores.iter().map(|(c, p)| (*c, p.flat())).collect(),
            sc: self.sc.clone(),
            unseen: self.unseen.clone(),
        }
    }
}
