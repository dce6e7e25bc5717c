//! The predicates that the user gives: the atoms of the program's *hints*
//! (`predicate x < y;`), for every choice of the threads that they speak of; and those
//! that its arrays ask for.

use std::collections::BTreeSet;

use palisade_logic::lower::{formula_of, term_of};
use palisade_logic::{Atom, Formula, Term, Var};
use palisade_program::cfg::Step;
use palisade_program::{Hint, LocalAtom, PropAtom};

use crate::bad::choices;
use crate::command::Unsupported;
use crate::space::Space;

/// The atoms of all hints that speak of data; variables that are kept explicit
/// need none.
pub fn atoms(space: &Space<'_>) -> Result<BTreeSet<Atom>, Unsupported> {
    let mut all = BTreeSet::new();
    for hint in &space.program.hints {
        for threads in choices(space, &hint.threads) {
            let formula = formula(space, hint, &threads)?;
            all.extend(formula.atoms().into_iter().filter(|a| is_data(space, a)));
        }
    }
    Ok(all)
}

/// The hints as formulas, one for every choice of threads.
pub fn formulas(space: &Space<'_>) -> Result<Vec<Formula>, Unsupported> {
    let hints = space.program.hints.iter();
    let each = hints.flat_map(|hint| {
        let all = choices(space, &hint.threads);
        all.into_iter().map(move |threads| (hint, threads))
    });
    each.map(|(hint, threads)| formula(space, hint, &threads))
        .collect()
}

fn formula(space: &Space<'_>, hint: &Hint, threads: &[usize]) -> Result<Formula, Unsupported> {
    let read = |slot: usize| Term::var(Var(slot as u32));
    let formula = formula_of(&hint.expr, hint.span, &mut |atom| {
        Ok(match atom {
            PropAtom::Global(var, index) => {
                let cell = space.program.cell(*var, index.unwrap_or(0));
                read(space.cell_slot(cell))
            }
            PropAtom::Local(t, local) => read(space.local_slot(threads[t.index()], *local)),
            PropAtom::SelfOf(t) => {
                Term::constant(i64::from(space.threads[threads[t.index()]].copy))
            }
            // Locations are control; a hint over them says nothing of data.
            PropAtom::At(..) => Term::constant(1),
        })
    });
    Ok(formula?)
}

/// The bounds of computed array indices. An index is tested by an assertion before it
/// is used, and a proof must know between the two that it is in range; a search does
/// not ask for that, since no step goes out of range.
pub fn index_bounds(space: &Space<'_>) -> BTreeSet<Atom> {
    let mut all = BTreeSet::new();
    for (thread, instance) in space.threads.iter().enumerate() {
        for edge in &space.program.template(instance.template).cfg.edges {
            let place = match &edge.step {
                Step::Load { src, .. } => src,
                Step::Store { dst, .. } => dst,
                Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => continue,
                Step::Fence(_) | Step::Assert { .. } | Step::Flush(_) | Step::Atomic(_) => continue,
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) => continue,
            };
            let Some(index) = &place.index else { continue };
            let index = term_of(index, edge.span, &mut |atom| {
                Ok(match atom {
                    LocalAtom::SelfId => Term::constant(i64::from(instance.copy)),
                    LocalAtom::Local(id) => Term::var(Var(space.local_slot(thread, *id) as u32)),
                })
            });
            let Ok(index) = index else { continue };
            let last = space.program.global(place.var).cell_count() as i64 - 1;
            let bounds = [
                Formula::ge(&index, &Term::constant(0)),
                Formula::le(&index, &Term::constant(last)),
            ];
            all.extend(bounds.into_iter().flatten().flat_map(|f| f.atoms()));
        }
    }
    all.retain(|atom| is_data(space, atom));
    all
}

/// Whether an atom speaks of data, and of nothing that is kept explicit.
fn is_data(space: &Space<'_>, atom: &Atom) -> bool {
    let vars = Formula::from(atom.clone()).free_vars();
    let explicit = |v: &Var| space.slots[v.0 as usize].explicit.is_some();
    !vars.is_empty() && !vars.iter().any(explicit)
}
