//! `palisade bench sapa`: the fourteen programs of seed 003, section 5, in C, beside
//! its tables 1 and 2. The programs create threads without end; a row is one run of
//! `verify` with a number of threads, or with any number. The safe program is run with
//! twice as many threads as the paper's largest and with any number, its unsafe twin
//! with table 2's number and with one less.
//!
//! | file | term |
//! |---|---|
//! | `plot` | cost against the number of threads, as a picture |
//! | `tables` | the rows as text |

mod plot;
mod tables;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use palisade_frontend::c;
use palisade_program::{Count, Model, Program, Source, Verdict};
use palisade_report::{Document, Outcome, Stats};
use palisade_verify::{Options, Threads, verify};
use serde_json::{Value, json};

use crate::CommandResult;
use crate::args::{BenchArgs, BenchModel};
use crate::context::Context;
use crate::usage;

/// The files of the suite, by name.
macro_rules! suite {
    ($($name:literal),* $(,)?) => {
        &[$(
            (concat!($name, ".c"), include_str!(concat!("../../../../../suites/sapa/", $name, ".c"))),
            (
                concat!($name, "_unsafe.c"),
                include_str!(concat!("../../../../../suites/sapa/", $name, "_unsafe.c")),
            ),
        )*]
    };
}

/// Suites are part of the program, so that it can be run from anywhere.
const FILES: &[(&str, &str)] = suite![
    "increment_lock",
    "increment_cas",
    "incdec_lock",
    "incdec_cas",
    "tas_lock",
    "ticket_lock",
    "prng_lock",
    "prng_cas",
    "findmax_lock",
    "findmax_cas",
    "findmaxopt_lock",
    "findmaxopt_cas",
    "stack_lock",
    "stack_cas",
];

const INDEX: &str = include_str!("../../../../../suites/sapa/suite.json");

/// One program with its twin.
struct Experiment {
    name: String,
    /// As the paper calls it.
    title: String,
    safe: Program,
    /// The unsafe twin.
    twin: Program,
    /// The paper's rows.
    paper: Value,
}

impl Experiment {
    /// The largest number of threads that the paper proves.
    fn largest(&self) -> u32 {
        let rows = self.paper["table1"].as_array();
        let number = |row: &Value| row["threads"].as_u64();
        let first = rows.into_iter().flatten().filter_map(number).max();
        let second = self.paper["table2"]["safe"].as_str();
        let second = second.and_then(|s| s.trim_start_matches('>').parse().ok());
        first.max(second).unwrap_or(1) as u32
    }

    /// The number of threads that violates the twin.
    fn needed(&self) -> u32 {
        self.paper["table2"]["unsafe"].as_u64().unwrap_or(1) as u32
    }
}

/// What one run of `verify` gave.
struct Measured {
    verdict: &'static str,
    /// A certificate or a replayed run.
    evidence: bool,
    reason: String,
    predicates: usize,
    states: usize,
    /// Seconds of the search (abstraction is part of it: transformers are lazy) and of
    /// simulation and refinement.
    search: f64,
    refine: f64,
    cpu_seconds: f64,
    memory: u64,
}

/// One row: a program, a number of threads, what it gave.
struct Row {
    name: String,
    title: String,
    is_safe: bool,
    threads: Threads,
    measured: Measured,
    paper: Value,
}

impl Row {
    fn threads(&self) -> String {
        match self.threads {
            Threads::Exactly(n) => n.to_string(),
            Threads::Any => "any".to_owned(),
        }
    }
}

pub(super) fn run(args: &BenchArgs, context: &Context) -> CommandResult {
    let model = match args.model {
        BenchModel::Sc | BenchModel::All => Model::Sc,
        BenchModel::Tso => Model::Tso,
        BenchModel::Pso => Model::Pso,
    };
    let experiments = experiments(args)?;
    context.prepare_last_words(context.document());
    if let Some(file) = &args.plot {
        let picture = plot::draw(&experiments, args, context);
        std::fs::write(file, picture)
            .with_context(|| format!("cannot write {}", file.display()))?;
        context.print(&format!("{}\n", file.display()), &context.document());
        return Ok(Outcome::Done);
    }
    let mut rows = Vec::new();
    let mut wanted = 0;
    for experiment in &experiments {
        let (twice, needed) = (2 * experiment.largest(), experiment.needed());
        let mut runs = vec![(true, Threads::Exactly(twice)), (true, Threads::Any)];
        runs.extend((needed > 1).then_some((false, Threads::Exactly(needed - 1))));
        runs.push((false, Threads::Exactly(needed)));
        wanted += runs.len();
        for (is_safe, threads) in runs {
            if context.limits.cancel.load(Ordering::Relaxed) {
                continue;
            }
            let program = if is_safe {
                &experiment.safe
            } else {
                &experiment.twin
            };
            rows.push(Row {
                name: experiment.name.clone(),
                title: experiment.title.clone(),
                is_safe,
                threads,
                measured: measure(program, threads, true, model, args.row_timeout, context),
                paper: experiment.paper.clone(),
            });
        }
    }
    let document = Document {
        rows: Some(rows.iter().map(|row| value(row, model)).collect()),
        options: Some(json!({ "row_timeout": args.row_timeout.as_secs_f64() })),
        stats: Some(Stats {
            peak_memory_bytes: rows.iter().map(|r| r.measured.memory).max().unwrap_or(0),
            ..crate::context::stats()
        }),
        ..context.document()
    };
    context.print(&tables::tables(&experiments, &rows), &document);
    // `bench`: 0 when every input was read and run.
    Ok(if rows.len() == wanted {
        Outcome::Done
    } else {
        Outcome::Unknown
    })
}

fn experiments(args: &BenchArgs) -> Result<Vec<Experiment>> {
    let index: Value = serde_json::from_str(INDEX).context("suite.json is no JSON")?;
    let part = args.program.as_deref().unwrap_or_default().to_lowercase();
    let mut found = Vec::new();
    for entry in index.as_array().context("suite.json is no list")? {
        let text = |key: &str| {
            let value = entry[key].as_str();
            value.with_context(|| format!("an entry of suite.json has no `{key}`"))
        };
        let name = text("name")?;
        let title = text("title")?;
        if name.contains(&part) || title.to_lowercase().contains(&part) {
            found.push(Experiment {
                name: name.to_owned(),
                title: title.to_owned(),
                safe: program(args, &format!("{name}.c"))?,
                twin: program(args, &format!("{name}_unsafe.c"))?,
                paper: entry.clone(),
            });
        }
    }
    Ok(found)
}

/// A program of the suite: built in, or from the folder given.
fn program(args: &BenchArgs, name: &str) -> Result<Program> {
    let source = if let Some(folder) = &args.folder {
        crate::input::read(&folder.join(name))?
    } else {
        let found = FILES.iter().find(|(own, _)| *own == name);
        let (_, text) = found.with_context(|| format!("the suite has no file {name}"))?;
        Source::new(format!("suites/sapa/{name}"), *text)
    };
    let parsed = c::parse(Path::new(source.name()), &source, &c::Options::default());
    let parsed = parsed.map_err(|d| anyhow!("{}", d.render(false)))?;
    Ok(parsed.program)
}

/// The program with this many copies of its template.
fn with_copies(program: &Program, threads: Threads) -> Program {
    let mut program = program.clone();
    for template in &mut program.templates {
        match (template.count, threads) {
            (Count::Any, Threads::Exactly(n)) => template.count = Count::Fixed(n),
            (Count::Once | Count::Fixed(_) | Count::Any, _) => {}
        }
    }
    program
}

fn measure(
    program: &Program,
    threads: Threads,
    symmetry: bool,
    model: Model,
    limit: Duration,
    context: &Context,
) -> Measured {
    usage::forget_peak();
    let program = with_copies(program, threads);
    let cpu = usage::cpu_seconds();
    let ours = Instant::now().checked_add(limit);
    let options = Options {
        model,
        symmetry,
        falsify: true,
        deadline: ours.into_iter().chain(context.limits.deadline).min(),
        cancel: context.limits.cancel.clone(),
        ..Options::default()
    };
    let report = verify(&program, &options);
    let (verdict, reason) = match &report.verdict {
        Verdict::Holds => ("holds", String::new()),
        Verdict::Violated(v) => ("violated", v.message.clone()),
        Verdict::Unknown(why) => ("unknown", why.to_string()),
    };
    let seconds = |names: &[&str]| {
        let times = report.stats.times.iter().filter(|t| names.contains(&t.0));
        times.map(|t| t.1).sum::<Duration>().as_secs_f64()
    };
    Measured {
        verdict,
        // `verify` gives no violation without a replay.
        evidence: report.certified || verdict == "violated",
        reason,
        predicates: report.stats.predicates,
        states: report.stats.states,
        search: seconds(&["search", "views"]),
        refine: seconds(&["simulate", "refine"]),
        cpu_seconds: usage::cpu_seconds() - cpu,
        memory: usage::peak_bytes(),
    }
}

/// A row for scripts.
fn value(row: &Row, model: Model) -> Value {
    let measured = &row.measured;
    json!({
        "program": format!("{}{}", row.name, if row.is_safe { "" } else { "_unsafe" }),
        "threads": row.threads(),
        "model": model.to_string(),
        "method": "templates",
        "verdict": measured.verdict,
        "reason": measured.reason,
        "certified": measured.verdict == "holds" && measured.evidence,
        "replayed": measured.verdict == "violated",
        "stats": {
            "predicates": measured.predicates,
            "states": measured.states,
            "search_seconds": measured.search,
            "refinement_seconds": measured.refine,
            "cpu_seconds": measured.cpu_seconds,
            "peak_memory_bytes": measured.memory,
        },
        "paper": row.paper,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    #[test]
    fn the_suite_is_complete() {
        let words = ["palisade", "bench", "sapa"];
        let arguments = Arguments::try_parse_from(words).expect("valid");
        let Command::Bench(args) = arguments.command else {
            panic!("another command");
        };
        let all = experiments(&args).expect("the suite can be read");
        assert_eq!(all.len(), 14);
        for experiment in &all {
            assert!(experiment.largest() >= 4 && experiment.needed() >= 1);
            for program in [&experiment.safe, &experiment.twin] {
                let counts: Vec<Count> = program.templates.iter().map(|t| t.count).collect();
                assert_eq!(counts, [Count::Once, Count::Any], "{}", experiment.name);
                // The workers run from the start: main does nothing.
                assert!(
                    program.templates[0].cfg.edges.is_empty(),
                    "{}",
                    experiment.name
                );
            }
        }
    }
}
