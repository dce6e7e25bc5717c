//! `palisade fmt`: formats programs in place, or checks that they are formatted.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use palisade_frontend::pal;
use palisade_report::{Complaint, Document, Outcome};

use crate::CommandResult;
use crate::args::FmtArgs;
use crate::context::{Context, complain};
use crate::input;

/// What became of one file.
enum Formatted {
    /// It was, and stays, as it should be.
    Unchanged,
    /// It is not formatted (`--check`), or was and has been changed.
    Different,
    /// The text to print (`--stdout`, or standard input).
    Text(String),
    /// It is no program; the errors have been shown to people.
    Refused(Vec<Complaint>),
}

pub(super) fn run(args: &FmtArgs, context: &Context) -> CommandResult {
    let mut text = String::new();
    let mut different = Vec::new();
    let mut refused = Vec::new();
    for file in &args.files {
        match format_file(args, context, file)? {
            Formatted::Unchanged => {}
            Formatted::Different => different.push(file.display().to_string()),
            Formatted::Text(formatted) => text.push_str(&formatted),
            Formatted::Refused(complaints) => refused.extend(complaints),
        }
    }
    for name in &different {
        let done = if args.check {
            "is not formatted"
        } else {
            "formatted"
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}: {done}");
    }
    let outcome = if !refused.is_empty() {
        Outcome::BadInput
    } else if args.check && !different.is_empty() {
        Outcome::Violated
    } else {
        Outcome::Done
    };
    let document = Document {
        text: Some(text.clone()),
        diagnostics: refused,
        ..context.document()
    };
    context.print(&text, &document);
    Ok(outcome)
}

fn format_file(args: &FmtArgs, context: &Context, file: &Path) -> Result<Formatted> {
    let source = input::read(file)?;
    let formatted = match pal::format(source.text()) {
        Ok(formatted) => formatted,
        Err(mut diagnostics) => {
            // The formatter sees text only; the file's name is ours to add.
            diagnostics.source = source;
            complain(&diagnostics.render(context.coloured_errors));
            let complaints = input::complaints(&diagnostics.source, &diagnostics.items);
            return Ok(Formatted::Refused(complaints));
        }
    };
    let is_stdin = file == Path::new("-");
    if args.stdout || (is_stdin && !args.check) {
        return Ok(Formatted::Text(formatted));
    }
    if formatted == source.text() {
        return Ok(Formatted::Unchanged);
    }
    if !args.check {
        fs::write(file, formatted).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(Formatted::Different)
}
