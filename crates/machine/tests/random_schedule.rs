//! Random runs: what they find is a run of a violated program; they find most bugs of small
//! programs, and runs that are no longer and no more restless than they need be.

use palisade_arbitrary::{Shape, generate};
use palisade_machine::{Options, Start, explore, random_schedules, replay};
use palisade_program::{Model, Program, Source, Verdict};

fn program(text: &str) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("random.pal", text));
    parsed
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
        .program
}

#[test]
fn random_schedules_find_bugs_and_nothing_else() {
    let (mut found, mut violated, mut right) = (0, 0, 0);
    for seed in 0..150 {
        let program = program(&generate(seed, &Shape::default()));
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            let mut options = Options::new(model);
            options.max_states = Some(50_000);
            options.workers = 1;
            let explored = explore(&program, &options)
                .expect("suits the model")
                .verdict;
            let start = Start::new(model, options.threads);
            let witness = random_schedules(&program, &start, 100, || false);
            let run = witness.map(|w| replay(&program, &w.start, &w.actions).expect("is a run"));
            let breaks = run.is_some_and(|run| run.violation.is_some());
            match explored {
                Verdict::Violated(_) => violated += 1,
                Verdict::Holds => {
                    assert!(!breaks, "seed {seed}, {model}");
                    right += 1;
                }
                Verdict::Unknown(_) => {}
            }
            found += u32::from(breaks);
        }
    }
    println!("{found} found, {violated} violated, {right} right");
    assert!(right > 100 && found * 10 > violated * 9);
}

/// Only what is needed is left of a run: here one store, one load and the assertion.
#[test]
fn runs_are_minimised() {
    let program = program(
        "shared x = 0; shared y = 0;
        thread w { y = 1; y = 2; x = 1; y = 3; }
        thread v { local s = 0; s = y; s = y; s = y; }
        thread r { local t = 0; t = x; assert(t == 0); }",
    );
    let start = Start::new(Model::Sc, 1);
    let witness = random_schedules(&program, &start, 100, || false).expect("it is frequent");
    let threads: Vec<usize> = witness.actions.iter().map(|a| a.thread).collect();
    assert_eq!(threads, [0, 0, 0, 2, 2]);
}
