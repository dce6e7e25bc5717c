//! *Lowering* of C: statements and expressions become steps. Every access of
//! shared memory is a step of its own, in the order of evaluation; `&&`, `||` and
//! `?:` skip accesses as in C.
//!
//! Locals and cells hold a value as its type reads it (an `int` holds -1, not
//! 2^32 - 1).

use std::collections::BTreeMap;

use palisade_program::{BinOp, LocalExpr, LocalId, Origin, Span, Step, UnOp};

use super::super::Failure;
use super::super::access;
use super::super::emit::{Emitter, read};
use super::super::memory::Layout;
use super::super::ty::Ty;
use super::ast::{CTy, Expr, ExprKind, Stmt, StmtKind, Unary};
use super::calls::Order;
use crate::diagnostic::Diagnostic;

/// A value and its type.
pub(super) type Value = (LocalExpr, CTy);

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Var {
    /// A local of the thread.
    Local(LocalId, CTy),
    /// A parameter: the address of a location.
    Param(usize, CTy),
}

/// A thread that is being lowered.
pub(super) struct Thread<'a> {
    pub(super) layout: &'a Layout,
    pub(super) emitter: Emitter,
    pub(super) vars: BTreeMap<String, Var>,
    /// Initial values of locals.
    pub(super) init: BTreeMap<String, i128>,
}

impl AsMut<Emitter> for Thread<'_> {
    fn as_mut(&mut self) -> &mut Emitter {
        &mut self.emitter
    }
}

pub(super) fn error<T>(span: Span, message: impl Into<String>) -> Result<T, Failure> {
    Err(Diagnostic::error(span, message).into())
}

/// `e` of type `from` as a value of type `to`.
pub(super) fn convert(e: LocalExpr, from: Ty, to: Ty) -> LocalExpr {
    let kept = to.signed == from.signed && to.bits >= from.bits;
    let widened = to.signed && !from.signed && to.bits > from.bits;
    if kept || widened || (to.bits == 64 && from.bits == 64) {
        return e;
    }
    wrapped(e, to)
}

pub(super) fn wrapped(e: LocalExpr, ty: Ty) -> LocalExpr {
    // Words of 64 bits are kept as signed numbers.
    let (bits, signed) = (ty.bits, ty.signed || ty.bits == 64);
    LocalExpr::unary(UnOp::Wrap { bits, signed }, e)
}

impl Thread<'_> {
    /// Lowers statements in order.
    pub(super) fn statements(&mut self, body: &[Stmt]) -> Result<(), Failure> {
        body.iter().try_for_each(|stmt| self.statement(stmt))
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<(), Failure> {
        self.emitter.release();
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Declare { name, ty, value } => {
                let dst = self.declare(name, *ty, span)?;
                match value {
                    Some(value) => self.assign_local(dst, *ty, value, span),
                    None => Ok(()),
                }
            }
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value, span),
            StmtKind::Call(call) => match &call.kind {
                ExprKind::Call(name, args) => self.call(name, args, call.span).map(|_| ()),
                _ => error(span, "expected a call"),
            },
            StmtKind::If(cond, then, otherwise) => {
                let (yes, no) = self.branch(cond)?;
                let join = self.emitter.loc();
                for (start, body) in [(yes, then), (no, otherwise)] {
                    self.emitter.go_on(start);
                    self.statements(body)?;
                    self.emitter.edge_to(Step::Skip, join, span);
                }
                self.emitter.go_on(join);
                Ok(())
            }
            StmtKind::While(cond, body) => {
                let head = self.emitter.loc();
                self.emitter.edge_to(Step::Skip, head, span);
                self.emitter.go_on(head);
                let (yes, no) = self.branch(cond)?;
                self.emitter.go_on(yes);
                self.statements(body)?;
                self.emitter.edge_to(Step::Skip, head, span);
                self.emitter.go_on(no);
                Ok(())
            }
            StmtKind::DoWhile(body, cond) => {
                let head = self.emitter.loc();
                self.emitter.edge_to(Step::Skip, head, span);
                self.emitter.go_on(head);
                self.statements(body)?;
                self.emitter.release();
                let (yes, no) = self.branch(cond)?;
                self.emitter.go_on(yes);
                self.emitter.edge_to(Step::Skip, head, span);
                self.emitter.go_on(no);
                Ok(())
            }
            StmtKind::Return => {
                self.emitter.end(span);
                Ok(())
            }
        }
    }

    fn declare(&mut self, name: &str, ty: CTy, span: Span) -> Result<LocalId, Failure> {
        match self.vars.get(name) {
            Some(Var::Local(id, known)) if *known == ty => Ok(*id),
            Some(Var::Local(..)) => error(span, format!("`{name}` has another type elsewhere")),
            Some(Var::Param(..)) => error(span, format!("`{name}` is a parameter")),
            None => {
                let init = self.init.get(name).copied().unwrap_or(0);
                let init = ty.ty().shown(ty.ty().canonical(init)) as i64;
                let id = self.emitter.local(name, init, Origin::User, span);
                self.vars.insert(name.to_owned(), Var::Local(id, ty));
                Ok(id)
            }
        }
    }

    fn branch(
        &mut self,
        cond: &Expr,
    ) -> Result<(palisade_program::LocId, palisade_program::LocId), Failure> {
        let (value, _) = self.value(cond)?;
        Ok(self.emitter.branch(&value, cond.span))
    }

    fn assign(
        &mut self,
        target: &Expr,
        op: Option<BinOp>,
        value: &Expr,
        span: Span,
    ) -> Result<(), Failure> {
        match &target.kind {
            ExprKind::Name(name) => match (self.vars.get(name).copied(), op) {
                (Some(Var::Local(dst, ty)), None) => self.assign_local(dst, ty, value, span),
                (Some(Var::Local(dst, ty)), Some(op)) => {
                    let right = self.value(value)?;
                    let (e, from) = arithmetic(op, (read(dst), ty), right, span)?;
                    self.emitter
                        .assign(dst, convert(e, from.ty(), ty.ty()), span);
                    Ok(())
                }
                (Some(Var::Param(..)), _) => error(target.span, "a parameter cannot be assigned"),
                (None, _) => error(target.span, format!("unknown variable `{name}`")),
            },
            ExprKind::Deref(pointer) => {
                let (address, ty) = self.pointer(pointer)?;
                if ty.atomic && op.is_some() {
                    return error(span, "use an `atomic_fetch_` function here");
                }
                let new = match op {
                    None => self.value(value)?,
                    Some(op) => {
                        let old = self.load(&address, ty, None, span)?;
                        let right = self.value(value)?;
                        arithmetic(op, old, right, span)?
                    }
                };
                let order = if ty.atomic {
                    Order::SeqCst
                } else {
                    Order::Relaxed
                };
                self.store(&address, ty, new, order, span)
            }
            ExprKind::Number(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Cond(..)
            | ExprKind::AddressOf(_)
            | ExprKind::Cast(..)
            | ExprKind::Call(..) => error(target.span, "this cannot be assigned"),
        }
    }

    /// A load whose type fits goes into the local at once.
    fn assign_local(
        &mut self,
        dst: LocalId,
        ty: CTy,
        value: &Expr,
        span: Span,
    ) -> Result<(), Failure> {
        if let Some((address, target)) = self.plain_load(value)?
            && target.ty() == ty.ty()
        {
            self.load(&address, target, Some(dst), value.span)?;
            return Ok(());
        }
        let (e, from) = self.value(value)?;
        self.emitter
            .assign(dst, convert(e, from.ty(), ty.ty()), span);
        Ok(())
    }

    /// The address and type of what is read, if the expression is a mere load
    /// whose address needs no step.
    fn plain_load(&mut self, e: &Expr) -> Result<Option<(LocalExpr, CTy)>, Failure> {
        let pointer = match &e.kind {
            ExprKind::Deref(pointer) => pointer.as_ref(),
            ExprKind::Call(name, args) => match super::calls::loaded(name, args) {
                Some(pointer) => pointer,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        match pointer.kind {
            ExprKind::Name(_) => self.pointer(pointer).map(Some),
            _ => Ok(None),
        }
    }

    /// A pointer's value and the type of what it points to.
    pub(super) fn pointer(&mut self, e: &Expr) -> Result<(LocalExpr, CTy), Failure> {
        let (address, ty) = self.value(e)?;
        match ty.target() {
            Some(target) => Ok((address, target)),
            None => error(e.span, "this is not a pointer"),
        }
    }

    /// The value of an expression; emits its loads.
    pub(super) fn value(&mut self, e: &Expr) -> Result<Value, Failure> {
        let span = e.span;
        let int = CTy::value(Ty::INT);
        match &e.kind {
            ExprKind::Number(n) => {
                let ty = [Ty::INT, Ty::signed(64)].into_iter().find(|ty| {
                    let half = 1_i128 << (ty.bits - 1);
                    (-half..half).contains(n)
                });
                let ty = ty.unwrap_or(Ty::unsigned(64));
                Ok((LocalExpr::Const(*n as i64), CTy::value(ty)))
            }
            ExprKind::Name(name) => match self.vars.get(name) {
                Some(Var::Local(id, ty)) => Ok((read(*id), *ty)),
                Some(Var::Param(var, ty)) => {
                    Ok((LocalExpr::Const(self.layout.address(*var, 0)), *ty))
                }
                None if name == "NULL" => Ok((LocalExpr::Const(0), int)),
                None => error(span, format!("unknown variable `{name}`")),
            },
            ExprKind::Unary(op, e) => {
                let (value, ty) = self.value(e)?;
                Ok(match op {
                    Unary::Not => {
                        let is_zero = LocalExpr::binary(BinOp::Eq, value, LocalExpr::Const(0));
                        (is_zero, int)
                    }
                    Unary::Neg | Unary::BitNot => {
                        let ty = promoted(ty.ty(), Ty::INT);
                        let op = if *op == Unary::Neg {
                            UnOp::Neg
                        } else {
                            UnOp::BitNot
                        };
                        (wrapped(LocalExpr::unary(op, value), ty), CTy::value(ty))
                    }
                })
            }
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), a, b) => self.logical(*op, a, b),
            ExprKind::Binary(op, a, b) => {
                let left = self.value(a)?;
                let right = self.value(b)?;
                arithmetic(*op, left, right, span)
            }
            ExprKind::Cond(c, a, b) => self.choice(c, a, b),
            ExprKind::Deref(pointer) => {
                let (address, ty) = self.pointer(pointer)?;
                self.load(&address, ty, None, span)
            }
            ExprKind::AddressOf(inner) => match &inner.kind {
                ExprKind::Deref(pointer) => self.value(pointer),
                _ => error(span, "this address is not supported"),
            },
            ExprKind::Cast(ty, e) => {
                let (value, from) = self.value(e)?;
                Ok((convert(value, from.ty(), ty.ty()), *ty))
            }
            ExprKind::Call(name, args) => match self.call(name, args, span)? {
                Some(value) => Ok(value),
                None => error(span, format!("`{name}` gives no value")),
            },
        }
    }

    /// `&&` and `||`: the right side is evaluated only if it matters.
    fn logical(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Result<Value, Failure> {
        let int = CTy::value(Ty::INT);
        let (left, _) = self.value(a)?;
        if is_pure(b) {
            let (right, _) = self.value(b)?;
            return Ok((LocalExpr::binary(op, left, right), int));
        }
        let result = self.emitter.temp();
        let truth = |e| LocalExpr::binary(BinOp::Ne, e, LocalExpr::Const(0));
        self.emitter.assign(result, truth(left), a.span);
        let (yes, no) = self.emitter.branch(&read(result), a.span);
        let (go, join) = if op == BinOp::And {
            (yes, no)
        } else {
            (no, yes)
        };
        self.emitter.go_on(go);
        let (right, _) = self.value(b)?;
        self.emitter.assign(result, truth(right), b.span);
        self.emitter.edge_to(Step::Skip, join, b.span);
        self.emitter.go_on(join);
        Ok((read(result), int))
    }

    fn choice(&mut self, c: &Expr, a: &Expr, b: &Expr) -> Result<Value, Failure> {
        let result = self.emitter.temp();
        let (yes, no) = self.branch(c)?;
        let join = self.emitter.loc();
        let mut types = Vec::new();
        for (start, e) in [(yes, a), (no, b)] {
            self.emitter.go_on(start);
            let (value, ty) = self.value(e)?;
            types.push(ty);
            self.emitter.assign(result, value, e.span);
            self.emitter.edge_to(Step::Skip, join, e.span);
        }
        self.emitter.go_on(join);
        match types.as_slice() {
            [x, y] if x.ty() == y.ty() => Ok((read(result), *x)),
            _ => error(
                a.span.to(b.span),
                "both sides of `:` must have the same type",
            ),
        }
    }

    /// Loads what `address` points to, into `dst` or a temporary.
    pub(super) fn load(
        &mut self,
        address: &LocalExpr,
        ty: CTy,
        dst: Option<LocalId>,
        span: Span,
    ) -> Result<Value, Failure> {
        let dst = match dst {
            Some(dst) => dst,
            None => self.emitter.temp(),
        };
        let layout = self.layout;
        let constant = matches!(address, LocalExpr::Const(_));
        access::for_each_cell(self, layout, address, span, |thread, cell| {
            let cell_ty = layout.vars[cell.var].ty;
            if !thread.same_width(cell_ty, ty.ty(), constant, span)? {
                return Ok(());
            }
            access::load(&mut thread.emitter, layout, cell, ty.ty().bits, dst, span)?;
            let value = convert(read(dst), cell_ty, ty.ty());
            thread.emitter.assign(dst, value, span);
            Ok(())
        })?;
        Ok((read(dst), ty))
    }

    /// Whether a cell has the width of the access. If not, a pointer to it is a
    /// bad address for this access.
    pub(super) fn same_width(
        &mut self,
        cell: Ty,
        access: Ty,
        constant: bool,
        span: Span,
    ) -> Result<bool, Failure> {
        if cell.bits == access.bits {
            return Ok(true);
        }
        if constant {
            return error(span, "an access must have the type of the location");
        }
        self.emitter
            .check(LocalExpr::FALSE, access::BAD_ADDRESS, span);
        Ok(false)
    }

    /// Stores a value; see [`Order`] for the fences around it.
    pub(super) fn store(
        &mut self,
        address: &LocalExpr,
        ty: CTy,
        (value, from): Value,
        order: Order,
        span: Span,
    ) -> Result<(), Failure> {
        order.before_store(&mut self.emitter, span);
        let value = convert(value, from.ty(), ty.ty());
        let layout = self.layout;
        let constant = matches!(address, LocalExpr::Const(_));
        access::for_each_cell(self, layout, address, span, |thread, cell| {
            let cell_ty = layout.vars[cell.var].ty;
            if !thread.same_width(cell_ty, ty.ty(), constant, span)? {
                return Ok(());
            }
            let value = convert(value.clone(), ty.ty(), cell_ty);
            access::store(&mut thread.emitter, layout, cell, cell_ty.bits, value, span)
        })?;
        order.after_store(&mut self.emitter, span);
        Ok(())
    }
}

/// `left op right` with C's conversions.
pub(super) fn arithmetic(
    op: BinOp,
    (a, a_ty): Value,
    (b, b_ty): Value,
    span: Span,
) -> Result<Value, Failure> {
    let ty = promoted(a_ty.ty(), b_ty.ty());
    let pointers = a_ty.stars > 0 || b_ty.stars > 0;
    let (a, b) = (convert(a, a_ty.ty(), ty), convert(b, b_ty.ty(), ty));
    match op {
        BinOp::Eq | BinOp::Ne => Ok((LocalExpr::binary(op, a, b), CTy::value(Ty::INT))),
        _ if pointers => error(span, "arithmetic on pointers is not supported"),
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
            // 64-bit unsigned values are kept as signed ones.
            let order = |e| match (ty.bits, ty.signed) {
                (64, false) => LocalExpr::binary(BinOp::BitXor, e, LocalExpr::Const(i64::MIN)),
                _ => e,
            };
            let (a, b) = (order(a), order(b));
            Ok((LocalExpr::binary(op, a, b), CTy::value(Ty::INT)))
        }
        BinOp::Add | BinOp::Sub | BinOp::Mul => {
            Ok((wrapped(LocalExpr::binary(op, a, b), ty), CTy::value(ty)))
        }
        BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => {
            Ok((LocalExpr::binary(op, a, b), CTy::value(ty)))
        }
        BinOp::Shl | BinOp::Shr => {
            let in_range = matches!(b, LocalExpr::Const(c) if (0..i64::from(ty.bits)).contains(&c));
            if !in_range || (op == BinOp::Shr && ty.bits == 64 && !ty.signed) {
                return error(span, "only shifts by a constant are supported");
            }
            Ok((wrapped(LocalExpr::binary(op, a, b), ty), CTy::value(ty)))
        }
        BinOp::Div | BinOp::Mod => error(span, "division is not supported"),
        BinOp::And | BinOp::Or => Ok((LocalExpr::binary(op, a, b), CTy::value(Ty::INT))),
    }
}

/// C's usual conversions of two integer types.
pub(super) fn promoted(a: Ty, b: Ty) -> Ty {
    let bits = a.bits.max(b.bits).max(32);
    let unsigned = |ty: Ty| ty.bits == bits && !ty.signed;
    Ty {
        bits,
        signed: !unsigned(a) && !unsigned(b),
        pointer: false,
    }
}

/// Whether evaluating it takes no step.
fn is_pure(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Number(_) | ExprKind::Name(_) => true,
        ExprKind::Unary(_, e) | ExprKind::Cast(_, e) => is_pure(e),
        ExprKind::Binary(op, a, b) => is_pure(a) && is_pure(b) && *op != BinOp::Div,
        ExprKind::AddressOf(_) | ExprKind::Deref(_) | ExprKind::Call(..) => false,
        ExprKind::Cond(..) => false,
    }
}
