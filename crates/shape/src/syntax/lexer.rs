//! The lexer: words of TVP, TVM and TVS.
//!
//! Place: preprocessed lines to tokens. One lexer serves the three languages; which
//! `%words` are meaningful is up to the parsers.

use super::preprocess::Preprocessed;
use super::{Diagnostics, Span};
use crate::kleene::Kleene;

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    /// An identifier.
    Ident(String),
    /// A string without its quotes.
    Text(String),
    /// `0`, `1` or `1/2`.
    Value(Kleene),
    /// `%word`.
    Directive(String),
    /// `%%`.
    Section,
    /// Punctuation.
    Sign(&'static str),
    /// End of input.
    End,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ident(s) => write!(f, "`{s}`"),
            Self::Text(s) => write!(f, "the text \"{s}\""),
            Self::Value(k) => write!(f, "`{k}`"),
            Self::Directive(s) => write!(f, "`%{s}`"),
            Self::Section => f.write_str("`%%`"),
            Self::Sign(s) => write!(f, "`{s}`"),
            Self::End => f.write_str("the end of the file"),
        }
    }
}

/// A token and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lexeme {
    /// The token.
    pub token: Token,
    /// Where.
    pub span: Span,
}

impl Lexeme {
    const fn new(token: Token, span: Span) -> Self {
        Self { token, span }
    }
}

impl palisade_syntax::Token for Lexeme {
    type Span = Span;

    fn span(&self) -> Span {
        self.span
    }

    fn is(&self, text: &str) -> bool {
        matches!(self.token, Token::Sign(sign) if sign == text)
    }

    fn is_end(&self) -> bool {
        self.token == Token::End
    }
}

/// Longer signs first.
const SIGNS: [&str; 27] = [
    "<->", "==>", "-->", "->", "==", "!=", "|", "&", "!", "*", "+", "-", "(", ")", "{", "}", "[",
    "]", "=", "?", ",", ":", "/", "<", ">", ";", ".",
];

/// Splits the text into tokens, the last being [`Token::End`].
pub fn lex(input: &Preprocessed, errors: &mut Diagnostics) -> Vec<Lexeme> {
    let mut out = Vec::new();
    let mut last = Span::default();
    // Strings may span lines: the rest of an open string and where it began.
    let mut open: Option<(String, Span)> = None;
    let mut first_long: Option<Span> = None;
    for line in &input.lines {
        last = line.span;
        let mut rest = line.text.as_str();
        if let Some((mut text, span)) = open.take() {
            first_long.get_or_insert(span);
            text.push('\n');
            let Some(end) = rest.find('"') else {
                text.push_str(rest);
                open = Some((text, span));
                continue;
            };
            text.push_str(&rest[..end]);
            out.push(Lexeme::new(Token::Text(text), span));
            rest = &rest[end + 1..];
        }
        while let Some(c) = rest.chars().next() {
            let span = Span {
                column: (line.text.len() - rest.len()) as u32 + 1,
                ..line.span
            };
            if c.is_whitespace() || c == '\u{1a}' {
                rest = &rest[c.len_utf8()..];
            } else if c == '"' {
                if let Some(end) = rest[1..].find('"') {
                    out.push(Lexeme::new(Token::Text(rest[1..=end].to_owned()), span));
                    rest = &rest[end + 2..];
                } else {
                    open = Some((rest[1..].to_owned(), span));
                    rest = "";
                }
            } else {
                rest = word(rest, span, &mut out, errors);
            }
        }
    }
    if let Some((_, span)) = open {
        // Where one quote is missing, every later string begins where another ends.
        let span = first_long.unwrap_or(span);
        errors.error(span, "the string is not closed", "add `\"`");
    }
    out.push(Lexeme::new(Token::End, last));
    out
}

fn word<'t>(rest: &'t str, span: Span, out: &mut Vec<Lexeme>, errors: &mut Diagnostics) -> &'t str {
    let c = rest.chars().next().expect("not empty");
    if c.is_ascii_alphabetic() || c == '_' || c == '$' {
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '.'))
            .unwrap_or(rest.len());
        out.push(Lexeme::new(Token::Ident(rest[..end].to_owned()), span));
        return &rest[end..];
    }
    if c == '%' {
        if let Some(after) = rest.strip_prefix("%%") {
            out.push(Lexeme::new(Token::Section, span));
            return after;
        }
        let end = rest[1..]
            .find(|c: char| !(c.is_ascii_alphabetic() || c == '_'))
            .map_or(rest.len(), |e| e + 1);
        out.push(Lexeme::new(Token::Directive(rest[1..end].to_owned()), span));
        return &rest[end..];
    }
    if c.is_ascii_digit() {
        return number(rest, span, out, errors);
    }
    if let Some(after) = spaced(rest, &["<", "-", ">"]) {
        out.push(Lexeme::new(Token::Sign("<->"), span));
        return after;
    }
    for sign in SIGNS {
        if let Some(after) = rest.strip_prefix(sign) {
            out.push(Lexeme::new(Token::Sign(sign), span));
            return after;
        }
    }
    errors.error(
        span,
        format!("unexpected character `{}`", c.escape_default()),
        "remove it",
    );
    &rest[c.len_utf8()..]
}

/// Matches signs with at most one blank between them.
fn spaced<'t>(rest: &'t str, parts: &[&str]) -> Option<&'t str> {
    let mut rest = rest;
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix(' ').unwrap_or(rest);
        }
        rest = rest.strip_prefix(part)?;
    }
    Some(rest)
}

fn number<'t>(
    rest: &'t str,
    span: Span,
    out: &mut Vec<Lexeme>,
    errors: &mut Diagnostics,
) -> &'t str {
    if let Some(after) = spaced(rest, &["1", "/", "2"]) {
        out.push(Lexeme::new(Token::Value(Kleene::Half), span));
        return after;
    }
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    match &rest[..end] {
        "0" => out.push(Lexeme::new(Token::Value(Kleene::False), span)),
        "1" => out.push(Lexeme::new(Token::Value(Kleene::True), span)),
        other => errors.error(
            span,
            format!("the number {other} is not a truth value"),
            "the only numbers are 0, 1 and 1/2; identifiers start with a letter",
        ),
    }
    &rest[end..]
}
