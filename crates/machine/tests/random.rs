//! Random programs: reductions on and off, any number of workers. (The machine against a naive
//! interpreter: `crates/soak`.)

use crate::common;

use common::{models, parse, soak, word};
use palisade_arbitrary::{Shape, generate};
use palisade_machine::{Options, explore};
use palisade_program::{Model, Program, Verdict};

/// Shapes in turn, so that every seed has one.
fn shape(seed: u64) -> Shape {
    match seed % 6 {
        0 => Shape {
            threads: 3,
            statements: 3,
            ..Shape::default()
        },
        1 if seed % 12 == 1 => Shape {
            remote_atomics: true,
            statements: 3,
            ..Shape::rma()
        },
        1 => Shape {
            local_flushes: seed % 24 == 7,
            ..Shape::rma()
        },
        2 => Shape {
            threads: 3,
            vars: 3,
            statements: 3,
            modulus: 2,
            ..Shape::default()
        },
        3 => Shape {
            loops: false,
            statements: 6,
            ..Shape::default()
        },
        _ => Shape::default(),
    }
}

/// The program, every third time with deadlocks as violations.
fn asking(program: Program, seed: u64) -> Program {
    Program {
        deadlock: seed.is_multiple_of(3),
        ..program
    }
}

#[test]
fn reductions_and_workers_do_not_matter() {
    let (mut plain_states, mut reduced_states) = (0, 0);
    for seed in 0..soak(200) {
        let text = generate(seed.wrapping_add(1_000_000), &shape(seed));
        let program = asking(parse(&text), seed);
        for &model in models(&program) {
            let context = format!("seed {seed} under {model}:\n{text}");
            let explored = |partial_order, symmetry, workers| {
                let mut options = Options::new(model);
                options.partial_order = partial_order;
                options.symmetry = symmetry;
                options.workers = workers;
                options.max_states = Some(300_000);
                explore(&program, &options).expect("the model fits")
            };
            let plain = explored(false, false, 1);
            if plain.stats.states > 300_000 {
                continue;
            }
            plain_states += plain.stats.states;
            for (partial_order, symmetry) in [(true, false), (false, true), (true, true)] {
                let reduced = explored(partial_order, symmetry, 1);
                let (a, b) = (word(&plain.verdict), word(&reduced.verdict));
                assert_eq!(
                    a, b,
                    "order {partial_order}, symmetry {symmetry}; {context}"
                );
                if let (Verdict::Violated(a), Verdict::Violated(b)) =
                    (&plain.verdict, &reduced.verdict)
                {
                    assert_eq!(a.trace.steps.len(), b.trace.steps.len(), "{context}");
                } else {
                    let bounds = (plain.bounds, reduced.bounds);
                    assert_eq!(bounds.0, bounds.1, "{context}");
                    assert_eq!(
                        plain.deadlock.is_some(),
                        reduced.deadlock.is_some(),
                        "{context}"
                    );
                }
                if partial_order && symmetry {
                    reduced_states += reduced.stats.states;
                    let parallel = explored(true, true, 3);
                    assert_eq!(parallel.verdict, reduced.verdict, "{context}");
                    assert_eq!(parallel.stats.states, reduced.stats.states, "{context}");
                    assert_eq!(
                        parallel.stats.transitions, reduced.stats.transitions,
                        "{context}"
                    );
                }
            }
        }
    }
    println!("{plain_states} states without reductions, {reduced_states} with both");
    assert!(reduced_states < plain_states);
}

/// Delays of the network lose nothing, whatever room there is and however operations are
/// counted.
#[test]
fn delays_of_the_network_do_not_matter() {
    let (mut plain_states, mut reduced_states, mut violated, mut held) = (0, 0, 0, 0);
    for seed in 0..soak(300) {
        let shape = Shape {
            remote_atomics: seed % 4 == 3,
            local_flushes: seed % 3 == 1,
            statements: 3 + seed as usize % 2,
            ..Shape::rma()
        };
        let text = generate(seed.wrapping_add(2_000_000), &shape);
        let program = asking(parse(&text), seed);
        let context = format!("seed {seed}:\n{text}");
        let explored = |partial_order| {
            let mut options = Options::new(Model::Rma);
            options.partial_order = partial_order;
            options.workers = 1;
            options.saturate = [None, Some(1), None, Some(2), None][seed as usize % 5];
            // Counted, one operation may become two entries: delays leave more room.
            if options.saturate.is_none() {
                options.buffer = Some([16, 1, 2, 3][seed as usize % 4]);
            }
            options.collect_finals = seed % 7 < 3;
            options.max_states = Some(100_000);
            explore(&program, &options).expect("the model fits")
        };
        let plain = explored(false);
        if plain.stats.states > 100_000 {
            continue;
        }
        let reduced = explored(true);
        plain_states += plain.stats.states;
        reduced_states += reduced.stats.states;
        assert_eq!(plain.finals, reduced.finals, "{context}");
        match (&plain.verdict, &reduced.verdict) {
            (Verdict::Violated(_), Verdict::Violated(_)) => violated += 1,
            // With counted operations the first violation may be none of the machine's.
            (Verdict::Violated(_), Verdict::Unknown(_)) if seed % 5 % 2 == 1 => {}
            (Verdict::Unknown(_), Verdict::Violated(_)) if seed % 5 % 2 == 1 => {}
            (plain, reduced) => {
                assert_eq!(word(plain), word(reduced), "{context}");
                held += 1;
            }
        }
        if !matches!(plain.verdict, Verdict::Violated(_)) {
            assert_eq!(plain.bounds, reduced.bounds, "{context}");
            assert_eq!(
                plain.deadlock.is_some(),
                reduced.deadlock.is_some(),
                "{context}"
            );
        }
    }
    println!("{violated} violated, {held} others; {plain_states} states, {reduced_states} reduced");
    assert!(violated > 30 && held > 30, "{violated}, {held}");
}
