//! The concrete machine with all its reductions against the naive interpreter: verdict, length
//! of the shortest run, deadlock, and the set of final states.

use std::collections::BTreeSet;

use palisade_machine::{Options, explore};
use palisade_program::{Instance, Local, Model, Origin, Program, Verdict};

use super::NAIVE;
use crate::{Difference, Outcome, reference};

/// The models in which a program of this kind has a meaning.
fn models(program: &Program) -> &'static [Model] {
    if program.is_rma() {
        &[Model::Sc, Model::Rma]
    } else {
        &[Model::Sc, Model::Tso, Model::Pso]
    }
}

/// All models of a program; violated if it is so under one of them.
pub(crate) fn machine(_: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let mut outcome = Outcome::Skipped;
    for &model in models(program) {
        let expected = reference::explore(program, model, NAIVE);
        if expected.states.is_none() {
            // It has hardly fewer states under the weaker models that follow.
            break;
        }
        let mut options = Options::new(model);
        options.workers = 1;
        options.shift = true;
        let found = explore(program, &options).map_err(|e| format!("{model}: {e}"))?;
        let differs = |what: &str| Err(format!("{model}: {what}: {:?}", found.verdict));
        match &found.verdict {
            Verdict::Violated(_) if !expected.violated => return differs("no run violates it"),
            Verdict::Violated(v) => {
                if Some(v.trace.steps.len()) != expected.length {
                    return differs("there is a shorter run");
                }
                outcome = Outcome::Violated;
            }
            Verdict::Holds | Verdict::Unknown(_) if expected.violated => {
                return differs("a run violates it");
            }
            Verdict::Unknown(_) => return differs("it is small"),
            Verdict::Holds => {
                if found.deadlock.is_some() != expected.deadlock {
                    return differs("deadlock");
                }
                if outcome == Outcome::Skipped {
                    outcome = Outcome::Holds;
                }
            }
        }
    }
    Ok(outcome)
}

/// Final states: without properties the machine visits everything, and both sets are equal.
pub(crate) fn finals(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let all = models(program);
    let model = all[seed as usize % all.len()];
    let bare = Program {
        properties: Vec::new(),
        ..program.clone()
    };
    let expected = reference::explore(&bare, model, NAIVE);
    if expected.states.is_none() || expected.violated {
        return Ok(Outcome::Skipped);
    }
    let mut options = Options::new(model);
    options.collect_finals = true;
    options.workers = 1;
    let found = explore(&bare, &options).map_err(|e| format!("{model}: {e}"))?;
    let ours = found.finals.iter().map(|f| (&f.cells, &f.locals));
    let ours: BTreeSet<_> = ours.map(|(c, l)| (c.clone(), visible(&bare, l))).collect();
    let theirs = expected.finals.iter();
    let theirs: BTreeSet<_> = theirs
        .map(|(c, l)| (c.clone(), visible(&bare, l)))
        .collect();
    if ours != theirs {
        return Err(format!("{model}: final states {ours:?}, not {theirs:?}"));
    }
    Ok(Outcome::Holds)
}

/// Locals without the temporaries, which the machine does not keep.
fn visible(program: &Program, threads: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let of = |(values, instance): (&Vec<i64>, &Instance)| {
        let locals = &program.template(instance.template).locals;
        let user = |(value, local): (&i64, &Local)| match local.origin {
            Origin::User => *value,
            Origin::Temporary => 0,
        };
        values.iter().zip(locals).map(user).collect()
    };
    threads.iter().zip(&program.instances(2)).map(of).collect()
}
