//! *Calls of OpenSHMEM*: names say the context (`ctx_`), the type (`int_`) and the operation. Without a type it is
//! that of the pointer.

use palisade_program::{BinOp, Expr as Ir, LocalExpr, LocalId, Span};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::value::Val;
use super::Library;
use super::OPAQUE;
use super::datatype::{Datatype, integer, width};
use super::network::Combine;
use super::shmem::{Remote, Signal, Source};
use super::team::Group;
use crate::c::ast::{Expr, ExprKind};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// Types by their names in calls, as datatypes; `long` and `size` have the width of the data model.
const TYPES: [(&str, i64); 24] = [
    ("float", 2032),
    ("double", 2064),
    ("char", 8),
    ("schar", 8),
    ("short", 16),
    ("int", 32),
    ("long", 0),
    ("longlong", 64),
    ("uchar", 1008),
    ("ushort", 1016),
    ("uint", 1032),
    ("ulong", 1000),
    ("ulonglong", 1064),
    ("int8", 8),
    ("int16", 16),
    ("int32", 32),
    ("int64", 64),
    ("uint8", 1008),
    ("uint16", 1016),
    ("uint32", 1032),
    ("uint64", 1064),
    ("size", 1000),
    ("ptrdiff", 0),
    ("signal", 1064),
];

/// Elements of one operation at most.
const MAX_ELEMENTS: i128 = 64;

/// Comparisons by the numbers of the header.
fn comparison(number: i128) -> Option<BinOp> {
    Some(match number {
        1 => BinOp::Eq,
        2 => BinOp::Ne,
        3 => BinOp::Gt,
        4 => BinOp::Ge,
        5 => BinOp::Lt,
        6 => BinOp::Le,
        _ => return None,
    })
}

/// The change of an atomic operation, and whether it has an operand.
fn change(name: &str) -> Option<(Combine, bool)> {
    Some(match name {
        "set" | "swap" => (Combine::Replace, true),
        "add" | "fetch_add" => (Combine::Sum, true),
        "inc" | "fetch_inc" => (Combine::Sum, false),
        "and" | "fetch_and" => (Combine::BitAnd, true),
        "or" | "fetch_or" => (Combine::BitOr, true),
        "xor" | "fetch_xor" => (Combine::BitXor, true),
        "fetch" => (Combine::NoOp, false),
        _ => return None,
    })
}

/// The type of what a pointer points to, as a datatype.
fn pointed_base(pointer: &Val, span: Span) -> Lower<i64> {
    match pointer.ty.pointee().map(Type::plain) {
        Some(Type::Int { bits, signed }) => Ok(i64::from(*bits) + if *signed { 0 } else { 1000 }),
        _ => unsupported(span, "an operation on this type", "use integers"),
    }
}

/// Calls that mean nothing to what is checked.
const SILENT: [&str; 6] = [
    "shmem_init",
    "shmem_finalize",
    "shmem_team_destroy",
    "shmem_info_get_name",
    "shmem_info_get_version",
    "shmem_pcontrol",
];

impl Code<'_, '_> {
    /// A call of OpenSHMEM; `None` if it is none.
    pub(in super::super) fn shmem_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        let Some(rest) = name.strip_prefix("shmem_") else {
            return Ok(None);
        };
        if !self.uses(Library::Shmem) {
            return Err(
                Diagnostic::error(span, format!("`{name}` without shmem_init"))
                    .help("call shmem_init first in main"),
            );
        }
        if let Some(value) = self.shmem_setup(name, args, span)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.shmem_synchronisation(name, args, span)? {
            return Ok(Some(value));
        }
        let (context, rest, args) = match (rest.strip_prefix("ctx_"), args) {
            (Some(rest), [context, args @ ..]) => (self.context(context, span)?, rest, args),
            _ => ((0, 0), rest, args),
        };
        let typed = rest.split_once('_').and_then(|(ty, op)| {
            let known = TYPES.iter().find(|(known, _)| *known == ty);
            known.map(|(_, base)| (self.wide(*base), op))
        });
        let (base, op) = match typed {
            Some((base, op)) => (Some(base), op),
            None => (None, rest),
        };
        let call = Call {
            name,
            op,
            base,
            context,
        };
        match self.shmem_remote(&call, args, span)? {
            Some(value) => Ok(Some(value)),
            None => unsupported(
                span,
                &format!("this call of `{name}`"),
                "put, get, p, g, iput, iget, put_signal, atomic operations, waits, quiet, fence, \
                 barriers, locks, teams and reductions are supported",
            ),
        }
    }

    /// A datatype whose width is that of `long`.
    fn wide(&self, base: i64) -> i64 {
        let word = i64::from(self.cx.options.data_model.word());
        if base % 1000 == 0 { base + word } else { base }
    }

    /// A context's number, and the team that it was made for.
    fn context(&mut self, e: &Expr, span: Span) -> Lower<(usize, i64)> {
        let handle = self.value(e)?.as_constant();
        let number = handle.and_then(|h| usize::try_from(h).ok());
        let made = number.and_then(|n| n.checked_sub(1));
        let team = made.and_then(|n| self.cx.one_sided().contexts.get(n).copied());
        match (number, team) {
            (Some(0), _) => Ok((0, 0)),
            (Some(number), Some(team)) => Ok((number, team)),
            _ => unsupported(
                span,
                "a context that is not known here",
                "keep each context in a local variable of its own",
            ),
        }
    }

    fn shmem_setup(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        let number = |n: u32| Val::constant(i128::from(n), &Type::INT);
        let value = match (name, args) {
            ("shmem_my_pe" | "_my_pe", []) => number(self.me()),
            ("shmem_n_pes" | "_num_pes", []) => number(self.ranks()),
            ("shmem_init_thread", [wanted, provided]) => {
                let wanted = self.value(wanted)?;
                let place = self.target_of(provided)?;
                self.store(&place, wanted, span)?;
                number(0)
            }
            ("shmem_global_exit", [status]) => {
                self.discard(status)?;
                self.block(span);
                Val::void()
            }
            ("shmem_ctx_create", [_, to]) => {
                self.make_context(0, to, span)?;
                number(0)
            }
            ("shmem_team_create_ctx", [team, _, to]) => {
                let team = self.value(team)?.as_constant();
                let Some(team) = team else {
                    return unsupported(span, "a team that is not known here", "name a team");
                };
                self.make_context(team as i64, to, span)?;
                number(0)
            }
            ("shmem_ctx_destroy", [context]) => {
                let (context, _) = self.context(context, span)?;
                self.quiet(context, span)?;
                Val::void()
            }
            ("shmem_team_split_strided", [parent, start, stride, size, _, _, to]) => {
                self.split_strided([parent, start, stride, size, to], span)?;
                number(0)
            }
            ("shmem_team_my_pe", [team]) => {
                let team = self.team(team, span)?;
                let below = (1_u64 << self.me()) - 1;
                number((team & below).count_ones())
            }
            ("shmem_team_n_pes", [team]) => {
                let team = self.team(team, span)?;
                number(team.count_ones())
            }
            ("shmem_team_translate_pe", [from, pe, to]) => {
                if self.team(from, span)? != self.team(to, span)? {
                    return unsupported(span, "PEs of two teams", "use numbers of the world");
                }
                self.value(pe)?
            }
            ("shmem_malloc", [size]) => self.shmem_allocate(&[size], false, span)?,
            ("shmem_calloc", [count, size]) => self.shmem_allocate(&[count, size], true, span)?,
            ("shmem_align", [_, size]) => self.shmem_allocate(&[size], false, span)?,
            ("shmem_free", [pointer]) => {
                self.discard(pointer)?;
                self.mpi_barrier(span)?;
                Val::void()
            }
            (name, args) if SILENT.contains(&name) => {
                for a in args {
                    self.discard(a)?;
                }
                Val::void()
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    fn make_context(&mut self, team: i64, to: &Expr, span: Span) -> Lower<()> {
        if self.loop_depth > 0 {
            return unsupported(span, "a context made in a loop", "make it before the loop");
        }
        let contexts = &mut self.cx.one_sided().contexts;
        contexts.push(team);
        let handle = contexts.len() as i64;
        self.set_handle(to, handle, span)
    }

    /// Symmetric memory: every PE allocates together.
    fn shmem_allocate(&mut self, sizes: &[&Expr], is_zero: bool, span: Span) -> Lower<Val> {
        let pointer = self.allocate(sizes, is_zero, span)?;
        let onesided = self.cx.one_sided();
        let number = onesided.allocations;
        onesided.allocations += 1;
        self.cx.note_symmetric(format!("allocation {number}"));
        self.mpi_barrier(span)?;
        Ok(pointer)
    }

    fn shmem_synchronisation(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        match (name, args) {
            ("shmem_quiet", []) => self.quiet(0, span)?,
            ("shmem_fence", []) => self.fence_context(0, span)?,
            ("shmem_ctx_quiet", [context]) => {
                let (context, _) = self.context(context, span)?;
                self.quiet(context, span)?;
            }
            ("shmem_ctx_fence", [context]) => {
                let (context, _) = self.context(context, span)?;
                self.fence_context(context, span)?;
            }
            ("shmem_barrier_all", []) => {
                self.quiet(0, span)?;
                self.mpi_barrier(span)?;
            }
            ("shmem_sync_all", []) => self.mpi_barrier(span)?,
            ("shmem_sync" | "shmem_team_sync", [team]) => {
                let team = self.team(team, span)?;
                let group = Group::of_team(team, self.ranks());
                self.group_sync(&group, span)?;
            }
            ("shmem_set_lock", [lock]) => {
                let lock = self.value(lock)?;
                self.shmem_lock(&lock, true, span)?;
            }
            ("shmem_clear_lock", [lock]) => {
                let lock = self.value(lock)?;
                self.shmem_lock(&lock, false, span)?;
            }
            _ => return Ok(None),
        }
        Ok(Some(Val::void()))
    }

    fn elements_of(&mut self, count: &Expr, base: i64, span: Span) -> Lower<Vec<u64>> {
        let count = self.value(count)?.as_constant();
        match count {
            Some(n) if (0..=MAX_ELEMENTS).contains(&n) => {
                Ok(Datatype::predefined(base).elements(n as u64))
            }
            _ => unsupported(
                span,
                "a number of elements that is not known here",
                "give a constant, 64 at most",
            ),
        }
    }

    /// An operand, as a value of the type of an operation.
    fn operand(&mut self, e: &Expr, base: i64, span: Span) -> Lower<LocalExpr> {
        let Some(ty) = integer(base) else {
            if !matches!(e.kind, ExprKind::Float(_)) {
                self.discard(e)?;
            }
            return Ok(Ir::Const(OPAQUE));
        };
        let value = self.value(e)?;
        let value = self.convert(value, &ty, span)?;
        Ok(self.saved(value, span).e)
    }

    /// What a call returns.
    fn returned(&mut self, value: LocalId, base: i64, span: Span) -> Lower<Val> {
        let Some(ty) = integer(base) else {
            return unsupported(span, "a floating-point result", "use integers");
        };
        let e = Ir::Atom(palisade_program::LocalAtom::Local(value));
        self.check_followed(&e, span);
        let held = self.held(e, &ty);
        Ok(self.saved(held, span))
    }

    fn shmem_remote(&mut self, call: &Call<'_>, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        if let Some(value) = self.shmem_transfer(call, args, span)? {
            return Ok(Some(value));
        }
        if let Some(op) = call.op.strip_prefix("atomic_") {
            return self.shmem_atomics(call, op, args, span);
        }
        self.shmem_wait(call, args, span)
    }

    fn remote_of<'e>(
        &mut self,
        call: &Call<'e>,
        address: &Expr,
        pe: &'e Expr,
        span: Span,
    ) -> Lower<Remote<'e>> {
        let address = self.value(address)?;
        let address = self.saved(address, span);
        let base = match call.base {
            Some(base) => base,
            None => pointed_base(&address, span)?,
        };
        Ok(Remote {
            name: call.name,
            context: call.context.0,
            domain: call.context.1,
            pe,
            address,
            base,
        })
    }

    fn shmem_transfer(&mut self, call: &Call<'_>, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        let blocking = !call.op.ends_with("_nbi");
        match (call.op, args) {
            ("put" | "put_nbi", [to, from, count, pe]) => {
                let op = self.remote_of(call, to, pe, span)?;
                let elements = self.elements_of(count, op.base, span)?;
                let from = self.value(from)?;
                let source = Source::Buffer(self.saved(from, span), elements.clone());
                self.shmem_put(&op, (&source, &elements), blocking, None, span)?;
            }
            ("get" | "get_nbi", [to, from, count, pe]) => {
                let op = self.remote_of(call, from, pe, span)?;
                let elements = self.elements_of(count, op.base, span)?;
                let to = self.value(to)?;
                let to = self.saved(to, span);
                self.shmem_get(&op, (Some((&to, &elements)), &elements), blocking, span)?;
            }
            ("iput", [to, from, to_stride, from_stride, count, pe]) => {
                let op = self.remote_of(call, to, pe, span)?;
                let near = self.strided(from_stride, count, op.base, span)?;
                let far = self.strided(to_stride, count, op.base, span)?;
                let from = self.value(from)?;
                let source = Source::Buffer(self.saved(from, span), near);
                self.shmem_put(&op, (&source, &far), true, None, span)?;
            }
            ("iget", [to, from, to_stride, from_stride, count, pe]) => {
                let op = self.remote_of(call, from, pe, span)?;
                let near = self.strided(to_stride, count, op.base, span)?;
                let far = self.strided(from_stride, count, op.base, span)?;
                let to = self.value(to)?;
                let to = self.saved(to, span);
                self.shmem_get(&op, (Some((&to, &near)), &far), true, span)?;
            }
            ("p", [to, value, pe]) => {
                let op = self.remote_of(call, to, pe, span)?;
                let value = self.operand(value, op.base, span)?;
                self.shmem_put(&op, (&Source::Value(value), &[0]), true, None, span)?;
            }
            ("g", [from, pe]) => {
                let op = self.remote_of(call, from, pe, span)?;
                let value = self.shmem_get(&op, (None, &[0]), true, span)?;
                return self.returned(value, op.base, span).map(Some);
            }
            ("put_signal" | "put_signal_nbi", [to, from, count, signal, value, how, pe]) => {
                let op = self.remote_of(call, to, pe, span)?;
                let elements = self.elements_of(count, op.base, span)?;
                let from = self.value(from)?;
                let source = Source::Buffer(self.saved(from, span), elements.clone());
                let signal = self.signal_of(signal, value, how, span)?;
                self.shmem_put(&op, (&source, &elements), blocking, Some(&signal), span)?;
            }
            _ => return Ok(None),
        }
        Ok(Some(Val::void()))
    }

    fn strided(&mut self, stride: &Expr, count: &Expr, base: i64, span: Span) -> Lower<Vec<u64>> {
        let stride = self.value(stride)?.as_constant();
        let Some(stride) = stride.and_then(|s| u64::try_from(s).ok()) else {
            return unsupported(span, "a stride that is not known here", "give a constant");
        };
        let all = self.elements_of(count, base, span)?;
        let all = (0..all.len() as u64).map(|k| k * stride * width(base));
        Ok(all.collect())
    }

    fn signal_of(&mut self, at: &Expr, value: &Expr, how: &Expr, span: Span) -> Lower<Signal> {
        let address = self.value(at)?;
        let address = self.saved(address, span);
        let base = 1064;
        let value = self.operand(value, base, span)?;
        let combine = match self.value(how)?.as_constant() {
            Some(1) => Combine::Replace,
            Some(3) => Combine::Sum,
            _ => return unsupported(span, "this signal operation", "SHMEM_SIGNAL_SET or _ADD"),
        };
        Ok(Signal {
            address,
            base,
            combine,
            value,
        })
    }

    fn shmem_atomics(
        &mut self,
        call: &Call<'_>,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        let (name, result, args) = match (name.strip_suffix("_nbi"), args) {
            (Some(name), [result, args @ ..]) => (name, Some(result), args),
            _ => (name, None, args),
        };
        let (op, combine, operands) = match (name, args) {
            ("compare_swap", [to, expected, value, pe]) => {
                let op = self.remote_of(call, to, pe, span)?;
                let expected = self.operand(expected, op.base, span)?;
                let value = self.operand(value, op.base, span)?;
                (op, Combine::CompareSwap, vec![expected, value])
            }
            (_, [to, value @ .., pe]) => {
                let Some((combine, has_operand)) = change(name) else {
                    return Ok(None);
                };
                let op = self.remote_of(call, to, pe, span)?;
                let operand = match (has_operand, value) {
                    (true, [value]) => self.operand(value, op.base, span)?,
                    (false, []) => Ir::Const(1),
                    _ => return Ok(None),
                };
                (op, combine, vec![operand])
            }
            _ => return Ok(None),
        };
        let fetches = name.contains("fetch") || name.contains("swap");
        match (fetches, result) {
            (true, Some(result)) => {
                let result = self.value(result)?;
                let result = self.saved(result, span);
                self.shmem_fetch_later(&op, combine, &operands, &result, span)?;
                Ok(Some(Val::void()))
            }
            (true, None) => {
                let value = self.shmem_fetch(&op, combine, &operands, span)?;
                self.returned(value, op.base, span).map(Some)
            }
            (false, None) => {
                self.shmem_atomic(&op, combine, &operands[0], span)?;
                Ok(Some(Val::void()))
            }
            (false, Some(_)) => Ok(None),
        }
    }

    fn shmem_wait(&mut self, call: &Call<'_>, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        let base_of = |pointer: &Val| match call.base {
            Some(base) => Ok(base),
            None => pointed_base(pointer, span),
        };
        match (call.op, args) {
            ("wait_until" | "signal_wait_until" | "test", [at, how, value]) => {
                let at = self.value(at)?;
                let at = self.saved(at, span);
                let base = base_of(&at)?;
                let how = self.value(how)?.as_constant();
                let Some(how) = how.and_then(comparison) else {
                    return unsupported(span, "this comparison", "SHMEM_CMP_EQ and its kin");
                };
                let value = self.operand(value, base, span)?;
                let ready =
                    move |found: &LocalExpr| LocalExpr::binary(how, found.clone(), value.clone());
                if call.op == "test" {
                    let found = self.look((&at, base), None, call.name, span)?;
                    let found = Ir::Atom(palisade_program::LocalAtom::Local(found));
                    let truth = Val::truth(ready(&found));
                    return Ok(Some(self.saved(truth, span)));
                }
                let found = self.look((&at, base), Some(&ready), call.name, span)?;
                self.returned(found, base, span).map(Some)
            }
            ("fetch", [at]) if call.name == "shmem_signal_fetch" => {
                let at = self.value(at)?;
                let at = self.saved(at, span);
                let found = self.look((&at, 1064), None, call.name, span)?;
                self.returned(found, 1064, span).map(Some)
            }
            (op, [team, to, from, count]) if op.ends_with("_reduce") => {
                let combine = match op.trim_end_matches("_reduce") {
                    "sum" => Combine::Sum,
                    "prod" => Combine::Product,
                    "min" => Combine::Min,
                    "max" => Combine::Max,
                    "and" => Combine::BitAnd,
                    "or" => Combine::BitOr,
                    "xor" => Combine::BitXor,
                    _ => return Ok(None),
                };
                let team = self.team(team, span)?;
                let (to, from) = (self.value(to)?, self.value(from)?);
                let (to, from) = (self.saved(to, span), self.saved(from, span));
                let base = base_of(&to)?;
                let elements = (base, self.elements_of(count, base, span)?);
                let group = Group::of_team(team, self.ranks());
                self.reduce(&group, (&to, &from), &elements, (combine, call.name), span)?;
                Ok(Some(Val::constant(0, &Type::INT)))
            }
            _ => Ok(None),
        }
    }
}

/// A call: its name, the operation and the type in it, and the context with its team.
struct Call<'e> {
    name: &'e str,
    op: &'e str,
    base: Option<i64>,
    context: (usize, i64),
}
