//! *A node for each round*: a loop that allocates its node anew whenever it tries again is written with one allocation
//! in front of it. The node of a round that failed is known to nobody, so it may as well be used again, if everything
//! in it is written again before anyone looks. What is the same in each round, an argument, is written once, too.
//!
//! | before | after |
//! |---|---|
//! | `while (true) { n = new node; n.value = v; n.next = t; if (cas(top, t, n)) return; }` | `n = new node; n.value = v; while (true) { n.next = t; if (cas(top, t, n)) return; }` |

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::heap::{Body, Edge, Method, Place, Step, Term};
use palisade_program::{FieldId, LocalId};

use super::places::assigns;
use super::private::{Known, hands_on, known, written_field};
use crate::code::Code;

/// The method with its allocations in front of its loops.
pub(super) fn hoisted(method: &Method) -> Method {
    let mut method = method.clone();
    for local in (method.parameters..method.body.locals.len()).map(LocalId::from) {
        if let Some(constant) = reusable(&method, local) {
            hoist(&mut method.body, local, &constant);
        }
    }
    method
}

/// If one node is enough for all rounds: what is written into its fields that is the same in all of them.
fn reusable(method: &Method, local: LocalId) -> Option<BTreeMap<FieldId, Term>> {
    let body = &method.body;
    let mut definitions = body.edges.iter().filter(|e| assigns(&e.step, local));
    let new = definitions.next()?;
    let alone = definitions.next().is_none() && new.commits.is_empty();
    let read_before = Code::new(body).live()[body.entry.index()][local.index()];
    if !matches!(new.step, Step::New { .. }) || !alone || read_before || !on_cycle(body, new) {
        return None;
    }
    // What is given back is the allocator's.
    if body.edges.iter().any(|e| e.step == Step::Free(local)) {
        return None;
    }
    let written: BTreeSet<FieldId> = body
        .edges
        .iter()
        .filter_map(|e| written_field(&e.step, local))
        .collect();
    let known = known(body, local, &Known::NOTHING);
    for (edge, known) in body.edges.iter().zip(&known) {
        let Some(known) = known else { continue };
        let step = &edge.step;
        let fresh = matches!(step, Step::New { to } if *to == local);
        if fresh && known.public {
            return None;
        }
        if hands_on(step, local) && !written.iter().all(|field| known.has(*field)) {
            return None;
        }
        match step.place() {
            Some(Place::Field { of, field }) if of == local => match step {
                Step::Read { .. } if known.has(field) || !written.contains(&field) => {}
                Step::Write { .. } => {}
                // Locks, and what is compared.
                _ if known.public && known.has(field) => {}
                _ => return None,
            },
            Some(Place::Field { .. } | Place::Shared(_)) | None => {}
        }
    }
    let same =
        |field: &FieldId| constant(method, local, *field, &known).map(|value| (*field, value));
    Some(written.iter().filter_map(same).collect())
}

fn on_cycle(body: &Body, edge: &Edge) -> bool {
    let mut seen = BTreeSet::from([edge.to]);
    let mut open = vec![edge.to];
    while let Some(at) = open.pop() {
        if at == edge.from {
            return true;
        }
        open.extend(
            body.leaving(at)
                .map(|(_, e)| e.to)
                .filter(|to| seen.insert(*to)),
        );
    }
    false
}

/// The parameter that is all that is ever written into the field, while the node is private.
fn constant(
    method: &Method,
    local: LocalId,
    field: FieldId,
    known: &[Option<Known>],
) -> Option<Term> {
    let body = &method.body;
    let mut found = None;
    for (edge, known) in body.edges.iter().zip(known) {
        if written_field(&edge.step, local) != Some(field) {
            continue;
        }
        let Step::Write {
            value: Term::Local(value),
            tag: None,
            ..
        } = &edge.step
        else {
            return None;
        };
        let fixed = value.index() < method.parameters
            && !body.edges.iter().any(|e| assigns(&e.step, *value));
        let private = known.as_ref().is_none_or(|known| !known.public);
        let other = found.is_some_and(|found| found != *value);
        if !fixed || !private || other || !edge.commits.is_empty() {
            return None;
        }
        found = Some(*value);
    }
    found.map(Term::Local)
}

fn hoist(body: &mut Body, local: LocalId, constant: &BTreeMap<FieldId, Term>) {
    let fixed =
        |step: &Step| written_field(step, local).is_some_and(|field| constant.contains_key(&field));
    let mut first = Vec::new();
    for edge in &mut body.edges {
        let new = matches!(edge.step, Step::New { to } if to == local);
        if new || fixed(&edge.step) {
            let step = std::mem::replace(&mut edge.step, Step::Skip);
            if first.iter().all(|(known, _)| *known != step) {
                first.push((step, edge.span));
            }
        }
    }
    // The allocation comes first.
    first.sort_by_key(|(step, _)| !matches!(step, Step::New { .. }));
    for (step, span) in first.into_iter().rev() {
        body.put_first(step, span);
    }
}
