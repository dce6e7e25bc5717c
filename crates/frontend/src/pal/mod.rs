//! The `.pal` language: a small C-like language for concurrent programs, their
//! properties, and hints. docs/language.md is its reference.
//!
//! | file | term |
//! |---|---|
//! | `token`, `lexer` | words of the language, from text |
//! | `ast`, `parser` | the syntax tree, from words |
//! | `gaps` | places for further statements |
//! | `lower` | the Program, from the tree |
//! | `format` | the same program with the white space of the house |
//! | `predicates` | predicates from another file |
//! | `print` | text, from any Program |
//! | `suggest` | did you mean |
//! | `symbols` | what is declared where, for editors |

pub(crate) mod ast;
mod format;
mod gaps;
pub(crate) mod lexer;
mod lower;
pub(crate) mod parser;
mod predicates;
mod print;
pub(crate) mod suggest;
mod symbols;
pub(crate) mod token;

pub use format::format;
pub use predicates::with_predicates;
pub use print::print;
pub use symbols::{Symbol, SymbolKind, builtins, definition, explain, reserved, symbols, word_at};

use palisade_program::{Gap, Orders, Program, Source};

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// A program that was read without error.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The program.
    pub program: Program,
    /// What looks wrong in it all the same.
    pub warnings: Vec<Diagnostic>,
}

/// A program with candidates for fences in its gaps.
#[derive(Clone, Debug)]
pub struct Gapped {
    /// The program, with a `fence?` in each gap.
    pub program: Program,
    /// The gaps, in the order of the text.
    pub gaps: Vec<Gap>,
}

/// Reads a `.pal` program, with memory orders mapped to fences. On failure all errors found
/// are returned.
pub fn parse(source: Source) -> Result<Parsed, Diagnostics> {
    parse_ordered(source, Orders::Mapped)
}

/// As [`parse`], with memory orders mapped or kept.
pub fn parse_ordered(source: Source, orders: Orders) -> Result<Parsed, Diagnostics> {
    let mut no_change = |_: &mut ast::File| {};
    parse_changed(source, orders, &mut no_change)
}

/// Reads a `.pal` program and puts a `fence?` into each of its gaps that `wanted`
/// accepts. A program that has a `fence?` already keeps those and gets no others.
pub fn parse_gapped(source: Source, wanted: &dyn Fn(&Gap) -> bool) -> Result<Gapped, Diagnostics> {
    parse_gapped_ordered(source, Orders::Mapped, wanted)
}

/// As [`parse_gapped`], with memory orders mapped or kept.
pub fn parse_gapped_ordered(
    source: Source,
    orders: Orders,
    wanted: &dyn Fn(&Gap) -> bool,
) -> Result<Gapped, Diagnostics> {
    let mut gaps = Vec::new();
    let mut fill = |file: &mut ast::File| gaps = gaps::fill(file, wanted);
    let parsed = parse_changed(source, orders, &mut fill)?;
    Ok(Gapped {
        program: parsed.program,
        gaps,
    })
}

/// Reads a program; `change` works on the syntax tree before it is lowered.
fn parse_changed(
    source: Source,
    orders: Orders,
    change: &mut dyn FnMut(&mut ast::File),
) -> Result<Parsed, Diagnostics> {
    let lexed = lexer::lex(&source);
    let first_temporary = lexer::first_temporary(&source, &lexed);
    let mut parsed = parser::parse(&source, &lexed);
    change(&mut parsed.file);
    let lowered = lower::lower(source.clone(), &parsed, first_temporary, orders);
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
