//! Bit-fields: random structs with them are laid out and computed with as the compiler does it;
//! neighbours are one memory location.

use crate::c_support;

use std::fmt::Write;

use c_support::{check_all, compare_with_compiler, verdict};
use palisade_program::random::Rng;

const HEAD: &str = "struct flags { unsigned a : 1, b : 3; int c : 5; unsigned : 0; unsigned d : 4; } g;
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *); int pthread_join(pthread_t, void **);
";

#[test]
fn values_are_those_of_the_width() {
    for (body, wanted) in [
        (
            "g.b = 13; check(g.b == 5 && g.a == 0 && g.c == 0);",
            "holds",
        ),
        (
            "g.c = 17; check(g.c == -15); g.c--; check(g.c == -16);",
            "holds",
        ),
        ("g.c = 17; check(g.c == 17);", "violated"),
        // Promoted to int.
        (
            "check(g.a - 1 < 0); check(g.a-- == 0 && g.a == 1);",
            "holds",
        ),
        (
            "struct flags f = { 1, .c = -2, 9 }, *p = &f; p->d += 8; check(f.d == 1 && f.a && p->c == -2);",
            "holds",
        ),
        (
            "struct flags f[2] = {{ 0 }, { 1, 2 }}; int i = 1; f[i].b++; check(f[1].b == 3 && f[0].b == 0);",
            "holds",
        ),
        ("check((g.b = 9) == 1);", "holds"),
    ] {
        let text = format!("{HEAD}int main(void) {{ {body} }}\n");
        assert_eq!(verdict(&text), wanted, "{body}");
    }
}

#[test]
fn a_store_to_a_neighbour_may_be_lost() {
    let program = |one: &str, other: &str, cond: &str| {
        format!(
            "{HEAD}void *f(void *p) {{ g.{one} = 1; return 0; }}
            int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); g.{other} = 1; pthread_join(t, 0); check({cond}); }}\n"
        )
    };
    check_all(&[
        (&program("a", "b", "g.a && g.b"), "violated"),
        (&program("a", "b", "g.a || g.b"), "holds"),
        // A width of 0 stands between them.
        (&program("a", "d", "g.a && g.d"), "holds"),
    ]);
}

/// Random structs and functions.
struct Random(Rng);

impl Random {
    /// A member and its widest value.
    fn member(&mut self, k: usize) -> String {
        let types = [
            ("unsigned", 32),
            ("int", 32),
            ("unsigned char", 8),
            ("short", 16),
            ("unsigned short", 16),
            ("_Bool", 1),
        ];
        let (ty, widest) = types[self.0.below(types.len())];
        match self.0.below(6) {
            0 => format!("{ty} m{k}; "),
            1 => format!("{ty} : {}; {ty} m{k} : 1; ", self.0.below(widest + 1)),
            _ => format!("{ty} m{k} : {}; ", 1 + self.0.below(widest)),
        }
    }

    fn program(&mut self) -> (String, String) {
        let members = 2 + self.0.below(5);
        let mut record = "struct s_ { ".to_owned();
        for k in 0..members {
            record.push_str(&self.member(k));
        }
        record.push_str("};\n");
        let mut text = "unsigned f(int i) { struct s_ x = { 1, 2 }, y = {0}, a[2] = {0}, *p = &x; unsigned r = sizeof(x);\n".to_owned();
        for _ in 0..6 {
            let mut place = || {
                let variable = ["x", "y", "(*p)", "a[1]", "a[i & 1]"][self.0.below(5)];
                format!("{variable}.m{}", self.0.below(members))
            };
            let (to, from) = (place(), place());
            let number = self.0.below(70_000);
            let statement = match self.0.below(8) {
                0 => format!("{to} = {number};"),
                1 => format!("{to} = {from} + {number};"),
                2 => format!("{to} += {number};"),
                3 => format!("p = {};", ["&x", "&y", "a", "&a[i & 1]"][self.0.below(4)]),
                4 => format!(
                    "{} = {};",
                    ["x", "a[1]"][self.0.below(2)],
                    ["y", "*p"][self.0.below(2)]
                ),
                5 => format!("if ({from} - {} < 0) {to}++;", self.0.below(9)),
                6 => format!("r = r * 3 + ({to} = {from});"),
                _ => format!("r = r * 3 + {from}--;"),
            };
            let _ = writeln!(text, "  {statement}");
        }
        for variable in ["x", "y", "a[0]", "a[1]"] {
            for k in 0..members {
                let _ = writeln!(text, "  r = r * 5 + {variable}.m{k};");
            }
        }
        text.push_str("  return r; }\n");
        (record, text)
    }
}

#[test]
fn random_programs_compute_what_the_compiler_computes() {
    compare_with_compiler("", 30, |seed| Random(Rng::new(seed)).program());
}
