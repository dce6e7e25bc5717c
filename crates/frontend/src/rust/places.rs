//! *Places* of a Rust source: spans for the lines and columns that the compiler speaks of.

use std::cell::RefCell;
use std::collections::BTreeMap;

use palisade_program::{Gap, Side, Source, Span};

/// The files of a source.
pub(super) struct Places<'a> {
    source: &'a Source,
    /// For each file: its name, and where its lines start in the whole text.
    files: Vec<(String, Vec<usize>, usize)>,
    /// Which file a name of the compiler's is.
    known: RefCell<BTreeMap<String, Option<usize>>>,
}

impl<'a> Places<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        let files = source
            .files()
            .map(|(name, range)| {
                let text = &source.text()[range.clone()];
                let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1));
                let starts = starts.map(|at| at + range.start).collect();
                (name.to_owned(), starts, range.end)
            })
            .collect();
        Self {
            source,
            files,
            known: RefCell::default(),
        }
    }

    /// The expression that starts at a place of a file.
    pub(super) fn span(&self, file: &str, line: u32, column: u32) -> Option<Span> {
        let known = self.known.borrow().get(file).copied();
        let number = known.unwrap_or_else(|| {
            // Compilers write paths in their own way.
            let same = |name: &str| {
                let paths = (std::fs::canonicalize(name), std::fs::canonicalize(file));
                name == file || matches!(paths, (Ok(a), Ok(b)) if a == b)
            };
            let number = self.files.iter().position(|(name, ..)| same(name));
            self.known.borrow_mut().insert(file.to_owned(), number);
            number
        })?;
        self.span_in(number, line, column)
    }

    pub(super) fn span_in(&self, file: usize, line: u32, column: u32) -> Option<Span> {
        let (_, starts, end) = self.files.get(file)?;
        let start = *starts.get((line as usize).checked_sub(1)?)?;
        let stop = starts.get(line as usize).map_or(*end, |next| next - 1);
        let text = self.source.text();
        // Columns count bytes.
        let mut at = (start + (column as usize).saturating_sub(1)).min(stop);
        if column == 0 {
            at += text[at..stop].len() - text[at..stop].trim_start().len();
        }
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let length = expression(&text[at..*end]);
        let from = receiver(text, start, at);
        Some(Span::new(from, at + length))
    }

    /// The gap beside the statement that an access stands in, if that ends with a semicolon.
    pub(super) fn gap(&self, access: Span, side: Side) -> Option<Gap> {
        let text = self.source.text();
        let mut depth = 0_i32;
        let mut end = None;
        for (i, c) in text[access.end as usize..].char_indices() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' if depth == 0 => return None,
                ')' | ']' => depth -= 1,
                ';' if depth == 0 => {
                    end = Some(access.end as usize + i + 1);
                    break;
                }
                '{' | '}' | ',' if depth == 0 => return None,
                _ => {}
            }
        }
        let end = end?;
        let mut depth = 0_i32;
        let mut start = access.start as usize;
        for (i, c) in text[..access.start as usize].char_indices().rev() {
            match c {
                ')' | ']' => depth += 1,
                '(' | '[' | '|' if depth == 0 => return None,
                '(' | '[' => depth -= 1,
                ';' | '{' | '}' if depth == 0 => break,
                _ => {}
            }
            if !c.is_whitespace() {
                start = i;
            }
        }
        // What goes on behind braces is no statement of its own.
        let is_start = |c: char| c.is_alphanumeric() || matches!(c, '_' | '*' | '(' | '<' | '#');
        let at = match side {
            Side::Before if !text[start..].starts_with(is_start) => return None,
            Side::Before => start,
            Side::After | Side::At | Side::Head => end,
        };
        Some(Gap {
            at: Span::new(at, at),
            statement: Span::new(start, end),
            side,
            lonely: false,
            head: None,
            flush: None,
        })
    }

    /// The functions, by the lines that they start on.
    pub(super) fn functions(&self) -> Vec<(String, Span)> {
        let text = self.source.text();
        let mut found = Vec::new();
        for (at, _) in text.match_indices("fn ") {
            let boundary = at == 0 || text[..at].ends_with([' ', '\n', '\t', '(']);
            let name: String = text[at + 3..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let Some(open) = text[at..].find('{') else {
                continue;
            };
            let ends_before = text[at..at + open].contains(';');
            if !boundary || name.is_empty() || ends_before {
                continue;
            }
            let length = balanced(&text[at + open..]);
            found.push((name, Span::new(at, at + open + length)));
        }
        // The innermost comes first.
        found.sort_by_key(|(_, span)| span.end - span.start);
        found
    }
}

/// Where the receiver of a method call starts whose name starts at `at`: compilers name the
/// method.
fn receiver(text: &str, start: usize, at: usize) -> usize {
    let mut from = at;
    while from > start && text[start..from].ends_with('.') {
        let before = text[start..from - 1].char_indices().rev();
        let mut depth = 0;
        let mut next = from;
        for (i, c) in before {
            match c {
                ')' | ']' => depth += 1,
                '(' | '[' if depth == 0 => break,
                '(' | '[' => depth -= 1,
                _ if depth > 0 || c.is_alphanumeric() || c == '_' => {}
                _ => break,
            }
            next = start + i;
        }
        if next == from {
            break;
        }
        from = next;
    }
    from
}

/// The length of what stands in braces that open here.
fn balanced(text: &str) -> usize {
    let mut depth = 0_i32;
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// The length of the expression that starts here, on one line or in brackets over several.
fn expression(text: &str) -> usize {
    let mut depth = 0_i32;
    let mut quoted = false;
    let mut last = 0;
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 0 => return last.max(1).min(text.len()),
            ')' | ']' => depth -= 1,
            ';' | '{' | '}' | ',' if depth == 0 => return last.max(1).min(text.len()),
            '\n' if depth == 0 => return last.max(1).min(text.len()),
            _ => {}
        }
        if !c.is_whitespace() {
            last = i + c.len_utf8();
        }
        if i > 400 {
            break;
        }
    }
    last
}
