//! *Progress*: no thread spins for ever while nobody can change what it waits for. (Await
//! termination, [Lahav et al., OOPSLA 2021], of states in which nothing happens any more.)
//!
//! A state is *stagnant* if nothing is buffered, no thread can ever change memory again, whatever it
//! chooses, and the run is not over. While memory stays as it is, threads do not see each
//! other, so each is looked at alone: its *closure* is what it can reach by its own steps on
//! this memory. A store of the value that is there changes nothing, nor is it noticed that it
//! waits in a buffer. A thread whose closure has no state without a step *spins*: it
//! moves for ever, under every scheduler that is fair to it. A violation is a stagnant state in
//! which some thread spins; the others spin, wait, have ended or will end.
//!
//! Under RC11 it is the state in which all stores have arrived ([`Machine::arrived`]) that is looked at. A run may
//! go there from every state: a thread may always read the newest message. So the values that a
//! thread meets in its closure are the newest ones, and whether it spins is a question of those alone.
//!
//! A thread that may choose (`*`) to leave its loop does not spin. Others that change memory for ever
//! (a loop that takes and gives back a lock) are progress, also if a thread waits in vain beside
//! them.

use std::collections::HashSet;

use palisade_program::{Action, LocId, Stuck};

use crate::expand::{Move, Scratch, Sink};
use crate::machine::Machine;
use crate::options::{Bound, Bounds};
use crate::state::{Queue, State};

/// States of a closure at most; whether a larger one leads somewhere is not known.
const MOST: usize = 20_000;

/// What a thread can do on a memory that stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Alone {
    /// It can change memory, fail, or end the run; or that is not known.
    GetsOn,
    /// It moves for ever.
    Spins,
    /// It can come to its end, or to where it waits.
    Rests,
}

/// Gathers the successors of one thread.
struct Gather<'a> {
    thread: usize,
    memory: &'a [i64],
    changes: bool,
    states: Vec<(State, Option<Action>)>,
    from: &'a State,
    keep_actions: bool,
}

impl<'a> Gather<'a> {
    fn new(thread: usize, memory: &'a [i64], from: &'a State, keep_actions: bool) -> Self {
        Self {
            thread,
            memory,
            changes: false,
            states: Vec::new(),
            from,
            keep_actions,
        }
    }
}

impl Sink for Gather<'_> {
    fn next(&mut self, next: &State, step: Move<'_>) {
        let cells = self.memory.len();
        let queue = &next.queues[self.thread];
        let arrives = |s: &crate::state::Buffered| self.memory[s.cell as usize] == s.value;
        if next.slots[..cells] != *self.memory || !queue.stores.iter().all(arrives) {
            self.changes = true;
            return;
        }
        let mut next = next.clone();
        next.queues[self.thread] = Queue::default();
        let action = self.keep_actions.then(|| step.action(self.from));
        self.states.push((next, action));
    }

    fn fails(&mut self, _step: Move<'_>) {
        self.changes = true;
    }
}

impl Machine<'_> {
    /// The threads that spin for ever in a stagnant state; none if it is not stagnant.
    pub(crate) fn spinning(
        &self,
        state: &State,
        scratch: &mut Scratch,
        bounds: &mut Bounds,
    ) -> Vec<usize> {
        let mut spinning = Vec::new();
        if !state.queues.iter().all(Queue::is_empty) {
            return spinning;
        }
        let state = &self.arrived(state);
        for t in 0..self.threads.len() {
            match self.alone(state, t, scratch, bounds) {
                Alone::GetsOn => return Vec::new(),
                Alone::Spins => spinning.push(t),
                Alone::Rests => {}
            }
        }
        spinning
    }

    fn successors<'a>(
        &self,
        from: &'a State,
        memory: &'a [i64],
        thread: usize,
        scratch: &mut Scratch,
    ) -> Option<Vec<(State, Option<Action>)>> {
        let mut gather = Gather::new(thread, memory, from, false);
        let outcome = self.expand_thread(from, thread, scratch, &mut gather);
        let known = outcome.bounds.is_empty() && !outcome.waits && !gather.changes;
        known.then_some(gather.states)
    }

    fn alone(&self, state: &State, t: usize, scratch: &mut Scratch, bounds: &mut Bounds) -> Alone {
        let memory = state.slots[..self.cells].to_vec();
        let template = self.program.template(self.threads[t].instance.template);
        let own = |s: &State| (s.pcs[t], s.slots[self.cells..].to_vec());
        let mut seen = HashSet::from([own(state)]);
        let mut open = vec![state.clone()];
        let mut rests = false;
        while let Some(from) = open.pop() {
            let Some(next) = self.successors(&from, &memory, t, scratch) else {
                return Alone::GetsOn;
            };
            if next.is_empty() {
                match template.stuck_at(LocId(from.pcs[t])) {
                    Stuck::Over => return Alone::GetsOn,
                    Stuck::Waits | Stuck::Idle => rests = true,
                }
            }
            for (next, _) in next {
                if seen.insert(own(&next)) {
                    open.push(self.arrived(&next));
                }
            }
            if seen.len() > MOST {
                bounds.touch(Bound::States);
                return Alone::GetsOn;
            }
        }
        if rests { Alone::Rests } else { Alone::Spins }
    }

    /// Steps of a thread that spins, up to where it has been before, and how many of them come
    /// before the first round. It reads the newest values.
    pub(crate) fn round(&self, state: &State, t: usize) -> (Vec<Action>, usize) {
        let memory = state.slots[..self.cells].to_vec();
        let key = |s: &State| (s.pcs[t], s.slots.clone());
        let mut seen = vec![key(state)];
        let (mut at, mut actions) = (state.clone(), Vec::new());
        let mut scratch = Scratch::default();
        while seen.len() < MOST {
            // Where it goes when all stores have arrived.
            let alone = self.successors(&self.arrived(&at), &memory, t, &mut scratch);
            let Some((wanted, _)) = alone.and_then(|all| all.into_iter().next()) else {
                return (actions, 0);
            };
            let mut gather = Gather::new(t, &memory, &at, true);
            self.expand_thread(&at, t, &mut scratch, &mut gather);
            let mut real = gather.states.into_iter();
            let Some((next, Some(action))) = real.find(|(s, _)| key(s) == key(&wanted)) else {
                return (actions, 0);
            };
            actions.push(action);
            if let Some(before) = seen.iter().position(|s| *s == key(&next)) {
                return (actions, before);
            }
            seen.push(key(&next));
            at = next;
        }
        (actions, 0)
    }
}
