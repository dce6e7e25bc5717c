//! What the documents show is what the command prints: a block behind
//! `<!-- run: palisade ... -->` is how the output of that command begins.

use std::fmt::Write as _;
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

/// A command in code: a line that begins with `palisade` or `./palisade`.
struct Line {
    /// The words behind `palisade`, without what the shell does with them.
    words: Vec<String>,
    /// The file behind `>`.
    saved: Option<String>,
    /// What stands behind `#`.
    remark: String,
    /// The lines below, up to `...` or the next command, also of the shell: how the output begins.
    shown: String,
}

fn line(text: &str) -> Option<Line> {
    let text = text.trim().trim_start_matches("$ ");
    let command = text
        .strip_prefix("palisade ")
        .or_else(|| text.strip_prefix("./palisade "))?;
    let (command, remark) = command.split_once('#').unwrap_or((command, ""));
    let (command, saved) = match command.split_once('>') {
        Some((command, file)) => (command, Some(file.trim().to_owned())),
        None => (command, None),
    };
    let end = command.find([';', '|', '&']).unwrap_or(command.len());
    let words = command[..end].replace(['"', '\''], "");
    Some(Line {
        words: words.split_whitespace().map(str::to_owned).collect(),
        saved,
        remark: remark.trim().to_owned(),
        shown: String::new(),
    })
}

/// The commands of a document that no `run` comment speaks of.
fn lines(text: &str) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    // Whether code is fenced, and whether the last line was of a command's output.
    let (mut is_fenced, mut follows) = (false, false);
    for text in text.lines() {
        if text.starts_with("```") {
            (is_fenced, follows) = (!is_fenced, false);
        } else if !is_fenced && !text.starts_with("    ") {
            follows = false;
        } else if let Some(line) = line(text) {
            found.push(line);
            follows = true;
        } else if let Some(line) = found.last_mut().filter(|_| follows) {
            let text = if is_fenced { text } else { &text[4..] };
            follows = text != "..." && !text.starts_with("$ ");
            if follows {
                line.shown.push_str(text);
                line.shown.push('\n');
            }
        }
    }
    found
}

/// Every command of the documents has a subcommand and options that there are.
#[test]
fn documents_name_commands_that_there_are() {
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("readable");
        for mut line in lines(&text) {
            line.words.retain(|word| *word != "...");
            if line.words.is_empty() || line.words.iter().any(|w| w.contains("...")) {
                continue;
            }
            // Everything before --help is read.
            let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
                .args(&line.words)
                .arg("--help")
                .current_dir(repository())
                .output()
                .expect("palisade runs");
            assert!(
                output.status.success(),
                "{}: palisade {}\n{}",
                document.display(),
                line.words.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
            count += 1;
        }
    }
    assert!(count >= 40, "{count} commands");
}

/// Whether a word is a file that is read, and not there: the command is a pattern.
fn is_missing(folder: &Path, word: &str) -> bool {
    let endings = ["c", "rs", "pal", "yml", "tvp", "tvs", "bp", "cert", "json"];
    let ending = Path::new(word).extension().and_then(|e| e.to_str());
    ending.is_some_and(|e| endings.contains(&e)) && !folder.join(word).exists()
}

/// Every command that names files of the repository, or files that commands before it have written, is
/// run: none is wrong input, a remark says how the output begins, and so do the lines below.
#[test]
fn commands_of_documents_are_run() {
    let mut count = 0;
    let mut wrong = String::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("readable");
        let folder = folder();
        for line in lines(&text) {
            let command = line.words.join(" ");
            let mut written = false;
            let misses = line.words.iter().any(|word| {
                let is_output = std::mem::replace(&mut written, word.starts_with('-'));
                !is_output && is_missing(folder.path(), word)
            });
            let names_one = line.words.iter().any(|w| folder.path().join(w).exists());
            if misses || !names_one {
                continue;
            }
            let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
                .args(&line.words)
                .current_dir(folder.path())
                .output()
                .expect("palisade runs");
            let name = document.display();
            let printed = String::from_utf8_lossy(&output.stdout);
            if !matches!(output.status.code(), Some(0 | 1 | 3)) {
                let error = String::from_utf8_lossy(&output.stderr);
                let _ = writeln!(wrong, "{name}: palisade {command}\n{error}");
            }
            for begins in [line.remark.as_str(), line.shown.trim_end()] {
                if !printed.starts_with(begins) {
                    let _ = writeln!(
                        wrong,
                        "{name}: palisade {command} prints\n{printed}\nand not\n{begins}\n"
                    );
                }
            }
            if let Some(file) = line.saved {
                fs::write(folder.path().join(file), printed.as_bytes()).expect("written");
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 40, "{count} commands");
}
