//! A *graph* under construction: locations and edges of one thread or of one
//! atomic block. Two locations can be made one (a `goto` makes the place it
//! stands at and its label one), so that jumps cost no step.

use palisade_program::{Cfg, CfgBuilder, Edge, LocId, Span, Step};

/// Locations, edges, and which locations are one.
#[derive(Default)]
pub(super) struct Graph {
    edges: Vec<Edge>,
    /// Union-find: the parent of each location; roots are their own.
    parent: Vec<u32>,
    /// Whether a root carries a label, and so must not vanish into another place.
    labelled: Vec<bool>,
}

impl Graph {
    /// A new location.
    pub(super) fn loc(&mut self) -> LocId {
        self.parent.push(self.parent.len() as u32);
        self.labelled.push(false);
        LocId::from(self.parent.len() - 1)
    }

    /// The location that stands for all those made one with `loc`.
    pub(super) fn root(&mut self, loc: LocId) -> LocId {
        let mut at = loc.index();
        while self.parent[at] as usize != at {
            // Path halving.
            self.parent[at] = self.parent[self.parent[at] as usize];
            at = self.parent[at] as usize;
        }
        LocId::from(at)
    }

    pub(super) fn same(&mut self, a: LocId, b: LocId) -> bool {
        self.root(a) == self.root(b)
    }

    /// Makes two locations one.
    pub(super) fn unify(&mut self, a: LocId, b: LocId) {
        let (a, b) = (self.root(a).index(), self.root(b).index());
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high] = low as u32;
        self.labelled[low] |= self.labelled[high];
    }

    pub(super) fn set_labelled(&mut self, loc: LocId) {
        let root = self.root(loc);
        self.labelled[root.index()] = true;
    }

    pub(super) fn is_labelled(&mut self, loc: LocId) -> bool {
        let root = self.root(loc);
        self.labelled[root.index()]
    }

    pub(super) fn edge(&mut self, from: LocId, step: Step, to: LocId, span: Span) {
        self.edges.push(Edge {
            from,
            to,
            step,
            span,
        });
    }

    pub(super) fn edge_mut(&mut self, index: usize) -> &mut Edge {
        &mut self.edges[index]
    }

    pub(super) fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The finished graph, and the new number of each location that is in it.
    pub(super) fn finish(mut self, entry: LocId, exit: LocId) -> (Cfg, Vec<Option<LocId>>) {
        let mut builder = CfgBuilder::new();
        for _ in 0..self.parent.len() {
            builder.loc();
        }
        for edge in std::mem::take(&mut self.edges) {
            let (from, to) = (self.root(edge.from), self.root(edge.to));
            builder.edge(from, edge.step, to, edge.span);
        }
        let (entry, exit) = (self.root(entry), self.root(exit));
        let (cfg, map) = builder.finish(entry, exit);
        let numbers = (0..self.parent.len())
            .map(|loc| map[self.root(LocId::from(loc)).index()])
            .collect();
        (cfg, numbers)
    }
}
