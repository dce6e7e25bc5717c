//! *Division* of machine words, by the division of mathematical integers that leaves no negative
//! remainder.

use palisade_program::{BinOp, Expr, LocalExpr, UnOp};

use super::arith::{Made, Ranges, as_signed, below, bin, binary, c, cond, of_signed};
use super::ir::Binary;

pub(super) fn unsigned_division(
    op: Binary,
    bits: u32,
    a: LocalExpr,
    b: LocalExpr,
    ranges: Ranges<'_>,
) -> Made<LocalExpr> {
    let (ra, rb) = (ranges(&a), ranges(&b));
    let plain = if op == Binary::UDiv {
        BinOp::Div
    } else {
        BinOp::Mod
    };
    if bits < 64 || (ra.0 >= 0 && rb.0 >= 0) {
        return Ok(bin(plain, a, b));
    }
    if let Expr::Const(n) = b
        && n > 0
        && n & (n - 1) == 0
    {
        let shift = i64::from(n.trailing_zeros());
        return match op {
            Binary::URem => Ok(bin(BinOp::Mod, a, c(n))),
            _ => binary(Binary::LShr, bits, a, c(shift), ranges),
        };
    }
    // With a divisor from 2^63 on, the quotient is 0 or 1. Else half of the dividend is divided;
    // twice that quotient is right, or too small by one.
    let big = cond(below(a.clone(), b.clone(), ranges), c(0), c(1));
    let half = binary(Binary::LShr, bits, a.clone(), c(1), ranges)?;
    let twice = bin(BinOp::Mul, bin(BinOp::Div, half, b.clone()), c(2));
    let covered = binary(Binary::Mul, bits, twice.clone(), b.clone(), ranges)?;
    let rest = binary(Binary::Sub, bits, a.clone(), covered, ranges)?;
    let more = cond(below(rest, b.clone(), ranges), c(0), c(1));
    let small = binary(Binary::Add, bits, twice, more, ranges)?;
    let quotient = cond(bin(BinOp::Lt, b.clone(), c(0)), big, small);
    if op == Binary::UDiv {
        return Ok(quotient);
    }
    let covered = binary(Binary::Mul, bits, quotient, b, ranges)?;
    binary(Binary::Sub, bits, a, covered, ranges)
}

/// Division that rounds to zero, out of one that leaves no negative remainder.
pub(super) fn signed_division(
    op: Binary,
    bits: u32,
    a: LocalExpr,
    b: LocalExpr,
    ranges: Ranges<'_>,
) -> Made<LocalExpr> {
    let (a, b) = (as_signed(a, bits, ranges), as_signed(b, bits, ranges));
    let by_positive = |b: LocalExpr| {
        let rest = bin(BinOp::Mod, a.clone(), b.clone());
        let inexact = bin(BinOp::Lt, a.clone(), c(0)).and(bin(BinOp::Ne, rest.clone(), c(0)));
        match op {
            Binary::SDiv => {
                let floor = bin(BinOp::Div, a.clone(), b);
                let up = bin(BinOp::Add, floor.clone(), c(1));
                cond(inexact, up, floor)
            }
            _ => cond(inexact, bin(BinOp::Sub, rest.clone(), b), rest),
        }
    };
    let by_negative = |b: LocalExpr| {
        let e = by_positive(LocalExpr::unary(UnOp::Neg, b));
        match op {
            Binary::SDiv => LocalExpr::unary(UnOp::Neg, e),
            _ => e,
        }
    };
    let e = match b {
        Expr::Const(n) if n > 0 => by_positive(b),
        Expr::Const(n) if n < 0 && n > i64::MIN => by_negative(b),
        b => {
            if bits == 64 {
                return Err("signed division of 64 bits by something that is no constant");
            }
            let test = bin(BinOp::Gt, b.clone(), c(0));
            cond(test, by_positive(b.clone()), by_negative(b))
        }
    };
    Ok(of_signed(e, bits))
}
