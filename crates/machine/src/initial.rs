//! The states in which runs start: every choice of the values of variables that start with any.

use crate::machine::Machine;
use crate::options::{Bound, Bounds};
use crate::state::{Queue, State};

impl Machine<'_> {
    /// Calls `f` on every initial state until it says `false`.
    pub(crate) fn for_each_initial(
        &self,
        bounds: &mut Bounds,
        mut f: impl FnMut(&State, &mut Bounds) -> bool,
    ) {
        let (values, free) = self.initial_choices();
        let mut state = State {
            pcs: self.threads.iter().map(|t| t.graph.entry).collect(),
            slots: values,
            queues: vec![Queue::default(); self.threads.len()],
            memory: None,
        };
        if free.iter().any(|(_, choice)| !choice.complete) {
            bounds.touch(Bound::Choice);
        }
        if free.iter().any(|(_, c)| c.tried.lo > c.tried.hi) {
            return;
        }
        for (slot, choice) in &free {
            state.slots[*slot as usize] = choice.tried.lo;
        }
        loop {
            self.start_memory(&mut state);
            if !f(&state, bounds) {
                return;
            }
            // Count up, the last variable fastest.
            let mut place = free.len();
            loop {
                if place == 0 {
                    return;
                }
                place -= 1;
                let (slot, choice) = free[place];
                let value = &mut state.slots[slot as usize];
                if *value < choice.tried.hi {
                    *value += 1;
                    break;
                }
                *value = choice.tried.lo;
            }
        }
    }
}
