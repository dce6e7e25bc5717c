//! What the documents show is what the command prints: a block behind
//! `<!-- run: palisade ... -->` is how the output of that command begins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README and everything in `docs`.
fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join("docs")).expect("docs are there");
    let mut all: Vec<PathBuf> = entries.map(|e| e.expect("readable").path()).collect();
    all.retain(|path| path.extension().is_some_and(|e| e == "md"));
    all.push(repository().join("README.md"));
    all.sort();
    all
}

/// The commands of a text with what it shows behind them.
fn runs(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let command = line.strip_prefix("<!-- run: palisade ");
        let Some(command) = command.and_then(|c| c.strip_suffix(" -->")) else {
            continue;
        };
        assert_eq!(lines.next(), Some("```text"), "behind `{line}`");
        let shown: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        found.push((command.to_owned(), shown.join("\n")));
    }
    found
}

#[test]
fn documents_show_what_commands_print() {
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("readable");
        for (command, shown) in runs(&text) {
            let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
                .args(command.split_whitespace())
                .current_dir(repository())
                .output()
                .expect("palisade runs");
            let printed = String::from_utf8_lossy(&output.stdout);
            let name = document.display();
            assert!(
                printed.starts_with(&shown),
                "{name}: palisade {command} prints\n{printed}\nand not\n{shown}"
            );
            count += 1;
        }
    }
    assert!(count >= 2, "{count} commands");
}
