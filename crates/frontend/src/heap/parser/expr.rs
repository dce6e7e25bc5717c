//! Expressions: values, conditions and `cas`. Binding from weak to strong: `||`,
//! `&&`, comparisons, `+` and `-`, `!`.

use super::Reader;
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{Compare, Expr, ExprKind, Path};
use crate::pal::parser::Parse;
use crate::pal::token::Tok;

/// How many operators may stand in one chain.
const MAX_CHAIN: usize = 300;

impl Reader<'_> {
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.deeper(Self::disjunction)
    }

    /// An expression where `=` would be a likely slip for `==`.
    pub(super) fn condition(&mut self) -> Parse<Expr> {
        let cond = self.expr()?;
        self.no_assignment()?;
        Ok(cond)
    }

    fn disjunction(&mut self) -> Parse<Expr> {
        self.chain("||", ExprKind::Or, Self::conjunction)
    }

    fn conjunction(&mut self) -> Parse<Expr> {
        self.chain("&&", ExprKind::And, Self::comparison)
    }

    fn chain(
        &mut self,
        symbol: &str,
        make: fn(Box<Expr>, Box<Expr>) -> ExprKind,
        operand: fn(&mut Self) -> Parse<Expr>,
    ) -> Parse<Expr> {
        let mut left = operand(self)?;
        for _ in 0..MAX_CHAIN {
            if !self.eat_sym(symbol) {
                return Ok(left);
            }
            let right = operand(self)?;
            let span = left.span.to(right.span);
            let kind = make(Box::new(left), Box::new(right));
            left = Expr { kind, span };
        }
        Err(self.too_long())
    }

    fn too_long(&mut self) -> crate::pal::parser::Failed {
        let error = Diagnostic::error(self.span(), "the expression is too long")
            .label(format!("more than {MAX_CHAIN} operators in a chain"))
            .help("keep parts of it in locals");
        self.error(error)
    }

    fn comparison(&mut self) -> Parse<Expr> {
        let left = self.sum()?;
        let op = match self.token().kind {
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
        let mut left = self.unary()?;
        for _ in 0..MAX_CHAIN {
            let minus = self.is_sym("-");
            if !minus && !self.is_sym("+") {
                return Ok(left);
            }
            self.advance();
            let right = self.unary()?;
            let span = left.span.to(right.span);
            let kind = ExprKind::Add(Box::new(left), Box::new(right), minus);
            left = Expr { kind, span };
        }
        Err(self.too_long())
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.span();
        if self.eat_sym("!") {
            let inner = self.deeper(Self::unary)?;
            let span = start.to(inner.span);
            let kind = ExprKind::Not(Box::new(inner));
            return Ok(Expr { kind, span });
        }
        if self.eat_sym("-") {
            let Tok::Int(value) = self.token().kind else {
                return Err(self.expected("a number", "write `0 - x` for variables"));
            };
            let span = start.to(self.advance().span);
            let kind = ExprKind::Int(0_i64.wrapping_sub_unsigned(value));
            return Ok(Expr { kind, span });
        }
        self.primary()
    }

    fn primary(&mut self) -> Parse<Expr> {
        let token = self.token();
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
                let close = self.need_sym(")", "close the parenthesis with `)`")?;
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
            "true" => Some(ExprKind::Bool(true)),
            "false" => Some(ExprKind::Bool(false)),
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
                if self.eat_sym("(") {
                    self.need_sym(
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
            "pack" if self.sym_after(1, "(") => {
                self.advance();
                let help = "write `pack(pointer, tag)`";
                self.need_sym("(", help)?;
                let pointer = self.expr()?;
                self.need_sym(",", help)?;
                let tag = self.expr()?;
                let end = self.need_sym(")", help)?;
                let kind = ExprKind::Pack(Box::new(pointer), Box::new(tag));
                let span = span.to(end);
                Ok(Expr { kind, span })
            }
            "cas" if self.sym_after(1, "(") => self.cas(),
            _ => {
                let path = self.path()?;
                if self.is_sym("(") {
                    return Err(self.not_here(
                        "a call",
                        "write the code of the function in its place; `cas` and `pack` are built in",
                    ));
                }
                let span = path.span;
                Ok(Expr {
                    kind: ExprKind::Path(path),
                    span,
                })
            }
        }
    }

    /// `cas(place, expect, new)`
    pub(super) fn cas(&mut self) -> Parse<Expr> {
        let start = self.advance().span;
        let help = "write `cas(place, expected, new)`";
        self.need_sym("(", help)?;
        // C programmers write the address.
        self.eat_sym("&");
        let place = self.path()?;
        self.need_sym(",", help)?;
        let expect = self.expr()?;
        self.need_sym(",", help)?;
        let new = self.expr()?;
        let end = self.need_sym(")", help)?;
        let kind = ExprKind::Cas(place, Box::new(expect), Box::new(new));
        let span = start.to(end);
        Ok(Expr { kind, span })
    }

    /// `a.b.c`
    pub(super) fn path(&mut self) -> Parse<Path> {
        let base = self.name("a variable")?;
        let mut fields = Vec::new();
        while self.eat_sym(".") {
            fields.push(self.name("a field")?);
        }
        let span = base.span.to(self.last_span());
        Ok(Path { base, fields, span })
    }
}
