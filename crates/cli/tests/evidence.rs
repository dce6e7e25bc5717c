//! `verify` on every example under SC: the announced verdict, with a certificate
//! that the separate checker accepts; and certificates that are spoilt, which it
//! must refuse: without their first entry, without literals that the proof needs,
//! or offered for a program in which one comparison is changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use palisade_certify::{Certificate, Fingerprint, Options as Check, Reason, check, parse, print};
use palisade_frontend::pal;
use palisade_machine::{Options as Search, explore};
use palisade_program::{Model, Program, Source, Verdict};
use palisade_report::verdict;
use palisade_verify::{Options, verify};

/// Literals that are removed from each certificate, spread over all.
const REMOVED: usize = 8;
/// Comparisons that are changed in each example.
const CHANGED: usize = 6;
/// States after which a changed program counts as not known to be wrong.
const PATIENCE: u64 = 20_000;

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = fs::read_dir(folder).expect("examples/ is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pal"))
        .collect();
    paths.sort();
    paths
}

fn parsed(name: &str, text: &str) -> Option<Program> {
    let parsed = pal::parse(Source::new(name, text)).ok()?;
    Some(parsed.program)
}

/// The verdict under SC that a program announces in its first lines.
fn announced(text: &str) -> &str {
    let line = text.lines().take(5).find(|line| line.contains("expect:"));
    let words = line.expect("announced").split_whitespace();
    let mut verdicts = words.filter_map(|word| word.strip_prefix("sc="));
    verdicts.next_back().expect("announced for sc")
}

/// The certificates of the examples that hold, with name and text of the program.
fn certified() -> Vec<(String, String, Program, Certificate)> {
    let mut found = Vec::new();
    for path in examples() {
        let name = path
            .file_stem()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path).expect("readable");
        let program = parsed(&name, &text).expect("examples are right");
        let report = verify(&program, &Options::default());
        assert_eq!(
            verdict::word(&report.verdict),
            announced(&text),
            "{name}: {:?}, {:?}",
            verdict::reason(&report.verdict),
            report.notes
        );
        if report.verdict == Verdict::Holds {
            assert!(report.certified, "{name} is not certified");
            let certificate = report.certificate.expect("a proof has a certificate");
            found.push((name, text, program, certificate));
        }
    }
    found
}

#[test]
fn certificates_of_all_examples() {
    let certified = certified();
    assert!(
        certified.len() > 15,
        "only {} examples hold",
        certified.len()
    );
    let (mut unsafe_twins, mut refused) = (0, 0);
    for (name, text, program, certificate) in &certified {
        assert!(accepted(program, certificate).is_ok(), "{name}");
        // Checks of four threads take seconds each.
        if program.instances(certificate.threads).len() > 3 {
            continue;
        }
        survives_its_text(name, program, certificate);
        without_the_first_entry(name, program, certificate);
        refused += without_literals(name, program, certificate);
        unsafe_twins += for_changed_programs(name, text, certificate);
    }
    assert!(
        unsafe_twins > certified.len(),
        "only {unsafe_twins} changed programs are wrong"
    );
    assert!(refused > 10, "only {refused} literals are needed");
}

fn accepted(program: &Program, certificate: &Certificate) -> Result<(), Reason> {
    match check(program, certificate, &Check::default()) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(refusal.reason),
    }
}

fn survives_its_text(name: &str, program: &Program, certificate: &Certificate) {
    let text = print(program, certificate);
    let read = parse(program, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(print(program, &read), text, "{name}");
    assert!(accepted(program, &read).is_ok(), "{name}");
}

/// The entries that hold all threads at their first location: without them the
/// initial states are outside.
fn without_the_first_entry(name: &str, program: &Program, certificate: &Certificate) {
    let instances = program.instances(certificate.threads);
    let entry = |t: usize| program.template(instances[t].template).cfg.entry;
    let mut spoilt = certificate.clone();
    spoilt.entries.retain(|e| {
        let mut locs = e.control.locs.iter().enumerate();
        !locs.all(|(t, loc)| *loc == entry(t))
    });
    // Compressed proofs begin where the first local steps end.
    if spoilt.entries.len() == certificate.entries.len() {
        spoilt.entries.remove(0);
    }
    let refused = accepted(program, &spoilt).expect_err(name);
    assert!(is_about_the_proof(&refused), "{name}: {refused}");
}

/// Removes single literals, then all; a proof with any needs some. Returns how many
/// single ones were missed: a state set that grows may still be an invariant.
fn without_literals(name: &str, program: &Program, certificate: &Certificate) -> usize {
    let mut places = Vec::new();
    for (e, entry) in certificate.entries.iter().enumerate() {
        for (c, cube) in entry.cubes.iter().enumerate() {
            places.extend((0..cube.0.len()).map(|l| (e, c, l)));
        }
    }
    let mut refused = 0;
    for (e, c, l) in spread(&places, REMOVED) {
        let mut spoilt = certificate.clone();
        spoilt.entries[e].cubes[c].0.remove(l);
        if let Err(reason) = accepted(program, &spoilt) {
            assert!(is_about_the_proof(&reason), "{name}: {reason}");
            refused += 1;
        }
    }
    // Without any literal the data are arbitrary: that proves nothing, unless
    // control alone does.
    let used: BTreeSet<usize> = places.iter().map(|place| place.0).collect();
    let mut spoilt = certificate.clone();
    for e in used {
        for cube in &mut spoilt.entries[e].cubes {
            cube.0.clear();
        }
    }
    let needs_data = !places.is_empty();
    assert_eq!(accepted(program, &spoilt).is_err(), needs_data, "{name}");
    refused
}

/// Offers the certificate for programs in which one comparison differs. As it is
/// it must be refused as another program's; made out to the changed program it
/// must be refused whenever that program is wrong. Returns how many are wrong.
fn for_changed_programs(name: &str, text: &str, certificate: &Certificate) -> usize {
    let mut wrong = 0;
    for at in spread(&comparisons(text), CHANGED) {
        let changed = format!("{}{}{}", &text[..at.0], at.2, &text[at.1..]);
        let Some(program) = parsed(name, &changed) else {
            continue;
        };
        assert_eq!(
            accepted(&program, certificate),
            Err(Reason::Fingerprint),
            "{changed}"
        );
        if !is_violated(&program) {
            continue;
        }
        wrong += 1;
        let forged = Certificate {
            fingerprint: Fingerprint::of(&program, Model::Sc, certificate.threads),
            ..certificate.clone()
        };
        let refused = accepted(&program, &forged).expect_err(&changed);
        assert!(
            is_about_the_proof(&refused) || matches!(refused, Reason::Malformed(_)),
            "{refused}: {changed}"
        );
    }
    wrong
}

fn is_violated(program: &Program) -> bool {
    let options = Search {
        max_states: Some(PATIENCE),
        ..Search::new(Model::Sc)
    };
    explore(program, &options).is_ok_and(|found| matches!(found.verdict, Verdict::Violated(_)))
}

/// The comparisons of a program's text: where each begins and ends, and another.
fn comparisons(text: &str) -> Vec<(usize, usize, &'static str)> {
    let table = [
        (" < ", " <= "),
        (" <= ", " < "),
        (" > ", " >= "),
        (" >= ", " > "),
        (" == ", " != "),
        (" != ", " == "),
    ];
    let mut found = Vec::new();
    for (from, to) in table {
        let matches = text.match_indices(from);
        found.extend(matches.map(|(at, _)| (at, at + from.len(), to)));
    }
    let in_comment = |at: usize| {
        let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        text[line..at].contains("//")
    };
    found.retain(|(at, _, _)| !in_comment(*at));
    found.sort_unstable();
    found
}

/// Whether the proof itself was found wanting.
fn is_about_the_proof(reason: &Reason) -> bool {
    match reason {
        Reason::Initial
        | Reason::NotClosed
        | Reason::Assertion
        | Reason::Index
        | Reason::Race
        | Reason::SummaryInvariant
        | Reason::Direct(_)
        | Reason::Disturbed(_)
        | Reason::Property(_)
        | Reason::Deadlock
        | Reason::Progress => true,
        Reason::Fingerprint
        | Reason::Malformed(_)
        | Reason::Unsupported(_)
        | Reason::States(_)
        | Reason::Undecided(_) => false,
    }
}

/// At most `count` of the items, evenly spread.
fn spread<T: Copy>(items: &[T], count: usize) -> Vec<T> {
    let step = items.len().div_ceil(count).max(1);
    items.iter().copied().step_by(step).collect()
}

/// Runs the command in `folder`; its exit code and what it prints.
fn palisade(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palisade"));
    let output = command.args(arguments).current_dir(folder).output();
    let output = output.expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

/// The text of a certificate is accepted by the command as it was written, and
/// refused without any of its entries.
#[test]
fn the_command_refuses_incomplete_texts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ticket_unbounded.pal");
    fs::copy(example, folder.path().join("ticket.pal")).expect("copied");
    let file = folder.path().join("ticket.cert");
    let verify = ["verify", "ticket.pal", "--certificate", "ticket.cert"];
    let (code, text) = palisade(folder.path(), &verify);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = palisade(folder.path(), &["certify", "ticket.pal", "ticket.cert"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("certificate accepted\n"), "{text}");
    let whole = fs::read_to_string(&file).expect("written");
    let entries: Vec<&str> = whole
        .lines()
        .filter(|line| line.starts_with("at "))
        .collect();
    assert!(entries.len() > 4, "{whole}");
    for entry in entries {
        fs::write(&file, whole.replace(&format!("{entry}\n"), "")).expect("written");
        let (code, text) = palisade(folder.path(), &["certify", "ticket.pal", "ticket.cert"]);
        assert_eq!(code, Some(3), "without `{entry}`: {text}");
        assert!(text.starts_with("unknown: certificate refused: "), "{text}");
    }
}
