//! Random programs against a direct interpreter: the exact set of reachable
//! states is an accepted certificate of every right program under every model,
//! however it is divided into explicit values and data, and no certificate of a
//! violated program is accepted, mutated or not.

use crate::support;

use palisade_certify::*;
use palisade_program::{BinOp, Cell, Expr, FenceKind, LocalExpr, Model, Program, Step};
use std::collections::BTreeMap;
use support::interpret::{Exploration, Interpreter};
use support::invariant::{exact, exact_live};
use support::random::{Rng, program_of, waiting_of};

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];
const THREADS: u32 = 2;

fn seeds() -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|count| count.parse().ok()).unwrap_or(100)
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
        let mut holds_under_sc = false;
        for model in MODELS {
            let found = explore(&program, model);
            if found.bounded {
                *tally.entry((model, "bounded")).or_default() += 1;
                continue;
            }
            let kind = if found.violated { "violated" } else { "holds" };
            *tally.entry((model, kind)).or_default() += 1;
            if found.violated && holds_under_sc {
                *tally.entry((model, "weak only")).or_default() += 1;
            }
            holds_under_sc |= model == Model::Sc && !found.violated;
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
    for model in [Model::Tso, Model::Pso] {
        let count = tally.get(&(model, "weak only")).copied().unwrap_or(0);
        assert!(u64::from(count) * 20 >= seeds(), "{tally:?}");
    }
    for model in MODELS {
        for kind in ["violated", "holds"] {
            let count = tally.get(&(model, kind)).copied().unwrap_or(0);
            assert!(
                u64::from(count) * 5 >= seeds(),
                "too few {kind} under {model}: {tally:?}"
            );
        }
    }
}

/// A certificate that leaves it to the check to find the states.
fn reachable(program: &Program, model: Model, most: u64) -> Certificate {
    let fingerprint = Fingerprint::of(program, model, THREADS);
    Certificate::empty(
        fingerprint,
        Kind::Reachable(Reachable {
            most,
            counters: palisade_certify::Counters::Exact,
        }),
        model,
        THREADS,
    )
}

#[test]
fn the_check_finds_the_reachable_states() {
    let mut tally: BTreeMap<(Model, bool), u64> = BTreeMap::new();
    for seed in 0..4 * seeds() {
        let programs = [program_of(seed), waiting_of(seed)];
        for (program, model) in programs.iter().flat_map(|p| MODELS.map(|m| (p, m))) {
            let found = explore(program, model);
            if found.bounded {
                continue;
            }
            *tally.entry((model, found.violated)).or_default() += 1;
            let context = format!("seed {seed}, {model}");
            match accepted(program, &reachable(program, model, 1_000_000)) {
                Ok(checked) => {
                    assert!(!found.violated, "accepted a violated program: {context}");
                    let states = checked.entries;
                    assert!(0 < states && states <= found.states.len(), "{context}");
                    let fewer = reachable(program, model, states as u64 - 1);
                    accepted(program, &fewer).expect_err("there are more states");
                }
                Err(refusal) => {
                    assert!(found.violated, "{context}: {refusal}");
                    let reason = &refusal.reason;
                    let is_violation = matches!(reason, Reason::Property(_) | Reason::Assertion);
                    assert!(is_violation, "{context}: {refusal}");
                }
            }
        }
    }
    for (kind, count) in &tally {
        assert!(count * 5 >= seeds(), "too few {kind:?}: {tally:?}");
    }
    assert_eq!(tally.len(), 6, "{tally:?}");
}

#[test]
fn reachable_states_are_for_these_models() {
    let program = program_of(1);
    let unsupported = |program: &Program, certificate: &Certificate| {
        let refusal = accepted(program, certificate).expect_err("it is refused");
        assert!(
            matches!(refusal.reason, Reason::Unsupported(_)),
            "{refusal}"
        );
    };
    for model in [Model::Rma, Model::Rc11] {
        unsupported(&program, &reachable(&program, model, 1000));
    }
    let mut certificate = reachable(&program, Model::Sc, 1000);
    certificate.explicit.push(StateVar::Cell(Cell(0)));
    let refusal = accepted(&program, &certificate).expect_err("it is refused");
    assert!(matches!(refusal.reason, Reason::Malformed(_)), "{refusal}");
}

/// One small change of a certificate; `None` where it does not apply.
fn mutated(certificate: &Certificate, rng: &mut Rng) -> Option<(&'static str, Certificate)> {
    let mut changed = certificate.clone();
    let at = rng.below(changed.entries.len().max(1));
    let entry = changed.entries.get_mut(at)?;
    let what = match rng.below(7) {
        0 => {
            changed.entries.remove(at);
            "entry dropped"
        }
        1 => {
            let cube = rng.below(entry.cubes.len().max(1));
            if entry.cubes.len() <= cube {
                return None;
            }
            entry.cubes.remove(cube);
            "cube dropped"
        }
        2 => {
            let values = &mut entry.control.values;
            let i = rng.below(values.len().max(1));
            let value = values.get_mut(i)?.as_mut()?;
            *value += 1;
            "value changed"
        }
        3 => {
            let loc = rng.below(entry.control.locs.len());
            let loc = &mut entry.control.locs[loc];
            loc.0 = loc.0.checked_sub(1)?;
            "location changed"
        }
        4 => {
            let cube = entry.cubes.first_mut()?;
            cube.0.pop()?;
            "literal dropped"
        }
        5 => {
            let cube = entry.cubes.first_mut()?;
            let literal = cube.0.first_mut()?;
            literal.1 = !literal.1;
            "literal turned"
        }
        _ => {
            let values = &mut entry.control.values;
            let i = rng.below(values.len().max(1));
            values.get_mut(i)?.take()?;
            "value forgotten"
        }
    };
    Some((what, changed))
}

/// Changes that take a reachable state out of an exact invariant, unless the
/// result stands for the same states.
fn loses_a_state(what: &str) -> bool {
    !matches!(what, "literal dropped" | "value forgotten")
}

#[test]
fn mutated_certificates_are_refused_when_they_must_be() {
    let mut refused: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..seeds() {
        let program = program_of(seed);
        let model = MODELS[seed as usize % 3];
        let found = explore(&program, model);
        if found.bounded {
            continue;
        }
        let mut rng = Rng::new(seed + 1000);
        let certificate = divided(&program, model, &found, seed / 3 % 3, seed);
        for _ in 0..8 {
            let Some((what, changed)) = mutated(&certificate, &mut rng) else {
                continue;
            };
            let result = accepted(&program, &changed);
            let must = found.violated || loses_a_state(what);
            assert!(!must || result.is_err(), "seed {seed}, {model}: {what}");
            *refused.entry(what).or_default() += u32::from(result.is_err());
        }
    }
    println!("{refused:?}");
    for what in [
        "entry dropped",
        "cube dropped",
        "value changed",
        "location changed",
        "literal dropped",
        "literal turned",
        "value forgotten",
    ] {
        assert!(refused.contains_key(what), "never refused: {what}");
    }
}

#[test]
fn no_mutation_certifies_a_violated_program() {
    let mut tried = 0;
    for seed in 0..seeds() {
        let program = program_of(seed);
        let model = MODELS[seed as usize % 3];
        let found = explore(&program, model);
        if !found.violated || found.bounded {
            continue;
        }
        let mut rng = Rng::new(seed + 2000);
        let mut certificate = divided(&program, model, &found, seed / 3 % 3, seed);
        // A walk of mutations: ever further from the reachable states.
        for _ in 0..12 {
            if let Some((_, changed)) = mutated(&certificate, &mut rng) {
                certificate = changed;
                tried += 1;
                let result = accepted(&program, &certificate);
                assert!(result.is_err(), "seed {seed}, {model}");
            }
        }
    }
    assert!(tried as u64 > seeds());
}

/// The program with one comparison turned or one constant changed.
fn twin(program: &Program, rng: &mut Rng) -> Option<Program> {
    let mut twin = program.clone();
    let t = rng.below(twin.templates.len());
    let edges = &mut twin.templates[t].cfg.edges;
    let at = rng.below(edges.len());
    change_step(&mut edges[at].step, rng).then_some(twin)
}

fn change_step(step: &mut Step, rng: &mut Rng) -> bool {
    match step {
        Step::Assume(e)
        | Step::Assign { value: e, .. }
        | Step::Store { value: e, .. }
        | Step::Assert { cond: e, .. } => change_expr(e),
        Step::Fence(kind) => {
            let before = *kind;
            *kind = FenceKind::Candidate;
            before != *kind
        }
        Step::Load { dst, .. } => {
            dst.0 = 1 - dst.0;
            true
        }
        Step::Atomic(atomic) => {
            let at = rng.below(atomic.body.edges.len());
            change_step(&mut atomic.body.edges[at].step, rng)
        }
        Step::Skip
        | Step::Havoc { .. }
        | Step::Put { .. }
        | Step::Get { .. }
        | Step::Flush(_)
        | Step::RemoteAtomic(_) => false,
    }
}

fn change_expr(e: &mut LocalExpr) -> bool {
    match e {
        Expr::Binary(op @ BinOp::Eq, ..) => *op = BinOp::Ge,
        Expr::Binary(op @ BinOp::Ne, ..) => *op = BinOp::Lt,
        Expr::Binary(op @ BinOp::Lt, ..) => *op = BinOp::Le,
        Expr::Binary(op @ BinOp::Ge, ..) => *op = BinOp::Gt,
        Expr::Const(c) => *c += 1,
        Expr::Binary(_, _, right) => return change_expr(right),
        Expr::Atom(_) | Expr::Unary(..) | Expr::Cond(..) => return false,
    }
    true
}

#[test]
fn certificates_of_another_program_are_refused() {
    let (mut offered, mut refused) = (0, 0);
    for seed in 0..seeds() {
        let program = program_of(seed);
        let model = MODELS[seed as usize % 3];
        let found = explore(&program, model);
        if found.bounded || found.violated {
            continue;
        }
        let mut certificate = divided(&program, model, &found, seed / 3 % 4, seed);
        let mut rng = Rng::new(seed + 3000);
        for _ in 0..4 {
            let Some(twin) = twin(&program, &mut rng) else {
                continue;
            };
            certificate.fingerprint = Fingerprint::of(&program, model, THREADS);
            let reason = accepted(&twin, &certificate).map_err(|r| r.reason);
            assert_eq!(reason, Err(Reason::Fingerprint), "seed {seed}, {model}");
            // Even when the fingerprint is forged, the check finds the truth.
            certificate.fingerprint = Fingerprint::of(&twin, model, THREADS);
            let result = accepted(&twin, &certificate);
            let violated = explore(&twin, model).violated;
            assert!(!violated || result.is_err(), "seed {seed}, {model}");
            offered += 1;
            refused += u32::from(result.is_err());
        }
    }
    println!("{refused} of {offered} forged certificates refused");
    assert!(refused * 10 > offered);
}

#[test]
fn stops_lose_no_violation() {
    let (mut fewer, mut violated) = (0, 0);
    for seed in 0..seeds() {
        let program = program_of(seed);
        for model in MODELS {
            let all = explore(&program, model);
            let mut interpreter = Interpreter::new(&program, model, THREADS);
            let templates = interpreter.instances.iter().map(|i| i.template);
            let stops = templates.map(|t| stops::stops(&program, model, t));
            interpreter.stops = Some(stops.collect());
            let found = interpreter.explore();
            if all.bounded || found.bounded {
                continue;
            }
            assert_eq!(all.violated, found.violated, "seed {seed}, {model}");
            assert!(found.states.is_subset(&all.states));
            fewer += u32::from(found.states.len() < all.states.len());
            violated += u32::from(found.violated);
            let way = seed % 3;
            let mut certificate = divided(&program, model, &found, way, seed);
            certificate.kind = Kind::Stops;
            let result = accepted(&program, &certificate);
            let context = format!("seed {seed}, {model}, division {way}");
            match &result {
                Ok(_) => assert!(!all.violated, "accepted a violated program: {context}"),
                Err(refusal) => assert!(all.violated, "{context}: {refusal}"),
            }
            // As an invariant of all states it would not do.
            if found.states.len() < all.states.len() {
                certificate.kind = Kind::Inductive;
                assert!(accepted(&program, &certificate).is_err(), "{context}");
            }
        }
    }
    println!("{fewer} with fewer states, {violated} violated");
    assert!(u64::from(fewer) * 2 >= seeds() && u64::from(violated) * 2 >= seeds());
}

/// Any accesses are called free of interference, many of them wrongly: a certificate that is accepted
/// proves all the same.
#[test]
fn accesses_free_of_interference_lose_no_violation() {
    let (mut kept, mut disturbed, mut violated) = (0, 0, 0);
    for seed in 0..2 * seeds() {
        let program = if seed % 2 == 0 {
            program_of(seed)
        } else {
            waiting_of(seed)
        };
        for model in MODELS {
            let all = explore(&program, model);
            let mut interpreter = Interpreter::new(&program, model, THREADS);
            let mut rng = Rng::new(seed);
            let chance = [30, 60, 100][rng.below(3)];
            let mut accesses = palisade_certify::candidates(&program, model);
            accesses.retain(|_| rng.chance(chance));
            let instances = &interpreter.instances;
            let stops = palisade_certify::stops_passing(&program, model, instances, &accesses);
            interpreter.stops = Some(stops);
            let found = interpreter.explore();
            if all.bounded || found.bounded {
                continue;
            }
            let mut certificate = divided(&program, model, &found, seed % 3, seed);
            certificate.kind = Kind::Stops;
            certificate.interference_free = accesses;
            let context = format!("seed {seed}, {model}");
            match accepted(&program, &certificate).map_err(|refusal| refusal.reason) {
                Ok(_) => {
                    assert!(!all.violated, "accepted a violated program: {context}");
                    kept += u32::from(!certificate.interference_free.is_empty());
                }
                Err(Reason::Disturbed(_)) => disturbed += 1,
                // What lies between two stops may have too many runs.
                Err(Reason::Unsupported(_)) => {}
                Err(why) => assert!(all.violated, "{context}: {why}"),
            }
            violated += u32::from(all.violated);
        }
    }
    println!("{kept} accepted, {disturbed} disturbed, {violated} violated");
    let enough = |n: u32| u64::from(n) * 4 >= seeds();
    assert!(enough(kept) && enough(disturbed) && enough(violated));
}
