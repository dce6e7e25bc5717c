//! *Valuations*: what an abstract state knows of the predicates. Each predicate
//! is true, false or unknown; two bit masks hold it (known true, known false).
//!
//! The order is by information: `a.covers(b)` if all that `a` knows `b` knows
//! too, so the concrete states of `b` are among those of `a`. It is a partial
//! order; [`Valuation::join`] is its least upper bound.

/// Number of a predicate in its table.
pub type PredId = usize;

/// A 3-valued valuation of predicates.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Valuation {
    /// Words of the mask "known true", then as many of "known false".
    words: Box<[u64]>,
}

/// Words that hold `count` bits.
const fn words_for(count: usize) -> usize {
    count.div_ceil(64)
}

impl Valuation {
    /// Knows nothing of `count` predicates.
    pub fn unknown(count: usize) -> Self {
        Self {
            words: vec![0; 2 * words_for(count)].into(),
        }
    }

    fn half(&self) -> usize {
        self.words.len() / 2
    }

    /// The value of a predicate, if known.
    pub fn get(&self, p: PredId) -> Option<bool> {
        let (word, bit) = (p / 64, 1 << (p % 64));
        if self.words[word] & bit != 0 {
            Some(true)
        } else if self.words[self.half() + word] & bit != 0 {
            Some(false)
        } else {
            None
        }
    }

    /// Sets what is known of a predicate.
    pub fn set(&mut self, p: PredId, value: Option<bool>) {
        let (word, bit, half) = (p / 64, 1 << (p % 64), self.half());
        self.words[word] &= !bit;
        self.words[half + word] &= !bit;
        match value {
            Some(true) => self.words[word] |= bit,
            Some(false) => self.words[half + word] |= bit,
            None => {}
        }
    }

    /// Whether every concrete state of `other` is one of `self`, by form: `self`
    /// knows nothing that `other` does not.
    pub fn covers(&self, other: &Self) -> bool {
        self.words
            .iter()
            .zip(&other.words)
            .all(|(a, b)| a & !b == 0)
    }

    /// What both know.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self {
            words: self
                .words
                .iter()
                .zip(&other.words)
                .map(|(a, b)| a & b)
                .collect(),
        }
    }

    /// What is known of the predicates in `set`.
    #[must_use]
    pub fn project(&self, set: &PredSet) -> Self {
        let half = self.half();
        let keep = |i: usize| set.words.get(i % half.max(1)).copied().unwrap_or(0);
        Self {
            words: self
                .words
                .iter()
                .enumerate()
                .map(|(i, w)| w & keep(i))
                .collect(),
        }
    }

    /// What is known of the predicates outside `set`.
    #[must_use]
    pub fn without(&self, set: &PredSet) -> Self {
        let half = self.half();
        let drop = |i: usize| set.words.get(i % half.max(1)).copied().unwrap_or(0);
        Self {
            words: self
                .words
                .iter()
                .enumerate()
                .map(|(i, w)| w & !drop(i))
                .collect(),
        }
    }

    /// Adds all that `other` knows; the two must speak of different predicates.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self {
            words: self
                .words
                .iter()
                .zip(&other.words)
                .map(|(a, b)| a | b)
                .collect(),
        }
    }

    /// What either knows; `None` if they contradict each other.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Option<Self> {
        let both = self.with(other);
        let (yes, no) = both.words.split_at(self.half());
        yes.iter().zip(no).all(|(a, b)| a & b == 0).then_some(both)
    }

    /// The known predicates with their values, in order.
    pub fn known(&self) -> impl Iterator<Item = (PredId, bool)> + '_ {
        let half = self.half();
        (0..half * 64).filter_map(|p| self.get(p).map(|value| (p, value)))
    }
}

/// A set of predicates.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PredSet {
    words: Vec<u64>,
}

impl PredSet {
    /// The empty set, with room for `count`.
    pub fn new(count: usize) -> Self {
        Self {
            words: vec![0; words_for(count)],
        }
    }

    /// Adds a predicate; tells whether it is new.
    pub fn insert(&mut self, p: PredId) -> bool {
        if self.words.len() <= p / 64 {
            self.words.resize(p / 64 + 1, 0);
        }
        let bit = 1 << (p % 64);
        let new = self.words[p / 64] & bit == 0;
        self.words[p / 64] |= bit;
        new
    }

    /// Whether it is in the set.
    pub fn contains(&self, p: PredId) -> bool {
        self.words
            .get(p / 64)
            .is_some_and(|w| w & (1 << (p % 64)) != 0)
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (own, word) in self.words.iter_mut().zip(&other.words) {
            *own |= word;
        }
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = PredId> + '_ {
        (0..self.words.len() * 64).filter(|p| self.contains(*p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covering_is_knowing_less() {
        let mut a = Valuation::unknown(70);
        a.set(69, Some(true));
        let mut b = a.clone();
        b.set(3, Some(false));
        assert!(a.covers(&b) && !b.covers(&a) && a.covers(&a));
        assert_eq!(a.join(&b), a);
        assert_eq!(b.get(3), Some(false));
        b.set(3, Some(true));
        assert_eq!(b.known().collect::<Vec<_>>(), [(3, true), (69, true)]);
        b.set(3, None);
        assert_eq!(a, b);
    }

    #[test]
    fn what_two_know_together_may_be_contradictory() {
        let (mut a, mut b) = (Valuation::unknown(70), Valuation::unknown(70));
        a.set(69, Some(true));
        b.set(2, Some(false));
        let both = a.meet(&b).expect("they speak of different predicates");
        assert_eq!(both.known().collect::<Vec<_>>(), [(2, false), (69, true)]);
        b.set(69, Some(false));
        assert_eq!(a.meet(&b), None);
    }
}
