//! *Points*: at which reads, writes and `cas` calls can take effect. The search chooses,
//! for each `return` of each method, one edge such that the calls that end there can
//! be taken to have taken effect when they executed the edge for the last time; a
//! choice stands if it explains all runs within bounds. What it finds is a suggestion:
//! other bounds may refute it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use palisade_program::heap::print::Names;
use palisade_program::heap::{Body, Edge, Program, Step};
use palisade_program::{LocId, Span};

use crate::explore::{Failure, Found, check_points};
use crate::machine::Bound;
use crate::options::Options;
use crate::track::Points;

/// Where the calls of a method that end at one `return` take effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suggestion {
    /// The method's name.
    pub method: String,
    /// The `return`.
    pub at_return: Span,
    /// The step: `cas(top, t, n) succeeds`.
    pub step: String,
    /// Where the step stands.
    pub span: Span,
}

/// Calls in the runs by which points are chosen, before they are tried on longer ones.
const FIRST_CALLS: u32 = 2;

/// A point for each return, if there is one that explains all runs within bounds;
/// `None` if there are none, or if time ran out.
pub fn suggest(program: &Program, options: &Options) -> Result<Option<Vec<Suggestion>>, Failure> {
    let short = Options {
        calls: options.calls.min(FIRST_CALLS),
        ..options.clone()
    };
    for bounds in [&short, options] {
        let Some(points) = choose(program, bounds)? else {
            return Ok(None);
        };
        if explains(program, options, &points)? {
            return Ok(Some(shown(program, &points)));
        }
    }
    Ok(None)
}

/// One edge for each return, one return after another.
fn choose(program: &Program, options: &Options) -> Result<Option<Points>, Failure> {
    let mut points = candidates(program);
    if !explains(program, options, &points)? {
        return Ok(None);
    }
    let keys: Vec<(usize, usize)> = points.keys().copied().collect();
    for key in keys {
        let body = &program.methods[key.0].body;
        let mut edges: Vec<usize> = points[&key].iter().copied().collect();
        edges.sort_by_key(|&index| rank(body, &body.edges[index]));
        let mut chosen = None;
        for edge in edges {
            let mut trial = points.clone();
            trial.insert(key, BTreeSet::from([edge]));
            if explains(program, options, &trial)? {
                chosen = Some(trial);
                break;
            }
        }
        match chosen {
            Some(trial) => points = trial,
            None => return Ok(None),
        }
    }
    Ok(Some(points))
}

/// Where points mostly are: steps that write come first, then late ones. Accesses of a
/// node that the method has made itself come last.
fn rank(body: &Body, edge: &Edge) -> (bool, bool, Reverse<u32>) {
    let made = edge.step.dereferences().is_some_and(|local| {
        let mut edges = body.edges.iter();
        edges.any(|e| matches!(e.step, Step::New { to } if to == local))
    });
    (made, !edge.step.writes(), Reverse(edge.span.start))
}

fn explains(program: &Program, options: &Options, points: &Points) -> Result<bool, Failure> {
    let search = check_points(program, options, points.clone())?;
    let cut = search.bounds.contains(&Bound::States);
    Ok(matches!(search.found, Found::Nothing) && !cut)
}

/// All accesses from which a return can be reached, for each return.
fn candidates(program: &Program) -> Points {
    let mut points = BTreeMap::new();
    for (method, declared) in program.methods.iter().enumerate() {
        let body = &declared.body;
        for (index, edge) in body.edges.iter().enumerate() {
            if !matches!(edge.step, Step::Return(_)) {
                continue;
            }
            let before = leading_to(body, edge.from);
            let accesses = body.edges.iter().enumerate().filter(|(_, e)| {
                let access = matches!(
                    e.step,
                    Step::Read { .. } | Step::Write { .. } | Step::Cas { .. }
                );
                access && before[e.to.index()]
            });
            points.insert((method, index), accesses.map(|(i, _)| i).collect());
        }
    }
    points
}

/// Locations from which `at` can be reached.
fn leading_to(body: &Body, at: LocId) -> Vec<bool> {
    let mut seen = vec![false; body.locations.len()];
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut seen[at.index()], true) {
            open.extend(body.edges.iter().filter(|e| e.to == at).map(|e| e.from));
        }
    }
    seen
}

fn shown(program: &Program, points: &Points) -> Vec<Suggestion> {
    let mut all = Vec::new();
    for ((method, at_return), edges) in points {
        let declared = &program.methods[*method];
        let names = Names {
            structs: &program.structs,
            shared: &program.shared,
            body: Some(&declared.body),
        };
        for &edge in edges {
            let edge = &declared.body.edges[edge];
            all.push(Suggestion {
                method: declared.name.clone(),
                at_return: declared.body.edges[*at_return].span,
                step: names.step(&edge.step),
                span: edge.span,
            });
        }
    }
    all
}
