//! *Cases*: the cells that a place may be, each with the condition under which it is
//! that one.

use std::rc::Rc;

use palisade_program::{
    BinOp, Expr as Ir, GlobalId, LocalExpr, LocalId, Order, Place as Memory, Span,
};

use super::code::Lower;
use super::layout::{Cells, Leaf, Object};
use crate::c::real::Format;
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// One cell.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum CellRef {
    Shared(Memory),
    Local(LocalId),
}

/// A cell, when it is the one meant, and its type.
pub(super) struct Case {
    pub(super) when: LocalExpr,
    pub(super) cell: CellRef,
    pub(super) ty: Type,
    /// Whether it may not be initialised.
    pub(super) poisoned: bool,
    /// Where only a part of an integer is meant: the lowest of its bits.
    pub(super) part: Option<u64>,
}

pub(super) fn plus(a: LocalExpr, b: LocalExpr) -> LocalExpr {
    match (&a, &b) {
        (Ir::Const(0), _) => b,
        (_, Ir::Const(0)) => a,
        _ => LocalExpr::binary(BinOp::Add, a, b),
    }
}

pub(super) fn times(a: LocalExpr, by: u64) -> LocalExpr {
    if by == 1 {
        a
    } else {
        LocalExpr::binary(BinOp::Mul, a, Ir::Const(by as i64))
    }
}

pub(super) fn is(a: &LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Eq, a.clone(), Ir::Const(value))
}

/// The cells of a scalar part of a variable.
pub(super) fn cases_of_variable(
    object: &Rc<Object>,
    offset: u64,
    index: &[(LocalExpr, u64)],
    span: Span,
) -> Lower<Vec<Case>> {
    let leaf = object
        .leaves
        .iter()
        .position(|l| l.offset == offset && l.dims.len() == index.len());
    let Some(k) = leaf else {
        return Err(Diagnostic::error(
            span,
            "unsupported: this part of a variable",
        ));
    };
    let leaf = &object.leaves[k];
    // Row-major number of the element.
    let mut number = Ir::Const(0);
    for ((len, _), (i, _)) in leaf.dims.iter().zip(index) {
        number = plus(times(number, *len), i.clone());
    }
    Ok(cells_of(object, k, &number))
}

/// Whether an address is that of a cell of the object.
pub(super) fn within(address: &LocalExpr, object: &Object) -> LocalExpr {
    let Some(base) = object.base else {
        return Ir::FALSE;
    };
    let end = base + object.size as i64;
    let low = LocalExpr::binary(BinOp::Ge, address.clone(), Ir::Const(base));
    let high = LocalExpr::binary(BinOp::Lt, address.clone(), Ir::Const(end));
    low.and(high)
}

fn shared(var: GlobalId, leaf: &Leaf, index: LocalExpr) -> CellRef {
    CellRef::Shared(Memory {
        var,
        index: (!leaf.dims.is_empty()).then_some(index),
        order: Order::Plain,
    })
}

/// Element `number` of leaf `k`; its index is in range.
fn cells_of(object: &Object, k: usize, number: &LocalExpr) -> Vec<Case> {
    let leaf = &object.leaves[k];
    let case = |when, cell| Case {
        when,
        cell,
        ty: leaf.ty.clone(),
        poisoned: object.poisoned.get(),
        part: None,
    };
    match &object.cells[k] {
        Cells::Shared(var) => vec![case(Ir::TRUE, shared(*var, leaf, number.clone()))],
        Cells::Locals(locals) => match number {
            Ir::Const(n) => {
                let local = usize::try_from(*n).ok().and_then(|n| locals.get(n));
                local
                    .map(|l| case(Ir::TRUE, CellRef::Local(*l)))
                    .into_iter()
                    .collect()
            }
            _ => locals
                .iter()
                .enumerate()
                .map(|(n, l)| case(is(number, n as i64), CellRef::Local(*l)))
                .collect(),
        },
    }
}

/// How many elements of `bytes` bytes an address is behind `first`.
fn distance(address: &LocalExpr, first: i64, bytes: i64) -> LocalExpr {
    let by = LocalExpr::binary(BinOp::Sub, address.clone(), Ir::Const(first));
    if bytes == 1 {
        return by;
    }
    LocalExpr::binary(BinOp::Div, by, Ir::Const(bytes))
}

/// The same without a division, if the expression shows that there is no rest.
fn quotient(address: &LocalExpr, first: i64, bytes: i64) -> Option<LocalExpr> {
    match address {
        Ir::Const(c) => {
            let by = c.checked_sub(first)?;
            (by % bytes == 0).then(|| Ir::Const(by / bytes))
        }
        Ir::Binary(BinOp::Mul, a, by) => match **by {
            Ir::Const(by) if first == 0 && by > 0 && by % bytes == 0 => {
                Some(times((**a).clone(), (by / bytes) as u64))
            }
            _ => None,
        },
        Ir::Binary(BinOp::Add, a, b) => {
            Some(plus(quotient(a, first, bytes)?, quotient(b, 0, bytes)?))
        }
        Ir::Binary(BinOp::Sub, a, b) => {
            let (a, b) = (quotient(a, first, bytes)?, quotient(b, 0, bytes)?);
            Some(LocalExpr::binary(BinOp::Sub, a, b))
        }
        Ir::Atom(_) | Ir::Unary(..) | Ir::Binary(..) | Ir::Cond(..) => {
            (bytes == 1).then(|| distance(address, first, 1))
        }
    }
}

/// The cases in which `address` is in leaf `k` of an object. Pointers that are
/// `is_aligned` never point into the middle of an element.
pub(super) fn push_cases(
    object: &Object,
    k: usize,
    address: &LocalExpr,
    is_aligned: bool,
    cases: &mut Vec<Case>,
) {
    let leaf = &object.leaves[k];
    let Some(base) = object.base else {
        return;
    };
    let count = leaf.count();
    let var = match &object.cells[k] {
        Cells::Shared(var) => var,
        Cells::Locals(locals) => {
            for (n, local) in locals.iter().enumerate() {
                let when = is(address, base + leaf.cell(n as u64) as i64);
                if when != Ir::FALSE {
                    cases.push(Case {
                        when,
                        cell: CellRef::Local(*local),
                        ty: leaf.ty.clone(),
                        poisoned: object.poisoned.get(),
                        part: None,
                    });
                }
            }
            return;
        }
    };
    let mut push = |when, index| {
        cases.push(Case {
            when,
            cell: shared(*var, leaf, index),
            ty: leaf.ty.clone(),
            poisoned: object.poisoned.get(),
            part: None,
        });
    };
    let is_known = matches!(address, Ir::Const(_));
    // Elements that stand apart are told apart where they are few.
    let stride = leaf.stride();
    let stride = stride.filter(|s| *s == leaf.bytes || count > MAX_APART);
    if let Some(stride) = stride
        && count > 1
        && !is_known
    {
        let first = base + leaf.offset as i64;
        let bytes = stride as i64;
        let is_aligned = is_aligned && stride == leaf.bytes;
        let (index, whole) = match quotient(address, first, bytes) {
            Some(index) => (index, Ir::TRUE),
            None if is_aligned => (distance(address, first, bytes), Ir::TRUE),
            None => {
                let by = LocalExpr::binary(BinOp::Sub, address.clone(), Ir::Const(first));
                let rest = LocalExpr::binary(BinOp::Mod, by, Ir::Const(bytes));
                (distance(address, first, bytes), is(&rest, 0))
            }
        };
        let end = first + (count * stride) as i64;
        let low = LocalExpr::binary(BinOp::Ge, address.clone(), Ir::Const(first));
        let high = LocalExpr::binary(BinOp::Lt, address.clone(), Ir::Const(end));
        push(low.and(high).and(whole), index);
        return;
    }
    for n in 0..count {
        let at = base + leaf.cell(n) as i64;
        let when = is(address, at);
        if when != Ir::FALSE {
            push(when, Ir::Const(n as i64));
        }
    }
}

/// Members of the elements of one array that are told apart by their address, at most.
const MAX_APART: u64 = 16;

/// Parts of one leaf that are looked at, at most.
const MAX_PARTS: u64 = 64;

/// The cases in which `address` is that of a part of leaf `k`, an integer that is wider than `ty` (or as
/// wide, if that `counts`). The object is at `base`; the lowest byte comes first, as on all machines that are modelled.
pub(super) fn push_parts(
    object: &Object,
    k: usize,
    (address, base): (&LocalExpr, i64),
    (ty, counts): (&Type, bool),
    cases: &mut Vec<Case>,
) {
    let leaf = &object.leaves[k];
    let (held, wanted) = (width(&leaf.ty), width(ty));
    let whole = held.filter(|_| counts && held == wanted);
    let Some(width) = part_width(&leaf.ty, ty).or(whole) else {
        return;
    };
    let parts = leaf.bytes * 8 / width;
    if leaf.count() * parts > MAX_PARTS {
        return;
    }
    for n in 0..leaf.count() {
        for part in 0..parts {
            let at = base + (leaf.cell(n) + part * width / 8) as i64;
            let when = is(address, at);
            if when == Ir::FALSE {
                continue;
            }
            let whole = cells_of(object, k, &Ir::Const(n as i64));
            cases.extend(whole.into_iter().map(|case| Case {
                when: when.clone().and(case.when),
                part: Some(part * width),
                ..case
            }));
        }
    }
}

/// The bits of a type of numbers that is narrower than what is held.
pub(super) fn part_width(held: &Type, ty: &Type) -> Option<u64> {
    let (held, narrow) = (width(held)?, width(ty)?);
    (narrow < held).then_some(narrow)
}

/// The bits of an integer or floating-point type.
pub(super) fn width(ty: &Type) -> Option<u64> {
    match ty.plain() {
        Type::Int { bits, .. } => Some(u64::from(*bits)),
        ty => Format::of(ty).map(|f| u64::from(f.width())),
    }
}
