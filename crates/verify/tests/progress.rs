//! Endless spinning by `verify` against that by `explore`, on random programs that spin, lock and
//! hand over: the machine looks for states from which nobody gets on, the checker of
//! certificates has its own account, and no proof may pass it where the machine has found one.

use std::fmt::Write;

use palisade_certify::{Certificate, Fingerprint, Kind, Reachable, Reason, check};
use palisade_machine::explore;
use palisade_program::random::Rng;
use palisade_program::{Broken, Model, Program, Source, Unknown, Verdict};
use palisade_verify::{Options, verify};

fn parse(text: &str, deadlock: bool) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("random.pal", text));
    Program {
        progress: true,
        deadlock,
        ..parsed.unwrap_or_else(|e| panic!("{e:?}\n{text}")).program
    }
}

/// One statement of a thread.
fn statement(rng: &mut Rng, out: &mut String) {
    let (var, other, value) = (rng.below(2), rng.below(2), rng.below(3));
    let _ = match rng.below(14) {
        0..=2 => writeln!(out, "while (x{var} != {value}) {{ }}"),
        3 => writeln!(
            out,
            "while (xchg(l, 1) == 1) {{ }} x{var} = {value}; l = 0;"
        ),
        4 => writeln!(out, "while (xchg(l, 1) == 1) {{ }}"),
        5 => writeln!(
            out,
            "r = 0; while (r == 0) {{ r = cas(x{var}, {value}, 0); }}"
        ),
        6 => writeln!(out, "while (x{var} == {value}) {{ x{other} = {value}; }}"),
        7 => writeln!(out, "while (*) {{ r = x{var}; }}"),
        8 => writeln!(out, "r = x{var}; assume(r == {value});"),
        9 => writeln!(out, "atomic {{ assume(x{var} == {value}); }}"),
        10 => writeln!(out, "while (x0 == x1) {{ r = 1 - r; }}"),
        11 => writeln!(
            out,
            "if (x{var} == 1) {{ fence; }} else {{ x{other} = {value}; }}"
        ),
        _ => writeln!(out, "x{var} = {value};"),
    };
}

fn generate(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut out = "shared x0 = 0; shared x1 = 0; shared l = 0;\n".to_owned();
    for thread in 0..2 + usize::from(seed.is_multiple_of(4)) {
        let copies = if seed.is_multiple_of(5) && thread == 0 {
            "[2]"
        } else {
            ""
        };
        let _ = writeln!(out, "thread t{thread}{copies} {{ local r = 0;");
        for _ in 0..=rng.below(3) {
            statement(&mut rng, &mut out);
        }
        out.push_str("}\n");
    }
    out
}

/// `holds`, `violated` and `unknown` of `verify`, which `explore` confirms.
fn compare(first: u64, few: u64, options: &Options) -> [usize; 3] {
    let soak = std::env::var("PALISADE_SOAK").ok();
    let count = soak.and_then(|n| n.parse().ok()).unwrap_or(few);
    let mut tally = [0; 3];
    for seed in first..first + count {
        let text = generate(seed);
        let program = parse(&text, seed.is_multiple_of(3));
        let mut machine = palisade_machine::Options::new(options.model);
        machine.workers = 1;
        machine.buffer = Some(3);
        let explored = explore(&program, &machine).expect("a model of threads");
        let report = verify(&program, options);
        let both = format!("{text}\n{:?}\n{:?}", explored.verdict, report.verdict);
        match (&explored.verdict, &report.verdict) {
            (Verdict::Holds, Verdict::Holds) => {
                assert!(report.certified, "{both}");
                tally[0] += 1;
            }
            // A loop that stores fills the buffers of the machine, not those of the proof.
            (Verdict::Unknown(_), Verdict::Holds) => assert!(report.certified, "{both}"),
            (Verdict::Violated(_) | Verdict::Unknown(_), Verdict::Violated(b)) => {
                assert!(
                    matches!(b.broken, Broken::Progress | Broken::Deadlock),
                    "{both}"
                );
                let lasso = b
                    .trace
                    .repeats
                    .is_some_and(|from| from < b.trace.steps.len());
                assert_eq!(lasso, b.broken == Broken::Progress, "{both}");
                assert!(options.falsify || b.broken == Broken::Deadlock, "{both}");
                tally[1] += 1;
            }
            (_, Verdict::Unknown(Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_))) => {
                panic!("{both}")
            }
            (_, Verdict::Unknown(_)) => tally[2] += 1,
            _ => panic!("{both}"),
        }
    }
    println!("{}: {tally:?}", options.model);
    tally
}

#[test]
fn runs_and_proofs() {
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let options = Options {
            model,
            falsify: true,
            ..Options::default()
        };
        let [holds, violated, unknown] = compare(1, 60, &options);
        assert!(
            holds >= 10 && violated >= 10,
            "{model}: {holds} {violated} {unknown}"
        );
        assert!(unknown <= 12, "{model}: {unknown}");
    }
}

/// Without the machine's search there are proofs only, and none where it finds a run.
#[test]
fn proofs_alone() {
    for model in [Model::Sc, Model::Tso] {
        let options = Options {
            model,
            falsify: false,
            ..Options::default()
        };
        let [holds, ..] = compare(1000, 60, &options);
        assert!(holds >= 10, "{model}: {holds}");
    }
}

/// The check of certificates of reachable states has its own account of deadlocks and progress: it accepts what
/// the machine has found to hold, and nothing else. Without choices, what may spin is what spins.
#[test]
fn reachable_states() {
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let (mut holds, mut violated, mut limited) = (0, 0, 0);
        for seed in 2000..2150 {
            let text = generate(seed);
            let program = parse(&text, seed.is_multiple_of(2));
            let options = palisade_machine::Options {
                buffer: Some(16),
                max_states: Some(20_000),
                ..palisade_machine::Options::new(model)
            };
            let found = explore(&program, &options).expect("it has a meaning");
            // A buffer that fills without end has no end of states.
            if matches!(found.verdict, Verdict::Unknown(_)) {
                continue;
            }
            let states = Reachable {
                most: 3_000,
                counters: palisade_certify::Counters::Exact,
            };
            let fingerprint = Fingerprint::of(&program, model, 2);
            let certificate = Certificate::empty(fingerprint, Kind::Reachable(states), model, 2);
            let options = palisade_certify::Options::default();
            let checked = check(&program, &certificate, &options).map_err(|r| r.reason);
            if matches!(checked, Err(Reason::Unsupported(_))) {
                limited += 1;
                continue;
            }
            let context = format!("seed {seed}, {model}: {checked:?}\n{text}");
            match found.verdict {
                Verdict::Holds => {
                    assert!(checked.is_ok(), "{context}");
                    holds += 1;
                }
                Verdict::Violated(v) => {
                    let is_same = match v.broken {
                        Broken::Deadlock | Broken::Progress => {
                            matches!(checked, Err(Reason::Deadlock | Reason::Progress))
                        }
                        _ => checked.is_err(),
                    };
                    assert!(is_same, "{}: {context}", v.message);
                    violated += 1;
                }
                Verdict::Unknown(_) => {}
            }
        }
        let context = format!("{model}: {holds} hold, {violated} violated, {limited} not seen");
        assert!(holds >= 20 && violated >= 20 && limited <= 30, "{context}");
    }
}

fn verdict(text: &str, model: Model) -> Verdict {
    let options = Options {
        model,
        falsify: true,
        ..Options::default()
    };
    verify(&parse(text, false), &options).verdict
}

/// Who may choose to leave, or changes memory for ever, does not spin.
#[test]
fn what_spinning_is() {
    let right = [
        "shared x = 0; thread a { while (*) { } }",
        "shared x = 0; thread a { while (1) { x = 1 - x; } } thread b { while (x == 5) { } }",
        "shared x = 0; thread a { while (x == 0) { } } thread b { while (1) { x = 0; x = 1; } }",
        "shared x = 0; thread a { local r = 0; r = x; assume(r == 1); } thread b { while (x == 0) { } }",
        "shared x = 0; thread a { atomic { assume(x == 1); } }",
    ];
    let wrong = [
        "shared x = 0; thread a { while (x == 0) { } }",
        "shared x = 0; thread a { while (x == 0) { x = 0; } }",
        "shared x = 0; thread a { while (1) { } }",
        "shared x = 0; thread a { while (x == 0) { } } thread b { atomic { assume(x == 1); } }",
        "shared x = 0; shared y = 0; thread a { while (x == 0) { } y = 1; } thread b { while (y == 0) { } x = 1; }",
    ];
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        for text in right {
            assert_eq!(verdict(text, model), Verdict::Holds, "{model}: {text}");
        }
        for text in wrong {
            let found = verdict(text, model);
            let is_progress = |v: &palisade_program::Violation| v.broken == Broken::Progress;
            assert!(
                matches!(&found, Verdict::Violated(v) if is_progress(v)),
                "{model}: {text}\n{found:?}"
            );
        }
    }
}
