//! The proof side for objects without lists: the object and its specification as one program
//! over integers, which `palisade-verify` proves for any number of threads.

use palisade_program::heap::{Program, Specification};
use palisade_program::{Count, Model, Unknown, Verdict};
use palisade_verify::{Report, verify};

use super::Question;
use super::proof::{Attempt, Proved, unsupported};
use crate::lockstep::{Lockstep, Nodes, translate};
use crate::prove::{Options, Unsupported};

/// Rounds of refinement and abstract states of one attempt: what is proved at all is proved with
/// few.
const ROUNDS: usize = 60;
/// Rounds where nodes are counted: what is proved with a counter is simple, and bugs show early.
const COUNTED_ROUNDS: usize = 10;
/// Rounds and states where threads keep variables between calls: what several threads keep together, such as a sum, is not
/// found by more of them.
const KEPT_ROUNDS: usize = 10;
const KEPT_STATES: usize = 2_000;
const STATES: usize = 400_000;

/// Ways of resolving the specification's choices that are tried.
const MOST_PICKS: usize = 64;

/// Object and specification as one program.
///
/// # Errors
/// What the prover does not support.
pub fn program(object: &Program) -> Result<palisade_program::Program, String> {
    match translate(object, &[], Nodes::Any) {
        Ok(made) => Ok(made.program),
        Err(no) => Err(unsupported(object, &no)),
    }
}

/// Tries to prove the program.
pub(super) fn attempt(
    question: &Question<'_>,
    how: &Options<'_>,
    program: &Program,
) -> Result<Attempt, Unsupported> {
    let (mut report, made) = with_nodes(question, how, program, Nodes::Any)?;
    // A run in which two nodes have one number says nothing of the program.
    if made.has_more_runs
        && !matches!(report.verdict, Verdict::Holds)
        && (question.stopped)().is_none()
    {
        (report, _) = with_nodes(question, how, program, Nodes::Counted)?;
    }
    Ok(match &report.verdict {
        Verdict::Holds => Attempt::Proved(Box::new(proved(program, &report))),
        // Another way of the specification may explain the run.
        Verdict::Violated(violation) if !made.choices.is_empty() => {
            let line = program.source.position(violation.span.start).line;
            let message = &violation.message;
            Attempt::Failed(vec![format!(
                "no proof: no way of the specification was found that explains all runs: {message} \
                 (line {line})"
            )])
        }
        Verdict::Violated(violation) => {
            let line = program.source.position(violation.span.start).line;
            let message = &violation.message;
            Attempt::Beyond(vec![format!(
                "no proof: a run beyond the bounds is wrong, or not explained by the commit points: \
                 {message} (line {line})"
            )])
        }
        Verdict::Unknown(why) => {
            Attempt::Failed(vec![format!("no proof: {}", words(program, why))])
        }
    })
}

/// The best report over the ways of resolving the specification's choices, and the translation.
fn with_nodes(
    question: &Question<'_>,
    how: &Options<'_>,
    program: &Program,
    nodes: Nodes,
) -> Result<(Report, Lockstep), Unsupported> {
    let made = translate(program, &[], nodes)?;
    let is_keeping = !program.kept.is_empty();
    let prove = |made: &Lockstep| prove(question, how, made, nodes, is_keeping);
    let mut report = prove(&made);
    for picks in ways(&made.choices) {
        if matches!(report.verdict, Verdict::Holds) || (question.stopped)().is_some() {
            break;
        }
        let picked = prove(&translate(program, &picks, nodes)?);
        if matches!(picked.verdict, Verdict::Holds) {
            report = picked;
        }
    }
    Ok((report, made))
}

fn words(program: &Program, why: &Unknown) -> String {
    match why {
        Unknown::Unsupported(_, span) if span.start > 0 => {
            format!("{why} (line {})", program.source.position(span.start).line)
        }
        other => other.to_string(),
    }
}

/// All ways of resolving choices of which there are so many, the first ways first.
fn ways(choices: &[usize]) -> Vec<Vec<usize>> {
    if choices.is_empty() {
        return Vec::new();
    }
    let mut all = vec![Vec::new()];
    for &ways in choices {
        let longer = all.iter().flat_map(|picks: &Vec<usize>| {
            (0..ways).map(move |way| [picks.as_slice(), &[way]].concat())
        });
        all = longer.take(MOST_PICKS).collect();
    }
    all
}

fn prove(
    question: &Question<'_>,
    how: &Options<'_>,
    made: &Lockstep,
    nodes: Nodes,
    is_keeping: bool,
) -> Report {
    let mut program = made.program.clone();
    if let Some(threads) = how.threads.filter(|_| !how.collapse) {
        // A role has one thread.
        for template in &mut program.templates {
            if template.count == Count::Any {
                template.count = Count::Fixed(threads as u32);
            }
        }
    }
    let options = palisade_verify::Options {
        model: Model::Sc,
        falsify: true,
        max_rounds: match nodes {
            Nodes::Any if is_keeping => KEPT_ROUNDS,
            Nodes::Any => ROUNDS,
            Nodes::Counted => COUNTED_ROUNDS,
        },
        max_states: if is_keeping { KEPT_STATES } else { STATES },
        deadline: question.bounds.deadline,
        cancel: question.bounds.cancel.clone().unwrap_or_default(),
        progress: question.progress,
        ..palisade_verify::Options::default()
    };
    verify(&program, &options)
}

fn proved(program: &Program, report: &Report) -> Proved {
    let stats = &report.stats;
    let mut notes = vec![format!(
        "in lockstep with the specification: {} abstract states, {} predicates, the invariant was \
         checked",
        stats.states, stats.predicates
    )];
    let mut also = vec!["no null dereference, no lock given back that is not held"];
    also.extend(
        program
            .may_fail()
            .then_some("no assertion that fails, no index out of range"),
    );
    if !program.nevers.is_empty() {
        also.push("no `never`");
    }
    notes.push(format!("also proved: {}", also.join(", ")));
    if program.specification == Specification::Nothing {
        notes[0] = notes[0].replace("in lockstep with the specification: ", "");
    }
    Proved {
        notes,
        certified: report.certified,
        certificate: None,
    }
}
