//! Expressions, by operator precedence: C's, from `?:` (weakest) to unary.

use palisade_program::{BinOp, Span, UnOp};

use super::{Failed, MAX_HEIGHT, Parse, Parser, Syntax};
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, ExprKind, Place, Thread, ThreadPick};
use crate::pal::token::Tok;

/// Binary operators with their strength; all associate to the left.
fn binary_operator(symbol: &str) -> Option<(BinOp, u8)> {
    Some(match symbol {
        "||" => (BinOp::Or, 1),
        "&&" => (BinOp::And, 2),
        "|" => (BinOp::BitOr, 3),
        "^" => (BinOp::BitXor, 4),
        "&" => (BinOp::BitAnd, 5),
        "==" => (BinOp::Eq, 6),
        "!=" => (BinOp::Ne, 6),
        "<" => (BinOp::Lt, 7),
        "<=" => (BinOp::Le, 7),
        ">" => (BinOp::Gt, 7),
        ">=" => (BinOp::Ge, 7),
        "<<" => (BinOp::Shl, 8),
        ">>" => (BinOp::Shr, 8),
        "+" => (BinOp::Add, 9),
        "-" => (BinOp::Sub, 9),
        "*" => (BinOp::Mul, 10),
        "/" => (BinOp::Div, 10),
        "%" => (BinOp::Mod, 10),
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nested(Self::conditional)
    }

    /// An expression in a place where `=` would be a likely slip for `==`.
    pub(super) fn condition(&mut self) -> Parse<Expr> {
        let cond = self.expr()?;
        self.no_assignment()?;
        Ok(cond)
    }

    fn conditional(&mut self) -> Parse<Expr> {
        let cond = self.binary(0, Self::operator, Self::unary, Self::apply)?;
        if !self.eat("?") {
            return Ok(cond);
        }
        let then = self.expr()?;
        self.need(":", "write `c ? a : b`")?;
        let other = self.expr()?;
        let span = cond.span.to(other.span);
        let height = cond.height.max(then.height).max(other.height);
        let kind = ExprKind::Cond(Box::new(cond), Box::new(then), Box::new(other));
        self.node(kind, span, height)
    }

    fn operator(&self) -> Option<(BinOp, u8)> {
        match self.peek().kind {
            Tok::Sym(symbol) => binary_operator(symbol),
            Tok::Name | Tok::Int(_) | Tok::End => None,
        }
    }

    fn apply(&mut self, op: BinOp, left: Expr, right: Expr) -> Parse<Expr> {
        let span = left.span.to(right.span);
        let height = left.height.max(right.height);
        let kind = ExprKind::Binary(op, Box::new(left), Box::new(right));
        self.node(kind, span, height)
    }

    /// A tree over children of the given height.
    fn node(&mut self, kind: ExprKind, span: Span, height: u16) -> Parse<Expr> {
        if height >= MAX_HEIGHT {
            return Err(self.too_long());
        }
        Ok(Expr {
            kind,
            span,
            height: height + 1,
        })
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.span();
        let op = match self.peek().kind {
            Tok::Sym("-") => UnOp::Neg,
            Tok::Sym("!") => UnOp::Not,
            Tok::Sym("~") => UnOp::BitNot,
            Tok::Sym("--" | "++") => return Err(self.step_in_expression()),
            Tok::Sym(_) | Tok::Name | Tok::Int(_) | Tok::End => return self.postfix(),
        };
        self.advance();
        if let (UnOp::Neg, Tok::Int(value)) = (op, self.peek().kind) {
            let span = start.to(self.advance().span);
            let value = 0_i64.wrapping_sub_unsigned(value);
            return self.node(ExprKind::Int(value), span, 0);
        }
        let arg = self.nested(Self::unary)?;
        let (span, height) = (start.to(arg.span), arg.height);
        self.node(ExprKind::Unary(op, Box::new(arg)), span, height)
    }

    fn step_in_expression(&mut self) -> Failed {
        let message = format!("{} inside an expression", self.found());
        let error = Diagnostic::error(self.span(), message)
            .label("`++` and `--` are statements")
            .help("write `x++;` on its own, before or after");
        self.error(error)
    }

    fn postfix(&mut self) -> Parse<Expr> {
        let primary = self.primary()?;
        if self.is("++") || self.is("--") {
            // A statement `x++` never comes here: places are parsed apart.
            return Err(self.step_in_expression());
        }
        Ok(primary)
    }

    fn primary(&mut self) -> Parse<Expr> {
        let token = *self.peek();
        match token.kind {
            Tok::Int(value) => self.integer(value),
            Tok::Sym("*") => {
                self.advance();
                self.node(ExprKind::Any, token.span, 0)
            }
            Tok::Sym("(") => self.parenthesised(),
            Tok::Name => self.named(),
            Tok::Sym(_) | Tok::End => Err(self.expected(
                "an expression",
                "an expression is a number, a variable, `*`, or operators on them",
            )),
        }
    }

    fn integer(&mut self, value: u64) -> Parse<Expr> {
        let span = self.advance().span;
        let Ok(value) = i64::try_from(value) else {
            let error = Diagnostic::error(span, "integer literal is too large")
                .label("does not fit 64 bits")
                .help(format!("literals go up to {}", i64::MAX));
            return Err(self.error(error));
        };
        self.node(ExprKind::Int(value), span, 0)
    }

    fn parenthesised(&mut self) -> Parse<Expr> {
        let open = self.advance().span;
        let mut inner = self.condition()?;
        let close = self.need(")", "close the parenthesis with `)`")?;
        inner.span = open.to(close);
        Ok(inner)
    }

    fn named(&mut self) -> Parse<Expr> {
        let span = self.span();
        match self.word() {
            "true" | "false" => {
                let value = i64::from(self.word() == "true");
                self.advance();
                self.node(ExprKind::Int(value), span, 0)
            }
            "self" => {
                self.advance();
                self.node(ExprKind::SelfId, span, 0)
            }
            "choose" => self.choose_value(),
            _ => self.place_call_or_thread(),
        }
    }

    fn choose_value(&mut self) -> Parse<Expr> {
        let start = self.advance().span;
        self.need("(", "write `choose(a, b)` or `choose(0..3)`")?;
        let first = self.expr()?;
        let height = first.height;
        if self.eat("..") {
            let last = self.expr()?;
            let height = height.max(last.height);
            let end = self.need(")", "close the choice with `)`")?;
            let kind = ExprKind::ChooseRange(Box::new(first), Box::new(last));
            return self.node(kind, start.to(end), height);
        }
        let mut values = vec![first];
        while self.eat(",") {
            values.push(self.expr()?);
        }
        let end = self.need(")", "close the choice with `)`")?;
        let height = values.iter().map(|v| v.height).max().unwrap_or(0);
        self.node(ExprKind::Choose(values), start.to(end), height)
    }

    pub(super) fn place_call_or_thread(&mut self) -> Parse<Expr> {
        let name = self.name("an expression")?;
        let start = name.span;
        if self.is("(") {
            let args = self.arguments()?;
            let height = args.iter().map(|v| v.height).max().unwrap_or(0);
            let span = start.to(self.last_span());
            return self.node(ExprKind::Call(name, args), span, height);
        }
        if self.eat("#") {
            let Tok::Int(number) = self.peek().kind else {
                return Err(self.expected("a number", "write `t#1@label` or `t#1.local`"));
            };
            let span = start.to(self.advance().span);
            let pick = ThreadPick::Number(number);
            return self.member(Thread { name, pick, span });
        }
        let index = self.index()?;
        let span = start.to(self.last_span());
        if self.is("@") || self.is(".") {
            let pick = index.map_or(ThreadPick::Plain, ThreadPick::Copy);
            return self.member(Thread { name, pick, span });
        }
        let height = index.as_ref().map_or(0, |i| i.height);
        self.node(ExprKind::Place(Place { name, index, span }), span, height)
    }

    /// `[e]`, if it is there.
    pub(super) fn index(&mut self) -> Parse<Option<Box<Expr>>> {
        if !self.eat("[") {
            return Ok(None);
        }
        let index = self.expr()?;
        self.need("]", "close the index with `]`")?;
        Ok(Some(Box::new(index)))
    }

    /// `(a, b, c)`
    fn arguments(&mut self) -> Parse<Vec<Expr>> {
        self.need("(", "write the arguments in parentheses")?;
        let mut args = Vec::new();
        while !self.is(")") {
            args.push(self.expr()?);
            if !self.eat(",") {
                break;
            }
        }
        self.need(")", "close the arguments with `)`")?;
        Ok(args)
    }

    /// `@label`, `.name`, `.name[e]`, `.self` after a thread.
    fn member(&mut self, thread: Thread) -> Parse<Expr> {
        let start = thread.span;
        if self.eat("@") {
            let label = self.name("a label")?;
            let span = start.to(label.span);
            return self.node(ExprKind::At(thread, label), span, 0);
        }
        self.need(".", "follow a thread by `@label` or `.local`")?;
        let field = if self.is_word("self") {
            let span = self.advance().span;
            crate::pal::ast::Name {
                text: "self".to_owned(),
                span,
            }
        } else {
            self.name("a local variable")?
        };
        let index = self.index()?;
        let height = index.as_ref().map_or(0, |i| i.height);
        let span = start.to(self.last_span());
        self.node(ExprKind::Field(thread, field, index), span, height)
    }
}
