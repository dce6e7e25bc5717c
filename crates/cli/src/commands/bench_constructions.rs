//! `palisade bench rma --constructions`: three ways to make the Boolean program under RMA, as
//! seed 004 compares them on Bakery (section 5): the standard construction, which makes tables
//! of cubes for every statement, the lazy one, which asks about what the search meets, and
//! Boolean program extrapolation, which renames the Boolean program under SC and asks no solver.
//!
//! The program has a flush after every remote operation, and its pending operations are value
//! sets only. All three start with the same predicates, those of a proof under SC with what
//! extrapolation makes of them; tables have cubes of two literals at most. Where the extrapolated
//! program is too weak, `verify` goes on with the lazy construction: the row says so.

use std::sync::atomic::Ordering;

use palisade_fences::{Plan, Rule, sites};
use palisade_logic::Purpose;
use palisade_program::{Model, Verdict};
use palisade_report::Outcome;
use palisade_report::verdict::word;
use palisade_verify::{Buffers, Extrapolate, Options, Report, Strategy, verify};
use serde_json::{Value, json};

use super::bench_rma::{Experiment, experiments};
use super::rows;
use crate::CommandResult;
use crate::args::BenchArgs;
use crate::context::Context;
use crate::usage;

/// The program that the paper compares them on.
const PROGRAM: &str = "bakery";

/// The constructions, by name.
const CONSTRUCTIONS: [(&str, Strategy); 3] = [
    ("standard", Strategy::Cores),
    ("lazy", Strategy::Lazy),
    ("program", Strategy::Program),
];

/// Literals of the largest cubes: with three the standard construction takes some minutes for Bakery.
const CUBE_SIZE: usize = 2;

/// One row of the table.
struct Row {
    name: String,
    construction: &'static str,
    report: Report,
    cpu_seconds: f64,
    memory: u64,
}

pub(super) fn run(args: &BenchArgs, context: &Context) -> CommandResult {
    let name = args.program.as_deref().unwrap_or(PROGRAM);
    let args = &BenchArgs {
        program: Some(name.to_owned()),
        ..args.clone()
    };
    let experiments = experiments(args)?;
    context.prepare_last_words(context.document());
    let mut rows = Vec::new();
    for experiment in &experiments {
        for construction in CONSTRUCTIONS {
            if !context.limits.cancel.load(Ordering::Relaxed) {
                rows.push(measure(args, context, experiment, construction));
            }
        }
    }
    let values = rows.iter().map(value).collect();
    let memory = rows.iter().map(|row| row.memory).max();
    let document = rows::document(args, context, values, memory);
    context.print(&table(&rows), &document);
    Ok(if rows.len() == experiments.len() * CONSTRUCTIONS.len() {
        Outcome::Done
    } else {
        Outcome::Unknown
    })
}

fn measure(
    args: &BenchArgs,
    context: &Context,
    experiment: &Experiment,
    (construction, strategy): (&'static str, Strategy),
) -> Row {
    usage::forget_peak();
    let cpu = usage::cpu_seconds();
    let program = &experiment.gapped.program;
    let places = sites(program, &experiment.gapped.gaps);
    let plan = Plan::new(program, Model::Rma, places, &Rule::Count);
    let options = Options {
        strategy,
        buffers: Buffers::Abstract(0),
        extrapolate: Extrapolate::Predicates,
        cube_size: CUBE_SIZE,
        ..rows::options(args, context, Model::Rma)
    };
    let report = verify(&plan.switched(&plan.everything()), &options);
    Row {
        name: experiment.name.clone(),
        construction,
        report,
        cpu_seconds: usage::cpu_seconds() - cpu,
        memory: usage::peak_bytes(),
    }
}

/// Questions about transformers, whether the solver was asked or a shortcut had the answer; also
/// those of the proof under SC.
fn questions(row: &Row) -> u64 {
    transformer_calls(row) + row.report.stats.cache_hits
}

/// Solver calls for the Boolean program under RMA. What extrapolation takes is counted by
/// itself; the others' calls are those for transformers, also of the proof under SC.
fn calls(row: &Row) -> u64 {
    let stats = &row.report.stats;
    match stats.extrapolated {
        Some((calls, _)) => calls,
        None => transformer_calls(row),
    }
}

fn transformer_calls(row: &Row) -> u64 {
    let transformers = [Purpose::Abstract.name(), Purpose::Guard.name()];
    let all = row.report.stats.solver_calls.iter();
    let all = all.filter(|(purpose, _)| transformers.contains(purpose));
    all.map(|(_, n)| n).sum()
}

/// Whether the lazy construction had to help out.
fn is_weak(row: &Row) -> bool {
    row.report.stats.lazy_was_needed
}

fn remark(row: &Row) -> String {
    match &row.report.verdict {
        Verdict::Unknown(why) => why.to_string(),
        Verdict::Holds if is_weak(row) => "certified by the lazy construction".to_owned(),
        Verdict::Holds if row.report.certified => "certified".to_owned(),
        Verdict::Violated(_) | Verdict::Holds => String::new(),
    }
}

/// A row for scripts.
fn value(row: &Row) -> Value {
    let stats = &row.report.stats;
    let mut value = json!({
        "program": row.name,
        "model": "rma",
        "method": row.construction,
        "verdict": word(&row.report.verdict),
        "certified": row.report.certified,
        "construction_calls": calls(row),
        "questions": questions(row),
        "too_weak": is_weak(row),
        "stats": {
            "predicates": stats.predicates,
            "iterations": stats.iterations,
            "solver_calls": stats.solver_calls.iter().map(|(_, n)| n).sum::<u64>(),
            "states": stats.states,
            "cpu_seconds": row.cpu_seconds,
            "peak_memory_bytes": row.memory,
        },
    });
    if let Some((_, facts)) = stats.extrapolated {
        value["facts"] = json!(facts);
    }
    if let Verdict::Unknown(why) = &row.report.verdict {
        value["reason"] = json!(why.to_string());
    }
    value
}

/// The headings of the columns.
const COLUMNS: [&str; 10] = [
    "program",
    "construction",
    "verdict",
    "preds",
    "rounds",
    "states",
    "questions",
    "calls",
    "seconds",
    "",
];

fn table(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = vec![COLUMNS.iter().map(|&c| c.to_owned()).collect()];
    lines.extend(rows.iter().map(line));
    let heading = "a flush after every remote operation, value sets only; questions about \
                   transformers, those of the proof under SC included; calls of the solver for the \
                   Boolean program under RMA; seconds of processor time";
    rows::aligned(heading, &lines, &[0, 1, 2, 9])
}

fn line(row: &Row) -> Vec<String> {
    let stats = &row.report.stats;
    vec![
        row.name.clone(),
        row.construction.to_owned(),
        word(&row.report.verdict).to_owned(),
        stats.predicates.to_string(),
        stats.iterations.to_string(),
        stats.states.to_string(),
        questions(row).to_string(),
        calls(row).to_string(),
        format!("{:.2}", row.cpu_seconds),
        remark(row),
    ]
}
