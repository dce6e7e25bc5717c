//! Toward a message: which world the search for a run looks at next.
//!
//! Place: used by [`crate::explore`] once the analysis has given a message. Three choices take turns:
//!
//! 1. the *nearest* world. Every structure on the way by which the analysis came to a message has a
//!    distance, the steps that were left; a world has that of the structure that stands for it. It is
//!    only a hint, because the way may exist in the abstraction alone;
//! 2. the *smallest* world. Of a given size there are finitely many, where a program creates objects
//!    without end; most errors need few;
//! 3. the *oldest* world, so that every run is followed in the end.
//!
//! Before there is a message it is the oldest always: breadth first.

use crate::engine::Fixpoint;
use crate::naive::World;
use crate::vocabulary::Vocabulary;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What is known about the way from a world to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// There is no message.
    NoMessage,
    /// The world's structure is on no way that is known.
    Unknown,
    /// Its structure was this many steps away from one.
    Distance(usize),
}

/// Steps from stored structures (location and index) to a message.
#[derive(Debug, Default)]
pub(crate) struct Distances(FxHashMap<(usize, usize), usize>);

impl Distances {
    /// Those on the ways to the messages that were given.
    pub(crate) fn new(fixpoint: &Fixpoint) -> Self {
        let mut out = Self::default();
        let causes = fixpoint.messages.iter().flat_map(|given| &given.causes);
        for cause in causes {
            out.shorten(*cause, 0);
            let way = fixpoint.trace(*cause);
            for (steps, origin) in way.iter().rev().enumerate() {
                out.shorten(origin.from, steps + 1);
            }
        }
        out
    }

    fn shorten(&mut self, structure: (usize, usize), steps: usize) {
        let known = self.0.entry(structure).or_insert(steps);
        *known = steps.min(*known);
    }

    /// What is known of a world at a location.
    pub(crate) fn of(
        &self,
        voc: &Vocabulary,
        fixpoint: &Fixpoint,
        location: usize,
        world: &World,
    ) -> Hint {
        if self.0.is_empty() {
            return Hint::NoMessage;
        }
        let set = &fixpoint.locations[location].set;
        let index = set.find(voc, &world.structure(voc));
        let steps = index.and_then(|index| self.0.get(&(location, index)));
        steps.map_or(Hint::Unknown, |steps| Hint::Distance(*steps))
    }
}

/// Visits that wait for their turn.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    oldest: VecDeque<usize>,
    /// By distance, size and age.
    nearest: BinaryHeap<Reverse<(usize, usize, usize)>>,
    /// By size and age; empty unless there is a message.
    smallest: BinaryHeap<Reverse<(usize, usize)>>,
    taken: Vec<bool>,
    turn: usize,
}

impl Frontier {
    /// Adds the next visit, of a world of `size` objects; they are numbered from 0.
    pub(crate) fn push(&mut self, size: usize, hint: Hint) {
        let visit = self.taken.len();
        self.taken.push(false);
        self.oldest.push_back(visit);
        match hint {
            Hint::NoMessage => return,
            Hint::Unknown => {}
            Hint::Distance(steps) => self.nearest.push(Reverse((steps, size, visit))),
        }
        self.smallest.push(Reverse((size, visit)));
    }

    /// Takes the visit whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<usize> {
        self.turn += 1;
        let taken = &self.taken;
        let chosen = match self.turn % 3 {
            0 => first(taken, || self.nearest.pop().map(|Reverse((_, _, v))| v)),
            1 => first(taken, || self.smallest.pop().map(|Reverse((_, v))| v)),
            _ => None,
        };
        let visit = chosen.or_else(|| first(taken, || self.oldest.pop_front()))?;
        self.taken[visit] = true;
        Some(visit)
    }
}

/// The first of some visits that was not taken before.
fn first(taken: &[bool], pop: impl FnMut() -> Option<usize>) -> Option<usize> {
    std::iter::from_fn(pop).find(|visit| !taken[*visit])
}

#[cfg(test)]
mod tests {
    use super::{Frontier, Hint};

    fn order(visits: &[(usize, Hint)]) -> Vec<usize> {
        let mut frontier = Frontier::default();
        for (size, hint) in visits {
            frontier.push(*size, *hint);
        }
        std::iter::from_fn(|| frontier.pop()).collect()
    }

    #[test]
    fn small_old_and_near_visits_take_turns() {
        let far = Hint::Distance(4);
        let near = Hint::Distance(2);
        let visits = [(5, Hint::Unknown), (4, far), (3, Hint::Unknown), (6, near)];
        assert_eq!(order(&visits), [2, 0, 3, 1]);
    }

    #[test]
    fn without_a_message_the_oldest_comes_first() {
        let visits = [5, 4, 3].map(|size| (size, Hint::NoMessage));
        assert_eq!(order(&visits), [0, 1, 2]);
    }
}
