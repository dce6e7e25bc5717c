//! Random programs with threads.

use std::ops::Range;

use crate::Rng;
use crate::shape::Shape;
use crate::writer::Writer;

/// One template to write.
pub(crate) struct Template {
    name: String,
    copies: usize,
    /// Labels written so far.
    labels: Vec<String>,
}

pub(crate) struct Generator<'a> {
    pub(crate) rng: &'a mut Rng,
    pub(crate) shape: &'a Shape,
    pub(crate) out: Writer,
    /// Copies of the replicated template, if there is one: length of `a`.
    pub(crate) copies: usize,
    /// Whether statements that order `self` may be written.
    ordered: bool,
    /// Loop counters so far.
    counters: usize,
    /// Shared variables that random statements use.
    pub(crate) vars: Range<usize>,
}

const LOCALS: [&str; 2] = ["r", "s"];

pub(crate) fn generate(rng: &mut Rng, shape: &Shape) -> String {
    let idiom = rng.chance(55);
    let copies = if shape.copies && rng.chance(60) {
        rng.between(2, shape.threads.max(2) as i64) as usize
    } else {
        0
    };
    let ordered = rng.chance(25);
    let generator = Generator {
        rng,
        shape,
        out: Writer::default(),
        copies,
        ordered,
        counters: 0,
        vars: 0..shape.vars,
    };
    if shape.publications {
        generator.publications()
    } else if idiom {
        generator.idiom()
    } else {
        generator.program()
    }
}

impl Generator<'_> {
    fn program(mut self) -> String {
        for i in 0..self.shape.vars {
            let init = self.value();
            let init = if self.rng.chance(70) { 0 } else { init };
            self.out.line(&format!("shared x{i} = {init};"));
        }
        if self.has_array() {
            self.out
                .line(&format!("shared a[{}] = 0;", self.array_len()));
        }
        if self.copies > 0 {
            let nobody = if self.rng.chance(50) { -1 } else { 0 };
            self.out.line(&format!("shared owner = {nobody};"));
        }
        let mut templates = Vec::new();
        if self.copies > 0 {
            templates.push(self.template("t", self.copies));
        }
        for i in self.copies..self.shape.threads {
            templates.push(self.template(&format!("u{i}"), 0));
        }
        self.properties(&templates);
        self.out.finish()
    }

    fn has_array(&self) -> bool {
        self.shape.arrays
    }

    fn array_len(&self) -> usize {
        self.copies.max(2)
    }

    fn value(&mut self) -> i64 {
        self.rng.between(0, self.shape.modulus - 1)
    }

    fn var(&mut self) -> String {
        format!("x{}", self.vars.start + self.rng.below(self.vars.len()))
    }

    fn local(&mut self) -> &'static str {
        LOCALS[self.rng.below(LOCALS.len())]
    }

    /// A whole template.
    pub(crate) fn template(&mut self, name: &str, copies: usize) -> Template {
        let mut template = self.open(name, copies);
        let count = self.rng.between(2, self.shape.statements.max(2) as i64);
        for _ in 0..count {
            self.statement(&mut template, 0, Place::Plain);
        }
        self.out.close();
        template
    }

    /// The head of a template and its locals.
    pub(crate) fn open(&mut self, name: &str, copies: usize) -> Template {
        match copies {
            0 => self.out.open(&format!("thread {name}")),
            n => self.out.open(&format!("thread {name}[{n}]")),
        }
        for local in LOCALS {
            self.out.line(&format!("local {local} = 0;"));
        }
        if self.copies > 0 {
            self.out.line("local who = -1;");
        }
        Template {
            name: name.to_owned(),
            copies,
            labels: Vec::new(),
        }
    }

    /// A shared variable or array element as an operand.
    fn place(&mut self, template: &Template) -> String {
        if !self.has_array() || self.rng.chance(65) {
            return self.var();
        }
        match self.rng.below(4) {
            0 | 1 if template.copies > 0 => "a[self]".to_owned(),
            2 if self.copies == 0 || self.ordered => {
                format!("a[{} % {}]", self.local(), self.array_len())
            }
            _ if template.copies > 0 && !self.ordered => "a[self]".to_owned(),
            _ if self.copies > 0 && !self.ordered => self.var(),
            _ => format!("a[{}]", self.rng.below(self.array_len())),
        }
    }

    /// A value over locals, within the modulus.
    fn pure(&mut self, template: &Template) -> String {
        let m = self.shape.modulus;
        let c = self.value();
        match self.rng.below(6) {
            0..=2 => c.to_string(),
            3 => self.local().to_owned(),
            4 => format!("({} + {c}) % {m}", self.local()),
            _ if template.copies > 0 && self.ordered => format!("(self + {c}) % {m}"),
            _ => format!("({} + {}) % {m}", self.local(), self.local()),
        }
    }

    /// A condition over locals.
    fn condition(&mut self, template: &Template) -> String {
        let c = self.value();
        let l = self.local();
        let op = *self.rng.pick(&["==", "!=", "<", ">="]);
        match self.rng.below(8) {
            0 if template.copies > 0 && self.copies > 0 => "who == self".to_owned(),
            1 if template.copies > 0 && self.ordered => format!("{l} < self"),
            2 => format!("{l} {op} {c} && {} != {c}", self.local()),
            _ => format!("{l} {op} {c}"),
        }
    }

    /// A condition that may read shared memory.
    fn shared_condition(&mut self, template: &Template) -> String {
        let c = self.value();
        let op = *self.rng.pick(&["==", "!="]);
        match self.rng.below(6) {
            0 if template.copies > 0 && self.copies > 0 => "owner == self".to_owned(),
            1 if self.copies > 0 => "owner == -1".to_owned(),
            2 if self.shape.choices => "*".to_owned(),
            3 => format!("{} {op} {c} || {} == {c}", self.var(), self.var()),
            4 => self.condition(template),
            _ => {
                let place = self.place(template);
                format!("{place} {op} {c}")
            }
        }
    }

    fn block(&mut self, template: &mut Template, depth: usize, place: Place) {
        for _ in 0..=self.rng.below(2) {
            self.statement(template, depth + 1, place);
        }
    }

    pub(crate) fn statement(&mut self, template: &mut Template, depth: usize, within: Place) {
        let plain = within == Place::Plain;
        let kinds = if depth < 2 { 20 } else { 12 };
        match self.rng.below(kinds) {
            0..=3 => self.store(template, within),
            4..=6 => {
                let (l, p) = (self.local(), self.place(template));
                let m = self.shape.modulus;
                if self.rng.chance(75) {
                    self.out.line(&format!("{l} = {p};"));
                } else {
                    self.out.line(&format!("{l} = ({p} + {l}) % {m};"));
                }
            }
            7 => {
                let (l, e) = (self.local(), self.pure(template));
                self.out.line(&format!("{l} = {e};"));
            }
            8 if template.copies > 0 && self.copies > 0 => self.name(within),
            9 if plain && self.shape.fences => self.out.line("fence;"),
            10 if plain && self.shape.store_store => self.out.line("fence(ss);"),
            11 if self.shape.asserts && self.rng.chance(50) => {
                let condition = self.condition(template);
                let value = self.value();
                self.out
                    .line(&format!("assert({condition} || r != {value});"));
            }
            12 | 13 => {
                let condition = self.shared_condition(template);
                self.out.open(&format!("if ({condition})"));
                self.block(template, depth, within);
                if self.rng.chance(40) {
                    self.out.middle("else");
                    self.block(template, depth, within);
                }
                self.out.close();
            }
            14 if self.shape.loops => self.repeat(template, depth, within),
            15 | 16 if plain && self.shape.atomics => self.atomic(template),
            17 if plain && self.shape.choices => {
                self.out.open("choose");
                self.block(template, depth, within);
                self.out.middle("or");
                self.block(template, depth, within);
                self.out.close();
            }
            18 if self.shape.choices => {
                let l = self.local();
                let hi = self.shape.modulus - 1;
                self.out.line(&format!("{l} = choose(0..{hi});"));
            }
            _ if plain && self.shape.nevers && template.labels.len() < 2 => {
                let label = format!("l{}", template.labels.len());
                self.out.line(&format!("{label}: skip;"));
                template.labels.push(label);
            }
            _ => self.store(template, within),
        }
    }

    fn store(&mut self, template: &Template, within: Place) {
        if within == Place::Endless {
            return self.out.line("skip;");
        }
        let (p, e) = (self.place(template), self.pure(template));
        self.out.line(&format!("{p} = {e};"));
    }

    /// Statements about thread numbers.
    fn name(&mut self, within: Place) {
        let line = match self.rng.below(3) {
            0 if within != Place::Endless => "owner = self;",
            1 => "who = owner;",
            _ => "who = self;",
        };
        self.out.line(line);
    }

    fn repeat(&mut self, template: &mut Template, depth: usize, within: Place) {
        if within != Place::Plain || self.rng.chance(40) {
            // Waits, or runs for ever without storing.
            let condition = self.shared_condition(template);
            let condition = if condition == "*" {
                format!("{} == 0", self.var())
            } else {
                condition
            };
            self.out.open(&format!("while ({condition})"));
            self.block(template, depth, Place::Endless);
            self.out.close();
        } else {
            let rounds = self.rng.between(1, 2);
            let counter = format!("i{}", self.counters);
            self.counters += 1;
            self.out.line(&format!("local {counter} = 0;"));
            self.out.open(&format!("while ({counter} < {rounds})"));
            self.block(template, depth, within);
            self.out.line(&format!("{counter} = {counter} + 1;"));
            self.out.close();
        }
    }

    fn atomic(&mut self, template: &mut Template) {
        let (v, l, c) = (self.var(), self.local(), self.value());
        match self.rng.below(7) {
            0 => self.out.line(&format!(
                "{l} = cas({v}, {c}, {});",
                self.shape.modulus - 1 - c
            )),
            1 => {
                let e = self.pure(template);
                self.out.line(&format!("{l} = xchg({v}, {e});"));
            }
            2 if template.copies > 0 && self.copies > 0 => {
                self.out.open("atomic");
                self.out.line("assume(owner == -1);");
                self.out.line("owner = self;");
                self.out.close();
            }
            3 | 4 => self.snapshot(template),
            _ => {
                self.out.open("atomic");
                if self.rng.chance(25) {
                    let condition = self.shared_condition(template);
                    if condition != "*" {
                        self.out.line(&format!("assume({condition});"));
                    }
                }
                self.block(template, 0, Place::Atomic);
                self.out.close();
            }
        }
    }

    /// A block that only reads: two values at one moment, and sometimes more.
    fn snapshot(&mut self, template: &mut Template) {
        self.out.open("atomic(read)");
        for local in LOCALS {
            let place = self.place(template);
            self.out.line(&format!("{local} = {place};"));
        }
        if self.rng.chance(30) {
            let condition = self.condition(template);
            self.out.line(&format!("assume({condition});"));
        }
        if self.rng.chance(30) {
            self.block(template, 0, Place::Endless);
        }
        self.out.close();
    }

    fn properties(&mut self, templates: &[Template]) {
        if self.shape.nevers && self.rng.chance(60) {
            self.never(templates);
        }
        if self.shape.finals && self.rng.chance(70) {
            let mut parts = Vec::new();
            for _ in 0..self.rng.between(1, 2) {
                parts.push(self.fact(templates));
            }
            self.out
                .line(&format!("finally (!({}));", parts.join(" && ")));
        }
    }

    fn thread_name(&mut self, templates: &[Template]) -> String {
        let at = self.rng.below(templates.len());
        let template = &templates[at];
        if template.copies > 0 {
            if self.ordered && self.rng.chance(50) {
                format!("{}[{}]", template.name, self.rng.below(template.copies))
            } else {
                format!("{}#{}", template.name, self.rng.between(1, 2))
            }
        } else {
            template.name.clone()
        }
    }

    /// A fact about memory or a local.
    fn fact(&mut self, templates: &[Template]) -> String {
        let c = self.value();
        if self.rng.chance(45) {
            format!("{} == {c}", self.var())
        } else {
            format!("{}.{} == {c}", self.thread_name(templates), self.local())
        }
    }

    fn never(&mut self, templates: &[Template]) {
        let mut parts = Vec::new();
        for template in templates {
            if !template.labels.is_empty() && self.rng.chance(70) {
                let label = self.rng.pick(&template.labels).clone();
                let name = &template.name;
                if template.copies == 0 {
                    parts.push(format!("{name}@{label}"));
                } else {
                    parts.push(format!("{name}#1@{label}"));
                    if self.rng.chance(60) {
                        parts.push(format!("{name}#2@{label}"));
                    }
                }
            }
        }
        while parts.len() < 2 || self.rng.chance(15) {
            parts.push(self.fact(templates));
        }
        self.out.line(&format!("never {};", parts.join(" && ")));
    }
}

/// Where a statement stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Anything may be written.
    Plain,
    /// In an atomic block: no fences.
    Atomic,
    /// In a loop that may run for ever, or in a block that only reads: no stores.
    Endless,
}
