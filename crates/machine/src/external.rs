//! Breadth-first search with *delayed duplicate detection* [Stern & Dill, CAV 1998; Korf, AAAI
//! 2004], for states that do not fit in memory, for checkpoints, and for several processes.
//!
//! The states of a level are a sorted run for each shard ([`crate::runs`]). A level is expanded
//! block by block as in [`crate::search`]; successors go to a table in memory (the *candidates*),
//! and when that is full, as one more sorted run, to disk. Whether a candidate was visited before
//! is asked at the end of the level only, of all candidates at once and in their order:
//!
//! ```text
//! next level = union of the candidates' runs - union of the visited runs
//! ```
//!
//! which is one pass over sorted files. The new level joins the visited runs; these are merged
//! such that each is at least twice as long as the next (O'Neil et al., Acta Informatica 1996),
//! so that there are few of them and no state is merged often.
//!
//! *Several processes*: a state belongs to one process by its hash ([`Partition`]). Successors of
//! others are sent in batches and are candidates there. A round of the network ends when all have
//! expanded the level and all batches have arrived; then each process subtracts, and another
//! round tells all what was seen and how many states are new: all decide alike.
//!
//! What a level is, and so verdict, counts and the length of runs, does not depend on the number
//! of workers or processes, on the size of memory, or on how often the search was resumed.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::network::{Lost, gather};
use crate::options::Bounds;
use crate::pack::{Reader as Numbers, hash, put};
use crate::runs::{Place, Reader, Run, Writer, subtract};
use crate::search::{
    BLOCK, CHUNK, End, Found, Kept, Pool, Task, for_each_parallel, insert_block,
};
use crate::sight::{Sight, get_states, put_states};
use crate::storage::{Folder, Purpose, Storage, get_run, put_run};
use crate::store::{Part, SHARDS, Shard, StateId, Store, shard_of};
use crate::visit::{Chunks, received};

/// Memory for states if nobody says how much there is.
const MEMORY: u64 = 1 << 30;

/// Each level's states: a run for each shard.
pub(crate) type Levels = Vec<Vec<Run>>;

/// What ends a search that is no limit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Lost(#[from] Lost),
}

impl Task<'_, '_> {
    /// Searches, with states kept as `storage` says.
    pub(crate) fn run_in(&self, storage: Option<&mut Storage<'_>>) -> Found {
        let Some(storage) = storage else {
            return self.run();
        };
        let start = Instant::now();
        let searched = External::search(self, storage);
        let mut found = searched.unwrap_or_else(|trouble| Found {
            end: End::Storage(trouble.to_string()),
            ..Found::new(Bounds::default())
        });
        found.stats.seconds = start.elapsed().as_secs_f64();
        found
    }
}

struct External<'t, 'a, 'p, 's, 'n> {
    task: &'t Task<'a, 'p>,
    storage: &'s mut Storage<'n>,
    folder: Option<Folder>,
    pool: Pool,
    /// Successors of the level that is expanded.
    candidates: Store,
    /// More of them, by shard.
    pending: Vec<Vec<Run>>,
    /// Visited states, by shard.
    visited: Vec<Vec<Run>>,
    levels: Levels,
    /// States of the newest level, of all processes.
    new: u64,
    /// Numbers of runs that are taken.
    numbers: AtomicU64,
    /// Runs that the manifest before names.
    named: HashSet<PathBuf>,
    found: Found,
}

impl<'t, 'a, 'p, 's, 'n> External<'t, 'a, 'p, 's, 'n> {
    fn search(task: &'t Task<'a, 'p>, storage: &'s mut Storage<'n>) -> Result<Found, Trouble> {
        if storage.spills() {
            // Nothing is as fast as memory, as long as it lasts.
            let found = task.run();
            if found.end != End::Memory {
                return Ok(found);
            }
            let mut search = Self::new(task, storage, found)?;
            search.leave_memory()?;
            return search.run();
        }
        let mut search = Self::new(task, storage, Found::new(task.machine.bounds))?;
        if !search.resume()? {
            let bounds = &mut search.found.bounds;
            if let Some(end) = task.begin(&mut search.candidates, bounds) {
                search.found.end = end;
            }
            search.end_level()?;
            search.save()?;
        }
        search.run()
    }

    fn new(
        task: &'t Task<'a, 'p>,
        storage: &'s mut Storage<'n>,
        found: Found,
    ) -> Result<Self, Trouble> {
        let folder = storage.next_search()?;
        Ok(Self {
            task,
            storage,
            folder,
            pool: Pool::new(task.options.workers),
            candidates: Store::new(),
            pending: vec![Vec::new(); SHARDS],
            visited: vec![Vec::new(); SHARDS],
            levels: Vec::new(),
            new: 0,
            numbers: AtomicU64::new(0),
            named: HashSet::new(),
            found,
        })
    }

    /// Level by level until something ends the search.
    fn run(mut self) -> Result<Found, Trouble> {
        while self.found.end == End::Complete && self.new > 0 {
            let expanded = self.levels.len() as u32 - 1;
            if self.task.last_level.is_some_and(|last| expanded > last) {
                self.found.end = End::Levels;
                break;
            }
            let most = self.task.options.max_states;
            if most.is_some_and(|most| self.found.stats.states > most) {
                self.found.end = End::States;
                break;
            }
            let (sight, end) = self.expand_level()?;
            let all_ended = self.tell_all(sight, end)?;
            if all_ended {
                self.found.cut = true;
                break;
            }
            self.end_level()?;
            self.save()?;
        }
        // The newest level was not expanded, and may be empty.
        let expanded = self.levels.len() - usize::from(!self.found.cut);
        self.found.stats.depth = expanded.saturating_sub(1) as u32;
        self.found.kept = Kept::External(self.levels);
        Ok(self.found)
    }

    /// How many bytes the candidates may take.
    fn budget(&self) -> u64 {
        self.task.options.max_memory.unwrap_or(MEMORY) / 4
    }

    /// Expands the newest level: what was seen, and the limit that ended it early.
    fn expand_level(&mut self) -> Result<(Sight, Option<End>), Trouble> {
        let mut sight = Sight::default();
        let mut runs = self.levels.last().cloned().unwrap_or_default().into_iter();
        let mut reader = None;
        let mut block = Loaded::default();
        while block.fill(&mut reader, &mut runs)? {
            let shards = &self.candidates.shards;
            self.task.expand_block(&mut self.pool, shards, &block);
            insert_block(&mut self.pool, &mut self.candidates, block.count());
            let deadlock = self.task.machine.program.deadlock;
            let mut away = vec![Vec::new(); self.storage.network.peers()];
            for outbox in self.pool.outboxes(block.count()) {
                sight.take(outbox, |id| block.state(id), deadlock);
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
            self.relieve()?;
            if let Some(progress) = self.task.options.progress {
                progress(self.found.stats.states);
            }
            if let Some(end) = self.task.stopped().or_else(|| self.overflow()) {
                return Ok((sight, Some(end)));
            }
        }
        Ok((sight, None))
    }

    /// Whether memory is used up, where nothing can go to disk.
    fn overflow(&self) -> Option<End> {
        let runs = self.visited.iter().chain(&self.levels).flatten();
        let used = self.candidates.bytes() + runs.map(|r| r.bytes).sum::<u64>();
        let most = self.task.options.max_memory.unwrap_or(u64::MAX);
        (self.folder.is_none() && used > most).then_some(End::Memory)
    }

    /// Takes the states of another process's message as candidates.
    fn accept(&mut self, message: &[u8]) -> io::Result<()> {
        for state in received(message) {
            let hash = hash(state);
            let shard = &mut self.candidates.shards[shard_of(hash)];
            shard.insert(hash, state, StateId::NONE);
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
            let place = place(folder, numbers, Purpose::Spill);
            pending.push(sorted(shard, place)?);
            Ok(())
        })
    }

    /// Tells all processes what was seen, and why this one stopped; whether the search is over.
    fn tell_all(&mut self, sight: Sight, end: Option<End>) -> Result<bool, Trouble> {
        for message in self.storage.network.end_round()? {
            self.accept(&message)?;
        }
        let level = self.levels.len() as u32 - 1;
        let mut message = vec![match &end {
            None => 0,
            Some(End::Memory) => 1,
            Some(End::Time) => 2,
            Some(_) => 3,
        }];
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
        match worst {
            0 => {}
            1 => self.found.end = End::Memory,
            2 => self.found.end = End::Time,
            _ => self.found.end = End::Cancelled,
        }
        self.found.add(total, level);
        Ok(worst > 0)
    }

    /// The candidates that were not visited become the next level.
    fn end_level(&mut self) -> Result<(), Trouble> {
        let mut store = std::mem::replace(&mut self.candidates, Store::new());
        let mut level: Vec<Option<Run>> = vec![None; SHARDS];
        let shards = store.shards.iter_mut().zip(&mut self.pending);
        let shards = shards.zip(&mut self.visited).zip(&mut level);
        let (folder, numbers) = (self.folder.as_ref(), &self.numbers);
        let purpose = self.storage.purpose;
        in_all(&mut self.pool, shards, |(((shard, pending), visited), new)| {
            let mut runs = std::mem::take(pending);
            runs.push(sorted(shard, Place::Memory)?);
            let run = subtract(&runs, visited, place(folder, numbers, purpose))?;
            join(visited, run.clone(), || place(folder, numbers, purpose))?;
            *new = Some(run);
            Ok(())
        })?;
        drop(store);
        let level: Vec<Run> = level.into_iter().flatten().collect();
        let mut message = Vec::new();
        put(&mut message, level.iter().map(|r| r.count).sum());
        put(&mut message, level.iter().map(|r| r.bytes).sum());
        self.levels.push(level);
        self.new = 0;
        for told in gather(&mut *self.storage.network, message)? {
            let mut numbers = Numbers::new(&told);
            self.new += numbers.get();
            self.found.stats.bytes += numbers.get();
        }
        self.found.stats.states += self.new;
        Ok(())
    }

    /// Writes the states of a search that memory does not hold any more into runs. Its last
    /// level was not finished, and is expanded again.
    fn leave_memory(&mut self) -> io::Result<()> {
        let empty = Kept::External(Vec::new());
        let Kept::Memory(store, levels) = std::mem::replace(&mut self.found.kept, empty) else {
            unreachable!("the search was in memory");
        };
        let (folder, numbers) = (self.folder.as_ref(), &self.numbers);
        let by_shard = store.shards.iter().enumerate().zip(&mut self.visited);
        let runs = Mutex::new(vec![Vec::new(); SHARDS]);
        in_all(&mut self.pool, by_shard, |((number, shard), visited)| {
            let mut of_levels = Vec::new();
            for parts in &levels {
                let own = parts.iter().filter(|p| p.shard == number);
                let place = place(folder, numbers, Purpose::Spill);
                of_levels.push(sorted_parts(shard, own, place)?);
            }
            visited.push(subtract(
                &of_levels,
                &[],
                place(folder, numbers, Purpose::Spill),
            )?);
            runs.lock().expect("no worker panics")[number] = of_levels;
            Ok(())
        })?;
        let runs = runs.into_inner().expect("no worker panics");
        self.levels = (0..levels.len())
            .map(|level| runs.iter().map(|of| of[level].clone()).collect())
            .collect();
        let count = |level: &Vec<Run>| level.iter().map(|r| r.count).sum::<u64>();
        self.new = self.levels.last().map_or(0, count);
        self.found.stats.states = self.levels.iter().map(count).sum();
        let runs = self.levels.iter().flatten();
        self.found.stats.bytes = runs.map(|r| r.bytes).sum();
        self.found.end = End::Complete;
        self.found.cut = false;
        Ok(())
    }

    /// Saves a checkpoint, if asked, and removes runs that nothing needs any more.
    fn save(&mut self) -> io::Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let runs = self.levels.iter().flatten();
        let runs = runs.chain(self.visited.iter().flatten());
        let named: HashSet<PathBuf> = runs.filter_map(|r| Some(r.path()?.to_owned())).collect();
        if self.storage.purpose == Purpose::Checkpoint {
            folder.save(self.levels.len() as u64, &self.manifest())?;
            folder.sweep(&named.union(&self.named).cloned().collect())?;
            self.named = named;
        } else {
            folder.sweep(&named)?;
        }
        Ok(())
    }

    fn manifest(&self) -> Vec<u8> {
        let found = &self.found;
        let mut out = Vec::new();
        put(&mut out, self.new);
        put(&mut out, found.stats.states);
        put(&mut out, found.stats.bytes);
        put(&mut out, found.stats.transitions);
        put(&mut out, u64::from(found.bounds.bits()));
        put(&mut out, u64::from(found.length));
        put(&mut out, u64::from(found.fails));
        put(&mut out, u64::from(found.end == End::States));
        put_states(&mut out, &found.targets);
        let stuck: Vec<_> = found.stuck.iter().map(|(state, _)| state.clone()).collect();
        put_states(&mut out, &stuck);
        put(&mut out, found.stuck.as_ref().map_or(0, |s| u64::from(s.1)));
        for runs in self.visited.iter().chain(&self.levels) {
            put(&mut out, runs.len() as u64);
            runs.iter().for_each(|run| put_run(&mut out, run));
        }
        out
    }

    /// Goes back to the last level that all processes have a checkpoint of; whether there is
    /// one.
    fn resume(&mut self) -> Result<bool, Trouble> {
        let Some(folder) = &self.folder else {
            return Ok(false);
        };
        if self.storage.purpose != Purpose::Checkpoint {
            return Ok(false);
        }
        let mut message = Vec::new();
        let mine = folder.levels()?;
        put(&mut message, mine.len() as u64);
        mine.iter().for_each(|&level| put(&mut message, level));
        let mut common: HashSet<u64> = mine.into_iter().collect();
        for told in gather(&mut *self.storage.network, message)? {
            let mut numbers = Numbers::new(&told);
            let count = numbers.get();
            let theirs: HashSet<u64> = (0..count).map(|_| numbers.get()).collect();
            common.retain(|level| theirs.contains(level));
        }
        let Some(level) = common.into_iter().max() else {
            folder.forget_after(0)?;
            folder.sweep(&HashSet::new())?;
            return Ok(false);
        };
        folder.forget_after(level)?;
        let bytes = folder.load(level)?;
        let mut numbers = Numbers::new(&bytes);
        self.new = numbers.get();
        let found = &mut self.found;
        found.stats.states = numbers.get();
        found.stats.bytes = numbers.get();
        found.stats.transitions = numbers.get();
        found.bounds = Bounds::from_bits(numbers.get() as u16);
        found.length = numbers.get() as u32;
        found.fails = numbers.get() == 1;
        if numbers.get() == 1 {
            found.end = End::States;
        }
        found.targets = get_states(&mut numbers);
        if !found.targets.is_empty() {
            found.end = End::Violated;
        }
        let stuck = get_states(&mut numbers).into_iter().next();
        let stuck_level = numbers.get() as u32;
        found.stuck = stuck.map(|state| (state, stuck_level));
        let mut lists = Vec::new();
        for _ in 0..SHARDS as u64 + level {
            let mut runs = Vec::new();
            for _ in 0..numbers.get() {
                runs.extend(get_run(&mut numbers, folder)?);
            }
            lists.push(runs);
        }
        self.levels = lists.split_off(SHARDS);
        self.visited = lists;
        let runs = self.levels.iter().chain(&self.visited).flatten();
        self.named = runs.filter_map(|r| Some(r.path()?.to_owned())).collect();
        self.numbers = AtomicU64::new(folder.sweep(&self.named)?);
        Ok(true)
    }
}

/// Where the next run goes.
fn place(folder: Option<&Folder>, numbers: &AtomicU64, purpose: Purpose) -> Place {
    let Some(folder) = folder else {
        return Place::Memory;
    };
    let path = folder.run(numbers.fetch_add(1, Ordering::Relaxed));
    if purpose == Purpose::Checkpoint {
        Place::File(path)
    } else {
        Place::Large(path)
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
