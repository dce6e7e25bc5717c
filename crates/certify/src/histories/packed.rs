//! States as *bytes*: two states have the same bytes if and only if they are equal. The set of states seen holds
//! bytes, which are small and quick to compare.
//!
//! Each list has its length in front of it, unless all states have it with the same length. A view that was
//! written before is a number.

use super::State;
use super::memory::{Ceiling, Memory};
use super::shared::Shared;
use super::view::{Mark, Past, Spot, View};

/// Writes states as bytes.
#[derive(Default)]
pub(super) struct Packer(Vec<u8>);

impl Packer {
    /// The bytes of a state.
    pub(super) fn pack(&mut self, state: &State) -> &[u8] {
        self.0.clear();
        let mut views = Vec::new();
        for (at, locals) in state.at.iter().zip(&state.locals) {
            self.count(at.index());
            locals.iter().for_each(|value| self.number(*value));
        }
        for late in &state.late {
            self.0.push(u8::from(*late));
        }
        self.memory(&state.memory, &mut views);
        &self.0
    }

    fn count(&mut self, mut n: usize) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    /// Numbers near 0 are short.
    fn number(&mut self, n: i64) {
        self.count(((n << 1) ^ (n >> 63)) as usize);
    }

    fn memory<'s>(&mut self, memory: &'s Memory, views: &mut Vec<&'s Shared<View>>) {
        for messages in &memory.cells {
            self.count(messages.len());
            for message in messages.iter() {
                self.number(message.value);
                self.0.push(u8::from(message.free));
                self.view(&message.view, views);
            }
        }
        for mind in &memory.minds {
            for view in mind.views() {
                self.view(view, views);
            }
            match mind.pending {
                None => self.count(0),
                Some((event, cell)) => {
                    self.count(event + 1);
                    self.count(cell);
                }
            }
            self.count(mind.events.len());
            mind.events.iter().for_each(|event| self.count(*event));
            mind.bound.iter().for_each(|mark| self.mark(*mark));
        }
        self.count(memory.gates.len());
        for gate in &memory.gates {
            for spot in [&gate.before, &gate.floor, &gate.access_floor]
                .into_iter()
                .flatten()
            {
                self.spot(spot, views);
            }
            for ceiling in gate.ceiling.iter().chain(&gate.behind) {
                match ceiling {
                    Ceiling::Nothing => self.count(0),
                    Ceiling::Open => self.count(1),
                    Ceiling::Before(i, itself) => self.count(2 + 2 * i + usize::from(*itself)),
                }
            }
        }
    }

    fn mark(&mut self, mark: Mark) {
        self.count(mark.map_or(0, |at| at + 1));
    }

    fn spot<'s>(&mut self, spot: &'s Spot, views: &mut Vec<&'s Shared<View>>) {
        match spot {
            Spot::Nowhere => self.count(0),
            Spot::Old(past) => {
                self.count(1);
                self.past(past, views);
            }
            Spot::Kept(i) => self.count(i + 2),
        }
    }

    fn past<'s>(&mut self, past: &'s Past, views: &mut Vec<&'s Shared<View>>) {
        self.count(past.len());
        for (value, fact) in past {
            self.number(*value);
            let carries = fact.carries.as_ref();
            self.0
                .push(u8::from(fact.free) | u8::from(carries.is_some()) << 1);
            if let Some(view) = carries {
                self.view(view, views);
            }
        }
    }

    fn view<'s>(&mut self, view: &'s Shared<View>, views: &mut Vec<&'s Shared<View>>) {
        let one = views.iter().position(|other| other.is(view));
        let known = one.or_else(|| views.iter().position(|other| *other == view));
        if let Some(known) = known {
            self.count(known + 1);
            return;
        }
        self.count(0);
        views.push(view);
        for spot in &view.spots {
            self.spot(spot, views);
        }
        self.count(view.stores.len());
        for (cell, spot) in &view.stores {
            self.count(*cell);
            self.spot(spot, views);
        }
        for mark in [view.fence, view.linked, view.last] {
            self.mark(mark);
        }
        view.same.iter().for_each(|mark| self.mark(*mark));
        match &view.missed {
            None => self.count(0),
            Some(missed) => {
                self.count(missed.0.len() + 1);
                for (cell, thread, class) in &missed.0 {
                    self.count(*cell);
                    self.count(*thread);
                    self.0.push(*class);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use palisade_program::{LocId, Order};

    use super::super::access::{Access, Source};
    use super::*;

    /// Every state of memory behind a few accesses of two threads.
    fn states() -> Vec<State> {
        let first = Memory::new(&[0, 0], 2, Rc::new(vec![true, false]));
        let mut all = vec![first];
        let mut next = 0;
        while next < all.len() && all.len() < 400 {
            let memory = all[next].clone();
            next += 1;
            for (thread, cell, order) in [
                (0, 0, Order::SeqCst),
                (1, 0, Order::Relaxed),
                (1, 1, Order::Plain),
            ] {
                let access = |read, write| Access {
                    thread,
                    cell,
                    order,
                    read,
                    write,
                };
                let newest = Source::Kept(memory.cells[cell].len() - 1);
                for access in [access(None, Some(-1)), access(Some(newest), None)] {
                    all.extend(memory.access(&access, &[false, true]).into_iter().flatten());
                }
            }
            all.extend(memory.fence(1, Order::SeqCst));
        }
        let state = |memory| State {
            at: vec![LocId(0); 2],
            locals: vec![vec![7].into(); 2],
            memory,
            late: vec![false; 2],
            stuck: vec![false; 2],
            news: None,
        };
        all.into_iter().map(state).collect()
    }

    #[test]
    fn equal_bytes_are_equal_states() {
        let states = states();
        let mut packer = Packer::default();
        let bytes: Vec<Vec<u8>> = states.iter().map(|s| packer.pack(s).to_vec()).collect();
        let mut equal = 0;
        for (a, x) in states.iter().zip(&bytes) {
            for (b, y) in states.iter().zip(&bytes) {
                assert_eq!(a == b, x == y, "{a:?}\n{b:?}");
                equal += usize::from(a == b);
            }
        }
        // Some are reached twice, and most are not.
        assert!(equal > states.len() && equal < states.len() * states.len() / 2);
    }
}
