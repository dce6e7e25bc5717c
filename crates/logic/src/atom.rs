//! Atoms in *normal form* and literals over them. An atom is `sum <= bound` or
//! `sum = bound` where the leading coefficient is positive and the coefficients
//! have no common divisor (the bound is tightened over the integers). The
//! negation of an inequality is an inequality again, `!(s <= b)` is
//! `-s <= -b - 1`, and the form with the positive leading coefficient is the one
//! that is kept: `x < y`, `y > x`, `!(y <= x)` and `!(x >= y)` are one atom with
//! one polarity or the other.

use crate::term::{Int, Overflow, Sum, Term, limited};

/// The two relations of atoms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Relation {
    /// `sum <= bound`
    Le,
    /// `sum = bound`
    Eq,
}

/// `sum <= bound` or `sum = bound` in normal form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Atom {
    sum: Sum,
    relation: Relation,
    bound: Int,
}

/// An atom or its negation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Literal {
    /// The atom.
    pub atom: Atom,
    /// Whether the literal is the atom itself.
    pub positive: bool,
}

/// What a comparison becomes in normal form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Normal {
    /// It does not depend on the variables.
    Truth(bool),
    /// An atom or its negation.
    Literal(Literal),
}

impl Atom {
    /// The normal form of `term relation 0`.
    pub fn normalise(term: &Term, relation: Relation) -> Result<Normal, Overflow> {
        if let Some(truth) = truth_by_bounds(term, relation) {
            return Ok(Normal::Truth(truth));
        }
        let divisor = term.sum().iter().fold(0, |g, part| gcd(g, part.1));
        let constant = -term.offset();
        if relation == Relation::Eq && constant % divisor != 0 {
            return Ok(Normal::Truth(false));
        }
        let bound = constant.div_euclid(divisor);
        let negative = term.sum()[0].1 < 0;
        let sign = if negative { -divisor } else { divisor };
        let sum = if sign == 1 {
            Sum::clone(term.sum())
        } else {
            term.sum()
                .iter()
                .map(|(key, c)| (key.clone(), c / sign))
                .collect()
        };
        let (bound, positive) = match (negative, relation) {
            (false, _) => (bound, true),
            (true, Relation::Eq) => (-bound, true),
            (true, Relation::Le) => (limited(Some(-bound - 1))?, false),
        };
        Ok(Normal::Literal(Literal {
            atom: Self {
                sum,
                relation,
                bound,
            },
            positive,
        }))
    }

    /// The left-hand side; its first coefficient is positive.
    pub fn sum(&self) -> &Sum {
        &self.sum
    }

    /// `<=` or `=`.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// The right-hand side.
    pub fn bound(&self) -> Int {
        self.bound
    }

    /// The atom as `term relation 0`.
    pub fn term(&self) -> Term {
        Term::of_sum(Sum::clone(&self.sum), -self.bound)
    }

    /// The literal that is this atom.
    pub fn literal(self) -> Literal {
        Literal {
            atom: self,
            positive: true,
        }
    }

    /// Another atom over the same sum. The result is in normal form because the
    /// sum is.
    /// The same sum with another relation and bound; none if the bound is out of
    /// range.
    pub fn rebound(&self, relation: Relation, bound: Int) -> Option<Self> {
        self.with(relation, bound).ok()
    }

    pub(crate) fn with(&self, relation: Relation, bound: Int) -> Result<Self, Overflow> {
        Ok(Self {
            sum: Sum::clone(&self.sum),
            relation,
            bound: limited(Some(bound))?,
        })
    }
}

impl Literal {
    /// The opposite literal.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self {
            atom: self.atom.clone(),
            positive: !self.positive,
        }
    }
}

/// Decides constants and terms whose form bounds them (`x % 4 <= 7`).
fn truth_by_bounds(term: &Term, relation: Relation) -> Option<bool> {
    let (low, high) = term.bounds();
    let above = low.is_some_and(|v| v > 0);
    let below = high.is_some_and(|v| v < 0);
    match relation {
        Relation::Le if above => Some(false),
        Relation::Le if high.is_some_and(|v| v <= 0) => Some(true),
        Relation::Le => None,
        Relation::Eq if above || below => Some(false),
        Relation::Eq if low == Some(0) && high == Some(0) => Some(true),
        Relation::Eq => None,
    }
}

pub(crate) fn gcd(a: Int, b: Int) -> Int {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
