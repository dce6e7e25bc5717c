//! *Views*: checking a program in which templates run in any number of copies. A
//! *view* is what is seen of a state if one looks at the threads that run once and
//! at `m` copies of each template declared with `[*]`: their locations, their
//! explicit variables, and the predicates over shared variables and these copies'
//! locals (shared, local and mixed predicates of [Donaldson et al., CAV 2011, section 2]; for `m` of 2
//! and more also predicates between copies).
//!
//! A set V of abstract views stands for the states, with any number of copies, *all*
//! of whose views are described by V, whichever copies are looked at and in whatever
//! order. The search finds a V that contains the initial states and is closed under
//! every step:
//!
//! - *own steps*: a thread that is seen moves. A step reads and writes shared
//!   variables and the thread's own locals only, so the view after it depends on the
//!   view before it and on nothing else.
//! - *interference*: a copy of T that is not seen moves. The view after that depends
//!   on the view and on this copy. So `m + 1` copies of T are looked at (the
//!   *extension*), in every abstract state all of whose views are in V; what the
//!   step makes of the first `m` is the view after it. Here passive threads are
//!   notified [Donaldson et al., CAV 2011, section 2.2]: the post of the active thread's step decides
//!   the predicates over the shared variables, over the active and over the passive
//!   threads at once. A step that writes nothing shared is not looked at.
//!
//! **Claim.** If no view in V violates a property, then no reachable state with any
//! number of copies does. Let every view of a state be in V, and let a thread make a
//! step; take `m` copies of each template. If the thread that moved is among them or
//! runs once, the view after the step is among the results of own steps. If it is
//! another copy of T, then all views of these copies with it are in V, so the
//! extension has them as an abstract state, and the view after the step is among its
//! results. This needs `m + 1` copies of T at least. With fewer copies there are
//! fewer runs: copies that do not move are where they began and change nothing, so a
//! violation with some copies is one with more copies (for assertions and `never`;
//! not for `finally`, which waits for all copies to end).
//!
//! A property over `k` distinct copies needs `m >= k`. Views that are permutations
//! of each other are one view: the least of them. For `m` = 1 this is thread-modular
//! verification. Predicates between copies, as the ticket lock needs, break the
//! monotonicity that coverability relies on; here they do no harm, since V speaks of
//! all choices of copies. With [`Options::merge`] views with one control are joined:
//! there are then no more views than controls. Views are always an over-approximation: a program may be
//! right and have no such V, for a reason that needs more copies at once.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::{Branch, BranchId, Commands, End};
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::renaming::{Part, Renaming, Vocabulary};
use palisade_abstraction::space::{Control, SlotKind, Space};
use palisade_abstraction::transformer::Transformer;
use palisade_abstraction::valuation::{PredId, Valuation};
use palisade_logic::Reason;
use palisade_program::{Count, Instance, Program, TemplateId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::search::{Node, Options, SearchStats, Stop, Target, initial_data};

/// The threads of a view with `m` copies of each template declared with `[*]`, and
/// with one more of `extended`.
pub fn threads(program: &Program, m: u32, extended: Option<TemplateId>) -> Vec<Instance> {
    let mut all = program.instances(m);
    if let Some(template) = extended {
        let end = all.iter().rposition(|t| t.template == template);
        let active = Instance { template, copy: m };
        all.insert(end.map_or(all.len(), |last| last + 1), active);
    }
    all
}

/// What a search works with: a space's commands, predicates, and abstract steps.
pub struct Layer<'a, 's> {
    /// The commands.
    pub commands: &'a mut Commands<'s>,
    /// The predicates.
    pub predicates: &'a Predicates,
    /// Builds abstract steps.
    pub transformer: &'a mut dyn Transformer,
}

impl<'s> Layer<'_, 's> {
    fn space(&self) -> &'s Space<'s> {
        self.commands.space()
    }

    fn vocabulary(&self) -> Vocabulary<'_> {
        Vocabulary {
            space: self.space(),
            predicates: self.predicates,
        }
    }
}

/// One more copy of a template, which moves.
pub struct Extension<'a, 's> {
    /// The template.
    pub template: TemplateId,
    /// The space of [`threads`] with it.
    pub layer: Layer<'a, 's>,
    /// Predicates whose values never change.
    pub axioms: Vec<(PredId, bool)>,
}

/// Where a view came from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// It is initial.
    Start,
    /// A thread that is seen moved.
    Own(usize, BranchId),
    /// A copy that is not seen moved: the view before, the extension's number.
    Other(usize, usize, BranchId),
}

/// Where a search for a proof failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What is violated, as far as views can tell.
    pub target: Target,
    /// The branches on the way to it, with the number of the extension for those of
    /// copies that are not seen.
    pub steps: Vec<(Option<usize>, BranchId)>,
}

/// How a search over views ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The views that were kept are closed and violate nothing.
    Safe(Vec<Node>),
    /// A view violates a property.
    Failed(Box<Failure>),
}

/// Two spaces keep different variables explicit: views cannot be compared.
const MISMATCH: &str = "views whose explicit variables depend on the number of threads";

/// An extension with the renamings between it and views.
struct Wider<'a, 's> {
    extension: Extension<'a, 's>,
    /// The thread that moves.
    active: usize,
    /// The seen copies of the template, as threads of the view.
    seen: Vec<usize>,
    /// The view as it is.
    itself: Renaming,
    /// For each seen copy of the template: the view with the active copy in its place.
    instead: Vec<Renaming>,
}

/// A search over views.
pub struct Views<'a, 's> {
    base: Layer<'a, 's>,
    bad: &'a BadStates<'s>,
    wider: Vec<Wider<'a, 's>>,
    /// All permutations of the seen copies.
    permutations: Vec<Renaming>,
    options: &'a Options,
    nodes: Vec<(Node, Origin)>,
    dropped: Vec<bool>,
    by_control: FxHashMap<Control, Vec<usize>>,
    /// For each extension and control without its template's first copy: what this
    /// copy may be,
    parts: FxHashMap<(usize, Control), BTreeSet<Part>>,
    /// and the views that have this control with some copy in its place.
    bases: FxHashMap<(usize, Control), Vec<usize>>,
    extended: FxHashSet<(usize, Control, Valuation)>,
    queue: VecDeque<usize>,
    /// Extensions looked at.
    work: usize,
    /// Most extensions to look at.
    pub max_work: usize,
    /// Counters.
    pub stats: SearchStats,
}

impl<'a, 's> Views<'a, 's> {
    /// A search that has not begun; the extensions are those of all templates
    /// declared with `[*]`.
    pub fn new(
        base: Layer<'a, 's>,
        bad: &'a BadStates<'s>,
        extensions: Vec<Extension<'a, 's>>,
        options: &'a Options,
    ) -> Result<Self, Stop> {
        let mismatch = || Stop::Mismatch(MISMATCH);
        let space = base.space();
        let permuted = permutations(space).into_iter();
        let permuted = permuted.map(|p| Renaming::new(base.vocabulary(), base.vocabulary(), p));
        let permutations: Option<Vec<Renaming>> = permuted.collect();
        let wider = extensions.into_iter().map(|e| Wider::new(&base, e));
        let wider: Option<Vec<Wider<'_, '_>>> = wider.collect();
        Ok(Self {
            permutations: permutations.ok_or_else(mismatch)?,
            wider: wider.ok_or_else(mismatch)?,
            base,
            bad,
            options,
            nodes: Vec::new(),
            dropped: Vec::new(),
            by_control: FxHashMap::default(),
            parts: FxHashMap::default(),
            bases: FxHashMap::default(),
            extended: FxHashSet::default(),
            queue: VecDeque::new(),
            work: 0,
            max_work: usize::MAX,
            stats: SearchStats::default(),
        })
    }

    /// Runs it to the end.
    pub fn run(&mut self) -> Result<Outcome, Stop> {
        let started = Instant::now();
        if let Some(failure) = self.start()? {
            return Ok(Outcome::Failed(Box::new(failure)));
        }
        while let Some(id) = self.queue.pop_front() {
            if let Some(reason) = self.options.limits.exceeded(started)
                && reason != Reason::QueryTime
            {
                return Err(Stop::Limit(reason));
            }
            if self
                .options
                .max_states
                .is_some_and(|m| self.nodes.len() > m)
            {
                return Err(Stop::States(self.nodes.len()));
            }
            if self.dropped[id] {
                continue;
            }
            let mut failure = self.own_steps(id)?;
            if failure.is_none() {
                failure = self.interference(id, started)?;
            }
            if let Some(failure) = failure {
                return Ok(Outcome::Failed(Box::new(failure)));
            }
        }
        let kept = self.nodes.iter().zip(&self.dropped);
        let kept = kept.filter(|(_, dropped)| !**dropped);
        Ok(Outcome::Safe(kept.map(|((n, _), _)| n.clone()).collect()))
    }

    fn start(&mut self) -> Result<Option<Failure>, Stop> {
        let space = self.base.space();
        let data = initial_data(space);
        let initial = self.base.transformer.initial(self.base.predicates, &data)?;
        for control in space.initial_controls() {
            for valuation in initial.iter() {
                let valuation = self.forget_dead(&control, valuation.clone());
                let failure = self.reach(control.clone(), valuation, Origin::Start)?;
                if failure.is_some() {
                    return Ok(failure);
                }
            }
        }
        Ok(None)
    }

    /// Predicates over locals that are dead from the start are unknown.
    fn forget_dead(&self, control: &Control, mut valuation: Valuation) -> Valuation {
        let space = self.base.space();
        for p in 0..self.base.predicates.len() {
            let mut vars = self.base.predicates.vars(p).iter();
            if vars.any(|v| !space.is_live_at(v.0 as usize, &control.pcs)) {
                valuation.set(p, None);
            }
        }
        valuation
    }

    fn own_steps(&mut self, id: usize) -> Result<Option<Failure>, Stop> {
        let node = self.nodes[id].0.clone();
        let space = self.base.space();
        for thread in 0..node.control.pcs.len() {
            for (branch_id, branch) in self.base.branches(&node.control, thread)? {
                self.stats.steps += 1;
                let posts = self.base.post(branch_id, &branch, &node.valuation)?;
                let origin = Origin::Own(id, branch_id);
                let Some(next) = after(space, &node.control, &branch) else {
                    if let (End::Failed(span), false) = (branch.end, posts.is_empty()) {
                        return Ok(Some(self.failure(&origin, Target::Assert(span))));
                    }
                    continue;
                };
                for post in posts.iter() {
                    let failure = self.reach(next.clone(), post.clone(), origin.clone())?;
                    if failure.is_some() {
                        return Ok(failure);
                    }
                }
            }
        }
        Ok(None)
    }

    /// Steps of copies that are not seen, in all extensions that view `id` is part of.
    fn interference(&mut self, id: usize, started: Instant) -> Result<Option<Failure>, Stop> {
        let mut jobs: BTreeSet<(usize, usize, Part)> = BTreeSet::new();
        let control = self.nodes[id].0.control.clone();
        for number in 0..self.wider.len() {
            let key = (number, self.without_first(number, &control));
            for part in self.parts.get(&key).into_iter().flatten() {
                jobs.insert((number, id, part.clone()));
            }
            for image in self.images(&control) {
                let part = self.first_part(number, &image);
                let key = (number, self.without_first(number, &image));
                for base in self.bases.get(&key).into_iter().flatten() {
                    jobs.insert((number, *base, part.clone()));
                }
            }
        }
        for (number, base, part) in jobs {
            if self.dropped[base] {
                continue;
            }
            if let Some(reason) = self.options.limits.exceeded(started)
                && reason != Reason::QueryTime
            {
                return Err(Stop::Limit(reason));
            }
            if self.work > self.max_work {
                return Err(Stop::Views);
            }
            let failure = self.extend(number, base, &part)?;
            if failure.is_some() {
                return Ok(failure);
            }
        }
        Ok(None)
    }

    /// Steps of a copy at `part` beside view `base`.
    fn extend(&mut self, number: usize, base: usize, part: &Part) -> Result<Option<Failure>, Stop> {
        let wider = &mut self.wider[number];
        let space = wider.extension.layer.space();
        let node = &self.nodes[base].0;
        let mut control = space_filler(space);
        wider.itself.write_control(&node.control, &mut control);
        part.write(space, wider.active, &mut control);
        let moves = wider.extension.layer.branches(&control, wider.active)?;
        let moves: Vec<_> = moves
            .into_iter()
            .filter(|(_, b)| writes_shared(space, b))
            .collect();
        if moves.is_empty() {
            return Ok(None);
        }
        for valuation in self.joint(number, base, &control) {
            if !self
                .extended
                .insert((number, control.clone(), valuation.clone()))
            {
                continue;
            }
            for (branch_id, branch) in &moves {
                // That an assertion fails is seen where the copy is in the view.
                let Some(next) = after(space, &control, branch) else {
                    continue;
                };
                self.stats.steps += 1;
                let layer = &mut self.wider[number].extension.layer;
                let posts = layer.post(*branch_id, branch, &valuation)?;
                for post in posts.iter() {
                    let itself = &self.wider[number].itself;
                    let control = itself.read_control(&next);
                    let valuation = itself.read_valuation(post);
                    let origin = Origin::Other(base, number, *branch_id);
                    let failure = self.reach(control, valuation, origin)?;
                    if failure.is_some() {
                        return Ok(failure);
                    }
                }
            }
        }
        Ok(None)
    }

    /// What may be known at `control` of an extension of view `base`: all its views
    /// are in V.
    fn joint(&mut self, number: usize, base: usize, control: &Control) -> Vec<Valuation> {
        self.work += 1;
        let wider = &self.wider[number];
        let layer = &wider.extension.layer;
        let count = layer.predicates.len();
        let mut start = wider.itself.valuation(&self.nodes[base].0.valuation, count);
        for (p, value) in &wider.extension.axioms {
            start.set(*p, Some(*value));
        }
        let mut all = vec![start];
        for instead in &wider.instead {
            let view = instead.read_control(control);
            let mut choices = Vec::new();
            for id in self
                .by_control
                .get(&self.least(&view))
                .into_iter()
                .flatten()
            {
                let node = &self.nodes[*id].0;
                for permutation in &self.permutations {
                    if permutation.control(&node.control) == view {
                        let own = self.base.predicates.len();
                        let seen = permutation.valuation(&node.valuation, own);
                        choices.push(instead.valuation(&seen, count));
                    }
                }
            }
            weakest(&mut choices);
            self.work += all.len() * choices.len();
            let met = all
                .iter()
                .flat_map(|v| choices.iter().filter_map(|c| v.meet(c)));
            all = met.collect();
            weakest(&mut all);
        }
        all
    }

    fn images(&self, control: &Control) -> BTreeSet<Control> {
        let images = self.permutations.iter().map(|p| p.control(control));
        images.collect()
    }

    /// The least permutation of a control.
    fn least(&self, control: &Control) -> Control {
        let images = self.permutations.iter().map(|p| p.control(control));
        images.min().unwrap_or_else(|| control.clone())
    }

    fn first_part(&self, number: usize, control: &Control) -> Part {
        Renaming::part(self.base.space(), control, self.wider[number].seen[0])
    }

    /// A control that does not say what the first copy of the template is.
    fn without_first(&self, number: usize, control: &Control) -> Control {
        let space = self.base.space();
        let first = self.wider[number].seen[0];
        let mut rest = control.clone();
        Renaming::part(space, &space_filler(space), first).write(space, first, &mut rest);
        rest
    }

    /// Adds a view unless it is covered; tells if it is bad.
    fn reach(
        &mut self,
        control: Control,
        valuation: Valuation,
        origin: Origin,
    ) -> Result<Option<Failure>, Stop> {
        let (control, mut valuation) = self.least_view(control, valuation);
        let here = self.by_control.entry(control.clone()).or_default();
        if self.options.merge {
            for &n in &*here {
                valuation = valuation.join(&self.nodes[n].0.valuation);
            }
        }
        if here
            .iter()
            .any(|&n| self.nodes[n].0.valuation.covers(&valuation))
        {
            self.stats.covered += 1;
            return Ok(None);
        }
        here.retain(|&n| {
            let covered = valuation.covers(&self.nodes[n].0.valuation);
            self.dropped[n] |= covered;
            !covered
        });
        let id = self.nodes.len();
        here.push(id);
        for (property, formula) in self.bad.at(&control)? {
            let base = &mut self.base;
            if base
                .transformer
                .may(base.predicates, &formula, &valuation)?
            {
                let target = Target::Property(property, formula);
                return Ok(Some(self.failure(&origin, target)));
            }
        }
        for number in 0..self.wider.len() {
            for image in self.images(&control) {
                let key = (number, self.without_first(number, &image));
                let part = self.first_part(number, &image);
                self.parts.entry(key.clone()).or_default().insert(part);
                let bases = self.bases.entry(key).or_default();
                if bases.last() != Some(&id) {
                    bases.push(id);
                }
            }
        }
        let node = Node {
            control,
            valuation,
            parent: None,
            depth: 0,
        };
        self.nodes.push((node, origin));
        self.dropped.push(false);
        self.queue.push_back(id);
        self.stats.states += 1;
        Ok(None)
    }

    fn least_view(&self, control: Control, valuation: Valuation) -> (Control, Valuation) {
        let count = self.base.predicates.len();
        let images = self.permutations.iter().map(|p| (p, p.control(&control)));
        let least = images.clone().map(|(_, c)| c).min();
        let images = images.filter(|(_, c)| Some(c) == least.as_ref());
        let views = images.map(|(p, c)| (c, p.valuation(&valuation, count)));
        let best = views.min();
        best.unwrap_or((control, valuation))
    }

    /// How a view that is to be added with this origin came about.
    fn failure(&self, origin: &Origin, target: Target) -> Failure {
        let mut steps = Vec::new();
        let mut at = origin;
        loop {
            let from = match at {
                Origin::Start => break,
                Origin::Own(from, branch) => {
                    steps.push((None, *branch));
                    *from
                }
                Origin::Other(from, number, branch) => {
                    steps.push((Some(*number), *branch));
                    *from
                }
            };
            at = &self.nodes[from].1;
        }
        steps.reverse();
        Failure { target, steps }
    }
}

impl Layer<'_, '_> {
    /// The branches of `thread` at `control`.
    fn branches(
        &mut self,
        control: &Control,
        thread: usize,
    ) -> Result<Vec<(BranchId, std::rc::Rc<Branch>)>, Stop> {
        let space = self.space();
        let cfg = &space.program.template(space.threads[thread].template).cfg;
        let mut all = Vec::new();
        for (edge, _) in cfg.outgoing(control.pcs[thread]) {
            for &id in self.commands.execute(control, thread, edge)?.iter() {
                all.push((id, self.commands.branch(id).clone()));
            }
        }
        Ok(all)
    }

    fn post(
        &mut self,
        id: BranchId,
        branch: &Branch,
        valuation: &Valuation,
    ) -> Result<std::rc::Rc<[Valuation]>, Reason> {
        self.transformer
            .post(self.predicates, id, branch, valuation)
    }
}

impl<'a, 's> Wider<'a, 's> {
    fn new(base: &Layer<'_, 's>, extension: Extension<'a, 's>) -> Option<Self> {
        let own = base.space();
        let space = extension.layer.space();
        let find = |instance: &Instance| space.threads.iter().position(|t| t == instance);
        let same: Option<Vec<usize>> = own.threads.iter().map(find).collect();
        let same = same?;
        let active = (0..space.threads.len()).find(|t| !same.contains(t))?;
        let seen: Vec<usize> = (0..own.threads.len())
            .filter(|t| own.threads[*t].template == extension.template)
            .collect();
        let renaming = |threads: Vec<usize>| {
            Renaming::new(base.vocabulary(), extension.layer.vocabulary(), threads)
        };
        let instead = seen.iter().map(|t| {
            let mut threads = same.clone();
            threads[*t] = active;
            renaming(threads)
        });
        let instead: Option<Vec<Renaming>> = instead.collect();
        let (instead, itself) = (instead?, renaming(same)?);
        Some(Self {
            extension,
            active,
            seen,
            itself,
            instead,
        })
    }
}

/// The control after a branch; `None` if it fails.
fn after(space: &Space<'_>, control: &Control, branch: &Branch) -> Option<Control> {
    debug_assert_eq!(control.pcs.len(), space.threads.len());
    let End::At(to) = branch.end else {
        return None;
    };
    let mut next = control.clone();
    next.pcs[branch.thread] = to;
    for &(position, value) in &branch.explicit {
        next.values[position] = value;
    }
    Some(next)
}

/// Whether others can notice that the branch was taken.
fn writes_shared(space: &Space<'_>, branch: &Branch) -> bool {
    let shared = |slot: usize| matches!(space.slots[slot].kind, SlotKind::Cell(_));
    let explicit = |(position, _): &(usize, i64)| shared(space.explicit[*position]);
    branch.written.iter().any(|v| shared(v.0 as usize)) || branch.explicit.iter().any(explicit)
}

/// A control that says nothing.
fn space_filler(space: &Space<'_>) -> Control {
    Control {
        pcs: vec![palisade_program::LocId(0); space.threads.len()].into(),
        values: vec![0; space.explicit.len()].into(),
    }
}

/// Keeps the valuations that no other one covers.
fn weakest(all: &mut Vec<Valuation>) {
    all.sort_unstable();
    all.dedup();
    let covered = |v: &Valuation| all.iter().any(|other| other != v && other.covers(v));
    let keep: Vec<bool> = all.iter().map(|v| !covered(v)).collect();
    let mut keep = keep.into_iter();
    all.retain(|_| keep.next().unwrap_or(true));
}

/// All permutations of the copies of each template declared with `[*]`.
fn permutations(space: &Space<'_>) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![(0..space.threads.len()).collect()];
    for template in space.program.template_ids() {
        if space.program.template(template).count != Count::Any {
            continue;
        }
        let copies: Vec<usize> = (0..space.threads.len())
            .filter(|t| space.threads[*t].template == template)
            .collect();
        let mut next = Vec::new();
        for way in &all {
            for order in orders(&copies) {
                let mut way = way.clone();
                for (from, to) in copies.iter().zip(order) {
                    way[*from] = to;
                }
                next.push(way);
            }
        }
        all = next;
    }
    all
}

fn orders(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (i, first) in items.iter().enumerate() {
        let rest: Vec<usize> = items
            .iter()
            .copied()
            .enumerate()
            .filter(|(j, _)| *j != i)
            .map(|(_, item)| item)
            .collect();
        for mut order in orders(&rest) {
            order.insert(0, *first);
            all.push(order);
        }
    }
    all
}
