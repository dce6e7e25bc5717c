//! The *lexer*: text to tokens. It never gives up: a character that belongs to no
//! token is reported (once for a run of them) and skipped, an unterminated
//! comment is reported at its start. Comments are kept aside for the formatter.

use palisade_program::{Source, Span};
use palisade_syntax::{Scanner, scanner::Unclosed};

use super::token::{Comment, SYMBOLS, Tok, Token};
use crate::diagnostic::Diagnostic;

/// The tokens of a text, ending with [`Tok::End`].
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) errors: Vec<Diagnostic>,
}

/// Splits the text of `source` into tokens.
pub(crate) fn lex(source: &Source) -> Lexed {
    let mut lexer = Lexer {
        scanner: Scanner::new(source.text(), 0),
        out: Lexed {
            tokens: Vec::new(),
            comments: Vec::new(),
            errors: Vec::new(),
        },
    };
    let length = source.text().len();
    if u32::try_from(length).is_err() {
        let span = Span::new(0, 0);
        let error = Diagnostic::error(span, "the file is larger than 4 GiB");
        lexer
            .out
            .errors
            .push(error.help("split the program or make it smaller"));
    } else {
        while let Some(first) = lexer.scanner.first() {
            lexer.step(first);
        }
    }
    let end = length.min(u32::MAX as usize);
    lexer.out.tokens.push(Token {
        kind: Tok::End,
        span: Span::new(end, end),
    });
    lexer.out
}

/// A number such that no name `$n` with `n` at or above it occurs: where the
/// numbering of new temporaries can start.
pub(crate) fn first_temporary(source: &Source, lexed: &Lexed) -> u32 {
    let names = lexed.tokens.iter().filter(|t| t.kind == Tok::Name);
    let numbers = names.filter_map(|t| source.slice(t.span).strip_prefix('$')?.parse::<u32>().ok());
    // Numbers near the end of the range would leave no room; nobody prints those.
    let taken = numbers.filter(|n| *n < u32::MAX / 2).max();
    taken.unwrap_or(0) + 1
}

struct Lexer<'a> {
    scanner: Scanner<'a>,
    out: Lexed,
}

impl Lexer<'_> {
    fn push(&mut self, kind: Tok, length: usize) {
        let span = self.scanner.take(length);
        self.out.tokens.push(Token { kind, span });
    }

    fn step(&mut self, first: char) {
        let rest = self.scanner.rest();
        if first.is_ascii_whitespace() {
            self.scanner.take_while(|c| c.is_ascii_whitespace());
        } else if rest.starts_with("/*") {
            self.block_comment();
        } else if let Some(span) = self.scanner.line_comment("//") {
            let length = rest[..(span.end - span.start) as usize].trim_end().len();
            let start = span.start as usize;
            self.comment(Span::new(start, start + length), true);
        } else if is_name_start(first) {
            let length = self.scanner.run(|c| is_name_start(c) || c.is_ascii_digit());
            self.push(Tok::Name, length);
        } else if first.is_ascii_digit() {
            self.number();
        } else if let Some(symbol) = self.scanner.symbol(SYMBOLS) {
            self.push(Tok::Sym(symbol), symbol.len());
        } else {
            self.unknown();
        }
    }

    fn comment(&mut self, span: Span, line: bool) {
        self.out.comments.push(Comment { span, line });
    }

    fn block_comment(&mut self) {
        match self.scanner.comment("/*", "*/", false) {
            Ok(Some(span)) => self.comment(span, false),
            Ok(None) => {}
            Err(Unclosed(span)) => self.out.errors.push(
                Diagnostic::error(span, "unterminated comment")
                    .label("the comment starts here")
                    .help("close it with `*/`"),
            ),
        }
    }

    fn number(&mut self) {
        let length = self.scanner.run(|c| c.is_ascii_alphanumeric() || c == '_');
        let at = self.scanner.at();
        let span = Span::new(at, at + length);
        let text = &self.scanner.rest()[..length];
        let value = text.parse::<u64>().ok().filter(|&v| v <= 1 << 63);
        let error = if value.is_some() {
            None
        } else if text.bytes().all(|b| b.is_ascii_digit()) {
            Some(
                Diagnostic::error(span, "integer literal is too large")
                    .label("does not fit 64 bits")
                    .help(format!("literals go up to {}", i64::MAX)),
            )
        } else {
            Some(
                Diagnostic::error(span, "malformed number")
                    .label("expected decimal digits only")
                    .help("write numbers in decimal; names cannot start with a digit"),
            )
        };
        self.out.errors.extend(error);
        self.push(Tok::Int(value.unwrap_or(0)), length);
    }

    fn unknown(&mut self) {
        let rest = self.scanner.rest();
        let length = self.scanner.run(|c| {
            let symbol = SYMBOLS.iter().any(|symbol| symbol.chars().eq([c]));
            !(symbol || c.is_ascii_whitespace() || is_name_start(c) || c.is_ascii_digit())
        });
        let length = length.max(1);
        let shown: String = rest.chars().take(8).collect();
        let shown = &shown[..shown.len().min(length)];
        let span = self.scanner.take(length);
        let shown: String = shown
            .chars()
            .flat_map(|c| match c {
                '"' | '\'' => c.to_string().chars().collect::<Vec<_>>(),
                _ => c.escape_debug().collect(),
            })
            .collect();
        self.out.errors.push(
            Diagnostic::error(span, format!("unknown character `{shown}`"))
                .label("not part of the language")
                .help("remove it; names are made of letters, digits and `_`"),
        );
    }
}

/// `$` starts the names of temporaries in programs that Palisade printed.
fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Tok> {
        let lexed = lex(&Source::new("t", text));
        lexed.tokens.into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn ranges_are_not_decimal_points() {
        use Tok::{End, Int, Sym};
        assert_eq!(kinds("0..3"), [Int(0), Sym(".."), Int(3), End]);
    }

    #[test]
    fn bad_input_is_located_and_skipped() {
        let lexed = lex(&Source::new(
            "t",
            "x = 1é€; 99999999999999999999 0x12 \"/* never closed",
        ));
        let messages: Vec<_> = lexed.errors.iter().map(|e| e.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "unknown character `é€`",
                "integer literal is too large",
                "malformed number",
                "unknown character `\"`",
                "unterminated comment"
            ]
        );
    }
}
