//! Engine: the least set of structures per location that is closed under all actions.
//!
//! Place: between the model and the verdict. Paper: [Friggens and Groves, arXiv 2015, section 2] (TVLA's
//! chaotic iteration); for concurrent models it is state-space exploration over one location.
//!
//! Locations are taken in reverse post-order; of one location a batch of pending structures is
//! taken at a time, its actions are applied in parallel, and the results are joined in a fixed
//! order: the outcome does not depend on the number of threads.

use crate::join::{Inserted, Join, StructureSet};
use crate::kleene::Kleene;
use crate::model::Model;
use crate::structure::Structure;
use crate::transfer::{Context, Post, apply};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Structures taken per batch at most; fixed, so that results are the same on any machine.
const BATCH: usize = 32;

/// Structures times edges per batch: enough to keep the cores busy. Fewer structures at a time are
/// better where there are many edges, because what one of them adds to another is seen sooner.
const JOBS: usize = 64;

/// Limits and choices of a run.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The join.
    pub join: Join,
    /// Most structures ever added.
    pub structures: Option<usize>,
    /// Most messages.
    pub messages: Option<usize>,
    /// Most time.
    pub time: Option<Duration>,
    /// Most bytes of stored structures.
    pub memory: Option<usize>,
    /// Worker threads; 0 means as many as the machine has. Here only 1 matters, which means no
    /// others; [`crate::analysis`] makes the pool.
    pub workers: usize,
}

/// What is asked of the structures found so far once there are many of them and a message: whether
/// the question is decided, so that going on is of no use.
pub type Probe<'a> = dyn Fn(&Fixpoint) -> bool + 'a;

/// Structures built before the probe is asked for the first time; then at every doubling.
const FIRST_PROBE: usize = 50_000;

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The fixed point was reached.
    Finished,
    /// The limit on structures.
    Structures,
    /// The limit on messages.
    Messages,
    /// The limit on time.
    Time,
    /// The limit on memory.
    Memory,
    /// A structure would have had more than 64 objects.
    TooLarge,
    /// A `%halt` condition held.
    Halted,
    /// A real run with a message was found before the fixed point.
    Decided,
    /// The caller asked.
    Cancelled,
}

/// Where a structure came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Location and index of the structure before the action.
    pub from: (usize, usize),
    /// The edge.
    pub edge: usize,
}

/// What was found at a location.
#[derive(Clone, Debug)]
pub struct AtLocation {
    /// The structures.
    pub set: StructureSet,
    /// For each its first origin; `None` for initial structures.
    pub origins: Vec<Option<Origin>>,
}

/// A message with its cause.
#[derive(Clone, Debug)]
pub struct Given {
    /// The edge whose action gave it.
    pub edge: usize,
    /// Index among the action's messages.
    pub message: usize,
    /// The text.
    pub text: String,
    /// The first value.
    pub value: Kleene,
    /// The first structure that caused it.
    pub structure: Structure,
    /// Location and index of the structure before the action.
    pub from: (usize, usize),
    /// The same of the first [`MOST_CAUSES`] structures that caused it.
    pub causes: Vec<(usize, usize)>,
    /// How often it was given.
    pub count: usize,
}

/// Causes kept of one message: some may exist in the abstraction alone.
pub const MOST_CAUSES: usize = 64;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Fixpoint {
    /// Per location.
    pub locations: Vec<AtLocation>,
    /// The messages, in order of discovery.
    pub messages: Vec<Given>,
    /// Structures ever added or grown.
    pub total: usize,
    /// Structures built on the way.
    pub intermediate: usize,
    /// Why it ended.
    pub stop: Stop,
    /// Rules that discarded structures after an update, with how often.
    pub discarded: Vec<(usize, usize)>,
    /// Focus left an atom unknown somewhere.
    pub focus_gave_up: bool,
    /// A message for definite values only was unknown somewhere.
    pub doubtful: Option<String>,
    /// Input structures that broke a rule: index and rule.
    pub inconsistent: Vec<(usize, usize)>,
    /// For each edge the first structure (location and index) that it took to another.
    pub taken: Vec<Option<(usize, usize)>>,
}

impl Fixpoint {
    /// Structures kept at the end, over all locations.
    pub fn kept(&self) -> usize {
        self.locations
            .iter()
            .map(|l| l.set.structures().len())
            .sum()
    }

    /// The actions from an initial structure to the one given, as (location, index, edge).
    pub fn trace(&self, to: (usize, usize)) -> Vec<Origin> {
        let mut out = Vec::new();
        let mut at = to;
        let mut seen = BTreeSet::new();
        while let Some(o) = self.locations[at.0].origins[at.1] {
            if !seen.insert(at) {
                break;
            }
            out.push(o);
            at = o.from;
        }
        out.reverse();
        out
    }
}

/// Runs the analysis from the given structures at the entry.
pub fn run(
    model: &Model,
    initial: &[Structure],
    limits: &Limits,
    cancel: Option<&AtomicBool>,
    probe: Option<&Probe<'_>>,
) -> Fixpoint {
    let mut e = Engine {
        cx: Context {
            vocabulary: &model.vocabulary,
            rules: &model.rules,
            instrumentation: &model.instrumentation,
            join: limits.join,
        },
        model,
        limits,
        cancel,
        next_probe: FIRST_PROBE,
        pending: vec![BTreeSet::new(); model.locations.len()],
        bytes: 0,
        out: Fixpoint {
            locations: (0..model.locations.len())
                .map(|_| AtLocation {
                    set: StructureSet::new(limits.join),
                    origins: Vec::new(),
                })
                .collect(),
            messages: Vec::new(),
            total: 0,
            intermediate: 0,
            stop: Stop::Finished,
            discarded: Vec::new(),
            focus_gave_up: false,
            doubtful: None,
            inconsistent: Vec::new(),
            taken: vec![None; model.edges.len()],
        },
        deadline: limits.time.map(|t| Instant::now() + t),
    };
    e.start(initial);
    e.iterate(limits.workers != 1, probe);
    e.out
}

struct Engine<'a> {
    cx: Context<'a>,
    model: &'a Model,
    limits: &'a Limits,
    cancel: Option<&'a AtomicBool>,
    next_probe: usize,
    pending: Vec<BTreeSet<usize>>,
    bytes: usize,
    out: Fixpoint,
    deadline: Option<Instant>,
}

impl Engine<'_> {
    fn start(&mut self, initial: &[Structure]) {
        let voc = self.cx.vocabulary;
        for (i, s) in initial.iter().enumerate() {
            let mut s = s.clone();
            let all = crate::coerce::Dirty::all(voc);
            if let Err(breach) = self.cx.rules.coerce(voc, &mut s, all) {
                self.out.inconsistent.push((i, breach.0));
                continue;
            }
            let s = if self.limits.join == Join::Conc {
                s
            } else {
                crate::blur::blur(voc, &s)
            };
            self.insert(0, s, None);
        }
    }

    fn insert(&mut self, location: usize, s: Structure, origin: Option<Origin>) {
        let bytes = s.bytes();
        let at = &mut self.out.locations[location];
        match at.set.insert(self.cx.vocabulary, s) {
            Inserted::Old => {}
            Inserted::New(i) => {
                at.origins.push(origin);
                self.out.total += 1;
                self.bytes += bytes;
                self.pending[location].insert(i);
            }
            Inserted::Grown(i) => {
                self.out.total += 1;
                self.pending[location].insert(i);
            }
            Inserted::TooLarge => self.out.stop = Stop::TooLarge,
        }
    }

    fn iterate(&mut self, parallel: bool, probe: Option<&Probe<'_>>) {
        let order = self.model.reverse_post_order();
        while self.out.stop == Stop::Finished {
            let Some(location) = order.iter().find(|l| !self.pending[**l].is_empty()) else {
                return;
            };
            if let Some(stop) = self.exhausted() {
                self.out.stop = stop;
                return;
            }
            self.step(*location, parallel);
            if self.out.intermediate >= self.next_probe && !self.out.messages.is_empty() {
                self.next_probe = 2 * self.out.intermediate;
                if probe.is_some_and(|decided| decided(&self.out)) {
                    self.out.stop = Stop::Decided;
                }
            }
        }
    }

    fn exhausted(&self) -> Option<Stop> {
        if self.cancel.is_some_and(|c| c.load(Ordering::Relaxed)) {
            return Some(Stop::Cancelled);
        }
        if self.deadline.is_some_and(|d| Instant::now() >= d) {
            return Some(Stop::Time);
        }
        if self.limits.structures.is_some_and(|m| self.out.total >= m) {
            return Some(Stop::Structures);
        }
        let given: usize = self.out.messages.iter().map(|m| m.count).sum();
        if self.limits.messages.is_some_and(|m| given >= m) {
            return Some(Stop::Messages);
        }
        self.limits
            .memory
            .is_some_and(|m| self.bytes >= m)
            .then_some(Stop::Memory)
    }

    /// The next structures of a location: the oldest, which keeps traces short and joins few.
    /// (The newest first would find a first message sooner, but seldom one with a short run.)
    fn batch(&mut self, location: usize, edges: usize) -> Vec<usize> {
        let size = (JOBS / edges.max(1)).clamp(1, BATCH);
        let pending = &mut self.pending[location];
        let batch: Vec<usize> = pending.iter().copied().take(size).collect();
        for i in &batch {
            pending.remove(i);
        }
        batch
    }

    fn step(&mut self, location: usize, parallel: bool) {
        let edges: Vec<usize> = self.model.leaving(location).map(|(i, _)| i).collect();
        let batch = self.batch(location, edges.len());
        let jobs: Vec<(usize, usize)> = batch
            .iter()
            .flat_map(|s| edges.iter().map(move |e| (*s, *e)))
            .collect();
        let structures = self.out.locations[location].set.structures();
        let work = |(s, e): &(usize, usize)| {
            let edge = &self.model.edges[*e];
            let mut post = apply(&self.cx, &self.model.actions[edge.action], &structures[*s]);
            // Most results are known already: they need not be kept until the batch is joined.
            let known = &self.out.locations[edge.target].set;
            let all = post.structures.len();
            post.structures
                .retain(|s| !known.covers(self.cx.vocabulary, s));
            post.known = all - post.structures.len();
            post
        };
        let posts: Vec<Post> = if parallel {
            jobs.par_iter().map(work).collect()
        } else {
            jobs.iter().map(work).collect()
        };
        for ((s, e), post) in jobs.iter().zip(posts) {
            self.take(location, *s, *e, post);
        }
    }

    fn take(&mut self, location: usize, index: usize, edge: usize, post: Post) {
        let origin = Origin {
            from: (location, index),
            edge,
        };
        self.out.intermediate += post.intermediate;
        self.out.focus_gave_up |= post.focus_gave_up;
        for b in post.discarded {
            match self.out.discarded.iter_mut().find(|(r, _)| *r == b.0) {
                Some((_, n)) => *n += 1,
                None => self.out.discarded.push((b.0, 1)),
            }
        }
        for r in post.reports {
            self.report(origin, r);
        }
        if let Some(text) = post.doubtful {
            self.out.doubtful.get_or_insert(text);
        }
        let target = self.model.edges[edge].target;
        if !post.structures.is_empty() || post.known > 0 {
            self.out.taken[edge].get_or_insert(origin.from);
        }
        for s in post.structures {
            self.insert(target, s, Some(origin));
        }
        if post.too_large {
            self.out.stop = Stop::TooLarge;
        } else if post.halted {
            self.out.stop = Stop::Halted;
        }
    }

    fn report(&mut self, origin: Origin, r: crate::transfer::Report) {
        let action = &self.model.actions[self.model.edges[origin.edge].action];
        let text = action
            .messages
            .iter()
            .chain(&action.post_messages)
            .nth(r.message)
            .map(|m| m.text.clone())
            .unwrap_or_default();
        let same = |g: &&mut Given| g.edge == origin.edge && g.message == r.message;
        if let Some(g) = self.out.messages.iter_mut().find(same) {
            g.count += 1;
            if g.causes.len() < MOST_CAUSES && !g.causes.contains(&origin.from) {
                g.causes.push(origin.from);
            }
            return;
        }
        self.out.messages.push(Given {
            edge: origin.edge,
            message: r.message,
            text,
            value: r.value,
            structure: r.structure,
            from: origin.from,
            causes: vec![origin.from],
            count: 1,
        });
    }
}
