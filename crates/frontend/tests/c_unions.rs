//! Unions that are used in more than one way: members that are parts of the integers of another. Random programs
//! are compiled and run; what they compute must hold here, and anything else must be refuted.
//!
//! `PALISADE_SOAK=n` runs n programs, from `PALISADE_FIRST` on.

use crate::c_support;

use std::fmt::Write;

use c_support::{check_all, compare_with_compiler, verdict};
use palisade_program::random::Rng;

const HEAD: &str = "union word { unsigned w; unsigned short h[2]; unsigned char b[4]; struct { short lo; char c, d; } s; };
struct ref { union { unsigned long all; struct { unsigned lock; int count; }; }; int rest; } g;
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *); int pthread_join(pthread_t, void **);
";

#[test]
fn members_are_parts_of_each_other() {
    for (body, wanted) in [
        (
            "union word u; u.w = 0x04030201; check(u.b[0] == 1 && u.b[3] == 4 && u.h[1] == 0x403 && u.s.c == 3);",
            "holds",
        ),
        (
            "union word u; u.w = 0x04030201; check(u.b[0] == 4);",
            "violated",
        ),
        (
            "union word u = {0}; u.b[2] = 9; check(u.w == 0x90000 && u.s.d == 0);",
            "holds",
        ),
        (
            "union word u = {0}; u.s.lo = -1; check(u.w == 0xffff && u.h[0] == 65535 && u.s.lo == -1);",
            "holds",
        ),
        (
            "union word u = {0}, v; int i = 3; u.b[i] = 7; v = u; check(v.w == 7u << 24);",
            "holds",
        ),
        (
            "union word u = {0}; unsigned char *p = &u.b[1]; *p = 5; p++; *p = 6; check(u.w == 0x60500);",
            "holds",
        ),
        (
            "g.lock = 1; g.count = 2; check(g.all == 0x200000001ul && g.rest == 0);",
            "holds",
        ),
        (
            "struct ref *r = &g; r->count = 3; check(r->all >> 32 == 3 && r->lock == 0);",
            "holds",
        ),
        (
            "struct ref n = g; n.count++; check(n.all == 0x100000000ul && g.all == 0);",
            "holds",
        ),
        (
            "union word u = { .b = { 1, 2 } }; check(u.w == 0x201 && u.b[1]);",
            "error: unsupported: the initialiser of a union that is used in more than one way",
        ),
        // The order of evaluation matters, since the members overlap.
        (
            "union word u = {0}; int r = u.b[1] + (u.w = 256); check(r == 256);",
            "violated",
        ),
        (
            "union word u = {0}; int r = u.b[1] + (u.w = 256); check(r == 257);",
            "violated",
        ),
    ] {
        let text = format!("{HEAD}int main(void) {{ {body} }}\n");
        assert_eq!(verdict(&text), wanted, "{body}");
    }
}

#[test]
fn threads_load_parts_and_change_the_whole() {
    let add = "unsigned long old = g.all; struct ref n; do { n.all = old; n.count++; } while (!__atomic_compare_exchange_n(&g.all, &old, n.all, 0, 5, 5));";
    let main = "pthread_t t; pthread_create(&t, 0, f, 0); int seen = g.count; pthread_join(t, 0);";
    let program = |body: &str, cond: &str| {
        format!(
            "{HEAD}void *f(void *p) {{ {body} return 0; }}\nint main(void) {{ {main} check({cond}); }}\n"
        )
    };
    let right = program(add, "seen <= 1 && g.count == 1 && g.lock == 0");
    let wrong = program(add, "seen == 0");
    let plain = program("g.count = 1;", "g.all >> 32 == 1");
    check_all(&[
        (&right, "holds"),
        (&wrong, "violated"),
        // Buffers hold whole cells: a plain store of a part is not followed.
        (
            &plain,
            "unsupported: a part of an integer in shared memory here",
        ),
    ]);
}

/// Random functions.
struct Random(Rng);

impl Random {
    fn member(&mut self) -> String {
        let variable = ["x", "y", "(*p)", "a[1]", "a[i & 1]"][self.0.below(5)];
        let index = ["0", "1", "(i & 1)"][self.0.below(3)];
        match self.0.below(6) {
            0 => format!("{variable}.w"),
            1 => format!("{variable}.h[{index}]"),
            2 => format!("{variable}.b[{index} + 2]"),
            3 => format!("{variable}.s.lo"),
            4 => format!("{variable}.s.d"),
            _ => format!("{variable}.b[{index}]"),
        }
    }

    /// A function that returns a checksum.
    fn function(&mut self) -> String {
        let mut text = "unsigned f(int i) { union word x = {0}, y = {0}, a[2] = {0}, *p = &x; unsigned r = 0;\n".to_owned();
        for _ in 0..6 {
            let (to, from) = (self.member(), self.member());
            let number = self.0.below(70_000);
            let statement = match self.0.below(7) {
                0 => format!("{to} = {number};"),
                1 => format!("{to} = {from} + {number};"),
                2 => format!("{to} += {number};"),
                3 => format!("p = {};", ["&x", "&y", "a", "&a[i & 1]"][self.0.below(4)]),
                4 => format!(
                    "{} = {};",
                    ["x", "a[1]"][self.0.below(2)],
                    ["y", "a[0]", "*p"][self.0.below(3)]
                ),
                5 => format!("if ({from} > {number}) {to}++;"),
                _ => format!("r = r * 3 + {from};"),
            };
            let _ = writeln!(text, "  {statement}");
        }
        text.push_str("  return r + x.w + 3 * y.w + 5 * a[0].w + 7 * a[1].w; }\n");
        text
    }
}

#[test]
fn random_programs_compute_what_the_compiler_computes() {
    let words = HEAD.lines().next().unwrap_or_default();
    compare_with_compiler(words, 30, |seed| {
        (String::new(), Random(Rng::new(seed)).function())
    });
}
