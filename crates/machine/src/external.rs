//! The loop over levels: in memory as long as it lasts, then with *delayed duplicate detection*
//! [Stern & Dill, CAV 1998; Korf, AAAI 2004]; alone or with other processes; with checkpoints.
//!
//! *In memory* a level is a part of the store ([`crate::store`]), and successors that the store
//! holds are left out at once.
//!
//! *On disk* the states of a level are a sorted run for each shard ([`crate::runs`]). Successors
//! go to a table in memory (the *candidates*), and when that is full, as one more sorted run, to
//! disk. Whether a candidate was visited before is asked at the end of the level only, of all
//! candidates at once and in their order:
//!
//! ```text
//! next level = union of the candidates' runs - union of the visited runs
//! ```
//!
//! which is one pass over sorted files. The new level joins the visited runs; these are merged
//! such that each is at least twice as long as the next [O'Neil et al., Acta Informatica 1996],
//! so that there are few of them and no state is merged often. A level during which memory is
//! used up is expanded once more from its beginning.
//!
//! *Several processes*: a state belongs to one process by its hash ([`Partition`]). Successors of
//! others are sent in batches and inserted, or candidates, there. A round of the network ends when
//! all have expanded the level and all batches have arrived; further rounds tell all what was seen
//! and how many states are new: all decide alike.
//!
//! What a level is, and so verdict, counts and the length of runs, does not depend on the number
//! of workers or processes, on the size of memory, or on how often the search was resumed.
//!
//! [`Partition`]: crate::visit::Partition

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::checkpoint::Saved;
use crate::network::{Alone, Lost, gather};
use crate::options::Bounds;
use crate::pack::{Reader as Numbers, hash, put};
use crate::runs::{Place, Reader, Run, Writer, subtract};
use crate::search::{
    BLOCK, CHUNK, End, Found, Kept, Pool, Resident, Stored, Task, chunks, for_each_parallel,
    insert_block,
};
use crate::sight::Sight;
use crate::storage::{Folder, Storage};
use crate::store::{Part, SHARDS, Shard, StateId, Store, shard_of};
use crate::visit::{Chunks, received};

/// Memory for states if nobody says how much there is.
const MEMORY: u64 = 1 << 30;

/// Each level's states: a run for each shard.
pub(crate) type Levels = Vec<Vec<Run>>;

/// Why a level may end before its end; of several processes' reasons, the last counts.
const ENDS: [End; 5] = [
    End::Overflow,
    End::States,
    End::Memory,
    End::Time,
    End::Cancelled,
];

/// The place of an end in [`ENDS`], from 1; 0 for others.
fn rank(end: &End) -> u8 {
    let place = ENDS.iter().position(|e| e == end);
    place.map_or(0, |at| at as u8 + 1)
}

/// What ends a search that is no limit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Lost(#[from] Lost),
}

impl Task<'_, '_> {
    /// Searches, with states kept as `storage` says; else in memory.
    pub(crate) fn run_in(&self, storage: Option<&mut Storage<'_>>) -> Found {
        let start = Instant::now();
        let mut alone = Storage::shared(Box::new(Alone));
        let searched = External::search(self, storage.unwrap_or(&mut alone));
        let mut found = searched.unwrap_or_else(|trouble| Found {
            end: End::Storage(trouble.to_string()),
            ..Found::new(Bounds::default())
        });
        found.finals.sort_unstable();
        found.finals.dedup();
        found.stats.seconds = start.elapsed().as_secs_f64();
        found
    }
}

pub(crate) struct External<'t, 'a, 'p, 's, 'n> {
    pub(crate) task: &'t Task<'a, 'p>,
    pub(crate) storage: &'s mut Storage<'n>,
    pub(crate) folder: Option<Folder>,
    pub(crate) pool: Pool,
    /// All states, while memory holds them.
    pub(crate) resident: Option<Resident>,
    /// On disk: successors of the level that is expanded.
    pub(crate) candidates: Store,
    /// More of them, by shard.
    pub(crate) pending: Vec<Vec<Run>>,
    /// On disk: visited states, by shard.
    pub(crate) visited: Vec<Vec<Run>>,
    /// The levels that are in runs: all on disk, those of the last checkpoint in memory.
    pub(crate) levels: Levels,
    /// How many levels there are.
    pub(crate) depth: usize,
    /// States of the newest level, of all processes.
    pub(crate) new: u64,
    /// Numbers of runs that are taken.
    pub(crate) numbers: AtomicU64,
    pub(crate) saved: Saved,
    pub(crate) found: Found,
}

impl<'t, 'a, 'p, 's, 'n> External<'t, 'a, 'p, 's, 'n> {
    fn search(task: &'t Task<'a, 'p>, storage: &'s mut Storage<'n>) -> Result<Found, Trouble> {
        let mut search = Self::new(task, storage)?;
        if !search.resume()? {
            let mut resident = Resident::new();
            resident.parents = search.storage.network.peers() == 1;
            let bounds = &mut search.found.bounds;
            let end = task.begin(&mut resident.store, bounds);
            search.resident = Some(resident);
            search.end_level()?;
            search.found.end = end.unwrap_or(End::Complete);
            search.save()?;
        }
        search.run()
    }

    fn new(task: &'t Task<'a, 'p>, storage: &'s mut Storage<'n>) -> Result<Self, Trouble> {
        let folder = storage.next_search()?;
        Ok(Self {
            task,
            storage,
            folder,
            pool: Pool::new(task.options.workers),
            resident: None,
            candidates: Store::new(),
            pending: vec![Vec::new(); SHARDS],
            visited: vec![Vec::new(); SHARDS],
            levels: Vec::new(),
            depth: 0,
            new: 0,
            numbers: AtomicU64::new(0),
            saved: Saved::default(),
            found: Found::new(task.machine.bounds),
        })
    }

    /// Level by level until something ends the search.
    fn run(mut self) -> Result<Found, Trouble> {
        while self.found.end == End::Complete && self.new > 0 {
            let newest = self.depth as u32 - 1;
            if self.task.last_level.is_some_and(|last| newest > last) {
                self.found.end = End::Levels;
                break;
            }
            let most = self.task.options.max_states;
            if most.is_some_and(|most| self.found.stats.states > most) {
                self.found.end = End::States;
                break;
            }
            let (sight, end) = self.expand_level()?;
            match self.tell_all(sight, end.as_ref())? {
                None => {
                    self.end_level()?;
                    self.save()?;
                }
                Some(End::Overflow) => self.leave_memory()?,
                Some(_) => {
                    self.found.cut = true;
                    break;
                }
            }
        }
        // The newest level was not expanded, and may be empty.
        let expanded = self.depth - usize::from(!self.found.cut);
        self.found.stats.depth = expanded.saturating_sub(1) as u32;
        self.found.kept = match self.resident {
            Some(resident) => {
                if self.found.cut && self.storage.network.peers() == 1 {
                    self.found.stats.states = resident.store.len();
                    self.found.stats.bytes = resident.store.bytes();
                }
                Kept::Memory(resident)
            }
            None => Kept::External(self.levels),
        };
        Ok(self.found)
    }

    /// How many bytes the candidates may take.
    fn budget(&self) -> u64 {
        self.task.options.max_memory.unwrap_or(MEMORY) / 4
    }

    /// Expands the newest level: what was seen, and the limit that ended it early.
    fn expand_level(&mut self) -> Result<(Sight, Option<End>), Trouble> {
        let mut sight = Sight::default();
        let deadlock = self.task.machine.program.deadlock;
        if let Some(resident) = &self.resident {
            let parts = resident.levels.last().cloned().unwrap_or_default();
            for block in chunks(&parts).chunks(BLOCK) {
                let Some(Resident { store, .. }) = &mut self.resident else {
                    unreachable!("only the end of a level leaves memory");
                };
                let stored = Stored {
                    shards: &store.shards,
                    chunks: block,
                };
                self.task
                    .expand_block(&mut self.pool, &store.shards, &stored);
                insert_block(&mut self.pool, store, block.len());
                for outbox in self.pool.outboxes(block.len()) {
                    sight.take(outbox, |id| store.state(id), deadlock);
                }
                if let Some(end) = self.exchange(block.len())? {
                    return Ok((sight, Some(end)));
                }
            }
            return Ok((sight, None));
        }
        let mut runs = self.levels.last().cloned().unwrap_or_default().into_iter();
        let mut reader = None;
        let mut block = Loaded::default();
        while block.fill(&mut reader, &mut runs)? {
            let shards = &self.candidates.shards;
            self.task.expand_block(&mut self.pool, shards, &block);
            insert_block(&mut self.pool, &mut self.candidates, block.count());
            for outbox in self.pool.outboxes(block.count()) {
                sight.take(outbox, |id| block.state(id), deadlock);
            }
            if let Some(end) = self.exchange(block.count())? {
                return Ok((sight, Some(end)));
            }
        }
        Ok((sight, None))
    }

    /// Sends what the outboxes of a block have for other processes, and takes what has come from
    /// them. The limit that is exceeded now.
    fn exchange(&mut self, count: usize) -> Result<Option<End>, Trouble> {
        let peers = self.storage.network.peers();
        if peers > 1 {
            let mut away = vec![Vec::new(); peers];
            for outbox in self.pool.outboxes(count) {
                for (all, one) in away.iter_mut().zip(&outbox.away) {
                    all.extend_from_slice(one);
                }
            }
            for (to, message) in away.into_iter().enumerate() {
                if !message.is_empty() {
                    self.storage.network.send(to, message);
                }
            }
            for message in self.storage.network.received()? {
                self.accept(&message)?;
            }
        }
        self.relieve()?;
        Ok(self.limit())
    }

    /// The limit that is exceeded now.
    fn limit(&self) -> Option<End> {
        let Some(resident) = &self.resident else {
            if let Some(progress) = self.task.options.progress {
                progress(self.found.stats.states);
            }
            return self.task.stopped();
        };
        match self.task.limit(&resident.store) {
            Some(End::Memory) if self.folder.is_some() => Some(End::Overflow),
            end => end,
        }
    }

    /// Takes the states of another process's message.
    fn accept(&mut self, message: &[u8]) -> io::Result<()> {
        let store = match &mut self.resident {
            Some(resident) => &mut resident.store,
            None => &mut self.candidates,
        };
        for state in received(message) {
            let hash = hash(state);
            store.shards[shard_of(hash)].insert(hash, state, StateId::NONE);
        }
        self.relieve()
    }

    /// Moves the candidates to disk if they are too many for memory.
    fn relieve(&mut self) -> io::Result<()> {
        if self.folder.is_none() || self.candidates.bytes() <= self.budget() {
            return Ok(());
        }
        let mut store = std::mem::replace(&mut self.candidates, Store::new());
        let shards = store.shards.iter_mut().zip(&mut self.pending);
        let (folder, numbers) = (self.folder.as_ref(), &self.numbers);
        in_all(&mut self.pool, shards, |(shard, pending)| {
            let place = place(folder, numbers);
            pending.push(sorted(shard, place)?);
            Ok(())
        })
    }

    /// Tells all processes what was seen, and why this one stopped; why the level has ended before
    /// its end, if it has.
    fn tell_all(&mut self, sight: Sight, end: Option<&End>) -> Result<Option<End>, Trouble> {
        for message in self.storage.network.end_round()? {
            // Nobody needs them if the level has to be expanded again.
            if end != Some(&End::Overflow) {
                self.accept(&message)?;
            }
        }
        let mut message = vec![end.map_or(0, rank)];
        sight.encode(&mut message);
        let mut total = Sight {
            finals: sight.finals,
            ..Sight::default()
        };
        let mut worst = 0;
        for told in gather(&mut *self.storage.network, message)? {
            let Some((&end, rest)) = told.split_first() else {
                return Err(Lost("a process sent nothing".to_owned()).into());
            };
            worst = worst.max(end);
            total.decode(&mut Numbers::new(rest));
        }
        let end = ENDS.into_iter().find(|end| rank(end) == worst);
        if end != Some(End::Overflow) {
            self.found.end = end.clone().unwrap_or(End::Complete);
            self.found.add(total, self.depth as u32 - 1);
        }
        Ok(end)
    }

    /// The states that were not visited before become the next level.
    fn end_level(&mut self) -> Result<(), Trouble> {
        let mut message = Vec::new();
        if let Some(resident) = &mut self.resident {
            let parts = resident.store.next_level();
            let count = parts.iter().map(|p| u64::from(p.count)).sum();
            resident.levels.push(parts);
            put(&mut message, count);
            put(&mut message, resident.store.bytes());
        } else {
            let level = self.subtract_visited()?;
            put(&mut message, level.iter().map(|r| r.count).sum());
            self.levels.push(level);
            let runs = self.levels.iter().flatten();
            put(&mut message, runs.map(|r| r.bytes).sum());
        }
        self.depth += 1;
        let waited = self.saved.at.elapsed();
        let is_due = self.saved.level.is_none() || waited >= 20 * self.saved.cost;
        put(&mut message, u64::from(is_due));
        self.new = 0;
        self.found.stats.bytes = 0;
        let all = gather(&mut *self.storage.network, message)?;
        for (process, told) in all.iter().enumerate() {
            let mut numbers = Numbers::new(told);
            self.new += numbers.get();
            self.found.stats.bytes += numbers.get();
            if process == 0 {
                self.saved.is_due = numbers.get() == 1;
            }
        }
        self.found.stats.states += self.new;
        Ok(())
    }

    /// The candidates without the visited states, which they join.
    fn subtract_visited(&mut self) -> io::Result<Vec<Run>> {
        let mut store = std::mem::replace(&mut self.candidates, Store::new());
        let mut level: Vec<Option<Run>> = vec![None; SHARDS];
        let shards = store.shards.iter_mut().zip(&mut self.pending);
        let shards = shards.zip(&mut self.visited).zip(&mut level);
        let (folder, numbers) = (self.folder.as_ref(), &self.numbers);
        in_all(
            &mut self.pool,
            shards,
            |(((shard, pending), visited), new)| {
                let mut runs = std::mem::take(pending);
                runs.push(sorted(shard, Place::Memory)?);
                let run = subtract(&runs, visited, place(folder, numbers))?;
                join(visited, run.clone(), || place(folder, numbers))?;
                *new = Some(run);
                Ok(())
            },
        )?;
        Ok(level.into_iter().flatten().collect())
    }

    /// Writes the levels that are in memory only into runs.
    pub(crate) fn write_levels(&mut self) -> io::Result<()> {
        let Some(resident) = &self.resident else {
            return Ok(());
        };
        let (folder, numbers) = (self.folder.as_ref(), &self.numbers);
        for parts in &resident.levels[self.levels.len()..] {
            let mut level: Vec<Option<Run>> = vec![None; SHARDS];
            let shards = resident.store.shards.iter().zip(&mut level);
            in_all(&mut self.pool, shards, |(shard, run)| {
                let own = parts.iter().filter(|p| p.shard == shard.number());
                *run = Some(sorted_parts(shard, own, place(folder, numbers))?);
                Ok(())
            })?;
            self.levels.push(level.into_iter().flatten().collect());
        }
        Ok(())
    }

    /// Goes on on disk, and forgets the successors of the newest level.
    fn leave_memory(&mut self) -> io::Result<()> {
        self.candidates = Store::new();
        self.pending = vec![Vec::new(); SHARDS];
        self.write_levels()?;
        if self.resident.take().is_some() {
            self.merge_levels()?;
        }
        Ok(())
    }

    /// The visited states are those of all levels.
    pub(crate) fn merge_levels(&mut self) -> io::Result<()> {
        let (folder, numbers, levels) = (self.folder.as_ref(), &self.numbers, &self.levels);
        let visited = self.visited.iter_mut().enumerate();
        in_all(&mut self.pool, visited, |(shard, visited)| {
            let runs: Vec<Run> = levels.iter().map(|level| level[shard].clone()).collect();
            *visited = vec![subtract(&runs, &[], place(folder, numbers))?];
            Ok(())
        })
    }
}

/// Where the next run goes.
fn place(folder: Option<&Folder>, numbers: &AtomicU64) -> Place {
    match folder {
        Some(folder) => Place::File(folder.run(numbers.fetch_add(1, Ordering::Relaxed))),
        None => Place::Memory,
    }
}

/// Adds a run to the visited ones, of which each is at least twice as long as the next.
fn join(visited: &mut Vec<Run>, run: Run, place: impl Fn() -> Place) -> io::Result<()> {
    if run.count > 0 {
        visited.push(run);
    }
    while let [.., a, b] = &visited[..]
        && a.count < 2 * b.count
    {
        let merged = subtract(&[a.clone(), b.clone()], &[], place())?;
        visited.truncate(visited.len() - 2);
        visited.push(merged);
    }
    Ok(())
}

/// The states of a shard as a run.
fn sorted(shard: &mut Shard, place: Place) -> io::Result<Run> {
    let parts = shard.next_level();
    sorted_parts(shard, parts.iter(), place)
}

fn sorted_parts<'a>(
    shard: &Shard,
    parts: impl Iterator<Item = &'a Part>,
    place: Place,
) -> io::Result<Run> {
    let mut states: Vec<&[u8]> = Vec::new();
    for part in parts {
        shard.for_each(*part, |_, state| states.push(state));
    }
    states.sort_unstable();
    let mut writer = Writer::new(place);
    for state in states {
        writer.push(state)?;
    }
    writer.finish()
}

/// Runs `f` for all items on all workers; some error, if there is one.
fn in_all<T: Send>(
    pool: &mut Pool,
    items: impl Iterator<Item = T> + Send,
    f: impl Fn(T) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let failed = Mutex::new(Ok(()));
    for_each_parallel(&mut pool.workers, items, |item| {
        if let Err(error) = f(item) {
            *failed.lock().expect("no worker panics") = Err(error);
        }
    });
    failed.into_inner().expect("no worker panics")
}

/// Some states of a level, read from its runs; their ids count them.
#[derive(Default)]
struct Loaded {
    bytes: Vec<u8>,
    /// Where each state ends.
    ends: Vec<u32>,
}

impl Loaded {
    /// Reads the next states; `false` if there are none.
    fn fill(
        &mut self,
        reader: &mut Option<Reader>,
        runs: &mut impl Iterator<Item = Run>,
    ) -> io::Result<bool> {
        self.bytes.clear();
        self.ends.clear();
        while self.ends.len() < BLOCK * CHUNK as usize {
            if let Some(open) = reader
                && open.advance()?
            {
                self.bytes.extend_from_slice(open.state());
                self.ends.push(self.bytes.len() as u32);
                continue;
            }
            match runs.next() {
                Some(run) => *reader = Some(run.reader()?),
                None => break,
            }
        }
        Ok(!self.ends.is_empty())
    }

    fn state(&self, id: StateId) -> &[u8] {
        let at = id.0 as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start as usize..self.ends[at] as usize]
    }
}

impl Chunks for Loaded {
    fn count(&self) -> usize {
        self.ends.len().div_ceil(CHUNK as usize)
    }

    fn states(&self) -> u32 {
        self.ends.len() as u32
    }

    fn for_each(&self, chunk: usize, mut f: impl FnMut(StateId, &[u8])) {
        let from = chunk * CHUNK as usize;
        let to = (from + CHUNK as usize).min(self.ends.len());
        for at in from..to {
            let id = StateId(at as u64);
            f(id, self.state(id));
        }
    }
}
