//! `palisade check`: search of a Boolean broadcast program with a given number of
//! threads, which are counted, or with any number.

use std::collections::BTreeMap;
use std::fmt::Write;

use palisade_abstraction::bp::ast;
use palisade_abstraction::bp::resolve::{Resolved, resolve};
use palisade_abstraction::bp::{BpError, parse};
use palisade_checker::broadcast::{Options, Stop, Target};
use palisade_checker::counted::{self, Checker, Run, RunStep};
use palisade_checker::cover::{self, Any};
use palisade_frontend::{Diagnostic, Diagnostics};
use palisade_logic::{Limits, Reason};
use palisade_program::{
    AssertKind, Bound, Broken, Source, Trace, TraceStep, Unknown, Verdict, Violation,
};
use palisade_report::{Document, Ink, Outcome, Stats, columns, verdict};
use palisade_verify::Threads;

use crate::CommandResult;
use crate::args::CheckArgs;
use crate::context::Context;
use crate::input;

/// What a search found.
struct Found {
    run: Result<Option<Box<Run>>, Stop>,
    states: usize,
    /// In words.
    summary: String,
}

pub(super) fn run(args: &CheckArgs, context: &Context) -> CommandResult {
    let source = input::read(&args.file)?;
    let resolved = match parse(source.text()).and_then(|program| resolve(&program)) {
        Ok(resolved) => resolved,
        Err(errors) => {
            let items = errors.into_iter().map(diagnostic).collect();
            return Ok(input::refuse(context, &Diagnostics::new(source, items)));
        }
    };
    let mut threads = resolved.threads.iter();
    let many = threads.any(|t| t.copies == ast::Copies::Any);
    let threads = match args.threads {
        Some(threads) => threads,
        None if many => anyhow::bail!("how many threads? say --threads 2, or --threads any"),
        None => Threads::Exactly(1),
    };
    let heading = Document {
        input: Some(source.name().to_owned()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let options = Options {
        threads: match threads {
            Threads::Exactly(n) => n,
            Threads::Any => 1,
        },
        max_states: args.max_states,
        limits: Limits {
            deadline: context.limits.deadline,
            cancel: context.limits.cancel.clone(),
            ..Limits::default()
        },
    };
    let found = match threads {
        Threads::Exactly(_) => with_number(&resolved, &options),
        Threads::Any => with_any(&resolved, &options),
    };
    let verdict = context
        .limits
        .explain(judge(&resolved, &source, &found.run));
    let mut text = verdict::line(&verdict, &source, context.style);
    if let Verdict::Violated(violation) = &verdict {
        let table = columns::render(&violation.trace, &source, context.style, context.width);
        let steps = violation.trace.steps.len();
        // Writing to a string does not fail.
        let _ = write!(text, "\n{table}\n{steps} steps\n");
    }
    text.push_str(&context.style.paint(Ink::Faint, &found.summary));
    text.push('\n');
    let asked = match threads {
        Threads::Exactly(n) => serde_json::json!(n),
        Threads::Any => serde_json::json!("any"),
    };
    let document = Document {
        // The search itself is the machine here; nothing was replayed.
        replayed: None,
        options: Some(serde_json::json!({ "threads": asked, "max_states": args.max_states })),
        stats: Some(Stats {
            states: Some(found.states as u64),
            ..crate::context::stats()
        }),
        ..heading.with_verdict(&verdict, &source)
    };
    context.print(&text, &document);
    Ok(Outcome::from(&verdict))
}

fn with_number(program: &Resolved, options: &Options) -> Found {
    let mut checker = Checker::new(program, options);
    let run = checker.run().map(|outcome| match outcome {
        counted::Outcome::Safe => None,
        counted::Outcome::Violated(run) => Some(run),
    });
    let states = checker.state_count();
    let running = checker.thread_names().len();
    Found {
        run,
        states,
        summary: format!("{running} threads, {states} states"),
    }
}

fn with_any(program: &Resolved, options: &Options) -> Found {
    let (outcome, effort) = cover::check(program, options);
    let threads = match &outcome {
        Ok(Any::Violated(n, _)) => format!("{n} threads"),
        Ok(Any::Safe) | Err(_) => "any number of threads".to_owned(),
    };
    Found {
        run: outcome.map(|outcome| match outcome {
            Any::Safe => None,
            Any::Violated(_, run) => Some(run),
        }),
        states: effort.pairs,
        summary: format!(
            "{threads}, {} pairs of shared and local state, a basis of {}",
            effort.pairs, effort.basis
        ),
    }
}

fn diagnostic(error: BpError) -> Diagnostic {
    Diagnostic::error(error.span, error.message).help(error.help)
}

fn judge(program: &Resolved, source: &Source, found: &Result<Option<Box<Run>>, Stop>) -> Verdict {
    let trace = match found {
        Ok(None) => return Verdict::Holds,
        Ok(Some(run)) => run,
        Err(stop) => return Verdict::Unknown(unknown(stop)),
    };
    let (broken, span) = match trace.target {
        Target::Assert(span) => (Broken::Assert(AssertKind::User), span),
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
        trace: shown(source, trace),
    }))
}

fn unknown(stop: &Stop) -> Unknown {
    match stop {
        Stop::Limit(Reason::Cancelled) => Unknown::Interrupted,
        Stop::Limit(Reason::Deadline) => Unknown::Time,
        Stop::Limit(reason) => Unknown::GaveUp(reason.to_string()),
        Stop::States(states) => Unknown::Bound(vec![Bound::BooleanStates(*states)]),
        Stop::Choices(bits) => Unknown::GaveUp(format!(
            "a step chooses {bits} values freely: too many successors"
        )),
    }
}

/// The trace as all engines show theirs: Booleans are 0 and 1.
fn shown(source: &Source, run: &Run) -> Trace {
    let values = |list: &[(String, bool)]| -> BTreeMap<String, i64> {
        let number = |(n, v): &(String, bool)| (n.clone(), i64::from(*v));
        list.iter().map(number).collect()
    };
    let step = |step: &RunStep| TraceStep {
        thread: step.thread,
        by_memory: false,
        span: step.span,
        text: source.slice(step.span).to_owned(),
        memory: values(&step.shared),
        locals: values(&step.locals),
        buffers: BTreeMap::new(),
    };
    Trace {
        threads: run.threads.clone(),
        initial: values(&run.start),
        steps: run.steps.iter().map(step).collect(),
    }
}
