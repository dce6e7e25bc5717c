//! The *time line* of a witness: one row per thread, each call a bar from its call to
//! its return, and the interleaving below.
//!
//! ```text
//!   thread 1  |-- push(1) --|                |-- pop() = 1 --|
//!   thread 2            |------ pop() = 1 ------|
//! ```

use std::fmt::Write;

use palisade_program::Source;

use crate::machine::Wrong;
use crate::step::Fault;
use crate::track::WrongCommit;
use crate::witness::{Happening, Kind, Witness};

/// What a violation is, in words.
pub fn words(what: &Wrong) -> String {
    match what {
        Wrong::NotLinearizable => {
            "not linearizable: no order of the calls explains their results".to_owned()
        }
        Wrong::Step(fault) => fault.to_string(),
        Wrong::Never(_) => "a `never` holds".to_owned(),
        Wrong::Cycle => "cyclic list: following one field leads back to a node".to_owned(),
        Wrong::Leak => "leak: nothing leads to a node that was not freed".to_owned(),
        Wrong::Commit(wrong) => match wrong {
            WrongCommit::Twice => "a call commits twice".to_owned(),
            WrongCommit::NothingNoted => {
                "`confirm` without a `commit later` that left the specification unchanged"
                    .to_owned()
            }
            WrongCommit::Missing => "a call returns without a commit".to_owned(),
            WrongCommit::Result => {
                "a call returns another result than the specification gave at its commit".to_owned()
            }
        },
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NullDereference => "null dereference",
            Self::UseAfterFree => "use after free",
            Self::DoubleFree => "a node is freed twice",
            Self::NotHeld => "a lock is given back that the thread does not hold",
            Self::Overflow => "a number leaves the range of 64 bits",
            Self::Assertion => "an assertion fails",
            Self::Index => "an index is out of range",
        })
    }
}

/// A call of the time line.
struct Bar {
    thread: usize,
    label: String,
    begin: usize,
    end: Option<usize>,
}

/// Calls with the columns at which they begin and end, and the width of all.
fn bars(happenings: &[Happening]) -> (Vec<Bar>, usize) {
    let mut bars: Vec<Bar> = Vec::new();
    let mut column = 0;
    // A bar must be wide enough for its label, which names the result.
    let result_of = |from: usize, thread: usize| {
        let later = happenings[from..].iter().filter(|h| h.thread == thread);
        let mut returns = later.filter_map(|h| match &h.kind {
            Kind::Return(value) => Some(value.clone()),
            Kind::Call(_) | Kind::Step(_) | Kind::Flush(_) => None,
        });
        returns.next().flatten()
    };
    for (index, happening) in happenings.iter().enumerate() {
        match &happening.kind {
            Kind::Call(text) => {
                let label = match result_of(index, happening.thread) {
                    Some(value) => format!("{text} = {value}"),
                    None => text.clone(),
                };
                bars.push(Bar {
                    thread: happening.thread,
                    label,
                    begin: column,
                    end: None,
                });
                column += 2;
            }
            Kind::Return(_) => {
                let open = |bar: &&mut Bar| bar.thread == happening.thread && bar.end.is_none();
                if let Some(bar) = bars.iter_mut().find(open) {
                    let end = column.max(bar.begin + bar.label.len() + 7);
                    bar.end = Some(end);
                    column = end + 2;
                }
            }
            Kind::Step(_) | Kind::Flush(_) => {}
        }
    }
    let open = bars.iter().filter(|bar| bar.end.is_none());
    let widths = open.map(|bar| bar.begin + bar.label.len() + 7);
    let width = widths.chain([column]).max().unwrap_or(0);
    (bars, width)
}

/// The rows of the threads.
fn rows(witness: &Witness) -> String {
    let (bars, width) = bars(&witness.happenings);
    let threads = witness.happenings.iter().map(|h| h.thread + 1).max();
    let mut out = String::new();
    for thread in 0..threads.unwrap_or(0) {
        let mut row = String::new();
        for bar in bars.iter().filter(|bar| bar.thread == thread) {
            while row.len() < bar.begin {
                row.push(' ');
            }
            let end = bar.end.unwrap_or(width);
            let room = end - bar.begin - 1;
            let dashes = room.saturating_sub(bar.label.len() + 2);
            let (left, right) = (dashes / 2, dashes - dashes / 2);
            let closing = if bar.end.is_some() { "|" } else { "..." };
            // Writing to a string does not fail.
            let _ = write!(
                row,
                "|{} {} {}{closing}",
                "-".repeat(left),
                bar.label,
                "-".repeat(right)
            );
        }
        let _ = writeln!(out, "  thread {}  {}", thread + 1, row.trim_end());
    }
    out
}

/// The witness as text: time line, then the interleaving.
pub fn text(witness: &Witness, source: &Source) -> String {
    let mut out = rows(witness);
    if !out.is_empty() {
        out.push('\n');
    }
    let start: Vec<String> = witness
        .start
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    // Writing to a string does not fail.
    let _ = writeln!(out, "  at the start: {}", start.join(", "));
    for happening in &witness.happenings {
        let line = source.position(happening.span.start).line;
        let thread = happening.thread + 1;
        let _ = match &happening.kind {
            Kind::Call(text) => {
                writeln!(out, "  thread {thread}  line {line:>3}  {text} is called")
            }
            Kind::Step(text) => writeln!(out, "  thread {thread}  line {line:>3}    {text}"),
            Kind::Flush(text) => {
                writeln!(
                    out,
                    "  thread {thread}  line {line:>3}    ~ {text} reaches memory"
                )
            }
            Kind::Return(None) => writeln!(out, "  thread {thread}  line {line:>3}  returns"),
            Kind::Return(Some(value)) => {
                writeln!(out, "  thread {thread}  line {line:>3}  returns {value}")
            }
        };
    }
    out
}
