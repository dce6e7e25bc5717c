//! How many cells a buffer can *need*: the most stores that a thread can issue
//! between two points where its buffers are empty (full fences and atomic
//! blocks that wait), by its control flow alone. A cycle that stores without emptying the
//! buffers needs more than any bound.

use palisade_program::cfg::{Cfg, FenceKind, Step};
use palisade_program::{Cell, EdgeId, Program, Template};

use crate::blocks::cells;

/// The most stores buffered at once, over all templates; `None` if there is no
/// bound. With `cell`, only stores that may go to that cell are counted.
pub fn most_buffered(program: &Program, cell: Option<Cell>) -> Option<u32> {
    let weight = |t: &Template, e: EdgeId| weight(program, &t.cfg.edge(e).step, cell);
    let of = |t: &Template| longest(&t.cfg, &|edge| weight(t, edge));
    program
        .templates
        .iter()
        .map(of)
        .try_fold(0, |most, n| Some(most.max(n?)))
}

/// Stores added by a step, or `None` where the buffers are empty.
fn weight(program: &Program, step: &Step, cell: Option<Cell>) -> Option<u32> {
    match step {
        Step::Fence(FenceKind::Full) => None,
        Step::Atomic(atomic) if atomic.drains() => None,
        Step::Atomic(_) => Some(0),
        Step::Store { dst, .. } => {
            let counted = cell.is_none_or(|c| cells(program, dst).iter().any(|(_, x)| *x == c));
            Some(u32::from(counted))
        }
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => Some(0),
        Step::Load { .. } | Step::Fence(_) | Step::Assert { .. } => Some(0),
        Step::Put { .. } | Step::Get { .. } => Some(0),
        Step::RemoteAtomic(_) | Step::Flush(_) => Some(0),
    }
}

/// The greatest weight of a path that is reset by steps of weight `None`: longest
/// paths by relaxation; a value beyond the sum of all weights shows a cycle.
pub(crate) fn longest(cfg: &Cfg, weight: &dyn Fn(EdgeId) -> Option<u32>) -> Option<u32> {
    let ids = || (0..cfg.edges.len()).map(EdgeId::from);
    let total: u32 = ids().filter_map(weight).sum();
    let mut most: Vec<Option<u32>> = vec![None; cfg.loc_count()];
    most[cfg.entry.index()] = Some(0);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (id, edge) in ids().zip(&cfg.edges) {
            let Some(before) = most[edge.from.index()] else {
                continue;
            };
            let after = weight(id).map_or(0, |w| before + w);
            if after > total {
                return None;
            }
            if most[edge.to.index()].is_none_or(|known| known < after) {
                most[edge.to.index()] = Some(after);
                changed = true;
            }
        }
    }
    most.into_iter().flatten().max()
}
