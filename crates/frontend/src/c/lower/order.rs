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

mod events;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use palisade_program::{Expr as Ir, LocId, LocalAtom, LocalId, Span};

use super::code::{Code, Known, Lower, meet};
use super::effects::Effects;
use super::layout::Object;
use super::value::Val;
use crate::c::ast::{Binary, Expr, ExprKind, Unary};
use crate::c::types::Type;
use events::{Event, Events, Kind, target};

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
        // Functions are called one after another.
        let own = |e: &'_ Event<'_>| -> Vec<Effects> {
            let all = if e.pieces.is_empty() {
                std::slice::from_ref(&e.effects)
            } else {
                &e.pieces
            };
            all.iter().filter(|p| !p.is_call).cloned().collect()
        };
        let (x, y) = (own(a), own(b));
        let undefined = x
            .iter()
            .find_map(|p| y.iter().find_map(|q| p.certain_conflict(q)))?;
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
            Some(Kept::Local(local)) if v.ty.is_value() && self.live => {
                self.assign(*local, v.e, span);
                // Another order may bring another constant to the same place.
                Val {
                    e: Ir::Atom(LocalAtom::Local(*local)),
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
                let v = if let Some(v) = self.evaluated(e) {
                    v
                } else {
                    let v = self.allocated(&ty, b)?;
                    self.convert(v, &ty, e.span)?
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
