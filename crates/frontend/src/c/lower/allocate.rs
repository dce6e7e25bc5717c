//! *Allocation*: an object for each time that `malloc` and its kin are called.
//!
//! Objects are made when the program is lowered, so each call has a fixed number of them: one
//! outside of loops, [`MOST_IN_LOOP`] inside, which are given out one after another; and where the
//! size is no constant one of each length up to [`MOST_ELEMENTS`]. A run that asks for more is
//! not followed: where there is one, the verdict is unknown.

use std::rc::Rc;

use palisade_program::{Expr as Ir, LocalExpr, Span};

use super::cases::is;
use super::code::{Code, Lower};
use super::expr::unsupported;
use super::value::Val;
use crate::c::ast::{Binary, Expr, ExprKind};
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
        if self.is_any {
            return unsupported(
                span,
                "allocation in threads of any number",
                "start a fixed number of threads",
            );
        }
        let ty = self.cx.pending_type.take();
        let of = ty.as_ref().and_then(Type::pointee).cloned();
        let of = of.or_else(|| self.cx.sized(sizes.iter().copied()));
        // Bytes, where nothing says what they are for.
        let of = of.filter(|of| *of.plain() != Type::Void);
        let of = of.unwrap_or(Type::CHAR);
        let bytes = self.bytes(sizes, span)?;
        if bytes.as_constant().is_some_and(|bytes| bytes < 0) {
            // No object is larger than half of the address space: it fails.
            return Ok(Val::constant(0, &Type::pointer(of)));
        }
        let kinds = self.kinds(&of, bytes.as_constant(), span)?;
        self.cx.allocates = true;
        if let ([kind], 0) = (kinds.as_slice(), self.loop_depth) {
            return self.new_object(&of, *kind, is_zero, span);
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
                let object = self.new_object(&of, kind, is_zero, span)?;
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
        let what = if is_any_size {
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

    /// The number of bytes: a product.
    fn bytes(&mut self, sizes: &[&Expr], span: Span) -> Lower<Val> {
        let size_t = Type::Int {
            bits: self.cx.options.data_model.word(),
            signed: false,
        };
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
    fn new_object(&mut self, of: &Type, kind: Kind, is_zero: bool, span: Span) -> Lower<Val> {
        let whole = if kind.count == 1 {
            of.clone()
        } else {
            Type::Array(Rc::new(of.clone()), Some(kind.count))
        };
        let leaves = self.cx.layouts.leaves_with_tail(&whole, kind.tail, span)?;
        let size = self.cx.layouts.size(&whole, span)?;
        let size = if kind.tail > 0 { kind.bytes } else { size };
        let named = ("heap", &whole);
        let object = self
            .cx
            .object_of(named, leaves, size, (true, false), span)?;
        let object = self.with_allocation(object, span);
        let object = self.with_status(object, span);
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
