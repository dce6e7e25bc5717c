//! A proof *state by state*: every variable is explicit, and the invariant is the set of
//! states that are reached. It is worth a try where the machine has seen all states, or
//! where searches with predicates have become large.
//!
//! Threads are not interrupted at accesses that are free of interference
//! ([`super::interference`]): these are guessed, and given up as the invariant shows that
//! they are not.

use palisade_abstraction::space::Space;
use palisade_certify::{AccessLoc, Kind};

use super::extrapolate::Setup;
use super::search::Task;
use super::{Record, Session, interference};
use crate::answer::{Answer, Gap, Weak};
use crate::reduction::model::Encoding;

/// What is remarked of a proof without predicates.
const STATE_BY_STATE: &str =
    "proved state by state: in the certificate every variable has its value";

impl Session<'_> {
    pub(super) fn state_by_state(
        &self,
        encoding: &Encoding,
        states: usize,
        record: &mut Record,
    ) -> Answer {
        let encoded = self.encoder.encode(encoding);
        let (program, model) = (self.program, self.model());
        let mut space = Space::open(encoded.program(), self.instances.clone());
        let mut free: Vec<AccessLoc> = Vec::new();
        if self.options.compress {
            let translator = encoded.translator(&space, Kind::Stops);
            free = interference::guessed(program, model, &space, &translator);
        }
        let answer = loop {
            let threads = &space.threads;
            space.interior = (!free.is_empty())
                .then(|| interference::interior(program, model, threads, encoded.reduced(), &free));
            let task = Task {
                encoded: &encoded,
                interference_free: &free,
                rounds: 0,
                states,
            };
            match self.search(&task, &space, Setup::new(self.options), record) {
                Answer::Gap(Gap::Interference(wrong)) => {
                    free.retain(|access| !wrong.contains(access));
                }
                answer @ (Answer::Proof(_) | Answer::Run(..) | Answer::Gap(_)) => break answer,
            }
        };
        match answer {
            Answer::Proof(_) => {
                record.stats.state_by_state = true;
                record.stats.interference_free = free.len();
                record.notes.push(STATE_BY_STATE.to_owned());
                answer
            }
            Answer::Run(_) => answer,
            Answer::Gap(gap) if gap.ends_everything() => gap.into(),
            // What is missing for other methods does not matter here.
            Answer::Gap(_) => Gap::Weak(Weak::ManyStates).into(),
        }
    }
}
