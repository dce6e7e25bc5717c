//! What *expressions* mean to the checker: its own account of every operator, beside
//! `palisade_program::expr`, which runs programs, and `palisade_logic::lower`, with which
//! the engines prove. A certificate is judged by this one alone.
//!
//! Values are mathematical integers. Two known numbers are computed ([`number`]); of
//! what is not known there is a term, if it is linear:
//!
//! | operator | value |
//! |---|---|
//! | `a / d`, `a % d` | the q and r with a = q d + r and 0 <= r < abs(d) |
//! | `~a` | -1 - a |
//! | wrap to n bits | the v in the type's range with v - a divisible by 2^n |
//! | `a << k`, `a >> k` | a 2^k; the largest integer that is at most a / 2^k |
//! | `a & m`, m >= 0 | the sum of ((a / 2^i) % 2^k) 2^i over the runs of k ones of m from bit i |
//! | `a & m`, m < 0 | a - (a & ~m) |
//! | `a \| m`, `a ^ m` | a + m - (a & m), a + m - 2 (a & m) |

use crate::steps::{Trouble, overflow, unsupported};
use palisade_logic::{Formula, Int, Key, Overflow, Term};
use palisade_program::{BinOp, Expr, Span, UnOp};

/// The value of `expr`; `env` gives the terms of its atoms.
pub(crate) fn term_of<A>(
    expr: &Expr<A>,
    span: Span,
    env: &mut dyn FnMut(&A) -> Result<Term, Trouble>,
) -> Result<Term, Trouble> {
    Reader { span, env }.term(expr)
}

/// Whether `expr` is not 0.
pub(crate) fn formula_of<A>(
    expr: &Expr<A>,
    span: Span,
    env: &mut dyn FnMut(&A) -> Result<Term, Trouble>,
) -> Result<Formula, Trouble> {
    Reader { span, env }.formula(expr)
}

/// Whether the operator gives a truth value.
const fn is_truth(op: BinOp) -> bool {
    match op {
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => true,
        BinOp::And | BinOp::Or => true,
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Mod => false,
        BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::Shl | BinOp::Shr => false,
    }
}

/// Whether one of the two is true and the other is not, whatever the atoms are, by their
/// form.
pub(crate) fn are_opposite<A: PartialEq>(a: &Expr<A>, b: &Expr<A>) -> bool {
    let opposite = |op: BinOp| match op {
        BinOp::Eq => Some(BinOp::Ne),
        BinOp::Ne => Some(BinOp::Eq),
        BinOp::Lt => Some(BinOp::Ge),
        BinOp::Ge => Some(BinOp::Lt),
        BinOp::Le => Some(BinOp::Gt),
        BinOp::Gt => Some(BinOp::Le),
        BinOp::And | BinOp::Or | BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div => None,
        BinOp::Mod | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => None,
        BinOp::Shl | BinOp::Shr => None,
    };
    match (a, b) {
        (Expr::Unary(UnOp::Not, e), other) | (other, Expr::Unary(UnOp::Not, e))
            if **e == *other =>
        {
            true
        }
        (Expr::Binary(one, a, b), Expr::Binary(other, c, d)) => {
            opposite(*one) == Some(*other) && a == c && b == d
        }
        (Expr::Const(a), Expr::Const(b)) => (*a == 0) != (*b == 0),
        _ => false,
    }
}

/// Two values joined by an operator.
pub(crate) fn joined(op: BinOp, a: &Term, b: &Term, span: Span) -> Result<Term, Trouble> {
    let made = match a.as_constant().zip(b.as_constant()) {
        Some((a, b)) => number(op, a, b).and_then(constant),
        None => linear(op, a, b),
    };
    made.map_err(|why| why.at(span))
}

/// Why there is no term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum No {
    /// It is not linear, or has no value.
    Linear(&'static str),
    /// A number beyond the range of terms.
    Fits,
}

impl From<Overflow> for No {
    fn from(_: Overflow) -> Self {
        Self::Fits
    }
}

impl No {
    fn at(self, span: Span) -> Trouble {
        match self {
            Self::Linear(what) => unsupported(what, span),
            Self::Fits => overflow(Overflow, span),
        }
    }
}

fn constant(value: Int) -> Result<Term, No> {
    Ok(Term::wide_constant(value)?)
}

const fn truth(value: bool) -> Int {
    if value { 1 } else { 0 }
}

/// The value of an operator on known numbers.
fn number(op: BinOp, a: Int, b: Int) -> Result<Int, No> {
    let fits = |value: Option<Int>| value.ok_or(No::Fits);
    let power = || match u32::try_from(b) {
        Ok(k @ 0..=63) => Ok(1 << k),
        _ => Err(No::Linear("a shift by a number outside 0..63")),
    };
    Ok(match op {
        BinOp::Add => fits(a.checked_add(b))?,
        BinOp::Sub => fits(a.checked_sub(b))?,
        BinOp::Mul => fits(a.checked_mul(b))?,
        BinOp::Div | BinOp::Mod => {
            if b == 0 {
                return Err(No::Linear("division by zero"));
            }
            // Machine division rounds towards 0; the remainder should not be negative.
            let (mut quotient, mut rest) = (fits(a.checked_div(b))?, a % b);
            if rest < 0 {
                rest += b.abs();
                quotient -= b.signum();
            }
            if op == BinOp::Div { quotient } else { rest }
        }
        BinOp::Eq => truth(a == b),
        BinOp::Ne => truth(a != b),
        BinOp::Lt => truth(a < b),
        BinOp::Le => truth(a <= b),
        BinOp::Gt => truth(a > b),
        BinOp::Ge => truth(a >= b),
        BinOp::And => truth(a != 0 && b != 0),
        BinOp::Or => truth(a != 0 || b != 0),
        // `Int` is two's complement, of more bits than any value has.
        BinOp::BitAnd => a & b,
        BinOp::BitOr => a | b,
        BinOp::BitXor => a ^ b,
        BinOp::Shl => fits(a.checked_mul(power()?))?,
        BinOp::Shr => floor(a, power()?),
    })
}

/// `a / d`, rounded down, for a positive `d`.
const fn floor(a: Int, d: Int) -> Int {
    if a >= 0 { a / d } else { -((-(a + 1)) / d) - 1 }
}

/// The value of a wrap: the number of the type's range that differs from `value` by a
/// multiple of 2^bits.
fn wrapped(value: &Term, bits: u8, signed: bool) -> Result<Term, No> {
    let round: Int = 1 << bits;
    let least = if signed { -(round / 2) } else { 0 };
    if let Some(value) = value.as_constant() {
        let rounds = floor(value - least, round);
        return constant(value - rounds * round);
    }
    let above = value.plus_constant(-least)?.modulo(round)?;
    Ok(above.plus_constant(least)?)
}

/// An operator on values of which one at least is not known.
fn linear(op: BinOp, a: &Term, b: &Term) -> Result<Term, No> {
    let shift = || match b.as_constant() {
        Some(k @ 0..=63) => Ok(1 << k),
        Some(_) => Err(No::Linear("a shift by a number outside 0..63")),
        None => Err(No::Linear("a shift by a variable")),
    };
    Ok(match op {
        BinOp::Add => a.plus(b)?,
        BinOp::Sub => a.minus(b)?,
        BinOp::Mul => product(a, b)?,
        BinOp::Div | BinOp::Mod => {
            let Some(d) = b.as_constant() else {
                return Err(No::Linear("division by a variable"));
            };
            match (op, d) {
                (_, 0) => return Err(No::Linear("division by zero")),
                (BinOp::Mod, _) => a.modulo(d.abs())?,
                (_, 1..) => a.div(d)?,
                // a = (-q) (-d) + r
                (_, _) => a.div(-d)?.negated(),
            }
        }
        BinOp::Shl => a.times(shift()?)?,
        BinOp::Shr => a.div(shift()?)?,
        BinOp::BitAnd => bitwise(Bitwise::And, a, b)?,
        BinOp::BitOr => bitwise(Bitwise::Or, a, b)?,
        BinOp::BitXor => bitwise(Bitwise::Xor, a, b)?,
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
            Term::of_truth(&compared(op, a, b)?)
        }
        BinOp::And => Term::of_truth(&not_zero(a)?.and(&not_zero(b)?)),
        BinOp::Or => Term::of_truth(&not_zero(a)?.or(&not_zero(b)?)),
    })
}

fn not_zero(term: &Term) -> Result<Formula, No> {
    Ok(match term.as_constant() {
        Some(value) => (value != 0).into(),
        None => Formula::ne(term, &Term::constant(0))?,
    })
}

/// A comparison.
fn compared(op: BinOp, a: &Term, b: &Term) -> Result<Formula, No> {
    if let Some((a, b)) = a.as_constant().zip(b.as_constant()) {
        return Ok((number(op, a, b)? != 0).into());
    }
    Ok(match op {
        BinOp::Eq => Formula::eq(a, b)?,
        BinOp::Ne => Formula::eq(a, b)?.negated(),
        BinOp::Lt => Formula::lt(a, b)?,
        BinOp::Le => Formula::le(a, b)?,
        BinOp::Gt => Formula::lt(b, a)?,
        BinOp::Ge => Formula::le(b, a)?,
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Mod | BinOp::And => {
            return Err(No::Linear("no comparison"));
        }
        BinOp::Or | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::Shl | BinOp::Shr => {
            return Err(No::Linear("no comparison"));
        }
    })
}

/// One factor is known, or is one of two known numbers.
fn product(a: &Term, b: &Term) -> Result<Term, No> {
    for (factor, other) in [(a, b), (b, a)] {
        if let Some(known) = factor.as_constant() {
            return Ok(other.times(known)?);
        }
    }
    for (factor, other) in [(a, b), (b, a)] {
        let [(Key::Ite(choice), times)] = &**factor.sum() else {
            continue;
        };
        let value = |branch: &Term| {
            let scaled = branch.as_constant()?.checked_mul(*times)?;
            scaled.checked_add(factor.offset())
        };
        if let Some((yes, no)) = value(&choice.then).zip(value(&choice.otherwise)) {
            let (yes, no) = (other.times(yes)?, other.times(no)?);
            return Ok(Term::ite(&choice.condition, &yes, &no));
        }
    }
    Err(No::Linear("the product of two variables"))
}

#[derive(Clone, Copy)]
enum Bitwise {
    And,
    Or,
    Xor,
}

fn bitwise(op: Bitwise, a: &Term, b: &Term) -> Result<Term, No> {
    let (value, mask) = match (a.as_constant(), b.as_constant()) {
        (_, Some(mask)) => (a, mask),
        (Some(mask), None) => (b, mask),
        (None, None) => return of_bits(op, a, b),
    };
    let common = masked(value, mask)?;
    Ok(match op {
        Bitwise::And => common,
        Bitwise::Or => value.plus_constant(mask)?.minus(&common)?,
        Bitwise::Xor => value.plus_constant(mask)?.minus(&common.times(2)?)?,
    })
}

/// `value & mask`.
fn masked(value: &Term, mask: Int) -> Result<Term, No> {
    if mask < 0 {
        return Ok(value.minus(&masked(value, -1 - mask)?)?);
    }
    let mut sum = Term::constant(0);
    let mut bit = 0;
    while mask >> bit != 0 {
        let length = (mask >> bit).trailing_ones();
        if length == 0 {
            bit += 1;
            continue;
        }
        let run = value.div(1 << bit)?.modulo(1 << length)?;
        sum = sum.plus(&run.times(1 << bit)?)?;
        bit += length;
    }
    Ok(sum)
}

/// A bit operation between two values that are 0 or 1.
fn of_bits(op: Bitwise, a: &Term, b: &Term) -> Result<Term, No> {
    let is_bit = |t: &Term| matches!(t.bounds(), (Some(0..), Some(..=1)));
    if !(is_bit(a) && is_bit(b)) {
        return Err(No::Linear("a bit operation between two variables"));
    }
    let (a, b) = (not_zero(a)?, not_zero(b)?);
    Ok(Term::of_truth(&match op {
        Bitwise::And => a.and(&b),
        Bitwise::Or => a.or(&b),
        Bitwise::Xor => Formula::iff(&a, &b).negated(),
    }))
}

struct Reader<'a, A> {
    span: Span,
    env: &'a mut dyn FnMut(&A) -> Result<Term, Trouble>,
}

impl<A> Reader<'_, A> {
    fn fine<T>(&self, made: Result<T, No>) -> Result<T, Trouble> {
        made.map_err(|why| why.at(self.span))
    }

    fn term(&mut self, expr: &Expr<A>) -> Result<Term, Trouble> {
        match expr {
            Expr::Const(c) => Ok(Term::constant(*c)),
            Expr::Atom(atom) => (self.env)(atom),
            Expr::Unary(UnOp::Neg, e) => {
                let value = self.term(e)?;
                joined(BinOp::Sub, &Term::constant(0), &value, self.span)
            }
            Expr::Unary(UnOp::BitNot, e) => {
                let value = self.term(e)?;
                joined(BinOp::Sub, &Term::constant(-1), &value, self.span)
            }
            Expr::Unary(UnOp::Not, _) => Ok(Term::of_truth(&self.formula(expr)?)),
            Expr::Unary(UnOp::Wrap { bits, signed }, e) => {
                let value = self.term(e)?;
                self.fine(wrapped(&value, *bits, *signed))
            }
            Expr::Binary(op, ..) if is_truth(*op) => Ok(Term::of_truth(&self.formula(expr)?)),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.term(a)?, self.term(b)?);
                joined(*op, &a, &b, self.span)
            }
            Expr::Cond(c, a, b) => {
                let c = self.formula(c)?;
                let (a, b) = (self.term(a)?, self.term(b)?);
                Ok(Term::ite(&c, &a, &b))
            }
        }
    }

    fn formula(&mut self, expr: &Expr<A>) -> Result<Formula, Trouble> {
        match expr {
            Expr::Unary(UnOp::Not, e) => Ok(self.formula(e)?.negated()),
            Expr::Binary(BinOp::And, a, b) => {
                let a = self.formula(a)?;
                Ok(a.and(&self.formula(b)?))
            }
            Expr::Binary(BinOp::Or, a, b) => {
                let a = self.formula(a)?;
                Ok(a.or(&self.formula(b)?))
            }
            Expr::Binary(op, a, b) if is_truth(*op) => {
                let (a, b) = (self.term(a)?, self.term(b)?);
                self.fine(compared(*op, &a, &b))
            }
            Expr::Cond(c, a, b) => {
                let c = self.formula(c)?;
                let (a, b) = (self.formula(a)?, self.formula(b)?);
                Ok(Formula::ite(&c, &a, &b))
            }
            Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) => {
                let value = self.term(expr)?;
                self.fine(not_zero(&value))
            }
        }
    }
}

#[cfg(test)]
mod tests;
