//! *Segments* of GASPI: memory of a rank that others reach by the segment's number and an offset in bytes. A
//! segment is allocated, or a part of an object that is bound to it; others reach it once it is registered.
//!
//! Operations count bytes. What they move are the elements of the memory: where source and target have equal elements at equal
//! distances, these are copied; else what is written is not followed ([`super::OPAQUE`]). The elements of a segment that is
//! allocated are of the type to which the program casts its pointer, or of the first `sizeof` of its size.

use palisade_program::{BinOp, Expr as Ir, LocalExpr, Order, Place as Memory, Span};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::layout::{Cells, Leaf, Object};
use super::super::place::plus;
use super::super::value::Val;
use super::super::walk;
use crate::c::ast::{Expr, ExprKind, Initializer, Item, StmtKind, Unary};
use crate::c::types::Type;

/// Bytes of one operation at most.
const MAX_BYTES: i128 = 1024;
/// Cells of one operation at most.
const MAX_CELLS: usize = 64;
/// Memory that is filled with zeros.
const INITIALISED: i128 = 1;

/// A segment of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Segment {
    object: usize,
    /// Where it starts in the object, and how many bytes it has.
    start: u64,
    bytes: u64,
    /// Whether other ranks reach it.
    is_registered: bool,
}

/// A cell of the memory that an operation touches.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Where it starts, from the operation's first byte; cells may start before.
    pub(super) at: i64,
    pub(super) memory: Memory,
    pub(super) ty: Type,
    pub(super) bytes: u64,
}

/// Where an operation accesses a segment.
#[derive(Clone)]
pub(super) struct Region {
    pub(super) segment: i64,
    pub(super) offset: Val,
    pub(super) bytes: u64,
}

/// How an expression is divided by a number of bytes: the quotient, and whether it is known that nothing is left.
fn divided(e: &LocalExpr, bytes: i64) -> (LocalExpr, bool) {
    match e {
        Ir::Const(c) if c % bytes == 0 => (Ir::Const(c / bytes), true),
        Ir::Binary(BinOp::Mul, a, b) => match (a.as_ref(), b.as_ref()) {
            (x, Ir::Const(c)) | (Ir::Const(c), x) if c % bytes == 0 => {
                let step = Ir::Const(c / bytes);
                (LocalExpr::binary(BinOp::Mul, x.clone(), step), true)
            }
            _ => quotient(e, bytes),
        },
        Ir::Binary(BinOp::Add, a, b) => match (divided(a, bytes), divided(b, bytes)) {
            ((a, true), (b, true)) => (plus(a, b), true),
            _ => quotient(e, bytes),
        },
        Ir::Const(_) | Ir::Atom(_) | Ir::Unary(..) | Ir::Binary(..) | Ir::Cond(..) => {
            quotient(e, bytes)
        }
    }
}

fn quotient(e: &LocalExpr, bytes: i64) -> (LocalExpr, bool) {
    match bytes {
        1 => (e.clone(), true),
        _ => (
            LocalExpr::binary(BinOp::Div, e.clone(), Ir::Const(bytes)),
            false,
        ),
    }
}

impl Code<'_, '_> {
    /// The number of a segment.
    pub(super) fn segment_number(&mut self, e: &Expr, span: Span) -> Lower<i64> {
        match self.fixed(e)?.and_then(|n| i64::try_from(n).ok()) {
            Some(number) => Ok(number),
            None => unsupported(
                span,
                "a segment that is not known here",
                "give each segment a number of its own",
            ),
        }
    }

    /// A number of bytes.
    pub(super) fn byte_count(&mut self, e: &Expr, span: Span) -> Lower<u64> {
        let count = self.fixed(e)?;
        match count.filter(|n| (0..=MAX_BYTES).contains(n)) {
            Some(count) => Ok(count as u64),
            None => unsupported(
                span,
                "a number of bytes that is not known here",
                "give a constant, 1024 at most",
            ),
        }
    }

    /// `gaspi_segment_alloc`, and `gaspi_segment_create`, which registers it.
    pub(super) fn allocate_segment(
        &mut self,
        [number, size, policy]: [&Expr; 3],
        is_registered: bool,
        span: Span,
    ) -> Lower<()> {
        if self.loop_depth > 0 || self.is_any {
            return unsupported(
                span,
                "a segment made in a loop",
                "make it before the loop, in main",
            );
        }
        let ty = self.segment_type(number, size)?;
        let number = self.segment_number(number, span)?;
        let bytes = self.fixed(size)?.and_then(|n| u64::try_from(n).ok());
        let Some(bytes) = bytes.filter(|n| *n > 0) else {
            return unsupported(span, "a segment of unknown size", "give a constant");
        };
        let one = self.cx.layouts.size(&ty, span)?.max(1);
        let (ty, count) = if bytes.is_multiple_of(one) {
            (ty, bytes / one)
        } else {
            (Type::CHAR, bytes)
        };
        let whole = match count {
            1 => ty,
            _ => Type::Array(std::rc::Rc::new(ty), Some(count)),
        };
        let object = self
            .cx
            .object(&format!("segment{number}"), &whole, true, false, span)?;
        if self.value(policy)?.as_constant() != Some(INITIALISED) {
            self.cx.forget_initial(&object);
        }
        let segment = Segment {
            object: self.cx.objects.len() - 1,
            start: 0,
            bytes,
            is_registered,
        };
        self.note_segment(number, segment);
        Ok(())
    }

    /// `gaspi_segment_bind`, and `gaspi_segment_use`, which registers it.
    pub(super) fn bind_segment(
        &mut self,
        [number, memory, size]: [&Expr; 3],
        is_registered: bool,
        span: Span,
    ) -> Lower<()> {
        let number = self.segment_number(number, span)?;
        let address = self.value(memory)?;
        let known = address.as_constant().map(|a| a as i64);
        let object = known.and_then(|a| self.cx.object_at(a));
        let bytes = self.fixed(size)?.and_then(|n| u64::try_from(n).ok());
        let of = object.and_then(|k| self.cx.object_number(k));
        match (known, object, bytes, of.and_then(|o| o.base)) {
            (Some(address), Some(object), Some(bytes), Some(base)) if self.loop_depth == 0 => {
                let segment = Segment {
                    object,
                    start: (address - base) as u64,
                    bytes,
                    is_registered,
                };
                self.note_segment(number, segment);
                Ok(())
            }
            _ => unsupported(
                span,
                "a segment of this memory",
                "bind a whole variable or allocation, of a constant size, outside of loops",
            ),
        }
    }

    fn note_segment(&mut self, number: i64, segment: Segment) {
        let me = self.me();
        let segments = &mut self.cx.one_sided().tracked.segments;
        segments.insert((me, number), segment);
    }

    /// `gaspi_segment_register`: others reach it.
    pub(super) fn register_segment(&mut self, number: &Expr, span: Span) -> Lower<()> {
        let number = self.segment_number(number, span)?;
        let me = self.me();
        let segments = &mut self.cx.one_sided().tracked.segments;
        if let Some(segment) = segments.get_mut(&(me, number)) {
            segment.is_registered = true;
        }
        Ok(())
    }

    /// The segment of a rank, which has to be there.
    pub(super) fn segment_of(
        &mut self,
        (rank, number): (u32, i64),
        span: Span,
    ) -> Option<(Segment, std::rc::Rc<Object>)> {
        let me = self.me();
        let known = self.cx.one_sided().tracked.segments.get(&(rank, number));
        let known = known.copied().filter(|s| rank == me || s.is_registered);
        let found = known.and_then(|s| Some((s, self.cx.object_number(s.object)?)));
        if found.is_none() && self.cx.previous.complete {
            let words = format!("rank {rank} has no segment {number} here");
            self.demand(Ir::FALSE, &words, span);
            self.block(span);
        }
        found
    }

    /// The address of a segment of this rank.
    pub(super) fn segment_address(&mut self, number: &Expr, span: Span) -> Lower<Option<Val>> {
        let number = self.segment_number(number, span)?;
        let place = (self.me(), number);
        let Some((segment, object)) = self.segment_of(place, span) else {
            return Ok(None);
        };
        let address = object.base.unwrap_or(0) + segment.start as i64;
        let pointer = Type::pointer(Type::Void);
        let value = Val::constant(i128::from(address), &pointer);
        Ok(Some(Val {
            object: Some(segment.object),
            ..value
        }))
    }

    /// The size of a segment.
    pub(super) fn segment_size(&mut self, rank: u32, number: i64, span: Span) -> Option<u64> {
        self.segment_of((rank, number), span).map(|(s, _)| s.bytes)
    }

    /// The cells that an operation touches at a rank, by their bytes; none where the segment is not known yet.
    pub(super) fn segment_cells(
        &mut self,
        rank: u32,
        region: &Region,
        span: Span,
    ) -> Lower<Vec<Piece>> {
        let Some((segment, object)) = self.segment_of((rank, region.segment), span) else {
            return Ok(Vec::new());
        };
        let is_far = rank != self.me();
        let words = format!("an access beyond segment {} of rank {rank}", region.segment);
        let last = segment.bytes as i64 - region.bytes as i64;
        if let Some(offset) = region.offset.as_constant() {
            let offset = offset as i64;
            if offset < 0 || offset > last {
                self.demand(Ir::FALSE, &words, span);
                self.block(span);
                return Ok(Vec::new());
            }
            let start = segment.start + offset as u64;
            return constant_pieces(&object, start, region.bytes, span);
        }
        let e = &region.offset.e;
        let low = LocalExpr::binary(BinOp::Ge, e.clone(), Ir::Const(0));
        let high = LocalExpr::binary(BinOp::Le, e.clone(), Ir::Const(last));
        self.demand(low.and(high), &words, span);
        let help = "use constant offsets, or a segment that is one array";
        let (Some(leaf), 1) = (object.leaves.first(), object.leaves.len()) else {
            return unsupported(span, "an offset that is not known here", help);
        };
        let one = leaf.bytes.max(1);
        let is_whole = region.bytes.is_multiple_of(one) && segment.start.is_multiple_of(one);
        let Some(Cells::Shared(var)) = object.cells.first().cloned() else {
            return Ok(Vec::new());
        };
        if !is_whole || !leaf.is_contiguous() || leaf.dims.is_empty() || leaf.offset > 0 {
            return unsupported(span, "an offset that is not known here", help);
        }
        let (index, is_exact) = divided(e, one as i64);
        if !is_exact {
            let rest = LocalExpr::binary(BinOp::Mod, e.clone(), Ir::Const(one as i64));
            let even = LocalExpr::binary(BinOp::Eq, rest, Ir::Const(0));
            self.require(even, "an operation on parts of elements", span);
        }
        let first = plus(index, Ir::Const((segment.start / one) as i64));
        let cells = (0..(region.bytes / one) as i64).map(|k| Piece {
            at: k * one as i64,
            memory: Memory {
                var,
                index: Some(plus(first.clone(), Ir::Const(k))),
                order: Order::Plain,
            },
            ty: leaf.ty.clone(),
            bytes: one,
        });
        let cells: Vec<Piece> = cells.collect();
        debug_assert!(is_far || object.rank == Some(self.me()));
        few(cells, span)
    }

    /// The type of the elements of a segment that is allocated.
    fn segment_type(&mut self, number: &Expr, size: &Expr) -> Lower<Type> {
        let id = self.fixed(number)?;
        let mut pointers = Vec::new();
        let mut others = Vec::new();
        for item in &self.cx.file.items {
            let Item::Function(f) = item else {
                continue;
            };
            each_pointer(&f.body, &mut |of, ty| {
                let same = match (&of.kind, &number.kind) {
                    (ExprKind::Ident(a), ExprKind::Ident(b)) => a == b,
                    (ExprKind::Int(a, _), _) => id == Some(*a),
                    _ => false,
                };
                let list = if same { &mut pointers } else { &mut others };
                if !list.contains(ty) {
                    list.push(ty.clone());
                }
            });
        }
        let only = |list: &[Type]| match list {
            [only] => Some(only.clone()),
            _ => None,
        };
        let sized = || self.cx.sized([size]).or_else(|| self.sized_by_name(size));
        let atomic = Type::Int {
            bits: 64,
            signed: false,
        };
        let uses = |part: &str| {
            let mut names = self.cx.names_used.mentioned.iter();
            names.any(|name| name.starts_with(part))
        };
        let whole = |ty: Type| (*ty.plain() != Type::Void).then_some(ty);
        Ok(only(&pointers)
            .or_else(sized)
            .or_else(|| only(&others))
            .and_then(whole)
            .or_else(|| uses("gaspi_atomic_").then_some(atomic))
            .unwrap_or(Type::CHAR))
    }

    /// The first `sizeof` of what a variable is initialised with.
    fn sized_by_name(&self, size: &Expr) -> Option<Type> {
        let ExprKind::Ident(name) = &size.kind else {
            return None;
        };
        let mut found = None;
        let mut look = |name_of: &str, init: Option<&Initializer>| {
            if let (true, None, Some(Initializer::Value(e))) = (name_of == name, &found, init) {
                found = self.cx.sized([e]);
            }
        };
        for item in &self.cx.file.items {
            match item {
                Item::Variable(d) => look(&d.name, d.init.as_ref()),
                Item::Function(f) => {
                    for s in &f.body {
                        walk::each_stmt(s, &mut |s| {
                            if let StmtKind::Declare(all) = &s.kind {
                                for d in all {
                                    look(&d.name, d.init.as_ref());
                                }
                            }
                        });
                    }
                }
            }
        }
        found
    }
}

fn few(cells: Vec<Piece>, span: Span) -> Lower<Vec<Piece>> {
    if cells.len() > MAX_CELLS {
        let help = "64 elements at most are followed";
        return unsupported(span, "an operation on so many elements", help);
    }
    Ok(cells)
}

/// The cells of an object that `bytes` bytes from `start` on touch.
pub(super) fn constant_pieces(
    object: &Object,
    start: u64,
    bytes: u64,
    span: Span,
) -> Lower<Vec<Piece>> {
    let mut pieces = Vec::new();
    for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
        let Cells::Shared(var) = cells else {
            return unsupported(span, "an operation on this memory", "use a variable");
        };
        let touches = |at: &u64| *at < start + bytes && start < at + leaf.bytes;
        let numbers = 0..leaf.count();
        pieces.extend(numbers.filter_map(|k| {
            let at = Some(leaf.cell(k)).filter(touches)?;
            Some(Piece {
                at: at as i64 - start as i64,
                memory: cell(leaf, *var, k),
                ty: leaf.ty.clone(),
                bytes: leaf.bytes,
            })
        }));
    }
    pieces.sort_by_key(|p| p.at);
    few(pieces, span)
}

fn cell(leaf: &Leaf, var: palisade_program::GlobalId, k: u64) -> Memory {
    Memory {
        var,
        index: (!leaf.dims.is_empty()).then_some(Ir::Const(k as i64)),
        order: Order::Plain,
    }
}

/// Calls `f` with the segments whose pointers are asked for in a function, and with the types that these become.
fn each_pointer<'a>(body: &'a [crate::c::ast::Stmt], f: &mut dyn FnMut(&'a Expr, &Type)) {
    let mut asked: Vec<(&'a Expr, &'a str)> = Vec::new();
    for s in body {
        walk::each_in_stmt(s, &mut |e| {
            let ExprKind::Call(callee, args) = &e.kind else {
                return;
            };
            let is_it = matches!(&callee.kind, ExprKind::Ident(n) if n == "gaspi_segment_ptr");
            let ([segment, to], true) = (args.as_slice(), is_it) else {
                return;
            };
            let mut to = to;
            while let ExprKind::Cast(_, inner) = &to.kind {
                to = inner;
            }
            if let ExprKind::Unary(Unary::Address, inner) = &to.kind
                && let ExprKind::Ident(name) = &inner.kind
            {
                asked.push((segment, name));
            }
        });
    }
    let note = |name: &str, ty: &Type, f: &mut dyn FnMut(&'a Expr, &Type)| {
        let pointee = ty.pointee().filter(|t| *t.plain() != Type::Void);
        if let Some(pointee) = pointee {
            let of = asked.iter().filter(|(_, known)| *known == name);
            of.for_each(|(segment, _)| f(segment, pointee.plain()));
        }
    };
    for s in body {
        walk::each_in_stmt(s, &mut |e| {
            if let ExprKind::Cast(ty, inner) = &e.kind
                && let ExprKind::Ident(name) = &inner.kind
            {
                note(name, ty, f);
            }
        });
        walk::each_stmt(s, &mut |s| {
            if let StmtKind::Declare(all) = &s.kind {
                for d in all {
                    note(&d.name, &d.ty, f);
                    if let Some(Initializer::Value(e)) = &d.init
                        && let ExprKind::Ident(name) = &e.kind
                    {
                        note(name, &d.ty, f);
                    }
                }
            }
        });
    }
}
