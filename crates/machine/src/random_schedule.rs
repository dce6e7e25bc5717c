//! *Random schedules*: single runs with random priorities, for bugs that lie deep and are many. A
//! breadth-first search sees all short runs first; a bug of four threads that each run to their
//! ends with stores left in their buffers comes after millions of them.
//!
//! Every thread and, apart from it, the memory system's steps for it have a priority; of all
//! that can step the one with the highest does, and now and then it becomes the lowest
//! [Burckhardt et al., ASPLOS 2010]. So threads run for long, and some memory
//! steps come very late; in one of eight schedules all do. The numbers are the same every time: what is found does not depend
//! on chance or speed.
//!
//! A run that violates something is *minimised*: steps that it does not need are
//! left out, and steps of one thread are brought together.

use palisade_program::Program;
use palisade_program::random::Rng;

use crate::delay::Delays;
use crate::expand::{Move, Scratch, Sink};
use crate::machine::Machine;
use crate::partial_order::mark_safe;
use crate::replay::{Start, Witness, first_state, machine_for, replay};
use crate::state::State;
use palisade_program::Action;

/// Steps of one schedule at most: loops may go on for ever.
const MOST_STEPS: usize = 1_500;

/// One of so many schedules leaves all stores in their buffers for as long as it can.
const LAST_EVERY: u64 = 8;
/// Its steps, for each thread.
const LAST_STEPS: usize = 20;

/// Steps of all replays for minimising one run at most.
const MOST_REPLAYED: usize = 60_000;

/// Runs `count` random schedules from `start`; a run that violates something, if one does. Ends early
/// when `stopped` says so.
pub fn random_schedules(
    program: &Program,
    start: &Start,
    count: u64,
    stopped: impl Fn() -> bool,
) -> Option<Witness> {
    let mut machine = machine_for(program, start).ok()?;
    mark_safe(&mut machine);
    machine.delays = Delays::of(&machine);
    let first = first_state(&machine, start).ok()?;
    let mut scratch = Scratch::default();
    for seed in 0..count {
        if seed % 16 == 0 && stopped() {
            return None;
        }
        if let Some(actions) = one(&machine, &first, seed, &mut scratch) {
            return Some(minimised(program, start.clone(), actions, &stopped));
        }
    }
    None
}

/// One schedule; its steps if it violates something.
fn one(
    machine: &Machine<'_>,
    first: &State,
    seed: u64,
    scratch: &mut Scratch,
) -> Option<Vec<Action>> {
    let mut random = Random::new(seed);
    // Steps between two changes of priority, about: some schedules have few, some many.
    let between = [4, 12, 40, 200][random.below(4)];
    let actors = 2 * machine.threads.len();
    let mut priorities: Vec<i64> = (0..actors).map(|_| random.number() >> 2).collect();
    // In some schedules memory moves only where no thread can. These are short: threads that wait
    // for each other in vain go on storing.
    let mut most = MOST_STEPS;
    if seed % LAST_EVERY == LAST_EVERY - 1 {
        most = LAST_STEPS * machine.threads.len();
        let by_memory = priorities.iter_mut().skip(1).step_by(2);
        by_memory.for_each(|priority| *priority -= 1 << 62);
    }
    let mut lowest = 0;
    let mut state = first.clone();
    let mut actions = Vec::new();
    for _ in 0..most {
        if machine.broken(&state).is_some() {
            return Some(actions);
        }
        let mut choice = Choice {
            from: &state,
            priorities: &priorities,
            random: &mut random,
            best: None,
            ways: 0,
            fails: None,
        };
        let outcome = machine.expand(&state, true, scratch, &mut choice);
        if let Some(action) = choice.fails {
            actions.push(action);
            return Some(actions);
        }
        let stuck = outcome.steps == 0 && outcome.bounds.is_empty();
        if machine.program.deadlock && stuck && machine.is_deadlock(&state) {
            return Some(actions);
        }
        let (actor, action, next) = choice.best?;
        actions.push(action);
        state = next;
        if random.below(between) == 0 {
            lowest -= 1;
            priorities[actor] = lowest;
        }
    }
    None
}

/// Chooses among the steps of a state.
struct Choice<'w> {
    from: &'w State,
    priorities: &'w [i64],
    random: &'w mut Random,
    best: Option<(usize, Action, State)>,
    /// Steps of the actor of `best`.
    ways: usize,
    fails: Option<Action>,
}

impl Sink for Choice<'_> {
    fn next(&mut self, next: &State, step: Move<'_>) {
        let actor = 2 * step.thread + usize::from(step.by_memory());
        let best = self.best.as_ref().map(|(actor, ..)| *actor);
        self.ways = match best {
            Some(best) if best == actor => self.ways + 1,
            Some(best) if self.priorities[best] >= self.priorities[actor] => return,
            Some(_) | None => 1,
        };
        if self.random.below(self.ways) == 0 {
            self.best = Some((actor, step.action(self.from), next.clone()));
        }
    }

    fn fails(&mut self, step: Move<'_>) {
        self.fails = Some(step.action(self.from));
    }
}

/// The run without steps that it does not need, and with fewer changes between threads.
fn minimised(
    program: &Program,
    start: Start,
    mut actions: Vec<Action>,
    stopped: &dyn Fn() -> bool,
) -> Witness {
    let mut left = MOST_REPLAYED;
    let mut violates = |actions: &[Action]| -> Option<usize> {
        left = left
            .checked_sub(actions.len())
            .filter(|_| !stopped())
            .unwrap_or(0);
        if left == 0 {
            return None;
        }
        let replayed = replay(program, &start, actions).ok()?;
        replayed.violation.map(|_| replayed.actions.len())
    };
    // Longer pieces first, and from the end: a thread's last steps are in nobody's way.
    let mut piece = actions.len() / 2;
    while piece > 0 {
        let mut to = actions.len();
        while to >= piece {
            let mut without = actions.clone();
            without.drain(to - piece..to);
            to -= 1;
            if let Some(steps) = violates(&without) {
                without.truncate(steps);
                actions = without;
                to = to.min(actions.len());
            }
        }
        piece /= 2;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for at in 2..actions.len() {
            let thread = actions[at].thread;
            // The last earlier step of the same thread, if others lie between.
            let earlier = actions[..at].iter().rposition(|a| a.thread == thread);
            let Some(earlier) = earlier.filter(|e| e + 1 < at) else {
                continue;
            };
            let mut together = actions.clone();
            together[earlier + 1..=at].rotate_right(1);
            if switches(&together) < switches(&actions) && violates(&together).is_some() {
                actions = together;
                changed = true;
            }
        }
    }
    Witness { start, actions }
}

/// How often another thread steps than before.
fn switches(actions: &[Action]) -> usize {
    let pairs = actions.windows(2);
    pairs
        .filter(|pair| pair[0].thread != pair[1].thread)
        .count()
}

/// Numbers that look random and are the same every time.
#[derive(Clone, Debug)]
pub struct Random(Rng);

impl Random {
    /// Numbers that depend on `seed` only.
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    fn number(&mut self) -> i64 {
        (self.0.number() >> 1) as i64
    }

    /// A number from 0 to `n - 1`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.number() as usize % n.max(1)
    }
}
