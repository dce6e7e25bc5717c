//! Certificates over abstract buffers that are offered for another program, or
//! spoilt: for a program that is wrong none is accepted, whatever was changed; for
//! the right one most changes are noticed.

use palisade_certify::{
    Certificate, Fingerprint, Keep as Kept, Options as Check, SummaryInvariant, check,
};
use palisade_program::{Model, Program, Source, Verdict};
use palisade_verify::{Buffers, Keep, Options, verify};

/// Programs that hold under TSO and PSO, each with changes that make it wrong.
const CASES: [(&str, &[(&str, &str)]); 3] = [
    (
        "shared x = 0; thread p { local i = 0; while (1) { i = i + 1; x = i; } }
         thread c { local r = 0; local s = 0; while (1) { r = s; s = x; assert(s >= r); } }",
        &[
            ("i + 1", "i - 1"),
            ("s >= r", "s > r"),
            ("s >= r", "s <= r"),
        ],
    ),
    (
        "shared f = 0; thread p { while (1) { f = 1; } }
         thread c { local r = 0; while (1) { r = f; assert(r == 0 || r == 1); } }",
        &[("f = 1", "f = 2"), ("r == 1", "r == 3")],
    ),
    (
        "shared w0 = 0; shared w1 = 0;
         thread a { local r = 0; while (1) { while (*) { w0 = 1; } w0 = 1; fence; r = w1;
           if (r == 0) { cs: skip; } w0 = 0; } }
         thread b { local r = 0; while (1) { while (*) { w1 = 1; } w1 = 1; fence; r = w0;
           if (r == 0) { cs: skip; } w1 = 0; } }
         never a@cs && b@cs;",
        &[
            ("w0 = 1; fence; r = w1", "w0 = 0; fence; r = w1"),
            ("w1 = 1; fence", "w1 = 0; fence"),
        ],
    ),
];

fn parse(text: &str) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("case.pal", text));
    parsed.expect("right").program
}

/// Every way to spoil a certificate a little; of entries and literals some.
fn spoilt(certificate: &Certificate) -> Vec<Certificate> {
    let mut all = Vec::new();
    let change = |f: &dyn Fn(&mut Certificate)| {
        let mut changed = certificate.clone();
        f(&mut changed);
        changed
    };
    let step = certificate.entries.len().div_ceil(12).max(1);
    for i in (0..certificate.entries.len()).step_by(step) {
        all.push(change(&|c| drop(c.entries.remove(i))));
        all.push(change(&|c| {
            let cube = c.entries[i].cubes.first_mut();
            cube.and_then(|cube| cube.0.pop());
        }));
        all.push(change(&|c| {
            let many = &mut c.entries[i].control.buffers[0].many;
            many.clear();
        }));
    }
    let beyond = certificate.beyond.as_ref().expect("abstract");
    for i in 0..beyond.claims.len() {
        for claim in [
            SummaryInvariant::Any,
            SummaryInvariant::Among(vec![0]),
            SummaryInvariant::Rising,
        ] {
            all.push(change(&|c| {
                let beyond = c.beyond.as_mut().expect("abstract");
                beyond.claims[i].2 = claim.clone();
            }));
        }
    }
    for keep in [Kept::Newest, Kept::Oldest] {
        for cells in 0..4 {
            all.push(change(&|c| {
                let beyond = c.beyond.as_mut().expect("abstract");
                (beyond.keep, beyond.cells) = (keep, cells);
            }));
        }
    }
    all.retain(|changed| changed != certificate);
    all
}

#[test]
fn no_certificate_for_a_wrong_program() {
    let (mut refused, mut total) = (0, 0);
    for (number, (text, changes)) in CASES.iter().enumerate() {
        for (i, model) in [Model::Tso, Model::Pso].into_iter().enumerate() {
            let options = Options {
                model,
                keep: [Keep::Newest, Keep::Oldest][(number + i) % 2],
                buffers: Buffers::Abstract(1),
                ..Options::default()
            };
            let program = parse(text);
            let report = verify(&program, &options);
            assert_eq!(report.verdict, Verdict::Holds, "{model}\n{text}");
            let certificate = report.certificate.expect("a proof has one");
            let accepted = |program: &Program, c: &Certificate| {
                let forged = Certificate {
                    fingerprint: Fingerprint::of(program, model, c.threads),
                    ..c.clone()
                };
                check(program, &forged, &Check::default()).is_ok()
            };
            assert!(accepted(&program, &certificate));
            let mut all = spoilt(&certificate);
            total += all.len();
            refused += all.iter().filter(|c| !accepted(&program, c)).count();
            all.push(certificate);
            for (from, to) in *changes {
                let wrong = text.replacen(from, to, 1);
                assert_ne!(wrong, **text);
                let wrong = parse(&wrong);
                assert!(!all.iter().any(|c| accepted(&wrong, c)), "{model}: {to}");
            }
        }
    }
    println!("{refused} of {total} spoilt certificates refused for the right programs");
    assert!(refused * 10 >= total * 6, "{refused} of {total}");
}
