//! *Calls of GASPI*. Segments, queues and numbers of bytes are constants, ranks, offsets and notifications need not be.

use palisade_program::{Domain, Expr as Ir, Span, Step};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::value::Val;
use super::communicator::WORLD;
use super::datatype::width;
use super::gaspi::{Direction, Moved, Notice, Posted};
use super::network::Combine;
use super::segment::Region;
use super::shmem::{is, register};
use super::team::Group;
use crate::c::ast::{Expr, ExprKind, Initializer, Unary};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// Parts of one list at most.
const MAX_PARTS: i128 = 16;
/// Notifications that one call waits for, at most.
const MAX_AWAITED: i128 = 64;
/// Elements of a reduction at most.
const MAX_REDUCED: u64 = 8;
/// Sizes of an implementation; GPI-2's.
const SIZES: [(&str, i128); 4] = [
    ("gaspi_queue_size_max", 1024),
    ("gaspi_queue_max", 16),
    ("gaspi_segment_max", 32),
    ("gaspi_notification_num", 65_536),
];
/// Queues that are there from the beginning.
const QUEUES: i128 = 8;
/// The predefined datatypes, by the numbers of the header.
const TYPES: [i64; 6] = [32, 1032, 2032, 2064, 0, 1000];

/// Calls that mean nothing to what is checked.
const SILENT: [&str; 5] = [
    "gaspi_proc_init",
    "gaspi_proc_term",
    "gaspi_segment_delete",
    "gaspi_queue_delete",
    "gaspi_printf",
];

impl Code<'_, '_> {
    /// A call of GASPI; `None` if it is none.
    pub(in super::super) fn gaspi_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        if !name.starts_with("gaspi_") {
            return Ok(None);
        }
        if !self.is_gaspi() {
            return Err(
                Diagnostic::error(span, format!("`{name}` without gaspi_proc_init"))
                    .help("call gaspi_proc_init first in main"),
            );
        }
        let success = || Val::constant(0, &Type::INT);
        if SILENT.contains(&name) {
            for a in args.iter().filter(|a| !matches!(a.kind, ExprKind::Str(_))) {
                self.discard(a)?;
            }
            return Ok(Some(success()));
        }
        if self.gaspi_setup(name, args, span)?
            || self.gaspi_transfer(name, args, span)?
            || self.gaspi_collective(name, args, span)?
        {
            return Ok(Some(success()));
        }
        if let Some(value) = self.gaspi_waits(name, args, span)? {
            return Ok(Some(value));
        }
        unsupported(
            span,
            &format!("this call of `{name}`"),
            "segments, reads, writes, lists, notifications, atomic operations, passive communication, \
             barriers and reductions of all ranks are supported",
        )
    }

    /// Stores a constant where an argument points to.
    fn answer(&mut self, to: &Expr, value: i128, span: Span) -> Lower<()> {
        let place = self.target_of(to)?;
        let value = self.convert(Val::constant(value, &Type::INT), place.ty(), span)?;
        self.store(&place, value, span)
    }

    /// The call waits as long as it takes.
    fn require_block(&mut self, timeout: &Expr, span: Span) -> Lower<()> {
        if self.may_time_out(timeout)? {
            let help =
                "pass GASPI_BLOCK; timeouts of gaspi_wait and gaspi_notify_waitsome are followed";
            return unsupported(span, "a timeout of this call", help);
        }
        Ok(())
    }

    fn require_all(&mut self, group: &Expr, span: Span) -> Lower<()> {
        if self.fixed(group)? != Some(0) {
            return unsupported(span, "a group of some ranks", "use GASPI_GROUP_ALL");
        }
        Ok(())
    }

    fn queue_number(&mut self, queue: &Expr, span: Span) -> Lower<usize> {
        match self.fixed(queue)?.and_then(|q| usize::try_from(q).ok()) {
            Some(queue) => Ok(queue),
            None => unsupported(
                span,
                "a queue that is not known here",
                "give each queue a number of its own",
            ),
        }
    }

    fn gaspi_setup(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<bool> {
        match (name, args) {
            ("gaspi_proc_rank", [to]) => self.set_number(to, self.me(), span)?,
            ("gaspi_proc_num", [to]) => self.set_number(to, self.ranks(), span)?,
            ("gaspi_segment_alloc", [number, size, policy]) => {
                self.allocate_segment([number, size, policy], false, span)?;
            }
            ("gaspi_segment_create", [number, size, group, timeout, policy]) => {
                self.require_all(group, span)?;
                self.require_block(timeout, span)?;
                self.allocate_segment([number, size, policy], true, span)?;
                self.barrier_in(name, span)?;
            }
            ("gaspi_segment_register", [number, rank, timeout]) => {
                self.require_block(timeout, span)?;
                self.discard(rank)?;
                self.register_segment(number, span)?;
            }
            ("gaspi_segment_bind", [number, memory, size, description]) => {
                self.discard(description)?;
                self.bind_segment([number, memory, size], false, span)?;
            }
            ("gaspi_segment_use", [number, memory, size, group, timeout, description]) => {
                self.require_all(group, span)?;
                self.require_block(timeout, span)?;
                self.discard(description)?;
                self.bind_segment([number, memory, size], true, span)?;
                self.barrier_in(name, span)?;
            }
            ("gaspi_segment_ptr", [number, to]) => {
                if let Some(address) = self.segment_address(number, span)? {
                    let mut to = to;
                    while let ExprKind::Cast(_, inner) = &to.kind {
                        to = inner;
                    }
                    let place = self.target_of(to)?;
                    let address = Val {
                        ty: place.ty().clone(),
                        ..address
                    };
                    self.store(&place, address, span)?;
                }
            }
            ("gaspi_segment_size", [number, rank, to]) => {
                let number = self.segment_number(number, span)?;
                let place = self.target_of(to)?;
                self.each_rank(rank, span, &mut |code, rank| {
                    let size = code.segment_size(rank, number, span).unwrap_or(0);
                    code.store(&place, Val::constant(i128::from(size), place.ty()), span)
                })?;
            }
            ("gaspi_queue_create", [to, timeout]) => {
                self.require_block(timeout, span)?;
                if self.loop_depth > 0 {
                    return unsupported(span, "a queue made in a loop", "make it before the loop");
                }
                let made = &mut self.cx.one_sided().contexts;
                made.push(0);
                let number = QUEUES + made.len() as i128 - 1;
                self.answer(to, number, span)?;
            }
            ("gaspi_queue_num", [to]) => self.answer(to, QUEUES, span)?,
            (_, [to]) if SIZES.iter().any(|(known, _)| *known == name) => {
                let size = SIZES.iter().find(|(known, _)| *known == name);
                self.answer(to, size.map_or(0, |(_, size)| *size), span)?;
            }
            ("gaspi_time_get", [to]) => {
                let place = self.target_of(to)?;
                let any = self.any_value(&place.ty().clone(), span);
                self.store(&place, any, span)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn region(&mut self, [segment, offset]: [&Expr; 2], bytes: u64, span: Span) -> Lower<Region> {
        let segment = self.segment_number(segment, span)?;
        let offset = self.value(offset)?;
        let offset = self.saved(offset, span);
        Ok(Region {
            segment,
            offset,
            bytes,
        })
    }

    fn notice(&mut self, segment: i64, [id, value]: [&Expr; 2], span: Span) -> Lower<Notice> {
        let id = self.value(id)?;
        let id = self.saved(id, span);
        let value = self.value(value)?;
        let value = self.saved(value, span).e;
        let some = is(value.clone(), 0).negate();
        self.demand(some, "a notification with the value 0", span);
        Ok(Notice { segment, id, value })
    }

    fn gaspi_transfer(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<bool> {
        let direction = match name {
            _ if name.starts_with("gaspi_write") => Direction::Write,
            _ if name.starts_with("gaspi_read") => Direction::Read,
            _ => return self.gaspi_other(name, args, span),
        };
        let one = Expr {
            kind: ExprKind::Int(1, Type::INT),
            span,
        };
        let (moved, rank, rest) = match args {
            [num, near, near_at, rank, far, far_at, size, rest @ ..] if name.contains("_list") => {
                let moved = self.listed_moves(num, [near, near_at, far, far_at, size], span)?;
                (moved, rank, rest)
            }
            [near, near_at, rank, far, far_at, size, rest @ ..] if !name.contains("_list") => {
                let bytes = self.byte_count(size, span)?;
                let near = self.region([near, near_at], bytes, span)?;
                let far = self.region([far, far_at], bytes, span)?;
                (vec![Moved { near, far }], rank, rest)
            }
            _ => return Ok(false),
        };
        // Without a number of its own a notification is one of the segment at the side that is notified.
        let own = moved.first().map_or(0, |m| match direction {
            Direction::Write => m.far.segment,
            Direction::Read => m.near.segment,
        });
        let (notice, queue, timeout) = match (name, rest) {
            ("gaspi_write" | "gaspi_read" | "gaspi_write_list" | "gaspi_read_list", [q, t]) => {
                (None, q, t)
            }
            ("gaspi_write_notify", [id, value, q, t]) => {
                (Some(self.notice(own, [id, value], span)?), q, t)
            }
            ("gaspi_read_notify", [id, q, t]) => (Some(self.notice(own, [id, &one], span)?), q, t),
            ("gaspi_write_list_notify", [segment, id, value, q, t]) => {
                let segment = self.segment_number(segment, span)?;
                (Some(self.notice(segment, [id, value], span)?), q, t)
            }
            ("gaspi_read_list_notify", [segment, id, q, t]) => {
                let segment = self.segment_number(segment, span)?;
                (Some(self.notice(segment, [id, &one], span)?), q, t)
            }
            _ => return Ok(false),
        };
        self.require_block(timeout, span)?;
        let queue = self.queue_number(queue, span)?;
        let posted = Posted { name, queue, rank };
        self.gaspi_move(&posted, direction, &moved, notice.as_ref(), span)?;
        Ok(true)
    }

    fn listed_moves(
        &mut self,
        num: &Expr,
        [near, near_at, far, far_at, size]: [&Expr; 5],
        span: Span,
    ) -> Lower<Vec<Moved>> {
        let count = self.fixed(num)?;
        let Some(count) = count.filter(|n| (0..=MAX_PARTS).contains(n)) else {
            let help = "give a constant, 16 at most";
            return unsupported(span, "a list of unknown length", help);
        };
        let mut moved = Vec::new();
        for k in 0..count as u64 {
            let mut number = |list: &Expr| -> Lower<i128> {
                let value = self.listed(list, k, span)?;
                match value.as_constant() {
                    Some(number) => Ok(number),
                    None => unsupported(
                        span,
                        "a list whose numbers are not known here",
                        "write the numbers as constants",
                    ),
                }
            };
            let (near, far) = (number(near)? as i64, number(far)? as i64);
            let bytes = number(size)? as u64;
            let near_at = self.listed(near_at, k, span)?;
            let far_at = self.listed(far_at, k, span)?;
            let mut region = |segment, offset| Region {
                segment,
                offset: self.saved(offset, span),
                bytes,
            };
            let (near, far) = (region(near, near_at), region(far, far_at));
            moved.push(Moved { near, far });
        }
        Ok(moved)
    }

    /// Element `k` of a list that an argument points to.
    fn listed(&mut self, list: &Expr, k: u64, span: Span) -> Lower<Val> {
        match &list.kind {
            ExprKind::Cast(_, inner) => return self.listed(inner, k, span),
            ExprKind::Unary(Unary::Address, inner) if k == 0 => return self.value(inner),
            ExprKind::Compound(_, init) => {
                if let Initializer::List(all, _) = init.as_ref()
                    && let Some((at, Initializer::Value(e))) = all.get(k as usize)
                    && at.is_empty()
                {
                    return self.value(e);
                }
            }
            _ => {}
        }
        let places = self.elements_at(list, k + 1, span)?;
        let place = places.into_iter().next_back();
        place.map_or_else(
            || unsupported(span, "this list", "pass an array"),
            |place| self.load(&place, span),
        )
    }

    fn gaspi_other(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<bool> {
        match (name, args) {
            ("gaspi_notify", [segment, rank, id, value, queue, timeout]) => {
                self.require_block(timeout, span)?;
                let segment = self.segment_number(segment, span)?;
                let notice = self.notice(segment, [id, value], span)?;
                let queue = self.queue_number(queue, span)?;
                self.gaspi_notify(&Posted { name, queue, rank }, &notice, span)?;
            }
            ("gaspi_atomic_fetch_add", [segment, offset, rank, value, old, timeout]) => {
                let operation = (Combine::Sum, [segment, offset, rank], old);
                self.gaspi_atomics(name, operation, &[value], timeout, span)?;
            }
            (
                "gaspi_atomic_compare_swap",
                [segment, offset, rank, expected, value, old, timeout],
            ) => {
                let operation = (Combine::CompareSwap, [segment, offset, rank], old);
                self.gaspi_atomics(name, operation, &[expected, value], timeout, span)?;
            }
            ("gaspi_passive_send", [segment, offset, rank, size, timeout]) => {
                self.require_block(timeout, span)?;
                let bytes = self.byte_count(size, span)?;
                let region = self.region([segment, offset], bytes, span)?;
                self.passive_send((name, &region), rank, span)?;
            }
            ("gaspi_passive_receive", [segment, offset, from, size, timeout]) => {
                self.require_block(timeout, span)?;
                let bytes = self.byte_count(size, span)?;
                let region = self.region([segment, offset], bytes, span)?;
                let from = self.target_of(from)?;
                self.passive_receive((name, &region), &from, span)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn gaspi_atomics(
        &mut self,
        name: &str,
        (combine, [segment, offset, rank], old): (Combine, [&Expr; 3], &Expr),
        operands: &[&Expr],
        timeout: &Expr,
        span: Span,
    ) -> Lower<()> {
        self.require_block(timeout, span)?;
        let region = self.region([segment, offset], 8, span)?;
        let word = Type::Int {
            bits: 64,
            signed: false,
        };
        let mut values = Vec::new();
        for operand in operands {
            let value = self.value(operand)?;
            let value = self.convert(value, &word, span)?;
            values.push(self.saved(value, span).e);
        }
        let posted = Posted {
            name,
            queue: usize::MAX,
            rank,
        };
        self.gaspi_atomic((&posted, &region), combine, &values, old, span)
    }

    fn gaspi_collective(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<bool> {
        match (name, args) {
            ("gaspi_barrier", [group, timeout]) => {
                self.require_all(group, span)?;
                self.require_block(timeout, span)?;
                self.mpi_barrier(span)?;
            }
            ("gaspi_allreduce", [send, receive, num, operation, ty, group, timeout]) => {
                self.require_all(group, span)?;
                self.require_block(timeout, span)?;
                let combine = match self.fixed(operation)? {
                    Some(0) => Combine::Min,
                    Some(1) => Combine::Max,
                    Some(2) => Combine::Sum,
                    _ => return unsupported(span, "this operation", "GASPI_OP_SUM and its kin"),
                };
                let base = self.fixed(ty)?.and_then(|t| usize::try_from(t).ok());
                let Some(base) = base.and_then(|t| TYPES.get(t)) else {
                    return unsupported(span, "this datatype", "GASPI_TYPE_INT and its kin");
                };
                let word = i64::from(self.cx.options.data_model.word());
                let base = if base % 1000 == 0 { base + word } else { *base };
                let count = self.fixed(num)?.and_then(|n| u64::try_from(n).ok());
                let Some(count) = count.filter(|n| *n <= MAX_REDUCED) else {
                    return unsupported(span, "a reduction of so many elements", "8 at most");
                };
                let elements = (base, (0..count).map(|k| k * width(base)).collect());
                let (to, from) = (self.value(receive)?, self.value(send)?);
                let (to, from) = (self.saved(to, span), self.saved(from, span));
                for buffer in [&to, &from] {
                    let pointee = buffer.ty.pointee().map(|t| t.plain().clone());
                    let pointee = pointee.filter(|t| *t != Type::Void);
                    let size = pointee
                        .map(|t| self.cx.layouts.size(&t, span))
                        .transpose()?;
                    if size.is_some_and(|size| size != width(base)) {
                        let what =
                            "a reduction of elements of another size than those of the buffer";
                        self.refuse_run(what, span);
                        return Ok(true);
                    }
                }
                let Some(all) = self.communicator(WORLD) else {
                    return Ok(false);
                };
                let group: Group = all.group();
                self.reduce(&group, (&to, &from), &elements, (combine, name), span)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn gaspi_waits(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        let value = match (name, args) {
            ("gaspi_wait", [queue, timeout]) => {
                let queue = self.queue_number(queue, span)?;
                self.gaspi_wait(queue, timeout, span)?
            }
            ("gaspi_notify_waitsome", [segment, begin, num, first, timeout]) => {
                let segment = self.segment_number(segment, span)?;
                let begin = self.value(begin)?;
                let begin = self.saved(begin, span);
                let num = self.fixed(num)?;
                let Some(num) = num.filter(|n| (1..=MAX_AWAITED).contains(n)) else {
                    let help = "give a constant from 1 to 64";
                    return unsupported(span, "a wait for so many notifications", help);
                };
                let first = self.target_of(first)?;
                let awaited = (segment, &begin, num as i64);
                self.gaspi_wait_some(awaited, &first, timeout, span)?
            }
            ("gaspi_notify_reset", [segment, id, old]) => {
                let segment = self.segment_number(segment, span)?;
                let id = self.value(id)?;
                let id = self.saved(id, span);
                let old = if super::super::thread::is_null(old) {
                    None
                } else {
                    Some(self.target_of(old)?)
                };
                self.gaspi_reset((segment, &id), old.as_ref(), span)?;
                Val::constant(0, &Type::INT)
            }
            ("gaspi_queue_size", [queue, to]) => {
                let queue = self.queue_number(queue, span)?;
                self.queue_size(queue, to, span)?;
                Val::constant(0, &Type::INT)
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// How many requests of a queue were posted since the last wait: none, or one, or as many as there is room for.
    fn queue_size(&mut self, queue: usize, to: &Expr, span: Span) -> Lower<()> {
        let place = self.target_of(to)?;
        let full = SIZES[0].1 as i64;
        let is_full = self.hidden(span);
        let domain = Some(Domain { lo: 0, hi: 1 });
        self.emit(
            Step::Havoc {
                dst: is_full,
                domain,
            },
            span,
        );
        let word = self.posted_word(queue, span);
        let posted = self.load_from(&word, span);
        let choose = |c, a, b| Ir::Cond(Box::new(c), Box::new(a), Box::new(b));
        let size = choose(is(register(is_full), 1), Ir::Const(full), Ir::Const(1));
        let size = choose(is(posted, 0), Ir::Const(0), size);
        let size = self.held(size, place.ty());
        self.store(&place, size, span)
    }
}
