//! *Datatypes* of MPI: which bytes one of them covers. Predefined ones are numbers of the header, which say the
//! width and the kind; those that the program makes (contiguous, vector) are lists of elements.

use std::collections::BTreeSet;

use palisade_program::{BinOp, Expr as Ir, LocalExpr, Span};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use crate::c::ast::Expr;
use crate::c::types::Type;

/// Handles of made datatypes start here.
const FIRST_MADE: i64 = 4096;
/// Elements of one operation at most.
const MAX_ELEMENTS: usize = 64;

/// A datatype: elements of one predefined type at some bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) struct Datatype {
    /// The predefined type.
    pub(super) base: i64,
    /// Where its elements start, in bytes.
    pub(super) at: Vec<u64>,
    /// Bytes from one instance to the next.
    pub(super) extent: u64,
}

/// Bytes of a predefined type.
pub(super) const fn width(base: i64) -> u64 {
    (base % 1000) as u64 / 8
}

/// The integer type of a predefined one; `None` for floating point.
pub(super) const fn integer(base: i64) -> Option<Type> {
    match base / 1000 {
        0 | 1 => Some(Type::Int {
            bits: (base % 1000) as u8,
            signed: base < 1000,
        }),
        _ => None,
    }
}

impl Datatype {
    pub(super) fn predefined(base: i64) -> Self {
        Self {
            base,
            at: vec![0],
            extent: width(base),
        }
    }

    /// `count` blocks of `length` instances, `stride` instances apart.
    fn blocks(&self, count: u64, length: u64, stride: u64) -> Self {
        let mut at = Vec::new();
        for block in 0..count {
            for k in 0..length {
                let start = (block * stride + k) * self.extent;
                at.extend(self.at.iter().map(|byte| start + byte));
            }
        }
        let last = count.saturating_sub(1) * stride + length;
        Self {
            base: self.base,
            at,
            extent: last * self.extent,
        }
    }

    /// The elements of `count` instances next to each other.
    pub(super) fn elements(&self, count: u64) -> Vec<u64> {
        self.blocks(count, 1, 1).at
    }
}

impl Code<'_, '_> {
    pub(super) fn small(&mut self, e: &Expr, what: &str, span: Span) -> Lower<u64> {
        let value = self.fixed(e)?;
        match value.and_then(|v| u64::try_from(v).ok()) {
            Some(value) if value <= MAX_ELEMENTS as u64 => Ok(value),
            _ => unsupported(
                span,
                &format!("{what} that is not known here"),
                "give a constant, 64 at most",
            ),
        }
    }

    /// The datatype that an argument names.
    pub(super) fn datatype(&mut self, e: &Expr, span: Span) -> Lower<Datatype> {
        let handle = self.value(e)?.as_constant();
        let handle = handle.and_then(|h| i64::try_from(h).ok());
        let made = handle.and_then(|h| usize::try_from(h - FIRST_MADE).ok());
        let made = made.and_then(|k| self.cx.one_sided().datatypes.get(k).cloned());
        match (handle, made) {
            (_, Some(made)) => Ok(made),
            (Some(base), None) if base > 0 && base < FIRST_MADE => Ok(Datatype::predefined(base)),
            _ => unsupported(
                span,
                "a datatype that is not known here",
                "keep each datatype in a local variable of its own",
            ),
        }
    }

    /// The elements that a count of a datatype means.
    pub(super) fn counted(
        &mut self,
        count: &Expr,
        ty: &Expr,
        span: Span,
    ) -> Lower<(i64, Vec<u64>)> {
        let count = self.small(count, "a number of elements", span)?;
        self.counted_of(count, ty, span)
    }

    /// How many elements a receive asks for. Where that is not known, it is one of the lengths that messages have.
    pub(super) fn asked(&mut self, count: &Expr, span: Span) -> Lower<Vec<(LocalExpr, u64)>> {
        let value = self.value(count)?;
        if let Some(known) = value.as_constant() {
            return Ok(vec![(Ir::TRUE, known.clamp(0, 1 << 32) as u64)]);
        }
        let value = self.saved(value, span);
        let forms = self.cx.one_sided().tracked.forms.iter();
        let lengths: BTreeSet<usize> = forms.map(|f| f.0).collect();
        let is = |n: usize| LocalExpr::binary(BinOp::Eq, value.e.clone(), Ir::Const(n as i64));
        let cases: Vec<_> = lengths.into_iter().map(|n| (is(n), n as u64)).collect();
        let any = cases
            .iter()
            .fold(Ir::FALSE, |e: LocalExpr, (is, _)| e.or(is.clone()));
        self.require(any, "a receive of another length than messages have", span);
        Ok(cases)
    }

    pub(super) fn counted_of(
        &mut self,
        count: u64,
        ty: &Expr,
        span: Span,
    ) -> Lower<(i64, Vec<u64>)> {
        let datatype = self.datatype(ty, span)?;
        let elements = datatype.elements(count);
        if elements.len() > MAX_ELEMENTS {
            return unsupported(
                span,
                "an operation on so many elements",
                "64 at most are followed",
            );
        }
        Ok((datatype.base, elements))
    }

    /// Makes a datatype of blocks of another one.
    pub(super) fn make_datatype(
        &mut self,
        [count, length, stride]: [Option<&Expr>; 3],
        of: &Expr,
        to: &Expr,
        span: Span,
    ) -> Lower<()> {
        let mut number = |e: Option<&Expr>| match e {
            Some(e) => self.small(e, "a size of a datatype", span),
            None => Ok(1),
        };
        let (count, length, stride) = (number(count)?, number(length)?, number(stride)?);
        let made = self.datatype(of, span)?.blocks(count, length, stride);
        let known = &mut self.cx.one_sided().datatypes;
        let place = known.iter().position(|d| *d == made);
        let number = place.unwrap_or_else(|| {
            known.push(made);
            known.len() - 1
        });
        self.set_handle(to, FIRST_MADE + number as i64, span)
    }
}
