//! *Expressions*, by precedence climbing.

use palisade_program::Span;

use super::decl::{completed, is_asm};
use super::{Meaning, Parse, Parser};
use crate::c::ast::{Binary, Designator, Expr, ExprKind, Initializer, Unary};
use crate::c::lexer::Kind;
use crate::c::types::{DataModel, Type};
use crate::diagnostic::Diagnostic;
use palisade_syntax::Parser as _;

impl Parser<'_> {
    /// With commas.
    pub(super) fn expression(&mut self) -> Parse<Expr> {
        let mut left = self.assignment()?;
        while self.eat(",") {
            let right = self.assignment()?;
            let span = left.span.to(right.span);
            let kind = ExprKind::Comma(Box::new(left), Box::new(right));
            left = Expr { kind, span };
        }
        Ok(left)
    }

    /// Without commas at the top.
    pub(super) fn assignment(&mut self) -> Parse<Expr> {
        self.nested(|p| {
            let left = p.conditional()?;
            if !p.is_assignment() {
                return Ok(left);
            }
            let op = p.assignment_operator();
            p.advance();
            let right = p.assignment()?;
            let span = left.span.to(right.span);
            let kind = ExprKind::Assign(op, Box::new(left), Box::new(right));
            Ok(Expr { kind, span })
        })
    }

    fn is_assignment(&self) -> bool {
        self.is("=") || self.assignment_operator().is_some()
    }

    /// The operator of `+=` and its kin.
    fn assignment_operator(&self) -> Option<Binary> {
        let Kind::Punct(p) = self.peek().kind else {
            return None;
        };
        Some(match p {
            "+=" => Binary::Add,
            "-=" => Binary::Sub,
            "*=" => Binary::Mul,
            "/=" => Binary::Div,
            "%=" => Binary::Rem,
            "<<=" => Binary::Shl,
            ">>=" => Binary::Shr,
            "&=" => Binary::BitAnd,
            "|=" => Binary::BitOr,
            "^=" => Binary::BitXor,
            _ => return None,
        })
    }

    pub(super) fn conditional(&mut self) -> Parse<Expr> {
        let cond = self.binary(
            0,
            Self::binary_operator,
            Self::cast,
            |_, op, left, right| {
                let span = left.span.to(right.span);
                let kind = ExprKind::Binary(op, Box::new(left), Box::new(right));
                Ok(Expr { kind, span })
            },
        )?;
        if !self.eat("?") {
            return Ok(cond);
        }
        self.nested(|p| {
            let then = if p.is(":") {
                None
            } else {
                Some(p.expression()?)
            };
            p.expect(":")?;
            let otherwise = p.conditional()?;
            let span = cond.span.to(otherwise.span);
            let (cond, then, otherwise) = if let Some(then) = then {
                let (then, otherwise) = p.same_type(then, otherwise);
                (cond, Some(Box::new(then)), otherwise)
            } else {
                let (cond, otherwise) = p.same_type(cond, otherwise);
                (cond, None, otherwise)
            };
            let kind = ExprKind::Cond(Box::new(cond), then, Box::new(otherwise));
            Ok(Expr { kind, span })
        })
    }

    fn binary_operator(&self) -> Option<(Binary, u8)> {
        let Kind::Punct(p) = self.peek().kind else {
            return None;
        };
        Some(match p {
            "||" => (Binary::Or, 1),
            "&&" => (Binary::And, 2),
            "|" => (Binary::BitOr, 3),
            "^" => (Binary::BitXor, 4),
            "&" => (Binary::BitAnd, 5),
            "==" => (Binary::Eq, 6),
            "!=" => (Binary::Ne, 6),
            "<" => (Binary::Lt, 7),
            ">" => (Binary::Gt, 7),
            "<=" => (Binary::Le, 7),
            ">=" => (Binary::Ge, 7),
            "<<" => (Binary::Shl, 8),
            ">>" => (Binary::Shr, 8),
            "+" => (Binary::Add, 9),
            "-" => (Binary::Sub, 9),
            "*" => (Binary::Mul, 10),
            "/" => (Binary::Div, 10),
            "%" => (Binary::Rem, 10),
            _ => return None,
        })
    }

    /// Whether `(` and a type follow.
    fn is_parenthesised_type(&mut self) -> bool {
        if !self.is("(") {
            return false;
        }
        self.advance();
        let found = self.starts_type();
        self.cursor.seek(self.cursor.position() - 1);
        found
    }

    fn cast(&mut self) -> Parse<Expr> {
        let start = self.span();
        if !self.is_parenthesised_type() {
            return self.unary();
        }
        self.advance();
        let ty = self.type_name()?;
        self.expect(")")?;
        if self.is("{") {
            let init = self.initializer()?;
            let ty = completed(ty, &init);
            let kind = ExprKind::Compound(ty, Box::new(init));
            let literal = Expr {
                kind,
                span: self.from(start),
            };
            return self.postfix(literal);
        }
        let e = self.nested(Self::cast)?;
        let span = start.to(e.span);
        let kind = ExprKind::Cast(ty, Box::new(e));
        Ok(Expr { kind, span })
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.span();
        if self.eat_word(&["__extension__"]) {
            return self.nested(Self::cast);
        }
        if self.word().is_some_and(|w| {
            matches!(w, "sizeof" | "_Alignof" | "__alignof__" | "__alignof") || is_asm(w)
        }) {
            return self.size();
        }
        let op = match self.peek().kind {
            Kind::Punct("++") => Unary::PreIncrement,
            Kind::Punct("--") => Unary::PreDecrement,
            Kind::Punct("&") => Unary::Address,
            Kind::Punct("*") => Unary::Deref,
            Kind::Punct("+") => Unary::Plus,
            Kind::Punct("-") => Unary::Minus,
            Kind::Punct("~") => Unary::BitNot,
            Kind::Punct("!") => Unary::Not,
            _ => {
                let primary = self.primary()?;
                return self.postfix(primary);
            }
        };
        self.advance();
        let e = self.nested(Self::cast)?;
        let span = start.to(e.span);
        let kind = ExprKind::Unary(op, Box::new(e));
        Ok(Expr { kind, span })
    }

    fn size(&mut self) -> Parse<Expr> {
        let start = self.advance().span;
        let ty = if self.is_parenthesised_type() {
            self.advance();
            let ty = self.type_name()?;
            self.expect(")")?;
            if self.is("{") {
                // `sizeof (T){...}`: the literal's type is T.
                self.initializer()?;
            }
            Some(ty)
        } else {
            let e = self.nested(Self::unary)?;
            self.type_of(&e)
        };
        let size = ty.as_ref();
        let size = size.and_then(|ty| ty.size(&self.file.structs, self.model));
        let kind = match size {
            Some(size) => ExprKind::Int(i128::from(size), self.size_type()),
            None => ExprKind::UnknownSize,
        };
        let span = self.from(start);
        if let Some(ty) = ty {
            self.file.sizes.insert(span, ty);
        }
        Ok(Expr { kind, span })
    }

    /// Arguments for parameters that are transparent unions (GNU C): a pointer or number becomes the
    /// union whose member of that type it is.
    fn transparent(&self, callee: &Expr, args: Vec<Expr>) -> Vec<Expr> {
        let ty = self.type_of(callee);
        let Some(Type::Function(signature)) = ty.as_ref().map(Type::plain) else {
            return args;
        };
        let convert = |(k, arg): (usize, Expr)| {
            let param = signature.params.get(k).map(|(_, ty)| ty.plain());
            let (Some(Type::Struct(id)), Some(ty)) = (param, self.type_of(&arg)) else {
                return arg;
            };
            let ty = ty.decayed();
            let fields = self.file.structs.get(*id).filter(|def| def.is_union);
            let Some(fields) = fields
                .and_then(|def| def.fields.as_ref())
                .filter(|_| ty.is_scalar())
            else {
                return arg;
            };
            let same = fields.iter().find(|f| *f.ty.plain() == ty);
            let pointer = || fields.iter().find(|f| f.ty.is_pointer() && ty.is_pointer());
            let Some(name) = same.or_else(pointer).and_then(|f| f.name.clone()) else {
                return arg;
            };
            let span = arg.span;
            let member = (vec![Designator::Field(name)], Initializer::Value(arg));
            let list = Initializer::List(vec![member], span);
            let kind = ExprKind::Compound(Type::Struct(*id), Box::new(list));
            Expr { kind, span }
        };
        args.into_iter().enumerate().map(convert).collect()
    }

    fn postfix(&mut self, mut e: Expr) -> Parse<Expr> {
        loop {
            let kind = if self.eat("[") {
                let index = self.expression()?;
                self.expect("]")?;
                ExprKind::Index(Box::new(e.clone()), Box::new(index))
            } else if self.eat("(") {
                let mut args = Vec::new();
                while !self.is(")") {
                    args.push(self.assignment()?);
                    if !self.eat(",") {
                        break;
                    }
                }
                self.expect(")")?;
                if self.is_litmus {
                    self.kernel_call(e.clone(), args)?
                } else {
                    let args = self.transparent(&e, args);
                    if let ExprKind::Ident(name) = &mut e.kind
                        && let Some(rest) = name.strip_prefix("__c11_atomic_")
                    {
                        // Clang's builtins are those of C11 with all orders.
                        let has_order = !matches!(rest, "init" | "thread_fence" | "signal_fence");
                        let suffix = if has_order { "_explicit" } else { "" };
                        *name = format!("atomic_{rest}{suffix}");
                    }
                    ExprKind::Call(Box::new(e.clone()), args)
                }
            } else if self.eat(".") {
                ExprKind::Member(Box::new(e.clone()), self.identifier()?.0)
            } else if self.eat("->") {
                ExprKind::Arrow(Box::new(e.clone()), self.identifier()?.0)
            } else if self.eat("++") {
                ExprKind::Unary(Unary::PostIncrement, Box::new(e.clone()))
            } else if self.eat("--") {
                ExprKind::Unary(Unary::PostDecrement, Box::new(e.clone()))
            } else {
                return Ok(e);
            };
            let span = self.from(e.span);
            e = Expr { kind, span };
        }
    }

    fn primary(&mut self) -> Parse<Expr> {
        let token = self.peek().clone();
        let kind = match token.kind {
            Kind::Int {
                value,
                unsigned,
                longs,
                decimal,
            } => {
                self.advance();
                let ty = self.type_of_literal(value, unsigned, longs, decimal, token.span)?;
                // Kept as the signed number with the same bits (see `Type::range`).
                let value = if ty.is_u64() && value > i64::MAX as u128 {
                    i128::from(value as u64 as i64)
                } else {
                    value as i128
                };
                ExprKind::Int(value, ty)
            }
            Kind::Char(c) => {
                self.advance();
                ExprKind::Int(i128::from(c), Type::INT)
            }
            Kind::Float(literal) => {
                self.advance();
                ExprKind::Float(literal)
            }
            Kind::Str(_) => return Ok(self.string()),
            Kind::Punct("(") => {
                self.advance();
                if self.is("{") {
                    let body = self.scoped(Self::block)?;
                    self.expect(")")?;
                    ExprKind::Statements(body)
                } else {
                    let e = self.expression()?;
                    self.expect(")")?;
                    return Ok(Expr {
                        span: self.from(token.span),
                        ..e
                    });
                }
            }
            Kind::Ident(name) => return self.name(name, token.span),
            Kind::Punct(_) | Kind::End => return Err(self.unexpected("an expression")),
        };
        Ok(Expr {
            kind,
            span: self.from(token.span),
        })
    }

    fn string(&mut self) -> Expr {
        let start = self.span();
        let mut text = String::new();
        while let Kind::Str(part) = &self.peek().kind {
            text.push_str(part);
            self.advance();
        }
        Expr {
            kind: ExprKind::Str(text),
            span: self.from(start),
        }
    }

    fn name(&mut self, name: String, span: Span) -> Parse<Expr> {
        self.advance();
        if let Some(Meaning::Enumerator(value)) = self.lookup(&name) {
            let ty = if i32::try_from(*value).is_ok() {
                Type::INT
            } else {
                Type::Int {
                    bits: 64,
                    signed: true,
                }
            };
            let kind = ExprKind::Int(*value, ty);
            return Ok(Expr { kind, span });
        }
        match name.as_str() {
            "true" | "false" if self.lookup(&name).is_none() => {
                let kind = ExprKind::Int(i128::from(name == "true"), Type::INT);
                Ok(Expr { kind, span })
            }
            "__builtin_offsetof" => self.offset(span),
            "_Generic" => self.generic(span),
            "__builtin_va_arg" | "__builtin_types_compatible_p" | "__builtin_choose_expr" => {
                Err(Diagnostic::error(span, format!("unsupported: `{name}`"))
                    .help("write the value itself"))
            }
            _ => Ok(Expr {
                kind: ExprKind::Ident(self.renamed(of_peer(name))),
                span,
            }),
        }
    }

    /// `_Generic(e, type: a, default: b)`. Types that are different in C may be one here
    /// (`long` and `long long` of equal width, `char` and `signed char`, pointers to
    /// qualified types): where that could decide, the choice is refused.
    fn generic(&mut self, start: Span) -> Parse<Expr> {
        self.expect("(")?;
        let on = self.assignment()?;
        let ty = self.type_of(&on).map(|ty| ty.decayed().plain().clone());
        let (mut fitting, mut default) = (Vec::new(), None);
        while self.eat(",") {
            if self.eat_word(&["default"]) {
                self.expect(":")?;
                default = Some(self.assignment()?);
                continue;
            }
            let named = self.type_name()?;
            self.expect(":")?;
            let e = self.assignment()?;
            if ty.as_ref() == Some(named.plain()) {
                fitting.push(e);
            }
        }
        self.expect(")")?;
        let is_clear = ty.is_some_and(|ty| is_distinct(&ty, self.model));
        let chosen = match (fitting.len(), default) {
            (1, None) => fitting.pop(),
            (1, Some(_)) if is_clear => fitting.pop(),
            (0, default) if is_clear => default,
            _ => None,
        };
        let e = chosen.ok_or_else(|| {
            Diagnostic::error(self.from(start), "unsupported: this choice of `_Generic`")
                .help("write the chosen expression itself")
        })?;
        Ok(Expr {
            span: self.from(start),
            ..e
        })
    }

    /// `__builtin_offsetof(type, a.b)`.
    fn offset(&mut self, start: Span) -> Parse<Expr> {
        self.expect("(")?;
        let mut ty = self.type_name()?;
        self.expect(",")?;
        let mut bytes = Some(0);
        loop {
            let (name, _) = self.identifier()?;
            let found = ty.member_bytes(&name, &self.file.structs, self.model);
            bytes = bytes.zip(found.as_ref()).map(|(sum, (at, _))| sum + at);
            ty = found.map_or(Type::Void, |(_, ty)| ty);
            if !self.eat(".") {
                break;
            }
        }
        self.expect(")")?;
        let kind = match bytes {
            Some(bytes) => ExprKind::Int(i128::from(bytes), self.size_type()),
            None => ExprKind::UnknownSize,
        };
        Ok(Expr {
            kind,
            span: self.from(start),
        })
    }

    fn type_of_literal(
        &self,
        value: u128,
        unsigned: bool,
        longs: u8,
        decimal: bool,
        span: Span,
    ) -> Parse<Type> {
        let word = self.model.word();
        let widths: &[u8] = match longs {
            0 => &[32, word, 64],
            1 => &[word, 64],
            _ => &[64],
        };
        for &bits in widths {
            if !unsigned && value < 1 << (bits - 1) {
                return Ok(Type::Int { bits, signed: true });
            }
            if (unsigned || !decimal) && value < 1 << bits {
                return Ok(Type::Int {
                    bits,
                    signed: false,
                });
            }
        }
        if value < 1 << 64 {
            return Ok(Type::Int {
                bits: 64,
                signed: false,
            });
        }
        Err(Diagnostic::error(span, "this number is too large"))
    }
}

/// Whether no two types of C are this one.
fn is_distinct(ty: &Type, model: DataModel) -> bool {
    match ty {
        Type::Int { bits: 8, signed } => !signed,
        // An enumeration is the integer that gcc takes for it.
        Type::Int { bits: 32, .. } => model == DataModel::Lp64,
        Type::Int { bits: 64, .. } => model == DataModel::Ilp32,
        Type::Int { .. } | Type::Bool | Type::Struct(_) => true,
        _ => false,
    }
}

/// What other tools' names for the same thing are called here.
fn of_peer(name: String) -> String {
    let own = match name.as_str() {
        "__ESBMC_assume" => "__VERIFIER_assume",
        "__ESBMC_assert" => "__CPROVER_assert",
        "__ESBMC_atomic_begin" => "__VERIFIER_atomic_begin",
        "__ESBMC_atomic_end" => "__VERIFIER_atomic_end",
        "__ESBMC_yield" => "sched_yield",
        _ => return name,
    };
    own.to_owned()
}
