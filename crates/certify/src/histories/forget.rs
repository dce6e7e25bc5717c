//! *Forgetting*: every step here only adds behaviours, so that the reached states cover those of the
//! program.
//!
//! - More than K messages of a cell: the oldest becomes an old one. Spots at it or in front of it
//!   now say which values may be read from there on; what it carries is met with what the others
//!   of its value carry.
//! - A thread, also one that has ended, keeps marks of its last J SC events, of its SC fence, and of the last gate
//!   that its next SC fence or SC store must follow. Who knew another gate knows the one before it, and
//!   the gap has the left floor and the right ceiling.
//!   Where few are kept, an earlier event is *idle* and not kept if its gate has the floors of the gate before it, and the
//!   ceilings of the gate behind it.
//! - What all threads know ([`base`](Memory::settle)) joins every view: whoever reads a message knows it
//!   already. Kept messages in front of it go. A thread without an access of a cell ahead has no say, unless an SC fence is ahead
//!   of some thread and an event of the SC order bounds what a fence in front of it may know of the cell.
//! - In front of the first of all last SC events nothing is inserted any more.
//! - What a thread has no use for (`offered` without an acquire fence ahead, `released` without a
//!   relaxed store) is unknown.

use std::collections::BTreeSet;

use super::ahead::Ahead;
use super::memory::{Ceiling, Gate, Memory, Mind};
use super::shared::Shared;
use super::view::{Fact, Past, Spot, View};
use crate::certificate::Summary;

/// With so many SC events of each thread, idle ones are kept as well.
const MANY: usize = 8;

impl Memory {
    /// Forgets what it may. `ahead` says of each thread what it may still do; `None` if it has
    /// ended.
    pub(super) fn settle(&mut self, summary: Summary, ahead: &[Option<&Ahead>]) {
        for cell in 0..self.cells.len() {
            while self.cells[cell].len() > summary.messages.max(1) as usize {
                self.fold(cell, summary.carried);
            }
        }
        self.drop_unused(ahead);
        if self.nameless {
            // There may be other threads, of which nothing is known here.
            return;
        }
        self.drop_gates(summary.events.max(1) as usize, ahead);
        let base = self.base(ahead);
        self.rise(&base);
        self.close_gates(ahead);
        self.drop_known(&base);
    }

    /// The oldest kept message of a cell becomes an old one.
    fn fold(&mut self, cell: usize, carried: bool) {
        self.folded = true;
        let message = self.cells[cell].remove(0);
        let (value, free) = (message.value, message.free);
        let older = |spot: &mut Spot, carries: Option<&Shared<View>>| match spot {
            Spot::Nowhere => {}
            Spot::Kept(0) => {
                let mut past = Past::new();
                Fact::add(&mut past, value, free, carries);
                *spot = Spot::Old(past.into());
            }
            Spot::Kept(i) => *i -= 1,
            Spot::Old(past) => Fact::add(past, value, free, carries),
        };
        let somewhere = |spot: &Spot| !matches!(spot, Spot::Nowhere);
        // What it carries, its own spot being among the old ones too.
        let mut own = message.view.flat();
        own.at(cell, &mut |spot| older(spot, None));
        let own = carried.then(|| own.into());
        // Inside what old messages carry facts carry nothing.
        self.inside(&|view| view.has_at(cell, &somewhere), &mut |view| {
            view.at(cell, &mut |spot| older(spot, None));
        });
        self.outside(cell, &somewhere, &mut |spot| older(spot, own.as_ref()));
        self.ceilings(cell, 0, |i, itself| match i {
            0 => Ceiling::Nothing,
            i => Ceiling::Before(i - 1, itself),
        });
    }

    fn drop_unused(&mut self, ahead: &[Option<&Ahead>]) {
        let nothing = Shared::from(View::nothing(self.cells.len()));
        let is_over = !ahead.iter().flatten().any(|ahead| ahead.is_sc());
        for (mind, ahead) in self.minds.iter_mut().zip(ahead) {
            let mind: &mut Mind = mind;
            let acquires = ahead.is_some_and(|a| a.acquire_fence);
            if !acquires {
                mind.offered = nothing.clone();
            }
            for (cell, released) in mind.released.iter_mut().enumerate() {
                if !ahead.is_some_and(|a| a.relaxed_store.contains(&cell)) {
                    released.clone_from(&nothing);
                }
            }
            if !ahead.is_some_and(Ahead::is_sc) {
                mind.bound.fill(None);
            }
            if is_over {
                mind.events.clear();
            }
            if ahead.is_none() {
                mind.now = nothing.clone();
                mind.pending = None;
            }
        }
    }

    /// Keeps the gates that threads need, with `count` events of each thread.
    fn drop_gates(&mut self, count: usize, ahead: &[Option<&Ahead>]) {
        let mut needed: BTreeSet<usize> = BTreeSet::new();
        let gates = &self.gates;
        let is_idle = |at: usize| {
            let Some(left) = at.checked_sub(1).map(|left| &gates[left]) else {
                return false;
            };
            let same = |right: &Shared<Gate>| {
                let gate = &gates[at];
                gate.floor == left.floor
                    && gate.access_floor == left.access_floor
                    && gate.ceiling == right.ceiling
                    && gate.behind == right.behind
            };
            count < MANY && gates.get(at + 1).is_some_and(same)
        };
        let idle: Vec<bool> = (0..gates.len()).map(is_idle).collect();
        for (mind, ahead) in self.minds.iter_mut().zip(ahead) {
            if mind.events.iter().skip(1).any(|at| idle[*at]) {
                let last = mind.events[0];
                mind.events.retain(|at| *at == last || !idle[*at]);
            }
            if mind.events.len() > count {
                mind.events.truncate(count);
            }
            needed.extend(&mind.events);
            let Some(ahead) = ahead else { continue };
            let now = &mind.now;
            let own = mind.events.first().copied();
            needed.extend(now.fence);
            if ahead.sc_fence {
                let refuses = |gate: &Shared<Gate>| !gate.lets_pass(now);
                let last = self.gates.iter().rposition(refuses);
                let least = own.max(now.fence).max(now.linked).max(now.last).max(last);
                needed.extend(least);
            }
            for cell in 0..now.spots.len() {
                let least = own.max(now.fence).max(mind.bound[cell]).max(now.same[cell]);
                if ahead.sc_store.contains(&cell) {
                    // The oldest place that its message may have.
                    let messages = &self.cells[cell];
                    let place = match &now.spots[cell] {
                        Spot::Kept(i) => (*i..messages.len()).find(|i| messages[*i].free),
                        Spot::Old(_) | Spot::Nowhere => None,
                    };
                    let refuses = |gate: &Shared<Gate>| {
                        let ceiling = gate.store_ceiling(cell);
                        place.is_some_and(|i| !ceiling.admits(i + 1))
                    };
                    let last = self.gates.iter().rposition(refuses);
                    needed.extend(least.max(last));
                }
                if ahead.sc_load.contains(&cell) {
                    needed.extend(least);
                }
            }
        }
        self.keep_gates(0..self.gates.len(), &needed);
    }

    fn keep_gates(&mut self, among: std::ops::Range<usize>, needed: &BTreeSet<usize>) {
        for at in among.rev() {
            if !needed.contains(&at) {
                self.remove_gate(at);
            }
        }
    }

    /// What all threads know that have not ended.
    fn base(&self, ahead: &[Option<&Ahead>]) -> Shared<View> {
        let live = || {
            let all = self.minds.iter().zip(ahead);
            all.filter_map(|(mind, ahead)| Some((&mind.now, (*ahead)?)))
        };
        let mut all = live().map(|(now, _)| now);
        let mut base = match all.next() {
            Some(first) => all.fold(View::clone(first), |a, b| a.meet(b)),
            None => View::nothing(self.cells.len()),
        };
        let fenced = live().any(|(_, ahead)| ahead.sc_fence);
        for (cell, messages) in self.cells.iter().enumerate() {
            // An SC fence may not stand in front of events that are older than what its thread knows, of any cell.
            let is_bound = |gate: &Shared<Gate>| {
                gate.ceiling[cell] != Ceiling::Open || gate.behind[cell] != Ceiling::Open
            };
            let all = fenced && self.gates.iter().any(is_bound);
            let users = live().filter(|(_, ahead)| all || ahead.access.contains(&cell));
            let spots = users.map(|(now, _)| now.spots[cell].clone());
            let met = spots.reduce(|a, b| a.meet(&b));
            base.spots[cell] = met.unwrap_or(Spot::Kept(messages.len() - 1));
        }
        // Of stores each view has its own account.
        base.stores.clear();
        // Deeds that no other thread can still race with are as good as seen.
        if let Some(missed) = &mut base.missed {
            missed.0.retain(|(cell, thread, _)| {
                let mut others = ahead.iter().enumerate().filter(|(u, _)| u != thread);
                others.any(|(_, ahead)| ahead.is_some_and(|a| a.access.contains(cell)))
            });
        }
        base.into()
    }

    fn rise(&mut self, base: &Shared<View>) {
        let lacks = |view: &Shared<View>| !view.covers(base);
        for mind in &mut self.minds {
            if mind.has_view(lacks) {
                mind.views_mut().for_each(|view| *view = view.joined(base));
            }
        }
        for messages in &mut self.cells {
            if messages.iter().any(|message| lacks(&message.view)) {
                let views = messages.iter_mut().map(|message| &mut message.view);
                views.for_each(|view| *view = view.joined(base));
            }
        }
        for gate in &mut self.gates {
            let floors = [&gate.before, &gate.floor, &gate.access_floor];
            let covered = |floor: &Vec<Spot>| {
                let mut both = floor.iter().zip(&base.spots);
                both.all(|(own, spot)| own.covers(spot))
            };
            if floors.into_iter().all(covered) {
                continue;
            }
            for floor in gate.floors() {
                for (own, spot) in floor.iter_mut().zip(&base.spots) {
                    *own = own.join(spot);
                }
            }
        }
        let flat = base.flat();
        self.inside(&|view| !view.covers(&flat), &mut |view| {
            *view = view.join(&flat);
        });
        for (cell, spot) in base.spots.iter().enumerate() {
            let Spot::Kept(first) = *spot else {
                continue;
            };
            self.pass_stores(cell, first);
            if first == 0 {
                continue;
            }
            self.cells[cell].drain(..first);
            let kept = |spot: &Spot| matches!(spot, Spot::Kept(_));
            self.spots(cell, &kept, &mut |spot| {
                if let Spot::Kept(i) = spot {
                    *i -= first;
                }
            });
            self.ceilings(cell, 0, |i, itself| {
                if i < first || (i == first && !itself) {
                    Ceiling::Nothing
                } else {
                    Ceiling::Before(i - first, itself)
                }
            });
        }
    }

    /// All threads have passed the stores up to the kept message `first`, so that these bound no
    /// access. A fence behind which such a store has happened still follows the gates that the store
    /// may not be in front of: that is remembered as the last of these gates.
    fn pass_stores(&mut self, cell: usize, first: usize) {
        let ceilings: Vec<Ceiling> = self.gates.iter().map(|gate| gate.ceiling[cell]).collect();
        let tracks = |view: &View| view.stores.contains_key(&cell);
        self.views(&tracks, &mut |view| match view.stores.get(&cell) {
            Some(Spot::Kept(i)) if *i <= first => {
                let last = ceilings.iter().rposition(|ceiling| !ceiling.allows(*i));
                view.last = view.last.max(last);
                view.stores.remove(&cell);
            }
            Some(Spot::Old(_) | Spot::Nowhere) => {
                view.stores.remove(&cell);
            }
            Some(Spot::Kept(_)) | None => {}
        });
    }

    /// In front of the last SC event of every thread that may have another one, gates are only of
    /// use as fences.
    fn close_gates(&mut self, ahead: &[Option<&Ahead>]) {
        let both = self.minds.iter().zip(ahead);
        let acting = both.filter(|(_, ahead)| ahead.is_some_and(Ahead::is_sc));
        let lasts: Vec<Option<usize>> = acting.map(|(m, _)| m.events.first().copied()).collect();
        let Some(least) = lasts.iter().min().copied() else {
            let marked = |view: &View| {
                let others = view.linked.is_some() || view.last.is_some();
                others || view.same.iter().any(Option::is_some)
            };
            self.views(&marked, &mut |view| {
                view.linked = None;
                view.last = None;
                view.same.fill(None);
            });
            for mind in &mut self.minds {
                if mind.pending.is_some() {
                    mind.pending = None;
                }
            }
            let used = self.known_fences(self.gates.len());
            self.keep_gates(0..self.gates.len(), &used);
            return;
        };
        let Some(first) = least else { return };
        for (mind, ahead) in self.minds.iter_mut().zip(ahead) {
            let mind: &mut Mind = mind;
            mind.pending = mind.pending.filter(|(event, _)| *event >= first);
            mind.events.retain(|event| *event >= first);
            if ahead.is_some_and(Ahead::is_sc) {
                let bounds = mind.bound.iter_mut();
                bounds.for_each(|bound| *bound = (*bound).max(Some(first)));
            }
        }
        let low = |view: &View| {
            let first = Some(first);
            let others = view.linked < first || view.last < first;
            others || view.same.iter().any(|mark| *mark < first)
        };
        self.views(&low, &mut |view| {
            view.linked = view.linked.max(Some(first));
            view.last = view.last.max(Some(first));
            let same = view.same.iter_mut();
            same.for_each(|mark| *mark = (*mark).max(Some(first)));
        });
        let used = self.known_fences(first);
        self.keep_gates(0..first, &used);
    }

    /// The SC fences among the first gates that threads know.
    fn known_fences(&self, count: usize) -> BTreeSet<usize> {
        let fences = self.minds.iter();
        let fences = fences.flat_map(|mind| [mind.now.fence, mind.offered.fence]);
        fences.flatten().filter(|at| *at < count).collect()
    }

    /// What old messages carry that everyone knows is forgotten.
    fn drop_known(&mut self, base: &View) {
        if !self.folded {
            return;
        }
        let mut flat = base.flat();
        for spot in &mut flat.spots {
            if let Spot::Kept(i) = spot {
                *i = 0;
            }
        }
        for cell in 0..self.cells.len() {
            let flat = &flat;
            let carries = |spot: &Spot| spot.has_inside(&|_| true);
            self.outside(cell, &carries, &mut |spot| {
                let bare = spot.flat();
                let idle = |fact: &Fact| {
                    fact.carries.as_ref().is_some_and(|view| {
                        let own = &view.spots[cell];
                        let mut same = flat.clone();
                        same.spots[cell] = own.clone();
                        **view == same && bare.covers(own)
                    })
                };
                if let Spot::Old(past) = spot
                    && past.values().any(idle)
                {
                    for fact in past.values_mut() {
                        if idle(fact) {
                            fact.carries = None;
                        }
                    }
                }
            });
        }
    }
}
