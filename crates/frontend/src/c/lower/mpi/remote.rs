//! *Remote operations* of MPI: puts, gets and atomic operations, element by element, with the
//! cells that their buffers may be.

use palisade_program::{
    Change, Expr as Ir, LocalExpr, Place as Memory, RemoteAtomic, RemoteOp, Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::place::{CellRef, Place};
use super::super::value::Val;
use super::MAX_ELEMENTS;
use crate::c::ast::Expr;
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// The arguments that say which elements of a window are meant.
pub(super) struct Target<'e> {
    pub(super) rank: &'e Expr,
    pub(super) at: &'e Expr,
    pub(super) window: &'e Expr,
}

impl Code<'_, '_> {
    pub(super) fn elements(&mut self, count: &Expr, far: &Expr, span: Span) -> Lower<u64> {
        let (count, far) = (
            self.value(count)?.as_constant(),
            self.value(far)?.as_constant(),
        );
        match (count, far) {
            (Some(n), Some(m)) if n == m && (0..=MAX_ELEMENTS).contains(&n) => Ok(n as u64),
            _ => unsupported(
                span,
                "an operation on this number of elements",
                "give equal constants for origin and target, 64 at most",
            ),
        }
    }

    pub(super) fn operation(&mut self, op: &Expr, span: Span) -> Lower<RemoteOp> {
        let number = self.value(op)?.as_constant();
        let number = number.and_then(|n| usize::try_from(n - 1).ok());
        match number.and_then(|n| RemoteOp::ALL.get(n)) {
            Some(op) => Ok(*op),
            None => unsupported(
                span,
                "this operation",
                "MPI_SUM, MPI_REPLACE, MPI_NO_OP, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR",
            ),
        }
    }

    /// Checks that a datatype is that of the elements.
    pub(super) fn check_type(&mut self, datatype: &Expr, ty: &Type, span: Span) -> Lower<()> {
        let named = self.value(datatype)?.as_constant();
        let Type::Int { bits, signed } = ty.plain() else {
            return unsupported(span, "an operation on this type", "use integers");
        };
        let own = i128::from(*bits) + if *signed { 0 } else { 1000 };
        if named == Some(own) {
            return Ok(());
        }
        unsupported(
            span,
            "a datatype that is not the one of the memory",
            "name the type of the variable, such as MPI_INT for int",
        )
    }

    /// Element `k` of a buffer of this rank, case by case.
    pub(super) fn own_cells(
        &mut self,
        buffer: &Val,
        k: u64,
        span: Span,
    ) -> Lower<Vec<(LocalExpr, Memory)>> {
        let Some(ty) = buffer.ty.pointee().cloned() else {
            return Err(Diagnostic::error(span, "expected a pointer"));
        };
        let by = k * self.cx.layouts.size(&ty, span)?;
        let address = super::super::place::plus(buffer.e.clone(), Ir::Const(by as i64));
        let pointer = Val {
            e: address,
            ..buffer.clone()
        };
        let place: Place = self.pointed(pointer, ty);
        self.poison(&place);
        let mut cells = Vec::new();
        for case in self.cases(&place, super::super::place::Access::Name, span)? {
            match case.cell {
                CellRef::Shared(memory) => cells.push((case.when, memory)),
                CellRef::Local(_) => {
                    return unsupported(
                        span,
                        "a buffer that is not in memory",
                        "use a variable whose address is taken only here",
                    );
                }
            }
        }
        Ok(cells)
    }

    /// The network may write what is not initialised there.
    pub(in super::super) fn poison(&self, place: &Place) {
        let known = match place {
            Place::Address { object, .. } => object.and_then(|k| self.cx.object_number(k)),
            Place::Variable { object, .. } => Some(object.clone()),
        };
        match known {
            Some(object) => object.poisoned.set(true),
            None => {
                for object in self.cx.targets(None, None, self.thread) {
                    object.poisoned.set(true);
                }
            }
        }
    }

    /// Runs `f` once for each combination of cells that buffers may be.
    pub(in super::super) fn each_cell(
        &mut self,
        buffers: &[Vec<(LocalExpr, Memory)>],
        chosen: &mut Vec<Memory>,
        span: Span,
        f: &mut dyn FnMut(&mut Self, &[Memory]),
    ) {
        let Some((first, rest)) = buffers.split_first() else {
            f(self, chosen);
            return;
        };
        if let [(when, only)] = first.as_slice()
            && *when == Ir::TRUE
        {
            chosen.push(only.clone());
            self.each_cell(rest, chosen, span, f);
            chosen.pop();
            return;
        }
        let (start, join) = (self.here, self.graph.loc());
        for (when, memory) in first {
            let then = self.graph.loc();
            self.here = start;
            self.assume(when.clone(), then, span);
            self.at(then);
            chosen.push(memory.clone());
            self.each_cell(rest, chosen, span, f);
            chosen.pop();
            self.go(join, span);
        }
        self.at(join);
    }

    pub(super) fn transfer(
        &mut self,
        is_put: bool,
        origin: &Expr,
        count: u64,
        types: [&Expr; 2],
        target: &Target<'_>,
        span: Span,
    ) -> Lower<()> {
        let buffers = [origin];
        self.remote(&buffers, count, types, target, span, &|places, remote| {
            let (remote, local) = (remote.clone(), places[0].clone());
            if is_put {
                Step::Put { remote, local }
            } else {
                Step::Get { local, remote }
            }
        })
    }

    #[allow(clippy::too_many_arguments)] // what MPI's own calls say
    pub(super) fn atomic_operation(
        &mut self,
        operands: &[&Expr],
        result: Option<&Expr>,
        count: u64,
        types: [&Expr; 2],
        target: &Target<'_>,
        change: &dyn Fn(&[Memory]) -> Change,
        span: Span,
    ) -> Lower<()> {
        let buffers: Vec<&Expr> = operands.iter().copied().chain(result).collect();
        let used = operands.len();
        self.remote(&buffers, count, types, target, span, &|places, remote| {
            Step::RemoteAtomic(Box::new(RemoteAtomic {
                remote: remote.clone(),
                change: change(&places[..used]),
                result: places.get(used).cloned(),
            }))
        })
    }

    /// Emits a remote operation for each element, with these buffers.
    pub(super) fn remote(
        &mut self,
        buffers: &[&Expr],
        count: u64,
        types: [&Expr; 2],
        target: &Target<'_>,
        span: Span,
        step: &dyn Fn(&[Memory], &Memory) -> Step,
    ) -> Lower<()> {
        let mut pointers = Vec::new();
        for buffer in buffers {
            let pointer = self.value(buffer)?;
            let Some(ty) = pointer.ty.pointee().cloned() else {
                return Err(Diagnostic::error(buffer.span, "expected a pointer"));
            };
            self.check_type(types[0], &ty, buffer.span)?;
            pointers.push(self.saved(pointer, span));
        }
        let number = self.window_number(target.window, span)?;
        if let Some(ty) = self.window_type(number) {
            self.check_type(types[1], &ty, span)?;
        }
        let at = self.value(target.at)?;
        let at = self.saved(at, span);
        self.each_rank(target.rank, span, &mut |code, rank| {
            for k in 0..count {
                let Some(remote) = code.remote_cell(rank, number, &at, k, span) else {
                    continue;
                };
                let mut cells = Vec::new();
                for pointer in &pointers {
                    cells.push(code.own_cells(pointer, k, span)?);
                }
                code.each_cell(&cells, &mut Vec::new(), span, &mut |code, places| {
                    code.emit(step(places, &remote), span);
                });
            }
            Ok(())
        })
    }
}
