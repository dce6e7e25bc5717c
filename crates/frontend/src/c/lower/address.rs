//! *Addresses as numbers*: integers as wide as a pointer that carry an address, with tag bits or without
//! (`(uintptr_t)p | 1`). The number is the address itself. Where objects lie is not fixed by C, so only those uses of
//! such a number are followed whose result is the same wherever they lie:
//!
//! | use | why it depends on no address |
//! |---|---|
//! | copies, conversions between pointers and integers of that width | the bits stay |
//! | `x == y`, `x != y`, both carry; `x == c`, `x < c` with a number that no object lies at | as for pointers |
//! | `x & m`, `x % (m + 1)`, with a mask of bits below the alignment of all objects that x may point to | objects are aligned |
//! | `x & ~m`, `x \| c`, `x ^ c` with such bits | changes these bits only |
//! | `x + c`, `x - c` that stay in the object | as for pointers |
//!
//! Anything else ends the run as unsupported where the number is in the range of addresses. Which integers may
//! carry an address is what the points-to analysis says, which follows integers too. A number of the program
//! itself in that range would be taken for an address; it starts at 2^45 for that reason.
//!
//! Programs that convert no address to an integer are not concerned ([`super::Context::numbers`]).

use palisade_program::{BinOp, Expr as Ir, LocalExpr, Span};

use super::cases::within;
use super::code::{Code, Lower};
use super::layout::{FAR, FIRST_ADDRESS, FIRST_FUNCTION, LARGE};
use super::value::Val;
use crate::c::ast::Binary;
use crate::c::types::{DataModel, Type};

/// No object lies below this, nor at the numbers that are minus something smaller.
const PAGE: i128 = 4096;

/// Objects at most that an address that is moved is looked for in.
const MOST_OBJECTS: usize = 16;

/// Why a run is not followed.
const AS_NUMBER: &str = "an address is used as a number";

impl Code<'_, '_> {
    /// Whether addresses may become numbers here: in 32 bits there is no range that numbers do not use.
    pub(super) fn follows_addresses(&self) -> bool {
        let is_wide = self.cx.options.data_model == DataModel::Lp64 && !self.cx.options.math;
        is_wide && self.cx.is_program()
    }

    /// Whether a value of this type is as wide as an address.
    pub(super) fn is_word(&self, ty: &Type) -> bool {
        let word = self.cx.options.data_model.word();
        matches!(ty.plain(), Type::Int { bits, .. } if *bits == word)
    }

    /// Whether an integer may carry an address.
    pub(super) fn carries(&self, v: &Val) -> bool {
        let may_point = v.among.as_ref().is_none_or(|among| !among.is_empty());
        let in_range = v.hi >= i128::from(FIRST_ADDRESS) && v.lo < i128::from(FAR);
        self.cx.previous.numbers && in_range && may_point && self.is_word(&v.ty)
    }

    /// A pointer as an integer of its width.
    pub(super) fn address_as_number(&mut self, pointer: Val, to: &Type) -> Val {
        self.cx.numbers = true;
        let (lo, hi) = match pointer.as_constant() {
            Some(c) => (c, c),
            None => self.range(to),
        };
        Val {
            e: pointer.e,
            ty: to.clone(),
            lo,
            hi,
            object: None,
            among: pointer.among,
        }
    }

    /// An integer that may carry an address as a pointer.
    pub(super) fn number_as_address(&mut self, v: Val, to: &Type, span: Span) -> Val {
        if let Some(of) = to.pointee() {
            // With tag bits it is one into an element.
            self.cx.note_recast(of);
        }
        let small = LocalExpr::binary(BinOp::Lt, v.e.clone(), Ir::Const(LARGE));
        let fits = small.or(in_range(&v.e));
        self.require(fits, "a large number becomes a pointer", span);
        Val {
            ty: to.clone(),
            ..v
        }
    }

    /// Requires that an integer is no address where its value would matter.
    pub(super) fn as_number(&mut self, v: &Val, span: Span) {
        if self.carries(v) {
            self.require(in_range(&v.e).negate(), AS_NUMBER, span);
        }
    }

    /// Before a binary operation on integers of one type: what is not in the table requires that they are
    /// numbers.
    pub(super) fn check_numbers(&mut self, op: Binary, a: &Val, b: &Val, span: Span) -> Lower<()> {
        let (first, second) = (self.carries(a), self.carries(b));
        let is_free = match op {
            _ if !first && !second => true,
            Binary::And | Binary::Or => true,
            Binary::Eq | Binary::Ne if first && second => true,
            Binary::Eq | Binary::Ne => is_nowhere(a) || is_nowhere(b),
            Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge => is_nowhere(a) || is_nowhere(b),
            Binary::Add | Binary::Sub if first != second && (first || op == Binary::Add) => {
                let (v, by) = if first { (a, b) } else { (b, a) };
                self.check_moved(op, v, by, span);
                return Ok(());
            }
            Binary::Add | Binary::Sub => false,
            Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::Rem => {
                let (v, c) = if first { (a, b) } else { (b, a) };
                let is_tag = first != second && self.is_tag(op, v, c, span)?;
                if is_tag && (op != Binary::Rem || first) {
                    let below = LocalExpr::binary(BinOp::Lt, v.e.clone(), int(FIRST_FUNCTION));
                    let above = LocalExpr::binary(BinOp::Ge, v.e.clone(), int(FAR));
                    self.require(below.or(above), "a tag on the address of a function", span);
                    return Ok(());
                }
                false
            }
            Binary::Mul | Binary::Div | Binary::Shl | Binary::Shr => false,
        };
        if !is_free {
            self.as_number(a, span);
            self.as_number(b, span);
        }
        Ok(())
    }

    /// Requires that an address that is moved stays in its object.
    fn check_moved(&mut self, op: Binary, v: &Val, by: &Val, span: Span) {
        let mut objects = self.cx.targets(v.object, v.among.as_ref(), self.thread);
        objects.retain(|o| self.cx.layouts.is_exact(&o.ty));
        if objects.len() > MOST_OBJECTS {
            self.as_number(v, span);
            return;
        }
        let op = if op == Binary::Sub {
            BinOp::Sub
        } else {
            BinOp::Add
        };
        let to = LocalExpr::binary(op, v.e.clone(), by.e.clone());
        let stays = objects.iter().fold(in_range(&v.e).negate(), |all, object| {
            all.or(within(&v.e, object).and(within(&to, object)))
        });
        self.require(stays, AS_NUMBER, span);
    }

    /// Whether `v op c` concerns only bits below the alignment of whatever `v` points to.
    fn is_tag(&self, op: Binary, v: &Val, c: &Val, span: Span) -> Lower<bool> {
        let objects = self.cx.targets(v.object, v.among.as_ref(), self.thread);
        let mut align = i128::from(super::layout::ALIGNMENT);
        for object in objects {
            align = align.min(i128::from(self.cx.layouts.alignment(&object.ty, span)?));
        }
        let is_low = c.lo >= 0 && c.hi < align;
        Ok(match (op, c.as_constant()) {
            (Binary::BitAnd, Some(mask)) => is_low || mask < 0 && !mask < align,
            (Binary::Rem, Some(by)) => by > 0 && by <= align && by & (by - 1) == 0,
            _ => is_low && op != Binary::Rem,
        })
    }
}

const fn int(c: i64) -> LocalExpr {
    Ir::Const(c)
}

/// Whether a number is one at which something may lie.
fn in_range(e: &LocalExpr) -> LocalExpr {
    let low = LocalExpr::binary(BinOp::Ge, e.clone(), int(FIRST_ADDRESS));
    let high = LocalExpr::binary(BinOp::Lt, e.clone(), int(FAR));
    low.and(high)
}

/// Whether nothing lies at a number, on any machine.
const fn is_nowhere(v: &Val) -> bool {
    v.lo >= -PAGE && v.hi < PAGE
}
