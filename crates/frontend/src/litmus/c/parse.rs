//! The *parser* of C litmus tests: `P0(int *x, int *y) { int r0; ... }`.

use palisade_program::BinOp;

use super::super::Failure;
use super::super::init::proc_number;
use super::super::lexer::{Cursor, Tok, Token};
use super::super::ty::Ty;
use super::ast::{CTy, Expr, ExprKind, Function, Stmt, StmtKind, Unary};
use crate::diagnostic::Diagnostic;

/// Deeper nesting is refused, so that no input exhausts the stack.
const MAX_DEPTH: usize = 100;

/// Parses all threads.
pub(super) fn parse(tokens: &[Token]) -> Result<Vec<Function>, Failure> {
    let mut p = Parser {
        cursor: Cursor::new(tokens),
        depth: 0,
    };
    let mut functions: Vec<Function> = Vec::new();
    while *p.cursor.peek() != Tok::End {
        let function = p.function()?;
        if functions.iter().any(|f| f.proc == function.proc) {
            let message = format!("P{} is defined twice", function.proc);
            return Err(Diagnostic::error(function.span, message).into());
        }
        functions.push(function);
    }
    if functions.is_empty() {
        return Err(p.cursor.unexpected("a thread such as `P0(int *x) { }`"));
    }
    Ok(functions)
}

/// `=`, or `+=` and its like.
#[derive(Clone, Copy)]
enum Sign {
    Plain,
    With(BinOp),
}

impl Sign {
    const fn operator(self) -> Option<BinOp> {
        match self {
            Self::Plain => None,
            Self::With(op) => Some(op),
        }
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    depth: usize,
}

impl Parser<'_> {
    fn enter(&mut self) -> Result<(), Failure> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(
                Diagnostic::error(self.cursor.span(), "the code is nested too deeply")
                    .help(format!("at most {MAX_DEPTH} levels"))
                    .into(),
            );
        }
        Ok(())
    }

    fn function(&mut self) -> Result<Function, Failure> {
        while self.cursor.eat_name("static") || self.cursor.eat_name("void") {}
        let (name, span) = self.cursor.name("a thread such as `P0`")?;
        let Some(proc) = proc_number(name) else {
            return Err(Diagnostic::error(span, format!("`{name}` is no thread"))
                .help("threads are called P0, P1, ...; other functions are not supported")
                .into());
        };
        self.cursor.expect("(")?;
        let mut params = Vec::new();
        if !self.cursor.eat(")") {
            if *self.cursor.peek_at(1) == Tok::Punct(")") && self.cursor.eat_name("void") {
                self.cursor.expect(")")?;
            } else {
                self.params(&mut params)?;
            }
        }
        let body = self.block()?;
        Ok(Function {
            proc,
            params,
            body,
            span,
        })
    }

    fn params(
        &mut self,
        params: &mut Vec<(String, CTy, palisade_program::Span)>,
    ) -> Result<(), Failure> {
        loop {
            let start = self.cursor.span();
            let Some(ty) = self.ty()? else {
                return Err(self.cursor.unexpected("a type"));
            };
            let (name, span) = self.cursor.name("a parameter")?;
            if ty.stars == 0 {
                return Err(
                    Diagnostic::error(start.to(span), "a parameter must be a pointer")
                        .help(format!("it is the address of the location: `int *{name}`"))
                        .into(),
                );
            }
            params.push((name.to_owned(), ty, start.to(span)));
            if self.cursor.eat(")") {
                return Ok(());
            }
            self.cursor.expect(",")?;
        }
    }

    /// A type if one is next: words and stars.
    fn ty(&mut self) -> Result<Option<CTy>, Failure> {
        let mut words: Vec<&str> = Vec::new();
        let start = self.cursor.span();
        while let Tok::Name(word) = self.cursor.peek() {
            let is_type = matches!(word.as_str(), "struct" | "union" | "float" | "double")
                || Ty::named(&[word]).is_some()
                || matches!(word.as_str(), "const" | "volatile" | "_Atomic" | "signed");
            if !is_type {
                break;
            }
            words.push(word);
            self.cursor.advance();
        }
        if words.is_empty() {
            return Ok(None);
        }
        let span = start.to(self.cursor.previous());
        let Some(base) = Ty::named(&words) else {
            let message = format!("unknown or unsupported type `{}`", words.join(" "));
            return Err(Diagnostic::error(span, message).into());
        };
        let kernel = ["atomic_t", "atomic_long_t", "atomic64_t"];
        let atomic = words
            .iter()
            .any(|w| *w == "_Atomic" || (w.starts_with("atomic_") && !kernel.contains(w)));
        let mut stars = 0_u8;
        while self.cursor.eat("*") {
            stars = stars.saturating_add(1);
            while ["const", "volatile", "restrict"]
                .iter()
                .any(|w| self.cursor.eat_name(w))
            {}
        }
        Ok(Some(CTy {
            base,
            stars,
            atomic,
        }))
    }

    fn block(&mut self) -> Result<Vec<Stmt>, Failure> {
        self.enter()?;
        self.cursor.expect("{")?;
        let mut body = Vec::new();
        while !self.cursor.eat("}") {
            self.statement(&mut body)?;
        }
        self.depth -= 1;
        Ok(body)
    }

    /// The body of a loop or branch: a block or one statement.
    fn body(&mut self) -> Result<Vec<Stmt>, Failure> {
        if self.cursor.is("{") {
            return self.block();
        }
        self.enter()?;
        let mut body = Vec::new();
        self.statement(&mut body)?;
        self.depth -= 1;
        Ok(body)
    }

    fn statement(&mut self, into: &mut Vec<Stmt>) -> Result<(), Failure> {
        let start = self.cursor.span();
        if self.cursor.eat(";") {
            return Ok(());
        }
        if self.cursor.is("{") {
            into.extend(self.block()?);
            return Ok(());
        }
        let kind = if self.cursor.eat_name("if") {
            let cond = self.parenthesised()?;
            let then = self.body()?;
            let otherwise = if self.cursor.eat_name("else") {
                self.body()?
            } else {
                Vec::new()
            };
            StmtKind::If(cond, then, otherwise)
        } else if self.cursor.eat_name("while") {
            let cond = self.parenthesised()?;
            StmtKind::While(cond, self.body()?)
        } else if self.cursor.eat_name("do") {
            let body = self.body()?;
            if !self.cursor.eat_name("while") {
                return Err(self.cursor.unexpected("`while`"));
            }
            let cond = self.parenthesised()?;
            self.cursor.expect(";")?;
            StmtKind::DoWhile(body, cond)
        } else if self.cursor.eat_name("return") {
            self.cursor.expect(";")?;
            StmtKind::Return
        } else {
            return self.simple(into);
        };
        let span = start.to(self.cursor.previous());
        into.push(Stmt { kind, span });
        Ok(())
    }

    /// A declaration, assignment or call with its semicolon.
    fn simple(&mut self, into: &mut Vec<Stmt>) -> Result<(), Failure> {
        let start = self.cursor.span();
        if let Some(ty) = self.ty()? {
            return self.declaration(ty, into);
        }
        let target = self.expr()?;
        let kind = if self.cursor.eat("++") {
            increment(target, BinOp::Add)
        } else if self.cursor.eat("--") {
            increment(target, BinOp::Sub)
        } else if let Some(sign) = self.assignment() {
            let value = self.expr()?;
            let op = sign.operator();
            StmtKind::Assign { target, op, value }
        } else if matches!(target.kind, ExprKind::Call(..)) {
            StmtKind::Call(target)
        } else {
            return Err(self.cursor.unexpected("`=`"));
        };
        self.cursor.expect(";")?;
        let span = start.to(self.cursor.previous());
        into.push(Stmt { kind, span });
        Ok(())
    }

    fn declaration(&mut self, ty: CTy, into: &mut Vec<Stmt>) -> Result<(), Failure> {
        let mut stars = ty.stars;
        loop {
            let (name, span) = self.cursor.name("a variable")?;
            if self.cursor.is("[") {
                return Err(Diagnostic::error(span, "local arrays are not supported").into());
            }
            let value = if self.cursor.eat("=") {
                Some(self.expr()?)
            } else {
                None
            };
            let kind = StmtKind::Declare {
                name: name.to_owned(),
                ty: CTy { stars, ..ty },
                value,
            };
            let span = span.to(self.cursor.previous());
            into.push(Stmt { kind, span });
            if self.cursor.eat(";") {
                return Ok(());
            }
            self.cursor.expect(",")?;
            // In `int *p, q` the star belongs to p alone.
            stars = 0;
            while self.cursor.eat("*") {
                stars = stars.saturating_add(1);
            }
        }
    }

    fn assignment(&mut self) -> Option<Sign> {
        let found = [
            ("=", Sign::Plain),
            ("+=", Sign::With(BinOp::Add)),
            ("-=", Sign::With(BinOp::Sub)),
            ("*=", Sign::With(BinOp::Mul)),
            ("|=", Sign::With(BinOp::BitOr)),
            ("&=", Sign::With(BinOp::BitAnd)),
            ("^=", Sign::With(BinOp::BitXor)),
        ];
        let (_, sign) = found.into_iter().find(|(p, _)| self.cursor.eat(p))?;
        Some(sign)
    }

    fn parenthesised(&mut self) -> Result<Expr, Failure> {
        self.cursor.expect("(")?;
        let e = self.expr()?;
        self.cursor.expect(")")?;
        Ok(e)
    }

    fn expr(&mut self) -> Result<Expr, Failure> {
        self.enter()?;
        let cond = self.binary(0)?;
        let result = if self.cursor.eat("?") {
            let then = self.expr()?;
            self.cursor.expect(":")?;
            let otherwise = self.expr()?;
            let span = cond.span.to(otherwise.span);
            let (c, t, o) = (Box::new(cond), Box::new(then), Box::new(otherwise));
            Expr {
                kind: ExprKind::Cond(c, t, o),
                span,
            }
        } else {
            cond
        };
        self.depth -= 1;
        Ok(result)
    }

    /// Binary operators of precedence `level` and higher.
    fn binary(&mut self, level: usize) -> Result<Expr, Failure> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        while let Some((_, op)) = operators.iter().find(|(p, _)| self.cursor.eat(p)) {
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            left = Expr {
                kind: ExprKind::Binary(*op, Box::new(left), Box::new(right)),
                span,
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Failure> {
        self.enter()?;
        let start = self.cursor.span();
        let operators = [("-", Unary::Neg), ("!", Unary::Not), ("~", Unary::BitNot)];
        let kind = if let Some((_, op)) = operators.into_iter().find(|(p, _)| self.cursor.eat(p)) {
            ExprKind::Unary(op, Box::new(self.unary()?))
        } else if self.cursor.eat("*") {
            ExprKind::Deref(Box::new(self.unary()?))
        } else if self.cursor.eat("&") {
            ExprKind::AddressOf(Box::new(self.unary()?))
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(Expr {
            kind,
            span: start.to(self.cursor.previous()),
        })
    }

    fn primary(&mut self) -> Result<ExprKind, Failure> {
        match self.cursor.peek() {
            Tok::Number(value) => {
                self.cursor.advance();
                Ok(ExprKind::Number(*value))
            }
            Tok::Name(name) => {
                self.cursor.advance();
                if !self.cursor.eat("(") {
                    return Ok(ExprKind::Name(name.clone()));
                }
                let mut args = Vec::new();
                while !self.cursor.eat(")") {
                    if !args.is_empty() {
                        self.cursor.expect(",")?;
                    }
                    args.push(self.expr()?);
                }
                Ok(ExprKind::Call(name.clone(), args))
            }
            Tok::Punct("(") => {
                self.cursor.advance();
                if let Some(ty) = self.ty()? {
                    self.cursor.expect(")")?;
                    return Ok(ExprKind::Cast(ty, Box::new(self.unary()?)));
                }
                let inner = self.expr()?;
                self.cursor.expect(")")?;
                Ok(inner.kind)
            }
            Tok::Punct(_) | Tok::Text(_) | Tok::End => Err(self.cursor.unexpected("an expression")),
        }
    }
}

fn increment(target: Expr, op: BinOp) -> StmtKind {
    let value = Expr {
        kind: ExprKind::Number(1),
        span: target.span,
    };
    StmtKind::Assign {
        target,
        op: Some(op),
        value,
    }
}

/// Operators from the loosest to the tightest.
const LEVELS: [&[(&str, BinOp)]; 10] = [
    &[("||", BinOp::Or)],
    &[("&&", BinOp::And)],
    &[("|", BinOp::BitOr)],
    &[("^", BinOp::BitXor)],
    &[("&", BinOp::BitAnd)],
    &[("==", BinOp::Eq), ("!=", BinOp::Ne)],
    &[
        ("<=", BinOp::Le),
        (">=", BinOp::Ge),
        ("<", BinOp::Lt),
        (">", BinOp::Gt),
    ],
    &[("<<", BinOp::Shl), (">>", BinOp::Shr)],
    &[("+", BinOp::Add), ("-", BinOp::Sub)],
    &[("*", BinOp::Mul), ("/", BinOp::Div), ("%", BinOp::Mod)],
];
