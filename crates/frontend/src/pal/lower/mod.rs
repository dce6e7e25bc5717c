//! *Lowering*: syntax tree to [`Program`]. Names are resolved, constants
//! evaluated, functions inlined; every access of shared memory becomes a step of
//! its own. Errors are collected, not thrown: lowering goes on with a harmless
//! stand-in, and no Program comes out if there was any error.
//!
//! | file | term |
//! |---|---|
//! | `declare` | constants, shared variables, threads: what the whole file knows |
//! | `graph` | a control-flow graph under construction |
//! | `code` | one thread under construction: locals, scopes, temporaries |
//! | `stmt` | declarations, assignments, and the other plain statements |
//! | `control`, `loops`, `jump` | branches; loops; labels and jumps |
//! | `expr`, `access` | expressions; places in memory, index and domain checks |
//! | `rmw`, `order`, `remote`, `call` | atomic operations; accesses with a memory order; put, get, flush; inlined functions |
//! | `property` | `never`, `finally`, `predicate` |
//! | `walk` | questions about the syntax tree |

mod access;
mod call;
mod code;
mod control;
mod declare;
mod expr;
mod graph;
mod jump;
mod loops;
mod order;
mod property;
mod remote;
mod rmw;
mod stmt;
mod walk;

pub(super) use walk::for_each_child;

use std::collections::{HashMap, HashSet};

use palisade_program::{Global, GlobalId, Orders, Program, Source, Span, Template};

use super::ast::{File, Function, Item, Name};
use super::parser::ParsedFile;
use super::suggest;
use crate::diagnostic::{Diagnostic, Severity};
use code::Code;
use declare::{Constant, UnitInfo};

/// After so many errors no more are collected.
const MAX_ERRORS: usize = 50;

/// What lowering yields: a Program unless there was an error.
pub(super) struct Lowered {
    pub(super) program: Option<Program>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Lowers the tree of `source`. `first_temporary` is a number such that no name
/// `$n` with `n` at or above it occurs in the text.
pub(super) fn lower(
    source: Source,
    parsed: &ParsedFile,
    first_temporary: u32,
    orders: Orders,
) -> Lowered {
    let mut context = Context::new(parsed, first_temporary, orders);
    context.declare(&parsed.file);
    let templates = context.templates();
    context.check_uncalled_functions();
    let said = context.properties(&parsed.file, &templates);
    context.warn_unused();
    let program = Program {
        source,
        globals: std::mem::take(&mut context.globals),
        templates: templates.into_iter().map(|t| t.template).collect(),
        properties: said.properties,
        reaches: said.reaches,
        hints: said.hints,
        orders,
        ..Program::default()
    };
    let diagnostics = context.finish();
    let failed =
        !parsed.errors.is_empty() || diagnostics.iter().any(|d| d.severity == Severity::Error);
    Lowered {
        program: (!failed).then_some(program),
        diagnostics,
    }
}

/// A thread that is done, with what properties need to know about it.
pub(super) struct Finished {
    template: Template,
    /// The locals that form each array of locals.
    arrays: HashMap<String, Vec<palisade_program::LocalId>>,
    /// Labels whose location cannot be reached.
    unreachable: Vec<Name>,
    /// Labels inside atomic blocks.
    hidden: HashSet<String>,
    /// Locals mentioned outside their declaration.
    used: Vec<bool>,
}

/// What the whole file knows.
pub(super) struct Context<'a> {
    /// What becomes of memory orders.
    orders: Orders,
    diagnostics: Vec<Diagnostic>,
    error_count: usize,
    skipped: &'a HashSet<String>,
    /// Whether the syntax was wrong somewhere.
    has_syntax_errors: bool,
    first_temporary: u32,
    constants: HashMap<String, Constant>,
    globals: Vec<Global>,
    /// Cells of all globals.
    cell_count: usize,
    used_globals: Vec<bool>,
    /// Shared variables declared at the top level.
    global_names: HashMap<String, GlobalId>,
    units: Vec<UnitInfo<'a>>,
    unit_names: HashMap<String, usize>,
    functions: HashMap<String, &'a Function>,
    called: HashSet<String>,
    /// Steps that inlining has made so far, against runaway growth.
    inlined_steps: usize,
}

impl<'a> Context<'a> {
    fn new(parsed: &'a ParsedFile, first_temporary: u32, orders: Orders) -> Self {
        Self {
            orders,
            diagnostics: Vec::new(),
            error_count: 0,
            skipped: &parsed.skipped,
            has_syntax_errors: !parsed.errors.is_empty(),
            first_temporary,
            constants: HashMap::new(),
            globals: Vec::new(),
            cell_count: 0,
            used_globals: Vec::new(),
            global_names: HashMap::new(),
            units: Vec::new(),
            unit_names: HashMap::new(),
            functions: HashMap::new(),
            called: HashSet::new(),
            inlined_steps: 0,
        }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.error_count += 1;
            if self.error_count > MAX_ERRORS {
                return;
            }
        }
        self.diagnostics.push(diagnostic);
    }

    /// Whether no more errors are collected.
    pub(super) fn is_full(&self) -> bool {
        self.error_count >= MAX_ERRORS
    }

    /// Names to choose the nearest from; none when errors are no longer shown.
    pub(super) fn candidates(&self, names: impl FnOnce(&Self) -> Vec<String>) -> Vec<String> {
        if self.is_full() {
            return Vec::new();
        }
        names(self)
    }

    /// Reports a name that is not known, unless it was lost to a syntax error.
    pub(super) fn unknown<'n>(
        &mut self,
        message: String,
        name: &Name,
        known: impl IntoIterator<Item = &'n str>,
        help: &str,
    ) {
        if self.is_full() {
            // Looking for the nearest name takes time; nobody will see it.
            self.error_count += 1;
            return;
        }
        if self.skipped.contains(&name.text) {
            // Its declaration may stand in the text that was skipped; the syntax
            // error is reported already, so no Program comes out.
            return;
        }
        let help = suggest::nearest(&name.text, known)
            .map_or_else(|| help.to_owned(), |near| format!("did you mean `{near}`?"));
        self.report(
            Diagnostic::error(name.span, message)
                .label("not declared")
                .help(help),
        );
    }

    /// Lowers every thread and process, in order.
    fn templates(&mut self) -> Vec<Finished> {
        (0..self.units.len())
            .map(|unit| {
                let body = &self.units[unit].ast.body;
                let mut code = Code::new(self, Some(unit));
                code.thread_body(body);
                code.finish()
            })
            .collect()
    }

    /// Functions that no thread calls are lowered once for their errors.
    fn check_uncalled_functions(&mut self) {
        let mut uncalled: Vec<&'a Function> = self
            .functions
            .values()
            .copied()
            .filter(|f| !self.called.contains(&f.name.text))
            .collect();
        uncalled.sort_by_key(|f| f.name.span);
        for function in uncalled {
            self.report(
                Diagnostic::warning(
                    function.name.span,
                    format!("function `{}` is never called", function.name.text),
                )
                .help("remove it, or call it"),
            );
            let mut code = Code::new(self, None);
            code.check_function(function);
        }
    }

    fn warn_unused(&mut self) {
        let unused: Vec<(String, Span)> = self
            .globals
            .iter()
            .zip(&self.used_globals)
            .filter(|(g, used)| !**used && !is_private(&g.name))
            .map(|(g, _)| (g.name.clone(), g.span))
            .collect();
        for (name, span) in unused {
            self.report(unused_variable(&name, span));
        }
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        // An inlined function reports its errors once per call.
        self.diagnostics.sort_by(|a, b| {
            (a.span, a.severity, &a.message).cmp(&(b.span, b.severity, &b.message))
        });
        self.diagnostics.dedup();
        self.diagnostics
    }
}

/// Names that are exempt from warnings about unused variables.
fn is_private(name: &str) -> bool {
    name.starts_with(['_', '$'])
}

fn unused_variable(name: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(span, format!("variable `{name}` is never used"))
        .help(format!("remove it, or call it `_{name}`"))
}

/// All items of a file of one kind.
fn functions_of(file: &File) -> impl Iterator<Item = &Function> {
    file.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        Item::Const { .. } | Item::Shared(_) | Item::Unit(_) => None,
        Item::Property(_) | Item::Predicate { .. } | Item::Reach { .. } => None,
    })
}
