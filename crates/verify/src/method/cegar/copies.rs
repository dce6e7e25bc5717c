//! *Parameterised predicates* [Abdulla et al., SAS 2012, section 8]. A relation `v < u` that a
//! program needs is soon needed of the variables that `v` is copied to: the buffer
//! cell, the shared variable, the local that another thread loads it into. Each
//! copy would take a round of refinement of its own. The paper keeps the shape
//! `[] < []` and lets the abstraction fill in any variables; here the shape is
//! filled in along the copies that the program makes, since only these carry the
//! relation on.

use std::collections::{BTreeMap, BTreeSet};

use palisade_abstraction::command::Commands;
use palisade_logic::substitute::Substitution;
use palisade_logic::{Atom, Formula, Term, Var};

/// Most predicates that one round gets in this way.
const MAX_NEW: usize = 64;
/// Copies that a relation is followed along: local, cell, variable, local.
const MAX_COPIES: usize = 3;

/// `atoms` between two variables over the variables that theirs are copied to.
pub fn along_copies(commands: &Commands<'_>, atoms: &BTreeSet<Atom>) -> BTreeSet<Atom> {
    let copies = copies(commands);
    let mut all = BTreeSet::new();
    let mut frontier: BTreeSet<Atom> = atoms.iter().filter(|a| relates_two(a)).cloned().collect();
    for _ in 0..MAX_COPIES {
        let next: BTreeSet<Atom> = frontier.iter().flat_map(|a| images(&copies, a)).collect();
        frontier = next.difference(&all).cloned().collect();
        for atom in &frontier {
            if all.len() >= MAX_NEW {
                return all;
            }
            all.insert(atom.clone());
        }
    }
    all
}

fn relates_two(atom: &Atom) -> bool {
    Formula::from(atom.clone()).free_vars().len() == 2
}

/// The atom with one of its variables replaced by one that it is copied to.
fn images(copies: &BTreeMap<Var, BTreeSet<Var>>, atom: &Atom) -> BTreeSet<Atom> {
    let formula = Formula::from(atom.clone());
    let vars = formula.free_vars();
    let mut images = BTreeSet::new();
    for from in &vars {
        for to in copies.get(from).into_iter().flatten() {
            let renaming = Substitution::single(*from, Term::var(*to));
            if !vars.contains(to)
                && let Ok(image) = formula.substitute(&renaming)
            {
                images.extend(image.atoms());
            }
        }
    }
    images
}

/// For each variable those that some step met so far sets to its value.
fn copies(commands: &Commands<'_>) -> BTreeMap<Var, BTreeSet<Var>> {
    let mut copies: BTreeMap<Var, BTreeSet<Var>> = BTreeMap::new();
    for branch in commands.branches() {
        for to in &branch.written {
            let value = branch.updates.get(*to).and_then(Term::as_var);
            if let Some(from) = value
                && from != *to
                && (from.0 as usize) < commands.space().slots.len()
            {
                copies.entry(from).or_default().insert(*to);
            }
        }
    }
    copies
}
