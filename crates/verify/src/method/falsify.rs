//! *Falsification*: a search of the concrete machine for a bug. It looks at few
//! states, with small buffers: what it finds is a run. There are some in a
//! verification: a quick one at the beginning, since most bugs are shallow and a proof
//! attempt would come to them only after some rounds of refinement; longer ones when
//! some rounds have brought no proof; and a last one when the abstract searches have
//! become large, since three threads under TSO may have more abstract states than the
//! bug's depth asks for concrete ones. Random schedules with few context switches are run,
//! too [Burckhardt et al., ASPLOS 2010]: they find what is deep and frequent.
//!
//! That it finds nothing means nothing, unless it has seen *all* states. Then no
//! predicates are needed: a proof state by state comes first ([`Gap::FewStates`]). What the
//! machine has seen is no part of that proof, it only says that it is worth a try. A short
//! try is made where it has not seen all, too: threads that are not interrupted where nobody
//! interferes (`method::interference`) have far fewer states.

use std::cell::{Cell, RefCell};

use palisade_machine::{Options, Start, Witness, explore, random_schedules, replay};
use palisade_program::{Model, Program, Span, Vacuous, Verdict, Violation};

use crate::answer::{Few, Gap, Report, Stats, Vacuity};
use crate::portfolio::{
    BUFFER, FEW_CALLS, FEW_STATES, LATER, QUICK, RC11_BUGS, ROOMS, SHIFTED, SHORT, TELLING,
    has_unbounded_counters,
};

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
    pub fn report(self) -> Report {
        let mut report = Report::new(Verdict::Violated(self.violation));
        report.stats.falsified_states = self.states;
        report.witness = Some(self.witness);
        report
    }
}

/// What a falsification has found.
#[derive(Clone, Debug)]
pub enum Falsified {
    /// A bug.
    Bug(Bug),
    /// A run that violates something that was not asked about.
    BesideThePoint(Box<Violation>),
    /// All states, and no bug.
    All(Seen),
    /// Neither.
    Nothing(Seen),
}

/// What a search without a bug has met.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How many states.
    pub states: u64,
    /// A deadlock that does not count.
    pub deadlock: Option<Box<Violation>>,
    /// What was not reached.
    pub vacuous: Vec<(Span, Vacuous)>,
}

/// What a search for a proof hears from the machine.
#[derive(Clone, Debug)]
pub enum Heard {
    /// A bug.
    Bug(Bug),
    /// What should be done first.
    Stop(Gap),
    /// Nothing.
    Nothing,
}

/// Looks for a bug under `model` among about `states` states.
pub fn falsify(
    program: &Program,
    model: Model,
    states: u64,
    limits: &crate::Options,
) -> Option<Bug> {
    let buffer = match model {
        Model::Rc11 => RC11_BUGS.0,
        Model::Sc | Model::Tso | Model::Pso | Model::Rma => BUFFER,
    };
    match search(program, model, (buffer, states), false, limits) {
        Falsified::Bug(bug) => Some(bug),
        Falsified::BesideThePoint(_) | Falsified::All(..) | Falsified::Nothing(_) => None,
    }
}

/// Searches once more for what no run was seen to reach, where that search was not of all states. Runs
/// under SC are runs under TSO and PSO, and most of what is reached at all is reached there. (Programs
/// that keep memory orders have no meaning under SC.) What a short search has not reached means nothing.
pub(crate) fn reach_more(program: &Program, options: &crate::Options, vacuity: &mut Vacuity) {
    let Some(states) = &mut vacuity.states else {
        return;
    };
    let has_sc = match options.model {
        Model::Sc | Model::Tso | Model::Pso => true,
        Model::Rc11 | Model::Rma => false,
    };
    if has_sc && !vacuity.unreached.is_empty() {
        match search(program, Model::Sc, (BUFFER, SHORT), false, options) {
            Falsified::All(seen) | Falsified::Nothing(seen) if seen.states > 0 => {
                let unreached = |what: &(Span, Vacuous)| seen.vacuous.contains(what);
                vacuity.unreached.retain(unreached);
                *states += seen.states;
            }
            // A run into an error ends the search before everything that can be reached was.
            Falsified::All(_) | Falsified::Nothing(_) => {}
            Falsified::Bug(_) | Falsified::BesideThePoint(_) => {}
        }
    }
    if *states < TELLING {
        vacuity.unreached.clear();
    }
}

/// The same with buffers of this size (RMA: so many pending operations of a process).
pub fn search(
    program: &Program,
    model: Model,
    (buffer, states): (u32, u64),
    shift: bool,
    limits: &crate::Options,
) -> Falsified {
    let options = Options {
        buffer: Some(buffer as usize),
        // A second search for a shorter run of a deep bug takes as long as the first.
        shortest: states <= SHORT,
        shift,
        threads: limits.copies(),
        max_states: Some(states),
        deadline: limits.deadline,
        cancel: limits.cancel.clone(),
        // Short searches gain nothing from more.
        workers: usize::from(states <= QUICK),
        ..Options::new(model)
    };
    let Ok(found) = explore(program, &options) else {
        return Falsified::Nothing(Seen::default());
    };
    let seen = Seen {
        states: found.stats.states,
        deadlock: found.deadlock,
        vacuous: found.vacuous,
    };
    match (found.verdict, found.witness) {
        (Verdict::Violated(violation), Some(witness)) => Falsified::Bug(Bug {
            violation,
            witness,
            states: found.stats.states,
        }),
        (Verdict::Holds, _) => Falsified::All(seen),
        (Verdict::Violated(_) | Verdict::Unknown(_), _) => match found.beside_the_point {
            Some(violation) => Falsified::BesideThePoint(violation),
            None => Falsified::Nothing(seen),
        },
    }
}

/// Looks for a bug by random schedules.
fn by_random_schedules(program: &Program, limits: &crate::Options, count: u64) -> Option<Bug> {
    let start = Start::new(limits.model, limits.copies());
    let witness = random_schedules(program, &start, count, || limits.is_over())?;
    let replayed = replay(program, &witness.start, &witness.actions).ok()?;
    let asked = |v: &Violation| program.asked.includes_broken(&v.broken);
    Some(Bug {
        violation: replayed.violation.filter(|v| asked(v))?,
        witness,
        states: 0,
    })
}

/// The falsifications of one verification that are made while searches go on, each once.
#[derive(Debug)]
pub struct Falsifier<'a> {
    program: &'a Program,
    options: &'a crate::Options,
    /// Whether a proof state by state may be tried; not again after one with all states.
    may_list: Cell<bool>,
    asked_for_counters: Cell<bool>,
    /// How many of [`LATER`] have been made.
    made: Cell<usize>,
    /// A deadlock that was seen.
    deadlock: RefCell<Option<Box<Violation>>>,
}

impl<'a> Falsifier<'a> {
    /// None has been made.
    pub fn new(program: &'a Program, options: &'a crate::Options, may_list: bool) -> Self {
        Self {
            program,
            options,
            may_list: Cell::new(may_list),
            asked_for_counters: Cell::new(false),
            made: Cell::new(0),
            deadlock: RefCell::new(None),
        }
    }

    fn remember(&self, deadlock: Option<Box<Violation>>) {
        let mut known = self.deadlock.borrow_mut();
        *known = known.take().or(deadlock);
    }

    /// A deadlock that was seen and does not count.
    pub fn deadlock(&self) -> Option<Box<Violation>> {
        self.deadlock.borrow().clone()
    }

    /// Where counters grow without bound: all states up to a shift, if these come to an end soon, else those up
    /// to how far counters are apart.
    fn counters(&self) -> Heard {
        let rooms = match self.options.model {
            Model::Tso | Model::Pso => &ROOMS[..],
            Model::Sc | Model::Rma | Model::Rc11 => &ROOMS[..1],
        };
        for room in rooms {
            let room = (*room, SHIFTED);
            match search(self.program, self.options.model, room, true, self.options) {
                Falsified::Bug(bug) => return Heard::Bug(bug),
                Falsified::All(_) => {
                    self.may_list.set(false);
                    return Heard::Stop(Gap::FewStates(Few::Shifted));
                }
                Falsified::BesideThePoint(_) | Falsified::Nothing(_) => {}
            }
        }
        if self.options.certify {
            Heard::Stop(Gap::FewStates(Few::Gaps))
        } else {
            Heard::Nothing
        }
    }

    /// Asked after a round without proof: makes the falsification whose time has come.
    /// `calls` is how often the solver was asked so far.
    pub fn ask(&self, stats: &Stats, calls: u64) -> Heard {
        let Some(now) = LATER.get(self.made.get()) else {
            return Heard::Nothing;
        };
        let is_large = stats.steps >= now.steps;
        let is_due = stats.iterations >= now.rounds || is_large || calls >= now.calls;
        // Predicates tell more than such states do, but these are found faster than a bug that is not shallow.
        if (calls >= FEW_CALLS || (is_due && self.made.get() > 0))
            && self.may_list.get()
            && !self.asked_for_counters.replace(true)
            && has_unbounded_counters(self.program, self.options)
        {
            return self.counters();
        }
        if !is_due {
            return Heard::Nothing;
        }
        self.made.set(self.made.get() + 1);
        let (program, options) = (self.program, self.options);
        let room = (BUFFER, now.states);
        let few = match search(program, options.model, room, false, options) {
            Falsified::Bug(bug) => return Heard::Bug(bug),
            Falsified::BesideThePoint(violation) => {
                return Heard::Stop(Gap::BesideThePoint(violation));
            }
            Falsified::All(seen) => {
                self.remember(seen.deadlock);
                (seen.states <= FEW_STATES).then_some(Few::Listed(usize::MAX))
            }
            Falsified::Nothing(seen) => {
                self.remember(seen.deadlock);
                match by_random_schedules(program, options, now.schedules) {
                    Some(bug) => return Heard::Bug(bug),
                    None => Some(now.proof)
                        .filter(|n| *n > 0 && is_large)
                        .map(Few::Listed),
                }
            }
        };
        let Some(few) = few.filter(|_| self.may_list.get()) else {
            return Heard::Nothing;
        };
        self.may_list.set(few != Few::Listed(usize::MAX));
        Heard::Stop(Gap::FewStates(few))
    }
}
