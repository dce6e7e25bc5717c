//! *Places*: what stands on the left of an assignment. A place is a part of a named
//! variable, or what a pointer points to. A pointer that is not known to be one
//! address is followed case by case over the objects that it may point to ([Donaldson et al., CAV 2011],
//! section 3: targets); the objects are those whose address is taken and whose type
//! fits. The last case, that it points to none of them, is a violation for a null
//! pointer and an obligation otherwise, so that a missing target is never a wrong
//! verdict.
//!
//! Cases are taken here by the objects that the points-to analysis allows and by type (a member only in
//! structs that have it); `targets` removes those that cannot be at their location.

use std::rc::Rc;

use palisade_program::{
    AssertKind, BinOp, Expr as Ir, GlobalId, LocalExpr, LocalId, MemoryError, Orders, Span, Step,
    UNINITIALISED,
};

use super::cases::{
    Case, cases_of_variable, is, part_width, push_cases, push_parts, times, width, within,
};
pub(super) use super::cases::{CellRef, plus};
use super::code::{Code, Lower, Reading};
use super::layout::{ARGUMENTS, Cells, Leaf, Object, compatible, convertible};
use super::onesided::Class;
use super::value::Val;
use crate::c::ast::Binary;
use crate::c::points_to::Targets;
use crate::c::types::{Opaque, Type};
use crate::diagnostic::Diagnostic;

/// A place.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A part of a variable: members so far as an offset in bytes, and the indices
    /// of the arrays on the way, each with the bytes from element to element.
    Variable {
        object: Rc<Object>,
        offset: u64,
        index: Vec<(LocalExpr, u64)>,
        ty: Type,
    },
    /// What an address points to; `object` or one of those `among` if that is known, `part` if it is a
    /// member of what it points to.
    Address {
        address: LocalExpr,
        object: Option<usize>,
        among: Option<Targets>,
        ty: Type,
        part: Option<Part>,
    },
}

/// A member of a struct that is reached through a pointer: only structs of that type
/// have it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The struct.
    of: Type,
    /// Where the member is in it.
    at: u64,
    ty: Type,
    /// An index that is no constant stands behind the member: more is not said.
    is_indexed: bool,
}

/// Cases of a pointer at most.
const MAX_CASES: usize = 256;
/// Addresses below this are those of a null pointer with an offset.
const NEAR_NULL: i64 = 4096;
/// Why a run with such a pointer is not followed.
const OTHER_TYPE: &str = "a pointer to something else than an object of its type";

impl Place {
    pub(super) const fn ty(&self) -> &Type {
        match self {
            Self::Variable { ty, .. } | Self::Address { ty, .. } => ty,
        }
    }

    /// The part `by` bytes further on, of another type.
    pub(super) fn part(self, by: u64, ty: Type) -> Self {
        match self {
            Self::Variable {
                object,
                offset,
                index,
                ..
            } => Self::Variable {
                object,
                offset: offset + by,
                index,
                ty,
            },
            Self::Address {
                address,
                object,
                among,
                ty: of,
                part,
            } => {
                let part = match part {
                    None => Part {
                        of,
                        at: by,
                        ty: ty.clone(),
                        is_indexed: false,
                    },
                    Some(part) if part.is_indexed => part,
                    Some(part) => Part {
                        at: part.at + by,
                        ty: ty.clone(),
                        ..part
                    },
                };
                Self::Address {
                    address: plus(address, Ir::Const(by as i64)),
                    object,
                    among,
                    ty,
                    part: Some(part),
                }
            }
        }
    }

    /// Element `i` of this array.
    pub(super) fn element(self, i: LocalExpr, stride: u64, ty: Type) -> Self {
        match self {
            Self::Variable {
                object,
                offset,
                mut index,
                ..
            } => {
                index.push((i, stride));
                Self::Variable {
                    object,
                    offset,
                    index,
                    ty,
                }
            }
            Self::Address {
                address,
                object,
                among,
                part,
                ..
            } => {
                let part = part.map(|part| match i {
                    Ir::Const(k) if !part.is_indexed => Part {
                        at: part.at.saturating_add_signed(k * stride as i64),
                        ty: ty.clone(),
                        ..part
                    },
                    _ => Part {
                        is_indexed: true,
                        ..part
                    },
                });
                Self::Address {
                    address: plus(address, times(i, stride)),
                    object,
                    among,
                    ty,
                    part,
                }
            }
        }
    }
}

impl Code<'_, '_> {
    /// The whole of a variable.
    pub(super) fn whole(object: &Rc<Object>) -> Place {
        Place::Variable {
            object: object.clone(),
            offset: 0,
            index: Vec::new(),
            ty: object.ty.clone(),
        }
    }

    /// What a pointer points to.
    pub(super) fn pointed(&self, pointer: Val, ty: Type) -> Place {
        let object = pointer.object.or_else(|| {
            pointer
                .as_constant()
                .and_then(|c| self.cx.object_at(c as i64))
        });
        Place::Address {
            address: pointer.e,
            object,
            among: pointer.among,
            ty,
            part: None,
        }
    }

    /// The address of a place.
    pub(super) fn address_of(&mut self, place: &Place, span: Span) -> Lower<Val> {
        let (e, object, among) = match place {
            Place::Address {
                address,
                object,
                among,
                ..
            } => (address.clone(), *object, among.clone()),
            Place::Variable {
                object,
                offset,
                index,
                ..
            } => {
                let Some(base) = object.base else {
                    return Err(Diagnostic::error(
                        span,
                        format!("unsupported: the address of `{}` here", object.name),
                    )
                    .help("take the address with `&` of the whole variable"));
                };
                let mut e = Ir::Const(base + *offset as i64);
                for (i, stride) in index {
                    e = plus(e, times(i.clone(), *stride));
                }
                (e, self.cx.object_at(base), None)
            }
        };
        Ok(Val {
            among,
            e,
            ty: Type::pointer(place.ty().clone()),
            lo: 0,
            hi: i128::from(i64::MAX),
            object,
        })
    }

    /// Whether a place may be in registers: values that mention them change with them.
    pub(super) fn in_registers(&self, place: &Place) -> bool {
        match place {
            Place::Variable { object, .. } => object.in_registers(),
            Place::Address {
                object: Some(k), ..
            } => self.cx.object_number(*k).is_some_and(|o| o.in_registers()),
            Place::Address {
                object: None,
                among,
                ..
            } => {
                let mut objects = self.cx.objects.iter();
                let may_be = |o: &Object| self.cx.may_be(among.as_ref(), o);
                objects.any(|o| o.owner == Some(self.thread) && may_be(o))
            }
        }
    }

    /// The cells that a scalar place may be. Checks that it is one of them are
    /// emitted before.
    pub(super) fn cases(&mut self, place: &Place, access: Access, span: Span) -> Lower<Vec<Case>> {
        match place {
            Place::Variable {
                object,
                offset,
                index,
                ty,
            } if is_cell(object, *offset, index.len(), ty) => {
                cases_of_variable(object, *offset, index, span)
            }
            Place::Variable {
                object,
                offset,
                index,
                ty,
            } => {
                let start = Ir::Const(*offset as i64);
                let add = |at, (i, stride): &(LocalExpr, u64)| plus(at, times(i.clone(), *stride));
                let at = index.iter().fold(start, add);
                self.cases_of_part(object, &at, ty, (access, span))
            }
            Place::Address {
                address,
                object,
                among,
                ty,
                part,
            } => {
                let objects = self.cx.targets(*object, among.as_ref(), self.thread);
                let pointer = (address, *object, ty);
                self.cases_of_address(pointer, &objects, part.as_ref(), (access, span))
            }
        }
    }

    /// The cells that hold a part of a variable, `at` bytes behind its start: a union's member whose cells are
    /// those of another.
    fn cases_of_part(
        &mut self,
        object: &Object,
        at: &LocalExpr,
        ty: &Type,
        (access, span): (Access, Span),
    ) -> Lower<Vec<Case>> {
        let is_own = self.is_own(object);
        let is_allowed = match access {
            Access::Load => is_own || self.may_split(),
            Access::Store => is_own || self.may_split() && self.is_locked,
            Access::Name => false,
        };
        if !is_allowed {
            self.require(
                Ir::FALSE,
                "a part of an integer in shared memory here",
                span,
            );
            self.block(span);
            return Ok(Vec::new());
        }
        let mut cases = Vec::new();
        for k in 0..object.leaves.len() {
            push_parts(object, k, (at, 0), (ty, true), &mut cases);
        }
        cases.retain(|c| c.when != Ir::FALSE);
        if cases.is_empty() {
            return Err(Diagnostic::error(
                span,
                "unsupported: this part of a variable",
            ));
        }
        Ok(cases)
    }

    /// Whether only this thread accesses an object: its registers, or anything where there is no other thread.
    fn is_own(&self, object: &Object) -> bool {
        let found = &self.cx.previous;
        let is_alone = found.complete && found.plans.len() <= 1 && !self.is_any;
        let is_c = self.cx.mpi.is_none() && self.cx.litmus.is_none();
        object.in_registers() || object.owner == Some(self.thread) || is_alone && is_c
    }

    fn cases_of_address(
        &mut self,
        (address, object, ty): (&LocalExpr, Option<usize>, &Type),
        objects: &[Rc<Object>],
        part: Option<&Part>,
        (access, span): (Access, Span),
    ) -> Lower<Vec<Case>> {
        let foreign = |o: &Rc<Object>| o.owner.is_some_and(|t| t != self.thread);
        if objects.iter().any(foreign) {
            self.require(Ir::FALSE, "a pointer to another thread's local", span);
            self.block(span);
            return Ok(Vec::new());
        }
        let mut cases = Vec::new();
        // Pointers that are never converted to this type point to whole objects of it.
        let is_aligned = !self.cx.previous.recast.contains(ty.plain());
        let model = self.cx.options.data_model;
        let fits =
            |held: &Type| compatible(held, ty) || !is_aligned && convertible(held, ty, model);
        for object in objects {
            for (k, leaf) in object.leaves.iter().enumerate() {
                if fits(&leaf.ty) && self.is_within(part, object, leaf, span)? {
                    push_cases(object, k, address, is_aligned, &mut cases);
                }
            }
            if cases.len() > MAX_CASES {
                self.require(Ir::FALSE, "a pointer to one of too many objects", span);
                self.block(span);
                return Ok(Vec::new());
            }
        }
        if !is_aligned && access != Access::Name {
            let mut parts = Vec::new();
            for object in objects {
                let may_split = self.may_split() && (access == Access::Load || self.is_locked);
                if !may_split && !self.is_own(object) {
                    continue;
                }
                let Some(base) = object.base else { continue };
                for k in 0..object.leaves.len() {
                    push_parts(object, k, (address, base), (ty, false), &mut parts);
                }
            }
            if cases.len() + parts.len() <= MAX_CASES {
                cases.extend(parts);
            }
        }
        cases.retain(|c| c.when != Ir::FALSE);
        if let [only] = cases.as_slice()
            && only.when == Ir::TRUE
        {
            return Ok(cases);
        }
        let any = cases
            .iter()
            .fold(Ir::FALSE, |all: LocalExpr, c| all.or(c.when.clone()));
        let pointee = part.map_or(ty, |p| &p.of);
        self.check_pointer((address, object, pointee), objects, any, span);
        if cases.is_empty() {
            // The check fails whenever this is reached.
            self.block(span);
        }
        Ok(cases)
    }

    /// What to say when a pointer is none of its cases, which are in `objects`.
    fn check_pointer(
        &mut self,
        (address, object, pointee): (&LocalExpr, Option<usize>, &Type),
        objects: &[Rc<Object>],
        any: LocalExpr,
        span: Span,
    ) {
        if let Some(object) = object.and_then(|k| self.cx.object_number(k)) {
            // It was made from the address of this object, so it must stay in it. Where
            // it does, but the object holds something else there, nothing is known.
            let inside = within(address, &object);
            if inside != any && self.cx.previous.recast.contains(pointee.plain()) {
                self.require(inside.negate().or(any.clone()), OTHER_TYPE, span);
            }
            let kind = AssertKind::Index;
            self.emit(Step::Assert { cond: any, kind }, span);
            return;
        }
        // Members and elements of what a null pointer points to are at even addresses not far from 0, those of
        // what is not initialised (`WILD`) at odd ones.
        let within = |first: i64, end: i64| {
            let low = LocalExpr::binary(BinOp::Ge, address.clone(), Ir::Const(first));
            let high = LocalExpr::binary(BinOp::Lt, address.clone(), Ir::Const(end));
            low.and(high)
        };
        if self.cx.has_arguments() {
            let texts = within(ARGUMENTS.0 - NEAR_NULL, ARGUMENTS.1);
            self.require(
                texts.negate(),
                "the text of an argument of the program",
                span,
            );
        }
        let even = LocalExpr::binary(BinOp::Mod, address.clone(), Ir::Const(2));
        let null = is(&even, 0).and(within(0, NEAR_NULL));
        self.oblige(null.negate(), AssertKind::Memory(MemoryError::Null), span);
        // No object is there: the pointer was not initialised, made from a number, or moved beyond its object.
        let bases = objects.iter().filter_map(|o| Some((o.base?, o.size)));
        let some = bases.fold(any.clone(), |some: LocalExpr, (base, size)| {
            some.or(within(base, base + size as i64))
        });
        self.oblige(some, AssertKind::Memory(MemoryError::Wild), span);
        self.require(any, OTHER_TYPE, span);
    }

    /// Whether a leaf of an object can be the member that is meant: the object has such
    /// a struct around the leaf.
    fn is_within(
        &self,
        part: Option<&Part>,
        object: &Object,
        leaf: &Leaf,
        span: Span,
    ) -> Lower<bool> {
        let Some(part) = part.filter(|part| !part.of.is_value()) else {
            return Ok(true);
        };
        if let Some((tail, _)) = self.cx.layouts.tail(&part.of, span)?
            && tail <= part.at
        {
            let is_tail = tail <= leaf.offset && leaf.count() > 0;
            return Ok(compatible(&object.ty, &part.of) && is_tail);
        }
        let size = self.cx.layouts.size(&part.ty, span)?;
        let stride = self.cx.layouts.size(&part.of, span)?.max(1);
        let regions = self.cx.layouts.regions_in(object, &part.of, span);
        let is_part = |at: u64| {
            regions.iter().any(|region| {
                let (first, end) = region.bounds();
                let byte = at.wrapping_sub(first) % stride;
                first <= at && at < end && part.at <= byte && byte < part.at + size
            })
        };
        Ok((0..leaf.count()).any(|k| is_part(leaf.cell(k))))
    }

    /// Whether a part of an integer may be accessed. A load reads the whole, which one store has
    /// written. A store to memory may not: the rest is no business of it; only where nothing
    /// comes between (a read-modify-write, a variable of this thread) it is the same to write the whole. C11
    /// knows nothing of this, and accesses of different parts are no race.
    fn may_split(&self) -> bool {
        let options = &self.cx.options;
        options.orders == Orders::Mapped && options.races == crate::c::Races::Ignore
    }

    /// The part of an integer that a case means.
    fn piece(&mut self, case: &Case, whole: Val, span: Span) -> Lower<Val> {
        let Some(first) = case.part.filter(|first| *first > 0) else {
            return Ok(whole);
        };
        let all = unsigned(&whole.ty);
        let whole = self.convert(whole, &all, span)?;
        let by = Val::constant(i128::from(first), &Type::INT);
        self.binary(Binary::Shr, whole, by, span)
    }

    /// What a cell holds, or a part of it, seen as a value of this type. A number of floating point is seen as the
    /// integer with its bits, and the other way round.
    fn seen(&mut self, case: &Case, whole: Val, ty: &Type, span: Span) -> Lower<Val> {
        let is_float = |ty: &Type| self.cx.layouts.is_followed_float(ty);
        let (is_held, is_seen) = (is_float(&case.ty), is_float(ty));
        let is_same = is_held && is_seen && case.ty.plain() == ty.plain();
        let whole = if is_held && !is_same {
            self.bits_of(&whole, span)
        } else {
            whole
        };
        let piece = self.piece(case, whole, span)?;
        if is_seen && !is_same {
            return self.with_bits(piece, ty, span);
        }
        self.convert(piece, ty, span)
    }

    /// A value as the integer with its bits, if it is floating point.
    fn as_bits(&mut self, value: Val, span: Span) -> Val {
        if self.cx.layouts.is_followed_float(&value.ty) {
            return self.bits_of(&value, span);
        }
        value
    }

    /// What a cell holds when `value` is written to the part of it that a case means.
    fn with_piece(&mut self, case: &Case, value: Val, ty: &Type, span: Span) -> Lower<Val> {
        let goes_along = case.part.is_none() && case.ty.plain() == ty.plain();
        if self.reading == Reading::Copy && !goes_along {
            self.check_written(&value.e, span);
        }
        let is_float = |ty: &Type| self.cx.layouts.is_followed_float(ty);
        let (is_held, is_written) = (is_float(&case.ty), is_float(ty));
        let (Some(first), Some(width)) = (case.part, part_width(&case.ty, ty)) else {
            let is_same = case.ty.plain() == ty.plain();
            if !is_same && (is_held || is_written) {
                let value = self.convert(value, ty, span)?;
                let value = self.as_bits(value, span);
                if is_held {
                    return self.with_bits(value, &case.ty, span);
                }
                return self.convert(value, &case.ty, span);
            }
            return self.convert(value, &case.ty, span);
        };
        let all = unsigned(&case.ty);
        let whole = case.ty.clone();
        let old = self.read_for(Reading::Inside, |code| {
            code.load_cell(case, &whole, None, span)
        });
        let old = self.as_bits(old, span);
        let old = self.convert(old, &all, span)?;
        let value = self.convert(value, ty, span)?;
        let value = self.as_bits(value, span);
        let value = self.convert(value, &unsigned(ty), span)?;
        let value = self.convert(value, &all, span)?;
        let by = Val::constant(i128::from(first), &Type::INT);
        let value = self.binary(Binary::Shl, value, by, span)?;
        let mask = ((1_i128 << width) - 1) << first;
        let (_, most) = all.range();
        // 64-bit numbers are kept with their sign.
        let mask = if all.is_u64() {
            i128::from(!(mask as u64) as i64)
        } else {
            most & !mask
        };
        let rest = Val::constant(mask, &all);
        let rest = self.binary(Binary::BitAnd, old, rest, span)?;
        let new = self.binary(Binary::BitOr, rest, value, span)?;
        if is_held {
            return self.with_bits(new, &case.ty, span);
        }
        self.convert(new, &case.ty, span)
    }

    /// Requires, before a pointer is moved or its distance taken, that it points into an
    /// object whose layout is known, or, like the `other` end, to one array of the pointer's own type within it.
    /// Pointers that are never converted to this type point to nothing else, and leave no array where there is only one.
    pub(super) fn check_step(&mut self, pointer: &Val, other: &LocalExpr, span: Span) {
        let Some(of) = pointer.ty.pointee() else {
            return;
        };
        // GNU C moves pointers to void by bytes.
        let (of, is_recast) = match of.plain() {
            Type::Void => (Type::CHAR, true),
            other => (other.clone(), self.cx.previous.recast.contains(other)),
        };
        let among = pointer.among.as_ref();
        let objects = self.cx.targets(pointer.object, among, self.thread);
        let layouts = &self.cx.layouts;
        let is_known = |o: &Rc<Object>| {
            layouts.is_exact(&o.ty) || !is_recast && layouts.regions_in(o, &of, span).len() <= 1
        };
        if objects.iter().all(is_known) {
            return;
        }
        let between = |e: &LocalExpr, first: i64, end: i64| {
            let low = LocalExpr::binary(BinOp::Ge, e.clone(), Ir::Const(first));
            let high = LocalExpr::binary(BinOp::Le, e.clone(), Ir::Const(end));
            low.and(high)
        };
        let mut fits = Ir::FALSE;
        for object in objects {
            let Some(base) = object.base else { continue };
            if self.cx.layouts.is_exact(&object.ty) {
                fits = fits.or(between(&pointer.e, base, base + object.size as i64));
                continue;
            }
            for region in self.cx.layouts.regions_in(&object, &of, span) {
                let (first, end) = region.bounds();
                if pointer.object.is_some() && (first, end) == (0, object.size) {
                    return;
                }
                let (first, end) = (base + first as i64, base + end as i64);
                let both = between(&pointer.e, first, end).and(between(other, first, end));
                fits = fits.or(both);
            }
        }
        self.require(
            fits,
            "arithmetic on a pointer into memory whose layout is not known",
            span,
        );
    }

    /// Reads a scalar.
    pub(super) fn load(&mut self, place: &Place, span: Span) -> Lower<Val> {
        let want = self.want.take();
        let ty = place.ty().plain().clone();
        if let Type::Bits(bits) = ty {
            return self.load_bits(place, bits, span);
        }
        let is_float = self.cx.layouts.is_followed_float(&ty);
        if is_float && self.format(&ty).is_none() {
            return self.load_float(place, span);
        }
        if let (Type::Other(what), false) = (&ty, is_float) {
            return Err(super::layout::unsupported_type(what, span));
        }
        self.check_live(place, span);
        let cases = self.cases(place, Access::Load, span)?;
        if let [case] = cases.as_slice() {
            let value = self.load_cell(case, &ty, want, span);
            return self.seen(case, value, &ty, span);
        }
        let result = self.temporary(span);
        let (start, join) = (self.here, self.graph.loc());
        for case in &cases {
            let then = self.graph.loc();
            self.here = start;
            self.assume(case.when.clone(), then, span);
            self.here = then;
            let value = self.load_cell(case, &ty, Some(result), span);
            let value = self.seen(case, value, &ty, span)?;
            if value.e != Ir::Atom(palisade_program::LocalAtom::Local(result)) {
                self.emit(
                    Step::Assign {
                        dst: result,
                        value: value.e,
                    },
                    span,
                );
            }
            self.go(join, span);
        }
        self.here = join;
        self.known.remove(&result);
        let e = self.read(result);
        Ok(self.held(e, &ty))
    }

    /// Something was written to what `e` was read from.
    fn check_written(&mut self, e: &LocalExpr, span: Span) {
        let written = LocalExpr::binary(BinOp::Ne, e.clone(), Ir::Const(UNINITIALISED));
        self.oblige(
            written,
            AssertKind::Memory(MemoryError::Uninitialised),
            span,
        );
    }

    /// Whether the value of a cell matters that is read as one of this type, not only whether something was written to it.
    fn is_value_read(&self, case: &Case, ty: &Type) -> bool {
        match self.reading {
            Reading::Inside => false,
            Reading::Value => true,
            Reading::Copy => case.part.is_some() || case.ty.plain() != ty.plain(),
        }
    }

    /// Reads a scalar because the program says so.
    pub(super) fn load_value(&mut self, place: &Place, span: Span) -> Lower<Val> {
        self.read_for(Reading::Value, |code| code.load(place, span))
    }

    /// Does something that reads for this reason, where it makes a difference.
    pub(super) fn read_for<T>(&mut self, reading: Reading, f: impl FnOnce(&mut Self) -> T) -> T {
        if !self.cx.options.check_uninitialised {
            return f(self);
        }
        let before = std::mem::replace(&mut self.reading, reading);
        let result = f(self);
        self.reading = before;
        result
    }

    fn load_cell(&mut self, case: &Case, ty: &Type, want: Option<LocalId>, span: Span) -> Val {
        let e = match &case.cell {
            CellRef::Local(local) => {
                let e = self.read(*local);
                if case.poisoned && self.is_value_read(case, ty) {
                    self.check_written(&e, span);
                }
                e
            }
            CellRef::Shared(src) if src.index.is_none() && self.reads_constant(case, src.var) => {
                let value = self.cx.constant(src.var).unwrap_or(0);
                Ir::Const(value)
            }
            CellRef::Shared(src) => {
                let dst = want.unwrap_or_else(|| self.temporary(span));
                self.known.remove(&dst);
                let src = src.clone().ordered(self.access_order(&case.ty));
                self.note_atomic(src.var, span);
                let step = Step::Load {
                    dst,
                    src: src.clone(),
                };
                self.own_access(&src, Class::Read, span, |code| code.emit(step, span));
                let e = self.read(dst);
                if case.poisoned && self.is_value_read(case, ty) {
                    self.check_written(&e, span);
                } else if case.poisoned && !self.is_printed && self.reading == Reading::Inside {
                    let written = LocalExpr::binary(BinOp::Ne, e.clone(), Ir::Const(UNINITIALISED));
                    // A later thread may make the variable: its name follows in the end.
                    let kind = AssertKind::Uninitialised {
                        variable: src.var.index().to_string(),
                        domain: self.uninitialised(&case.ty),
                    };
                    self.oblige(written, kind, span);
                    self.check_network(&e, &case.ty, span);
                }
                match self.stored_number(src.var) {
                    Some(number) => {
                        let same = LocalExpr::binary(BinOp::Eq, e, Ir::Const(number));
                        self.require(same, "a rank or size that the program changes", span);
                        Ir::Const(number)
                    }
                    None => e,
                }
            }
        };
        self.held(e, &case.ty)
    }

    /// MPI: the network computes without widths, so what it wrote has to fit its type.
    fn check_network(&mut self, e: &LocalExpr, ty: &Type, span: Span) {
        let held = self.held(e.clone(), ty);
        if self.cx.onesided.is_some() {
            self.check_followed(e, span);
        }
        let (Ok(lo), Ok(hi)) = (i64::try_from(held.lo), i64::try_from(held.hi)) else {
            return;
        };
        if self.cx.mpi.is_some() && (lo, hi) != (i64::MIN, i64::MAX) {
            let low = LocalExpr::binary(BinOp::Ge, e.clone(), Ir::Const(lo));
            let high = LocalExpr::binary(BinOp::Le, e.clone(), Ir::Const(hi));
            self.require(low.and(high), "a sum of the network beyond its type", span);
        }
    }

    /// Whether a variable is read as its initial value, without any step.
    pub(super) fn never_changes(&self, object: &Object) -> bool {
        match object.cells.as_slice() {
            [Cells::Shared(var)] => self.cx.constant(*var).is_some() && !object.poisoned.get(),
            _ => false,
        }
    }

    /// Whether a variable is a number that never changes.
    fn reads_constant(&self, case: &Case, var: GlobalId) -> bool {
        let is_condition = matches!(case.ty.plain(), Type::Opaque(Opaque::Cond));
        (case.ty.is_value() || is_condition) && self.cx.constant(var).is_some()
    }

    /// Writes a scalar, without fences.
    pub(super) fn store(&mut self, place: &Place, value: Val, span: Span) -> Lower<()> {
        if let Type::Bits(bits) = place.ty().plain() {
            return self.store_bits(place, value, *bits, span);
        }
        if !self.in_registers(place) {
            self.note_published(&value);
        }
        self.check_live(place, span);
        let ty = place.ty().plain().clone();
        let cases = self.cases(place, Access::Store, span)?;
        if let [case] = cases.as_slice() {
            let value = self.with_piece(case, value, &ty, span)?;
            self.store_cell(case, value.e, span);
            return Ok(());
        }
        let (start, join) = (self.here, self.graph.loc());
        let known = self.known.clone();
        for case in &cases {
            let then = self.graph.loc();
            self.here = start;
            self.known.clone_from(&known);
            self.assume(case.when.clone(), then, span);
            self.here = then;
            let value = self.with_piece(case, value.clone(), &ty, span)?;
            self.store_cell(case, value.e, span);
            self.go(join, span);
        }
        self.here = join;
        self.known = known;
        for case in &cases {
            if let CellRef::Local(local) = case.cell {
                self.known.remove(&local);
            }
        }
        Ok(())
    }

    fn store_cell(&mut self, case: &Case, value: LocalExpr, span: Span) {
        match &case.cell {
            CellRef::Local(local) => {
                let same = value == Ir::Atom(palisade_program::LocalAtom::Local(*local));
                if !same {
                    self.assign(*local, value, span);
                }
            }
            CellRef::Shared(dst) => {
                let dst = dst.clone().ordered(self.access_order(&case.ty));
                self.note_atomic(dst.var, span);
                let place = dst.clone();
                let step = Step::Store { dst, value };
                self.own_access(&place, Class::Write, span, |code| code.emit(step, span));
            }
        }
    }

    /// Notes that an operation accesses a variable atomically.
    fn note_atomic(&mut self, var: GlobalId, span: Span) {
        if self.order.is_some() {
            self.cx
                .atomic_accesses
                .insert((self.graph.place(span), var));
        }
    }

    /// Element `i` of an array, within its bounds.
    pub(super) fn checked_index(&mut self, i: &Val, len: u64, span: Span) {
        if i.lo >= 0 && i.hi < i128::from(len) {
            return;
        }
        let low = LocalExpr::binary(BinOp::Ge, i.e.clone(), Ir::Const(0));
        let high = LocalExpr::binary(BinOp::Lt, i.e.clone(), Ir::Const(len as i64));
        let cond = match (i.lo < 0, i.hi >= i128::from(len)) {
            (true, false) => low,
            (false, true) => high,
            _ => low.and(high),
        };
        let kind = AssertKind::Index;
        self.emit(Step::Assert { cond, kind }, span);
    }
}

/// Whether a scalar part of a variable is a cell of it.
fn is_cell(object: &Object, offset: u64, dims: usize, ty: &Type) -> bool {
    let Some(bits) = width(ty) else {
        return true;
    };
    let bytes = bits / 8;
    let mut leaves = object.leaves.iter();
    leaves.any(|l| l.offset == offset && l.dims.len() == dims && l.bytes == bytes)
}

/// What is done with the cells of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Load,
    Store,
    /// Whole cells are named.
    Name,
}

/// The unsigned integer as wide as a type of numbers.
fn unsigned(ty: &Type) -> Type {
    match width(ty) {
        Some(bits) => Type::Int {
            bits: bits as u8,
            signed: false,
        },
        None => ty.plain().clone(),
    }
}
