//! Abstract buffers against the machine: on random programs and on shapes they miss
//! nothing; where no store is beyond the exact cells they add nothing; on shapes
//! that they are there for they prove something; and seeded faults are caught.

use crate::common;

use common::over::{CLAIMS, Claimed, KEEPS, Way, covers, reduce, stuttering};
use common::over_faults::FAULTS;
use common::shapes::SHAPES;
use common::{Change, Disagreement, WEAK, is_small, parse, soak, unchanged};
use palisade_arbitrary::{Shape, generate};
use palisade_machine::{Options, explore};
use palisade_memory::reduced::Reduced;
use palisade_memory::summary::Keep;
use palisade_program::{Model, Program, Verdict};

#[test]
fn nothing_is_missed() {
    let count = soak(72);
    let (mut violated, mut wider, mut broken, mut large) = (0, 0, 0, 0);
    for seed in 0..count {
        let shape = Shape {
            modulus: 2 + (seed % 3) as i64,
            vars: 1 + (seed % 2) as usize,
            statements: 4,
            ..Shape::default()
        };
        let text = generate(seed, &shape);
        let program = stuttering(&parse(&text));
        // All combinations in turn, in another order than the shapes.
        let number = (seed / 2) as usize;
        let model = WEAK[number % 2];
        let keep = KEEPS[number / 2 % 2];
        let claimed = CLAIMS[number / 4 % 3];
        let k = 1 + u32::from(number / 12 % 3 == 2);
        if !is_small(&program, model) {
            large += 1;
            continue;
        }
        let seen = covers(&program, model, (k, keep, claimed), &unchanged)
            .unwrap_or_else(|d| panic!("seed {seed}: {d}\n{text}"));
        violated += u64::from(seen.violated);
        wider += u64::from(seen.wider);
        broken += u64::from(seen.broken);
        large += u64::from(seen.large);
    }
    println!(
        "{count} programs: {violated} violated, {wider} wider, {broken} with wrong claims, {large} too large"
    );
    assert!(violated * 5 > count, "too few say something");
    assert!(
        broken * 50 > count && wider * 10 > count,
        "buffers hardly fill"
    );
    assert!(large * 4 < count);
}

/// Programs that the abstraction proves with one exact cell, by model: what it is
/// there for. Each is here for rules that a fault would break by adding runs.
const PROVED: [(&str, &str, &[Model]); 7] = [
    (
        "the last store wins",
        "shared x = 0; thread t { x = 1; x = 2; x = 3; } finally (x == 3);",
        &WEAK,
    ),
    (
        "the last store of each variable wins",
        "shared x = 0; shared y = 0; thread t { x = 1; y = 1; x = 2; y = 2; x = 3; } \
         finally (x == 3 && y == 2);",
        &WEAK,
    ),
    (
        "own stores are read, the newest first",
        "shared x = 0; shared y = 0; thread t { local r = 0; x = 1; y = 1; x = 2; x = 3; r = x; \
         assert(r == 3); r = y; assert(r == 1); }",
        &WEAK,
    ),
    (
        "a fence waits for all",
        "shared x = 0; shared y = 0; \
         thread a { local r = 0; x = 1; x = 1; x = 1; fence; r = y; done: } \
         thread b { local r = 0; y = 1; y = 1; y = 1; fence; r = x; done: } \
         finally (a.r == 1 || b.r == 1);",
        &WEAK,
    ),
    (
        "an atomic block waits for all",
        "shared x = 0; shared y = 0; \
         thread a { local r = 0; x = 1; x = 1; x = 1; atomic { r = y; } } \
         thread b { local r = 0; y = 1; y = 1; y = 1; atomic { r = x; } } \
         finally (a.r == 1 || b.r == 1);",
        &WEAK,
    ),
    (
        "rising stores are seen rising",
        "shared x = 0; thread t { x = 1; x = 2; x = 3; x = 4; } \
         thread u { local r = 0; local s = 0; r = x; s = x; assert(r <= s); }",
        &WEAK,
    ),
    (
        "what is in the cells comes after the set",
        "shared x = 0; shared y = 0; thread t { x = 1; x = 1; y = 1; } \
         thread u { local r = 0; local s = 0; r = y; s = x; assert(s >= r); }",
        &[Model::Tso],
    ),
];

/// Whether the reduced program has no violation, and an end.
fn proves(program: &Program, model: Model, way: Way, change: Change<'_>) -> bool {
    let mut reduced = reduce(program, model, way);
    change(program, &mut reduced);
    let mut options = Options::new(Model::Sc);
    options.workers = 1;
    options.any = palisade_program::Domain { lo: 0, hi: 4 };
    let found = explore(&reduced.program, &options).expect("it fits");
    !matches!(found.verdict, Verdict::Violated(_))
}

/// The claim under which a program of [`PROVED`] is proved.
fn claim_of(name: &str) -> Claimed {
    match name {
        "rising stores are seen rising" => Claimed::Rising,
        _ => Claimed::Among,
    }
}

/// Which way of keeping stores proves the last program: those to `x` are older.
fn suits(name: &str, keep: Keep) -> bool {
    !name.starts_with("what is in the cells") || keep == Keep::Newest
}

fn proofs(
    keep: Keep,
    model: Model,
    claimed: Option<Claimed>,
    change: Change<'_>,
) -> Option<&'static str> {
    let own = PROVED.iter().filter(|(name, _, models)| {
        suits(name, keep) && models.contains(&model) && claimed.is_none_or(|c| c == claim_of(name))
    });
    let mut failing = own
        .filter(|(name, text, _)| !proves(&parse(text), model, (1, keep, claim_of(name)), change));
    failing.next().map(|(name, ..)| *name)
}

#[test]
fn what_is_there_to_be_proved_is_proved() {
    for keep in KEEPS {
        for model in WEAK {
            assert_eq!(
                proofs(keep, model, None, &unchanged),
                None,
                "{keep:?} {model}"
            );
        }
    }
}

/// The first program on which a change shows.
fn caught(change: Change<'_>, model: Model, keep: Keep, claimed: Claimed) -> Option<Disagreement> {
    if let Some(name) = proofs(keep, model, Some(claimed), change) {
        return Some(format!("not proved any more: {name}"));
    }
    let shapes = SHAPES.iter().map(|s| (s.program(), 1));
    let longer = |k| LONGER.iter().map(move |text| (parse(text), k));
    let mut all = longer(1).chain(longer(2)).chain(shapes);
    all.find_map(|(program, k)| covers(&program, model, (k, keep, claimed), change).err())
}

/// Programs in which stores must wait: one thread reads another's variable before
/// that is written, and the other reads this thread's afterwards. Without that, every
/// value that is seen could have left its buffer at once.
const LONGER: [&str; 5] = [
    "shared x = 0; shared y = 0; thread t { local r = 0; x = 1; x = 2; x = 3; x = 3; r = y; fence; } \
     thread u { local r = 0; local s = 0; y = 1; fence; r = x; s = x; }",
    "shared x = 0; shared y = 0; thread t { local r = 0; x = 3; x = 2; x = 1; x = 1; r = y; } \
     thread u { local r = 0; local s = 0; y = 1; fence; r = x; s = x; }",
    "shared x = 0; shared y = 0; shared z = 0; \
     thread t { local r = 0; local s = 0; x = 1; y = 2; x = 2; y = 3; r = x; s = z; } \
     thread u { local r = 0; local s = 0; z = 1; fence; r = x; s = y; }",
    "shared x = 0; shared y = 0; \
     thread t { local r = 0; x = 1; x = 2; x = 3; r = y; atomic { y = 2; } } \
     thread u { local r = 0; local s = 0; y = 1; fence; r = x; s = x; }",
    "shared x = 0; shared y = 0; shared z = 0; \
     thread t { local r = 0; local s = 0; x = 1; y = 2; r = x; s = z; } \
     thread u { local r = 0; z = 1; fence; r = x; }",
];

#[test]
fn every_fault_is_caught() {
    let mut missed = Vec::new();
    let mut count = 0;
    for seeded in FAULTS {
        for &model in seeded.fault.models {
            for &keep in seeded.keeps {
                count += 1;
                let seed =
                    |program: &Program, reduced: &mut Reduced| seeded.fault.seed(program, reduced);
                let name = format!("{} ({model}, {keep:?})", seeded.fault.name);
                match caught(&seed, model, keep, seeded.claimed) {
                    Some(why) => println!("{name}\n    {why}"),
                    None => missed.push(name),
                }
            }
        }
    }
    println!("{count} faults");
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
    assert!(FAULTS.len() >= 20);
}

#[test]
fn nothing_is_caught_without_a_fault() {
    for model in WEAK {
        for keep in KEEPS {
            for claimed in CLAIMS {
                assert_eq!(caught(&unchanged, model, keep, claimed), None, "{model}");
            }
        }
    }
}
