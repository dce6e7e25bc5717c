//! The `.pal` language: a small C-like language for concurrent programs, their
//! properties, and hints. docs/language.md is its reference.
//!
//! | file | term |
//! |---|---|
//! | `token`, `lexer` | words of the language, from text |
//! | `ast`, `parser` | the syntax tree, from words |
//! | `lower` | the Program, from the tree |
//! | `format` | the same program with the white space of the house |
//! | `print` | text, from any Program |
//! | `suggest` | did you mean |

mod ast;
mod format;
mod lexer;
mod lower;
mod parser;
mod print;
mod suggest;
mod token;

pub use format::format;
pub use print::print;

use palisade_program::{Program, Source};

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// A program that was read without error.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The program.
    pub program: Program,
    /// What looks wrong in it all the same.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a `.pal` program. On failure all errors found are returned.
pub fn parse(source: Source) -> Result<Parsed, Diagnostics> {
    let lexed = lexer::lex(&source);
    let first_temporary = lexer::first_temporary(&source, &lexed);
    let parsed = parser::parse(&source, lexed);
    let lowered = lower::lower(source.clone(), &parsed, first_temporary);
    if let Some(program) = lowered.program {
        return Ok(Parsed {
            program,
            warnings: lowered.diagnostics,
        });
    }
    let mut items = parsed.errors;
    // Warnings are about programs that are otherwise right.
    let errors = lowered.diagnostics.into_iter();
    items.extend(errors.filter(|d| d.severity == Severity::Error));
    Err(Diagnostics::new(source, items))
}
