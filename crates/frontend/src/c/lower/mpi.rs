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
//! | `MPI_Win_fence`, `MPI_Win_free` | flush of the window at every rank, then a barrier |
//! | `MPI_Barrier` | a counter and a sense in atomic blocks: it completes no operation |
//! | `MPI_Win_lock_all` | nothing |
//!
//! Buffers of operations are in memory, since the network reads and writes them later. A
//! window that is allocated is not initialised, and what it holds may come to other
//! buffers: reads of all of them are checked ([`palisade_program::UNINITIALISED`]).
//! The network computes with mathematical integers; that a sum fits its type is an
//! obligation where it is read.

mod remote;
mod windows;

use std::collections::BTreeMap;

use palisade_program::{
    AtomicKind, BinOp, Change, Expr as Ir, FlushTarget, GlobalId, Home, LocalExpr, Operand,
    Place as Memory, Span, Step, TemplateId,
};

use super::code::{Code, Known, Lower, meet};
use super::expr::unsupported;
use super::layout::Cells;
use super::onesided::Library;
use super::place::Place;
use super::value::Val;
use crate::c::ast::{Expr, ExprKind, Unary};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;
use remote::Target;

/// Elements of one operation at most.
const MAX_ELEMENTS: i128 = 64;
/// The rank that is nobody.
pub(super) const NOBODY: i128 = -2;
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

/// What a window is made of: the communicator, and the how many-th window there.
pub(super) type Making = (i64, usize);

/// A window at one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Window {
    pub(super) making: Making,
    pub(super) kind: WindowKind,
    /// The number of the object.
    pub(super) object: usize,
    /// The element of the object that it starts at.
    pub(super) start: u64,
    /// Elements.
    pub(super) count: u64,
    /// What an element is.
    pub(super) ty: Type,
    /// Bytes that displacements count.
    pub(super) unit: u64,
}

/// Kinds of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WindowKind {
    /// Memory of each rank.
    Own,
    /// One piece of memory, of which each rank has a part, and all load and store everywhere.
    Shared,
    /// What ranks attach; displacements are addresses.
    Dynamic,
}

/// The windows of one rank, by their numbers, which are the same at every rank.
pub(super) type Windows = BTreeMap<usize, Window>;

/// What is known of an MPI program.
pub(super) struct Mpi {
    /// How many ranks there are.
    pub(super) ranks: u32,
    /// The rank that is lowered.
    pub(super) rank: u32,
    /// The windows of each rank.
    pub(super) windows: Vec<Windows>,
    /// Those that the pass before found.
    previous: Vec<Windows>,
    /// The windows of the program, by their numbers.
    makings: Vec<Making>,
    /// The variables to which handles of windows are stored, each with the number of its window if
    /// there is only one.
    handles: BTreeMap<String, Option<usize>>,
    /// The variables in memory that the library has stored a rank or a size to, if only one.
    numbers: BTreeMap<GlobalId, Option<i64>>,
    /// The barrier: how many have arrived, and its sense.
    barrier: (GlobalId, GlobalId),
    /// Barriers of other calls than `MPI_Barrier`, by name: those who wait in one do not meet those in another.
    barriers: BTreeMap<String, (GlobalId, GlobalId)>,
}

/// Whether some function of the file calls MPI.
pub(super) fn is_used(file: &crate::c::ast::File) -> bool {
    let names = super::walk::file_names(file).mentioned;
    let mut names = names.iter();
    let starts = ["MPI_Init", "shmem_init", "gaspi_proc_init"];
    names.any(|name| starts.iter().any(|start| name.starts_with(start)))
}

/// Whether the argument is a buffer of the network: it has to be in memory.
pub(super) fn is_buffer(function: &str, argument: usize) -> bool {
    match function {
        "MPI_Win_create" | "MPI_Get_address" => argument == 0,
        "MPI_Win_attach" => argument == 1,
        "MPI_Put" | "MPI_Get" | "MPI_Accumulate" => argument == 0,
        "MPI_Rput" | "MPI_Rget" | "MPI_Raccumulate" => argument == 0,
        "MPI_Send" | "MPI_Ssend" | "MPI_Bsend" | "MPI_Recv" | "MPI_Bcast" => argument == 0,
        "MPI_Isend" | "MPI_Irecv" => argument == 0,
        "MPI_Sendrecv" => matches!(argument, 0 | 5),
        "MPI_Gather" | "MPI_Scatter" | "MPI_Allgather" | "MPI_Alltoall" => {
            matches!(argument, 0 | 3)
        }
        "MPI_Allreduce" | "MPI_Reduce" => argument < 2,
        "MPI_Get_accumulate" | "MPI_Rget_accumulate" => matches!(argument, 0 | 3),
        "MPI_Group_incl" => argument == 2,
        "MPI_Waitall" | "MPI_Waitany" | "MPI_Testall" | "MPI_Testany" => argument == 1,
        "MPI_Waitsome" | "MPI_Testsome" => matches!(argument, 1 | 3),
        "MPI_Fetch_and_op" => argument < 2,
        "MPI_Compare_and_swap" => argument < 3,
        "gaspi_allreduce" => argument < 2,
        "gaspi_atomic_fetch_add" => argument == 4,
        "gaspi_atomic_compare_swap" => argument == 5,
        "gaspi_segment_bind" | "gaspi_segment_use" => argument == 1,
        _ => false,
    }
}

/// Whether the function takes addresses only to write there, or of buffers.
pub(super) fn takes_places(function: &str) -> bool {
    function.starts_with("MPI_")
        || function.starts_with("gaspi_")
        || matches!(
            function,
            "shmem_ctx_create" | "shmem_team_create_ctx" | "shmem_team_split_strided"
        )
}

/// The calls that are followed without a look at races.
const ASYNCHRONOUS: [&str; 22] = [
    "MPI_Init",
    "MPI_Finalize",
    "MPI_Abort",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Barrier",
    "MPI_Win_allocate",
    "MPI_Win_create",
    "MPI_Win_free",
    "MPI_Win_fence",
    "MPI_Win_lock_all",
    "MPI_Win_unlock_all",
    "MPI_Win_flush",
    "MPI_Win_flush_all",
    "MPI_Win_flush_local",
    "MPI_Win_flush_local_all",
    "MPI_Win_sync",
    "MPI_Put",
    "MPI_Get",
    "MPI_Accumulate",
    "MPI_Fetch_and_op",
    "MPI_Compare_and_swap",
];

/// Whether a program calls something whose meaning is known for programs without races only.
pub(super) fn needs_races(names: &std::collections::HashSet<String>) -> bool {
    let is_call = |name: &&String| {
        let rest = name.strip_prefix("MPI_");
        rest.is_some_and(|rest| rest.contains(|c: char| c.is_ascii_lowercase()))
    };
    let has_threads = ["pthread_create", "thrd_create"].map(|name| names.contains(name));
    if has_threads.contains(&true) || super::openmp::is_used(names) {
        return true;
    }
    if names.contains("MPI_COMM_SELF") {
        return true;
    }
    let mut calls = names.iter().filter(is_call);
    calls.any(|name| !ASYNCHRONOUS.contains(&name.as_str()))
}

impl Mpi {
    /// A program with so many ranks; `previous` are the windows of the pass before.
    pub(super) fn new(ranks: u32, previous: Vec<Windows>, barrier: (GlobalId, GlobalId)) -> Self {
        Self {
            ranks,
            rank: 0,
            windows: vec![Windows::new(); ranks as usize],
            previous,
            makings: Vec::new(),
            handles: BTreeMap::new(),
            numbers: BTreeMap::new(),
            barrier,
            barriers: BTreeMap::new(),
        }
    }

    /// How many windows a rank has.
    fn count(&self) -> usize {
        let all = self.windows.iter().chain(&self.previous);
        let last = all.filter_map(|own| own.keys().next_back()).max();
        last.map_or(0, |last| last + 1)
    }

    /// The number of the next window that a rank makes on a communicator.
    pub(super) fn next_window(&mut self, communicator: i64) -> (usize, Making) {
        let own = &self.windows[self.rank as usize];
        let before = own.values().filter(|w| w.making.0 == communicator);
        let making = (communicator, before.count());
        let known = self.makings.iter().position(|m| *m == making);
        let number = known.unwrap_or_else(|| {
            self.makings.push(making);
            self.makings.len() - 1
        });
        (number, making)
    }

    /// Window `number` of a rank.
    pub(super) fn window(&self, rank: u32, number: usize) -> Option<&Window> {
        let now = self.windows.get(rank as usize);
        let now = now.and_then(|w| w.get(&number));
        let before = self.previous.get(rank as usize);
        now.or_else(|| before.and_then(|w| w.get(&number)))
    }

    /// All windows that are known, with their numbers.
    pub(super) fn all_windows(&self) -> impl Iterator<Item = (usize, &Window)> {
        let all = self.windows.iter().chain(&self.previous).flatten();
        all.map(|(number, window)| (*number, window))
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

/// Whether an expression computes with variables, and does nothing else.
fn is_arithmetic(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(..) | ExprKind::Ident(_) => true,
        ExprKind::Unary(Unary::Plus | Unary::Minus | Unary::Not | Unary::BitNot, a)
        | ExprKind::Cast(_, a) => is_arithmetic(a),
        ExprKind::Binary(_, a, b) => is_arithmetic(a) && is_arithmetic(b),
        ExprKind::Cond(c, Some(a), b) => [c, a, b].into_iter().all(|e| is_arithmetic(e)),
        _ => false,
    }
}

fn zero() -> Val {
    Val::constant(0, &Type::INT)
}

fn equals(e: &LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Eq, e.clone(), Ir::Const(value))
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
        if (name, self.cx.layouts.floats) == ("MPI_Wtime", true) {
            return Ok(Some(Val::opaque(&Type::Other("double"))));
        }
        if let ("MPI_Aint_add" | "MPI_Aint_diff", [a, b]) = (name, args) {
            return self
                .address_sum(name == "MPI_Aint_add", [a, b], span)
                .map(Some);
        }
        if self.cx.onesided.is_some() && self.checked_call(name, args, span)?.is_some() {
            return Ok(Some(zero()));
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
            ("MPI_Comm_rank", [comm, to]) => {
                self.require_world(comm, span)?;
                self.set_number(to, self.mpi().rank, span)
            }
            ("MPI_Comm_size", [comm, to]) => {
                self.require_world(comm, span)?;
                self.set_number(to, self.mpi().ranks, span)
            }
            ("MPI_Barrier", [comm]) => {
                self.require_world(comm, span)?;
                self.mpi_barrier(span)
            }
            ("MPI_Win_allocate", [size, unit, _, comm, base, win]) => {
                let comm = self.window_communicator(comm, span)?;
                self.window_allocate([size, unit, base, win], comm, span)
            }
            ("MPI_Win_create", [base, size, unit, _, comm, win]) => {
                let comm = self.window_communicator(comm, span)?;
                self.window_create([base, size, unit, win], comm, span)
            }
            ("MPI_Win_flush", [rank, win]) => self.flush_rank(rank, win, Side::Both, span),
            ("MPI_Win_flush_local", [rank, win]) => self.flush_rank(rank, win, Side::Own, span),
            ("MPI_Win_flush_all" | "MPI_Win_unlock_all", [win]) => {
                self.flush_window(win, Side::Both, span)
            }
            ("MPI_Win_flush_local_all", [win]) => self.flush_window(win, Side::Own, span),
            ("MPI_Win_fence", [_, win]) => {
                let number = self.window_number(win, span)?;
                self.flush_number(number, Side::Both, span);
                self.barrier_in(&format!("window{number}.fence"), span)
            }
            ("MPI_Win_free", [win]) => {
                let place = self.target_of(win)?;
                let handle = self.load(&place, span)?;
                let number = self.window_named(&handle, Some(&place), span)?;
                self.flush_number(number, Side::Both, span);
                self.barrier_in(&format!("window{number}.free"), span)
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

    /// Stores a rank or a size.
    pub(super) fn set_number(&mut self, to: &Expr, value: u32, span: Span) -> Lower<()> {
        let place = self.target_of(to)?;
        self.store_number(&place, i64::from(value), span)
    }

    pub(super) fn store_number(&mut self, place: &Place, value: i64, span: Span) -> Lower<()> {
        if let Place::Variable { object, index, .. } = place
            && let ([Cells::Shared(var)], true) = (object.cells.as_slice(), index.is_empty())
        {
            let mpi = self.cx.mpi.as_mut().expect("an MPI program");
            let known = mpi.numbers.entry(*var).or_insert(Some(value));
            *known = known.filter(|v| *v == value);
        }
        let value = Val::constant(i128::from(value), &Type::INT);
        self.store(place, value, span)
    }

    /// The rank or size that a variable in memory holds, if nothing else was stored there.
    pub(super) fn stored_number(&self, var: GlobalId) -> Option<i64> {
        let mpi = self.cx.mpi.as_ref().filter(|_| self.trusts_numbers)?;
        *mpi.numbers.get(&var)?
    }

    /// The value of an argument that has to be a constant. Ranks and sizes in memory are taken as the library has
    /// stored them; a run in which they are something else is not followed.
    pub(super) fn fixed(&mut self, e: &Expr) -> Lower<Option<i128>> {
        let before = std::mem::replace(&mut self.trusts_numbers, true);
        let mut value = self.value(e);
        let is_known = value.as_ref().is_ok_and(|v| v.as_constant().is_some());
        if !is_known && is_arithmetic(e) {
            // The value may stem from before the call, where no constant was asked for.
            let around = std::mem::take(&mut self.arranged);
            value = self.value(e);
            self.arranged = around;
        }
        self.trusts_numbers = before;
        Ok(value?.as_constant())
    }

    /// A barrier of all ranks.
    pub(super) fn mpi_barrier(&mut self, span: Span) -> Lower<()> {
        let (words, ranks) = (self.mpi().barrier, self.mpi().ranks);
        self.collectively(span, |code| code.barrier_of(words, ranks, span))
    }

    /// A barrier of all ranks in another call than `MPI_Barrier`, such as the fence of a window.
    pub(super) fn barrier_in(&mut self, call: &str, span: Span) -> Lower<()> {
        let known = self.mpi().barriers.get(call).copied();
        let words = known.unwrap_or_else(|| {
            let words = ["arrived", "sense"].map(|what| {
                let var = self.cx.global(format!("{call}.{what}"), None, span);
                self.cx.globals[var.index()].home = Some(Home {
                    template: TemplateId(0),
                    per_copy: false,
                });
                var
            });
            let mpi = self.cx.mpi.as_mut().expect("an MPI program");
            mpi.barriers.insert(call.to_owned(), words.into());
            words.into()
        });
        let ranks = self.mpi().ranks;
        self.collectively(span, |code| code.barrier_of(words, ranks, span))
    }

    /// A barrier of some ranks. The sense changes when the last one arrives, and can
    /// change again only after all have left.
    pub(super) fn barrier_of(
        &mut self,
        (arrived, sense): (GlobalId, GlobalId),
        ranks: u32,
        span: Span,
    ) -> Lower<()> {
        let last = i64::from(ranks) - 1;
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

    /// Runs `f` once for each rank that `rank` may be; MPI's nobody is no rank, and nothing happens.
    pub(super) fn each_rank(
        &mut self,
        rank: &Expr,
        span: Span,
        f: &mut dyn FnMut(&mut Self, u32) -> Lower<()>,
    ) -> Lower<()> {
        let value = self.value(rank)?;
        let value = self.saved(value, span);
        let library = self
            .cx
            .onesided
            .as_ref()
            .map(super::onesided::Onesided::library);
        let nobody = match library {
            Some(Library::Mpi) | None => Some(NOBODY),
            Some(Library::Shmem | Library::Gaspi) => None,
        };
        let all: Vec<u32> = (0..self.mpi().ranks).collect();
        self.each_rank_of(&value, &all, nobody, span, &mut |code, rank| match rank {
            Some(rank) => f(code, rank),
            None => Ok(()),
        })
    }

    /// Runs `f` once for each of some ranks whose number among them a value may be, and without a rank where it may be
    /// `nobody`.
    pub(super) fn each_rank_of(
        &mut self,
        value: &Val,
        members: &[u32],
        nobody: Option<i128>,
        span: Span,
        f: &mut dyn FnMut(&mut Self, Option<u32>) -> Lower<()>,
    ) -> Lower<()> {
        if let Some(constant) = value.as_constant() {
            if nobody == Some(constant) {
                return f(self, None);
            }
            let rank = usize::try_from(constant).ok();
            if let Some(rank) = rank.and_then(|r| members.get(r)) {
                return f(self, Some(*rank));
            }
            let words = format!("rank {constant} of {} ranks", members.len());
            self.demand(Ir::FALSE, &words, span);
            self.block(span);
            return Ok(());
        }
        let ranks = members.iter().enumerate();
        let ranks = ranks.map(|(r, member)| (equals(&value.e, r as i64), Some(*member)));
        let none = nobody.map(|n| (equals(&value.e, n as i64), None));
        let cases: Vec<_> = ranks.chain(none).collect();
        let any = cases
            .iter()
            .fold(Ir::FALSE, |all: LocalExpr, (is, _)| all.or(is.clone()));
        self.demand(any, "a rank that there is not", span);
        self.each_case(&cases, span, &mut |code, rank| f(code, *rank))
    }

    /// Runs `f` for the case that holds.
    pub(super) fn each_case<T>(
        &mut self,
        cases: &[(LocalExpr, T)],
        span: Span,
        f: &mut dyn FnMut(&mut Self, &T) -> Lower<()>,
    ) -> Lower<()> {
        if let [(when, only)] = cases
            && *when == Ir::TRUE
        {
            return f(self, only);
        }
        let (start, join) = (self.here, self.graph.loc());
        let before = self.known.clone();
        let mut after: Option<Known> = None;
        for (when, case) in cases {
            let then = self.graph.loc();
            self.here = start;
            self.known.clone_from(&before);
            self.assume(when.clone(), then, span);
            self.at(then);
            f(self, case)?;
            self.go(join, span);
            after = Some(match after {
                Some(other) => meet(other, &self.known),
                None => self.known.clone(),
            });
        }
        self.known = after.unwrap_or(before);
        self.at(join);
        Ok(())
    }

    /// A communicator of all ranks, in their order: that of windows, and of calls that others are not followed for.
    pub(super) fn require_world(&mut self, comm: &Expr, span: Span) -> Lower<()> {
        let value = self.value(comm)?;
        let whole = self.whole_communicators();
        let is_whole = whole.iter().fold(Ir::FALSE, |all: LocalExpr, handle| {
            all.or(equals(&value.e, *handle))
        });
        if value.as_constant().is_some() && is_whole == Ir::FALSE {
            let help = "use MPI_COMM_WORLD";
            return unsupported(span, "this call on a communicator of some ranks", help);
        }
        self.require(
            is_whole,
            "a communicator that may be one of some ranks",
            span,
        );
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
}
