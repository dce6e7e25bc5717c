//! *Bad states*: where a `never` is satisfied, or a `finally` falsified after all
//! threads have ended. At a given control a property is a formula over the data.

use palisade_logic::lower::{LowerError, formula_of};
use palisade_logic::{Formula, Term, Var};
use palisade_program::{
    BinOp, Expr, LocId, Pick, PropAtom, PropExpr, Property, PropertyKind, ThreadVar, ThreadVarId,
};

use crate::command::Unsupported;
use crate::space::{Control, Space};

/// The properties of a program with their threads chosen.
#[derive(Debug)]
pub struct BadStates<'s> {
    space: &'s Space<'s>,
    chosen: Vec<Chosen>,
}

/// A property with its threads chosen.
#[derive(Debug)]
struct Chosen {
    property: usize,
    /// For each of its thread variables the thread.
    threads: Vec<usize>,
    /// Where threads must be for a `never` to be satisfied: its conjuncts that are
    /// locations. Most controls are ruled out by these alone.
    places: Vec<(usize, LocId)>,
}

impl<'s> BadStates<'s> {
    /// All properties under all choices of distinct copies.
    pub fn new(space: &'s Space<'s>) -> Self {
        let mut chosen = Vec::new();
        for (index, property) in space.program.properties.iter().enumerate() {
            for threads in choices(space, &property.threads) {
                let mut places = Vec::new();
                if property.kind == PropertyKind::Never {
                    required_places(&property.cond, &threads, &mut places);
                }
                chosen.push(Chosen {
                    property: index,
                    threads,
                    places,
                });
            }
        }
        Self { space, chosen }
    }

    /// The properties that data at `control` may violate: number of the property
    /// and the condition under which they do.
    pub fn at(&self, control: &Control) -> Result<Vec<(usize, Formula)>, Unsupported> {
        let mut bad = Vec::new();
        for Chosen {
            property: index,
            threads,
            places,
        } in &self.chosen
        {
            if places
                .iter()
                .any(|(thread, loc)| control.pcs[*thread] != *loc)
            {
                continue;
            }
            let property = &self.space.program.properties[*index];
            let formula = match property.kind {
                PropertyKind::Never => self.formula(property, threads, control)?,
                PropertyKind::Finally if self.all_ended(control) => {
                    self.formula(property, threads, control)?.negated()
                }
                PropertyKind::Finally => continue,
            };
            if formula != Formula::False {
                bad.push((*index, formula));
            }
        }
        Ok(bad)
    }

    fn all_ended(&self, control: &Control) -> bool {
        let exit = |t: usize| {
            self.space
                .program
                .template(self.space.threads[t].template)
                .cfg
                .exit
        };
        control.pcs.iter().enumerate().all(|(t, pc)| *pc == exit(t))
    }

    fn formula(
        &self,
        property: &Property,
        threads: &[usize],
        control: &Control,
    ) -> Result<Formula, LowerError> {
        let space = self.space;
        let read = |slot: usize| match &space.slots[slot].explicit {
            Some(e) => Term::constant(control.values[e.position]),
            None => Term::var(Var(slot as u32)),
        };
        let thread = |t: &ThreadVarId| threads[t.index()];
        formula_of(&property.cond, property.span, &mut |atom| {
            Ok(match atom {
                PropAtom::Global(var, index) => {
                    read(space.cell_slot(space.program.cell(*var, index.unwrap_or(0))))
                }
                PropAtom::Local(t, local) => read(space.local_slot(thread(t), *local)),
                PropAtom::SelfOf(t) => Term::constant(i64::from(space.threads[thread(t)].copy)),
                PropAtom::At(t, loc) => Term::constant(i64::from(control.pcs[thread(t)] == *loc)),
            })
        })
    }
}

/// The locations among the conjuncts of an expression.
fn required_places(e: &PropExpr, threads: &[usize], places: &mut Vec<(usize, LocId)>) {
    match e {
        Expr::Binary(BinOp::And, a, b) => {
            required_places(a, threads, places);
            required_places(b, threads, places);
        }
        Expr::Atom(PropAtom::At(t, loc)) => places.push((threads[t.index()], *loc)),
        Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..) => {}
    }
}

/// All ways to give thread variables to threads: different numbers of one
/// template get different copies.
pub fn choices(space: &Space<'_>, vars: &[ThreadVar]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for (position, var) in vars.iter().enumerate() {
        let fits = |prefix: &[usize], thread: usize| {
            let instance = space.threads[thread];
            let copy = match var.pick {
                Pick::Only | Pick::Any(_) => true,
                Pick::Copy(copy) => instance.copy == copy,
            };
            let distinct = vars[..position].iter().zip(prefix).all(|(other, &taken)| {
                match (var.pick, other.pick) {
                    (Pick::Any(a), Pick::Any(b)) if other.template == var.template => {
                        (a == b) == (taken == thread)
                    }
                    _ => true,
                }
            });
            instance.template == var.template && copy && distinct
        };
        all = all
            .into_iter()
            .flat_map(|prefix| {
                let threads: Vec<usize> = (0..space.threads.len())
                    .filter(|t| fits(&prefix, *t))
                    .collect();
                threads.into_iter().map(move |t| {
                    let mut next = prefix.clone();
                    next.push(t);
                    next
                })
            })
            .collect();
    }
    all
}
