//! `palisade bench soft`: tables 2 to 8 of seed 001 beside our rows. The paper's models are
//! written by hand; ours are generated from the code in `suites/soft`. A row is one proof
//! ([`palisade_linearize::prove`]): threads collapsed or not, and soft invariants from
//! nowhere, from the text, found by the prover, or over-defined.

mod table;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use palisade_frontend::heap;
use palisade_linearize::prove::{Count, Interleaving, Options, Proof, Soft, counts, prove};
use palisade_program::heap::Program;
use palisade_report::{Document, Outcome, Stats};
use serde_json::{Value, json};

use super::suites::{Suite, text};
use crate::CommandResult;
use crate::args::{BenchArgs, BenchModel};
use crate::context::Context;
use crate::usage;

/// The files of the suite, by name.
macro_rules! suite {
    ($($name:literal),* $(,)?) => {
        Suite {
            folder: "suites/soft",
            files: &[$(($name, include_str!(concat!("../../../../../suites/soft/", $name)))),*],
        }
    };
}

const SUITE: Suite = suite![
    "suite.json",
    "inc.pal",
    "treiber.pal",
    "ms_queue.pal",
    "dglm_queue.pal",
];

/// How often a row looks at the clock and at its memory.
const PERIOD: Duration = Duration::from_millis(5);

/// How a row is to be proved.
#[derive(Clone, Debug)]
struct Setting {
    interleaving: Interleaving,
    collapse: bool,
    threads: Option<usize>,
    soft: Soft,
}

/// A published row, and ours that stand below it.
struct Group {
    table: u64,
    title: String,
    name: String,
    program: Program,
    paper: Value,
    ours: Vec<Setting>,
}

/// A row of table 5.
struct Component {
    name: String,
    /// The program and its method; all methods if there is none.
    of: Option<(Program, Option<String>)>,
    paper: Value,
}

struct Tables {
    groups: Vec<Group>,
    components: Vec<Component>,
    counts_title: String,
}

/// One row of ours.
struct Row<'a> {
    group: &'a Group,
    setting: &'a Setting,
    proof: Result<Proof, String>,
    /// Whether the row ran out of time.
    late: bool,
    cpu_seconds: f64,
    /// Average and maximum, in bytes.
    memory: (u64, u64),
}

/// Our figures of table 5: locations and soft invariants, restricted and full.
struct Counted<'a> {
    component: &'a Component,
    /// By interleaving: locations; soft invariants of the text, and found.
    ours: [(usize, usize, usize); 2],
}

pub(super) fn run(args: &BenchArgs, context: &Context) -> CommandResult {
    if args.model != BenchModel::All {
        return Err(anyhow!(
            "this suite has rows under sc only; leave --model out"
        ));
    }
    let suite = suite(args)?;
    context.prepare_last_words(context.document());
    let cancelled = || context.limits.cancel.load(Ordering::Relaxed);
    let mut rows = Vec::new();
    let mut wanted = 0;
    for group in &suite.groups {
        for setting in &group.ours {
            wanted += 1;
            if !cancelled() {
                rows.push(measure(args, context, group, setting));
            }
        }
    }
    let counted: Vec<Counted<'_>> = suite
        .components
        .iter()
        .take_while(|_| !cancelled())
        .map(count)
        .collect::<Result<_>>()?;
    let mut values: Vec<Value> = rows.iter().map(value).collect();
    values.extend(counted.iter().map(counted_value));
    let document = Document {
        rows: Some(values),
        options: Some(json!({ "row_timeout": args.row_timeout.as_secs_f64() })),
        stats: Some(Stats {
            peak_memory_bytes: rows.iter().map(|row| row.memory.1).max().unwrap_or(0),
            ..crate::context::stats()
        }),
        ..context.document()
    };
    let tables = table::text(&rows, &suite.counts_title, &counted);
    context.print(&tables, &document);
    Ok(if rows.len() == wanted {
        Outcome::Done
    } else {
        Outcome::Unknown
    })
}

// ---- the suite

fn program(args: &BenchArgs, name: &str) -> Result<Program> {
    match heap::parse(SUITE.file(args, name)?) {
        Ok(parsed) => Ok(parsed.program),
        Err(diagnostics) => Err(anyhow!("{}", diagnostics.render(false))),
    }
}

fn suite(args: &BenchArgs) -> Result<Tables> {
    let index = SUITE.file(args, "suite.json")?;
    let index: Value = serde_json::from_str(index.text())
        .with_context(|| format!("{} is no JSON", index.name()))?;
    let part = args.program.as_deref().unwrap_or_default().to_lowercase();
    let is_wanted = |name: &str| name.to_lowercase().contains(&part);
    let mut groups = Vec::new();
    for table in list(&index, "tables")? {
        for group in list(table, "groups")? {
            let name = text(group, "program")?;
            if is_wanted(name) {
                groups.push(Group {
                    table: table["table"].as_u64().unwrap_or(0),
                    title: text(table, "title")?.to_owned(),
                    name: name.to_owned(),
                    program: program(args, text(group, "file")?)?,
                    paper: group["paper"].clone(),
                    ours: list(group, "ours")?
                        .iter()
                        .map(setting)
                        .collect::<Result<_>>()?,
                });
            }
        }
    }
    let mut components = Vec::new();
    for row in list(&index["counts"], "rows")? {
        let name = text(row, "component")?;
        if !is_wanted(name) {
            continue;
        }
        let of = match row["file"].as_str() {
            None => None,
            Some(file) => {
                let method = row["method"].as_str().map(str::to_owned);
                Some((program(args, file)?, method))
            }
        };
        components.push(Component {
            name: name.to_owned(),
            of,
            paper: row["paper"].clone(),
        });
    }
    Ok(Tables {
        groups,
        components,
        counts_title: text(&index["counts"], "title")?.to_owned(),
    })
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v Vec<Value>> {
    let found = value[key].as_array();
    found.with_context(|| format!("suite.json lacks a list `{key}`"))
}

fn setting(value: &Value) -> Result<Setting> {
    Ok(Setting {
        interleaving: match text(value, "interleaving")? {
            "full" => Interleaving::Full,
            "restricted" => Interleaving::Restricted,
            other => return Err(anyhow!("suite.json: interleaving `{other}`")),
        },
        collapse: value["collapse"].as_bool().unwrap_or(true),
        threads: value["threads"]
            .as_u64()
            .and_then(|n| usize::try_from(n).ok()),
        soft: match text(value, "soft")? {
            "none" => Soft::None,
            "hand" => Soft::Hand,
            "auto" => Soft::Found,
            "over" => Soft::Over,
            "all" => Soft::All,
            other => return Err(anyhow!("suite.json: soft `{other}`")),
        },
    })
}

/// The program as the setting sees it: the text's soft invariants are for `hand` only.
fn seen_by(program: &Program, soft: Soft) -> Program {
    let mut program = program.clone();
    if soft != Soft::Hand {
        for method in &mut program.methods {
            method.body.softs.clear();
        }
    }
    program
}

// ---- rows

fn measure<'a>(
    args: &BenchArgs,
    context: &Context,
    group: &'a Group,
    setting: &'a Setting,
) -> Row<'a> {
    usage::forget_peak();
    let cpu = usage::cpu_seconds();
    let program = seen_by(&group.program, setting.soft);
    let ours = Instant::now().checked_add(args.row_timeout);
    let deadline = ours.into_iter().chain(context.limits.deadline).min();
    let (stop, over, late) = (
        AtomicBool::new(false),
        AtomicBool::new(false),
        AtomicBool::new(false),
    );
    let (proof, average) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let (mut sum, mut count) = (0_u64, 0_u64);
            while !over.load(Ordering::Relaxed) {
                sum += usage::resident_bytes();
                count += 1;
                let is_late = deadline.is_some_and(|at| Instant::now() >= at);
                if is_late || context.limits.cancel.load(Ordering::Relaxed) {
                    late.fetch_or(is_late, Ordering::Relaxed);
                    stop.store(true, Ordering::Relaxed);
                }
                thread::sleep(PERIOD);
            }
            sum / count.max(1)
        });
        let options = Options {
            interleaving: setting.interleaving,
            soft: setting.soft,
            collapse: setting.collapse,
            threads: setting.threads,
            cancel: Some(&stop),
            ..Options::default()
        };
        let proof = prove(&program, &options);
        over.store(true, Ordering::Relaxed);
        (proof, watch.join().unwrap_or(0))
    });
    Row {
        group,
        setting,
        proof: proof.map_err(|no| no.what),
        late: late.load(Ordering::Relaxed),
        cpu_seconds: usage::cpu_seconds() - cpu,
        memory: (average, usage::peak_bytes()),
    }
}

const fn interleaving_word(interleaving: Interleaving) -> &'static str {
    match interleaving {
        Interleaving::Full => "full",
        Interleaving::Restricted => "restricted",
    }
}

const fn soft_word(soft: Soft) -> &'static str {
    match soft {
        Soft::None => "none",
        Soft::Hand => "hand",
        Soft::Found => "auto",
        Soft::Over => "over",
        Soft::All => "all",
    }
}

fn verdict(row: &Row<'_>) -> &'static str {
    match &row.proof {
        Ok(proof) if proof.holds() => "holds",
        Ok(_) | Err(_) => "unknown",
    }
}

/// Why there is no proof.
fn remark(row: &Row<'_>) -> String {
    match &row.proof {
        Err(what) => format!("{what} is not supported"),
        Ok(proof) if proof.holds() => String::new(),
        Ok(_) if row.late => "T/O".to_owned(),
        Ok(proof) => match proof.messages.first() {
            Some(message) => format!("may show: {message}"),
            None => proof.reason.clone().unwrap_or_default(),
        },
    }
}

/// A row for scripts.
fn value(row: &Row<'_>) -> Value {
    let setting = row.setting;
    let mut value = json!({
        "table": row.group.table,
        "program": row.group.name,
        "model": "sc",
        "method": soft_word(setting.soft),
        "interleaving": interleaving_word(setting.interleaving),
        "collapsed": setting.collapse,
        "threads": setting.threads,
        "verdict": verdict(row),
        "paper": row.group.paper,
        "stats": {
            "cpu_seconds": row.cpu_seconds,
            "average_memory_bytes": row.memory.0,
            "peak_memory_bytes": row.memory.1,
        },
    });
    if let Ok(proof) = &row.proof {
        let stats = &mut value["stats"];
        stats["states"] = json!(proof.kept);
        stats["stored"] = json!(proof.stored);
        stats["structures"] = json!(proof.built);
        stats["locations"] = json!(proof.text.locations);
        stats["soft_invariants"] = json!(proof.text.soft);
        stats["soft_invariants_defined"] = json!(proof.text.defined);
    }
    let why = remark(row);
    if !why.is_empty() {
        value["reason"] = json!(why);
    }
    value
}

// ---- table 5

fn count(component: &Component) -> Result<Counted<'_>> {
    let both = [Interleaving::Restricted, Interleaving::Full];
    let mut ours = [(1, 0, 0); 2];
    if let Some((program, method)) = &component.of {
        for (ours, interleaving) in ours.iter_mut().zip(both) {
            let by_soft = |soft: Soft| {
                let program = seen_by(program, soft);
                let made = counts(&program, interleaving, soft);
                let made = made.map_err(|no| anyhow!("{}: {}", component.name, no.what))?;
                Ok::<_, anyhow::Error>(total(&made, method.as_deref()))
            };
            let (hand, found) = (by_soft(Soft::Hand)?, by_soft(Soft::Found)?);
            *ours = (hand.0, hand.1, found.1);
        }
    }
    Ok(Counted { component, ours })
}

/// Locations and soft invariants of a method, or of all and of `idle`.
fn total(counts: &BTreeMap<String, Count>, method: Option<&str>) -> (usize, usize) {
    let wanted = counts
        .iter()
        .filter(|(name, _)| method.is_none_or(|method| *name == method));
    let idle = usize::from(method.is_none());
    wanted.fold((idle, 0), |(locations, soft), (_, count)| {
        (locations + count.locations, soft + count.soft)
    })
}

fn counted_value(row: &Counted<'_>) -> Value {
    let side = |(locations, hand, found): (usize, usize, usize)| json!({ "locations": locations, "hand": hand, "auto": found });
    json!({
        "table": 5,
        "program": row.component.name,
        "model": "sc",
        "method": "count",
        "paper": row.component.paper,
        "restricted": side(row.ours[0]),
        "full": side(row.ours[1]),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    #[test]
    fn the_suite_is_complete() {
        let words = ["palisade", "bench", "soft"];
        let arguments = Arguments::try_parse_from(words).expect("valid");
        let Command::Bench(args) = arguments.command else {
            panic!("another command");
        };
        let suite = suite(&args).expect("the suite can be read");
        let tables: Vec<u64> = suite.groups.iter().map(|g| g.table).collect();
        assert_eq!(tables, [2, 2, 3, 3, 3, 4, 4, 6, 6, 6, 6, 7, 7, 8]);
        assert_eq!(suite.components.len(), 6, "table 5");
        for group in &suite.groups {
            assert!(group.paper["states"].is_u64() && group.paper["stored"].is_u64());
            assert!(group.paper["seconds"].is_number(), "{}", group.name);
            assert!(!group.ours.is_empty());
        }
    }
}
