//! *Requests*: handles of operations that a wait completes. A handle is the number of the call that
//! returned it; 0 is no request. In a loop without a call that completes operations a call has [`COPIES`] numbers;
//! one that is made again while all of its requests are open is not followed.

use std::collections::BTreeSet;

use palisade_program::{
    AtomicKind, BinOp, Expr as Ir, GlobalId, LocalExpr, Place as Memory, Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::mpi::NOBODY;
use super::super::place::Place;
use super::super::value::Val;
use super::super::walk;
use super::shadow::Part as Side;
use crate::c::ast::{Expr, ExprKind, Function, Stmt};
use crate::c::types::Type;

/// Requests of one call at most.
const MAX_REQUESTS: i128 = 32;
/// The rank of a request that names none.
const ANY: u32 = u32::MAX;
/// Operations of one call in a loop that may be under way at once.
const COPIES: usize = 4;
/// Words in names of calls that complete operations, or wait for a partner.
const COMPLETING: [&str; 9] = [
    "_flush",
    "_unlock",
    "_fence",
    "_complete",
    "MPI_Wait",
    "MPI_Recv",
    "MPI_Sendrecv",
    "_quiet",
    "shmem_barrier",
];

/// Rank, thread, target, place, and how often the call was met before.
pub(super) type Site = (u32, usize, u32, Span, u32);

/// What is looked through.
enum Part<'e> {
    Loop(&'e Stmt, &'e [&'e Expr]),
    Function(&'e Function),
}

impl Code<'_, '_> {
    /// The number of the call at `span`, to a rank. A function that is called twice has its calls twice.
    pub(super) fn request_number(&mut self, to: u32, span: Span) -> usize {
        let call = (self.me(), self.thread, to, span);
        let onesided = self.cx.one_sided();
        let met = onesided.met.entry(call).or_insert(0);
        let request = (call.0, call.1, call.2, call.3, *met);
        *met += 1;
        let known = &mut onesided.tracked.requests;
        let place = known.iter().position(|r| *r == request);
        place.unwrap_or_else(|| {
            known.push(request);
            known.len() - 1
        })
    }

    /// How many of a call may be under way at once.
    pub(super) const fn copies(&self) -> usize {
        if self.loop_depth > 0 && self.overlaps {
            COPIES
        } else {
            1
        }
    }

    /// Runs `f` with the number of a call: in a loop with the first of some numbers that is not in use.
    pub(super) fn each_number(
        &mut self,
        to: u32,
        span: Span,
        f: &mut dyn FnMut(&mut Self, usize) -> Lower<()>,
    ) -> Lower<()> {
        let copies = self.copies();
        let numbers: Vec<usize> = (0..copies).map(|_| self.request_number(to, span)).collect();
        let words: Vec<GlobalId> = numbers
            .iter()
            .map(|number| self.request_word(*number, span))
            .collect();
        let cases = self.first_free(&words, span);
        let cases: Vec<_> = cases.into_iter().zip(numbers).collect();
        self.each_case(&cases, span, &mut |code, number| f(code, *number))
    }

    /// For each word whether it is the first that is 0; the last one also if none is.
    pub(super) fn first_free(&mut self, words: &[GlobalId], span: Span) -> Vec<LocalExpr> {
        let Some((_, first)) = words.split_last() else {
            return Vec::new();
        };
        let mut rest = Ir::TRUE;
        let mut all = Vec::new();
        for word in first {
            let open = self.load_from(&Memory::scalar(*word), span);
            let is_free = LocalExpr::binary(BinOp::Eq, open, Ir::Const(0));
            all.push(rest.clone().and(is_free.clone()));
            rest = rest.and(is_free.negate());
        }
        all.push(rest);
        all
    }

    /// Whether what is issued in a loop is complete before the next round, as far as its text says.
    pub(in super::super) fn completes(&self, body: &Stmt, exprs: &[&Expr]) -> bool {
        if self.cx.onesided.is_none() {
            return true;
        }
        let mut open = vec![Part::Loop(body, exprs)];
        let mut seen = BTreeSet::new();
        while let Some(part) = open.pop() {
            let mut found = false;
            let mut called = Vec::new();
            let mut look = |e: &Expr| {
                if let ExprKind::Call(callee, _) = &e.kind
                    && let ExprKind::Ident(name) = &callee.kind
                {
                    found |= COMPLETING.iter().any(|word| name.contains(word));
                    called.push(name.clone());
                }
            };
            match part {
                Part::Loop(body, exprs) => {
                    walk::each_in_stmt(body, &mut look);
                    for e in exprs {
                        walk::each_expr(e, &mut look);
                    }
                }
                Part::Function(f) => f.body.iter().for_each(|s| walk::each_in_stmt(s, &mut look)),
            }
            if found {
                return true;
            }
            called.retain(|name| seen.insert(name.clone()));
            let functions = called
                .iter()
                .filter_map(|name| self.cx.functions.get(name.as_str()));
            open.extend(functions.map(|f| Part::Function(f)));
        }
        false
    }

    /// OpenSHMEM: whether a fence has come behind the operation.
    pub(super) fn fenced_word(&mut self, number: usize, span: Span) -> GlobalId {
        self.cx
            .common(format!("request{number}.fenced"), None, span)
    }

    /// Whether the request of a call is open.
    pub(super) fn request_word(&mut self, number: usize, span: Span) -> GlobalId {
        self.cx.common(format!("request{number}.open"), None, span)
    }

    /// Opens the request of the call at `span`, and stores its handle.
    pub(super) fn open_request(&mut self, to: &Expr, span: Span) -> Lower<usize> {
        self.open_request_of(ANY, to, span)
    }

    /// Opens a request of the call at `span` as [`Self::each_number`] says, and runs `f` with it.
    pub(super) fn each_request(
        &mut self,
        to: &Expr,
        span: Span,
        f: &mut dyn FnMut(&mut Self, usize) -> Lower<()>,
    ) -> Lower<()> {
        self.each_number(ANY, span, &mut |code, number| {
            code.open_number(number, to, span)?;
            f(code, number)
        })
    }

    /// The same of a call that is several: one for each value of `which`.
    pub(super) fn open_request_of(&mut self, which: u32, to: &Expr, span: Span) -> Lower<usize> {
        let number = self.request_number(which, span);
        self.open_number(number, to, span)?;
        Ok(number)
    }

    fn open_number(&mut self, number: usize, to: &Expr, span: Span) -> Lower<()> {
        let word = Memory::scalar(self.request_word(number, span));
        let open = self.load_from(&word, span);
        let is_closed = LocalExpr::binary(BinOp::Eq, open, Ir::Const(0));
        self.require(
            is_closed,
            "a request of a call that is made again before it is waited for",
            span,
        );
        self.store_to(&word, Ir::Const(1), span);
        self.set_handle(to, number as i64 + 1, span)
    }

    /// Waits for a request, and sets its handle to none.
    pub(super) fn await_request(
        &mut self,
        place: &Place,
        status: Option<&Place>,
        span: Span,
    ) -> Lower<()> {
        let handle = self.load(place, span)?;
        let handle = self.saved(handle, span);
        let own = self.own_requests();
        let is = |k: i64| LocalExpr::binary(BinOp::Eq, handle.e.clone(), Ir::Const(k));
        let numbers = own.into_iter().map(|n| (is(n as i64 + 1), Some(n)));
        let cases: Vec<_> = std::iter::once((is(0), None)).chain(numbers).collect();
        let cases: Vec<_> = cases.into_iter().filter(|c| c.0 != Ir::FALSE).collect();
        let known = cases
            .iter()
            .fold(Ir::FALSE, |e: LocalExpr, c| e.or(c.0.clone()));
        self.require(known, "a request that is not known here", span);
        self.each_case(&cases, span, &mut |code, number| match number {
            Some(number) => code.complete_request(*number, status, span),
            None => code.write_empty(status, super::message::ANY, span),
        })?;
        self.store(place, Val::constant(0, &Type::INT), span)
    }

    /// The requests of the rank at hand.
    pub(super) fn own_requests(&mut self) -> Vec<usize> {
        let me = self.me();
        let all = self.cx.one_sided().tracked.requests.iter().enumerate();
        all.filter(|(_, r)| r.0 == me).map(|(k, _)| k).collect()
    }

    fn complete_request(&mut self, number: usize, status: Option<&Place>, span: Span) -> Lower<()> {
        let word = Memory::scalar(self.request_word(number, span));
        let receive = self.cx.one_sided().tracked.receives.get(&number).cloned();
        let sent = self.envelope(span);
        self.atomically(AtomicKind::Block, span, |code| {
            if let Some(receive) = &receive {
                code.complete_receive(number, receive, sent, span);
            } else if let Some(ready) = code.request_ready(number, span) {
                code.emit(Step::Assume(ready), span);
            }
            code.await_atomics(&|way| way.request == Some(number) && way.fetches, span);
            let is_done = |part| match part {
                Side::RequestOrigin(n) | Side::RequestTarget(n) | Side::Delivered(n) => n == number,
                Side::Origin | Side::Target | Side::Fenced | Side::Stored => false,
            };
            code.complete_accesses(&|a| is_done(a.part), span)?;
            code.store_to(&word, Ir::Const(0), span);
            Ok(())
        })?;
        if self.cx.one_sided().tracked.from_nobody.contains(&number) {
            return self.write_empty(status, NOBODY, span);
        }
        let Some(receive) = receive else {
            return Ok(());
        };
        let status = status.map(|place| (place, Ir::Const(receive.source() as i64)));
        self.write_received(status, sent, span)
    }

    pub(super) fn wait_request(&mut self, request: &Expr, status: &Expr, span: Span) -> Lower<()> {
        let place = self.target_of(request)?;
        let status = self.status(status)?;
        self.await_request(&place, status.as_ref(), span)
    }

    /// The places of an array's elements.
    pub(super) fn elements_at(
        &mut self,
        array: &Expr,
        count: u64,
        span: Span,
    ) -> Lower<Vec<Place>> {
        let pointer = self.value(array)?;
        let pointer = self.saved(pointer, span);
        let Some(ty) = pointer.ty.pointee().cloned() else {
            return unsupported(span, "this argument", "pass an array");
        };
        let size = self.cx.layouts.size(&ty, span)?;
        let first = self.pointed(pointer, ty.clone());
        let place = |k: u64| first.clone().element(Ir::Const(k as i64), size, ty.clone());
        Ok((0..count).map(place).collect())
    }

    /// How many requests a call has.
    pub(super) fn request_count(&mut self, count: &Expr, span: Span) -> Lower<u64> {
        let count = self.fixed(count)?;
        match count.filter(|n| (0..=MAX_REQUESTS).contains(n)) {
            Some(count) => Ok(count as u64),
            None => unsupported(
                span,
                "a number of requests that is not known here",
                "give a constant, 32 at most",
            ),
        }
    }

    pub(super) fn wait_all(
        &mut self,
        [count, requests, statuses]: [&Expr; 3],
        span: Span,
    ) -> Lower<()> {
        let count = self.request_count(count, span)?;
        let places = self.elements_at(requests, count, span)?;
        let statuses = self.statuses(statuses, count, span)?;
        for (k, place) in places.iter().enumerate() {
            self.await_request(place, statuses.get(k), span)?;
        }
        Ok(())
    }

    /// Stores a handle.
    pub(super) fn set_handle(&mut self, to: &Expr, handle: i64, span: Span) -> Lower<()> {
        let place = self.target_of(to)?;
        self.store(&place, Val::constant(i128::from(handle), &Type::INT), span)
    }
}
