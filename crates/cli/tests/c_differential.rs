//! Integer arithmetic of C against the system's compiler: random programs of one
//! thread are compiled with `-fwrapv` and run, and the values that they print are
//! asserted in the same programs under the concrete machine. A twin of each with one
//! wrong value must be refuted.

use crate::c_support;

use std::fmt::Write;

use c_support::Rng;
use palisade_program::Model;

const TYPES: [&str; 11] = [
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
];
const NARROW: [&str; 4] = ["(int)", "(unsigned)", "(short)", "(unsigned char)"];
const NUMBERS: [&str; 18] = [
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
];

/// A random program: variables `g*` in memory, `v*` in registers.
struct Random {
    rng: Rng,
    number: usize,
    declared: Vec<(String, &'static str)>,
}

impl Random {
    fn new(number: usize) -> Self {
        let mut random = Self {
            rng: Rng::new(number),
            number,
            declared: Vec::new(),
        };
        for k in 0..8 {
            let name = if k < 4 {
                format!("g{number}_{k}")
            } else {
                format!("v{k}")
            };
            let ty = random.rng.pick(&TYPES);
            random.declared.push((name, ty));
        }
        random
    }

    fn variable(&mut self) -> String {
        let k = self.rng.below(self.declared.len());
        self.declared[k].0.clone()
    }

    fn expr(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.below(6) == 0 {
            return match self.rng.below(3) {
                0 => self.rng.pick(&NUMBERS).to_owned(),
                _ => self.variable(),
            };
        }
        let a = self.expr(depth - 1);
        let b = self.expr(depth - 1);
        match self.rng.below(12) {
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
            // The divisor is never 0, and INT_MIN / -1 cannot be.
            9 => {
                let (m, op) = (self.rng.pick(&NARROW), self.rng.pick(&["/", "%"]));
                let by = self
                    .rng
                    .pick(&["(((int)({b}) & 7) + 1)", "(((int)({b}) & 7) - 9)"]);
                format!("({m}({a}) {op} {})", by.replace("{b}", &b))
            }
            10 => {
                let (m, op) = (self.rng.pick(&NARROW), self.rng.pick(&["<<", ">>"]));
                format!("({m}({a}) {op} (({b}) & 7))")
            }
            _ => {
                let c = self.expr(depth - 1);
                format!("(({a}) ? ({b}) : ({c}))")
            }
        }
    }

    fn statement(&mut self, depth: usize) -> String {
        let to = self.variable();
        let value = self.expr(3);
        match self.rng.below(9) {
            0 => format!("{to}{};", self.rng.pick(&["++", "--"])),
            1 => format!("{}{to};", self.rng.pick(&["++", "--"])),
            2 | 3 => {
                let op = self.rng.pick(&["+=", "-=", "&=", "|=", "^="]);
                format!("{to} {op} {value};")
            }
            4 if depth > 0 => {
                let (a, b) = (self.statement(depth - 1), self.statement(depth - 1));
                format!("if ({value}) {{ {a} }} else {{ {b} }}")
            }
            5 if depth > 0 => {
                let (a, b) = (self.statement(depth - 1), self.statement(depth - 1));
                let c = self.statement(depth - 1);
                format!(
                    "switch (({value}) & 3) {{ case 0: {a} case 1: {b} break; case 2: break; default: {c} }}"
                )
            }
            6 if depth > 0 => {
                let a = self.statement(depth - 1);
                let i = format!("i{}_{depth}", self.rng.below(1000));
                format!("for (int {i} = 0; {i} < 3; {i}++) {{ {a} }}")
            }
            _ => format!("{to} = {value};"),
        }
    }

    /// Declarations outside of the function, and its body.
    fn text(&mut self) -> (String, String) {
        let (mut outside, mut body) = (String::new(), String::new());
        for (name, ty) in self.declared.clone() {
            let value = self.rng.pick(&NUMBERS);
            if name.starts_with('g') {
                let _ = writeln!(outside, "{ty} {name};");
                let _ = writeln!(body, "{name} = {value};");
            } else {
                let _ = writeln!(body, "{ty} {name} = {value};");
            }
        }
        for _ in 0..6 {
            let statement = self.statement(2);
            body.push_str(&statement);
            body.push('\n');
        }
        (outside, body)
    }
}

/// What the compiler's programs print.
fn compiled(programs: &[(Random, String, String)]) -> Vec<Vec<i64>> {
    let mut text = "#include <stdio.h>\n".to_owned();
    let mut calls = String::new();
    for (random, outside, body) in programs {
        let n = random.number;
        let _ = write!(text, "{outside}static void f{n}(void) {{\n{body}");
        for (name, _) in &random.declared {
            let _ = writeln!(text, "printf(\"%lld \", (long long){name});");
        }
        text.push_str("printf(\"\\n\"); }\n");
        let _ = write!(calls, "f{n}(); ");
    }
    let _ = writeln!(text, "int main(void) {{ {calls}return 0; }}");
    c_support::printed(&text)
}

#[test]
fn integers_are_those_of_the_compiler() {
    let count = 80 * c_support::soak();
    let mut programs = Vec::new();
    for number in 0..count {
        let mut random = Random::new(number);
        let (outside, body) = random.text();
        programs.push((random, outside, body));
    }
    let values = compiled(&programs);
    assert_eq!(values.len(), programs.len());
    let mut decided = 0;
    for ((random, outside, body), values) in programs.iter().zip(&values) {
        let program = |wrong: Option<usize>| {
            let mut text = format!("{outside}int main(void) {{\n{body}");
            for (k, ((name, _), value)) in random.declared.iter().zip(values).enumerate() {
                let value = value.wrapping_add(i64::from(wrong == Some(k)));
                let _ = writeln!(
                    text,
                    "check((long long){name} == {});",
                    c_support::literal(value)
                );
            }
            text.push_str("}\n");
            text
        };
        let text = program(None);
        match c_support::verdict(&text, Model::Sc).as_str() {
            "holds" => {
                decided += 1;
                let twin = program(Some(random.number % values.len()));
                let found = c_support::verdict(&twin, Model::Sc);
                assert_eq!(found, "violated: reach_error is called", "{twin}");
            }
            // Products and differences beyond 64 bits are not computed.
            found if found.starts_with("unknown") || found.starts_with("unsupported") => {}
            found => panic!("{found}\n{text}"),
        }
    }
    assert!(decided * 4 >= count * 3, "{decided} of {count} decided");
}
