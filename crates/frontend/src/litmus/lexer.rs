//! Tokens of a litmus test. One token type serves all sections: the initial
//! state, assembly and the condition differ in grammar, not in spelling (C has a
//! lexer of its own). Every token keeps its span in the whole file.

use palisade_program::Span;
use palisade_syntax::{Cursor, Parser, Scanner, scanner::Unclosed};

use super::Failure;
use crate::diagnostic::Diagnostic;

/// What a token is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Tok {
    /// A word: letters, digits, `_`, `.`, `$` (not first in code).
    Name(String),
    /// `P0`, where a processor may stand; everywhere else it is a name.
    Number(i128),
    /// Punctuation, one of [`PUNCTUATION`].
    Punct(&'static str),
    /// `"..."`
    Text(String),
    /// The end of the section.
    End,
}

/// A token and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    /// What it is.
    pub(super) tok: Tok,
    /// Where it stands.
    pub(super) span: Span,
}

/// Longest first, so that the first match is the right one.
const PUNCTUATION: [&str; 48] = [
    "<<=", ">>=", "/\\", "\\/", "==", "!=", "<>", "=>", "<=", ">=", "&&", "||", "<<", ">>", "++",
    "--", "+=", "-=", "|=", "&=", "^=", "*=", "->", ";", ",", "|", "(", ")", "[", "]", "{", "}",
    ":", "=", "<", ">", "+", "-", "*", "/", "%", "&", "!", "~", "^", "$", "?", "#",
];

/// How comments look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comments {
    /// `(* *)`, `//` and `#`: assembly, initial state, condition.
    Herd,
    /// `/* */` and `//`.
    C,
}

/// The tokens of `text[range]`, ended by [`Tok::End`].
pub(super) fn tokens(text: &str, range: std::ops::Range<usize>) -> Result<Vec<Token>, Failure> {
    let mut at = range.start;
    let end = range.end;
    let mut out = Vec::new();
    while let Some(next) = skip_blank(text, at, end)? {
        let (tok, after) = token(text, next, end)?;
        out.push(Token {
            tok,
            span: Span::new(next, after),
        });
        at = after;
    }
    out.push(Token {
        tok: Tok::End,
        span: Span::new(end, end),
    });
    Ok(out)
}

/// The first place at or after `at` that is neither blank nor comment.
fn skip_blank(text: &str, mut at: usize, end: usize) -> Result<Option<usize>, Failure> {
    loop {
        let rest = &text[at..end];
        let trimmed = rest.trim_start();
        at = end - trimmed.len();
        if trimmed.is_empty() {
            return Ok(None);
        }
        match comment_end(text, at, end, Comments::Herd) {
            Ok(Some(after)) => at = after,
            Ok(None) => return Ok(Some(at)),
            Err(failure) => return Err(failure),
        }
    }
}

/// Where the comment that starts at `at` ends; `None` if none starts there.
pub(super) fn comment_end(
    text: &str,
    at: usize,
    end: usize,
    comments: Comments,
) -> Result<Option<usize>, Failure> {
    let rest = &text[at..end];
    let line = || at + rest.find('\n').unwrap_or(rest.len());
    if rest.starts_with("//") || (comments == Comments::Herd && rest.starts_with('#')) {
        return Ok(Some(line()));
    }
    let (open, close, nests) = match comments {
        Comments::C => ("/*", "*/", false),
        Comments::Herd => ("(*", "*)", true),
    };
    match Scanner::new(&text[..end], at).comment(open, close, nests) {
        Ok(comment) => Ok(comment.map(|span| span.end as usize)),
        Err(Unclosed(span)) => Err(Diagnostic::error(span, "unterminated comment")
            .help(format!("close it with `{close}`"))
            .into()),
    }
}

fn token(text: &str, at: usize, end: usize) -> Result<(Tok, usize), Failure> {
    let rest = &text[at..end];
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_ascii_digit() {
        return number(rest, at);
    }
    if is_word_start(first) {
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        return Ok((Tok::Name(rest[..length].to_owned()), at + length));
    }
    if first == '"' {
        return match rest[1..].find('"') {
            Some(i) => Ok((Tok::Text(rest[1..=i].to_owned()), at + i + 2)),
            None => Err(Diagnostic::error(Span::new(at, at + 1), "unterminated string").into()),
        };
    }
    if let Some(p) = PUNCTUATION.iter().find(|p| rest.starts_with(**p)) {
        return Ok((Tok::Punct(p), at + p.len()));
    }
    let span = Span::new(at, at + first.len_utf8());
    Err(Diagnostic::error(
        span,
        format!("unexpected character `{}`", first.escape_default()),
    )
    .into())
}

/// A decimal or hexadecimal number. Letters right behind it are an error, so
/// that `0xzz` or `12ab` is not read as two tokens.
fn number(rest: &str, at: usize) -> Result<(Tok, usize), Failure> {
    let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    let word = &rest[..length];
    let lower = word.to_ascii_lowercase();
    // C's suffixes: `1U`, `2UL`.
    let digits = match lower.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex.trim_end_matches(['u', 'l']), 16),
        None => lower.trim_end_matches(['u', 'l']).parse(),
    };
    match digits {
        Ok(value) if value <= i128::from(u64::MAX) => Ok((Tok::Number(value), at + length)),
        Ok(_) => Err(
            Diagnostic::error(Span::new(at, at + length), "number out of range")
                .help("values have at most 64 bits")
                .into(),
        ),
        Err(_) => Err(Diagnostic::error(
            Span::new(at, at + length),
            format!("`{word}` is not a number"),
        )
        .help("numbers are decimal, or hexadecimal with `0x`")
        .into()),
    }
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '.'
}

/// Whether `c` may continue a word.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

impl palisade_syntax::Token for Token {
    type Span = Span;

    fn span(&self) -> Span {
        self.span
    }

    fn is(&self, text: &str) -> bool {
        matches!(self.tok, Tok::Punct(p) if p == text)
    }

    fn is_end(&self) -> bool {
        self.tok == Tok::End
    }
}

/// A place in a section.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a>(Cursor<'a, Token>);

impl<'a> Parser<'a> for Reader<'a> {
    type Token = Token;
    type Error = Failure;
    const MAX_DEPTH: u32 = 200;
    const MAX_CHAIN: u32 = u32::MAX;

    fn cursor(&self) -> &Cursor<'a, Token> {
        &self.0
    }

    fn cursor_mut(&mut self) -> &mut Cursor<'a, Token> {
        &mut self.0
    }

    fn too_deep(&mut self) -> Failure {
        Diagnostic::error(self.span(), "the condition is nested too deeply")
            .help(format!("at most {} levels", Self::MAX_DEPTH))
            .into()
    }

    fn too_long(&mut self) -> Failure {
        Diagnostic::error(self.span(), "the condition is too long").into()
    }

    fn expected(&mut self, what: &str, _: &str) -> Failure {
        self.unexpected(what)
    }
}

impl<'a> Reader<'a> {
    /// At the start of `tokens`, which end with [`Tok::End`].
    pub(super) fn new(tokens: &'a [Token]) -> Self {
        Self(Cursor::new(tokens))
    }

    /// What the next token is.
    pub(super) fn tok(&self) -> &'a Tok {
        self.tok_at(0)
    }

    /// What the token `ahead` places after the next is.
    pub(super) fn tok_at(&self, ahead: usize) -> &'a Tok {
        &self.0.peek_at(ahead).tok
    }

    /// Steps over `p`, or says that it is missing.
    pub(super) fn expect(&mut self, p: &str) -> Result<(), Failure> {
        self.need(p, "").map(drop)
    }

    /// Steps over the word `name` if it is next.
    pub(super) fn eat_name(&mut self, name: &str) -> bool {
        let found = matches!(self.tok(), Tok::Name(n) if n == name);
        if found {
            self.advance();
        }
        found
    }

    /// A name, or an error that says what it should be.
    pub(super) fn name(&mut self, what: &str) -> Result<(&'a str, Span), Failure> {
        let span = self.span();
        match self.tok() {
            Tok::Name(name) => {
                self.advance();
                Ok((name, span))
            }
            Tok::Number(_) | Tok::Punct(_) | Tok::Text(_) | Tok::End => Err(self.unexpected(what)),
        }
    }

    /// A number with an optional sign.
    pub(super) fn signed(&mut self) -> Result<i128, Failure> {
        let negative = self.eat("-");
        if !negative {
            self.eat("+");
        }
        match self.tok() {
            Tok::Number(value) => {
                self.advance();
                Ok(if negative { -value } else { *value })
            }
            Tok::Name(_) | Tok::Punct(_) | Tok::Text(_) | Tok::End => {
                Err(self.unexpected("a number"))
            }
        }
    }

    /// The error that something else was expected here.
    pub(super) fn unexpected(&self, wanted: &str) -> Failure {
        let found = match self.tok() {
            Tok::Name(name) => format!("`{name}`"),
            Tok::Number(value) => format!("`{value}`"),
            Tok::Punct(p) => format!("`{p}`"),
            Tok::Text(_) => "a string".to_owned(),
            Tok::End => "the end of the section".to_owned(),
        };
        Diagnostic::error(self.span(), format!("expected {wanted}, found {found}"))
            .label(format!("expected {wanted}"))
            .into()
    }
}
