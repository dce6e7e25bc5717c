//! Random programs against a direct interpreter: the exact set of reachable
//! states is an accepted certificate of every right program under every model,
//! however it is divided into explicit values and data, and no certificate of a
//! violated program is accepted, mutated or not.

mod support;

use palisade_certify::*;
use palisade_program::{Model, Program};
use std::collections::BTreeMap;
use support::interpret::{Exploration, Interpreter};
use support::invariant::{exact, exact_live};
use support::random::{Rng, program_of};

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];
const THREADS: u32 = 2;

fn seeds() -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|count| count.parse().ok()).unwrap_or(40)
}

fn explore(program: &Program, model: Model) -> Exploration {
    Interpreter::new(program, model, THREADS).explore()
}

fn accepted(program: &Program, certificate: &Certificate) -> Result<Checked, Refusal> {
    check(program, certificate, &Options::default())
}

/// Which variables are explicit: all, none, or a random half.
fn divided(
    program: &Program,
    model: Model,
    found: &Exploration,
    way: u64,
    seed: u64,
) -> Certificate {
    let states = found.states.iter().cloned();
    let half = |v: StateVar| {
        let number = u64::from(v.var().expect("small").0);
        Rng::new(number ^ seed << 32).chance(50)
    };
    match way {
        0 => exact(program, model, THREADS, states, |_| true),
        1 => exact(program, model, THREADS, states, |_| false),
        2 => exact(program, model, THREADS, states, half),
        _ => exact_live(program, model, THREADS, states, half, true),
    }
}

#[test]
fn reachable_states_certify_exactly_the_right_programs() {
    let mut tally: BTreeMap<(Model, &str), u32> = BTreeMap::new();
    for seed in 0..seeds() {
        let program = program_of(seed);
        for model in MODELS {
            let found = explore(&program, model);
            if found.bounded {
                *tally.entry((model, "bounded")).or_default() += 1;
                continue;
            }
            let kind = if found.violated { "violated" } else { "holds" };
            *tally.entry((model, kind)).or_default() += 1;
            for way in 0..4 {
                let certificate = divided(&program, model, &found, way, seed);
                let result = accepted(&program, &certificate);
                let context = format!("seed {seed}, {model}, division {way}");
                match result {
                    Ok(_) => assert!(!found.violated, "accepted a violated program: {context}"),
                    Err(refusal) => assert!(found.violated, "{context}: {refusal}"),
                }
            }
        }
    }
    println!("{tally:?}");
    for model in MODELS {
        for kind in ["violated", "holds"] {
            let count = tally.get(&(model, kind)).copied().unwrap_or(0);
            assert!(
                u64::from(count) * 10 >= seeds(),
                "too few {kind} under {model}: {tally:?}"
            );
        }
    }
}
