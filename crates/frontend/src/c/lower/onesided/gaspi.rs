//! *GASPI's operations* [GASPI 17.1]: writes and reads between segments, posted to queues, and notifications.
//!
//! | call | under way until |
//! |---|---|
//! | write | its target: a notification that covers it is delivered; its origin: the same, or a wait for its queue |
//! | read | a wait for its queue; with notification also the delivery of that |
//! | atomic operation | the call returns |
//!
//! The network delivers notifications at any time. One that a write brings along (`gaspi_write_notify`) *covers* that write, and
//! one of its own (`gaspi_notify`) all writes that its rank has posted to the same queue for the same rank before it: "the `notify()` implies a
//! fence for all preceding `write()` whereas the `write_notify()` shall not imply anything for preceding `write()`'s" [GASPI Forum, January 2016].
//! Notifications may overtake each other, and a barrier, a wait for a queue, or a later read says nothing of what is there at the target.
//!
//! As everywhere where races are looked for, data move when the operation is posted ([`super`]). Only a notification is a message of
//! the [`network`](super::network), with which the accesses that it covers end. So a program may post any number of writes, and a
//! notification is not posted again before it is delivered.
//!
//! A timeout other than `GASPI_BLOCK` may end a wait, with `GASPI_TIMEOUT`, whatever is there. Queues are never full.

use palisade_program::{AtomicKind, Domain, Expr as Ir, LocalExpr, Place as Memory, Span, Step};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::place::{Place, plus};
use super::super::value::Val;
use super::communicator::WORLD;
use super::message::{Channel, MAX_LENGTH};
use super::network::{Combine, Message};
use super::segment::{Piece, Region, constant_pieces};
use super::shadow::{Access, AtomicClass, Class, Issue, Part};
use super::shmem::{is, register};
use super::{Library, OPAQUE};
use crate::c::ast::Expr;
use crate::c::types::Type;

/// The bytes of a cell of a passive message, with where each comes from.
type PassiveCell = Vec<(LocalExpr, Memory)>;

/// Notifications of a segment at most, and as many where it is not known which one is meant.
const MAX_NOTIFICATIONS: i128 = 64;
const UNKNOWN_NOTIFICATIONS: i128 = 16;
/// Bytes of what atomic operations work on.
const ATOMIC: u64 = 8;
/// The atomic operations' type, as a datatype.
const ATOMIC_TYPE: i64 = 1064;

/// The value of `GASPI_TIMEOUT`.
const TIMEOUT: i128 = 1;

/// What is moved: from one region to another.
pub(super) struct Moved {
    /// Of this rank.
    pub(super) near: Region,
    pub(super) far: Region,
}

/// A notification: of which segment, which one, and its value.
pub(super) struct Notice {
    pub(super) segment: i64,
    pub(super) id: Val,
    pub(super) value: LocalExpr,
}

/// Which way data go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Write,
    Read,
}

impl Direction {
    /// The accesses of this rank, and of the other one.
    const fn classes(self) -> (Class, Class) {
        match self {
            Self::Write => (Class::Read, Class::Write),
            Self::Read => (Class::Write, Class::Read),
        }
    }
}

/// An operation that is posted.
pub(super) struct Posted<'e> {
    pub(super) name: &'e str,
    pub(super) queue: usize,
    pub(super) rank: &'e Expr,
}

/// Whether an access is one of a write: not one of a read.
fn is_of_write(a: &Access) -> bool {
    match a.part {
        Part::Target | Part::Delivered(_) => a.class == Class::Write,
        Part::Origin | Part::RequestOrigin(_) => a.class == Class::Read,
        Part::RequestTarget(_) | Part::Fenced | Part::Stored => false,
    }
}

impl Code<'_, '_> {
    fn posted(&mut self, of: &Posted<'_>, to: u32, span: Span) -> (Issue, String) {
        let words = format!("{} `{}` to rank {to}", self.whose(), of.name);
        let issue = Issue {
            site: self.cx.one_sided().site(words.clone(), span),
            channel: of.queue,
            to,
            request: None,
            fetches: false,
            covers: false,
        };
        (issue, words)
    }

    /// `gaspi_write`, `gaspi_read`, and their kin.
    pub(super) fn gaspi_move(
        &mut self,
        of: &Posted<'_>,
        direction: Direction,
        moved: &[Moved],
        notice: Option<&Notice>,
        span: Span,
    ) -> Lower<()> {
        self.each_rank(of.rank, span, &mut |code, to| {
            let one = &mut |code: &mut Self, number: Option<usize>| {
                let (mut issue, words) = code.posted(of, to, span);
                issue.request = number;
                let parts = match issue.request {
                    Some(n) => (Part::RequestOrigin(n), Part::Delivered(n)),
                    None => (Part::Origin, Part::Target),
                };
                code.atomically(AtomicKind::Block, span, |code| {
                    if let Some(number) = issue.request {
                        code.open_call(number, span);
                    }
                    code.note_posted(of.queue, true, span);
                    for moved in moved {
                        code.move_bytes((moved, direction, parts), (&issue, &words), span)?;
                    }
                    let notified = match direction {
                        Direction::Write => to,
                        Direction::Read => code.me(),
                    };
                    match notice {
                        Some(notice) => code.send_notice(notice, notified, &issue, span),
                        None => Ok(()),
                    }
                })
            };
            if notice.is_none() {
                return one(code, None);
            }
            code.each_number(to, span, &mut |code, number| one(code, Some(number)))
        })
    }

    /// Whether something was posted to a queue since the last wait for it.
    pub(super) fn posted_word(&mut self, queue: usize, span: Span) -> Memory {
        let name = format!("rank{}.queue{queue}.posted", self.me());
        Memory::scalar(self.cx.common(name, None, span))
    }

    /// The same is noted, if the program asks for it.
    fn note_posted(&mut self, queue: usize, posted: bool, span: Span) {
        if self.cx.names_used.mentioned.contains("gaspi_queue_size") {
            let word = self.posted_word(queue, span);
            self.store_to(&word, Ir::Const(i64::from(posted)), span);
        }
    }

    /// Checks and marks the accesses of an operation, and moves its data.
    fn move_bytes(
        &mut self,
        (moved, direction, parts): (&Moved, Direction, (Part, Part)),
        (issue, words): (&Issue, &str),
        span: Span,
    ) -> Lower<()> {
        let me = self.me();
        let near = self.segment_cells(me, &moved.near, span)?;
        let far = self.segment_cells(issue.to, &moved.far, span)?;
        let (near_class, far_class) = direction.classes();
        let sides = [(&near, near_class, parts.0), (&far, far_class, parts.1)];
        for (pieces, class, _) in sides {
            for piece in pieces {
                self.check_access(&piece.memory, class, words, span)?;
            }
        }
        for (pieces, class, part) in sides {
            for piece in pieces {
                self.mark_access(&piece.memory, (part, class), issue, span)?;
            }
        }
        let (from, to) = match direction {
            Direction::Write => (&near, &far),
            Direction::Read => (&far, &near),
        };
        self.copy_pieces(from, to, moved.near.bytes, span);
        Ok(())
    }

    /// Copies elements, if both sides have the same ones.
    fn copy_pieces(&mut self, from: &[Piece], to: &[Piece], bytes: u64, span: Span) {
        let within = |p: &Piece| p.at >= 0 && p.at + p.bytes as i64 <= bytes as i64;
        let same = |(a, b): (&Piece, &Piece)| {
            a.at == b.at && a.ty.plain() == b.ty.plain() && within(a) && within(b)
        };
        let are_same = from.len() == to.len() && from.iter().zip(to).all(same);
        let values: Vec<LocalExpr> = if are_same {
            from.iter()
                .map(|p| self.load_from(&p.memory, span))
                .collect()
        } else {
            vec![Ir::Const(OPAQUE); to.len()]
        };
        for (piece, value) in to.iter().zip(values) {
            self.store_to(&piece.memory, value, span);
        }
    }

    /// The cell of a notification.
    fn notification(&mut self, (rank, segment): (u32, i64), id: &Val, span: Span) -> Lower<Memory> {
        if self.segment_of((rank, segment), span).is_none() {
            // Not known yet, or a violation.
            let name = "notification.none".to_owned();
            return Ok(Memory::scalar(self.cx.common(name, None, span)));
        }
        let known = id.as_constant().map_or(id.hi, |c| c) + 1;
        let is_known = (0..=MAX_NOTIFICATIONS).contains(&known);
        if id.as_constant().is_some() && !is_known {
            return unsupported(
                span,
                "this notification",
                "notifications 0 to 63 are followed",
            );
        }
        let count = if is_known {
            known
        } else {
            let low = LocalExpr::binary(palisade_program::BinOp::Ge, id.e.clone(), Ir::Const(0));
            let most = Ir::Const(UNKNOWN_NOTIFICATIONS as i64);
            let high = LocalExpr::binary(palisade_program::BinOp::Lt, id.e.clone(), most);
            self.require(low.and(high), "a notification beyond 15", span);
            UNKNOWN_NOTIFICATIONS
        };
        let used = &mut self.cx.one_sided().tracked.notifications;
        *used = (*used).max(count as u32);
        let len = *used;
        let name = format!("rank{rank}.segment{segment}.notifications");
        Ok(Memory {
            var: self.cx.common(name, Some(len), span),
            index: Some(id.e.clone()),
            order: palisade_program::Order::Plain,
        })
    }

    fn send_notice(&mut self, notice: &Notice, to: u32, issue: &Issue, span: Span) -> Lower<()> {
        let cell = self.notification((to, notice.segment), &notice.id, span)?;
        let value = vec![notice.value.clone()];
        self.send_message(
            &Message::change(&cell, Combine::Replace, value),
            issue,
            span,
        )
    }

    /// `gaspi_notify`: comes behind the writes to the same rank in the same queue.
    pub(super) fn gaspi_notify(
        &mut self,
        of: &Posted<'_>,
        notice: &Notice,
        span: Span,
    ) -> Lower<()> {
        self.each_rank(of.rank, span, &mut |code, to| {
            code.each_number(to, span, &mut |code, number| {
                let (mut issue, _) = code.posted(of, to, span);
                issue.request = Some(number);
                issue.covers = true;
                code.atomically(AtomicKind::Block, span, |code| {
                    code.open_call(number, span);
                    code.note_posted(of.queue, true, span);
                    let is_covered = |a: &Access| {
                        let is_open = matches!(a.part, Part::Target | Part::Origin);
                        (a.channel, a.to) == (of.queue, to) && is_open && is_of_write(a)
                    };
                    let covered = |part| match part {
                        Part::Origin => Part::RequestOrigin(number),
                        _ => Part::Delivered(number),
                    };
                    code.shift_accesses(&is_covered, &covered, span)?;
                    code.send_notice(notice, to, &issue, span)
                })
            })
        })
    }

    /// `gaspi_wait`: reads are complete, and the buffers of writes may be used again.
    pub(super) fn gaspi_wait(&mut self, queue: usize, timeout: &Expr, span: Span) -> Lower<Val> {
        self.perhaps_late(timeout, span, &mut |code| {
            code.atomically(AtomicKind::Block, span, |code| {
                code.note_posted(queue, false, span);
                let is_far = |part| matches!(part, Part::Target | Part::Delivered(_));
                let is_over = |a: &Access| !(is_of_write(a) && is_far(a.part));
                code.complete_accesses(&|a| a.channel == queue && is_over(a), span)
            })
        })
    }

    /// Runs `f`, or returns because of a timeout; what the call returns.
    fn perhaps_late(
        &mut self,
        timeout: &Expr,
        span: Span,
        f: &mut dyn FnMut(&mut Self) -> Lower<()>,
    ) -> Lower<Val> {
        if !self.may_time_out(timeout)? {
            f(self)?;
            return Ok(Val::constant(0, &Type::INT));
        }
        let late = self.hidden(span);
        let domain = Some(Domain { lo: 0, hi: 1 });
        self.emit(Step::Havoc { dst: late, domain }, span);
        let cases = [
            (is(register(late), 0), false),
            (is(register(late), 1), true),
        ];
        self.each_case(&cases, span, &mut |code, is_late| match is_late {
            true => Ok(()),
            false => f(code),
        })?;
        let late = self.held(register(late), &Type::INT);
        debug_assert_eq!(TIMEOUT, 1);
        Ok(self.saved(late, span))
    }

    /// Whether a timeout is another one than `GASPI_BLOCK`.
    pub(super) fn may_time_out(&mut self, timeout: &Expr) -> Lower<bool> {
        let word = Type::Int {
            bits: self.cx.options.data_model.word(),
            signed: false,
        };
        let value = self.value(timeout)?;
        let value = self.convert(value, &word, timeout.span)?;
        let block = self.convert(Val::constant(-1, &Type::INT), &word, timeout.span)?;
        Ok(value.as_constant().is_none() || value.as_constant() != block.as_constant())
    }

    /// `gaspi_notify_waitsome`: waits until one of some notifications is there, and says which.
    pub(super) fn gaspi_wait_some(
        &mut self,
        (segment, begin, num): (i64, &Val, i64),
        first: &Place,
        timeout: &Expr,
        span: Span,
    ) -> Lower<Val> {
        let me = self.me();
        self.perhaps_late(timeout, span, &mut |code| {
            let chosen = code.hidden(span);
            code.atomically(AtomicKind::Block, span, |code| {
                let id = if num == 1 {
                    begin.clone()
                } else {
                    let hi = num - 1;
                    let domain = Some(Domain { lo: 0, hi });
                    code.emit(
                        Step::Havoc {
                            dst: chosen,
                            domain,
                        },
                        span,
                    );
                    Val {
                        e: plus(begin.e.clone(), register(chosen)),
                        hi: begin.hi + i128::from(hi),
                        ..begin.clone()
                    }
                };
                let cell = code.notification((me, segment), &id, span)?;
                let found = code.load_from(&cell, span);
                let some = is(found, 0).negate();
                code.emit(Step::Assume(some), span);
                if num == 1 {
                    let (dst, value) = (chosen, Ir::Const(0));
                    code.emit(Step::Assign { dst, value }, span);
                }
                Ok(())
            })?;
            let id = match num {
                1 => begin.e.clone(),
                _ => plus(begin.e.clone(), register(chosen)),
            };
            let mut id = code.held(id, first.ty());
            (id.lo, id.hi) = (begin.lo, begin.hi + i128::from(num - 1));
            let id = code.saved(id, span);
            code.store(first, id, span)
        })
    }

    /// `gaspi_notify_reset`: takes a notification away, and says its value.
    pub(super) fn gaspi_reset(
        &mut self,
        (segment, id): (i64, &Val),
        old: Option<&Place>,
        span: Span,
    ) -> Lower<()> {
        let me = self.me();
        let value = self.hidden(span);
        self.atomically(AtomicKind::Block, span, |code| {
            let cell = code.notification((me, segment), id, span)?;
            let (dst, src) = (value, cell.clone());
            code.emit(Step::Load { dst, src }, span);
            code.store_to(&cell, Ir::Const(0), span);
            Ok(())
        })?;
        match old {
            Some(old) => {
                let value = self.held(register(value), old.ty());
                self.store(old, value, span)
            }
            None => Ok(()),
        }
    }

    /// `gaspi_atomic_fetch_add`, `gaspi_atomic_compare_swap`: done when they return. The value before goes to `old`.
    pub(super) fn gaspi_atomic(
        &mut self,
        (of, region): (&Posted<'_>, &Region),
        combine: Combine,
        operands: &[LocalExpr],
        old: &Expr,
        span: Span,
    ) -> Lower<()> {
        let value = self.hidden(span);
        self.each_rank(of.rank, span, &mut |code, to| {
            let (mut issue, words) = code.posted(of, to, span);
            let number = code.request_number(to, span);
            issue.request = Some(number);
            let part = Part::RequestTarget(number);
            let cells = code.segment_cells(to, region, span)?;
            let phase = region.offset.as_constant().map_or(0, |o| o as u64 % ATOMIC);
            if region.offset.as_constant().is_none() {
                let e = region.offset.e.clone();
                let most = Ir::Const(ATOMIC as i64);
                let rest = LocalExpr::binary(palisade_program::BinOp::Mod, e, most);
                code.require(is(rest, 0), "an atomic operation that is not aligned", span);
            }
            let class = Class::Atomic {
                datatype: ATOMIC_TYPE,
                phase,
                change: AtomicClass::Swap,
            };
            code.atomically(AtomicKind::Block, span, |code| {
                for cell in &cells {
                    code.check_access(&cell.memory, class, &words, span)?;
                }
                for cell in &cells {
                    code.mark_access(&cell.memory, (part, class), &issue, span)?;
                }
                Ok(())
            })?;
            code.atomically(AtomicKind::Block, span, |code| {
                code.change_cells(&cells, value, combine, operands, span);
                code.complete_accesses(&|a| a.part == part, span)
            })
        })?;
        self.store_old(register(value), old, span)
    }

    fn change_cells(
        &mut self,
        cells: &[Piece],
        value: palisade_program::LocalId,
        combine: Combine,
        operands: &[LocalExpr],
        span: Span,
    ) {
        let word = super::datatype::integer(ATOMIC_TYPE);
        if let [only] = cells
            && only.at == 0
            && word.as_ref() == Some(only.ty.plain())
        {
            let (dst, src) = (value, only.memory.clone());
            self.emit(Step::Load { dst, src }, span);
            let before = register(value);
            let new = combine.apply(&before, operands);
            self.store_to(&only.memory, new, span);
            return;
        }
        let (dst, opaque) = (value, Ir::Const(OPAQUE));
        self.emit(Step::Assign { dst, value: opaque }, span);
        for cell in cells {
            self.store_to(&cell.memory, Ir::Const(OPAQUE), span);
        }
    }

    /// Stores the value that an atomic operation has found, eight bytes.
    fn store_old(&mut self, found: LocalExpr, old: &Expr, span: Span) -> Lower<()> {
        let Some(word) = super::datatype::integer(ATOMIC_TYPE) else {
            return Ok(());
        };
        let place = self.target_of(old)?;
        if place.ty().plain() == &word {
            // It is looked at where it is read.
            self.poison(&place);
            let found = self.held(found, &word);
            return self.store(&place, found, span);
        }
        let address = self.value(old)?.as_constant().map(|a| a as i64);
        let object = address.and_then(|a| self.cx.object_at(a));
        let object = object.and_then(|k| self.cx.object_number(k));
        let (Some(address), Some(object)) = (address, object) else {
            let help = "pass the address of a gaspi_atomic_value_t";
            return unsupported(span, "this place for the value before", help);
        };
        let start = (address - object.base.unwrap_or(0)) as u64;
        let words = format!("{} atomic operation", self.whose());
        for piece in constant_pieces(&object, start, ATOMIC, span)? {
            self.atomically(AtomicKind::Block, span, |code| {
                code.check_blocking(&piece.memory, Class::Write, &words, span)?;
                code.store_to(&piece.memory, Ir::Const(OPAQUE), span);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The cells of a message of passive communication.
    fn passive_cells(&mut self, region: &Region, span: Span) -> Lower<(Vec<PassiveCell>, i64)> {
        let me = self.me();
        let pieces = self.segment_cells(me, region, span)?;
        let whole = |p: &Piece| p.at >= 0 && p.at + p.bytes as i64 <= region.bytes as i64;
        if pieces.len() > MAX_LENGTH as usize {
            return unsupported(
                span,
                "a message this long",
                "8 elements at most are followed",
            );
        }
        if !pieces.iter().all(whole) {
            let help = "send whole elements";
            return unsupported(span, "a message of parts of elements", help);
        }
        let base = pieces.first().map_or(0, |p| 8 * p.bytes as i64);
        let cells = pieces.into_iter().map(|p| vec![(Ir::TRUE, p.memory)]);
        Ok((cells.collect(), base))
    }

    /// `gaspi_passive_send`: does not wait for its receive, which orders least.
    pub(super) fn passive_send(
        &mut self,
        (name, region): (&str, &Region),
        rank: &Expr,
        span: Span,
    ) -> Lower<()> {
        let channel = Channel::passive(WORLD);
        let (cells, base) = self.passive_cells(region, span)?;
        let zero = Val::constant(0, &Type::INT);
        self.each_rank(rank, span, &mut |code, to| {
            code.push_cells((channel, to), (&cells, base), &zero, name, span)
        })
    }

    /// `gaspi_passive_receive`: from anybody who has sent.
    pub(super) fn passive_receive(
        &mut self,
        (name, region): (&str, &Region),
        from: &Place,
        span: Span,
    ) -> Lower<()> {
        let Some(all) = self.communicator(WORLD) else {
            return Ok(());
        };
        let channel = Channel::passive(WORLD);
        let (cells, base) = self.passive_cells(region, span)?;
        let zero = Val::constant(0, &Type::INT);
        self.some_sender(
            (channel, &all),
            &all.members,
            None,
            span,
            &|code, sender, _| {
                let buffer = (cells.as_slice(), base);
                code.pull_cells((channel, sender), buffer, (&zero, None), name, span)?;
                let sender = Val::constant(i128::from(sender), &Type::INT);
                let sender = code.convert(sender, from.ty(), span)?;
                code.store(from, sender, span)
            },
        )
    }

    /// Whether the program uses GASPI.
    pub(super) fn is_gaspi(&self) -> bool {
        self.uses(Library::Gaspi)
    }
}
