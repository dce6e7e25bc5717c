//! `palisade litmus`: runs litmus tests and prints their final states in herd's
//! form. Tests that cannot be read do not keep the others from running; they
//! make the exit code 2. Several run at the same time (`-j`); what is printed is in the order of the files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use palisade::litmus::{self, Limits, LitmusResult, parse_ordered};
use palisade_program::Model;
use palisade_report::{Complaint, Document, Outcome, Severity};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CommandResult;
use crate::args::LitmusArgs;
use crate::cluster;
use crate::context::{Context, complain};
use crate::input;
use crate::limits;

/// What ran, and what could not be read.
#[derive(Default, Serialize, Deserialize)]
struct Results {
    /// For the document.
    tests: Vec<Value>,
    /// Whether one has no answer.
    unknown: bool,
    complaints: Vec<Complaint>,
    text: String,
    /// For standard error.
    errors: String,
    explored: u64,
}

impl Results {
    fn add(&mut self, other: Self) {
        self.tests.extend(other.tests);
        self.unknown |= other.unknown;
        self.complaints.extend(other.complaints);
        self.text.push_str(&other.text);
        self.errors.push_str(&other.errors);
        self.explored += other.explored;
    }
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
    let files = files(&args.files)?;
    let (limits, coloured) = (context.limits.clone(), context.coloured_errors);
    let one = move |path: &PathBuf| run_file(path, model, &limits, coloured);
    let mut results = Results::default();
    for found in cluster::done(&args.cluster, &files, files.clone(), args.jobs, one)? {
        results.add(found);
    }
    if !results.errors.is_empty() {
        complain(&results.errors);
    }
    let outcome = match (results.complaints.is_empty(), results.unknown) {
        (false, _) => Outcome::BadInput,
        (true, false) => Outcome::Holds,
        (true, true) => Outcome::Unknown,
    };
    let document = Document {
        input: match args.files.as_slice() {
            [one] => Some(one.display().to_string()),
            _ => None,
        },
        tests: Some(results.tests),
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

fn run_file(path: &Path, model: Model, limits: &limits::Limits, coloured: bool) -> Results {
    let mut results = Results::default();
    let source = match input::read(path) {
        Ok(source) => source,
        Err(error) => {
            results.errors = format!("error: {error:#}\n");
            results.complaints.push(Complaint {
                severity: Severity::Error,
                message: format!("{error:#}"),
                file: Some(path.display().to_string()),
                line: None,
                column: None,
                help: None,
            });
            return results;
        }
    };
    match parse_ordered(source, model.orders()) {
        Ok(test) => {
            let own = Limits {
                deadline: limits.deadline,
                memory: limits.memory,
                cancel: limits.cancel.clone(),
            };
            let mut report = litmus::run(&test, model, &own);
            if let (LitmusResult::Unknown(why), Some(stopped)) =
                (&mut report.result, limits.stopped())
            {
                *why = stopped.to_string();
            }
            results.explored = report.explored;
            results.text = report.render();
            results.tests.push(report.value());
            results.unknown = matches!(report.result, LitmusResult::Unknown(_));
        }
        Err(diagnostics) => {
            results.errors = diagnostics.render(coloured);
            results.complaints = input::complaints(&diagnostics.source, &diagnostics.items);
        }
    }
    results
}
