//! The order of evaluation that C leaves open is a choice of the program; what C fixes, and
//! what nobody can notice, is not.

use crate::c_support;

use c_support::{check_all, read};
use palisade_program::Step;

/// `x`, and functions that change it.
const HEAD: &str = "int x, y, a[4]; struct s { int m, n; } v, w[2];
int set(void) { x = 10; return 1; } int next(void) { return x++; }
int put(int *p) { *p = 7; return 1; } int two(int a, int b) { return a * 10 + b; }
struct s both(void) { x = 10; struct s r = { 1, 2 }; return r; }
int of(struct s t, int k) { return t.m * 10 + k; }\n";

fn in_main(programs: &[(&str, &str)]) {
    for (body, wanted) in programs {
        let text = format!("{HEAD}int main(void) {{ {body} }}\n");
        check_all(&[(&text, wanted)]);
    }
}

#[test]
fn calls_that_change_what_their_neighbours_read() {
    in_main(&[
        ("x = 1; int r = x + set(); check(r == 2);", "violated"),
        ("x = 1; int r = x + set(); check(r == 11);", "violated"),
        (
            "x = 1; int r = x + set(); check(r == 2 || r == 11);",
            "holds",
        ),
        ("x = 1; int r = set() + x; check(r == 11);", "violated"),
        ("check(two(next(), next()) == 1);", "violated"),
        ("check(two(next(), next()) == 10);", "violated"),
        (
            "int r = two(next(), next()); check(r == 1 || r == 10);",
            "holds",
        ),
        // Operands of operands: all orders, not only those of the tree.
        (
            "int r = next() * 100 + next() * 10 + next(); check(r != 102);",
            "violated",
        ),
        (
            "int r = next() * 100 + next() * 10 + next(); check(r != 201);",
            "violated",
        ),
        ("int r = next() + next() + next(); check(r == 3);", "holds"),
        (
            "int r = (x + set()) * 100 + (y + next()); check(r >= 100 && r <= 1210);",
            "holds",
        ),
        // Sides of an assignment, indices, compound assignments.
        ("a[x & 3] = (set(), 5); check(a[0] == 5);", "violated"),
        (
            "a[x & 3] = (set(), 5); check(a[0] == 5 || a[2] == 5);",
            "holds",
        ),
        (
            "a[x] = (set(), x = 2, 5); check(a[2] == 5);",
            "unsupported: an order of evaluation that C leaves open (write it as separate statements)",
        ),
        ("a[x & 3] = set(); check(a[0] == 1);", "violated"),
        ("a[x & 3] = set(); check(a[2] == 1);", "violated"),
        ("a[x & 3] = set(); check(a[0] == 1 || a[2] == 1);", "holds"),
        ("x = 1; x += set(); check(x == 11);", "holds"),
        ("x = 1; x = x + set(); check(x == 2);", "violated"),
        ("int i = 1; int r = i + put(&i); check(r == 2);", "violated"),
        (
            "int i = 1; int r = i + put(&i); check(r == 2 || r == 8);",
            "holds",
        ),
        (
            "int *p = &x; int r = *p + set(); check(r == 1);",
            "violated",
        ),
        (
            "v.m = 1; int r = v.m + put(&v.m); check(r == 2);",
            "violated",
        ),
        ("v.m = 1; int r = v.m + put(&v.n); check(r == 2);", "holds"),
        (
            "w[1].m = 1; int r = w[1].m + put(&w[1].m); check(r == 2);",
            "violated",
        ),
        // Structs by value.
        ("int r = of(both(), x); check(r == 20);", "violated"),
        ("int r = of(both(), x); check(r == 10 || r == 20);", "holds"),
        (
            "v.m = 3; int r = of(v, put(&v.m)); check(r == 31);",
            "violated",
        ),
        // Initialisers.
        (
            "int b[2] = { next(), next() }; check(b[0] == 0);",
            "violated",
        ),
        (
            "struct s t = { next(), next() }; check(t.m + t.n == 1);",
            "holds",
        ),
        // Through pointers to functions.
        (
            "int (*f)(void) = set; x = 1; int r = x + f(); check(r == 2);",
            "violated",
        ),
        (
            "int r = -next() + (next() ? 4 : 9); check(r == 4);",
            "violated",
        ),
    ]);
}

#[test]
fn what_c_sequences_has_one_order() {
    in_main(&[
        ("check((next() || 1) && x == 1);", "holds"),
        ("int r = (next(), next()); check(r == 1);", "holds"),
        ("int r = set() ? x : 0; check(r == 10);", "holds"),
        ("int r = x == 0 && set() && x == 10; check(r);", "holds"),
        ("int r = ({ set(); x; }) + 1; check(r == 11);", "holds"),
        ("check(two(1, two(0, next())) == 10);", "holds"),
        ("int i = 0; i = i + 1; i += i; check(i == 2);", "holds"),
        (
            "int k = 0; a[k++] = 4; check(a[0] == 4 && k == 1);",
            "holds",
        ),
        (
            "int *p = a, *q = a + 2; a[2] = 3; *p++ = *q++; check(a[0] == 3 && p == a + 1);",
            "holds",
        ),
        ("v.m = v.n = 3; check(v.m + v.n == 6);", "holds"),
        (
            "int i = 1, j = 2; int r = i++ + j++; check(r == 3 && i == 2 && j == 3);",
            "holds",
        ),
        ("x = y = 3; check(x == 3 && y == 3);", "holds"),
        ("int i = 2; i = (i++, 5); check(i == 5);", "holds"),
    ]);
}

#[test]
fn unsequenced_accesses_are_wrong() {
    let wrong = |name: &str| format!("unsequenced accesses of `{name}` in one expression");
    in_main(&[
        ("int i = 1; i = i++ + i; check(i == 3);", &wrong("i")),
        ("int i = 1; i = i++; check(1);", &wrong("i")),
        ("int i = 0; a[i] = i++; check(1);", &wrong("i")),
        ("int i = 0; two(i++, i); check(1);", &wrong("i")),
        ("int r = (v.m = 1) + v.m; check(1);", &wrong("v.m")),
        ("int r = a[1]++ + a[1]; check(1);", &wrong("a")),
        // One function after the other.
        (
            "int i = 0; int r = put(&i) + put(&i); check(r == 2);",
            "holds",
        ),
    ]);
}

/// What other threads can tell apart.
#[test]
fn accesses_of_shared_variables() {
    let program = |types: &str, load: &str| {
        format!(
            "{types} flag, data; void ok(int f, int d) {{ check(!f || d); }}
             void *w(void *p) {{ data = 1; flag = 1; return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, w, 0); {load} }}\n"
        )
    };
    let load = "ok(__atomic_load_n(&flag, 5), __atomic_load_n(&data, 5));";
    let macros = "ok(({ int r = flag; r; }), ({ int r = data; r; }));";
    let saved = "int f = flag; int d = data; ok(f, d);";
    for (text, wanted) in [
        (program("atomic_int", load), "violated"),
        (program("int", load), "violated"),
        (program("int", "ok(flag, data);"), "violated"),
        (program("int", macros), "violated"),
        (program("int", "check(flag <= data);"), "violated"),
        (program("int", "check(!flag || data);"), "holds"),
        (program("int", saved), "holds"),
    ] {
        check_all(&[(&text, wanted)]);
    }
    // Two stores of one expression.
    let stores =
        "atomic_int x, y; void *w(void *p) { int b = y; int a = x; check(!b || a); return 0; }
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); STORE }\n";
    check_all(&[
        (&stores.replace("STORE", "y = x = 1;"), "violated"),
        (&stores.replace("STORE", "x = 1; y = 1;"), "holds"),
    ]);
}

/// How many locations of `main` have a choice between steps that do nothing.
fn choices(text: &str) -> usize {
    let program = read(text).expect("right");
    let cfg = &program.templates[0].cfg;
    let is_choice = |loc| {
        let skips = cfg.outgoing(loc).filter(|(_, e)| e.step == Step::Skip);
        skips.count() > 1
    };
    let locs = (0..cfg.loc_count()).map(palisade_program::LocId::from);
    locs.filter(|loc| is_choice(*loc)).count()
}

#[test]
fn no_choice_where_nobody_can_notice() {
    for (body, wanted) in [
        ("int i = 1, j = 2; check(i + j * i - two(i, j) < 9);", 0),
        ("check(x + y + a[0] + a[1] + v.m < 9);", 0),
        ("y = two(x, y) + a[x & 3]; a[y & 3] = x + y;", 0),
        ("x = x + set();", 1),
        ("check(two(next(), next()));", 1),
    ] {
        let text = format!("{HEAD}int main(void) {{ {body} }}\n");
        assert_eq!(choices(&text), wanted, "{text}");
    }
    // Variables that no other thread writes, or that this thread alone knows.
    let threads = "int p, q, r, s; void *w(void *a) { p = q; return 0; }
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); check(BODY); }\n";
    for (body, wanted) in [("q + r", 0), ("p + q", 0), ("r + s", 0), ("p + p", 1)] {
        let text = threads.replace("BODY", body);
        assert_eq!(choices(&text), wanted, "{text}");
    }
}

#[test]
fn too_many_orders_are_unknown() {
    let sum = ["next()"; 10].join(" + ");
    in_main(&[(
        &format!("check({sum} == 45);"),
        "unsupported: an expression with too many orders of evaluation (use separate statements)",
    )]);
}

/// What an operand is in one order is not what it is in another, also where each is a constant.
#[test]
fn constants_depend_on_the_order() {
    let text = |sum: i64| {
        format!(
            "int main(void) {{ int a[2] = {{0}}, i = 1; int r = a[1] + (a[i] = 5); check(r == {sum}); }}\n"
        )
    };
    check_all(&[(&text(5), "violated"), (&text(10), "violated")]);
}
