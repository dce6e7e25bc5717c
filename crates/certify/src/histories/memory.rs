//! The *memory* of a certificate's states: for each cell its newest messages, the SC order, and what
//! threads know. The rules are those of docs/memory-models.md, and of old messages those of
//! docs/soundness.md.
//!
//! An event of the SC order is a [`Gate`]. What the events up to it ask of later ones is its
//! `floor` (without itself: `before`), what those from it on ask of earlier ones its `ceiling`.
//!
//! Two SC fences are ordered by all that happens between them and by what was read on the way
//! (psc-F); an SC fence and an SC access only by stores that happen before the fence, and by accesses that happen
//! behind it (psc-base). So `before`, `floor` and `behind` are what counts for an access behind a fence, and for a
//! fence by what its thread has seen; `access_floor` and `ceiling` are what counts for an SC
//! access, and for a fence by the stores that happen before it. An SC store minds all of them.

use std::rc::Rc;

use palisade_program::Order;
use palisade_program::shift::FAR;

use super::shared::Shared;
use super::view::{Deed, Deeds, Fact, Mark, Past, Spot, View};

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub(super) value: i64,
    /// Whether a read-modify-write may still read it.
    pub(super) free: bool,
    pub(super) view: Shared<View>,
}

/// The newest message that is allowed in front of a gate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Ceiling {
    /// No kept one.
    Nothing,
    /// One with a smaller index; or, if true, this one.
    Before(usize, bool),
    /// Any.
    Open,
}

impl Ceiling {
    /// Whether the message `i` is allowed.
    pub(super) fn allows(self, i: usize) -> bool {
        match self {
            Self::Nothing => false,
            Self::Before(k, itself) => i < k || (itself && i == k),
            Self::Open => true,
        }
    }

    /// Whether a new message at `i` is allowed.
    pub(super) fn admits(self, i: usize) -> bool {
        match self {
            Self::Nothing => false,
            Self::Before(k, _) => i <= k,
            Self::Open => true,
        }
    }
}

/// An event of the SC order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Gate {
    pub(super) before: Vec<Spot>,
    pub(super) floor: Vec<Spot>,
    pub(super) ceiling: Vec<Ceiling>,
    /// The floor of SC accesses.
    pub(super) access_floor: Vec<Spot>,
    /// The ceiling set by accesses behind SC fences.
    pub(super) behind: Vec<Ceiling>,
}

impl Gate {
    /// All floors.
    pub(super) fn floors(&mut self) -> [&mut Vec<Spot>; 3] {
        [&mut self.before, &mut self.floor, &mut self.access_floor]
    }

    /// Whether a spot of its floors is such a one.
    pub(super) fn has(&self, such: &dyn Fn(&Spot) -> bool) -> bool {
        let floors = [&self.before, &self.floor, &self.access_floor];
        floors.into_iter().flatten().any(such)
    }

    /// Whether an SC fence with this view may stand in front of it.
    pub(super) fn lets_pass(&self, view: &View) -> bool {
        let below = |spot: &Spot, ceiling: &Ceiling| match spot {
            Spot::Kept(i) => ceiling.allows(*i),
            Spot::Old(_) | Spot::Nowhere => true,
        };
        let mut seen = view.spots.iter().zip(&self.behind);
        let mut stores = view.stores.iter();
        seen.all(|(spot, ceiling)| below(spot, ceiling))
            && stores.all(|(cell, spot)| below(spot, &self.ceiling[*cell]))
    }

    /// The newest place for an SC store in front of it.
    pub(super) fn store_ceiling(&self, cell: usize) -> Ceiling {
        self.ceiling[cell].min(self.behind[cell])
    }
}

/// What a thread knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mind {
    pub(super) now: Shared<View>,
    /// What relaxed loads have brought, for an acquire fence.
    pub(super) offered: Shared<View>,
    /// What a relaxed store to a cell publishes.
    pub(super) released: Vec<Shared<View>>,
    /// Its last SC event, if that and all events since are accesses of this cell.
    pub(super) pending: Option<(usize, usize)>,
    /// Its SC events that are still marked, the last one first.
    pub(super) events: Vec<usize>,
    /// What its next SC access to a cell must follow for linked SC events.
    pub(super) bound: Vec<Mark>,
}

impl Mind {
    pub(super) fn views(&self) -> impl Iterator<Item = &Shared<View>> {
        [&self.now, &self.offered].into_iter().chain(&self.released)
    }

    pub(super) fn views_mut(&mut self) -> impl Iterator<Item = &mut Shared<View>> {
        let few = [&mut self.now, &mut self.offered];
        few.into_iter().chain(&mut self.released)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Memory {
    pub(super) cells: Vec<Shared<Vec<Message>>>,
    pub(super) gates: Vec<Shared<Gate>>,
    pub(super) minds: Vec<Shared<Mind>>,
    /// The cells where it is known which stores happen before.
    pub(super) tracked: Rc<Vec<bool>>,
}

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
    pub(super) fn new(values: &[i64], threads: usize, tracked: Rc<Vec<bool>>) -> Self {
        let cells = values.len();
        let first = Shared::from(View {
            spots: vec![Spot::Kept(0); cells],
            missed: Some(Deeds::default()),
            ..View::nothing(cells)
        });
        let message = |value: &i64| Message {
            value: *value,
            free: true,
            view: first.clone(),
        };
        let mind = Mind {
            now: first.clone(),
            offered: first.clone(),
            released: vec![first.clone(); cells],
            pending: None,
            events: Vec::new(),
            bound: vec![None; cells],
        };
        Self {
            cells: values.iter().map(|v| vec![message(v)].into()).collect(),
            gates: Vec::new(),
            minds: vec![mind.into(); threads],
            tracked,
        }
    }

    /// Changes every view, those that old messages carry too, for which `changes` says that `f` does
    /// something.
    pub(super) fn views(&mut self, changes: &dyn Fn(&View) -> bool, f: &mut dyn FnMut(&mut View)) {
        self.inside(changes, f);
        self.outer_views(changes, f);
    }

    /// The same for those that are not carried by old messages.
    pub(super) fn outer_views(
        &mut self,
        changes: &dyn Fn(&View) -> bool,
        f: &mut dyn FnMut(&mut View),
    ) {
        let stale = |view: &&mut Shared<View>| changes(view);
        for mind in &mut self.minds {
            if mind.views().any(|view| changes(view)) {
                mind.views_mut().filter(stale).for_each(|view| f(view));
            }
        }
        for messages in &mut self.cells {
            if messages.iter().any(|message| changes(&message.view)) {
                let views = messages.iter_mut().map(|message| &mut message.view);
                views.filter(stale).for_each(|view| f(view));
            }
        }
    }

    /// The same for those that old messages carry.
    pub(super) fn inside(&mut self, changes: &dyn Fn(&View) -> bool, f: &mut dyn FnMut(&mut View)) {
        let mut within = |spot: &mut Spot| {
            if spot.has_inside(changes)
                && let Spot::Old(past) = spot
            {
                let carried = past.values_mut().filter_map(|fact| fact.carries.as_mut());
                let stale = carried.filter(|view| changes(view));
                stale.for_each(|view| f(view));
            }
        };
        for gate in &mut self.gates {
            if gate.has(&|spot| spot.has_inside(changes)) {
                gate.floors().into_iter().flatten().for_each(&mut within);
            }
        }
        self.outer_views(&|view| view.has_inside(changes), &mut |view| {
            view.all_spots().for_each(&mut within);
        });
    }

    /// Changes every spot in the history of a cell for which `changes` says that `f` does something.
    pub(super) fn spots(
        &mut self,
        cell: usize,
        changes: &dyn Fn(&Spot) -> bool,
        f: &mut dyn FnMut(&mut Spot),
    ) {
        self.inside(&|view| view.has_at(cell, changes), &mut |view| {
            view.at(cell, f);
        });
        self.outside(cell, changes, f);
    }

    /// The same for spots that are not inside what old messages carry.
    pub(super) fn outside(
        &mut self,
        cell: usize,
        changes: &dyn Fn(&Spot) -> bool,
        f: &mut dyn FnMut(&mut Spot),
    ) {
        self.outer_views(&|view| view.has_at(cell, changes), &mut |view| {
            view.at(cell, f);
        });
        for gate in &mut self.gates {
            let floors = [&gate.before, &gate.floor, &gate.access_floor];
            if floors.iter().any(|floor| changes(&floor[cell])) {
                gate.floors()
                    .into_iter()
                    .for_each(|floor| f(&mut floor[cell]));
            }
        }
    }

    /// Changes every mark from `first` on.
    fn marks(&mut self, first: usize, f: &mut dyn FnMut(&mut Mark)) {
        let changes = |mark: Mark| mark.is_some_and(|at| at >= first);
        self.views(&|view| view.has_mark(&changes), &mut |view| view.marks(f));
        for mind in &mut self.minds {
            let mut events = mind.events.iter();
            let pending = mind.pending.map(|(event, _)| event);
            if !changes(pending)
                && !mind.bound.iter().any(|mark| changes(*mark))
                && !events.any(|event| changes(Some(*event)))
            {
                continue;
            }
            let mind: &mut Mind = mind;
            mind.bound.iter_mut().for_each(&mut *f);
            let mut own = |event: &mut usize| {
                let mut mark = Some(*event);
                f(&mut mark);
                mark.map(|new| *event = new).is_some()
            };
            mind.events.retain_mut(&mut own);
            if let Some((event, _)) = &mut mind.pending
                && !own(event)
            {
                mind.pending = None;
            }
        }
    }

    pub(super) fn ceilings(
        &mut self,
        cell: usize,
        first: usize,
        f: impl Fn(usize, bool) -> Ceiling,
    ) {
        let changes = |ceiling: &Ceiling| matches!(ceiling, Ceiling::Before(i, _) if *i >= first);
        for gate in &mut self.gates {
            if !changes(&gate.ceiling[cell]) && !changes(&gate.behind[cell]) {
                continue;
            }
            let gate: &mut Gate = gate;
            for ceiling in [&mut gate.ceiling[cell], &mut gate.behind[cell]] {
                if let Ceiling::Before(i, itself) = *ceiling {
                    *ceiling = f(i, itself);
                }
            }
        }
    }

    /// Takes `by` from every value of a cell.
    pub(super) fn shift(&mut self, cell: usize, by: i64) {
        if by == 0 {
            return;
        }
        for message in self.cells[cell].iter_mut() {
            message.value -= by;
        }
        let old = |spot: &Spot| matches!(spot, Spot::Old(_));
        self.spots(cell, &old, &mut |spot| {
            if let Spot::Old(past) = spot {
                let place = |value: i64| if value == FAR { FAR } else { value - by };
                let moved = past
                    .iter()
                    .map(|(value, fact)| (place(*value), fact.clone()));
                *past = moved.collect::<Past>().into();
            }
        });
    }

    /// Old values of a cell that are below `least` are not told apart.
    pub(super) fn blur(&mut self, cell: usize, least: i64) {
        let far = |past: &Past| past.keys().any(|value| *value < least && *value != FAR);
        let changes = |spot: &Spot| matches!(spot, Spot::Old(past) if far(past));
        self.spots(cell, &changes, &mut |spot| {
            if let Spot::Old(past) = spot
                && far(past)
            {
                let mut fewer = Past::new();
                for (value, fact) in &**past {
                    let value = if *value < least { FAR } else { *value };
                    Fact::add(&mut fewer, value, fact.free, fact.carries.as_ref());
                }
                *past = fewer.into();
            }
        });
    }

    fn insert_gate(&mut self, at: usize) {
        self.marks(at, &mut |mark| {
            if let Some(i) = mark
                && *i >= at
            {
                *i += 1;
            }
        });
        let cells = self.cells.len();
        let nowhere = vec![Spot::Nowhere; cells];
        let (before, access_floor) = if at == 0 {
            (nowhere.clone(), nowhere)
        } else {
            let left = &self.gates[at - 1];
            (left.floor.clone(), left.access_floor.clone())
        };
        let open = vec![Ceiling::Open; cells];
        let (ceiling, behind) = match self.gates.get(at) {
            Some(right) => (right.ceiling.clone(), right.behind.clone()),
            None => (open.clone(), open),
        };
        let floor = before.clone();
        let gate = Gate {
            before,
            floor,
            ceiling,
            access_floor,
            behind,
        };
        self.gates.insert(at, gate.into());
    }

    /// A gate goes; who knew it knows the one before it.
    pub(super) fn remove_gate(&mut self, at: usize) {
        self.gates.remove(at);
        self.marks(at, &mut |mark| {
            if let Some(i) = *mark
                && i >= at
            {
                *mark = i.checked_sub(1);
            }
        });
    }

    /// The event of a gate has stored here, or knows of this store: later SC accesses must not be
    /// older.
    fn raise_accesses(&mut self, at: usize, cell: usize, spot: &Spot) {
        for gate in &mut self.gates[at..] {
            if !gate.access_floor[cell].covers(spot) {
                gate.access_floor[cell] = gate.access_floor[cell].join(spot);
            }
        }
    }

    /// The event of a gate has this position: what comes behind later fences must not be older.
    fn raise(&mut self, at: usize, cell: usize, spot: &Spot) {
        for (i, gate) in self.gates.iter_mut().enumerate().skip(at) {
            if !gate.floor[cell].covers(spot) {
                gate.floor[cell] = gate.floor[cell].join(spot);
            }
            if i > at && !gate.before[cell].covers(spot) {
                gate.before[cell] = gate.before[cell].join(spot);
            }
        }
    }

    /// Events in front of a gate must not be newer.
    fn lower(&mut self, at: usize, cell: usize, ceiling: Ceiling) {
        for gate in &mut self.gates[..=at] {
            if gate.ceiling[cell] > ceiling {
                gate.ceiling[cell] = ceiling;
            }
        }
    }

    /// The same for an access behind the fence of a gate.
    fn lower_behind(&mut self, at: usize, cell: usize, ceiling: Ceiling) {
        for gate in &mut self.gates[..=at] {
            if gate.behind[cell] > ceiling {
                gate.behind[cell] = ceiling;
            }
        }
    }

    /// The thread's view as its next event begins.
    fn begin(&self, thread: usize, cell: Option<usize>) -> (Shared<View>, Option<(usize, usize)>) {
        let mind = &self.minds[thread];
        let mut now = mind.now.clone();
        match mind.pending {
            Some((event, at)) if cell != Some(at) => {
                now.linked = now.linked.max(Some(event));
                (now, None)
            }
            pending => (now, pending),
        }
    }

    /// All states of memory behind a fence.
    pub(super) fn fence(&self, thread: usize, order: Order) -> Vec<Self> {
        let (mut now, pending) = self.begin(thread, None);
        if order.acquires() {
            now = now.joined(&self.minds[thread].offered);
        }
        let mut after = self.clone();
        let mind: &mut Mind = &mut after.minds[thread];
        mind.pending = pending;
        for bound in &mut mind.bound {
            *bound = (*bound).max(now.linked);
        }
        if order != Order::SeqCst {
            mind.offered = mind.offered.joined(&now);
            if order.releases() {
                mind.released.fill(now.clone());
            }
            mind.now = now;
            return vec![after];
        }
        mind.now = now.clone();
        let own = self.minds[thread].events.first().copied();
        let least = own.max(now.fence).max(now.linked).max(now.last);
        let first = least.map_or(0, |mark| mark + 1);
        let fits = |at: &usize| {
            let right = self.gates.get(*at);
            right.is_none_or(|right| right.lets_pass(&now))
        };
        (first..=self.gates.len())
            .filter(fits)
            .map(|at| {
                let mut next = after.clone();
                next.insert_gate(at);
                for (cell, spot) in now.spots.iter().enumerate() {
                    next.raise(at, cell, spot);
                }
                for (cell, spot) in &now.stores {
                    next.raise_accesses(at, *cell, spot);
                }
                let mind: &mut Mind = &mut next.minds[thread];
                mind.events.insert(0, at);
                mind.bound.fill(Some(at));
                mind.now.fence = Some(at);
                mind.now.linked = Some(at);
                mind.now.last = Some(at);
                mind.offered = mind.now.clone();
                mind.released.fill(mind.now.clone());
                next
            })
            .collect()
    }

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
    fn deed(access: &Access) -> Deed {
        let class = class(access.order, access.write.is_some());
        (access.cell, access.thread, class)
    }

    /// All states of memory behind an access; `Err` if it races. `racy` says which cells can.
    pub(super) fn access(&self, access: &Access, racy: &[bool]) -> Result<Vec<Self>, ()> {
        let mut all = Vec::new();
        let Some(start) = self.started(access) else {
            return Ok(all);
        };
        let deed = Self::deed(access);
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
            let deed = Self::deed(access);
            let lacks =
                |view: &View| matches!(&view.missed, Some(missed) if !missed.contains(&deed));
            next.views(&lacks, &mut |view| {
                if let Some(missed) = &mut view.missed {
                    missed.insert(deed);
                }
            });
            if let Some(missed) = &mut next.minds[thread].now.missed {
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
