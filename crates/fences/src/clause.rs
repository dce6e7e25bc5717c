//! *Clauses*: what one run of a bug says about placements. If the run exists with
//! placement M it exists with every placement below M, so a repair must exceed M
//! at some decision: that is the clause, and the higher M the shorter it is.
//!
//! Starting from the placement in which the run was found, M is raised decision by
//! decision as long as a bug remains: first the same run is replayed by the
//! machine (a full fence lets it pass where the thread's buffers are empty), then
//! the same steps of threads with other steps of memory in between, then with the threads that
//! get the fence moved behind or before all others, lastly a short search for another bug. The run that comes out has been replayed with M itself:
//! that is the check without which no clause is used.

use palisade_machine::{
    ReplayError, Replayed, ThreadStep, Witness, replay, replay_deepest, replay_guided,
};
use palisade_program::Program;

use crate::hitting_set::{Clause, exceeding};
use crate::plan::{Level, Placement, Plan};

/// States of a search for other steps of memory.
const GUIDED_STATES: usize = 3_000;
/// The same where the threads' steps have another order: it is right or wrong soon.
const REORDERED_STATES: usize = 1_000;

/// A placement with a bug.
#[derive(Clone, Debug)]
pub struct Refuted {
    /// The placement.
    pub placement: Placement,
    /// A run of the program with that placement into a violation.
    pub witness: Witness,
}

impl Refuted {
    /// What a repair must do.
    pub fn clause(&self, plan: &Plan<'_>) -> Clause {
        exceeding(&self.placement, plan.levels())
    }

    /// Whether the run still does what it should: replayed anew.
    pub fn is_confirmed(&self, plan: &Plan<'_>) -> bool {
        replays(&plan.switched(&self.placement), &self.witness).is_some()
    }
}

/// Raises the refuted placement as far as it goes. `falsify` looks for another bug of
/// a program.
pub fn strengthen(
    plan: &Plan<'_>,
    refuted: Refuted,
    falsify: &mut dyn FnMut(&Program) -> Option<Witness>,
) -> Refuted {
    let mut at = refuted;
    let everything = plan.everything();
    if let Some(witness) = replays(&plan.switched(&everything), &at.witness) {
        return Refuted {
            placement: everything,
            witness,
        };
    }
    let mut same_run = |program: &Program, witness: &Witness, _| replays(program, witness);
    at = raise_each(plan, at, &mut same_run);
    at = raise_each(plan, at, &mut |program, witness, _| {
        replays_guided(program, witness)
    });
    at = raise_each(plan, at, &mut |program, witness, decision| {
        replays_reordered(plan, program, witness, decision)
    });
    raise_each(plan, at, &mut |program, _, _| falsify(program))
}

/// Finds a run of the program into a violation, given one of another placement and the decision
/// that was changed.
type Finder<'f> = dyn FnMut(&Program, &Witness, usize) -> Option<Witness> + 'f;

/// Raises one decision after another to the highest level with which `find` still
/// finds a bug.
fn raise_each(plan: &Plan<'_>, mut at: Refuted, find: &mut Finder<'_>) -> Refuted {
    for decision in 0..plan.decisions.len() {
        for &level in plan.levels().iter().rev() {
            if at.placement.0[decision] >= level {
                break;
            }
            let higher = at.placement.with(decision, level);
            let program = plan.switched(&higher);
            if let Some(witness) = find(&program, &at.witness, decision) {
                at = Refuted {
                    placement: higher,
                    witness,
                };
                break;
            }
        }
    }
    at
}

/// The run, if the machine does it on `program` and sees a violation.
pub fn replays(program: &Program, witness: &Witness) -> Option<Witness> {
    let replayed = replay(program, &witness.start, &witness.actions);
    violating(program, witness, replayed)
}

/// A run with the same steps of threads into a violation.
pub fn replays_guided(program: &Program, witness: &Witness) -> Option<Witness> {
    let steps = thread_steps(witness);
    let replayed = replay_guided(program, &witness.start, &steps, GUIDED_STATES);
    violating(program, witness, replayed)
}

/// A run into a violation in which each thread takes the same steps, those of the threads with a
/// fence at `decision` after all others, or before them: a fence in a thread asks for an order
/// between what it has stored and what others do, which the run may not have by chance.
pub fn replays_reordered(
    plan: &Plan<'_>,
    program: &Program,
    witness: &Witness,
    decision: usize,
) -> Option<Witness> {
    let instances = program.instances(witness.start.threads);
    let sites = plan.decisions[decision].iter().map(|s| &plan.sites[*s]);
    let fenced: Vec<_> = sites.flat_map(|s| plan.threads(s, &instances)).collect();
    let is_fenced = |step: &ThreadStep| fenced.contains(&instances[step.thread]);
    let (own, others): (Vec<_>, Vec<_>) = thread_steps(witness).into_iter().partition(is_fenced);
    if own.is_empty() || others.is_empty() {
        return None;
    }
    [[&others[..], &own[..]], [&own[..], &others[..]]]
        .into_iter()
        .find_map(|order| {
            let steps = order.concat();
            let replayed = replay_deepest(program, &witness.start, &steps, REORDERED_STATES);
            violating(program, witness, replayed)
        })
}

fn violating(
    program: &Program,
    witness: &Witness,
    replayed: Result<Replayed, ReplayError>,
) -> Option<Witness> {
    let counts = |r: &Replayed| {
        let violation = r.violation.as_ref();
        violation.is_some_and(|v| program.asked.includes_broken(&v.broken))
    };
    let replayed = replayed.ok().filter(counts)?;
    Some(Witness {
        start: witness.start.clone(),
        actions: replayed.actions,
    })
}

/// The steps of threads, without those of memory.
pub fn thread_steps(witness: &Witness) -> Vec<ThreadStep> {
    witness.actions.iter().filter_map(ThreadStep::of).collect()
}

/// Whether nothing is left to be fenced in a placement.
pub fn is_everything(placement: &Placement) -> bool {
    placement.0.iter().all(|&level| level == Level::Full)
}
