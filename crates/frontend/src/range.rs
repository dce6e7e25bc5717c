//! The *range* of an expression: an interval that contains its value, by its form
//! alone. Decides whether an index or a domain needs a check at run time; when
//! in doubt there is a check.

use palisade_program::{BinOp, Domain, Expr, UnOp};

/// Both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) lo: i128,
    pub(crate) hi: i128,
}

impl Range {
    pub(crate) fn new(lo: impl Into<i128>, hi: impl Into<i128>) -> Self {
        Self {
            lo: lo.into(),
            hi: hi.into(),
        }
    }

    pub(crate) fn inside(self, lo: i64, hi: i64) -> bool {
        i128::from(lo) <= self.lo && self.hi <= i128::from(hi)
    }

    /// Whether it surely has no value of the domain.
    pub(crate) fn outside(self, domain: Domain) -> bool {
        self.lo > i128::from(domain.hi) || self.hi < i128::from(domain.lo)
    }

    fn of_corners(corners: [i128; 4]) -> Self {
        let lo = corners.into_iter().fold(corners[0], i128::min);
        let hi = corners.into_iter().fold(corners[0], i128::max);
        Self { lo, hi }
    }

    fn join(self, other: Self) -> Self {
        Self {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
        }
    }
}

impl From<Domain> for Range {
    fn from(domain: Domain) -> Self {
        Self::new(domain.lo, domain.hi)
    }
}

/// The range of `e`, where `atom` gives that of its atoms.
pub(crate) fn range_of<A>(e: &Expr<A>, atom: &impl Fn(&A) -> Option<Range>) -> Option<Range> {
    let range = match e {
        Expr::Const(c) => Range::new(*c, *c),
        Expr::Atom(a) => atom(a)?,
        Expr::Unary(UnOp::Neg, arg) => {
            let arg = range_of(arg, atom)?;
            Range::new(-arg.hi, -arg.lo)
        }
        Expr::Unary(UnOp::Not, _) => Range::new(0, 1),
        Expr::Unary(UnOp::BitNot | UnOp::Wrap { .. }, _) => return None,
        Expr::Binary(op, a, b) => binary(*op, a, b, atom)?,
        Expr::Cond(_, a, b) => range_of(a, atom)?.join(range_of(b, atom)?),
    };
    // Ends beyond 64 bits say nothing useful and could overflow above.
    range.inside(i64::MIN, i64::MAX).then_some(range)
}

fn binary<A>(
    op: BinOp,
    a: &Expr<A>,
    b: &Expr<A>,
    atom: &impl Fn(&A) -> Option<Range>,
) -> Option<Range> {
    if op.is_boolean() {
        return Some(Range::new(0, 1));
    }
    if let (BinOp::Mod, Expr::Const(n @ 1..)) = (op, b) {
        return Some(Range::new(0, n - 1));
    }
    let (x, y) = (range_of(a, atom)?, range_of(b, atom)?);
    match op {
        BinOp::Add => Some(Range::new(x.lo + y.lo, x.hi + y.hi)),
        BinOp::Sub => Some(Range::new(x.lo - y.hi, x.hi - y.lo)),
        BinOp::Mul => Some(Range::of_corners([
            x.lo * y.lo,
            x.lo * y.hi,
            x.hi * y.lo,
            x.hi * y.hi,
        ])),
        BinOp::Div if y.lo == y.hi && y.lo > 0 => {
            Some(Range::new(x.lo.div_euclid(y.lo), x.hi.div_euclid(y.lo)))
        }
        BinOp::Div | BinOp::Mod => None,
        BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::Shl | BinOp::Shr => None,
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => None,
        BinOp::And | BinOp::Or => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_program::Expr as E;

    #[test]
    fn ranges_contain_all_values() {
        // Every expression over x in -3..5 built from one operator and a constant.
        let ops = [
            BinOp::Add,
            BinOp::Sub,
            BinOp::Mul,
            BinOp::Div,
            BinOp::Mod,
            BinOp::Lt,
            BinOp::And,
        ];
        for op in ops {
            for c in [-2, -1, 1, 2, 7] {
                let e = E::Binary(op, Box::new(E::Atom(())), Box::new(E::Const(c)));
                let Some(range) = range_of(&e, &|()| Some(Range::new(-3, 5))) else {
                    continue;
                };
                for x in -3..=5 {
                    let value = e.eval(&|()| x).expect("small values");
                    assert!(range.lo <= value.into() && i128::from(value) <= range.hi);
                }
            }
        }
    }
}
