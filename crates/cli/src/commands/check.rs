//! `palisade check`: explicit search of a Boolean broadcast program with a given
//! number of threads.

use std::collections::BTreeMap;
use std::fmt::Write;

use palisade_abstraction::bp::ast::Copies;
use palisade_abstraction::bp::resolve::{Resolved, resolve};
use palisade_abstraction::bp::{BpError, parse};
use palisade_checker::broadcast::{self, Checker, Outcome as Found, State, Stop, Target};
use palisade_frontend::{Diagnostic, Diagnostics};
use palisade_logic::{Limits, Reason};
use palisade_program::{Broken, Source, Trace, TraceStep, Unknown, Verdict, Violation};
use palisade_report::{Document, Ink, Outcome, Stats, columns, verdict};

use crate::CommandResult;
use crate::args::CheckArgs;
use crate::context::Context;
use crate::input;

pub(super) fn run(args: &CheckArgs, context: &Context) -> CommandResult {
    let source = input::read(&args.file)?;
    let resolved = match parse(source.text()).and_then(|program| resolve(&program)) {
        Ok(resolved) => resolved,
        Err(errors) => {
            let items = errors.into_iter().map(diagnostic).collect();
            return Ok(input::refuse(context, &Diagnostics::new(source, items)));
        }
    };
    let many = resolved.threads.iter().any(|t| t.copies == Copies::Any);
    let threads = match args.threads {
        Some(threads) => threads,
        None if many => anyhow::bail!("how many threads? say --threads 2"),
        None => 1,
    };
    let heading = Document {
        input: Some(source.name().to_owned()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let options = broadcast::Options {
        threads,
        max_states: args.max_states,
        limits: Limits {
            deadline: context.limits.deadline,
            cancel: context.limits.cancel.clone(),
            ..Limits::default()
        },
    };
    let mut checker = Checker::new(&resolved, &options);
    let found = checker.run();
    let verdict = context
        .limits
        .explain(judge(&checker, &resolved, &source, found));
    let states = checker.state_count();
    let mut text = verdict::line(&verdict, &source, context.style);
    if let Verdict::Violated(violation) = &verdict {
        let table = columns::render(&violation.trace, &source, context.style, context.width);
        let steps = violation.trace.steps.len();
        // Writing to a string does not fail.
        let _ = write!(text, "\n{table}\n{steps} steps\n");
    }
    let running = checker.thread_names().len();
    let summary = format!("{running} threads, {states} states");
    text.push_str(&context.style.paint(Ink::Faint, &summary));
    text.push('\n');
    let document = Document {
        // The search itself is the machine here; nothing was replayed.
        replayed: None,
        options: Some(serde_json::json!({ "threads": threads, "max_states": args.max_states })),
        stats: Some(Stats {
            states: Some(states as u64),
            ..crate::context::stats()
        }),
        ..heading.with_verdict(&verdict, &source)
    };
    context.print(&text, &document);
    Ok(Outcome::from(&verdict))
}

fn diagnostic(error: BpError) -> Diagnostic {
    Diagnostic::error(error.span, error.message).help(error.help)
}

fn judge(
    checker: &Checker<'_>,
    program: &Resolved,
    source: &Source,
    found: Result<Found, Stop>,
) -> Verdict {
    let trace = match found {
        Ok(Found::Safe) => return Verdict::Holds,
        Ok(Found::Violated(trace)) => trace,
        Err(stop) => return Verdict::Unknown(unknown(&stop)),
    };
    let (broken, span) = match trace.target {
        Target::Assert(span) => (Broken::Assert, span),
        Target::Never(number) => (Broken::Property(number), program.never[number].1),
    };
    let message = match trace.target {
        Target::Assert(_) => format!("assertion failed: {}", source.slice(span)),
        Target::Never(_) => format!("never {}", source.slice(span)),
    };
    Verdict::Violated(Box::new(Violation {
        broken,
        span,
        message,
        trace: shown(checker, source, &trace),
    }))
}

fn unknown(stop: &Stop) -> Unknown {
    match stop {
        Stop::Limit(Reason::Cancelled) => Unknown::Interrupted,
        Stop::Limit(Reason::Deadline) => Unknown::Time,
        Stop::Limit(reason) => Unknown::GaveUp(reason.to_string()),
        Stop::States(states) => Unknown::Bound(vec![format!("{states} states")]),
        Stop::Choices(bits) => Unknown::GaveUp(format!(
            "a step chooses {bits} values freely: too many successors"
        )),
    }
}

/// The trace as all engines show theirs: Booleans are 0 and 1.
fn shown(checker: &Checker<'_>, source: &Source, trace: &broadcast::Trace) -> Trace {
    let values = |list: Vec<(String, bool)>| -> BTreeMap<String, i64> {
        list.into_iter().map(|(n, v)| (n, i64::from(v))).collect()
    };
    let step = |step: &broadcast::TraceStep| {
        let after: &State = &step.after;
        TraceStep {
            thread: step.thread,
            by_memory: false,
            span: step.span,
            text: source.slice(step.span).to_owned(),
            memory: values(checker.shared(after)),
            locals: values(checker.locals(after, step.thread)),
            buffers: BTreeMap::new(),
        }
    };
    Trace {
        threads: checker.thread_names(),
        initial: values(checker.shared(&trace.start)),
        steps: trace.steps.iter().map(step).collect(),
    }
}
