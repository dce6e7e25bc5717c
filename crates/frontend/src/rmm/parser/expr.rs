//! Expressions: sums and differences of numbers and registers; comparisons of
//! them joined by `&&`, `||`, `not`, with square brackets for grouping. All chains
//! are read from left to right; `&&` binds stronger than `||`.

use palisade_program::BinOp;

use super::{Failed, MAX_CHAIN, Parse, Parser};
use crate::rmm::ast::{Cond, Expr, Loc, LocKind};
use crate::rmm::token::{Tok, Token};

impl Parser<'_> {
    /// Complains about a chain that would nest too deeply.
    fn chained(&mut self, length: u32) -> Parse<()> {
        if length < MAX_CHAIN {
            return Ok(());
        }
        let token = self.peek();
        let help = format!("at most {MAX_CHAIN} operators may be chained");
        Err(self.fail(token, "the expression is too long", &help))
    }

    /// An integer expression.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        let mut left = self.unit()?;
        let mut length = 0;
        loop {
            let sum = self.is("+");
            if !sum && !self.is("-") {
                return Ok(left);
            }
            length += 1;
            self.chained(length)?;
            self.at += 1;
            let right = Box::new(self.unit()?);
            left = if sum {
                Expr::Sum(Box::new(left), right)
            } else {
                Expr::Difference(Box::new(left), right)
            };
        }
    }

    fn unit(&mut self) -> Parse<Expr> {
        let token = self.peek();
        match token.tok {
            Tok::Register => {
                self.at += 1;
                Ok(Expr::Register(self.named(token)))
            }
            Tok::Number => Ok(Expr::Number(self.number("")?)),
            Tok::Symbol("-") => {
                self.at += 1;
                let inner = self.deeper(Self::unit)?;
                Ok(match inner {
                    Expr::Number(n) => Expr::Number(-n),
                    other => Expr::Negative(Box::new(other)),
                })
            }
            Tok::Symbol("(") => {
                self.at += 1;
                let inner = self.deeper(Self::expr)?;
                self.force(")", "close the bracket")?;
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
        let kind = if self.take("[") {
            let pointer = self.deeper(Self::expr)?;
            self.force("]", "close the bracket")?;
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
        if !self.take("[") {
            return Ok(LocKind::Global(name));
        }
        let kind = if self.take("my") {
            LocKind::My(name)
        } else {
            let help = "write `[my]`, or the number of another process: `[0]`";
            LocKind::Other(name, self.number(help)?)
        };
        self.force("]", "close the bracket")?;
        Ok(kind)
    }

    /// A Boolean expression.
    pub(super) fn cond(&mut self) -> Parse<Cond> {
        let mut left = self.conjunction()?;
        let mut length = 0;
        while self.is("||") {
            length += 1;
            self.chained(length)?;
            self.at += 1;
            left = Cond::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parse<Cond> {
        let mut left = self.atom()?;
        let mut length = 0;
        while self.is("&&") {
            length += 1;
            self.chained(length)?;
            self.at += 1;
            left = Cond::And(Box::new(left), Box::new(self.atom()?));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Parse<Cond> {
        if self.take("not") {
            let inner = self.deeper(Self::atom)?;
            return Ok(Cond::Not(Box::new(inner)));
        }
        if self.take("true") {
            return Ok(Cond::Constant(true));
        }
        if self.take("false") {
            return Ok(Cond::Constant(false));
        }
        if self.take("[") {
            let inner = self.deeper(Self::cond)?;
            self.force("]", "close the bracket")?;
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
        self.at += 1;
        Ok(op)
    }
}
