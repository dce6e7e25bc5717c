//! *Templates*: threads that run the same code stay one template, so that proofs do
//! not depend on how many there are [Donaldson et al., CAV 2011]. Lowering makes a thread of every
//! `pthread_create` that it meets, with flags by which it is started and awaited;
//! this pass joins what is alike and drops flags that say nothing. It changes no
//! reachable state of the user's variables; the arguments:
//!
//! - **Merging.** Threads whose code is equal up to their flags, and that are started
//!   by *quiet* steps in a row, become `t[n]`, started by the last of these steps.
//!   Quiet steps write nothing but what their own thread alone reads, and can always
//!   happen: the creator may do them all as soon as it does the first, so a thread
//!   that starts earlier loses nothing. If the creator awaits them, it must do so in a
//!   row too: a count of the ended threads takes the place of the flags.
//! - **Any number.** `while (1) pthread_create(..)` passes a token to each new thread.
//!   If the loop can go round with quiet steps only and come back to the same state,
//!   the creator can start as many threads as a run needs where it starts the first.
//!   So the token becomes a flag that stays up.
//! - **From the start.** If `main` gets to the creation by quiet steps that it has no
//!   choice about, the threads may run from the start: `main` does those steps first.
//!
//! Under TSO and PSO quiet steps need empty buffers at most, which they leave empty.

mod edit;
mod merge;
mod tokens;

use std::collections::BTreeSet;

use palisade_program::{
    AtomicKind, Cfg, CfgBuilder, Count, Edge, Expr, FenceKind, GlobalId, LocId, LocalId, Place,
    Program, Step,
};

use super::code::Lower;
use super::graph::without_skips;
use super::thread::Plan;
use crate::diagnostic::Diagnostic;
use edit::{edit, is_chain, is_constant_place, loads, mentioned, steps, stores};

/// The variables by which a thread is started and awaited.
#[derive(Clone, Debug)]
struct Books {
    started: GlobalId,
    ended: GlobalId,
    result: Option<GlobalId>,
    argument: Option<GlobalId>,
}

/// Joins what is alike. Tells the new number of every variable that is left.
pub(super) fn keep(program: &mut Program, plans: &[Plan<'_>]) -> Lower<Vec<Option<GlobalId>>> {
    // Processes own variables by the number of their template.
    if program.globals.iter().any(|g| g.home.is_some()) {
        return Ok(program.global_ids().map(Some).collect());
    }
    let books = plans.iter().map(|plan| Books {
        started: plan.started,
        ended: plan.ended,
        result: plan.result,
        argument: plan.argument,
    });
    let mut pass = Pass {
        program,
        books: books.collect(),
        merged: Vec::new(),
    };
    pass.refuse_loops()?;
    pass.forget_arguments();
    pass.merge();
    pass.keep_tokens_up();
    pass.start_at_once();
    Ok(pass.clean_up())
}

struct Pass<'p> {
    program: &'p mut Program,
    /// By template; those of `main` (the first) mean nothing.
    books: Vec<Books>,
    /// Variables whose accesses went elsewhere.
    merged: Vec<Books>,
}

/// An edge of a template: its place among the template's edges.
type At = (usize, usize);

impl Pass<'_> {
    fn cfg(&self, template: usize) -> &Cfg {
        &self.program.templates[template].cfg
    }

    fn edge(&self, at: At) -> &Edge {
        &self.cfg(at.0).edges[at.1]
    }

    fn threads(&self) -> std::ops::Range<usize> {
        1..self.program.templates.len()
    }

    /// All edges on which a step (also inside blocks) fulfils `f`.
    fn edges_with(&self, f: &dyn Fn(&Step) -> bool) -> Vec<At> {
        let mut found = Vec::new();
        for (t, template) in self.program.templates.iter().enumerate() {
            for (e, edge) in template.cfg.edges.iter().enumerate() {
                if steps(&edge.step).iter().any(|s| f(s)) {
                    found.push((t, e));
                }
            }
        }
        found
    }

    fn is_loaded(&self, var: GlobalId) -> bool {
        !self.edges_with(&|s| loads(s, var)).is_empty()
    }

    /// The edge that starts `thread`, if there is just one.
    fn start_of(&self, thread: usize) -> Option<At> {
        let var = self.books[thread].started;
        let stores = self.edges_with(&|s| stores(s, var));
        let others: Vec<At> = stores.into_iter().filter(|at| at.0 != thread).collect();
        match others.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// Whether no template but `t` accesses `var`.
    fn is_own(&self, t: usize, var: GlobalId) -> bool {
        let accesses = self.edges_with(&|s| loads(s, var) || stores(s, var));
        accesses.iter().all(|at| at.0 == t)
    }

    /// Whether a step of `t` changes nothing that others see, is always possible, and
    /// gives the same when it is done again. Starting a thread counts as quiet.
    fn is_quiet(&self, t: usize, step: &Step) -> bool {
        match step {
            Step::Skip | Step::Fence(_) => true,
            Step::Assign { value, .. } => matches!(value, Expr::Const(_)),
            Step::Store { dst, value } => {
                let starts = self.threads().any(|k| self.books[k].started == dst.var);
                let constant = matches!(value, Expr::Const(_)) && is_constant_place(dst);
                constant && (starts || self.is_own(t, dst.var))
            }
            Step::Atomic(atomic) => {
                is_chain(&atomic.body)
                    && atomic.body.edges.iter().all(|e| self.is_quiet(t, &e.step))
            }
            Step::Assume(_) | Step::Havoc { .. } | Step::Load { .. } | Step::Assert { .. } => false,
            Step::Put { .. } | Step::Get { .. } => false,
            Step::RemoteAtomic(_) | Step::Flush(_) => false,
        }
    }

    /// The only edge from `loc`, if no other edge leads there.
    fn only_way(&self, t: usize, loc: LocId) -> Option<usize> {
        let cfg = self.cfg(t);
        let into = cfg.edges.iter().filter(|e| e.to == loc).count();
        let mut out = cfg.outgoing(loc);
        let first = out.next().map(|(id, _)| id.index());
        (into == 1 && out.next().is_none() && loc != cfg.entry && loc != cfg.exit)
            .then_some(first)
            .flatten()
    }

    /// The quiet edges in a row that begin with `first`.
    fn quiet_row(&self, first: At) -> Vec<usize> {
        let mut row = vec![first.1];
        let mut at = self.edge(first).to;
        while let Some(next) = self.only_way(first.0, at) {
            let edge = self.edge((first.0, next));
            if row.contains(&next) || !self.is_quiet(first.0, &edge.step) {
                break;
            }
            row.push(next);
            at = edge.to;
        }
        row
    }

    /// A thread that is made for one creation cannot be started twice. Lowering sees
    /// loops, also those that `goto` makes; this looks again at what it made.
    fn refuse_loops(&self) -> Lower<()> {
        for thread in self.threads() {
            let Some(at) = self.start_of(thread) else {
                continue;
            };
            let once = self.program.templates[thread].count == Count::Once;
            if once && self.reaches(at.0, self.edge(at).to, self.edge(at).from) {
                return Err(Diagnostic::error(
                    self.edge(at).span,
                    "unsupported: a thread that is created in a loop made by goto",
                )
                .help("write the loop with while or for"));
            }
        }
        Ok(())
    }

    /// Whether control can get from one place of a template to another.
    fn reaches(&self, t: usize, from: LocId, to: LocId) -> bool {
        let mut seen = BTreeSet::new();
        let mut stack = vec![from];
        while let Some(loc) = stack.pop() {
            if loc == to {
                return true;
            }
            if seen.insert(loc) {
                stack.extend(self.cfg(t).outgoing(loc).map(|(_, e)| e.to));
            }
        }
        false
    }

    /// Arguments that a thread does not look at are not passed.
    fn forget_arguments(&mut self) {
        for thread in self.threads() {
            let Some(argument) = self.books[thread].argument else {
                continue;
            };
            let template = &mut self.program.templates[thread];
            let read = mentioned(&template.cfg);
            edit(&mut template.cfg, &mut |step| match step {
                Step::Load { dst, src } if src.var == argument && !read.contains(dst) => {
                    *step = Step::Skip;
                }
                _ => {}
            });
            if !self.is_loaded(argument) {
                self.drop_stores(argument);
            }
        }
    }

    fn drop_stores(&mut self, var: GlobalId) {
        for template in &mut self.program.templates {
            edit(&mut template.cfg, &mut |step| {
                if stores(step, var) {
                    *step = Step::Skip;
                }
            });
        }
    }

    /// Drops flags that nothing reads, and steps that do nothing.
    fn clean_up(mut self) -> Vec<Option<GlobalId>> {
        let mut all = self.merged.clone();
        all.extend(self.books[1..].iter().cloned());
        let mut unused = BTreeSet::new();
        for books in &all {
            let own = [Some(books.started), Some(books.ended)];
            for var in own
                .into_iter()
                .chain([books.result, books.argument])
                .flatten()
            {
                if !self.is_loaded(var) {
                    self.drop_stores(var);
                    unused.insert(var);
                }
            }
        }
        for template in &mut self.program.templates {
            let read = mentioned(&template.cfg);
            for edge in &mut template.cfg.edges {
                if let Step::Atomic(atomic) = &mut edge.step
                    && atomic.kind == AtomicKind::Block
                {
                    forget_handles(&mut atomic.body, &read);
                }
            }
            tidy(&mut template.cfg);
        }
        renumber(self.program, &unused)
    }
}

/// Drops assignments of constants to locals that nothing reads.
fn forget_handles(body: &mut Cfg, read: &BTreeSet<LocalId>) {
    edit(body, &mut |step| match step {
        Step::Assign {
            dst,
            value: Expr::Const(_),
        } if !read.contains(dst) => *step = Step::Skip,
        _ => {}
    });
}

/// Blocks that became empty wait for empty buffers and do nothing else; loops that do
/// nothing go.
fn tidy(cfg: &mut Cfg) {
    let begins = cfg.edges.iter().all(|e| e.to != cfg.entry);
    for edge in &mut cfg.edges {
        if let Step::Atomic(atomic) = &mut edge.step {
            let nothing = |e: &Edge| e.step == Step::Skip;
            if is_chain(&atomic.body) && atomic.body.edges.iter().all(nothing) {
                // A thread begins, and is over, with empty buffers.
                let outermost = edge.from == cfg.entry && begins || edge.to == cfg.exit;
                edge.step = if outermost {
                    Step::Skip
                } else {
                    Step::Fence(FenceKind::Full)
                };
            } else {
                atomic.body = without_skips(&atomic.body);
            }
        }
    }
    let idle =
        |e: &Edge| e.from == e.to && matches!(e.step, Step::Skip | Step::Fence(FenceKind::Full));
    if cfg.edges.iter().any(idle) {
        let mut builder = CfgBuilder::new();
        (0..cfg.loc_count()).for_each(|_| {
            builder.loc();
        });
        for edge in cfg.edges.iter().filter(|e| !idle(e)) {
            builder.edge(edge.from, edge.step.clone(), edge.to, edge.span);
        }
        *cfg = builder.finish_whole(cfg.entry, cfg.exit);
    }
    *cfg = without_skips(cfg);
}

/// Removes variables and gives the others their new numbers.
fn renumber(program: &mut Program, unused: &BTreeSet<GlobalId>) -> Vec<Option<GlobalId>> {
    let mut next = 0;
    let number = |var: GlobalId| {
        (!unused.contains(&var)).then(|| {
            next += 1;
            GlobalId::from(next - 1)
        })
    };
    let map: Vec<Option<GlobalId>> = program.global_ids().map(number).collect();
    let mut kept = map.iter().map(Option::is_some);
    program.globals.retain(|_| kept.next().unwrap_or(true));
    for template in &mut program.templates {
        let new = |place: &mut Place| {
            place.var = map[place.var.index()].expect("what is accessed is kept");
        };
        edit(&mut template.cfg, &mut |step| match step {
            Step::Load { src: place, .. } | Step::Store { dst: place, .. } => new(place),
            Step::Put { remote, local } | Step::Get { local, remote } => {
                new(remote);
                new(local);
            }
            Step::RemoteAtomic(atomic) => atomic.places_mut().into_iter().for_each(new),
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
            Step::Fence(_) | Step::Atomic(_) | Step::Assert { .. } | Step::Flush(_) => {}
        });
    }
    map
}
