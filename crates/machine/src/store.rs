//! The *store* of visited states. It has a fixed number of shards, chosen by
//! hash, so that workers can fill different shards at the same time and the
//! order within each does not depend on their number.
//!
//! A shard is an arena of records in the order of insertion, hence by levels of
//! the breadth-first search, and an open-addressing table of offsets into it:
//!
//! ```text
//! record: length (2 bytes) | parent (5 bytes) | packed state
//! table entry: 24 bits of the hash | 40 bits of offset + 1; 0 is free
//! ```
//!
//! The arena consists of pieces, so that growing it copies little; offsets go on
//! as if all pieces were full. A record does not cross the end of a piece.

use crate::pack::hash;

/// Number of shards.
pub(crate) const SHARDS: usize = 16;
const SHARD_BITS: u32 = SHARDS.trailing_zeros();
const PIECE: usize = 1 << 16;
const HEAD: usize = 7;
const OFFSET_MASK: u64 = (1 << 40) - 1;

/// A stored state: offset in its shard, then the shard in the lowest bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct StateId(pub(crate) u64);

impl StateId {
    /// No state: the parent of initial states.
    pub(crate) const NONE: Self = Self(OFFSET_MASK);

    fn new(shard: usize, offset: u64) -> Self {
        Self(offset << SHARD_BITS | shard as u64)
    }

    pub(crate) fn shard(self) -> usize {
        self.0 as usize & (SHARDS - 1)
    }

    fn offset(self) -> u64 {
        self.0 >> SHARD_BITS
    }
}

/// The shard of a hash.
#[inline]
pub(crate) fn shard_of(hash: u64) -> usize {
    (hash >> (64 - SHARD_BITS)) as usize
}

/// One shard.
pub(crate) struct Shard {
    number: usize,
    pieces: Vec<Vec<u8>>,
    /// Bytes of all pieces.
    held: u64,
    table: Vec<u64>,
    count: u64,
    /// Parts of the last level: offset and number of records.
    parts: Vec<(u64, u32)>,
}

/// Most records in a part.
const PART: u32 = 256;

impl Shard {
    fn new(number: usize) -> Self {
        Self {
            number,
            pieces: Vec::new(),
            held: 0,
            table: vec![0; 16],
            count: 0,
            parts: Vec::new(),
        }
    }

    #[inline]
    fn record(&self, offset: u64) -> &[u8] {
        let piece = &self.pieces[offset as usize / PIECE];
        let at = offset as usize % PIECE;
        let len = usize::from(u16::from_le_bytes([piece[at], piece[at + 1]]));
        &piece[at..at + HEAD + len]
    }

    /// Where the state is, or the table's free entry for it.
    #[inline]
    fn probe(&self, hash: u64, bytes: &[u8]) -> Result<u64, usize> {
        let mask = self.table.len() - 1;
        let tag = hash << SHARD_BITS >> 40;
        let mut at = hash as usize & mask;
        loop {
            let entry = self.table[at];
            if entry == 0 {
                return Err(at);
            }
            if entry >> 40 == tag {
                let offset = (entry & OFFSET_MASK) - 1;
                if &self.record(offset)[HEAD..] == bytes {
                    return Ok(offset);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// The table's entry at which a look-up begins.
    #[inline]
    pub(crate) fn entry(&self, hash: u64) -> u64 {
        self.table[hash as usize & (self.table.len() - 1)]
    }

    /// Some byte of the record that `entry` names, if it may be that of `hash`.
    #[inline]
    pub(crate) fn touch(&self, entry: u64, hash: u64) -> u8 {
        if entry == 0 || entry >> 40 != hash << SHARD_BITS >> 40 {
            return 0;
        }
        let offset = (entry & OFFSET_MASK) as usize - 1;
        self.pieces[offset / PIECE][offset % PIECE]
    }

    /// The state with these bytes.
    #[inline]
    pub(crate) fn find(&self, hash: u64, bytes: &[u8]) -> Option<StateId> {
        let found = self.probe(hash, bytes).ok();
        found.map(|offset| StateId::new(self.number, offset))
    }

    /// Adds a state of the newest level; `false` if it was there.
    pub(crate) fn insert(&mut self, hash: u64, bytes: &[u8], parent: StateId) -> bool {
        let Err(entry) = self.probe(hash, bytes) else {
            return false;
        };
        let offset = self.append(bytes, parent);
        let tag = hash << SHARD_BITS >> 40;
        self.table[entry] = tag << 40 | (offset + 1);
        self.count += 1;
        if self.count as usize * 4 > self.table.len() * 3 {
            self.grow();
        }
        match self.parts.last_mut() {
            Some((_, count)) if *count < PART => *count += 1,
            _ => self.parts.push((offset, 1)),
        }
        true
    }

    fn append(&mut self, bytes: &[u8], parent: StateId) -> u64 {
        let len = HEAD + bytes.len();
        if self.pieces.last().is_none_or(|p| p.len() + len > PIECE) {
            self.pieces.push(Vec::new());
        }
        let offset = self.end();
        let piece = self
            .pieces
            .last_mut()
            .expect("a piece was just made sure of");
        if piece.capacity() - piece.len() < len {
            // Double, but not beyond a piece.
            let more = piece.len().max(256).min(PIECE - piece.len()).max(len);
            let before = piece.capacity();
            piece.reserve_exact(more);
            self.held += (piece.capacity() - before) as u64;
        }
        piece.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
        piece.extend_from_slice(&parent.0.to_le_bytes()[..5]);
        piece.extend_from_slice(bytes);
        offset
    }

    /// Offset of the next record, if it fits the last piece.
    fn end(&self) -> u64 {
        let last = self.pieces.last().map_or(0, Vec::len);
        (self.pieces.len().saturating_sub(1) * PIECE + last) as u64
    }

    fn grow(&mut self) {
        let size = self.table.len() * 2;
        let mut table = vec![0; size];
        for entry in std::mem::take(&mut self.table) {
            if entry != 0 {
                let bytes = &self.record((entry & OFFSET_MASK) - 1)[HEAD..];
                let mut at = hash(bytes) as usize & (size - 1);
                while table[at] != 0 {
                    at = (at + 1) & (size - 1);
                }
                table[at] = entry;
            }
        }
        self.table = table;
    }

    /// Calls `f` on the records of a part.
    pub(crate) fn for_each<'a>(&'a self, part: Part, mut f: impl FnMut(StateId, &'a [u8])) {
        let mut offset = part.offset;
        for _ in 0..part.count {
            let piece = offset as usize / PIECE;
            if offset as usize % PIECE == self.pieces[piece].len() {
                offset = ((piece + 1) * PIECE) as u64;
            }
            let record = self.record(offset);
            f(StateId::new(self.number, offset), &record[HEAD..]);
            offset += record.len() as u64;
        }
    }

    /// Its number.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Ends the newest level and begins another; its parts.
    pub(crate) fn next_level(&mut self) -> Vec<Part> {
        let parts = std::mem::take(&mut self.parts);
        let part = |(offset, count)| Part {
            shard: self.number,
            offset,
            count,
        };
        parts.into_iter().map(part).collect()
    }

    fn bytes(&self) -> u64 {
        self.held + self.table.len() as u64 * 8
    }
}

/// Some consecutive records of a shard, all of one level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) shard: usize,
    offset: u64,
    pub(crate) count: u32,
}

/// All shards.
pub(crate) struct Store {
    pub(crate) shards: Vec<Shard>,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(Shard::new).collect(),
        }
    }

    /// Ends the newest level and begins another; its parts.
    pub(crate) fn next_level(&mut self) -> Vec<Part> {
        self.shards.iter_mut().flat_map(Shard::next_level).collect()
    }

    /// Number of states.
    pub(crate) fn len(&self) -> u64 {
        self.shards.iter().map(|s| s.count).sum()
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> u64 {
        self.shards.iter().map(Shard::bytes).sum()
    }

    /// The state with these bytes.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<StateId> {
        let hash = hash(bytes);
        self.shards[shard_of(hash)].find(hash, bytes)
    }

    /// The state from which `id` was reached first.
    pub(crate) fn parent(&self, id: StateId) -> Option<StateId> {
        let record = self.shards[id.shard()].record(id.offset());
        let mut parent = [0; 8];
        parent[..5].copy_from_slice(&record[2..HEAD]);
        let parent = StateId(u64::from_le_bytes(parent));
        (parent != StateId::NONE).then_some(parent)
    }

    /// The packed state of `id`.
    pub(crate) fn state(&self, id: StateId) -> &[u8] {
        &self.shards[id.shard()].record(id.offset())[HEAD..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_again_with_parent() {
        let mut shard = Shard::new(3);
        let bytes = |i: u32| i.to_le_bytes().repeat(1 + (i % 40) as usize);
        for i in 0..5000 {
            assert!(shard.insert(hash(&bytes(i)), &bytes(i), StateId(u64::from(i))));
        }
        let first = shard.next_level();
        for i in 5000..20_000 {
            assert!(shard.insert(hash(&bytes(i)), &bytes(i), StateId(u64::from(i))));
        }
        let second = shard.next_level();
        let mut seen = 0;
        for part in first.iter().chain(&second) {
            shard.for_each(*part, |_, packed| {
                assert_eq!(packed, bytes(seen));
                seen += 1;
            });
        }
        assert_eq!(seen, 20_000);
        let mut store = Store::new();
        store.shards[3] = shard;
        for i in (0..20_000).step_by(7) {
            let shard = &store.shards[3];
            let id = shard.find(hash(&bytes(i)), &bytes(i)).unwrap();
            assert_eq!(store.parent(id), Some(StateId(u64::from(i))));
        }
        assert_eq!(store.shards[3].find(hash(b"no"), b"no"), None);
    }
}
