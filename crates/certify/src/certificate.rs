//! The *certificate*: an inductive invariant of a program under a memory model,
//! as evidence for the verdict `holds` ([Dan et al., SAS 2013, section 4] calls
//! it the proof that the abstraction yields).
//!
//! The state of a program under a model has two parts.
//!
//! - *Control*: the location of every thread, the shape of its store buffers
//!   ([`Buffer`]), and the values of the variables that the certificate declares
//!   *explicit*. A [`Control`] fixes locations and shapes, and for each explicit
//!   variable a value or nothing.
//! - *Data*: all other state variables, described by [`Cube`]s over the atoms of
//!   the certificate.
//!
//! **Meaning.** A state *matches* a control when it has its locations and
//! shapes, and each explicit variable to which the control gives a value has
//! that value; a variable without one may have any. A state is *in* an entry
//! when it matches its control and satisfies one of its cubes (the empty cube is
//! true; an entry without cubes holds no state). The invariant is the union of
//! the entries: controls may repeat or overlap, and a state that matches no
//! control is not in the invariant.
//!
//! Everything in a certificate is a claim that [`crate::check()`] proves anew;
//! nothing in it is trusted.

use crate::buffer::Buffer;
use crate::buffer_summary::BufferSummary;
use crate::fingerprint::Fingerprint;
use crate::interference::AccessLoc;
use crate::state::StateVar;
use palisade_logic::Formula;
use palisade_program::presence::Presence;
use palisade_program::unbuffered::StoreEdge;
use palisade_program::{GlobalId, LocId, Model};

/// What sort of argument a certificate makes. Planned are value sets of pending
/// remote operations [Baumann et al., VMCAI 2018]. Each is a variant with its own rules of closure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Kind {
    /// An inductive invariant over the states of a fixed number of threads.
    #[default]
    Inductive,
    /// The same for the states in which every thread is at a stop: between stops
    /// a thread works on its own locals only, and is not interrupted (the module
    /// `stops` has the argument).
    Stops,
    /// An invariant over some of any number of threads: every choice of so many
    /// copies of each template declared with `[*]`, in every order, together with the
    /// threads that run once, is in it. Between stops as above. (The module `views`
    /// has the rules.) For a program without `[*]` it speaks of the program with
    /// `[*]` in place of every number of copies.
    Views,
    /// RC11: all states that are reached with so much of histories kept. The check finds them by
    /// itself (the module `histories` has the rules).
    Histories(Summary),
    /// SC, TSO, PSO: all states that are reached. The check finds them by itself (the module `reach` has
    /// the rules).
    Reachable(Reachable),
}

impl Kind {
    /// Whether it speaks of any number of copies of templates declared with `[*]`.
    pub const fn is_for_any(self) -> bool {
        match self {
            Self::Views => true,
            Self::Histories(summary) => summary.many,
            Self::Inductive | Self::Stops | Self::Reachable(_) => false,
        }
    }
}

/// Which states a certificate of reachable states speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reachable {
    /// So many at most.
    pub most: u64,
    /// How the values of counters are told apart.
    pub counters: Counters,
}

/// How states are told apart that differ in counters ([`palisade_program::shift`]; the check finds the groups
/// and their rules by itself).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Counters {
    /// By their values.
    #[default]
    Exact,
    /// Up to a shift.
    Shifted,
    /// Up to a shift, and by order and remainder alone where they are far apart.
    Gaps,
}

impl Counters {
    /// All of them, with the word for it in certificates.
    pub const NAMED: [(Self, &str); 3] = [
        (Self::Exact, ""),
        (Self::Shifted, "shifted"),
        (Self::Gaps, "gaps"),
    ];
}

/// How much of histories and of the SC order of RC11 is kept exactly.
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Summary {
    /// Newest messages of each cell.
    pub messages: u32,
    /// Whether it is remembered what older ones carry.
    pub carried: bool,
    /// SC events of each thread.
    pub events: u32,
    /// Whether states that differ by a shift of counters are one
    /// ([`palisade_program::shift`]; the check finds the groups and their rules by itself).
    pub shifted: bool,
    /// Whether only runs are looked at in which loads happen as soon as they can; counters far behind are known by
    /// their order then.
    pub prompt: bool,
    /// Whether states are views of so many of any number of copies as [`Certificate::threads`] says.
    pub many: bool,
}

/// An inductive invariant; see the module's header for its meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// The program, model and number of threads it was made for.
    pub fingerprint: Fingerprint,
    /// What sort of argument it is.
    pub kind: Kind,
    /// The memory model.
    pub model: Model,
    /// Copies of each `[*]` template: the certificate speaks of that many only, or,
    /// if it is for any number ([`Kind::is_for_any`]), of any that many at a time.
    pub threads: u32,
    /// Stores that go to memory at once: the certificate speaks of the program in which
    /// they do (the module `unbuffered` has the rules).
    pub unbuffered: Vec<StoreEdge>,
    /// Variables of which it knows nothing: it speaks of the program in which they are
    /// forgotten ([`palisade_program::projection`] says why that is enough).
    pub forgotten: Vec<GlobalId>,
    /// Locations of templates with flags that say whether somebody is there: it speaks of the program with these
    /// flags ([`palisade_program::presence`]). For deadlocks in proofs for any number of threads.
    pub present: Vec<Presence>,
    /// Locations at which threads access memory that nobody else accesses meanwhile: they
    /// are no stops (the module `interference` has the rules).
    pub interference_free: Vec<AccessLoc>,
    /// How it speaks of long buffers; `None`: it knows all stores exactly.
    pub beyond: Option<BufferSummary>,
    /// Variables whose values are part of the control. Slots may be among them.
    pub explicit: Vec<StateVar>,
    /// The atoms that cubes are made of, over [`StateVar::var`].
    pub atoms: Vec<Formula>,
    /// The invariant.
    pub entries: Vec<Entry>,
}

impl Certificate {
    /// One that says nothing yet about a program of this fingerprint.
    pub const fn empty(fingerprint: Fingerprint, kind: Kind, model: Model, threads: u32) -> Self {
        Self {
            fingerprint,
            kind,
            model,
            threads,
            unbuffered: Vec::new(),
            forgotten: Vec::new(),
            present: Vec::new(),
            interference_free: Vec::new(),
            beyond: None,
            explicit: Vec::new(),
            atoms: Vec::new(),
            entries: Vec::new(),
        }
    }
}

/// What holds at one control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Where.
    pub control: Control,
    /// The data satisfy one of these.
    pub cubes: Vec<Cube>,
}

/// Locations, buffer shapes and explicit values.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Control {
    /// The location of each thread, in the order of
    /// [`Program::instances`](palisade_program::Program::instances).
    pub locs: Vec<LocId>,
    /// The shape of each thread's store buffers; all empty under SC.
    pub buffers: Vec<Buffer>,
    /// For each of [`Certificate::explicit`] its value; `None` is any value, and
    /// the only choice for slots that the shape does not have.
    pub values: Vec<Option<i64>>,
}

/// A conjunction of literals: the number of an atom, and whether it holds or
/// its negation does. An atom may speak only of slots that the control's shape
/// has.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Cube(pub Vec<(u32, bool)>);

impl Cube {
    /// The cube that every state satisfies.
    pub const TRUE: Self = Self(Vec::new());
}
