//! Random C programs of two threads: what the compiled program prints under the schedules
//! that happen must be among the final states that the concrete machine finds. Threads
//! access shared variables with expressions whose order of evaluation C leaves open.
//!
//! The other way round: where `verify` has a run under SC into certain results, the compiled program
//! gets there by the same schedule (`palisade replay --native`).
//!
//! `PALISADE_SOAK=n` runs n programs, from `PALISADE_FIRST` on.

use crate::c_support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use c_support::Rng;
use palisade_frontend::c::{self, Options};
use palisade_program::{Model, Source, Verdict};

/// Runs of each compiled program.
const RUNS: usize = 100;
/// Waits for a while, in the compiled program.
const SPIN: &str = "SPIN;";

const SHARED: [&str; 5] = ["x", "y", "z", "s.m", "a[1]"];

struct Random(Rng);

impl Random {
    fn shared(&mut self) -> &'static str {
        self.0.pick(&SHARED)
    }

    fn value(&mut self) -> String {
        let (a, b) = (self.shared(), self.shared());
        match self.0.below(6) {
            0 => format!("{}", self.0.below(3)),
            1 => a.to_owned(),
            2 => format!("({a} + 2 * {b})"),
            3 => format!("(bump(&{a}) - {b})"),
            4 => format!("two({a}, {b})"),
            _ => format!("({a} > 1 ? {b} : 3)"),
        }
    }

    fn statement(&mut self) -> String {
        let (to, value) = (self.shared(), self.value());
        match self.0.below(7) {
            0 => format!("{to} = {} = {value};", self.shared_but(to)),
            1 => format!("{to} += {value};"),
            2 => format!("if ({to}) {{ {} = {value}; }}", self.shared()),
            3 => format!("r[k] = {value}; k = 1;"),
            4 => format!("__atomic_fetch_add(&{to}, {value}, 5);"),
            5 => format!("pthread_mutex_lock(&m); {to} = {value}; pthread_mutex_unlock(&m);"),
            _ => format!("{to} = {value};"),
        }
    }

    fn shared_but(&mut self, not: &str) -> &'static str {
        loop {
            let name = self.shared();
            if name != not {
                return name;
            }
        }
    }

    /// Declarations and the two threads; results of main's thread are in `r`, the other's in `q`.
    fn program(&mut self) -> String {
        let mut text = "int x, y, z, a[2], p[2], q[2]; struct { char c; int m; } s;
static int bump(int *v) { int old = *v; SPIN; *v = old + 1; return old; } static int two(int f, int g) { return f * 3 + g; }\n"
            .to_owned();
        for (name, results) in [("first", "p"), ("second", "q")] {
            let mut body = String::new();
            for _ in 0..=self.0.below(3) {
                let _ = writeln!(body, "  {SPIN} {}", self.statement());
            }
            let _ = writeln!(
                text,
                "static void *{name}(void *unused) {{ int *r = {results}; int k = 0;\n{body}  return 0; }}"
            );
        }
        text
    }
}

const RESULTS: [&str; 9] = ["x", "y", "z", "s.m", "a[1]", "p[0]", "p[1]", "q[0]", "q[1]"];

/// The results that the compiled program prints in some runs.
fn observed(program: &str) -> BTreeSet<Vec<i64>> {
    let zero = RESULTS.map(|r| format!("{r} = 0; ")).concat();
    let print = RESULTS.map(|r| format!("printf(\"%d \", {r}); ")).concat();
    let text = format!(
        "#include <pthread.h>\n#include <stdio.h>\n#define SPIN for (volatile int i = rand_r(&seed) % 8 * 40; i > 0; i--)\n#include <stdlib.h>\n#include <sched.h>\nstatic __thread unsigned seed;\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int ready, go;\n{program}
static void *other(void *unused) {{ seed = (unsigned long)unused; __atomic_store_n(&ready, 1, 5); while (!__atomic_load_n(&go, 5)) sched_yield(); return second(0); }}
int main(void) {{
  for (int i = 0; i < {RUNS}; i++) {{ {zero} ready = go = 0; pthread_t t; pthread_create(&t, 0, other, (void *)(7ul + i));
    while (!__atomic_load_n(&ready, 5)) sched_yield(); __atomic_store_n(&go, 1, 5); first(0); pthread_join(t, 0); {print} printf(\"\\n\"); }} }}\n"
    );
    let folder = tempfile::tempdir().expect("a folder for the program");
    let (source, binary) = (folder.path().join("p.c"), folder.path().join("p"));
    std::fs::write(&source, &text).expect("written");
    let mut all = BTreeSet::new();
    // Without optimisation the accesses are those of the text.
    let mut compiler = c_support::compiler();
    let compiler = compiler.args(["-std=gnu11", "-w", "-O0", "-pthread", "-o"]);
    let built = compiler.arg(&binary).arg(&source).output();
    let built = built.expect("the compiler runs");
    let words = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{words}");
    let output = Command::new(&binary).output().expect("runs");
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let numbers = line
            .split_whitespace()
            .map(|w| w.parse().expect("a number"));
        all.insert(numbers.collect());
    }
    all
}

/// Whether the machine finds a run under TSO, the model of the machine that the tests run
/// on, with these results.
fn is_found(program: &str, results: &[i64]) -> Result<bool, String> {
    let same = RESULTS
        .iter()
        .zip(results)
        .map(|(r, v)| format!("{r} == {v}"));
    let same: Vec<String> = same.collect();
    let text = format!(
        "extern void reach_error(void); typedef unsigned long pthread_t; typedef struct {{ int x; }} pthread_mutex_t; pthread_mutex_t m;\n{program}
int main(void) {{ pthread_t t; pthread_create(&t, 0, second, 0); first(0); pthread_join(t, 0); if ({}) reach_error(); }}\n",
        same.join(" && ")
    )
    .replace(SPIN, "");
    let source = Source::new("test.i", text);
    let parsed = c::parse(Path::new("test.i"), &source, &Options::default());
    let program = parsed.map_err(|d| d.items[0].message.clone())?.program;
    let limits = palisade_machine::Options {
        workers: 1,
        max_states: Some(2_000_000),
        ..palisade_machine::Options::new(Model::Tso)
    };
    let result = palisade_machine::explore(&program, &limits).map_err(|e| e.to_string())?;
    match result.verdict {
        Verdict::Holds => Ok(false),
        Verdict::Violated(v) if v.message == "reach_error is called" => Ok(true),
        Verdict::Violated(v) => Err(v.message),
        Verdict::Unknown(why) => Err(why.to_string()),
    }
}

fn number(name: &str, otherwise: usize) -> usize {
    let text = std::env::var(name).ok();
    text.and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

fn palisade(arguments: &[&std::ffi::OsStr]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palisade"));
    let output = command.args(arguments).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

/// Verdicts `violated` of random programs are shown by the compiled program. Where it evaluates
/// operands in another order than the trace, it leaves the trace, and says so.
#[test]
fn the_compiled_program_fails_by_the_same_schedule() {
    let (first, count) = (number("PALISADE_FIRST", 0), number("PALISADE_SOAK", 14));
    let folder = tempfile::tempdir().expect("a folder for the programs");
    let (source, trace) = (folder.path().join("p.c"), folder.path().join("t.json"));
    let (mut violated, mut shown, mut left) = (0, 0, Vec::new());
    for n in first..first + count {
        let mut random = Random(Rng::new(n));
        let program = random.program().replace(SPIN, "").replace("SPIN;", "");
        // A result that a run may or may not have.
        let (a, v) = (random.0.pick(&RESULTS), random.0.below(4));
        let text = format!(
            "#include <assert.h>\n#include <pthread.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n{program}
int main(void) {{ pthread_t t; pthread_create(&t, 0, second, 0); first(0); pthread_join(t, 0);
  assert({a} != {v}); }}\n"
        );
        std::fs::write(&source, &text).expect("written");
        let (source, trace) = (source.as_os_str(), trace.as_os_str());
        let verify = ["verify", "--timeout", "20", "--json", "-o"].map(std::ffi::OsStr::new);
        let (code, _) = palisade(&[&verify[..], &[trace, source]].concat());
        if code != Some(1) {
            continue;
        }
        violated += 1;
        let replay = ["replay", "--native"].map(std::ffi::OsStr::new);
        let (code, words) = palisade(&[&replay[..], &[source, trace]].concat());
        match code {
            Some(1) => shown += 1,
            Some(3) => left.push(format!("program {n}: {words}{text}")),
            other => panic!("program {n}: {other:?}: {words}\n{text}"),
        }
    }
    println!(
        "{violated} violated, {shown} shown by the compiled program\n{}",
        left.concat()
    );
    assert!(
        violated * 4 >= count && shown * 10 >= violated * 9,
        "{violated}, {shown}: {left:?}"
    );
}

#[test]
fn what_the_compiled_program_prints_is_a_run() {
    let (first, count) = (number("PALISADE_FIRST", 0), number("PALISADE_SOAK", 8));
    let (mut seen, mut undecided) = (0, Vec::new());
    for n in first..first + count {
        let program = Random(Rng::new(n)).program();
        for results in observed(&program) {
            match is_found(&program, &results) {
                Ok(true) => seen += 1,
                Ok(false) => panic!("program {n}: {results:?} is no run\n{program}"),
                Err(why) => undecided.push(why),
            }
        }
    }
    println!("{seen} outcomes seen, {} undecided", undecided.len());
    assert!(undecided.len() * 5 <= seen, "{undecided:?}");
}
