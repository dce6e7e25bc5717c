//! *Expressions*: values, places, conditions. Accesses of memory become steps of
//! their own, from left to right.

use std::rc::Rc;

use palisade_program::{Expr as Ir, LocId, LocalExpr, Span};

use super::code::{Code, Lower, meet};
use super::layout::{FIRST_FUNCTION, Object};
use super::place::Place;
use super::value::Val;
use super::walk;
use crate::c::ast::{Binary, Expr, ExprKind, Stmt, StmtKind, Unary};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// Addresses of string literals, which nothing reads.
const STRINGS: i64 = 2 * FIRST_FUNCTION;

pub(super) fn unsupported<T>(span: Span, what: &str, help: &str) -> Lower<T> {
    Err(Diagnostic::error(span, format!("unsupported: {what}")).help(help))
}

impl Code<'_, '_> {
    pub(super) fn lookup(&mut self, name: &str) -> Lower<Option<Rc<Object>>> {
        let frame = self.frames.last();
        let local = frame.and_then(|f| f.scopes.iter().rev().find_map(|s| s.get(name)));
        if let Some(object) = local.or_else(|| self.thread_locals.get(name)) {
            return Ok(Some(object.clone()));
        }
        if let Some(declaration) = self.cx.thread_local.get(name).copied() {
            let object = self.thread_local(declaration)?;
            return Ok(Some(object));
        }
        Ok(self.cx.variables.get(name).cloned())
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, e: &Expr) -> Lower<Val> {
        let span = e.span;
        let want = self.want.take();
        match &e.kind {
            ExprKind::Int(v, ty) => Ok(Val::constant(*v, ty)),
            ExprKind::Float => unsupported(span, "floating point", "use integers"),
            ExprKind::Str(_) => Ok(self.held(Ir::Const(STRINGS), &Type::pointer(Type::CHAR))),
            ExprKind::UnknownSize => unsupported(
                span,
                "the size of this type",
                "write the number, or leave it out",
            ),
            ExprKind::Ident(name) => self.named(name, want, span),
            ExprKind::Unary(op, a) => self.unary(*op, a, want, span),
            ExprKind::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                self.short_circuit(*op, a, b, span)
            }
            ExprKind::Binary(op, a, b) => {
                let a = self.value(a)?;
                let b = self.value(b)?;
                self.binary(*op, a, b, span)
            }
            ExprKind::Assign(op, a, b) => self.assignment(*op, a, b, span),
            ExprKind::Cond(c, a, b) => self.conditional(c, a.as_deref(), b, span),
            ExprKind::Call(f, args) => {
                self.want = want;
                self.call(f, args, span)
            }
            ExprKind::Index(..) | ExprKind::Member(..) | ExprKind::Arrow(..) => {
                let place = self.place(e)?;
                self.want = want;
                self.read_place(&place, span)
            }
            ExprKind::Cast(ty, a) => {
                self.note_allocation(ty, a);
                let v = self.value(a)?;
                self.convert(v, ty, span)
            }
            ExprKind::Comma(a, b) => {
                self.discard(a)?;
                self.value(b)
            }
            ExprKind::Statements(body) => self.statements(body, span),
            ExprKind::Compound(..) => {
                let place = self.place(e)?;
                self.read_place(&place, span)
            }
        }
    }

    /// The value at a place; arrays become pointers.
    pub(super) fn read_place(&mut self, place: &Place, span: Span) -> Lower<Val> {
        match place.ty().plain() {
            Type::Array(of, _) => {
                let of = (**of).clone();
                let pointer = self.address_of(place, span)?;
                Ok(Val {
                    ty: Type::pointer(of),
                    ..pointer
                })
            }
            Type::Function(_) => {
                let pointer = self.address_of(place, span)?;
                Ok(pointer)
            }
            Type::Struct(_) => unsupported(span, "a struct as a value here", "use its members"),
            _ => self.load(place, span),
        }
    }

    fn named(
        &mut self,
        name: &str,
        want: Option<palisade_program::LocalId>,
        span: Span,
    ) -> Lower<Val> {
        if let Some(object) = self.lookup(name)? {
            self.want = want;
            return self.read_place(&Self::whole(&object), span);
        }
        if let Some(number) = self.cx.function_number(name) {
            let address = FIRST_FUNCTION + number as i64;
            return Ok(self.held(Ir::Const(address), &Type::pointer(Type::Void)));
        }
        if matches!(name, "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__") {
            return Ok(self.held(Ir::Const(STRINGS), &Type::pointer(Type::CHAR)));
        }
        if name == "asm with operands" {
            return unsupported(span, "assembler with operands", "use an atomic builtin");
        }
        Err(Diagnostic::error(
            span,
            format!("`{name}` is not declared, or has no definition here"),
        )
        .help("unsupported: names defined in other files"))
    }

    fn unary(
        &mut self,
        op: Unary,
        a: &Expr,
        want: Option<palisade_program::LocalId>,
        span: Span,
    ) -> Lower<Val> {
        match op {
            Unary::Plus => {
                let v = self.value(a)?;
                let ty = v.ty.promoted();
                self.convert(v, &ty, span)
            }
            Unary::Minus => {
                let v = self.value(a)?;
                self.negated(v, span)
            }
            Unary::BitNot => {
                let v = self.value(a)?;
                self.complement(v, span)
            }
            Unary::Not => {
                let v = self.value(a)?;
                Ok(Val::truth(self.truth(v, a.span)?.negate()))
            }
            Unary::Address => {
                if let ExprKind::Ident(name) = &a.kind
                    && self.lookup(name)?.is_none()
                {
                    return self.value(a);
                }
                let place = self.unchecked_place(a)?;
                self.address_of(&place, span)
            }
            Unary::Deref => {
                let pointer = self.value(a)?;
                let is_function =
                    matches!(pointer.as_constant(), Some(c) if c >= i128::from(FIRST_FUNCTION));
                if is_function {
                    return Ok(pointer);
                }
                let place = self.dereferenced(pointer, span)?;
                self.want = want;
                self.read_place(&place, span)
            }
            Unary::PreIncrement => self.step(a, Binary::Add, false, span),
            Unary::PreDecrement => self.step(a, Binary::Sub, false, span),
            Unary::PostIncrement => self.step(a, Binary::Add, true, span),
            Unary::PostDecrement => self.step(a, Binary::Sub, true, span),
        }
    }

    fn dereferenced(&mut self, pointer: Val, span: Span) -> Lower<Place> {
        match pointer.ty.pointee().cloned() {
            Some(Type::Void) | None => unsupported(
                span,
                "following a pointer to void",
                "cast it to the type of the object first",
            ),
            Some(ty) => Ok(self.pointed(pointer, ty)),
        }
    }

    /// `&&`, `||` as a value.
    fn short_circuit(&mut self, op: Binary, a: &Expr, b: &Expr, span: Span) -> Lower<Val> {
        if self.is_pure(b) {
            let a = self.value(a)?;
            let b = self.value(b)?;
            return self.binary(op, a, b, span);
        }
        let (yes, no) = (self.graph.loc(), self.graph.loc());
        let whole = Expr {
            kind: ExprKind::Binary(op, Box::new(a.clone()), Box::new(b.clone())),
            span,
        };
        let (can, cannot) = self.branch(&whole, yes, no)?;
        Ok(self.joined(&[(yes, can, 1), (no, cannot, 0)], span))
    }

    /// A truth value that control flow has found.
    fn joined(&mut self, ways: &[(LocId, bool, i64)], span: Span) -> Val {
        let result = self.temporary(span);
        let join = self.graph.loc();
        let taken: Vec<_> = ways.iter().filter(|(_, can, _)| *can).collect();
        for (loc, _, value) in &taken {
            self.at(*loc);
            self.assign(result, Ir::Const(*value), span);
            self.go(join, span);
        }
        self.at(join);
        if let [(_, _, value)] = taken.as_slice() {
            return Val::truth(Ir::Const(*value));
        }
        self.known.remove(&result);
        let e = self.read(result);
        Val {
            lo: 0,
            hi: 1,
            ..Val::truth(e)
        }
    }

    /// Whether evaluating the expression takes no step and cannot fail.
    fn is_pure(&mut self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(..) => true,
            ExprKind::Ident(name) => match self.lookup(name) {
                Ok(Some(object)) => object.in_registers() && object.ty.is_scalar(),
                Ok(None) | Err(_) => false,
            },
            ExprKind::Unary(Unary::Plus | Unary::Minus | Unary::Not | Unary::BitNot, a) => {
                !self.cx.options.check_overflow && self.is_pure(a)
            }
            ExprKind::Unary(..) => false,
            ExprKind::Binary(op, a, b) => match op {
                Binary::Div | Binary::Rem | Binary::Shl | Binary::Shr => false,
                Binary::Add | Binary::Sub | Binary::Mul if self.cx.options.check_overflow => false,
                Binary::Add | Binary::Sub | Binary::Mul | Binary::Lt | Binary::Gt => {
                    self.is_pure(a) && self.is_pure(b)
                }
                Binary::Le | Binary::Ge | Binary::Eq | Binary::Ne | Binary::BitAnd => {
                    self.is_pure(a) && self.is_pure(b)
                }
                Binary::BitOr | Binary::BitXor | Binary::And | Binary::Or => {
                    self.is_pure(a) && self.is_pure(b)
                }
            },
            ExprKind::Cast(ty, a) => ty.is_integer() && self.is_pure(a),
            ExprKind::Float | ExprKind::Str(_) | ExprKind::Assign(..) | ExprKind::Cond(..) => false,
            ExprKind::Call(..) | ExprKind::Index(..) | ExprKind::Member(..) => false,
            ExprKind::Arrow(..) | ExprKind::Comma(..) | ExprKind::Statements(_) => false,
            ExprKind::Compound(..) | ExprKind::UnknownSize => false,
        }
    }

    fn conditional(&mut self, c: &Expr, a: Option<&Expr>, b: &Expr, span: Span) -> Lower<Val> {
        let (yes, no) = (self.graph.loc(), self.graph.loc());
        let Some(a) = a else {
            let v = self.value(c)?;
            let v = self.saved(v, span);
            let cond = self.truth(v.clone(), span)?;
            let (can, cannot) = self.branch_on(cond, yes, no, span);
            return self.choice(
                &[(yes, can, Arm::Known(v)), (no, cannot, Arm::Later(b))],
                span,
            );
        };
        let (can, cannot) = self.branch(c, yes, no)?;
        let arms = [(yes, can, Arm::Later(a)), (no, cannot, Arm::Later(b))];
        self.choice(&arms, span)
    }

    /// The value of the arm that is taken.
    fn choice(&mut self, arms: &[(LocId, bool, Arm<'_>)], span: Span) -> Lower<Val> {
        let known = self.known.clone();
        let result = self.temporary(span);
        let join = self.graph.loc();
        let mut values: Vec<(LocId, Val, super::code::Known)> = Vec::new();
        for (loc, can, arm) in arms {
            if !can {
                continue;
            }
            self.at(*loc);
            self.known.clone_from(&known);
            let v = match arm {
                Arm::Known(v) => v.clone(),
                Arm::Later(e) => self.value(e)?,
            };
            if self.live {
                values.push((self.here, v, self.known.clone()));
            }
        }
        let Some((_, first, _)) = values.first() else {
            self.stop();
            return Ok(Val::void());
        };
        let mut ty = first.ty.clone();
        for (_, v, _) in &values[1..] {
            ty = if ty.is_pointer() || v.ty == Type::Void {
                ty
            } else if v.ty.is_pointer() {
                v.ty.clone()
            } else {
                ty.common(&v.ty)
            };
        }
        if values.len() == 1 {
            let (here, v, known) = values.remove(0);
            self.at(here);
            self.known = known;
            return Ok(v);
        }
        let mut result_val: Option<Val> = None;
        let mut known_after: Option<super::code::Known> = None;
        for (here, v, known) in values {
            self.at(here);
            self.known = known;
            let v = if ty == Type::Void {
                v
            } else {
                self.convert(v, &ty, span)?
            };
            if ty != Type::Void {
                self.assign(result, v.e.clone(), span);
            }
            self.go(join, span);
            result_val = Some(match result_val {
                None => v,
                Some(other) => Val {
                    lo: other.lo.min(v.lo),
                    hi: other.hi.max(v.hi),
                    object: other.object.filter(|o| v.object == Some(*o)),
                    ..v
                },
            });
            known_after = Some(match known_after {
                None => self.known.clone(),
                Some(other) => meet(other, &self.known),
            });
        }
        self.at(join);
        self.known = known_after.unwrap_or_default();
        let e = self.read(result);
        let bounds = result_val.unwrap_or_else(Val::void);
        Ok(Val { e, ty, ..bounds })
    }

    /// A value that later assignments do not change.
    pub(super) fn saved(&mut self, v: Val, span: Span) -> Val {
        if v.as_constant().is_some() {
            return v;
        }
        let dst = self.temporary(span);
        self.assign(dst, v.e, span);
        Val {
            e: self.read(dst),
            ..v
        }
    }

    fn statements(&mut self, body: &[Stmt], span: Span) -> Lower<Val> {
        self.frame().scopes.push(std::collections::HashMap::new());
        let mut result = Val::void();
        for (k, s) in body.iter().enumerate() {
            let is_last = k + 1 == body.len();
            match &s.kind {
                StmtKind::Expr(e) if is_last => {
                    let v = self.value(e)?;
                    result = if v.ty.is_scalar() {
                        self.saved(v, span)
                    } else {
                        v
                    };
                }
                _ => self.statement(s)?,
            }
        }
        self.frame().scopes.pop();
        Ok(result)
    }

    /// Evaluates for the effects.
    pub(super) fn discard(&mut self, e: &Expr) -> Lower<()> {
        match &e.kind {
            // An access that nobody uses: volatile or not, it happens.
            ExprKind::Cast(Type::Void, a) => self.discard(a),
            ExprKind::Int(..) | ExprKind::Str(_) => Ok(()),
            ExprKind::Cond(c, Some(a), b) => {
                let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
                let (can, cannot) = self.branch(c, yes, no)?;
                let before = self.known.clone();
                let mut after: Option<super::code::Known> = None;
                for (loc, can, arm) in [(yes, can, a), (no, cannot, b)] {
                    if !can {
                        continue;
                    }
                    self.at(loc);
                    self.known.clone_from(&before);
                    self.discard(arm)?;
                    if self.live {
                        self.go(join, e.span);
                        after = Some(match after {
                            None => self.known.clone(),
                            Some(other) => meet(other, &self.known),
                        });
                    }
                }
                self.here = join;
                self.live = after.is_some();
                self.known = after.unwrap_or_default();
                Ok(())
            }
            ExprKind::Binary(Binary::And | Binary::Or, ..) => {
                let join = self.graph.loc();
                let (a, b) = self.branch(e, join, join)?;
                self.here = join;
                self.live = a || b;
                Ok(())
            }
            _ => self.value(e).map(|_| ()),
        }
    }

    /// Goes to `yes` or `no`; tells which of them can be reached.
    pub(super) fn branch(&mut self, cond: &Expr, yes: LocId, no: LocId) -> Lower<(bool, bool)> {
        match &cond.kind {
            ExprKind::Unary(Unary::Not, a) => {
                let (n, y) = self.branch(a, no, yes)?;
                Ok((y, n))
            }
            ExprKind::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                if self.is_pure(b) && self.is_pure(a) {
                    let v = self.value(cond)?;
                    let truth = self.truth(v, cond.span)?;
                    return Ok(self.branch_on(truth, yes, no, cond.span));
                }
                let middle = self.graph.loc();
                let is_and = *op == Binary::And;
                let (y, n) = if is_and {
                    self.branch(a, middle, no)?
                } else {
                    self.branch(a, yes, middle)?
                };
                let on = if is_and { y } else { n };
                if !on {
                    return Ok((!is_and && y, is_and && n));
                }
                let known = self.known.clone();
                self.at(middle);
                let (y2, n2) = self.branch(b, yes, no)?;
                self.known = meet(known, &self.known);
                Ok(if is_and { (y2, n || n2) } else { (y || y2, n2) })
            }
            ExprKind::Comma(a, b) => {
                self.discard(a)?;
                self.branch(b, yes, no)
            }
            _ => {
                let v = self.value(cond)?;
                if !self.live {
                    return Ok((false, false));
                }
                let truth = self.truth(v, cond.span)?;
                Ok(self.branch_on(truth, yes, no, cond.span))
            }
        }
    }

    pub(super) fn branch_on(
        &mut self,
        truth: LocalExpr,
        yes: LocId,
        no: LocId,
        span: Span,
    ) -> (bool, bool) {
        if let Ir::Const(c) = truth {
            self.go(if c != 0 { yes } else { no }, span);
            return (c != 0, c == 0);
        }
        self.assume(truth.clone(), yes, span);
        self.assume(truth.negate(), no, span);
        (true, true)
    }

    /// The place that an expression names.
    pub(super) fn place(&mut self, e: &Expr) -> Lower<Place> {
        self.place_of(e, true)
    }

    /// As [`Self::place`]; the last index may be one past the end.
    fn unchecked_place(&mut self, e: &Expr) -> Lower<Place> {
        self.place_of(e, false)
    }

    fn place_of(&mut self, e: &Expr, check: bool) -> Lower<Place> {
        let span = e.span;
        match &e.kind {
            ExprKind::Ident(name) => match self.lookup(name)? {
                Some(object) => Ok(Self::whole(&object)),
                None => Err(Diagnostic::error(
                    span,
                    format!("`{name}` is not declared, or has no definition here"),
                )
                .help("unsupported: names defined in other files")),
            },
            ExprKind::Unary(Unary::Deref, a) => {
                let pointer = self.value(a)?;
                self.dereferenced(pointer, span)
            }
            ExprKind::Member(a, name) => {
                let place = self.place(a)?;
                self.member(place, name, span)
            }
            ExprKind::Arrow(a, name) => {
                let pointer = self.value(a)?;
                let place = self.dereferenced(pointer, span)?;
                self.member(place, name, span)
            }
            ExprKind::Index(a, i) => self.index(a, i, check, span),
            ExprKind::Cast(ty, a) => {
                // `(T)x = ...` is no C, but `*(T *)&x` ends here through `&`.
                let place = self.place(a)?;
                if place.ty().plain() == ty.plain() {
                    return Ok(place);
                }
                unsupported(span, "a cast as a place", "cast the value instead")
            }
            ExprKind::Compound(ty, init) => {
                let object = self.registers("literal", ty, span)?;
                let place = Self::whole(&object);
                self.initialise(&place, Some(init), span)?;
                Ok(place)
            }
            ExprKind::Call(f, args) => {
                self.call(f, args, span)?;
                match self.cx.last_result.take() {
                    Some(object) => Ok(Self::whole(&object)),
                    None => unsupported(span, "a call as a place", "assign the result first"),
                }
            }
            ExprKind::Comma(a, b) => {
                self.discard(a)?;
                self.place_of(b, check)
            }
            ExprKind::Statements(body)
                if matches!(body.last().map(|s| &s.kind), Some(StmtKind::Expr(_))) =>
            {
                unsupported(span, "a statement expression as a place", "use a variable")
            }
            _ => unsupported(span, "this as a place", "assign to a variable"),
        }
    }

    fn member(&mut self, place: Place, name: &str, span: Span) -> Lower<Place> {
        let Type::Struct(id) = place.ty().plain() else {
            return Err(Diagnostic::error(span, format!("no member `{name}` here")));
        };
        match self.cx.layouts.member(*id, name, span)? {
            Some((offset, ty)) => Ok(place.part(offset, ty)),
            None => Err(Diagnostic::error(span, format!("no member `{name}` here"))),
        }
    }

    fn index(&mut self, a: &Expr, i: &Expr, check: bool, span: Span) -> Lower<Place> {
        // An array that is a variable keeps its name; a pointer is followed.
        let is_path = matches!(
            a.kind,
            ExprKind::Ident(_) | ExprKind::Member(..) | ExprKind::Arrow(..) | ExprKind::Index(..)
        );
        if is_path {
            let place = self.place(a)?;
            if let Type::Array(of, len) = place.ty().plain().clone() {
                let i = self.value(i)?;
                if let (Some(len), true) = (len, check) {
                    self.checked_index(&i, len, span);
                    if let Some(c) = i.as_constant()
                        && !(0..i128::from(len)).contains(&c)
                    {
                        // The check has failed; any element will do.
                        self.block(span);
                        return Ok(place.element(Ir::Const(0), 0, (*of).clone()));
                    }
                }
                let stride = self.cx.layouts.size(&of, span)?;
                return Ok(place.element(i.e, stride, (*of).clone()));
            }
            let pointer = self.read_place(&place, span)?;
            let i = self.value(i)?;
            let sum = self.binary(Binary::Add, pointer, i, span)?;
            return self.dereferenced(sum, span);
        }
        let a = self.value(a)?;
        let i = self.value(i)?;
        let sum = self.binary(Binary::Add, a, i, span)?;
        self.dereferenced(sum, span)
    }

    fn assignment(&mut self, op: Option<Binary>, a: &Expr, b: &Expr, span: Span) -> Lower<Val> {
        let place = self.place(a)?;
        if matches!(place.ty().plain(), Type::Struct(_)) {
            let source = self.place(b)?;
            self.copy(&place, &source, span)?;
            return Ok(Val::void());
        }
        if let Some(op) = op {
            let b = self.value(b)?;
            let (_, new) = self.update(&place, |code, old| code.binary(op, old, b, span), span)?;
            return Ok(new);
        }
        self.want = self.wanted(&place);
        self.note_allocation(&place.ty().clone(), b);
        let v = self.value(b)?;
        self.want = None;
        self.write(&place, v, span)
    }

    /// Remembers what type of object an allocation is for.
    pub(super) fn note_allocation(&mut self, ty: &Type, e: &Expr) {
        let is_call = |name: &str| matches!(name, "malloc" | "calloc");
        if let ExprKind::Call(f, _) = &e.kind
            && let ExprKind::Ident(name) = &f.kind
            && is_call(name)
            && ty.pointee().is_some_and(|t| *t != Type::Void)
        {
            self.cx.pending_type = Some(ty.plain().clone());
        }
    }

    /// The local that a value may be read into when it is assigned to `place`: it
    /// must take every value of what is read, so only full-width ones.
    pub(super) fn wanted(&self, place: &Place) -> Option<palisade_program::LocalId> {
        let Place::Variable { object, ty, .. } = place else {
            return None;
        };
        let wide = matches!(ty.plain(), Type::Int { bits, .. } if *bits >= 32)
            && !self.cx.options.check_overflow;
        match object.cells.as_slice() {
            [super::layout::Cells::Locals(locals)] if locals.len() == 1 && wide => Some(locals[0]),
            _ => None,
        }
    }

    /// Writes a value as `=` does; the result is the value of the assignment.
    pub(super) fn write(&mut self, place: &Place, v: Val, span: Span) -> Lower<Val> {
        let ty = place.ty().clone();
        let v = self.convert(v, &ty, span)?;
        if ty.is_atomic() {
            self.atomic_store(place, v.clone(), super::atomic::Order::SeqCst, span)?;
        } else {
            self.store(place, v.clone(), span)?;
        }
        // The value may mention the variable itself, which has changed.
        if self.in_registers(place) {
            return self.load(place, span);
        }
        Ok(v)
    }

    /// Reads, computes, writes; one atomic step for atomic variables. Returns the
    /// old and the new value.
    pub(super) fn update(
        &mut self,
        place: &Place,
        f: impl FnOnce(&mut Self, Val) -> Lower<Val>,
        span: Span,
    ) -> Lower<(Val, Val)> {
        let ty = place.ty().clone();
        if ty.is_atomic() {
            return self.read_modify_write(place, f, span);
        }
        let old = self.load(place, span)?;
        let new = f(self, old.clone())?;
        let new = self.write(place, new, span)?;
        Ok((old, new))
    }

    fn step(&mut self, a: &Expr, op: Binary, postfix: bool, span: Span) -> Lower<Val> {
        let place = self.place(a)?;
        let one = Val::constant(1, &Type::INT);
        let in_register = self.in_registers(&place);
        let mut before = None;
        let (old, new) = self.update(
            &place,
            |code, old| {
                if postfix && in_register {
                    before = Some(code.saved(old.clone(), span));
                }
                code.binary(op, old, one, span)
            },
            span,
        )?;
        Ok(if postfix { before.unwrap_or(old) } else { new })
    }

    /// Copies a struct, member by member.
    pub(super) fn copy(&mut self, to: &Place, from: &Place, span: Span) -> Lower<()> {
        for (offset, ty) in self.scalars(to.ty(), span)? {
            let (from, to) = (from.clone(), to.clone());
            let source = part_at(from, &offset, &ty);
            let target = part_at(to, &offset, &ty);
            let v = self.load(&source, span)?;
            self.store(&target, v, span)?;
        }
        Ok(())
    }

    /// The scalars of a type: how to get there, and their types.
    pub(super) fn scalars(&mut self, ty: &Type, span: Span) -> Lower<Vec<(Path, Type)>> {
        let mut all = Vec::new();
        for leaf in self.cx.layouts.leaves(ty, span)? {
            for k in 0..leaf.count() {
                let (mut rest, mut indices) = (k, Vec::new());
                for (len, stride) in leaf.dims.iter().rev() {
                    indices.push((rest % len, *stride));
                    rest /= len;
                }
                indices.reverse();
                all.push(((leaf.offset, indices), leaf.ty.clone()));
            }
        }
        Ok(all)
    }

    /// The value of an expression without taking any step, if it is constant here.
    pub(super) fn peek(&mut self, e: &Expr) -> Option<i128> {
        if !walk::has_name(e) {
            return crate::c::parser::constant(e);
        }
        match &e.kind {
            ExprKind::Ident(_) if self.is_pure(e) => {
                let v = self.value(e).ok()?;
                v.as_constant()
            }
            ExprKind::Binary(..) | ExprKind::Unary(..) | ExprKind::Cast(..) if self.is_pure(e) => {
                let v = self.value(e).ok()?;
                v.as_constant()
            }
            _ => None,
        }
    }
}

/// A way to a scalar: an offset in cells, and indices with their strides.
pub(super) type Path = (u64, Vec<(u64, u64)>);

/// The scalar at the end of a way.
pub(super) fn part_at(place: Place, path: &Path, ty: &Type) -> Place {
    let mut place = place.part(path.0, ty.clone());
    for (i, stride) in &path.1 {
        place = place.element(Ir::Const(*i as i64), *stride, ty.clone());
    }
    place
}

/// An arm of a conditional.
enum Arm<'e> {
    Known(Val),
    Later(&'e Expr),
}
