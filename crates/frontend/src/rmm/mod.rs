//! The `.rmm` language: the input of the memorax tool. docs/rmm.md is its
//! reference.
//!
//! An `.rmm` file forbids combinations of labels, one per process. Processes read
//! and write shared integers by instructions of their own (`read:`, `write:`), so
//! each becomes one memory step of the [`Program`](palisade_program::Program); everything else is local.
//!
//! | file | term |
//! |---|---|
//! | `token`, `lexer` | words of the language, from text |
//! | `macros` | the same words with all macros written out |
//! | `ast`, `parser` | the syntax tree, from words |
//! | `gaps` | where fences may be written |
//! | `lower` | the Program, from the tree |
//!
//! Departures from memorax: domains are enforced (its manual says so, two of its
//! engines do not); a label may stand before `goto`; `[e]` may be used in locked
//! blocks; `cas` needs all own buffers empty under PSO too; `syncwr` and `syncrd`
//! wait for empty buffers; predicates may name memory.

mod ast;
mod gaps;
mod lexer;
mod lower;
mod macros;
mod parser;
mod token;

use palisade_program::{Gap, Source};

use crate::diagnostic::{Diagnostics, Severity};
use crate::pal::{Gapped, Parsed};

/// After so many errors no more are reported.
const MAX_ERRORS: usize = 50;

/// Reads an `.rmm` program. On failure all errors found are returned.
pub fn parse(source: Source) -> Result<Parsed, Diagnostics> {
    parse_changed(source, &mut |_| {})
}

/// Reads an `.rmm` program and puts a candidate for a fence into each of its gaps
/// that `wanted` accepts.
pub fn parse_gapped(source: Source, wanted: &dyn Fn(&Gap) -> bool) -> Result<Gapped, Diagnostics> {
    let mut gaps = Vec::new();
    let parsed = parse_changed(source, &mut |file| gaps = gaps::fill(file, wanted))?;
    Ok(Gapped {
        program: parsed.program,
        gaps,
    })
}

/// Reads a program; `change` works on the syntax tree before it is lowered.
fn parse_changed(
    source: Source,
    change: &mut dyn FnMut(&mut ast::File),
) -> Result<Parsed, Diagnostics> {
    let mut items = Vec::new();
    let words = lexer::lex(&source, &mut items);
    let text = macros::expand(&source, &words, &mut items);
    let mut file = parser::parse(&source, &text, &mut items);
    // What a broken file declares is not known well enough to check its use.
    if items.iter().any(|d| d.severity == Severity::Error) {
        items.truncate(MAX_ERRORS);
        return Err(Diagnostics::new(source, items));
    }
    change(&mut file);
    let program = lower::lower(&source, &file, &mut items);
    items.sort_by_key(|d| (d.severity, d.span));
    items.truncate(MAX_ERRORS);
    match program {
        Some(program) => Ok(Parsed {
            program,
            warnings: items,
        }),
        None => Err(Diagnostics::new(source, items)),
    }
}
