//! *Reachable states*: the machine searches all runs of a program with finitely many states, and finds no
//! violation. The certificate then says how many states there may be, and its check finds them
//! once more by its own account of the program ([`palisade_certify::Kind::Reachable`]). Neither
//! needs a predicate or the solver.
//!
//! Machine and check both leave out runs that cannot matter (partial order, symmetry), each by its own account, so
//! that either may have more states. Where the machine comes to its limit without a violation, the check is asked all the same:
//! it does not need the machine, and what it accepts is proved.
//!
//! Counters that grow without bound but are only compared with each other
//! ([`palisade_program::shift`]) leave finitely many states up to a shift. The machine searches these, and so
//! does the check, which has its own account of the rules. Where some lag behind without end, the check alone
//! searches states in which counters far apart are known by their order ([`Counters::Gaps`]).

use palisade_certify::{Certificate, Counters, Fingerprint, Kind, Reachable};

use super::falsify::{self, Falsified};
use super::{Record, Session};
use crate::answer::{Answer, Gap, Proof};
use crate::portfolio::{self, REACH_ALONE, REACH_MORE};

impl Session<'_> {
    pub(super) fn reach(
        &self,
        (buffer, states): (u32, u64),
        counters: Counters,
        record: &mut Record,
    ) -> Answer {
        let shifted = match counters {
            Counters::Exact => false,
            Counters::Shifted => true,
            Counters::Gaps => {
                let most = states;
                return self.reachable(Reachable { most, counters });
            }
        };
        match falsify::search(
            self.program,
            self.options.model,
            (buffer, states),
            shifted,
            self.options,
        ) {
            Falsified::Bug(bug) => {
                record.stats.falsified_states = bug.states;
                Answer::Run(bug.witness)
            }
            Falsified::BesideThePoint(violation) => Gap::BesideThePoint(violation).into(),
            Falsified::Nothing(seen) => {
                record.saw(&seen, false);
                let is_limit = seen.states >= states && !self.options.is_over();
                self.saw_deadlock(seen.deadlock, record);
                // Where less was asked for, other ways are tried before.
                // Without the check there would be no proof at all. Shifted states need not be finitely many.
                let is_last = states >= portfolio::REACH_LAST;
                if is_limit && is_last && self.options.certify && !shifted {
                    let most = REACH_ALONE;
                    return self.reachable(Reachable { most, counters });
                }
                portfolio::nothing().into()
            }
            Falsified::All(seen) => {
                record.stats.states = seen.states as usize;
                record.saw(&seen, true);
                let most = seen.states.saturating_mul(REACH_MORE.0) + REACH_MORE.1;
                self.saw_deadlock(seen.deadlock, record);
                self.reachable(Reachable { most, counters })
            }
        }
    }

    /// The certificate of these states.
    fn reachable(&self, states: Reachable) -> Answer {
        let (model, threads) = (self.options.model, self.options.copies());
        let fingerprint = Fingerprint::of(self.program, model, threads);
        let certificate = Certificate::empty(fingerprint, Kind::Reachable(states), model, threads);
        Answer::Proof(Proof::Certificate(Box::new(certificate)))
    }
}
