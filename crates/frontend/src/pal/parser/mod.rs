//! The *parser*: tokens to syntax tree, by recursive descent, with operator
//! precedence for expressions. After an error it skips to the next statement or
//! declaration and goes on, so that one run reports many errors. Nesting is
//! limited, so that no input exhausts the stack here or in later passes.

mod expr;
mod item;
mod stmt;

use std::collections::HashSet;

use palisade_program::{Source, Span};
pub(crate) use palisade_syntax::Parser as Syntax;
use palisade_syntax::{Cursor, Token as _};

use super::ast::{File, Name};
use super::lexer::Lexed;
use super::token::{Tok, Token, is_reserved};
use crate::diagnostic::Diagnostic;
pub(crate) use stmt::block;

/// How high an expression's tree may grow: the length of a chain such as `a + b + c ...`.
const MAX_HEIGHT: u16 = 300;
/// After so many errors the rest of the file is not looked at.
const MAX_ERRORS: usize = 50;

/// An error was reported; the caller passes it on to the next point of recovery.
pub(crate) struct Failed;
pub(crate) type Parse<T> = Result<T, Failed>;

/// What the parser hands on.
pub(crate) struct ParsedFile {
    pub(crate) file: File,
    pub(crate) errors: Vec<Diagnostic>,
    /// Names in the text that was skipped after errors: that they are unknown
    /// later is no error of its own.
    pub(crate) skipped: HashSet<String>,
}

/// Parses the tokens of `source`.
pub(crate) fn parse(source: &Source, lexed: &Lexed) -> ParsedFile {
    let mut parser = Parser::new(source, lexed);
    let file = parser.file();
    ParsedFile {
        file,
        errors: parser.errors,
        skipped: parser.skipped,
    }
}

/// A place in the tokens of a text: what the parsers of `.pal` and of heap programs have in common.
pub(crate) struct Parser<'a> {
    text: &'a str,
    cursor: Cursor<'a, Token>,
    pub(crate) errors: Vec<Diagnostic>,
    skipped: HashSet<String>,
}

impl AsMut<Self> for Parser<'_> {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl<'a> Syntax<'a> for Parser<'a> {
    type Token = Token;
    type Error = Failed;
    const MAX_DEPTH: u32 = 100;
    /// The height of a tree is limited instead.
    const MAX_CHAIN: u32 = u32::MAX;

    fn cursor(&self) -> &Cursor<'a, Token> {
        &self.cursor
    }

    fn cursor_mut(&mut self) -> &mut Cursor<'a, Token> {
        &mut self.cursor
    }

    fn too_deep(&mut self) -> Failed {
        let error = Diagnostic::error(self.span(), "the program nests too deeply")
            .label(format!("more than {} levels", Self::MAX_DEPTH))
            .help("name parts of it: locals for expressions, functions for statements");
        self.error(error)
    }

    fn too_long(&mut self) -> Failed {
        let error = Diagnostic::error(self.span(), "the expression is too long")
            .label(format!("more than {MAX_HEIGHT} operators in a chain"))
            .help("split it: keep parts in locals");
        self.error(error)
    }

    /// Reports that `what` was expected at the current token.
    fn expected(&mut self, what: &str, help: &str) -> Failed {
        let message = format!("expected {what}, found {}", self.found());
        let error = Diagnostic::error(self.span(), message)
            .label(format!("expected {what}"))
            .help(help);
        self.error(error)
    }

    /// Takes a symbol, which closes or separates something. When it is missing the
    /// error points right behind the last token: that is where it belongs.
    fn need(&mut self, symbol: &str, help: &str) -> Parse<Span> {
        if self.is(symbol) {
            return Ok(self.advance().span);
        }
        let missing_here = matches!(symbol, ";" | ")" | "]" | "}");
        let message = format!("expected `{symbol}`, found {}", self.found());
        let span = if missing_here && self.cursor.position() > 0 {
            let end = self.last_span().end as usize;
            Span::new(end, end)
        } else {
            self.span()
        };
        let error = Diagnostic::error(span, message)
            .label(format!("expected `{symbol}`"))
            .help(help);
        Err(self.error(error))
    }
}

impl<'a> Parser<'a> {
    /// A parser at the start of the text.
    pub(crate) fn new(source: &'a Source, lexed: &'a Lexed) -> Self {
        let mut errors = lexed.errors.clone();
        errors.truncate(MAX_ERRORS);
        Self {
            text: source.text(),
            cursor: Cursor::new(&lexed.tokens),
            errors,
            skipped: HashSet::new(),
        }
    }

    pub(crate) fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The text of the current token if it is a name or keyword, else "".
    pub(crate) fn word(&self) -> &'a str {
        self.word_at(0)
    }

    /// The text of the token `ahead` places behind it, likewise.
    pub(crate) fn word_at(&self, ahead: usize) -> &'a str {
        let token = self.cursor.peek_at(ahead);
        match token.kind {
            Tok::Name => self.slice(token.span),
            Tok::Int(_) | Tok::Sym(_) | Tok::End => "",
        }
    }

    /// Whether this symbol stands `ahead` places behind the current token.
    pub(crate) fn is_at(&self, ahead: usize, symbol: &str) -> bool {
        self.cursor.peek_at(ahead).is(symbol)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.word() == word
    }

    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// The current token as errors call it.
    pub(crate) fn found(&self) -> String {
        match self.peek().kind {
            Tok::End => "the end of the file".to_owned(),
            Tok::Sym(symbol) => format!("`{symbol}`"),
            Tok::Name if is_reserved(self.word()) => format!("keyword `{}`", self.word()),
            Tok::Name | Tok::Int(_) => {
                let text: String = self.slice(self.span()).chars().take(40).collect();
                format!("`{text}`")
            }
        }
    }

    pub(crate) fn error(&mut self, error: Diagnostic) -> Failed {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
        Failed
    }

    pub(crate) fn too_many_errors(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Takes a name that is not reserved; `what` says what it would name.
    pub(crate) fn name(&mut self, what: &str) -> Parse<Name> {
        let word = self.word();
        if word.is_empty() {
            return Err(self.expected(what, "write a name here"));
        }
        if is_reserved(word) {
            let message = format!("expected {what}, found keyword `{word}`");
            let error = Diagnostic::error(self.span(), message)
                .label("this word is reserved")
                .help(format!("choose another name, such as `{word}_`"));
            // Recovery must not take the word for the start of a statement.
            self.advance();
            return Err(self.error(error));
        }
        let text = word.to_owned();
        let span = self.advance().span;
        Ok(Name { text, span })
    }

    /// Complains about `=` where it would be a likely slip for `==`.
    pub(crate) fn no_assignment(&mut self) -> Parse<()> {
        if self.is("=") {
            let error = Diagnostic::error(self.span(), "assignment used as a condition")
                .label("this assigns")
                .help("use `==` to compare");
            return Err(self.error(error));
        }
        Ok(())
    }

    /// The number of the current token.
    pub(crate) const fn position(&self) -> usize {
        self.cursor.position()
    }

    /// Skips one token on the way to a point of recovery.
    pub(crate) fn skip(&mut self) {
        let word = self.word();
        if !word.is_empty() && !is_reserved(word) {
            self.skipped.insert(word.to_owned());
        }
        self.advance();
    }

    /// Remembers the names between token number `from` and here as skipped.
    pub(crate) fn mark_skipped(&mut self, from: usize) {
        let end = self.position();
        self.cursor.seek(from);
        while self.position() < end {
            self.skip();
        }
    }
}
