//! *Deadlock*: nothing can move any more, and a thread is waiting. Neither a thread nor the
//! memory system has a step (so nothing is buffered or pending), no thread is where the run
//! is over, and at least one waits.
//!
//! Where a thread that cannot move stands decides what it is ([`Template::stuck_at`]): at its
//! exit it has ended; at its entry, if others start it, it was not started; where only
//! `assume`s outside atomic blocks are left, the run has failed an assumption and is not
//! looked at (but in languages whose `assume` waits); anywhere else it waits, for a lock or
//! for an atomic block whose `assume` is false.

use crate::cfg::Step;
use crate::ids::LocId;
use crate::program::Template;

/// When the threads of a template take part in a deadlock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Life {
    /// Whether the thread waits at its entry until another starts it.
    pub is_started: bool,
    /// Whether the program is over when the thread has ended, as with `main` of C.
    pub ends_program: bool,
    /// Whether an `assume` outside atomic blocks waits; else a run in which it is false is not
    /// looked at.
    pub waits_at_assume: bool,
}

/// What a thread is that has no step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stuck {
    /// It waits for something.
    Waits,
    /// It has ended, or was not started.
    Idle,
    /// The run is over: the program has ended, or an assumption has failed.
    Over,
}

impl Template {
    /// What a thread without a step is at `loc`.
    pub fn stuck_at(&self, loc: LocId) -> Stuck {
        let is_assume = |step: &Step| matches!(step, Step::Assume(_));
        if loc == self.cfg.exit {
            if self.life.ends_program {
                return Stuck::Over;
            }
            return Stuck::Idle;
        }
        if self.life.is_started && loc == self.cfg.entry {
            return Stuck::Idle;
        }
        let mut edges = self.cfg.outgoing(loc);
        if !self.life.waits_at_assume && edges.all(|(_, e)| is_assume(&e.step)) {
            return Stuck::Over;
        }
        Stuck::Waits
    }
}
