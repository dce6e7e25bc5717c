//! *Calls of MPI* where races are looked for: each becomes operations on windows, their completion,
//! and synchronisation of ranks.

use palisade_program::Span;

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::value::Val;
use super::network::Combine;
use super::transfer::{Kind, Operation};
use crate::c::ast::Expr;
use crate::c::types::Type;

impl Code<'_, '_> {
    fn combination(&mut self, op: &Expr, span: Span) -> Lower<Combine> {
        let number = self.value(op)?.as_constant();
        match number.and_then(Combine::of_number) {
            Some(combine) => Ok(combine),
            None => unsupported(
                span,
                "this operation",
                "the predefined ones but MPI_MINLOC and MPI_MAXLOC are supported",
            ),
        }
    }

    /// A call where races are looked for; `None` if it means the same as elsewhere.
    pub(in super::super) fn checked_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<()>> {
        // A request-based operation has the arguments of the other, and a request.
        let with_request = match name {
            "MPI_Rput" => Some("MPI_Put"),
            "MPI_Rget" => Some("MPI_Get"),
            "MPI_Raccumulate" => Some("MPI_Accumulate"),
            "MPI_Rget_accumulate" => Some("MPI_Get_accumulate"),
            _ => None,
        };
        if let (Some(plain), [args @ .., request]) = (with_request, args) {
            let request = self.open_request(request, span)?;
            self.remote_call(plain, name, args, Some(request), span)?;
            return Ok(Some(()));
        }
        if self.remote_call(name, name, args, None, span)? {
            return Ok(Some(()));
        }
        if self.synchronisation(name, args, span)? || self.other_call(name, args, span)? {
            return Ok(Some(()));
        }
        Ok(None)
    }

    fn remote_call(
        &mut self,
        kind: &str,
        name: &str,
        args: &[Expr],
        request: Option<usize>,
        span: Span,
    ) -> Lower<bool> {
        match (kind, args) {
            ("MPI_Put" | "MPI_Get", [origin, count, ty, rank, at, far_count, far_ty, window]) => {
                let own = (origin, self.counted(count, ty, span)?);
                let far = self.counted(far_count, far_ty, span)?;
                let is_put = kind == "MPI_Put";
                let (operands, result) = if is_put {
                    (vec![own], None)
                } else {
                    (Vec::new(), Some(own))
                };
                let kind = if is_put { Kind::Put } else { Kind::Get };
                let op = Operation {
                    name,
                    kind,
                    operands,
                    result,
                    rank,
                    at,
                    window,
                    far,
                    request,
                };
                self.operate_window(&op, span)?;
            }
            ("MPI_Accumulate", [origin, count, ty, rank, at, far_count, far_ty, op, window]) => {
                let operands = vec![(origin, self.counted(count, ty, span)?)];
                let far = self.counted(far_count, far_ty, span)?;
                let kind = Kind::Atomic(self.combination(op, span)?);
                let result = None;
                let op = Operation {
                    name,
                    kind,
                    operands,
                    result,
                    rank,
                    at,
                    window,
                    far,
                    request,
                };
                self.operate_window(&op, span)?;
            }
            (
                "MPI_Get_accumulate",
                [
                    origin,
                    count,
                    ty,
                    result,
                    result_count,
                    result_ty,
                    rank,
                    at,
                    far_count,
                    far_ty,
                    op,
                    window,
                ],
            ) => {
                let combine = self.combination(op, span)?;
                let operands = match combine {
                    Combine::NoOp => Vec::new(),
                    _ => vec![(origin, self.counted(count, ty, span)?)],
                };
                let result = Some((result, self.counted(result_count, result_ty, span)?));
                let far = self.counted(far_count, far_ty, span)?;
                let kind = Kind::Atomic(combine);
                let op = Operation {
                    name,
                    kind,
                    operands,
                    result,
                    rank,
                    at,
                    window,
                    far,
                    request,
                };
                self.operate_window(&op, span)?;
            }
            ("MPI_Fetch_and_op", [origin, result, ty, rank, at, op, window]) => {
                let combine = self.combination(op, span)?;
                let one = (self.datatype(ty, span)?.base, vec![0]);
                let operands = match combine {
                    Combine::NoOp => Vec::new(),
                    _ => vec![(origin, one.clone())],
                };
                let (result, far) = (Some((result, one.clone())), one);
                let kind = Kind::Atomic(combine);
                let op = Operation {
                    name,
                    kind,
                    operands,
                    result,
                    rank,
                    at,
                    window,
                    far,
                    request,
                };
                self.operate_window(&op, span)?;
            }
            ("MPI_Compare_and_swap", [origin, compare, result, ty, rank, at, window]) => {
                let one = (self.datatype(ty, span)?.base, vec![0]);
                let operands = vec![(compare, one.clone()), (origin, one.clone())];
                let (result, far) = (Some((result, one.clone())), one);
                let kind = Kind::Atomic(Combine::CompareSwap);
                let op = Operation {
                    name,
                    kind,
                    operands,
                    result,
                    rank,
                    at,
                    window,
                    far,
                    request,
                };
                self.operate_window(&op, span)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn synchronisation(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<bool> {
        match (name, args) {
            ("MPI_Win_lock", [kind, rank, _, win]) => self.window_lock(kind, rank, win, span)?,
            ("MPI_Win_unlock", [rank, win]) => self.window_unlock(rank, win, span)?,
            ("MPI_Win_lock_all", [_, win]) => self.window_lock_all(win, span)?,
            ("MPI_Win_unlock_all", [win]) => self.window_unlock_all(win, span)?,
            ("MPI_Win_fence", [assertion, win]) => self.window_fence(assertion, win, span)?,
            ("MPI_Win_post", [group, _, win]) => self.window_post(group, win, span)?,
            ("MPI_Win_start", [group, _, win]) => self.window_start(group, win, span)?,
            ("MPI_Win_complete", [win]) => self.window_complete(win, span)?,
            ("MPI_Win_wait", [win]) => self.window_wait(win, span)?,
            ("MPI_Win_flush" | "MPI_Win_flush_local", [rank, win]) => {
                let window = self.window_number(win, span)?;
                let local = name == "MPI_Win_flush_local";
                self.each_target(rank, span, &mut |code, rank| {
                    code.check_locked(window, Some(rank), name, span);
                    code.complete(window, Some(rank), local, span, |_| {})
                })?;
            }
            ("MPI_Win_flush_all" | "MPI_Win_flush_local_all", [win]) => {
                let window = self.window_number(win, span)?;
                let local = name == "MPI_Win_flush_local_all";
                self.check_locked(window, None, name, span);
                self.complete(window, None, local, span, |_| {})?;
            }
            ("MPI_Win_free", [win]) => {
                let place = self.target_of(win)?;
                let handle = self.load(&place, span)?;
                self.window_named(&handle, Some(&place), span)?;
                self.mpi_barrier(span)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn other_call(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<bool> {
        match (name, args) {
            ("MPI_Wait", [request, _]) => self.wait_request(request, span)?,
            ("MPI_Waitall", [count, requests, _]) => self.wait_all(count, requests, span)?,
            ("MPI_Test", [request, flag, _]) => self.test(request, flag, span)?,
            ("MPI_Send" | "MPI_Ssend" | "MPI_Bsend", [buffer, count, ty, to, tag, _]) => {
                let elements = self.counted(count, ty, span)?;
                self.send((buffer, &elements), to, tag, name, span)?;
            }
            ("MPI_Isend", [buffer, count, ty, to, tag, _, request]) => {
                let elements = self.counted(count, ty, span)?;
                let request = self.open_request(request, span)?;
                self.send_later((buffer, &elements), (to, tag), request, name, span)?;
            }
            ("MPI_Irecv", [buffer, count, ty, from, tag, _, request]) => {
                let elements = self.counted(count, ty, span)?;
                let request = self.open_request(request, span)?;
                self.receive_later((buffer, &elements), (from, tag), request, name, span)?;
            }
            ("MPI_Recv", [buffer, count, ty, from, tag, _, _]) => {
                let elements = self.counted(count, ty, span)?;
                self.receive((buffer, &elements), from, tag, name, span)?;
            }
            (
                "MPI_Sendrecv",
                [
                    buffer,
                    count,
                    ty,
                    to,
                    tag,
                    into,
                    into_count,
                    into_ty,
                    from,
                    from_tag,
                    _,
                    _,
                ],
            ) => {
                // It sends and receives at the same time: the send does not make the receive wait.
                let elements = self.counted(count, ty, span)?;
                self.send((buffer, &elements), to, tag, name, span)?;
                let elements = self.counted(into_count, into_ty, span)?;
                self.receive((into, &elements), from, from_tag, name, span)?;
            }
            ("MPI_Bcast", [buffer, count, ty, root, _]) => {
                let elements = self.counted(count, ty, span)?;
                self.collectively(span, |code| code.broadcast((buffer, &elements), root, span))?;
            }
            ("MPI_Allreduce", [from, to, count, ty, op, _]) => {
                let elements = self.counted(count, ty, span)?;
                let combine = self.combination(op, span)?;
                let (to, from) = self.buffers(to, from, span)?;
                let all = (1_u64 << self.ranks()) - 1;
                self.collectively(span, |code| {
                    code.reduce(all, (&to, &from), &elements, (combine, name), span)
                })?;
            }
            ("MPI_Reduce", [from, to, count, ty, op, root, _]) => {
                let elements = self.counted(count, ty, span)?;
                let combine = self.combination(op, span)?;
                let (to, from) = self.buffers(to, from, span)?;
                self.each_target(root, span, &mut |code, root| {
                    let buffers = (&to, &from);
                    code.collectively(span, |code| {
                        code.reduce_to(root, buffers, &elements, (combine, name), span)
                    })
                })?;
            }
            ("MPI_Comm_dup", [comm, to]) => {
                self.value(comm)?;
                self.set_handle(to, 1, span)?;
            }
            ("MPI_Info_create", [to]) => self.set_handle(to, 0, span)?,
            ("MPI_Info_set", [_, _, _]) => {}
            ("MPI_Info_free" | "MPI_Comm_free", [_]) => {}
            ("MPI_Type_contiguous", [count, of, to]) => {
                self.make_datatype([Some(count), None, None], of, to, span)?;
            }
            ("MPI_Type_vector", [count, length, stride, of, to]) => {
                self.make_datatype([Some(count), Some(length), Some(stride)], of, to, span)?;
            }
            ("MPI_Type_commit" | "MPI_Type_free" | "MPI_Group_free", [_]) => {}
            ("MPI_Type_size", [ty, to]) => {
                let datatype = self.datatype(ty, span)?;
                let bytes = datatype.at.len() as u64 * super::datatype::width(datatype.base);
                let place = self.target_of(to)?;
                let value = Val::constant(i128::from(bytes), &Type::INT);
                self.store(&place, value, span)?;
            }
            ("MPI_Init_thread", [_, _, wanted, provided]) => {
                let wanted = self.value(wanted)?;
                let place = self.target_of(provided)?;
                self.store(&place, wanted, span)?;
            }
            ("MPI_Comm_group", [_, to]) => {
                let all = (1_i64 << self.ranks()) - 1;
                self.set_handle(to, all, span)?;
            }
            ("MPI_Win_get_group", [_, to]) => {
                let all = (1_i64 << self.ranks()) - 1;
                self.set_handle(to, all, span)?;
            }
            ("MPI_Group_incl", [of, count, ranks, to]) => self.group(of, count, ranks, to, span)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn buffers(&mut self, to: &Expr, from: &Expr, span: Span) -> Lower<(Val, Val)> {
        let (to, from) = (self.value(to)?, self.value(from)?);
        Ok((self.saved(to, span), self.saved(from, span)))
    }

    /// The group of some ranks of the group of all.
    fn group(&mut self, of: &Expr, count: &Expr, ranks: &Expr, to: &Expr, span: Span) -> Lower<()> {
        use palisade_program::{BinOp, Expr as Ir, LocalExpr};
        let of = self.value(of)?;
        let all = (1_i64 << self.ranks()) - 1;
        let is_all = LocalExpr::binary(BinOp::Eq, of.e, Ir::Const(all));
        self.require(
            is_all,
            "a group of another group than the one of all ranks",
            span,
        );
        let count = self.value(count)?.as_constant();
        let Some(count) = count
            .and_then(|n| u64::try_from(n).ok())
            .filter(|n| *n <= 64)
        else {
            return unsupported(
                span,
                "a group of unknown size",
                "give a constant number of ranks",
            );
        };
        let pointer = self.value(ranks)?;
        let pointer = self.saved(pointer, span);
        let Some(ty) = pointer.ty.pointee().cloned() else {
            return unsupported(span, "these ranks", "pass an array of int");
        };
        let size = self.cx.layouts.size(&ty, span)?;
        let mut group = Ir::Const(0);
        for k in 0..count {
            let first = self.pointed(pointer.clone(), ty.clone());
            let place = first.element(Ir::Const(k as i64), size, ty.clone());
            let rank = self.load(&place, span)?;
            let rank = self.saved(rank, span);
            let mut bit = Ir::Const(0);
            for r in 0..self.ranks() {
                let is = LocalExpr::binary(BinOp::Eq, rank.e.clone(), Ir::Const(i64::from(r)));
                bit = match is {
                    Ir::Const(0) => bit,
                    Ir::Const(_) => Ir::Const(1 << r),
                    is => Ir::Cond(Box::new(is), Box::new(Ir::Const(1 << r)), Box::new(bit)),
                };
            }
            group = LocalExpr::binary(BinOp::Add, group, bit);
        }
        let place = self.target_of(to)?;
        let value = self.held(group, &Type::INT);
        let value = self.saved(value, span);
        self.store(&place, value, span)
    }
}
