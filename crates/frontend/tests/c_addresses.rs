//! Integers that carry addresses: tag bits, copies, words that are pointers or numbers. Random functions compute
//! what the compiled ones do; what depends on where objects lie is not followed.
//!
//! `PALISADE_SOAK=n` runs n programs, from `PALISADE_FIRST` on.

use crate::c_support;

use std::fmt::Write;

use c_support::{check_all, compare_with_compiler};
use palisade_program::random::Rng;

const HEAD: &str = "typedef unsigned long word; struct node { long value; struct node *next; } n[3]; char bytes[3];
int g(int x) { return x; } struct node *top; void *anything; word number;
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *); int pthread_join(pthread_t, void **);
";

#[test]
fn tags_and_copies() {
    for (body, wanted) in [
        (
            "word w = (word)&n[1] | 1; check((w & 1) && ((struct node *)(w & ~1ul)) == &n[1]);",
            "holds",
        ),
        ("word w = (word)&n[1] | 1; check((w & 3) == 3);", "violated"),
        (
            "n[2].value = 4; word w = (word)&n[2] + 2; check(((struct node *)(w ^ 2))->value == 4);",
            "holds",
        ),
        (
            "long w = (long)&n[0]; w += 16; check((struct node *)w == &n[1] && w % 8 == 0);",
            "holds",
        ),
        (
            "top = (struct node *)((word)n | 1); check(top != n && (word)top != 0 && (word)top > 4);",
            "holds",
        ),
        // A pointer's bits by another name.
        (
            "top = &n[1]; word w = *(word *)&top; check(w == (word)&n[1]); *(word *)&top = (word)&n[2]; check(top == &n[2]);",
            "holds",
        ),
        (
            "number = (word)&n[1]; check(*(struct node **)&number == &n[1] && number != (word)n);",
            "holds",
        ),
        (
            "union { struct node *p; word w; } u; u.p = n; u.w |= 1; check((struct node *)(u.w & -2) == n && u.p != n);",
            "holds",
        ),
        (
            "union { struct node *p; word w; } u = { .w = 0 }; check(!u.p); u.p = n; check(u.w == 0);",
            "violated",
        ),
        (
            "void *p = &top, *q = &anything; top = &n[1]; memcpy(q, p, 8); check(anything == &n[1]);",
            "holds",
        ),
        (
            "struct node m; n[1].value = 3; char *p = (char *)&m, *q = (char *)&n[1]; memcpy(p, q, sizeof(m)); check(m.value == 3);",
            "holds",
        ),
        (
            "struct slot { void *value; } ring[2]; void *got; ring[1].value = n; memcpy((void *)&got, (char *)ring + 8, sizeof(void *)); check(got == n);",
            "holds",
        ),
        (
            "int x = 0x01020304, y = 0; char b[4] = {0}; void *to = b; memcpy(to, &x, 4); check(b[0] == 4 && b[3] == 1); b[1] = 9; memcpy(&y, b, 4); check(y == 0x01020904);",
            "holds",
        ),
        (
            "int x = 0x01020304; char b[4] = {0}; void *to = b; memcpy(to, &x, 4); check(b[0] == 1);",
            "violated",
        ),
        // Null and small numbers are what they are.
        (
            "word w = (word)top; check(w == 0 && w * 3 == 0 && w >> 1 == 0);",
            "holds",
        ),
        (
            "top = (struct node *)7; word w = (word)top; check(w * 3 == 21);",
            "holds",
        ),
    ] {
        let text = format!("{HEAD}int main(void) {{ {body} }}\n");
        check_all(&[(&text, wanted)]);
    }
}

/// What depends on where objects lie is not followed.
#[test]
fn addresses_are_no_numbers() {
    let unknown = "unsupported: an address is used as a number";
    for (body, wanted) in [
        ("word w = (word)n; check((w >> 4) % 7 == 3);", unknown),
        ("word w = (word)n; check(w * 2 != 8);", unknown),
        ("word w = (word)&n[1]; check(-w != 9);", unknown),
        ("word w = (word)&n[1]; check(~w != 9);", unknown),
        ("word w = (word)n; check((int)w != 8);", unknown),
        ("word w = (word)n; check((w & 0xff0) != 8);", unknown),
        ("word w = (word)n; check((w | 32) != w);", unknown),
        ("word w = (word)n; check(w != 123456789012);", unknown),
        (
            "word w = (word)n; check(w < (word)&top); check(w != 5);",
            unknown,
        ),
        ("word w = (word)n - (word)&top; check(w);", unknown),
        (
            "word w = (word)n; check(w + 100000 != (word)&top);",
            unknown,
        ),
        // A character stands anywhere.
        ("word w = (word)&bytes[1]; check((w & 1) == 1);", unknown),
        (
            "number = (word)n; check(__builtin_popcountl(number) != 3);",
            unknown,
        ),
        (
            "word w = (word)g; check((w & 1) == 0);",
            "unsupported: a tag on the address of a function",
        ),
        (
            "word w = number; if (top) w = (word)top; number = 5000000; w = number; check(*(struct node **)w != 0);",
            "unsupported: a large number becomes a pointer",
        ),
    ] {
        let text = format!("{HEAD}int main(void) {{ {body} }}\n");
        check_all(&[(&text, wanted)]);
    }
}

/// A marked pointer as in lists of Harris, handed over between threads.
#[test]
fn threads_pass_marked_pointers() {
    let program = |by: &str, cond: &str| {
        format!(
            "{HEAD}void *f(void *p) {{ struct node *old = top; __atomic_compare_exchange_n(&top, &old, {by}, 0, 5, 5); return 0; }}
            int main(void) {{ pthread_t t; n[1].value = 1; n[2].value = 2; top = &n[1]; pthread_create(&t, 0, f, 0);
            word w = (word)top; struct node *p = (struct node *)(w & ~1ul); check({cond}); pthread_join(t, 0); }}\n"
        )
    };
    let marked = "(struct node *)((word)&n[2] | 1)";
    check_all(&[
        (&program(marked, "p->value == 1 + (long)(w & 1)"), "holds"),
        (&program(marked, "p->value == 1"), "violated"),
        (
            &program("&n[2]", "p->value == 1 + (long)(w & 1)"),
            "violated",
        ),
    ]);
}

/// Random functions.
struct Random(Rng);

impl Random {
    fn function(&mut self) -> String {
        let mut text = "unsigned f(int i) { struct node m[3]; struct node *p = m, *q = m; word u = 0, v = (word)&m[1], a[2];
  unsigned r = 0; for (int k = 0; k < 3; k++) { m[k].value = k + 1; m[k].next = &m[2 - k]; } a[0] = (word)m; a[1] = 3;\n"
            .to_owned();
        for _ in 0..8 {
            let tag = 1 + self.0.below(7);
            let number = ["u", "v", "a[0]", "a[i & 1]"][self.0.below(4)];
            let other = ["u", "v", "a[0]"][self.0.below(3)];
            let pointer =
                ["p", "q", "m[i].next", "p->next"][self.0.below(if tag > 3 { 4 } else { 2 })];
            let clean = |w: &str| format!("((struct node *)({w} & ~7ul))");
            let statement = match self.0.below(10) {
                0 => format!("{number} = (word){pointer} | {tag};"),
                1 => format!("{number} = {other} ^ {tag};"),
                2 => format!("{number} = {other} & ~{tag}ul;"),
                3 => format!("r = r * 3 + ({other} & {tag});"),
                4 => format!("if ({other} & ~7ul) p = {};", clean(other)),
                5 => format!("r = r * 3 + ({number} == {other}) + 2 * ({other} < {tag});"),
                6 => format!("p = &m[{}]; q = p->next;", self.0.below(3)),
                7 => format!("*(word *)&{pointer} = (word)&m[{}];", self.0.below(3)),
                8 => format!("{number} = *(word *)&q; {number} += {tag}; {number} -= {tag};"),
                _ => "r = r * 3 + p->value + (p == q);".to_owned(),
            };
            let _ = writeln!(text, "  {statement}");
        }
        for w in ["u", "v", "a[0]", "a[1]"] {
            let _ = writeln!(
                text,
                "  r = r * 5 + ({w} & 7); if ({w} > 7) r = r * 5 + ((struct node *)({w} & ~7ul))->value;"
            );
        }
        text.push_str("  return r * 7 + p->value * 3 + q->value; }\n");
        text
    }
}

#[test]
fn random_functions_compute_what_the_compiler_computes() {
    let head = "typedef unsigned long word; struct node { long value; struct node *next; };";
    compare_with_compiler(head, 40, |seed| {
        (String::new(), Random(Rng::new(seed)).function())
    });
}
