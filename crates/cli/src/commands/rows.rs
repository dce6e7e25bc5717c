//! What the tables of `palisade bench` have in common: limits of a row, words for what a
//! synthesis has found, and columns that stand below each other.

use std::fmt::Write;
use std::time::Instant;

use palisade_fences::{End, Outcome as Found};
use palisade_program::Model;
use palisade_report::{Document, Stats};
use serde_json::{Value, json};

use crate::args::BenchArgs;
use crate::context::Context;

/// How the program of a row is verified: without hints, and until the row's time is over.
pub(super) fn options(
    args: &BenchArgs,
    context: &Context,
    model: Model,
) -> palisade_verify::Options {
    let ours = Instant::now().checked_add(args.row_timeout);
    palisade_verify::Options {
        model,
        hints: false,
        deadline: ours.into_iter().chain(context.limits.deadline).min(),
        cancel: context.limits.cancel.clone(),
        ..palisade_verify::Options::default()
    }
}

/// The document of a table; `memory` is the most that a row took.
pub(super) fn document(
    args: &BenchArgs,
    context: &Context,
    rows: Vec<Value>,
    memory: Option<u64>,
) -> Document {
    Document {
        rows: Some(rows),
        options: Some(json!({ "row_timeout": args.row_timeout.as_secs_f64() })),
        stats: Some(Stats {
            peak_memory_bytes: memory.unwrap_or(0),
            ..crate::context::stats()
        }),
        ..context.document()
    }
}

/// What a synthesis shows in one word.
pub(super) const fn answer(found: &Found) -> &'static str {
    match &found.end {
        End::Repaired(_) => "holds",
        End::WrongUnderSc(_) => "violated",
        End::NoRepair(_) | End::TooFew(_) | End::Unknown(_) => "unknown",
    }
}

/// Whether what was found is known to be the least.
pub(super) const fn minimum(found: &Found) -> &'static str {
    if found.is_minimum {
        "proved"
    } else {
        "unproved"
    }
}

/// What a synthesis has cost, for scripts.
pub(super) fn cost(found: &Found, cpu_seconds: f64, memory: u64) -> Value {
    let stats = &found.stats;
    let calls: u64 = stats.solver_calls.iter().map(|(_, n)| n).sum();
    json!({
        "predicates": found.predicates,
        "iterations": stats.iterations,
        "solver_calls": calls,
        "states": stats.states,
        "rounds": found.rounds,
        "bugs": found.bugs,
        "cpu_seconds": cpu_seconds,
        "peak_memory_bytes": memory,
    })
}

/// Lines of cells as a table; the columns in `words` are aligned to the left, numbers to the
/// right.
pub(super) fn aligned(heading: &str, lines: &[Vec<String>], words: &[usize]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |c: usize| lines.iter().map(|l| l[c].chars().count()).max();
    let widths: Vec<usize> = (0..columns).filter_map(width).collect();
    let mut text = format!("{heading}\n\n");
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(c, (cell, width))| {
                if words.contains(&c) {
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
