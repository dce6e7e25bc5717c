//! What programs of other tools use: their names, functions without a body, headers of the
//! system.

use crate::c_support;

use palisade_frontend::c::Options;
use palisade_program::{Assumption, Model};

fn found(text: &str) -> String {
    c_support::verdict(text, Model::Sc)
}

#[test]
fn names_of_other_tools() {
    let text = |body: &str| {
        format!(
            "int nondet_int(void); _Bool nondet_bool(void); void __ESBMC_assume(_Bool);
void __ESBMC_assert(_Bool, const char *); int x;
void *t(void *a) {{ __ESBMC_atomic_begin(); x = 1; x = 2; __ESBMC_atomic_end(); return 0; }}
int main(void) {{ pthread_t a; pthread_create(&a, 0, t, 0); {body} return 0; }}"
        )
    };
    assert_eq!(found(&text("__ESBMC_assert(x != 1, \"atomic\");")), "holds");
    let wrong = found(&text("__ESBMC_assert(x != 2, \"ends\");"));
    assert!(wrong.starts_with("violated"), "{wrong}");
    let chosen = text("_Bool b = nondet_bool(); __ESBMC_assume(b); __ESBMC_assert(b, \"b\");");
    assert_eq!(found(&chosen), "holds");
    let chosen = found(&text("__ESBMC_assert(nondet_int() != 3, \"any\");"));
    assert!(chosen.starts_with("violated"), "{chosen}");
    // A function of that name with a body is just that.
    let own = "int nondet_int(void) { return 4; } int main(void) { check(nondet_int() == 4); }";
    assert_eq!(found(own), "holds");
}

#[test]
fn functions_without_a_body() {
    let wrong = found("int get(int); int main(void) { check(get(1) != 3); }");
    assert!(wrong.starts_with("violated"), "{wrong}");
    let wrong = found("int main(void) { check(never_declared(1) != 3); }");
    assert!(wrong.starts_with("violated"), "{wrong}");
    let text = "unsigned char get(void); void log_it(int); int main(void) { log_it(1); check(get() < 256); }";
    assert_eq!(found(text), "holds");
    let program = c_support::read(text, &Options::default()).expect("a program");
    assert!(
        program
            .assumptions
            .contains(&Assumption::UndefinedFunctions)
    );
    for text in [
        "int fill(int *); int x; int main(void) { fill(&x); check(x == 0); }",
        "int *find(int); int main(void) { find(1); }",
        "int pthread_unheard_of(int); int main(void) { pthread_unheard_of(1); }",
        "int x; int main(void) { never_declared(&x); }",
    ] {
        let refused = found(text);
        assert!(refused.contains("has no body here"), "{text}: {refused}");
    }
}

#[test]
fn headers() {
    let text = "#include <immintrin.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <ctype.h>
alignas(64) atomic_uint_fast64_t a; atomic_int_least8_t b;
int main(void) { struct timeval t; t.tv_sec = ESRCH; a = 1; _mm_pause(); _mm_mfence(); check(a == 1 && t.tv_sec == 3); }";
    assert_eq!(found(text), "holds");
}

/// A worker with a semaphore and a condition variable, `worker` as its body, beside a `main` that cancels it and
/// then does `after`.
fn cancelled(worker: &str, before: &str, after: &str) -> String {
    let text = format!(
        "#include <pthread.h>\n#include <semaphore.h>\n#include <unistd.h>\n
extern void reach_error(void);
static void check(int c) {{ if (!c) reach_error(); }}
sem_t s; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int done, cleaned, old;
static void clean(void *a) {{ cleaned = 1; pthread_mutex_unlock(&m); }}
static void *work(void *a) {{ {worker} done = 1; return 0; }}
int main(void) {{
  pthread_t t; void *r = 0; sem_init(&s, 0, 0);
  pthread_create(&t, 0, work, 0); {before} pthread_cancel(t); pthread_join(t, &r); {after} return 0;
}}"
    );
    found(&text)
}

#[test]
fn threads_are_cancelled_where_they_may_be() {
    let waits = "pthread_mutex_lock(&m); pthread_cleanup_push(clean, 0);
        while (!done) pthread_cond_wait(&c, &m); pthread_cleanup_pop(1);";
    let is_over =
        "check(r == PTHREAD_CANCELED && cleaned && !done); check(pthread_mutex_trylock(&m) == 0);";
    let off = "pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old); pthread_testcancel();";
    let own = "pthread_cancel(pthread_self()); pthread_testcancel();";
    for (worker, before, after) in [
        // Nobody signals: it can only be cancelled, with the mutex.
        (waits, "", is_over),
        (
            "pthread_testcancel();",
            "",
            "check((r == PTHREAD_CANCELED) == !done);",
        ),
        (
            "sem_wait(&s);",
            "sem_post(&s);",
            "check((r == PTHREAD_CANCELED) == !done);",
        ),
        (
            "sem_wait(&s);",
            "",
            "check(r == PTHREAD_CANCELED && !done);",
        ),
        ("sleep(1);", "", "check((r == PTHREAD_CANCELED) == !done);"),
        (
            off,
            "",
            "check(r == 0 && done && old == PTHREAD_CANCEL_ENABLE);",
        ),
        (own, "", "check(r == PTHREAD_CANCELED && !done);"),
        ("pthread_testcancel();", "pthread_join(t, 0); return 0;", ""),
        // No cancellation point.
        (
            "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
            "",
            "check(r == 0 && done);",
        ),
    ] {
        assert_eq!(
            cancelled(worker, before, after),
            "holds",
            "{worker} {before}"
        );
    }
    for (worker, before, after) in [
        ("pthread_testcancel();", "", "check(r == PTHREAD_CANCELED);"),
        ("pthread_testcancel();", "", "check(r == 0);"),
        ("sem_wait(&s);", "sem_post(&s);", "check(done);"),
        ("sem_wait(&s);", "sem_post(&s);", "check(!done);"),
        (waits, "", "check(!cleaned);"),
    ] {
        let wrong = cancelled(worker, before, after);
        assert!(wrong.starts_with("violated"), "{worker} {before}: {wrong}");
    }
    let states = "#include <pthread.h>\nextern void reach_error(void); int main(void) { int old;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0); pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
        if (old != PTHREAD_CANCEL_DISABLE) reach_error(); return 0; }";
    assert_eq!(found(states), "holds");
    let asynchronous = "pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);";
    let refused = cancelled(asynchronous, "", "");
    assert!(refused.contains("asynchronous cancellation"), "{refused}");
}

#[test]
fn letters_input_and_arrays_without_elements() {
    let text = |body: &str| {
        format!(
            "#include <stdio.h>\nextern void reach_error(void);
static void check(int c) {{ if (!c) reach_error(); }}
struct head {{ int n; int tail[0]; }}; int größe = 3; int none[0]; struct head h;
int main(void) {{ int also[2][0]; char b[4]; b[3] = 'x'; {body} return 0; }}"
        )
    };
    for body in [
        "check(größe == 3 && sizeof none == 0 && sizeof h == 4 && sizeof also == 0);",
        "if (fgets(b, 2, stdin)) check(b[0] == 0 || b[1] == 0);",
        "if (!fgets(b, 2, stdin)) check(b[3] == 'x');",
        "if (fgets(b, 2, stdin)) check(b[3] == 'x');",
    ] {
        assert_eq!(found(&text(body)), "holds", "{body}");
    }
    for body in [
        "größe = 4; check(größe == 3);",
        "if (fgets(b, 2, stdin)) check(b[0] != 'q');",
        "check(fgets(b, 2, stdin) != 0);",
    ] {
        let wrong = found(&text(body));
        assert!(wrong.starts_with("violated"), "{body}: {wrong}");
    }
    let refused = found(&text("int k = h.n; none[k] = 1;"));
    assert!(refused.contains("line 5: unsupported"), "{refused}");
}
