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
//! | `kernel` | the kernel's accesses, in litmus tests |
//! | `typing` | types and constant values of expressions |

mod assembler;
mod decl;
mod expr;
mod kernel;
mod link;
mod spec;
mod stmt;
mod typing;
mod x86;

pub(super) use typing::{Typing, constant};

use std::collections::HashMap;

use palisade_program::Span;

use super::ast::{File, Item};
use super::lexer::{Kind, Token};
use super::types::{DataModel, StructId, Type};
use super::{MAX_ERRORS, note_error};
use crate::diagnostic::Diagnostic;

/// Result of parsing a part; the error ends the statement or declaration around it.
type Parse<T> = Result<T, Diagnostic>;

/// Parentheses, blocks and operators nested deeper are refused: a recursive parser
/// must not run out of stack on any input.
const MAX_DEPTH: usize = 200;

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
    units: Vec<(String, Vec<Token>)>,
    model: DataModel,
    is_litmus: bool,
) -> Result<File, Vec<Diagnostic>> {
    let mut parser = Parser {
        tokens: Vec::new(),
        at: 0,
        depth: 0,
        model,
        is_litmus,
        file: File::default(),
        scopes: vec![Scope::default()],
        length: None,
        attributes: Attributes::default(),
        misaligned: std::collections::HashSet::new(),
        linker: link::Linker::default(),
        errors: Vec::new(),
    };
    parser.linker.several = units.len() > 1;
    for (name, tokens) in units {
        parser.start(name, tokens);
        while !parser.is_end() && parser.errors.len() < MAX_ERRORS {
            let start = parser.at;
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

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    model: DataModel,
    is_litmus: bool,
    file: File,
    scopes: Vec<Scope>,
    /// The length of the array declarator at hand, where it is no constant.
    length: Option<Box<super::ast::Expr>>,
    attributes: Attributes,
    /// Typedefs whose attributes say how they lie in memory.
    misaligned: std::collections::HashSet<String>,
    linker: link::Linker,
    errors: Vec<Diagnostic>,
}

/// What the attributes at hand say of a type.
#[derive(Clone, Copy, Default)]
struct Attributes {
    /// `packed`, `aligned`: it lies otherwise in memory.
    is_packed: bool,
    /// `packed`, of an enum: it is as small as can be.
    is_small: bool,
    /// `mode(QI)` and its kin: the integer has this many bits.
    mode: Option<u8>,
}

impl Parser {
    fn is_end(&self) -> bool {
        self.peek().kind == Kind::End
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn span(&self) -> Span {
        self.peek().span
    }

    /// The span of the token before.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// From `start` up to the last token.
    fn from(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    fn bump(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn is(&self, punct: &str) -> bool {
        matches!(&self.peek().kind, Kind::Punct(p) if *p == punct)
    }

    fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, punct: &'static str) -> Parse<Span> {
        if self.is(punct) {
            return Ok(self.bump().span);
        }
        Err(self.unexpected(&format!("`{punct}`")))
    }

    fn word(&self) -> Option<&str> {
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
        self.at += usize::from(found);
        found
    }

    fn identifier(&mut self) -> Parse<(String, Span)> {
        match self.word() {
            Some(name) => {
                let name = name.to_owned();
                Ok((name, self.bump().span))
            }
            None => Err(self.unexpected("a name")),
        }
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let token = self.peek();
        let found = match &token.kind {
            Kind::Ident(name) => format!("`{name}`"),
            Kind::Int { value, .. } => format!("`{value}`"),
            Kind::Float => "a floating-point number".to_owned(),
            Kind::Char(_) => "a character".to_owned(),
            Kind::Str(_) => "a string".to_owned(),
            Kind::Punct(p) => format!("`{p}`"),
            Kind::End => "the end of the file".to_owned(),
        };
        Diagnostic::error(token.span, format!("expected {expected}, found {found}"))
            .help("the file should be C11 as gcc accepts it")
    }

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Diagnostic::error(
                self.span(),
                "unsupported: nested too deeply",
            ));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
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
        self.at = start;
        while !self.is_end() {
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
            self.at += 1;
            if ends {
                return;
            }
        }
    }

    /// Goes behind the declaration or function that starts at token `start`.
    fn skip_external(&mut self, start: usize) {
        let (mut depth, mut is_function) = (0_usize, false);
        self.at = start;
        while !self.is_end() {
            if self.is("{") {
                let before = &self.tokens[self.at.saturating_sub(1)].kind;
                is_function |= depth == 0 && *before == Kind::Punct(")");
                depth += 1;
            } else if self.is("}") {
                depth = depth.saturating_sub(1);
            }
            let ends = depth == 0 && (self.is(";") || (is_function && self.is("}")));
            self.at += 1;
            if ends {
                return;
            }
        }
    }

    fn item(&mut self, item: Item) {
        self.file.items.push(item);
    }
}
