//! The words of Boolean programs. A comment (`// ...`) at the end of a line is the note of the word
//! before it.

use palisade_program::Span;
use palisade_syntax::Scanner;

use crate::BpError;

/// A word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    /// A name, keyword or number.
    Name(String),
    /// Punctuation.
    Sign(&'static str),
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
    /// The comment behind it on its line, without the slashes and outer blanks.
    pub(crate) note: Option<String>,
}

impl palisade_syntax::Token for Token {
    type Span = Span;

    fn span(&self) -> Span {
        self.span
    }

    fn is(&self, text: &str) -> bool {
        matches!(self.word, Word::Sign(sign) if sign == text)
    }

    fn is_end(&self) -> bool {
        self.word == Word::End
    }
}

/// All punctuation, longer ones first.
const SIGNS: [&str; 26] = [
    "&&", "||", "==", "!=", "=>", ":=", "{", "}", "(", ")", "[", "]", ",", ";", ":", "=", "!", "^",
    "?", "*", "@", ".", "'", "&", "|", "~",
];

/// Splits a text into words; unknown characters are errors.
pub(crate) fn lex(text: &str) -> (Vec<Token>, Vec<BpError>) {
    let mut tokens: Vec<Token> = Vec::new();
    let mut errors = Vec::new();
    let mut scanner = Scanner::new(text, 0);
    let mut is_first = true;
    while let Some(c) = scanner.first() {
        let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let start = scanner.at();
        let (word, span) = if c.is_whitespace() {
            is_first |= c == '\n';
            scanner.take(c.len_utf8());
            continue;
        } else if let Some(span) = scanner.line_comment("//") {
            let comment = text[start + 2..span.end as usize].trim();
            if let Some(last) = tokens.last_mut()
                && !is_first
                && !comment.is_empty()
            {
                last.note.get_or_insert_with(|| comment.to_owned());
            }
            continue;
        } else if is_part(c) {
            let span = scanner.take_while(is_part);
            (Word::Name(text[start..span.end as usize].to_owned()), span)
        } else if let Some(sign) = scanner.symbol(&SIGNS) {
            (Word::Sign(sign), scanner.take(sign.len()))
        } else {
            let span = scanner.take(c.len_utf8());
            let help = "Boolean programs are made of names, 0, 1, * and operators";
            let message = format!("unexpected character `{c}`");
            errors.push(BpError::new(span, message, help));
            continue;
        };
        let note = None;
        tokens.push(Token { word, span, note });
        is_first = false;
    }
    tokens.push(Token {
        word: Word::End,
        span: Span::new(text.len(), text.len()),
        note: None,
    });
    (tokens, errors)
}
