//! Random C programs of one thread, in the manner of Csmith [Yang et al., PLDI 2011]:
//! structs with padding, arrays, pointers to all of them, arithmetic on bytes, copies,
//! calls with effects, `switch`, `goto`, loops, integers of all widths, unions used one way,
//! `volatile`. None has undefined behaviour (signed overflow wraps, as everywhere in Palisade).
//! Each is compiled at -O0
//! and -O2 and run, and computes a checksum over all of its variables: asserted, it must
//! hold; one that is off by one must be refuted.
//!
//! Others have arrays of computed lengths, `alloca`, `realloc`, and functions on texts, against the compiler's library.
//!
//! Some programs call functions with effects where C leaves the order open. What the
//! compiler's program computes must then be one of the outcomes.
//!
//! `PALISADE_SOAK=n` runs n programs, from `PALISADE_FIRST` on, on all cores; a difference is
//! reduced to a few lines.

use crate::{c_generator, c_support};

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use c_generator::Random;
use palisade_frontend::c::{self, Options};
use palisade_program::{Model, Source, Unknown, Verdict};

const DECLARATIONS: &str = "void *memcpy(void *, const void *, unsigned long);
void *memmove(void *, const void *, unsigned long);
void *memset(void *, int, unsigned long);
";

/// What the compiler's programs have of the library.
const INCLUDED: &str = "#include <ctype.h>\n#include <stdlib.h>\n#include <string.h>\nstruct pair { char first; int second; };\n";

/// A random program: its number, its text, and whether the order of its effects is open.
type Numbered = (usize, String, bool);

/// What the programs compute when they are compiled with some optimisation.
fn compiled(programs: &[Numbered], level: &str) -> Result<Vec<u32>, String> {
    let mut text = format!("int printf(const char *, ...);\n{INCLUDED}");
    let mut calls = String::new();
    for (number, program, _) in programs {
        text.push_str(program);
        let _ = writeln!(calls, "  printf(\"%u\\n\", p{number}_run());");
    }
    let _ = writeln!(text, "int main(void) {{\n{calls}  return 0;\n}}");
    let folder = tempfile::tempdir().expect("a folder for the programs");
    let (source, binary) = (folder.path().join("all.c"), folder.path().join("all"));
    std::fs::write(&source, &text).expect("written");
    let mut compiler = c_support::compiler();
    let compiler = compiler.args(["-std=gnu11", "-w", "-fwrapv", level, "-o"]);
    let built = compiler.arg(&binary).arg(&source).output();
    let built = built.expect("the compiler runs");
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    let output = Command::new(&binary).output().expect("runs");
    if !output.status.success() {
        return Err(format!("{:?}", output.status));
    }
    let lines = String::from_utf8(output.stdout).expect("text");
    let numbers = lines.lines().map(|l| l.parse().expect("a number"));
    Ok(numbers.collect())
}

fn verdict(number: usize, program: &str, cond: &str) -> String {
    let library = if program.contains("_f0(unsigned n)") {
        c_generator::allocations::library()
    } else {
        String::new()
    };
    let text = format!(
        "extern void reach_error(void);\n{DECLARATIONS}{library}{program}int main(void) {{ unsigned sum = p{number}_run(); if (!({cond})) reach_error(); }}\n"
    );
    let source = Source::new("test.i", text);
    let program = match c::parse(Path::new("test.i"), &source, &Options::default()) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => {
            let item = &diagnostics.items[0];
            let line = diagnostics.source.position(item.span.start).line;
            return format!("error: line {line}: {}", item.message);
        }
    };
    let limits = palisade_machine::Options {
        workers: 1,
        max_states: Some(400_000),
        ..palisade_machine::Options::new(Model::Sc)
    };
    match palisade_machine::explore(&program, &limits) {
        Err(e) => format!("error: {e}"),
        Ok(result) => match result.verdict {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Violated(v) => format!("violated: {}", v.message),
            Verdict::Unknown(why @ Unknown::Unsupported(..)) => why.to_string(),
            Verdict::Unknown(why) => format!("unknown: {why}"),
        },
    }
}

fn number(name: &str, otherwise: usize) -> usize {
    let text = std::env::var(name).ok();
    text.and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

/// What came of one program.
enum Outcome {
    Right,
    /// The front end or the machine gives no answer.
    Undecided(String),
    Wrong(String),
}

/// Asks about a program that computes `slow` without and `fast` with optimisation.
fn judged((n, program, is_open): &Numbered, slow: u32, fast: u32) -> Outcome {
    const REFUTED: &str = "violated: reach_error is called";
    let questions = if *is_open {
        [slow, fast].map(|sum| (format!("sum != {sum}u"), REFUTED))
    } else if slow == fast {
        let off = format!("sum == {}u", slow.wrapping_add(1));
        [(format!("sum == {slow}u"), "holds"), (off, REFUTED)]
    } else {
        return Outcome::Wrong(format!("program {n} is not deterministic"));
    };
    for (question, wanted) in questions {
        let found = verdict(*n, program, &question);
        let undecided = ["unknown", "unsupported", "error: line"];
        if undecided.iter().any(|start| found.starts_with(start)) {
            let reason = found.split_once("line").map_or(found.as_str(), |(_, r)| {
                r.split_once(": ").map_or(r, |x| x.1)
            });
            return Outcome::Undecided(reason.to_owned());
        }
        if found != wanted {
            let words = format!("program {n}: {found} instead of {wanted} for {question}");
            return Outcome::Wrong(words);
        }
    }
    Outcome::Right
}

/// What is wrong about a program by itself.
fn fault(numbered: &Numbered) -> Option<String> {
    let alone = std::slice::from_ref(numbered);
    let (slow, fast) = (compiled(alone, "-O0").ok()?, compiled(alone, "-O2").ok()?);
    match judged(numbered, slow[0], fast[0]) {
        Outcome::Wrong(words) => Some(words),
        Outcome::Right | Outcome::Undecided(_) => None,
    }
}

/// The program of a difference, reduced to a few lines.
fn shrunk((n, program, is_open): &Numbered) -> String {
    let with = |text: &str| (*n, text.to_owned(), *is_open);
    palisade_arbitrary::shrink(program, |text| fault(&with(text)).is_some())
}

#[derive(Default)]
struct Counts {
    decided: usize,
    done: usize,
    wrong: Vec<String>,
    reasons: BTreeMap<String, usize>,
}

/// Programs that are compiled together.
const BATCH: usize = 50;

/// A program by its number, and whether the order of its effects is open.
type Generator = fn(usize) -> (String, bool);

fn batch(numbers: &[usize], generate: Generator, counts: &Mutex<Counts>) {
    let programs: Vec<Numbered> = numbers
        .iter()
        .map(|n| {
            let (text, is_open) = generate(*n);
            (*n, text, is_open)
        })
        .collect();
    let sums = |level| compiled(&programs, level).unwrap_or_else(|e| panic!("{level}: {e}"));
    let (slow, fast) = (sums("-O0"), sums("-O2"));
    for (program, (a, b)) in programs.iter().zip(slow.iter().zip(&fast)) {
        let outcome = judged(program, *a, *b);
        let mut counts = counts.lock().expect("nobody panics while it counts");
        counts.done += 1;
        match outcome {
            Outcome::Right => counts.decided += 1,
            Outcome::Undecided(reason) => *counts.reasons.entry(reason).or_default() += 1,
            Outcome::Wrong(words) => counts.wrong.push(format!("{words}\n{}", shrunk(program))),
        }
    }
}

#[test]
fn programs_compute_what_the_compilers_do() {
    compared(|n| Random::new(n).program(), number("PALISADE_SOAK", 30), 7);
}

#[test]
fn floating_point_is_what_the_compilers_compute() {
    compared(c_generator::floats::program, number("PALISADE_SOAK", 40), 5);
}

#[test]
fn memory_of_computed_sizes_and_texts() {
    let count = number("PALISADE_SOAK", 15);
    compared(c_generator::allocations::program, count, 8);
}

/// Compares so many programs; of ten, so many have to be decided.
fn compared(generate: Generator, count: usize, of_ten: usize) {
    let first = number("PALISADE_FIRST", 0);
    let all: Vec<usize> = (first..first + count).collect();
    let counts = Mutex::new(Counts::default());
    let batches = Mutex::new(all.chunks(BATCH));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = batches.lock().expect("nobody panics here").next();
                    let Some(numbers) = next else { break };
                    batch(numbers, generate, &counts);
                    let counts = counts.lock().expect("nobody panics while it counts");
                    if counts.done.is_multiple_of(20 * BATCH) {
                        let Counts {
                            done,
                            decided,
                            wrong,
                            ..
                        } = &*counts;
                        println!(
                            "{done} programs, {decided} decided, {} differences",
                            wrong.len()
                        );
                    }
                }
            });
        }
    });
    let Counts {
        decided,
        wrong,
        reasons,
        ..
    } = counts.into_inner().expect("as above");
    println!("{decided} of {count} decided; {reasons:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        decided * 10 >= count * of_ten,
        "{decided} of {count} decided: {reasons:?}"
    );
}
