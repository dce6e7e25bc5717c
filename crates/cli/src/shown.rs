//! Traces as commands show them: the columns, then the length of the run.

use palisade_program::{Program, Trace, Verdict, Violation};
use palisade_report::columns::{self, Detail, View};

use palisade_report::trace_value;
use serde_json::{Value, json};

use crate::args::TraceArg;
use crate::context::Context;
use crate::vacuity::condition;

/// A trace with its number of steps and context switches.
pub(crate) fn shown_trace(
    context: &Context,
    program: &Program,
    trace: &Trace,
    asked: Option<TraceArg>,
) -> String {
    let detail = match asked {
        Some(TraceArg::Events) => Detail::Events,
        Some(TraceArg::Full) => Detail::Full,
        None => Detail::usual(&program.names),
    };
    let view = View {
        source: &program.source,
        names: &program.names,
        detail,
        style: context.style,
        width: context.width,
    };
    let table = view.render(trace);
    let steps = counted(trace.steps.len(), "step", "steps");
    let switches = columns::context_switches(trace);
    let switches = counted(switches, "context switch", "context switches");
    let ending = view.ending(trace).map(|line| format!("{line}\n"));
    let ending = ending.unwrap_or_default();
    format!("\n{table}\n{ending}{steps}, {switches}\n")
}

/// What is said of a deadlock that does not count.
pub(crate) fn deadlock(program: &Program, deadlock: &Violation) -> String {
    let line = program.source.position(deadlock.span.start).line;
    let message = deadlock.message.trim_start_matches("deadlock: ");
    format!(
        "the program can deadlock at line {line}: {message} (--check deadlock makes this a violation)"
    )
}

/// The runs to what must be reached, for the document.
pub(crate) fn reached(program: &Program, runs: &[Violation]) -> Option<Vec<Value>> {
    let all = runs.iter().map(|run| {
        let trace = trace_value(&run.trace, &program.source);
        json!({ "condition": condition(program, run), "trace": trace })
    });
    (!runs.is_empty()).then(|| all.collect())
}

/// The run that violates, if one does.
pub(crate) fn trace_of(verdict: &Verdict) -> Option<&Trace> {
    match verdict {
        Verdict::Violated(violation) => Some(&violation.trace),
        Verdict::Holds | Verdict::Unknown(_) => None,
    }
}

/// A number with its noun.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
