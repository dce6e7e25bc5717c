//! *Shared and dynamic windows* of MPI.
//!
//! A **shared** window is one piece of memory: the parts of the ranks lie one behind the other, in the order of the communicator,
//! and every rank loads and stores everywhere. A store is *under way* for other ranks until the rank that made it calls
//! something that synchronises the window (`MPI_Win_sync`, flush, unlock, fence, post, complete): "a consistent view can be created [...] by utilizing the
//! window synchronization functions or explicitly completing outstanding store accesses" [MPI 4.0, section 12.2.3]. Loads
//! happen at once. Atomic operations of C on such memory are not followed. That the other rank synchronises the window before it loads is not asked for.
//!
//! A **dynamic** window has the memory that ranks attach to it; displacements are addresses there. The addresses of
//! all ranks differ, so that an address says which memory is meant.

use palisade_program::{BinOp, Expr as Ir, GlobalId, LocalExpr, Order, Place as Memory, Span};

use super::super::Context;
use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::layout::{Cells, Leaf, Object};
use super::super::mpi::{Window, WindowKind};
use super::super::place::plus;
use super::super::value::Val;
use super::datatype::width;
use super::shadow::{Class, Issue, Part};
use super::team::Group;
use super::transfer::Touched;
use crate::c::ast::{Binary, Expr};
use crate::c::types::Type;

fn binary(op: BinOp, a: &LocalExpr, b: i64) -> LocalExpr {
    LocalExpr::binary(op, a.clone(), Ir::Const(b))
}

impl Context<'_> {
    /// The shared window that an object is, if it is one.
    pub(in super::super) fn shared_window(&self, object: usize) -> Option<usize> {
        let mpi = self.mpi.as_ref()?;
        let found = mpi.all_windows().find(|(_, window)| {
            window.kind == WindowKind::Shared && window.object == object && window.count > 0
        });
        found.map(|(number, _)| number)
    }
}

impl Code<'_, '_> {
    /// The ranks of a communicator, if this rank is in it.
    pub(in super::super) fn members_of(&mut self, communicator: i64) -> Option<Vec<u32>> {
        self.communicator(communicator).map(|c| c.members)
    }

    /// A barrier of some ranks.
    pub(in super::super) fn barrier_of_members(
        &mut self,
        call: &str,
        members: Vec<u32>,
        span: Span,
    ) -> Lower<()> {
        let name = Some("ranks".to_owned());
        self.group_sync_in(call, &Group { name, members }, span)
    }

    /// `MPI_Win_allocate_shared`.
    pub(super) fn allocate_shared(
        &mut self,
        [size, unit, base, win]: [&Expr; 4],
        comm: i64,
        span: Span,
    ) -> Lower<()> {
        let base = self.target_of(base)?;
        let Some(ty) = base.ty().pointee().cloned() else {
            let help = "pass the address of a pointer";
            return unsupported(span, "this base of a window", help);
        };
        let (count, unit) = self.window_size(size, unit, &ty, span)?;
        let me = self.me();
        let (number, making) = {
            let mpi = self.cx.mpi.as_mut().expect("an MPI program");
            mpi.next_window(comm)
        };
        self.cx
            .one_sided()
            .tracked
            .parts
            .insert((number, me), count);
        let Some(members) = self.window_members(number) else {
            self.demand(Ir::FALSE, "a communicator that this rank is not in", span);
            self.block(span);
            return Ok(());
        };
        let part = |code: &mut Self, rank: &u32| {
            let parts = &code.cx.one_sided().tracked.parts;
            parts.get(&(number, *rank)).copied().unwrap_or(0)
        };
        let before = members.iter().take_while(|m| **m != me);
        let start: u64 = before.map(|m| part(self, m)).sum();
        let first = members.iter().min().copied().unwrap_or(me);
        let object = if first == me {
            let total: u64 = members.iter().map(|m| part(self, m)).sum();
            let whole = match total {
                0 | 1 => ty.clone(),
                _ => Type::Array(std::rc::Rc::new(ty.clone()), Some(total)),
            };
            let object = self.cx.object("window", &whole, true, false, span)?;
            self.cx.forget_initial(&object);
            self.cx.objects.len() - 1
        } else {
            let window = self.cx.mpi.as_ref().and_then(|m| m.window(first, number));
            match window.map(|w| (w.object, w.ty == ty)) {
                Some((object, true)) => object,
                Some((_, false)) => {
                    let help = "use one type of elements at all ranks";
                    return unsupported(span, "a shared window of several types", help);
                }
                None => {
                    let help = "let every rank of the communicator make it";
                    return unsupported(span, "a shared window that some ranks do not make", help);
                }
            }
        };
        let window = Window {
            making,
            kind: WindowKind::Shared,
            object,
            start,
            count,
            ty: ty.clone(),
            unit,
        };
        let pointer = self.part_address(&window, span)?;
        self.store(&base, pointer, span)?;
        self.window(window, win, span)
    }

    /// Where a rank's part of a shared window starts.
    fn part_address(&mut self, window: &Window, span: Span) -> Lower<Val> {
        let ty = Type::pointer(window.ty.clone());
        let object = self.cx.object_number(window.object);
        let Some(object) = object.filter(|_| window.count > 0) else {
            return Ok(Val::constant(0, &ty));
        };
        let one = self.cx.layouts.size(&window.ty, span)?;
        let address = object.base.unwrap_or(0) + (window.start * one) as i64;
        let value = Val::constant(i128::from(address), &ty);
        Ok(Val {
            object: Some(window.object),
            ..value
        })
    }

    /// `MPI_Win_shared_query`; of nobody: of the first rank that has memory there.
    pub(super) fn shared_query(
        &mut self,
        [win, rank, size, unit, base]: [&Expr; 5],
        span: Span,
    ) -> Lower<()> {
        let number = self.window_number(win, span)?;
        let places = (
            self.target_of(size)?,
            self.target_of(unit)?,
            self.target_of(base)?,
        );
        let value = self.value(rank)?;
        let value = self.saved(value, span);
        let members = self.window_members(number).unwrap_or_default();
        let nobody = Some(super::super::mpi::NOBODY);
        self.each_rank_of(&value, &members, nobody, span, &mut |code, rank| {
            let mpi = code.cx.mpi.as_ref();
            let part = |rank: u32| mpi.and_then(|m| m.window(rank, number)).cloned();
            let found = if let Some(rank) = rank {
                part(rank)
            } else {
                let mut all = members.iter().filter_map(|rank| part(*rank));
                all.find(|w| w.count > 0)
            };
            let Some(window) = found else {
                // Of an early pass: the window is not known yet.
                return Ok(());
            };
            if window.kind != WindowKind::Shared {
                let help = "make it with MPI_Win_allocate_shared";
                return unsupported(span, "a query of a window that is not shared", help);
            }
            let one = code.cx.layouts.size(&window.ty, span)?;
            let bytes = Val::constant(i128::from(window.count * one), &Type::INT);
            code.store(&places.0, bytes, span)?;
            let unit = Val::constant(i128::from(window.unit), &Type::INT);
            code.store(&places.1, unit, span)?;
            let pointer = code.part_address(&window, span)?;
            code.store(&places.2, pointer, span)
        })
    }

    /// The shared window that a variable is.
    pub(super) fn shared_window_of(&self, var: GlobalId) -> Option<usize> {
        let mpi = self.cx.mpi.as_ref()?;
        if !mpi.all_windows().any(|(_, w)| w.kind == WindowKind::Shared) {
            return None;
        }
        let (object, _) = self.memory_of_variable(var)?;
        self.cx.shared_window(object)
    }

    /// Notes that a store to a shared window is under way for other ranks.
    pub(super) fn mark_store(&mut self, place: &Memory, window: usize, span: Span) -> Lower<()> {
        let words = format!(
            "{} store without synchronisation of the window",
            self.whose()
        );
        let site = self.cx.one_sided().site(words, span);
        let issue = Issue {
            site,
            channel: window,
            to: self.me(),
            request: None,
            fetches: false,
            covers: false,
        };
        self.mark_access(place, (Part::Stored, Class::Write), &issue, span)
    }

    /// `MPI_Win_sync`, and what else synchronises a window: the own stores are there for all.
    pub(super) fn synchronise_stores(&mut self, window: usize, span: Span) -> Lower<()> {
        let me = self.me();
        let is_meant =
            |a: &super::shadow::Access| a.by == me && a.part == Part::Stored && a.channel == window;
        let all = &self.cx.one_sided().tracked.accesses;
        if !all.keys().any(is_meant) {
            return Ok(());
        }
        self.atomically(palisade_program::AtomicKind::Block, span, |code| {
            code.complete_accesses(&is_meant, span)
        })
    }

    /// `MPI_Win_create_dynamic`.
    pub(super) fn create_dynamic(&mut self, win: &Expr, comm: i64, span: Span) -> Lower<()> {
        let window = Window {
            making: (comm, 0),
            kind: WindowKind::Dynamic,
            object: usize::MAX,
            start: 0,
            count: 0,
            ty: Type::INT,
            unit: 1,
        };
        self.window(window, win, span)
    }

    fn attached_word(&mut self, window: usize, object: usize, span: Span) -> Memory {
        let name = format!("window{window}.attached{object}");
        Memory::scalar(self.cx.common(name, None, span))
    }

    /// `MPI_Win_attach` with a size, `MPI_Win_detach` without.
    pub(super) fn attach(
        &mut self,
        win: &Expr,
        base: &Expr,
        size: Option<&Expr>,
        span: Span,
    ) -> Lower<()> {
        let number = self.window_number(win, span)?;
        let bytes = match size {
            Some(size) => self.fixed(size)?.and_then(|n| u64::try_from(n).ok()),
            None => Some(0),
        };
        let Some(bytes) = bytes else {
            let help = "give a constant size";
            return unsupported(span, "memory of a size that is not known here", help);
        };
        let pointer = self.value(base)?;
        let pointer = self.saved(pointer, span);
        let start = |o: &Object| o.base.unwrap_or(0);
        let me = self.me();
        let count = self.cx.objects.len().max(self.cx.previous.objects.len());
        let mut cases = Vec::new();
        for k in 0..count {
            let Some(object) = self.cx.object_number(k) else {
                continue;
            };
            if object.rank != Some(me) || object.in_registers() || object.base.is_none() {
                continue;
            }
            let is = binary(BinOp::Eq, &pointer.e, start(&object));
            if is != Ir::FALSE && (pointer.object.is_none_or(|o| o == k)) {
                cases.push((is, k));
            }
        }
        let any = cases
            .iter()
            .fold(Ir::FALSE, |all: LocalExpr, (is, _)| all.or(is.clone()));
        self.require(any, "memory that starts within a variable", span);
        self.each_case(&cases, span, &mut |code, object| {
            let size = code.cx.object_number(*object).map_or(0, |o| o.size);
            let fits = Ir::Const(i64::from(bytes <= size));
            code.demand(fits, "memory beyond its variable is attached", span);
            let word = code.attached_word(number, *object, span);
            let before = code.load_from(&word, span);
            let is_attach = bytes > 0;
            let words = if is_attach {
                "memory that is attached already"
            } else {
                "memory that is not attached"
            };
            let expected = binary(BinOp::Eq, &before, i64::from(!is_attach));
            code.demand(expected, words, span);
            code.store_to(&word, Ir::Const(i64::from(is_attach)), span);
            if is_attach {
                let attached = &mut code.cx.one_sided().tracked.attached;
                attached.insert((number, me, *object, bytes));
            }
            Ok(())
        })
    }

    /// The cells of a dynamic window that an element touches.
    pub(super) fn attached_cells(
        &mut self,
        (rank, number): (u32, usize),
        at: &Val,
        (byte, base): (u64, i64),
        span: Span,
    ) -> Lower<Vec<(LocalExpr, Touched)>> {
        let address = plus(at.e.clone(), Ir::Const(byte as i64));
        let all = self.cx.one_sided().tracked.attached.clone();
        let here = all.iter().filter(|a| (a.0, a.1) == (number, rank));
        let mut cells = Vec::new();
        let mut any = Ir::FALSE;
        for (_, _, k, bytes) in here {
            let Some(object) = self.cx.object_number(*k) else {
                continue;
            };
            let word = self.attached_word(number, *k, span);
            let is_there = self.load_from(&word, span);
            let is_there = binary(BinOp::Eq, &is_there, 1);
            for (leaf, memory) in object.leaves.iter().zip(&object.cells) {
                let Cells::Shared(var) = memory else {
                    continue;
                };
                let Some((when, touched)) =
                    self.leaf_cells((&object, leaf, *var), *bytes, &address, base, span)?
                else {
                    continue;
                };
                any = any.or(when.clone().and(is_there.clone()));
                cells.push((when, touched));
            }
        }
        self.demand(any, "memory that is not attached to the window", span);
        Ok(cells)
    }

    /// The cells of a leaf that an element at an address touches, and when it is there.
    fn leaf_cells(
        &mut self,
        (object, leaf, var): (&Object, &Leaf, GlobalId),
        attached: u64,
        address: &LocalExpr,
        base: i64,
        span: Span,
    ) -> Lower<Option<(LocalExpr, Touched)>> {
        if !leaf.is_contiguous() {
            let help = "attach an array, or a struct without arrays of structs";
            return unsupported(span, "an operation on this attached memory", help);
        }
        let first = object.base.unwrap_or(0) + leaf.offset as i64;
        let room = attached.saturating_sub(leaf.offset);
        let length = (leaf.count() * leaf.bytes).min(room / leaf.bytes * leaf.bytes) as i64;
        let is_array = !leaf.dims.is_empty();
        let cell = |index: LocalExpr| Memory {
            var,
            index: is_array.then_some(index),
            order: Order::Plain,
        };
        let bytes = leaf.bytes as i64;
        if let Ir::Const(address) = address {
            let end = address + width(base).max(1) as i64;
            if *address < first || *address >= first + length {
                return Ok(None);
            }
            let from = (address - first) / bytes;
            let last = (end - 1 - first) / bytes;
            let phase = ((address - first) % bytes) as u64;
            let inside = Ir::Const(i64::from(end <= first + length));
            self.demand(inside, "an operation beyond the attached memory", span);
            let last = last.min(leaf.count() as i64 - 1);
            return Ok(Some((
                Ir::TRUE,
                Touched {
                    cells: (from..=last).map(|k| cell(Ir::Const(k))).collect(),
                    phase,
                    is_whole: phase == 0 && width(base) == leaf.bytes,
                    ty: leaf.ty.clone(),
                },
            )));
        }
        let low = binary(BinOp::Ge, address, first);
        let when = low.and(binary(BinOp::Lt, address, first + length));
        let offset = binary(BinOp::Sub, address, first);
        let is_whole = if width(base) == leaf.bytes {
            let rest = binary(BinOp::Mod, &offset, bytes);
            binary(BinOp::Eq, &rest, 0)
        } else {
            Ir::FALSE
        };
        let why = "an operation on parts of elements, at an address that is not known here";
        self.require(when.clone().negate().or(is_whole), why, span);
        let index = match bytes {
            1 => offset,
            _ => binary(BinOp::Div, &offset, bytes),
        };
        Ok(Some((
            when,
            Touched {
                cells: vec![cell(index)],
                phase: 0,
                is_whole: true,
                ty: leaf.ty.clone(),
            },
        )))
    }

    /// `MPI_Get_address`.
    pub(super) fn get_address(&mut self, of: &Expr, to: &Expr, span: Span) -> Lower<()> {
        let pointer = self.value(of)?;
        let place = self.target_of(to)?;
        // A number that only displacements use: nothing depends on where memory lies.
        let address = self.saved(pointer, span);
        let value = self.held(address.e, place.ty());
        self.store(&place, value, span)
    }

    /// `MPI_Aint_add`, `MPI_Aint_diff`.
    pub(in super::super) fn address_sum(
        &mut self,
        is_sum: bool,
        [a, b]: [&Expr; 2],
        span: Span,
    ) -> Lower<Val> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        let op = if is_sum { Binary::Add } else { Binary::Sub };
        self.binary(op, a, b, span)
    }

    /// `MPI_Alloc_mem`.
    pub(super) fn alloc_mem(&mut self, size: &Expr, base: &Expr, span: Span) -> Lower<()> {
        let base = self.target_of(base)?;
        self.cx.pending_type = Some(base.ty().clone());
        let pointer = self.allocate(&[size], false, span)?;
        self.store(&base, pointer, span)
    }
}
