//! Boolean broadcast programs with *any number of threads*: backward coverability
//! ([Donaldson et al., CAV 2011] checks numbers of threads up to a bound only; the method is that of
//! well-structured transition systems, Abdulla et al. and Esparza, Finkel, Mayr on
//! broadcast protocols).
//!
//! A configuration is a *global* part (the shared variables and the threads that run a
//! fixed number of times) and a multiset of the parts of the others. `c <= d` if they
//! have the same global part and every part occurs in `d` at least as often as in `c`.
//! This order has no infinite antichain (Dickson's lemma), so an upward closed set has
//! finitely many minimal elements, its *basis*.
//!
//! **Steps are monotone.** Let `c` step to `c'` by a thread in part `p`, and `c <= d`.
//! In `d` a thread in `p` can do the same step: what it needs and what it does to the
//! shared variables, to itself and to each passive thread depends on the shared part,
//! on `p`, and on that passive thread alone (appendix A: eval(phi, i, j, sigma)). Each
//! further thread of `d` becomes one of its own outcomes, of which there is at least
//! one: an expression always has a value, and `constrain` speaks of the active thread
//! and the shared variables only. So `d` steps to some `d' >= c'`. No statement asks
//! that no thread, or all threads, be somewhere. Therefore the predecessors of an
//! upward closed set are upward closed, and adding the bases of predecessors to the
//! basis of the violations ends (no infinite growing sequence of upward closed sets).
//!
//! **A violation is upward closed.** A failing assertion needs the global part and one
//! thread; a `never` speaks of the shared variables and of threads that run once.
//!
//! **First forward, then backward.** The pairs of a global part and a part that occur
//! together in some run are over-approximated first: a step joins any two parts that
//! occur with the same global part. If no violation occurs among them, none is
//! reachable. Otherwise they bound what the backward search looks at: all steps of real
//! runs are among those found, so nothing is lost, and since each is a step of the
//! program, a basis element below a first configuration is a real violation.
//!
//! **A given number of threads** is the same with a limit: no step backward makes a bag
//! smaller (each of its threads comes from one), so an element with more than `n` threads of
//! a kind is below no first configuration of `n`, and neither is what comes before it. By
//! monotonicity an element with at most `n` is, if it is below a first configuration at all:
//! further threads need not act. So the search decides `n` threads exactly, and what it costs
//! depends on the threads that a violation needs, not on `n`.
//!
//! A `holds` without a limit is for every number of threads. A violation comes with a number of threads
//! and a run of them, found by [`crate::counted`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use crate::ast::Copies;
use crate::resolve::Resolved;
use rustc_hash::FxHashMap;

use crate::check::{Options, Stop};
use crate::counted::{Checker, Effect, Machine, Outcome, Part, Run, State};

/// How a search ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Any {
    /// No property can be violated, whatever the number of threads.
    Safe,
    /// With this many threads one can: the smallest number.
    Violated(u32, Box<Run>),
}

/// What a search looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// Global parts.
    pub globals: usize,
    /// Pairs of a global part and a part.
    pub pairs: usize,
    /// Elements of the basis in the end.
    pub basis: usize,
}

/// Checks a program for every number of threads of its `[*]` kinds, or for at most `limit` of
/// each.
pub fn check(
    program: &Resolved,
    options: &Options,
    limit: Option<u32>,
) -> (Result<Any, Stop>, Effort) {
    let mut search = Search::new(program, options, limit);
    let found = search.run();
    let effort = search.effort();
    let Some(needed) = (match found {
        Ok(needed) => needed,
        Err(stop) => return (Err(stop), effort),
    }) else {
        return (Ok(Any::Safe), effort);
    };
    (smallest(program, options, needed), effort)
}

/// The run with the smallest number of threads; `needed` of them suffice.
fn smallest(program: &Resolved, options: &Options, needed: u32) -> Result<Any, Stop> {
    for threads in 1..=needed.max(1) {
        let options = Options {
            threads,
            ..options.clone()
        };
        if let Outcome::Violated(run) = Checker::new(program, &options).run()? {
            return Ok(Any::Violated(threads, run));
        }
    }
    unreachable!("a first configuration with {needed} threads covers a violation")
}

/// Parts by number.
type PartId = usize;
/// Global parts by number.
type GlobalId = usize;
/// A sorted multiset of parts.
type Bag = Vec<PartId>;

/// A step: which thread acts, and what becomes of the global part and of it.
struct Transition {
    from: GlobalId,
    to: GlobalId,
    /// The acting thread before and after, if it is one of any number.
    moved: Option<(PartId, PartId)>,
    /// Which of the steps in `Search::effects` it belongs to.
    effect: usize,
}

struct Search<'p> {
    machine: Machine<'p>,
    options: &'p Options,
    /// Most threads of each kind.
    limit: Option<u32>,
    started: Instant,
    globals: Vec<State>,
    global_ids: FxHashMap<State, GlobalId>,
    parts: Vec<Part>,
    part_ids: FxHashMap<Part, PartId>,
    /// The parts that occur with each global part.
    with: Vec<Vec<PartId>>,
    pairs: BTreeSet<(GlobalId, PartId)>,
    work: VecDeque<Work>,
    /// The acting part and its step.
    effects: Vec<(Part, Effect)>,
    transitions: Vec<Transition>,
    from: Vec<Vec<usize>>,
    to: Vec<Vec<usize>>,
    /// What passive threads become, by effect, global part before and part.
    outcomes: FxHashMap<(usize, GlobalId, PartId), Vec<PartId>>,
    bad: BTreeSet<(GlobalId, Bag)>,
    first: BTreeSet<GlobalId>,
    basis: Vec<Vec<Bag>>,
}

enum Work {
    Global(GlobalId),
    Pair(GlobalId, PartId),
}

impl<'p> Search<'p> {
    fn new(program: &'p Resolved, options: &'p Options, limit: Option<u32>) -> Self {
        Self {
            machine: Machine::new(program),
            options,
            limit,
            started: Instant::now(),
            globals: Vec::new(),
            global_ids: FxHashMap::default(),
            parts: Vec::new(),
            part_ids: FxHashMap::default(),
            with: Vec::new(),
            pairs: BTreeSet::new(),
            work: VecDeque::new(),
            effects: Vec::new(),
            transitions: Vec::new(),
            from: Vec::new(),
            to: Vec::new(),
            outcomes: FxHashMap::default(),
            bad: BTreeSet::new(),
            first: BTreeSet::new(),
            basis: Vec::new(),
        }
    }

    fn effort(&self) -> Effort {
        Effort {
            globals: self.globals.len(),
            pairs: self.pairs.len(),
            basis: self.basis.iter().map(Vec::len).sum(),
        }
    }

    fn check_limits(&self) -> Result<(), Stop> {
        let size = self.pairs.len() + self.basis.iter().map(Vec::len).sum::<usize>();
        if size > self.options.max_states.unwrap_or(usize::MAX) {
            return Err(Stop::States(size));
        }
        match self.options.limits.exceeded(self.started) {
            Some(reason) => Err(Stop::Limit(reason)),
            None => Ok(()),
        }
    }

    /// The number of threads with which a property can be violated, if it can.
    fn run(&mut self) -> Result<Option<u32>, Stop> {
        self.forward()?;
        if self.bad.is_empty() {
            return Ok(None);
        }
        self.backward()
    }

    fn global(&mut self, state: State) -> GlobalId {
        if let Some(&known) = self.global_ids.get(&state) {
            return known;
        }
        let id = self.globals.len();
        if self.machine.broken(&state).is_some() {
            self.bad.insert((id, Vec::new()));
        }
        self.global_ids.insert(state.clone(), id);
        self.globals.push(state);
        self.with.push(Vec::new());
        self.from.push(Vec::new());
        self.to.push(Vec::new());
        self.work.push_back(Work::Global(id));
        id
    }

    fn part(&mut self, part: Part) -> PartId {
        if let Some(&known) = self.part_ids.get(&part) {
            return known;
        }
        self.part_ids.insert(part.clone(), self.parts.len());
        self.parts.push(part);
        self.parts.len() - 1
    }

    fn pair(&mut self, global: GlobalId, part: PartId) {
        if self.pairs.insert((global, part)) {
            self.with[global].push(part);
            self.work.push_back(Work::Pair(global, part));
        }
    }

    /// All pairs that may occur, with the steps between them.
    fn forward(&mut self) -> Result<(), Stop> {
        let program = self.machine.program;
        let fixed = program.threads.iter().map(|t| match t.copies {
            Copies::One => 1,
            Copies::Fixed(n) => n,
            Copies::Any => 0,
        });
        let fixed: Vec<u32> = fixed.collect();
        let many = |k: &usize| program.threads[*k].copies == Copies::Any;
        for state in self.machine.first_states(&fixed)? {
            let global = self.global(state);
            self.first.insert(global);
            for kind in (0..program.threads.len()).filter(many) {
                for part in self.machine.first_parts(kind)? {
                    let part = self.part(part);
                    self.pair(global, part);
                }
            }
        }
        while let Some(work) = self.work.pop_front() {
            self.check_limits()?;
            match work {
                Work::Global(global) => {
                    for (part, _) in self.globals[global].parts.clone() {
                        self.steps(global, &part, None)?;
                    }
                }
                Work::Pair(global, part) => {
                    for t in self.from[global].clone() {
                        self.tell(t, part)?;
                    }
                    let active = self.parts[part].clone();
                    self.steps(global, &active, Some(part))?;
                }
            }
        }
        Ok(())
    }

    /// All steps of a thread in `active`; `many` is its number if it is one of many.
    fn steps(&mut self, from: GlobalId, active: &Part, many: Option<PartId>) -> Result<(), Stop> {
        let state = self.globals[from].clone();
        for effect in self.machine.act(&state.shared, active)? {
            if effect.fails {
                self.bad.insert((from, many.into_iter().collect()));
            }
            let spread = self.machine.spread(&state, active, &effect)?;
            let number = self.effects.len();
            self.effects.push((active.clone(), effect.clone()));
            for (shared, moved) in &effect.ends {
                let mut seen = BTreeSet::new();
                for changes in &spread {
                    let others = changes.iter().map(|(_, to, n)| (to.clone(), *n));
                    let own = many.is_none().then(|| (moved.clone(), 1));
                    let to = State::new(shared.clone(), others.chain(own));
                    if !seen.insert(to.clone()) {
                        continue;
                    }
                    let to = self.global(to);
                    let moved = many.map(|before| (before, self.part(moved.clone())));
                    self.transition(Transition {
                        from,
                        to,
                        moved,
                        effect: number,
                    })?;
                }
            }
        }
        Ok(())
    }

    fn transition(&mut self, transition: Transition) -> Result<(), Stop> {
        let number = self.transitions.len();
        self.from[transition.from].push(number);
        self.to[transition.to].push(number);
        let (from, to, moved) = (transition.from, transition.to, transition.moved);
        self.transitions.push(transition);
        if let Some((_, after)) = moved {
            self.pair(to, after);
        }
        for part in self.with[from].clone() {
            self.tell(number, part)?;
        }
        Ok(())
    }

    /// A step with a passive thread in `part`.
    fn tell(&mut self, transition: usize, part: PartId) -> Result<(), Stop> {
        let Transition {
            from, to, effect, ..
        } = self.transitions[transition];
        for after in self.outcomes(effect, from, part)? {
            self.pair(to, after);
        }
        Ok(())
    }

    fn outcomes(
        &mut self,
        effect: usize,
        from: GlobalId,
        part: PartId,
    ) -> Result<Vec<PartId>, Stop> {
        if let Some(known) = self.outcomes.get(&(effect, from, part)) {
            return Ok(known.clone());
        }
        let (active, step) = &self.effects[effect];
        let shared = &self.globals[from].shared;
        let after = self
            .machine
            .passive(shared, active, step, &self.parts[part])?;
        let after: Vec<PartId> = after.into_iter().map(|p| self.part(p)).collect();
        self.outcomes.insert((effect, from, part), after.clone());
        Ok(after)
    }

    /// The basis of what can lead to a violation, up to a first configuration.
    fn backward(&mut self) -> Result<Option<u32>, Stop> {
        self.basis = vec![Vec::new(); self.globals.len()];
        let mut queue = VecDeque::new();
        for (global, bag) in self.bad.clone() {
            self.add(global, bag, &mut queue);
        }
        while let Some((global, bag)) = queue.pop_front() {
            if !self.basis[global].contains(&bag) {
                continue; // something smaller has come
            }
            if let Some(needed) = self.needed(global, &bag) {
                return Ok(Some(needed));
            }
            self.check_limits()?;
            for t in self.to[global].clone() {
                for before in self.before(t, &bag)? {
                    self.add(self.transitions[t].from, before, &mut queue);
                }
            }
        }
        Ok(None)
    }

    /// How many threads of each kind are in a bag.
    fn counts(&self, bag: &Bag) -> Vec<u32> {
        let mut counts = vec![0; self.machine.program.threads.len()];
        for part in bag {
            counts[self.parts[*part].kind] += 1;
        }
        counts
    }

    /// Adds to the basis unless something smaller is there, or it has too many threads.
    fn add(&mut self, global: GlobalId, bag: Bag, queue: &mut VecDeque<(GlobalId, Bag)>) {
        let is_many = |limit: u32| self.counts(&bag).iter().any(|n| *n > limit);
        if self.limit.is_some_and(is_many) {
            return;
        }
        let basis = &mut self.basis[global];
        if basis.iter().any(|small| included(small, &bag)) {
            return;
        }
        basis.retain(|large| !included(&bag, large));
        basis.push(bag.clone());
        queue.push_back((global, bag));
    }

    /// How many threads a first configuration above this element has.
    fn needed(&self, global: GlobalId, bag: &Bag) -> Option<u32> {
        if !self.first.contains(&global) {
            return None;
        }
        for part in bag {
            let part = &self.parts[*part];
            let firsts = self.machine.first_parts(part.kind).ok()?;
            if !firsts.contains(part) {
                return None;
            }
        }
        self.counts(bag).into_iter().max()
    }

    /// The minimal configurations from which a step leads above (`to`, `bag`): its
    /// acting thread, and for each other part of the bag one that may become it.
    fn before(&mut self, transition: usize, bag: &Bag) -> Result<Vec<Bag>, Stop> {
        let Transition {
            from,
            moved,
            effect,
            ..
        } = self.transitions[transition];
        let mut rest = bag.clone();
        let mut start = Vec::new();
        if let Some((before, after)) = moved {
            start.push(before);
            if let Some(at) = rest.iter().position(|p| *p == after) {
                rest.remove(at);
            }
        }
        let mut counts: BTreeMap<PartId, usize> = BTreeMap::new();
        for part in rest {
            *counts.entry(part).or_default() += 1;
        }
        let mut all = BTreeSet::from([start]);
        for (part, count) in counts {
            let mut sources = Vec::new();
            for source in self.with[from].clone() {
                if self.outcomes(effect, from, source)?.contains(&part) {
                    sources.push(source);
                }
            }
            for _ in 0..count {
                let with = |bag: &Bag| -> Vec<Bag> {
                    let add = |source: &PartId| {
                        let mut bag = bag.clone();
                        bag.push(*source);
                        bag.sort_unstable();
                        bag
                    };
                    sources.iter().map(add).collect()
                };
                all = all.iter().flat_map(with).collect();
                self.check_limits()?;
            }
        }
        Ok(all.into_iter().collect())
    }
}

/// Whether a sorted multiset is included in another.
fn included(small: &Bag, large: &Bag) -> bool {
    let mut rest = large.iter();
    small.iter().all(|p| rest.any(|q| q == p))
}
