//! *Histories*: under RC11 the machine searches all runs. Where some thread lags behind without
//! end, old messages are summarised ([`palisade_machine::Summary`]): that only adds behaviours, so
//! that a search without violation is a proof, and a violation is one if the exact machine
//! has it, too.

use palisade_certify::{Certificate, Fingerprint, Kind, Reason};
use palisade_machine::{Options, Summary, explore};
use palisade_program::{Bound, Span, Unknown, Verdict};

use super::cegar::limits;
use super::{Record, Session};
use crate::answer::{Answer, Gap, Proof};
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

    /// A proof by prompt runs ([`palisade_certify::Summary::prompt`]). The check finds the states, and alone says
    /// whether it is one.
    pub(super) fn prompt(&self, summary: Summary, states: u64) -> Answer {
        let certificate = self.histories_certificate(summary, true);
        self.checked(certificate, summary.messages, states)
    }

    /// A proof by views of some of any number of copies ([`palisade_certify::Summary::many`]): the same.
    pub(super) fn many(&self, summary: Summary, copies: u32, states: u64) -> Answer {
        let mut certificate = self.histories_certificate(summary, false);
        if let Kind::Histories(kept) = &mut certificate.kind {
            kept.many = true;
        }
        certificate.threads = copies;
        certificate.fingerprint = Fingerprint::of(self.program, self.options.model, copies);
        self.checked(certificate, summary.messages, states)
    }

    fn checked(&self, certificate: Certificate, messages: u32, states: u64) -> Answer {
        let check = palisade_certify::Options {
            limits: limits(self.options),
            states: states as usize,
            ..palisade_certify::Options::default()
        };
        let refusal = match palisade_certify::check(self.program, &certificate, &check) {
            Ok(checked) => {
                return Answer::Proof(Proof::Checked(Box::new(certificate), checked.entries));
            }
            Err(refusal) => refusal,
        };
        let exact = messages >= portfolio::EXACT.0;
        match refusal.reason {
            Reason::Undecided(reason) => Gap::from(reason).into(),
            Reason::Assertion | Reason::Race | Reason::Index | Reason::Property(_) if exact => {
                Gap::Spurious("a prompt run violates something".to_owned()).into()
            }
            Reason::Deadlock if exact => {
                Gap::Spurious("a prompt run ends in a deadlock".to_owned()).into()
            }
            Reason::Assertion | Reason::Race | Reason::Index | Reason::Property(_) => {
                Gap::Bound(Bound::Histories(messages)).into()
            }
            Reason::Unsupported(what) if self.program.has_unbounded_threads() => {
                Gap::Unsupported(what, Span::default()).into()
            }
            Reason::Deadlock | Reason::Progress | Reason::Unsupported(_) | Reason::States(_) => {
                Gap::Bound(Bound::Histories(messages)).into()
            }
            Reason::Fingerprint | Reason::Malformed(_) | Reason::Initial | Reason::NotClosed => {
                Gap::Refused(refusal.to_string()).into()
            }
            Reason::SummaryInvariant | Reason::Direct(_) | Reason::Disturbed(_) => {
                Gap::Refused(refusal.to_string()).into()
            }
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
            many: false,
        };
        let fingerprint = Fingerprint::of(self.program, model, threads);
        Certificate::empty(fingerprint, Kind::Histories(kept), model, threads)
    }
}
