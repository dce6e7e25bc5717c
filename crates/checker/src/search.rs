//! *3-valued explicit search*. An abstract state is a control (program counters
//! and explicit variables) with a valuation of the predicates. States are
//! visited breadth first, so that counterexamples are shortest; a state that
//! another one at the same control covers is dropped, and so is one that differs from it
//! in fewer flags of `Space::monotone`.
//!
//! The transformer over-approximates every step (its soundness condition stands
//! on [`Transformer`]), and covering only drops states whose concrete states are
//! kept, so when the search ends without an error the states it kept are an
//! inductive invariant: they contain the initial states and are closed under
//! every step.
//!
//! With [`Options::cover_by_several`] a state is also dropped if several cover it together
//! ([Abdulla et al., SAS 2012, Algorithm 1]; `cover.rs`): fewer states, the same precision, more
//! work for each.
//!
//! With [`Options::merge`], states at one control are joined instead ([Dan et al., SAS 2013],
//! section 6.1): fewer states, less precision.

use std::collections::VecDeque;
use std::time::Instant;

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::{BranchId, Commands, End, Unsupported};
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Control;
pub use palisade_abstraction::space::initial_data;
use palisade_abstraction::transformer::Transformer;
use palisade_abstraction::valuation::Valuation;
use palisade_logic::{Formula, Limits, Reason, Var};
use palisade_program::Span;
use rustc_hash::FxHashMap;

use crate::cover::by_disjunction;

/// How to search.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Join states at one control.
    pub merge: bool,
    /// Drop states that several others cover together.
    pub cover_by_several: bool,
    /// Most states to keep.
    pub max_states: Option<usize>,
    /// Time and cancellation.
    pub limits: Limits,
}

/// An abstract state that was reached.
#[derive(Clone, Debug)]
pub struct Node {
    /// The finite part.
    pub control: Control,
    /// What is known of the data.
    pub valuation: Valuation,
    /// Where it came from.
    pub parent: Option<(usize, BranchId)>,
    /// Steps from an initial state.
    pub depth: usize,
}

/// What an abstract counterexample violates.
#[derive(Clone, Debug)]
pub enum Target {
    /// The last branch fails the assertion with this span.
    Assert(Span),
    /// The last state satisfies this formula, which violates the property.
    Property(usize, Formula),
}

/// An abstract counterexample.
#[derive(Clone, Debug)]
pub struct Path {
    /// The initial control.
    pub start: Control,
    /// The branches taken.
    pub branches: Vec<BranchId>,
    /// The abstract states before each branch, and the last one (unless an
    /// assertion failed).
    pub states: Vec<(Control, Valuation)>,
    /// What is violated at the end.
    pub target: Target,
}

/// Why a search ended early.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Time or cancellation.
    Limit(Reason),
    /// More states than allowed.
    States(usize),
    /// More views of a few threads than allowed.
    Views,
    /// Something that cannot be executed symbolically.
    Unsupported(Unsupported),
    /// The spaces of a search over views do not fit together, for this reason.
    Mismatch(&'static str),
}

impl From<Reason> for Stop {
    fn from(reason: Reason) -> Self {
        Self::Limit(reason)
    }
}

impl From<Unsupported> for Stop {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

/// How a search ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// No error: the states that were kept.
    Safe(Vec<Node>),
    /// An abstract counterexample.
    Error(Box<Path>),
}

/// Counters of one search.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchStats {
    /// States kept.
    pub states: usize,
    /// Abstract steps computed.
    pub steps: usize,
    /// Steps to states that were covered.
    pub covered: usize,
}

/// The search.
pub struct Search<'a, 's> {
    commands: &'a mut Commands<'s>,
    bad: &'a BadStates<'s>,
    predicates: &'a Predicates,
    transformer: &'a mut dyn Transformer,
    options: &'a Options,
    nodes: Vec<Node>,
    /// Covered by a later state: not part of the invariant.
    dropped: Vec<bool>,
    /// Covered by a later state of the same depth: need not be expanded, no
    /// counterexample gets longer.
    skipped: Vec<bool>,
    by_control: FxHashMap<Control, Vec<usize>>,
    queue: VecDeque<usize>,
    /// Counters.
    pub stats: SearchStats,
}

impl<'a, 's> Search<'a, 's> {
    /// A search that has not begun.
    pub fn new(
        commands: &'a mut Commands<'s>,
        bad: &'a BadStates<'s>,
        predicates: &'a Predicates,
        transformer: &'a mut dyn Transformer,
        options: &'a Options,
    ) -> Self {
        Self {
            commands,
            bad,
            predicates,
            transformer,
            options,
            nodes: Vec::new(),
            dropped: Vec::new(),
            skipped: Vec::new(),
            by_control: FxHashMap::default(),
            queue: VecDeque::new(),
            stats: SearchStats::default(),
        }
    }

    /// Runs it to the end.
    pub fn run(&mut self) -> Result<Outcome, Stop> {
        let space = self.commands.space();
        let started = Instant::now();
        let initial = self
            .transformer
            .initial(self.predicates, &initial_data(space))?;
        for control in space.initial_controls() {
            for valuation in initial.iter() {
                let valuation = self.forget_dead(&control, valuation.clone());
                if let Some(path) = self.reach(control.clone(), valuation, None)? {
                    return Ok(Outcome::Error(Box::new(path)));
                }
            }
        }
        while let Some(id) = self.queue.pop_front() {
            if self.stats.steps.is_multiple_of(64)
                && let Some(reason) = self.options.limits.exceeded(started)
                && reason != Reason::QueryTime
            {
                return Err(Stop::Limit(reason));
            }
            if self
                .options
                .max_states
                .is_some_and(|max| self.nodes.len() > max)
            {
                return Err(Stop::States(self.nodes.len()));
            }
            if !self.skipped[id]
                && let Some(path) = self.expand(id)?
            {
                return Ok(Outcome::Error(Box::new(path)));
            }
        }
        let kept = self
            .nodes
            .iter()
            .zip(&self.dropped)
            .filter(|(_, dropped)| !**dropped);
        Ok(Outcome::Safe(kept.map(|(node, _)| node.clone()).collect()))
    }

    /// Predicates over locals that are dead from the start are unknown.
    fn forget_dead(&self, control: &Control, mut valuation: Valuation) -> Valuation {
        let space = self.commands.space();
        for p in 0..self.predicates.len() {
            let dead = |v: &Var| !space.is_live_at(v.0 as usize, &control.pcs);
            if self.predicates.vars(p).iter().any(dead) {
                valuation.set(p, None);
            }
        }
        valuation
    }

    fn expand(&mut self, id: usize) -> Result<Option<Path>, Stop> {
        let Node {
            control, valuation, ..
        } = self.nodes[id].clone();
        let space = self.commands.space();
        for thread in 0..control.pcs.len() {
            let cfg = &space.program.template(space.threads[thread].template).cfg;
            for (edge, _) in cfg.outgoing(control.pcs[thread]) {
                for &branch_id in self.commands.execute(&control, thread, edge)?.iter() {
                    let branch = self.commands.branch(branch_id).clone();
                    self.stats.steps += 1;
                    let posts =
                        self.transformer
                            .post(self.predicates, branch_id, &branch, &valuation)?;
                    let to = match branch.end {
                        End::Failed(span) if !posts.is_empty() => {
                            return Ok(Some(self.path(id, Some(branch_id), Target::Assert(span))));
                        }
                        End::Failed(_) => continue,
                        End::At(to) => to,
                    };
                    let mut next = control.clone();
                    next.pcs[thread] = to;
                    for &(position, value) in &branch.explicit {
                        next.values[position] = value;
                    }
                    for post in posts.iter() {
                        let from = Some((id, branch_id));
                        if let Some(path) = self.reach(next.clone(), post.clone(), from)? {
                            return Ok(Some(path));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Adds a state unless it is covered; tells if it is bad.
    fn reach(
        &mut self,
        control: Control,
        mut valuation: Valuation,
        parent: Option<(usize, BranchId)>,
    ) -> Result<Option<Path>, Stop> {
        let flags = &self.commands.space().monotone;
        let has_flags =
            |a: &Control, b: &Control| flags.iter().all(|&p| a.values[p] >= b.values[p]);
        let mut key = control.clone();
        for &position in flags {
            key.values[position] = 0;
        }
        let here = self.by_control.entry(key).or_default();
        let covers =
            |node: &Node| node.valuation.covers(&valuation) && has_flags(&node.control, &control);
        if here.iter().any(|&n| covers(&self.nodes[n])) {
            self.stats.covered += 1;
            return Ok(None);
        }
        if self.options.cover_by_several {
            let at = here.iter().map(|&n| &self.nodes[n]);
            let at = at.filter(|node| has_flags(&node.control, &control));
            let states: Vec<&Valuation> = at.map(|node| &node.valuation).collect();
            if by_disjunction(&states, &valuation, self.predicates) {
                self.stats.covered += 1;
                return Ok(None);
            }
        }
        if self.options.merge {
            for node in here.iter().map(|&n| &self.nodes[n]) {
                if node.control == control {
                    valuation = valuation.join(&node.valuation);
                }
            }
        }
        let depth = parent.map_or(0, |(from, _)| self.nodes[from].depth + 1);
        here.retain(|&n| {
            let covered = valuation.covers(&self.nodes[n].valuation)
                && has_flags(&control, &self.nodes[n].control);
            self.dropped[n] |= covered;
            self.skipped[n] |= covered && (self.nodes[n].depth == depth || self.options.merge);
            !covered
        });
        let id = self.nodes.len();
        here.push(id);
        for (property, formula) in self.bad.at(&control)? {
            if self
                .transformer
                .may(self.predicates, &formula, &valuation)?
            {
                self.nodes.push(Node {
                    control,
                    valuation,
                    parent,
                    depth,
                });
                return Ok(Some(self.path(
                    id,
                    None,
                    Target::Property(property, formula),
                )));
            }
        }
        self.nodes.push(Node {
            control,
            valuation,
            parent,
            depth,
        });
        self.dropped.push(false);
        self.skipped.push(false);
        self.queue.push_back(id);
        self.stats.states += 1;
        Ok(None)
    }

    fn path(&self, last: usize, branch: Option<BranchId>, target: Target) -> Path {
        let mut branches: Vec<BranchId> = branch.into_iter().collect();
        let mut states = Vec::new();
        let mut at = last;
        loop {
            let node = &self.nodes[at];
            states.push((node.control.clone(), node.valuation.clone()));
            match node.parent {
                Some((parent, branch)) => {
                    branches.push(branch);
                    at = parent;
                }
                None => break,
            }
        }
        branches.reverse();
        states.reverse();
        Path {
            start: self.nodes[at].control.clone(),
            branches,
            states,
            target,
        }
    }
}
