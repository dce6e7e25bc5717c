//! *Code*: bodies prepared for running. For each location the edges that leave it, and
//! which locals matter there; the others are put to their defaults, so that
//! states that differ in dead locals are one.
//!
//! An access of an array with an index is a branch for each element, and there an access of it:
//! edges that are one *access* of the text.

use palisade_program::heap::{Body, Cond, Edge, Place, Role, Step, Term};
use std::collections::BTreeMap;

use palisade_program::{LocId, LocalId, Span};

use crate::value::{Value, default_of};

/// A body, prepared.
#[derive(Clone, Debug)]
pub(crate) struct Code<'a> {
    pub(crate) body: &'a Body,
    /// Edges by location.
    leaving: Vec<Vec<usize>>,
    /// Live locals by location.
    live: Vec<Vec<bool>>,
    /// What locals start with.
    pub(crate) defaults: Vec<Value>,
    /// Locals that the thread keeps between calls, and which of its words each is.
    pub(crate) kept: Vec<(usize, usize)>,
}

impl<'a> Code<'a> {
    pub(crate) fn new(body: &'a Body) -> Self {
        let mut leaving = vec![Vec::new(); body.locations.len()];
        for (index, edge) in body.edges.iter().enumerate() {
            leaving[edge.from.index()].push(index);
        }
        Self {
            body,
            leaving,
            live: live(body),
            defaults: body.locals.iter().map(|l| default_of(l.ty)).collect(),
            kept: kept(body).collect(),
        }
    }

    pub(crate) fn leaving(&self, at: LocId) -> &[usize] {
        &self.leaving[at.index()]
    }

    /// Live locals by location.
    pub(crate) fn live(&self) -> &[Vec<bool>] {
        &self.live
    }

    /// Forgets locals that do not matter at `at`.
    pub(crate) fn forget(&self, at: LocId, locals: &mut [Value]) {
        for (index, local) in locals.iter_mut().enumerate() {
            if !self.live[at.index()][index] {
                *local = self.defaults[index];
            }
        }
    }
}

fn kept(body: &Body) -> impl Iterator<Item = (usize, usize)> {
    let locals = body.locals.iter().enumerate();
    locals.filter_map(|(index, local)| match local.role {
        Role::Kept(word) => Some((index, word)),
        Role::Parameter | Role::Variable | Role::TagOf(_) | Role::Temporary => None,
    })
}

/// Whether the edge chooses an element of an array: it and the access behind it stand at the same place.
pub(crate) fn selects(body: &Body, edge: &Edge) -> bool {
    let mut next = body.leaving(edge.to).map(|(_, next)| next).peekable();
    matches!(edge.step, Step::Assume(Cond::Eq(_, Term::Int(_))))
        && next.peek().is_some()
        && next.all(|next| {
            let accesses = next.step.place().is_some() || next.step.assigned().next().is_some();
            accesses && next.span == edge.span
        })
}

/// For each edge the first one that is the same access of the text: of another element of an array. What a failing `cas` finds is
/// read as it was before, if the local had come from there.
pub(crate) fn accesses(body: &Body) -> Vec<usize> {
    let first = elements(body);
    let numbered = body.edges.iter().enumerate();
    let is_cas = |e: &Edge, span| matches!(e.step, Step::Cas { .. }) && e.span == span;
    let again = numbered.map(|(index, edge)| {
        let is_read = matches!(edge.step, Step::Read { .. });
        if !is_read || !body.edges.iter().any(|e| is_cas(e, edge.span)) {
            return first[index];
        }
        let same = body.edges.iter().position(|e| e.step == edge.step);
        same.unwrap_or(first[index])
    });
    again.collect()
}

/// For each edge the first one that is the same access of another element of an array.
fn elements(body: &Body) -> Vec<usize> {
    type Key = (LocId, Span, usize, bool);
    let mut first: BTreeMap<Key, usize> = BTreeMap::new();
    let edges = body.edges.iter().enumerate();
    edges
        .map(|(index, edge)| {
            let (mut at, mut steps) = (edge.from, 0);
            loop {
                let mut into = body.edges.iter().filter(|e| e.to == at);
                let (Some(before), None) = (into.next(), into.next()) else {
                    return index;
                };
                if before.span != edge.span || steps > body.edges.len() {
                    return index;
                }
                if selects(body, before) {
                    let succeeds = matches!(edge.step, Step::Cas { success: true, .. });
                    let key = (before.from, edge.span, steps, succeeds);
                    return *first.entry(key).or_insert(index);
                }
                (at, steps) = (before.from, steps + 1);
            }
        })
        .collect()
}

/// Backward analysis: a local is live where a path leads to a use of it that does
/// not pass an assignment.
fn live(body: &Body) -> Vec<Vec<bool>> {
    let mut live = vec![vec![false; body.locals.len()]; body.locations.len()];
    loop {
        let mut changed = false;
        for edge in body.edges.iter().rev() {
            let mut before = live[edge.to.index()].clone();
            for commit in &edge.commits {
                uses_of_cond(&commit.when, &mut |id| before[id.index()] = true);
            }
            for id in edge.step.assigned() {
                before[id.index()] = false;
            }
            uses(&edge.step, &mut |id| before[id.index()] = true);
            if matches!(edge.step, Step::Return(_)) {
                kept(body).for_each(|(local, _)| before[local] = true);
            }
            let known = &mut live[edge.from.index()];
            for (known, before) in known.iter_mut().zip(before) {
                changed |= before && !*known;
                *known |= before;
            }
        }
        if !changed {
            return live;
        }
    }
}

fn uses_of_term(term: Term, f: &mut dyn FnMut(LocalId)) {
    match term {
        Term::Local(id) | Term::Plus(id, _) => f(id),
        Term::Null
        | Term::Empty
        | Term::Infinity(_)
        | Term::Undefined
        | Term::Bool(_)
        | Term::Int(_)
        | Term::Shared(_) => {}
    }
}

pub(crate) fn uses_of_cond(cond: &Cond, f: &mut dyn FnMut(LocalId)) {
    cond.for_each_term(&mut |term| uses_of_term(term, f));
}

fn uses_of_place(place: Place, f: &mut dyn FnMut(LocalId)) {
    match place {
        Place::Shared(_) => {}
        Place::Field { of, .. } => f(of),
    }
}

/// Calls `f` on every local whose value a step uses.
pub(crate) fn uses(step: &Step, f: &mut dyn FnMut(LocalId)) {
    match step {
        Step::Skip | Step::Fence | Step::Havoc { .. } | Step::New { .. } | Step::Return(None) => {}
        Step::Fail(_) => {}
        Step::Compute { left, right, .. } => {
            uses_of_term(*left, f);
            uses_of_term(*right, f);
        }
        Step::Assume(cond) => uses_of_cond(cond, f),
        Step::Assign { value, .. } => uses_of_term(*value, f),
        Step::Read { from: place, .. } | Step::Lock(place) | Step::Unlock(place) => {
            uses_of_place(*place, f);
        }
        Step::Write { to, value, tag } => {
            uses_of_place(*to, f);
            uses_of_term(*value, f);
            if let Some(tag) = tag {
                uses_of_term(*tag, f);
            }
        }
        Step::Cas {
            at,
            expect,
            expect_tag,
            new,
            new_tag,
            success: _,
        } => {
            uses_of_place(*at, f);
            uses_of_term(*expect, f);
            uses_of_term(*new, f);
            for tag in expect_tag.iter().chain(new_tag) {
                uses_of_term(*tag, f);
            }
        }
        Step::Free(id) => f(*id),
        Step::Return(Some(term)) => uses_of_term(*term, f),
    }
}
