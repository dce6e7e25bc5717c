//! Programs with remote memory as users write them, in the folder `rma_users`: the first line of
//! each says the exit codes of `explore` and `verify`, the fewest flushes that `fence` finds where
//! there is a bug that they repair, and the number of ranks of a C program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn programs(extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rma_users");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|e| e.expect("readable").path());
    let mut all: Vec<PathBuf> = paths
        .filter(|p| p.extension().is_some_and(|e| e == extension))
        .collect();
    all.sort();
    all
}

fn palisade(command: &str, file: &Path, ranks: Option<&str>) -> Output {
    let mut palisade = Command::new(env!("CARGO_BIN_EXE_palisade"));
    palisade.arg(command).arg(file).args(["--model", "rma"]);
    palisade.args(ranks.iter().flat_map(|n| ["-n", n]));
    palisade.output().expect("it runs")
}

fn keep_their_word(extension: &str) -> usize {
    let programs = programs(extension);
    for file in &programs {
        let text = fs::read_to_string(file).expect("readable");
        let first = text.lines().next().unwrap_or_default();
        let word = |key: &str| {
            let mut words = first.split_whitespace();
            words.find_map(|w| w.strip_prefix(key)?.strip_prefix('='))
        };
        let ranks = word("ranks");
        for command in ["explore", "verify"] {
            let Some(code) = word(command) else {
                continue;
            };
            let output = palisade(command, file, ranks);
            let found = output.status.code().map(|c| c.to_string());
            assert_eq!(
                found.as_deref(),
                Some(code),
                "{command} {}: {output:?}",
                file.display()
            );
        }
        if let Some(flushes) = word("flushes") {
            let output = palisade("fence", file, ranks);
            let words = String::from_utf8_lossy(&output.stdout).into_owned();
            let sites = words.lines().filter(|l| l.contains(": flush after "));
            let each = sites.map(|l| l.split(" in ").last().map_or(1, |t| t.split(',').count()));
            assert_eq!(
                each.sum::<usize>().to_string(),
                flushes,
                "{}: {words}",
                file.display()
            );
            assert!(
                words.contains("minimum: proved"),
                "{}: {words}",
                file.display()
            );
        }
    }
    programs.len()
}

#[test]
fn pal_programs_have_their_verdicts() {
    assert!(keep_their_word("pal") > 10);
}

#[test]
fn mpi_programs_have_their_verdicts() {
    let compiler = Command::new("cc").arg("--version").output();
    if compiler.is_ok_and(|c| c.status.success()) {
        assert!(keep_their_word("c") > 8);
    }
}
