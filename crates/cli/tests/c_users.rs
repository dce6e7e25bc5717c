//! C as users write it: constructs in common use, each in a program that asserts what a
//! compiler makes of it, with a wrong twin; and what is refused, with its reason.

use crate::c_support;

use std::path::Path;

use palisade_frontend::c::{self, Options};
use palisade_program::{Model, Source};

fn found(text: &str) -> String {
    c_support::verdict(text, Model::Sc)
}

/// Declarations and a body that hold, and a condition that does not.
const PROGRAMS: &[(&str, &str, &str)] = &[
    (
        "unsigned u; unsigned long long w; long l;",
        "u = 0xf0f00000u; check(__builtin_popcount(u) == 8 && __builtin_ctz(u) == 20);
         check(__builtin_clz(u) == 0 && __builtin_clz(u >> 5) == 5 && __builtin_parity(u) == 0);
         check(__builtin_ffs(0) == 0 && __builtin_ffs(8) == 4 && __builtin_ffs(-1) == 1);
         w = 1ULL << 63; check(__builtin_popcountll(w) == 1 && __builtin_ctzll(w) == 63);
         check(__builtin_clzll(w) == 0 && __builtin_popcountll(~0ULL) == 64); l = -2;
         check(__builtin_popcountl(l) == 63 && __builtin_ctzl(l) == 1 && __builtin_popcount(l) == 31);",
        "__builtin_clz(u >> 4) == 5",
    ),
    (
        "#define name(x) _Generic((x), int: 1, unsigned: 2, char *: 3, struct p: 4, default: 5)
         #define only(x) _Generic((x), int *: 1, long: 2)
         struct p { int x; } p; short s; char c[2]; long l; int g;",
        "check(name(1) == 1 && name(2u) == 2 && name(p) == 4 && name(s) == 5 && name(s + s) == 1);
         check(only(&g) == 1 && only(l) == 2);",
        "name(1u + 1) == 1",
    ),
    (
        "int old(a, c, q) int a, *q; char c; { *q = c; return a + c; }
         none() { return 4; }",
        "int r; check(old(1, 300, &r) == 45 && r == 44 && none() == 4);",
        "old(1, 300, &r) == 301",
    ),
    (
        "#include <stdarg.h>\n#include <stdio.h>
         int g; void say(const char *f, ...) { va_list l; va_start(l, f); vprintf(f, l); va_end(l); g++; }",
        "say(\"%d\", 1); say(\"%d %d\", 2, 3); check(g == 2);",
        "g == 1",
    ),
    (
        "#include <string.h>\nchar a[8], b[8];",
        "strcpy(a, \"hello\"); strcpy(b, a); check(b[4] == 'o' && b[5] == 0);
         check(strlen(b) == 5 && strcmp(a, b) == 0 && strchr(b, 'l') == b + 2);",
        "strcmp(a, \"help\") == 0",
    ),
    (
        "#include <string.h>\nint a[5] = { 1, 2, 3, 4, 5 };",
        "memmove(a + 1, a, 3 * sizeof(int)); check(a[1] == 1 && a[2] == 2 && a[3] == 3);",
        "a[2] == 1",
    ),
    (
        "#include <string.h>\nunsigned char c[3]; int n[2]; struct { int k; char t; } s = { 4, 5 };",
        "memset(c, 0xab, sizeof c); check(c[2] == 0xab); memset(n, -1, sizeof n);
         check(n[1] == -1); memset(&s, 0, sizeof s); check(s.k == 0 && s.t == 0);",
        "n[0] == 255",
    ),
    (
        "struct m { int id; char tag; long v[2]; } a = { 1, 'x', { 10, 20 } }, b;",
        "__builtin_memcpy(&b, &a, sizeof(struct m)); check(b.tag == 'x' && b.v[1] == 20);",
        "b.v[0] == 20",
    ),
    (
        "typedef struct { int x, y; } point;
         point make(int x, int y) { return (point){ .y = y, .x = x }; }
         point add(point a, point b) { point r = { a.x + b.x, a.y + b.y }; return r; }",
        "point p = make(1, 2), q = make(3, 4), r = add(p, q); check(r.x == 4 && r.y == 6);
         check(add(r, make(1, 1)).y == 7); point t = r.x > 3 ? p : q; check(t.x == 1);",
        "make(5, 6).x == 6",
    ),
    (
        "int m[3][3]; int sum(int (*a)[3]) { int t = 0;
           for (int i = 0; i < 3; i++) t += a[i][i]; return t; }",
        "for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) m[i][j] = 3 * i + j;
         check(sum(m) == 12 && *(*(m + 2) + 1) == 7); int *row = m[1]; check(row[2] == 5);",
        "m[1][2] == m[2][1]",
    ),
    (
        "struct ops { int (*op)(int, int); const char *name; };
         int add(int a, int b) { return a + b; } int sub(int a, int b) { return a - b; }
         const struct ops table[] = { { add, \"add\" }, { .op = sub, .name = \"sub\" } };
         const struct ops *use = &table[1];",
        "int r = 0; for (int i = 0; i < 2; i++) r += table[i].op(7, 2); check(r == 14);
         check(use->op(5, 1) == 4); check(use->name[0] == 's');",
        "use->op(5, 1) == 6",
    ),
    (
        "int sum(const int *a, int n) { int s = 0; while (n--) s += a[n]; return s; }
         struct p { int x, y; }; int far(const struct p *q) { return q->x + q->y; }",
        "check(sum((int[]){ 1, 2, 3 }, 3) == 6); check(far(&(struct p){ 3, 4 }) == 7);",
        "far(&(struct p){ .y = 4 }) == 7",
    ),
    (
        "int rng[6] = { [1 ... 3] = 7, [5] = 1 };
         struct cfg { int a; struct { int lo, hi; } r; int t[4]; }
           c = { .r = { .hi = 9 }, .t = { [2] = 5, 6 }, .a = 1 };",
        "check(rng[0] == 0 && rng[3] == 7 && rng[4] == 0 && rng[5] == 1);
         check(c.r.hi == 9 && c.t[2] == 5 && c.t[3] == 6 && c.a == 1);",
        "rng[2] == 0",
    ),
    (
        "#include <stddef.h>
         struct list { struct list *next; }; struct item { int v; struct list l; } a = { 1 }, b = { 2 };
         #define container_of(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))",
        "a.l.next = &b.l; struct item *i = container_of(a.l.next, struct item, l);
         check(i->v == 2 && i == &b); check(offsetof(struct item, l) == 8);",
        "i->v == 1",
    ),
    (
        "struct node { int v; struct node *next; };
         void insert(struct node **at, struct node *n) {
           while (*at && (*at)->v < n->v) at = &(*at)->next; n->next = *at; *at = n; }
         struct node a = { 1 }, b = { 2 }, d = { 3 }; struct node *head;",
        "insert(&head, &b); insert(&head, &d); insert(&head, &a);
         check(head == &a && head->next == &b && head->next->next == &d);",
        "head == &b",
    ),
    (
        "struct node { int v; struct node *next; };",
        "struct node *h = 0; for (int i = 0; i < 4; i++) {
           struct node *n = malloc(sizeof *n); n->v = i; n->next = h; h = n; }
         int s = 0; for (struct node *q = h; q; q = q->next) s += q->v; check(s == 6);",
        "h->v == 0",
    ),
    (
        "int duff(int n) { int c = 0, k = (n + 3) / 4;
           switch (n % 4) { case 0: do { c++; case 3: c++; case 2: c++; case 1: c++; }
             while (--k > 0); } return c; }",
        "check(duff(6) == 6); int x = 2; switch (x) { int y; case 2: y = 4; x += y; }
         check(x == 6);",
        "duff(5) == 6",
    ),
    (
        "#include <stdint.h>\nuint8_t head;",
        "head = 250; for (int i = 0; i < 10; i++) head++; check(head == 4);
         check(INT64_C(1) << 40 == 1099511627776);",
        "head == 260",
    ),
    (
        "typedef unsigned int byte __attribute__((mode(QI)));",
        "byte x = 300; check(x == 44 && sizeof x == 1);",
        "x == 300",
    ),
    (
        "",
        "const char *q = \"a\\x41\\n\"; check(q[1] == 'A' && q[2] == 10 && q[3] == 0);
         char s[] = \"xyz\"; s[0]++; check(s[0] == 'y' && sizeof s == 4);",
        "q[1] == 'a'",
    ),
];

#[test]
fn programs_compute_what_c_says() {
    for (declarations, body, wrong) in PROGRAMS {
        let text = format!("{declarations}\nint main(void) {{ {body} return 0; }}\n");
        assert_eq!(found(&text), "holds", "{text}");
        let twin =
            format!("{declarations}\nint main(void) {{ {body} check({wrong}); return 0; }}\n");
        assert_eq!(found(&twin), "violated: reach_error is called", "{twin}");
    }
}

/// The compiler agrees: run without arguments a program holds, with one it is its twin.
#[test]
fn the_compiler_agrees() {
    let folder = tempfile::tempdir().expect("a folder for the programs");
    let (source, binary) = (folder.path().join("p.c"), folder.path().join("p"));
    for (declarations, body, wrong) in PROGRAMS {
        let text = format!(
            "#include <stdlib.h>\nvoid check(int c) {{ if (!c) exit(7); }}\n{declarations}\n\
             int main(int twin, char **unused) {{ {body} if (twin > 1) check({wrong}); return 0; }}\n"
        );
        std::fs::write(&source, &text).expect("written");
        let mut compiler = c_support::compiler();
        let compiler = compiler.args(["-std=gnu11", "-w", "-o"]);
        let built = compiler.arg(&binary).arg(&source).status();
        assert!(built.expect("the compiler runs").success(), "{text}");
        for (twin, code) in [(None, 0), (Some("twin"), 7)] {
            let run = std::process::Command::new(&binary).args(twin).output();
            assert_eq!(run.expect("runs").status.code(), Some(code), "{text}");
        }
    }
}

/// Memory seen as something else than it is: never a verdict.
#[test]
fn memory_of_another_type_is_no_verdict() {
    let moved = "unsupported: arithmetic on a pointer into memory whose layout is not known";
    let other = "unsupported: a pointer to something else than an object of its type";
    for (text, wanted) in [
        (
            "int a[8]; int main(void) { a[1] = 5; int *p = (int *)((char *)a + 4); check(*p == 5); }",
            "holds",
        ),
        (
            "long a[4]; int main(void) { int *p = (int *)a; p += 2; check(*(long *)p == 0); }",
            "holds",
        ),
        (
            "int a[4]; int main(void) { check((char *)&a[2] - (char *)a == 8); }",
            "holds",
        ),
        (
            "struct u { char c; int i : 3; int k; } __attribute__((packed)); struct s { struct u m; int i; } v;
             int main(void) { check((char *)&v.i - (char *)&v == 40); }",
            moved,
        ),
        (
            "struct __attribute__((packed)) s { char c; int i; } v;
             int main(void) { check((char *)&v.i - (char *)&v == 1); }",
            "holds",
        ),
        (
            "int a[4]; int main(void) { int *p = (int *)((char *)a + 2); check(*p == 0); }",
            other,
        ),
        (
            "int main(void) { int x = 1; int *q = &x; char c = *(char *)q; check(c == 1); }",
            "holds",
        ),
        (
            "struct a { short s; int i, j; } v; struct b { char c; short t; int k; };
             int main(void) { v.i = 1; struct b *p = (struct b *)&v; check(p->k == 1); }",
            other,
        ),
        // The first member of a struct is at its address.
        (
            "struct b { int k; }; struct d { struct b b; int m; } v;
             int main(void) { v.b.k = 1; struct b *p = (struct b *)&v; check(p->k == 1);
               struct d *q = (struct d *)p; q->m = 2; check(v.m == 2); }",
            "holds",
        ),
        (
            "int a[4]; void *g; int main(void) { g = &a[1]; int *p = g; check(&p[2] == &a[3]); }",
            "holds",
        ),
    ] {
        assert_eq!(found(&format!("{text}\n")), wanted, "{text}");
    }
}

/// What would change the program's meaning if it were skipped.
#[test]
fn attributes_with_a_meaning_are_refused() {
    for (text, what) in [
        (
            "void f(int *p); int main(void) { int x __attribute__((cleanup(f))) = 3; return x; }",
            "the attribute `cleanup`",
        ),
        (
            "int g; __attribute__((__constructor__)) void f(void) { g = 1; } int main(void) {}",
            "the attribute `constructor`",
        ),
        (
            "struct s { char c; int i; } __attribute__((ms_struct)); int main(void) { return sizeof(struct s); }",
            "the size of this type",
        ),
        ("#pragma pack(1)\nint main(void) {}", "`#pragma pack`"),
        (
            "struct p { int a, b; }; _Atomic struct p s; int main(void) { struct p t = { 1, 2 }; s = t; }",
            "an atomic struct",
        ),
        (
            "int *_Atomic p; int main(void) { __atomic_fetch_add(&p, 4, 5); }",
            "atomic arithmetic on a pointer (C11 counts objects, gcc bytes)",
        ),
    ] {
        let found = found(&format!("{text}\n"));
        assert_eq!(
            found,
            format!("error: line 1: unsupported: {what}"),
            "{text}"
        );
    }
}

fn errors(text: &str) -> Vec<String> {
    let source = Source::new("test.c", text.to_owned());
    let found = c::parse(Path::new("test.c"), &source, &Options::default());
    let diagnostics = found.expect_err("the file has errors");
    let line = |d: &palisade_frontend::Diagnostic| diagnostics.source.position(d.span.start).line;
    let words = diagnostics
        .items
        .iter()
        .map(|d| format!("{}: {}", line(d), d.message));
    words.collect()
}

#[test]
fn errors_are_told_together() {
    let text = "double pi;\nint g;\nint f(int n) {\n  _Complex double d = 1;\n  d = d + n;\n\
        \x20 return n;\n}\nint main(void) {\n  f(1);\n  f(2);\n  g = unknown + 1;\n}\n";
    assert_eq!(
        errors(text),
        [
            "4: unsupported: the type floating point",
            "11: `unknown` is not declared, or has no definition here",
        ]
    );
    let text = "int f(void) { return 1 + ; }\nint g(void) { x y; return 2; }\nint h = ;\nint main(void) {}\n";
    assert_eq!(
        errors(text),
        [
            "1: expected an expression, found `;`",
            "2: expected `;`, found `y`",
            "3: expected an expression, found `;`",
        ]
    );
    let many: Vec<String> = (0..40).map(|k| format!("v{k} = 1;\n")).collect();
    let many = many.concat();
    assert_eq!(errors(&format!("int main(void) {{\n{many}}}\n")).len(), 20);
}
