//! Steps of the call whose view it is. What a step does is what the concrete semantics of the search for wrong histories
//! ([`crate::step::run`]) does to a memory made of the view; what that does to the list is found by following the list
//! afterwards ([`Fragment::walk`]).
//!
//! Where a step reads, compares or writes a link that the view does not know, all nodes are tried that it can lead to. Numbers are
//! not known; tests of them, and comparisons of two keys on the same side, may go either way.

use palisade_program::heap::{Body, Cond, Edge, Operation, Place, Step, Tag, Term, Type};

use super::super::Refusal;
use super::super::object::{Object, Word};
use super::super::view::{Key, Link, Mark, Node, Slot, Standing, View};
use super::Facts;
use super::fragment::{Fragment, Pasts, allowed, pasts};
use crate::code::uses;
use crate::options::Reclaim;
use crate::step::{Fault, Outcome, Rules, run, term};
use crate::value::{Life, Memory, Value, Word as Cell, default_of};

/// Where a link leads that nobody looks at.
const ELSEWHERE: Value = Value::Node(u32::MAX);
/// The thread of the call.
const ME: u32 = 0;

/// A step that was taken: the view with what the step had to know, and after it.
pub(super) struct Taken {
    pub(super) before: View,
    pub(super) after: View,
    /// The nodes with what was written, where they stood before.
    pub(super) written: Vec<Node>,
    /// Whether nodes of marked gaps left the list.
    pub(super) unseen: bool,
}

/// What is needed to take steps.
pub(super) struct Stepper<'a> {
    pub(super) object: &'a Object<'a>,
    pub(super) mark: Mark,
    pub(super) facts: &'a Facts,
}

impl Stepper<'_> {
    /// All ways to take the step.
    pub(super) fn take(&self, view: &View, edge: &Edge) -> Result<Vec<Taken>, Refusal> {
        let body = self.object.parts[usize::from(view.method)].body;
        let known = |slot: Slot, ty: Type| slot != Slot::Any || ty == Type::Int;
        let mut all_known = true;
        uses(&edge.step, &mut |id| {
            all_known &= known(view.locals[id.index()], body.locals[id.index()].ty);
        });
        if !all_known {
            return Err(Refusal::Lost);
        }
        match &edge.step {
            Step::Assume(cond) if !truth(view, cond).0 => return Ok(Vec::new()),
            Step::Return(value) => self.returned(view, *value)?,
            Step::Skip
            | Step::Fence
            | Step::Assume(_)
            | Step::Assign { .. }
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Read { .. }
            | Step::Write { .. }
            | Step::Cas { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Compute { .. }
            | Step::Fail(_)
            | Step::Free(_) => {}
        }
        let mut taken = Vec::new();
        for (before, pasts) in self.cases(view, &edge.step)? {
            for (memory, locals) in self.ways(&before, edge, body)? {
                let after = self.read_back(&before, edge, body, &memory, &locals)?;
                taken.extend(self.listed(&before, &pasts, after, edge)?);
            }
        }
        Ok(taken)
    }

    /// The node of a place: the root for the shared pointer.
    fn of(place: Place, view: &View) -> Option<u8> {
        match place {
            Place::Shared(_) => Some(0),
            Place::Field { of, .. } => match view.locals[of.index()] {
                Slot::At(n) => Some(n),
                Slot::Null | Slot::Bool(_) | Slot::Key(_) | Slot::Empty | Slot::Any => None,
            },
        }
    }

    /// The view with the link that the step needs, in all ways.
    fn cases(&self, view: &View, step: &Step) -> Result<Vec<(View, Pasts)>, Refusal> {
        let one = || vec![(view.clone(), pasts(&view.nodes))];
        let Some(place) = step.place() else {
            return Ok(one());
        };
        let Some(of) = Self::of(place, view) else {
            return Err(Refusal::NullDereference);
        };
        let node = view.nodes[usize::from(of)];
        match self.object.word(place) {
            Word::Unused => return Err(Refusal::Lost),
            Word::Key if step.writes() => {
                let is_write = matches!(step, Step::Write { .. });
                if node.standing != Standing::Own || !is_write {
                    return Err(Refusal::KeyOfShared);
                }
                return Ok(one());
            }
            Word::Key | Word::Bit(_) | Word::Lock(_) | Word::Number => return Ok(one()),
            Word::Link => {}
        }
        let past = match node.link {
            Link::Null | Link::To(_) => return Ok(one()),
            Link::Past(_) => true,
            Link::Unknown => false,
        };
        if node.standing == Standing::Own {
            return Err(Refusal::Lost);
        }
        let leads = |to: Option<Key>| self.facts.links.contains(&(node.key, to));
        let mut ways: Vec<(Link, Option<Node>)> = Vec::new();
        if leads(None) && !past {
            ways.push((Link::Null, None));
        }
        for (n, to) in view.nodes.iter().enumerate().skip(1) {
            let shared = to.standing != Standing::Own;
            if shared && leads(Some(to.key)) && (!past || to.marked(self.mark)) {
                ways.push((Link::To(n as u8), None));
            }
        }
        for &(key, listed, bits) in &self.facts.kinds {
            if key == Key::Root || !leads(Some(key)) {
                continue;
            }
            let standings: &[Standing] = if listed {
                &[Standing::Listed]
            } else {
                &[Standing::Left, Standing::LeftBefore]
            };
            for &standing in standings {
                let new = Node {
                    key,
                    standing,
                    bits,
                    held: 0,
                    link: Link::Unknown,
                };
                if !past || new.marked(self.mark) {
                    ways.push((Link::To(view.nodes.len() as u8), Some(new)));
                }
            }
        }
        let pasts = pasts(&view.nodes);
        let with = |(link, new): (Link, Option<Node>)| {
            let mut way = view.clone();
            way.nodes.extend(new);
            way.nodes[usize::from(of)].link = link;
            self.possible(&way, &pasts).then(|| (way, pasts.clone()))
        };
        Ok(ways.into_iter().filter_map(with).collect())
    }

    /// Whether any heap satisfies the view.
    pub(super) fn possible(&self, view: &View, pasts: &Pasts) -> bool {
        let fragment = Fragment {
            nodes: &view.nodes,
            pasts,
            inside: view.inside,
            mark: self.mark,
        };
        let never_out = view.judged() && !view.history.was_out;
        fragment.hindsight(view.nodes.len(), never_out) && fragment.possible()
    }

    /// What the concrete semantics makes of the view.
    fn ways(
        &self,
        view: &View,
        edge: &Edge,
        body: &Body,
    ) -> Result<Vec<(Memory, Vec<Value>)>, Refusal> {
        let mut memory = self.memory(view);
        let locals: Vec<Value> = view
            .locals
            .iter()
            .zip(&body.locals)
            .map(|(slot, local)| value(*slot, local.ty))
            .collect();
        let numbers = |place: Place| self.object.word(place) == Word::Number;
        match &edge.step {
            // Tests were looked at, and numbers are not known.
            Step::Assume(_) => return Ok(vec![(memory, locals)]),
            Step::Cas { at, .. } if numbers(*at) => return Ok(vec![(memory, locals)]),
            // A number beside the pointer may be the one that is expected, or not.
            Step::Cas {
                at,
                expect_tag: Some(tag),
                success,
                ..
            } if self.tag(*at) == Some(Tag::Count) => {
                if !success {
                    return Ok(vec![(memory, locals)]);
                }
                let tag = term(*tag, &memory, &locals).map_err(|_| Refusal::Lost)?;
                if let Some(cell) = Self::cell(&mut memory, *at, view) {
                    cell.tag = tag;
                }
            }
            Step::Cas { .. }
            | Step::Skip
            | Step::Fence
            | Step::Assign { .. }
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Read { .. }
            | Step::Write { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Free(_)
            | Step::Compute { .. }
            | Step::Fail(_)
            | Step::Return(_) => {}
        }
        let rules = Rules {
            structs: &self.object.program.structs,
            reclaim: Reclaim::Never,
            numbers: 1,
            nodes: usize::MAX,
        };
        match run(&edge.step, body, &memory, &locals, ME, &rules) {
            Outcome::Done(ways) => Ok(ways),
            Outcome::Blocked => Ok(Vec::new()),
            Outcome::Wrong(Fault::NullDereference) => Err(Refusal::NullDereference),
            Outcome::Wrong(Fault::NotHeld) => Err(Refusal::NotHeld),
            Outcome::Wrong(Fault::Assertion) => Err(Refusal::Assertion),
            Outcome::Wrong(Fault::Index) => Err(Refusal::Index),
            // Numbers are zero here, and nothing is freed.
            Outcome::Wrong(Fault::Overflow | Fault::UseAfterFree | Fault::DoubleFree) => {
                Err(Refusal::Lost)
            }
        }
    }

    fn tag(&self, place: Place) -> Option<Tag> {
        match place {
            Place::Shared(id) => self.object.program.shared[id.index()].tag,
            Place::Field { field, .. } => self.object.program.structs[0].fields[field.index()].tag,
        }
    }

    fn cell<'m>(memory: &'m mut Memory, place: Place, view: &View) -> Option<&'m mut Cell> {
        match place {
            Place::Shared(id) => memory.shared.get_mut(id.index()),
            Place::Field { field, .. } => {
                let node = usize::from(Self::of(place, view)?).checked_sub(1)?;
                memory.nodes.get_mut(node)?.words.get_mut(field.index())
            }
        }
    }

    /// A memory that the view can be of, as far as the step can see. Locks that the call does not hold are free: where
    /// another holds one, the call waits.
    fn memory(&self, view: &View) -> Memory {
        let mut memory = Memory::new(&self.object.program.shared);
        for (index, cell) in memory.shared.iter_mut().enumerate() {
            match self.object.word(Place::Shared(index.into())) {
                Word::Link => cell.value = pointer(view.nodes[0].link),
                Word::Bit(bit) => cell.value = Value::Bool(view.bits >> bit & 1 == 1),
                Word::Lock(lock) => cell.value = holder(view.held, lock),
                Word::Number => cell.value = Value::Int(0),
                Word::Key | Word::Unused => {}
            }
        }
        let only = &self.object.program.structs[0];
        for node in &view.nodes[1..] {
            memory.allocate(0.into(), &only.fields);
            let Some(made) = memory.nodes.last_mut() else {
                continue;
            };
            made.life = Life::Live;
            for (cell, word) in made.words.iter_mut().zip(self.object.fields()) {
                match word {
                    Word::Link => {
                        cell.value = pointer(node.link);
                        if let Some(bit) = self.object.mark {
                            cell.tag = Value::Bool(node.bits >> bit & 1 == 1);
                        }
                    }
                    Word::Key => cell.value = of_class(node.key),
                    Word::Bit(bit) => cell.value = Value::Bool(node.bits >> bit & 1 == 1),
                    Word::Lock(lock) => cell.value = holder(node.held, lock),
                    Word::Number | Word::Unused => {}
                }
            }
        }
        memory
    }

    /// The view that the memory shows; nodes stand where they stood.
    fn read_back(
        &self,
        before: &View,
        edge: &Edge,
        body: &Body,
        memory: &Memory,
        locals: &[Value],
    ) -> Result<View, Refusal> {
        let mut after = before.clone();
        after.at = edge.to.index() as u16;
        for id in edge.step.assigned() {
            let ty = body.locals[id.index()].ty;
            after.locals[id.index()] = slot(locals[id.index()], ty)?;
        }
        for (index, cell) in memory.shared.iter().enumerate() {
            match self.object.word(Place::Shared(index.into())) {
                Word::Link => after.nodes[0].link = link(after.nodes[0].link, cell.value)?,
                Word::Bit(bit) => put(&mut after.bits, bit, cell.value == Value::Bool(true)),
                Word::Lock(lock) => put(&mut after.held, lock, cell.value == Value::Holder(ME)),
                Word::Key | Word::Number | Word::Unused => {}
            }
        }
        for _ in after.nodes.len()..=memory.nodes.len() {
            after.nodes.push(Node {
                key: Key::Unset,
                standing: Standing::Own,
                bits: 0,
                held: 0,
                link: Link::Null,
            });
        }
        for (node, made) in after.nodes[1..].iter_mut().zip(&memory.nodes) {
            for (cell, word) in made.words.iter().zip(self.object.fields()) {
                match word {
                    Word::Link => {
                        node.link = link(node.link, cell.value)?;
                        if let Some(bit) = self.object.mark {
                            put(&mut node.bits, bit, cell.tag == Value::Bool(true));
                        }
                    }
                    Word::Key => node.key = class(cell.value)?,
                    Word::Bit(bit) => put(&mut node.bits, bit, cell.value == Value::Bool(true)),
                    Word::Lock(lock) => put(&mut node.held, lock, cell.value == Value::Holder(ME)),
                    Word::Number | Word::Unused => {}
                }
            }
        }
        Ok(after)
    }

    /// What the step has done to the list, in every order in which the nodes can stand.
    fn listed(
        &self,
        before: &View,
        pasts: &Pasts,
        mut after: View,
        edge: &Edge,
    ) -> Result<Vec<Taken>, Refusal> {
        for (old, new) in before.nodes.iter().zip(&after.nodes) {
            allowed(*old, *new, self.mark)?;
        }
        let written = after.nodes.clone();
        let changes = |(old, new): (&Node, &Node)| {
            old.standing != Standing::Own && (old.link, old.bits) != (new.link, new.bits)
        };
        let reads_root =
            edge.step.read().map(|(_, from)| from) == Some(Place::Shared(self.object.root()));
        if reads_root {
            // What has left before was not listed since.
            for node in &mut after.nodes {
                if node.standing == Standing::Left {
                    node.standing = Standing::LeftBefore;
                }
            }
        }
        if !before.nodes.iter().zip(&written).any(changes) {
            self.judge(before, &mut after)?;
            return Ok(vec![Taken {
                before: before.clone(),
                after,
                written,
                unseen: false,
            }]);
        }
        let fragment = Fragment {
            nodes: &before.nodes,
            pasts,
            inside: before.inside,
            mark: self.mark,
        };
        let never_out = before.judged() && !before.history.was_out;
        if !fragment.hindsight(before.nodes.len(), never_out) {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        let mut wrong = None;
        fragment.orders(&mut |order| {
            match fragment.walk(order, &written) {
                Ok(walked) if !found.contains(&walked) => found.push(walked),
                Ok(_) => {}
                Err(refusal) => wrong = Some(refusal),
            }
            // Only what is in marked gaps depends on the order.
            wrong.is_none() && !pasts.is_empty()
        });
        if let Some(refusal) = wrong {
            return Err(refusal);
        }
        let with = |walked: super::fragment::Walked| {
            let mut after = after.clone();
            for n in walked.entered {
                after.nodes[usize::from(n)].standing = Standing::Listed;
            }
            for n in walked.left {
                after.nodes[usize::from(n)].standing = Standing::Left;
            }
            after.inside = walked.inside;
            self.judge(before, &mut after)?;
            Ok(Taken {
                before: before.clone(),
                after,
                written: written.clone(),
                unseen: walked.unseen,
            })
        };
        found.into_iter().map(with).collect()
    }

    /// The step that changes the set is the effect of its call.
    fn judge(&self, before: &View, after: &mut View) -> Result<(), Refusal> {
        if before.inside != after.inside {
            let wanted = match self.object.parts[usize::from(after.method)].operation {
                Some(Operation::Add) => Some(true),
                Some(Operation::Remove) => Some(false),
                Some(
                    Operation::Push
                    | Operation::Pop
                    | Operation::Enqueue
                    | Operation::Dequeue
                    | Operation::Contains
                    | Operation::Own(_)
                    | Operation::Unspecified,
                )
                | None => None,
            };
            if wanted != Some(after.inside) || after.argument != Key::Equal {
                return Err(Refusal::OthersKey);
            }
            if after.history.done {
                return Err(Refusal::Twice);
            }
            after.history.done = true;
        }
        if after.argument == Key::Equal {
            after.history.was_in |= after.inside;
            after.history.was_out |= !after.inside;
        }
        Ok(())
    }

    /// Whether a call may end here with this result.
    fn returned(&self, view: &View, result: Option<Term>) -> Result<(), Refusal> {
        if view.held != 0 || view.nodes.iter().any(|n| n.held != 0) {
            return Err(Refusal::StillHeld);
        }
        if view.argument != Key::Equal {
            return Ok(());
        }
        let value = match result {
            Some(Term::Bool(value)) => value,
            Some(Term::Local(id)) => match view.locals[id.index()] {
                Slot::Bool(value) => value,
                Slot::Null | Slot::At(_) | Slot::Key(_) | Slot::Empty | Slot::Any => {
                    return Err(Refusal::Result);
                }
            },
            _ => return Err(Refusal::Result),
        };
        let history = view.history;
        let right = match self.object.parts[usize::from(view.method)].operation {
            // It took effect exactly if it says so; else it found what it says at some time.
            Some(Operation::Add) if value => history.done,
            Some(Operation::Add) => !history.done && history.was_in,
            Some(Operation::Remove) if value => history.done,
            Some(Operation::Remove) => !history.done && history.was_out,
            Some(Operation::Contains) if value => history.was_in,
            Some(Operation::Contains) => history.was_out,
            Some(
                Operation::Push
                | Operation::Pop
                | Operation::Enqueue
                | Operation::Dequeue
                | Operation::Own(_)
                | Operation::Unspecified,
            )
            | None => false,
        };
        if right { Ok(()) } else { Err(Refusal::Result) }
    }
}

fn put(bits: &mut u8, bit: u8, value: bool) {
    *bits = *bits & !(1 << bit) | u8::from(value) << bit;
}

const fn holder(held: u8, lock: u8) -> Value {
    if held >> lock & 1 == 1 {
        Value::Holder(ME)
    } else {
        Value::Null
    }
}

fn pointer(link: Link) -> Value {
    match link {
        Link::Null => Value::Null,
        Link::To(n) => Value::Node(u32::from(n).wrapping_sub(1)),
        Link::Past(_) | Link::Unknown => ELSEWHERE,
    }
}

/// The link that a word shows.
fn link(old: Link, value: Value) -> Result<Link, Refusal> {
    if pointer(old) == value {
        return Ok(old);
    }
    match value {
        Value::Null => Ok(Link::Null),
        Value::Node(n) if value != ELSEWHERE => Ok(Link::To(n as u8 + 1)),
        _ => Err(Refusal::Lost),
    }
}

/// One value for each class.
const fn of_class(key: Key) -> Value {
    match key {
        Key::Root | Key::Unset => Value::Undefined,
        Key::Least => Value::Least,
        Key::Less => Value::Data(0),
        Key::Equal => Value::Data(1),
        Key::Greater => Value::Data(2),
        Key::Greatest => Value::Greatest,
    }
}

pub(super) fn class(value: Value) -> Result<Key, Refusal> {
    Ok(match value {
        Value::Undefined => Key::Unset,
        Value::Least => Key::Least,
        Value::Data(0) => Key::Less,
        Value::Data(1) => Key::Equal,
        Value::Data(_) => Key::Greater,
        Value::Greatest => Key::Greatest,
        Value::Nothing
        | Value::Null
        | Value::Node(_)
        | Value::Holder(_)
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Empty => return Err(Refusal::Lost),
    })
}

fn value(slot: Slot, ty: Type) -> Value {
    match slot {
        Slot::Null => Value::Null,
        Slot::At(n) => Value::Node(u32::from(n).wrapping_sub(1)),
        Slot::Bool(value) => Value::Bool(value),
        Slot::Key(key) => of_class(key),
        Slot::Empty => Value::Empty,
        Slot::Any => default_of(ty),
    }
}

fn slot(value: Value, ty: Type) -> Result<Slot, Refusal> {
    Ok(match (ty, value) {
        (Type::Int, _) => Slot::Any,
        (Type::Data, Value::Empty) => Slot::Empty,
        (Type::Data, value) => Slot::Key(class(value)?),
        (Type::Bool, Value::Bool(value)) => Slot::Bool(value),
        (Type::Pointer(_), Value::Null) => Slot::Null,
        (Type::Pointer(_), Value::Node(n)) if value != ELSEWHERE => Slot::At(n as u8 + 1),
        (Type::Bool | Type::Pointer(_) | Type::Lock, _) => return Err(Refusal::Lost),
    })
}

/// Whether a condition may hold, and whether it may not.
fn truth(view: &View, cond: &Cond) -> (bool, bool) {
    let of = |term: Term| match term {
        Term::Null => Slot::Null,
        Term::Empty => Slot::Empty,
        Term::Undefined => Slot::Key(Key::Unset),
        Term::Infinity(high) => Slot::Key(if high { Key::Greatest } else { Key::Least }),
        Term::Bool(value) => Slot::Bool(value),
        Term::Local(id) => view.locals[id.index()],
        Term::Int(_) | Term::Plus(..) | Term::Shared(_) => Slot::Any,
    };
    let known = |value: bool| (value, !value);
    let several = |key: Key| matches!(key, Key::Less | Key::Greater);
    match cond {
        Cond::True => known(true),
        Cond::Holds(term) => match of(*term) {
            Slot::Bool(value) => known(value),
            Slot::Null | Slot::At(_) | Slot::Key(_) | Slot::Empty | Slot::Any => (true, true),
        },
        Cond::Eq(a, b) => match (of(*a), of(*b)) {
            (Slot::Any, _) | (_, Slot::Any) => (true, true),
            (Slot::Key(a), Slot::Key(b)) if a == b && several(a) => (true, true),
            (a, b) => known(a == b),
        },
        Cond::Less(a, b) => match (of(*a), of(*b)) {
            (Slot::Key(Key::Unset | Key::Root), _) | (_, Slot::Key(Key::Unset | Key::Root)) => {
                (true, true)
            }
            (Slot::Key(a), Slot::Key(b)) if a != b || !several(a) => known(a < b),
            _ => (true, true),
        },
        Cond::Not(inner) => {
            let (yes, no) = truth(view, inner);
            (no, yes)
        }
        Cond::And(a, b) => {
            let (a, b) = (truth(view, a), truth(view, b));
            (a.0 && b.0, a.1 || b.1)
        }
        Cond::Or(a, b) => {
            let (a, b) = (truth(view, a), truth(view, b));
            (a.0 || b.0, a.1 && b.1)
        }
    }
}
