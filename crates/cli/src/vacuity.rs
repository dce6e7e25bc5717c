//! *Vacuity* in what the user sees: a warning for everything that no run gets to, and the run
//! to each `reach`.

use std::fmt::Write;

use palisade_frontend::Diagnostic;
use palisade_program::{Program, Span, Vacuous, Violation};
use palisade_report::Complaint;

use crate::args::TraceArg;
use crate::context::Context;
use crate::input;
use crate::shown::shown_trace;

/// Prints the warnings, and returns them for the document. `states` says how many were searched
/// if these are not all.
pub(crate) fn warn(
    context: &Context,
    program: &Program,
    unreached: &[(Span, Vacuous)],
    states: Option<u64>,
) -> Vec<Complaint> {
    let warning = |(span, what): &(Span, Vacuous)| {
        let how = match states {
            None => "in no run".to_owned(),
            Some(n) => format!("not in the {n} states that were searched; there are more"),
        };
        Diagnostic::warning(*span, what.to_string())
            .label(how)
            .help("what is never reached is never wrong: the verdict says nothing about it")
    };
    let warnings: Vec<Diagnostic> = unreached.iter().map(warning).collect();
    if !warnings.is_empty() {
        input::warn(context, &program.source, &warnings);
    }
    input::complaints(&program.source, &warnings)
}

/// The runs to what a program says must be reached.
pub(crate) fn reached(
    context: &Context,
    program: &Program,
    runs: &[Violation],
    asked: Option<TraceArg>,
) -> String {
    let mut text = String::new();
    for run in runs {
        // Writing to a string does not fail.
        let _ = writeln!(text, "reached: {}", condition(program, run));
        text.push_str(&shown_trace(context, program, &run.trace, asked));
    }
    text
}

/// What a run reaches, as written.
pub(crate) fn condition<'p>(program: &'p Program, run: &Violation) -> &'p str {
    let text = program.source.slice(run.span);
    let text = text.strip_prefix("reach").unwrap_or(text);
    text.trim_end_matches(';').trim()
}
