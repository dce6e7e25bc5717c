//! The *range* of an expression: least and greatest value, where they are known
//! from the domains of the registers. A write whose range lies in its target's
//! domain needs no check.

use palisade_program::Domain;

/// A range; `None` is without bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    lo: Option<i64>,
    hi: Option<i64>,
}

impl Range {
    /// All integers.
    pub(super) const ALL: Self = Self { lo: None, hi: None };

    /// One value.
    pub(super) const fn value(value: i64) -> Self {
        Self {
            lo: Some(value),
            hi: Some(value),
        }
    }

    /// The values of a domain, or all integers.
    pub(super) fn of(domain: Option<Domain>) -> Self {
        domain.map_or(Self::ALL, |d| Self {
            lo: Some(d.lo),
            hi: Some(d.hi),
        })
    }

    pub(super) fn negative(self) -> Self {
        Self {
            lo: self.hi.and_then(i64::checked_neg),
            hi: self.lo.and_then(i64::checked_neg),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let add = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
        Self {
            lo: add(self.lo, other.lo),
            hi: add(self.hi, other.hi),
        }
    }

    /// Whether every value is in the domain.
    pub(super) fn is_inside(self, domain: Option<Domain>) -> bool {
        let Some(domain) = domain else {
            return true;
        };
        matches!((self.lo, self.hi), (Some(lo), Some(hi)) if domain.lo <= lo && hi <= domain.hi)
    }

    /// Whether `value` may be one of the values.
    pub(super) fn contains(self, value: i64) -> bool {
        self.lo.is_none_or(|lo| lo <= value) && self.hi.is_none_or(|hi| value <= hi)
    }

    /// Whether no value is in the domain.
    pub(super) fn is_outside(self, domain: Option<Domain>) -> bool {
        let Some(domain) = domain else {
            return false;
        };
        self.lo.is_some_and(|lo| lo > domain.hi) || self.hi.is_some_and(|hi| hi < domain.lo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_as_wide_as_their_parts() {
        let bit = Range::of(Some(Domain { lo: 0, hi: 1 }));
        let two = bit.plus(bit);
        assert!(two.is_inside(Some(Domain { lo: 0, hi: 2 })));
        assert!(!two.is_inside(Some(Domain { lo: 0, hi: 1 })));
        assert!(bit.negative().contains(-1) && !bit.negative().contains(1));
        assert!(Range::value(3).is_outside(Some(Domain { lo: 0, hi: 2 })));
        assert!(!Range::ALL.is_inside(Some(Domain { lo: 0, hi: 2 })));
        assert!(Range::ALL.is_inside(None) && !Range::ALL.is_outside(None));
    }

    #[test]
    fn what_leaves_64_bits_is_without_bound() {
        let most = Range::value(i64::MAX).plus(Range::value(1));
        assert!(!most.is_inside(Some(Domain {
            lo: 0,
            hi: i64::MAX
        })));
        assert!(most.contains(5));
    }
}
