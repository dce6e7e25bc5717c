//! Statements.

use palisade_syntax::Token as _;

use super::{Failed, Parse, Parser, Syntax};
use crate::rmm::ast::{Alternatives, Labelled, Stmt, StmtKind, Sync, WriteKind};
use crate::rmm::token::{Tok, Token};

const NO_STATEMENT: &str = "statements are separated by `;`, which does not end the last one";

impl Parser<'_> {
    /// Statements separated by `;`.
    pub(super) fn stmts(&mut self) -> Parse<Vec<Labelled>> {
        let mut list = Vec::new();
        loop {
            match self.nested(Self::labelled) {
                Ok(stmt) => list.push(stmt),
                Err(Failed) => self.skip(),
            }
            if !self.eat(";") {
                return Ok(list);
            }
        }
    }

    /// After an error: moves to the end of the statement.
    fn skip(&mut self) {
        let mut nesting = 0_u32;
        loop {
            let token = self.peek();
            let ends = token.is(";") || token.is("or") || token.is("}");
            let over = token.tok == Tok::End || token.is("process");
            if over || nesting == 0 && ends {
                return;
            }
            if token.is("{") {
                nesting += 1;
            } else if token.is("}") {
                nesting -= 1;
            }
            self.advance();
        }
    }

    /// The end of a block; after an error the rest of it is skipped.
    fn close(&mut self, help: &str) {
        if let Err(Failed) = self.need("}", help) {
            self.skip();
            while self.eat(";") || self.eat("or") {
                self.skip();
            }
            self.eat("}");
        }
    }

    fn labelled(&mut self) -> Parse<Labelled> {
        let token = self.peek();
        let mut label = None;
        if token.tok == Tok::Name {
            self.advance();
            let name = self.named(token);
            if !self.eat(":") {
                return Err(self.no_statement(token));
            }
            label = Some(name);
        }
        let stmt = self.stmt()?;
        Ok(Labelled { label, stmt })
    }

    /// Complains about a name, which has been read, where a statement should be.
    fn no_statement(&mut self, name: &Token) -> Failed {
        let help = if self.is("(") {
            "no macro of this name is defined above"
        } else if self.is(":") {
            "a statement has one label only"
        } else {
            "a label is followed by `:`; memory is written with `write: x := ...`"
        };
        let message = format!("`{}` is no statement", self.slice(name));
        self.fail(name, &message, help)
    }

    fn stmt(&mut self) -> Parse<Stmt> {
        let first = self.peek();
        let kind = match first.tok {
            Tok::Register => self.assign()?,
            Tok::Word(word) => self.by_word(word)?,
            Tok::Symbol("{") => StmtKind::Block(self.block()?),
            Tok::Name => {
                self.advance();
                return Err(self.no_statement(first));
            }
            Tok::End | Tok::Number | Tok::Symbol(_) => {
                return Err(self.expected("a statement", NO_STATEMENT));
            }
        };
        let (span, in_file) = self.piece_from(first);
        Ok(Stmt {
            kind,
            span,
            in_file,
        })
    }

    fn by_word(&mut self, word: &str) -> Parse<StmtKind> {
        let first = self.advance();
        match word {
            "nop" => Ok(StmtKind::Nop),
            "fence" => Ok(StmtKind::Fence),
            "ssfence" => Ok(StmtKind::StoreFence),
            "llfence" => Ok(StmtKind::LoadFence),
            "read" => self.read(Sync::No),
            "syncrd" => self.read(Sync::Yes),
            "write" => self.write(WriteKind::Plain),
            "syncwr" => self.write(WriteKind::Sync),
            "slocked" => {
                self.need("write", "write `slocked write: x := ...`")?;
                self.write(WriteKind::StoreLocked)
            }
            "locked" if self.eat("write") => self.write(WriteKind::Locked),
            "locked" => Ok(StmtKind::Locked(self.alternatives()?)),
            "either" => Ok(StmtKind::Either(self.alternatives()?)),
            "cas" => self.cas(),
            "assume" => {
                self.need(":", "write `assume: $r = 0`")?;
                Ok(StmtKind::Assume(self.cond()?))
            }
            "if" => self.if_then(),
            "while" => {
                let cond = self.cond()?;
                self.need("do", "write `while CONDITION do STATEMENT`")?;
                let body = self.nested(Self::labelled)?;
                Ok(StmtKind::While(cond, Box::new(body)))
            }
            "goto" => {
                let label = self.name("a label", "write `goto L`")?;
                Ok(StmtKind::Goto(label))
            }
            _ => Err(self.misplaced(first)),
        }
    }

    fn misplaced(&mut self, token: &Token) -> Failed {
        if !token.is_end() {
            self.cursor.seek(self.cursor.position() - 1);
        }
        let help = match token.tok {
            Tok::Word("else") => "there is no `;` before `else`",
            Tok::Word("data" | "registers") => "declarations come before `text`",
            Tok::End | Tok::Name | Tok::Register | Tok::Number | Tok::Word(_) | Tok::Symbol(_) => {
                NO_STATEMENT
            }
        };
        self.expected("a statement", help)
    }

    fn assign(&mut self) -> Parse<StmtKind> {
        let token = self.advance();
        let register = self.named(token);
        self.need(":=", "write `$r := EXPRESSION`")?;
        Ok(StmtKind::Assign(register, self.expr()?))
    }

    /// After `read` or `syncrd`.
    fn read(&mut self, sync: Sync) -> Parse<StmtKind> {
        self.need(
            ":",
            "write `read: $r := x`, or `read: x = 0` to wait for a value",
        )?;
        let token = self.peek();
        if token.tok == Tok::Register {
            self.advance();
            let register = self.named(token);
            self.need(":=", "write `read: $r := x`")?;
            return Ok(StmtKind::ReadInto(sync, register, self.loc()?));
        }
        let loc = self.loc()?;
        self.need("=", "write `read: x = 0` to wait for a value")?;
        Ok(StmtKind::ReadEqual(sync, loc, self.expr()?))
    }

    /// After `write`.
    fn write(&mut self, kind: WriteKind) -> Parse<StmtKind> {
        let help = "write `write: x := EXPRESSION`";
        self.need(":", help)?;
        let loc = self.loc()?;
        self.need(":=", help)?;
        Ok(StmtKind::Write(kind, loc, self.expr()?))
    }

    fn cas(&mut self) -> Parse<StmtKind> {
        let help = "write `cas(x, OLD, NEW)`";
        self.need("(", help)?;
        let loc = self.loc()?;
        self.need(",", help)?;
        let old = self.expr()?;
        self.need(",", help)?;
        let new = self.expr()?;
        self.need(")", help)?;
        Ok(StmtKind::Cas(loc, old, new))
    }

    fn if_then(&mut self) -> Parse<StmtKind> {
        let cond = self.cond()?;
        self.need("then", "write `if CONDITION then STATEMENT`")?;
        let yes = Box::new(self.nested(Self::labelled)?);
        let no = if self.eat("else") {
            Some(Box::new(self.nested(Self::labelled)?))
        } else {
            None
        };
        Ok(StmtKind::If(cond, yes, no))
    }

    fn block(&mut self) -> Parse<Vec<Labelled>> {
        self.need("{", "a block starts with `{`")?;
        let list = self.nested(Self::stmts)?;
        self.close("close the block with `}`");
        Ok(list)
    }

    /// `{ S ; S or S }`
    fn alternatives(&mut self) -> Parse<Alternatives> {
        self.need(
            "{",
            "the alternatives stand in `{` and `}`, with `or` between them",
        )?;
        let mut list = Vec::new();
        loop {
            list.push(self.nested(Self::stmts)?);
            if !self.eat("or") {
                break;
            }
        }
        self.close("close the alternatives with `}`");
        Ok(list)
    }
}
