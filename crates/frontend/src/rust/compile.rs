//! Calls of the *compiler*. A program is compiled against a standard library of our own
//! (`library/std.rs`), which is the compiler's with other threads and locks; `loom` and `shuttle`
//! are that library under other names. The compiler's optimiser does not run on what it
//! makes (`no-prepopulate-passes`); the level of optimisation is 2 all the same, since below that
//! it leaves generic functions of the library out.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Crate, Linked, Options};

/// The crates that are ours, whatever the program brings.
pub(super) const OURS: [&str; 3] = ["std", "loom", "shuttle"];
const STD: &str = include_str!("library/std.rs");
const MPSC: &str = include_str!("library/mpsc.rs");
const COLLECTIONS: &str = include_str!("library/collections.rs");
const LOOM: &str = include_str!("library/loom.rs");
const SHUTTLE: &str = include_str!("library/shuttle.rs");

/// What integer overflow does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overflow {
    /// It panics, as in debug builds.
    #[default]
    Debug,
    /// It wraps, as in release builds.
    Release,
}

/// What the compiler has made.
pub(super) struct Compiled {
    /// LLVM's text of each crate, the user's first.
    pub(super) modules: Vec<String>,
}

/// Why there is nothing.
pub(super) struct Trouble {
    pub(super) message: String,
    pub(super) help: &'static str,
    /// Line and column, if the compiler names some.
    pub(super) place: Option<(u32, u32)>,
}

fn trouble(message: impl Into<String>, help: &'static str) -> Trouble {
    Trouble {
        message: message.into(),
        help,
        place: None,
    }
}

/// A folder that goes away in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("palisade-rust-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in the temporary folder harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn compiler(options: &Options) -> Command {
    let name = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(name);
    command.args(["-C", "opt-level=2", "-C", "no-prepopulate-passes", "-C"]);
    // Test programs cannot be compiled to abort.
    command.arg(if options.test.is_some() {
        "panic=unwind"
    } else {
        "panic=abort"
    });
    command.args(["-C", "debuginfo=2", "-C", "symbol-mangling-version=v0"]);
    command.args(["-C", "codegen-units=1", "-C", "debug-assertions=off"]);
    command.args(["--color", "never"]);
    command
}

fn run(command: &mut Command) -> Result<(), Trouble> {
    let output = command.output().map_err(|error| {
        let message = format!("the Rust compiler cannot be started: {error}");
        trouble(message, "install Rust, or set RUSTC to its compiler")
    })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Trouble {
        message: format!("the compiler refuses the program\n{}", text.trim_end()),
        help: "make it compile with `rustc` first",
        place: place_of(&text),
    })
}

/// What the compiler says of a program, without the places in our library. If the program compiles with
/// the library of the compiler, it uses something that ours does not have.
fn not_ours(
    mut trouble: Trouble,
    folder: &Path,
    file: Option<&Path>,
    options: &Options,
) -> Trouble {
    let is_alone = options.own.is_none() && options.crates.is_empty();
    if let Some(file) = file
        && is_alone
    {
        let mut command = compiler(options);
        command.args([
            "--crate-name",
            "program",
            "--emit=metadata",
            "-A",
            "warnings",
        ]);
        command.args(["--edition", &options.root().edition, "-o"]);
        command.arg(folder.join("program.rmeta")).arg(file);
        if options.test.is_some() {
            command.arg("--test");
        }
        if run(&mut command).is_ok() {
            let first = "unsupported: a part of the standard library that is not modelled";
            let rest = trouble
                .message
                .split_once('\n')
                .map_or("", |(_, rest)| rest);
            trouble.message = format!("{first}\n{rest}");
            trouble.help = "docs/rust.md says what of the library is modelled";
        }
    }
    trouble.message = without_folder(&trouble.message, &folder.to_string_lossy());
    trouble
}

/// The compiler's words without the notes and pictures of files in a folder.
fn without_folder(text: &str, folder: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut is_skipping = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let is_place = trimmed.starts_with("--> ") || trimmed.starts_with("::: ");
        if is_place && trimmed.contains(folder) {
            // The line before it says what is shown there.
            let is_note = |line: &&str| {
                let line = line.trim_start();
                line.starts_with("note:") || line.starts_with("help:") || line.starts_with("= ")
            };
            if trimmed.starts_with("--> ") && kept.last().is_some_and(is_note) {
                kept.pop();
            }
            is_skipping = true;
            continue;
        }
        let of_picture = trimmed.starts_with('|')
            || trimmed.starts_with("...")
            || trimmed
                .split_once(" |")
                .is_some_and(|(n, _)| n.trim().parse::<u32>().is_ok());
        if is_skipping && (of_picture || trimmed.is_empty()) {
            continue;
        }
        is_skipping = false;
        if !line.contains(folder) {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// Line and column of the first error: ` --> file:LINE:COLUMN`.
fn place_of(text: &str) -> Option<(u32, u32)> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("--> "))?;
    let mut parts = line.rsplitn(3, ':');
    let column = parts.next()?.trim().parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some((line, column))
}

/// Compiles our library into a folder.
fn library(folder: &Path, names: &[&str], options: &Options) -> Result<(), Trouble> {
    let written = |error: std::io::Error| {
        let message = format!("the temporary folder cannot be used: {error}");
        trouble(message, "set TMPDIR to a folder that can be written")
    };
    for (name, text) in [("std", STD), ("loom", LOOM), ("shuttle", SHUTTLE)] {
        if !names.contains(&name) {
            continue;
        }
        let file = folder.join(format!("{name}.rs"));
        std::fs::write(&file, text).map_err(written)?;
        if name == "std" {
            let sync = folder.join("sync");
            std::fs::create_dir_all(&sync).map_err(written)?;
            std::fs::write(sync.join("mpsc.rs"), MPSC).map_err(written)?;
            std::fs::write(folder.join("collections.rs"), COLLECTIONS).map_err(written)?;
        }
        let mut command = compiler(options);
        command.args([
            "--edition",
            "2021",
            "--crate-type",
            "rlib",
            "--crate-name",
            name,
        ]);
        command.args([
            "-C",
            "metadata=palisade",
            "-C",
            "overflow-checks=off",
            "--cap-lints",
            "allow",
        ]);
        command
            .arg("--emit=link,llvm-ir")
            .arg("--out-dir")
            .arg(folder);
        if options.test.is_some() {
            command.args(["--cfg", "palisade_test"]);
        }
        if name != "std" {
            command
                .arg("--extern")
                .arg(with_path("std=", &folder.join("libstd.rlib")));
        }
        run(command.arg(&file))?;
    }
    Ok(())
}

/// Compiles the other crates of a program into a folder.
fn other_crates(folder: &Path, options: &Options) -> Result<(), Trouble> {
    for (number, one) in options.crates.iter().enumerate() {
        let mut command = compiler(options);
        command.args(["--crate-type", "rlib", "--crate-name", &one.name]);
        command.args(["-C", &format!("metadata={number}")]);
        command.args(["-C", &format!("extra-filename=-{number}")]);
        command
            .args(["--cap-lints", "allow", "--emit=link,llvm-ir", "--out-dir"])
            .arg(folder);
        one.configure(&mut command, folder, options);
        run(command.arg(&one.file)).map_err(|trouble| {
            // Cargo compiles it with the library of the compiler.
            let words = trouble.message.split_once('\n');
            let words = words.map_or("", |(_, words)| words);
            let first = format!(
                "unsupported: the crate `{}` uses a part of the standard library that is not modelled",
                one.name
            );
            Trouble {
                message: without_folder(&format!("{first}\n{words}"), &folder.to_string_lossy()),
                help: "docs/rust.md says what of the library is modelled",
                place: None,
            }
        })?;
    }
    Ok(())
}

impl Crate {
    /// Where the compiler puts what it makes of the crate with this number.
    fn made(folder: &Path, number: usize, name: &str, kind: &str) -> PathBuf {
        let prefix = if kind == "rlib" { "lib" } else { "" };
        folder.join(format!("{prefix}{name}-{number}.{kind}"))
    }

    /// Its edition, conditions, environment, and the crates that it sees.
    fn configure(&self, command: &mut Command, folder: &Path, options: &Options) {
        command.args(["--edition", &self.edition, "-C", overflow(options)]);
        for condition in options.conditions.iter().chain(&self.conditions) {
            command.arg("--cfg").arg(condition);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.arg("-L").arg(folder);
        // A crate may need the macros of one that it uses.
        for library in options.macros() {
            command.arg("-L").arg(library.parent().unwrap_or(folder));
        }
        for name in OURS {
            let library = folder.join(format!("lib{name}.rlib"));
            if library.exists() {
                let text = with_path(&format!("{name}="), &library);
                command.arg("--extern").arg(text);
            }
        }
        for (name, linked) in &self.externs {
            let path = match linked {
                Linked::Crate(number) => {
                    Self::made(folder, *number, &options.crates[*number].name, "rlib")
                }
                Linked::Macro(library) => library.clone(),
            };
            command
                .arg("--extern")
                .arg(with_path(&format!("{name}="), &path));
        }
    }
}

const fn overflow(options: &Options) -> &'static str {
    match options.overflow {
        Overflow::Debug => "overflow-checks=on",
        Overflow::Release => "overflow-checks=off",
    }
}

fn with_path(prefix: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(prefix);
    text.push(path);
    text
}

/// Compiles a program.
pub(super) fn compile(path: &Path, text: &str, options: &Options) -> Result<Compiled, Trouble> {
    let written = |error: std::io::Error| {
        let message = format!("the temporary folder cannot be used: {error}");
        trouble(message, "set TMPDIR to a folder that can be written")
    };
    let scratch = Scratch::new().map_err(written)?;
    let folder = &scratch.0;
    let mut names = vec![OURS[0]];
    names.extend(
        OURS[1..]
            .iter()
            .filter(|name| options.own.is_some() || text.contains(**name)),
    );
    library(folder, &names, options)?;
    other_crates(folder, options)?;
    let mut command = compiler(options);
    command.args(["--crate-name", "program", "--emit=llvm-ir"]);
    command.args(["--cap-lints", "allow", "-A", "warnings"]);
    options.root().configure(&mut command, folder, options);
    command.arg("-o").arg(folder.join("program.ll"));
    if options.test.is_some() {
        command.arg("--test");
    } else {
        command.args(["--crate-type", "bin"]);
    }
    // The text may be another one than the file's: that of a repair that is tried.
    let same = std::fs::read_to_string(path).is_ok_and(|file| file == text);
    if same {
        command.arg(path);
    } else {
        let copy = folder.join("changed.rs");
        std::fs::write(&copy, text).map_err(written)?;
        command.arg("--remap-path-prefix").arg({
            let mut map = copy.clone().into_os_string();
            map.push("=");
            map.push(path);
            map
        });
        command.arg(&copy);
    }
    run(&mut command)
        .map_err(|trouble| not_ours(trouble, folder, same.then_some(path), options))?;
    let own = ["program"].iter().chain(&names);
    let own = own.map(|name| folder.join(format!("{name}.ll")));
    let others = options.crates.iter().enumerate();
    let others = others.map(|(number, one)| Crate::made(folder, number, &one.name, "ll"));
    let modules = own.chain(others).map(std::fs::read_to_string);
    let modules = modules.collect::<std::io::Result<_>>().map_err(written)?;
    Ok(Compiled { modules })
}
