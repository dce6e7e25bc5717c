//! Steps that are looked at and changed in place, also inside blocks.

use std::collections::BTreeSet;

use palisade_program::{
    BinOp, Cfg, Expr, GlobalId, LocId, LocalAtom, LocalExpr, LocalId, Place, Step,
};

/// The steps of a step: itself, or those of its block.
pub(super) fn steps(step: &Step) -> Vec<&Step> {
    match step {
        Step::Atomic(atomic) => atomic.body.edges.iter().map(|e| &e.step).collect(),
        step => vec![step],
    }
}

pub(super) fn loads(step: &Step, var: GlobalId) -> bool {
    match step {
        Step::Load { src, .. } => src.var == var,
        _ => false,
    }
}

pub(super) fn stores(step: &Step, var: GlobalId) -> bool {
    match step {
        Step::Store { dst, .. } => dst.var == var,
        _ => false,
    }
}

pub(super) fn is(local: LocalId, value: i64) -> LocalExpr {
    let read = Expr::Atom(LocalAtom::Local(local));
    LocalExpr::binary(BinOp::Eq, read, Expr::Const(value))
}

pub(super) fn is_constant_place(place: &Place) -> bool {
    match &place.index {
        None => true,
        Some(index) => matches!(index, Expr::Const(_)),
    }
}

/// Whether a block runs straight from its entry to its exit.
pub(super) fn is_chain(body: &Cfg) -> bool {
    let one = |l: LocId| body.outgoing(l).count() == usize::from(l != body.exit);
    body.locs().all(one) && !body.has_cycle()
}

/// Calls `f` on every step of a graph, also inside blocks.
pub(super) fn edit(cfg: &mut Cfg, f: &mut dyn FnMut(&mut Step)) {
    for edge in &mut cfg.edges {
        edit_step(&mut edge.step, f);
    }
}

pub(super) fn edit_step(step: &mut Step, f: &mut dyn FnMut(&mut Step)) {
    match step {
        Step::Atomic(atomic) => edit(&mut atomic.body, f),
        step => f(step),
    }
}

/// The locals that some expression of a graph reads.
pub(super) fn mentioned(cfg: &Cfg) -> BTreeSet<LocalId> {
    let mut found = BTreeSet::new();
    for edge in &cfg.edges {
        edge.step.for_each_expr(&mut |e| {
            e.for_each_atom(&mut |atom| match atom {
                LocalAtom::Local(l) => drop(found.insert(*l)),
                LocalAtom::SelfId => {}
            });
        });
    }
    found
}
