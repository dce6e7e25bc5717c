//! Random programs: the machine against the reference, reductions on and off,
//! any number of workers, violations replayed.

mod common;

use std::collections::BTreeSet;

use common::{models, parse, reference, soak, word};
use palisade_arbitrary::{Shape, generate};
use palisade_machine::{Options, explore};
use palisade_program::{Model, Origin, Program, Verdict};

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

/// Final states without the temporaries, which the machine does not keep.
fn visible(program: &Program, threads: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let instances = program.instances(2);
    let of = |(values, instance): (&Vec<i64>, &palisade_program::Instance)| {
        let locals = &program.template(instance.template).locals;
        let user = |(value, local): (&i64, &palisade_program::Local)| match local.origin {
            Origin::User => *value,
            Origin::Temporary => 0,
        };
        values.iter().zip(locals).map(user).collect()
    };
    threads.iter().zip(&instances).map(of).collect()
}

#[test]
fn machine_and_reference_agree() {
    let (mut compared, mut violated, mut weak) = (0_u32, 0_u32, 0_u32);
    for seed in 0..soak(200) {
        let text = generate(seed, &shape(seed));
        let program = parse(&text);
        let mut under_sc = false;
        for &model in models(&program) {
            let expected = reference::explore(&program, model, 6_000);
            if expected.states.is_none() {
                continue;
            }
            compared += 1;
            let mut options = Options::new(model);
            options.workers = 1;
            let found = explore(&program, &options).expect("the model fits");
            let context = format!("seed {seed} under {model}:\n{text}");
            let is_violated = matches!(found.verdict, Verdict::Violated(_));
            assert_eq!(
                is_violated, expected.violated,
                "{context}\n{:?}",
                found.verdict
            );
            if let Verdict::Violated(violation) = &found.verdict {
                violated += 1;
                let length = expected.length.expect("a violation has a length");
                assert_eq!(violation.trace.steps.len(), length, "shortest; {context}");
                weak += u32::from(model != Model::Sc && !under_sc);
            } else {
                assert!(found.bounds.is_empty(), "{context}");
                assert_eq!(found.deadlock.is_some(), expected.deadlock, "{context}");
            }
            under_sc |= is_violated && model == Model::Sc;
            finals_agree(&program, model, &expected, &context);
        }
    }
    println!("{compared} compared, {violated} violated, {weak} only under the weak model");
    assert!(compared > 100, "most programs are small");
    let percent = violated * 100 / compared;
    assert!((30..=70).contains(&percent), "{percent} % are violated");
    assert!(weak * 10 >= compared, "the models differ often enough");
}

/// Without properties the machine visits everything: the sets of final states
/// are equal.
fn finals_agree(program: &Program, model: Model, expected: &reference::Answer, context: &str) {
    let mut bare = program.clone();
    bare.properties.clear();
    let mut options = Options::new(model);
    options.collect_finals = true;
    let found = explore(&bare, &options).expect("the model fits");
    if matches!(found.verdict, Verdict::Violated(_)) {
        return; // a failing assertion stops the search
    }
    let ours: BTreeSet<_> = found
        .finals
        .iter()
        .map(|f| (f.cells.clone(), visible(program, &f.locals)))
        .collect();
    let theirs: BTreeSet<_> = expected
        .finals
        .iter()
        .map(|(cells, locals)| (cells.clone(), visible(program, locals)))
        .collect();
    assert_eq!(ours, theirs, "{context}");
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
