//! `palisade bench`: runs a suite of experiments and prints the published figures
//! beside ours. A suite is data (`suites/`): programs, the predicates that a person
//! would give, and the paper's figures. Each row is one search with exactly these
//! predicates by one strategy.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use palisade_frontend::pal;
use palisade_program::{Model, Program, Source, Unknown, Verdict};
use palisade_report::verdict::word;
use palisade_report::{Document, Outcome, Stats};
use palisade_verify::{Options, Promote, Report, Strategy, check_given};
use serde_json::{Value, json};

use crate::CommandResult;
use crate::args::{BenchArgs, StrategyArg};
use crate::context::Context;
use crate::{predicates, usage};

/// The files of the suite `cupex`, by name.
macro_rules! cupex {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../suites/cupex/", $name)))),*]
    };
}

/// Suites are part of the program, so that it can be run from anywhere.
const CUPEX: &[(&str, &str)] = cupex![
    "suite.json",
    "dekker.pal",
    "dekker.predicates",
    "peterson.pal",
    "peterson.predicates",
    "abp.pal",
    "abp.predicates",
    "szymanski.pal",
    "szymanski.predicates",
    "queue.pal",
    "queue.predicates",
    "bakery.pal",
    "bakery.predicates",
    "ticket.pal",
    "ticket.predicates",
];

/// The strategies, in the order of the rows.
const STRATEGIES: [StrategyArg; 3] = [
    StrategyArg::Enumerate,
    StrategyArg::Cores,
    StrategyArg::Lazy,
];

/// One experiment.
struct Experiment {
    name: String,
    program: Program,
    cube_size: usize,
    /// The paper's row for the model, if there is one.
    paper: Option<Value>,
}

/// One row of the table.
struct Row {
    name: String,
    strategy: StrategyArg,
    report: Report,
    seconds: f64,
    cpu_seconds: f64,
    memory: u64,
    paper: Option<Value>,
}

pub(super) fn run(args: &BenchArgs, context: &Context) -> CommandResult {
    let model = Model::from(args.model);
    let experiments = experiments(args, model)?;
    let heading = Document {
        model: Some(model.to_string()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let mut rows = Vec::new();
    for experiment in &experiments {
        for strategy in STRATEGIES {
            let wanted = args.strategy.is_none_or(|only| only == strategy);
            if wanted
                && !context
                    .limits
                    .cancel
                    .load(std::sync::atomic::Ordering::Relaxed)
            {
                rows.push(measure(args, context, model, experiment, strategy));
            }
        }
    }
    let document = Document {
        rows: Some(rows.iter().map(|row| value(row, model)).collect()),
        options: Some(json!({ "row_timeout": args.row_timeout.as_secs_f64() })),
        stats: Some(Stats {
            peak_memory_bytes: rows.iter().map(|row| row.memory).max().unwrap_or(0),
            ..crate::context::stats()
        }),
        ..heading
    };
    context.print(&table(&rows, model), &document);
    // `bench`: 0 when every input was read and run.
    let complete = experiments.is_empty() || !rows.is_empty();
    Ok(if complete {
        Outcome::Done
    } else {
        Outcome::Unknown
    })
}

/// A file of the suite: built in, or from the folder given.
fn file(args: &BenchArgs, name: &str) -> Result<Source> {
    if let Some(folder) = &args.folder {
        let path: PathBuf = Path::new(folder).join(name);
        return crate::input::read(&path);
    }
    let found = CUPEX.iter().find(|(own, _)| *own == name);
    let (_, text) = found.with_context(|| format!("the suite has no file {name}"))?;
    Ok(Source::new(format!("suites/cupex/{name}"), *text))
}

fn experiments(args: &BenchArgs, model: Model) -> Result<Vec<Experiment>> {
    let index = file(args, "suite.json")?;
    let index: Value = serde_json::from_str(index.text())
        .with_context(|| format!("{} is no JSON", index.name()))?;
    let programs = index["programs"].as_array();
    let programs = programs.context("suite.json has no list of programs")?;
    let wanted = |entry: &&Value| {
        let name = entry["name"].as_str().unwrap_or_default().to_lowercase();
        let part = args.program.as_deref().unwrap_or_default().to_lowercase();
        name.contains(&part)
    };
    let chosen = programs.iter().filter(wanted);
    chosen.map(|entry| experiment(args, model, entry)).collect()
}

fn experiment(args: &BenchArgs, model: Model, entry: &Value) -> Result<Experiment> {
    let text = |key: &str| {
        let value = entry[key].as_str();
        value.with_context(|| format!("an entry of suite.json has no `{key}`"))
    };
    let source = file(args, text("program")?)?;
    let parsed = pal::parse(source).map_err(|d| anyhow!("{}", d.render(false)))?;
    let extra = file(args, text("predicates")?)?;
    let program = predicates::add(&parsed.program, &extra)?;
    let paper = entry["paper"][model.to_string()].as_array();
    Ok(Experiment {
        name: text("name")?.to_owned(),
        program: program.map_err(|d| anyhow!("{}", d.render(false)))?,
        cube_size: entry["cube_size"].as_u64().unwrap_or(4) as usize,
        paper: paper.and_then(|rows| rows.last()).cloned(),
    })
}

fn measure(
    args: &BenchArgs,
    context: &Context,
    model: Model,
    experiment: &Experiment,
    strategy: StrategyArg,
) -> Row {
    usage::forget_peak();
    let started = Instant::now();
    let cpu = usage::cpu_seconds();
    let ours = started.checked_add(args.row_timeout);
    let options = Options {
        model,
        strategy: match strategy {
            StrategyArg::Enumerate => Strategy::Enumerate,
            StrategyArg::Cores => Strategy::Cores,
            StrategyArg::Cubes => Strategy::Cubes,
            StrategyArg::Lazy => Strategy::Lazy,
        },
        cube_size: experiment.cube_size,
        promote: Promote::Never,
        refine: false,
        deadline: ours.into_iter().chain(context.limits.deadline).min(),
        cancel: context.limits.cancel.clone(),
        ..Options::default()
    };
    let report = check_given(&experiment.program, &options);
    Row {
        name: experiment.name.clone(),
        strategy,
        report,
        seconds: started.elapsed().as_secs_f64(),
        cpu_seconds: usage::cpu_seconds() - cpu,
        memory: usage::peak_bytes(),
        paper: experiment.paper.clone(),
    }
}

const fn name(strategy: StrategyArg) -> &'static str {
    match strategy {
        StrategyArg::Enumerate => "enumerate",
        StrategyArg::Cores => "cores",
        StrategyArg::Cubes => "cubes",
        StrategyArg::Lazy => "lazy",
    }
}

fn solver_calls(report: &Report) -> u64 {
    report.stats.solver_calls.iter().map(|(_, n)| n).sum()
}

/// What the row shows in one word.
fn answer(report: &Report) -> &'static str {
    match &report.verdict {
        Verdict::Unknown(Unknown::Time) => "T/O",
        verdict => word(verdict),
    }
}

/// A row for scripts.
fn value(row: &Row, model: Model) -> Value {
    let stats = &row.report.stats;
    let mut value = json!({
        "program": row.name,
        "model": model.to_string(),
        "method": name(row.strategy),
        "verdict": word(&row.report.verdict),
        "certified": row.report.certified,
        "stats": {
            "predicates": stats.predicates,
            "split": stats.split,
            "cubes": stats.cubes.0,
            "cube_size": stats.cubes.1,
            "iterations": stats.iterations,
            "solver_calls": solver_calls(&row.report),
            "queries": solver_calls(&row.report) + stats.cache_hits,
            "states": stats.states,
            "seconds": row.seconds,
            "cpu_seconds": row.cpu_seconds,
            "peak_memory_bytes": row.memory,
        },
    });
    if let Verdict::Unknown(why) = &row.report.verdict {
        value["reason"] = json!(why.to_string());
    }
    if let Some(paper) = &row.paper {
        value["paper"] = paper.clone();
    }
    value
}

/// The headings of the columns.
const COLUMNS: [&str; 12] = [
    "program", "strategy", "verdict", "preds", "cubes", "size", "queries", "solver", "states",
    "MB", "seconds", "",
];

/// The rows as a table; the paper's row stands above ours.
fn table(rows: &[Row], model: Model) -> String {
    let mut lines: Vec<Vec<String>> = vec![COLUMNS.iter().map(|&c| c.to_owned()).collect()];
    let mut last = "";
    for row in rows {
        if row.name != last {
            lines.extend(row.paper.as_ref().map(|paper| paper_line(&row.name, paper)));
        }
        lines.push(line(row));
        last = &row.name;
    }
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|c| {
            lines
                .iter()
                .map(|l| l[c].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = format!(
        "model {model}; cubes of two or more literals; queries are all questions, solver those \
         that reached Z3; MB is the process's peak during the row\n\n"
    );
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(c, (cell, width))| match c {
                0..=2 | 11 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

fn line(row: &Row) -> Vec<String> {
    let stats = &row.report.stats;
    let tables = row.strategy != StrategyArg::Lazy;
    let of_tables = |n: usize| {
        if tables {
            n.to_string()
        } else {
            "-".to_owned()
        }
    };
    let queries = solver_calls(&row.report) + stats.cache_hits;
    vec![
        row.name.clone(),
        name(row.strategy).to_owned(),
        answer(&row.report).to_owned(),
        stats.predicates.to_string(),
        of_tables(stats.cubes.0),
        of_tables(stats.cubes.1),
        queries.to_string(),
        solver_calls(&row.report).to_string(),
        stats.states.to_string(),
        format!("{:.0}", row.memory as f64 / f64::from(1 << 20)),
        format!("{:.2}", row.seconds),
        remark(&row.report),
    ]
}

fn remark(report: &Report) -> String {
    match &report.verdict {
        Verdict::Holds if report.certified => "certified".to_owned(),
        Verdict::Holds | Verdict::Violated(_) | Verdict::Unknown(Unknown::Time) => String::new(),
        Verdict::Unknown(why) => why.to_string(),
    }
}

/// The published row.
fn paper_line(name: &str, paper: &Value) -> Vec<String> {
    let number = |key: &str| match &paper[key] {
        Value::Null => "?".to_owned(),
        other => other.to_string(),
    };
    if paper["timeout"] == json!(true) {
        let mut line = vec![name.to_owned(), "paper".to_owned(), "T/O".to_owned()];
        line.resize(COLUMNS.len(), "-".to_owned());
        return line;
    }
    let total = paper["build_seconds"].as_f64().unwrap_or(0.0)
        + paper["check_seconds"].as_f64().unwrap_or(0.0);
    vec![
        name.to_owned(),
        "paper".to_owned(),
        "holds".to_owned(),
        number("predicates"),
        number("cubes"),
        number("cube_size"),
        number("solver_calls"),
        number("solver_calls"),
        number("states"),
        number("memory_mb"),
        format!("{total:.1}"),
        String::new(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::SuiteArg;

    fn arguments() -> BenchArgs {
        BenchArgs {
            suite: SuiteArg::Cupex,
            model: crate::args::ModelArg::Sc,
            program: None,
            strategy: None,
            folder: None,
            row_timeout: std::time::Duration::from_mins(1),
            common: crate::args::CommonArgs::default(),
        }
    }

    #[test]
    fn the_suite_is_complete() {
        let all = experiments(&arguments(), Model::Sc).expect("the suite can be read");
        assert_eq!(all.len(), 7);
        for experiment in &all {
            let paper = experiment.paper.as_ref().expect("SC figures");
            assert!(paper["predicates"].is_u64() && paper["solver_calls"].is_u64());
            assert!(!experiment.program.hints.is_empty());
        }
        for model in [Model::Tso, Model::Pso] {
            let all = experiments(&arguments(), model).expect("the suite can be read");
            assert!(all.iter().all(|e| e.paper.is_some()));
        }
    }
}
