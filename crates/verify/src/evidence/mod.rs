//! *Evidence*: without it no verdict. A run that has come back through all reductions is
//! replayed by the concrete machine on the original program under its memory model; a
//! certificate is checked there anew.

pub mod certificate;
pub mod replay;

use std::sync::Arc;

use palisade_certify::{Certificate, Counters, Kind, Reachable, Reason};
use palisade_logic::SolverStats;
use palisade_machine::{Refused, ReplayError, Witness};
use palisade_program::{Bound, Program, Violation};

use crate::answer::{Gap, Weak};
use crate::method::cegar::limits;
use crate::question::Options;

/// Replays a run on the concrete machine.
///
/// # Errors
/// The machine refuses the run, or what it violates is not asked about.
pub fn replayed(program: &Program, run: Witness) -> Result<(Box<Violation>, Witness), Gap> {
    let start = run.start;
    let replayed = palisade_machine::replay(program, &start, &run.actions);
    let replayed = replayed.map_err(|error| refused(&error))?;
    let violation = replayed.violation.ok_or_else(|| {
        Gap::Spurious("the machine runs the trace but sees no violation".to_owned())
    })?;
    if !program.asked.includes_broken(&violation.broken) {
        return Err(Gap::BesideThePoint(violation));
    }
    let actions = replayed.actions;
    Ok((violation, Witness { start, actions }))
}

/// A run through values that the machine does not have says nothing about the search.
fn refused(error: &ReplayError) -> Gap {
    if let ReplayError::Step {
        refused: Refused::Bound(bound),
        ..
    } = error
    {
        return Gap::Bound(Bound::Search(*bound));
    }
    Gap::Spurious(error.to_string())
}

/// Has a certificate checked; how many entries or states were looked at. A refusal is a bug of Palisade, unless a limit was
/// reached.
pub fn checked(
    program: &Program,
    certificate: &Certificate,
    options: &Options,
    stats: &Arc<SolverStats>,
) -> Result<usize, Gap> {
    let check = palisade_certify::Options {
        limits: limits(options),
        stats: Arc::clone(stats),
        ..palisade_certify::Options::default()
    };
    match palisade_certify::check(program, certificate, &check) {
        Ok(checked) => Ok(checked.entries),
        Err(refusal) => {
            // It stands for runs that the program does not have, and is asked for on trial.
            let is_trial = matches!(
                certificate.kind,
                Kind::Reachable(Reachable {
                    counters: Counters::Gaps,
                    ..
                })
            );
            let refused = || {
                if is_trial {
                    Gap::Weak(Weak::Gaps)
                } else {
                    Gap::Refused(refusal.to_string())
                }
            };
            Err(match refusal.reason {
                Reason::Undecided(reason) => reason.into(),
                Reason::States(most) => Gap::Bound(Bound::AbstractStates(most as usize)),
                Reason::Progress => Gap::Weak(Weak::Progress),
                Reason::Fingerprint | Reason::Malformed(_) | Reason::Unsupported(_) => refused(),
                Reason::Initial | Reason::NotClosed | Reason::SummaryInvariant => refused(),
                Reason::Direct(_) | Reason::Disturbed(_) => refused(),
                Reason::Assertion | Reason::Race | Reason::Index => refused(),
                Reason::Property(_) | Reason::Deadlock => refused(),
            })
        }
    }
}
