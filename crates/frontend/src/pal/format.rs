//! The *formatter*: the same tokens and comments, with the white space of the
//! house: four spaces per block, one statement per line, one space around binary
//! operators, at most one blank line. Line breaks inside a statement are kept
//! (indented once more), and so are short blocks on one line; comments behind
//! code on consecutive lines are aligned.
//!
//! It works on tokens, not on the tree, so that nothing can be lost. Laws, kept
//! by tests: the tokens and comments of the result are those of the input, and
//! formatting twice is formatting once.

use palisade_program::{Source, Span};

use super::lexer::{self, Lexed};
use super::parser;
use super::token::{Tok, is_reserved};
use crate::diagnostic::Diagnostics;
use crate::heap;

/// A block on one line stays there up to this many characters.
const SHORT_BLOCK: usize = 60;

/// Formats a `.pal` program, also a data structure; syntax errors are returned instead.
pub fn format(text: &str) -> Result<String, Diagnostics> {
    let source = Source::new("", text);
    let lexed = lexer::lex(&source);
    let pieces = pieces(&source, &lexed);
    let errors = if heap::is_heap(&source, &lexed) {
        heap::syntax_errors(&source, &lexed)
    } else {
        parser::parse(&source, &lexed).errors
    };
    if !errors.is_empty() {
        return Err(Diagnostics::new(source, errors));
    }
    let mut writer = Writer::new();
    for at in 0..pieces.len() {
        writer.piece(&pieces, at);
    }
    Ok(writer.finish())
}

/// A token or comment with what the layout needs to know.
struct Piece<'a> {
    text: &'a str,
    kind: Kind,
    /// Line breaks in front of it.
    breaks: usize,
    /// For `{`: the block is written on one line.
    inline: bool,
}

/// What a piece is to the layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Name or number: an operand.
    Word,
    Keyword,
    Symbol,
    LineComment,
    BlockComment,
}

fn pieces<'a>(source: &'a Source, lexed: &Lexed) -> Vec<Piece<'a>> {
    let mut all: Vec<(Span, Kind)> = Vec::new();
    let mut comments = lexed.comments.iter().peekable();
    for token in &lexed.tokens {
        while let Some(comment) = comments.next_if(|c| c.span.start < token.span.start) {
            all.push((comment.span, comment_kind(comment.line)));
        }
        let kind = match token.kind {
            Tok::End => continue,
            Tok::Sym(_) => Kind::Symbol,
            Tok::Int(_) => Kind::Word,
            Tok::Name => match source.slice(token.span) {
                "self" | "true" | "false" => Kind::Word,
                word if is_reserved(word) => Kind::Keyword,
                _ => Kind::Word,
            },
        };
        all.push((token.span, kind));
    }
    all.extend(comments.map(|c| (c.span, comment_kind(c.line))));
    let mut end = 0;
    let mut pieces = Vec::with_capacity(all.len());
    for (span, kind) in all {
        let gap = source.slice(Span::new(end, span.start as usize));
        pieces.push(Piece {
            text: source.slice(span),
            kind,
            breaks: gap.bytes().filter(|b| *b == b'\n').count(),
            inline: false,
        });
        end = span.end as usize;
    }
    mark_inline_blocks(&mut pieces);
    pieces
}

fn comment_kind(line: bool) -> Kind {
    if line {
        Kind::LineComment
    } else {
        Kind::BlockComment
    }
}

/// Finds the blocks that stay on one line: written on one line, short, and with
/// no block in them but empty ones.
fn mark_inline_blocks(pieces: &mut [Piece<'_>]) {
    for open in 0..pieces.len() {
        if pieces[open].text != "{" || pieces[open].kind != Kind::Symbol {
            continue;
        }
        let mut length = 0;
        for at in open + 1..pieces.len() {
            let piece = &pieces[at];
            length += piece.text.len() + 1;
            let nested = piece.text == "{" && pieces.get(at + 1).is_none_or(|p| p.text != "}");
            let long = length > SHORT_BLOCK || piece.breaks > 0;
            if long || nested || piece.kind == Kind::LineComment || piece.text.contains('\n') {
                break;
            }
            if piece.text == "}" && pieces[at - 1].text != "{" {
                pieces[open].inline = true;
                break;
            }
            if piece.text == "}" && at == open + 1 {
                // Nothing in it.
                pieces[open].inline = true;
                break;
            }
        }
    }
}

/// An open bracket.
struct Open {
    /// A list of initial values, not a block.
    list: bool,
    inline: bool,
    /// The body of `do`.
    of_do: bool,
}

/// One line of output.
#[derive(Default)]
struct Line {
    code: String,
    /// A comment behind the code.
    trailing: Option<String>,
}

// Each is a fact about the piece before; together they are no state machine.
#[allow(clippy::struct_excessive_bools)]
struct Writer {
    lines: Vec<Line>,
    open: Vec<Open>,
    parentheses: usize,
    /// The piece before ended an operand, so that `-` and `*` are binary.
    operand: bool,
    /// The piece before was a prefix operator.
    prefix: bool,
    /// The next piece starts a statement.
    statement: bool,
    /// The piece before was the colon of a label.
    label: bool,
    /// The brace just closed was the body of `do`.
    closed_do: bool,
    /// Conditional expressions that still wait for their colon.
    questions: usize,
}

/// What goes between two pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    Space,
    /// A new line at the indentation of statements.
    Line,
    /// A new line inside a statement.
    Continued,
}

impl Writer {
    fn new() -> Self {
        Self {
            lines: Vec::new(),
            open: Vec::new(),
            parentheses: 0,
            operand: false,
            prefix: false,
            statement: true,
            label: false,
            closed_do: false,
            questions: 0,
        }
    }

    fn piece(&mut self, pieces: &[Piece<'_>], at: usize) {
        let piece = &pieces[at];
        let previous = at.checked_sub(1).map(|i| &pieces[i]);
        if piece.kind == Kind::LineComment && piece.breaks == 0 && previous.is_some() {
            if let Some(line) = self.lines.last_mut() {
                line.trailing = Some(piece.text.to_owned());
            }
            return;
        }
        if piece.text == "}" && piece.kind == Kind::Symbol {
            self.close(pieces, at);
            return;
        }
        let gap = previous.map_or(Gap::Line, |p| self.gap(p, piece, pieces.get(at + 1)));
        self.write(piece, gap, previous.is_some_and(opens_block));
        self.note(piece, previous, pieces.get(at + 1));
    }

    /// Writes the closing brace of a block or list.
    fn close(&mut self, pieces: &[Piece<'_>], at: usize) {
        let open = self.open.pop();
        let list = open.as_ref().is_some_and(|o| o.list);
        let inline = open.as_ref().is_some_and(|o| o.inline);
        let after_comment = pieces[at - 1].kind == Kind::LineComment;
        let gap = if after_comment || !(list || inline) {
            Gap::Line
        } else if list {
            Gap::None
        } else {
            Gap::Space
        };
        let text = Piece {
            breaks: pieces[at].breaks.min(1),
            ..Piece {
                text: "}",
                kind: Kind::Symbol,
                breaks: 0,
                inline: false,
            }
        };
        self.write(&text, gap, true);
        self.operand = false;
        self.prefix = false;
        self.label = false;
        self.statement = !list;
        self.closed_do = open.is_some_and(|o| o.of_do);
    }

    /// What goes between `previous` and `piece`.
    fn gap(&self, previous: &Piece<'_>, piece: &Piece<'_>, next: Option<&Piece<'_>>) -> Gap {
        let broken = piece.breaks > 0;
        if previous.kind == Kind::LineComment {
            return if self.statement || self.label {
                Gap::Line
            } else {
                Gap::Continued
            };
        }
        let is_comment = matches!(piece.kind, Kind::LineComment | Kind::BlockComment);
        let in_line = self.open.last().is_some_and(|o| o.inline || o.list);
        if self.statement {
            let joins = match piece.text {
                "else" => previous.text == "}",
                "or" => previous.text == "}" && next.is_some_and(|n| n.text == "{"),
                "while" => self.closed_do,
                _ => false,
            };
            return if joins || (in_line && !broken) || (is_comment && !broken) {
                Gap::Space
            } else {
                Gap::Line
            };
        }
        if self.label && broken {
            return Gap::Line;
        }
        if piece.text == "{" && piece.kind == Kind::Symbol {
            return Gap::Space;
        }
        if broken && piece.text != ";" {
            return Gap::Continued;
        }
        if self.tight(previous, piece) {
            Gap::None
        } else {
            Gap::Space
        }
    }

    /// Whether nothing goes between two pieces of one statement.
    fn tight(&self, previous: &Piece<'_>, piece: &Piece<'_>) -> bool {
        if matches!(previous.kind, Kind::BlockComment) || piece.kind == Kind::BlockComment {
            return false;
        }
        let (before, text) = (previous.text, piece.text);
        if self.prefix {
            // `- -5` must not become `--5`.
            return !(before == "-" && text.starts_with('-'));
        }
        let opened_list = before == "{" && self.open.last().is_some_and(|o| o.list);
        if matches!(before, "(" | "[" | "." | ".." | "@" | "#") || opened_list {
            return true;
        }
        match text {
            ";" | "," | ")" | "]" | "." | ".." | "@" | "#" => true,
            "++" | "--" | "[" => self.operand,
            "(" => {
                let call = matches!(before, "assume" | "assert" | "atomic" | "choose" | "fence");
                call || (previous.kind == Kind::Word && self.operand)
            }
            "?" => before == "fence",
            ":" => self.questions == 0,
            _ => false,
        }
    }

    fn write(&mut self, piece: &Piece<'_>, gap: Gap, after_open: bool) {
        let fresh = match gap {
            Gap::Line | Gap::Continued => true,
            Gap::None | Gap::Space => self.lines.is_empty(),
        };
        if fresh {
            let closing = piece.text == "}" && piece.kind == Kind::Symbol;
            if piece.breaks > 1 && !after_open && !closing && !self.lines.is_empty() {
                self.lines.push(Line::default());
            }
            let level = self.open.iter().filter(|o| !o.inline).count();
            let level = level + usize::from(gap == Gap::Continued);
            self.lines.push(Line {
                code: "    ".repeat(level),
                trailing: None,
            });
        }
        let Some(line) = self.lines.last_mut() else {
            return;
        };
        if gap == Gap::Space {
            line.code.push(' ');
        }
        line.code.push_str(piece.text);
    }

    /// Takes note of a piece that was written.
    fn note(&mut self, piece: &Piece<'_>, previous: Option<&Piece<'_>>, next: Option<&Piece<'_>>) {
        if matches!(piece.kind, Kind::LineComment | Kind::BlockComment) {
            return;
        }
        let starts = self.statement || self.label;
        let was_operand = self.operand;
        self.statement = false;
        self.label = false;
        self.closed_do = false;
        self.prefix = false;
        self.operand = piece.kind == Kind::Word;
        if piece.kind != Kind::Symbol {
            return;
        }
        match piece.text {
            "{" => {
                let list = previous.is_some_and(|p| p.text == "=");
                self.open.push(Open {
                    list,
                    inline: piece.inline && !list,
                    of_do: previous.is_some_and(|p| p.text == "do"),
                });
                self.statement = !list;
            }
            ";" => self.statement = self.parentheses == 0,
            "(" | "[" => self.parentheses += 1,
            ")" | "]" => {
                self.parentheses = self.parentheses.saturating_sub(1);
                self.operand = true;
            }
            "?" => self.questions += usize::from(previous.is_none_or(|p| p.text != "fence")),
            ":" if self.questions > 0 => self.questions -= 1,
            ":" => self.label = true,
            "*" if !was_operand => self.operand = true,
            "-" if !was_operand => self.prefix = true,
            "!" | "~" => self.prefix = true,
            "++" | "--" if starts || !was_operand => self.prefix = next.is_some(),
            "++" | "--" => self.operand = true,
            _ => {}
        }
    }

    /// The text, with the comments behind code aligned.
    fn finish(self) -> String {
        let mut out = String::new();
        let mut width = 0;
        for (i, line) in self.lines.iter().enumerate() {
            let aligned = |l: &Line| l.trailing.is_some() && !l.code.contains('\n');
            if aligned(line) && (i == 0 || !aligned(&self.lines[i - 1])) {
                let run = self.lines[i..].iter().take_while(|l| aligned(l));
                width = run.map(|l| l.code.chars().count()).max().unwrap_or(0);
            }
            out.push_str(line.code.trim_end());
            if let Some(comment) = &line.trailing {
                let missing = width.saturating_sub(line.code.chars().count());
                let missing = if aligned(line) { missing } else { 0 };
                out.push_str(&" ".repeat(missing + 1));
                out.push_str(comment);
            }
            out.push('\n');
        }
        out
    }
}

/// Whether a blank line behind the piece would stand at the start of a block.
fn opens_block(piece: &Piece<'_>) -> bool {
    piece.text == "{" && piece.kind == Kind::Symbol
}
