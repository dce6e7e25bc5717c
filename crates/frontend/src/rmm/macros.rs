//! *Macros*: `macro name(a, b) ... endmacro` gives a name to some words, and
//! `name(x, y)` stands for them with the arguments in place of the parameters. A
//! macro without parameters may be defined and used without brackets. A macro is
//! known after its definition, may use other macros, but not itself.
//!
//! A word that comes out of a macro belongs to a [`Frame`]: the text of that one
//! use. Frames form a tree, and [`Expanded::hull`] finds the piece of source that
//! covers two words in the text that both come from, so that a statement always
//! has a span that can be read, and patched, as one piece.

use palisade_program::{Source, Span};
use palisade_syntax::Token as _;

use super::MAX_ERRORS;
use super::token::{FILE, Frame, Tok, Token};
use crate::diagnostic::Diagnostic;

/// Most words that macros may grow a file to.
const MAX_TOKENS: usize = 1 << 18;
/// Most texts that may be open at once.
const MAX_DEPTH: usize = 200;
/// Most uses of macros and parameters.
const MAX_USES: usize = 1 << 18;

/// The words of a file without macros.
#[derive(Debug)]
pub(super) struct Expanded {
    /// The words; the last is [`Tok::End`].
    pub(super) tokens: Vec<Token>,
    frames: Vec<Use>,
}

/// Where a frame's text was put: a macro call, or a parameter.
#[derive(Clone, Copy, Debug)]
struct Use {
    parent: Frame,
    at: Span,
    depth: u32,
    /// The frame whose author wrote the text: for an argument that is the caller.
    author: Frame,
    /// The macro that was called.
    called: Option<usize>,
}

impl Expanded {
    /// The least frame that two frames come from, and where both stand in it.
    fn common(&self, a: (Frame, Span), b: (Frame, Span)) -> (Frame, Span, Span) {
        let (mut a, mut b) = (a, b);
        while a.0 != b.0 {
            let (x, y) = (self.frames[a.0.0 as usize], self.frames[b.0.0 as usize]);
            if x.depth >= y.depth {
                a = (x.parent, x.at);
            }
            if y.depth >= x.depth {
                b = (y.parent, y.at);
            }
        }
        (a.0, a.1, b.1)
    }

    /// The piece of source from `first` to `last`, and whether it is of the file's
    /// own text.
    pub(super) fn hull(&self, first: &Token, last: &Token) -> (Span, bool) {
        let (frame, a, b) = self.common((first.frame, first.span), (last.frame, last.span));
        (a.to(b), frame == FILE)
    }

    /// The call in the file's own text that a word came from, if it came from one.
    pub(super) fn call_of(&self, token: &Token) -> Option<Span> {
        if token.frame == FILE {
            return None;
        }
        let mut at = token.span;
        let mut frame = token.frame;
        while frame != FILE {
            let used = self.frames[frame.0 as usize];
            (frame, at) = (used.parent, used.at);
        }
        Some(at)
    }
}

/// Writes all macros out.
pub(super) fn expand(source: &Source, words: &[Token], errors: &mut Vec<Diagnostic>) -> Expanded {
    let file = Use {
        parent: FILE,
        at: Span::default(),
        depth: 0,
        author: FILE,
        called: None,
    };
    let mut expander = Expander {
        source,
        errors,
        macros: Vec::new(),
        open: vec![Stream::new(words.to_vec(), FILE)],
        frames: vec![file],
        out: Vec::new(),
    };
    let end = expander.run();
    expander.out.push(end);
    Expanded {
        tokens: expander.out,
        frames: expander.frames,
    }
}

/// A macro.
struct Macro<'a> {
    name: &'a str,
    parameters: Vec<&'a str>,
    body: Vec<Token>,
}

/// Words that are being read.
struct Stream {
    tokens: Vec<Token>,
    next: usize,
    frame: Frame,
    /// The macro whose body this is, with its arguments.
    call: Option<(usize, Vec<Vec<Token>>)>,
}

impl Stream {
    const fn new(tokens: Vec<Token>, frame: Frame) -> Self {
        Self {
            tokens,
            next: 0,
            frame,
            call: None,
        }
    }

    fn has_ended(&self) -> bool {
        self.next >= self.tokens.len()
    }
}

struct Expander<'a> {
    source: &'a Source,
    errors: &'a mut Vec<Diagnostic>,
    macros: Vec<Macro<'a>>,
    open: Vec<Stream>,
    frames: Vec<Use>,
    out: Vec<Token>,
}

impl<'a> Expander<'a> {
    fn text(&self, token: &Token) -> &'a str {
        self.source.slice(token.text)
    }

    fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        if self.errors.len() < MAX_ERRORS {
            let error = Diagnostic::error(span, message).help(help);
            self.errors.push(error);
        }
    }

    /// Reads everything; returns the end.
    fn run(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.tok == Tok::End {
                return token;
            }
            if self.out.len() >= MAX_TOKENS || self.frames.len() >= MAX_USES {
                let help = format!("at most {MAX_TOKENS} words are read");
                self.error(token.span, "the macros make the program too large", help);
                return self.end();
            }
            if token.is("macro") {
                self.define(&token);
            } else if token.is("endmacro") {
                let help = "remove it, or start the macro with `macro NAME(...)`";
                self.error(token.span, "`endmacro` without `macro`", help);
            } else if let Some(index) = self.macro_named(&token) {
                self.call(&token, index);
            } else {
                self.out.push(token);
            }
        }
    }

    fn macro_named(&self, token: &Token) -> Option<usize> {
        if token.tok != Tok::Name {
            return None;
        }
        let name = self.text(token);
        self.macros.iter().position(|m| m.name == name)
    }

    fn end(&self) -> Token {
        let file = &self.open[0].tokens;
        *file.last().expect("the lexer ends every file with an end")
    }

    /// The next word, with parameters replaced but macros not yet called.
    fn next(&mut self) -> Token {
        loop {
            let depth = self.open.len();
            let top = self.open.last_mut().expect("the file is never closed");
            let Some(token) = top.tokens.get(top.next).copied() else {
                if depth == 1 {
                    return self.end();
                }
                self.open.pop();
                continue;
            };
            top.next += 1;
            let (frame, span) = (top.frame, token.span);
            match self.argument(&token) {
                Some(argument) => {
                    let author = self.frames[frame.0 as usize].parent;
                    let frame = self.frame(frame, span, author, None);
                    self.open.push(Stream::new(argument, frame));
                }
                None => return Token { frame, ..token },
            }
        }
    }

    /// The argument that a word of the innermost macro stands for.
    fn argument(&self, token: &Token) -> Option<Vec<Token>> {
        if token.tok != Tok::Name {
            return None;
        }
        let (index, arguments) = self.open.last()?.call.as_ref()?;
        let name = self.text(token);
        let parameters = &self.macros[*index].parameters;
        let place = parameters.iter().position(|p| *p == name)?;
        arguments.get(place).cloned()
    }

    fn frame(&mut self, parent: Frame, at: Span, author: Frame, called: Option<usize>) -> Frame {
        let depth = self.frames[parent.0 as usize].depth + 1;
        self.frames.push(Use {
            parent,
            at,
            depth,
            author,
            called,
        });
        Frame(self.frames.len() as u32 - 1)
    }

    /// Whether a text of `frame` was written, in the end, by this macro.
    fn is_written_by(&self, mut frame: Frame, index: usize) -> bool {
        while frame != FILE {
            let used = self.frames[frame.0 as usize];
            if used.called == Some(index) {
                return true;
            }
            frame = used.author;
        }
        false
    }

    /// Whether this word or symbol comes next; only looks into the innermost text
    /// that has not ended.
    fn peek_is(&mut self, ahead: usize, what: &str) -> bool {
        while self.open.len() > 1 && self.open.last().is_some_and(Stream::has_ended) {
            self.open.pop();
        }
        let top = self.open.last().expect("the file is never closed");
        top.tokens.get(top.next + ahead).is_some_and(|t| t.is(what))
    }

    /// `macro name(a, b) ... endmacro`.
    fn define(&mut self, word: &Token) {
        if self.open.len() > 1 {
            let help = "define macros outside of macros";
            self.error(word.span, "a macro is defined inside a macro", help);
        }
        let name = self.next();
        if name.tok != Tok::Name {
            let help = match name.tok {
                Tok::Word(_) => "reserved words cannot be names",
                _ => "write `macro NAME(PARAMETERS) ... endmacro`",
            };
            self.error(name.span, "expected the macro's name", help);
        } else if self.macro_named(&name).is_some() {
            let message = format!("the macro `{}` is defined twice", self.text(&name));
            self.error(name.span, message, "rename one of them");
        }
        let parameters = if self.peek_is(0, "(") {
            self.parameters()
        } else {
            Vec::new()
        };
        let body = self.body(word);
        if name.tok == Tok::Name && self.macro_named(&name).is_none() {
            self.macros.push(Macro {
                name: self.text(&name),
                parameters,
                body,
            });
        }
    }

    fn parameters(&mut self) -> Vec<&'a str> {
        let help = "write the parameters as `(a, b)`";
        let mut parameters = Vec::new();
        self.next();
        if self.peek_is(0, ")") {
            self.next();
            return parameters;
        }
        loop {
            let parameter = self.next();
            let text = self.text(&parameter);
            if parameter.tok != Tok::Name {
                let help = match parameter.tok {
                    Tok::Word(_) => "reserved words cannot be names",
                    _ => help,
                };
                self.error(parameter.span, "expected a parameter's name", help);
                return parameters;
            }
            if parameters.contains(&text) {
                let message = format!("the parameter `{text}` is named twice");
                self.error(parameter.span, message, "rename one of them");
            }
            parameters.push(text);
            let after = self.next();
            if after.is(")") {
                return parameters;
            }
            if !after.is(",") {
                self.error(after.span, "expected `,` or `)`", help);
                return parameters;
            }
        }
    }

    /// The words up to `endmacro`.
    fn body(&mut self, word: &Token) -> Vec<Token> {
        let mut body = Vec::new();
        loop {
            let token = self.next();
            if token.is("endmacro") {
                return body;
            }
            if token.tok == Tok::End {
                let help = "end it with `endmacro`";
                self.error(word.span, "the macro has no end", help);
                return body;
            }
            if token.is("macro") {
                let help = "end the first macro with `endmacro`";
                self.error(token.span, "a macro is defined inside a macro", help);
            }
            body.push(token);
        }
    }

    /// Starts reading the body of a macro.
    fn call(&mut self, name: &Token, index: usize) {
        let text = self.macros[index].name;
        if self.is_written_by(name.frame, index) {
            let help = "a macro cannot use itself";
            self.error(name.span, format!("the macro `{text}` uses itself"), help);
            return;
        }
        if self.open.len() >= MAX_DEPTH {
            let help = format!("at most {MAX_DEPTH} macros may be nested");
            self.error(name.span, "macros are nested too deeply", help);
            return;
        }
        let wanted = self.macros[index].parameters.len();
        let (arguments, last) = if wanted > 0 || self.peek_is(0, "(") && self.peek_is(1, ")") {
            let Some(found) = self.arguments(name) else {
                return;
            };
            found
        } else {
            (Vec::new(), *name)
        };
        // The name may have been an argument: then its brackets are of another text.
        let at = if last.frame == name.frame {
            name.span.to(last.span)
        } else {
            name.span
        };
        if arguments.len() != wanted {
            let message = format!(
                "the macro `{text}` has {wanted} parameters, but {} arguments are given",
                arguments.len()
            );
            let help = "arguments are separated by commas";
            self.error(at, message, help);
            return;
        }
        let frame = self.frame(name.frame, at, name.frame, Some(index));
        let mut stream = Stream::new(self.macros[index].body.clone(), frame);
        stream.call = Some((index, arguments));
        self.open.push(stream);
    }

    /// The arguments in brackets, and the closing one. All are read from
    /// the text that the call stands in: a bracket is not closed by a macro.
    fn arguments(&mut self, name: &Token) -> Option<(Vec<Vec<Token>>, Token)> {
        if !self.peek_is(0, "(") {
            let message = format!("the macro `{}` needs arguments", self.text(name));
            let help = format!("write `{}(...)`", self.text(name));
            self.error(name.span, message, help);
            return None;
        }
        let depth = self.open.len();
        let frame = self.next().frame;
        let mut nesting = 1;
        let mut arguments = Vec::new();
        let mut argument: Vec<Token> = Vec::new();
        loop {
            let token = self.next();
            let ended = self.open.len() < depth || token.tok == Tok::End;
            if ended || token.is("macro") || token.is("endmacro") {
                let help = "close them with `)`";
                self.error(name.span, "the macro's arguments have no end", help);
                return None;
            }
            let token = self.lifted(token, frame);
            if token.is("(") {
                nesting += 1;
            } else if token.is(")") {
                nesting -= 1;
            }
            let closes = nesting == 0;
            if closes || nesting == 1 && token.is(",") {
                if closes && argument.is_empty() && arguments.is_empty() {
                    return Some((arguments, token));
                }
                if argument.is_empty() {
                    let help = "write something between the commas";
                    self.error(token.span, "a macro's argument is empty", help);
                    return None;
                }
                arguments.push(std::mem::take(&mut argument));
                if closes {
                    return Some((arguments, token));
                }
            } else {
                argument.push(token);
            }
        }
    }

    /// The word as it stands in the text of `frame`, which it came from.
    fn lifted(&self, mut token: Token, frame: Frame) -> Token {
        while token.frame != frame && token.frame != FILE {
            let used = self.frames[token.frame.0 as usize];
            (token.frame, token.span) = (used.parent, used.at);
        }
        token
    }
}
