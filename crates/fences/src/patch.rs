//! *Patches*: fences as changes of the source text. A fence gets a line of its own
//! if the statement beside it has one, else it goes on the same line; a statement
//! that is the whole body of a branch or loop is put in braces together with its
//! fence; a place that the user marked is written over; `while (c) { ... }` with a
//! fence at its head becomes `while (1) { fence; if (!(c)) break; ... }`, and so does the
//! condition of a `for`. Nothing
//! else of the text changes.

use std::collections::BTreeMap;
use std::ops::Range;

use palisade_program::{FlushWords, Gap, Head, Order, Side, Source, Span};

use crate::orders::plan::Edits;
use crate::orders::text::{Words, rust_name};
use crate::plan::Level;

/// How fences are written in a language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spelling {
    /// A full fence, as a statement.
    pub full: String,
    /// A store-store fence, as a statement.
    pub store_store: String,
    /// What stands between statements, where they do not end by themselves.
    pub separator: &'static str,
    /// The header that a text needs which has fences.
    pub header: Option<&'static str>,
    /// How orders are written.
    pub words: Words,
}

impl Spelling {
    /// As in `.pal`.
    pub fn pal() -> Self {
        Self {
            full: "fence;".into(),
            store_store: "fence(ss);".into(),
            separator: "",
            header: None,
            words: Words::Pal,
        }
    }

    /// As in Rust, by full paths: nothing has to be imported.
    pub fn rust() -> Self {
        Self {
            full: rust_fence(Order::SeqCst),
            store_store: rust_fence(Order::Release),
            separator: "",
            header: None,
            words: Words::Rust,
        }
    }

    /// As in `.rmm`.
    pub fn rmm() -> Self {
        Self {
            full: "fence".into(),
            store_store: "ssfence".into(),
            separator: ";",
            header: None,
            words: Words::Pal,
        }
    }

    /// As in C.
    pub fn c() -> Self {
        let fence = |order: &str| format!("atomic_thread_fence(memory_order_{order});");
        Self {
            full: fence("seq_cst"),
            store_store: fence("release"),
            separator: "",
            header: Some("stdatomic.h"),
            words: Words::C,
        }
    }

    /// The same with a full fence of the user's own, which is stronger than what it
    /// replaces.
    #[must_use]
    pub fn with_fence(self, text: &str) -> Self {
        let text = format!("{};", text.trim().trim_end_matches(';'));
        Self {
            store_store: text.clone(),
            full: text,
            header: None,
            ..self
        }
    }

    /// A fence of C11 with this order.
    /// A fence with an order, as a statement.
    fn ordered(&self, order: Order) -> String {
        match self.words {
            Words::Pal => format!("fence({order});"),
            Words::C => format!("atomic_thread_fence(memory_order_{order});"),
            Words::Rust => rust_fence(order),
        }
    }

    fn of(&self, level: Level) -> &str {
        match level {
            Level::Full => &self.full,
            Level::StoreStore => &self.store_store,
            Level::None => "",
        }
    }
}

fn rust_fence(order: Order) -> String {
    let name = rust_name(order);
    format!("std::sync::atomic::fence(std::sync::atomic::Ordering::{name});")
}

/// A change: this text instead of that span. Changes at one place are done in the
/// order of their ranks.
struct Edit {
    span: Span,
    rank: i64,
    text: String,
}

/// The files with fences at these gaps.
pub fn patched(source: &Source, fences: &[(Gap, Level)], spelling: &Spelling) -> Source {
    let mut edits = Vec::new();
    let mut placed = Vec::new();
    for (gap, level) in fences {
        let flush = gap.flush.map(|words| flush_text(source, &words));
        let text = flush.unwrap_or_else(|| spelling.of(*level).to_owned());
        match (gap.side, level) {
            // A flush of the user's own: it stays, or it goes.
            (Side::At, Level::Full) if gap.flush.is_some() => {}
            (Side::At, Level::None) if gap.flush.is_some() => {
                edits.push(removal(source, gap.statement));
            }
            (_, Level::None) => {}
            (_, Level::StoreStore | Level::Full) => placed.push((*gap, text)),
        }
    }
    edits.extend(insertions(source, &placed, spelling.separator));
    let fences: Vec<Gap> = placed.into_iter().map(|(gap, _)| gap).collect();
    applied(source, edits, &fences, spelling)
}

/// The files with other orders, without some statements, and with fences of C11.
pub fn rewritten(source: &Source, edits: &Edits, spelling: &Spelling) -> Source {
    let fence = |(gap, order): &(Gap, Order)| (*gap, spelling.ordered(*order));
    let fences: Vec<(Gap, String)> = edits.fences.iter().map(fence).collect();
    let mut all: Vec<Edit> = edits.removals.iter().map(|&s| removal(source, s)).collect();
    all.extend(edits.changes.iter().map(|(span, text)| Edit {
        span: *span,
        rank: 0,
        text: text.clone(),
    }));
    all.extend(insertions(source, &fences, spelling.separator));
    let gaps: Vec<Gap> = edits.fences.iter().map(|(gap, _)| *gap).collect();
    applied(source, all, &gaps, spelling)
}

/// The files with these statements in gaps.
pub(crate) fn with_statements(source: &Source, placed: &[(Gap, String)]) -> Source {
    let spelling = Spelling::pal();
    let edits = insertions(source, placed, spelling.separator);
    applied(source, edits, &[], &spelling)
}

/// The changes that put statements into gaps.
fn insertions(source: &Source, placed: &[(Gap, String)], separator: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut lonely: BTreeMap<Span, (String, String)> = BTreeMap::new();
    for (gap, text) in placed {
        if let Some(head) = &gap.head {
            edits.extend(loop_head(source, gap.statement, head, text));
        } else if gap.lonely {
            let (before, after) = lonely.entry(gap.statement).or_default();
            match gap.side {
                Side::Before | Side::Head => before.extend([text, separator, " "]),
                Side::After | Side::At => after.extend([separator, " ", text]),
            }
        } else {
            edits.push(edit(source, gap, text, separator));
        }
    }
    for (statement, (before, after)) in lonely {
        edits.extend(braces(statement, &before, &after));
    }
    edits
}

/// The files after these changes; `fences` are where statements were put in.
fn applied(source: &Source, mut edits: Vec<Edit>, fences: &[Gap], spelling: &Spelling) -> Source {
    edits.sort_by_key(|e| (e.span.start, e.rank));
    let mut files = Vec::new();
    for (name, range) in source.files() {
        let has =
            |span: Span| range.start <= span.start as usize && (span.end as usize) <= range.end;
        let is_fence = |gap: &Gap| gap.flush.is_none() && has(gap.statement);
        let text = apply(
            source.text(),
            range.clone(),
            edits.iter().filter(|e| has(e.span)),
        );
        let text = match spelling.header {
            Some(header) if fences.iter().any(is_fence) => with_header(&text, header),
            Some(_) | None => text,
        };
        files.push((name.to_owned(), text));
    }
    Source::of_files(files)
}

/// The text with this header before its first.
fn with_header(text: &str, header: &str) -> String {
    if text.contains(&format!("<{header}>")) {
        return text.to_owned();
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("#include") {
            break;
        }
        at += line.len();
    }
    if at >= text.len() {
        at = 0;
    }
    format!("{}#include <{header}>\n{}", &text[..at], &text[at..])
}

/// A flush as a statement.
fn flush_text(source: &Source, words: &FlushWords) -> String {
    let target = source.slice(words.target);
    match words.window {
        Some(window) => format!("MPI_Win_flush({target}, {});", source.slice(window)),
        None => format!("flush({target});"),
    }
}

/// Takes a statement out, with its line if it stands alone there. What is the whole body
/// of a branch leaves an empty statement.
fn removal(source: &Source, statement: Span) -> Edit {
    let Span { start, end } = statement;
    let alone = indent(source, start).zip(rest_of_line(source, end));
    let before = source.text().get(..start as usize).unwrap_or("").trim_end();
    let is_body = before.ends_with(')') || before.ends_with("else") || before.ends_with("do");
    let is_body = is_body || before.ends_with(':');
    let (span, text) = match alone {
        _ if is_body => (statement, ";"),
        Some((indent, line_end)) if start as usize > indent.len() => {
            // From the end of the line before to the end of this one.
            let start = start - indent.len() as u32 - newline(source).len() as u32;
            let end = line_end;
            (Span { start, end }, "")
        }
        _ => (statement, ""),
    };
    Edit {
        span,
        rank: 0,
        text: text.to_owned(),
    }
}

/// A statement in braces. Of several that begin at one place the longest opens
/// first, and of several that end at one place the shortest closes first.
fn braces(statement: Span, before: &str, after: &str) -> [Edit; 2] {
    let length = i64::from(statement.end - statement.start);
    let at = |offset: u32| Span {
        start: offset,
        end: offset,
    };
    [
        Edit {
            span: at(statement.start),
            rank: i64::from(u32::MAX) * 2 - length,
            text: format!("{{ {before}"),
        },
        Edit {
            span: at(statement.end),
            rank: length,
            text: format!("{after} }}"),
        },
    ]
}

/// The changes for a fence at the head of a loop.
fn loop_head(source: &Source, statement: Span, head: &Head, text: &str) -> Vec<Edit> {
    let test = format!("if (!({})) break;", source.slice(head.condition));
    let mut edits = vec![Edit {
        span: head.condition,
        rank: 0,
        text: "1".to_owned(),
    }];
    if !head.is_block {
        let [mut open, mut close] = braces(head.body, &format!("{text} {test} "), "");
        // Outside the braces that the body gets for fences of its own.
        open.rank -= 1;
        close.rank += 1;
        edits.extend([open, close]);
        return edits;
    }
    let inside = head.body.start + 1;
    let own_lines = indent(source, statement.start).zip(rest_of_line(source, inside));
    let (at, text) = match own_lines {
        Some((indent, line_end)) => {
            let line = format!("{}{indent}    ", newline(source));
            (line_end, format!("{line}{text}{line}{test}"))
        }
        None => (inside, format!(" {text} {test}")),
    };
    edits.push(Edit {
        span: Span { start: at, end: at },
        rank: 0,
        text,
    });
    edits
}

fn newline(source: &Source) -> &'static str {
    if source.text().contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    }
}

/// The change for a fence among the statements of a block.
fn edit(source: &Source, gap: &Gap, text: &str, separator: &str) -> Edit {
    let Span { start, end } = gap.statement;
    let newline = newline(source);
    match gap.side {
        Side::At => Edit {
            span: gap.statement,
            rank: 0,
            text: text.to_owned(),
        },
        Side::After => {
            // A separator stands right behind the statement, comment or not.
            let line_end = match separator {
                "" => rest_of_line(source, end),
                _ => Some(end),
            };
            let (at, text) = match indent(source, start).zip(line_end) {
                Some((indent, line_end)) => {
                    (line_end, format!("{separator}{newline}{indent}{text}"))
                }
                None => (end, format!("{separator} {text}")),
            };
            // Behind the braces of statements that end here.
            Edit {
                span: Span { start: at, end: at },
                rank: i64::from(end - start),
                text,
            }
        }
        Side::Before | Side::Head => {
            let (at, text) = match indent(source, start) {
                Some(indent) => (start, format!("{text}{separator}{newline}{indent}")),
                None => (start, format!("{text}{separator} ")),
            };
            // Outside the braces of statements that begin here.
            Edit {
                span: Span { start: at, end: at },
                rank: i64::from(u32::MAX),
                text,
            }
        }
    }
}

/// The white space before `offset` if nothing else stands before it on its line.
fn indent(source: &Source, offset: u32) -> Option<&str> {
    let before = source.text().get(..offset as usize)?;
    let line = before.rsplit('\n').next()?;
    line.trim().is_empty().then_some(line)
}

/// The end of the line if nothing but white space or a comment follows `offset`.
fn rest_of_line(source: &Source, offset: u32) -> Option<u32> {
    let after = source.text().get(offset as usize..)?;
    let line = after.split('\n').next()?;
    let rest = line.trim();
    let line = line.trim_end_matches('\r');
    (rest.is_empty() || rest.starts_with("//")).then_some(offset + line.len() as u32)
}

fn apply<'e>(text: &str, range: Range<usize>, edits: impl Iterator<Item = &'e Edit>) -> String {
    let mut out = String::new();
    let mut at = range.start;
    for edit in edits {
        out.push_str(text.get(at..edit.span.start as usize).unwrap_or(""));
        out.push_str(&edit.text);
        at = at.max(edit.span.end as usize);
    }
    out.push_str(text.get(at..range.end).unwrap_or(""));
    out
}
