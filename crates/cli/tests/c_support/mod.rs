//! What the tests of the C front end share: a program's text to a verdict in words, by
//! the concrete machine.

#![allow(dead_code)] // each test file uses a part

use std::fs;
use std::path::Path;
use std::process::Command;

use palisade_frontend::c::{self, Options};
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Unknown, Verdict};

/// Declarations that make tests independent of headers, and so of a preprocessor.
pub(crate) const PRELUDE: &str = "\
extern void reach_error(void);
void check(int c) { if (!c) reach_error(); }
typedef unsigned long pthread_t;
typedef struct { int x; } pthread_mutex_t;
typedef unsigned long size_t;
void *malloc(size_t);
";

/// Reads a program behind [`PRELUDE`]; an error in words otherwise: its line in `text`
/// and its message.
pub(crate) fn read(text: &str, options: &Options) -> Result<Program, String> {
    let source = Source::new("test.c", format!("{PRELUDE}{text}"));
    match c::parse(Path::new("test.c"), &source, options) {
        Ok(parsed) => Ok(parsed.program),
        Err(diagnostics) => {
            let item = &diagnostics.items[0];
            let line = diagnostics.source.position(item.span.start).line;
            let line = line as usize - PRELUDE.lines().count();
            Err(format!("line {line}: {}", item.message))
        }
    }
}

/// The verdict about a program, in words.
pub(crate) fn verdict_with(text: &str, model: Model, options: &Options) -> String {
    let program = match read(text, options) {
        Ok(program) => program,
        Err(words) => return format!("error: {words}"),
    };
    let limits = palisade_machine::Options {
        workers: 1,
        max_states: Some(200_000),
        ..palisade_machine::Options::new(model)
    };
    match explore(&program, &limits) {
        Err(e) => format!("error: {e}"),
        Ok(result) => match result.verdict {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Violated(v) => format!("violated: {}", v.message),
            Verdict::Unknown(why @ Unknown::Unsupported(..)) => why.to_string(),
            Verdict::Unknown(why) => format!("unknown: {why}"),
        },
    }
}

/// As [`verdict_with`], with C's integers on a 64-bit machine.
pub(crate) fn verdict(text: &str, model: Model) -> String {
    verdict_with(text, model, &Options::default())
}

/// A compiler is a requirement of these tests: without one they fail.
pub(crate) fn compiler() -> Command {
    let found = Command::new("cc").arg("--version").output();
    assert!(
        found.is_ok_and(|o| o.status.success()),
        "a C compiler (`cc`) is needed to test the C front end"
    );
    Command::new("cc")
}

/// How much more is done than usual: `PALISADE_SOAK`.
pub(crate) fn soak() -> usize {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|s| s.parse().ok()).unwrap_or(1)
}

/// A small generator: the same programs every time.
pub(crate) struct Rng(u64);

impl Rng {
    /// The numbers of program `number`.
    pub(crate) const fn new(number: usize) -> Self {
        Self((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    pub(crate) fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

/// A number as C text.
pub(crate) fn literal(value: i64) -> String {
    match value {
        i64::MIN => "(-9223372036854775807LL - 1)".to_owned(),
        _ => format!("{value}LL"),
    }
}

/// Compiles a program, runs it, and reads the numbers that it prints, line by line.
pub(crate) fn printed(text: &str) -> Vec<Vec<i64>> {
    let folder = tempfile::tempdir().expect("a folder for the programs");
    let (source, binary) = (folder.path().join("all.c"), folder.path().join("all"));
    fs::write(&source, text).expect("written");
    let built = compiler()
        .args(["-std=gnu11", "-O0", "-w", "-fwrapv", "-pthread", "-o"])
        .arg(&binary)
        .arg(&source)
        .output()
        .expect("the compiler runs");
    let words = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{words}");
    let output = Command::new(&binary).output().expect("runs");
    let lines = String::from_utf8(output.stdout).expect("text");
    let numbers = |line: &str| {
        let words = line.split_whitespace();
        words.map(|w| w.parse().expect("a number")).collect()
    };
    lines.lines().map(numbers).collect()
}
