//! *Initial predicates*: those that an attempt starts with, before any refinement.
//! They come from the program's hints and from the bounds of array indices. One that is
//! not needed costs time, never correctness.

use std::collections::BTreeSet;

use palisade_abstraction::hints;
use palisade_abstraction::space::Space;
use palisade_logic::Atom;

use crate::question::Options;

/// What is about to be searched.
#[derive(Clone, Copy)]
pub struct Initial<'a> {
    /// The space of the searched program: predicates are atoms over its slots.
    pub space: &'a Space<'a>,
    /// The options.
    pub options: &'a Options,
}

/// The predicates to start with; remarks go to `notes`.
pub fn initial_atoms(initial: &Initial<'_>, notes: &mut Vec<String>) -> BTreeSet<Atom> {
    let mut atoms = BTreeSet::new();
    if initial.options.hints {
        // A hint that cannot be used is no error: it is never needed.
        match hints::atoms(initial.space) {
            Ok(hinted) => atoms.extend(hinted),
            Err(unsupported) => notes.push(format!("hints not used: {unsupported}")),
        }
    }
    // Without refinement the question is what the given predicates can show.
    if initial.options.refine {
        atoms.extend(hints::index_bounds(initial.space));
    }
    atoms
}
