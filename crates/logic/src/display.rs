//! Terms and formulas as a person would write them: `x < y`, `t = s + 1`,
//! `x + 2 <= y`. Parts with negative coefficients move to the other side, and
//! the constant to where it is positive.

use crate::atom::{Atom, Literal, Relation};
use crate::formula::Formula;
use crate::names::{Names, Numbered};
use crate::term::{Int, Key, Term};
use std::fmt::{self, Display, Formatter};

/// A term, atom, literal or formula together with the names to print it with.
pub struct Named<'a, T> {
    item: &'a T,
    names: &'a dyn Names,
}

macro_rules! printed {
    ($($type:ty),*) => {$(
        impl $type {
            /// For printing with the variables' names.
            pub fn display<'a>(&'a self, names: &'a dyn Names) -> Named<'a, Self> {
                Named { item: self, names }
            }
        }

        impl Display for $type {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                self.display(&Numbered).fmt(f)
            }
        }
    )*};
}

printed!(Term, Atom, Literal, Formula);

impl Display for Named<'_, Term> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_sum(
            f,
            self.names,
            self.item.sum().iter().map(|(k, c)| (k, *c)),
            self.item.offset(),
        )
    }
}

impl Display for Named<'_, Atom> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_comparison(f, self.names, self.item, true)
    }
}

impl Display for Named<'_, Literal> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_comparison(f, self.names, &self.item.atom, self.item.positive)
    }
}

impl Display for Named<'_, Formula> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_formula(f, self.names, self.item, false)
    }
}

fn write_formula(
    f: &mut Formatter<'_>,
    names: &dyn Names,
    formula: &Formula,
    inside: bool,
) -> fmt::Result {
    match formula {
        Formula::True => f.write_str("true"),
        Formula::False => f.write_str("false"),
        Formula::Literal(literal) => write_comparison(f, names, &literal.atom, literal.positive),
        Formula::And(parts) => write_joined(f, names, parts, " && ", inside),
        Formula::Or(parts) => write_joined(f, names, parts, " || ", inside),
        Formula::Iff(sides) => {
            let parts = [sides.0.clone(), sides.1.clone()];
            write_joined(f, names, &parts, " <=> ", inside)
        }
    }
}

fn write_joined(
    f: &mut Formatter<'_>,
    names: &dyn Names,
    parts: &[Formula],
    between: &str,
    inside: bool,
) -> fmt::Result {
    if inside {
        f.write_str("(")?;
    }
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            f.write_str(between)?;
        }
        write_formula(f, names, part, true)?;
    }
    if inside {
        f.write_str(")")?;
    }
    Ok(())
}

/// Writes `left op right` with every coefficient positive.
fn write_comparison(
    f: &mut Formatter<'_>,
    names: &dyn Names,
    atom: &Atom,
    positive: bool,
) -> fmt::Result {
    let left: Vec<(&Key, Int)> = atom
        .sum()
        .iter()
        .filter(|p| p.1 > 0)
        .map(|(k, c)| (k, *c))
        .collect();
    let right: Vec<(&Key, Int)> = atom
        .sum()
        .iter()
        .filter(|p| p.1 < 0)
        .map(|(k, c)| (k, -c))
        .collect();
    let bound = atom.bound();
    // A strict comparison reads better where it removes the constant -1.
    let (operator, bound) = match (atom.relation(), positive) {
        (Relation::Eq, true) => ("=", bound),
        (Relation::Eq, false) => ("!=", bound),
        (Relation::Le, true) if bound == -1 => ("<", 0),
        (Relation::Le, true) => ("<=", bound),
        (Relation::Le, false) if bound == -1 => (">=", 0),
        (Relation::Le, false) if right.is_empty() || bound >= 0 => (">", bound),
        (Relation::Le, false) => (">=", bound + 1),
    };
    let turned = atom.relation() == Relation::Eq && bound < 0 && !right.is_empty();
    let (left, right, bound) = if turned {
        (right, left, -bound)
    } else {
        (left, right, bound)
    };
    let shift = if bound < 0 && !right.is_empty() {
        -bound
    } else {
        0
    };
    write_sum(f, names, left.into_iter(), shift)?;
    write!(f, " {operator} ")?;
    write_sum(f, names, right.into_iter(), bound + shift)
}

fn write_sum<'a>(
    f: &mut Formatter<'_>,
    names: &dyn Names,
    parts: impl Iterator<Item = (&'a Key, Int)>,
    constant: Int,
) -> fmt::Result {
    let mut first = true;
    for (key, coefficient) in parts {
        let sign = match (first, coefficient < 0) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        f.write_str(sign)?;
        if coefficient.abs() != 1 {
            write!(f, "{}*", coefficient.abs())?;
        }
        write_key(f, names, key)?;
        first = false;
    }
    match (first, constant) {
        (true, _) => write!(f, "{constant}"),
        (false, 0) => Ok(()),
        (false, c) if c < 0 => write!(f, " - {}", -c),
        (false, c) => write!(f, " + {c}"),
    }
}

fn write_key(f: &mut Formatter<'_>, names: &dyn Names, key: &Key) -> fmt::Result {
    match key {
        Key::Var(var) => f.write_str(&names.name(*var)),
        Key::Div(term, divisor) => write_operand(f, names, term, '/', *divisor),
        Key::Mod(term, divisor) => write_operand(f, names, term, '%', *divisor),
        Key::Ite(choice) => write!(
            f,
            "({} ? {} : {})",
            choice.condition.display(names),
            choice.then.display(names),
            choice.otherwise.display(names)
        ),
    }
}

fn write_operand(
    f: &mut Formatter<'_>,
    names: &dyn Names,
    term: &Term,
    operator: char,
    divisor: Int,
) -> fmt::Result {
    let term_text = term.display(names);
    if term.as_var().is_some() {
        write!(f, "({term_text} {operator} {divisor})")
    } else {
        write!(f, "(({term_text}) {operator} {divisor})")
    }
}
