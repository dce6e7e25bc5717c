//! *Tidying*: fewer and more telling atoms. Interpolants and core literals come
//! as pairs of inequalities (`x <= 0` with `x >= 0`, or the atoms `x <= 0` and
//! `x <= -1`) where a person would say `x = 0`; each such pair doubles the
//! predicates. [`Formula::simplified`] merges bounds on one sum inside a
//! conjunction or disjunction and is exact; [`tidy_atoms`] works on a set of
//! atoms and is a choice of predicates: it forgets on which side of `x = 0` a
//! value lies.

use crate::atom::{Atom, Literal, Relation};
use crate::formula::Formula;
use crate::term::{Int, Overflow, Sum};
use std::collections::{BTreeMap, BTreeSet};

/// Replaces each pair `s <= b`, `s <= b - 1` by `s = b`. The result can be
/// coarser than the input as a set of predicates: `s = b` does not tell
/// `s < b` from `s > b`.
pub fn tidy_atoms(atoms: impl IntoIterator<Item = Atom>) -> BTreeSet<Atom> {
    let mut bounds: BTreeMap<Sum, BTreeMap<Int, Atom>> = BTreeMap::new();
    let mut result = BTreeSet::new();
    for atom in atoms {
        match atom.relation() {
            Relation::Eq => {
                result.insert(atom);
            }
            Relation::Le => {
                bounds
                    .entry(Sum::clone(atom.sum()))
                    .or_default()
                    .insert(atom.bound(), atom);
            }
        }
    }
    for mut of_sum in bounds.into_values() {
        while let Some((bound, atom)) = of_sum.pop_last() {
            let merged = match of_sum.last_key_value() {
                Some((next, _)) if *next == bound - 1 => atom.with(Relation::Eq, bound).ok(),
                Some(_) | None => None,
            };
            if merged.is_some() {
                of_sum.pop_last();
            }
            result.insert(merged.unwrap_or(atom));
        }
    }
    result
}

/// What a conjunction says about one sum.
struct Range {
    sample: Atom,
    low: Option<Int>,
    high: Option<Int>,
    not: BTreeSet<Int>,
}

impl Range {
    fn new(sample: Atom) -> Self {
        Self {
            sample,
            low: None,
            high: None,
            not: BTreeSet::new(),
        }
    }

    fn add(&mut self, literal: &Literal) {
        let bound = literal.atom.bound();
        let mut raise = |to: Int| self.low = Some(self.low.map_or(to, |low| low.max(to)));
        match (literal.atom.relation(), literal.positive) {
            (Relation::Le, true) => {}
            (Relation::Le, false) => raise(bound + 1),
            (Relation::Eq, true) => raise(bound),
            (Relation::Eq, false) => {
                self.not.insert(bound);
            }
        }
        if literal.positive {
            self.high = Some(self.high.map_or(bound, |high| high.min(bound)));
        }
    }

    /// The same range in as few literals as possible.
    fn formula(mut self) -> Result<Formula, Overflow> {
        while let Some(low) = self.low.filter(|low| self.not.remove(low)) {
            self.low = Some(low + 1);
        }
        while let Some(high) = self.high.filter(|high| self.not.remove(high)) {
            self.high = Some(high - 1);
        }
        let (low, high) = (self.low, self.high);
        if low.zip(high).is_some_and(|(low, high)| low > high) {
            return Ok(Formula::False);
        }
        let atom = |relation, bound| Ok(Formula::from(self.sample.with(relation, bound)?));
        if let Some(value) = low.filter(|_| low == high) {
            return atom(Relation::Eq, value);
        }
        let mut parts = Vec::new();
        if let Some(low) = low {
            parts.push(atom(Relation::Le, low - 1)?.negated());
        }
        if let Some(high) = high {
            parts.push(atom(Relation::Le, high)?);
        }
        let inside = |v: &Int| low.is_none_or(|low| *v > low) && high.is_none_or(|high| *v < high);
        for value in self.not.iter().filter(|v| inside(v)) {
            parts.push(atom(Relation::Eq, *value)?.negated());
        }
        Ok(Formula::all(parts))
    }
}

impl Formula {
    /// An equivalent formula in which bounds on the same sum are merged:
    /// `x <= 0 && x >= 0` becomes `x = 0`, `x <= 3 && x <= 5` becomes `x <= 3`.
    #[must_use]
    pub fn simplified(&self) -> Self {
        match self {
            Self::True | Self::False | Self::Literal(_) => self.clone(),
            Self::And(parts) => merge(&Self::all(parts.iter().map(Self::simplified))),
            Self::Or(parts) => {
                let parts = Self::any(parts.iter().map(Self::simplified));
                merge(&parts.negated()).negated()
            }
            Self::Iff(sides) => Self::iff(&sides.0.simplified(), &sides.1.simplified()),
        }
    }
}

/// Merges the literals of a conjunction; other formulas stay as they are.
fn merge(formula: &Formula) -> Formula {
    let Formula::And(parts) = formula else {
        return formula.clone();
    };
    let mut ranges: BTreeMap<&Sum, Range> = BTreeMap::new();
    let mut rest = Vec::new();
    for part in parts.iter() {
        match part {
            Formula::Literal(literal) => ranges
                .entry(literal.atom.sum())
                .or_insert_with(|| Range::new(literal.atom.clone()))
                .add(literal),
            Formula::True | Formula::False => rest.push(part.clone()),
            Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => rest.push(part.clone()),
        }
    }
    let merged: Result<Vec<Formula>, Overflow> = ranges.into_values().map(Range::formula).collect();
    match merged {
        Ok(merged) => Formula::all(merged.into_iter().chain(rest)),
        // At the rim of the number range the formula stays as it was.
        Err(Overflow) => formula.clone(),
    }
}
