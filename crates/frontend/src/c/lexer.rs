//! *Tokens* of preprocessed C, each with its span in the user's files.
//!
//! The preprocessor's line markers say from which line of which file a line comes.
//! Its output does not say columns, so the tokens of a line are aligned with those of the user's line
//! (a longest common subsequence, [`align`]); what is not among them came out of a macro and gets the
//! span of the name that was passed over, which is the macro's. Tokens of files that are not the user's
//! (Palisade's headers, the system's) get the span of the last token that is.

use std::collections::HashMap;
use std::ops::Range;

use palisade_program::{Source, Span};

use super::align::{self, Piece};
use super::real::Literal;
use crate::diagnostic::Diagnostic;

/// Kinds of token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Ident(String),
    /// Value, and whether `u`, `l` stand behind it; hexadecimal or octal constants
    /// may be unsigned without suffix.
    Int {
        value: u128,
        unsigned: bool,
        longs: u8,
        decimal: bool,
    },
    Float(Literal),
    Char(i64),
    Str(String),
    Punct(&'static str),
    End,
}

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// Whether it stands in one of the user's files rather than in a header.
    pub(super) own: bool,
}

impl palisade_syntax::Token for Token {
    type Span = Span;

    fn span(&self) -> Span {
        self.span
    }

    fn is(&self, text: &str) -> bool {
        matches!(&self.kind, Kind::Punct(p) if *p == text)
    }

    fn is_end(&self) -> bool {
        self.kind == Kind::End
    }
}

pub(super) const PUNCTUATORS: [&str; 48] = [
    "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "*=",
    "/=", "%=", "+=", "-=", "&=", "^=", "|=", "##", "[", "]", "(", ")", "{", "}", ".", "&", "*",
    "+", "-", "~", "!", "/", "%", "<", ">", "^", "|", "?", ":", ";", "=", ",", "#",
];

/// What a directive of OpenMP begins with.
pub(super) const DIRECTIVE: &str = "#pragma omp";
/// The end of its line.
pub(super) const DIRECTIVE_END: &str = "end of line";

/// Where the files that line markers name are in the source.
pub(super) type Files = HashMap<String, Range<usize>>;

/// Where the text of a token is from.
#[derive(Clone)]
pub(super) enum Origin {
    /// The text is the source itself, from this byte on.
    Itself(usize),
    /// Line markers say it.
    Markers(Files),
}

/// Maps places of the preprocessed text to the user's files.
struct Mapper<'a> {
    source: &'a Source,
    origin: Origin,
    /// The user's file at hand; `None` in other files.
    file: Option<Range<usize>>,
    /// Start of each line of it.
    starts: Vec<usize>,
    line: usize,
    cursor: usize,
    /// The file and line before a marker, and how far it was read.
    resumed: Option<(usize, usize, usize)>,
    last: Span,
}

impl Mapper<'_> {
    const fn is_own(&self) -> bool {
        matches!(self.origin, Origin::Itself(_)) || self.file.is_some()
    }

    /// The start of the file at hand.
    fn base(&self) -> usize {
        self.file.as_ref().map_or(usize::MAX, |file| file.start)
    }

    /// A line marker.
    fn marked(&mut self, number: usize, name: Option<&str>) {
        let Origin::Markers(files) = &self.origin else {
            return;
        };
        if self.cursor > 0 && self.file.is_some() {
            self.resumed = Some((self.base(), self.line, self.cursor));
        }
        if let Some(name) = name {
            let file = files.get(&name.replace("\\\\", "\\")).cloned();
            if file != self.file {
                let text = file.clone().map_or("", |f| &self.source.text()[f]);
                let base = file.as_ref().map_or(0, |f| f.start);
                let breaks = text.match_indices('\n').map(|(i, _)| base + i + 1);
                self.starts = std::iter::once(base).chain(breaks).collect();
                self.file = file;
            }
        }
        // The break at the end of the marker's line counts one.
        self.line = number.saturating_sub(1);
    }

    /// The user's line at hand.
    fn line(&self) -> Option<Range<usize>> {
        let file = self.file.as_ref()?;
        let start = *self.starts.get(self.line.checked_sub(1)?)?;
        let end = self.starts.get(self.line).map_or(file.end, |e| e - 1);
        Some(start..end.max(start))
    }

    fn line_text(&self) -> &str {
        let line = self.line().unwrap_or(0..0);
        self.source.text().get(line).unwrap_or("")
    }

    fn new_line(&mut self) {
        self.line += 1;
        // Markers inside of a line (around macros of headers) do not start it anew.
        match self.resumed {
            Some((file, line, cursor)) if file == self.base() => {
                self.cursor = if line == self.line { cursor } else { 0 };
                self.resumed = None;
            }
            Some(_) | None => self.cursor = 0,
        }
    }

    fn span(&mut self, start: usize, end: usize, text: &str) -> Span {
        if let Origin::Itself(base) = self.origin {
            return Span::new(base + start, base + end);
        }
        if self.file.is_none() || self.line == 0 {
            return self.last;
        }
        let Some(&base) = self.starts.get(self.line - 1) else {
            return self.last;
        };
        let line = self.line_text();
        let rest = line.get(self.cursor..).unwrap_or("");
        let found = find_token(rest, text).map(|at| (self.cursor + at, text.len()));
        let (at, length) = match found {
            Some((at, length)) => {
                // A name that is passed over is that of a macro, which gives this token.
                let first = passed_word(&line[self.cursor..at]).map_or(at, |w| self.cursor + w);
                self.cursor = at + length;
                (first, at + length - first)
            }
            None => word_at(line, self.cursor),
        };
        self.last = Span::new(base + at, base + at + length);
        self.last
    }
}

/// Where a name starts in a text that holds no token of its own, outside of comments.
pub(super) fn passed_word(text: &str) -> Option<usize> {
    let is_start = |c: char| c.is_alphabetic() || c == '_';
    let mut at = 0;
    while let Some(c) = text.get(at..)?.chars().next() {
        let rest = &text[at..];
        if rest.starts_with("//") {
            return None;
        } else if rest.starts_with("/*") {
            at += rest.find("*/")? + 2;
        } else if is_start(c) {
            return Some(at);
        } else {
            at += c.len_utf8();
        }
    }
    None
}

/// Where `text` stands in `line` as a whole token.
fn find_token(line: &str, text: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let wordy = text.starts_with(is_word);
    let mut from = 0;
    while let Some(at) = line.get(from..)?.find(text).map(|at| at + from) {
        let before = line[..at].chars().next_back().is_some_and(is_word);
        let after = line[at + text.len()..].starts_with(is_word);
        if !wordy || !(before || after) {
            return Some(at);
        }
        from = at + text.len();
    }
    None
}

/// The next word of a line from `from` on: position and length.
fn word_at(line: &str, from: usize) -> (usize, usize) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let rest = line.get(from..).unwrap_or("");
    let Some(skip) = rest.find(is_word) else {
        let trimmed = line.trim_start();
        return (line.len() - trimmed.len(), trimmed.trim_end().len().min(1));
    };
    let word = &rest[skip..];
    let length = word.find(|c| !is_word(c)).unwrap_or(word.len());
    (from + skip, length)
}

/// A universal character name (C11, 6.4.3), as preprocessors write letters beyond ASCII: the letter, and its length.
fn universal(text: &str) -> Option<(char, usize)> {
    let digits = match text.get(..2)? {
        "\\u" => 4,
        "\\U" => 8,
        _ => return None,
    };
    let code = u32::from_str_radix(text.get(2..2 + digits)?, 16).ok()?;
    let letter = char::from_u32(code).filter(|c| !c.is_ascii())?;
    Some((letter, 2 + digits))
}

/// The identifier at the beginning of a text, and its length there.
fn identifier(text: &str, is_word: impl Fn(char) -> bool) -> (String, usize) {
    let (mut name, mut at) = (String::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        let (letter, length) = match universal(&text[at..]) {
            Some(found) => found,
            None if is_word(c) => (c, c.len_utf8()),
            None => break,
        };
        name.push(letter);
        at += length;
    }
    (name, at)
}

/// The tokens of `text`, located in `source`.
pub(super) fn lex(text: &str, source: &Source, origin: Origin) -> Result<Vec<Token>, Diagnostic> {
    let is_marked = matches!(origin, Origin::Markers(_));
    let mapper = Mapper {
        source,
        origin,
        file: None,
        starts: Vec::new(),
        line: 1,
        cursor: 0,
        resumed: None,
        last: Span::default(),
    };
    let mut lexer = Lexer {
        text,
        at: 0,
        mapper,
        tokens: Vec::new(),
        pieces: Vec::new(),
        in_directive: false,
    };
    lexer.run()?;
    let Lexer {
        mut tokens, pieces, ..
    } = lexer;
    if is_marked {
        let spans = align::spans(source.text(), &pieces);
        for (token, span) in tokens.iter_mut().zip(spans) {
            token.span = span;
        }
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    mapper: Mapper<'a>,
    tokens: Vec<Token>,
    /// Where each token is from.
    pieces: Vec<Piece<'a>>,
    /// Whether the line at hand is a directive of OpenMP.
    in_directive: bool,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn run(&mut self) -> Result<(), Diagnostic> {
        let mut line_start = true;
        while let Some(c) = self.rest().chars().next() {
            if c == '\n' {
                self.end_directive();
                self.at += 1;
                self.mapper.new_line();
                line_start = true;
            } else if c.is_whitespace() || c == '\u{c}' {
                self.at += c.len_utf8();
            } else if self.rest().starts_with("//") {
                let end = self.rest().find('\n').unwrap_or(self.rest().len());
                self.at += end;
            } else if self.rest().starts_with("/*") {
                self.comment()?;
            } else if self.rest().starts_with("\\\n") {
                self.at += 2;
                self.mapper.new_line();
            } else if c == '#' && line_start {
                self.directive()?;
            } else {
                line_start = false;
                self.token(c)?;
            }
        }
        self.end_directive();
        let span = self.mapper.last;
        self.tokens.push(Token {
            kind: Kind::End,
            span,
            own: true,
        });
        Ok(())
    }

    fn end_directive(&mut self) {
        if std::mem::take(&mut self.in_directive) {
            self.push(Kind::Punct(DIRECTIVE_END), 0);
        }
    }

    fn comment(&mut self) -> Result<(), Diagnostic> {
        let length = self.rest().find("*/").map(|end| end + 2);
        let Some(length) = length else {
            let span = self.mapper.span(self.at, self.at + 2, "/*");
            return Err(Diagnostic::error(span, "this comment does not end").help("add `*/`"));
        };
        let lines = self.rest()[..length].matches('\n').count();
        (0..lines).for_each(|_| self.mapper.new_line());
        self.at += length;
        Ok(())
    }

    /// `# 12 "file.c"`, `#line 12 "file.c"`, `#pragma ...`
    fn directive(&mut self) -> Result<(), Diagnostic> {
        let end = self.rest().find('\n').unwrap_or(self.rest().len());
        let line = self.rest()[1..end].trim().to_owned();
        let words = line.strip_prefix("line").map_or(line.as_str(), str::trim);
        let digits = words
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(words.len());
        if let Ok(number) = words[..digits].parse::<usize>() {
            let name = words[digits..].trim();
            let name = name.strip_prefix('"').and_then(|n| n.split('"').next());
            self.mapper.marked(number, name);
        } else if let Some(pragma) = line.strip_prefix("pragma") {
            // Pragmas are about warnings and optimisation, except for these.
            let directive = pragma.trim_start().strip_prefix("omp");
            if directive.is_some_and(|d| d.is_empty() || d.starts_with(char::is_whitespace)) {
                let start = self.rest().find("omp").unwrap_or(0);
                self.push(Kind::Punct(DIRECTIVE), start + "omp".len());
                self.in_directive = true;
                return Ok(());
            }
            if pragma.trim_start().starts_with("pack") {
                let span = self.mapper.span(self.at, self.at + end, "#");
                return Err(Diagnostic::error(span, "unsupported: `#pragma pack`")
                    .help("leave the layout of structs to the compiler"));
            }
        } else if !line.is_empty() && !line.starts_with("ident") {
            let span = self.mapper.span(self.at, self.at + end, "#");
            return Err(Diagnostic::error(
                span,
                "this file needs a preprocessor, and none was found",
            )
            .label("a directive")
            .help("install a C compiler (`cc`), or give the output of `cc -E` as a .i file"));
        }
        self.at += end;
        Ok(())
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let (start, end) = (self.at, self.at + length);
        let text = &self.text[start..end];
        let span = self.mapper.span(start, end, text);
        self.pieces.push(Piece {
            text,
            line: self.mapper.line(),
            span,
        });
        self.tokens.push(Token {
            kind,
            span,
            own: self.mapper.is_own(),
        });
        self.at = end;
    }

    fn token(&mut self, c: char) -> Result<(), Diagnostic> {
        let rest = self.rest();
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        if let Some(prefix) = string_prefix(rest) {
            return self.quoted(prefix);
        }
        if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|d: char| d.is_ascii_digit())) {
            return self.number();
        }
        if c.is_alphabetic() || c == '_' || c == '$' || universal(rest).is_some() {
            let (name, length) = identifier(rest, is_word);
            self.push(Kind::Ident(name), length);
            return Ok(());
        }
        if let Some(p) = PUNCTUATORS.iter().find(|p| rest.starts_with(**p)) {
            self.push(Kind::Punct(p), p.len());
            return Ok(());
        }
        let span = self
            .mapper
            .span(self.at, self.at + c.len_utf8(), &c.to_string());
        Err(
            Diagnostic::error(span, format!("unexpected character `{c}`"))
                .help("this is no C; remove it"),
        )
    }

    fn number(&mut self) -> Result<(), Diagnostic> {
        let rest = self.rest();
        let mut length = 0;
        let mut previous = ' ';
        for c in rest.chars() {
            let sign = (c == '+' || c == '-')
                && (matches!(previous, 'e' | 'E') && !rest.starts_with("0x")
                    || matches!(previous, 'p' | 'P'));
            if !(c.is_alphanumeric() || c == '.' || c == '_' || sign) {
                break;
            }
            length += c.len_utf8();
            previous = c;
        }
        let word = rest[..length].to_owned();
        let kind =
            integer(&word).or_else(|| is_float(&word).then(|| Kind::Float(Literal::of(&word))));
        let Some(kind) = kind else {
            let span = self.mapper.span(self.at, self.at + length, &word);
            return Err(Diagnostic::error(span, format!("`{word}` is no number")));
        };
        self.push(kind, length);
        Ok(())
    }

    fn quoted(&mut self, prefix: usize) -> Result<(), Diagnostic> {
        let rest = self.rest();
        let quote = rest[prefix..].chars().next().unwrap_or('"');
        let mut value = Vec::new();
        let mut chars = rest[prefix + 1..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                let length = prefix + 1 + at + 1;
                let kind = if quote == '"' {
                    Kind::Str(
                        value
                            .iter()
                            .filter_map(|&v| char::from_u32(v as u32))
                            .collect(),
                    )
                } else {
                    // `char` is signed; several characters in one constant are left
                    // to the number that gcc makes of them.
                    let byte = |v: i64| i64::from(v as u8 as i8);
                    Kind::Char(match value.as_slice() {
                        [one] if prefix == 0 => byte(*one),
                        many => many.iter().fold(0, |a, v| (a << 8) | (v & 0xff)),
                    })
                };
                self.push(kind, length);
                return Ok(());
            }
            if c == '\n' {
                break;
            }
            if c == '\\' {
                value.push(escape(&mut chars));
            } else {
                value.push(i64::from(u32::from(c)));
            }
        }
        let span = self.mapper.span(self.at, self.at + 1, "\"");
        Err(
            Diagnostic::error(span, "this string or character does not end")
                .help("close it on the same line"),
        )
    }
}

/// Length of what stands before the quote of a string or character constant.
pub(super) fn string_prefix(rest: &str) -> Option<usize> {
    ["u8", "L", "u", "U", ""].iter().find_map(|prefix| {
        let behind = rest.strip_prefix(prefix)?;
        behind.starts_with(['"', '\'']).then_some(prefix.len())
    })
}

/// The character behind a backslash.
fn escape(chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>) -> i64 {
    let Some((_, c)) = chars.next() else { return 0 };
    let mut digits = |radix: u32, most: usize, start: i64| {
        let mut value = start;
        for _ in 0..most {
            let Some(d) = chars.peek().and_then(|(_, c)| c.to_digit(radix)) else {
                break;
            };
            value = value
                .wrapping_mul(i64::from(radix))
                .wrapping_add(i64::from(d));
            chars.next();
        }
        value
    };
    match c {
        'n' => 10,
        't' => 9,
        'r' => 13,
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'v' => 11,
        'e' => 27,
        'x' => digits(16, 8, 0),
        '0'..='7' => digits(8, 2, i64::from(c.to_digit(8).unwrap_or(0))),
        other => i64::from(u32::from(other)),
    }
}

fn integer(word: &str) -> Option<Kind> {
    let lower = word.to_ascii_lowercase();
    let (radix, body) = if let Some(hex) = lower.strip_prefix("0x") {
        (16, hex)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        (2, binary)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    let split = body
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(body.len());
    let (digits, suffix) = body.split_at(split);
    let digits = if digits.is_empty() && radix == 8 {
        "0"
    } else {
        digits
    };
    let (unsigned, longs) = match suffix {
        "" => (false, 0),
        "u" => (true, 0),
        "l" => (false, 1),
        "ll" => (false, 2),
        "ul" | "lu" => (true, 1),
        "ull" | "llu" => (true, 2),
        _ => return None,
    };
    Some(Kind::Int {
        value: u128::from_str_radix(digits, radix).ok()?,
        unsigned,
        longs,
        decimal: radix == 10,
    })
}

fn is_float(word: &str) -> bool {
    word.contains('.') || word.to_ascii_lowercase().contains(['e', 'p', 'f'])
}
