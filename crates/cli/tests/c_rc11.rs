//! C programs under RC11: threads, mutexes and atomics, and what races.

use palisade::{Broken, Model, Options, Verdict, c, explore, machine, read_c, verify};
use palisade_program::{Orders, Program};

fn program(text: &str) -> Program {
    let kept = c::Options {
        orders: Orders::Kept,
        ..c::Options::default()
    };
    let head = "#include <pthread.h>\n#include <stdatomic.h>\n#include <assert.h>\n";
    let main = "int main(void) { pthread_t a, b;
        pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0);
        pthread_join(a, 0); pthread_join(b, 0); end(); return 0; }\n";
    let text = format!("{head}{text}{main}");
    read_c("test.c".as_ref(), &text, &kept).unwrap_or_else(|errors| panic!("{errors}"))
}

/// `holds`, `race`, `assert` or `unknown`, by `verify` and by `explore`.
#[track_caller]
fn check(text: &str, expected: &str) {
    let program = program(text);
    let word = |verdict: &Verdict| match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(v) if v.broken == Broken::DataRace => "race",
        Verdict::Violated(_) => "assert",
        Verdict::Unknown(_) => "unknown",
    };
    let options = Options {
        model: Model::Rc11,
        falsify: true,
        ..Options::default()
    };
    let report = verify(&program, &options);
    assert_eq!(
        word(&report.verdict),
        expected,
        "{:?}\n{text}",
        report.verdict
    );
    assert!(report.certified || expected != "holds");
    let found = explore(&program, &machine::Options::new(Model::Rc11)).expect("it has a meaning");
    let found = word(&found.verdict);
    assert!(found == expected || found == "unknown", "{found}\n{text}");
}

#[test]
fn message_passing() {
    let text = |order: &str| {
        format!(
            "int data; atomic_int flag;
            void *f(void *p) {{ data = 42; atomic_store_explicit(&flag, 1, memory_order_release);
                return 0; }}
            void *g(void *p) {{ while (!atomic_load_explicit(&flag, {order})) ;
                assert(data == 42); return 0; }}
            void end(void) {{ assert(data == 42); }}"
        )
    };
    check(&text("memory_order_acquire"), "holds");
    check(&text("memory_order_relaxed"), "race");
}

#[test]
fn threads_and_mutexes() {
    let text = |work: &str| {
        format!(
            "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int count; _Atomic int done;
            void work(void) {{ {work} }}
            void *f(void *p) {{ work(); return 0; }}
            void *g(void *p) {{ work(); return 0; }}
            void end(void) {{ assert(count == 2 && done == 2); }}"
        )
    };
    let locked = "pthread_mutex_lock(&m); count++; pthread_mutex_unlock(&m); done++;";
    check(&text(locked), "holds");
    check(&text("count++; done++;"), "race");
    check(
        &text("pthread_mutex_lock(&m); done++; count++; pthread_mutex_unlock(&m);"),
        "holds",
    );
}

#[test]
fn store_buffering() {
    let text = |store: &str| {
        format!(
            "atomic_int x, y; int r, s;
            void *f(void *p) {{ {store}; r = atomic_load(&y); return 0; }}
            void *g(void *p) {{ atomic_store(&y, 1); s = atomic_load(&x); return 0; }}
            void end(void) {{ assert(r || s); }}"
        )
    };
    check(&text("atomic_store(&x, 1)"), "holds");
    check(&text("x = 1"), "holds");
    check(
        &text("atomic_store_explicit(&x, 1, memory_order_release)"),
        "assert",
    );
}
