//! The *C front end*: self-contained C11 with pthreads and atomics, GNU extensions in
//! common use, SV-COMP's conventions. docs/c.md is its reference.
//!
//! | file | term |
//! |---|---|
//! | `preprocess` | `cc -E` against the headers in `headers/`, line markers |
//! | `lexer` | tokens, located in the user's file |
//! | `types`, `ast`, `parser` | the syntax tree with resolved types |
//! | `gaps` | places between statements, for fences |
//! | `lower` | the Program |
//! | `litmus` | the threads of litmus tests |
//!
//! Verdicts hold for the program as written: that the compiler keeps the order of
//! memory accesses is an assumption ([`palisade_program::Assumption`]). Integers have their C widths
//! unless [`Options::math`] says otherwise.

mod ast;
mod gaps;
mod lexer;
pub(crate) mod litmus;
mod lower;
mod parser;
mod preprocess;
mod types;

pub use preprocess::Preprocessor;
pub use types::DataModel;

use std::path::Path;

use palisade_program::{Asked, Gap, Orders, Program, Source};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::{Gapped, Parsed};

/// Errors of one file at most that are told.
const MAX_ERRORS: usize = 20;

/// Adds an error, unless it is known: functions are read once for each call.
fn note_error(errors: &mut Vec<Diagnostic>, error: Diagnostic) {
    let same = |e: &Diagnostic| e.span == error.span && e.message == error.message;
    if !errors.iter().any(same) {
        errors.push(error);
    }
}

/// What to do about data races: a `never` for each pair of threads and variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Races {
    /// Nothing.
    #[default]
    Ignore,
    /// Properties are added. Accesses that cannot be judged are left out: some races
    /// are missed then, and none is wrong.
    Note,
    /// Properties are added; a program whose accesses cannot all be judged is refused.
    Check,
}

/// How C programs are read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Widths of `long` and pointers.
    pub data_model: DataModel,
    /// Mathematical integers instead of those of C.
    pub math: bool,
    /// Whether signed overflow is a violation.
    pub check_overflow: bool,
    /// What to do about data races.
    pub races: Races,
    /// The function that must not be called (`--property`); then only its calls are
    /// violations, and a failing `assert` ends the program.
    pub error_function: Option<String>,
    /// Which properties are asked about.
    pub asked: Asked,
    /// How many ranks run an MPI program.
    pub ranks: Option<u32>,
    /// What becomes of memory orders: fences, or they are kept for RC11.
    pub orders: Orders,
    /// Flags for the preprocessor.
    pub preprocessor: Preprocessor,
}

/// Reads a C file; `.i` files are preprocessed already.
pub fn parse(path: &Path, source: &Source, options: &Options) -> Result<Parsed, Diagnostics> {
    let mut no_change = |_: &mut ast::File, _: &Source| {};
    let program = parse_changed(path, source, options, &mut no_change)?;
    Ok(Parsed {
        program,
        warnings: Vec::new(),
    })
}

/// Reads a C file and puts a candidate for a fence into each of its gaps that
/// `wanted` accepts.
pub fn parse_gapped(
    path: &Path,
    source: &Source,
    options: &Options,
    wanted: &dyn Fn(&Gap) -> bool,
) -> Result<Gapped, Diagnostics> {
    let mut gaps = Vec::new();
    let mut fill = |file: &mut ast::File, user: &Source| gaps = gaps::fill(file, user, wanted);
    let program = parse_changed(path, source, options, &mut fill)?;
    Ok(Gapped { program, gaps })
}

/// Reads a file; `change` works on the syntax tree before it is lowered.
fn parse_changed(
    path: &Path,
    source: &Source,
    options: &Options,
    change: &mut dyn FnMut(&mut ast::File, &Source),
) -> Result<Program, Diagnostics> {
    let is_preprocessed = path.extension().is_some_and(|e| e == "i");
    let input = if is_preprocessed {
        Ok(preprocess::already(source))
    } else {
        preprocess::run(path, source, options.data_model, &options.preprocessor)
    };
    let input = match input {
        Ok(input) => input,
        Err(item) => return Err(Diagnostics::new(source.clone(), vec![item])),
    };
    let user = input.user.unwrap_or_else(|| source.clone());
    lexer::lex(&input.text, &user, input.main)
        .map_err(|item| vec![item])
        .and_then(|tokens| parser::parse(tokens, options.data_model, false))
        .and_then(|mut file| {
            change(&mut file, &user);
            lower::lower(&file, &user, options)
        })
        .map_err(|items| Diagnostics::new(user, items))
}
