//! Exploration of small concrete structures: real runs that give a message.
//!
//! Place: after the fixed point (or beside it, when it grows large), before the verdict.
//!
//! 1. [`guided`] follows the actions that led the analysis to a message, and nothing else: a
//!    run along them is found at the cost of its length.
//! 2. [`search`] follows all runs from the worlds of the input, breadth first and, once there is a
//!    message, `toward` it. Every world it meets must embed in a stored structure, so it
//!    checks the engine as well.
//!
//! Both use the naive evaluator only. Limits: objects, worlds and steps are bounded; the
//! counts are part of the result.

use crate::concrete::{Steps, step};
use crate::engine::Fixpoint;
use crate::isomorphism::canonical;
use crate::model::Model;
use crate::naive::World;
use crate::structure::Structure;
use crate::toward::{Distances, Frontier};
use crate::vocabulary::{PredId, Vocabulary};
use crate::worlds::{LARGEST, worlds};
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Worlds that [`guided`] carries along.
const BEAM: usize = 48;

/// Ways to messages that [`guided`] follows.
const MOST_WAYS: usize = 16;

/// Bounds of the exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most objects in a world (more only where the structure itself has more).
    pub objects: usize,
    /// Least and most copies of a summary object.
    pub least: usize,
    /// See `least`.
    pub copies: usize,
    /// Most worlds taken of one structure.
    pub worlds: usize,
    /// Worlds visited in all; more after a long analysis (see [`Bounds::scaled`]).
    pub visits: usize,
    /// Most decisions while taking worlds of one structure.
    pub decisions: usize,
}

impl Bounds {
    /// The bounds after an analysis that built `built` structures: the confirmation stays a
    /// part of the whole cost, neither most of it nor nothing.
    #[must_use]
    pub fn scaled(&self, built: usize) -> Self {
        Self {
            visits: self.visits + self.visits * built / 40_000,
            ..*self
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            objects: 6,
            least: 1,
            copies: 3,
            worlds: 16,
            visits: 80,
            decisions: 3000,
        }
    }
}

/// A step of a run: the edge taken and the world after it.
#[derive(Clone, Debug)]
pub struct RunStep {
    /// The edge.
    pub edge: usize,
    /// What the variables of the action's precondition stand for, in the world before.
    pub bound: Vec<usize>,
    /// The world after; for the last step the world in which the message was given.
    pub world: World,
}

/// A concrete run that gives a message.
#[derive(Clone, Debug)]
pub struct Run {
    /// The initial world.
    pub start: World,
    /// The steps.
    pub steps: Vec<RunStep>,
    /// The edge and index of the message.
    pub message: (usize, usize),
}

/// Why a result cannot be confirmed.
#[derive(Clone, Debug)]
pub enum Objection {
    /// A real world is not covered by any stored structure: a defect of the engine.
    NotCovered {
        /// The location.
        location: usize,
        /// The world.
        world: World,
    },
    /// A message is given that the analysis did not give: a defect of the engine.
    MessageMissed {
        /// The edge.
        edge: usize,
    },
    /// A run leads to a state that an axiom excludes: the model assumes too much.
    AxiomBroken {
        /// The edge.
        edge: usize,
        /// The axiom.
        axiom: usize,
    },
    /// An update formula contradicts the definition of its predicate.
    UpdateWrong {
        /// The edge.
        edge: usize,
        /// The predicate.
        predicate: PredId,
    },
}

/// What exploration found.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// A run that gives a message.
    pub run: Option<Run>,
    /// A reason not to trust the result.
    pub objection: Option<Objection>,
    /// Worlds visited.
    pub worlds: usize,
    /// Steps checked.
    pub steps: usize,
    /// Edges along which a step was checked, increasing.
    pub edges: Vec<usize>,
    /// Whether a bound was met.
    pub bounded: bool,
}

/// Whether the caller asked to stop.
pub(crate) fn stopped(cancel: Option<&AtomicBool>) -> bool {
    cancel.is_some_and(|c| c.load(Ordering::Relaxed))
}

/// The stored structures of every location.
pub(crate) struct Stored<'a> {
    pub(crate) model: &'a Model,
    pub(crate) fixpoint: &'a Fixpoint,
}

impl Stored<'_> {
    /// The structure at a location and index.
    pub(crate) fn structure(&self, (location, index): (usize, usize)) -> &Structure {
        &self.fixpoint.locations[location].set.structures()[index]
    }

    /// Whether a world embeds in a structure stored at the location. The engine's own
    /// abstraction of the world says which to try first; the embedding is the naive
    /// evaluator's.
    pub(crate) fn covers(&self, location: usize, w: &World) -> bool {
        let voc = &self.model.vocabulary;
        let set = &self.fixpoint.locations[location].set;
        let list = set.structures();
        let embeds = |s: &Structure| w.embeds_in(voc, &World::of(voc, s));
        let concrete = w.structure(voc);
        let likely = set.find(voc, &concrete);
        let possible = |s: &&Structure| may_cover(voc, s, &concrete);
        likely.is_some_and(|i| embeds(&list[i])) || list.iter().filter(possible).any(embeds)
    }
}

/// Whether a world embeds in a structure that the analysis has stored at the location.
pub fn covers(model: &Model, fixpoint: &Fixpoint, location: usize, world: &World) -> bool {
    Stored { model, fixpoint }.covers(location, world)
}

/// A quick look at the nullary and unary predicates: no world embeds where this is false. (Were
/// it false too often, a state would be reported as not covered, never the reverse.)
fn may_cover(voc: &Vocabulary, s: &Structure, concrete: &Structure) -> bool {
    let (all, full) = (s.universe(), concrete.universe());
    voc.ids().filter(|p| *p != PredId::SM).all(|p| {
        let ((may, must), (here, _)) = match voc.get(p).arity {
            0 | 1 => (s.word(voc, p), concrete.word(voc, p)),
            _ => return true,
        };
        match voc.get(p).arity {
            0 => here & !may == 0 && must & !here == 0,
            // Some object has it: some may have it. Some has it not: not all must have it.
            _ => (here == 0 || may != 0) && (here == full || must != all),
        }
    })
}

/// A visited world: location, world, and the step that it came by.
type Visit = (usize, World, Option<Came>);

/// A step from a visited world.
#[derive(Clone)]
struct Came {
    from: usize,
    edge: usize,
    bound: Vec<usize>,
}

/// The worlds of the input. Runs start from few structures, so more than usual are taken of each.
fn starts(model: &Model, initial: &[Structure], bounds: &Bounds, factor: usize) -> Vec<World> {
    let bounds = Bounds {
        worlds: factor * bounds.worlds,
        decisions: factor * bounds.decisions,
        ..*bounds
    };
    let all = initial.iter().flat_map(|s| worlds(model, s, &bounds));
    all.collect()
}

/// How large a world may become by a step: a loop that creates objects would make them grow
/// visit by visit without end.
pub(crate) fn largest(w: &World, bounds: &Bounds) -> usize {
    (bounds.objects.max(w.n) + 2).min(LARGEST.max(w.n))
}

/// How many times the usual number of worlds a run is worth, with a message in hand.
const EFFORT: usize = 40;

/// A run that gives a message, after an analysis that gave one.
pub fn find_run(
    model: &Model,
    initial: &[Structure],
    fixpoint: &Fixpoint,
    bounds: &Bounds,
    cancel: Option<&AtomicBool>,
) -> Option<Run> {
    let wider = Bounds {
        visits: EFFORT * bounds.visits,
        ..*bounds
    };
    guided(model, initial, fixpoint, bounds, cancel)
        .or_else(|| search_runs(model, initial, fixpoint, false, &wider, cancel).run)
}

/// Follows the actions by which the analysis came to its messages.
pub fn guided(
    model: &Model,
    initial: &[Structure],
    fixpoint: &Fixpoint,
    bounds: &Bounds,
    cancel: Option<&AtomicBool>,
) -> Option<Run> {
    if fixpoint.messages.is_empty() || bounds.visits == 0 {
        return None;
    }
    let starts = starts(model, initial, bounds, 1);
    let way = |cause: &(usize, usize), edge: usize| {
        let before = fixpoint.trace(*cause);
        let edges = before.iter().map(|o| o.edge).chain([edge]);
        edges.collect::<Vec<_>>()
    };
    let all = fixpoint.messages.iter();
    let ways = all.flat_map(|given| given.causes.iter().map(|cause| way(cause, given.edge)));
    // The shortest first: it is the easiest to find and to read.
    let mut ways: Vec<Vec<usize>> = ways.collect();
    ways.sort_by_key(Vec::len);
    ways.iter()
        .take(MOST_WAYS)
        .find_map(|way| follow(model, &starts, way, bounds, cancel))
}

/// A run along the edges that gives a message on the way.
fn follow(
    model: &Model,
    starts: &[World],
    edges: &[usize],
    bounds: &Bounds,
    cancel: Option<&AtomicBool>,
) -> Option<Run> {
    let mut visited: Vec<Visit> = starts.iter().map(|w| (0, w.clone(), None)).collect();
    let mut beam: Vec<usize> = (0..visited.len()).collect();
    for edge in edges {
        if stopped(cancel) {
            return None;
        }
        let e = &model.edges[*edge];
        let mut seen: FxHashSet<World> = FxHashSet::default();
        let mut next = Vec::new();
        for at in beam {
            let w = visited[at].1.clone();
            let steps = step(model, &model.actions[e.action], &w, largest(&w, bounds));
            if let Some((m, bound)) = first_message(&steps) {
                let edge = *edge;
                let from = at;
                return Some(run_to(&visited, Came { from, edge, bound }, m));
            }
            for r in steps.results {
                let new = next.len() < BEAM && r.broken.is_none() && seen.insert(r.world.clone());
                if new {
                    let came = Came {
                        from: at,
                        edge: *edge,
                        bound: r.bound,
                    };
                    visited.push((e.target, r.world, Some(came)));
                    next.push(visited.len() - 1);
                }
            }
        }
        beam = next;
    }
    None
}

/// Follows real runs from the input; what they meet must be covered if the fixed point was reached.
pub fn search(
    model: &Model,
    initial: &[Structure],
    fixpoint: &Fixpoint,
    bounds: &Bounds,
    cancel: Option<&AtomicBool>,
) -> Explored {
    let finished = fixpoint.stop == crate::engine::Stop::Finished;
    search_runs(model, initial, fixpoint, finished, bounds, cancel)
}

/// Follows real runs from the input: breadth first, every other time toward a message. `closed`:
/// the stored structures are all there will be.
fn search_runs(
    model: &Model,
    initial: &[Structure],
    fixpoint: &Fixpoint,
    closed: bool,
    bounds: &Bounds,
    cancel: Option<&AtomicBool>,
) -> Explored {
    let voc = &model.vocabulary;
    let mut out = Explored::default();
    let mut visited: Vec<Visit> = Vec::new();
    let mut seen: FxHashSet<(usize, Structure)> = FxHashSet::default();
    let mut frontier = Frontier::default();
    let distances = Distances::new(fixpoint);
    let hint = |at: usize, w: &World| distances.of(voc, fixpoint, at, w);
    let stored = Stored { model, fixpoint };
    for w in starts(model, initial, bounds, 4) {
        if seen.insert((0, canonical(voc, &w.structure(voc)))) {
            frontier.push(w.n, hint(0, &w));
            visited.push((0, w, None));
        }
    }
    while let Some(at) = frontier.pop() {
        if out.worlds >= bounds.visits || stopped(cancel) {
            out.bounded = true;
            break;
        }
        out.worlds += 1;
        let (location, w, _) = visited[at].clone();
        if closed && !stored.covers(location, &w) {
            // Where the model itself is wrong about a run, that is the reason.
            out.objection
                .get_or_insert(Objection::NotCovered { location, world: w });
            return out;
        }
        for (edge, e) in model.leaving(location) {
            let steps = step(model, &model.actions[e.action], &w, largest(&w, bounds));
            out.steps += steps.results.len();
            if !steps.results.is_empty() {
                out.edges.push(edge);
            }
            out.bounded |= steps.incomplete;
            if let Some((m, bound)) = first_message(&steps) {
                let from = at;
                out.run = Some(run_to(&visited, Came { from, edge, bound }, m));
                return out;
            }
            if let Some(predicate) = steps.mismatch {
                out.objection
                    .get_or_insert(Objection::UpdateWrong { edge, predicate });
            }
            for r in steps.results {
                if let Some(axiom) = r.broken {
                    out.objection
                        .get_or_insert(Objection::AxiomBroken { edge, axiom });
                    continue;
                }
                if seen.insert((e.target, canonical(voc, &r.world.structure(voc)))) {
                    frontier.push(r.world.n, hint(e.target, &r.world));
                    let came = Came {
                        from: at,
                        edge,
                        bound: r.bound,
                    };
                    visited.push((e.target, r.world, Some(came)));
                }
            }
        }
    }
    out
}

/// The first message and what the precondition's variables stand for there.
fn first_message(steps: &Steps) -> Option<(usize, Vec<usize>)> {
    let before = steps.messages.first();
    let before = before.map(|m| (*m, steps.bound.clone()));
    before.or_else(|| {
        let mut results = steps.results.iter();
        results.find_map(|r| Some((*r.post_messages.first()?, r.bound.clone())))
    })
}

/// The run to a visited world and the step from there that gives the message.
fn run_to(visited: &[Visit], last: Came, message: usize) -> Run {
    let mut at = last.from;
    let number = (last.edge, message);
    let mut steps = vec![RunStep {
        edge: last.edge,
        bound: last.bound,
        world: visited[at].1.clone(),
    }];
    while let Some(came) = &visited[at].2 {
        steps.push(RunStep {
            edge: came.edge,
            bound: came.bound.clone(),
            world: visited[at].1.clone(),
        });
        at = came.from;
    }
    steps.reverse();
    Run {
        start: visited[at].1.clone(),
        steps,
        message: number,
    }
}
