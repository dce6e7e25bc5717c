//! Traces as commands show them: the columns, then the length of the run.

use palisade_program::{Program, Trace, Violation};
use palisade_report::columns;

use crate::context::Context;

/// A trace with its number of steps and context switches.
pub(crate) fn shown_trace(context: &Context, program: &Program, trace: &Trace) -> String {
    let table = columns::render(trace, &program.source, context.style, context.width);
    let steps = counted(trace.steps.len(), "step", "steps");
    let switches = columns::context_switches(trace);
    let switches = counted(switches, "context switch", "context switches");
    format!("\n{table}\n{steps}, {switches}\n")
}

/// What is said of a deadlock that does not count.
pub(crate) fn deadlock(program: &Program, deadlock: &Violation) -> String {
    let line = program.source.position(deadlock.span.start).line;
    let message = deadlock.message.trim_start_matches("deadlock: ");
    format!(
        "the program can deadlock at line {line}: {message} (--check deadlock makes this a violation)"
    )
}

/// A number with its noun.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
