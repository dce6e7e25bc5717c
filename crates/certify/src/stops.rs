//! *Stops*: the locations at which a thread can be while others move, for
//! certificates of kind [`Kind::Stops`](crate::Kind::Stops). Between two stops a
//! thread only works on its own locals, or on memory that nobody else uses meanwhile
//! (`interference.rs` says what that is, and how it is shown).
//!
//! **Claim.** If a program can violate a property, it can do so in a run in which
//! other threads and the memory system move only while every thread is at a stop.
//!
//! Let location q be no stop. By the conditions below every step at q reads and
//! writes locals of its thread only, and at least one is enabled whatever their
//! values. Such a step commutes with every step of another thread and with every
//! departure of a buffered store: neither touches what the other does. Take a
//! run to a violation, and in it a thread that is at q while something else
//! moves. If the thread moves on later, its next step can be moved forward to
//! where it arrived at q. If it does not, append one of its enabled steps and
//! move that forward; repeat until it is at a stop, which ends because no cycle
//! runs through such locations alone. The run still violates:
//!
//! - an assertion that failed still fails: what it reads was not changed, or it
//!   is itself the step that moved, and then fails earlier;
//! - memory and the locals that properties read are the same at the end;
//! - a location that is no stop is named by no property, so moving on can only
//!   make an `@` true that was false. A `never` that has all its `@` under `&&`
//!   and `||` stays satisfied; a template with any other use has stops only;
//! - `finally` speaks of ended threads, and the exit is a stop.
//!
//! Where deadlocks count ([`palisade_program::Program::deadlock`]), what a run leads to is a state
//! in which no thread can move. No thread is then at a location that is no stop, since it
//! could move there; so nothing is appended, and the reordered run ends in the same state.
//! Tests (below) are stops then.
//!
//! *Tests* are no stops either, although a thread may wait there for ever: locations whose
//! steps are conditions on locals, which a thread reaches from a stop by local steps and
//! one load at most, at the stop itself. Whether it gets through is decided with that load. If it
//! does not, take what it has done since the stop out of the run: nobody else has seen it, no
//! property looks at what it changed, and what is left is a run. So it can be assumed that
//! every thread that leaves a stop for a test gets through, and then, as above, at once.

use crate::expression::are_opposite;
use palisade_program::{
    BinOp, Cfg, Edge, Expr, FenceKind, LocId, LocalId, Model, Program, PropAtom, PropExpr,
    Property, PropertyKind, Step, TemplateId, UnOp,
};
use rustc_hash::FxHashSet;

use crate::interference::{AccessLoc, empty_buffers};

/// For each location of a template whether it is a stop under `model`.
pub fn stops(program: &Program, model: Model, template: TemplateId) -> Vec<bool> {
    let passing = Passing {
        accesses: &[],
        also: &FxHashSet::default(),
    };
    stops_with(program, model, template, &passing)
}

/// What a certificate says of stops.
pub(crate) struct Passing<'c> {
    /// Undisturbed accesses: no stops by themselves.
    pub(crate) accesses: &'c [AccessLoc],
    /// Locations that are stops all the same. More stops than needed are always
    /// allowed: the claim holds for every such set.
    pub(crate) also: &'c FxHashSet<LocId>,
}

/// As [`stops`], for a certificate that says this.
pub(crate) fn stops_with(
    program: &Program,
    model: Model,
    template: TemplateId,
    passing: &Passing<'_>,
) -> Vec<bool> {
    let cfg = &program.template(template).cfg;
    let mut watched = Watched::default();
    for property in &program.properties {
        watched.add(property, template);
    }
    let mut stop = vec![true; cfg.loc_count()];
    let empty = empty_buffers(cfg);
    if watched.everything {
        return stop;
    }
    for loc in cfg.locs() {
        let at_end = loc == cfg.entry || loc == cfg.exit || passing.also.contains(&loc);
        let ground = Ground {
            accesses: passing.accesses.contains(&(template, loc)),
            ordered: model == Model::Sc || empty[loc.index()],
            model,
        };
        stop[loc.index()] =
            at_end || watched.locs.contains(&loc) || !is_quiet(cfg, loc, &watched, ground);
    }
    let kept = |loc: LocId| passing.also.contains(&loc) || watched.locs.contains(&loc);
    // Where deadlocks count, so does a thread that waits at a test.
    if !program.deadlock {
        pass_tests(cfg, &mut stop, &watched, kept);
    }
    let inside: Vec<bool> = stop.iter().map(|stop| !stop).collect();
    for loc in cfg.cycle_cuts(&inside) {
        stop[loc.index()] = true;
    }
    stop
}

/// Makes *tests* no stops: locations other than those `kept` at which a thread only goes on if
/// its locals satisfy a condition, and to which it comes from a stop by a load at most
/// and local steps.
fn pass_tests(cfg: &Cfg, stop: &mut [bool], watched: &Watched, kept: impl Fn(LocId) -> bool) {
    let is_test = |loc: LocId| {
        let mut edges = cfg.outgoing(loc).peekable();
        let some = edges.peek().is_some();
        some && edges.all(|(_, e)| e.to != loc && matches!(e.step, Step::Assume(_)))
    };
    let ends = [cfg.entry, cfg.exit];
    let may = |loc: &LocId| !ends.contains(loc) && !kept(*loc) && is_test(*loc);
    let tests: Vec<LocId> = cfg
        .locs()
        .filter(|loc| stop[loc.index()])
        .filter(may)
        .collect();
    for test in &tests {
        stop[test.index()] = false;
    }
    // Since when a thread that passes a location has done nothing but load once, at a stop.
    loop {
        let mut idle: Vec<bool> = stop.iter().map(|stop| !stop).collect();
        loop {
            let spoilt = cfg.edges.iter().find(|edge| {
                let first = stop[edge.from.index()];
                let since = first || idle[edge.from.index()];
                idle[edge.to.index()] && !(since && is_idle(&edge.step, watched, first))
            });
            match spoilt {
                Some(edge) => idle[edge.to.index()] = false,
                None => break,
            }
        }
        let wrong = tests
            .iter()
            .find(|test| !stop[test.index()] && !idle[test.index()]);
        match wrong {
            Some(test) => stop[test.index()] = true,
            None => return,
        }
    }
}

/// Whether a step changes nothing but locals at which no property looks; `first` it may load.
fn is_idle(step: &Step, watched: &Watched, first: bool) -> bool {
    match step {
        Step::Skip | Step::Assume(_) => true,
        Step::Assign { dst, .. } | Step::Havoc { dst, .. } => !watched.locals.contains(dst),
        Step::Load { dst, .. } => first && !watched.locals.contains(dst),
        Step::Store { .. } | Step::Fence(_) | Step::Atomic(_) | Step::Assert { .. } => false,
        Step::Put { .. } | Step::Get { .. } => false,
        Step::RemoteAtomic(_) | Step::Flush(_) => false,
    }
}

/// The edges that may follow `edge` before the next stop.
pub(crate) fn until_stop<'c>(cfg: &'c Cfg, edge: &Edge, stops: &[bool]) -> Vec<&'c Edge> {
    let mut found: Vec<&Edge> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut open = vec![edge.to];
    while let Some(loc) = open.pop() {
        if !stops[loc.index()] && seen.insert(loc) {
            for (_, next) in cfg.outgoing(loc) {
                found.push(next);
                open.push(next.to);
            }
        }
    }
    found
}

/// What properties look at in one template.
#[derive(Default)]
struct Watched {
    locs: FxHashSet<LocId>,
    locals: FxHashSet<LocalId>,
    /// Some `@` is used in another way than under `&&` and `||`.
    everything: bool,
}

impl Watched {
    fn add(&mut self, property: &Property, template: TemplateId) {
        let own =
            |t: &palisade_program::ThreadVarId| property.threads[t.index()].template == template;
        property.cond.for_each_atom(&mut |atom| match atom {
            PropAtom::Local(t, local) if own(t) => {
                self.locals.insert(*local);
            }
            PropAtom::At(t, loc) if own(t) => {
                self.locs.insert(*loc);
            }
            PropAtom::Local(..) | PropAtom::At(..) => {}
            PropAtom::Global(..) | PropAtom::SelfOf(_) => {}
        });
        let is_at = |atom: &PropAtom| matches!(atom, PropAtom::At(t, _) if own(t));
        let plain = match property.kind {
            PropertyKind::Never => only_under_and_or(&property.cond, &is_at),
            PropertyKind::Finally => true,
        };
        self.everything |= !plain;
    }
}

/// Whether atoms with `is_at` occur only as operands of `&&` and `||`.
fn only_under_and_or(e: &PropExpr, is_at: &dyn Fn(&PropAtom) -> bool) -> bool {
    match e {
        Expr::Const(_) | Expr::Atom(_) => true,
        Expr::Binary(BinOp::And | BinOp::Or, a, b) => {
            only_under_and_or(a, is_at) && only_under_and_or(b, is_at)
        }
        Expr::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot | UnOp::Wrap { .. }, _)
        | Expr::Binary(..)
        | Expr::Cond(..) => !e.any_atom(is_at),
    }
}

/// What is known of a location.
#[derive(Clone, Copy)]
struct Ground {
    /// Whether nobody disturbs what happens there.
    accesses: bool,
    /// Whether a full fence has nothing to wait for there.
    ordered: bool,
    model: Model,
}

/// Whether all steps at `loc` are local (or loads and stores that nobody disturbs) and
/// unwatched, and one is always enabled.
fn is_quiet(cfg: &Cfg, loc: LocId, watched: &Watched, ground: Ground) -> bool {
    let Ground {
        accesses,
        ordered,
        model,
    } = ground;
    let edges: Vec<&Edge> = cfg.outgoing(loc).map(|(_, edge)| edge).collect();
    let unwatched = |step: &Step| match step {
        Step::Skip | Step::Assume(_) | Step::Assert { .. } => true,
        Step::Assign { dst, .. } | Step::Havoc { dst, .. } => !watched.locals.contains(dst),
        Step::Fence(FenceKind::Candidate) => true,
        Step::Fence(FenceKind::StoreStore) => matches!(model, Model::Sc | Model::Tso),
        Step::Fence(FenceKind::Full) => ordered && model != Model::Rma,
        Step::Fence(FenceKind::Ordered(_)) => false,
        Step::Load { dst, .. } => accesses && !watched.locals.contains(dst),
        Step::Store { .. } => accesses,
        Step::Atomic(atomic) => {
            let written = atomic.body.written_locals();
            accesses && !written.iter().any(|l| watched.locals.contains(l))
        }
        Step::Put { .. } | Step::Get { .. } => false,
        Step::RemoteAtomic(_) | Step::Flush(_) => false,
    };
    let always = |step: &Step| match step {
        Step::Assume(_) => false,
        Step::Havoc { domain, .. } => domain.is_none_or(|d| d.lo <= d.hi),
        Step::Skip | Step::Assign { .. } | Step::Assert { .. } => true,
        // Without effect wherever `unwatched` lets them pass.
        Step::Fence(_) => true,
        Step::Load { .. } | Step::Store { .. } | Step::Atomic(_) => true,
        Step::Put { .. } | Step::Get { .. } => false,
        Step::RemoteAtomic(_) | Step::Flush(_) => false,
    };
    let complementary = |a: &Step, b: &Step| match (a, b) {
        (Step::Assume(a), Step::Assume(b)) => are_opposite(a, b),
        _ => false,
    };
    edges
        .iter()
        .all(|edge| edge.to != loc && unwatched(&edge.step))
        && (edges.iter().any(|edge| always(&edge.step))
            || edges
                .iter()
                .any(|a| edges.iter().any(|b| complementary(&a.step, &b.step))))
}
