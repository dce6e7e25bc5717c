//! *Locks and their kin*: mutexes, condition variables, rwlocks, once, barriers and
//! semaphores of POSIX and C11. Each operation is an atomic block over the object,
//! which holds a number.
//!
//! Waits with a time may end without what they wait for, and `mtx_trylock` may fail for no
//! reason, as C11 allows. `condition` has condition variables, `misuse` what is checked.

use palisade_program::{AtomicKind, BinOp, Expr as Ir, LocalExpr, Order, Orders, Span, Step};

use super::code::{Code, Lower};
use super::expr::unsupported;
use super::misuse::{DESTROYED, Hold, noun};
use super::place::Place;
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
/// What is said of a wait.
const NOT_HELD: &str = "wait on a condition variable without holding the mutex";
/// What is said of a barrier that holds nothing but zeros.
const NOT_INITIALISED: &str = "use of a barrier that was not initialised";
/// What a barrier returns to one thread.
const SERIAL_THREAD: i64 = -1;

/// What is done to a mutex.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Lock,
    Unlock,
    Wait,
}

/// `code` if something is true, else 0.
pub(super) fn either(cond: LocalExpr, code: i64) -> Val {
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
    fn allow(&mut self, used: Use, place: &Place, old: &LocalExpr, span: Span) -> Lower<()> {
        self.permit_use(place.ty(), old, span);
        let (free, foreign) = match used {
            Use::Lock => return Ok(()),
            Use::Unlock => (
                "unlock of a mutex that is not locked",
                "unlock of a mutex that another thread holds",
            ),
            Use::Wait => (NOT_HELD, NOT_HELD),
        };
        self.permit(is(old, 0).negate(), free, span);
        self.permit_owner(place, foreign, span)
    }

    pub(super) fn lock_mutex(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        let place = self.object(at, span)?;
        self.atomically(AtomicKind::Lock, span, |code| {
            let old = code.load(&place, span)?;
            code.allow(Use::Lock, &place, &old.e, span)?;
            code.emit(Step::Assume(is(&old.e, 0)), span);
            let value = Val::constant(1, &place.ty().clone());
            code.store(&place, value, span)
        })?;
        self.hold(&place, Hold::Once, span)?;
        Ok(number_zero())
    }

    fn unlock_mutex(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        self.release_mutex(at, Use::Unlock, span, |_| Ok(()))
    }

    /// Unlocks a mutex to wait, and does `more` in the same step.
    pub(super) fn unlock_to_wait(
        &mut self,
        at: &Expr,
        span: Span,
        more: impl FnOnce(&mut Self) -> Lower<()>,
    ) -> Lower<Val> {
        self.release_mutex(at, Use::Wait, span, more)
    }

    fn release_mutex(
        &mut self,
        at: &Expr,
        used: Use,
        span: Span,
        more: impl FnOnce(&mut Self) -> Lower<()>,
    ) -> Lower<Val> {
        let place = self.object(at, span)?;
        self.atomically(AtomicKind::Unlock, span, |code| {
            if code.checks_misuse() {
                let old = code.load(&place, span)?;
                code.allow(used, &place, &old.e, span)?;
            }
            more(code)?;
            let value = Val::constant(0, &place.ty().clone());
            code.store(&place, value, span)
        })?;
        self.hold(&place, Hold::Not, span)?;
        Ok(number_zero())
    }

    /// The object of the library that an argument points to.
    pub(super) fn object(&mut self, at: &Expr, span: Span) -> Lower<Place> {
        let place = self.target_of(at)?;
        self.check_live(&place, span);
        Ok(place)
    }

    /// Initialises an object of one number.
    fn initialise_object(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        let place = self.object(at, span)?;
        let is_mutex = matches!(place.ty().plain(), Type::Opaque(Opaque::Mutex { .. }));
        let v = Val::constant(0, &place.ty().clone());
        self.atomically(AtomicKind::Unlock, span, |code| {
            if is_mutex && code.checks_misuse() {
                let old = code.load(&place, span)?;
                code.permit(
                    is(&old.e, 1).negate(),
                    "initialisation of a locked mutex",
                    span,
                );
            }
            code.store(&place, v, span)
        })?;
        Ok(number_zero())
    }

    /// Destroys an object that is not in use. It orders no other accesses, so it is no
    /// atomic step.
    fn destroy(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        let place = self.object(at, span)?;
        if !self.checks_misuse() {
            return Ok(number_zero());
        }
        let ty = place.ty().clone();
        let old = self.load(&place, span)?;
        self.permit_use(&ty, &old.e, span);
        let what = format!("destruction of a locked {}", noun(&ty));
        match ty.plain() {
            Type::Opaque(Opaque::Mutex { .. } | Opaque::Rwlock) => {
                self.permit(is(&old.e, 0), &what, span);
            }
            Type::Opaque(Opaque::Barrier) => {
                self.permit(is(&old.e, 0).negate(), NOT_INITIALISED, span);
                let waiting = self.load(&place.clone().part(1, ty.clone()), span)?;
                let waiting = match self.cx.options.orders {
                    Orders::Mapped => waiting.e,
                    Orders::Kept => LocalExpr::binary(BinOp::Mod, waiting.e, old.e),
                };
                let what = "destruction of a barrier at which threads wait";
                self.permit(is(&waiting, 0), what, span);
            }
            _ => {}
        }
        let value = Val::constant(i128::from(DESTROYED), &ty);
        self.store(&place, value, span)?;
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
        let place = self.object(at, span)?;
        self.atomically(kind, span, |code| {
            let old = code.load(&place, span)?;
            code.permit_use(place.ty(), &old.e, span);
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

    /// `sem_post`. At `SEM_VALUE_MAX` it fails with EOVERFLOW, which is not followed.
    fn post(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        let place = self.object(at, span)?;
        self.atomically(AtomicKind::Unlock, span, |code| {
            let old = code.load(&place, span)?;
            code.permit_use(place.ty(), &old.e, span);
            let fits = LocalExpr::binary(BinOp::Lt, old.e.clone(), Ir::Const(i64::from(i32::MAX)));
            code.require(fits, "a semaphore of more than SEM_VALUE_MAX", span);
            let value = Val {
                e: LocalExpr::binary(BinOp::Add, old.e.clone(), Ir::Const(1)),
                ..old
            };
            code.store(&place, value, span)
        })?;
        Ok(number_zero())
    }

    fn hold_rwlock(&mut self, at: &Expr, more: i64, span: Span) -> Lower<Val> {
        let place = self.target_of(at)?;
        self.hold(&place, Hold::More(more), span)?;
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
        let place = self.object(at, span)?;
        let lock = match place.ty().plain() {
            Type::Opaque(Opaque::Mutex { .. }) => Some(Hold::Once),
            Type::Opaque(Opaque::Rwlock) => Some(Hold::More(1)),
            _ => None,
        };
        let failed = self.atomically(AtomicKind::Lock, span, |code| {
            let old = code.load(&place, span)?;
            code.permit_use(place.ty(), &old.e, span);
            let condition = ready(&old.e);
            let (yes, no) = (code.graph.loc(), code.graph.loc());
            code.branch_on(condition.clone(), yes, no, span);
            code.at(yes);
            let value = Val {
                e: new(&old.e),
                ..old
            };
            code.store(&place, value, span)?;
            if let Some(lock) = lock {
                code.hold(&place, lock, span)?;
            }
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
        let place = self.object(at, span)?;
        let ty = place.ty().clone();
        let count = self.value(count)?;
        if self.checks_misuse() {
            let positive = LocalExpr::binary(BinOp::Gt, count.e.clone(), Ir::Const(0));
            self.permit(positive, "initialisation of a barrier for no threads", span);
            let old = self.load(&place, span)?;
            let fresh = LocalExpr::binary(BinOp::Le, old.e, Ir::Const(0));
            self.permit(
                fresh,
                "initialisation of a barrier that is initialised",
                span,
            );
        }
        let limit = Val {
            ty: ty.plain().clone(),
            ..count
        };
        self.store(&place.clone().part(0, ty.clone()), limit, span)?;
        self.store(&place.part(1, ty.clone()), Val::constant(0, &ty), span)?;
        Ok(number_zero())
    }

    /// A barrier under RC11, where a step is one event. Its count is never reset: who arrives takes the next
    /// number by a read-modify-write, and waits until the numbers of its round are all taken. Each of these
    /// carries what those before it have released.
    fn barrier_wait_ordered(&mut self, place: &Place, span: Span) -> Lower<Val> {
        let ty = place.ty().plain().clone();
        let count = place.clone().part(1, ty.clone());
        let limit = self.load(place, span)?;
        let limit = self.saved(limit, span);
        self.permit_use(&ty, &limit.e, span);
        self.permit(is(&limit.e, 0).negate(), NOT_INITIALISED, span);
        let positive = LocalExpr::binary(BinOp::Gt, limit.e.clone(), Ir::Const(0));
        self.emit(Step::Assume(positive), span);
        let taken = self.atomically(AtomicKind::FetchAdd, span, |code| {
            let old = code.in_block(Order::AcqRel, |code| code.load(&count, span))?;
            let old = code.saved(old, span);
            let e = LocalExpr::binary(BinOp::Add, old.e.clone(), Ir::Const(1));
            let next = Val { e, ..old.clone() };
            code.in_block(Order::AcqRel, |code| code.store(&count, next, span))?;
            Ok(old)
        })?;
        let round = |e: &LocalExpr| LocalExpr::binary(BinOp::Div, e.clone(), limit.e.clone());
        let next = LocalExpr::binary(BinOp::Add, taken.e.clone(), Ir::Const(1));
        let ended = LocalExpr::binary(BinOp::Ne, round(&next), round(&taken.e));
        let last = self.saved(Val::truth(ended), span);
        let (wait, join) = (self.graph.loc(), self.graph.loc());
        self.branch_on(last.e.clone(), join, wait, span);
        self.at(wait);
        self.atomically(AtomicKind::Block, span, |code| {
            let now = code.in_block(Order::Acquire, |code| code.load(&count, span))?;
            let ended = LocalExpr::binary(BinOp::Ne, round(&now.e), round(&taken.e));
            code.emit(Step::Assume(ended), span);
            Ok(())
        })?;
        self.go(join, span);
        self.at(join);
        Ok(either(last.e, SERIAL_THREAD))
    }

    fn barrier_wait(&mut self, at: &Expr, span: Span) -> Lower<Val> {
        let place = self.object(at, span)?;
        if self.cx.options.orders == Orders::Kept {
            return self.barrier_wait_ordered(&place, span);
        }
        let ty = place.ty().plain().clone();
        let part = |k: u64| place.clone().part(k, ty.clone());
        let (last, generation) = self.atomically(AtomicKind::Block, span, |code| {
            let limit = code.load(&part(0), span)?;
            code.permit_use(&ty, &limit.e, span);
            code.permit(is(&limit.e, 0).negate(), NOT_INITIALISED, span);
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
            (
                "pthread_mutex_init"
                | "pthread_spin_init"
                | "pthread_rwlock_init"
                | "pthread_cond_init"
                | "cnd_init",
                [at, ..],
            ) => self.initialise_object(at, span)?,
            ("mtx_init", [at, kind]) => {
                let kind = self.value(kind)?.as_constant();
                if kind.is_none_or(|k| k & MTX_RECURSIVE != 0) {
                    return unsupported(span, "this kind of mutex", "use mtx_plain or mtx_timed");
                }
                self.initialise_object(at, span)?
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
            (
                "pthread_mutex_destroy"
                | "pthread_spin_destroy"
                | "mtx_destroy"
                | "pthread_cond_destroy"
                | "cnd_destroy"
                | "pthread_rwlock_destroy"
                | "pthread_barrier_destroy"
                | "sem_destroy",
                [at],
            ) => self.destroy(at, span)?,
            ("pthread_cond_signal" | "cnd_signal", [at]) => self.signal(at, false, span)?,
            ("pthread_cond_broadcast" | "cnd_broadcast", [at]) => self.signal(at, true, span)?,
            ("pthread_cond_wait" | "cnd_wait", [at, mutex]) => self.wait(at, mutex, span)?,
            ("pthread_cond_timedwait", [at, mutex, _]) => {
                self.timed_wait(at, mutex, ETIMEDOUT, span)?
            }
            ("cnd_timedwait", [at, mutex, _]) => self.timed_wait(at, mutex, THRD_TIMEDOUT, span)?,
            ("pthread_rwlock_rdlock", [at]) => {
                let read = |e: &LocalExpr| at_least(e, 0);
                self.operate(at, AtomicKind::Lock, read, |e| plus(e, 1), span)?;
                self.hold_rwlock(at, 1, span)?
            }
            ("pthread_rwlock_tryrdlock", [at]) => {
                self.attempt(at, EBUSY, |e| at_least(e, 0), |e| plus(e, 1), span)?
            }
            ("pthread_rwlock_timedrdlock", [at, _]) => {
                self.attempt(at, ETIMEDOUT, |e| at_least(e, 0), |e| plus(e, 1), span)?
            }
            ("pthread_rwlock_wrlock", [at]) => {
                self.operate(at, AtomicKind::Lock, free, |_| Ir::Const(-1), span)?;
                self.hold_rwlock(at, 1, span)?
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
                let place = self.object(at, span)?;
                let what = "unlock of an rwlock that this thread does not hold";
                self.permit_owner(&place, what, span)?;
                self.operate(at, AtomicKind::Unlock, always, new, span)?;
                self.hold_rwlock(at, -1, span)?
            }
            ("pthread_once" | "call_once", [control, function]) => {
                self.once(control, function, span)?
            }
            ("pthread_barrier_init", [at, _, count]) => self.barrier_init(at, count, span)?,
            ("pthread_barrier_wait", [at]) => self.barrier_wait(at, span)?,
            ("sem_init", [at, _, value]) => {
                let v = self.value(value)?;
                let v = self.convert(v, &Type::UINT, span)?;
                let v = self.saved(v, span);
                // Beyond SEM_VALUE_MAX it fails with EINVAL and initialises nothing, which is not followed.
                let fits =
                    LocalExpr::binary(BinOp::Le, v.e.clone(), Ir::Const(i64::from(i32::MAX)));
                self.require(fits, "a semaphore of more than SEM_VALUE_MAX", span);
                let place = self.object(at, span)?;
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
            ("sem_post", [at]) => self.post(at, span)?,
            _ => return Ok(None),
        }))
    }
}
