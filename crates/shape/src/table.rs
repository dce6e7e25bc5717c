//! Table: the values of a formula for all assignments of its variables, as bit planes.
//!
//! Place: what [`crate::eval`] computes. Paper: [Friggens and Groves, arXiv 2015, section 2] (Kleene's
//! logic). The operations are those of the logic, word by word.

use crate::kleene::Kleene;
use crate::rows::Rows;

/// Values for all assignments of some slots (in increasing order); see the module header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Not 0.
    pub may: Rows,
    /// Is 1.
    pub must: Rows,
}

impl Table {
    pub(crate) fn constant(k: Kleene, rows: usize, full: u64) -> Self {
        let word = |b: bool| if b { full } else { 0 };
        Self {
            may: Rows::filled(word(k.may()), rows),
            must: Rows::filled(word(k.must()), rows),
        }
    }

    /// The value of a table without variables.
    pub fn value(&self) -> Kleene {
        Kleene::from_bits(self.may[0] & 1 == 1, self.must[0] & 1 == 1)
    }

    pub(crate) fn not(mut self, full: u64) -> Self {
        for row in 0..self.may.len() {
            let may = self.may[row];
            self.may[row] = !self.must[row] & full;
            self.must[row] = !may & full;
        }
        self
    }

    pub(crate) fn and(mut self, other: &Self) -> Self {
        for row in 0..self.may.len() {
            self.may[row] &= other.may[row];
            self.must[row] &= other.must[row];
        }
        self
    }

    pub(crate) fn or(mut self, other: &Self) -> Self {
        for row in 0..self.may.len() {
            self.may[row] |= other.may[row];
            self.must[row] |= other.must[row];
        }
        self
    }

    /// `(c ? a : b)`: may where a branch that may be taken may hold; must where every branch
    /// that may be taken must hold.
    pub(crate) fn ite(c: &Self, a: &Self, b: &Self) -> Self {
        let rows = a.may.len();
        let mut out = Self {
            may: Rows::filled(0, rows),
            must: Rows::filled(0, rows),
        };
        for r in 0..rows {
            out.may[r] = c.may[r] & a.may[r] | !c.must[r] & b.may[r];
            out.must[r] = (!c.may[r] | a.must[r]) & (c.must[r] | b.must[r]);
        }
        out
    }
}

/// Rows of a table over `k` variables.
pub(crate) fn table_rows(k: usize, n: usize) -> usize {
    if k <= 1 { 1 } else { n.pow(k as u32 - 1) }
}
