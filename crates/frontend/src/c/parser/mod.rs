//! The *parser*: tokens to a [`File`], by recursive descent. C needs to know which
//! names are types, so scopes are kept while parsing; since they are at hand, types
//! are resolved here too, with `sizeof`, `typeof` and enumeration constants.
//!
//! Own rather than lang-c: that crate rejects `$` in names, `__auto_type`,
//! `__thread`, `__int128` and the statement expressions of gcc's headers, all of
//! which users' `.i` files hold.
//!
//! | file | term |
//! |---|---|
//! | `spec` | specifiers: types, storage, structs, enums |
//! | `decl` | declarators and initialisers |
//! | `stmt` | statements and functions |
//! | `expr` | expressions |
//! | `link` | several files as one program |
//! | `assembler`, `x86` | inline assembler, as C |
//! | `openmp` | directives of OpenMP, as C |
//! | `kernel` | the kernel's accesses, in litmus tests |
//! | `typing` | types and constant values of expressions |

mod assembler;
mod decl;
mod expr;
mod kernel;
mod link;
mod openmp;
mod spec;
mod stmt;
mod typing;
mod x86;

pub(super) use stmt::ASYNCHRONOUS;
pub(super) use typing::{Typing, constant};

use std::collections::HashMap;

use palisade_program::Span;
use palisade_syntax::{Cursor, Parser as Syntax};

use super::ast::{File, Item};
use super::lexer::{Kind, Token};
use super::packing::Packing;
use super::types::{DataModel, StructId, Type};
use super::{MAX_ERRORS, note_error};
use crate::diagnostic::Diagnostic;

/// Result of parsing a part; the error ends the statement or declaration around it.
type Parse<T> = Result<T, Diagnostic>;

/// The remedy where the syntax is wrong.
const C11: &str = "the file should be C11 as gcc accepts it";

/// What a name means.
#[derive(Clone, Debug)]
enum Meaning {
    Typedef(Type),
    Enumerator(i128),
    Variable(Type),
}

#[derive(Default)]
struct Scope {
    names: HashMap<String, Meaning>,
    tags: HashMap<String, Tag>,
}

#[derive(Clone)]
enum Tag {
    Struct(StructId),
    Enum(Type),
}

/// Parses preprocessed files, each with a short name, as one program (`link`). What cannot be
/// read is skipped, up to the end of the statement or declaration, so that more than one error
/// is found. `is_litmus`: names of the kernel's accesses are known.
pub(super) fn parse(
    units: &[(String, Vec<Token>)],
    model: DataModel,
    is_litmus: bool,
) -> Result<File, Vec<Diagnostic>> {
    let mut parser = Parser {
        cursor: Cursor::new(&NOTHING),
        model,
        is_litmus,
        file: File::default(),
        scopes: vec![Scope::default()],
        length: None,
        attributes: Attributes::default(),
        misaligned: std::collections::HashMap::new(),
        linker: link::Linker::default(),
        openmp: openmp::Around::default(),
        errors: Vec::new(),
    };
    parser.linker.several = units.len() > 1;
    for (name, tokens) in units {
        parser.start(name, tokens);
        while !parser.at_end() && parser.errors.len() < MAX_ERRORS {
            let start = parser.cursor.position();
            if let Err(error) = parser.external() {
                note_error(&mut parser.errors, error);
                parser.skip_external(start);
            }
        }
    }
    if parser.errors.is_empty() {
        Ok(parser.file)
    } else {
        Err(parser.errors)
    }
}

/// The tokens of no file.
const NOTHING: [Token; 1] = [Token {
    kind: Kind::End,
    span: Span { start: 0, end: 0 },
    own: false,
}];

struct Parser<'t> {
    cursor: Cursor<'t, Token>,
    model: DataModel,
    is_litmus: bool,
    file: File,
    scopes: Vec<Scope>,
    /// The length of the array declarator at hand, where it is no constant.
    length: Option<Box<super::ast::Expr>>,
    attributes: Attributes,
    /// Typedefs whose attributes say how they lie in memory.
    misaligned: std::collections::HashMap<String, Packing>,
    linker: link::Linker,
    openmp: openmp::Around,
    errors: Vec<Diagnostic>,
}

/// What the attributes at hand say of a type.
#[derive(Clone, Copy, Default)]
struct Attributes {
    /// `packed`, `aligned`: it lies otherwise in memory.
    packing: Packing,
    /// `mode(QI)` and its kin: the integer has this many bits.
    mode: Option<u8>,
}

impl<'t> Syntax<'t> for Parser<'t> {
    type Token = Token;
    type Error = Diagnostic;
    const MAX_DEPTH: u32 = 200;
    const MAX_CHAIN: u32 = u32::MAX;

    fn cursor(&self) -> &Cursor<'t, Token> {
        &self.cursor
    }

    fn cursor_mut(&mut self) -> &mut Cursor<'t, Token> {
        &mut self.cursor
    }

    fn too_deep(&mut self) -> Diagnostic {
        Diagnostic::error(self.span(), "unsupported: nested too deeply")
    }

    fn too_long(&mut self) -> Diagnostic {
        Diagnostic::error(self.span(), "unsupported: the expression is too long")
    }

    fn expected(&mut self, what: &str, help: &str) -> Diagnostic {
        self.unexpected(what).help(help)
    }
}

impl<'t> Parser<'t> {
    fn peek_at(&self, ahead: usize) -> &'t Token {
        self.cursor.peek_at(ahead)
    }

    /// From `start` up to the last token.
    fn from(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    fn expect(&mut self, punct: &'static str) -> Parse<Span> {
        self.need(punct, C11)
    }

    fn word(&self) -> Option<&'t str> {
        match &self.peek().kind {
            Kind::Ident(name) => Some(name),
            _ => None,
        }
    }

    fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    fn eat_word(&mut self, words: &[&str]) -> bool {
        let found = self.word().is_some_and(|w| words.contains(&w));
        if found {
            self.advance();
        }
        found
    }

    fn identifier(&mut self) -> Parse<(String, Span)> {
        match self.word() {
            Some(name) => {
                let name = name.to_owned();
                Ok((name, self.advance().span))
            }
            None => Err(self.unexpected("a name")),
        }
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let token = self.peek();
        let found = match &token.kind {
            Kind::Ident(name) => format!("`{name}`"),
            Kind::Int { value, .. } => format!("`{value}`"),
            Kind::Float(_) => "a floating-point number".to_owned(),
            Kind::Char(_) => "a character".to_owned(),
            Kind::Str(_) => "a string".to_owned(),
            Kind::Punct(p) => format!("`{p}`"),
            Kind::End => "the end of the file".to_owned(),
        };
        Diagnostic::error(token.span, format!("expected {expected}, found {found}")).help(C11)
    }

    fn lookup(&self, name: &str) -> Option<&Meaning> {
        self.scopes.iter().rev().find_map(|s| s.names.get(name))
    }

    fn bind(&mut self, name: &str, meaning: Meaning) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name.to_owned(), meaning);
        }
    }

    fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.scopes.push(Scope::default());
        let result = f(self);
        self.scopes.pop();
        result
    }

    /// Goes behind the statement that starts at token `start`.
    fn skip_statement(&mut self, start: usize) {
        let mut depth = 0_usize;
        self.cursor.seek(start);
        while !self.at_end() {
            if self.is("{") {
                depth += 1;
            } else if self.is("}") {
                // The end of the block around it.
                if depth == 0 {
                    return;
                }
                depth -= 1;
            }
            let ends = depth == 0 && (self.is(";") || self.is("}"));
            self.advance();
            if ends {
                return;
            }
        }
    }

    /// Goes behind the declaration or function that starts at token `start`.
    fn skip_external(&mut self, start: usize) {
        let (mut depth, mut is_function) = (0_usize, false);
        self.cursor.seek(start);
        while !self.at_end() {
            if self.is("{") {
                let before = &self.cursor.last().kind;
                is_function |= depth == 0 && *before == Kind::Punct(")");
                depth += 1;
            } else if self.is("}") {
                depth = depth.saturating_sub(1);
            }
            let ends = depth == 0 && (self.is(";") || (is_function && self.is("}")));
            self.advance();
            if ends {
                return;
            }
        }
    }

    fn item(&mut self, item: Item) {
        self.file.items.push(item);
    }
}
