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
    let mut colours = initial(voc, s);
    let links = links(voc, s);
    refine(&links, &mut colours);
    let mut search = Search {
        voc,
        s,
        links,
        best: None,
        leaves: 0,
    };
    search.branch(&colours);
    search.best.unwrap_or_else(|| s.clone())
}

/// The search for the smallest order.
struct Search<'a> {
    voc: &'a Vocabulary,
    s: &'a Structure,
    links: Vec<Link>,
    best: Option<Structure>,
    leaves: usize,
}

impl Search<'_> {
    fn branch(&mut self, colours: &[u64]) {
        let mut order: Vec<usize> = (0..self.s.len()).collect();
        order.sort_by_key(|u| colours[*u]);
        let tied = order
            .windows(2)
            .find(|w| colours[w[0]] == colours[w[1]])
            .map(|w| colours[w[0]]);
        let Some(tied) = tied.filter(|_| self.leaves < MAX_LEAVES) else {
            self.leaves += 1;
            let candidate = self.s.select(self.voc, &order);
            if self.best.as_ref().is_none_or(|b| candidate < *b) {
                self.best = Some(candidate);
            }
            return;
        };
        for u in order.iter().filter(|u| colours[**u] == tied) {
            let mut next = colours.to_vec();
            next[*u] = hash(&(tied, "chosen"));
            refine(&self.links, &mut next);
            self.branch(&next);
            if self.leaves >= MAX_LEAVES {
                return;
            }
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut h = FxHasher::default();
    value.hash(&mut h);
    h.finish()
}

/// Colours by the values of unary predicates.
fn initial(voc: &Vocabulary, s: &Structure) -> Vec<u64> {
    let mut colours = vec![0; s.len()];
    for p in voc.ids().filter(|p| voc.get(*p).arity == 1) {
        let (may, must) = s.word(voc, p);
        for (u, colour) in colours.iter_mut().enumerate() {
            *colour = hash(&(*colour, may >> u & 1, must >> u & 1));
        }
    }
    colours
}

/// A value of a binary predicate that is not 0: from, to, and predicate and value as one number.
type Link = (usize, usize, u64);

fn links(voc: &Vocabulary, s: &Structure) -> Vec<Link> {
    let mut out = Vec::new();
    for p in voc.ids().filter(|p| voc.get(*p).arity == 2) {
        let (may, must) = s.planes(voc, p);
        for (u, row) in may.iter().enumerate() {
            let mut left = *row;
            while left != 0 {
                let w = left.trailing_zeros() as usize;
                left &= left - 1;
                out.push((u, w, hash(&(p.index(), must[u] >> w & 1, u == w))));
            }
        }
    }
    out
}

/// Refines colours by the links to and from all other colours until the partition is stable.
fn refine(links: &[Link], colours: &mut Vec<u64>) {
    let mut classes = 0;
    loop {
        // Sums, so that the order of the objects does not matter.
        let mut next: Vec<u64> = colours.iter().map(hash).collect();
        for (u, w, kind) in links {
            next[*u] = next[*u].wrapping_add(hash(&(kind, colours[*w], "to")));
            next[*w] = next[*w].wrapping_add(hash(&(kind, colours[*u], "from")));
        }
        let mut sorted = next.clone();
        sorted.sort_unstable();
        sorted.dedup();
        *colours = next;
        if sorted.len() == classes || sorted.len() == colours.len() {
            return;
        }
        classes = sorted.len();
    }
}
