//! *Calls of MPI* where races are looked for: each becomes operations on windows, their completion,
//! and synchronisation of ranks.

use palisade_program::Span;

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::value::Val;
use super::collective::{Pattern, is_in_place};
use super::network::Combine;
use super::rounds::Call;
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
            self.each_request(request, span, &mut |code, request| {
                code.remote_call(plain, name, args, Some(request), span)
                    .map(|_| ())
            })?;
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
            ("MPI_Win_test", [win, flag]) => self.window_test(win, flag, span)?,
            ("MPI_Win_flush" | "MPI_Win_flush_local", [rank, win]) => {
                let window = self.window_number(win, span)?;
                let local = name == "MPI_Win_flush_local";
                self.each_window_rank(window, rank, span, &mut |code, rank| {
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
                let number = self.window_named(&handle, Some(&place), span)?;
                self.window_barrier(number, "free", span)?;
            }
            ("MPI_Win_allocate_shared", [size, unit, _, comm, base, win]) => {
                let comm = self.window_communicator(comm, span)?;
                self.allocate_shared([size, unit, base, win], comm, span)?;
            }
            ("MPI_Win_shared_query", [win, rank, size, unit, base]) => {
                self.shared_query([win, rank, size, unit, base], span)?;
            }
            ("MPI_Win_create_dynamic", [_, comm, win]) => {
                let comm = self.window_communicator(comm, span)?;
                self.create_dynamic(win, comm, span)?;
            }
            ("MPI_Win_attach", [win, base, size]) => self.attach(win, base, Some(size), span)?,
            ("MPI_Win_detach", [win, base]) => self.attach(win, base, None, span)?,
            ("MPI_Get_address", [of, to]) => self.get_address(of, to, span)?,
            ("MPI_Alloc_mem", [size, _, base]) => self.alloc_mem(size, base, span)?,
            ("MPI_Free_mem", [base]) => self.discard(base)?,
            ("MPI_Win_sync", [win]) => {
                let window = self.window_number(win, span)?;
                self.synchronise_stores(window, span)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn other_call(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<bool> {
        match (name, args) {
            ("MPI_Wait", [request, status]) => self.wait_request(request, status, span)?,
            ("MPI_Waitall", [count, requests, statuses]) => {
                self.wait_all([count, requests, statuses], span)?;
            }
            ("MPI_Test", [request, flag, status]) => self.test([request, flag, status], span)?,
            ("MPI_Testall", [count, requests, flag, statuses]) => {
                self.test_all([count, requests, flag, statuses], span)?;
            }
            ("MPI_Waitany", [count, requests, index, status]) => {
                self.complete_any([count, requests, index, status], None, span)?;
            }
            ("MPI_Testany", [count, requests, index, flag, status]) => {
                self.complete_any([count, requests, index, status], Some(flag), span)?;
            }
            ("MPI_Waitsome" | "MPI_Testsome", [count, requests, out, indices, statuses]) => {
                let waits = name == "MPI_Waitsome";
                self.complete_some([count, requests, out, indices, statuses], waits, span)?;
            }
            ("MPI_Send" | "MPI_Ssend" | "MPI_Bsend", [buffer, count, ty, to, tag, comm]) => {
                let elements = self.counted(count, ty, span)?;
                self.each_communicator(comm, span, &mut |code, comm| {
                    code.send((buffer, &elements), comm, [to, tag], name, span)
                })?;
            }
            ("MPI_Isend", [buffer, count, ty, to, tag, comm, request]) => {
                let elements = self.counted(count, ty, span)?;
                let request = self.open_request(request, span)?;
                self.each_communicator(comm, span, &mut |code, comm| {
                    let buffer = (buffer, &elements);
                    code.send_later(buffer, comm, [to, tag], request, name, span)
                })?;
            }
            ("MPI_Irecv", [buffer, count, ty, from, tag, comm, request]) => {
                let elements = self.counted(count, ty, span)?;
                self.only_communicator(comm, span, &mut |code, comm| {
                    let buffer = (buffer, &elements);
                    code.receive_later(buffer, comm, [from, tag, request], name, span)
                })?;
            }
            ("MPI_Recv", [buffer, count, ty, from, tag, comm, status]) => {
                let lengths = self.asked(count, span)?;
                self.each_case(&lengths, span, &mut |code, count| {
                    let elements = code.counted_of(*count, ty, span)?;
                    code.each_communicator(comm, span, &mut |code, comm| {
                        let buffer = (buffer, &elements);
                        code.receive(buffer, comm, [from, tag, status], name, span)
                    })
                })?;
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
                    comm,
                    status,
                ],
            ) => {
                let sent = self.counted(count, ty, span)?;
                let elements = self.counted(into_count, into_ty, span)?;
                self.each_communicator(comm, span, &mut |code, comm| {
                    let buffers = [(buffer, &sent), (into, &elements)];
                    let rest = [to, tag, from, from_tag, status];
                    code.send_and_receive(buffers, comm, rest, name, span)
                })?;
            }
            ("MPI_Probe", [from, tag, comm, status]) => {
                self.each_communicator(comm, span, &mut |code, comm| {
                    code.probe(comm, [from, tag, status], None, span)
                })?;
            }
            ("MPI_Iprobe", [from, tag, comm, flag, status]) => {
                let flag = self.target_of(flag)?;
                self.each_communicator(comm, span, &mut |code, comm| {
                    code.probe(comm, [from, tag, status], Some(&flag), span)
                })?;
            }
            ("MPI_Get_count", [status, ty, to]) => {
                self.message_length([status, ty, to], span)?;
            }
            ("MPI_Barrier", [comm]) => {
                self.each_communicator(comm, span, &mut |code, comm| {
                    code.collectively(span, |code| {
                        code.enter_round(comm, &Call::new(name), span)?;
                        code.group_sync(&comm.group(), span)
                    })
                })?;
            }
            ("MPI_Bcast", [buffer, count, ty, root, comm]) => {
                let elements = self.counted(count, ty, span)?;
                self.each_communicator(comm, span, &mut |code, comm| {
                    let buffer = (buffer, &elements);
                    code.collectively(span, |code| code.broadcast(buffer, comm, root, span))
                })?;
            }
            ("MPI_Gather" | "MPI_Scatter", [from, count, ty, to, to_count, to_ty, root, comm]) => {
                let buffers = [[from, count, ty], [to, to_count, to_ty]];
                self.each_communicator(comm, span, &mut |code, comm| {
                    code.each_named(comm, root, span, &mut |code, root| {
                        let pattern = Pattern::rooted(name == "MPI_Gather", root);
                        code.exchange(pattern, comm, buffers, name, span)
                    })
                })?;
            }
            ("MPI_Allgather" | "MPI_Alltoall", [from, count, ty, to, to_count, to_ty, comm]) => {
                let buffers = [[from, count, ty], [to, to_count, to_ty]];
                let pattern = match name {
                    "MPI_Allgather" => Pattern::Allgather,
                    _ => Pattern::Alltoall,
                };
                self.each_communicator(comm, span, &mut |code, comm| {
                    code.exchange(pattern, comm, buffers, name, span)
                })?;
            }
            ("MPI_Allreduce", [from, to, count, ty, op, comm]) => {
                let elements = self.counted(count, ty, span)?;
                let combine = self.combination(op, span)?;
                let from = self.buffer_of(from)?;
                let from = if is_in_place(from) { to } else { from };
                let (to, from) = self.buffers(to, from, span)?;
                self.each_communicator(comm, span, &mut |code, comm| {
                    let group = comm.group();
                    code.collectively(span, |code| {
                        let call = Call::new(name).with(combine as i64);
                        code.enter_round(comm, &call, span)?;
                        code.reduce(&group, (&to, &from), &elements, (combine, name), span)
                    })
                })?;
            }
            ("MPI_Reduce", [from, to, count, ty, op, root, comm]) => {
                let elements = self.counted(count, ty, span)?;
                let combine = self.combination(op, span)?;
                self.each_communicator(comm, span, &mut |code, comm| {
                    code.each_named(comm, root, span, &mut |code, root| {
                        let buffers = [from, to];
                        code.collectively(span, |code| {
                            let how = (combine, name);
                            code.reduce_to((comm, root), buffers, &elements, how, span)
                        })
                    })
                })?;
            }
            ("MPI_Comm_rank", [comm, to]) => self.communicator_number(comm, to, false, span)?,
            ("MPI_Comm_size", [comm, to]) => self.communicator_number(comm, to, true, span)?,
            ("MPI_Comm_dup", [comm, to]) => self.make_communicator(comm, None, to, span)?,
            ("MPI_Comm_split", [comm, color, key, to]) => {
                self.make_communicator(comm, Some([color, key]), to, span)?;
            }
            ("MPI_Comm_split_type", [comm, kind, key, _, to]) => {
                // All ranks share memory: the colour is the kind, or undefined.
                self.make_communicator(comm, Some([kind, key]), to, span)?;
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
            ("MPI_Comm_group", [comm, to]) => {
                let handle = self.fixed(comm)?.and_then(|h| i64::try_from(h).ok());
                let members = handle.and_then(|h| self.members_of(h));
                self.group_of(members, to, span)?;
            }
            ("MPI_Win_get_group", [win, to]) => {
                let window = self.window_number(win, span)?;
                let members = self.window_members(window);
                self.group_of(members, to, span)?;
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

    /// The group of a communicator or window, as a set of ranks. The ranks in it are counted in the order of
    /// the program's, so that another order is not followed.
    fn group_of(&mut self, members: Option<Vec<u32>>, to: &Expr, span: Span) -> Lower<()> {
        let sorted = members.filter(|m| m.is_sorted());
        let Some(members) = sorted else {
            let help = "use a communicator that is known here, with its ranks in their order";
            return unsupported(span, "the group of this communicator", help);
        };
        let set = members.iter().fold(0_i64, |set, rank| set | 1 << rank);
        self.set_handle(to, set, span)
    }

    /// The group of some ranks of a group: of one that is a constant, or of the group of all.
    fn group(&mut self, of: &Expr, count: &Expr, ranks: &Expr, to: &Expr, span: Span) -> Lower<()> {
        use palisade_program::{BinOp, Expr as Ir, LocalExpr};
        let of = self.value(of)?;
        let all = (1_i64 << self.ranks()) - 1;
        let set = of.as_constant().and_then(|set| i64::try_from(set).ok());
        let set = set.unwrap_or(all);
        let is_set = LocalExpr::binary(BinOp::Eq, of.e, Ir::Const(set));
        self.require(
            is_set,
            "a group of another group than the one of all ranks",
            span,
        );
        let shuffled = all + 1;
        if set >= shuffled {
            let help = "name its ranks in their order";
            return unsupported(span, "a group of a group with another order of ranks", help);
        }
        let members: Vec<u32> = (0..self.ranks()).filter(|r| (set >> r) & 1 == 1).collect();
        let mut chosen = Vec::new();
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
            chosen.push(rank.as_constant());
            let mut bit = Ir::Const(0);
            for (place, r) in members.iter().enumerate() {
                let is = LocalExpr::binary(BinOp::Eq, rank.e.clone(), Ir::Const(place as i64));
                bit = match is {
                    Ir::Const(0) => bit,
                    Ir::Const(_) => Ir::Const(1 << r),
                    is => Ir::Cond(Box::new(is), Box::new(Ir::Const(1 << r)), Box::new(bit)),
                };
            }
            group = LocalExpr::binary(BinOp::Add, group, bit);
        }
        let is_known = chosen.iter().all(Option::is_some);
        if chosen.len() > 1 && !(is_known && chosen.is_sorted()) {
            // A bit beyond those of the ranks says that they may be in another order.
            group = LocalExpr::binary(BinOp::Add, group, Ir::Const(shuffled));
        }
        let place = self.target_of(to)?;
        let value = self.held(group, &Type::INT);
        let value = self.saved(value, span);
        self.store(&place, value, span)
    }
}
