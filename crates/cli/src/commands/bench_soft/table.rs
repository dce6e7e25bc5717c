//! The rows of `bench soft` as text: table by table, the paper's row above ours.

use std::fmt::Write;

use serde_json::Value;

use super::{Counted, Row, interleaving_word, remark, soft_word, verdict};

const COLUMNS: [&str; 13] = [
    "program",
    "",
    "threads",
    "collapsed",
    "soft",
    "verdict",
    "states",
    "stored",
    "seconds",
    "avg MB",
    "max MB",
    "locs",
    "SIs",
];
/// Columns of words; the others are numbers.
const WORDS: usize = 6;

const LEGEND: &str = "\
states: canonically abstract; seconds: of processor time; avg, max MB: resident memory during the row,
with what earlier rows have left
locs: locations of threads; SIs: soft invariants, before and after the first pass
soft: none; hand: those of the text; auto: found by the prover; over: one for each location and thread
predicate without those that random runs refute; all: with these
";

/// All tables.
pub(super) fn text(rows: &[Row<'_>], counts_title: &str, counted: &[Counted<'_>]) -> String {
    let mut out = LEGEND.to_owned();
    let mut lines = Vec::new();
    let mut tables: Vec<(u64, String, Vec<Vec<String>>)> = Vec::new();
    let mut shown: Option<&Row<'_>> = None;
    for row in rows {
        let table = row.group.table;
        if tables.last().is_none_or(|(number, _, _)| *number != table) {
            let title = row.group.title.clone();
            tables.push((table, title, vec![head()]));
        }
        lines.clear();
        if shown.is_none_or(|last| !std::ptr::eq(last.group, row.group)) {
            lines.push(paper_line(row));
        }
        lines.push(line(row));
        shown = Some(row);
        if let Some((_, _, all)) = tables.last_mut() {
            all.append(&mut lines);
        }
    }
    let mut counts = Some(counts_table(counted)).filter(|_| !counted.is_empty());
    for (number, title, lines) in &tables {
        if *number > 5
            && let Some(counts) = counts.take()
        {
            push(&mut out, 5, counts_title, &counts, 1);
        }
        push(&mut out, *number, title, lines, WORDS);
    }
    if let Some(counts) = counts {
        push(&mut out, 5, counts_title, &counts, 1);
    }
    out
}

fn push(out: &mut String, number: u64, title: &str, lines: &[Vec<String>], words: usize) {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        let cells = lines.iter().filter_map(|line| line.get(c));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    // Writing to a string does not fail.
    let _ = writeln!(out, "\ntable {number}: {title}\n");
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(c, (cell, width))| {
                if c < words || c >= COLUMNS.len() {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        let _ = writeln!(out, "  {}", cells.join("  ").trim_end());
    }
}

fn head() -> Vec<String> {
    COLUMNS.iter().map(|&c| c.to_owned()).collect()
}

fn threads(number: Option<u64>) -> String {
    number.map_or_else(|| "any".to_owned(), |n| n.to_string())
}

const fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn megabytes(bytes: u64) -> String {
    (bytes >> 20).to_string()
}

fn line(row: &Row<'_>) -> Vec<String> {
    let setting = row.setting;
    let mut line = vec![
        row.group.name.clone(),
        format!("ours, {}", interleaving_word(setting.interleaving)),
        threads(setting.threads.map(|n| n as u64)),
        yes(setting.collapse).to_owned(),
        soft_word(setting.soft).to_owned(),
        verdict(row).to_owned(),
    ];
    match &row.proof {
        Ok(proof) => line.extend([
            proof.kept.to_string(),
            proof.stored.to_string(),
            format!("{:.2}", row.cpu_seconds),
            megabytes(row.memory.0),
            megabytes(row.memory.1),
            proof.text.locations.to_string(),
            format!("{} -> {}", proof.text.defined, proof.text.soft),
        ]),
        Err(_) => line.extend((WORDS..COLUMNS.len()).map(|_| "-".to_owned())),
    }
    line.push(remark(row));
    line
}

fn paper_line(row: &Row<'_>) -> Vec<String> {
    let paper = &row.group.paper;
    let shown = |key: &str| match &paper[key] {
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let soft = paper["soft"].as_bool().unwrap_or(false);
    let how = match (soft, paper["over_defined"].as_bool().unwrap_or(false)) {
        (false, _) => "none",
        (true, false) => "hand",
        (true, true) => "over",
    };
    vec![
        row.group.name.clone(),
        "paper".to_owned(),
        threads(paper["threads"].as_u64()),
        yes(soft).to_owned(),
        how.to_owned(),
        "holds".to_owned(),
        shown("states"),
        shown("stored"),
        shown("seconds"),
        shown("average_mb"),
        shown("maximum_mb"),
        shown("locations"),
        shown("soft_invariants"),
    ]
}

/// Table 5.
fn counts_table(counted: &[Counted<'_>]) -> Vec<Vec<String>> {
    let head = [
        "",
        "paper restricted: locs",
        "SIs",
        "ours: locs",
        "hand",
        "auto",
        "paper full: locs",
        "SIs",
        "ours: locs",
        "hand",
        "auto",
    ];
    let mut lines = vec![head.iter().map(|&c| c.to_owned()).collect()];
    for row in counted {
        let mut line = vec![row.component.name.clone()];
        for (key, (locations, hand, found)) in ["restricted", "full"].into_iter().zip(row.ours) {
            let paper = &row.component.paper[key];
            line.extend([&paper[0], &paper[1]].map(Value::to_string));
            line.extend([locations, hand, found].map(|n| n.to_string()));
        }
        lines.push(line);
    }
    lines
}
