//! *Flags*: ZF, SF, CF and OF as the processor defines them (Intel SDM vol. 1,
//! 3.4.3.1). A flag is a local of its thread, and only if something reads it.
//!
//! herd keeps a coarser account (its SF means "greater", its carry is always 0);
//! the answers agree wherever a test branches on equality or on signed order
//! other than `jl` of equal values, where herd jumps and the processor does not.

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::{BinOp, Domain, LocalExpr, LocalId, Span, Step};

use super::super::emit::{Emitter, read};
use super::super::ty::canonical;
use super::instr::{Cc, Instr, Op};
use super::reg::Flag;

/// The flags of a thread that something reads.
pub(super) type Flags = BTreeMap<Flag, LocalId>;

/// The flags that an instruction reads.
pub(super) fn read_by(instr: &Instr, into: &mut BTreeSet<Flag>) {
    let cc = match &instr.op {
        Op::Jcc { cc, .. } | Op::Set { cc, .. } | Op::Cmov { cc, .. } => *cc,
        Op::Nop | Op::Mov | Op::Extend { .. } | Op::Lea | Op::Xchg | Op::Xadd => return,
        Op::Cmpxchg | Op::Alu(_) | Op::Unary(_) | Op::Shift(_) | Op::Cmp | Op::Test => return,
        Op::Jmp(_) | Op::FullFence | Op::StoreFence | Op::Ret => return,
    };
    into.extend(match cc {
        Cc::Equal => [Flag::Zero].as_slice(),
        Cc::Less => &[Flag::Sign, Flag::Overflow],
        Cc::LessEqual => &[Flag::Zero, Flag::Sign, Flag::Overflow],
        Cc::Below => &[Flag::Carry],
        Cc::BelowEqual => &[Flag::Carry, Flag::Zero],
        Cc::Negative => &[Flag::Sign],
        Cc::Overflow => &[Flag::Overflow],
    });
}

/// The value of a condition; 0 or 1.
pub(super) fn condition(flags: &Flags, cc: Cc, negated: bool) -> LocalExpr {
    let flag = |f: Flag| {
        let set = flags.get(&f).map_or(LocalExpr::FALSE, |&id| read(id));
        LocalExpr::binary(BinOp::Ne, set, LocalExpr::Const(0))
    };
    let less = || LocalExpr::binary(BinOp::Ne, flag(Flag::Sign), flag(Flag::Overflow));
    let holds = match cc {
        Cc::Equal => flag(Flag::Zero),
        Cc::Less => less(),
        Cc::LessEqual => flag(Flag::Zero).or(less()),
        Cc::Below => flag(Flag::Carry),
        Cc::BelowEqual => flag(Flag::Carry).or(flag(Flag::Zero)),
        Cc::Negative => flag(Flag::Sign),
        Cc::Overflow => flag(Flag::Overflow),
    };
    if negated { holds.negate() } else { holds }
}

/// What sets the flags: operands are canonical in `bits` bits.
pub(super) enum Cause {
    /// `a + b`
    Add(LocalExpr, LocalExpr),
    /// `a - b`
    Sub(LocalExpr, LocalExpr),
    /// A result of and, or, xor, test.
    Logic(LocalExpr),
    /// `a + 1`: the carry stays.
    Inc(LocalExpr),
    /// `a - 1`: the carry stays.
    Dec(LocalExpr),
    /// A shift: result, carry, and overflow where it is defined.
    Shift {
        /// The result.
        result: LocalExpr,
        /// The last bit that was shifted out.
        carry: LocalExpr,
        /// Defined for shifts by one only.
        overflow: Option<LocalExpr>,
    },
}

/// `a + b` in `bits` bits.
pub(super) fn add(bits: u8, a: LocalExpr, b: LocalExpr) -> LocalExpr {
    canonical(bits, LocalExpr::binary(BinOp::Add, a, b))
}

/// `a - b` in `bits` bits.
pub(super) fn sub(bits: u8, a: LocalExpr, b: LocalExpr) -> LocalExpr {
    canonical(bits, LocalExpr::binary(BinOp::Sub, a, b))
}

/// The highest of `bits` bits: 0 or 1.
pub(super) fn top(bits: u8, v: LocalExpr) -> LocalExpr {
    if bits == 64 {
        return LocalExpr::binary(BinOp::Lt, v, LocalExpr::Const(0));
    }
    LocalExpr::binary(BinOp::Ge, v, LocalExpr::Const(1 << (bits - 1)))
}

fn below(bits: u8, a: LocalExpr, b: LocalExpr) -> LocalExpr {
    // Canonical 64-bit values are signed; moving both by 2^63 orders them as unsigned.
    let order = |e: LocalExpr| {
        if bits == 64 {
            LocalExpr::binary(BinOp::BitXor, e, LocalExpr::Const(i64::MIN))
        } else {
            e
        }
    };
    LocalExpr::binary(BinOp::Lt, order(a), order(b))
}

fn xor(a: LocalExpr, b: LocalExpr) -> LocalExpr {
    LocalExpr::binary(BinOp::BitXor, a, b)
}

fn is_zero(e: LocalExpr) -> LocalExpr {
    LocalExpr::binary(BinOp::Eq, e, LocalExpr::Const(0))
}

/// A flag's new value.
enum New {
    Value(LocalExpr),
    Kept,
    Undefined,
}

/// Sets the flags that the thread keeps. The operands must still have their old
/// values: call before the destination is written.
pub(super) fn set(emitter: &mut Emitter, flags: &Flags, bits: u8, cause: &Cause, span: Span) {
    for (&flag, &dst) in flags {
        match value(flag, bits, cause) {
            New::Value(value) => emitter.assign(dst, value, span),
            New::Kept => {}
            New::Undefined => {
                let domain = Some(Domain { lo: 0, hi: 1 });
                emitter.step(Step::Havoc { dst, domain }, span);
            }
        }
    }
}

fn value(flag: Flag, bits: u8, cause: &Cause) -> New {
    let result = match cause {
        Cause::Add(a, b) => add(bits, a.clone(), b.clone()),
        Cause::Sub(a, b) => sub(bits, a.clone(), b.clone()),
        Cause::Inc(a) => add(bits, a.clone(), LocalExpr::Const(1)),
        Cause::Dec(a) => sub(bits, a.clone(), LocalExpr::Const(1)),
        Cause::Logic(r) | Cause::Shift { result: r, .. } => r.clone(),
    };
    match flag {
        Flag::Zero => New::Value(is_zero(result)),
        Flag::Sign => New::Value(top(bits, result)),
        Flag::Carry => carry(bits, cause, result),
        Flag::Overflow => overflow(bits, cause, result),
    }
}

fn carry(bits: u8, cause: &Cause, result: LocalExpr) -> New {
    match cause {
        Cause::Add(a, _) => New::Value(below(bits, result, a.clone())),
        Cause::Sub(a, b) => New::Value(below(bits, a.clone(), b.clone())),
        Cause::Logic(_) => New::Value(LocalExpr::FALSE),
        Cause::Inc(_) | Cause::Dec(_) => New::Kept,
        Cause::Shift { carry, .. } => New::Value(carry.clone()),
    }
}

fn overflow(bits: u8, cause: &Cause, result: LocalExpr) -> New {
    let both = |p: LocalExpr, q: LocalExpr| top(bits, LocalExpr::binary(BinOp::BitAnd, p, q));
    let one = LocalExpr::Const(1);
    match cause {
        Cause::Add(a, b) => {
            New::Value(both(xor(a.clone(), result.clone()), xor(b.clone(), result)))
        }
        Cause::Sub(a, b) => New::Value(both(xor(a.clone(), b.clone()), xor(a.clone(), result))),
        Cause::Inc(a) => New::Value(both(xor(a.clone(), result.clone()), xor(one, result))),
        Cause::Dec(a) => New::Value(both(xor(a.clone(), one), xor(a.clone(), result))),
        Cause::Logic(_) => New::Value(LocalExpr::FALSE),
        Cause::Shift { overflow, .. } => match overflow {
            Some(value) => New::Value(value.clone()),
            None => New::Undefined,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs of bytes: the flags of `a + b` and `a - b` against their
    /// definitions on wide integers.
    #[test]
    fn flags_of_bytes_are_right() {
        let get = |flag, cause: &Cause| match value(flag, 8, cause) {
            New::Value(e) => e.eval(&|_| 0).unwrap_or(-1),
            New::Kept | New::Undefined => -1,
        };
        for a in 0..=255_u8 {
            for b in 0..=255_u8 {
                let (x, y) = (LocalExpr::Const(a.into()), LocalExpr::Const(b.into()));
                let plus = Cause::Add(x.clone(), y.clone());
                let (sum, carry) = a.overflowing_add(b);
                assert_eq!(get(Flag::Zero, &plus), i64::from(sum == 0));
                assert_eq!(get(Flag::Carry, &plus), i64::from(carry));
                let signed = (a as i8).overflowing_add(b as i8);
                assert_eq!(get(Flag::Sign, &plus), i64::from(signed.0 < 0));
                assert_eq!(get(Flag::Overflow, &plus), i64::from(signed.1));
                let minus = Cause::Sub(x, y);
                let (difference, borrow) = a.overflowing_sub(b);
                assert_eq!(get(Flag::Zero, &minus), i64::from(difference == 0));
                assert_eq!(get(Flag::Carry, &minus), i64::from(borrow));
                let signed = (a as i8).overflowing_sub(b as i8);
                assert_eq!(get(Flag::Sign, &minus), i64::from(signed.0 < 0));
                assert_eq!(get(Flag::Overflow, &minus), i64::from(signed.1));
            }
        }
    }

    #[test]
    fn unsigned_order_of_quadwords() {
        let less =
            |a: i64, b: i64| below(64, LocalExpr::Const(a), LocalExpr::Const(b)).eval(&|_| 0);
        assert_eq!(less(1, -1), Ok(1));
        assert_eq!(less(-1, 1), Ok(0));
        assert_eq!(less(i64::MIN, -1), Ok(1));
    }
}
