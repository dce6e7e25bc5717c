//! The *content* of an object that one thread has for itself: values by offset, each of a size.
//! Bytes that nothing was written to are absent. Bytes that were copied from a shared object
//! before anyone has asked what they are stand as such.

use std::collections::BTreeMap;

use palisade_program::{Expr, LocalExpr};

use super::arith::{bytes_of, joined};
use super::world::ObjectId;

/// The length of a text that was formatted: nothing may read it.
pub(super) const FORMATTED: i64 = i64::MIN + 99_999;

/// Some bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Bytes {
    /// A word.
    Word(LocalExpr),
    /// A copy of bytes of a shared object that are in no cell yet.
    CopyOf(ObjectId, u64),
}

/// What an object holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Content {
    /// By offset: size and value.
    pub(super) parts: BTreeMap<u64, (u64, Bytes)>,
}

/// What is read from a content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Word(LocalExpr),
    /// Nothing was written there.
    Nothing,
    /// Bytes of this place of a shared object are needed.
    CopyOf(ObjectId, u64),
}

impl Content {
    /// Writes a constant.
    pub(super) fn write(&mut self, at: u64, size: u64, value: i64) {
        self.put(at, size, Bytes::Word(Expr::Const(value)));
    }

    /// The parts that overlap some bytes.
    fn overlapping(&self, at: u64, size: u64) -> Vec<(u64, u64, Bytes)> {
        let below = self.parts.range(..at).next_back();
        let below = below.filter(|(from, (of, _))| **from + of > at);
        let inside = self.parts.range(at..at + size);
        below
            .into_iter()
            .chain(inside)
            .map(|(from, (of, bytes))| (*from, *of, bytes.clone()))
            .collect()
    }

    /// Removes some bytes; what overlaps them only partly stays in part.
    pub(super) fn clear(&mut self, at: u64, size: u64) {
        for (from, of, bytes) in self.overlapping(at, size) {
            self.parts.remove(&from);
            if from < at {
                self.parts
                    .insert(from, (at - from, cut(&bytes, of, 0, at - from)));
            }
            let (end, stop) = (from + of, at + size);
            if end > stop {
                let part = cut(&bytes, of, stop - from, end - stop);
                self.parts.insert(stop, (end - stop, part));
            }
        }
    }

    pub(super) fn put(&mut self, at: u64, size: u64, bytes: Bytes) {
        if size > 0 {
            self.clear(at, size);
            self.parts.insert(at, (size, bytes));
        }
    }

    /// The word of this size. Absent bytes of a word that is there in part are 0: no program
    /// without undefined behaviour can tell.
    pub(super) fn word(&self, at: u64, size: u64) -> Found {
        let parts = self.overlapping(at, size);
        if parts.is_empty() {
            return Found::Nothing;
        }
        let mark = Expr::Const(FORMATTED);
        let is_mark =
            |(.., bytes): &(u64, u64, Bytes)| matches!(bytes, Bytes::Word(e) if *e == mark);
        if parts.iter().any(is_mark) {
            return Found::Word(mark);
        }
        let mut words = Vec::new();
        for (from, of, bytes) in parts {
            let start = from.max(at);
            let end = (from + of).min(at + size);
            match cut(&bytes, of, start - from, end - start) {
                Bytes::Word(e) => words.push((start - at, end - start, e)),
                Bytes::CopyOf(object, offset) => {
                    return Found::CopyOf(object, offset - (start - at).min(offset));
                }
            }
        }
        Found::Word(joined(&words, size))
    }

    /// The parts of a range, cut to it, with offsets from its start.
    pub(super) fn parts_of(&self, at: u64, size: u64) -> Vec<(u64, u64, Bytes)> {
        self.overlapping(at, size)
            .into_iter()
            .map(|(from, of, bytes)| {
                let start = from.max(at);
                let end = (from + of).min(at + size);
                (
                    start - at,
                    end - start,
                    cut(&bytes, of, start - from, end - start),
                )
            })
            .collect()
    }
}

/// `size` bytes from `from` on, of `of` bytes.
fn cut(bytes: &Bytes, of: u64, from: u64, size: u64) -> Bytes {
    match bytes {
        Bytes::Word(Expr::Const(FORMATTED)) => bytes.clone(),
        Bytes::Word(e) => Bytes::Word(bytes_of(e, of, from, size)),
        Bytes::CopyOf(object, offset) => Bytes::CopyOf(*object, offset + from),
    }
}
