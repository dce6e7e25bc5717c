//! Statements of methods, of `init` and of specifications.

use palisade_program::Span;
use palisade_program::heap::CommitKind;

use super::{ONLY_ITEM_WORDS, Reader};
use crate::heap::ast::{Expr, ExprKind, Fact, FactKind, Path, Stmt, StmtKind};
use crate::pal::parser::{Parse, Syntax, block};
use crate::pal::token::Tok;

const SEMICOLON: &str = "end the statement with `;`";

/// Words that start a statement: where recovery may stop.
const STATEMENT_WORDS: &[&str] = &[
    "if", "while", "do", "for", "break", "continue", "choose", "assume", "skip", "atomic",
    "return", "assert", "commit", "confirm", "soft", "free", "lock", "unlock", "fence",
];

impl Reader<'_> {
    /// `{ ... }` with the span of the braces.
    pub(super) fn block(&mut self) -> Parse<(Vec<Stmt>, Span)> {
        block(
            self,
            |word| ONLY_ITEM_WORDS.contains(&word),
            STATEMENT_WORDS,
            Self::stmt,
        )
    }

    fn stmt(&mut self) -> Parse<Stmt> {
        self.nested(Self::stmt_here)
    }

    fn stmt_here(&mut self) -> Parse<Stmt> {
        let start = self.span();
        let kind = self.stmt_kind()?;
        let span = start.to(self.last_span());
        Ok(Stmt { kind, span })
    }

    fn stmt_kind(&mut self) -> Parse<StmtKind> {
        if self.is("{") {
            return Ok(StmtKind::Block(self.block()?.0));
        }
        match self.word() {
            "if" => self.if_statement(),
            "while" => {
                self.advance();
                let cond = self.parenthesised_condition()?;
                Ok(StmtKind::While(cond, Box::new(self.stmt()?)))
            }
            "do" => {
                self.advance();
                let body = Box::new(self.stmt()?);
                if !self.eat_word("while") {
                    return Err(self.expected("`while`", "write `do { ... } while (c);`"));
                }
                let cond = self.parenthesised_condition()?;
                self.end()?;
                Ok(StmtKind::DoWhile(body, cond))
            }
            "for" => self.for_statement(),
            "choose" if self.is_at(1, "{") => {
                self.advance();
                let mut blocks = vec![self.block()?.0];
                while self.eat_word("or") {
                    blocks.push(self.block()?.0);
                }
                Ok(StmtKind::Choose(blocks))
            }
            "break" => self.word_only(StmtKind::Break),
            "continue" => self.word_only(StmtKind::Continue),
            "skip" => self.word_only(StmtKind::Skip),
            "fence" if self.is_at(1, ";") => self.word_only(StmtKind::Fence),
            "fence" if self.is_at(1, "(") || self.is_at(1, "?") => {
                Err(self.not_here("this kind of fence", "write `fence;`"))
            }
            "return" => {
                self.advance();
                let value = if self.is(";") {
                    None
                } else {
                    Some(self.expr()?)
                };
                self.end()?;
                Ok(StmtKind::Return(value))
            }
            "atomic" => {
                self.advance();
                Ok(StmtKind::Atomic(self.block()?.0))
            }
            "assume" => {
                self.advance();
                let cond = self.parenthesised_condition()?;
                self.end()?;
                Ok(StmtKind::Assume(cond))
            }
            "lock" if self.is_at(1, "(") => Ok(StmtKind::Lock(self.place_argument()?)),
            "unlock" if self.is_at(1, "(") => Ok(StmtKind::Unlock(self.place_argument()?)),
            "free" if self.is_at(1, "(") => {
                self.advance();
                let node = self.parenthesised_condition()?;
                self.end()?;
                Ok(StmtKind::Free(node))
            }
            "cas" if self.is_at(1, "(") => {
                let cas = self.cas()?;
                self.end()?;
                Ok(StmtKind::Cas(cas))
            }
            "xchg" | "fetch_add" if self.is_at(1, "(") => {
                let swap = self.swap()?;
                self.end()?;
                Ok(StmtKind::Swap(swap))
            }
            "commit" | "confirm" if !self.is_at(1, "=") && !self.is_at(1, ".") => self.commit(),
            "soft" if !self.is_at(1, "=") && !self.is_at(1, ".") => self.soft(),
            "assert" if self.is_at(1, "(") => {
                self.advance();
                let cond = self.parenthesised_condition()?;
                self.end()?;
                Ok(StmtKind::Assert(cond))
            }
            "goto" | "assert" => {
                let what = format!("`{}`", self.word());
                Err(self.not_here(&what, "use `while`, `for`, `if`, `break` and `continue`"))
            }
            _ if self.at_declaration() => {
                if self.is_word("local") {
                    self.advance();
                }
                let mut all = Vec::new();
                self.declarations(&mut all)?;
                Ok(StmtKind::Declare(all))
            }
            _ => self.assignment(),
        }
    }

    /// A type and a name: `node n`, `marked node n`, `int i`.
    fn at_declaration(&self) -> bool {
        let word = self.word();
        let next = self.word_at(1);
        matches!(word, "local" | "int") || (!word.is_empty() && !next.is_empty())
    }

    fn word_only(&mut self, kind: StmtKind) -> Parse<StmtKind> {
        self.advance();
        self.end()?;
        Ok(kind)
    }

    fn end(&mut self) -> Parse<()> {
        self.need(";", SEMICOLON)?;
        Ok(())
    }

    fn parenthesised_condition(&mut self) -> Parse<Expr> {
        self.need("(", "write it in parentheses")?;
        let cond = self.condition()?;
        self.need(")", "close the parenthesis with `)`")?;
        Ok(cond)
    }

    fn place_argument(&mut self) -> Parse<Path> {
        self.advance();
        self.need("(", "write the lock in parentheses")?;
        let place = self.path()?;
        self.need(")", "close the parenthesis with `)`")?;
        self.end()?;
        Ok(place)
    }

    fn if_statement(&mut self) -> Parse<StmtKind> {
        self.advance();
        let cond = self.parenthesised_condition()?;
        let then = Box::new(self.stmt()?);
        let other = if self.eat_word("else") {
            Some(Box::new(self.stmt()?))
        } else {
            None
        };
        Ok(StmtKind::If(cond, then, other))
    }

    /// `commit;`, `commit later when c;`, `confirm;`
    fn commit(&mut self) -> Parse<StmtKind> {
        let kind = if self.eat_word("confirm") {
            CommitKind::Confirm
        } else {
            self.advance();
            if self.eat_word("later") {
                CommitKind::Later
            } else {
                CommitKind::Now
            }
        };
        let when = if self.eat_word("when") {
            Some(self.condition()?)
        } else {
            None
        };
        self.end()?;
        Ok(StmtKind::Commit(kind, when))
    }

    /// `soft p.next == q when done;`
    fn soft(&mut self) -> Parse<StmtKind> {
        self.advance();
        let then = self.fact()?;
        let when = if self.eat_word("when") {
            Some(self.fact()?)
        } else {
            None
        };
        self.end()?;
        Ok(StmtKind::Soft(then, when))
    }

    /// `!entered(x)`, `done`, `x.next == y`
    fn fact(&mut self) -> Parse<Fact> {
        let negated = self.eat("!");
        let alone = self.is_at(1, ";") || self.word_at(1) == "when";
        let is_word = !self.word().is_empty() && (alone || self.is_at(1, "("));
        let kind = if is_word {
            self.fact_word()?
        } else {
            FactKind::Compare(self.condition()?)
        };
        Ok(Fact { kind, negated })
    }

    fn fact_word(&mut self) -> Parse<FactKind> {
        let word = self.name("a fact")?;
        let mut arguments = Vec::new();
        if self.eat("(") {
            loop {
                arguments.push(self.name("a variable")?);
                if !self.eat(",") {
                    break;
                }
            }
            self.need(")", "close the parenthesis with `)`")?;
        }
        Ok(FactKind::Word(word, arguments))
    }

    /// `for (start; condition; step) body`; each of the three may be missing.
    fn for_statement(&mut self) -> Parse<StmtKind> {
        self.advance();
        self.need("(", "write `for (start; condition; step)`")?;
        let start = if self.eat(";") {
            None
        } else {
            Some(Box::new(self.stmt()?))
        };
        let cond = if self.is(";") {
            None
        } else {
            Some(self.condition()?)
        };
        self.end()?;
        let step = if self.is(")") {
            None
        } else {
            let from = self.span();
            let kind = self.assignment_to_end()?;
            let span = from.to(self.last_span());
            Some(Box::new(Stmt { kind, span }))
        };
        self.need(")", "close the parenthesis with `)`")?;
        Ok(StmtKind::For(start, cond, step, Box::new(self.stmt()?)))
    }

    /// `p.next = e;`, `i++;`, `i += e;`
    fn assignment(&mut self) -> Parse<StmtKind> {
        let assignment = self.assignment_to_end()?;
        self.end()?;
        Ok(assignment)
    }

    /// An assignment without its semicolon.
    fn assignment_to_end(&mut self) -> Parse<StmtKind> {
        let place = self.path()?;
        let path = || {
            let kind = ExprKind::Path(place.clone());
            let span = place.span;
            Box::new(Expr { kind, span })
        };
        let operator = *self.peek();
        let value = match operator.kind {
            Tok::Sym("=") => {
                self.advance();
                self.expr()?
            }
            Tok::Sym(symbol @ ("++" | "--")) => {
                self.advance();
                let kind = ExprKind::Int(1);
                let span = operator.span;
                let one = Box::new(Expr { kind, span });
                let kind = ExprKind::Add(path(), one, symbol == "--");
                let span = place.span.to(operator.span);
                Expr { kind, span }
            }
            Tok::Sym(symbol @ ("+=" | "-=")) => {
                self.advance();
                let by = self.expr()?;
                let span = place.span.to(by.span);
                let kind = ExprKind::Add(path(), Box::new(by), symbol == "-=");
                Expr { kind, span }
            }
            Tok::Sym("(") if place.parts.is_empty() => {
                return Ok(StmtKind::Call(self.call(place.base)?));
            }
            Tok::Sym(_) | Tok::Name | Tok::Int(_) | Tok::End => {
                return Err(self.expected("`=`", "a statement assigns: `p.next = q;`"));
            }
        };
        Ok(StmtKind::Assign(place, value))
    }
}
