//! *Joins*: a program that waits until all copies of a template have ended. The front
//! end for C counts the ends of the copies in a shared variable,
//!
//! ```text
//! copies:   atomic { seen = ended; assume(seen < n); ended = seen + 1 }
//! creator:  atomic(read) { r = ended; assume(r == n) }
//! ```
//!
//! so that `n` stands in the program beside the number of copies. With another number
//! of copies it is another `n`. With any number of them nothing is counted and nobody
//! waits: what comes after the join may happen at any time. Every run with some number
//! of copies is one of that program, so that a proof is one for each number; a
//! violation need not be a run.

use palisade_program::cfg::{Cfg, Place, Step};
use palisade_program::{
    BinOp, Count, Domain, Expr, GlobalId, LocalAtom, LocalExpr, LocalId, Program, PropAtom,
    TemplateId,
};

/// The ends of a template's copies are counted, and waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Join {
    template: TemplateId,
    ended: GlobalId,
    /// The edges that count, with the local that each reads into.
    counts: Vec<(usize, LocalId)>,
    /// The edges by which others wait, with the local that each reads into.
    waits: Vec<(TemplateId, usize, LocalId)>,
}

/// A template whose ends are counted and used in some other way than for a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entangled(pub(crate) TemplateId);

/// Whether the program waits for all copies of a template.
pub fn waits_for_all(program: &Program) -> bool {
    let ids = program.template_ids();
    ids.into_iter().any(|id| counted(program, id).is_some())
}

/// The program with `count` copies of `template` to wait for, or with nothing counted.
pub(crate) fn renumbered(
    program: &mut Program,
    template: TemplateId,
    count: Option<u32>,
) -> Result<(), Entangled> {
    let Some(ended) = counted(program, template) else {
        return Ok(());
    };
    let join = join(program, template, ended).ok_or(Entangled(template))?;
    match count {
        Some(n) => set_count(program, &join, i64::from(n)),
        None => drop_join(program, &join),
    }
    Ok(())
}

/// The variable that counts the ends of the template's copies.
fn counted(program: &Program, template: TemplateId) -> Option<GlobalId> {
    let code = program.template(template);
    let Count::Fixed(n) = code.count else {
        return None;
    };
    let mut edges = code.cfg.edges.iter();
    edges.find_map(|edge| Some(counting(&edge.step, i64::from(n))?.0))
}

/// The variable and the local of a step that counts one of `n` ends.
fn counting(step: &Step, n: i64) -> Option<(GlobalId, LocalId)> {
    let Step::Atomic(atomic) = step else {
        return None;
    };
    let [load, below, store] = &line(&atomic.body)?[..] else {
        return None;
    };
    let Step::Load { dst: seen, src } = load else {
        return None;
    };
    let read = || Expr::Atom(LocalAtom::Local(*seen));
    let less = LocalExpr::binary(BinOp::Lt, read(), Expr::Const(n));
    let more = LocalExpr::binary(BinOp::Add, read(), Expr::Const(1));
    let counts = **below == Step::Assume(less)
        && **store
            == Step::Store {
                dst: src.clone(),
                value: more,
            };
    (counts && *src == Place::scalar(src.var)).then_some((src.var, *seen))
}

/// The steps of a graph that is one line from entry to exit.
fn line(cfg: &Cfg) -> Option<Vec<&Step>> {
    let mut steps = Vec::new();
    let mut at = cfg.entry;
    while at != cfg.exit {
        let mut out = cfg.outgoing(at);
        let (_, edge) = out.next()?;
        if out.next().is_some() || steps.len() > cfg.edges.len() {
            return None;
        }
        steps.push(&edge.step);
        at = edge.to;
    }
    Some(steps)
}

/// How the count is used; none if in some other way than for a join.
fn join(program: &Program, template: TemplateId, ended: GlobalId) -> Option<Join> {
    let Count::Fixed(n) = program.template(template).count else {
        return None;
    };
    let n = i64::from(n);
    let mut join = Join {
        template,
        ended,
        counts: Vec::new(),
        waits: Vec::new(),
    };
    for id in program.template_ids() {
        let cfg = &program.template(id).cfg;
        for (number, edge) in cfg.edges.iter().enumerate() {
            if !touches(&edge.step, ended) {
                continue;
            }
            if id == template {
                let (_, seen) = counting(&edge.step, n)?;
                join.counts.push((number, seen));
            } else if program.template(id).count != Count::Once {
                return None;
            } else {
                let seen = waiting(&edge.step, n)?;
                join.waits.push((id, number, seen));
            }
        }
    }
    let spoken_of = |atom: &PropAtom| matches!(atom, PropAtom::Global(g, _) if *g == ended);
    let mut properties = program.properties.iter();
    let free = !properties.any(|p| p.cond.any_atom(spoken_of));
    (free && join.counts.iter().all(|c| is_own(program, template, *c))).then_some(join)
}

/// Whether the local of a counting step is used by no other step.
fn is_own(program: &Program, template: TemplateId, (number, seen): (usize, LocalId)) -> bool {
    let edges = program.template(template).cfg.edges.iter().enumerate();
    let mut others = edges.filter(|(other, _)| *other != number);
    let reads = |step: &Step| {
        let mut read = false;
        step.for_each_expr(&mut |e| read |= e.any_atom(|a| *a == LocalAtom::Local(seen)));
        read
    };
    !others.any(|(_, edge)| reads(&edge.step))
}

/// The local into which a block reads the count, if it waits for `n` ends and does nothing else.
fn waiting(step: &Step, n: i64) -> Option<LocalId> {
    let steps = line(&step.block()?.body)?;
    let [Step::Load { dst, .. }, Step::Assume(cond)] = steps.as_slice() else {
        return None;
    };
    (*cond == ended(*dst, n)).then_some(*dst)
}

/// That `n` have ended.
fn ended(seen: LocalId, n: i64) -> LocalExpr {
    let read = Expr::Atom(LocalAtom::Local(seen));
    LocalExpr::binary(BinOp::Eq, read, Expr::Const(n))
}

/// Whether the step or a part of it reads or writes the variable.
fn touches(step: &Step, var: GlobalId) -> bool {
    match step {
        Step::Load { src: place, .. } | Step::Store { dst: place, .. } => place.var == var,
        Step::Atomic(atomic) => {
            let mut edges = atomic.body.edges.iter();
            edges.any(|edge| touches(&edge.step, var))
        }
        Step::Put { remote, local, .. } | Step::Get { remote, local, .. } => {
            remote.var == var || local.var == var
        }
        Step::RemoteAtomic(atomic) => atomic.places().any(|p| p.var == var),
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
        Step::Fence(_) | Step::Assert { .. } | Step::Flush(_) => false,
    }
}

fn set_count(program: &mut Program, join: &Join, n: i64) {
    program.globals[join.ended.index()].domain = Some(Domain { lo: 0, hi: n });
    let read = |local: LocalId| Expr::Atom(LocalAtom::Local(local));
    for (number, seen) in &join.counts {
        let edge = &mut program.templates[join.template.index()].cfg.edges[*number];
        if let Step::Atomic(atomic) = &mut edge.step {
            for part in &mut atomic.body.edges {
                if let Step::Assume(below) = &mut part.step {
                    *below = LocalExpr::binary(BinOp::Lt, read(*seen), Expr::Const(n));
                }
            }
        }
    }
    for (template, wait, seen) in &join.waits {
        let edge = &mut program.templates[template.index()].cfg.edges[*wait];
        if let Step::Atomic(atomic) = &mut edge.step {
            for part in &mut atomic.body.edges {
                if let Step::Assume(all) = &mut part.step {
                    *all = ended(*seen, n);
                }
            }
        }
    }
}

fn drop_join(program: &mut Program, join: &Join) {
    for (number, _) in &join.counts {
        program.templates[join.template.index()].cfg.edges[*number].step = Step::Skip;
    }
    for (template, wait, seen) in &join.waits {
        program.templates[template.index()].cfg.edges[*wait].step = Step::Havoc {
            dst: *seen,
            domain: None,
        };
    }
}
