//! *Values*: expressions over a thread's locals with their C type and the interval
//! that they lie in. Arithmetic is that of C: operands are promoted, results are
//! brought back into their type's range ([`LocalExpr::wrapped`]) unless the interval shows
//! that they are in it already. Signed overflow, undefined in C, wraps as well (what
//! compilers do with `-fwrapv`) unless `--check overflow` makes it a violation.
//!
//! A 64-bit unsigned number above the greatest signed one is kept as the signed
//! number with the same bits; comparisons, shifts and divisions take care of that.

use palisade_program::{AssertKind, BinOp, Expr as Ir, LocalExpr, Span, Step, UnOp};

use super::code::{Code, Lower};
use super::layout::{FAR, FIRST_ADDRESS, LARGE, LOCATIONS_END, unsupported_type};
use crate::c::ast::Binary;
use crate::c::points_to::Targets;
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// A value.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub(super) e: LocalExpr,
    pub(super) ty: Type,
    pub(super) lo: i128,
    pub(super) hi: i128,
    /// For pointers: the object that it is known to point into.
    pub(super) object: Option<usize>,
    /// The objects that it may point to; `None` if they are not known.
    pub(super) among: Option<Targets>,
}

/// Bounds of values that nothing is known of.
const WIDE: i128 = 1 << 100;

impl Val {
    pub(super) fn constant(value: i128, ty: &Type) -> Self {
        Self {
            e: Ir::Const(value as i64),
            ty: ty.plain().clone(),
            lo: value,
            hi: value,
            object: None,
            among: None,
        }
    }

    pub(super) fn truth(e: LocalExpr) -> Self {
        let (lo, hi) = match e {
            Ir::Const(c) => (i128::from(c), i128::from(c)),
            Ir::Atom(_) | Ir::Unary(..) | Ir::Binary(..) | Ir::Cond(..) => (0, 1),
        };
        Self {
            e,
            ty: Type::INT,
            lo,
            hi,
            object: None,
            among: None,
        }
    }

    pub(super) fn void() -> Self {
        Self::constant(0, &Type::Void)
    }

    /// With the bounds of a constant, if it is one.
    fn exactly(self) -> Self {
        match self.as_constant() {
            Some(c) => Self {
                lo: c,
                hi: c,
                ..self
            },
            None => self,
        }
    }

    pub(super) fn as_constant(&self) -> Option<i128> {
        match self.e {
            Ir::Const(c) => Some(i128::from(c)),
            Ir::Atom(_) | Ir::Unary(..) | Ir::Binary(..) | Ir::Cond(..) => None,
        }
    }
}

fn int(c: i128) -> LocalExpr {
    Ir::Const(c as i64)
}

fn compare(op: BinOp, a: LocalExpr, b: LocalExpr) -> LocalExpr {
    LocalExpr::binary(op, a, b)
}

fn is_boolean(v: &Val) -> bool {
    v.e.is_boolean() || (v.lo >= 0 && v.hi <= 1)
}

impl Code<'_, '_> {
    /// A value of type `ty` that is held in a variable.
    pub(super) fn held(&self, e: LocalExpr, ty: &Type) -> Val {
        let ty = ty.plain().clone();
        let (lo, hi) = self.range(&ty);
        let mut val = Val {
            e,
            ty,
            lo,
            hi,
            object: None,
            among: None,
        };
        if let Some(c) = val.as_constant() {
            (val.lo, val.hi) = (c, c);
            if val.ty.is_pointer() {
                val.object = self.cx.object_at(c as i64);
            }
        }
        val
    }

    /// The interval of a type: none over mathematical integers.
    pub(super) fn range(&self, ty: &Type) -> (i128, i128) {
        match ty.plain() {
            Type::Bool => (0, 1),
            _ if self.cx.options.math => (-WIDE, WIDE),
            other => other.range(),
        }
    }

    /// An obligation: where it fails, the verdict is unknown, for this reason.
    pub(super) fn require(&mut self, cond: LocalExpr, why: &str, span: Span) {
        self.oblige(cond, AssertKind::Unsupported(why.to_owned()), span);
    }

    /// A check of the language: where it fails, the program is wrong.
    pub(super) fn demand(&mut self, cond: LocalExpr, what: &str, span: Span) {
        self.oblige(cond, AssertKind::Language(what.to_owned()), span);
    }

    /// An assertion of this kind, unless it holds whatever happens.
    pub(super) fn oblige(&mut self, cond: LocalExpr, kind: AssertKind, span: Span) {
        if !matches!(cond, Ir::Const(c) if c != 0) {
            self.emit(Step::Assert { cond, kind }, span);
        }
    }

    /// Brings a result into the range of its type.
    fn fit(&mut self, e: LocalExpr, lo: i128, hi: i128, ty: &Type, span: Span) -> Val {
        let (least, most) = self.range(ty);
        let exact = |e, lo, hi| Val {
            e,
            ty: ty.clone(),
            lo,
            hi,
            object: None,
            among: None,
        };
        if least <= lo && hi <= most {
            return exact(e, lo, hi);
        }
        if self.cx.options.math && !matches!(ty, Type::Bool) {
            return exact(e, least, most);
        }
        let Type::Int { bits, signed } = *ty else {
            return exact(e, lo, hi);
        };
        if signed && self.cx.options.check_overflow {
            let above = compare(BinOp::Ge, e.clone(), int(least));
            let below = compare(BinOp::Le, e.clone(), int(most));
            let inside = match (lo < least, hi > most) {
                (true, false) => above,
                (false, true) => below,
                _ => above.and(below),
            };
            self.oblige(inside, AssertKind::SignedOverflow, span);
            // A constant that does not fit 64 bits cannot be written; the assertion
            // has failed then, and what follows does not matter.
            return exact(e, lo.max(least), hi.min(most));
        }
        if lo == hi {
            let value = palisade_program::expr::wrap(lo, bits, signed);
            return Val::constant(i128::from(value), ty);
        }
        let signed = signed || bits == 64;
        exact(e.wrapped((lo, hi), bits, signed), least, most)
    }

    /// Converts a value, as an assignment or a cast does.
    pub(super) fn convert(&mut self, v: Val, to: &Type, span: Span) -> Lower<Val> {
        let to = to.plain();
        if let Type::Bits(bits) = to {
            return self.convert(v, &bits.value(), span);
        }
        if v.ty == *to {
            return Ok(v);
        }
        let is_float = |ty| self.cx.layouts.is_followed_float(ty);
        if *to != Type::Void && (is_float(&v.ty) || is_float(to)) {
            return self.convert_float(&v, to, span);
        }
        match (&v.ty, to) {
            (_, Type::Void) => Ok(Val::void()),
            (_, Type::Other(what)) => Err(unsupported_type(what, span)),
            (Type::Other(what), _) => Err(unsupported_type(what, span)),
            (Type::Bool | Type::Int { .. } | Type::Pointer(_), Type::Bool) => {
                if is_boolean(&v) {
                    return Ok(Val {
                        ty: Type::Bool,
                        ..v
                    });
                }
                let e = compare(BinOp::Ne, v.e, Ir::Const(0));
                Ok(Val {
                    ty: Type::Bool,
                    ..Val::truth(e)
                })
            }
            (Type::Bool | Type::Int { .. }, Type::Int { .. }) => {
                if !self.is_word(to) {
                    self.as_number(&v, span);
                }
                // Narrowing conversions are implementation-defined, not overflow.
                let checked = std::mem::replace(&mut self.cx.options.check_overflow, false);
                let among = v.among.clone().filter(|_| self.is_word(&v.ty));
                let (least, most) = self.range(to);
                let fits = least <= v.lo && v.hi <= most;
                let result = match self.operands(&v).filter(|_| !fits) {
                    Some((op, a, b)) => {
                        // The bits that are left are those of the operands.
                        let (a, b) = (self.convert(a, to, span)?, self.convert(b, to, span)?);
                        self.bits(op, a, b, to)
                    }
                    None => self.fit(v.e, v.lo, v.hi, to, span),
                };
                self.cx.options.check_overflow = checked;
                Ok(Val { among, ..result })
            }
            (Type::Int { .. }, Type::Pointer(_)) if self.carries(&v) => {
                Ok(self.number_as_address(v, to, span))
            }
            (Type::Bool | Type::Int { .. }, Type::Pointer(_)) => {
                let first = match self.cx.litmus {
                    Some(_) => self.first_address(),
                    None => i128::from(LARGE),
                };
                if let (Some(_), Some(of)) = (self.cx.litmus, to.pointee()) {
                    // The number may be any, also one within an element.
                    self.cx.note_recast(of);
                }
                // A constant beside all addresses is that of no object.
                let addresses = match self.cx.litmus {
                    Some(_) => i128::from(LARGE)..3 * first,
                    None => i128::from(FIRST_ADDRESS)..i128::from(FAR),
                };
                let is_far = v.as_constant().is_some_and(|c| !addresses.contains(&c));
                if v.hi >= first && !is_far {
                    let small = compare(BinOp::Lt, v.e.clone(), int(first));
                    self.require(small, "a large number becomes a pointer", span);
                }
                Ok(Val {
                    ty: to.clone(),
                    ..v
                })
            }
            (Type::Pointer(_), Type::Int { .. })
                if self.is_word(to) && self.follows_addresses() =>
            {
                Ok(self.address_as_number(v, to))
            }
            (Type::Pointer(_), Type::Int { .. }) => {
                let first = self.first_address();
                if v.as_constant().is_none_or(|c| c >= first) {
                    let small = compare(BinOp::Lt, v.e.clone(), int(first));
                    self.require(small, "an address becomes a number", span);
                }
                let (lo, hi) = v
                    .as_constant()
                    .map_or((i128::from(i64::MIN), first), |c| (c, c));
                let number = self.fit(v.e, lo, hi, to, span);
                Ok(number)
            }
            (Type::Pointer(from), Type::Pointer(of)) => {
                if from.plain() != of.plain() {
                    self.cx.note_recast(of);
                }
                Ok(Val {
                    ty: to.clone(),
                    ..v
                })
            }
            (Type::Opaque(_), _) | (_, Type::Opaque(_)) => {
                let what = "unsupported: a lock or its kin as a value";
                Err(Diagnostic::error(span, what).help("pass a pointer to it"))
            }
            _ => Err(Diagnostic::error(span, "unsupported: this conversion")
                .help("values are integers and pointers")),
        }
    }

    /// The least address that is no number: of an object, in litmus tests what is behind them.
    fn first_address(&self) -> i128 {
        i128::from(match self.cx.litmus {
            Some(_) => LOCATIONS_END,
            None => FIRST_ADDRESS,
        })
    }

    /// Whether the value is not 0.
    pub(super) fn truth(&mut self, v: Val, span: Span) -> Lower<LocalExpr> {
        if !v.ty.is_scalar() {
            return match &v.ty {
                ty if self.cx.layouts.is_followed_float(ty) => Ok(self.float_truth(&v, span)),
                Type::Other(what) => Err(unsupported_type(what, span)),
                _ => Err(Diagnostic::error(span, "this is no truth value")),
            };
        }
        Ok(match v.as_constant() {
            Some(c) => int(i128::from(c != 0)),
            None if is_boolean(&v) => v.e,
            None => equality(BinOp::Ne, v, Val::constant(0, &Type::INT)).e,
        })
    }

    /// A unary operator.
    pub(super) fn negated(&mut self, v: Val, span: Span) -> Lower<Val> {
        let zero = Val::constant(0, &Type::INT);
        self.binary(Binary::Sub, zero, v, span)
    }

    pub(super) fn complement(&mut self, v: Val, span: Span) -> Lower<Val> {
        let ty = v.ty.promoted();
        self.as_number(&v, span);
        let v = self.convert(v, &ty, span)?;
        let all = match ty {
            Type::Int {
                bits,
                signed: false,
            } if bits < 64 => (1_i128 << bits) - 1,
            _ => -1,
        };
        let e = LocalExpr::binary(BinOp::Sub, int(all), v.e);
        let complement = Val {
            e,
            ty,
            lo: all - v.hi,
            hi: all - v.lo,
            object: None,
            among: None,
        };
        Ok(complement.exactly())
    }

    /// A binary operator other than `&&` and `||`.
    pub(super) fn binary(&mut self, op: Binary, a: Val, b: Val, span: Span) -> Lower<Val> {
        let is_float = |v: &Val| self.cx.layouts.is_followed_float(&v.ty);
        if is_float(&a) || is_float(&b) {
            return self.float_operation(op, a, b, span);
        }
        for v in [&a, &b] {
            if let Type::Other(what) = &v.ty {
                return Err(unsupported_type(what, span));
            }
            if !v.ty.is_scalar() {
                return Err(Diagnostic::error(span, "an operand has no value"));
            }
        }
        if a.ty.is_pointer() || b.ty.is_pointer() {
            return self.pointer_operation(op, a, b, span);
        }
        let ty = match op {
            Binary::Shl | Binary::Shr => a.ty.promoted(),
            _ => a.ty.common(&b.ty),
        };
        let a = self.convert(a, &ty, span)?;
        let b = match op {
            Binary::Shl | Binary::Shr => b,
            _ => self.convert(b, &ty, span)?,
        };
        self.check_numbers(op, &a, &b, span)?;
        match op {
            Binary::Add => {
                let e = LocalExpr::binary(BinOp::Add, a.e, b.e);
                Ok(self.fit(e, a.lo + b.lo, a.hi + b.hi, &ty, span))
            }
            Binary::Sub => {
                let e = LocalExpr::binary(BinOp::Sub, a.e, b.e);
                Ok(self.fit(e, a.lo - b.hi, a.hi - b.lo, &ty, span))
            }
            Binary::Mul => Ok(self.product(a, b, &ty, span)),
            Binary::Div | Binary::Rem => Ok(self.division(op, a, b, &ty, span)),
            Binary::Shl => Ok(self.shift_left(a, b, &ty, span)),
            Binary::Shr => Ok(self.shift_right(a, b, &ty, span)),
            Binary::BitAnd | Binary::BitOr | Binary::BitXor => Ok(self.bits(op, a, b, &ty)),
            Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge => Ok(self.order(op, a, b, &ty)),
            Binary::Eq => Ok(equality(BinOp::Eq, a, b)),
            Binary::Ne => Ok(equality(BinOp::Ne, a, b)),
            Binary::And | Binary::Or => {
                let (a, b) = (self.truth(a, span)?, self.truth(b, span)?);
                Ok(Val::truth(if op == Binary::And {
                    a.and(b)
                } else {
                    a.or(b)
                }))
            }
        }
    }

    fn product(&mut self, a: Val, b: Val, ty: &Type, span: Span) -> Val {
        let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
        let products = corners.map(|(x, y)| x.saturating_mul(y));
        let lo = products.iter().copied().min().unwrap_or(0);
        let hi = products.iter().copied().max().unwrap_or(0);
        let e = LocalExpr::binary(BinOp::Mul, a.e, b.e);
        self.fit(e, lo, hi, ty, span)
    }

    /// C rounds towards zero; the IR's division is Euclidean, which is the same for
    /// operands that are not negative.
    fn division(&mut self, op: Binary, a: Val, b: Val, ty: &Type, span: Span) -> Val {
        let mut b = b;
        if b.lo <= 0 && b.hi >= 0 {
            let nonzero = compare(BinOp::Ne, b.e.clone(), Ir::Const(0));
            self.demand(nonzero, "division by zero", span);
            if b.as_constant() == Some(0) {
                return Val::constant(0, ty);
            }
            if b.lo == 0 {
                b.lo = 1;
            }
        }
        let mut a = a;
        if ty.is_u64() && !self.cx.options.math && op == Binary::Rem {
            // The low bits of a number above 2^63 are those of the negative number that it is kept as.
            let power = b.as_constant().filter(|k| *k > 0 && k.count_ones() == 1);
            if let Some(k) = power.and_then(|k| i64::try_from(k).ok()) {
                let e = LocalExpr::binary(BinOp::Mod, a.e, Ir::Const(k));
                return self.fit(e, 0, i128::from(k) - 1, ty, span);
            }
        }
        if ty.is_u64() && !self.cx.options.math {
            for v in [&mut a, &mut b] {
                if v.lo < 0 {
                    let small = compare(BinOp::Ge, v.e.clone(), Ir::Const(0));
                    self.require(small, "division of a number above 2^63", span);
                    v.lo = 0;
                }
            }
        }
        let ir = if op == Binary::Div {
            BinOp::Div
        } else {
            BinOp::Mod
        };
        let apply = |x: LocalExpr, y: LocalExpr| LocalExpr::binary(ir, x, y);
        let minus = |x: LocalExpr| LocalExpr::unary(UnOp::Neg, x);
        let choose = |c: LocalExpr, x: LocalExpr, y: LocalExpr| match c {
            Ir::Const(0) => y,
            Ir::Const(_) => x,
            c => Ir::Cond(Box::new(c), Box::new(x), Box::new(y)),
        };
        // The magnitude of the quotient (or remainder) of magnitudes, then the sign.
        let quotient = op == Binary::Div;
        let by = |y: LocalExpr, negative: bool| {
            let down = minus(apply(minus(a.e.clone()), y.clone()));
            let up = apply(a.e.clone(), y);
            let flip = |e: LocalExpr| if negative && quotient { minus(e) } else { e };
            if a.lo >= 0 {
                flip(up)
            } else if a.hi < 0 {
                flip(down)
            } else {
                let up_first = compare(BinOp::Ge, a.e.clone(), Ir::Const(0));
                choose(up_first, flip(up), flip(down))
            }
        };
        let e = if b.lo > 0 {
            by(b.e.clone(), false)
        } else if b.hi < 0 {
            by(minus(b.e.clone()), true)
        } else {
            let positive = compare(BinOp::Gt, b.e.clone(), Ir::Const(0));
            choose(
                positive,
                by(b.e.clone(), false),
                by(minus(b.e.clone()), true),
            )
        };
        let (lo, hi) = if op == Binary::Div {
            let most = a.lo.abs().max(a.hi.abs());
            (if a.lo >= 0 && b.lo > 0 { 0 } else { -most }, most)
        } else {
            let most = (b.lo.abs().max(b.hi.abs()) - 1).min(a.lo.abs().max(a.hi.abs()));
            (if a.lo >= 0 { 0 } else { -most }, most)
        };
        self.fit(e, lo, hi, ty, span)
    }

    /// The amount of a shift, checked to be less than the width.
    fn amount(&mut self, b: &Val, ty: &Type, span: Span) -> (i128, i128) {
        let bits = match ty {
            Type::Int { bits, .. } => i128::from(*bits),
            _ => 64,
        };
        let low = compare(BinOp::Ge, b.e.clone(), Ir::Const(0));
        let high = compare(BinOp::Lt, b.e.clone(), int(bits));
        if b.lo < 0 || b.hi >= bits {
            self.demand(low.and(high), "shift by more than the width", span);
        }
        let (lo, hi) = b.as_constant().map_or((b.lo, b.hi), |c| (c, c));
        (lo.clamp(0, bits - 1), hi.clamp(0, bits - 1))
    }

    fn shift_left(&mut self, a: Val, b: Val, ty: &Type, span: Span) -> Val {
        let (least, most) = self.amount(&b, ty, span);
        let at = |v: i128, by: i128| v.saturating_mul(1 << by);
        let all = [
            at(a.lo, least),
            at(a.lo, most),
            at(a.hi, least),
            at(a.hi, most),
        ];
        let lo = all.iter().copied().min().unwrap_or(0);
        let hi = all.iter().copied().max().unwrap_or(0);
        let e = match b.as_constant() {
            Some(_) if most < 63 => LocalExpr::binary(BinOp::Mul, a.e, int(1 << most)),
            _ => LocalExpr::binary(BinOp::Shl, a.e, b.e),
        };
        self.fit(e, lo, hi, ty, span)
    }

    /// The operands of a bit operation between two variables.
    fn operands(&self, v: &Val) -> Option<(Binary, Val, Val)> {
        let Ir::Binary(op, a, b) = &v.e else {
            return None;
        };
        let op = match op {
            BinOp::BitAnd => Binary::BitAnd,
            BinOp::BitOr => Binary::BitOr,
            BinOp::BitXor => Binary::BitXor,
            _ => return None,
        };
        let is_constant = |e: &LocalExpr| matches!(e, Ir::Const(_));
        let is_followed = !self.cx.options.math && !is_constant(a) && !is_constant(b);
        let operand = |e: &LocalExpr| self.held(e.clone(), &v.ty);
        is_followed.then(|| (op, operand(a), operand(b)))
    }

    fn shift_right(&mut self, a: Val, b: Val, ty: &Type, span: Span) -> Val {
        let (least, most) = self.amount(&b, ty, span);
        if ty.is_u64() && a.lo < 0 && least == most && !self.cx.options.math {
            return shifted_word(&a, least, ty);
        }
        if least == most
            && least > 0
            && let Some((op, x, y)) = self.operands(&a)
        {
            let x = self.shift_right(x, b.clone(), ty, span);
            let y = self.shift_right(y, b, ty, span);
            return self.bits(op, x, y, ty);
        }
        if ty.is_u64() && a.lo < 0 && !self.cx.options.math {
            let small = compare(BinOp::Ge, a.e.clone(), Ir::Const(0));
            self.require(small, "a shift of a number above 2^63", span);
        }
        let e = LocalExpr::binary(BinOp::Shr, a.e, b.e);
        let all = [a.lo >> least, a.lo >> most, a.hi >> least, a.hi >> most];
        let lo = all.iter().copied().min().unwrap_or(0);
        let hi = all.iter().copied().max().unwrap_or(0);
        let shifted = Val {
            e,
            ty: ty.clone(),
            lo,
            hi,
            object: None,
            among: None,
        };
        shifted.exactly()
    }

    /// Bit operations stay within their type: two's complement is closed under them.
    fn bits(&self, op: Binary, a: Val, b: Val, ty: &Type) -> Val {
        let is_bit = |v: &Val| v.lo >= 0 && v.hi <= 1 && v.as_constant().is_none();
        if is_bit(&b) && a.as_constant().is_none() {
            return with_bit(op, &a, b.e, ty);
        }
        if is_bit(&a) && b.as_constant().is_none() {
            return with_bit(op, &b, a.e, ty);
        }
        let ir = match op {
            Binary::BitAnd => BinOp::BitAnd,
            Binary::BitOr => BinOp::BitOr,
            _ => BinOp::BitXor,
        };
        let (lo, hi) = if a.lo >= 0 && b.lo >= 0 {
            let most = if op == Binary::BitAnd {
                a.hi.min(b.hi)
            } else {
                let high = a.hi.max(b.hi).max(1);
                (1_i128 << (128 - high.leading_zeros())) - 1
            };
            (0, most)
        } else if op == Binary::BitAnd && (a.lo >= 0 || b.lo >= 0) {
            (0, if a.lo >= 0 { a.hi } else { b.hi })
        } else {
            self.range(ty)
        };
        let all = Val {
            e: LocalExpr::binary(ir, a.e, b.e),
            ty: ty.clone(),
            lo,
            hi,
            object: None,
            among: None,
        };
        all.exactly()
    }

    fn order(&self, op: Binary, a: Val, b: Val, ty: &Type) -> Val {
        let (op, a, b) = match op {
            Binary::Gt => (BinOp::Lt, b, a),
            Binary::Ge => (BinOp::Le, b, a),
            Binary::Lt => (BinOp::Lt, a, b),
            _ => (BinOp::Le, a, b),
        };
        let plain = compare(op, a.e.clone(), b.e.clone());
        let sign = |v: &Val| (v.lo < 0, v.hi >= 0);
        if !ty.is_u64() || self.cx.options.math || (a.lo >= 0 && b.lo >= 0) {
            return Val::truth(plain);
        }
        // A number that is kept as negative is the greater one.
        let negative = |v: &Val| match sign(v) {
            (false, _) => Ir::FALSE,
            (true, false) => Ir::TRUE,
            (true, true) => compare(BinOp::Lt, v.e.clone(), Ir::Const(0)),
        };
        let (m, n) = (negative(&a), negative(&b));
        let same = LocalExpr::binary(BinOp::Eq, m, n.clone());
        let e = match same {
            Ir::Const(0) => n,
            Ir::Const(_) => plain,
            same => same.clone().and(plain).or(same.negate().and(n)),
        };
        Val::truth(e)
    }

    fn moved(&mut self, p: Val, op: BinOp, by: Val, size: u64, span: Span) -> Val {
        let by = LocalExpr::binary(BinOp::Mul, by.e, Ir::Const(size as i64));
        let by = match by {
            Ir::Binary(BinOp::Mul, e, one) if *one == Ir::Const(1) => *e,
            other => other,
        };
        if by == Ir::Const(0) {
            return p;
        }
        let e = LocalExpr::binary(op, p.e.clone(), by);
        self.check_step(&p, &e, span);
        Val { e, ..p }
    }

    fn pointer_operation(&mut self, op: Binary, a: Val, b: Val, span: Span) -> Lower<Val> {
        for v in [&a, &b] {
            self.as_number(v, span);
        }
        let step = |code: &Self, ty: &Type| {
            let to = ty.pointee().cloned().unwrap_or(Type::Void);
            code.cx.layouts.size(&to, span)
        };
        match op {
            Binary::Add if a.ty.is_pointer() => {
                let size = step(self, &a.ty)?;
                Ok(self.moved(a, BinOp::Add, b, size, span))
            }
            Binary::Add => {
                let size = step(self, &b.ty)?;
                Ok(self.moved(b, BinOp::Add, a, size, span))
            }
            Binary::Sub if !b.ty.is_pointer() => {
                let size = step(self, &a.ty)?;
                Ok(self.moved(a, BinOp::Sub, b, size, span))
            }
            Binary::Sub => {
                self.check_step(&a, &b.e, span);
                self.check_step(&b, &a.e, span);
                let size = step(self, &a.ty)?;
                let ty = Type::Int {
                    bits: self.cx.options.data_model.word(),
                    signed: true,
                };
                let mut e = LocalExpr::binary(BinOp::Sub, a.e, b.e);
                if size > 1 {
                    e = LocalExpr::binary(BinOp::Div, e, Ir::Const(size as i64));
                }
                let (lo, hi) = self.range(&ty);
                Ok(Val {
                    e,
                    ty,
                    lo,
                    hi,
                    object: None,
                    among: None,
                })
            }
            Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge => {
                Ok(self.order(op, a, b, &Type::Void))
            }
            Binary::Eq => Ok(equality(BinOp::Eq, a, b)),
            Binary::Ne => Ok(equality(BinOp::Ne, a, b)),
            Binary::Mul | Binary::Div | Binary::Rem | Binary::Shl | Binary::Shr => {
                Err(Diagnostic::error(span, "an operand is a pointer"))
            }
            Binary::And | Binary::Or => {
                let (a, b) = (
                    self.convert(a, &Type::Bool, span)?,
                    self.convert(b, &Type::Bool, span)?,
                );
                self.binary(op, a, b, span)
            }
            Binary::BitAnd | Binary::BitOr | Binary::BitXor => {
                Err(Diagnostic::error(span, "an operand is a pointer"))
            }
        }
    }
}

/// A 64-bit unsigned number, some of which are kept as negative ones, shifted to the right.
fn shifted_word(a: &Val, by: i128, ty: &Type) -> Val {
    if let Some(c) = a.as_constant() {
        return Val::constant(i128::from((c as u64) >> by as u32), ty);
    }
    if by == 0 {
        return a.clone();
    }
    let low = LocalExpr::binary(BinOp::Shr, a.e.clone(), int(by));
    // What comes in from above is not the sign. The greatest of these is no constant, so it is the least that goes.
    let high = LocalExpr::binary(BinOp::Sub, low.clone(), int(-(1 << (64 - by))));
    let is_high = compare(BinOp::Lt, a.e.clone(), Ir::Const(0));
    Val {
        e: Ir::Cond(Box::new(is_high), Box::new(high), Box::new(low)),
        ty: ty.clone(),
        lo: 0,
        hi: i128::from(u64::MAX >> by as u32),
        object: None,
        among: None,
    }
}

/// A bit operation whose second operand is 0 or 1: it is about the lowest bit.
fn with_bit(op: Binary, a: &Val, bit: LocalExpr, ty: &Type) -> Val {
    let lowest = || LocalExpr::binary(BinOp::Mod, a.e.clone(), int(2));
    let sum = |e: LocalExpr| LocalExpr::binary(BinOp::Add, a.e.clone(), e);
    let (zero, one) = match op {
        Binary::BitAnd => (int(0), lowest()),
        Binary::BitOr => {
            let rest = LocalExpr::binary(BinOp::Sub, int(1), lowest());
            (a.e.clone(), sum(rest))
        }
        _ => {
            let twice = LocalExpr::binary(BinOp::Mul, lowest(), int(2));
            let other = LocalExpr::binary(BinOp::Sub, int(1), twice);
            (a.e.clone(), sum(other))
        }
    };
    let is_zero = compare(BinOp::Eq, bit, int(0));
    let (lo, hi) = match op {
        Binary::BitAnd => (0, 1),
        // An even number and the odd one behind it.
        _ => (a.lo & !1, a.hi | 1),
    };
    Val {
        e: Ir::Cond(Box::new(is_zero), Box::new(zero), Box::new(one)),
        ty: ty.clone(),
        lo,
        hi,
        object: None,
        among: None,
    }
}

fn equality(op: BinOp, a: Val, b: Val) -> Val {
    // Values that cannot meet are different.
    if a.hi < b.lo || b.hi < a.lo {
        return Val::truth(int(i128::from(op == BinOp::Ne)));
    }
    if b.as_constant() == Some(0)
        && let Ir::Binary(BinOp::BitOr, x, y) = &a.e
    {
        // No bit of either is 1.
        let is_zero = |e: &LocalExpr| compare(BinOp::Eq, e.clone(), Ir::Const(0));
        let both = is_zero(x).and(is_zero(y));
        return Val::truth(if op == BinOp::Eq { both } else { both.negate() });
    }
    Val::truth(compare(op, a.e, b.e))
}
