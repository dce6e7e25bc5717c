//! The *mapping* of C11's memory orders to fences, for the models of hardware: a seq_cst store
//! is followed by a full fence; stores and fences of release strength have a store-store fence
//! before them (which matters under PSO only); loads need nothing; read-modify-writes are
//! atomic blocks. docs/memory-models.md has the reasons.

use palisade_program::{FenceKind, Order, Step};

/// The fence before a store.
pub(crate) fn before_store(order: Order) -> Option<FenceKind> {
    order.releases().then_some(FenceKind::StoreStore)
}

/// The fence behind a store.
pub(crate) fn after_store(order: Order) -> Option<FenceKind> {
    (order == Order::SeqCst).then_some(FenceKind::Full)
}

/// What a fence becomes.
pub(crate) const fn fences(order: Order) -> &'static [FenceKind] {
    match order {
        Order::SeqCst => &[FenceKind::StoreStore, FenceKind::Full],
        Order::Release | Order::AcqRel => &[FenceKind::StoreStore],
        Order::Plain | Order::Relaxed | Order::Acquire => &[],
    }
}

/// A fence that keeps its order; a relaxed one does nothing.
pub(crate) const fn kept_fence(order: Order) -> Step {
    match order {
        Order::Plain | Order::Relaxed => Step::Skip,
        Order::Acquire | Order::Release | Order::AcqRel | Order::SeqCst => {
            Step::Fence(FenceKind::Ordered(order))
        }
    }
}

/// The order of a compare-and-swap that fails, unless one is written (C11, 7.17.7.4).
pub(crate) const fn failing(order: Order) -> Order {
    match order {
        Order::AcqRel | Order::Acquire => Order::Acquire,
        Order::Release | Order::Relaxed => Order::Relaxed,
        Order::SeqCst => Order::SeqCst,
        Order::Plain => Order::Plain,
    }
}
