//! The *hunt*: a short search of the concrete machine for a bug, before the
//! abstraction engine is asked. It looks at few states, with small buffers; that
//! it finds nothing means nothing, what it finds is a run.

use palisade_machine::{Options, Witness, explore};
use palisade_program::{Model, Program, Verdict, Violation};

/// Most stores in one buffer: the bugs of small programs need few.
const BUFFER: usize = 4;

/// A run into a violation.
#[derive(Clone, Debug)]
pub struct Bug {
    /// What it violates.
    pub violation: Box<Violation>,
    /// The run.
    pub witness: Witness,
    /// States that the search looked at.
    pub states: u64,
}

/// Looks for a bug under `model` among about `states` states.
pub fn hunt(
    program: &Program,
    model: Model,
    states: u64,
    limits: &palisade_verify::Options,
) -> Option<Bug> {
    let options = Options {
        buffer: Some(BUFFER),
        threads: limits.threads.unwrap_or(2),
        max_states: Some(states),
        deadline: limits.deadline,
        cancel: limits.cancel.clone(),
        // Short searches gain nothing from more.
        workers: 1,
        ..Options::new(model)
    };
    let found = explore(program, &options).ok()?;
    match (found.verdict, found.witness) {
        (Verdict::Violated(violation), Some(witness)) => Some(Bug {
            violation,
            witness,
            states: found.stats.states,
        }),
        (Verdict::Violated(_) | Verdict::Holds | Verdict::Unknown(_), _) => None,
    }
}
