//! *Calls*: the access functions of the Linux kernel and of C11, mapped to steps
//! as docs/memory-models.md says: every read-modify-write is an atomic block, a
//! sequentially consistent store is followed by a full fence, whatever is of
//! release strength or more is preceded by a store-store fence, and all else is
//! plain. RCU read-side sections and grace periods are refused.

use palisade_program::{AtomicKind, BinOp, FenceKind, LocalExpr, Span, Step};

use super::super::Failure;
use super::super::access;
use super::super::emit::{Emitter, read};
use super::super::ty::Ty;
use super::ast::{CTy, Expr, ExprKind};
use super::lower::{Thread, Value, Var, convert, error, promoted, wrapped};
use crate::diagnostic::Diagnostic;

/// How strong an access or a fence is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// Relaxed, consume or acquire: plain on TSO and PSO.
    Relaxed,
    /// Release, or acquire and release.
    Release,
    /// Sequentially consistent.
    SeqCst,
}

impl Order {
    pub(super) fn before_store(self, emitter: &mut Emitter, span: Span) {
        match self {
            Self::Relaxed => {}
            Self::Release | Self::SeqCst => {
                emitter.step(Step::Fence(FenceKind::StoreStore), span);
            }
        }
    }

    pub(super) fn after_store(self, emitter: &mut Emitter, span: Span) {
        match self {
            Self::Relaxed | Self::Release => {}
            Self::SeqCst => emitter.step(Step::Fence(FenceKind::Full), span),
        }
    }
}

/// A read-modify-write.
enum Change {
    /// The new value.
    Set(Value),
    /// Old value and operand.
    Apply(BinOp, Value),
    /// The new value if the old one is as expected.
    CompareSwap(Value, Value),
    /// Adds unless the old value is this.
    AddUnless(Value, Value),
}

/// The pointer that a call reads, if it does nothing but one plain load.
pub(super) fn loaded<'e>(name: &str, args: &'e [Expr]) -> Option<&'e Expr> {
    let first = args.first()?;
    match name {
        "READ_ONCE" | "ACCESS_ONCE" | "rcu_dereference" | "lockless_dereference" => {
            match &first.kind {
                ExprKind::Deref(pointer) => Some(pointer),
                _ => None,
            }
        }
        "smp_load_acquire"
        | "atomic_read"
        | "atomic_read_acquire"
        | "atomic_load"
        | "atomic_load_explicit" => Some(first),
        _ => None,
    }
}

/// `atomic_xchg_relaxed` is `xchg` of strength relaxed.
fn strength(name: &str) -> (&str, Option<Order>) {
    let suffixes = [
        ("_relaxed", Order::Relaxed),
        ("_acquire", Order::Relaxed),
        ("_release", Order::Release),
    ];
    for (suffix, order) in suffixes {
        if let Some(stem) = name.strip_suffix(suffix) {
            return (stem, Some(order));
        }
    }
    (name, None)
}

fn unknown_call<T>(name: &str, span: Span) -> Result<T, Failure> {
    let diagnostic = Diagnostic::error(span, format!("unsupported function `{name}`"));
    let is_rcu = name.starts_with("rcu_") || name.contains("srcu") || name.contains("_rcu");
    Err(Box::new(if is_rcu {
        diagnostic.help("RCU needs a notion of grace periods, which TSO and PSO do not have")
    } else {
        diagnostic
    }))
}

impl Thread<'_> {
    /// Lowers a call; its value, if it gives one.
    pub(super) fn call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Result<Option<Value>, Failure> {
        if let Some(pointer) = loaded(name, args) {
            let (address, ty) = self.pointer(pointer)?;
            return self.load(&address, ty, None, span).map(Some);
        }
        let count = |n: usize| {
            if args.len() == n {
                return Ok(());
            }
            error(span, format!("`{name}` takes {n} arguments"))
        };
        match name {
            "smp_mb" | "mb" | "__sync_synchronize" => {
                count(0)?;
                self.emitter.step(Step::Fence(FenceKind::Full), span);
                Ok(None)
            }
            "smp_wmb" | "wmb" => {
                count(0)?;
                self.emitter.step(Step::Fence(FenceKind::StoreStore), span);
                Ok(None)
            }
            // Loads are in order, and what the others accompany drains the buffers.
            "smp_rmb"
            | "rmb"
            | "barrier"
            | "smp_read_barrier_depends"
            | "cpu_relax"
            | "smp_mb__before_atomic"
            | "smp_mb__after_atomic"
            | "smp_mb__after_spinlock" => {
                count(0)?;
                Ok(None)
            }
            "WRITE_ONCE" | "rcu_assign_pointer" | "smp_store_mb" | "smp_store_release" => {
                count(2)?;
                self.kernel_store(name, args, span)?;
                Ok(None)
            }
            "atomic_thread_fence" => {
                count(1)?;
                match order(&args[0])? {
                    Order::Relaxed => {}
                    Order::Release => self.emitter.step(Step::Fence(FenceKind::StoreStore), span),
                    Order::SeqCst => self.emitter.step(Step::Fence(FenceKind::Full), span),
                }
                Ok(None)
            }
            "spin_lock" | "spin_unlock" | "spin_trylock" => {
                count(1)?;
                self.lock(name, &args[0], span)
            }
            _ => self.atomic(name, args, span),
        }
    }

    fn kernel_store(&mut self, name: &str, args: &[Expr], span: Span) -> Result<(), Failure> {
        let pointer = match (name, &args[0].kind) {
            ("smp_store_release", _) => &args[0],
            (_, ExprKind::Deref(pointer)) => pointer,
            _ => {
                return error(
                    args[0].span,
                    format!("`{name}` needs a location such as `*x`"),
                );
            }
        };
        let (address, ty) = self.pointer(pointer)?;
        let value = self.value(&args[1])?;
        let order = match name {
            "WRITE_ONCE" => Order::Relaxed,
            "smp_store_mb" => Order::SeqCst,
            _ => Order::Release,
        };
        self.store(&address, ty, value, order, span)
    }

    fn lock(&mut self, name: &str, lock: &Expr, span: Span) -> Result<Option<Value>, Failure> {
        let (address, ty) = self.pointer(lock)?;
        let int = CTy::value(Ty::INT);
        let number = |n| (LocalExpr::Const(n), int);
        match name {
            "spin_unlock" => {
                self.store(&address, ty, number(0), Order::Release, span)?;
                Ok(None)
            }
            "spin_lock" => {
                let layout = self.layout;
                let old = self.emitter.temp();
                self.emitter.open_atomic();
                let done = access::for_each_cell(self, layout, &address, span, |t, cell| {
                    let bits = layout.vars[cell.var].ty.bits;
                    access::load(&mut t.emitter, layout, cell, bits, old, span)?;
                    let free = LocalExpr::binary(BinOp::Eq, read(old), LocalExpr::Const(0));
                    t.emitter.step(Step::Assume(free), span);
                    access::store(
                        &mut t.emitter,
                        layout,
                        cell,
                        bits,
                        LocalExpr::Const(1),
                        span,
                    )
                });
                self.emitter.close_atomic(AtomicKind::Lock, span);
                done.map(|()| None)
            }
            _ => {
                let change = Change::CompareSwap(number(0), number(1));
                let (old, _) = self.change(&address, ty, &change, span)?;
                let got = LocalExpr::binary(BinOp::Eq, old, LocalExpr::Const(0));
                Ok(Some((got, int)))
            }
        }
    }

    /// `xchg`, `cmpxchg` and the `atomic_` functions.
    fn atomic(&mut self, name: &str, args: &[Expr], span: Span) -> Result<Option<Value>, Failure> {
        let (stem, explicit) = match name.strip_suffix("_explicit") {
            Some(stem) => (stem, true),
            None => (name, false),
        };
        let (stem, suffix) = strength(stem);
        let known = ["atomic_long_", "atomic64_", "atomic_"];
        let op = known.iter().find_map(|prefix| stem.strip_prefix(prefix));
        let op = match (op, stem) {
            (Some(op), _) => op,
            (None, "xchg") => "exchange",
            (None, "cmpxchg") => "cmpxchg",
            (None, _) => return unknown_call(name, span),
        };
        let orders = match (explicit, op) {
            (false, _) => 0,
            (true, op) if op.starts_with("compare_exchange") => 2,
            (true, _) => 1,
        };
        let Some(operands) = args.len().checked_sub(orders) else {
            return error(span, format!("`{name}` has too few arguments"));
        };
        let (args, orders) = args.split_at(operands);
        let orders: Vec<Order> = orders.iter().map(order).collect::<Result<_, _>>()?;
        match (op, args) {
            ("store" | "set" | "init", [pointer, value]) => {
                let order = match (orders.first().copied(), suffix, op) {
                    (Some(order), ..) | (None, Some(order), _) => order,
                    (None, None, "store") => Order::SeqCst,
                    (None, None, _) => Order::Relaxed,
                };
                let (address, ty) = self.pointer(pointer)?;
                let value = self.value(value)?;
                self.store(&address, ty, value, order, span)?;
                Ok(None)
            }
            ("load" | "read", [pointer]) => {
                let (address, ty) = self.pointer(pointer)?;
                self.load(&address, ty, None, span).map(Some)
            }
            ("exchange" | "xchg", [pointer, value]) => {
                let (address, ty) = self.pointer(pointer)?;
                let value = self.value(value)?;
                self.change(&address, ty, &Change::Set(value), span)
                    .map(Some)
            }
            ("cmpxchg", [pointer, old, new]) => {
                let (address, ty) = self.pointer(pointer)?;
                let old = self.value(old)?;
                let change = Change::CompareSwap(old, self.value(new)?);
                self.change(&address, ty, &change, span).map(Some)
            }
            ("compare_exchange_strong" | "compare_exchange_weak", [pointer, expected, new]) => self
                .compare_exchange(pointer, expected, new, span)
                .map(Some),
            ("add_unless", [pointer, add, unless]) => {
                let (address, ty) = self.pointer(pointer)?;
                let add = self.value(add)?;
                let unless = self.value(unless)?;
                let change = Change::AddUnless(add, unless.clone());
                let (old, _) = self.change(&address, ty, &change, span)?;
                let done = LocalExpr::binary(BinOp::Ne, old, unless.0);
                Ok(Some((done, CTy::value(Ty::INT))))
            }
            _ => self.arithmetic_call(name, op, args, span),
        }
    }

    fn compare_exchange(
        &mut self,
        pointer: &Expr,
        expected: &Expr,
        new: &Expr,
        span: Span,
    ) -> Result<Value, Failure> {
        let local = match &expected.kind {
            ExprKind::AddressOf(inner) => match &inner.kind {
                ExprKind::Name(name) => self.vars.get(name).copied(),
                _ => None,
            },
            _ => None,
        };
        let Some(Var::Local(local, local_ty)) = local else {
            return error(expected.span, "the expected value must be a local: `&r0`");
        };
        let (address, ty) = self.pointer(pointer)?;
        let new = self.value(new)?;
        let wanted = (read(local), local_ty);
        let (old, old_ty) = self.change(&address, ty, &Change::CompareSwap(wanted, new), span)?;
        let old = convert(old, old_ty.ty(), local_ty.ty());
        let result = self.emitter.temp();
        let equal = LocalExpr::binary(BinOp::Eq, old.clone(), read(local));
        self.emitter.assign(result, equal, span);
        // After success the expected value is the old one anyway.
        self.emitter.assign(local, old, span);
        Ok((read(result), CTy::value(Ty::INT)))
    }

    /// `add`, `fetch_sub`, `inc_return`, `dec_and_test` ...
    fn arithmetic_call(
        &mut self,
        name: &str,
        op: &str,
        args: &[Expr],
        span: Span,
    ) -> Result<Option<Value>, Failure> {
        let (verb, result) = match op.strip_prefix("fetch_") {
            Some(verb) => (verb, "old"),
            None => ["_return", "_and_test", "_negative"]
                .into_iter()
                .find_map(|suffix| Some((op.strip_suffix(suffix)?, suffix)))
                .unwrap_or((op, "")),
        };
        let (op, one) = match verb {
            "add" => (BinOp::Add, false),
            "sub" => (BinOp::Sub, false),
            "and" => (BinOp::BitAnd, false),
            "or" => (BinOp::BitOr, false),
            "xor" => (BinOp::BitXor, false),
            "inc" => (BinOp::Add, true),
            "dec" => (BinOp::Sub, true),
            _ => return unknown_call(name, span),
        };
        let int = CTy::value(Ty::INT);
        let (pointer, operand) = match (one, args) {
            (true, [pointer]) => (pointer, None),
            // The kernel has the operand first, C11 the location.
            (false, [a, b]) if self.is_pointer(a) && !self.is_pointer(b) => (a, Some(b)),
            (false, [a, b]) if self.is_pointer(b) && !self.is_pointer(a) => (b, Some(a)),
            _ => return error(span, format!("wrong arguments of `{name}`")),
        };
        let (address, ty) = self.pointer(pointer)?;
        let operand = match operand {
            Some(e) => self.value(e)?,
            None => (LocalExpr::Const(1), int),
        };
        let change = Change::Apply(op, operand.clone());
        let (old, _) = self.change(&address, ty, &change, span)?;
        let new = || {
            wrapped(
                LocalExpr::binary(op, old.clone(), operand.0.clone()),
                ty.ty(),
            )
        };
        let zero = LocalExpr::Const(0);
        Ok(match result {
            "old" => Some((old, ty)),
            "_return" => Some((new(), ty)),
            "_and_test" => Some((LocalExpr::binary(BinOp::Eq, new(), zero), int)),
            "_negative" => Some((LocalExpr::binary(BinOp::Lt, new(), zero), int)),
            _ => None,
        })
    }

    fn is_pointer(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Name(name) => match self.vars.get(name) {
                Some(Var::Local(_, ty) | Var::Param(_, ty)) => ty.stars > 0,
                None => false,
            },
            ExprKind::AddressOf(_) => true,
            ExprKind::Cast(ty, _) => ty.stars > 0,
            ExprKind::Number(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Cond(..)
            | ExprKind::Deref(_)
            | ExprKind::Call(..) => false,
        }
    }

    /// Reads and writes in one atomic block; gives the old value.
    fn change(
        &mut self,
        address: &LocalExpr,
        ty: CTy,
        change: &Change,
        span: Span,
    ) -> Result<Value, Failure> {
        let layout = self.layout;
        let own = ty.ty();
        let old = self.emitter.temp();
        let constant = matches!(address, LocalExpr::Const(_));
        self.emitter.open_atomic();
        let done = access::for_each_cell(self, layout, address, span, |thread, cell| {
            let cell_ty = layout.vars[cell.var].ty;
            if !thread.same_width(cell_ty, own, constant, span)? {
                return Ok(());
            }
            let emitter = &mut thread.emitter;
            access::load(emitter, layout, cell, own.bits, old, span)?;
            emitter.assign(old, convert(read(old), cell_ty, own), span);
            let (guard, new) = new_value(change, &read(old), own);
            let join = emitter.loc();
            if let Some(guard) = guard {
                let (yes, no) = emitter.branch(&guard, span);
                emitter.go_on(no);
                emitter.edge_to(Step::Skip, join, span);
                emitter.go_on(yes);
            }
            let new = convert(new, own, cell_ty);
            access::store(emitter, layout, cell, own.bits, new, span)?;
            emitter.edge_to(Step::Skip, join, span);
            emitter.go_on(join);
            Ok(())
        });
        let kind = match change {
            Change::Set(_) => AtomicKind::Xchg,
            Change::CompareSwap(..) => AtomicKind::Cas,
            Change::Apply(BinOp::Add, _) => AtomicKind::FetchAdd,
            Change::Apply(..) | Change::AddUnless(..) => AtomicKind::Block,
        };
        self.emitter.close_atomic(kind, span);
        done.map(|()| (read(old), ty))
    }
}

/// When a change is made, and to what.
fn new_value(change: &Change, old: &LocalExpr, ty: Ty) -> (Option<LocalExpr>, LocalExpr) {
    let apply = |op, operand: &Value| {
        let both = promoted(ty, operand.1.ty());
        let left = convert(old.clone(), ty, both);
        let right = convert(operand.0.clone(), operand.1.ty(), both);
        wrapped(LocalExpr::binary(op, left, right), ty)
    };
    let compare = |op, (value, from): &Value| {
        LocalExpr::binary(op, old.clone(), convert(value.clone(), from.ty(), ty))
    };
    match change {
        Change::Set((value, from)) => (None, convert(value.clone(), from.ty(), ty)),
        Change::Apply(op, operand) => (None, apply(*op, operand)),
        Change::CompareSwap(expected, (new, from)) => (
            Some(compare(BinOp::Eq, expected)),
            convert(new.clone(), from.ty(), ty),
        ),
        Change::AddUnless(add, unless) => {
            (Some(compare(BinOp::Ne, unless)), apply(BinOp::Add, add))
        }
    }
}

/// The strength that a `memory_order` argument names.
fn order(e: &Expr) -> Result<Order, Failure> {
    let name = match &e.kind {
        ExprKind::Name(name) => name.as_str(),
        _ => "",
    };
    match name.strip_prefix("memory_order_") {
        Some("relaxed" | "consume" | "acquire") => Ok(Order::Relaxed),
        Some("release" | "acq_rel") => Ok(Order::Release),
        Some("seq_cst") => Ok(Order::SeqCst),
        _ => Err(Diagnostic::error(e.span, "expected a memory order")
            .help("such as memory_order_acquire")
            .into()),
    }
}
