//! *Functions*: calls are inlined. Arguments are passed by value; the body sees shared variables, what
//! the thread keeps, constants and its own locals, not those of the caller. Recursion is an error.
//!
//! A parameter that is declared `ref` is a local of the caller, which the function may assign.
//! A parameter that the function does not assign is the caller's local itself, if the argument is one: it
//! cannot change meanwhile, and there is no step in between. A call that is a condition goes on where its
//! `return` says, without a word for the truth: a `commit` behind `if (f())` belongs to the
//! step with which `f` has decided, as it would if its text stood there.

use std::collections::BTreeMap;

use palisade_program::heap::{Role, Term, Type};
use palisade_program::{LocId, Span};

use super::Ty;
use super::body::{Builder, Loop, Variable};
use super::tables::{Tables, check_name, declared_twice};
use super::value::Value;
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{self, Expr, ExprKind, Name, Part, Path, Stmt, StmtKind};
use crate::pal::suggest;

/// Edges of one body at most: inlining may double a text many times.
const MAX_EDGES: usize = 20_000;

/// Words that mean something else before a parenthesis.
const BUILT_IN: &[&str] = &[
    "xchg",
    "fetch_add",
    "lock",
    "unlock",
    "free",
    "assume",
    "assert",
];

/// What a caller wants of a call.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    /// Nothing.
    Nothing,
    /// Its result, if that has to be put somewhere in this variable.
    Value(Option<Variable>),
    /// To go on at the first place if the result is true, at the second if it is false.
    Branch(LocId, LocId),
}

/// What comes of a call.
pub(super) enum Called {
    /// Something is wrong with it, which was said.
    Wrong,
    /// It has no result.
    Nothing,
    /// It has gone on where its result says.
    Branched,
    /// Its result.
    Value(Value),
}

/// A function that is being inlined.
pub(super) struct Inlined {
    name: String,
    returns: Option<Ty>,
    result: Option<Variable>,
    branch: Option<(LocId, LocId)>,
    /// Where the caller goes on.
    after: LocId,
    /// Whether the call stands in a loop.
    repeated: bool,
}

impl<'a> Builder<'a> {
    /// Whether statements here may be reached again in the same call of the method.
    pub(super) fn is_repeated(&self) -> bool {
        !self.loops.is_empty() || self.calls.last().is_some_and(|call| call.repeated)
    }

    /// A call; gives the result if there is one.
    pub(super) fn call(&mut self, name: &Name, arguments: &[Expr], wanted: Wanted) -> Called {
        let Some((function, parameters, returns)) = self.called(name, arguments) else {
            return Called::Wrong;
        };
        let (result, branch) = match (wanted, returns) {
            (Wanted::Branch(yes, no), Some(ty)) if ty == Ty::plain(Type::Bool) => {
                (None, Some((yes, no)))
            }
            (Wanted::Value(into), Some(ty)) => (Some(self.target(ty, into, name.span)), None),
            (_, Some(ty)) => (Some(self.target(ty, None, name.span)), None),
            (_, None) => (None, None),
        };
        self.inline(function, parameters, returns, result, branch);
        match result {
            Some(result) => Called::Value(Value::local(result)),
            None if branch.is_some() => Called::Branched,
            None => Called::Nothing,
        }
    }

    /// The function, its parameters in this call, and what it returns.
    fn called(
        &mut self,
        name: &Name,
        arguments: &[Expr],
    ) -> Option<(&'a ast::Method, BTreeMap<String, Variable>, Option<Ty>)> {
        let function = self.function(name)?;
        if arguments.len() != function.parameters.len() {
            let (wanted, given) = (function.parameters.len(), arguments.len());
            let message = format!("`{}` has {wanted} parameters, {given} are given", name.text);
            let error = Diagnostic::error(name.span, message).label("another number");
            self.items
                .push(error.help("give one argument for each parameter"));
            return None;
        }
        let returns = match &function.returns {
            None => None,
            Some(ty) => Some(self.tables.ty(ty, self.items)?),
        };
        let mut parameters = BTreeMap::new();
        for (one, argument) in function.parameters.iter().zip(arguments) {
            let (parameter, ty) = (&one.name, self.tables.ty(&one.ty, self.items)?);
            let variable = if one.is_reference {
                self.reference(argument, ty)?
            } else {
                let value = self.fitting(argument, ty)?;
                self.parameter(function, parameter, ty, value)
            };
            check_name(parameter, self.items);
            if parameters
                .insert(parameter.text.clone(), variable)
                .is_some()
            {
                declared_twice(parameter, "parameter", self.items);
            }
        }
        Some((function, parameters, returns))
    }

    /// A call without a result where a value is asked for.
    pub(super) fn no_result(&mut self, name: &Name, span: Span) {
        let message = format!("`{}` has no result", name.text);
        let error = Diagnostic::error(span, message).label("a value is asked for");
        self.items
            .push(error.help("write `returns` behind its parameters"));
    }

    fn function(&mut self, name: &Name) -> Option<&'a ast::Method> {
        let tables: &'a Tables<'a> = self.tables;
        let functions = tables.functions;
        let Some(function) = functions.iter().find(|f| f.name.text == name.text) else {
            let known = functions.iter().map(|f| f.name.text.as_str());
            let help = match suggest::nearest(&name.text, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("declare it: `fn {}() {{ ... }}`", name.text),
            };
            let message = format!("unknown function `{}`", name.text);
            let error = Diagnostic::error(name.span, message).label("not declared");
            self.items.push(error.help(help));
            return None;
        };
        if self.calls.iter().any(|call| call.name == name.text) {
            let message = format!("`{}` calls itself", name.text);
            let error = Diagnostic::error(name.span, message)
                .label("functions are inlined: this has no end")
                .help("write a loop");
            self.items.push(error);
            return None;
        }
        if self.body.edges.len() > MAX_EDGES {
            let error = Diagnostic::error(name.span, "the method becomes too long")
                .label(format!(
                    "more than {MAX_EDGES} steps, with its functions inlined"
                ))
                .help("call fewer functions");
            self.items.push(error);
            return None;
        }
        self.tables.called.borrow_mut().insert(name.text.clone());
        Some(function)
    }

    /// The caller's local that a `ref` parameter is.
    fn reference(&mut self, argument: &Expr, ty: Ty) -> Option<Variable> {
        let local = match &argument.kind {
            ExprKind::Path(path) if path.parts.is_empty() => self.lookup(&path.base.text),
            _ => None,
        };
        let found = local.filter(|local| local.ty == ty);
        if found.is_none() {
            let error = Diagnostic::error(argument.span, "this cannot be passed as `ref`")
                .label("no local of the parameter's type");
            self.items.push(error.help("give a local variable"));
        }
        found
    }

    /// The local that a parameter is in this call.
    fn parameter(&mut self, function: &ast::Method, name: &Name, ty: Ty, value: Value) -> Variable {
        let tag = value.tag.map(Term::local);
        // What a `ref` leads to may change.
        let changes = Changes {
            name: &name.text,
            functions: self.tables.functions,
        };
        let has_references = function.parameters.iter().any(|p| p.is_reference);
        if let (Some(id), true, true) = (
            value.term.local(),
            tag.is_none_or(|tag| tag.is_some()),
            !has_references && !changes.any(&function.body),
        ) {
            let tag = tag.flatten();
            return Variable { id, tag, ty };
        }
        let variable = self.new_variable(&name.text, ty, Role::Variable, name.span);
        self.assign_words(variable, value.term, value.tag, name.span);
        variable
    }

    fn inline(
        &mut self,
        function: &ast::Method,
        parameters: BTreeMap<String, Variable>,
        returns: Option<Ty>,
        result: Option<Variable>,
        branch: Option<(LocId, LocId)>,
    ) {
        let after = self.fresh();
        let repeated = self.is_repeated();
        let scopes = std::mem::replace(&mut self.scopes, vec![parameters]);
        let loops: Vec<Loop> = std::mem::take(&mut self.loops);
        self.calls.push(Inlined {
            name: function.name.text.clone(),
            returns,
            result,
            branch,
            after,
            repeated,
        });
        self.statements(&function.body);
        if self.reachable()[self.at.index()] {
            if returns.is_some() {
                let message = "the end can be reached without a result";
                let error = Diagnostic::error(function.end, message)
                    .label("nothing is returned here")
                    .help("end every path with `return e;`");
                if !self.items.contains(&error) {
                    self.items.push(error);
                }
            }
            self.jump(after, function.end);
        }
        self.calls.pop();
        self.scopes = scopes;
        self.loops = loops;
        self.at = after;
    }

    /// A `return` in a function.
    pub(super) fn return_inlined(&mut self, value: Option<&Expr>, span: Span) {
        let Some(call) = self.calls.last() else {
            return;
        };
        let (returns, result, after) = (call.returns, call.result, call.after);
        let branch = call.branch;
        match (value, returns) {
            (None, None) => self.jump(after, span),
            (Some(value), Some(_)) => {
                if let Some((yes, no)) = branch {
                    match value.kind {
                        ExprKind::Bool(truth) => self.jump(if truth { yes } else { no }, span),
                        _ => self.branch(value, yes, no),
                    }
                } else if let Some(result) = result {
                    self.assign_local(result, value, span);
                    self.jump(after, span);
                }
            }
            (Some(value), None) => {
                let error = Diagnostic::error(value.span, "a result is returned here")
                    .label("the head names none")
                    .help("write `returns` and its type behind the parameters");
                self.items.push(error);
            }
            (None, Some(_)) => {
                let error = Diagnostic::error(span, "the result is missing")
                    .label("the head says that there is one")
                    .help("write `return e;`");
                self.items.push(error);
            }
        }
    }
}

/// Looks for what changes a local: assignments, what a failing `cas` has found, `ref` parameters.
struct Changes<'f> {
    name: &'f str,
    functions: &'f [ast::Method],
}

impl Changes<'_> {
    /// Whether the local, or a part of it, is changed in the statements.
    fn any(&self, statements: &[Stmt]) -> bool {
        statements.iter().any(|s| self.stmt(s))
    }

    fn is_it(&self, path: &Path) -> bool {
        let part = |name: &Name| matches!(name.text.as_str(), "ptr" | "mark" | "count");
        let whole = match path.parts.as_slice() {
            [] => true,
            [Part::Field(field)] => part(field),
            _ => false,
        };
        whole && path.base.text == self.name
    }

    fn stmt(&self, statement: &Stmt) -> bool {
        let of_decl = |d: &ast::Decl| d.value.iter().chain(&d.values).any(|e| self.expr(e));
        match &statement.kind {
            StmtKind::Assign(path, value) => {
                self.is_it(path) || self.path(path) || self.expr(value)
            }
            StmtKind::Block(body) | StmtKind::Atomic(body) => self.any(body),
            StmtKind::If(c, then, other) => {
                self.expr(c) || self.stmt(then) || other.as_deref().is_some_and(|s| self.stmt(s))
            }
            StmtKind::While(c, body) | StmtKind::DoWhile(body, c) => {
                self.expr(c) || self.stmt(body)
            }
            StmtKind::For(start, c, step, body) => {
                let parts = [start.as_deref(), step.as_deref(), Some(&**body)];
                c.as_ref().is_some_and(|c| self.expr(c))
                    || parts.into_iter().flatten().any(|s| self.stmt(s))
            }
            StmtKind::Choose(blocks) => blocks.iter().any(|block| self.any(block)),
            StmtKind::Declare(all) => all.iter().any(of_decl),
            StmtKind::Return(value) => value.as_ref().is_some_and(|e| self.expr(e)),
            StmtKind::Cas(e)
            | StmtKind::Swap(e)
            | StmtKind::Call(e)
            | StmtKind::Free(e)
            | StmtKind::Assume(e)
            | StmtKind::Assert(e) => self.expr(e),
            StmtKind::Lock(path) | StmtKind::Unlock(path) => self.path(path),
            StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Skip
            | StmtKind::Fence
            | StmtKind::Commit(..)
            | StmtKind::Soft(..) => false,
        }
    }

    /// Whether an index of the path changes it.
    fn path(&self, path: &Path) -> bool {
        path.parts.iter().any(|part| match part {
            Part::Field(_) => false,
            Part::Index(index) => self.expr(index),
        })
    }

    fn expr(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Cas(cas) => {
                cas.found.as_ref().is_some_and(|found| self.is_it(found))
                    || self.path(&cas.place)
                    || self.expr(&cas.expect)
                    || self.expr(&cas.new)
            }
            ExprKind::Call(name, arguments) => {
                let called = self.functions.iter().find(|f| f.name.text == name.text);
                let parameters = called.map_or(&[][..], |f| &f.parameters);
                let is_it = |e: &Expr| matches!(&e.kind, ExprKind::Path(path) if self.is_it(path));
                let mut given = parameters.iter().zip(arguments);
                given.any(|(p, e)| p.is_reference && is_it(e))
                    || arguments.iter().any(|e| self.expr(e))
            }
            ExprKind::Path(path) => self.path(path),
            ExprKind::Swap(path, by, _) => self.path(path) || self.expr(by),
            ExprKind::Not(a) => self.expr(a),
            ExprKind::Pack(a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::Add(a, b, _)
            | ExprKind::Remainder(a, b) => self.expr(a) || self.expr(b),
            ExprKind::Null
            | ExprKind::Empty
            | ExprKind::Infinity(_)
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Any
            | ExprKind::New(_) => false,
        }
    }
}

/// Functions have names of their own.
pub(super) fn check(functions: &[ast::Method], items: &mut Vec<Diagnostic>) {
    for (index, function) in functions.iter().enumerate() {
        check_name(&function.name, items);
        let name = &function.name.text;
        if functions[..index].iter().any(|f| f.name.text == *name) {
            declared_twice(&function.name, "function", items);
        }
        if BUILT_IN.contains(&name.as_str()) {
            let error = Diagnostic::error(function.name.span, format!("`{name}` is built in"))
                .label("cannot be declared");
            items.push(error.help("choose another name"));
        }
    }
}

/// Functions that nothing calls: their bodies are not looked at.
pub(super) fn unused(tables: &Tables<'_>, items: &mut Vec<Diagnostic>) {
    let called = tables.called.borrow();
    for function in tables.functions {
        if !called.contains(&function.name.text) {
            let message = format!("`{}` is never called", function.name.text);
            let warning = Diagnostic::warning(function.name.span, message);
            items.push(warning.label("not looked at").help("call it, or remove it"));
        }
    }
}
