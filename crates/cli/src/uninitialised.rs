//! *Uninitialised memory* in what the user sees: a warning for each variable that is read
//! before anything was written to it, and a comment in certificates, which are about the
//! program in which these variables start with any value.

use palisade_frontend::Diagnostic;
use palisade_program::{Chosen, Program, Span};
use palisade_report::Complaint;

use crate::context::Context;
use crate::input;

/// How the comment begins; a name follows.
const COMMENT: &str = "# uninitialised ";

/// Prints the warnings, and returns them for the document.
pub(crate) fn warn(context: &Context, program: &Program, chosen: &Chosen) -> Vec<Complaint> {
    let warning = |(name, span): (&String, &Span)| {
        let declared = program.globals.iter().find(|g| g.name == *name);
        let made = declared.map_or_else(String::new, |g| {
            let (start, source) = (g.span.start, &program.source);
            let line = source.position(start).line;
            match source.file_at(start) {
                file if file == source.file_at(span.start) => format!(" (line {line})"),
                file => format!(" ({file}:{line})"),
            }
        });
        let message = format!("`{name}`{made} may be read before anything is written to it");
        Diagnostic::warning(*span, message)
            .label("read here")
            .help("it may have any value here; initialise it, or write to it before it is read")
    };
    let warnings: Vec<Diagnostic> = chosen.iter().map(warning).collect();
    if !warnings.is_empty() {
        input::warn(context, &program.source, &warnings);
    }
    input::complaints(&program.source, &warnings)
}

/// What a certificate says about them.
pub(crate) fn comment(chosen: &Chosen) -> String {
    let mut text = String::new();
    for name in chosen.keys() {
        text += COMMENT;
        text += name;
        text.push('\n');
    }
    text
}

/// The variables that a certificate names so.
pub(crate) fn commented(certificate: &str) -> Chosen {
    let names = certificate
        .lines()
        .filter_map(|line| line.strip_prefix(COMMENT));
    names
        .map(|name| (name.trim().to_owned(), Span::default()))
        .collect()
}
