//! *MPI*: a program that uses MPI-3's one-sided communication runs once per rank, and
//! every rank is a process of its own, with its own copy of all variables. The number of
//! ranks is [`Options::ranks`](crate::c::Options::ranks).
//!
//! A *window* is a variable of each rank that others reach by remote operations: the
//! `n`-th one that a rank makes belongs to the `n`-th ones of the others, as windows are
//! made by all ranks together. A flush of one window says nothing about another: where
//! there are several, each window of each rank lives in a process of its own, without
//! code, which a flush can name.
//!
//! | call | steps |
//! |---|---|
//! | `MPI_Put`, `MPI_Get` | one put or get for each element |
//! | `MPI_Accumulate`, `MPI_Fetch_and_op`, `MPI_Compare_and_swap` | remote atomic operations |
//! | `MPI_Win_flush` | flush of the rank's window |
//! | `MPI_Win_flush_all`, `MPI_Win_unlock_all` | flush of the window at every rank |
//! | `MPI_Win_flush_local`, `MPI_Win_flush_local_all` | the same for the own side: origin buffers may be used again, results are there |
//! | `MPI_Win_fence`, `MPI_Win_free` | the same, then a barrier |
//! | `MPI_Barrier` | a counter and a sense in atomic blocks: it completes no operation |
//! | `MPI_Win_lock_all` | nothing |
//!
//! Buffers of operations are in memory, since the network reads and writes them later. A
//! window that is allocated is not initialised, and what it holds may come to other
//! buffers: reads of all of them are checked ([`UNINITIALISED`](super::layout::UNINITIALISED)).
//! The network computes with mathematical integers; that a sum fits its type is an
//! obligation where it is read.

use palisade_program::{
    AtomicKind, BinOp, Cfg, CfgBuilder, Change, Count, Expr as Ir, FlushTarget, GlobalId, Home,
    LocalExpr, Operand, Place as Memory, RemoteAtomic, RemoteOp, Span, Step, Template, TemplateId,
};

use super::Context;
use super::code::{Code, Lower};
use super::expr::unsupported;
use super::layout::Cells;
use super::place::{CellRef, Place};
use super::value::Val;
use crate::c::ast::Expr;
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// Elements of one operation at most.
const MAX_ELEMENTS: i128 = 64;
/// Ranks at most.
pub(super) const MAX_RANKS: u32 = 64;

/// Which side of operations a flush waits for.
#[derive(Clone, Copy)]
enum Side {
    Both,
    Own,
}

impl Side {
    fn of(self, target: FlushTarget) -> FlushTarget {
        match self {
            Self::Both => target,
            Self::Own => FlushTarget::Local(Box::new(target)),
        }
    }
}

/// A window at one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Window {
    /// The number of the object.
    object: usize,
    /// Elements.
    count: u64,
    /// What an element is.
    ty: Type,
}

/// What is known of an MPI program.
pub(super) struct Mpi {
    /// How many ranks there are.
    pub(super) ranks: u32,
    /// The rank that is lowered.
    pub(super) rank: u32,
    /// The windows of each rank, in the order of their making.
    pub(super) windows: Vec<Vec<Window>>,
    /// Those that the pass before found.
    previous: Vec<Vec<Window>>,
    /// The barrier: how many have arrived, and its sense.
    barrier: (GlobalId, GlobalId),
}

/// Whether some function of the file calls MPI.
pub(super) fn is_used(file: &crate::c::ast::File) -> bool {
    let names = super::walk::file_names(file).mentioned;
    names.iter().any(|name| name.starts_with("MPI_Init"))
}

/// Whether the argument is a buffer of the network: it has to be in memory.
pub(super) fn is_buffer(function: &str, argument: usize) -> bool {
    match function {
        "MPI_Win_create" => argument == 0,
        "MPI_Put" | "MPI_Get" | "MPI_Accumulate" => argument == 0,
        "MPI_Fetch_and_op" => argument < 2,
        "MPI_Compare_and_swap" => argument < 3,
        _ => false,
    }
}

/// Whether the function takes addresses only to write there.
pub(super) fn takes_places(function: &str) -> bool {
    function.starts_with("MPI_Comm_") || function.starts_with("MPI_Win_") || function == "MPI_Init"
}

impl Mpi {
    /// A program with so many ranks; `previous` are the windows of the pass before.
    pub(super) fn new(
        ranks: u32,
        previous: Vec<Vec<Window>>,
        barrier: (GlobalId, GlobalId),
    ) -> Self {
        Self {
            ranks,
            rank: 0,
            windows: vec![Vec::new(); ranks as usize],
            previous,
            barrier,
        }
    }

    /// How many windows a rank has.
    fn count(&self) -> usize {
        let all = self.windows.iter().chain(&self.previous);
        all.map(Vec::len).max().unwrap_or(0)
    }

    /// Window `number` of a rank.
    fn window(&self, rank: u32, number: usize) -> Option<&Window> {
        let now = self.windows.get(rank as usize).and_then(|w| w.get(number));
        now.or_else(|| self.previous.get(rank as usize).and_then(|w| w.get(number)))
    }

    /// The process in which window `number` of a rank lives.
    fn home(&self, rank: u32, number: usize) -> TemplateId {
        let count = self.count();
        if count <= 1 {
            return TemplateId(rank);
        }
        TemplateId::from(self.ranks as usize + rank as usize * count + number)
    }
}

impl Context<'_> {
    /// Puts windows where flushes can name them; the processes that are needed for that.
    pub(super) fn window_processes(&mut self, span: Span) -> Lower<Vec<Template>> {
        let Some(mpi) = &self.mpi else {
            return Ok(Vec::new());
        };
        let count = mpi.count();
        if mpi.windows.iter().any(|own| own.len() != count) {
            return Err(Diagnostic::error(
                span,
                "unsupported: ranks that make different numbers of windows",
            )
            .help("let every rank make every window: MPI_Win_allocate is collective"));
        }
        if count <= 1 {
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
        span,
    }
}

fn zero() -> Val {
    Val::constant(0, &Type::INT)
}

fn equals(e: &LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Eq, e.clone(), Ir::Const(value))
}

/// The arguments that say which elements of a window are meant.
struct Target<'e> {
    rank: &'e Expr,
    at: &'e Expr,
    window: &'e Expr,
}

impl Code<'_, '_> {
    /// A call of MPI; `None` if it is none.
    pub(super) fn mpi_call(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        if !name.starts_with("MPI_") {
            return Ok(None);
        }
        if self.cx.mpi.is_none() {
            return Err(
                Diagnostic::error(span, format!("`{name}` without MPI_Init"))
                    .help("call MPI_Init first in main"),
            );
        }
        self.mpi_named(name, args, span)?;
        Ok(Some(zero()))
    }

    fn mpi(&self) -> &Mpi {
        self.cx
            .mpi
            .as_ref()
            .expect("asked for in MPI programs only")
    }

    fn mpi_named(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<()> {
        match (name, args) {
            ("MPI_Init", [_, _]) | ("MPI_Finalize", []) => Ok(()),
            ("MPI_Win_sync", [_]) | ("MPI_Win_lock_all", [_, _]) => Ok(()),
            ("MPI_Abort", _) => {
                self.block(span);
                Ok(())
            }
            ("MPI_Comm_rank", [_, to]) => self.set_number(to, self.mpi().rank, span),
            ("MPI_Comm_size", [_, to]) => self.set_number(to, self.mpi().ranks, span),
            ("MPI_Barrier", [_]) => self.mpi_barrier(span),
            ("MPI_Win_allocate", [size, unit, _, _, base, win]) => {
                self.window_allocate(size, unit, base, win, span)
            }
            ("MPI_Win_create", [base, size, unit, _, _, win]) => {
                self.window_create(base, size, unit, win, span)
            }
            ("MPI_Win_flush", [rank, win]) => self.flush_rank(rank, win, Side::Both, span),
            ("MPI_Win_flush_local", [rank, win]) => self.flush_rank(rank, win, Side::Own, span),
            ("MPI_Win_flush_all" | "MPI_Win_unlock_all", [win]) => {
                self.flush_window(win, Side::Both, span)
            }
            ("MPI_Win_flush_local_all", [win]) => self.flush_window(win, Side::Own, span),
            ("MPI_Win_fence", [_, win]) => {
                self.flush_window(win, Side::Both, span)?;
                self.mpi_barrier(span)
            }
            ("MPI_Win_free", [win]) => {
                let place = self.target_of(win)?;
                let handle = self.load(&place, span)?;
                let number = self.window_named(&handle, span)?;
                self.flush_number(number, Side::Both, span);
                self.mpi_barrier(span)
            }
            ("MPI_Put" | "MPI_Get", [origin, count, ty, rank, at, far_count, far_ty, window]) => {
                let types = [ty, far_ty];
                let count = self.elements(count, far_count, span)?;
                let target = Target { rank, at, window };
                self.transfer(name == "MPI_Put", origin, count, types, &target, span)
            }
            ("MPI_Accumulate", [origin, count, ty, rank, at, far_count, far_ty, op, window]) => {
                let count = self.elements(count, far_count, span)?;
                let op = self.operation(op, span)?;
                let target = Target { rank, at, window };
                let change = |operands: &[Memory]| Change::Op {
                    op,
                    operand: Operand::Place(operands[0].clone()),
                };
                let types = [ty, far_ty];
                self.atomic_operation(&[origin], None, count, types, &target, &change, span)
            }
            ("MPI_Fetch_and_op", [origin, result, ty, rank, at, op, window]) => {
                let op = self.operation(op, span)?;
                let target = Target { rank, at, window };
                let change = |operands: &[Memory]| Change::Op {
                    op,
                    operand: Operand::Place(operands[0].clone()),
                };
                let (result, types) = (Some(result), [ty, ty]);
                self.atomic_operation(&[origin], result, 1, types, &target, &change, span)
            }
            ("MPI_Compare_and_swap", [origin, compare, result, ty, rank, at, window]) => {
                let target = Target { rank, at, window };
                let change = |operands: &[Memory]| Change::CompareSwap {
                    expected: Operand::Place(operands[0].clone()),
                    new: Operand::Place(operands[1].clone()),
                };
                let buffers = [compare, origin];
                let (result, types) = (Some(result), [ty, ty]);
                self.atomic_operation(&buffers, result, 1, types, &target, &change, span)
            }
            _ => unsupported(
                span,
                &format!("this call of `{name}`"),
                "MPI_Put, MPI_Get, MPI_Accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap, flushes, \
                 fences and barriers are supported",
            ),
        }
    }

    fn set_number(&mut self, to: &Expr, value: u32, span: Span) -> Lower<()> {
        let place = self.target_of(to)?;
        let value = Val::constant(i128::from(value), &Type::INT);
        self.store(&place, value, span)
    }

    /// A barrier of all ranks. The sense changes when the last one arrives, and can
    /// change again only after all have left.
    fn mpi_barrier(&mut self, span: Span) -> Lower<()> {
        let (arrived, sense) = self.mpi().barrier;
        let last = i64::from(self.mpi().ranks) - 1;
        let old = self.hidden(span);
        self.atomically(AtomicKind::Block, span, |code| {
            let (count, src) = (code.temporary(span), Memory::scalar(sense));
            code.emit(Step::Load { dst: old, src }, span);
            let src = Memory::scalar(arrived);
            code.emit(Step::Load { dst: count, src }, span);
            let (yes, no, join) = (code.graph.loc(), code.graph.loc(), code.graph.loc());
            let count = code.read(count);
            code.branch_on(equals(&count, last), yes, no, span);
            code.at(yes);
            code.write_word(arrived, Ir::Const(0), span);
            let turned = LocalExpr::binary(BinOp::Sub, Ir::Const(1), code.read(old));
            code.write_word(sense, turned, span);
            code.go(join, span);
            code.at(no);
            let next = LocalExpr::binary(BinOp::Add, count, Ir::Const(1));
            code.write_word(arrived, next, span);
            code.go(join, span);
            code.at(join);
            Ok(())
        })?;
        self.atomically(AtomicKind::Block, span, |code| {
            let (now, src) = (code.temporary(span), Memory::scalar(sense));
            code.emit(Step::Load { dst: now, src }, span);
            let (now, old) = (code.read(now), code.read(old));
            code.emit(Step::Assume(LocalExpr::binary(BinOp::Ne, now, old)), span);
            Ok(())
        })
    }

    fn write_word(&mut self, var: GlobalId, value: LocalExpr, span: Span) {
        let dst = Memory::scalar(var);
        self.emit(Step::Store { dst, value }, span);
    }

    /// The bytes of one element, and how many fit into `size` bytes.
    fn window_size(&mut self, size: &Expr, unit: &Expr, ty: &Type, span: Span) -> Lower<u64> {
        let one = ty.size(self.cx.layouts.structs, self.cx.options.data_model);
        let (size, unit) = (
            self.value(size)?.as_constant(),
            self.value(unit)?.as_constant(),
        );
        let (Some(size), Some(unit), Some(one)) = (size, unit, one) else {
            return unsupported(
                span,
                "a window whose size is not known here",
                "give a constant size, such as `2 * sizeof(int)`",
            );
        };
        if unit != i128::from(one) || !ty.is_scalar() {
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
        Ok(count)
    }

    fn window_allocate(
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
        let count = self.window_size(size, unit, &ty, span)?;
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
        self.window(number, count, ty, win, span)
    }

    fn window_create(
        &mut self,
        base: &Expr,
        size: &Expr,
        unit: &Expr,
        win: &Expr,
        span: Span,
    ) -> Lower<()> {
        let address = self.value(base)?;
        let object = address.object.or_else(|| {
            let constant = address.as_constant()?;
            self.cx.object_at(constant as i64)
        });
        let found = object.and_then(|k| Some((k, self.cx.object_number(k)?)));
        let start = |o: &super::layout::Object| o.base.map(i128::from);
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
        let count = self.window_size(size, unit, &ty, span)?;
        if count > leaf.count() {
            return Err(Diagnostic::error(span, "a window beyond its variable")
                .label(format!("{count} elements of {}", leaf.count()))
                .help("make the window no larger than the variable"));
        }
        object.poisoned.set(true);
        self.window(number, count, ty, win, span)
    }

    /// Notes a window and stores its handle.
    fn window(&mut self, object: usize, count: u64, ty: Type, win: &Expr, span: Span) -> Lower<()> {
        if self.loop_depth > 0 {
            return unsupported(span, "a window made in a loop", "make it before the loop");
        }
        let mpi = self.cx.mpi.as_mut().expect("an MPI program");
        let own = &mut mpi.windows[mpi.rank as usize];
        own.push(Window { object, count, ty });
        let handle = own.len() as i128;
        let place = self.target_of(win)?;
        self.store(&place, Val::constant(handle, &Type::INT), span)
    }

    /// The number of the window that a handle names.
    fn window_number(&mut self, win: &Expr, span: Span) -> Lower<usize> {
        let handle = self.value(win)?;
        self.window_named(&handle, span)
    }

    fn window_named(&mut self, handle: &Val, span: Span) -> Lower<usize> {
        let handle = handle.as_constant();
        let handle = handle.and_then(|h| usize::try_from(h - 1).ok());
        match (handle, self.mpi().count()) {
            (Some(number), count) if number < count => Ok(number),
            (_, 1) => Ok(0),
            _ => unsupported(
                span,
                "a window that is not known here",
                "keep the window in a local variable of main",
            ),
        }
    }

    fn elements(&mut self, count: &Expr, far: &Expr, span: Span) -> Lower<u64> {
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

    fn operation(&mut self, op: &Expr, span: Span) -> Lower<RemoteOp> {
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
    fn check_type(&mut self, datatype: &Expr, ty: &Type, span: Span) -> Lower<()> {
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

    /// Runs `f` once for each rank that `rank` may be.
    fn each_rank(
        &mut self,
        rank: &Expr,
        span: Span,
        f: &mut dyn FnMut(&mut Self, u32) -> Lower<()>,
    ) -> Lower<()> {
        let ranks = self.mpi().ranks;
        let value = self.value(rank)?;
        let value = self.saved(value, span);
        if let Some(constant) = value.as_constant() {
            if let Some(rank) = u32::try_from(constant).ok().filter(|r| *r < ranks) {
                return f(self, rank);
            }
            let words = format!("rank {constant} of {ranks} ranks");
            self.demand(Ir::FALSE, &words, span);
            self.block(span);
            return Ok(());
        }
        let any = (0..ranks).fold(Ir::FALSE, |all: LocalExpr, r| {
            all.or(equals(&value.e, i64::from(r)))
        });
        self.demand(any, "a rank that there is not", span);
        let (start, join) = (self.here, self.graph.loc());
        for rank in 0..ranks {
            let then = self.graph.loc();
            self.here = start;
            self.assume(equals(&value.e, i64::from(rank)), then, span);
            self.at(then);
            f(self, rank)?;
            self.go(join, span);
        }
        self.at(join);
        Ok(())
    }

    fn flush_rank(&mut self, rank: &Expr, win: &Expr, side: Side, span: Span) -> Lower<()> {
        let number = self.window_number(win, span)?;
        self.each_rank(rank, span, &mut |code, rank| {
            code.flush_home(rank, number, side, span);
            Ok(())
        })
    }

    fn flush_home(&mut self, rank: u32, number: usize, side: Side, span: Span) {
        let template = self.mpi().home(rank, number);
        let target = FlushTarget::Process {
            template,
            copy: None,
        };
        self.emit(Step::Flush(side.of(target)), span);
    }

    fn flush_window(&mut self, win: &Expr, side: Side, span: Span) -> Lower<()> {
        let number = self.window_number(win, span)?;
        self.flush_number(number, side, span);
        Ok(())
    }

    fn flush_number(&mut self, number: usize, side: Side, span: Span) {
        if self.mpi().count() <= 1 {
            self.emit(Step::Flush(side.of(FlushTarget::All)), span);
            return;
        }
        for rank in 0..self.mpi().ranks {
            self.flush_home(rank, number, side, span);
        }
    }

    /// Element `k` of a window of a rank, from displacement `at`; `None` in the first
    /// pass, where the window may not be known yet.
    fn remote_cell(
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
        let index = super::place::plus(at.e.clone(), Ir::Const(k as i64));
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
        })
    }

    /// The type of a window's elements; `None` as for [`Self::remote_cell`].
    fn window_type(&self, number: usize) -> Option<Type> {
        let window = self.mpi().window(self.mpi().rank, number)?;
        Some(window.ty.clone())
    }

    /// Element `k` of a buffer of this rank, case by case.
    fn own_cells(&mut self, buffer: &Val, k: u64, span: Span) -> Lower<Vec<(LocalExpr, Memory)>> {
        let Some(ty) = buffer.ty.pointee().cloned() else {
            return Err(Diagnostic::error(span, "expected a pointer"));
        };
        let address = super::place::plus(buffer.e.clone(), Ir::Const(k as i64));
        let pointer = Val {
            e: address,
            ..buffer.clone()
        };
        let place: Place = self.pointed(pointer, ty);
        self.poison(&place);
        let mut cells = Vec::new();
        for case in self.cases(&place, span)? {
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
    fn poison(&self, place: &Place) {
        let known = match place {
            Place::Address { object, .. } => object.and_then(|k| self.cx.object_number(k)),
            Place::Variable { object, .. } => Some(object.clone()),
        };
        match known {
            Some(object) => object.poisoned.set(true),
            None => {
                for object in self.cx.targets(self.thread) {
                    object.poisoned.set(true);
                }
            }
        }
    }

    /// Runs `f` once for each combination of cells that buffers may be.
    fn each_cell(
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

    fn transfer(
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
    fn atomic_operation(
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
    fn remote(
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
