//! Tree to Program.
//!
//! | file | term |
//! |---|---|
//! | `memory` | shared variables, and what `x`, `x[my]`, `x[0]`, `[e]` mean in a process |
//! | `code` | statements as steps |
//! | `access` | reads and writes as steps, with the domains that they must keep |
//! | `locked` | locked blocks |
//! | `property` | `forbidden` and `predicates` |
//!
//! A process becomes a thread template, `process(n)` one with n copies; processes
//! are numbered from 0 in the order of the file. A process-private variable
//! becomes an array with an element for each process.

mod access;
mod code;
mod locked;
mod memory;
mod property;

use palisade_program::{BinOp, Count, Expr, Program, Source, Span, UnOp};

use super::MAX_ERRORS;
use super::ast::{self, Cond, File, Loc, Name};
use crate::diagnostic::{Diagnostic, Severity};
use memory::Memory;

/// Most processes of a file.
const MAX_PROCESSES: u32 = 1 << 12;

/// The error has been reported.
struct Failed;

/// What a lowering function returns.
type Lower<T> = Result<T, Failed>;

/// Collects what is wrong.
struct Complaints<'a> {
    items: &'a mut Vec<Diagnostic>,
}

impl Complaints<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) -> Failed {
        self.push(Diagnostic::error(span, message).help(help));
        Failed
    }

    fn warning(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.push(Diagnostic::warning(span, message).help(help));
    }

    fn push(&mut self, item: Diagnostic) {
        // A macro that is used twice is wrong once.
        if self.items.len() < MAX_ERRORS && !self.items.contains(&item) {
            self.items.push(item);
        }
    }

    fn has_errors(&self) -> bool {
        self.items.iter().any(|d| d.severity == Severity::Error)
    }
}

/// What an expression may have besides numbers.
#[derive(Clone, Copy)]
enum Atom<'e> {
    Register(&'e Name),
    Memory(&'e Loc),
}

/// Lowers atoms.
type Atoms<'f, A> = &'f mut dyn FnMut(Atom<'_>) -> Lower<Expr<A>>;

/// An expression.
fn expr<A>(e: &ast::Expr, atom: Atoms<'_, A>) -> Lower<Expr<A>> {
    Ok(match e {
        ast::Expr::Number(n) => Expr::Const(*n),
        ast::Expr::Register(name) => atom(Atom::Register(name))?,
        ast::Expr::Memory(loc) => atom(Atom::Memory(loc))?,
        ast::Expr::Negative(inner) => Expr::unary(UnOp::Neg, expr(inner, atom)?),
        ast::Expr::Sum(a, b) => Expr::binary(BinOp::Add, expr(a, atom)?, expr(b, atom)?),
        ast::Expr::Difference(a, b) => Expr::binary(BinOp::Sub, expr(a, atom)?, expr(b, atom)?),
    })
}

/// A condition.
fn cond<A>(c: &Cond, atom: Atoms<'_, A>) -> Lower<Expr<A>> {
    Ok(match c {
        Cond::Constant(value) => Expr::Const(i64::from(*value)),
        Cond::Compare(op, a, b) => Expr::binary(*op, expr(a, atom)?, expr(b, atom)?),
        Cond::Not(inner) => cond(inner, atom)?.negate(),
        Cond::And(a, b) => cond(a, atom)?.and(cond(b, atom)?),
        Cond::Or(a, b) => cond(a, atom)?.or(cond(b, atom)?),
    })
}

/// The processes of one declaration.
#[derive(Clone, Debug)]
struct Group {
    /// The number of the first one.
    first: u32,
    /// How many there are.
    count: u32,
    /// The template's name.
    name: String,
}

impl Group {
    const fn template_count(&self) -> Count {
        match self.count {
            1 => Count::Once,
            n => Count::Fixed(n),
        }
    }
}

/// Numbers and names the processes.
fn groups(file: &File, complaints: &mut Complaints<'_>) -> Lower<Vec<Group>> {
    let mut first = 0_u32;
    let mut groups = Vec::new();
    let only = file.processes.len() == 1;
    for process in &file.processes {
        let last = first.saturating_add(process.count) - 1;
        let name = match process.count {
            1 => format!("P{first}"),
            _ if only => "P".to_owned(),
            _ => format!("P{first}to{last}"),
        };
        groups.push(Group {
            first,
            count: process.count,
            name,
        });
        first = last + 1;
        if first > MAX_PROCESSES {
            let help = format!("at most {MAX_PROCESSES} processes are read");
            return Err(complaints.error(process.span, "too many processes", help));
        }
    }
    Ok(groups)
}

/// The Program, unless an error was added.
pub(super) fn lower(source: &Source, file: &File, items: &mut Vec<Diagnostic>) -> Option<Program> {
    let mut complaints = Complaints { items };
    let groups = groups(file, &mut complaints).ok()?;
    let memory = Memory::new(file, &groups, &mut complaints).ok()?;
    let mut threads = Vec::new();
    for (process, group) in file.processes.iter().zip(&groups) {
        threads.push(code::template(process, group, &memory, &mut complaints));
    }
    let properties = property::forbidden(file, &groups, &threads, &mut complaints);
    let hints = property::predicates(file, &groups, &threads, &memory, &mut complaints);
    if complaints.has_errors() {
        return None;
    }
    Some(Program {
        source: source.clone(),
        globals: memory.globals,
        templates: threads.into_iter().map(|t| t.template).collect(),
        properties,
        hints,
        ..Program::default()
    })
}
