//! The predicates that the user gives: the atoms of the program's *hints*
//! (`predicate x < y;`), for every choice of the threads that they speak of.

use std::collections::BTreeSet;

use palisade_logic::lower::formula_of;
use palisade_logic::{Atom, Formula, Term, Var};
use palisade_program::{Hint, PropAtom};

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
            let over_data = |a: &Atom| {
                let vars = Formula::from(a.clone()).free_vars();
                let explicit = |v: &Var| space.slots[v.0 as usize].explicit.is_some();
                !vars.is_empty() && !vars.iter().any(explicit)
            };
            all.extend(formula.atoms().into_iter().filter(over_data));
        }
    }
    Ok(all)
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
