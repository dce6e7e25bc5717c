//! *Comments* that say what the data structure should do: `//@ ...` and `/*@ ... */`.
//!
//! | comment | meaning |
//! |---|---|
//! | `spec stack;` `spec { ... }` `const`, `fn`, `never` | as in the language of data structures |
//! | `method f as push;` `method f as take by owner;` | the function `f` is this operation |
//! | `init f;` | `f` runs once, before all calls |
//!
//! All but the last two is read by that language's own parser, from a text in which everything else is blank, so that its places
//! are those of the file.

use palisade_program::{Source, Span};

use crate::diagnostic::Diagnostic;
use crate::heap::{self, ast};

/// A function that is an operation.
#[derive(Clone, Debug)]
pub(super) struct Method {
    pub(super) function: String,
    pub(super) operation: String,
    pub(super) role: Option<String>,
    pub(super) span: Span,
}

/// What the comments of a file say.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) methods: Vec<Method>,
    pub(super) init: Option<(String, Span)>,
    /// The specification, and what belongs to it.
    pub(super) declared: ast::File,
}

/// Reads the comments of a file's text.
pub(super) fn read(source: &Source, errors: &mut Vec<Diagnostic>) -> Notes {
    let mut notes = Notes::default();
    let text = source.text();
    let mut blank: Vec<u8> = text
        .bytes()
        .map(|b| if b == b'\n' { b } else { b' ' })
        .collect();
    for (start, end) in comments(text) {
        let mut at = start;
        let mut depth = 0_usize;
        let mut from = start;
        // Statements on the outermost level end with a semicolon or a brace.
        for (offset, c) in text[start..end].char_indices() {
            at = start + offset;
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && matches!(c, ';' | '}') {
                notes.part(text, (from, at + 1), &mut blank, errors);
                from = at + 1;
            }
        }
        let rest = text[from..end].trim();
        if !rest.is_empty() {
            notes.part(text, (from, at.max(from) + 1), &mut blank, errors);
        }
    }
    let blank = String::from_utf8(blank).unwrap_or_default();
    if !blank.trim().is_empty() {
        let blank = Source::new(source.name(), blank);
        notes.declared = heap::syntax(&blank, errors);
    }
    notes
}

impl Notes {
    fn part(
        &mut self,
        text: &str,
        (from, to): (usize, usize),
        blank: &mut [u8],
        errors: &mut Vec<Diagnostic>,
    ) {
        let to = to.min(text.len());
        let part = &text[from..to];
        let lead = part.len() - part.trim_start().len();
        let span = Span::new(from + lead, to);
        let words: Vec<&str> = part
            .trim()
            .trim_end_matches(';')
            .split_whitespace()
            .collect();
        match words.as_slice() {
            ["method", function, "as", operation, rest @ ..] => {
                let role = match rest {
                    [] => None,
                    ["by", role] => Some((*role).to_owned()),
                    _ => {
                        let error = Diagnostic::error(
                            span,
                            "what stands behind the operation is not known",
                        );
                        errors.push(
                            error.help("write `method f as push;` or `method f as push by owner;`"),
                        );
                        None
                    }
                };
                self.methods.push(Method {
                    function: (*function).to_owned(),
                    operation: (*operation).to_owned(),
                    role,
                    span,
                });
            }
            ["init", function] => self.init = Some(((*function).to_owned(), span)),
            ["method" | "init", ..] => {
                let error = Diagnostic::error(span, "a function is to be named here");
                errors.push(error.help("write `method f as push;` or `init f;`"));
            }
            _ => blank[from..to].copy_from_slice(part.as_bytes()),
        }
    }
}

/// Whether some comment begins with a specification.
pub(super) fn has_specification(text: &str) -> bool {
    comments(text).iter().any(|&(start, end)| {
        let mut words = text[start..end].split_whitespace();
        words.next() == Some("spec")
    })
}

/// Where the insides of the comments stand.
fn comments(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with('"') || rest.starts_with('\'') {
            at += literal(rest);
        } else if rest.starts_with("//") {
            let end = rest.find('\n').map_or(text.len(), |n| at + n);
            if rest.starts_with("//@") {
                found.push((at + 3, end));
            }
            at = end;
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(text.len(), |n| at + n);
            if rest.starts_with("/*@") {
                found.push((at + 3, end));
            }
            at = (end + 2).min(text.len());
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

/// How long the literal is that a text starts with.
fn literal(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (at, b) in text.bytes().enumerate().skip(1) {
        if b == b'\n' || (b == quote && !escaped) {
            return at + 1;
        }
        escaped = b == b'\\' && !escaped;
    }
    text.len()
}
