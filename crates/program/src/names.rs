//! *Names*: what people call the things of a program in its source language. Reports use
//! them; nothing is decided by them.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Span;
use crate::{FREED, OPAQUE, UNINITIALISED};

/// What the source language has names for and the [`Program`](crate::Program) only
/// numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// Functions, with where they are defined.
    pub functions: Vec<(String, Span)>,
    /// What lies at an address: `q.array[3]`.
    pub addresses: BTreeMap<i64, String>,
    /// Shared variables that hold addresses.
    pub pointers: BTreeSet<String>,
    /// Shared variables that the front end made up: whether a thread was started, ...
    pub made_up: BTreeSet<String>,
}

/// The variable of a cell: `a` of `a[3]`.
fn variable(cell: &str) -> &str {
    match cell.strip_suffix(']').and_then(|c| c.rsplit_once('[')) {
        Some((variable, index)) if index.bytes().all(|b| b.is_ascii_digit()) => variable,
        Some(_) | None => cell,
    }
}

impl Names {
    /// The function that a place stands in.
    pub fn function_at(&self, span: Span) -> Option<&str> {
        let around = |of: &Span| of.start <= span.start && span.end <= of.end;
        let found = self.functions.iter().find(|(_, of)| around(of));
        found.map(|(name, _)| name.as_str())
    }

    /// The value of a cell: `?` if nobody has written it; `freed` if it is memory that was freed; the name of what it points to, if it holds an address.
    pub fn value(&self, cell: &str, value: i64) -> String {
        match value {
            UNINITIALISED | OPAQUE => return "?".to_owned(),
            FREED => return "freed".to_owned(),
            _ => {}
        }
        let target = self.addresses.get(&value);
        match target.filter(|_| self.pointers.contains(variable(cell))) {
            Some(target) => format!("&{target}"),
            None => value.to_string(),
        }
    }

    /// Whether users have never written this cell's name.
    pub fn is_made_up(&self, cell: &str) -> bool {
        self.made_up.contains(variable(cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_names_where_pointers_hold_them() {
        let names = Names {
            addresses: BTreeMap::from([(1_000_016, "node.next".to_owned())]),
            pointers: BTreeSet::from(["top".to_owned(), "slots".to_owned()]),
            ..Names::default()
        };
        assert_eq!(names.value("top", 1_000_016), "&node.next");
        assert_eq!(names.value("slots[2]", 1_000_016), "&node.next");
        assert_eq!(names.value("top", 0), "0");
        assert_eq!(names.value("count", 1_000_016), "1000016");
    }

    #[test]
    fn a_place_is_in_the_function_around_it() {
        let functions = [("f", 10, 20), ("g", 30, 50)];
        let functions = functions.map(|(name, from, to)| (name.to_owned(), Span::new(from, to)));
        let names = Names {
            functions: functions.to_vec(),
            ..Names::default()
        };
        assert_eq!(names.function_at(Span::new(31, 33)), Some("g"));
        assert_eq!(names.function_at(Span::new(22, 23)), None);
    }
}
