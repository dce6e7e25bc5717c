//! Counters that grow without bound, shifted: what the checker accepts no search of the machine without
//! shifts refutes, and what it refuses the machine with shifts has a run of. (Programs that end are
//! compared with a naive interpreter: rows `counters` of `crates/soak`.)

use palisade_arbitrary::counters;
use palisade_certify::{Certificate, Counters, Fingerprint, Kind, Reachable, Reason, check};
use palisade_machine::{Exploration, explore};
use palisade_program::shift::Groups;
use palisade_program::{Model, Program, Source, Verdict};
use palisade_verify::{Options, verify};

fn read(text: &str) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("counters.pal", text));
    parsed.unwrap_or_else(|_| panic!("{text}")).program
}

fn soak(few: u64) -> u64 {
    let asked = std::env::var("PALISADE_SOAK").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(few)
}

fn explored(program: &Program, model: Model, shift: bool, states: u64) -> Exploration {
    let options = palisade_machine::Options {
        shift,
        max_states: Some(states),
        workers: 1,
        ..palisade_machine::Options::new(model)
    };
    explore(program, &options).expect("it has a meaning")
}

/// Whether the check accepts at most so many states up to shifts; `None` if it cannot say.
fn accepted(program: &Program, model: Model, most: u64) -> Option<bool> {
    accepted_as(
        program,
        model,
        Reachable {
            most,
            counters: Counters::Shifted,
        },
    )
}

fn accepted_as(program: &Program, model: Model, states: Reachable) -> Option<bool> {
    let fingerprint = Fingerprint::of(program, model, 2);
    let certificate = Certificate::empty(fingerprint, Kind::Reachable(states), model, 2);
    match check(program, &certificate, &palisade_certify::Options::default()) {
        Ok(_) => Some(true),
        Err(refusal) => match refusal.reason {
            Reason::Property(_) | Reason::Assertion => Some(false),
            Reason::Deadlock | Reason::Progress => Some(false),
            _ => None,
        },
    }
}

#[test]
fn shifted_counters_without_end() {
    let (mut proved, mut refused) = (0, 0);
    for seed in 0..soak(300) {
        let text = counters::without_end(seed);
        let program = read(&text);
        if Groups::infer(&program).0.is_empty() {
            continue;
        }
        let model = [Model::Sc, Model::Tso, Model::Pso][seed as usize % 3];
        let context = format!("seed {seed}, {model}:\n{text}");
        match accepted(&program, model, 20_000) {
            Some(true) => {
                // Breadth first, so that runs of some rounds are among those seen.
                let exact = explored(&program, model, false, 10_000);
                let holds = !matches!(exact.verdict, Verdict::Violated(_));
                assert!(holds, "accepted, but there is a run: {context}");
                proved += usize::from(exact.verdict != Verdict::Holds);
                let shifted = explored(&program, model, true, 100_000);
                assert_eq!(shifted.verdict, Verdict::Holds, "{context}");
            }
            Some(false) => {
                // The machine replays what it reports.
                let shifted = explored(&program, model, true, 100_000);
                assert_ne!(shifted.verdict, Verdict::Holds, "{context}");
                refused += usize::from(matches!(shifted.verdict, Verdict::Violated(_)));
            }
            None => {}
        }
    }
    println!("{proved} proved without bound, {refused} refused");
    assert!(proved * 20 >= soak(300) as usize, "{proved}");
    assert!(refused * 5 >= soak(300) as usize, "{refused}");
}

/// Where counters far apart are known by their order, states stand for runs that the program does not have: what is
/// accepted holds, what is refused may.
#[test]
fn counters_far_apart() {
    let (mut proved, mut more, mut refused) = (0, 0, 0);
    for seed in 0..soak(400) {
        let text = counters::without_end(seed);
        let program = Program {
            deadlock: seed.is_multiple_of(2),
            ..read(&text)
        };
        if Groups::infer(&program).0.is_empty() {
            continue;
        }
        let model = [Model::Sc, Model::Tso, Model::Pso][seed as usize % 3];
        let context = format!("seed {seed}, {model}:\n{text}");
        let states = |most, counters| Reachable { most, counters };
        match accepted_as(&program, model, states(10_000, Counters::Gaps)) {
            Some(true) => {
                let exact = explored(&program, model, false, 10_000);
                let holds = !matches!(exact.verdict, Verdict::Violated(_));
                assert!(holds, "accepted, but there is a run: {context}");
                let shifted = explored(&program, model, true, 20_000);
                let holds = !matches!(shifted.verdict, Verdict::Violated(_));
                assert!(holds, "accepted, but there is a run: {context}");
                proved += 1;
                more += usize::from(shifted.verdict != Verdict::Holds);
            }
            Some(false) => refused += 1,
            None => {}
        }
    }
    println!("{proved} proved, {more} of them not up to a shift, {refused} refused");
    assert!(proved * 10 >= soak(400) as usize, "{proved}");
    assert!(more * 100 >= soak(400) as usize, "{more}");
}

/// The same where deadlocks and progress are asked for.
#[test]
fn shifted_counters_get_on() {
    let (mut proved, mut refused) = (0, 0);
    for seed in 0..soak(300) {
        let text = counters::without_end(seed);
        let program = Program {
            deadlock: seed.is_multiple_of(2),
            progress: true,
            ..read(&text)
        };
        if Groups::infer(&program).0.is_empty() {
            continue;
        }
        let model = [Model::Sc, Model::Tso, Model::Pso][seed as usize % 3];
        let context = format!("seed {seed}, {model}:\n{text}");
        match accepted(&program, model, 5_000) {
            Some(true) => {
                let exact = explored(&program, model, false, 3_000);
                let holds = !matches!(exact.verdict, Verdict::Violated(_));
                assert!(holds, "accepted, but there is a run: {context}");
                proved += usize::from(exact.verdict != Verdict::Holds);
            }
            Some(false) => {
                let shifted = explored(&program, model, true, 20_000);
                assert_ne!(shifted.verdict, Verdict::Holds, "{context}");
                refused += usize::from(matches!(shifted.verdict, Verdict::Violated(_)));
            }
            None => {}
        }
    }
    println!("{proved} proved without bound, {refused} refused");
    assert!(proved * 20 >= soak(300) as usize, "{proved}");
    assert!(refused * 5 >= soak(300) as usize, "{refused}");
}

/// Tickets of threads that take one again and again.
const TICKETS: &str = "
    shared next = 0;
    shared serving = 0;
    thread t[2] {
        local mine = 0;
        while (1) {
            atomic { mine = next; next = next + 1; }
            while (serving != mine) { }
            serving = mine + 1;
        }
    }
";

#[test]
fn tickets_without_end_get_on() {
    let wrong = [
        ("mine + 1", "mine"),
        ("serving = mine + 1;", "if (*) { serving = mine + 1; }"),
    ];
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let options = Options {
            model,
            falsify: true,
            ..Options::default()
        };
        let asked = |text: &str| Program {
            deadlock: true,
            progress: true,
            ..read(text)
        };
        let report = verify(&asked(TICKETS), &options);
        assert_eq!(report.verdict, Verdict::Holds, "{model}");
        assert!(report.certified, "{model}");
        for (right, wrong) in wrong {
            let report = verify(&asked(&TICKETS.replace(right, wrong)), &options);
            let Verdict::Violated(v) = report.verdict else {
                panic!("{model}: {wrong}")
            };
            assert_eq!(v.broken, palisade_program::Broken::Progress, "{wrong}");
        }
    }
}

/// A queue: its indices grow without bound, a temporary holds an index and then an item.
const RING: &str = "
    shared slot[2] = 0;
    shared head = 0;
    shared tail = 0;
    thread producer {
        local t = 0;
        while (1) {
            if (t - head < 2) { slot[t % 2] = 1; t++; tail = t; }
        }
    }
    thread consumer {
        local h = 0;
        while (1) {
            if (h < tail) { assert(slot[h % 2] == 1); slot[h % 2] = 0; h++; head = h; }
        }
    }
";

#[test]
fn a_ring_is_proved_by_shifted_states() {
    let program = read(RING);
    let groups = Groups::infer(&program).0;
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].modulus, groups[0].globals.len()), (2, 2));
    for (model, holds) in [(Model::Sc, true), (Model::Tso, true), (Model::Pso, false)] {
        let options = Options {
            model,
            falsify: true,
            ..Options::default()
        };
        let report = verify(&program, &options);
        assert_eq!(report.verdict == Verdict::Holds, holds, "{model}");
        assert_eq!(report.certified, holds, "{model}");
        let kind = report.certificate.map(|certificate| certificate.kind);
        let is_shifted =
            matches!(kind, Some(Kind::Reachable(r)) if r.counters == Counters::Shifted);
        assert_eq!(is_shifted, holds, "{model}: {kind:?}");
    }
    // One place too few, and a remainder that the modulus is no multiple of.
    for (right, wrong) in [("- head < 2", "- head < 3"), ("h % 2", "h % 3")] {
        let program = read(&RING.replace(right, wrong).replace("slot[2]", "slot[3]"));
        let report = verify(&program, &Options::default());
        assert!(matches!(report.verdict, Verdict::Violated(_)), "{wrong}");
    }
}

/// One counter runs ahead by more than seven, as far as it likes, then the other comes after it. The steps are counted modulo
/// five: any remainder may be there when they meet.
#[test]
fn wide_gaps_are_closed_after_any_number_of_steps() {
    for (rest, modulus) in [(1, 1), (2, 1), (4, 1), (2, 2), (3, 2), (1, 3)] {
        let text = format!(
            "shared x = 0; shared y = 0; shared phase = 0; shared steps = 0; shared slot[{modulus}] = 0;
             thread ahead {{ local p = 0; while (1) {{ atomic {{ assume(phase == 0); p = x; x = p + 1; }} slot[p % {modulus}] = 1; }} }}
             thread after {{ local q = 0; local b = 0; atomic {{ q = x; assume(q - y > 7); phase = 1; }}
                while (1) {{ atomic {{ q = y; assume(q < x); y = q + 1; b = steps; steps = (b + 1) % 5; }} }} }}
             never x == y && phase == 1 && steps == {rest};"
        );
        let program = read(&text);
        for counters in [Counters::Shifted, Counters::Gaps] {
            let states = Reachable {
                most: 20_000,
                counters,
            };
            let accepted = accepted_as(&program, Model::Sc, states);
            assert_eq!(accepted, Some(false), "{counters:?}: {text}");
        }
        // The counters never pass each other: that holds, and only gaps show it.
        let text = text.replace(&format!("x == y && phase == 1 && steps == {rest}"), "y > x");
        let program = read(&text);
        let states = |counters| Reachable {
            most: 20_000,
            counters,
        };
        let by_gaps = accepted_as(&program, Model::Sc, states(Counters::Gaps));
        assert_eq!(by_gaps, Some(true), "{text}");
        let by_shift = accepted_as(&program, Model::Sc, states(Counters::Shifted));
        assert_eq!(by_shift, None, "{text}");
    }
}
