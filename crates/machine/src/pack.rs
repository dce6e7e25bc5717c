//! States as bytes: numbers in variable length (one byte for -64..=63), memory
//! first, then for each thread its location, its live locals and what it has
//! under way. Equal states have equal bytes.

use palisade_program::Model;

use crate::machine::Machine;
use crate::rc11::Memory;
use crate::remote::{Input, Kind, PendingAtomic};
use crate::state::{Buffered, NO_CELL, Pending, State};

/// Longest packed state that the store takes.
pub(crate) const MOST_BYTES: usize = 60_000;

#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

#[inline]
pub(crate) fn put_value(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the beginning of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> &'a [u8] {
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        taken
    }

    #[inline]
    pub(crate) fn get(&mut self) -> u64 {
        let first = self.bytes[self.at];
        self.at += 1;
        if first < 0x80 {
            return u64::from(first);
        }
        let mut n = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.bytes[self.at];
            self.at += 1;
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return n;
            }
            shift += 7;
        }
    }

    #[inline]
    pub(crate) fn value(&mut self) -> i64 {
        let n = self.get();
        (n >> 1) as i64 ^ -((n & 1) as i64)
    }
}

/// A cell that there may be none of.
fn put_cell(out: &mut Vec<u8>, cell: u32) {
    put(out, u64::from(cell.wrapping_add(1)));
}

fn put_atomic(out: &mut Vec<u8>, atomic: &PendingAtomic) {
    put(out, u64::from(atomic.remote));
    put(out, u64::from(atomic.cell));
    put_cell(out, atomic.result);
    put(out, atomic.kind.number());
    for input in atomic.inputs {
        match input {
            Input::Cell(cell) => put_cell(out, cell),
            Input::Value(value) => {
                put_cell(out, NO_CELL);
                put_value(out, value);
            }
        }
    }
}

impl Reader<'_> {
    fn cell(&mut self) -> u32 {
        (self.get() as u32).wrapping_sub(1)
    }

    fn input(&mut self) -> Input {
        match self.cell() {
            NO_CELL => Input::Value(self.value()),
            cell => Input::Cell(cell),
        }
    }

    fn atomic(&mut self) -> PendingAtomic {
        PendingAtomic {
            remote: self.get() as u32,
            cell: self.get() as u32,
            result: self.cell(),
            kind: Kind::of_number(self.get()),
            inputs: [self.input(), self.input()],
            origin: 0,
        }
    }
}

impl Machine<'_> {
    /// Writes the bytes of `state` to `out`, which is cleared first.
    pub(crate) fn pack(&self, state: &State, out: &mut Vec<u8>) {
        out.clear();
        for &value in &state.slots[..self.cells] {
            put_value(out, value);
        }
        for (t, thread) in self.threads.iter().enumerate() {
            let pc = state.pcs[t];
            put(out, u64::from(pc));
            for &slot in &thread.live[pc as usize] {
                put_value(out, state.slots[slot as usize]);
            }
            let queue = &state.queues[t];
            match self.model {
                Model::Sc | Model::Rc11 => {}
                Model::Tso => {
                    put(out, queue.stores.len() as u64);
                    for store in &queue.stores {
                        put(out, u64::from(store.cell));
                        put_value(out, store.value);
                    }
                }
                Model::Pso => {
                    put(
                        out,
                        (queue.stores.len() as u64) << 1 | u64::from(queue.fresh),
                    );
                    let mut epoch = 0;
                    for store in &queue.stores {
                        // Epochs have no gaps: one bit says that a new one begins.
                        let opens = store.epoch != epoch;
                        epoch = store.epoch;
                        put(out, u64::from(store.cell) << 1 | u64::from(opens));
                        put_value(out, store.value);
                    }
                }
                Model::Rma => {
                    put(out, queue.pending.len() as u64);
                    for pending in &queue.pending {
                        put(out, u64::from(pending.remote));
                        put(out, u64::from(pending.target) << 1 | u64::from(pending.put));
                        if pending.source == NO_CELL {
                            put(out, 0);
                            put_value(out, pending.value);
                        } else {
                            put(out, u64::from(pending.source) + 1);
                        }
                    }
                    if self.has_atomics {
                        put(out, queue.atomics.len() as u64);
                        for atomic in &queue.atomics {
                            put_atomic(out, atomic);
                        }
                    }
                }
            }
        }
        if let Some(memory) = &state.memory {
            memory.pack(out);
        }
        if out.is_empty() {
            // The store keeps no empty records.
            out.push(0);
        }
    }

    /// Reads back what [`Self::pack`] wrote.
    pub(crate) fn unpack(&self, bytes: &[u8], state: &mut State) {
        let mut reader = Reader::new(bytes);
        state.slots.resize(self.slots, 0);
        state.slots[self.cells..].fill(0);
        state.pcs.clear();
        state
            .queues
            .resize_with(self.threads.len(), Default::default);
        for slot in 0..self.cells {
            state.slots[slot] = reader.value();
        }
        for (t, thread) in self.threads.iter().enumerate() {
            let pc = reader.get() as u32;
            state.pcs.push(pc);
            for &slot in &thread.live[pc as usize] {
                state.slots[slot as usize] = reader.value();
            }
            let queue = &mut state.queues[t];
            queue.stores.clear();
            queue.pending.clear();
            queue.atomics.clear();
            queue.fresh = false;
            match self.model {
                Model::Sc | Model::Rc11 => {}
                Model::Tso => {
                    for _ in 0..reader.get() {
                        queue.stores.push(Buffered {
                            cell: reader.get() as u32,
                            epoch: 0,
                            value: reader.value(),
                            origin: 0,
                        });
                    }
                }
                Model::Pso => {
                    let head = reader.get();
                    queue.fresh = head & 1 == 1;
                    let mut epoch = 0;
                    for _ in 0..head >> 1 {
                        let cell = reader.get();
                        epoch += (cell & 1) as u32;
                        queue.stores.push(Buffered {
                            cell: (cell >> 1) as u32,
                            epoch,
                            value: reader.value(),
                            origin: 0,
                        });
                    }
                }
                Model::Rma => {
                    for _ in 0..reader.get() {
                        let remote = reader.get() as u32;
                        let target = reader.get();
                        let (target, is_put) = ((target >> 1) as u32, target & 1 == 1);
                        let source = reader.get() as u32;
                        let written = source == 0;
                        queue.pending.push(Pending {
                            remote,
                            source: if written { NO_CELL } else { source - 1 },
                            target,
                            put: is_put,
                            value: if written { reader.value() } else { 0 },
                            origin: 0,
                        });
                    }
                    if self.has_atomics {
                        for _ in 0..reader.get() {
                            queue.atomics.push(reader.atomic());
                        }
                    }
                }
            }
        }
        state.memory = match self.model {
            Model::Rc11 => Some(Box::new(Memory::unpack(&mut reader))),
            Model::Sc | Model::Tso | Model::Pso | Model::Rma => None,
        };
        debug_assert!(
            reader.at == bytes.len() || bytes == [0],
            "a packed state is read to its end"
        );
    }
}

/// A hash of packed states: 8 bytes at a time, folded 128-bit products.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
    const B: u64 = 0xe703_7ed1_a0b4_28db;
    let fold = |x: u64, y: u64| {
        let product = u128::from(x) * u128::from(y);
        product as u64 ^ (product >> 64) as u64
    };
    let mut h = A ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        h = fold(h ^ u64::from_le_bytes(*word), B);
    }
    let mut last = 0;
    for (i, &byte) in rest.iter().enumerate() {
        last |= u64::from(byte) << (8 * i);
    }
    h = fold(h ^ last, B);
    fold(h ^ A, A)
}
