//! Rows: the words of one plane of a table, without an allocation while they are few.
//!
//! Place: below [`crate::eval`]. Most structures have at most eight objects, so that a table of
//! two variables has at most eight words; evaluation builds and drops millions of them.

use std::ops::{Deref, DerefMut};

/// Words kept in place.
const INLINE: usize = 8;

/// A short list of words.
#[derive(Clone)]
pub struct Rows {
    len: usize,
    inline: [u64; INLINE],
    /// All words, when there are more than fit in place.
    heap: Vec<u64>,
}

impl Rows {
    /// `len` times the same word.
    pub fn filled(word: u64, len: usize) -> Self {
        if len <= INLINE {
            Self {
                len,
                inline: [word; INLINE],
                heap: Vec::new(),
            }
        } else {
            Self {
                len,
                inline: [0; INLINE],
                heap: vec![word; len],
            }
        }
    }

    /// A single word.
    pub fn one(word: u64) -> Self {
        Self::filled(word, 1)
    }
}

impl Deref for Rows {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        if self.len <= INLINE {
            &self.inline[..self.len]
        } else {
            &self.heap
        }
    }
}

impl DerefMut for Rows {
    fn deref_mut(&mut self) -> &mut [u64] {
        if self.len <= INLINE {
            &mut self.inline[..self.len]
        } else {
            &mut self.heap
        }
    }
}

impl From<&[u64]> for Rows {
    fn from(words: &[u64]) -> Self {
        let mut out = Self::filled(0, words.len());
        out.copy_from_slice(words);
        out
    }
}

impl FromIterator<u64> for Rows {
    fn from_iter<I: IntoIterator<Item = u64>>(words: I) -> Self {
        let mut out = Self::filled(0, 0);
        for word in words {
            if out.len < INLINE {
                out.inline[out.len] = word;
            } else {
                if out.len == INLINE {
                    out.heap = out.inline.to_vec();
                }
                out.heap.push(word);
            }
            out.len += 1;
        }
        out
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Rows {}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn few_and_many_words_read_alike() {
        for len in 0..20u64 {
            let rows: Rows = (0..len).collect();
            let list: Vec<u64> = (0..len).collect();
            assert_eq!(*rows, *list);
            assert_eq!(rows, Rows::from(&*list));
            assert_eq!(*Rows::filled(7, list.len()), *vec![7; list.len()]);
        }
    }
}
