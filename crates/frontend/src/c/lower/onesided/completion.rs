//! *Completion of one of several requests*: `MPI_Waitany`, `Waitsome`, and the tests, which do not wait.
//!
//! A request is *ready* if its wait would return: a receive whose message is there, a send that need not wait for its receive or has
//! it ([`super::message`]); requests of operations on windows always are. Which of those that are ready a call completes is open, and a test need
//! not see that one is ready. Requests that are none are no candidates; without candidates there is nothing to wait for.

use palisade_program::{AtomicKind, BinOp, Domain, Expr as Ir, LocalExpr, LocalId, Span, Step};

use super::super::code::{Code, Lower};
use super::super::place::Place;
use super::super::thread::is_null;
use super::super::value::Val;
use super::communicator::UNDEFINED;
use super::message::ANY;
use crate::c::ast::Expr;
use crate::c::types::Type;

/// The choice of no request.
const NONE: i64 = -1;
/// The choice of a test that sees nothing.
const UNSEEN: i64 = -2;

fn is(e: &LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Eq, e.clone(), Ir::Const(value))
}

/// Requests of one call.
struct Requests {
    places: Vec<Place>,
    /// Their handles when the call was made.
    handles: Vec<LocalExpr>,
}

impl Requests {
    /// Whether none of them is one.
    fn none(&self) -> LocalExpr {
        let all = self.handles.iter();
        all.fold(Ir::TRUE, |e, handle| e.and(is(handle, 0)))
    }
}

impl Code<'_, '_> {
    fn requests(&mut self, count: &Expr, array: &Expr, span: Span) -> Lower<Requests> {
        let count = self.request_count(count, span)?;
        let places = self.elements_at(array, count, span)?;
        let mut handles = Vec::new();
        for place in &places {
            let handle = self.load(place, span)?;
            handles.push(self.saved(handle, span).e);
        }
        Ok(Requests { places, handles })
    }

    /// Within a block: whether the request with a handle is ready.
    fn is_ready(&mut self, handle: &LocalExpr, span: Span) -> LocalExpr {
        let mut ready = Ir::TRUE;
        for number in self.own_requests() {
            let this = is(handle, number as i64 + 1);
            if this == Ir::FALSE {
                continue;
            }
            if let Some(that) = self.request_ready(number, span) {
                ready = ready.and(this.negate().or(that));
            }
        }
        ready
    }

    fn constant_to(&mut self, place: &Place, value: i64, span: Span) -> Lower<()> {
        let value = Val::constant(i128::from(value), &Type::INT);
        self.store(place, value, span)
    }

    /// Chooses a number, of which the block `f` says whether it may be.
    fn chosen(
        &mut self,
        (lo, hi): (i64, i64),
        span: Span,
        f: impl FnOnce(&mut Self, LocalExpr) -> Lower<()>,
    ) -> Lower<LocalId> {
        let dst = self.hidden(span);
        let domain = Some(Domain { lo, hi });
        self.atomically(AtomicKind::Block, span, |code| {
            code.emit(Step::Havoc { dst, domain }, span);
            let choice = code.read(dst);
            f(code, choice)
        })?;
        Ok(dst)
    }

    /// `MPI_Test`, `MPI_Testall`: all of them are complete, or nothing has happened.
    fn test_requests(
        &mut self,
        requests: &Requests,
        flag: &Place,
        statuses: &[Place],
        span: Span,
    ) -> Lower<()> {
        let luck = self.chosen((0, 1), span, |code, luck| {
            for handle in &requests.handles {
                let ready = code.is_ready(handle, span);
                code.emit(Step::Assume(is(&luck, 0).or(ready)), span);
            }
            Ok(())
        })?;
        let luck = self.read(luck);
        let value = self.held(luck.clone(), &Type::INT);
        self.store(flag, value, span)?;
        let cases = [(is(&luck, 1), true), (is(&luck, 0), false)];
        self.each_case(&cases, span, &mut |code, is_lucky| {
            let places = requests.places.iter().enumerate();
            for (k, place) in places.filter(|_| *is_lucky) {
                code.await_request(place, statuses.get(k), span)?;
            }
            Ok(())
        })
    }

    pub(super) fn test(&mut self, [request, flag, status]: [&Expr; 3], span: Span) -> Lower<()> {
        let place = self.target_of(request)?;
        let flag = self.target_of(flag)?;
        let status: Vec<Place> = self.status(status)?.into_iter().collect();
        let handle = self.load(&place, span)?;
        let requests = Requests {
            places: vec![place],
            handles: vec![self.saved(handle, span).e],
        };
        self.test_requests(&requests, &flag, &status, span)
    }

    pub(super) fn test_all(
        &mut self,
        [count, array, flag, statuses]: [&Expr; 4],
        span: Span,
    ) -> Lower<()> {
        let requests = self.requests(count, array, span)?;
        let flag = self.target_of(flag)?;
        let statuses = self.statuses(statuses, requests.places.len() as u64, span)?;
        self.test_requests(&requests, &flag, &statuses, span)
    }

    /// The statuses that an argument names, if it names some.
    pub(super) fn statuses(&mut self, e: &Expr, count: u64, span: Span) -> Lower<Vec<Place>> {
        if is_null(e) {
            return Ok(Vec::new());
        }
        self.elements_at(e, count, span)
    }

    /// `MPI_Waitany`, and with a flag `MPI_Testany`.
    pub(super) fn complete_any(
        &mut self,
        [count, array, index, status]: [&Expr; 4],
        flag: Option<&Expr>,
        span: Span,
    ) -> Lower<()> {
        let requests = self.requests(count, array, span)?;
        let index = self.target_of(index)?;
        let status = self.status(status)?;
        let flag = flag.map(|flag| self.target_of(flag)).transpose()?;
        let lo = if flag.is_some() { UNSEEN } else { NONE };
        let hi = requests.places.len() as i64 - 1;
        let choice = self.chosen((lo, hi), span, |code, choice| {
            for (k, handle) in requests.handles.iter().enumerate() {
                let ready = is(handle, 0).negate().and(code.is_ready(handle, span));
                let other = is(&choice, k as i64).negate();
                code.emit(Step::Assume(other.or(ready)), span);
            }
            let none = is(&choice, NONE).negate().or(requests.none());
            code.emit(Step::Assume(none), span);
            Ok(())
        })?;
        let choice = self.read(choice);
        let cases: Vec<_> = (lo..=hi).map(|k| (is(&choice, k), k)).collect();
        self.each_case(&cases, span, &mut |code, k| {
            if let Some(flag) = &flag {
                code.constant_to(flag, i64::from(*k != UNSEEN), span)?;
            }
            let Ok(number) = usize::try_from(*k) else {
                if *k == NONE {
                    code.write_empty(status.as_ref(), ANY, span)?;
                }
                return code.constant_to(&index, UNDEFINED as i64, span);
            };
            code.await_request(&requests.places[number], status.as_ref(), span)?;
            code.constant_to(&index, *k, span)
        })
    }

    /// `MPI_Waitsome`, and `MPI_Testsome`, which may complete none.
    pub(super) fn complete_some(
        &mut self,
        [count, array, out, indices, statuses]: [&Expr; 5],
        waits: bool,
        span: Span,
    ) -> Lower<()> {
        let requests = self.requests(count, array, span)?;
        let most = requests.places.len();
        let out = self.target_of(out)?;
        let indices = self.elements_at(indices, most as u64, span)?;
        let statuses = self.statuses(statuses, most as u64, span)?;
        let chosen: Vec<LocalId> = (0..most).map(|_| self.hidden(span)).collect();
        self.atomically(AtomicKind::Block, span, |code| {
            let mut some = requests.none();
            for (dst, handle) in chosen.iter().zip(&requests.handles) {
                let (dst, domain) = (*dst, Some(Domain { lo: 0, hi: 1 }));
                code.emit(Step::Havoc { dst, domain }, span);
                let taken = is(&code.read(dst), 1);
                let ready = is(handle, 0).negate().and(code.is_ready(handle, span));
                code.emit(Step::Assume(taken.clone().negate().or(ready)), span);
                some = some.or(taken);
            }
            if waits {
                code.emit(Step::Assume(some), span);
            }
            Ok(())
        })?;
        let number = self.hidden(span);
        let (dst, value) = (number, Ir::Const(0));
        self.emit(Step::Assign { dst, value }, span);
        for (k, place) in requests.places.iter().enumerate() {
            let taken = self.read(chosen[k]);
            let cases = [(is(&taken, 1), true), (is(&taken, 0), false)];
            self.each_case(&cases, span, &mut |code, is_taken| {
                if !is_taken {
                    return Ok(());
                }
                // At most `k` were completed before this one.
                let so_far = code.read(number);
                let slots: Vec<_> = (0..=k as i64)
                    .map(|n| (is(&so_far, n), n as usize))
                    .collect();
                code.each_case(&slots, span, &mut |code, n| {
                    code.await_request(place, statuses.get(*n), span)?;
                    code.constant_to(&indices[*n], k as i64, span)
                })?;
                let value = LocalExpr::binary(BinOp::Add, so_far, Ir::Const(1));
                code.emit(Step::Assign { dst: number, value }, span);
                Ok(())
            })?;
        }
        let count = self.read(number);
        let none = Ir::Const(UNDEFINED as i64);
        let count = match requests.none() {
            Ir::Const(0) => count,
            Ir::Const(_) => none,
            is_none @ (Ir::Atom(_) | Ir::Unary(..) | Ir::Binary(..) | Ir::Cond(..)) => {
                Ir::Cond(Box::new(is_none), Box::new(none), Box::new(count))
            }
        };
        let count = self.held(count, &Type::INT);
        self.store(&out, count, span)
    }
}
