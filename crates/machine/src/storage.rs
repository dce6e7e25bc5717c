//! Where the states of a search are kept if not simply in memory ([`Storage`]), and
//! *checkpoints*: what is needed to go on after the process was killed.
//!
//! A checkpoint is a folder. `question` says of which program and options it is; each search of
//! an exploration has a folder of its own, in the order in which they are made, with sorted runs
//! (`N.run`, never changed once they are written) and the last two *manifests* (`level-N`), each
//! of which names the runs that make up the search after that level; it holds small runs itself.
//! A manifest is written under another name and renamed, so that it is there as a whole or not at
//! all; runs that no manifest names are removed afterwards. Two are kept because processes that
//! search together may be killed while some have saved theirs and others have not: they are never
//! further apart.
//!
//! A manifest is saved at the end of a level, if saving the last one took at most a twentieth of
//! the time since. Killing the process at any moment loses what was done after the last. What the
//! operating system had not written when the machine lost power is found by checksums, and
//! refused.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::network::{Alone, Network};
use crate::pack::{Reader, hash, put};
use crate::runs::{Run, about};
use crate::visit::Partition;

/// First bytes of a manifest: the version of the format.
const MAGIC: &[u8] = b"palisade checkpoint 1\n";

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// It has the checkpoint of another program, or of other options.
    #[error("{} has a checkpoint of another question", .0.display())]
    AnotherQuestion(PathBuf),
    /// It has a checkpoint already.
    #[error("{} has a checkpoint already", .0.display())]
    Taken(PathBuf),
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl StorageError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::AnotherQuestion(_) => {
                "give the same program, model and limits as before, or another folder"
            }
            Self::Taken(_) => "go on with --resume, or give another folder",
            Self::Io(_) => "give a folder that can be written",
        }
    }
}

/// What the files of a search are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// There are none: everything is in memory.
    None,
    /// States that memory does not hold.
    Spill,
    /// Going on after the process was killed.
    Checkpoint,
}

/// Where the states of an exploration are kept, and with whom the search is shared.
pub struct Storage<'n> {
    pub(crate) network: Box<dyn Network + 'n>,
    pub(crate) purpose: Purpose,
    folder: PathBuf,
    /// Searches that were begun.
    searches: u32,
}

impl Storage<'static> {
    /// States go to a folder in `folder` when memory does not hold them. It is removed at the end.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn spill(folder: &Path) -> Result<Self, StorageError> {
        Self::shared(Box::new(Alone)).spilling(folder)
    }

    /// The search can go on after it was killed.
    ///
    /// # Errors
    /// The folder cannot be made, is taken, or has another checkpoint.
    pub fn checkpoint(folder: &Path, question: &str, resume: bool) -> Result<Self, StorageError> {
        Self::shared(Box::new(Alone)).with_checkpoint(folder, question, resume)
    }
}

impl<'n> Storage<'n> {
    /// States are partitioned among the processes of `network`, in memory.
    pub fn shared(network: Box<dyn Network + 'n>) -> Self {
        Self {
            network,
            purpose: Purpose::None,
            folder: PathBuf::new(),
            searches: 0,
        }
    }

    /// The same, with what memory does not hold in a folder in `folder`.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn spilling(mut self, folder: &Path) -> Result<Self, StorageError> {
        let name = format!("palisade-{}-{}", std::process::id(), self.network.me());
        self.folder = folder.join(name);
        make(&self.folder)?;
        self.purpose = Purpose::Spill;
        Ok(self)
    }

    /// The same, with checkpoints in `folder`: one for each process.
    ///
    /// # Errors
    /// The folder cannot be made, is taken, or has another checkpoint.
    pub fn with_checkpoint(
        mut self,
        folder: &Path,
        question: &str,
        resume: bool,
    ) -> Result<Self, StorageError> {
        let (me, peers) = (self.network.me(), self.network.peers());
        self.folder = if peers == 1 {
            folder.to_owned()
        } else {
            folder.join(format!("process-{me}"))
        };
        make(&self.folder)?;
        let asked = format!(
            "{} {:016x} {me} {peers}\n",
            env!("CARGO_PKG_VERSION"),
            hash(question.as_bytes())
        );
        let path = self.folder.join("question");
        let found = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(about(&path, &error).into()),
        };
        match found {
            Some(_) if !resume => return Err(StorageError::Taken(folder.to_owned())),
            Some(text) if text != asked => {
                return Err(StorageError::AnotherQuestion(folder.to_owned()));
            }
            Some(_) => {}
            // Killed before there was anything to save.
            None => replace(&path, asked.as_bytes())?,
        }
        self.purpose = Purpose::Checkpoint;
        Ok(self)
    }

    /// Which states belong to this process.
    pub(crate) fn partition(&self) -> Partition {
        Partition {
            me: self.network.me(),
            peers: self.network.peers(),
        }
    }

    /// Whether a search goes to disk when memory is used up.
    pub(crate) fn spills(&self) -> bool {
        self.purpose != Purpose::None
    }

    /// The folder of the next search, if it has files.
    pub(crate) fn next_search(&mut self) -> io::Result<Option<Folder>> {
        let number = self.searches;
        self.searches += 1;
        if self.purpose == Purpose::None {
            return Ok(None);
        }
        let path = self.folder.join(format!("search-{number}"));
        make(&path)?;
        Ok(Some(Folder { path }))
    }
}

impl Drop for Storage<'_> {
    fn drop(&mut self) {
        if self.purpose == Purpose::Spill {
            // Nobody needs it any more, and nothing depends on its being gone.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|e| about(folder, &e))
}

/// Writes a file that is there as a whole or not at all.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes).map_err(|e| about(&new, &e))?;
    fs::rename(&new, path).map_err(|e| about(path, &e))
}

/// The files of one search.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The file of the run with this number.
    pub(crate) fn run(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number}.run"))
    }

    fn manifest(&self, level: u64) -> PathBuf {
        self.path.join(format!("level-{level}"))
    }

    /// The levels that have a manifest, ascending.
    pub(crate) fn levels(&self) -> io::Result<Vec<u64>> {
        let mut levels: Vec<u64> = self
            .names()?
            .iter()
            .filter_map(|name| name.strip_prefix("level-")?.parse().ok())
            .collect();
        levels.sort_unstable();
        Ok(levels)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.path).map_err(|e| about(&self.path, &e))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| about(&self.path, &e))?;
            names.extend(entry.file_name().into_string().ok());
        }
        Ok(names)
    }

    /// Saves the manifest of a level; of others, that of `before` stays.
    pub(crate) fn save(&self, level: u64, before: Option<u64>, manifest: &[u8]) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&hash(manifest).to_le_bytes());
        bytes.extend_from_slice(manifest);
        replace(&self.manifest(level), &bytes)?;
        self.keep(|old| old == level || Some(old) == before)
    }

    /// Removes the manifests of other levels.
    pub(crate) fn keep(&self, keeps: impl Fn(u64) -> bool) -> io::Result<()> {
        for level in self.levels()? {
            if !keeps(level) {
                remove(&self.manifest(level))?;
            }
        }
        Ok(())
    }

    /// Reads the manifest of a level.
    pub(crate) fn load(&self, level: u64) -> io::Result<Vec<u8>> {
        let path = self.manifest(level);
        let bytes = fs::read(&path).map_err(|e| about(&path, &e))?;
        let rest = bytes.strip_prefix(MAGIC);
        let rest = rest.and_then(|rest| rest.split_first_chunk::<8>());
        match rest {
            Some((sum, manifest)) if hash(manifest) == u64::from_le_bytes(*sum) => {
                Ok(manifest.to_vec())
            }
            Some(_) | None => {
                let text = format!("{} is damaged", path.display());
                Err(io::Error::new(io::ErrorKind::InvalidData, text))
            }
        }
    }

    /// Removes the runs that are not among `named`; the first number that is free.
    pub(crate) fn sweep(&self, named: &HashSet<PathBuf>) -> io::Result<u64> {
        let mut free = 0;
        for name in self.names()? {
            let Some(number) = name.strip_suffix(".run") else {
                continue;
            };
            let path = self.path.join(&name);
            if named.contains(&path) {
                free = free.max(number.parse().map_or(0, |n: u64| n + 1));
            } else {
                remove(&path)?;
            }
        }
        Ok(free)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).map_err(|e| about(path, &e))
}

/// Appends what finds a run again: its number (one more, 0 for one in memory), states and bytes,
/// and those that are in memory.
pub(crate) fn put_run(out: &mut Vec<u8>, run: &Run) {
    let stem = run.path().and_then(Path::file_stem);
    let number = stem.and_then(|s| s.to_str()?.parse::<u64>().ok());
    put(out, number.map_or(0, |n| n + 1));
    put(out, run.count);
    put(out, run.bytes);
    out.extend_from_slice(run.memory().unwrap_or_default());
}

/// Reads what [`put_run`] wrote.
pub(crate) fn get_run(reader: &mut Reader<'_>, folder: &Folder) -> io::Result<Run> {
    let (number, count, bytes) = (reader.get(), reader.get(), reader.get());
    match number.checked_sub(1) {
        Some(number) => Run::open(folder.run(number), count, bytes),
        None => Run::of_bytes(reader.take(bytes as usize).to_vec(), count),
    }
}
