//! *Undisturbed accesses*: locations at which a thread loads or stores while nobody else
//! can be at the same cells. A certificate of kind [`Kind::Stops`] may name such locations;
//! then they are no stops, although what happens there is not local. That nobody
//! disturbs is not trusted: the invariant itself has to show it. (Data that a lock
//! protects, or that a thread hands over when it ends, is free of interference in this sense.)
//!
//! The *region* of a location that is no stop is what a thread that is there passes until
//! its next stop, with it and with that stop; the region of a stop is the stop. Two locations
//! of different threads *clash* if a step at the first and a step at the second touch one
//! cell in memory and one of them writes it. (Under TSO and PSO a store outside of atomic blocks
//! touches no memory: it appends to the thread's own list, which nobody else sees and which
//! the memory system takes from at the other end.)
//!
//! **Rule.** The invariant has no state in which, for an free of interference location l of a thread
//! and a location m of another that clash, the first is in the region of l and the other
//! in the region of m; and, under TSO and PSO, none in which the first is in the region of l
//! and a store of the other to a cell that l touches is still buffered.
//!
//! **Claim.** If the rule holds for the states that the runs of `stops` reach, then in no
//! state of any run is such a pair of threads, nor such a thread and such a store. (Then
//! the argument of `stops` goes through as it stands: the steps of a thread that is at no
//! stop commute with everything that others do meanwhile.)
//!
//! Call a run *hasty* if a thread that is at no stop goes on at once, and a state *clashing*
//! if it breaks the rule. A hasty run into a clashing state goes on, if a thread is at no stop,
//! until it is at one: it stays in its regions, the buffers only grow, and the state is still
//! clashing; so the invariant, which holds all states of hasty runs in which all threads are
//! at stops, would break the rule. No hasty run comes to a clashing state, then. Suppose that
//! some run does. Among all states s of hasty runs and all runs from s to a clashing state
//! take one with the fewest steps a1 .. ak, and among these one in which a thread at no
//! stop, if there is one in s, has least to pass until its next stop (there are
//! no cycles without stops). k is not 0. If all threads are at stops in s then a1 prolongs
//! the hasty run, and k - 1 steps are left. Else let T be the thread at no stop.
//!
//! - If aj is the first step of T: no earlier step ai concerns a cell of aj in a way that
//!   matters, for the state before ai would be clashing, with fewer steps. So aj can come
//!   first, prolongs the hasty run, and k - 1 steps are left.
//! - If T does not move: one of its steps is enabled, prolongs the hasty run, and concerns
//!   no ai, by the same reason. After it a1 .. ak lead to a state that is still clashing:
//!   T has not left its regions. T has less to pass.
//!
//! Both contradict the choice. That T's step fails an assertion is excluded: no hasty run
//! does.

use crate::certificate::{Certificate, Control, Kind};
use crate::refusal::Reason;
use crate::stops::{Passing, stops_with};
use palisade_program::cfg::{Cfg, Edge, FenceKind, Place, Step};
use palisade_program::{
    Cell, Expr, Instance, LocId, LocalAtom, Model, Program, PropAtom, PropertyKind, TemplateId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A location with accesses: a template and one of its locations.
pub type AccessLoc = (TemplateId, LocId);

/// The locations of a program that a certificate under `model` may name: all that happens
/// there is loads, stores, atomic blocks of such that never wait, and local steps, and no
/// `never` looks at a cell that a step changes there.
pub fn candidates(program: &Program, model: Model) -> Vec<AccessLoc> {
    if model == Model::Rma || program.is_rma() {
        return Vec::new();
    }
    let observed = observed(program);
    let mut found = Vec::new();
    for template in program.template_ids() {
        let cfg = &program.template(template).cfg;
        let empty = empty_buffers(cfg);
        for loc in cfg.locs() {
            let mut steps = cfg.outgoing(loc).map(|(_, edge)| &edge.step);
            let shared = |step: &Step| step.loaded().or(step.stored()).is_some();
            let some = |step: &Step| shared(step) || step.block().is_some();
            let some = cfg.outgoing(loc).any(|(_, edge)| some(&edge.step));
            let fits = |step: &Step| {
                let mut unseen = true;
                touched(step, model, &mut |place, writes| {
                    unseen &= !writes || !observed.contains(&place.var);
                });
                let waits = model != Model::Sc && !empty[loc.index()];
                unseen && step.block().is_none_or(|b| !waits && never_waits(&b.body))
            };
            if some && steps.all(fits) {
                found.push((template, loc));
            }
        }
    }
    found
}

/// Whether a block runs through, whatever its values are.
fn never_waits(body: &Cfg) -> bool {
    let plain = |step: &Step| match step {
        Step::Skip | Step::Assign { .. } | Step::Load { .. } | Step::Store { .. } => true,
        Step::Assume(_) | Step::Havoc { .. } | Step::Assert { .. } | Step::Fence(_) => false,
        Step::Atomic(_) | Step::Put { .. } | Step::Get { .. } => false,
        Step::RemoteAtomic(_) | Step::Flush(_) => false,
    };
    body.edges.iter().all(|edge| plain(&edge.step)) && !body.has_cycle()
}

/// For each location whether the thread's buffers are empty there for certain: behind the last
/// fence or atomic block that waits for that, or the start, there is no store.
pub fn empty_buffers(cfg: &Cfg) -> Vec<bool> {
    let mut empty = vec![true; cfg.loc_count()];
    let fills = |edge: &Edge, empty: &[bool]| match &edge.step {
        Step::Store { .. } => true,
        Step::Fence(FenceKind::Full) => false,
        Step::Atomic(atomic) if atomic.drains() => false,
        Step::Atomic(_) | Step::Fence(_) | Step::Skip | Step::Assume(_) => {
            !empty[edge.from.index()]
        }
        Step::Assign { .. } | Step::Havoc { .. } | Step::Load { .. } | Step::Assert { .. } => {
            !empty[edge.from.index()]
        }
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => true,
    };
    while let Some(edge) = cfg
        .edges
        .iter()
        .find(|edge| empty[edge.to.index()] && fills(edge, &empty))
    {
        empty[edge.to.index()] = false;
    }
    empty
}

/// The globals of which a `never` speaks.
fn observed(program: &Program) -> BTreeSet<palisade_program::GlobalId> {
    let mut found = BTreeSet::new();
    for property in &program.properties {
        if property.kind == PropertyKind::Never {
            property.cond.for_each_atom(&mut |atom| match atom {
                PropAtom::Global(var, _) => drop(found.insert(*var)),
                PropAtom::At(..) | PropAtom::Local(..) | PropAtom::SelfOf(_) => {}
            });
        }
    }
    found
}

/// Whether what the certificate names may be named.
pub(crate) fn admissible(program: &Program, certificate: &Certificate) -> Result<(), Reason> {
    if certificate.interference_free.is_empty() {
        return Ok(());
    }
    let malformed = |what: &str| Err(Reason::Malformed(what.to_owned()));
    if certificate.kind != Kind::Stops {
        return malformed("interference_free accesses, but not of kind `stops`");
    }
    let possible: FxHashSet<AccessLoc> =
        candidates(program, certificate.model).into_iter().collect();
    if !certificate
        .interference_free
        .iter()
        .all(|a| possible.contains(a))
    {
        return malformed("an interference_free access that is no load or store");
    }
    Ok(())
}

/// The stops of each thread if these accesses are free of interference.
pub fn stops_passing(
    program: &Program,
    model: Model,
    instances: &[Instance],
    interference_free: &[AccessLoc],
) -> Vec<Vec<bool>> {
    let none = FxHashSet::default();
    let of = |instance: &Instance| {
        let passing = Passing {
            accesses: interference_free,
            also: &none,
        };
        stops_with(program, model, instance.template, &passing)
    };
    instances.iter().map(of).collect()
}

/// For a stop of one thread and one of another: accesses of the first.
type Meetings = FxHashMap<(LocId, LocId), Vec<LocId>>;

/// An access, and the cells that it touches.
type Touching = (LocId, Vec<Cell>);

/// Which free of interference accesses may be disturbed where.
#[derive(Debug)]
pub struct Disturbances {
    /// For two threads and a stop of each: the accesses of the first that the second, being
    /// there, would disturb.
    pairs: FxHashMap<(usize, usize), Meetings>,
    /// TSO, PSO: for a thread and its stop, the accesses in whose regions it is, with
    /// the cells that they touch.
    cells: Vec<FxHashMap<LocId, Vec<Touching>>>,
    templates: Vec<TemplateId>,
}

impl Disturbances {
    /// Of the threads of a program, with these accesses free of interference and these stops. (With
    /// every location a stop: of each access while the thread is there.)
    pub fn new(
        program: &Program,
        model: Model,
        instances: &[Instance],
        interference_free: &[AccessLoc],
        stops: &[Vec<bool>],
    ) -> Self {
        let threads: Vec<Accesses> = instances
            .iter()
            .zip(stops)
            .map(|(instance, stops)| Accesses::of(program, model, *instance, stops))
            .collect();
        let own = |thread: usize| {
            let template = instances[thread].template;
            let named = interference_free
                .iter()
                .filter(move |(t, _)| *t == template);
            named.map(|(_, loc)| *loc)
        };
        let mut disturbances = Self {
            pairs: FxHashMap::default(),
            cells: vec![FxHashMap::default(); instances.len()],
            templates: instances.iter().map(|i| i.template).collect(),
        };
        for (thread, accesses) in threads.iter().enumerate() {
            for loc in own(thread) {
                for (other, others) in threads.iter().enumerate() {
                    if other != thread {
                        let table = disturbances.pairs.entry((thread, other)).or_default();
                        accesses.clashes(loc, others, table);
                    }
                }
                let touched = accesses.cells[loc.index()].iter().map(|(cell, _)| *cell);
                let touched: Vec<Cell> = touched.collect();
                if model != Model::Sc && !touched.is_empty() {
                    for rest in &accesses.regions[loc.index()] {
                        let here = disturbances.cells[thread].entry(*rest).or_default();
                        here.push((loc, touched.clone()));
                    }
                }
            }
        }
        disturbances.pairs.retain(|_, table| !table.is_empty());
        disturbances
    }

    /// The accesses that are disturbed in the states of `control`.
    pub fn at(&self, control: &Control) -> BTreeSet<AccessLoc> {
        let mut found = BTreeSet::new();
        for ((thread, other), table) in &self.pairs {
            let rests = (control.locs[*thread], control.locs[*other]);
            for loc in table.get(&rests).into_iter().flatten() {
                found.insert((self.templates[*thread], *loc));
            }
        }
        for (thread, table) in self.cells.iter().enumerate() {
            for (loc, cells) in table.get(&control.locs[thread]).into_iter().flatten() {
                let waits = |cell: &Cell| {
                    let mut buffers = control.buffers.iter().enumerate();
                    buffers.any(|(other, b)| other != thread && b.has_store_to(*cell))
                };
                if cells.iter().any(waits) {
                    found.insert((self.templates[thread], *loc));
                }
            }
        }
        found
    }
}

/// The accesses of a certificate that its invariant does not show to be free of interference.
pub fn disturbed(program: &Program, certificate: &Certificate) -> BTreeSet<AccessLoc> {
    if certificate.interference_free.is_empty() {
        return BTreeSet::new();
    }
    let instances = program.instances(certificate.threads);
    let stops: Vec<Vec<bool>> = instances
        .iter()
        .enumerate()
        .map(|(thread, instance)| {
            let entries = certificate.entries.iter();
            let used = entries.map(|e| e.control.locs[thread]).collect();
            let passing = Passing {
                accesses: &certificate.interference_free,
                also: &used,
            };
            stops_with(program, certificate.model, instance.template, &passing)
        })
        .collect();
    // Where a thread stops it may be disturbed.
    let passed = |(template, loc): &&AccessLoc| {
        let mut threads = instances.iter().zip(&stops);
        threads.any(|(i, stops)| i.template == *template && !stops[loc.index()])
    };
    let interference_free: Vec<AccessLoc> = certificate
        .interference_free
        .iter()
        .filter(passed)
        .copied()
        .collect();
    let model = certificate.model;
    let disturbances = Disturbances::new(program, model, &instances, &interference_free, &stops);
    let states = certificate.entries.iter().filter(|e| !e.cubes.is_empty());
    states.flat_map(|e| disturbances.at(&e.control)).collect()
}

/// What a thread does to memory at each of its locations.
struct Accesses {
    /// The cells that it touches in memory, and whether it writes them.
    cells: Vec<Vec<(Cell, bool)>>,
    /// The stops of each location's region.
    regions: Vec<Vec<LocId>>,
}

impl Accesses {
    fn of(program: &Program, model: Model, instance: Instance, stops: &[bool]) -> Self {
        let cfg = &program.template(instance.template).cfg;
        let mut cells = Vec::with_capacity(cfg.loc_count());
        for loc in cfg.locs() {
            let mut here = Vec::new();
            for (_, edge) in cfg.outgoing(loc) {
                touched(&edge.step, model, &mut |place, writes| {
                    let named = cells_of(program, instance, place);
                    here.extend(named.into_iter().map(|cell| (cell, writes)));
                });
            }
            here.sort_unstable();
            here.dedup();
            cells.push(here);
        }
        let regions = cfg.locs().map(|loc| region(cfg, loc, stops)).collect();
        Self { cells, regions }
    }

    /// Adds the stops at which another thread would disturb what happens at `loc`.
    fn clashes(&self, loc: LocId, other: &Self, table: &mut Meetings) {
        let own = &self.cells[loc.index()];
        let clash =
            |(a, writes): (Cell, bool), (b, others): (Cell, bool)| a == b && (writes || others);
        for (number, cells) in other.cells.iter().enumerate() {
            let clashes = own.iter().any(|a| cells.iter().any(|b| clash(*a, *b)));
            if !clashes {
                continue;
            }
            for rest in &self.regions[loc.index()] {
                for others in &other.regions[number] {
                    table.entry((*rest, *others)).or_default().push(loc);
                }
            }
        }
    }
}

/// Calls `f` with each place that a step touches in memory, and whether it writes it.
fn touched<'s>(step: &'s Step, model: Model, f: &mut impl FnMut(&'s Place, bool)) {
    match step {
        Step::Load { src, .. } => f(src, false),
        // Under TSO and PSO it goes to the thread's own list.
        Step::Store { dst, .. } if model == Model::Sc => f(dst, true),
        Step::Store { .. } => {}
        Step::Atomic(atomic) => {
            // What a block stores it stores in memory.
            for edge in &atomic.body.edges {
                touched(&edge.step, Model::Sc, f);
            }
        }
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
        Step::Fence(_) | Step::Assert { .. } => {}
        // `candidates` has none where there are such steps.
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {}
    }
}

/// The cells that a place may name.
fn cells_of(program: &Program, instance: Instance, place: &Place) -> Vec<Cell> {
    let count = program.global(place.var).cell_count() as u32;
    let one = match &place.index {
        None => Some(0),
        Some(Expr::Const(number)) => u32::try_from(*number).ok(),
        Some(Expr::Atom(LocalAtom::SelfId)) => Some(instance.copy),
        Some(_) => None,
    };
    match one.filter(|number| *number < count) {
        Some(number) => vec![program.cell(place.var, number)],
        None => (0..count).map(|n| program.cell(place.var, n)).collect(),
    }
}

/// The stops of the region of `loc`.
fn region(cfg: &Cfg, loc: LocId, stops: &[bool]) -> Vec<LocId> {
    let mut found = BTreeSet::new();
    let mut seen = FxHashSet::default();
    let mut open = vec![loc];
    while let Some(loc) = open.pop() {
        if !seen.insert(loc) {
            continue;
        }
        if stops[loc.index()] {
            found.insert(loc);
        } else {
            open.extend(cfg.outgoing(loc).map(|(_, edge)| edge.to));
        }
    }
    found.into_iter().collect()
}
