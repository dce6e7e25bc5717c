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

use palisade_program::{Global, Orders, Program, Source, Span, Template};

use crate::diagnostic::{Diagnostic, Diagnostics};
use lexer::{Tok, Token};
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

/// The code of a test.
enum Code {
    Assembly(Vec<Token>),
    C(crate::c::litmus::Code),
}

/// The shared variables and threads of a test, and where its registers are.
struct Threads {
    globals: Vec<Global>,
    templates: Vec<Template>,
    registers: RegisterMap,
}

/// Parses a litmus test, with memory orders mapped to fences.
pub fn parse(source: Source) -> Result<LitmusTest, Diagnostics> {
    parse_ordered(source, Orders::Mapped)
}

/// As [`parse`], with memory orders mapped or kept. Assembly has none to keep.
pub fn parse_ordered(source: Source, orders: Orders) -> Result<LitmusTest, Diagnostics> {
    match read(&source, orders) {
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

fn read(source: &Source, orders: Orders) -> Result<LitmusTest, Vec<Diagnostic>> {
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
    let init_tokens = lexer::tokens(text, sections.init).map_err(one)?;
    let asked = lexer::tokens(text, sections.condition).map_err(one)?;
    let items = init::parse(&init_tokens).map_err(one)?;
    let question = condition::parse(&asked).map_err(one)?;
    let mut literals = numbers(&init_tokens);
    literals.extend(numbers(&asked));
    if orders == Orders::Kept && arch != Arch::C {
        let message = "assembly has no memory orders: it has no meaning under rc11";
        let error = Diagnostic::error(Span::default(), message);
        return Err(vec![error.help("use --model tso, or write the test in C")]);
    }
    let code = match arch {
        Arch::X86 | Arch::X86_64 => {
            let tokens = lexer::tokens(text, sections.code).map_err(one)?;
            literals.extend(numbers(&tokens));
            Code::Assembly(tokens)
        }
        Arch::C => {
            let code = c::parse(text, sections.code)?;
            literals.extend(&code.numbers);
            Code::C(code)
        }
    };
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
    let threads = match code {
        Code::Assembly(code) => x86::build(&code, arch, &items, &question, &mut layout)?,
        Code::C(code) => c::build(&code, &items, &question, &mut layout, orders)?,
    };
    let condition = observe::tie(&question, &mut layout, &threads.registers).map_err(one)?;
    Ok(LitmusTest {
        name: sections.name,
        arch,
        program: Program {
            source: Source::default(),
            globals: threads.globals,
            templates: threads.templates,
            orders,
            ..Program::default()
        },
        condition,
        names: names(&layout),
    })
}

/// The numbers that a section writes: addresses keep clear of them.
fn numbers(tokens: &[Token]) -> BTreeSet<i128> {
    let number = |token: &Token| match token.tok {
        Tok::Number(n) => Some(n),
        Tok::Name(_) | Tok::Punct(_) | Tok::Text(_) | Tok::End => None,
    };
    tokens.iter().filter_map(number).collect()
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
