//! Proofs state by state, with free of interference accesses, against `explore` on random small
//! programs in which locks protect data and threads hand it over, or nearly do: the two
//! never contradict each other, and many proofs rest on such accesses.

use std::fmt::Write;

use palisade_arbitrary::Rng;
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Unknown, Verdict};
use palisade_verify::{Options, Promote, verify};

/// A statement that uses shared data.
fn access(rng: &mut Rng) -> String {
    let var = rng.below(3);
    let value = rng.below(3);
    match rng.below(6) {
        0 => format!("r = x{var};"),
        1 => format!("s = x{var};"),
        2 => format!("x{var} = r + 1;"),
        3 => format!("x{var} = {value};"),
        4 => format!("r = x{var}; x{var} = r + 1;"),
        _ => format!("if (x{var} == {value}) {{ s = r; }}"),
    }
}

fn accesses(rng: &mut Rng) -> String {
    let all: Vec<String> = (0..=rng.below(3)).map(|_| access(rng)).collect();
    all.join(" ")
}

/// A part of a thread.
fn part(rng: &mut Rng) -> String {
    let phase = 1 + rng.below(2);
    match rng.below(12) {
        0..=3 => {
            // Not every lock is the same, and not every unlock comes last.
            let lock = ["m", "m", "m", "n"][rng.below(4)];
            let (inside, after) = (accesses(rng), accesses(rng));
            match rng.below(5) {
                0 => format!("lock({lock}); {inside} {lock} = 0;"),
                1 => format!("lock({lock}); {inside} unlock({lock}); {after}"),
                _ => format!("lock({lock}); {inside} {after} unlock({lock});"),
            }
        }
        4 => accesses(rng),
        5 | 6 => format!("{} flag = {phase};", accesses(rng)),
        7 => format!("{} fence; flag = {phase};", accesses(rng)),
        8 => format!("r = flag; assume(r == {phase}); {}", accesses(rng)),
        9 if rng.chance(50) => format!("x{} = 2; assume(s == {phase});", rng.below(3)),
        9 => format!("r = flag; s = x0; assume(r == {phase} && s < 2);"),
        10 => format!("fetch_add(x2, 1); {}", accesses(rng)),
        _ => format!("if (r == s) {{ {} }} else {{ fence; }}", accesses(rng)),
    }
}

fn program(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut text = "shared x0 = 0; shared x1 = 0; shared x2 = 0;\n\
                    shared m = 0; shared n = 0; shared flag = 0;\n"
        .to_owned();
    let threads = 2 + rng.below(2);
    for thread in 0..threads {
        let _ = write!(text, "thread t{thread} {{ local r = 0; local s = 0; ");
        for _ in 0..=rng.below(if threads == 2 { 3 } else { 2 }) {
            text.push_str(&part(&mut rng));
            text.push(' ');
        }
        if rng.chance(40) {
            let (a, b) = (rng.below(3), rng.below(3));
            let _ = write!(text, "assert(r != {a} || s != {b}); ");
        }
        text.push_str("}\n");
    }
    let (var, value) = (rng.below(3), rng.below(4));
    match rng.below(5) {
        0 => drop(writeln!(text, "never x{var} == {value} && m == 1;")),
        1 => drop(writeln!(text, "never x{var} == {};", value + 1)),
        _ => drop(writeln!(text, "finally (x{var} != {value} || x0 < 2);")),
    }
    text
}

fn parse(text: &str) -> Program {
    match palisade_frontend::pal::parse(Source::new("random.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

/// Programs at most: more under `make soak`.
fn count(default: u64) -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// How many proofs there were, with free of interference accesses, and violations.
fn compare(model: Model, seeds: std::ops::Range<u64>) -> (usize, usize, usize) {
    let (mut proofs, mut interference_free, mut violated) = (0, 0, 0);
    for seed in seeds {
        let text = program(seed);
        let program = parse(&text);
        let mut machine = palisade_machine::Options::new(model);
        machine.max_states = Some(50_000);
        machine.workers = 1;
        let explored = explore(&program, &machine)
            .expect("suits the model")
            .verdict;
        let options = Options {
            model,
            promote: Promote::All,
            max_states: 20_000,
            ..Options::default()
        };
        let report = verify(&program, &options);
        match (&explored, &report.verdict) {
            (Verdict::Unknown(_), _) => {}
            (
                _,
                Verdict::Unknown(Unknown::CertificateRefused(why) | Unknown::ReplayFailed(why)),
            ) => {
                panic!("{model} {why}\n{text}")
            }
            (_, Verdict::Unknown(_)) => {}
            (Verdict::Holds, Verdict::Holds) => {
                let certificate = report.certificate.expect("a proof has one");
                proofs += 1;
                interference_free += usize::from(!certificate.interference_free.is_empty());
            }
            (Verdict::Violated(_), Verdict::Violated(_)) => violated += 1,
            (a, b) => panic!("{model}, seed {seed}: explore {a:?}, verify {b:?}\n{text}"),
        }
    }
    println!(
        "{model}: {proofs} proofs, {interference_free} interference_free, {violated} violated"
    );
    (proofs, interference_free, violated)
}

#[test]
fn sc() {
    let all = count(200);
    let (_, interference_free, violated) = compare(Model::Sc, 0..all);
    assert!(interference_free as u64 > all / 8 && violated as u64 > all / 8);
}

#[test]
fn tso() {
    let all = count(100);
    let (_, interference_free, violated) = compare(Model::Tso, 100_000..100_000 + all);
    assert!(interference_free as u64 > all / 8 && violated as u64 > all / 8);
}

#[test]
fn pso() {
    let all = count(100);
    let (_, interference_free, violated) = compare(Model::Pso, 200_000..200_000 + all);
    assert!(interference_free as u64 > all / 8 && violated as u64 > all / 8);
}
