//! *Shifts* by a constant or by `cl` (Intel SDM vol. 2, SAL/SAR/SHL/SHR). A count
//! of 0 leaves value and flags as they are. After a shift by `cl` the flags depend on the count,
//! which may be 0; a test that reads them is refused.

use palisade_program::{BinOp, LocalExpr, Span};

use super::super::Failure;
use super::super::ty::{as_signed, canonical};
use super::flags::{Cause, top};
use super::instr::Shift;
use crate::diagnostic::Diagnostic;

/// The result of shifting `a` (canonical in `bits` bits) and what it does to the
/// flags; `None` if the count is the constant 0.
pub(super) fn shift(
    op: Shift,
    bits: u8,
    a: &LocalExpr,
    count: &LocalExpr,
    keeps_flags: bool,
    span: Span,
) -> Result<Option<(LocalExpr, Cause)>, Failure> {
    let constant = match count {
        LocalExpr::Const(0) => return Ok(None),
        LocalExpr::Const(c) => Some(*c),
        LocalExpr::Atom(_) | LocalExpr::Unary(..) | LocalExpr::Binary(..) | LocalExpr::Cond(..) => {
            None
        }
    };
    if constant.is_none() && (keeps_flags || (bits == 64 && op == Shift::Right)) {
        return Err(
            Diagnostic::error(span, "this shift by `cl` is not supported")
                .help("shift by a constant")
                .into(),
        );
    }
    let by = |op, e: LocalExpr| LocalExpr::binary(op, e, count.clone());
    let result = match op {
        Shift::Left => canonical(bits, by(BinOp::Shl, a.clone())),
        Shift::Right => logical_right(bits, a, count),
        Shift::Arithmetic => canonical(bits, by(BinOp::Shr, as_signed(bits, a.clone()))),
    };
    let cause = Cause::Shift {
        carry: constant.map_or(LocalExpr::FALSE, |c| last_out(op, bits, a, c)),
        overflow: (constant == Some(1)).then(|| match op {
            Shift::Left => {
                LocalExpr::binary(BinOp::Ne, top(bits, result.clone()), top(bits, a.clone()))
            }
            Shift::Right => top(bits, a.clone()),
            Shift::Arithmetic => LocalExpr::FALSE,
        }),
        result: result.clone(),
    };
    Ok(Some((result, cause)))
}

fn logical_right(bits: u8, a: &LocalExpr, count: &LocalExpr) -> LocalExpr {
    let moved = LocalExpr::binary(BinOp::Shr, a.clone(), count.clone());
    match count {
        // A canonical 64-bit value is signed: clear the copies of its sign.
        LocalExpr::Const(c @ 1..=63) if bits == 64 => {
            let mask = LocalExpr::Const(((1_u64 << (64 - c)) - 1) as i64);
            LocalExpr::binary(BinOp::BitAnd, moved, mask)
        }
        _ => moved,
    }
}

/// The last bit that a shift by `c >= 1` moves out.
fn last_out(op: Shift, bits: u8, a: &LocalExpr, c: i64) -> LocalExpr {
    let width = i64::from(bits);
    let (value, position) = match op {
        Shift::Left if c > width => return LocalExpr::FALSE,
        Shift::Left => (a.clone(), width - c),
        Shift::Right => (a.clone(), c - 1),
        Shift::Arithmetic => (as_signed(bits, a.clone()), c - 1),
    };
    let moved = LocalExpr::binary(BinOp::Shr, value, LocalExpr::Const(position));
    LocalExpr::binary(BinOp::BitAnd, moved, LocalExpr::Const(1))
}
