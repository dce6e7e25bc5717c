//! *Overflow* of machine words: whether the result of an operator fits its width.

use palisade_program::{BinOp, Expr, LocalExpr};

use super::arith::{
    Made, Ranges, as_signed, below, bin, binary, c, cond, limits, signed, unsigned,
};
use super::division::unsigned_division;
use super::ir::Binary;

/// `llvm.uadd.with.overflow` and its kin: the word, and whether the result does not fit.
pub(super) fn overflowing(
    op: Binary,
    is_signed: bool,
    bits: u32,
    a: LocalExpr,
    b: LocalExpr,
    ranges: Ranges<'_>,
) -> Made<(LocalExpr, LocalExpr)> {
    let value = binary(op, bits, a.clone(), b.clone(), ranges)?;
    let (a, b) = match (op, a) {
        (Binary::Mul, a @ Expr::Const(_)) => (b, a),
        (_, a) => (a, b),
    };
    let (least, most) = limits(bits);
    if let (Expr::Const(x), Expr::Const(y)) = (&a, &b) {
        let exact = |x: i128, y: i128| match op {
            Binary::Add => x + y,
            Binary::Sub => x - y,
            _ => x.saturating_mul(y),
        };
        let fits = if is_signed {
            let half = 1_i128 << (bits - 1);
            (-half..half).contains(&exact(signed(*x, bits), signed(*y, bits)))
        } else {
            let exact = exact(unsigned(*x, bits) as i128, unsigned(*y, bits) as i128);
            (0..1_i128 << bits).contains(&exact)
        };
        return Ok((value, c(i64::from(!fits))));
    }
    let flag = if is_signed {
        signed_overflow(op, bits, a, b, &value, ranges)?
    } else if bits < 64 {
        let (rb, ra) = (ranges(&b), ranges(&a));
        match op {
            // A range that is not known is that of 64 bits.
            Binary::Add if i128::from(ra.1) + i128::from(rb.1) <= i128::from(most) => c(0),
            Binary::Add => bin(BinOp::Gt, bin(BinOp::Add, a, b), c(most)),
            Binary::Sub => bin(BinOp::Lt, a, b),
            _ => match b {
                Expr::Const(0) => c(0),
                b => {
                    let large = bin(BinOp::Gt, a, bin(BinOp::Div, c(most), b.clone()));
                    by_nonzero(&b, large, ranges)
                }
            },
        }
    } else {
        debug_assert_eq!(least, i64::MIN);
        match (op, &b) {
            (Binary::Add, Expr::Const(n)) if *n > 0 => {
                // From 2^64 - n on.
                let late = bin(BinOp::Ge, a.clone(), c(-n));
                late.and(bin(BinOp::Lt, a, c(0)))
            }
            (Binary::Add, _) => {
                let (ra, rb) = (ranges(&a), ranges(&b));
                if ra.0 >= 0 && rb.0 >= 0 {
                    c(0)
                } else {
                    below(value.clone(), a, ranges)
                }
            }
            (Binary::Sub, _) => below(a, b, ranges),
            (_, Expr::Const(0 | 1)) => c(0),
            (_, Expr::Const(n)) => below(c((u64::MAX / *n as u64) as i64), a, ranges),
            _ => {
                let most = unsigned_division(Binary::UDiv, 64, c(-1), b.clone(), ranges)?;
                by_nonzero(&b, below(most, a, ranges), ranges)
            }
        }
    };
    Ok((value, flag))
}

/// A condition that divides by `b`, which is no overflow where that is zero.
fn by_nonzero(b: &LocalExpr, test: LocalExpr, ranges: Ranges<'_>) -> LocalExpr {
    let (least, most) = ranges(b);
    if least > 0 || most < 0 {
        test
    } else {
        cond(bin(BinOp::Eq, b.clone(), c(0)), c(0), test)
    }
}

fn signed_overflow(
    op: Binary,
    bits: u32,
    a: LocalExpr,
    b: LocalExpr,
    value: &LocalExpr,
    ranges: Ranges<'_>,
) -> Made<LocalExpr> {
    if bits < 64 {
        let half = 1_i64 << (bits - 1);
        let (a, b) = (as_signed(a, bits, ranges), as_signed(b, bits, ranges));
        let op = match op {
            Binary::Add => BinOp::Add,
            Binary::Sub => BinOp::Sub,
            _ => BinOp::Mul,
        };
        let e = bin(op, a, b);
        let high = bin(BinOp::Ge, e.clone(), c(half));
        return Ok(high.or(bin(BinOp::Lt, e, c(-half))));
    }
    let value = value.clone();
    match (op, b) {
        (Binary::Add, b) => Ok(cond(
            bin(BinOp::Ge, b, c(0)),
            bin(BinOp::Lt, value.clone(), a.clone()),
            bin(BinOp::Gt, value, a),
        )),
        (Binary::Sub, b) => Ok(cond(
            bin(BinOp::Ge, b, c(0)),
            bin(BinOp::Gt, value.clone(), a.clone()),
            bin(BinOp::Lt, value, a),
        )),
        (_, Expr::Const(0 | 1)) => Ok(c(0)),
        (_, Expr::Const(-1)) => Ok(bin(BinOp::Eq, a, c(i64::MIN))),
        (_, Expr::Const(n)) => {
            let (lo, hi) = if n > 0 {
                (i64::MIN / n, i64::MAX / n)
            } else {
                (i64::MAX / n, i64::MIN / n)
            };
            Ok(bin(BinOp::Lt, a.clone(), c(lo)).or(bin(BinOp::Gt, a, c(hi))))
        }
        (_, b) if small(&a, ranges) && small(&b, ranges) => Ok(c(0)),
        _ => Err("signed multiplication of 64 bits that might overflow"),
    }
}

/// Whether two such numbers have a product of 64 bits.
fn small(e: &LocalExpr, ranges: Ranges<'_>) -> bool {
    let (least, most) = ranges(e);
    least >= i64::from(i32::MIN) && most <= i64::from(i32::MAX)
}
