//! Boolean programs as text, such that parsing gives the same tree again.

use std::fmt::{self, Display, Write};

use crate::ast::{
    BooleanProgram, Copies, Expr, ExprKind, Label, Op, Passive, Property, Statement, StatementKind,
    Target, Thread, Value, Variable,
};

/// Binding strengths, from `=>` to `!`.
const UNARY: u8 = 7;
const TERNARY: u8 = 1;

const fn strength(op: Op) -> u8 {
    match op {
        Op::Implies => 2,
        Op::Or => 3,
        Op::And => 4,
        Op::Iff => 5,
        Op::Xor => 6,
    }
}

/// An operator's symbol.
pub(crate) const fn symbol(op: Op) -> &'static str {
    match op {
        Op::And => "&&",
        Op::Or => "||",
        Op::Xor => "^",
        Op::Iff => "==",
        Op::Implies => "=>",
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::False => "0",
            Self::True => "1",
            Self::Any => "*",
        })
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

fn write_passive(f: &mut fmt::Formatter<'_>, passive: &Passive, name: &str) -> fmt::Result {
    match &passive.thread {
        Some(thread) => write!(f, "[{thread}.{name}]"),
        None => write!(f, "[{name}]"),
    }
}

impl Expr {
    fn write(&self, f: &mut fmt::Formatter<'_>, context: u8) -> fmt::Result {
        let own = match &*self.kind {
            ExprKind::Binary(op, ..) => strength(*op),
            ExprKind::Cond(..) => TERNARY,
            ExprKind::Not(_) | ExprKind::Value(_) | ExprKind::Name(_) => UNARY,
            ExprKind::Passive(..) | ExprKind::Next(_) | ExprKind::Location(..) => UNARY,
            ExprKind::Choose(..) => UNARY,
        };
        if own < context {
            f.write_char('(')?;
        }
        match &*self.kind {
            ExprKind::Value(value) => write!(f, "{value}")?,
            ExprKind::Name(name) => f.write_str(name)?,
            ExprKind::Passive(passive, name) => write_passive(f, passive, name)?,
            ExprKind::Next(name) => write!(f, "'{name}")?,
            ExprKind::Location(thread, label) => write!(f, "{thread}@{}", label.name)?,
            ExprKind::Not(e) => {
                f.write_char('!')?;
                e.write(f, UNARY)?;
            }
            ExprKind::Binary(op, a, b) => {
                a.write(f, own)?;
                write!(f, " {} ", symbol(*op))?;
                b.write(f, own + 1)?;
            }
            ExprKind::Cond(c, a, b) => {
                c.write(f, TERNARY + 1)?;
                f.write_str(" ? ")?;
                a.write(f, TERNARY + 1)?;
                f.write_str(" : ")?;
                b.write(f, TERNARY)?;
            }
            ExprKind::Choose(a, b) => {
                f.write_str("choose(")?;
                a.write(f, 0)?;
                f.write_str(", ")?;
                b.write(f, 0)?;
                f.write_char(')')?;
            }
        }
        if own < context {
            f.write_char(')')
        } else {
            Ok(())
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.passive {
            Some(passive) => write_passive(f, passive, &self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Items with commas between them.
fn commas<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    items.join(", ")
}

impl Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Display for StatementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assign {
                targets,
                values,
                constrain,
            } => {
                write!(f, "{} = {}", commas(targets), commas(values))?;
                match constrain {
                    Some(e) => write!(f, " constrain {e}"),
                    None => Ok(()),
                }
            }
            Self::Goto(labels) => write!(f, "goto {}", commas(labels)),
            Self::Assume(e) => write!(f, "assume {e}"),
            Self::Assert(e) => write!(f, "assert {e}"),
            Self::Skip => f.write_str("skip"),
        }
    }
}

/// A line with a note behind it.
fn line(f: &mut fmt::Formatter<'_>, text: &str, note: Option<&String>) -> fmt::Result {
    match note {
        Some(note) => writeln!(f, "{text} // {note}"),
        None => writeln!(f, "{text}"),
    }
}

fn variables(f: &mut fmt::Formatter<'_>, word: &str, list: &[Variable]) -> fmt::Result {
    for v in list {
        let text = format!("{word} {} = {};", v.name, v.init);
        line(f, &text, v.note.as_ref())?;
    }
    Ok(())
}

fn properties(f: &mut fmt::Formatter<'_>, word: &str, list: &[Property]) -> fmt::Result {
    for p in list {
        line(f, &format!("{word} {};", p.cond), p.note.as_ref())?;
    }
    Ok(())
}

impl Statement {
    fn write(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        let mut text = String::new();
        for label in &self.labels {
            write!(text, "{label}: ")?;
        }
        if self.labels.is_empty() {
            text.push_str("    ");
        }
        write!(text, "{};", self.kind)?;
        line(f, &format!("{indent}{text}"), self.note.as_ref())
    }
}

impl Thread {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = if self.name.is_some() { "    " } else { "" };
        if let Some(name) = &self.name {
            let copies = match self.copies {
                Copies::One => String::new(),
                Copies::Fixed(n) => format!("[{n}]"),
                Copies::Any => "[*]".to_owned(),
            };
            writeln!(f, "\nthread {name}{copies} {{")?;
        }
        variables(f, &format!("{indent}local"), &self.locals)?;
        for statement in &self.body {
            statement.write(f, indent)?;
        }
        for label in &self.end {
            writeln!(f, "{indent}{label}:")?;
        }
        match self.name {
            Some(_) => writeln!(f, "}}"),
            None => Ok(()),
        }
    }
}

impl Display for BooleanProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        variables(f, "shared", &self.shared)?;
        properties(f, "initially", &self.initially)?;
        for thread in &self.threads {
            thread.write(f)?;
        }
        if !self.never.is_empty() {
            writeln!(f)?;
        }
        properties(f, "never", &self.never)
    }
}
