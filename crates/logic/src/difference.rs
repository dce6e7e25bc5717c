//! A decision procedure for *difference bounds*, asked before the solver. Most
//! queries of predicate abstraction are conjunctions of `x - y <= c`, `x <= c`,
//! equations and disequations of that form. Each bound is an edge of a graph
//! whose shortest distances are a model; a cycle of negative length is a core
//! (Bellman and Ford). A disequation that the model violates is split in two
//! cases, a disjunction of such conjunctions into its own, up to a budget.
//!
//! Queries may contain other literals. Then only `unsat` follows from the
//! graph; the model is a candidate that the caller has to evaluate.

use crate::eval::Assignment;
use crate::form::{Bound, Form, Place, ZERO};
use crate::literals::{Lit, Literals};
use crate::refutation::{Edge, Refutation, Tag};
use crate::term::Int;
use std::sync::Arc;

/// Shortest-distance runs for one query; beyond, the solver decides.
const MAX_RUNS: u32 = 64;

#[derive(Clone, Copy)]
struct Gap {
    x: u32,
    y: u32,
    c: i64,
    tag: Tag,
}

/// How far the three lists of a query reached before a case was added.
struct Mark {
    edges: usize,
    gaps: usize,
    choices: usize,
}

/// Distances were found, or a refutation, or neither within the budget.
type Found = Option<Result<(), Refutation>>;

/// What the graph says about a query.
pub(crate) enum Finding {
    /// The bounds contradict each other.
    Unsat(Refutation),
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
    /// Place to node, valid where `stamp` is the current one.
    nodes: Vec<(u32, u32)>,
    stamp: u32,
    /// The place of each node; the first is [`ZERO`].
    places: Vec<Place>,
    edges: Vec<Edge>,
    gaps: Vec<Gap>,
    choices: Vec<(Arc<[Form]>, Tag)>,
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
        self.distance.resize(self.places.len(), 0);
        match self.search(0) {
            None => Finding::Open,
            Some(Ok(())) => Finding::Sat { whole },
            Some(Err(refutation)) => Finding::Unsat(refutation),
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
        self.choices.clear();
        self.places.clear();
        self.runs = 0;
        let mut whole = true;
        self.node(ZERO);
        for (at, lit) in query.iter().enumerate() {
            let form = table.form(*lit);
            whole &= !form.more;
            form.for_each_place(&mut |place| {
                self.node(place);
            });
            self.add(form, Tag::Literal(at as u32));
        }
        whole
    }

    /// Adds what `form` says; its variables have nodes already.
    fn add(&mut self, form: &Form, tag: Tag) {
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
        self.choices
            .extend(form.choices.iter().map(|forms| (Arc::clone(forms), tag)));
    }

    fn mark(&self) -> Mark {
        Mark {
            edges: self.edges.len(),
            gaps: self.gaps.len(),
            choices: self.choices.len(),
        }
    }

    fn undo(&mut self, mark: &Mark) {
        self.edges.truncate(mark.edges);
        self.gaps.truncate(mark.gaps);
        self.choices.truncate(mark.choices);
    }

    fn node(&mut self, place: Place) -> u32 {
        let index = place as usize;
        if index >= self.nodes.len() {
            self.nodes.resize(index + 1, (0, 0));
        }
        if self.nodes[index].0 != self.stamp {
            self.nodes[index] = (self.stamp, self.places.len() as u32);
            self.places.push(place);
        }
        self.nodes[index].1
    }

    /// The values found by the last run, which was `Sat`.
    pub(crate) fn model(&self, table: &Literals) -> Assignment {
        let vars = &table.places().vars;
        let zero = self.distance[0];
        let values = self.places.iter().zip(&self.distance).skip(1);
        values
            .map(|(place, d)| (vars[*place as usize], Int::from(d - zero)))
            .collect()
    }

    /// Distances that respect all edges, gaps and choices, or a refutation, or
    /// nothing when the budget is used up.
    fn search(&mut self, depth: u32) -> Found {
        self.runs += 1;
        if self.runs > MAX_RUNS {
            return None;
        }
        if let Err(cycle) = self.relax()? {
            return Some(Err(cycle));
        }
        let violated = self
            .gaps
            .iter()
            .find(|gap| self.between(gap.x, gap.y) == gap.c);
        if let Some(gap) = violated.copied() {
            return self.split_gap(gap, depth);
        }
        let open = self
            .choices
            .iter()
            .find(|(forms, _)| !forms.iter().any(|f| self.holds(f)));
        if let Some((forms, tag)) = open.cloned() {
            return self.split_choice(&forms, tag, depth);
        }
        Some(Ok(()))
    }

    fn between(&self, x: u32, y: u32) -> i64 {
        self.distance[x as usize] - self.distance[y as usize]
    }

    /// Whether `form` holds under the present distances.
    fn holds(&self, form: &Form) -> bool {
        let node = |place: Place| self.nodes[place as usize].1;
        let value = |bound: &Bound| self.between(node(bound.x), node(bound.y));
        form.bounds.iter().all(|bound| value(bound) <= bound.c)
            && form.gaps.iter().all(|gap| value(gap) != gap.c)
            && form
                .choices
                .iter()
                .all(|forms| forms.iter().any(|f| self.holds(f)))
    }

    /// `x - y != c` is `x - y <= c - 1` or `y - x <= -c - 1`.
    fn split_gap(&mut self, gap: Gap, depth: u32) -> Found {
        let Gap {
            x,
            y,
            c,
            tag: reason,
        } = gap;
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
        self.cases(&[below, above], reason, depth, |own, edge| {
            own.edges.push(*edge);
        })
    }

    fn split_choice(&mut self, forms: &[Form], reason: Tag, depth: u32) -> Found {
        self.cases(forms, reason, depth, |own, form| {
            own.add(form, Tag::Case(depth));
        })
    }

    /// Tries the cases one by one. A refutation that does not use its case is
    /// one for the whole.
    fn cases<T>(
        &mut self,
        cases: &[T],
        reason: Tag,
        depth: u32,
        assume: impl Fn(&mut Self, &T),
    ) -> Found {
        let tag = Tag::Case(depth);
        let (mark, before) = (self.mark(), self.distance.clone());
        let mut parts = Vec::new();
        for case in cases {
            // Any start would do; the old distances keep models small.
            self.distance.clone_from(&before);
            assume(self, case);
            let found = self.search(depth + 1);
            self.undo(&mark);
            match found? {
                Ok(()) => return Some(Ok(())),
                Err(part) if !part.uses(tag) => return Some(Err(part)),
                Err(part) => parts.push(part),
            }
        }
        Some(Err(Refutation::Cases {
            reason,
            depth,
            parts,
        }))
    }

    /// Bellman-Ford from the present distances (any start will do). `None`
    /// should not occur: after as many rounds as nodes there is a cycle.
    fn relax(&mut self) -> Found {
        self.by_edge.clear();
        self.by_edge.resize(self.places.len(), NO_EDGE);
        for _ in 0..=self.places.len() {
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
        self.walk.resize(self.places.len(), NO_EDGE);
        for start in 0..self.places.len() as u32 {
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

    /// The edges of the cycle through `node`, in its direction.
    fn cycle(&self, node: u32) -> Refutation {
        let (mut at, mut edges, mut length) = (node, Vec::new(), 0);
        while let Some(edge) = self.back(at) {
            length += edge.c;
            at = edge.from;
            let place = |node: u32| self.places[node as usize];
            edges.push(Edge {
                from: place(edge.from),
                to: place(edge.to),
                ..*edge
            });
            if at == node {
                break;
            }
        }
        assert!(
            at == node && length < 0,
            "a cycle of predecessors has negative length"
        );
        edges.reverse();
        Refutation::Cycle(edges)
    }
}
