//! *Assignments*: `=`, `op=`, `++` and `--`, copies of structs.

use palisade_program::{Expr as Ir, Order, Span};

use super::code::{Code, Lower, Reading};
use super::place::Place;
use super::value::Val;
use crate::c::ast::{Binary, Expr, ExprKind};
use crate::c::types::Type;

impl Code<'_, '_> {
    pub(super) fn assignment(
        &mut self,
        op: Option<Binary>,
        a: &Expr,
        b: &Expr,
        span: Span,
    ) -> Lower<Val> {
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
        let v = self.allocated(&place.ty().clone(), b)?;
        self.want = None;
        self.write(&place, v, span)
    }

    /// The value of an expression that a pointer of type `ty` gets. If it is a call that may
    /// allocate memory, of the library or of a function that returns a `void *`, the object is
    /// of the type that `ty` points to or, for a `void *`, of the type whose size is among the arguments.
    pub(super) fn allocated(&mut self, ty: &Type, e: &Expr) -> Lower<Val> {
        let ExprKind::Call(f, args) = &e.kind else {
            return self.value(e);
        };
        let ExprKind::Ident(name) = &f.kind else {
            return self.value(e);
        };
        let is_pointer = |t: &Type| t.pointee().is_some_and(|t| *t.plain() == Type::Void);
        let wraps = self.cx.functions.get(name.as_str());
        let wraps = wraps.is_some_and(|f| is_pointer(&f.result));
        if !(super::library::is_allocation(name) || wraps) {
            return self.value(e);
        }
        let pending = match ty.pointee() {
            Some(of) if *of.plain() != Type::Void => Some(ty.plain().clone()),
            Some(_) | None => self.cx.sized(args).map(Type::pointer),
        };
        if pending.is_none() {
            return self.value(e);
        }
        let around = std::mem::replace(&mut self.cx.pending_type, pending);
        let v = self.value(e);
        self.cx.pending_type = around;
        v
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
            self.atomic_store(place, v.clone(), Order::SeqCst, span)?;
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
            return self.read_modify_write(place, Order::SeqCst, f, span);
        }
        let old = self.load_value(place, span)?;
        let new = f(self, old.clone())?;
        let new = self.write(place, new, span)?;
        Ok((old, new))
    }

    pub(super) fn step(&mut self, a: &Expr, op: Binary, postfix: bool, span: Span) -> Lower<Val> {
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
            self.read_for(Reading::Copy, |code| {
                let v = code.load(&source, span)?;
                code.store(&target, v, span)
            })?;
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
}

/// A way to a scalar: an offset in bytes, and indices with their strides.
pub(super) type Path = (u64, Vec<(u64, u64)>);

/// The scalar at the end of a way.
pub(super) fn part_at(place: Place, path: &Path, ty: &Type) -> Place {
    let mut place = place.part(path.0, ty.clone());
    for (i, stride) in &path.1 {
        place = place.element(Ir::Const(*i as i64), *stride, ty.clone());
    }
    place
}
