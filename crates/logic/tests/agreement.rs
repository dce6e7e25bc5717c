//! Every way of answering agrees: brute force over a small box, the plain
//! solver, the memo, and the procedure for difference bounds.

use crate::common;

use common::{Raw, RawFormula, any_term, assignment, difference, formula_over, linear, small_box};
use palisade_logic::stats::Source;
use palisade_logic::{Answer, Cluster, Formula, Lit, Options, Outcome, Prover, Purpose};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

fn provers() -> Vec<(&'static str, Prover)> {
    let of = |memo, differences| {
        Prover::new(Options {
            memo,
            differences,
            ..Options::default()
        })
    };
    vec![
        ("plain", of(false, false)),
        ("memo", of(true, false)),
        ("differences", of(false, true)),
        ("both", of(true, true)),
    ]
}

/// How many random queries; `PALISADE_SOAK` multiplies.
fn cases(few: u32) -> ProptestConfig {
    let soak = std::env::var("PALISADE_SOAK")
        .ok()
        .and_then(|s| s.parse().ok());
    let cases = soak.map_or(few, |count: u32| few.saturating_mul(count));
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn satisfiable_in(points: &[Vec<i64>], query: &[RawFormula]) -> bool {
    points.iter().any(|at| query.iter().all(|f| f.value(at)))
}

/// Asks all provers, which live on from query to query as they do in use.
fn check(
    provers: &mut [(&'static str, Prover)],
    points: &[Vec<i64>],
    query: &[RawFormula],
) -> Result<(), TestCaseError> {
    let formulas: Vec<Formula> = query.iter().map(RawFormula::formula).collect();
    let in_box = satisfiable_in(points, query);
    let mut truth = None;
    for (name, prover) in provers {
        let lits: Vec<Lit> = formulas.iter().map(|f| prover.literal(f)).collect();
        let sat = match prover.check(Cluster(0), &lits, Purpose::Other) {
            Answer::Sat => true,
            Answer::Unsat(core) => {
                prop_assert!(!in_box, "{} says unsat, but a point satisfies all", name);
                let core: Vec<RawFormula> = core.iter().map(|at| query[*at].clone()).collect();
                prop_assert!(
                    !satisfiable_in(points, &core),
                    "{}: the core is satisfiable",
                    name
                );
                false
            }
            Answer::Unknown(reason) => return Err(TestCaseError::fail(reason.to_string())),
        };
        prop_assert_eq!(
            *truth.get_or_insert(sat),
            sat,
            "{} differs from plain",
            name
        );
        match prover.check_model(Cluster(0), &lits, Purpose::Other) {
            Outcome::Sat(model) => {
                prop_assert!(sat);
                prop_assert!(
                    formulas.iter().all(|f| f.eval(&model) == Ok(true)),
                    "{}",
                    name
                );
            }
            Outcome::Unsat(_) => prop_assert!(!sat),
            Outcome::Unknown(reason) => return Err(TestCaseError::fail(reason.to_string())),
        }
    }
    Ok(())
}

fn run(few: u32, query: impl Strategy<Value = Vec<RawFormula>>, radius: i64) {
    let mut provers = provers();
    let points = small_box(radius);
    let provers = std::cell::RefCell::new(&mut provers);
    TestRunner::new_with_rng(
        cases(few),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    )
    .run(&query, |query| {
        check(&mut provers.borrow_mut()[..], &points, &query)
    })
    .unwrap();
}

fn comparison(term: impl Strategy<Value = Raw>) -> impl Strategy<Value = RawFormula> {
    (any::<u8>(), term).prop_map(|(op, a)| RawFormula::Compare(op, a.into(), Raw::Const(0).into()))
}

#[test]
fn on_difference_bounds() {
    run(
        400,
        prop::collection::vec(comparison(difference()), 1..9),
        3,
    );
}

#[test]
fn on_formulas_over_difference_bounds() {
    run(
        200,
        prop::collection::vec(formula_over(difference().boxed()), 1..5),
        3,
    );
}

#[test]
fn on_linear_literals() {
    run(200, prop::collection::vec(comparison(linear()), 1..7), 3);
}

#[test]
fn on_mixed_literals() {
    let mixed = prop_oneof![
        3 => comparison(difference()).boxed(),
        1 => comparison(linear()).boxed(),
        1 => formula_over(difference().boxed()).boxed(),
    ];
    run(200, prop::collection::vec(mixed, 1..8), 3);
}

#[test]
fn on_arbitrary_formulas() {
    run(
        60,
        prop::collection::vec(formula_over(any_term().boxed()), 1..4),
        2,
    );
}

#[test]
fn difference_bounds_need_no_solver() {
    let mut prover = Prover::new(Options::default());
    let (x, y, zero) = (Raw::Var(0).term(), Raw::Var(1).term(), Raw::Const(0).term());
    let bounds = [
        Formula::ge(&x, &zero),
        Formula::le(&x, &y),
        Formula::le(&y, &zero),
        Formula::ne(&x, &y),
    ];
    let lits: Vec<Lit> = bounds
        .into_iter()
        .map(|f| prover.literal(&f.unwrap()))
        .collect();
    assert_eq!(
        prover.check(Cluster(0), &lits, Purpose::Other),
        Answer::Unsat(vec![0, 1, 2, 3])
    );
    assert_eq!(
        prover.check(Cluster(0), &lits[1..], Purpose::Other),
        Answer::Sat
    );
    assert_eq!(
        prover.stats().answers(Purpose::Other, Source::Difference),
        2
    );
    assert_eq!(prover.stats().total_solver_calls(), 0);
}

#[test]
fn one_point_is_a_model() {
    // The generators' own evaluator and the crate's agree on a sample point.
    let at = vec![1, -2, 3, 0];
    let sum = Raw::Add(Raw::Var(0).into(), Raw::Times(2, Raw::Var(1).into()).into());
    assert_eq!(
        sum.term().eval(&assignment(&at)),
        Ok(i128::from(sum.value(&at)))
    );
}
