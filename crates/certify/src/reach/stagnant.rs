//! *Deadlocks and progress* of one state, where they count. Every value is known here, so that a step is possible
//! or it is not.
//!
//! A state is a deadlock if nothing is buffered, no thread is where a run is over, some thread waits, and no
//! thread has a step ([`crate::deadlock`]). That there is progress is shown as in [`crate::progress`]: where
//! nothing is buffered, some thread alone can get to where a cell has another value or the run is over; or
//! every thread alone can get to its end, or to where it waits.
//!
//! States up to a shift are enough. What a thread does alone commutes with a shift of counters, and so does
//! whether it changes a cell. The states that one thread goes through are not shifted: memory stays
//! as it is. One that counts while it spins has no end of them; then nothing is shown.

use super::threads::Threads;
use crate::refusal::Reason;
use crate::steps::Trouble;
use palisade_program::{LocId, Span, Step, Stuck};
use rustc_hash::FxHashSet;

/// States that one thread is followed through, at most.
const MOST: usize = 20_000;

/// What a thread can do on a memory that stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Alone {
    /// It changes memory, or ends the run.
    GetsOn,
    /// It comes to its end, or to where it waits.
    Rests,
    /// Neither is shown.
    MaySpin,
}

impl Threads<'_> {
    /// Refuses a deadlock, and a state in which a thread may spin for ever, where these count. `own` has the
    /// numbers of the threads' states, `cells` those of the cells' values.
    pub(super) fn get_on(&mut self, own: &[u32], cells: &[u32]) -> Result<(), Trouble> {
        let program = self.program();
        let threads = 0..own.len();
        let is_empty = |t: usize| self.own(t, own[t]).buffer.is_empty();
        if !(program.deadlock || program.progress) || !threads.clone().all(is_empty) {
            return Ok(());
        }
        if program.deadlock {
            self.moves(own, cells)?;
        }
        if !program.progress {
            return Ok(());
        }
        let mut all_rest = true;
        for thread in threads {
            match self.alone(thread, own[thread], cells)? {
                Alone::GetsOn => return Ok(()),
                Alone::Rests => {}
                Alone::MaySpin => all_rest = false,
            }
        }
        if all_rest {
            return Ok(());
        }
        Err(self.trouble(Reason::Progress, own))
    }

    /// Refuses a deadlock.
    fn moves(&mut self, own: &[u32], cells: &[u32]) -> Result<(), Trouble> {
        let stuck = |(thread, number): (usize, &u32)| self.stuck(thread, *number);
        let stuck: Vec<Stuck> = own.iter().enumerate().map(stuck).collect();
        if stuck.contains(&Stuck::Over) || !stuck.contains(&Stuck::Waits) {
            return Ok(());
        }
        for (thread, &number) in own.iter().enumerate() {
            if self.has_exited(thread, number) {
                continue;
            }
            for step in 0..self.steps(thread, number) {
                if !self.changes(thread, number, step, cells)?.is_empty() {
                    return Ok(());
                }
            }
        }
        Err(self.trouble(Reason::Deadlock, own))
    }

    fn alone(&mut self, thread: usize, from: u32, cells: &[u32]) -> Result<Alone, Trouble> {
        let mut seen = FxHashSet::from_iter([from]);
        let mut open = vec![from];
        let mut rests = false;
        while let Some(number) = open.pop() {
            let mut is_stuck = true;
            // Buffered stores arrive before anything else happens: the last step is the memory system's.
            let last = self.steps(thread, number) - 1;
            let is_buffered = !self.own(thread, number).buffer.is_empty();
            let steps = match (is_buffered, self.has_exited(thread, number)) {
                (true, _) => last..last + 1,
                (false, true) => 0..0,
                (false, false) => 0..last,
            };
            for step in steps {
                for change in self.changes(thread, number, step, cells)? {
                    is_stuck = false;
                    let change = self.change(change);
                    let writes = self.writes(change).iter();
                    let to = change.to;
                    if writes
                        .into_iter()
                        .any(|(cell, v)| cells[*cell as usize] != *v)
                    {
                        return Ok(Alone::GetsOn);
                    }
                    if seen.insert(to) {
                        open.push(to);
                    }
                }
            }
            if is_stuck {
                let loc = self.own(thread, number).loc;
                match self.stuck(thread, number) {
                    Stuck::Over => return Ok(Alone::GetsOn),
                    Stuck::Waits if !self.can_block(thread, loc) => return Ok(Alone::GetsOn),
                    Stuck::Waits | Stuck::Idle => rests = true,
                }
            }
            if seen.len() > MOST {
                return Ok(Alone::MaySpin);
            }
        }
        Ok(if rests { Alone::Rests } else { Alone::MaySpin })
    }

    fn stuck(&self, thread: usize, number: u32) -> Stuck {
        let template = self.program().template(self.instance(thread).template);
        template.stuck_at(self.own(thread, number).loc)
    }

    fn has_exited(&self, thread: usize, number: u32) -> bool {
        let template = self.program().template(self.instance(thread).template);
        self.own(thread, number).loc == template.cfg.exit
    }

    /// Whether a step at `loc` itself can be impossible. Where none can, a thread without an
    /// effect has failed an assumption behind it, and the run is not looked at.
    fn can_block(&self, thread: usize, loc: LocId) -> bool {
        let template = self.program().template(self.instance(thread).template);
        template.life.waits_at_assume
            || template.cfg.outgoing(loc).all(|(_, edge)| {
                matches!(
                    edge.step,
                    Step::Assume(_) | Step::Atomic(_) | Step::Havoc { .. }
                )
            })
    }

    /// The trouble, at a thread that has not ended.
    fn trouble(&self, reason: Reason, own: &[u32]) -> Trouble {
        let mut spans = own.iter().enumerate().filter_map(|(thread, &number)| {
            let template = self.program().template(self.instance(thread).template);
            let loc = self.own(thread, number).loc;
            template.cfg.outgoing(loc).next().map(|(_, edge)| edge.span)
        });
        let span = spans.next().unwrap_or_else(Span::default);
        Trouble { reason, span }
    }
}
