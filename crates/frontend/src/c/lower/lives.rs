//! *Lives of threads*, the last pass: what decides whether a thread that cannot move is in a
//! deadlock ([`Life`]). A thread that waits to be started is not; when `main` has returned, or
//! called `exit`, nobody is. Runs end at `assume`s outside blocks, so a join becomes a block that
//! waits: `atomic(read) { r = t.ended; assume(r == 1) }`. Under RC11 that is the acquire load that it was.

use std::collections::BTreeSet;

use palisade_program::liveness::Liveness;
use palisade_program::{
    Atomic, AtomicKind, Cfg, CfgBuilder, GlobalId, LocId, LocalId, Place, Program, Span, Step,
    TemplateId,
};

/// The variables by which threads are started and awaited.
pub(super) struct Flags {
    pub(super) started: BTreeSet<GlobalId>,
    pub(super) ended: BTreeSet<GlobalId>,
}

/// Finishes all threads; the first is `main`, whose end is that of the program unless it `exits`
/// by itself, with the others going on.
pub(super) fn settle(program: &mut Program, flags: &Flags, exits: bool) {
    let awaited = flags.started.union(&flags.ended).copied().collect();
    for id in program.template_ids() {
        let waits: Vec<Wait> = waits(program, id, &awaited).collect();
        let template = &mut program.templates[id.index()];
        for wait in waits {
            let edges = &mut template.cfg.edges;
            edges[wait.assume].step = Step::Skip;
            edges[wait.load].step = wait.block;
        }
        template.life.is_started = is_started(&template.cfg, &flags.started);
        template.life.ends_program = id.index() == 0 && !exits;
    }
}

/// Whether a thread waits at its entry for a flag.
fn is_started(cfg: &Cfg, flags: &BTreeSet<GlobalId>) -> bool {
    let mut edges = cfg.outgoing(cfg.entry);
    let (Some((_, only)), None) = (edges.next(), edges.next()) else {
        return false;
    };
    let first = only.step.block().and_then(|atomic| {
        let mut inner = atomic.body.outgoing(atomic.body.entry);
        inner.next().map(|(_, edge)| &edge.step)
    });
    matches!(first, Some(Step::Load { src, .. }) if flags.contains(&src.var))
}

/// A load and the `assume` after it, as one block.
struct Wait {
    load: usize,
    assume: usize,
    block: Step,
}

/// The loads of flags that are followed by an `assume` of what they read, and by nothing else
/// that reads it.
fn waits<'p>(
    program: &'p Program,
    id: TemplateId,
    flags: &'p BTreeSet<GlobalId>,
) -> impl Iterator<Item = Wait> + use<'p> {
    let cfg = &program.template(id).cfg;
    let live = Liveness::of(program, id);
    cfg.edges
        .iter()
        .enumerate()
        .filter_map(move |(load, edge)| {
            let Step::Load { dst, src } = &edge.step else {
                return None;
            };
            if !flags.contains(&src.var) || entering(cfg, edge.to) != 1 {
                return None;
            }
            let mut after = cfg.outgoing(edge.to);
            let (assume, next) = after.next()?;
            let Step::Assume(cond) = &next.step else {
                return None;
            };
            if after.next().is_some() || live.is_live(next.to, *dst) {
                return None;
            }
            let block = block(*dst, src, Step::Assume(cond.clone()), edge.span);
            Some(Wait {
                load,
                assume: assume.index(),
                block,
            })
        })
}

fn entering(cfg: &Cfg, loc: LocId) -> usize {
    cfg.edges.iter().filter(|e| e.to == loc).count()
}

fn block(dst: LocalId, src: &Place, assume: Step, span: Span) -> Step {
    let mut builder = CfgBuilder::new();
    let [entry, middle, exit] = [(); 3].map(|()| builder.loc());
    let src = src.clone();
    builder.edge(entry, Step::Load { dst, src }, middle, span);
    builder.edge(middle, assume, exit, span);
    Step::Atomic(Box::new(Atomic {
        kind: AtomicKind::Read,
        body: builder.finish_whole(entry, exit),
    }))
}
