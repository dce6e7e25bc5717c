//! *Messages* between two ranks: a queue, first in, first out. A receive waits for a message.
//!
//! | call | waits for its receive |
//! |---|---|
//! | `MPI_Ssend` | yes |
//! | `MPI_Send` | no, since MPI may buffer it, which orders least; where deadlocks are asked for, perhaps |
//! | `MPI_Bsend`, `MPI_Isend`, `MPI_Sendrecv` | no |
//!
//! Each communicator has queues of its own. A *status* says where a message came from, with which tag, and how many
//! elements it has; the status of other operations is not written.
//!
//! The buffer of `MPI_Isend` and `MPI_Irecv` is under way until the wait of the request, and a message
//! comes into the buffer of `MPI_Irecv` there. Receives that are open get messages in the order in which they
//! were called: they are followed if they are waited for in that order. More messages at once than a queue holds, and messages that are
//! received in another order than they were sent (by their tags), are not followed.

use palisade_program::{
    AtomicKind, BinOp, Domain, Expr as Ir, GlobalId, LocalAtom, LocalExpr, LocalId, Order,
    Place as Memory, Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::place::Place;
use super::super::thread::is_null;
use super::super::value::Val;
use super::communicator::{Communicator, WORLD};
use super::network::Saved;
use super::shadow::{Class, Issue, Part};
use super::transfer::Elements;
use crate::c::ast::Expr;
use crate::c::types::Type;

/// Messages of one queue at most.
const MAX_MESSAGES: u32 = 3;
/// Elements of one message at most.
const MAX_LENGTH: u32 = 8;
/// Where the length stands in `MPI_Status`, in bytes.
const LENGTH_AT: u64 = 12;
/// Any source, any tag.
const ANY: i128 = -1;

/// Messages of one purpose in one communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Channel {
    purpose: &'static str,
    communicator: i64,
}

impl Channel {
    /// The messages of a collective call.
    pub(super) const fn collective(purpose: &'static str, communicator: &Communicator) -> Self {
        Self {
            purpose,
            communicator: communicator.handle,
        }
    }

    const fn messages(communicator: i64) -> Self {
        Self {
            purpose: "message",
            communicator,
        }
    }

    fn word(self, from: u32, to: u32, what: &str) -> String {
        let communicator = match self.communicator {
            WORLD => String::new(),
            made => format!("comm{made}."),
        };
        format!("{communicator}{}.{from}.{to}.{what}", self.purpose)
    }
}

/// Where a received message came from: its source's rank in the communicator, and where to say so.
type Status<'p> = Option<(&'p Place, LocalExpr)>;

/// What happens where no message is seen.
type Otherwise<'f, 'c, 'a> = &'f dyn Fn(&mut Code<'c, 'a>) -> Lower<()>;

/// Where messages go, which are in no window.
const CHANNEL: usize = usize::MAX;

/// An `MPI_Irecv`: who waits for whom, and where its elements go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) struct Receive {
    communicator: i64,
    by: u32,
    from: u32,
    /// The rank of `from` in the communicator.
    source: usize,
    tag: i64,
    cells: Vec<Saved>,
}

impl Receive {
    pub(super) const fn source(&self) -> usize {
        self.source
    }

    pub(super) const fn length(&self) -> usize {
        self.cells.len()
    }
}

/// A queue: how many messages it holds, their tags, their elements.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    used: GlobalId,
    tags: GlobalId,
    data: GlobalId,
    /// How long they are, where not all are of one length.
    lengths: Option<GlobalId>,
}

fn at(var: GlobalId, index: LocalExpr) -> Memory {
    Memory {
        var,
        index: Some(index),
        order: Order::Plain,
    }
}

impl<'c, 'a> Code<'c, 'a> {
    pub(super) fn queue(&mut self, channel: Channel, from: u32, to: u32, span: Span) -> Queue {
        let differ = self.cx.one_sided().tracked.lengths.len() > 1;
        let mut make = |what: &str, len| self.cx.common(channel.word(from, to, what), len, span);
        Queue {
            used: make("used", None),
            tags: make("tags", Some(MAX_MESSAGES)),
            data: make("data", Some(MAX_MESSAGES * MAX_LENGTH)),
            lengths: differ.then(|| make("lengths", Some(MAX_MESSAGES))),
        }
    }

    /// The one cell of each element of a buffer.
    pub(super) fn message_cells(
        &mut self,
        buffer: &Expr,
        (base, elements): &Elements,
        span: Span,
    ) -> Lower<Vec<Vec<(LocalExpr, Memory)>>> {
        if elements.len() > MAX_LENGTH as usize {
            return unsupported(
                span,
                "a message this long",
                "8 elements at most are followed",
            );
        }
        let pointer = self.value(buffer)?;
        let pointer = self.saved(pointer, span);
        let all = elements.iter();
        all.map(|byte| self.buffer_cells(&pointer, *byte, *base, span))
            .collect()
    }

    /// Puts a message into a queue.
    pub(super) fn push_message(
        &mut self,
        (channel, to): (Channel, u32),
        buffer: (&Expr, &Elements),
        tag: &Val,
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let cells = self.message_cells(buffer.0, buffer.1, span)?;
        self.cx.one_sided().tracked.lengths.insert(cells.len());
        let queue = self.queue(channel, self.me(), to, span);
        let what = format!("{} `{name}`", self.whose());
        self.atomically(AtomicKind::Block, span, |code| {
            let used = code.load_from(&Memory::scalar(queue.used), span);
            let room =
                LocalExpr::binary(BinOp::Lt, used.clone(), Ir::Const(i64::from(MAX_MESSAGES)));
            code.require(room, "more messages on their way than are followed", span);
            let start =
                LocalExpr::binary(BinOp::Mul, used.clone(), Ir::Const(i64::from(MAX_LENGTH)));
            for (k, cases) in cells.iter().enumerate() {
                let mut result = Ok(());
                let cases = std::slice::from_ref(cases);
                code.each_cell(cases, &mut Vec::new(), span, &mut |code, places| {
                    let checked = code.check_blocking(&places[0], Class::Read, &what, span);
                    if result.is_ok() {
                        result = checked;
                    }
                    let value = code.load_from(&places[0], span);
                    let index = LocalExpr::binary(BinOp::Add, start.clone(), Ir::Const(k as i64));
                    code.store_to(&at(queue.data, index), value, span);
                });
                result?;
            }
            code.store_to(&at(queue.tags, used.clone()), tag.e.clone(), span);
            if let Some(lengths) = queue.lengths {
                let length = Ir::Const(cells.len() as i64);
                code.store_to(&at(lengths, used.clone()), length, span);
            }
            let more = LocalExpr::binary(BinOp::Add, used, Ir::Const(1));
            code.store_to(&Memory::scalar(queue.used), more, span);
            Ok(())
        })
    }

    /// The receives from a rank that are open.
    fn open_receives(&mut self, communicator: i64, from: u32, span: Span) -> Memory {
        let name = Channel::messages(communicator).word(from, self.me(), "awaited");
        Memory::scalar(self.cx.common(name, None, span))
    }

    /// The receives from a rank that are open and come before one.
    fn earlier_receives(&mut self, request: usize, span: Span) -> Memory {
        let name = format!("request{request}.behind");
        Memory::scalar(self.cx.common(name, None, span))
    }

    /// Waits, within a block, for the first message of a queue, which has to have a tag; its tag goes to `sent`.
    fn await_message(&mut self, queue: Queue, tag: &LocalExpr, sent: LocalId, span: Span) {
        let used = self.load_from(&Memory::scalar(queue.used), span);
        let some = LocalExpr::binary(BinOp::Gt, used, Ir::Const(0));
        self.emit(Step::Assume(some), span);
        let src = at(queue.tags, Ir::Const(0));
        self.emit(Step::Load { dst: sent, src }, span);
        let same = LocalExpr::binary(BinOp::Eq, self.read(sent), tag.clone());
        let any = LocalExpr::binary(BinOp::Eq, tag.clone(), Ir::Const(ANY as i64));
        self.require(
            same.or(any),
            "messages received in another order than sent",
            span,
        );
    }

    /// Takes the first message of a queue, within a block, when there is one: `store` gets the value of
    /// each element.
    pub(super) fn take_message(
        &mut self,
        queue: Queue,
        (tag, sent): (&LocalExpr, LocalId),
        length: usize,
        span: Span,
        store: &mut dyn FnMut(&mut Self, usize, LocalExpr),
    ) {
        self.await_message(queue, tag, sent, span);
        let used = self.load_from(&Memory::scalar(queue.used), span);
        self.cx.one_sided().tracked.lengths.insert(length);
        if let Some(lengths) = queue.lengths {
            let sent = self.load_from(&at(lengths, Ir::Const(0)), span);
            let same = LocalExpr::binary(BinOp::Eq, sent, Ir::Const(length as i64));
            self.require(same, "a message of another length than its receive", span);
        }
        for k in 0..length {
            let value = self.load_from(&at(queue.data, Ir::Const(k as i64)), span);
            store(self, k, value);
        }
        let longest = self.cx.one_sided().tracked.lengths.last().copied();
        let length = longest.unwrap_or(length);
        for k in 0..MAX_MESSAGES - 1 {
            let (here, next) = (i64::from(k), i64::from(k) + 1);
            for words in [Some(queue.tags), queue.lengths].into_iter().flatten() {
                let moved = self.load_from(&at(words, Ir::Const(next)), span);
                self.store_to(&at(words, Ir::Const(here)), moved, span);
            }
            let row = i64::from(MAX_LENGTH);
            for e in 0..length as i64 {
                let moved = self.load_from(&at(queue.data, Ir::Const(next * row + e)), span);
                self.store_to(&at(queue.data, Ir::Const(here * row + e)), moved, span);
            }
        }
        let last = i64::from(MAX_MESSAGES) - 1;
        for words in [Some(queue.tags), queue.lengths].into_iter().flatten() {
            self.store_to(&at(words, Ir::Const(last)), Ir::Const(0), span);
        }
        for e in 0..length as i64 {
            let place = at(queue.data, Ir::Const(last * i64::from(MAX_LENGTH) + e));
            self.store_to(&place, Ir::Const(0), span);
        }
        let less = LocalExpr::binary(BinOp::Sub, used, Ir::Const(1));
        self.store_to(&Memory::scalar(queue.used), less, span);
    }

    /// Takes a message from a queue, when there is one.
    pub(super) fn pull_message(
        &mut self,
        (channel, from): (Channel, u32),
        buffer: (&Expr, &Elements),
        (tag, status): (&Val, Status<'_>),
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let cells = self.message_cells(buffer.0, buffer.1, span)?;
        let queue = self.queue(channel, from, self.me(), span);
        let what = format!("{} `{name}`", self.whose());
        let awaited = self.open_receives(channel.communicator, from, span);
        let is_message = channel == Channel::messages(channel.communicator)
            && !self.cx.one_sided().tracked.receives.is_empty();
        let sent = self.hidden(span);
        self.atomically(AtomicKind::Block, span, |code| {
            if is_message {
                let open = code.load_from(&awaited, span);
                let none = LocalExpr::binary(BinOp::Eq, open, Ir::Const(0));
                code.require(
                    none,
                    "a receive while others from its source are open",
                    span,
                );
            }
            let mut result = Ok(());
            let tags = (&tag.e, sent);
            code.take_message(queue, tags, cells.len(), span, &mut |code, k, value| {
                let cases = std::slice::from_ref(&cells[k]);
                code.each_cell(cases, &mut Vec::new(), span, &mut |code, places| {
                    let checked = code.check_blocking(&places[0], Class::Write, &what, span);
                    if result.is_ok() {
                        result = checked;
                    }
                    code.store_to(&places[0], value.clone(), span);
                });
            });
            result
        })?;
        let length = Ir::Const(cells.len() as i64);
        self.write_status(status, self.read(sent), length, span)
    }

    /// The status that an argument names, if it names one.
    pub(super) fn status(&mut self, e: &Expr) -> Lower<Option<Place>> {
        if is_null(e) {
            return Ok(None);
        }
        self.target_of(e).map(Some)
    }

    /// Says where a message came from, its tag and its length.
    pub(super) fn write_status(
        &mut self,
        status: Status<'_>,
        tag: LocalExpr,
        length: LocalExpr,
        span: Span,
    ) -> Lower<()> {
        let Some((place, source)) = status else {
            return Ok(());
        };
        // The members of `MPI_Status`, in their order; the error is not written.
        let members = [(0, source), (4, tag), (LENGTH_AT, length)];
        for (byte, value) in members {
            let member = place.clone().part(byte, Type::INT);
            let value = self.held(value, &Type::INT);
            self.store(&member, value, span)?;
        }
        Ok(())
    }

    /// `MPI_Get_count`
    pub(super) fn message_length(&mut self, status: &Expr, to: &Expr, span: Span) -> Lower<()> {
        let from = self.target_of(status)?.part(LENGTH_AT, Type::INT);
        let length = self.load(&from, span)?;
        let place = self.target_of(to)?;
        self.store(&place, length, span)
    }

    pub(super) fn send(
        &mut self,
        buffer: (&Expr, &Elements),
        communicator: &Communicator,
        [to, tag]: [&Expr; 2],
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        let may_wait = name == "MPI_Send" && self.cx.options.lost_signals;
        let channel = Channel::messages(communicator.handle);
        self.each_named(communicator, to, span, &mut |code, to| {
            code.push_message((channel, to), buffer, &tag, name, span)?;
            if name == "MPI_Ssend" {
                return code.await_taken(channel, to, span);
            }
            if may_wait {
                return code.perhaps(span, |code| code.await_taken(channel, to, span));
            }
            Ok(())
        })
    }

    /// Waits until all messages to a rank are taken, of which the last is the own.
    fn await_taken(&mut self, channel: Channel, to: u32, span: Span) -> Lower<()> {
        if self.cx.has_threads() {
            self.refuse_run("a synchronous send of a rank with threads", span);
            return Ok(());
        }
        let queue = self.queue(channel, self.me(), to, span);
        self.atomically(AtomicKind::Block, span, |code| {
            let used = code.load_from(&Memory::scalar(queue.used), span);
            let none = LocalExpr::binary(BinOp::Eq, used, Ir::Const(0));
            code.emit(Step::Assume(none), span);
            Ok(())
        })
    }

    /// Runs `f`, or not.
    fn perhaps(&mut self, span: Span, f: impl FnOnce(&mut Self) -> Lower<()>) -> Lower<()> {
        let luck = self.temporary(span);
        let domain = Some(Domain { lo: 0, hi: 1 });
        self.emit(Step::Havoc { dst: luck, domain }, span);
        let is_chosen = LocalExpr::binary(BinOp::Eq, self.read(luck), Ir::Const(1));
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        self.branch_on(is_chosen, yes, no, span);
        self.at(yes);
        f(self)?;
        self.go(join, span);
        self.at(no);
        self.go(join, span);
        self.at(join);
        Ok(())
    }

    /// An operation on messages whose buffer is under way until the wait of its request.
    fn issue(&mut self, name: &str, (to, request): (u32, usize), span: Span) -> Issue {
        let words = format!("{} `{name}`", self.whose());
        Issue {
            site: self.cx.one_sided().site(words, span),
            channel: CHANNEL,
            to,
            request: Some(request),
            fetches: false,
        }
    }

    /// `MPI_Isend`: the message is on its way, and its buffer is read until the wait.
    pub(super) fn send_later(
        &mut self,
        buffer: (&Expr, &Elements),
        communicator: &Communicator,
        [to, tag]: [&Expr; 2],
        request: usize,
        name: &str,
        span: Span,
    ) -> Lower<()> {
        if self.cx.options.lost_signals {
            self.refuse_run("a deadlock of nonblocking sends", span);
        }
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        let channel = Channel::messages(communicator.handle);
        self.each_named(communicator, to, span, &mut |code, to| {
            code.push_message((channel, to), buffer, &tag, name, span)?;
            let issue = code.issue(name, (to, request), span);
            let cells = code.message_cells(buffer.0, buffer.1, span)?;
            let part = (Part::RequestOrigin(request), Class::Read);
            code.mark_cells(&cells, part, &issue, span)
        })
    }

    /// Notes that cells are under way.
    fn mark_cells(
        &mut self,
        cells: &[Vec<(LocalExpr, Memory)>],
        part: (Part, Class),
        issue: &Issue,
        span: Span,
    ) -> Lower<()> {
        self.atomically(AtomicKind::Block, span, |code| {
            let mut result = Ok(());
            for cases in cells {
                let cases = std::slice::from_ref(cases);
                code.each_cell(cases, &mut Vec::new(), span, &mut |code, places| {
                    let marked = code.mark_access(&places[0], part, issue, span);
                    if result.is_ok() {
                        result = marked;
                    }
                });
            }
            result
        })
    }

    /// `MPI_Irecv`: the buffer is written until the wait, which takes the message.
    pub(super) fn receive_later(
        &mut self,
        buffer: (&Expr, &Elements),
        communicator: &Communicator,
        [from, tag]: [&Expr; 2],
        request: usize,
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let (from, tag) = (self.fixed(from)?, self.fixed(tag)?);
        let source = from.and_then(|f| usize::try_from(f).ok());
        let from = source.and_then(|r| communicator.members.get(r).copied());
        let (Some(source), Some(from), Some(tag)) = (source, from, tag) else {
            let help = "give a constant rank and a constant tag";
            return unsupported(span, "`MPI_Irecv` from a rank that is not known here", help);
        };
        let cells = self.message_cells(buffer.0, buffer.1, span)?;
        let issue = self.issue(name, (from, request), span);
        let what = format!("{} `{name}`", self.whose());
        let awaited = self.open_receives(communicator.handle, from, span);
        let behind = self.earlier_receives(request, span);
        let part = (Part::RequestOrigin(request), Class::Write);
        let saved = self.atomically(AtomicKind::Block, span, |code| {
            let mut saved = Vec::new();
            for (k, cases) in cells.iter().enumerate() {
                let [(Ir::Const(1), place)] = cases.as_slice() else {
                    let help = "receive into a variable, or into an element of an array";
                    return unsupported(span, "a buffer that may be several", help);
                };
                code.check_access(place, Class::Write, &what, span)?;
                code.mark_access(place, part, &issue, span)?;
                saved.push(code.save_cell(place, format!("request{request}.cell{k}"), span));
            }
            let open = code.load_from(&awaited, span);
            code.store_to(&behind, open.clone(), span);
            let more = LocalExpr::binary(BinOp::Add, open, Ir::Const(1));
            code.store_to(&awaited, more, span);
            Ok(saved)
        })?;
        let receive = Receive {
            communicator: communicator.handle,
            by: self.me(),
            from,
            source,
            tag: tag as i64,
            cells: saved,
        };
        let receives = &mut self.cx.one_sided().tracked.receives;
        receives.insert(request, receive);
        Ok(())
    }

    /// Where the message of a receive will be.
    pub(super) fn receive_queue(&mut self, receive: &Receive, span: Span) -> Memory {
        let channel = Channel::messages(receive.communicator);
        let queue = self.queue(channel, receive.from, receive.by, span);
        Memory::scalar(queue.used)
    }

    /// Takes the message of a receive, within a block, when there is one; its tag goes to `sent`.
    pub(super) fn complete_receive(
        &mut self,
        request: usize,
        receive: &Receive,
        sent: LocalId,
        span: Span,
    ) {
        let from = receive.from;
        let behind = self.earlier_receives(request, span);
        let earlier = self.load_from(&behind, span);
        let is_first = LocalExpr::binary(BinOp::Eq, earlier, Ir::Const(0));
        self.require(is_first, "receives waited for in another order", span);
        let channel = Channel::messages(receive.communicator);
        let queue = self.queue(channel, from, self.me(), span);
        let tag = Ir::Const(receive.tag);
        self.take_message(
            queue,
            (&tag, sent),
            receive.cells.len(),
            span,
            &mut |code, k, value| {
                let place = code.saved_cell(&receive.cells[k], span);
                code.store_to(&place, value, span);
            },
        );
        let awaited = self.open_receives(receive.communicator, from, span);
        let open = self.load_from(&awaited, span);
        let less = LocalExpr::binary(BinOp::Sub, open, Ir::Const(1));
        self.store_to(&awaited, less, span);
        let all = self.cx.one_sided().tracked.receives.iter();
        let queue = |r: &Receive| (r.communicator, r.by, r.from);
        let same = all.filter(|(n, r)| **n != request && queue(r) == queue(receive));
        let others: Vec<usize> = same.map(|(n, _)| *n).collect();
        for other in others {
            let behind = self.earlier_receives(other, span);
            let before = self.load_from(&behind, span);
            let some = LocalExpr::binary(BinOp::Gt, before.clone(), Ir::Const(0));
            let less = LocalExpr::binary(BinOp::Sub, before.clone(), Ir::Const(1));
            let value = Ir::Cond(Box::new(some), Box::new(less), Box::new(before));
            self.store_to(&behind, value, span);
        }
    }

    /// Runs `f` for the rank that a message comes from, with its rank in the communicator. Of any sources it is
    /// one that has sent; `unseen` says that it may be none, although they have.
    fn each_source(
        &mut self,
        communicator: &Communicator,
        from: &Expr,
        unseen: Option<Otherwise<'_, 'c, 'a>>,
        span: Span,
        f: &dyn Fn(&mut Self, u32, usize) -> Lower<()>,
    ) -> Lower<()> {
        if self.peek(from) == Some(ANY) {
            return self.some_source(communicator, &communicator.members, unseen, span, f);
        }
        self.each_named(communicator, from, span, &mut |code, from| match unseen {
            Some(_) => code.some_source(communicator, &[from], unseen, span, f),
            None => f(code, from, communicator.rank_of(from).unwrap_or(0)),
        })
    }

    /// Chooses one of those who have sent.
    fn some_source(
        &mut self,
        communicator: &Communicator,
        among: &[u32],
        unseen: Option<Otherwise<'_, 'c, 'a>>,
        span: Span,
        f: &dyn Fn(&mut Self, u32, usize) -> Lower<()>,
    ) -> Lower<()> {
        const NONE: i64 = -1;
        let channel = Channel::messages(communicator.handle);
        let chosen = self.hidden(span);
        let is =
            |k: i64| LocalExpr::binary(BinOp::Eq, Ir::Atom(LocalAtom::Local(chosen)), Ir::Const(k));
        self.atomically(AtomicKind::Block, span, |code| {
            let lo = if unseen.is_some() { NONE } else { 0 };
            let hi = among.len() as i64 - 1;
            let domain = Some(Domain { lo, hi });
            code.emit(
                Step::Havoc {
                    dst: chosen,
                    domain,
                },
                span,
            );
            for (k, from) in among.iter().enumerate() {
                let queue = code.queue(channel, *from, code.me(), span);
                let used = code.load_from(&Memory::scalar(queue.used), span);
                let some = LocalExpr::binary(BinOp::Gt, used, Ir::Const(0));
                code.emit(Step::Assume(is(k as i64).negate().or(some)), span);
            }
            Ok(())
        })?;
        let none = unseen.map(|_| (is(NONE), None));
        let some = among
            .iter()
            .enumerate()
            .map(|(k, from)| (is(k as i64), Some(*from)));
        let cases: Vec<_> = none.into_iter().chain(some).collect();
        self.each_case(&cases, span, &mut |code, from| match (from, unseen) {
            (Some(from), _) => f(code, *from, communicator.rank_of(*from).unwrap_or(0)),
            (None, Some(unseen)) => unseen(code),
            (None, None) => Ok(()),
        })
    }

    pub(super) fn receive(
        &mut self,
        buffer: (&Expr, &Elements),
        communicator: &Communicator,
        [from, tag, status]: [&Expr; 3],
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        let status = self.status(status)?;
        let channel = Channel::messages(communicator.handle);
        self.each_source(communicator, from, None, span, &|code, from, source| {
            let status = status
                .as_ref()
                .map(|place| (place, Ir::Const(source as i64)));
            code.pull_message((channel, from), buffer, (&tag, status), name, span)
        })
    }

    /// `MPI_Probe`, and with a flag `MPI_Iprobe`, which need not see a message that was sent.
    pub(super) fn probe(
        &mut self,
        communicator: &Communicator,
        [from, tag, status]: [&Expr; 3],
        flag: Option<&Place>,
        span: Span,
    ) -> Lower<()> {
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        let status = self.status(status)?;
        let flagged = |code: &mut Self, value: i128| match flag {
            Some(flag) => code.store(flag, Val::constant(value, &Type::INT), span),
            None => Ok(()),
        };
        let channel = Channel::messages(communicator.handle);
        let unseen = |code: &mut Self| flagged(code, 0);
        let unseen: Option<Otherwise<'_, 'c, 'a>> = match flag {
            Some(_) => Some(&unseen),
            None => None,
        };
        self.each_source(communicator, from, unseen, span, &|code, from, source| {
            let queue = code.queue(channel, from, code.me(), span);
            let (sent, length) = (code.hidden(span), code.hidden(span));
            code.atomically(AtomicKind::Block, span, |code| {
                code.await_message(queue, &tag.e, sent, span);
                if let Some(lengths) = queue.lengths {
                    let src = at(lengths, Ir::Const(0));
                    code.emit(Step::Load { dst: length, src }, span);
                } else {
                    let only = code.cx.one_sided().tracked.lengths.first().copied();
                    let value = Ir::Const(only.unwrap_or(0) as i64);
                    code.emit(Step::Assign { dst: length, value }, span);
                }
                Ok(())
            })?;
            let status = status.as_ref();
            let status = status.map(|place| (place, Ir::Const(source as i64)));
            code.write_status(status, code.read(sent), code.read(length), span)?;
            flagged(code, 1)
        })
    }

    /// The root's elements come to all others, which wait for them.
    pub(super) fn broadcast(
        &mut self,
        buffer: (&Expr, &Elements),
        communicator: &Communicator,
        root: &Expr,
        span: Span,
    ) -> Lower<()> {
        let zero = Val::constant(0, &Type::INT);
        let channel = Channel::collective("broadcast", communicator);
        self.each_named(communicator, root, span, &mut |code, root| {
            if root != code.me() {
                let from = (channel, root);
                return code.pull_message(from, buffer, (&zero, None), "MPI_Bcast", span);
            }
            for to in communicator.members.iter().filter(|to| **to != root) {
                code.push_message((channel, *to), buffer, &zero, "MPI_Bcast", span)?;
            }
            Ok(())
        })
    }
}
