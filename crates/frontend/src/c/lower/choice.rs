//! *Choices*: conditions, `&&`, `||` and `?:` as control flow, and which expressions
//! can do without.

use palisade_program::{Expr as Ir, LocId, LocalExpr, Span};

use super::code::{Code, Lower, meet};
use super::value::Val;
use super::walk;
use crate::c::ast::{Binary, Expr, ExprKind, Unary};
use crate::c::types::Type;

impl Code<'_, '_> {
    /// `&&`, `||` as a value.
    pub(super) fn short_circuit(
        &mut self,
        op: Binary,
        a: &Expr,
        b: &Expr,
        span: Span,
    ) -> Lower<Val> {
        if self.is_pure(b) {
            let a = self.value(a)?;
            let b = self.value(b)?;
            return self.binary(op, a, b, span);
        }
        let (yes, no) = (self.graph.loc(), self.graph.loc());
        let whole = Expr {
            kind: ExprKind::Binary(op, Box::new(a.clone()), Box::new(b.clone())),
            span,
        };
        let (can, cannot) = self.branch(&whole, yes, no)?;
        Ok(self.joined(&[(yes, can, 1), (no, cannot, 0)], span))
    }

    /// A truth value that control flow has found.
    fn joined(&mut self, ways: &[(LocId, bool, i64)], span: Span) -> Val {
        let result = self.temporary(span);
        let join = self.graph.loc();
        let taken: Vec<_> = ways.iter().filter(|(_, can, _)| *can).collect();
        for (loc, _, value) in &taken {
            self.at(*loc);
            self.assign(result, Ir::Const(*value), span);
            self.go(join, span);
        }
        self.at(join);
        if let [(_, _, value)] = taken.as_slice() {
            return Val::truth(Ir::Const(*value));
        }
        self.known.remove(&result);
        let e = self.read(result);
        Val {
            lo: 0,
            hi: 1,
            ..Val::truth(e)
        }
    }

    /// Whether evaluating the expression takes no step and cannot fail.
    pub(super) fn is_pure(&mut self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(..) => true,
            ExprKind::Ident(name) => match self.lookup(name) {
                Ok(Some(object)) => {
                    object.ty.is_scalar() && (object.in_registers() || self.never_changes(&object))
                }
                Ok(None) | Err(_) => false,
            },
            ExprKind::Unary(Unary::Plus | Unary::Minus | Unary::Not | Unary::BitNot, a) => {
                !self.cx.options.check_overflow && self.is_pure(a)
            }
            ExprKind::Unary(..) => false,
            _ if !walk::has_name(e) && crate::c::parser::constant(e).is_some() => true,
            ExprKind::Binary(op, a, b) => match op {
                Binary::Div | Binary::Rem => {
                    let divisor = crate::c::parser::constant(b);
                    !walk::has_name(b) && divisor.is_some_and(|c| c > 0) && self.is_pure(a)
                }
                Binary::Shl | Binary::Shr => false,
                Binary::Add | Binary::Sub | Binary::Mul if self.cx.options.check_overflow => false,
                Binary::Add | Binary::Sub | Binary::Mul | Binary::Lt | Binary::Gt => {
                    self.is_pure(a) && self.is_pure(b)
                }
                Binary::Le | Binary::Ge | Binary::Eq | Binary::Ne | Binary::BitAnd => {
                    self.is_pure(a) && self.is_pure(b)
                }
                Binary::BitOr | Binary::BitXor | Binary::And | Binary::Or => {
                    self.is_pure(a) && self.is_pure(b)
                }
            },
            ExprKind::Cast(ty, a) => ty.is_integer() && self.is_pure(a),
            ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::Assign(..) | ExprKind::Cond(..) => {
                false
            }
            ExprKind::Call(..) | ExprKind::Index(..) | ExprKind::Member(..) => false,
            ExprKind::Arrow(..) | ExprKind::Comma(..) | ExprKind::Statements(_) => false,
            ExprKind::Compound(..) | ExprKind::UnknownSize => false,
        }
    }

    pub(super) fn conditional(
        &mut self,
        c: &Expr,
        a: Option<&Expr>,
        b: &Expr,
        span: Span,
    ) -> Lower<Val> {
        let (yes, no) = (self.graph.loc(), self.graph.loc());
        let Some(a) = a else {
            let v = self.value(c)?;
            let v = self.saved(v, span);
            let cond = self.truth(v.clone(), span)?;
            let (can, cannot) = self.branch_on(cond, yes, no, span);
            return self.choice(
                &[(yes, can, Arm::Known(v)), (no, cannot, Arm::Later(b))],
                span,
            );
        };
        let (can, cannot) = self.branch(c, yes, no)?;
        let arms = [(yes, can, Arm::Later(a)), (no, cannot, Arm::Later(b))];
        self.choice(&arms, span)
    }

    /// The value of the arm that is taken.
    fn choice(&mut self, arms: &[(LocId, bool, Arm<'_>)], span: Span) -> Lower<Val> {
        let known = self.known.clone();
        let result = self.temporary(span);
        let join = self.graph.loc();
        let mut values: Vec<(LocId, Val, super::code::Known)> = Vec::new();
        for (loc, can, arm) in arms {
            if !can {
                continue;
            }
            self.at(*loc);
            self.known.clone_from(&known);
            let v = match arm {
                Arm::Known(v) => v.clone(),
                Arm::Later(e) => self.value(e)?,
            };
            if self.live {
                values.push((self.here, v, self.known.clone()));
            }
        }
        let Some((_, first, _)) = values.first() else {
            // Nothing gets here: any value will do.
            self.stop();
            return Ok(Val::constant(0, &Type::INT));
        };
        let mut ty = first.ty.clone();
        for (_, v, _) in &values[1..] {
            ty = if ty.is_pointer() || v.ty == Type::Void {
                ty
            } else if v.ty.is_pointer() {
                v.ty.clone()
            } else {
                ty.common(&v.ty)
            };
        }
        if values.len() == 1 {
            let (here, v, known) = values.remove(0);
            self.at(here);
            self.known = known;
            return Ok(v);
        }
        let mut result_val: Option<Val> = None;
        let mut known_after: Option<super::code::Known> = None;
        for (here, v, known) in values {
            self.at(here);
            self.known = known;
            let v = if ty == Type::Void {
                v
            } else {
                self.convert(v, &ty, span)?
            };
            if ty != Type::Void {
                self.assign(result, v.e.clone(), span);
            }
            self.go(join, span);
            result_val = Some(match result_val {
                None => v,
                Some(other) => Val {
                    lo: other.lo.min(v.lo),
                    hi: other.hi.max(v.hi),
                    object: other.object.filter(|o| v.object == Some(*o)),
                    among: None,
                    ..v
                },
            });
            known_after = Some(match known_after {
                None => self.known.clone(),
                Some(other) => meet(other, &self.known),
            });
        }
        self.at(join);
        self.known = known_after.unwrap_or_default();
        let e = self.read(result);
        let bounds = result_val.unwrap_or_else(Val::void);
        Ok(Val { e, ty, ..bounds })
    }

    /// Goes to `yes` or `no`; tells which of them can be reached.
    pub(super) fn branch(&mut self, cond: &Expr, yes: LocId, no: LocId) -> Lower<(bool, bool)> {
        match &cond.kind {
            ExprKind::Unary(Unary::Not, a) => {
                let (n, y) = self.branch(a, no, yes)?;
                Ok((y, n))
            }
            ExprKind::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                if self.is_pure(b) && self.is_pure(a) {
                    let v = self.value(cond)?;
                    let truth = self.truth(v, cond.span)?;
                    return Ok(self.branch_on(truth, yes, no, cond.span));
                }
                let middle = self.graph.loc();
                let is_and = *op == Binary::And;
                let (y, n) = if is_and {
                    self.branch(a, middle, no)?
                } else {
                    self.branch(a, yes, middle)?
                };
                let on = if is_and { y } else { n };
                if !on {
                    return Ok((!is_and && y, is_and && n));
                }
                let known = self.known.clone();
                self.at(middle);
                let (y2, n2) = self.branch(b, yes, no)?;
                self.known = meet(known, &self.known);
                Ok(if is_and { (y2, n || n2) } else { (y || y2, n2) })
            }
            ExprKind::Comma(a, b) => {
                self.discard(a)?;
                self.branch(b, yes, no)
            }
            _ => {
                let v = match self.any_truth(cond)? {
                    Some(v) => v,
                    None => self.value(cond)?,
                };
                if !self.live {
                    return Ok((false, false));
                }
                let truth = self.truth(v, cond.span)?;
                Ok(self.branch_on(truth, yes, no, cond.span))
            }
        }
    }

    /// The value of `__VERIFIER_nondet_int()` where only its truth counts: 0 or 1 say it
    /// all, and leave finitely many states.
    fn any_truth(&mut self, cond: &Expr) -> Lower<Option<Val>> {
        let ExprKind::Call(callee, _) = &cond.kind else {
            return Ok(None);
        };
        let ExprKind::Ident(name) = &callee.kind else {
            return Ok(None);
        };
        match super::call::nondet_kind(name) {
            Some(kind) if !self.cx.functions.contains_key(name.as_str()) => {
                self.nondet_type(kind, cond.span)?;
                Ok(Some(self.any_value(&Type::Bool, cond.span)))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn branch_on(
        &mut self,
        truth: LocalExpr,
        yes: LocId,
        no: LocId,
        span: Span,
    ) -> (bool, bool) {
        if let Ir::Const(c) = truth {
            self.go(if c != 0 { yes } else { no }, span);
            return (c != 0, c == 0);
        }
        self.assume(truth.clone(), yes, span);
        self.assume(truth.negate(), no, span);
        (true, true)
    }

    /// The value of an expression without taking any step, if it is constant here.
    pub(super) fn peek(&mut self, e: &Expr) -> Option<i128> {
        if !walk::has_name(e) {
            return crate::c::parser::constant(e);
        }
        match &e.kind {
            ExprKind::Ident(_) if self.is_pure(e) => {
                let v = self.value(e).ok()?;
                v.as_constant()
            }
            ExprKind::Binary(..) | ExprKind::Unary(..) | ExprKind::Cast(..) if self.is_pure(e) => {
                let v = self.value(e).ok()?;
                v.as_constant()
            }
            _ => None,
        }
    }
}

/// An arm of a conditional.
enum Arm<'e> {
    Known(Val),
    Later(&'e Expr),
}
