//! *Histories*: under RC11 the machine searches all runs. Where some thread lags behind without
//! end, old messages are summarised ([`palisade_machine::Summary`]): that only adds behaviours, so
//! that a search without violation is a proof, and a violation is one if the exact machine
//! has it, too.

use std::sync::Arc;

use palisade_certify::{Certificate, Fingerprint, Kind};
use palisade_machine::{Options, Summary, explore};
use palisade_program::{Bound, Unknown, Verdict};

use super::{Record, Session};
use crate::answer::{Answer, Gap, Proof};
use crate::evidence;
use crate::portfolio;

impl Session<'_> {
    pub(super) fn histories(
        &self,
        summary: Option<Summary>,
        states: u64,
        record: &mut Record,
    ) -> Answer {
        let search = Options {
            summary,
            buffer: None,
            threads: self.options.copies(),
            max_states: Some(states),
            deadline: self.options.deadline,
            cancel: self.options.cancel.clone(),
            shortest: false,
            ..Options::new(self.options.model)
        };
        let found = match explore(self.program, &search) {
            Ok(found) => found,
            Err(unsupported) => {
                return Gap::Unsupported(unsupported.message, unsupported.span).into();
            }
        };
        record.stats.states = found.stats.states as usize;
        match (found.verdict, found.witness) {
            (Verdict::Holds, _) => match summary {
                None => Answer::Proof(Proof::Exhaustive(found.stats.states)),
                Some(summary) => {
                    let certificate = self.histories_certificate(summary, false);
                    Answer::Proof(Proof::Certificate(Box::new(certificate)))
                }
            },
            (Verdict::Violated(_), Some(run)) => Answer::Run(run),
            (Verdict::Unknown(Unknown::Time), _) => Gap::Time.into(),
            (Verdict::Unknown(Unknown::Memory), _) => Gap::Memory.into(),
            (Verdict::Unknown(Unknown::Interrupted), _) => Gap::Interrupted.into(),
            (Verdict::Unknown(Unknown::Bound(bounds)), _) => {
                let bound = bounds.into_iter().next();
                Gap::Bound(bound.unwrap_or(Bound::FewStores)).into()
            }
            (Verdict::Unknown(Unknown::GaveUp(_)), _) if summary.is_some() => {
                Gap::Bound(Bound::Histories(summary.map_or(0, |s| s.messages))).into()
            }
            (Verdict::Unknown(_) | Verdict::Violated(_), _) => match found.beside_the_point {
                Some(violation) => Gap::BesideThePoint(violation).into(),
                None => portfolio::nothing().into(),
            },
        }
    }

    /// A proof by prompt runs ([`palisade_certify::Summary::prompt`]): the machine has no account of these, so
    /// that the check alone says whether it is one.
    pub(super) fn prompt(&self, summary: Summary) -> Answer {
        let certificate = self.histories_certificate(summary, true);
        let stats = Arc::default();
        match evidence::checked(self.program, &certificate, self.options, &stats) {
            Ok(_) => Answer::Proof(Proof::Certificate(Box::new(certificate))),
            Err(gap @ (Gap::Time | Gap::Memory | Gap::Interrupted)) => gap.into(),
            Err(_) => Gap::Bound(Bound::Histories(summary.messages)).into(),
        }
    }

    /// The certificate says what is kept; its check finds the states by itself.
    fn histories_certificate(&self, summary: Summary, prompt: bool) -> Certificate {
        let (model, threads) = (self.options.model, self.options.copies());
        let kept = palisade_certify::Summary {
            messages: summary.messages,
            carried: summary.carried,
            events: summary.events,
            shifted: summary.shifted,
            prompt,
        };
        let fingerprint = Fingerprint::of(self.program, model, threads);
        Certificate::empty(fingerprint, Kind::Histories(kept), model, threads)
    }
}
