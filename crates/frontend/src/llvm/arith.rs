//! *Arithmetic* of machine words as expressions over mathematical integers. A word of fewer than
//! 64 bits is the unsigned number of its bits; a word of 64 bits is the signed number of the same
//! bits, since no larger one fits the [`Program`](palisade_program::Program). What an operator of
//! LLVM means for these numbers is said here, for constants and for expressions alike;
//! `tests` compares both with arithmetic of Rust.

use palisade_program::{BinOp, Expr, LocalExpr, UnOp};

use super::division::{signed_division, unsigned_division};
use super::ir::{Binary, Cast, Change, Predicate};

/// What has no model, in a few words.
pub(super) type Made<T> = Result<T, &'static str>;

/// Ranges of the locals: both ends included.
pub(super) type Ranges<'a> = &'a dyn Fn(&LocalExpr) -> (i64, i64);

const WIDE: &str = "integers of more than 64 bits";

pub(super) fn c(value: i64) -> LocalExpr {
    Expr::Const(value)
}

pub(super) fn bin(op: BinOp, a: LocalExpr, b: LocalExpr) -> LocalExpr {
    LocalExpr::binary(op, a, b)
}

pub(super) fn cond(test: LocalExpr, yes: LocalExpr, no: LocalExpr) -> LocalExpr {
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
pub(super) const fn unsigned(value: i64, bits: u32) -> u128 {
    if bits >= 64 {
        value as u64 as u128
    } else {
        value as u128
    }
}

/// The signed number of a word.
pub(super) const fn signed(value: i64, bits: u32) -> i128 {
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
        (i64::MIN, i64::MAX)
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
        _ if lo > i128::from(i64::MIN) && hi < i128::from(i64::MAX) => {
            Ok(bin(BinOp::BitAnd, e, c(most)))
        }
        _ => Err("arithmetic of an unusual width"),
    }
}

/// The signed number of a word.
pub(super) fn as_signed(e: LocalExpr, bits: u32, ranges: Ranges<'_>) -> LocalExpr {
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
pub(super) fn of_signed(e: LocalExpr, bits: u32) -> LocalExpr {
    if bits >= 64 {
        return e;
    }
    let moved = bin(BinOp::Add, e.clone(), c(1 << bits));
    cond(bin(BinOp::Lt, e.clone(), c(0)), moved, e)
}

/// `a < b` of unsigned words of 64 bits.
pub(super) fn below(a: LocalExpr, b: LocalExpr, ranges: Ranges<'_>) -> LocalExpr {
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
                _ if bits <= 32 => Ok(bin(BinOp::Mod, e, c(most + 1))),
                _ => Err("a shift of an unusual width"),
            }
        }
        Binary::LShr if bits < 64 || ra.0 >= 0 => Ok(bin(BinOp::Shr, a, b)),
        Binary::LShr => Ok(match b {
            Expr::Const(0) => a,
            Expr::Const(n) if n < 64 => {
                let mask = c(((1_u64 << (64 - n)) - 1) as i64);
                and(64, bin(BinOp::Shr, a, c(n)), mask, ranges)
            }
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
        Binary::And => Ok(match (a, b) {
            (Expr::Const(m), a) | (a, Expr::Const(m)) => and(bits, a, c(m), ranges),
            (a, b) => bin(BinOp::BitAnd, a, b),
        }),
        Binary::Or if may_be_set(&a, ranges) & may_be_set(&b, ranges) == 0 => {
            Ok(bin(BinOp::Add, a, b))
        }
        Binary::Or => Ok(bin(BinOp::BitOr, a, b)),
        Binary::Xor => match (&a, &b) {
            (_, Expr::Const(m)) if bits < 64 && *m == most => Ok(bin(BinOp::Sub, c(most), a)),
            _ => Ok(bin(BinOp::BitXor, a, b)),
        },
    }
}

/// `a & mask`. Without its upper bits a word is a remainder; without its lower ones it is less by a
/// remainder. Both are linear, which bits are not.
fn and(bits: u32, a: LocalExpr, mask: LocalExpr, ranges: Ranges<'_>) -> LocalExpr {
    let Expr::Const(m) = mask else {
        return bin(BinOp::BitAnd, a, mask);
    };
    let word = if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    };
    let kept = m as u64 & word;
    let low = kept.trailing_zeros();
    let ones = (kept >> low.min(63)).trailing_ones();
    let high = low + ones;
    let is_block = kept != 0 && kept.count_ones() == ones;
    // Powers of two must be numbers of 64 bits with a sign.
    if !is_block || low > 62 || (high > 62 && high < word.count_ones()) {
        return bin(BinOp::BitAnd, a, c(m));
    }
    let (least, most) = ranges(&a);
    let fits = high >= 63 || (least >= 0 && most < 1 << high);
    let a = if high == word.count_ones() || fits {
        a
    } else {
        bin(BinOp::Mod, a, c(1 << high))
    };
    if low == 0 {
        return a;
    }
    let rest = bin(BinOp::Mod, a.clone(), c(1 << low));
    bin(BinOp::Sub, a, rest)
}

/// The bits that may be set in a word.
fn may_be_set(e: &LocalExpr, ranges: Ranges<'_>) -> u64 {
    let (least, most) = ranges(e);
    let by_range = if least < 0 {
        u64::MAX
    } else {
        u64::MAX.checked_shr(most.leading_zeros()).unwrap_or(0)
    };
    let power = |n: i64| n > 0 && n & (n - 1) == 0;
    let by_form = match e {
        Expr::Const(value) => *value as u64,
        Expr::Unary(UnOp::Wrap { bits: 64, .. }, a) => may_be_set(a, ranges),
        Expr::Unary(
            UnOp::Wrap {
                bits,
                signed: false,
            },
            a,
        ) => may_be_set(a, ranges) & ((1 << *bits) - 1),
        Expr::Binary(op, a, b) => match (op, &**b) {
            (BinOp::Shl, Expr::Const(n)) if (0..64).contains(n) => may_be_set(a, ranges) << n,
            (BinOp::Shr, Expr::Const(n)) if (0..64).contains(n) && ranges(a).0 >= 0 => {
                may_be_set(a, ranges) >> n
            }
            (BinOp::Mod, Expr::Const(n)) if power(*n) => may_be_set(a, ranges) & (*n as u64 - 1),
            (BinOp::Mul, Expr::Const(n)) if power(*n) => {
                may_be_set(a, ranges) << n.trailing_zeros()
            }
            (BinOp::Sub, Expr::Binary(BinOp::Mod, same, n)) if same == a => match **n {
                Expr::Const(n) if power(n) => may_be_set(a, ranges) & !(n as u64 - 1),
                Expr::Const(_)
                | Expr::Atom(_)
                | Expr::Unary(..)
                | Expr::Binary(..)
                | Expr::Cond(..) => u64::MAX,
            },
            (BinOp::BitAnd, b) => may_be_set(a, ranges) & may_be_set(b, ranges),
            (BinOp::BitOr | BinOp::BitXor, b) => may_be_set(a, ranges) | may_be_set(b, ranges),
            (BinOp::Add, b) => {
                let (a, b) = (may_be_set(a, ranges), may_be_set(b, ranges));
                if a & b == 0 { a | b } else { u64::MAX }
            }
            _ => u64::MAX,
        },
        Expr::Cond(_, a, b) => may_be_set(a, ranges) | may_be_set(b, ranges),
        Expr::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot | UnOp::Wrap { .. }, _)
        | Expr::Atom(_) => u64::MAX,
    };
    by_range & by_form
}

/// Whether an expression is this number. What is added and multiplied goes to the other side.
pub(super) fn equals(e: LocalExpr, value: i64) -> LocalExpr {
    match &e {
        Expr::Binary(BinOp::Add, a, b) => match (&**a, &**b) {
            (rest, Expr::Const(by)) | (Expr::Const(by), rest) => {
                if let Some(less) = value.checked_sub(*by) {
                    return equals(rest.clone(), less);
                }
            }
            _ => {}
        },
        Expr::Binary(BinOp::Mul, a, b) => match (&**a, &**b) {
            (rest, Expr::Const(by)) | (Expr::Const(by), rest) if *by > 0 => {
                if value % by != 0 {
                    return c(0);
                }
                return equals(rest.clone(), value / by);
            }
            _ => {}
        },
        Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..) => {}
    }
    bin(BinOp::Eq, e, c(value))
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
                (e, Expr::Const(n)) | (Expr::Const(n), e) => match equals(e, n) {
                    Expr::Const(is) => c(i64::from((is == 1) == is_eq)),
                    test if is_eq => test,
                    test => test.negate(),
                },
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
