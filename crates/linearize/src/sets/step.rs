//! A *step* of the call whose view it is.

use palisade_program::LocalId;
use palisade_program::heap::{Cond, Edge, Failure, Operation, Place, Step, Term};

use super::Refusal;
use super::heap::{Published, followed};
use super::object::{Object, Word};
use super::view::{Key, Link, Mark, Node, Slot, Standing, View};

/// A view before a step, with all links known that the step needs, and after it.
pub(super) struct Taken {
    pub(super) before: View,
    pub(super) after: View,
    /// Whether marked nodes leave the list that the view does not tell.
    pub(super) unseen: bool,
}

/// What a condition comes to: whether it may hold, and whether it may not.
#[derive(Clone, Copy)]
struct Truth {
    yes: bool,
    no: bool,
}

const fn known(value: bool) -> Truth {
    Truth {
        yes: value,
        no: !value,
    }
}

const EITHER: Truth = Truth {
    yes: true,
    no: true,
};

fn term(view: &View, term: Term) -> Slot {
    match term {
        Term::Null => Slot::Null,
        Term::Empty => Slot::Empty,
        Term::Undefined => Slot::Key(Key::Unset),
        Term::Infinity(false) => Slot::Key(Key::Least),
        Term::Infinity(true) => Slot::Key(Key::Greatest),
        Term::Bool(value) => Slot::Bool(value),
        Term::Int(_) | Term::Plus(..) | Term::Shared(_) => Slot::Any,
        Term::Local(id) => view.locals[id.index()],
    }
}

fn equal(a: Slot, b: Slot) -> Truth {
    match (a, b) {
        (Slot::Any, _) | (_, Slot::Any) => EITHER,
        (Slot::Key(a), Slot::Key(b)) if a == b => match a {
            // Two values of the same side may differ.
            Key::Less | Key::Greater => EITHER,
            Key::Least | Key::Equal | Key::Greatest | Key::Unset | Key::Root => known(true),
        },
        (a, b) => known(a == b),
    }
}

fn less(a: Slot, b: Slot) -> Truth {
    match (a, b) {
        (Slot::Key(Key::Unset | Key::Root), _) | (_, Slot::Key(Key::Unset | Key::Root)) => EITHER,
        (Slot::Key(a), Slot::Key(b)) if a != b => known(a < b),
        (Slot::Key(Key::Least | Key::Equal | Key::Greatest), Slot::Key(_)) => known(false),
        _ => EITHER,
    }
}

fn truth(view: &View, cond: &Cond) -> Truth {
    match cond {
        Cond::True => known(true),
        Cond::Holds(t) => match term(view, *t) {
            Slot::Bool(value) => known(value),
            Slot::Null | Slot::At(_) | Slot::Key(_) | Slot::Empty | Slot::Any => EITHER,
        },
        Cond::Eq(a, b) => equal(term(view, *a), term(view, *b)),
        Cond::Less(a, b) => less(term(view, *a), term(view, *b)),
        Cond::Not(inner) => {
            let inner = truth(view, inner);
            Truth {
                yes: inner.no,
                no: inner.yes,
            }
        }
        Cond::And(a, b) => {
            let (a, b) = (truth(view, a), truth(view, b));
            Truth {
                yes: a.yes && b.yes,
                no: a.no || b.no,
            }
        }
        Cond::Or(a, b) => {
            let (a, b) = (truth(view, a), truth(view, b));
            Truth {
                yes: a.yes || b.yes,
                no: a.no && b.no,
            }
        }
    }
}

/// What a step needs besides the view.
pub(super) struct Stepper<'a> {
    pub(super) object: &'a Object<'a>,
    pub(super) published: &'a Published,
    pub(super) mark: Mark,
}

impl Stepper<'_> {
    /// What the step can come to, the location included. Empty if it is not possible.
    pub(super) fn run(&self, view: &View, edge: &Edge) -> Result<Vec<Taken>, Refusal> {
        let mut taken = self.stepped(view, &edge.step)?;
        for one in &mut taken {
            one.after.at = edge.to.index() as u16;
            self.judge(&one.before, &mut one.after)?;
        }
        Ok(taken)
    }

    /// A change of the set is the effect of the call that makes it.
    fn judge(&self, before: &View, after: &mut View) -> Result<(), Refusal> {
        if before.inside != after.inside {
            let right = match self.object.parts[usize::from(after.method)].operation {
                Some(Operation::Add) => after.inside,
                Some(Operation::Remove) => !after.inside,
                Some(_) | None => false,
            };
            if !right || !after.judged() {
                return Err(Refusal::OthersKey);
            }
            if after.history.done {
                return Err(Refusal::Twice);
            }
            after.history.done = true;
        }
        after.notice();
        Ok(())
    }

    fn stepped(&self, view: &View, step: &Step) -> Result<Vec<Taken>, Refusal> {
        let only = |after: View| {
            vec![Taken {
                before: view.clone(),
                after,
                unseen: false,
            }]
        };
        let with = |to: LocalId, slot: Slot| {
            let mut after = view.clone();
            after.locals[to.index()] = slot;
            only(after)
        };
        Ok(match step {
            Step::Skip | Step::Fence => only(view.clone()),
            Step::Free(local) => {
                node_of(view, *local)?;
                only(view.clone())
            }
            Step::Assume(cond) if truth(view, cond).yes => only(view.clone()),
            Step::Assume(_) => Vec::new(),
            Step::Assign { to, value } => with(*to, term(view, *value)),
            Step::Havoc { to } => self.any(view, *to),
            // Nothing is known of numbers.
            Step::Compute { to, .. } => with(*to, Slot::Any),
            Step::Fail(Failure::Assertion) => return Err(Refusal::Assertion),
            Step::Fail(Failure::Index) => return Err(Refusal::Index),
            Step::New { to } => {
                let mut after = view.clone();
                after.locals[to.index()] = Slot::At(after.nodes.len() as u8);
                after.nodes.push(Node {
                    key: Key::Unset,
                    standing: Standing::Own,
                    bits: 0,
                    held: 0,
                    link: Link::Null,
                });
                only(after)
            }
            Step::Read { to, tag, from } => self.read(view, *to, *tag, *from)?,
            Step::Write { to, value, tag } => {
                let (value, tag) = (term(view, *value), tag.map(|tag| term(view, tag)));
                self.write(view, *to, value, tag)?
            }
            Step::Cas {
                at,
                expect,
                expect_tag,
                new,
                new_tag,
                success,
            } => {
                let of = |t: Term| term(view, t);
                let expect = (of(*expect), expect_tag.map(of));
                let new = (of(*new), new_tag.map(of));
                self.cas(view, *at, expect, new, *success)?
            }
            Step::Lock(place) => self.lock(view, *place, true)?,
            Step::Unlock(place) => self.lock(view, *place, false)?,
            Step::Return(value) => {
                self.returned(view, value.map(|t| term(view, t)))?;
                only(view.clone())
            }
        })
    }

    /// Any value of the local's type.
    fn any(&self, view: &View, to: LocalId) -> Vec<Taken> {
        let part = &self.object.parts[usize::from(view.method)];
        let values: &[Slot] = match part.body.locals[to.index()].ty {
            palisade_program::heap::Type::Bool => &[Slot::Bool(false), Slot::Bool(true)],
            _ => &[Slot::Any],
        };
        let with = |&slot: &Slot| {
            let mut after = view.clone();
            after.locals[to.index()] = slot;
            Taken {
                before: view.clone(),
                after,
                unseen: false,
            }
        };
        values.iter().map(with).collect()
    }

    /// The node of a place; the root for the shared pointer.
    fn of(place: Place, view: &View) -> Result<u8, Refusal> {
        match place {
            Place::Shared(_) => Ok(0),
            Place::Field { of, .. } => node_of(view, of),
        }
    }

    fn follow(&self, view: &View, of: u8) -> Vec<View> {
        followed(view, of, self.published, self.mark)
    }

    fn read(
        &self,
        view: &View,
        to: LocalId,
        tag: Option<LocalId>,
        from: Place,
    ) -> Result<Vec<Taken>, Refusal> {
        let of = Self::of(from, view)?;
        let shared = matches!(from, Place::Shared(_));
        let befores = match self.object.word(from) {
            Word::Link => self.follow(view, of),
            _ => vec![view.clone()],
        };
        let mut taken = Vec::new();
        for before in befores {
            let node = before.nodes[usize::from(of)];
            let mut after = before.clone();
            let slot = match self.object.word(from) {
                Word::Link => {
                    if shared {
                        // From here on a new path is followed.
                        for node in &mut after.nodes {
                            if node.standing == Standing::Left {
                                node.standing = Standing::LeftBefore;
                            }
                        }
                    }
                    if let Some(tag) = tag {
                        let bit = self.object.mark;
                        after.locals[tag.index()] =
                            bit.map_or(Slot::Any, |bit| bit_of(node.bits, bit));
                    }
                    match node.link {
                        Link::Null => Slot::Null,
                        Link::To(to) => Slot::At(to),
                        Link::Past(_) | Link::Unknown => return Err(Refusal::Lost),
                    }
                }
                Word::Key => Slot::Key(node.key),
                Word::Bit(bit) => bit_of(if shared { before.bits } else { node.bits }, bit),
                Word::Number | Word::Lock(_) | Word::Unused => Slot::Any,
            };
            after.locals[to.index()] = slot;
            taken.push(Taken {
                before,
                after,
                unseen: false,
            });
        }
        Ok(taken)
    }

    fn write(
        &self,
        view: &View,
        to: Place,
        value: Slot,
        tag: Option<Slot>,
    ) -> Result<Vec<Taken>, Refusal> {
        let of = Self::of(to, view)?;
        let own = view.nodes[usize::from(of)].standing == Standing::Own;
        let befores = match self.object.word(to) {
            Word::Link if !own => self.follow(view, of),
            _ => vec![view.clone()],
        };
        let mut taken = Vec::new();
        for before in befores {
            let mut after = before.clone();
            let mut unseen = false;
            match (self.object.word(to), value) {
                (Word::Link, value) => {
                    let link = match value {
                        Slot::Null => Link::Null,
                        Slot::At(to) => Link::To(to),
                        Slot::Bool(_) | Slot::Key(_) | Slot::Empty | Slot::Any => {
                            return Err(Refusal::Lost);
                        }
                    };
                    unseen = after.write_link(of, link, self.mark)?;
                    match (tag, self.object.mark) {
                        (Some(Slot::Bool(value)), Some(bit)) => {
                            after.write_bit(of, bit, value, self.mark)?;
                        }
                        (Some(_), Some(_)) => return Err(Refusal::Lost),
                        // No tag, or a counter.
                        (None, _) | (_, None) => {}
                    }
                }
                (Word::Key, Slot::Key(key)) if own => after.nodes[usize::from(of)].key = key,
                (Word::Key, _) => return Err(Refusal::KeyOfShared),
                (Word::Bit(bit), Slot::Bool(value)) => match to {
                    Place::Shared(_) => {
                        after.bits = after.bits & !(1 << bit) | u8::from(value) << bit;
                    }
                    Place::Field { .. } => after.write_bit(of, bit, value, self.mark)?,
                },
                (Word::Bit(_) | Word::Lock(_), _) => return Err(Refusal::Lost),
                (Word::Number | Word::Unused, _) => {}
            }
            let ways = if unseen {
                after.left_unseen(&[], self.mark)
            } else {
                vec![after]
            };
            taken.extend(ways.into_iter().map(|after| Taken {
                before: before.clone(),
                after,
                unseen,
            }));
        }
        Ok(taken)
    }

    fn cas(
        &self,
        view: &View,
        at: Place,
        expect: (Slot, Option<Slot>),
        new: (Slot, Option<Slot>),
        success: bool,
    ) -> Result<Vec<Taken>, Refusal> {
        let of = Self::of(at, view)?;
        let word = self.object.word(at);
        let befores = match word {
            Word::Link => self.follow(view, of),
            _ => vec![view.clone()],
        };
        let mut taken = Vec::new();
        for before in befores {
            let node = before.nodes[usize::from(of)];
            let found = match word {
                Word::Link => {
                    let pointer = match node.link {
                        Link::Null => Slot::Null,
                        Link::To(to) => Slot::At(to),
                        Link::Past(_) | Link::Unknown => Slot::Any,
                    };
                    let same = equal(pointer, expect.0);
                    let tags = match (expect.1, self.object.mark) {
                        (Some(tag), Some(bit)) => equal(bit_of(node.bits, bit), tag),
                        // A counter may be another one though the pointer is the same.
                        (Some(_), None) => EITHER,
                        (None, _) => known(true),
                    };
                    Truth {
                        yes: same.yes && tags.yes,
                        no: same.no || tags.no,
                    }
                }
                Word::Bit(bit) => {
                    let bits = match at {
                        Place::Shared(_) => before.bits,
                        Place::Field { .. } => node.bits,
                    };
                    equal(bit_of(bits, bit), expect.0)
                }
                Word::Key | Word::Number | Word::Lock(_) | Word::Unused => EITHER,
            };
            if success && found.yes {
                taken.extend(self.write(&before, at, new.0, new.1)?);
            }
            if !success && found.no {
                taken.push(Taken {
                    after: before.clone(),
                    before,
                    unseen: false,
                });
            }
        }
        Ok(taken)
    }

    /// Takes or gives back a lock. That another holds it is not known: it is taken anyway.
    fn lock(&self, view: &View, place: Place, take: bool) -> Result<Vec<Taken>, Refusal> {
        let of = Self::of(place, view)?;
        let Word::Lock(lock) = self.object.word(place) else {
            return Err(Refusal::Lost);
        };
        let mut after = view.clone();
        let held = match place {
            Place::Shared(_) => &mut after.held,
            Place::Field { .. } => &mut after.nodes[usize::from(of)].held,
        };
        let mine = *held >> lock & 1 == 1;
        if take && mine {
            // It waits for itself.
            return Ok(Vec::new());
        }
        if !take && !mine {
            return Err(Refusal::NotHeld);
        }
        *held ^= 1 << lock;
        Ok(vec![Taken {
            before: view.clone(),
            after,
            unseen: false,
        }])
    }

    fn returned(&self, view: &View, value: Option<Slot>) -> Result<(), Refusal> {
        let Some(operation) = self.object.parts[usize::from(view.method)].operation else {
            // `init`: the set is empty at first.
            return if view.inside {
                Err(Refusal::NotEmpty)
            } else {
                Ok(())
            };
        };
        if view.held != 0 || view.nodes.iter().any(|n| n.held != 0) {
            return Err(Refusal::StillHeld);
        }
        if !view.judged() {
            return Ok(());
        }
        let Some(Slot::Bool(value)) = value else {
            return Err(Refusal::Result);
        };
        let right = match operation {
            Operation::Add => view.history.done == value && (value || view.history.was_in),
            Operation::Remove => view.history.done == value && (value || view.history.was_out),
            Operation::Contains if value => view.history.was_in,
            Operation::Contains => view.history.was_out,
            _ => false,
        };
        if right { Ok(()) } else { Err(Refusal::Result) }
    }
}

const fn bit_of(bits: u8, bit: u8) -> Slot {
    Slot::Bool(bits >> bit & 1 == 1)
}

fn node_of(view: &View, local: LocalId) -> Result<u8, Refusal> {
    match view.locals[local.index()] {
        Slot::At(node) => Ok(node),
        Slot::Null => Err(Refusal::NullDereference),
        Slot::Bool(_) | Slot::Key(_) | Slot::Empty | Slot::Any => Err(Refusal::Lost),
    }
}
