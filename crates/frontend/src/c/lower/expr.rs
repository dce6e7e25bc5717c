//! *Expressions*: values, places, conditions. Accesses of memory become steps of
//! their own, from left to right where `order` does not say otherwise.

use std::rc::Rc;

use palisade_program::{Expr as Ir, Span};

use super::code::{Code, Lower, meet};
use super::layout::{FAR, FIRST_FUNCTION, Object};
use super::place::Place;
use super::value::Val;
use crate::c::ast::{Binary, Expr, ExprKind, Initializer, Stmt, StmtKind, Unary};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// The address of the names of functions, which nothing reads.
const STRINGS: i64 = 2 * FIRST_FUNCTION;
/// Addresses of these names.
const NAMES: std::ops::Range<i128> = STRINGS as i128..FAR as i128;
/// Addresses of functions.
const FUNCTIONS: std::ops::Range<i128> = FIRST_FUNCTION as i128..STRINGS as i128;

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
        let value = self.value_itself(e)?;
        Ok(self.aimed(e, value))
    }

    /// With the objects that the expression may point to.
    fn aimed(&self, e: &Expr, value: Val) -> Val {
        let among = self.cx.points_to.targets(e).cloned();
        Val { among, ..value }
    }

    fn value_itself(&mut self, e: &Expr) -> Lower<Val> {
        if let Some(v) = self.evaluated(e) {
            self.want = None;
            return Ok(v);
        }
        let is_simple = matches!(e.kind, ExprKind::Int(..) | ExprKind::Ident(_));
        if is_simple || self.is_arranged(e) {
            return self.settled_value(e);
        }
        self.arranged(&[e], |code| match code.evaluated(e) {
            Some(v) => Ok(v),
            None => code.settled_value(e),
        })
    }

    /// The same, once the order of evaluation within it is settled.
    pub(super) fn settled_value(&mut self, e: &Expr) -> Lower<Val> {
        let span = e.span;
        let want = self.want.take();
        match &e.kind {
            ExprKind::Int(v, ty) => Ok(Val::constant(*v, ty)),
            ExprKind::Float(literal) if self.cx.layouts.floats => Ok(self.literal_number(literal)),
            ExprKind::Float(_) => unsupported(span, "floating point", "use integers"),
            ExprKind::Str(text) => {
                let object = self.cx.string(text, span)?;
                self.read_place(&Self::whole(&object), span)
            }
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
                let v = self.allocated(ty, a)?;
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
            _ => self.load_value(place, span),
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
                if self.cx.layouts.is_followed_float(&v.ty) {
                    return Ok(self.float_negated(&v, span));
                }
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
                let place = match &a.kind {
                    ExprKind::Compound(ty, init) => self.literal(ty, init, true, span)?,
                    _ => self.unchecked_place(a)?,
                };
                self.address_of(&place, span)
            }
            Unary::Deref => {
                let pointer = self.value(a)?;
                let is_function =
                    matches!(pointer.as_constant(), Some(c) if FUNCTIONS.contains(&c));
                if is_function {
                    return Ok(pointer);
                }
                let place = self.dereferenced(pointer, a.span)?;
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
        if matches!(pointer.as_constant(), Some(c) if NAMES.contains(&c)) {
            self.refuse_run("the letters of a function's name", span);
        }
        match pointer.ty.pointee().cloned() {
            None => Err(Diagnostic::error(span, "this is not a pointer")),
            Some(Type::Void) => unsupported(
                span,
                "following a pointer to void",
                "cast it to the type of the object first",
            ),
            Some(ty) => Ok(self.pointed(pointer, ty)),
        }
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
                    result = if v.ty.is_value() {
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
            ExprKind::Call(callee, args) if self.only_prints(callee, args) => self.print_all(args),
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

    /// The place that an expression names.
    pub(super) fn place(&mut self, e: &Expr) -> Lower<Place> {
        self.place_of(e, true)
    }

    /// As [`Self::place`]; the last index may be one past the end.
    fn unchecked_place(&mut self, e: &Expr) -> Lower<Place> {
        self.place_of(e, false)
    }

    fn place_of(&mut self, e: &Expr, check: bool) -> Lower<Place> {
        if let Some(object) = self.evaluated_struct(e) {
            return Ok(Self::whole(&object));
        }
        if matches!(e.kind, ExprKind::Ident(_)) || self.is_arranged(e) {
            return self.settled_place(e, check);
        }
        self.arranged(&[e], |code| match code.evaluated_struct(e) {
            Some(object) => Ok(Self::whole(&object)),
            None => code.settled_place(e, check),
        })
    }

    fn settled_place(&mut self, e: &Expr, check: bool) -> Lower<Place> {
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
                self.dereferenced(pointer, a.span)
            }
            ExprKind::Member(a, name) => {
                let place = self.place(a)?;
                self.member(place, name, span)
            }
            ExprKind::Arrow(a, name) => {
                let pointer = self.value(a)?;
                let place = self.dereferenced(pointer, a.span)?;
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
                let is_array = matches!(ty.plain(), Type::Array(..));
                self.literal(ty, init, is_array, span)
            }
            ExprKind::Str(text) => {
                let object = self.cx.string(text, span)?;
                Ok(Self::whole(&object))
            }
            ExprKind::Cond(c, Some(a), b) => self.chosen_place(c, a, b, span),
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

    /// `(T){...}`, in registers that pointers of the thread may point to if wanted.
    fn literal(
        &mut self,
        ty: &Type,
        init: &Initializer,
        is_taken: bool,
        span: Span,
    ) -> Lower<Place> {
        let object = self.registers("literal", ty, span)?;
        let object = if is_taken {
            self.addressed(&object)
        } else {
            object
        };
        let place = Self::whole(&object);
        self.initialise(&place, Some(init), span)?;
        Ok(place)
    }

    /// A copy of the struct that a condition chooses.
    fn chosen_place(&mut self, c: &Expr, a: &Expr, b: &Expr, span: Span) -> Lower<Place> {
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        let (can, cannot) = self.branch(c, yes, no)?;
        let mut result: Option<Place> = None;
        for (loc, can, arm) in [(yes, can, a), (no, cannot, b)] {
            if !can {
                continue;
            }
            self.at(loc);
            self.known.clear();
            let source = self.place(arm)?;
            if !matches!(source.ty().plain(), Type::Struct(_)) {
                return unsupported(span, "this as a place", "assign to a variable");
            }
            let target = match result.take() {
                Some(place) => place,
                None => Self::whole(&self.registers("choice", &source.ty().clone(), span)?),
            };
            self.copy(&target, &source, span)?;
            self.go(join, span);
            result = Some(target);
        }
        self.at(join);
        self.known.clear();
        match result {
            Some(place) => Ok(place),
            None => unsupported(span, "this as a place", "assign to a variable"),
        }
    }

    fn member(&mut self, place: Place, name: &str, span: Span) -> Lower<Place> {
        let Type::Struct(id) = place.ty().plain() else {
            return Err(Diagnostic::error(span, format!("no member `{name}` here")));
        };
        let overlaps = self.cx.layouts.has_overlap(place.ty());
        match self.cx.layouts.member(*id, name, span)? {
            Some((offset, ty)) => {
                // Pointers to it may point into the middle of a cell.
                if overlaps {
                    for leaf in self.cx.layouts.leaves(&ty, span)? {
                        self.cx.note_recast(&leaf.ty);
                    }
                }
                Ok(place.part(offset, ty))
            }
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
                // One without elements is a flexible member of GNU C.
                if let (Some(len @ 1..), true) = (len, check) {
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
            let pointer = match self.evaluated(a) {
                Some(pointer) => pointer,
                None => self.read_place(&place, span)?,
            };
            let pointer = self.aimed(a, pointer);
            let i = self.value(i)?;
            let sum = self.binary(Binary::Add, pointer, i, span)?;
            return self.dereferenced(sum, span);
        }
        let a = self.value(a)?;
        let i = self.value(i)?;
        let sum = self.binary(Binary::Add, a, i, span)?;
        self.dereferenced(sum, span)
    }
}
