//! Text to tokens. Comments `/* ... */` and white space separate words. What is no
//! word of the language is reported and left out.

use palisade_program::{Source, Span};
use palisade_syntax::{Scanner, scanner::Unclosed};

use super::token::{FILE, SYMBOLS, Tok, Token, WORDS};
use crate::diagnostic::Diagnostic;

/// All tokens of the source; the last is [`Tok::End`].
pub(super) fn lex(source: &Source, errors: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut lexer = Lexer {
        text: source.text(),
        scanner: Scanner::new(source.text(), 0),
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
    scanner: Scanner<'a>,
    errors: &'a mut Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn next(&mut self) -> Token {
        loop {
            self.scanner.take_while(char::is_whitespace);
            match self.scanner.comment("/*", "*/", false) {
                Ok(Some(_)) => continue,
                Ok(None) => {}
                Err(Unclosed(span)) => self.errors.push(
                    Diagnostic::error(span, "unclosed comment")
                        .label("starts here")
                        .help("end it with `*/`"),
                ),
            }
            let start = self.scanner.at();
            let Some(tok) = self.token(start) else {
                continue;
            };
            let span = Span::new(start, self.scanner.at());
            return Token {
                tok,
                text: span,
                span,
                frame: FILE,
            };
        }
    }

    /// The token at `start`; `None` after an error.
    fn token(&mut self, start: usize) -> Option<Tok> {
        let Some(first) = self.scanner.first() else {
            return Some(Tok::End);
        };
        match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                self.scanner.take_while(is_name_part);
                let name = &self.text[start..self.scanner.at()];
                let word = WORDS.iter().find(|w| **w == name);
                Some(word.map_or(Tok::Name, |w| Tok::Word(w)))
            }
            '0'..='9' => {
                self.scanner.take_while(|c| c.is_ascii_digit());
                Some(Tok::Number)
            }
            '$' => {
                self.scanner.take(1);
                self.scanner.take_while(is_name_part);
                if self.scanner.at() > start + 1 {
                    return Some(Tok::Register);
                }
                self.complain(start, "a register needs a name", "write it as `$name`");
                None
            }
            _ => self.symbol(start, first),
        }
    }

    fn symbol(&mut self, start: usize, first: char) -> Option<Tok> {
        if let Some(symbol) = self.scanner.symbol(SYMBOLS) {
            self.scanner.take(symbol.len());
            return Some(Tok::Symbol(symbol));
        }
        self.scanner.take(first.len_utf8());
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
        let span = Span::new(start, self.scanner.at());
        self.errors
            .push(Diagnostic::error(span, message).help(help));
    }
}

const fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
