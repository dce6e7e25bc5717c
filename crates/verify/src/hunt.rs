//! The *hunt*: a search of the concrete machine for a bug. It looks at few
//! states, with small buffers: what it finds is a run. There are some in a
//! verification: a quick one at the beginning, since most bugs are shallow and a proof
//! attempt would come to them only after some rounds of refinement; longer ones when
//! some rounds have brought no proof; and a last one when the abstract searches have
//! become large, since three threads under TSO may have more abstract states than the
//! bug's depth asks for concrete ones. All have fixed sizes: what is found does not
//! depend on speed. Random runs with few changes between threads are made, too: they find
//! what is deep and frequent.
//!
//! That a hunt finds nothing means nothing, unless it has seen *all* states. Then no
//! predicates are needed: the proof is tried state by state (`driver.rs`). What the machine
//! has seen is no part of that proof, it only says that it is worth a try. A short try is
//! made where it has not seen all, too: threads that are not interrupted where nobody
//! disturbs them (`undisturbed.rs`) have far fewer states.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Instant;

use palisade_machine::{Options, Start, Witness, explore, replay, walk};
use palisade_program::{Model, Program, Verdict, Violation};

use crate::options::Stats;

/// Most stores in one buffer: the bugs of small programs need few.
pub const BUFFER: u32 = 4;
/// States of the quick hunt.
pub const QUICK: u64 = 20_000;
/// With more states than this no proof state by state is tried: it would take long.
const FEW: u64 = 800_000;
/// The hunts that are made while searches go on: after so many rounds of refinement or so
/// many abstract steps of all searches, among so many states.
const LATER: [(usize, usize, u64); 3] = [
    (2, 30_000, 80_000),
    (4, 100_000, 250_000),
    (usize::MAX, 400_000, 2_000_000),
];
/// States of the proof that is tried after each of these hunts if it has not seen all states
/// and the searches are as large.
const TRIED: [usize; 3] = [0, 60_000, 500_000];
/// Random runs after each of these hunts that has not seen all states.
const WALKS: [u64; 3] = [300, 2_000, 5_000];
/// States of a search whose bugs are worth a second one, for a shortest run.
const SHORT: u64 = 100_000;

/// A run into a violation.
#[derive(Clone, Debug)]
pub struct Bug {
    /// What it violates.
    pub violation: Box<Violation>,
    /// The run.
    pub witness: Witness,
    /// States that the search looked at.
    pub states: u64,
}

impl Bug {
    /// The report on a program that has it.
    pub fn report(self) -> crate::Report {
        let mut report = crate::Report::not_run();
        report.stats.hunted_states = self.states;
        report.witness = Some(self.witness);
        report.verdict = Verdict::Violated(self.violation);
        report
    }
}

/// What a hunt has found.
#[derive(Clone, Debug)]
pub enum Hunted {
    /// A bug.
    Bug(Bug),
    /// All states, so many at most, and no bug.
    All(u64),
    /// Neither.
    Nothing,
}

/// What a search for a proof hears from the machine.
#[derive(Clone, Debug)]
pub enum Asked {
    /// A bug.
    Bug(Bug),
    /// A proof state by state should be tried first.
    Stop,
    /// Nothing.
    GoOn,
}

/// Looks for a bug under `model` among about `states` states.
pub fn hunt(program: &Program, model: Model, states: u64, limits: &crate::Options) -> Option<Bug> {
    hunt_within(program, model, (BUFFER, states), limits)
}

/// The same with buffers of this size (RMA: so many pending operations of a process).
pub fn hunt_within(
    program: &Program,
    model: Model,
    room: (u32, u64),
    limits: &crate::Options,
) -> Option<Bug> {
    match look_within(program, model, room, limits) {
        Hunted::Bug(bug) => Some(bug),
        Hunted::All(_) | Hunted::Nothing => None,
    }
}

/// As [`hunt`]; tells whether these were all states.
pub fn look(program: &Program, model: Model, states: u64, limits: &crate::Options) -> Hunted {
    look_within(program, model, (BUFFER, states), limits)
}

fn look_within(
    program: &Program,
    model: Model,
    (buffer, states): (u32, u64),
    limits: &crate::Options,
) -> Hunted {
    let options = Options {
        buffer: Some(buffer as usize),
        // A second search for a shorter run of a deep bug takes as long as the first.
        shortest: states <= SHORT,
        threads: limits.copies(),
        max_states: Some(states),
        deadline: limits.deadline,
        cancel: limits.cancel.clone(),
        // Short searches gain nothing from more.
        workers: usize::from(states <= QUICK),
        ..Options::new(model)
    };
    let Ok(found) = explore(program, &options) else {
        return Hunted::Nothing;
    };
    match (found.verdict, found.witness) {
        (Verdict::Violated(violation), Some(witness)) => Hunted::Bug(Bug {
            violation,
            witness,
            states: found.stats.states,
        }),
        (Verdict::Holds, _) => Hunted::All(found.stats.states),
        (Verdict::Violated(_) | Verdict::Unknown(_), _) => Hunted::Nothing,
    }
}

/// Looks for a bug by random walks.
fn walks(program: &Program, limits: &crate::Options, count: u64) -> Option<Bug> {
    let start = Start::new(limits.model, limits.copies());
    let stopped = || {
        let late = limits.deadline.is_some_and(|d| Instant::now() >= d);
        late || limits.cancel.load(Ordering::Relaxed)
    };
    let witness = walk(program, &start, count, stopped)?;
    let replayed = replay(program, &witness.start, &witness.actions).ok()?;
    Some(Bug {
        violation: replayed.violation?,
        witness,
        states: 0,
    })
}

/// The hunts of one verification that are made while searches go on, each once.
#[derive(Debug)]
pub struct Hunts<'a> {
    program: &'a Program,
    options: &'a crate::Options,
    /// Whether a proof state by state may be tried; not again after one with all states.
    list: Cell<bool>,
    /// How many of [`LATER`] have been made.
    made: Cell<usize>,
    /// A proof state by state is still to be tried, with so many states at most.
    few: Cell<Option<usize>>,
}

impl<'a> Hunts<'a> {
    /// None has been made.
    pub fn new(program: &'a Program, options: &'a crate::Options, list: bool) -> Self {
        Self {
            program,
            options,
            list: Cell::new(list),
            made: Cell::new(0),
            few: Cell::new(None),
        }
    }

    /// Whether no more predicates should be looked for.
    pub fn are_few(&self) -> bool {
        self.few.get().is_some()
    }

    /// Asked after a round without proof: makes the hunt whose time has come.
    pub fn ask(&self, stats: &Stats) -> Asked {
        if let Some((rounds, steps, states)) = LATER.get(self.made.get())
            && (stats.iterations >= *rounds || stats.steps >= *steps)
        {
            let (tried, walked) = (TRIED[self.made.get()], WALKS[self.made.get()]);
            self.made.set(self.made.get() + 1);
            let few = match look(self.program, self.options.model, *states, self.options) {
                Hunted::Bug(bug) => return Asked::Bug(bug),
                Hunted::All(seen) if seen <= FEW => Some(usize::MAX),
                Hunted::All(_) => None,
                Hunted::Nothing => match walks(self.program, self.options, walked) {
                    Some(bug) => return Asked::Bug(bug),
                    None => Some(tried).filter(|n| *n > 0 && stats.steps >= *steps),
                },
            };
            self.few.set(few.filter(|_| self.list.get()));
        }
        if self.are_few() {
            Asked::Stop
        } else {
            Asked::GoOn
        }
    }

    /// How many states a proof state by state may have that is to be tried now.
    pub fn take_few(&self) -> Option<usize> {
        let few = self.few.take();
        self.list.set(self.list.get() && few != Some(usize::MAX));
        few
    }
}
