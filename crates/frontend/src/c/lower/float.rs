//! *Floating-point numbers* are the integers with the same bits ([`Format`]). They are copied, compared, negated and seen as
//! integers exactly. Arithmetic is computed on constants, and where an operand is a NaN, an infinity or a zero; other results are
//! marked as unknown, and what depends on one (a comparison, an integer made of it) ends the run as unsupported.
//!
//! `long double` is never followed, nor is anything in programs of MPI or OpenSHMEM, where the network computes with cells, nor on i386,
//! whose registers are wider than `double`: there every number is the same mark.

use palisade_program::{BinOp, Expr as Ir, LocalExpr, Span, Step};

use super::code::{Code, Lower};
use super::onesided::{Class, OPAQUE};
use super::place::{Access, CellRef, Place};
use super::value::Val;
use crate::c::ast::{Binary, Expr};
use crate::c::real::{Format, Literal};
use crate::c::types::{DataModel, Type};

/// Values of an integer that are converted one by one, at most.
const MOST_CONVERTED: i128 = 16;
/// Why a run is not followed.
const DEPENDS: &str = "a value that depends on floating point";

fn compare(op: BinOp, a: &LocalExpr, b: i64) -> LocalExpr {
    LocalExpr::binary(op, a.clone(), Ir::Const(b))
}

fn is(a: &LocalExpr, b: i64) -> LocalExpr {
    compare(BinOp::Eq, a, b)
}

fn choose(c: LocalExpr, a: LocalExpr, b: LocalExpr) -> LocalExpr {
    match c {
        Ir::Const(0) => b,
        Ir::Const(_) => a,
        c @ (Ir::Atom(_) | Ir::Unary(..) | Ir::Binary(..) | Ir::Cond(..)) => {
            Ir::Cond(Box::new(c), Box::new(a), Box::new(b))
        }
    }
}

fn is_negative(x: &LocalExpr) -> LocalExpr {
    compare(BinOp::Lt, x, 0)
}

/// Whether a number is a NaN, also a mark.
fn is_nan(f: Format, x: &LocalExpr) -> LocalExpr {
    let negative = is_negative(x).and(compare(BinOp::Gt, x, f.minus_infinity()));
    compare(BinOp::Gt, x, f.infinity()).or(negative)
}

fn is_infinite(f: Format, x: &LocalExpr) -> LocalExpr {
    is(x, f.infinity()).or(is(x, f.minus_infinity()))
}

fn is_zero(f: Format, x: &LocalExpr) -> LocalExpr {
    is(x, 0).or(is(x, f.minus_zero()))
}

/// An integer in the order of the numbers; both zeros are 0.
fn key(f: Format, x: &LocalExpr) -> LocalExpr {
    let below = LocalExpr::binary(BinOp::Sub, Ir::Const(f.minus_zero()), x.clone());
    choose(is_negative(x), below, x.clone())
}

/// The number without its sign bit.
fn magnitude(f: Format, x: &LocalExpr) -> LocalExpr {
    let positive = LocalExpr::binary(BinOp::Sub, x.clone(), Ir::Const(f.minus_zero()));
    choose(is_negative(x), positive, x.clone())
}

/// The number with the other sign; marks stay.
fn negation(f: Format, x: &LocalExpr) -> LocalExpr {
    let sign = || Ir::Const(f.minus_zero());
    let other = choose(
        is_negative(x),
        LocalExpr::binary(BinOp::Sub, x.clone(), sign()),
        LocalExpr::binary(BinOp::Add, x.clone(), sign()),
    );
    let is_mark = is(x, f.unknown()).or(is(x, f.nan()));
    choose(is_mark, x.clone(), other)
}

/// The result of an operation that is no NaN by an operand; `unknown` where it would have to be computed.
fn special(f: Format, op: Binary, a: &LocalExpr, b: &LocalExpr, same: bool) -> LocalExpr {
    let (nan, unknown) = (|| Ir::Const(f.nan()), || Ir::Const(f.unknown()));
    let differ = || {
        let one = is_negative(a).and(is_negative(b).negate());
        one.or(is_negative(a).negate().and(is_negative(b)))
    };
    let signed =
        |positive: i64, negative: i64| choose(differ(), Ir::Const(negative), Ir::Const(positive));
    let infinity = || signed(f.infinity(), f.minus_infinity());
    let zero = || signed(0, f.minus_zero());
    let (inf, nil) = (
        |x: &LocalExpr| is_infinite(f, x),
        |x: &LocalExpr| is_zero(f, x),
    );
    match op {
        Binary::Sub if same => choose(inf(a), nan(), Ir::Const(0)),
        Binary::Add => {
            let opposite = inf(b).and(differ());
            let with_zero = choose(
                nil(b).and(nil(a).negate()),
                a.clone(),
                choose(nil(a).and(nil(b).negate()), b.clone(), unknown()),
            );
            choose(
                inf(a),
                choose(opposite, nan(), a.clone()),
                choose(inf(b), b.clone(), with_zero),
            )
        }
        Binary::Mul => {
            let by_one = choose(
                is(b, f.one()),
                a.clone(),
                choose(is(a, f.one()), b.clone(), unknown()),
            );
            let is_nil = || nil(a).or(nil(b));
            choose(
                inf(a).or(inf(b)),
                choose(is_nil(), nan(), infinity()),
                choose(is_nil(), zero(), by_one),
            )
        }
        Binary::Div => {
            let rest = if same { Ir::Const(f.one()) } else { unknown() };
            let finite = choose(is(b, f.one()), a.clone(), rest);
            let by_zero = choose(nil(a), nan(), infinity());
            let finite = choose(nil(b), by_zero, choose(nil(a), zero(), finite));
            choose(
                inf(a),
                choose(inf(b), nan(), infinity()),
                choose(inf(b), zero(), finite),
            )
        }
        _ => unknown(),
    }
}

impl Val {
    /// A value that is not followed.
    pub(super) fn opaque(ty: &Type) -> Self {
        Self::constant(i128::from(OPAQUE), ty)
    }
}

impl Code<'_, '_> {
    /// Whether numbers are followed, and have their bits.
    fn follows_floats(&self) -> bool {
        let options = &self.cx.options;
        self.cx.is_program() && options.data_model == DataModel::Lp64 && !options.math
    }

    /// The format of a type whose numbers are followed.
    pub(super) fn format(&self, ty: &Type) -> Option<Format> {
        Format::of(ty).filter(|_| self.follows_floats())
    }

    /// A number of which nothing is known.
    pub(super) fn unknown(&self, ty: &Type) -> Val {
        match self.format(ty) {
            Some(f) => Val::constant(i128::from(f.unknown()), ty),
            None => Val::opaque(ty),
        }
    }

    /// A literal.
    pub(super) fn literal_number(&self, literal: &Literal) -> Val {
        let ty = Type::Other(literal.ty);
        match (self.format(&ty), literal.bits) {
            (Some(_), Some(bits)) => Val::constant(i128::from(bits), &ty),
            _ => self.unknown(&ty),
        }
    }

    /// Any number of a format. Inputs are none of the marks.
    pub(super) fn any_number(&mut self, v: &Val, span: Span) {
        if let Some(f @ Format::Double) = self.format(&v.ty) {
            let is_mark = is(&v.e, f.unknown()).or(is(&v.e, f.nan()));
            self.emit(Step::Assume(is_mark.negate()), span);
        }
    }

    /// Something depends on a value that is not followed.
    pub(super) fn refuse_float(&mut self, ty: &Type, span: Span) -> Val {
        self.refuse_run(DEPENDS, span);
        Val::constant(0, ty)
    }

    /// Requires that a number is known.
    fn require_known(&mut self, f: Format, v: &Val, span: Span) {
        self.require(is(&v.e, f.unknown()).negate(), DEPENDS, span);
    }

    fn number(&self, f: Format, e: LocalExpr) -> Val {
        self.held(e, &f.ty())
    }

    /// Converts from or to floating point.
    pub(super) fn convert_float(&mut self, v: &Val, to: &Type, span: Span) -> Lower<Val> {
        match (self.format(&v.ty), self.format(to)) {
            (Some(_), _) if *to == Type::Bool => {
                let e = self.truth(v.clone(), span)?;
                Ok(Val {
                    ty: Type::Bool,
                    ..Val::truth(e)
                })
            }
            (Some(f), None) if to.is_integer() => Ok(self.truncated(f, v, to, span)),
            (None, Some(f)) if v.ty.is_integer() => Ok(self.of_integer(f, v)),
            (Some(f), Some(g)) => Ok(self.reformatted(f, g, v, span)),
            (_, _) if matches!(to, Type::Other(_)) => Ok(self.unknown(to)),
            (_, _) => Ok(self.refuse_float(to, span)),
        }
    }

    /// An integer as a number.
    fn of_integer(&self, f: Format, v: &Val) -> Val {
        // A 64-bit unsigned number may be kept as a negative one.
        let is_plain = !v.ty.is_u64() || v.lo >= 0;
        if let (Some(c), true) = (v.as_constant(), is_plain) {
            return Val::constant(i128::from(f.of_integer(c)), &f.ty());
        }
        if !is_plain || v.hi - v.lo >= MOST_CONVERTED {
            return self.unknown(&f.ty());
        }
        let values = v.lo..=v.hi;
        let e = values.fold(Ir::Const(f.unknown()), |rest, value| {
            let bits = Ir::Const(f.of_integer(value));
            choose(is(&v.e, value as i64), bits, rest)
        });
        self.number(f, e)
    }

    /// A number as an integer: towards zero. One that does not fit is undefined in C.
    fn truncated(&mut self, f: Format, v: &Val, to: &Type, span: Span) -> Val {
        let number = v.as_constant().and_then(|c| f.decode(c as i64));
        let whole = number.filter(|n| n.is_finite()).map(f64::trunc);
        let (lo, hi) = match to.plain() {
            ty if ty.is_u64() => (0, i128::from(u64::MAX)),
            ty => ty.range(),
        };
        match whole.map(|n| n as i128).filter(|n| (lo..=hi).contains(n)) {
            Some(n) => Val::constant(i128::from(n as i64), to),
            None => self.refuse_float(to, span),
        }
    }

    /// A number of one format as one of another.
    fn reformatted(&mut self, f: Format, g: Format, v: &Val, span: Span) -> Val {
        if f == g {
            return v.clone();
        }
        if let Some(c) = v.as_constant() {
            let bits = f.decode(c as i64).map(|n| g.encode(n));
            return Val::constant(i128::from(bits.unwrap_or_else(|| g.unknown())), &g.ty());
        }
        let v = self.saved(v.clone(), span);
        let x = &v.e;
        let rest = match (f, g) {
            // A normal number has the same digits, and its exponent at another offset.
            (Format::Single, Format::Double) => {
                const LEAST_NORMAL: i64 = 0x0080_0000;
                const OFFSET: i64 = (1023 - 127) << 23;
                let m = magnitude(f, x);
                let moved = LocalExpr::binary(BinOp::Add, m.clone(), Ir::Const(OFFSET));
                let moved = LocalExpr::binary(BinOp::Mul, moved, Ir::Const(1 << 29));
                let sign = choose(is_negative(x), Ir::Const(g.minus_zero()), Ir::Const(0));
                let moved = LocalExpr::binary(BinOp::Add, moved, sign);
                let is_normal = compare(BinOp::Ge, &m, LEAST_NORMAL);
                choose(is_normal, moved, Ir::Const(g.unknown()))
            }
            _ => Ir::Const(g.unknown()),
        };
        let same = [
            (0, 0),
            (f.minus_zero(), g.minus_zero()),
            (f.infinity(), g.infinity()),
            (f.minus_infinity(), g.minus_infinity()),
            (f.unknown(), g.unknown()),
        ];
        let rest = choose(is_nan(f, x), Ir::Const(g.nan()), rest);
        let e = same.into_iter().fold(rest, |rest, (from, to)| {
            choose(is(x, from), Ir::Const(to), rest)
        });
        let result = self.number(g, e);
        self.saved(result, span)
    }

    /// Whether a number is not zero.
    pub(super) fn float_truth(&mut self, v: &Val, span: Span) -> LocalExpr {
        let Some(f) = self.format(&v.ty) else {
            return self.refuse_float(&Type::INT, span).e;
        };
        self.require_known(f, v, span);
        is_zero(f, &v.e).negate()
    }

    /// `-x`
    pub(super) fn float_negated(&mut self, v: &Val, span: Span) -> Val {
        match (self.format(&v.ty), v.as_constant()) {
            (None, _) => self.unknown(&v.ty),
            (Some(f), Some(c)) => {
                let bits = f.decode(c as i64).map(|n| f.encode(-n));
                Val::constant(i128::from(bits.unwrap_or_else(|| f.unknown())), &v.ty)
            }
            (Some(f), None) => {
                let v = self.saved(v.clone(), span);
                self.number(f, negation(f, &v.e))
            }
        }
    }

    /// An operator of which one operand is floating point.
    pub(super) fn float_operation(&mut self, op: Binary, a: Val, b: Val, span: Span) -> Lower<Val> {
        let ty = a.ty.common(&b.ty);
        let is_compared = matches!(
            op,
            Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge | Binary::Eq | Binary::Ne
        );
        match op {
            Binary::And | Binary::Or => {
                let (a, b) = (self.truth(a, span)?, self.truth(b, span)?);
                let both = if op == Binary::And { a.and(b) } else { a.or(b) };
                return Ok(Val::truth(both));
            }
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => {}
            _ if is_compared => {}
            _ => return Ok(self.refuse_float(&Type::INT, span)),
        }
        let Some(f) = self.format(&ty) else {
            if is_compared {
                return Ok(self.refuse_float(&Type::INT, span));
            }
            return Ok(self.unknown(&ty));
        };
        if is_compared {
            return self.float_compared(f, op, a, b, span);
        }
        let (a, b) = (self.convert(a, &ty, span)?, self.convert(b, &ty, span)?);
        if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant()) {
            let bits = f.fold(op, a as i64, b as i64);
            return Ok(Val::constant(i128::from(bits), &ty));
        }
        let same = a.e == b.e;
        let (a, b) = (self.saved(a, span), self.saved(b, span));
        let is_unknown = is(&a.e, f.unknown()).or(is(&b.e, f.unknown()));
        let nan = is_nan(f, &a.e).or(is_nan(f, &b.e));
        let result = if op == Binary::Sub && !same {
            special(f, Binary::Add, &a.e, &negation(f, &b.e), same)
        } else {
            special(f, op, &a.e, &b.e, same)
        };
        let e = choose(nan, Ir::Const(f.nan()), result);
        let e = choose(is_unknown, Ir::Const(f.unknown()), e);
        let result = self.number(f, e);
        Ok(self.saved(result, span))
    }

    fn float_compared(&mut self, f: Format, op: Binary, a: Val, b: Val, span: Span) -> Lower<Val> {
        let f = self.compared_as(f, &a, &b);
        let (a, b) = (self.as_format(f, a, span)?, self.as_format(f, b, span)?);
        self.require_known(f, &a, span);
        self.require_known(f, &b, span);
        let ordered = is_nan(f, &a.e).negate().and(is_nan(f, &b.e).negate());
        let keys = |op| LocalExpr::binary(op, key(f, &a.e), key(f, &b.e));
        let holds = match op {
            Binary::Lt => keys(BinOp::Lt),
            Binary::Gt => keys(BinOp::Gt),
            Binary::Le => keys(BinOp::Le),
            Binary::Ge => keys(BinOp::Ge),
            _ => keys(BinOp::Eq),
        };
        let e = ordered.and(holds);
        Ok(Val::truth(if op == Binary::Ne { e.negate() } else { e }))
    }

    /// A `float` that is compared with a constant of type `double` is compared as it is, if the constant is one, too.
    fn compared_as(&self, f: Format, a: &Val, b: &Val) -> Format {
        let is_single = |v: &Val| self.format(&v.ty) == Some(Format::Single);
        let fits = |v: &Val| {
            let (g, c) = (self.format(&v.ty), v.as_constant());
            let number = g.zip(c).and_then(|(g, c)| g.decode(c as i64));
            number.is_some_and(|n| f64::from(n as f32).to_bits() == n.to_bits())
        };
        let can = |v: &Val| is_single(v) || fits(v);
        let narrow = is_single(a) != is_single(b) && can(a) && can(b);
        if f == Format::Double && narrow {
            return Format::Single;
        }
        f
    }

    fn as_format(&mut self, f: Format, v: Val, span: Span) -> Lower<Val> {
        let v = self.convert(v, &f.ty(), span)?;
        Ok(match v.as_constant() {
            Some(_) => v,
            None => self.saved(v, span),
        })
    }

    /// The bits of a number, as an integer of its width. Those of a NaN that was computed are not known.
    pub(super) fn bits_of(&mut self, v: &Val, span: Span) -> Val {
        let Some(f) = self.format(&v.ty) else {
            return self.refuse_float(&Type::INT, span);
        };
        let is_mark = is(&v.e, f.unknown()).or(is(&v.e, f.nan()));
        self.require(
            is_mark.negate(),
            "the bits of a number that is not followed",
            span,
        );
        let ty = Type::Int {
            bits: f.width(),
            signed: true,
        };
        let (lo, hi) = v.as_constant().map_or_else(|| ty.range(), |c| (c, c));
        Val {
            ty,
            lo,
            hi,
            ..v.clone()
        }
    }

    /// The number that an integer of its width has the bits of.
    pub(super) fn with_bits(&mut self, v: Val, to: &Type, span: Span) -> Lower<Val> {
        let Some(f) = self.format(to) else {
            return Ok(self.unknown(to));
        };
        let ty = Type::Int {
            bits: f.width(),
            signed: true,
        };
        let v = self.convert(v, &ty, span)?;
        Ok(self.held(v.e, to))
    }

    /// A function of `math.h` or a builtin over numbers; `None` if it is none.
    pub(super) fn math_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        let known = name.strip_prefix("__builtin_").unwrap_or(name);
        let is_builtin = known != name;
        let (base, ty) = match known.strip_suffix('f') {
            Some(base) if is_mathematical(base) || is_constant(base) => (base, "float"),
            _ => (known, "double"),
        };
        let ty = Type::Other(ty);
        let format = self.format(&ty);
        match (base, args, format) {
            ("inf" | "huge_val", [], Some(f)) if is_builtin => {
                Ok(Some(Val::constant(i128::from(f.infinity()), &ty)))
            }
            ("nan", [_], Some(f)) if is_builtin => {
                Ok(Some(Val::constant(i128::from(f.nan()), &ty)))
            }
            ("isnan" | "isinf" | "isfinite" | "isinf_sign", [x], _) if is_builtin => {
                let v = self.value(x)?;
                let Some(f) = self.format(&v.ty) else {
                    return Ok(Some(self.refuse_float(&Type::INT, span)));
                };
                let v = self.saved(v, span);
                self.require_known(f, &v, span);
                let e = match base {
                    "isnan" => is_nan(f, &v.e),
                    "isfinite" => is_nan(f, &v.e).or(is_infinite(f, &v.e)).negate(),
                    "isinf" => is_infinite(f, &v.e),
                    _ => {
                        let sign = choose(is_negative(&v.e), Ir::Const(-1), Ir::Const(1));
                        let e = choose(is_infinite(f, &v.e), sign, Ir::Const(0));
                        let sign = self.held(e, &Type::INT);
                        return Ok(Some(Val {
                            lo: -1,
                            hi: 1,
                            ..sign
                        }));
                    }
                };
                Ok(Some(Val::truth(e)))
            }
            ("fabs", [x], Some(f)) => {
                let v = self.value(x)?;
                let v = self.convert(v, &ty, span)?;
                let v = self.saved(v, span);
                let is_mark = is(&v.e, f.unknown()).or(is(&v.e, f.nan()));
                let e = choose(is_mark, v.e.clone(), magnitude(f, &v.e));
                Ok(Some(self.number(f, e)))
            }
            ("sqrt" | "floor" | "ceil" | "trunc", [x], Some(f)) => {
                let v = self.value(x)?;
                let v = self.convert(v, &ty, span)?;
                let number = v.as_constant().and_then(|c| f.decode(c as i64));
                let result = number.map(|n| match base {
                    "sqrt" => n.sqrt(),
                    "floor" => n.floor(),
                    "ceil" => n.ceil(),
                    _ => n.trunc(),
                });
                let bits = result.map_or_else(|| f.unknown(), |n| f.encode(n));
                Ok(Some(Val::constant(i128::from(bits), &ty)))
            }
            (_, args, _) if is_mathematical(base) => {
                for a in args {
                    self.discard(a)?;
                }
                Ok(Some(self.unknown(&ty)))
            }
            _ => Ok(None),
        }
    }

    /// Reads a floating-point number that is not followed.
    pub(super) fn load_float(&mut self, place: &Place, span: Span) -> Lower<Val> {
        let ty = place.ty().plain().clone();
        self.check_live(place, span);
        let cases = self.cases(place, Access::Load, span)?;
        let (start, join) = (self.here, self.graph.loc());
        for case in &cases {
            let then = self.graph.loc();
            self.here = start;
            self.assume(case.when.clone(), then, span);
            self.at(then);
            if let CellRef::Shared(memory) = &case.cell {
                let src = memory.clone().ordered(self.access_order(&case.ty));
                let is_remote = self.cx.onesided.is_some();
                self.own_access(&src.clone(), Class::Read, span, |code| {
                    if !is_remote {
                        let dst = code.temporary(span);
                        code.emit(Step::Load { dst, src }, span);
                    }
                });
            }
            self.go(join, span);
        }
        if cases.is_empty() {
            self.assume(Ir::FALSE, join, span);
        }
        self.at(join);
        Ok(self.unknown(&ty))
    }
}

/// Whether a builtin without its suffix is a constant.
fn is_constant(name: &str) -> bool {
    matches!(name, "inf" | "huge_val" | "nan")
}

/// Whether a function of `math.h`, without its suffix, maps numbers to a number.
fn is_mathematical(name: &str) -> bool {
    const NAMES: [&str; 28] = [
        "sqrt", "cbrt", "fabs", "floor", "ceil", "round", "trunc", "rint", "exp", "exp2", "log",
        "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
        "pow", "fmod", "fmin", "fmax", "atan2", "hypot",
    ];
    NAMES.contains(&name)
}
