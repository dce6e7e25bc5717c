//! *Input*: what a program reads from outside is any value. `scanf` stores any values through its first arguments, as many
//! as it returns; a conversion that is not known here ends the run as unsupported.

use palisade_program::{BinOp, Domain, Expr as Ir, LocalExpr, Span, Step};

use super::code::{Code, Lower};
use super::value::Val;
use crate::c::ast::{Expr, ExprKind};
use crate::c::types::Type;

/// What `getchar` returns where there is no character.
const END: i64 = -1;

impl Code<'_, '_> {
    /// A function that reads something; `None` if it is none.
    pub(super) fn input_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        match (name, args) {
            ("scanf" | "__isoc99_scanf", [format, to @ ..])
            | ("fscanf" | "__isoc99_fscanf", [_, format, to @ ..]) => {
                self.scan(name, format, to, span).map(Some)
            }
            ("sscanf" | "__isoc99_sscanf", [from, format, to @ ..]) => {
                self.discard(from)?;
                self.scan(name, format, to, span).map(Some)
            }
            ("getchar", []) | ("fgetc" | "getc", [_]) => {
                let v = self.any_between(END, 255, &Type::INT, span);
                Ok(Some(v))
            }
            ("time", [to]) => {
                let long = Type::Int {
                    bits: self.cx.options.data_model.word(),
                    signed: true,
                };
                let now = self.any_value(&long, span);
                let pointer = self.value(to)?;
                if pointer.as_constant() == Some(0) {
                    return Ok(Some(now));
                }
                if !pointer.ty.is_pointer() {
                    self.refuse_run("`time` with something else than a pointer", span);
                    return Ok(Some(now));
                }
                let is_null = LocalExpr::binary(BinOp::Eq, pointer.e.clone(), Ir::Const(0));
                let (start, join, then) = (self.here, self.graph.loc(), self.graph.loc());
                self.assume(is_null.clone(), join, span);
                self.here = start;
                self.assume(is_null.negate(), then, span);
                self.at(then);
                let place = self.pointed(pointer, long);
                self.store(&place, now.clone(), span)?;
                self.go(join, span);
                self.at(join);
                self.known.clear();
                Ok(Some(now))
            }
            _ => Ok(None),
        }
    }

    /// Any value of a type between two numbers.
    fn any_between(&mut self, lo: i64, hi: i64, ty: &Type, span: Span) -> Val {
        let dst = self.temporary(span);
        self.known.remove(&dst);
        let domain = Some(Domain { lo, hi });
        self.emit(Step::Havoc { dst, domain }, span);
        let v = self.held(self.read(dst), ty);
        Val {
            lo: i128::from(lo),
            hi: i128::from(hi),
            ..v
        }
    }

    /// `scanf`: stores to the first arguments, as many as are converted.
    fn scan(&mut self, name: &str, format: &Expr, to: &[Expr], span: Span) -> Lower<Val> {
        let ExprKind::Str(text) = &format.kind else {
            self.refuse_run(&format!("`{name}` with a format that is no constant"), span);
            return Ok(Val::constant(0, &Type::INT));
        };
        let types = self.conversions(text);
        let Some(types) = types.filter(|types| types.len() <= to.len()) else {
            self.refuse_run(&format!("this format of `{name}`"), span);
            return Ok(Val::constant(0, &Type::INT));
        };
        let mut places = Vec::new();
        for (to, ty) in to.iter().zip(&types) {
            let pointer = self.value(to)?;
            let pointer = self.saved(pointer, span);
            if !pointer.ty.is_pointer() {
                self.refuse_run(&format!("this argument of `{name}`"), span);
                return Ok(Val::constant(0, &Type::INT));
            }
            let of = pointer.ty.pointee().map(|of| of.plain().clone());
            let fits = matches!((of.as_ref(), ty),
                (Some(Type::Int { bits: m, .. }), Type::Int { bits: n, .. }) if m == n);
            if !fits {
                self.refuse_run(&format!("an argument of `{name}` of another type"), span);
                return Ok(Val::constant(0, &Type::INT));
            }
            let of = of.unwrap_or(Type::INT);
            places.push((self.pointed(pointer, of.clone()), of));
        }
        let count = self.any_between(END, places.len() as i64, &Type::INT, span);
        let count = self.saved(count, span);
        for (k, (place, ty)) in places.iter().enumerate() {
            let read = LocalExpr::binary(BinOp::Gt, count.e.clone(), Ir::Const(k as i64));
            let (start, join, then) = (self.here, self.graph.loc(), self.graph.loc());
            self.assume(read.clone().negate(), join, span);
            self.here = start;
            self.assume(read, then, span);
            self.at(then);
            let v = self.any_value(ty, span);
            self.store(place, v, span)?;
            self.go(join, span);
            self.at(join);
            self.known.clear();
        }
        Ok(count)
    }

    /// The types that the conversions of a format store; `None` if there is one that is not known.
    fn conversions(&self, format: &str) -> Option<Vec<Type>> {
        let word = self.cx.options.data_model.word();
        let mut types = Vec::new();
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            rest = &rest[at + 1..];
            let size = rest.len() - rest.trim_start_matches(['h', 'l', 'z', 'j', 't']).len();
            let (length, after) = rest.split_at(size);
            let kind = after.chars().next()?;
            rest = &after[kind.len_utf8()..];
            let bits = match length {
                "hh" => 8,
                "h" => 16,
                "" => 32,
                "l" | "z" | "t" => word,
                "ll" | "j" => 64,
                _ => return None,
            };
            match kind {
                '%' if length.is_empty() => {}
                'd' | 'i' => types.push(Type::Int { bits, signed: true }),
                'u' | 'x' | 'X' | 'o' => types.push(Type::Int {
                    bits,
                    signed: false,
                }),
                'c' if length.is_empty() => types.push(Type::CHAR),
                _ => return None,
            }
        }
        Some(types)
    }
}
