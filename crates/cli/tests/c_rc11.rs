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
    let main = if text.contains("int main(") { "" } else { main };
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

/// A queue's tail may be one of several nodes, which the load and the store of an exchange both depend on.
#[test]
fn an_exchange_through_a_pointer() {
    let text = |order: &str| {
        format!(
            "struct node {{ int data; _Atomic(struct node *) next; }};
            struct node first, second, third, *mine[2] = {{ &second, &third }};
            _Atomic(struct node *) tail = &first;
            void add(int k) {{
                struct node *node = mine[k];
                node->data = k + 1;
                while (1) {{
                    struct node *last = atomic_load_explicit(&tail, memory_order_acquire), *none = 0;
                    if (atomic_compare_exchange_strong_explicit(&last->next, &none, node,
                            {order}, memory_order_relaxed)) {{
                        atomic_store_explicit(&tail, node, memory_order_release);
                        return;
                    }}
                }}
            }}
            void *f(void *p) {{ add(0); return 0; }}
            void *g(void *p) {{
                struct node *node = atomic_load_explicit(&first.next, memory_order_acquire);
                if (node) assert(node->data == 1);
                add(1);
                return 0; }}
            void end(void) {{ assert(first.next->next && !first.next->next->next); }}"
        )
    };
    check(&text("memory_order_release"), "holds");
    check(&text("memory_order_relaxed"), "race");
}

#[test]
fn a_lock_among_several() {
    let text = |own: &str| {
        format!(
            "struct bucket {{ pthread_mutex_t lock; int count; }} buckets[3];
            void add(int k, int own) {{
                pthread_mutex_lock(&buckets[own].lock); buckets[k].count++;
                pthread_mutex_unlock(&buckets[own].lock); }}
            atomic_int key = 1;
            void *f(void *p) {{ int k = key; add(k, k); return 0; }}
            void *g(void *p) {{ int k = key; add(k, {own}); return 0; }}
            void end(void) {{ assert(buckets[1].count == 2); }}"
        )
    };
    check(&text("k"), "holds");
    check(&text("k + 1"), "race");
}

#[test]
fn barriers() {
    let text = |wait: &str| {
        format!(
            "int data; pthread_barrier_t both;
            void *f(void *p) {{ data = 1; {wait} {wait} assert(data == 2); return 0; }}
            int main(void) {{ pthread_t a;
                pthread_barrier_init(&both, 0, 2); pthread_create(&a, 0, f, 0);
                {wait} assert(data == 1); data = 2; {wait}
                pthread_join(a, 0); pthread_barrier_destroy(&both); return 0; }}"
        )
    };
    check(&text("pthread_barrier_wait(&both);"), "holds");
    check(&text(""), "assert");
}
