//! Stores and remote operations without bound: proved with abstract buffers and value sets,
//! and certificates about them that are tight.

use palisade_program::{Model, Program, Source, Verdict};
use palisade_verify::{Buffers, Keep, Options, Promote, Sharing, verify};

fn parse(text: &str) -> Program {
    match palisade_frontend::pal::parse(Source::new("unbounded.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

fn name(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(v) => format!("violated ({})", v.message),
        Verdict::Unknown(why) => format!("unknown ({why})"),
    }
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
