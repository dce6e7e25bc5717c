//! *Requests*: handles of operations that a wait completes. A handle is the number of the call that
//! returned it; 0 is no request. A call that is made again while its request is open is not
//! followed.

use palisade_program::{
    AtomicKind, BinOp, Domain, Expr as Ir, GlobalId, LocalExpr, Place as Memory, Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::place::Place;
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
    fn await_request(&mut self, place: &Place, span: Span) -> Lower<()> {
        let handle = self.load(place, span)?;
        let handle = self.saved(handle, span);
        let me = self.me();
        let all = self.cx.one_sided().tracked.requests.iter().enumerate();
        let own: Vec<usize> = all.filter(|(_, r)| r.0 == me).map(|(k, _)| k).collect();
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
            self.complete_request(number, span)?;
            self.go(join, span);
        }
        let then = self.graph.loc();
        self.here = start;
        if is(0) != Ir::FALSE {
            self.assume(is(0), then, span);
            self.at(then);
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

    fn complete_request(&mut self, number: usize, span: Span) -> Lower<()> {
        let word = Memory::scalar(self.request_word(number, span));
        let receive = self.cx.one_sided().tracked.receives.get(&number).cloned();
        self.atomically(AtomicKind::Block, span, |code| {
            if let Some(receive) = &receive {
                code.complete_receive(number, receive, span);
            }
            code.await_atomics(&|way| way.request == Some(number) && way.fetches, span);
            let is_done = |part| match part {
                Part::RequestOrigin(n) | Part::RequestTarget(n) | Part::Delivered(n) => n == number,
                Part::Origin | Part::Target | Part::Fenced => false,
            };
            code.complete_accesses(&|a| is_done(a.part), span)?;
            code.store_to(&word, Ir::Const(0), span);
            Ok(())
        })
    }

    pub(super) fn wait_request(&mut self, request: &Expr, span: Span) -> Lower<()> {
        let place = self.target_of(request)?;
        self.await_request(&place, span)
    }

    pub(super) fn wait_all(&mut self, count: &Expr, requests: &Expr, span: Span) -> Lower<()> {
        let count = self.value(count)?.as_constant();
        let Some(count) = count.filter(|n| (0..=MAX_REQUESTS).contains(n)) else {
            return unsupported(
                span,
                "a number of requests that is not known here",
                "give a constant, 32 at most",
            );
        };
        let pointer = self.value(requests)?;
        let pointer = self.saved(pointer, span);
        let Some(ty) = pointer.ty.pointee().cloned() else {
            return unsupported(span, "these requests", "pass an array of requests");
        };
        let size = self.cx.layouts.size(&ty, span)?;
        for k in 0..count as u64 {
            let first = self.pointed(pointer.clone(), ty.clone());
            let place = first.element(Ir::Const(k as i64), size, ty.clone());
            self.await_request(&place, span)?;
        }
        Ok(())
    }

    /// `MPI_Test`: the request is complete, or not yet.
    pub(super) fn test(&mut self, request: &Expr, flag: &Expr, span: Span) -> Lower<()> {
        let place = self.target_of(request)?;
        let flag = self.target_of(flag)?;
        let luck = self.temporary(span);
        let domain = Some(Domain { lo: 0, hi: 1 });
        self.emit(Step::Havoc { dst: luck, domain }, span);
        let is_done = LocalExpr::binary(BinOp::Eq, self.read(luck), Ir::Const(1));
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        let value = self.read(luck);
        let value = self.held(value, &Type::INT);
        self.store(&flag, value, span)?;
        self.branch_on(is_done, yes, no, span);
        let before = self.known.clone();
        self.at(yes);
        self.await_request(&place, span)?;
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
