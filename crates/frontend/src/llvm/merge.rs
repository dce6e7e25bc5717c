//! Where paths *meet*. A state that was seen at a place before ends the path there: a step leads to
//! where the earlier one went on. What is dead is dropped first. Numbers that only a run decides
//! are put into the locals that the earlier state has for them.
//!
//! A place at which too many states differ in their numbers is *generalised*: the numbers that
//! differ get locals of their own. So loops end, with a counter as a constant in each of their first
//! rounds or as a local.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use palisade_program::{Expr, LocId, LocalAtom, LocalExpr, LocalId, Step};

use super::engine::{Engine, Flow, Run};
use super::ir::Inst;
use super::state::{State, Value};
use super::values::{Values, values_of};
use super::world::{Key, ObjectId};

/// States of one shape that are kept apart at one place, and up to how many places of the whole
/// thread: the larger it is, the fewer.
const MOST_VARIANTS: [(u32, usize); 4] = [(1500, 16), (4000, 6), (8000, 2), (u32::MAX, 1)];
/// Generalisations at one place after which ranges are given up.
const PATIENCE: usize = 6;
/// The register that holds what is in use between steps of one instruction.
const HELD: u32 = u32::MAX;

/// A state that was seen: its numbers, and where it went on.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    numbers: Vec<Number>,
    at: LocId,
}

/// A number of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Number {
    Constant(i64),
    /// In this local, with these values.
    Local(LocalId, Values),
}

impl Number {
    fn values(&self) -> Values {
        match self {
            Self::Constant(value) => Values::one(*value),
            Self::Local(_, values) => values.clone(),
        }
    }
}

impl Engine<'_, '_> {
    /// Keeps the locals of an expression in use.
    pub(super) fn hold(&self, state: &mut State, e: &LocalExpr) {
        if let Expr::Const(_) = e {
            return;
        }
        let mut held = match state.top().registers.get(&HELD) {
            Some(Value::Parts(parts)) => parts.clone(),
            Some(Value::Undefined | Value::Word(_)) | None => Vec::new(),
        };
        held.push(Value::Word(e.clone()));
        state.set(HELD, Value::Parts(held));
    }

    /// Ends all of [`Self::hold`].
    pub(super) fn unhold(&self, state: &mut State) {
        if state.top().registers.contains_key(&HELD) {
            Rc::make_mut(&mut state.top_mut().registers).remove(&HELD);
        }
    }

    /// Forgets registers of the current function that are read no more.
    pub(super) fn drop_dead(&mut self, state: &mut State) {
        let frame = state.top();
        let live = self.live(frame.function);
        let (registers, _) = live.before(self.function(frame), frame.block, frame.inst);
        let dead = |reg: &u32| !registers.contains(reg) && *reg != HELD;
        if frame.registers.keys().any(dead) {
            Rc::make_mut(&mut state.top_mut().registers).retain(|reg, _| !dead(reg));
        }
    }

    /// Forgets what no instruction can read any more: registers, bytes of locals, objects.
    pub(super) fn forget(&mut self, state: &mut State) {
        let last = state.frames.len() - 1;
        let mut dead_bytes = Vec::new();
        for i in 0..state.frames.len() {
            let frame = state.frames[i].clone();
            let live = self.live(frame.function);
            let function = self.function(&frame);
            // Callers go on behind their call.
            let first = if i == last {
                frame.inst
            } else {
                frame.inst + 1
            };
            let (mut registers, bytes) = live.before(function, frame.block, first);
            if i != last
                && let Some((Inst::Call { dst: Some(dst), .. }, _)) =
                    function.blocks[frame.block].insts.get(frame.inst)
            {
                registers.remove(dst);
            }
            Rc::make_mut(&mut state.frames[i].registers).retain(|reg, _| registers.contains(reg));
            for local in live.locals.keys() {
                let key = Key::Stack(self.thread, frame.path, *local);
                if let Some(object) = self.world.known_object(&key)
                    && let Some(alive) = live.live_bytes(&bytes, *local)
                {
                    dead_bytes.push((i, *local, object, alive));
                }
            }
        }
        self.collect(state);
        // Bytes may only go if the local's name is the only way to them.
        let mut pointed: BTreeSet<ObjectId> = BTreeSet::new();
        for (i, frame) in state.frames.iter().enumerate() {
            let named: BTreeMap<u32, ObjectId> = dead_bytes
                .iter()
                .filter(|(of, ..)| *of == i)
                .map(|(_, local, object, _)| (*local, *object))
                .collect();
            for (reg, value) in frame.registers.iter() {
                if !named.contains_key(reg) {
                    self.note_pointed(state, value, &mut pointed);
                }
            }
        }
        for content in state.memory.values() {
            for (_, bytes) in content.parts.values() {
                if let super::memory::Bytes::Word(e) = bytes {
                    pointed.extend(self.pointed(state, e));
                }
            }
        }
        for (_, _, object, alive) in dead_bytes {
            if pointed.contains(&object) || alive.iter().all(|live| *live) {
                continue;
            }
            if let Some(content) = state.memory.get_mut(&object) {
                let content = Rc::make_mut(content);
                for (at, _) in alive.iter().enumerate().filter(|(_, live)| !**live) {
                    content.clear(at as u64, 1);
                }
            }
        }
        self.collect(state);
    }

    pub(super) fn note_pointed(
        &self,
        state: &State,
        value: &Value,
        found: &mut BTreeSet<ObjectId>,
    ) {
        match value {
            Value::Undefined => {}
            Value::Word(e) => found.extend(self.pointed(state, e)),
            Value::Parts(parts) => {
                parts
                    .iter()
                    .for_each(|p| self.note_pointed(state, p, found));
            }
        }
    }

    /// Drops objects that nothing points to.
    fn collect(&self, state: &mut State) {
        let mut reached = BTreeSet::new();
        for frame in &state.frames {
            for value in frame.registers.values() {
                self.note_pointed(state, value, &mut reached);
            }
        }
        let mut work: Vec<ObjectId> = reached.iter().copied().collect();
        while let Some(object) = work.pop() {
            let Some(content) = state.memory.get(&object) else {
                continue;
            };
            for (_, bytes) in content.parts.values() {
                if let super::memory::Bytes::Word(e) = bytes {
                    for next in self.pointed(state, e) {
                        if reached.insert(next) {
                            work.push(next);
                        }
                    }
                }
            }
        }
        let thread_local =
            |object: &ObjectId| matches!(self.world.objects[*object].key, Key::ThreadLocal(..));
        state
            .memory
            .retain(|object, _| reached.contains(object) || thread_local(object));
        let thread = self.thread;
        let lost: Vec<u32> = state
            .heap
            .iter()
            .copied()
            .filter(|number| {
                let key = Key::Heap(thread, *number);
                let object = self.world.known_object(&key);
                object.is_none_or(|object| {
                    !state.memory.contains_key(&object)
                        && !self.world.is_shared(object)
                        && !self.world.given.contains(&object)
                })
            })
            .collect();
        for number in lost {
            state.heap.remove(&number);
        }
    }

    /// The numbers of a state, in the order of [`State::visit`]; expressions are put into locals.
    fn numbers(&mut self, state: &mut State) -> Vec<Number> {
        let mut large: Vec<LocalExpr> = Vec::new();
        state.visit(&mut |e| {
            if !matches!(e, Expr::Const(_) | Expr::Atom(_)) && !large.contains(e) {
                large.push(e.clone());
            }
        });
        let span = self.span(state);
        let mut held: Vec<LocalExpr> = Vec::new();
        let mut replaced = Vec::new();
        for e in large {
            let values = values_of(&e, &state.known);
            if let Some(list) = values.list()
                && list.len() == 1
                && let Some(only) = list.first()
            {
                replaced.push((e, Expr::Const(*only)));
                continue;
            }
            let mut keep: Vec<&LocalExpr> = held.iter().collect();
            keep.push(&e);
            let dst = state.fresh(&keep);
            let value = e.clone();
            self.emit(Step::Assign { dst, value }, span);
            state.known.insert(dst, values);
            let local = self.use_local(dst);
            held.push(local.clone());
            replaced.push((e, local));
        }
        state.change(&mut |e| {
            if let Some((_, local)) = replaced.iter().find(|(old, _)| old == e) {
                *e = local.clone();
            }
        });
        let mut numbers = Vec::new();
        let known = &state.known;
        state.visit(&mut |e| {
            numbers.push(match e {
                Expr::Const(value) => Number::Constant(*value),
                Expr::Atom(LocalAtom::Local(id)) => {
                    let all = Values::all(64);
                    Number::Local(*id, known.get(id).cloned().unwrap_or(all))
                }
                Expr::Atom(LocalAtom::SelfId)
                | Expr::Unary(..)
                | Expr::Binary(..)
                | Expr::Cond(..) => unreachable!("expressions were put into locals"),
            });
        });
        numbers
    }

    /// The state comes to a place where paths meet.
    pub(super) fn meet(&mut self, state: &mut State) -> Run<Flow> {
        self.forget(state);
        let numbers = self.numbers(state);
        let used: BTreeSet<LocalId> = numbers
            .iter()
            .filter_map(|n| match n {
                Number::Local(id, _) => Some(*id),
                Number::Constant(_) => None,
            })
            .collect();
        state.known.retain(|id, _| used.contains(id));
        let mut shape = state.clone();
        shape.known.clear();
        shape.change(&mut |e| *e = Expr::Const(0));
        let most = MOST_VARIANTS.iter().find(|(size, _)| self.locs <= *size);
        let most = most.map_or(1, |(_, most)| *most);
        let variants = self.variants.entry(shape.clone()).or_default();
        if let Some(found) = variants.iter().find(|v| covers(v, &numbers)).cloned() {
            self.go_to(state, &numbers, &found.numbers, found.at);
            return Ok(Flow::Fork(Vec::new()));
        }
        if variants.len() < most {
            let at = self.here;
            variants.push(Variant { numbers, at });
            return Ok(Flow::Next);
        }
        let rounds = variants.len() - most;
        let nearest = variants
            .iter()
            .rev()
            .min_by_key(|v| differences(&v.numbers, &numbers))
            .cloned();
        let nearest = nearest.expect("there are variants");
        let general = generalised(&nearest.numbers, &numbers, rounds > PATIENCE);
        let at = self.loc();
        let variant = Variant {
            numbers: general.clone(),
            at,
        };
        self.variants.entry(shape).or_default().push(variant);
        self.go_to(state, &numbers, &general, at);
        self.here = at;
        let mut next = general.iter();
        let mut known = BTreeMap::new();
        state.change(&mut |e| {
            *e = match next.next() {
                Some(Number::Local(id, values)) => {
                    known.insert(*id, values.clone());
                    palisade_program::cfg::local(*id)
                }
                Some(Number::Constant(value)) => Expr::Const(*value),
                None => unreachable!("each number has its counterpart"),
            };
        });
        state.known = known;
        Ok(Flow::Next)
    }

    /// Puts the numbers into the locals of another state and goes to its place.
    fn go_to(&mut self, state: &State, numbers: &[Number], wanted: &[Number], at: LocId) {
        let span = self.span(state);
        let mut moves: BTreeMap<LocalId, Number> = BTreeMap::new();
        for (number, want) in numbers.iter().zip(wanted) {
            if let Number::Local(to, _) = want {
                self.most_locals = self.most_locals.max(to.0 + 1);
                match number {
                    Number::Local(from, _) if from == to => {}
                    number => {
                        moves.insert(*to, number.clone());
                    }
                }
            }
        }
        // Those first that nothing else waits for; a cycle is broken by a spare local.
        let mut used: BTreeSet<LocalId> = [numbers, wanted]
            .into_iter()
            .flatten()
            .filter_map(|number| match number {
                Number::Local(id, _) => Some(*id),
                Number::Constant(_) => None,
            })
            .collect();
        while !moves.is_empty() {
            let reads = |to: LocalId, moves: &BTreeMap<LocalId, Number>| {
                moves.iter().any(|(other, number)| {
                    *other != to && matches!(number, Number::Local(from, _) if *from == to)
                })
            };
            let free = moves.keys().copied().find(|to| !reads(*to, &moves));
            let to = match free {
                Some(to) => to,
                None => {
                    let first = *moves.keys().next().expect("there is one");
                    let aside = (0..).map(LocalId).find(|id| !used.contains(id));
                    let aside = aside.expect("there are more numbers than locals");
                    used.insert(aside);
                    self.most_locals = self.most_locals.max(aside.0 + 1);
                    let value = palisade_program::cfg::local(first);
                    self.emit(Step::Assign { dst: aside, value }, span);
                    for number in moves.values_mut() {
                        if let Number::Local(from, _) = number
                            && *from == first
                        {
                            *from = aside;
                        }
                    }
                    first
                }
            };
            if let Some(number) = moves.remove(&to) {
                let value = match number {
                    Number::Constant(value) => Expr::Const(value),
                    Number::Local(from, _) => palisade_program::cfg::local(from),
                };
                self.emit(Step::Assign { dst: to, value }, span);
            }
        }
        let from = self.here;
        self.edges.push(super::engine::Made {
            from,
            step: Step::Skip,
            to: at,
            span,
        });
        self.untouched = false;
    }
}

/// Whether all that starts in a state with these numbers is in the variant.
fn covers(variant: &Variant, numbers: &[Number]) -> bool {
    let mut locals: BTreeMap<LocalId, &Number> = BTreeMap::new();
    variant
        .numbers
        .iter()
        .zip(numbers)
        .all(|(known, new)| match known {
            Number::Constant(value) => *new == Number::Constant(*value),
            Number::Local(id, values) => {
                // What shares a local there must be the same number here.
                let same = match locals.insert(*id, new) {
                    Some(before) => same_number(before, new),
                    None => true,
                };
                same && values.includes(&new.values())
            }
        })
}

fn same_number(a: &Number, b: &Number) -> bool {
    match (a, b) {
        (Number::Constant(a), Number::Constant(b)) => a == b,
        (Number::Local(a, _), Number::Local(b, _)) => a == b,
        (Number::Constant(_), Number::Local(..)) | (Number::Local(..), Number::Constant(_)) => {
            false
        }
    }
}

fn differences(a: &[Number], b: &[Number]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}

/// Numbers that cover both; each that differs has a local of its own.
fn generalised(a: &[Number], b: &[Number], give_up: bool) -> Vec<Number> {
    // Pairs that are equal wherever they stand share a local.
    let mut pairs: Vec<(Number, Number)> = Vec::new();
    let mut next = 0;
    let mut names: BTreeMap<usize, LocalId> = BTreeMap::new();
    let mut all = Vec::new();
    for (a, b) in a.iter().zip(b) {
        if let (Number::Constant(x), Number::Constant(y)) = (a, b)
            && x == y
        {
            all.push(a.clone());
            continue;
        }
        let index = pairs
            .iter()
            .position(|(x, y)| same_number(x, a) && same_number(y, b))
            .unwrap_or_else(|| {
                pairs.push((a.clone(), b.clone()));
                pairs.len() - 1
            });
        let id = *names.entry(index).or_insert_with(|| {
            next += 1;
            LocalId(next - 1)
        });
        let (x, y) = (a.values(), b.values());
        let mut joined = x.join(&y);
        if give_up && joined.list().is_none() {
            joined = Values::all(64);
        }
        all.push(Number::Local(id, joined));
    }
    all
}
