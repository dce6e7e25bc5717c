//! *Trees* that directives become: small builders, the number of a loop's iterations, atomic updates.

use palisade_program::Span;

use super::RELAXED;
use crate::c::ast::{
    Binary, Declaration, Expr, ExprKind, Initializer, Stmt, StmtKind, Storage, Unary,
};
use crate::c::types::Type;

pub(super) fn expr(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

pub(super) fn name(text: &str, span: Span) -> Expr {
    expr(ExprKind::Ident(text.to_owned()), span)
}

pub(super) fn int(value: i128, span: Span) -> Expr {
    expr(ExprKind::Int(value, Type::INT), span)
}

pub(super) fn call(function: &str, args: Vec<Expr>, span: Span) -> Expr {
    expr(ExprKind::Call(Box::new(name(function, span)), args), span)
}

pub(super) fn address(of: Expr, span: Span) -> Expr {
    expr(ExprKind::Unary(Unary::Address, Box::new(of)), span)
}

pub(super) fn target(of: Expr, span: Span) -> Expr {
    expr(ExprKind::Unary(Unary::Deref, Box::new(of)), span)
}

pub(super) fn binary(op: Binary, a: Expr, b: Expr, span: Span) -> Expr {
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), span)
}

pub(super) fn assign(to: Expr, value: Expr, span: Span) -> Expr {
    expr(ExprKind::Assign(None, Box::new(to), Box::new(value)), span)
}

pub(super) fn stmt(kind: StmtKind, span: Span) -> Stmt {
    Stmt { kind, span }
}

pub(super) fn does(e: Expr) -> Stmt {
    let span = e.span;
    stmt(StmtKind::Expr(e), span)
}

pub(super) fn calls(function: &str, args: Vec<Expr>, span: Span) -> Stmt {
    does(call(function, args, span))
}

pub(super) fn when(cond: Expr, then: Stmt) -> Stmt {
    let span = then.span;
    stmt(StmtKind::If(cond, Box::new(then), None), span)
}

pub(super) fn declare(text: &str, ty: &Type, init: Option<Expr>, span: Span) -> Stmt {
    let declaration = Declaration {
        name: text.to_owned(),
        ty: ty.clone(),
        length: None,
        storage: Storage::Automatic,
        is_own: true,
        thread_local: false,
        init: init.map(Initializer::Value),
        span,
    };
    stmt(StmtKind::Declare(vec![declaration]), span)
}

/// Whether this is the first thread of the team.
pub(super) fn is_first(span: Span) -> Expr {
    let number = call("omp_get_thread_num", Vec::new(), span);
    binary(Binary::Eq, number, int(0, span), span)
}

/// How many iterations there are: `(b - a + step - 1) / step`.
pub(super) fn trips(variable: &str, from: Expr, cond: &Expr, step: &Expr) -> Option<Expr> {
    let span = cond.span;
    let is_it = |e: &Expr| matches!(&e.kind, ExprKind::Ident(text) if text == variable);
    let ExprKind::Binary(op, left, to) = &cond.kind else {
        return None;
    };
    let (is_up, is_closed) = match op {
        Binary::Lt => (true, 0),
        Binary::Le => (true, 1),
        Binary::Gt => (false, 0),
        Binary::Ge => (false, 1),
        _ => return None,
    };
    let by = match &step.kind {
        ExprKind::Unary(Unary::PreIncrement | Unary::PostIncrement, e) if is_up && is_it(e) => {
            int(1, span)
        }
        ExprKind::Unary(Unary::PreDecrement | Unary::PostDecrement, e) if !is_up && is_it(e) => {
            int(1, span)
        }
        ExprKind::Assign(Some(Binary::Add), e, by) if is_up && is_it(e) => (**by).clone(),
        ExprKind::Assign(Some(Binary::Sub), e, by) if !is_up && is_it(e) => (**by).clone(),
        _ => return None,
    };
    if !is_it(left) {
        return None;
    }
    let (high, low) = if is_up {
        ((**to).clone(), from)
    } else {
        (from, (**to).clone())
    };
    let length = binary(Binary::Sub, high, low, span);
    let length = binary(Binary::Add, length, int(is_closed - 1, span), span);
    let length = binary(Binary::Add, length, by.clone(), span);
    Some(binary(Binary::Div, length, by, span))
}

/// An update as an atomic operation, whose value is that of C.
pub(super) fn updated(e: Expr, span: Span) -> Option<Expr> {
    let order = || int(RELAXED, span);
    let fetch = |op: &Binary| match op {
        Binary::Add => Some(("__atomic_fetch_add", "__atomic_add_fetch")),
        Binary::Sub => Some(("__atomic_fetch_sub", "__atomic_sub_fetch")),
        Binary::BitAnd => Some(("__atomic_fetch_and", "__atomic_and_fetch")),
        Binary::BitOr => Some(("__atomic_fetch_or", "__atomic_or_fetch")),
        Binary::BitXor => Some(("__atomic_fetch_xor", "__atomic_xor_fetch")),
        _ => None,
    };
    let changed = |function: &str, place: Expr, by: Expr| {
        call(function, vec![address(place, span), by, order()], span)
    };
    match e.kind {
        ExprKind::Unary(op, place) => {
            let function = match op {
                Unary::PreIncrement => "__atomic_add_fetch",
                Unary::PostIncrement => "__atomic_fetch_add",
                Unary::PreDecrement => "__atomic_sub_fetch",
                Unary::PostDecrement => "__atomic_fetch_sub",
                _ => return None,
            };
            Some(changed(function, *place, int(1, span)))
        }
        ExprKind::Assign(Some(op), place, by) => Some(changed(fetch(&op)?.1, *place, *by)),
        ExprKind::Assign(None, place, sum) => {
            // `x = x + e`
            let ExprKind::Binary(op, left, by) = sum.kind else {
                return None;
            };
            let (ExprKind::Ident(a), ExprKind::Ident(b)) = (&place.kind, &left.kind) else {
                return None;
            };
            (a == b).then_some(())?;
            Some(changed(fetch(&op)?.1, *place, *by))
        }
        _ => None,
    }
}
