//! `palisade litmus`: runs litmus tests and prints their final states in herd's
//! form. Tests that cannot be read do not keep the others from running; they
//! make the exit code 2. Several run at the same time (`-j`); what is printed is in the order of the files.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use palisade::litmus::{self, Limits, LitmusReport, LitmusResult, parse_ordered};
use palisade_program::Model;
use palisade_report::{Complaint, Document, Outcome};

use crate::CommandResult;
use crate::args::LitmusArgs;
use crate::context::{Context, complain};
use crate::input;
use crate::limits;

use super::test::{available, lock};

/// What ran, and what could not be read.
#[derive(Default)]
struct Results {
    reports: Vec<LitmusReport>,
    complaints: Vec<Complaint>,
    text: String,
    /// For standard error.
    errors: String,
    explored: u64,
}

impl Results {
    fn add(&mut self, other: Self) {
        self.reports.extend(other.reports);
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
    let (limits, coloured) = (&context.limits, context.coloured_errors);
    let one = |path: &PathBuf| run_file(path, model, limits, coloured);
    let mut results = Results::default();
    for found in in_order(&files, args.jobs.unwrap_or_else(available), one) {
        results.add(found);
    }
    if !results.errors.is_empty() {
        complain(&results.errors);
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

/// What `one` gives for each file, in the order of the files, some at a time.
fn in_order<T: Send>(files: &[PathBuf], jobs: usize, one: impl Fn(&PathBuf) -> T + Sync) -> Vec<T> {
    let queue = Mutex::new(files.iter().enumerate());
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = lock(&queue).next();
            let Some((number, file)) = next else {
                return;
            };
            let found = one(file);
            lock(&done).push((number, found));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(files.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, found)| found).collect()
}

fn run_file(path: &Path, model: Model, limits: &limits::Limits, coloured: bool) -> Results {
    let mut results = Results::default();
    let source = match input::read(path) {
        Ok(source) => source,
        Err(error) => {
            results.errors = format!("error: {error:#}\n");
            results.complaints.push(Complaint {
                severity: "error",
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
            results.reports.push(report);
        }
        Err(diagnostics) => {
            results.errors = diagnostics.render(coloured);
            results.complaints = input::complaints(&diagnostics.source, &diagnostics.items);
        }
    }
    results
}
