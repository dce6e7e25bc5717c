//! *Experiments*: the tables of the papers beside ours. A [`Suite`] is data (`suites/`): programs,
//! what a person would give, the published figures. Its file here says which rows that makes
//! and how one is measured; everything else, for all suites, is the one loop in [`run`].
//!
//! | file | term |
//! |---|---|
//! | `suite` | files of a suite, built in or from a folder |
//! | `table` | rows as text: columns are data |
//! | `plot` | cost against the number of threads, as a picture |
//! | `cupex` | predicate abstraction with given predicates |
//! | `fewest` | the fewest fences of these programs under TSO and PSO |
//! | `fences`, `rma` | the fewest fences and flushes; constructions of Boolean programs |
//! | `extrapolated` | the Boolean programs of the suite `rma` |
//! | `sapa` | many threads |
//! | `mixed` | its mixed predicates taken as local or as shared |
//! | `scale` | cost of `explore` against threads, rounds and buffers |
//! | `soft` | soft invariants |

mod cupex;
mod extrapolated;
mod fences;
mod fewest;
mod mixed;
mod plot;
mod rma;
mod sapa;
mod scale;
mod soft;
mod suite;
mod synthesis;
mod table;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use palisade_program::Model;
use palisade_report::usage;
use palisade_verify::{Options, Strategy};
use serde_json::{Value, json};

use crate::table::{Line, Table};

/// The suites under `suites/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suite {
    /// Predicate abstraction with given predicates.
    Cupex,
    /// The fewest fences of its programs, under TSO against PSO.
    FewestFences,
    /// The fewest fences.
    Fences,
    /// The fewest flushes.
    Rma,
    /// Ways to make the Boolean program under RMA.
    Constructions,
    /// Many threads.
    Sapa,
    /// What `explore` costs.
    Scale,
    /// Soft invariants.
    Soft,
}

/// Which rows are wanted, and their limits.
#[derive(Clone, Debug)]
pub struct Request {
    /// The suite.
    pub suite: Suite,
    /// Only this model; those of the suite if none.
    pub model: Option<Model>,
    /// Only buffers of this size.
    pub cells: Option<u32>,
    /// Only programs whose names contain this.
    pub program: Option<String>,
    /// Only this strategy.
    pub strategy: Option<Strategy>,
    /// Read the suite from here.
    pub folder: Option<PathBuf>,
    /// The most that one row may take.
    pub row_timeout: Duration,
    /// When all must end.
    pub deadline: Option<Instant>,
    /// Raised when all must end.
    pub cancel: Arc<AtomicBool>,
    /// Is told each row when it is there, in a line.
    pub announce: Option<fn(&str)>,
}

impl Request {
    /// All of a suite, a minute for each row.
    #[cfg(test)]
    fn all(suite: Suite) -> Self {
        Self {
            suite,
            model: None,
            cells: None,
            program: None,
            strategy: None,
            folder: None,
            row_timeout: Duration::from_mins(1),
            deadline: None,
            cancel: Arc::default(),
            announce: None,
        }
    }

    /// The end of a row that begins now.
    fn row_deadline(&self) -> Option<Instant> {
        let ours = Instant::now().checked_add(self.row_timeout);
        ours.into_iter().chain(self.deadline).min()
    }

    /// How the program of a row that begins now is verified.
    fn verification(&self, model: Model) -> Options {
        Options {
            model,
            deadline: self.row_deadline(),
            cancel: self.cancel.clone(),
            ..Options::default()
        }
    }

    fn is_over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Why a suite could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(String, std::io::Error),
    /// Something is wrong with the suite.
    #[error("{0}")]
    Suite(String),
    /// Something is wrong with one of its programs: what, and where.
    #[error("{0}")]
    Program(String),
    /// The suite has no rows under this model.
    #[error("{0}")]
    Model(&'static str),
}

/// The rows of a suite.
#[derive(Debug)]
pub struct Results {
    /// As a table.
    pub text: String,
    /// For scripts.
    pub rows: Vec<Value>,
    /// The most memory that a row took, in bytes.
    pub memory: u64,
    /// Whether all rows were run.
    pub is_complete: bool,
}

/// What a row gave.
struct Row {
    /// For scripts. What it cost is added to its `stats`, if it has any.
    value: Value,
    /// What the table shows instead of values of the same names.
    shown: Value,
}

/// A row to be measured.
struct Case {
    /// The number of its table; none if it stands in the summary only.
    table: Option<usize>,
    /// Rows of the same group stand below the same published rows.
    group: String,
    /// The published rows.
    paper: Vec<Value>,
    run: Box<dyn FnOnce(&Request) -> Row>,
}

/// Lines for a table, made of all rows.
type Summary = Box<dyn Fn(&[Value]) -> Vec<Value>>;

/// What a suite is made of.
struct Plan {
    /// Stands above all tables.
    legend: &'static str,
    tables: Vec<Table>,
    cases: Vec<Case>,
    /// Lines made of all rows, for the last table.
    summary: Option<Summary>,
}

impl Plan {
    /// A suite with one table.
    fn of_one(legend: &'static str, columns: &'static str, cases: Vec<Case>) -> Self {
        let table = Table {
            title: String::new(),
            indent: "",
            columns,
            unpublished: "?",
        };
        Self {
            legend,
            tables: vec![table],
            cases,
            summary: None,
        }
    }
}

fn plan(request: &Request) -> Result<Plan, Error> {
    match request.suite {
        Suite::Cupex => cupex::plan(request),
        Suite::FewestFences => fewest::plan(request),
        Suite::Fences => fences::plan(request),
        Suite::Rma => rma::plan(request),
        Suite::Constructions => rma::constructions(request),
        Suite::Sapa => sapa::plan(request),
        Suite::Scale => scale::plan(request),
        Suite::Soft => soft::plan(request),
    }
}

/// Runs a suite: every row that is wanted, until time is over.
pub fn run(request: &Request) -> Result<Results, Error> {
    let plan = plan(request)?;
    let wanted = plan.cases.len();
    let mut lines: Vec<Vec<Line>> = plan.tables.iter().map(|_| Vec::new()).collect();
    let mut rows = Vec::new();
    let mut memory = 0;
    let mut group = None;
    for case in plan.cases {
        if request.is_over() {
            break;
        }
        let (mut row, cpu_seconds, peak) = metered(|| (case.run)(request));
        if let Some(stats) = row.value.get_mut("stats").and_then(Value::as_object_mut) {
            stats.insert("cpu_seconds".to_owned(), json!(cpu_seconds));
            stats.insert("peak_memory_bytes".to_owned(), json!(peak));
        }
        memory = memory.max(peak);
        if let Some(announce) = request.announce {
            announce(&announcement(&row.value, cpu_seconds));
        }
        if let Some(table) = case.table {
            if group.as_ref() != Some(&case.group) {
                lines[table].extend(case.paper.into_iter().map(Line::paper));
            }
            lines[table].push(Line::ours(row.value.clone(), row.shown));
        }
        group = Some(case.group);
        rows.push(row.value);
    }
    if let (Some(summary), Some(last)) = (plan.summary, lines.last_mut()) {
        last.extend(summary(&rows).into_iter().map(Line::paper));
    }
    let mut text = plan.legend.to_owned();
    for (table, lines) in plan.tables.iter().zip(&lines) {
        text.push_str(&table.render(lines));
    }
    Ok(Results {
        text,
        is_complete: rows.len() == wanted,
        rows,
        memory,
    })
}

/// A row in a line.
fn announcement(row: &Value, cpu_seconds: f64) -> String {
    let parts = ["program", "model", "cells", "threads", "method", "verdict"];
    let parts = parts.map(|key| match &row[key] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    });
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{} ({cpu_seconds:.2} s)", parts.join(" "))
}

/// The picture of a suite: cost against the number of threads, as SVG.
pub fn plot(request: &Request) -> Result<String, Error> {
    if request.suite == Suite::Scale {
        return Ok(scale::plot(request));
    }
    sapa::plot(request)
}

/// What something gives, its processor time and the most memory it took.
fn metered<T>(run: impl FnOnce() -> T) -> (T, f64, u64) {
    usage::forget_peak();
    let cpu = usage::cpu_seconds();
    let result = run();
    (result, usage::cpu_seconds() - cpu, usage::peak_bytes())
}
