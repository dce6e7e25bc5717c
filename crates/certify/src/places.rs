//! The invariant *by place*, for people: what a certificate says whenever a thread is at a
//! location, whatever the others do. Each entry says more (where the others are, which
//! values go together); this is its projection to one thread's location, so it is implied
//! by the invariant and need not be inductive by itself.

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::{LocId, Program, TemplateId};

use crate::certificate::Certificate;
use crate::names::StateNames;
use crate::state::StateVar;
use crate::views::subject;

/// What holds at a location of a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The template.
    pub template: TemplateId,
    /// The location.
    pub loc: LocId,
    /// What holds, all of it.
    pub facts: Vec<Fact>,
}

/// One thing that holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// A variable has one of these values.
    Values {
        /// A cell, or a local of a thread at the location.
        variable: StateVar,
        /// Its name.
        name: String,
        /// The values.
        values: BTreeSet<i64>,
    },
    /// An atom of the certificate, or its negation, in words.
    Atom(String),
}

/// What was seen at one place so far.
struct Seen {
    /// Values by variable; any value once `None`.
    values: BTreeMap<StateVar, Option<BTreeSet<i64>>>,
    /// Literals that all cubes have.
    literals: BTreeSet<(u32, bool)>,
}

/// The invariant of `certificate`, which is one for `program`, by place.
pub fn by_place(program: &Program, certificate: &Certificate) -> Vec<Known> {
    let program = &*subject(program, certificate.kind);
    let instances = program.instances(certificate.threads);
    let names = StateNames::of(program, &instances);
    let mut seen: BTreeMap<(TemplateId, LocId), Seen> = BTreeMap::new();
    for entry in &certificate.entries {
        let mut cubes = entry
            .cubes
            .iter()
            .map(|cube| -> BTreeSet<(u32, bool)> { cube.0.iter().copied().collect() });
        // An entry without cubes holds no state.
        let Some(first) = cubes.next() else { continue };
        let common = cubes.fold(first, |all, cube| &all & &cube);
        for (thread, loc) in entry.control.locs.iter().enumerate() {
            let Some(instance) = instances.get(thread) else {
                continue;
            };
            let values = certificate.explicit.iter().zip(&entry.control.values);
            let own = values.filter_map(|(variable, value)| {
                Some((
                    placed(*variable, thread)?,
                    value.map(|v| BTreeSet::from([v])),
                ))
            });
            let own: BTreeMap<StateVar, Option<BTreeSet<i64>>> = own.collect();
            let here = (instance.template, *loc);
            match seen.get_mut(&here) {
                None => {
                    let literals = common.clone();
                    seen.insert(
                        here,
                        Seen {
                            values: own,
                            literals,
                        },
                    );
                }
                Some(seen) => {
                    seen.literals = &seen.literals & &common;
                    for (variable, known) in &mut seen.values {
                        let now = own.get(variable).cloned().flatten();
                        *known = known.take().zip(now).map(|(a, b)| &a | &b);
                    }
                }
            }
        }
    }
    let known = seen.into_iter().map(|((template, loc), seen)| {
        let values = seen.values.into_iter().filter_map(|(variable, values)| {
            Some(Fact::Values {
                variable,
                name: name(program, template, variable)?,
                values: values?,
            })
        });
        let atoms = seen.literals.iter().filter_map(|(atom, holds)| {
            let atom = certificate.atoms.get(*atom as usize)?;
            let atom = if *holds { atom.clone() } else { atom.negated() };
            Some(Fact::Atom(atom.display(&names).to_string()))
        });
        Known {
            template,
            loc,
            facts: values.chain(atoms).collect(),
        }
    });
    known.collect()
}

/// A variable seen from a thread: its own locals as those of thread 0; none of others.
fn placed(variable: StateVar, of: usize) -> Option<StateVar> {
    match variable {
        StateVar::Cell(_) => Some(variable),
        StateVar::Local { thread, local } if thread as usize == of => {
            Some(StateVar::Local { thread: 0, local })
        }
        StateVar::Local { .. } | StateVar::Slot { .. } | StateVar::CellSlot { .. } => None,
        StateVar::Last { .. } | StateVar::Low { .. } | StateVar::Number { .. } => None,
        StateVar::Carried { .. } | StateVar::Element { .. } => None,
    }
}

/// What people call it; none for temporaries.
fn name(program: &Program, template: TemplateId, variable: StateVar) -> Option<String> {
    match variable {
        StateVar::Cell(cell) => Some(program.cell_name(cell)),
        StateVar::Local { local, .. } => {
            let local = program.template(template).locals.get(local.index())?;
            (local.origin == palisade_program::Origin::User).then(|| local.name.clone())
        }
        StateVar::Slot { .. } | StateVar::CellSlot { .. } | StateVar::Last { .. } => None,
        StateVar::Low { .. } | StateVar::Number { .. } => None,
        StateVar::Carried { .. } | StateVar::Element { .. } => None,
    }
}
