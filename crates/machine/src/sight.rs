//! What a search sees beside states, level by level: violations, deadlocks, touched bounds,
//! final states. It is a set in all respects, so that neither the order in which states were
//! expanded nor the process that expanded them can be read off it: of many violations the least
//! by packed state are kept.

use crate::options::{Bounds, Final};
use crate::pack::{Reader, put};
use crate::store::StateId;
use crate::visit::Outbox;

/// Most targets of a violation that are kept.
const MOST_TARGETS: usize = 1000;

/// The least of some packed states, without duplicates.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct Least {
    states: Vec<Vec<u8>>,
    sorted: usize,
}

impl Least {
    fn add(&mut self, state: &[u8]) {
        self.states.push(state.to_vec());
        if self.states.len() > self.sorted + 2 * MOST_TARGETS {
            self.tidy();
        }
    }

    fn tidy(&mut self) {
        self.states.sort_unstable();
        self.states.dedup();
        self.states.truncate(MOST_TARGETS);
        self.sorted = self.states.len();
    }

    /// The states, least first.
    pub(crate) fn sorted(mut self) -> Vec<Vec<u8>> {
        self.tidy();
        self.states
    }
}

/// What was seen on one level.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sight {
    pub(crate) transitions: u64,
    pub(crate) bounds: Bounds,
    pub(crate) finals: Vec<Final>,
    /// States from which a step fails an assertion.
    pub(crate) fails: Least,
    /// States that break a property, or are one from which there is no progress, where that
    /// counts.
    pub(crate) broken: Least,
    /// Deadlocks.
    pub(crate) stuck: Least,
}

impl Sight {
    /// Adds what a chunk has seen; `state` gives the packed states of its ids.
    pub(crate) fn take<'a>(
        &mut self,
        outbox: &mut Outbox,
        state: impl Fn(StateId) -> &'a [u8],
        deadlock_counts: bool,
    ) {
        self.transitions += outbox.transitions;
        self.bounds.merge(outbox.bounds);
        self.finals.append(&mut outbox.finals);
        for &id in &outbox.fails {
            self.fails.add(state(id));
        }
        for &id in &outbox.broken {
            self.broken.add(state(id));
        }
        for &id in &outbox.stuck {
            self.stuck.add(state(id));
            if deadlock_counts {
                self.broken.add(state(id));
            }
        }
    }

    /// For another process. Final states stay here: nobody asks several processes for them.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put(out, self.transitions);
        put(out, u64::from(self.bounds.bits()));
        for states in [&self.fails, &self.broken, &self.stuck] {
            put_states(out, &states.clone().sorted());
        }
    }

    /// Adds what another process has encoded.
    pub(crate) fn decode(&mut self, reader: &mut Reader<'_>) {
        self.transitions += reader.get();
        self.bounds.merge(Bounds::from_bits(reader.get() as u16));
        for states in [&mut self.fails, &mut self.broken, &mut self.stuck] {
            for state in get_states(reader) {
                states.add(&state);
            }
        }
    }
}

/// Appends a list of packed states.
pub(crate) fn put_states(out: &mut Vec<u8>, states: &[Vec<u8>]) {
    put(out, states.len() as u64);
    for state in states {
        put(out, state.len() as u64);
        out.extend_from_slice(state);
    }
}

/// Reads what [`put_states`] wrote.
pub(crate) fn get_states(reader: &mut Reader<'_>) -> Vec<Vec<u8>> {
    let count = reader.get();
    (0..count)
        .map(|_| {
            let len = reader.get() as usize;
            reader.take(len).to_vec()
        })
        .collect()
}
