//! *Requests*: handles of operations that a wait completes. A handle is the number of the call that
//! returned it; 0 is no request. A call that is made again while its request is open is not
//! followed.

use palisade_program::{
    AtomicKind, BinOp, Domain, Expr as Ir, GlobalId, LocalExpr, Place as Memory, Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::place::Place;
use super::super::thread::is_null;
use super::super::value::Val;
use super::shadow::Part;
use crate::c::ast::Expr;
use crate::c::types::Type;

/// Requests of one `MPI_Waitall` at most.
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
        let number = self.request_number(ANY, span);
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
    fn await_request(&mut self, place: &Place, status: Option<&Place>, span: Span) -> Lower<()> {
        let handle = self.load(place, span)?;
        let handle = self.saved(handle, span);
        let own = self.own_requests();
        let (start, join) = (self.here, self.graph.loc());
        let is = |k: i64| LocalExpr::binary(BinOp::Eq, handle.e.clone(), Ir::Const(k));
        let mut known = is(0);
        for number in own {
            let this = is(number as i64 + 1);
            known = known.or(this.clone());
            if this == Ir::FALSE {
                continue;
            }
            let then = self.graph.loc();
            self.here = start;
            self.assume(this, then, span);
            self.at(then);
            self.complete_request(number, status, span)?;
            self.go(join, span);
        }
        let then = self.graph.loc();
        self.here = start;
        if is(0) != Ir::FALSE {
            self.assume(is(0), then, span);
            self.at(then);
            self.empty_status(status, span)?;
            self.go(join, span);
        }
        if known != Ir::TRUE {
            let other = self.graph.loc();
            self.here = start;
            self.assume(known.negate(), other, span);
            self.at(other);
            self.refuse_run("a request that is not known here", span);
        }
        self.at(join);
        self.store(place, Val::constant(0, &Type::INT), span)
    }

    /// The requests of the rank at hand.
    fn own_requests(&mut self) -> Vec<usize> {
        let me = self.me();
        let all = self.cx.one_sided().tracked.requests.iter().enumerate();
        all.filter(|(_, r)| r.0 == me).map(|(k, _)| k).collect()
    }

    /// The status of no request: any source, any tag, no elements.
    fn empty_status(&mut self, status: Option<&Place>, span: Span) -> Lower<()> {
        let Some(place) = status else {
            return Ok(());
        };
        self.write_status(
            Some((place, Ir::Const(-1))),
            Ir::Const(-1),
            Ir::Const(0),
            span,
        )
    }

    fn complete_request(&mut self, number: usize, status: Option<&Place>, span: Span) -> Lower<()> {
        let word = Memory::scalar(self.request_word(number, span));
        let receive = self.cx.one_sided().tracked.receives.get(&number).cloned();
        let sent = self.hidden(span);
        self.atomically(AtomicKind::Block, span, |code| {
            if let Some(receive) = &receive {
                code.complete_receive(number, receive, sent, span);
            }
            code.await_atomics(&|way| way.request == Some(number) && way.fetches, span);
            let is_done = |part| match part {
                Part::RequestOrigin(n) | Part::RequestTarget(n) | Part::Delivered(n) => n == number,
                Part::Origin | Part::Target | Part::Fenced => false,
            };
            code.complete_accesses(&|a| is_done(a.part), span)?;
            code.store_to(&word, Ir::Const(0), span);
            Ok(())
        })?;
        let (Some(receive), Some(place)) = (receive, status) else {
            return Ok(());
        };
        let source = Ir::Const(receive.source() as i64);
        let length = Ir::Const(receive.length() as i64);
        self.write_status(Some((place, source)), self.read(sent), length, span)
    }

    pub(super) fn wait_request(&mut self, request: &Expr, status: &Expr, span: Span) -> Lower<()> {
        let place = self.target_of(request)?;
        let status = self.status(status)?;
        self.await_request(&place, status.as_ref(), span)
    }

    /// The places of an array's elements.
    fn elements_at(&mut self, array: &Expr, count: u64, span: Span) -> Lower<Vec<Place>> {
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

    pub(super) fn wait_all(
        &mut self,
        [count, requests, statuses]: [&Expr; 3],
        span: Span,
    ) -> Lower<()> {
        let count = self.value(count)?.as_constant();
        let Some(count) = count.filter(|n| (0..=MAX_REQUESTS).contains(n)) else {
            return unsupported(
                span,
                "a number of requests that is not known here",
                "give a constant, 32 at most",
            );
        };
        let places = self.elements_at(requests, count as u64, span)?;
        let statuses = if is_null(statuses) {
            Vec::new()
        } else {
            self.elements_at(statuses, count as u64, span)?
        };
        for (k, place) in places.iter().enumerate() {
            self.await_request(place, statuses.get(k), span)?;
        }
        Ok(())
    }

    /// `MPI_Test`: the request is complete, or not yet.
    pub(super) fn test(&mut self, [request, flag, status]: [&Expr; 3], span: Span) -> Lower<()> {
        let place = self.target_of(request)?;
        let flag = self.target_of(flag)?;
        let status = self.status(status)?;
        let handle = self.load(&place, span)?;
        let handle = self.saved(handle, span);
        let luck = self.hidden(span);
        let domain = Some(Domain { lo: 0, hi: 1 });
        // A receive without a message is not complete: whoever is lucky does not wait.
        let own = self.own_requests();
        let receives = &self.cx.one_sided().tracked.receives;
        let receives: Vec<_> = own
            .into_iter()
            .filter_map(|n| Some((n, receives.get(&n)?.clone())))
            .collect();
        self.atomically(AtomicKind::Block, span, |code| {
            code.emit(Step::Havoc { dst: luck, domain }, span);
            for (number, receive) in &receives {
                let queue = code.receive_queue(receive, span);
                let used = code.load_from(&queue, span);
                let unlucky = LocalExpr::binary(BinOp::Eq, code.read(luck), Ir::Const(0));
                let other = Ir::Const(*number as i64 + 1);
                let other = LocalExpr::binary(BinOp::Ne, handle.e.clone(), other);
                let some = LocalExpr::binary(BinOp::Gt, used, Ir::Const(0));
                code.emit(Step::Assume(unlucky.or(other).or(some)), span);
            }
            Ok(())
        })?;
        let is_done = LocalExpr::binary(BinOp::Eq, self.read(luck), Ir::Const(1));
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        let value = self.read(luck);
        let value = self.held(value, &Type::INT);
        self.store(&flag, value, span)?;
        self.branch_on(is_done, yes, no, span);
        let before = self.known.clone();
        self.at(yes);
        self.await_request(&place, status.as_ref(), span)?;
        self.go(join, span);
        self.at(no);
        self.go(join, span);
        self.at(join);
        self.known = super::super::code::meet(before, &self.known.clone());
        Ok(())
    }

    /// Stores a handle.
    pub(super) fn set_handle(&mut self, to: &Expr, handle: i64, span: Span) -> Lower<()> {
        let place = self.target_of(to)?;
        self.store(&place, Val::constant(i128::from(handle), &Type::INT), span)
    }
}
