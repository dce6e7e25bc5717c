//! The generator of `c_random.rs`: programs of one thread without undefined behaviour, if signed
//! overflow wraps.

pub(crate) mod allocations;
pub(crate) mod floats;

use std::fmt::Write;

use crate::c_support::Rng;

const TYPES: [&str; 13] = [
    "signed char",
    "unsigned char",
    "char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "_Bool",
    "volatile int",
    "volatile unsigned char",
];
const NUMBERS: [&str; 20] = [
    "0",
    "1",
    "2",
    "7",
    "-1",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "65535",
    "0x7fffffff",
    "0x80000000",
    "0xffffffffu",
    "123456789L",
    "-5000000000L",
    "0u",
    "'a'",
    "017",
    "3UL",
];
const NARROW: [&str; 4] = ["(int)", "(unsigned)", "(short)", "(unsigned char)"];

/// A struct type: its members with their types and lengths (0: no array).
#[derive(Clone)]
struct Record {
    name: String,
    members: Vec<(String, Kind, usize)>,
    /// Members of an anonymous struct in it, behind the others.
    inner: Vec<(String, Kind, usize)>,
    /// The first member is in a union with another one, which nobody uses.
    in_union: Option<&'static str>,
}

/// The type of a variable or member.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Scalar(&'static str),
    Record(usize),
}

/// A variable: its type and length (0: no array).
#[derive(Clone)]
struct Variable {
    name: String,
    kind: Kind,
    len: usize,
}

/// A program under construction.
pub(crate) struct Random {
    rng: Rng,
    prefix: String,
    records: Vec<Record>,
    globals: Vec<Variable>,
    locals: Vec<Variable>,
    /// Functions so far: how many arguments each takes.
    functions: Vec<usize>,
    /// Whether calls stand where their order is open.
    is_open: bool,
    labels: usize,
    /// Calls that may still be made here: each is inlined.
    calls: usize,
    text: String,
}

impl Random {
    pub(crate) fn new(number: usize) -> Self {
        let mut rng = Rng::new(number);
        let is_open = rng.below(5) == 0;
        Self {
            rng,
            prefix: format!("p{number}_"),
            records: Vec::new(),
            globals: Vec::new(),
            locals: Vec::new(),
            functions: Vec::new(),
            is_open,
            labels: 0,
            calls: 0,
            text: String::new(),
        }
    }

    fn scalar(&mut self) -> &'static str {
        self.rng.pick(&TYPES)
    }

    fn kind(&mut self) -> Kind {
        let n = self.records.len();
        if n > 0 && self.rng.below(3) == 0 {
            return Kind::Record(self.rng.below(n));
        }
        Kind::Scalar(self.scalar())
    }

    fn length(&mut self) -> usize {
        [0, 0, 0, 2, 3][self.rng.below(5)]
    }

    fn type_name(&self, kind: &Kind) -> String {
        match kind {
            Kind::Scalar(name) => (*name).to_owned(),
            Kind::Record(k) => format!("struct {}", self.records[*k].name),
        }
    }

    fn declaration(&self, name: &str, kind: &Kind, len: usize) -> String {
        let array = if len > 0 {
            format!("[{len}]")
        } else {
            String::new()
        };
        format!("{} {name}{array}", self.type_name(kind))
    }

    fn record(&mut self) {
        let k = self.records.len();
        let name = format!("{}s{k}", self.prefix);
        let mut record = Record {
            name: name.clone(),
            members: Vec::new(),
            inner: Vec::new(),
            in_union: None,
        };
        for m in 0..2 + self.rng.below(3) {
            let (kind, len) = (self.kind(), self.length());
            record.members.push((format!("m{k}{m}"), kind, len));
        }
        if self.rng.below(3) == 0 {
            for m in 0..2 {
                let ty = self.scalar();
                record.inner.push((format!("n{k}{m}"), Kind::Scalar(ty), 0));
            }
        }
        if self.rng.below(3) == 0 {
            record.in_union = Some(self.scalar());
        }
        let mut text = format!("struct {name} {{ ");
        for (m, (name, kind, len)) in record.members.iter().enumerate() {
            let member = self.declaration(name, kind, *len);
            let _ = match record.in_union.filter(|_| m == 0) {
                Some(other) => write!(text, "union {{ {member}; {other} u{k}; }}; "),
                None => write!(text, "{member}; "),
            };
        }
        if !record.inner.is_empty() {
            text.push_str("struct { ");
            for (name, kind, len) in &record.inner {
                let _ = write!(text, "{}; ", self.declaration(name, kind, *len));
            }
            text.push_str("}; ");
        }
        text.push_str("};\n");
        self.text.push_str(&text);
        self.records.push(record);
    }

    /// All scalars of a variable, with constant indices.
    fn scalars(
        &self,
        path: String,
        kind: &Kind,
        len: usize,
        all: &mut Vec<(String, &'static str)>,
    ) {
        if len > 0 {
            for i in 0..len {
                self.scalars(format!("{path}[{i}]"), kind, 0, all);
            }
            return;
        }
        match kind {
            Kind::Scalar(ty) => all.push((path, ty)),
            Kind::Record(k) => {
                let record = &self.records[*k];
                for (name, kind, len) in record.members.iter().chain(&record.inner) {
                    self.scalars(format!("{path}.{name}"), kind, *len, all);
                }
            }
        }
    }

    /// A variable in sight.
    fn variable(&mut self) -> Variable {
        let n = self.globals.len() + self.locals.len();
        let k = self.rng.below(n);
        let found = self
            .locals
            .get(k)
            .or_else(|| self.globals.get(k - self.locals.len()));
        found.expect("one of them").clone()
    }

    /// A scalar place and its type; indices are computed.
    fn place(&mut self) -> (String, &'static str) {
        let variable = self.variable();
        self.within(variable.name, variable.kind, variable.len)
    }

    fn within(&mut self, path: String, kind: Kind, len: usize) -> (String, &'static str) {
        let path = if len > 0 {
            let index = if self.rng.below(2) == 0 {
                format!("{}", self.rng.below(len))
            } else {
                format!("(unsigned)({}) % {len}", self.simple())
            };
            format!("{path}[{index}]")
        } else {
            path
        };
        match kind {
            Kind::Scalar(ty) => (path, ty),
            Kind::Record(k) => {
                let record = &self.records[k];
                let members: Vec<_> = record
                    .members
                    .iter()
                    .chain(&record.inner)
                    .cloned()
                    .collect();
                let (name, kind, len) = members[self.rng.below(members.len())].clone();
                self.within(format!("{path}.{name}"), kind, len)
            }
        }
    }

    /// A scalar variable or a number.
    fn simple(&mut self) -> String {
        let all: Vec<String> = self
            .locals
            .iter()
            .chain(&self.globals)
            .filter(|v| v.len == 0 && matches!(v.kind, Kind::Scalar(_)))
            .map(|v| v.name.clone())
            .collect();
        if all.is_empty() || self.rng.below(4) == 0 {
            return self.rng.pick(&NUMBERS).to_owned();
        }
        all[self.rng.below(all.len())].clone()
    }

    /// An expression without effects.
    fn expr(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.below(7) == 0 {
            return match self.rng.below(4) {
                0 => self.rng.pick(&NUMBERS).to_owned(),
                1 => self.simple(),
                _ => self.place().0,
            };
        }
        let a = self.expr(depth - 1);
        let b = self.expr(depth - 1);
        match self.rng.below(14) {
            0 => format!("({}({a}))", self.rng.pick(&["-", "~", "!", "+"])),
            1 => format!("(({})({a}))", self.rng.pick(&TYPES)),
            2 | 3 => format!("(({a}) {} ({b}))", self.rng.pick(&["+", "-"])),
            4 => {
                let (m, n) = (self.rng.pick(&NARROW), self.rng.pick(&NARROW));
                format!("({m}({a}) * {n}({b}))")
            }
            5 => format!("(({a}) {} ({b}))", self.rng.pick(&["&", "|", "^"])),
            6 | 7 => {
                let op = self.rng.pick(&["<", ">", "<=", ">=", "==", "!="]);
                format!("(({a}) {op} ({b}))")
            }
            8 => format!("(({a}) {} ({b}))", self.rng.pick(&["&&", "||"])),
            9 => {
                // Not of `int`: gcc 12 makes INT_MIN / -1 of `a - INT_MIN / 1` at -O0.
                let m = self.rng.pick(&NARROW[1..]);
                let op = self.rng.pick(&["/", "%"]);
                let by = self
                    .rng
                    .pick(&["(((int)({b}) & 7) + 1)", "(((int)({b}) & 7) - 9)"]);
                format!("({m}({a}) {op} {})", by.replace("{b}", &b))
            }
            10 => {
                let (m, op) = (self.rng.pick(&NARROW), self.rng.pick(&["<<", ">>"]));
                format!("({m}({a}) {op} (({b}) & 7))")
            }
            11 => format!("(({a}) ?: ({b}))"),
            12 => self.bytes(),
            _ => {
                let c = self.expr(depth - 1);
                format!("(({a}) ? ({b}) : ({c}))")
            }
        }
    }

    /// Distances in bytes and elements, offsets, comparisons of pointers.
    fn bytes(&mut self) -> String {
        let variable = self.variable();
        let whole = variable.name.clone();
        let mut all = Vec::new();
        self.scalars(whole.clone(), &variable.kind, variable.len, &mut all);
        let (a, _) = all[self.rng.below(all.len())].clone();
        let (b, _) = all[self.rng.below(all.len())].clone();
        match self.rng.below(5) {
            0 => format!("((char *)&{a} - (char *)&{b})"),
            1 => format!("((char *)&{a} - (char *)&{whole})"),
            2 => format!(
                "((void *)&{a} {} (void *)&{b})",
                self.rng.pick(&["<", ">=", "==", "!="])
            ),
            3 => format!("((char *)&{a} + {} == (char *)&{b})", self.rng.below(9)),
            _ => format!("sizeof({whole})"),
        }
    }

    /// A call of an earlier function.
    fn call(&mut self) -> Option<String> {
        if self.functions.is_empty() || self.calls == 0 {
            return None;
        }
        self.calls -= 1;
        let k = self.rng.below(self.functions.len());
        let args: Vec<String> = (0..self.functions[k]).map(|_| self.expr(1)).collect();
        Some(format!("{}f{k}({})", self.prefix, args.join(", ")))
    }

    /// An expression with effects in a fixed order.
    fn effect(&mut self) -> String {
        let Some(a) = self.call() else {
            return self.expr(2);
        };
        let b = self.call().unwrap_or_else(|| self.expr(1));
        let c = self.expr(1);
        let (to, _) = self.place();
        match self.rng.below(8) {
            0 => format!("({a} && {b})"),
            1 => format!("({a} || {b})"),
            2 => format!("({c} ? {a} : {b})"),
            3 => format!("({a}, {b})"),
            4 => format!("({to} = {c}, {to})"),
            5 => format!("({a} ? {c} : {to})"),
            6 => format!("(-{a})"),
            _ => a,
        }
    }

    /// An expression with effects in an order that C leaves open; calls only, so that
    /// it is defined.
    fn open_effect(&mut self) -> Option<String> {
        let (a, b) = (self.call()?, self.call()?);
        let c = self.place().0;
        Some(match self.rng.below(5) {
            0 => format!("{a} + {b}"),
            1 => format!("{c} - {a}"),
            2 => format!("({a} ^ {c}) + {b}"),
            3 => format!("({c} && {a}) | {b}"),
            _ => format!("{a} - {c} * 2"),
        })
    }

    fn statement(&mut self, depth: usize) -> String {
        let (to, ty) = self.place();
        match self.rng.below(18) {
            0 => format!("{to}{};", self.rng.pick(&["++", "--"])),
            1 => format!("{}{to};", self.rng.pick(&["++", "--"])),
            2 | 3 => {
                let e = self.expr(2);
                match self.rng.below(4) {
                    0 => format!("{to} {} (({e}) & 7);", self.rng.pick(&["<<=", ">>="])),
                    1 => format!("{to} *= (unsigned char)({e});"),
                    2 => format!(
                        "{to} {} ((unsigned char)({e}) + 1);",
                        self.rng.pick(&["/=", "%="])
                    ),
                    _ => format!(
                        "{to} {} {e};",
                        self.rng.pick(&["+=", "-=", "&=", "|=", "^="])
                    ),
                }
            }
            4 => format!("{to} = {};", self.expr(3)),
            5 if depth > 0 => {
                let (a, b) = (self.block(depth - 1), self.block(depth - 1));
                let c = self.effect();
                format!("if ({c}) {{ {a} }} else {{ {b} }}")
            }
            6 if depth > 0 => {
                let (a, b, c) = (
                    self.block(depth - 1),
                    self.block(depth - 1),
                    self.block(depth - 1),
                );
                let on = self.effect();
                format!(
                    "switch (({on}) & 3) {{ case 0: {a} case 1: {{ {b} break; }} case 2: break; default: {{ {c} }} }}"
                )
            }
            7 if depth > 0 => {
                let a = self.block(depth - 1);
                let c = self.expr(1);
                let i = self.label("i");
                let stop = self.rng.pick(&["break", "continue"]);
                format!("for (int {i} = 0; {i} < 3; {i}++) {{ {a} if ({c}) {stop}; {to} += {i}; }}")
            }
            8 if depth > 0 => {
                let a = self.block(depth - 1);
                let c = self.effect();
                let i = self.label("i");
                format!("int {i} = 0; do {{ {a} }} while ({i}++ < 2 && {c});")
            }
            9 => {
                let (skipped, c) = (self.block(0), self.effect());
                let label = self.label("l");
                format!("if ({c}) goto {label}; {{ {skipped} }} {label}: ;")
            }
            10 => {
                let (e, p) = (self.expr(2), self.label("q"));
                let op = self.rng.pick(&["=", "+=", "^="]);
                format!("{ty} *{p} = &{to}; *{p} {op} {e}; {to} = ~*{p};")
            }
            11 => self.walk(),
            12 => self.copy(),
            13 => self.around(),
            14 | 15 => match self.call() {
                // Its index may be what the function changes.
                Some(call) if self.is_open => format!("{to} = {call};"),
                Some(call) => {
                    let v = self.label("t");
                    format!("long {v} = {call}; {to} = {v};")
                }
                None => format!("{to} = {};", self.expr(3)),
            },
            16 if self.is_open => match self.open_effect() {
                Some(e) => format!("{to} = {e};"),
                None => format!("{to} ^= 1;"),
            },
            _ => {
                let value = self.effect();
                let v = self.label("t");
                format!("long {v} = {value}; {to} = {v};")
            }
        }
    }

    fn label(&mut self, kind: &str) -> String {
        self.labels += 1;
        format!("{kind}{}", self.labels)
    }

    fn block(&mut self, depth: usize) -> String {
        let count = 1 + self.rng.below(2);
        let all: Vec<String> = (0..count).map(|_| self.statement(depth)).collect();
        all.join(" ")
    }

    /// A pointer over an array.
    fn walk(&mut self) -> String {
        let arrays: Vec<Variable> = self
            .globals
            .iter()
            .chain(&self.locals)
            .filter(|v| v.len > 0)
            .cloned()
            .collect();
        if arrays.is_empty() {
            return ";".to_owned();
        }
        let array = arrays[self.rng.below(arrays.len())].clone();
        let (p, name, len) = (self.label("w"), array.name.clone(), array.len);
        let ty = self.type_name(&array.kind);
        let e = self.expr(1);
        let (member, _) = self.within(String::new(), array.kind, 0);
        let (to, _) = self.place();
        match self.rng.below(3) {
            0 => format!(
                "for ({ty} *{p} = {name}; {p} < {name} + {len}; {p}++) {{ (*{p}){member} += {e}; {to} ^= {p} - {name}; }}"
            ),
            1 => format!(
                "{ty} *{p} = &{name}[1]; {p}[-1]{member} = {e}; {p}--; {to} += (*{p}){member};"
            ),
            _ => format!(
                "{ty} *{p} = {name} + {len}; {to} = {p} - {name}; {p} -= {len}; {p}[{}]{member} ^= {e};",
                len - 1
            ),
        }
    }

    /// Copies of structs and memory.
    fn copy(&mut self) -> String {
        let structs: Vec<Variable> = self
            .globals
            .iter()
            .chain(&self.locals)
            .filter(|v| v.len == 0 && matches!(v.kind, Kind::Record(_)))
            .cloned()
            .collect();
        if structs.is_empty() {
            return ";".to_owned();
        }
        let a = structs[self.rng.below(structs.len())].clone();
        let same: Vec<_> = structs.iter().filter(|v| v.kind == a.kind).collect();
        let b = same[self.rng.below(same.len())];
        let Kind::Record(k) = a.kind else {
            return ";".to_owned();
        };
        let (a, b, ty) = (a.name, b.name.clone(), self.records[k].name.clone());
        let t = self.label("c");
        match self.rng.below(5) {
            0 => format!("{a} = {b};"),
            1 => format!("struct {ty} {t} = {b}; {a} = {t};"),
            2 => format!(
                "{}(&{a}, &{b}, sizeof({b}));",
                if a == b { "memmove" } else { "memcpy" }
            ),
            3 => format!("memset(&{a}, 0, sizeof({a}));"),
            _ => format!("struct {ty} {t}[2]; {t}[1] = {b}; {t}[0] = {t}[1]; {a} = {t}[0];"),
        }
    }

    /// From a member to its struct and back, by bytes.
    fn around(&mut self) -> String {
        let structs: Vec<Variable> = self
            .globals
            .iter()
            .chain(&self.locals)
            .filter(|v| matches!(v.kind, Kind::Record(_)))
            .cloned()
            .collect();
        if structs.is_empty() {
            return ";".to_owned();
        }
        let a = structs[self.rng.below(structs.len())].clone();
        let Kind::Record(k) = a.kind else {
            return ";".to_owned();
        };
        let at = if a.len > 0 {
            format!("[{}]", self.rng.below(a.len))
        } else {
            String::new()
        };
        let name = format!("{}{at}", a.name);
        let record = self.records[k].clone();
        let scalars: Vec<_> = record
            .members
            .iter()
            .chain(&record.inner)
            .filter(|(_, kind, len)| *len == 0 && matches!(kind, Kind::Scalar(_)))
            .cloned()
            .collect();
        if scalars.is_empty() {
            return ";".to_owned();
        }
        let (m, kind, _) = scalars[self.rng.below(scalars.len())].clone();
        let (n, other, _) = scalars[self.rng.below(scalars.len())].clone();
        let (tag, ty, other) = (record.name, self.type_name(&kind), self.type_name(&other));
        let (p, q, e) = (self.label("m"), self.label("o"), self.expr(1));
        match self.rng.below(3) {
            0 => format!(
                "{ty} *{p} = &{name}.{m}; struct {tag} *{q} = (struct {tag} *)((char *){p} - __builtin_offsetof(struct {tag}, {m})); {q}->{n} = {e};"
            ),
            1 => format!(
                "char *{p} = (char *)&{name}; {p} += __builtin_offsetof(struct {tag}, {m}); *({ty} *){p} += {e};"
            ),
            _ => format!(
                "void *{p} = &{name}.{m}; {p} = (char *){p} + ((char *)&{name}.{n} - (char *)&{name}.{m}); *({other} *){p} ^= {e};"
            ),
        }
    }

    fn function(&mut self) {
        let k = self.functions.len();
        let params = self.rng.below(3);
        self.locals.clear();
        let mut names = Vec::new();
        for p in 0..params {
            let ty = self.scalar();
            names.push(format!("{ty} a{p}"));
            self.locals.push(Variable {
                name: format!("a{p}"),
                kind: Kind::Scalar(ty),
                len: 0,
            });
        }
        let names = if names.is_empty() {
            "void".to_owned()
        } else {
            names.join(", ")
        };
        let result = self.scalar();
        let mut body = String::new();
        self.calls = 1;
        self.declare_locals(&mut body);
        for _ in 0..=self.rng.below(3) {
            let s = self.statement(1);
            let _ = writeln!(body, "  {s}");
        }
        let value = self.expr(2);
        let prefix = self.prefix.clone();
        let _ = writeln!(
            self.text,
            "static {result} {prefix}f{k}({names}) {{\n{body}  return {value};\n}}"
        );
        self.functions.push(params);
        self.locals.clear();
    }

    fn declare_locals(&mut self, body: &mut String) {
        for v in 0..=self.rng.below(3) {
            let variable = Variable {
                name: format!("v{v}"),
                kind: self.kind(),
                len: self.length(),
            };
            let text = self.declaration(&variable.name, &variable.kind, variable.len);
            let value = match (&variable.kind, variable.len) {
                (Kind::Scalar(_), 0) => self.rng.pick(&NUMBERS).to_owned(),
                _ => "{ 0 }".to_owned(),
            };
            let _ = writeln!(body, "  {text} = {value};");
            self.locals.push(variable);
        }
    }

    /// The program: `unsigned long pN_run(void)`.
    pub(crate) fn program(mut self) -> (String, bool) {
        for _ in 0..=self.rng.below(3) {
            self.record();
        }
        for g in 0..3 + self.rng.below(3) {
            let (kind, len) = (self.kind(), self.length());
            let variable = Variable {
                name: format!("{}g{g}", self.prefix),
                kind,
                len,
            };
            let text = self.declaration(&variable.name, &variable.kind, variable.len);
            let word =
                if self.rng.below(6) == 0 && matches!(variable.kind, Kind::Scalar(_)) && len == 0 {
                    "static"
                } else {
                    ""
                };
            let _ = writeln!(self.text, "{word} {text};");
            self.globals.push(variable);
        }
        for _ in 0..=self.rng.below(3) {
            self.function();
        }
        let mut body = String::new();
        self.calls = 4;
        self.declare_locals(&mut body);
        for _ in 0..3 + self.rng.below(4) {
            let s = self.statement(2);
            let _ = writeln!(body, "  {s}");
        }
        let mut all = Vec::new();
        for v in self.globals.iter().chain(&self.locals) {
            self.scalars(v.name.clone(), &v.kind, v.len, &mut all);
        }
        body.push_str("  unsigned sum = 17;\n");
        for (path, _) in all {
            let _ = writeln!(body, "  sum = sum * 31 + (unsigned){path};");
        }
        let _ = writeln!(
            self.text,
            "static unsigned {}run(void) {{\n{body}  return sum;\n}}",
            self.prefix
        );
        (self.text, self.is_open)
    }
}
