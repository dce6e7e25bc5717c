//! *Epochs* of MPI's windows: between which calls a rank may issue operations. Registers of the
//! rank say which are open; an operation outside of one, a flush without a lock, an unlock without a
//! lock, a complete without start are [`AssertKind::EpochMisuse`].
//!
//! | opened by | closed by | operations to |
//! |---|---|---|
//! | `MPI_Win_fence` | a fence with `MPI_MODE_NOSUCCEED` | every rank |
//! | `MPI_Win_lock` | `MPI_Win_unlock` | that rank |
//! | `MPI_Win_lock_all` | `MPI_Win_unlock_all` | every rank |
//! | `MPI_Win_start` | `MPI_Win_complete` | the ranks of the group |
//!
//! A lock is granted when `MPI_Win_lock` returns, and `MPI_Win_start` returns when its group has
//! posted. (An MPI library may let both return earlier and delay the operations. That orders less
//! between other calls of the rank and those of its targets.)
//! A group is a number whose bits are ranks.

use palisade_program::{
    AssertKind, AtomicKind, BinOp, Domain, Expr as Ir, GlobalId, LocalAtom, LocalExpr, LocalId,
    Place as Memory, Span, Step,
};

use super::super::code::{Code, Lower};
use crate::c::ast::Expr;
use crate::c::types::Type;

/// What may be open at a window.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) enum Epoch {
    Fence(usize),
    Lock(usize, u32),
    LockAll(usize),
    /// The group of `MPI_Win_start`.
    Start(usize),
    /// The group of `MPI_Win_post`.
    Post(usize),
}

const EXCLUSIVE: i128 = 1;
const NO_SUCCEED: i128 = 16;

fn is(e: LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Eq, e, Ir::Const(value))
}

fn is_not(e: LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Ne, e, Ir::Const(value))
}

/// Whether a rank is in a group.
fn holds(group: &LocalExpr, rank: u32) -> LocalExpr {
    if let Ir::Const(mask) = group {
        return Ir::Const((mask >> rank) & 1);
    }
    let part = LocalExpr::binary(BinOp::Div, group.clone(), Ir::Const(1 << rank));
    is(LocalExpr::binary(BinOp::Mod, part, Ir::Const(2)), 1)
}

impl Code<'_, '_> {
    /// Where threads of the rank share its epochs, the variable that says which are open.
    fn epoch_word(&mut self, epoch: Epoch, span: Span) -> Option<Memory> {
        if !self.cx.has_threads() {
            return None;
        }
        let name = match epoch {
            Epoch::Fence(window) => format!("fence{window}"),
            Epoch::Lock(window, rank) => format!("lock{window}.{rank}"),
            Epoch::LockAll(window) => format!("lock_all{window}"),
            Epoch::Start(window) => format!("start{window}"),
            Epoch::Post(window) => format!("post{window}"),
        };
        let name = format!("rank{}.epoch.{name}", self.me());
        Some(Memory::scalar(self.cx.common(name, None, span)))
    }

    fn epoch_register(&mut self, epoch: Epoch, span: Span) -> LocalId {
        if let Some(known) = self.cx.one_sided().epochs.get(&epoch) {
            return *known;
        }
        let local = self.hidden(span);
        self.cx.one_sided().epochs.insert(epoch, local);
        local
    }

    fn epoch(&mut self, epoch: Epoch, span: Span) -> LocalExpr {
        if let Some(word) = self.epoch_word(epoch, span) {
            return self.load_from(&word, span);
        }
        let local = self.epoch_register(epoch, span);
        Ir::Atom(LocalAtom::Local(local))
    }

    fn set_epoch(&mut self, epoch: Epoch, value: LocalExpr, span: Span) {
        if let Some(word) = self.epoch_word(epoch, span) {
            self.store_to(&word, value, span);
            return;
        }
        let dst = self.epoch_register(epoch, span);
        self.emit(Step::Assign { dst, value }, span);
    }

    fn demand_epoch(&mut self, cond: LocalExpr, what: &str, span: Span) {
        self.oblige(cond, AssertKind::EpochMisuse(what.to_owned()), span);
    }

    /// An operation to a rank stands in an epoch.
    pub(super) fn check_epoch(&mut self, window: usize, to: u32, name: &str, span: Span) {
        let fence = is(self.epoch(Epoch::Fence(window), span), 1);
        let lock = is_not(self.epoch(Epoch::Lock(window, to), span), 0);
        let all = is(self.epoch(Epoch::LockAll(window), span), 1);
        let group = self.epoch(Epoch::Start(window), span);
        let started = holds(&group, to);
        let what = format!("`{name}` outside of an epoch for rank {to}");
        self.demand_epoch(fence.or(lock).or(all).or(started), &what, span);
    }

    /// A flush stands between lock and unlock.
    pub(super) fn check_locked(&mut self, window: usize, to: Option<u32>, name: &str, span: Span) {
        let mut open = is(self.epoch(Epoch::LockAll(window), span), 1);
        let ranks = self.ranks();
        for rank in 0..ranks {
            if to.is_none_or(|t| t == rank) {
                let lock = self.epoch(Epoch::Lock(window, rank), span);
                open = open.or(is_not(lock, 0));
            }
        }
        let what = format!("`{name}` without a lock");
        self.demand_epoch(open, &what, span);
    }

    /// Who holds the lock of a window at a rank: -1 exclusively, else how many share it.
    fn lock_word(&mut self, window: usize, rank: u32, span: Span) -> GlobalId {
        self.cx
            .common(format!("window{window}.lock{rank}"), None, span)
    }

    /// Takes the lock of a window at a rank, when it is free.
    fn acquire(
        &mut self,
        window: usize,
        rank: u32,
        exclusive: &LocalExpr,
        span: Span,
    ) -> Lower<()> {
        let word = self.lock_word(window, rank, span);
        self.atomically(AtomicKind::Block, span, |code| {
            let held = code.load_from(&Memory::scalar(word), span);
            let free = is(held.clone(), 0);
            let shared = LocalExpr::binary(BinOp::Ge, held.clone(), Ir::Const(0));
            let alone = exclusive.clone().and(free);
            let ready = alone.or(exclusive.clone().negate().and(shared));
            code.emit(Step::Assume(ready), span);
            let next = LocalExpr::binary(BinOp::Add, held, Ir::Const(1));
            let value = match exclusive {
                Ir::Const(0) => next,
                Ir::Const(_) => Ir::Const(-1),
                other => Ir::Cond(
                    Box::new(other.clone()),
                    Box::new(Ir::Const(-1)),
                    Box::new(next),
                ),
            };
            code.store_to(&Memory::scalar(word), value, span);
            Ok(())
        })
    }

    fn release(&mut self, window: usize, rank: u32, span: Span) {
        let word = self.lock_word(window, rank, span);
        let held = self.load_from(&Memory::scalar(word), span);
        let less = LocalExpr::binary(BinOp::Sub, held.clone(), Ir::Const(1));
        let positive = LocalExpr::binary(BinOp::Gt, held, Ir::Const(0));
        let value = Ir::Cond(Box::new(positive), Box::new(less), Box::new(Ir::Const(0)));
        self.store_to(&Memory::scalar(word), value, span);
    }

    pub(super) fn window_lock(
        &mut self,
        kind: &Expr,
        rank: &Expr,
        win: &Expr,
        span: Span,
    ) -> Lower<()> {
        let kind = self.value(kind)?;
        let kind = self.saved(kind, span);
        let exclusive = match kind.as_constant() {
            Some(kind) => Ir::Const(i64::from(kind == EXCLUSIVE)),
            None => is(kind.e, EXCLUSIVE as i64),
        };
        let window = self.window_number(win, span)?;
        self.each_window_rank(window, rank, span, &mut |code, rank| {
            let open = code.epoch(Epoch::Lock(window, rank), span);
            let all = code.epoch(Epoch::LockAll(window), span);
            let what = "`MPI_Win_lock` of a window that is locked by this rank already";
            code.demand_epoch(is(open, 0).and(is(all, 0)), what, span);
            code.acquire(window, rank, &exclusive, span)?;
            code.set_epoch(Epoch::Lock(window, rank), Ir::Const(1), span);
            Ok(())
        })
    }

    pub(super) fn window_unlock(&mut self, rank: &Expr, win: &Expr, span: Span) -> Lower<()> {
        let window = self.window_number(win, span)?;
        self.each_window_rank(window, rank, span, &mut |code, rank| {
            let open = code.epoch(Epoch::Lock(window, rank), span);
            code.demand_epoch(
                is_not(open, 0),
                "`MPI_Win_unlock` without `MPI_Win_lock`",
                span,
            );
            code.complete(window, Some(rank), false, span, |code| {
                code.release(window, rank, span);
            })?;
            code.set_epoch(Epoch::Lock(window, rank), Ir::Const(0), span);
            Ok(())
        })
    }

    /// A shared lock at every rank. Ranks are locked in any order by the library; in this
    /// one nobody waits for somebody who waits for him, since nobody locks exclusively meanwhile.
    pub(super) fn window_lock_all(&mut self, win: &Expr, span: Span) -> Lower<()> {
        let window = self.window_number(win, span)?;
        let all = self.epoch(Epoch::LockAll(window), span);
        let what = "`MPI_Win_lock_all` of a window that is locked by this rank already";
        self.demand_epoch(is(all, 0), what, span);
        let members = self.window_members(window).unwrap_or_default();
        for rank in &members {
            self.acquire(window, *rank, &Ir::FALSE, span)?;
        }
        self.set_epoch(Epoch::LockAll(window), Ir::Const(1), span);
        Ok(())
    }

    pub(super) fn window_unlock_all(&mut self, win: &Expr, span: Span) -> Lower<()> {
        let window = self.window_number(win, span)?;
        let all = self.epoch(Epoch::LockAll(window), span);
        let what = "`MPI_Win_unlock_all` without `MPI_Win_lock_all`";
        self.demand_epoch(is(all, 1), what, span);
        let members = self.window_members(window).unwrap_or_default();
        self.complete(window, None, false, span, |code| {
            for rank in members {
                code.release(window, rank, span);
            }
        })?;
        self.set_epoch(Epoch::LockAll(window), Ir::Const(0), span);
        Ok(())
    }

    pub(super) fn window_fence(&mut self, assertion: &Expr, win: &Expr, span: Span) -> Lower<()> {
        let assertion = self.value(assertion)?;
        let window = self.window_number(win, span)?;
        let all = self.epoch(Epoch::LockAll(window), span);
        let group = self.epoch(Epoch::Start(window), span);
        let what = "`MPI_Win_fence` while another epoch of the window is open";
        self.demand_epoch(is(all, 0).and(is(group, 0)), what, span);
        self.complete(window, None, false, span, |_| {})?;
        self.window_barrier(window, "fence", span)?;
        let ends = assertion.as_constant().is_some_and(|a| a & NO_SUCCEED != 0);
        let open = Ir::Const(i64::from(!ends));
        self.set_epoch(Epoch::Fence(window), open, span);
        Ok(())
    }

    fn post_word(&mut self, what: &str, window: usize, from: u32, to: u32, span: Span) -> GlobalId {
        self.cx
            .common(format!("window{window}.{what}.{from}.{to}"), None, span)
    }

    /// Runs `f` for each rank of a group.
    fn each_member(
        &mut self,
        group: &LocalExpr,
        span: Span,
        f: &mut dyn FnMut(&mut Self, u32) -> Lower<()>,
    ) -> Lower<()> {
        for rank in 0..self.ranks() {
            let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
            let (is_in, is_out) = self.branch_on(holds(group, rank), yes, no, span);
            if is_in {
                self.at(yes);
                f(self, rank)?;
                self.go(join, span);
            }
            if is_out {
                self.at(no);
                self.go(join, span);
            }
            self.at(join);
        }
        Ok(())
    }

    fn raise(&mut self, word: GlobalId, span: Span) -> Lower<()> {
        self.atomically(AtomicKind::Block, span, |code| {
            let before = code.load_from(&Memory::scalar(word), span);
            let more = LocalExpr::binary(BinOp::Add, before, Ir::Const(1));
            code.store_to(&Memory::scalar(word), more, span);
            Ok(())
        })
    }

    fn await_word(&mut self, word: GlobalId, span: Span) -> Lower<()> {
        self.atomically(AtomicKind::Block, span, |code| {
            let before = code.load_from(&Memory::scalar(word), span);
            let some = LocalExpr::binary(BinOp::Gt, before.clone(), Ir::Const(0));
            code.emit(Step::Assume(some), span);
            let less = LocalExpr::binary(BinOp::Sub, before, Ir::Const(1));
            code.store_to(&Memory::scalar(word), less, span);
            Ok(())
        })
    }

    pub(super) fn window_post(&mut self, group: &Expr, win: &Expr, span: Span) -> Lower<()> {
        let group = self.value(group)?;
        let group = self.saved(group, span);
        let window = self.window_number(win, span)?;
        let open = self.epoch(Epoch::Post(window), span);
        self.demand_epoch(
            is(open, 0),
            "`MPI_Win_post` before `MPI_Win_wait` of the one before",
            span,
        );
        self.synchronise_stores(window, span)?;
        let me = self.me();
        self.each_member(&group.e, span, &mut |code, rank| {
            let word = code.post_word("posted", window, me, rank, span);
            code.raise(word, span)
        })?;
        self.set_epoch(Epoch::Post(window), group.e, span);
        Ok(())
    }

    pub(super) fn window_start(&mut self, group: &Expr, win: &Expr, span: Span) -> Lower<()> {
        let group = self.value(group)?;
        let group = self.saved(group, span);
        let window = self.window_number(win, span)?;
        let open = self.epoch(Epoch::Start(window), span);
        let what = "`MPI_Win_start` before `MPI_Win_complete` of the one before";
        self.demand_epoch(is(open, 0), what, span);
        let me = self.me();
        self.each_member(&group.e, span, &mut |code, rank| {
            let word = code.post_word("posted", window, rank, me, span);
            code.await_word(word, span)
        })?;
        self.set_epoch(Epoch::Start(window), group.e, span);
        Ok(())
    }

    pub(super) fn window_complete(&mut self, win: &Expr, span: Span) -> Lower<()> {
        let window = self.window_number(win, span)?;
        let group = self.epoch(Epoch::Start(window), span);
        self.demand_epoch(
            is_not(group.clone(), 0),
            "`MPI_Win_complete` without `MPI_Win_start`",
            span,
        );
        let me = self.me();
        self.each_member(&group, span, &mut |code, rank| {
            code.complete(window, Some(rank), false, span, |_| {})?;
            let word = code.post_word("completed", window, me, rank, span);
            code.raise(word, span)
        })?;
        self.set_epoch(Epoch::Start(window), Ir::Const(0), span);
        Ok(())
    }

    pub(super) fn window_wait(&mut self, win: &Expr, span: Span) -> Lower<()> {
        let window = self.window_number(win, span)?;
        let group = self.epoch(Epoch::Post(window), span);
        self.demand_epoch(
            is_not(group.clone(), 0),
            "`MPI_Win_wait` without `MPI_Win_post`",
            span,
        );
        let me = self.me();
        self.each_member(&group, span, &mut |code, rank| {
            let word = code.post_word("completed", window, rank, me, span);
            code.await_word(word, span)
        })?;
        self.set_epoch(Epoch::Post(window), Ir::Const(0), span);
        Ok(())
    }

    /// `MPI_Win_test`: as a wait where all have completed, or nothing. It need not see that they have.
    pub(super) fn window_test(&mut self, win: &Expr, flag: &Expr, span: Span) -> Lower<()> {
        let window = self.window_number(win, span)?;
        let flag = self.target_of(flag)?;
        let group = self.epoch(Epoch::Post(window), span);
        let what = "`MPI_Win_test` without `MPI_Win_post`";
        self.demand_epoch(is_not(group.clone(), 0), what, span);
        let (me, ranks) = (self.me(), self.ranks());
        let luck = self.hidden(span);
        let domain = Some(Domain { lo: 0, hi: 1 });
        self.atomically(AtomicKind::Block, span, |code| {
            code.emit(Step::Havoc { dst: luck, domain }, span);
            let unlucky = is(code.read(luck), 0);
            for rank in 0..ranks {
                let word = code.post_word("completed", window, rank, me, span);
                let done = code.load_from(&Memory::scalar(word), span);
                let other = holds(&group, rank).negate();
                let ready = unlucky.clone().or(other).or(is_not(done, 0));
                code.emit(Step::Assume(ready), span);
            }
            Ok(())
        })?;
        let luck = self.read(luck);
        let value = self.held(luck.clone(), &Type::INT);
        self.store(&flag, value, span)?;
        let cases = [(is(luck.clone(), 1), true), (is(luck, 0), false)];
        self.each_case(&cases, span, &mut |code, is_lucky| {
            if !is_lucky {
                return Ok(());
            }
            code.each_member(&group, span, &mut |code, rank| {
                let word = code.post_word("completed", window, rank, me, span);
                code.await_word(word, span)
            })?;
            code.set_epoch(Epoch::Post(window), Ir::Const(0), span);
            Ok(())
        })
    }

    /// Completes the own operations of a window, to one rank or to all; `local` for the origin's
    /// side only. `f` is part of the same step.
    pub(super) fn complete(
        &mut self,
        window: usize,
        to: Option<u32>,
        local: bool,
        span: Span,
        f: impl FnOnce(&mut Self),
    ) -> Lower<()> {
        use super::shadow::Part;
        self.atomically(AtomicKind::Block, span, |code| {
            let there =
                |channel: usize, rank: u32| channel == window && to.is_none_or(|t| t == rank);
            let is_awaited = |fetches: bool| fetches || !local;
            code.await_atomics(
                &|way| there(way.channel, way.to) && is_awaited(way.fetches),
                span,
            );
            let is_own = |part| match part {
                Part::Origin | Part::RequestOrigin(_) => true,
                Part::Target | Part::RequestTarget(_) | Part::Delivered(_) | Part::Fenced => !local,
                Part::Stored => false,
            };
            let is_store =
                |a: &super::shadow::Access| a.part == Part::Stored && a.channel == window && !local;
            let is_done =
                |a: &super::shadow::Access| there(a.channel, a.to) && is_own(a.part) || is_store(a);
            code.complete_accesses(&is_done, span)?;
            f(code);
            Ok(())
        })
    }
}
