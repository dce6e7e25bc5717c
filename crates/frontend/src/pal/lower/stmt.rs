//! Statements other than branches, loops and jumps: declarations, assignments,
//! assumptions and assertions, fences.

use std::collections::HashMap;

use palisade_program::{
    AssertKind, BinOp, Expr as Value, FenceKind, Init, LocalExpr, LocalId, Span, Step,
};

use super::access::Target;
use super::code::{Binding, Code};
use super::declare::role;
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Decl, DeclInit, Expr, ExprKind, Place, Stmt, StmtKind};

/// Largest array of locals: each access is a case distinction over its elements.
const MAX_LOCAL_ARRAY: i64 = 64;

impl Code<'_, '_> {
    /// Lowers statements in a scope of their own.
    pub(super) fn block(&mut self, body: &[Stmt]) {
        let declared = self.frame().declared;
        self.frame().scopes.push(HashMap::new());
        self.statements(body);
        self.frame().scopes.pop();
        self.frame().declared = declared;
    }

    pub(super) fn statements(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    /// A statement that is the body of `if` or of a loop: a scope of its own.
    pub(super) fn scoped(&mut self, stmt: &Stmt) {
        let declared = self.frame().declared;
        self.frame().scopes.push(HashMap::new());
        self.statement(stmt);
        self.frame().scopes.pop();
        self.frame().declared = declared;
    }

    pub(super) fn statement(&mut self, stmt: &Stmt) {
        self.warn_if_dead(stmt);
        let label = self.define_labels(stmt);
        self.with_temporaries(|code| code.unlabelled(stmt));
        // A labelled statement keeps a location of its own even if it does nothing. A
        // label at the very end of a thread is the place where the thread has ended.
        if let Some(label) = label
            && self.atomic_depth == 0
            && !self.is_last_of_thread(stmt)
            && self.graph.same(label, self.here)
        {
            self.emit(Step::Skip, stmt.span);
        }
    }

    fn is_last_of_thread(&self, stmt: &Stmt) -> bool {
        let Some(unit) = self.unit else { return false };
        let last = self.context.units[unit].ast.body.last();
        matches!(stmt.kind, StmtKind::Empty) && last.is_some_and(|last| std::ptr::eq(last, stmt))
    }

    fn unlabelled(&mut self, stmt: &Stmt) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Empty => {}
            StmtKind::Block(body) => self.block(body),
            StmtKind::Local(decls) => self.declare_locals(decls),
            StmtKind::Shared(_) => self.check_shared_place(stmt),
            StmtKind::Assign { place, value } => self.assign(place, value, span),
            StmtKind::Update { place, op, value } => self.update(place, *op, value, span),
            StmtKind::If { arms, otherwise } => self.if_else(arms, otherwise.as_deref()),
            StmtKind::While { cond, body } => self.while_loop(cond, body),
            StmtKind::DoWhile { body, cond } => self.do_while(body, cond),
            StmtKind::For {
                init,
                cond,
                update,
                body,
            } => self.for_loop(init.as_deref(), cond.as_ref(), update.as_deref(), body),
            StmtKind::Break => self.break_loop(span),
            StmtKind::Continue => self.continue_loop(span),
            StmtKind::Goto(label) => self.goto(label, span),
            StmtKind::Choose(branches) => self.choose(branches, span),
            StmtKind::Assume(cond) => {
                let cond = self.truth(cond);
                self.emit(Step::Assume(cond), span);
            }
            StmtKind::Assert(cond) => {
                let cond = self.truth(cond);
                self.emit_assert(cond, AssertKind::User, span);
            }
            StmtKind::Skip => self.emit(Step::Skip, span),
            StmtKind::Atomic(kind, body) => self.atomic(*kind, body, span),
            StmtKind::Lock(place) => self.lock(place, span),
            StmtKind::Unlock(place) => self.unlock(place, span),
            StmtKind::Fence(kind) => self.fence(*kind, span),
            StmtKind::Return(value) => self.return_from(value.as_ref(), span),
            StmtKind::Call(call) => self.call_statement(call, span),
            StmtKind::Put {
                remote,
                process,
                local,
            } => self.put(remote, process, local, span),
            StmtKind::Get {
                local,
                remote,
                process,
            } => self.get(local, remote, process, span),
            StmtKind::RemoteAtomic(atomic) => self.remote_atomic(atomic, span),
            StmtKind::Flush(target, is_local) => self.flush(target.as_ref(), *is_local, span),
        }
    }

    /// `shared` inside code is for the top level of a process, and was dealt with
    /// there.
    fn check_shared_place(&mut self, stmt: &Stmt) {
        let in_process = self
            .unit
            .is_some_and(|unit| self.context.units[unit].ast.is_process);
        let top = self.frames.len() == 1 && self.frame().scopes.len() == 1;
        let in_function = !self.frame().function.is_empty();
        if in_function || (in_process && !top) {
            self.report(
                Diagnostic::error(stmt.span, "a shared variable declared inside code")
                    .label("not at the top level of a process")
                    .help("move it to the start of the process, or use `local`"),
            );
        }
    }

    fn declare_locals(&mut self, decls: &[Decl]) {
        for decl in decls {
            self.declare_local(decl);
        }
    }

    fn declare_local(&mut self, decl: &Decl) {
        let domain = self.context.domain(decl);
        self.check_shadowing(decl);
        if let Some(len) = &decl.len {
            let len = self.context.size(len, MAX_LOCAL_ARRAY);
            let elements: Vec<(LocalId, bool)> = (0..len)
                .map(|i| self.user_local(&decl.name, Some(i), domain, role(decl)))
                .collect();
            let values = self.array_initials(decl, len as usize);
            for (&(element, new), value) in elements.iter().zip(values) {
                self.initialise(element, new, value, decl.span);
            }
            let elements = elements.into_iter().map(|(element, _)| element).collect();
            self.bind(&decl.name.text, Binding::Array(elements));
            return;
        }
        let (local, new) = self.user_local(&decl.name, None, domain, role(decl));
        match &decl.init {
            DeclInit::None => self.initialise(local, new, None, decl.span),
            DeclInit::Value(value) => self.initialise(local, new, Some(value), decl.span),
            DeclInit::List(_, span) => self.report(
                Diagnostic::error(*span, "a list of values for a single variable")
                    .label("only arrays take a list")
                    .help("write one value"),
            ),
        }
        self.bind(&decl.name.text, Binding::Scalar(local));
    }

    fn array_initials<'d>(&mut self, decl: &'d Decl, len: usize) -> Vec<Option<&'d Expr>> {
        match &decl.init {
            DeclInit::None => vec![None; len],
            DeclInit::Value(value) => vec![Some(value); len],
            DeclInit::List(values, span) => {
                if values.len() != len {
                    let found = values.len();
                    self.report(
                        Diagnostic::error(*span, "wrong number of initial values")
                            .label(format!("expected {len}, found {found}"))
                            .help("give one value per element, or one value for all"),
                    );
                }
                let mut all: Vec<Option<&Expr>> = values.iter().map(Some).collect();
                all.resize(len, None);
                all
            }
        }
    }

    fn check_shadowing(&mut self, decl: &Decl) {
        let name = &decl.name;
        let hidden = if self.lookup(&name.text).is_some() {
            "a local of the same name"
        } else if self.context.constants.contains_key(&name.text) {
            "a constant of the same name"
        } else if self.shared_variable(&name.text).is_some() {
            "a shared variable of the same name"
        } else {
            return;
        };
        self.report(
            Diagnostic::error(name.span, format!("`{}` is already declared", name.text))
                .label(format!("would hide {hidden}"))
                .help("choose another name"),
        );
    }

    /// The value that a local starts with. At the top of a thread a constant is the
    /// local's initial value; anywhere else, and for computed values, it is assigned.
    fn initialise(&mut self, local: LocalId, new: bool, value: Option<&Expr>, span: Span) {
        let once = new
            && !self.label_seen
            && self.atomic_depth == 0
            && self.frames.len() == 1
            && self.frame().scopes.len() == 1
            && self.frame().loops.is_empty();
        let constant = match value {
            None => Some(0),
            Some(e) => self.plain_constant(e),
        };
        let domain = self.locals[local.index()].domain;
        if let Some(constant) = constant
            && let Some(domain) = domain
            && !domain.contains(constant)
        {
            self.report(
                Diagnostic::error(span, "the initial value is outside the declared range")
                    .label(format!("{constant} is not in {}..{}", domain.lo, domain.hi))
                    .help(format!(
                        "start with a value of the range, such as `= {}`",
                        domain.lo
                    )),
            );
            return;
        }
        match (constant, value) {
            (Some(constant), _) if once => {
                self.locals[local.index()].init = Init::Value(constant);
            }
            (None, Some(e)) if once && matches!(e.kind, ExprKind::Any) => {
                self.locals[local.index()].init = Init::Any;
            }
            (_, Some(e)) => self.assign_local(local, e, span),
            (_, None) => self.assign_value(local, Value::Const(0), span),
        }
    }

    /// The value of `e` if it is made of numbers and constants only.
    fn plain_constant(&mut self, e: &Expr) -> Option<i64> {
        match &e.kind {
            ExprKind::Int(value) => Some(*value),
            ExprKind::Place(Place {
                name, index: None, ..
            }) if self.lookup(&name.text).is_none() => {
                self.context.constants.get(&name.text).map(|c| c.value)
            }
            ExprKind::Unary(op, arg) => {
                let arg = self.plain_constant(arg)?;
                palisade_program::expr::apply_unary(*op, arg).ok()
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.plain_constant(a)?, self.plain_constant(b)?);
                palisade_program::expr::apply_binary(*op, a, b).ok()
            }
            ExprKind::SelfId | ExprKind::Any | ExprKind::Place(_) | ExprKind::Cond(..) => None,
            ExprKind::Call(..) | ExprKind::Choose(_) | ExprKind::ChooseRange(..) => None,
            ExprKind::At(..) | ExprKind::Field(..) => None,
        }
    }

    fn assign(&mut self, place: &Place, value: &Expr, span: Span) {
        match self.target(place) {
            None => {
                // The place was reported; the value may have errors of its own.
                self.value(value);
            }
            Some(Target::Local(local)) => self.assign_local(local, value, span),
            Some(Target::Element(elements, Value::Const(c))) => {
                self.assign_local(elements[c as usize], value, span);
            }
            Some(Target::Element(elements, index)) => {
                let value = self.value(value);
                self.store_element(&elements, &index, value, span);
            }
            Some(Target::Shared(dst)) => {
                let domain = self.context.globals[dst.var.index()].domain;
                let value = self.value_in(value, domain);
                self.store(dst, value, span);
            }
        }
    }

    /// `place op= value`: the old value is read before `value` is evaluated.
    fn update(&mut self, place: &Place, op: BinOp, value: &Expr, span: Span) {
        let Some(target) = self.target(place) else {
            self.value(value);
            return;
        };
        let old = self.read(&target, place.span);
        let value = self.value(value);
        let new = LocalExpr::binary(op, old, value);
        match target {
            Target::Local(local) => self.assign_value(local, new, span),
            Target::Element(elements, index) => self.store_element(&elements, &index, new, span),
            Target::Shared(dst) => self.store(dst, new, span),
        }
    }

    fn fence(&mut self, kind: FenceKind, span: Span) {
        if self.atomic_depth > 0 {
            self.report(
                Diagnostic::error(span, "a fence inside an atomic block")
                    .label("not needed here")
                    .help("remove it: stores of an atomic block go straight to memory"),
            );
            return;
        }
        match kind {
            FenceKind::Ordered(order) => self.ordered_fence(order, span),
            FenceKind::Full | FenceKind::StoreStore | FenceKind::Candidate => {
                self.emit(Step::Fence(kind), span);
            }
        }
    }
}
