//! The proof side of `palisade linearize` for objects without lists: the object and its
//! specification as one program over integers, which `palisade verify`'s engine proves for any
//! number of threads.

use palisade_linearize::lockstep::{Lockstep, Nodes, translate};
use palisade_linearize::prove::Unsupported;
use palisade_program::heap::{Program, Specification};
use palisade_program::{Count, Model, Unknown, Verdict};
use palisade_report::listing;
use palisade_verify::{Options, Report, verify};

use super::proof::{Attempt, Proved, unsupported};
use crate::args::LinearizeArgs;
use crate::context::Context;
use crate::progress;

/// Rounds of refinement and abstract states of one attempt: what is proved at all is proved with
/// few.
const ROUNDS: usize = 60;
/// Rounds where nodes are counted: what is proved with a counter is simple, and bugs show early.
const COUNTED_ROUNDS: usize = 10;
const STATES: usize = 400_000;

/// Ways of resolving the specification's choices that are tried.
const MOST_PICKS: usize = 64;

/// Object and specification as one program, as text.
pub(super) fn text(program: &Program) -> Result<String, String> {
    match translate(program, &[], Nodes::Any) {
        Ok(made) => Ok(listing::render(&made.program)),
        Err(no) => Err(unsupported(program, &no)),
    }
}

/// Tries to prove the program.
pub(super) fn attempt(
    args: &LinearizeArgs,
    context: &Context,
    program: &Program,
) -> Result<Attempt, Unsupported> {
    let (mut report, made) = with_nodes(args, context, program, Nodes::Any)?;
    // A run in which two nodes have one number says nothing of the program.
    if made.has_more_runs
        && !matches!(report.verdict, Verdict::Holds)
        && context.limits.stopped().is_none()
    {
        (report, _) = with_nodes(args, context, program, Nodes::Counted)?;
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
    args: &LinearizeArgs,
    context: &Context,
    program: &Program,
    nodes: Nodes,
) -> Result<(Report, Lockstep), Unsupported> {
    let made = translate(program, &[], nodes)?;
    let mut report = prove(args, context, &made, nodes);
    for picks in ways(&made.choices) {
        if matches!(report.verdict, Verdict::Holds) || context.limits.stopped().is_some() {
            break;
        }
        let picked = prove(args, context, &translate(program, &picks, nodes)?, nodes);
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

fn prove(args: &LinearizeArgs, context: &Context, made: &Lockstep, nodes: Nodes) -> Report {
    let mut program = made.program.clone();
    if let Some(threads) = args.threads.filter(|_| args.no_collapse) {
        for template in &mut program.templates {
            template.count = Count::Fixed(threads);
        }
    }
    let options = Options {
        model: Model::Sc,
        falsify: true,
        max_rounds: match nodes {
            Nodes::Any => ROUNDS,
            Nodes::Counted => COUNTED_ROUNDS,
        },
        max_states: STATES,
        deadline: context.limits.deadline,
        cancel: context.limits.cancel.clone(),
        progress: Some(|at| {
            progress::detail(format!(
                "round {}, {} predicates, {} states",
                at.round, at.predicates, at.states
            ));
        }),
        ..Options::default()
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
    }
}
