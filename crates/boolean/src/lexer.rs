//! The words of Boolean programs. A comment (`// ...`) is kept as a word, since a
//! comment at the end of a line becomes the note of what stands before it.

use palisade_program::Span;

use crate::BpError;

/// A word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    /// A name, keyword or number.
    Name(String),
    /// Punctuation.
    Sign(&'static str),
    /// The text of a comment, without the slashes and outer blanks.
    Comment(String),
    /// The end of the text.
    End,
}

/// A word and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// The word.
    pub(crate) word: Word,
    /// Where.
    pub(crate) span: Span,
    /// Whether it is the first of its line.
    pub(crate) first: bool,
}

/// All punctuation, longer ones first.
const SIGNS: [&str; 26] = [
    "&&", "||", "==", "!=", "=>", ":=", "{", "}", "(", ")", "[", "]", ",", ";", ":", "=", "!", "^",
    "?", "*", "@", ".", "'", "&", "|", "~",
];

/// Splits a text into words; unknown characters are errors.
pub(crate) fn lex(text: &str) -> (Vec<Token>, Vec<BpError>) {
    let mut tokens = Vec::new();
    let mut errors = Vec::new();
    let mut at = 0;
    let mut first = true;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (word, len) = if c.is_whitespace() {
            first |= c == '\n';
            at += c.len_utf8();
            continue;
        } else if let Some(comment) = rest.strip_prefix("//") {
            let line = comment.lines().next().unwrap_or("");
            (Word::Comment(line.trim().to_owned()), 2 + line.len())
        } else if c == '_' || c.is_ascii_alphanumeric() {
            let part = |c: char| c == '_' || c.is_ascii_alphanumeric();
            let len = rest.find(|c| !part(c)).unwrap_or(rest.len());
            (Word::Name(rest[..len].to_owned()), len)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Word::Sign(sign), sign.len())
        } else {
            let span = Span::new(at, at + c.len_utf8());
            let help = "Boolean programs are made of names, 0, 1, * and operators";
            errors.push(BpError::new(
                span,
                format!("unexpected character `{c}`"),
                help,
            ));
            at += c.len_utf8();
            continue;
        };
        tokens.push(Token {
            word,
            span: Span::new(at, at + len),
            first,
        });
        first = false;
        at += len;
    }
    tokens.push(Token {
        word: Word::End,
        span: Span::new(text.len(), text.len()),
        first: true,
    });
    (tokens, errors)
}
