//! Structure: a universe of objects and a 3-valued interpretation of every predicate.
//!
//! Place: what the analysis computes with. Paper: [Friggens and Groves, arXiv 2015, section 2]
//! (configuration S = <U, iota>).
//!
//! | paper | here |
//! |---|---|
//! | U | `0 .. len()`, at most 64 objects |
//! | iota(p) | two planes of bits, `may` and `must`; row = all arguments but the last |
//! | eq(u,u) = 1/2 | `sm(u)` is 1/2: a summary object |
//!
//! Departure: the built-in `ac` says that an object may be absent (1/2); the paper's
//! structures have no such objects, and only the join `ind` makes them.

use crate::kleene::Kleene;
use crate::vocabulary::{PredId, Vocabulary};

/// Most objects in one structure: one machine word.
pub const MAX_OBJECTS: usize = 64;

/// A 3-valued logical structure, as bit planes in one buffer.
///
/// Equality and hash are of the buffer; on canonically abstract structures with objects in
/// canonical order that is isomorphism.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Structure {
    n: usize,
    words: Vec<u64>,
}

/// The word with the lowest `n` bits set.
pub(crate) fn mask(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// The objects in a word, in order.
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let i = word.trailing_zeros() as usize;
        word &= word - 1;
        Some(i)
    })
}

impl Structure {
    /// `n` objects, all active and not summary, every other predicate 0.
    pub fn new(voc: &Vocabulary, n: usize) -> Self {
        assert!(n <= MAX_OBJECTS, "callers check the size limit first");
        let mut s = Self {
            n,
            words: vec![0; voc.words(n)],
        };
        let (may, must) = s.planes_mut(voc, PredId::AC);
        may[0] = mask(n);
        must[0] = mask(n);
        s
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.n
    }

    /// No objects.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The buffer.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The buffer, for writing.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8 + size_of::<Self>()
    }

    /// All bits: the word with one bit per object.
    pub(crate) fn universe(&self) -> u64 {
        mask(self.n)
    }

    /// The may and must planes of a predicate.
    pub(crate) fn planes(&self, voc: &Vocabulary, p: PredId) -> (&[u64], &[u64]) {
        let rows = Vocabulary::rows(voc.arity(p), self.n);
        let at = voc.offset(p, self.n);
        self.words[at..at + 2 * rows].split_at(rows)
    }

    /// The planes, for writing.
    pub(crate) fn planes_mut(&mut self, voc: &Vocabulary, p: PredId) -> (&mut [u64], &mut [u64]) {
        let rows = Vocabulary::rows(voc.arity(p), self.n);
        let at = voc.offset(p, self.n);
        self.words[at..at + 2 * rows].split_at_mut(rows)
    }

    /// May and must word of a nullary or unary predicate.
    pub(crate) fn word(&self, voc: &Vocabulary, p: PredId) -> (u64, u64) {
        let at = voc.offset(p, self.n);
        (self.words[at], self.words[at + 1])
    }

    /// Sets the may and must word of a nullary or unary predicate.
    pub(crate) fn set_word(&mut self, voc: &Vocabulary, p: PredId, word: (u64, u64)) {
        let at = voc.offset(p, self.n);
        self.words[at] = word.0;
        self.words[at + 1] = word.1;
    }

    /// Row and bit of a tuple.
    fn place(&self, tuple: &[usize]) -> (usize, usize) {
        match tuple {
            [] => (0, 0),
            [u] => (0, *u),
            [u, w] => (*u, *w),
            [prefix @ .., last] => (prefix.iter().fold(0, |row, u| row * self.n + u), *last),
        }
    }

    /// The value of a predicate.
    pub fn get(&self, voc: &Vocabulary, p: PredId, tuple: &[usize]) -> Kleene {
        let (row, bit) = self.place(tuple);
        let (may, must) = self.planes(voc, p);
        Kleene::from_bits(may[row] >> bit & 1 == 1, must[row] >> bit & 1 == 1)
    }

    /// Sets the value of a predicate.
    pub fn set(&mut self, voc: &Vocabulary, p: PredId, tuple: &[usize], value: Kleene) {
        let (row, bit) = self.place(tuple);
        let (may, must) = self.planes_mut(voc, p);
        may[row] = may[row] & !(1 << bit) | u64::from(value.may()) << bit;
        must[row] = must[row] & !(1 << bit) | u64::from(value.must()) << bit;
    }

    /// The summary objects.
    pub fn summaries(&self, voc: &Vocabulary) -> u64 {
        self.word(voc, PredId::SM).0
    }

    /// Whether an object is a summary object.
    pub fn is_summary(&self, voc: &Vocabulary, u: usize) -> bool {
        self.summaries(voc) >> u & 1 == 1
    }

    /// The objects that certainly exist.
    pub(crate) fn active(&self, voc: &Vocabulary) -> u64 {
        self.word(voc, PredId::AC).1
    }

    /// The structure over `from.len()` objects whose object `i` is a copy of this one's
    /// `from[i]`: permutation, removal and duplication in one. Values are copied, `eq`
    /// is not: two copies of one object are distinct objects.
    #[must_use]
    pub fn select(&self, voc: &Vocabulary, from: &[usize]) -> Self {
        assert!(from.len() <= MAX_OBJECTS, "callers check the size limit");
        let m = from.len();
        let mut out = Self {
            n: m,
            words: vec![0; voc.words(m)],
        };
        let gather = |word: u64| -> u64 {
            from.iter()
                .enumerate()
                .fold(0, |acc, (i, u)| acc | (word >> u & 1) << i)
        };
        for p in voc.ids() {
            let arity = voc.arity(p);
            let (may, must) = self.planes(voc, p);
            let (to_may, to_must) = out.planes_mut(voc, p);
            match arity {
                0 => {
                    to_may[0] = may[0];
                    to_must[0] = must[0];
                }
                1 => {
                    to_may[0] = gather(may[0]);
                    to_must[0] = gather(must[0]);
                }
                2 => {
                    for (i, u) in from.iter().enumerate() {
                        to_may[i] = gather(may[*u]);
                        to_must[i] = gather(must[*u]);
                    }
                }
                _ => {
                    for row in 0..to_may.len() {
                        let source = remap_row(row, arity - 1, m, self.n, |i| from[i]);
                        to_may[row] = gather(may[source]);
                        to_must[row] = gather(must[source]);
                    }
                }
            }
        }
        out
    }

    /// The structure with one more copy of `u`, as the last object.
    #[must_use]
    pub fn duplicate(&self, voc: &Vocabulary, u: usize) -> Self {
        let mut from: Vec<usize> = (0..self.n).collect();
        from.push(u);
        self.select(voc, &from)
    }

    /// The structure with `extra` more objects: active, not summary, all else 0.
    #[must_use]
    pub fn extend(&self, voc: &Vocabulary, extra: usize) -> Self {
        let mut out = Self::new(voc, self.n + extra);
        for p in voc.ids() {
            let arity = voc.arity(p);
            let (may, must) = self.planes(voc, p);
            let m = out.n;
            let (to_may, to_must) = out.planes_mut(voc, p);
            for row in 0..may.len() {
                let target = if arity <= 1 {
                    row
                } else {
                    remap_row(row, arity - 1, self.n, m, |i| i)
                };
                to_may[target] |= may[row];
                to_must[target] |= must[row];
            }
        }
        // The new objects exist; the old ones only where they did.
        let (may, must) = self.word(voc, PredId::AC);
        let new = mask(out.n) & !mask(self.n);
        out.set_word(voc, PredId::AC, (may | new, must | new));
        out
    }

    /// Pointwise join with a structure of the same size: the least upper bound in the
    /// information order for the identity on objects.
    #[must_use]
    pub fn join(&self, voc: &Vocabulary, other: &Self) -> Self {
        debug_assert_eq!(self.n, other.n);
        let mut out = self.clone();
        for p in voc.ids() {
            let (b_may, b_must) = other.planes(voc, p);
            let (may, must) = out.planes_mut(voc, p);
            for row in 0..may.len() {
                may[row] |= b_may[row];
                must[row] &= b_must[row];
            }
        }
        out
    }

    /// Pointwise information order, for structures of the same size.
    pub fn below(&self, voc: &Vocabulary, other: &Self) -> bool {
        self.n == other.n
            && voc.ids().all(|p| {
                let (a_may, a_must) = self.planes(voc, p);
                let (b_may, b_must) = other.planes(voc, p);
                // 1/2 of b covers anything; where b is definite, a has the same value.
                (0..a_may.len()).all(|r| a_may[r] & !b_may[r] == 0 && b_must[r] & !a_must[r] == 0)
            })
    }
}

/// Rewrites a row index of `digits` digits base `from_n` into base `to_n`, digit by digit.
fn remap_row(
    row: usize,
    digits: usize,
    from_n: usize,
    to_n: usize,
    map: impl Fn(usize) -> usize,
) -> usize {
    let mut rest = row;
    let mut weight = 1;
    let mut out = 0;
    for _ in 0..digits {
        out += map(rest % from_n) * weight;
        rest /= from_n;
        weight *= to_n;
    }
    out
}
