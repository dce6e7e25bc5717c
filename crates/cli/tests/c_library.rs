//! The thread library: each object does what POSIX says, under SC and PSO.

mod c_support;

use palisade_program::Model;

const TYPES: &str = "\
typedef struct { int x; } pthread_cond_t; typedef struct { int x; } pthread_rwlock_t;
typedef struct { int x; } pthread_once_t; typedef struct { int x; } pthread_barrier_t;
typedef struct { int x; } sem_t; typedef struct { int x; } pthread_spinlock_t;
int x, y; pthread_mutex_t m; pthread_cond_t c; pthread_rwlock_t l; pthread_once_t o;
pthread_barrier_t b; sem_t s; pthread_spinlock_t spin;
";

/// `p` and `q` run as threads, `main` after them; whether the checks hold.
fn run(functions: &str, p: &str, q: &str, main: &str, holds: bool) {
    let text = format!(
        "{TYPES}{functions}
        void *p(void *a) {{ {p} return 0; }}
        void *q(void *a) {{ {q} return 0; }}
        int main(void) {{ pthread_t t, u; pthread_barrier_init(&b, 0, 2); sem_init(&s, 0, 0);
          pthread_create(&t, 0, p, 0); pthread_create(&u, 0, q, 0);
          pthread_join(t, 0); pthread_join(u, 0); {main} }}\n"
    );
    for model in [Model::Sc, Model::Pso] {
        let found = c_support::verdict(&text, model);
        let wanted = if holds {
            "holds"
        } else {
            "violated: reach_error is called"
        };
        assert_eq!(found, wanted, "under {model}\n{text}");
    }
}

#[test]
fn mutexes() {
    let add = "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);";
    run("", add, add, "check(x == 2);", true);
    run("", add, "x++;", "check(x == 2);", false);
    let attempt = "if (pthread_mutex_trylock(&m) == 0) { x++; check(x == 1); x--; pthread_mutex_unlock(&m); }";
    run("", attempt, attempt, "check(x == 0);", true);
    let spin = "pthread_spin_lock(&spin); x++; pthread_spin_unlock(&spin);";
    run("", spin, spin, "check(x == 2);", true);
}

#[test]
fn readers_and_writers() {
    let write = "pthread_rwlock_wrlock(&l); x = 1; x = 2; pthread_rwlock_unlock(&l);";
    let read = "pthread_rwlock_rdlock(&l); check(x != 1); pthread_rwlock_unlock(&l);";
    run("", write, read, "check(x == 2);", true);
    // Two readers at once.
    let both = "pthread_rwlock_rdlock(&l); x++; check(x == 1); x--; pthread_rwlock_unlock(&l);";
    run("", both, both, "", false);
}

#[test]
fn once_and_barriers() {
    let init = "void init(void) { x++; }";
    let call = "pthread_once(&o, init); check(x == 1);";
    run(init, call, call, "", true);
    run(
        "",
        "x = 1; pthread_barrier_wait(&b); check(y == 1);",
        "y = 1; pthread_barrier_wait(&b); check(x == 1);",
        "",
        true,
    );
    run("", "x = 1; check(y == 1);", "y = 1;", "", false);
}

#[test]
fn conditions_and_semaphores() {
    let signal =
        "pthread_mutex_lock(&m); y = 7; x = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);";
    let wait = |how: &str| {
        format!(
            "pthread_mutex_lock(&m); {how} (!x) pthread_cond_wait(&c, &m); check(y == 7); pthread_mutex_unlock(&m);"
        )
    };
    run("", signal, &wait("while"), "", true);
    // It may wake up without a signal.
    run("", signal, &wait("if"), "", false);
    run(
        "",
        "x = 1; sem_post(&s);",
        "sem_wait(&s); check(x == 1);",
        "",
        true,
    );
    run(
        "",
        "sem_post(&s); x = 1;",
        "sem_wait(&s); check(x == 1);",
        "",
        false,
    );
}

#[test]
fn results_and_own_variables() {
    let text = "void f(void) { pthread_exit((void *)5); } __thread int own; int x;
        void *p(void *a) { own++; check(own == 1); f(); x = 1; return 0; }
        int main(void) { pthread_t t; void *r; own = 7; pthread_create(&t, 0, p, 0);
          pthread_join(t, &r); check((long)r == 5); check(x == 0); check(own == 7); WRONG }\n";
    let right = text.replace("WRONG", "");
    assert_eq!(c_support::verdict(&right, Model::Tso), "holds");
    let wrong = text.replace("WRONG", "check(own == 8);");
    let found = c_support::verdict(&wrong, Model::Tso);
    assert_eq!(found, "violated: reach_error is called");
}
