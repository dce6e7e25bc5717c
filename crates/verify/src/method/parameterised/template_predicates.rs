//! *Predicates of templates*. A predicate that some copies of a template need is needed of
//! all of them [Donaldson et al., CAV 2011, section 4]: thread numbers are taken out and the
//! predicate belongs to the template. Of all predicates that differ in their copies only,
//! one is kept, over the variables of a space with enough copies; it is said of every
//! choice of copies of another space.

use std::collections::{BTreeMap, BTreeSet};

use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::renaming::instances;
use palisade_abstraction::space::Space;
use palisade_logic::Atom;

use super::blame::relations;

/// Most predicates over one sum that views may ask for: where constants go on and on,
/// more of them do not help.
const MOST_ALIKE: usize = 6;

/// Predicates of templates.
pub(crate) struct TemplatePredicates<'a> {
    reference: &'a Space<'a>,
    /// Each with whether its cases are split.
    atoms: BTreeMap<Atom, bool>,
    /// Those that views have asked for; their cases are not split.
    asked: BTreeSet<Atom>,
}

impl<'a> TemplatePredicates<'a> {
    /// None yet. Predicates over more copies than `reference` has do not fit.
    pub(crate) fn new(reference: &'a Space<'a>) -> Self {
        Self {
            reference,
            atoms: BTreeMap::new(),
            asked: BTreeSet::new(),
        }
    }

    /// How much searches with a few copies have found: predicates, and those that are
    /// split.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.atoms.len() - self.asked.len(), self.split_count())
    }

    /// How many predicates are in it.
    pub(crate) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// How many of them are split.
    pub(crate) fn split_count(&self) -> usize {
        self.atoms.values().filter(|split| **split).count()
    }

    /// Adds a predicate over the variables of `space`.
    pub(crate) fn add(&mut self, space: &Space<'_>, atom: &Atom, split: bool) {
        if let Some(least) = self.of_templates(space, atom) {
            self.asked.remove(&least);
            *self.atoms.entry(least).or_default() |= split;
        }
    }

    /// The predicate of templates that one over `space` is.
    pub(crate) fn of_templates(&self, space: &Space<'_>, atom: &Atom) -> Option<Atom> {
        instances(space, self.reference, atom).pop_first()
    }

    /// Adds predicates of templates that views have asked for; tells whether some are new.
    pub(crate) fn ask_for(&mut self, atoms: &BTreeSet<Atom>) -> bool {
        let mut grown = false;
        for atom in atoms {
            let alike = |other: &&Atom| other.sum() == atom.sum();
            let alike = self.asked.iter().filter(alike).count();
            if alike < MOST_ALIKE && !self.atoms.contains_key(atom) {
                self.atoms.insert(atom.clone(), false);
                self.asked.insert(atom.clone());
                grown = true;
            }
        }
        grown
    }

    /// Adds all predicates of a table over `space`.
    pub(crate) fn add_all(&mut self, space: &Space<'_>, predicates: &Predicates) {
        for (p, atom) in predicates.atoms().iter().enumerate() {
            self.add(space, atom, predicates.is_split(p));
        }
    }

    /// What the predicates suggest ([`relations`]).
    pub(crate) fn relations(&self) -> BTreeSet<Atom> {
        let own: BTreeSet<Atom> = self.atoms.keys().cloned().collect();
        let all = relations(self.reference, &own);
        let least = |atom: &Atom| self.of_templates(self.reference, atom);
        all.iter().filter_map(least).collect()
    }

    /// The predicates over `space`, for every choice of its threads, without those that
    /// views have asked for.
    pub(crate) fn over(&self, space: &Space<'_>) -> Predicates {
        let found = self.atoms.iter().filter(|(a, _)| !self.asked.contains(a));
        self.table(space, found.map(|(atom, split)| (atom, *split)))
    }

    /// All predicates over `space`, for every choice of its threads; with all cases of
    /// those that searches have found if `cases` is set.
    pub(crate) fn all_over(&self, space: &Space<'_>, cases: bool) -> Predicates {
        let split = |atom: &Atom| cases && !self.asked.contains(atom);
        let all = self.atoms.iter();
        self.table(space, all.map(|(atom, s)| (atom, *s || split(atom))))
    }

    fn table<'b>(
        &self,
        space: &Space<'_>,
        atoms: impl Iterator<Item = (&'b Atom, bool)>,
    ) -> Predicates {
        let mut predicates = Predicates::default();
        for (atom, split) in atoms {
            for image in instances(self.reference, space, atom) {
                let (p, _) = predicates.add(image);
                if split {
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
