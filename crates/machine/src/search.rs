//! Breadth-first search over packed states, on all cores, with the same result
//! whatever their number.
//!
//! A level (all states at one distance from the start) is cut into chunks and
//! chunks are gathered into blocks. For each block there are two phases:
//!
//! 1. *expand*: workers take chunks and write the successors that the store does
//!    not hold yet, sorted by shard, into the chunk's outbox. The store is only read.
//! 2. *insert*: workers take shards and insert what the outboxes hold for it, in
//!    the order of chunks.
//!
//! Chunks, outboxes and shards do not depend on who worked on them, so neither
//! do the order of states, the counts or what is found. Only time and memory
//! limits stop in the middle of a level; a violation lets its level finish.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use palisade_program::{Broken, Model};

use crate::canonical::Canonical;
use crate::expand::{Move, Outcome, Scratch, Sink};
use crate::machine::Machine;
use crate::options::{Bound, Bounds, Final, Options, Stats};
use crate::pack::{MOST_BYTES, hash};
use crate::state::State;
use crate::store::{Part, SHARDS, Shard, StateId, Store, shard_of};

/// States in a chunk, at least (but for the last).
const CHUNK: u32 = 512;
/// Chunks in a block.
const BLOCK: usize = 16;
/// Most targets of a violation that are kept.
const MOST_TARGETS: usize = 1000;

/// Where a violation happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// A step from this state fails an assertion.
    Fails(StateId),
    /// This state breaks a property, or is one from which there is no progress, where that
    /// counts.
    State(StateId),
}

impl Target {
    /// The last state of a run there.
    pub(crate) fn state(self) -> StateId {
        match self {
            Self::Fails(id) | Self::State(id) => id,
        }
    }
}

/// Why a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Everything was visited.
    Complete,
    /// Violations were found; all targets are at the same distance.
    Violated,
    /// [`Options::max_states`].
    States,
    /// [`Options::max_memory`].
    Memory,
    /// [`Options::deadline`].
    Time,
    /// [`Options::cancel`].
    Cancelled,
    /// The last level that was asked for is done.
    Levels,
}

/// What to search for.
pub(crate) struct Task<'a, 'p> {
    pub(crate) machine: &'a Machine<'p>,
    pub(crate) options: &'a Options,
    pub(crate) canonical: Option<&'a Canonical>,
    pub(crate) partial_order: bool,
    /// Stop after this level.
    pub(crate) last_level: Option<u32>,
}

/// What a search found.
pub(crate) struct Found {
    pub(crate) end: End,
    pub(crate) store: Store,
    pub(crate) targets: Vec<Target>,
    /// Steps of the shortest run to the targets.
    pub(crate) length: u32,
    /// The first deadlock.
    pub(crate) stuck: Option<StateId>,
    pub(crate) finals: Vec<Final>,
    pub(crate) bounds: Bounds,
    pub(crate) stats: Stats,
    /// Whether a limit ended the last level before its end.
    pub(crate) cut: bool,
    /// Parts of each level, for a second look.
    pub(crate) levels: Vec<Vec<Part>>,
}

impl Found {
    /// A search that has not begun.
    fn new(bounds: Bounds) -> Self {
        Self {
            end: End::Complete,
            store: Store::new(),
            targets: Vec::new(),
            length: 0,
            stuck: None,
            finals: Vec::new(),
            bounds,
            stats: Stats::default(),
            cut: false,
            levels: Vec::new(),
        }
    }
}

/// The new successors of one chunk, and what was seen on the way.
#[derive(Default)]
struct Outbox {
    shards: Vec<Batch>,
    fails: Vec<StateId>,
    broken: Vec<StateId>,
    stuck: Vec<StateId>,
    finals: Vec<Final>,
    transitions: u64,
    bounds: Bounds,
}

impl Outbox {
    fn clear(&mut self) {
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
struct Batch {
    heads: Vec<Head>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Head {
    hash: u64,
    parent: StateId,
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

    fn state(&self, head: &Head) -> &[u8] {
        &self.bytes[head.start as usize..][..head.len as usize]
    }
}

/// Successors are looked up this many at a time, see [`Worker::look_up`].
const LOOK_UPS: usize = 128;

/// What a worker keeps from state to state.
#[derive(Default)]
struct Worker {
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
        } else {
            self.batch.push(hash(self.bytes), self.parent, self.bytes);
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

    /// Searches.
    pub(crate) fn run(&self) -> Found {
        let start = Instant::now();
        let mut found = Found::new(self.machine.bounds);
        let mut parts = self.begin(&mut found);
        let mut pool = Pool::new(self.options.workers);
        while found.end == End::Complete && !parts.is_empty() {
            if Some(found.levels.len() as u32) == self.last_level.map(|l| l + 1) {
                found.end = End::Levels;
                break;
            }
            found.levels.push(parts);
            self.level(&mut pool, &mut found);
            parts = found
                .store
                .shards
                .iter_mut()
                .flat_map(Shard::next_level)
                .collect();
        }
        found.stats.states = found.store.len();
        found.stats.bytes = found.store.bytes();
        found.stats.depth = found.levels.len().saturating_sub(1) as u32;
        found.stats.seconds = start.elapsed().as_secs_f64();
        found.finals.sort_unstable();
        found.finals.dedup();
        found
    }

    /// Inserts the initial states.
    fn begin(&self, found: &mut Found) -> Vec<Part> {
        let (mut bytes, mut scratch) = (Vec::new(), crate::canonical::Scratch::default());
        let mut bounds = Bounds::default();
        let store = &mut found.store;
        let most = self.options.max_states.unwrap_or(u64::MAX);
        let (mut inserted, mut tried, mut stopped) = (0_u64, 0_u64, None);
        self.machine.for_each_initial(&mut bounds, |state, bounds| {
            self.pack(state, &mut scratch, &mut bytes);
            if bytes.len() > MOST_BYTES {
                bounds.touch(Bound::StateSize);
                return true;
            }
            let hash = hash(&bytes);
            let shard = &mut store.shards[shard_of(hash)];
            inserted += u64::from(shard.insert(hash, &bytes, StateId::NONE));
            // Many variables that start with any value make many states.
            tried += 1;
            stopped = if inserted > most {
                Some(End::States)
            } else if tried % 4096 == 0 {
                self.limit(store)
            } else {
                None
            };
            stopped.is_none()
        });
        found.bounds.merge(bounds);
        found.end = stopped.unwrap_or(End::Complete);
        let shards = &mut found.store.shards;
        shards.iter_mut().flat_map(Shard::next_level).collect()
    }

    /// Expands the newest level.
    fn level(&self, pool: &mut Pool, found: &mut Found) {
        let parts = found.levels.last().expect("a level was just pushed");
        let chunks = chunks(parts);
        let length = found.levels.len() as u32;
        let (mut fails, mut states) = (Vec::new(), Vec::new());
        for block in chunks.chunks(BLOCK) {
            self.block(pool, &mut found.store, block);
            for outbox in &mut pool.outboxes[..block.len()] {
                let outbox = outbox.get_mut().unwrap_or_else(PoisonError::into_inner);
                found.stats.transitions += outbox.transitions;
                found.bounds.merge(outbox.bounds);
                found.finals.append(&mut outbox.finals);
                found.stuck = found.stuck.or(outbox.stuck.first().copied());
                fails.extend(outbox.fails.iter().map(|&id| Target::Fails(id)));
                states.extend(outbox.broken.iter().map(|&id| Target::State(id)));
                if self.machine.program.deadlock {
                    states.extend(outbox.stuck.iter().map(|&id| Target::State(id)));
                }
                fails.truncate(MOST_TARGETS);
                states.truncate(MOST_TARGETS);
            }
            if let Some(end) = self.limit(&found.store) {
                found.end = end;
                found.cut = true;
                break;
            }
        }
        // A violation counts even if a limit ended its level. A state of this
        // level is one step nearer than a step from it.
        if !states.is_empty() {
            found.targets = states;
            found.length = length - 1;
            found.end = End::Violated;
        } else if !fails.is_empty() {
            found.targets = fails;
            found.length = length;
            found.end = End::Violated;
        }
    }

    /// Whether the user or the clock ends the search.
    pub(crate) fn stopped(&self) -> Option<End> {
        if self.options.cancel.load(Ordering::Relaxed) {
            Some(End::Cancelled)
        } else if self.options.deadline.is_some_and(|d| Instant::now() >= d) {
            Some(End::Time)
        } else {
            None
        }
    }

    fn limit(&self, store: &Store) -> Option<End> {
        let options = self.options;
        if let Some(progress) = options.progress {
            progress(store.len());
        }
        if let Some(end) = self.stopped() {
            Some(end)
        } else if options.max_states.is_some_and(|most| store.len() > most) {
            Some(End::States)
        } else if options.max_memory.is_some_and(|most| store.bytes() > most) {
            Some(End::Memory)
        } else {
            None
        }
    }

    /// Both phases for a block of chunks.
    fn block(&self, pool: &mut Pool, store: &mut Store, block: &[&[Part]]) {
        let states: u32 = block.iter().flat_map(|c| c.iter()).map(|p| p.count).sum();
        // Little work is done faster by one.
        let workers = if states < 2 * CHUNK {
            1
        } else {
            pool.workers.len().min(block.len())
        };
        while pool.outboxes.len() < block.len() {
            pool.outboxes.push(Mutex::default());
        }
        let (shards, outboxes) = (&store.shards, &pool.outboxes);
        let next = AtomicUsize::new(0);
        in_parallel(&mut pool.workers[..workers], |worker| {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(chunk) = block.get(index) else {
                    return;
                };
                let mut outbox = locked(&outboxes[index]);
                self.expand_chunk(chunk, shards, &mut outbox, worker);
            }
        });
        let guards: Vec<_> = outboxes[..block.len()].iter().map(locked).collect();
        let outboxes: Vec<&Outbox> = guards.iter().map(|g| &**g).collect();
        let shards = Mutex::new(store.shards.iter_mut());
        in_parallel(&mut pool.workers[..workers], |_| {
            loop {
                let Some(shard) = locked(&shards).next() else {
                    return;
                };
                for outbox in &outboxes {
                    insert_all(shard, outbox);
                }
            }
        });
    }

    /// Phase 1 for one chunk.
    fn expand_chunk(
        &self,
        chunk: &[Part],
        shards: &[Shard],
        outbox: &mut Outbox,
        worker: &mut Worker,
    ) {
        outbox.clear();
        for part in chunk {
            if self.stopped().is_some() {
                worker.batch.clear();
                return; // the level will not be finished
            }
            shards[part.shard].for_each(*part, |id, bytes| {
                self.expand_state(id, bytes, outbox, worker);
                if worker.batch.heads.len() >= LOOK_UPS {
                    worker.look_up(shards, outbox);
                }
            });
        }
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
        } else if outcome.bounds.is_empty() && self.machine.is_deadlock(state) {
            // A thread that a bound holds back is not stuck. Under RC11 there may be more
            // deadlocks than these.
            outbox.stuck.push(id);
        }
    }
}

fn insert_all(shard: &mut Shard, outbox: &Outbox) {
    let batch = &outbox.shards[shard.number()];
    // As in `look_up`: touch the table's entries first.
    let touched = batch.heads.iter().fold(0, |t, h| t ^ shard.entry(h.hash));
    std::hint::black_box(touched);
    for head in &batch.heads {
        shard.insert(head.hash, batch.state(head), head.parent);
    }
}

/// Groups parts into chunks.
fn chunks(parts: &[Part]) -> Vec<&[Part]> {
    let mut chunks = Vec::new();
    let (mut from, mut count) = (0, 0);
    for (i, part) in parts.iter().enumerate() {
        count += part.count;
        if count >= CHUNK {
            chunks.push(&parts[from..=i]);
            (from, count) = (i + 1, 0);
        }
    }
    if from < parts.len() {
        chunks.push(&parts[from..]);
    }
    chunks
}

struct Pool {
    workers: Vec<Worker>,
    outboxes: Vec<Mutex<Outbox>>,
}

impl Pool {
    fn new(workers: usize) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let count = if workers == 0 { cores() } else { workers };
        Self {
            workers: (0..count.max(1)).map(|_| Worker::default()).collect(),
            outboxes: Vec::new(),
        }
    }
}

/// A worker that panics takes the whole search with it, so a lock that such a
/// worker left behind is never looked into.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `f` once for each worker, the first on this thread.
fn in_parallel(workers: &mut [Worker], f: impl Fn(&mut Worker) + Sync) {
    let (first, others) = workers.split_first_mut().expect("there is a worker");
    std::thread::scope(|scope| {
        for worker in others {
            scope.spawn(|| f(worker));
        }
        f(first);
    });
}

impl Machine<'_> {
    /// Calls `f` on every initial state until it says `false`.
    pub(crate) fn for_each_initial(
        &self,
        bounds: &mut Bounds,
        mut f: impl FnMut(&State, &mut Bounds) -> bool,
    ) {
        let (values, free) = self.initial_choices();
        let mut state = State {
            pcs: self.threads.iter().map(|t| t.graph.entry).collect(),
            slots: values,
            queues: vec![crate::state::Queue::default(); self.threads.len()],
            memory: None,
        };
        if free.iter().any(|(_, choice)| !choice.complete) {
            bounds.touch(Bound::Choice);
        }
        if free.iter().any(|(_, c)| c.tried.lo > c.tried.hi) {
            return;
        }
        for (slot, choice) in &free {
            state.slots[*slot as usize] = choice.tried.lo;
        }
        loop {
            self.start_memory(&mut state);
            if !f(&state, bounds) {
                return;
            }
            // Count up, the last variable fastest.
            let mut place = free.len();
            loop {
                if place == 0 {
                    return;
                }
                place -= 1;
                let (slot, choice) = free[place];
                let value = &mut state.slots[slot as usize];
                if *value < choice.tried.hi {
                    *value += 1;
                    break;
                }
                *value = choice.tried.lo;
            }
        }
    }

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
