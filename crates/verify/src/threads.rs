//! *Numbers of threads*: the program with another number of copies of its
//! replicated templates (`--threads`), and when a proof for every number of copies
//! is tried for a certain one, and what it says of that one: a proof is a proof, and a
//! run of fewer copies is a run of more of them, in which the others do not move. Where
//! the program waits for all copies it waits for as many as there are.

use palisade_machine::{Action, Witness};
use palisade_program::symmetry::{Asymmetry, Symmetry};
use palisade_program::{Count, Instance, Pick, Program, PropertyKind, Unknown, Verdict, Violation};

use crate::hunt;
use crate::joins::{self, Entangled};
use crate::options::{Options, Report};

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
/// Numbers of copies with which a violation is looked for in a program that waits for
/// all of them.
const MOST_JOINED: std::ops::RangeInclusive<u32> = 1..=4;

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
    for id in program.template_ids() {
        let copies = match threads {
            Threads::Exactly(n) => Some(n),
            Threads::Any => None,
        };
        joins::renumbered(&mut changed, id, copies).map_err(|Entangled(template)| Asymmetry {
            reason: "the program counts the ends of these threads".to_owned(),
            span: program.template(template).span,
        })?;
    }
    for template in &mut changed.templates {
        match template.count {
            Count::Once => {}
            Count::Fixed(_) | Count::Any => template.count = count,
        }
    }
    let symmetry = Symmetry::of(&changed);
    for id in program.template_ids() {
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

/// What a report on the program with any number of copies says if the program waits for
/// all copies of a template: there nobody waits ([`crate::joins`]), so that a violation
/// need not be one. It is looked for with a few copies, which are waited for.
#[must_use]
pub fn with_joins(program: &Program, mut report: Report, options: &Options) -> Report {
    let Verdict::Violated(_) = &report.verdict else {
        return report;
    };
    for n in MOST_JOINED {
        let Ok(few) = with_threads(program, Threads::Exactly(n)) else {
            continue;
        };
        if let Some(bug) = hunt::hunt(&few, options.model, hunt::QUICK, options) {
            let mut found = bug.report();
            found.notes = report.notes;
            found
                .notes
                .push(format!("a run of {n} threads that are waited for"));
            return found;
        }
    }
    let why = "violated where the program does not wait for its threads; no run was found where \
               it does";
    report.verdict = Verdict::Unknown(Unknown::GaveUp(why.to_owned()));
    report.witness = None;
    report
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
    let waits = waits || joins::waits_for_all(program);
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
