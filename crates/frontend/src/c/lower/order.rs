//! *Order of evaluation*: C leaves open in which order the operands of most operators and
//! the arguments of calls are evaluated, and when the stores of assignments inside an
//! expression happen [C11, 6.5, 6.5.2.2, 6.5.16]. What an expression does is a set of
//! *events* (loads, stores, calls) with the order that C does fix: operands come before
//! their operator's result, arguments and their stores before the call, what `&&`, `||`,
//! `?:` and `,` sequence. Where two events without a fixed order depend on each other
//! (`effects`: one writes what the other accesses, or other threads can tell which was
//! first), the program chooses: from each set of events that are done there is a branch
//! for every event that may be next, so that all orders are runs.
//!
//! Where nothing depends on the order, evaluation goes from left to right, without any
//! choice; that is nearly always. A function that is called is not interleaved with its
//! neighbours. An unsequenced store and another access of one scalar is undefined
//! behaviour, reported as a violation.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use palisade_program::{Expr as Ir, LocId, LocalId, Span};

use super::code::{Code, Known, Lower, meet};
use super::effects::Effects;
use super::layout::Object;
use super::value::Val;
use crate::c::ast::{Binary, Expr, ExprKind, Unary};
use crate::c::types::Type;

/// Branches of one expression at most.
const MAX_BRANCHES: usize = 1200;
/// Events of one expression at most, if some depend on each other.
const MAX_EVENTS: usize = 128;

/// An expression, by where it is in the tree.
type Key = *const Expr;

/// What is known of the expression that is evaluated: its parts, and the values of events
/// that have happened already.
#[derive(Clone, Default)]
pub(super) struct Arranged {
    parts: HashSet<Key>,
    values: HashMap<Key, Val>,
    structs: HashMap<Key, Rc<Object>>,
}

/// What happens in an event.
#[derive(Clone, Copy)]
enum Kind<'e> {
    /// The value is computed: a load, a call, a part with an order of its own.
    Value(&'e Expr),
    /// The value of an assignment is known; nothing happens yet.
    Result(&'e Expr),
    /// The store of that assignment.
    Store(&'e Expr),
}

struct Event<'e> {
    kind: Kind<'e>,
    /// Events that come before.
    after: Vec<usize>,
    effects: Effects,
    /// The accesses of a part with an order of its own, one by one.
    pieces: Vec<Effects>,
    span: Span,
}

/// The events of an expression, each behind those that it needs.
#[derive(Default)]
struct Events<'e> {
    all: Vec<Event<'e>>,
    parts: HashSet<Key>,
}

impl Code<'_, '_> {
    /// The value of an expression that was evaluated out of turn.
    pub(super) fn evaluated(&self, e: &Expr) -> Option<Val> {
        self.arranged.values.get(&std::ptr::from_ref(e)).cloned()
    }

    /// The same for structs.
    pub(super) fn evaluated_struct(&self, e: &Expr) -> Option<Rc<Object>> {
        self.arranged.structs.get(&std::ptr::from_ref(e)).cloned()
    }

    /// Whether the order within this expression is settled.
    pub(super) fn is_arranged(&self, e: &Expr) -> bool {
        self.arranged.parts.contains(&std::ptr::from_ref(e))
    }

    /// Settles the order of evaluation within some expressions that have none among each
    /// other, then does `f`.
    pub(super) fn arranged<T>(
        &mut self,
        roots: &[&Expr],
        f: impl FnOnce(&mut Self) -> Lower<T>,
    ) -> Lower<T> {
        let around = std::mem::take(&mut self.arranged);
        let want = self.want.take();
        let result = self.arrange(roots).and_then(|()| {
            self.want = want;
            f(self)
        });
        self.arranged = around;
        result
    }

    fn arrange(&mut self, roots: &[&Expr]) -> Lower<()> {
        let mut events = Events::default();
        for root in roots {
            self.collect_value(root, &mut events);
        }
        self.arranged.parts = std::mem::take(&mut events.parts);
        let events = events.all;
        let pairs = self.open_pairs(&events);
        if pairs.is_empty() || !self.live {
            return Ok(());
        }
        for (i, j) in &pairs {
            if let Some(why) = self.trouble(&events[*i], &events[*j]) {
                match why {
                    Trouble::Undefined(name) => {
                        let what = format!("unsequenced accesses of `{name}` in one expression");
                        self.demand(Ir::FALSE, &what, events[*j].span);
                    }
                    Trouble::Unknown => self.require(
                        Ir::FALSE,
                        "an order of evaluation that C leaves open (write it as separate statements)",
                        events[*j].span,
                    ),
                }
                self.block(events[*j].span);
                return Ok(());
            }
        }
        self.interleave(&events, &pairs)
    }

    /// Pairs of events in no fixed order that depend on each other.
    fn open_pairs(&mut self, events: &[Event<'_>]) -> Vec<(usize, usize)> {
        if events.len() < 2 {
            return Vec::new();
        }
        let before = ancestors(events);
        let mut pairs = Vec::new();
        for j in 0..events.len() {
            for i in 0..j {
                let (a, b) = (&events[i].effects, &events[j].effects);
                if !before[j].contains(&i) && self.depend(a, b) {
                    pairs.push((i, j));
                }
            }
        }
        pairs
    }

    /// Whether it matters which of the two is first.
    fn depend(&self, a: &Effects, b: &Effects) -> bool {
        let ends = |x: &Effects, y: &Effects| x.stops && (y.stops || self.is_contended(y));
        a.conflicts(b, self)
            || ends(a, b)
            || ends(b, a)
            || (self.is_contended(a) && self.is_contended(b))
    }

    fn trouble(&self, a: &Event<'_>, b: &Event<'_>) -> Option<Trouble> {
        // Another event may come between two accesses of a part with an order of its own.
        let splits = |x: &Event<'_>, y: &Event<'_>| {
            x.pieces
                .iter()
                .filter(|p| self.depend(p, &y.effects))
                .count()
                > 1
        };
        if splits(a, b) || splits(b, a) {
            return Some(Trouble::Unknown);
        }
        if a.effects.is_call || b.effects.is_call {
            return None;
        }
        let undefined = a.effects.certain_conflict(&b.effects)?;
        Some(if a.pieces.is_empty() && b.pieces.is_empty() {
            Trouble::Undefined(undefined)
        } else {
            Trouble::Unknown
        })
    }

    /// All orders of the events in `pairs`.
    fn interleave(&mut self, events: &[Event<'_>], pairs: &[(usize, usize)]) -> Lower<()> {
        let mut open: Vec<usize> = pairs.iter().flat_map(|(i, j)| [*i, *j]).collect();
        open.sort_unstable();
        open.dedup();
        let span = events[open[0]].span;
        let before = ancestors(events);
        let steps = branches(&open, &before);
        if steps.is_none_or(|n| n > MAX_BRANCHES) || events.len() > MAX_EVENTS {
            let why = "an expression with too many orders of evaluation (use separate statements)";
            self.require(Ir::FALSE, why, span);
            self.block(span);
            return Ok(());
        }
        let results = self.places_for(events)?;
        let temporaries = self.temporaries();
        let mut levels: BTreeMap<(u32, u64), Reached> = BTreeMap::new();
        let start = Reached {
            loc: self.here,
            known: self.known.clone(),
            arranged: self.arranged.clone(),
        };
        levels.insert((0, 0), start);
        let whole = (1_u64 << open.len()) - 1;
        let mut last = None;
        while let Some(((_, done), reached)) = levels.pop_first() {
            if done == whole {
                last = Some(reached);
                break;
            }
            let is_done = |k: usize| {
                let is_it = |(n, i): (usize, &usize)| {
                    done >> n & 1 == 1 && (*i == k || before[*i].contains(&k))
                };
                open.iter().enumerate().any(is_it)
            };
            for (n, i) in open.iter().enumerate() {
                let ready = open
                    .iter()
                    .enumerate()
                    .all(|(m, j)| done >> m & 1 == 1 || !before[*i].contains(j));
                if done >> n & 1 == 1 || !ready {
                    continue;
                }
                self.set_temporaries(temporaries);
                self.at(reached.loc);
                let branch = self.graph.loc();
                self.go(branch, span);
                self.at(branch);
                self.known.clone_from(&reached.known);
                self.arranged.clone_from(&reached.arranged);
                for k in (0..=*i).filter(|k| *k == *i || before[*i].contains(k)) {
                    if self.live && !is_done(k) {
                        self.happen(&events[k], results[k].as_ref())?;
                    }
                }
                if self.live {
                    let next = done | 1 << n;
                    self.arrive_at(&mut levels, (next.count_ones(), next), span);
                }
            }
        }
        self.set_temporaries(temporaries);
        let Some(last) = last else {
            // Nothing gets through.
            self.stop();
            return Ok(());
        };
        self.at(last.loc);
        self.known = last.known;
        self.arranged = last.arranged;
        // What depends on nothing comes in the order of the text.
        let done = |k: usize| open.iter().any(|i| *i == k || before[*i].contains(&k));
        for k in (0..events.len()).filter(|k| !done(*k)) {
            if self.live {
                self.happen(&events[k], results[k].as_ref())?;
            }
        }
        Ok(())
    }

    fn arrive_at(
        &mut self,
        levels: &mut BTreeMap<(u32, u64), Reached>,
        key: (u32, u64),
        span: Span,
    ) {
        let reached = match levels.remove(&key) {
            Some(old) => Reached {
                loc: old.loc,
                known: meet(old.known, &self.known),
                arranged: joined(&old.arranged, &self.arranged),
            },
            None => Reached {
                loc: self.graph.loc(),
                known: self.known.clone(),
                arranged: self.arranged.clone(),
            },
        };
        self.go(reached.loc, span);
        levels.insert(key, reached);
    }

    /// Where the value of each event is kept.
    fn places_for(&mut self, events: &[Event<'_>]) -> Lower<Vec<Option<Kept>>> {
        let mut all = Vec::new();
        for event in events {
            all.push(match event.kind {
                Kind::Store(_) => None,
                Kind::Value(e) | Kind::Result(e) => {
                    let is_assignment = matches!(e.kind, ExprKind::Assign(..));
                    match self.type_of(e) {
                        Some(ty) if matches!(ty.plain(), Type::Struct(_)) && !is_assignment => {
                            let object = self.registers("value", ty.plain(), event.span)?;
                            Some(Kept::Struct(object))
                        }
                        _ => Some(Kept::Local(self.temporary(event.span))),
                    }
                }
            });
        }
        Ok(all)
    }

    fn happen(&mut self, event: &Event<'_>, kept: Option<&Kept>) -> Lower<()> {
        let span = event.span;
        let (e, v) = match (event.kind, kept) {
            (Kind::Value(e), Some(Kept::Struct(object))) => {
                let source = self.place(e)?;
                self.copy(&Self::whole(object), &source, span)?;
                self.arranged.structs.insert(e, object.clone());
                return Ok(());
            }
            (Kind::Value(e), _) => (e, self.settled_value(e)?),
            (Kind::Result(e), _) => {
                let (result, _) = self.results(e)?;
                (e, result)
            }
            (Kind::Store(e), _) => {
                let (_, new) = self.results(e)?;
                let place = self.place(target(e))?;
                self.write(&place, new, span)?;
                return Ok(());
            }
        };
        let v = match kept {
            Some(Kept::Local(local)) if v.ty.is_scalar() && self.live => {
                self.assign(*local, v.e, span);
                Val {
                    e: self.read(*local),
                    ..v
                }
            }
            _ => v,
        };
        self.arranged.values.insert(e, v);
        Ok(())
    }

    /// The value of an assignment, and the value that it stores.
    fn results(&mut self, e: &Expr) -> Lower<(Val, Val)> {
        let ty = self.type_of(target(e)).unwrap_or(Type::INT);
        let (op, is_postfix) = match &e.kind {
            ExprKind::Assign(None, _, b) => {
                let v = match self.evaluated(e) {
                    Some(v) => v,
                    None => {
                        self.note_allocation(&ty, b);
                        let v = self.value(b)?;
                        self.convert(v, &ty, e.span)?
                    }
                };
                return Ok((v.clone(), v));
            }
            ExprKind::Assign(Some(op), ..) => (*op, false),
            ExprKind::Unary(Unary::PreIncrement, _) => (Binary::Add, false),
            ExprKind::Unary(Unary::PreDecrement, _) => (Binary::Sub, false),
            ExprKind::Unary(Unary::PostIncrement, _) => (Binary::Add, true),
            _ => (Binary::Sub, true),
        };
        let old = self.value(target(e))?;
        let by = match &e.kind {
            ExprKind::Assign(_, _, b) => self.value(b)?,
            _ => Val::constant(1, &Type::INT),
        };
        let new = self.binary(op, old.clone(), by, e.span)?;
        let new = self.convert(new, &ty, e.span)?;
        Ok((if is_postfix { old } else { new.clone() }, new))
    }

    /// Notes the events of a value; returns those that it needs.
    fn collect_value<'e>(&mut self, e: &'e Expr, events: &mut Events<'e>) -> Vec<usize> {
        events.parts.insert(e);
        match &e.kind {
            ExprKind::Int(..) | ExprKind::Float | ExprKind::Str(_) | ExprKind::UnknownSize => {
                Vec::new()
            }
            ExprKind::Ident(_) | ExprKind::Member(..) | ExprKind::Arrow(..) => {
                self.collect_load(e, events)
            }
            ExprKind::Index(..) | ExprKind::Unary(Unary::Deref, _) => self.collect_load(e, events),
            ExprKind::Unary(Unary::Plus | Unary::Minus | Unary::Not | Unary::BitNot, a)
            | ExprKind::Cast(_, a) => self.collect_value(a, events),
            ExprKind::Unary(Unary::Address, a) => self.collect_place(a, events),
            ExprKind::Binary(Binary::And | Binary::Or, ..) | ExprKind::Cond(..) => {
                self.collect_whole(e, events)
            }
            ExprKind::Comma(..) | ExprKind::Statements(_) | ExprKind::Compound(..) => {
                self.collect_whole(e, events)
            }
            ExprKind::Binary(_, a, b) => {
                let mut needs = self.collect_value(a, events);
                needs.extend(self.collect_value(b, events));
                needs
            }
            ExprKind::Assign(op, a, b) => {
                let ty = self.type_of(a);
                let is_scalar = ty.as_ref().is_some_and(Type::is_scalar);
                let is_atomic = ty.is_some_and(|ty| ty.is_atomic());
                if !is_scalar || (is_atomic && op.is_some()) {
                    return self.collect_at_once(e, a, Some(b), events);
                }
                let start = events.all.len();
                let value = if is_allocation(b) {
                    // What is allocated depends on what it is assigned to.
                    let mut parts = Events::default();
                    self.collect_value(b, &mut parts);
                    events.parts.extend(parts.parts);
                    Vec::new()
                } else {
                    self.collect_value(b, events)
                };
                self.collect_store(e, op.is_some(), (start, value), events)
            }
            ExprKind::Unary(
                Unary::PreIncrement
                | Unary::PreDecrement
                | Unary::PostIncrement
                | Unary::PostDecrement,
                a,
            ) => {
                let ty = self.type_of(a);
                if ty.is_none_or(|ty| ty.is_atomic() || !ty.is_scalar()) {
                    return self.collect_at_once(e, a, None, events);
                }
                let start = events.all.len();
                self.collect_store(e, true, (start, Vec::new()), events)
            }
            ExprKind::Call(callee, args) => {
                let start = events.all.len();
                let is_name = matches!(&callee.kind, ExprKind::Ident(name)
                    if self.lookup(name).ok().flatten().is_none());
                if !is_name {
                    self.collect_value(callee, events);
                }
                for a in args {
                    self.collect_value(a, events);
                }
                let effects = self.call_effects(callee, args);
                let needs = (start..events.all.len()).collect();
                vec![events.push(Kind::Value(e), needs, effects)]
            }
        }
    }

    /// A load, unless it is an address only.
    fn collect_load<'e>(&mut self, e: &'e Expr, events: &mut Events<'e>) -> Vec<usize> {
        let needs = self.collect_place(e, events);
        let is_load = match self.type_of(e) {
            Some(ty) => match ty.plain() {
                Type::Array(..) | Type::VariableArray(_) | Type::Function(_) => false,
                Type::Void | Type::Opaque(_) => false,
                Type::Bool | Type::Int { .. } | Type::Pointer(_) | Type::Other(_) => true,
                Type::Struct(_) | Type::Atomic(_) => true,
            },
            None => !matches!(e.kind, ExprKind::Ident(_)),
        };
        let (Some(memory), true) = (self.memory_of(e), is_load) else {
            return needs;
        };
        let effects = Effects {
            reads: vec![memory],
            ..Effects::default()
        };
        vec![events.push(Kind::Value(e), needs, effects)]
    }

    /// A part with an order of its own: `&&`, `?:`, statements.
    fn collect_whole<'e>(&mut self, e: &'e Expr, events: &mut Events<'e>) -> Vec<usize> {
        let pieces = self.effects(e);
        let mut effects = Effects::default();
        pieces.iter().for_each(|p| effects.join(p));
        effects.is_call = false;
        let event = events.push(Kind::Value(e), Vec::new(), effects);
        events.all[event].pieces = pieces;
        vec![event]
    }

    /// An assignment that is one event: of a struct, or a read-modify-write.
    fn collect_at_once<'e>(
        &mut self,
        e: &'e Expr,
        a: &'e Expr,
        b: Option<&'e Expr>,
        events: &mut Events<'e>,
    ) -> Vec<usize> {
        let mut needs = self.collect_place(a, events);
        let ty = self.type_of(a);
        let mut effects = Effects {
            synchronises: ty.is_none_or(|ty| ty.is_atomic()),
            ..Effects::default()
        };
        if let Some(b) = b {
            needs.extend(self.collect_value(b, events));
        }
        let memory = self.memory_of(a);
        effects.reads.extend(memory.clone());
        effects.writes.extend(memory);
        vec![events.push(Kind::Value(e), needs, effects)]
    }

    /// The load, the value and the store of an assignment, whose other operand's events
    /// start at `value`.
    fn collect_store<'e>(
        &mut self,
        e: &'e Expr,
        loads: bool,
        value: (usize, Vec<usize>),
        events: &mut Events<'e>,
    ) -> Vec<usize> {
        let a = target(e);
        events.parts.insert(a);
        let (start, mut needs) = value;
        let calls = start..events.all.len();
        let place = self.collect_place(a, events);
        let memory = self.memory_of(a);
        if loads {
            // Calls in the other operand come before [C11, 6.5.16.2].
            let is_call = |k: &usize| events.all[*k].effects.is_call;
            let mut first: Vec<usize> = calls.filter(is_call).collect();
            first.extend(&place);
            let effects = Effects {
                reads: memory.iter().cloned().collect(),
                ..Effects::default()
            };
            needs.push(events.push(Kind::Value(a), first, effects));
        }
        let result = events.push(Kind::Result(e), needs, Effects::default());
        let effects = Effects {
            writes: memory.into_iter().collect(),
            synchronises: self.type_of(a).is_some_and(|ty| ty.is_atomic()),
            ..Effects::default()
        };
        let mut needs = place;
        needs.push(result);
        events.push(Kind::Store(e), needs, effects);
        vec![result]
    }

    fn collect_place<'e>(&mut self, e: &'e Expr, events: &mut Events<'e>) -> Vec<usize> {
        events.parts.insert(e);
        match &e.kind {
            ExprKind::Ident(_) | ExprKind::Str(_) => Vec::new(),
            ExprKind::Unary(Unary::Deref, a) | ExprKind::Arrow(a, _) => {
                self.collect_value(a, events)
            }
            ExprKind::Member(a, _) | ExprKind::Cast(_, a) => self.collect_place(a, events),
            ExprKind::Index(a, i) => {
                let is_array = matches!(
                    self.type_of(a).as_ref().map(Type::plain),
                    Some(Type::Array(..))
                );
                let mut needs = if is_array {
                    self.collect_place(a, events)
                } else {
                    self.collect_value(a, events)
                };
                needs.extend(self.collect_value(i, events));
                needs
            }
            ExprKind::Int(..) | ExprKind::Float | ExprKind::UnknownSize => Vec::new(),
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Assign(..) => {
                self.collect_value(e, events)
            }
            ExprKind::Cond(..) | ExprKind::Call(..) | ExprKind::Comma(..) => {
                self.collect_value(e, events)
            }
            ExprKind::Statements(_) | ExprKind::Compound(..) => self.collect_value(e, events),
        }
    }
}

impl<'e> Events<'e> {
    fn push(&mut self, kind: Kind<'e>, after: Vec<usize>, effects: Effects) -> usize {
        let (Kind::Value(e) | Kind::Result(e) | Kind::Store(e)) = kind;
        self.all.push(Event {
            kind,
            after,
            effects,
            pieces: Vec::new(),
            span: e.span,
        });
        self.all.len() - 1
    }
}

/// Some events are done.
struct Reached {
    loc: LocId,
    known: Known,
    arranged: Arranged,
}

/// Where a value is kept.
enum Kept {
    Local(LocalId),
    Struct(Rc<Object>),
}

/// What is known on both ways.
fn joined(a: &Arranged, b: &Arranged) -> Arranged {
    let mut all = a.clone();
    all.values.retain(|key, _| b.values.contains_key(key));
    for (key, v) in &mut all.values {
        let w = &b.values[key];
        v.lo = v.lo.min(w.lo);
        v.hi = v.hi.max(w.hi);
        v.object = v.object.filter(|o| w.object == Some(*o));
    }
    all
}

/// The left side of an assignment, the operand of `++`.
fn target(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Assign(_, a, _) | ExprKind::Unary(_, a) => a,
        _ => e,
    }
}

fn is_allocation(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Cast(_, a) => is_allocation(a),
        ExprKind::Call(f, _) => {
            matches!(&f.kind, ExprKind::Ident(name) if matches!(name.as_str(), "malloc" | "calloc"))
        }
        _ => false,
    }
}

/// For each event, all that come before it.
fn ancestors(events: &[Event<'_>]) -> Vec<HashSet<usize>> {
    let mut all: Vec<HashSet<usize>> = Vec::new();
    for event in events {
        let mut before: HashSet<usize> = event.after.iter().copied().collect();
        for k in &event.after {
            before.extend(&all[*k]);
        }
        all.push(before);
    }
    all
}

/// How many branches all orders of the events need; `None` if far too many.
fn branches(open: &[usize], before: &[HashSet<usize>]) -> Option<usize> {
    if open.len() > 16 {
        return None;
    }
    let needs: Vec<u64> = open
        .iter()
        .map(|i| {
            let is_before = |(_, j): &(usize, &usize)| before[*i].contains(j);
            open.iter()
                .enumerate()
                .filter(is_before)
                .map(|(m, _)| 1 << m)
                .sum()
        })
        .collect();
    let whole = (1_u64 << open.len()) - 1;
    let mut count = 0;
    for done in 0..whole {
        let is_closed = (0..open.len()).all(|n| done >> n & 1 == 0 || needs[n] & !done == 0);
        if is_closed {
            count += (0..open.len())
                .filter(|n| done >> n & 1 == 0 && needs[*n] & !done == 0)
                .count();
        }
    }
    Some(count)
}

/// Why two events in no fixed order cannot be put into one.
enum Trouble {
    Undefined(String),
    Unknown,
}
