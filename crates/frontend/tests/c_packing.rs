//! Structs that are packed or aligned by attributes, or hold locks: random ones are laid out as the compiler does it.
//!
//! `PALISADE_SOAK=n` runs n programs, from `PALISADE_FIRST` on.

use crate::c_support;

use std::fmt::Write;

use c_support::{check_all, compare_with_compiler};
use palisade_program::random::Rng;

#[test]
fn attributes_say_where_members_stand() {
    let unknown = "unsupported: arithmetic on a pointer into memory whose layout is not known";
    for (head, cond, wanted) in [
        (
            "struct s { char c; int i __attribute__((aligned(16))); } v;",
            "(char *)&v.i - (char *)&v == 16 && sizeof(v) == 32",
            "holds",
        ),
        (
            "struct s { char c; _Alignas(8) char d; } v;",
            "&v.d - &v.c == 8",
            "holds",
        ),
        (
            "struct s { char c; int i __attribute__((aligned(16))); } v;",
            "(char *)&v.i - (char *)&v == 4",
            "violated",
        ),
        (
            "typedef int wide __attribute__((aligned(16))); struct s { char c; wide i; wide *p; } v;",
            "(char *)&v.i - &v.c == 16 && (char *)&v.p - &v.c == 24",
            "holds",
        ),
        (
            "typedef int wide __attribute__((aligned(16))); typedef wide (*get)(wide); struct s { char c; get g; } v;",
            "(char *)&v.g - &v.c == 8",
            "holds",
        ),
        (
            "struct __attribute__((packed)) s { char c; int i; } v;",
            "(char *)&v.i - &v.c == 1 && (v.i = 5, v.i) == 5",
            "holds",
        ),
        (
            "struct two { void *p; char *n __attribute__((packed)); } __attribute__((aligned(16))); struct s { char c; struct two t; } v[2];",
            "(char *)&v[1].t.n - (char *)v == 32 + 24",
            "holds",
        ),
        // Not understood, twice, or with bit-fields.
        (
            "struct __attribute__((aligned(16))) s { char c; int i; } __attribute__((aligned(2))); struct { char c; struct s s; } v;",
            "(char *)&v.s - (char *)&v == 4",
            unknown,
        ),
        (
            "struct s { char c; int i __attribute__((aligned(sizeof(long)))); } v;",
            "(char *)&v.i - (char *)&v == 8",
            "holds",
        ),
        (
            "struct s { char c; int i : 3; int k; } __attribute__((packed)); struct s v;",
            "(char *)&v.k - (char *)&v == 2",
            unknown,
        ),
    ] {
        let text = format!("{head}\nint main(void) {{ check({cond}); }}\n");
        check_all(&[(&text, wanted)]);
    }
}

/// Random structs.
struct Random(Rng);

impl Random {
    fn attribute(&mut self, rarely: usize) -> String {
        if self.0.below(rarely) > 0 {
            return String::new();
        }
        match self.0.below(6) {
            0 | 1 => "__attribute__((packed)) ".to_owned(),
            2 => "__attribute__((aligned)) ".to_owned(),
            _ => format!("__attribute__((__aligned__({}))) ", 1 << self.0.below(6)),
        }
    }

    fn program(&mut self, locks: bool) -> (String, String) {
        let mut types = vec!["char", "short", "int", "long", "char *"];
        if locks {
            types.extend([
                "pthread_mutex_t",
                "pthread_spinlock_t",
                "pthread_cond_t",
                "pthread_rwlock_t",
                "pthread_barrier_t",
                "pthread_once_t",
                "sem_t",
                "pthread_attr_t",
                "pthread_rwlockattr_t",
                "pthread_mutexattr_t",
            ]);
        }
        types.push("struct in_ ");
        let mut record = String::new();
        for name in ["in_", "s_"] {
            let before = self.attribute(5);
            let _ = write!(record, "struct {before}{name} {{ ");
            let most = types.len() - usize::from(name == "in_");
            for k in 0..3 {
                let ty = types[self.0.below(most)];
                let length = ["", "", "[3]"][self.0.below(3)];
                let attribute = self.attribute(3);
                let _ = write!(record, "{ty} m{k}{length} {attribute}; ");
            }
            // Of two alignments the last one counts: that is not followed.
            let behind = if before.contains("aligned") {
                String::new()
            } else {
                self.attribute(3)
            };
            let _ = writeln!(record, "}} {behind};");
        }
        let mut text = "unsigned f(int i) { struct s_ x, a[3]; struct in_ y;
  unsigned r = sizeof(x) * 31 + sizeof(y) + sizeof(a);\n"
            .to_owned();
        for k in 0..3 {
            for (variable, start) in [("x", "&x"), ("y", "&y"), ("a[i + 1]", "a")] {
                let _ = writeln!(
                    text,
                    "  r = r * 7 + ((char *)&{variable}.m{k} - (char *){start});"
                );
            }
        }
        text.push_str("  r = r * 7 + __builtin_offsetof(struct s_ , m2);\n  return r; }\n");
        (record, text)
    }
}

#[test]
fn random_structs_lie_as_the_compiler_puts_them() {
    compare_with_compiler("", 60, |seed| Random(Rng::new(seed)).program(false));
}

#[test]
fn locks_are_as_large_as_the_library_has_them() {
    let head = "#include <pthread.h>\n#include <semaphore.h>\n";
    compare_with_compiler(head, 60, |seed| Random(Rng::new(seed)).program(true));
}
