//! *Sorted runs* of packed states, in memory or in files: what delayed duplicate detection
//! merges and subtracts ([`crate::external`]).
//!
//! A run is a strictly ascending sequence of byte strings in blocks of about 64 kB:
//!
//! ```text
//! block: length of the payload (4 bytes) | states (4) | checksum of the payload (8) | payload
//! payload: for each state, bytes shared with the one before | other bytes | those
//! ```
//!
//! (*front coding*; numbers in variable length). The first state of a block is whole, and an
//! index in memory has it: a look-up of ascending states skips the blocks that cannot hold one
//! ([`Reader::seek`]), so that a small level costs little beside large runs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::pack::{Reader as Numbers, hash, put};

/// Bytes of a block's payload, about.
const BLOCK: usize = 1 << 16;
/// Runs of no more bytes stay in memory.
const SMALL: usize = 1 << 12;
const HEAD: usize = 16;

/// A sorted run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    data: Data,
    index: Arc<Vec<Block>>,
    /// Number of states.
    pub(crate) count: u64,
    /// Length in bytes.
    pub(crate) bytes: u64,
}

#[derive(Clone, Debug)]
enum Data {
    Memory(Arc<Vec<u8>>),
    File(Arc<PathBuf>),
}

#[derive(Debug)]
struct Block {
    first: Box<[u8]>,
    at: u64,
}

/// Says which file an error is about.
pub(crate) fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is damaged"))
}

impl Run {
    /// The file, if it is in one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.data {
            Data::Memory(_) => None,
            Data::File(path) => Some(path),
        }
    }

    /// The bytes, if they are in memory.
    pub(crate) fn memory(&self) -> Option<&[u8]> {
        match &self.data {
            Data::Memory(bytes) => Some(bytes),
            Data::File(_) => None,
        }
    }

    /// The run in a file that a [`Writer`] has finished, of this many states and bytes.
    pub(crate) fn open(path: PathBuf, count: u64, bytes: u64) -> io::Result<Self> {
        let opened = File::open(&path).and_then(|mut file| {
            let length = file.metadata()?.len();
            let index = index(&mut file, count, bytes)?;
            if length == bytes {
                Ok(index)
            } else {
                Err(damaged("the file"))
            }
        });
        let index = opened.map_err(|e| about(&path, &e))?;
        Ok(Self {
            data: Data::File(Arc::new(path)),
            index: Arc::new(index),
            count,
            bytes,
        })
    }

    /// The run with these bytes and this many states.
    pub(crate) fn of_bytes(bytes: Vec<u8>, count: u64) -> io::Result<Self> {
        let length = bytes.len() as u64;
        let index = index(&mut io::Cursor::new(&bytes), count, length)?;
        Ok(Self {
            data: Data::Memory(Arc::new(bytes)),
            index: Arc::new(index),
            count,
            bytes: length,
        })
    }

    /// Reads it from the beginning.
    pub(crate) fn reader(&self) -> io::Result<Reader> {
        let source = match &self.data {
            Data::Memory(bytes) => Source::Memory(Arc::clone(bytes)),
            Data::File(path) => {
                let file = File::open(&**path).map_err(|e| about(path, &e))?;
                Source::File(file, Arc::clone(path))
            }
        };
        Ok(Reader {
            source,
            index: Arc::clone(&self.index),
            next_block: 0,
            block: Vec::new(),
            at: 0,
            left: 0,
            state: Vec::new(),
            ended: false,
        })
    }
}

/// The index of a run of this many states and bytes, all of which are read.
fn index(source: &mut impl Read, count: u64, bytes: u64) -> io::Result<Vec<Block>> {
    let (mut index, mut at, mut states) = (Vec::new(), 0, 0);
    let mut block = Vec::new();
    while at < bytes {
        states += u64::from(read_block(source, &mut block)?);
        let mut numbers = Numbers::new(&block);
        numbers.get();
        let len = numbers.get() as usize;
        index.push(Block {
            first: numbers.take(len).into(),
            at,
        });
        at += (HEAD + block.len()) as u64;
    }
    if states == count && at == bytes {
        Ok(index)
    } else {
        Err(damaged("a run"))
    }
}

/// Reads a block at the file's place: its payload, and how many states it has.
fn read_block(file: &mut impl Read, block: &mut Vec<u8>) -> io::Result<u32> {
    let mut head = [0; HEAD];
    file.read_exact(&mut head)?;
    let (len, count, sum) = split(&head);
    if len > 4 * BLOCK {
        return Err(damaged("a block"));
    }
    block.resize(len, 0);
    file.read_exact(block)?;
    if hash(block) != sum {
        return Err(damaged("a block"));
    }
    Ok(count)
}

fn split(head: &[u8; HEAD]) -> (usize, u32, u64) {
    let number = |from: usize| {
        let bytes = head[from..from + 4].iter().rev();
        bytes.fold(0_u32, |n, &b| n << 8 | u32::from(b))
    };
    let sum = u64::from(number(12)) << 32 | u64::from(number(8));
    (number(0) as usize, number(4), sum)
}

enum Source {
    Memory(Arc<Vec<u8>>),
    File(File, Arc<PathBuf>),
}

/// Reads a run in ascending order.
pub(crate) struct Reader {
    source: Source,
    index: Arc<Vec<Block>>,
    /// The block after the one that is being read.
    next_block: usize,
    block: Vec<u8>,
    at: usize,
    left: u32,
    state: Vec<u8>,
    ended: bool,
}

impl Reader {
    /// The state at which the reader stands, after `advance` or `seek` said that there is one.
    pub(crate) fn state(&self) -> &[u8] {
        &self.state
    }

    /// Goes to the next state; `false` if there is none.
    pub(crate) fn advance(&mut self) -> io::Result<bool> {
        if self.left == 0 && !self.load(self.next_block)? {
            return Ok(false);
        }
        let shared = self.number();
        let more = self.number();
        self.state.truncate(shared);
        let rest = &self.block[self.at..self.at + more];
        self.state.extend_from_slice(rest);
        self.at += more;
        self.left -= 1;
        Ok(true)
    }

    /// Goes to the first state that is not below `state`, never back; whether it is `state`.
    pub(crate) fn seek(&mut self, state: &[u8]) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let skips = |block: &Block| *block.first <= *state;
        if self.index.get(self.next_block).is_some_and(skips) {
            let later = &self.index[self.next_block..];
            let last = self.next_block + later.partition_point(skips) - 1;
            self.load(last)?;
            self.advance()?;
        } else if self.next_block == 0 && !self.advance()? {
            return Ok(false);
        }
        while *self.state < *state {
            if !self.advance()? {
                return Ok(false);
            }
        }
        Ok(self.state == state)
    }

    #[inline]
    fn number(&mut self) -> usize {
        let first = self.block[self.at];
        if first < 0x80 {
            self.at += 1;
            return usize::from(first);
        }
        let mut numbers = Numbers::new(&self.block[self.at..]);
        let number = numbers.get() as usize;
        self.at += numbers.place();
        number
    }

    fn load(&mut self, block: usize) -> io::Result<bool> {
        let Some(found) = self.index.get(block) else {
            self.ended = true;
            return Ok(false);
        };
        self.left = match &mut self.source {
            Source::Memory(bytes) => read_block(&mut &bytes[found.at as usize..], &mut self.block)?,
            Source::File(file, path) => {
                // Blocks follow each other: a seek is needed only after some were skipped.
                let read = if block == self.next_block && block > 0 {
                    read_block(file, &mut self.block)
                } else {
                    let sought = file.seek(SeekFrom::Start(found.at));
                    sought.and_then(|_| read_block(file, &mut self.block))
                };
                read.map_err(|e| about(path, &e))?
            }
        };
        self.next_block = block + 1;
        self.at = 0;
        self.state.clear();
        Ok(true)
    }
}

/// Where a run is to be written.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Into memory.
    Memory,
    /// Into this file, if it is larger than some blocks.
    File(PathBuf),
}

/// Writes a run.
pub(crate) struct Writer {
    place: Place,
    /// What is not in the file.
    out: Vec<u8>,
    file: Option<File>,
    block: Vec<u8>,
    held: u32,
    last: Vec<u8>,
    index: Vec<Block>,
    count: u64,
    bytes: u64,
}

impl Writer {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            place,
            out: Vec::new(),
            file: None,
            block: Vec::new(),
            held: 0,
            last: Vec::new(),
            index: Vec::new(),
            count: 0,
            bytes: 0,
        }
    }

    /// Appends a state, which must be above all before.
    pub(crate) fn push(&mut self, state: &[u8]) -> io::Result<()> {
        debug_assert!(
            self.count == 0 || *self.last < *state,
            "a run strictly ascends"
        );
        let shared = if self.held == 0 {
            self.index.push(Block {
                first: state.into(),
                at: self.bytes,
            });
            0
        } else {
            let pairs = self.last.iter().zip(state);
            pairs.take_while(|(a, b)| a == b).count()
        };
        put(&mut self.block, shared as u64);
        put(&mut self.block, (state.len() - shared) as u64);
        self.block.extend_from_slice(&state[shared..]);
        self.last.truncate(shared);
        self.last.extend_from_slice(&state[shared..]);
        self.held += 1;
        self.count += 1;
        if self.block.len() >= BLOCK {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        let len = self.block.len() as u32;
        self.out.extend_from_slice(&len.to_le_bytes());
        self.out.extend_from_slice(&self.held.to_le_bytes());
        self.out.extend_from_slice(&hash(&self.block).to_le_bytes());
        self.out.extend_from_slice(&self.block);
        self.bytes += (HEAD + self.block.len()) as u64;
        self.block.clear();
        self.held = 0;
        match &self.place {
            Place::Memory => Ok(()),
            Place::File(_) => self.flush(SMALL),
        }
    }

    /// Writes out what is more than `most` bytes.
    fn flush(&mut self, most: usize) -> io::Result<()> {
        let Place::File(path) = &self.place else {
            return Ok(());
        };
        if self.out.len() > most {
            let of_file = |e: &io::Error| about(path, e);
            if self.file.is_none() {
                self.file = Some(File::create(path).map_err(|e| of_file(&e))?);
            }
            if let Some(file) = &mut self.file {
                file.write_all(&self.out).map_err(|e| of_file(&e))?;
            }
            self.out.clear();
        }
        Ok(())
    }

    /// Ends the run.
    pub(crate) fn finish(mut self) -> io::Result<Run> {
        if self.held > 0 {
            self.end_block()?;
        }
        if self.file.is_some() {
            self.flush(0)?;
        }
        let data = match (self.place, self.file) {
            (Place::File(path), Some(_)) => Data::File(Arc::new(path)),
            (Place::Memory | Place::File(_), _) => {
                self.out.shrink_to_fit();
                Data::Memory(Arc::new(self.out))
            }
        };
        Ok(Run {
            data,
            index: Arc::new(self.index),
            count: self.count,
            bytes: self.bytes,
        })
    }
}

/// The union of some runs, read in ascending order without duplicates.
pub(crate) struct Union {
    readers: Vec<Reader>,
    state: Vec<u8>,
    begun: bool,
}

impl Union {
    pub(crate) fn of(runs: &[Run]) -> io::Result<Self> {
        let mut readers = Vec::new();
        for run in runs {
            let mut reader = run.reader()?;
            if reader.advance()? {
                readers.push(reader);
            }
        }
        Ok(Self {
            readers,
            state: Vec::new(),
            begun: false,
        })
    }

    /// The next state.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if self.begun {
            let mut ended = false;
            for reader in &mut self.readers {
                if reader.state == self.state && !reader.advance()? {
                    ended = true;
                }
            }
            if ended {
                self.readers.retain(|r| !r.ended);
            }
        }
        self.begun = true;
        let least = self.readers.iter().map(Reader::state).min();
        let Some(least) = least else {
            return Ok(None);
        };
        self.state.clear();
        self.state.extend_from_slice(least);
        Ok(Some(&self.state))
    }
}

/// The states of `runs` that none of `known` holds.
pub(crate) fn subtract(runs: &[Run], known: &[Run], place: Place) -> io::Result<Run> {
    let mut union = Union::of(runs)?;
    let mut known: Vec<Reader> = known.iter().map(Run::reader).collect::<io::Result<_>>()?;
    let mut writer = Writer::new(place);
    'states: while let Some(state) = union.next()? {
        for reader in &mut known {
            if reader.seek(state)? {
                continue 'states;
            }
        }
        writer.push(state)?;
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Byte strings with long common beginnings, of all lengths up to some hundred.
    fn states(seed: u64, count: u64) -> BTreeSet<Vec<u8>> {
        let mut number = seed;
        (0..count)
            .map(|_| {
                number = hash(&number.to_le_bytes());
                let mut state = vec![7; (number % 200) as usize];
                state.extend_from_slice(&(number >> 40).to_le_bytes()[..3]);
                state
            })
            .collect()
    }

    fn run(states: &BTreeSet<Vec<u8>>, place: Place) -> Run {
        let mut writer = Writer::new(place);
        for state in states {
            writer.push(state).unwrap();
        }
        writer.finish().unwrap()
    }

    fn all(run: &Run) -> Vec<Vec<u8>> {
        let mut reader = run.reader().unwrap();
        let mut states = Vec::new();
        while reader.advance().unwrap() {
            states.push(reader.state().to_vec());
        }
        states
    }

    #[test]
    fn differences_are_those_of_sets_in_memory_and_in_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| Place::File(folder.path().join(name));
        for (seed, count) in [(1, 0), (2, 1), (3, 300), (4, 40_000)] {
            let (a, b) = (states(seed, count), states(seed + 10, count / 2));
            let (old, older) = (states(seed + 20, 20_000), states(seed, count / 3));
            let runs = [run(&a, Place::Memory), run(&b, file("b"))];
            let known = [run(&old, file("old")), run(&older, Place::Memory)];
            let new = subtract(&runs, &known, file("new")).unwrap();
            let union: BTreeSet<_> = a.union(&b).cloned().collect();
            let union = union.into_iter();
            let expected: Vec<_> = union
                .filter(|s| !old.contains(s) && !older.contains(s))
                .collect();
            assert_eq!(all(&new), expected);
            assert_eq!(new.count, expected.len() as u64);
            let path = folder.path().join("new");
            let again = match new.memory() {
                Some(bytes) => Run::of_bytes(bytes.to_vec(), new.count),
                None => Run::open(path, new.count, new.bytes),
            };
            assert_eq!(all(&again.unwrap()), expected);
        }
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let run = run(&states(1, 20_000), Place::File(path.clone()));
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(Run::open(path.clone(), run.count, run.bytes).is_err());
        let mut reader = run.reader().unwrap();
        let refused = loop {
            match reader.advance() {
                Ok(true) => {}
                Ok(false) => break false,
                Err(_) => break true,
            }
        };
        assert!(refused);
        bytes.pop();
        std::fs::write(&path, &bytes).unwrap();
        assert!(Run::open(path, run.count, run.bytes).is_err());
    }
}
