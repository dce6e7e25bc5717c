//! The *hunt*: a short search of the concrete machine for a bug. It looks at few
//! states, with small buffers: that it finds nothing means nothing, what it finds is
//! a run. There are two in a verification: a quick one at the beginning, since most
//! bugs are shallow and a proof attempt would come to them only after some rounds of
//! refinement; and a longer one when the abstract searches have become large, since
//! three threads under TSO may have more abstract states than the bug's depth asks
//! for concrete ones. Both have fixed sizes: what is found does not depend on speed.

use palisade_machine::{Options, Witness, explore};
use palisade_program::{Model, Program, Verdict, Violation};

/// Most stores in one buffer: the bugs of small programs need few.
const BUFFER: usize = 4;
/// States of the quick hunt.
pub const QUICK: u64 = 20_000;
/// States of the long hunt.
pub const LONG: u64 = 2_000_000;
/// Abstract steps of all searches after which the long hunt is made.
pub const LONG_AFTER: usize = 400_000;

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

impl Bug {
    /// The report on a program that has it.
    pub(crate) fn report(self) -> crate::Report {
        let mut report = crate::Report::not_run();
        report.stats.hunted_states = self.states;
        report.witness = Some(self.witness);
        report.verdict = Verdict::Violated(self.violation);
        report
    }
}

/// Looks for a bug under `model` among about `states` states.
pub fn hunt(program: &Program, model: Model, states: u64, limits: &crate::Options) -> Option<Bug> {
    let options = Options {
        buffer: Some(BUFFER),
        threads: limits.copies(),
        max_states: Some(states),
        deadline: limits.deadline,
        cancel: limits.cancel.clone(),
        // Short searches gain nothing from more.
        workers: usize::from(states <= QUICK),
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
