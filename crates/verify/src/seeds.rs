//! *Seeds*: the predicates that an attempt starts with, before any refinement.
//! They come from the program's hints, and from whatever else is known of the
//! program; each source is a function here. A seed that is not needed costs time,
//! never correctness.

use std::collections::BTreeSet;

use palisade_abstraction::hints;
use palisade_abstraction::space::Space;
use palisade_logic::Atom;
use palisade_memory::reduced::Reduced;
use palisade_program::Program;

use crate::options::Options;

/// What is about to be searched.
#[derive(Clone, Copy)]
pub struct Seeding<'a> {
    /// The program as it was given.
    pub original: &'a Program,
    /// Its reduction, if that is what is searched: what each local of it is.
    pub reduced: Option<&'a Reduced>,
    /// The space of the searched program: seeds are atoms over its slots.
    pub space: &'a Space<'a>,
    /// The options.
    pub options: &'a Options,
}

/// The predicates to start with; remarks go to `notes`.
pub fn seed_atoms(seeding: &Seeding<'_>, notes: &mut Vec<String>) -> BTreeSet<Atom> {
    let mut atoms = BTreeSet::new();
    if seeding.options.hints {
        atoms.extend(hinted(seeding, notes));
    }
    // Without refinement the question is what the given predicates can show.
    if seeding.options.refine {
        atoms.extend(hints::index_bounds(seeding.space));
    }
    atoms
}

/// The atoms of the program's hints. A hint that cannot be used is no error: it is
/// never needed.
fn hinted(seeding: &Seeding<'_>, notes: &mut Vec<String>) -> BTreeSet<Atom> {
    hints::atoms(seeding.space).unwrap_or_else(|unsupported| {
        notes.push(format!("hints not used: {unsupported}"));
        BTreeSet::new()
    })
}
