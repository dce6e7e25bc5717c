//! Breadth-first search over packed states, on all cores, with the same result
//! whatever their number.
//!
//! ([`crate::external`] has the loop over levels.)
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

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::canonical::Canonical;
use crate::external::Levels;
use crate::machine::Machine;
use crate::options::{Bound, Bounds, Final, Options, Stats};
use crate::pack::{MOST_BYTES, hash};
use crate::runs::Run;
use crate::sight::Sight;
use crate::store::{Part, Shard, StateId, Store, shard_of};
use crate::visit::{Chunks, Outbox, Partition, Worker, insert_all};

/// States in a chunk, at least (but for the last).
pub(crate) const CHUNK: u32 = 512;
/// Chunks in a block. All workers wait for each other twice a block.
pub(crate) const BLOCK: usize = 16;
/// Why a search ended.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// States could not be kept or read back.
    Storage(String),
    /// Memory is used up, and the level has to be expanded again with states on disk.
    Overflow,
}

/// Visited states in memory.
pub(crate) struct Resident {
    pub(crate) store: Store,
    /// Parts of each level.
    pub(crate) levels: Vec<Vec<Part>>,
    /// Whether states know from which they were reached.
    pub(crate) parents: bool,
}

impl Resident {
    pub(crate) fn new() -> Self {
        Self {
            store: Store::new(),
            levels: Vec::new(),
            parents: true,
        }
    }
}

/// Where the visited states are, for a second look.
pub(crate) enum Kept {
    /// In memory.
    Memory(Resident),
    /// In sorted runs.
    External(Levels),
}

impl Kept {
    /// How many levels there are.
    pub(crate) fn levels(&self) -> usize {
        match self {
            Self::Memory(resident) => resident.levels.len(),
            Self::External(levels) => levels.len(),
        }
    }

    /// Bytes in memory.
    pub(crate) fn memory(&self) -> u64 {
        match self {
            Self::Memory(resident) => resident.store.bytes(),
            Self::External(_) => 0,
        }
    }

    /// The states of a level, in pieces.
    pub(crate) fn pieces(&self, level: usize) -> Vec<Piece<'_>> {
        match self {
            Self::Memory(resident) => {
                let parts = resident.levels[level].iter();
                let piece = |part: &Part| Piece::Part(&resident.store, *part);
                parts.map(piece).collect()
            }
            Self::External(levels) => levels[level].iter().map(Piece::Run).collect(),
        }
    }
}

/// Some states of a level.
pub(crate) enum Piece<'a> {
    Part(&'a Store, Part),
    Run(&'a Run),
}

impl Piece<'_> {
    /// Calls `f` on each state.
    pub(crate) fn for_each(&self, mut f: impl FnMut(&[u8])) -> io::Result<()> {
        match self {
            Self::Part(store, part) => {
                store.shards[part.shard].for_each(*part, |_, state| f(state));
            }
            Self::Run(run) => {
                let mut reader = run.reader()?;
                while reader.advance()? {
                    f(reader.state());
                }
            }
        }
        Ok(())
    }
}

/// What to search for.
pub(crate) struct Task<'a, 'p> {
    pub(crate) machine: &'a Machine<'p>,
    pub(crate) options: &'a Options,
    pub(crate) canonical: Option<&'a Canonical>,
    pub(crate) partial_order: bool,
    /// Stop after this level.
    pub(crate) last_level: Option<u32>,
    /// Which states belong to this process.
    pub(crate) partition: Partition,
    /// Whether states go to disk when memory is used up.
    pub(crate) spills: bool,
}

/// What a search found.
pub(crate) struct Found {
    pub(crate) end: End,
    pub(crate) kept: Kept,
    /// The states in which the shortest violating runs end, the least first.
    pub(crate) targets: Vec<Vec<u8>>,
    /// Whether a step from the targets fails an assertion; else they are violations themselves.
    pub(crate) fails: bool,
    /// Steps of the shortest run that violates something.
    pub(crate) length: u32,
    /// The first deadlock, and its level.
    pub(crate) stuck: Option<(Vec<u8>, u32)>,
    pub(crate) finals: Vec<Final>,
    pub(crate) bounds: Bounds,
    pub(crate) stats: Stats,
    /// Whether a limit ended the last level before its end.
    pub(crate) cut: bool,
}

impl Found {
    /// A search that has not begun.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            end: End::Complete,
            kept: Kept::Memory(Resident::new()),
            targets: Vec::new(),
            fails: false,
            length: 0,
            stuck: None,
            finals: Vec::new(),
            bounds,
            stats: Stats::default(),
            cut: false,
        }
    }

    /// Adds what was seen on `level`. A violation ends the search.
    pub(crate) fn add(&mut self, sight: Sight, level: u32) {
        self.stats.transitions += sight.transitions;
        self.bounds.merge(sight.bounds);
        self.finals.extend(sight.finals);
        let first = sight.stuck.sorted().into_iter().next();
        let first = first.map(|state| (state, level));
        self.stuck = self.stuck.take().or(first);
        let (fails, broken) = (sight.fails.sorted(), sight.broken.sorted());
        // A state of this level is one step nearer than a step from it.
        (self.targets, self.fails, self.length) = if broken.is_empty() {
            (fails, true, level + 1)
        } else {
            (broken, false, level)
        };
        // A violation counts even if a limit ended its level.
        if !self.targets.is_empty() {
            self.end = End::Violated;
        }
    }
}

impl Task<'_, '_> {
    /// Inserts the initial states; the limit that this exceeds.
    pub(crate) fn begin(&self, store: &mut Store, bounds: &mut Bounds) -> Option<End> {
        let (mut bytes, mut scratch) = (Vec::new(), crate::canonical::Scratch::default());
        let most = self.options.max_states.unwrap_or(u64::MAX);
        let (mut inserted, mut tried, mut stopped) = (0_u64, 0_u64, None);
        self.machine.for_each_initial(bounds, |state, bounds| {
            self.pack(state, &mut scratch, &mut bytes);
            if bytes.len() > MOST_BYTES {
                bounds.touch(Bound::StateSize);
                return true;
            }
            let hash = hash(&bytes);
            if self.partition.owner(hash) == self.partition.me {
                let shard = &mut store.shards[shard_of(hash)];
                inserted += u64::from(shard.insert(hash, &bytes, StateId::NONE));
            }
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
        stopped
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

    /// Most bytes for the store. What goes to disk needs memory on its way.
    pub(crate) fn most_memory(&self) -> Option<u64> {
        let most = self.options.max_memory;
        if self.spills {
            most.map(|m| m / 2)
        } else {
            most
        }
    }

    /// The limit that is exceeded now.
    pub(crate) fn limit(&self, store: &Store) -> Option<End> {
        let options = self.options;
        if let Some(progress) = options.progress {
            progress(store.len());
        }
        if let Some(end) = self.stopped() {
            Some(end)
        } else if options.max_states.is_some_and(|most| store.len() > most) {
            Some(End::States)
        } else if self.most_memory().is_some_and(|most| store.bytes() > most) {
            Some(End::Memory)
        } else {
            None
        }
    }

    /// Phase 1 for a block of chunks: fills the pool's outboxes.
    pub(crate) fn expand_block(&self, pool: &mut Pool, shards: &[Shard], block: &impl Chunks) {
        // Little work is done faster by one.
        let workers = if block.states() < 2 * CHUNK {
            1
        } else {
            pool.workers.len().min(block.count())
        };
        while pool.outboxes.len() < block.count() {
            pool.outboxes.push(Mutex::default());
        }
        pool.busy = workers;
        let outboxes = &pool.outboxes;
        let next = AtomicUsize::new(0);
        in_parallel(&mut pool.workers[..workers], |worker| {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= block.count() {
                    return;
                }
                let mut outbox = locked(&outboxes[index]);
                self.expand_chunk(block, index, shards, &mut outbox, worker);
            }
        });
    }
}

/// Phase 2: inserts what the first `count` outboxes hold.
pub(crate) fn insert_block(pool: &mut Pool, store: &mut Store, count: usize) {
    let guards: Vec<_> = pool.outboxes[..count].iter().map(locked).collect();
    let outboxes: Vec<&Outbox> = guards.iter().map(|g| &**g).collect();
    for_each_parallel(
        &mut pool.workers[..pool.busy],
        store.shards.iter_mut(),
        |shard| {
            for outbox in &outboxes {
                insert_all(shard, outbox);
            }
        },
    );
}

/// Some chunks of a level in the store.
pub(crate) struct Stored<'a> {
    pub(crate) shards: &'a [Shard],
    pub(crate) chunks: &'a [&'a [Part]],
}

impl Chunks for Stored<'_> {
    fn count(&self) -> usize {
        self.chunks.len()
    }

    fn states(&self) -> u32 {
        let parts = self.chunks.iter().flat_map(|c| c.iter());
        parts.map(|p| p.count).sum()
    }

    fn for_each(&self, chunk: usize, mut f: impl FnMut(StateId, &[u8])) {
        for part in self.chunks[chunk] {
            self.shards[part.shard].for_each(*part, &mut f);
        }
    }
}

/// Groups parts into chunks.
pub(crate) fn chunks(parts: &[Part]) -> Vec<&[Part]> {
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

/// The workers, and the outboxes of a block.
pub(crate) struct Pool {
    pub(crate) workers: Vec<Worker>,
    outboxes: Vec<Mutex<Outbox>>,
    /// How many workers the present block is worth.
    busy: usize,
}

impl Pool {
    pub(crate) fn new(workers: usize) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let count = if workers == 0 { cores() } else { workers };
        Self {
            workers: (0..count.max(1)).map(|_| Worker::default()).collect(),
            outboxes: Vec::new(),
            busy: 1,
        }
    }

    /// The outboxes of the block's `count` chunks.
    pub(crate) fn outboxes(&mut self, count: usize) -> impl Iterator<Item = &mut Outbox> {
        let outboxes = self.outboxes[..count].iter_mut();
        outboxes.map(|o| o.get_mut().unwrap_or_else(PoisonError::into_inner))
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

/// Runs `f` once for each item, on all workers.
pub(crate) fn for_each_parallel<T: Send>(
    workers: &mut [Worker],
    items: impl Iterator<Item = T> + Send,
    f: impl Fn(T) + Sync,
) {
    let items = Mutex::new(items);
    in_parallel(workers, |_| {
        loop {
            let Some(item) = locked(&items).next() else {
                return;
            };
            f(item);
        }
    });
}
