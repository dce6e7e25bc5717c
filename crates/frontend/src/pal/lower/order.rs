//! Accesses and fences with a *memory order* of C11: `load(x, acquire)`, `store(x, 1, release)`,
//! an order (for `cas` a second one for failure) as last operand of atomic operations, and
//! `fence(release)`. Where orders are mapped ([`Orders::Mapped`]) they become the fences of
//! [`crate::mapping`], as in C.

use palisade_program::{Expr as Value, LocalExpr, LocalId, Order, Orders, Span, Step};

use super::code::Code;
use super::expr::read_local;
use crate::diagnostic::Diagnostic;
use crate::mapping;
use crate::pal::ast::{Expr, ExprKind, Name};

impl Code<'_, '_> {
    /// Whether a call is `load` or `store`, and no function of the user's.
    pub(super) fn is_ordered_access(&self, name: &str) -> bool {
        matches!(name, "load" | "store") && !self.context.functions.contains_key(name)
    }

    /// The order as it is written into steps: none where orders are mapped.
    pub(super) fn kept(&self, order: Order) -> Order {
        match self.context.orders {
            Orders::Kept => order,
            Orders::Mapped => Order::Plain,
        }
    }

    /// The order that an operand names.
    fn order(&mut self, e: &Expr) -> Option<Order> {
        let named = match &e.kind {
            ExprKind::Place(place) if place.index.is_none() => Order::named(&place.name.text),
            _ => None,
        };
        if named.is_none() {
            self.report(
                Diagnostic::error(e.span, "expected a memory order").help(
                    "the orders are `relaxed`, `acquire`, `release`, `acq_rel` and `seq_cst`",
                ),
            );
        }
        named
    }

    fn allowed(
        &mut self,
        order: Order,
        allowed: &[Order],
        what: &str,
        span: Span,
    ) -> Option<Order> {
        if allowed.contains(&order) {
            return Some(order);
        }
        let names: Vec<String> = allowed.iter().map(|o| format!("`{o}`")).collect();
        self.report(
            Diagnostic::error(span, format!("{what} cannot be `{order}`"))
                .help(format!("its orders are {}", names.join(", "))),
        );
        None
    }

    /// The orders of an atomic operation: of success, and of failure.
    pub(super) fn operation_orders(&mut self, orders: &[Expr]) -> Option<(Order, Order)> {
        let order = match orders.first() {
            None => Order::SeqCst,
            Some(e) => self.order(e)?,
        };
        let failing = match orders.get(1) {
            None => mapping::failing(order),
            Some(e) => {
                let order = self.order(e)?;
                let loads = [Order::Relaxed, Order::Acquire, Order::SeqCst];
                self.allowed(order, &loads, "a failing operation", e.span)?
            }
        };
        Some((self.kept(order), self.kept(failing)))
    }

    /// `store(x, value, order);`
    pub(super) fn ordered_statement(&mut self, name: &Name, args: &[Expr], span: Span) {
        if name.text == "load" {
            self.ordered_value(name, args, None, span);
            return;
        }
        let [_, value, order] = args else {
            self.wrong_arity(name, args.len(), 3, span);
            return;
        };
        let place = self.first_argument(args);
        let value = self.value(value);
        let Some(written) = self.order(order) else {
            return;
        };
        let all = Order::ATOMIC;
        let stores = [Order::Relaxed, Order::Release, Order::SeqCst];
        let allowed = if self.atomic_depth > 0 {
            &all[..]
        } else {
            &stores
        };
        let (Some(written), Some(place)) =
            (self.allowed(written, allowed, "a store", order.span), place)
        else {
            return;
        };
        let mapped = self.context.orders == Orders::Mapped && self.atomic_depth == 0;
        if mapped && let Some(fence) = mapping::before_store(written) {
            self.emit(Step::Fence(fence), span);
        }
        let order = self.kept(written);
        self.store(place.ordered(order), value, span);
        if mapped && let Some(fence) = mapping::after_store(written) {
            self.emit(Step::Fence(fence), span);
        }
    }

    /// `load(x, order)`
    pub(super) fn ordered_value(
        &mut self,
        name: &Name,
        args: &[Expr],
        wanted: Option<LocalId>,
        span: Span,
    ) -> LocalExpr {
        if name.text == "store" {
            self.report(
                Diagnostic::error(span, "`store` gives no value")
                    .label("used as a value")
                    .help("write it as a statement of its own"),
            );
            return Value::Const(0);
        }
        let [_, order] = args else {
            self.wrong_arity(name, args.len(), 2, span);
            return Value::Const(0);
        };
        let place = self.first_argument(args);
        let loads = [Order::Relaxed, Order::Acquire, Order::SeqCst];
        let all = Order::ATOMIC;
        let allowed = if self.atomic_depth > 0 {
            &all[..]
        } else {
            &loads
        };
        let written = self.order(order);
        let written = written.and_then(|o| self.allowed(o, allowed, "a load", order.span));
        let (Some(written), Some(place)) = (written, place) else {
            return Value::Const(0);
        };
        let index = place.index.clone().unwrap_or(Value::Const(0));
        let dst = self.result_local(wanted, &[&index]);
        let range = self.shared_range(place.var);
        self.set_range(dst, range);
        let src = place.ordered(self.kept(written));
        self.emit(Step::Load { dst, src }, span);
        read_local(dst)
    }

    /// `fence(order);`
    pub(super) fn ordered_fence(&mut self, order: Order, span: Span) {
        match self.context.orders {
            Orders::Kept => self.emit(mapping::kept_fence(order), span),
            Orders::Mapped => {
                for &kind in mapping::fences(order) {
                    self.emit(Step::Fence(kind), span);
                }
            }
        }
    }
}
