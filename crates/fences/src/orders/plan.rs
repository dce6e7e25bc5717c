//! The *plan*: a program with a decision for each atomic access whose order is written in the
//! text, for each of its fences, and for each place where a fence may go. A *placement* is a level for
//! each decision. One call of the text is one decision, also if its function is inlined at
//! several places.
//!
//! | [`Start`] | orders | fences |
//! |---|---|---|
//! | `own` (repair) | as written or stronger | the program's own, stronger or as they are; new ones |
//! | `relaxed` (build up) | any | the program's own and new ones |
//! | `seq_cst` (relax) | any | the program's own, weaker or none |

use std::collections::BTreeMap;

use palisade_program::{
    AtomicKind, EdgeId, FenceKind, Order, Program, Source, Span, Step, TemplateId,
};

use crate::cost::Cost;
use crate::hitting_set::{Choice, Clause, Levels, Literal};
use crate::site::{Site, fence_effects, loop_depths};

use super::cost::Rule;
use super::level::{Carrier, Strength};
use super::text::{Words, Written};

/// What the search starts from: which orders and fences it may choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Start {
    /// The program as it is: orders become stronger only.
    #[default]
    Own,
    /// Everything relaxed, no fence.
    Relaxed,
    /// Everything `seq_cst`, and no other fences than those that are there.
    SeqCst,
}

/// A level for each decision, by number.
pub type Levelled = Vec<usize>;

/// Where a decision stands in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Spot {
    /// At an access or a fence.
    Written {
        /// The access.
        at: Span,
        /// Where its orders are: one, or the load's and the store's of an atomic block.
        texts: Vec<(Written, Part)>,
    },
    /// Between statements.
    Between(Site),
}

/// Which order of a decision a text says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Both that of success and that of failure.
    All,
    /// The store's.
    Store,
    /// The load's.
    Load,
}

/// An access or a fence whose order is chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What it is.
    pub carrier: Carrier,
    /// Where it is.
    pub spot: Spot,
    /// Its edges.
    pub edges: Vec<(TemplateId, EdgeId)>,
    /// What there is to choose from.
    pub levels: Vec<Strength>,
    /// The level in the text.
    pub own: usize,
    /// Costs, and the levels that may be chosen.
    pub choice: Choice,
}

/// See the module's header.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    /// The program with its candidates for fences.
    pub program: &'p Program,
    /// The decisions, in the order of the text.
    pub decisions: Vec<Decision>,
    /// Atomic accesses of named variables whose order is not in their own text: they keep it.
    pub fixed: Vec<Span>,
}

/// An access as it stands in the program.
struct Access {
    carrier: Carrier,
    /// Whether the text names its variable: what a call like `pthread_create` does is not the
    /// user's to choose.
    is_named: bool,
    own: Strength,
    edges: Vec<(TemplateId, EdgeId)>,
    /// The spans of an atomic block's own load and store.
    inner: Option<(Span, Span)>,
    depth: u32,
    is_uniform: bool,
}

impl<'p> Plan<'p> {
    /// The plan for a program that was read with its orders; `sites` are places for new fences.
    pub fn new(
        program: &'p Program,
        words: Words,
        start: Start,
        sites: Vec<Site>,
        rule: &Rule,
    ) -> Self {
        let mut plan = Self {
            program,
            decisions: Vec::new(),
            fixed: Vec::new(),
        };
        for (at, access) in accesses(program) {
            plan.written(words, start, at, access, rule);
        }
        if start != Start::SeqCst {
            for site in sites {
                plan.between(site, rule);
            }
        }
        plan.decisions.sort_by_key(|d| d.span().start);
        plan
    }

    fn written(&mut self, words: Words, start: Start, at: Span, access: Access, rule: &Rule) {
        let (source, carrier) = (&self.program.source, access.carrier);
        let find = |span, carrier| Written::find(source, span, carrier, words);
        let texts = match access.inner {
            None => find(at, carrier).map(|written| vec![(written, Part::All)]),
            Some((load, store)) => find(load, Carrier::Load)
                .zip(find(store, Carrier::Store))
                .map(|(load, store)| vec![(load, Part::Load), (store, Part::Store)]),
        };
        let levels = carrier.levels();
        let own = levels.iter().position(|l| *l == access.own);
        let (Some(texts), Some(own), true) = (texts, own, access.is_uniform) else {
            if access.is_named {
                self.fixed.push(at);
            }
            return;
        };
        let may = |level: &Strength| start != Start::Own || access.own.is_below(*level);
        let allowed = mask(&levels, may);
        let line = source.position(at.start).line;
        let choice = Choice {
            costs: rule.costs(carrier, &levels, line, access.depth),
            allowed,
            fences: usize::from(carrier == Carrier::Fence),
        };
        self.decisions.push(Decision {
            carrier,
            spot: Spot::Written { at, texts },
            edges: access.edges,
            levels,
            own,
            choice,
        });
    }

    fn between(&mut self, site: Site, rule: &Rule) {
        let levels = Carrier::Fence.levels();
        let (acquires, releases) = fence_effects(self.program, &site);
        // An acquire fence needs an atomic read before it, a release fence a store behind it.
        let may = |level: &Strength| match level.order {
            Order::Acquire => acquires,
            Order::Release => releases,
            Order::AcqRel => acquires && releases,
            Order::Plain | Order::Relaxed | Order::SeqCst => true,
        };
        let allowed = mask(&levels, may);
        let line = crate::plan::anchor(&self.program.source, &site.gap).line;
        let choice = Choice {
            costs: rule.costs(Carrier::Fence, &levels, line, site.depth),
            allowed,
            fences: 1,
        };
        self.decisions.push(Decision {
            carrier: Carrier::Fence,
            edges: site.edges.clone(),
            spot: Spot::Between(site),
            levels,
            own: 0,
            choice,
        });
    }

    /// The strongest placement.
    pub fn everything(&self) -> Levelled {
        let top = |d: &Decision| d.levels.len() - 1;
        self.decisions.iter().map(top).collect()
    }

    /// Whether `placement` has the strongest level everywhere.
    pub fn is_everything(&self, placement: &[usize]) -> bool {
        placement == self.everything()
    }

    /// What a placement costs.
    pub fn cost(&self, placement: &[usize]) -> Cost {
        let all = self.decisions.iter().zip(placement);
        all.fold(Cost::default(), |sum, (d, &l)| sum + d.choice.costs[l])
    }

    /// What there is to choose.
    pub fn choices(&self) -> Vec<Choice> {
        self.decisions.iter().map(|d| d.choice.clone()).collect()
    }

    /// The clause that excludes a placement and everything below it.
    pub fn exceeding(&self, placement: &[usize]) -> Clause {
        let literal = |(decision, (d, &level)): (usize, (&Decision, &usize))| {
            let own = d.levels[level];
            let levels = mask(&d.levels, |l| !l.is_below(own)) & d.choice.allowed;
            (levels != 0).then_some(Literal { decision, levels })
        };
        let all = self.decisions.iter().zip(placement).enumerate();
        all.filter_map(literal).collect()
    }

    /// The program with these orders and fences; a fence that is none stays a candidate.
    pub fn switched(&self, placement: &[usize]) -> Program {
        let mut program = self.program.clone();
        for (decision, &level) in self.decisions.iter().zip(placement) {
            let strength = decision.levels[level];
            for (template, edge) in &decision.edges {
                let cfg = &mut program.templates[template.index()].cfg;
                set(&mut cfg.edges[edge.index()].step, strength);
            }
        }
        program
    }

    /// The decisions whose level is not that of the text.
    pub fn changed<'a>(
        &'a self,
        placement: &'a [usize],
    ) -> impl Iterator<Item = (&'a Decision, Strength)> {
        let all = self.decisions.iter().zip(placement);
        all.filter(|(d, l)| d.own != **l)
            .map(|(d, &l)| (d, d.levels[l]))
    }

    /// A placement in few words.
    pub fn describe(&self, placement: &[usize]) -> String {
        let source = &self.program.source;
        let each = |(d, strength): (&Decision, Strength)| {
            let line = source.position(d.span().start).line;
            format!("{} line {line}: {strength}", d.carrier.name())
        };
        let all: Vec<String> = self.changed(placement).map(each).collect();
        if all.is_empty() {
            return "as written".to_owned();
        }
        all.join("; ")
    }
}

impl Decision {
    /// Where it stands in the text.
    pub fn span(&self) -> Span {
        match &self.spot {
            Spot::Written { at, .. } => *at,
            Spot::Between(site) => site.gap.statement,
        }
    }
}

fn mask(levels: &[Strength], wanted: impl Fn(&Strength) -> bool) -> Levels {
    let all = levels.iter().enumerate().filter(|(_, l)| wanted(l));
    all.fold(0, |mask, (index, _)| mask | 1 << index)
}

/// Gives a step this order.
fn set(step: &mut Step, strength: Strength) {
    match step {
        Step::Load { src, .. } => src.order = strength.order,
        Step::Store { dst, .. } => dst.order = strength.order,
        Step::Fence(kind) => {
            *kind = match strength.order {
                Order::Plain | Order::Relaxed => FenceKind::Candidate,
                order @ (Order::Acquire | Order::Release | Order::AcqRel | Order::SeqCst) => {
                    FenceKind::Ordered(order)
                }
            };
        }
        Step::Atomic(atomic) => {
            for edge in &mut atomic.body.edges {
                match &mut edge.step {
                    Step::Load { src, .. } => {
                        src.order = strength.failing.unwrap_or(strength.order);
                    }
                    Step::Store { dst, .. } => dst.order = strength.order,
                    Step::Skip | Step::Assume(_) | Step::Assert { .. } => {}
                    Step::Assign { .. } | Step::Havoc { .. } => {}
                    // No block has these.
                    Step::Fence(_) | Step::Atomic(_) | Step::RemoteAtomic(_) => {}
                    Step::Put { .. } | Step::Get { .. } | Step::Flush(_) => {}
                }
            }
        }
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
        Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } => {}
        Step::RemoteAtomic(_) | Step::Flush(_) => {}
    }
}

/// All atomic accesses and fences of the program, by where they stand.
fn accesses(program: &Program) -> BTreeMap<Span, Access> {
    let mut all: BTreeMap<Span, Access> = BTreeMap::new();
    for template in program.template_ids() {
        let cfg = &program.template(template).cfg;
        let depths = loop_depths(cfg);
        for (index, edge) in cfg.edges.iter().enumerate() {
            let Some((carrier, own, inner)) = access(&edge.step) else {
                continue;
            };
            let at = (template, EdgeId::from(index));
            let is_named = variable(&edge.step).is_none_or(|var| {
                let name = &program.global(var).name;
                let name = name.rsplit('.').next().unwrap_or(name);
                program.source.slice(edge.span).contains(name)
            });
            let found = all.entry(edge.span).or_insert_with(|| Access {
                carrier,
                is_named,
                own,
                edges: Vec::new(),
                inner,
                depth: 0,
                is_uniform: true,
            });
            found.is_uniform &= (found.carrier, found.own, found.inner) == (carrier, own, inner);
            found.edges.push(at);
            found.depth = found.depth.max(depths[edge.from.index()]);
        }
    }
    all
}

/// The variable that an access is about.
fn variable(step: &Step) -> Option<palisade_program::GlobalId> {
    let inner = step.block().into_iter().flat_map(|block| &block.body.edges);
    let mut steps = std::iter::once(step).chain(inner.map(|edge| &edge.step));
    steps.find_map(|step| Some(step.loaded().or(step.stored())?.var))
}

type Shape = (Carrier, Strength, Option<(Span, Span)>);

/// What a step is as far as orders go.
fn access(step: &Step) -> Option<Shape> {
    let plain = |carrier, order| {
        let failing = None;
        (order != Order::Plain).then_some((carrier, Strength { order, failing }, None))
    };
    match step {
        Step::Load { src, .. } => plain(Carrier::Load, src.order),
        Step::Store { dst, .. } => plain(Carrier::Store, dst.order),
        Step::Fence(FenceKind::Ordered(order)) => plain(Carrier::Fence, *order),
        Step::Fence(FenceKind::Full) => plain(Carrier::Fence, Order::SeqCst),
        Step::Fence(FenceKind::StoreStore | FenceKind::Candidate) => None,
        Step::Atomic(atomic) => {
            let steps = || atomic.body.edges.iter();
            let load = steps().find(|e| e.step.loaded().is_some())?;
            let store = steps().find(|e| e.step.stored().is_some())?;
            let loaded = load.step.loaded()?.order;
            let order = store.step.stored()?.order;
            let (carrier, inner) = match atomic.kind {
                AtomicKind::Cas => (Carrier::Swap, None),
                AtomicKind::Xchg | AtomicKind::FetchAdd => (Carrier::Update, None),
                AtomicKind::Block if always_stores(&atomic.body) => {
                    (Carrier::Update, Some((load.span, store.span)))
                }
                AtomicKind::Block => (Carrier::Swap, Some((load.span, store.span))),
                AtomicKind::Read | AtomicKind::Lock | AtomicKind::Unlock => return None,
            };
            let accesses = steps().filter(|e| e.step.loaded().or(e.step.stored()).is_some());
            let is_one = accesses.count() == 2;
            let failing = (carrier == Carrier::Swap).then_some(loaded);
            let said = order != Order::Plain && loaded != Order::Plain && is_one;
            said.then_some((carrier, Strength { order, failing }, inner))
        }
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => None,
        Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } => None,
        Step::RemoteAtomic(_) | Step::Flush(_) => None,
    }
}

/// Whether every way through a block stores: the exit is out of reach without.
fn always_stores(body: &palisade_program::Cfg) -> bool {
    let mut seen = vec![false; body.loc_count()];
    let mut work = vec![body.entry];
    while let Some(at) = work.pop() {
        if std::mem::replace(&mut seen[at.index()], true) {
            continue;
        }
        let onward = body.outgoing(at).filter(|(_, e)| e.step.stored().is_none());
        work.extend(onward.map(|(_, e)| e.to));
    }
    !seen[body.exit.index()]
}

/// The edits of the text for a placement: changed words, statements that go, and new fences.
pub struct Edits {
    /// These texts instead of those spans.
    pub changes: Vec<(Span, String)>,
    /// Statements that go away.
    pub removals: Vec<Span>,
    /// New fences.
    pub fences: Vec<(palisade_program::Gap, Order)>,
}

impl Plan<'_> {
    /// What to change in the text.
    pub fn edits(&self, source: &Source, placement: &[usize]) -> Edits {
        let mut edits = Edits {
            changes: Vec::new(),
            removals: Vec::new(),
            fences: Vec::new(),
        };
        for (decision, strength) in self.changed(placement) {
            match &decision.spot {
                Spot::Between(site) => edits.fences.push((site.gap, strength.order)),
                Spot::Written { texts, .. } => {
                    for (written, part) in texts {
                        if decision.carrier == Carrier::Fence && strength.order == Order::Relaxed {
                            edits.removals.push(written.statement(source));
                            continue;
                        }
                        let order = match part {
                            Part::All | Part::Store => strength.order,
                            Part::Load => strength.failing.unwrap_or(strength.order),
                        };
                        let said = Strength { order, ..strength };
                        edits.changes.extend(written.changes(source, said));
                    }
                }
            }
        }
        edits
    }
}
