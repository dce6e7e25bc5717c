//! Objects lie at the bytes where the compiler puts them: distances, offsets, pointers that
//! are moved by bytes and seen as something else.

use crate::c_support;

use c_support::check_all;

const HEAD: &str = "struct hdr { char type; int len; } h, arr[2];
struct deep { long q; struct { char c; int lock; }; short z[3]; struct hdr hs[2]; } d[2];
union u { char c; long l; int i[3]; }; struct has { char c; union u u; char e; } k;
\n";

#[test]
fn distances_are_those_of_the_compiler() {
    let head = HEAD;
    for (cond, wanted) in [
        ("(char *)&h.len - &h.type == 4", "holds"),
        ("(char *)&h.len - &h.type == 1", "violated"),
        (
            "(char *)&arr[1] - (char *)&arr[0] == sizeof(struct hdr)",
            "holds",
        ),
        ("(char *)&arr[1].len - (char *)arr == 12", "holds"),
        ("&h.type + 1 == (char *)&h.len", "violated"),
        ("&h.type + 4 == (char *)&h.len", "holds"),
        ("(size_t)&((struct hdr *)0)->len == 4", "holds"),
        ("__builtin_offsetof(struct deep, lock) == 12", "holds"),
        ("(char *)&d[1].z[2] - (char *)d == 48 + 16 + 4", "violated"),
        ("(char *)&d[1].z[2] - (char *)d == 40 + 16 + 4", "holds"),
        ("&d[1].hs[1] - &d[1].hs[0] == 1", "holds"),
        ("(char *)&d[0].hs[1] - (char *)&d[0].hs[0] == 8", "holds"),
        ("(k.u.l = 1, (char *)&k.e - (char *)&k == 24)", "holds"),
        (
            "sizeof(struct has) == 32 && sizeof(struct deep) == 40",
            "holds",
        ),
        ("(void *)&h.len > (void *)&h.type", "holds"),
    ] {
        let text = format!("{head}int main(void) {{ check({cond}); }}\n");
        check_all(&[(&text, wanted)]);
    }
}

#[test]
fn from_members_to_structs_and_back() {
    let head = HEAD;
    let of = |p: &str, ty: &str, m: &str| {
        format!("((struct {ty} *)((char *)({p}) - __builtin_offsetof(struct {ty}, {m})))")
    };
    let anonymous = of("&d[1].lock", "deep", "lock");
    let nested = of("&d[0].hs[1].len", "hdr", "len");
    let wrong = of("&h.len", "hdr", "type");
    let other = "unsupported: a pointer to something else than an object of its type";
    for (body, wanted) in [
        (format!("check({anonymous} == &d[1]); {anonymous}->q = 5; check(d[1].q == 5);"), "holds"),
        (format!("check({anonymous} == &d[0]);"), "violated"),
        (format!("check({nested} == &d[0].hs[1]); {nested}->type = 1; check(d[0].hs[1].type);"), "holds"),
        (format!("check({wrong}->len == 0);"), "array index out of range: 0"),
        ("char *p = (char *)d; p += sizeof(struct deep); ((struct deep *)p)->q = 3; check(d[1].q == 3);".to_owned(), "holds"),
        ("char *p = &h.type; p++; *(int *)p = 1; check(h.len == 1);".to_owned(), other),
        ("char *p = &h.type; p += 4; *(int *)p = 1; check(h.len == 1);".to_owned(), "holds"),
        ("int a[4] = { 1, 2, 3, 4 }; int *p = a, s = 0; for (; p < a + 4; p++) s += *p; check(s == 10);".to_owned(), "holds"),
        ("int a[4] = { 1, 2, 3, 4 }; void *p = a; p += 8; check(*(int *)p == 3);".to_owned(), "holds"),
        ("int a[4] = { 1, 2, 3, 4 }; void *p = a; p += 6; check(*(int *)p == 3);".to_owned(), other),
        ("long a[2]; int *p = (int *)a; a[0] = a[1] = 0; check(*p == 0);".to_owned(), "holds"),
        ("long a[2]; int *p = (int *)a; a[0] = 1l << 33; check(p[1] == 2 && p[0] == 0);".to_owned(), "holds"),
        ("long a[2]; int *p = (int *)a; a[0] = 1l << 33; check(p[0] == 2);".to_owned(), "violated"),
        ("int a[2]; long *p = (long *)a; a[0] = a[1] = 0; check(*p == 0);".to_owned(), other),
    ] {
        let text = format!("{head}int main(void) {{ {body} }}\n");
        check_all(&[(&text, wanted)]);
    }
}

#[test]
fn layouts_that_are_not_known_are_unknown() {
    let unknown = "unsupported: arithmetic on a pointer into memory whose layout is not known";
    for (text, wanted) in [
        (
            "struct s { pthread_mutex_t m; char c; int i; } v; int main(void) { check((char *)&v.i - (char *)&v == 44); }",
            "holds",
        ),
        (
            "struct s { char a; pthread_mutex_t m; char b; } v; int main(void) { char *p = (char *)&v; p += 48; *p = 1; check(v.b == 1); }",
            "holds",
        ),
        (
            "struct u { char c; int i : 3; int k; } __attribute__((packed)); struct s { struct u m; char c; int i; } v; int main(void) { check((char *)&v.i - (char *)&v == 44); }",
            unknown,
        ),
        (
            "enum __attribute__((packed)) e { A, B = -200 }; enum f { C } __attribute__((packed)); enum g { D = -1, E = 0x80000000 };
             struct s { char c; enum e e; int i; } v;
             int main(void) { check(sizeof(enum e) == 2 && sizeof(enum f) == 1 && sizeof(enum g) == 8); check((char *)&v.e - &v.c == 2); }",
            "holds",
        ),
        // Between two members of one type, too.
        (
            "struct u { char c; int i : 3; int k; } __attribute__((packed)); struct s { char a; struct u m; char b; } v; int main(void) { check(&v.b - (char *)&v.a == 80); }",
            unknown,
        ),
        (
            "struct u { char c; int i : 3; int k; } __attribute__((packed)); struct s { char a; struct u m; char b; } v; int main(void) { char *p = (char *)&v; p += 80; *p = 1; check(v.b == 1); }",
            unknown,
        ),
        (
            "struct u { char c; int i : 3; int k; } __attribute__((packed)); struct s { struct u m; char b[4]; } v; int main(void) { void *g = &v.b[1]; char *p = g; p += 2; *p = 1; check(v.b[3] == 1 && p - v.b == 3); }",
            "holds",
        ),
        // Elements of an array of them are apart by whole objects all the same.
        (
            "struct u { char c; int i : 3; int k; } __attribute__((packed)); struct s { struct u m; int i; } v[3]; int main(void) { void *g = &v[1]; struct s *p = g; p++; p->i = 3; check(v[2].i == 3 && p - v == 2); }",
            "holds",
        ),
        (
            "int main(void) { check(sizeof(long double) == 16); check(sizeof(double) == 8); }",
            "holds",
        ),
    ] {
        check_all(&[(text, wanted)]);
    }
}

/// A pointer passed for a transparent union is the member of its type.
#[test]
fn transparent_unions() {
    let head = "typedef union { char *c; int *i; } __attribute__((__transparent_union__)) any;
        int x; static int read(any u) { return *u.i; } static void write(any u, int v) { *u.i = v; }\n";
    for (body, wanted) in [
        ("write(&x, 3); check(read(&x) == 3);", "holds"),
        ("write(&x, 3); check(x == 2);", "violated"),
        ("any u; u.i = &x; write(u, 4); check(x == 4);", "holds"),
        (
            "any u; u.i = &x; char *p = u.c; check(p == (char *)&x);",
            "holds",
        ),
        ("any u; u.i = &x; u.c = 0; check(u.i == &x);", "violated"),
    ] {
        let text = format!("{head}int main(void) {{ {body} }}\n");
        check_all(&[(&text, wanted)]);
    }
}

/// The texts of the arguments are there, and are not read.
#[test]
fn arguments_of_the_program() {
    let unknown = "unsupported: the text of an argument of the program";
    for (body, wanted) in [
        ("check(argc > 0);", "violated"),
        ("check(argv != 0);", "holds"),
        ("check(argv == 0);", "violated"),
        ("if (argc > 1) check(argv[1][0] == 'x');", unknown),
        ("check(argv[0] != 0);", unknown),
        ("char **p = argv; p++; check(*p != 0);", unknown),
        ("char **p = 0; check(*p == 0);", "null pointer dereference"),
        (
            "int x = 0, *p = argc > 5 ? &x : 0; check(*p == 0);",
            "null pointer dereference",
        ),
    ] {
        let text = format!("int main(int argc, char **argv) {{ {body} }}\n");
        check_all(&[(&text, wanted)]);
    }
}
