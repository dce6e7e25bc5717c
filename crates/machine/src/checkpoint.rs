//! Checkpoints of a search ([`crate::storage`] has the files): what a manifest holds, and how a
//! search goes on from one.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use crate::external::{External, Trouble};
use crate::network::gather;
use crate::options::Bounds;
use crate::pack::{Reader as Numbers, hash, put};
use crate::search::{End, Resident};
use crate::sight::{get_states, put_states};
use crate::storage::{Purpose, get_run, put_run};
use crate::store::{SHARDS, StateId, shard_of};

/// How much longer states are in memory than in runs, about.
const IN_MEMORY: u64 = 6;

/// The last checkpoint.
pub(crate) struct Saved {
    /// Its number of levels.
    pub(crate) level: Option<u64>,
    /// Files that its manifest names.
    files: HashSet<PathBuf>,
    pub(crate) at: Instant,
    /// How long saving took.
    pub(crate) cost: Duration,
    /// Whether it is time for the next: process 0 decides.
    pub(crate) is_due: bool,
}

impl Default for Saved {
    fn default() -> Self {
        Self {
            level: None,
            files: HashSet::new(),
            at: Instant::now(),
            cost: Duration::ZERO,
            is_due: true,
        }
    }
}

impl External<'_, '_, '_, '_, '_> {
    /// Saves a checkpoint, if asked and due, and removes runs that nothing needs any more. That
    /// of the last level is always saved.
    pub(crate) fn save(&mut self) -> io::Result<()> {
        let start = Instant::now();
        let is_last = self.new == 0 || self.found.end != End::Complete;
        let saves = self.storage.purpose == Purpose::Checkpoint && (self.saved.is_due || is_last);
        if saves {
            self.write_levels()?;
        }
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let runs = self.levels.iter().flatten();
        let runs = runs.chain(self.visited.iter().flatten());
        let files: HashSet<PathBuf> = runs.filter_map(|r| Some(r.path()?.to_owned())).collect();
        if self.storage.purpose == Purpose::Spill {
            if self.resident.is_none() {
                folder.sweep(&files)?;
            }
        } else if saves {
            let level = self.levels.len() as u64;
            folder.save(level, self.saved.level, &self.manifest())?;
            folder.sweep(&files.union(&self.saved.files).cloned().collect())?;
            self.saved = Saved {
                level: Some(level),
                files,
                at: Instant::now(),
                cost: start.elapsed(),
                is_due: false,
            };
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
            for run in runs {
                put_run(&mut out, run);
            }
        }
        out
    }

    /// Goes back to the last level that all processes have a checkpoint of; whether there is
    /// one.
    pub(crate) fn resume(&mut self) -> Result<bool, Trouble> {
        let Some(folder) = &self.folder else {
            return Ok(false);
        };
        if self.storage.purpose != Purpose::Checkpoint {
            return Ok(false);
        }
        let mut message = Vec::new();
        let mine = folder.levels()?;
        put(&mut message, mine.len() as u64);
        for &level in &mine {
            put(&mut message, level);
        }
        let mut common: HashSet<u64> = mine.into_iter().collect();
        for told in gather(&mut *self.storage.network, message)? {
            let mut numbers = Numbers::new(&told);
            let count = numbers.get();
            let theirs: HashSet<u64> = (0..count).map(|_| numbers.get()).collect();
            common.retain(|level| theirs.contains(level));
        }
        let Some(level) = common.into_iter().max() else {
            folder.keep(|_| false)?;
            folder.sweep(&HashSet::new())?;
            return Ok(false);
        };
        folder.keep(|one| one == level)?;
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
                runs.push(get_run(&mut numbers, folder)?);
            }
            lists.push(runs);
        }
        self.levels = lists.split_off(SHARDS);
        self.visited = lists;
        self.depth = self.levels.len();
        let runs = self.levels.iter().chain(&self.visited).flatten();
        self.saved.files = runs.filter_map(|r| Some(r.path()?.to_owned())).collect();
        self.saved.level = Some(level);
        self.numbers = AtomicU64::new(folder.sweep(&self.saved.files)?);
        self.enter_memory()?;
        Ok(true)
    }

    /// Reads the levels of a checkpoint into memory, if it holds them.
    fn enter_memory(&mut self) -> io::Result<()> {
        let bytes: u64 = self.levels.iter().flatten().map(|r| r.bytes).sum();
        let most = self.task.most_memory().unwrap_or(u64::MAX);
        if bytes.saturating_mul(IN_MEMORY) > most {
            let is_merged = self.visited.iter().any(|runs| !runs.is_empty());
            return if is_merged {
                Ok(())
            } else {
                self.merge_levels()
            };
        }
        let mut resident = Resident::new();
        resident.parents = false;
        for level in &self.levels {
            for run in level {
                let mut reader = run.reader()?;
                while reader.advance()? {
                    let hash = hash(reader.state());
                    let shard = &mut resident.store.shards[shard_of(hash)];
                    shard.insert(hash, reader.state(), StateId::NONE);
                }
            }
            let parts = resident.store.next_level();
            resident.levels.push(parts);
        }
        self.visited = vec![Vec::new(); SHARDS];
        self.resident = Some(resident);
        Ok(())
    }
}
