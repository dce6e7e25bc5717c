//! *Threads*: how they start, end and are awaited. Each `pthread_create` that is met while
//! lowering (functions inlined, loops with constant bounds unrolled) makes a thread
//! of its own, which waits until it is started; one that stands in a loop of unknown
//! length makes a template of any number of threads, started one by one over a slot.
//!
//! A handle is the number of the thread. `pthread_join` reads the flag that the
//! thread sets at its end, in an atomic block and so with empty buffers. Runs in
//! which the flag is read too early go no further: they are prefixes of runs in which
//! the joining thread waits before it reads, so no violation is lost. Under RC11 flags are
//! released and acquired, as C11 says of the creation and the end of threads.

use palisade_program::{
    AssertKind, AtomicKind, BinOp, Expr as Ir, GlobalId, LocalAtom, LocalExpr, Order, Orders,
    Place as Memory, Span, Step,
};

use super::call::Argument;
use super::code::{Code, Lower};
use super::expr::unsupported;
use super::layout::FIRST_FUNCTION;
use super::place::Place;
use super::value::Val;
use crate::c::ast::{Expr, ExprKind, Function};
use crate::c::parser::ASYNCHRONOUS;
use crate::c::types::Type;

/// A thread to be made.
#[derive(Clone)]
pub(super) struct Plan<'a> {
    pub(super) function: &'a Function,
    pub(super) name: String,
    /// The argument, if it is a constant.
    pub(super) constant: Option<i64>,
    /// Else the variable that it is passed in.
    pub(super) argument: Option<GlobalId>,
    /// All arguments of a thread that CBMC's label starts: constants, or the variables that they are passed in.
    pub(super) captured: Option<Vec<Captured>>,
    pub(super) started: GlobalId,
    pub(super) ended: GlobalId,
    pub(super) result: Option<GlobalId>,
    /// Whether it was joined or detached, where several threads may do that.
    pub(super) claimed: Option<GlobalId>,
    pub(super) is_any: bool,
    /// Whether it is the program's, or the rank's, first thread.
    pub(super) is_main: bool,
    /// The rank that it is of.
    pub(super) rank: Option<u32>,
    /// What it is of a team of OpenMP.
    pub(super) part: Option<super::openmp::Part>,
    pub(super) span: Span,
}

/// The value of a local variable of the creator that a thread gets.
#[derive(Clone, Copy)]
pub(super) enum Captured {
    Constant(i64),
    Passed(GlobalId),
}

pub(super) fn is(e: &LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Eq, e.clone(), Ir::Const(value))
}

pub(super) fn number(value: i64) -> Val {
    Val::constant(i128::from(value), &Type::INT)
}

impl<'a> Code<'_, 'a> {
    /// An order of C11 where those are kept.
    fn kept(&self, order: Order) -> Order {
        match self.cx.options.orders {
            Orders::Kept => order,
            Orders::Mapped => Order::Plain,
        }
    }

    fn load_flag(&mut self, flag: GlobalId, order: Order, span: Span) -> LocalExpr {
        let dst = self.temporary(span);
        let src = Memory::scalar(flag).ordered(self.kept(order));
        self.emit(Step::Load { dst, src }, span);
        self.read(dst)
    }

    fn store_flag(&mut self, flag: GlobalId, value: LocalExpr, order: Order, span: Span) {
        let dst = Memory::scalar(flag).ordered(self.kept(order));
        self.emit(Step::Store { dst, value }, span);
    }

    /// Runs `f` as one atomic step. Under RC11 the order of its accesses is enough: the flag is
    /// released behind what goes with it, and acquired before.
    fn at_once(&mut self, span: Span, f: impl FnOnce(&mut Self) -> Lower<()>) -> Lower<()> {
        match self.cx.options.orders {
            Orders::Kept => f(self),
            Orders::Mapped => self.atomically(AtomicKind::Block, span, f),
        }
    }

    /// The whole of a thread that a plan asks for.
    pub(super) fn run(&mut self, plan: &Plan<'a>) -> Lower<()> {
        let span = plan.span;
        let argument = self.hidden(span);
        let captured = plan.captured.as_deref().unwrap_or_default();
        let copies: Vec<_> = captured.iter().map(|_| self.hidden(span)).collect();
        self.at_once(span, |code| {
            let started = code.load_flag(plan.started, Order::Acquire, span);
            code.emit(Step::Assume(is(&started, 1)), span);
            if let Some(from) = plan.argument {
                let src = Memory::scalar(from);
                code.emit(Step::Load { dst: argument, src }, span);
            }
            for (dst, from) in copies.iter().zip(captured) {
                if let Captured::Passed(from) = from {
                    let (dst, src) = (*dst, Memory::scalar(*from));
                    code.emit(Step::Load { dst, src }, span);
                }
            }
            if plan.is_any {
                code.store_flag(plan.started, Ir::Const(0), Order::Relaxed, span);
            }
            Ok(())
        })?;
        if let Some(c) = plan.constant {
            self.known.insert(argument, c);
        }
        if let Some(part) = &plan.part {
            self.join_team(part, span)?;
        }
        for (local, from) in copies.iter().zip(captured) {
            if let Captured::Constant(c) = from {
                self.known.insert(*local, *c);
            }
        }
        let e = self.read(argument);
        let pointer = self.held(e, &Type::pointer(Type::Void));
        let arguments = match plan.function.params.as_slice() {
            params if plan.captured.is_some() => {
                let values = copies.iter().zip(params).map(|(local, (_, ty))| {
                    let e = self.read(*local);
                    Argument::Value(self.held(e, ty))
                });
                values.collect()
            }
            [] => Vec::new(),
            [(_, ty), others @ ..] => {
                let first = self.convert(pointer, ty, span)?;
                let mut all = vec![Argument::Value(first)];
                // Nobody passes the others.
                for (_, ty) in others.iter().take_while(|(_, ty)| ty.is_scalar()) {
                    let dst = self.hidden(span);
                    let domain = self.uninitialised(ty);
                    self.emit(Step::Havoc { dst, domain }, span);
                    let e = self.read(dst);
                    all.push(Argument::Value(self.held(e, ty)));
                }
                all
            }
        };
        self.main_function(plan.function, arguments, span)?;
        let result = self.exit_value;
        self.leave_team(span)?;
        self.at_once(span, |code| {
            if let (Some(to), Some(value)) = (plan.result, result) {
                let value = code.read(value);
                code.store_flag(to, value, Order::Plain, span);
            }
            code.store_flag(plan.ended, Ir::Const(1), Order::Release, span);
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
        if self.thread > 0 && self.live {
            self.end_specific(span)?;
        }
        if self.thread == 0 && self.live {
            self.check_leaks(span);
        }
        if self.thread == 0 && self.cx.main_exits && self.live {
            // The program ends here, not where `main` has called `pthread_exit`.
            self.block(span);
        }
        self.jump(span, |code| Some(&mut code.thread_exit));
        let end = self.thread_exit.loc;
        self.at(end);
        self.known.clear();
        Ok(())
    }

    fn create(
        &mut self,
        handle: &Expr,
        function: &Expr,
        argument: &Expr,
        span: Span,
    ) -> Lower<Val> {
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
    pub(super) fn create_async(&mut self, function: &Expr, args: &[Expr], span: Span) -> Lower<()> {
        let is_made = matches!(&function.kind,
            ExprKind::Ident(name) if name.starts_with(ASYNCHRONOUS));
        let function = self.value(function)?;
        if is_made {
            let function = self.started_function(&function, span)?;
            let mut values = Vec::new();
            for (arg, (_, ty)) in args.iter().zip(&function.params) {
                if let ExprKind::Ident(name) = &arg.kind
                    && self.lookup(name)?.is_some_and(|o| !o.in_registers())
                {
                    let what = format!("`{name}`, which is in memory, in such a thread");
                    return unsupported(span, &what, "make it global");
                }
                let v = self.value(arg)?;
                let v = self.convert(v, ty, span)?;
                values.push(v);
            }
            self.start_at(None, function, &Arguments::Captured(values), span)?;
            return Ok(());
        }
        let argument = match args.first() {
            Some(e) => self.value(e)?,
            None => number_zero(),
        };
        self.start(None, &function, argument, span)?;
        Ok(())
    }

    /// The function that a constant is the address of.
    fn started_function(&self, function: &Val, span: Span) -> Lower<&'a Function> {
        let number = function
            .as_constant()
            .and_then(|c| usize::try_from(c - i128::from(FIRST_FUNCTION)).ok());
        match number.and_then(|n| self.cx.function_list.get(n).copied()) {
            Some(function) => Ok(function),
            None => unsupported(
                span,
                "a thread whose function is not known here",
                "name the function in the call",
            ),
        }
    }

    /// Starts a thread of one of the functions that a pointer may point to.
    fn start(
        &mut self,
        handle: Option<&Place>,
        function: &Val,
        argument: Val,
        span: Span,
    ) -> Lower<Val> {
        let argument = self.convert(argument, &Type::pointer(Type::Void), span)?;
        if function.as_constant().is_some() {
            let function = self.started_function(function, span)?;
            return self.start_at(handle, function, &Arguments::One(argument), span);
        }
        let function = self.saved(function.clone(), span);
        let argument = self.saved(argument, span);
        let names = &self.cx.taken_functions;
        let may_be = |f: &&Function| names.contains(&f.name) && f.params.len() <= 1;
        let all = self.cx.function_list.iter().copied().enumerate();
        let candidates: Vec<_> = all.filter(|(_, f)| may_be(f)).collect();
        let address = |n: usize| FIRST_FUNCTION + n as i64;
        let any = candidates.iter().fold(Ir::FALSE, |any: LocalExpr, (n, _)| {
            any.or(is(&function.e, address(*n)))
        });
        self.require(any, "a thread whose function is not known", span);
        let arguments = Arguments::One(argument);
        let (start, join) = (self.here, self.graph.loc());
        let known = self.known.clone();
        for (n, candidate) in candidates {
            let then = self.graph.loc();
            self.here = start;
            self.known.clone_from(&known);
            self.assume(is(&function.e, address(n)), then, span);
            self.at(then);
            self.start_at(handle, candidate, &arguments, span)?;
            self.go(join, span);
        }
        self.at(join);
        self.known.clear();
        Ok(number_zero())
    }

    /// Starts a thread.
    fn start_at(
        &mut self,
        handle: Option<&Place>,
        function: &'a Function,
        arguments: &Arguments,
        span: Span,
    ) -> Lower<Val> {
        for argument in arguments.all() {
            self.note_published(argument);
        }
        let is_any = self.loop_depth > 0 || self.is_any;
        if is_any && self.cx.options.orders == Orders::Kept {
            return unsupported(
                span,
                "threads that are started in a loop of unknown length, under rc11",
                "start each thread by a call of its own, or in a loop with constant bounds",
            );
        }
        let constants = arguments.all().iter().map(Val::as_constant);
        let constants: Vec<_> = constants.map(|c| c.map(|c| c as i64)).collect();
        let plan = match arguments {
            Arguments::One(_) => self.cx.plan(function, constants[0], is_any, span),
            Arguments::Captured(_) => self.cx.plan_capturing(function, &constants, is_any, span),
        };
        let id = self.cx.plans.len() as i64 - 1;
        self.at_once(span, |code| {
            if is_any {
                let busy = code.load_flag(plan.started, Order::Acquire, span);
                code.emit(Step::Assume(is(&busy, 0)), span);
            }
            if let Some(handle) = handle {
                code.store(handle, Val::constant(i128::from(id), &Type::INT), span)?;
            }
            if let (Some(to), Arguments::One(argument)) = (plan.argument, arguments) {
                code.store_flag(to, argument.e.clone(), Order::Plain, span);
            }
            let captured = plan.captured.iter().flatten();
            for (to, value) in captured.zip(arguments.all()) {
                if let Captured::Passed(to) = to {
                    code.store_flag(*to, value.e.clone(), Order::Plain, span);
                }
            }
            code.store_flag(plan.started, Ir::Const(1), Order::Release, span);
            Ok(())
        })?;
        Ok(number_zero())
    }

    fn join(&mut self, args: &[Expr], span: Span) -> Lower<Val> {
        let [handle, result] = args else {
            return unsupported(span, "this call of a join", "it takes two arguments");
        };
        let to = if is_null(result) {
            None
        } else {
            Some(self.target_of(result)?)
        };
        let handle = self.value(handle)?;
        let plans = self.cx.known_plans();
        let rank = self.cx.mpi.as_ref().map(|mpi| mpi.rank);
        let is_thread = |k: &usize| {
            let plan = plans.get(*k);
            plan.is_some_and(|p| !p.is_main && p.part.is_none() && p.rank == rank)
        };
        let candidates: Vec<usize> = match handle.as_constant() {
            Some(c) => usize::try_from(c)
                .ok()
                .filter(is_thread)
                .into_iter()
                .collect(),
            None => (1..plans.len()).filter(is_thread).collect(),
        };
        if candidates.contains(&self.thread) && self.checks_misuse() {
            let other = is(&handle.e, self.thread as i64).negate();
            let kind = AssertKind::ThreadMisuse("a thread joins itself".to_owned());
            self.oblige(other, kind, span);
        }
        if let [only] = candidates.as_slice()
            && handle.as_constant().is_some()
        {
            self.claim(*only, &plans[*only], span);
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
            self.claim(k, &plans[k], span);
            self.await_end(&plans[k], to.as_ref(), span)?;
            self.go(join, span);
        }
        self.at(join);
        self.known.clear();
        Ok(number_zero())
    }

    /// Asserts that nobody has joined or detached a thread, and notes that somebody has.
    fn claim(&mut self, number: usize, plan: &Plan<'_>, span: Span) {
        if !self.checks_misuse() || plan.is_any {
            return;
        }
        let joiners = self.cx.joiners.entry(number).or_default();
        joiners.insert(self.thread);
        let what = "join or detach of a thread that was joined or detached before";
        let kind = AssertKind::ThreadMisuse(what.to_owned());
        if let Some(flag) = plan.claimed {
            let old = self.load_flag(flag, Order::Relaxed, span);
            self.oblige(is(&old, 0), kind, span);
            self.store_flag(flag, Ir::Const(1), Order::Relaxed, span);
            return;
        }
        let claimed = self.claimed_flag(number, span);
        self.oblige(is(&Ir::Atom(LocalAtom::Local(claimed)), 0), kind, span);
        self.assign(claimed, Ir::Const(1), span);
    }

    /// `pthread_detach`.
    fn detach(&mut self, handle: &Expr, span: Span) -> Lower<Val> {
        let handle = self.value(handle)?;
        let plans = self.cx.known_plans();
        let (start, join) = (self.here, self.graph.loc());
        let mut none = Ir::TRUE;
        for (k, plan) in plans.iter().enumerate().skip(1) {
            let this = is(&handle.e, k as i64);
            if this == Ir::FALSE || plan.is_any {
                continue;
            }
            let then = self.graph.loc();
            self.here = start;
            self.assume(this.clone(), then, span);
            self.at(then);
            self.claim(k, plan, span);
            self.go(join, span);
            none = none.and(this.negate());
        }
        self.here = start;
        self.assume(none, join, span);
        self.at(join);
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
        let ended = self.load_flag(plan.ended, Order::Acquire, span);
        self.emit(Step::Assume(is(&ended, 1)), span);
        if let (Some(to), Some(from)) = (to, plan.result) {
            let e = self.load_flag(from, Order::Plain, span);
            let v = self.held(e, &Type::pointer(Type::Void));
            let v = match to.ty().plain() {
                Type::Int { .. } => self.convert(v, &to.ty().clone(), span)?,
                ty => Val {
                    ty: ty.clone(),
                    ..v
                },
            };
            self.store(to, v, span)?;
        }
        Ok(())
    }

    /// A function that starts, ends or awaits threads; `None` if it is none.
    pub(super) fn thread_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        Ok(Some(match (name, args) {
            ("pthread_create", [handle, _, function, argument])
            | ("thrd_create", [handle, function, argument]) => {
                self.create(handle, function, argument, span)?
            }
            ("pthread_create" | "thrd_create", _) => {
                return unsupported(
                    span,
                    &format!("this call of {name}"),
                    "give a handle, a function and its argument",
                );
            }
            ("pthread_join" | "thrd_join", _) => self.join(args, span)?,
            ("pthread_detach" | "thrd_detach", [handle]) if self.checks_misuse() => {
                self.detach(handle, span)?
            }
            ("__palisade_cleanup_push", [handler, argument]) => {
                self.push_cleanup(handler, argument, span)?
            }
            ("__palisade_cleanup_pop", [execute]) => self.pop_cleanup(execute, span)?,
            ("__palisade_asks_deadlock", []) => {
                Val::constant(i128::from(self.cx.options.lost_signals), &Type::INT)
            }
            ("__palisade_unsupported", [what]) => {
                let text = match &what.kind {
                    ExprKind::Str(text) => text.clone(),
                    _ => "this".to_owned(),
                };
                self.refuse_run(&text, span);
                Val::void()
            }
            ("pthread_exit" | "thrd_exit", [value]) => {
                self.cx.main_exits |= self.thread == 0;
                if self.thread == 0 && self.cx.options.check_leaks {
                    self.require(Ir::FALSE, "leaks where `main` ends by pthread_exit", span);
                }
                let v = self.value(value)?;
                if let (Some(dst), true) = (self.exit_value, v.ty.is_scalar()) {
                    self.assign(dst, v.e, span);
                }
                self.run_cleanups(span)?;
                let published = self.frames.iter().flat_map(|f| f.published.clone());
                self.end_lives(&published.collect::<Vec<_>>(), span);
                self.jump(span, |code| Some(&mut code.thread_exit));
                Val::void()
            }
            ("pthread_self" | "thrd_current", []) if !self.is_any => {
                let ty = Type::Int {
                    bits: self.cx.options.data_model.word(),
                    signed: false,
                };
                Val::constant(self.thread as i128, &ty)
            }
            ("pthread_equal" | "thrd_equal", [a, b]) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.binary(crate::c::ast::Binary::Eq, a, b, span)?
            }
            _ => return Ok(None),
        }))
    }
}

/// What a thread gets from its creator.
enum Arguments {
    /// That of `pthread_create`.
    One(Val),
    /// Local variables.
    Captured(Vec<Val>),
}

impl Arguments {
    const fn all(&self) -> &[Val] {
        match self {
            Self::One(v) => std::slice::from_ref(v),
            Self::Captured(all) => all.as_slice(),
        }
    }
}

pub(super) fn number_zero() -> Val {
    number(0)
}

/// Whether an argument is a null pointer constant.
pub(super) fn is_null(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(0, _) => true,
        ExprKind::Cast(_, inner) => is_null(inner),
        _ => false,
    }
}
