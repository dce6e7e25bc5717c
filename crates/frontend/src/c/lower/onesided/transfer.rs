//! *Operations*, element by element: which cells of the target and of the buffers an element is, the checks
//! and marks of its accesses, and what it does to the cells. All elements of one operation are one step.
//!
//! Where the bytes of an element are not one cell of the memory (another type, an odd displacement), all cells
//! that it touches are accessed, and what is written to them is not followed ([`super::OPAQUE`]): to read it
//! ends the run as unsupported.

use palisade_program::{AtomicKind, BinOp, Expr as Ir, LocalExpr, Order, Place as Memory, Span};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::layout::Cells;
use super::super::mpi::WindowKind;
use super::super::place::{Access as Way, CellRef, Place, plus};
use super::super::value::Val;
use super::OPAQUE;
use super::datatype::{integer, width};
use super::network::Combine;
use super::shadow::{AtomicClass, Class, Issue};
use crate::c::ast::Expr;
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Put,
    Get,
    Atomic(Combine),
}

/// Elements of a predefined type, at bytes.
pub(super) type Elements = (i64, Vec<u64>);

/// An operation on a window.
pub(super) struct Operation<'e> {
    pub(super) name: &'e str,
    pub(super) kind: Kind,
    /// Buffers that it reads, each with its elements.
    pub(super) operands: Vec<(&'e Expr, Elements)>,
    /// The buffer that it writes.
    pub(super) result: Option<(&'e Expr, Elements)>,
    pub(super) rank: &'e Expr,
    pub(super) at: &'e Expr,
    pub(super) window: &'e Expr,
    pub(super) far: Elements,
    pub(super) request: Option<usize>,
}

/// The cells of the target that an element touches.
pub(super) struct Touched {
    pub(super) cells: Vec<Memory>,
    /// Where it starts in the first one, in bytes.
    pub(super) phase: u64,
    /// Whether it is one cell, as a whole.
    pub(super) is_whole: bool,
    pub(super) ty: Type,
}

/// What one element of an operation is.
pub(super) struct Element<'e> {
    pub(super) kind: Kind,
    /// Who does what, for reports.
    pub(super) what: &'e str,
    pub(super) base: i64,
    pub(super) touched: &'e Touched,
    pub(super) operands: &'e [Memory],
    pub(super) result: Option<&'e Memory>,
    /// Whether all sides have the same type.
    pub(super) same: bool,
}

impl Element<'_> {
    /// The access to the target.
    pub(super) fn class(&self) -> Class {
        let change = match self.kind {
            Kind::Put => return Class::Write,
            Kind::Get => return Class::Read,
            Kind::Atomic(Combine::NoOp) => AtomicClass::Read,
            Kind::Atomic(Combine::CompareSwap) => AtomicClass::Swap,
            Kind::Atomic(combine) => AtomicClass::Combine(combine as i64),
        };
        Class::Atomic {
            datatype: self.base,
            phase: self.touched.phase,
            change,
        }
    }
}

impl Code<'_, '_> {
    /// The cells that an element at byte `byte` of a buffer may be.
    pub(super) fn buffer_cells(
        &mut self,
        buffer: &Val,
        byte: u64,
        base: i64,
        span: Span,
    ) -> Lower<Vec<(LocalExpr, Memory)>> {
        let Some(pointee) = buffer.ty.pointee().cloned() else {
            return Err(Diagnostic::error(span, "expected a pointer"));
        };
        let size = pointee.size(self.cx.layouts.structs, self.cx.options.data_model);
        let ty = match (&pointee, integer(base)) {
            (Type::Void, Some(ty)) => ty,
            _ if size == Some(width(base)) => pointee,
            (_, Some(ty)) => ty,
            (_, None) => pointee,
        };
        let address = plus(buffer.e.clone(), Ir::Const(byte as i64));
        let pointer = Val {
            e: address,
            ..buffer.clone()
        };
        let place: Place = self.pointed(pointer, ty);
        self.poison(&place);
        let mut cells = Vec::new();
        for case in self.cases(&place, Way::Name, span)? {
            match case.cell {
                CellRef::Shared(memory) => cells.push((case.when, memory)),
                CellRef::Local(_) => {
                    return unsupported(
                        span,
                        "a buffer that is not in memory",
                        "use a variable of main, or a global one",
                    );
                }
            }
        }
        Ok(cells)
    }

    /// The cells of a window that an element may touch; none in early passes, where the window may
    /// not be known yet.
    fn window_cells(
        &mut self,
        (rank, number): (u32, usize),
        at: &Val,
        (byte, base): (u64, i64),
        span: Span,
    ) -> Lower<Vec<(LocalExpr, Touched)>> {
        let window = self.cx.mpi.as_ref().and_then(|m| m.window(rank, number));
        let Some(window) = window.cloned() else {
            return Ok(Vec::new());
        };
        if window.kind == WindowKind::Dynamic {
            return self.attached_cells((rank, number), at, (byte, base), span);
        }
        let Some(object) = self.cx.object_number(window.object) else {
            return Ok(Vec::new());
        };
        let Some(Cells::Shared(var)) = object.cells.first().cloned() else {
            return Ok(Vec::new());
        };
        let start = Ir::Const(window.start as i64);
        let one = object.leaves.first().map_or(1, |l| l.bytes).max(1);
        let is_array = object.leaves.first().is_some_and(|l| !l.dims.is_empty());
        let cell = |index: LocalExpr| Memory {
            var,
            index: is_array.then(|| plus(index, start.clone())),
            order: Order::Plain,
        };
        let bytes = width(base);
        if window.unit.is_multiple_of(one) && byte.is_multiple_of(one) && bytes == one {
            let (step, more) = ((window.unit / one) as i64, (byte / one) as i64);
            let scaled = match step {
                1 => at.e.clone(),
                _ => LocalExpr::binary(BinOp::Mul, at.e.clone(), Ir::Const(step)),
            };
            let index = plus(scaled, Ir::Const(more));
            let held = Val {
                e: index.clone(),
                lo: at.lo * i128::from(step) + i128::from(more),
                hi: at.hi * i128::from(step) + i128::from(more),
                ..at.clone()
            };
            self.checked_index(&held, window.count, span);
            let touched = Touched {
                cells: vec![cell(index)],
                phase: 0,
                is_whole: true,
                ty: window.ty,
            };
            return Ok(vec![(Ir::TRUE, touched)]);
        }
        let Some(at) = at.as_constant().and_then(|a| u64::try_from(a).ok()) else {
            return unsupported(
                span,
                "an operation on parts of elements, at a displacement that is not known here",
                "give a constant displacement, or the datatype of the window",
            );
        };
        let first = at * window.unit + byte;
        let (from, last) = (first / one, (first + bytes.max(1) - 1) / one);
        let end = Val::constant(i128::from(last), &Type::INT);
        self.checked_index(&end, window.count, span);
        if last >= window.count {
            return Ok(Vec::new());
        }
        let touched = Touched {
            cells: (from..=last).map(|k| cell(Ir::Const(k as i64))).collect(),
            phase: first % one,
            is_whole: first.is_multiple_of(one) && bytes == one,
            ty: window.ty,
        };
        Ok(vec![(Ir::TRUE, touched)])
    }

    /// An operation on a window.
    pub(super) fn operate_window(&mut self, op: &Operation<'_>, span: Span) -> Lower<()> {
        let lengths = op.operands.iter().chain(&op.result).map(|(_, e)| e.1.len());
        let count = op.far.1.len();
        if lengths.clone().any(|n| n != count) {
            return unsupported(
                span,
                "an operation with different numbers of elements at its sides",
                "give as many at the origin as at the target",
            );
        }
        let mut buffers = Vec::new();
        for (buffer, elements) in op.operands.iter().chain(&op.result) {
            let pointer = self.value(buffer)?;
            let pointer = self.saved(pointer, span);
            buffers.push((pointer, elements.clone()));
        }
        let number = self.window_number(op.window, span)?;
        let at = self.value(op.at)?;
        let at = self.saved(at, span);
        let what = format!("{} `{}`", self.whose(), op.name);
        self.each_window_rank(number, op.rank, span, &mut |code, rank| {
            code.check_epoch(number, rank, op.name, span);
            let words = format!("{what} to rank {rank}");
            let site = code.cx.one_sided().site(words.clone(), span);
            let issue = Issue {
                site,
                channel: number,
                to: rank,
                request: op.request,
                fetches: op.result.is_some(),
                covers: false,
            };
            code.atomically(AtomicKind::Block, span, |code| {
                for k in 0..count {
                    let place = (op.far.1[k], op.far.0);
                    let cells = code.window_cells((rank, number), &at, place, span)?;
                    code.each_touched(&cells, span, &mut |code, touched| {
                        let element = (op, touched, words.as_str());
                        code.operate_element(element, &buffers, k, &issue, span)
                    })?;
                }
                Ok(())
            })
        })
    }

    /// Runs `f` for each of the cells that an element may touch.
    fn each_touched(
        &mut self,
        cells: &[(LocalExpr, Touched)],
        span: Span,
        f: &mut dyn FnMut(&mut Self, &Touched) -> Lower<()>,
    ) -> Lower<()> {
        match cells {
            [] => Ok(()),
            [(Ir::TRUE, only)] => f(self, only),
            _ => self.each_case(cells, span, f),
        }
    }

    /// One element of an operation, for all cells that its buffers may be.
    fn operate_element(
        &mut self,
        (op, touched, what): (&Operation<'_>, &Touched, &str),
        buffers: &[(Val, Elements)],
        k: usize,
        issue: &Issue,
        span: Span,
    ) -> Lower<()> {
        let mut cells = Vec::new();
        let mut same = integer(op.far.0).as_ref() == Some(touched.ty.plain());
        for (pointer, (base, elements)) in buffers {
            cells.push(self.buffer_cells(pointer, elements[k], *base, span)?);
            same &= *base == op.far.0;
        }
        let used = op.operands.len();
        let mut result = Ok(());
        self.each_cell(&cells, &mut Vec::new(), span, &mut |code, places| {
            let element = Element {
                kind: op.kind,
                what,
                base: op.far.0,
                touched,
                operands: &places[..used],
                result: places.get(used),
                same,
            };
            if result.is_ok() {
                result = code.issue_element(&element, issue, span);
            }
        });
        result
    }

    /// Checks and marks the accesses of an element, and does it (an atomic one goes on its way).
    pub(super) fn issue_element(
        &mut self,
        element: &Element<'_>,
        issue: &Issue,
        span: Span,
    ) -> Lower<()> {
        let class = element.class();
        for cell in &element.touched.cells {
            self.check_access(cell, class, element.what, span)?;
        }
        for cell in &element.touched.cells {
            self.mark_access(cell, (issue.target(), class), issue, span)?;
        }
        for operand in element.operands {
            self.check_access(operand, Class::Read, element.what, span)?;
            self.mark_access(operand, (issue.origin(), Class::Read), issue, span)?;
        }
        if let Some(result) = element.result {
            self.check_access(result, Class::Write, element.what, span)?;
            self.mark_access(result, (issue.origin(), Class::Write), issue, span)?;
        }
        self.do_element(element, issue, span)
    }

    fn do_element(&mut self, element: &Element<'_>, issue: &Issue, span: Span) -> Lower<()> {
        let is_followed = element.touched.is_whole && element.same;
        let target = element.touched.cells.first();
        match (element.kind, target) {
            (Kind::Atomic(combine), Some(target)) if is_followed => {
                let (operands, result) = (element.operands, element.result);
                return self.send_atomic(target, combine, operands, result, issue, span);
            }
            (Kind::Put, Some(target)) if is_followed => {
                if let Some(source) = element.operands.first() {
                    let value = self.load_from(source, span);
                    self.store_to(target, value, span);
                }
                return Ok(());
            }
            (Kind::Get, Some(target)) if is_followed => {
                if let Some(result) = element.result {
                    let value = self.load_from(target, span);
                    self.store_to(result, value, span);
                }
                return Ok(());
            }
            (Kind::Put | Kind::Get | Kind::Atomic(_), _) => {}
        }
        if element.class() != Class::Read {
            for cell in &element.touched.cells {
                self.store_to(cell, Ir::Const(OPAQUE), span);
            }
        }
        if let Some(result) = element.result {
            self.store_to(result, Ir::Const(OPAQUE), span);
        }
        Ok(())
    }
}
