//! What a formula says in *difference bounds*: `x - y <= c`, `x <= c`, their
//! negations, equations and disequations, and disjunctions of such conjunctions.
//! Worked out once per literal; [`crate::difference`] decides sets of them.

use crate::atom::{Literal, Relation};
use crate::formula::Formula;
use crate::names::Var;
use crate::term::{Int, Key};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Larger constants are left to the solver, so that distances cannot overflow.
const MAX_CONSTANT: Int = 1 << 32;

/// `x - y <= c`, or as a gap `x - y != c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bound {
    pub(crate) x: Place,
    pub(crate) y: Place,
    pub(crate) c: i64,
}

/// A variable by its number among those in forms, or the number 0.
pub(crate) type Place = u32;

pub(crate) const ZERO: Place = 0;

/// Dense numbers for the variables in forms, since users may number theirs
/// sparsely.
#[derive(Debug)]
pub(crate) struct Places {
    numbers: FxHashMap<Var, Place>,
    /// The variable of each place; that of [`ZERO`] is not used.
    pub(crate) vars: Vec<Var>,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            numbers: FxHashMap::default(),
            vars: vec![Var(0)],
        }
    }
}

impl Places {
    fn of(&mut self, var: Var) -> Place {
        let next = self.vars.len() as Place;
        let place = *self.numbers.entry(var).or_insert(next);
        if place == next {
            self.vars.push(var);
        }
        place
    }
}

/// What a formula says in difference bounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    pub(crate) bounds: Vec<Bound>,
    pub(crate) gaps: Vec<Bound>,
    /// Disjunctions; each must have a form that holds.
    pub(crate) choices: Vec<Arc<[Form]>>,
    /// Whether the formula says something else besides.
    pub(crate) more: bool,
}

impl Form {
    pub(crate) fn of(formula: &Formula, places: &mut Places) -> Self {
        let mut form = Self::default();
        form.add(formula, places);
        form
    }

    fn add(&mut self, formula: &Formula, places: &mut Places) {
        match formula {
            Formula::True => {}
            Formula::False => self.bounds.push(Bound {
                x: ZERO,
                y: ZERO,
                c: -1,
            }),
            Formula::And(parts) => parts.iter().for_each(|part| self.add(part, places)),
            Formula::Literal(literal) => self.add_literal(literal, places),
            Formula::Or(parts) => {
                self.add_choice(parts.iter().map(|part| Self::of(part, places)).collect());
            }
            // Expanding nested equivalences would double with every level.
            Formula::Iff(sides) if has_iff(&sides.0) || has_iff(&sides.1) => self.more = true,
            Formula::Iff(sides) => {
                let both = sides.0.and(&sides.1);
                let neither = sides.0.negated().and(&sides.1.negated());
                self.add_choice(
                    [both, neither]
                        .iter()
                        .map(|f| Self::of(f, places))
                        .collect(),
                );
            }
        }
    }

    /// A disjunction counts only when all of it is understood: without one of
    /// its parts it would say more than it does.
    fn add_choice(&mut self, forms: Arc<[Form]>) {
        if forms.iter().any(|form| form.more) {
            self.more = true;
        } else {
            self.choices.push(forms);
        }
    }

    /// Calls `f` on the places in bounds and gaps, also those of choices.
    pub(crate) fn for_each_place(&self, f: &mut dyn FnMut(Place)) {
        for bound in self.bounds.iter().chain(&self.gaps) {
            f(bound.x);
            f(bound.y);
        }
        for form in self.choices.iter().flat_map(|forms| forms.iter()) {
            form.for_each_place(f);
        }
    }

    fn add_literal(&mut self, literal: &Literal, places: &mut Places) {
        let bound = literal.atom.bound();
        let (x, y) = match &**literal.atom.sum() {
            [(Key::Var(x), 1)] => (places.of(*x), ZERO),
            [(Key::Var(x), 1), (Key::Var(y), -1)] => (places.of(*x), places.of(*y)),
            _ => {
                self.more = true;
                return;
            }
        };
        if bound.abs() > MAX_CONSTANT {
            self.more = true;
            return;
        }
        let c = bound as i64;
        let at_most = Bound { x, y, c };
        match (literal.atom.relation(), literal.positive) {
            (Relation::Le, true) => self.bounds.push(at_most),
            (Relation::Le, false) => self.bounds.push(Bound {
                x: y,
                y: x,
                c: -c - 1,
            }),
            (Relation::Eq, true) => {
                self.bounds.push(at_most);
                self.bounds.push(Bound { x: y, y: x, c: -c });
            }
            (Relation::Eq, false) => self.gaps.push(at_most),
        }
    }
}

fn has_iff(formula: &Formula) -> bool {
    match formula {
        Formula::True | Formula::False | Formula::Literal(_) => false,
        Formula::And(parts) | Formula::Or(parts) => parts.iter().any(has_iff),
        Formula::Iff(_) => true,
    }
}
