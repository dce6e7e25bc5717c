//! `palisade bench`: runs a suite of experiments and prints the published figures
//! beside ours. A suite is data (`suites/`): programs, the predicates that a person
//! would give, and the paper's figures. Each row is one search with exactly these
//! predicates (under TSO and PSO: extrapolated) by one strategy.
//!
//! The paper's own methods ask the solver every question, as published; what
//! answers questions without it (difference bounds, memory) is part of `lazy` and
//! `cores`. Both counts are printed.

mod suite;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Instant;

use palisade_program::{Model, Verdict};
use palisade_report::verdict::word;
use palisade_report::{Document, Outcome, Stats};
use palisade_verify::{Buffers, Options, Promote, Report, Sizes, Strategy, check_given};
use serde_json::{Value, json};

use self::suite::{Experiment, experiments};
use crate::CommandResult;
use crate::args::{BenchArgs, StrategyArg};
use crate::context::Context;
use crate::usage;

/// The methods compared under SC, in the order of the rows.
const UNDER_SC: [StrategyArg; 3] = [
    StrategyArg::Enumerate,
    StrategyArg::Cores,
    StrategyArg::Lazy,
];
/// The methods compared under TSO and PSO.
const UNDER_WEAK: [StrategyArg; 3] = [
    StrategyArg::Enumerate,
    StrategyArg::Cubes,
    StrategyArg::Lazy,
];

/// One row of the table.
struct Row {
    name: String,
    model: Model,
    cells: Option<u32>,
    fences: usize,
    strategy: StrategyArg,
    /// None if it was not run because the same with fewer cells took too long.
    report: Option<Report>,
    seconds: f64,
    cpu_seconds: f64,
    memory: u64,
    /// All published rows of the program and the model.
    paper: Vec<Value>,
}

pub(super) fn run(args: &BenchArgs, context: &Context) -> CommandResult {
    let experiments = experiments(args)?;
    let heading = Document {
        model: Some(args.model.to_string()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let mut rows: Vec<Row> = Vec::new();
    let mut too_slow = BTreeSet::new();
    for experiment in &experiments {
        for strategy in methods(args, experiment.model) {
            if context.limits.cancel.load(Ordering::Relaxed) {
                break;
            }
            let key = (experiment.name.clone(), experiment.model, name(strategy));
            if too_slow.contains(&key) {
                rows.push(row(experiment, strategy, None));
                continue;
            }
            let row = measure(args, context, experiment, strategy);
            let timed_out =
                |r: &Report| matches!(r.verdict, Verdict::Unknown(palisade_program::Unknown::Time));
            if row.report.as_ref().is_some_and(timed_out) {
                too_slow.insert(key);
            }
            rows.push(row);
        }
    }
    let document = Document {
        rows: Some(rows.iter().map(value).collect()),
        options: Some(json!({ "row_timeout": args.row_timeout.as_secs_f64() })),
        stats: Some(Stats {
            peak_memory_bytes: rows.iter().map(|row| row.memory).max().unwrap_or(0),
            ..crate::context::stats()
        }),
        ..heading
    };
    context.print(&table::table(&rows), &document);
    // `bench`: 0 when every input was read and run.
    let complete = experiments.is_empty() || !rows.is_empty();
    Ok(if complete {
        Outcome::Done
    } else {
        Outcome::Unknown
    })
}

fn methods(args: &BenchArgs, model: Model) -> Vec<StrategyArg> {
    let usual = match model {
        Model::Sc => UNDER_SC,
        Model::Tso | Model::Pso | Model::Rma => UNDER_WEAK,
    };
    match args.strategy {
        // Under SC there is nothing to extrapolate from.
        Some(StrategyArg::Cubes) if model == Model::Sc => Vec::new(),
        // Seed 004's method; these are the programs of seed 000.
        Some(StrategyArg::Program) => Vec::new(),
        Some(only) => vec![only],
        None => usual.to_vec(),
    }
}

fn row(experiment: &Experiment, strategy: StrategyArg, report: Option<Report>) -> Row {
    Row {
        name: experiment.name.clone(),
        model: experiment.model,
        cells: experiment.cells,
        fences: experiment.fences,
        strategy,
        report,
        seconds: 0.0,
        cpu_seconds: 0.0,
        memory: 0,
        paper: experiment.paper.clone(),
    }
}

fn measure(
    args: &BenchArgs,
    context: &Context,
    experiment: &Experiment,
    strategy: StrategyArg,
) -> Row {
    usage::forget_peak();
    let started = Instant::now();
    let cpu = usage::cpu_seconds();
    let ours = started.checked_add(args.row_timeout);
    let options = Options {
        model: experiment.model,
        strategy: match strategy {
            StrategyArg::Enumerate => Strategy::Enumerate,
            StrategyArg::Cores => Strategy::Cores,
            StrategyArg::Lazy => Strategy::Lazy,
            StrategyArg::Cubes => Strategy::Cubes,
            StrategyArg::Program => Strategy::Program,
        },
        shortcuts: published(strategy).is_none(),
        drop_buffered: experiment.drop_buffered,
        cube_size: experiment.cube_size,
        buffers: Buffers::Bounded(Sizes {
            default: experiment.cells.unwrap_or(1),
            named: BTreeMap::new(),
        }),
        promote: Promote::Never,
        refine: false,
        deadline: ours.into_iter().chain(context.limits.deadline).min(),
        cancel: context.limits.cancel.clone(),
        ..Options::default()
    };
    let report = check_given(&experiment.program, &options);
    Row {
        seconds: started.elapsed().as_secs_f64(),
        cpu_seconds: usage::cpu_seconds() - cpu,
        memory: usage::peak_bytes(),
        ..row(experiment, strategy, Some(report))
    }
}

const fn name(strategy: StrategyArg) -> &'static str {
    match strategy {
        StrategyArg::Enumerate => "enumerate",
        StrategyArg::Cores => "cores",
        StrategyArg::Lazy => "lazy",
        StrategyArg::Cubes => "cubes",
        StrategyArg::Program => "program",
    }
}

/// The paper's word for a method that is the paper's.
const fn published(strategy: StrategyArg) -> Option<&'static str> {
    match strategy {
        StrategyArg::Enumerate => Some("PE"),
        StrategyArg::Cubes => Some("CE"),
        StrategyArg::Cores | StrategyArg::Lazy | StrategyArg::Program => None,
    }
}

/// Solver calls of a row, those of the proof check apart.
fn solver_calls(report: &Report) -> u64 {
    let calls = report.stats.solver_calls.iter();
    calls.filter(|(p, _)| *p != "certify").map(|(_, n)| n).sum()
}

fn certificate_calls(report: &Report) -> u64 {
    let calls = report.stats.solver_calls.iter();
    calls.filter(|(p, _)| *p == "certify").map(|(_, n)| n).sum()
}

/// The time of one phase.
fn seconds(report: &Report, phase: &str) -> f64 {
    let times = report.stats.times.iter().filter(|(own, _)| *own == phase);
    times.map(|(_, time)| time.as_secs_f64()).sum()
}

/// The published row that a row is to be compared with.
fn paper(row: &Row) -> Option<&Value> {
    let own = published(row.strategy);
    let same = |paper: &&Value| own.is_some_and(|own| paper["method"] == own);
    row.paper.iter().find(same).or_else(|| row.paper.last())
}

/// A row for scripts.
fn value(row: &Row) -> Value {
    let mut value = json!({
        "program": row.name,
        "model": row.model.to_string(),
        "method": name(row.strategy),
        "fences": row.fences,
    });
    if let Some(cells) = row.cells {
        value["cells"] = json!(cells);
    }
    if let Some(paper) = paper(row) {
        value["paper"] = paper.clone();
    }
    let Some(report) = &row.report else {
        value["verdict"] = json!("unknown");
        value["reason"] = json!("not run: fewer cells took too long already");
        return value;
    };
    let stats = &report.stats;
    value["verdict"] = json!(word(&report.verdict));
    value["certified"] = json!(report.certified);
    value["stats"] = json!({
        "predicates": stats.predicates,
        "control_predicates": stats.control_predicates,
        "split": stats.split,
        "input_cubes": stats.lifted_cubes,
        "cubes": stats.cubes.0,
        "cube_size": stats.cubes.1,
        "iterations": stats.iterations,
        "solver_calls": solver_calls(report),
        "certificate_calls": certificate_calls(report),
        "preparation_calls": stats.preparation_calls,
        "queries": solver_calls(report) + stats.cache_hits,
        "states": stats.states,
        "build_seconds": seconds(report, "build"),
        "check_seconds": seconds(report, "check"),
        "certify_seconds": seconds(report, "certify"),
        "seconds": row.seconds,
        "cpu_seconds": row.cpu_seconds,
        "peak_memory_bytes": row.memory,
    });
    if let Verdict::Unknown(why) = &report.verdict {
        value["reason"] = json!(why.to_string());
    }
    if !report.notes.is_empty() {
        value["notes"] = json!(report.notes);
    }
    value
}
