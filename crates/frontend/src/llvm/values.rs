//! *Values*: what is known of numbers that only a run decides. A local has a set of values, if
//! they are few, or a range. The sets are sound for all runs: whoever stores something adds it
//! to what loads may bring (see [`super::world`]).

use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_program::{BinOp, Expr, LocalAtom, LocalExpr, LocalId, UnOp};

use super::arith::limits;

/// Largest set that is kept by its elements.
const MOST: usize = 24;
/// Largest product of sets that is enumerated.
const MOST_CASES: usize = 512;
/// Largest range that is enumerated.
const MOST_RANGE: i128 = 64;

/// Numbers: within a range, and among some elements if there is a list.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Values {
    lo: i64,
    hi: i64,
    list: Option<Rc<BTreeSet<i64>>>,
}

impl Values {
    pub(super) fn one(value: i64) -> Self {
        Self::of(BTreeSet::from([value]))
    }

    /// These elements; there is at least one.
    pub(super) fn of(list: BTreeSet<i64>) -> Self {
        let lo = list.first().copied().unwrap_or(0);
        let hi = list.last().copied().unwrap_or(0);
        let list = (list.len() <= MOST.max(MOST_RANGE as usize)).then(|| Rc::new(list));
        Self { lo, hi, list }
    }

    pub(super) const fn range(lo: i64, hi: i64) -> Self {
        Self { lo, hi, list: None }
    }

    /// All words of a width.
    pub(super) const fn all(bits: u32) -> Self {
        let (lo, hi) = limits(bits);
        Self::range(lo, hi)
    }

    pub(super) const fn bounds(&self) -> (i64, i64) {
        (self.lo, self.hi)
    }

    /// The elements, if they are few.
    pub(super) fn list(&self) -> Option<BTreeSet<i64>> {
        if let Some(list) = &self.list {
            return Some((**list).clone());
        }
        let few = i128::from(self.hi) - i128::from(self.lo) < MOST_RANGE;
        few.then(|| (self.lo..=self.hi).collect())
    }

    pub(super) fn contains(&self, value: i64) -> bool {
        match &self.list {
            Some(list) => list.contains(&value),
            None => self.lo <= value && value <= self.hi,
        }
    }

    pub(super) fn includes(&self, other: &Self) -> bool {
        match (&self.list, &other.list) {
            (None, _) => self.lo <= other.lo && other.hi <= self.hi,
            (Some(_), Some(other)) => other.iter().all(|v| self.contains(*v)),
            (Some(_), None) => {
                let elements = other.list();
                elements.is_some_and(|list| list.iter().all(|v| self.contains(*v)))
            }
        }
    }

    pub(super) fn join(&self, other: &Self) -> Self {
        if let (Some(a), Some(b)) = (&self.list, &other.list) {
            let both: BTreeSet<i64> = a.union(b).copied().collect();
            if both.len() <= MOST {
                return Self::of(both);
            }
        }
        Self::range(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    /// As words of this width, which they are.
    pub(super) fn within(self, bits: u32) -> Self {
        let (least, most) = limits(bits);
        if self.list.is_some() || (self.lo >= least && self.hi <= most) {
            return self;
        }
        if self.hi < least || self.lo > most {
            return Self::all(bits);
        }
        Self::range(self.lo.max(least), self.hi.min(most))
    }

    /// Those that satisfy `f`, as far as they can be listed.
    fn filter(&self, f: impl Fn(i64) -> bool) -> Option<Self> {
        let list: BTreeSet<i64> = self.list()?.into_iter().filter(|v| f(*v)).collect();
        (!list.is_empty()).then(|| Self::of(list))
    }
}

/// What is known of each local.
pub(super) type Known = std::collections::BTreeMap<LocalId, Values>;

/// The locals of an expression.
pub(super) fn locals_of(e: &LocalExpr) -> BTreeSet<LocalId> {
    let mut all = BTreeSet::new();
    e.for_each_atom(&mut |atom| {
        if let LocalAtom::Local(id) = atom {
            all.insert(*id);
        }
    });
    all
}

/// An interval that contains the value.
pub(super) fn range_of(e: &LocalExpr, known: &Known) -> (i64, i64) {
    let (lo, hi) = wide_range(e, known);
    let fits = lo >= i128::from(i64::MIN) && hi <= i128::from(i64::MAX);
    if fits {
        (lo as i64, hi as i64)
    } else {
        (i64::MIN, i64::MAX)
    }
}

fn wide_range(e: &LocalExpr, known: &Known) -> (i128, i128) {
    let all = (i128::from(i64::MIN), i128::from(i64::MAX));
    match e {
        Expr::Const(value) => (i128::from(*value), i128::from(*value)),
        Expr::Atom(LocalAtom::Local(id)) => match known.get(id) {
            Some(values) => (i128::from(values.lo), i128::from(values.hi)),
            None => all,
        },
        Expr::Atom(LocalAtom::SelfId) => all,
        Expr::Unary(UnOp::Not, _) => (0, 1),
        Expr::Unary(UnOp::Neg, a) => {
            let (lo, hi) = wide_range(a, known);
            (-hi, -lo)
        }
        Expr::Unary(UnOp::BitNot, _) => all,
        Expr::Unary(UnOp::Wrap { bits, signed }, a) => {
            let round = 1_i128 << bits;
            let (least, most) = if *signed {
                (-round / 2, round / 2 - 1)
            } else {
                (0, round - 1)
            };
            let (lo, hi) = wide_range(a, known);
            if least <= lo && hi <= most {
                (lo, hi)
            } else {
                (least, most)
            }
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (wide_range(a, known), wide_range(b, known));
            let far = |v: i128| v.abs() > 1 << 80;
            if far(a.0) || far(a.1) || far(b.0) || far(b.1) {
                return if op.is_boolean() { (0, 1) } else { all };
            }
            match op {
                BinOp::Add => (a.0 + b.0, a.1 + b.1),
                BinOp::Sub if without_rest(e) => {
                    let least = a.0 - b.1;
                    (if a.0 >= 0 { least.max(0) } else { least }, a.1)
                }
                BinOp::Sub => (a.0 - b.1, a.1 - b.0),
                BinOp::Mul => {
                    let corners = [
                        a.0.saturating_mul(b.0),
                        a.0.saturating_mul(b.1),
                        a.1.saturating_mul(b.0),
                        a.1.saturating_mul(b.1),
                    ];
                    let lo = corners.into_iter().fold(corners[0], i128::min);
                    (lo, corners.into_iter().fold(corners[0], i128::max))
                }
                BinOp::Div if b.0 > 0 => {
                    let corners = [
                        a.0.div_euclid(b.0),
                        a.0.div_euclid(b.1),
                        a.1.div_euclid(b.0),
                        a.1.div_euclid(b.1),
                    ];
                    let lo = corners.into_iter().fold(corners[0], i128::min);
                    (lo, corners.into_iter().fold(corners[0], i128::max))
                }
                BinOp::Mod if b.0 > 0 => {
                    let most = if a.0 >= 0 { a.1.min(b.1 - 1) } else { b.1 - 1 };
                    (0, most)
                }
                BinOp::BitAnd if b.0 >= 0 && a.0 >= 0 => (0, a.1.min(b.1)),
                BinOp::BitAnd if b.0 >= 0 => (0, b.1),
                BinOp::BitAnd if a.0 >= 0 => (0, a.1),
                BinOp::BitOr | BinOp::BitXor if a.0 >= 0 && b.0 >= 0 => {
                    let most = a.1.max(b.1) as u128;
                    (0, (most + 1).next_power_of_two() as i128 - 1)
                }
                BinOp::Shr if b.0 >= 0 && a.0 >= 0 => (0, a.1 >> b.0.min(100)),
                BinOp::Shl if a.0 >= 0 && b.0 >= 0 && b.1 < 40 => (0, a.1 << b.1),
                BinOp::Eq | BinOp::Ne | BinOp::And | BinOp::Or => (0, 1),
                BinOp::Lt if a.1 < b.0 => (1, 1),
                BinOp::Lt if a.0 >= b.1 => (0, 0),
                BinOp::Ge if a.1 < b.0 => (0, 0),
                BinOp::Ge if a.0 >= b.1 => (1, 1),
                BinOp::Gt if a.0 > b.1 => (1, 1),
                BinOp::Gt if a.1 <= b.0 => (0, 0),
                BinOp::Le if a.0 > b.1 => (0, 0),
                BinOp::Le if a.1 <= b.0 => (1, 1),
                BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => (0, 1),
                BinOp::Div | BinOp::Mod | BinOp::BitAnd | BinOp::BitOr => all,
                BinOp::BitXor | BinOp::Shl | BinOp::Shr => all,
            }
        }
        Expr::Cond(_, a, b) => {
            let (a, b) = (wide_range(a, known), wide_range(b, known));
            (a.0.min(b.0), a.1.max(b.1))
        }
    }
}

/// `a - a % n`.
pub(super) fn without_rest(e: &LocalExpr) -> bool {
    match e {
        Expr::Binary(BinOp::Sub, a, rest) => match &**rest {
            Expr::Binary(BinOp::Mod, same, n) => {
                a == same && matches!(**n, Expr::Const(n) if n > 0)
            }
            _ => false,
        },
        _ => false,
    }
}

/// All values that an expression can have, if they are few.
pub(super) fn possible(e: &LocalExpr, known: &Known) -> Option<BTreeSet<i64>> {
    if let Expr::Const(value) = e {
        return Some(BTreeSet::from([*value]));
    }
    let is_listed = |id: &LocalId| known.get(id).and_then(Values::list).is_some();
    if !locals_of(e).iter().all(is_listed) {
        return of_operand(e, known);
    }
    let mut values = BTreeSet::new();
    for case in cases(&locals_of(e), known)? {
        values.insert(value_in(e, &case)?);
    }
    Some(values)
}

/// All combinations of the values of some locals, if they are few.
fn cases(locals: &BTreeSet<LocalId>, known: &Known) -> Option<Vec<Vec<(LocalId, i64)>>> {
    let mut cases: Vec<Vec<(LocalId, i64)>> = vec![Vec::new()];
    for id in locals {
        let list = known.get(id).and_then(Values::list)?;
        if cases.len() * list.len() > MOST_CASES {
            return None;
        }
        cases = cases
            .into_iter()
            .flat_map(|case| {
                let more = list.iter().map(move |v| (*id, *v));
                more.map(move |more| {
                    let mut case = case.clone();
                    case.push(more);
                    case
                })
            })
            .collect();
    }
    Some(cases)
}

/// The values of an expression of which a local has too many: with a constant, those of the other
/// operand, changed by it (`base + (i & 3) * 8` has four); else those of its range.
fn of_operand(e: &LocalExpr, known: &Known) -> Option<BTreeSet<i64>> {
    if let Expr::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl), a, b) = e {
        let with = |a: LocalExpr, b: LocalExpr| value_in(&LocalExpr::binary(*op, a, b), &[]);
        match (&**a, &**b) {
            (a, Expr::Const(c)) => {
                let values = possible(a, known)?;
                let with = |v| with(Expr::Const(v), Expr::Const(*c));
                return values.into_iter().map(with).collect();
            }
            (Expr::Const(c), b) => {
                let values = possible(b, known)?;
                let with = |v| with(Expr::Const(*c), Expr::Const(v));
                return values.into_iter().map(with).collect();
            }
            _ => {}
        }
    }
    let (lo, hi) = range_of(e, known);
    Values::range(lo, hi).list()
}

fn value_in(e: &LocalExpr, case: &[(LocalId, i64)]) -> Option<i64> {
    let env = |atom: &LocalAtom| match atom {
        LocalAtom::Local(id) => case.iter().find(|(l, _)| l == id).map_or(0, |(_, v)| *v),
        LocalAtom::SelfId => 0,
    };
    e.eval(&env).ok()
}

/// What is known of an expression.
pub(super) fn values_of(e: &LocalExpr, known: &Known) -> Values {
    if let Some(list) = possible(e, known)
        && list.len() <= MOST
    {
        return Values::of(list);
    }
    let (lo, hi) = range_of(e, known);
    Values::range(lo, hi)
}

/// Whether a condition is known to hold, or not to.
pub(super) fn decided(e: &LocalExpr, known: &Known) -> Option<bool> {
    let (lo, hi) = range_of(e, known);
    if lo > 0 || hi < 0 {
        return Some(true);
    }
    if (lo, hi) == (0, 0) {
        return Some(false);
    }
    let values = possible(e, known)?;
    if !values.contains(&0) {
        return Some(true);
    }
    (values.len() == 1).then_some(false)
}

/// Adds that a condition is true, or false.
pub(super) fn refine(e: &LocalExpr, is: bool, known: &mut Known) {
    if let Expr::Unary(UnOp::Not, a) = e {
        return refine(a, !is, known);
    }
    if let Expr::Binary(op, a, b) = e
        && ((*op == BinOp::And && is) || (*op == BinOp::Or && !is))
    {
        refine(a, is, known);
        return refine(b, is, known);
    }
    let locals = locals_of(e);
    if locals.len() > 1 {
        return refine_together(e, is, &locals, known);
    }
    let Some(id) = locals.first() else { return };
    let Some(values) = known.get(id) else { return };
    let holds = |v: i64| value_in(e, &[(*id, v)]).is_none_or(|value| (value != 0) == is);
    if values.list().is_some() {
        if let Some(fewer) = values.filter(holds) {
            known.insert(*id, fewer);
        }
        return;
    }
    if let Expr::Binary(op, a, b) = e
        && let (Expr::Atom(_), Expr::Const(n)) = (&**a, &**b)
    {
        let (lo, hi) = values.bounds();
        let op = match (op, is) {
            (BinOp::Lt, true) | (BinOp::Ge, false) => BinOp::Lt,
            (BinOp::Le, true) | (BinOp::Gt, false) => BinOp::Le,
            (BinOp::Gt, true) | (BinOp::Le, false) => BinOp::Gt,
            (BinOp::Ge, true) | (BinOp::Lt, false) => BinOp::Ge,
            (BinOp::Eq, true) | (BinOp::Ne, false) => BinOp::Eq,
            _ => return,
        };
        let (lo, hi) = match op {
            BinOp::Lt => (lo, hi.min(n.saturating_sub(1))),
            BinOp::Le => (lo, hi.min(*n)),
            BinOp::Gt => (lo.max(n.saturating_add(1)), hi),
            BinOp::Ge => (lo.max(*n), hi),
            _ => (*n, *n),
        };
        if lo <= hi {
            known.insert(*id, Values::range(lo, hi));
        }
    }
}

/// Of each local of a condition those values that go with some of the others.
fn refine_together(e: &LocalExpr, is: bool, locals: &BTreeSet<LocalId>, known: &mut Known) {
    let Some(cases) = cases(locals, known) else {
        return;
    };
    let holds = |case: &[(LocalId, i64)]| value_in(e, case).is_none_or(|v| (v != 0) == is);
    let cases: Vec<_> = cases.into_iter().filter(|case| holds(case)).collect();
    for id in locals {
        let of = |case: &Vec<(LocalId, i64)>| case.iter().find(|(l, _)| l == id).map(|(_, v)| *v);
        let list: BTreeSet<i64> = cases.iter().filter_map(of).collect();
        if !list.is_empty() {
            known.insert(*id, Values::of(list));
        }
    }
}
