//! *Jumps*: loops, `switch`, labels.
//!
//! C's jumps become loops: a label with jumps back to it is the start of a loop that is left at its end, one with jumps forward to it
//! is the end of such a loop, and so is the end of a `switch`. Who leaves several loops at once sets a flag, which each of them looks at.

use palisade_program::Span;

use super::body::{Body, block_of, each_stmt};
use super::kinds::Kind;
use super::reader::{Sort, path_of};
use super::{Read, refused};
use crate::c::ast::{Expr, Stmt, StmtKind};
use crate::heap::ast as heap;

/// Where a jump goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// Out of the innermost loop or `switch`.
    Break,
    /// To the next round of the innermost loop.
    Continue,
    Label(String),
}

/// A loop of the result, and what in C ends or repeats it.
pub(super) struct Frame {
    /// Jumps that leave it.
    ends: Vec<Target>,
    /// Jumps that start its next round.
    repeats: Vec<Target>,
    /// Jumps from inside to loops around it: flags, and what they stand for.
    through: Vec<(String, Target)>,
}

impl Body<'_, '_> {
    /// Statements one behind the other, which labels may divide.
    pub(super) fn list(&mut self, statements: &[Stmt]) {
        let forward = (1..statements.len()).rev().find(|k| {
            let names = labels(&statements[*k]);
            names.iter().any(|name| jumps(&statements[..*k], name))
        });
        if let Some(k) = forward {
            let names = labels(&statements[k]);
            let ends = names.into_iter().map(Target::Label).collect();
            self.section(ends, Vec::new(), &statements[..k]);
            self.list(&statements[k..]);
            return;
        }
        for (k, s) in statements.iter().enumerate() {
            let names = labels(s);
            if names.iter().any(|name| jumps(&statements[k..], name)) {
                let repeats = names.into_iter().map(Target::Label).collect();
                let mut rest = vec![unlabelled(s).clone()];
                rest.extend(statements[k + 1..].iter().cloned());
                self.section(Vec::new(), repeats, &rest);
                return;
            }
            self.stmt(s);
        }
    }

    /// A loop that is left at its end.
    fn section(&mut self, ends: Vec<Target>, repeats: Vec<Target>, statements: &[Stmt]) {
        let span = statements.first().map_or_else(Span::default, |s| s.span);
        self.round(span, ends, repeats, |body| {
            body.list(statements);
            body.emit(heap::StmtKind::Break, span);
        });
    }

    /// `while (true) { ... }`
    fn round(
        &mut self,
        span: Span,
        ends: Vec<Target>,
        repeats: Vec<Target>,
        f: impl FnOnce(&mut Self),
    ) {
        self.frames.push(Frame {
            ends,
            repeats,
            through: Vec::new(),
        });
        let ((), statements) = self.apart(f);
        let always = heap::Expr {
            kind: heap::ExprKind::Bool(true),
            span,
        };
        let kind = heap::StmtKind::While(always, block_of(statements, span));
        self.emit(kind, span);
        self.close(span);
    }

    /// Behind a loop: jumps from inside it to loops around it go on.
    fn close(&mut self, span: Span) {
        let through = self.frames.pop().map(|f| f.through).unwrap_or_default();
        for (flag, target) in through {
            let is_set = heap::Expr {
                kind: heap::ExprKind::Path(path_of(&flag, span)),
                span,
            };
            let (result, statements) = self.apart(|body| body.go_on(&flag, &target, span));
            if let Err(error) = result {
                self.reader.note_error(error);
            }
            let kind = heap::StmtKind::If(is_set, block_of(statements, span), None);
            self.emit(kind, span);
        }
    }

    /// A jump whose flag is set.
    fn go_on(&mut self, flag: &str, target: &Target, span: Span) -> Read<()> {
        let is_here = |f: &Frame| f.ends.contains(target) || f.repeats.contains(target);
        if self.frames.last().is_some_and(is_here) {
            let off = heap::Expr {
                kind: heap::ExprKind::Bool(false),
                span,
            };
            self.assign(path_of(flag, span), off, span);
            return self.jump(target, span);
        }
        if let Some(frame) = self.frames.last_mut()
            && !frame.through.iter().any(|(f, _)| f == flag)
        {
            frame.through.push((flag.to_owned(), target.clone()));
        }
        self.emit(heap::StmtKind::Break, span);
        Ok(())
    }

    pub(super) fn jump(&mut self, target: &Target, span: Span) -> Read<()> {
        let known = |f: &Frame| f.ends.contains(target) || f.repeats.contains(target);
        let Some(frame) = self.frames.last() else {
            return refused(span, "a jump to this place", "use a loop");
        };
        if frame.ends.contains(target) {
            self.emit(heap::StmtKind::Break, span);
            return Ok(());
        }
        if frame.repeats.contains(target) {
            self.emit(heap::StmtKind::Continue, span);
            return Ok(());
        }
        if !self.frames.iter().any(known) {
            return refused(span, "a jump to this place", "use a loop");
        }
        let flag = self.declare_sort("leaves", Sort::Value(Kind::Truth), span)?;
        let on = heap::Expr {
            kind: heap::ExprKind::Bool(true),
            span,
        };
        self.assign(path_of(&flag, span), on, span);
        self.go_on(&flag, target, span)
    }

    pub(super) fn for_loop(
        &mut self,
        c: Option<&Expr>,
        step: Option<&Expr>,
        body: &Stmt,
        span: Span,
    ) -> Read<()> {
        let (c, before) = match c {
            None => (None, Vec::new()),
            Some(c) => {
                let (c, before) = self.apart(|b| b.condition(c));
                (Some(c?), before)
            }
        };
        let (stepped, step) = self.apart(|b| step.map_or(Ok(()), |e| b.effect(e)));
        stepped?;
        self.frames.push(Frame {
            ends: vec![Target::Break],
            repeats: vec![Target::Continue],
            through: Vec::new(),
        });
        let always = heap::Expr {
            kind: heap::ExprKind::Bool(true),
            span,
        };
        let ((), inner) = self.apart(|b| b.list(std::slice::from_ref(body)));
        let (cond, statements) = if before.is_empty() {
            (c.unwrap_or(always), inner)
        } else {
            // What the condition does is done in each round.
            let mut all = before;
            if let Some(c) = c {
                all.push(leave_unless(c, span));
            }
            all.extend(inner);
            (always, all)
        };
        let body = block_of(statements, span);
        let kind = if step.is_empty() {
            heap::StmtKind::While(cond, body)
        } else {
            heap::StmtKind::For(None, Some(cond), Some(block_of(step, span)), body)
        };
        self.emit(kind, span);
        self.close(span);
        Ok(())
    }

    pub(super) fn do_while(&mut self, body: &Stmt, c: &Expr, span: Span) -> Read<()> {
        let (c, before) = self.apart(|b| b.condition(c));
        let c = c?;
        if before.is_empty() {
            self.frames.push(Frame {
                ends: vec![Target::Break],
                repeats: vec![Target::Continue],
                through: Vec::new(),
            });
            let body = self.inside(body);
            self.emit(heap::StmtKind::DoWhile(body, c), span);
            self.close(span);
            return Ok(());
        }
        // `continue` goes to the condition: the end of an inner loop.
        self.round(span, vec![Target::Break], Vec::new(), |b| {
            b.round(span, vec![Target::Continue], Vec::new(), |b| {
                b.list(std::slice::from_ref(body));
                b.emit(heap::StmtKind::Break, span);
            });
            b.out.extend(before);
            b.out.push(leave_unless(c, span));
        });
        Ok(())
    }

    /// Cases that end by `break`, `return` or another jump; labels may share a case.
    pub(super) fn switch(&mut self, e: &Expr, body: &Stmt, span: Span) -> Read<()> {
        let StmtKind::Block(statements) = &body.kind else {
            return refused(span, "a switch of this form", "use if");
        };
        let sort = self.sort_of(e).unwrap_or(Sort::Value(Kind::Number));
        let value = self.value(e, sort)?;
        let local = self.temporary(sort, span)?;
        self.assign(local.clone(), value, span);
        let mut cases: Vec<(Vec<i128>, bool, Vec<Stmt>)> = Vec::new();
        for s in statements {
            let (mut values, mut is_default, mut inner) = (Vec::new(), false, s);
            loop {
                match &inner.kind {
                    StmtKind::Case(lo, hi, s) if hi - lo < 64 => {
                        values.extend(*lo..=*hi);
                        inner = s;
                    }
                    StmtKind::Default(s) => {
                        is_default = true;
                        inner = s;
                    }
                    _ => break,
                }
            }
            if values.is_empty() && !is_default {
                match cases.last_mut() {
                    Some(case) => case.2.push(inner.clone()),
                    None => {
                        return refused(s.span, "a statement before the first case", "remove it");
                    }
                }
            } else {
                cases.push((values, is_default, vec![inner.clone()]));
            }
        }
        let ends = |body: &[Stmt]| body.last().is_some_and(never_falls);
        let count = cases.len();
        if cases
            .iter()
            .take(count.saturating_sub(1))
            .any(|(_, _, body)| !ends(body))
        {
            return refused(
                span,
                "a case that falls through to the next",
                "end it by break",
            );
        }
        let mut result = Ok(());
        self.round(span, vec![Target::Break], Vec::new(), |b| {
            for (values, _, body) in cases.iter().filter(|case| !case.1) {
                let mut any: Option<heap::Expr> = None;
                for value in values {
                    let one = compare(&local, *value, sort, span);
                    any = Some(match any {
                        None => one,
                        Some(before) => heap::Expr {
                            kind: heap::ExprKind::Or(Box::new(before), Box::new(one)),
                            span,
                        },
                    });
                }
                let Some(any) = any else { continue };
                let ((), inner) = b.apart(|b| b.list(body));
                b.emit(heap::StmtKind::If(any, block_of(inner, span), None), span);
            }
            for (values, _, body) in cases.iter().filter(|case| case.1) {
                if !values.is_empty() {
                    result = refused(span, "a case beside default", "leave out the case");
                }
                b.list(body);
            }
            b.emit(heap::StmtKind::Break, span);
        });
        result
    }
}

fn compare(local: &heap::Path, value: i128, sort: Sort, span: Span) -> heap::Expr {
    let kind = match sort {
        Sort::Value(Kind::Truth) => heap::ExprKind::Bool(value != 0),
        _ => heap::ExprKind::Int(value as i64),
    };
    let left = heap::Expr {
        kind: heap::ExprKind::Path(local.clone()),
        span,
    };
    let right = heap::Expr { kind, span };
    heap::Expr {
        kind: heap::ExprKind::Compare(heap::Compare::Eq, Box::new(left), Box::new(right)),
        span,
    }
}

/// `if (!c) break;`
fn leave_unless(c: heap::Expr, span: Span) -> heap::Stmt {
    let not = heap::Expr {
        kind: heap::ExprKind::Not(Box::new(c)),
        span,
    };
    let leave = heap::Stmt {
        kind: heap::StmtKind::Break,
        span,
    };
    heap::Stmt {
        kind: heap::StmtKind::If(not, Box::new(leave), None),
        span,
    }
}

/// The labels in front of a statement.
fn labels(s: &Stmt) -> Vec<String> {
    match &s.kind {
        StmtKind::Label(name, inner) => {
            let mut names = vec![name.clone()];
            names.extend(labels(inner));
            names
        }
        _ => Vec::new(),
    }
}

fn unlabelled(s: &Stmt) -> &Stmt {
    match &s.kind {
        StmtKind::Label(_, inner) => unlabelled(inner),
        _ => s,
    }
}

/// Whether there is a jump to a label in the statements.
fn jumps(statements: &[Stmt], label: &str) -> bool {
    let mut found = false;
    for s in statements {
        each_stmt(s, &mut |s| {
            found |= matches!(&s.kind, StmtKind::Goto(name) if name == label);
        });
    }
    found
}

/// Whether what follows a statement is not reached from it.
fn never_falls(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) | StmtKind::Return(_) => true,
        StmtKind::Block(body) => body.last().is_some_and(never_falls),
        StmtKind::If(_, then, Some(other)) => never_falls(then) && never_falls(other),
        StmtKind::Label(_, inner) => never_falls(inner),
        _ => false,
    }
}
