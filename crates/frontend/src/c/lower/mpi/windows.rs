//! *Windows*: how they are made, which one a handle names, where their elements lie, and the
//! processes in which they live.

use palisade_program::{
    BinOp, Cfg, CfgBuilder, Count, Expr as Ir, GlobalId, Home, Life, Order, Place as Memory, Span,
    Template, TemplateId,
};

use super::super::Context;
use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::layout::Cells;
use super::super::place::Place;
use super::super::value::Val;
use super::{Making, Window, WindowKind};
use crate::c::ast::{Expr, ExprKind};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// The communicator of all ranks.
const WORLD: i64 = 1;

impl Window {
    /// A window of an object, on a communicator.
    fn own(comm: i64, object: usize, (count, unit): (u64, u64), ty: Type) -> Self {
        let making: Making = (comm, 0);
        Self {
            making,
            kind: WindowKind::Own,
            object,
            start: 0,
            count,
            ty,
            unit,
        }
    }
}

impl Context<'_> {
    /// Puts windows where flushes can name them; the processes that are needed for that.
    pub(in super::super) fn window_processes(&mut self, span: Span) -> Lower<Vec<Template>> {
        let Some(mpi) = &self.mpi else {
            return Ok(Vec::new());
        };
        let count = mpi.count();
        let is_split = self.onesided.is_none();
        if is_split && mpi.windows.iter().any(|own| own.len() != count) {
            return Err(Diagnostic::error(
                span,
                "unsupported: ranks that make different numbers of windows",
            )
            .help("let every rank make every window: MPI_Win_allocate is collective"));
        }
        if count <= 1 || !is_split {
            return Ok(Vec::new());
        }
        let mut processes = Vec::new();
        let mut homes: Vec<(GlobalId, TemplateId)> = Vec::new();
        for rank in 0..mpi.ranks {
            for number in 0..count {
                processes.push(silent(format!("rank{rank}.window{number}"), span));
                let object = mpi.window(rank, number).map(|w| w.object);
                let object = object.and_then(|k| self.object_number(k));
                for cells in object.iter().flat_map(|o| &o.cells) {
                    if let Cells::Shared(var) = cells {
                        homes.push((*var, mpi.home(rank, number)));
                    }
                }
            }
        }
        let ranks = mpi.ranks;
        for (var, template) in homes {
            let home = &mut self.globals[var.index()].home;
            if home.is_some_and(|h| h.template != template && h.template.0 >= ranks) {
                return Err(Diagnostic::error(
                    span,
                    "unsupported: a variable that is in two windows",
                )
                .help("make one window of it"));
            }
            *home = Some(Home {
                template,
                per_copy: false,
            });
        }
        Ok(processes)
    }
}

/// A process that does nothing.
fn silent(name: String, span: Span) -> Template {
    let mut builder = CfgBuilder::new();
    let only = builder.loc();
    let cfg: Cfg = builder.finish(only, only).0;
    Template {
        name,
        count: Count::Once,
        is_process: true,
        locals: Vec::new(),
        cfg,
        labels: Vec::new(),
        life: Life::default(),
        span,
    }
}

impl Code<'_, '_> {
    /// How many elements fit into `size` bytes (none only if there are none), and the unit of
    /// displacements.
    pub(in super::super) fn window_size(
        &mut self,
        size: &Expr,
        unit: &Expr,
        ty: &Type,
        span: Span,
    ) -> Lower<(u64, u64)> {
        let one = ty.size(self.cx.layouts.structs, self.cx.options.data_model);
        let (size, unit) = (self.fixed(size)?, self.fixed(unit)?);
        if size == Some(0) {
            return Ok((0, 1));
        }
        let (Some(size), Some(unit), Some(one)) = (size, unit, one) else {
            return unsupported(
                span,
                "a window whose size is not known here",
                "give a constant size, such as `2 * sizeof(int)`",
            );
        };
        let is_odd = unit != i128::from(one) && self.cx.onesided.is_none();
        let is_cell = ty.is_scalar() || self.cx.layouts.is_followed_float(ty);
        if is_odd || unit <= 0 || !is_cell {
            return unsupported(
                span,
                "a window with this displacement unit",
                "use the size of its elements, such as `sizeof(int)`",
            );
        }
        let count = u64::try_from(size).unwrap_or(0) / one.max(1);
        if count == 0 {
            return unsupported(span, "a window without elements", "give it at least one");
        }
        Ok((count, unit as u64))
    }

    pub(super) fn window_allocate(
        &mut self,
        [size, unit, base, win]: [&Expr; 4],
        comm: i64,
        span: Span,
    ) -> Lower<()> {
        let base = self.target_of(base)?;
        let Some(ty) = base.ty().pointee().cloned() else {
            return unsupported(
                span,
                "this base of a window",
                "pass the address of a pointer",
            );
        };
        let (count, unit) = self.window_size(size, unit, &ty, span)?;
        if count == 0 {
            let nowhere = Val::constant(0, &Type::pointer(ty.clone()));
            self.store(&base, nowhere, span)?;
            return self.empty_window(ty, win, comm, span);
        }
        let whole = if count == 1 {
            ty.clone()
        } else {
            Type::Array(std::rc::Rc::new(ty.clone()), Some(count))
        };
        let object = self.cx.object("window", &whole, true, false, span)?;
        self.cx.forget_initial(&object);
        let address = self.address_of(&Self::whole(&object), span)?;
        let number = self.cx.objects.len() - 1;
        let pointer = Val {
            ty: Type::pointer(ty.clone()),
            ..address
        };
        self.store(&base, pointer, span)?;
        let window = Window::own(comm, number, (count, unit), ty);
        self.window(window, win, span)
    }

    /// A window without elements, as ranks make it that others do not reach: every access is out
    /// of range.
    fn empty_window(&mut self, ty: Type, win: &Expr, comm: i64, span: Span) -> Lower<()> {
        self.cx.object("window", &ty, true, false, span)?;
        let number = self.cx.objects.len() - 1;
        let window = Window::own(comm, number, (0, 1), ty);
        self.window(window, win, span)
    }

    pub(super) fn window_create(
        &mut self,
        [base, size, unit, win]: [&Expr; 4],
        comm: i64,
        span: Span,
    ) -> Lower<()> {
        if self.value(size)?.as_constant() == Some(0) {
            return self.empty_window(Type::INT, win, comm, span);
        }
        let address = self.value(base)?;
        let object = address.object.or_else(|| {
            let constant = address.as_constant()?;
            self.cx.object_at(constant as i64)
        });
        let found = object.and_then(|k| Some((k, self.cx.object_number(k)?)));
        let start = |o: &super::super::layout::Object| o.base.map(i128::from);
        let found = found.filter(|(_, o)| start(o) == address.as_constant());
        let Some((number, object)) = found else {
            return unsupported(
                span,
                "a window of something else than a whole variable",
                "pass the address of a variable, or an array",
            );
        };
        let [leaf] = object.leaves.as_slice() else {
            return unsupported(span, "a window of a struct", "use an array of integers");
        };
        let ty = leaf.ty.clone();
        let (count, unit) = self.window_size(size, unit, &ty, span)?;
        if count > leaf.count() {
            return Err(Diagnostic::error(span, "a window beyond its variable")
                .label(format!("{count} elements of {}", leaf.count()))
                .help("make the window no larger than the variable"));
        }
        object.poisoned.set(true);
        let window = Window::own(comm, number, (count, unit), ty);
        self.window(window, win, span)
    }

    /// Notes a window and stores its handle.
    pub(in super::super) fn window(&mut self, window: Window, win: &Expr, span: Span) -> Lower<()> {
        if self.loop_depth > 0 {
            return unsupported(span, "a window made in a loop", "make it before the loop");
        }
        let mpi = self.cx.mpi.as_mut().expect("an MPI program");
        let comm = window.making.0;
        let (number, making) = mpi.next_window(comm);
        let own = &mut mpi.windows[mpi.rank as usize];
        own.insert(number, Window { making, ..window });
        let place = self.target_of(win)?;
        if let Some(name) = variable(&place) {
            let handles = &mut self.cx.mpi.as_mut().expect("an MPI program").handles;
            let known = handles.entry(name).or_insert(Some(number));
            *known = known.filter(|k| *k == number);
        }
        self.store(&place, Val::constant(number as i128 + 1, &Type::INT), span)?;
        // Nobody reaches a window that is not there yet.
        self.window_barrier(number, "made", span)
    }

    /// The communicator of a window that is made; 1 is that of all ranks.
    pub(in super::super) fn window_communicator(&mut self, comm: &Expr, span: Span) -> Lower<i64> {
        if self.cx.onesided.is_none() {
            self.require_world(comm, span)?;
            return Ok(WORLD);
        }
        let handle = self.fixed(comm)?.and_then(|h| i64::try_from(h).ok());
        match handle {
            Some(handle) => Ok(handle),
            None => unsupported(
                span,
                "a window on a communicator that is not known here",
                "keep each communicator in a local variable",
            ),
        }
    }

    /// The ranks that a window is made of, by their numbers in its communicator.
    pub(in super::super) fn window_members(&mut self, number: usize) -> Option<Vec<u32>> {
        let (me, ranks) = (self.mpi().rank, self.mpi().ranks);
        let making = self.mpi().window(me, number).map(|w| w.making);
        let comm = making.or_else(|| self.mpi().makings.get(number).copied());
        match comm.map_or(WORLD, |(comm, _)| comm) {
            WORLD => Some((0..ranks).collect()),
            comm => self.members_of(comm),
        }
    }

    /// A barrier of all ranks of a window, in a call.
    pub(in super::super) fn window_barrier(
        &mut self,
        number: usize,
        call: &str,
        span: Span,
    ) -> Lower<()> {
        let making = self.mpi().makings.get(number);
        let is_world = making.is_some_and(|(comm, _)| *comm == WORLD);
        let call = if is_world && call == "made" {
            "window".to_owned()
        } else {
            format!("window{number}.{call}")
        };
        match self.window_members(number) {
            Some(members) if members.len() == self.mpi().ranks as usize => {
                self.barrier_in(&call, span)
            }
            Some(members) => self.barrier_of_members(&call, members, span),
            None => {
                self.outside_of_window(span);
                Ok(())
            }
        }
    }

    /// The rank is not one of the window's.
    fn outside_of_window(&mut self, span: Span) {
        self.demand(Ir::FALSE, "a window that this rank is not in", span);
        self.block(span);
    }

    /// Runs `f` once for each rank of the program that a rank of a window may be.
    pub(in super::super) fn each_window_rank(
        &mut self,
        number: usize,
        rank: &Expr,
        span: Span,
        f: &mut dyn FnMut(&mut Self, u32) -> Lower<()>,
    ) -> Lower<()> {
        let value = self.value(rank)?;
        let value = self.saved(value, span);
        let Some(members) = self.window_members(number) else {
            self.outside_of_window(span);
            return Ok(());
        };
        let nobody = Some(super::NOBODY);
        self.each_rank_of(
            &value,
            &members,
            nobody,
            span,
            &mut |code, rank| match rank {
                Some(rank) => f(code, rank),
                None => Ok(()),
            },
        )
    }

    /// The number of the window that a handle names.
    pub(in super::super) fn window_number(&mut self, win: &Expr, span: Span) -> Lower<usize> {
        let place = match &win.kind {
            ExprKind::Ident(_) => Some(self.place(win)?),
            _ => None,
        };
        let handle = self.value(win)?;
        self.window_named(&handle, place.as_ref(), span)
    }

    /// The window of a handle that was read from a place. A variable to which one window only is
    /// stored names that one; that nothing else is there is an obligation.
    pub(in super::super) fn window_named(
        &mut self,
        handle: &Val,
        place: Option<&Place>,
        span: Span,
    ) -> Lower<usize> {
        let constant = handle.as_constant();
        let constant = constant.and_then(|h| usize::try_from(h - 1).ok());
        let name = place.and_then(variable);
        let stored = name.and_then(|name| *self.mpi().handles.get(&name)?);
        match (constant, stored, self.mpi().count()) {
            (Some(number), _, count) if number < count => Ok(number),
            (_, _, 1) => Ok(0),
            (None, Some(number), _) => {
                let is = Ir::binary(BinOp::Eq, handle.e.clone(), Ir::Const(number as i64 + 1));
                self.require(is, "a window handle that changes", span);
                Ok(number)
            }
            _ => unsupported(
                span,
                "a window that is not known here",
                "keep each window in a variable of its own",
            ),
        }
    }

    /// Element `k` of a window of a rank, from displacement `at`; `None` in the first
    /// pass, where the window may not be known yet.
    pub(super) fn remote_cell(
        &mut self,
        rank: u32,
        number: usize,
        at: &Val,
        k: u64,
        span: Span,
    ) -> Option<Memory> {
        let window = self.mpi().window(rank, number)?.clone();
        let object = self.cx.object_number(window.object)?;
        let Some(Cells::Shared(var)) = object.cells.first() else {
            return None;
        };
        let index = super::super::place::plus(at.e.clone(), Ir::Const(k as i64));
        let held = Val {
            e: index.clone(),
            lo: at.lo + i128::from(k),
            hi: at.hi + i128::from(k),
            ..at.clone()
        };
        self.checked_index(&held, window.count, span);
        let is_array = !object.leaves.first()?.dims.is_empty();
        Some(Memory {
            var: *var,
            index: is_array.then_some(index),
            order: Order::Plain,
        })
    }

    /// The type of a window's elements; `None` as for [`Self::remote_cell`].
    pub(super) fn window_type(&self, number: usize) -> Option<Type> {
        let mpi = self.mpi();
        let own = std::iter::once(mpi.rank).chain(0..mpi.ranks);
        let mut known = own.filter_map(|rank| mpi.window(rank, number));
        // An empty one may have no type.
        let window = known.find(|w| w.count > 0)?;
        Some(window.ty.clone())
    }
}

/// The variable that a place is, in memory.
fn variable(place: &Place) -> Option<String> {
    match place {
        Place::Variable {
            object,
            offset,
            index,
            ..
        } if index.is_empty() && !object.in_registers() => object
            .base
            .map(|base| format!("{}@{base}+{offset}", object.name)),
        Place::Variable { .. } | Place::Address { .. } => None,
    }
}
