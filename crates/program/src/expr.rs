//! Integer expressions. As in C, truth is an integer: comparisons give 0 or 1,
//! and everything but 0 is true. `Expr<A>` is generic in its atoms: in steps
//! they are locals ([`LocalAtom`](crate::LocalAtom)), in properties also memory
//! and locations ([`PropAtom`](crate::PropAtom)).
//!
//! Values are mathematical integers. Evaluation works on `i64` with `i128`
//! inside; a result outside `i64` is an [`EvalError`], which engines report as a
//! touched bound, never as a value.

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnOp {
    /// Arithmetic negation.
    Neg,
    /// Logical not: 1 for 0, else 0.
    Not,
    /// Bitwise complement of the two's-complement number (`-x - 1`).
    BitNot,
    /// The value modulo 2^bits, read as signed or unsigned two's complement. An
    /// unsigned 64-bit value may not fit `i64`: then it has no value that fits.
    Wrap {
        /// Width: 8, 16, 32 or 64.
        bits: u8,
        /// Whether the result is read as signed.
        signed: bool,
    },
}

/// Binary operators. `Div` rounds down and `Mod` is never negative for the
/// positive divisors that the language admits (Euclidean division).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum BinOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, Euclidean
    Div,
    /// `%`, Euclidean
    Mod,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// Logical and; both sides are pure, so evaluation order does not show.
    And,
    /// Logical or.
    Or,
    /// Bitwise and of two's-complement numbers.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// Shift left by 0..=63.
    Shl,
    /// Arithmetic shift right by 0..=63.
    Shr,
}

impl BinOp {
    /// Whether the result is a truth value (0 or 1).
    pub const fn is_boolean(self) -> bool {
        match self {
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => true,
            Self::And | Self::Or => true,
            Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Mod => false,
            Self::BitAnd | Self::BitOr | Self::BitXor | Self::Shl | Self::Shr => false,
        }
    }
}

/// Why an expression has no value that fits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EvalError {
    /// The result does not fit 64 bits.
    Overflow,
    /// Division or remainder by zero, or a shift outside 0..=63.
    Undefined,
}

/// An integer expression over atoms `A`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr<A> {
    /// A constant.
    Const(i64),
    /// A variable, or whatever `A` stands for.
    Atom(A),
    /// A unary operation.
    Unary(UnOp, Box<Expr<A>>),
    /// A binary operation.
    Binary(BinOp, Box<Expr<A>>, Box<Expr<A>>),
    /// `c ? a : b`.
    Cond(Box<Expr<A>>, Box<Expr<A>>, Box<Expr<A>>),
}

impl<A> Expr<A> {
    /// The constant 1.
    pub const TRUE: Self = Self::Const(1);
    /// The constant 0.
    pub const FALSE: Self = Self::Const(0);

    /// `op self`, folding constants and double negation.
    #[must_use]
    pub fn unary(op: UnOp, arg: Self) -> Self {
        if let Self::Const(c) = arg
            && let Ok(value) = apply_unary(op, c)
        {
            return Self::Const(value);
        }
        Self::Unary(op, Box::new(arg))
    }

    /// `left op right`, folding constants.
    #[must_use]
    pub fn binary(op: BinOp, left: Self, right: Self) -> Self {
        if let (Self::Const(a), Self::Const(b)) = (&left, &right)
            && let Ok(value) = apply_binary(op, *a, *b)
        {
            return Self::Const(value);
        }
        Self::Binary(op, Box::new(left), Box::new(right))
    }

    /// Logical negation; comparisons are turned round instead of wrapped.
    #[must_use]
    pub fn negate(self) -> Self {
        let turned = |op| match op {
            BinOp::Eq => Some(BinOp::Ne),
            BinOp::Ne => Some(BinOp::Eq),
            BinOp::Lt => Some(BinOp::Ge),
            BinOp::Ge => Some(BinOp::Lt),
            BinOp::Gt => Some(BinOp::Le),
            BinOp::Le => Some(BinOp::Gt),
            BinOp::And | BinOp::Or | BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div => None,
            BinOp::Mod | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::Shl => None,
            BinOp::Shr => None,
        };
        match self {
            Self::Binary(op, a, b) if turned(op).is_some() => {
                Self::Binary(turned(op).unwrap_or(op), a, b)
            }
            Self::Unary(UnOp::Not, arg) if arg.is_boolean() => *arg,
            other @ (Self::Const(_) | Self::Atom(_)) => Self::unary(UnOp::Not, other),
            other @ (Self::Unary(..) | Self::Binary(..) | Self::Cond(..)) => {
                Self::unary(UnOp::Not, other)
            }
        }
    }

    /// `self && other`, dropping constants that are true.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Const(c), e) | (e, Self::Const(c)) if c != 0 && e.is_boolean() => e,
            (Self::Const(0), _) | (_, Self::Const(0)) => Self::FALSE,
            (a, b) => Self::binary(BinOp::And, a, b),
        }
    }

    /// `self || other`, dropping constants that are false.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Const(0), e) | (e, Self::Const(0)) if e.is_boolean() => e,
            (Self::Const(c), _) | (_, Self::Const(c)) if c != 0 => Self::TRUE,
            (a, b) => Self::binary(BinOp::Or, a, b),
        }
    }

    /// Whether the value is certainly 0 or 1, by its form.
    pub fn is_boolean(&self) -> bool {
        match self {
            Self::Const(c) => *c == 0 || *c == 1,
            Self::Atom(_) => false,
            Self::Unary(op, _) => *op == UnOp::Not,
            Self::Binary(op, ..) => op.is_boolean(),
            Self::Cond(_, a, b) => a.is_boolean() && b.is_boolean(),
        }
    }

    /// Calls `f` on every atom, left to right.
    pub fn for_each_atom(&self, f: &mut impl FnMut(&A)) {
        match self {
            Self::Const(_) => {}
            Self::Atom(a) => f(a),
            Self::Unary(_, e) => e.for_each_atom(f),
            Self::Binary(_, a, b) => {
                a.for_each_atom(f);
                b.for_each_atom(f);
            }
            Self::Cond(c, a, b) => {
                c.for_each_atom(f);
                a.for_each_atom(f);
                b.for_each_atom(f);
            }
        }
    }

    /// Whether some atom satisfies `f`.
    pub fn any_atom(&self, mut f: impl FnMut(&A) -> bool) -> bool {
        let mut found = false;
        self.for_each_atom(&mut |a| found |= f(a));
        found
    }

    /// Replaces every atom by an expression, folding constants on the way.
    #[must_use]
    pub fn substitute<B>(&self, f: &mut impl FnMut(&A) -> Expr<B>) -> Expr<B> {
        match self {
            Self::Const(c) => Expr::Const(*c),
            Self::Atom(a) => f(a),
            Self::Unary(op, e) => Expr::unary(*op, e.substitute(f)),
            Self::Binary(op, a, b) => {
                let left = a.substitute(f);
                Expr::binary(*op, left, b.substitute(f))
            }
            Self::Cond(c, a, b) => {
                let c = c.substitute(f);
                let a = a.substitute(f);
                let b = b.substitute(f);
                match c {
                    Expr::Const(0) => b,
                    Expr::Const(_) => a,
                    c @ (Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..)) => {
                        Expr::Cond(Box::new(c), Box::new(a), Box::new(b))
                    }
                }
            }
        }
    }

    /// The value under an assignment of the atoms.
    pub fn eval(&self, env: &impl Fn(&A) -> i64) -> Result<i64, EvalError> {
        match self {
            Self::Const(c) => Ok(*c),
            Self::Atom(a) => Ok(env(a)),
            // The operand of a wrap may leave 64 bits before it is wrapped.
            Self::Unary(UnOp::Wrap { bits, signed }, e) => {
                apply_wrap(e.eval_wide(env)?, *bits, *signed)
            }
            Self::Unary(op, e) => apply_unary(*op, e.eval(env)?),
            Self::Binary(op, a, b) => apply_binary(*op, a.eval(env)?, b.eval(env)?),
            Self::Cond(c, a, b) => {
                if c.eval(env)? != 0 {
                    a.eval(env)
                } else {
                    b.eval(env)
                }
            }
        }
    }

    fn eval_wide(&self, env: &impl Fn(&A) -> i64) -> Result<i128, EvalError> {
        match self {
            Self::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl), a, b) => {
                wide_binary(*op, a.eval(env)?, b.eval(env)?)
            }
            Self::Unary(UnOp::Neg, e) => Ok(-i128::from(e.eval(env)?)),
            Self::Const(_)
            | Self::Atom(_)
            | Self::Unary(..)
            | Self::Binary(..)
            | Self::Cond(..) => self.eval(env).map(i128::from),
        }
    }
}

/// The value of [`UnOp::Wrap`].
pub fn apply_wrap(value: i128, bits: u8, signed: bool) -> Result<i64, EvalError> {
    if bits == 64 && !signed {
        return narrow(value & i128::from(u64::MAX));
    }
    Ok(wrap(value, bits, signed))
}

/// The low `bits` of `value` as a signed or unsigned number; 64 bits always as a signed
/// one. Front ends keep machine words of 64 bits like this: the same bits.
pub fn wrap(value: i128, bits: u8, signed: bool) -> i64 {
    let masked = (value & ((1_i128 << bits) - 1)) as u64;
    if bits == 64 {
        masked as i64
    } else if signed && masked >> (bits - 1) == 1 {
        (i128::from(masked) - (1_i128 << bits)) as i64
    } else {
        masked as i64
    }
}

fn narrow(value: i128) -> Result<i64, EvalError> {
    i64::try_from(value).map_err(|_| EvalError::Overflow)
}

fn wide_binary(op: BinOp, a: i64, b: i64) -> Result<i128, EvalError> {
    let (x, y) = (i128::from(a), i128::from(b));
    let narrow = || apply_binary(op, a, b).map(i128::from);
    match op {
        BinOp::Add => Ok(x + y),
        BinOp::Sub => Ok(x - y),
        BinOp::Mul => Ok(x * y),
        BinOp::Shl if (0..=63).contains(&b) => Ok(x << b),
        BinOp::Div | BinOp::Mod | BinOp::Shl | BinOp::Shr => narrow(),
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => narrow(),
        BinOp::And | BinOp::Or | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => narrow(),
    }
}

/// The value of a unary operator.
pub fn apply_unary(op: UnOp, a: i64) -> Result<i64, EvalError> {
    match op {
        UnOp::Neg => a.checked_neg().ok_or(EvalError::Overflow),
        UnOp::Not => Ok(i64::from(a == 0)),
        UnOp::BitNot => Ok(!a),
        UnOp::Wrap { bits, signed } => apply_wrap(i128::from(a), bits, signed),
    }
}

/// The value of a binary operator.
pub fn apply_binary(op: BinOp, a: i64, b: i64) -> Result<i64, EvalError> {
    let shift = || {
        if (0..=63).contains(&b) {
            Ok(b as u32)
        } else {
            Err(EvalError::Undefined)
        }
    };
    match op {
        BinOp::Add => a.checked_add(b).ok_or(EvalError::Overflow),
        BinOp::Sub => a.checked_sub(b).ok_or(EvalError::Overflow),
        BinOp::Mul => a.checked_mul(b).ok_or(EvalError::Overflow),
        BinOp::Div if b == 0 => Err(EvalError::Undefined),
        BinOp::Mod if b == 0 => Err(EvalError::Undefined),
        BinOp::Div => a.checked_div_euclid(b).ok_or(EvalError::Overflow),
        BinOp::Mod => Ok(a.checked_rem_euclid(b).unwrap_or(0)),
        BinOp::Eq => Ok(i64::from(a == b)),
        BinOp::Ne => Ok(i64::from(a != b)),
        BinOp::Lt => Ok(i64::from(a < b)),
        BinOp::Le => Ok(i64::from(a <= b)),
        BinOp::Gt => Ok(i64::from(a > b)),
        BinOp::Ge => Ok(i64::from(a >= b)),
        BinOp::And => Ok(i64::from(a != 0 && b != 0)),
        BinOp::Or => Ok(i64::from(a != 0 || b != 0)),
        BinOp::BitAnd => Ok(a & b),
        BinOp::BitOr => Ok(a | b),
        BinOp::BitXor => Ok(a ^ b),
        BinOp::Shl => narrow(i128::from(a) << shift()?),
        BinOp::Shr => Ok(a >> shift()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type E = Expr<&'static str>;

    #[test]
    fn division_rounds_down() {
        assert_eq!(apply_binary(BinOp::Div, -7, 2), Ok(-4));
        assert_eq!(apply_binary(BinOp::Mod, -7, 2), Ok(1));
        assert_eq!(apply_binary(BinOp::Div, 1, 0), Err(EvalError::Undefined));
    }

    #[test]
    fn overflow_is_an_error_unless_wrapped() {
        let sum = E::binary(BinOp::Add, E::Const(i64::MAX), E::Const(1));
        assert_eq!(sum.eval(&|_| 0), Err(EvalError::Overflow));
        let wrapped = E::unary(
            UnOp::Wrap {
                bits: 64,
                signed: true,
            },
            sum,
        );
        assert_eq!(wrapped.eval(&|_| 0), Ok(i64::MIN));
    }

    #[test]
    fn unsigned_words_of_64_bits_are_no_negative_numbers() {
        let wrap = |value: i64, bits, signed| {
            let op = UnOp::Wrap { bits, signed };
            E::Unary(op, Box::new(E::Const(value))).eval(&|_| 0)
        };
        assert_eq!(wrap(-1, 64, false), Err(EvalError::Overflow));
        assert_eq!(wrap(i64::MAX, 64, false), Ok(i64::MAX));
        assert_eq!(wrap(-1, 64, true), Ok(-1));
        assert_eq!(wrap(-1, 32, false), Ok(i64::from(u32::MAX)));
        // Nothing is folded to a value that is wrong.
        let folded = E::unary(
            UnOp::Wrap {
                bits: 64,
                signed: false,
            },
            E::Const(-1),
        );
        assert!(matches!(folded, Expr::Unary(..)));
    }

    #[test]
    fn negation_turns_comparisons() {
        let less = E::binary(BinOp::Lt, E::Atom("x"), E::Const(3));
        let not = less.clone().negate();
        for x in 0..6 {
            let env = |_: &&str| x;
            assert_ne!(less.eval(&env), not.eval(&env));
        }
        assert!(matches!(not, Expr::Binary(BinOp::Ge, ..)));
    }

    #[test]
    fn and_keeps_truth_values() {
        // 2 && true is 1, not 2: a non-Boolean operand is not passed through.
        let e = E::Atom("x").and(E::TRUE);
        assert_eq!(e.eval(&|_| 2), Ok(1));
    }
}
