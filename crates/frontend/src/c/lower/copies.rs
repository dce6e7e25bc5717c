//! *Copies of memory*: `memset`, `memcpy`, `memmove` of a known number of objects, and
//! `strcpy` from a literal. Each scalar is a load and a store of its own. The other
//! functions on strings are written in C, in `headers/string.h`.

use palisade_program::Span;

use super::assign::part_at;
use super::code::{Code, Lower, Reading};
use super::expr::unsupported;
use super::layout::{Object, convertible};
use super::place::Place;
use super::value::Val;
use crate::c::ast::{Binary, Expr, ExprKind};
use crate::c::types::Type;

/// Objects that one call writes at most: each is a store of its own.
const MAX_COPIED: u64 = 1024;

impl Code<'_, '_> {
    /// A function that copies memory; `None` if it is none.
    pub(super) fn memory_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        match (name, args) {
            ("strcpy" | "__builtin_strcpy", [to, from]) => {
                self.string_copy(to, from, span).map(Some)
            }
            ("memset" | "__builtin_memset", [to, byte, size]) => {
                self.fill(to, byte, size, span).map(Some)
            }
            ("memcpy" | "__builtin_memcpy" | "memmove" | "__builtin_memmove", [to, from, size]) => {
                self.copy_memory(to, from, size, span).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `strcpy` from a literal: its characters, one store each.
    fn string_copy(&mut self, to: &Expr, from: &Expr, span: Span) -> Lower<Val> {
        let pointer = self.value(to)?;
        let ExprKind::Str(text) = &from.kind else {
            return unsupported(span, "strcpy from a variable", "copy in a loop");
        };
        if pointer.ty.pointee().map(Type::plain) != Some(&Type::CHAR) {
            return unsupported(span, "strcpy to something else than char", "use an array");
        }
        let pointer = self.saved(pointer, span);
        for (k, byte) in text.bytes().chain([0]).enumerate() {
            let place = self.element_at(&pointer, k as u64, &Type::CHAR, span)?;
            let byte = Val::constant(i128::from(byte as i8), &Type::CHAR);
            self.store(&place, byte, span)?;
        }
        Ok(pointer)
    }

    /// What stands `k` elements behind a pointer.
    pub(super) fn element_at(
        &mut self,
        pointer: &Val,
        k: u64,
        ty: &Type,
        span: Span,
    ) -> Lower<Place> {
        let k = Val::constant(i128::from(k), &Type::INT);
        let sum = self.binary(Binary::Add, pointer.clone(), k, span)?;
        Ok(self.pointed(sum, ty.clone()))
    }

    /// How many objects of a pointer's type a size in bytes is.
    fn objects_in(&mut self, pointer: &Val, size: &Expr) -> Lower<Option<(u64, Type)>> {
        let bytes = self.value(size)?.as_constant();
        let of = pointer.ty.pointee().cloned();
        let one = of
            .as_ref()
            .and_then(|ty| ty.size(self.cx.layouts.structs, self.cx.options.data_model));
        let (Some(bytes), Some(of), Some(one)) = (bytes, of, one) else {
            return Ok(None);
        };
        let bytes = u64::try_from(bytes).unwrap_or(0);
        let whole = one > 0 && bytes.is_multiple_of(one) && bytes / one <= MAX_COPIED;
        Ok((whole && of != Type::Void).then(|| (bytes / one, of)))
    }

    /// `memset`.
    fn fill(&mut self, to: &Expr, byte: &Expr, size: &Expr, span: Span) -> Lower<Val> {
        let pointer = self.value(to)?;
        let pointer = self.saved(pointer, span);
        let byte = self.value(byte)?;
        let byte = self.saved(byte, span);
        let Some((count, of)) = self.objects_in(&pointer, size)? else {
            self.refuse_run(
                "a memset of something else than a known number of whole objects of the pointer's type",
                span,
            );
            return Ok(pointer);
        };
        for k in 0..count {
            let place = self.element_at(&pointer, k, &of, span)?;
            for (path, ty) in self.scalars(&of, span)? {
                let v = self.repeated(&byte, &ty, span)?;
                self.store(&part_at(place.clone(), &path, &ty), v, span)?;
            }
        }
        Ok(pointer)
    }

    /// A scalar all of whose bytes are `byte`.
    fn repeated(&mut self, byte: &Val, ty: &Type, span: Span) -> Lower<Val> {
        let known = byte.as_constant().map(|c| c & 0xff);
        match (known, ty.plain()) {
            (Some(0), _) => Ok(Val::constant(0, ty)),
            (_, Type::Int { bits: 8, .. }) => self.convert(byte.clone(), ty, span),
            (Some(c), Type::Int { bits, signed }) => {
                let all = (0..*bits / 8).fold(0, |all, _| all << 8 | c);
                let signed = *signed || *bits == 64;
                let value = palisade_program::expr::wrap(all, *bits, signed);
                Ok(Val::constant(i128::from(value), ty))
            }
            _ => unsupported(span, "memset to this value", "set it to 0"),
        }
    }

    /// Two pointers to copy bytes between. Those to `void` and to characters may point to anything: they are taken as
    /// pointers to what stands on both sides, at least to bytes.
    fn as_units(&mut self, to: Val, from: Val, size: &Expr) -> Lower<(Val, Val)> {
        let (Some(source), Some(target)) = (from.ty.pointee(), to.ty.pointee()) else {
            return Ok((to, from));
        };
        let bytes = self.value(size)?.as_constant();
        let bytes = bytes.and_then(|b| u64::try_from(b).ok());
        let Some(bytes) = bytes
            .filter(|_| is_bytes(source) || is_bytes(target) || source.plain() != target.plain())
        else {
            return Ok((to, from));
        };
        let model = self.cx.options.data_model;
        let (sources, targets) = (self.units_at(&from, bytes), self.units_at(&to, bytes));
        let is_both = |ty: &&Type| targets.iter().any(|other| convertible(other, ty, model));
        let of = match sources.iter().find(is_both) {
            Some(ty) => ty.clone(),
            None if !sources.is_empty() && !targets.is_empty() => Type::CHAR,
            None if !is_bytes(source) => source.clone(),
            None if !is_bytes(target) => target.clone(),
            None => Type::CHAR,
        };
        self.cx.note_recast(&of);
        let ty = Type::pointer(of);
        let cast = |v: Val| Val {
            ty: ty.clone(),
            ..v
        };
        Ok((cast(to), cast(from)))
    }

    /// What so many bytes may be copied as, wherever a pointer points to, the largest first: what it is declared to
    /// point to, types of whole objects, of elements, and of single cells.
    fn units_at(&self, pointer: &Val, bytes: u64) -> Vec<Type> {
        let model = self.cx.options.data_model;
        let size_of = |ty: &Type| ty.size(self.cx.layouts.structs, model);
        let fits = |ty: &Type| size_of(ty).is_some_and(|n| n > 0 && bytes.is_multiple_of(n));
        let among = pointer.among.as_ref();
        let objects = self.cx.targets(pointer.object, among, self.thread);
        let units = |object: &Object| {
            let mut all = vec![object.ty.plain().clone()];
            while let Some(Type::Array(of, _)) = all.last() {
                all.push(of.plain().clone());
            }
            all.extend(object.leaves.iter().map(|leaf| leaf.ty.plain().clone()));
            all.retain(fits);
            all
        };
        let mut each = objects.iter().map(|o| units(o));
        let mut all = each.next().unwrap_or_default();
        for others in each {
            all.retain(|ty| others.iter().any(|other| convertible(other, ty, model)));
        }
        let declared = pointer.ty.pointee().map(Type::plain);
        let declared = declared.filter(|ty| !is_bytes(ty) && fits(ty));
        declared.cloned().into_iter().chain(all).collect()
    }

    /// `memcpy` and `memmove` between objects of one type: all is read before anything
    /// is written, so that they may overlap.
    fn copy_memory(&mut self, to: &Expr, from: &Expr, size: &Expr, span: Span) -> Lower<Val> {
        let to = self.value(to)?;
        let to = self.saved(to, span);
        let from = self.value(from)?;
        let from = self.saved(from, span);
        let (to, from) = self.as_units(to, from, size)?;
        let counted = self.objects_in(&to, size)?;
        let (Some((count, of)), true) = (counted, to.ty.pointee() == from.ty.pointee()) else {
            self.refuse_run(
                "a copy of something else than a known number of whole objects of one type",
                span,
            );
            return Ok(to);
        };
        let scalars = self.scalars(&of, span)?;
        if scalars.iter().any(|(_, ty)| !ty.is_value()) {
            return unsupported(span, "a copy of a lock", "copy the other members");
        }
        let mut values = Vec::new();
        let is_value = count == 1 && of.is_value();
        let reading = if is_value {
            Reading::Value
        } else {
            Reading::Copy
        };
        for k in 0..count {
            let source = self.element_at(&from, k, &of, span)?;
            for (path, ty) in &scalars {
                let part = part_at(source.clone(), path, ty);
                let v = self.read_for(reading, |code| code.load(&part, span))?;
                // Registers may be written before they are read.
                values.push(self.saved(v, span));
            }
        }
        let mut values = values.into_iter();
        for k in 0..count {
            let target = self.element_at(&to, k, &of, span)?;
            for ((path, ty), v) in scalars.iter().zip(&mut values) {
                let part = part_at(target.clone(), path, ty);
                self.read_for(reading, |code| code.store(&part, v, span))?;
            }
        }
        Ok(to)
    }
}

/// Whether a pointer to this type says nothing about what it points to.
fn is_bytes(ty: &Type) -> bool {
    matches!(ty.plain(), Type::Void | Type::Int { bits: 8, .. })
}
