//! *Remote atomic operations* (RMA): compare-and-swap, fetch-and-op and accumulate
//! on one cell of another process, as MPI-3 has them (`MPI_Compare_and_swap`,
//! `MPI_Fetch_and_op`, `MPI_Accumulate`). [Baumann et al., VMCAI 2018] has put and get only; locks over
//! RMA need these.
//!
//! The network does such an operation in parts, each at any time after the one
//! before:
//!
//! 1. it reads every operand that is a variable ([`Operand::Place`]), in any order;
//!    an operand that is an expression was evaluated when the operation was issued;
//! 2. it changes the remote cell in one indivisible step ([`Change::apply`]);
//! 3. if there is a result, it writes the value that the cell had before to it.
//!
//! Operations of one process on one cell are *ordered*: part 2 of a later one waits
//! for part 2 of every earlier one. (This is MPI's default for accumulate
//! operations; there is no order between cells, nor with puts and gets.) A flush
//! waits for all parts. Under SC all parts happen at once.

use crate::cfg::Place;
use crate::expr::{self, BinOp, EvalError};
use crate::program::LocalExpr;

/// How an accumulate changes a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RemoteOp {
    /// The operand.
    Replace,
    /// Nothing: an atomic read.
    NoOp,
    /// The sum.
    Sum,
    /// The lesser.
    Min,
    /// The greater.
    Max,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
}

impl RemoteOp {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Replace,
        Self::NoOp,
        Self::Sum,
        Self::Min,
        Self::Max,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
    ];

    /// The name in `.pal`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::NoOp => "no_op",
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::BitAnd => "band",
            Self::BitOr => "bor",
            Self::BitXor => "bxor",
        }
    }

    /// The new value of a cell that held `old`.
    pub fn apply(self, old: i64, operand: i64) -> Result<i64, EvalError> {
        let binary = |op| expr::apply_binary(op, old, operand);
        match self {
            Self::Replace => Ok(operand),
            Self::NoOp => Ok(old),
            Self::Sum => binary(BinOp::Add),
            Self::Min => Ok(old.min(operand)),
            Self::Max => Ok(old.max(operand)),
            Self::BitAnd => binary(BinOp::BitAnd),
            Self::BitOr => binary(BinOp::BitOr),
            Self::BitXor => binary(BinOp::BitXor),
        }
    }
}

/// An operand of a remote atomic operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// The value when the operation is issued.
    Value(LocalExpr),
    /// An own variable, which the network reads later.
    Place(Place),
}

/// What happens to the remote cell.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// It is combined with the operand.
    Op {
        /// How.
        op: RemoteOp,
        /// With what.
        operand: Operand,
    },
    /// It becomes `new` if it is `expected`.
    CompareSwap {
        /// What it must hold.
        expected: Operand,
        /// What it then gets.
        new: Operand,
    },
}

impl Change {
    /// The operands, in order: one or two.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        let (first, second) = match self {
            Self::Op { operand, .. } => (operand, None),
            Self::CompareSwap { expected, new } => (expected, Some(new)),
        };
        std::iter::once(first).chain(second)
    }

    /// The new value of a cell that held `old`; `operands` are those of
    /// [`Self::operands`].
    pub fn apply(&self, old: i64, operands: [i64; 2]) -> Result<i64, EvalError> {
        match self {
            Self::Op { op, .. } => op.apply(old, operands[0]),
            Self::CompareSwap { .. } if old == operands[0] => Ok(operands[1]),
            Self::CompareSwap { .. } => Ok(old),
        }
    }
}

/// A remote atomic operation; see the module's header.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RemoteAtomic {
    /// The cell that changes; its home is the remote side.
    pub remote: Place,
    /// How it changes.
    pub change: Change,
    /// The own variable that gets the value from before.
    pub result: Option<Place>,
}

impl RemoteAtomic {
    /// All places that it names.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        let operands = self.change.operands().filter_map(|o| match o {
            Operand::Place(place) => Some(place),
            Operand::Value(_) => None,
        });
        std::iter::once(&self.remote)
            .chain(operands)
            .chain(self.result.as_ref())
    }

    /// All places that it names, to be changed.
    pub fn places_mut(&mut self) -> Vec<&mut Place> {
        let operands = match &mut self.change {
            Change::Op { operand, .. } => vec![operand],
            Change::CompareSwap { expected, new } => vec![expected, new],
        };
        let operands = operands.into_iter().filter_map(|o| match o {
            Operand::Place(place) => Some(place),
            Operand::Value(_) => None,
        });
        let mut all = vec![&mut self.remote];
        all.extend(operands);
        all.extend(self.result.as_mut());
        all
    }

    /// The expressions of operands that are evaluated when it is issued.
    pub fn values(&self) -> impl Iterator<Item = &LocalExpr> {
        self.change.operands().filter_map(|o| match o {
            Operand::Value(e) => Some(e),
            Operand::Place(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_compute() {
        let all = RemoteOp::ALL.map(|op| op.apply(6, 3).expect("small"));
        assert_eq!(all, [3, 6, 9, 3, 6, 2, 7, 5]);
        assert!(RemoteOp::Sum.apply(i64::MAX, 1).is_err());
        let value = |v| Operand::Value(crate::Expr::Const(v));
        let swap = Change::CompareSwap {
            expected: value(1),
            new: value(2),
        };
        assert_eq!(swap.apply(1, [1, 2]), Ok(2));
        assert_eq!(swap.apply(3, [1, 2]), Ok(3));
    }
}
