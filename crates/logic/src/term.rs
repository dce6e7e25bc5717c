//! Terms in *linear normal form*: a sum of coefficient times key plus a
//! constant. A [`Key`] is a variable or a sub-term that is not linear (division
//! and remainder by a positive constant, choice); keys are sorted and distinct,
//! coefficients are not 0. Equal linear functions are therefore equal values,
//! which is what makes predicates comparable.
//!
//! Numbers are `i128` and stay within [`LIMIT`]; an operation that would leave
//! it returns [`Overflow`]. Division rounds down and the remainder is never
//! negative, as `palisade-program` defines them for positive divisors.

use crate::formula::Formula;
use crate::names::Var;
use std::sync::Arc;

/// The numbers that terms are made of.
pub type Int = i128;

/// Bound on the absolute value of every number in a term. Sums of two numbers
/// within it cannot wrap, and negation cannot leave it.
pub const LIMIT: Int = 1 << 96;

/// A number left the range of ±[`LIMIT`], or an evaluation that of [`Int`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("a number in a term exceeds 96 bits")]
pub struct Overflow;

pub(crate) fn limited(value: Option<Int>) -> Result<Int, Overflow> {
    value
        .filter(|v| (-LIMIT..=LIMIT).contains(v))
        .ok_or(Overflow)
}

/// What a coefficient stands before.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// A variable.
    Var(Var),
    /// The term divided by a constant above 1, rounded down.
    Div(Arc<Term>, Int),
    /// The remainder by a constant above 1, never negative.
    Mod(Arc<Term>, Int),
    /// `condition ? then : otherwise`.
    Ite(Arc<Choice>),
}

/// The parts of a conditional term.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Choice {
    /// Decides between the two terms.
    pub condition: Formula,
    /// The value where the condition holds.
    pub then: Term,
    /// The value where it does not.
    pub otherwise: Term,
}

/// A sum of coefficient times key, sorted by key, without zeros.
pub type Sum = Arc<[(Key, Int)]>;

/// A term: `sum + constant`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Term {
    sum: Sum,
    constant: Int,
}

impl From<i64> for Term {
    fn from(value: i64) -> Self {
        Self {
            sum: Arc::new([]),
            constant: Int::from(value),
        }
    }
}

impl From<Var> for Term {
    fn from(var: Var) -> Self {
        Self {
            sum: Arc::new([(Key::Var(var), 1)]),
            constant: 0,
        }
    }
}

impl Term {
    /// The constant `value`.
    pub fn constant(value: i64) -> Self {
        Self::from(value)
    }

    /// The variable `var`.
    pub fn var(var: Var) -> Self {
        Self::from(var)
    }

    /// A constant that may not fit 64 bits.
    pub fn wide_constant(value: Int) -> Result<Self, Overflow> {
        Ok(Self {
            sum: Arc::new([]),
            constant: limited(Some(value))?,
        })
    }

    /// A sum of keys that need be neither sorted nor distinct.
    pub fn of_parts(mut parts: Vec<(Key, Int)>, constant: Int) -> Result<Self, Overflow> {
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        let mut sum: Vec<(Key, Int)> = Vec::with_capacity(parts.len());
        for (key, coefficient) in parts {
            match sum.last_mut() {
                Some(last) if last.0 == key => {
                    last.1 = limited(last.1.checked_add(coefficient))?;
                }
                Some(_) | None => sum.push((key, limited(Some(coefficient))?)),
            }
        }
        sum.retain(|part| part.1 != 0);
        Ok(Self {
            sum: sum.into(),
            constant: limited(Some(constant))?,
        })
    }

    pub(crate) fn of_sum(sum: Sum, constant: Int) -> Self {
        Self { sum, constant }
    }

    /// The keys and their coefficients, sorted.
    pub fn sum(&self) -> &Sum {
        &self.sum
    }

    /// The constant summand.
    pub fn offset(&self) -> Int {
        self.constant
    }

    /// The value, when the term is a constant.
    pub fn as_constant(&self) -> Option<Int> {
        self.sum.is_empty().then_some(self.constant)
    }

    /// The variable, when the term is just that.
    pub fn as_var(&self) -> Option<Var> {
        match (&*self.sum, self.constant) {
            ([(Key::Var(var), 1)], 0) => Some(*var),
            _ => None,
        }
    }

    /// `self + other`.
    pub fn plus(&self, other: &Self) -> Result<Self, Overflow> {
        self.combine(other, 1)
    }

    /// `self - other`.
    pub fn minus(&self, other: &Self) -> Result<Self, Overflow> {
        self.combine(other, -1)
    }

    /// `self + value`.
    pub fn plus_constant(&self, value: Int) -> Result<Self, Overflow> {
        let constant = limited(self.constant.checked_add(value))?;
        Ok(Self {
            sum: Arc::clone(&self.sum),
            constant,
        })
    }

    /// `-self`; cannot overflow because [`LIMIT`] is symmetric.
    #[must_use]
    pub fn negated(&self) -> Self {
        let sum = self.sum.iter().map(|(key, c)| (key.clone(), -c)).collect();
        Self {
            sum,
            constant: -self.constant,
        }
    }

    /// `self * factor`.
    pub fn times(&self, factor: Int) -> Result<Self, Overflow> {
        if factor == 0 {
            return Ok(Self::constant(0));
        }
        let scale = |c: Int| limited(c.checked_mul(factor));
        let sum = self
            .sum
            .iter()
            .map(|(key, c)| Ok((key.clone(), scale(*c)?)))
            .collect::<Result<_, Overflow>>()?;
        Ok(Self {
            sum,
            constant: scale(self.constant)?,
        })
    }

    /// `self + factor * other` by merging the two sorted sums.
    fn combine(&self, other: &Self, factor: Int) -> Result<Self, Overflow> {
        let mut sum = Vec::with_capacity(self.sum.len() + other.sum.len());
        let (mut left, mut right) = (self.sum.iter().peekable(), other.sum.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(a), Some(b)) => a.0.cmp(&b.0),
            };
            let a = order.is_le().then(|| left.next()).flatten();
            let b = order.is_ge().then(|| right.next()).flatten();
            let scaled = limited(b.map_or(Some(0), |b| b.1.checked_mul(factor)))?;
            let coefficient = limited(Some(a.map_or(0, |a| a.1) + scaled))?;
            if let Some((key, _)) = a.or(b)
                && coefficient != 0
            {
                sum.push((key.clone(), coefficient));
            }
        }
        let scaled = limited(other.constant.checked_mul(factor))?;
        Ok(Self {
            sum: sum.into(),
            constant: limited(Some(self.constant + scaled))?,
        })
    }

    /// `self / divisor`, rounded down. The divisor must be positive; callers
    /// that take it from a user check that first.
    pub fn div(&self, divisor: Int) -> Result<Self, Overflow> {
        Ok(self.div_mod(divisor)?.0)
    }

    /// `self % divisor`, never negative. The divisor must be positive.
    pub fn modulo(&self, divisor: Int) -> Result<Self, Overflow> {
        let remainder = self.div_mod(divisor)?.1;
        let is_opaque = matches!(&*remainder.sum, [(Key::Mod(_, by), 1)] if *by == divisor);
        match self.congruent(divisor) {
            Ok(Some(simpler)) if is_opaque => Ok(simpler.div_mod(divisor)?.1),
            Ok(_) | Err(Overflow) => Ok(remainder),
        }
    }

    /// A term with the same remainder, without remainders by multiples of the divisor:
    /// `(a % 8 + b) % 4` is `(a + b) % 4`. So sums that wrap at each step have one form.
    fn congruent(&self, divisor: Int) -> Result<Option<Self>, Overflow> {
        let mut simpler = None;
        for (key, c) in self.sum.iter() {
            if let Key::Mod(inner, by) = key
                && by % divisor == 0
            {
                let whole = Self::of_parts(vec![(key.clone(), *c)], 0)?;
                let so_far = simpler.as_ref().unwrap_or(self).minus(&whole)?;
                simpler = Some(so_far.plus(&inner.times(*c)?)?);
            }
        }
        Ok(simpler)
    }

    /// Quotient and remainder. Multiples of the divisor leave the opaque key:
    /// `(4x + y + 5) / 4` is `x + 1 + (y + 1) / 4`, so that equal functions
    /// more often have equal forms.
    fn div_mod(&self, divisor: Int) -> Result<(Self, Self), Overflow> {
        assert!(
            divisor > 0,
            "division is defined here for positive divisors only"
        );
        let divisor = limited(Some(divisor))?;
        let (mut whole, mut rest) = (Vec::new(), Vec::new());
        for (key, c) in self.sum.iter() {
            let r = centred_remainder(*c, divisor);
            let q = (c - r) / divisor;
            if q != 0 {
                whole.push((key.clone(), q));
            }
            if r != 0 {
                rest.push((key.clone(), r));
            }
        }
        let quotient = Self {
            sum: whole.into(),
            constant: self.constant.div_euclid(divisor),
        };
        let rest = Self {
            sum: rest.into(),
            constant: self.constant.rem_euclid(divisor),
        };
        if let (Some(low), Some(high)) = rest.bounds()
            && low.div_euclid(divisor) == high.div_euclid(divisor)
        {
            let shift = low.div_euclid(divisor);
            let remainder = rest.plus_constant(-shift * divisor)?;
            return Ok((quotient.plus_constant(shift)?, remainder));
        }
        let rest = Arc::new(rest);
        let opaque = |key| Self {
            sum: Arc::new([(key, 1)]),
            constant: 0,
        };
        let div = opaque(Key::Div(Arc::clone(&rest), divisor));
        Ok((quotient.plus(&div)?, opaque(Key::Mod(rest, divisor))))
    }

    /// `condition ? then : otherwise`.
    #[must_use]
    pub fn ite(condition: &Formula, then: &Self, otherwise: &Self) -> Self {
        match condition {
            Formula::True => return then.clone(),
            Formula::False => return otherwise.clone(),
            Formula::Literal(_) | Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => {}
        }
        if then == otherwise {
            return then.clone();
        }
        // The smaller of condition and negation, so that a choice has one form.
        let opposite = condition.negated();
        let (condition, then, otherwise) = if opposite < *condition {
            (opposite, otherwise.clone(), then.clone())
        } else {
            (condition.clone(), then.clone(), otherwise.clone())
        };
        let key = Key::Ite(Arc::new(Choice {
            condition,
            then,
            otherwise,
        }));
        Self {
            sum: Arc::new([(key, 1)]),
            constant: 0,
        }
    }

    /// 1 where the formula holds, else 0.
    #[must_use]
    pub fn of_truth(formula: &Formula) -> Self {
        Self::ite(formula, &Self::constant(1), &Self::constant(0))
    }

    /// Least and greatest possible value by the form alone; `None` where the
    /// form gives no bound.
    pub fn bounds(&self) -> (Option<Int>, Option<Int>) {
        let (mut low, mut high) = (Some(self.constant), Some(self.constant));
        for (key, c) in self.sum.iter() {
            let (least, greatest) = key.bounds();
            let (from, to) = if *c > 0 {
                (least, greatest)
            } else {
                (greatest, least)
            };
            let add =
                |sum: Option<Int>, bound: Option<Int>| sum?.checked_add(bound?.checked_mul(*c)?);
            low = add(low, from);
            high = add(high, to);
        }
        (low, high)
    }

    /// Calls `f` on every variable, also inside opaque keys; repeats possible.
    pub fn for_each_var(&self, f: &mut dyn FnMut(Var)) {
        for (key, _) in self.sum.iter() {
            key.for_each_var(f);
        }
    }
}

impl Key {
    fn bounds(&self) -> (Option<Int>, Option<Int>) {
        match self {
            Self::Var(_) => (None, None),
            Self::Div(term, divisor) => {
                let (low, high) = term.bounds();
                (
                    low.map(|v| v.div_euclid(*divisor)),
                    high.map(|v| v.div_euclid(*divisor)),
                )
            }
            Self::Mod(_, divisor) => (Some(0), Some(divisor - 1)),
            Self::Ite(choice) => {
                let (a, b) = (choice.then.bounds(), choice.otherwise.bounds());
                let low = a.0.zip(b.0).map(|(x, y)| x.min(y));
                (low, a.1.zip(b.1).map(|(x, y)| x.max(y)))
            }
        }
    }

    pub(crate) fn for_each_var(&self, f: &mut dyn FnMut(Var)) {
        match self {
            Self::Var(var) => f(*var),
            Self::Div(term, _) | Self::Mod(term, _) => term.for_each_var(f),
            Self::Ite(choice) => {
                choice.condition.for_each_var(f);
                choice.then.for_each_var(f);
                choice.otherwise.for_each_var(f);
            }
        }
    }
}

/// The number congruent to `value` in `-m/2 < r <= m/2`: keeps `-x` as it is
/// instead of turning it into `(m - 1) x`.
fn centred_remainder(value: Int, m: Int) -> Int {
    let r = value.rem_euclid(m);
    if 2 * r > m { r - m } else { r }
}
