//! *Code*: bodies prepared for running. For each location the edges that leave it, and
//! which locals matter there; the others are put to their defaults, so that
//! states that differ in dead locals are one.

use palisade_program::heap::{Body, Cond, Place, Step, Term};
use palisade_program::{LocId, LocalId};

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
        Step::Skip | Step::Havoc { .. } | Step::New { .. } | Step::Return(None) => {}
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
