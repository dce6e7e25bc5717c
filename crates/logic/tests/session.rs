//! The prover against brute force over a small box, and what limits do.

use palisade_logic::{
    Answer, Assignment, Cluster, Formula, Limits, Lit, Options, Outcome, Prover, Purpose, Reason,
    Term, Var,
};
use std::sync::atomic::Ordering;
use std::time::Duration;

fn var(index: u32) -> Term {
    Term::var(Var(index))
}

fn number(value: i64) -> Term {
    Term::constant(value)
}

#[test]
fn a_cycle_of_less_than_is_unsatisfiable_with_its_core() {
    let mut prover = Prover::new(Options::default());
    let pairs = [(0, 1), (5, 6), (1, 2), (2, 0)];
    let lits: Vec<Lit> = pairs
        .iter()
        .map(|(a, b)| prover.literal(&Formula::lt(&var(*a), &var(*b)).unwrap()))
        .collect();
    assert_eq!(
        prover.check(Cluster(0), &lits, Purpose::Other),
        Answer::Unsat(vec![0, 2, 3])
    );
    assert_eq!(
        prover.check(Cluster(0), &lits[..3], Purpose::Other),
        Answer::Sat
    );
}

#[test]
fn models_satisfy_the_query() {
    let mut prover = Prover::new(Options::default());
    let odd = Formula::eq(&var(0).modulo(2).unwrap(), &number(1)).unwrap();
    let sum = Formula::eq(&var(0).plus(&var(1)).unwrap(), &number(10)).unwrap();
    let small = Formula::lt(&var(0), &number(-3)).unwrap();
    let all = [odd, sum, small];
    match prover.solve_all(&all, Purpose::Other) {
        Outcome::Sat(model) => assert!(all.iter().all(|f| f.eval(&model).unwrap())),
        other => panic!("expected a model, got {other:?}"),
    }
}

#[test]
fn cancellation_makes_answers_unknown() {
    let limits = Limits::default();
    let mut prover = Prover::new(Options {
        limits: limits.clone(),
        ..Options::default()
    });
    let positive = prover.literal(&Formula::gt(&var(0), &number(0)).unwrap());
    limits.cancel.store(true, Ordering::Relaxed);
    let answer = prover.check(Cluster(0), &[positive], Purpose::Other);
    assert_eq!(answer, Answer::Unknown(Reason::Cancelled));
    limits.cancel.store(false, Ordering::Relaxed);
    assert_eq!(
        prover.check(Cluster(0), &[positive], Purpose::Other),
        Answer::Sat
    );
}

/// Subset sum with large coefficients, which no solver decides at once.
fn hard(terms: u32) -> Vec<Formula> {
    let mut total = number(0);
    let mut all = Vec::new();
    for i in 0..terms {
        let weight = 1_000_003 + 7_919 * i128::from(i) * i128::from(i) % 1_000_033;
        total = total.plus(&var(i).times(weight).unwrap()).unwrap();
        all.push(Formula::ge(&var(i), &number(0)).unwrap());
        all.push(Formula::le(&var(i), &number(1)).unwrap());
    }
    all.push(
        Formula::eq(
            &total.times(2).unwrap(),
            &total.plus_constant(20_500_123).unwrap(),
        )
        .unwrap(),
    );
    all
}

#[test]
fn a_query_beyond_its_time_is_unknown() {
    let limits = Limits {
        query: Some(Duration::from_millis(300)),
        ..Limits::default()
    };
    let mut prover = Prover::new(Options {
        limits,
        ..Options::default()
    });
    match prover.solve_all(&hard(60), Purpose::Other) {
        // Whether the time suffices depends on the machine; an answer must be right.
        Outcome::Sat(model) => assert!(hard(60).iter().all(|f| f.eval(&model).unwrap())),
        Outcome::Unsat(_) => {}
        Outcome::Unknown(reason) => assert_eq!(reason, Reason::QueryTime),
    }
    assert_eq!(Assignment::default().value(Var(3)), 0);
}
