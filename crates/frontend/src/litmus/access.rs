//! *Accesses*: how a read or write of some bytes at an address becomes steps on
//! whole cells.
//!
//! - The address is a constant, or computed: then there is one branch for each
//!   cell it may name, and a check that it names one.
//! - A load narrower than its cell reads the cell and cuts out the bytes: exact,
//!   because stores put whole cells into the buffer.
//! - A store narrower than its cell would have to merge with what memory holds
//!   when it leaves the buffer. It is exact as load, merge, store only if no
//!   other thread accesses the variable, or inside an atomic block. Otherwise the
//!   test is refused, as herd refuses it without its mixed-size variant.

use palisade_program::{BinOp, LocalExpr, LocalId, Order, Place, Span, Step};

use super::Failure;
use super::emit::{Emitter, read};
use super::memory::{CellRef, Layout};
use super::ty::canonical;
use crate::diagnostic::Diagnostic;

/// The words of the check that a computed address names a location.
pub(super) const BAD_ADDRESS: &str = "the address names no location of the test";

/// Calls `f` on every cell that `address` may name; steps that it emits run when
/// it does name that cell.
pub(super) fn for_each_cell<T: AsMut<Emitter>>(
    thread: &mut T,
    layout: &Layout,
    address: &LocalExpr,
    span: Span,
    mut f: impl FnMut(&mut T, CellRef) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let LocalExpr::Const(value) = address {
        let Some(cell) = layout.cell_at(*value) else {
            return Err(Diagnostic::error(span, BAD_ADDRESS)
                .help("put a location's address into the register: `0:rax=x`")
                .into());
        };
        return f(thread, cell);
    }
    let cells = layout.pointees();
    let target = |cell: CellRef| LocalExpr::Const(layout.address(cell.var, cell.index));
    let named = cells.iter().fold(LocalExpr::FALSE, |known, &cell| {
        known.or(LocalExpr::binary(BinOp::Eq, address.clone(), target(cell)))
    });
    thread.as_mut().check(named, BAD_ADDRESS, span);
    let from = thread.as_mut().here();
    let join = thread.as_mut().loc();
    for cell in cells {
        thread.as_mut().go_on(from);
        let is_it = LocalExpr::binary(BinOp::Eq, address.clone(), target(cell));
        thread.as_mut().step(Step::Assume(is_it), span);
        f(thread, cell)?;
        thread.as_mut().edge_to(Step::Skip, join, span);
    }
    thread.as_mut().go_on(join);
    Ok(())
}

/// Loads `bits` bits of `cell` into `dst`.
pub(super) fn load(
    emitter: &mut Emitter,
    layout: &Layout,
    cell: CellRef,
    bits: u8,
    dst: LocalId,
    span: Span,
) -> Result<(), Failure> {
    let shift = check_inside(layout, cell, bits, span)?;
    let src = place(layout, cell);
    if layout.vars[cell.var].ty.bits == bits {
        emitter.step(Step::Load { dst, src }, span);
        return Ok(());
    }
    let whole = emitter.temp();
    emitter.step(Step::Load { dst: whole, src }, span);
    let cut = LocalExpr::binary(BinOp::Shr, read(whole), LocalExpr::Const(shift));
    emitter.assign(dst, canonical(bits, cut), span);
    Ok(())
}

/// Stores `value`, canonical in `bits` bits, to `cell`.
pub(super) fn store(
    emitter: &mut Emitter,
    layout: &Layout,
    cell: CellRef,
    bits: u8,
    value: LocalExpr,
    span: Span,
) -> Result<(), Failure> {
    let shift = check_inside(layout, cell, bits, span)?;
    let dst = place(layout, cell);
    let variable = &layout.vars[cell.var];
    let cell_bits = variable.ty.bits;
    if cell_bits == bits {
        emitter.step(Step::Store { dst, value }, span);
        return Ok(());
    }
    if !emitter.in_atomic() && variable.threads.len() > 1 {
        return Err(Diagnostic::error(
            span,
            format!(
                "mixed-size accesses to `{}` are not supported",
                variable.name
            ),
        )
        .label(format!("stores {bits} of its {cell_bits} bits"))
        .help("access the location with one size only, or declare a narrower type")
        .into());
    }
    let whole = emitter.temp();
    let src = dst.clone();
    emitter.step(Step::Load { dst: whole, src }, span);
    let mask = ((1_i128 << bits) - 1) << shift;
    let kept = LocalExpr::binary(BinOp::BitAnd, read(whole), LocalExpr::Const(!(mask as i64)));
    let moved = LocalExpr::binary(BinOp::Shl, value, LocalExpr::Const(shift));
    let merged = LocalExpr::binary(BinOp::BitOr, kept, canonical(cell_bits, moved));
    emitter.step(Step::Store { dst, value: merged }, span);
    Ok(())
}

/// The shift of the accessed bytes in their cell; an error if they leave it.
fn check_inside(layout: &Layout, cell: CellRef, bits: u8, span: Span) -> Result<i64, Failure> {
    let variable = &layout.vars[cell.var];
    let shift = i64::from(cell.offset) * 8;
    if shift + i64::from(bits) > i64::from(variable.ty.bits) {
        return Err(Diagnostic::error(
            span,
            format!(
                "an access of {bits} bits does not lie within one cell of `{}`",
                variable.name
            ),
        )
        .label(format!("its cells have {} bits", variable.ty.bits))
        .help("declare a wider type in the initial state: `int64_t x;`")
        .into());
    }
    Ok(shift)
}

fn place(layout: &Layout, cell: CellRef) -> Place {
    let index = layout.vars[cell.var].len.is_some();
    Place {
        var: Layout::global_id(cell.var),
        index: index.then_some(LocalExpr::Const(i64::from(cell.index))),
        order: Order::Plain,
    }
}
