//! Every example that holds has broken twins: one comparison or one assignment
//! changed. Whatever the change does, `verify` and a bounded `explore` must not
//! contradict each other, and for every example some twin is violated with a
//! trace that the machine ran.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Unknown, Verdict};
use palisade_verify::{Options, verify};

/// Changes of one token, tried at every place in the threads' code.
const CHANGES: [(&str, &str); 8] = [
    (" == ", " != "),
    (" != ", " == "),
    (" < ", " <= "),
    (" <= ", " < "),
    (" >= ", " > "),
    (" + 1", " + 0"),
    (" = 1;", " = 0;"),
    (" = 0;", " = 1;"),
];

fn parse(text: &str) -> Option<Program> {
    palisade_frontend::pal::parse(Source::new("twin.pal", text))
        .ok()
        .map(|parsed| parsed.program)
}

/// The twins of a program: each with one change inside a thread.
fn twins(text: &str) -> Vec<String> {
    let code = text.find("thread").unwrap_or(text.len());
    let end = text.rfind("\nnever").unwrap_or(text.len());
    let mut all = Vec::new();
    for (from, to) in CHANGES {
        for (at, _) in text[code..end].match_indices(from) {
            let at = code + at;
            all.push(format!("{}{to}{}", &text[..at], &text[at + from.len()..]));
        }
    }
    all
}

#[test]
fn twins_of_examples() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the examples are there")
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "pal"))
        .collect();
    files.sort();
    let mut tested = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).expect("an example can be read");
        // Three threads and remote memory take longer or are another model's.
        if !text.contains("sc=holds") || text.contains("[3]") || text.contains("process") {
            continue;
        }
        let mut violated = 0;
        for twin in twins(&text) {
            violated += usize::from(is_violated(&twin));
        }
        assert!(violated > 0, "no twin of {} is violated", file.display());
        tested += 1;
    }
    assert!(tested >= 15, "only {tested} examples have twins");
}

/// Compares both accounts of a twin.
fn is_violated(text: &str) -> bool {
    let Some(program) = parse(text) else {
        return false;
    };
    let options = Options {
        deadline: Some(Instant::now() + Duration::from_secs(3)),
        ..Options::default()
    };
    let report = verify(&program, &options);
    let mut machine = palisade_machine::Options::new(Model::Sc);
    machine.max_states = Some(5_000);
    machine.workers = 1;
    let explored = explore(&program, &machine)
        .expect("examples suit SC")
        .verdict;
    match (&report.verdict, &explored) {
        (Verdict::Holds, Verdict::Violated(v)) => panic!("verify proves what fails: {v:?}\n{text}"),
        (Verdict::Violated(v), Verdict::Holds) => {
            panic!("verify refutes what holds: {v:?}\n{text}")
        }
        (
            Verdict::Unknown(why @ (Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_))),
            _,
        ) => {
            panic!("{why}\n{text}")
        }
        (Verdict::Violated(_), _) => true,
        (Verdict::Holds | Verdict::Unknown(_), _) => false,
    }
}
