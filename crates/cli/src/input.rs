//! *Input*: reading program files, and what to say when they are wrong.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context as _, Result};
use palisade_frontend::{Diagnostic, Diagnostics, Severity, c, pal, rust};
use palisade_program::{Model, Program, Source, Unknown, Verdict};
use palisade_report::{Complaint, Document, Outcome, verdict};

use crate::context::{Context, Told, complain};

/// A file's text with its name as given; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Source> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    if name == "-" {
        io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
    } else {
        bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    }
    let name = if name == "-" { "<stdin>".into() } else { name };
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("{name} is no UTF-8 text: byte {at} cannot be read")
    })?;
    Ok(Source::new(name, text))
}

/// Refuses a program with processes where stores are buffered: put, get and flush
/// mean nothing there. And one without processes under RMA, where nothing would be
/// different from SC.
pub(crate) fn refuse_processes(context: &Context, program: &Program, model: Model) -> Result<()> {
    let process = program.templates.iter().find(|t| t.is_process);
    let item = match (model, process) {
        (Model::Tso | Model::Pso | Model::Rc11, Some(process)) => {
            let what = format!("a program with processes has no meaning under {model}");
            Diagnostic::error(process.span, what).help("use --model rma, or --model sc")
        }
        (Model::Rma, None) => {
            let Some(first) = program.templates.first() else {
                return Ok(());
            };
            let span = first.span;
            Diagnostic::error(span, "a program without processes has no remote memory")
                .help("use --model sc, tso or pso; remote operations need `process name { ... }`")
        }
        (Model::Sc | Model::Tso | Model::Pso | Model::Rma | Model::Rc11, _) => return Ok(()),
    };
    let diagnostics = Diagnostics::new(program.source.clone(), vec![item]);
    Err(refused(context, &diagnostics))
}

/// Errors that are shown to people at most; the document has all of them.
const MAX_SHOWN: usize = 20;

/// Prints what is wrong with an input, to people and in the document; or that a limit has ended
/// the reading of it.
pub(crate) fn refuse(context: &Context, diagnostics: &Diagnostics) -> Outcome {
    if diagnostics.is_stopped() {
        let verdict = Verdict::Unknown(Unknown::Interrupted);
        let verdict = context.limits.explain(verdict);
        let source = &diagnostics.source;
        let text = verdict::line(&verdict, source, context.style);
        let document = reading(context, source.name()).with_verdict(&verdict, source);
        context.print(&text, &document);
        return Outcome::from(&verdict);
    }
    let shown = &diagnostics.items[..diagnostics.items.len().min(MAX_SHOWN)];
    let source = &diagnostics.source;
    complain(&palisade_frontend::diagnostic::render(
        source,
        shown,
        context.coloured_errors,
    ));
    if let Some(more @ 1..) = diagnostics.items.len().checked_sub(MAX_SHOWN) {
        complain(&format!("\nand {more} more errors\n"));
    }
    let document = Document {
        diagnostics: complaints(&diagnostics.source, &diagnostics.items),
        ..reading(context, diagnostics.source.name())
    };
    context.print("", &document);
    Outcome::BadInput
}

/// As [`refuse`], as an error.
pub(crate) fn refused(context: &Context, diagnostics: &Diagnostics) -> anyhow::Error {
    Told(refuse(context, diagnostics)).into()
}

/// The document of a program that is being read.
fn reading(context: &Context, name: &str) -> Document {
    Document {
        input: Some(name.to_owned()),
        ..context.document()
    }
}

/// Says that reading begins: limits are for it too.
pub(crate) fn begin(context: &Context, source: &Source) {
    context.prepare_last_words(reading(context, source.name()));
}

/// Prints warnings to standard error.
pub(crate) fn warn(context: &Context, source: &Source, warnings: &[Diagnostic]) {
    let text = palisade_frontend::diagnostic::render(source, warnings, context.coloured_errors);
    complain(&text);
}

/// Diagnostics for the document.
pub(crate) fn complaints(source: &Source, items: &[Diagnostic]) -> Vec<Complaint> {
    items
        .iter()
        .map(|item| {
            let place = source.position(item.span.start);
            Complaint {
                severity: match item.severity {
                    Severity::Error => palisade_report::Severity::Error,
                    Severity::Warning => palisade_report::Severity::Warning,
                    Severity::Note => palisade_report::Severity::Note,
                },
                message: item.message.clone(),
                file: Some(source.file_at(item.span.start).to_owned()),
                line: Some(place.line),
                column: Some(place.column),
                help: item.help.clone(),
            }
        })
        .collect()
}

/// Reads and parses a program.
pub(crate) fn load(context: &Context, path: &Path) -> Result<Program> {
    let stop = context.limits.stop();
    let options = c::Options {
        stop,
        ..c::Options::default()
    };
    load_with(context, path, &options)
}

/// As [`load`], for a model.
pub(crate) fn load_for(
    context: &Context,
    path: &Path,
    model: Model,
    rust: &rust::Options,
) -> Result<Program> {
    let options = c::Options {
        orders: model.orders(),
        rust: rust.clone(),
        stop: context.limits.stop(),
        ..c::Options::default()
    };
    load_with(context, path, &options)
}

/// As [`load`], with options for C.
pub(crate) fn load_with(context: &Context, path: &Path, options: &c::Options) -> Result<Program> {
    let source = read(path)?;
    begin(context, &source);
    let parsed = if path == Path::new("-") {
        pal::parse_ordered(source, options.orders)
    } else {
        palisade_frontend::load_with(path, source.text(), options)
    };
    let parsed = parsed.map_err(|diagnostics| refused(context, &diagnostics))?;
    warn(context, &parsed.program.source, &parsed.warnings);
    Ok(parsed.program)
}
