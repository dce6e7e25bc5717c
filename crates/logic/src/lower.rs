//! *Lowering*: from the Program's expressions ([`palisade_program::Expr`]) to
//! terms and formulas. Truth is an integer there, so an expression has two
//! readings: its value (a term) and whether it is not 0 (a formula).
//!
//! Everything that stays linear is exact: products with a constant or with a
//! choice between constants, division and remainder by constants other than 0,
//! shifts by constants, bit operations with a constant or between truth values,
//! wrapping to a width. The rest (product or quotient of two variables, bit
//! operations between variables) is a located error.

use crate::formula::{Formula, literals_of, literals_within};
use crate::term::{Int, Key, Overflow, Term};
use palisade_program::{BinOp, Expr, Span, UnOp};

/// How many literals the form of an expression may have.
const MAX_LITERALS: usize = 5_000;

/// Why an expression has no linear form.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LowerError {
    /// The construct is outside linear integer arithmetic.
    #[error("{what} is outside linear integer arithmetic")]
    Unsupported {
        /// Where it stands in the source.
        span: Span,
        /// The construct, as a noun phrase.
        what: &'static str,
    },
    /// The form has too many literals, as when each of many steps chooses by the result of the last.
    #[error("this expression is too large when it is written out")]
    TooLarge {
        /// Where it stands in the source.
        span: Span,
    },
    /// A number left the range of terms.
    #[error("a constant in this expression exceeds 96 bits")]
    Overflow {
        /// Where it stands in the source.
        span: Span,
    },
}

impl LowerError {
    /// Where the construct stands in the source.
    pub fn span(&self) -> Span {
        match self {
            Self::Unsupported { span, .. } | Self::TooLarge { span } | Self::Overflow { span } => {
                *span
            }
        }
    }
}

/// The value of `expr`, where `env` gives the terms of its atoms; `span` locates
/// errors.
pub fn term_of<A>(
    expr: &Expr<A>,
    span: Span,
    env: &mut dyn FnMut(&A) -> Result<Term, LowerError>,
) -> Result<Term, LowerError> {
    let term = Lowering { span, env }.term(expr)?;
    match literals_within(term.sum(), MAX_LITERALS) {
        MAX_LITERALS.. => Err(LowerError::TooLarge { span }),
        0..MAX_LITERALS => Ok(term),
    }
}

/// Whether `expr` is not 0.
pub fn formula_of<A>(
    expr: &Expr<A>,
    span: Span,
    env: &mut dyn FnMut(&A) -> Result<Term, LowerError>,
) -> Result<Formula, LowerError> {
    let formula = Lowering { span, env }.formula(expr)?;
    match literals_of(&formula, MAX_LITERALS) {
        MAX_LITERALS.. => Err(LowerError::TooLarge { span }),
        0..MAX_LITERALS => Ok(formula),
    }
}

struct Lowering<'a, A> {
    span: Span,
    env: &'a mut dyn FnMut(&A) -> Result<Term, LowerError>,
}

impl<A> Lowering<'_, A> {
    fn unsupported<T>(&self, what: &'static str) -> Result<T, LowerError> {
        Err(LowerError::Unsupported {
            span: self.span,
            what,
        })
    }

    fn fits<T>(&self, result: Result<T, Overflow>) -> Result<T, LowerError> {
        result.map_err(|Overflow| LowerError::Overflow { span: self.span })
    }

    fn formula(&mut self, expr: &Expr<A>) -> Result<Formula, LowerError> {
        match expr {
            Expr::Const(c) => Ok((*c != 0).into()),
            Expr::Unary(UnOp::Not, e) => Ok(self.formula(e)?.negated()),
            Expr::Binary(BinOp::And, a, b) => Ok(self.formula(a)?.and(&self.formula(b)?)),
            Expr::Binary(BinOp::Or, a, b) => Ok(self.formula(a)?.or(&self.formula(b)?)),
            Expr::Binary(op, a, b) if op.is_boolean() => self.comparison(*op, a, b),
            Expr::Cond(c, a, b) => {
                let c = self.formula(c)?;
                Ok(Formula::ite(&c, &self.formula(a)?, &self.formula(b)?))
            }
            Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) => {
                let value = self.term(expr)?;
                self.fits(Formula::ne(&value, &Term::constant(0)))
            }
        }
    }

    fn comparison(&mut self, op: BinOp, a: &Expr<A>, b: &Expr<A>) -> Result<Formula, LowerError> {
        let compare = match op {
            BinOp::Eq => Formula::eq,
            BinOp::Ne => Formula::ne,
            BinOp::Lt => Formula::lt,
            BinOp::Le => Formula::le,
            BinOp::Gt => Formula::gt,
            BinOp::Ge => Formula::ge,
            BinOp::And
            | BinOp::Or
            | BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Mod
            | BinOp::BitAnd
            | BinOp::BitOr
            | BinOp::BitXor
            | BinOp::Shl
            | BinOp::Shr => return self.unsupported("this operator in a comparison"),
        };
        let (a, b) = (self.term(a)?, self.term(b)?);
        self.fits(compare(&a, &b))
    }

    fn term(&mut self, expr: &Expr<A>) -> Result<Term, LowerError> {
        match expr {
            Expr::Const(c) => Ok(Term::constant(*c)),
            Expr::Atom(atom) => (self.env)(atom),
            Expr::Unary(op, e) => self.unary(*op, e),
            Expr::Binary(op, ..) if op.is_boolean() => Ok(Term::of_truth(&self.formula(expr)?)),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.term(a)?, self.term(b)?);
                self.arithmetic(*op, &a, &b)
            }
            Expr::Cond(c, a, b) => {
                let c = self.formula(c)?;
                Ok(Term::ite(&c, &self.term(a)?, &self.term(b)?))
            }
        }
    }

    fn unary(&mut self, op: UnOp, e: &Expr<A>) -> Result<Term, LowerError> {
        match op {
            UnOp::Neg => Ok(self.term(e)?.negated()),
            UnOp::Not => Ok(Term::of_truth(&self.formula(e)?.negated())),
            UnOp::BitNot => {
                let value = self.term(e)?;
                self.fits(complement(&value))
            }
            UnOp::Wrap { bits, signed } => {
                let value = self.term(e)?;
                self.fits(wrap(&value, bits, signed))
            }
        }
    }

    fn arithmetic(&mut self, op: BinOp, a: &Term, b: &Term) -> Result<Term, LowerError> {
        match op {
            BinOp::Add => self.fits(a.plus(b)),
            BinOp::Sub => self.fits(a.minus(b)),
            BinOp::Mul => self.product(a, b),
            BinOp::Div | BinOp::Mod => self.division(op, a, b),
            BinOp::BitAnd => self.bits(BitOp::And, a, b),
            BinOp::BitOr => self.bits(BitOp::Or, a, b),
            BinOp::BitXor => self.bits(BitOp::Xor, a, b),
            BinOp::Shl | BinOp::Shr => match b.as_constant() {
                Some(count @ 0..=63) if op == BinOp::Shl => self.fits(a.times(1 << count)),
                Some(count @ 0..=63) => self.fits(a.div(1 << count)),
                Some(_) => self.unsupported("a shift by a number outside 0..63"),
                None => self.unsupported("a shift by a variable"),
            },
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                self.unsupported("a comparison as arithmetic")
            }
            BinOp::And | BinOp::Or => self.unsupported("a truth value as arithmetic"),
        }
    }

    fn product(&mut self, a: &Term, b: &Term) -> Result<Term, LowerError> {
        if let Some(c) = a.as_constant() {
            return self.fits(b.times(c));
        }
        if let Some(c) = b.as_constant() {
            return self.fits(a.times(c));
        }
        for (choice, other) in [(a, b), (b, a)] {
            if let Some((condition, then, otherwise)) = choice_of_constants(choice) {
                let then = self.fits(other.times(then))?;
                let otherwise = self.fits(other.times(otherwise))?;
                return Ok(Term::ite(&condition, &then, &otherwise));
            }
        }
        self.unsupported("the product of two variables")
    }

    /// Euclidean division; `a / -d` is `-(a / d)` and `a % -d` is `a % d`.
    fn division(&mut self, op: BinOp, a: &Term, b: &Term) -> Result<Term, LowerError> {
        match b.as_constant() {
            None => self.unsupported("division by a variable"),
            Some(0) => self.unsupported("division by zero"),
            Some(d) if op == BinOp::Mod => self.fits(a.modulo(d.abs())),
            Some(d) if d > 0 => self.fits(a.div(d)),
            Some(d) => Ok(self.fits(a.div(-d))?.negated()),
        }
    }

    fn bits(&mut self, op: BitOp, a: &Term, b: &Term) -> Result<Term, LowerError> {
        let (value, mask) = match (a.as_constant(), b.as_constant()) {
            (Some(mask), _) => (b, mask),
            (None, Some(mask)) => (a, mask),
            (None, None) => return self.truth_bits(op, a, b),
        };
        let both = self.fits(masked(value, mask))?;
        let sum = || value.plus_constant(mask);
        self.fits(match op {
            BitOp::And => Ok(both),
            BitOp::Or => sum().and_then(|s| s.minus(&both)),
            BitOp::Xor => sum().and_then(|s| s.minus(&both.times(2)?)),
        })
    }

    /// Bit operations between two values that are 0 or 1.
    fn truth_bits(&mut self, op: BitOp, a: &Term, b: &Term) -> Result<Term, LowerError> {
        let one_bit = |t: &Term| {
            let (low, high) = t.bounds();
            low.is_some_and(|v| v >= 0) && high.is_some_and(|v| v <= 1)
        };
        if !one_bit(a) || !one_bit(b) {
            return self.unsupported("a bit operation between two variables");
        }
        let zero = Term::constant(0);
        let a = self.fits(Formula::ne(a, &zero))?;
        let b = self.fits(Formula::ne(b, &zero))?;
        Ok(Term::of_truth(&match op {
            BitOp::And => a.and(&b),
            BitOp::Or => a.or(&b),
            BitOp::Xor => Formula::iff(&a, &b).negated(),
        }))
    }
}

/// The bit operations of two operands.
#[derive(Clone, Copy)]
enum BitOp {
    And,
    Or,
    Xor,
}

/// `k * (c ? m : n) + o` with constants only, as a choice between two constants.
fn choice_of_constants(term: &Term) -> Option<(Formula, Int, Int)> {
    let [(Key::Ite(choice), factor)] = &**term.sum() else {
        return None;
    };
    let value = |branch: &Term| {
        branch
            .as_constant()?
            .checked_mul(*factor)?
            .checked_add(term.offset())
    };
    Some((
        choice.condition.clone(),
        value(&choice.then)?,
        value(&choice.otherwise)?,
    ))
}

fn complement(value: &Term) -> Result<Term, Overflow> {
    value.negated().plus_constant(-1)
}

/// `value` modulo 2^bits, read as signed or unsigned.
fn wrap(value: &Term, bits: u8, signed: bool) -> Result<Term, Overflow> {
    let modulus: Int = 1 << bits;
    let half = if signed { modulus / 2 } else { 0 };
    value
        .plus_constant(half)?
        .modulo(modulus)?
        .plus_constant(-half)
}

/// `value & mask` on two's complement of unbounded width: each run of ones in
/// the mask is a division and a remainder. For a negative mask,
/// `v & m = v - (v & !m)`.
fn masked(value: &Term, mask: Int) -> Result<Term, Overflow> {
    if mask < 0 {
        return value.minus(&masked(value, !mask)?);
    }
    let (mut result, mut rest) = (Term::constant(0), mask);
    while rest != 0 {
        let from = rest.trailing_zeros();
        let length = (rest >> from).trailing_ones();
        let run = value
            .div(1 << from)?
            .modulo(1 << length)?
            .times(1 << from)?;
        result = result.plus(&run)?;
        rest &= !(((1 << length) - 1) << from);
    }
    Ok(result)
}
