//! Random structures and formulas for the tests of laws.
#![allow(dead_code)] // not every test uses all of them

use palisade_shape::formula::{Closure, Formula, Var};
use palisade_shape::kleene::Kleene;
use palisade_shape::naive::World;
use palisade_shape::structure::Structure;
use palisade_shape::vocabulary::{PredId, Properties, Vocabulary};
use proptest::prelude::*;

/// Predicates of every arity, abstraction predicates and others.
pub(crate) fn vocabulary() -> Vocabulary {
    let mut v = Vocabulary::new();
    let none = Properties::default();
    v.add("flag", 0, true, none);
    v.add("p", 1, true, none);
    v.add("q", 1, true, none);
    v.add("s", 1, false, none);
    v.add("n", 2, false, none);
    v.add("m", 2, false, none);
    v.add("t", 3, false, none);
    v
}

/// As many cases as `PALISADE_SOAK` says.
pub(crate) fn cases() -> ProptestConfig {
    let soak = std::env::var("PALISADE_SOAK")
        .ok()
        .and_then(|s| s.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        cases: soak.unwrap_or(150),
        ..ProptestConfig::default()
    }
}

/// A structure from random digits: values 0, 1/2, 1; `ac` 1 mostly.
pub(crate) fn structure(voc: &Vocabulary, n: usize, digits: &[u8], absent: bool) -> Structure {
    let mut at = 0;
    let mut next = || {
        at += 1;
        digits[at % digits.len()].wrapping_add((at / digits.len()) as u8)
    };
    let mut s = Structure::new(voc, n);
    for p in voc.ids() {
        let arity = voc.get(p).arity;
        for tuple in World::new(voc, n).tuples(arity) {
            let d = next();
            let value = match p {
                PredId::SM if d % 3 == 0 => Kleene::Half,
                PredId::SM => Kleene::False,
                PredId::AC if absent && d % 7 == 0 => Kleene::Half,
                PredId::AC => Kleene::True,
                _ => [Kleene::False, Kleene::False, Kleene::Half, Kleene::True][d as usize % 4],
            };
            s.set(voc, p, &tuple, value);
        }
    }
    s
}

/// Structures of up to four objects.
pub(crate) fn arb_structure(absent: bool) -> impl Strategy<Value = Structure> {
    (0..5usize, proptest::collection::vec(any::<u8>(), 40..200))
        .prop_map(move |(n, d)| structure(&vocabulary(), n, &d, absent))
}

fn var() -> impl Strategy<Value = Var> {
    (0..4u32).prop_map(Var)
}

/// Formulas over the variables 0 to 3.
pub(crate) fn arb_formula() -> impl Strategy<Value = Formula> {
    let leaf = prop_oneof![
        (0..3usize).prop_map(|k| Formula::Value(Kleene::ALL[k])),
        (var(), var()).prop_map(|(a, b)| Formula::Eq(a, b)),
        Just(Formula::Atom(PredId(2), vec![])),
        (3..6u32, var()).prop_map(|(p, v)| Formula::Atom(PredId(p), vec![v])),
        (6..8u32, var(), var()).prop_map(|(p, a, b)| Formula::Atom(PredId(p), vec![a, b])),
        (var(), var(), var()).prop_map(|(a, b, c)| Formula::Atom(PredId(8), vec![a, b, c])),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(Formula::not),
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Formula::And),
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Formula::Or),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| Formula::Ite(
                Box::new(c),
                Box::new(a),
                Box::new(b)
            )),
            (var(), inner.clone()).prop_map(|(v, f)| Formula::Exists(v, Box::new(f))),
            (var(), inner.clone()).prop_map(|(v, f)| Formula::Forall(v, Box::new(f))),
            (var(), var(), inner).prop_map(|(from, to, body)| Formula::Tc(Box::new(Closure {
                from,
                to,
                a: Var(0),
                b: Var(1),
                body
            }))),
        ]
    })
}
