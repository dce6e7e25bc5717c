//! `palisade litmus`: runs litmus tests and prints their final states in herd's
//! form. Tests that cannot be read do not keep the others from running; they
//! make the exit code 2.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use palisade_frontend::litmus::observe::Slot;
use palisade_frontend::litmus::{LitmusTest, parse};
use palisade_machine::{Exploration, Final, Options, explore};
use palisade_program::{Model, Program, Verdict};
use palisade_report::litmus::{LitmusReport, LitmusResult};
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
    let file = source.name().to_owned();
    match parse(source) {
        Ok(test) => {
            let report = run_test(file, &test, model, context, &mut results.explored);
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

fn run_test(
    file: String,
    test: &LitmusTest,
    model: Model,
    context: &Context,
    explored: &mut u64,
) -> LitmusReport {
    let options = options(&test.program, model, context);
    let (result, states) = match explore(&test.program, &options) {
        Ok(found) => {
            let states = found.stats.states;
            (judge(test, found, context), states)
        }
        Err(unsupported) => (LitmusResult::Unknown(unsupported.message), 0),
    };
    *explored += states;
    LitmusReport {
        file,
        name: test.name.clone(),
        kind: test.condition.quantifier.kind(),
        condition: test.question(),
        result,
        explored: states,
    }
}

/// States to store at most for a test with loops, which may count for ever.
const MAX_STATES: u64 = 1_000_000;

/// Without loops every run ends and the number of stores bounds the buffers;
/// with loops there are bounds, and touching one makes the test unknown.
fn options(program: &Program, model: Model, context: &Context) -> Options {
    let defaults = Options::new(model);
    let loops = program.templates.iter().any(|t| t.cfg.has_cycle());
    Options {
        buffer: if loops { defaults.buffer } else { None },
        max_states: loops.then_some(MAX_STATES),
        max_memory: context.limits.memory,
        deadline: context.limits.deadline,
        cancel: context.limits.cancel.clone(),
        collect_finals: true,
        ..defaults
    }
}

fn judge(test: &LitmusTest, found: Exploration, context: &Context) -> LitmusResult {
    match context.limits.explain(found.verdict) {
        Verdict::Holds => {}
        Verdict::Unknown(why) => return LitmusResult::Unknown(why.to_string()),
        // The only assertions in a litmus test's program are the front end's own.
        Verdict::Violated(violation) => {
            let place = test.program.source.position(violation.span.start);
            return LitmusResult::Unknown(format!("{} at {place}", violation.message));
        }
    }
    let outcome = test.judge(&found.finals, |state, slot| value(test, state, slot));
    LitmusResult::Complete {
        states: outcome.states,
        answer: outcome.answer.word(),
        observation: outcome.observation.word(),
        positive: outcome.positive,
        negative: outcome.negative,
    }
}

/// A slot's value. Every template of a litmus test runs once, so threads and
/// templates have the same numbers.
fn value(test: &LitmusTest, state: &Final, slot: &Slot) -> i64 {
    match slot {
        Slot::Local {
            template, local, ..
        } => state.locals[template.index()][local.index()],
        Slot::Cell { var, index } => state.cells[test.program.cell(*var, *index).index()],
    }
}
