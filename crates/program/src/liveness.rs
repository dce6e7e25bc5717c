//! Liveness: a local is *live* at a location if some path from there reads it
//! before overwriting it, or if a property reads it. Engines forget the others:
//! the machine sets them to 0, the abstraction to
//! unknown. That changes no verdict, since no later step or property can see
//! the difference.

use crate::cfg::{Cfg, Step};
use crate::ids::{LocId, LocalId, TemplateId};
use crate::program::{Local, LocalAtom, Program};
use crate::property::PropAtom;

/// The live locals of each location of one template.
#[derive(Clone, Debug)]
pub struct Liveness {
    live: Vec<Vec<bool>>,
}

impl Liveness {
    /// Computes the live locals of `template`. Locals that a property reads are
    /// live everywhere.
    pub fn of(program: &Program, template: TemplateId) -> Self {
        Self::keeping(program, template, |_| false)
    }

    /// As [`Self::of`]; the locals for which `at_exit` is true are live at the
    /// exit as well, for engines that report the final values.
    pub fn keeping(
        program: &Program,
        template: TemplateId,
        at_exit: impl Fn(&Local) -> bool,
    ) -> Self {
        let code = program.template(template);
        let observed = observed_locals(program, template);
        let mut live = vec![observed; code.cfg.loc_count()];
        let exit = &mut live[code.cfg.exit.index()];
        for (slot, local) in exit.iter_mut().zip(&code.locals) {
            *slot |= at_exit(local);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for edge in code.cfg.edges.iter().rev() {
                let before = before_step(&edge.step, live[edge.to.index()].clone());
                let at = &mut live[edge.from.index()];
                for (slot, is_live) in at.iter_mut().zip(before) {
                    changed |= is_live && !*slot;
                    *slot |= is_live;
                }
            }
        }
        Self { live }
    }

    /// Whether `local` is live at `loc`.
    pub fn is_live(&self, loc: LocId, local: LocalId) -> bool {
        self.live[loc.index()][local.index()]
    }

    /// The locals that are dead at `loc`.
    pub fn dead(&self, loc: LocId) -> impl Iterator<Item = LocalId> + '_ {
        let live = &self.live[loc.index()];
        live.iter()
            .enumerate()
            .filter(|&(_, live)| !live)
            .map(|(i, _)| LocalId::from(i))
    }
}

fn observed_locals(program: &Program, template: TemplateId) -> Vec<bool> {
    let mut observed = vec![false; program.template(template).locals.len()];
    for property in &program.properties {
        property.cond.for_each_atom(&mut |atom| {
            if let PropAtom::Local(thread, local) = atom
                && property.threads[thread.index()].template == template
            {
                observed[local.index()] = true;
            }
        });
    }
    observed
}

fn before_step(step: &Step, after: Vec<bool>) -> Vec<bool> {
    if let Step::Atomic(atomic) = step {
        return before_block(&atomic.body, &after);
    }
    let mut live = after;
    if let Some(dst) = step.written_local() {
        live[dst.index()] = false;
    }
    step.for_each_expr(&mut |e| {
        e.for_each_atom(&mut |atom| {
            if let LocalAtom::Local(local) = atom {
                live[local.index()] = true;
            }
        });
    });
    live
}

fn before_block(body: &Cfg, after: &[bool]) -> Vec<bool> {
    inside_block(body, after).swap_remove(body.entry.index())
}

/// The live locals at each location of an atomic block, where `after` are live
/// behind it.
pub(crate) fn inside_block(body: &Cfg, after: &[bool]) -> Vec<Vec<bool>> {
    let mut live = vec![vec![false; after.len()]; body.loc_count()];
    live[body.exit.index()] = after.to_vec();
    let mut changed = true;
    while changed {
        changed = false;
        for edge in body.edges.iter().rev() {
            let before = before_step(&edge.step, live[edge.to.index()].clone());
            for (slot, is_live) in live[edge.from.index()].iter_mut().zip(before) {
                changed |= is_live && !*slot;
                *slot |= is_live;
            }
        }
    }
    live
}
