//! *Numbers of threads*: the program with another number of copies of its
//! replicated templates (`--threads`), and when a proof for every number of copies
//! is tried for a certain one, and what it says of that one: a proof is a proof, and a
//! run of fewer copies is a run of more of them, in which the others do not move.

use palisade_machine::{Action, Witness};
use palisade_program::symmetry::{Asymmetry, Symmetry};
use palisade_program::{
    Count, Instance, Pick, Program, PropertyKind, Template, Unknown, Verdict, Violation,
};

use crate::options::Report;

/// How many copies of each replicated template run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threads {
    /// So many.
    Exactly(u32),
    /// Any number.
    Any,
}

/// Copies of a template from which on a proof for every number is tried first: with
/// fewer, their own states are soon searched.
const MANY: u32 = 4;

/// The program with this number of copies of each template declared with `[n]` or
/// `[*]`.
///
/// # Errors
/// What in the program depends on the number that it declares.
pub fn with_threads(program: &Program, threads: Threads) -> Result<Program, Asymmetry> {
    let count = match threads {
        Threads::Exactly(n) => Count::Fixed(n),
        Threads::Any => Count::Any,
    };
    if let [first, ..] = &program.templates[..]
        && program.templates.iter().all(|t| t.count == Count::Once)
    {
        return Err(Asymmetry {
            reason: "no thread is declared with a number of copies".to_owned(),
            span: first.span,
        });
    }
    let mut changed = program.clone();
    for template in &mut changed.templates {
        match template.count {
            Count::Once => {}
            Count::Fixed(_) | Count::Any => template.count = count,
        }
    }
    let symmetry = Symmetry::of(&changed);
    for id in program.template_ids() {
        let template = program.template(id);
        if is_awaited(template) && changed.template(id).count != template.count {
            return Err(Asymmetry {
                reason: "the program waits for as many of these threads as it starts".to_owned(),
                span: template.span,
            });
        }
        let grows = match (program.template(id).count, threads) {
            (Count::Once | Count::Any, _) => false,
            (Count::Fixed(before), Threads::Exactly(n)) => n > before,
            (Count::Fixed(_), Threads::Any) => true,
        };
        if grows && let Some(asymmetry) = symmetry.asymmetry(id) {
            return Err(asymmetry.clone());
        }
    }
    if let Threads::Exactly(n) = threads {
        named_copies(&changed, n)?;
    }
    Ok(changed)
}

/// Whether the end of each copy is counted, so that the program can wait for all: the
/// front end for C calls what counts them so.
fn is_awaited(template: &Template) -> bool {
    template.locals.iter().any(|local| local.name == "$ended")
}

/// Properties must not name a copy that is not there.
fn named_copies(program: &Program, n: u32) -> Result<(), Asymmetry> {
    for property in &program.properties {
        for thread in &property.threads {
            if let Pick::Copy(copy) = thread.pick
                && copy >= n
            {
                return Err(Asymmetry {
                    reason: format!("there is no copy {copy} among {n}"),
                    span: property.span,
                });
            }
        }
    }
    Ok(())
}

/// The program with any number of copies, if a proof of that is worth a try before
/// one for the copies that are declared: there are many of them, and nothing depends
/// on how many.
pub(crate) fn generalised(program: &Program) -> Option<Program> {
    let many = |c: Count| matches!(c, Count::Fixed(n) if n >= MANY);
    let waits = program
        .properties
        .iter()
        .any(|p| p.kind == PropertyKind::Finally);
    if program.has_unbounded_threads() || waits || !program.templates.iter().any(|t| many(t.count))
    {
        return None;
    }
    with_threads(program, Threads::Any).ok()
}

/// What the report on `any`, the program with any number of copies, says of `program`;
/// `None` if that is nothing.
pub(crate) fn of_declared(program: &Program, any: &Program, mut report: Report) -> Option<Report> {
    match &report.verdict {
        Verdict::Holds => Some(report),
        Verdict::Unknown(Unknown::Time | Unknown::Interrupted) => Some(report),
        Verdict::Unknown(_) => None,
        Verdict::Violated(_) => {
            let (violation, witness) = with_declared(program, any, report.witness.as_ref()?)?;
            report.verdict = Verdict::Violated(violation);
            report.witness = Some(witness);
            Some(report)
        }
    }
}

/// Runs the machine with the copies that `program` declares.
fn with_declared(
    program: &Program,
    any: &Program,
    witness: &Witness,
) -> Option<(Box<Violation>, Witness)> {
    let declared = program.instances(1);
    let few = any.instances(witness.start.threads);
    let thread = |t: usize| {
        let instance: &Instance = few.get(t)?;
        declared.iter().position(|other| other == instance)
    };
    let mut start = witness.start.clone();
    start.locals.clear();
    for ((t, local), value) in &witness.start.locals {
        start.locals.insert((thread(*t)?, *local), *value);
    }
    let actions: Option<Vec<Action>> = witness
        .actions
        .iter()
        .map(|action| {
            Some(Action {
                thread: thread(action.thread)?,
                kind: action.kind.clone(),
            })
        })
        .collect();
    let replayed = palisade_machine::replay(program, &start, &actions?).ok()?;
    let actions = replayed.actions;
    Some((replayed.violation?, Witness { start, actions }))
}
