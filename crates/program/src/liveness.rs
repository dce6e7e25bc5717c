//! Liveness: a local is *live* at a location if some path from there reads it
//! before overwriting it, or if a property reads it. Engines forget the others:
//! the machine sets them to 0, the abstraction to
//! unknown. That changes no verdict, since no later step or property can see
//! the difference.

use crate::cfg::{Cfg, Step};
use crate::ids::{LocId, LocalId, TemplateId};
use crate::program::{Local, LocalAtom, Program};
use crate::property::PropAtom;

/// A set of locals, a bit for each.
type Row = Vec<u64>;

fn has(row: &[u64], local: usize) -> bool {
    row[local / 64] >> (local % 64) & 1 == 1
}

fn set(row: &mut [u64], local: usize, is_live: bool) {
    let bit = 1 << (local % 64);
    if is_live {
        row[local / 64] |= bit;
    } else {
        row[local / 64] &= !bit;
    }
}

/// The live locals of each location of one template.
#[derive(Clone, Debug)]
pub struct Liveness {
    live: Vec<Row>,
    locals: usize,
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
        for (k, _) in code.locals.iter().enumerate().filter(|(_, l)| at_exit(l)) {
            set(exit, k, true);
        }
        spread(&code.cfg, &mut live);
        Self {
            live,
            locals: code.locals.len(),
        }
    }

    /// Whether `local` is live at `loc`.
    pub fn is_live(&self, loc: LocId, local: LocalId) -> bool {
        has(&self.live[loc.index()], local.index())
    }

    /// The locals that are dead at `loc`.
    pub fn dead(&self, loc: LocId) -> impl Iterator<Item = LocalId> + '_ {
        let live = &self.live[loc.index()];
        (0..self.locals)
            .filter(|local| !has(live, *local))
            .map(LocalId::from)
    }
}

fn observed_locals(program: &Program, template: TemplateId) -> Row {
    let mut observed = vec![0; program.template(template).locals.len().div_ceil(64)];
    for property in &program.properties {
        property.cond.for_each_atom(&mut |atom| {
            if let PropAtom::Local(thread, local) = atom
                && property.threads[thread.index()].template == template
            {
                set(&mut observed, local.index(), true);
            }
        });
    }
    observed
}

/// Spreads what is live against the edges, until nothing changes.
fn spread(cfg: &Cfg, live: &mut [Row]) {
    let mut incoming = vec![Vec::new(); cfg.loc_count()];
    for (k, edge) in cfg.edges.iter().enumerate() {
        incoming[edge.to.index()].push(k);
    }
    // The last edge first: most lead forwards.
    let mut open: Vec<usize> = (0..cfg.edges.len()).collect();
    let mut is_open = vec![true; cfg.edges.len()];
    while let Some(k) = open.pop() {
        is_open[k] = false;
        let edge = &cfg.edges[k];
        let before = before_step(&edge.step, live[edge.to.index()].clone());
        let mut changed = false;
        for (word, more) in live[edge.from.index()].iter_mut().zip(before) {
            changed |= more & !*word != 0;
            *word |= more;
        }
        if changed {
            for &k in &incoming[edge.from.index()] {
                if !std::mem::replace(&mut is_open[k], true) {
                    open.push(k);
                }
            }
        }
    }
}

fn before_step(step: &Step, after: Row) -> Row {
    if let Step::Atomic(atomic) = step {
        let body = &atomic.body;
        return within(body, after).swap_remove(body.entry.index());
    }
    let mut live = after;
    if let Some(dst) = step.written_local() {
        set(&mut live, dst.index(), false);
    }
    step.for_each_expr(&mut |e| {
        e.for_each_atom(&mut |atom| {
            if let LocalAtom::Local(local) = atom {
                set(&mut live, local.index(), true);
            }
        });
    });
    live
}

/// The live locals at each location of an atomic block.
fn within(body: &Cfg, after: Row) -> Vec<Row> {
    let mut live = vec![vec![0; after.len()]; body.loc_count()];
    live[body.exit.index()] = after;
    spread(body, &mut live);
    live
}

/// The live locals at each location of an atomic block, where `after` are live
/// behind it.
pub(crate) fn inside_block(body: &Cfg, after: &[bool]) -> Vec<Vec<bool>> {
    let mut row = vec![0; after.len().div_ceil(64)];
    for (local, is_live) in after.iter().enumerate() {
        set(&mut row, local, *is_live);
    }
    let all = within(body, row);
    let unpacked = |row: &Row| (0..after.len()).map(|local| has(row, local)).collect();
    all.iter().map(unpacked).collect()
}
