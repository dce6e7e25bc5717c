//! The invariant *by place*, for people: what a certificate says whenever a thread is at a
//! location, whatever the others do. Each entry says more (where the others are, which
//! values go together); this is its projection to one thread's location, so it is implied
//! by the invariant and need not be inductive by itself.
//!
//! A certificate may leave out states in which a thread is in the middle of something that
//! nobody interferes with ([`Certificate::interference_free`]): nothing is said of variables that
//! are written there. States in which a thread waits for ever at a condition over its own
//! variables are left out as well ([`can_wait_alone`]).

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::{Cell, Edge, GlobalId, LocId, Program, Step, TemplateId};

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

/// The invariant of `certificate`, which is one for `program`, by place. Nothing is said of one that speaks of flags,
/// which the program does not have.
pub fn by_place(program: &Program, certificate: &Certificate) -> Vec<Known> {
    if !certificate.present.is_empty() {
        return Vec::new();
    }
    let program = &*subject(program, certificate.kind);
    let instances = program.instances(certificate.threads);
    let names = StateNames::of(program, &instances);
    let written = written_inside(program, certificate);
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
                let is_hidden = |cell: &Cell| written.contains(&program.variable_of(*cell).0);
                if matches!(variable, StateVar::Cell(cell) if is_hidden(cell)) {
                    return None;
                }
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
        let literals = seen.literals.iter().filter(|_| written.is_empty());
        let atoms = literals.filter_map(|(atom, holds)| {
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

/// Variables that are written where a certificate has no states.
fn written_inside(program: &Program, certificate: &Certificate) -> BTreeSet<GlobalId> {
    let mut all = BTreeSet::new();
    for (template, loc) in &certificate.interference_free {
        let edges = &program.template(*template).cfg.edges;
        for edge in edges.iter().filter(|edge| edge.from == *loc) {
            note_stores(&edge.step, &mut all);
        }
    }
    all
}

fn note_stores(step: &Step, all: &mut BTreeSet<GlobalId>) {
    match step {
        Step::Store { dst, .. } => {
            all.insert(dst.var);
        }
        Step::Atomic(block) => {
            for edge in &block.body.edges {
                note_stores(&edge.step, all);
            }
        }
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
        Step::Load { .. } | Step::Fence(_) | Step::Assert { .. } => {}
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {}
    }
}

/// Whether a thread can wait for ever where it touches only its own variables.
pub fn can_wait_alone(program: &Program) -> bool {
    program.templates.iter().any(|template| {
        let cfg = &template.cfg;
        let alone = |edge: &Edge| {
            let others = cfg.edges.iter().filter(|other| other.from == edge.from);
            matches!(edge.step, Step::Assume(_)) && others.count() == 1
        };
        cfg.edges.iter().any(alone)
    })
}
