//! *Programs with memory orders and control flow*, for RC11: conditions on what was read, loops that wait, loops that
//! count, locks, compare-and-swap, atomic blocks that wait. Most have finitely many executions;
//! histories of a few grow without end.

use std::fmt::Write;

use palisade_program::random::Rng;

/// Locations.
const CELLS: [&str; 2] = ["x", "y"];
/// Locals of each thread.
const LOCALS: [&str; 2] = ["a", "b"];

struct Writer<'r> {
    rng: &'r mut Rng,
    text: String,
    plain: bool,
    endless: bool,
    /// Statements that are left.
    budget: usize,
}

const SHARED: &str = "shared x = 0;\nshared y = 0;\nshared m = 0;\n";

/// A program of two or three threads. `plain`: some accesses are plain; `endless`: some loops store without end.
pub fn orderly(rng: &mut Rng, plain: bool, endless: bool) -> String {
    let mut text = SHARED.to_owned();
    let threads = 2 + rng.below(2);
    for t in 0..threads {
        let budget = if threads == 2 { 4 } else { 3 };
        let body = body(rng, (plain, endless), budget);
        let _ = writeln!(text, "thread t{t} {{\n{body}}}");
    }
    text
}

/// A program of any number of copies of one thread, and perhaps another one.
pub fn copied(rng: &mut Rng, plain: bool) -> String {
    let mut text = SHARED.to_owned();
    if rng.below(2) == 0 {
        let body = body(rng, (plain, false), 2);
        let _ = writeln!(text, "thread main {{\n{body}}}");
    }
    let body = body(rng, (plain, false), 3);
    let sum = rng.between(1, 3);
    let _ = writeln!(text, "thread t[*] {{\n{body}assert(a + b != {sum});\n}}");
    text
}

fn body(rng: &mut Rng, (plain, endless): (bool, bool), budget: usize) -> String {
    let mut writer = Writer {
        text: "local a = 0;\nlocal b = 0;\nlocal i = 0;\n".to_owned(),
        plain,
        endless,
        budget,
        rng,
    };
    writer.statements(0);
    writer.text
}

impl Writer<'_> {
    fn statements(&mut self, depth: usize) {
        let count = 1 + self.rng.below(3);
        for _ in 0..count {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.statement(depth);
        }
    }

    fn cell(&mut self) -> &'static str {
        CELLS[self.rng.below(CELLS.len())]
    }

    fn local(&mut self) -> &'static str {
        LOCALS[self.rng.below(LOCALS.len())]
    }

    fn load(&mut self) -> String {
        let cell = self.cell();
        if self.plain && self.rng.below(4) == 0 {
            return cell.to_owned();
        }
        let order = *self.rng.pick(&["relaxed", "acquire", "seq_cst"]);
        format!("load({cell}, {order})")
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn statement(&mut self, depth: usize) {
        let (cell, local, value) = (self.cell(), self.local(), self.rng.between(1, 2));
        let update = *self
            .rng
            .pick(&["relaxed", "acquire", "release", "acq_rel", "seq_cst"]);
        let kind = self.rng.below(if depth < 2 { 20 } else { 12 });
        match kind {
            0..4 => {
                let order = *self.rng.pick(&["relaxed", "release", "seq_cst"]);
                let value = self.rng.pick(&[value.to_string(), local.to_owned()]).clone();
                if self.plain && self.rng.below(4) == 0 {
                    self.line(&format!("{cell} = {value};"));
                } else {
                    self.line(&format!("store({cell}, {value}, {order});"));
                }
            }
            4..7 => {
                let load = self.load();
                self.line(&format!("{local} = {load};"));
            }
            7 => self.line(&format!("{local} = xchg({cell}, {value}, {update});")),
            8 => self.line(&format!("{local} = cas({cell}, 0, {value}, {update});")),
            9 => {
                let order = *self.rng.pick(&["acquire", "release", "acq_rel", "seq_cst"]);
                self.line(&format!("fence({order});"));
            }
            10 | 11 => {
                let other = self.local();
                let (left, right) = (self.rng.below(3), self.rng.below(3));
                self.line(&format!("assert(!({local} == {left} && {other} == {right}));"));
            }
            12 | 13 => {
                self.line(&format!("if ({local} == {}) {{", value - 1));
                self.statements(depth + 1);
                self.line("}");
            }
            14 => {
                let load = self.load();
                self.line(&format!("do {{ {local} = {load};"));
                if self.endless {
                    self.statements(depth + 1);
                }
                self.line(&format!("}} while ({local} == {});", value - 1));
            }
            15 => self.line(&format!("while (cas({cell}, 0, {value}, {update}) == 0) skip;")),
            16 => {
                self.line("i = 0;\nwhile (i < 2) {\ni = i + 1;");
                self.statements(depth + 2);
                self.line("}");
            }
            17 => {
                self.line("lock(m);");
                self.statements(depth + 1);
                self.line("unlock(m);");
            }
            18 => {
                let order = *self.rng.pick(&["acquire", "acq_rel", "seq_cst"]);
                self.line(&format!(
                    "atomic {{ {local} = load({cell}, {order}); assume({local} == {value}); }}"
                ));
            }
            _ => self.line(&format!(
                "atomic {{ {local} = load({cell}, {update}); assume({local} < 2); store({cell}, {local} + 1, {update}); }}"
            )),
        }
    }
}
