//! Kleene's three truth values: 0, 1 and 1/2 ("unknown").
//!
//! Place: the values of every predicate and formula of the shape engine. Paper:
//! [Friggens and Groves, arXiv 2015, section 2] (*l1 is below l2 iff l1 = l2 or l2 = 1/2*).
//!
//! A value is kept as two bits, which is also how whole predicates are kept
//! (see [`crate::structure`]): `may` (the value is not 0) and `must` (the value is 1).
//!
//! | value | may | must |
//! |---|---|---|
//! | 0 | 0 | 0 |
//! | 1/2 | 1 | 0 |
//! | 1 | 1 | 1 |

use std::fmt;

/// A truth value of Kleene's logic.
///
/// Laws (tested): `and`, `or` are associative, commutative and idempotent; `not` is an
/// involution; De Morgan holds; all are monotone in the information order [`Kleene::below`];
/// [`Kleene::join`] is the least upper bound of that order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kleene {
    /// Definitely false.
    False,
    /// Unknown, 1/2.
    Half,
    /// Definitely true.
    True,
}

impl Kleene {
    /// All three values.
    pub const ALL: [Self; 3] = [Self::False, Self::Half, Self::True];

    /// The value with the given bits; `must` without `may` is read as true.
    pub fn from_bits(may: bool, must: bool) -> Self {
        match (may, must) {
            (_, true) => Self::True,
            (true, false) => Self::Half,
            (false, false) => Self::False,
        }
    }

    /// Not 0.
    pub fn may(self) -> bool {
        self != Self::False
    }

    /// Is 1.
    pub fn must(self) -> bool {
        self == Self::True
    }

    /// Kleene conjunction, the minimum.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.min(other)
    }

    /// Kleene disjunction, the maximum.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.max(other)
    }

    /// Kleene negation.
    #[must_use]
    #[allow(clippy::should_implement_trait)] // `!k` reads badly beside `and` and `or`
    pub fn not(self) -> Self {
        Self::from_bits(!self.must(), !self.may())
    }

    /// Least upper bound of the information order.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        if self == other { self } else { Self::Half }
    }

    /// The information order: `self` is `other`, or `other` is 1/2.
    pub fn below(self, other: Self) -> bool {
        self == other || other == Self::Half
    }
}

impl From<bool> for Kleene {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

impl fmt::Display for Kleene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::False => "0",
            Self::Half => "1/2",
            Self::True => "1",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Kleene;

    #[test]
    fn laws_hold_for_all_values() {
        for a in Kleene::ALL {
            assert_eq!(a.not().not(), a);
            assert_eq!(a.join(a), a);
            for b in Kleene::ALL {
                assert_eq!(a.and(b).not(), a.not().or(b.not()));
                assert_eq!(a.join(b), b.join(a));
                assert!(a.below(a.join(b)));
                for c in Kleene::ALL {
                    // join is the least of the upper bounds
                    if a.below(c) && b.below(c) {
                        assert!(a.join(b).below(c));
                    }
                    // monotone in the information order
                    if a.below(b) {
                        assert!(a.and(c).below(b.and(c)));
                        assert!(a.or(c).below(b.or(c)));
                        assert!(a.not().below(b.not()));
                    }
                }
            }
        }
    }
}
