//! Heap programs: concurrent data structures as code, in files that end in `.pal`
//! like other programs. docs/linearize.md is the reference.
//!
//! | file | term |
//! |---|---|
//! | `ast`, `parser` | the syntax tree, from the words of `.pal` |
//! | `lower` | the [heap program](palisade_program::heap), from the tree |

pub(crate) mod ast;
mod lower;
mod parser;

use palisade_program::Source;
use palisade_program::heap::Program;

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::pal::lexer::{self, Lexed};
use crate::pal::token::Tok;

/// After so many errors no more are reported.
const MAX_ERRORS: usize = 50;

/// A heap program that was read without error.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The program.
    pub program: Program,
    /// What looks wrong in it all the same.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a heap program. On failure all errors found are returned.
pub fn parse(source: Source) -> Result<Parsed, Diagnostics> {
    let mut items = Vec::new();
    let file = syntax(&source, &mut items);
    // What a broken file declares is not known well enough to check its use.
    if !items.is_empty() {
        items.truncate(MAX_ERRORS);
        return Err(Diagnostics::new(source, items));
    }
    lower_file(source, &file, items)
}

/// The syntax tree of a text in the language of data structures.
pub(crate) fn syntax(source: &Source, errors: &mut Vec<Diagnostic>) -> ast::File {
    let lexed = lexer::lex(source);
    parser::parse(source, &lexed, errors)
}

/// The heap program of a syntax tree, whatever it was read from.
pub(crate) fn lowered(source: Source, file: &ast::File) -> Result<Parsed, Diagnostics> {
    lower_file(source, file, Vec::new())
}

fn lower_file(
    source: Source,
    file: &ast::File,
    mut items: Vec<Diagnostic>,
) -> Result<Parsed, Diagnostics> {
    let program = lower::lower(&source, file, &mut items);
    items.sort_by_key(|d| (d.severity, d.span));
    // What is wrong in a function is wrong wherever it is called.
    items.dedup();
    items.truncate(MAX_ERRORS);
    let wrong = items.iter().any(|d| d.severity == Severity::Error);
    match program {
        Some(program) if !wrong => Ok(Parsed {
            program,
            warnings: items,
        }),
        Some(_) | None => Err(Diagnostics::new(source, items)),
    }
}

/// Whether a text is a heap program: it declares a specification, a struct or a method.
pub(crate) fn is_heap(source: &Source, lexed: &Lexed) -> bool {
    let mut depth = 0_u32;
    let mut starts = true;
    for token in &lexed.tokens {
        match token.kind {
            Tok::Name if depth == 0 && starts => {
                if matches!(
                    source.slice(token.span),
                    "spec" | "struct" | "circular" | "method"
                ) {
                    return true;
                }
            }
            Tok::Sym("{") => depth += 1,
            Tok::Sym("}") => depth = depth.saturating_sub(1),
            Tok::Name | Tok::Int(_) | Tok::Sym(_) | Tok::End => {}
        }
        starts = matches!(token.kind, Tok::Sym(";" | "}"));
    }
    false
}

/// What is wrong with the syntax of a heap program.
pub(crate) fn syntax_errors(source: &Source, lexed: &Lexed) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    parser::parse(source, lexed, &mut errors);
    errors
}
