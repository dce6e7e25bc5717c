//! Concrete steps: what an action does to a structure without unknown values.
//!
//! Place: the semantics that the abstract engine covers, by the naive evaluator only. Used by
//! [`crate::explore`] to find real runs and to confirm results. Paper: [Friggens and Groves, arXiv
//! 2015], section 2 (concrete configurations).
//!
//! Instrumentation predicates are evaluated from their definitions after every step; an update
//! formula of the model that says otherwise is reported. A formula that is 1/2 on a concrete
//! structure (the model writes the constant) is a free choice: both values are taken.

use crate::action::{Action, Creation};
use crate::formula::Formula;
use crate::kleene::Kleene;
use crate::model::Model;
use crate::naive::{Assignment, Tuples, World};
use crate::rules::Source;
use crate::vocabulary::{PredId, Vocabulary};

/// Free choices in one step beyond which its results are incomplete.
const MAX_CHOICES: usize = 10;

/// A result of a step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The world after.
    pub world: World,
    /// Index of the axiom that it breaks although no free choice is to blame.
    pub broken: Option<usize>,
    /// Text of a message given after the update.
    pub post_messages: Vec<usize>,
    /// What the precondition's variables stand for: in a model with threads, who moves.
    pub bound: Vec<usize>,
}

/// All that an action can do to a world.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// The results.
    pub results: Vec<Step>,
    /// Messages given before the update, by index,
    pub messages: Vec<usize>,
    /// and what the precondition's variables stand for where the first of them is.
    pub bound: Vec<usize>,
    /// An update formula that contradicts a definition.
    pub mismatch: Option<PredId>,
    /// Too many free choices, or too many objects.
    pub incomplete: bool,
}

/// Applies an action to a concrete world that satisfies all axioms.
pub fn step(model: &Model, action: &Action, w: &World, max_objects: usize) -> Steps {
    let mut out = Steps::default();
    let mut tuples = Tuples::new(w.n, action.bindings.len());
    let mut at: Assignment = Vec::new();
    while let Some(tuple) = tuples.next() {
        at.clear();
        at.extend(action.bindings.iter().copied().zip(tuple.iter().copied()));
        if let Some(f) = &action.precondition
            && w.value(f, &mut at) == Kleene::False
        {
            continue;
        }
        for (i, m) in action.messages.iter().enumerate() {
            let value = w.value(&m.formula, &mut at);
            if value != Kleene::Half && m.fires(value) {
                if out.messages.iter().all(|known| i < *known) {
                    out.bound = tuple.to_vec();
                }
                out.messages.push(i);
            }
        }
        let before = out.results.len();
        results(model, action, w, &at, max_objects, &mut out);
        for result in &mut out.results[before..] {
            result.bound = tuple.to_vec();
        }
    }
    out.messages.sort_unstable();
    out.messages.dedup();
    out
}

/// The objects for which a unary formula is not 0.
fn objects(w: &World, var: crate::formula::Var, f: &Formula, at: &Assignment) -> Vec<usize> {
    (0..w.n)
        .filter(|u| {
            let mut at = at.clone();
            at.push((var, *u));
            w.eval(f, &at).may()
        })
        .collect()
}

fn results(
    model: &Model,
    action: &Action,
    w: &World,
    at: &Assignment,
    max_objects: usize,
    out: &mut Steps,
) {
    let voc = &model.vocabulary;
    let originals = match &action.create {
        None => vec![],
        Some(Creation::One) => vec![None],
        Some(Creation::Each(v, f, _)) => objects(w, *v, f, at).into_iter().map(Some).collect(),
    };
    let clones = match &action.cloned {
        None => vec![],
        Some(u) => objects(w, u.var, &u.formula, at),
    };
    let objects = w.n + originals.len() + clones.len();
    if objects > max_objects || !voc.fits(objects) {
        out.incomplete = true;
        return;
    }
    let before = if originals.is_empty() && clones.is_empty() {
        w.clone()
    } else {
        extended(voc, w, &originals, &clones)
    };
    let mut after = before.clone();
    // Free choices: predicate, tuple.
    let mut choices: Vec<(PredId, Vec<usize>)> = Vec::new();
    let mut given: Vec<(PredId, Vec<usize>, Kleene)> = Vec::new();
    for u in &action.updates {
        let defined = voc.get(u.predicate).definition.is_some();
        let mut tuples = Tuples::new(before.n, u.args.len());
        let mut inner = at.clone();
        while let Some(tuple) = tuples.next() {
            inner.truncate(at.len());
            inner.extend(u.args.iter().copied().zip(tuple.iter().copied()));
            let value = before.value(&u.formula, &mut inner);
            if defined {
                given.push((u.predicate, tuple.to_vec(), value));
            } else if value == Kleene::Half {
                choices.push((u.predicate, tuple.to_vec()));
            } else {
                after.set(u.predicate, tuple, value);
            }
        }
    }
    for name in ["isNew", "instance"] {
        if let Some(p) = voc.find(name) {
            let mut tuples = Tuples::new(after.n, voc.get(p).arity);
            while let Some(tuple) = tuples.next() {
                after.set(p, tuple, Kleene::False);
            }
        }
    }
    let kept: Vec<usize> = match &action.retain {
        None => (0..after.n).collect(),
        Some(r) => (0..after.n)
            .filter(|u| *u >= w.n || !objects_excludes(w, r.var, &r.formula, at, *u))
            .collect(),
    };
    if choices.len() > MAX_CHOICES {
        out.incomplete = true;
        return;
    }
    for mask in 0..1u32 << choices.len() {
        let mut world = after.clone();
        for (i, (p, tuple)) in choices.iter().enumerate() {
            world.set(*p, tuple, (mask >> i & 1 == 1).into());
        }
        let same_objects = before.n == w.n && kept.len() == before.n;
        finish(
            model,
            action,
            &restricted(voc, &world, &kept),
            same_objects.then_some(w),
            &given,
            &kept,
            &choices,
            out,
        );
    }
}

fn objects_excludes(
    w: &World,
    var: crate::formula::Var,
    f: &Formula,
    at: &Assignment,
    u: usize,
) -> bool {
    let mut at = at.clone();
    at.push((var, u));
    w.eval(f, &at) == Kleene::False
}

/// Evaluates what follows from the core predicates. Where the objects are still those of `before`,
/// a formula all of whose predicates have kept their values has kept its own.
#[allow(clippy::too_many_arguments)] // all of them are parts of one step
fn finish(
    model: &Model,
    action: &Action,
    world: &World,
    before: Option<&World>,
    given: &[(PredId, Vec<usize>, Kleene)],
    kept: &[usize],
    choices: &[(PredId, Vec<usize>)],
    out: &mut Steps,
) {
    let voc = &model.vocabulary;
    let mut world = world.clone();
    define_from(voc, &mut world, before);
    for (p, tuple, value) in given {
        let moved: Option<Vec<usize>> = tuple
            .iter()
            .map(|u| kept.iter().position(|k| k == u))
            .collect();
        if let Some(moved) = moved
            && !world.get(*p, &moved).below(*value)
        {
            out.mismatch = Some(*p);
        }
    }
    // What follows from definitions holds by construction.
    let broken = model.axioms.iter().position(|a| {
        a.source != Source::Definition
            && !unchanged(voc, &world, before, &a.formula)
            && !world.satisfies_for(&a.vars, &a.formula)
    });
    if let Some(i) = broken {
        let mut chosen = false;
        model.axioms[i]
            .formula
            .each_predicate(&mut |p| chosen |= choices.iter().any(|(q, _)| *q == p));
        if chosen {
            // The free choice is limited by the rule: this is not one of the choices.
            return;
        }
    }
    let mut post_messages = Vec::new();
    for (i, m) in action.post_messages.iter().enumerate() {
        let value = world.eval(&m.formula, &vec![]);
        if value != Kleene::Half && m.fires(value) {
            post_messages.push(action.messages.len() + i);
        }
    }
    out.results.push(Step {
        world,
        broken,
        post_messages,
        bound: Vec::new(),
    });
}

/// Whether all predicates of a formula have the values that they had before.
fn unchanged(voc: &Vocabulary, w: &World, before: Option<&World>, f: &Formula) -> bool {
    let Some(before) = before else {
        return false;
    };
    let mut same = true;
    f.each_predicate(&mut |p| same = same && w.same(voc, before, p));
    same
}

/// Evaluates all definitions, in order of dependency.
pub fn define(voc: &Vocabulary, w: &mut World) {
    define_from(voc, w, None);
}

/// The same after a step from a world that is as its definitions say.
fn define_from(voc: &Vocabulary, w: &mut World, before: Option<&World>) {
    for p in voc.ids() {
        let Some(def) = &voc.get(p).definition else {
            continue;
        };
        if unchanged(voc, w, before, &def.formula) {
            continue;
        }
        let mut tuples = Tuples::new(w.n, def.args.len());
        let mut at: Assignment = Vec::new();
        while let Some(tuple) = tuples.next() {
            at.clear();
            at.extend(def.args.iter().copied().zip(tuple.iter().copied()));
            let value = w.value(&def.formula, &mut at);
            w.set(p, tuple, value);
        }
    }
}

/// The world with created objects (of an original or of nothing) and clones.
fn extended(voc: &Vocabulary, w: &World, created: &[Option<usize>], clones: &[usize]) -> World {
    let mut out = World::new(voc, w.n + created.len() + clones.len());
    for p in voc.ids() {
        let mut tuples = Tuples::new(w.n, voc.get(p).arity);
        while let Some(tuple) = tuples.next() {
            out.set(p, tuple, w.get(p, tuple));
        }
    }
    let first_clone = w.n + created.len();
    let source: Vec<(usize, usize)> = clones
        .iter()
        .enumerate()
        .map(|(i, u)| (first_clone + i, *u))
        .collect();
    let small = World::new(voc, clones.len());
    for p in voc.ids() {
        let arity = voc.get(p).arity;
        if arity == 0 || clones.is_empty() {
            continue;
        }
        for tuple in small.tuples(arity) {
            let to: Vec<usize> = tuple.iter().map(|i| source[*i].0).collect();
            let from: Vec<usize> = tuple.iter().map(|i| source[*i].1).collect();
            out.set(p, &to, w.get(p, &from));
        }
    }
    let origins = created
        .iter()
        .enumerate()
        .map(|(i, o)| (w.n + i, *o))
        .chain(source.iter().map(|(to, from)| (*to, Some(*from))));
    for (object, original) in origins {
        if let Some(p) = voc.find("isNew") {
            out.set(p, &[object], Kleene::True);
        }
        if let (Some(p), Some(o)) = (voc.find("instance"), original) {
            out.set(p, &[object, o], Kleene::True);
        }
    }
    out
}

/// The world with only some objects.
fn restricted(voc: &Vocabulary, w: &World, kept: &[usize]) -> World {
    if kept.len() == w.n {
        return w.clone();
    }
    let mut out = World::new(voc, kept.len());
    for p in voc.ids() {
        let mut tuples = Tuples::new(out.n, voc.get(p).arity);
        while let Some(tuple) = tuples.next() {
            let from: Vec<usize> = tuple.iter().map(|u| kept[*u]).collect();
            out.set(p, tuple, w.get(p, &from));
        }
    }
    out
}
