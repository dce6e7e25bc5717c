//! Small weak-memory tests in C: two to four threads over plain globals, fences in
//! assembler, the assertion in `main`. The shapes are the classic ones of the
//! literature; the verdicts are those of SC, TSO and PSO as docs/memory-models.md defines them.

use crate::c_support;

use std::fmt::Write;

use palisade_program::Model;

/// Threads of a test, and the outcome that is asked for.
struct Test {
    name: &'static str,
    threads: &'static [&'static str],
    outcome: &'static str,
    /// Whether the outcome can be seen under SC, TSO, PSO.
    seen: [bool; 3],
}

const NEVER: [bool; 3] = [false, false, false];
const RELAXED: [bool; 3] = [false, true, true];
const ONLY_PSO: [bool; 3] = [false, false, true];
const ALWAYS: [bool; 3] = [true, true, true];

const TESTS: &[Test] = &[
    Test {
        name: "store buffering",
        threads: &["x = 1; a = y;", "y = 1; b = x;"],
        outcome: "a == 0 && b == 0",
        seen: RELAXED,
    },
    Test {
        name: "store buffering, one fence",
        threads: &["x = 1; mfence(); a = y;", "y = 1; b = x;"],
        outcome: "a == 0 && b == 0",
        seen: RELAXED,
    },
    Test {
        name: "store buffering, two fences",
        threads: &["x = 1; mfence(); a = y;", "y = 1; sync(); b = x;"],
        outcome: "a == 0 && b == 0",
        seen: NEVER,
    },
    Test {
        name: "store buffering, store-store fences do not help",
        threads: &["x = 1; sfence(); a = y;", "y = 1; lwsync(); b = x;"],
        outcome: "a == 0 && b == 0",
        seen: RELAXED,
    },
    Test {
        name: "store buffering, the barrier is the compiler's only",
        threads: &["x = 1; barrier(); a = y;", "y = 1; barrier(); b = x;"],
        outcome: "a == 0 && b == 0",
        seen: RELAXED,
    },
    Test {
        name: "store buffering with own reads",
        threads: &["x = 1; a = x; b = y;", "y = 1; c = y; d = x;"],
        outcome: "a == 1 && b == 0 && c == 1 && d == 0",
        seen: RELAXED,
    },
    Test {
        name: "message passing",
        threads: &["x = 1; y = 1;", "a = y; b = x;"],
        outcome: "a == 1 && b == 0",
        seen: ONLY_PSO,
    },
    Test {
        name: "message passing, store-store fence",
        threads: &["x = 1; sfence(); y = 1;", "a = y; b = x;"],
        outcome: "a == 1 && b == 0",
        seen: NEVER,
    },
    Test {
        name: "message passing, an address that depends",
        threads: &[
            "x = 1; lwsync(); y = 1;",
            "a = y; t = a ^ a; b = *(&x + t);",
        ],
        outcome: "a == 1 && b == 0",
        seen: NEVER,
    },
    Test {
        name: "message passing is possible at all",
        threads: &["x = 1; y = 1;", "a = y; b = x;"],
        outcome: "a == 1 && b == 1",
        seen: ALWAYS,
    },
    Test {
        name: "load buffering",
        threads: &["a = y; x = 1;", "b = x; y = 1;"],
        outcome: "a == 1 && b == 1",
        seen: NEVER,
    },
    Test {
        name: "2+2W",
        threads: &["x = 1; y = 2;", "y = 1; x = 2;"],
        outcome: "x == 1 && y == 1",
        seen: ONLY_PSO,
    },
    Test {
        name: "2+2W, fences",
        threads: &["x = 1; mfence(); y = 2;", "y = 1; lwsync(); x = 2;"],
        outcome: "x == 1 && y == 1",
        seen: NEVER,
    },
    Test {
        name: "R",
        threads: &["x = 1; y = 1;", "y = 2; a = x;"],
        outcome: "y == 2 && a == 0",
        seen: RELAXED,
    },
    Test {
        name: "S",
        threads: &["x = 2; y = 1;", "a = y; x = 1;"],
        outcome: "x == 2 && a == 1",
        seen: ONLY_PSO,
    },
    Test {
        name: "coherence of reads",
        threads: &["x = 1; x = 2;", "a = x; b = x;"],
        outcome: "a == 2 && b == 1",
        seen: NEVER,
    },
    Test {
        name: "independent reads of independent writes",
        threads: &["x = 1;", "y = 1;", "a = x; b = y;", "c = y; d = x;"],
        outcome: "a == 1 && b == 0 && c == 1 && d == 0",
        seen: NEVER,
    },
    Test {
        name: "write to read causality",
        threads: &["x = 1;", "a = x; y = a;", "b = y; c = x;"],
        outcome: "a == 1 && b == 1 && c == 0",
        seen: NEVER,
    },
    Test {
        name: "ISA2",
        threads: &["x = 1; y = 1;", "a = y; z = 1;", "b = z; c = x;"],
        outcome: "a == 1 && b == 1 && c == 0",
        seen: ONLY_PSO,
    },
    Test {
        name: "three threads in a ring of store buffers",
        threads: &["x = 1; a = y;", "y = 1; b = z;", "z = 1; c = x;"],
        outcome: "a == 0 && b == 0 && c == 0",
        seen: RELAXED,
    },
    Test {
        name: "an exchange is a fence",
        threads: &[
            "__sync_lock_test_and_set(&x, 1); a = y;",
            "__sync_lock_test_and_set(&y, 1); b = x;",
        ],
        outcome: "a == 0 && b == 0",
        seen: NEVER,
    },
    Test {
        name: "sequentially consistent stores",
        threads: &[
            "__atomic_store_n(&x, 1, 5); a = __atomic_load_n(&y, 5);",
            "__atomic_store_n(&y, 1, 5); b = __atomic_load_n(&x, 5);",
        ],
        outcome: "a == 0 && b == 0",
        seen: NEVER,
    },
    Test {
        name: "release stores are not enough for store buffering",
        threads: &[
            "__atomic_store_n(&x, 1, 3); a = __atomic_load_n(&y, 2);",
            "__atomic_store_n(&y, 1, 3); b = __atomic_load_n(&x, 2);",
        ],
        outcome: "a == 0 && b == 0",
        seen: RELAXED,
    },
    Test {
        name: "release and acquire pass messages",
        threads: &[
            "x = 1; __atomic_store_n(&y, 1, 3);",
            "a = __atomic_load_n(&y, 2); b = x;",
        ],
        outcome: "a == 1 && b == 0",
        seen: NEVER,
    },
    Test {
        name: "a release fence passes messages",
        threads: &[
            "x = 1; __atomic_thread_fence(3); __atomic_store_n(&y, 1, 0);",
            "a = __atomic_load_n(&y, 0); __atomic_thread_fence(2); b = x;",
        ],
        outcome: "a == 1 && b == 0",
        seen: NEVER,
    },
    Test {
        name: "a relaxed store does not pass messages",
        threads: &[
            "x = 1; __atomic_store_n(&y, 1, 0);",
            "a = __atomic_load_n(&y, 0); b = x;",
        ],
        outcome: "a == 1 && b == 0",
        seen: ONLY_PSO,
    },
];

const DECLARATIONS: &str = "\
int x, y, z; int a, b, c, d; int done;
__thread int t;
void mfence() { __asm__ __volatile__ (\"mfence\" ::: \"memory\"); }
void sfence() { __asm__ __volatile__ (\"sfence\" ::: \"memory\"); }
void barrier() { __asm__ __volatile__ (\"\" ::: \"memory\"); }
void sync() { asm(\"sync\"); }
void lwsync() { asm(\"lwsync\"); }
";

/// With pthreads: `main` joins before it looks.
fn with_pthreads(test: &Test) -> String {
    let (mut functions, mut starts, mut joins) = (String::new(), String::new(), String::new());
    for (k, body) in test.threads.iter().enumerate() {
        let _ = writeln!(functions, "void *P{k}(void *_) {{ {body} return 0; }}");
        let _ = write!(starts, "pthread_create(&t{k}, 0, P{k}, 0); ");
        let _ = write!(joins, "pthread_join(t{k}, 0); ");
    }
    let handles: Vec<String> = (0..test.threads.len()).map(|k| format!("t{k}")).collect();
    let handles = handles.join(", ");
    let outcome = test.outcome;
    format!(
        "{DECLARATIONS}{functions}int main() {{ pthread_t {handles}; {starts}{joins}check(!({outcome})); }}\n"
    )
}

/// As CBMC's tests are written: threads by label, a counter of those that are done.
fn with_labels(test: &Test) -> String {
    let (mut functions, mut starts) = (String::new(), String::new());
    let count = test.threads.len();
    for (k, body) in test.threads.iter().enumerate() {
        let _ = writeln!(
            functions,
            "void *P{k}(void *_) {{ {body} mfence(); done++; }}"
        );
        let _ = writeln!(starts, "__CPROVER_ASYNC_{k}: P{k}(0);");
    }
    let outcome = test.outcome;
    format!(
        "{DECLARATIONS}{functions}int main() {{\n{starts}__CPROVER_assume(done == {count}); mfence(); __CPROVER_assert(!({outcome}), \"seen\"); return 0; }}\n"
    )
}

fn run(write: fn(&Test) -> String, wanted: impl Fn(&Test) -> bool) {
    for test in TESTS.iter().filter(|t| wanted(t)) {
        let text = write(test);
        for (model, seen) in [Model::Sc, Model::Tso, Model::Pso].iter().zip(test.seen) {
            let found = c_support::verdict(&text, *model);
            let right = if seen {
                found.starts_with("violated: ")
            } else {
                found == "holds"
            };
            assert!(right, "{} under {model}: {found}\n{text}", test.name);
        }
    }
}

/// As goto-instrument's tests have it: addresses that depend on what was read, registers
/// as globals and as variables of the thread.
#[test]
fn outcomes_with_address_dependencies() {
    let text = |fence: &str| {
        format!(
            "void lwfence() {{ asm(\"lwsync\"); }} void fence() {{ asm(\"sync\"); }}
            int cnt, p0_r1, p1_r1, p1_r4, x, y; __CPROVER_thread_local int p1_r3;
            void *P0(void *a) {{ p0_r1 = 1; x = p0_r1; {fence} y = 1; fence(); cnt++; }}
            void *P1(void *a) {{ p1_r1 = y; p1_r3 = p1_r1 ^ p1_r1; p1_r4 = *(&x + p1_r3);
              fence(); cnt++; }}
            int main() {{
              __CPROVER_ASYNC_0: P0(0);
              __CPROVER_ASYNC_1: P1(0);
              __CPROVER_assume(cnt == 2); fence();
              __CPROVER_assert(!(p1_r1 == 1 && p1_r4 == 0), \"message passing\"); }}\n"
        )
    };
    for (model, plain) in [
        (Model::Sc, "holds"),
        (Model::Tso, "holds"),
        (
            Model::Pso,
            "violated: assertion failed: !(p1_r1 == 1 && p1_r4 == 0)",
        ),
    ] {
        assert_eq!(c_support::verdict(&text(""), model), plain, "{model}");
        assert_eq!(c_support::verdict(&text("lwfence();"), model), "holds");
    }
}

#[test]
fn outcomes_with_pthreads() {
    run(with_pthreads, |_| true);
}

#[test]
fn outcomes_with_labels() {
    run(with_labels, |t| t.threads.len() <= 3);
}
