//! *Preprocessing*: the system's `cc -E` against headers that ship with Palisade, so
//! that library objects are what the front end knows. Files that are preprocessed
//! already carry line markers; spans then point into the file that the markers name,
//! rebuilt from the lines that are there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use palisade_program::{Source, Span};

use super::types::DataModel;
use crate::diagnostic::Diagnostic;

/// Preprocessed text.
pub(super) struct Input {
    pub(super) text: String,
    /// The user's file in line markers; `None`: the text is that file.
    pub(super) main: Option<String>,
    /// The user's file, where it is not the one that was given.
    pub(super) user: Option<Source>,
}

/// Headers by name.
const HEADERS: [(&str, &str); 21] = [
    ("assert.h", include_str!("headers/assert.h")),
    ("errno.h", include_str!("headers/errno.h")),
    ("limits.h", include_str!("headers/limits.h")),
    ("mpi.h", include_str!("headers/mpi.h")),
    ("pthread.h", include_str!("headers/pthread.h")),
    ("sched.h", include_str!("headers/sched.h")),
    ("semaphore.h", include_str!("headers/semaphore.h")),
    ("stdalign.h", ""),
    ("stdatomic.h", include_str!("headers/stdatomic.h")),
    ("stdbool.h", include_str!("headers/stdbool.h")),
    ("stddef.h", include_str!("headers/stddef.h")),
    ("stdint.h", include_str!("headers/stdint.h")),
    ("inttypes.h", include_str!("headers/stdint.h")),
    ("stdarg.h", include_str!("headers/stdarg.h")),
    ("stdio.h", include_str!("headers/stdio.h")),
    ("stdlib.h", include_str!("headers/stdlib.h")),
    ("string.h", include_str!("headers/string.h")),
    ("threads.h", include_str!("headers/threads.h")),
    ("time.h", include_str!("headers/time.h")),
    ("unistd.h", include_str!("headers/unistd.h")),
    ("sys/types.h", include_str!("headers/sys_types.h")),
];

/// A folder that is gone when this is.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("palisade-headers-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("sys"))?;
        let folder = Self(folder);
        for (name, text) in HEADERS {
            fs::write(folder.0.join(name), text)?;
        }
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left-overs in the folder for temporary files harm nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Flags for the preprocessor, as a C compiler takes them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Preprocessor {
    /// `-I`: folders with headers, looked at after those that ship with Palisade.
    pub folders: Vec<PathBuf>,
    /// `-D`: macros, `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// `-U`: names that are no macros.
    pub undefines: Vec<String>,
    /// `-include`: files that are read first.
    pub includes: Vec<PathBuf>,
    /// `-std`: the language, such as `c11`.
    pub standard: Option<String>,
}

impl Preprocessor {
    fn apply(&self, command: &mut Command) {
        let standard = self.standard.as_deref().unwrap_or("gnu11");
        command.arg(format!("-std={standard}"));
        for name in &self.undefines {
            command.arg("-U").arg(name);
        }
        for define in &self.defines {
            command.arg("-D").arg(define);
        }
        for folder in &self.folders {
            command.arg("-I").arg(folder);
        }
        for file in &self.includes {
            command.arg("-include").arg(file);
        }
    }
}

/// Whether the text has a line that only a preprocessor understands.
fn needs_preprocessor(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with('#') && !line.starts_with("#pragma")
    })
}

/// Runs the preprocessor, if the file needs one.
pub(super) fn run(
    path: &Path,
    source: &Source,
    model: DataModel,
    flags: &Preprocessor,
) -> Result<Input, Diagnostic> {
    let text = source.text();
    if !needs_preprocessor(text) && *flags == Preprocessor::default() {
        return Ok(Input {
            text: text.to_owned(),
            main: None,
            user: None,
        });
    }
    let failed = |what: String| {
        let at = text.find('#').unwrap_or(0);
        Diagnostic::error(Span::new(at, at + 1), what)
            .label("a directive")
            .help("install a C compiler (`cc`), or give the output of `cc -E` as a .i file")
    };
    let folder = Folder::new().map_err(|e| failed(format!("cannot write headers: {e}")))?;
    let mut command = Command::new("cc");
    command
        .args(["-E", "-nostdinc", "-D__PALISADE__=1"])
        .arg(if model == DataModel::Ilp32 {
            "-m32"
        } else {
            "-m64"
        })
        .arg("-I")
        .arg(&folder.0);
    // Headers of the user's own stand beside the file.
    if let Some(parent) = path.parent() {
        let here = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        command.arg("-iquote").arg(here);
    }
    flags.apply(&mut command);
    command.args(["-x", "c", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|_| failed("this file needs a preprocessor, and no `cc` was found".to_owned()))?;
    let mut input = child.stdin.take();
    let bytes = text.as_bytes().to_owned();
    let writer = std::thread::spawn(move || {
        if let Some(input) = &mut input {
            // A preprocessor that stops reading says why itself.
            let _ = input.write_all(&bytes);
        }
    });
    let output = child
        .wait_with_output()
        .map_err(|e| failed(format!("`cc -E` failed: {e}")))?;
    let _ = writer.join();
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(complaint(text, &words));
    }
    Ok(Input {
        text: String::from_utf8_lossy(&output.stdout).into_owned(),
        main: Some("<stdin>".to_owned()),
        user: None,
    })
}

/// What the preprocessor complained about, where it did.
fn complaint(text: &str, words: &str) -> Diagnostic {
    let first = words
        .lines()
        .find(|line| line.contains("error"))
        .unwrap_or("`cc -E` failed");
    let mut parts = first.splitn(4, ':');
    let (_, line) = (
        parts.next(),
        parts.next().and_then(|l| l.trim().parse::<usize>().ok()),
    );
    let message = first.rsplit("error:").next().unwrap_or(first).trim();
    let start: usize = text
        .split_inclusive('\n')
        .take(line.unwrap_or(1).saturating_sub(1))
        .map(str::len)
        .sum();
    let length = text[start.min(text.len())..]
        .lines()
        .next()
        .map_or(0, str::len);
    let help = if message.contains("No such file") {
        let known: Vec<&str> = HEADERS.iter().map(|(name, _)| *name).collect();
        let known = known.join(", ");
        format!("headers that palisade knows: {known}; unsupported otherwise")
    } else {
        "these are the words of the preprocessor (`cc -E`)".to_owned()
    };
    Diagnostic::error(Span::new(start, start + length), message).help(help)
}

/// A file that is preprocessed already.
pub(super) fn already(source: &Source) -> Input {
    let text = source.text().to_owned();
    let Some(main) = first_marker(&text) else {
        return Input {
            text,
            main: None,
            user: None,
        };
    };
    let user = Source::new(main.clone(), rebuilt(&text, &main));
    Input {
        text,
        main: Some(main),
        user: Some(user),
    }
}

/// `# 12 "file.c"`: the number and the name.
fn marker(line: &str) -> Option<(usize, &str)> {
    let rest = line.strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let (number, name) = rest.split_once(' ')?;
    let name = name.trim().strip_prefix('"')?.split('"').next()?;
    Some((number.parse().ok()?, name))
}

/// The file that the first marker names.
fn first_marker(text: &str) -> Option<String> {
    let names = text.lines().filter_map(marker).map(|(_, name)| name);
    let mut names = names.filter(|name| !name.starts_with('<'));
    names.next().map(str::to_owned)
}

/// The user's file as far as the preprocessed text shows it.
fn rebuilt(text: &str, main: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let (mut inside, mut at) = (false, 1);
    for line in text.lines() {
        if let Some((number, name)) = marker(line) {
            inside = name == main;
            at = number;
            continue;
        }
        // A marker with an absurd number must not make an absurd file.
        if inside && at >= 1 && at <= lines.len() + 100_000 {
            if lines.len() < at {
                lines.resize(at, String::new());
            }
            let old = &mut lines[at - 1];
            if !old.is_empty() && !line.is_empty() {
                old.push(' ');
            }
            old.push_str(line);
        }
        at += 1;
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}
