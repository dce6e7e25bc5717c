//! Expressions: values, conditions and `cas`. Binding from weak to strong: `||`,
//! `&&`, comparisons, `+` and `-`, `%`, `!`.

use super::Reader;
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{Cas, Compare, Expr, ExprKind, Name, Part, Path};
use crate::pal::parser::{Parse, Syntax};
use crate::pal::token::Tok;

/// Makes a condition of two.
type Connective = fn(Box<Expr>, Box<Expr>) -> ExprKind;

impl Reader<'_> {
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nested(Self::disjunction)
    }

    /// An expression where `=` would be a likely slip for `==`.
    pub(super) fn condition(&mut self) -> Parse<Expr> {
        let cond = self.expr()?;
        self.no_assignment()?;
        Ok(cond)
    }

    fn disjunction(&mut self) -> Parse<Expr> {
        let operator = |p: &Self| match p.peek().kind {
            Tok::Sym("||") => Some((ExprKind::Or as Connective, 1)),
            Tok::Sym("&&") => Some((ExprKind::And as Connective, 2)),
            Tok::Sym(_) | Tok::Name | Tok::Int(_) | Tok::End => None,
        };
        self.binary(0, operator, Self::comparison, |_, make, left, right| {
            let span = left.span.to(right.span);
            let kind = make(Box::new(left), Box::new(right));
            Ok(Expr { kind, span })
        })
    }

    fn comparison(&mut self) -> Parse<Expr> {
        let left = self.sum()?;
        let op = match self.peek().kind {
            Tok::Sym("==") => Compare::Eq,
            Tok::Sym("!=") => Compare::Ne,
            Tok::Sym("<") => Compare::Lt,
            Tok::Sym("<=") => Compare::Le,
            Tok::Sym(">") => Compare::Gt,
            Tok::Sym(">=") => Compare::Ge,
            Tok::Sym(_) | Tok::Name | Tok::Int(_) | Tok::End => return Ok(left),
        };
        self.advance();
        let right = self.sum()?;
        let span = left.span.to(right.span);
        let kind = ExprKind::Compare(op, Box::new(left), Box::new(right));
        Ok(Expr { kind, span })
    }

    fn sum(&mut self) -> Parse<Expr> {
        let operator = |p: &Self| {
            let minus = p.is("-");
            (minus || p.is("+")).then_some((minus, 1))
        };
        self.binary(0, operator, Self::remainder, |_, minus, left, right| {
            let span = left.span.to(right.span);
            let kind = ExprKind::Add(Box::new(left), Box::new(right), minus);
            Ok(Expr { kind, span })
        })
    }

    fn remainder(&mut self) -> Parse<Expr> {
        let operator = |p: &Self| p.is("%").then_some(((), 1));
        self.binary(0, operator, Self::unary, |_, (), left, right| {
            let span = left.span.to(right.span);
            let kind = ExprKind::Remainder(Box::new(left), Box::new(right));
            Ok(Expr { kind, span })
        })
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.span();
        if self.eat("!") {
            let inner = self.nested(Self::unary)?;
            let span = start.to(inner.span);
            let kind = ExprKind::Not(Box::new(inner));
            return Ok(Expr { kind, span });
        }
        if self.eat("-") {
            if self.is_word("infinity") {
                let span = start.to(self.advance().span);
                let kind = ExprKind::Infinity(false);
                return Ok(Expr { kind, span });
            }
            let Tok::Int(value) = self.peek().kind else {
                return Err(self.expected("a number", "write `0 - x` for variables"));
            };
            let span = start.to(self.advance().span);
            let kind = ExprKind::Int(0_i64.wrapping_sub_unsigned(value));
            return Ok(Expr { kind, span });
        }
        self.primary()
    }

    fn primary(&mut self) -> Parse<Expr> {
        let token = *self.peek();
        let simple = |kind| {
            Ok(Expr {
                kind,
                span: token.span,
            })
        };
        match token.kind {
            Tok::Int(value) => {
                self.advance();
                let Ok(value) = i64::try_from(value) else {
                    let error = Diagnostic::error(token.span, "integer literal is too large")
                        .label("does not fit 64 bits")
                        .help(format!("literals go up to {}", i64::MAX));
                    return Err(self.error(error));
                };
                simple(ExprKind::Int(value))
            }
            Tok::Sym("*") => {
                self.advance();
                simple(ExprKind::Any)
            }
            Tok::Sym("(") => {
                self.advance();
                let mut inner = self.condition()?;
                let close = self.need(")", "close the parenthesis with `)`")?;
                inner.span = token.span.to(close);
                Ok(inner)
            }
            Tok::Name => self.named(),
            Tok::Sym(_) | Tok::End => Err(self.expected(
                "an expression",
                "a value is a variable, a field such as `p.next`, `null`, `empty`, `new T`, or a number",
            )),
        }
    }

    fn named(&mut self) -> Parse<Expr> {
        let span = self.span();
        let constant = match self.word() {
            "null" => Some(ExprKind::Null),
            "empty" => Some(ExprKind::Empty),
            "infinity" => Some(ExprKind::Infinity(true)),
            "true" => Some(ExprKind::Bool(true)),
            "false" => Some(ExprKind::Bool(false)),
            word if !self.is_at(1, ".") => self.1.get(word).cloned(),
            _ => None,
        };
        if let Some(kind) = constant {
            self.advance();
            return Ok(Expr { kind, span });
        }
        match self.word() {
            "new" => {
                self.advance();
                let name = self.name("a struct")?;
                if self.eat("(") {
                    self.need(
                        ")",
                        "a new node has no arguments: set its fields afterwards",
                    )?;
                }
                let span = span.to(self.last_span());
                Ok(Expr {
                    kind: ExprKind::New(name),
                    span,
                })
            }
            "pack" if self.is_at(1, "(") => {
                self.advance();
                let help = "write `pack(pointer, tag)`";
                self.need("(", help)?;
                let pointer = self.expr()?;
                self.need(",", help)?;
                let tag = self.expr()?;
                let end = self.need(")", help)?;
                let kind = ExprKind::Pack(Box::new(pointer), Box::new(tag));
                let span = span.to(end);
                Ok(Expr { kind, span })
            }
            "cas" if self.is_at(1, "(") => self.cas(),
            "xchg" | "fetch_add" if self.is_at(1, "(") => self.swap(),
            _ => {
                let path = self.path()?;
                if self.is("(") && path.parts.is_empty() {
                    return self.call(path.base);
                }
                let span = path.span;
                Ok(Expr {
                    kind: ExprKind::Path(path),
                    span,
                })
            }
        }
    }

    /// `cas(place, expect, new)`, `cas(place, expect, new, found)`
    pub(super) fn cas(&mut self) -> Parse<Expr> {
        let start = self.advance().span;
        let help = "write `cas(place, expected, new)`";
        self.need("(", help)?;
        // C programmers write the address.
        self.eat("&");
        let place = self.path()?;
        self.need(",", help)?;
        let expect = self.expr()?;
        self.need(",", help)?;
        let new = self.expr()?;
        let found = if self.eat(",") {
            Some(self.path()?)
        } else {
            None
        };
        let end = self.need(")", help)?;
        let kind = ExprKind::Cas(Box::new(Cas {
            place,
            expect,
            new,
            found,
            is_weak: false,
        }));
        let span = start.to(end);
        Ok(Expr { kind, span })
    }

    /// `xchg(place, new)`, `fetch_add(place, number)`
    pub(super) fn swap(&mut self) -> Parse<Expr> {
        let add = self.is_word("fetch_add");
        let start = self.advance().span;
        let help = "write `xchg(place, new)` or `fetch_add(place, number)`";
        self.need("(", help)?;
        self.eat("&");
        let place = self.path()?;
        self.need(",", help)?;
        let by = self.expr()?;
        let end = self.need(")", help)?;
        let kind = ExprKind::Swap(place, Box::new(by), add);
        let span = start.to(end);
        Ok(Expr { kind, span })
    }

    /// `a.b[i].c`
    pub(super) fn path(&mut self) -> Parse<Path> {
        let base = self.name("a variable")?;
        let mut parts = Vec::new();
        loop {
            if self.eat(".") {
                parts.push(Part::Field(self.name("a field")?));
            } else if self.eat("[") {
                parts.push(Part::Index(self.expr()?));
                self.need("]", "close the index with `]`")?;
            } else {
                break;
            }
        }
        let span = base.span.to(self.last_span());
        Ok(Path { base, parts, span })
    }

    /// `(a, b)` behind the name of a function.
    pub(super) fn call(&mut self, name: Name) -> Parse<Expr> {
        self.advance();
        let mut arguments = Vec::new();
        while !self.is(")") {
            arguments.push(self.expr()?);
            if !self.eat(",") {
                break;
            }
        }
        let end = self.need(")", "close the arguments with `)`")?;
        let span = name.span.to(end);
        let kind = ExprKind::Call(name, arguments);
        Ok(Expr { kind, span })
    }
}
