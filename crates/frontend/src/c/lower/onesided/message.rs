//! *Messages* between two ranks: a queue, first in, first out. A receive waits for a message.
//!
//! | call | waits for its receive |
//! |---|---|
//! | `MPI_Ssend` | yes |
//! | `MPI_Send`, `MPI_Sendrecv` | no, since MPI may buffer it, which orders least; where deadlocks are asked for, perhaps |
//! | `MPI_Isend` | the same, at the wait of its request |
//! | `MPI_Bsend` | no |
//!
//! Each communicator has queues of its own. The *form* of a message is how many elements of which type it has; where not all
//! messages have one form, queues say it. A receive takes a shorter message of its type, too; a longer one is wrong.
//!
//! The buffer of `MPI_Isend` and `MPI_Irecv` is under way until the wait of the request, and a message
//! comes into the buffer of `MPI_Irecv` there. Receives that are open get messages in the order in which they
//! were called: they are followed if they are waited for in that order. A send that waits for its receive waits for one that is
//! called, not for its end. More messages at once than a queue holds, and messages that are
//! received in another order than they were sent (by their tags), are not followed.

use palisade_program::{
    AtomicKind, BinOp, Domain, Expr as Ir, GlobalId, LocalExpr, LocalId, Order, Place as Memory,
    Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::mpi::NOBODY;
use super::super::value::Val;
use super::communicator::{Communicator, WORLD};
use super::network::Saved;
use super::rounds::Call;
use super::shadow::{Class, Issue, Part};
use super::status::Status;
use super::transfer::Elements;
use crate::c::ast::Expr;
use crate::c::types::Type;

/// Messages of one queue at most; where a loop sends without receiving, too.
const FEW_MESSAGES: u32 = 3;
const MANY_MESSAGES: u32 = 8;
/// Elements of one message at most.
pub(super) const MAX_LENGTH: u32 = 8;
/// Any source, any tag.
pub(super) const ANY: i128 = -1;
/// Numbers of predefined types are below.
const TYPES: i64 = 4096;

/// How many elements of which predefined type a message has.
pub(super) type Form = (usize, i64);

/// The number of a form.
pub(super) const fn form_number((length, base): Form) -> i64 {
    length as i64 * TYPES + base
}

/// What a receive learns of its message.
#[derive(Clone, Copy)]
pub(super) struct Envelope {
    pub(super) tag: LocalId,
    /// The number of its form.
    pub(super) form: LocalId,
}

/// The cells that an element may be, each with its condition.
type Cases = Vec<(LocalExpr, Memory)>;

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

    pub(super) const fn messages(communicator: i64) -> Self {
        Self {
            purpose: "message",
            communicator,
        }
    }

    /// Messages of GASPI's passive communication.
    pub(super) const fn passive(communicator: i64) -> Self {
        Self {
            purpose: "passive",
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
    /// The predefined type of its elements.
    base: i64,
    cells: Vec<Saved>,
}

impl Receive {
    pub(super) const fn source(&self) -> usize {
        self.source
    }
}

/// An `MPI_Isend`, where deadlocks are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Sent {
    communicator: i64,
    by: u32,
    to: u32,
}

/// A queue: how many messages it holds, their tags, their elements.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    used: GlobalId,
    tags: GlobalId,
    data: GlobalId,
    /// Their forms, where not all have the same.
    forms: Option<GlobalId>,
}

impl Queue {
    /// How many messages there are.
    pub(super) const fn used(self) -> Memory {
        Memory::scalar(self.used)
    }
}

pub(super) fn at(var: GlobalId, index: LocalExpr) -> Memory {
    Memory {
        var,
        index: Some(index),
        order: Order::Plain,
    }
}

impl Code<'_, '_> {
    /// Messages of one queue at most.
    fn most_messages(&mut self) -> u32 {
        if self.cx.one_sided().tracked.sends_in_loops {
            MANY_MESSAGES
        } else {
            FEW_MESSAGES
        }
    }

    pub(super) fn queue(&mut self, channel: Channel, from: u32, to: u32, span: Span) -> Queue {
        let differ = self.cx.one_sided().tracked.forms.len() > 1;
        let most = self.most_messages();
        let mut make = |what: &str, len| self.cx.common(channel.word(from, to, what), len, span);
        Queue {
            used: make("used", None),
            tags: make("tags", Some(most)),
            data: make("data", Some(most * MAX_LENGTH)),
            forms: differ.then(|| make("forms", Some(most))),
        }
    }

    /// The one cell of each element of a buffer.
    pub(super) fn message_cells(
        &mut self,
        buffer: &Expr,
        (base, elements): &Elements,
        span: Span,
    ) -> Lower<Vec<Cases>> {
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
        self.push_cells((channel, to), (&cells, buffer.1.0), tag, name, span)
    }

    /// The same of elements of a type.
    pub(super) fn push_cells(
        &mut self,
        (channel, to): (Channel, u32),
        (cells, base): (&[Cases], i64),
        tag: &Val,
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let form = (cells.len(), base);
        let is_many = self.copies() > 1;
        let tracked = &mut self.cx.one_sided().tracked;
        tracked.forms.insert(form);
        tracked.sends_in_loops |= is_many;
        let most = i64::from(self.most_messages());
        let queue = self.queue(channel, self.me(), to, span);
        let what = format!("{} `{name}`", self.whose());
        self.atomically(AtomicKind::Block, span, |code| {
            let used = code.load_from(&Memory::scalar(queue.used), span);
            let room = LocalExpr::binary(BinOp::Lt, used.clone(), Ir::Const(most));
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
            if let Some(forms) = queue.forms {
                let number = Ir::Const(form_number(form));
                code.store_to(&at(forms, used.clone()), number, span);
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

    /// Requires, within a block, that no receive from a source is open which the first message would belong to.
    pub(super) fn require_no_receive(&mut self, communicator: i64, from: u32, span: Span) {
        if self.cx.one_sided().tracked.receives.is_empty() {
            return;
        }
        let awaited = self.open_receives(communicator, from, span);
        let open = self.load_from(&awaited, span);
        let none = LocalExpr::binary(BinOp::Eq, open, Ir::Const(0));
        let what = "a receive while others from its source are open";
        self.require(none, what, span);
    }

    /// Waits, within a block, for the first message of a queue, which has to have a tag; what it says goes to
    /// the envelope.
    pub(super) fn await_message(
        &mut self,
        queue: Queue,
        tag: &LocalExpr,
        sent: Envelope,
        span: Span,
    ) {
        let used = self.load_from(&queue.used(), span);
        let some = LocalExpr::binary(BinOp::Gt, used, Ir::Const(0));
        self.emit(Step::Assume(some), span);
        let src = at(queue.tags, Ir::Const(0));
        self.emit(Step::Load { dst: sent.tag, src }, span);
        let same = LocalExpr::binary(BinOp::Eq, self.read(sent.tag), tag.clone());
        let any = LocalExpr::binary(BinOp::Eq, tag.clone(), Ir::Const(ANY as i64));
        self.require(
            same.or(any),
            "messages received in another order than sent",
            span,
        );
        let dst = sent.form;
        if let Some(forms) = queue.forms {
            let src = at(forms, Ir::Const(0));
            self.emit(Step::Load { dst, src }, span);
        } else {
            let only = self.cx.one_sided().tracked.forms.first().copied();
            let value = Ir::Const(only.map_or(0, form_number));
            self.emit(Step::Assign { dst, value }, span);
        }
    }

    /// What a receive will learn.
    pub(super) fn envelope(&mut self, span: Span) -> Envelope {
        Envelope {
            tag: self.hidden(span),
            form: self.hidden(span),
        }
    }

    /// Requires that a message fits its receive.
    fn check_form(&mut self, sent: Envelope, (length, base): Form, is_exact: bool, span: Span) {
        let form = self.read(sent.form);
        let sent_base = LocalExpr::binary(BinOp::Mod, form.clone(), Ir::Const(TYPES));
        let same = LocalExpr::binary(BinOp::Eq, sent_base, Ir::Const(base));
        self.require(same, "a message of another type than its receive", span);
        let most = Ir::Const(form_number((length, base)));
        let fits = LocalExpr::binary(BinOp::Le, form.clone(), most.clone());
        self.demand(fits, "a message is longer than its receive", span);
        if is_exact {
            let whole = LocalExpr::binary(BinOp::Eq, form, most);
            self.require(whole, "a message of another length than its receive", span);
        }
    }

    /// Takes the first message of a queue, within a block, when there is one: `store` gets the value of
    /// each element. Messages of collective calls are exactly as long as they are awaited.
    pub(super) fn take_message(
        &mut self,
        queue: Queue,
        (tag, sent): (&LocalExpr, Envelope),
        (form, is_exact): (Form, bool),
        span: Span,
        store: &mut dyn FnMut(&mut Self, usize, LocalExpr),
    ) {
        self.await_message(queue, tag, sent, span);
        let used = self.load_from(&queue.used(), span);
        let (length, base) = form;
        let forms = &mut self.cx.one_sided().tracked.forms;
        forms.insert(form);
        let shortest = forms.iter().filter(|f| f.1 == base).map(|f| f.0).min();
        let shortest = shortest.filter(|_| !is_exact && queue.forms.is_some());
        let longest = forms.iter().map(|f| f.0).max().unwrap_or(length);
        if queue.forms.is_some() {
            self.check_form(sent, form, is_exact, span);
        }
        for k in 0..length {
            let value = self.load_from(&at(queue.data, Ir::Const(k as i64)), span);
            if shortest.is_none_or(|n| k < n) {
                store(self, k, value);
                continue;
            }
            let least = Ir::Const(form_number((k + 1, base)));
            let is_there = LocalExpr::binary(BinOp::Ge, self.read(sent.form), least);
            let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
            self.branch_on(is_there, yes, no, span);
            self.at(yes);
            store(self, k, value);
            self.go(join, span);
            self.at(no);
            self.go(join, span);
            self.at(join);
        }
        let most = self.most_messages();
        for k in 0..most - 1 {
            let (here, next) = (i64::from(k), i64::from(k) + 1);
            for words in [Some(queue.tags), queue.forms].into_iter().flatten() {
                let moved = self.load_from(&at(words, Ir::Const(next)), span);
                self.store_to(&at(words, Ir::Const(here)), moved, span);
            }
            let row = i64::from(MAX_LENGTH);
            for e in 0..longest as i64 {
                let moved = self.load_from(&at(queue.data, Ir::Const(next * row + e)), span);
                self.store_to(&at(queue.data, Ir::Const(here * row + e)), moved, span);
            }
        }
        let last = i64::from(most) - 1;
        for words in [Some(queue.tags), queue.forms].into_iter().flatten() {
            self.store_to(&at(words, Ir::Const(last)), Ir::Const(0), span);
        }
        for e in 0..longest as i64 {
            let place = at(queue.data, Ir::Const(last * i64::from(MAX_LENGTH) + e));
            self.store_to(&place, Ir::Const(0), span);
        }
        let less = LocalExpr::binary(BinOp::Sub, used, Ir::Const(1));
        self.store_to(&queue.used(), less, span);
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
        let buffer = (cells.as_slice(), buffer.1.0);
        self.pull_cells((channel, from), buffer, (tag, status), name, span)
    }

    /// The same into elements of a type.
    pub(super) fn pull_cells(
        &mut self,
        (channel, from): (Channel, u32),
        (cells, base): (&[Cases], i64),
        (tag, status): (&Val, Status<'_>),
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let queue = self.queue(channel, from, self.me(), span);
        let what = format!("{} `{name}`", self.whose());
        let is_message = channel == Channel::messages(channel.communicator);
        let form = (cells.len(), base);
        let sent = self.envelope(span);
        self.atomically(AtomicKind::Block, span, |code| {
            if is_message {
                code.require_no_receive(channel.communicator, from, span);
            }
            let mut result = Ok(());
            let (tags, form) = ((&tag.e, sent), (form, !is_message));
            code.take_message(queue, tags, form, span, &mut |code, k, value| {
                let cases = std::slice::from_ref(&cells[k]);
                code.each_cell(cases, &mut Vec::new(), span, &mut |code, places| {
                    let checked = code.check_blocking(&places[0], Class::Write, &what, span);
                    if result.is_ok() {
                        result = checked;
                    }
                    code.store_to(&places[0], value.clone(), span);
                });
            });
            if is_message {
                code.note_received(channel.communicator, from, span);
            }
            result
        })?;
        self.write_received(status, sent, span)
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
        let may_wait = self.may_wait() && name == "MPI_Send";
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

    /// Whether deadlocks are asked for: what may wait or not then does both.
    pub(super) const fn may_wait(&self) -> bool {
        self.cx.options.lost_signals
    }

    /// Waits until all messages to a rank have their receives, of which the last is the own: they are taken,
    /// or receives are open that they belong to.
    fn await_taken(&mut self, channel: Channel, to: u32, span: Span) -> Lower<()> {
        if self.cx.has_threads() {
            self.refuse_run("a synchronous send of a rank with threads", span);
            return Ok(());
        }
        let me = self.me();
        let queue = self.queue(channel, me, to, span);
        let all = self.cx.one_sided().tracked.receives.iter();
        let mine =
            all.filter(|(_, r)| (r.communicator, r.by, r.from) == (channel.communicator, to, me));
        let open: Vec<(usize, i64)> = mine.map(|(n, r)| (*n, r.tag)).collect();
        self.atomically(AtomicKind::Block, span, |code| {
            let used = code.load_from(&queue.used(), span);
            if open.is_empty() {
                let none = LocalExpr::binary(BinOp::Eq, used, Ir::Const(0));
                code.emit(Step::Assume(none), span);
                return Ok(());
            }
            let awaited = code.cx.common(channel.word(me, to, "awaited"), None, span);
            let awaited = code.load_from(&Memory::scalar(awaited), span);
            let enough = LocalExpr::binary(BinOp::Le, used.clone(), awaited);
            code.emit(Step::Assume(enough), span);
            for (request, tag) in open.iter().filter(|(_, tag)| *tag != ANY as i64) {
                code.check_matched((*request, *tag), &used, queue, span);
            }
            Ok(())
        })
    }

    /// Requires that the message that a receive will get, if it is open and there is one, has its tag.
    fn check_matched(
        &mut self,
        (request, tag): (usize, i64),
        used: &LocalExpr,
        queue: Queue,
        span: Span,
    ) {
        let open = Memory::scalar(self.request_word(request, span));
        let open = self.load_from(&open, span);
        let behind = self.earlier_receives(request, span);
        let behind = self.load_from(&behind, span);
        for k in 0..i64::from(self.most_messages()) {
            let sent = self.load_from(&at(queue.tags, Ir::Const(k)), span);
            let is_closed = LocalExpr::binary(BinOp::Eq, open.clone(), Ir::Const(0));
            let none = LocalExpr::binary(BinOp::Le, used.clone(), Ir::Const(k));
            let other = LocalExpr::binary(BinOp::Ne, behind.clone(), Ir::Const(k));
            let same = LocalExpr::binary(BinOp::Eq, sent, Ir::Const(tag));
            let what = "messages received in another order than sent";
            self.require(is_closed.or(none).or(other).or(same), what, span);
        }
    }

    /// Runs `f`, or not.
    pub(super) fn perhaps(
        &mut self,
        span: Span,
        f: impl FnOnce(&mut Self) -> Lower<()>,
    ) -> Lower<()> {
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

    /// `MPI_Sendrecv`: it sends and receives at the same time, so that the send does not make the receive wait. Where deadlocks are
    /// asked for, the end of the call may.
    pub(super) fn send_and_receive(
        &mut self,
        [(buffer, sent), (into, elements)]: [(&Expr, &Elements); 2],
        communicator: &Communicator,
        [to, tag, from, from_tag, status]: [&Expr; 5],
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        let channel = Channel::messages(communicator.handle);
        self.each_named_or(communicator, to, span, &mut |code, to| {
            if let Some(to) = to {
                code.push_message((channel, to), (buffer, sent), &tag, name, span)?;
            }
            let into = (into, elements);
            code.receive(into, communicator, [from, from_tag, status], name, span)?;
            match to {
                Some(to) if code.may_wait() => {
                    code.perhaps(span, |code| code.await_taken(channel, to, span))
                }
                _ => Ok(()),
            }
        })
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
            covers: false,
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
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        let channel = Channel::messages(communicator.handle);
        self.each_named(communicator, to, span, &mut |code, to| {
            code.push_message((channel, to), buffer, &tag, name, span)?;
            if code.may_wait() {
                let sent = Sent {
                    communicator: communicator.handle,
                    by: code.me(),
                    to,
                };
                code.perhaps_synchronous(request, sent, span)?;
            }
            let issue = code.issue(name, (to, request), span);
            let cells = code.message_cells(buffer.0, buffer.1, span)?;
            let part = (Part::RequestOrigin(request), Class::Read);
            code.mark_cells(&cells, part, &issue, span)
        })
    }

    /// A send that was just made may wait for its receive, at the wait of its request.
    fn perhaps_synchronous(&mut self, request: usize, sent: Sent, span: Span) -> Lower<()> {
        let sends = &mut self.cx.one_sided().tracked.sends;
        if *sends.entry(request).or_insert(sent) != sent || self.cx.has_threads() {
            self.refuse_run(
                "a nonblocking send to several ranks, or of one of several threads",
                span,
            );
            return Ok(());
        }
        let left = self.unreceived(request, span);
        let queue = self.queue(Channel::messages(sent.communicator), sent.by, sent.to, span);
        self.store_to(&left, Ir::Const(0), span);
        self.perhaps(span, |code| {
            code.atomically(AtomicKind::Block, span, |code| {
                let used = code.load_from(&queue.used(), span);
                code.store_to(&left, used, span);
                Ok(())
            })
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

    /// The number of receives that differ from others in what is known of them here: one call may be several, in a
    /// function that is called twice.
    fn receive_kind(&mut self, kind: String) -> u32 {
        let kinds = &mut self.cx.one_sided().tracked.receive_kinds;
        let known = kinds.iter().position(|k| *k == kind);
        let place = known.unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        place as u32
    }

    /// `MPI_Irecv`: the buffer is written until the wait, which takes the message.
    pub(super) fn receive_later(
        &mut self,
        buffer: (&Expr, &Elements),
        communicator: &Communicator,
        [from, tag, request]: [&Expr; 3],
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let (from, tag) = (self.fixed(from)?, self.fixed(tag)?);
        if from == Some(NOBODY) {
            let which = self.receive_kind("nobody".to_owned());
            let number = self.open_request_of(which, request, span)?;
            self.cx.one_sided().tracked.from_nobody.insert(number);
            return Ok(());
        }
        let source = from.and_then(|f| usize::try_from(f).ok());
        let from = source.and_then(|r| communicator.members.get(r).copied());
        let (Some(source), Some(from), Some(tag)) = (source, from, tag) else {
            let help = "give a constant rank and a constant tag";
            return unsupported(span, "`MPI_Irecv` from a rank that is not known here", help);
        };
        let cells = self.message_cells(buffer.0, buffer.1, span)?;
        let places = cells.iter().filter_map(|cases| Some(cases.first()?.1.var));
        let names: Vec<&str> = places
            .map(|var| self.cx.globals[var.index()].name.as_str())
            .collect();
        let kind = format!(
            "{} {from} {tag} {} {}",
            communicator.handle,
            buffer.1.0,
            names.join(" ")
        );
        let which = self.receive_kind(kind);
        let request = self.open_request_of(which, request, span)?;
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
            base: buffer.1.0,
            cells: saved,
        };
        let receives = &mut self.cx.one_sided().tracked.receives;
        receives.insert(request, receive);
        Ok(())
    }

    /// Within a block: whether the wait of a request would return; `None` if it always does.
    pub(super) fn request_ready(&mut self, number: usize, span: Span) -> Option<LocalExpr> {
        let tracked = &self.cx.one_sided().tracked;
        if let Some(receive) = tracked.receives.get(&number).cloned() {
            let channel = Channel::messages(receive.communicator);
            let queue = self.queue(channel, receive.from, receive.by, span);
            let used = self.load_from(&queue.used(), span);
            let behind = self.earlier_receives(number, span);
            let behind = self.load_from(&behind, span);
            return Some(LocalExpr::binary(BinOp::Gt, used, behind));
        }
        let sent = tracked.sends.get(&number).copied()?;
        let left = self.unreceived(number, span);
        let left = self.load_from(&left, span);
        let name = Channel::messages(sent.communicator).word(sent.by, sent.to, "awaited");
        let awaited = Memory::scalar(self.cx.common(name, None, span));
        let awaited = self.load_from(&awaited, span);
        Some(LocalExpr::binary(BinOp::Le, left, awaited))
    }

    /// How many messages of its queue a send that waits for its receive still has to see received, its own included.
    fn unreceived(&mut self, number: usize, span: Span) -> Memory {
        let name = format!("request{number}.unreceived");
        Memory::scalar(self.cx.common(name, None, span))
    }

    /// A message to this rank was received: sends that wait for theirs are one nearer.
    fn note_received(&mut self, communicator: i64, from: u32, span: Span) {
        let me = self.me();
        let sends = self.cx.one_sided().tracked.sends.iter();
        let same = sends.filter(|(_, s)| (s.communicator, s.by, s.to) == (communicator, from, me));
        let numbers: Vec<usize> = same.map(|(n, _)| *n).collect();
        for number in numbers {
            let left = self.unreceived(number, span);
            self.lower(&left, span);
        }
    }

    /// Takes one off a number that is not 0, within a block.
    fn lower(&mut self, word: &Memory, span: Span) {
        let before = self.load_from(word, span);
        let some = LocalExpr::binary(BinOp::Gt, before.clone(), Ir::Const(0));
        let less = LocalExpr::binary(BinOp::Sub, before.clone(), Ir::Const(1));
        let value = Ir::Cond(Box::new(some), Box::new(less), Box::new(before));
        self.store_to(word, value, span);
    }

    /// Takes the message of a receive, within a block, when there is one; its tag goes to `sent`.
    pub(super) fn complete_receive(
        &mut self,
        request: usize,
        receive: &Receive,
        sent: Envelope,
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
            ((receive.cells.len(), receive.base), false),
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
            self.lower(&behind, span);
        }
        self.note_received(receive.communicator, from, span);
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
            let call = Call::new("MPI_Bcast").to(root);
            code.enter_round(communicator, &call, span)?;
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
