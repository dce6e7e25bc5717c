//! The *parser*: tokens to syntax tree, by recursive descent, with operator
//! precedence for expressions. After an error it skips to the next statement or
//! declaration and goes on, so that one run reports many errors. Nesting is
//! limited, so that no input exhausts the stack here or in later passes.

mod expr;
mod item;
mod stmt;

use std::collections::HashSet;

use palisade_program::{Source, Span};

use super::ast::{File, Name};
use super::lexer::Lexed;
use super::token::{Tok, Token, is_reserved};
use crate::diagnostic::Diagnostic;
pub(crate) use stmt::block;

/// How deep statements and parentheses may nest.
const MAX_DEPTH: u32 = 100;
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
pub(crate) fn parse(source: &Source, lexed: Lexed) -> ParsedFile {
    let mut parser = Parser::new(source, lexed);
    let file = parser.file();
    ParsedFile {
        file,
        errors: parser.errors,
        skipped: parser.skipped,
    }
}

/// The tokens of a text with a place in them: what the parsers of `.pal` and of heap
/// programs have in common is here.
pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    pub(crate) at: usize,
    pub(crate) errors: Vec<Diagnostic>,
    skipped: HashSet<String>,
    pub(crate) depth: u32,
}

impl AsMut<Self> for Parser<'_> {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl<'a> Parser<'a> {
    /// A parser at the start of the text.
    pub(crate) fn new(source: &'a Source, lexed: Lexed) -> Self {
        let mut errors = lexed.errors;
        errors.truncate(MAX_ERRORS);
        Self {
            text: source.text(),
            tokens: lexed.tokens,
            at: 0,
            errors,
            skipped: HashSet::new(),
            depth: 0,
        }
    }

    pub(crate) fn token(&self) -> Token {
        self.tokens[self.at]
    }

    pub(crate) fn token_after(&self, n: usize) -> Token {
        self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    pub(crate) fn span(&self) -> Span {
        self.token().span
    }

    /// The span of the token before the current one.
    pub(crate) fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    pub(crate) fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The text of the current token if it is a name or keyword, else "".
    pub(crate) fn word(&self) -> &'a str {
        self.word_at(self.token())
    }

    pub(crate) fn word_at(&self, token: Token) -> &'a str {
        match token.kind {
            Tok::Name => self.slice(token.span),
            Tok::Int(_) | Tok::Sym(_) | Tok::End => "",
        }
    }

    pub(crate) fn at_end(&self) -> bool {
        self.token().kind == Tok::End
    }

    pub(crate) fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != Tok::End {
            self.at += 1;
        }
        token
    }

    pub(crate) fn is_sym(&self, symbol: &str) -> bool {
        matches!(self.token().kind, Tok::Sym(s) if s == symbol)
    }

    pub(crate) fn sym_after(&self, n: usize, symbol: &str) -> bool {
        matches!(self.token_after(n).kind, Tok::Sym(s) if s == symbol)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.word() == word
    }

    pub(crate) fn eat_sym(&mut self, symbol: &str) -> bool {
        let found = self.is_sym(symbol);
        if found {
            self.at += 1;
        }
        found
    }

    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.at += 1;
        }
        found
    }

    /// The current token as errors call it.
    pub(crate) fn found(&self) -> String {
        match self.token().kind {
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

    /// Reports that `what` was expected at the current token.
    pub(crate) fn expected(&mut self, what: &str, help: &str) -> Failed {
        let message = format!("expected {what}, found {}", self.found());
        let error = Diagnostic::error(self.span(), message)
            .label(format!("expected {what}"))
            .help(help);
        self.error(error)
    }

    /// Takes `symbol`, which closes or separates something. When it is missing the
    /// error points right behind the last token: that is where it belongs.
    pub(crate) fn need_sym(&mut self, symbol: &'static str, help: &str) -> Parse<Span> {
        if self.is_sym(symbol) {
            return Ok(self.advance().span);
        }
        let missing_here = matches!(symbol, ";" | ")" | "]" | "}");
        let message = format!("expected `{symbol}`, found {}", self.found());
        let span = if missing_here && self.at > 0 {
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
        if self.is_sym("=") {
            let error = Diagnostic::error(self.span(), "assignment used as a condition")
                .label("this assigns")
                .help("use `==` to compare");
            return Err(self.error(error));
        }
        Ok(())
    }

    /// Runs `f` one level deeper.
    pub(crate) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            let error = Diagnostic::error(self.span(), "the program nests too deeply")
                .label(format!("more than {MAX_DEPTH} levels"))
                .help("name parts of it: locals for expressions, functions for statements");
            return Err(self.error(error));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
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
        let end = self.at;
        self.at = from.min(end);
        while self.at < end {
            self.skip();
        }
    }
}
