//! The thread library: each object does what POSIX says, under SC and PSO.

use crate::c_support;

use palisade_frontend::c::Options;
use palisade_program::{Model, Verdict};

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

/// A program with headers, whether its checks hold.
fn with_headers(body: &str, wanted: &str) {
    let text = format!(
        "#include <pthread.h>\n#include <stdlib.h>\n#include <assert.h>\n#include <threads.h>\n{body}\n"
    );
    let found = c_support::verdict(&text, Model::Sc);
    assert!(found.starts_with(wanted), "{found}\n{text}");
}

/// As [`with_headers`], by a proof where there is any input.
fn verified(body: &str, wanted: &str) {
    let text = format!("#include <pthread.h>\n#include <stdlib.h>\n#include <assert.h>\n{body}\n");
    let program =
        c_support::read(&text, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let options = palisade_verify::Options {
        model: Model::Sc,
        ..palisade_verify::Options::default()
    };
    let found = match palisade_verify::verify(&program, &options).verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(v) => format!("violated: {}", v.message),
        Verdict::Unknown(why) => format!("unknown: {why}"),
    };
    assert!(found.starts_with(wanted), "{found}\n{text}");
}

/// Threads that CBMC's label starts have copies of the creator's locals, as they are then.
#[test]
fn threads_of_labels() {
    let program = "int x, done; void set(int v) { x = v; done++; }
void run(void (*f)(int), int v) { __CPROVER_ASYNC_1: f(v), __CPROVER_fence(\"WRfence\"); v = 9; }
int main(void) { int a = 3; run(set, a); run(set, a + 1); a = 7; __CPROVER_assume(done == 2);
  assert(x == 3 || x == LAST); }";
    with_headers(&program.replace("LAST", "4"), "holds");
    with_headers(&program.replace("LAST", "7"), "violated");
    let shared = "int main(void) { int a = 3, *p = &a; __CPROVER_ASYNC_1: a = 4; return *p; }";
    with_headers(
        shared,
        "error: line 5: unsupported: `a`, which is in memory",
    );
}

#[test]
fn threads_of_function_pointers() {
    let program = "int x; void *one(void *a) { x = 1; return 0; } void *two(void *a) { x = 2; return 0; }
int __VERIFIER_nondet_int(void); struct s { void *(*f)(void *); } s;
int main(void) { pthread_t h; s.f = __VERIFIER_nondet_int() ? one : two; pthread_create(&h, 0, s.f, 0);
  pthread_join(h, 0); assert(x == 1 || x == LAST); }";
    with_headers(&program.replace("LAST", "2"), "holds");
    with_headers(&program.replace("LAST", "3"), "violated");
}

/// What is read from outside is any value, as much as was converted.
#[test]
fn input() {
    let program = "#include <stdio.h>
#include <time.h>
int main(void) { int x = 5; unsigned char c = 1; time_t then; int n = scanf(\"%d %hhu\", &x, &c);
  time_t now = time(&then); assert(now == then); assert(n >= EOF && n <= 2); assert(n > 0 || x == 5); assert(n == 2 || c == 1);
  assert(n < LEAST || c == 1 || c == 2 || x == 5 || getchar() < 256); LAST }";
    let right = program.replace("LEAST", "1");
    verified(&right.replace("LAST", ""), "holds");
    verified(&right.replace("LAST", "assert(x == 5);"), "violated");
    verified(
        &right.replace("LAST", "assert(n < 2 || c != 200);"),
        "violated",
    );
}

/// A result may be stored where a pointer of another type, or a word, stands.
#[test]
fn results_of_threads() {
    let program = "int g = 4; void *t(void *a) { return &g; } void *u(void *a) { return (void *)7; }
int main(void) { pthread_t h, k; int *p; long n; pthread_create(&h, 0, t, 0); pthread_create(&k, 0, u, 0);
  pthread_join(h, (void **)&p); pthread_join(k, (void **)&n); assert(*p == 4 && n == LAST); }";
    with_headers(&program.replace("LAST", "7"), "holds");
    with_headers(&program.replace("LAST", "8"), "violated");
}

/// Semaphores and barriers are initialised by calls only; `sem_post` has a limit.
#[test]
fn semaphores_without_initialiser() {
    let program = |init: &str, value: &str| {
        format!(
            "#include <semaphore.h>
sem_t s; int main(void) {{ {init} sem_post(&s); sem_wait(&s); {value} }}"
        )
    };
    with_headers(&program("sem_init(&s, 0, 0);", ""), "holds");
    with_headers(&program("", ""), "violated");
    let most = program("sem_init(&s, 0, 2147483647);", "");
    with_headers(&most, "unsupported: a semaphore of more than SEM_VALUE_MAX");
}

/// Bits that are no parts of linear arithmetic by themselves.
#[test]
fn bits_of_two_variables() {
    let program = "unsigned __VERIFIER_nondet_uint(void); int x; unsigned long w;
int main(void) { unsigned a = __VERIFIER_nondet_uint(), b = __VERIFIER_nondet_uint(); _Bool c = a > b;
  assert(((a | b) == 0) == (a == 0 && b == 0)); assert(((a | c) & 1u) == ((a & 1u) || c)); assert((a ^ c) - a + 1u <= LAST);
  assert((int)((a | (0u - a)) >> 31) == (a != 0)); w = (unsigned long)a << 32; assert(w >> 33 == a >> 1); }";
    verified(&program.replace("LAST", "2u"), "holds");
    verified(&program.replace("LAST", "1u"), "violated");
}

/// What other files define is any value; an array that nothing completes has one element; what does not fit memory is not allocated.
#[test]
fn what_is_defined_elsewhere() {
    let program = "extern int limit; int *one[]; int g;
int main(void) { int n = limit; one[0] = &g; assert(n == limit && one[0] == &g && !malloc(-2)); LAST }";
    verified(&program.replace("LAST", ""), "holds");
    verified(
        &program.replace("LAST", "assert(limit != 12345);"),
        "violated",
    );
    verified(&program.replace("LAST", "one[1] = &g;"), "violated");
}

#[test]
fn elements_of_flexible_members() {
    let program = "typedef struct { unsigned long n; } __attribute__((aligned(sizeof(long)))) word; typedef struct { void *v; } cell;
typedef struct { word n; cell all[]; } ring; int x; static void put(cell *c, void *v) { __atomic_store_n(&c->v, v, 5); }
int main(void) { ring *r = malloc(sizeof(ring) + 2 * sizeof(cell)); for (int i = 0; i < 2; i++) put(&r->all[i], &x);
  assert(sizeof(ring) == 8 && r->all[LAST].v == &x); free(r); }";
    with_headers(&program.replace("LAST", "1"), "holds");
    with_headers(&program.replace("LAST", "2"), "violated");
}

#[test]
fn handlers_run_when_a_thread_ends() {
    // The inner handler gives 2, the outer one appends 1.
    for (inside, x) in [
        ("pthread_cleanup_pop(1);", 2),
        ("pthread_cleanup_pop(0);", 0),
        ("pthread_exit(0); pthread_cleanup_pop(0);", 21),
        ("if (c) pthread_exit(0); pthread_cleanup_pop(0);", 0),
        ("leave(); pthread_cleanup_pop(1);", 21),
    ] {
        let program = format!(
            "int x, c; void add(void *p) {{ x = x * 10 + *(int *)p; }}
int one = 1, two = 2; void leave(void) {{ pthread_exit(0); }}
void *t(void *p) {{ pthread_cleanup_push(add, &one); pthread_cleanup_push(add, &two);
  {inside} pthread_cleanup_pop(0); return 0; }}
int main(void) {{ pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0);"
        );
        with_headers(&format!("{program} assert(x == {x}); }}"), "holds");
        with_headers(&format!("{program} assert(x != {x}); }}"), "violated");
    }
}

#[test]
fn keys_have_a_value_for_each_thread() {
    let program = "pthread_key_t k; int ended; void end(void *p) { ended += *(int *)p; }
int seven = 7, eight = 8;
void *t(void *p) { assert(pthread_getspecific(k) == 0); pthread_setspecific(k, &seven);
  assert(pthread_getspecific(k) == &seven); return 0; }
int main(void) { pthread_t h; pthread_key_create(&k, end); pthread_setspecific(k, &eight);
  pthread_create(&h, 0, t, 0); pthread_join(h, 0); assert(pthread_getspecific(k) == &eight);";
    with_headers(&format!("{program} assert(ended == 7); }}"), "holds");
    with_headers(&format!("{program} assert(ended != 7); }}"), "violated");
    let twice = program.replace("ended += *(int *)p;", "pthread_setspecific(k, p);");
    with_headers(
        &format!("{twice} }}"),
        "unsupported: a destructor that sets its key again",
    );
}

#[test]
fn memory_of_any_type() {
    for (body, wanted) in [
        (
            "void *v = malloc(sizeof(struct s)); struct s *p = v; p->b = 2; assert(p->b == 2);",
            "holds",
        ),
        (
            "struct s *p = get(sizeof *p); p->a = 1; assert(p->a == 1);",
            "holds",
        ),
        (
            "struct s *p = get(sizeof *p); p->a = 1; assert(p->a == 2);",
            "violated",
        ),
        (
            "struct s *p; posix_memalign((void **)&p, 64, sizeof *p); p->a = 3; assert(p->a == 3);",
            "holds",
        ),
        (
            "char *p = aligned_alloc(16, 32); p[31] = 1; assert(p[31] == 1);",
            "holds",
        ),
        ("void *p = malloc(8); assert(p != 0); free(p);", "holds"),
        ("char *p = malloc(4); p[4] = 1;", "violated"),
        ("void *v = malloc(8); long *p = v; *p = 1;", "unsupported"),
    ] {
        let text = format!(
            "struct s {{ int a; long b; }};
static void *get(size_t n) {{ void *p = malloc(n); if (!p) abort(); return p; }}
int main(void) {{ {body} return 0; }}"
        );
        with_headers(&text, wanted);
    }
}

/// A local variable lives until its function returns; a pointer to it may be anywhere.
#[test]
fn local_variables_that_others_reach() {
    let common = "int *p; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#define LOCKED(s) { pthread_mutex_lock(&m); s; pthread_mutex_unlock(&m); }
void publish(int *v) { LOCKED(p = v) }
int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); LOCKED(if (p) assert(*p == 5)) pthread_join(h, 0); }";
    let gone = "violated: use of a local variable after its function has returned";
    for (thread, wanted) in [
        ("int x = 5; publish(&x); LOCKED(p = 0) return 0;", "holds"),
        ("int x = 5; publish(&x); return 0;", gone),
        ("int x = 5; publish(&x); pthread_exit(0);", gone),
        (
            "int x = 5; publish(&x); x = 6; LOCKED(p = 0) return 0;",
            "violated: assertion failed",
        ),
        ("static int x = 5; publish(&x); return 0;", "holds"),
        (
            "int x = 5; LOCKED(__atomic_store_n(&p, &x, 5)) LOCKED(p = 0) return 0;",
            "holds",
        ),
        (
            "int x = 5; LOCKED(__atomic_exchange_n(&p, &x, 5)) return 0;",
            gone,
        ),
    ] {
        let order = common.split_once("int main").expect("two parts");
        let text = format!(
            "{}void *t(void *a) {{ {thread} }}\nint main{}",
            order.0, order.1
        );
        with_headers(&text, wanted);
    }
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

#[test]
fn waits_with_a_time() {
    let timed = "int r = pthread_mutex_timedlock(&m, 0); if (r == 0) { x++;
        pthread_mutex_unlock(&m); } else { check(r == 110); y = 1; }";
    let plain = "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);";
    run("", timed, plain, "check(x + y == 2);", true);
    // Time may be up while the other thread holds it.
    run("", timed, plain, "check(x == 2);", false);
    // Nobody holds it: time is not up.
    let alone = "check(pthread_mutex_timedlock(&m, 0) == 0);";
    run("", alone, "", "", true);
    let none = "check(sem_trywait(&s) == -1);";
    run("", none, "", "", true);
}

#[test]
fn threads_of_c11() {
    let text = "#include <threads.h>
        mtx_t n; cnd_t d; once_flag f = ONCE_FLAG_INIT; int x, made; thread_local int own;
        void make(void) { made++; }
        int work(void *arg) {
          (void)arg; call_once(&f, make); mtx_lock(&n); x++; own++; cnd_signal(&d);
          mtx_unlock(&n); return 3; }
        int main(void) {
          thrd_t a, b; int r; mtx_init(&n, mtx_plain);
          if (thrd_create(&a, work, 0) != thrd_success) return 1;
          thrd_create(&b, work, 0);
          mtx_lock(&n); while (x == 0) cnd_wait(&d, &n); mtx_unlock(&n);
          thrd_join(a, &r); thrd_join(b, NULL);
          check(r == 3 && x == 2 && made == 1 && own == 0);
          WRONG
          return 0; }\n";
    let found = |wrong: &str| c_support::verdict(&text.replace("WRONG", wrong), Model::Tso);
    assert_eq!(found(""), "holds");
    assert_eq!(found("check(own == 2);"), "violated: reach_error is called");
    // C11 lets it fail for no reason.
    let tried = "check(mtx_trylock(&n) == thrd_success);";
    assert_eq!(found(tried), "violated: reach_error is called");
    let recursive = "mtx_init(&n, mtx_recursive); mtx_lock(&n); mtx_lock(&n);";
    assert_eq!(found(recursive), "holds");
}

#[test]
fn kinds_of_mutexes() {
    let program = |kind: &str, body: &str, end: &str| {
        format!(
            "#include <errno.h>
pthread_mutex_t m; int x;
void *t(void *a) {{ pthread_mutex_lock(&m); {body} pthread_mutex_unlock(&m); return 0; }}
int main(void) {{ pthread_t h; pthread_mutexattr_t a; pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, {kind}); pthread_mutex_init(&m, &a);
  pthread_create(&h, 0, t, 0); t(0); pthread_join(h, 0); assert(x == 2); {end} }}"
        )
    };
    let again = "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);";
    let recursive = "PTHREAD_MUTEX_RECURSIVE";
    with_headers(&program(recursive, again, ""), "holds");
    // Given back once too often within, the other thread may come in.
    let lost = "pthread_mutex_unlock(&m); x++; pthread_mutex_lock(&m);";
    with_headers(&program(recursive, lost, ""), "violated");
    let checked = "PTHREAD_MUTEX_ERRORCHECK";
    let refused =
        "assert(pthread_mutex_lock(&m) == EDEADLK && pthread_mutex_trylock(&m) == EBUSY); x++;";
    let end = "assert(pthread_mutex_unlock(&m) == EPERM);";
    with_headers(&program(checked, refused, end), "holds");
    with_headers(&program(recursive, refused, end), "violated");
}

#[test]
fn allocations_in_loops_and_of_any_size() {
    let list = "struct node { int v; struct node *next; } *head; int nondet_int(void);
int main(void) { int i = 0; while (i < LENGTH && nondet_int()) {
    struct node *n = malloc(sizeof *n); n->v = ++i; n->next = head; head = n; }
  for (struct node *n = head; n; n = n->next) assert(n->v CONDITION); }";
    let list = |length: &str, cond: &str| list.replace("LENGTH", length).replace("CONDITION", cond);
    with_headers(&list("3", "<= 3"), "holds");
    with_headers(&list("3", "< 3"), "violated");
    with_headers(
        &list("9", "<= 9"),
        "unsupported: more than 4 allocations of one call in a loop",
    );
    let text = "_Bool nondet_bool(void); int main(void) { int n = 1 + MORE * nondet_bool() + nondet_bool();
  int *a = calloc(n, sizeof(int)); for (int i = 0; i < n; i++) assert(a[i] == 0); a[n - LESS] = 1; free(a); }";
    let array = |more: &str, less: &str| text.replace("MORE", more).replace("LESS", less);
    with_headers(&array("1", "1"), "holds");
    with_headers(
        &array("1", "0"),
        "violated: a pointer to no object is followed",
    );
    with_headers(
        &array("9", "1"),
        "unsupported: an allocation of more than 8 elements whose size is no constant",
    );
    let local = text.replace("int *a = calloc(n, sizeof(int));", "int a[n];");
    let local = local
        .replace("assert(a[i] == 0)", "a[i] = 0")
        .replace("free(a);", "");
    let local = |more: &str, less: &str| local.replace("MORE", more).replace("LESS", less);
    with_headers(&local("1", "1"), "holds");
    with_headers(
        &local("1", "0"),
        "violated: a pointer to no object is followed",
    );
    with_headers(
        &local("9", "1"),
        "unsupported: an array of more than 8 elements whose length is no constant",
    );
    let returned = "int *f(int n) { int *p = alloca(n * sizeof(int)); p[0] = 1; return p; }
_Bool nondet_bool(void); int main(void) { int *p = f(1 + nondet_bool()); BODY }";
    with_headers(&returned.replace("BODY", ""), "holds");
    with_headers(
        &returned.replace("BODY", "return p[0];"),
        "violated: use of a local variable after its function has returned",
    );
    let again = "int main(void) { int *p = malloc(2 * sizeof *p); p[0] = 1; p[1] = 2; int *q = realloc(p, SIZE * sizeof *p);
  assert(q[0] == 1); BODY free(q); }";
    let again = |size: &str, body: &str| again.replace("SIZE", size).replace("BODY", body);
    with_headers(&again("3", "q[2] = 3; assert(q[1] == 2);"), "holds");
    with_headers(
        &again("3", "assert(q[1] == 3);"),
        "violated: assertion failed",
    );
    with_headers(
        &again("1", "q[1] = 3;"),
        "violated: array index out of range",
    );
    with_headers(
        &again("3", "assert(p[0] == 1);"),
        "violated: use after free",
    );
    with_headers(&again("3", "free(p);"), "violated: double free");
    let tail = "struct v { int n; int d[]; }; int main(void) { struct v *v = malloc(sizeof *v + 3 * sizeof(int));
  v->n = 3; for (int i = 0; i < v->n; i++) v->d[i] = i; assert(sizeof *v == 4 && v->d[2] == 2); v->d[INDEX] = 1; }";
    with_headers(&tail.replace("INDEX", "2"), "holds");
    with_headers(
        &tail.replace("INDEX", "3"),
        "violated: array index out of range",
    );
    let aligned = "int main(void) { int *p = aligned_alloc(ALIGNMENT, 16); *p = 1; }";
    with_headers(&aligned.replace("ALIGNMENT", "16"), "holds");
    with_headers(
        &aligned.replace("ALIGNMENT", "12"),
        "violated: the alignment of an allocation is no power of two",
    );
}

#[test]
fn numbers_that_are_the_address_of_nothing() {
    let program =
        |body: &str| format!("int x, *p; int main(void) {{ p = (int *)0xdeadbeef; {body} }}");
    with_headers(
        &program("assert(p != &x && p == (int *)0xdeadbeef);"),
        "holds",
    );
    let wild = "violated: a pointer to no object is followed";
    with_headers(&program("x = *p;"), wild);
    with_headers(&program("*(int *)0xdeadbeef = 1;"), wild);
    with_headers(
        "int main(void) { const char *s = __func__; assert(s[0] == 'm'); }",
        "unsupported: the letters of",
    );
}

#[test]
fn thread_local_variables_in_memory() {
    let program = "static __thread int own = 5; int *p; static void set(int *q, int v) { *q = v; }
void *t(void *a) { assert(own == 5); set(&own, 7); p = &own; return 0; }
int main(void) { pthread_t h; set(&own, 1); pthread_create(&h, 0, t, 0); pthread_join(h, 0);
  assert(own == OWN && p != &own && *p == 7); }";
    with_headers(&program.replace("OWN", "1"), "holds");
    with_headers(&program.replace("OWN", "7"), "violated");
}

/// Numbers are followed by their bits; what would have to be rounded while the program runs is not.
#[test]
fn floating_point() {
    let program = |end: &str| {
        format!(
            "#include <math.h>
extern double __VERIFIER_nondet_double(void); extern float __VERIFIER_nondet_float(void);
double sum = 0.5; struct p {{ float x; int k; }} g = {{ 1.0f, 3 }};
union number {{ double value; struct {{ unsigned low, high; }} parts; }};
void *t(void *a) {{ sum = 2.5; return 0; }}
int main(void) {{ pthread_t h; union number u; double d = 2.0 * g.k, n = __VERIFIER_nondet_double(); float m = __VERIFIER_nondet_float();
  d += sqrt(16.0); g.x++; pthread_create(&h, 0, t, 0); {end} }}"
        )
    };
    for (end, wanted) in [
        ("assert(g.k == 3 && sizeof g == 8);", "holds"),
        // Two loads, between which the thread stores.
        (
            "assert(sum == 0.5 || sum == 0.5 || sum != 2.5);",
            "violated",
        ),
        ("double s = sum; assert(s == 0.5 || s == 2.5);", "holds"),
        ("pthread_join(h, 0); assert(sum > 2);", "holds"),
        ("assert(d == 10 && (int)d == 10);", "holds"),
        ("assert(d == 10.5);", "violated"),
        (
            "u.value = -0.0; assert(u.parts.high >> 31 && u.value == 0);",
            "holds",
        ),
        (
            "u.value = 0; u.parts.high = 0x3ff00000; assert(u.value > 1);",
            "violated",
        ),
        ("assert(!(n < 1) || n < 2);", "holds"),
        ("assert(n < 1 || n >= 1);", "violated"),
        ("if (m > 0.5) assert(m > 0.25 && -m < 0);", "holds"),
        ("if (m > 0.5) assert(m > 0.75);", "violated"),
        ("assert((n - n == 0) == (n - n == n - n));", "holds"),
    ] {
        verified(&program(end), wanted);
    }
    let why = "unknown: unsupported: a value that depends on floating point";
    for end in [
        "if (n * 3 > 1) g.k = 1;",
        "assert(sin(1) < 1);",
        "g.k = (int)m;",
    ] {
        verified(&program(end), why);
    }
}

#[test]
fn names_of_genmc() {
    let program = "#include <genmc.h>
#include <stdatomic.h>
atomic_int x; void *t(void *a) { atomic_store(&x, 1); return &x; }
int main(void) { __VERIFIER_thread_t h = __VERIFIER_spawn(t, 0); int r = __VERIFIER_speculative_read(atomic_load(&x));
  __VERIFIER_assume(r == 0); __VERIFIER_optional(r = 2); assert(__VERIFIER_join(h) == &x && r == EXPECTED); }";
    with_headers(&program.replace("EXPECTED", "0"), "holds");
    with_headers(&program.replace("EXPECTED", "2"), "violated");
}

#[test]
fn a_weak_exchange_may_fail() {
    let text = "#include <stdatomic.h>
        atomic_int n;
        int main(void) { int e = 0; int ok = EXCHANGE; check(ok); check(n == 1); return 0; }\n";
    let found = |call: &str| c_support::verdict(&text.replace("EXCHANGE", call), Model::Sc);
    let failed = "violated: reach_error is called";
    for (call, wanted) in [
        ("atomic_compare_exchange_strong(&n, &e, 1)", "holds"),
        ("atomic_compare_exchange_weak(&n, &e, 1)", failed),
        ("__atomic_compare_exchange_n(&n, &e, 1, 0, 5, 5)", "holds"),
        ("__atomic_compare_exchange_n(&n, &e, 1, 1, 5, 5)", failed),
        (
            "1; while (!atomic_compare_exchange_weak(&n, &e, 1)) check(e == 0)",
            "holds",
        ),
    ] {
        assert_eq!(found(call), wanted, "{call}");
    }
}

/// Beyond `SEM_VALUE_MAX` `sem_init` returns -1 and initialises nothing: neither proved nor refuted.
#[test]
fn semaphores_start_within_their_range() {
    for (value, is_decided) in [("2147483647", true), ("2147483648u", false), ("-1", false)] {
        let text = format!(
            "{TYPES}int main(void) {{ int r = sem_init(&s, 0, {value}); check(r == 0); }}\n"
        );
        let found = c_support::verdict(&text, Model::Sc);
        assert_eq!(found == "holds", is_decided, "{value}: {found}");
        assert!(!found.starts_with("violated"), "{value}: {found}");
    }
}
