//! *Locks and their kin*: mutexes, condition variables, rwlocks, once, barriers and
//! semaphores of POSIX and C11. Each operation is an atomic block over the object,
//! which holds a number.
//!
//! `pthread_cond_wait` may wake up without a signal, as POSIX allows: it is unlock
//! and lock, and signals do nothing. Waits with a time may end without what they wait
//! for, and `mtx_trylock` may fail for no reason, as C11 allows.
//!
//! Mutexes and spin locks are checked for misuse ([`AssertKind::LockMisuse`]) where everything
//! is asked about: unlocking one that is free, destroying one that is held, using one that was
//! destroyed. (Unlocking what another thread holds is not seen: owners are not kept.)

use palisade_program::{Asked, AssertKind, AtomicKind, BinOp, Expr as Ir, LocalExpr, Span, Step};

use super::code::{Code, Lower};
use super::expr::unsupported;
use super::thread::{is, number, number_zero};
use super::value::Val;
use crate::c::ast::{Expr, ExprKind};
use crate::c::types::{Opaque, Type};

/// What `trylock` returns when it fails.
const EBUSY: i64 = 16;
/// What `timedwait` returns when time is up.
const ETIMEDOUT: i64 = 110;
/// The same of C11's functions.
const THRD_BUSY: i64 = 1;
const THRD_TIMEDOUT: i64 = 4;
/// The bit of recursive mutexes in C11.
const MTX_RECURSIVE: i128 = 1;
/// What a barrier returns to one thread.
const SERIAL_THREAD: i64 = -1;

/// What a mutex holds after `destroy`.
const DESTROYED: i64 = -2;

/// What is done to a mutex.
#[derive(Clone, Copy)]
enum Use {
    Lock,
    Unlock,
    Destroy,
}

/// `code` if something is true, else 0.
fn either(cond: LocalExpr, code: i64) -> Val {
    let e = Ir::Cond(
        Box::new(cond),
        Box::new(Ir::Const(code)),
        Box::new(Ir::Const(0)),
    );
    Val {
        e,
        lo: i128::from(code.min(0)),
        hi: i128::from(code.max(0)),
        ..number(0)
    }
}

impl Code<'_, '_> {
    /// Asserts that a mutex that holds `old` may be used so.
    fn allow(&mut self, used: Use, old: &LocalExpr, span: Span) {
        if self.cx.options.asked != Asked::All {
            return;
        }
        let mut refuse = |value: i64, what: &str| {
            let kind = AssertKind::LockMisuse(what.to_owned());
            self.oblige(is(old, value).negate(), kind, span);
        };
        refuse(DESTROYED, "use of a destroyed mutex");
        match used {
            Use::Lock => {}
            Use::Unlock => refuse(0, "unlock of a mutex that is not locked"),
            Use::Destroy => refuse(1, "destruction of a locked mutex"),
        }
    }

    fn lock_mutex(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        let place = self.target_of(at)?;
        self.atomically(AtomicKind::Lock, span, |code| {
            let old = code.load(&place, span)?;
            code.allow(Use::Lock, &old.e, span);
            code.emit(Step::Assume(is(&old.e, 0)), span);
            let value = Val::constant(1, &place.ty().clone());
            code.store(&place, value, span)
        })?;
        Ok(number_zero())
    }

    fn unlock_mutex(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        if self.cx.options.asked != Asked::All {
            return self.set(at, 0, AtomicKind::Unlock, span);
        }
        let place = self.target_of(at)?;
        self.atomically(AtomicKind::Unlock, span, |code| {
            let old = code.load(&place, span)?;
            code.allow(Use::Unlock, &old.e, span);
            let value = Val::constant(0, &place.ty().clone());
            code.store(&place, value, span)
        })?;
        Ok(number_zero())
    }

    /// Destroys a mutex. It orders no other accesses, so it is no atomic step.
    fn destroy_mutex(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        let place = self.target_of(at)?;
        if self.cx.options.asked == Asked::All {
            let old = self.load(&place, span)?;
            self.allow(Use::Destroy, &old.e, span);
            let value = Val::constant(i128::from(DESTROYED), &place.ty().clone());
            self.store(&place, value, span)?;
        }
        Ok(number_zero())
    }

    /// Reads a library object and writes it, in one step that waits until `ready`.
    fn operate(
        &mut self,
        at: &Expr,
        kind: AtomicKind,
        ready: impl FnOnce(&LocalExpr) -> LocalExpr,
        new: impl FnOnce(&LocalExpr) -> LocalExpr,
        span: Span,
    ) -> Lower<Val> {
        let place = self.target_of(at)?;
        self.atomically(kind, span, |code| {
            let old = code.load(&place, span)?;
            let condition = ready(&old.e);
            if condition != Ir::TRUE {
                code.emit(Step::Assume(condition), span);
            }
            let value = Val {
                e: new(&old.e),
                ..old
            };
            code.store(&place, value, span)
        })?;
        Ok(number_zero())
    }

    /// Writes a library object in one atomic step.
    fn set(&mut self, at: &Expr, value: i64, kind: AtomicKind, span: Span) -> Lower<Val> {
        let place = self.target_of(at)?;
        let v = Val::constant(i128::from(value), &place.ty().clone());
        self.atomically(kind, span, |code| code.store(&place, v, span))?;
        Ok(number_zero())
    }

    /// As [`Self::operate`], but does nothing and returns `failure` when it is not ready. This
    /// is also a wait that may end by time: one that is made happens when it is ready, one that
    /// ends by time at a moment when it is not.
    fn attempt(
        &mut self,
        at: &Expr,
        failure: i64,
        ready: impl FnOnce(&LocalExpr) -> LocalExpr,
        new: impl FnOnce(&LocalExpr) -> LocalExpr,
        span: Span,
    ) -> Lower<Val> {
        let place = self.target_of(at)?;
        let is_mutex = matches!(place.ty().plain(), Type::Opaque(Opaque::Mutex));
        let failed = self.atomically(AtomicKind::Lock, span, |code| {
            let old = code.load(&place, span)?;
            if is_mutex {
                code.allow(Use::Lock, &old.e, span);
            }
            let condition = ready(&old.e);
            let (yes, no) = (code.graph.loc(), code.graph.loc());
            code.branch_on(condition.clone(), yes, no, span);
            code.at(yes);
            let value = Val {
                e: new(&old.e),
                ..old
            };
            code.store(&place, value, span)?;
            code.go(no, span);
            code.at(no);
            Ok(condition.negate())
        })?;
        let v = match failed {
            Ir::Const(0) => number_zero(),
            failed => either(failed, failure),
        };
        Ok(self.saved(v, span))
    }

    fn once(&mut self, control: &Expr, function: &Expr, span: Span) -> Lower<Val> {
        let place = self.target_of(control)?;
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        let old = self.atomically(AtomicKind::Lock, span, |code| {
            let old = code.load(&place, span)?;
            let busy = is(&old.e, 1);
            code.emit(Step::Assume(busy.negate()), span);
            let (first, after) = (code.graph.loc(), code.graph.loc());
            code.branch_on(is(&old.e, 0), first, after, span);
            code.at(first);
            let one = Val::constant(1, &place.ty().clone());
            code.store(&place, one, span)?;
            code.go(after, span);
            code.at(after);
            Ok(old)
        })?;
        self.branch_on(is(&old.e, 0), yes, no, span);
        self.at(yes);
        let call = Expr {
            kind: ExprKind::Call(Box::new(function.clone()), Vec::new()),
            span,
        };
        self.discard(&call)?;
        self.set(control, 2, AtomicKind::Unlock, span)?;
        self.go(join, span);
        self.at(no);
        self.go(join, span);
        self.at(join);
        self.known.clear();
        Ok(number_zero())
    }

    fn barrier_init(&mut self, at: &Expr, count: &Expr, span: Span) -> Lower<Val> {
        let place = self.target_of(at)?;
        let ty = place.ty().clone();
        let count = self.value(count)?;
        let limit = Val {
            ty: ty.plain().clone(),
            ..count
        };
        self.store(&place.clone().part(0, ty.clone()), limit, span)?;
        self.store(&place.part(1, ty.clone()), Val::constant(0, &ty), span)?;
        Ok(number_zero())
    }

    fn barrier_wait(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        let place = self.target_of(at)?;
        let ty = place.ty().plain().clone();
        let part = |k: u64| place.clone().part(k, ty.clone());
        let (last, generation) = self.atomically(AtomicKind::Block, span, |code| {
            let limit = code.load(&part(0), span)?;
            let count = code.load(&part(1), span)?;
            let generation = code.load(&part(2), span)?;
            let next = LocalExpr::binary(BinOp::Add, count.e.clone(), Ir::Const(1));
            let last = LocalExpr::binary(BinOp::Ge, next.clone(), limit.e);
            let (yes, no, join) = (code.graph.loc(), code.graph.loc(), code.graph.loc());
            code.branch_on(last.clone(), yes, no, span);
            code.at(yes);
            code.store(&part(1), Val::constant(0, &ty), span)?;
            let turned = LocalExpr::binary(BinOp::Add, generation.e.clone(), Ir::Const(1));
            let turned = Val {
                e: turned,
                ..generation.clone()
            };
            code.store(&part(2), turned, span)?;
            code.go(join, span);
            code.at(no);
            code.store(&part(1), Val { e: next, ..count }, span)?;
            code.go(join, span);
            code.at(join);
            let last = Val::truth(last);
            Ok((code.saved(last, span), generation))
        })?;
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        self.branch_on(last.e.clone(), yes, no, span);
        self.at(yes);
        self.go(join, span);
        self.at(no);
        self.atomically(AtomicKind::Block, span, |code| {
            let now = code.load(&part(2), span)?;
            let turned = LocalExpr::binary(BinOp::Ne, now.e, generation.e.clone());
            code.emit(Step::Assume(turned), span);
            Ok(())
        })?;
        self.go(join, span);
        self.at(join);
        Ok(either(last.e, SERIAL_THREAD))
    }

    fn wait(&mut self, mutex: &Expr, span: Span) -> Lower<Val> {
        self.unlock_mutex(mutex, span)?;
        self.lock_mutex(mutex, span)
    }

    /// A wait for a signal: 0, or `failure` when time is up.
    fn timed_wait(&mut self, mutex: &Expr, failure: i64, span: Span) -> Lower<Val> {
        self.wait(mutex, span)?;
        let late = self.luck(span);
        Ok(either(late, failure))
    }

    /// C11: `trylock` may fail for no reason.
    fn try_mutex(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        let luck = self.luck(span);
        let ready = |m: &LocalExpr| is(m, 0).and(luck);
        self.attempt(at, THRD_BUSY, ready, |_| Ir::Const(1), span)
    }

    /// A function of the library that waits or lets others go on; `None` if it is none.
    pub(super) fn sync_library_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        let plus = |e: &LocalExpr, c: i64| LocalExpr::binary(BinOp::Add, e.clone(), Ir::Const(c));
        let at_least =
            |e: &LocalExpr, c: i64| LocalExpr::binary(BinOp::Ge, e.clone(), Ir::Const(c));
        let free = |e: &LocalExpr| is(e, 0);
        let always = |_: &LocalExpr| Ir::TRUE;
        Ok(Some(match (name, args) {
            ("pthread_mutex_init" | "pthread_spin_init" | "pthread_rwlock_init", [at, ..]) => {
                self.set(at, 0, AtomicKind::Unlock, span)?
            }
            ("mtx_init", [at, kind]) => {
                let kind = self.value(kind)?.as_constant();
                if kind.is_none_or(|k| k & MTX_RECURSIVE != 0) {
                    return unsupported(span, "this kind of mutex", "use mtx_plain or mtx_timed");
                }
                self.set(at, 0, AtomicKind::Unlock, span)?
            }
            ("pthread_mutex_lock" | "pthread_spin_lock" | "mtx_lock", [at]) => {
                self.lock_mutex(at, span)?
            }
            ("pthread_mutex_trylock" | "pthread_spin_trylock", [at]) => {
                self.attempt(at, EBUSY, free, |_| Ir::Const(1), span)?
            }
            ("mtx_trylock", [at]) => self.try_mutex(at, span)?,
            ("pthread_mutex_timedlock", [at, _]) => {
                self.attempt(at, ETIMEDOUT, free, |_| Ir::Const(1), span)?
            }
            ("mtx_timedlock", [at, _]) => {
                self.attempt(at, THRD_TIMEDOUT, free, |_| Ir::Const(1), span)?
            }
            ("pthread_mutex_unlock" | "pthread_spin_unlock" | "mtx_unlock", [at]) => {
                self.unlock_mutex(at, span)?
            }
            ("pthread_mutex_destroy" | "pthread_spin_destroy" | "mtx_destroy", [at]) => {
                self.destroy_mutex(at, span)?
            }
            (
                "pthread_cond_init"
                | "pthread_cond_destroy"
                | "pthread_cond_signal"
                | "pthread_cond_broadcast"
                | "pthread_rwlock_destroy"
                | "pthread_barrier_destroy"
                | "sem_destroy"
                | "cnd_init"
                | "cnd_destroy"
                | "cnd_signal"
                | "cnd_broadcast",
                [at, ..],
            ) => {
                self.target_of(at)?;
                number_zero()
            }
            ("pthread_cond_wait" | "cnd_wait", [_, mutex]) => self.wait(mutex, span)?,
            ("pthread_cond_timedwait", [_, mutex, _]) => self.timed_wait(mutex, ETIMEDOUT, span)?,
            ("cnd_timedwait", [_, mutex, _]) => self.timed_wait(mutex, THRD_TIMEDOUT, span)?,
            ("pthread_rwlock_rdlock", [at]) => self.operate(
                at,
                AtomicKind::Lock,
                |e| at_least(e, 0),
                |e| plus(e, 1),
                span,
            )?,
            ("pthread_rwlock_tryrdlock", [at]) => {
                self.attempt(at, EBUSY, |e| at_least(e, 0), |e| plus(e, 1), span)?
            }
            ("pthread_rwlock_timedrdlock", [at, _]) => {
                self.attempt(at, ETIMEDOUT, |e| at_least(e, 0), |e| plus(e, 1), span)?
            }
            ("pthread_rwlock_wrlock", [at]) => {
                self.operate(at, AtomicKind::Lock, free, |_| Ir::Const(-1), span)?
            }
            ("pthread_rwlock_trywrlock", [at]) => {
                self.attempt(at, EBUSY, free, |_| Ir::Const(-1), span)?
            }
            ("pthread_rwlock_timedwrlock", [at, _]) => {
                self.attempt(at, ETIMEDOUT, free, |_| Ir::Const(-1), span)?
            }
            ("pthread_rwlock_unlock", [at]) => {
                let new = |e: &LocalExpr| {
                    Ir::Cond(
                        Box::new(at_least(e, 1)),
                        Box::new(plus(e, -1)),
                        Box::new(Ir::Const(0)),
                    )
                };
                self.operate(at, AtomicKind::Unlock, always, new, span)?
            }
            ("pthread_once" | "call_once", [control, function]) => {
                self.once(control, function, span)?
            }
            ("pthread_barrier_init", [at, _, count]) => self.barrier_init(at, count, span)?,
            ("pthread_barrier_wait", [at]) => self.barrier_wait(at, span)?,
            ("sem_init", [at, _, value]) => {
                let v = self.value(value)?;
                let place = self.target_of(at)?;
                let v = Val {
                    ty: place.ty().plain().clone(),
                    ..v
                };
                self.atomically(AtomicKind::Unlock, span, |code| code.store(&place, v, span))?;
                number_zero()
            }
            ("sem_wait", [at]) => self.operate(
                at,
                AtomicKind::Lock,
                |e| at_least(e, 1),
                |e| plus(e, -1),
                span,
            )?,
            ("sem_trywait", [at]) => {
                // It returns -1 and sets errno, which nothing reads here.
                self.attempt(at, -1, |e| at_least(e, 1), |e| plus(e, -1), span)?
            }
            ("sem_timedwait", [at, _]) => {
                self.attempt(at, -1, |e| at_least(e, 1), |e| plus(e, -1), span)?
            }
            ("sem_post", [at]) => {
                self.operate(at, AtomicKind::Unlock, always, |e| plus(e, 1), span)?
            }
            _ => return Ok(None),
        }))
    }
}
