//! Isomorphism: a canonical order of the objects of a structure that is not blurred.
//!
//! Place: the join `conc` and the concrete explorer, which compare structures whose objects
//! have no canonical names. Colours are refined until stable; remaining ties are broken by
//! trying every object of the first tied class and keeping the smallest result.
//!
//! Law (tested): isomorphic structures have equal canonical forms (up to the limit on tries;
//! beyond it two isomorphic structures may be kept apart, which costs time only).

use crate::structure::Structure;
use crate::vocabulary::Vocabulary;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Branches tried before ties are broken by position.
const MAX_LEAVES: usize = 200;

/// The canonical form.
pub fn canonical(voc: &Vocabulary, s: &Structure) -> Structure {
    let mut colours = vec![0u64; s.len()];
    refine(voc, s, &mut colours);
    let mut best = None;
    let mut leaves = 0;
    search(voc, s, &colours, &mut best, &mut leaves);
    best.unwrap_or_else(|| s.clone())
}

fn search(
    voc: &Vocabulary,
    s: &Structure,
    colours: &[u64],
    best: &mut Option<Structure>,
    leaves: &mut usize,
) {
    let mut order: Vec<usize> = (0..s.len()).collect();
    order.sort_by_key(|u| colours[*u]);
    let tied = order
        .windows(2)
        .find(|w| colours[w[0]] == colours[w[1]])
        .map(|w| colours[w[0]]);
    let Some(tied) = tied.filter(|_| *leaves < MAX_LEAVES) else {
        *leaves += 1;
        let candidate = s.select(voc, &order);
        if best.as_ref().is_none_or(|b| candidate < *b) {
            *best = Some(candidate);
        }
        return;
    };
    for u in order.iter().filter(|u| colours[**u] == tied) {
        let mut next = colours.to_vec();
        next[*u] = hash(&(tied, "chosen"));
        refine(voc, s, &mut next);
        search(voc, s, &next, best, leaves);
        if *leaves >= MAX_LEAVES {
            return;
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut h = FxHasher::default();
    value.hash(&mut h);
    h.finish()
}

/// Refines colours by the values towards all other colours until the partition is stable.
fn refine(voc: &Vocabulary, s: &Structure, colours: &mut Vec<u64>) {
    let n = s.len();
    let mut classes = 0;
    loop {
        let next: Vec<u64> = (0..n).map(|u| signature(voc, s, colours, u)).collect();
        let mut sorted = next.clone();
        sorted.sort_unstable();
        sorted.dedup();
        *colours = next;
        if sorted.len() == classes || sorted.len() == n {
            return;
        }
        classes = sorted.len();
    }
}

fn signature(voc: &Vocabulary, s: &Structure, colours: &[u64], u: usize) -> u64 {
    let mut h = FxHasher::default();
    colours[u].hash(&mut h);
    for p in voc.ids() {
        match voc.get(p).arity {
            1 => s.get(voc, p, &[u]).hash(&mut h),
            2 => {
                let mut around: Vec<u64> = (0..s.len())
                    .map(|w| {
                        hash(&(
                            colours[w],
                            s.get(voc, p, &[u, w]),
                            s.get(voc, p, &[w, u]),
                            u == w,
                        ))
                    })
                    .collect();
                around.sort_unstable();
                around.hash(&mut h);
            }
            _ => {}
        }
    }
    h.finish()
}
