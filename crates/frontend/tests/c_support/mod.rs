//! Verdicts about C programs, by the concrete machine.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use palisade_frontend::c::{self, Options};
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Unknown, Verdict};

/// What every program starts with: it is preprocessed already.
const PRELUDE: &str = "\
extern void reach_error(void);
void check(int c) { if (!c) reach_error(); }
typedef unsigned long pthread_t;
typedef unsigned long size_t;
typedef struct { int x; } pthread_mutex_t, pthread_spinlock_t, pthread_cond_t, pthread_rwlock_t, pthread_barrier_t;
typedef struct { int x; } pthread_once_t, sem_t, pthread_attr_t, pthread_rwlockattr_t, pthread_mutexattr_t;
void *malloc(size_t);
void *memcpy(void *, const void *, size_t);
typedef _Atomic int atomic_int;
";

/// The program that a text is read as; an error in words otherwise.
pub(crate) fn read(text: &str) -> Result<Program, String> {
    let source = Source::new("test.i", format!("{PRELUDE}{text}"));
    match c::parse(Path::new("test.i"), &source, &Options::default()) {
        Ok(parsed) => Ok(parsed.program),
        Err(diagnostics) => Err(diagnostics.items[0].message.clone()),
    }
}

/// The verdict about a program, in words.
pub(crate) fn verdict(text: &str) -> String {
    let program = match read(text) {
        Ok(program) => program,
        Err(words) => return format!("error: {words}"),
    };
    let limits = palisade_machine::Options {
        workers: 1,
        max_states: Some(200_000),
        ..palisade_machine::Options::new(Model::Sc)
    };
    match explore(&program, &limits) {
        Err(e) => format!("error: {e}"),
        Ok(result) => match result.verdict {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Violated(v) if v.message == "reach_error is called" => "violated".to_owned(),
            Verdict::Violated(v) => v.message,
            Verdict::Unknown(why @ Unknown::Unsupported(..)) => why.to_string(),
            Verdict::Unknown(why) => format!("unknown: {why}"),
        },
    }
}

/// Checks the verdicts about programs.
pub(crate) fn check_all(programs: &[(&str, &str)]) {
    for (text, wanted) in programs {
        assert_eq!(verdict(text), *wanted, "{text}");
    }
}

fn number(name: &str, otherwise: usize) -> usize {
    let text = std::env::var(name).ok();
    text.and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

/// Compares random functions `unsigned f(int i)`, each with declarations before it, with what the compiler makes of them: what
/// they return for 0 and 1 must hold here, and anything else must be refuted. `PALISADE_SOAK=n` compares n,
/// from `PALISADE_FIRST` on.
pub(crate) fn compare_with_compiler(
    head: &str,
    count: usize,
    make: impl Fn(u64) -> (String, String),
) {
    let (first, count) = (number("PALISADE_FIRST", 0), number("PALISADE_SOAK", count));
    let made: Vec<(String, String)> = (first..first + count).map(|n| make(n as u64)).collect();
    let mut text = format!("#include <stdio.h>\n{head}\n");
    let mut main = String::new();
    for (n, (before, function)) in made.iter().enumerate() {
        let both = format!("{before}{function}");
        // Names of one function's own end in `_`.
        let own = both.replace("f(int", &format!("f{n}(int"));
        let _ = writeln!(text, "{}", own.replace("_ ", &format!("_{n} ")));
        let _ = writeln!(main, "printf(\"%u %u\\n\", f{n}(0), f{n}(1));");
    }
    let _ = writeln!(text, "int main(void) {{\n{main}}}");
    let name = format!("palisade-c-{}-{first}-{}", std::process::id(), head.len());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the program");
    let (source, binary) = (folder.join("p.c"), folder.join("p"));
    std::fs::write(&source, &text).expect("written");
    let mut compiler = Command::new("cc");
    let compiler = compiler.args("-std=gnu11 -w -O0 -fwrapv -fno-strict-aliasing -o".split(' '));
    let built = compiler.arg(&binary).arg(&source).output();
    let built = built.expect("the compiler runs");
    let words = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{words}");
    let output = Command::new(&binary).output().expect("runs");
    std::fs::remove_dir_all(&folder).expect("removed");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    // What the headers declare is known by its name.
    let head = head.lines().filter(|line| !line.starts_with("#include"));
    let head: String = head.collect::<Vec<_>>().join("\n");
    for (line, (before, function)) in output.lines().zip(&made) {
        let (zero, one) = line.split_once(' ').expect("two numbers");
        let program = |zero: &str, one: &str| {
            format!(
                "{head}\n{before}{function}int main(void) {{ check(f(0) == {zero}u && f(1) == {one}u); }}\n"
            )
        };
        let right = verdict(&program(zero, one));
        assert_eq!(right, "holds", "{line}\n{before}{function}");
        let other = one.parse::<u32>().expect("a number") ^ 1;
        let wrong = verdict(&program(zero, &other.to_string()));
        assert_eq!(wrong, "violated", "{line}\n{before}{function}");
    }
    assert_eq!(output.lines().count(), count);
}
