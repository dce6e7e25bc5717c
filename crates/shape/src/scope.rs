//! Scope: quantifiers moved inwards, so that evaluation holds fewer variables at once.
//!
//! Place: before [`crate::compile`]. A table has a row for every assignment of the variables in
//! it, so `E(a,b) p(x,a) & q(a,b) & r(b,y)` costs n^4 bits as written and n^3 after
//! `E(a) p(x,a) & E(b) (q(a,b) & r(b,y))`. Of a chain of equal quantifiers the variable whose
//! parts mention fewest variables goes in first (bucket elimination).
//!
//! Exact in Kleene's logic, also for objects that may be absent: `E v. f & g` is the
//! disjunction over u of `ac(u) & f(u) & g`, and the logic is a distributive lattice.
//! Definitions are not rewritten: [`crate::differencing`] follows their shape.

use crate::formula::{Closure, Formula, Var};
use std::collections::BTreeSet;

/// The formula with its quantifiers moved inwards.
pub(crate) fn scope(f: &Formula) -> Formula {
    match f {
        Formula::Value(_) | Formula::Eq(..) | Formula::Atom(..) => f.clone(),
        Formula::Not(f) => scope(f).not(),
        Formula::And(parts) => Formula::And(parts.iter().map(scope).collect()),
        Formula::Or(parts) => Formula::Or(parts.iter().map(scope).collect()),
        Formula::Ite(c, a, b) => {
            Formula::Ite(Box::new(scope(c)), Box::new(scope(a)), Box::new(scope(b)))
        }
        Formula::Exists(..) | Formula::Forall(..) => chain(f),
        Formula::Tc(tc) => Formula::Tc(Box::new(Closure {
            body: scope(&tc.body),
            ..(**tc).clone()
        })),
    }
}

/// A chain of equal quantifiers and what is below it.
fn chain(f: &Formula) -> Formula {
    let existential = matches!(f, Formula::Exists(..));
    let mut vars: Vec<Var> = Vec::new();
    let mut body = f;
    loop {
        match body {
            // A variable bound twice: the inner one counts, so stop before it.
            Formula::Exists(v, inner) if existential && !vars.contains(v) => {
                vars.push(*v);
                body = inner;
            }
            Formula::Forall(v, inner) if !existential && !vars.contains(v) => {
                vars.push(*v);
                body = inner;
            }
            _ => break,
        }
    }
    let mut parts = match (scope(body), existential) {
        (Formula::And(parts), true) | (Formula::Or(parts), false) => parts,
        (other, _) => vec![other],
    };
    while !vars.is_empty() {
        let (at, _) = vars
            .iter()
            .enumerate()
            .min_by_key(|(_, v)| width(&parts, **v))
            .expect("not empty");
        let v = vars.remove(at);
        parts = eliminate(v, parts, existential);
    }
    if existential {
        Formula::and(parts)
    } else {
        Formula::or(parts)
    }
}

/// How many variables the parts that mention `v` have together.
fn width(parts: &[Formula], v: Var) -> usize {
    let free = parts.iter().map(Formula::free_vars);
    let all: BTreeSet<Var> = free.filter(|f| f.contains(&v)).flatten().collect();
    all.len()
}

/// The parts with one variable quantified around those that mention it.
fn eliminate(v: Var, parts: Vec<Formula>, existential: bool) -> Vec<Formula> {
    let (mut with, mut rest): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|f| f.free_vars().contains(&v));
    if with.is_empty() {
        // Still says that some object exists (or, universally, that none does).
        with = std::mem::take(&mut rest);
    }
    rest.push(if existential {
        Formula::Exists(v, Box::new(Formula::and(with)))
    } else {
        Formula::Forall(v, Box::new(Formula::or(with)))
    });
    rest
}
