//! `palisade bench rma`: table 3 of seed 004 beside our rows. The paper starts with a flush
//! after every remote operation and removes flushes; ours are found by `fence --model rma`
//! with its defaults and without hints. The program with these flushes has a certified proof, and
//! every flush is taken out alone: the machine must then find a bug.

use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Result, anyhow};
use palisade_abstraction::bp::export;
use palisade_abstraction::cores::ByCores;
use palisade_abstraction::hints;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_checker::search::initial_data;
use palisade_fences::{End, Level, Options, Outcome as Found, Placement, Plan, Rule};
use palisade_fences::{sites, synthesize};
use palisade_frontend::Gapped;
use palisade_logic::{Limits, Prover};
use palisade_memory::reduced::Full;
use palisade_memory::rma;
use palisade_program::{Model, Program, Verdict};
use palisade_report::Outcome;
use palisade_verify::{Purpose, Report, falsify, verify, verify_with};
use serde_json::{Value, json};

use super::fence::flush_gaps;
use super::rows;
use super::suites::{Suite, text};
use crate::CommandResult;
use crate::args::{BenchArgs, BenchModel, StartArg};
use crate::context::Context;
use crate::usage;

/// The files of the suite, by name.
macro_rules! suite {
    ($($name:literal),* $(,)?) => {
        Suite {
            folder: "suites/rma",
            files: &[$(($name, include_str!(concat!("../../../../suites/rma/", $name)))),*],
        }
    };
}

const SUITE: Suite = suite![
    "suite.json",
    "abp.pal",
    "bakery.pal",
    "bluetooth.pal",
    "dekker.pal",
    "kessel.pal",
    "loop2_tlm.pal",
    "pc1.pal",
    "peterson.pal",
    "pgsql.pal",
    "queue.pal",
    "qw.pal",
    "rma_lock.pal",
    "sober.pal",
    "szymanski.pal",
    "ticket.pal",
];

/// States of a search for a bug when a flush is taken out.
const HUNT: u64 = 2_000_000;

/// One program.
pub(super) struct Experiment {
    pub(super) name: String,
    pub(super) gapped: Gapped,
    /// The paper's row.
    paper: Value,
}

/// One row of the table.
struct Row {
    name: String,
    candidates: usize,
    found: Found,
    /// Flushes, and how many of them give a bug when they are taken out.
    flushes: Option<(usize, usize)>,
    /// The proof under SC, and that of the program with its flushes.
    sc: Report,
    proof: Option<Report>,
    /// Lines of the two Boolean programs.
    lines: (Option<usize>, Option<usize>),
    cpu_seconds: f64,
    memory: u64,
    paper: Value,
}

pub(super) fn run(args: &BenchArgs, context: &Context) -> CommandResult {
    if args.model != BenchModel::All {
        return Err(anyhow!(
            "this suite has rows under rma only; leave --model out"
        ));
    }
    let experiments = experiments(args)?;
    context.prepare_last_words(context.document());
    let mut rows = Vec::new();
    for experiment in &experiments {
        if !context.limits.cancel.load(Ordering::Relaxed) {
            rows.push(measure(args, context, experiment));
        }
    }
    let values = rows.iter().map(value).collect();
    let memory = rows.iter().map(|row| row.memory).max();
    let document = rows::document(args, context, values, memory);
    context.print(&table(&rows), &document);
    Ok(if rows.len() == experiments.len() {
        Outcome::Done
    } else {
        Outcome::Unknown
    })
}

pub(super) fn experiments(args: &BenchArgs) -> Result<Vec<Experiment>> {
    let chosen = SUITE.entries(args)?;
    chosen.iter().map(|entry| experiment(args, entry)).collect()
}

fn experiment(args: &BenchArgs, entry: &Value) -> Result<Experiment> {
    let source = SUITE.file(args, text(entry, "program")?)?;
    let options = palisade_frontend::c::Options::default();
    let path = Path::new(source.name());
    let gapped = flush_gaps(path, source.text(), StartArg::All, &options);
    Ok(Experiment {
        name: text(entry, "name")?.to_owned(),
        gapped: gapped.map_err(|d| anyhow!("{}", d.render(false)))?,
        paper: entry["paper"].clone(),
    })
}

fn measure(args: &BenchArgs, context: &Context, experiment: &Experiment) -> Row {
    usage::forget_peak();
    let cpu = usage::cpu_seconds();
    let options = Options {
        verify: rows::options(args, context, Model::Rma),
        ..Options::default()
    };
    let program = &experiment.gapped.program;
    let sc = verify(
        program,
        &palisade_verify::Options {
            model: Model::Sc,
            ..options.verify.clone()
        },
    );
    let places = sites(program, &experiment.gapped.gaps);
    let plan = Plan::new(program, Model::Rma, places, &Rule::Count);
    let found = synthesize(&plan, &options);
    let repair = match &found.end {
        End::Repaired(repairs) => repairs.first().cloned(),
        End::WrongUnderSc(_) | End::NoRepair(_) | End::TooFew(_) | End::Unknown(_) => None,
    };
    let placement = repair.as_ref().map(|r| r.placement.clone());
    let repaired = placement.as_ref().map(|p| plan.switched(p));
    // A search of all runs has no certificate: then a proof is looked for.
    let certified = repair.map(|r| r.report).filter(|report| report.certified);
    let last = palisade_verify::Options {
        purpose: Purpose::Repair,
        ..options.verify.clone()
    };
    let prove = |p| verify_with(p, &last, &options.knowledge);
    let proof = certified.or_else(|| repaired.as_ref().map(prove));
    let flushes = placement.map(|p| (plan.fences(&p).len(), needed(&plan, &p, &found, &options)));
    let lines = (
        boolean_lines(program, &options),
        repaired.as_ref().and_then(|p| {
            let reduced = rma::reduce(p, 1, Full::Blocks);
            boolean_lines(&reduced.program, &options)
        }),
    );
    Row {
        name: experiment.name.clone(),
        candidates: plan.sites.len(),
        found,
        flushes,
        sc,
        proof,
        lines,
        cpu_seconds: usage::cpu_seconds() - cpu,
        memory: usage::peak_bytes(),
        paper: experiment.paper.clone(),
    }
}

/// How many of the flushes give a replayed bug when they are taken out alone. The synthesis has
/// met one for each, if its placement is a minimum; else the machine looks for one.
fn needed(plan: &Plan<'_>, placement: &Placement, found: &Found, options: &Options) -> usize {
    let chosen = (0..placement.0.len()).filter(|&d| placement.0[d] != Level::None);
    let has_bug = |&decision: &usize| {
        let fewer = placement.with(decision, Level::None);
        let searched = || falsify(&plan.switched(&fewer), Model::Rma, HUNT, &options.verify);
        found.has_bug(plan, &fewer) || searched().is_some()
    };
    chosen.filter(has_bug).count()
}

/// Lines of the Boolean program: finite variables as they are, and the program's own
/// predicates. `None` if it cannot be written down.
fn boolean_lines(program: &Program, options: &Options) -> Option<usize> {
    let space = Space::new(program, program.instances(2), true);
    let mut table = Predicates::default();
    for atom in hints::atoms(&space).ok()? {
        table.add(atom);
    }
    let mut prover = Prover::new(palisade_logic::Options {
        limits: Limits {
            deadline: options.verify.deadline,
            cancel: options.verify.cancel.clone(),
            ..Limits::default()
        },
        ..palisade_logic::Options::default()
    });
    let how = export::Options {
        max_size: None,
        cartesian: true,
    };
    let initial = initial_data(&space);
    let made = export::export(&space, &table, &initial, &mut prover, &ByCores, how).ok()?;
    Some(made.to_string().lines().count())
}

fn is_certified(row: &Row) -> bool {
    row.proof.as_ref().is_some_and(|proof| proof.certified)
}

/// Why there is no placement, or what is not known about it.
fn remark(row: &Row) -> String {
    match &row.found.end {
        End::Repaired(_) => match (is_certified(row), row.found.undecided.first()) {
            (true, None) => "certified".to_owned(),
            (true, Some((_, why))) => format!("certified; fewer: {why}"),
            (false, None) => "all runs searched".to_owned(),
            (false, Some((_, why))) => format!("all runs searched; fewer: {why}"),
        },
        End::WrongUnderSc(_) => "wrong under sc".to_owned(),
        End::NoRepair(_) => "no placement repairs it".to_owned(),
        End::TooFew(most) => format!("not by {most} flushes"),
        End::Unknown(why) => why.to_string(),
    }
}

fn sc_predicates(row: &Row) -> Option<usize> {
    (row.sc.verdict == Verdict::Holds).then_some(row.sc.stats.predicates)
}

fn rma_predicates(row: &Row) -> Option<usize> {
    let proof = row.proof.as_ref().filter(|proof| proof.certified);
    proof.map(|proof| proof.stats.predicates)
}

/// A row for scripts.
fn value(row: &Row) -> Value {
    let mut value = json!({
        "program": row.name,
        "model": "rma",
        "method": "fence",
        "verdict": rows::answer(&row.found),
        "certified": is_certified(row),
        "minimum": rows::minimum(&row.found),
        "candidates": row.candidates,
        "sc_predicates": sc_predicates(row),
        "rma_predicates": rma_predicates(row),
        "sc_lines": row.lines.0,
        "rma_lines": row.lines.1,
        "stats": rows::cost(&row.found, row.cpu_seconds, row.memory),
    });
    match row.flushes {
        Some((flushes, needed)) => {
            value["flushes"] = json!(flushes);
            value["needed"] = json!(needed);
        }
        None => value["reason"] = json!(remark(row)),
    }
    if !row.paper.is_null() {
        value["paper"] = row.paper.clone();
    }
    value
}

/// The headings of the columns.
const COLUMNS: [&str; 12] = [
    "program",
    "",
    "verdict",
    "sc preds",
    "rma preds",
    "sc lines",
    "rma lines",
    "flushes",
    "needed",
    "minimum",
    "seconds",
    "",
];

/// The rows as a table; the paper's row stands above ours.
fn table(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = vec![COLUMNS.iter().map(|&c| c.to_owned()).collect()];
    for row in rows {
        if !row.paper.is_null() {
            lines.push(paper_line(row));
        }
        lines.push(line(row));
    }
    let heading = "flushes of so many candidates; needed: taken out alone, they give a replayed bug; \
                   seconds of processor time, synthesis included";
    rows::aligned(heading, &lines, &[0, 1, 2, 9, 11])
}

fn shown(number: Option<usize>) -> String {
    number.map_or_else(|| "-".to_owned(), |n| n.to_string())
}

fn line(row: &Row) -> Vec<String> {
    let flushes = row.flushes.map(|(n, _)| format!("{n}/{}", row.candidates));
    vec![
        row.name.clone(),
        "ours".to_owned(),
        rows::answer(&row.found).to_owned(),
        shown(sc_predicates(row)),
        shown(rma_predicates(row)),
        shown(row.lines.0),
        shown(row.lines.1),
        flushes.unwrap_or_else(|| format!("-/{}", row.candidates)),
        shown(row.flushes.map(|(_, needed)| needed)),
        rows::minimum(&row.found).to_owned(),
        format!("{:.2}", row.cpu_seconds),
        remark(row),
    ]
}

/// The published row.
fn paper_line(row: &Row) -> Vec<String> {
    let number = |key: &str| row.paper[key].to_string();
    vec![
        row.name.clone(),
        "paper".to_owned(),
        "holds".to_owned(),
        number("sc_predicates"),
        number("rma_predicates"),
        number("sc_lines"),
        number("rma_lines"),
        format!("{}/{}", number("flushes"), number("candidates")),
        "-".to_owned(),
        "-".to_owned(),
        number("seconds"),
        row.paper["note"].as_str().unwrap_or_default().to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    #[test]
    fn the_suite_is_complete() {
        let words = ["palisade", "bench", "rma"];
        let arguments = Arguments::try_parse_from(words).expect("valid");
        let Command::Bench(args) = arguments.command else {
            panic!("another command");
        };
        let all = experiments(&args).expect("the suite can be read");
        assert_eq!(all.len(), 15, "table 3 and Bluetooth");
        for experiment in &all {
            let paper = &experiment.paper;
            assert_eq!(paper.is_null(), experiment.name == "Bluetooth");
            assert!(paper.is_null() || paper["flushes"].is_u64() && paper["candidates"].is_u64());
            assert!(experiment.gapped.program.hints.is_empty());
            assert!(!experiment.gapped.gaps.is_empty());
        }
    }
}
