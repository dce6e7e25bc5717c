//! The laws of normal forms: whatever is built, simplified or substituted keeps
//! the meaning of what was written.

use crate::common;

use common::{Raw, any_term, assignment, formula_over, linear, point};
use palisade_logic::{Formula, Int, Overflow, Relation, Substitution, Term, Var, tidy_atoms};
use proptest::prelude::*;

fn parts(term: &Term) -> Vec<(Term, Int)> {
    term.sum()
        .iter()
        .map(|(key, c)| (Term::of_parts(vec![(key.clone(), 1)], 0).unwrap(), *c))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn terms_keep_their_value(raw in any_term(), at in point()) {
        let value = raw.term().eval(&assignment(&at)).unwrap();
        prop_assert_eq!(value, Int::from(raw.value(&at)));
    }

    #[test]
    fn bounds_contain_the_value(raw in any_term(), at in point()) {
        let (low, high) = raw.term().bounds();
        let value = Int::from(raw.value(&at));
        prop_assert!(low.is_none_or(|low| low <= value));
        prop_assert!(high.is_none_or(|high| value <= high));
    }

    #[test]
    fn formulas_keep_their_truth(raw in formula_over(any_term().boxed()), at in point()) {
        let formula = raw.formula();
        let assignment = assignment(&at);
        prop_assert_eq!(formula.eval(&assignment).unwrap(), raw.value(&at));
        prop_assert_eq!(formula.negated().eval(&assignment).unwrap(), !raw.value(&at));
        prop_assert_eq!(formula.simplified().eval(&assignment).unwrap(), raw.value(&at));
        prop_assert_eq!(formula.negated().negated(), formula);
    }

    #[test]
    fn negation_shares_the_atom(a in linear(), b in linear()) {
        let (a, b) = (a.term(), b.term());
        for (one, other) in [
            (Formula::lt(&a, &b), Formula::le(&b, &a)),
            (Formula::lt(&a, &b), Formula::ge(&a, &b)),
            (Formula::gt(&a, &b), Formula::le(&a, &b)),
            (Formula::eq(&a, &b), Formula::ne(&b, &a)),
        ] {
            let (one, other) = (one.unwrap(), other.unwrap());
            prop_assert_eq!(one.atoms(), other.atoms());
            prop_assert_eq!(one.negated(), other);
        }
    }

    #[test]
    fn atoms_are_normal(raw in formula_over(any_term().boxed())) {
        for atom in raw.formula().atoms() {
            let coefficients: Vec<Int> = parts(&atom.term()).into_iter().map(|p| p.1).collect();
            prop_assert!(coefficients[0] > 0);
            let common = (2..=16).find(|d| coefficients.iter().all(|c| c % d == 0));
            prop_assert_eq!(common, None);
            let again = Formula::compare(&atom.term(), atom.relation()).unwrap();
            prop_assert!(matches!(&again, Formula::Literal(l) if l.atom == atom && l.positive));
        }
    }

    #[test]
    fn equal_functions_are_equal_terms(a in linear(), b in linear(), c in linear()) {
        let (a, b, c) = (a.term(), b.term(), c.term());
        prop_assert_eq!(a.plus(&b).unwrap(), b.plus(&a).unwrap());
        let left = a.plus(&b).unwrap().plus(&c).unwrap();
        prop_assert_eq!(left, a.plus(&b.plus(&c).unwrap()).unwrap());
        prop_assert_eq!(a.plus(&b).unwrap().minus(&b).unwrap(), a.clone());
        prop_assert_eq!(a.times(3).unwrap(), a.plus(&a).unwrap().plus(&a).unwrap());
    }

    /// Substitution and evaluation commute: evaluating after substitution is
    /// evaluating with the substituted values.
    #[test]
    fn substitution_commutes_with_evaluation(
        raw in formula_over(any_term().boxed()),
        first in any_term(),
        second in any_term(),
        at in point(),
    ) {
        let substitution: Substitution =
            [(Var(0), first.term()), (Var(1), second.term())].into_iter().collect();
        let substituted = raw.formula().substitute(&substitution).unwrap();
        let mut moved = at.clone();
        moved[0] = first.value(&at);
        moved[1] = second.value(&at);
        prop_assert_eq!(substituted.eval(&assignment(&at)).unwrap(), raw.value(&moved));
    }
}

fn atom(a: &Raw, relation: Relation) -> Formula {
    Formula::compare(&a.term(), relation).unwrap()
}

#[test]
fn pairs_of_inequalities_become_equations() {
    let x = Raw::Var(0);
    let at_most = atom(&x, Relation::Le);
    let below = Formula::lt(&x.term(), &Term::constant(0)).unwrap();
    let equal = atom(&x, Relation::Eq);
    let tidied = tidy_atoms(at_most.atoms().into_iter().chain(below.atoms()));
    assert_eq!(tidied, equal.atoms());
    assert_eq!(at_most.and(&below.negated()).simplified(), equal);
    assert_eq!(at_most.negated().or(&below).simplified(), equal.negated());
}

#[test]
fn merged_bounds_keep_their_meaning() {
    let (x, c) = (Term::var(Var(0)), Term::constant);
    let tight = Formula::le(&x, &c(3)).unwrap();
    let loose = Formula::le(&x, &c(5)).unwrap();
    assert_eq!(tight.and(&loose).simplified(), tight);
    assert_eq!(tight.or(&loose).simplified(), loose);
    let four = Formula::eq(&x, &c(4)).unwrap();
    assert_eq!(tight.and(&four).simplified(), Formula::False);
    let not_three = Formula::ne(&x, &c(3)).unwrap();
    assert_eq!(
        tight.and(&not_three).simplified(),
        Formula::le(&x, &c(2)).unwrap()
    );
}

#[test]
fn printed_as_a_person_would() {
    let names = |var: Var| ["s", "t", "x", "y"][var.0 as usize].to_owned();
    let v = |i: u32| Term::var(Var(i));
    let shown = |f: Result<Formula, Overflow>| f.unwrap().display(&names).to_string();
    let plus = |a: Term, c: Int| a.plus_constant(c).unwrap();
    assert_eq!(shown(Formula::lt(&v(2), &v(3))), "x < y");
    assert_eq!(shown(Formula::le(&v(2), &v(3))), "x <= y");
    assert_eq!(shown(Formula::gt(&v(2), &v(3))), "x > y");
    assert_eq!(shown(Formula::ge(&v(2), &v(3))), "x >= y");
    assert_eq!(shown(Formula::ge(&v(2), &Term::constant(0))), "x >= 0");
    assert_eq!(shown(Formula::lt(&v(2), &Term::constant(0))), "x < 0");
    assert_eq!(shown(Formula::eq(&v(1), &plus(v(0), 1))), "t = s + 1");
    assert_eq!(shown(Formula::eq(&v(0), &plus(v(1), 1))), "s = t + 1");
    assert_eq!(shown(Formula::ne(&v(2), &Term::constant(-4))), "x != -4");
    assert_eq!(shown(Formula::le(&plus(v(2), 2), &v(3))), "x + 2 <= y");
    let odd = Formula::eq(&v(2).modulo(2).unwrap(), &Term::constant(1));
    assert_eq!(shown(odd), "(x % 2) = 1");
    let sum = v(2).times(2).unwrap().plus(&v(3)).unwrap();
    assert_eq!(shown(Formula::le(&sum, &Term::constant(7))), "2*x + y <= 7");
    let both = Formula::lt(&v(2), &v(3))
        .unwrap()
        .and(&Formula::lt(&v(3), &v(2)).unwrap().negated());
    assert_eq!(both.display(&names).to_string(), "x < y && x <= y");
}

/// Arithmetic that wraps at each step, as C's does, has one form.
#[test]
fn remainders_in_remainders_are_left_out() {
    let sum = |a: &Term, b: &Term| a.plus(b).unwrap();
    let [x, y, z] = [0, 1, 2].map(|i| Term::var(Var(i)));
    let (one, other) = (
        sum(&sum(&x, &y).modulo(8).unwrap(), &z).modulo(8).unwrap(),
        sum(&x, &sum(&z, &y).modulo(8).unwrap()).modulo(8).unwrap(),
    );
    assert_eq!(one, other);
    assert_eq!(
        sum(&x.modulo(8).unwrap(), &y).modulo(4),
        sum(&x, &y).modulo(4)
    );
    // Not by a smaller one, and not where the remainder is known to be small.
    assert_ne!(
        sum(&x.modulo(4).unwrap(), &y).modulo(8),
        sum(&x, &y).modulo(8)
    );
    let small = x.modulo(4).unwrap();
    assert_eq!(small.modulo(8).unwrap(), small);
}

#[test]
fn tightening_over_the_integers() {
    let twice = Term::var(Var(0)).times(2).unwrap();
    let half = Formula::le(&twice, &Term::constant(3)).unwrap();
    assert_eq!(
        half,
        Formula::le(&Term::var(Var(0)), &Term::constant(1)).unwrap()
    );
    assert_eq!(
        Formula::eq(&twice, &Term::constant(3)).unwrap(),
        Formula::False
    );
}

#[test]
fn overflow_is_an_error() {
    let huge = Term::wide_constant(palisade_logic::term::LIMIT).unwrap();
    assert_eq!(huge.plus_constant(1), Err(Overflow));
    assert_eq!(huge.times(2), Err(Overflow));
    assert_eq!(Term::var(Var(0)).times(1 << 97), Err(Overflow));
    assert_eq!(huge.negated().plus_constant(-1), Err(Overflow));
}
