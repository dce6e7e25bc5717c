//! *Deadlocks*, where they count: in every state of the invariant in which nothing is buffered or
//! pending, no thread is where a run is over, and some thread waits, some step is possible.
//!
//! A step is possible if the guard of one of its effects holds, or if it fails. With g1 .. gn
//! the guards of all steps of all threads at a control, the obligation is that no state there
//! satisfies not g1 and .. and not gn. (A guard may speak of a value that the step chooses; that the
//! guards exclude each other for every choice is more than is needed.)
//!
//! **Any number of threads.** A view sees a few copies, and those that are not seen may have a step. So a view has to be
//! excluded in which the threads that run once and *one* copy of each other template have no step, one of
//! them waits, and no flag of the certificate says that somebody has one: a flag is 1 if some thread is
//! at one of its locations ([`palisade_program::presence`] has the claim), and if at each of these a
//! step is possible whatever the thread's locals are, then the state is no deadlock. Let a deadlock be reachable with some number of
//! copies, at least one of each template. Take a copy of each, one that waits if a copy does: they and the threads that run once are
//! as said, and no flag is 1 at whose locations a step is possible. Views of `m` copies see these and others; where there are less
//! than `m`, the others have never moved (`views.rs`), and nothing is asked of them. So the view is not excluded, and the check fails.
//!
//! The states of a certificate are at stops. `stops.rs` and `interference.rs` say why no deadlock
//! is lost between them, `unbuffered.rs` why none is where stores bypass the buffer: a deadlock is,
//! like the states of which `finally` speaks, a state in which nothing is pending.

use crate::certificate::{Certificate, Control, Kind};
use crate::refusal::{Reason, Refusal};
use crate::state::StateVar;
use crate::worker::{Source, Worker};
use palisade_logic::prover::Cluster;
use palisade_logic::{Formula, Overflow, Term};
use palisade_program::presence::Flag;
use palisade_program::{Count, Program, Stuck};

/// The solver session for deadlocks: that of properties.
const CLUSTER: Cluster = Cluster(0);

/// Whether a certificate of this sort can show that there is no deadlock.
pub(crate) fn admissible(program: &Program, certificate: &Certificate) -> Result<(), Reason> {
    if !program.deadlock {
        return Ok(());
    }
    let unsupported = |what: &str| Err(Reason::Unsupported(what.to_owned()));
    if certificate.kind != Kind::Views && !certificate.present.is_empty() {
        return unsupported("flags where all threads are seen");
    }
    if !certificate.forgotten.is_empty() {
        return unsupported("deadlocks of a program without some variables");
    }
    Ok(())
}

impl Worker<'_> {
    /// Proves that no state at `control` is a deadlock.
    pub(crate) fn deadlock(&mut self, control: &Control, source: &Source) -> Result<(), Refusal> {
        if !self.context.program.deadlock {
            return Ok(());
        }
        for threads in self.together() {
            self.deadlock_of(&threads, control, source)?;
        }
        Ok(())
    }

    /// The threads that are looked at together: all, or one copy of each template of which there are any number.
    fn together(&self) -> Vec<Vec<usize>> {
        let context = self.context;
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        for template in context.program.template_ids() {
            let own = context.instances.iter().enumerate();
            let own = own.filter(|(_, instance)| instance.template == template);
            let own: Vec<usize> = own.map(|(thread, _)| thread).collect();
            let is_any = context.program.template(template).count == Count::Any;
            let choices: Vec<Vec<usize>> = if context.certificate.kind == Kind::Views && is_any {
                own.into_iter().map(|thread| vec![thread]).collect()
            } else {
                vec![own]
            };
            let extended = all.iter().flat_map(|before| {
                let both = |more: &Vec<usize>| [before.as_slice(), more].concat();
                choices.iter().map(both).collect::<Vec<_>>()
            });
            all = extended.collect();
        }
        all
    }

    /// Proves that these threads are no deadlock at `control`.
    fn deadlock_of(
        &mut self,
        threads: &[usize],
        control: &Control,
        source: &Source,
    ) -> Result<(), Refusal> {
        let context = self.context;
        if !threads.iter().all(|t| control.buffers[*t].is_empty()) {
            return Ok(());
        }
        let template = |thread: usize| {
            let instance = context.instances[thread];
            context.program.template(instance.template)
        };
        let stuck: Vec<Stuck> = threads
            .iter()
            .map(|t| template(*t).stuck_at(control.locs[*t]))
            .collect();
        if stuck.contains(&Stuck::Over) || !stuck.contains(&Stuck::Waits) {
            return Ok(());
        }
        let mut none = Formula::True;
        let mut span = None;
        for &thread in threads {
            let cfg = &template(thread).cfg;
            if control.locs[thread] == cfg.exit {
                continue;
            }
            let mut edges = cfg.outgoing(control.locs[thread]);
            span = span.or_else(|| Some(edges.next()?.1.span));
            none = none.and(&self.impossible(control, thread)?);
            if none == Formula::False {
                return Ok(());
            }
        }
        for flag in &context.program.present {
            let seen = threads.iter();
            let mut seen =
                seen.filter(|t| context.instances[**t].template == flag.presence.template);
            if let Some(thread) = seen.next() {
                none = none.and(&self.nobody_moves(flag, *thread, control)?);
            }
        }
        let none = self.judge.conjuncts(&none);
        if self.excluded(CLUSTER, source, &none, control)? {
            return Ok(());
        }
        Err(self.refusal(Reason::Deadlock, control, None, span))
    }

    /// That no step of a thread is possible.
    fn impossible(&mut self, control: &Control, thread: usize) -> Result<Formula, Refusal> {
        let instance = self.context.instances[thread];
        let cfg = &self.context.program.template(instance.template).cfg;
        let mut none = Formula::True;
        for (id, _) in cfg.outgoing(control.locs[thread]) {
            let compiled = self.compiled(control, thread, Some(id.index()))?;
            for effect in &compiled.effects {
                none = none.and(&effect.effect.guard.negated());
            }
            for (_, fault) in &compiled.faults {
                none = none.and(&fault.condition.negated());
            }
        }
        Ok(none)
    }

    /// That a flag does not say that somebody has a step: it is 0, or there is a location of it at which no step may be possible.
    /// `thread` stands for whoever is there, with nothing known of its locals.
    fn nobody_moves(
        &mut self,
        flag: &Flag,
        thread: usize,
        control: &Control,
    ) -> Result<Formula, Refusal> {
        let context = self.context;
        let is_own = |var: StateVar| var.thread() == Some(thread as u32);
        let explicit = context.certificate.explicit.iter();
        let mut there = control.clone();
        for (value, _) in there
            .values
            .iter_mut()
            .zip(explicit)
            .filter(|(_, v)| is_own(**v))
        {
            *value = None;
        }
        let mut nobody = self.is_down(flag, control)?;
        for loc in &flag.presence.locs {
            there.locs[thread] = *loc;
            let none = self.impossible(&there, thread)?;
            let mut speaks_of_locals = false;
            none.for_each_var(&mut |var| {
                speaks_of_locals |= StateVar::of(var).is_some_and(is_own);
            });
            if !speaks_of_locals {
                nobody = nobody.or(&none);
                continue;
            }
            // A step may be possible whatever the locals are, though the guards speak of them.
            let lits = self.judge.conjuncts(&none);
            let always = self.judge.impossible(CLUSTER, &lits);
            if !always.map_err(|r| self.refusal(r.into(), control, None, None))? {
                return Ok(Formula::True);
            }
        }
        Ok(nobody)
    }

    /// That a flag is 0.
    fn is_down(&self, flag: &Flag, control: &Control) -> Result<Formula, Refusal> {
        let context = self.context;
        let cell = StateVar::Cell(context.program.cell(flag.var, 0));
        let mut explicit = context.certificate.explicit.iter().zip(&control.values);
        if let Some((_, Some(value))) = explicit.find(|(var, _)| **var == cell) {
            return Ok(if *value == 0 {
                Formula::True
            } else {
                Formula::False
            });
        }
        let overflow = |Overflow| Refusal::whole(crate::worker::overflow_reason());
        let Some(var) = cell.var() else {
            return Ok(Formula::True);
        };
        Formula::eq(&Term::var(var), &Term::constant(0)).map_err(overflow)
    }
}
