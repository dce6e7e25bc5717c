//! *Accesses*: every way in which a load, a store or a read-modify-write may happen.

use palisade_program::Order;

use super::memory::{Ceiling, Memory, Message, Mind};
use super::shared::Shared;
use super::view::{Deed, Fact, Spot, View};

/// A message to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Kept(usize),
    /// An old one of this value.
    Old(i64),
}

/// A load, a store or a read-modify-write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) thread: usize,
    pub(super) cell: usize,
    pub(super) order: Order,
    pub(super) read: Option<Source>,
    pub(super) write: Option<i64>,
}

/// The thread of deeds whose thread is not known.
const NOBODY: usize = u32::MAX as usize;

/// Plain accesses are 0 (load) and 1 (store), atomic ones 2 and 3.
pub(super) const fn class(order: Order, stores: bool) -> u8 {
    match (order, stores) {
        (Order::Plain, false) => 0,
        (Order::Plain, true) => 1,
        (_, false) => 2,
        (_, true) => 3,
    }
}

/// Whether two classes conflict: one stores and one is plain.
pub(super) const fn conflict(a: u8, b: u8) -> bool {
    (a % 2 == 1 || b % 2 == 1) && (a < 2 || b < 2)
}

impl Memory {
    /// The messages that a thread may read from a cell, with their values.
    pub(super) fn sources(&self, thread: usize, cell: usize) -> Vec<(Source, i64)> {
        let (mut all, from) = match &self.minds[thread].now.spots[cell] {
            Spot::Old(past) => (past.keys().map(|v| (Source::Old(*v), *v)).collect(), 0),
            Spot::Kept(i) => (Vec::new(), *i),
            Spot::Nowhere => (Vec::new(), 0),
        };
        let kept = self.cells[cell].iter().enumerate().skip(from);
        all.extend(kept.map(|(i, m)| (Source::Kept(i), m.value)));
        all
    }

    /// The deed of an access.
    fn deed(&self, access: &Access) -> Deed {
        let class = class(access.order, access.write.is_some());
        let thread = if self.nameless { NOBODY } else { access.thread };
        (access.cell, thread, class)
    }

    /// All states of memory behind an access; `Err` if it races. `racy` says which cells can.
    pub(super) fn access(&self, access: &Access, racy: &[bool]) -> Result<Vec<Self>, ()> {
        let mut all = Vec::new();
        let Some(start) = self.started(access) else {
            return Ok(all);
        };
        let deed = self.deed(access);
        let races = |missed: &Deed| {
            missed.0 == access.cell && missed.1 != access.thread && conflict(missed.2, deed.2)
        };
        let missed = start.now.missed.iter().flat_map(|missed| &missed.0);
        if racy[access.cell] && missed.into_iter().any(races) {
            return Err(());
        }
        for place in self.places(access, &start) {
            if access.order != Order::SeqCst {
                all.push(self.placed(access, &start, place, racy));
                continue;
            }
            let mind = &self.minds[access.thread];
            let first = mind.events.first().copied();
            let least = first
                .max(mind.bound[access.cell])
                .max(start.began.same[access.cell])
                .max(start.began.fence)
                .max(start.now.same[access.cell]);
            for at in least.map_or(0, |mark| mark + 1)..=self.gates.len() {
                if let Some(start) = self.between(access, &start, place, at) {
                    let mut next = self.placed(access, &start, place, racy);
                    next.gated(access, place, at);
                    next.publish(access, place);
                    all.push(next);
                }
            }
        }
        if access.order != Order::SeqCst {
            let places = self.places(access, &start);
            for (next, place) in all.iter_mut().zip(places) {
                next.publish(access, place);
            }
        }
        Ok(all)
    }

    /// The access with its message read; `None` if it may not be.
    fn started(&self, access: &Access) -> Option<Start> {
        let (cell, order) = (access.cell, access.order);
        let (began, pending) = self.begin(access.thread, Some(cell));
        let mind = &self.minds[access.thread];
        let mut start = Start {
            now: began.clone(),
            offered: mind.offered.clone(),
            carried: View::nothing(self.cells.len()).into(),
            floor: Spot::Nowhere,
            began,
            pending,
        };
        let updates = access.write.is_some();
        match access.read {
            None => {}
            Some(Source::Kept(i)) => {
                let message = &self.cells[cell][i];
                if updates && !message.free {
                    return None;
                }
                if start.now.spots[cell] != Spot::Kept(i) {
                    start.now.spots[cell] = Spot::Kept(i);
                }
                start.take(&message.view, order);
            }
            Some(Source::Old(value)) => {
                let fact = start.now.spots[cell].old(value)?.clone();
                if updates && !fact.free {
                    return None;
                }
                let view = match fact.carries {
                    Some(view) => {
                        let known = start.now.spots[cell].join(&view.spots[cell]);
                        start.now.spots[cell] = known;
                        view
                    }
                    None => View::nothing(self.cells.len()).into(),
                };
                start.take(&view, order);
            }
        }
        // What stands in front of the last SC fence that happened before.
        if let Some(fence) = start.now.fence {
            start.floor = self.gates[fence].before[cell].clone();
        }
        let floor = start.floor.clone();
        start.above(access, &floor, true)?;
        Some(start)
    }

    /// Where the message of a store may go.
    fn places(&self, access: &Access, start: &Start) -> Vec<Place> {
        let messages = &self.cells[access.cell];
        match (access.read, access.write) {
            (_, None) => vec![Place::None],
            (Some(Source::Kept(i)), Some(_)) => vec![Place::Kept(i + 1)],
            (Some(Source::Old(value)), Some(_)) => vec![Place::Behind(value)],
            (None, Some(_)) => {
                let mut places = Vec::new();
                let first = match start.now.spots[access.cell].join(&start.floor) {
                    Spot::Kept(i) => i + 1,
                    Spot::Old(past) => {
                        let free = past.iter().filter(|(_, fact)| fact.free);
                        places.extend(free.map(|(value, _)| Place::Behind(*value)));
                        1
                    }
                    Spot::Nowhere => 1,
                };
                let last = first..=messages.len();
                places.extend(last.filter(|i| messages[i - 1].free).map(Place::Kept));
                places
            }
        }
    }

    /// Whether the access may stand in front of gate `at`, and what it knows then.
    fn between(&self, access: &Access, start: &Start, place: Place, at: usize) -> Option<Start> {
        let mut start = start.clone();
        let cell = access.cell;
        let floor = match at {
            0 => Spot::Nowhere,
            _ => self.gates[at - 1].access_floor[cell].clone(),
        };
        start.above(access, &floor, false)?;
        match place {
            Place::None => {}
            Place::Kept(i) => {
                let newer = !matches!(floor, Spot::Kept(least) if least >= i);
                let right = self.gates.get(at);
                let below = right.is_none_or(|gate| gate.store_ceiling(cell).admits(i));
                (newer && below).then_some(())?;
            }
            Place::Behind(value) => {
                if matches!(floor, Spot::Kept(_)) {
                    return None;
                }
                let known = start.now.spots[cell].join(&floor);
                if !known.old(value)?.free {
                    return None;
                }
                start.now.spots[cell] = known;
            }
        }
        Some(start)
    }

    /// The message is there, and the thread knows it.
    fn placed(&self, access: &Access, start: &Start, place: Place, racy: &[bool]) -> Self {
        let (cell, thread) = (access.cell, access.thread);
        let mut next = self.clone();
        let linked = start.now.linked;
        let mind: &mut Mind = &mut next.minds[thread];
        mind.now = start.now.clone();
        mind.offered = start.offered.clone();
        mind.pending = start.pending;
        for (other, bound) in mind.bound.iter_mut().enumerate() {
            if other != cell {
                *bound = (*bound).max(linked);
            }
        }
        let value = access.write.unwrap_or(0);
        let ceiling = match (place, access.read) {
            (Place::None, Some(Source::Kept(i))) => Ceiling::Before(i, true),
            (Place::None | Place::Behind(_), _) => Ceiling::Nothing,
            (Place::Kept(i), _) => Ceiling::Before(i, false),
        };
        match place {
            Place::None => {}
            Place::Kept(at) => {
                if access.read.is_some() {
                    next.cells[cell][at - 1].free = false;
                }
                let message = Message {
                    value,
                    free: true,
                    view: start.carried.clone(),
                };
                next.cells[cell].insert(at, message);
                let behind = |spot: &Spot| matches!(spot, Spot::Kept(i) if *i >= at);
                next.spots(cell, &behind, &mut |spot| {
                    if let Spot::Kept(i) = spot
                        && *i >= at
                    {
                        *i += 1;
                    }
                });
                next.ceilings(cell, at, |i, itself| {
                    Ceiling::Before(if i >= at { i + 1 } else { i }, itself)
                });
                next.minds[thread].now.spots[cell] = Spot::Kept(at);
            }
            Place::Behind(anchor) => {
                if access.read.is_none() {
                    let own = &mut next.minds[thread].now.spots[cell];
                    *own = own.join(&start.floor);
                }
                let sees = |spot: &Spot| spot.old(anchor).is_some_and(|fact| fact.free);
                next.spots(cell, &sees, &mut |spot| {
                    if sees(spot)
                        && let Spot::Old(past) = spot
                    {
                        Fact::add(past, value, true, None);
                    }
                });
                if let Spot::Old(past) = &mut next.minds[thread].now.spots[cell] {
                    Fact::add(past, value, true, None);
                }
            }
        }
        if !matches!(place, Place::None) && self.tracked[cell] {
            let now: &mut View = &mut next.minds[thread].now;
            now.stores.insert(cell, now.spots[cell].clone());
        }
        if let Some(fence) = start.now.fence {
            next.lower_behind(fence, cell, ceiling);
        }
        if racy[cell] {
            let deed = self.deed(access);
            // Of a deed without a name another thread's may be the one that is missed.
            let missed = start.now.missed.as_ref();
            let stays = self.nameless && missed.is_some_and(|missed| missed.contains(&deed));
            let lacks =
                |view: &View| matches!(&view.missed, Some(missed) if !missed.contains(&deed));
            next.views(&lacks, &mut |view| {
                if let Some(missed) = &mut view.missed {
                    missed.insert(deed);
                }
            });
            if let Some(missed) = &mut next.minds[thread].now.missed
                && !stays
            {
                missed.remove(&deed);
            }
        }
        next
    }

    /// The access is an event of the SC order, in front of gate `at`.
    fn gated(&mut self, access: &Access, place: Place, at: usize) {
        let cell = access.cell;
        self.insert_gate(at);
        let ceiling = match (place, access.read) {
            (Place::None, Some(Source::Kept(i))) => Ceiling::Before(i, true),
            (Place::None | Place::Behind(_), _) => Ceiling::Nothing,
            (Place::Kept(i), _) => Ceiling::Before(i, false),
        };
        if !matches!(place, Place::None) {
            let spot = self.minds[access.thread].now.spots[cell].clone();
            self.raise(at, cell, &spot);
            self.raise_accesses(at, cell, &spot);
        }
        self.lower(at, cell, ceiling);
        let mind: &mut Mind = &mut self.minds[access.thread];
        mind.events.insert(0, at);
        mind.pending = Some((at, cell));
        mind.now.same[cell] = mind.now.same[cell].max(Some(at));
        mind.now.last = mind.now.last.max(Some(at));
    }

    /// What the message publishes, and what an acquire fence would bring.
    fn publish(&mut self, access: &Access, place: Place) {
        let cell = access.cell;
        let mind: &mut Mind = &mut self.minds[access.thread];
        mind.offered = mind.offered.joined(&mind.now);
        if matches!(place, Place::None) {
            return;
        }
        let published = if access.order == Order::Plain {
            View::nothing(mind.bound.len()).into()
        } else if access.order.releases() {
            mind.released[cell] = mind.now.clone();
            mind.now.clone()
        } else {
            mind.released[cell].clone()
        };
        if let Place::Kept(at) = place {
            let message = &mut self.cells[cell][at];
            // So far it carries what the message read has carried.
            message.view = match access.read {
                Some(_) => published.joined(&message.view),
                None => published,
            };
            if message.view.spots[cell] != Spot::Kept(at) {
                message.view.spots[cell] = Spot::Kept(at);
            }
        }
    }
}

/// Where a message goes.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// There is none.
    None,
    Kept(usize),
    /// Behind an old one of this value.
    Behind(i64),
}

/// An access that has begun.
#[derive(Clone)]
struct Start {
    /// What the thread knew.
    began: Shared<View>,
    /// What it knows with the message read.
    now: Shared<View>,
    offered: Shared<View>,
    carried: Shared<View>,
    floor: Spot,
    pending: Option<(usize, usize)>,
}

impl Start {
    /// The message read carries this.
    fn take(&mut self, view: &Shared<View>, order: Order) {
        self.carried = self.carried.joined(view);
        if order.acquires() {
            self.now = self.now.joined(view);
        }
        if order != Order::Plain {
            self.offered = self.offered.joined(view);
        }
        self.offered = self.offered.joined(&self.now);
    }

    /// The message read must not be older than `floor`; if it is an old one, the floor may
    /// tell more of it.
    fn above(&mut self, access: &Access, floor: &Spot, by_order: bool) -> Option<()> {
        match (access.read, floor) {
            (None, _) => Some(()),
            (Some(Source::Kept(i)), Spot::Kept(least)) => (*least <= i).then_some(()),
            (Some(Source::Kept(_)), Spot::Old(_) | Spot::Nowhere) => Some(()),
            (Some(Source::Old(_)), Spot::Kept(_)) => None,
            (Some(Source::Old(value)), Spot::Old(_) | Spot::Nowhere) => {
                let cell = access.cell;
                let known = self.now.spots[cell].join(floor);
                let fact = known.old(value)?;
                if access.write.is_some() && !fact.free {
                    return None;
                }
                if self.now.spots[cell] != known {
                    self.now.spots[cell] = known;
                }
                if let Some(view) = floor.old(value).and_then(|fact| fact.carries.clone()) {
                    if by_order {
                        self.take(&view, access.order);
                    } else {
                        // SC accesses acquire.
                        self.now = self.now.joined(&view);
                        self.carried = self.carried.joined(&view);
                    }
                }
                Some(())
            }
        }
    }
}
