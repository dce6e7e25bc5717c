//! What may lie *ahead* of a thread at a location: what is not ahead may be forgotten.

use std::collections::BTreeSet;

use palisade_program::{FenceKind, Order, Place, Program, Step, TemplateId};

/// Cells and fences that a thread may still come to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Ahead {
    pub(super) access: BTreeSet<usize>,
    pub(super) store: BTreeSet<usize>,
    pub(super) relaxed_store: BTreeSet<usize>,
    pub(super) sc_store: BTreeSet<usize>,
    pub(super) sc_load: BTreeSet<usize>,
    pub(super) acquire_fence: bool,
    pub(super) sc_fence: bool,
}

impl Ahead {
    pub(super) fn is_sc(&self) -> bool {
        self.sc_fence || !self.sc_store.is_empty() || !self.sc_load.is_empty()
    }

    fn add(&mut self, other: &Self) {
        self.access.extend(&other.access);
        self.store.extend(&other.store);
        self.relaxed_store.extend(&other.relaxed_store);
        self.sc_store.extend(&other.sc_store);
        self.sc_load.extend(&other.sc_load);
        self.acquire_fence |= other.acquire_fence;
        self.sc_fence |= other.sc_fence;
    }

    fn step(&mut self, program: &Program, step: &Step, default: Order) {
        let cells = |place: &Place| {
            let first = program.cell(place.var, 0).index();
            let count = program.global(place.var).cell_count();
            first..first + count
        };
        let order = |place: &Place| place.order.or(default);
        match step {
            Step::Load { src, .. } => {
                self.access.extend(cells(src));
                if order(src) == Order::SeqCst {
                    self.sc_load.extend(cells(src));
                }
            }
            Step::Store { dst, .. } => {
                self.access.extend(cells(dst));
                self.store.extend(cells(dst));
                match order(dst) {
                    Order::SeqCst => self.sc_store.extend(cells(dst)),
                    Order::Relaxed | Order::Acquire => self.relaxed_store.extend(cells(dst)),
                    Order::Plain | Order::Release | Order::AcqRel => {}
                }
            }
            Step::Fence(kind) => {
                if let Some(order) = fence_order(*kind) {
                    self.acquire_fence |= order.acquires();
                    self.sc_fence |= order == Order::SeqCst;
                }
            }
            Step::Atomic(atomic) => {
                let default = super::block_order(atomic.kind);
                for edge in &atomic.body.edges {
                    self.step(program, &edge.step, default);
                }
            }
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
            Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } => {}
            Step::RemoteAtomic(_) | Step::Flush(_) => {}
        }
    }
}

/// The order of a fence; `None` if it does nothing.
pub(super) const fn fence_order(kind: FenceKind) -> Option<Order> {
    match kind {
        FenceKind::Full => Some(Order::SeqCst),
        FenceKind::Ordered(order) => Some(order),
        FenceKind::StoreStore | FenceKind::Candidate => None,
    }
}

/// What lies ahead at each location of a template.
pub(super) fn ahead(program: &Program, template: TemplateId) -> Vec<Ahead> {
    let cfg = &program.template(template).cfg;
    let mut all = vec![Ahead::default(); cfg.loc_count()];
    loop {
        let before = all.clone();
        for edge in &cfg.edges {
            let mut here = all[edge.to.index()].clone();
            here.step(program, &edge.step, Order::Plain);
            all[edge.from.index()].add(&here);
        }
        if all == before {
            return all;
        }
    }
}
