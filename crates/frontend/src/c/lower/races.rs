//! *Data races*: two threads that are about to access the same variable, at least one
//! of them to write it, at least one of them not atomically. Each pair of threads and
//! variable becomes one `never` over the locations before the accesses.

use std::collections::BTreeMap;

use palisade_program::{
    Count, Expr as Ir, GlobalId, LocId, LocalAtom, LocalExpr, Pick, Program, PropAtom, PropExpr,
    Property, PropertyKind, Span, Step, TemplateId, ThreadVar, ThreadVarId,
};

use super::code::Lower;
use crate::diagnostic::Diagnostic;

/// What is known of the variables.
pub(super) struct Known {
    /// The variables of the program, and whether they are declared atomic.
    pub(super) variables: BTreeMap<GlobalId, bool>,
    /// Where operations stand that are atomic by their name, and the variables that they
    /// access so: their other operands are plain.
    pub(super) atomic: std::collections::HashSet<(Span, GlobalId)>,
    /// Leave out accesses that cannot be judged instead of refusing the program.
    pub(super) lenient: bool,
}

/// An access that a thread can do next.
#[derive(Clone)]
struct Access {
    at: LocId,
    index: Option<LocalExpr>,
    writes: bool,
    is_atomic: bool,
    span: Span,
}

/// Adds the properties that no pair of threads races.
pub(super) fn add(program: &mut Program, known: &Known) -> Lower<()> {
    let mut accesses = Vec::new();
    for id in program.template_ids() {
        accesses.push(accesses_of(program, id, known)?);
    }
    let mut properties = Vec::new();
    for a in program.template_ids() {
        for b in program.template_ids().skip(a.index()) {
            if a == b && program.template(a).count == Count::Once {
                continue;
            }
            for var in known.variables.keys() {
                let both = (accesses[a.index()].get(var), accesses[b.index()].get(var));
                if let (Some(x), Some(y)) = both {
                    properties.extend(pair(program, (a, x), (b, y)));
                }
            }
        }
    }
    program.properties.extend(properties);
    Ok(())
}

fn accesses_of(
    program: &Program,
    id: TemplateId,
    known: &Known,
) -> Lower<BTreeMap<GlobalId, Vec<Access>>> {
    let mut all: BTreeMap<GlobalId, Vec<Access>> = BTreeMap::new();
    for edge in &program.template(id).cfg.edges {
        let mut push = |place: &palisade_program::Place, writes, in_block: bool| {
            let Some(declared) = known.variables.get(&place.var) else {
                return;
            };
            all.entry(place.var).or_default().push(Access {
                at: edge.from,
                index: place.index.clone(),
                writes,
                is_atomic: *declared || in_block || known.atomic.contains(&(edge.span, place.var)),
                span: edge.span,
            });
        };
        match &edge.step {
            Step::Load { src, .. } => push(src, false, false),
            Step::Store { dst, .. } => push(dst, true, false),
            Step::Atomic(block) => {
                let waits = block
                    .body
                    .edges
                    .iter()
                    .any(|e| matches!(e.step, Step::Assume(_)));
                let (mut touches, mut computes) = (false, false);
                for inner in &block.body.edges {
                    match &inner.step {
                        Step::Load { src, .. } => {
                            touches |= known.variables.contains_key(&src.var);
                            computes |= src.index.is_some();
                            push(src, false, true);
                        }
                        Step::Store { dst, .. } => {
                            touches |= known.variables.contains_key(&dst.var);
                            computes |= dst.index.is_some();
                            push(dst, true, true);
                        }
                        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {
                        }
                        Step::Fence(_) | Step::Atomic(_) | Step::Assert { .. } => {}
                        Step::Put { .. }
                        | Step::Get { .. }
                        | Step::RemoteAtomic(_)
                        | Step::Flush(_) => {}
                    }
                }
                // A block of the user's may wait, or change the index on its way.
                let is_users = block.kind == palisade_program::AtomicKind::Block;
                if is_users && touches && (waits || computes) && known.lenient {
                    for accesses in all.values_mut() {
                        accesses.retain(|a| a.at != edge.from);
                    }
                } else if is_users && touches && (waits || computes) {
                    return Err(Diagnostic::error(
                        edge.span,
                        "unsupported: a search for races with an atomic block that may wait",
                    )
                    .help("leave out --check races"));
                }
            }
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
            Step::Fence(_) | Step::Assert { .. } => {}
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {}
        }
    }
    Ok(all)
}

fn pair(
    program: &Program,
    (a, x): (TemplateId, &Vec<Access>),
    (b, y): (TemplateId, &Vec<Access>),
) -> Option<Property> {
    let pick = |t: TemplateId, n: u32| match program.template(t).count {
        Count::Once => Pick::Only,
        Count::Fixed(_) | Count::Any => Pick::Any(n),
    };
    let threads = vec![
        ThreadVar {
            template: a,
            pick: pick(a, 1),
        },
        ThreadVar {
            template: b,
            pick: pick(b, 2),
        },
    ];
    let (first, second) = (ThreadVarId(0), ThreadVarId(1));
    let mut cond: PropExpr = Ir::FALSE;
    let mut span = None;
    for p in x {
        for q in y {
            if !(p.writes || q.writes) || (p.is_atomic && q.is_atomic) {
                continue;
            }
            let mut here: PropExpr = Ir::Atom(PropAtom::At(first, p.at));
            here = here.and(Ir::Atom(PropAtom::At(second, q.at)));
            if let (Some(i), Some(j)) = (&p.index, &q.index) {
                let (i, j) = (lifted(i, first), lifted(j, second));
                here = here.and(PropExpr::binary(palisade_program::BinOp::Eq, i, j));
            }
            if here == Ir::FALSE {
                continue;
            }
            span.get_or_insert(if p.writes { p.span } else { q.span });
            cond = cond.or(here);
        }
    }
    span.map(|span| Property {
        kind: PropertyKind::Never,
        threads,
        cond,
        span,
    })
}

/// A thread's expression in a property.
fn lifted(e: &LocalExpr, thread: ThreadVarId) -> PropExpr {
    e.substitute(&mut |atom| match atom {
        LocalAtom::Local(local) => Ir::Atom(PropAtom::Local(thread, *local)),
        LocalAtom::SelfId => Ir::Atom(PropAtom::SelfOf(thread)),
    })
}
