//! *Direct stores*: a certificate may name stores that go to memory at once, without
//! passing through a buffer. It then speaks of the program in which they do, and this
//! module confirms that the program has no violation that its changed form lacks.
//! (`palisade-memory` argues why; here is what it rests on, store by store, looked for
//! from the stores forwards.)
//!
//! Between an unbuffered store of a thread and the next point at which the thread's buffers
//! are empty for certain (a full fence, an atomic block that waits), on every path:
//!
//! - TSO: every load is of the store's own cell, or of one that no other thread writes,
//!   or there is a store to the loaded cell in between.
//! - PSO: every load is of the store's own cell or of one that no other thread writes;
//!   every store is to the store's own cell, or there is a `fence(ss)` in between. Likewise
//!   for stores before it: on every path from one to another cell to the unbuffered store, the
//!   buffers are empty once or there is a `fence(ss)`. So when it leaves, all older ones have.
//!
//! A `never` that speaks of the thread speaks of no memory that the thread stores to.

use crate::certificate::Certificate;
use crate::refusal::Reason;
use crate::views::subject;
use palisade_program::cfg::{Cfg, Edge, FenceKind, Place, Step};
use palisade_program::projection::without;
use palisade_program::unbuffered::with_unbuffered;
use palisade_program::{
    Count, EdgeId, Expr, LocalAtom, Model, Program, PropAtom, PropertyKind, Template, TemplateId,
};
use std::borrow::Cow;

/// The program that a certificate with forgotten variables or unbuffered stores speaks of.
pub(crate) fn confirmed<'p>(
    program: &'p Program,
    certificate: &Certificate,
) -> Result<Cow<'p, Program>, Reason> {
    if certificate.forgotten.is_empty() {
        return with_stores(program, certificate);
    }
    let malformed = || Reason::Malformed("a variable that cannot be forgotten".to_owned());
    let changed = without(program, &certificate.forgotten).ok_or_else(malformed)?;
    Ok(Cow::Owned(with_stores(&changed, certificate)?.into_owned()))
}

/// The program with the certificate's unbuffered stores.
fn with_stores<'p>(
    program: &'p Program,
    certificate: &Certificate,
) -> Result<Cow<'p, Program>, Reason> {
    if certificate.unbuffered.is_empty() {
        return Ok(Cow::Borrowed(program));
    }
    let malformed = || Reason::Malformed("an unbuffered store that is no store".to_owned());
    let changed = with_unbuffered(program, &certificate.unbuffered).ok_or_else(malformed)?;
    if program.is_rma() {
        return Err(Reason::Direct("under RMA".to_owned()));
    }
    for (template, edge) in &certificate.unbuffered {
        let claim = Unbuffered {
            program,
            model: certificate.model,
            id: *template,
            template: program.template(*template),
            store: *edge,
        };
        claim.confirm().map_err(|why| {
            let name = &claim.template.name;
            Reason::Direct(format!("{why} (thread `{name}`, edge {})", edge.index()))
        })?;
    }
    Ok(Cow::Owned(changed))
}

/// Confirms the unbuffered stores of a certificate, and nothing else of it.
///
/// # Errors
/// The first store that needs its buffer.
pub fn confirm_unbuffered(program: &Program, certificate: &Certificate) -> Result<(), Reason> {
    confirmed(&subject(program, certificate.kind), certificate).map(|_| ())
}

/// One unbuffered store.
struct Unbuffered<'p> {
    program: &'p Program,
    model: Model,
    id: TemplateId,
    template: &'p Template,
    store: EdgeId,
}

impl Unbuffered<'_> {
    fn confirm(&self) -> Result<(), &'static str> {
        if self.seen_with_memory() {
            return Err("a `never` speaks of the thread and of what it stores");
        }
        let cfg = &self.template.cfg;
        let Some(own) = cfg.edge(self.store).step.stored() else {
            return Err("it is no store");
        };
        for load in loads(cfg) {
            let hidden = same(load, own) || self.only_here(load);
            let passed = |edge: &Edge| {
                let forwarded = edge.step.stored().is_some_and(|dst| same(dst, load));
                empties(&edge.step) || (self.model == Model::Tso && forwarded)
            };
            let meets = |edge: &Edge| loaded(edge).any(|l| l == load);
            if !hidden && leads(cfg, self.store, passed, meets) {
                return Err("a load may overtake it");
            }
        }
        match self.model {
            Model::Tso | Model::Sc => Ok(()),
            Model::Pso => self.confirm_order(own),
            Model::Rma => Err("under RMA"),
            Model::Rc11 => Err("under RC11"),
        }
    }

    /// PSO: the order of this store and others of the thread.
    fn confirm_order(&self, own: &Place) -> Result<(), &'static str> {
        let cfg = &self.template.cfg;
        let passed =
            |edge: &Edge| empties(&edge.step) || edge.step == Step::Fence(FenceKind::StoreStore);
        let other = |edge: &Edge| edge.step.stored().is_some_and(|dst| !same(dst, own));
        if leads(cfg, self.store, passed, other) {
            return Err("a store may overtake it");
        }
        for (number, edge) in cfg.edges.iter().enumerate() {
            let here = |e: &Edge| std::ptr::eq(e, cfg.edge(self.store));
            if other(edge) && leads(cfg, EdgeId::from(number), passed, here) {
                return Err("it may overtake a store");
            }
        }
        Ok(())
    }

    /// Whether no other thread writes a cell that the place may name.
    fn only_here(&self, place: &Place) -> bool {
        for id in self.program.template_ids() {
            let template = self.program.template(id);
            let mine = id == self.id;
            if mine && template.count == Count::Once {
                continue;
            }
            let mut free = true;
            each_write(&template.cfg, &mut |dst| {
                let apart = dst.var != place.var
                    || matches!((&dst.index, &place.index),
                        (Some(Expr::Const(a)), Some(Expr::Const(b))) if a != b);
                let by_number = mine && is_self(dst) && is_self(place);
                free &= apart || by_number;
            });
            if !free {
                return false;
            }
        }
        true
    }

    fn seen_with_memory(&self) -> bool {
        let nevers = self.program.properties.iter();
        nevers
            .filter(|p| p.kind == PropertyKind::Never)
            .any(|property| {
                let mut thread = false;
                let mut memory = false;
                property.cond.any_atom(|atom| {
                    match atom {
                        PropAtom::At(t, _) | PropAtom::Local(t, _) => {
                            thread |= property.threads[t.index()].template == self.id;
                        }
                        PropAtom::SelfOf(_) => {}
                        PropAtom::Global(var, element) => {
                            let edges = self.template.cfg.edges.iter();
                            memory |= edges.filter_map(|e| e.step.stored()).any(|dst| {
                                let at = element.map(i64::from);
                                let elsewhere = matches!((&dst.index, at),
                                    (Some(Expr::Const(c)), Some(at)) if *c != at);
                                dst.var == *var && !elsewhere
                            });
                        }
                    }
                    false
                });
                thread && memory
            })
    }
}

/// Whether a path behind the edge `from` comes to an edge that `meets`, over edges
/// behind which it is not `passed`.
fn leads(
    cfg: &Cfg,
    from: EdgeId,
    passed: impl Fn(&Edge) -> bool,
    meets: impl Fn(&Edge) -> bool,
) -> bool {
    let mut known = vec![false; cfg.loc_count()];
    let mut waiting = vec![cfg.edge(from).to];
    while let Some(loc) = waiting.pop() {
        if std::mem::replace(&mut known[loc.index()], true) {
            continue;
        }
        for (_, edge) in cfg.outgoing(loc) {
            if meets(edge) {
                return true;
            }
            if !passed(edge) {
                waiting.push(edge.to);
            }
        }
    }
    false
}

/// Whether the thread's buffers are empty at the step.
fn empties(step: &Step) -> bool {
    match step {
        Step::Fence(kind) => *kind == FenceKind::Full,
        Step::Atomic(atomic) => atomic.drains(),
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
        Step::Load { .. } | Step::Store { .. } | Step::Assert { .. } => false,
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => false,
    }
}

/// What an edge loads past the buffer.
fn loaded(edge: &Edge) -> impl Iterator<Item = &Place> {
    let block = edge.step.block().filter(|atomic| !atomic.drains());
    let inner = block.into_iter().flat_map(|atomic| &atomic.body.edges);
    let inner = inner.filter_map(|e| e.step.loaded());
    edge.step.loaded().into_iter().chain(inner)
}

fn loads(cfg: &Cfg) -> impl Iterator<Item = &Place> {
    cfg.edges.iter().flat_map(loaded)
}

fn each_write(cfg: &Cfg, f: &mut impl FnMut(&Place)) {
    for edge in &cfg.edges {
        if let Some(dst) = edge.step.stored() {
            f(dst);
        }
        if let Some(atomic) = edge.step.block() {
            each_write(&atomic.body, f);
        }
    }
}

fn is_self(place: &Place) -> bool {
    matches!(place.index, Some(Expr::Atom(LocalAtom::SelfId)))
}

/// Whether the places are one cell, whatever the thread's locals are.
fn same(a: &Place, b: &Place) -> bool {
    let index = match (&a.index, &b.index) {
        (None, None) => true,
        (Some(Expr::Const(a)), Some(Expr::Const(b))) => a == b,
        (Some(_), Some(_)) => is_self(a) && is_self(b),
        (None, Some(_)) | (Some(_), None) => false,
    };
    a.var == b.var && index
}
