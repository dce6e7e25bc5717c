//! A *plan* is a program with its candidates and the decisions to be made about
//! them; a *placement* is a level for each decision. A decision is about one
//! site, or about several that get the same fence because their threads are
//! identical.
//!
//! Levels are ordered: a store-store fence allows no run that is not there without
//! it, a full fence none that is not there with a store-store fence. So a run that
//! exists with a placement exists with every lower one: clauses and pruning rest
//! on this law, which `tests/minimality.rs` checks on random programs. Under RMA there is one
//! level beside none: a flush, which allows no run that is not there without it.

use std::fmt::Write;
use std::rc::Rc;

use palisade_program::{
    EdgeId, FenceKind, FlushTarget, Gap, Instance, LineColumn, Model, Program, Side, Source, Step,
    TemplateId,
};

use palisade_machine::Witness;
use palisade_verify::reduction::{Kind, Reduction};
use palisade_verify::{Certificate, Gap as Missing};

use crate::cost::{Cost, Costs, Rule, costs};
use crate::site::{Site, flush_target};
use crate::twins;

/// What stands at a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Level {
    /// Nothing.
    #[default]
    None,
    /// A store-store fence.
    StoreStore,
    /// A full fence.
    Full,
}

impl Level {
    /// The kind's name in reports: `full`, `ss`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::StoreStore => "ss",
            Self::Full => "full",
        }
    }

    const fn kind(self) -> FenceKind {
        match self {
            Self::None => FenceKind::Candidate,
            Self::StoreStore => FenceKind::StoreStore,
            Self::Full => FenceKind::Full,
        }
    }
}

/// A level for each decision of a plan.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Placement(pub Vec<Level>);

impl Placement {
    /// Whether it has no fence that `other` does not have.
    pub fn is_below(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a <= b)
    }

    /// The same with one decision changed.
    #[must_use]
    pub fn with(&self, decision: usize, level: Level) -> Self {
        let mut changed = self.clone();
        changed.0[decision] = level;
        changed
    }
}

/// A program with candidates for fences, and the decisions about them.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    /// The program with its candidates.
    pub program: &'p Program,
    /// The memory model.
    pub model: Model,
    /// The sites.
    pub sites: Vec<Site>,
    /// Decisions: indices of sites.
    pub decisions: Vec<Vec<usize>>,
    /// What each decision costs.
    pub costs: Vec<Costs>,
}

/// A program with a placement. Fences and flushes only take runs away, and change no edge:
/// its runs are runs of the program without them.
pub struct Placed {
    fences: String,
    program: Rc<Program>,
}

impl Reduction for Placed {
    fn describe(&self) -> String {
        self.fences.clone()
    }

    fn kind(&self) -> Kind {
        Kind::Under
    }

    fn program(&self) -> &Rc<Program> {
        &self.program
    }

    fn run_back(&self, run: Witness) -> Result<Witness, Missing> {
        Ok(run)
    }

    fn proof_back(&self, certificate: Certificate) -> Certificate {
        certificate
    }
}

impl<'p> Plan<'p> {
    /// The plan for these sites of `program`.
    pub fn new(program: &'p Program, model: Model, sites: Vec<Site>, rule: &Rule) -> Self {
        let decisions = twins::decisions(program, &sites);
        let costs = decisions
            .iter()
            .map(|d| costs(rule, &program.source, d.iter().map(|&s| &sites[s])))
            .collect();
        Self {
            program,
            model,
            sites,
            decisions,
            costs,
        }
    }

    /// The levels to choose from beside none: store-store fences do nothing under
    /// TSO.
    pub const fn levels(&self) -> &'static [Level] {
        match self.model {
            Model::Pso => &[Level::StoreStore, Level::Full],
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => &[Level::Full],
        }
    }

    /// No fence anywhere.
    pub fn nothing(&self) -> Placement {
        Placement(vec![Level::None; self.decisions.len()])
    }

    /// A full fence everywhere.
    pub fn everything(&self) -> Placement {
        Placement(vec![Level::Full; self.decisions.len()])
    }

    /// The program with these fences, as a reduction of the one without.
    pub fn placed(&self, placement: &Placement) -> Placed {
        Placed {
            fences: self.describe(placement),
            program: Rc::new(self.switched(placement)),
        }
    }

    /// The program with these fences; candidates without fence stay candidates.
    pub fn switched(&self, placement: &Placement) -> Program {
        let mut program = self.program.clone();
        for (sites, level) in self.decisions.iter().zip(&placement.0) {
            for (template, edge) in sites.iter().flat_map(|&s| &self.sites[s].edges) {
                let step = self.step(*template, *edge, *level);
                let cfg = &mut program.templates[template.index()].cfg;
                cfg.edges[edge.index()].step = step;
            }
        }
        program
    }

    /// The step of a candidate edge at a level: a fence, or a flush under RMA.
    fn step(&self, template: TemplateId, edge: EdgeId, level: Level) -> Step {
        let is_rma = self.model == Model::Rma;
        let flush = || flush_target(self.program, template, edge);
        match level {
            Level::Full if is_rma => match flush() {
                Some(target) => Step::Flush(target),
                None => Step::Flush(FlushTarget::All),
            },
            Level::None | Level::StoreStore | Level::Full => Step::Fence(level.kind()),
        }
    }

    /// A level's name in reports: `full`, `ss`, `flush`.
    pub const fn kind(&self, level: Level) -> &'static str {
        match (self.model, level) {
            (Model::Rma, Level::Full) => "flush",
            (_, level) => level.name(),
        }
    }

    /// All sites with their levels, in the order of the text.
    pub fn sites_at(&self, placement: &Placement) -> Vec<(&Site, Level)> {
        let mut all: Vec<(usize, Level)> = Vec::new();
        for (sites, &level) in self.decisions.iter().zip(&placement.0) {
            all.extend(sites.iter().map(|&s| (s, level)));
        }
        all.sort_unstable();
        all.into_iter().map(|(s, l)| (&self.sites[s], l)).collect()
    }

    /// What a placement costs.
    pub fn cost(&self, placement: &Placement) -> Cost {
        let levels = self.costs.iter().zip(&placement.0);
        levels.fold(Cost::default(), |sum, (costs, &level)| {
            sum + costs.of(level)
        })
    }

    /// The fences of a placement: sites in the order of the text.
    pub fn fences(&self, placement: &Placement) -> Vec<(&Site, Level)> {
        let mut all = self.sites_at(placement);
        all.retain(|(_, level)| *level != Level::None);
        all
    }

    /// The threads that run through a site, of those that there are.
    pub fn threads(&self, site: &Site, instances: &[Instance]) -> Vec<Instance> {
        let runs = |i: &&Instance| site.edges.iter().any(|(t, _)| *t == i.template);
        instances.iter().filter(runs).copied().collect()
    }

    /// A placement in few words: `full after line 8, ss before line 3`.
    pub fn describe(&self, placement: &Placement) -> String {
        let mut text = String::new();
        for (site, level) in self.fences(placement) {
            let separator = if text.is_empty() { "" } else { ", " };
            let line = anchor(&self.program.source, &site.gap).line;
            let side = side_name(site.gap.side);
            // Writing to a string does not fail.
            let _ = write!(text, "{separator}{} {side} line {line}", self.kind(level));
        }
        if text.is_empty() {
            text.push_str(match self.model {
                Model::Rma => "no flush",
                Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => "no fence",
            });
        }
        text
    }
}

/// Where the statement beside a gap stands, for people: its start, or its last
/// character if the gap comes after a statement of several lines.
pub fn anchor(source: &Source, gap: &Gap) -> LineColumn {
    if let Some(head) = gap.head {
        return source.position(head.condition.start);
    }
    let start = source.position(gap.statement.start);
    let last = source.position(gap.statement.end.saturating_sub(1));
    if gap.side == Side::After && last.line != start.line {
        last
    } else {
        start
    }
}

/// The word of a side in reports.
pub const fn side_name(side: Side) -> &'static str {
    match side {
        Side::After => "after",
        Side::Before | Side::Head => "before",
        Side::At => "at",
    }
}
