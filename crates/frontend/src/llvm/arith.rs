//! *Arithmetic* of machine words as expressions over mathematical integers. A word of fewer than
//! 64 bits is the unsigned number of its bits; a word of 64 bits is the signed number of the same
//! bits, since no larger one fits the [`Program`](palisade_program::Program). What an operator of
//! LLVM means for these numbers is said here, for constants and for expressions alike;
//! `tests` compares both with arithmetic of Rust.

use palisade_program::{BinOp, Expr, LocalExpr, UnOp};

use super::ir::{Binary, Cast, Change, Predicate};

/// What has no model, in a few words.
pub(super) type Made<T> = Result<T, &'static str>;

/// Ranges of the locals: both ends included.
pub(super) type Ranges<'a> = &'a dyn Fn(&LocalExpr) -> (i64, i64);

const WIDE: &str = "integers of more than 64 bits";
const MIN: i64 = i64::MIN;

fn c(value: i64) -> LocalExpr {
    Expr::Const(value)
}

fn bin(op: BinOp, a: LocalExpr, b: LocalExpr) -> LocalExpr {
    LocalExpr::binary(op, a, b)
}

fn cond(test: LocalExpr, yes: LocalExpr, no: LocalExpr) -> LocalExpr {
    match test {
        Expr::Const(0) => no,
        Expr::Const(_) => yes,
        test if yes == no => {
            let _ = test;
            yes
        }
        test => Expr::Cond(Box::new(test), Box::new(yes), Box::new(no)),
    }
}

/// The number of a word with these bits.
pub(super) const fn canonical(value: u128, bits: u32) -> i64 {
    if bits >= 64 {
        value as u64 as i64
    } else {
        (value & ((1 << bits) - 1)) as i64
    }
}

/// The bits of a word, as an unsigned number.
const fn unsigned(value: i64, bits: u32) -> u128 {
    if bits >= 64 {
        value as u64 as u128
    } else {
        value as u128
    }
}

/// The signed number of a word.
const fn signed(value: i64, bits: u32) -> i128 {
    if bits >= 64 {
        value as i128
    } else if value >> (bits - 1) & 1 == 1 {
        value as i128 - (1 << bits)
    } else {
        value as i128
    }
}

/// The least and the greatest number of a word.
pub(super) const fn limits(bits: u32) -> (i64, i64) {
    if bits >= 64 {
        (MIN, i64::MAX)
    } else {
        (0, ((1_i128 << bits) - 1) as i64)
    }
}

/// The mathematical result, which lies in `lo..=hi`, as a word.
fn wrapped(e: LocalExpr, lo: i128, hi: i128, bits: u32) -> Made<LocalExpr> {
    let (least, most) = limits(bits);
    if i128::from(least) <= lo && hi <= i128::from(most) {
        return Ok(e);
    }
    match bits {
        8 | 16 | 32 => Ok(e.wrapped((lo, hi), bits as u8, false)),
        64 => Ok(LocalExpr::unary(
            UnOp::Wrap {
                bits: 64,
                signed: true,
            },
            e,
        )),
        _ if lo > i128::from(MIN) && hi < i128::from(i64::MAX) => {
            Ok(bin(BinOp::BitAnd, e, c(most)))
        }
        _ => Err("arithmetic of an unusual width"),
    }
}

/// The signed number of a word.
fn as_signed(e: LocalExpr, bits: u32, ranges: Ranges<'_>) -> LocalExpr {
    if bits >= 64 {
        return e;
    }
    let half = 1_i64 << (bits - 1);
    if ranges(&e).1 < half {
        return e;
    }
    let moved = bin(BinOp::Sub, e.clone(), c(half * 2));
    cond(bin(BinOp::Ge, e.clone(), c(half)), moved, e)
}

/// The word of a signed number that fits it.
fn of_signed(e: LocalExpr, bits: u32) -> LocalExpr {
    if bits >= 64 {
        return e;
    }
    let moved = bin(BinOp::Add, e.clone(), c(1 << bits));
    cond(bin(BinOp::Lt, e.clone(), c(0)), moved, e)
}

/// `a < b` of unsigned words of 64 bits.
fn below(a: LocalExpr, b: LocalExpr, ranges: Ranges<'_>) -> LocalExpr {
    let (ra, rb) = (ranges(&a), ranges(&b));
    if (ra.0 >= 0 && rb.0 >= 0) || (ra.1 < 0 && rb.1 < 0) {
        return bin(BinOp::Lt, a, b);
    }
    if rb.0 >= 0 {
        let low = bin(BinOp::Lt, a.clone(), b);
        return bin(BinOp::Ge, a, c(0)).and(low);
    }
    if ra.0 >= 0 {
        let high = bin(BinOp::Lt, b.clone(), c(0));
        return high.or(bin(BinOp::Gt, b, a));
    }
    let (na, nb) = (
        bin(BinOp::Lt, a.clone(), c(0)),
        bin(BinOp::Lt, b.clone(), c(0)),
    );
    let same = bin(BinOp::Eq, na, nb.clone());
    cond(same, bin(BinOp::Lt, a, b), nb)
}

/// `left op right` of words.
pub(super) fn binary(
    op: Binary,
    bits: u32,
    a: LocalExpr,
    b: LocalExpr,
    ranges: Ranges<'_>,
) -> Made<LocalExpr> {
    if bits > 64 {
        return Err(WIDE);
    }
    if let (Expr::Const(a), Expr::Const(b)) = (&a, &b) {
        return fold(op, bits, *a, *b).map(c);
    }
    let (ra, rb) = (ranges(&a), ranges(&b));
    let (ra, rb) = (
        (i128::from(ra.0), i128::from(ra.1)),
        (i128::from(rb.0), i128::from(rb.1)),
    );
    let (_, most) = limits(bits);
    if bits == 1 {
        return Ok(match op {
            Binary::And | Binary::Mul => a.and(b),
            Binary::Or => a.or(b),
            Binary::Xor | Binary::Add | Binary::Sub => match (a, b) {
                (e, Expr::Const(1)) | (Expr::Const(1), e) => e.negate(),
                (e, Expr::Const(0)) | (Expr::Const(0), e) => e,
                (a, b) => bin(BinOp::Ne, a, b),
            },
            Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem => {
                return Err("division of bits");
            }
            Binary::Shl | Binary::LShr | Binary::AShr => return Err("a shift of bits"),
        });
    }
    match op {
        Binary::Add => match (&a, &b) {
            (Expr::Const(0), _) => Ok(b),
            (_, Expr::Const(0)) => Ok(a),
            // The same word either way; small steps back stay small.
            (_, Expr::Const(n)) if bits < 64 && *n > most / 2 => {
                let by = most + 1 - n;
                let e = bin(BinOp::Sub, a, c(by));
                wrapped(e, ra.0 - i128::from(by), ra.1 - i128::from(by), bits)
            }
            _ => wrapped(bin(BinOp::Add, a, b), ra.0 + rb.0, ra.1 + rb.1, bits),
        },
        Binary::Sub => wrapped(bin(BinOp::Sub, a, b), ra.0 - rb.1, ra.1 - rb.0, bits),
        Binary::Mul => {
            let corners = [ra.0 * rb.0, ra.0 * rb.1, ra.1 * rb.0, ra.1 * rb.1];
            let lo = corners.into_iter().fold(corners[0], i128::min);
            let hi = corners.into_iter().fold(corners[0], i128::max);
            wrapped(bin(BinOp::Mul, a, b), lo, hi, bits)
        }
        Binary::UDiv | Binary::URem => unsigned_division(op, bits, a, b, ranges),
        Binary::SDiv | Binary::SRem => signed_division(op, bits, a, b, ranges),
        Binary::Shl => {
            let e = bin(BinOp::Shl, a, b);
            match bits {
                64 => wrapped(e, i128::MIN, i128::MAX, bits),
                _ if bits <= 32 => Ok(bin(BinOp::BitAnd, e, c(most))),
                _ => Err("a shift of an unusual width"),
            }
        }
        Binary::LShr if bits < 64 || ra.0 >= 0 => Ok(bin(BinOp::Shr, a, b)),
        Binary::LShr => Ok(match b {
            Expr::Const(0) => a,
            Expr::Const(n) if n < 64 => bin(
                BinOp::BitAnd,
                bin(BinOp::Shr, a, c(n)),
                c(((1_u64 << (64 - n)) - 1) as i64),
            ),
            b => {
                let less = bin(BinOp::Sub, b.clone(), c(1));
                let mask = bin(BinOp::Shr, c(i64::MAX), less);
                let shifted = bin(BinOp::BitAnd, bin(BinOp::Shr, a.clone(), b.clone()), mask);
                cond(bin(BinOp::Eq, b, c(0)), a, shifted)
            }
        }),
        Binary::AShr => {
            let shifted = bin(BinOp::Shr, as_signed(a, bits, ranges), b);
            Ok(of_signed(shifted, bits))
        }
        Binary::And => Ok(bin(BinOp::BitAnd, a, b)),
        Binary::Or => Ok(bin(BinOp::BitOr, a, b)),
        Binary::Xor => match (&a, &b) {
            (_, Expr::Const(m)) if bits < 64 && *m == most => Ok(bin(BinOp::Sub, c(most), a)),
            _ => Ok(bin(BinOp::BitXor, a, b)),
        },
    }
}

fn unsigned_division(
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
            Binary::URem => Ok(bin(BinOp::BitAnd, a, c(n - 1))),
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
fn signed_division(
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
        Expr::Const(n) if n < 0 && n > MIN => by_negative(b),
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

/// The value of an operator on constants.
fn fold(op: Binary, bits: u32, a: i64, b: i64) -> Made<i64> {
    let (ua, ub) = (unsigned(a, bits), unsigned(b, bits));
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let zero = "division by zero";
    let shift = || {
        u32::try_from(ub)
            .ok()
            .filter(|n| *n < bits)
            .ok_or("a shift too far")
    };
    let value = match op {
        Binary::Add => ua.wrapping_add(ub),
        Binary::Sub => ua.wrapping_sub(ub),
        Binary::Mul => ua.wrapping_mul(ub),
        Binary::UDiv => ua.checked_div(ub).ok_or(zero)?,
        Binary::URem => ua.checked_rem(ub).ok_or(zero)?,
        Binary::SDiv => sa.checked_div(sb).ok_or(zero)? as u128,
        Binary::SRem => sa.checked_rem(sb).ok_or(zero)? as u128,
        Binary::Shl => ua << shift()?,
        Binary::LShr => ua >> shift()?,
        Binary::AShr => (sa >> shift()?) as u128,
        Binary::And => ua & ub,
        Binary::Or => ua | ub,
        Binary::Xor => ua ^ ub,
    };
    Ok(canonical(value, bits))
}

/// A comparison of words.
pub(super) fn compare(
    predicate: Predicate,
    bits: u32,
    a: LocalExpr,
    b: LocalExpr,
    ranges: Ranges<'_>,
) -> Made<LocalExpr> {
    if bits > 64 {
        return Err(WIDE);
    }
    let unsigned_less = |a: LocalExpr, b: LocalExpr| {
        if bits < 64 {
            bin(BinOp::Lt, a, b)
        } else {
            below(a, b, ranges)
        }
    };
    let signed_less = |a, b| {
        bin(
            BinOp::Lt,
            as_signed(a, bits, ranges),
            as_signed(b, bits, ranges),
        )
    };
    let e = match predicate {
        Predicate::Eq | Predicate::Ne => {
            let is_eq = predicate == Predicate::Eq;
            match (a, b) {
                (e, Expr::Const(n)) | (Expr::Const(n), e) if bits == 1 && e.is_boolean() => {
                    if (n == 1) == is_eq { e } else { e.negate() }
                }
                (a, b) if a == b => c(i64::from(is_eq)),
                (a, b) => bin(if is_eq { BinOp::Eq } else { BinOp::Ne }, a, b),
            }
        }
        Predicate::Ult => unsigned_less(a, b),
        Predicate::Ugt => unsigned_less(b, a),
        Predicate::Ule => unsigned_less(b, a).negate(),
        Predicate::Uge => unsigned_less(a, b).negate(),
        Predicate::Slt => signed_less(a, b),
        Predicate::Sgt => signed_less(b, a),
        Predicate::Sle => signed_less(b, a).negate(),
        Predicate::Sge => signed_less(a, b).negate(),
    };
    Ok(e)
}

/// A conversion.
pub(super) fn cast(
    kind: Cast,
    from: u32,
    to: u32,
    e: LocalExpr,
    ranges: Ranges<'_>,
) -> Made<LocalExpr> {
    if from > 64 || to > 64 {
        return Err(WIDE);
    }
    if let Expr::Const(value) = e {
        let value = match kind {
            Cast::SignExtend => signed(value, from) as u128,
            Cast::Truncate | Cast::ZeroExtend | Cast::Same => unsigned(value, from),
        };
        return Ok(c(canonical(value, to)));
    }
    match kind {
        Cast::Same => Ok(e),
        // Fewer than 64 bits are no negative number.
        Cast::ZeroExtend => Ok(e),
        Cast::SignExtend => {
            let e = as_signed(e, from, ranges);
            Ok(of_signed(e, to))
        }
        Cast::Truncate => {
            let (lo, hi) = ranges(&e);
            if to == 1 {
                // `bool`s are stored as bytes.
                if lo >= 0 && hi <= 1 {
                    return Ok(e);
                }
                return Ok(bin(BinOp::Mod, e, c(2)));
            }
            wrapped(e, i128::from(lo), i128::from(hi), to)
        }
    }
}

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
            Binary::Add if ra.1 + rb.1 <= most => c(0),
            Binary::Add => bin(BinOp::Gt, bin(BinOp::Add, a, b), c(most)),
            Binary::Sub => bin(BinOp::Lt, a, b),
            _ => match b {
                Expr::Const(0) => c(0),
                b => {
                    let nonzero = bin(BinOp::Ne, b.clone(), c(0));
                    nonzero.and(bin(BinOp::Gt, a, bin(BinOp::Div, c(most), b)))
                }
            },
        }
    } else {
        debug_assert_eq!(least, MIN);
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
                bin(BinOp::Ne, b, c(0)).and(below(most, a, ranges))
            }
        }
    };
    Ok((value, flag))
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
        (_, Expr::Const(-1)) => Ok(bin(BinOp::Eq, a, c(MIN))),
        (_, Expr::Const(n)) => {
            let (lo, hi) = if n > 0 {
                (MIN / n, i64::MAX / n)
            } else {
                (i64::MAX / n, MIN / n)
            };
            Ok(bin(BinOp::Lt, a.clone(), c(lo)).or(bin(BinOp::Gt, a, c(hi))))
        }
        _ => Err("signed multiplication of 64 bits that might overflow"),
    }
}

/// What a read-modify-write stores.
pub(super) fn changed(
    how: Change,
    bits: u32,
    old: LocalExpr,
    by: LocalExpr,
    ranges: Ranges<'_>,
) -> Made<LocalExpr> {
    let chosen = |predicate, old: LocalExpr, by: LocalExpr| {
        let keep = compare(predicate, bits, old.clone(), by.clone(), ranges)?;
        Ok(cond(keep, old, by))
    };
    match how {
        Change::Exchange => Ok(by),
        Change::Add => binary(Binary::Add, bits, old, by, ranges),
        Change::Sub => binary(Binary::Sub, bits, old, by, ranges),
        Change::And => binary(Binary::And, bits, old, by, ranges),
        Change::Or => binary(Binary::Or, bits, old, by, ranges),
        Change::Xor => binary(Binary::Xor, bits, old, by, ranges),
        Change::Nand => {
            let both = binary(Binary::And, bits, old, by, ranges)?;
            binary(
                Binary::Xor,
                bits,
                both,
                c(limits(bits).1 | -i64::from(bits == 64)),
                ranges,
            )
        }
        Change::Max => chosen(Predicate::Sgt, old, by),
        Change::Min => chosen(Predicate::Slt, old, by),
        Change::UMax => chosen(Predicate::Ugt, old, by),
        Change::UMin => chosen(Predicate::Ult, old, by),
    }
}

/// Bytes `from..from + size` of a word of `of` bytes (little-endian).
pub(super) fn bytes_of(e: &LocalExpr, of: u64, from: u64, size: u64) -> LocalExpr {
    if from == 0 && size == of {
        return e.clone();
    }
    if let Expr::Const(value) = e {
        let value = unsigned(*value, of as u32 * 8) >> (8 * from);
        return c(canonical(value, size as u32 * 8));
    }
    let shifted = if from == 0 {
        e.clone()
    } else {
        bin(BinOp::Shr, e.clone(), c(8 * from as i64))
    };
    // `from > 0` or `size < of`, so that this has fewer than 64 bits.
    bin(BinOp::BitAnd, shifted, c(limits(size as u32 * 8).1))
}

/// A word out of parts: their offsets, sizes and values. They do not overlap.
pub(super) fn joined(parts: &[(u64, u64, LocalExpr)], size: u64) -> LocalExpr {
    let mut sum: Option<LocalExpr> = None;
    let mut constant: u128 = 0;
    for (at, bytes, e) in parts {
        match e {
            Expr::Const(value) => constant |= unsigned(*value, *bytes as u32 * 8) << (8 * at),
            e => {
                let mut e = e.clone();
                if *at > 0 {
                    e = bin(BinOp::Shl, e, c(8 * *at as i64));
                    if at + bytes == 8 {
                        let op = UnOp::Wrap {
                            bits: 64,
                            signed: true,
                        };
                        e = LocalExpr::unary(op, e);
                    }
                }
                sum = Some(match sum {
                    None => e,
                    Some(other) => bin(BinOp::BitOr, other, e),
                });
            }
        }
    }
    let constant = canonical(constant, size as u32 * 8);
    match sum {
        None => c(constant),
        Some(e) if constant == 0 => e,
        Some(e) => bin(BinOp::BitOr, e, c(constant)),
    }
}
