//! *Direct stores*: which stores need no buffer, because nobody can tell when they
//! reach memory.
//!
//! A store `s` of a thread T lies in T's buffer for a while. If no step of T that
//! another thread has a part in overtakes it, everything that T does between issuing
//! `s` and `s` reaching memory can be put off until then: `s` may as well go to memory
//! at once, when the stores before it have got there. Such a store is made *direct*
//! ([`palisade_program::unbuffered`]). Where all are, the program has no buffers left and
//! its proof is one under SC; this is the observation behind robustness and triangular
//! races, here store by store. It is no over-approximation: runs of the changed program
//! are runs of the original, and no violation is lost.
//!
//! A place is *exclusive* to T if no other thread writes it. Two places *agree* if
//! they name the same cell in every state of T (the same variable, or the same
//! array with the same constant or `self` as index). A *barrier* is a full fence or
//! an atomic block that waits for the buffers: nothing is buffered there.
//!
//! **TSO.** `s` is buffered if there is a path from it, without barrier, to a load `r = x`
//! where `x` is not exclusive, does not agree with `s`, and no store that agrees with `x`
//! is on the path.
//!
//! **PSO.** `s` is buffered if there is a path
//! 1. from it, without barrier, to a load `r = x` where `x` is not exclusive and does not
//!    agree with `s`; or
//! 2. from it, without barrier and `fence(ss)`, to a store that does not agree with `s`; or
//! 3. to it, without barrier and `fence(ss)`, from a store that does not agree with `s`: a
//!    direct store would wait for that one.
//!
//! **Why no violation is lost.** Take a run of the original into a violation. Put
//! off every step of T until the direct stores that T issued before it, in its program,
//! have reached memory; make each direct store happen where it reaches memory. Only
//! steps that happen while a direct store is pending move.
//! - Fences and blocks that wait do not: nothing is pending.
//! - Steps on locals may move, since nobody else sees locals.
//! - The issue of a buffered store moves, but not past the moment at which it reaches
//!   memory: under TSO that is after the pending direct ones, which are older; under
//!   PSO a younger store agrees with the pending one, and is behind it in its buffer,
//!   or waits for it because of a `fence(ss)`.
//! - A load of an exclusive place gets T's own last store to it, whenever it happens.
//! - A load of another place `x` that moves has a last store `w` before it in T's
//!   program that agrees with `x`, and no pending direct store is younger than `w`, else
//!   it would be buffered. If `w` is pending, it is the load's value, and it still is:
//!   if it is direct, it is the youngest of the pending ones, and the load happens right
//!   after it; otherwise it has not reached memory when the load happens. If
//!   `w` has reached memory, so have (TSO) the direct ones, which are no younger, and
//!   (PSO) those that agree with `x`, which are the only ones pending at such a load: it
//!   does not move. Without such a `w` there is no pending direct store.
//! - A direct store finds the buffers empty: under TSO older stores are in memory before
//!   it; under PSO, by 3, an older one is in its own buffer or before a `fence(ss)`, and so
//!   it is in memory before it.
//!
//! At the end of the run some steps of T are still put off. A failed assertion of T, and
//! a `never` that speaks of T, need them: T's buffer drains, and they happen. That changes
//! memory where T stores, so that a `never` which speaks of T and also of memory that T
//! stores to forbids direct stores of T. In all other cases they are left out, and
//! memory is as it was. `finally` is about states in which nothing is pending.

use palisade_program::cfg::{Atomic, Cfg, FenceKind, Place, Step};
use palisade_program::unbuffered::StoreEdge;
use palisade_program::{
    Count, EdgeId, Expr, LocId, LocalAtom, Model, Program, PropAtom, Property, PropertyKind,
    Template, TemplateId,
};

/// The stores that need no buffer under `model`, in order.
pub fn unbuffered_stores(program: &Program, model: Model) -> Vec<StoreEdge> {
    let mut direct = Vec::new();
    if program.is_rma() || !matches!(model, Model::Tso | Model::Pso) {
        return direct;
    }
    for id in program.template_ids() {
        let template = program.template(id);
        if program
            .properties
            .iter()
            .any(|p| is_observed(program, p, id))
        {
            continue;
        }
        let thread = Thread {
            program,
            id,
            cfg: &template.cfg,
            incoming: incoming(&template.cfg),
        };
        let buffered = match model {
            Model::Pso => thread.buffered_pso(),
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => thread.buffered_tso(),
        };
        let stores = thread.stores().filter(|(edge, _)| !buffered[edge.index()]);
        direct.extend(stores.map(|(edge, _)| (id, edge)));
    }
    direct
}

/// Whether a `never` sees the thread beside memory that the thread stores to.
fn is_observed(program: &Program, property: &Property, id: TemplateId) -> bool {
    let speaks_of_thread = property.cond.any_atom(|atom| match atom {
        PropAtom::Global(..) | PropAtom::SelfOf(_) => false,
        PropAtom::Local(t, _) | PropAtom::At(t, _) => property.threads[t.index()].template == id,
    });
    let stores_to = |atom: &PropAtom| match atom {
        PropAtom::Global(var, element) => stores_of(program.template(id)).any(|(_, dst)| {
            dst.var == *var
                && constant(dst).is_none_or(|c| element.is_none_or(|e| c == i64::from(e)))
        }),
        PropAtom::Local(..) | PropAtom::SelfOf(_) | PropAtom::At(..) => false,
    };
    property.kind == PropertyKind::Never && speaks_of_thread && property.cond.any_atom(stores_to)
}

fn constant(place: &Place) -> Option<i64> {
    match place.index {
        Some(Expr::Const(c)) => Some(c),
        None | Some(_) => None,
    }
}

fn is_own_element(place: &Place) -> bool {
    place.index == Some(Expr::Atom(LocalAtom::SelfId))
}

/// Whether two places of one thread name the same cell in all its states.
fn agree(a: &Place, b: &Place) -> bool {
    a.var == b.var
        && match (&a.index, &b.index) {
            (None, None) => true,
            (Some(Expr::Const(a)), Some(Expr::Const(b))) => a == b,
            (Some(_), Some(_)) => is_own_element(a) && is_own_element(b),
            (None, Some(_)) | (Some(_), None) => false,
        }
}

/// The stores of a template outside atomic blocks.
fn stores_of(template: &Template) -> impl Iterator<Item = (EdgeId, &Place)> {
    template
        .cfg
        .edges
        .iter()
        .enumerate()
        .filter_map(|(i, e)| Some((EdgeId::from(i), e.step.stored()?)))
}

/// The places that a graph stores to, also in atomic blocks.
fn all_written(cfg: &Cfg) -> Vec<&Place> {
    let mut written = Vec::new();
    for edge in &cfg.edges {
        written.extend(edge.step.stored());
        let block = edge.step.block().into_iter();
        written.extend(block.flat_map(|atomic| all_written(&atomic.body)));
    }
    written
}

/// The edges into each location.
fn incoming(cfg: &Cfg) -> Vec<Vec<EdgeId>> {
    let mut incoming = vec![Vec::new(); cfg.loc_count()];
    for (i, edge) in cfg.edges.iter().enumerate() {
        incoming[edge.to.index()].push(EdgeId::from(i));
    }
    incoming
}

fn is_barrier(step: &Step) -> bool {
    *step == Step::Fence(FenceKind::Full) || step.block().is_some_and(Atomic::drains)
}

/// A template whose stores are looked at.
struct Thread<'p> {
    program: &'p Program,
    id: TemplateId,
    cfg: &'p Cfg,
    incoming: Vec<Vec<EdgeId>>,
}

impl<'p> Thread<'p> {
    fn stores(&self) -> impl Iterator<Item = (EdgeId, &'p Place)> {
        stores_of(self.program.template(self.id))
    }

    /// Loads, also those of blocks that only read, of places that are not exclusive.
    fn loads(&self) -> Vec<(LocId, &'p Place)> {
        let mut loads = Vec::new();
        for edge in &self.cfg.edges {
            loads.extend(edge.step.loaded().map(|src| (edge.from, src)));
            if let Some(atomic) = edge.step.block().filter(|a| !a.drains()) {
                let inner = atomic.body.edges.iter();
                loads.extend(inner.filter_map(|e| Some((edge.from, e.step.loaded()?))));
            }
        }
        loads.retain(|(_, place)| !self.is_exclusive(place));
        loads
    }

    /// Whether no other thread writes the place.
    fn is_exclusive(&self, place: &Place) -> bool {
        self.program.template_ids().all(|id| {
            let template = self.program.template(id);
            let mut written = all_written(&template.cfg).into_iter();
            if id == self.id && template.count == Count::Once {
                return true;
            }
            written.all(|w| {
                let elsewhere = constant(w)
                    .zip(constant(place))
                    .is_some_and(|(a, b)| a != b);
                let own = id == self.id && is_own_element(w) && is_own_element(place);
                w.var != place.var || elsewhere || own
            })
        })
    }

    /// Walks backwards from a location over edges that `passes` lets through.
    fn backwards(&self, from: LocId, mut passes: impl FnMut(EdgeId, &Step) -> bool) {
        let mut seen = vec![false; self.cfg.loc_count()];
        seen[from.index()] = true;
        let mut stack = vec![from];
        while let Some(loc) = stack.pop() {
            for &id in &self.incoming[loc.index()] {
                let edge = self.cfg.edge(id);
                if passes(id, &edge.step) && !std::mem::replace(&mut seen[edge.from.index()], true)
                {
                    stack.push(edge.from);
                }
            }
        }
    }

    fn buffered_tso(&self) -> Vec<bool> {
        let mut buffered = vec![false; self.cfg.edges.len()];
        for (at, place) in self.loads() {
            self.backwards(at, |id, step| {
                let Some(dst) = step.stored() else {
                    return !is_barrier(step);
                };
                let differs = !agree(dst, place);
                buffered[id.index()] |= differs;
                differs
            });
        }
        buffered
    }

    fn buffered_pso(&self) -> Vec<bool> {
        let mut buffered = vec![false; self.cfg.edges.len()];
        for (at, place) in self.loads() {
            self.backwards(at, |id, step| {
                let overtaken = step.stored().is_some_and(|dst| !agree(dst, place));
                buffered[id.index()] |= overtaken;
                !is_barrier(step)
            });
        }
        for (later, place) in self.stores() {
            self.backwards(self.cfg.edge(later).from, |id, step| {
                if step.stored().is_some_and(|dst| !agree(dst, place)) {
                    buffered[id.index()] = true;
                    buffered[later.index()] = true;
                }
                !(is_barrier(step) || *step == Step::Fence(FenceKind::StoreStore))
            });
        }
        buffered
    }
}
