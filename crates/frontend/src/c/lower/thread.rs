//! *Threads* and the thread library. Each `pthread_create` that is met while
//! lowering (functions inlined, loops with constant bounds unrolled) makes a thread
//! of its own, which waits until it is started; one that stands in a loop of unknown
//! length makes a template of any number of threads, started one by one over a slot.
//!
//! A handle is the number of the thread. `pthread_join` reads the flag that the
//! thread sets at its end, in an atomic block and so with empty buffers. Runs in
//! which the flag is read too early go no further: they are prefixes of runs in which
//! the joining thread waits before it reads, so no violation is lost.
//!
//! `pthread_cond_wait` may wake up without a signal, as POSIX allows: it is unlock
//! and lock, and signals do nothing.

use palisade_program::{
    AtomicKind, BinOp, Domain, Expr as Ir, GlobalId, LocalExpr, Place as Memory, Span, Step,
};

use super::call::Argument;
use super::code::{Code, Lower};
use super::expr::unsupported;
use super::layout::FIRST_FUNCTION;
use super::place::Place;
use super::value::Val;
use crate::c::ast::{Expr, ExprKind, Function};
use crate::c::types::Type;

/// What `trylock` returns when it fails.
const EBUSY: i64 = 16;
/// What `timedwait` returns when time is up.
const ETIMEDOUT: i64 = 110;
/// What a barrier returns to one thread.
const SERIAL_THREAD: i64 = -1;

/// A thread to be made.
#[derive(Clone)]
pub(super) struct Plan<'a> {
    pub(super) function: &'a Function,
    pub(super) name: String,
    /// The argument, if it is a constant.
    pub(super) constant: Option<i64>,
    /// Else the variable that it is passed in.
    pub(super) argument: Option<GlobalId>,
    pub(super) started: GlobalId,
    pub(super) ended: GlobalId,
    pub(super) result: Option<GlobalId>,
    pub(super) is_any: bool,
    pub(super) span: Span,
}

fn is(e: &LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Eq, e.clone(), Ir::Const(value))
}

fn number(value: i64) -> Val {
    Val::constant(i128::from(value), &Type::INT)
}

impl<'a> Code<'_, 'a> {
    fn load_flag(&mut self, flag: GlobalId, span: Span) -> LocalExpr {
        let dst = self.temporary(span);
        let src = Memory::scalar(flag);
        self.emit(Step::Load { dst, src }, span);
        self.read(dst)
    }

    fn store_flag(&mut self, flag: GlobalId, value: LocalExpr, span: Span) {
        let dst = Memory::scalar(flag);
        self.emit(Step::Store { dst, value }, span);
    }

    /// The whole of a thread that a plan asks for.
    pub(super) fn run(&mut self, plan: &Plan<'a>) -> Lower<()> {
        let span = plan.span;
        let argument = self.hidden(span);
        self.atomically(AtomicKind::Block, span, |code| {
            let started = code.load_flag(plan.started, span);
            code.emit(Step::Assume(is(&started, 1)), span);
            if let Some(from) = plan.argument {
                let src = Memory::scalar(from);
                code.emit(Step::Load { dst: argument, src }, span);
            }
            if plan.is_any {
                code.store_flag(plan.started, Ir::Const(0), span);
            }
            Ok(())
        })?;
        if let Some(c) = plan.constant {
            self.known.insert(argument, c);
        }
        let e = self.read(argument);
        let pointer = self.held(e, &Type::pointer(Type::Void));
        let arguments = match plan.function.params.as_slice() {
            [] => Vec::new(),
            [(_, ty), ..] => vec![Argument::Value(self.convert(pointer, ty, span)?)],
        };
        self.main_function(plan.function, arguments, span)?;
        let result = self.exit_value;
        self.atomically(AtomicKind::Block, span, |code| {
            if let (Some(to), Some(value)) = (plan.result, result) {
                let value = code.read(value);
                code.store_flag(to, value, span);
            }
            code.store_flag(plan.ended, Ir::Const(1), span);
            Ok(())
        })
    }

    /// The function that a thread runs; ends where the thread does.
    pub(super) fn main_function(
        &mut self,
        function: &'a Function,
        arguments: Vec<Argument>,
        span: Span,
    ) -> Lower<()> {
        let value = self.hidden(span);
        self.exit_value = Some(value);
        let v = self.inline_values(function, arguments, span)?;
        if v.ty.is_scalar() && self.live {
            self.assign(value, v.e, span);
        }
        self.jump(span, |code| Some(&mut code.thread_exit));
        let end = self.thread_exit.loc;
        self.at(end);
        self.known.clear();
        Ok(())
    }

    fn create(&mut self, args: &[Expr], span: Span) -> Lower<Val> {
        let [handle, _, function, argument] = args else {
            return unsupported(
                span,
                "this call of pthread_create",
                "it takes four arguments",
            );
        };
        let handle = if is_null(handle) {
            None
        } else {
            Some(self.target_of(handle)?)
        };
        let function = self.value(function)?;
        let argument = self.value(argument)?;
        self.start(handle.as_ref(), &function, argument, span)
    }

    /// `__CPROVER_ASYNC_1: f(x);`
    pub(super) fn create_async(
        &mut self,
        function: &Expr,
        argument: Option<&Expr>,
        span: Span,
    ) -> Lower<()> {
        let function = self.value(function)?;
        let argument = match argument {
            Some(e) => self.value(e)?,
            None => number_zero(),
        };
        self.start(None, &function, argument, span)?;
        Ok(())
    }

    /// Starts a thread.
    fn start(
        &mut self,
        handle: Option<&Place>,
        function: &Val,
        argument: Val,
        span: Span,
    ) -> Lower<Val> {
        let number = function
            .as_constant()
            .and_then(|c| usize::try_from(c - i128::from(FIRST_FUNCTION)).ok());
        let Some(function) = number.and_then(|n| self.cx.function_list.get(n).copied()) else {
            return unsupported(
                span,
                "a thread whose function is not known here",
                "name the function in the call",
            );
        };
        let argument = self.convert(argument, &Type::pointer(Type::Void), span)?;
        let is_any = self.loop_depth > 0 || self.is_any;
        let constant = argument.as_constant().map(|c| c as i64);
        let plan = self.cx.plan(function, constant, is_any, span);
        let id = self.cx.plans.len() as i64 - 1;
        self.atomically(AtomicKind::Block, span, |code| {
            if is_any {
                let busy = code.load_flag(plan.started, span);
                code.emit(Step::Assume(is(&busy, 0)), span);
            }
            if let Some(handle) = handle {
                code.store(handle, Val::constant(i128::from(id), &Type::INT), span)?;
            }
            if let Some(to) = plan.argument {
                code.store_flag(to, argument.e.clone(), span);
            }
            code.store_flag(plan.started, Ir::Const(1), span);
            Ok(())
        })?;
        Ok(number_zero())
    }

    fn join(&mut self, args: &[Expr], span: Span) -> Lower<Val> {
        let [handle, result] = args else {
            return unsupported(span, "this call of pthread_join", "it takes two arguments");
        };
        let to = if is_null(result) {
            None
        } else {
            Some(self.target_of(result)?)
        };
        let handle = self.value(handle)?;
        let plans = self.cx.known_plans();
        let candidates: Vec<usize> = match handle.as_constant() {
            Some(c) => usize::try_from(c)
                .ok()
                .filter(|k| (1..plans.len()).contains(k))
                .into_iter()
                .collect(),
            None => (1..plans.len()).collect(),
        };
        if let [only] = candidates.as_slice()
            && handle.as_constant().is_some()
        {
            self.await_end(&plans[*only], to.as_ref(), span)?;
            return Ok(number_zero());
        }
        let any = candidates.iter().fold(Ir::FALSE, |all: LocalExpr, k| {
            all.or(is(&handle.e, *k as i64))
        });
        self.require(any, "a join of something else than a started thread", span);
        if candidates.is_empty() {
            self.block(span);
            return Ok(number_zero());
        }
        let (start, join) = (self.here, self.graph.loc());
        for k in candidates {
            let then = self.graph.loc();
            self.here = start;
            self.assume(is(&handle.e, k as i64), then, span);
            self.at(then);
            self.await_end(&plans[k], to.as_ref(), span)?;
            self.go(join, span);
        }
        self.at(join);
        self.known.clear();
        Ok(number_zero())
    }

    fn await_end(&mut self, plan: &Plan<'_>, to: Option<&Place>, span: Span) -> Lower<()> {
        if plan.is_any {
            self.require(
                Ir::FALSE,
                "a join of a thread that is started in a loop of unknown length",
                span,
            );
            self.emit(Step::Assume(Ir::FALSE), span);
            return Ok(());
        }
        let ended = self.load_flag(plan.ended, span);
        self.emit(Step::Assume(is(&ended, 1)), span);
        if let (Some(to), Some(from)) = (to, plan.result) {
            let e = self.load_flag(from, span);
            let v = self.held(e, &Type::pointer(Type::Void));
            let v = Val {
                ty: to.ty().plain().clone(),
                ..v
            };
            self.store(to, v, span)?;
        }
        Ok(())
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

    /// As [`Self::operate`], but does nothing and returns EBUSY when it is not ready.
    fn attempt(
        &mut self,
        at: &Expr,
        ready: impl FnOnce(&LocalExpr) -> LocalExpr,
        new: impl FnOnce(&LocalExpr) -> LocalExpr,
        span: Span,
    ) -> Lower<Val> {
        let place = self.target_of(at)?;
        let failed = self.atomically(AtomicKind::Lock, span, |code| {
            let old = code.load(&place, span)?;
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
        let e = match failed {
            Ir::Const(0) => Ir::Const(0),
            failed => Ir::Cond(
                Box::new(failed),
                Box::new(Ir::Const(EBUSY)),
                Box::new(Ir::Const(0)),
            ),
        };
        let v = Val {
            e,
            lo: 0,
            hi: i128::from(EBUSY),
            ..number(0)
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
        let e = Ir::Cond(
            Box::new(last.e),
            Box::new(Ir::Const(SERIAL_THREAD)),
            Box::new(Ir::Const(0)),
        );
        Ok(Val {
            e,
            lo: -1,
            hi: 0,
            ..number(0)
        })
    }

    fn wait(&mut self, mutex: &Expr, span: Span) -> Lower<Val> {
        self.set(mutex, 0, AtomicKind::Unlock, span)?;
        self.operate(
            mutex,
            AtomicKind::Lock,
            |m| is(m, 0),
            |_| Ir::Const(1),
            span,
        )
    }

    /// A function of the thread library; `None` if it is none.
    pub(super) fn thread_call(
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
            ("pthread_create", _) => self.create(args, span)?,
            ("pthread_join", _) => self.join(args, span)?,
            ("pthread_exit", [value]) => {
                let v = self.value(value)?;
                if let (Some(dst), true) = (self.exit_value, v.ty.is_scalar()) {
                    self.assign(dst, v.e, span);
                }
                self.jump(span, |code| Some(&mut code.thread_exit));
                Val::void()
            }
            ("pthread_self", []) if !self.is_any => {
                let ty = Type::Int {
                    bits: self.cx.options.data_model.word(),
                    signed: false,
                };
                Val::constant(self.thread as i128, &ty)
            }
            ("pthread_equal", [a, b]) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.binary(crate::c::ast::Binary::Eq, a, b, span)?
            }
            ("pthread_mutex_init" | "pthread_spin_init" | "pthread_rwlock_init", [at, ..]) => {
                self.set(at, 0, AtomicKind::Unlock, span)?
            }
            ("pthread_mutex_lock" | "pthread_spin_lock", [at]) => {
                self.operate(at, AtomicKind::Lock, free, |_| Ir::Const(1), span)?
            }
            ("pthread_mutex_trylock" | "pthread_spin_trylock", [at]) => {
                self.attempt(at, free, |_| Ir::Const(1), span)?
            }
            ("pthread_mutex_unlock" | "pthread_spin_unlock", [at]) => {
                self.set(at, 0, AtomicKind::Unlock, span)?
            }
            (
                "pthread_mutex_destroy"
                | "pthread_spin_destroy"
                | "pthread_cond_init"
                | "pthread_cond_destroy"
                | "pthread_cond_signal"
                | "pthread_cond_broadcast"
                | "pthread_rwlock_destroy"
                | "pthread_barrier_destroy"
                | "sem_destroy",
                [at, ..],
            ) => {
                self.target_of(at)?;
                number_zero()
            }
            ("pthread_cond_wait", [_, mutex]) => self.wait(mutex, span)?,
            ("pthread_cond_timedwait", [_, mutex, _]) => {
                self.wait(mutex, span)?;
                let late = self.temporary(span);
                let domain = Some(Domain { lo: 0, hi: 1 });
                self.emit(Step::Havoc { dst: late, domain }, span);
                let late = self.read(late);
                Val {
                    e: LocalExpr::binary(BinOp::Mul, late, Ir::Const(ETIMEDOUT)),
                    lo: 0,
                    hi: i128::from(ETIMEDOUT),
                    ..number(0)
                }
            }
            ("pthread_rwlock_rdlock", [at]) => self.operate(
                at,
                AtomicKind::Lock,
                |e| at_least(e, 0),
                |e| plus(e, 1),
                span,
            )?,
            ("pthread_rwlock_tryrdlock", [at]) => {
                self.attempt(at, |e| at_least(e, 0), |e| plus(e, 1), span)?
            }
            ("pthread_rwlock_wrlock", [at]) => {
                self.operate(at, AtomicKind::Lock, free, |_| Ir::Const(-1), span)?
            }
            ("pthread_rwlock_trywrlock", [at]) => {
                self.attempt(at, free, |_| Ir::Const(-1), span)?
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
            ("pthread_once", [control, function]) => self.once(control, function, span)?,
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
            ("sem_trywait", [at]) => self.attempt(at, |e| at_least(e, 1), |e| plus(e, -1), span)?,
            ("sem_post", [at]) => {
                self.operate(at, AtomicKind::Unlock, always, |e| plus(e, 1), span)?
            }
            _ => return Ok(None),
        }))
    }
}

fn number_zero() -> Val {
    number(0)
}

/// Whether an argument is a null pointer constant.
fn is_null(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(0, _) => true,
        ExprKind::Cast(_, inner) => is_null(inner),
        _ => false,
    }
}
