//! *Quiet* locations: a thread may go on from there at once, since no other thread notices its next
//! step, nor it theirs. With restricted interleaving nobody else acts there ([Friggens and Groves, arXiv 2015],
//! section 4: accesses of shared memory that matter).
//!
//! Such a step commutes with every step of another thread: it is over locals, or over fields of a
//! node that only one local of this call points to. So what others do before it they can do
//! after it: at the next location, which must not be inside an atomic block, or further on. Every run
//! is like one in which threads are not interrupted there. The same links are written in it, with the same values, so
//! a cycle in the one is a cycle in the other: none leads through a node to which nothing leads.

use palisade_program::LocId;
use palisade_program::heap::{Body, Edge, Place, Step, Term};

/// Locations where a thread may go on at once: its steps there are over locals, one of
/// them is possible, and they end. (A thread that stays for good, in a loop or at an
/// `assume`, must not keep the others from going on.)
pub(super) fn quiet(body: &Body) -> Vec<bool> {
    let private = private(body);
    let goes_on = |at: LocId| {
        let edges: Vec<&Edge> = body.leaving(at).map(|(_, edge)| edge).collect();
        let local = edges
            .iter()
            .all(|e| local_step(&e.step, &private[at.index()]) && e.commits.is_empty());
        let possible = match edges[..] {
            [only] => !matches!(only.step, Step::Assume(_)),
            [a, b] => match (&a.step, &b.step) {
                (Step::Assume(c), Step::Assume(d)) => {
                    c.clone().negated() == *d || d.clone().negated() == *c
                }
                _ => false,
            },
            _ => false,
        };
        // Others act before an atomic block, and cannot act in it instead.
        let enters = |e: &&Edge| body.locations[e.to.index()].atomic;
        let outside = !body.locations[at.index()].atomic;
        let enters = outside && edges.iter().any(enters);
        local && possible && !enters && at != body.entry
    };
    let all = (0..body.locations.len()).map(LocId::from);
    let candidates: Vec<bool> = all.map(goes_on).collect();
    let mut quiet = vec![false; candidates.len()];
    loop {
        let ends = |at: usize| {
            let mut after = body.leaving(LocId::from(at)).map(|(_, e)| e.to.index());
            candidates[at] && after.all(|to| !candidates[to] || quiet[to])
        };
        let next: Vec<bool> = (0..quiet.len()).map(ends).collect();
        if next == quiet {
            return quiet;
        }
        quiet = next;
    }
}

/// Whether no other thread notices the step, nor it them: it is over locals and fields of nodes
/// that nobody else can reach.
fn local_step(step: &Step, private: &[bool]) -> bool {
    match step {
        Step::Skip
        | Step::Fence
        | Step::Assume(_)
        | Step::Assign { .. }
        | Step::Havoc { .. }
        | Step::New { .. }
        | Step::Compute { .. }
        | Step::Fail(_)
        | Step::Return(_) => true,
        Step::Read { from: place, .. } | Step::Write { to: place, .. } => match place {
            Place::Shared(_) => false,
            Place::Field { of, .. } => private[of.index()],
        },
        Step::Cas { .. } | Step::Lock(_) | Step::Unlock(_) | Step::Free(_) => false,
    }
}

/// Locals, at each location, that are the only pointer to a node: it was allocated by this call, and
/// the local has not been written to memory or copied since, on any path.
pub(crate) fn private(body: &Body) -> Vec<Vec<bool>> {
    let mut all = vec![vec![true; body.locals.len()]; body.locations.len()];
    all[body.entry.index()] = vec![false; body.locals.len()];
    loop {
        let mut changed = false;
        for edge in &body.edges {
            let mut after = all[edge.from.index()].clone();
            match &edge.step {
                Step::New { to } => after[to.index()] = true,
                Step::Assign { to, value } => {
                    after[to.index()] = false;
                    escape(*value, &mut after);
                }
                Step::Havoc { to } | Step::Compute { to, .. } => after[to.index()] = false,
                Step::Read { to, tag, .. } => {
                    after[to.index()] = false;
                    if let Some(tag) = tag {
                        after[tag.index()] = false;
                    }
                }
                Step::Write { value, .. } => escape(*value, &mut after),
                Step::Cas { new, success, .. } if *success => escape(*new, &mut after),
                Step::Skip
                | Step::Fence
                | Step::Assume(_)
                | Step::Cas { .. }
                | Step::Lock(_)
                | Step::Unlock(_)
                | Step::Free(_)
                | Step::Fail(_)
                | Step::Return(_) => {}
            }
            for (here, after) in all[edge.to.index()].iter_mut().zip(after) {
                changed |= *here && !after;
                *here &= after;
            }
        }
        if !changed {
            return all;
        }
    }
}

fn escape(value: Term, private: &mut [bool]) {
    if let Some(id) = value.local() {
        private[id.index()] = false;
    }
}
