//! *Stops*: the locations at which a thread can be while others move, for
//! certificates of kind [`Kind::Stops`](crate::Kind::Stops). Between two stops a
//! thread only works on its own locals.
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

use palisade_program::{
    BinOp, Cfg, Edge, Expr, FenceKind, LocId, LocalId, Model, Program, PropAtom, PropExpr,
    Property, PropertyKind, Step, TemplateId, UnOp,
};
use rustc_hash::FxHashSet;

/// For each location of a template whether it is a stop under `model`.
pub fn stops(program: &Program, model: Model, template: TemplateId) -> Vec<bool> {
    stops_with(program, model, template, &FxHashSet::default())
}

/// As [`stops`], with the locations of `also` as stops. More stops than needed
/// are always allowed: the claim holds for every such set.
pub(crate) fn stops_with(
    program: &Program,
    model: Model,
    template: TemplateId,
    also: &FxHashSet<LocId>,
) -> Vec<bool> {
    let cfg = &program.template(template).cfg;
    let mut watched = Watched::default();
    for property in &program.properties {
        watched.add(property, template);
    }
    let mut stop = vec![true; cfg.loc_count()];
    if watched.everything {
        return stop;
    }
    for loc in cfg.locs() {
        let at_end = loc == cfg.entry || loc == cfg.exit || also.contains(&loc);
        stop[loc.index()] =
            at_end || watched.locs.contains(&loc) || !is_quiet(cfg, loc, model, &watched);
    }
    // A cycle of quiet locations gets a stop: the target of each edge that goes
    // back to a location not yet left. Numbers decide what "back" means, which
    // may make more stops than needed.
    for edge in &cfg.edges {
        if edge.to <= edge.from && !stop[edge.from.index()] {
            stop[edge.to.index()] = true;
        }
    }
    stop
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

/// Whether all steps at `loc` are local and unwatched, and one is always enabled.
fn is_quiet(cfg: &Cfg, loc: LocId, model: Model, watched: &Watched) -> bool {
    let edges: Vec<&Edge> = cfg.outgoing(loc).map(|(_, edge)| edge).collect();
    let unwatched = |step: &Step| match step {
        Step::Skip | Step::Assume(_) | Step::Assert { .. } => true,
        Step::Assign { dst, .. } | Step::Havoc { dst, .. } => !watched.locals.contains(dst),
        Step::Fence(FenceKind::Candidate) => true,
        // Without effect under TSO. (Under SC as well, but stops are stops of
        // the engine too, and it looks at fences there.)
        Step::Fence(FenceKind::StoreStore) => model == Model::Tso,
        Step::Fence(FenceKind::Full) => false,
        Step::Load { .. } | Step::Store { .. } | Step::Atomic(_) => false,
        Step::Put { .. } | Step::Get { .. } => false,
        Step::RemoteAtomic(_) | Step::Flush(_) => false,
    };
    let always = |step: &Step| match step {
        Step::Assume(_) => false,
        Step::Havoc { domain, .. } => domain.is_none_or(|d| d.lo <= d.hi),
        Step::Skip | Step::Assign { .. } | Step::Assert { .. } => true,
        // Without effect wherever `unwatched` lets them pass.
        Step::Fence(FenceKind::Candidate | FenceKind::StoreStore) => true,
        Step::Fence(FenceKind::Full) => false,
        Step::Load { .. } | Step::Store { .. } | Step::Atomic(_) => false,
        Step::Put { .. } | Step::Get { .. } => false,
        Step::RemoteAtomic(_) | Step::Flush(_) => false,
    };
    let complementary = |a: &Step, b: &Step| match (a, b) {
        (Step::Assume(a), Step::Assume(b)) => *a == b.clone().negate() || *b == a.clone().negate(),
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
