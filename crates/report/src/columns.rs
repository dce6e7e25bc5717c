//! *Columns*: a trace in the terminal. One column per thread, time downward;
//! each step under its thread with the source line it comes from; memory and
//! store buffers in columns of their own, shown when they change.
//!
//! ```text
//!    left                  right                 memory   buffers
//! ---------------------------------------------------------------
//!                                                x=0 y=0
//!    4 | x = 1;                                           left: x=1
//!                          9 | r = y;
//!    ~ x = 1                                     x=1      left: -
//! ```
//!
//! `~` marks what the memory system does for a thread.

use crate::style::{Ink, Style};
use crate::trace::{Actor, Snapshot, Trace, TraceStep};
use crate::wrap::{pad, width, wrap};

/// Blanks between columns.
const GAP: usize = 2;
/// No column is squeezed below this.
const NARROWEST: usize = 12;

/// One line of a cell with its colour.
type Line = (String, Option<Ink>);

/// One row of the table: a cell per column, each of some lines.
type Row = Vec<Vec<Line>>;

/// The trace as text of about `cells` terminal cells a line (more when there
/// are too many threads for that), every line ended by a line break.
pub fn render(trace: &Trace, style: Style, cells: usize) -> String {
    let columns = Columns::new(trace);
    let rows = columns.rows(trace);
    let widths = fit(&natural_widths(&columns.heads, &rows), cells);
    let mut text = String::new();
    text.push_str(&head_line(&columns.heads, &widths, style));
    for row in &rows {
        push_row(&mut text, row, &widths, style);
    }
    text
}

/// Which columns there are.
struct Columns {
    heads: Vec<String>,
    threads: usize,
    has_buffers: bool,
}

impl Columns {
    fn new(trace: &Trace) -> Self {
        let holds_some = |state: &Snapshot| state.buffers.iter().any(|b| !b.is_empty());
        let has_buffers =
            holds_some(&trace.start) || trace.steps.iter().any(|step| holds_some(&step.after));
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

    fn rows(&self, trace: &Trace) -> Vec<Row> {
        let mut rows = vec![self.row(trace, None, &Snapshot::default(), &trace.start)];
        let mut before = &trace.start;
        let mut previous: Option<&TraceStep> = None;
        for step in &trace.steps {
            let repeats = previous.is_some_and(|p| same_place(p, step));
            let cell = (step.thread, step_lines(step, repeats));
            rows.push(self.row(trace, Some(cell), before, &step.after));
            before = &step.after;
            previous = Some(step);
        }
        rows
    }

    fn row(
        &self,
        trace: &Trace,
        step: Option<(usize, Vec<Line>)>,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Row {
        let mut row: Row = vec![Vec::new(); self.heads.len()];
        if let Some((thread, lines)) = step
            && thread < self.threads
        {
            row[thread] = lines;
        }
        let memory = memory_text(before, after);
        if !memory.is_empty() {
            row[self.threads].push((memory, None));
        }
        if self.has_buffers {
            row[self.threads + 1] = buffer_lines(trace, before, after);
        }
        row
    }
}

/// Whether the second step goes on at the line of the first, so that the
/// source need not be shown again.
fn same_place(first: &TraceStep, second: &TraceStep) -> bool {
    first.thread == second.thread
        && first.actor == Actor::Thread
        && second.actor == Actor::Thread
        && first.line.is_some()
        && first.line == second.line
}

/// The source line, and under it what the step does unless it says the same.
fn step_lines(step: &TraceStep, repeats: bool) -> Vec<Line> {
    if step.actor == Actor::Memory {
        return vec![(format!("~ {}", step.step), Some(Ink::Faint))];
    }
    let Some(line) = step.line else {
        return vec![(step.step.clone(), None)];
    };
    let number = format!("{line} | ");
    let source = step.source.trim();
    let mut lines = Vec::new();
    if !repeats {
        lines.push((format!("{number}{source}"), None));
    }
    if repeats || !says_the_same(source, &step.step) {
        let indent = " ".repeat(width(&number));
        lines.push((format!("{indent}{}", step.step), Some(Ink::Faint)));
    }
    lines
}

/// Whether two texts differ at most in blanks and a final semicolon.
fn says_the_same(source: &str, step: &str) -> bool {
    let bare = |text: &str| -> String {
        text.trim_end_matches(';')
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect()
    };
    bare(source) == bare(step)
}

fn memory_text(before: &Snapshot, after: &Snapshot) -> String {
    let cells: Vec<_> = after
        .changed_memory(before)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    cells.join(" ")
}

fn buffer_lines(trace: &Trace, before: &Snapshot, after: &Snapshot) -> Vec<Line> {
    after
        .changed_buffers(before)
        .map(|(thread, buffer)| {
            let content = if buffer.is_empty() {
                "-".to_owned()
            } else {
                buffer.join(" ")
            };
            (format!("{}: {content}", trace.thread_name(thread)), None)
        })
        .collect()
}

fn natural_widths(heads: &[String], rows: &[Row]) -> Vec<usize> {
    heads
        .iter()
        .enumerate()
        .map(|(column, head)| {
            rows.iter()
                .flat_map(|row| row[column].iter().map(|(text, _)| width(text)))
                .chain([width(head)])
                .max()
                .unwrap_or(0)
        })
        .collect()
}

/// Narrows the widest columns until all fit into `cells`.
fn fit(natural: &[usize], cells: usize) -> Vec<usize> {
    let available = cells.saturating_sub(GAP * natural.len());
    let capped = |cap: usize| natural.iter().map(|&w| w.min(cap)).collect::<Vec<_>>();
    let widest = natural.iter().copied().max().unwrap_or(0);
    let mut cap = widest.max(NARROWEST);
    while cap > NARROWEST && capped(cap).iter().sum::<usize>() > available {
        cap -= 1;
    }
    capped(cap)
}

fn head_line(heads: &[String], widths: &[usize], style: Style) -> String {
    let mut text = String::new();
    let cells: Vec<Vec<Line>> = heads
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
    let broken: Vec<Vec<Line>> = row
        .iter()
        .zip(widths)
        .map(|(cell, &width)| break_cell(cell, width))
        .collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(0);
    for index in 0..height {
        push_line(text, &broken, index, widths, style);
    }
}

fn break_cell(cell: &[Line], cells: usize) -> Vec<Line> {
    cell.iter()
        .flat_map(|(text, ink)| {
            let indent = width(text) - width(text.trim_start()) + 2;
            wrap(text, cells, indent)
                .into_iter()
                .map(|line| (line, *ink))
        })
        .collect()
}

fn push_line(text: &mut String, row: &[Vec<Line>], index: usize, widths: &[usize], style: Style) {
    let mut line = String::new();
    // Blanks are held back so that no line ends in them.
    let mut blanks = GAP;
    for (cell, &cells) in row.iter().zip(widths) {
        match cell.get(index).filter(|(content, _)| !content.is_empty()) {
            Some((content, ink)) => {
                line.push_str(&" ".repeat(blanks));
                line.push_str(&ink.map_or(content.clone(), |ink| style.paint(ink, content)));
                blanks = width(&pad(content, cells)) - width(content) + GAP;
            }
            None => blanks += cells + GAP,
        }
    }
    text.push_str(&line);
    text.push('\n');
}
