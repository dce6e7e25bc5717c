//! `palisade fmt`: formats programs in place, or checks that they are formatted.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use palisade_frontend::pal;
use palisade_report::{Document, Outcome};

use crate::CommandResult;
use crate::args::FmtArgs;
use crate::context::Context;
use crate::input;

/// What became of one file.
enum Formatted {
    /// It was, and stays, as it should be.
    Unchanged,
    /// It is not formatted (`--check`), or was and has been changed.
    Different,
    /// The text to print (`--stdout`, or standard input).
    Text(String),
    /// It cannot be read; the errors have been printed.
    Refused,
}

pub(super) fn run(args: &FmtArgs, context: &Context) -> CommandResult {
    let mut text = String::new();
    let mut different = Vec::new();
    let mut is_refused = false;
    for file in &args.files {
        match format_file(args, context, file)? {
            Formatted::Unchanged => {}
            Formatted::Different => different.push(file.display().to_string()),
            Formatted::Text(formatted) => text.push_str(&formatted),
            Formatted::Refused => is_refused = true,
        }
    }
    for name in &different {
        let done = if args.check { "is not formatted" } else { "formatted" };
        text.push_str(&format!("{name}: {done}\n"));
    }
    if is_refused {
        return Ok(Outcome::BadInput);
    }
    let document = Document {
        text: Some(text.clone()),
        ..context.document()
    };
    context.print(&text, &document);
    Ok(if args.check && !different.is_empty() {
        Outcome::Violated
    } else {
        Outcome::Done
    })
}

fn format_file(args: &FmtArgs, context: &Context, file: &Path) -> Result<Formatted> {
    let source = input::read(file)?;
    let formatted = match pal::format(source.text()) {
        Ok(formatted) => formatted,
        Err(mut diagnostics) => {
            // The formatter sees text only; the file's name is ours to add.
            diagnostics.source = source;
            input::refuse(context, &diagnostics);
            return Ok(Formatted::Refused);
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
        fs::write(file, formatted)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(Formatted::Different)
}
