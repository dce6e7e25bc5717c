//! Random C programs that use and free memory, lock and unlock, against an oracle of their own: a few lines that interleave
//! the statements of two threads and know the rules of `free` and of mutexes. What it finds in some interleaving, and only that,
//! may `explore` report under SC, by the same name. Programs of one thread are also compiled with the address
//! sanitizer, where there is one: it and the oracle agree on which have an error.
//!
//! `PALISADE_SOAK=n` compares n programs, from `PALISADE_FIRST` on.

use crate::c_support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use c_support::Rng;
use palisade_frontend::c::{self, Options};
use palisade_program::{AssertKind, Broken, MemoryError, Model, Source, Verdict};

/// A statement; objects and mutexes are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    /// `*p = 1`, `p[1] = 1`, `p[n]` beyond its end.
    Use(usize, usize),
    Free(usize),
    /// `free(p + 1)`.
    FreeInside(usize),
    /// `p = 0`, for the thread that owns pointer `p`.
    Forget(usize),
    Lock(usize),
    Unlock(usize),
    Destroy(usize),
}

/// Elements of each object.
const SIZE: usize = 2;
const OBJECTS: usize = 2;
const MUTEXES: usize = 2;

impl Op {
    fn random(rng: &mut Rng, held: &mut Vec<usize>, single: bool) -> Self {
        let (object, mutex) = (rng.below(OBJECTS), rng.below(MUTEXES));
        match rng.below(if single { 24 } else { 20 }) {
            0..=6 => Self::Use(object, usize::from(rng.below(8) == 0) + rng.below(SIZE)),
            7..=9 => Self::Free(object),
            10 => Self::FreeInside(object),
            11..=14 => {
                held.push(mutex);
                Self::Lock(mutex)
            }
            15..=18 => Self::Unlock(held.pop().unwrap_or(mutex)),
            19 => Self::Destroy(mutex),
            _ => Self::Forget(object),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Use(p, i) => format!("p{p}[{i}] = 1;"),
            Self::Free(p) => format!("free(p{p});"),
            Self::FreeInside(p) => format!("free(p{p} + 1);"),
            Self::Forget(p) => format!("p{p} = 0;"),
            Self::Lock(m) => format!("pthread_mutex_lock(&m{m});"),
            Self::Unlock(m) => format!("pthread_mutex_unlock(&m{m});"),
            Self::Destroy(m) => format!("pthread_mutex_destroy(&m{m});"),
        }
    }
}

/// What the oracle knows: where each thread is, which objects are freed and which pointers null, who
/// holds each mutex, which are destroyed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: Vec<usize>,
    freed: [bool; OBJECTS],
    null: [bool; OBJECTS],
    holder: [Option<usize>; MUTEXES],
    gone: [bool; MUTEXES],
}

impl State {
    /// One statement of thread `t`: `None` if it waits, an error by its name.
    fn after(&self, t: usize, op: Op) -> Option<Result<Self, &'static str>> {
        let mut next = self.clone();
        next.at[t] += 1;
        Some(match op {
            Op::Use(p, _) if self.null[p] => Err("null-dereference"),
            // Beyond an object there is nothing that could be freed.
            Op::Use(_, i) if i >= SIZE => Err("invalid-dereference"),
            Op::Use(p, _) if self.freed[p] => Err("use-after-free"),
            Op::Use(..) => Ok(next),
            Op::Free(p) if self.null[p] => Ok(next),
            Op::Free(p) if self.freed[p] => Err("double-free"),
            Op::Free(p) => {
                next.freed[p] = true;
                Ok(next)
            }
            Op::FreeInside(_) => Err("invalid-free"),
            Op::Forget(p) => {
                next.null[p] = true;
                Ok(next)
            }
            Op::Lock(m) if self.gone[m] => Err("lock-misuse"),
            Op::Lock(m) => {
                if self.holder[m].is_some() {
                    return None;
                }
                next.holder[m] = Some(t);
                Ok(next)
            }
            Op::Unlock(m) => {
                if self.gone[m] || self.holder[m] != Some(t) {
                    return Some(Err("lock-misuse"));
                }
                next.holder[m] = None;
                Ok(next)
            }
            Op::Destroy(m) => {
                if self.gone[m] || self.holder[m].is_some() {
                    return Some(Err("lock-misuse"));
                }
                next.gone[m] = true;
                Ok(next)
            }
        })
    }
}

/// The errors of all interleavings.
fn errors(threads: &[Vec<Op>]) -> BTreeSet<&'static str> {
    let first = State {
        at: vec![0; threads.len()],
        freed: [false; OBJECTS],
        null: [false; OBJECTS],
        holder: [None; MUTEXES],
        gone: [false; MUTEXES],
    };
    let (mut seen, mut open) = (BTreeSet::from([first.clone()]), vec![first]);
    let mut found = BTreeSet::new();
    while let Some(state) = open.pop() {
        for (t, ops) in threads.iter().enumerate() {
            let Some(op) = ops.get(state.at[t]) else {
                continue;
            };
            match state.after(t, *op) {
                None => {}
                Some(Err(error)) => {
                    found.insert(error);
                }
                Some(Ok(next)) if seen.insert(next.clone()) => open.push(next),
                Some(Ok(_)) => {}
            }
        }
    }
    found
}

fn program(threads: &[Vec<Op>]) -> String {
    let mut text = "#include <pthread.h>\n#include <stdlib.h>\n".to_owned();
    text.push_str("int *p0, *p1;\n");
    text.push_str("pthread_mutex_t m0 = PTHREAD_MUTEX_INITIALIZER;\n");
    text.push_str("pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER;\n");
    for (t, ops) in threads.iter().enumerate() {
        let _ = writeln!(text, "static void *thread{t}(void *unused) {{");
        for op in ops {
            let _ = writeln!(text, "  {}", op.text());
        }
        text.push_str("  return 0;\n}\n");
    }
    text.push_str("int main(void) {\n  pthread_t t;\n");
    for p in 0..OBJECTS {
        let _ = writeln!(text, "  p{p} = malloc({SIZE} * sizeof(int));");
    }
    if threads.len() > 1 {
        text.push_str("  pthread_create(&t, 0, thread1, 0);\n");
    }
    text.push_str("  thread0(0);\n");
    if threads.len() > 1 {
        text.push_str("  pthread_join(t, 0);\n");
    }
    text.push_str("  return 0;\n}\n");
    text
}

/// What `explore` says: `holds`, the kind of the violation, or something else in words.
fn explored(text: &str) -> String {
    let source = Source::new("random.c", text);
    let parsed = c::parse(Path::new("random.c"), &source, &Options::default());
    let program = match parsed {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{}\n{text}", diagnostics.items[0].message),
    };
    let mut options = palisade_machine::Options::new(Model::Sc);
    options.workers = 1;
    let found = palisade_machine::explore(&program, &options).expect("a model of threads");
    match found.verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(violation) => match violation.broken {
            Broken::Assert(AssertKind::Memory(error)) => error.name().to_owned(),
            Broken::Assert(AssertKind::Index) => MemoryError::Wild.name().to_owned(),
            Broken::Assert(AssertKind::LockMisuse(_)) => "lock-misuse".to_owned(),
            other => format!("{other:?}"),
        },
        Verdict::Unknown(why) => format!("unknown: {why}"),
    }
}

fn generate(seed: u64) -> Vec<Vec<Op>> {
    let mut rng = Rng::new(seed as usize);
    let count = if seed.is_multiple_of(3) { 1 } else { 2 };
    let mut thread = || {
        let mut held = Vec::new();
        let length = 1 + rng.below(5);
        let mut ops: Vec<Op> = (0..length)
            .map(|_| Op::random(&mut rng, &mut held, count == 1))
            .collect();
        // Most give their locks back.
        if rng.below(4) > 0 {
            ops.extend(held.drain(..).rev().map(Op::Unlock));
        }
        ops
    };
    (0..count).map(|_| thread()).collect()
}

/// Whether the compiled program of one thread has an error of memory, by the address sanitizer;
/// `None` if there is no such compiler.
fn sanitized(text: &str) -> Option<bool> {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, binary) = (folder.path().join("a.c"), folder.path().join("a.out"));
    std::fs::write(&source, text).expect("written");
    let compiled = c_support::compiler()
        .args(["-w", "-O0", "-fsanitize=address", "-pthread", "-o"])
        .arg(&binary)
        .arg(&source)
        .output()
        .ok()?;
    if !compiled.status.success() {
        return None;
    }
    let run = Command::new(&binary)
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&run.stderr).contains("ERROR: AddressSanitizer"))
}

#[test]
fn errors_are_those_of_the_oracle() {
    let number = |name: &str, default| {
        let given = std::env::var(name).ok();
        given.and_then(|n| n.parse().ok()).unwrap_or(default)
    };
    let (first, count) = (
        number("PALISADE_FIRST", 1_u64),
        number("PALISADE_SOAK", 150),
    );
    let (mut holds, mut kinds, mut compiled) = (0, BTreeSet::new(), 0);
    for seed in first..first + count {
        let threads = generate(seed);
        let text = program(&threads);
        let (expected, got) = (errors(&threads), explored(&text));
        if expected.is_empty() {
            assert_eq!(got, "holds", "{seed}\n{text}");
            holds += 1;
        } else {
            assert!(
                expected.contains(&*got),
                "{seed}: {got}, not {expected:?}\n{text}"
            );
            kinds.insert(got);
        }
        // Null pointers and locks have no sanitizer here.
        let is_memory = |error: &&str| {
            use MemoryError::{DoubleFree, InvalidFree, UseAfterFree, Wild};
            let names = [UseAfterFree, DoubleFree, InvalidFree, Wild];
            names.iter().any(|n| n.name() == *error)
        };
        if threads.len() == 1
            && compiled < 12
            && expected.iter().all(is_memory)
            && let Some(error) = sanitized(&text)
        {
            assert_eq!(error, !expected.is_empty(), "{seed}: {expected:?}\n{text}");
            compiled += 1;
        }
    }
    println!("{holds} of {count} hold; {kinds:?}; {compiled} sanitized");
    assert!(holds * 10 > count && kinds.len() >= 5, "{holds} {kinds:?}");
}
