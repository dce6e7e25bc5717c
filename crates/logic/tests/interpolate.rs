//! Interpolants of chains, by every method.

use palisade_logic::{
    Formula, InterpolateError, Method, Options, Outcome, Prover, Purpose, Term, Var,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const METHODS: [Method; 4] = Method::ALL;

fn var(index: u32) -> Term {
    Term::var(Var(index))
}

fn number(value: i64) -> Term {
    Term::constant(value)
}

/// `x = 0; x = x + 1 (steps times); assume x < 0` in SSA form.
fn counter(steps: u32) -> Vec<Formula> {
    let mut chain = vec![Formula::eq(&var(0), &number(0)).unwrap()];
    for i in 0..steps {
        let next = var(i).plus(&number(1)).unwrap();
        chain.push(Formula::eq(&var(i + 1), &next).unwrap());
    }
    chain.push(Formula::lt(&var(steps), &number(0)).unwrap());
    chain
}

#[test]
fn a_counting_path_has_interpolants() {
    let mut prover = Prover::new(Options::default());
    for method in METHODS {
        let found = prover.interpolate(&counter(4), method).unwrap();
        assert_eq!(found.len(), 5, "{method:?}");
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        println!("{method:?}: {shown:?}");
    }
}

#[test]
fn a_satisfiable_chain_has_none() {
    let mut prover = Prover::new(Options::default());
    let chain = [
        Formula::gt(&var(0), &number(3)).unwrap(),
        Formula::eq(&var(1), &var(0)).unwrap(),
        Formula::gt(&var(1), &number(4)).unwrap(),
    ];
    for method in METHODS {
        assert_eq!(
            prover.interpolate(&chain, method),
            Err(InterpolateError::Satisfiable)
        );
    }
}

#[test]
fn wrong_sequences_are_rejected() {
    let mut prover = Prover::new(Options::default());
    let chain = counter(1);
    let right = prover.interpolate(&chain, Method::Spacer).unwrap();
    assert_eq!(prover.check_interpolants(&chain, &right), Ok(()));
    let weak = vec![Formula::True; 2];
    assert_eq!(
        prover.check_interpolants(&chain, &weak),
        Err(InterpolateError::Rejected { cut: 2 })
    );
    let foreign = vec![Formula::eq(&var(1), &number(1)).unwrap(), right[1].clone()];
    assert_eq!(
        prover.check_interpolants(&chain, &foreign),
        Err(InterpolateError::Rejected { cut: 0 })
    );
}

/// The SSA form of a random straight-line program over three variables.
#[derive(Clone, Debug)]
enum Step {
    /// `a = b + c`
    Copy(usize, usize, i64),
    /// `a = a + b`
    Add(usize, usize),
    /// `a = *`
    Havoc(usize),
    /// A comparison of two variables.
    Assume(u8, usize, usize, i64),
}

fn step() -> impl Strategy<Value = Step> {
    let v = 0_usize..3;
    prop_oneof![
        2 => (v.clone(), v.clone(), -2_i64..3).prop_map(|(a, b, c)| Step::Copy(a, b, c)),
        1 => (v.clone(), v.clone()).prop_map(|(a, b)| Step::Add(a, b)),
        1 => v.clone().prop_map(Step::Havoc),
        4 => (any::<u8>(), v.clone(), v, -2_i64..3).prop_map(|(op, a, b, c)| Step::Assume(op, a, b, c)),
    ]
}

fn ssa(steps: &[Step]) -> Vec<Formula> {
    let mut now = [var(0), var(1), var(2)];
    let mut fresh = 3;
    let mut chain = Vec::new();
    for step in steps {
        let mut next = |now: &mut [Term; 3], at: usize| {
            now[at] = var(fresh);
            fresh += 1;
            now[at].clone()
        };
        chain.push(match step {
            Step::Copy(a, b, c) => {
                let value = now[*b].plus(&number(*c)).unwrap();
                Formula::eq(&next(&mut now, *a), &value).unwrap()
            }
            Step::Add(a, b) => {
                let value = now[*a].plus(&now[*b]).unwrap();
                Formula::eq(&next(&mut now, *a), &value).unwrap()
            }
            Step::Havoc(a) => {
                next(&mut now, *a);
                Formula::True
            }
            Step::Assume(op, a, b, c) => {
                let b = if a == b { (b + 1) % 3 } else { *b };
                let (left, right) = (&now[*a], &now[b].plus(&number(*c)).unwrap());
                match op % 4 {
                    0 => Formula::lt(left, right),
                    1 => Formula::eq(left, right),
                    2 => Formula::ne(left, right),
                    _ => Formula::ge(left, right),
                }
                .unwrap()
            }
        });
    }
    chain
}

/// On random infeasible paths every method finds interpolants nearly always, and
/// what it finds passes a prover that shares nothing with the one that found it.
#[test]
fn random_paths_have_interpolants() {
    let mut runner = TestRunner::deterministic();
    let paths = prop::collection::vec(step(), 4..12);
    let mut prover = Prover::new(Options::default());
    let mut found = [0_u32; METHODS.len()];
    let (mut infeasible, mut by_differences) = (0, 0);
    for _ in 0..120 {
        let chain = ssa(&paths.new_tree(&mut runner).unwrap().current());
        match prover.solve_all(&chain, Purpose::Other) {
            Outcome::Sat(_) => continue,
            Outcome::Unsat(_) => infeasible += 1,
            Outcome::Unknown(reason) => panic!("{reason}"),
        }
        for (count, method) in found.iter_mut().zip(METHODS) {
            match prover.interpolate(&chain, method) {
                Ok(sequence) => {
                    *count += 1;
                    by_differences += u32::from(method == Method::Cycle);
                    let mut other = Prover::new(Options::plain());
                    assert_eq!(
                        other.check_interpolants(&chain, &sequence),
                        Ok(()),
                        "{method:?}"
                    );
                }
                // `a = a + b` is outside difference bounds.
                Err(InterpolateError::NotDifferences) => *count += 1,
                Err(InterpolateError::Satisfiable) => panic!("{method:?} on {chain:?}"),
                Err(error) => println!("{method:?}: {error}"),
            }
        }
    }
    println!("{infeasible} infeasible paths, {found:?} interpolated, {by_differences} by cycles");
    assert!(
        by_differences * 2 >= infeasible,
        "{by_differences} of {infeasible} by cycles"
    );
    assert!(
        infeasible >= 40,
        "the generator makes too few infeasible paths: {infeasible}"
    );
    assert!(
        found.iter().all(|count| count * 10 >= infeasible * 9),
        "{found:?} of {infeasible}"
    );
}
