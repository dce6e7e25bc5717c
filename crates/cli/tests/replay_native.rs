//! `palisade replay --native`: violated examples fail when they are compiled and run by the
//! schedule of their trace; what cannot be followed is `unknown`, with a place.

use std::path::{Path, PathBuf};
use std::process::Command;

fn palisade(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("runs");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    (output.status.code(), text)
}

/// Saves the trace of a violation, and runs it natively.
fn native(file: &str, flags: &[&str], trace: &Path) -> (Option<i32>, String) {
    let trace = trace.to_str().expect("a name");
    let verify = [&["verify", file, "--json", "-o", trace], flags].concat();
    let (code, words) = palisade(&verify);
    assert_eq!(code, Some(1), "{file}: {words}");
    palisade(&["replay", "--native", file, trace])
}

/// A program in a folder that is gone with it.
fn program(text: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, trace) = (folder.path().join("p.c"), folder.path().join("t.json"));
    std::fs::write(&file, text).expect("written");
    (folder, file, trace)
}

fn fails(text: &str) {
    let (_folder, file, trace) = program(text);
    let (code, words) = native(file.to_str().expect("a name"), &[], &trace);
    assert_eq!(code, Some(1), "{words}");
    assert!(
        words.contains("the compiled program fails as well"),
        "{words}"
    );
}

#[test]
fn violated_examples_fail_natively() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("t.json");
    for name in [
        "findmax_lock_unsafe",
        "incdec_cas_unsafe",
        "prng_lock_unsafe",
        "stack_cas_unsafe",
        "ticket_lock_unsafe",
    ] {
        let (code, words) = native(&format!("examples/c/{name}.c"), &[], &trace);
        assert_eq!(code, Some(1), "{name}: {words}");
        assert!(words.contains("Assertion `"), "{name}: {words}");
    }
}

/// Allocated memory, members, condition variables, nondeterministic values, C11 threads.
#[test]
fn other_objects_are_followed() {
    fails(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>
struct node { int value; struct node *next; } *top;
static void push(int v) { struct node *n = malloc(sizeof *n);
  n->value = v;
  n->next = top;
  top = n; }
static void *run(void *v) { push(1); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); push(2); pthread_join(t, 0);
  assert(top->next != 0); }\n",
    );
    fails(
        "#include <assert.h>\n#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int ready, data;
static void *run(void *u) { pthread_mutex_lock(&m);
  if (!ready)
    pthread_cond_wait(&c, &m);
  int d = data;
  pthread_mutex_unlock(&m);
  assert(d == 7);
  return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, run, 0);
  pthread_mutex_lock(&m); ready = 1; data = 7; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
  pthread_join(t, 0); }\n",
    );
    fails(
        "#include <threads.h>\n#include <stdatomic.h>\nextern int __VERIFIER_nondet_int(void); extern void reach_error(void);
atomic_int x; struct { char c; int m[2]; } s;
static int run(void *u) { int n = __VERIFIER_nondet_int();
  s.m[1] = n;
  atomic_store(&x, 1);
  return 0; }
int main(void) { thrd_t t; thrd_create(&t, run, 0);
  if (atomic_load(&x) == 1)
    if (s.m[1] == 77)
      reach_error();
  thrd_join(t, 0); }\n",
    );
}

#[test]
fn what_is_not_followed_is_unknown() {
    // The compiler's order of evaluation is one of two.
    let text = "#include <assert.h>\nint x; static int f(void) { x = 5; return 1; }
int main(void) {\n  int r = x + f();\n  assert(r == VALUE); }\n";
    let codes: Vec<Option<i32>> = ["1", "6"]
        .iter()
        .map(|value| {
            let (_folder, file, trace) = program(&text.replace("VALUE", value));
            native(file.to_str().expect("a name"), &[], &trace).0
        })
        .collect();
    assert!(
        codes.contains(&Some(1)) && codes.contains(&Some(3)),
        "{codes:?}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("t.json");
    let (code, words) = native("examples/checks/double_free.c", &[], &trace);
    assert_eq!(code, Some(3), "{words}");
    assert!(words.contains("not `double-free`"), "{words}");
    let (code, words) = native(
        "examples/c/ticket_lock_unsafe.c",
        &["--model", "tso"],
        &trace,
    );
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("under sc only"), "{words}");
}
