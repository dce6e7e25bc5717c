//! Expressions: sums and differences of numbers and registers; comparisons of
//! them joined by `&&`, `||`, `not`, with square brackets for grouping. All chains
//! are read from left to right; `&&` binds stronger than `||`.

use palisade_program::BinOp;
use palisade_syntax::Token as _;

use super::{Failed, Parse, Parser, Syntax};
use crate::rmm::ast::{Cond, Expr, Loc, LocKind};
use crate::rmm::token::{Tok, Token};

impl Parser<'_> {
    /// An integer expression.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        let operator = |p: &Self| match p.peek().tok {
            Tok::Symbol("+") => Some((Expr::Sum as fn(_, _) -> _, 1)),
            Tok::Symbol("-") => Some((Expr::Difference as fn(_, _) -> _, 1)),
            Tok::Symbol(_) | Tok::Word(_) | Tok::Number => None,
            Tok::Register | Tok::Name | Tok::End => None,
        };
        self.binary(0, operator, Self::unit, |_, make, left, right| {
            Ok(make(Box::new(left), Box::new(right)))
        })
    }

    fn unit(&mut self) -> Parse<Expr> {
        let token = self.peek();
        match token.tok {
            Tok::Register => {
                self.advance();
                Ok(Expr::Register(self.named(token)))
            }
            Tok::Number => Ok(Expr::Number(self.number("")?)),
            Tok::Symbol("-") => {
                self.advance();
                let inner = self.nested(Self::unit)?;
                Ok(match inner {
                    Expr::Number(n) => Expr::Number(-n),
                    other => Expr::Negative(Box::new(other)),
                })
            }
            Tok::Symbol("(") => {
                self.advance();
                let inner = self.nested(Self::expr)?;
                self.need(")", "close the bracket")?;
                Ok(inner)
            }
            Tok::Name => Ok(Expr::Memory(Box::new(self.loc()?))),
            Tok::End | Tok::Word(_) | Tok::Symbol(_) => Err(self.no_unit(token)),
        }
    }

    fn no_unit(&mut self, token: &Token) -> Failed {
        let help = if token.is("me") || token.is("other") || token.is("@") {
            "`me`, `other` and `@` are reserved but mean nothing; write the process's number"
        } else if token.is("[") {
            "read memory into a register first: `read: $r := [...]`"
        } else {
            "expressions are made of numbers, registers, `+`, `-` and parentheses"
        };
        self.expected("an expression", help)
    }

    /// A memory location.
    pub(super) fn loc(&mut self) -> Parse<Loc> {
        let first = self.peek();
        let help = "memory is `x`, `x[my]`, `x[0]` or `[e]`";
        let kind = if self.eat("[") {
            let pointer = self.nested(Self::expr)?;
            self.need("]", "close the bracket")?;
            LocKind::Pointer(pointer)
        } else {
            let name = self.name("a memory location", help)?.text;
            self.owner(name)?
        };
        let span = self.span_from(first);
        Ok(Loc { kind, span })
    }

    /// What follows a variable's name.
    fn owner(&mut self, name: String) -> Parse<LocKind> {
        if !self.eat("[") {
            return Ok(LocKind::Global(name));
        }
        let kind = if self.eat("my") {
            LocKind::My(name)
        } else {
            let help = "write `[my]`, or the number of another process: `[0]`";
            LocKind::Other(name, self.number(help)?)
        };
        self.need("]", "close the bracket")?;
        Ok(kind)
    }

    /// A Boolean expression.
    pub(super) fn cond(&mut self) -> Parse<Cond> {
        let operator = |p: &Self| match p.peek().tok {
            Tok::Symbol("||") => Some((Cond::Or as fn(_, _) -> _, 1)),
            Tok::Symbol("&&") => Some((Cond::And as fn(_, _) -> _, 2)),
            Tok::Symbol(_) | Tok::Word(_) | Tok::Number => None,
            Tok::Register | Tok::Name | Tok::End => None,
        };
        self.binary(0, operator, Self::atom, |_, make, left, right| {
            Ok(make(Box::new(left), Box::new(right)))
        })
    }

    fn atom(&mut self) -> Parse<Cond> {
        if self.eat("not") {
            let inner = self.nested(Self::atom)?;
            return Ok(Cond::Not(Box::new(inner)));
        }
        if self.eat("true") {
            return Ok(Cond::Constant(true));
        }
        if self.eat("false") {
            return Ok(Cond::Constant(false));
        }
        if self.eat("[") {
            let inner = self.nested(Self::cond)?;
            self.need("]", "close the bracket")?;
            return Ok(inner);
        }
        let left = self.expr()?;
        let op = self.comparison()?;
        Ok(Cond::Compare(op, left, self.expr()?))
    }

    fn comparison(&mut self) -> Parse<BinOp> {
        let op = match self.peek().tok {
            Tok::Symbol("=") => BinOp::Eq,
            Tok::Symbol("!=") => BinOp::Ne,
            Tok::Symbol("<") => BinOp::Lt,
            Tok::Symbol("<=") => BinOp::Le,
            Tok::Symbol(">") => BinOp::Gt,
            Tok::Symbol(">=") => BinOp::Ge,
            Tok::Symbol(":=") => {
                let help = "`:=` assigns; compare with `=`";
                return Err(self.expected("a comparison", help));
            }
            Tok::End | Tok::Name | Tok::Register | Tok::Number | Tok::Word(_) | Tok::Symbol(_) => {
                let help = "comparisons are `= != < <= > >=`; group conditions with `[` and `]`";
                return Err(self.expected("a comparison", help));
            }
        };
        self.advance();
        Ok(op)
    }
}
