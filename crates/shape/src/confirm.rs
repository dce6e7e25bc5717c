//! Confirmation: the result is closed under every action, by the naive evaluator.
//!
//! Place: after a fixed point without messages, before `holds`. Small worlds are taken of stored
//! structures, reachable or not, and every action is applied to them: the results must embed in a
//! stored structure of the target, and no message may be given that the analysis did not
//! give.
//!
//! Which structures: for every edge the first that it took to another; then others at even distances,
//! as many as the bounds allow; then, for edges along which no step was seen, others of their
//! source. So every action that did anything is looked at, but for those that no small world within
//! the bounds can take: the verdict says of how many a step was checked. Of a structure that stands for an action, worlds in which the action can be taken
//! come first: those of what focus makes of it. Focus only chooses; that they are worlds of
//! the structure is checked like everything else. Structures are independent of each other and taken in parallel; the outcome is
//! that of taking them in order.

use crate::concrete::step;
use crate::engine::Fixpoint;
use crate::explore::{Bounds, Explored, Objection, Stored, largest, stopped};
use crate::join::Join;
use crate::model::Model;
use crate::naive::World;
use crate::structure::Structure;
use crate::transfer::{Context, focused};
use crate::worlds::each_world;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// Structures to look at again for an edge along which no step was seen.
const MOST_AGAIN: usize = 40;

/// A stored structure: location and index.
type Place = (usize, usize);

/// A structure to look at, until a step along the edge was seen if one is given.
#[derive(Clone, Copy)]
struct Look {
    place: Place,
    until: Option<usize>,
}

/// The edges that took a structure to another.
pub(crate) fn fired(fixpoint: &Fixpoint) -> BTreeSet<usize> {
    let edges = 0..fixpoint.taken.len();
    edges.filter(|e| fixpoint.taken[*e].is_some()).collect()
}

/// Checks that the stored structures are closed under every action on small worlds.
pub(crate) fn confirm(
    model: &Model,
    fixpoint: &Fixpoint,
    bounds: &Bounds,
    parallel: bool,
    cancel: Option<&AtomicBool>,
) -> Explored {
    confirm_by(&Stored { model, fixpoint }, model, bounds, parallel, cancel)
}

/// The same, where worlds in which an action can be taken are chosen by the rules of another model.
pub(crate) fn confirm_by(
    stored: &Stored<'_>,
    chooser: &Model,
    bounds: &Bounds,
    parallel: bool,
    cancel: Option<&AtomicBool>,
) -> Explored {
    let sample = sample(stored.fixpoint, bounds.visits);
    let share = (bounds.visits / sample.len().max(1)).max(1);
    let few = Bounds {
        worlds: bounds.worlds.min(share),
        decisions: bounds.decisions.min(40 * share),
        ..*bounds
    };
    // A structure that stands for an action is worth more effort than one among many.
    let more = Bounds {
        decisions: bounds.decisions.min(600 * share),
        ..*bounds
    };
    let check = |look: &Look| match look.until {
        Some(edge) => {
            let first = taking(chooser, edge, stored.structure(look.place));
            check(stored, *look, &first, &more, share, cancel)
        }
        None => check(stored, *look, &[], &few, share, cancel),
    };
    let parts: Vec<Explored> = if parallel {
        sample.par_iter().map(check).collect()
    } else {
        sample.iter().map(check).collect()
    };
    let mut out = together(parts);
    let seen: BTreeSet<usize> = out.edges.iter().copied().collect();
    let unseen = fired(stored.fixpoint).into_iter();
    let unseen: Vec<usize> = unseen.filter(|e| !seen.contains(e)).collect();
    if out.objection.is_none() && bounds.visits > 0 {
        let again = |edge: &usize| {
            let mut parts = Vec::new();
            for place in others(stored, *edge) {
                let until = Some(*edge);
                parts.push(check(&Look { place, until }));
                let last = parts
                    .last()
                    .is_some_and(|p: &Explored| p.objection.is_some() || p.edges.contains(edge));
                if last || stopped(cancel) {
                    break;
                }
            }
            together(parts)
        };
        let more: Vec<Explored> = if parallel {
            unseen.par_iter().map(again).collect()
        } else {
            unseen.iter().map(again).collect()
        };
        out = together([vec![out], more].concat());
    }
    out
}

/// What was found in parts, in their order.
fn together(parts: Vec<Explored>) -> Explored {
    let mut out = Explored::default();
    for part in parts {
        out.worlds += part.worlds;
        out.steps += part.steps;
        out.bounded |= part.bounded;
        out.edges.extend(part.edges);
        out.objection = out.objection.or(part.objection);
    }
    out.edges.sort_unstable();
    out.edges.dedup();
    out
}

/// Structures that an edge may take to another, beside the first that it took.
fn others(stored: &Stored<'_>, edge: usize) -> Vec<Place> {
    let location = stored.model.edges[edge].source;
    let count = stored.fixpoint.locations[location].set.structures().len();
    let first = stored.fixpoint.taken[edge];
    let some = count.min(MOST_AGAIN);
    let all = (0..some).map(|i| (location, i * count / some));
    all.filter(|place| Some(*place) != first).collect()
}

/// The structures to look at.
fn sample(fixpoint: &Fixpoint, visits: usize) -> Vec<Look> {
    let mut out: Vec<Look> = Vec::new();
    if visits == 0 {
        return out;
    }
    for (edge, place) in fixpoint.taken.iter().enumerate() {
        out.extend(place.map(|place| Look {
            place,
            until: Some(edge),
        }));
    }
    let chosen: BTreeSet<Place> = out.iter().map(|look| look.place).collect();
    let all: Vec<Place> = (0..fixpoint.locations.len())
        .flat_map(|l| (0..fixpoint.locations[l].set.structures().len()).map(move |i| (l, i)))
        .collect();
    let room = visits.saturating_sub(out.len()).min(all.len());
    let even = (0..room).map(|i| all[i * all.len() / room]);
    let rest = even.filter(|place| !chosen.contains(place));
    out.extend(rest.map(|place| Look { place, until: None }));
    out
}

/// Looks at worlds of `first`, then at others of the structure.
fn check(
    stored: &Stored<'_>,
    look: Look,
    first: &[Structure],
    bounds: &Bounds,
    share: usize,
    cancel: Option<&AtomicBool>,
) -> Explored {
    let mut out = Explored::default();
    let (location, _) = look.place;
    let s = stored.structure(look.place);
    if stopped(cancel) {
        out.bounded = true;
        return out;
    }
    let mut see = |w: World| {
        out.worlds += 1;
        out.objection = closed(stored, location, &w, bounds, &mut out);
        let seen = look.until.is_none_or(|edge| out.edges.contains(&edge));
        out.objection.is_none() && !(seen && out.worlds >= share)
    };
    let mut going = true;
    let voc = &stored.model.vocabulary;
    let whole = World::of(voc, s);
    for focused in first {
        each_world(stored.model, focused, bounds, &mut |w| {
            going = !w.embeds_in(voc, &whole) || see(w);
            going
        });
        if !going {
            return out;
        }
    }
    each_world(stored.model, s, bounds, &mut see);
    out
}

/// The structures that focus makes of one, in which an edge's action may be taken.
fn taking(model: &Model, edge: usize, s: &Structure) -> Vec<Structure> {
    let cx = Context {
        vocabulary: &model.vocabulary,
        rules: &model.rules,
        instrumentation: &model.instrumentation,
        join: Join::Part,
    };
    focused(&cx, &model.actions[model.edges[edge].action], s)
}

fn closed(
    stored: &Stored<'_>,
    location: usize,
    w: &World,
    bounds: &Bounds,
    out: &mut Explored,
) -> Option<Objection> {
    let model = stored.model;
    for (edge, e) in model.leaving(location) {
        let steps = step(model, &model.actions[e.action], w, largest(w, bounds));
        out.bounded |= steps.incomplete;
        let known = |m: usize| {
            let given = &stored.fixpoint.messages;
            given.iter().any(|g| g.edge == edge && g.message == m)
        };
        if steps.messages.iter().any(|m| !known(*m)) {
            return Some(Objection::MessageMissed { edge });
        }
        for r in steps.results {
            out.steps += 1;
            // States outside the axioms are the model's assumption, not the engine's result;
            // a formula that is wrong about unreachable worlds is no defect either.
            if r.broken.is_some() || steps.mismatch.is_some() {
                continue;
            }
            if r.post_messages.iter().any(|m| !known(*m)) {
                return Some(Objection::MessageMissed { edge });
            }
            if !stored.covers(e.target, &r.world) {
                return Some(Objection::NotCovered {
                    location: e.target,
                    world: r.world,
                });
            }
            out.edges.push(edge);
        }
    }
    None
}
