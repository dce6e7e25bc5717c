//! *The kernel's accesses*, which litmus tests use: `READ_ONCE`, `smp_mb`,
//! `atomic_add_return` and their kin become the compiler's atomic operations
//! (`__atomic_load_n` ...) with the order that their name says.

use super::{Parse, Parser};
use crate::c::ast::{Binary, Expr, ExprKind, Unary};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;
use palisade_program::Span;

/// The compiler's numbers of memory orders.
const RELAXED: i128 = 0;
const ACQUIRE: i128 = 2;
const RELEASE: i128 = 3;
const SEQ_CST: i128 = 5;
/// A full fence beside an atomic operation, which drains the buffers of hardware by itself.
const BESIDE_ATOMIC: i128 = 6;

/// `atomic_xchg_relaxed` is `atomic_xchg` with an order.
fn order(name: &str) -> (&str, Option<i128>) {
    let orders = [
        ("_relaxed", RELAXED),
        ("_acquire", ACQUIRE),
        ("_release", RELEASE),
    ];
    let found = orders
        .iter()
        .find_map(|(suffix, order)| Some((name.strip_suffix(suffix)?, Some(*order))));
    found.unwrap_or((name, None))
}

fn number(value: i128, span: Span) -> Expr {
    let kind = ExprKind::Int(value, Type::INT);
    Expr { kind, span }
}

fn call(name: &str, args: Vec<Expr>, span: Span) -> ExprKind {
    let kind = ExprKind::Ident(name.to_owned());
    ExprKind::Call(Box::new(Expr { kind, span }), args)
}

/// The address of an argument that must be a location.
fn address(name: &str, at: Expr) -> Parse<Expr> {
    let span = at.span;
    match at.kind {
        ExprKind::Unary(Unary::Deref, pointer) => Ok(*pointer),
        ExprKind::Index(..) | ExprKind::Member(..) | ExprKind::Arrow(..) => {
            let kind = ExprKind::Unary(Unary::Address, Box::new(at));
            Ok(Expr { kind, span })
        }
        _ => {
            let message = format!("`{name}` needs a location such as `*x`");
            Err(Diagnostic::error(span, message))
        }
    }
}

impl Parser<'_> {
    /// A call, in the compiler's terms if it is one of the kernel's.
    pub(super) fn kernel_call(&self, callee: Expr, args: Vec<Expr>) -> Parse<ExprKind> {
        let ExprKind::Ident(name) = &callee.kind else {
            return Ok(ExprKind::Call(Box::new(callee), args));
        };
        if self.lookup(name).is_some() {
            return Ok(ExprKind::Call(Box::new(callee), args));
        }
        let name = name.clone();
        let span = self.from(callee.span);
        let fence = |order| call("__atomic_thread_fence", vec![number(order, span)], span);
        let load = |at, order| call("__atomic_load_n", vec![at, number(order, span)], span);
        let store = |at, value, order| {
            let args = vec![at, value, number(order, span)];
            call("__atomic_store_n", args, span)
        };
        Ok(match (name.as_str(), args.len()) {
            ("smp_mb" | "mb", 0) => fence(SEQ_CST),
            ("smp_wmb" | "wmb", 0) => fence(RELEASE),
            ("smp_rmb" | "rmb", 0) => fence(ACQUIRE),
            ("smp_mb__before_atomic" | "smp_mb__after_atomic" | "smp_mb__after_spinlock", 0) => {
                fence(BESIDE_ATOMIC)
            }
            ("barrier" | "smp_read_barrier_depends" | "cpu_relax", 0) => fence(RELAXED),
            ("READ_ONCE" | "ACCESS_ONCE" | "rcu_dereference" | "lockless_dereference", 1) => {
                let [at] = taken(args);
                load(address(&name, at)?, RELAXED)
            }
            ("smp_load_acquire", 1) => {
                let [at] = taken(args);
                load(at, ACQUIRE)
            }
            ("WRITE_ONCE" | "rcu_assign_pointer" | "smp_store_mb", 2) => {
                let order = match name.as_str() {
                    "WRITE_ONCE" => RELAXED,
                    "smp_store_mb" => SEQ_CST,
                    _ => RELEASE,
                };
                let [at, value] = taken(args);
                store(address(&name, at)?, value, order)
            }
            ("smp_store_release", 2) => {
                let [at, value] = taken(args);
                store(at, value, RELEASE)
            }
            _ if name.starts_with("rcu_") || name.contains("srcu") || name.contains("_rcu") => {
                let message = format!("unsupported function `{name}`");
                let help = "RCU needs a notion of grace periods, which TSO and PSO do not have";
                return Err(Diagnostic::error(span, message).help(help));
            }
            ("abort" | "exit" | "_exit" | "_Exit" | "quick_exit", _) => {
                let message = format!("unsupported function `{name}`");
                let help = "a thread ends with `return`; the test ends when all have";
                return Err(Diagnostic::error(span, message).help(help));
            }
            _ => self.kernel_atomic(callee, args, span)?,
        })
    }

    /// `xchg`, `cmpxchg` and the `atomic_` functions.
    fn kernel_atomic(&self, callee: Expr, args: Vec<Expr>, span: Span) -> Parse<ExprKind> {
        let ExprKind::Ident(name) = &callee.kind else {
            return Ok(ExprKind::Call(Box::new(callee), args));
        };
        let (stem, order) = order(name);
        let prefixes = ["atomic_long_", "atomic64_", "atomic_"];
        let op = prefixes.iter().find_map(|p| stem.strip_prefix(p));
        let op = match (op, stem) {
            (Some(op), _) => op,
            (None, "xchg" | "cmpxchg") => stem,
            (None, _) => return Ok(ExprKind::Call(Box::new(callee), args)),
        };
        let with_order = |mut args: Vec<Expr>, order| {
            args.push(number(order, span));
            args
        };
        let relaxed = order.unwrap_or(RELAXED);
        let strong = order.unwrap_or(SEQ_CST);
        Ok(match (op, args.len()) {
            ("read", 1) => call("__atomic_load_n", with_order(args, relaxed), span),
            ("load", 1) => call("__atomic_load_n", with_order(args, strong), span),
            ("set" | "init", 2) => call("__atomic_store_n", with_order(args, relaxed), span),
            ("store", 2) => call("__atomic_store_n", with_order(args, strong), span),
            ("xchg" | "exchange", 2) => call("__atomic_exchange_n", with_order(args, strong), span),
            ("cmpxchg", 3) => {
                let args = with_order(args, strong);
                call("__sync_val_compare_and_swap_explicit", args, span)
            }
            ("compare_exchange_strong" | "compare_exchange_weak", 3) => {
                call(&format!("atomic_{op}"), args, span)
            }
            ("add_unless", 3) => {
                let of = self.type_of(&args[0]);
                let is_long = of
                    .and_then(|ty| ty.pointee().cloned())
                    .is_some_and(|of| matches!(of.plain(), Type::Int { bits: 64, .. }));
                let name = if is_long {
                    "__add_unless_long"
                } else {
                    "__add_unless"
                };
                call(name, args, span)
            }
            _ => match arithmetic(op) {
                Some(change) => {
                    let order = number(order.unwrap_or(change.order), span);
                    let args = self.operands(name, args, change.by_one, order)?;
                    change.applied(args, span)
                }
                None => ExprKind::Call(Box::new(callee), args),
            },
        })
    }

    /// Location and operand: the kernel has the operand first, C11 the location.
    fn operands(
        &self,
        name: &str,
        mut args: Vec<Expr>,
        by_one: bool,
        mut order: Expr,
    ) -> Parse<Vec<Expr>> {
        let span = order.span;
        // C11's memory order is behind them.
        if args.len() == 3 && name.ends_with("_explicit") {
            order = args.pop().unwrap_or(order);
        }
        let is_pointer = |e: &Expr| self.type_of(e).is_some_and(|ty| ty.decayed().is_pointer());
        match (args.as_slice(), by_one) {
            ([_], true) => args.push(number(1, span)),
            ([a, b], false) if is_pointer(a) && !is_pointer(b) => {}
            ([a, b], false) if is_pointer(b) && !is_pointer(a) => args.swap(0, 1),
            _ => {
                let message = format!("wrong arguments of `{name}`");
                return Err(Diagnostic::error(span, message));
            }
        }
        args.push(order);
        Ok(args)
    }
}

/// As many arguments as were counted.
fn taken<const N: usize>(args: Vec<Expr>) -> [Expr; N] {
    args.try_into().expect("counted by the caller")
}

/// An atomic change, and what it gives.
struct Change {
    /// The compiler's function.
    function: String,
    by_one: bool,
    /// The order that its name means: those without a result are relaxed in the kernel.
    order: i128,
    /// What the new value is compared with 0 by.
    test: Option<Binary>,
}

/// `add`, `fetch_sub`, `inc_return`, `dec_and_test` ...
fn arithmetic(op: &str) -> Option<Change> {
    let op = op.strip_suffix("_explicit").unwrap_or(op);
    let has_result = op.starts_with("fetch_") || op.contains('_');
    let (verb, is_old, test) = if let Some(verb) = op.strip_prefix("fetch_") {
        (verb, true, None)
    } else if let Some(verb) = op.strip_suffix("_return") {
        (verb, false, None)
    } else if let Some(verb) = op.strip_suffix("_and_test") {
        (verb, false, Some(Binary::Eq))
    } else if let Some(verb) = op.strip_suffix("_negative") {
        (verb, false, Some(Binary::Lt))
    } else {
        (op, true, None)
    };
    let (verb, by_one) = match verb {
        "add" | "sub" | "and" | "or" | "xor" => (verb, false),
        "inc" => ("add", true),
        "dec" => ("sub", true),
        _ => return None,
    };
    let function = if is_old {
        format!("__atomic_fetch_{verb}")
    } else {
        format!("__atomic_{verb}_fetch")
    };
    Some(Change {
        function,
        by_one,
        order: if has_result { SEQ_CST } else { RELAXED },
        test,
    })
}

impl Change {
    fn applied(self, args: Vec<Expr>, span: Span) -> ExprKind {
        let kind = call(&self.function, args, span);
        match self.test {
            None => kind,
            Some(op) => {
                let zero = Box::new(number(0, span));
                ExprKind::Binary(op, Box::new(Expr { kind, span }), zero)
            }
        }
    }
}
