//! The corpus: every program of `examples/` and of the tutorial has the verdicts
//! that it announces. An announcement is the comment
//! `expect: sc=holds tso=violated pso=violated`, in an example on one of its first
//! lines. `explore` must give that verdict; for a program that `explore` cannot
//! finish (`unbounded` in the announcement), it must not give the opposite.

use std::fs;
use std::path::{Path, PathBuf};

use palisade_frontend::load;
use palisade_machine::{Options, explore};
use palisade_program::{Model, Verdict};
use palisade_report::verdict;

/// States after which an unbounded program is given up.
const PATIENCE: u64 = 20_000;

/// What a program announces.
struct Announcement {
    verdicts: Vec<(Model, String)>,
    is_unbounded: bool,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads `expect: sc=holds tso=violated unbounded`.
fn announcement(line: &str) -> Option<Announcement> {
    let (_, words) = line.split_once("expect:")?;
    let words = words.trim_end_matches("-->").trim_end_matches("*/");
    let words = words.split_whitespace();
    let mut found = Announcement {
        verdicts: Vec::new(),
        is_unbounded: false,
    };
    for word in words {
        match word.split_once('=') {
            Some((model, verdict)) => found.verdicts.push((named(model), verdict.to_owned())),
            None if word == "unbounded" => found.is_unbounded = true,
            None => panic!("what is `{word}` in `{line}`?"),
        }
    }
    assert!(!found.verdicts.is_empty(), "no verdict in `{line}`");
    Some(found)
}

fn named(model: &str) -> Model {
    [Model::Sc, Model::Tso, Model::Pso, Model::Rma]
        .into_iter()
        .find(|known| known.to_string() == model)
        .unwrap_or_else(|| panic!("unknown model `{model}`"))
}

/// Explores the program under each model announced.
fn check(name: &str, text: &str, expected: &Announcement) {
    let parsed = load(Path::new(name), text).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(parsed.warnings.is_empty(), "{name} has warnings");
    for (model, expected_verdict) in &expected.verdicts {
        let options = Options {
            max_states: expected.is_unbounded.then_some(PATIENCE),
            ..Options::new(*model)
        };
        let result = explore(&parsed.program, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let found = verdict::word(&result.verdict);
        let gave_up = expected.is_unbounded && matches!(result.verdict, Verdict::Unknown(_));
        assert!(
            found == expected_verdict || gave_up,
            "{name} under {model}: expected {expected_verdict}, found {found} {:?}",
            verdict::reason(&result.verdict)
        );
    }
}

/// Checks every file of a folder that has this extension.
fn check_folder(folder: &str, extension: &str, at_least: usize) {
    let mut paths: Vec<PathBuf> = fs::read_dir(repository().join(folder))
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    paths.sort();
    assert!(paths.len() >= at_least, "only {} in {folder}", paths.len());
    for path in paths {
        let name = path.display().to_string();
        let text = fs::read_to_string(&path).expect("readable");
        let expected = text.lines().take(5).find_map(announcement);
        let expected = expected.unwrap_or_else(|| panic!("{name} does not say what to expect"));
        check(&name, &text, &expected);
    }
}

#[test]
fn examples() {
    check_folder("examples", "pal", 10);
}

#[test]
fn fence_examples() {
    check_folder("examples/fence", "pal", 5);
}

#[test]
fn rma_examples() {
    check_folder("examples/rma", "pal", 2);
}

#[test]
fn rmm_examples() {
    check_folder("examples/rmm", "rmm", 5);
}

#[test]
fn tutorial() {
    let text = fs::read_to_string(repository().join("docs/tutorial.md")).expect("readable");
    let mut checked = 0;
    let mut expected = None;
    let mut pieces = text.split("```");
    // Prose and code alternate.
    while let (Some(prose), Some(code)) = (pieces.next(), pieces.next()) {
        expected = prose.lines().rev().find_map(announcement).or(expected);
        if let Some(program) = code.strip_prefix("pal\n") {
            let expected = expected.take().expect("announced above the program");
            check("tutorial.pal", program, &expected);
            checked += 1;
        }
    }
    assert!(checked >= 3, "only {checked} programs found");
}
