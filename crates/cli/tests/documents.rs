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

/// What stands in a document: programs to save, and commands with what they print.
enum Part {
    /// A program, and the name that the text before it gives.
    Program(String, String),
    /// The words behind `palisade`, and how the output begins.
    Run(String, String),
}

/// Languages of programs that are saved; files end in the same.
const LANGUAGES: [&str; 4] = ["pal", "c", "tvp", "tvs"];

/// A name such as `lock.pal` in the prose before a program; the last one counts.
fn file_name(prose: &str, language: &str) -> Option<String> {
    let words = prose.split('`').skip(1).step_by(2);
    let ending = format!(".{language}");
    let names = words.filter(|word| word.ends_with(&ending) && !word.contains([' ', '/']));
    names.last().map(str::to_owned)
}

fn parts(text: &str) -> Vec<Part> {
    let mut found = Vec::new();
    let mut prose = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let command = line.strip_prefix("<!-- run: palisade ");
        let command = command.and_then(|c| c.strip_suffix(" -->"));
        if let Some(command) = command {
            assert_eq!(lines.next(), Some("```text"), "behind `{line}`");
            let shown: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push(Part::Run(command.to_owned(), shown.join("\n")));
        } else if let Some(language) = line.strip_prefix("```").filter(|l| LANGUAGES.contains(l)) {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if let Some(name) = file_name(&prose, language) {
                found.push(Part::Program(name, body.join("\n") + "\n"));
            }
        } else {
            prose.push_str(line);
            prose.push('\n');
            continue;
        }
        prose.clear();
    }
    found
}

/// A folder with the examples, in which a document's programs are saved.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["examples", "suites"] {
        let from = repository().join(name).canonicalize().expect("is there");
        std::os::unix::fs::symlink(from, folder.path().join(name)).expect("linked");
    }
    folder
}

#[test]
fn documents_show_what_commands_print() {
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("readable");
        let folder = folder();
        for part in parts(&text) {
            let (command, shown) = match part {
                Part::Program(name, program) => {
                    fs::write(folder.path().join(name), program).expect("written");
                    continue;
                }
                Part::Run(command, shown) => (command, shown),
            };
            let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
                .args(command.split_whitespace())
                .current_dir(folder.path())
                .output()
                .expect("palisade runs");
            let printed = String::from_utf8_lossy(&output.stdout);
            let name = document.display();
            assert!(
                printed.starts_with(&shown) && (!shown.is_empty() || printed.is_empty()),
                "{name}: palisade {command} prints\n{printed}\nand not\n{shown}"
            );
            count += 1;
        }
    }
    assert!(count >= 15, "{count} commands");
}

/// The commands in code: lines that begin with `palisade` or `./palisade`, without what the
/// shell does with them.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if !is_code && !line.starts_with("    ") {
            continue;
        }
        let line = line.trim().trim_start_matches("$ ");
        let command = line
            .strip_prefix("palisade ")
            .or_else(|| line.strip_prefix("./palisade "));
        let Some(command) = command else { continue };
        let end = command
            .find([';', '|', '>', '#', '&'])
            .unwrap_or(command.len());
        found.push(command[..end].trim().to_owned());
    }
    found
}

/// Every command of the documents has a subcommand and options that there are.
#[test]
fn documents_name_commands_that_there_are() {
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("readable");
        for command in commands(&text) {
            let words = command.replace(['"', '\''], "");
            let mut words: Vec<&str> = words.split_whitespace().collect();
            words.retain(|word| *word != "...");
            if words.is_empty() || words.iter().any(|w| w.contains("...")) {
                continue;
            }
            // Everything before --help is read.
            let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
                .args(&words)
                .arg("--help")
                .current_dir(repository())
                .output()
                .expect("palisade runs");
            assert!(
                output.status.success(),
                "{}: palisade {command}\n{}",
                document.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            count += 1;
        }
    }
    assert!(count >= 40, "{count} commands");
}
