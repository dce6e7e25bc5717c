//! *Atomics*: C11's `atomic_*`, gcc's `__atomic_*` and `__sync_*`. Their memory orders become
//! fences ([`crate::mapping`]), or are kept for RC11; a read-modify-write is an atomic block.

use palisade_program::{
    AtomicKind, BinOp, Domain, Expr as Ir, LocalExpr, Order, Orders, Span, Step,
};

use super::code::{Code, Lower};
use super::expr::unsupported;
use super::place::Place;
use super::value::Val;
use crate::c::ast::{Binary, Expr, ExprKind, Unary};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;
use crate::mapping;

/// What a read-modify-write computes.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Set,
    By(Binary),
    Nand,
}

/// Whether an expression is `&x`, perhaps cast.
fn is_address(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Unary(Unary::Address, _) => true,
        ExprKind::Cast(_, a) => is_address(a),
        _ => false,
    }
}

impl Code<'_, '_> {
    /// The place that a pointer argument points to; `&x` is `x` itself.
    pub(super) fn target_of(&mut self, e: &Expr) -> Lower<Place> {
        match &e.kind {
            ExprKind::Unary(Unary::Address, a) => self.place(a),
            ExprKind::Cast(ty, a) if is_address(a) => {
                let place = self.target_of(a)?;
                let to = ty.pointee().cloned().unwrap_or(Type::Void);
                let same = matches!((to.plain(), place.ty().plain()),
                    (Type::Int { bits: m, .. }, Type::Int { bits: n, .. }) if m == n)
                    // A pointer is stored in one way, whatever it points to.
                    || to.is_pointer() && (place.ty().is_pointer() || self.is_word(place.ty()))
                    || to.plain() == place.ty().plain()
                    || to == Type::Void;
                if same {
                    return Ok(place);
                }
                let pointer = self.value(e)?;
                Ok(self.pointed(pointer, to))
            }
            _ => {
                let pointer = self.value(e)?;
                let Some(ty) = pointer.ty.pointee().cloned() else {
                    return Err(Diagnostic::error(e.span, "expected a pointer"));
                };
                if ty == Type::Void {
                    return unsupported(e.span, "a pointer to void here", "cast it first");
                }
                Ok(self.pointed(pointer, ty))
            }
        }
    }

    fn memory_order(&mut self, e: Option<&Expr>) -> Lower<Order> {
        let Some(e) = e else {
            return Ok(Order::SeqCst);
        };
        let v = self.value(e)?;
        // The numbers of gcc's __ATOMIC_...; higher bits are hints for hardware.
        match v.as_constant().map(|c| c & 0xff) {
            Some(0) => Ok(Order::Relaxed),
            // Compilers take consume as acquire.
            Some(1 | 2) => Ok(Order::Acquire),
            Some(3) => Ok(Order::Release),
            Some(4) => Ok(Order::AcqRel),
            Some(5) => Ok(Order::SeqCst),
            // The kernel's fences beside atomics: these are fences themselves on hardware.
            Some(6) if self.cx.options.orders == Orders::Kept => Ok(Order::SeqCst),
            Some(6) => Ok(Order::Relaxed),
            _ => unsupported(
                e.span,
                "a memory order that is no constant",
                "name the order",
            ),
        }
    }

    /// The orders of a compare-and-exchange, of success and of failure.
    fn memory_orders(
        &mut self,
        order: Option<&Expr>,
        failing: Option<&Expr>,
    ) -> Lower<(Order, Order)> {
        let order = self.memory_order(order)?;
        let failing = match failing {
            Some(_) => self.memory_order(failing)?,
            None => mapping::failing(order),
        };
        Ok((order, failing))
    }

    pub(super) fn fence(&mut self, order: Order, span: Span) {
        match self.cx.options.orders {
            Orders::Kept => self.emit(mapping::kept_fence(order), span),
            Orders::Mapped => {
                for &kind in mapping::fences(order) {
                    self.emit(Step::Fence(kind), span);
                }
            }
        }
    }

    /// Runs `f`, whose accesses are atomic ones of this order.
    fn ordered<T>(&mut self, order: Order, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.order.replace(order);
        let result = f(self);
        self.order = before;
        result
    }

    /// The same inside an atomic block, which says of itself that it is atomic.
    pub(super) fn in_block<T>(&mut self, order: Order, f: impl FnOnce(&mut Self) -> T) -> T {
        match self.cx.options.orders {
            Orders::Kept => self.ordered(order, f),
            Orders::Mapped => f(self),
        }
    }

    /// The order of the access at hand, as it is written into its step.
    pub(super) fn access_order(&self, ty: &Type) -> Order {
        match (self.cx.options.orders, self.order) {
            (Orders::Mapped, _) => Order::Plain,
            (Orders::Kept, Some(order)) => order,
            // In litmus tests `*x` is never atomic, as in herd.
            (Orders::Kept, None) if ty.is_atomic() && self.cx.litmus.is_none() => Order::SeqCst,
            (Orders::Kept, None) => Order::Plain,
        }
    }

    pub(super) fn atomic_store(
        &mut self,
        place: &Place,
        value: Val,
        order: Order,
        span: Span,
    ) -> Lower<()> {
        let only_registers =
            matches!(place, Place::Variable { object, .. } if object.in_registers());
        if only_registers {
            return self.store(place, value, span);
        }
        let value = self.convert(value, &place.ty().clone(), span)?;
        let is_mapped = self.cx.options.orders == Orders::Mapped;
        if let Some(fence) = mapping::before_store(order).filter(|_| is_mapped) {
            self.emit(Step::Fence(fence), span);
        }
        self.ordered(order, |code| code.store(place, value, span))?;
        if let Some(fence) = mapping::after_store(order).filter(|_| is_mapped) {
            self.emit(Step::Fence(fence), span);
        }
        Ok(())
    }

    fn atomic_load(&mut self, place: &Place, order: Order, span: Span) -> Lower<Val> {
        if order != Order::SeqCst {
            self.cx.loads_in_order = true;
        }
        self.ordered(order, |code| code.load_value(place, span))
    }

    /// Reads and writes in one atomic step: the old value and the new one.
    pub(super) fn read_modify_write(
        &mut self,
        place: &Place,
        order: Order,
        f: impl FnOnce(&mut Self, Val) -> Lower<Val>,
        span: Span,
    ) -> Lower<(Val, Val)> {
        let ty = place.ty().clone();
        self.check_live(place, span);
        self.atomically(AtomicKind::FetchAdd, span, |code| {
            let old = code.in_block(order, |code| code.load_value(place, span))?;
            let old = code.saved_register(place, old, span);
            let new = f(code, old.clone())?;
            let new = code.convert(new, &ty, span)?;
            code.in_block(order, |code| code.store(place, new.clone(), span))?;
            Ok((old, new))
        })
    }

    /// An operation of one of the three families; none of them if `None`.
    pub(super) fn atomic_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        if let Some(rest) = name.strip_prefix("__sync_") {
            return self.sync_call(rest, args, span);
        }
        if let Some(rest) = name.strip_prefix("__atomic_") {
            return self.gcc_call(rest, args, span);
        }
        let Some(rest) = name.strip_prefix("atomic_") else {
            return Ok(None);
        };
        let (rest, explicit) = match rest.strip_suffix("_explicit") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        self.c11_call(rest, explicit, args, span)
    }

    fn c11_call(
        &mut self,
        name: &str,
        explicit: bool,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        let order_at = |k: usize| if explicit { args.get(k) } else { None };
        Ok(Some(match (name, args) {
            ("thread_fence", [order]) => {
                let order = self.memory_order(Some(order))?;
                self.fence(order, span);
                Val::void()
            }
            ("signal_fence", _) => Val::void(),
            ("init", [at, value]) => {
                let place = self.target_of(at)?;
                let v = self.value(value)?;
                self.store(&place, v, span)?;
                Val::void()
            }
            ("is_lock_free", _) => Val::constant(1, &Type::INT),
            ("store", [at, value, ..]) => {
                let place = self.target_of(at)?;
                let v = self.value(value)?;
                let order = self.memory_order(order_at(2))?;
                self.atomic_store(&place, v, order, span)?;
                Val::void()
            }
            ("load", [at, ..]) => {
                let want = self.want.take();
                let place = self.target_of(at)?;
                let order = self.memory_order(order_at(1))?;
                self.want = want;
                self.atomic_load(&place, order, span)?
            }
            ("exchange", [at, value, ..]) => {
                let order = self.memory_order(order_at(2))?;
                self.change(at, value, (Change::Set, order), false, span)?
            }
            ("compare_exchange_strong" | "compare_exchange_weak", [at, expected, new, ..]) => {
                let expected = self.target_of(expected)?;
                let new = self.value(new)?;
                let orders = self.memory_orders(order_at(3), order_at(4))?;
                let is_weak = name.ends_with("weak");
                self.compare_exchange(at, &expected, new, (is_weak, orders), span)?
            }
            ("flag_test_and_set", [at, ..]) => {
                let order = self.memory_order(order_at(1))?;
                self.test_and_set(at, order, span)?
            }
            ("flag_clear", [at, ..]) => {
                let place = self.target_of(at)?;
                let order = self.memory_order(order_at(1))?;
                self.atomic_store(&place, Val::constant(0, &Type::INT), order, span)?;
                Val::void()
            }
            (_, [at, value, ..]) => match name.strip_prefix("fetch_").and_then(change) {
                Some(how) => {
                    let order = self.memory_order(order_at(2))?;
                    self.change(at, value, (how, order), false, span)?
                }
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    fn gcc_call(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        Ok(Some(match (name, args) {
            ("thread_fence", [order]) => {
                let order = self.memory_order(Some(order))?;
                self.fence(order, span);
                Val::void()
            }
            ("signal_fence", _) => Val::void(),
            ("load_n", [at, order]) => {
                let want = self.want.take();
                let place = self.target_of(at)?;
                let order = self.memory_order(Some(order))?;
                self.want = want;
                self.atomic_load(&place, order, span)?
            }
            ("load", [at, to, order]) => {
                let (place, to) = (self.target_of(at)?, self.target_of(to)?);
                let order = self.memory_order(Some(order))?;
                let v = self.atomic_load(&place, order, span)?;
                self.store(&to, v, span)?;
                Val::void()
            }
            ("store_n", [at, value, order]) => {
                let place = self.target_of(at)?;
                let v = self.value(value)?;
                let order = self.memory_order(Some(order))?;
                self.atomic_store(&place, v, order, span)?;
                Val::void()
            }
            ("store", [at, from, order]) => {
                let (place, from) = (self.target_of(at)?, self.target_of(from)?);
                let v = self.load_value(&from, span)?;
                let order = self.memory_order(Some(order))?;
                self.atomic_store(&place, v, order, span)?;
                Val::void()
            }
            ("exchange_n", [at, value, order]) => {
                let order = self.memory_order(Some(order))?;
                self.change(at, value, (Change::Set, order), false, span)?
            }
            ("exchange", [at, from, to, order]) => {
                let order = self.memory_order(Some(order))?;
                let from = self.target_of(from)?;
                let v = self.load_value(&from, span)?;
                let place = self.target_of(at)?;
                let (old, _) = self.read_modify_write(&place, order, |_, _| Ok(v), span)?;
                let to = self.target_of(to)?;
                self.store(&to, old, span)?;
                Val::void()
            }
            ("compare_exchange_n", [at, expected, new, weak, order, failing]) => {
                let orders = self.memory_orders(Some(order), Some(failing))?;
                let expected = self.target_of(expected)?;
                let is_weak = self.value(weak)?.as_constant() != Some(0);
                let new = self.value(new)?;
                self.compare_exchange(at, &expected, new, (is_weak, orders), span)?
            }
            ("compare_exchange", [at, expected, new, weak, order, failing]) => {
                let orders = self.memory_orders(Some(order), Some(failing))?;
                let expected = self.target_of(expected)?;
                let is_weak = self.value(weak)?.as_constant() != Some(0);
                let new = self.target_of(new)?;
                let new = self.load_value(&new, span)?;
                self.compare_exchange(at, &expected, new, (is_weak, orders), span)?
            }
            ("test_and_set", [at, order]) => {
                let order = self.memory_order(Some(order))?;
                self.test_and_set(at, order, span)?
            }
            ("clear", [at, order]) => {
                let place = self.target_of(at)?;
                let order = self.memory_order(Some(order))?;
                self.atomic_store(&place, Val::constant(0, &Type::INT), order, span)?;
                Val::void()
            }
            ("always_lock_free" | "is_lock_free", _) => Val::constant(1, &Type::INT),
            (_, [at, value, order]) => {
                let order = self.memory_order(Some(order))?;
                if let Some(how) = name.strip_prefix("fetch_").and_then(change) {
                    self.change(at, value, (how, order), false, span)?
                } else if let Some(how) = name.strip_suffix("_fetch").and_then(change) {
                    self.change(at, value, (how, order), true, span)?
                } else {
                    return Ok(None);
                }
            }
            _ => return Ok(None),
        }))
    }

    fn sync_call(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        Ok(Some(match (name, args) {
            ("synchronize", _) => {
                self.fence(Order::SeqCst, span);
                Val::void()
            }
            ("lock_test_and_set", [at, value, ..]) => {
                self.change(at, value, (Change::Set, Order::Acquire), false, span)?
            }
            ("lock_release", [at, ..]) => {
                let place = self.target_of(at)?;
                self.atomic_store(&place, Val::constant(0, &Type::INT), Order::Release, span)?;
                Val::void()
            }
            // What the kernel's cmpxchg becomes.
            ("val_compare_and_swap_explicit", [at, old, new, order]) => {
                let place = self.target_of(at)?;
                let old = self.value(old)?;
                let new = self.value(new)?;
                let order = self.memory_order(Some(order))?;
                let orders = (order, mapping::failing(order));
                self.swap_if(&place, (old, new), Ir::TRUE, orders, span)?.0
            }
            ("bool_compare_and_swap" | "val_compare_and_swap", [at, old, new, ..]) => {
                let place = self.target_of(at)?;
                let old = self.value(old)?;
                let new = self.value(new)?;
                let orders = (Order::SeqCst, Order::SeqCst);
                let (was, same) = self.swap_if(&place, (old, new), Ir::TRUE, orders, span)?;
                if name.starts_with("bool") { same } else { was }
            }
            (_, [at, value, ..]) => {
                let order = Order::SeqCst;
                if let Some(how) = name.strip_prefix("fetch_and_").and_then(change) {
                    self.change(at, value, (how, order), false, span)?
                } else if let Some(how) = name.strip_suffix("_and_fetch").and_then(change) {
                    self.change(at, value, (how, order), true, span)?
                } else {
                    return Ok(None);
                }
            }
            _ => return Ok(None),
        }))
    }

    fn change(
        &mut self,
        at: &Expr,
        value: &Expr,
        (how, order): (Change, Order),
        new_wanted: bool,
        span: Span,
    ) -> Lower<Val> {
        self.want = None;
        let place = self.target_of(at)?;
        if place.ty().is_pointer() && how != Change::Set {
            return unsupported(
                span,
                "atomic arithmetic on a pointer (C11 counts objects, gcc bytes)",
                "use an index, or compare_exchange",
            );
        }
        let operand = self.value(value)?;
        let (old, new) = self.read_modify_write(
            &place,
            order,
            |code, old| match how {
                Change::Set => Ok(operand),
                Change::By(op) => code.wrapping(|code| code.binary(op, old, operand, span)),
                Change::Nand => {
                    let both = code.binary(Binary::BitAnd, old, operand, span)?;
                    code.complement(both, span)
                }
            },
            span,
        )?;
        Ok(if new_wanted { new } else { old })
    }

    /// Atomic arithmetic wraps, also for signed types.
    fn wrapping<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let checked = std::mem::replace(&mut self.cx.options.check_overflow, false);
        let result = f(self);
        self.cx.options.check_overflow = checked;
        result
    }

    fn test_and_set(&mut self, at: &Expr, order: Order, span: Span) -> Lower<Val> {
        let place = self.target_of(at)?;
        let one = Val::constant(1, &Type::INT);
        let (old, _) = self.read_modify_write(&place, order, |_, _| Ok(one), span)?;
        self.convert(old, &Type::Bool, span)
    }

    fn compare_exchange(
        &mut self,
        at: &Expr,
        expected: &Place,
        new: Val,
        (is_weak, orders): (bool, (Order, Order)),
        span: Span,
    ) -> Lower<Val> {
        self.want = None;
        let place = self.target_of(at)?;
        let wanted = self.load_value(expected, span)?;
        let wanted = self.saved(wanted, span);
        let may = if is_weak { self.luck(span) } else { Ir::TRUE };
        let (was, same) = self.swap_if(&place, (wanted, new), may, orders, span)?;
        let same = self.saved(same, span);
        // The failed comparison tells what it found.
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        let (can, cannot) = self.branch_on(same.e.clone(), yes, no, span);
        let before = self.known.clone();
        if can {
            self.at(yes);
            self.go(join, span);
        }
        if cannot {
            self.at(no);
            self.store(expected, was, span)?;
            self.go(join, span);
        }
        self.at(join);
        self.known = super::code::meet(before, &self.known);
        Ok(same)
    }

    /// A choice that nothing decides: a weak exchange may fail for no reason.
    pub(super) fn luck(&mut self, span: Span) -> LocalExpr {
        let dst = self.temporary(span);
        let domain = Some(Domain { lo: 0, hi: 1 });
        self.emit(Step::Havoc { dst, domain }, span);
        LocalExpr::binary(BinOp::Eq, self.read(dst), Ir::Const(1))
    }

    /// Writes `new` if the place holds `old` and `may` is true: what it held, and
    /// whether it was written.
    fn swap_if(
        &mut self,
        place: &Place,
        (old, new): (Val, Val),
        may: LocalExpr,
        (order, failing): (Order, Order),
        span: Span,
    ) -> Lower<(Val, Val)> {
        let ty = place.ty().clone();
        let old = self.convert(old, &ty, span)?;
        let new = self.convert(new, &ty, span)?;
        self.check_live(place, span);
        let was = self.atomically(AtomicKind::Cas, span, |code| {
            let was = code.in_block(failing, |code| code.load_value(place, span))?;
            let was = code.saved_register(place, was, span);
            let equal = LocalExpr::binary(BinOp::Eq, was.e.clone(), old.e.clone());
            let equal = equal.and(may.clone());
            let (yes, no) = (code.graph.loc(), code.graph.loc());
            let (can, _) = code.branch_on(equal, yes, no, span);
            if can {
                code.at(yes);
                code.in_block(order, |code| code.store(place, new, span))?;
                code.go(no, span);
            }
            code.at(no);
            Ok(was)
        })?;
        let same = LocalExpr::binary(BinOp::Eq, was.e.clone(), old.e);
        let same = Val::truth(same.and(may));
        Ok((was, same))
    }

    fn saved_register(&mut self, place: &Place, v: Val, span: Span) -> Val {
        if self.in_registers(place) {
            self.saved(v, span)
        } else {
            v
        }
    }
}

fn change(name: &str) -> Option<Change> {
    Some(match name {
        "add" => Change::By(Binary::Add),
        "sub" => Change::By(Binary::Sub),
        "and" => Change::By(Binary::BitAnd),
        "or" => Change::By(Binary::BitOr),
        "xor" => Change::By(Binary::BitXor),
        "nand" => Change::Nand,
        _ => return None,
    })
}
