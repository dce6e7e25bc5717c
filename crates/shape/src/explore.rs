//! Exploration of small concrete structures: real runs, and confirmation of results.
//!
//! Place: after the fixed point, before the verdict.
//!
//! *Worlds* of an abstract structure: every summary object becomes one or a few objects, every
//! unknown value is decided, rules pruning on the way; what remains is checked by the naive
//! evaluator (definitions, axioms, embedding), so a wrong coerce could only lose worlds.
//!
//! 1. [`search`] follows real runs from the worlds of the input, breadth first, looking for a
//!    message: that run is a violation. Every world it meets must embed in a stored structure.
//! 2. [`confirm`] takes worlds of every stored structure, reachable or not, and applies every
//!    action: the results must embed in a stored structure of the target, and no message may
//!    be given that the analysis did not give.
//!
//! Limits: objects, worlds and steps are bounded; the counts are part of the result.

use crate::coerce::{Dirty, tuple_at};
use crate::concrete::{Steps, define, step};
use crate::engine::Fixpoint;
use crate::isomorphism::canonical;
use crate::kleene::Kleene;
use crate::model::Model;
use crate::naive::World;
use crate::structure::Structure;
use crate::vocabulary::PredId;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Worlds are never larger than this, whatever their structure: the naive evaluator is cubic and
/// worse.
const LARGEST: usize = 12;

/// Bounds of the exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most objects in a world (more only where the structure itself has more).
    pub objects: usize,
    /// Most copies of a summary object.
    pub copies: usize,
    /// Most worlds taken of one structure.
    pub worlds: usize,
    /// Most worlds visited in all.
    pub visits: usize,
    /// Most decisions while taking worlds of one structure.
    pub decisions: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            objects: 6,
            copies: 3,
            worlds: 16,
            visits: 500,
            decisions: 3000,
        }
    }
}

/// A step of a run: the edge taken and the world after it.
#[derive(Clone, Debug)]
pub struct RunStep {
    /// The edge.
    pub edge: usize,
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
    /// Whether a bound was met.
    pub bounded: bool,
}

/// Small concrete worlds that embed in a structure.
pub fn worlds(model: &Model, s: &Structure, bounds: &Bounds) -> Vec<World> {
    let voc = &model.vocabulary;
    let abstracted = World::of(voc, s);
    let mut out: Vec<World> = Vec::new();
    let mut seen: FxHashSet<Structure> = FxHashSet::default();
    let mut decisions = 0;
    for objects in copies(model, s, bounds) {
        let mut concrete = s.select(voc, &objects);
        for u in 0..concrete.len() {
            concrete.set(voc, PredId::SM, &[u], Kleene::False);
            concrete.set(voc, PredId::AC, &[u], Kleene::True);
        }
        let mut stack = vec![(concrete, Dirty::all(voc))];
        while let Some((mut c, dirty)) = stack.pop() {
            decisions += 1;
            if decisions > bounds.decisions || out.len() >= bounds.worlds {
                return out;
            }
            if model.rules.coerce(voc, &mut c, dirty).is_err() {
                continue;
            }
            let Some((p, tuple)) = undecided(model, &c) else {
                let w = World::of(voc, &c);
                if genuine(model, &w, &abstracted) && seen.insert(canonical(voc, &c)) {
                    out.push(w);
                }
                continue;
            };
            for value in [Kleene::True, Kleene::False] {
                let mut next = c.clone();
                next.set(voc, p, &tuple, value);
                let mut dirty = Dirty::none(voc);
                dirty.mark(p);
                stack.push((next, dirty));
            }
        }
    }
    out
}

/// The ways to choose how many objects each summary object stands for, small ones first.
fn copies(model: &Model, s: &Structure, bounds: &Bounds) -> Vec<Vec<usize>> {
    let voc = &model.vocabulary;
    let mut out: Vec<Vec<usize>> = vec![vec![]];
    // A structure with many objects still has worlds, if not small ones.
    let room = bounds.objects.max(s.len() + 1).min(LARGEST);
    for u in 0..s.len() {
        let least = usize::from(s.get(voc, PredId::AC, &[u]) == Kleene::True);
        let most = if s.is_summary(voc, u) {
            bounds.copies
        } else {
            1
        };
        out = out
            .iter()
            .flat_map(|list| (least..=most).map(move |k| [list.clone(), vec![u; k]].concat()))
            .filter(|list| list.len() <= room)
            .collect();
        if out.len() > 200 {
            out.truncate(200);
        }
    }
    out.sort_by_key(Vec::len);
    out
}

/// A value that is unknown, core predicates first.
fn undecided(model: &Model, s: &Structure) -> Option<(PredId, Vec<usize>)> {
    let voc = &model.vocabulary;
    let find = |defined: bool| {
        voc.ids()
            .filter(|p| voc.get(*p).definition.is_some() == defined)
            .find_map(|p| {
                let (may, must) = s.planes(voc, p);
                let row = (0..may.len()).find(|r| may[*r] & !must[*r] != 0)?;
                let bit = (may[row] & !must[row]).trailing_zeros() as usize;
                Some((p, tuple_at(row, bit, voc.get(p).arity, s.len())))
            })
    };
    find(false).or_else(|| find(true))
}

/// Whether a world is what its definitions say, satisfies the axioms, and embeds.
fn genuine(model: &Model, w: &World, abstracted: &World) -> bool {
    let voc = &model.vocabulary;
    let mut defined = w.clone();
    define(voc, &mut defined);
    defined == *w
        && model.axioms.iter().all(|a| w.satisfies(&a.formula))
        && w.embeds_in(voc, abstracted)
}

/// The stored structures of every location, as worlds.
struct Stored<'a> {
    model: &'a Model,
    at: Vec<Vec<World>>,
}

impl<'a> Stored<'a> {
    fn new(model: &'a Model, fixpoint: &Fixpoint) -> Self {
        let worlds = |list: &[Structure]| {
            list.iter()
                .map(|s| World::of(&model.vocabulary, s))
                .collect()
        };
        Self {
            model,
            at: fixpoint
                .locations
                .iter()
                .map(|l| worlds(l.set.structures()))
                .collect(),
        }
    }

    fn covers(&self, location: usize, w: &World) -> bool {
        self.at[location]
            .iter()
            .any(|s| w.embeds_in(&self.model.vocabulary, s))
    }
}

/// A visited world: location, world, and the visit and edge it came by.
type Visit = (usize, World, Option<(usize, usize)>);

/// Follows real runs from the input, breadth first.
pub fn search(
    model: &Model,
    initial: &[Structure],
    fixpoint: &Fixpoint,
    bounds: &Bounds,
) -> Explored {
    let voc = &model.vocabulary;
    let mut out = Explored::default();
    let mut visited: Vec<Visit> = Vec::new();
    let mut seen: FxHashSet<(usize, Structure)> = FxHashSet::default();
    let mut queue = VecDeque::new();
    let finished = fixpoint.stop == crate::engine::Stop::Finished;
    let stored = Stored::new(model, fixpoint);
    // Runs start from few structures: take more worlds of each.
    let start = Bounds {
        worlds: 4 * bounds.worlds,
        decisions: 4 * bounds.decisions,
        ..*bounds
    };
    for s in initial {
        for w in worlds(model, s, &start) {
            if seen.insert((0, canonical(voc, &w.structure(voc)))) {
                visited.push((0, w, None));
                queue.push_back(visited.len() - 1);
            }
        }
    }
    while let Some(at) = queue.pop_front() {
        if out.worlds >= bounds.visits {
            out.bounded = true;
            break;
        }
        out.worlds += 1;
        let (location, w, _) = visited[at].clone();
        if finished && !stored.covers(location, &w) {
            out.objection = Some(Objection::NotCovered { location, world: w });
            return out;
        }
        for (edge, e) in model.leaving(location) {
            // A loop that creates objects would grow worlds visit by visit without end.
            let most = (bounds.objects.max(w.n) + 2).min(LARGEST.max(w.n));
            let steps = step(model, &model.actions[e.action], &w, most);
            out.steps += steps.results.len();
            out.bounded |= steps.incomplete;
            if let Some(m) = first_message(&steps) {
                out.run = Some(run_to(&visited, at, edge, m));
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
                    visited.push((e.target, r.world, Some((at, edge))));
                    queue.push_back(visited.len() - 1);
                }
            }
        }
    }
    out
}

fn first_message(steps: &Steps) -> Option<usize> {
    steps.messages.first().copied().or_else(|| {
        steps
            .results
            .iter()
            .find_map(|r| r.post_messages.first().copied())
    })
}

fn run_to(visited: &[Visit], at: usize, edge: usize, message: usize) -> Run {
    let mut steps = vec![RunStep {
        edge,
        world: visited[at].1.clone(),
    }];
    let mut at = at;
    while let Some((parent, edge)) = visited[at].2 {
        steps.push(RunStep {
            edge,
            world: visited[at].1.clone(),
        });
        at = parent;
    }
    steps.reverse();
    Run {
        start: visited[at].1.clone(),
        steps,
        message: (edge, message),
    }
}

/// Checks that the stored structures are closed under every action on small worlds.
pub fn confirm(model: &Model, fixpoint: &Fixpoint, bounds: &Bounds) -> Explored {
    let mut out = Explored::default();
    let stored = Stored::new(model, fixpoint);
    // An even share for every structure, so that late locations are looked at as well.
    let share = bounds.visits / fixpoint.kept().max(1) + 1;
    let bounds = &Bounds {
        worlds: bounds.worlds.min(share),
        decisions: bounds.decisions.min(40 * share),
        ..*bounds
    };
    for (location, at) in fixpoint.locations.iter().enumerate() {
        for s in at.set.structures() {
            for w in worlds(model, s, bounds) {
                if out.worlds >= bounds.visits {
                    out.bounded = true;
                    return out;
                }
                out.worlds += 1;
                if let Some(objection) = closed(&stored, fixpoint, location, &w, bounds, &mut out) {
                    out.objection = Some(objection);
                    return out;
                }
            }
        }
    }
    out
}

fn closed(
    stored: &Stored<'_>,
    fixpoint: &Fixpoint,
    location: usize,
    w: &World,
    bounds: &Bounds,
    out: &mut Explored,
) -> Option<Objection> {
    let model = stored.model;
    for (edge, e) in model.leaving(location) {
        let steps = step(
            model,
            &model.actions[e.action],
            w,
            bounds.objects.max(w.n) + 2,
        );
        out.bounded |= steps.incomplete;
        let known = |m: usize| {
            fixpoint
                .messages
                .iter()
                .any(|g| g.edge == edge && g.message == m)
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
        }
    }
    None
}
