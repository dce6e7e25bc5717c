//! The table of *predicates*: atoms over data variables, in normal form, each
//! once. Some are marked for case splitting: where
//! such a predicate is unknown after a step, the search goes on with both values.

use std::collections::{BTreeMap, BTreeSet};

use palisade_logic::{Atom, Formula, Var};
use rustc_hash::FxHashMap;

use crate::valuation::{PredId, PredSet};

/// The predicates of an abstraction.
#[derive(Clone, Debug, Default)]
pub struct Predicates {
    atoms: Vec<Atom>,
    vars: Vec<Vec<Var>>,
    index: FxHashMap<Atom, PredId>,
    by_var: BTreeMap<Var, Vec<PredId>>,
    split: PredSet,
    sets: BTreeSet<Var>,
}

impl Predicates {
    /// No predicates yet; these variables are sets. A predicate over a set is true if
    /// all elements satisfy it, false if none does, else unknown ([Baumann et al., VMCAI 2018], section
    /// 4.2); its cases are never split, since two elements may differ.
    pub fn with_sets(sets: BTreeSet<Var>) -> Self {
        Self {
            sets,
            ..Self::default()
        }
    }

    /// Whether an atom may be a predicate: it speaks of at most one set.
    pub fn admits(&self, atom: &Atom) -> bool {
        self.sets.is_empty() || {
            let vars = Formula::from(atom.clone()).free_vars();
            vars.intersection(&self.sets).count() <= 1
        }
    }

    /// Whether a predicate speaks of a set.
    pub fn is_of_set(&self, p: PredId) -> bool {
        !self.sets.is_empty() && self.vars[p].iter().any(|v| self.sets.contains(v))
    }

    /// Adds an atom; tells its number and whether it is new. Atoms without
    /// variables must not be added.
    pub fn add(&mut self, atom: Atom) -> (PredId, bool) {
        if let Some(&known) = self.index.get(&atom) {
            return (known, false);
        }
        let id = self.atoms.len();
        let vars: Vec<Var> = Formula::from(atom.clone())
            .free_vars()
            .into_iter()
            .collect();
        for var in &vars {
            self.by_var.entry(*var).or_default().push(id);
        }
        self.vars.push(vars);
        self.index.insert(atom.clone(), id);
        self.atoms.push(atom);
        (id, true)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.atoms.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.atoms.is_empty()
    }

    /// All atoms, by number.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// The number of an atom.
    pub fn find(&self, atom: &Atom) -> Option<PredId> {
        self.index.get(atom).copied()
    }

    /// The variables of a predicate, sorted.
    pub fn vars(&self, p: PredId) -> &[Var] {
        &self.vars[p]
    }

    /// The predicates over `var`.
    pub fn over(&self, var: Var) -> &[PredId] {
        self.by_var.get(&var).map_or(&[], Vec::as_slice)
    }

    /// The predicate or its negation as a formula.
    pub fn formula(&self, p: PredId, value: bool) -> Formula {
        let formula = Formula::from(self.atoms[p].clone());
        if value { formula } else { formula.negated() }
    }

    /// Marks a predicate for case splitting; tells whether it was not. Predicates over
    /// sets are never split.
    pub fn mark_split(&mut self, p: PredId) -> bool {
        !self.is_of_set(p) && self.split.insert(p)
    }

    /// Whether a predicate is marked for case splitting.
    pub fn is_split(&self, p: PredId) -> bool {
        self.split.contains(p)
    }

    /// How many predicates are marked.
    pub fn split_count(&self) -> usize {
        self.split.iter().count()
    }

    /// The *cone of influence* of `vars`: predicates that share a variable with
    /// them, and with `depth` above 1 those that share one with these, and so on.
    pub fn cone(&self, vars: impl IntoIterator<Item = Var>, depth: usize) -> PredSet {
        let mut cone = PredSet::new(self.len());
        let mut frontier: Vec<Var> = vars.into_iter().collect();
        for _ in 0..depth {
            let mut next = Vec::new();
            for var in frontier {
                for &p in self.over(var) {
                    if cone.insert(p) {
                        next.extend_from_slice(self.vars(p));
                    }
                }
            }
            frontier = next;
        }
        cone
    }
}
