//! `verify` against `explore` on random small programs: two accounts that share
//! neither the reductions nor the search. A verdict of one never contradicts the
//! other; every proof's certificate is checked; the distribution is asserted, so
//! that the test keeps saying something.

use std::fmt::Write;
use std::time::{Duration, Instant};

use palisade_arbitrary::{Shape, generate};
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Unknown, Verdict};
use palisade_verify::{Buffers, Keep, Options, Promote, Sharing, Strategy, verify};

fn parse(text: &str) -> Program {
    match palisade_frontend::pal::parse(Source::new("random.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("the generator writes programs that parse: {errors:?}\n{text}"),
    }
}

fn name(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(v) => format!("violated ({})", v.message),
        Verdict::Unknown(why) => format!("unknown ({why})"),
    }
}

/// What happened to a batch of programs.
#[derive(Default, Debug)]
struct Tally {
    holds: usize,
    violated: usize,
    unknown: usize,
}

impl Tally {
    /// At most 5 % unknown, 30 to 70 % violated.
    fn assert_informative(&self, what: &str) {
        let total = self.holds + self.violated + self.unknown;
        println!("{what}: {self:?} of {total}");
        assert!(
            self.unknown * 100 <= total * 5,
            "{what}: too many unknown: {self:?}"
        );
        let violated = self.violated * 100 / total.max(1);
        assert!(
            (30..=70).contains(&violated),
            "{what}: {violated} % violated: {self:?}"
        );
    }
}

/// Compares one program; tells what `explore` says where it decides.
fn compare(text: &str, options: &Options, tally: &mut Tally) {
    let program = parse(text);
    let mut machine = palisade_machine::Options::new(options.model);
    machine.max_states = Some(200_000);
    machine.workers = 1;
    let explored = explore(&program, &machine)
        .expect("random programs suit the model")
        .verdict;
    if matches!(explored, Verdict::Unknown(_)) {
        return;
    }
    let options = &Options {
        deadline: Some(Instant::now() + Duration::from_secs(20)),
        ..options.clone()
    };
    let started = Instant::now();
    let report = verify(&program, options);
    if started.elapsed() > Duration::from_secs(2) {
        println!(
            "slow: {:?} {}\n{text}",
            started.elapsed(),
            name(&report.verdict)
        );
    }
    let both = || {
        format!(
            "explore: {}\nverify: {}",
            name(&explored),
            name(&report.verdict)
        )
    };
    match (&explored, &report.verdict) {
        (Verdict::Holds, Verdict::Holds) => {
            assert!(report.certified, "{text}");
            tally.holds += 1;
        }
        (Verdict::Violated(_), Verdict::Violated(_)) => tally.violated += 1,
        (_, Verdict::Unknown(Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_))) => {
            panic!("{} {}\n{text}", options.model, both())
        }
        (_, Verdict::Unknown(_)) => tally.unknown += 1,
        _ => panic!("{} disagreement: {}\n{text}", options.model, both()),
    }
}

/// How many programs: more under `make soak`.
fn count(default: u64) -> u64 {
    let soak = std::env::var("PALISADE_SOAK")
        .ok()
        .and_then(|n| n.parse().ok());
    soak.unwrap_or(default)
}

fn batch(what: &str, seeds: std::ops::Range<u64>, options: &Options, asserted: bool) {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut text = generate(seed, &Shape::default());
        if options.model == Model::Sc && seed % 2 == 0 {
            // Under SC fewer surprises happen: a property that often fails.
            let _ = writeln!(text, "finally (x0 != {});", seed % 3);
        }
        compare(&text, options, &mut tally);
    }
    if asserted {
        tally.assert_informative(what);
    }
}

#[test]
fn sc() {
    batch("sc", 0..count(1500), &Options::default(), true);
}

#[test]
fn tso() {
    let options = Options {
        model: Model::Tso,
        ..Options::default()
    };
    batch("tso", 10_000..10_000 + count(600), &options, true);
}

#[test]
fn pso() {
    let options = Options {
        model: Model::Pso,
        ..Options::default()
    };
    batch("pso", 20_000..20_000 + count(600), &options, true);
}

/// Remote operations, with as many slots as they need.
#[test]
fn rma() {
    let mut tally = Tally::default();
    for seed in 0..count(70) {
        let options = Options {
            model: Model::Rma,
            promote: [Promote::Auto, Promote::Auto, Promote::Never][seed as usize % 3],
            max_rounds: 60,
            ..Options::default()
        };
        let shape = Shape {
            local_flushes: seed % 3 == 1,
            ..Shape::rma()
        };
        let mut text = generate(60_000 + seed, &shape);
        if seed % 2 == 0 {
            // A property that often fails.
            let _ = writeln!(text, "finally (x00 != {} || x10 == 0);", seed % 3);
        }
        compare(&text, &options, &mut tally);
    }
    tally.assert_informative("rma");
}

/// Remote operations in value sets, with none to two slots: listed where values are
/// explicit, else summaries. They may say `unknown`, but not often.
#[test]
fn rma_sets() {
    let mut tally = Tally::default();
    for seed in 0..count(70) {
        let options = Options {
            model: Model::Rma,
            promote: [Promote::Auto, Promote::Never][seed as usize % 2],
            buffers: Buffers::Abstract((seed / 2 % 3) as u32),
            sets: [Sharing::Statement, Sharing::Variable][seed as usize / 6 % 2],
            max_rounds: 20,
            ..Options::default()
        };
        let shape = Shape {
            local_flushes: seed % 3 == 1,
            ..Shape::rma()
        };
        let text = generate(70_000 + seed, &shape);
        compare(&text, &options, &mut tally);
    }
    println!("rma with sets: {tally:?}");
    let total = tally.holds + tally.violated + tally.unknown;
    assert!(tally.holds * 2 >= total, "{tally:?}");
}

/// The Boolean program of the proof under SC, renamed: also where predicates are needed for all data.
#[test]
fn rma_extrapolated() {
    let mut tally = Tally::default();
    for seed in 0..count(60) {
        let options = Options {
            model: Model::Rma,
            strategy: Strategy::Program,
            promote: Promote::Never,
            buffers: Buffers::Abstract((seed % 2) as u32),
            sets: [Sharing::Statement, Sharing::Variable][seed as usize / 2 % 2],
            max_rounds: 20,
            ..Options::default()
        };
        let text = generate(75_000 + seed, &Shape::rma());
        compare(&text, &options, &mut tally);
    }
    println!("rma extrapolated: {tally:?}");
    let total = tally.holds + tally.violated + tally.unknown;
    assert!(tally.holds * 2 >= total, "{tally:?}");
}

/// Remote atomic operations: in slots, and beside value sets. The reduction lets those of
/// one process on one cell happen in any order, so that a run may not be the machine's.
#[test]
fn remote_atomics() {
    let mut tally = Tally::default();
    let shape = Shape {
        remote_atomics: true,
        ..Shape::rma()
    };
    for seed in 0..count(60) {
        let options = Options {
            model: Model::Rma,
            buffers: [Buffers::Auto, Buffers::Abstract(1)][seed as usize % 2].clone(),
            max_rounds: 20,
            deadline: Some(Instant::now() + Duration::from_secs(20)),
            ..Options::default()
        };
        let text = generate(80_000 + seed, &shape);
        let program = parse(&text);
        let machine = palisade_machine::Options {
            max_states: Some(200_000),
            workers: 1,
            ..palisade_machine::Options::new(Model::Rma)
        };
        let explored = explore(&program, &machine).expect("suits the model");
        let report = verify(&program, &options);
        match (&explored.verdict, &report.verdict) {
            (Verdict::Unknown(_), _) => {}
            (Verdict::Holds, Verdict::Holds) => {
                assert!(report.certified, "{text}");
                tally.holds += 1;
            }
            (Verdict::Violated(_), Verdict::Violated(_)) => tally.violated += 1,
            (_, Verdict::Unknown(Unknown::CertificateRefused(why))) => panic!("{why}\n{text}"),
            (_, Verdict::Unknown(_)) => tally.unknown += 1,
            (explored, found) => panic!("{} {}\n{text}", name(explored), name(found)),
        }
    }
    println!("remote atomics: {tally:?}");
    let total = tally.holds + tally.violated + tally.unknown;
    assert!(tally.holds * 3 >= total, "{tally:?}");
}

/// Remote operations that are issued without bound: only sets prove them.
#[test]
fn operations_without_bound() {
    for (text, holds) in UNBOUNDED_REMOTE {
        for promote in [Promote::Auto, Promote::Never] {
            let options = Options {
                model: Model::Rma,
                promote,
                ..Options::default()
            };
            let report = verify(&parse(text), &options);
            let expected = if *holds { "holds" } else { "violated" };
            let found = name(&report.verdict);
            assert!(found.starts_with(expected), "{found}\n{text}");
            assert_eq!(report.certified, *holds, "{text}");
        }
    }
}

const UNBOUNDED_REMOTE: &[(&str, bool)] = &[
    (
        // The value grows without bound, and any number of puts is pending.
        "process a { shared X = 0; local i = 0; while (true) { i = i + 1; X = i; put(Y, b, X); } }
         process b { shared Y = 0; local r = 0; while (true) { r = Y; assert(r >= 0); } }",
        true,
    ),
    (
        "process a { shared X = 0; local i = 0; while (true) { i = i + 1; X = i; put(Y, b, X); } }
         process b { shared Y = 0; local r = 0; while (true) { r = Y; assert(r < 2); } }",
        false,
    ),
    (
        // What is put is one of two values; what comes back is as well.
        "process a { shared X = 1; while (true) { put(Y, b, X); X = 3 - X; } }
         process b { shared Y = 1; shared Z = 1; local r = 1;
             while (true) { put(W, a2, Y); r = Z; assert(r == 1 || r == 2); } }
         process a2 { shared W = 1; while (true) { put(Z, b, W); } }",
        true,
    ),
];

/// Certificates under RMA are refused when a state is missing, or when one says less of
/// what is pending than there is; and they survive printing.
#[test]
fn certificates_under_rma_are_tight() {
    let holding = UNBOUNDED_REMOTE.iter().filter(|(_, holds)| *holds);
    let both = [Sharing::Statement, Sharing::Variable];
    for ((text, _), sets) in holding.flat_map(|h| both.map(|sets| (h, sets))) {
        let program = parse(text);
        let options = Options {
            model: Model::Rma,
            buffers: Buffers::Abstract(0),
            sets,
            ..Options::default()
        };
        let certificate = verify(&program, &options).certificate.expect("it holds");
        let printed = palisade_certify::print(&program, &certificate);
        let read = palisade_certify::parse(&program, &printed).expect("as printed");
        assert_eq!(read, certificate, "{printed}");
        let check = |c: &palisade_certify::Certificate| {
            palisade_certify::check(&program, c, &palisade_certify::Options::default())
        };
        assert!(check(&certificate).is_ok(), "{printed}");
        // A few of them: each check is one of the whole certificate.
        let step = certificate.entries.len().div_ceil(6);
        for missing in (0..certificate.entries.len()).step_by(step) {
            let mut less = certificate.clone();
            less.entries.remove(missing);
            assert!(check(&less).is_err(), "without entry {missing}:\n{printed}");
        }
        // An invariant that does not know that values in sets are bounded is too weak.
        let of_sets = speak_of_sets(&certificate);
        let mut weak = certificate.clone();
        for entry in &mut weak.entries {
            for cube in &mut entry.cubes {
                cube.0.retain(|(atom, _)| !of_sets[*atom as usize]);
            }
        }
        assert!(weak != certificate, "it speaks of sets:\n{printed}");
        assert!(
            check(&weak).is_err(),
            "without what it says of sets:\n{printed}"
        );
    }
}

/// One operation with a slot beside one in a set.
const MIXED: &str = "
process a { shared X = 1; while (true) { put(Y, b, X); put(F, c, X); flush(c); X = 3 - X; } }
process b { shared Y = 1; local r = 1; while (true) { r = Y; assert(r == 1 || r == 2); } }
process c { shared F = 1; local s = 1; while (true) { s = F; assert(s == 1 || s == 2); } }
";

/// What a certificate says of slots and of sets in use is not taken on trust.
#[test]
fn false_slots_are_refused() {
    let program = parse(MIXED);
    let options = Options {
        model: Model::Rma,
        ..Options::default()
    };
    let certificate = verify(&program, &options).certificate.expect("it holds");
    let printed = palisade_certify::print(&program, &certificate);
    let accepted = |change: &dyn Fn(&mut palisade_certify::Certificate)| {
        let mut changed = certificate.clone();
        change(&mut changed);
        assert!(changed != certificate, "it changes something:\n{printed}");
        let options = palisade_certify::Options::default();
        palisade_certify::check(&program, &changed, &options).is_ok()
    };
    let beyond = certificate.beyond.as_ref().expect("it has sets");
    let [(thread, operation, 1)] = beyond.slots[..] else {
        panic!("one operation has a slot: {:?}", beyond.slots);
    };
    let with_slots = |slots: Vec<(u32, u32, u32)>| {
        accepted(&|c| c.beyond.as_mut().expect("it has sets").slots = slots.clone())
    };
    let own = (thread, operation, 1);
    let other = u32::from(operation == 0);
    assert!(!with_slots(Vec::new()), "no slot is said");
    assert!(!with_slots(vec![(thread, operation, 0)]), "too few");
    assert!(
        !with_slots(vec![own, (thread, other, 1)]),
        "one for the set"
    );
    assert!(!with_slots(vec![own, own]), "said twice");
    assert!(!with_slots(vec![own, (thread, 7, 1)]), "of no operation");
    assert!(!with_slots(vec![own, (9, operation, 1)]), "of no thread");
    assert!(!accepted(&|c| c.beyond = None), "no sets at all");
    // Sets in use that a state does not tell of, or that there are not.
    for (number, entry) in certificate.entries.iter().enumerate() {
        let sets = &entry.control.buffers[thread as usize].sets;
        let flipped = if sets.is_empty() {
            vec![other]
        } else {
            Vec::new()
        };
        let flip = |c: &mut palisade_certify::Certificate| {
            c.entries[number].control.buffers[thread as usize].sets = flipped.clone();
        };
        assert!(!accepted(&flip), "entry {number}:\n{printed}");
    }
}

/// For each atom whether it speaks of a set.
fn speak_of_sets(certificate: &palisade_certify::Certificate) -> Vec<bool> {
    let of_set = |v: palisade_logic::Var| {
        let var = palisade_certify::StateVar::of(v);
        matches!(var, Some(palisade_certify::StateVar::Element { .. }))
    };
    let atoms = certificate.atoms.iter();
    atoms
        .map(|a| a.free_vars().into_iter().any(of_set))
        .collect()
}

#[test]
fn predicates_only() {
    // Nothing explicit but program counters: all the work is refinement's.
    let options = Options {
        promote: Promote::Never,
        max_rounds: 60,
        ..Options::default()
    };
    batch(
        "predicates only",
        30_000..30_000 + count(300),
        &options,
        false,
    );
}

#[test]
fn every_step_alone() {
    let options = Options {
        compress: false,
        ..Options::default()
    };
    batch(
        "every step alone",
        40_000..40_000 + count(400),
        &options,
        true,
    );
}

/// Values abstracted, so that predicates are needed, and the other ways to refine.
#[test]
fn other_refinements() {
    let options = Options {
        promote: Promote::Never,
        transitions: true,
        parameterised: true,
        ..Options::default()
    };
    batch(
        "other refinements",
        50_000..50_000 + count(150),
        &options,
        true,
    );
}

/// Abstract buffers with one and two exact cells, both ways to keep stores: what is
/// proved holds, what is violated is. They may say `unknown`, but not often.
#[test]
fn abstract_buffers() {
    let mut tally = Tally::default();
    for seed in 0..count(240) {
        let options = Options {
            model: [Model::Tso, Model::Pso][seed as usize % 2],
            keep: [Keep::Newest, Keep::Oldest][seed as usize / 2 % 2],
            buffers: Buffers::Abstract(1 + (seed / 4 % 2) as u32),
            ..Options::default()
        };
        let shape = Shape {
            statements: 5 + seed as usize % 3,
            vars: 1 + seed as usize % 3,
            ..Shape::default()
        };
        compare(&generate(50_000 + seed, &shape), &options, &mut tally);
    }
    println!("abstract buffers: {tally:?}");
    let total = tally.holds + tally.violated + tally.unknown;
    assert!(tally.unknown * 5 <= total, "{tally:?}");
    assert!(
        tally.holds * 5 >= total && tally.violated * 5 >= total,
        "{tally:?}"
    );
}

/// Programs that store in loops without fences, in the automatic way.
#[test]
fn stores_without_bound() {
    for (text, models, holds) in UNBOUNDED {
        for model in *models {
            for keep in [Keep::Newest, Keep::Oldest] {
                let options = Options {
                    model: *model,
                    keep,
                    ..Options::default()
                };
                let report = verify(&parse(text), &options);
                let expected = if *holds { "holds" } else { "violated" };
                let found = name(&report.verdict);
                assert!(
                    found.starts_with(expected),
                    "{model}, {keep:?}: {found}\n{text}"
                );
                assert_eq!(report.certified, *holds, "{text}");
            }
        }
    }
}

const WEAK: &[Model] = &[Model::Tso, Model::Pso];

/// Programs, models, and whether they hold under them.
const UNBOUNDED: &[(&str, &[Model], bool)] = &[
    (
        "shared x = 0; thread p { local i = 0; while (1) { i = i + 1; x = i; } }
         thread c { local r = 0; local s = 0; while (1) { r = s; s = x; assert(s >= r); } }",
        WEAK,
        true,
    ),
    (
        "shared x = 0; thread p { local i = 0; while (1) { i = i + 1; x = i; } }
         thread c { local r = 0; local s = 0; while (1) { r = s; s = x; assert(s > r); } }",
        WEAK,
        false,
    ),
    (
        "shared f = 0; thread p { while (1) { f = 1; } }
         thread c { local r = 0; while (1) { r = f; assert(r == 0 || r == 1); } }",
        WEAK,
        true,
    ),
    (
        "shared f = 0; thread p { while (1) { f = 1; f = 2; } }
         thread c { local r = 0; while (1) { r = f; assert(r != 1); } }",
        WEAK,
        false,
    ),
    (
        "shared w0 = 0; shared w1 = 0;
         thread a { local r = 0; while (1) { while (*) { w0 = 1; } w0 = 1; fence; r = w1;
           if (r == 0) { cs: skip; } w0 = 0; } }
         thread b { local r = 0; while (1) { while (*) { w1 = 1; } w1 = 1; fence; r = w0;
           if (r == 0) { cs: skip; } w1 = 0; } }
         never a@cs && b@cs;",
        WEAK,
        true,
    ),
    (
        "shared w0 = 0; shared w1 = 0;
         thread a { local r = 0; while (1) { while (*) { w0 = 1; } w0 = 1; r = w1;
           if (r == 0) { cs: skip; } w0 = 0; } }
         thread b { local r = 0; while (1) { while (*) { w1 = 1; } w1 = 1; fence; r = w0;
           if (r == 0) { cs: skip; } w1 = 0; } }
         never a@cs && b@cs;",
        WEAK,
        false,
    ),
    (
        "shared x = 0; shared y = 0;
         thread p { local i = 0; while (1) { i = i + 2; x = i; y = i; } }
         thread c { local r = 0; local s = 0; while (1) { r = x; assert(r >= 0); s = y; assert(s >= 0); } }",
        WEAK,
        true,
    ),
];
