//! *Data races*: two threads that are about to access the same variable, at least one
//! of them to write it, at least one of them not atomically. Each pair of threads and
//! variable becomes one `never` over the locations before the accesses, and, for accesses in an
//! atomic block of the program, over the states in which it runs ([`block`]).

mod block;

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::{
    AtomicKind, BinOp, Cfg, Count, Expr as Ir, GlobalId, LocId, LocalAtom, LocalExpr, Pick, Place,
    Program, PropAtom, PropExpr, Property, PropertyKind, Span, Step, TemplateId, ThreadVar,
    ThreadVarId,
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
    /// Where plain accesses stand that are made in a block of the library: where remote races are looked for.
    pub(super) plain: std::collections::HashSet<(Span, GlobalId)>,
    /// Where remote races are looked for: the rank of each thread. Accesses of different ranks, and those of the
    /// network, are remote.
    pub(super) ranks: Option<Vec<Option<u32>>>,
    /// Leave out accesses that cannot be judged instead of refusing the program.
    pub(super) lenient: bool,
}

/// An access that a thread can do next.
struct Access {
    at: LocId,
    /// In terms of [`HERE`].
    index: Option<PropExpr>,
    /// Also in terms of [`HERE`]; `None` if that cannot be said.
    when: Option<PropExpr>,
    writes: bool,
    is_atomic: bool,
    span: Span,
}

/// The thread that accesses, until it is known which of the two it is.
const HERE: ThreadVarId = ThreadVarId(0);

/// Adds the properties that no pair of threads races.
pub(super) fn add(program: &mut Program, known: &Known) -> Lower<()> {
    let mut accesses = Vec::new();
    for id in program.template_ids() {
        accesses.push(accesses_of(program, id, known));
    }
    let mut properties = Vec::new();
    for a in program.template_ids() {
        for b in program.template_ids().skip(a.index()) {
            if a == b && program.template(a).count == Count::Once {
                continue;
            }
            if let Some(ranks) = &known.ranks {
                let rank = |t: TemplateId| ranks.get(t.index()).copied().flatten();
                if rank(a).is_none() || rank(a) != rank(b) {
                    continue;
                }
            }
            for var in known.variables.keys() {
                let both = (accesses[a.index()].get(var), accesses[b.index()].get(var));
                if let (Some(x), Some(y)) = both {
                    properties.extend(pair(program, (a, x), (b, y), known.lenient)?);
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
) -> BTreeMap<GlobalId, Vec<Access>> {
    let cfg = &program.template(id).cfg;
    let stored = cfg.edges.iter().filter_map(|e| e.step.stored());
    let buffered: BTreeSet<GlobalId> = stored.map(|place| place.var).collect();
    let mut all: BTreeMap<GlobalId, Vec<Access>> = BTreeMap::new();
    for edge in &cfg.edges {
        let mut push = |var: GlobalId, index, when, writes, in_block: bool| {
            let Some(declared) = known.variables.get(&var) else {
                return;
            };
            let is_named = known.atomic.contains(&(edge.span, var));
            let is_plain = known.plain.contains(&(edge.span, var));
            if in_block && known.ranks.is_some() && !is_named && !is_plain {
                // Part of a remote operation, which is under way then.
                return;
            }
            all.entry(var).or_default().push(Access {
                at: edge.from,
                index,
                when,
                writes,
                is_atomic: *declared || is_named || in_block && !is_plain,
                span: edge.span,
            });
        };
        let mut plain = |place: &Place, writes| {
            let index = place.index.as_ref().map(|e| lifted(e, HERE));
            push(place.var, index, Some(Ir::TRUE), writes, false);
        };
        match &edge.step {
            Step::Load { src, .. } => plain(src, false),
            Step::Store { dst, .. } => plain(dst, true),
            Step::Atomic(block) => {
                // The library's blocks access what they are for, without condition.
                let is_users = block.kind == AtomicKind::Block;
                let paths = block::accesses(&block.body, HERE, &buffered, known.ranks.is_some());
                if let (true, Some(accesses)) = (is_users, paths) {
                    for a in accesses {
                        // A wait of OpenSHMEM looks again and again, until what it waits for is there.
                        let is_look =
                            known.ranks.is_some() && known.atomic.contains(&(edge.span, a.var));
                        let when = if is_look { Ir::TRUE } else { a.when };
                        push(a.var, a.index, Some(when), a.writes, true);
                    }
                } else {
                    for (place, writes) in touched(&block.body) {
                        let index = place.index.as_ref().map(|e| lifted(e, HERE));
                        let when = (!is_users).then_some(Ir::TRUE);
                        push(place.var, index, when, writes, true);
                    }
                }
            }
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
            Step::Fence(_) | Step::Assert { .. } => {}
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {}
        }
    }
    all
}

/// What the steps of a block load and store.
fn touched(body: &Cfg) -> impl Iterator<Item = (&Place, bool)> {
    body.edges.iter().filter_map(|edge| {
        let loaded = edge.step.loaded().map(|place| (place, false));
        loaded.or_else(|| edge.step.stored().map(|place| (place, true)))
    })
}

fn pair(
    program: &Program,
    (a, x): (TemplateId, &Vec<Access>),
    (b, y): (TemplateId, &Vec<Access>),
    lenient: bool,
) -> Lower<Option<Property>> {
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
            let (Some(when), Some(also)) = (&p.when, &q.when) else {
                if lenient {
                    continue;
                }
                let span = if p.when.is_none() { p.span } else { q.span };
                return Err(Diagnostic::error(
                    span,
                    "unsupported: a search for races with this atomic block",
                )
                .help(
                    "what it accesses depends on a choice or a loop inside it; make it smaller, or leave out --check races",
                ));
            };
            let mut here: PropExpr = Ir::Atom(PropAtom::At(first, p.at));
            here = here.and(Ir::Atom(PropAtom::At(second, q.at)));
            here = here.and(said_of(when, first)).and(said_of(also, second));
            if let (Some(i), Some(j)) = (&p.index, &q.index) {
                let (i, j) = (said_of(i, first), said_of(j, second));
                here = here.and(PropExpr::binary(BinOp::Eq, i, j));
            }
            if here == Ir::FALSE {
                continue;
            }
            span.get_or_insert(if p.writes { p.span } else { q.span });
            cond = cond.or(here);
        }
    }
    Ok(span.map(|span| Property {
        kind: PropertyKind::Never,
        threads,
        cond,
        span,
    }))
}

/// A thread's expression in a property.
fn lifted(e: &LocalExpr, thread: ThreadVarId) -> PropExpr {
    e.substitute(&mut |atom| match atom {
        LocalAtom::Local(local) => Ir::Atom(PropAtom::Local(thread, *local)),
        LocalAtom::SelfId => Ir::Atom(PropAtom::SelfOf(thread)),
    })
}

/// An expression in terms of [`HERE`], said of a thread.
fn said_of(e: &PropExpr, thread: ThreadVarId) -> PropExpr {
    e.substitute(&mut |atom| {
        Ir::Atom(match *atom {
            PropAtom::Local(_, local) => PropAtom::Local(thread, local),
            PropAtom::SelfOf(_) => PropAtom::SelfOf(thread),
            PropAtom::At(_, loc) => PropAtom::At(thread, loc),
            PropAtom::Global(var, k) => PropAtom::Global(var, k),
        })
    })
}
