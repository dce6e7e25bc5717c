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
use super::view::{Deeds, Fact, Mark, Past, Spot, View};

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

    /// Whether some view is such a one. Many are one and the same.
    pub(super) fn has_view(&self, such: impl Fn(&Shared<View>) -> bool) -> bool {
        let mut last: Option<&Shared<View>> = None;
        self.views().any(|view| {
            let known = last.is_some_and(|last| last.is(view));
            last = Some(view);
            !known && such(view)
        })
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
    /// Whether accesses are not told apart by thread.
    pub(super) nameless: bool,
    /// Whether there have been old messages: else nothing is carried by them.
    pub(super) folded: bool,
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
            nameless: false,
            folded: false,
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
            if mind.has_view(|view| changes(view)) {
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
        if !self.folded {
            return;
        }
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

    /// Gives every value of a cell of counters the number that `moved` has for it. Old ones that are `far` then are not
    /// told apart.
    pub(super) fn shift(
        &mut self,
        cell: usize,
        moved: &dyn Fn(i64) -> i64,
        far: &dyn Fn(i64) -> bool,
    ) {
        let name = |value: i64| {
            if value == FAR || far(moved(value)) {
                FAR
            } else {
                moved(value)
            }
        };
        if self.cells[cell].iter().any(|m| moved(m.value) != m.value) {
            for message in self.cells[cell].iter_mut() {
                message.value = moved(message.value);
            }
        }
        let changes =
            |spot: &Spot| matches!(spot, Spot::Old(past) if past.keys().any(|v| name(*v) != *v));
        self.spots(cell, &changes, &mut |spot| {
            if let Spot::Old(past) = spot {
                let mut renamed = Past::new();
                for (value, fact) in &**past {
                    Fact::add(&mut renamed, name(*value), fact.free, fact.carries.as_ref());
                }
                *past = renamed.into();
            }
        });
    }

    pub(super) fn insert_gate(&mut self, at: usize) {
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
    pub(super) fn raise_accesses(&mut self, at: usize, cell: usize, spot: &Spot) {
        for gate in &mut self.gates[at..] {
            if !gate.access_floor[cell].covers(spot) {
                gate.access_floor[cell] = gate.access_floor[cell].join(spot);
            }
        }
    }

    /// The event of a gate has this position: what comes behind later fences must not be older.
    pub(super) fn raise(&mut self, at: usize, cell: usize, spot: &Spot) {
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
    pub(super) fn lower(&mut self, at: usize, cell: usize, ceiling: Ceiling) {
        for gate in &mut self.gates[..=at] {
            if gate.ceiling[cell] > ceiling {
                gate.ceiling[cell] = ceiling;
            }
        }
    }

    /// The same for an access behind the fence of a gate.
    pub(super) fn lower_behind(&mut self, at: usize, cell: usize, ceiling: Ceiling) {
        for gate in &mut self.gates[..=at] {
            if gate.behind[cell] > ceiling {
                gate.behind[cell] = ceiling;
            }
        }
    }

    /// The thread's view as its next event begins.
    pub(super) fn begin(
        &self,
        thread: usize,
        cell: Option<usize>,
    ) -> (Shared<View>, Option<(usize, usize)>) {
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
}
