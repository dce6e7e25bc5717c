//! `palisade bench fences`: the fewest fences of the programs of seed 002, table 1,
//! under TSO and PSO, beside the published figures. A row is one run of fence
//! synthesis with its defaults and without hints.

use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Result, anyhow};
use palisade_fences::{End, Level, Options, Outcome as Found, Placement, Plan, Rule};
use palisade_fences::{sites, synthesize};
use palisade_frontend::Gapped;
use palisade_program::Model;
use palisade_report::Outcome;
use serde_json::{Value, json};

use super::fence::gapped;
use super::rows;
use super::suites::{Suite, text};
use crate::CommandResult;
use crate::args::{BenchArgs, BenchModel};
use crate::context::Context;
use crate::usage;

/// The files of the suite, by name.
macro_rules! suite {
    ($($name:literal),* $(,)?) => {
        Suite {
            folder: "suites/fences",
            files: &[$(($name, include_str!(concat!("../../../../suites/fences/", $name)))),*],
        }
    };
}

const SUITE: Suite = suite![
    "suite.json",
    "burns.pal",
    "simple_dekker.pal",
    "full_dekker.pal",
    "dijkstra.pal",
    "lamport_bakery.pal",
    "lamport_fast.pal",
    "peterson.pal",
    "linux_ticket_lock.pal",
];

/// One program.
struct Experiment {
    name: String,
    gapped: Gapped,
    lines: usize,
    /// The paper's row.
    paper: Value,
}

/// Fences of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Fences {
    full: usize,
    store_store: usize,
}

/// One row of the table.
struct Row {
    name: String,
    model: Model,
    lines: usize,
    places: usize,
    found: Found,
    /// The most fences of any process, if a placement was proved.
    fences: Option<Fences>,
    certified: bool,
    cpu_seconds: f64,
    memory: u64,
    /// The paper's row, for the model that it has figures for.
    paper: Option<Value>,
}

pub(super) fn run(args: &BenchArgs, context: &Context) -> CommandResult {
    let models = models(args)?;
    let experiments = experiments(args)?;
    context.prepare_last_words(context.document());
    let mut rows = Vec::new();
    for model in &models {
        for experiment in &experiments {
            if !context.limits.cancel.load(Ordering::Relaxed) {
                rows.push(measure(args, context, *model, experiment));
            }
        }
    }
    let values = rows.iter().map(value).collect();
    let memory = rows.iter().map(|row| row.memory).max();
    let document = rows::document(args, context, values, memory);
    context.print(&table(&rows), &document);
    // `bench`: 0 when every input was read and run.
    Ok(if rows.len() == models.len() * experiments.len() {
        Outcome::Done
    } else {
        Outcome::Unknown
    })
}

/// The models of the rows; none given means both.
fn models(args: &BenchArgs) -> Result<Vec<Model>> {
    match args.model {
        BenchModel::All => Ok(vec![Model::Tso, Model::Pso]),
        BenchModel::Tso => Ok(vec![Model::Tso]),
        BenchModel::Pso => Ok(vec![Model::Pso]),
        BenchModel::Sc => Err(anyhow!(
            "fences are for --model tso and --model pso; without --model both are run"
        )),
    }
}

fn experiments(args: &BenchArgs) -> Result<Vec<Experiment>> {
    let chosen = SUITE.entries(args)?;
    chosen.iter().map(|entry| experiment(args, entry)).collect()
}

fn experiment(args: &BenchArgs, entry: &Value) -> Result<Experiment> {
    let source = SUITE.file(args, text(entry, "program")?)?;
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let lines = source.text().lines().filter(is_code).count();
    let gapped = gapped(Path::new(source.name()), source.text());
    Ok(Experiment {
        name: text(entry, "name")?.to_owned(),
        gapped: gapped.map_err(|d| anyhow!("{}", d.render(false)))?,
        lines,
        paper: entry["paper"].clone(),
    })
}

fn measure(args: &BenchArgs, context: &Context, model: Model, experiment: &Experiment) -> Row {
    usage::forget_peak();
    let cpu = usage::cpu_seconds();
    let options = Options {
        verify: rows::options(args, context, model),
        ..Options::default()
    };
    let program = &experiment.gapped.program;
    let places = sites(program, &experiment.gapped.gaps);
    let plan = Plan::new(program, model, places, &Rule::Count);
    let found = synthesize(&plan, &options);
    let (fences, certified) = match &found.end {
        End::Repaired(repairs) => match repairs.first() {
            Some(repair) => (
                Some(most_fences(&plan, &repair.placement)),
                repair.report.certified,
            ),
            None => (None, false),
        },
        End::WrongUnderSc(_) | End::NoRepair(_) | End::TooFew(_) | End::Unknown(_) => (None, false),
    };
    Row {
        name: experiment.name.clone(),
        model,
        lines: experiment.lines,
        places: plan.sites.len(),
        found,
        fences,
        certified,
        cpu_seconds: usage::cpu_seconds() - cpu,
        memory: usage::peak_bytes(),
        paper: (model == Model::Tso).then(|| experiment.paper.clone()),
    }
}

/// The fences of the process that has most.
fn most_fences(plan: &Plan<'_>, placement: &Placement) -> Fences {
    let instances = plan.program.instances(2);
    let fences = plan.fences(placement);
    let of = |instance| {
        let mut own = Fences::default();
        for (site, level) in &fences {
            if !plan.threads(site, &[instance]).is_empty() {
                match level {
                    Level::Full => own.full += 1,
                    Level::StoreStore => own.store_store += 1,
                    Level::None => {}
                }
            }
        }
        own
    };
    let all = instances.into_iter().map(of);
    all.max_by_key(|f| (f.full, f.store_store))
        .unwrap_or_default()
}

/// Why there is no placement, or why it is not known to be the least.
fn remark(row: &Row) -> String {
    let undecided = row.found.undecided.first();
    match &row.found.end {
        End::Repaired(_) => match (row.certified, undecided) {
            (true, None) => "certified".to_owned(),
            (true, Some((_, why))) => format!("certified; fewer: {why}"),
            (false, _) => "not certified".to_owned(),
        },
        End::WrongUnderSc(_) => "wrong under sc".to_owned(),
        End::NoRepair(_) => "no placement repairs it".to_owned(),
        End::TooFew(most) => format!("not by {most} fences"),
        End::Unknown(why) => why.to_string(),
    }
}

/// A row for scripts.
fn value(row: &Row) -> Value {
    let mut value = json!({
        "program": row.name,
        "model": row.model.to_string(),
        "method": "fence",
        "verdict": rows::answer(&row.found),
        "certified": row.certified,
        "minimum": rows::minimum(&row.found),
        "candidates": row.places,
        "lines": row.lines,
        "stats": rows::cost(&row.found, row.cpu_seconds, row.memory),
    });
    match row.fences {
        Some(Fences { full, store_store }) => {
            value["fences_per_process"] = json!({ "full": full, "ss": store_store });
        }
        None => value["reason"] = json!(remark(row)),
    }
    if let Some(paper) = &row.paper {
        value["paper"] = paper.clone();
    }
    value
}

/// The headings of the columns.
const COLUMNS: [&str; 13] = [
    "program", "model", "", "verdict", "size", "full", "ss", "minimum", "preds", "places",
    "rounds", "seconds", "",
];

/// The rows as a table; the paper's row stands above ours.
fn table(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = vec![COLUMNS.iter().map(|&c| c.to_owned()).collect()];
    for row in rows {
        lines.extend(row.paper.as_ref().map(|paper| paper_line(row, paper)));
        lines.push(line(row));
    }
    let heading = "fences for each process; size: the paper's instructions, our lines; seconds of \
                   processor time";
    rows::aligned(heading, &lines, &[0, 1, 2, 3, 7, 12])
}

fn line(row: &Row) -> Vec<String> {
    let of = |f: fn(Fences) -> usize| row.fences.map_or("-".to_owned(), |x| f(x).to_string());
    vec![
        row.name.clone(),
        row.model.to_string(),
        "ours".to_owned(),
        rows::answer(&row.found).to_owned(),
        row.lines.to_string(),
        of(|f| f.full),
        of(|f| f.store_store),
        rows::minimum(&row.found).to_owned(),
        row.found.predicates.to_string(),
        row.places.to_string(),
        row.found.rounds.to_string(),
        format!("{:.2}", row.cpu_seconds),
        remark(row),
    ]
}

/// The published row.
fn paper_line(row: &Row, paper: &Value) -> Vec<String> {
    let number = |key: &str| match &paper[key] {
        Value::Null => "?".to_owned(),
        other => other.to_string(),
    };
    let nothing = || "-".to_owned();
    vec![
        row.name.clone(),
        row.model.to_string(),
        "paper".to_owned(),
        "holds".to_owned(),
        number("loc"),
        number("fences_per_process"),
        nothing(),
        nothing(),
        number("predicates"),
        nothing(),
        nothing(),
        number("seconds"),
        String::new(),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    #[test]
    fn the_suite_is_complete() {
        let words = ["palisade", "bench", "fences"];
        let arguments = Arguments::try_parse_from(words).expect("valid");
        let Command::Bench(args) = arguments.command else {
            panic!("another command");
        };
        let all = experiments(&args).expect("the suite can be read");
        assert_eq!(all.len(), 8);
        for experiment in &all {
            let paper = &experiment.paper;
            assert!(paper["loc"].is_u64() && paper["seconds"].is_number());
            assert!(paper["fences_per_process"].is_u64() && paper["predicates"].is_u64());
            assert!(experiment.gapped.program.hints.is_empty());
            assert!(!experiment.gapped.gaps.is_empty());
        }
    }
}
