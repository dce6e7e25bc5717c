//! *Deadlock and progress* under RC11, where they count. A fair memory lets every thread see the newest
//! message of each location in the end [Lahav et al., OOPSLA 2021, s. 4], and a thread may read it in every state. So both
//! are asked of the *arrived* memory, which has the newest message of each location and no other:
//!
//! - deadlock: no thread has a step there, no thread is where a run is over, and one waits;
//! - no progress: no thread can ever change a newest value there, whatever it chooses, and one moves for ever.
//!
//! What is forgotten of histories adds states and never a newest value that no run has. So neither of
//! them in any state of the invariant means neither in any run.
//!
//! States between stops need no look. A thread between two has a step, or has failed an assumption: then the run is over.
//! A thread that can never get on cannot at the next stop either.

use palisade_program::{LocId, Span, Stuck};
use rustc_hash::FxHashSet;

use super::memory::Memory;
use super::{Judge, State, trouble};
use crate::refusal::Reason;
use crate::steps::Trouble;

/// States that one thread is followed through, at most.
const MOST: usize = 20_000;

/// What a thread can do on a memory that stays as it is.
enum Alone {
    /// It changes memory, or ends the run.
    GetsOn,
    /// It comes to its end, or to where it waits.
    Rests,
    /// Neither is shown.
    MaySpin,
}

impl Judge<'_> {
    /// No deadlock, and nobody who spins for ever, in a state.
    pub(super) fn fair(&self, state: &State) -> Result<(), Trouble> {
        if !self.program.deadlock && !self.program.progress {
            return Ok(());
        }
        let state = self.arrived(state.clone());
        if self.program.deadlock && self.is_stuck(&state)? {
            return Err(trouble(Reason::Deadlock, Span::default()));
        }
        if self.program.progress && self.may_spin(&state)? {
            return Err(trouble(Reason::Progress, Span::default()));
        }
        Ok(())
    }

    fn newest(state: &State) -> Vec<i64> {
        let cells = state.memory.cells.iter();
        cells
            .map(|messages| messages.last().map_or(0, |message| message.value))
            .collect()
    }

    fn arrived(&self, mut state: State) -> State {
        let newest = Self::newest(&state);
        state.memory = Memory::new(&newest, self.instances.len(), self.tracked.clone());
        state
    }

    fn standing(&self, thread: usize, at: LocId) -> Stuck {
        let template = self.instances[thread].template;
        self.program.template(template).stuck_at(at)
    }

    /// All steps of one thread.
    fn alone_after(&self, state: &State, thread: usize) -> Result<Vec<State>, Trouble> {
        let (cfg, at) = (self.cfg(thread), state.at[thread]);
        let mut next = Vec::new();
        if at != cfg.exit {
            for (_, edge) in cfg.outgoing(at) {
                self.step(state, thread, edge, &mut next)?;
            }
        }
        Ok(next)
    }

    fn is_stuck(&self, state: &State) -> Result<bool, Trouble> {
        let all = state.at.iter().enumerate();
        let standing: Vec<Stuck> = all.map(|(t, at)| self.standing(t, *at)).collect();
        if standing.contains(&Stuck::Over) || !standing.contains(&Stuck::Waits) {
            return Ok(false);
        }
        for thread in 0..state.at.len() {
            if !self.alone_after(state, thread)?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn may_spin(&self, state: &State) -> Result<bool, Trouble> {
        let mut all_rest = true;
        for thread in 0..state.at.len() {
            match self.alone(state, thread)? {
                Alone::GetsOn => return Ok(false),
                Alone::Rests => {}
                Alone::MaySpin => all_rest = false,
            }
        }
        Ok(!all_rest)
    }

    fn alone(&self, state: &State, thread: usize) -> Result<Alone, Trouble> {
        let memory = Self::newest(state);
        let own = |s: &State| (s.at[thread], s.locals[thread].to_vec());
        let mut seen = FxHashSet::from_iter([own(state)]);
        let mut open = vec![state.clone()];
        let mut rests = false;
        while let Some(from) = open.pop() {
            let next = self.alone_after(&from, thread)?;
            if next.is_empty() {
                match self.standing(thread, from.at[thread]) {
                    Stuck::Over => return Ok(Alone::GetsOn),
                    Stuck::Waits | Stuck::Idle => rests = true,
                }
            }
            for next in next {
                if Self::newest(&next) != memory {
                    return Ok(Alone::GetsOn);
                }
                let next = self.settled(self.arrived(next))?;
                if seen.insert(own(&next)) {
                    open.push(next);
                }
            }
            if seen.len() > MOST {
                return Ok(Alone::MaySpin);
            }
        }
        Ok(if rests { Alone::Rests } else { Alone::MaySpin })
    }
}
