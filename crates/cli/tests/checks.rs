//! The programs in `examples/checks` have the verdicts that their second line says, by `explore` and
//! by `verify`: `deadlock: sc holds, tso violated` asks with `--check deadlock`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is asked, and the verdict under each model.
fn expected(text: &str) -> (String, Vec<(String, String)>) {
    let line = text.lines().nth(1).unwrap_or_default();
    let line = line
        .trim_start_matches([' ', '*', '/'])
        .trim_end_matches("*/");
    let (checks, verdicts) = line.split_once(':').expect("CHECK: MODEL VERDICT, ..");
    let pairs = verdicts.split(',').filter_map(|p| p.trim().split_once(' '));
    let pairs = pairs.map(|(m, v)| (m.to_owned(), v.to_owned()));
    (checks.to_owned(), pairs.collect())
}

fn palisade(command: &str, file: &Path, checks: &str, model: &str) -> String {
    let mut run = Command::new(env!("CARGO_BIN_EXE_palisade"));
    run.arg(command).arg(file).args(["--model", model]);
    for check in checks.split_whitespace().filter(|c| *c != "verdicts") {
        run.args(["--check", check]);
    }
    let output = run.output().expect("palisade runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_example_has_its_verdicts() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/checks");
    let files = fs::read_dir(folder).expect("the examples are there");
    let mut files: Vec<PathBuf> = files.map(|f| f.expect("readable").path()).collect();
    files.sort();
    assert!(files.len() >= 6, "{} examples", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        let (checks, pairs) = expected(&text);
        for (model, verdict) in pairs {
            // Under RC11 a thread may lag behind without end: only summaries end.
            let endless = (model.as_str(), verdict.as_str()) == ("rc11", "holds");
            let commands: &[&str] = if endless {
                &["verify"]
            } else {
                &["explore", "verify"]
            };
            for command in commands {
                let text = palisade(command, &file, &checks, &model);
                let word = text.split([':', ' ', '\n']).next().unwrap_or_default();
                assert_eq!(
                    word,
                    verdict,
                    "{command} {} {model}\n{text}",
                    file.display()
                );
                let certified = text.contains("(certified)");
                assert!(
                    *command != "verify" || word != "holds" || certified,
                    "{text}"
                );
            }
        }
    }
}
