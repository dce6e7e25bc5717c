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

use palisade_program::{AtomicKind, Event, Names, Source, Span, Standing, Trace, TraceStep};

use crate::style::{Ink, Style};
use crate::wrap::{width, wrap};

/// Blanks between columns.
const GAP: usize = 2;
/// No column is squeezed below this.
const NARROWEST: usize = 12;

/// No column of memory or buffers is squeezed below its longest word, up to this.
const LONGEST_WORD: usize = 24;

/// What goes on in the next line is moved to the right.
const INDENT: usize = 2;

/// One line of a cell.
#[derive(Clone, Default)]
struct Line {
    text: String,
    ink: Option<Ink>,
    /// Whether it is cut at the end of the cell instead of going on in the next line.
    cut: bool,
}

impl Line {
    fn new(text: String, ink: Option<Ink>) -> Self {
        Self {
            text,
            ink,
            cut: false,
        }
    }
}

/// One row of the table: a cell per column, each of some lines.
type Row = Vec<Vec<Line>>;

/// Values of memory cells by name.
type Memory = BTreeMap<String, i64>;

/// Entries of buffers by the buffer's name.
type Buffers = BTreeMap<String, Vec<String>>;

/// Which steps are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// Those that touch shared memory, each as one event, and the one that fails.
    Events,
    /// All of them.
    Full,
}

impl Detail {
    /// What is shown unless something else is asked for: events of programs with functions,
    /// which have many steps of their own between them.
    pub fn usual(names: &Names) -> Self {
        if names.functions.is_empty() {
            Self::Full
        } else {
            Self::Events
        }
    }
}

/// How traces are shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The text that the trace speaks of.
    pub source: &'a Source,
    /// What things are called.
    pub names: &'a Names,
    /// Which steps.
    pub detail: Detail,
    /// Colours.
    pub style: Style,
    /// Terminal cells a line, about: more when there are too many threads for that.
    pub width: usize,
}

impl View<'_> {
    /// The trace as text, every line ended by a line break.
    pub fn render(&self, trace: &Trace) -> String {
        let columns = Columns::new(self, trace);
        let rows = columns.rows();
        let natural = natural_widths(&columns.heads, &rows);
        let least = least_widths(&rows, columns.threads);
        let widths = fit(&natural, &least, columns.threads, self.width);
        let mut text = head_line(&columns.heads, &widths, self.style);
        for row in &rows {
            push_row(&mut text, row, &widths, self.style);
        }
        text
    }

    /// Which steps of a lasso are repeated for ever.
    fn repeated(&self, trace: &Trace) -> Option<String> {
        let round = trace.steps.get(trace.repeats?..)?;
        let first = round.first()?;
        let thread = trace.threads.get(first.thread)?;
        let mut lines = Vec::new();
        for step in round {
            let line = self.source.position(step.span.start).line;
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.sort_unstable();
        let words: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let noun = if words.len() == 1 { "line" } else { "lines" };
        let what = format!("{noun} {}", words.join(", "));
        Some(format!("{thread} repeats {what} for ever"))
    }

    /// Who stands where at the end, and the values that the violated condition names.
    pub fn ending(&self, trace: &Trace) -> Option<String> {
        let is_whole = |at: &Span| {
            self.names
                .functions
                .iter()
                .any(|(_, f)| f.start == at.start)
        };
        let has_moved = |thread: usize| {
            let mut own = trace.steps.iter().filter(|s| s.thread == thread);
            own.any(|s| !s.by_memory && !is_whole(&s.span))
        };
        let stands = |(thread, (name, at)): (usize, (&String, &Standing))| match at {
            Standing::Ended => format!("{name} has ended"),
            // Threads begin and end where their function does.
            Standing::Before(span) if is_whole(span) && has_moved(thread) => {
                format!("{name} is at the end of its function")
            }
            Standing::Before(span) if is_whole(span) => format!("{name} has not begun"),
            Standing::Before(span) => {
                let line = self.source.position(span.start).line;
                match self.names.function_at(*span) {
                    Some(function) => format!("{name} is at line {line} in {function}"),
                    None => format!("{name} is at line {line}"),
                }
            }
        };
        let all = trace.threads.iter().zip(&trace.standing);
        let all = all.enumerate().map(stands);
        let all = all.collect::<Vec<_>>().join(", ");
        let values = trace.because.iter();
        let values: Vec<String> = values.map(|(name, v)| format!("{name} is {v}")).collect();
        if let (Some(repeated), false) = (self.repeated(trace), all.is_empty()) {
            return Some(format!("{repeated}; {all}"));
        }
        match (all.is_empty(), values.is_empty()) {
            (true, _) => None,
            (false, true) => Some(format!("at the end {all}")),
            (false, false) => Some(format!("at the end {}; {all}", values.join(", "))),
        }
    }

    pub(crate) fn is_shown(&self, step: &TraceStep) -> bool {
        if self.detail == Detail::Full || step.failed {
            return true;
        }
        // Threads begin and end where their function does.
        let mut functions = self.names.functions.iter();
        let whole = functions.any(|(_, span)| span.start == step.span.start);
        !step.events.is_empty() && !(self.only_made_up(step) && (whole || step.by_memory))
    }

    /// What the step does to shared memory, in a few words.
    pub(crate) fn event(&self, step: &TraceStep, because: &[(String, i64)]) -> String {
        let events: Vec<&Event> = step.events.iter().collect();
        let word = |event: &Event| match event {
            Event::Read {
                cell,
                value,
                own,
                behind,
            } => {
                let own = if *own { " (own store)" } else { "" };
                let value = self.names.value(cell, *value);
                format!("{cell} is {value}{own}{}", stores_behind(*behind))
            }
            Event::Write {
                cell, value, below, ..
            } => {
                let value = self.names.value(cell, *value);
                format!("{cell} = {value}{}", stores_behind(*below))
            }
            Event::Fence => "fence".to_owned(),
            Event::Other => step.text.clone(),
        };
        let from_to = |cell: &str, old: i64, new: i64| {
            let [old, new] = [old, new].map(|value| self.names.value(cell, value));
            format!("{cell}: {old} -> {new}")
        };
        let mut text = match (step.block, events.as_slice()) {
            (_, _) if self.only_made_up(step) => String::new(),
            (
                Some(AtomicKind::Cas),
                [
                    Event::Read { cell, value, .. },
                    Event::Write {
                        cell: to,
                        value: new,
                        ..
                    },
                ],
            ) if cell == to => format!("cas succeeds, {}", from_to(cell, *value, *new)),
            (Some(AtomicKind::Cas), [Event::Read { cell, value, .. }]) => {
                format!("cas fails, {cell} is {}", self.names.value(cell, *value))
            }
            (
                Some(AtomicKind::Xchg | AtomicKind::FetchAdd),
                [
                    Event::Read { cell, value, .. },
                    Event::Write {
                        cell: to,
                        value: new,
                        ..
                    },
                ],
            ) if cell == to => from_to(cell, *value, *new),
            (Some(AtomicKind::Lock), [Event::Read { cell, .. }, Event::Write { .. }]) => {
                format!("locks {cell}")
            }
            (Some(AtomicKind::Unlock), [.., Event::Write { cell, .. }]) => {
                format!("unlocks {cell}")
            }
            (None, [one]) => word(one),
            (Some(_), events) => {
                let words: Vec<String> = events.iter().map(|event| word(event)).collect();
                words.join("; ")
            }
            (None, _) => String::new(),
        };
        text.push_str(&self.brings(step));
        if step.failed {
            let values: Vec<String> = because.iter().map(|(n, v)| format!("{n} is {v}")).collect();
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str("fails");
            if !values.is_empty() {
                text.push_str(": ");
                text.push_str(&values.join(", "));
            }
        }
        text
    }

    /// RC11: what an acquire has brought.
    fn brings(&self, step: &TraceStep) -> String {
        let users = step.brings.iter();
        let users = users.filter(|(cell, _)| !self.names.is_made_up(cell));
        let words: Vec<String> = users
            .map(|(cell, value)| format!("{cell} = {}", self.names.value(cell, *value)))
            .collect();
        if words.is_empty() {
            String::new()
        } else {
            format!("; brings {}", words.join(", "))
        }
    }

    fn only_made_up(&self, step: &TraceStep) -> bool {
        step.events.iter().all(|event| match event {
            Event::Read { cell, .. } | Event::Write { cell, .. } => self.names.is_made_up(cell),
            Event::Fence | Event::Other => false,
        })
    }
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
struct Columns<'a> {
    view: &'a View<'a>,
    trace: &'a Trace,
    /// The steps that are shown.
    steps: Vec<&'a TraceStep>,
    heads: Vec<String>,
    threads: usize,
    has_buffers: bool,
}

impl<'a> Columns<'a> {
    fn new(view: &'a View<'a>, trace: &'a Trace) -> Self {
        let has_buffers = trace.steps.iter().any(|step| !step.buffers.is_empty());
        let mut heads = trace.threads.clone();
        heads.push("memory".into());
        if has_buffers {
            heads.push("buffers".into());
        }
        Self {
            view,
            trace,
            steps: trace.steps.iter().filter(|s| view.is_shown(s)).collect(),
            heads,
            threads: trace.threads.len(),
            has_buffers,
        }
    }

    /// Memory at the start: all of it, or what is accessed.
    fn initial(&self) -> Memory {
        let accessed = |cell: &str| {
            let mut events = self.steps.iter().flat_map(|step| &step.events);
            events.any(|event| match event {
                Event::Read { cell: of, .. } | Event::Write { cell: of, .. } => of == cell,
                Event::Fence => false,
                Event::Other => true,
            })
        };
        let all = self.trace.initial.iter();
        all.filter(|(cell, _)| match self.view.detail {
            Detail::Full => true,
            Detail::Events => accessed(cell) && !self.view.names.is_made_up(cell),
        })
        .map(|(cell, value)| (cell.clone(), *value))
        .collect()
    }

    fn rows(&self) -> Vec<Row> {
        let no_buffers = Buffers::new();
        let mut memory = &self.trace.initial;
        let mut buffers = &no_buffers;
        let mut previous: Option<&TraceStep> = None;
        let mut functions: Vec<Option<&str>> = vec![None; self.threads];
        let mut first = self.empty_row();
        first[self.threads] = self.memory_lines(&Memory::new(), &self.initial());
        let mut rows = vec![first];
        for step in &self.steps {
            let repeats = previous.is_some_and(|p| same_place(p, step, self.view.source));
            let mut row = self.empty_row();
            if step.thread < self.threads {
                let function = self.view.names.function_at(step.span);
                let enters = !step.by_memory && functions[step.thread] != function;
                if enters {
                    functions[step.thread] = function;
                }
                row[step.thread] = self.step_lines(step, repeats && !enters, enters);
            }
            row[self.threads] = self.memory_lines(memory, &step.memory);
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

    /// The source line, and under it what the step does unless it says the same.
    fn step_lines(&self, step: &TraceStep, repeats: bool, enters: bool) -> Vec<Line> {
        if step.by_memory {
            return vec![Line::new(format!("~ {}", step.text), Some(Ink::Faint))];
        }
        let brief = self.view.detail == Detail::Events;
        let mut lines = Vec::new();
        let function = self.view.names.function_at(step.span);
        if let Some(function) = function.filter(|_| enters && brief) {
            lines.push(Line::new(format!("{function}:"), Some(Ink::Strong)));
        }
        let source = self.view.source;
        let start = step.span.start;
        let number = format!("{} | ", source.position(start).line);
        let file = source.file_at(start);
        let place = if file == source.name() {
            number.clone()
        } else {
            // The whole name is in the document; columns are narrow.
            format!("{}:{number}", file.rsplit('/').next().unwrap_or(file))
        };
        let whole = without_comment(source.line_at(start).trim());
        // Of a long line that part which the step is about.
        let part = source.slice(step.span);
        let room = self.view.width / (self.threads + 2);
        let code = if brief && width(whole) > room && !part.is_empty() {
            part.lines().next().unwrap_or(part)
        } else {
            whole
        };
        if !repeats {
            lines.push(Line {
                text: format!("{place}{code}"),
                ink: None,
                cut: brief,
            });
        }
        let detail = if brief {
            self.view.event(step, &self.trace.because)
        } else {
            without_temporary(&step.text).into_owned() + &self.view.brings(step)
        };
        // Which way control goes is seen by the next line; the test of a temporary
        // would be a riddle.
        let is_riddle = detail.starts_with("assume(") && detail.contains('$');
        if !detail.is_empty() && !is_riddle && (repeats || !says_the_same(code, &detail)) {
            let indent = " ".repeat(width(&number));
            lines.push(Line::new(format!("{indent}{detail}"), Some(Ink::Faint)));
        }
        lines
    }

    fn memory_lines(&self, before: &Memory, after: &Memory) -> Vec<Line> {
        let names = self.view.names;
        let hidden = |cell: &str| self.view.detail == Detail::Events && names.is_made_up(cell);
        let changed: Vec<String> = after
            .iter()
            .filter(|(name, value)| before.get(*name) != Some(value) && !hidden(name))
            .map(|(name, value)| format!("{name}={}", names.value(name, *value)))
            .collect();
        if changed.is_empty() {
            Vec::new()
        } else {
            vec![Line::new(changed.join(" "), None)]
        }
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

/// RC11: how old a store is.
fn stores_behind(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ", one store behind".to_owned(),
        n => format!(", {n} stores behind"),
    }
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
            let value = value.strip_prefix("reads ").unwrap_or(value);
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
        .map(|(name, entries)| Line::new(format!("{name}: {entries}"), None))
        .collect()
}

fn natural_widths(heads: &[String], rows: &[Row]) -> Vec<usize> {
    let widest = |(column, head): (usize, &String)| {
        rows.iter()
            .flat_map(|row| row[column].iter().map(|line| width(&line.text)))
            .chain([width(head)])
            .max()
            .unwrap_or(0)
    };
    heads.iter().enumerate().map(widest).collect()
}

/// What no column is narrower than: those of memory and buffers keep their words whole.
fn least_widths(rows: &[Row], threads: usize) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let longest = |column: usize| {
        let lines = rows.iter().flat_map(|row| &row[column]);
        let words = lines.flat_map(|line| line.text.split(' ')).map(width);
        words.max().unwrap_or(0).min(LONGEST_WORD) + INDENT
    };
    let least = |column: usize| {
        let words = if column < threads { 0 } else { longest(column) };
        NARROWEST.max(words)
    };
    (0..columns).map(least).collect()
}

/// Narrows columns until all fit into `cells`: first memory and buffers, whose
/// entries break well, then the threads; the widest first.
fn fit(natural: &[usize], least: &[usize], threads: usize, cells: usize) -> Vec<usize> {
    let available = cells.saturating_sub(GAP * natural.len());
    let mut widths = natural.to_vec();
    for part in [threads..natural.len(), 0..natural.len()] {
        let widest = natural.iter().copied().max().unwrap_or(0);
        let mut cap = widest.max(NARROWEST);
        while cap > NARROWEST && widths.iter().sum::<usize>() > available {
            cap -= 1;
            for column in part.clone() {
                widths[column] = widths[column].min(cap.max(least[column]));
            }
        }
    }
    widths
}

fn head_line(heads: &[String], widths: &[usize], style: Style) -> String {
    let mut text = String::new();
    let cells: Row = heads
        .iter()
        .map(|head| vec![Line::new(head.clone(), Some(Ink::Strong))])
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
    let broken = |line: &Line| {
        if line.cut {
            let text = cut(&line.text, cells);
            return vec![Line {
                text,
                ..line.clone()
            }];
        }
        // Code goes on under itself, behind the line number.
        let text = &line.text;
        let lead = text.len() - text.trim_start().len();
        let number = text.find(" | ").map_or(0, |at| at + 3);
        let lines = wrap(text, cells, lead.max(number) + INDENT);
        let lines = lines.into_iter();
        lines.map(|text| Line::new(text, line.ink)).collect()
    };
    cell.iter().flat_map(broken).collect()
}

/// The beginning of a text that fits into so many terminal cells.
fn cut(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let mut all = String::new();
    for c in text.chars() {
        if width(&all) + 2 > cells {
            break;
        }
        all.push(c);
    }
    all.truncate(all.trim_end().len());
    all.push('…');
    all
}

fn push_line(text: &mut String, row: &[Vec<Line>], index: usize, widths: &[usize], style: Style) {
    // Blanks are held back so that no line ends in them.
    let mut blanks = GAP;
    for (cell, &cells) in row.iter().zip(widths) {
        match cell.get(index).filter(|line| !line.text.is_empty()) {
            Some(line) => {
                text.push_str(&" ".repeat(blanks));
                match line.ink {
                    Some(ink) => text.push_str(&style.paint(ink, &line.text)),
                    None => text.push_str(&line.text),
                }
                blanks = cells.saturating_sub(width(&line.text)) + GAP;
            }
            None => blanks += cells + GAP,
        }
    }
    text.push('\n');
}
