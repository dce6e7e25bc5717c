//! *Symmetric memory* of OpenSHMEM: objects that every PE has, globals, statics and what `shmem_malloc` returns.
//! A PE names memory of another by the address of its own; the `n`-th allocation of one belongs to
//! the `n`-th ones of the others.

use palisade_program::{Expr as Ir, LocalExpr, Order, Place as Memory, Span};

use super::super::Context;
use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::layout::Cells;
use super::super::value::Val;
use super::datatype::width;
use super::transfer::Touched;

impl Context<'_> {
    /// Notes that the newest object is symmetric; `key` is the same at every PE.
    pub(in super::super) fn note_symmetric(&mut self, key: String) {
        let rank = self.mpi.as_ref().map_or(0, |mpi| mpi.rank);
        let number = self.objects.len().saturating_sub(1);
        if let Some(onesided) = &mut self.onesided {
            onesided.tracked.symmetric.insert((rank, key), number);
        }
    }
}

impl Code<'_, '_> {
    /// The object of PE `to` that belongs to an own one.
    fn twin(&mut self, object: usize, to: u32) -> Option<usize> {
        let me = self.me();
        let known = &self.cx.one_sided().tracked.symmetric;
        let key = known
            .iter()
            .find(|((rank, _), k)| *rank == me && **k == object);
        let ((_, key), _) = key?;
        known.get(&(to, key.clone())).copied()
    }

    /// The cells of PE `to` that the element at byte `byte` behind an own address may be.
    pub(super) fn symmetric_cells(
        &mut self,
        (pointer, to): (&Val, u32),
        (byte, base): (u64, i64),
        span: Span,
    ) -> Lower<Vec<(LocalExpr, Touched)>> {
        if let Some(touched) = self.known_cells((pointer, to), (byte, base), span)? {
            return Ok(vec![(Ir::TRUE, touched)]);
        }
        let mut all = Vec::new();
        for (when, own) in self.buffer_cells(pointer, byte, base, span)? {
            let Some((object, leaf)) = self.memory_of_variable(own.var) else {
                continue;
            };
            let Some(twin) = self.twin(object, to) else {
                // Only where the pointer is this object it is not symmetric.
                let here = when.negate();
                self.demand(here, "the remote address is not of symmetric memory", span);
                continue;
            };
            if let Some(touched) = self.cell_of(twin, leaf, own.index) {
                all.push((when, touched));
            }
        }
        Ok(all)
    }

    fn cell_of(&self, object: usize, leaf: usize, index: Option<LocalExpr>) -> Option<Touched> {
        let object = self.cx.object_number(object)?;
        let Some(Cells::Shared(var)) = object.cells.get(leaf) else {
            return None;
        };
        let cell = Memory {
            var: *var,
            index,
            order: Order::Plain,
        };
        Some(Touched {
            cells: vec![cell],
            phase: 0,
            is_whole: true,
            ty: object.leaves.get(leaf)?.ty.clone(),
        })
    }

    /// The cells behind a constant address, whatever their type is.
    fn known_cells(
        &mut self,
        (pointer, to): (&Val, u32),
        (byte, base): (u64, i64),
        span: Span,
    ) -> Lower<Option<Touched>> {
        let Some(address) = pointer.as_constant() else {
            return Ok(None);
        };
        let Some(number) = self.cx.object_at(address as i64) else {
            return Ok(None);
        };
        let Some(object) = self.cx.object_number(number) else {
            return Ok(None);
        };
        if !object.in_registers() && self.twin(number, to).is_none() && self.cx.previous.complete {
            self.demand(
                Ir::FALSE,
                "the remote address is not of symmetric memory",
                span,
            );
            self.block(span);
            return Ok(None);
        }
        let start = object.base.map_or(0, i128::from);
        let first = (address - start) as u64 + byte;
        let bytes = width(base).max(1);
        let found = object.leaves.iter().position(|leaf| {
            let last = leaf.count().saturating_sub(1);
            leaf.offset <= first && first < leaf.cell(last) + leaf.bytes && leaf.is_contiguous()
        });
        let Some(found) = found else {
            return Ok(None);
        };
        let leaf = &object.leaves[found];
        let from = (first - leaf.offset) / leaf.bytes;
        let last = (first + bytes - 1 - leaf.offset) / leaf.bytes;
        if last >= leaf.count() {
            self.demand(Ir::FALSE, "a remote access beyond its object", span);
            self.block(span);
            return Ok(None);
        }
        let Some(twin) = self.twin(number, to) else {
            return Ok(None);
        };
        let is_array = !leaf.dims.is_empty();
        let mut cells = Vec::new();
        for k in from..=last {
            let index = is_array.then_some(Ir::Const(k as i64));
            let Some(touched) = self.cell_of(twin, found, index) else {
                return unsupported(span, "a remote access to this memory", "use a variable");
            };
            cells.extend(touched.cells);
        }
        let phase = (first - leaf.offset) % leaf.bytes;
        Ok(Some(Touched {
            cells,
            phase,
            is_whole: phase == 0 && bytes == leaf.bytes,
            ty: leaf.ty.clone(),
        }))
    }
}
