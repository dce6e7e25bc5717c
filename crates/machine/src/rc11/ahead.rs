//! What lies *ahead* of a thread at a location of its code: which accesses and fences it may
//! still come to. What is not ahead need not be remembered ([`super::normal`]).

use palisade_program::Order;

use crate::machine::{Act, Graph, Spot};

/// See the module's header; by cell where that matters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ahead {
    /// Any access.
    pub(crate) access: Vec<bool>,
    /// Any store or update.
    pub(crate) store: Vec<bool>,
    /// A store that publishes what was released before: relaxed, or a relaxed update.
    pub(crate) relaxed_store: Vec<bool>,
    /// An SC store or update.
    pub(crate) sc_store: Vec<bool>,
    /// An SC load.
    pub(crate) sc_load: Vec<bool>,
    /// A fence that acquires.
    pub(crate) acquire_fence: bool,
    /// An SC fence.
    pub(crate) sc_fence: bool,
    /// Any SC event.
    pub(crate) sc: bool,
}

impl Ahead {
    fn nothing(cells: usize) -> Self {
        let none = vec![false; cells];
        Self {
            access: none.clone(),
            store: none.clone(),
            relaxed_store: none.clone(),
            sc_store: none.clone(),
            sc_load: none,
            acquire_fence: false,
            sc_fence: false,
            sc: false,
        }
    }

    fn fence(&mut self, order: Order) {
        self.acquire_fence |= order.acquires();
        self.sc_fence |= order == Order::SeqCst;
        self.sc |= order == Order::SeqCst;
    }

    fn access(&mut self, spot: Spot, order: Order, is_store: bool) {
        let cells = match spot {
            Spot::Cell(cell) => cell..cell + 1,
            Spot::Element { base, len, .. } => base..base + len,
        };
        self.sc |= order == Order::SeqCst;
        for cell in cells.map(|c| c as usize) {
            self.access[cell] = true;
            if is_store {
                self.store[cell] = true;
                self.relaxed_store[cell] |= matches!(order, Order::Relaxed | Order::Acquire);
                self.sc_store[cell] |= order == Order::SeqCst;
            } else {
                self.sc_load[cell] |= order == Order::SeqCst;
            }
        }
    }

    fn act(&mut self, act: Act, blocks: &[Graph]) {
        match act {
            Act::Load { src, order, .. } => self.access(src, order, false),
            Act::Store { dst, order, .. } => self.access(dst, order, true),
            Act::Ordered(order) => self.fence(order),
            Act::Block(block) => {
                for arc in &blocks[block as usize].arcs {
                    self.act(arc.act, blocks);
                }
            }
            Act::Skip | Act::Assume(_) | Act::Assign { .. } | Act::Havoc { .. } => {}
            Act::Assert(_) => {}
            Act::Buffer { .. } | Act::Fence | Act::StoreStore | Act::Copy { .. } => {}
            Act::Issue { .. } | Act::Remote(_) | Act::Flush { .. } => {}
        }
    }

    fn merge(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (a, b) in [
            (&mut self.access, &other.access),
            (&mut self.store, &other.store),
            (&mut self.relaxed_store, &other.relaxed_store),
            (&mut self.sc_store, &other.sc_store),
            (&mut self.sc_load, &other.sc_load),
        ] {
            a.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
        }
        self.acquire_fence |= other.acquire_fence;
        self.sc_fence |= other.sc_fence;
        self.sc |= other.sc;
        *self != before
    }
}

/// What lies ahead at each location of a thread.
pub(crate) fn ahead(graph: &Graph, blocks: &[Graph], cells: usize) -> Vec<Ahead> {
    let mut all = vec![Ahead::nothing(cells); graph.loc_count()];
    let mut changed = true;
    while changed {
        changed = false;
        for loc in (0..graph.loc_count()).rev() {
            for arc in graph.from(loc as u32) {
                let mut more = all[graph.arcs[arc].to as usize].clone();
                more.act(graph.arcs[arc].act, blocks);
                changed |= all[loc].merge(&more);
            }
        }
    }
    all
}
