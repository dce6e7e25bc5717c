//! Tokens to tree: a predictive parser. A statement that is wrong is reported and
//! skipped, so that one run finds the errors of several statements; anything else
//! that is wrong ends the reading.

mod expr;
mod stmt;

use palisade_program::{Domain, Init, Source, Span};
pub(super) use palisade_syntax::Parser as Syntax;
use palisade_syntax::{Cursor, Token as _};

use super::MAX_ERRORS;
use super::ast::{Decl, File, Forbidden, Name, Process};
use super::macros::Expanded;
use super::token::{Tok, Token};
use crate::diagnostic::Diagnostic;

/// Most processes of one declaration.
const MAX_COPIES: i64 = 1 << 12;

/// The error has been reported.
struct Failed;

/// What a parsing function returns.
type Parse<T> = Result<T, Failed>;

/// Reads a whole file. If an error was added the tree is not complete.
pub(super) fn parse(source: &Source, text: &Expanded, errors: &mut Vec<Diagnostic>) -> File {
    let mut parser = Parser {
        source,
        text,
        cursor: Cursor::new(&text.tokens),
        errors,
    };
    let mut file = File::default();
    // What was read before the error is in `file`; the error has been reported.
    let _reported: Parse<()> = parser.file(&mut file);
    file
}

struct Parser<'a> {
    source: &'a Source,
    text: &'a Expanded,
    cursor: Cursor<'a, Token>,
    errors: &'a mut Vec<Diagnostic>,
}

/// Whether variables or registers are declared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Declares {
    Memory,
    Registers,
}

impl<'a> Syntax<'a> for Parser<'a> {
    type Token = Token;
    type Error = Failed;
    const MAX_DEPTH: u32 = 100;
    const MAX_CHAIN: u32 = 300;

    fn cursor(&self) -> &Cursor<'a, Token> {
        &self.cursor
    }

    fn cursor_mut(&mut self) -> &mut Cursor<'a, Token> {
        &mut self.cursor
    }

    fn too_deep(&mut self) -> Failed {
        let help = format!("at most {} levels are read", Self::MAX_DEPTH);
        self.fail(self.peek(), "nested too deeply", &help)
    }

    fn too_long(&mut self) -> Failed {
        let help = format!("at most {} operators may be chained", Self::MAX_CHAIN);
        self.fail(self.peek(), "the expression is too long", &help)
    }

    /// Reports that something else was expected at the current token.
    fn expected(&mut self, what: &str, help: &str) -> Failed {
        let token = self.peek();
        let message = format!("expected {what}, found {}", self.describe(token));
        self.fail(token, &message, help)
    }
}

impl Parser<'_> {
    /// The span from `first` to the token before the current one.
    fn span_from(&self, first: &Token) -> Span {
        self.piece_from(first).0
    }

    /// The same, and whether it is of the file's own text.
    fn piece_from(&self, first: &Token) -> (Span, bool) {
        self.text.hull(first, self.cursor.last())
    }

    fn slice(&self, token: &Token) -> String {
        self.source.slice(token.text).to_owned()
    }

    /// How a token is called in messages.
    fn describe(&self, token: &Token) -> String {
        match token.tok {
            Tok::End => "the end of the file".to_owned(),
            Tok::Word(word) => format!("the word `{word}`"),
            Tok::Name | Tok::Register | Tok::Number | Tok::Symbol(_) => {
                format!("`{}`", self.source.slice(token.text))
            }
        }
    }

    /// Reports an error at `token`.
    fn fail(&mut self, token: &Token, message: &str, help: &str) -> Failed {
        let mut error = Diagnostic::error(token.span, message).help(help);
        if let Some(call) = self.text.call_of(token) {
            let line = self.source.position(call.start).line;
            error = error.label(format!("in a macro that is used in line {line}"));
        }
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
        Failed
    }

    fn name(&mut self, what: &str, help: &str) -> Parse<Name> {
        let token = self.peek();
        if token.tok == Tok::Name {
            self.advance();
            return Ok(self.named(token));
        }
        let reserved = matches!(token.tok, Tok::Word(_));
        let help = if reserved {
            "reserved words cannot be names"
        } else {
            help
        };
        Err(self.expected(what, help))
    }

    fn named(&self, token: &Token) -> Name {
        Name {
            text: self.slice(token),
            span: token.span,
        }
    }

    fn file(&mut self, file: &mut File) -> Parse<()> {
        self.forbidden(file)?;
        if self.eat("predicates") {
            loop {
                let first = self.peek();
                let cond = self.cond()?;
                file.predicates.push((cond, self.span_from(first)));
                if !self.eat(";") {
                    break;
                }
            }
        }
        if self.eat("data") {
            file.data = self.decls(Declares::Memory)?;
        }
        while self.is("process") {
            let process = self.process()?;
            file.processes.push(process);
        }
        if self.peek().tok != Tok::End {
            let help = if file.processes.is_empty() {
                "a file is `forbidden ...`, then `predicates` and `data` if any, then processes"
            } else {
                "statements are separated by `;`"
            };
            return Err(self.expected("`process`", help));
        }
        if file.processes.is_empty() {
            return Err(self.expected("`process`", "a program needs at least one process"));
        }
        Ok(())
    }

    /// `forbidden L1 L2 ; L3 *`
    fn forbidden(&mut self, file: &mut File) -> Parse<()> {
        let help =
            "a file starts with `forbidden` and the labels that must not be reached together";
        self.need("forbidden", help)?;
        loop {
            let first = self.peek();
            let mut labels = Vec::new();
            loop {
                let token = self.peek();
                if token.is("*") {
                    labels.push(None);
                } else if token.tok == Tok::Name {
                    labels.push(Some(self.named(token)));
                } else {
                    break;
                }
                self.advance();
            }
            if labels.is_empty() {
                let help = "write one label for each process, or `*` for anywhere";
                return Err(self.expected("a label or `*`", help));
            }
            let span = self.span_from(first);
            file.forbidden.push(Forbidden { labels, span });
            if !self.eat(";") {
                return Ok(());
            }
        }
    }

    fn process(&mut self) -> Parse<Process> {
        let first = self.advance();
        let count = if self.eat("(") {
            let count = self.count()?;
            self.need(")", "write `process(2)`")?;
            count
        } else {
            1
        };
        let span = self.span_from(first);
        let mut process = Process {
            span,
            count,
            data: Vec::new(),
            registers: Vec::new(),
            text: Vec::new(),
        };
        loop {
            let token = self.peek();
            let (what, list) = if token.is("data") {
                (Declares::Memory, &mut process.data)
            } else if token.is("registers") {
                (Declares::Registers, &mut process.registers)
            } else {
                break;
            };
            self.advance();
            if !list.is_empty() {
                let help = "put all declarations of a kind under one word";
                return Err(self.fail(token, "declared a second time", help));
            }
            *list = self.decls(what)?;
        }
        let help =
            "a process is `process`, `data` and `registers` if any, then `text` and statements";
        self.need("text", help)?;
        process.text = self.stmts()?;
        Ok(process)
    }

    fn count(&mut self) -> Parse<u32> {
        let token = self.peek();
        let count = self.number("write `process(2)` for two identical processes")?;
        if (1..=MAX_COPIES).contains(&count) {
            return Ok(count as u32);
        }
        let help = format!("a number from 1 to {MAX_COPIES} is expected");
        Err(self.fail(token, "unfit number of processes", &help))
    }

    /// A number without sign.
    fn number(&mut self, help: &str) -> Parse<i64> {
        let token = self.peek();
        if token.tok != Tok::Number {
            return Err(self.expected("a number", help));
        }
        self.advance();
        if let Ok(value) = self.source.slice(token.text).parse() {
            return Ok(value);
        }
        let help = "numbers go up to 9223372036854775807";
        Err(self.fail(token, "the number is too large", help))
    }

    /// A number with or without sign.
    fn signed(&mut self, help: &str) -> Parse<i64> {
        let negative = self.eat("-");
        let value = self.number(help)?;
        Ok(if negative { -value } else { value })
    }

    /// `v = 0 : [0:1]`, several of them; commas between them are allowed.
    fn decls(&mut self, what: Declares) -> Parse<Vec<Decl>> {
        let mut list: Vec<Decl> = Vec::new();
        let kind = match what {
            Declares::Memory => Tok::Name,
            Declares::Registers => Tok::Register,
        };
        loop {
            let token = self.peek();
            if token.tok != kind {
                let (wanted, help) = match what {
                    Declares::Memory => ("a variable", "write `x = 0` or `x = * : [0:1]`"),
                    Declares::Registers => ("a register", "write `$r = 0` or `$r = * : [0:1]`"),
                };
                return Err(self.expected(wanted, help));
            }
            let decl = self.decl()?;
            if list.iter().any(|d| d.name.text == decl.name.text) {
                let message = format!("`{}` is declared twice", decl.name.text);
                // Reading can go on: the tree is thrown away.
                let _reported: Failed = self.fail(token, &message, "remove one of them");
            }
            list.push(decl);
            if !self.eat(",") && self.peek().tok != kind {
                return Ok(list);
            }
        }
    }

    fn decl(&mut self) -> Parse<Decl> {
        let token = self.advance();
        let name = self.named(token);
        self.need(
            "=",
            "every variable and register has an initial value: `= 0`, or `= *` for any",
        )?;
        let init = if self.eat("*") {
            Init::Any
        } else {
            let help = "write a number, or `*` for any value";
            Init::Value(self.signed(help)?)
        };
        let domain = if self.eat(":") { self.domain()? } else { None };
        if let (Init::Value(value), Some(domain)) = (init, domain)
            && !domain.contains(value)
        {
            let message = format!("the initial value of `{}` is not in its domain", name.text);
            let help = format!("it must be from {} to {}", domain.lo, domain.hi);
            let _reported: Failed = self.fail(token, &message, &help);
        }
        Ok(Decl { name, init, domain })
    }

    /// `[lo:hi]` or `Z`.
    fn domain(&mut self) -> Parse<Option<Domain>> {
        let token = self.peek();
        if token.tok == Tok::Name && self.source.slice(token.text) == "Z" {
            self.advance();
            return Ok(None);
        }
        let help = "a domain is `[0:1]`, or `Z` for all integers";
        self.need("[", help)?;
        let lo = self.signed(help)?;
        self.need(":", help)?;
        let hi = self.signed(help)?;
        self.need("]", help)?;
        if lo > hi {
            let message = "the domain is empty";
            return Err(self.fail(token, message, "the smaller number comes first"));
        }
        Ok(Some(Domain { lo, hi }))
    }
}
