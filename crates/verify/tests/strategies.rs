//! The strategies behind the loop on random small programs: they
//! differ in cost, never in what they say. Nothing but program counters is
//! explicit, so that there is work for them.

use std::fmt::Write;

use palisade_arbitrary::{Shape, generate};
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Unknown, Verdict};
use palisade_verify::{Extrapolate, Options, Promote, Strategy, verify};

const STRATEGIES: [Strategy; 4] = [
    Strategy::Lazy,
    Strategy::Enumerate,
    Strategy::Cores,
    Strategy::Cubes,
];

/// Rounds after which a program is given up: tables grow with the predicates.
const ROUNDS: usize = 8;

/// How many programs: more under `make soak`.
fn count(default: u64) -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn explored(program: &Program, model: Model) -> Verdict {
    let options = palisade_machine::Options {
        max_states: Some(50_000),
        workers: 1,
        ..palisade_machine::Options::new(model)
    };
    let explored = explore(program, &options);
    explored.expect("random programs suit the model").verdict
}

/// What one strategy says; a proof comes with a checked certificate.
fn decided(program: &Program, strategy: Strategy, text: &str) -> Option<bool> {
    let options = Options {
        strategy,
        cube_size: 2,
        promote: Promote::Never,
        max_rounds: ROUNDS,
        max_states: 20_000,
        ..Options::default()
    };
    answer(program, &options, text)
}

fn answer(program: &Program, options: &Options, text: &str) -> Option<bool> {
    let strategy = (options.strategy, options.extrapolate, options.model);
    let report = verify(program, options);
    match report.verdict {
        Verdict::Holds => {
            assert!(report.certified, "{text}");
            Some(true)
        }
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(why @ (Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_))) => {
            panic!("{strategy:?}: {why}\n{text}")
        }
        Verdict::Unknown(_) => None,
    }
}

#[test]
fn all_strategies_agree_with_the_machine() {
    let mut tally = [[0_usize; 3]; 4];
    let programs = count(150);
    for seed in 0..programs {
        let mut text = generate(50_000 + seed, &Shape::default());
        if seed % 2 == 0 {
            let _ = writeln!(text, "finally (x0 != {});", seed % 3);
        }
        let parsed = palisade_frontend::pal::parse(Source::new("random.pal", text.as_str()));
        let program = parsed.unwrap_or_else(|e| panic!("{e}\n{text}")).program;
        let expected = match explored(&program, Model::Sc) {
            Verdict::Holds => true,
            Verdict::Violated(_) => false,
            Verdict::Unknown(_) => continue,
        };
        for (strategy, row) in STRATEGIES.into_iter().zip(&mut tally) {
            let found = decided(&program, strategy, &text);
            match found {
                Some(true) => row[0] += 1,
                Some(false) => row[1] += 1,
                None => row[2] += 1,
            }
            assert!(found.is_none_or(|f| f == expected), "{strategy:?}\n{text}");
        }
    }
    println!("holds, violated, unknown: {tally:?}");
    for (strategy, [holds, violated, unknown]) in STRATEGIES.into_iter().zip(tally) {
        let total = holds + violated + unknown;
        assert!(total * 2 > programs as usize, "{strategy:?}: few programs");
        assert!(holds * 10 > total, "{strategy:?}: few proofs");
        assert!(violated * 10 > total, "{strategy:?}: few bugs");
        assert!(unknown * 5 < total, "{strategy:?}: {unknown} unknown");
    }
}

/// Under TSO and PSO, with what is taken over from the proof under SC: whatever is
/// lifted, no verdict changes.
#[test]
fn extrapolation_changes_no_verdict() {
    let ways = [
        (Strategy::Lazy, Extrapolate::None),
        (Strategy::Lazy, Extrapolate::Auto),
        (Strategy::Cores, Extrapolate::Predicates),
        (Strategy::Cubes, Extrapolate::Cubes),
    ];
    let shape = Shape {
        store_store: false,
        ..Shape::default()
    };
    let mut tally = [[0_usize; 3]; 4];
    let mut weak_only = 0;
    let programs = count(50);
    for seed in 0..programs {
        let model = [Model::Tso, Model::Pso][(seed % 2) as usize];
        let text = generate(70_000 + seed, &shape);
        let parsed = palisade_frontend::pal::parse(Source::new("random.pal", text.as_str()));
        let program = parsed.unwrap_or_else(|e| panic!("{e}\n{text}")).program;
        let expected = match explored(&program, model) {
            Verdict::Holds => true,
            Verdict::Violated(_) => false,
            Verdict::Unknown(_) => continue,
        };
        weak_only += usize::from(!expected && explored(&program, Model::Sc) == Verdict::Holds);
        for ((strategy, extrapolate), row) in ways.into_iter().zip(&mut tally) {
            let options = Options {
                model,
                strategy,
                extrapolate,
                drop_buffered: seed % 4 < 2,
                cube_size: 2,
                promote: Promote::Never,
                max_rounds: ROUNDS,
                max_states: 10_000,
                ..Options::default()
            };
            let found = answer(&program, &options, &text);
            match found {
                Some(true) => row[0] += 1,
                Some(false) => row[1] += 1,
                None => row[2] += 1,
            }
            let way = (strategy, extrapolate, model);
            assert!(found.is_none_or(|f| f == expected), "{way:?}\n{text}");
        }
    }
    println!("holds, violated, unknown: {tally:?}, {weak_only} only under the weak model");
    for (way, [holds, violated, unknown]) in ways.into_iter().zip(tally) {
        let total = holds + violated + unknown;
        assert!(total * 2 > programs as usize, "{way:?}: few programs");
        assert!(holds * 10 > total, "{way:?}: few proofs");
        assert!(violated * 10 > total, "{way:?}: few bugs");
        assert!(unknown * 4 < total, "{way:?}: {unknown} unknown");
    }
}
