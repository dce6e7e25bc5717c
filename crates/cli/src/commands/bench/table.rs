//! The rows of a suite as text: the paper's rows above ours, in its columns.

use std::fmt::Write;

use palisade_program::{Unknown, Verdict};
use palisade_report::verdict::word;
use palisade_verify::Report;
use serde_json::{Value, json};

use super::{Row, published, seconds, solver_calls};
use crate::args::StrategyArg;

/// The headings of the columns.
const COLUMNS: [&str; 18] = [
    "program", "model", "k", "fences", "method", "verdict", "preds", "in cubes", "cubes", "size",
    "asked K", "calls K", "build s", "states K", "MB", "check s", "cert s", "",
];
/// Columns of words; the others are numbers.
const WORDS: [usize; 4] = [0, 1, 4, 5];

const LEGEND: &str = "\
preds: predicates over data + values of buffer counters (explicit here, predicates in the paper)
in cubes: cubes lifted from the proof under SC; cubes: those of two or more literals in the tables
asked: questions about cubes and states; calls: those that reached the solver (proof check apart);
enumerate (PE) and cubes (CE) ask the solver every time, as published; K: thousands
MB: the process's peak during the row; k: cells of each buffer; fences: the fewest that suffice
";

/// The rows as a table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = vec![COLUMNS.iter().map(|&c| c.to_owned()).collect()];
    let mut shown: Option<&Row> = None;
    for row in rows {
        let new = shown.is_none_or(|last| (&last.name, last.model) != (&row.name, row.model));
        if new {
            lines.extend(row.paper.iter().map(|paper| paper_line(row, paper)));
        }
        lines.push(line(row));
        shown = Some(row);
    }
    let width = |c: usize| lines.iter().map(|l| l[c].chars().count()).max();
    let widths: Vec<usize> = (0..COLUMNS.len()).map(|c| width(c).unwrap_or(0)).collect();
    let mut text = format!("{LEGEND}\n");
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(c, (cell, width))| {
                if WORDS.contains(&c) || c + 1 == COLUMNS.len() {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

/// Thousands, with as many decimals as matter.
fn thousands(n: u64) -> String {
    let k = n as f64 / 1000.0;
    if n >= 100_000 {
        format!("{k:.0}")
    } else if n >= 10_000 {
        format!("{k:.1}")
    } else {
        format!("{k:.3}")
    }
}

fn line(row: &Row) -> Vec<String> {
    let mut cells = vec![
        row.name.clone(),
        row.model.to_string(),
        row.cells.map_or("-".to_owned(), |k| k.to_string()),
        row.fences.to_string(),
        method(row.strategy),
    ];
    let Some(report) = &row.report else {
        cells.push("T/O".to_owned());
        cells.resize(COLUMNS.len() - 1, "-".to_owned());
        cells.push("not run: fewer cells took too long already".to_owned());
        return cells;
    };
    let stats = &report.stats;
    let tables = row.strategy != StrategyArg::Lazy;
    let of = |shown: bool, n: usize| if shown { n.to_string() } else { "-".to_owned() };
    let lifted = row.strategy == StrategyArg::Cubes;
    let calls = solver_calls(report);
    cells.extend([
        answer(report).to_owned(),
        match stats.control_predicates {
            0 => stats.predicates.to_string(),
            control => format!("{}+{control}", stats.predicates),
        },
        of(lifted, stats.lifted_cubes),
        of(tables, stats.cubes.0),
        of(tables, stats.cubes.1),
        thousands(calls + stats.cache_hits),
        thousands(calls),
        format!("{:.2}", seconds(report, "build")),
        thousands(stats.states as u64),
        format!("{:.0}", row.memory as f64 / f64::from(1 << 20)),
        format!("{:.2}", seconds(report, "check")),
        format!("{:.2}", seconds(report, "certify")),
        remark(report),
    ]);
    cells
}

fn method(strategy: StrategyArg) -> String {
    match published(strategy) {
        Some(paper) => format!("{} ({paper})", super::name(strategy)),
        None => super::name(strategy).to_owned(),
    }
}

/// What the row shows in one word.
fn answer(report: &Report) -> &'static str {
    match &report.verdict {
        Verdict::Unknown(Unknown::Time) => "T/O",
        verdict => word(verdict),
    }
}

fn remark(report: &Report) -> String {
    let noted = |word: &str| report.notes.iter().any(|note| note.contains(word));
    let mut strengthened = String::new();
    if noted("strengthened") {
        strengthened.push_str("; SC proof strengthened");
    }
    if noted("rule 4") {
        strengthened.push_str("; with rule 4");
    }
    if noted("copies") {
        strengthened.push_str("; copies mixed");
    }
    match &report.verdict {
        Verdict::Holds if report.certified => format!("certified{strengthened}"),
        Verdict::Holds | Verdict::Violated(_) | Verdict::Unknown(Unknown::Time) => strengthened,
        Verdict::Unknown(why) => format!("{why}{strengthened}"),
    }
}

/// A published row: figures are for buffers of one cell.
fn paper_line(row: &Row, paper: &Value) -> Vec<String> {
    let number = |key: &str| match &paper[key] {
        Value::Null => "?".to_owned(),
        other => other.to_string(),
    };
    let kilo = |key: &str| {
        paper[key]
            .as_f64()
            .map_or("?".to_owned(), |n| (n / 1000.0).to_string())
    };
    let cells = row.cells.map_or("-", |_| "1").to_owned();
    let method = paper["method"].as_str().unwrap_or("Trad");
    let mut line = vec![
        row.name.clone(),
        row.model.to_string(),
        cells,
        "?".to_owned(),
        format!("paper's {method}"),
    ];
    if paper["timeout"] == json!(true) {
        line.push("T/O".to_owned());
        line.resize(COLUMNS.len(), "-".to_owned());
        return line;
    }
    let input = match &paper["input_cubes"] {
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    line.extend([
        "holds".to_owned(),
        number("predicates"),
        input,
        number("cubes"),
        number("cube_size"),
        kilo("solver_calls"),
        kilo("solver_calls"),
        number("build_seconds"),
        kilo("states"),
        number("memory_mb"),
        number("check_seconds"),
        "-".to_owned(),
        String::new(),
    ]);
    line
}
