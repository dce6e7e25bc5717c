//! Text to tokens. Comments `/* ... */` and white space separate words. What is no
//! word of the language is reported and left out.

use palisade_program::{Source, Span};

use super::token::{FILE, SYMBOLS, Tok, Token, WORDS};
use crate::diagnostic::Diagnostic;

/// All tokens of the source; the last is [`Tok::End`].
pub(super) fn lex(source: &Source, errors: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut lexer = Lexer {
        text: source.text(),
        at: 0,
        errors,
    };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next();
        tokens.push(token);
        if token.tok == Tok::End {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    errors: &'a mut Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Moves on over characters that satisfy `f`.
    fn skip_while(&mut self, f: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !f(c)).unwrap_or(rest.len());
    }

    fn next(&mut self) -> Token {
        loop {
            self.skip_while(char::is_whitespace);
            let start = self.at;
            if self.rest().starts_with("/*") {
                self.comment(start);
                continue;
            }
            let Some(tok) = self.token(start) else {
                continue;
            };
            let span = Span::new(start, self.at);
            return Token {
                tok,
                text: span,
                span,
                frame: FILE,
            };
        }
    }

    fn comment(&mut self, start: usize) {
        if let Some(length) = self.rest()[2..].find("*/") {
            self.at += length + 4;
            return;
        }
        self.at = self.text.len();
        let error = Diagnostic::error(Span::new(start, start + 2), "unclosed comment")
            .label("starts here")
            .help("end it with `*/`");
        self.errors.push(error);
    }

    /// The token at `start`; `None` after an error.
    fn token(&mut self, start: usize) -> Option<Tok> {
        let Some(first) = self.rest().chars().next() else {
            return Some(Tok::End);
        };
        match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                self.skip_while(is_name_part);
                let name = &self.text[start..self.at];
                let word = WORDS.iter().find(|w| **w == name);
                Some(word.map_or(Tok::Name, |w| Tok::Word(w)))
            }
            '0'..='9' => {
                self.skip_while(|c| c.is_ascii_digit());
                Some(Tok::Number)
            }
            '$' => {
                self.at += 1;
                self.skip_while(is_name_part);
                if self.at > start + 1 {
                    return Some(Tok::Register);
                }
                self.complain(start, "a register needs a name", "write it as `$name`");
                None
            }
            _ => self.symbol(start, first),
        }
    }

    fn symbol(&mut self, start: usize, first: char) -> Option<Tok> {
        if let Some(symbol) = SYMBOLS.iter().find(|s| self.rest().starts_with(**s)) {
            self.at += symbol.len();
            return Some(Tok::Symbol(symbol));
        }
        self.at += first.len_utf8();
        let help = match first {
            '!' => "write `!=` for unequal and `not` for negation",
            '&' => "conjunction is `&&`",
            '|' => "disjunction is `||`",
            '/' => "comments are `/* ... */`; there is no division",
            '%' => "there is no remainder",
            _ => "remove it",
        };
        // The character may be a control character: show it readably.
        let message = format!("unknown character `{}`", first.escape_debug());
        self.complain(start, &message, help);
        None
    }

    fn complain(&mut self, start: usize, message: &str, help: &str) {
        let span = Span::new(start, self.at);
        self.errors
            .push(Diagnostic::error(span, message).help(help));
    }
}

const fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
