//! *Atomic operations* by the names of the three families: C11's `atomic_*`, gcc's `__atomic_*` and `__sync_*`.

use crate::c::ast::{Binary, Expr, ExprKind, Unary};

/// What an atomic operation does. The first argument always leads to the place.
pub(super) enum Atomic<'e> {
    Load,
    /// With the memory order, if one is given.
    Store(&'e Expr, Option<&'e Expr>),
    Exchange(&'e Expr),
    /// Adds, or subtracts; `new`: the result is the new value.
    Add {
        by: &'e Expr,
        minus: bool,
        new: bool,
    },
    /// Another operation on numbers, such as `|`.
    Other,
    Cas(Cas<'e>),
    TestAndSet,
    Clear(Option<&'e Expr>),
    /// Before others can know the place.
    Initialise(&'e Expr),
}

/// A compare-and-swap.
pub(super) struct Cas<'e> {
    pub(super) expected: Expected<'e>,
    pub(super) new: &'e Expr,
    pub(super) may_fail: bool,
}

/// What a compare-and-swap expects.
#[derive(Clone, Copy)]
pub(super) enum Expected<'e> {
    /// `&e`: what was found is written there if it fails.
    Variable(&'e Expr),
    /// A value; the result is whether it succeeds.
    Value(&'e Expr),
    /// A value; the result is what was found.
    Found(&'e Expr),
}

/// Whether it is a fence; the argument, if there is one, is its order.
pub(super) fn is_fence(name: &str) -> bool {
    matches!(
        name,
        "atomic_thread_fence"
            | "__atomic_thread_fence"
            | "__sync_synchronize"
            | "_mm_mfence"
            | "__builtin_ia32_mfence"
    )
}

/// The place and the operation of a call.
pub(super) fn atomic<'e>(name: &str, args: &'e [Expr]) -> Option<(&'e Expr, Atomic<'e>)> {
    let (at, rest) = args.split_first()?;
    if let Some(name) = name.strip_prefix("__sync_") {
        return Some((at, sync(name, rest)?));
    }
    let short = name
        .strip_prefix("__c11_atomic_")
        .or_else(|| name.strip_prefix("__atomic_"))
        .or_else(|| name.strip_prefix("atomic_"))?;
    let short = short.strip_suffix("_explicit").unwrap_or(short);
    let is_gcc = name.starts_with("__atomic_");
    let atomic = match (short, rest) {
        ("load" | "load_n", _) if !is_gcc || short == "load_n" => Atomic::Load,
        ("store" | "store_n", [value, order @ ..]) if !is_gcc || short == "store_n" => {
            Atomic::Store(value, order.first())
        }
        ("exchange" | "exchange_n", [value, ..]) if !is_gcc || short == "exchange_n" => {
            Atomic::Exchange(value)
        }
        ("compare_exchange_strong", [expected, new, ..]) => cas(expected, new, false),
        ("compare_exchange_weak", [expected, new, ..]) => cas(expected, new, true),
        ("compare_exchange_n", [expected, new, weak, ..]) => {
            cas(expected, new, !matches!(weak.kind, ExprKind::Int(0, _)))
        }
        ("flag_test_and_set" | "test_and_set", _) => Atomic::TestAndSet,
        ("flag_clear" | "clear", order) => Atomic::Clear(order.first()),
        ("init", [value]) => Atomic::Initialise(value),
        (_, [by, ..]) => change(short, by)?,
        _ => return None,
    };
    Some((at, atomic))
}

fn cas<'e>(expected: &'e Expr, new: &'e Expr, may_fail: bool) -> Atomic<'e> {
    Atomic::Cas(Cas {
        expected: Expected::Variable(expected),
        new,
        may_fail,
    })
}

fn change<'e>(name: &str, by: &'e Expr) -> Option<Atomic<'e>> {
    let (what, new) = match (name.strip_prefix("fetch_"), name.strip_suffix("_fetch")) {
        (Some(what), _) => (what, false),
        (None, Some(what)) => (what, true),
        (None, None) => return None,
    };
    Some(match what {
        "add" => Atomic::Add {
            by,
            minus: false,
            new,
        },
        "sub" => Atomic::Add {
            by,
            minus: true,
            new,
        },
        "and" | "or" | "xor" | "nand" => Atomic::Other,
        _ => return None,
    })
}

fn sync<'e>(name: &str, rest: &'e [Expr]) -> Option<Atomic<'e>> {
    Some(match (name, rest) {
        ("bool_compare_and_swap", [expected, new, ..]) => Atomic::Cas(Cas {
            expected: Expected::Value(expected),
            new,
            may_fail: false,
        }),
        ("val_compare_and_swap", [expected, new, ..]) => Atomic::Cas(Cas {
            expected: Expected::Found(expected),
            new,
            may_fail: false,
        }),
        ("lock_test_and_set", [value, ..]) => Atomic::Exchange(value),
        ("lock_release", _) => Atomic::Clear(None),
        ("fetch_and_add", [by, ..]) => change("fetch_add", by)?,
        ("fetch_and_sub", [by, ..]) => change("fetch_sub", by)?,
        ("add_and_fetch", [by, ..]) => change("add_fetch", by)?,
        ("sub_and_fetch", [by, ..]) => change("sub_fetch", by)?,
        ("fetch_and_or" | "fetch_and_and" | "fetch_and_xor", _) => Atomic::Other,
        _ => return None,
    })
}

/// The variable whose address an expression is.
pub(super) fn addressed(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Unary(Unary::Address, a) => Some(a),
        ExprKind::Cast(_, a) => addressed(a),
        _ => None,
    }
}

/// The same expression without casts.
pub(super) fn uncast(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Cast(_, a) => uncast(a),
        _ => e,
    }
}

/// Whether an operator compares.
pub(super) const fn compares(op: Binary) -> bool {
    matches!(
        op,
        Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge | Binary::Eq | Binary::Ne
    )
}
