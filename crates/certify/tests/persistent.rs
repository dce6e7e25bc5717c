//! Reachable states where only the steps of one thread are looked at: what must not be left out.

use crate::support::build::*;

use palisade_certify::*;
use palisade_program::*;

/// What the check finds, with all steps and with those that are enough: how many states, or why it refuses.
fn found(program: &Program, model: Model) -> [Result<usize, Reason>; 2] {
    let states = Reachable {
        most: 10_000,
        counters: Counters::Exact,
    };
    let fingerprint = Fingerprint::of(program, model, 2);
    let certificate = Certificate::empty(fingerprint, Kind::Reachable(states), model, 2);
    [false, true].map(|reduce| {
        let options = Options {
            reduce,
            ..Options::default()
        };
        let checked = check(program, &certificate, &options);
        checked.map(|c| c.entries).map_err(|refusal| refusal.reason)
    })
}

fn globals(names: &[&str]) -> Vec<Global> {
    let all = names.iter().map(|name| global(name, Init::Value(0)));
    all.collect()
}

fn full_fence() -> Step {
    Step::Fence(FenceKind::Full)
}

/// `u` waits for the flag that `v` sets, and then looks at what `t` writes: that `u` cannot move at first does not
/// mean that `t` may always be first.
#[test]
fn who_waits_may_be_woken() {
    let waits = atomic(3, vec![(0, load(0, 0), 1), (1, assume(r(0)), 2)]);
    let once = Count::Once;
    let threads = vec![
        thread("t", once, &[], 2, vec![(0, store(1, k(1)), 1)]),
        thread("v", once, &[], 2, vec![(0, store(0, k(1)), 1)]),
        thread(
            "u",
            once,
            &["r"],
            4,
            vec![(0, waits, 1), (1, load(0, 1), 2), (2, assert(r(0)), 3)],
        ),
    ];
    let program = program(globals(&["f", "x"]), threads, Vec::new());
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let refused = Err(Reason::Assertion);
        assert_eq!(
            found(&program, model),
            [refused.clone(), refused],
            "{model}"
        );
    }
}

/// A thread may store once more, or wait until its first store has arrived: the second is not possible at once, and is
/// not left out.
#[test]
fn a_fence_waits_beside_a_store() {
    let code = vec![
        (0, store(0, k(1)), 1),
        (1, store(1, k(1)), 3),
        (1, full_fence(), 2),
        (2, assert(k(0)), 3),
    ];
    let other = vec![(0, store(2, k(1)), 1)];
    let threads = vec![
        thread("t", Count::Once, &[], 4, code),
        thread("u", Count::Once, &[], 2, other),
    ];
    let program = program(globals(&["x", "y", "z"]), threads, Vec::new());
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let refused = Err(Reason::Assertion);
        assert_eq!(
            found(&program, model),
            [refused.clone(), refused],
            "{model}"
        );
    }
}

/// A thread that goes round for ever beside another one does not keep it from moving.
#[test]
fn a_loop_is_left() {
    // Blocks, so that no buffer grows without end.
    let sets = |value| atomic(2, vec![(0, store(0, k(value)), 1)]);
    let turns = vec![(0, sets(1), 1), (1, sets(0), 0), (0, assume(k(0)), 2)];
    let fails = vec![
        (0, store(1, k(1)), 1),
        (1, load(0, 1), 2),
        (2, assert(bin(BinOp::Eq, r(0), k(0))), 3),
    ];
    let threads = vec![
        thread("t", Count::Once, &[], 3, turns),
        thread("u", Count::Once, &["r"], 4, fails),
    ];
    let program = program(globals(&["x", "y"]), threads, Vec::new());
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let refused = Err(Reason::Assertion);
        assert_eq!(
            found(&program, model),
            [refused.clone(), refused],
            "{model}"
        );
    }
}

/// Threads that work apart take turns in one way only; copies that are alike are counted, not told apart.
#[test]
fn fewer_states() {
    let apart = |var: u32| vec![(0, store(var, k(1)), 1), (1, store(var, k(2)), 2)];
    let alone = |(name, var)| thread(name, Count::Once, &[], 3, apart(var));
    let threads = [("a", 0), ("b", 1), ("c", 2)].map(alone).to_vec();
    let independent = program(globals(&["x", "y", "z"]), threads, Vec::new());
    assert_eq!(found(&independent, Model::Sc), [Ok(27), Ok(7)]);

    let adds = atomic(
        3,
        vec![
            (0, load(0, 0), 1),
            (1, store(0, bin(BinOp::Add, r(0), k(1))), 2),
        ],
    );
    let copies = vec![thread("t", Count::Fixed(4), &["r"], 2, vec![(0, adds, 1)])];
    let program = program(globals(&["x"]), copies, Vec::new());
    assert_eq!(found(&program, Model::Sc), [Ok(16), Ok(5)]);
}
