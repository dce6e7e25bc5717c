//! *Witnesses* of verdicts about C programs: what is asked, which files it is about, and
//! what the certificate shows in terms of C. Written where the format can say it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use palisade_certify::places::{Fact, by_place, can_wait_alone};
use palisade_certify::{Certificate, StateVar};
use palisade_frontend::c::DataModel;
use palisade_program::{
    AssertKind, Broken, Cell, MemoryError, Model, OPAQUE, Program, Span, UNINITIALISED, Verdict,
    Violation,
};
use palisade_report::witness::{self, Invariant, Subject};

use crate::c_task::{Property, Task};

/// Values of a variable that are listed; more are a range.
const LISTED: usize = 4;

/// A witness that is asked for.
pub(crate) struct Asked<'a> {
    /// Where it goes.
    pub(crate) path: &'a Path,
    pub(crate) task: &'a Task,
    pub(crate) program: &'a Program,
    pub(crate) model: Model,
}

impl Asked<'_> {
    /// Writes the witness; a note says why there is none. `proof` is the program that the
    /// certificate is about, and the certificate.
    pub(crate) fn write(
        &self,
        verdict: &Verdict,
        proof: Option<(&Program, &Certificate)>,
    ) -> Result<Option<String>> {
        let (program, source) = (self.program, &self.program.source);
        let no = |why: &str| Ok(Some(format!("no witness: {why}")));
        if self.model != Model::Sc {
            return no("the format knows sequential consistency only");
        }
        let (property, violation) = match verdict {
            Verdict::Unknown(_) => return no("there is no verdict"),
            Verdict::Holds => (Some(self.asked_property()), None),
            Verdict::Violated(violation) => (violated_property(violation), Some(violation)),
        };
        let Some(property) = property else {
            return no("the violated property has no name in the format");
        };
        let mut files = Vec::new();
        for file in self.task.files() {
            let name = file.display().to_string();
            let text = fs::read(file).with_context(|| format!("cannot read {name}"))?;
            files.push((name, text));
        }
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH);
        let subject = Subject {
            files,
            property,
            data_model: match self.task.data_model {
                DataModel::Lp64 => "LP64",
                DataModel::Ilp32 => "ILP32",
            },
            time: seconds.map_or(0, |time| time.as_secs()),
        };
        let text = if let Some(violation) = violation {
            let (trace, at) = (&violation.trace, violation.span);
            witness::violation(&subject, source, &program.names, trace, at)
        } else {
            let invariants = self.invariants(proof);
            witness::correctness(&subject, source, &program.names, &invariants)
        };
        let path = self.path.display();
        fs::write(self.path, text).with_context(|| format!("cannot write {path}"))?;
        Ok(None)
    }

    fn asked_property(&self) -> String {
        match &self.task.property {
            Property::Unreachable(function) => call_of(function),
            Property::NoOverflow => "G ! overflow".to_owned(),
            Property::NoRace => "G ! data-race".to_owned(),
            Property::ValidMemory => "G valid-free".to_owned(),
            Property::Cleanup => "G valid-memcleanup".to_owned(),
            Property::All if self.program.source.text().contains("reach_error") => {
                call_of("reach_error")
            }
            Property::All => call_of("__assert_fail"),
        }
    }

    /// What the proof shows of the values of global variables, at every loop; without loops,
    /// or if nothing can be said, that is true at the beginning of `main`.
    fn invariants(&self, proof: Option<(&Program, &Certificate)>) -> Vec<Invariant> {
        let source = &self.program.source;
        let known = proof.map(|(program, certificate)| values(program, certificate));
        let facts: Vec<String> = known.into_iter().flatten().collect();
        let Some((_, first)) = source.files().next() else {
            return Vec::new();
        };
        let places = loops(&source.text()[first.clone()]).into_iter();
        let places = places.map(|at| at + first.start);
        let places: Vec<usize> = places
            .filter(|&at| {
                self.program
                    .names
                    .function_at(Span::new(at, at + 1))
                    .is_some()
            })
            .collect();
        if facts.is_empty() || places.is_empty() {
            let functions = self.program.names.functions.iter();
            let mut main = functions.filter(|(name, _)| name == "main");
            let body = main.next().and_then(|(_, span)| {
                let text = source.slice(*span);
                let brace = text.find('{')? + 1;
                let rest = text[brace..].trim_start();
                Some(span.start as usize + text.len() - rest.len())
            });
            let value = if facts.is_empty() {
                "1".to_owned()
            } else {
                facts.join(" && ")
            };
            let at = body.unwrap_or(0);
            return vec![Invariant {
                span: Span::new(at, at + 1),
                value,
            }];
        }
        let value = facts.join(" && ");
        let invariant = |at: usize| Invariant {
            // Long enough to tell the keyword.
            span: Span::new(at, (at + 6).min(source.text().len())),
            value: value.clone(),
        };
        places.into_iter().map(invariant).collect()
    }
}

/// What is violated, in the words of SV-COMP.
fn violated_property(violation: &Violation) -> Option<String> {
    match &violation.broken {
        Broken::Deadlock | Broken::Progress | Broken::Unreachable(_) => None,
        Broken::DataRace | Broken::Property(_) => Some("G ! data-race".to_owned()),
        Broken::Assert(kind) => match kind {
            AssertKind::User => Some(call_of("__assert_fail")),
            AssertKind::ErrorCall(function) => Some(call_of(function)),
            AssertKind::SignedOverflow => Some("G ! overflow".to_owned()),
            AssertKind::Index | AssertKind::Domain | AssertKind::Language(_) => None,
            AssertKind::LockMisuse(_) | AssertKind::ThreadMisuse(_) => None,
            AssertKind::RemoteRace { .. } => Some("G ! data-race".to_owned()),
            AssertKind::EpochMisuse(_) => None,
            AssertKind::Uninitialised { .. } => None,
            AssertKind::Memory(error) => memory_property(*error).map(str::to_owned),
            AssertKind::Specification(_) | AssertKind::Unsupported(_) => None,
            AssertKind::BufferOverflow | AssertKind::Summary(_) => None,
            AssertKind::ListedValue => None,
        },
    }
}

/// Which part of `valid-memsafety` an error violates.
const fn memory_property(error: MemoryError) -> Option<&'static str> {
    match error {
        MemoryError::UseAfterFree
        | MemoryError::UseBeforeAllocation
        | MemoryError::UseAfterReturn
        | MemoryError::Null
        | MemoryError::Wild => Some("G valid-deref"),
        MemoryError::DoubleFree | MemoryError::InvalidFree => Some("G valid-free"),
        MemoryError::Leak => Some("G valid-memtrack"),
        MemoryError::Uninitialised => None,
    }
}

fn call_of(function: &str) -> String {
    format!("G ! call({function}())")
}

/// What holds of global variables in all states, as C expressions.
///
/// A certificate may speak of states in which no thread is between two accesses of shared
/// memory only. A thread that is can always go on without changing shared memory, unless it
/// waits for ever there: such programs get no facts.
fn values(program: &Program, certificate: &Certificate) -> Vec<String> {
    if can_wait_alone(program) {
        return Vec::new();
    }
    let mut all: BTreeMap<Cell, Option<BTreeSet<i64>>> = BTreeMap::new();
    let places = by_place(program, certificate);
    for (number, place) in places.iter().enumerate() {
        let here: BTreeMap<Cell, &BTreeSet<i64>> = place
            .facts
            .iter()
            .filter_map(|fact| match fact {
                Fact::Values {
                    variable: StateVar::Cell(cell),
                    values,
                    ..
                } => Some((*cell, values)),
                Fact::Values { .. } | Fact::Atom(_) => None,
            })
            .collect();
        if number == 0 {
            all.extend(
                here.iter()
                    .map(|(cell, values)| (*cell, Some((*values).clone()))),
            );
        }
        for (cell, known) in &mut all {
            let now = here.get(cell);
            *known = known.take().zip(now).map(|(a, b)| &a | *b);
        }
    }
    let facts = all.into_iter().filter_map(|(cell, values)| {
        let name = lvalue(program, cell)?;
        let values =
            values.filter(|values| !values.iter().any(|v| matches!(*v, UNINITIALISED | OPAQUE)))?;
        let (low, high) = (*values.first()?, *values.last()?);
        let fits = |value: i64| i32::try_from(value).is_ok();
        (fits(low) && fits(high)).then(|| match values.len() {
            1 => format!("{name} == {low}"),
            2..=LISTED => {
                let each = values.iter().map(|value| format!("{name} == {value}"));
                format!("({})", each.collect::<Vec<_>>().join(" || "))
            }
            _ => format!("{low} <= {name} && {name} <= {high}"),
        })
    });
    facts.collect()
}

/// A cell as C writes it, if it is an integer that is declared outside of functions.
fn lvalue(program: &Program, cell: Cell) -> Option<String> {
    let (variable, _) = program.variable_of(cell);
    let global = program.global(variable);
    let names = &program.names;
    if names.is_made_up(&global.name)
        || names.pointers.contains(&global.name)
        || names.function_at(global.span).is_some()
        || !global
            .name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_')
    {
        return None;
    }
    let line = program.source.line_at(global.span.start);
    let words: BTreeSet<&str> = line
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    let is_integer = [
        "int",
        "unsigned",
        "long",
        "short",
        "char",
        "_Bool",
        "bool",
        "atomic_int",
    ];
    let is_other = [
        "struct",
        "union",
        "float",
        "double",
        "typedef",
        "pthread_mutex_t",
    ];
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let declares = words.contains(global.name.as_str()) && !line.contains('*');
    (declares && has(&is_integer) && !has(&is_other)).then(|| program.cell_name(cell))
}

/// Where loops begin in a C text.
fn loops(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // The brace depth of each `do` whose `while` is to come.
    let mut open_do = Vec::new();
    let (mut at, mut depth, mut last) = (0, 0_usize, b';');
    while at < bytes.len() {
        let rest = &text[at..];
        let skipped = if rest.starts_with("//") || rest.starts_with('#') {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(quote) = rest.chars().next().filter(|c| *c == '"' || *c == '\'') {
            quoted_length(rest, quote)
        } else {
            0
        };
        if skipped > 0 {
            at += skipped;
            continue;
        }
        let byte = bytes[at];
        if byte.is_ascii_alphabetic() || byte == b'_' {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            match &rest[..length] {
                "for" => found.push(at),
                "do" => {
                    found.push(at);
                    open_do.push(depth);
                }
                "while" if open_do.last() == Some(&depth) && (last == b'}' || last == b';') => {
                    open_do.pop();
                }
                "while" => found.push(at),
                _ => {}
            }
            last = b'a';
            at += length;
            continue;
        }
        depth = match byte {
            b'{' => depth + 1,
            b'}' => depth.saturating_sub(1),
            _ => depth,
        };
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// How long a quoted text at the beginning of `text` is.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        is_end
    });
    end.map_or(text.len(), |(at, c)| at + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_begin_at_their_keywords() {
        let text = "int f() { while (x) ; do { for (;;) { } } while (y); /* for */ \
            do z(); while (0); while (1) { \"do\"; } }";
        let words: Vec<&str> = loops(text)
            .into_iter()
            .map(|at| text[at..].split([' ', '(']).next().unwrap_or_default())
            .collect();
        assert_eq!(words, ["while", "do", "for", "do", "while"]);
    }
}
