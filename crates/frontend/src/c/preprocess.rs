//! *Preprocessing*: the system's `cc -E` against headers that ship with Palisade, so
//! that library objects are what the front end knows. Files that are preprocessed
//! already carry line markers; spans then point into the files that the markers name,
//! rebuilt from the lines that are there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use palisade_program::Span;

use super::types::DataModel;
use crate::diagnostic::Diagnostic;

/// Preprocessed text.
pub(super) struct Input {
    pub(super) text: String,
    /// The user's files in line markers; empty: the text is the file itself.
    pub(super) files: Vec<Included>,
}

/// A file of the user's that is part of a preprocessed text.
pub(super) struct Included {
    /// Its name in line markers.
    pub(super) marker: String,
    /// Its name for the user.
    pub(super) name: String,
    pub(super) text: String,
}

/// What is preprocessed: a file with its flags.
pub(super) struct Unit<'a> {
    pub(super) path: &'a Path,
    /// Its name for the user.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) flags: &'a Preprocessor,
    /// What it is preprocessed with besides ([`preludes`]).
    pub(super) preludes: &'a [&'static str],
}

/// The file that is preprocessed, in line markers.
const STDIN: &str = "<stdin>";

/// Headers by name.
const HEADERS: [(&str, &str); 38] = [
    (
        "__palisade_cancel.h",
        include_str!("headers/__palisade_cancel.h"),
    ),
    (
        "__palisade_keys.h",
        include_str!("headers/__palisade_keys.h"),
    ),
    (
        "__palisade_mutex_kinds.h",
        include_str!("headers/__palisade_mutex_kinds.h"),
    ),
    ("assert.h", include_str!("headers/assert.h")),
    ("ctype.h", include_str!("headers/ctype.h")),
    ("errno.h", include_str!("headers/errno.h")),
    ("genmc.h", include_str!("headers/genmc.h")),
    ("limits.h", include_str!("headers/limits.h")),
    ("malloc.h", include_str!("headers/stdlib.h")),
    ("memory.h", include_str!("headers/string.h")),
    ("math.h", include_str!("headers/math.h")),
    ("mpi.h", include_str!("headers/mpi.h")),
    ("omp.h", include_str!("headers/omp.h")),
    ("pthread.h", include_str!("headers/pthread.h")),
    ("sched.h", include_str!("headers/sched.h")),
    ("semaphore.h", include_str!("headers/semaphore.h")),
    ("emmintrin.h", include_str!("headers/immintrin.h")),
    ("immintrin.h", include_str!("headers/immintrin.h")),
    ("shmem.h", include_str!("headers/shmem.h")),
    ("GASPI.h", include_str!("headers/GASPI.h")),
    ("stdalign.h", include_str!("headers/stdalign.h")),
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
    ("x86intrin.h", include_str!("headers/immintrin.h")),
    ("xmmintrin.h", include_str!("headers/immintrin.h")),
    ("strings.h", include_str!("headers/strings.h")),
    ("sys/time.h", include_str!("headers/sys_time.h")),
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
    fn apply(&self, command: &mut Command, mirror: &Mirror) {
        let is_changed = |path: &Path| mirror.of(path).exists();
        let standard = self.standard.as_deref().unwrap_or("gnu11");
        command.arg(format!("-std={standard}"));
        for name in &self.undefines {
            command.arg("-U").arg(name);
        }
        for define in &self.defines {
            command.arg("-D").arg(define);
        }
        for folder in &self.folders {
            if is_changed(folder) {
                command.arg("-I").arg(mirror.of(folder));
            }
            command.arg("-I").arg(folder);
        }
        for file in &self.includes {
            let mirrored = is_changed(file).then(|| mirror.of(file));
            command
                .arg("-include")
                .arg(mirrored.as_ref().unwrap_or(file));
        }
    }
}

/// *Preludes*: parts of headers that change what types and functions are, for programs that need them only. Where
/// the name is left in a preprocessed text, the text has to be preprocessed again with the macro.
const PRELUDES: [(&str, &str); 2] = [
    // Recursive and error-checking mutexes.
    ("__palisade_mutex_kinds", "__PALISADE_MUTEX_KINDS"),
    ("__palisade_cancels", "__PALISADE_CANCEL"),
];

/// The macros of the preludes that a preprocessed text needs.
pub(super) fn preludes(text: &str) -> impl Iterator<Item = &'static str> {
    let needed = PRELUDES.iter().filter(|(name, _)| text.contains(name));
    needed.map(|(_, prelude)| *prelude)
}

/// Whether the text has directives of OpenMP, whose macros are to be replaced.
fn has_directives(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| {
        let pragma = line.strip_prefix('#').map(str::trim_start);
        let words = pragma.and_then(|p| p.strip_prefix("pragma"));
        words.is_some_and(|w| w.trim_start().starts_with("omp"))
    })
}

/// Whether the text has a line that only a preprocessor understands.
fn needs_preprocessor(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with('#') && !line.starts_with("#pragma")
    })
}

/// A path from the root, with `.` and `..` taken away where that needs no look at the disk.
fn absolute(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                whole.pop();
            }
            std::path::Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}

/// Included files with another text than on the disk: they stand in a folder that mirrors
/// theirs, and the preprocessor looks there first.
struct Mirror {
    root: PathBuf,
    /// Texts by name.
    files: Vec<(String, String)>,
}

impl Mirror {
    /// Where a path is in the mirror.
    fn of(&self, path: &Path) -> PathBuf {
        let path = absolute(path);
        let parts = path.components();
        let below = parts.filter(|c| matches!(c, std::path::Component::Normal(_)));
        self.root.join(below.collect::<PathBuf>())
    }

    fn write(&self) -> std::io::Result<()> {
        for (name, text) in &self.files {
            let to = self.of(Path::new(name));
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(to, text)?;
        }
        Ok(())
    }
}

/// Runs the preprocessor, if the file needs one. `changed` are files, names and texts, that
/// are not taken from the disk.
pub(super) fn run(
    unit: &Unit<'_>,
    changed: &[(String, String)],
    model: DataModel,
) -> Result<Input, Diagnostic> {
    let text = unit.text;
    if !needs_preprocessor(text) && *unit.flags == Preprocessor::default() {
        return Ok(Input {
            text: text.to_owned(),
            files: Vec::new(),
        });
    }
    let failed = |what: String| {
        let at = text.find('#').unwrap_or(0);
        Diagnostic::error(Span::new(at, at + 1), what)
            .label("a directive")
            .help("install a C compiler (`cc`), or give the output of `cc -E` as a .i file")
    };
    let folder = Folder::new().map_err(|e| failed(format!("cannot write headers: {e}")))?;
    let mirror = Mirror {
        root: folder.0.join("changed"),
        files: changed.to_vec(),
    };
    let written = mirror.write();
    written.map_err(|e| failed(format!("cannot write headers: {e}")))?;
    let own = preprocessed(unit, &folder, &mirror, model, false);
    let mut output = own.map_err(failed)?;
    if !output.status.success() {
        // Headers that do not ship with Palisade may be the system's.
        let with_system = preprocessed(unit, &folder, &mirror, model, true);
        if let Ok(with_system) = with_system {
            output = with_system;
        }
    }
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(complaint(text, &words));
    }
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let files = included(unit, &output, &folder, &mirror);
    Ok(Input {
        text: output,
        files,
    })
}

/// The output of `cc -E`, with the system's headers behind all others if asked for; why there
/// is none otherwise.
fn preprocessed(
    unit: &Unit<'_>,
    folder: &Folder,
    mirror: &Mirror,
    model: DataModel,
    is_system: bool,
) -> Result<Output, String> {
    let mut command = Command::new("cc");
    if !is_system {
        command.arg("-nostdinc");
    }
    for prelude in unit.preludes {
        command.arg(format!("-D{prelude}"));
    }
    if has_directives(unit.text) {
        command.arg("-fopenmp");
    }
    command
        .args(["-E", "-D__PALISADE__=1"])
        .arg(if model == DataModel::Ilp32 {
            "-m32"
        } else {
            "-m64"
        })
        .arg("-I")
        .arg(&folder.0);
    // Headers of the user's own stand beside the file.
    if let Some(parent) = unit.path.parent() {
        let here = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        if !mirror.files.is_empty() {
            command.arg("-iquote").arg(mirror.of(here));
        }
        command.arg("-iquote").arg(here);
    }
    unit.flags.apply(&mut command, mirror);
    command.args(["-x", "c", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let none = "this file needs a preprocessor, and no `cc` was found";
    let mut child = command.spawn().map_err(|_| none.to_owned())?;
    let mut input = child.stdin.take();
    let bytes = unit.text.as_bytes().to_owned();
    let writer = std::thread::spawn(move || {
        if let Some(input) = &mut input {
            // A preprocessor that stops reading says why itself.
            let _ = input.write_all(&bytes);
        }
    });
    let output = child.wait_with_output();
    let _ = writer.join();
    output.map_err(|e| format!("`cc -E` failed: {e}"))
}

/// The user's files that are part of a preprocessed text: all but Palisade's headers and the
/// system's.
fn included(unit: &Unit<'_>, output: &str, folder: &Folder, mirror: &Mirror) -> Vec<Included> {
    let mut files = vec![Included {
        marker: STDIN.to_owned(),
        name: unit.name.to_owned(),
        text: unit.text.to_owned(),
    }];
    for (_, marker, is_system) in output.lines().filter_map(marker) {
        if is_system || marker.starts_with('<') || files.iter().any(|f| f.marker == marker) {
            continue;
        }
        let path = Path::new(marker);
        let changed = mirror.files.iter();
        let changed = changed.map(|(name, text)| (mirror.of(Path::new(name)), name, text));
        if let Some((_, name, text)) = changed.into_iter().find(|(at, ..)| at == path) {
            files.push(Included {
                marker: marker.to_owned(),
                name: name.clone(),
                text: text.clone(),
            });
        } else if !path.starts_with(&folder.0)
            && let Ok(text) = fs::read(path)
        {
            files.push(Included {
                marker: marker.to_owned(),
                name: marker.to_owned(),
                text: String::from_utf8_lossy(&text).into_owned(),
            });
        }
    }
    files
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
pub(super) fn already(text: &str) -> Input {
    let mut names: Vec<&str> = Vec::new();
    for (_, name, is_system) in text.lines().filter_map(marker) {
        if !name.starts_with('<') && !is_system && !names.contains(&name) {
            names.push(name);
        }
    }
    let files = names.into_iter().map(|name| Included {
        marker: name.to_owned(),
        name: name.to_owned(),
        text: rebuilt(text, name),
    });
    Input {
        text: text.to_owned(),
        files: files.collect(),
    }
}

/// `# 12 "file.c" 3`: the number, the name, and whether it is a header of the system.
fn marker(line: &str) -> Option<(usize, &str, bool)> {
    let rest = line.strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let (number, name) = rest.split_once(' ')?;
    let (name, flags) = name.trim().strip_prefix('"')?.split_once('"')?;
    let is_system = flags.split_whitespace().any(|flag| flag == "3");
    Some((number.parse().ok()?, name, is_system))
}

/// A file as far as the preprocessed text shows it.
fn rebuilt(text: &str, main: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let (mut inside, mut at) = (false, 1);
    for line in text.lines() {
        if let Some((number, name, _)) = marker(line) {
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
