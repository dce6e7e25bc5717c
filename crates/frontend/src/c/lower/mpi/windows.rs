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
use super::Window;
use crate::c::ast::{Expr, ExprKind};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

impl Context<'_> {
    /// Puts windows where flushes can name them; the processes that are needed for that.
    pub(in super::super) fn window_processes(&mut self, span: Span) -> Lower<Vec<Template>> {
        let Some(mpi) = &self.mpi else {
            return Ok(Vec::new());
        };
        let count = mpi.count();
        let is_split = self.onesided.is_none();
        if mpi.windows.iter().any(|own| own.len() != count) {
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
    pub(super) fn window_size(
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
        size: &Expr,
        unit: &Expr,
        base: &Expr,
        win: &Expr,
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
            return self.empty_window(ty, win, span);
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
        self.window(number, (count, unit), ty, win, span)
    }

    /// A window without elements, as ranks make it that others do not reach: every access is out
    /// of range.
    fn empty_window(&mut self, ty: Type, win: &Expr, span: Span) -> Lower<()> {
        self.cx.object("window", &ty, true, false, span)?;
        let number = self.cx.objects.len() - 1;
        self.window(number, (0, 1), ty, win, span)
    }

    pub(super) fn window_create(
        &mut self,
        base: &Expr,
        size: &Expr,
        unit: &Expr,
        win: &Expr,
        span: Span,
    ) -> Lower<()> {
        if self.value(size)?.as_constant() == Some(0) {
            return self.empty_window(Type::INT, win, span);
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
        self.window(number, (count, unit), ty, win, span)
    }

    /// Notes a window and stores its handle.
    pub(super) fn window(
        &mut self,
        object: usize,
        (count, unit): (u64, u64),
        ty: Type,
        win: &Expr,
        span: Span,
    ) -> Lower<()> {
        if self.loop_depth > 0 {
            return unsupported(span, "a window made in a loop", "make it before the loop");
        }
        let mpi = self.cx.mpi.as_mut().expect("an MPI program");
        let own = &mut mpi.windows[mpi.rank as usize];
        own.push(Window {
            object,
            count,
            ty,
            unit,
        });
        let number = own.len() - 1;
        let place = self.target_of(win)?;
        if let Some(name) = variable(&place) {
            let handles = &mut self.cx.mpi.as_mut().expect("an MPI program").handles;
            let known = handles.entry(name).or_insert(Some(number));
            *known = known.filter(|k| *k == number);
        }
        self.store(&place, Val::constant(number as i128 + 1, &Type::INT), span)?;
        // Nobody reaches a window that is not there yet.
        self.barrier_in("window", span)
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
