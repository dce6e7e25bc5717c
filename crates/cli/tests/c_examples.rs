//! The C programs in `examples/c` have the verdicts that their second line says, and
//! the system's compiler accepts them.

use crate::c_support;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn examples() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/c");
    let files = fs::read_dir(folder).expect("the examples are there");
    let mut files: Vec<PathBuf> = files.map(|f| f.expect("readable").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "c"));
    files.sort();
    assert!(files.len() >= 40, "{} examples", files.len());
    files
}

/// ` * expect: sc=holds tso=violated pso=violated */`
fn expected(text: &str) -> Vec<(String, String)> {
    let line = text.lines().nth(1).unwrap_or_default();
    let line = line.trim_start_matches(" * expect:").trim_end_matches("*/");
    let pairs = line.split(' ').filter_map(|p| p.split_once('='));
    pairs.map(|(m, v)| (m.to_owned(), v.to_owned())).collect()
}

fn verdict(command: &str, file: &PathBuf, model: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args([command, "--model", model])
        .arg(file)
        .output()
        .expect("palisade runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let word = text.split([':', ' ', '\n']).next().unwrap_or_default();
    let code = output.status.code();
    let right = match word {
        "holds" => code == Some(0) && text.contains("VERDICT: true\n"),
        "violated" => code == Some(1) && text.contains("VERDICT: false(unreach-call)\n"),
        "unknown" => code == Some(3) && text.contains("VERDICT: unknown\n"),
        _ => false,
    };
    assert!(right, "{} {model}: {code:?}\n{text}", file.display());
    word.to_owned()
}

#[test]
fn every_example_has_its_verdicts() {
    for file in examples() {
        let text = fs::read_to_string(&file).expect("readable");
        let pairs = expected(&text);
        assert_eq!(pairs.len(), 3, "{}", file.display());
        for (model, verdict_expected) in pairs {
            let found = verdict("explore", &file, &model);
            assert_eq!(found, verdict_expected, "{} under {model}", file.display());
        }
    }
}

#[test]
fn proofs_agree() {
    for name in [
        "dekker",
        "dekker_fenced",
        "peterson_atomic",
        "latch",
        "tas_lock",
        "asm_lock",
    ] {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/c");
        let file = folder.join(format!("{name}.c"));
        let text = fs::read_to_string(&file).expect("readable");
        for (model, verdict_expected) in expected(&text) {
            let found = verdict("verify", &file, &model);
            assert_eq!(found, verdict_expected, "{name} under {model}");
        }
    }
}

#[test]
fn the_compiler_accepts_every_example() {
    let output = c_support::compiler()
        .args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unknown-pragmas",
            "-pthread",
            "-fsyntax-only",
        ])
        .args(examples())
        .output()
        .expect("the compiler runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
}
