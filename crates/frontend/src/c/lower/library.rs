//! *The library of C* as far as it is built in: output, which has no effect on what is
//! checked, allocation, and copies of memory. Input (`scanf`) ends the run as
//! unsupported: what it reads is not known.

use std::rc::Rc;

use palisade_program::{Expr as Ir, LocalExpr, Span, Step};

use super::assign::part_at;
use super::code::{Code, Lower};
use super::expr::unsupported;
use super::place::Place;
use super::value::Val;
use crate::c::ast::{Binary, Expr, ExprKind};
use crate::c::types::Type;

/// Objects that `memset` and `memcpy` write at most: each is a store of its own.
const MAX_COPIED: u64 = 1024;

/// Functions without effect on what is checked; their arguments are evaluated.
const SILENT: [&str; 32] = [
    "printf",
    "fprintf",
    "puts",
    "putchar",
    "fputs",
    "fflush",
    "perror",
    "putc",
    "fputc",
    "srand",
    "sched_yield",
    "pthread_yield",
    "usleep",
    "sleep",
    "nanosleep",
    "free",
    "pthread_detach",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_attr_setdetachstate",
    "pthread_mutexattr_init",
    "pthread_mutexattr_destroy",
    "pthread_condattr_init",
    "pthread_condattr_destroy",
    "pthread_setconcurrency",
    "pthread_mutexattr_setpshared",
    "__builtin_unreachable_hint",
    "thrd_yield",
    "pthread_rwlockattr_init",
    "pthread_rwlockattr_destroy",
    "pthread_barrierattr_init",
    "setvbuf",
];

impl Code<'_, '_> {
    /// Functions of C's library.
    pub(super) fn library_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        if SILENT.contains(&name) {
            for a in args {
                if !matches!(a.kind, ExprKind::Str(_) | ExprKind::Float) && !is_stream(a) {
                    self.discard(a)?;
                }
            }
            if name == "pthread_detach" || name.contains("attr") || name.starts_with("pthread_") {
                return Ok(Some(Val::constant(0, &Type::INT)));
            }
            let dst = self.temporary(span);
            self.havoc(dst, &Type::INT, span);
            let e = self.read(dst);
            return Ok(Some(self.held(e, &Type::INT)));
        }
        match (name, args) {
            ("__builtin_expect", [e, _]) => {
                let v = self.value(e)?;
                let long = Type::Int {
                    bits: self.cx.options.data_model.word(),
                    signed: true,
                };
                Ok(Some(self.convert(v, &long, span)?))
            }
            ("rand" | "random", []) => {
                let dst = self.temporary(span);
                self.havoc(dst, &Type::INT, span);
                let e = self.read(dst);
                let v = self.held(e, &Type::INT);
                let nonneg =
                    LocalExpr::binary(palisade_program::BinOp::Ge, v.e.clone(), Ir::Const(0));
                self.emit(Step::Assume(nonneg), span);
                Ok(Some(Val { lo: 0, ..v }))
            }
            ("strcpy", [to, from]) => self.string_copy(to, from, span).map(Some),
            ("memset" | "__builtin_memset", [to, byte, size]) => {
                self.fill(to, byte, size, span).map(Some)
            }
            ("memcpy" | "__builtin_memcpy", [to, from, size]) => {
                self.copy_memory(to, from, size, span).map(Some)
            }
            ("scanf" | "fscanf" | "sscanf" | "__isoc99_sscanf" | "__isoc99_scanf", _) => {
                self.refuse_run(&format!("`{name}`"), span);
                Ok(Some(Val::constant(0, &Type::INT)))
            }
            ("malloc", [size]) => self.allocate(size, false, span).map(Some),
            ("calloc", [count, size]) => {
                let product = Expr {
                    kind: ExprKind::Binary(
                        crate::c::ast::Binary::Mul,
                        Box::new(count.clone()),
                        Box::new(size.clone()),
                    ),
                    span,
                };
                self.allocate(&product, true, span).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A run that gets here makes the verdict unknown, and goes no further.
    pub(super) fn refuse_run(&mut self, what: &str, span: Span) {
        self.require(Ir::FALSE, what, span);
        self.block(span);
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
    fn element_at(&mut self, pointer: &Val, k: u64, ty: &Type, span: Span) -> Lower<Place> {
        let k = Val::constant(i128::from(k), &Type::INT);
        let sum = self.binary(Binary::Add, pointer.clone(), k, span)?;
        Ok(self.pointed(sum, ty.clone()))
    }

    /// How many objects of a pointer's type a size in bytes is.
    fn objects_in(&mut self, pointer: &Val, size: &Expr, span: Span) -> Lower<Option<(u64, Type)>> {
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
        let leaves = self.cx.layouts.leaves(&of, span)?;
        let is_plain = leaves.iter().all(|l| l.ty.is_scalar() && !l.ty.is_atomic());
        Ok((whole && is_plain && of != Type::Void).then(|| (bytes / one, of)))
    }

    /// `memset` to zero.
    fn fill(&mut self, to: &Expr, byte: &Expr, size: &Expr, span: Span) -> Lower<Val> {
        let pointer = self.value(to)?;
        let pointer = self.saved(pointer, span);
        let byte = self.value(byte)?.as_constant();
        let (Some(0), Some((count, of))) = (byte, self.objects_in(&pointer, size, span)?) else {
            return unsupported(
                span,
                "this memset",
                "set whole objects of the pointer's type to 0: `memset(&x, 0, sizeof(x))`",
            );
        };
        for k in 0..count {
            let place = self.element_at(&pointer, k, &of, span)?;
            for (path, ty) in self.scalars(&of, span)? {
                let zero = Val::constant(0, &ty);
                self.store(&part_at(place.clone(), &path, &ty), zero, span)?;
            }
        }
        Ok(pointer)
    }

    /// `memcpy` between objects of one type.
    fn copy_memory(&mut self, to: &Expr, from: &Expr, size: &Expr, span: Span) -> Lower<Val> {
        let to = self.value(to)?;
        let to = self.saved(to, span);
        let from = self.value(from)?;
        let from = self.saved(from, span);
        let counted = self.objects_in(&to, size, span)?;
        let (Some((count, of)), true) = (counted, to.ty.pointee() == from.ty.pointee()) else {
            return unsupported(
                span,
                "this memcpy",
                "copy whole objects between pointers of one type",
            );
        };
        for k in 0..count {
            let target = self.element_at(&to, k, &of, span)?;
            let source = self.element_at(&from, k, &of, span)?;
            self.copy(&target, &source, span)?;
        }
        Ok(to)
    }

    /// `malloc`: an object of the type that the size is a multiple of.
    fn allocate(&mut self, size: &Expr, is_zero: bool, span: Span) -> Lower<Val> {
        if self.loop_depth > 0 || self.is_any {
            return unsupported(
                span,
                "allocation in a loop of unknown length",
                "allocate a fixed number of objects",
            );
        }
        let ty = self.cx.pending_type.take();
        let of = ty.as_ref().and_then(Type::pointee).cloned();
        // The size of an opaque type is not known; `malloc(sizeof(T))` makes one.
        let bytes = match size.kind {
            ExprKind::UnknownSize => Some(1),
            _ => self.value(size)?.as_constant(),
        };
        let Some(of) = of else {
            return unsupported(
                span,
                "this allocation",
                "assign malloc of a constant size to a pointer: `T *p = malloc(sizeof(T));`",
            );
        };
        let Some(bytes) = bytes else {
            self.refuse_run("an allocation whose size is no constant", span);
            return Ok(Val::constant(0, &Type::pointer(of)));
        };
        let one = of
            .size(self.cx.layouts.structs, self.cx.options.data_model)
            .unwrap_or(1);
        let count = u64::try_from(bytes)
            .unwrap_or(0)
            .checked_div(one)
            .unwrap_or(0);
        if count == 0 || of == Type::Void {
            return unsupported(
                span,
                "an allocation of this size",
                "sizeof(T) times a number",
            );
        }
        let whole = if count == 1 {
            of.clone()
        } else {
            Type::Array(Rc::new(of.clone()), Some(count))
        };
        let object = self.cx.object("heap", &whole, true, false, span)?;
        if !is_zero {
            self.cx.forget_initial(&object);
        }
        let v = self.address_of(&Self::whole(&object), span)?;
        Ok(Val {
            ty: Type::pointer(of),
            ..v
        })
    }
}

fn is_stream(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Ident(name) if matches!(name.as_str(), "stdout" | "stderr" | "stdin"))
}
