//! *Allocation*: an object for each time that `malloc` and its kin are called.
//!
//! Objects are made when the program is lowered, so each call has a fixed number of them: one
//! outside of loops, [`MOST_IN_LOOP`] inside, which are given out one after another; and where the
//! size is no constant one of each length up to [`MOST_ELEMENTS`]. A run that asks for more is
//! not followed: where there is one, the verdict is unknown. `alloca` and arrays whose length is no constant are the
//! same, but their objects live until the function returns ([`super::lifetime`]).

use std::rc::Rc;

use palisade_program::{BinOp, Expr as Ir, LocalExpr, Span};

use super::assign::part_at;
use super::cases::is;
use super::code::{Code, Lower, Reading};
use super::expr::unsupported;
use super::layout::Object;
use super::value::Val;
use crate::c::ast::{Binary, Declaration, Expr, ExprKind};
use crate::c::types::Type;

/// Objects that one call makes in a loop of unknown length, at most.
const MOST_IN_LOOP: u64 = 4;
/// Elements of an object whose size is no constant, at most.
const MOST_ELEMENTS: u64 = 8;

/// What an allocation makes: so many elements of its type; of a struct with a flexible array member
/// one, with so many elements in that.
#[derive(Clone, Copy)]
struct Kind {
    bytes: u64,
    count: u64,
    tail: u64,
}

impl Code<'_, '_> {
    /// `malloc`: an object of the type that the size is a multiple of.
    pub(super) fn allocate(&mut self, sizes: &[&Expr], is_zero: bool, span: Span) -> Lower<Val> {
        let of = self.allocated_type(sizes);
        let bytes = self.bytes(sizes, span)?;
        self.allocate_bytes(of, bytes, (is_zero, false), span)
    }

    /// `alloca`: the same, but the object lives until the function returns.
    pub(super) fn allocate_on_stack(&mut self, sizes: &[&Expr], span: Span) -> Lower<Val> {
        let of = self.allocated_type(sizes);
        let bytes = self.bytes(sizes, span)?;
        self.allocate_bytes(of, bytes, (false, true), span)
    }

    /// An array whose length is no constant: a pointer to what is allocated when its declaration is reached. It
    /// lives until the function returns, which is longer than its block.
    pub(super) fn array_of_length(
        &mut self,
        d: &Declaration,
        of: &Type,
        length: Val,
    ) -> Lower<Rc<Object>> {
        let ty = Type::pointer(of.clone());
        let size = self.cx.layouts.size(of, d.span)?;
        let size_t = self.size_t();
        let length = self.convert(length, &size_t, d.span)?;
        let one = Val::constant(i128::from(size), &size_t);
        let bytes = self.binary(Binary::Mul, length, one, d.span)?;
        let v = self.allocate_bytes(of.clone(), bytes, (false, true), d.span)?;
        let object = self.variable(&d.name, &ty, d.span)?;
        self.store(&Self::whole(&object), v, d.span)?;
        Ok(object)
    }

    /// `realloc`: a new object with what the old one holds, as far as both go; the old one is freed.
    pub(super) fn reallocate(&mut self, old: &Expr, size: &Expr, span: Span) -> Lower<Val> {
        let of = self.allocated_type(&[size]);
        let old = self.value(old)?;
        let old = self.saved(old, span);
        let bytes = self.bytes(&[size], span)?;
        let bytes = self.saved(bytes, span);
        let of = match old.ty.pointee() {
            Some(held) if of == Type::CHAR && *held.plain() != Type::Void => held.clone(),
            Some(_) | None => of,
        };
        let new = self.allocate_bytes(of.clone(), bytes.clone(), (false, false), span)?;
        if old.as_constant() == Some(0) {
            return Ok(new);
        }
        let new = self.saved(new, span);
        let one = self.cx.layouts.size(&of, span)?.max(1);
        let old = Val {
            ty: Type::pointer(of.clone()),
            ..old
        };
        let scalars = self.scalars(&of, span)?;
        if scalars.iter().any(|(_, ty)| !ty.is_value()) {
            return unsupported(span, "realloc of a lock", "allocate what holds it anew");
        }
        let among = old.among.clone();
        let objects = self.cx.targets(old.object, among.as_ref(), self.thread);
        let (start, known, join) = (self.here, self.known.clone(), self.graph.loc());
        // What is no start of an object is left to `free`, which finds it.
        let mut rest = Ir::TRUE;
        for object in objects.iter().filter(|object| !object.on_stack) {
            let Some(base) = object.base else { continue };
            let is_object: LocalExpr = is(&old.e, base);
            rest = rest.and(is_object.clone().negate());
            let then = self.graph.loc();
            self.here = start;
            self.known.clone_from(&known);
            self.assume(is_object, then, span);
            self.at(then);
            for k in 0..object.size / one {
                let more = self.graph.loc();
                let end = Ir::Const(((k + 1) * one) as i64);
                let fits = LocalExpr::binary(BinOp::Ge, bytes.e.clone(), end);
                let here = self.here;
                self.assume(fits.clone().negate(), join, span);
                self.here = here;
                self.assume(fits, more, span);
                self.at(more);
                let source = self.element_at(&old, k, &of, span)?;
                let target = self.element_at(&new, k, &of, span)?;
                for (path, ty) in &scalars {
                    let from = part_at(source.clone(), path, ty);
                    let to = part_at(target.clone(), path, ty);
                    self.read_for(Reading::Copy, |code| {
                        let v = code.load(&from, span)?;
                        code.store(&to, v, span)
                    })?;
                }
            }
            self.go(join, span);
        }
        self.here = start;
        self.known.clone_from(&known);
        self.assume(rest, join, span);
        self.at(join);
        self.known.clear();
        self.free_value(old, span);
        Ok(new)
    }

    /// What an allocation of these sizes is for.
    fn allocated_type(&mut self, sizes: &[&Expr]) -> Type {
        let ty = self.cx.pending_type.take();
        let of = ty.as_ref().and_then(Type::pointee).cloned();
        let of = of.or_else(|| self.cx.sized(sizes.iter().copied()));
        // Bytes, where nothing says what they are for.
        let of = of.filter(|of| *of.plain() != Type::Void);
        of.unwrap_or(Type::CHAR)
    }

    /// An object of so many bytes; `on_stack`: until the function returns.
    fn allocate_bytes(
        &mut self,
        of: Type,
        bytes: Val,
        (is_zero, on_stack): (bool, bool),
        span: Span,
    ) -> Lower<Val> {
        if self.is_any {
            return unsupported(
                span,
                "allocation in threads of any number",
                "start a fixed number of threads",
            );
        }
        if bytes.as_constant().is_some_and(|bytes| bytes < 0) {
            // No object is larger than half of the address space: it fails.
            return Ok(Val::constant(0, &Type::pointer(of)));
        }
        let kinds = self.kinds(&of, bytes.as_constant(), span)?;
        self.cx.allocates = true;
        if let ([kind], 0) = (kinds.as_slice(), self.loop_depth) {
            return self.new_object(&of, *kind, (is_zero, on_stack), span);
        }
        let is_any_size = kinds.len() > 1;
        let bytes = self.saved(bytes, span);
        let (result, join) = (self.hidden(span), self.graph.loc());
        let made = (self.loop_depth > 0).then(|| self.hidden(span));
        let rounds = if made.is_some() { MOST_IN_LOOP } else { 1 };
        let (start, known) = (self.here, self.known.clone());
        let mut rest = Ir::TRUE;
        for kind in kinds {
            let is_size = is(&bytes.e, kind.bytes as i64);
            for round in 0..rounds {
                let is_round = made.map_or(Ir::TRUE, |made| is(&self.read(made), round as i64));
                let when: LocalExpr = is_size.clone().and(is_round);
                rest = rest.and(when.clone().negate());
                let then = self.graph.loc();
                self.here = start;
                self.known.clone_from(&known);
                self.assume(when, then, span);
                self.at(then);
                let object = self.new_object(&of, kind, (is_zero, on_stack), span)?;
                self.assign(result, object.e, span);
                if let Some(made) = made {
                    self.assign(made, Ir::Const(round as i64 + 1), span);
                }
                self.go(join, span);
                self.known.clone_from(&known);
            }
        }
        let beyond = self.graph.loc();
        self.here = start;
        self.assume(rest, beyond, span);
        self.at(beyond);
        let what = if is_any_size && on_stack {
            format!("an array of more than {MOST_ELEMENTS} elements whose length is no constant")
        } else if is_any_size {
            format!("an allocation of more than {MOST_ELEMENTS} elements whose size is no constant")
        } else {
            format!("more than {MOST_IN_LOOP} allocations of one call in a loop")
        };
        self.refuse_run(&what, span);
        self.at(join);
        for local in made.into_iter().chain([result]) {
            self.known.remove(&local);
        }
        let e = self.read(result);
        Ok(self.held(e, &Type::pointer(of)))
    }

    fn size_t(&self) -> Type {
        Type::Int {
            bits: self.cx.options.data_model.word(),
            signed: false,
        }
    }

    /// The number of bytes: a product.
    fn bytes(&mut self, sizes: &[&Expr], span: Span) -> Lower<Val> {
        let size_t = self.size_t();
        let mut bytes = Val::constant(1, &size_t);
        for size in sizes {
            // The size of an opaque type is not known; `malloc(sizeof(T))` makes one.
            if !matches!(size.kind, ExprKind::UnknownSize) {
                let factor = self.value(size)?;
                let factor = self.convert(factor, &size_t, span)?;
                bytes = self.binary(Binary::Mul, bytes, factor, span)?;
            }
        }
        Ok(bytes)
    }

    /// The objects of this type that an allocation of so many bytes may make; `None`: any number.
    fn kinds(&self, of: &Type, bytes: Option<i128>, span: Span) -> Lower<Vec<Kind>> {
        let layouts = &self.cx.layouts;
        let one = of.size(layouts.structs, layouts.model);
        let one = one.filter(|one| *one > 0).unwrap_or(1);
        let bytes = bytes.map(|bytes| u64::try_from(bytes).unwrap_or(0));
        let all: Vec<Kind> = match (layouts.tail(of, span)?, bytes) {
            (None, Some(bytes)) => vec![Kind {
                bytes,
                count: bytes / one,
                tail: 0,
            }],
            (None, None) => (1..=MOST_ELEMENTS)
                .map(|count| Kind {
                    bytes: count * one,
                    count,
                    tail: 0,
                })
                .collect(),
            (Some((at, element)), bytes) => {
                let stride = layouts.size(&element, span)?.max(1);
                let kind = |bytes: u64| Kind {
                    bytes,
                    count: bytes / one,
                    tail: bytes.saturating_sub(at) / stride,
                };
                let any = (0..=MOST_ELEMENTS).map(|k| kind(one + k * stride));
                let all = bytes.map_or_else(|| any.collect(), |bytes| vec![kind(bytes)]);
                all.into_iter()
                    .map(|k: Kind| Kind {
                        count: k.count.min(1),
                        ..k
                    })
                    .collect()
            }
        };
        match all.iter().find(|kind| kind.count == 0) {
            Some(_) => unsupported(
                span,
                "an allocation of this size",
                "sizeof(T) times a number",
            ),
            None => Ok(all),
        }
    }

    /// A new object; its address.
    fn new_object(
        &mut self,
        of: &Type,
        kind: Kind,
        (is_zero, on_stack): (bool, bool),
        span: Span,
    ) -> Lower<Val> {
        let whole = if kind.count == 1 {
            of.clone()
        } else {
            Type::Array(Rc::new(of.clone()), Some(kind.count))
        };
        let leaves = self.cx.layouts.leaves_with_tail(&whole, kind.tail, span)?;
        let size = self.cx.layouts.size(&whole, span)?;
        let size = if kind.tail > 0 { kind.bytes } else { size };
        let named = (if on_stack { "stack" } else { "heap" }, &whole);
        if on_stack {
            // That pointers to it may outlive it is looked at always.
            let number = self.cx.objects.len();
            self.cx.published.insert(number);
        }
        let object = self
            .cx
            .object_of(named, leaves, size, (true, on_stack), span)?;
        let object = if on_stack {
            self.until_return(object, span)
        } else {
            let object = self.with_allocation(object, span);
            self.with_status(object, span)
        };
        if !is_zero {
            self.cx.forget_initial(&object);
        }
        let v = self.address_of(&Self::whole(&object), span)?;
        Ok(Val {
            ty: Type::pointer(of.clone()),
            ..v
        })
    }
}
