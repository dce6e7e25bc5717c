//! Which compare-and-swaps have to say what they have found. C11's writes it to the variable that held the expected value; where that variable is
//! not read any more before it is written, a plain `cas` means the same. This is liveness, backwards over the syntax tree.

use std::collections::BTreeSet;

use palisade_program::Span;

use super::operation::{Atomic, Expected, addressed, atomic, uncast};
use crate::c::ast::{Expr, ExprKind, Function, Initializer, Stmt, StmtKind, Unary};

/// The compare-and-swaps, by where they stand, whose variable may be read after they have failed.
#[derive(Default, Debug)]
pub(super) struct Live(BTreeSet<Span>);

impl Live {
    /// Those of a function.
    pub(super) fn of(function: &Function) -> Self {
        let mut variables = BTreeSet::new();
        let mut has_jumps = false;
        for s in &function.body {
            super::body::each_stmt(s, &mut |s| {
                has_jumps |= matches!(s.kind, StmtKind::Goto(_) | StmtKind::Switch(..));
            });
            crate::c::lower::each_in_stmt(s, &mut |e| {
                variables.extend(swap(e).map(|(name, _)| name.to_owned()));
            });
        }
        let mut live = Self::default();
        for name in variables {
            let mut walk = Walk {
                name: &name,
                live: &mut live.0,
                has_jumps,
                breaks: false,
                continues: false,
            };
            walk.list(&function.body, false);
        }
        live
    }

    pub(super) fn contains(&self, span: Span) -> bool {
        self.0.contains(&span)
    }
}

/// The variable of a compare-and-swap that writes what it has found.
fn swap(e: &Expr) -> Option<(&str, Span)> {
    let ExprKind::Call(f, args) = &e.kind else {
        return None;
    };
    let ExprKind::Ident(name) = &f.kind else {
        return None;
    };
    let (_, Atomic::Cas(cas)) = atomic(name, args)? else {
        return None;
    };
    let Expected::Variable(expected) = cas.expected else {
        return None;
    };
    match &addressed(expected)?.kind {
        ExprKind::Ident(name) => Some((name, e.span)),
        _ => None,
    }
}

struct Walk<'w> {
    name: &'w str,
    live: &'w mut BTreeSet<Span>,
    /// Whether control goes otherwise than by loops: then everything counts as live.
    has_jumps: bool,
    /// Whether the variable is live where `break` and `continue` go.
    breaks: bool,
    continues: bool,
}

impl Walk<'_> {
    /// Whether the variable is live before the statements, if it is `after` or not.
    fn list(&mut self, body: &[Stmt], after: bool) -> bool {
        body.iter()
            .rev()
            .fold(after, |after, s| self.stmt(s, after))
    }

    fn stmt(&mut self, s: &Stmt, after: bool) -> bool {
        match &s.kind {
            StmtKind::Expr(e) => self.expr(e, after),
            StmtKind::Declare(all) => all.iter().rev().fold(after, |after, d| match &d.init {
                Some(Initializer::Value(e)) => {
                    let after = after && d.name != self.name;
                    self.expr(e, after)
                }
                Some(Initializer::List(..)) => true,
                None => after,
            }),
            StmtKind::Block(body) => self.list(body, after),
            StmtKind::If(c, then, other) => {
                let yes = self.stmt(then, after);
                let no = other.as_deref().map_or(after, |s| self.stmt(s, after));
                self.condition(c, yes, no)
            }
            StmtKind::While(c, body) => self.repeated(Some(c), None, body, after, false),
            StmtKind::DoWhile(body, c) => self.repeated(Some(c), None, body, after, true),
            StmtKind::For(start, c, step, body) => {
                let before = self.repeated(c.as_ref(), step.as_ref(), body, after, false);
                start.as_deref().map_or(before, |s| self.stmt(s, before))
            }
            StmtKind::Return(e) => e.as_ref().is_some_and(|e| self.expr(e, false)),
            StmtKind::Break => self.breaks,
            StmtKind::Continue => self.continues,
            StmtKind::Switch(e, body) => {
                self.stmt(body, true);
                self.expr(e, true);
                true
            }
            StmtKind::Case(_, _, body) | StmtKind::Default(body) | StmtKind::Label(_, body) => {
                self.stmt(body, true);
                true
            }
            StmtKind::Goto(_) => true,
            StmtKind::Empty | StmtKind::Asm(_) | StmtKind::Refused(_) | StmtKind::Gap => after,
        }
    }

    /// A loop; `late`: its condition comes last. The first guess is that nothing is live; it only grows.
    fn repeated(
        &mut self,
        c: Option<&Expr>,
        step: Option<&Expr>,
        body: &Stmt,
        after: bool,
        late: bool,
    ) -> bool {
        let around = (self.breaks, self.continues);
        let mut again = false;
        loop {
            // Before the condition, if the loop goes on or ends behind it.
            let decide = |walk: &mut Self, start: bool| match c {
                Some(c) => walk.condition(c, start, after),
                None => start,
            };
            let next = if late {
                let at_condition = decide(self, again);
                (self.breaks, self.continues) = (after, at_condition);
                self.stmt(body, at_condition)
            } else {
                let behind = step.map_or(again, |e| self.expr(e, again));
                (self.breaks, self.continues) = (after, behind);
                let start = self.stmt(body, behind);
                decide(self, start)
            };
            if next == again || again {
                (self.breaks, self.continues) = around;
                return next || again;
            }
            again = next;
        }
    }

    /// Whether it is live before a condition.
    fn condition(&mut self, c: &Expr, yes: bool, no: bool) -> bool {
        match &c.kind {
            ExprKind::Unary(Unary::Not, a) => self.condition(a, no, yes),
            ExprKind::Cast(_, a) => self.condition(a, yes, no),
            _ => match swap(uncast(c)) {
                Some((name, span)) if name == self.name => {
                    if no || self.has_jumps {
                        self.live.insert(span);
                    }
                    // The expected value is read.
                    true
                }
                _ => self.expr(c, yes || no),
            },
        }
    }

    /// Whether it is live before an expression.
    fn expr(&mut self, e: &Expr, after: bool) -> bool {
        if let ExprKind::Assign(None, to, value) = &e.kind
            && matches!(&to.kind, ExprKind::Ident(name) if name == self.name)
        {
            return self.expr(value, false);
        }
        let mut read = after;
        let mut inside = Vec::new();
        crate::c::lower::each_expr(e, &mut |e| {
            read |= matches!(&e.kind, ExprKind::Ident(name) if name == self.name);
            inside.extend(
                swap(e)
                    .filter(|(name, _)| *name == self.name)
                    .map(|(_, span)| span),
            );
        });
        // In the midst of an expression nothing is known of what follows.
        if let [one] = inside.as_slice()
            && uncast(e).span == *one
        {
            if after || self.has_jumps {
                self.live.insert(*one);
            }
        } else {
            self.live.extend(inside);
        }
        read
    }
}
