//! Runs of C programs as people read them: one line for the place and one for what happens
//! there; steps that touch no shared memory are left out.

use std::process::Command;

/// A stack whose pop forgets that others may pop meanwhile.
const STACK: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct node { int value; struct node *next; } a, b;
_Atomic(struct node *) top;
int popped[2];

static struct node *pop(void) {
  struct node *old = atomic_load(&top);
  int copies = 0;
  for (int i = 0; i < 3; i++) copies += i;
  if (!old) return 0;
  atomic_store(&top, old->next);
  return old;
}

static void take(void) {
  struct node *n = pop();
  if (n) {
    int before = __sync_fetch_and_add(&popped[n->value], 1);
    assert(before == 0);
  }
}

void *worker(void *arg) {
  take();
  return 0;
}

int main(void) {
  pthread_t t;
  a.value = 0;
  b.value = 1;
  a.next = &b;
  atomic_store(&top, &a);
  pthread_create(&t, 0, worker, 0);
  take();
  pthread_join(t, 0);
}
";

fn verify(name: &str, more: &[&str]) -> String {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let file = folder.join(name);
    std::fs::write(&file, STACK).expect("a file for the test");
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(["verify", "--model", "sc"])
        .arg(&file)
        .args(more)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn events_have_names_places_and_an_end() {
    let text = verify("events.c", &[]);
    // What the thread does alone, and what the front end made up, is not shown.
    for absent in ["copies", "$", ".started", "assume(", "1000"] {
        assert!(!text.contains(absent), "{absent} in\n{text}");
    }
    for present in [
        "pop:",
        "take:",
        "10 | atomic_load(&top)",
        "top is &a",
        "top = &b",
        "popped[0]: 1 -> 2",
        "fails: before is 1",
        "at the end before is 1; main is at line",
    ] {
        assert!(text.contains(present), "{present} not in\n{text}");
    }
    assert!(text.lines().count() < 60, "{text}");
}

#[test]
fn all_steps_are_shown_when_asked_for() {
    let text = verify("full.c", &["--trace", "full"]);
    assert!(text.contains("copies"), "{text}");
    assert!(text.lines().count() > 60, "{text}");
}
