//! The shapes in which memory models differ (store buffering, message passing,
//! 2+2W, R, S, Dekker's handshake), with random fences at the places that matter
//! and random statements around: most purely random programs behave alike under
//! all models.

use crate::threads::{Generator, Place, Template};

/// One thread of a shape: two accesses with a place for a fence between them,
/// and what follows.
struct Half {
    first: &'static str,
    second: &'static str,
    after: Option<&'static str>,
}

struct Idiom {
    halves: [Half; 2],
    property: Option<&'static str>,
}

const fn half(first: &'static str, second: &'static str) -> Half {
    Half {
        first,
        second,
        after: None,
    }
}

const IDIOMS: [Idiom; 6] = [
    // Store buffering: TSO, PSO.
    Idiom {
        halves: [half("x0 = 1;", "r = x1;"), half("x1 = 1;", "r = x0;")],
        property: Some("finally (!(u0.r == 0 && u1.r == 0));"),
    },
    // Message passing: PSO.
    Idiom {
        halves: [
            half("x0 = 1;", "x1 = 1;"),
            Half {
                first: "r = x1;",
                second: "s = x0;",
                after: Some("assert(r == 0 || s == 1);"),
            },
        ],
        property: None,
    },
    // 2+2W: PSO.
    Idiom {
        halves: [half("x0 = 1;", "x1 = 2;"), half("x1 = 1;", "x0 = 2;")],
        property: Some("finally (!(x0 == 1 && x1 == 1));"),
    },
    // R: TSO, PSO.
    Idiom {
        halves: [half("x0 = 1;", "x1 = 1;"), half("x1 = 2;", "r = x0;")],
        property: Some("finally (!(x1 == 2 && u1.r == 0));"),
    },
    // S: PSO.
    Idiom {
        halves: [half("x0 = 2;", "x1 = 1;"), half("r = x1;", "x0 = 1;")],
        property: Some("finally (!(x0 == 2 && u1.r == 1));"),
    },
    // Dekker's handshake: TSO, PSO.
    Idiom {
        halves: [
            Half {
                first: "x0 = 1;",
                second: "r = x1;",
                after: Some("if (r == 0) { c: skip; }"),
            },
            Half {
                first: "x1 = 1;",
                second: "r = x0;",
                after: Some("if (r == 0) { c: skip; }"),
            },
        ],
        property: Some("never u0@c && u1@c;"),
    },
];

impl Generator<'_> {
    /// A program around a shape.
    pub(crate) fn idiom(mut self) -> String {
        let extra = self.shape.vars.max(1);
        self.vars = 2..2 + extra;
        for i in 0..2 + extra {
            self.out.line(&format!("shared x{i} = 0;"));
        }
        if self.shape.arrays {
            self.out.line("shared a[2] = 0;");
        }
        self.copies = 0;
        if self.shape.copies && self.rng.chance(25) {
            self.handshake_of_copies();
        } else {
            let idiom = &IDIOMS[self.rng.below(IDIOMS.len())];
            for (t, half) in idiom.halves.iter().enumerate() {
                self.half(t, half);
            }
            let names_label = idiom.property.is_some_and(|p| p.starts_with("never"));
            let wanted = if names_label {
                self.shape.nevers
            } else {
                self.shape.finals
            };
            if let Some(property) = idiom.property.filter(|_| wanted) {
                self.out.line(property);
            }
        }
        for i in 2..self.shape.threads {
            self.template(&format!("u{i}"), 0);
        }
        self.out.finish()
    }

    /// A thread that publishes several times in a row, and one that looks. Most
    /// publications have their fence; some are one cell of an array.
    pub(crate) fn publications(mut self) -> String {
        let extra = self.shape.vars.max(1);
        self.vars = 2..2 + extra;
        for i in 0..2 + extra {
            self.out.line(&format!("shared x{i} = 0;"));
        }
        if self.shape.arrays {
            self.out.line("shared a[2] = 0;");
        }
        self.copies = 0;
        let data = *self.rng.pick(&["x0", "a[0]", "x2"]);
        let data = if self.shape.arrays { data } else { "x0" };
        let rounds = self.rng.between(2, 3);
        for t in 0..self.rng.between(1, 2) {
            let mut template = self.open(&format!("w{t}"), 0);
            for round in 1..=rounds {
                self.out.line(&format!("{data} = {round};"));
                self.between(&mut template, 80);
                self.out.line(&format!("x1 = {round};"));
                self.between(&mut template, 25);
            }
            self.out.close();
            if self.shape.threads < 3 {
                break;
            }
        }
        self.out.open("thread u");
        for local in ["r", "s"] {
            self.out.line(&format!("local {local} = 0;"));
        }
        self.out.line("r = x1;");
        self.out.line(&format!("s = {data};"));
        if self.shape.asserts {
            self.out.line("assert(r <= s);");
        }
        if self.rng.chance(30) {
            self.out.line(&format!("{data} = 3;"));
            self.out.line("r = x1;");
        }
        self.out.close();
        self.out.finish()
    }

    /// A fence with this probability, most of them `fence(ss)`, or noise.
    fn between(&mut self, template: &mut Template, percent: usize) {
        match self.rng.below(8) {
            _ if !self.rng.chance(percent) => self.noise(template),
            0 if self.shape.fences => self.out.line("fence;"),
            1 if self.shape.atomics => self.out.line("s = xchg(x2, 1);"),
            _ if self.shape.store_store => self.out.line("fence(ss);"),
            _ => self.noise(template),
        }
    }

    fn half(&mut self, t: usize, half: &Half) {
        let mut template = self.open(&format!("u{t}"), 0);
        self.noise(&mut template);
        self.out.line(half.first);
        self.maybe_fence(&mut template);
        self.out.line(half.second);
        match half.after {
            Some(after) if after.starts_with("assert") && !self.shape.asserts => {}
            Some(after) => self.out.line(after),
            None => {}
        }
        self.noise(&mut template);
        self.out.close();
    }

    /// Store buffering by copies of one template.
    fn handshake_of_copies(&mut self) {
        let mut template = self.open("t", 2);
        let array = if self.shape.arrays { "a" } else { "x" };
        if array == "a" {
            self.out.line("a[self] = 1;");
            self.maybe_fence(&mut template);
            self.out.line("r = a[1 - self];");
        } else {
            self.out.line("x0 = 1;");
            self.maybe_fence(&mut template);
            self.out.line("r = x1;");
        }
        self.noise(&mut template);
        self.out.close();
        if self.shape.finals {
            self.out.line("finally (!(t#1.r == 0 && t#2.r == 0));");
        }
    }

    fn maybe_fence(&mut self, template: &mut Template) {
        match self.rng.below(8) {
            0..=1 if self.shape.fences => self.out.line("fence;"),
            2 if self.shape.store_store => self.out.line("fence(ss);"),
            3 if self.shape.atomics => self.out.line("s = xchg(x2, 1);"),
            _ => self.noise(template),
        }
    }

    fn noise(&mut self, template: &mut Template) {
        while self.rng.chance(30) {
            self.statement(template, 1, Place::Plain);
        }
    }
}
