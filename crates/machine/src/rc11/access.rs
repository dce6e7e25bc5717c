//! *Accesses and fences*: what each may do, as the machine of docs/memory-models.md says. A load
//! picks a message, a store a place in the history, an SC event a place in the SC order: one
//! [`Outcome`] for every choice.

// A kept and an old message stand side by side.
#![allow(clippy::single_match_else)]

use palisade_program::Order;

use super::memory::{LOWEST, Memory, Message, OPEN};
use super::races::{Access, Races};
use super::view::{NONE, Pos, View};

/// A message that a load may read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Readable {
    /// Its index; `None` for an old one.
    pub(crate) kept: Option<usize>,
    pub(crate) value: i64,
    /// How many newer stores there are (at least, for an old one).
    pub(crate) behind: usize,
}

/// A load, a store or a read-modify-write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) thread: usize,
    pub(crate) cell: usize,
    pub(crate) order: Order,
    pub(crate) read: Option<Readable>,
    pub(crate) write: Option<i64>,
}

impl Event {
    /// The location and index of the message that is read, if that is not an old one.
    pub(crate) fn source(&self) -> Option<(usize, usize)> {
        Some((self.cell, self.read?.kept?))
    }
}

/// One way in which an event may happen.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) memory: Memory,
    /// How many stores of its location are newer than a store.
    pub(crate) below: usize,
    /// It races with an access of this thread.
    pub(crate) race: Option<usize>,
}

/// Where a store goes.
#[derive(Clone, Copy)]
enum Place {
    /// It is no store.
    Nowhere,
    /// This index of the kept messages.
    Kept(usize),
    /// Behind an old message of this value.
    Old(i64),
}

impl Memory {
    /// The messages that thread `t` may read.
    pub(crate) fn readable(&self, t: usize, cell: usize) -> Vec<Readable> {
        let history = &self.history[cell];
        let mut all = Vec::new();
        let from = match &self.threads[t].current.pos[cell] {
            Pos::Kept(i) => *i as usize,
            Pos::Old(old) => {
                all.extend(old.values.iter().map(|&(value, _)| Readable {
                    kept: None,
                    value,
                    behind: history.len(),
                }));
                0
            }
            Pos::Bottom => 0,
        };
        all.extend(
            history
                .iter()
                .enumerate()
                .skip(from)
                .map(|(i, m)| Readable {
                    kept: Some(i),
                    value: m.value,
                    behind: history.len() - 1 - i,
                }),
        );
        all
    }

    /// The thread's view at its next event, at `cell` or at a fence: an SC access is linked now
    /// if that is another location.
    fn next_view(&self, t: usize, cell: Option<usize>) -> (View, Option<(i16, u32)>) {
        let known = &self.threads[t];
        let mut current = known.current.clone();
        let mut pending = known.pending;
        if let Some((mark, at)) = pending
            && cell != Some(at as usize)
        {
            current.sc.linked = current.sc.linked.max(mark);
            pending = None;
        }
        (current, pending)
    }

    /// A fence of thread `t`.
    pub(crate) fn fence(&self, t: usize, order: Order) -> Vec<Self> {
        let (mut current, pending) = self.next_view(t, None);
        if order.acquires() {
            current.join(&self.threads[t].acquirable);
        }
        let mut linked = self.threads[t].linked.clone();
        raise_all(&mut linked, current.sc.linked);
        if order != Order::SeqCst {
            let mut after = self.clone();
            let known = &mut after.threads[t];
            known.acquirable.join(&current);
            if order.releases() {
                known.released.fill(current.clone());
            }
            known.current = current;
            known.linked = linked;
            known.pending = pending;
            return vec![after];
        }
        let sc = &current.sc;
        let least = self.threads[t].own.max(sc.fence).max(sc.linked).max(sc.any);
        let mut all = Vec::new();
        for at in (least + 1) as usize..=self.marks.len() {
            let right = self.marks.get(at);
            if right.is_some_and(|right| right.forbids_fence(&current)) {
                continue;
            }
            let mut after = self.clone();
            after.threads[t].current = current.clone();
            after.threads[t].pending = pending;
            after.insert_mark(at);
            for (cell, pos) in current.pos.iter().enumerate() {
                after.raise_fence(at, cell, pos);
            }
            for (cell, pos) in &current.stores {
                after.raise_sc(at, *cell as usize, pos);
            }
            let known = &mut after.threads[t];
            let mark = at as i16;
            known.current.sc.fence = mark;
            known.current.sc.linked = mark;
            known.current.sc.any = mark;
            known.acquirable = known.current.clone();
            known.released.fill(known.current.clone());
            known.linked.fill(mark);
            known.advance(mark);
            all.push(after);
        }
        all
    }

    /// Every way in which `event` may happen.
    pub(crate) fn access(&self, event: Event, races: &Races) -> Vec<Outcome> {
        let mut all = Vec::new();
        self.try_access(event, races, &mut all);
        all
    }

    fn try_access(&self, event: Event, races: &Races, all: &mut Vec<Outcome>) -> Option<()> {
        let Event {
            thread: t,
            cell,
            order,
            read,
            write,
        } = event;
        let history = &self.history[cell];
        let (before, pending) = self.next_view(t, Some(cell));
        let is_update = read.is_some() && write.is_some();
        let mut current = before.clone();
        let mut acquirable = self.threads[t].acquirable.clone();
        // What the message read carries.
        let mut carried = View::bottom(self.history.len(), before.unseen.0.len());
        let takes = |current: &mut View, acquirable: &mut View, view: &View| {
            if order.acquires() {
                current.join(view);
            }
            if order != Order::Plain {
                acquirable.join(view);
            }
            acquirable.join(current);
        };
        if let Some(read) = read {
            match read.kept {
                Some(i) => {
                    if is_update && history[i].attached {
                        return None;
                    }
                    carried = history[i].view.clone();
                    current.pos[cell] = Pos::Kept(i as u32);
                }
                None => {
                    if !before.pos[cell].may_read_old(read.value, is_update) {
                        return None;
                    }
                    if let Some(flat) = before.pos[cell].carried(read.value) {
                        carried = flat.view();
                        current.pos[cell] = current.pos[cell].join(&carried.pos[cell]);
                    }
                }
            }
            takes(&mut current, &mut acquirable, &carried);
        }
        // What SC events before the thread's last SC fence ask.
        let fence = current.sc.fence;
        let floor = match usize::try_from(fence) {
            Ok(mark) => self.marks[mark].before[cell].clone(),
            Err(_) => Pos::Bottom,
        };
        if let Some(more) = above(&event, &mut current.pos[cell], &floor).ok()? {
            carried.join(&more);
            takes(&mut current, &mut acquirable, &more);
        }
        let mut linked = self.threads[t].linked.clone();
        let own = linked[cell];
        raise_all(&mut linked, current.sc.linked);
        linked[cell] = own;
        let race = races.found(&current, t, cell, Access::of(order, write.is_some()));
        let prepared = Prepared {
            event,
            before,
            pending,
            current,
            acquirable,
            carried,
            fence,
            floor,
            linked,
            race,
        };
        for place in prepared.places(self) {
            for at in prepared.sc_places(self) {
                all.extend(prepared.happen(self, place, at, races));
            }
        }
        Some(())
    }
}

impl super::memory::Known {
    /// `mark` is its last SC event now.
    fn advance(&mut self, mark: i16) {
        if self.own != NONE {
            self.earlier.insert(0, self.own);
        }
        self.own = mark;
    }
}

/// A message is older than allowed.
struct Older;

/// Whether the event reads no message older than a floor. The floor may tell what an old
/// message carries; the position of the reader is behind the floor then.
fn above(event: &Event, pos: &mut Pos, floor: &Pos) -> Result<Option<View>, Older> {
    let Some(read) = event.read else {
        return Ok(None);
    };
    match (read.kept, floor) {
        (Some(i), Pos::Kept(least)) if *least as usize > i => Err(Older),
        (Some(_), Pos::Kept(_) | Pos::Old(_) | Pos::Bottom) => Ok(None),
        (None, _) => {
            may_stay(pos, floor, read.value, event.write.is_some()).ok_or(Older)?;
            Ok(floor.carried(read.value).map(super::view::Flat::view))
        }
    }
}

/// Whether an old message of `value` may still be read behind a floor.
fn may_stay(pos: &mut Pos, floor: &Pos, value: i64, free: bool) -> Option<()> {
    if matches!(floor, Pos::Kept(_)) {
        return None;
    }
    *pos = pos.join(floor);
    pos.may_read_old(value, free).then_some(())
}

fn raise_all(linked: &mut [i16], mark: i16) {
    for own in linked {
        *own = (*own).max(mark);
    }
}

/// An event whose message to read is chosen.
struct Prepared {
    event: Event,
    /// The thread's view before it.
    before: View,
    pending: Option<(i16, u32)>,
    current: View,
    acquirable: View,
    carried: View,
    fence: i16,
    floor: Pos,
    linked: Vec<i16>,
    race: Option<usize>,
}

impl Prepared {
    /// Where the store may go.
    fn places(&self, memory: &Memory) -> Vec<Place> {
        let cell = self.event.cell;
        match (self.event.read, self.event.write) {
            (_, None) => vec![Place::Nowhere],
            (Some(read), Some(_)) => vec![match read.kept {
                Some(i) => Place::Kept(i + 1),
                None => Place::Old(read.value),
            }],
            (None, Some(_)) => {
                let history = &memory.history[cell];
                let mut places = Vec::new();
                let first = match self.current.pos[cell].join(&self.floor) {
                    Pos::Kept(i) => i as usize + 1,
                    Pos::Old(old) => {
                        let free = old.values.iter().filter(|(_, free)| *free);
                        places.extend(free.map(|&(value, _)| Place::Old(value)));
                        1
                    }
                    Pos::Bottom => 1,
                };
                let ends = (first..=history.len()).filter(|&at| !history[at - 1].attached);
                places.extend(ends.map(Place::Kept));
                places
            }
        }
    }

    /// Where it may stand in the SC order; `None` if it does not.
    fn sc_places(&self, memory: &Memory) -> Vec<Option<usize>> {
        if self.event.order != Order::SeqCst {
            return vec![None];
        }
        let (t, cell) = (self.event.thread, self.event.cell);
        let known = &memory.threads[t];
        let least = known
            .own
            .max(known.linked[cell])
            .max(self.before.sc.same[cell])
            .max(self.before.sc.fence)
            .max(self.current.sc.same[cell]);
        let places = (least + 1) as usize..=memory.marks.len();
        places.map(Some).collect()
    }

    /// The event at its places, if the SC order allows it.
    fn happen(
        &self,
        memory: &Memory,
        place: Place,
        at: Option<usize>,
        races: &Races,
    ) -> Option<Outcome> {
        let Event {
            thread: t,
            cell,
            order,
            read,
            write,
        } = self.event;
        let is_update = read.is_some() && write.is_some();
        let mut current = self.current.clone();
        let mut carried = self.carried.clone();
        if let Some(at) = at {
            let floor = match at.checked_sub(1) {
                Some(left) => memory.marks[left].floor_sc(cell).clone(),
                None => Pos::Bottom,
            };
            let right = memory.marks.get(at);
            let ceiling = right.map_or(OPEN, |right| right.ceiling_of_store(cell));
            if let Some(more) = above(&self.event, &mut current.pos[cell], &floor).ok()? {
                current.join(&more);
                carried.join(&more);
            }
            match place {
                Place::Nowhere => {}
                Place::Kept(i) => {
                    let is_newer = !matches!(floor, Pos::Kept(least) if least as usize >= i);
                    let fits = ceiling == OPEN || (ceiling >= 0 && i as i16 <= ceiling >> 1);
                    (is_newer && fits).then_some(())?;
                }
                Place::Old(anchor) => {
                    may_stay(&mut current.pos[cell], &floor, anchor, true)?;
                }
            }
        }
        let mut after = memory.clone();
        // What is carried moves with the insertions below.
        let bottom = View::bottom(memory.history.len(), current.unseen.0.len());
        let known = &mut after.threads[t];
        known.current = current;
        known.acquirable = self.acquirable.clone();
        known.linked.clone_from(&self.linked);
        known.pending = self.pending;
        let (position, ceiling) = match place {
            Place::Nowhere => {
                let index = read.and_then(|read| read.kept);
                (None, index.map_or(LOWEST, |i| 2 * i as i16 + 1))
            }
            Place::Kept(i) => {
                if is_update {
                    after.history[cell][i - 1].attached = true;
                }
                let message = Message {
                    value: write?,
                    attached: false,
                    view: std::mem::replace(&mut carried, bottom),
                    refused: 0,
                };
                after.insert_message(cell, i, message);
                (Some(Pos::Kept(i as u32)), 2 * i as i16)
            }
            Place::Old(anchor) => {
                if !is_update {
                    let own = &mut after.threads[t].current.pos[cell];
                    *own = own.join(&self.floor);
                }
                after.insert_old(cell, anchor, write?);
                let mut own = after.threads[t].current.pos[cell].clone();
                if let Pos::Old(old) = &mut own {
                    std::sync::Arc::make_mut(old).add(write?, true, None);
                }
                (Some(own), LOWEST)
            }
        };
        if let Some(position) = &position {
            let current = &mut after.threads[t].current;
            current.pos[cell] = position.clone();
            if memory.mixed {
                current.set_store(cell, position.clone());
            }
        }
        if let Ok(fence) = usize::try_from(self.fence) {
            after.limit_fence(fence, cell, ceiling);
        }
        if let Some(at) = at {
            after.insert_mark(at);
            if let Some(position) = &position {
                after.raise(at, cell, position);
            }
            after.limit(at, cell, ceiling);
            let mark = at as i16;
            let known = &mut after.threads[t];
            known.advance(mark);
            known.pending = Some((mark, cell as u32));
            let sc = &mut known.current.sc;
            sc.same[cell] = sc.same[cell].max(mark);
            sc.any = sc.any.max(mark);
        }
        races.happened(&mut after, t, cell, Access::of(order, write.is_some()));
        let known = &mut after.threads[t];
        if let Some(position) = position {
            let mut view = match order {
                Order::Plain => View::bottom(known.released.len(), known.current.unseen.0.len()),
                Order::Release | Order::AcqRel | Order::SeqCst => {
                    known.released[cell] = known.current.clone();
                    known.current.clone()
                }
                Order::Relaxed | Order::Acquire => known.released[cell].clone(),
            };
            let current = known.current.clone();
            known.acquirable.join(&current);
            if let Pos::Kept(i) = &position {
                let message = &mut after.history[cell][*i as usize];
                if is_update {
                    view.join(&message.view);
                }
                view.pos[cell] = position.clone();
                message.view = view;
            }
        } else {
            let current = known.current.clone();
            known.acquirable.join(&current);
        }
        let below = match place {
            Place::Nowhere => 0,
            Place::Kept(i) => memory.history[cell].len() - i,
            Place::Old(_) => memory.history[cell].len(),
        };
        Some(Outcome {
            memory: after,
            below,
            race: self.race,
        })
    }
}
