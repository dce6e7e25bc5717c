//! *Presence*: flags that say that some thread is at one of some locations, for questions about any number of threads. That all
//! threads are blocked is not seen by looking at a few of them: it may be somebody else who goes on. A flag is one
//! variable for all of them.
//!
//! | step of a thread of the template | what is added behind it |
//! |---|---|
//! | from outside to one of the locations | `flag = 1` |
//! | from one of the locations to outside | `flag = 0` |
//!
//! Inside of atomic blocks that wait for the thread's buffers the store is the last of the block; where there are no buffers, a store, a
//! load or the like and the store to the flag become a block; else it is a step of its own, from a new location. Flags are 0 at first, and nobody reads them.
//!
//! **Claim.** For each run of the program there is one of the changed program to the same state and with the same
//! things pending, whose flags satisfy: where nothing is pending and a flag is 1, some thread is at one of its
//! locations. Let each added store be made, and reach memory, as soon as it can: threads stand at their old locations then, and
//! whenever the stores of the program that wait have reached memory, so have the added ones, whether there is one buffer for all
//! variables or one for each. So nobody waits longer. If a flag is 1 and nothing is pending, then a thread has come to the locations and has
//! made the last store to the flag, in the order in which they reached memory; had it left since, its store of 0 would have reached memory
//! later. The flag may be 0 although somebody is there (two have come, and one has left): then it says nothing.
//!
//! Locations and edges keep their numbers; new ones follow behind.

use crate::cfg::{Atomic, AtomicKind, Cfg, CfgBuilder, Place, Step};
use crate::expr::Expr;
use crate::ids::{GlobalId, LocId, TemplateId};
use crate::program::{Domain, Global, Init, Program, Role};
use crate::source::Span;

/// Some thread of a template is at one of these locations.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Presence {
    /// The template.
    pub template: TemplateId,
    /// Locations of it.
    pub locs: Vec<LocId>,
}

/// A presence with its flag.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Flag {
    /// What it says when it is 1.
    pub presence: Presence,
    /// The variable.
    pub var: GlobalId,
}

/// The program with a flag for each of these; `None` if there is no such location, or the program is one with
/// remote memory. `has_buffers` says whether the memory model is one with store buffers.
pub fn with_presence(
    program: &Program,
    presences: &[Presence],
    has_buffers: bool,
) -> Option<Program> {
    if program.is_rma() || !program.present.is_empty() {
        return None;
    }
    let mut changed = program.clone();
    for (number, presence) in presences.iter().enumerate() {
        let template = program.templates.get(presence.template.index())?;
        let exist = |loc: &LocId| loc.index() < template.cfg.loc_count();
        if !presence.locs.iter().all(exist) {
            return None;
        }
        let var = GlobalId::from(changed.globals.len());
        changed.globals.push(Global {
            name: format!("{}'present{number}", template.name),
            len: None,
            init: vec![Init::Value(0)],
            domain: Some(Domain { lo: 0, hi: 1 }),
            role: Role::Data,
            home: None,
            span: Span::default(),
        });
        let presence = presence.clone();
        changed.present.push(Flag { presence, var });
    }
    for id in program.template_ids() {
        let of_template = |flag: &&Flag| flag.presence.template == id;
        let flags: Vec<&Flag> = changed.present.iter().filter(of_template).collect();
        if !flags.is_empty() {
            let cfg = flagged(&program.template(id).cfg, &flags, has_buffers);
            changed.templates[id.index()].cfg = cfg;
        }
    }
    Some(changed)
}

/// The graph with the stores to these flags.
fn flagged(cfg: &Cfg, flags: &[&Flag], has_buffers: bool) -> Cfg {
    let mut builder = CfgBuilder::new();
    for _ in cfg.locs() {
        builder.loc();
    }
    for edge in &cfg.edges {
        let stores: Vec<Step> = flags
            .iter()
            .filter_map(|flag| {
                let is_at = |loc: LocId| flag.presence.locs.contains(&loc);
                let crosses = is_at(edge.from) != is_at(edge.to);
                crosses.then(|| Step::Store {
                    dst: Place::scalar(flag.var),
                    value: Expr::Const(i64::from(is_at(edge.to))),
                })
            })
            .collect();
        let block = as_block(&edge.step, has_buffers, edge.span);
        if let Some(body) = block.filter(|_| !stores.is_empty()) {
            let step = Step::Atomic(Box::new(Atomic {
                kind: AtomicKind::Block,
                body: extended(&body, stores, edge.span),
            }));
            builder.edge(edge.from, step, edge.to, edge.span);
            continue;
        }
        let (mut from, mut step) = (edge.from, edge.step.clone());
        for store in stores {
            let next = builder.loc();
            builder.edge(from, step, next, edge.span);
            (from, step) = (next, store);
        }
        builder.edge(from, step, edge.to, edge.span);
    }
    builder.finish_whole(cfg.entry, cfg.exit)
}

/// The body of the block that a step is, or is the same as: an `assume` would wait there.
fn as_block(step: &Step, has_buffers: bool, span: Span) -> Option<Cfg> {
    match step {
        Step::Atomic(atomic) => atomic.drains().then(|| atomic.body.clone()),
        Step::Skip
        | Step::Assign { .. }
        | Step::Havoc { .. }
        | Step::Load { .. }
        | Step::Store { .. }
            if !has_buffers =>
        {
            let mut one = CfgBuilder::new();
            let (entry, exit) = (one.loc(), one.loc());
            one.edge(entry, step.clone(), exit, span);
            Some(one.finish_whole(entry, exit))
        }
        Step::Skip | Step::Assign { .. } | Step::Havoc { .. } | Step::Load { .. } => None,
        Step::Store { .. } | Step::Assume(_) | Step::Assert { .. } | Step::Fence(_) => None,
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => None,
    }
}

/// The body of a block, and these steps.
fn extended(body: &Cfg, steps: Vec<Step>, span: Span) -> Cfg {
    let mut builder = CfgBuilder::new();
    for _ in body.locs() {
        builder.loc();
    }
    for edge in &body.edges {
        builder.edge(edge.from, edge.step.clone(), edge.to, edge.span);
    }
    let mut exit = body.exit;
    for step in steps {
        let next = builder.loc();
        builder.edge(exit, step, next, span);
        exit = next;
    }
    builder.finish_whole(body.entry, exit)
}
