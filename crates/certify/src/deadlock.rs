//! *Deadlocks*, where they count: in every state of the invariant in which nothing is buffered or
//! pending, no thread is where a run is over, and some thread waits, some step is possible.
//!
//! A step is possible if the guard of one of its effects holds, or if it fails. With g1 .. gn
//! the guards of all steps of all threads at a control, the obligation is that no state there
//! satisfies not g1 and .. and not gn. (A guard may speak of a value that the step chooses; that the
//! guards exclude each other for every choice is more than is needed.)
//!
//! The states of a certificate are at stops. `stops.rs` and `interference.rs` say why no deadlock
//! is lost between them, `unbuffered.rs` why none is where stores bypass the buffer: a deadlock is,
//! like the states of which `finally` speaks, a state in which nothing is pending.

use crate::certificate::{Certificate, Control, Kind};
use crate::refusal::{Reason, Refusal};
use crate::worker::{Source, Worker};
use palisade_logic::Formula;
use palisade_logic::prover::Cluster;
use palisade_program::{Program, Stuck};

/// The solver session for deadlocks: that of properties.
const CLUSTER: Cluster = Cluster(0);

/// Whether a certificate of this sort can show that there is no deadlock.
pub(crate) fn admissible(program: &Program, certificate: &Certificate) -> Result<(), Reason> {
    if !program.deadlock {
        return Ok(());
    }
    let unsupported = |what: &str| Err(Reason::Unsupported(what.to_owned()));
    if certificate.kind == Kind::Views {
        return unsupported("deadlocks of any number of threads");
    }
    if !certificate.forgotten.is_empty() {
        return unsupported("deadlocks of a program without some variables");
    }
    Ok(())
}

impl Worker<'_> {
    /// Proves that no state at `control` is a deadlock.
    pub(crate) fn deadlock(&mut self, control: &Control, source: &Source) -> Result<(), Refusal> {
        let context = self.context;
        let settled = control.buffers.iter().all(crate::Buffer::is_empty);
        if !context.program.deadlock || !settled {
            return Ok(());
        }
        let both = context.instances.iter().zip(&control.locs);
        let template = |template| context.program.template(template);
        let stuck: Vec<Stuck> = both
            .map(|(i, loc)| template(i.template).stuck_at(*loc))
            .collect();
        if stuck.contains(&Stuck::Over) || !stuck.contains(&Stuck::Waits) {
            return Ok(());
        }
        let mut none = Formula::True;
        let mut span = None;
        for (thread, instance) in context.instances.iter().enumerate() {
            let cfg = &template(instance.template).cfg;
            if control.locs[thread] == cfg.exit {
                continue;
            }
            for (id, edge) in cfg.outgoing(control.locs[thread]) {
                span = span.or(Some(edge.span));
                let compiled = self.compiled(control, thread, Some(id.index()))?;
                for effect in &compiled.effects {
                    none = none.and(&effect.effect.guard.negated());
                }
                for (_, fault) in &compiled.faults {
                    none = none.and(&fault.condition.negated());
                }
                if none == Formula::False {
                    return Ok(());
                }
            }
        }
        let none = self.judge.conjuncts(&none);
        if self.excluded(CLUSTER, source, &none, control)? {
            return Ok(());
        }
        Err(self.refusal(Reason::Deadlock, control, None, span))
    }
}
