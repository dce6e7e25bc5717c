//! *Condition variables.* `pthread_cond_wait` may wake up without a signal, as POSIX allows. For
//! what a program must not do that is all: a wait is unlock and lock, and signals do nothing.
//!
//! Where it is asked whether the program gets on (deadlock, progress), no thread may rely on that.
//! A wait then chooses in advance: it is one that wakes up without a signal, or it
//! is *registered* and goes on only when a signal was given to it. So every run with spurious
//! wake-ups is there, and a thread whose signal is lost is blocked in some run. Each condition variable has
//! one number for each thread:
//!
//! | state of a thread | number |
//! |---|---|
//! | not registered | 0 |
//! | waits | 1 |
//! | was given a signal | 2 |
//!
//! Unlocking the mutex and registering are one step. `signal` gives to one thread that waits,
//! any of them, `broadcast` to all; where none waits they do nothing, and are no fence either.
//! A wait with a time may be given a signal, and leaves in any case.
//!
//! *RC11.* A step is one event there, so that the numbers of all threads are the digits of one, to base 3, which is
//! changed by read-modify-writes. A thread registers before it unlocks: it still holds the mutex, and a signal that comes in
//! between might as well come after the unlock.

use palisade_program::{AtomicKind, BinOp, Expr as Ir, LocalExpr, Orders, Span, Step};

use super::code::{Code, Lower};
use super::place::Place;
use super::sync::either;
use super::thread::{is, number_zero};
use super::value::Val;
use crate::c::ast::Expr;

/// States of a thread.
const AWAY: i64 = 0;
const WAITS: i64 = 1;
const GIVEN: i64 = 2;
/// How many states there are.
const STATES: i64 = 3;

/// The digit of a thread, and what one more of it is worth.
fn digit(number: &LocalExpr, thread: usize) -> (LocalExpr, i64) {
    let worth = STATES.pow(thread as u32);
    let shifted = LocalExpr::binary(BinOp::Div, number.clone(), Ir::Const(worth));
    let digit = LocalExpr::binary(BinOp::Mod, shifted, Ir::Const(STATES));
    (digit, worth)
}

fn plus(number: &LocalExpr, more: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Add, number.clone(), Ir::Const(more))
}

impl Code<'_, '_> {
    /// A condition variable, and that it may be used.
    fn condition(&mut self, at: &Expr, span: Span) -> Lower<Place> {
        let place = self.object(at, span)?;
        if self.checks_misuse() {
            let old = self.load(&place, span)?;
            self.permit_use(&place.ty().clone(), &old.e, span);
        }
        Ok(place)
    }

    /// Where a thread is registered.
    fn registered(place: &Place, thread: usize) -> Place {
        let ty = place.ty().plain().clone();
        place.clone().part(1 + thread as u64, ty)
    }

    /// Whether waits are registered, and this thread has a number for it.
    fn registers_waits(&mut self, span: Span) -> bool {
        let asked = self.cx.options.lost_signals;
        // An earlier pass has counted the threads.
        let numbered = !self.is_any && self.thread < self.cx.waiting_threads();
        if asked && !numbered {
            let what = "whether waits of so many threads on a condition variable end";
            self.require(Ir::FALSE, what, span);
        }
        asked && numbered
    }

    /// `pthread_cond_wait`.
    pub(super) fn wait(&mut self, at: &Expr, mutex: &Expr, span: Span) -> Lower<Val> {
        self.wait_until(at, mutex, false, span)
    }

    /// A wait for a signal: 0, or `failure` when time is up.
    pub(super) fn timed_wait(
        &mut self,
        at: &Expr,
        mutex: &Expr,
        failure: i64,
        span: Span,
    ) -> Lower<Val> {
        self.wait_until(at, mutex, true, span)?;
        let late = self.luck(span);
        Ok(either(late, failure))
    }

    fn wait_until(&mut self, at: &Expr, mutex: &Expr, is_timed: bool, span: Span) -> Lower<Val> {
        let place = self.condition(at, span)?;
        if !self.registers_waits(span) {
            self.unlock_to_wait(mutex, span, |_| Ok(()))?;
            return self.lock_mutex(mutex, span);
        }
        let own = Self::registered(&place, self.thread);
        let ty = own.ty().clone();
        let state = |value: i64| Val::constant(i128::from(value), &ty);
        let spurious = self.luck(span);
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        self.branch_on(spurious, yes, no, span);
        self.at(yes);
        self.unlock_to_wait(mutex, span, |_| Ok(()))?;
        self.go(join, span);
        self.at(no);
        if self.cx.options.orders == Orders::Kept {
            self.wait_for_digit(&place, mutex, is_timed, span)?;
            self.go(join, span);
            self.at(join);
            self.known.clear();
            return self.lock_mutex(mutex, span);
        }
        self.unlock_to_wait(mutex, span, |code| code.store(&own, state(WAITS), span))?;
        self.atomically(AtomicKind::Lock, span, |code| {
            let old = code.load(&own, span)?;
            if !is_timed {
                code.emit(Step::Assume(is(&old.e, GIVEN)), span);
            }
            code.store(&own, state(AWAY), span)
        })?;
        self.go(join, span);
        self.at(join);
        self.known.clear();
        self.lock_mutex(mutex, span)
    }

    /// A registered wait under RC11: until the thread's digit says that it was given a signal.
    fn wait_for_digit(
        &mut self,
        place: &Place,
        mutex: &Expr,
        is_timed: bool,
        span: Span,
    ) -> Lower<()> {
        let all = Self::registered(place, 0);
        let thread = self.thread;
        self.atomically(AtomicKind::Unlock, span, |code| {
            let old = code.load(&all, span)?;
            let (_, worth) = digit(&old.e, thread);
            let e = plus(&old.e, WAITS * worth);
            code.store(&all, Val { e, ..old }, span)
        })?;
        self.unlock_to_wait(mutex, span, |_| Ok(()))?;
        self.atomically(AtomicKind::Lock, span, |code| {
            let old = code.load(&all, span)?;
            let (own, worth) = digit(&old.e, thread);
            if !is_timed {
                code.emit(Step::Assume(is(&own, GIVEN)), span);
            }
            let gone = LocalExpr::binary(BinOp::Mul, own, Ir::Const(worth));
            let e = LocalExpr::binary(BinOp::Sub, old.e.clone(), gone);
            code.store(&all, Val { e, ..old }, span)
        })
    }

    /// A signal under RC11, to all that wait or to one of them.
    fn signal_digits(&mut self, place: &Place, to_all: bool, span: Span) -> Lower<()> {
        let all = Self::registered(place, 0);
        let threads = self.cx.waiting_threads();
        self.atomically(AtomicKind::Unlock, span, |code| {
            let old = code.load(&all, span)?;
            let old = code.saved(old, span);
            let digits: Vec<_> = (0..threads).map(|k| digit(&old.e, k)).collect();
            let waits = |k: usize| is(&digits[k].0, WAITS);
            let nobody = (0..threads).fold(Ir::TRUE, |e, k| e.and(waits(k).negate()));
            let given: Vec<(LocalExpr, LocalExpr)> = if to_all {
                let more = |e: LocalExpr, k: usize| {
                    let own = Ir::Cond(
                        Box::new(waits(k)),
                        Box::new(Ir::Const(digits[k].1)),
                        Box::new(Ir::Const(0)),
                    );
                    LocalExpr::binary(BinOp::Add, e, own)
                };
                let sum = (0..threads).fold(old.e.clone(), more);
                vec![(nobody.clone().negate(), sum)]
            } else {
                let one = |k: usize| (waits(k), plus(&old.e, digits[k].1));
                (0..threads).map(one).collect()
            };
            let (start, join) = (code.here, code.graph.loc());
            for (when, e) in given {
                let then = code.graph.loc();
                code.here = start;
                code.assume(when, then, span);
                code.at(then);
                code.store(&all, Val { e, ..old.clone() }, span)?;
                code.go(join, span);
            }
            code.here = start;
            code.assume(nobody, join, span);
            code.at(join);
            Ok(())
        })
    }

    /// `pthread_cond_signal`, `pthread_cond_broadcast`.
    pub(super) fn signal(&mut self, at: &Expr, to_all: bool, span: Span) -> Lower<Val> {
        let place = self.condition(at, span)?;
        if !self.cx.options.lost_signals {
            return Ok(number_zero());
        }
        if self.cx.options.orders == Orders::Kept {
            self.signal_digits(&place, to_all, span)?;
            return Ok(number_zero());
        }
        let threads = self.cx.waiting_threads();
        let numbers: Vec<Place> = (0..threads).map(|k| Self::registered(&place, k)).collect();
        let waits = |e: &LocalExpr| is(e, WAITS);
        let any = self.atomically(AtomicKind::Read, span, |code| {
            let mut any = Ir::FALSE;
            for number in &numbers {
                let old = code.load(number, span)?;
                any = any.or(waits(&old.e));
            }
            Ok(code.saved(Val::truth(any), span))
        })?;
        let (some, join) = (self.graph.loc(), self.graph.loc());
        self.branch_on(any.e.clone(), some, join, span);
        self.at(some);
        self.atomically(AtomicKind::Unlock, span, |code| {
            if to_all {
                return code.give_all(&numbers, span);
            }
            code.give_one(&numbers, span)
        })?;
        self.go(join, span);
        self.at(join);
        self.known.clear();
        Ok(number_zero())
    }

    fn give_all(&mut self, numbers: &[Place], span: Span) -> Lower<()> {
        for number in numbers {
            let old = self.load(number, span)?;
            let given = Ir::Cond(
                Box::new(is(&old.e, WAITS)),
                Box::new(Ir::Const(GIVEN)),
                Box::new(old.e.clone()),
            );
            self.store(number, Val { e: given, ..old }, span)?;
        }
        Ok(())
    }

    fn give_one(&mut self, numbers: &[Place], span: Span) -> Lower<()> {
        let mut olds = Vec::new();
        for number in numbers {
            olds.push(self.load(number, span)?);
        }
        let (start, join) = (self.here, self.graph.loc());
        let mut none = Ir::TRUE;
        for (number, old) in numbers.iter().zip(&olds) {
            let then = self.graph.loc();
            self.here = start;
            self.assume(is(&old.e, WAITS), then, span);
            self.at(then);
            let given = Val::constant(i128::from(GIVEN), &number.ty().clone());
            self.store(number, given, span)?;
            self.go(join, span);
            none = none.and(is(&old.e, WAITS).negate());
        }
        self.here = start;
        self.assume(none, join, span);
        self.at(join);
        Ok(())
    }
}

impl super::Context<'_> {
    /// How many threads may wait for a signal.
    pub(super) fn waiting_threads(&self) -> usize {
        self.layouts.waiting
    }
}
