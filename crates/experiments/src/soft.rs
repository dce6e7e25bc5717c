//! The suite `soft`: tables 2 to 8 of *Collapsing Threads Safely with Soft Invariants*. The
//! paper's models are written by hand; ours are generated from the code in `suites/soft`. INC has a model
//! by hand, too, with the predicates of section 3.1 (rows `by hand`). A row
//! is one proof ([`palisade_linearize::prove`]): threads collapsed or not, and soft invariants
//! from nowhere, from the text, found by the prover, or over-defined. Table 5 counts locations
//! and soft invariants.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use palisade_frontend::heap;
use palisade_linearize::prove::{Count, Interleaving, Options, Soft, counts, prove};
use palisade_program::Source;
use palisade_program::heap::Program;
use palisade_report::usage;
use palisade_shape::analysis::{self, Input};
use palisade_shape::verdict::Verdict;
use serde_json::{Value, json};

use crate::suite::{Files, text, wrong};
use crate::table::Table;
use crate::{Case, Error, Plan, Request, Row};

/// How often a row looks at the clock and at its memory.
const PERIOD: Duration = Duration::from_millis(5);

const LEGEND: &str = "\
states: canonically abstract; running: those of them in which threads run, without those in which the
structure is made (the paper's models begin with it made); seconds: of processor time; avg, max MB: resident memory during the row,
with what earlier rows have left
locs: locations of threads; SIs: soft invariants, before and after the first pass
soft: none; hand: those of the text; auto: found by the prover; over: one for each location and thread
predicate without those that random runs refute; all: with these
";

const COLUMNS: &str = "\
program   < | {program}                                                  | {program}
          < | {whose}                                                    | paper
threads   < | {threads}                                                  | {threads}
collapsed < | {collapsed}                                                | {collapsed}
soft      < | {method}                                                   | {method}
verdict   < | {verdict}                                                  | holds
states    > | {stats.states}                                             | {states}
running   > | {stats.running}                                            | {states}
stored    > | {stats.stored}                                             | {stored}
seconds   > | {stats.cpu_seconds:.2}                                     | {seconds}
avg MB    > | {stats.average_memory_bytes:M}                             | {average_mb}
max MB    > | {stats.peak_memory_bytes:M}                                | {maximum_mb}
locs      > | {stats.locations}                                          | {locations}
SIs       > | {stats.soft_invariants_defined} -> {stats.soft_invariants} | {soft_invariants}
          < | {reason:?}                                                 |";

/// The table of counts.
const COUNTS: u64 = 5;

const COUNTS_COLUMNS: &str = "\
                       < | {program}              |
paper restricted: locs > | {paper.restricted.0}   |
SIs                    > | {paper.restricted.1}   |
ours: locs             > | {restricted.locations} |
hand                   > | {restricted.hand}      |
auto                   > | {restricted.auto}      |
paper full: locs       > | {paper.full.0}         |
SIs                    > | {paper.full.1}         |
ours: locs             > | {full.locations}       |
hand                   > | {full.hand}            |
auto                   > | {full.auto}            |";

/// What is proved.
enum Subject {
    /// The model that is generated from code.
    Code(Program),
    /// A model that was written by hand.
    Model(Model),
}

/// A model as text.
struct Model {
    program: Source,
    structures: Source,
    /// Macros that choose a variant.
    defines: Vec<(String, String)>,
}

/// What came of a row.
struct Measured {
    holds: bool,
    /// Why it does not hold.
    why: Option<String>,
    stats: Value,
}

/// How a row is to be proved.
#[derive(Clone, Copy, Debug)]
struct Setting {
    interleaving: Interleaving,
    collapse: bool,
    threads: Option<usize>,
    soft: Soft,
}

pub(crate) fn plan(request: &Request) -> Result<Plan, Error> {
    if request.model.is_some() {
        return Err(Error::Model(
            "this suite has rows under sc only; leave --model out",
        ));
    }
    let files = Files {
        name: "soft",
        request,
    };
    let index = files.index()?;
    let mut tables = Vec::new();
    let mut cases = Vec::new();
    for table in list(&index, "tables")? {
        tables.push((table["table"].as_u64().unwrap_or(0), text(table, "title")?));
    }
    tables.push((COUNTS, text(&index["counts"], "title")?));
    tables.sort_unstable();
    let position = |number: u64| tables.iter().position(|table| table.0 == number);
    for table in list(&index, "tables")? {
        let number = table["table"].as_u64().unwrap_or(0);
        for (k, group) in list(table, "groups")?.iter().enumerate() {
            let name = text(group, "program")?;
            if !files.is_wanted(name) {
                continue;
            }
            let program = program(&files, text(group, "file")?)?;
            for ours in list(group, "ours")? {
                let setting = setting(ours)?;
                let subject = match ours["model"].as_str() {
                    Some(model) => Subject::Model(model_of(&files, model, ours)?),
                    None => Subject::Code(program.clone()),
                };
                let (name, published) = (name.to_owned(), group["paper"].clone());
                cases.push(Case {
                    table: position(number),
                    group: format!("{number} {k}"),
                    paper: vec![paper_line(&name, &published)],
                    run: Box::new(move |request| {
                        let mut row = measure(request, &subject, setting);
                        row.value["table"] = json!(number);
                        row.value["program"] = json!(name);
                        row.value["paper"] = published;
                        row
                    }),
                });
            }
        }
    }
    for row in list(&index["counts"], "rows")? {
        let name = text(row, "component")?;
        if files.is_wanted(name) {
            let value = counted(&files, name, row)?;
            cases.push(Case {
                table: position(COUNTS),
                group: String::new(),
                paper: Vec::new(),
                run: Box::new(|_| Row {
                    value,
                    shown: Value::Null,
                }),
            });
        }
    }
    let table = |(number, title): &(u64, &str)| Table {
        title: format!("table {number}: {title}"),
        indent: "  ",
        columns: if *number == COUNTS {
            COUNTS_COLUMNS
        } else {
            COLUMNS
        },
        unpublished: "-",
    };
    Ok(Plan {
        legend: LEGEND,
        tables: tables.iter().map(table).collect(),
        cases,
        summary: None,
    })
}

// ---- the suite

fn program(files: &Files<'_>, name: &str) -> Result<Program, Error> {
    let parsed = heap::parse(files.read(name)?).map_err(wrong)?;
    Ok(parsed.program)
}

fn model_of(files: &Files<'_>, name: &str, row: &Value) -> Result<Model, Error> {
    let defines = list(row, "defines")?.iter().filter_map(Value::as_str);
    Ok(Model {
        program: files.read(name)?,
        structures: files.read(text(row, "structures")?)?,
        defines: defines.map(|d| (d.to_owned(), "1".to_owned())).collect(),
    })
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v Vec<Value>, Error> {
    let missing = || Error::Suite(format!("suite.json lacks a list `{key}`"));
    value[key].as_array().ok_or_else(missing)
}

fn setting(value: &Value) -> Result<Setting, Error> {
    let unknown = |key: &str| Error::Suite(format!("suite.json: {key} `{}`", value[key]));
    let (interleaving, soft) = (text(value, "interleaving")?, text(value, "soft")?);
    let interleaving = [Interleaving::Full, Interleaving::Restricted]
        .into_iter()
        .find(|one| interleaving_word(*one) == interleaving);
    let soft = [Soft::None, Soft::Hand, Soft::Found, Soft::Over, Soft::All]
        .into_iter()
        .find(|one| soft_word(*one) == soft);
    Ok(Setting {
        interleaving: interleaving.ok_or_else(|| unknown("interleaving"))?,
        collapse: value["collapse"].as_bool().unwrap_or(true),
        threads: value["threads"].as_u64().map(|n| n as usize),
        soft: soft.ok_or_else(|| unknown("soft"))?,
    })
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

const fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// A published row for the table.
fn paper_line(name: &str, paper: &Value) -> Value {
    let mut line = paper.clone();
    let soft = paper["soft"] == true;
    line["program"] = json!(name);
    line["threads"] = json!(
        paper["threads"]
            .as_u64()
            .map_or("any".into(), |n| n.to_string())
    );
    line["collapsed"] = json!(yes(soft));
    line["method"] = json!(match (soft, paper["over_defined"] == true) {
        (false, _) => "none",
        (true, false) => "hand",
        (true, true) => "over",
    });
    line
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

fn measure(request: &Request, subject: &Subject, setting: Setting) -> Row {
    let deadline = request.row_deadline();
    let (stop, over, late) = (
        AtomicBool::new(false),
        AtomicBool::new(false),
        AtomicBool::new(false),
    );
    let (measured, average) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let (mut sum, mut count) = (0_u64, 0_u64);
            while !over.load(Ordering::Relaxed) {
                sum += usage::resident_bytes();
                count += 1;
                let is_late = deadline.is_some_and(|at| Instant::now() >= at);
                if is_late || request.is_over() {
                    late.fetch_or(is_late, Ordering::Relaxed);
                    stop.store(true, Ordering::Relaxed);
                }
                thread::sleep(PERIOD);
            }
            sum / count.max(1)
        });
        let measured = match subject {
            Subject::Code(program) => proved(program, setting, &stop),
            Subject::Model(model) => analysed(model, &stop),
        };
        over.store(true, Ordering::Relaxed);
        (measured, watch.join().unwrap_or(0))
    });
    let mut value = json!({
        "model": "sc",
        "method": soft_word(setting.soft),
        "interleaving": interleaving_word(setting.interleaving),
        "collapsed": setting.collapse,
        "threads": setting.threads,
        "by_hand": matches!(subject, Subject::Model(_)),
        "verdict": if measured.holds { "holds" } else { "unknown" },
        "stats": measured.stats,
    });
    value["stats"]["average_memory_bytes"] = json!(average);
    // Why there is no proof.
    let why = match measured.why {
        _ if measured.holds => None,
        Some(_) if late.into_inner() => Some("T/O".to_owned()),
        why => why,
    };
    if let Some(why) = why {
        value["reason"] = json!(why);
    }
    let whose = match subject {
        Subject::Code(_) => format!("ours, {}", interleaving_word(setting.interleaving)),
        Subject::Model(_) => "ours, by hand".to_owned(),
    };
    let shown = json!({
        "whose": whose,
        "collapsed": yes(setting.collapse),
        "threads": setting.threads.map_or("any".to_owned(), |n| n.to_string()),
    });
    Row { value, shown }
}

/// The proof of the model that is generated from code.
fn proved(program: &Program, setting: Setting, stop: &AtomicBool) -> Measured {
    let program = seen_by(program, setting.soft);
    let options = Options {
        interleaving: setting.interleaving,
        soft: setting.soft,
        collapse: setting.collapse,
        threads: setting.threads,
        cancel: Some(stop),
        ..Options::default()
    };
    match prove(&program, &options) {
        Err(no) => Measured {
            holds: false,
            why: Some(format!("{} is not supported", no.what)),
            stats: json!({}),
        },
        Ok(proof) => Measured {
            holds: proof.holds(),
            why: Some(match proof.messages.first() {
                Some(message) => format!("may show: {message}"),
                None => proof.reason.clone().unwrap_or_default(),
            }),
            stats: json!({
                "states": proof.kept,
                "running": proof.running,
                "stored": proof.stored,
                "structures": proof.built,
                "locations": proof.text.locations,
                "soft_invariants": proof.text.soft,
                "soft_invariants_defined": proof.text.defined,
            }),
        },
    }
}

fn input(source: &Source) -> Input<'_> {
    Input {
        name: source.name(),
        text: source.text(),
    }
}

/// The analysis of a model that was written by hand.
fn analysed(model: &Model, stop: &AtomicBool) -> Measured {
    let options = analysis::Options {
        defines: model.defines.clone(),
        cancel: Some(stop),
        ..analysis::Options::default()
    };
    let (program, structures) = (input(&model.program), input(&model.structures));
    match analysis::analyse(program, structures, &options) {
        Err(errors) => Measured {
            holds: false,
            why: Some(format!("{errors:?}")),
            stats: json!({}),
        },
        Ok(analysis) => {
            let fixpoint = &analysis.fixpoint;
            let message = fixpoint.messages.first();
            Measured {
                holds: matches!(analysis.verdict, Verdict::Holds { .. }),
                why: message.map(|m| format!("may show: {}", m.text)),
                stats: json!({
                    "states": fixpoint.kept(),
                    "running": fixpoint.kept(),
                    "stored": fixpoint.total,
                    "structures": fixpoint.intermediate,
                }),
            }
        }
    }
}

// ---- table 5

fn counted(files: &Files<'_>, name: &str, row: &Value) -> Result<Value, Error> {
    let method = row["method"].as_str();
    let program = row["file"]
        .as_str()
        .map(|file| program(files, file))
        .transpose()?;
    let side = |interleaving| {
        let by_soft = |soft: Soft| match &program {
            None => Ok((1, 0)),
            Some(program) => {
                let made = counts(&seen_by(program, soft), interleaving, soft);
                let made = made.map_err(|no| Error::Suite(format!("{name}: {}", no.what)))?;
                Ok(total(&made, method))
            }
        };
        let ((locations, hand), (_, found)) = (by_soft(Soft::Hand)?, by_soft(Soft::Found)?);
        Ok(json!({ "locations": locations, "hand": hand, "auto": found }))
    };
    Ok(json!({
        "table": COUNTS,
        "program": name,
        "model": "sc",
        "method": "count",
        "paper": row["paper"],
        "restricted": side(Interleaving::Restricted)?,
        "full": side(Interleaving::Full)?,
    }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_complete() {
        let plan = plan(&Request::all(crate::Suite::Soft)).expect("the suite can be read");
        let mut groups: Vec<(usize, &str, &Vec<Value>)> = Vec::new();
        for case in &plan.cases {
            let table = case.table.expect("each row has a table");
            groups.push((table, &case.group, &case.paper));
        }
        groups.dedup_by_key(|group| (group.0, group.1));
        let tables: Vec<usize> = groups.iter().map(|group| group.0 + 2).collect();
        assert_eq!(tables, [2, 2, 3, 3, 3, 4, 4, 6, 6, 6, 6, 7, 7, 8, 5]);
        let counts = plan.cases.iter().filter(|case| case.table == Some(3));
        assert_eq!(counts.count(), 6, "table 5");
        for paper in groups.iter().filter_map(|group| group.2.first()) {
            assert!(paper["states"].is_u64() && paper["stored"].is_u64());
            assert!(paper["seconds"].is_number(), "{paper}");
        }
    }
}
