//! Reading the text of a certificate; the format is described in [`crate::print`](mod@crate::print).
//! Names are those of the program, so reading needs it. What is malformed is an
//! error with line and column; nothing is guessed or repaired.

use crate::atom_text::AtomReader;
use crate::buffer::{Buffer, Item};
use crate::buffer_summary::{BufferSummary, Keep, SummaryInvariant};
use crate::certificate::{Certificate, Control, Counters, Cube, Entry, Kind, Reachable, Summary};
use crate::fingerprint::Fingerprint;
use crate::names::StateNames;
use crate::remote::Pending;
use crate::remote_atomic::PendingAtomic;
use crate::state::{MAX_THREADS, StateVar};
use crate::token::{Placed, Token, tokens};
use crate::views::{flagged, subject};
use palisade_program::presence::Presence;
use palisade_program::{Cell, EdgeId, GlobalId, LineColumn, LocId, Model, Program, TemplateId};
use rustc_hash::FxHashMap;
use std::fmt;

/// A text that is no certificate of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// Where.
    pub position: LineColumn,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Tokens of the longest atom: formulas are trees that are walked by recursion.
const MAX_ATOM: usize = 4096;

/// Reads a certificate of `program`.
///
/// # Errors
/// The first line that is not as [`crate::print`](mod@crate::print) describes.
pub fn parse(program: &Program, text: &str) -> Result<Certificate, ParseError> {
    let mut lines = Lines::new(text);
    let mut first = lines.expect("palisade")?;
    first.word("certificate")?;
    if first.number::<u32>()? != 1 {
        return Err(first.error_before("this version of the format is not known"));
    }
    first.end()?;
    let fingerprint = fingerprint(&mut lines)?;
    let kind = kind(&mut lines)?;
    let model = model(&mut lines)?;
    let mut line = lines.expect("threads")?;
    let threads = line.number()?;
    if threads > MAX_THREADS {
        return Err(line.error_before("more threads than a certificate can speak of"));
    }
    line.end()?;
    let program = &*subject(program, kind);
    let mut certificate = Certificate::empty(fingerprint, kind, model, threads);
    certificate.present = presences(program, lines.clone())?;
    let flagged = flagged(program, &certificate).map_err(|_| ParseError {
        position: LineColumn { line: 1, column: 1 },
        message: "the program has no such locations to be present at".to_owned(),
    })?;
    let program = &*flagged;
    let instances = program.instances(threads);
    let mut reader = Reader {
        program,
        names: StateNames::of(program, &instances),
        atom_names: FxHashMap::default(),
        certificate,
        thread_count: instances.len(),
    };
    loop {
        let mut line = lines.next()?;
        match line.name()?.as_str() {
            "unbuffered" => {
                let edges = of_template(reader.program, &mut line)?.into_iter();
                let edges = edges.map(|(template, number)| (template, EdgeId(number)));
                reader.certificate.unbuffered.extend(edges);
            }
            "interference_free" => {
                let locs = of_template(reader.program, &mut line)?.into_iter();
                let locs = locs.map(|(template, number)| (template, LocId(number)));
                reader.certificate.interference_free.extend(locs);
            }
            // Read before, since flags are variables that other lines speak of.
            "present" => drop(of_template(reader.program, &mut line)?),
            "projects" => reader.projects(&mut line)?,
            "summary" => reader.summary(&mut line)?,
            "cells" => reader.cells(&mut line)?,
            "invariant" => reader.invariant(&mut line)?,
            "slots" => reader.slots(&mut line)?,
            "explicit" => reader.explicit(&mut line)?,
            "atom" => reader.atom(&mut line)?,
            "at" => reader.entry(&mut line)?,
            "end" => {
                line.end()?;
                lines.nothing_left()?;
                return Ok(reader.certificate);
            }
            _ => {
                let expected = "expected `unbuffered`, `interference_free`, `projects`, `present`, `summary`, `cells`, \
                                `invariant`, `slots`, `explicit`, `atom`, `at` or `end`";
                return Err(line.error_before(expected));
            }
        }
    }
}

fn fingerprint(lines: &mut Lines<'_>) -> Result<Fingerprint, ParseError> {
    // Hexadecimal digits are neither a name nor a number.
    let (text, error) = lines.raw("fingerprint")?;
    let text = text.trim();
    match u128::from_str_radix(text, 16) {
        Ok(value) if text.len() == 32 && !text.starts_with('+') => Ok(Fingerprint(value)),
        Ok(_) | Err(_) => Err(ParseError {
            message: "expected 32 hexadecimal digits".to_owned(),
            ..error
        }),
    }
}

fn kind(lines: &mut Lines<'_>) -> Result<Kind, ParseError> {
    let mut line = lines.expect("kind")?;
    let kind = match line.name()?.as_str() {
        "inductive" => Kind::Inductive,
        "stops" => Kind::Stops,
        "views" => Kind::Views,
        "reachable" => Kind::Reachable(Reachable {
            most: line.number()?,
            counters: counters(&mut line),
        }),
        "histories" => {
            let messages = line.number()?;
            let carried = match line.name()?.as_str() {
                "carried" => true,
                "bare" => false,
                _ => return Err(line.error_before("expected `carried` or `bare`")),
            };
            let events = line.number()?;
            let shifted = is_word(&mut line, "shifted");
            let prompt = is_word(&mut line, "prompt");
            let many = is_word(&mut line, "many");
            Kind::Histories(Summary {
                messages,
                carried,
                events,
                shifted,
                prompt,
                many,
            })
        }
        _ => return Err(line.error_before("this kind of certificate is not known")),
    };
    line.end()?;
    Ok(kind)
}

/// Whether this word comes next, which is passed then.
fn counters(line: &mut Line) -> Counters {
    let mut named = Counters::NAMED.into_iter();
    let found = named.find(|(_, word)| is_word(line, word));
    found.map_or(Counters::Exact, |(counters, _)| counters)
}

fn is_word(line: &mut Line, wanted: &str) -> bool {
    let found = matches!(line.peek(), Some(Token::Name(word)) if word == wanted);
    if found {
        line.skip();
    }
    found
}

fn model(lines: &mut Lines<'_>) -> Result<Model, ParseError> {
    let mut line = lines.expect("model")?;
    let model = match line.name()?.as_str() {
        "sc" => Model::Sc,
        "tso" => Model::Tso,
        "pso" => Model::Pso,
        "rma" => Model::Rma,
        "rc11" => Model::Rc11,
        _ => return Err(line.error_before("expected `sc`, `tso`, `pso`, `rma` or `rc11`")),
    };
    line.end()?;
    Ok(model)
}

/// A template and numbers of something of it.
fn of_template(program: &Program, line: &mut Line) -> Result<Vec<(TemplateId, u32)>, ParseError> {
    let template = template(program, line)?;
    numbers(template, line)
}

fn template(program: &Program, line: &mut Line) -> Result<TemplateId, ParseError> {
    let name = line.name()?;
    let unknown = || line.error_before(&format!("the program has no thread `{name}`"));
    program.template_named(&name).ok_or_else(unknown)
}

fn numbers(template: TemplateId, line: &mut Line) -> Result<Vec<(TemplateId, u32)>, ParseError> {
    let mut numbers = Vec::new();
    while line.peek().is_some() {
        numbers.push((template, line.number()?));
    }
    line.end()?;
    Ok(numbers)
}

/// All lines `present`.
fn presences(program: &Program, mut lines: Lines<'_>) -> Result<Vec<Presence>, ParseError> {
    let mut all = Vec::new();
    loop {
        let mut line = lines.next()?;
        match line.name()?.as_str() {
            "present" => {
                let template = template(program, &mut line)?;
                let locs = numbers(template, &mut line)?.into_iter();
                let locs = locs.map(|(_, loc)| LocId(loc)).collect();
                all.push(Presence { template, locs });
            }
            "at" | "end" => return Ok(all),
            _ => {}
        }
    }
}

struct Reader<'p> {
    program: &'p Program,
    names: StateNames,
    atom_names: FxHashMap<String, u32>,
    certificate: Certificate,
    thread_count: usize,
}

impl Reader<'_> {
    fn projects(&mut self, line: &mut Line) -> Result<(), ParseError> {
        while line.peek().is_some() {
            let name = line.name()?;
            let globals = &self.program.globals;
            let Some(var) = globals.iter().position(|g| g.name == name) else {
                return Err(line.error_before(&format!("the program has no variable `{name}`")));
            };
            self.certificate.forgotten.push(GlobalId::from(var));
        }
        line.end()
    }

    fn summary(&mut self, line: &mut Line) -> Result<(), ParseError> {
        let keep = match line.name()?.as_str() {
            "newest" => Keep::Newest,
            "oldest" => Keep::Oldest,
            _ => return Err(line.error_before("expected `newest` or `oldest`")),
        };
        let cells = line.number()?;
        let beyond = BufferSummary {
            cells,
            sizes: Vec::new(),
            keep,
            claims: Vec::new(),
            slots: Vec::new(),
        };
        if self.certificate.beyond.replace(beyond).is_some() {
            return Err(line.error_before("`summary` must stand once"));
        }
        line.end()
    }

    fn cells(&mut self, line: &mut Line) -> Result<(), ParseError> {
        let thread = self.thread(line)?;
        let mut cell = None;
        if line.sign("(") {
            cell = Some(self.cell(line)?);
            line.expect(")")?;
        }
        let cells = line.number()?;
        let Some(beyond) = &mut self.certificate.beyond else {
            return Err(line.error_before("`cells` must follow the line `summary`"));
        };
        beyond.sizes.push((thread, cell, cells));
        line.end()
    }

    fn invariant(&mut self, line: &mut Line) -> Result<(), ParseError> {
        let thread = self.thread(line)?;
        line.expect("(")?;
        let cell = self.cell(line)?;
        line.expect(")")?;
        let claim = match line.name()?.as_str() {
            "any" => SummaryInvariant::Any,
            "rising" => SummaryInvariant::Rising,
            "among" => {
                let mut values = Vec::new();
                while line.peek().is_some() {
                    values.push(line.signed()?);
                }
                SummaryInvariant::Among(values)
            }
            _ => return Err(line.error_before("expected `any`, `among` or `rising`")),
        };
        let Some(beyond) = &mut self.certificate.beyond else {
            return Err(line.error_before("an invariant must follow the line `summary`"));
        };
        beyond.claims.push((thread, cell, claim));
        line.end()
    }

    fn slots(&mut self, line: &mut Line) -> Result<(), ParseError> {
        let thread = self.thread(line)?;
        let (operation, slots) = (line.number()?, line.number()?);
        let Some(beyond) = &mut self.certificate.beyond else {
            return Err(line.error_before("`slots` must follow the line `summary`"));
        };
        beyond.slots.push((thread, operation, slots));
        line.end()
    }

    fn thread(&self, line: &mut Line) -> Result<u32, ParseError> {
        let name = line.name()?;
        let found = self.names.find_thread(&name);
        found.ok_or_else(|| line.error_before(&format!("the program has no thread `{name}`")))
    }

    fn cell(&self, line: &mut Line) -> Result<Cell, ParseError> {
        let name = line.name()?;
        let found = self.names.find_cell(&name);
        found.ok_or_else(|| line.error_before(&format!("the program has no cell `{name}`")))
    }

    fn explicit(&mut self, line: &mut Line) -> Result<(), ParseError> {
        if !self.certificate.entries.is_empty() || !self.certificate.explicit.is_empty() {
            return Err(line.error_before("`explicit` must stand once, before the entries"));
        }
        loop {
            let var = self.state_var(line)?;
            self.certificate.explicit.push(var);
            if !line.sign(",") {
                return line.end();
            }
        }
    }

    fn state_var(&self, line: &mut Line) -> Result<StateVar, ParseError> {
        let name = line.name()?;
        let found = self.names.find(&name);
        found.ok_or_else(|| line.error_before(&format!("the program has no variable `{name}`")))
    }

    fn atom(&mut self, line: &mut Line) -> Result<(), ParseError> {
        let name = line.name()?;
        let number = self.certificate.atoms.len() as u32;
        if self.atom_names.insert(name, number).is_some() {
            return Err(line.error_before("this atom was defined before"));
        }
        line.expect(":")?;
        if line.tokens.len() > MAX_ATOM {
            return Err(line.error("this atom is too long"));
        }
        let atom = AtomReader {
            line,
            names: &self.names,
            depth: 0,
        }
        .read()?;
        self.certificate.atoms.push(atom);
        line.end()
    }

    fn entry(&mut self, line: &mut Line) -> Result<(), ParseError> {
        let locs = self.locs(line)?;
        let values = self.values(line)?;
        let buffers = self.buffers(line)?;
        line.expect(":")?;
        let cubes = self.cubes(line)?;
        line.end()?;
        let control = Control {
            locs,
            buffers,
            values,
        };
        self.certificate.entries.push(Entry { control, cubes });
        Ok(())
    }

    fn locs(&self, line: &mut Line) -> Result<Vec<LocId>, ParseError> {
        let mut locs = Vec::new();
        for thread in 0..self.thread_count {
            let name = line.name()?;
            let expected = self.names.thread(thread as u32);
            if name != expected {
                return Err(line.error_before(&format!("expected thread `{expected}`")));
            }
            line.expect("@")?;
            locs.push(LocId(line.number()?));
        }
        Ok(locs)
    }

    fn values(&self, line: &mut Line) -> Result<Vec<Option<i64>>, ParseError> {
        let mut values = Vec::new();
        for (i, var) in self.certificate.explicit.iter().enumerate() {
            if i == 0 {
                line.word("with")?;
            } else {
                line.expect(",")?;
            }
            if self.state_var(line)? != *var {
                let expected = self.names.state_var(*var);
                return Err(line.error_before(&format!("expected the value of `{expected}`")));
            }
            line.expect("=")?;
            values.push(if line.sign("*") {
                None
            } else {
                Some(line.signed()?)
            });
        }
        Ok(values)
    }

    fn buffers(&self, line: &mut Line) -> Result<Vec<Buffer>, ParseError> {
        let mut buffers = vec![Buffer::default(); self.thread_count];
        if !line.is_word("buffers") {
            return Ok(buffers);
        }
        line.name()?;
        loop {
            let thread = self.thread(line)?;
            if !buffers[thread as usize].is_empty() {
                return Err(line.error_before("this thread's buffer was given before"));
            }
            line.expect("(")?;
            buffers[thread as usize] = self.buffer(line)?;
            if line.is_sign(":") {
                return Ok(buffers);
            }
        }
    }

    fn buffer(&self, line: &mut Line) -> Result<Buffer, ParseError> {
        let mut items = Vec::new();
        let mut many = Vec::new();
        let mut pending = Vec::new();
        let mut sets = Vec::new();
        let mut atomics = Vec::new();
        while !line.sign(")") {
            if line.sign("|") {
                items.push(Item::Fence);
                continue;
            }
            if self.certificate.model == Model::Rma {
                if line.is_word("more") {
                    line.name()?;
                    sets.push(line.number()?);
                } else if line.is_word("atomic") || line.is_word("applied") {
                    atomics.push(PendingAtomic {
                        applied: line.name()? == "applied",
                        operation: line.number()?,
                        slot: line.number()?,
                        got: line.number()?,
                    });
                } else {
                    pending.push(pending_operation(line)?);
                }
                continue;
            }
            let cell = self.cell(line)?;
            if !line.sign("+") {
                items.push(Item::Store(cell));
            } else if items.is_empty() {
                many.push(cell);
            } else {
                return Err(line.error_before("cells with `+` stand before all others"));
            }
        }
        Ok(Buffer {
            items,
            many,
            pending,
            sets,
            atomics,
        })
    }

    fn cubes(&self, line: &mut Line) -> Result<Vec<Cube>, ParseError> {
        if line.is_word("false") {
            line.name()?;
            return Ok(Vec::new());
        }
        let mut cubes = Vec::new();
        loop {
            cubes.push(self.cube(line)?);
            if !line.sign("|") {
                return Ok(cubes);
            }
        }
    }

    fn cube(&self, line: &mut Line) -> Result<Cube, ParseError> {
        if line.is_word("true") {
            line.name()?;
            return Ok(Cube::TRUE);
        }
        let mut literals = Vec::new();
        loop {
            let positive = !line.sign("!");
            let name = line.name()?;
            let Some(atom) = self.atom_names.get(&name) else {
                return Err(line.error_before(&format!("there is no atom `{name}`")));
            };
            literals.push((*atom, positive));
            if !line.sign("&") {
                return Ok(Cube(literals));
            }
        }
    }
}

/// `issued 2 0` or `read 2 0`.
fn pending_operation(line: &mut Line) -> Result<Pending, ParseError> {
    let read = match line.name()?.as_str() {
        "read" => true,
        "issued" => false,
        _ => return Err(line.error_before("expected `issued` or `read`")),
    };
    Ok(Pending {
        operation: line.number()?,
        slot: line.number()?,
        read,
    })
}

/// The lines of the text that are not empty.
#[derive(Clone)]
struct Lines<'a> {
    rest: std::iter::Enumerate<std::str::Lines<'a>>,
    last: u32,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let rest = text.lines().enumerate();
        Self { rest, last: 0 }
    }

    fn next(&mut self) -> Result<Line, ParseError> {
        for (number, text) in self.rest.by_ref() {
            let line = number as u32 + 1;
            self.last = line;
            let tokens = tokens(text).map_err(|bad| ParseError {
                position: LineColumn {
                    line,
                    column: bad.column,
                },
                message: bad.what.to_owned(),
            })?;
            if !tokens.is_empty() {
                let width = text.chars().count() as u32;
                return Ok(Line {
                    tokens,
                    at: 0,
                    number: line,
                    width,
                });
            }
        }
        Err(self.end_of_text())
    }

    /// After `end` there are only blank lines and comments.
    fn nothing_left(&mut self) -> Result<(), ParseError> {
        match self.next() {
            Ok(line) => Err(line.error_before("nothing may follow the line `end`")),
            Err(error) if error == self.end_of_text() => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn end_of_text(&self) -> ParseError {
        let position = LineColumn {
            line: self.last + 1,
            column: 1,
        };
        let message = "the certificate ends too early: the line `end` is missing".to_owned();
        ParseError { position, message }
    }

    /// The next line, which must begin with `word`.
    fn expect(&mut self, word: &str) -> Result<Line, ParseError> {
        let mut line = self.next()?;
        line.word(word)?;
        Ok(line)
    }

    /// The rest of the next line after `word`, and an error that points there.
    fn raw(&mut self, word: &str) -> Result<(&'a str, ParseError), ParseError> {
        for (number, text) in self.rest.by_ref() {
            self.last = number as u32 + 1;
            if text.trim().is_empty() {
                continue;
            }
            let position = LineColumn {
                line: self.last,
                column: 1,
            };
            let message = format!("expected `{word}`");
            let error = ParseError { position, message };
            let rest = text.trim_start().strip_prefix(word);
            return rest.map_or(Err(error.clone()), |rest| Ok((rest, error)));
        }
        Err(self.end_of_text())
    }
}

/// The tokens of one line and a place among them.
pub(crate) struct Line {
    tokens: Vec<Placed>,
    at: usize,
    number: u32,
    width: u32,
}

impl Line {
    fn error_at(&self, at: usize, message: &str) -> ParseError {
        let column = self.tokens.get(at).map_or(self.width + 1, |t| t.column);
        let line = self.number;
        let message = message.to_owned();
        ParseError {
            position: LineColumn { line, column },
            message,
        }
    }

    /// An error at the token that was read last.
    pub(crate) fn error_before(&self, message: &str) -> ParseError {
        self.error_at(self.at.saturating_sub(1), message)
    }

    /// An error at the next token.
    pub(crate) fn error(&self, message: &str) -> ParseError {
        self.error_at(self.at, message)
    }

    /// The next token without taking it.
    pub(crate) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|placed| &placed.token)
    }

    /// Takes the next token.
    pub(crate) fn skip(&mut self) {
        self.at += 1;
    }

    pub(crate) fn name(&mut self) -> Result<String, ParseError> {
        match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.skip();
                Ok(name)
            }
            Some(Token::Number(_) | Token::Sign(_)) | None => Err(self.error("expected a name")),
        }
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, ParseError> {
        let parsed = match self.peek() {
            Some(Token::Number(digits)) => digits.parse().ok(),
            Some(Token::Name(_) | Token::Sign(_)) | None => None,
        };
        let number = parsed.ok_or_else(|| self.error("expected a number"))?;
        self.skip();
        Ok(number)
    }

    fn signed(&mut self) -> Result<i64, ParseError> {
        let negative = self.sign("-");
        let value: i128 = self.number()?;
        let value = if negative { -value } else { value };
        i64::try_from(value).map_err(|_| self.error_before("this number exceeds 64 bits"))
    }

    /// Whether the next token is this sign.
    pub(crate) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(s)) if *s == sign)
    }

    /// Takes the next token if it is this sign.
    pub(crate) fn sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.sign(sign) {
            return Ok(());
        }
        Err(self.error(&format!("expected `{sign}`")))
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(name)) if name == word)
    }

    fn word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.is_word(word) {
            self.skip();
            return Ok(());
        }
        Err(self.error(&format!("expected `{word}`")))
    }

    fn end(&mut self) -> Result<(), ParseError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("expected the end of the line")),
        }
    }
}
