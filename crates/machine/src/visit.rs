//! Visiting states: a *chunk* of states is expanded into an *outbox*, which holds the successors
//! that are not known yet, sorted by shard, and what was seen on the way. Successors that belong
//! to another process ([`Partition`]) are sorted by process.

use palisade_program::{Broken, Model};

use crate::expand::{Move, Outcome, Scratch, Sink};
use crate::machine::Machine;
use crate::options::{Bound, Bounds, Final};
use crate::pack::{MOST_BYTES, hash};
use crate::search::Task;
use crate::state::State;
use crate::store::{SHARDS, Shard, StateId, shard_of};

/// The states that are expanded together.
pub(crate) trait Chunks: Sync {
    /// Number of chunks.
    fn count(&self) -> usize;
    /// Number of states in all of them.
    fn states(&self) -> u32;
    /// Calls `f` on each state of a chunk.
    fn for_each(&self, chunk: usize, f: impl FnMut(StateId, &[u8]));
}

/// Which states belong to this process, one of several that search together: those whose hash
/// says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partition {
    pub(crate) me: usize,
    pub(crate) peers: usize,
}

impl Partition {
    /// All states are here.
    pub(crate) const WHOLE: Self = Self { me: 0, peers: 1 };

    /// The process to which the state with this hash belongs. Shards and tables take other bits
    /// of the hash.
    #[inline]
    pub(crate) fn owner(self, hash: u64) -> usize {
        if self.peers == 1 {
            0
        } else {
            (hash >> 28 & 0xffff_ffff) as usize % self.peers
        }
    }
}

/// The new successors of one chunk, and what was seen on the way.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(crate) shards: Vec<Batch>,
    /// Successors for each other process: length in two bytes, packed state.
    pub(crate) away: Vec<Vec<u8>>,
    pub(crate) fails: Vec<StateId>,
    pub(crate) broken: Vec<StateId>,
    pub(crate) stuck: Vec<StateId>,
    pub(crate) finals: Vec<Final>,
    pub(crate) transitions: u64,
    pub(crate) bounds: Bounds,
}

impl Outbox {
    fn clear(&mut self, partition: Partition) {
        self.away.resize_with(partition.peers, Vec::new);
        self.away.iter_mut().for_each(Vec::clear);
        self.shards.resize_with(SHARDS, Batch::default);
        self.shards.iter_mut().for_each(Batch::clear);
        self.fails.clear();
        self.broken.clear();
        self.stuck.clear();
        self.finals.clear();
        self.transitions = 0;
        self.bounds = Bounds::default();
    }
}

/// Packed states with hash and parent.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) heads: Vec<Head>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) hash: u64,
    pub(crate) parent: StateId,
    start: u32,
    len: u32,
}

impl Batch {
    fn clear(&mut self) {
        self.heads.clear();
        self.bytes.clear();
    }

    fn push(&mut self, hash: u64, parent: StateId, bytes: &[u8]) {
        self.heads.push(Head {
            hash,
            parent,
            start: self.bytes.len() as u32,
            len: bytes.len() as u32,
        });
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn state(&self, head: &Head) -> &[u8] {
        &self.bytes[head.start as usize..][..head.len as usize]
    }
}

/// Successors are looked up this many at a time, see [`Worker::look_up`].
const LOOK_UPS: usize = 128;

/// What a worker keeps from state to state.
#[derive(Default)]
pub(crate) struct Worker {
    state: State,
    scratch: Scratch,
    bytes: Vec<u8>,
    canonical: crate::canonical::Scratch,
    /// Successors that were not yet looked up.
    batch: Batch,
}

impl Worker {
    /// Moves the successors that the store does not hold to the outbox.
    ///
    /// Nearly every look-up misses the caches twice. Touching first all table
    /// entries and then all records, before comparing, lets the processor wait
    /// for many of them at once.
    fn look_up(&mut self, shards: &[Shard], outbox: &mut Outbox) {
        let heads = &self.batch.heads;
        // One state's successors may exceed the number a little: those at the
        // end are not touched beforehand.
        let mut entries = [0; LOOK_UPS];
        for (entry, head) in entries.iter_mut().zip(heads) {
            *entry = shards[shard_of(head.hash)].entry(head.hash);
        }
        let mut touched = 0_u8;
        for (entry, head) in entries.iter().zip(heads) {
            touched ^= shards[shard_of(head.hash)].touch(*entry, head.hash);
        }
        std::hint::black_box(touched);
        for head in heads {
            let bytes = self.batch.state(head);
            let shard = shard_of(head.hash);
            if shards[shard].find(head.hash, bytes).is_none() {
                outbox.shards[shard].push(head.hash, head.parent, bytes);
            }
        }
        self.batch.clear();
    }
}

struct Receive<'a, 'p> {
    task: &'a Task<'a, 'p>,
    outbox: &'a mut Outbox,
    bytes: &'a mut Vec<u8>,
    scratch: &'a mut crate::canonical::Scratch,
    batch: &'a mut Batch,
    parent: StateId,
}

impl Sink for Receive<'_, '_> {
    fn next(&mut self, next: &State, _step: Move<'_>) {
        self.task.pack(next, self.scratch, self.bytes);
        if self.bytes.len() > MOST_BYTES {
            self.outbox.bounds.touch(Bound::StateSize);
            return;
        }
        let hash = hash(self.bytes);
        let owner = self.task.partition.owner(hash);
        if owner == self.task.partition.me {
            self.batch.push(hash, self.parent, self.bytes);
        } else {
            send(&mut self.outbox.away[owner], self.bytes);
        }
    }

    fn fails(&mut self, _step: Move<'_>) {
        if self.outbox.fails.last() != Some(&self.parent) {
            self.outbox.fails.push(self.parent);
        }
    }
}

impl Task<'_, '_> {
    /// The bytes under which `state` is stored.
    #[inline]
    pub(crate) fn pack(
        &self,
        state: &State,
        scratch: &mut crate::canonical::Scratch,
        out: &mut Vec<u8>,
    ) {
        match self.canonical {
            Some(canonical) => canonical.pack(self.machine, state, scratch, out),
            None => self.machine.pack(state, out),
        }
    }

    /// Expands one chunk into `outbox`; the successors that `shards` hold are left out.
    pub(crate) fn expand_chunk(
        &self,
        chunks: &impl Chunks,
        chunk: usize,
        shards: &[Shard],
        outbox: &mut Outbox,
        worker: &mut Worker,
    ) {
        outbox.clear(self.partition);
        let (mut count, mut stopped) = (0_u32, self.stopped().is_some());
        chunks.for_each(chunk, |id, bytes| {
            count += 1;
            if count % 256 == 0 {
                stopped |= self.stopped().is_some();
            }
            if stopped {
                return; // the level will not be finished
            }
            self.expand_state(id, bytes, outbox, worker);
            if worker.batch.heads.len() >= LOOK_UPS {
                worker.look_up(shards, outbox);
            }
        });
        worker.look_up(shards, outbox);
    }

    fn expand_state(&self, id: StateId, bytes: &[u8], outbox: &mut Outbox, worker: &mut Worker) {
        let machine = self.machine;
        machine.unpack(bytes, &mut worker.state);
        let state = &worker.state;
        if machine
            .checks
            .broken(machine, state, &mut outbox.bounds)
            .is_some()
        {
            // What comes after a violation does not matter.
            outbox.broken.push(id);
            return;
        }
        let mut receive = Receive {
            task: self,
            outbox,
            bytes: &mut worker.bytes,
            scratch: &mut worker.canonical,
            batch: &mut worker.batch,
            parent: id,
        };
        let scratch = &mut worker.scratch;
        let outcome = machine.expand(state, self.partial_order, scratch, &mut receive);
        self.note(outcome, id, state, outbox);
        let asked = machine.program.deadlock && self.options.model == Model::Rc11;
        let noted = outbox.stuck.last() == Some(&id);
        if asked && !noted && machine.is_stuck(state, scratch, &mut outbox.bounds) {
            outbox.stuck.push(id);
        }
        let spins = machine.program.progress
            && !machine
                .spinning(state, scratch, &mut outbox.bounds)
                .is_empty();
        if spins {
            outbox.broken.push(id);
        }
    }

    fn note(&self, outcome: Outcome, id: StateId, state: &State, outbox: &mut Outbox) {
        outbox.transitions += outcome.steps;
        outbox.bounds.merge(outcome.bounds);
        if outcome.steps > 0 {
            return;
        }
        // Nothing is under way here: memory could step otherwise.
        if self.machine.all_ended(state) {
            if self.options.collect_finals {
                outbox.finals.push(self.machine.final_of(state));
            }
        } else if (self.options.notes || self.machine.program.deadlock)
            && outcome.bounds.is_empty()
            && self.machine.is_deadlock(state)
            && (self.machine.prompt.is_none() || self.machine.is_blocked(state))
        {
            // A thread that a bound holds back is not stuck. Under RC11 there may be more
            // deadlocks than these.
            outbox.stuck.push(id);
        }
    }
}

/// Appends a packed state to a message.
pub(crate) fn send(message: &mut Vec<u8>, bytes: &[u8]) {
    message.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    message.extend_from_slice(bytes);
}

/// The packed states of a message.
pub(crate) fn received(message: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = message;
    std::iter::from_fn(move || {
        let (len, more) = rest.split_first_chunk::<2>()?;
        let (bytes, more) = more.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        rest = more;
        Some(bytes)
    })
}

/// Moves the shard's successors from an outbox into it.
pub(crate) fn insert_all(shard: &mut Shard, outbox: &Outbox) {
    let batch = &outbox.shards[shard.number()];
    // As in `look_up`: touch the table's entries first.
    let touched = batch.heads.iter().fold(0, |t, h| t ^ shard.entry(h.hash));
    std::hint::black_box(touched);
    for head in &batch.heads {
        shard.insert(head.hash, batch.state(head), head.parent);
    }
}

impl Machine<'_> {
    fn final_of(&self, state: &State) -> Final {
        let locals = |thread: &crate::machine::Thread| {
            let count = self.program.template(thread.instance.template).locals.len();
            state.slots[thread.base as usize..thread.base as usize + count].to_vec()
        };
        Final {
            cells: state.slots[..self.cells].to_vec(),
            locals: self.threads.iter().map(locals).collect(),
        }
    }

    /// The property that `state` breaks.
    pub(crate) fn broken(&self, state: &State) -> Option<Broken> {
        self.checks.broken(self, state, &mut Bounds::default())
    }
}
