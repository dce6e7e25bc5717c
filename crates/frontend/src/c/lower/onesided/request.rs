//! *Requests*: handles of operations that a wait completes. A handle is the number of the call that
//! returned it; 0 is no request. A call that is made again while its request is open is not
//! followed.

use palisade_program::{
    AtomicKind, BinOp, Expr as Ir, GlobalId, LocalExpr, Place as Memory, Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::mpi::NOBODY;
use super::super::place::Place;
use super::super::value::Val;
use super::shadow::Part;
use crate::c::ast::Expr;
use crate::c::types::Type;

/// Requests of one call at most.
const MAX_REQUESTS: i128 = 32;
/// The rank of a request that names none.
const ANY: u32 = u32::MAX;

impl Code<'_, '_> {
    /// The number of the call at `span`, to a rank.
    pub(super) fn request_number(&mut self, to: u32, span: Span) -> usize {
        let request = (self.me(), self.thread, to, span);
        let known = &mut self.cx.one_sided().tracked.requests;
        let place = known.iter().position(|r| *r == request);
        place.unwrap_or_else(|| {
            known.push(request);
            known.len() - 1
        })
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

    /// The same of a call that is several: one for each value of `which`.
    pub(super) fn open_request_of(&mut self, which: u32, to: &Expr, span: Span) -> Lower<usize> {
        let number = self.request_number(which, span);
        let word = Memory::scalar(self.request_word(number, span));
        let open = self.load_from(&word, span);
        let is_closed = LocalExpr::binary(BinOp::Eq, open, Ir::Const(0));
        self.require(
            is_closed,
            "a request of a call that is made again before it is waited for",
            span,
        );
        self.store_to(&word, Ir::Const(1), span);
        self.set_handle(to, number as i64 + 1, span)?;
        Ok(number)
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
                Part::RequestOrigin(n) | Part::RequestTarget(n) | Part::Delivered(n) => n == number,
                Part::Origin | Part::Target | Part::Fenced | Part::Stored => false,
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
