//! Options of a verification, its statistics and its report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use palisade_certify::Certificate;
use palisade_machine::Witness;
pub use palisade_memory::beyond::Keep;
pub use palisade_memory::value_sets::Sharing;
use palisade_program::{Cell, Model, Program, Unknown, Verdict};

/// How abstract transformers are built (DESIGN idea 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Strategy {
    /// Ask the solver only about valuations that the search meets.
    #[default]
    Lazy,
    /// Cubes by increasing size (seed 000, Fig. 6a).
    Enumerate,
    /// Prime implicants from solver cores.
    Cores,
    /// Single literals and the cubes of the SC proof, lifted (seed 000, Fig. 6b).
    /// Under SC, where there is nothing to lift from, as `Cores`.
    Cubes,
    /// The Boolean program of the SC proof, lifted as a whole: no solver is asked (seed
    /// 004, section 4.3). Under SC as `Cores`.
    Program,
}

/// What is taken over from a proof under SC to one under TSO or PSO (seed 000).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Extrapolate {
    /// Predicates, when the first search shows that some are needed.
    #[default]
    Auto,
    /// Predicates, from the start.
    Predicates,
    /// Predicates and cubes, from the start; the strategy is [`Strategy::Cubes`].
    Cubes,
    /// Nothing.
    None,
}

/// How store buffers are modelled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Buffers {
    /// As large as the program's control flow can need, if that is bounded; else
    /// with some bounds, and abstract.
    #[default]
    Auto,
    /// With this many cells; overflow is `unknown`.
    Bounded(Sizes),
    /// Of every size: this many stores exactly, the others as a set (seed 002).
    Abstract(u32),
}

/// Sizes of bounded buffers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Cells of each buffer
    pub default: u32,
    /// except for these variables (PSO).
    pub named: BTreeMap<String, u32>,
}

impl Sizes {
    /// The size for a memory cell.
    pub fn of(&self, program: &Program, cell: Cell) -> u32 {
        let (var, _) = program.variable_of(cell);
        self.named
            .get(&program.global(var).name)
            .copied()
            .unwrap_or(self.default)
    }
}

/// Whether variables with few values are kept explicit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Promote {
    /// First yes, then, if the states become too many, no.
    #[default]
    Auto,
    /// Yes.
    Always,
    /// Only declared control variables are.
    Never,
    /// All variables are, whatever values they take: proofs state by state, and no others.
    All,
}

/// Options of a verification.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // switches are independent
pub struct Options {
    /// The memory model.
    pub model: Model,
    /// Copies of `[*]` templates; then the proof is for that many only.
    pub threads: Option<u32>,
    /// Prove programs with `[*]` for every number of copies.
    pub symmetry: bool,
    /// How transformers are built.
    pub strategy: Strategy,
    /// Largest cube of `enumerate`.
    pub cube_size: usize,
    /// Store buffers of TSO and PSO.
    pub buffers: Buffers,
    /// Let stores go to memory at once where nobody can tell; only with [`Buffers::Auto`].
    pub direct: bool,
    /// What is taken over from the proof under SC.
    pub extrapolate: Extrapolate,
    /// Leave predicates over buffered values out of lifted cubes (seed 000,
    /// section 6.3).
    pub drop_buffered: bool,
    /// Whether questions may be answered without the solver where that is possible.
    pub shortcuts: bool,
    /// Which stores abstract buffers know exactly.
    pub keep: Keep,
    /// RMA: which remote operations share a value set.
    pub sets: Sharing,
    /// Explicit finite variables.
    pub promote: Promote,
    /// Run a thread's local steps together with the step before them.
    pub compress: bool,
    /// Join states at one control.
    pub merge: bool,
    /// Find new predicates; otherwise exactly those given are used.
    pub refine: bool,
    /// Sharpen abstract steps that are impossible by themselves before predicates are
    /// added.
    pub transitions: bool,
    /// Add parameterised predicates with each new one.
    pub parameterised: bool,
    /// Use the program's hints.
    pub hints: bool,
    /// Check the certificate.
    pub certify: bool,
    /// Let the concrete machine look for shallow bugs as well ([`crate::hunt`]).
    pub hunt: bool,
    /// Most abstract states of one search.
    pub max_states: usize,
    /// RMA: where several searches are tried one after another, only those that come to an end
    /// soon.
    pub brief: bool,
    /// Most rounds of refinement.
    pub max_rounds: usize,
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Set from outside to stop.
    pub cancel: Arc<AtomicBool>,
    /// Told about progress.
    pub progress: Option<fn(&Progress)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            model: Model::Sc,
            threads: None,
            symmetry: true,
            strategy: Strategy::default(),
            cube_size: 3,
            buffers: Buffers::default(),
            direct: true,
            extrapolate: Extrapolate::default(),
            drop_buffered: false,
            shortcuts: true,
            keep: Keep::default(),
            sets: Sharing::default(),
            promote: Promote::default(),
            compress: true,
            merge: false,
            refine: true,
            transitions: false,
            parameterised: false,
            hints: true,
            certify: true,
            hunt: false,
            max_states: 4_000_000,
            brief: false,
            max_rounds: 200,
            deadline: None,
            cancel: Arc::default(),
            progress: None,
        }
    }
}

impl Options {
    /// Copies of `[*]` templates: two when none are asked for.
    pub fn copies(&self) -> u32 {
        self.threads.unwrap_or(2)
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
    /// Values of buffer counters and targets: predicates by rule 1 of seed 000, which
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
    pub direct_stores: usize,
    /// Accesses at which a thread is not interrupted, in a proof state by state.
    pub undisturbed: usize,
    /// States of the machine's search that found the violation, if one did.
    pub hunted_states: u64,
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
    /// Counters.
    pub stats: Stats,
}

impl Report {
    /// Of a verification that has not begun.
    pub(crate) fn not_run() -> Self {
        Self {
            verdict: Verdict::Unknown(Unknown::GaveUp("not run".into())),
            witness: None,
            certified: false,
            certificate: None,
            predicates: Vec::new(),
            notes: Vec::new(),
            stats: Stats::default(),
        }
    }
}
