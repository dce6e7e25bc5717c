//! Litmus tests in herd's `.litmus` format: a small concurrent program and a
//! question about its final states.
//!
//! [`parse`] gives the program and the question; an engine that can list the
//! program's final states (the concrete machine) is asked under some memory
//! model, and [`LitmusTest::judge`] turns its states into the answer that herd
//! would print: the states, `Ok` or `No`, `Never`, `Sometimes` or `Always`.
//!
//! | file | term |
//! |---|---|
//! | [`split`] | the sections of a test |
//! | `lexer` | tokens of all sections |
//! | `init` | the initial state |
//! | [`condition`] | the condition as written |
//! | [`ty`] | types, and values read by them |
//! | `memory` | locations, addresses |
//! | `access` | accesses of some bytes as steps on cells |
//! | `emit` | growing a control-flow graph |
//! | `x86` | X86 and `X86_64` assembly |
//! | `c` | C with kernel or C11 atomics |
//! | [`observe`] | the condition tied to the program |
//! | [`outcome`] | the answer |
//!
//! Departures from herd: values have the widths of their types (herd keeps some
//! results unreduced), flags are the processor's, mixed-size accesses are refused
//! unless they are exact on whole cells, and loops are not unrolled but explored.

// An error is boxed wherever it is made, so that results stay small.
#![allow(clippy::unnecessary_box_returns)]

mod access;
mod c;
pub mod condition;
mod emit;
mod init;
mod lexer;
mod memory;
pub mod observe;
pub mod outcome;
pub mod split;
pub mod ty;
mod x86;

use std::collections::BTreeSet;

use palisade_program::{Global, Init, Program, Source, Span, Template};

use crate::diagnostic::{Diagnostic, Diagnostics};
use lexer::{Comments, Tok, Token};
use memory::Layout;
use observe::{Condition, RegisterMap};
pub use outcome::{Answer, Observation, Outcome, State};
pub use split::Arch;

/// An error inside this front end.
type Failure = Box<Diagnostic>;

/// A litmus test, ready to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LitmusTest {
    /// Its name.
    pub name: String,
    /// What it is written in.
    pub arch: Arch,
    /// The program. It has no properties: the question is about all final states.
    pub program: Program,
    /// The question.
    pub condition: Condition,
    names: Vec<(i64, String)>,
}

/// The threads of a test, and where its registers are.
struct Threads {
    templates: Vec<Template>,
    registers: RegisterMap,
}

/// Parses a litmus test.
pub fn parse(source: Source) -> Result<LitmusTest, Diagnostics> {
    match read(&source) {
        Ok(test) => Ok(LitmusTest {
            program: Program {
                source,
                ..test.program
            },
            ..test
        }),
        Err(items) => Err(Diagnostics::new(source, items)),
    }
}

/// Larger files are refused: spans count in 32 bits.
const MAX_BYTES: usize = 1 << 30;

fn read(source: &Source) -> Result<LitmusTest, Vec<Diagnostic>> {
    let text = source.text();
    let one = |e: Failure| vec![*e];
    if text.len() > MAX_BYTES {
        return Err(vec![Diagnostic::error(
            Span::default(),
            "the file is too large",
        )]);
    }
    let sections = split::split(text).map_err(one)?;
    let arch = sections.arch;
    let code_comments = match arch {
        Arch::X86 | Arch::X86_64 => Comments::Herd,
        Arch::C => Comments::C,
    };
    let init_tokens = lexer::tokens(text, sections.init, Comments::Herd).map_err(one)?;
    let code = lexer::tokens(text, sections.code, code_comments).map_err(one)?;
    let asked = lexer::tokens(text, sections.condition, Comments::Herd).map_err(one)?;
    let items = init::parse(&init_tokens).map_err(one)?;
    let question = condition::parse(&asked).map_err(one)?;
    let literals = literals(&[&init_tokens, &code, &asked]);
    let pointer_bits = match arch {
        Arch::X86 => 32,
        Arch::X86_64 | Arch::C => 64,
    };
    let mut layout = Layout::new(pointer_bits, &literals).map_err(one)?;
    for item in &items {
        layout.declare(item).map_err(one)?;
    }
    for item in &items {
        for value in &item.values {
            layout.value(value, item.span).map_err(one)?;
        }
    }
    observe::declare(&question, &mut layout).map_err(one)?;
    let threads = match arch {
        Arch::X86 | Arch::X86_64 => x86::build(&code, arch, &items, &question, &mut layout)?,
        Arch::C => c::build(&code, &items, &question, &mut layout)?,
    };
    let mut globals = layout.globals().map_err(one)?;
    if arch == Arch::C {
        read_by_type(&mut globals, &layout);
    }
    let condition = observe::tie(&question, &mut layout, &threads.registers).map_err(one)?;
    Ok(LitmusTest {
        name: sections.name,
        arch,
        program: Program {
            source: Source::default(),
            globals,
            templates: threads.templates,
            ..Program::default()
        },
        condition,
        names: names(&layout),
    })
}

/// C's cells hold values as their types read them, not canonical ones.
fn read_by_type(globals: &mut [Global], layout: &Layout) {
    for (global, variable) in globals.iter_mut().zip(&layout.vars) {
        for init in &mut global.init {
            if let Init::Value(value) = init {
                *value = variable.ty.shown(*value) as i64;
            }
        }
    }
}

/// The numbers that the test writes: addresses keep clear of them.
fn literals(sections: &[&Vec<Token>]) -> BTreeSet<i128> {
    let tokens = sections.iter().flat_map(|tokens| tokens.iter());
    tokens
        .filter_map(|token| match token.tok {
            Tok::Number(n) => Some(n),
            Tok::Name(_) | Tok::Punct(_) | Tok::Text(_) | Tok::End => None,
        })
        .collect()
}

/// The names of addresses, for showing values.
fn names(layout: &Layout) -> Vec<(i64, String)> {
    let cells = layout.pointees().into_iter();
    cells
        .filter_map(|cell| {
            let address = layout.address(cell.var, cell.index);
            Some((address, layout.name_of(address)?))
        })
        .collect()
}
