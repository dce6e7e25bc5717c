//! Branches: `if`, `choose`, and conditions as jumps to one of two places.

use palisade_program::{BinOp, LocId, LocalExpr, Span, Step};

use super::code::Code;
use super::walk::has_call;
use crate::pal::ast::{Expr, ExprKind, Place, Stmt, StmtKind};

impl Code<'_, '_> {
    pub(super) fn if_else(&mut self, arms: &[(Expr, Stmt)], otherwise: Option<&Stmt>) {
        let join = self.graph.loc();
        let mut all_dead = true;
        for (cond, body) in arms {
            let (then, other) = (self.graph.loc(), self.graph.loc());
            self.with_temporaries(|code| code.branch(cond, then, other));
            self.at(then);
            self.scoped(body);
            all_dead &= self.dead;
            self.graph.unify(self.here, join);
            self.at(other);
        }
        if let Some(body) = otherwise {
            self.scoped(body);
            all_dead &= self.dead;
        } else {
            all_dead = false;
        }
        self.graph.unify(self.here, join);
        self.at(join);
        self.dead = all_dead;
    }

    fn at(&mut self, loc: LocId) {
        self.here = loc;
        self.dead = false;
    }

    pub(super) fn choose(&mut self, branches: &[Vec<Stmt>], span: Span) {
        let start = self.here;
        let join = self.graph.loc();
        let mut all_dead = true;
        for branch in branches {
            // A branch that starts with a step starts right here, so that its first
            // step makes the choice; a loop or label at its start must not be
            // re-entered through the other branches, so it gets a place of its own.
            let first = if branch.first().is_some_and(|s| self.starts_with_step(s)) {
                start
            } else {
                let first = self.graph.loc();
                self.graph.edge(start, Step::Skip, first, span);
                first
            };
            self.at(first);
            self.block(branch);
            all_dead &= self.dead;
            self.graph.unify(self.here, join);
        }
        self.at(join);
        self.dead = all_dead;
    }

    /// Whether lowering the statement starts with a step that leads away from where
    /// it stands, for good. The body of a called function might start with a loop,
    /// and so might an atomic block that dissolves in the one around it.
    fn starts_with_step(&self, stmt: &Stmt) -> bool {
        if !stmt.labels.is_empty() {
            return false;
        }
        let plain = |place: &Place| !place.index.as_deref().is_some_and(has_call);
        match &stmt.kind {
            StmtKind::Assign { place, value } | StmtKind::Update { place, value, .. } => {
                plain(place) && !has_call(value)
            }
            StmtKind::Assume(e) | StmtKind::Assert(e) => !has_call(e),
            StmtKind::Skip | StmtKind::Fence(_) => true,
            StmtKind::Atomic(..) => self.atomic_depth == 0,
            StmtKind::Lock(place) | StmtKind::Unlock(place) => plain(place),
            StmtKind::Flush(None, _) => true,
            StmtKind::Put { .. } | StmtKind::Get { .. } => false,
            StmtKind::RemoteAtomic(_) | StmtKind::Flush(Some(_), _) => false,
            StmtKind::Empty | StmtKind::Block(_) | StmtKind::Local(_) => false,
            StmtKind::Shared(_) | StmtKind::If { .. } | StmtKind::While { .. } => false,
            StmtKind::DoWhile { .. } | StmtKind::For { .. } | StmtKind::Choose(_) => false,
            StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) => false,
            StmtKind::Return(_) | StmtKind::Call(_) => false,
        }
    }

    /// Goes to `yes` or `no` by the value of `cond`.
    pub(super) fn branch(&mut self, cond: &Expr, yes: LocId, no: LocId) {
        match &cond.kind {
            ExprKind::Unary(palisade_program::UnOp::Not, arg) => self.branch(arg, no, yes),
            ExprKind::Binary(BinOp::And, a, b) if self.needs_branches(cond) => {
                let middle = self.graph.loc();
                self.branch(a, middle, no);
                self.here = middle;
                self.branch(b, yes, no);
            }
            ExprKind::Binary(BinOp::Or, a, b) if self.needs_branches(cond) => {
                let middle = self.graph.loc();
                self.branch(a, yes, middle);
                self.here = middle;
                self.branch(b, yes, no);
            }
            ExprKind::Cond(c, a, b) if self.needs_branches(cond) => {
                let (then, other) = (self.graph.loc(), self.graph.loc());
                self.branch(c, then, other);
                self.here = then;
                self.branch(a, yes, no);
                self.here = other;
                self.branch(b, yes, no);
            }
            ExprKind::Any => {
                self.graph.edge(self.here, Step::Skip, yes, cond.span);
                self.graph.edge(self.here, Step::Skip, no, cond.span);
            }
            _ => {
                let value = self.value(cond);
                self.branch_on(value, yes, no, cond.span);
            }
        }
    }

    /// Whether a condition has a short circuit that skips steps, at its top.
    fn needs_branches(&self, cond: &Expr) -> bool {
        match &cond.kind {
            ExprKind::Binary(BinOp::And | BinOp::Or, a, b) => {
                !self.is_pure(b) || self.needs_branches(a)
            }
            ExprKind::Unary(palisade_program::UnOp::Not, arg) => self.needs_branches(arg),
            ExprKind::Cond(_, a, b) => !(self.is_pure(a) && self.is_pure(b)),
            ExprKind::Int(_) | ExprKind::SelfId | ExprKind::Any | ExprKind::Place(_) => false,
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Call(..) => false,
            ExprKind::Choose(_) | ExprKind::ChooseRange(..) => false,
            ExprKind::At(..) | ExprKind::Field(..) => false,
        }
    }

    fn branch_on(&mut self, value: LocalExpr, yes: LocId, no: LocId, span: Span) {
        if let LocalExpr::Const(c) = value {
            let target = if c != 0 { yes } else { no };
            self.graph.edge(self.here, Step::Skip, target, span);
            return;
        }
        let negated = value.clone().negate();
        self.graph.edge(self.here, Step::Assume(value), yes, span);
        self.graph.edge(self.here, Step::Assume(negated), no, span);
    }

    /// The truth of a condition that costs no step to know.
    pub(super) fn known_truth(&mut self, cond: &Expr) -> Option<bool> {
        if !self.is_pure(cond) {
            return None;
        }
        // A pure expression emits no step, so looking at its value is harmless.
        match self.value(cond) {
            LocalExpr::Const(c) => Some(c != 0),
            _ => None,
        }
    }
}
