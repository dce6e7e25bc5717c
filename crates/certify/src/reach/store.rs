//! The *store* of a search: packed states, each once, in the order in which they were found. All
//! records have the same number of bytes; they stand in blocks that never move, and a table with
//! open addressing has the number of each, with 32 bits of its hash beside it.

/// Records of one block.
const BLOCK: usize = 1 << 14;
/// Slots of the first table.
const FIRST: usize = 1 << 10;

/// A set of records with numbers.
pub(super) struct Store {
    width: usize,
    blocks: Vec<Box<[u8]>>,
    len: usize,
    /// Hash and number plus one; 0 is free.
    table: Vec<u64>,
}

impl Store {
    /// For records of `width` bytes.
    pub(super) fn new(width: usize) -> Self {
        Self {
            width,
            blocks: Vec::new(),
            len: 0,
            table: vec![0; FIRST],
        }
    }

    /// How many records there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The record with this number.
    pub(super) fn record(&self, number: usize) -> &[u8] {
        let first = number % BLOCK * self.width;
        &self.blocks[number / BLOCK][first..first + self.width]
    }

    /// Adds a record unless it is there; its number.
    pub(super) fn insert(&mut self, record: &[u8]) -> usize {
        let hash = hash(record);
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let entry = self.table[slot];
            if entry == 0 {
                break;
            }
            let number = (entry as u32 - 1) as usize;
            if (entry >> 32) as u32 == hash && self.record(number) == record {
                return number;
            }
            slot = (slot + 1) & mask;
        }
        assert!(self.len < u32::MAX as usize, "records have 32-bit numbers");
        self.table[slot] = u64::from(hash) << 32 | (self.len as u64 + 1);
        self.push(record);
        if self.len * 4 > self.table.len() * 3 {
            self.grow();
        }
        self.len - 1
    }

    fn push(&mut self, record: &[u8]) {
        if self.len.is_multiple_of(BLOCK) {
            self.blocks
                .push(vec![0; BLOCK * self.width].into_boxed_slice());
        }
        let first = self.len % BLOCK * self.width;
        if let Some(block) = self.blocks.last_mut() {
            block[first..first + self.width].copy_from_slice(record);
        }
        self.len += 1;
    }

    fn grow(&mut self) {
        let mut table = vec![0; self.table.len() * 2];
        let mask = table.len() - 1;
        for &entry in self.table.iter().filter(|entry| **entry != 0) {
            let mut slot = (entry >> 32) as usize & mask;
            while table[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            table[slot] = entry;
        }
        self.table = table;
    }
}

/// 32 bits that depend on all bytes.
fn hash(record: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = record.len() as u64;
    let (words, rest) = record.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    for word in words.iter().chain([&last]) {
        let mixed = u128::from(state ^ u64::from_le_bytes(*word)) * u128::from(FACTOR);
        state = (mixed >> 64) as u64 ^ mixed as u64;
    }
    (state >> 32) as u32 ^ state as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_in_order_of_arrival() {
        let mut store = Store::new(5);
        let record = |n: u32| {
            let bytes = n.to_le_bytes();
            [bytes[0], bytes[1], bytes[2], 7, bytes[0]]
        };
        for round in 0..2 {
            for n in 0..40_000 {
                assert_eq!(store.insert(&record(n)), n as usize, "round {round}");
            }
        }
        assert_eq!(store.len(), 40_000);
        for n in 0..40_000 {
            assert_eq!(store.record(n as usize), record(n));
        }
    }
}
