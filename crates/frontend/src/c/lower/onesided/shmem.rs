//! *OpenSHMEM's operations*: puts and gets, blocking or not, atomic operations, what orders and completes them, and
//! waits for values.
//!
//! | call | under way until |
//! |---|---|
//! | put | its target: the network delivers it, at any time; its origin: the call returns (`_nbi`: delivered) |
//! | get | the call returns (`_nbi`: quiet) |
//! | atomic operation without result | delivered |
//! | atomic operation with result | the call returns (`_nbi`: its target until delivered, its result until quiet) |
//! | put with signal | the signal is delivered, behind the put |
//!
//! A quiet waits until all of the PE's operations of its context are delivered. That an access may still meet one that
//! is delivered later is part of some run, so that nothing is lost when delivery ends an access. A *fence* makes later
//! puts and atomic operations of the PE to the same target wait, in the network, for those
//! before it, and so what is put before a fence is there when a flag is seen that was set after it.
//!
//! A put of one element changes its target when it is delivered. One of several does so when it is issued, as everywhere
//! where races are looked for ([`super`]); a wait for a value that comes that way is not followed. A put
//! within a loop has no delivery of its own: it is complete after a quiet, and a fence that would order it before a
//! signal is not followed.

use palisade_program::{
    AtomicKind, BinOp, Expr as Ir, LocalExpr, LocalId, Place as Memory, Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::value::Val;
use super::OPAQUE;
use super::datatype::integer;
use super::network::{Combine, Message};
use super::shadow::{AtomicClass, Class, Issue, Part};
use super::transfer::Touched;
use crate::c::ast::Expr;

/// An operation on symmetric memory.
pub(super) struct Remote<'e> {
    pub(super) name: &'e str,
    pub(super) context: usize,
    pub(super) pe: &'e Expr,
    /// The own address that names the target's memory.
    pub(super) address: Val,
    pub(super) base: i64,
    /// Where atomic operations are atomic with each other: the team of the context.
    pub(super) domain: i64,
}

/// What is put: elements of a buffer, or a value.
pub(super) enum Source {
    Buffer(Val, Vec<u64>),
    Value(LocalExpr),
}

impl Remote<'_> {
    fn atomic(&self, phase: u64, change: AtomicClass) -> Class {
        Class::Atomic {
            datatype: self.base + 100_000 * self.domain,
            phase,
            change,
        }
    }
}

/// The value of a register.
pub(super) fn register(local: LocalId) -> LocalExpr {
    Ir::Atom(palisade_program::LocalAtom::Local(local))
}

pub(super) fn is(e: LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Eq, e, Ir::Const(value))
}

impl Code<'_, '_> {
    fn issue_of(&mut self, op: &Remote<'_>, to: u32, span: Span) -> (Issue, usize, String) {
        let number = self.request_number(to, span);
        let (issue, words) = self.numbered_issue(op, (to, number), span);
        (issue, number, words)
    }

    fn numbered_issue(
        &mut self,
        op: &Remote<'_>,
        (to, number): (u32, usize),
        span: Span,
    ) -> (Issue, String) {
        let words = format!("PE {}'s `{}` to PE {to}", self.me(), op.name);
        let site = self.cx.one_sided().site(words.clone(), span);
        let issue = Issue {
            site,
            channel: op.context,
            to,
            request: Some(number),
            fetches: false,
            covers: false,
        };
        (issue, words)
    }

    /// A call that is delivered by itself is not made again before.
    fn open_delivery(&mut self, number: usize, span: Span) {
        self.open_call(number, span);
        let fenced = Memory::scalar(self.fenced_word(number, span));
        self.store_to(&fenced, Ir::Const(0), span);
    }

    /// The same where there are no fences.
    pub(super) fn open_call(&mut self, number: usize, span: Span) {
        let word = Memory::scalar(self.request_word(number, span));
        let open = self.load_from(&word, span);
        self.require(
            is(open, 0),
            "a remote operation that is called again before it is delivered",
            span,
        );
        self.store_to(&word, Ir::Const(1), span);
    }

    /// Puts in loops that a fence has ordered may not be waited for by a signal.
    fn refuse_fenced_loops(&mut self, op: &Remote<'_>, to: u32, span: Span) -> Lower<()> {
        let (me, channel) = (self.me(), op.context);
        let is_fenced = |a: &super::shadow::Access| {
            a.by == me && a.channel == channel && a.to == to && a.part == Part::Fenced
        };
        for place in self.shadow_cells(&is_fenced, span)? {
            let mark = self.load_from(&place, span);
            self.require(
                is(mark, 0),
                "a fence between a put in a loop and a later operation",
                span,
            );
        }
        Ok(())
    }

    /// `shmem_put`, `shmem_p`, and their kin. `signal` comes behind it.
    pub(super) fn shmem_put(
        &mut self,
        op: &Remote<'_>,
        (source, target): (&Source, &[u64]),
        blocking: bool,
        signal: Option<&Signal>,
        span: Span,
    ) -> Lower<()> {
        let is_looped = self.loop_depth > 0 && signal.is_none();
        let is_single = target.len() == 1 && !is_looped && signal.is_none();
        self.each_rank(op.pe, span, &mut |code, to| {
            let one = &mut |code: &mut Self, number: usize| {
                let (issue, what) = code.numbered_issue(op, (to, number), span);
                let target_part = match (is_looped, is_single) {
                    (true, _) => Part::Target,
                    (false, true) => Part::Delivered(number),
                    (false, false) => Part::RequestTarget(number),
                };
                let origin_part = if is_looped && !blocking {
                    Part::Origin
                } else {
                    Part::RequestOrigin(number)
                };
                code.atomically(AtomicKind::Block, span, |code| {
                    if !is_looped {
                        code.open_delivery(number, span);
                        code.refuse_fenced_loops(op, to, span)?;
                    }
                    for (k, byte) in target.iter().enumerate() {
                        let cells =
                            code.symmetric_cells((&op.address, to), (*byte, op.base), span)?;
                        code.each_case(&cells, span, &mut |code, touched| {
                            for cell in &touched.cells {
                                code.check_ordered(cell, Class::Write, &what, span)?;
                            }
                            for cell in &touched.cells {
                                code.mark_access(cell, (target_part, Class::Write), &issue, span)?;
                            }
                            let value = match source {
                                Source::Value(given) => given.clone(),
                                Source::Buffer(buffer, elements) => {
                                    let origin =
                                        code.buffer_cells(buffer, elements[k], op.base, span)?;
                                    let into = code.hidden(span);
                                    code.each_case(&origin, span, &mut |code, place| {
                                        code.check_access(place, Class::Read, &what, span)?;
                                        let marked = (origin_part, Class::Read);
                                        code.mark_access(place, marked, &issue, span)?;
                                        let (dst, src) = (into, place.clone());
                                        code.emit(Step::Load { dst, src }, span);
                                        Ok(())
                                    })?;
                                    register(into)
                                }
                            };
                            code.put_value(op, touched, value, is_single.then_some(&issue), span)
                        })?;
                    }
                    if let Some(signal) = signal {
                        code.send_signal(op, signal, &issue, &what, span)?;
                    } else if !is_single && !is_looped {
                        code.send_message(&Message::nothing(), &issue, span)?;
                    }
                    Ok(())
                })?;
                if blocking && matches!(source, Source::Buffer(..)) {
                    code.atomically(AtomicKind::Block, span, |code| {
                        let returned = Part::RequestOrigin(number);
                        code.complete_accesses(&|a| a.part == returned, span)
                    })?;
                }
                Ok(())
            };
            if is_looped {
                // It has no delivery of its own.
                let number = code.request_number(to, span);
                return one(code, number);
            }
            code.each_number(to, span, one)
        })
    }

    /// Writes an element of a put: now, or when it is delivered.
    fn put_value(
        &mut self,
        op: &Remote<'_>,
        touched: &Touched,
        value: LocalExpr,
        delivery: Option<&Issue>,
        span: Span,
    ) -> Lower<()> {
        let is_same = integer(op.base).as_ref() == Some(touched.ty.plain());
        let is_followed = touched.is_whole && is_same;
        let Some(target) = touched.cells.first().filter(|_| is_followed) else {
            for cell in &touched.cells {
                self.store_to(cell, Ir::Const(OPAQUE), span);
            }
            return match delivery {
                Some(issue) => self.send_message(&Message::nothing(), issue, span),
                None => Ok(()),
            };
        };
        if let Some(issue) = delivery {
            let message = Message::change(target, Combine::Replace, vec![value]);
            return self.send_message(&message, issue, span);
        }
        self.store_to(target, value, span);
        Ok(())
    }

    /// `shmem_get`, `shmem_g`: into a buffer, or a value that is returned.
    pub(super) fn shmem_get(
        &mut self,
        op: &Remote<'_>,
        (into, target): (Option<(&Val, &[u64])>, &[u64]),
        blocking: bool,
        span: Span,
    ) -> Lower<LocalId> {
        let value = self.hidden(span);
        self.each_rank(op.pe, span, &mut |code, to| {
            let (issue, number, what) = code.issue_of(op, to, span);
            let (far, near) = if blocking {
                (Part::RequestTarget(number), Part::RequestOrigin(number))
            } else {
                (Part::Target, Part::Origin)
            };
            code.atomically(AtomicKind::Block, span, |code| {
                for (k, byte) in target.iter().enumerate() {
                    let cells = code.symmetric_cells((&op.address, to), (*byte, op.base), span)?;
                    code.each_case(&cells, span, &mut |code, touched| {
                        for cell in &touched.cells {
                            code.check_access(cell, Class::Read, &what, span)?;
                        }
                        for cell in &touched.cells {
                            code.mark_access(cell, (far, Class::Read), &issue, span)?;
                        }
                        let is_same = integer(op.base).as_ref() == Some(touched.ty.plain());
                        match touched.cells.first() {
                            Some(cell) if touched.is_whole && is_same => {
                                let (dst, src) = (value, cell.clone());
                                code.emit(Step::Load { dst, src }, span);
                            }
                            _ => {
                                let (dst, value) = (value, Ir::Const(OPAQUE));
                                code.emit(Step::Assign { dst, value }, span);
                            }
                        }
                        let Some((buffer, elements)) = into else {
                            return Ok(());
                        };
                        let places = code.buffer_cells(buffer, elements[k], op.base, span)?;
                        code.each_case(&places, span, &mut |code, place| {
                            code.check_access(place, Class::Write, &what, span)?;
                            code.mark_access(place, (near, Class::Write), &issue, span)?;
                            let got = register(value);
                            code.store_to(place, got, span);
                            Ok(())
                        })
                    })?;
                }
                Ok(())
            })?;
            if blocking {
                code.atomically(AtomicKind::Block, span, |code| {
                    code.complete_accesses(&|a| a.part == far || a.part == near, span)
                })?;
            }
            Ok(())
        })?;
        Ok(value)
    }

    /// An atomic operation without result.
    pub(super) fn shmem_atomic(
        &mut self,
        op: &Remote<'_>,
        combine: Combine,
        operand: &LocalExpr,
        span: Span,
    ) -> Lower<()> {
        self.each_rank(op.pe, span, &mut |code, to| {
            code.each_number(to, span, &mut |code, number| {
                let (issue, what) = code.numbered_issue(op, (to, number), span);
                code.atomically(AtomicKind::Block, span, |code| {
                    code.open_delivery(number, span);
                    code.refuse_fenced_loops(op, to, span)?;
                    let cells = code.symmetric_cells((&op.address, to), (0, op.base), span)?;
                    code.each_case(&cells, span, &mut |code, touched| {
                        let class = op.atomic(touched.phase, AtomicClass::Swap);
                        code.atomic_access(
                            touched,
                            class,
                            Part::Delivered(number),
                            &issue,
                            &what,
                            span,
                        )?;
                        let is_same = integer(op.base).as_ref() == Some(touched.ty.plain());
                        let message = match touched.cells.first() {
                            Some(target) if touched.is_whole && is_same => {
                                Message::change(target, combine, vec![operand.clone()])
                            }
                            _ => {
                                for cell in &touched.cells {
                                    code.store_to(cell, Ir::Const(OPAQUE), span);
                                }
                                Message::nothing()
                            }
                        };
                        code.send_message(&message, &issue, span)
                    })
                })
            })
        })
    }

    fn atomic_access(
        &mut self,
        touched: &Touched,
        class: Class,
        part: Part,
        issue: &Issue,
        what: &str,
        span: Span,
    ) -> Lower<()> {
        for cell in &touched.cells {
            self.check_ordered(cell, class, what, span)?;
        }
        for cell in &touched.cells {
            self.mark_access(cell, (part, class), issue, span)?;
        }
        Ok(())
    }

    /// An atomic operation that returns what was there before.
    pub(super) fn shmem_fetch(
        &mut self,
        op: &Remote<'_>,
        combine: Combine,
        operands: &[LocalExpr],
        span: Span,
    ) -> Lower<LocalId> {
        let value = self.hidden(span);
        let change = match combine {
            Combine::NoOp => AtomicClass::Read,
            _ => AtomicClass::Swap,
        };
        self.each_rank(op.pe, span, &mut |code, to| {
            let (issue, number, what) = code.issue_of(op, to, span);
            let part = Part::RequestTarget(number);
            let cells = code.symmetric_cells((&op.address, to), (0, op.base), span)?;
            code.each_case(&cells, span, &mut |code, touched| {
                let class = op.atomic(touched.phase, change);
                code.atomically(AtomicKind::Block, span, |code| {
                    code.atomic_access(touched, class, part, &issue, &what, span)
                })?;
                code.atomically(AtomicKind::Block, span, |code| {
                    code.await_fenced(op.context, to, span);
                    let is_same = integer(op.base).as_ref() == Some(touched.ty.plain());
                    match touched.cells.first() {
                        Some(cell) if touched.is_whole && is_same => {
                            let (dst, src) = (value, cell.clone());
                            code.emit(Step::Load { dst, src }, span);
                            let old = register(value);
                            let new = combine.apply(&old, operands);
                            if new != old {
                                code.store_to(cell, new, span);
                            }
                        }
                        _ => {
                            let (dst, value) = (value, Ir::Const(OPAQUE));
                            code.emit(Step::Assign { dst, value }, span);
                            for cell in &touched.cells {
                                code.store_to(cell, Ir::Const(OPAQUE), span);
                            }
                        }
                    }
                    code.complete_accesses(&|a| a.part == part, span)
                })
            })
        })?;
        Ok(value)
    }

    /// An atomic operation whose result comes later.
    pub(super) fn shmem_fetch_later(
        &mut self,
        op: &Remote<'_>,
        combine: Combine,
        operands: &[LocalExpr],
        result: &Val,
        span: Span,
    ) -> Lower<()> {
        let change = match combine {
            Combine::NoOp => AtomicClass::Read,
            _ => AtomicClass::Swap,
        };
        self.each_rank(op.pe, span, &mut |code, to| {
            code.each_number(to, span, &mut |code, number| {
                let (mut issue, what) = code.numbered_issue(op, (to, number), span);
                issue.fetches = true;
                code.atomically(AtomicKind::Block, span, |code| {
                    code.open_delivery(number, span);
                    code.refuse_fenced_loops(op, to, span)?;
                    let cells = code.symmetric_cells((&op.address, to), (0, op.base), span)?;
                    code.each_case(&cells, span, &mut |code, touched| {
                        let class = op.atomic(touched.phase, change);
                        code.atomic_access(
                            touched,
                            class,
                            Part::Delivered(number),
                            &issue,
                            &what,
                            span,
                        )?;
                        let places = code.buffer_cells(result, 0, op.base, span)?;
                        code.each_case(&places, span, &mut |code, place| {
                            code.check_access(place, Class::Write, &what, span)?;
                            code.mark_access(place, (Part::Origin, Class::Write), &issue, span)?;
                            let is_same = integer(op.base).as_ref() == Some(touched.ty.plain());
                            let message = match touched.cells.first() {
                                Some(target) if touched.is_whole && is_same => {
                                    Message::change(target, combine, operands.to_vec()).into(place)
                                }
                                _ => {
                                    for cell in touched.cells.iter().chain([place]) {
                                        code.store_to(cell, Ir::Const(OPAQUE), span);
                                    }
                                    Message::nothing()
                                }
                            };
                            code.send_message(&message, &issue, span)
                        })
                    })
                })
            })
        })
    }

    fn send_signal(
        &mut self,
        op: &Remote<'_>,
        signal: &Signal,
        issue: &Issue,
        what: &str,
        span: Span,
    ) -> Lower<()> {
        let Part::RequestTarget(number) = issue.target_of_delivery() else {
            return Ok(());
        };
        let place = (&signal.address, issue.to);
        let cells = self.symmetric_cells(place, (0, signal.base), span)?;
        self.each_case(&cells, span, &mut |code, touched| {
            let class = Class::Atomic {
                datatype: signal.base + 100_000 * op.domain,
                phase: touched.phase,
                change: AtomicClass::Swap,
            };
            code.atomic_access(touched, class, Part::Delivered(number), issue, what, span)?;
            let is_same = integer(signal.base).as_ref() == Some(touched.ty.plain());
            let message = match touched.cells.first() {
                Some(target) if touched.is_whole && is_same => {
                    Message::change(target, signal.combine, vec![signal.value.clone()])
                }
                _ => {
                    for cell in &touched.cells {
                        code.store_to(cell, Ir::Const(OPAQUE), span);
                    }
                    Message::nothing()
                }
            };
            code.send_message(&message, issue, span)
        })
    }

    /// All operations of a context are delivered; `f` is part of the same step.
    pub(super) fn quiet(&mut self, context: usize, span: Span) -> Lower<()> {
        self.atomically(AtomicKind::Block, span, |code| {
            code.await_atomics(&|way| way.channel == context, span);
            code.complete_accesses(&|a| a.channel == context, span)
        })
    }

    /// Later puts and atomic operations wait for those before, target by target.
    pub(super) fn fence_context(&mut self, context: usize, span: Span) -> Lower<()> {
        self.atomically(AtomicKind::Block, span, |code| {
            code.fence_ways(context, span);
            code.fence_accesses(context, span)
        })
    }

    /// An atomic look at own memory; waits until `ready` says so of its value.
    pub(super) fn look(
        &mut self,
        (address, base): (&Val, i64),
        ready: Option<&dyn Fn(&LocalExpr) -> LocalExpr>,
        name: &str,
        span: Span,
    ) -> Lower<LocalId> {
        let value = self.hidden(span);
        let what = format!("PE {}'s `{name}`", self.me());
        let cells = self.buffer_cells(address, 0, base, span)?;
        let class = Class::Atomic {
            datatype: base,
            phase: 0,
            change: AtomicClass::Read,
        };
        self.each_case(&cells, span, &mut |code, place| {
            code.atomically(AtomicKind::Block, span, |code| {
                code.check_look(place, class, &what, span)?;
                let (dst, src) = (value, place.clone());
                code.emit(Step::Load { dst, src }, span);
                let found = register(value);
                code.check_followed(&found, span);
                if let Some(ready) = ready {
                    code.emit(Step::Assume(ready(&found)), span);
                }
                Ok(())
            })
        })?;
        Ok(value)
    }

    /// A lock that all PEs share: the word of PE 0.
    pub(super) fn shmem_lock(&mut self, address: &Val, take: bool, span: Span) -> Lower<()> {
        let cells = self.symmetric_cells((address, 0), (0, 64), span)?;
        if !take {
            self.quiet(0, span)?;
        }
        self.each_case(&cells, span, &mut |code, touched| {
            let Some(word) = touched.cells.first() else {
                return Ok(());
            };
            code.atomically(AtomicKind::Block, span, |code| {
                let held = code.load_from(word, span);
                if take {
                    code.emit(Step::Assume(is(held, 0)), span);
                }
                code.store_to(word, Ir::Const(i64::from(take)), span);
                Ok(())
            })
        })
    }
}

/// What a put with signal does to its signal.
pub(super) struct Signal {
    pub(super) address: Val,
    pub(super) base: i64,
    pub(super) combine: Combine,
    pub(super) value: LocalExpr,
}
