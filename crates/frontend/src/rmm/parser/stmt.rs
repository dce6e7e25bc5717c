//! Statements.

use super::{Failed, Parse, Parser};
use crate::rmm::ast::{Alternatives, Labelled, Stmt, StmtKind, Sync, WriteKind};
use crate::rmm::token::{Tok, Token};

const NO_STATEMENT: &str = "statements are separated by `;`, which does not end the last one";

impl Parser<'_> {
    /// Statements separated by `;`.
    pub(super) fn stmts(&mut self) -> Parse<Vec<Labelled>> {
        let mut list = Vec::new();
        loop {
            match self.deeper(Self::labelled) {
                Ok(stmt) => list.push(stmt),
                Err(Failed) => self.skip(),
            }
            if !self.take(";") {
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
            self.at += 1;
        }
    }

    /// The end of a block; after an error the rest of it is skipped.
    fn close(&mut self, help: &str) {
        if let Err(Failed) = self.force("}", help) {
            self.skip();
            while self.take(";") || self.take("or") {
                self.skip();
            }
            self.take("}");
        }
    }

    fn labelled(&mut self) -> Parse<Labelled> {
        let token = self.peek();
        let mut label = None;
        if token.tok == Tok::Name {
            self.at += 1;
            let name = self.named(token);
            if !self.take(":") {
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
                self.at += 1;
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
        let first = self.next();
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
                self.force("write", "write `slocked write: x := ...`")?;
                self.write(WriteKind::StoreLocked)
            }
            "locked" if self.take("write") => self.write(WriteKind::Locked),
            "locked" => Ok(StmtKind::Locked(self.alternatives()?)),
            "either" => Ok(StmtKind::Either(self.alternatives()?)),
            "cas" => self.cas(),
            "assume" => {
                self.force(":", "write `assume: $r = 0`")?;
                Ok(StmtKind::Assume(self.cond()?))
            }
            "if" => self.if_then(),
            "while" => {
                let cond = self.cond()?;
                self.force("do", "write `while CONDITION do STATEMENT`")?;
                let body = self.deeper(Self::labelled)?;
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
        self.at -= 1;
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
        let token = self.next();
        let register = self.named(token);
        self.force(":=", "write `$r := EXPRESSION`")?;
        Ok(StmtKind::Assign(register, self.expr()?))
    }

    /// After `read` or `syncrd`.
    fn read(&mut self, sync: Sync) -> Parse<StmtKind> {
        self.force(
            ":",
            "write `read: $r := x`, or `read: x = 0` to wait for a value",
        )?;
        let token = self.peek();
        if token.tok == Tok::Register {
            self.at += 1;
            let register = self.named(token);
            self.force(":=", "write `read: $r := x`")?;
            return Ok(StmtKind::ReadInto(sync, register, self.loc()?));
        }
        let loc = self.loc()?;
        self.force("=", "write `read: x = 0` to wait for a value")?;
        Ok(StmtKind::ReadEqual(sync, loc, self.expr()?))
    }

    /// After `write`.
    fn write(&mut self, kind: WriteKind) -> Parse<StmtKind> {
        let help = "write `write: x := EXPRESSION`";
        self.force(":", help)?;
        let loc = self.loc()?;
        self.force(":=", help)?;
        Ok(StmtKind::Write(kind, loc, self.expr()?))
    }

    fn cas(&mut self) -> Parse<StmtKind> {
        let help = "write `cas(x, OLD, NEW)`";
        self.force("(", help)?;
        let loc = self.loc()?;
        self.force(",", help)?;
        let old = self.expr()?;
        self.force(",", help)?;
        let new = self.expr()?;
        self.force(")", help)?;
        Ok(StmtKind::Cas(loc, old, new))
    }

    fn if_then(&mut self) -> Parse<StmtKind> {
        let cond = self.cond()?;
        self.force("then", "write `if CONDITION then STATEMENT`")?;
        let yes = Box::new(self.deeper(Self::labelled)?);
        let no = if self.take("else") {
            Some(Box::new(self.deeper(Self::labelled)?))
        } else {
            None
        };
        Ok(StmtKind::If(cond, yes, no))
    }

    fn block(&mut self) -> Parse<Vec<Labelled>> {
        self.force("{", "a block starts with `{`")?;
        let list = self.deeper(Self::stmts)?;
        self.close("close the block with `}`");
        Ok(list)
    }

    /// `{ S ; S or S }`
    fn alternatives(&mut self) -> Parse<Alternatives> {
        self.force(
            "{",
            "the alternatives stand in `{` and `}`, with `or` between them",
        )?;
        let mut list = Vec::new();
        loop {
            list.push(self.deeper(Self::stmts)?);
            if !self.take("or") {
                break;
            }
        }
        self.close("close the alternatives with `}`");
        Ok(list)
    }
}
