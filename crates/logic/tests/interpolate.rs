//! Interpolants of chains, by every method.

use palisade_logic::{Formula, InterpolateError, Method, Options, Prover, Term, Var};

const METHODS: [Method; 3] = [Method::Spacer, Method::Forward, Method::Backward];

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
