//! *Growth*: whether the values of a program can grow without end, or become very many. They cannot if all that
//! is chosen has few values, and if each step that *computes* (whose result is no copy, no truth value, and not
//! one of few values) is taken finitely often. A step is if it is on no cycle of its graph, or if a *counter*
//! bounds the rounds: a local that only moves in one direction there and has few values, or is compared with a
//! constant in each round.
//!
//! Such a program has finitely many states, so that a search of all its states may be worth a try. Nothing
//! else follows: the answer is a guess about cost, on which no verdict rests.

use palisade_program::cfg::{Cfg, Edge, Step};
use palisade_program::{
    BinOp, Domain, Expr, Init, Instance, LocalAtom, LocalExpr, LocalId, Program, UnOp,
};

use crate::finite::{Finite, Values};

/// Most values of a choice that are few.
const FEW: i64 = 64;

/// Whether the values of a program grow.
pub fn grows(program: &Program, threads: &[Instance], finite: &Finite) -> bool {
    let is_wide = |init: Init, domain: Option<Domain>| init == Init::Any && !is_narrow(domain);
    if program
        .globals
        .iter()
        .any(|g| g.init.iter().any(|i| is_wide(*i, g.domain)))
    {
        return true;
    }
    threads.iter().zip(&finite.locals).any(|(thread, locals)| {
        let template = program.template(thread.template);
        template.locals.iter().any(|l| is_wide(l.init, l.domain))
            || !Graph { locals }.settles(&template.cfg)
    })
}

fn is_narrow(domain: Option<Domain>) -> bool {
    domain.is_some_and(|d| d.hi.checked_sub(d.lo).is_some_and(|size| size < FEW))
}

/// A thread, with the values of its locals.
struct Graph<'a> {
    locals: &'a [Values],
}

impl Graph<'_> {
    /// Whether what it computes is computed finitely often.
    fn settles(&self, cfg: &Cfg) -> bool {
        let blocks = cfg.edges.iter().filter_map(|edge| edge.step.block());
        if cfg.edges.iter().any(|edge| is_wide_choice(&edge.step))
            || !blocks.into_iter().all(|block| self.settles(&block.body))
        {
            return false;
        }
        let mut left = vec![true; cfg.edges.len()];
        loop {
            let parts = parts(cfg, &left);
            let is_inside = |k: usize, edge: &Edge| {
                left[k] && parts[edge.from.index()] == parts[edge.to.index()]
            };
            let all = || cfg.edges.iter().enumerate();
            let inside: Vec<bool> = all().map(|(k, edge)| is_inside(k, edge)).collect();
            let mut computing = all().filter(|(k, edge)| inside[*k] && self.computes(&edge.step));
            let Some((_, first)) = computing.next() else {
                return true;
            };
            let part = parts[first.from.index()];
            let of_part: Vec<usize> = all()
                .filter(|(k, edge)| inside[*k] && parts[edge.from.index()] == part)
                .map(|(k, _)| k)
                .collect();
            let Some(counted) = self.counted(cfg, &of_part) else {
                return false;
            };
            for k in counted {
                left[k] = false;
            }
        }
    }

    /// Whether a step makes a value that need not have been there before.
    fn computes(&self, step: &Step) -> bool {
        match step {
            Step::Assign { value, .. } | Step::Store { value, .. } => self.is_new(value),
            Step::Atomic(atomic) => atomic.body.edges.iter().any(|e| self.computes(&e.step)),
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) => true,
            Step::Skip | Step::Assume(_) | Step::Havoc { .. } | Step::Load { .. } => false,
            Step::Fence(_) | Step::Assert { .. } | Step::Flush(_) => false,
        }
    }

    fn is_new(&self, value: &LocalExpr) -> bool {
        let is_finite = |atom: &LocalAtom| match atom {
            LocalAtom::SelfId => true,
            LocalAtom::Local(id) => self.locals[id.index()].is_some(),
        };
        if value.is_boolean() || !value.any_atom(|atom| !is_finite(atom)) {
            return false;
        }
        match value {
            Expr::Const(_) | Expr::Atom(_) => false,
            Expr::Cond(_, a, b) => self.is_new(a) || self.is_new(b),
            Expr::Unary(..) | Expr::Binary(..) => true,
        }
    }

    /// The steps of a counter that bounds how often these edges, all on cycles, are taken.
    fn counted(&self, cfg: &Cfg, edges: &[usize]) -> Option<Vec<usize>> {
        let mut counters: Vec<LocalId> = edges
            .iter()
            .filter_map(|k| step_of(&cfg.edges[*k].step).map(|(local, _)| local))
            .collect();
        counters.sort_unstable();
        counters.dedup();
        counters.into_iter().find_map(|local| {
            let mut steps = Vec::new();
            let mut direction = 0;
            for &k in edges {
                let step = &cfg.edges[k].step;
                let in_block = step.block().map(|b| b.body.written_locals());
                if in_block.is_some_and(|written| written.contains(&local)) {
                    return None;
                }
                if step.written_local() != Some(local) {
                    continue;
                }
                let (_, by) = step_of(step)?;
                if direction * by < 0 {
                    return None;
                }
                direction = by.signum();
                steps.push(k);
            }
            let is_bounded = self.locals[local.index()].is_some()
                || is_guarded(cfg, edges, &steps, (local, direction));
            is_bounded.then_some(steps)
        })
    }
}

/// Whether each round among `edges` with one of the `steps` compares the counter, or a copy of it, with a constant
/// that it comes to.
fn is_guarded(cfg: &Cfg, edges: &[usize], steps: &[usize], (local, by): (LocalId, i64)) -> bool {
    let is_copy = |step: &Step| matches!(step, Step::Assign { value, .. } if *value == Expr::Atom(LocalAtom::Local(local)));
    let written = |copy: LocalId| {
        let edges = edges.iter().map(|k| &cfg.edges[*k].step);
        edges.filter(move |step| step.written_local() == Some(copy))
    };
    let copied = edges
        .iter()
        .filter_map(|k| cfg.edges[*k].step.written_local());
    let mut same: Vec<LocalId> = copied.filter(|c| written(*c).all(is_copy)).collect();
    same.push(local);
    let mut left = vec![false; cfg.edges.len()];
    for &k in edges {
        let is_guard = match &cfg.edges[k].step {
            Step::Assume(e) => same.iter().any(|local| bounds(e, (*local, by))),
            Step::Skip | Step::Assign { .. } | Step::Havoc { .. } | Step::Load { .. } => false,
            Step::Store { .. } | Step::Fence(_) | Step::Atomic(_) | Step::Assert { .. } => false,
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => false,
        };
        left[k] = !is_guard;
    }
    let parts = parts(cfg, &left);
    let is_open = |k: &usize| {
        let edge = &cfg.edges[*k];
        left[*k] && parts[edge.from.index()] == parts[edge.to.index()]
    };
    !steps.iter().any(is_open)
}

/// Whether what holds there bounds the counter from the side to which it moves.
fn bounds(e: &LocalExpr, (local, direction): (LocalId, i64)) -> bool {
    let is_counter = |e: &LocalExpr| *e == Expr::Atom(LocalAtom::Local(local));
    match e {
        Expr::Binary(BinOp::And, a, b) => {
            bounds(a, (local, direction)) || bounds(b, (local, direction))
        }
        Expr::Binary(BinOp::Lt | BinOp::Le, a, b) => match (&**a, &**b) {
            (a, Expr::Const(_)) => direction > 0 && is_counter(a),
            (Expr::Const(_), b) => direction < 0 && is_counter(b),
            _ => false,
        },
        // It comes to the constant if it starts on the right side and moves by one.
        Expr::Binary(BinOp::Ne, a, b) => is_counter(a) && matches!(**b, Expr::Const(_)),
        Expr::Binary(BinOp::Gt | BinOp::Ge, a, b) => match (&**a, &**b) {
            (a, Expr::Const(_)) => direction < 0 && is_counter(a),
            (Expr::Const(_), b) => direction > 0 && is_counter(b),
            _ => false,
        },
        Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..) => false,
        Expr::Binary(..) | Expr::Cond(..) => false,
    }
}

/// The local that a step moves by a constant, and by how much.
fn step_of(step: &Step) -> Option<(LocalId, i64)> {
    let Step::Assign { dst, value } = step else {
        return None;
    };
    let value = value.unwrapped();
    let inner = if let Expr::Unary(UnOp::Wrap { .. }, inner) = &value {
        inner
    } else {
        &value
    };
    let Expr::Binary(op, a, b) = inner else {
        return None;
    };
    let own = |e: &LocalExpr| *e == Expr::Atom(LocalAtom::Local(*dst));
    let by = match (op, &**a, &**b) {
        (BinOp::Add, a, Expr::Const(c)) if own(a) => *c,
        (BinOp::Add, Expr::Const(c), b) if own(b) => *c,
        (BinOp::Sub, a, Expr::Const(c)) if own(a) => c.checked_neg()?,
        _ => return None,
    };
    (by != 0).then_some((*dst, by))
}

/// Whether a step chooses among many values.
fn is_wide_choice(step: &Step) -> bool {
    match step {
        Step::Havoc { domain, .. } => !is_narrow(*domain),
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Load { .. } => false,
        Step::Store { .. } | Step::Fence(_) | Step::Atomic(_) | Step::Assert { .. } => false,
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => false,
    }
}

/// The number of the strongly connected part of each location, by the edges that are `left` [Kosaraju's
/// algorithm: in the order in which a search in depth leaves them, backwards].
fn parts(cfg: &Cfg, left: &[bool]) -> Vec<usize> {
    let count = cfg.loc_count();
    let mut backwards: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (edge, _) in cfg.edges.iter().zip(left).filter(|(_, left)| **left) {
        backwards[edge.to.index()].push(edge.from.index());
    }
    let mut order = Vec::with_capacity(count);
    let mut seen = vec![false; count];
    let mut stack: Vec<(usize, bool)> = (0..count).map(|loc| (loc, false)).collect();
    while let Some((loc, leave)) = stack.pop() {
        if leave {
            order.push(loc);
        } else if !std::mem::replace(&mut seen[loc], true) {
            stack.push((loc, true));
            let next = cfg.outgoing(loc.into()).filter(|(id, _)| left[id.index()]);
            stack.extend(next.map(|(_, edge)| (edge.to.index(), false)));
        }
    }
    let mut part = vec![usize::MAX; count];
    for &root in order.iter().rev() {
        let mut stack = vec![root];
        while let Some(loc) = stack.pop() {
            if part[loc] == usize::MAX {
                part[loc] = root;
                stack.extend(&backwards[loc]);
            }
        }
    }
    part
}
