//! *Progress*, where it counts: from no state of the invariant does a thread spin for ever while
//! nobody can change what it waits for.
//!
//! At a control whose buffers are empty one of these is shown, by following the steps of one
//! thread at a time while the others stand still. Only steps that are possible for
//! certain are followed (their guard holds whatever the control leaves open), so this needs a
//! certificate whose controls give the values of all variables that matter.
//!
//! - Some thread can get to where a cell of memory has another value, or where the run is over.
//! - Every thread can get to its end, or to where no step of it is possible.
//!
//! While memory stays as it is threads do not see each other, so what a thread can do alone it can
//! do in every order, and a scheduler that is fair lets it. A buffered store is
//! followed by its arrival. States between stops need no look: a thread that can never
//! get on cannot at the next stop either, and there is one, since every cycle has a stop.

use palisade_logic::Formula;
use palisade_program::{LocId, Program, Step, Stuck};
use rustc_hash::FxHashSet;

use crate::certificate::{Certificate, Control, Kind};
use crate::index::After;
use crate::refusal::{Reason, Refusal};
use crate::state::StateVar;
use crate::worker::{CompiledEffect, Worker, after};

/// Controls that one thread is followed through, at most.
const MOST: usize = 20_000;

/// What a thread can do on a memory that stays as it is.
enum Alone {
    /// It changes memory, or ends the run.
    GetsOn,
    /// It comes to its end, or to where it waits.
    Rests,
    /// Neither is shown.
    MaySpin,
}

/// Whether a certificate of this sort can show that there is progress.
pub(crate) fn admissible(program: &Program, certificate: &Certificate) -> Result<(), Reason> {
    if !program.progress {
        return Ok(());
    }
    let unsupported = |what: &str| Err(Reason::Unsupported(what.to_owned()));
    match certificate.kind {
        Kind::Views => return unsupported("progress of any number of threads"),
        Kind::Histories(_) => return unsupported("progress under RC11"),
        // `reach::stagnant` has the account of states in which every value is known.
        Kind::Inductive | Kind::Stops | Kind::Reachable(_) => {}
    }
    if certificate.model == palisade_program::Model::Rma {
        return unsupported("progress under RMA");
    }
    if !certificate.forgotten.is_empty() {
        return unsupported("progress of a program without some variables");
    }
    Ok(())
}

impl Worker<'_> {
    /// Proves that no state at `control` is one in which a thread spins for ever.
    pub(crate) fn progress(&mut self, control: &Control) -> Result<(), Refusal> {
        let settled = control.buffers.iter().all(crate::Buffer::is_empty);
        if !self.context.program.progress || !settled {
            return Ok(());
        }
        let mut all_rest = true;
        for thread in 0..self.context.instances.len() {
            match self.alone(control, thread)? {
                Alone::GetsOn => return Ok(()),
                Alone::Rests => {}
                Alone::MaySpin => all_rest = false,
            }
        }
        if all_rest {
            return Ok(());
        }
        Err(self.refusal(Reason::Progress, control, None, None))
    }

    fn alone(&mut self, control: &Control, thread: usize) -> Result<Alone, Refusal> {
        let context = self.context;
        let template = context.program.template(context.instances[thread].template);
        let mut seen = FxHashSet::from_iter([control.clone()]);
        let mut open = vec![control.clone()];
        let mut rests = false;
        while let Some(at) = open.pop() {
            if self.has_changed(control, &at) {
                return Ok(Alone::GetsOn);
            }
            let loc = at.locs[thread];
            let (next, is_stuck) = self.alone_after(&at, thread)?;
            if is_stuck {
                match template.stuck_at(loc) {
                    Stuck::Over => return Ok(Alone::GetsOn),
                    Stuck::Waits if !self.can_block(thread, loc) => return Ok(Alone::GetsOn),
                    Stuck::Waits | Stuck::Idle => rests = true,
                }
            }
            for next in next {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
            if seen.len() > MOST {
                return Ok(Alone::MaySpin);
            }
        }
        Ok(if rests { Alone::Rests } else { Alone::MaySpin })
    }

    /// Whether a step at `loc` itself can be impossible. Where none can, a thread without an
    /// effect has failed an assumption behind it, and the run is not looked at.
    fn can_block(&self, thread: usize, loc: LocId) -> bool {
        let context = self.context;
        let template = context.program.template(context.instances[thread].template);
        template.life.waits_at_assume
            || template.cfg.outgoing(loc).all(|(_, edge)| {
                matches!(
                    edge.step,
                    Step::Assume(_) | Step::Atomic(_) | Step::Havoc { .. }
                )
            })
    }

    /// Whether some cell has another value.
    fn has_changed(&self, before: &Control, now: &Control) -> bool {
        let explicit = self.context.certificate.explicit.iter();
        let values = before.values.iter().zip(&now.values);
        explicit.zip(values).any(|(var, (before, now))| {
            let is_cell = matches!(var, StateVar::Cell(_));
            is_cell && before.is_some() && now.is_some() && before != now
        })
    }

    /// The controls that are certainly reached by one step of a thread, or by the arrival of
    /// its stores; and whether it has no step at all.
    fn alone_after(
        &mut self,
        at: &Control,
        thread: usize,
    ) -> Result<(Vec<Control>, bool), Refusal> {
        let context = self.context;
        let mut next = Vec::new();
        if !at.buffers[thread].is_empty() {
            let compiled = self.compiled(at, thread, None)?;
            next.extend(sure(at, thread, &compiled.effects));
            return Ok((next, false));
        }
        let template = context.program.template(context.instances[thread].template);
        let loc = at.locs[thread];
        let mut is_stuck = true;
        if loc == template.cfg.exit {
            return Ok((next, true));
        }
        for (id, _) in template.cfg.outgoing(loc) {
            let compiled = self.compiled(at, thread, Some(id.index()))?;
            let possible = |effect: &CompiledEffect| effect.effect.guard != Formula::False;
            is_stuck &= !compiled.effects.iter().any(possible);
            let faults = compiled.faults.iter();
            is_stuck &= faults.clone().all(|(_, f)| f.condition == Formula::False);
            next.extend(sure(at, thread, &compiled.effects));
        }
        Ok((next, is_stuck))
    }
}

/// The controls after those effects that happen for certain.
fn sure<'e>(
    at: &'e Control,
    thread: usize,
    effects: &'e [CompiledEffect],
) -> impl Iterator<Item = Control> + use<'e> {
    let certain = effects
        .iter()
        .filter(|e| e.effect.guard == Formula::True && e.effect.picks.is_empty());
    certain.map(move |effect| {
        let mut next = at.clone();
        if let Some(to) = effect.effect.to {
            next.locs[thread] = to;
        }
        next.buffers[thread].clone_from(&effect.effect.buffer);
        let values = after(&at.values, effect).into_iter();
        next.values = values
            .map(|value| match value {
                After::Known(value) => i64::try_from(value).ok(),
                After::Unknown => None,
            })
            .collect();
        next
    })
}
