//! *Found*: what one pass over the program leaves to the next. Passes go on until they
//! find what they started from.

use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_program::{Cfg, GlobalId, Step};

use super::layout::{Cells, Object};
use super::mpi;
use super::onesided;
use super::thread::Plan;
use crate::c::types::Type;

/// What a pass has found.
#[derive(Clone, Default)]
pub(super) struct Found<'a> {
    pub(super) objects: Vec<Rc<Object>>,
    pub(super) plans: Vec<Plan<'a>>,
    /// MPI: the windows of each rank.
    pub(super) windows: Vec<mpi::Windows>,
    /// Accesses of remote operations that may be under way.
    pub(super) tracked: onesided::Tracked,
    /// The declared variables that some pass has found a store to.
    pub(super) stored: BTreeSet<GlobalId>,
    /// Types that pointers to something else were converted to.
    pub(super) recast: Vec<Type>,
    /// Whether an address becomes an integer.
    pub(super) numbers: bool,
    /// The threads that may join or detach a thread.
    pub(super) joiners: std::collections::BTreeMap<usize, BTreeSet<usize>>,
    /// Locks whose owners are not followed.
    pub(super) unowned: BTreeSet<GlobalId>,
    /// Local variables, by their numbers, that pointers in shared memory point to.
    pub(super) published: BTreeSet<usize>,
    /// What each thread accesses, in some pass.
    pub(super) accesses: Vec<Accesses>,
    /// MPI: what remote operations access.
    pub(super) network: BTreeSet<GlobalId>,
    pub(super) complete: bool,
}

/// The variables that a thread accesses.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Accesses {
    pub(super) loads: BTreeSet<GlobalId>,
    pub(super) stores: BTreeSet<GlobalId>,
}

/// The first variable of an object in memory.
fn shared(object: &Object) -> Option<GlobalId> {
    match object.cells.first() {
        Some(Cells::Shared(var)) => Some(*var),
        Some(Cells::Locals(_)) | None => None,
    }
}

/// Whether objects have the same variables.
pub(super) fn same_cells(now: &[Rc<Object>], before: &[Rc<Object>]) -> bool {
    let mut both = now.iter().zip(before);
    now.len() == before.len() && both.all(|(a, b)| shared(a) == shared(b))
}

impl Found<'_> {
    pub(super) fn same(&self, other: &Self) -> bool {
        let objects = self.objects.iter().zip(&other.objects);
        let plans = self.plans.iter().zip(&other.plans);
        other.complete
            && self.windows == other.windows
            && self.tracked == other.tracked
            && self.stored == other.stored
            && self.recast == other.recast
            && self.numbers == other.numbers
            && self.unowned == other.unowned
            && self.published == other.published
            && self.joiners == other.joiners
            && self.accesses == other.accesses
            && self.network == other.network
            && self.objects.len() == other.objects.len()
            && self.plans.len() == other.plans.len()
            && objects.into_iter().all(|(a, b)| {
                a.name == b.name && a.base == b.base && a.ty == b.ty && shared(a) == shared(b)
            })
            && plans.into_iter().all(|(a, b)| {
                a.ended == b.ended && a.is_any == b.is_any && a.function.name == b.function.name
            })
    }
}

/// Notes the variables that a graph accesses.
pub(super) fn note_accesses(cfg: &Cfg, accesses: &mut Accesses, network: &mut BTreeSet<GlobalId>) {
    for edge in &cfg.edges {
        match &edge.step {
            Step::Store { dst, .. } => {
                accesses.stores.insert(dst.var);
            }
            Step::Load { src, .. } => {
                accesses.loads.insert(src.var);
            }
            Step::Atomic(block) => note_accesses(&block.body, accesses, network),
            Step::Put { remote, local } | Step::Get { local, remote } => {
                network.extend([remote.var, local.var]);
            }
            Step::RemoteAtomic(atomic) => network.extend(atomic.places().map(|p| p.var)),
            Step::Flush(_) | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
            Step::Havoc { .. } | Step::Fence(_) | Step::Assert { .. } => {}
        }
    }
}
