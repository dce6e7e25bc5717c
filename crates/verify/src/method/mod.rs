//! *Methods*: ways to search a reduced program for a proof or a run. Each takes a row of
//! the portfolio, says what it has found as an [`Answer`], and decides nothing: evidence
//! and what comes next are the schedule's business.
//!
//! | method | what it does |
//! |---|---|
//! | [`falsify`] | the concrete machine searches for bugs |
//! | `reach` | all states, listed by the machine and by the certificate's check |
//! | `histories` | RC11: all runs, with old messages summarised |
//! | `search`, [`cegar`] | predicate abstraction with refinement |
//! | `state_by_state`, `interference` | a proof with every variable explicit |
//! | `exact_cells` | larger buffers, as a counterexample asks for |
//! | [`extrapolate`], [`strengthen`], [`sc_run`] | what a proof under SC contributes |
//! | [`parameterised`] | any number of threads, by views |
//! | [`fixed`] | the given predicates and no others |
//! | [`prepare`] | what a Boolean program is made from, for other commands |

pub mod cegar;
mod exact_cells;
pub mod extrapolate;
pub mod falsify;
pub mod fixed;
mod histories;
mod interference;
pub mod parameterised;
pub mod prepare;
mod reach;
pub mod sc_run;
mod search;
mod state_by_state;
pub mod strengthen;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use palisade_abstraction::space::Space;
use palisade_program::{Instance, Program, Violation};

use crate::answer::{Answer, Few, Gap, Proof, Stats, StuckStep, Vacuity, Weak};
use crate::knowledge::Knowledge;
use crate::portfolio::{self, Explicit, Method, Search};
use crate::question::{Options, Promote};
use crate::reduction::Stack;
use crate::reduction::model::{Encoder, Encoding};

use extrapolate::ScProof;
use falsify::{Falsified, Falsifier, Seen};

/// What attempts leave behind for the report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// Counters of all attempts.
    pub(crate) stats: Stats,
    /// Remarks of the last attempt.
    pub(crate) notes: Vec<String>,
    /// The abstract run at which the last search was stuck.
    pub(crate) stuck: Vec<StuckStep>,
    /// The predicates of the last attempt, as text.
    pub(crate) predicates: Vec<String>,
    /// The size of buffers with which the machine has seen all states.
    pub(crate) all_states_seen: Option<u32>,
    /// A deadlock that the machine has seen and that does not count.
    pub(crate) deadlock: Option<Box<Violation>>,
    /// What the machine has not reached, once it has searched.
    pub(crate) vacuity: Option<Vacuity>,
}

impl Record {
    /// What no search has reached, this one included.
    fn saw(&mut self, seen: &Seen, is_all: bool) {
        let mut unreached = seen.vacuous.clone();
        if let Some(before) = &self.vacuity {
            unreached.retain(|what| before.unreached.contains(what));
        }
        self.vacuity = Some(Vacuity {
            unreached,
            states: (!is_all).then_some(seen.states),
        });
    }

    /// Adds the cost of an attempt.
    pub(crate) fn add(&mut self, stats: Stats) {
        self.stats = stats.following(&self.stats);
    }

    /// Adds the cost of what an attempt has asked for; its sizes are not the attempt's.
    pub(crate) fn add_earlier(&mut self, cost: &Stats) {
        self.stats = std::mem::take(&mut self.stats).following(cost);
    }
}

/// The attempts on one stack of reductions, and what they share.
pub(crate) struct Session<'a> {
    pub(crate) stack: &'a Stack,
    program: &'a Program,
    options: &'a Options,
    instances: Vec<Instance>,
    knowledge: &'a Knowledge,
    pub(crate) encoder: Encoder<'a>,
    sc_proof: ScProof<'a>,
    /// The machine, if it may look for bugs while searches go on; not where exactly the given
    /// predicates are asked about.
    falsifier: Option<Rc<Falsifier<'a>>>,
    fixed: fixed::Memory,
    parameterised: parameterised::Memory,
    /// The last run that only abstract buffers have, for each end that may be exact.
    spurious: RefCell<[Option<exact_cells::Spurious>; 2]>,
}

impl<'a> Session<'a> {
    /// For attempts on the top of `stack`.
    pub(crate) fn new(stack: &'a Stack, options: &'a Options, knowledge: &'a Knowledge) -> Self {
        let program = &**stack.top();
        let instances = program.instances(options.copies());
        let solver = Arc::clone(&knowledge.solver);
        let mut sc_proof = ScProof::new(
            program,
            instances.clone(),
            options.copies(),
            options,
            solver,
        );
        let may_list = portfolio::may_list_states(program, options);
        let falsifier = || Rc::new(Falsifier::new(program, options, may_list));
        let falsifier = (options.falsify && options.refine).then(falsifier);
        sc_proof.falsifier.clone_from(&falsifier);
        Self {
            stack,
            program,
            options,
            encoder: Encoder::new(program, options, &instances),
            instances,
            knowledge,
            sc_proof,
            falsifier,
            fixed: fixed::Memory::default(),
            parameterised: parameterised::Memory::default(),
            spurious: RefCell::default(),
        }
    }

    /// Tries one method.
    pub(crate) fn attempt(&mut self, method: &Method, record: &mut Record) -> Answer {
        record.notes.clear();
        if let Some(gap) = self.refusal(method) {
            return gap.into();
        }
        match method {
            Method::Falsify {
                buffer,
                states,
                copies,
            } => self.falsify((*buffer, *states), *copies, record),
            Method::Saturate { count, states } => self.saturate(*count, *states),
            Method::Reach {
                buffer,
                states,
                counters,
            } => self.reach((*buffer, *states), *counters, record),
            Method::Histories { summary, states } => self.histories(*summary, *states, record),
            Method::Prompt { summary, states } => self.prompt(*summary, *states),
            Method::Many {
                summary,
                copies,
                states,
            } => self.many(*summary, *copies, *states),
            Method::Cegar(search) => self.cegar(search, record),
            Method::StateByState { encoding, states } => {
                self.state_by_state(encoding, *states, record)
            }
            Method::Views(search) => self.views_of_any(search, record),
            Method::Fixed { encoding, stage } => self.fixed(encoding, *stage, record),
        }
    }

    /// Why a method has nothing to say about the question.
    fn refusal(&self, method: &Method) -> Option<Gap> {
        match method {
            Method::Falsify { .. } | Method::Saturate { .. } | Method::Reach { .. } => None,
            Method::Histories { .. } | Method::Prompt { .. } | Method::Many { .. } => None,
            Method::Views(_) if self.program.deadlock && self.program.present.is_empty() => {
                Some(Gap::Weak(Weak::Deadlocks))
            }
            Method::Cegar(_) | Method::StateByState { .. } => {
                self.encoder.refusal(method.encoding()?)
            }
            Method::Views(_) | Method::Fixed { .. } => self.encoder.refusal(method.encoding()?),
        }
    }

    /// The machine has perhaps seen a deadlock; the first one is kept, if it is one of the
    /// original.
    pub(super) fn saw_deadlock(&self, deadlock: Option<Box<Violation>>, record: &mut Record) {
        let any = |program: &Program| program.has_unbounded_threads();
        if any(self.program) == any(self.stack.original()) {
            record.deadlock = record.deadlock.take().or(deadlock);
        }
    }

    fn falsify(&self, room: (u32, u64), copies: Option<u32>, record: &mut Record) -> Answer {
        let limits = Options {
            threads: copies.or(self.options.threads),
            ..self.options.clone()
        };
        match falsify::search(self.program, limits.model, room, false, &limits) {
            Falsified::Bug(bug) => {
                record.stats.falsified_states = bug.states;
                Answer::Run(bug.witness)
            }
            Falsified::BesideThePoint(violation) => Gap::BesideThePoint(violation).into(),
            Falsified::All(seen) => {
                record.all_states_seen = Some(room.0);
                record.saw(&seen, true);
                self.saw_deadlock(seen.deadlock, record);
                portfolio::nothing().into()
            }
            Falsified::Nothing(seen) => {
                record.saw(&seen, false);
                self.saw_deadlock(seen.deadlock, record);
                portfolio::nothing().into()
            }
        }
    }

    /// The machine searches all runs, with equal pending operations counted up to `count`:
    /// that covers any number of them.
    fn saturate(&self, count: usize, states: u64) -> Answer {
        let search = palisade_machine::Options {
            saturate: Some(count),
            threads: self.options.copies(),
            max_states: Some(states),
            deadline: self.options.deadline,
            cancel: self.options.cancel.clone(),
            ..palisade_machine::Options::new(self.options.model)
        };
        let Ok(found) = palisade_machine::explore(self.program, &search) else {
            return portfolio::nothing().into();
        };
        match (found.verdict, found.witness) {
            (palisade_program::Verdict::Holds, _) => {
                Answer::Proof(Proof::Exhaustive(found.stats.states))
            }
            (palisade_program::Verdict::Violated(_), Some(run)) => Answer::Run(run),
            (_, _) => portfolio::nothing().into(),
        }
    }

    /// Whether other variables are explicit in the second of two searches.
    pub(crate) fn is_less_explicit(&self, encoding: &Encoding, is_views: bool) -> bool {
        let encoded = self.encoder.encode(encoding);
        let program = encoded.program();
        let threads = if is_views {
            palisade_checker::views::threads(program, 1, None)
        } else {
            self.instances.clone()
        };
        let explicit = |promote| {
            let space = Space::new(program, threads.clone(), promote);
            space.explicit.len()
        };
        explicit(true) != explicit(false)
    }

    /// The row of a proof by few states.
    pub(crate) fn few_states(&self, few: Few) -> Option<Method> {
        let most = match few {
            Few::Listed(most) => most,
            Few::Gaps => return Some(portfolio::gaps()),
            Few::Shifted => return Some(portfolio::shifted(&[], portfolio::FEW_STATES).method),
        };
        let encodings = portfolio::encodings(self.program, self.options).ok()?;
        let encodings = self.knowledge.in_order(encodings);
        let row = portfolio::state_by_state(self.program, &[], &encodings, most, self.options);
        Some(row.method)
    }

    /// Remembers that this encoding has led to a proof.
    pub(crate) fn proved_by(&self, method: &Method) {
        match method {
            Method::Cegar(Search { encoding, .. }) => self.knowledge.proved_by(encoding),
            Method::Falsify { .. } | Method::Saturate { .. } | Method::Reach { .. } => {}
            Method::StateByState { .. } => {}
            Method::Views(_) | Method::Fixed { .. } => {}
            Method::Histories { .. } | Method::Prompt { .. } | Method::Many { .. } => {}
        }
    }
}

/// Whether variables with few values are explicit.
const fn promotes(explicit: Explicit) -> bool {
    match explicit {
        Explicit::Control => false,
        Explicit::Finite | Explicit::All => true,
    }
}

/// The same for fixed predicates.
const fn promotes_fixed(options: &Options) -> bool {
    match options.promote {
        Promote::Always | Promote::All => true,
        Promote::Auto | Promote::Never => false,
    }
}
