//! *Bugs without a search*: a run that refuted an earlier placement, with its threads in another order, may
//! refute the next; and random schedules find what needs many threads to have gone far, to
//! which a search breadth first comes after millions of states.

use palisade_machine::{Start, Witness, random_schedules, replay};
use palisade_program::{Model, Program};
use palisade_verify::Bug;

use crate::clause::replays_reordered;
use crate::plan::Placement;
use crate::synthesize::Synthesis;

/// Refuted placements, the latest, whose runs are tried with a new one.
const EARLIER: usize = 4;
/// Random schedules that look for a bug of many threads, and how many threads these are: the states
/// that a search passes before threads have all gone far are too many.
const SCHEDULES: (u64, usize) = (64, 5);

impl Synthesis<'_, '_> {
    /// A bug of the placement that one of another placement has led to.
    pub(crate) fn known_bug(&self, placement: &Placement) -> Option<Bug> {
        let program = self.plan.switched(placement);
        let latest = self.refuted.iter().rev().take(EARLIER);
        let mut witnesses = latest.flat_map(|refuted| {
            let pairs = placement.0.iter().zip(&refuted.placement.0).enumerate();
            let exceeding = pairs.filter(|(_, (level, refuted))| level > refuted);
            exceeding.filter_map(|(decision, _)| {
                replays_reordered(self.plan, &program, &refuted.witness, decision)
            })
        });
        bug_of(&program, witnesses.next()?)
    }

    /// A bug of many threads that random schedules find.
    pub(crate) fn scheduled_bug(&self, program: &Program) -> Option<Bug> {
        let (model, copies) = (self.plan.model, self.options.verify.copies());
        let is_buffered = matches!(model, Model::Tso | Model::Pso);
        if !is_buffered || program.instances(copies).len() < SCHEDULES.1 {
            return None;
        }
        let is_over = || self.options.verify.is_over();
        let start = Start::new(model, copies);
        bug_of(
            program,
            random_schedules(program, &start, SCHEDULES.0, is_over)?,
        )
    }
}

/// The bug that a run is, if what it violates is asked about.
fn bug_of(program: &Program, witness: Witness) -> Option<Bug> {
    let replayed = replay(program, &witness.start, &witness.actions).ok()?;
    let violation = replayed.violation?;
    let asked = program.asked.includes_broken(&violation.broken);
    asked.then_some(Bug {
        violation,
        witness,
        states: 0,
    })
}
