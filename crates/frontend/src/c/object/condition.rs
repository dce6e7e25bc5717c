//! *Conditions*, with what their operands do besides.

use palisade_program::Span;

use super::body::Body;
use super::kinds::Kind;
use super::operation::{compares, uncast};
use super::reader::Sort;
use super::value::{expr, statement};
use super::{Read, refused};
use crate::c::ast::{Binary, Expr, ExprKind, Unary};
use crate::c::parser::constant;
use crate::c::types::Type;
use crate::heap::ast as heap;

fn not(e: heap::Expr) -> heap::Expr {
    let span = e.span;
    match e.kind {
        heap::ExprKind::Bool(value) => expr(heap::ExprKind::Bool(!value), span),
        _ => expr(heap::ExprKind::Not(Box::new(e)), span),
    }
}

impl Body<'_, '_> {
    /// A condition, true or false.
    pub(super) fn condition(&mut self, e: &Expr) -> Read<heap::Expr> {
        let span = e.span;
        if let Some(value) = constant(uncast(e)) {
            return Ok(expr(heap::ExprKind::Bool(value != 0), span));
        }
        match &e.kind {
            ExprKind::Cast(_, a) => self.condition(a),
            ExprKind::Unary(Unary::Not, a) => Ok(not(self.condition(a)?)),
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.condition(b)
            }
            ExprKind::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                self.junction(*op == Binary::And, a, b, span)
            }
            ExprKind::Binary(op, a, b) if compares(*op) => self.comparison(*op, a, b, e),
            ExprKind::Ident(name) if self.allocated.contains(name) => {
                Ok(expr(heap::ExprKind::Bool(true), span))
            }
            ExprKind::Call(f, args) if matches!(&f.kind, ExprKind::Ident(name) if name == "__builtin_expect") => {
                match args.first() {
                    Some(first) => self.condition(first),
                    None => refused(span, "this call", "give it a condition"),
                }
            }
            _ => {
                let sort = self.sort_of(e);
                match sort {
                    Some(Sort::Value(Kind::Truth)) => self.value(e, Sort::Value(Kind::Truth)),
                    Some(sort @ (Sort::Node(_) | Sort::Value(_))) => {
                        let value = self.value(e, sort)?;
                        let zero = self.literal(0, sort, span)?;
                        let kind = heap::ExprKind::Compare(
                            heap::Compare::Ne,
                            Box::new(value),
                            Box::new(zero),
                        );
                        Ok(expr(kind, span))
                    }
                    // There is an object, and a pointer to an element is no null pointer.
                    Some(Sort::Object | Sort::Element(_)) => {
                        Ok(expr(heap::ExprKind::Bool(true), span))
                    }
                    Some(Sort::Lock) | None => refused(
                        span,
                        "this condition",
                        "compare integers and pointers to nodes",
                    ),
                }
            }
        }
    }

    fn junction(&mut self, is_and: bool, a: &Expr, b: &Expr, span: Span) -> Read<heap::Expr> {
        let left = self.condition(a)?;
        if let heap::ExprKind::Bool(value) = left.kind {
            return if value == is_and {
                self.condition(b)
            } else {
                Ok(left)
            };
        }
        let (right, before) = self.apart(|body| body.condition(b));
        let right = right?;
        let join = |a: heap::Expr, b: heap::Expr| {
            let (a, b) = (Box::new(a), Box::new(b));
            let kind = if is_and {
                heap::ExprKind::And(a, b)
            } else {
                heap::ExprKind::Or(a, b)
            };
            expr(kind, span)
        };
        if before.is_empty() {
            return Ok(join(left, right));
        }
        // What the second operand does is done only if the first one does not decide.
        let to = self.temporary(Sort::Value(Kind::Truth), span)?;
        let mut inner = before;
        inner.push(statement(to.clone(), right, span));
        let decided = vec![statement(
            to.clone(),
            expr(heap::ExprKind::Bool(!is_and), span),
            span,
        )];
        let block = |body| {
            Box::new(heap::Stmt {
                kind: heap::StmtKind::Block(body),
                span,
            })
        };
        let (yes, no) = if is_and {
            (inner, decided)
        } else {
            (decided, inner)
        };
        self.emit(heap::StmtKind::If(left, block(yes), Some(block(no))), span);
        Ok(expr(heap::ExprKind::Path(to), span))
    }

    fn comparison(&mut self, op: Binary, a: &Expr, b: &Expr, e: &Expr) -> Read<heap::Expr> {
        let span = e.span;
        let Some(sort) = self.sort_of(a).or_else(|| self.sort_of(b)) else {
            return refused(
                span,
                "a comparison of these",
                "compare integers and pointers to nodes",
            );
        };
        let is_null = |e: &Expr| constant(uncast(e)) == Some(0);
        if is_null(a) || is_null(b) {
            let other = if is_null(b) { a } else { b };
            let is_new = matches!(&uncast(other).kind, ExprKind::Ident(name) if self.allocated.contains(name));
            if is_new || matches!(sort, Sort::Object | Sort::Element(_)) {
                return Ok(expr(heap::ExprKind::Bool(op == Binary::Ne), span));
            }
        }
        let op = match op {
            Binary::Eq => heap::Compare::Eq,
            Binary::Ne => heap::Compare::Ne,
            Binary::Lt => heap::Compare::Lt,
            Binary::Le => heap::Compare::Le,
            Binary::Gt => heap::Compare::Gt,
            _ => heap::Compare::Ge,
        };
        let is_order = !matches!(op, heap::Compare::Eq | heap::Compare::Ne);
        if is_order && (self.wraps(a) || self.wraps(b)) {
            return refused(
                span,
                "an order of unsigned differences, which wrap below zero",
                "cast the difference to a signed type",
            );
        }
        let (a, b) = self.both((a, sort), (b, sort), span)?;
        let truth = |e: &heap::Expr| match e.kind {
            heap::ExprKind::Bool(value) => Some(value),
            _ => None,
        };
        match (op, truth(&a), truth(&b)) {
            (heap::Compare::Eq, _, Some(value)) => Ok(if value { a } else { not(a) }),
            (heap::Compare::Ne, _, Some(value)) => Ok(if value { not(a) } else { a }),
            (heap::Compare::Eq, Some(value), None) => Ok(if value { b } else { not(b) }),
            (heap::Compare::Ne, Some(value), None) => Ok(if value { not(b) } else { b }),
            _ => Ok(expr(
                heap::ExprKind::Compare(op, Box::new(a), Box::new(b)),
                span,
            )),
        }
    }

    /// Whether it is an unsigned difference.
    fn wraps(&self, e: &Expr) -> bool {
        let is_unsigned = |e: &Expr| {
            matches!(
                self.type_of(e).as_ref().map(Type::promoted),
                Some(Type::Int { signed: false, .. })
            )
        };
        match &e.kind {
            ExprKind::Cast(Type::Int { signed: true, .. }, _) => false,
            _ => is_unsigned(e) && Self::subtracts(e),
        }
    }
}
