//! Deadlock and progress under RC11, on random programs that lock, spin and hand over, against three other accounts:
//! `verify` against `explore` (summaries and certificates against exact histories); programs all of
//! whose accesses are seq_cst against SC; and SC's runs, which are runs of RC11.

use std::fmt::Write;

use palisade_certify::{Certificate, Fingerprint, Kind, Summary};
use palisade_frontend::pal;
use palisade_machine::explore;
use palisade_program::random::Rng;
use palisade_program::{Broken, Model, Orders, Program, Source, Unknown, Verdict};
use palisade_verify::{Options, verify};

/// What is asked: deadlock, progress, or both.
fn parse(text: &str, orders: Orders, seed: u64) -> Program {
    let parsed = pal::parse_ordered(Source::new("random.pal", text), orders);
    let program = parsed.unwrap_or_else(|e| panic!("{e:?}\n{text}")).program;
    Program {
        deadlock: !seed.is_multiple_of(3),
        progress: !seed.is_multiple_of(2),
        ..program
    }
}

/// One statement of a thread; `held` are the locks that it has, `weak` whether orders are chosen.
fn statement(rng: &mut Rng, held: &mut Vec<usize>, weak: bool, out: &mut String) {
    let mut order = |all: &[&'static str]| if weak { *rng.pick(all) } else { "seq_cst" };
    let load = order(&["relaxed", "acquire", "seq_cst"]);
    let store = order(&["relaxed", "release", "seq_cst"]);
    let update = order(&["relaxed", "acquire", "acq_rel", "seq_cst"]);
    let fence = order(&["acquire", "release", "seq_cst"]);
    let (var, other, value) = (rng.below(2), rng.below(2), rng.below(2));
    let _ = match rng.below(14) {
        0..=2 => {
            let lock = rng.below(2);
            held.push(lock);
            writeln!(out, "lock(m{lock});")
        }
        3 | 4 if !held.is_empty() => {
            let lock = held.swap_remove(rng.below(held.len()));
            writeln!(out, "unlock(m{lock});")
        }
        5 => writeln!(out, "atomic {{ assume(load(x{var}, {load}) == {value}); }}"),
        6 | 7 => writeln!(out, "while (load(x{var}, {load}) == {value}) {{ }}"),
        8 => writeln!(out, "while (xchg(x{var}, 1, {update}) == 1) {{ }}"),
        9 => writeln!(out, "fence({fence});"),
        10 => writeln!(out, "while (*) {{ r = load(x{var}, {load}); }}"),
        11 => writeln!(
            out,
            "while (load(x{var}, {load}) == {value}) {{ store(x{other}, {value}, {store}); }}"
        ),
        _ => writeln!(out, "store(x{var}, {}, {store});", rng.below(3)),
    };
}

fn generate(seed: u64, weak: bool) -> String {
    let mut rng = Rng::new(seed);
    let mut out = "shared m0 = 0; shared m1 = 0; shared x0 = 0; shared x1 = 0;\n".to_owned();
    for thread in 0..2 + usize::from(seed.is_multiple_of(7)) {
        let _ = writeln!(out, "thread t{thread} {{ local r = 0;");
        let mut held = Vec::new();
        for _ in 0..=rng.below(3) {
            statement(&mut rng, &mut held, weak, &mut out);
        }
        while let Some(lock) = held.pop() {
            if rng.below(6) > 0 {
                let _ = writeln!(out, "unlock(m{lock});");
            }
        }
        out.push_str("}\n");
    }
    out
}

fn explored(program: &Program, model: Model) -> Verdict {
    let mut options = palisade_machine::Options::new(model);
    options.workers = 1;
    options.buffer = Some(4);
    options.max_states = Some(40_000);
    explore(program, &options)
        .expect("a model of threads")
        .verdict
}

/// Whether the checker refuses a certificate that claims that all is well.
fn is_refused(program: &Program) -> bool {
    let kept = Summary {
        messages: 2,
        carried: true,
        events: 2,
        shifted: false,
        prompt: false,
        many: false,
    };
    let fingerprint = Fingerprint::of(program, Model::Rc11, 2);
    let wrong = Certificate::empty(fingerprint, Kind::Histories(kept), Model::Rc11, 2);
    palisade_certify::check(program, &wrong, &palisade_certify::Options::default()).is_err()
}

/// `holds`, `violated` and `unknown` of `verify` under RC11.
fn compare(first: u64, few: u64, weak: bool) -> [usize; 3] {
    let soak = std::env::var("PALISADE_SOAK").ok();
    let count = soak.and_then(|n| n.parse().ok()).unwrap_or(few);
    let mut tally = [0; 3];
    for seed in first..first + count {
        let text = generate(seed, weak);
        let program = parse(&text, Orders::Kept, seed);
        let exact = explored(&program, Model::Rc11);
        let sc = explored(&parse(&text, Orders::Mapped, seed), Model::Sc);
        let options = Options {
            model: Model::Rc11,
            falsify: false,
            ..Options::default()
        };
        let report = verify(&program, &options);
        let all = format!("{seed}\n{text}\n{exact:?}\n{sc:?}\n{:?}", report.verdict);
        let differs = |other: &Verdict| {
            matches!(
                (&report.verdict, other),
                (Verdict::Holds, Verdict::Violated(_))
                    | (Verdict::Violated(_), Verdict::Holds)
                    | (_, Verdict::Unknown(Unknown::ReplayFailed(_)))
            )
        };
        assert!(!differs(&exact), "{all}");
        assert!(weak || !differs(&sc), "{all}");
        assert!(
            !matches!((&sc, &exact), (Verdict::Violated(_), Verdict::Holds)),
            "{all}"
        );
        match &report.verdict {
            Verdict::Holds => {
                assert!(report.certified, "{all}");
                tally[0] += 1;
            }
            Verdict::Violated(b) => {
                assert!(is_refused(&program), "{all}");
                let lasso = b.trace.repeats.is_some_and(|n| n < b.trace.steps.len());
                assert_eq!(lasso, b.broken == Broken::Progress, "{all}");
                tally[1] += 1;
            }
            Verdict::Unknown(Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_)) => {
                panic!("{all}")
            }
            Verdict::Unknown(_) => tally[2] += 1,
        }
    }
    println!("{tally:?}");
    tally
}

#[test]
fn seq_cst_accesses_are_as_under_sc() {
    let [holds, violated, unknown] = compare(1, 24, false);
    assert!(holds > 4 && violated > 4 && unknown < 4);
}

#[test]
fn weaker_orders_are_as_the_exact_machine_says() {
    let [holds, violated, unknown] = compare(100_001, 24, true);
    assert!(holds > 4 && violated > 4 && unknown < 4);
}
