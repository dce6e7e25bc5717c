//! *One-sided communication with its races*: programs of MPI or GASPI ranks or OpenSHMEM processing
//! elements (PEs), lowered so that a race of remote accesses is a failing assertion
//! ([`palisade_program::AssertKind::RemoteRace`]) and everything else is an ordinary program.
//!
//! # Races
//!
//! A remote operation accesses memory of its target and of its origin. These accesses are *under
//! way* from its call until a call *completes* it: flush, unlock, fence, complete, wait of its
//! request, quiet, barrier, the delivery of a notification ([`shadow`] has the table). A load or store of a rank's own memory
//! happens at once. Two accesses *conflict* if they touch a common byte, one of them writes, and they
//! are not atomic operations that the library orders ([`shadow::Class::conflicts`]). A *race* is an access while a
//! conflicting one is under way.
//!
//! This is the race of happens-before. Let A be under way from `a` to `a'`, and B conflict with it,
//! at once or from `b` to `b'`. If neither `a'` happens before `b` nor `b` (`b'`) before `a`,
//! then the order of the run together with `a < b < a'` (or `b < a < b'`) has no cycle, so some run takes the same steps
//! in an order in which the second access starts while the first is under way. Up to the first race, steps that are not
//! ordered commute, and that order is a run. So it is enough to look at the accesses under way in every
//! run of the program, which is what the shadow variables say. Two accesses at once are no remote race:
//! they are of one process.
//!
//! # Why operations may happen at once
//!
//! A put or get happens when it is issued, as one step: in a run without a race nobody
//! reads or writes its memory before it is complete, so that nobody can tell when it happens.
//! Where there is a race, the run up to the first one is a run of the network, too. So a program has a
//! race exactly if the program with such operations has one, and without races both have the same
//! assertions. Remote *atomic* operations may meet on one location; they reach it at any
//! time before they are complete ([`network`]).
//!
//! | file | term |
//! |---|---|
//! | `shadow` | accesses under way: checked, marked, completed |
//! | `network` | remote atomic operations on their way |
//! | `transfer` | operations, element by element |
//! | `datatype` | what MPI's datatypes lay out |
//! | `window` | shared and dynamic windows |
//! | `epoch` | epochs, locks of windows, post and start |
//! | `request`, `completion` | requests and their completion; of one of several |
//! | `float` | floating-point numbers, which are not followed |
//! | `communicator` | which ranks a communicator has |
//! | `message`, `status` | point-to-point messages; what is said of them |
//! | `rounds` | that ranks make the same collective calls |
//! | `collective` | calls that collect and distribute elements |
//! | `mpi_calls` | calls of MPI |
//! | `shmem`, `shmem_calls` | OpenSHMEM: operations; calls |
//! | `symmetric` | memory that every PE has |
//! | `team` | teams, their barriers and reductions |
//! | `gaspi`, `gaspi_calls` | GASPI: operations, notifications; calls |
//! | `segment` | GASPI: segments, and the memory at an offset of one |

mod collective;
mod communicator;
mod completion;
mod datatype;
mod epoch;
mod gaspi;
mod gaspi_calls;
mod message;
mod mpi_calls;
mod network;
mod request;
mod rounds;
mod segment;
mod shadow;
mod shmem;
mod shmem_calls;
mod status;
mod symmetric;
mod team;
mod transfer;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use std::fmt::Write;

use palisade_program::{
    AssertKind, AtomicKind, BinOp, Cfg, Expr as Ir, GlobalId, LocalExpr, LocalId, Place as Memory,
    Source, Span, Step,
};

use super::Context;
use super::code::{Code, Lower};
pub(super) use shadow::Class;

pub(super) use palisade_program::OPAQUE;

/// All values up to this one are marks, no numbers.
const LAST_MARK: i64 = palisade_program::UNINITIALISED;

/// A place in the text where an operation is called.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Site {
    /// The operation and who calls it.
    words: String,
    span: Span,
}

/// What a pass finds and the next one starts from.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Tracked {
    sites: Vec<Site>,
    /// The accesses that may be under way, each with the sites that they come from.
    accesses: BTreeMap<shadow::Access, BTreeSet<usize>>,
    /// Atomic operations that may be on their way.
    ways: BTreeSet<network::Way>,
    /// Calls that are told apart by numbers: those that return a request, and those that the network delivers.
    requests: Vec<request::Site>,
    /// The forms of messages.
    forms: BTreeSet<message::Form>,
    /// Whether a loop sends messages without receiving some.
    sends_in_loops: bool,
    /// The receives among the requests.
    receives: BTreeMap<usize, message::Receive>,
    /// The sends among the requests, where deadlocks are asked for.
    sends: BTreeMap<usize, message::Sent>,
    /// The receives from nobody.
    from_nobody: BTreeSet<usize>,
    /// What receives are, as far as it is known where they are called.
    receive_kinds: Vec<String>,
    /// The collective calls of each communicator.
    collective: BTreeMap<i64, BTreeSet<rounds::Call>>,
    /// Colours and keys of ranks at each making of communicators.
    splits: BTreeMap<(communicator::Making, u32), (i64, i64)>,
    /// Elements of each rank in shared windows, by window and rank.
    parts: BTreeMap<(usize, u32), u64>,
    /// What ranks attach to dynamic windows: window, rank, object, bytes.
    attached: BTreeSet<(usize, u32, usize, u64)>,
    /// OpenSHMEM: symmetric objects, by PE and by what is the same at every PE.
    symmetric: BTreeMap<(u32, String), usize>,
    /// GASPI: the segments of each rank, by their numbers.
    segments: BTreeMap<(u32, i64), segment::Segment>,
    /// GASPI: how many notifications of a segment are used.
    notifications: u32,
}

/// The library whose calls are remote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    /// MPI.
    Mpi,
    /// OpenSHMEM.
    Shmem,
    /// GASPI.
    Gaspi,
}

impl Library {
    /// The library that a program with these names uses.
    pub(in crate::c) fn of(names: &std::collections::HashSet<String>) -> Self {
        if names.contains("shmem_init") || names.contains("shmem_init_thread") {
            Self::Shmem
        } else if names.contains("gaspi_proc_init") {
            Self::Gaspi
        } else {
            Self::Mpi
        }
    }
}

/// What is known of one-sided communication.
pub(super) struct Onesided {
    pub(super) tracked: Tracked,
    /// Variables of the library, by name: one for all ranks.
    commons: BTreeMap<String, GlobalId>,
    /// The atomic operations of this pass.
    slots: Vec<network::Slot>,
    /// Datatypes that the program has made.
    datatypes: Vec<datatype::Datatype>,
    /// Registers that say which epochs are open, of the rank that is lowered.
    epochs: BTreeMap<epoch::Epoch, LocalId>,
    /// How many atomic operations the rank at hand has called so far.
    count: usize,
    /// The library that the program uses.
    library: Library,
    /// Whether a collective call is lowered, which may consist of others.
    is_collective: bool,
    /// Communicators that were made: where, and of which colour.
    communicators: Vec<(communicator::Making, i64)>,
    /// How often each call was met so far.
    met: BTreeMap<(u32, usize, u32, Span), u32>,
    /// How many makings of each communicator the rank at hand has met.
    makings: BTreeMap<i64, usize>,
    /// OpenSHMEM: the teams of contexts that the PE at hand has made.
    contexts: Vec<i64>,
    /// OpenSHMEM: teams that were made, as sets of PEs.
    teams: Vec<u64>,
    /// OpenSHMEM: how many allocations the PE at hand has made.
    allocations: usize,
}

impl Onesided {
    /// Starts a pass with what the one before has found.
    pub(super) const fn new(tracked: Tracked, library: Library) -> Self {
        Self {
            tracked,
            commons: BTreeMap::new(),
            slots: Vec::new(),
            datatypes: Vec::new(),
            epochs: BTreeMap::new(),
            count: 0,
            library,
            is_collective: false,
            communicators: Vec::new(),
            met: BTreeMap::new(),
            makings: BTreeMap::new(),
            contexts: Vec::new(),
            teams: Vec::new(),
            allocations: 0,
        }
    }

    pub(super) const fn library(&self) -> Library {
        self.library
    }

    /// Another rank is lowered.
    pub(super) fn next_rank(&mut self) {
        self.epochs.clear();
        self.contexts.clear();
        self.makings.clear();
        self.count = 0;
        self.allocations = 0;
    }

    /// The variables that users have never written.
    pub(super) fn made_up(&self) -> impl Iterator<Item = String> {
        self.commons.keys().cloned()
    }

    fn site(&mut self, words: String, span: Span) -> usize {
        let site = Site { words, span };
        let known = self.tracked.sites.iter().position(|s| *s == site);
        known.unwrap_or_else(|| {
            self.tracked.sites.push(site);
            self.tracked.sites.len() - 1
        })
    }
}

/// Says where the other access of a race stands.
pub(super) fn name_lines(cfg: &mut Cfg, source: &Source) {
    for edge in &mut cfg.edges {
        match &mut edge.step {
            Step::Assert {
                kind: AssertKind::RemoteRace { words, other },
                ..
            } => {
                let line = source.position(other.start).line;
                let _ = write!(words, " (line {line})");
            }
            Step::Atomic(block) => name_lines(&mut block.body, source),
            Step::Assert { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
            Step::Havoc { .. } | Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {}
            Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
        }
    }
}

impl Context<'_> {
    fn one_sided(&mut self) -> &mut Onesided {
        self.onesided.as_mut().expect("asked for where races are")
    }

    /// A variable of the library that all ranks share, 0 at first.
    fn common(&mut self, name: String, len: Option<u32>, span: Span) -> GlobalId {
        if let Some(known) = self.one_sided().commons.get(&name) {
            return *known;
        }
        let id = self.global(name.clone(), len, span);
        self.one_sided().commons.insert(name, id);
        id
    }
}

impl Code<'_, '_> {
    /// What is read from memory is a number.
    pub(super) fn check_followed(&mut self, e: &LocalExpr, span: Span) {
        let known = LocalExpr::binary(BinOp::Ne, e.clone(), Ir::Const(OPAQUE));
        self.require(known, "a value made of the bytes of another type", span);
    }

    /// The rank that is lowered.
    fn me(&self) -> u32 {
        self.cx.mpi.as_ref().map_or(0, |mpi| mpi.rank)
    }

    /// Who does something, for reports.
    fn whose(&self) -> String {
        let library = self.cx.onesided.as_ref().map(|o| o.library);
        let word = match library {
            Some(Library::Shmem) => "PE",
            Some(Library::Mpi | Library::Gaspi) | None => "rank",
        };
        format!("{word} {}'s", self.me())
    }

    /// Runs a collective call: of a rank's threads, one at a time. That two are in one at once is
    /// wrong in MPI (on one communicator) and is not followed.
    pub(super) fn collectively<T>(
        &mut self,
        span: Span,
        f: impl FnOnce(&mut Self) -> Lower<T>,
    ) -> Lower<T> {
        let is_within = self.cx.onesided.as_ref().is_none_or(|o| o.is_collective);
        if is_within || !self.cx.has_threads() {
            return f(self);
        }
        let word = format!("rank{}.collective", self.me());
        let word = Memory::scalar(self.cx.common(word, None, span));
        self.atomically(AtomicKind::Block, span, |code| {
            let busy = code.load_from(&word, span);
            let is_free = LocalExpr::binary(BinOp::Eq, busy, Ir::Const(0));
            code.require(is_free, "collective calls of two threads at once", span);
            code.store_to(&word, Ir::Const(1), span);
            Ok(())
        })?;
        self.cx.one_sided().is_collective = true;
        let result = f(self);
        self.cx.one_sided().is_collective = false;
        self.store_to(&word, Ir::Const(0), span);
        result
    }

    /// Whether the program uses a library.
    fn uses(&self, library: Library) -> bool {
        self.cx
            .onesided
            .as_ref()
            .is_some_and(|o| o.library == library)
    }

    /// How many ranks there are.
    fn ranks(&self) -> u32 {
        self.cx.mpi.as_ref().map_or(1, |mpi| mpi.ranks)
    }
}
