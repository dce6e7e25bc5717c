//! Blur: canonical abstraction, the merging of objects with equal abstraction values.
//!
//! Place: last step of an action. Paper: [Friggens and Groves, arXiv 2015, section 2], "Canonical
//! abstraction".
//!
//! An object's *canonical name* is its vector of values for the unary abstraction predicates.
//! Objects with one name become one (summary) object; every predicate gets the tightest
//! value that covers the merged ones. The objects of the result are ordered by name, so
//! equal buffers mean isomorphic structures.
//!
//! Laws (tested): blur is idempotent; S embeds tightly in `blur(S)`; isomorphic structures
//! have equal blurs.

use crate::structure::{Structure, bits};
use crate::vocabulary::{PredId, Vocabulary};

/// A canonical name: two bits (may, must) per unary abstraction predicate.
pub type Name = Vec<u64>;

/// The canonical names of all objects.
pub fn names(voc: &Vocabulary, s: &Structure) -> Vec<Name> {
    let abs = voc.unary_abstraction();
    let mut out = vec![vec![0; abs.len().div_ceil(32)]; s.len()];
    for (i, p) in abs.iter().enumerate() {
        let (may, must) = s.word(voc, *p);
        for u in bits(may) {
            out[u][i / 32] |= (1 | (must >> u & 1) << 1) << (2 * (i % 32));
        }
    }
    out
}

/// The canonical abstraction of a structure.
#[must_use]
pub fn blur(voc: &Vocabulary, s: &Structure) -> Structure {
    let names = names(voc, s);
    let mut order: Vec<usize> = (0..s.len()).collect();
    order.sort_by(|a, b| names[*a].cmp(&names[*b]));
    let distinct = order.windows(2).all(|w| names[w[0]] != names[w[1]]);
    if distinct {
        if order.windows(2).all(|w| w[0] < w[1]) {
            return s.clone();
        }
        return s.select(voc, &order);
    }
    let mut groups: Vec<u64> = Vec::new();
    for (i, u) in order.iter().enumerate() {
        if i > 0 && names[order[i - 1]] == names[*u] {
            *groups.last_mut().expect("a group was opened") |= 1 << u;
        } else {
            groups.push(1 << u);
        }
    }
    merge(voc, s, &groups)
}

/// The tight embedding that maps each group of objects to one.
pub(crate) fn merge(voc: &Vocabulary, s: &Structure, groups: &[u64]) -> Structure {
    let m = groups.len();
    let mut out = Structure::new(voc, m);
    let any = |word: u64| pack(groups, |g| word & g != 0);
    let every = |word: u64| pack(groups, |g| word & g == *g);
    for p in voc.ids() {
        let arity = voc.arity(p);
        let (may, must) = s.planes(voc, p);
        let (to_may, to_must) = out.planes_mut(voc, p);
        match arity {
            0 => {
                to_may[0] = may[0];
                to_must[0] = must[0];
            }
            1 => {
                to_may[0] = any(may[0]);
                to_must[0] = every(must[0]);
            }
            _ => {
                for row in 0..to_may.len() {
                    let (w_may, w_must) = merged_row(row, arity - 1, s.len(), groups, may, must);
                    to_may[row] = any(w_may);
                    to_must[row] = every(w_must);
                }
            }
        }
    }
    let (sm, _) = s.word(voc, PredId::SM);
    let summary = pack(groups, |g| g.count_ones() > 1 || sm & g != 0);
    out.set_word(voc, PredId::SM, (summary, 0));
    // An object of the group that certainly exists makes the merged one exist.
    let active = pack(groups, |g| s.active(voc) & g != 0);
    out.set_word(voc, PredId::AC, (crate::structure::mask(m), active));
    out
}

fn pack(groups: &[u64], test: impl Fn(&u64) -> bool) -> u64 {
    groups
        .iter()
        .enumerate()
        .fold(0, |acc, (i, g)| acc | u64::from(test(g)) << i)
}

/// OR of the may words and AND of the must words of all rows that map to a merged row.
fn merged_row(
    row: usize,
    digits: usize,
    n: usize,
    groups: &[u64],
    may: &[u64],
    must: &[u64],
) -> (u64, u64) {
    let mut sources = vec![0usize];
    let mut rest = row;
    let mut weight = 1;
    for _ in 0..digits {
        let g = groups[rest % groups.len()];
        rest /= groups.len();
        sources = sources
            .iter()
            .flat_map(|base| bits(g).map(move |u| base + u * weight))
            .collect();
        weight *= n;
    }
    sources
        .iter()
        .fold((0, u64::MAX), |(a, b), r| (a | may[*r], b & must[*r]))
}
