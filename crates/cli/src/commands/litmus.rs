//! `palisade litmus`: runs litmus tests and prints their final states in herd's
//! form. Tests that cannot be read do not keep the others from running; they
//! make the exit code 2.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use palisade::litmus::{self, Limits, LitmusReport, LitmusResult, parse_ordered};
use palisade_program::Model;
use palisade_report::{Complaint, Document, Outcome};

use crate::CommandResult;
use crate::args::LitmusArgs;
use crate::context::{Context, complain};
use crate::input;

/// What ran, and what could not be read.
#[derive(Default)]
struct Results {
    reports: Vec<LitmusReport>,
    complaints: Vec<Complaint>,
    text: String,
    explored: u64,
}

pub(super) fn run(args: &LitmusArgs, context: &Context) -> CommandResult {
    let model: Model = args.model.into();
    if model == Model::Rma {
        anyhow::bail!("litmus tests have no remote memory\n  help: choose --model sc, tso or pso");
    }
    let heading = Document {
        model: Some(model.to_string()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let mut results = Results::default();
    for path in files(&args.files)? {
        run_file(&path, model, context, &mut results);
    }
    let unknown = results.reports.iter();
    let unknown = unknown.filter(|r| matches!(r.result, LitmusResult::Unknown(_)));
    let outcome = match (results.complaints.is_empty(), unknown.count()) {
        (false, _) => Outcome::BadInput,
        (true, 0) => Outcome::Holds,
        (true, _) => Outcome::Unknown,
    };
    let document = Document {
        input: match args.files.as_slice() {
            [one] => Some(one.display().to_string()),
            _ => None,
        },
        tests: Some(results.reports.iter().map(LitmusReport::value).collect()),
        diagnostics: results.complaints,
        stats: Some(palisade_report::Stats {
            states: Some(results.explored),
            ..crate::context::stats()
        }),
        ..heading
    };
    context.print(&results.text, &document);
    Ok(outcome)
}

/// The files to run: folders stand for the tests in them, sorted by name.
fn files(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in given {
        if path.is_dir() {
            tests_below(path, &mut all)?;
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

fn tests_below(folder: &Path, all: &mut Vec<PathBuf>) -> Result<()> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut entries = Vec::new();
    for entry in folder.read_dir().with_context(cannot)? {
        entries.push(entry.with_context(cannot)?.path());
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() && !entry.is_symlink() {
            tests_below(&entry, all)?;
        } else if entry.extension().is_some_and(|e| e == "litmus") {
            all.push(entry);
        }
    }
    Ok(())
}

fn run_file(path: &Path, model: Model, context: &Context, results: &mut Results) {
    let source = match input::read(path) {
        Ok(source) => source,
        Err(error) => {
            complain(&format!("error: {error:#}\n"));
            results.complaints.push(Complaint {
                severity: "error",
                message: format!("{error:#}"),
                file: Some(path.display().to_string()),
                line: None,
                column: None,
                help: None,
            });
            return;
        }
    };
    match parse_ordered(source, model.orders()) {
        Ok(test) => {
            let limits = Limits {
                deadline: context.limits.deadline,
                memory: context.limits.memory,
                cancel: context.limits.cancel.clone(),
            };
            let mut report = litmus::run(&test, model, &limits);
            if let (LitmusResult::Unknown(why), Some(stopped)) =
                (&mut report.result, context.limits.stopped())
            {
                *why = stopped.to_string();
            }
            results.explored += report.explored;
            results.text.push_str(&report.render());
            results.reports.push(report);
        }
        Err(diagnostics) => {
            complain(&diagnostics.render(context.coloured_errors));
            let complaints = input::complaints(&diagnostics.source, &diagnostics.items);
            results.complaints.extend(complaints);
        }
    }
}
