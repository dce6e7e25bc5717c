//! *Expressions*: their values. What an expression does besides is done by statements before it.
//!
//! C leaves open which operand is evaluated first. Where both read shared memory, both orders are runs of the result; where one does
//! more than that, the expression is refused.

use std::collections::BTreeSet;

use palisade_program::Span;

use super::body::{Body, Meaning, each_stmt};
use super::kinds::{Kind, Slot};
use super::operation::{addressed, atomic, compares, uncast};
use super::reader::{Sort, number};
use super::{Read, refused};
use crate::c::ast::{Binary, Expr, ExprKind, Function, Initializer, Stmt, StmtKind, Unary};
use crate::c::parser::constant;
use crate::c::types::Type;
use crate::heap::ast as heap;

/// Whether a function of the library returns new memory.
pub(super) fn is_allocation(name: &str) -> bool {
    matches!(name, "malloc" | "calloc" | "aligned_alloc" | "memalign")
}

/// Locals that only ever hold new memory: they are not null.
pub(super) fn allocated(function: &Function) -> BTreeSet<String> {
    let is_new = |e: &Expr| match &uncast(e).kind {
        ExprKind::Call(f, _) => matches!(&f.kind, ExprKind::Ident(name) if is_allocation(name)),
        _ => false,
    };
    let (mut new, mut other) = (BTreeSet::new(), BTreeSet::new());
    for s in &function.body {
        each_stmt(s, &mut |s: &Stmt| {
            let StmtKind::Declare(all) = &s.kind else {
                return;
            };
            for d in all {
                if let Some(Initializer::Value(e)) = &d.init {
                    let set = if is_new(e) { &mut new } else { &mut other };
                    set.insert(d.name.clone());
                }
            }
        });
        crate::c::lower::each_in_stmt(s, &mut |e| match &e.kind {
            ExprKind::Assign(_, to, value) => {
                if let ExprKind::Ident(name) = &to.kind {
                    let set = if is_new(value) { &mut new } else { &mut other };
                    set.insert(name.clone());
                }
            }
            ExprKind::Unary(Unary::Address, a) => {
                if let ExprKind::Ident(name) = &a.kind {
                    other.insert(name.clone());
                }
            }
            _ => {}
        });
    }
    new.difference(&other).cloned().collect()
}

/// An expression of the data structure.
pub(super) fn expr(kind: heap::ExprKind, span: Span) -> heap::Expr {
    heap::Expr { kind, span }
}

impl Body<'_, '_> {
    pub(super) fn type_of(&self, e: &Expr) -> Option<Type> {
        self.reader.unit.type_of(&self.renamed, e)
    }

    /// The slot whose values an expression has.
    pub(super) fn slot_of(&self, e: &Expr) -> Option<Slot> {
        match &e.kind {
            ExprKind::Ident(name) if self.renamed.locals.contains_key(name) => Some(Slot::Local(
                self.renamed.function.name.clone(),
                name.clone(),
            )),
            ExprKind::Ident(name) => Some(Slot::Global(name.clone())),
            ExprKind::Member(a, name) | ExprKind::Arrow(a, name) => {
                let of = self.type_of(a)?;
                match super::kinds::innermost(&of) {
                    Type::Struct(id) => Some(Slot::Member(*id, name.clone())),
                    _ => None,
                }
            }
            ExprKind::Cast(_, a) | ExprKind::Index(a, _) | ExprKind::Assign(_, a, _) => {
                self.slot_of(a)
            }
            ExprKind::Unary(Unary::Deref | Unary::Address | Unary::Plus, a) => self.slot_of(a),
            ExprKind::Unary(
                Unary::PreIncrement
                | Unary::PreDecrement
                | Unary::PostIncrement
                | Unary::PostDecrement,
                a,
            ) => self.slot_of(a),
            ExprKind::Comma(_, b) => self.slot_of(b),
            ExprKind::Cond(_, Some(a), b) => self.slot_of(a).or_else(|| self.slot_of(b)),
            ExprKind::Call(f, args) => {
                let ExprKind::Ident(name) = &f.kind else {
                    return None;
                };
                match atomic(name, args) {
                    Some((at, _)) => self.slot_of(at),
                    None => Some(Slot::Result(name.clone())),
                }
            }
            _ => None,
        }
    }

    /// The sort of an expression's values; `None` for constants, which have any.
    pub(super) fn sort_of(&self, e: &Expr) -> Option<Sort> {
        match &e.kind {
            ExprKind::Int(..) => None,
            ExprKind::Cast(_, a) if matches!(uncast(a).kind, ExprKind::Int(..)) => None,
            // What a word is does not change by a cast, but for memory that is new.
            ExprKind::Cast(ty, a) => match self.sort_of(a) {
                Some(sort) if !Self::is_new(a) => Some(sort),
                _ => self.reader.sort(ty, None),
            },
            ExprKind::Unary(Unary::Not, _) => Some(Sort::Value(Kind::Truth)),
            ExprKind::Unary(Unary::Minus | Unary::BitNot, a) => {
                (!matches!(a.kind, ExprKind::Int(..))).then_some(Sort::Value(Kind::Number))
            }
            ExprKind::Binary(op, ..) if compares(*op) || matches!(op, Binary::And | Binary::Or) => {
                Some(Sort::Value(Kind::Truth))
            }
            ExprKind::Binary(..) => Some(Sort::Value(Kind::Number)),
            ExprKind::Call(f, args) => {
                let ExprKind::Ident(name) = &f.kind else {
                    return None;
                };
                let Some((at, operation)) = atomic(name, args) else {
                    let f = self.reader.unit.functions.get(name.as_str())?;
                    let slot = Slot::Result(name.clone());
                    return self.reader.sort(&f.function.result, Some(&slot));
                };
                self.atomic_sort(at, &operation)
            }
            ExprKind::Unary(Unary::Address, a) => {
                let to = self.type_of(a)?;
                self.reader.sort(&Type::pointer(to), None)
            }
            ExprKind::Cond(_, Some(a), b) => self.sort_of(a).or_else(|| self.sort_of(b)),
            _ => {
                let ty = self.type_of(e)?;
                self.reader.sort(&ty, self.slot_of(e).as_ref())
            }
        }
    }

    fn is_new(e: &Expr) -> bool {
        match &uncast(e).kind {
            ExprKind::Call(f, _) => matches!(&f.kind, ExprKind::Ident(name) if is_allocation(name)),
            _ => false,
        }
    }

    /// The sort of what a pointer expression leads to.
    pub(super) fn pointed_sort(&self, at: &Expr) -> Option<Sort> {
        let ty = match addressed(at) {
            Some(place) => self.type_of(place)?,
            None => self.type_of(at)?.pointee()?.clone(),
        };
        self.reader.sort(&ty, self.slot_of(at).as_ref())
    }

    /// Whether evaluating it reads shared memory.
    pub(super) fn reads(&self, e: &heap::Expr) -> bool {
        match &e.kind {
            heap::ExprKind::Path(path) => {
                !path.parts.is_empty() || self.reader.is_shared(&path.base.text)
            }
            heap::ExprKind::Add(a, b, _)
            | heap::ExprKind::Remainder(a, b)
            | heap::ExprKind::Pack(a, b)
            | heap::ExprKind::And(a, b)
            | heap::ExprKind::Or(a, b)
            | heap::ExprKind::Compare(_, a, b) => self.reads(a) || self.reads(b),
            heap::ExprKind::Not(a) => self.reads(a),
            heap::ExprKind::Cas(..) | heap::ExprKind::Swap(..) | heap::ExprKind::Call(..) => true,
            heap::ExprKind::Null
            | heap::ExprKind::Empty
            | heap::ExprKind::Infinity(_)
            | heap::ExprKind::Bool(_)
            | heap::ExprKind::Int(_)
            | heap::ExprKind::Any
            | heap::ExprKind::New(_) => false,
        }
    }

    /// Two operands, in both orders where that can be seen.
    pub(super) fn both(
        &mut self,
        (a, m): (&Expr, Sort),
        (b, n): (&Expr, Sort),
        span: Span,
    ) -> Read<(heap::Expr, heap::Expr)> {
        let (left, before_left) = self.apart(|body| body.value(a, m));
        let (right, before_right) = self.apart(|body| body.value(b, n));
        let (left, right) = (left?, right?);
        let (l, r) = (
            !before_left.is_empty() || self.reads(&left),
            !before_right.is_empty() || self.reads(&right),
        );
        if !(l && r) {
            self.out.extend(before_left);
            self.out.extend(before_right);
            return Ok((left, right));
        }
        if !(before_left.is_empty() && before_right.is_empty()) {
            return refused(
                span,
                "operands of which both touch shared memory, in an order that C leaves open",
                "put one of them into a local first",
            );
        }
        let (x, y) = (self.temporary(m, span)?, self.temporary(n, span)?);
        let order = |flip: bool| {
            let first = statement(x.clone(), left.clone(), span);
            let second = statement(y.clone(), right.clone(), span);
            if flip {
                vec![second, first]
            } else {
                vec![first, second]
            }
        };
        self.emit(
            heap::StmtKind::Choose(vec![order(false), order(true)]),
            span,
        );
        Ok((
            expr(heap::ExprKind::Path(x), span),
            expr(heap::ExprKind::Path(y), span),
        ))
    }

    pub(super) fn literal(&self, value: i128, sort: Sort, span: Span) -> Read<heap::Expr> {
        Ok(match sort {
            Sort::Node(_) if value == 0 => expr(heap::ExprKind::Null, span),
            Sort::Value(Kind::Number) if i64::try_from(value).is_ok() => number(value, span),
            Sort::Value(Kind::Truth) => expr(heap::ExprKind::Bool(value != 0), span),
            Sort::Value(Kind::Data) => expr(self.reader.constant(value), span),
            Sort::Value(Kind::Number)
            | Sort::Node(_)
            | Sort::Element(_)
            | Sort::Object
            | Sort::Lock => {
                return refused(
                    span,
                    "this constant",
                    "use pointers to nodes, NULL, and numbers of 63 bits",
                );
            }
        })
    }

    /// The value of an expression, which is wanted as one of a sort.
    pub(super) fn value(&mut self, e: &Expr, want: Sort) -> Read<heap::Expr> {
        if let Some(value) = constant(uncast(e)) {
            return self.literal(value, want, e.span);
        }
        if want == Sort::Value(Kind::Truth) && self.sort_of(e) != Some(want) {
            return self.condition(e);
        }
        let span = e.span;
        match &e.kind {
            ExprKind::Cast(ty, a) => {
                if let (Type::Int { bits, .. }, Some(Type::Int { bits: from, .. })) =
                    (ty.plain(), self.type_of(a).as_ref().map(Type::plain))
                    && *bits < 32
                    && bits < from
                {
                    return refused(span, "a cast to a smaller integer", "leave out the cast");
                }
                self.value(a, want)
            }
            ExprKind::Ident(name) => {
                if let Some(Meaning::Pointed(..) | Meaning::Shared(..) | Meaning::Member(..)) =
                    self.meanings.get(name)
                {
                    return refused(
                        span,
                        "a pointer parameter as a value",
                        "use what it points to",
                    );
                }
                self.read(e)
            }
            ExprKind::Member(..)
            | ExprKind::Arrow(..)
            | ExprKind::Index(..)
            | ExprKind::Unary(Unary::Deref, _) => self.read(e),
            ExprKind::Unary(Unary::Plus, a) => self.value(a, want),
            ExprKind::Unary(Unary::Address, a) => self.address(a, span),
            ExprKind::Unary(Unary::Not, _) => self.condition(e),
            ExprKind::Unary(Unary::Minus, a) => {
                self.reader.note_numbers();
                let a = self.value(a, want)?;
                let kind = heap::ExprKind::Add(Box::new(number(0, span)), Box::new(a), true);
                Ok(expr(kind, span))
            }
            ExprKind::Unary(Unary::PreIncrement | Unary::PreDecrement, a) => {
                let spot = self.place(a)?;
                if !Self::is_local(&spot) {
                    return self.changed(e, want);
                }
                self.effect(e)?;
                self.value(a, want)
            }
            ExprKind::Unary(Unary::PostIncrement | Unary::PostDecrement, a) => {
                let spot = self.place(a)?;
                if !Self::is_local(&spot) {
                    return self.changed(e, want);
                }
                let old = self.temporary(want, span)?;
                let value = self.value(a, want)?;
                self.assign(old.clone(), value, span);
                self.effect(e)?;
                Ok(expr(heap::ExprKind::Path(old), span))
            }
            ExprKind::Unary(Unary::BitNot, _) => {
                refused(span, "operations on bits", "use + - and % by constants")
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e),
            ExprKind::Assign(_, to, _) => {
                let spot = self.place(to)?;
                if !Self::is_local(&spot) {
                    return self.changed(e, want);
                }
                self.effect(e)?;
                self.value(to, want)
            }
            ExprKind::Cond(c, Some(a), b) => {
                let c = self.condition(c)?;
                let to = self.temporary(want, span)?;
                let branch = |body: &mut Self, e: &Expr| {
                    let (value, mut before) = body.apart(|body| body.value(e, want));
                    before.push(statement(to.clone(), value?, span));
                    Ok(Box::new(heap::Stmt {
                        kind: heap::StmtKind::Block(before),
                        span,
                    }))
                };
                let (then, other) = (branch(self, a)?, branch(self, b)?);
                self.emit(heap::StmtKind::If(c, then, Some(other)), span);
                Ok(expr(heap::ExprKind::Path(to), span))
            }
            ExprKind::Cond(_, None, _) => refused(
                span,
                "?: without its second operand",
                "write the operand twice",
            ),
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.value(b, want)
            }
            ExprKind::Call(f, args) => self.called(f, args, want, span),
            ExprKind::Statements(body) => match body.split_last() {
                Some((last, rest)) if matches!(last.kind, StmtKind::Expr(_)) => {
                    let StmtKind::Expr(e) = &last.kind else {
                        return refused(span, "this expression", "write a function");
                    };
                    self.statements(rest);
                    self.value(e, want)
                }
                _ => refused(span, "statements without a value", "write a function"),
            },
            ExprKind::Int(value, _) => self.literal(*value, want, span),
            ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Compound(..)
            | ExprKind::UnknownSize => refused(
                span,
                "a value of this kind",
                "use integers and pointers to nodes",
            ),
        }
    }

    /// What is in a place.
    fn read(&mut self, e: &Expr) -> Read<heap::Expr> {
        let spot = self.place(e)?;
        let path = self.named_place(&spot, e.span)?;
        Ok(expr(heap::ExprKind::Path(path), e.span))
    }

    fn binary(&mut self, op: Binary, a: &Expr, b: &Expr, e: &Expr) -> Read<heap::Expr> {
        let span = e.span;
        if compares(op) || matches!(op, Binary::And | Binary::Or) {
            return self.condition(e);
        }
        self.reader.note_numbers();
        let sort = Sort::Value(Kind::Number);
        match op {
            Binary::Add | Binary::Sub => {
                let (a, b) = self.both((a, sort), (b, sort), span)?;
                let kind = heap::ExprKind::Add(Box::new(a), Box::new(b), op == Binary::Sub);
                Ok(expr(kind, span))
            }
            Binary::Rem | Binary::BitAnd => {
                let by = constant(b).map(|by| if op == Binary::BitAnd { by + 1 } else { by });
                let is_power = |by: i128| by > 0 && by & (by - 1) == 0;
                let Some(by) = by.filter(|by| *by > 0 && (op == Binary::Rem || is_power(*by)))
                else {
                    return refused(
                        span,
                        "this operation",
                        "use % by a constant, or & with one less than a power of two",
                    );
                };
                let is_unsigned = matches!(
                    self.type_of(a).as_ref().map(Type::promoted),
                    Some(Type::Int { signed: false, .. })
                );
                let may_wrap = Self::subtracts(a);
                // -1 & 3 is 3, as here, and so is (unsigned)-1 % 4; -1 % 4 is not.
                if op == Binary::Rem
                    && if is_unsigned {
                        may_wrap && !is_power(by)
                    } else {
                        !self.never_negative(a)
                    }
                {
                    return refused(
                        span,
                        "a remainder that may be negative",
                        "use an unsigned type",
                    );
                }
                let a = self.value(a, sort)?;
                let kind = heap::ExprKind::Remainder(Box::new(a), Box::new(number(by, span)));
                Ok(expr(kind, span))
            }
            _ => refused(span, "this operation", "use + - and % by constants"),
        }
    }

    /// Whether it is a difference, which wraps if it is unsigned and below zero.
    pub(super) fn subtracts(e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Binary(Binary::Sub, ..) | ExprKind::Unary(Unary::Minus, _) => true,
            ExprKind::Binary(_, a, b) => Self::subtracts(a) || Self::subtracts(b),
            ExprKind::Cast(_, a) => Self::subtracts(a),
            _ => false,
        }
    }

    fn never_negative(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Binary(Binary::Add, a, b) => self.never_negative(a) && self.never_negative(b),
            ExprKind::Binary(Binary::Rem | Binary::BitAnd, _, b) => {
                constant(b).is_some_and(|b| b > 0)
            }
            _ => match constant(e) {
                Some(value) => value >= 0,
                None => self
                    .slot_of(uncast(e))
                    .is_some_and(|slot| self.reader.kinds.never_negative(&slot)),
            },
        }
    }
}

pub(super) fn statement(to: heap::Path, value: heap::Expr, span: Span) -> heap::Stmt {
    heap::Stmt {
        kind: heap::StmtKind::Assign(to, value),
        span,
    }
}
