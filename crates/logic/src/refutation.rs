//! A *refutation* of difference bounds: a cycle of negative length, or a split
//! into cases that are all refuted. It yields the unsat core, and interpolants.
//!
//! Interpolants of a cycle (Cimatti, Griggio, Sebastiani: Efficient generation
//! of Craig interpolants in satisfiability modulo theories, section on
//! difference logic): the edges of the prefix `A` form paths on the cycle; each
//! path is summed up by the difference of its two ends, which both sides know,
//! and the interpolant is the conjunction of these. A split whose reason is in
//! `A` makes the disjunction of the cases' interpolants, one in `B` their
//! conjunction. All cuts use the same refutation, so the interpolants form a
//! sequence.

use crate::form::{Place, Places, ZERO};
use crate::formula::Formula;
use crate::literals::Lit;
use crate::term::{Int, Overflow, Term};

/// An edge `from -> to` of length `c`: `to - from <= c`, said by `tag`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) c: i64,
    pub(crate) tag: Tag,
}

/// The literal (position in the query) or the open case (its depth) that says
/// something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Tag {
    Literal(u32),
    Case(u32),
}

/// Why a set of difference bounds cannot hold.
#[derive(Clone, Debug)]
pub(crate) enum Refutation {
    /// Edges between places, each beginning where the one before ended, with a
    /// negative sum.
    Cycle(Vec<Edge>),
    /// One of the parts' cases must hold because of `reason`; none can.
    Cases {
        reason: Tag,
        depth: u32,
        parts: Vec<Refutation>,
    },
}

impl Refutation {
    /// Whether `tag` is used.
    pub(crate) fn uses(&self, tag: Tag) -> bool {
        match self {
            Self::Cycle(edges) => edges.iter().any(|edge| edge.tag == tag),
            Self::Cases { reason, parts, .. } => {
                *reason == tag || parts.iter().any(|part| part.uses(tag))
            }
        }
    }

    /// The literals of `query` that are used, sorted.
    pub(crate) fn core(&self, query: &[Lit]) -> Vec<Lit> {
        let mut core = Vec::new();
        self.for_each_tag(&mut |tag| match tag {
            Tag::Literal(at) => core.push(query[at as usize]),
            // Its reason is counted where the split is.
            Tag::Case(_) => {}
        });
        core.sort_unstable();
        core.dedup();
        core
    }

    fn for_each_tag(&self, f: &mut dyn FnMut(Tag)) {
        match self {
            Self::Cycle(edges) => edges.iter().for_each(|edge| f(edge.tag)),
            Self::Cases { reason, parts, .. } => {
                f(*reason);
                for part in parts {
                    part.for_each_tag(f);
                }
            }
        }
    }

    /// The interpolant between the literals for which `in_prefix` holds and the
    /// others.
    pub(crate) fn interpolant(
        &self,
        in_prefix: &dyn Fn(u32) -> bool,
        places: &Places,
    ) -> Result<Formula, Overflow> {
        Cut {
            in_prefix,
            places,
            cases: Vec::new(),
        }
        .interpolant(self)
    }
}

struct Cut<'a> {
    in_prefix: &'a dyn Fn(u32) -> bool,
    places: &'a Places,
    /// For each open case, by depth, whether its reason is in the prefix.
    cases: Vec<(u32, bool)>,
}

impl Cut<'_> {
    fn is_prefix(&self, tag: Tag) -> bool {
        match tag {
            Tag::Literal(at) => (self.in_prefix)(at),
            Tag::Case(depth) => self
                .cases
                .iter()
                .rev()
                .any(|(of, in_prefix)| *of == depth && *in_prefix),
        }
    }

    fn interpolant(&mut self, refutation: &Refutation) -> Result<Formula, Overflow> {
        match refutation {
            Refutation::Cycle(edges) => self.paths(edges),
            Refutation::Cases {
                reason,
                depth,
                parts,
            } => {
                let in_prefix = self.is_prefix(*reason);
                self.cases.push((*depth, in_prefix));
                let parts: Result<Vec<Formula>, Overflow> =
                    parts.iter().map(|part| self.interpolant(part)).collect();
                self.cases.pop();
                Ok(if in_prefix {
                    Formula::any(parts?)
                } else {
                    Formula::all(parts?)
                })
            }
        }
    }

    /// The conjunction of what the prefix's paths on the cycle add up to.
    fn paths(&self, edges: &[Edge]) -> Result<Formula, Overflow> {
        let prefix: Vec<bool> = edges.iter().map(|edge| self.is_prefix(edge.tag)).collect();
        let Some(start) = prefix.iter().position(|in_prefix| !in_prefix) else {
            return Ok(Formula::False);
        };
        let (mut parts, mut path): (Vec<Formula>, Option<(Place, Place, i64)>) = Default::default();
        // From an edge outside the prefix once round, and back to it.
        for step in 0..=edges.len() {
            let at = (start + step) % edges.len();
            let edge = &edges[at];
            path = match (path, prefix[at]) {
                (None, true) => Some((edge.from, edge.to, edge.c)),
                (Some((from, _, c)), true) => Some((from, edge.to, c + edge.c)),
                (Some((from, to, c)), false) => {
                    let most = self.term(from).plus_constant(Int::from(c))?;
                    parts.push(Formula::le(&self.term(to), &most)?);
                    None
                }
                (None, false) => None,
            };
        }
        Ok(Formula::all(parts))
    }

    fn term(&self, place: Place) -> Term {
        if place == ZERO {
            Term::constant(0)
        } else {
            Term::var(self.places.vars[place as usize])
        }
    }
}
