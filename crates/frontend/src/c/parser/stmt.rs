//! *Statements*, functions, and what stands at the top level of a file.

use super::decl::{is_asm, not_constant};
use super::spec::Specifiers;
use super::{Meaning, Parse, Parser, constant};
use crate::c::ast::{Expr, ExprKind, Function, Item, Stmt, StmtKind, Storage, Unary};
use crate::c::lexer::{DIRECTIVE, Kind};
use crate::c::types::Type;
use crate::c::{MAX_ERRORS, note_error};
use palisade_syntax::Parser as _;

/// How the names of functions begin that are made of statements with CBMC's label.
pub(in crate::c) const ASYNCHRONOUS: &str = "__async_";

impl Parser<'_> {
    /// A declaration or function at the top level.
    pub(super) fn external(&mut self) -> Parse<()> {
        if self.eat(";") {
            return Ok(());
        }
        if self.is_word("_Static_assert") {
            return self.static_assert();
        }
        if self.is(DIRECTIVE) {
            return Err(self.outside_functions());
        }
        if self.word().is_some_and(is_asm) {
            return Err(crate::diagnostic::Diagnostic::error(
                self.span(),
                "unsupported: assembler at the top level",
            ));
        }
        let start = self.span();
        let specifiers = if self.word().is_some() && !self.starts_type() {
            // `main() { ... }`: old programs leave out `int`.
            Specifiers {
                ty: Type::INT,
                storage: Storage::Automatic,
                thread_local: false,
                auto_type: false,
                packing: crate::c::packing::Packing::default(),
            }
        } else {
            self.specifiers()?
        };
        if self.eat(";") {
            return Ok(());
        }
        let (name, ty, span) = self.declarator(specifiers.ty.clone())?;
        let name = name.ok_or_else(|| self.unexpected("a name"))?;
        self.attributes()?;
        let ty = self.old_parameters(ty)?;
        if let (Type::Function(signature), true) = (&ty, self.is("{")) {
            let is_own = self.peek().own;
            let full = self.linked(&name, specifiers.storage, is_own);
            let is_external = specifiers.storage != Storage::Static && full == name;
            if is_external {
                self.check_type(&full, &ty, span)?;
            }
            self.bind(&name, Meaning::Variable(ty.clone()));
            self.bind(&full, Meaning::Variable(ty.clone()));
            let signature = signature.clone();
            let body = self.scoped(|p| {
                for (name, ty) in &signature.params {
                    if let Some(name) = name {
                        p.bind(name, Meaning::Variable(ty.clone()));
                    }
                }
                let function = Type::Array(Type::CHAR.into(), None);
                p.bind("__func__", Meaning::Variable(function.clone()));
                p.bind("__PRETTY_FUNCTION__", Meaning::Variable(function.clone()));
                p.bind("__FUNCTION__", Meaning::Variable(function));
                p.block()
            })?;
            let function = Function {
                name: full,
                result: signature.result.clone(),
                params: signature.params.clone(),
                body,
                span: start.to(span),
                extent: start.to(self.last_span()),
            };
            return self.add_function(function, is_external);
        }
        let first = self.declared(&specifiers, &name, ty, span)?;
        let mut all: Vec<_> = first.into_iter().collect();
        if self.eat(",") {
            all.extend(self.declarations(&specifiers)?);
        } else {
            self.expect(";")?;
        }
        for declaration in all {
            self.add_variable(declaration)?;
        }
        Ok(())
    }

    /// CBMC's `__CPROVER_ASYNC_1: { ... }`: a statement becomes a function, which a thread calls. The thread has copies of
    /// the scalar locals around it, with the values that they have where it is started: they are parameters. What is
    /// evaluated by the thread stays in the function; only a call without arguments, or with one that is the same
    /// before and after, is left as it is.
    fn asynchronous(&mut self, s: Stmt) -> Stmt {
        let is_call = match &s.kind {
            StmtKind::Expr(e) => match &e.kind {
                ExprKind::Call(f, args) => {
                    matches!(&f.kind, ExprKind::Ident(name)
                        if name != "assert" && name != "__CPROVER_assert" && self.depth_of(name).is_none_or(|d| d == 0))
                        && args.len() <= 1
                        && args.iter().all(|a| self.is_fixed(a))
                }
                _ => false,
            },
            _ => false,
        };
        let mut params = Vec::new();
        let mut args = Vec::new();
        for name in self.captured(&s) {
            if let Some(Meaning::Variable(ty)) = self.lookup(&name)
                && ty.plain().is_scalar()
            {
                params.push((Some(name.clone()), ty.plain().clone()));
                args.push(Expr {
                    kind: ExprKind::Ident(name),
                    span: s.span,
                });
            }
        }
        let body = match s.kind {
            StmtKind::Block(body) => body,
            _ if is_call => return s,
            _ => vec![s.clone()],
        };
        let name = format!("{ASYNCHRONOUS}{}", self.file.items.len());
        self.item(Item::Function(Function {
            name: name.clone(),
            result: Type::Void,
            params,
            body,
            span: s.span,
            extent: s.span,
        }));
        let callee = Expr {
            kind: ExprKind::Ident(name),
            span: s.span,
        };
        let call = Expr {
            kind: ExprKind::Call(Box::new(callee), args),
            span: s.span,
        };
        Stmt {
            kind: StmtKind::Expr(call),
            span: s.span,
        }
    }

    /// Whether an argument has one value, whoever evaluates it: a constant, an address, a local.
    fn is_fixed(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(..) | ExprKind::Str(_) => true,
            ExprKind::Cast(_, inner) => self.is_fixed(inner),
            ExprKind::Unary(Unary::Address, inner) => matches!(inner.kind, ExprKind::Ident(_)),
            ExprKind::Ident(name) => match (self.depth_of(name), self.lookup(name)) {
                (Some(0), Some(Meaning::Variable(ty))) => {
                    matches!(ty.plain(), Type::Array(..) | Type::Function(_))
                }
                (depth, _) => depth.is_some(),
            },
            _ => false,
        }
    }

    /// `{ ... }` in the scope at hand.
    pub(super) fn block(&mut self) -> Parse<Vec<Stmt>> {
        self.nested(|p| {
            p.expect("{")?;
            let mut body = Vec::new();
            while !p.is("}") {
                if p.at_end() {
                    return Err(p.unexpected("`}`"));
                }
                let start = p.cursor.position();
                match p.statement() {
                    Ok(statement) => body.push(statement),
                    Err(error) if p.errors.len() + 1 < MAX_ERRORS => {
                        note_error(&mut p.errors, error);
                        p.skip_statement(start);
                    }
                    Err(error) => return Err(error),
                }
            }
            p.advance();
            Ok(body)
        })
    }

    pub(super) fn statement(&mut self) -> Parse<Stmt> {
        self.nested(|p| {
            let start = p.span();
            let kind = p.statement_kind()?;
            Ok(Stmt {
                kind,
                span: p.from(start),
            })
        })
    }

    fn statement_kind(&mut self) -> Parse<StmtKind> {
        if self.eat(";") {
            return Ok(StmtKind::Empty);
        }
        if self.is("{") {
            return Ok(StmtKind::Block(self.scoped(Self::block)?));
        }
        if self.is(DIRECTIVE) {
            return self.directive();
        }
        let label = matches!(self.peek_at(1).kind, Kind::Punct(":"));
        let Some(word) = self.word().map(str::to_owned) else {
            return self.expression_statement();
        };
        match word.as_str() {
            "if" => self.if_statement(),
            "while" => {
                self.advance();
                let cond = self.in_parentheses()?;
                Ok(StmtKind::While(cond, Box::new(self.statement()?)))
            }
            "do" => {
                self.advance();
                let body = Box::new(self.statement()?);
                if !self.eat_word(&["while"]) {
                    return Err(self.unexpected("`while`"));
                }
                let cond = self.in_parentheses()?;
                self.expect(";")?;
                Ok(StmtKind::DoWhile(body, cond))
            }
            "for" => self.scoped(Self::for_statement),
            "switch" => {
                self.advance();
                let on = self.in_parentheses()?;
                Ok(StmtKind::Switch(on, Box::new(self.statement()?)))
            }
            "case" => self.case(),
            "default" if label => {
                self.advance();
                self.advance();
                Ok(StmtKind::Default(Box::new(self.labelled()?)))
            }
            "goto" => {
                self.advance();
                let (name, _) = self.identifier()?;
                self.expect(";")?;
                Ok(StmtKind::Goto(name))
            }
            "break" | "continue" => {
                self.advance();
                self.expect(";")?;
                Ok(if word == "break" {
                    StmtKind::Break
                } else {
                    StmtKind::Continue
                })
            }
            "return" => {
                self.advance();
                let value = if self.is(";") {
                    None
                } else {
                    Some(self.expression()?)
                };
                self.expect(";")?;
                Ok(StmtKind::Return(value))
            }
            "_Static_assert" => {
                self.static_assert()?;
                Ok(StmtKind::Empty)
            }
            w if is_asm(w) => self.assembler(),
            _ if label => {
                self.advance();
                self.advance();
                self.attributes()?;
                let inner = self.labelled()?;
                let inner = if word.starts_with("__CPROVER_ASYNC_") {
                    self.asynchronous(inner)
                } else {
                    inner
                };
                Ok(StmtKind::Label(word, Box::new(inner)))
            }
            "__extension__" => {
                self.advance();
                if self.starts_type() {
                    self.declaration_statement()
                } else {
                    self.expression_statement()
                }
            }
            _ if self.starts_type() => self.declaration_statement(),
            _ => self.expression_statement(),
        }
    }

    /// The statement behind a label; none before `}`.
    fn labelled(&mut self) -> Parse<Stmt> {
        if self.is("}") {
            return Ok(Stmt {
                kind: StmtKind::Empty,
                span: self.last_span(),
            });
        }
        self.statement()
    }

    fn declaration_statement(&mut self) -> Parse<StmtKind> {
        let specifiers = self.specifiers()?;
        Ok(StmtKind::Declare(self.declarations(&specifiers)?))
    }

    fn expression_statement(&mut self) -> Parse<StmtKind> {
        let e = self.expression()?;
        self.expect(";")?;
        Ok(StmtKind::Expr(e))
    }

    fn in_parentheses(&mut self) -> Parse<Expr> {
        self.expect("(")?;
        let e = self.expression()?;
        self.expect(")")?;
        Ok(e)
    }

    fn if_statement(&mut self) -> Parse<StmtKind> {
        self.advance();
        let cond = self.in_parentheses()?;
        let then = Box::new(self.statement()?);
        let otherwise = if self.eat_word(&["else"]) {
            Some(Box::new(self.statement()?))
        } else {
            None
        };
        Ok(StmtKind::If(cond, then, otherwise))
    }

    fn for_statement(&mut self) -> Parse<StmtKind> {
        self.advance();
        self.expect("(")?;
        let start = self.span();
        let init = if self.eat(";") {
            None
        } else if self.starts_type() {
            Some(self.declaration_statement()?)
        } else {
            Some(self.expression_statement()?)
        };
        let init = init.map(|kind| {
            Box::new(Stmt {
                kind,
                span: self.from(start),
            })
        });
        let cond = if self.is(";") {
            None
        } else {
            Some(self.expression()?)
        };
        self.expect(";")?;
        let step = if self.is(")") {
            None
        } else {
            Some(self.expression()?)
        };
        self.expect(")")?;
        Ok(StmtKind::For(init, cond, step, Box::new(self.statement()?)))
    }

    fn case(&mut self) -> Parse<StmtKind> {
        self.advance();
        let value = |e: &Expr| constant(e).ok_or_else(|| not_constant(e.span));
        let lo = self.conditional()?;
        let lo = value(&lo)?;
        let hi = if self.eat("...") {
            let hi = self.conditional()?;
            value(&hi)?
        } else {
            lo
        };
        self.expect(":")?;
        Ok(StmtKind::Case(lo, hi, Box::new(self.labelled()?)))
    }
}
