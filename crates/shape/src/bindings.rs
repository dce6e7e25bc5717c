//! Bindings: the objects for which an action's precondition may hold, one tuple after another.
//!
//! Place: in [`crate::transfer`], before the messages and the update. The free variables of a
//! precondition are bound; an action has one result per binding ([Friggens and Groves, arXiv 2015],
//! section 2, TVLA's preconditions).
//!
//! A precondition is a conjunction. Instead of a table over all its variables (n^k bits), every
//! part of at most two variables is evaluated by itself, and the variables are bound one after
//! another; the parts narrow the candidates of the later ones by word operations. A part of
//! more variables is left to the table of the whole ([`crate::eval`]).
//!
//! Law (tested): the tuples are those of the table, in the same order. A conjunction is not 0
//! exactly where none of its parts is 0.

use crate::eval::Plan;
use crate::formula::{Formula, Var};
use crate::structure::{Structure, bits};
use crate::vocabulary::{PredId, Vocabulary};

/// Bindings that an action may have in one structure.
const MOST: usize = 1 << 14;

/// A part with the positions of its variables, increasing.
#[derive(Clone, Debug)]
struct Part {
    vars: Vec<usize>,
    plan: Plan,
}

/// A compiled precondition.
#[derive(Clone, Debug)]
pub(crate) struct Bindings {
    count: usize,
    parts: Vec<Part>,
}

/// There are more bindings than can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Bindings {
    /// Compiles a precondition with these free variables; `None` when a part has more than two.
    pub(crate) fn new(precondition: &Formula, vars: &[Var]) -> Option<Self> {
        let mut conjuncts = Vec::new();
        flatten(precondition, &mut conjuncts);
        let part = |f: &&Formula| {
            let place = |v: &Var| vars.iter().position(|w| w == v);
            let mut at: Vec<usize> = f.free_vars().iter().map(place).collect::<Option<_>>()?;
            at.sort_unstable();
            let free: Vec<Var> = at.iter().map(|i| vars[*i]).collect();
            let plan = Plan::new(f, &free, &[])?;
            (at.len() <= 2).then_some(Part { vars: at, plan })
        };
        let mut parts: Vec<Part> = conjuncts.iter().map(part).collect::<Option<_>>()?;
        // Where the small ones leave no candidate, the others are not evaluated.
        parts.sort_by_key(|p| p.vars.len());
        let count = vars.len();
        Some(Self { count, parts })
    }

    /// The tuples of objects for which no part is 0, in increasing order.
    pub(crate) fn find(&self, voc: &Vocabulary, s: &Structure) -> Result<Vec<Vec<usize>>, TooMany> {
        let (existing, _) = s.word(voc, PredId::AC);
        let mut candidates = vec![existing; self.count];
        let mut pairs: Vec<(usize, usize, Vec<u64>)> = Vec::new();
        for part in &self.parts {
            let table = part.plan.eval(voc, s, &[]);
            match part.vars[..] {
                [] if table.may[0] == 0 => return Ok(vec![]),
                [] => {}
                [a] => candidates[a] &= table.may[0],
                [a, b, ..] => pairs.push((a, b, table.may.to_vec())),
            }
            if candidates.contains(&0) {
                return Ok(vec![]);
            }
        }
        let mut out = Vec::new();
        bind(0, &candidates, &pairs, &mut Vec::new(), &mut out)?;
        Ok(out)
    }
}

fn flatten<'f>(f: &'f Formula, out: &mut Vec<&'f Formula>) {
    match f {
        Formula::And(parts) => parts.iter().for_each(|p| flatten(p, out)),
        Formula::Value(_)
        | Formula::Eq(..)
        | Formula::Atom(..)
        | Formula::Not(_)
        | Formula::Or(_)
        | Formula::Ite(..)
        | Formula::Exists(..)
        | Formula::Forall(..)
        | Formula::Tc(_) => out.push(f),
    }
}

/// Binds variable `k` and those after it.
fn bind(
    k: usize,
    candidates: &[u64],
    pairs: &[(usize, usize, Vec<u64>)],
    tuple: &mut Vec<usize>,
    out: &mut Vec<Vec<usize>>,
) -> Result<(), TooMany> {
    let Some(word) = candidates.get(k) else {
        if out.len() >= MOST {
            return Err(TooMany);
        }
        out.push(tuple.clone());
        return Ok(());
    };
    for u in bits(*word) {
        let mut next = candidates.to_vec();
        for (_, b, rows) in pairs.iter().filter(|(a, ..)| *a == k) {
            next[*b] &= rows[u];
        }
        if next[k..].contains(&0) {
            continue;
        }
        tuple.push(u);
        bind(k + 1, &next, pairs, tuple, out)?;
        tuple.pop();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Bindings;
    use crate::coerce::tuple_at;
    use crate::eval::Plan;
    use crate::formula::{Formula, Var};
    use crate::kleene::Kleene;
    use crate::structure::{Structure, bits};
    use crate::vocabulary::{PredId, Properties, Vocabulary};

    #[test]
    fn bindings_are_those_of_the_table() {
        let mut voc = Vocabulary::new();
        let x = voc.add("x", 1, true, Properties::default());
        let n = voc.add("n", 2, false, Properties::default());
        let (a, b, c, d) = (Var(0), Var(1), Var(2), Var(3));
        let atom = |p: PredId, vars: &[Var]| Formula::Atom(p, vars.to_vec());
        let some = Formula::exists(&[d], Formula::and([atom(n, &[a, d]), atom(x, &[d])]));
        let formulas = [
            Formula::and([atom(x, &[a]), atom(n, &[a, b]), atom(n, &[c, b])]),
            Formula::and([atom(n, &[b, a]), Formula::Eq(b, c).not(), some]),
            Formula::and([atom(n, &[a, a]), atom(x, &[b]).not(), atom(x, &[c])]),
        ];
        let mut seed = 11u64;
        let mut next = |limit: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        let mut found = 0;
        for round in 0..300 {
            let mut s = Structure::new(&voc, round % 6);
            let objects: Vec<usize> = (0..s.len()).collect();
            for u in &objects {
                let values = [Kleene::False, Kleene::Half, Kleene::True];
                let mut value = || values[next(3) as usize];
                s.set(&voc, x, &[*u], value());
                let summary = if value() == Kleene::Half {
                    Kleene::Half
                } else {
                    Kleene::False
                };
                s.set(&voc, PredId::SM, &[*u], summary);
                let there = if value() == Kleene::Half {
                    Kleene::Half
                } else {
                    Kleene::True
                };
                s.set(&voc, PredId::AC, &[*u], there);
                for w in &objects {
                    s.set(&voc, n, &[*u, *w], value());
                }
            }
            for f in &formulas {
                let vars: Vec<Var> = f.free_vars().into_iter().collect();
                let bindings = Bindings::new(f, &vars).expect("parts of two variables");
                let table = Plan::new(f, &vars, &[])
                    .expect("few variables")
                    .eval(&voc, &s, &[]);
                let mut expected = Vec::new();
                for (row, word) in table.may.iter().enumerate() {
                    let tuples = bits(*word).map(|bit| tuple_at(row, bit, vars.len(), s.len()));
                    expected.extend(tuples);
                }
                found += expected.len();
                assert_eq!(bindings.find(&voc, &s), Ok(expected));
            }
        }
        assert!(found > 1000);
    }

    #[test]
    fn parts_of_three_variables_are_left_to_the_table() {
        let vars = [Var(0), Var(1), Var(2)];
        let wide = Formula::or([Formula::Eq(vars[0], vars[1]), Formula::Eq(vars[1], vars[2])]);
        assert!(Bindings::new(&wide, &vars).is_none());
    }
}
