//! The *answer* of one attempt, typed: a proof, a run into a violation, or a gap that says
//! what was missing. The loop ([`crate::schedule`]) decides by these values alone what is
//! tried next. At the end, evidence in hand, the answer becomes a [`Report`].

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use palisade_certify::{AccessLoc, Certificate};
use palisade_checker::search::Stop;
use palisade_logic::Reason;
use palisade_logic::term::Overflow;
use palisade_machine::Witness;
use palisade_program::{
    Bound, BufferName, Cell, Chosen, GlobalId, Program, Span, Unknown, Vacuous, Verdict, Violation,
};

/// What an attempt has come to.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A proof.
    Proof(Proof),
    /// A run into a violation.
    Run(Witness),
    /// Neither.
    Gap(Gap),
}

/// A proof that nothing is violated.
#[derive(Clone, Debug)]
pub enum Proof {
    /// An inductive invariant, still to be checked.
    Certificate(Box<Certificate>),
    /// One that the check has accepted, for the program that was given to the method; how many states it found.
    Checked(Box<Certificate>, usize),
    /// The concrete machine has searched all runs; so many states.
    Exhaustive(u64),
}

/// Which states are few.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Few {
    /// Those of the program: state by state, at most so many.
    Listed(usize),
    /// Those up to a shift of counters.
    Shifted,
    /// And up to how far counters are apart that are far apart: perhaps.
    Gaps,
}

/// What was missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gap {
    /// The time limit was reached.
    Time,
    /// The memory limit was reached.
    Memory,
    /// The user stopped the run.
    Interrupted,
    /// Something was left out.
    Bound(Bound),
    /// A summary invariant of a template's buffered stores to a cell is wrong: without it
    /// the same attempt may succeed.
    Summary {
        /// The template's number.
        template: usize,
        /// The cell.
        cell: Cell,
        /// Its name.
        name: String,
    },
    /// A bounded store buffer is too small.
    Overflow {
        /// The thread whose it is,
        thread: String,
        /// and under PSO for which variable.
        variable: Option<GlobalId>,
    },
    /// Accesses that were taken to be free of interference are not.
    Interference(BTreeSet<AccessLoc>),
    /// The program has few states: a proof by these comes first.
    FewStates(Few),
    /// What was searched has a run that the program does not have.
    Spurious(String),
    /// The method is too weak.
    Weak(Weak),
    /// The program uses something that the method cannot treat.
    Unsupported(String, Span),
    /// The check refused a proof: a bug in Palisade.
    Refused(String),
    /// A run violates something that was not asked about.
    BesideThePoint(Box<Violation>),
}

/// Why a method is too weak.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Weak {
    /// It was not to look for predicates, and some are needed.
    PredicatesNeeded,
    /// Too many rounds of refinement; where the last counterexample ends.
    Rounds(String),
    /// Refinement found no new predicate; where the last counterexample ends.
    NothingNew(String),
    /// The given predicates do not suffice; where the last counterexample ends.
    Given(String),
    /// Views of a few threads are too coarse; where the last one fails.
    Views(String),
    /// There are too many views.
    ManyViews,
    /// There are too many predicates between threads.
    ManyPredicates,
    /// A proof state by state has too many states, or a variable starts with any value.
    ManyStates,
    /// The program violates something if these variables may have any value.
    Projected(String),
    /// There is a violation where the program does not wait for its threads, and none was
    /// found where it does.
    Joins,
    /// Views of a few threads cannot show that all of them are never blocked.
    Deadlocks,
    /// Counters far apart are known by their order, and more is needed.
    Gaps,
    /// The proof does not show that no thread spins for ever.
    Progress,
    /// The solver gave up.
    Solver(String),
    /// The violation needs remote atomic operations of one process on one variable in another order than that of
    /// their issue.
    RemoteOrder,
    /// Values of pending operations are listed, and nothing says which list goes with which value.
    Lists,
    /// An integer of the proof left its range.
    Overflow,
    /// Views of several sizes do not fit together.
    Mismatch(&'static str),
    /// There is nothing to try.
    Nothing,
}

impl fmt::Display for Weak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |f: &mut fmt::Formatter<'_>, why: &str, stuck: &str| {
            f.write_str(why)?;
            if stuck.is_empty() {
                return Ok(());
            }
            write!(f, "; {stuck}")
        };
        match self {
            Self::PredicatesNeeded => f.write_str("predicates are needed"),
            Self::Rounds(stuck) => at(f, "too many rounds of refinement", stuck),
            Self::NothingNew(stuck) => at(f, "refinement found nothing new", stuck),
            Self::Given(stuck) => at(f, "the given predicates are too weak", stuck),
            Self::Views(stuck) => at(f, "views of a few threads are too coarse", stuck),
            Self::ManyViews => f.write_str("there are too many views of a few threads"),
            Self::ManyPredicates => f.write_str("too many predicates between threads"),
            Self::ManyStates => {
                f.write_str("there are too many states, or a variable starts with any value")
            }
            Self::Projected(names) => write!(f, "no proof without {names}"),
            Self::Joins => f.write_str(
                "violated where the program does not wait for its threads; no run was found \
                 where it does",
            ),
            Self::Gaps => f.write_str(
                "how far apart counters are matters, however far it is",
            ),
            Self::Progress => f.write_str(
                "that no thread spins for ever is not shown: it is where all states can be listed",
            ),
            Self::Deadlocks => f.write_str(
                "that any number of threads never deadlocks is not shown; fix their number",
            ),
            Self::RemoteOrder => f.write_str(
                "remote atomic operations of one process on one variable are taken in any order, and the violation found \
                 needs another one than that of the program",
            ),
            Self::Lists => f.write_str(
                "the certificate cannot say which values are pending with which value of their source; leave out \
                 --no-explicit",
            ),
            Self::Solver(why) => f.write_str(why),
            Self::Overflow => Overflow.fmt(f),
            Self::Mismatch(why) => f.write_str(why),
            Self::Nothing => f.write_str("nothing to search"),
        }
    }
}

impl Gap {
    /// Whether nothing else can be tried: time, memory or patience has run out.
    pub const fn ends_everything(&self) -> bool {
        matches!(self, Self::Time | Self::Memory | Self::Interrupted)
    }
}

impl From<Weak> for Gap {
    fn from(weak: Weak) -> Self {
        Self::Weak(weak)
    }
}

impl From<Overflow> for Gap {
    fn from(_: Overflow) -> Self {
        Self::Weak(Weak::Overflow)
    }
}

impl From<Reason> for Gap {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Cancelled => Self::Interrupted,
            Reason::Deadline => Self::Time,
            Reason::QueryTime
            | Reason::Solver(_)
            | Reason::ModelTooLarge
            | Reason::ModelRejected => Self::Weak(Weak::Solver(reason.to_string())),
        }
    }
}

impl From<Stop> for Gap {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Limit(reason) => reason.into(),
            Stop::States(n) => Self::Bound(Bound::AbstractStates(n)),
            Stop::Views => Self::Weak(Weak::ManyViews),
            Stop::Unsupported(u) => Self::Unsupported(u.what, u.span),
            Stop::Mismatch(why) => Self::Weak(Weak::Mismatch(why)),
        }
    }
}

impl From<Gap> for Answer {
    fn from(gap: Gap) -> Self {
        Self::Gap(gap)
    }
}

impl Gap {
    /// What the user hears about `program` if nothing else was found.
    pub fn unknown(self, program: &Program) -> Unknown {
        match self {
            Self::Time => Unknown::Time,
            Self::Memory => Unknown::Memory,
            Self::Interrupted => Unknown::Interrupted,
            Self::Bound(bound) => Unknown::Bound(vec![bound]),
            Self::Summary { name, .. } => Unknown::Bound(vec![Bound::Summary(name)]),
            Self::Overflow { thread, variable } => {
                // Flags are no variables of the program ([`crate::reduction::presence`]).
                let variable = variable.and_then(|v| program.globals.get(v.index()));
                let variable = variable.map(|v| v.name.clone());
                let buffer = BufferName { thread, variable };
                Unknown::Bound(vec![Bound::BufferOverflow(Some(buffer))])
            }
            Self::Interference(_) => {
                Unknown::GaveUp("other threads interfere with an access".to_owned())
            }
            Self::FewStates(_) => Unknown::GaveUp(Weak::PredicatesNeeded.to_string()),
            Self::Spurious(why) => Unknown::ReplayFailed(why),
            Self::Weak(weak) => Unknown::GaveUp(weak.to_string()),
            Self::Unsupported(what, span) => Unknown::Unsupported(what, span),
            Self::Refused(why) => Unknown::CertificateRefused(why),
            Self::BesideThePoint(violation) => match program.judged(violation) {
                Verdict::Unknown(why) => why,
                Verdict::Holds | Verdict::Violated(_) => {
                    unreachable!("only what is not asked about is beside the point")
                }
            },
        }
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Round of refinement, from 1.
    pub round: usize,
    /// Predicates so far.
    pub predicates: usize,
    /// Abstract states of the last search.
    pub states: usize,
}

/// What a verification did.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Predicates at the end.
    pub predicates: usize,
    /// Of these, marked for case splitting.
    pub split: usize,
    /// Variables kept explicit.
    pub explicit: usize,
    /// Searches.
    pub iterations: usize,
    /// Abstract states of the last search.
    pub states: usize,
    /// Abstract steps of all searches.
    pub steps: usize,
    /// Solver calls by purpose.
    pub solver_calls: Vec<(&'static str, u64)>,
    /// Queries answered without the solver.
    pub cache_hits: u64,
    /// Whole posts asked for and answered from memory.
    pub posts: (u64, u64),
    /// Cubes lifted from the proof under SC.
    pub lifted_cubes: usize,
    /// Values of buffer counters and targets: predicates by rule 1 of [Dan et al., SAS 2013], which
    /// are explicit here.
    pub control_predicates: usize,
    /// Solver calls for the proof under SC that predicates and cubes are lifted from.
    pub preparation_calls: u64,
    /// Solver calls for making the extrapolated Boolean program, and how many facts it
    /// is made of; none for other strategies.
    pub extrapolated: Option<(u64, usize)>,
    /// Cubes used and the largest one's size, for strategies that make tables.
    pub cubes: (usize, usize),
    /// Time by phase.
    pub times: Vec<(&'static str, Duration)>,
    /// Entries of the certificate.
    pub certificate_entries: usize,
    /// Stores that need no buffer.
    pub unbuffered_stores: usize,
    /// Accesses free of interference, at which a thread is not interrupted, in a proof state by
    /// state.
    pub interference_free: usize,
    /// States of the machine's search that found the violation, if one did.
    pub falsified_states: u64,
    /// Whether the extrapolated Boolean program was too weak, so that the lazy construction
    /// was used.
    pub lazy_was_needed: bool,
    /// Whether the proof has no predicates because every variable is explicit.
    pub state_by_state: bool,
}

impl Stats {
    /// Adds to the time of a phase.
    pub(crate) fn spend(&mut self, phase: &'static str, time: Duration) {
        match self.times.iter_mut().find(|(known, _)| *known == phase) {
            Some((_, sum)) => *sum += time,
            None => self.times.push((phase, time)),
        }
    }

    /// The statistics of a further attempt: work adds up, sizes are the last ones.
    #[must_use]
    pub fn following(mut self, earlier: &Self) -> Self {
        self.iterations += earlier.iterations;
        self.steps += earlier.steps;
        self.extrapolated = self.extrapolated.or(earlier.extrapolated);
        self.posts.0 += earlier.posts.0;
        self.posts.1 += earlier.posts.1;
        let own = std::mem::replace(&mut self.times, earlier.times.clone());
        for (phase, time) in own {
            self.spend(phase, time);
        }
        self
    }
}

/// One attempt of a verification, for people who want to know what was tried.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What was done to the program before it was searched, outermost first.
    pub reductions: Vec<String>,
    /// How it was searched.
    pub method: String,
    /// How long that took.
    pub time: Duration,
    /// `proof`, `run`, or what was missing.
    pub outcome: String,
}

/// A step of an abstract run that could neither be refuted nor run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckStep {
    /// The thread's name.
    pub thread: String,
    /// Where the step stands.
    pub span: Span,
}

impl StuckStep {
    /// Adds the step of a thread unless it stands where the last one does.
    pub(crate) fn push(all: &mut Vec<Self>, thread: String, span: Span) {
        let next = Self { thread, span };
        // Steps that the user did not write have no place.
        if span.start < span.end && all.last() != Some(&next) {
            all.push(next);
        }
    }
}

/// The result of a verification.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The run of a violation, for replays.
    pub witness: Option<Witness>,
    /// Whether the proof's certificate was checked.
    pub certified: bool,
    /// The certificate.
    pub certificate: Option<Certificate>,
    /// The predicates, as text.
    pub predicates: Vec<String>,
    /// Where refinement got stuck, and other remarks.
    pub notes: Vec<String>,
    /// The abstract run at which the last search was stuck.
    pub stuck: Vec<StuckStep>,
    /// A deadlock that was seen, where nothing is violated and deadlocks do not count.
    pub deadlock: Option<Box<Violation>>,
    /// What no run gets to, where nothing is violated.
    pub vacuity: Vacuity,
    /// A run for each `reach` of the program that was reached.
    pub reached: Vec<Violation>,
    /// Counters.
    pub stats: Stats,
    /// What was tried, in order.
    pub attempts: Vec<Attempt>,
    /// Variables that are read before anything was written to them. Run and certificate
    /// are of the program in which they start with any value ([`Report::subject`]).
    pub chosen: Chosen,
}

/// What a search of the machine has not reached.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Vacuity {
    /// What, and where it stands.
    pub unreached: Vec<(Span, Vacuous)>,
    /// How many states were searched, if there are more.
    pub states: Option<u64>,
}

impl Report {
    /// A report with this verdict and nothing else.
    pub fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            witness: None,
            certified: false,
            certificate: None,
            predicates: Vec::new(),
            notes: Vec::new(),
            stuck: Vec::new(),
            deadlock: None,
            vacuity: Vacuity::default(),
            reached: Vec::new(),
            stats: Stats::default(),
            attempts: Vec::new(),
            chosen: Chosen::new(),
        }
    }

    /// The program that run and certificate are about, where `program` was asked about.
    pub fn subject<'p>(&self, program: &'p Program) -> Cow<'p, Program> {
        if self.chosen.is_empty() {
            Cow::Borrowed(program)
        } else {
            Cow::Owned(program.choosing(&self.chosen))
        }
    }
}
