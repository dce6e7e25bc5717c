//! Loops: `while`, `do`, `for`, `break` and `continue`. A test whose outcome is
//! known costs no step.

use std::collections::HashMap;

use palisade_program::{BinOp, LocId, LocalExpr, LocalId, Span, Step};

use super::code::{Binding, Code};
use super::walk::{initial_assignment, is_plain, touches};
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, ExprKind, Stmt, StmtKind};
use crate::range::Range;

/// A loop around the current statement.
pub(super) struct Loop {
    exit: LocId,
    next: LocId,
    /// Whether some `break` leaves it.
    left: bool,
    /// `Code::atomic_depth` of the loop.
    depth: u32,
}

impl Code<'_, '_> {
    fn push_loop(&mut self, exit: LocId, next: LocId) {
        let depth = self.atomic_depth;
        self.frame().loops.push(Loop {
            exit,
            next,
            left: false,
            depth,
        });
    }

    /// Ends a loop: whatever comes next stands at its exit.
    fn pop_loop(&mut self, exit: LocId, endless: bool) {
        let left = self.frame().loops.pop().is_some_and(|l| l.left);
        self.here = exit;
        self.dead = endless && !left;
    }

    /// Goes back to `target`, by a step of its own only if nothing was done since.
    fn back_to(&mut self, target: LocId, span: Span) {
        if self.graph.same(self.here, target) {
            self.graph.edge(self.here, Step::Skip, target, span);
        } else {
            self.graph.unify(self.here, target);
        }
    }

    pub(super) fn while_loop(&mut self, cond: &Expr, body: &Stmt) {
        self.forget_assertions();
        let head = self.here;
        let exit = self.graph.loc();
        self.loop_with(Some(cond), cond.span, head, exit, head, |code| {
            code.scoped(body);
            code.back_to(head, body.span);
        });
    }

    /// Tests `cond` (none: always true) at `head`, runs `body` if it holds.
    fn loop_with(
        &mut self,
        cond: Option<&Expr>,
        span: Span,
        head: LocId,
        exit: LocId,
        next: LocId,
        body: impl FnOnce(&mut Self),
    ) {
        let known = match cond {
            None => Some(true),
            Some(cond) => self.known_truth(cond),
        };
        match (known, cond) {
            (Some(true), _) | (None, None) => {}
            (Some(false), _) => {
                // The body is lowered for its errors and labels.
                self.graph.edge(head, Step::Skip, exit, span);
                self.here = self.graph.loc();
            }
            (None, Some(cond)) => {
                let first = self.graph.loc();
                self.with_temporaries(|code| code.branch(cond, first, exit));
                self.here = first;
            }
        }
        self.push_loop(exit, next);
        body(self);
        self.pop_loop(exit, known == Some(true));
    }

    pub(super) fn do_while(&mut self, body: &Stmt, cond: &Expr) {
        self.forget_assertions();
        let first = self.here;
        let (test, exit) = (self.graph.loc(), self.graph.loc());
        self.push_loop(exit, test);
        self.scoped(body);
        self.graph.unify(self.here, test);
        self.here = test;
        let known = self.known_truth(cond);
        match known {
            Some(true) => self.back_to(first, cond.span),
            Some(false) => self.graph.unify(test, exit),
            None => self.with_temporaries(|code| code.branch(cond, first, exit)),
        }
        self.pop_loop(exit, known == Some(true));
    }

    pub(super) fn for_loop(
        &mut self,
        init: Option<&Stmt>,
        cond: Option<&Expr>,
        update: Option<&Stmt>,
        body: &Stmt,
    ) {
        let declared = self.frame().declared;
        self.frame().scopes.push(HashMap::new());
        if let Some(init) = init {
            self.statement(init);
        }
        self.forget_assertions();
        let head = self.here;
        let (exit, next) = (self.graph.loc(), self.graph.loc());
        let counter = self.counter(init, cond, update, body);
        let span = body.span;
        self.loop_with(cond, span, head, exit, next, |code| {
            let old =
                counter.map(|(local, range)| (local, code.ranges[local.index()].replace(range)));
            code.scoped(body);
            if let Some((local, range)) = old {
                code.ranges[local.index()] = range;
            }
            code.graph.unify(code.here, next);
            code.here = next;
            code.dead = false;
            if let Some(update) = update {
                code.statement(update);
            }
            code.back_to(head, span);
        });
        self.frame().scopes.pop();
        self.frame().declared = declared;
    }

    /// The range of a loop counter inside the body, for loops of the form
    /// `for (i = c; i < d; i++)` whose body neither assigns `i` nor has a label.
    fn counter(
        &mut self,
        init: Option<&Stmt>,
        cond: Option<&Expr>,
        update: Option<&Stmt>,
        body: &Stmt,
    ) -> Option<(LocalId, Range)> {
        let (name, lo) = initial_assignment(init?)?;
        let lo = self.pure_constant(lo)?;
        let ExprKind::Binary(op, left, right) = &cond?.kind else {
            return None;
        };
        let hi = self.pure_constant(right)?;
        let hi = match op {
            BinOp::Lt => hi.checked_sub(1)?,
            BinOp::Le => hi,
            _ => return None,
        };
        let StmtKind::Update {
            place,
            op: BinOp::Add,
            value,
        } = &update?.kind
        else {
            return None;
        };
        let grows = self.pure_constant(value)? > 0;
        let same =
            is_plain(place, name) && matches!(&left.kind, ExprKind::Place(p) if is_plain(p, name));
        if !grows || !same || touches(body, name) {
            return None;
        }
        match self.lookup(name)? {
            Binding::Scalar(local) => Some((local, Range::new(lo, hi.max(lo)))),
            Binding::Array(_) => None,
        }
    }

    fn pure_constant(&mut self, e: &Expr) -> Option<i64> {
        if !self.is_pure(e) {
            return None;
        }
        match self.value(e) {
            LocalExpr::Const(c) => Some(c),
            _ => None,
        }
    }

    pub(super) fn break_loop(&mut self, span: Span) {
        if let Some((exit, _)) = self.innermost_loop("break", span) {
            if let Some(l) = self.frame().loops.last_mut() {
                l.left = true;
            }
            self.jump_to(exit, span);
        }
    }

    pub(super) fn continue_loop(&mut self, span: Span) {
        if let Some((_, next)) = self.innermost_loop("continue", span) {
            self.jump_to(next, span);
        }
    }

    fn innermost_loop(&mut self, word: &str, span: Span) -> Option<(LocId, LocId)> {
        let depth = self.atomic_depth;
        let Some(found) = self.frame().loops.last() else {
            self.report(
                Diagnostic::error(span, format!("`{word}` outside a loop"))
                    .label("there is no loop here")
                    .help("remove it, or use `goto` or `return`"),
            );
            return None;
        };
        if found.depth != depth {
            self.leaves_atomic(word, span);
            return None;
        }
        Some((found.exit, found.next))
    }
}
