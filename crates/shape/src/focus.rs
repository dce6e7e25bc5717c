//! Focus: split a structure so that given formulas become definite.
//!
//! Place: first step of an action. Paper: [Friggens and Groves, arXiv 2015] uses TVLA's *focus*
//! (reference 13, section 6.3).
//!
//! A formula is stripped of its quantifiers and brought to disjunctive form. In each disjunct
//! the literals are ordered (nullary, unique, unary, binary with a known side, other); for
//! every assignment that may satisfy the literals before it, an atom that is 1/2 is split into
//! the structure where it is 0, where it is 1, and, if exactly one object of the tuple is a
//! summary object, where that object is bisected. A split on two summary objects would never
//! end: it is left unknown, which is sound.
//!
//! Law (tested): every concrete structure embedded in S embeds in a structure of `focus(S)`.
//!
//! Departure from TVLA: the assignments of earlier literals are re-evaluated after every split
//! instead of being carried along, so none is lost.

use crate::coerce::{Dirty, Shift, tuple_at};
use crate::eval::Plan;
use crate::formula::{Formula, Var};
use crate::kleene::Kleene;
use crate::structure::{MAX_OBJECTS, Structure, bits};
use crate::vocabulary::{PredId, Vocabulary};

/// Disjuncts beyond which each atom is focused by itself.
const MAX_DISJUNCTS: usize = 32;

/// Structures that one focus formula may give; beyond them values are left unknown, which is
/// always sound.
const MAX_STRUCTURES: usize = 1000;

/// A literal to make definite, with the condition under which it matters.
#[derive(Clone, Debug)]
struct Step {
    predicate: PredId,
    args: Vec<Var>,
    /// Distinct variables of the atom.
    vars: Vec<Var>,
    /// The literals before it, over `vars`, the other variables existentially bound.
    guard: Plan,
    atom: Plan,
}

/// A compiled focus formula.
#[derive(Clone, Debug)]
pub struct FocusPlan {
    disjuncts: Vec<Vec<Step>>,
}

/// What became of a structure.
pub struct Focused {
    /// The structures with what changed in each.
    pub structures: Vec<(Structure, Dirty)>,
    /// Some atom was left unknown: both its objects are summary objects, or there would be too
    /// many structures.
    pub gave_up: bool,
}

impl FocusPlan {
    /// Compiles a formula. `None` when it nests too many variables.
    pub fn new(voc: &Vocabulary, formula: &Formula) -> Option<Self> {
        let mut fresh = 1 << 30;
        let matrix = strip(&formula.rename_bound(&mut fresh).nnf(true));
        let conjunctions = disjuncts(&matrix).unwrap_or_else(|| {
            let mut atoms = Vec::new();
            each_literal(&matrix, &mut |f| atoms.push(vec![f.clone()]));
            atoms
        });
        let disjuncts = conjunctions
            .into_iter()
            .map(|c| steps(voc, c))
            .collect::<Option<Vec<_>>>()?;
        Some(Self { disjuncts })
    }

    /// Splits a structure.
    pub fn focus(&self, voc: &Vocabulary, s: Structure, dirty: Dirty) -> Focused {
        let mut out = Focused {
            structures: vec![(s, dirty)],
            gave_up: false,
        };
        // Some formulas bisect for ever; a result is never much larger than what it is made of.
        let most = MAX_OBJECTS.min(2 * out.structures[0].0.len() + 8);
        for disjunct in &self.disjuncts {
            // A stack keeps the order of results independent of how deep the splits go.
            let mut stack: Vec<(Structure, Dirty)> = std::mem::take(&mut out.structures);
            stack.reverse();
            while let Some((s, dirty)) = stack.pop() {
                let full = s.len() >= most || !voc.fits(s.len() + 1);
                if out.structures.len() + stack.len() > MAX_STRUCTURES || full {
                    out.gave_up = true;
                    out.structures.push((s, dirty));
                    continue;
                }
                match next_split(voc, disjunct, &s, &mut out.gave_up) {
                    None => out.structures.push((s, dirty)),
                    Some((step, tuple)) => {
                        let mut cases = split(voc, step, &s, &tuple, &dirty);
                        cases.reverse();
                        stack.extend(cases);
                    }
                }
            }
        }
        out
    }
}

/// The first atom, in order of the steps, that is 1/2 for an assignment that matters.
fn next_split<'a>(
    voc: &Vocabulary,
    disjunct: &'a [Step],
    s: &Structure,
    gave_up: &mut bool,
) -> Option<(&'a Step, Vec<usize>)> {
    let summary = s.summaries(voc);
    for step in disjunct {
        let atom = step.atom.eval(voc, s, &[]);
        if atom.may == atom.must {
            continue;
        }
        let guard = step.guard.eval(voc, s, &[]);
        for row in 0..atom.may.len() {
            for bit in bits(guard.may[row] & atom.may[row] & !atom.must[row]) {
                let tuple = tuple_at(row, bit, step.vars.len(), s.len());
                let many = tuple.iter().filter(|u| summary >> **u & 1 == 1).count();
                // Equal variables name one object: p(v,v) is a property of one tuple entry.
                if many > 1 || repeated_summary(step, &tuple, summary) {
                    *gave_up = true;
                    continue;
                }
                return Some((step, tuple));
            }
        }
    }
    None
}

/// p(v,v) on a summary object cannot be made 1 or 0 for the pair without splitting for ever.
fn repeated_summary(step: &Step, tuple: &[usize], summary: u64) -> bool {
    step.args.len() != step.vars.len() && tuple.iter().any(|u| summary >> u & 1 == 1)
}

fn split(
    voc: &Vocabulary,
    step: &Step,
    s: &Structure,
    tuple: &[usize],
    dirty: &Dirty,
) -> Vec<(Structure, Dirty)> {
    let p = step.predicate;
    let mut dirty = dirty.clone();
    dirty.shift(p, Shift::SHARPER);
    let object = |v: &Var| tuple[step.vars.iter().position(|w| w == v).expect("listed")];
    let objects: Vec<usize> = step.args.iter().map(object).collect();
    let mut out = Vec::new();

    let mut no = s.clone();
    no.set(voc, p, &objects, Kleene::False);
    out.push((no, dirty.clone()));

    if let Some(case) = holds(voc, p, s.clone(), &objects, &dirty) {
        out.push(case);
    }

    let bisected = objects.iter().position(|u| s.is_summary(voc, *u));
    if let Some(at) = bisected {
        let mut both = s.duplicate(voc, objects[at]);
        both.set(voc, p, &objects, Kleene::False);
        let mut chosen = objects.clone();
        chosen[at] = s.len();
        let mut dirty = dirty.clone();
        dirty.mark_equality();
        if let Some(case) = holds(voc, p, both, &chosen, &dirty) {
            out.push(case);
        }
    }
    out
}

/// The structure where `p(objects)` is 1, with what uniqueness and functionality imply.
/// `None` when they contradict it.
fn holds(
    voc: &Vocabulary,
    p: PredId,
    mut s: Structure,
    objects: &[usize],
    dirty: &Dirty,
) -> Option<(Structure, Dirty)> {
    let mut dirty = dirty.clone();
    s.set(voc, p, objects, Kleene::True);
    let props = voc.get(p).properties;
    let active = s.active(voc);
    let mut single = |s: &mut Structure, u: usize| {
        if s.is_summary(voc, u) {
            s.set(voc, PredId::SM, &[u], Kleene::False);
            dirty.mark_equality();
        }
    };
    match objects {
        [u] if props.unique => {
            single(&mut s, *u);
            let (_, must) = s.word(voc, p);
            if must & active & !(1 << u) != 0 {
                return None;
            }
            s.set_word(voc, p, (1 << u, 1 << u));
        }
        [u, w] => {
            if props.function && !s.is_summary(voc, *u) {
                single(&mut s, *w);
                let (may, must) = s.planes_mut(voc, p);
                if must[*u] & active & !(1 << w) != 0 {
                    return None;
                }
                may[*u] = 1 << w;
                must[*u] = 1 << w;
            }
            if props.invfunction && !s.is_summary(voc, *w) {
                single(&mut s, *u);
                for x in 0..s.len() {
                    if x == *u {
                        continue;
                    }
                    if active >> x & 1 == 1 && s.get(voc, p, &[x, *w]).must() {
                        return None;
                    }
                    s.set(voc, p, &[x, *w], Kleene::False);
                }
            }
        }
        [] | [_] | [_, _, _, ..] => {}
    }
    Some((s, dirty))
}

/// Removes quantifiers; bound names are distinct already.
fn strip(f: &Formula) -> Formula {
    match f {
        Formula::Exists(_, body) | Formula::Forall(_, body) => strip(body),
        Formula::And(parts) => Formula::and(parts.iter().map(strip)),
        Formula::Or(parts) => Formula::or(parts.iter().map(strip)),
        Formula::Value(_)
        | Formula::Eq(..)
        | Formula::Atom(..)
        | Formula::Not(_)
        | Formula::Ite(..)
        | Formula::Tc(_) => f.clone(),
    }
}

/// Disjunctive form, `None` beyond the limit.
fn disjuncts(f: &Formula) -> Option<Vec<Vec<Formula>>> {
    match f {
        Formula::Or(parts) => {
            let mut out = Vec::new();
            for part in parts {
                out.extend(disjuncts(part)?);
            }
            (out.len() <= MAX_DISJUNCTS).then_some(out)
        }
        Formula::And(parts) => {
            let mut acc: Vec<Vec<Formula>> = vec![vec![]];
            for part in parts {
                let options = disjuncts(part)?;
                if acc.len() * options.len() > MAX_DISJUNCTS {
                    return None;
                }
                acc = acc
                    .iter()
                    .flat_map(|c| options.iter().map(move |o| [c.clone(), o.clone()].concat()))
                    .collect();
            }
            Some(acc)
        }
        Formula::Value(Kleene::True) => Some(vec![vec![]]),
        Formula::Value(Kleene::False) => Some(vec![]),
        Formula::Value(Kleene::Half)
        | Formula::Eq(..)
        | Formula::Atom(..)
        | Formula::Not(_)
        | Formula::Ite(..)
        | Formula::Exists(..)
        | Formula::Forall(..)
        | Formula::Tc(_) => Some(vec![vec![f.clone()]]),
    }
}

fn each_literal(f: &Formula, see: &mut impl FnMut(&Formula)) {
    match f {
        Formula::And(parts) | Formula::Or(parts) => {
            for part in parts {
                each_literal(part, see);
            }
        }
        Formula::Value(_)
        | Formula::Eq(..)
        | Formula::Atom(..)
        | Formula::Not(_)
        | Formula::Ite(..)
        | Formula::Exists(..)
        | Formula::Forall(..)
        | Formula::Tc(_) => see(f),
    }
}

/// The atom under an optional negation.
fn atom_of(literal: &Formula) -> Option<(PredId, &[Var])> {
    match literal.unsigned().0 {
        Formula::Atom(p, args) => Some((*p, args)),
        Formula::Value(_)
        | Formula::Eq(..)
        | Formula::Not(_)
        | Formula::And(_)
        | Formula::Or(_)
        | Formula::Ite(..)
        | Formula::Exists(..)
        | Formula::Forall(..)
        | Formula::Tc(_) => None,
    }
}

/// Orders the literals of a conjunction and compiles a step for each atom.
fn steps(voc: &Vocabulary, mut literals: Vec<Formula>) -> Option<Vec<Step>> {
    let mut ordered: Vec<Formula> = Vec::new();
    let mut known: Vec<Var> = Vec::new();
    while !literals.is_empty() {
        let (at, _) = literals
            .iter()
            .enumerate()
            .min_by_key(|(i, f)| (rank(voc, f, &known), *i))
            .expect("not empty");
        let literal = literals.remove(at);
        if atom_of(&literal).is_some() {
            known.extend(literal.free_vars());
        }
        ordered.push(literal);
    }
    let mut out = Vec::new();
    for (i, literal) in ordered.iter().enumerate() {
        let Some((predicate, args)) = atom_of(literal) else {
            continue;
        };
        if predicate == PredId::SM || predicate == PredId::AC {
            continue;
        }
        let mut vars: Vec<Var> = Vec::new();
        for v in args {
            if !vars.contains(v) {
                vars.push(*v);
            }
        }
        let guard = Formula::and(ordered[..i].iter().cloned());
        let rest: Vec<Var> = guard
            .free_vars()
            .into_iter()
            .filter(|v| !vars.contains(v))
            .collect();
        out.push(Step {
            predicate,
            args: args.to_vec(),
            guard: Plan::new(&Formula::exists(&rest, guard), &vars, &[])?,
            atom: Plan::new(&Formula::Atom(predicate, args.to_vec()), &vars, &[])?,
            vars,
        });
    }
    Some(out)
}

/// Which literal to take next: fewer structures come of it.
fn rank(voc: &Vocabulary, literal: &Formula, known: &[Var]) -> usize {
    let Some((p, args)) = atom_of(literal) else {
        return if literal.free_vars().iter().all(|v| known.contains(v)) {
            3
        } else {
            9
        };
    };
    let props = voc.get(p).properties;
    let bound = |i: usize| known.contains(&args[i]);
    match args.len() {
        0 => 0,
        1 if props.unique => 1,
        1 => 2,
        2 if bound(0) && bound(1) => 4,
        2 if props.function && bound(0) => 5,
        2 if props.invfunction && bound(1) => 5,
        2 if bound(0) || bound(1) => 6,
        2 => 7,
        _ => 8,
    }
}
