//! *Gaps* between counters: beyond a distance, how far apart two counters are does not matter, only which is the
//! greater, and their remainders. Counters that others leave behind without end (the old head of a queue, in a thread
//! whose compare-and-swap will fail) then leave finitely many states [cf. gap-order constraints, Revesz, TCS 1993; and
//! the regions of Alur and Dill, TCS 1994].
//!
//! Take the values of one group in a state: its cells, live locals and buffered stores. Two neighbours among them have
//! a *gap*. A gap of at least `wide` is known by its remainder only, and written as the least such number, from
//! `wide` to `wide` + modulus - 1. So a state stands for all states in which wide gaps are larger by multiples of
//! the modulus; those between narrow gaps form a *cluster*, and move together.
//!
//! **Claim.** Every step of a state that is stood for leads to one that a representative found here stands for, and it
//! violates something if and only if the representative does. Let `compared` and `moved` be what
//! [`crate::shift::Distances`] says of comparisons and of steps (a step runs up to the next stop, and `moved` is the sum
//! along it), and `wide` = `compared` + 2 `moved` + 1.
//!
//! - Whatever a step computes for a counter is at most `moved` from one that was there before. Counters of two
//!   clusters are so at least `wide` - 2 `moved` > `compared` apart at any time in the step, so that all comparisons between
//!   them come out the same, however wide the gap is. Those within a cluster are exact. Remainders
//!   are the same, since gaps differ by multiples of the modulus; and nothing else is done with counters. So the step is
//!   possible in both, and writes the same but for where the clusters are.
//! - Behind it, a value belongs to the cluster that it is at most `moved` away from; the middle of the gap tells
//!   them apart. A gap between clusters may have become narrower than `wide` in the representative. Then what it stands for has this
//!   gap, or one that is larger by some multiple of the modulus: each of these that is less than `wide` is a
//!   representative of its own, and one more stands for the rest.
//!
//! What is stood for may have no run of its own, so a refusal says nothing about the program. Where progress is asked
//! for, a thread is followed through many steps on one memory ([`super::stagnant`]), which the claim is not about.

use super::shifted::{Shift, move_slots};
use super::threads::Threads;
use crate::shift::Distances;
use crate::steps::{Trouble, unsupported};
use crate::stops::stops;
use palisade_program::{Instance, LocId, Model, Program, Span};

/// The representatives of one state, which are at most so many: a gap that has become narrow has several.
const MOST: usize = 1 << 10;
/// Values that are larger are not computed with.
const LARGEST: u64 = 1 << 60;

/// From which gap on it does not matter how wide it is.
#[derive(Clone, Copy)]
pub(super) struct Width {
    wide: i64,
    moved: i64,
}

impl Width {
    /// `None` if distances between counters matter everywhere.
    pub(super) fn of(
        program: &Program,
        model: Model,
        instances: &[Instance],
        distances: &Distances,
    ) -> Option<Self> {
        if program.progress {
            return None;
        }
        let mut moved = 0;
        for instance in instances {
            let edges = &distances.moved[instance.template.index()];
            let mut walk = Longest {
                program,
                instance: *instance,
                stops: stops(program, model, instance.template),
                edges,
                known: vec![Known::Not; program.template(instance.template).cfg.loc_count()],
            };
            for loc in program.template(instance.template).cfg.locs() {
                moved = walk.from(loc)?.max(moved);
            }
        }
        let wide = distances.compared?.checked_add(moved.checked_mul(2)?)?;
        Some(Self {
            wide: wide.checked_add(1)?,
            moved,
        })
    }

    /// The values below which the clusters above begin.
    fn cuts(self, values: &[i64], cuts: &mut Vec<i64>) {
        for pair in values.windows(2) {
            if pair[1] - pair[0] >= self.wide {
                cuts.push(pair[0] + self.moved + 1);
            }
        }
    }

    /// The gaps that one which was found may be written as; `open` if it is between clusters.
    fn gaps(self, found: i64, open: bool, modulus: i64) -> Vec<i64> {
        let canonical = |gap: i64| self.wide + (gap - self.wide).rem_euclid(modulus);
        if found >= self.wide {
            return vec![canonical(found)];
        }
        let mut all = vec![found];
        if open {
            let mut next = found + modulus;
            while next < self.wide {
                all.push(next);
                next += modulus;
            }
            all.push(next);
        }
        all
    }
}

/// What is known of the paths from a location.
#[derive(Clone, Copy)]
enum Known {
    Not,
    Open,
    Sum(i64),
}

/// How far a thread's steps set counters up to the next stop.
struct Longest<'a> {
    program: &'a Program,
    instance: Instance,
    stops: Vec<bool>,
    edges: &'a [Option<i64>],
    known: Vec<Known>,
}

impl Longest<'_> {
    fn from(&mut self, loc: LocId) -> Option<i64> {
        match self.known[loc.index()] {
            Known::Sum(sum) => return Some(sum),
            // A loop without a stop.
            Known::Open => return None,
            Known::Not => {}
        }
        self.known[loc.index()] = Known::Open;
        let cfg = &self.program.template(self.instance.template).cfg;
        let mut most = 0;
        for (edge, step) in cfg.outgoing(loc) {
            let own = self.edges[edge.index()]?;
            let rest = if self.stops[step.to.index()] {
                0
            } else {
                self.from(step.to)?
            };
            most = own.checked_add(rest)?.max(most);
        }
        self.known[loc.index()] = Known::Sum(most);
        Some(most)
    }
}

/// New values of a group's counters.
type Renamed = Vec<(i64, i64)>;

impl Threads<'_> {
    /// The values of a group in a state, in order.
    fn counters(&self, shift: &Shift, group: usize, state: &[u32], values: &mut Vec<i64>) {
        let (own, cells) = state.split_at(self.count());
        let group = &shift.groups[group];
        values.clear();
        values.extend(group.cells.iter().map(|c| self.value(*c, cells[c.index()])));
        for (thread, number) in own.iter().enumerate() {
            let own = self.own(thread, *number);
            let locals = group.locals[thread][own.loc.index()].iter();
            values.extend(locals.map(|local| own.locals[local.index()]));
            let stores = own.buffer.cells().zip(&own.slots);
            let stores = stores.filter(|(cell, _)| group.cells.contains(cell));
            values.extend(stores.map(|(_, value)| *value));
        }
        values.sort_unstable();
        values.dedup();
    }

    /// The values below which clusters begin, of each group, in a representative.
    pub(super) fn clusters(&self, shift: &Shift, state: &[u32]) -> Vec<Vec<i64>> {
        let Some(width) = shift.width else {
            return Vec::new();
        };
        let mut values = Vec::new();
        let of_group = |group| {
            let mut cuts = Vec::new();
            self.counters(shift, group, state, &mut values);
            width.cuts(&values, &mut cuts);
            cuts
        };
        (0..shift.groups.len()).map(of_group).collect()
    }

    /// The representatives of a successor of a state with these clusters; of an initial state without.
    pub(super) fn representatives(
        &mut self,
        shift: &Shift,
        width: Width,
        clusters: Option<&[Vec<i64>]>,
        state: &[u32],
    ) -> Result<Vec<Vec<u32>>, Trouble> {
        let mut all = vec![state.to_vec()];
        let mut values = Vec::new();
        for group in 0..shift.groups.len() {
            let Some(&first) = shift.groups[group].cells.first() else {
                continue;
            };
            let cuts = clusters.map_or(&[][..], |clusters| &clusters[group]);
            self.counters(shift, group, state, &mut values);
            let newest = self.value(first, state[self.count() + first.index()]);
            if values.iter().any(|v| v.unsigned_abs() > LARGEST) {
                return Err(unsupported("a counter that is so large", Span::default()));
            }
            let names = names(width, shift.groups[group].modulus, newest, cuts, &values);
            let names = names
                .ok_or_else(|| unsupported("so many gaps between counters", Span::default()))?;
            let mut next = Vec::new();
            for state in all {
                for names in &names {
                    let mut state = state.clone();
                    self.rename(shift, group, names, &mut state)?;
                    next.push(state);
                }
            }
            if next.len() > MOST {
                return Err(unsupported(
                    "so many gaps between counters",
                    Span::default(),
                ));
            }
            all = next;
        }
        Ok(all)
    }

    fn rename(
        &mut self,
        shift: &Shift,
        group: usize,
        names: &Renamed,
        state: &mut [u32],
    ) -> Result<(), Trouble> {
        if names.iter().all(|(old, new)| old == new) {
            return Ok(());
        }
        let name = |value: i64| {
            let at = names.binary_search_by_key(&value, |(old, _)| *old);
            at.map_or(value, |at| names[at].1)
        };
        let (own, cells) = state.split_at_mut(self.count());
        let members = &shift.groups[group];
        for &cell in &members.cells {
            let value = self.value(cell, cells[cell.index()]);
            cells[cell.index()] = self.number(cell, name(value));
        }
        for (thread, number) in own.iter_mut().enumerate() {
            let mut renamed = self.own(thread, *number).clone();
            for local in &members.locals[thread][renamed.loc.index()] {
                let value = &mut renamed.locals[local.index()];
                *value = name(*value);
            }
            let is_member = |cell| shift.group_of(cell) == Some(group);
            move_slots(&mut renamed, is_member, |value| Ok(name(value)))?;
            if renamed != *self.own(thread, *number) {
                *number = self.intern(thread, renamed);
            }
        }
        Ok(())
    }
}

/// What the values of a group may be written as: the newest of the first cell from 0 to the modulus - 1, and gaps
/// as [`Width::gaps`] says.
/// `None` if these are many.
fn names(
    width: Width,
    modulus: i64,
    newest: i64,
    cuts: &[i64],
    values: &[i64],
) -> Option<Vec<Renamed>> {
    let Some(&least) = values.first() else {
        return Some(vec![Renamed::new()]);
    };
    let mut all: Vec<Renamed> = vec![vec![(least, 0)]];
    for pair in values.windows(2) {
        let is_open = cuts.iter().any(|cut| pair[0] < *cut && *cut <= pair[1]);
        let gaps = width.gaps(pair[1] - pair[0], is_open, modulus);
        if all.len() * gaps.len() > MOST {
            return None;
        }
        let mut next = Vec::with_capacity(all.len() * gaps.len());
        for names in all {
            let last = names.last().map_or(0, |(_, new)| *new);
            for gap in &gaps {
                let mut names = names.clone();
                names.push((pair[1], last + gap));
                next.push(names);
            }
        }
        all = next;
    }
    for names in &mut all {
        let at = names.iter().find(|(old, _)| *old == newest);
        let by = newest.rem_euclid(modulus) - at.map_or(0, |(_, new)| *new);
        for (_, new) in names.iter_mut() {
            *new += by;
        }
    }
    Some(all)
}
