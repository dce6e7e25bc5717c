//! Litmus tests in C: functions `P0`, `P1`, ... whose parameters are the addresses
//! of the shared locations of the same names. The functions are parsed
//! ([`parse`]), the types of locations are taken from the parameters unless the
//! initial state declares them, and each function is lowered to a thread
//! ([`lower`], [`calls`]).

mod ast;
mod calls;
mod lower;
mod parse;

use std::collections::BTreeMap;

use palisade_program::{Count, Template, TemplateId};

use super::condition::Question;
use super::emit::Emitter;
use super::init::{Item, LocRef};
use super::lexer::Token;
use super::memory::Layout;
use super::observe::{Register, RegisterMap, check_processors};
use super::{Failure, Threads};
use crate::diagnostic::Diagnostic;
use ast::{Expr, ExprKind, Function, Stmt, StmtKind};
use lower::{Thread, Var};

/// Parses and lowers the code.
pub(super) fn build(
    tokens: &[Token],
    items: &[Item],
    question: &Question,
    layout: &mut Layout,
) -> Result<Threads, Vec<Diagnostic>> {
    let one = |e: Failure| vec![*e];
    let functions = parse::parse(tokens).map_err(one)?;
    check_processors(
        &|p| functions.iter().any(|of| of.proc == p),
        items,
        question,
    )
    .map_err(one)?;
    for function in &functions {
        declare_params(function, layout).map_err(one)?;
    }
    let mut threads = Threads {
        templates: Vec::new(),
        registers: RegisterMap::new(),
    };
    let mut errors = Vec::new();
    for function in &functions {
        match thread(function, items, layout, &mut threads) {
            Ok(template) => threads.templates.push(template),
            Err(error) => errors.push(*error),
        }
    }
    if errors.is_empty() {
        Ok(threads)
    } else {
        Err(errors)
    }
}

/// Makes the locations that the parameters name, and finds those whose address
/// is used as a value.
fn declare_params(function: &Function, layout: &mut Layout) -> Result<(), Failure> {
    for (name, ty, span) in &function.params {
        let var = layout.intern(name, *span)?;
        let Some(target) = ty.target() else { continue };
        let variable = &mut layout.vars[var];
        if !variable.declared {
            variable.ty = target.ty();
            variable.declared = true;
        } else if variable.ty.bits != target.ty().bits {
            let bits = variable.ty.bits;
            let message = format!("`{name}` was declared with {bits} bits");
            return Err(Diagnostic::error(*span, message)
                .help("give the parameter the type of the location")
                .into());
        }
    }
    take_in_body(&function.body, layout);
    Ok(())
}

fn take_in_body(body: &[Stmt], layout: &mut Layout) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Declare { value, .. } => {
                if let Some(e) = value {
                    take_in(e, layout);
                }
            }
            StmtKind::Assign { target, value, .. } => {
                take_in(target, layout);
                take_in(value, layout);
            }
            StmtKind::Call(e) => take_in(e, layout),
            StmtKind::If(e, a, b) => {
                take_in(e, layout);
                take_in_body(a, layout);
                take_in_body(b, layout);
            }
            StmtKind::While(e, body) | StmtKind::DoWhile(body, e) => {
                take_in(e, layout);
                take_in_body(body, layout);
            }
            StmtKind::Return => {}
        }
    }
}

/// A location's name anywhere but right behind `*` may become a value.
fn take_in(e: &Expr, layout: &mut Layout) {
    match &e.kind {
        ExprKind::Number(_) => {}
        ExprKind::Name(name) => {
            if let Some(var) = layout.find(name) {
                layout.vars[var].taken = true;
            }
        }
        ExprKind::Deref(inner) => {
            if !matches!(inner.kind, ExprKind::Name(_)) {
                take_in(inner, layout);
            }
        }
        ExprKind::Unary(_, e) | ExprKind::AddressOf(e) | ExprKind::Cast(_, e) => take_in(e, layout),
        ExprKind::Binary(_, a, b) => {
            take_in(a, layout);
            take_in(b, layout);
        }
        ExprKind::Cond(c, a, b) => [c, a, b].into_iter().for_each(|e| take_in(e, layout)),
        ExprKind::Call(_, args) => args.iter().for_each(|e| take_in(e, layout)),
    }
}

fn thread(
    function: &Function,
    items: &[Item],
    layout: &mut Layout,
    threads: &mut Threads,
) -> Result<Template, Failure> {
    let mut init = BTreeMap::new();
    for item in items {
        if let (LocRef::Reg { proc, name }, Some(value)) = (&item.loc, item.values.first())
            && *proc == function.proc
        {
            init.insert(name.clone(), layout.value(value, item.span)?);
        }
    }
    let mut vars = BTreeMap::new();
    for (name, ty, span) in &function.params {
        let var = layout.intern(name, *span)?;
        if vars.insert(name.clone(), Var::Param(var, *ty)).is_some() {
            let message = format!("two parameters are called `{name}`");
            return Err(Diagnostic::error(*span, message).into());
        }
    }
    let mut thread = Thread {
        layout,
        emitter: Emitter::new(),
        vars,
        init,
    };
    thread.statements(&function.body)?;
    let Thread { emitter, vars, .. } = thread;
    let template = TemplateId::from(threads.templates.len());
    for (rank, (name, var)) in vars.iter().enumerate() {
        if let Var::Local(local, ty) = var {
            let register = Register {
                template,
                local: *local,
                shift: 0,
                ty: ty.ty(),
                rank: (rank, 0),
                label: format!("{}:{name}", function.proc),
            };
            threads
                .registers
                .insert((function.proc, name.clone()), register);
        }
    }
    let (locals, cfg) = emitter.finish(function.span);
    Ok(Template {
        name: format!("P{}", function.proc),
        count: Count::Once,
        is_process: false,
        locals,
        cfg,
        labels: Vec::new(),
        span: function.span,
    })
}
