//! What is *known* of histories: spots in them, and views. There are two operations, both
//! associative, commutative and idempotent: [`View::join`] knows what either side knows, [`View::meet`]
//! what both know.

use std::collections::BTreeMap;

use super::shared::Shared;

/// An event of the SC order; `None` is before all.
pub(super) type Mark = Option<usize>;

/// Where a view stands in the history of a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// Anywhere.
    Nowhere,
    /// At one of the old messages.
    Old(Shared<Past>),
    /// At the kept message with this index.
    Kept(usize),
}

/// The old messages from a spot on, by value.
pub(super) type Past = BTreeMap<i64, Fact>;

/// What is known of the old messages of one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fact {
    /// Whether one of them may still be read by a read-modify-write.
    pub(super) free: bool,
    /// What each of them carries at least, if that is known. Inside, facts carry nothing.
    pub(super) carries: Option<Shared<View>>,
}

impl Spot {
    pub(super) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Nowhere, x) | (x, Self::Nowhere) => x.clone(),
            (Self::Kept(i), Self::Kept(k)) => Self::Kept(*i.max(k)),
            (Self::Kept(i), Self::Old(_)) | (Self::Old(_), Self::Kept(i)) => Self::Kept(*i),
            (Self::Old(a), Self::Old(b)) => {
                let both = a.iter().filter_map(|(v, x)| Some((*v, x, b.get(v)?)));
                Self::Old(
                    both.map(|(v, x, y)| (v, x.join(y)))
                        .collect::<Past>()
                        .into(),
                )
            }
        }
    }

    /// Whether to join `other` changes nothing.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Nowhere) | (Self::Kept(_), Self::Old(_)) => true,
            (Self::Nowhere, Self::Old(_) | Self::Kept(_)) => false,
            (Self::Old(_), Self::Kept(_)) => false,
            (Self::Kept(i), Self::Kept(k)) => k <= i,
            (Self::Old(a), Self::Old(b)) => {
                let known = |(v, x): (&i64, &Fact)| b.get(v).is_some_and(|y| x.covers(y));
                a.is(b) || a.iter().all(known)
            }
        }
    }

    pub(super) fn meet(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Nowhere, _) | (_, Self::Nowhere) => Self::Nowhere,
            (Self::Kept(i), Self::Kept(k)) => Self::Kept(*i.min(k)),
            (Self::Kept(_), old) | (old, Self::Kept(_)) => old.clone(),
            (Self::Old(a), Self::Old(b)) => {
                let mut all = (**a).clone();
                for (value, fact) in &**b {
                    let met = match all.get(value) {
                        Some(own) => own.meet(fact),
                        None => fact.clone(),
                    };
                    all.insert(*value, met);
                }
                Self::Old(all.into())
            }
        }
    }

    /// What is known of the old messages of a value from here on; `None` if there are none.
    pub(super) fn old(&self, value: i64) -> Option<&Fact> {
        match self {
            Self::Old(past) => past.get(&value),
            Self::Nowhere | Self::Kept(_) => None,
        }
    }

    /// Whether a view that an old message carries is such a one.
    pub(super) fn has_inside(&self, such: &dyn Fn(&View) -> bool) -> bool {
        match self {
            Self::Old(past) => {
                let mut carried = past.values().filter_map(|fact| fact.carries.as_ref());
                carried.any(|view| such(view))
            }
            Self::Nowhere | Self::Kept(_) => false,
        }
    }

    /// Without what old messages carry.
    pub(super) fn flat(&self) -> Self {
        match self {
            Self::Old(past) => {
                let bare = |fact: &Fact| Fact {
                    free: fact.free,
                    carries: None,
                };
                let all = past.iter().map(|(v, fact)| (*v, bare(fact)));
                Self::Old(all.collect::<Past>().into())
            }
            Self::Nowhere | Self::Kept(_) => self.clone(),
        }
    }
}

impl Fact {
    fn join(&self, other: &Self) -> Self {
        Self {
            free: self.free && other.free,
            carries: match (&self.carries, &other.carries) {
                (Some(a), Some(b)) => Some(a.joined(b)),
                (Some(one), None) | (None, Some(one)) => Some(one.clone()),
                (None, None) => None,
            },
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let carries = match (&self.carries, &other.carries) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(a), Some(b)) => a.is(b) || a.covers(b),
        };
        carries && (other.free || !self.free)
    }

    fn meet(&self, other: &Self) -> Self {
        let both = self.carries.as_ref().zip(other.carries.as_ref());
        Self {
            free: self.free || other.free,
            carries: both.map(|(a, b)| a.meet(b).into()),
        }
    }

    /// One more message of the value.
    pub(super) fn add(past: &mut Past, value: i64, free: bool, carries: Option<&Shared<View>>) {
        let more = Self {
            free,
            carries: carries.cloned(),
        };
        let fact = match past.get(&value) {
            Some(own) => own.meet(&more),
            None => more,
        };
        past.insert(value, fact);
    }
}

/// An access that happened: cell, thread, and class ([`super::access::class`]).
pub(super) type Deed = (usize, usize, u8);

/// A set of deeds, sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Deeds(pub(super) Vec<Deed>);

impl Deeds {
    pub(super) fn contains(&self, deed: &Deed) -> bool {
        self.0.binary_search(deed).is_ok()
    }

    pub(super) fn insert(&mut self, deed: Deed) {
        if let Err(at) = self.0.binary_search(&deed) {
            self.0.insert(at, deed);
        }
    }

    pub(super) fn remove(&mut self, deed: &Deed) {
        if let Ok(at) = self.0.binary_search(deed) {
            self.0.remove(at);
        }
    }

    fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().all(|deed| other.contains(deed))
    }

    fn common(&self, other: &Self) -> Self {
        let both = self.0.iter().filter(|deed| other.contains(deed));
        Self(both.copied().collect())
    }

    fn united(&self, other: &Self) -> Self {
        let mut all = self.clone();
        other.0.iter().for_each(|deed| all.insert(*deed));
        all
    }
}

/// The deeds that did not happen before; `None`: perhaps any.
pub(super) type Missed = Option<Deeds>;

/// What is known of every cell, of the SC order, and of accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct View {
    pub(super) spots: Vec<Spot>,
    /// Where the newest store stands that happens before, for cells where fences and SC accesses
    /// meet; nothing is said of other cells, nor of what all threads have passed.
    pub(super) stores: BTreeMap<usize, Spot>,
    /// The last SC fence that happened before.
    pub(super) fence: Mark,
    /// The last SC access to each cell that happened before.
    pub(super) same: Vec<Mark>,
    /// The last SC event e such that, with l other locations, e po-l hb po-l this.
    pub(super) linked: Mark,
    /// The last SC event that happened before.
    pub(super) last: Mark,
    pub(super) missed: Missed,
}

impl View {
    /// Nothing is known.
    pub(super) fn nothing(cells: usize) -> Self {
        Self {
            spots: vec![Spot::Nowhere; cells],
            stores: BTreeMap::new(),
            fence: None,
            same: vec![None; cells],
            linked: None,
            last: None,
            missed: None,
        }
    }

    pub(super) fn join(&self, other: &Self) -> Self {
        let mut stores = self.stores.clone();
        for (cell, spot) in &other.stores {
            let own = stores.entry(*cell).or_insert(Spot::Nowhere);
            *own = own.join(spot);
        }
        Self {
            spots: pairwise(&self.spots, &other.spots, Spot::join),
            stores,
            fence: self.fence.max(other.fence),
            same: pairwise(&self.same, &other.same, |a, b| *a.max(b)),
            linked: self.linked.max(other.linked),
            last: self.last.max(other.last),
            missed: match (&self.missed, &other.missed) {
                (None, one) | (one, None) => one.clone(),
                (Some(a), Some(b)) => Some(a.common(b)),
            },
        }
    }

    /// Whether to join `other` changes nothing.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let mut spots = self.spots.iter().zip(&other.spots);
        let mut stores = other.stores.iter();
        let mut same = self.same.iter().zip(&other.same);
        self.fence >= other.fence
            && self.linked >= other.linked
            && self.last >= other.last
            && same.all(|(own, mark)| own >= mark)
            && spots.all(|(own, spot)| own.covers(spot))
            && stores.all(|(c, spot)| self.stores.get(c).is_some_and(|own| own.covers(spot)))
            && match (&self.missed, &other.missed) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(a), Some(b)) => a.is_subset(b),
            }
    }

    pub(super) fn meet(&self, other: &Self) -> Self {
        let both = self.stores.iter();
        let both = both.filter_map(|(c, spot)| Some((*c, spot.meet(other.stores.get(c)?))));
        Self {
            spots: pairwise(&self.spots, &other.spots, Spot::meet),
            stores: both.collect(),
            fence: self.fence.min(other.fence),
            same: pairwise(&self.same, &other.same, |a, b| *a.min(b)),
            linked: self.linked.min(other.linked),
            last: self.last.min(other.last),
            missed: match (&self.missed, &other.missed) {
                (None, _) | (_, None) => None,
                (Some(a), Some(b)) => Some(a.united(b)),
            },
        }
    }

    pub(super) fn flat(&self) -> Self {
        Self {
            spots: self.spots.iter().map(Spot::flat).collect(),
            stores: self.stores.iter().map(|(c, s)| (*c, s.flat())).collect(),
            ..self.clone()
        }
    }

    /// Whether a spot in it of a cell is such a one.
    pub(super) fn has_at(&self, cell: usize, such: &dyn Fn(&Spot) -> bool) -> bool {
        such(&self.spots[cell]) || self.stores.get(&cell).is_some_and(such)
    }

    /// Whether a view that an old message carries is such a one.
    pub(super) fn has_inside(&self, such: &dyn Fn(&Self) -> bool) -> bool {
        let mut spots = self.spots.iter().chain(self.stores.values());
        spots.any(|spot| spot.has_inside(such))
    }

    /// Whether a mark in it is such a one.
    pub(super) fn has_mark(&self, such: &dyn Fn(Mark) -> bool) -> bool {
        let few = [self.fence, self.linked, self.last];
        few.iter().chain(&self.same).any(|mark| such(*mark))
    }

    /// Every spot in it of a cell.
    pub(super) fn at(&mut self, cell: usize, f: &mut dyn FnMut(&mut Spot)) {
        f(&mut self.spots[cell]);
        if let Some(store) = self.stores.get_mut(&cell) {
            f(store);
        }
    }

    /// Every spot in it.
    pub(super) fn all_spots(&mut self) -> impl Iterator<Item = &mut Spot> {
        self.spots.iter_mut().chain(self.stores.values_mut())
    }

    /// Every mark in it.
    pub(super) fn marks(&mut self, f: &mut dyn FnMut(&mut Mark)) {
        f(&mut self.fence);
        f(&mut self.linked);
        f(&mut self.last);
        self.same.iter_mut().for_each(f);
    }
}

impl Shared<View> {
    /// [`View::join`], without a copy where one side knows everything.
    pub(super) fn joined(&self, other: &Self) -> Self {
        if self.is(other) || self.covers(other) {
            self.clone()
        } else if other.covers(self) {
            other.clone()
        } else {
            self.join(other).into()
        }
    }
}

fn pairwise<T>(a: &[T], b: &[T], f: impl Fn(&T, &T) -> T) -> Vec<T> {
    a.iter().zip(b).map(|(a, b)| f(a, b)).collect()
}
