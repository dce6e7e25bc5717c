//! *Litmus tests in C*: threads `P0(int *x) { ... }` between the initial state and the
//! condition of a test, without a `main` and without anything to preprocess. Parameters
//! are the addresses of the shared locations of the same names.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use palisade_program::{Global, Init, LocalId, Orders, Source, Span, Template};

use super::ast::{File, Function, Item};
use super::lexer::{Kind, Origin, Token, lex};
use super::lower::litmus::{Location, Start, lower};
use super::parser;
use super::types::{DataModel, Type};
use crate::diagnostic::Diagnostic;
use crate::litmus::ty::Ty;

/// What tests may use without declaring it.
const PRELUDE: &str = include_str!("headers/litmus.h");

/// A parameter: the address of a location.
pub(crate) struct Param {
    /// Its name and that of the location,
    pub(crate) name: String,
    /// the type of the location,
    pub(crate) ty: Ty,
    /// and where it stands.
    pub(crate) span: Span,
    of: Type,
}

/// A thread.
pub(crate) struct Thread {
    /// `P0`
    pub(crate) name: String,
    /// Its parameters.
    pub(crate) params: Vec<Param>,
}

/// The code of a test.
pub(crate) struct Code {
    /// Its threads.
    pub(crate) threads: Vec<Thread>,
    /// The numbers that it writes.
    pub(crate) numbers: Vec<i128>,
    file: File,
}

/// A thread's variable in the program.
pub(crate) struct Register {
    /// The thread's position among all,
    pub(crate) thread: usize,
    /// the variable's name,
    pub(crate) name: String,
    /// its type,
    pub(crate) ty: Ty,
    /// and its place.
    pub(crate) local: LocalId,
}

/// The program of a test.
pub(crate) struct Program {
    /// The locations, then what else the threads need.
    pub(crate) globals: Vec<Global>,
    /// The threads.
    pub(crate) templates: Vec<Template>,
    /// Their variables.
    pub(crate) registers: Vec<Register>,
}

/// Parses the part of a test that holds its threads; `is_thread` knows their names.
pub(crate) fn parse(
    text: &str,
    part: Range<usize>,
    is_thread: fn(&str) -> bool,
) -> Result<Code, Vec<Diagnostic>> {
    let one = |e: Diagnostic| vec![e];
    let none = Source::default();
    // Blanks before the code keep spans as they are in the whole file.
    let padded = format!("{}{}", " ".repeat(part.start), &text[part.clone()]);
    let mut tokens = lex(&padded, &none, Origin::Itself(0)).map_err(one)?;
    if let Some(end) = tokens.last_mut() {
        end.span = Span::new(part.end, part.end);
    }
    let heads = heads(&tokens, is_thread).map_err(one)?;
    let number = |token: &Token| match &token.kind {
        Kind::Int { value, .. } => i128::try_from(*value).ok(),
        Kind::Char(value) => Some(i128::from(*value)),
        Kind::Ident(_) | Kind::Float(_) | Kind::Str(_) | Kind::Punct(_) | Kind::End => None,
    };
    let numbers = tokens.iter().filter_map(number).collect();
    let mut all = lex(PRELUDE, &none, Origin::Itself(0)).map_err(one)?;
    all.pop();
    for token in &mut all {
        token.span = Span::default();
        token.own = false;
    }
    all.append(&mut tokens);
    let file = parser::parse(&[(String::new(), all)], DataModel::Lp64, true)?;
    let mut threads = Vec::new();
    for (name, spans) in heads {
        let function = file.items.iter().find_map(|item| match item {
            Item::Function(f) if f.name == name => Some(f),
            Item::Function(_) | Item::Variable(_) => None,
        });
        let Some(function) = function else {
            let end = Span::new(part.end, part.end);
            return Err(one(Diagnostic::error(end, format!("{name} has no body"))));
        };
        let params = params(function, &spans).map_err(one)?;
        threads.push(Thread { name, params });
    }
    Ok(Code {
        threads,
        numbers,
        file,
    })
}

/// The names of the threads, and where their parameters stand.
fn heads(
    tokens: &[Token],
    is_thread: fn(&str) -> bool,
) -> Result<Vec<(String, Vec<Span>)>, Diagnostic> {
    let mut heads: Vec<(String, Vec<Span>)> = Vec::new();
    let mut rest = tokens.iter().peekable();
    while let Some(token) = rest.next() {
        let name = match &token.kind {
            Kind::Ident(word) if word == "static" || word == "void" => continue,
            Kind::Ident(name) => name,
            Kind::End if !heads.is_empty() => break,
            _ => {
                let message = "expected a thread such as `P0(int *x) { }`";
                return Err(Diagnostic::error(token.span, message));
            }
        };
        if !is_thread(name) {
            return Err(
                Diagnostic::error(token.span, format!("`{name}` is no thread"))
                    .help("threads are called P0, P1, ...; other functions are not supported"),
            );
        }
        if heads.iter().any(|(known, _)| known == name) {
            let message = format!("{name} is defined twice");
            return Err(Diagnostic::error(token.span, message));
        }
        // What else is wrong with it, the parser says.
        let (mut spans, mut depth, mut is_new) = (Vec::new(), 0_usize, true);
        for token in rest.by_ref() {
            if depth == 0 && !matches!(token.kind, Kind::Punct("(" | "{")) {
                let message = format!("expected the parameters or the body of {name}");
                return Err(Diagnostic::error(token.span, message));
            }
            match &token.kind {
                Kind::Punct("(" | "{" | "[") => depth += 1,
                Kind::Punct("}") if depth <= 1 => break,
                Kind::Punct(")" | "}" | "]") => depth = depth.saturating_sub(1),
                Kind::Punct(",") if depth == 1 => is_new = true,
                Kind::Ident(_) if depth == 1 && is_new => {
                    spans.push(token.span);
                    is_new = false;
                }
                Kind::Ident(_) | Kind::Punct("*") if depth == 1 => {
                    if let Some(span) = spans.last_mut() {
                        *span = span.to(token.span);
                    }
                }
                Kind::Ident(_) | Kind::Int { .. } | Kind::Float(_) | Kind::Char(_) => {}
                Kind::Str(_) | Kind::Punct(_) | Kind::End => {}
            }
        }
        heads.push((name.clone(), spans));
    }
    Ok(heads)
}

fn params(function: &Function, spans: &[Span]) -> Result<Vec<Param>, Diagnostic> {
    let mut params: Vec<Param> = Vec::new();
    for ((name, ty), span) in function.params.iter().zip(spans) {
        let name = name.clone().unwrap_or_default();
        let Some(of) = ty.pointee().cloned() else {
            return Err(Diagnostic::error(*span, "a parameter must be a pointer")
                .help(format!("it is the address of the location: `int *{name}`")));
        };
        let Some(ty) = scalar(&of) else {
            return Err(
                Diagnostic::error(*span, "a location must be an integer or a pointer")
                    .help("use a location of its own for each member"),
            );
        };
        if params.iter().any(|p| p.name == name) {
            let message = format!("two parameters are called `{name}`");
            return Err(Diagnostic::error(*span, message));
        }
        let span = *span;
        params.push(Param { name, ty, span, of });
    }
    Ok(params)
}

/// A type of one number as litmus tests have it.
pub(super) fn scalar(ty: &Type) -> Option<Ty> {
    match ty.plain() {
        Type::Bool => Some(Ty::unsigned(8)),
        Type::Int { bits, signed: true } => Some(Ty::signed(*bits)),
        Type::Int { bits, .. } => Some(Ty::unsigned(*bits)),
        Type::Pointer(_) => Some(Ty::pointer(DataModel::Lp64.word())),
        Type::Void | Type::Other(_) | Type::Array(..) | Type::VariableArray(_) => None,
        Type::Bits(_) => None,
        Type::Struct(_) | Type::Function(_) | Type::Atomic(_) | Type::Opaque(_) => None,
    }
}

impl Code {
    /// Lowers the threads. The locations are given with their types and addresses, and
    /// with what the threads' variables start as, by the thread's position and name.
    pub(crate) fn lower(
        &self,
        locations: &[(&Global, Ty, i64)],
        values: BTreeMap<(usize, String), i128>,
        orders: Orders,
    ) -> Result<Program, Vec<Diagnostic>> {
        let location = |(global, ty, address): &(&Global, Ty, i64)| {
            let of = self.type_of(&global.name, *ty);
            let first = |init: &Init| match init {
                Init::Value(value) if of == Type::Bool => Init::Value(i64::from(*value != 0)),
                Init::Value(_) | Init::Any => *init,
            };
            Location {
                init: global.init.iter().map(first).collect(),
                name: global.name.clone(),
                ty: match global.len {
                    Some(len) => Type::Array(Rc::new(of), Some(u64::from(len))),
                    None => of,
                },
                address: *address,
                span: global.span,
            }
        };
        let start = Start {
            threads: self.threads.iter().map(|t| t.name.clone()).collect(),
            locations: locations.iter().map(location).collect(),
            values,
        };
        let lowered = lower(&self.file, &start, orders)?;
        let registers = lowered
            .locals
            .into_iter()
            .filter_map(|(thread, name, ty, local)| {
                Some(Register {
                    thread,
                    name,
                    ty: scalar(&ty)?,
                    local,
                })
            });
        Ok(Program {
            registers: registers.collect(),
            globals: lowered.globals,
            templates: lowered.templates,
        })
    }

    /// The type of a location: as declared, or as the first parameter of its name says
    /// where that tells more.
    fn type_of(&self, name: &str, declared: Ty) -> Type {
        let mut params = self.threads.iter().flat_map(|t| &t.params);
        let of = params.find(|p| p.name == name).map(|p| &p.of);
        match of.map(Type::plain) {
            Some(of @ (Type::Bool | Type::Pointer(_))) => of.clone(),
            Some(of) if declared.pointer => of.clone(),
            None if declared.pointer => Type::pointer(Type::INT),
            Some(_) | None => Type::Int {
                bits: declared.bits,
                signed: declared.signed,
            },
        }
    }
}
