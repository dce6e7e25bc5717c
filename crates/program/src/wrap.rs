//! *Once around*: wrapping to a width by cases. A value that is at most one round of its
//! type too large or too small is brought into the type's range by one step back:
//! `x + 1` as a 32-bit number is `x + 1 == 2^31 ? -2^31 : x + 1`. For such values it means
//! what [`UnOp::Wrap`] means, and it has no remainder, which makes predicates out of
//! comparisons of variables and spares solvers their division.

use crate::expr::{BinOp, Expr, UnOp};

/// An expression that is wrapped.
pub(crate) struct Wrapped<'e, A> {
    pub(crate) bits: u8,
    pub(crate) signed: bool,
    pub(crate) operand: &'e Expr<A>,
    /// By cases, which are right for operands of these values only.
    pub(crate) limits: Option<(i128, i128)>,
}

/// Largest expression that is repeated in cases.
const MOST_REPEATED: usize = 8;
/// Widths of types that are wrapped by cases: nothing leaves 64 bits on the way.
const WIDTHS: [u8; 3] = [8, 16, 32];

/// The least and the greatest number of a type.
fn range(bits: u8, signed: bool) -> (i64, i64) {
    let round = 1_i64 << bits;
    if signed {
        (-round / 2, round / 2 - 1)
    } else {
        (0, round - 1)
    }
}

impl<A: Clone + PartialEq> Expr<A> {
    /// This expression, whose values are within `lo..=hi`, wrapped to a width: by cases if
    /// it is short and at most once around.
    #[must_use]
    pub fn wrapped(self, (lo, hi): (i128, i128), bits: u8, signed: bool) -> Self {
        if WIDTHS.contains(&bits) && self.size() <= MOST_REPEATED {
            let (least, most) = range(bits, signed);
            let (below, above) = (i128::from(least) - lo, hi - i128::from(most));
            let round = 1 << bits;
            if below <= round && above <= round {
                let mut inside = self.clone();
                if above > 0 {
                    inside = self.back(most + 1, -round as i64, above == 1, inside);
                }
                if below > 0 {
                    inside = self.back(least - 1, round as i64, below == 1, inside);
                }
                return inside;
            }
        }
        Self::unary(UnOp::Wrap { bits, signed }, self)
    }

    /// `inside`, except from `first` on: there a step `by` back. If `first` is the only such
    /// value the test is an equation, which needs no bound of the variable to be refuted.
    fn back(&self, first: i64, by: i64, only: bool, inside: Self) -> Self {
        let (test, moved) = if only {
            (BinOp::Eq, Self::Const(first + by))
        } else {
            let test = if by < 0 { BinOp::Ge } else { BinOp::Le };
            (
                test,
                Self::binary(BinOp::Add, self.clone(), Self::Const(by)),
            )
        };
        let outside = Self::binary(test, self.clone(), Self::Const(first));
        Self::Cond(Box::new(outside), Box::new(moved), Box::new(inside))
    }

    /// The same with cases written as [`UnOp::Wrap`] again, for people to read.
    #[must_use]
    pub fn unwrapped(&self) -> Self {
        if let Some(wrapped) = self.cases() {
            let op = UnOp::Wrap {
                bits: wrapped.bits,
                signed: wrapped.signed,
            };
            return Self::Unary(op, Box::new(wrapped.operand.unwrapped()));
        }
        match self {
            Self::Const(_) | Self::Atom(_) => self.clone(),
            Self::Unary(op, a) => Self::Unary(*op, Box::new(a.unwrapped())),
            Self::Binary(op, a, b) => {
                Self::Binary(*op, Box::new(a.unwrapped()), Box::new(b.unwrapped()))
            }
            Self::Cond(c, a, b) => Self::Cond(
                Box::new(c.unwrapped()),
                Box::new(a.unwrapped()),
                Box::new(b.unwrapped()),
            ),
        }
    }

    /// The type and the operand if this wraps something, by [`UnOp::Wrap`] or by cases.
    pub(crate) fn as_wrapped(&self) -> Option<Wrapped<'_, A>> {
        match self {
            Self::Unary(UnOp::Wrap { bits, signed }, operand) => Some(Wrapped {
                bits: *bits,
                signed: *signed,
                operand,
                limits: None,
            }),
            Self::Cond(..) => self.cases(),
            Self::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot, _) => None,
            Self::Const(_) | Self::Atom(_) | Self::Binary(..) => None,
        }
    }

    /// What is wrapped if these are the cases of [`Self::wrapped`].
    fn cases(&self) -> Option<Wrapped<'_, A>> {
        let Self::Cond(outside, ..) = self else {
            return None;
        };
        let Self::Binary(BinOp::Eq | BinOp::Ge | BinOp::Le, e, _) = &**outside else {
            return None;
        };
        for bits in WIDTHS {
            for signed in [true, false] {
                let (least, most) = range(bits, signed);
                let (least, most) = (i128::from(least), i128::from(most));
                let round = 1 << bits;
                for below in [0, 1, round] {
                    for above in [0, 1, round] {
                        let of = (least - below, most + above);
                        if (below, above) != (0, 0)
                            && (**e).clone().wrapped(of, bits, signed) == *self
                        {
                            return Some(Wrapped {
                                bits,
                                signed,
                                operand: e,
                                limits: Some(of),
                            });
                        }
                    }
                }
            }
        }
        None
    }

    /// The number of its parts.
    fn size(&self) -> usize {
        match self {
            Self::Const(_) | Self::Atom(_) => 1,
            Self::Unary(_, a) => 1 + a.size(),
            Self::Binary(_, a, b) => 1 + a.size() + b.size(),
            Self::Cond(c, a, b) => 1 + c.size() + a.size() + b.size(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::apply_wrap;

    type E = Expr<()>;

    fn plus(c: i64) -> E {
        E::binary(BinOp::Add, E::Atom(()), E::Const(c))
    }

    #[test]
    fn cases_mean_what_wrapping_means() {
        for bits in [8, 16, 32, 64] {
            for signed in [true, false] {
                let (least, most) = if bits == 64 {
                    (i64::MIN, i64::MAX)
                } else {
                    range(bits, signed)
                };
                for c in [-70_000, -200, -2, -1, 1, 2, 200, 70_000] {
                    let (least_sum, most_sum) = (
                        i128::from(least) + i128::from(c),
                        i128::from(most) + i128::from(c),
                    );
                    let e = plus(c).wrapped((least_sum, most_sum), bits, signed);
                    for x in [least, least + 1, -3, 0, 3, most - 1, most] {
                        if (least..=most).contains(&x) {
                            let sum = i128::from(x) + i128::from(c);
                            let wanted = apply_wrap(sum, bits, signed);
                            assert_eq!(e.eval(&|()| x), wanted, "{x} + {c}");
                        }
                    }
                    let shown = E::Unary(UnOp::Wrap { bits, signed }, Box::new(plus(c)));
                    assert_eq!(e.unwrapped(), shown);
                }
            }
        }
    }

    #[test]
    fn other_choices_stay() {
        let test = E::binary(BinOp::Eq, plus(1), E::Const(7));
        let e = E::Cond(Box::new(test), Box::new(E::Const(0)), Box::new(plus(1)));
        assert_eq!(e.unwrapped(), e);
    }
}
