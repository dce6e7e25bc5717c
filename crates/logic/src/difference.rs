//! A decision procedure for *difference bounds*, asked before the solver. Most
//! queries of predicate abstraction are conjunctions of `x - y <= c`, `x <= c`,
//! equations and disequations of that form. Each bound is an edge of a graph
//! whose shortest distances are a model; a cycle of negative length is a core
//! (Bellman and Ford). A disequation that the model violates is split in two
//! cases, up to a budget.
//!
//! Queries may contain other literals. Then only `unsat` follows from the
//! graph; the model is a candidate that the caller has to evaluate.

use crate::atom::{Literal, Relation};
use crate::eval::Assignment;
use crate::formula::Formula;
use crate::literals::{Lit, Literals};
use crate::names::Var;
use crate::term::{Int, Key};
use rustc_hash::FxHashMap;

/// Larger constants are left to the solver, so that distances cannot overflow.
const MAX_CONSTANT: Int = 1 << 32;

/// Shortest-distance runs for one query; beyond, the solver decides.
const MAX_RUNS: u32 = 64;

/// `x - y <= c`, or as a gap `x - y != c`. `None` stands for the number 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bound {
    x: Option<Var>,
    y: Option<Var>,
    c: i64,
}

/// What a formula says in difference bounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    bounds: Vec<Bound>,
    gaps: Vec<Bound>,
    /// Whether the formula says something else besides.
    more: bool,
}

impl Form {
    pub(crate) fn of(formula: &Formula) -> Self {
        let mut form = Self::default();
        form.add(formula);
        form
    }

    fn add(&mut self, formula: &Formula) {
        match formula {
            Formula::True => {}
            Formula::And(parts) => parts.iter().for_each(|part| self.add(part)),
            Formula::Literal(literal) => self.add_literal(literal),
            Formula::False | Formula::Or(_) | Formula::Iff(_) => self.more = true,
        }
    }

    fn add_literal(&mut self, literal: &Literal) {
        let bound = literal.atom.bound();
        let (x, y) = match &**literal.atom.sum() {
            [(Key::Var(x), 1)] => (Some(*x), None),
            [(Key::Var(x), 1), (Key::Var(y), -1)] => (Some(*x), Some(*y)),
            _ => {
                self.more = true;
                return;
            }
        };
        if bound.abs() > MAX_CONSTANT {
            self.more = true;
            return;
        }
        let c = bound as i64;
        let at_most = Bound { x, y, c };
        match (literal.atom.relation(), literal.positive) {
            (Relation::Le, true) => self.bounds.push(at_most),
            (Relation::Le, false) => self.bounds.push(Bound {
                x: y,
                y: x,
                c: -c - 1,
            }),
            (Relation::Eq, true) => {
                self.bounds.push(at_most);
                self.bounds.push(Bound { x: y, y: x, c: -c });
            }
            (Relation::Eq, false) => self.gaps.push(at_most),
        }
    }
}

/// An edge `from -> to` of length `c`: `to - from <= c`, said by `tag`.
#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    c: i64,
    tag: Tag,
}

/// The literal (position in the query) or the open case that an edge is from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tag {
    Literal(u32),
    Case(u32),
}

struct Gap {
    x: u32,
    y: u32,
    c: i64,
    tag: Tag,
}

/// What the graph says about a query.
pub(crate) enum Finding {
    /// These positions of the query contradict each other.
    Unsat(Vec<Lit>),
    /// All difference bounds hold under [`Differences::model`]. `whole` says
    /// whether there were no other literals, so that this decides the query.
    Sat {
        /// Whether the query has difference bounds only.
        whole: bool,
    },
    /// The budget was used up.
    Open,
}

/// The graph; its buffers are kept from query to query.
#[derive(Default)]
pub(crate) struct Differences {
    /// Variable to node, valid where `stamp` is the current one. A map, since
    /// users may number their variables sparsely.
    nodes: FxHashMap<Var, (u32, u32)>,
    stamp: u32,
    vars: Vec<Option<Var>>,
    edges: Vec<Edge>,
    gaps: Vec<Gap>,
    distance: Vec<i64>,
    by_edge: Vec<u32>,
    walk: Vec<u32>,
    runs: u32,
}

const NO_EDGE: u32 = u32::MAX;

impl Differences {
    /// Decides `query` as far as difference bounds go.
    pub(crate) fn decide(&mut self, table: &Literals, query: &[Lit]) -> Finding {
        let whole = self.load(table, query);
        self.distance.clear();
        self.distance.resize(self.vars.len(), 0);
        match self.search(0) {
            None => Finding::Open,
            Some(Ok(())) => Finding::Sat { whole },
            Some(Err(tags)) => Finding::Unsat(
                tags.iter()
                    .filter_map(|tag| match tag {
                        Tag::Literal(at) => Some(query[*at as usize]),
                        Tag::Case(_) => None,
                    })
                    .collect(),
            ),
        }
    }

    fn load(&mut self, table: &Literals, query: &[Lit]) -> bool {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.nodes.clear();
            self.stamp = 1;
        }
        self.edges.clear();
        self.gaps.clear();
        self.vars.clear();
        self.vars.push(None);
        self.runs = 0;
        let mut whole = true;
        for (at, lit) in query.iter().enumerate() {
            let form = table.form(*lit);
            let tag = Tag::Literal(at as u32);
            whole &= !form.more;
            for Bound { x, y, c } in &form.bounds {
                let (to, from) = (self.node(*x), self.node(*y));
                self.edges.push(Edge {
                    from,
                    to,
                    c: *c,
                    tag,
                });
            }
            for Bound { x, y, c } in &form.gaps {
                let (x, y) = (self.node(*x), self.node(*y));
                self.gaps.push(Gap { x, y, c: *c, tag });
            }
        }
        whole
    }

    fn node(&mut self, var: Option<Var>) -> u32 {
        let Some(var) = var else { return 0 };
        let slot = self.nodes.entry(var).or_default();
        if slot.0 != self.stamp {
            *slot = (self.stamp, self.vars.len() as u32);
            self.vars.push(Some(var));
        }
        slot.1
    }

    /// The values found by the last run, which was `Sat`.
    pub(crate) fn model(&self) -> Assignment {
        let zero = self.distance[0];
        let values = self.vars.iter().zip(&self.distance);
        values
            .filter_map(|(var, d)| Some(((*var)?, Int::from(d - zero))))
            .collect()
    }

    /// Distances that respect all edges and gaps, or the tags that contradict
    /// each other, or nothing when the budget is used up.
    fn search(&mut self, depth: u32) -> Option<Result<(), Vec<Tag>>> {
        self.runs += 1;
        if self.runs > MAX_RUNS {
            return None;
        }
        if let Err(cycle) = self.relax()? {
            return Some(Err(cycle));
        }
        let between = |gap: &Gap| self.distance[gap.x as usize] - self.distance[gap.y as usize];
        let violated = self.gaps.iter().find(|gap| between(gap) == gap.c);
        let Some(&Gap { x, y, c, tag: gap }) = violated else {
            return Some(Ok(()));
        };
        let tag = Tag::Case(depth);
        let below = Edge {
            from: y,
            to: x,
            c: c - 1,
            tag,
        };
        let above = Edge {
            from: x,
            to: y,
            c: -c - 1,
            tag,
        };
        let mut core = vec![gap];
        let before = self.distance.clone();
        for case in [below, above] {
            // Any start would do; the old distances keep models small.
            self.distance.clone_from(&before);
            self.edges.push(case);
            let found = self.search(depth + 1);
            self.edges.pop();
            match found? {
                Ok(()) => return Some(Ok(())),
                Err(tags) if !tags.contains(&tag) => return Some(Err(tags)),
                Err(tags) => core.extend(tags.into_iter().filter(|t| *t != tag)),
            }
        }
        core.sort_unstable();
        core.dedup();
        Some(Err(core))
    }

    /// Bellman-Ford from the present distances (any start will do). `None`
    /// should not occur: after as many rounds as nodes there is a cycle.
    fn relax(&mut self) -> Option<Result<(), Vec<Tag>>> {
        self.by_edge.clear();
        self.by_edge.resize(self.vars.len(), NO_EDGE);
        for _ in 0..=self.vars.len() {
            let mut changed = false;
            for (i, edge) in self.edges.iter().enumerate() {
                let reached = self.distance[edge.from as usize] + edge.c;
                if reached < self.distance[edge.to as usize] {
                    self.distance[edge.to as usize] = reached;
                    self.by_edge[edge.to as usize] = i as u32;
                    changed = true;
                }
            }
            if !changed {
                return Some(Ok(()));
            }
            if let Some(node) = self.node_on_cycle() {
                return Some(Err(self.cycle(node)));
            }
        }
        None
    }

    /// The edge that gave `node` its distance.
    fn back(&self, node: u32) -> Option<&Edge> {
        self.edges.get(self.by_edge[node as usize] as usize)
    }

    /// A node from which [`Self::back`] leads to itself.
    fn node_on_cycle(&mut self) -> Option<u32> {
        self.walk.clear();
        self.walk.resize(self.vars.len(), NO_EDGE);
        for start in 0..self.vars.len() as u32 {
            let mut at = start;
            while self.walk[at as usize] == NO_EDGE {
                self.walk[at as usize] = start;
                match self.back(at) {
                    Some(edge) => at = edge.from,
                    None => break,
                }
            }
            // Met on this very walk, and not because the walk ended there.
            if self.walk[at as usize] == start && self.back(at).is_some() {
                return Some(at);
            }
        }
        None
    }

    /// The tags of the cycle through `node`; its length is negative.
    fn cycle(&self, node: u32) -> Vec<Tag> {
        let (mut at, mut tags, mut length) = (node, Vec::new(), 0);
        while let Some(edge) = self.back(at) {
            tags.push(edge.tag);
            length += edge.c;
            at = edge.from;
            if at == node {
                break;
            }
        }
        assert!(
            at == node && length < 0,
            "a cycle of predecessors has negative length"
        );
        tags.sort_unstable();
        tags.dedup();
        tags
    }
}
