//! *Columns*: a trace in the terminal. One column per thread, time downward;
//! each step under its thread with the source line it comes from; memory and
//! store buffers in columns of their own, shown when they change.
//!
//! ```text
//!   left           right          memory   buffers
//! -------------------------------------------------
//!                                 x=0 y=0
//!   4 | x = 1;                             left: x=1
//!                  9 | r = y;
//!   ~ x = 1                       x=1      left: -
//! ```
//!
//! `~` marks what the memory system does for a thread.

use std::borrow::Cow;
use std::collections::BTreeMap;

use palisade_program::{Source, Trace, TraceStep, UNINITIALISED};

use crate::style::{Ink, Style};
use crate::wrap::{width, wrap};

/// Blanks between columns.
const GAP: usize = 2;
/// No column is squeezed below this.
const NARROWEST: usize = 12;

/// One line of a cell with its colour.
type Line = (String, Option<Ink>);

/// One row of the table: a cell per column, each of some lines.
type Row = Vec<Vec<Line>>;

/// Values of memory cells by name.
type Memory = BTreeMap<String, i64>;

/// Entries of buffers by the buffer's name.
type Buffers = BTreeMap<String, Vec<String>>;

/// The trace as text of about `cells` terminal cells a line (more when there
/// are too many threads for that), every line ended by a line break.
pub fn render(trace: &Trace, source: &Source, style: Style, cells: usize) -> String {
    let columns = Columns::new(trace);
    let rows = columns.rows(trace, source);
    let widths = fit(
        &natural_widths(&columns.heads, &rows),
        columns.threads,
        cells,
    );
    let mut text = head_line(&columns.heads, &widths, style);
    for row in &rows {
        push_row(&mut text, row, &widths, style);
    }
    text
}

/// How often another thread takes over; steps of the memory system count for
/// nobody.
pub fn context_switches(trace: &Trace) -> usize {
    let threads: Vec<usize> = trace
        .steps
        .iter()
        .filter(|step| !step.by_memory)
        .map(|step| step.thread)
        .collect();
    threads.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Which columns there are.
struct Columns {
    heads: Vec<String>,
    threads: usize,
    has_buffers: bool,
}

impl Columns {
    fn new(trace: &Trace) -> Self {
        let has_buffers = trace.steps.iter().any(|step| !step.buffers.is_empty());
        let mut heads = trace.threads.clone();
        heads.push("memory".into());
        if has_buffers {
            heads.push("buffers".into());
        }
        Self {
            heads,
            threads: trace.threads.len(),
            has_buffers,
        }
    }

    fn rows(&self, trace: &Trace, source: &Source) -> Vec<Row> {
        let no_buffers = Buffers::new();
        let mut memory = &trace.initial;
        let mut buffers = &no_buffers;
        let mut previous: Option<&TraceStep> = None;
        let mut first = self.empty_row();
        first[self.threads] = memory_lines(&Memory::new(), memory);
        let mut rows = vec![first];
        for step in &trace.steps {
            let repeats = previous.is_some_and(|p| same_place(p, step, source));
            let mut row = self.empty_row();
            if step.thread < self.threads {
                row[step.thread] = step_lines(step, source, repeats);
            }
            row[self.threads] = memory_lines(memory, &step.memory);
            if self.has_buffers {
                row[self.threads + 1] = buffer_lines(buffers, &step.buffers);
            }
            rows.push(row);
            memory = &step.memory;
            buffers = &step.buffers;
            previous = Some(step);
        }
        rows
    }

    fn empty_row(&self) -> Row {
        vec![Vec::new(); self.heads.len()]
    }
}

/// Whether the second step goes on at the line of the first, so that the
/// source need not be shown again.
fn same_place(first: &TraceStep, second: &TraceStep, source: &Source) -> bool {
    let line = |step: &TraceStep| {
        let start = step.span.start;
        (source.file_at(start), source.position(start).line)
    };
    first.thread == second.thread
        && !first.by_memory
        && !second.by_memory
        && line(first) == line(second)
}

/// The source line, and under it what the step does unless it says the same.
fn step_lines(step: &TraceStep, source: &Source, repeats: bool) -> Vec<Line> {
    if step.by_memory {
        return vec![(format!("~ {}", step.text), Some(Ink::Faint))];
    }
    let start = step.span.start;
    let line = source.position(start).line;
    let file = source.file_at(start);
    let number = format!("{line} | ");
    let place = if file == source.name() {
        number.clone()
    } else {
        // The whole name is in the document; columns are narrow.
        format!("{}:{number}", file.rsplit('/').next().unwrap_or(file))
    };
    let code = without_comment(source.line_at(start).trim());
    let mut lines = Vec::new();
    if !repeats {
        lines.push((format!("{place}{code}"), None));
    }
    let detail = without_temporary(&step.text);
    // Which way control goes is seen by the next line; the test of a temporary
    // would be a riddle.
    let is_riddle = detail.starts_with("assume(") && detail.contains('$');
    if !is_riddle && (repeats || !says_the_same(code, &detail)) {
        let indent = " ".repeat(width(&number));
        lines.push((format!("{indent}{detail}"), Some(Ink::Faint)));
    }
    lines
}

/// Without the temporaries of the front end, which mean nothing to people:
/// `$1 = x (0)` becomes `x is 0`, and `x = $1 + 1 (5)` becomes `x = 5`.
fn without_temporary(text: &str) -> Cow<'_, str> {
    let is_temporary = |name: &str| {
        let number = name.strip_prefix('$');
        number.is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
    };
    let parts = text.split_once(" = ").and_then(|(target, rest)| {
        let (source, value) = rest.strip_suffix(')')?.rsplit_once(" (")?;
        Some((target, source, value))
    });
    match parts {
        Some((target, source, value)) if is_temporary(target) && !source.contains('$') => {
            Cow::Owned(format!("{source} is {value}"))
        }
        Some((target, source, value)) if source.contains('$') => {
            Cow::Owned(format!("{target} = {value}"))
        }
        Some(_) | None => Cow::Borrowed(text),
    }
}

/// A line of code up to its `//` comment. Only for show: a `//` inside a string
/// would be cut too, and no front end has strings that matter.
fn without_comment(code: &str) -> &str {
    code.split("//").next().unwrap_or(code).trim_end()
}

/// Whether two texts differ at most in blanks and a final semicolon.
fn says_the_same(code: &str, step: &str) -> bool {
    let bare = |text: &str| -> String {
        let text = text.trim_end_matches(';');
        text.chars().filter(|c| !c.is_whitespace()).collect()
    };
    bare(code) == bare(step)
}

fn memory_lines(before: &Memory, after: &Memory) -> Vec<Line> {
    let changed: Vec<String> = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(value))
        .map(|(name, value)| match *value {
            UNINITIALISED => format!("{name}=?"),
            value => format!("{name}={value}"),
        })
        .collect();
    if changed.is_empty() {
        Vec::new()
    } else {
        vec![(changed.join(" "), None)]
    }
}

/// A line per buffer that has changed; `-` for one that is empty now.
fn buffer_lines(before: &Buffers, after: &Buffers) -> Vec<Line> {
    let emptied = before
        .keys()
        .filter(|name| !after.contains_key(*name))
        .map(|name| (name, "-".to_owned()));
    let changed = after
        .iter()
        .filter(|(name, entries)| before.get(*name) != Some(entries))
        .map(|(name, entries)| (name, entries.join("; ").replace(" = ", "=")));
    let mut all: Vec<(&String, String)> = emptied.chain(changed).collect();
    all.sort();
    all.into_iter()
        .map(|(name, entries)| (format!("{name}: {entries}"), None))
        .collect()
}

fn natural_widths(heads: &[String], rows: &[Row]) -> Vec<usize> {
    let widest = |(column, head): (usize, &String)| {
        rows.iter()
            .flat_map(|row| row[column].iter().map(|(text, _)| width(text)))
            .chain([width(head)])
            .max()
            .unwrap_or(0)
    };
    heads.iter().enumerate().map(widest).collect()
}

/// Narrows columns until all fit into `cells`: first memory and buffers, whose
/// entries break well, then the threads; the widest first.
fn fit(natural: &[usize], threads: usize, cells: usize) -> Vec<usize> {
    let available = cells.saturating_sub(GAP * natural.len());
    let mut widths = natural.to_vec();
    for part in [threads..natural.len(), 0..natural.len()] {
        let widest = natural.iter().copied().max().unwrap_or(0);
        let mut cap = widest.max(NARROWEST);
        while cap > NARROWEST && widths.iter().sum::<usize>() > available {
            cap -= 1;
            for column in part.clone() {
                widths[column] = widths[column].min(cap);
            }
        }
    }
    widths
}

fn head_line(heads: &[String], widths: &[usize], style: Style) -> String {
    let mut text = String::new();
    let cells: Row = heads
        .iter()
        .map(|head| vec![(head.clone(), Some(Ink::Strong))])
        .collect();
    push_row(&mut text, &cells, widths, style);
    let rule = widths.iter().sum::<usize>() + GAP * widths.len();
    text.push_str(&style.paint(Ink::Faint, &"-".repeat(rule)));
    text.push('\n');
    text
}

fn push_row(text: &mut String, row: &[Vec<Line>], widths: &[usize], style: Style) {
    let broken: Row = row
        .iter()
        .zip(widths)
        .map(|(cell, &cells)| break_cell(cell, cells))
        .collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(0);
    for index in 0..height {
        push_line(text, &broken, index, widths, style);
    }
}

fn break_cell(cell: &[Line], cells: usize) -> Vec<Line> {
    cell.iter()
        .flat_map(|(text, ink)| {
            // Code goes on under itself, behind the line number.
            let lead = text.len() - text.trim_start().len();
            let number = text.find(" | ").map_or(0, |at| at + 3);
            let indent = lead.max(number) + 2;
            let lines = wrap(text, cells, indent);
            lines.into_iter().map(|line| (line, *ink))
        })
        .collect()
}

fn push_line(text: &mut String, row: &[Vec<Line>], index: usize, widths: &[usize], style: Style) {
    // Blanks are held back so that no line ends in them.
    let mut blanks = GAP;
    for (cell, &cells) in row.iter().zip(widths) {
        match cell.get(index).filter(|(content, _)| !content.is_empty()) {
            Some((content, ink)) => {
                text.push_str(&" ".repeat(blanks));
                match ink {
                    Some(ink) => text.push_str(&style.paint(*ink, content)),
                    None => text.push_str(content),
                }
                blanks = cells.saturating_sub(width(content)) + GAP;
            }
            None => blanks += cells + GAP,
        }
    }
    text.push('\n');
}
