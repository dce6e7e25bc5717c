//! Random terms, formulas and assignments, with an evaluator of their raw form
//! that shares nothing with the crate's normal forms.
#![allow(dead_code, unreachable_pub, missing_docs)]

use palisade_logic::{Assignment, Formula, Int, Term, Var};
use proptest::prelude::*;

pub const VARS: u32 = 4;

/// A term as it was written, before normalisation.
#[derive(Clone, Debug)]
pub enum Raw {
    Const(i64),
    Var(u32),
    Add(Box<Raw>, Box<Raw>),
    Sub(Box<Raw>, Box<Raw>),
    Times(i64, Box<Raw>),
    Div(Box<Raw>, i64),
    Mod(Box<Raw>, i64),
    Ite(Box<RawFormula>, Box<Raw>, Box<Raw>),
}

/// A formula as it was written.
#[derive(Clone, Debug)]
pub enum RawFormula {
    Compare(u8, Box<Raw>, Box<Raw>),
    Not(Box<RawFormula>),
    And(Box<RawFormula>, Box<RawFormula>),
    Or(Box<RawFormula>, Box<RawFormula>),
    Iff(Box<RawFormula>, Box<RawFormula>),
    Implies(Box<RawFormula>, Box<RawFormula>),
}

impl Raw {
    pub fn term(&self) -> Term {
        match self {
            Self::Const(c) => Term::constant(*c),
            Self::Var(v) => Term::var(Var(*v)),
            Self::Add(a, b) => a.term().plus(&b.term()).unwrap(),
            Self::Sub(a, b) => a.term().minus(&b.term()).unwrap(),
            Self::Times(c, a) => a.term().times(Int::from(*c)).unwrap(),
            Self::Div(a, d) => a.term().div(Int::from(*d)).unwrap(),
            Self::Mod(a, d) => a.term().modulo(Int::from(*d)).unwrap(),
            Self::Ite(c, a, b) => Term::ite(&c.formula(), &a.term(), &b.term()),
        }
    }

    pub fn value(&self, at: &[i64]) -> i64 {
        match self {
            Self::Const(c) => *c,
            Self::Var(v) => at[*v as usize],
            Self::Add(a, b) => a.value(at) + b.value(at),
            Self::Sub(a, b) => a.value(at) - b.value(at),
            Self::Times(c, a) => c * a.value(at),
            Self::Div(a, d) => a.value(at).div_euclid(*d),
            Self::Mod(a, d) => a.value(at).rem_euclid(*d),
            Self::Ite(c, a, b) => {
                if c.value(at) {
                    a.value(at)
                } else {
                    b.value(at)
                }
            }
        }
    }
}

impl RawFormula {
    pub fn formula(&self) -> Formula {
        match self {
            Self::Compare(op, a, b) => {
                let (a, b) = (a.term(), b.term());
                match op % 6 {
                    0 => Formula::le(&a, &b),
                    1 => Formula::lt(&a, &b),
                    2 => Formula::ge(&a, &b),
                    3 => Formula::gt(&a, &b),
                    4 => Formula::eq(&a, &b),
                    _ => Formula::ne(&a, &b),
                }
                .unwrap()
            }
            Self::Not(a) => a.formula().negated(),
            Self::And(a, b) => a.formula().and(&b.formula()),
            Self::Or(a, b) => a.formula().or(&b.formula()),
            Self::Iff(a, b) => Formula::iff(&a.formula(), &b.formula()),
            Self::Implies(a, b) => a.formula().implies(&b.formula()),
        }
    }

    pub fn value(&self, at: &[i64]) -> bool {
        match self {
            Self::Compare(op, a, b) => {
                let (a, b) = (a.value(at), b.value(at));
                match op % 6 {
                    0 => a <= b,
                    1 => a < b,
                    2 => a >= b,
                    3 => a > b,
                    4 => a == b,
                    _ => a != b,
                }
            }
            Self::Not(a) => !a.value(at),
            Self::And(a, b) => a.value(at) && b.value(at),
            Self::Or(a, b) => a.value(at) || b.value(at),
            Self::Iff(a, b) => a.value(at) == b.value(at),
            Self::Implies(a, b) => !a.value(at) || b.value(at),
        }
    }
}

pub fn linear() -> impl Strategy<Value = Raw> {
    let leaf = prop_oneof![
        (-6_i64..7).prop_map(Raw::Const),
        (0..VARS).prop_map(Raw::Var)
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Raw::Add(a.into(), b.into())),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Raw::Sub(a.into(), b.into())),
            (-4_i64..5, inner).prop_map(|(c, a)| Raw::Times(c, a.into())),
        ]
    })
}

/// `x - y + c` and the like, which the difference-bound procedure handles.
pub fn difference() -> impl Strategy<Value = Raw> {
    (0..VARS, 0..VARS, -4_i64..5, any::<bool>()).prop_map(|(a, b, c, two)| {
        let left = Raw::Add(Raw::Var(a).into(), Raw::Const(c).into());
        if two {
            Raw::Sub(left.into(), Raw::Var(b).into())
        } else {
            left
        }
    })
}

pub fn any_term() -> impl Strategy<Value = Raw> {
    let leaf = prop_oneof![
        (-9_i64..10).prop_map(Raw::Const),
        (0..VARS).prop_map(Raw::Var)
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Raw::Add(a.into(), b.into())),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Raw::Sub(a.into(), b.into())),
            (-4_i64..5, inner.clone()).prop_map(|(c, a)| Raw::Times(c, a.into())),
            (inner.clone(), 1_i64..6).prop_map(|(a, d)| Raw::Div(a.into(), d)),
            (inner.clone(), 1_i64..6).prop_map(|(a, d)| Raw::Mod(a.into(), d)),
            (
                any::<u8>(),
                inner.clone(),
                inner.clone(),
                inner.clone(),
                inner
            )
                .prop_map(|(op, a, b, c, d)| {
                    let condition = RawFormula::Compare(op, a.into(), b.into());
                    Raw::Ite(condition.into(), c.into(), d.into())
                }),
        ]
    })
}

pub fn formula_over<S>(term: S) -> impl Strategy<Value = RawFormula>
where
    S: Strategy<Value = Raw> + Clone + 'static,
{
    let leaf = (any::<u8>(), term.clone(), term)
        .prop_map(|(op, a, b)| RawFormula::Compare(op, a.into(), b.into()));
    leaf.prop_recursive(3, 8, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            inner.prop_map(|a| RawFormula::Not(a.into())),
            two.clone()
                .prop_map(|(a, b)| RawFormula::And(a.into(), b.into())),
            two.clone()
                .prop_map(|(a, b)| RawFormula::Or(a.into(), b.into())),
            two.clone()
                .prop_map(|(a, b)| RawFormula::Iff(a.into(), b.into())),
            two.prop_map(|(a, b)| RawFormula::Implies(a.into(), b.into())),
        ]
    })
}

pub fn point() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(-12_i64..13, VARS as usize)
}

pub fn assignment(point: &[i64]) -> Assignment {
    point
        .iter()
        .enumerate()
        .map(|(i, v)| (Var(i as u32), Int::from(*v)))
        .collect()
}

/// All points with coordinates in `-radius..=radius`.
pub fn small_box(radius: i64) -> Vec<Vec<i64>> {
    let mut points = vec![Vec::new()];
    for _ in 0..VARS {
        points = points
            .iter()
            .flat_map(|p: &Vec<i64>| {
                (-radius..=radius).map(move |v| p.iter().copied().chain([v]).collect())
            })
            .collect();
    }
    points
}
