//! The *portfolio*: what is tried for a question, in which order, and within which limits.
//! It is data: rows that [`crate::schedule`] goes through, and the constants of this file.
//! No limit of the engines stands elsewhere, and none depends on time: what is found does
//! not depend on the machine's speed.
//!
//! A row is a stack of reductions, a method, when it is tried at all, and what follows a
//! gap. For an ordinary question under TSO or PSO these are, in this order:
//!
//! 1. *falsification*: the machine searches for shallow bugs, since a proof attempt would
//!    come to them only after some rounds of refinement;
//! 2. where templates have many copies: a proof for any number of copies by *views*;
//! 3. if the machine has seen all states: a search without new predicates, then a proof
//!    *state by state*; if it has not, but there are finitely many: a proof by *reachable
//!    states* (where counters grow without bound: up to their shift, once CEGAR has asked much without a
//!    proof and the machine has seen all states so);
//! 4. *CEGAR* on one encoding of the store buffers after another. If the control flow bounds
//!    the buffers there is one encoding, exact. Else small ones come first, and bugs are
//!    looked for early: an abstraction may show a violation that is none before one that
//!    is. Variables with few values are explicit first, and abstracted if that is too
//!    much. Abstract buffers get the cells that their spurious counterexamples ask for
//!    (`method/exact_cells.rs`), up to those of the row.
//!
//! `palisade verify --explain` prints the rows that were tried.

use palisade_abstraction::finite::{Finite, Values};
use palisade_abstraction::growth;
use palisade_certify::Counters;
use palisade_machine::Summary;
use palisade_memory::{need, rma};
use palisade_program::shift::Groups;
use palisade_program::{Cell, Cfg, Edge, Model, Program, Property, PropertyKind, Span, Step};

use crate::answer::{Gap, Weak};
use crate::knowledge::Knowledge;
use crate::question::{Buffers, ExactCells, Extrapolate, Goal, Options, Promote, Sizes, Strategy};
use crate::reduction::model::Encoding;
use crate::reduction::{Layer, Stack};

// ---- falsification ----

/// Most stores in one buffer of the machine: the bugs of small programs need few.
pub const BUFFER: u32 = 4;
/// The same of later searches, for programs that store much before a fence.
const WIDE_BUFFERS: [u32; 2] = [8, 16];
/// The same where states are looked at up to a shift of counters: a ring has as many stores under way as it has places.
pub(crate) const ROOMS: [u32; 2] = [BUFFER, 16];
/// States of the first falsification.
pub const QUICK: u64 = 20_000;
/// States of a search whose bugs are worth a second one, for a shortest run.
pub(crate) const SHORT: u64 = 100_000;
/// States of a search that is not of all, from which on a user is told what it has not reached.
pub(crate) const TELLING: u64 = 10_000;
/// With more states than this no proof state by state is tried: it would take long.
pub(crate) const FEW_STATES: u64 = 800_000;

/// Questions to the solver before which predicates are preferred to states up to a shift.
pub(crate) const FEW_CALLS: u64 = 1_000;
/// States of the machine's search up to a shift, which comes before such a proof.
pub(crate) const SHIFTED: u64 = 200_000;
/// States of a proof in which counters far apart are known by their order.
const GAPS: u64 = 400_000;

/// Falsification while searches for a proof go on.
pub(crate) struct Later {
    /// It comes after so many rounds of refinement,
    pub(crate) rounds: usize,
    /// or so many abstract steps of all searches,
    pub(crate) steps: usize,
    /// or so many questions to the solver,
    pub(crate) calls: u64,
    /// and looks at so many states.
    pub(crate) states: u64,
    /// Random schedules that follow if it has not seen all states.
    pub(crate) schedules: u64,
    /// States of the proof state by state that follows if it has not seen all and the
    /// searches are as large.
    pub(crate) proof: usize,
}

/// The falsifications that are made while searches go on, each once.
pub(crate) const LATER: [Later; 4] = [
    Later {
        rounds: 2,
        steps: 30_000,
        calls: u64::MAX,
        states: 80_000,
        schedules: 300,
        proof: 0,
    },
    Later {
        rounds: 4,
        steps: 100_000,
        calls: u64::MAX,
        states: 250_000,
        schedules: 2_000,
        proof: 60_000,
    },
    Later {
        rounds: 10,
        steps: 400_000,
        calls: 1_500,
        states: 800_000,
        schedules: 0,
        proof: 0,
    },
    Later {
        rounds: 11,
        steps: 400_000,
        calls: 2_500,
        states: 2_000_000,
        schedules: 5_000,
        proof: 500_000,
    },
];

/// Stores of one buffer and states of a proof by reachable states.
const REACH: (u32, u64) = (MOST_CELLS, REACH_LAST);
/// States of the machine from which on the check is asked although the machine has not come to an end.
pub(crate) const REACH_LAST: u64 = 8_000_000;
/// States of such a proof where values do not grow, but may be many: a search with predicates may be shorter.
const SETTLING: u64 = 2_000_000;
/// Abstract states of a proof that lists them where the machine has seen all of its states: with
/// symmetry and partial order there are fewer, and a proof by reachable states may be shorter.
const LISTED_WITH_SYMMETRY: usize = 60_000;
/// Cells of memory from which on searches over abstract states are slow, however few states there are.
const WIDE_MEMORY: usize = 256;
/// How many more states the check may find: so many times as many, and so many besides.
pub(crate) const REACH_MORE: (u64, u64) = (16, 1_000_000);
/// How many it may find where the machine has not come to an end.
pub(crate) const REACH_ALONE: u64 = 40_000_000;

/// RMA: pending operations and states of the first falsification of a placement,
const FIRST_PLACEMENT: (u32, u64) = (1, 1_500_000);
/// of those that follow if the brief rows have not decided,
const LATER_PLACEMENT: [(u32, u64); 2] = [(2, 1_000_000), (3, 1_000_000)];
/// and how far equal operations are counted, with the states, in complete searches.
const SATURATED: [(usize, u64); 2] = [(1, 1_000_000), (2, 1_000_000)];
/// States that the machine looks at for the network's steps of one run.
pub(crate) const GUIDED_STATES: usize = 60_000;

// ---- abstract states and rounds ----

/// Abstract states after which finite variables are no longer kept explicit.
const EXPLICIT_STATES: usize = 1_500_000;
/// The same where all variables are explicit, and there may be no end of states.
const LISTED_STATES: usize = 150_000;
/// The same of proofs state by state.
const STATE_BY_STATE: usize = 1_200_000;
/// Of the brief rows for a placement.
const BRIEF_STATES: usize = 1_000_000;
/// Of a search without some variables, and its rounds.
const PROJECTED: (usize, usize) = (300_000, 40);
/// Cells of an array from which on a proof for any number of threads first does without what
/// they hold.
pub(crate) const PROJECTED_CELLS: usize = 4;
/// Rounds of refinement after which a search that is one of many gives up.
const ROUNDS: usize = 60;
/// The same for a first search with blocking buffers.
const BLOCKING_ROUNDS: usize = 8;
/// Rounds and states of the search for a proof under SC to extrapolate from.
pub(crate) const SC_PROOF: (usize, usize) = (60, 200_000);
/// Most extrapolated predicates that are used without being asked for: above it, finding
/// the few that are needed is cheaper.
pub(crate) const MAX_EXTRAPOLATED: usize = 100;
/// Deepest cone of influence.
pub(crate) const MAX_DEPTH: usize = 4;
/// Random schedules that guess which accesses are free of interference, and their steps.
pub(crate) const GUESSING: (u64, usize) = (200, 400);

// ---- encodings ----

/// Buffers up to this size are encoded at their full need at once.
const EXACT_CELLS: u32 = 6;
/// The most cells that are tried at all.
pub(crate) const MOST_CELLS: u32 = 16;
/// Steps of the replays of one run with other cells.
pub(crate) const REPLAYED: usize = 20_000;
/// Remote operations get as many slots as they can need at once, up to this many.
pub(crate) const EXACT_SLOTS: u32 = 3;
/// Sets of more values than this are not listed.
pub(crate) const MOST_LISTED: usize = 7;
/// How far variables are guessed to count.
pub(crate) const NEAR: i64 = 5;
/// Most values of a declared range that are listed.
pub(crate) const FEW_VALUES: i64 = 32;

// ---- progress ----

/// States among which a run into endless spinning is looked for where no proof was found.
const SPINNING: u64 = 2_000_000;

// ---- deadlocks ----

/// Steps on paths through one atomic block at most, and values of one choice in it.
pub(crate) const BLOCK_PATHS: usize = 2_000;
pub(crate) const BLOCK_CHOICES: i64 = 4;

// ---- any number of threads ----

/// Copies of a template from which on a proof for every number is tried first: with
/// fewer, their own states are soon searched.
pub(crate) const MANY: u32 = 4;
/// Numbers of copies with which a violation is looked for in a program that waits for
/// all of them.
pub(crate) const MOST_JOINED: std::ops::RangeInclusive<u32> = 1..=4;
/// Thread numbers that a run is replayed with.
pub(crate) const MOST_NUMBERS: u32 = 16;
/// Copies that the search for predicates goes up to.
pub(crate) const MOST_COPIES: u32 = 4;
/// Rounds and states of one search with a few copies.
pub(crate) const COPIES_SEARCH: (usize, usize) = (60, 100_000);
/// Copies that the machine tries when views of a few copies have failed, and its states
/// for each of these numbers.
pub(crate) const FALSIFIED_COPIES: (std::ops::RangeInclusive<u32>, u64) = (4..=6, 200_000);
/// Extensions that one search over views looks at.
pub(crate) const VIEW_WORK: usize = 1_000_000;
/// Predicates over the threads of one extension; with more the search takes too long.
pub(crate) const MOST_VIEW_PREDICATES: usize = 500;
/// How often views ask for predicates at one sharpness.
const MOST_ASKS: usize = 8;
/// How far the cone of influence of views reaches at most.
const VIEW_DEPTH: usize = 3;
/// Copies that views show at most, unless a property speaks of more.
const MOST_SEEN: u32 = 3;

/// How sharply views are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharpness {
    /// Copies that are seen.
    pub(crate) seen: u32,
    /// Which views are distinguished.
    pub(crate) cases: Cases,
    /// How far the cone of influence reaches.
    pub(crate) depth: usize,
    /// Copies of the searches that find predicates for it, at most.
    pub(crate) copies: u32,
    /// How often views may ask for predicates themselves.
    pub(crate) asks: usize,
}

/// Which views with one control are distinguished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cases {
    /// None: they are joined.
    Joined,
    /// Those that come about, with the cases that a search with a few copies split.
    Found,
    /// All cases of all predicates.
    All,
}

/// What is tried one after another. Joined views are few, whatever the predicates, and
/// two copies are enough to see that a lock excludes one of them. What needs cases is
/// tried later: it may take many more views.
pub(crate) fn sharpnesses(fewest: u32) -> Vec<Sharpness> {
    let two = fewest.max(2);
    let three = MOST_SEEN.max(two);
    let ways = [
        (1, Cases::Found, 1, 2, 0),
        (two, Cases::Joined, VIEW_DEPTH, two, 0),
        (two, Cases::Found, VIEW_DEPTH, two, 0),
        (1, Cases::Found, VIEW_DEPTH, 2, MOST_ASKS),
        (two, Cases::Joined, VIEW_DEPTH, two, MOST_ASKS),
        (two, Cases::Found, VIEW_DEPTH, two, MOST_ASKS),
        (two, Cases::Joined, VIEW_DEPTH, two + 1, MOST_ASKS),
        (1, Cases::All, VIEW_DEPTH, 2, 0),
        (two, Cases::All, 1, two + 1, 0),
        (two, Cases::All, VIEW_DEPTH, two + 1, 0),
        (three, Cases::Joined, VIEW_DEPTH, three + 1, 0),
        (three, Cases::Found, VIEW_DEPTH, three + 1, 0),
        (three, Cases::All, VIEW_DEPTH, three + 1, 0),
    ];
    let sharpness = |(seen, cases, depth, copies, asks)| Sharpness {
        seen,
        cases,
        depth,
        copies,
        asks,
    };
    let all = ways.into_iter().map(sharpness);
    all.filter(|s| s.seen >= fewest).collect()
}

// ---- fixed predicates ----

/// How much is taken from the given predicates of a fixed-predicate run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::struct_excessive_bools)] // switches are independent
pub struct Stage {
    /// The proof under SC is strengthened first.
    pub strengthened: bool,
    /// Buffered values are compared with memory (rule 4).
    pub neighbours: bool,
    /// Copies of several threads are mixed in one predicate.
    pub mixed: bool,
    /// All predicates are split.
    pub split: bool,
}

/// The stages, the cheapest first (splitting many predicates is expensive); under SC only
/// those that extrapolate nothing.
pub(crate) const STAGES: [Stage; 6] = {
    let plain = Stage {
        strengthened: false,
        neighbours: false,
        mixed: false,
        split: false,
    };
    let all = Stage {
        strengthened: true,
        neighbours: true,
        mixed: true,
        split: false,
    };
    [
        plain,
        Stage {
            strengthened: true,
            ..plain
        },
        Stage {
            neighbours: true,
            ..plain
        },
        Stage {
            split: true,
            ..plain
        },
        all,
        Stage { split: true, ..all },
    ]
};

impl Stage {
    const fn is_plain(self) -> bool {
        !self.strengthened && !self.neighbours && !self.mixed
    }
}

// ---- RC11 ----

/// Stores to one cell that a thread may lag behind, and states, of the search for bugs.
pub(crate) const RC11_BUGS: (u32, u64) = (3, 3_000);
/// Such stores where runs are reduced, and threads go on while others wait: where they may store without end, and where not.
const RC11_AHEAD: (u32, u32) = (8, 64);
/// States of such a search.
const RC11_REDUCED: u64 = 1_000;
/// States of one search of all runs.
const RC11_STATES: u64 = 300_000;
/// The same where counters may lag behind without end, at first.
const RC11_FEW: u64 = 20_000;
/// Summaries from coarse to fine: exact messages of each location, whether it is remembered what
/// old ones carry, exact SC events of each thread.
const LADDER: [(u32, bool, u32); 6] = [
    (1, false, 1),
    (2, false, 1),
    (1, true, 2),
    (2, true, 2),
    (2, true, 3),
    (3, true, 4),
];
/// The same for prompt runs.
const PROMPT: [(u32, bool, u32); 4] = [(1, false, 1), (1, true, 2), (2, true, 2), (3, true, 4)];
/// States of prompt runs with summaries, and views of any number of copies.
const PROMPT_STATES: u64 = 100_000;
/// States of prompt runs with exact histories, where these may be without end, and where they are not.
const PROMPT_EXACT: (u64, u64) = (10_000, 3_000_000);
/// Copies of `[*]` templates among which bugs are looked for.
const RC11_COPIES: [u32; 2] = [2, 3];
/// Copies of a view, exact messages of each location, and whether it is remembered what old ones carry.
const RC11_MANY: [(u32, (u32, bool)); 4] = [
    (1, (1, false)),
    (2, (1, false)),
    (2, (1, true)),
    (2, (2, true)),
];
/// Exact for programs whose runs end.
pub(crate) const EXACT: (u32, bool, u32) = (64, false, 64);

// ---- rows ----

/// A method with its limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Method {
    /// The machine searches for a bug.
    Falsify {
        /// Stores of a buffer, or pending operations of a process.
        buffer: u32,
        /// States.
        states: u64,
        /// Copies of templates declared with `[*]`, where they are not given.
        copies: Option<u32>,
    },
    /// The machine searches all runs, with equal pending operations counted so far (RMA).
    Saturate {
        /// How far.
        count: usize,
        /// States.
        states: u64,
    },
    /// The machine searches all runs, and the check of the certificate does so once more.
    Reach {
        /// Stores of a buffer.
        buffer: u32,
        /// States.
        states: u64,
        /// How states that differ in counters are told apart. Without their gaps the check alone searches.
        counters: Counters,
    },
    /// The machine searches all runs under RC11, with histories exact or summarised.
    Histories {
        /// What is kept exactly of histories and of the SC order; `None`: all.
        summary: Option<Summary>,
        /// States.
        states: u64,
    },
    /// The checker searches runs under RC11 in which events happen as soon as they can, with histories summarised.
    Prompt {
        /// What is kept exactly of histories and of the SC order.
        summary: Summary,
        /// States.
        states: u64,
    },
    /// The checker searches views of some of any number of copies under RC11, with histories summarised.
    Many {
        /// What is kept exactly of histories.
        summary: Summary,
        /// Copies of a view.
        copies: u32,
        /// Views.
        states: u64,
    },
    /// Predicate abstraction with refinement.
    Cegar(Search),
    /// A proof with every variable explicit, of at most so many states.
    StateByState {
        /// How the memory model is encoded.
        encoding: Encoding,
        /// States.
        states: usize,
    },
    /// Views of a few of any number of copies.
    Views(Search),
    /// The given predicates, at this stage.
    Fixed {
        /// How the memory model is encoded.
        encoding: Encoding,
        /// The stage.
        stage: Stage,
    },
}

/// A search over abstract states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Search {
    /// How the memory model is encoded.
    pub encoding: Encoding,
    /// Which variables are explicit.
    pub explicit: Explicit,
    /// Most rounds of refinement; 0: it ends where it would need predicates.
    pub rounds: usize,
    /// Most abstract states.
    pub states: usize,
}

/// Which variables keep their values in abstract states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Explicit {
    /// Declared control variables.
    Control,
    /// Those with few values, too.
    Finite,
    /// All, whatever values they take.
    All,
}

/// When a row is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Always.
    Always,
    /// If the machine has seen all states, with buffers of this size.
    AllStatesSeen(u32),
    /// If it has not.
    StatesUnseen,
    /// If it has not, and a row before has failed since the solver's language lacks what the program computes.
    Inexpressible,
    /// If a run that only abstract buffers have says which cells are missing.
    CellsMissing,
    /// If the row before has found that some run violates something.
    Violated,
    /// If the row before has failed for another reason than what its encoding bounds, and
    /// not all the same variables are explicit.
    LessExplicit,
    /// The same, whatever bounds were touched.
    LessExplicitViews,
}

/// What follows a gap, unless time or memory has run out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnGap {
    /// The next row.
    Next,
    /// The next row, if the method was too weak; else the verdict is unknown.
    NextIfWeak,
}

/// One thing to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The reductions, the first first.
    pub layers: Vec<Layer>,
    /// How the reduced program is searched.
    pub method: Method,
    /// When it is tried.
    pub when: When,
    /// What follows a gap.
    pub on_gap: OnGap,
}

impl Row {
    fn new(layers: &[Layer], method: Method) -> Self {
        Self {
            layers: layers.to_vec(),
            method,
            when: When::Always,
            on_gap: OnGap::Next,
        }
    }

    fn when(self, when: When) -> Self {
        Self { when, ..self }
    }
}

/// One encoding and how long to search it.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) encoding: Encoding,
    pub(crate) rounds: usize,
    /// Whether it comes to an end soon (RMA).
    brief: bool,
    /// Whether some variables are projected away first (RMA).
    projected: bool,
    /// Whether it is only tried if a run says which cells are missing.
    missing: bool,
}

impl Planned {
    const fn new(encoding: Encoding, rounds: usize) -> Self {
        Self {
            encoding,
            rounds,
            brief: false,
            projected: false,
            missing: false,
        }
    }

    /// One that has proved a similar program.
    pub(crate) fn known(encoding: &Encoding) -> Self {
        Self::new(encoding.clone(), ROUNDS)
    }

    /// Whether it differs from `other` in exact cells at most.
    pub(crate) fn is_sized(&self, other: &Encoding) -> bool {
        match (&self.encoding, other) {
            (Encoding::Abstract(_), Encoding::Abstract(_)) => true,
            (Encoding::AbstractOther(_), Encoding::AbstractOther(_)) => true,
            (_, _) => false,
        }
    }

    fn brief(encoding: Encoding) -> Self {
        Self {
            brief: true,
            ..Self::new(encoding, ROUNDS)
        }
    }
}

/// The rows for a question, given the program after the exact reductions `base`.
pub(crate) fn rows(
    stack: &Stack,
    base: &[Layer],
    options: &Options,
    knowledge: &Knowledge,
) -> Result<Vec<Row>, Gap> {
    let program = &**stack.top();
    if options.model == Model::Rc11 {
        return Ok(histories(program, base, options));
    }
    let any = program.has_unbounded_threads() && options.threads.is_none() && options.symmetry;
    if program.progress {
        return progress(program, base, options);
    }
    if any {
        return parameterised(program, base, options);
    }
    let mut rows = Vec::new();
    let falsify = options.falsify && options.refine;
    if options.goal == Goal::Placement && options.model == Model::Rma {
        return placement(program, base, options, knowledge);
    }
    let encodings = knowledge.in_order(encodings(program, options)?);
    let listed = options.model != Model::Rma && !program.has_unbounded_threads();
    if options.promote == Promote::All && listed {
        let all = state_by_state(program, base, &encodings, usize::MAX, options);
        let reach = falsify && is_finite(program, options, &encodings);
        let reach = reach.then(|| reachable(base, REACH.1));
        return Ok(reach.into_iter().chain([all]).collect());
    }
    if falsify {
        rows.push(falsification(base, BUFFER, QUICK, None));
    }
    if falsify
        && may_list_states(program, options)
        && is_reachable(program, options)
        && program.cell_count() >= WIDE_MEMORY
    {
        rows.push(reachable(base, REACH.1).when(When::AllStatesSeen(BUFFER)));
    }
    if options.symmetry {
        let more = [base, &[Layer::Generalise]].concat();
        if let Some(any) = Stack::apply(stack.original(), &more, options) {
            rows.extend(parameterised(any.top(), &more, options)?);
        }
    }
    if falsify
        && may_list_states(program, options)
        && let Some(first) = encodings.first()
    {
        let brief = Search {
            encoding: first.encoding.clone(),
            explicit: Explicit::Finite,
            rounds: 0,
            states: options.max_states.min(LISTED_WITH_SYMMETRY),
        };
        let seen = When::AllStatesSeen(BUFFER);
        let all = state_by_state(program, base, &encodings, LISTED_WITH_SYMMETRY, options);
        rows.push(Row::new(base, Method::Cegar(brief)).when(seen));
        // Few states for the machine are not many more for the check.
        if is_reachable(program, options) {
            rows.push(reachable(base, REACH.1).when(seen));
        }
        rows.push(all.when(seen));
        let all = state_by_state(program, base, &encodings, usize::MAX, options);
        rows.push(all.when(seen));
        if is_finite(program, options, &encodings) {
            rows.push(reachable(base, REACH.1).when(When::StatesUnseen));
        } else if settles(program, options, &encodings) {
            let states = SETTLING.min(options.max_states as u64);
            rows.push(reachable(base, states).when(When::StatesUnseen));
        }
        let is_buffered = matches!(options.model, Model::Tso | Model::Pso);
        for wide in WIDE_BUFFERS {
            if !is_buffered || encodings.len() == 1 {
                break;
            }
            let falsify = falsification(base, wide, QUICK, None);
            rows.push(falsify.when(When::StatesUnseen));
            let encoding = Encoding::Bounded(vec![wide; program.cell_count()]);
            let states = options.max_states.min(STATE_BY_STATE);
            let all = Row::new(base, Method::StateByState { encoding, states });
            rows.push(all.when(When::AllStatesSeen(wide)));
        }
    }
    rows.extend(searches(base, &encodings, options));
    if falsify && may_list_states(program, options) && is_reachable(program, options) {
        // Fewer than those from which on the check is asked without an end of the machine's search.
        let last = reachable(base, (REACH_LAST - 1).min(options.max_states as u64));
        rows.push(if settles(program, options, &encodings) {
            last.when(When::StatesUnseen)
        } else {
            last.when(When::Inexpressible)
        });
    }
    if options.goal == Goal::Repair && options.model == Model::Rma {
        rows.extend(saturated(base));
    }
    Ok(rows)
}

/// The rows where nobody may spin for ever: runs are looked for among more and more states, and
/// a proof lists them all.
fn progress(program: &Program, base: &[Layer], options: &Options) -> Result<Vec<Row>, Gap> {
    if program.has_unbounded_threads() && options.threads.is_none() {
        return Err(unsupported(
            "progress of any number of threads (--copies N looks at N copies)",
        ));
    }
    let encodings = encodings(program, options)?;
    let all = state_by_state(program, base, &encodings, usize::MAX, options);
    if !options.falsify {
        return Ok(vec![all]);
    }
    let mut rows = vec![falsification(base, BUFFER, QUICK, None)];
    if has_unbounded_counters(program, options) {
        rows.push(shifted(base, SPINNING).when(When::StatesUnseen));
    }
    rows.push(all);
    rows.push(if is_finite(program, options, &encodings) {
        reachable(base, REACH.1)
    } else {
        falsification(base, BUFFER, SPINNING, None)
    });
    Ok(rows)
}

/// The rows for RC11: bugs first, then summaries of histories, from coarse to exact.
fn histories(program: &Program, base: &[Layer], options: &Options) -> Vec<Row> {
    if program.has_unbounded_threads() && options.threads.is_none() {
        return many_histories(base, options);
    }
    // Where threads are looked at together, prompt runs are not enough.
    let is_never = |p: &Property| p.kind == PropertyKind::Never;
    let together = program.progress || program.properties.iter().any(is_never);
    let is_endless = stores_without_end(program);
    let mut rows = Vec::new();
    if options.falsify {
        let lag = match (together, is_endless) {
            (true, _) => RC11_BUGS.0,
            (false, true) => RC11_AHEAD.0,
            (false, false) => RC11_AHEAD.1,
        };
        let states = if together { RC11_BUGS.1 } else { RC11_REDUCED };
        rows.push(falsification(base, lag, states, None));
    }
    let groups = Groups::infer(program).0;
    let has_words = groups.iter().any(|group| group.width.is_some());
    // Words that are neither shifted nor few have more states than one of many placements is worth.
    let is_one_of_many = options.goal == Goal::Placement && has_words && is_endless;
    let states = if is_one_of_many {
        RC11_FEW
    } else {
        RC11_STATES
    };
    let row = |summary: Summary, states| {
        let summary = Some(summary);
        Row::new(base, Method::Histories { summary, states })
    };
    let shifted = !groups.is_empty();
    let summary = |(messages, carried, events)| Summary {
        messages,
        carried,
        events,
        shifted,
    };
    let prompt: &[(u32, bool, u32)] = if options.certify && !together {
        &PROMPT
    } else {
        &[]
    };
    let prompt_row = |kept, states| {
        let summary = summary(kept);
        Row::new(base, Method::Prompt { summary, states })
    };
    let exact = |states| {
        let run = row(summary(EXACT), 10 * states).when(When::Violated);
        [prompt_row(EXACT, states), run]
    };
    if !prompt.is_empty() && !is_endless {
        rows.extend(exact(PROMPT_EXACT.1));
    }
    // A thread that keeps an old copy of a counter has states without end.
    let ladder = |few: usize, states| LADDER[..few].iter().map(move |kept| (*kept, states));
    if shifted {
        rows.extend(ladder(2, RC11_FEW).map(|(kept, states)| row(summary(kept), states)));
    }
    rows.extend(prompt.iter().map(|kept| prompt_row(*kept, PROMPT_STATES)));
    if !prompt.is_empty() && is_endless {
        rows.extend(exact(PROMPT_EXACT.0));
    }
    rows.extend(ladder(LADDER.len(), states).map(|(kept, states)| row(summary(kept), states)));
    rows.push(row(summary(EXACT), states));
    // Words have finitely many values, so that those far behind may be read where nothing is shifted.
    if has_words && !is_one_of_many {
        rows.extend(ladder(LADDER.len(), states).map(|(kept, states)| {
            let exact = Summary {
                shifted: false,
                ..summary(kept)
            };
            row(exact, states)
        }));
    }
    rows
}

/// The rows for any number of threads under RC11.
fn many_histories(base: &[Layer], options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    if options.falsify {
        let few = RC11_COPIES.iter();
        rows.extend(few.map(|n| falsification(base, RC11_AHEAD.0, RC11_BUGS.1, Some(*n))));
    }
    if options.certify {
        rows.extend(RC11_MANY.map(|(copies, (messages, carried))| {
            let summary = Summary {
                messages,
                carried,
                events: 1,
                shifted: false,
            };
            let states = PROMPT_STATES;
            let method = Method::Many {
                summary,
                copies,
                states,
            };
            Row::new(base, method)
        }));
    }
    rows
}

/// Whether some store is on a cycle of its thread.
fn stores_without_end(program: &Program) -> bool {
    let stores = |step: &Step| match step {
        Step::Store { .. } => true,
        Step::Atomic(atomic) => atomic.body.edges.iter().any(|e| e.step.stored().is_some()),
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
        Step::Assert { .. } | Step::Fence(_) | Step::Load { .. } => false,
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => true,
    };
    let comes_back = |cfg: &Cfg, edge: &Edge| {
        let mut seen = vec![false; cfg.loc_count()];
        let mut open = vec![edge.to];
        while let Some(loc) = open.pop() {
            if !std::mem::replace(&mut seen[loc.index()], true) {
                open.extend(cfg.outgoing(loc).map(|(_, edge)| edge.to));
            }
        }
        seen[edge.from.index()]
    };
    let mut cfgs = program.templates.iter().map(|template| &template.cfg);
    cfgs.any(|cfg| {
        let mut edges = cfg.edges.iter().filter(|edge| stores(&edge.step));
        cfg.has_cycle() && edges.any(|edge| comes_back(cfg, edge))
    })
}

/// What a summary keeps, in words.
fn kept(summary: Summary) -> String {
    format!(
        "{} exact messages{}, {} SC events{}",
        summary.messages,
        if summary.carried {
            " and what old ones carry"
        } else {
            ""
        },
        summary.events,
        if summary.shifted {
            ", counters shifted"
        } else {
            ""
        }
    )
}

/// The rows for the given predicates alone.
pub(crate) fn fixed(program: &Program, options: &Options) -> Result<Vec<Row>, Gap> {
    let encoding = match options.model {
        Model::Sc => Encoding::Itself,
        Model::Rma => return Err(unsupported("given predicates under RMA")),
        Model::Rc11 => return Err(unsupported("given predicates under RC11")),
        Model::Tso | Model::Pso if program.is_rma() => {
            return Err(unsupported("an RMA program under TSO or PSO"));
        }
        Model::Tso | Model::Pso => match &options.buffers {
            Buffers::Bounded(sizes) => bounded(program, sizes),
            Buffers::Auto | Buffers::Abstract(_) => {
                Encoding::Bounded(vec![1; program.cell_count()])
            }
        },
    };
    let stages = STAGES.into_iter();
    let stages = stages.filter(|s| options.model != Model::Sc || s.is_plain());
    let row = |stage| Row {
        on_gap: OnGap::NextIfWeak,
        ..Row::new(
            &[],
            Method::Fixed {
                encoding: encoding.clone(),
                stage,
            },
        )
    };
    Ok(stages.map(row).collect())
}

/// The row of a proof state by state with at most `most` states.
pub(crate) fn state_by_state(
    program: &Program,
    base: &[Layer],
    encodings: &[Planned],
    most: usize,
    options: &Options,
) -> Row {
    let encoding = match encodings {
        [only] => only.encoding.clone(),
        // No run has filled the buffers of the falsification.
        _ => Encoding::Bounded(vec![BUFFER; program.cell_count()]),
    };
    let states = options.max_states.min(STATE_BY_STATE).min(most);
    Row::new(base, Method::StateByState { encoding, states })
}

/// Whether a program has finitely many states, and a proof may list them: every variable has few
/// values, and control flow bounds the buffers.
fn is_finite(program: &Program, options: &Options, encodings: &[Planned]) -> bool {
    is_reachable(program, options) && encodings.len() == 1 && has_few_values(program, options)
}

/// Whether a program has finitely many states, however many values they take.
fn settles(program: &Program, options: &Options, encodings: &[Planned]) -> bool {
    let threads = program.instances(options.copies());
    is_reachable(program, options)
        && encodings.len() == 1
        && !growth::grows(program, &threads, &Finite::of(program, &threads))
}

fn has_few_values(program: &Program, options: &Options) -> bool {
    let finite = Finite::of(program, &program.instances(options.copies()));
    let mut all = finite.cells.iter().chain(finite.locals.iter().flatten());
    all.all(Option::is_some)
}

/// Whether a proof by reachable states may be asked for.
fn is_reachable(program: &Program, options: &Options) -> bool {
    let has_model = matches!(options.model, Model::Sc | Model::Tso | Model::Pso);
    has_model && !program.has_unbounded_threads() && options.buffers == Buffers::Auto
}

/// A proof by reachable states.
fn reachable(base: &[Layer], states: u64) -> Row {
    let method = Method::Reach {
        buffer: REACH.0,
        states,
        counters: Counters::Exact,
    };
    Row::new(base, method)
}

/// The same up to a shift of counters.
pub(crate) fn shifted(base: &[Layer], states: u64) -> Row {
    let method = Method::Reach {
        buffer: REACH.0,
        states,
        counters: Counters::Shifted,
    };
    Row::new(base, method)
}

/// The same where counters far apart are known by their order only.
pub(crate) fn gaps() -> Method {
    Method::Reach {
        buffer: REACH.0,
        states: GAPS,
        counters: Counters::Gaps,
    }
}

/// Whether a program has counters that grow without bound, and finitely many states perhaps up to their
/// shift.
pub(crate) fn has_unbounded_counters(program: &Program, options: &Options) -> bool {
    is_reachable(program, options)
        && !Groups::infer(program).0.is_empty()
        && !has_few_values(program, options)
}

/// Whether a proof may do without predicates, whatever values there are. Other ways that
/// are asked for are tried as asked.
pub(crate) fn may_list_states(program: &Program, options: &Options) -> bool {
    (options.model != Model::Rma || rma::slots_needed(program, EXACT_SLOTS).is_some())
        && !program.has_unbounded_threads()
        && options.promote == Promote::Auto
        && options.strategy == Strategy::Lazy
        && options.extrapolate == Extrapolate::Auto
        && options.buffers == Buffers::Auto
}

fn falsification(base: &[Layer], buffer: u32, states: u64, copies: Option<u32>) -> Row {
    let method = Method::Falsify {
        buffer,
        states,
        copies,
    };
    Row::new(base, method)
}

fn saturated(base: &[Layer]) -> impl Iterator<Item = Row> {
    let rows = SATURATED.iter();
    rows.map(|&(count, states)| Row::new(base, Method::Saturate { count, states }))
}

/// CEGAR on one encoding after another.
fn searches(base: &[Layer], encodings: &[Planned], options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    for planned in encodings {
        let rounds = options.max_rounds.min(planned.rounds);
        let search = |explicit, states: usize| {
            Method::Cegar(Search {
                encoding: planned.encoding.clone(),
                explicit,
                rounds,
                states: options.max_states.min(states),
            })
        };
        if planned.projected {
            let layers = [base, &[Layer::Project]].concat();
            rows.push(Row::new(&layers, search(Explicit::Control, PROJECTED.0)));
            continue;
        }
        if planned.encoding == Encoding::Listed {
            rows.push(Row::new(base, search(Explicit::All, LISTED_STATES)));
            continue;
        }
        match options.promote {
            _ if planned.missing => {
                let row = Row::new(base, search(Explicit::Finite, EXPLICIT_STATES));
                rows.push(row.when(When::CellsMissing));
            }
            Promote::Auto => {
                rows.push(Row::new(base, search(Explicit::Finite, EXPLICIT_STATES)));
                let less = Row::new(base, search(Explicit::Control, usize::MAX));
                rows.push(less.when(When::LessExplicit));
            }
            Promote::Always | Promote::All => {
                rows.push(Row::new(base, search(Explicit::Finite, usize::MAX)));
            }
            Promote::Never => {
                rows.push(Row::new(base, search(Explicit::Control, usize::MAX)));
            }
        }
    }
    rows
}

/// The rows for a placement of flushes.
fn placement(
    program: &Program,
    base: &[Layer],
    options: &Options,
    knowledge: &Knowledge,
) -> Result<Vec<Row>, Gap> {
    let all = knowledge.in_order(encodings(program, options)?);
    let brief: Vec<Planned> = match &all[..] {
        [only] => vec![only.clone()],
        several => several.iter().filter(|p| p.brief).cloned().collect(),
    };
    let first = Options {
        max_states: options.max_states.min(BRIEF_STATES),
        promote: Promote::Always,
        ..options.clone()
    };
    let mut rows = vec![falsification(
        base,
        FIRST_PLACEMENT.0,
        FIRST_PLACEMENT.1,
        None,
    )];
    rows.extend(searches(base, &brief, &first));
    let later = LATER_PLACEMENT.iter();
    rows.extend(later.map(|&(room, states)| falsification(base, room, states, None)));
    rows.extend(saturated(base));
    rows.extend(searches(base, &all, options));
    Ok(rows)
}

/// The rows for any number of copies.
fn parameterised(program: &Program, base: &[Layer], options: &Options) -> Result<Vec<Row>, Gap> {
    let mut rows = Vec::new();
    if options.falsify && options.refine {
        let copies = 1..MOST_COPIES;
        rows.extend(copies.map(|n| falsification(base, BUFFER, QUICK, Some(n))));
    }
    let presence: &[Layer] = if program.deadlock {
        &[Layer::Presence]
    } else {
        &[]
    };
    let layers = [base, presence, &[Layer::Number]].concat();
    // Stores that nobody can see being delayed are those of the program without the arrays.
    let projected = [&[Layer::Project], base, &[Layer::Number]].concat();
    let encodings = encodings(program, options)?.into_iter();
    for planned in encodings.filter(|planned| !planned.missing) {
        let search = |explicit| {
            Method::Views(Search {
                encoding: planned.encoding.clone(),
                explicit,
                rounds: options.max_rounds.min(planned.rounds).min(COPIES_SEARCH.0),
                states: options.max_states,
            })
        };
        match options.promote {
            Promote::Auto => {
                rows.push(Row::new(&projected, search(Explicit::Finite)));
                rows.push(Row::new(&layers, search(Explicit::Finite)));
                let less = Row::new(&layers, search(Explicit::Control));
                rows.push(less.when(When::LessExplicitViews));
            }
            Promote::Always | Promote::All => {
                rows.push(Row::new(&layers, search(Explicit::Finite)));
            }
            Promote::Never => rows.push(Row::new(&layers, search(Explicit::Control))),
        }
    }
    Ok(rows)
}

fn cells(program: &Program) -> impl Iterator<Item = Cell> {
    (0..program.cell_count()).map(Cell::from)
}

fn unsupported(what: &str) -> Gap {
    Gap::Unsupported(what.to_owned(), Span::default())
}

/// The encodings of the memory model, one after another until there is an answer.
pub(crate) fn encodings(program: &Program, options: &Options) -> Result<Vec<Planned>, Gap> {
    let model = options.model;
    let one = |encoding| Ok(vec![Planned::new(encoding, usize::MAX)]);
    match model {
        Model::Sc => return one(Encoding::Itself),
        Model::Rc11 => return Err(unsupported("an encoding of RC11")),
        Model::Rma => {}
        Model::Tso | Model::Pso if program.is_rma() => {
            return Err(unsupported("an RMA program under TSO or PSO"));
        }
        Model::Tso | Model::Pso => {}
    }
    match &options.buffers {
        Buffers::Bounded(sizes) if model == Model::Rma => one(Encoding::Slots(sizes.default)),
        Buffers::Abstract(slots) if model == Model::Rma => one(Encoding::Sets(*slots)),
        Buffers::Auto if model == Model::Rma => Ok(remote(program, options)),
        Buffers::Bounded(sizes) => one(bounded(program, sizes)),
        Buffers::Abstract(cells) => one(Encoding::Abstract(ExactCells::uniform(*cells))),
        Buffers::Auto => Ok(buffers(program, model)),
    }
}

/// Bounded buffers of given sizes.
fn bounded(program: &Program, sizes: &Sizes) -> Encoding {
    if !sizes.is_by_thread(program) {
        return Encoding::Bounded(cells(program).map(|c| sizes.of(program, c)).collect());
    }
    let of = |t| cells(program).map(move |cell| sizes.of_thread(program, t, cell));
    let templates = 0..program.templates.len();
    Encoding::BoundedEach(templates.map(|t| of(t).collect()).collect())
}

/// The first encoding that may prove something.
pub(crate) fn first_encoding(program: &Program, options: &Options) -> Result<Encoding, Gap> {
    let all = encodings(program, options)?.into_iter().map(|p| p.encoding);
    let proves = |encoding: &Encoding| match encoding {
        Encoding::Blocking(_) | Encoding::BlockingSlots(_) | Encoding::Listed => false,
        Encoding::Itself | Encoding::Slots(_) => true,
        Encoding::Bounded(_) | Encoding::BoundedEach(_) => true,
        Encoding::Abstract(_) | Encoding::AbstractOther(_) => true,
        Encoding::Sets(_) | Encoding::Mixed(_) => true,
    };
    let mut all = all.filter(proves);
    all.next()
        .ok_or_else(|| unsupported("an encoding that proves something"))
}

/// The encodings of store buffers whose size is not given.
fn buffers(program: &Program, model: Model) -> Vec<Planned> {
    let need = |cell| match model {
        Model::Pso => need::most_buffered(program, Some(cell)),
        Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => need::most_buffered(program, None),
    };
    let needs: Option<Vec<u32>> = cells(program).map(need).collect();
    let exact = |most: u32| {
        let few = needs.as_ref().filter(|n| n.iter().all(|n| *n <= most));
        few.map(|needs| Planned::new(Encoding::Bounded(needs.clone()), usize::MAX))
    };
    if let Some(exact) = exact(EXACT_CELLS) {
        return vec![exact];
    }
    let sizes = |k| vec![k; program.cell_count()];
    let bounded = |k| Planned::new(Encoding::Bounded(sizes(k)), ROUNDS);
    let blocking = |k, rounds| Planned::new(Encoding::Blocking(sizes(k)), rounds);
    // At most k exact cells: of these as many as the runs ask for that only abstract buffers have.
    let cells = ExactCells::uniform;
    let abstracted = |k| Planned::new(Encoding::Abstract(cells(k)), ROUNDS);
    // A loop that stores to several variables in order needs the oldest stores to
    // be known, not the newest.
    let other = |k| Planned::new(Encoding::AbstractOther(cells(k)), ROUNDS);
    // A bound that is too small shows soon. Blocking buffers, where they show no bug, prove
    // something of no use, and may take long for it.
    let mut all = vec![
        bounded(1),
        blocking(2, BLOCKING_ROUNDS),
        abstracted(1),
        bounded(2),
        abstracted(2),
        bounded(3),
        bounded(4),
        other(1),
        abstracted(3),
        other(2),
        blocking(3, ROUNDS),
        bounded(6),
        abstracted(4),
    ];
    all.extend(exact(MOST_CELLS));
    let last = [abstracted(MOST_CELLS), other(MOST_CELLS)];
    all.extend(last.map(|planned| Planned {
        missing: true,
        ..planned
    }));
    all
}

/// The encodings under RMA where the number of slots is not given.
fn remote(program: &Program, options: &Options) -> Vec<Planned> {
    if let Some(slots) = rma::slots_needed(program, EXACT_SLOTS) {
        return vec![Planned::new(Encoding::Slots(slots), usize::MAX)];
    }
    let counts = Finite::of(program, &program.instances(options.copies()));
    let is_unknown = |values: &Values| values.is_none();
    // A slot too few shows soon; sets may have violations that are none.
    let mut all = Vec::new();
    if counts.cells.iter().any(is_unknown) {
        all.push(Planned::brief(Encoding::Listed));
    }
    all.push(Planned::brief(Encoding::Slots(1)));
    // Other ways that are asked for are tried as asked.
    if options.strategy == Strategy::Lazy && options.refine {
        all.push(Planned {
            projected: true,
            rounds: PROJECTED.1,
            ..Planned::brief(Encoding::Sets(0))
        });
    }
    all.push(Planned::brief(Encoding::Mixed(0)));
    all.extend(
        [
            Encoding::Mixed(1),
            Encoding::BlockingSlots(2),
            Encoding::Slots(2),
            Encoding::Mixed(2),
            Encoding::Slots(3),
        ]
        .map(|encoding| Planned::new(encoding, ROUNDS)),
    );
    all
}

/// What is said where a portfolio has no row.
pub(crate) const fn nothing() -> Gap {
    Gap::Weak(Weak::Nothing)
}

impl Method {
    /// The encoding of the memory model that is searched, if one is.
    pub const fn encoding(&self) -> Option<&Encoding> {
        match self {
            Self::Falsify { .. } | Self::Saturate { .. } | Self::Histories { .. } => None,
            Self::Prompt { .. } | Self::Many { .. } => None,
            Self::Reach { .. } => None,
            Self::Cegar(search) | Self::Views(search) => Some(&search.encoding),
            Self::StateByState { encoding, .. } | Self::Fixed { encoding, .. } => Some(encoding),
        }
    }

    /// The same, to be changed.
    pub(crate) const fn encoding_mut(&mut self) -> Option<&mut Encoding> {
        match self {
            Self::Falsify { .. } | Self::Saturate { .. } | Self::Histories { .. } => None,
            Self::Prompt { .. } | Self::Many { .. } => None,
            Self::Reach { .. } => None,
            Self::Cegar(search) | Self::Views(search) => Some(&mut search.encoding),
            Self::StateByState { encoding, .. } | Self::Fixed { encoding, .. } => Some(encoding),
        }
    }

    /// What it does, in a few words.
    pub fn describe(&self, program: &Program) -> String {
        let explicit = |search: &Search| match search.explicit {
            Explicit::Control => "control explicit",
            Explicit::Finite => "finite variables explicit",
            Explicit::All => "all variables explicit",
        };
        match self {
            Self::Falsify {
                buffer,
                states,
                copies,
            } => {
                let copies = copies.map_or_else(String::new, |n| format!(", {n} copies"));
                format!("falsify: {states} states, buffers of {buffer}{copies}")
            }
            Self::Saturate { count, states } => {
                format!("search all runs: {states} states, operations counted to {count}")
            }
            Self::Reach {
                buffer,
                states,
                counters,
            } => match counters {
                Counters::Exact => {
                    format!("reachable states: {states} states, buffers of {buffer}")
                }
                Counters::Shifted => format!(
                    "reachable states: {states} states, buffers of {buffer}, counters shifted"
                ),
                Counters::Gaps => {
                    format!("reachable states: {states} states, counters far apart by their order")
                }
            },
            Self::Histories { summary, states } => match summary {
                None => format!("search all runs: {states} states, exact histories"),
                Some(summary) => {
                    format!("search all runs: {states} states, {}", kept(*summary))
                }
            },
            Self::Prompt { summary, states } => {
                format!("check prompt runs: {states} states, {}", kept(*summary))
            }
            Self::Many {
                summary,
                copies,
                states,
            } => {
                let messages = kept(*summary);
                format!(
                    "check views of {copies} of any number of copies: {states} views, {messages}"
                )
            }
            Self::Cegar(search) => format!(
                "predicate abstraction: {}, {}, {}, {} states",
                search.encoding.describe(program),
                explicit(search),
                match search.rounds {
                    0 => "no refinement".to_owned(),
                    n => format!("{n} rounds"),
                },
                search.states
            ),
            Self::StateByState { encoding, states } => {
                format!(
                    "state by state: {}, {states} states",
                    encoding.describe(program)
                )
            }
            Self::Views(search) => format!(
                "views of a few threads: {}, {}",
                search.encoding.describe(program),
                explicit(search)
            ),
            Self::Fixed { encoding, stage } => {
                let mut how = vec!["given predicates".to_owned(), encoding.describe(program)];
                let parts = [
                    (stage.strengthened, "SC proof strengthened"),
                    (stage.neighbours, "compared with memory"),
                    (stage.mixed, "copies mixed"),
                    (stage.split, "cases split"),
                ];
                let parts = parts.into_iter().filter(|(is_so, _)| *is_so);
                how.extend(parts.map(|(_, words)| words.to_owned()));
                how.join(", ")
            }
        }
    }
}
