//! The input languages: TVP (programs), TVM (concurrent programs) and TVS (structures).
//!
//! Place: text to [`crate::model::Model`] and structures. Reference: the public TVLA 3 and its
//! manual; the languages are read, none of its code is used.
//!
//! | step | file |
//! |---|---|
//! | `#include`, `#define`, `#if` | [`preprocess`] |
//! | words | [`lexer`] |
//! | trees | [`ast`], [`parser`] (shared), [`program`] (tvp and tvm), [`tvs`] |
//! | names, sets, `foreach`, arguments | [`elaborate`] |

pub mod ast;
pub mod elaborate;
pub mod lexer;
pub mod parser;
pub mod preprocess;
pub mod program;
pub mod tvs;

use std::fmt;

/// A place in a source file; line and column count from 1, line 0 is nowhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// Index into [`Diagnostics::files`].
    pub file: u32,
    /// The line.
    pub line: u32,
    /// The column; after macro expansion that of the expanded line.
    pub column: u32,
}

/// An error in the input, with where and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// Errors together with the names of the files they are in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    /// File names by index.
    pub files: Vec<String>,
    /// The errors, in order of discovery.
    pub errors: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds an error, unless one of the last says the same.
    pub fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let message = message.into();
        let mut last = self.errors.iter().rev().take(8);
        if !last.any(|e| e.span == span && e.message == message) {
            self.errors.push(Diagnostic {
                span,
                message,
                help: help.into(),
            });
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// The place as `file:line:column`.
    pub fn place(&self, span: Span) -> String {
        let file = self
            .files
            .get(span.file as usize)
            .map_or("input", String::as_str);
        if span.line == 0 {
            file.to_owned()
        } else {
            format!("{file}:{}:{}", span.line, span.column)
        }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for e in &self.errors {
            writeln!(f, "{}: error: {}", self.place(e.span), e.message)?;
            if !e.help.is_empty() {
                writeln!(f, "  help: {}", e.help)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
