//! The language of C, construct by construct: each program asserts what C says it
//! computes. A program that must hold has a wrong twin in the same table.

use crate::c_support;

use palisade_frontend::c::{DataModel, Options};
use palisade_program::Model;

fn found(text: &str) -> String {
    c_support::verdict(text, Model::Sc)
}

/// Bodies of `main` that hold, each with a condition that does not.
fn bodies(all: &[(&str, &str)], options: &Options) {
    for (body, wrong) in all {
        let text = format!("int g; int *p; int main(void) {{ {body} }}\n");
        let found = c_support::verdict_with(&text, Model::Sc, options);
        assert_eq!(found, "holds", "{text}");
        let twin = format!("int g; int *p; int main(void) {{ {body} check({wrong}); }}\n");
        let found = c_support::verdict_with(&twin, Model::Sc, options);
        assert_eq!(found, "violated: reach_error is called", "{twin}");
    }
}

#[test]
fn integers() {
    bodies(
        &[
            (
                "unsigned x = 0; check(x - 1 == 4294967295u); check(0u - 1 > 0);",
                "0u - 1 < 0",
            ),
            ("unsigned char c = 255; c++; check(c == 0);", "c == 256"),
            ("signed char c = 127; c++; check(c == -128);", "c == 128"),
            ("char c = 200; check(c == -56); check(c < 0);", "c == 200"),
            ("unsigned short s = 70000; check(s == 4464);", "s == 70000"),
            (
                "g = -7; check(g / 2 == -3); check(g % 2 == -1);",
                "g / 2 == -4",
            ),
            (
                "g = 7; check(g / -2 == -3); check(g % -2 == 1);",
                "g % -2 == -1",
            ),
            (
                "g = -1; check((unsigned)g > 5); check(g < 5u == 0);",
                "g < 5u",
            ),
            (
                "g = -8; check(g >> 1 == -4); check((unsigned)g >> 28 == 15);",
                "g >> 1 > 0",
            ),
            ("check((1u << ('a' & 7)) == 2);", "(1u << ('a' & 7)) == 128"),
            (
                "g = 3; check(1 << g == 8); check((g ^ 5) == 6); check(~g == -4);",
                "~g == 4",
            ),
            ("g = 2147483647; g++; check(g == -2147483647 - 1);", "g > 0"),
            ("_Bool b = 256; check(b == 1); b = 0; check(!b);", "b"),
            (
                "long l = 1; l <<= 40; check(l == 1099511627776L); g = l; check(g == 0);",
                "l == 0",
            ),
            (
                "unsigned long u = -1; check(u > 9223372036854775807UL);",
                "u < 5",
            ),
            (
                "enum { A, B = 7, C }; check(A == 0 && B == 7 && C == 8);",
                "C == 2",
            ),
            (
                "check(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(void *) == 8);",
                "sizeof(long) == 4",
            ),
            (
                "g = 5; int x = g++ + 1; check(x == 6 && g == 6); x = --g; check(x == 5);",
                "x == 6",
            ),
            (
                "g = 4; g += 3; g *= 2; g -= 1; g /= 2; g %= 4; check(g == 2);",
                "g == 6",
            ),
            (
                "g = 0; int x = g ? 1 : 2; check(x == 2); x = g ?: 9; check(x == 9);",
                "x == 2",
            ),
            ("g = 1; check((g = 5, g + 1) == 6);", "g == 1"),
            (
                "g = 6; check(((1 ? 0x7fffffff : 0x80000000) + g >= g) == 1);",
                "(1 ? -1 : 0u) < 0",
            ),
            (
                "check(-1 > 0u); int a[-1 > 0u ? 2 : 1]; check(sizeof(a) == 8);",
                "sizeof(a) == 4",
            ),
            (
                "g = -1; int x = 0; switch (g) { case 0xffffffff: x = 1; } check(x);",
                "x == 0",
            ),
            (
                "g = 0; 0 && (g = 1); 1 || (g = 2); check(g == 0);",
                "g == 1",
            ),
        ],
        &Options::default(),
    );
}

#[test]
fn the_data_model_decides_the_width_of_long() {
    let small = Options {
        data_model: DataModel::Ilp32,
        ..Options::default()
    };
    bodies(
        &[
            (
                "check(sizeof(long) == 4 && sizeof(void *) == 4);",
                "sizeof(long) == 8",
            ),
            ("long l = 2147483647; l++; check(l < 0);", "l > 0"),
            (
                "unsigned long u = 0; u--; check(u == 4294967295u);",
                "u > 4294967295u",
            ),
            ("long long w = 2147483647; w++; check(w > 0);", "w < 0"),
        ],
        &small,
    );
}

#[test]
fn mathematical_integers_are_a_choice() {
    let math = Options {
        math: true,
        ..Options::default()
    };
    bodies(&[("g = 2147483647; g++; check(g > 0);", "g < 0")], &math);
}

#[test]
fn overflow_is_a_violation_on_request() {
    let checked = Options {
        check_overflow: true,
        ..Options::default()
    };
    let of = |body: &str| {
        let text = format!("int g; unsigned u; int main(void) {{ {body} }}");
        c_support::verdict_with(&text, Model::Sc, &checked)
    };
    assert_eq!(of("g = 2147483647; g++;"), "violated: signed overflow");
    assert_eq!(of("g = 2147483646; g++;"), "holds");
    assert_eq!(of("u = 4294967295u; u++;"), "holds");
    assert_eq!(of("short s = 32767; s++;"), "holds");
    assert_eq!(
        of("g = -2147483647 - 1; g = -g;"),
        "violated: signed overflow"
    );
}

#[test]
fn control_flow() {
    bodies(
        &[
            (
                "int x = 0; switch (2) { case 1: x += 1; case 2: x += 2; case 3: x += 4; break; default: x += 8; } check(x == 6);",
                "x == 2",
            ),
            (
                "g = 1; int x = 5; switch (g) { case 1: x = 7; case 2: g = x; } check(g == 7);",
                "g == 5",
            ),
            (
                "g = 9; int x = 0; switch (g) { case 1 ... 5: x = 1; break; case 6 ... 10: x = 2; } check(x == 2);",
                "x == 1",
            ),
            (
                "int x = 0; for (int i = 0; i < 5; i++) { if (i == 1) continue; if (i == 4) break; x += i; } check(x == 5);",
                "x == 10",
            ),
            ("int x = 0; do x++; while (x < 3); check(x == 3);", "x == 0"),
            (
                "int x = 0; again: x++; if (x < 4) goto again; check(x == 4);",
                "x == 1",
            ),
            (
                "int z = 7, n = 0; g = 1; if (g) goto in; z = 5; while (n < 1) { in: n++; } check(z == 7);",
                "z == 5",
            ),
            (
                "g = 3; int x = 0; switch (g & 3) { do { case 0: x++; case 3: x++; case 2: x++; } while (x < 5); } check(x == 5);",
                "x == 2",
            ),
            ("int x = ({ int y = 3; y + 1; }); check(x == 4);", "x == 3"),
        ],
        &Options::default(),
    );
}

#[test]
fn functions() {
    let text = "int f(int a) { return a + 1; } int h(int a) { return a * 2; }
        int (*table[2])(int) = { f, h };
        int twice(int (*f)(int), int x) { return f(f(x)); }
        int count(void) { static int n = 3; return n++; }
        struct pair { int a, b; };
        struct pair swap(struct pair p) { struct pair q = { p.b, p.a }; return q; }
        int k;
        int main(void) {
          k = 1;
          check(twice(f, 5) == 7); check(twice(&h, 3) == 12);
          check(table[k](4) == 8);
          count(); check(count() == 4);
          struct pair p = { 1, 2 }; p = swap(p); check(p.a == 2 && p.b == 1);
          WRONG
        }\n";
    assert_eq!(found(&text.replace("WRONG", "")), "holds");
    let twin = text.replace("WRONG", "check(count() == 4);");
    assert_eq!(found(&twin), "violated: reach_error is called");
}

#[test]
fn recursion_is_followed_so_far() {
    let text = "int f(int n) { return n ? n * f(n - 1) : 1; }
        int g(int n) { return n == 0 ? 1 : 1 + g(n); }
        int main(void) { check(f(4) == CHECKED); return 0; }\n";
    assert_eq!(found(&text.replace("CHECKED", "24")), "holds");
    let twin = text.replace("CHECKED", "25");
    assert_eq!(found(&twin), "violated: reach_error is called");
    let endless = text.replace("CHECKED", "24 + g(1)");
    assert_eq!(found(&endless), "unsupported: recursion of `g` this deep");
}

#[test]
fn pointers_and_aliases() {
    bodies(
        &[
            (
                "int x = 1, y = 2; int *q = &x; *q = 5; q = &y; *q += 1; check(x == 5 && y == 3);",
                "x == 1",
            ),
            (
                "int a[4] = {1, 2, 3}; int *q = a + 1; check(q[1] == 3 && *(q + 2) == 0 && &a[3] - q == 2);",
                "*q == 1",
            ),
            (
                "struct { int a; struct { int b[2]; } s; } v = { 1, { { 2, 3 } } }; int *q = &v.s.b[1]; *q = 9; check(v.s.b[1] == 9 && v.a == 1);",
                "v.s.b[1] == 3",
            ),
            (
                "int x = 1; int *q = &x; int **r = &q; **r = 4; check(x == 4);",
                "x == 1",
            ),
            (
                "p = malloc(sizeof(int)); *p = 3; int *q = p; *q += 1; check(*p == 4);",
                "*p == 3",
            ),
            (
                "int x = 3, y = 4; g = 1; int *q = g ? &x : &y; *q = 0; check(x == 0 && y == 4);",
                "y == 0",
            ),
            (
                "union { int i; unsigned char c[4]; } u; u.i = 5; check(u.i == 5);",
                "u.i == 4",
            ),
            (
                "int n = 3; int a[n]; a[2] = 7; check(a[2] == 7);",
                "a[2] == 0",
            ),
        ],
        &Options::default(),
    );
}

#[test]
fn wrong_accesses_are_violations() {
    for (body, words) in [
        (
            "int a[3]; int i = 3; a[i] = 1;",
            "violated: array index out of range",
        ),
        ("g = 5; t[g - 6] = 1;", "violated: array index out of range"),
        ("p = 0; *p = 1;", "violated: null pointer dereference"),
        ("g = 0; g = 5 / g;", "violated: division by zero"),
        (
            "g = 40; g = 1 << g;",
            "violated: shift by more than the width",
        ),
    ] {
        let text = format!("int g; int t[4]; int *p; int main(void) {{ {body} }}\n");
        let found = found(&text);
        assert!(found.starts_with(words), "{found}\n{text}");
    }
}

/// What the front end does not support is an error at its place, or makes the verdict
/// unknown where a run gets there; never a guess.
#[test]
fn unsupported_constructs() {
    for (text, words) in [
        (
            "extern double __VERIFIER_nondet_double(void);\nint main(void) {\n  return __VERIFIER_nondet_double() * 3 > 1;\n}",
            "unsupported: a value that depends on floating point",
        ),
        (
            "int x; int main(void) {\n  unknown_function(&x);\n}",
            "unsupported: call of `unknown_function`",
        ),
        (
            "union { int b : 3; } s;\nint main(void) { s.b = 1; }",
            "error: line 1: unsupported: the bit-field `b`",
        ),
        (
            "int main(void) {\n  asm(\"cpuid\");\n}",
            "error: line 2: unsupported: assembler `cpuid`",
        ),
        (
            "union { int i; char c[4]; } u;\nvoid *f(void *a) { u.c[0] = 1; return 0; }\nint main(void) { pthread_t t; pthread_create(&t, 0, f, 0); u.c[1] = 1; check(u.i >= 0); }",
            "unsupported: a part of an integer in shared memory",
        ),
        (
            "int n; int *p;\nint main(void) { n = 40; p = malloc(n * sizeof(int)); }",
            "unsupported: an allocation of more than 8 elements whose size is no constant",
        ),
        (
            "int n;\nint main(void) { n = 40; int a[n]; a[0] = 1; }",
            "unsupported: an array of more than 8 elements whose length is no constant",
        ),
        (
            "int n;\nint main(void) { n = 4; int a[n][n]; a[0][0] = 1; }",
            "error: line 2: unsupported: an array whose length is no constant",
        ),
        (
            "char *s; int sscanf(const char *, const char *, ...);\nint main(void) { int x; sscanf(s, \"%s\", &x); }",
            "unsupported: this format of `sscanf`",
        ),
        (
            "int *p;\nint main(void) { p = malloc(sizeof(int)); check(*p == 0); }",
            "unknown: `heap` is read before anything was written to it",
        ),
        (
            "int x; long l;\nint main(void) { l = (long)&x >> 4; }",
            "unsupported: an address is used as a number",
        ),
        (
            "int x;\nint main(void) {\n  while (x < 5) { int *p = malloc(sizeof(int)); *p = x++; }\n}",
            "unsupported: more than 4 allocations of one call in a loop",
        ),
        (
            "int *h[6];\nint main(void) {\n  int i = 0;\nagain: h[i] = malloc(sizeof(int)); if (++i < 5) goto again;\n}",
            "unsupported: more than 4 allocations of one call in a loop",
        ),
    ] {
        let found = found(text);
        assert!(found.starts_with(words), "{found}\n{text}");
    }
}

/// What is not used is not looked at.
#[test]
fn unused_declarations_are_only_parsed() {
    let text = "__extension__ typedef struct { long long v[2]; } pair_t __attribute__((aligned(16)));
        typedef union { struct { unsigned a : 3, b : 5; } bits; unsigned char all; } bits_t;
        struct { union { int i; float f; }; unsigned : 0; unsigned low : 4; } unused;
        extern double sin(double) __attribute__((nothrow, leaf)) __asm__(\"_sin\");
        static inline __attribute__((always_inline)) int cpuid(int x) { int y; __asm__ volatile (\"cpuid\" : \"=a\"(y) : \"a\"(x)); return y; }
        extern __inline int half(double d) { return d / 2; }
        typedef __builtin_va_list va; typedef _Float128 wide; typedef __int128 big;
        enum __attribute__((packed)) e { P, Q = 1 << 3 };
        void never(void) { __auto_type x = 1.5; (void)x; }
        _Static_assert(sizeof(int) == 4, \"int\");
        int $dollar;
        int main(void) { $dollar = Q; check($dollar == 8); }\n";
    assert_eq!(found(text), "holds");
}

#[test]
fn threads() {
    let counter = "int x; pthread_mutex_t m; pthread_t t[3];
        void *add(void *by) { pthread_mutex_lock(&m); x += (long)by; pthread_mutex_unlock(&m); return by; }
        int main(void) {
          for (int i = 0; i < N; i++) pthread_create(&t[i], 0, add, (void *)(long)i);
          for (int i = 0; i < N; i++) { void *r; pthread_join(t[i], &r); check((long)r == i); }
          check(x == WANTED);
        }\n";
    let right = counter.replace('N', "3").replace("WA3TED", "3");
    assert_eq!(found(&right), "holds");
    let wrong = counter.replace('N', "3").replace("WA3TED", "2");
    assert_eq!(found(&wrong), "violated: reach_error is called");
}

/// A jump back makes a loop like any other: as many threads as it starts.
#[test]
fn threads_started_by_a_jump_back() {
    let text = "int x; void *f(void *a) { x++; check(x < 2); return 0; }
        int main(void) { pthread_t t; int i = 0;
        again: pthread_create(&t, 0, f, 0); i++; if (i < 2) goto again; }\n";
    assert_eq!(found(text), "violated: reach_error is called");
}

/// A bound in a variable that nothing writes is as good as a number.
#[test]
fn bounds_in_variables() {
    let text = "static int count = 2; int x; pthread_mutex_t m;
        void *f(void *a) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }
        int main(void) {
          pthread_t t[count];
          for (int i = 0; i < count; i++) pthread_create(&t[i], 0, f, 0);
          for (int i = 0; i < count; i++) pthread_join(t[i], 0);
          check(x == 2);
        }\n";
    assert_eq!(found(text), "holds");
    // Not so when some thread writes it.
    let text = text.replace("x++;", "x++; count = 2;");
    assert!(found(&text).starts_with("unsupported: "), "{text}");
}

#[test]
fn strings_and_copies() {
    let text = "void *memset(void *, int, size_t); void *memcpy(void *, const void *, size_t); char *strcpy(char *, const char *);
        struct s { int a, b[2]; } x = { 1, { 2, 3 } }, y; char text[8]; char *p;
        int main(void) {
          p = malloc(8); strcpy(p, \"Big\"); check(p[0] == 'B' && p[3] == 0);
          strcpy(text, \"ab\"); check(text[1] == 'b' && text[2] == 0);
          memcpy(&y, &x, sizeof(struct s)); check(y.b[1] == 3);
          memset(&x, 0, sizeof(x)); check(x.a == 0 && x.b[1] == 0);
          WRONG
        }\n";
    assert_eq!(found(&text.replace("WRONG", "")), "holds");
    let twin = text.replace("WRONG", "check(y.a == 0);");
    assert_eq!(found(&twin), "violated: reach_error is called");
}
