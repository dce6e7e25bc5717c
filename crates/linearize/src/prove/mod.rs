//! The *proof* side: a data structure is linearizable for any number of threads, nodes
//! and data values. From the heap program a 3-valued model is generated as TVP text
//! ([`model`]) and given to the shape engine; what the engine needs to know about threads
//! that it has collapsed into one object are soft invariants ([`soft`], [Friggens and Groves, arXiv 2015],
//! sections 3 to 5).
//!
//! # What the model says, and why its verdict counts
//!
//! *Commit points.* Every call must take effect exactly once, at a point between its
//! call and its return, with the result that the specification gives there. If that
//! is so in all runs, the order of the commit points is a linearization. A model with a
//! wrong commit point gives a message, so the verdict is `unknown`, never `holds`.
//!
//! *Data as nodes.* Data values are never compared (a program that does is refused), so
//! every call may be taken to insert a value of its own (data independence). A call
//! writes its argument into one node that it has allocated itself and nobody has written
//! before: else the model gives a message. That node stands for the value. A value read
//! from a node is that node; a node whose value was never written gives no value.
//! Two different nodes may hold the same value (a call that allocates twice); then the
//! model sees a wrong result where there is none, never the reverse.
//!
//! *The specification in lockstep.* Its sequence is kept in ghosts over the same nodes:
//! `s.top` and `s.next` for a stack; for a queue `s.pos`, the node dequeued last (or
//! the first node of all), `s.last`, the one enqueued last, and `s.next`. Ghosts that only
//! grow (`com`: has entered the sequence; `dq`: has left it; `was[g]`: `g` has
//! pointed here) say with a unary predicate what else would need reachability.
//!
//! *Threads.* `run` is the thread that takes the next step. After a step any thread
//! may be next, unless the location is inside an atomic block: then it stays.
//! All threads are one summary object; no thread predicate is an abstraction
//! predicate unless [`Options::collapse`] is off. A thread that stays is an object of its own
//! until others may go on: else it would be forgotten that it is its turn.
//!
//! *Rules.* The consistency rules in the text follow from the definitions or from how the
//! text is made (a thread is at one location, locals of other methods are null, a pointer has
//! been where it is), with three exceptions. There are at least two threads: a run of one is a
//! run of two, of which one never makes a call. No list is cyclic, and a thread between calls holds
//! no lock: the model complains of every step that would change that, so it holds in all states
//! before the first complaint, and after a complaint nothing is concluded. Where cycles are
//! not complained of, they are not excluded.
//!
//! | file | term |
//! |---|---|
//! | `rewrite` | the same program in fewer words |
//! | `unbox`, `round`, `private` | parts of it: boxes, nodes that are allocated in each round, nodes that nobody else knows |
//! | [`plain`](mod@plain) | the program without numbers, truth values and tags |
//! | `spin` | spin locks as locks |
//! | [`fragment`], [`supported`] | which programs; their predicates' names |
//! | [`places`], `quiet` | locations, live locals; where nobody interrupts |
//! | [`model`] | declarations, rules, actions: the TVP text |
//! | [`action`] | actions: one for each step, conditional commit and call |
//! | `term`, `step`, `commit`, `start` | their parts |
//! | [`facts`] | predicates about threads |
//! | [`walk`] | random runs, which say what might be invariant |
//! | `covered` | random runs, whose states the analysis must have found |
//! | [`soft`] | soft invariants that are found |
//! | [`given`] | soft invariants of the text, and the paper's plain over-definition |
//! | [`minimise`] | a smallest set of soft invariants that suffices |

pub mod action;
mod commit;
mod covered;
pub mod facts;
pub mod fragment;
pub mod given;
pub mod minimise;
pub mod model;
pub mod places;
pub mod plain;
mod private;
pub(crate) mod quiet;
pub(crate) mod rewrite;
mod round;
pub mod soft;
mod spin;
mod start;
pub(crate) mod step;
pub mod supported;
mod term;
mod unbox;
pub mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use palisade_program::heap::Program;
use palisade_shape::analysis::{self, Analysis, Input};
use palisade_shape::engine::Limits;
use palisade_shape::explore::Bounds;
use palisade_shape::verdict::{Reason, Verdict, explain};

use fragment::{Fragment, with_first_node};
pub use rewrite::simplified;
pub(crate) use rewrite::{touched, without_aliases};
pub(crate) use spin::with_locks;
pub use supported::Unsupported;

/// Where other threads may act.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interleaving {
    /// After every step.
    #[default]
    Full,
    /// Before accesses of memory that threads share. A step over locals commutes with
    /// every step of another thread, so nothing is lost.
    Restricted,
}

/// Which soft invariants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Soft {
    /// None.
    None,
    /// Those that the text has.
    Hand,
    /// All that random runs do not refute, each for all locations where it holds, and
    /// those of the text.
    #[default]
    Found,
    /// One for every location and thread predicate, without those that random runs refute,
    /// and those of the text.
    Over,
    /// The same with those that random runs refute.
    All,
}

/// How to prove.
#[derive(Clone)]
pub struct Options<'a> {
    /// Where other threads may act.
    pub interleaving: Interleaving,
    /// Which soft invariants.
    pub soft: Soft,
    /// Whether all threads are one object.
    pub collapse: bool,
    /// So many threads instead of any number.
    pub threads: Option<usize>,
    /// Structures to build at most.
    pub max_structures: Option<usize>,
    /// Whether a smallest sufficient set of soft invariants is looked for.
    pub minimise: bool,
    /// Raised from outside to end the analysis.
    pub cancel: Option<&'a AtomicBool>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            interleaving: Interleaving::Full,
            soft: Soft::Found,
            collapse: true,
            threads: None,
            max_structures: None,
            minimise: false,
            cancel: None,
        }
    }
}

/// A model as text.
#[derive(Clone, Debug)]
pub struct Text {
    /// The program, TVP.
    pub program: String,
    /// The initial structure, TVS.
    pub structures: String,
    /// Soft invariants in it.
    pub soft: usize,
    /// Soft invariants that were defined before the first pass.
    pub defined: usize,
    /// Locations of threads in it.
    pub locations: usize,
}

/// What keeps threads and their states apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Apart {
    /// Nothing: all threads are one object.
    Nothing,
    /// There are so many threads, each with a name. Soft invariants keep what must not be lost when
    /// states are joined.
    Names,
    /// Where threads are and where their locals point.
    Facts,
}

impl Apart {
    /// What is tried first.
    const fn first(options: &Options<'_>) -> Self {
        match (options.collapse, options.threads, options.soft) {
            (true, _, _) => Self::Nothing,
            (false, Some(_), Soft::Hand | Soft::Found | Soft::Over | Soft::All) => Self::Names,
            (false, Some(_), Soft::None) | (false, None, _) => Self::Facts,
        }
    }
}

/// How much the model's vocabulary says about the heap; the next level is tried when
/// one does not suffice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Unary ghosts only.
    Ghosts,
    /// And where shared pointers have been.
    History,
    /// And what is reachable from shared pointers.
    Reach,
}

/// The levels in the order in which they are tried.
pub const LEVELS: [Level; 3] = [Level::Ghosts, Level::History, Level::Reach];

/// The message of a link that may close a cycle.
const CYCLE: &str = "a list may become cyclic";

/// The outcome of one analysis.
#[derive(Debug)]
pub struct Proof {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason, unless it holds.
    pub reason: Option<String>,
    /// What the model complains about.
    pub messages: Vec<String>,
    /// The model.
    pub text: Text,
    /// The level at which this came out.
    pub level: Level,
    /// Whether the model also complains of lists that may become cyclic: if so and it holds, none
    /// does.
    pub acyclic: bool,
    /// Canonically abstract states.
    pub kept: usize,
    /// Those of them in which threads run: the structure has been made.
    pub running: usize,
    /// Stored states.
    pub stored: usize,
    /// Structures built on the way.
    pub built: usize,
    /// A smallest sufficient set of soft invariants, if one was asked for.
    pub minimal: Option<minimise::Minimal>,
    /// The whole analysis, for drawing.
    pub analysis: Box<Analysis>,
}

impl Proof {
    /// Whether it was proved.
    pub fn holds(&self) -> bool {
        matches!(self.verdict, Verdict::Holds { .. })
    }
}

/// The model of `program` as text.
pub fn emit(program: &Program, options: &Options<'_>, level: Level) -> Result<Text, Unsupported> {
    let program = plain::plain(&with_first_node(&with_locks(&simplified(program))))?;
    let fragment = Fragment::of(&program, options.interleaving)?;
    let apart = Apart::first(options);
    Ok(model::text(
        &fragment,
        options,
        apart,
        level,
        lists(&fragment),
    ))
}

/// What the model of one method has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Locations at which other threads may act.
    pub locations: usize,
    /// Soft invariants that speak of it, counted once for each location.
    pub soft: usize,
}

/// Locations and soft invariants of each method [Friggens and Groves, arXiv 2015, table 5], at the level that
/// says most.
pub fn counts(
    program: &Program,
    interleaving: Interleaving,
    soft: Soft,
) -> Result<BTreeMap<String, Count>, Unsupported> {
    let program = plain::plain(&with_first_node(&with_locks(&simplified(program))))?;
    let fragment = Fragment::of(&program, interleaving)?;
    let (_, chosen) = model::chosen(&fragment, soft, Level::Reach);
    let name = |method: usize| fragment.methods[method].name.to_owned();
    let mut all: BTreeMap<String, Count> = BTreeMap::new();
    for location in &fragment.locations {
        all.entry(name(location.method)).or_default().locations += usize::from(!location.busy);
    }
    for invariant in &chosen.invariants {
        let methods: Vec<usize> = match invariant {
            soft::Invariant::Everywhere { variable, .. } => {
                vec![fragment.variables[*variable].method]
            }
            soft::Invariant::At { locations, .. } => {
                let method = |&l: &usize| fragment.locations[l].method;
                locations.iter().map(method).collect()
            }
        };
        for method in methods {
            all.entry(name(method)).or_default().soft += 1;
        }
    }
    Ok(all)
}

/// Tries to prove `program`, with one level after another. What looks like a spin lock is taken
/// for a lock first, and left out if that does not do.
pub fn prove(program: &Program, options: &Options<'_>) -> Result<Proof, Unsupported> {
    let program = &simplified(program);
    let locks = with_locks(program);
    let proof = prove_plain(&locks, options)?;
    // Also where the model has a run: with locks it may be wrong where the program is not.
    if locks != *program && !proof.holds() && !proof.messages.is_empty() {
        let without = prove_plain(program, options)?;
        if without.holds() {
            return Ok(without);
        }
    }
    Ok(proof)
}

fn prove_plain(program: &Program, options: &Options<'_>) -> Result<Proof, Unsupported> {
    let program = plain::plain(&with_first_node(program))?;
    let fragment = Fragment::of(&program, options.interleaving)?;
    let mut apart = Apart::first(options);
    let mut proof = by_levels(&fragment, options, apart);
    // Of threads that have names, states may be kept apart that were joined.
    if apart == Apart::Names && more_may_help(&proof) {
        let fine = by_levels(&fragment, options, Apart::Facts);
        if fine.holds() {
            (proof, apart) = (fine, Apart::Facts);
        }
    }
    if options.minimise {
        proof.minimal = minimise::minimal(&fragment, options, apart, &proof);
    }
    Ok(proof)
}

/// One level after another.
fn by_levels(fragment: &Fragment<'_>, options: &Options<'_>, apart: Apart) -> Proof {
    let mut proof = at_level(fragment, options, apart, Level::Ghosts);
    for level in LEVELS.into_iter().skip(1) {
        if !more_may_help(&proof) {
            break;
        }
        proof = at_level(fragment, options, apart, level);
    }
    proof
}

/// Whether a more precise model may do where this one did not.
fn more_may_help(proof: &Proof) -> bool {
    let gave_up = matches!(
        proof.verdict,
        Verdict::Unknown(Reason::Messages | Reason::Stopped(_))
    );
    gave_up && !proof.messages.is_empty()
}

/// Whether the program's lists should have no cycles, and the model can say so.
fn lists(fragment: &Fragment<'_>) -> bool {
    let circular = fragment.program.structs.iter().any(|s| s.circular);
    !circular && fragment.sequence != fragment::Sequence::Nothing
}

/// One level. That no list becomes cyclic is proved too if that is possible.
fn at_level(fragment: &Fragment<'_>, options: &Options<'_>, apart: Apart, level: Level) -> Proof {
    let proof = attempt(fragment, options, apart, level, lists(fragment));
    if proof.messages == [CYCLE] {
        return attempt(fragment, options, apart, level, false);
    }
    proof
}

/// Tries to prove `program` at one level.
pub fn prove_at(
    program: &Program,
    options: &Options<'_>,
    level: Level,
) -> Result<Proof, Unsupported> {
    let program = plain::plain(&with_first_node(&with_locks(&simplified(program))))?;
    let fragment = Fragment::of(&program, options.interleaving)?;
    Ok(at_level(&fragment, options, Apart::first(options), level))
}

fn attempt(
    fragment: &Fragment<'_>,
    options: &Options<'_>,
    apart: Apart,
    level: Level,
    acyclic: bool,
) -> Proof {
    let (facts, chosen) = model::chosen(fragment, options.soft, level);
    attempt_with(fragment, options, (apart, level, acyclic), &facts, &chosen)
}

/// The same with these facts and soft invariants.
fn attempt_with(
    fragment: &Fragment<'_>,
    options: &Options<'_>,
    shape: (Apart, Level, bool),
    facts: &[facts::Fact],
    chosen: &soft::Chosen,
) -> Proof {
    let text = model::text_with(fragment, options, shape, facts, chosen);
    let (_, level, acyclic) = shape;
    let settings = analysis::Options {
        limits: Limits {
            structures: options.max_structures,
            // One message is enough to know that this level does not suffice.
            messages: Some(1),
            ..Limits::default()
        },
        bounds: Bounds::default(),
        cancel: options.cancel,
        ..analysis::Options::default()
    };
    let program = Input {
        name: "model.tvp",
        text: &text.program,
    };
    let structures = Input {
        name: "model.tvs",
        text: &text.structures,
    };
    match analysis::analyse(program, structures, &settings) {
        Ok(analysis) => {
            let holds = matches!(analysis.verdict, Verdict::Holds { .. });
            let doubt = holds.then(|| covered::objection(fragment, options, &analysis));
            conclude(analysis, text, level, acyclic, doubt.flatten())
        }
        // The text is made by this crate: it is a defect here if it cannot be read.
        Err(errors) => unreachable!("the generated model cannot be read: {errors:?}"),
    }
}

fn conclude(
    mut analysis: Analysis,
    text: Text,
    level: Level,
    acyclic: bool,
    doubt: Option<String>,
) -> Proof {
    if doubt.is_some() {
        analysis.verdict = Verdict::Unknown(Reason::Unconfirmed);
    }
    let reason = match &analysis.verdict {
        Verdict::Holds { .. } => None,
        // Of the model: numbers, shared bools, marks and counters are not part of it.
        Verdict::Violated(_) => Some("the model itself has a run with this message".to_owned()),
        Verdict::Unknown(reason) => {
            let found = doubt.map(|what| {
                format!("{what}, which is a defect of palisade; please report it with the input")
            });
            Some(found.unwrap_or_else(|| explain(&analysis.model, reason)))
        }
    };
    let fixpoint = &analysis.fixpoint;
    let places = analysis.model.locations.iter().zip(&fixpoint.locations);
    let running = places.filter(|(name, _)| *name == action::STEP);
    let running = running.map(|(_, at)| at.set.structures().len()).sum();
    let given = fixpoint.messages.iter();
    let messages: BTreeSet<String> = given.map(|m| m.text.clone()).collect();
    Proof {
        verdict: analysis.verdict.clone(),
        reason,
        messages: messages.into_iter().collect(),
        text,
        level,
        acyclic,
        kept: fixpoint.kept(),
        running,
        stored: fixpoint.total,
        built: fixpoint.intermediate,
        minimal: None,
        analysis: Box::new(analysis),
    }
}
