//! The *pool*: the predicates of templates. A predicate that some copies of a
//! template need is needed of all of them (seed 003, section 4): thread numbers are
//! taken out and the predicate belongs to the template. The pool keeps one predicate
//! of all those that differ in their copies only, over the variables of a space with
//! enough copies, and says it of every choice of copies of another space.

use std::collections::{BTreeMap, BTreeSet};

use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::renaming::instances;
use palisade_abstraction::space::Space;
use palisade_logic::Atom;

/// Predicates of templates.
pub(crate) struct Pool<'a> {
    reference: &'a Space<'a>,
    /// Each with whether its cases are split.
    atoms: BTreeMap<Atom, bool>,
}

impl<'a> Pool<'a> {
    /// An empty pool. Predicates over more copies than `reference` has do not fit.
    pub(crate) fn new(reference: &'a Space<'a>) -> Self {
        Self {
            reference,
            atoms: BTreeMap::new(),
        }
    }

    /// How much is in it: predicates, and those that are split.
    pub(crate) fn size(&self) -> (usize, usize) {
        let split = self.atoms.values().filter(|split| **split).count();
        (self.atoms.len(), split)
    }

    /// Adds a predicate over the variables of `space`.
    pub(crate) fn add(&mut self, space: &Space<'_>, atom: &Atom, split: bool) {
        if let Some(least) = instances(space, self.reference, atom).pop_first() {
            *self.atoms.entry(least).or_default() |= split;
        }
    }

    /// Adds all predicates of a table over `space`.
    pub(crate) fn add_all(&mut self, space: &Space<'_>, predicates: &Predicates) {
        for (p, atom) in predicates.atoms().iter().enumerate() {
            self.add(space, atom, predicates.is_split(p));
        }
    }

    /// Splits all cases; tells whether some were not.
    pub(crate) fn split_all(&mut self) -> bool {
        let mut grown = false;
        for split in self.atoms.values_mut() {
            grown |= !std::mem::replace(split, true);
        }
        grown
    }

    /// The predicates over `space`, for every choice of its threads.
    pub(crate) fn over(&self, space: &Space<'_>) -> Predicates {
        let mut predicates = Predicates::default();
        for (atom, split) in &self.atoms {
            for image in instances(self.reference, space, atom) {
                let (p, _) = predicates.add(image);
                if *split {
                    predicates.mark_split(p);
                }
            }
        }
        predicates
    }

    /// The same as atoms.
    pub(crate) fn atoms_over(&self, space: &Space<'_>) -> BTreeSet<Atom> {
        self.over(space).atoms().iter().cloned().collect()
    }
}
