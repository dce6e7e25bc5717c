//! Deadlocks by `verify` against those by `explore`, on random programs that lock, wait in
//! blocks, and store: two accounts of when a thread is blocked, and every proof is checked by
//! the third. The machine does not look for bugs here.

use std::fmt::Write;
use std::time::{Duration, Instant};

use palisade_machine::explore;
use palisade_program::random::Rng;
use palisade_program::{Broken, Model, Program, Source, Unknown, Verdict};
use palisade_verify::{Buffers, Options, Promote, verify};

fn parse(text: &str) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("random.pal", text));
    Program {
        deadlock: true,
        ..parsed.unwrap_or_else(|e| panic!("{e:?}\n{text}")).program
    }
}

/// One statement of a thread; `held` are the locks that it has.
fn statement(rng: &mut Rng, held: &mut Vec<usize>, out: &mut String) {
    let var = rng.below(2);
    let _ = match rng.below(12) {
        0..=2 => {
            let lock = rng.below(2);
            held.push(lock);
            writeln!(out, "lock(m{lock});")
        }
        3 | 4 if !held.is_empty() => {
            let lock = held.swap_remove(rng.below(held.len()));
            writeln!(out, "unlock(m{lock});")
        }
        5 => writeln!(out, "atomic {{ assume(x{var} == {}); }}", rng.below(2)),
        6 => writeln!(
            out,
            "atomic {{ r = x{var}; if (r == 0) {{ assume(a[r] == 1); }} x{var} = 0; }}"
        ),
        7 => writeln!(out, "atomic(read) {{ assume(a[{var}] == 1); }}"),
        8 => writeln!(out, "r = x{var}; assume(r == 1);"),
        9 => writeln!(out, "a[{var}] = 1;"),
        10 => writeln!(
            out,
            "if (x{var} == 1) {{ fence; }} else {{ while (x{var} == 2) {{ }} }}"
        ),
        _ => writeln!(out, "x{var} = 1;"),
    };
}

fn generate(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut out =
        "shared m0 = 0; shared m1 = 0; shared x0 = 0; shared x1 = 0; shared a[2];\n".to_owned();
    for thread in 0..2 + usize::from(seed.is_multiple_of(4)) {
        let copies = if seed.is_multiple_of(5) && thread == 0 {
            "[2]"
        } else {
            ""
        };
        let _ = writeln!(out, "thread t{thread}{copies} {{ local r = 0;");
        let mut held = Vec::new();
        for _ in 0..2 + rng.below(3) {
            statement(&mut rng, &mut held, &mut out);
        }
        while let Some(lock) = held.pop() {
            if rng.below(8) > 0 {
                let _ = writeln!(out, "unlock(m{lock});");
            }
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
        let program = parse(&text);
        let mut machine = palisade_machine::Options::new(options.model);
        machine.workers = 1;
        let explored = explore(&program, &machine).expect("a model of threads");
        let report = verify(&program, options);
        let both = format!("{text}\n{:?}\n{:?}", explored.verdict, report.verdict);
        match (&explored.verdict, &report.verdict) {
            (Verdict::Holds, Verdict::Holds) => {
                assert!(report.certified, "{both}");
                tally[0] += 1;
            }
            (Verdict::Violated(a), Verdict::Violated(b)) => {
                assert_eq!(
                    (&a.broken, &b.broken),
                    (&Broken::Deadlock, &Broken::Deadlock),
                    "{both}"
                );
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

fn assert_informative([holds, violated, unknown]: [usize; 3]) {
    let total = holds + violated + unknown;
    assert!(holds * 5 > total && violated * 5 > total && unknown * 20 <= total);
}

#[test]
fn sc() {
    assert_informative(compare(0, 150, &Options::default()));
}

#[test]
fn tso() {
    let options = Options {
        model: Model::Tso,
        ..Options::default()
    };
    assert_informative(compare(1_000, 80, &options));
}

#[test]
fn pso_state_by_state() {
    let options = Options {
        model: Model::Pso,
        promote: Promote::All,
        ..Options::default()
    };
    assert_informative(compare(2_000, 60, &options));
}

#[test]
fn tso_with_abstract_buffers() {
    let options = Options {
        model: Model::Tso,
        buffers: Buffers::Abstract(1),
        ..Options::default()
    };
    let [holds, violated, _] = compare(3_000, 30, &options);
    assert!(holds > 5 && violated > 5);
}

#[test]
fn the_portfolio_agrees() {
    let options = Options {
        model: Model::Tso,
        falsify: true,
        ..Options::default()
    };
    assert_informative(compare(4_000, 60, &options));
}

#[test]
fn remote_operations_that_are_pending_are_no_deadlock() {
    let text = |waits: &str| {
        format!(
            "process one {{ shared X = 0; atomic {{ assume(X == {waits}); }} }}
             process two {{ shared Y = 1; put(X, one, Y); flush(one); }}"
        )
    };
    let options = Options {
        model: Model::Rma,
        ..Options::default()
    };
    let report = verify(&parse(&text("1")), &options);
    assert!(report.certified, "{:?}", report.verdict);
    let report = verify(&parse(&text("2")), &options);
    assert!(matches!(report.verdict, Verdict::Violated(v) if v.broken == Broken::Deadlock));
}

#[test]
fn blocks_that_loop_are_refused_not_guessed() {
    let text = "shared x = 0; shared y = 0;
        thread a { local r = 0; atomic { while (r < 2) { r = r + 1; } assume(x == 1); } }
        thread b { while (y < 5) { y = y + 1; } x = 1; }";
    let report = verify(&parse(text), &Options::default());
    assert!(matches!(
        report.verdict,
        Verdict::Unknown(Unknown::Unsupported(..))
    ));
}

#[test]
fn any_number_of_threads_is_not_guessed() {
    // Several copies hold something at once: flags do not say how many.
    let text = "shared m = 0, n = 0; thread t[*] {
        atomic { assume(m >= 0); m = m + 1; }
        atomic { assume(m > 0); m = m - 1; }
        atomic { assume(m == 0); n = 1; }
    }";
    let report = verify(&parse(text), &Options::default());
    let unknown = matches!(report.verdict, Verdict::Unknown(_));
    assert!(unknown, "{:?}", report.verdict);
    // Without its flags, or with some where a step may be impossible, a certificate is none.
    let program = parse("shared m = 0; thread t[*] { lock(m); unlock(m); }");
    let proof = verify(&program, &Options::default()).certificate;
    let proof = proof.expect("a proof");
    let check = |certificate| {
        palisade_certify::check(
            &program,
            &certificate,
            &palisade_certify::Options::default(),
        )
    };
    assert!(check(proof.clone()).is_ok());
    let mut without = proof.clone();
    without.present.clear();
    assert!(check(without).is_err());
    let mut waiting = proof;
    waiting.present[0].locs.push(program.templates[0].cfg.entry);
    assert!(check(waiting).is_err());
    let lost = "shared m = 0; thread t[*] { lock(m); }";
    let options = Options {
        falsify: true,
        ..Options::default()
    };
    let report = verify(&parse(lost), &options);
    assert!(
        matches!(report.verdict, Verdict::Violated(_)),
        "{:?}",
        report.verdict
    );
}

/// A proof for any number of threads holds with each number, and locks that are taken in one order have one.
/// `PALISADE_SOAK=n` compares n programs.
#[test]
fn any_number_of_threads() {
    let mut proved = 0;
    let soak = std::env::var("PALISADE_SOAK").ok();
    let count = soak.and_then(|n| n.parse().ok()).unwrap_or(40);
    for seed in 0..count {
        let mut rng = Rng::new(seed);
        let mut text =
            "shared m0 = 0; shared m1 = 0; shared x0 = 0; shared x1 = 0; shared a[2];\n".to_owned();
        let _ = writeln!(text, "thread t[*] {{ local r = 0;");
        let mut held = Vec::new();
        for _ in 0..2 + rng.below(3) {
            statement(&mut rng, &mut held, &mut text);
        }
        while let Some(lock) = held.pop() {
            if rng.below(10) > 0 {
                let _ = writeln!(text, "unlock(m{lock});");
            }
        }
        text.push_str("}\n");
        if seed % 3 == 0 {
            text.push_str("thread once { local r = 0; lock(m0); x0 = 1; unlock(m0); }\n");
        }
        let program = parse(&text);
        let model = [Model::Sc, Model::Tso, Model::Pso][rng.below(3)];
        let options = Options {
            model,
            deadline: Some(Instant::now() + Duration::from_secs(5)),
            ..Options::default()
        };
        let report = verify(&program, &options);
        let Verdict::Holds = report.verdict else {
            continue;
        };
        assert!(report.certified, "{text}");
        let certificate = report.certificate.expect("of a proof");
        let written = palisade_certify::print(&program, &certificate);
        let read = palisade_certify::parse(&program, &written).expect("as printed");
        assert_eq!(read, certificate, "{written}");
        proved += 1;
        for copies in 1..=3 {
            let options = palisade_machine::Options {
                threads: copies,
                ..palisade_machine::Options::new(model)
            };
            let found = explore(&program, &options).expect("a search");
            let broken = matches!(found.verdict, Verdict::Violated(_));
            assert!(!broken, "{model}, {copies} copies: {text}");
        }
    }
    assert!(proved >= 5, "{proved}");
    let ordered = "shared a = 0, b = 0;
        thread t[*] {
            atomic { assume(a == 0); a = 1; }
            atomic { assume(b == 0); b = 1; }
            atomic { b = 0; }
            atomic { a = 0; }
        }";
    let unlocked = "thread t[*] { while (1) { lock(m); atomic { assert(m != 0); } unlock(m); } } shared m = 0;";
    for text in [ordered, unlocked] {
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            let options = Options {
                model,
                ..Options::default()
            };
            let report = verify(&parse(text), &options);
            assert_eq!(report.verdict, Verdict::Holds, "{model}: {text}");
            assert!(report.certified, "{model}: {text}");
        }
    }
}
