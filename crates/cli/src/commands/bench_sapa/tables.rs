//! The rows as text: table 1 of seed 003 (proofs), then table 2 (proofs and bugs; its
//! columns for the unsound variants are the paper's figures only, Palisade has none).

use std::fmt::Write;

use palisade_verify::Threads;
use serde_json::Value;

use super::{Experiment, Row};

pub(super) fn tables(experiments: &[Experiment], rows: &[Row]) -> String {
    let mut text = String::from(
        "Table 1: proofs. n threads, predicates, seconds for abstraction and for checking\n\
         (ours: for the search, in which abstraction is lazy, and for refinement).\n\n",
    );
    let head = [
        "program",
        "n",
        "",
        "oblivious",
        "abs",
        "check",
        "aware",
        "abs",
        "check",
        "CPU s",
        "",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    for experiment in experiments {
        for row in experiment.paper["table1"].as_array().into_iter().flatten() {
            table.push(paper(&experiment.title, row));
        }
        let own = |r: &&Row| r.name == experiment.name && r.is_safe;
        table.extend(rows.iter().filter(own).map(ours));
    }
    text.push_str(&aligned(&table));
    text.push_str(
        "\nTable 2: the safe program up to n threads, its unsafe twin from n threads on.\n\
         Ours: verdicts of the twin with one thread less and with n threads.\n\n",
    );
    let head = [
        "program",
        "safe",
        "unsafe",
        "mixed as local (unsound)",
        "mixed as shared (unsound)",
        "ours safe",
        "any",
        "n-1",
        "n",
        "CPU s",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    for experiment in experiments {
        table.push(second(experiment, rows));
    }
    text.push_str(&aligned(&table));
    text
}

fn show(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

fn paper(title: &str, row: &Value) -> Vec<String> {
    let mut line = vec![title.to_owned(), show(&row["threads"]), "paper".to_owned()];
    for side in ["oblivious", "aware"] {
        for key in ["predicates", "abstraction", "checking"] {
            line.push(show(&row[side][key]));
        }
    }
    line.extend([String::new(), String::new()]);
    line
}

fn ours(row: &Row) -> Vec<String> {
    let measured = &row.measured;
    let evidence = match (measured.verdict, measured.evidence) {
        ("holds", true) => "holds, certified",
        ("holds", false) => "holds, not certified",
        (other, _) => other,
    };
    let remark = if measured.verdict == "unknown" {
        format!("unknown: {}", measured.reason)
    } else {
        evidence.to_owned()
    };
    let nothing = || "-".to_owned();
    vec![
        row.title.clone(),
        row.threads(),
        "ours".to_owned(),
        nothing(),
        nothing(),
        nothing(),
        measured.predicates.to_string(),
        format!("{:.2}", measured.search),
        format!("{:.2}", measured.refine),
        format!("{:.2}", measured.cpu_seconds),
        remark,
    ]
}

fn second(experiment: &Experiment, rows: &[Row]) -> Vec<String> {
    let paper = &experiment.paper["table2"];
    let both = |key: &str| {
        format!(
            "{} / {}",
            show(&paper[key]["safe"]),
            show(&paper[key]["unsafe"])
        )
    };
    let found = |is_safe: bool, threads: Threads| {
        let wanted =
            |r: &&Row| r.name == experiment.name && r.is_safe == is_safe && r.threads == threads;
        rows.iter().find(wanted)
    };
    let verdict = |row: Option<&Row>| row.map_or("-", |r| r.measured.verdict).to_owned();
    let (twice, needed) = (2 * experiment.largest(), experiment.needed());
    let safe = found(true, Threads::Exactly(twice));
    let last = found(false, Threads::Exactly(needed));
    vec![
        experiment.title.clone(),
        show(&paper["safe"]),
        needed.to_string(),
        both("mixed_as_local"),
        both("mixed_as_shared"),
        format!("{} {twice}", verdict(safe)),
        verdict(found(true, Threads::Any)),
        verdict(found(false, Threads::Exactly(needed.wrapping_sub(1)))),
        format!("{} {needed}", verdict(last)),
        last.map_or("-".to_owned(), |r| format!("{:.2}", r.measured.cpu_seconds)),
    ]
}

/// Columns of equal width.
fn aligned(table: &[Vec<String>]) -> String {
    let columns = table.first().map_or(0, Vec::len);
    let width = |k: usize| table.iter().map(|row| row[k].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in table {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a string does not fail.
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
