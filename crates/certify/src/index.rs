//! Finding the entries that a state may be in. Controls are grouped by
//! locations and shapes, within a group by the set of explicit variables to
//! which they give values, then by these values: a successor whose explicit
//! values are all known is looked up without going through the group.

use crate::buffer::Buffer;
use crate::certificate::{Certificate, Control};
use palisade_program::LocId;
use rustc_hash::FxHashMap;

/// An explicit value after a step: a number, or only a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum After {
    /// It has this value.
    Known(i128),
    /// Its value is data.
    Unknown,
}

/// The entries of a certificate by their controls.
pub(crate) struct Index {
    buffers: FxHashMap<Buffer, u32>,
    groups: FxHashMap<Box<[u32]>, Vec<Pattern>>,
}

/// Entries of one group that give values to the same explicit variables.
struct Pattern {
    given: Vec<usize>,
    by_value: FxHashMap<Box<[i64]>, Vec<u32>>,
}

impl Index {
    /// The index of all entries.
    pub(crate) fn of(certificate: &Certificate) -> Self {
        let mut index = Self {
            buffers: FxHashMap::default(),
            groups: FxHashMap::default(),
        };
        for (number, entry) in certificate.entries.iter().enumerate() {
            index.add(&entry.control, number as u32);
        }
        index
    }

    fn add(&mut self, control: &Control, number: u32) {
        for buffer in &control.buffers {
            let next = self.buffers.len() as u32;
            self.buffers.entry(buffer.clone()).or_insert(next);
        }
        let key = self.key(&control.locs, &control.buffers);
        let given: Vec<usize> = (0..control.values.len())
            .filter(|i| control.values[*i].is_some())
            .collect();
        let values: Box<[i64]> = control.values.iter().copied().flatten().collect();
        let group = self.groups.entry(key.unwrap_or_default()).or_default();
        let at = group.iter().position(|pattern| pattern.given == given);
        let at = at.unwrap_or_else(|| {
            let by_value = FxHashMap::default();
            group.push(Pattern { given, by_value });
            group.len() - 1
        });
        group[at].by_value.entry(values).or_default().push(number);
    }

    /// Locations and shapes as numbers; `None` if no entry has such a shape.
    fn key(&self, locs: &[LocId], buffers: &[Buffer]) -> Option<Box<[u32]>> {
        let shapes = buffers.iter().map(|b| self.buffers.get(b).copied());
        let locs = locs.iter().map(|loc| Some(loc.0));
        locs.chain(shapes).collect()
    }

    /// The entries whose locations and shapes are these and whose explicit
    /// values are none of those known to be different. Values that are unknown
    /// are left to the caller.
    pub(crate) fn matching(&self, locs: &[LocId], buffers: &[Buffer], after: &[After]) -> Vec<u32> {
        let group = self.key(locs, buffers).and_then(|k| self.groups.get(&k));
        let mut found = Vec::new();
        for pattern in group.into_iter().flatten() {
            pattern.matching(after, &mut found);
        }
        found
    }
}

impl Pattern {
    fn matching(&self, after: &[After], found: &mut Vec<u32>) {
        let mut values = Vec::with_capacity(self.given.len());
        for i in &self.given {
            match after[*i] {
                // No entry has a value beyond 64 bits.
                After::Known(value) => match i64::try_from(value) {
                    Ok(value) => values.push(value),
                    Err(_) => return,
                },
                After::Unknown => return self.scan(after, found),
            }
        }
        found.extend(self.by_value.get(&*values).into_iter().flatten());
    }

    fn scan(&self, after: &[After], found: &mut Vec<u32>) {
        let mut matches: Vec<u32> = Vec::new();
        for (values, numbers) in &self.by_value {
            let agrees = self
                .given
                .iter()
                .zip(values)
                .all(|(i, value)| match after[*i] {
                    After::Known(known) => known == i128::from(*value),
                    After::Unknown => true,
                });
            if agrees {
                matches.extend(numbers);
            }
        }
        // The order of a hash map must not show.
        matches.sort_unstable();
        found.extend(matches);
    }
}
