//! A *graph* under construction: the control flow of one thread, in which the start
//! and the end of atomic regions are still edges of their own. Finishing it turns
//! each region into one atomic block, wherever its ends stand: after the regular
//! end, after an early `return`, in another function.

use std::collections::BTreeMap;

use palisade_program::{
    Atomic, AtomicKind, BinOp, Cfg, CfgBuilder, Expr, FenceKind, LocId, LocalAtom, LocalExpr,
    LocalId, Span, Step,
};

use crate::diagnostic::Diagnostic;

/// What an edge does.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Step(Step),
    /// From here on, up to the matching [`Op::End`], nothing interleaves.
    Begin(AtomicKind),
    End,
}

#[derive(Clone, Debug)]
struct Edge {
    from: LocId,
    to: LocId,
    op: Op,
    span: Span,
}

/// Locations and edges.
#[derive(Default)]
pub(super) struct Graph {
    /// The call of a function of our headers that is lowered: what it does is done there.
    pub(super) site: Option<Span>,
    edges: Vec<Edge>,
    locs: usize,
}

/// Regions inside regions deeper than this are refused.
const MAX_NESTING: u32 = 8;

impl Graph {
    pub(super) fn loc(&mut self) -> LocId {
        self.locs += 1;
        LocId::from(self.locs - 1)
    }

    /// Where a step stands that is written at `span`.
    pub(super) fn place(&self, span: Span) -> Span {
        self.site.unwrap_or(span)
    }

    pub(super) fn edge(&mut self, from: LocId, op: Op, to: LocId, span: Span) {
        let span = self.place(span);
        self.edges.push(Edge { from, to, op, span });
    }

    pub(super) fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The finished graph. `fresh` makes a new local, for regions with several ends.
    pub(super) fn finish(
        mut self,
        entry: LocId,
        exit: LocId,
        fresh: &mut dyn FnMut() -> LocalId,
    ) -> Result<Cfg, Diagnostic> {
        let (entry, exit) = self.merge_skips(entry, exit);
        let mut outgoing = vec![Vec::new(); self.locs];
        for (i, edge) in self.edges.iter().enumerate() {
            outgoing[edge.from.index()].push(i);
        }
        let mut builder = CfgBuilder::new();
        (0..self.locs).for_each(|_| {
            builder.loc();
        });
        for edge in self.edges.clone() {
            match edge.op {
                Op::Step(step) => builder.edge(edge.from, step, edge.to, edge.span),
                Op::Begin(kind) => {
                    let region = self.region(edge.to, exit, &outgoing, edge.span)?;
                    region.emit(kind, &edge, &mut builder, fresh);
                }
                // Reached from inside regions only: those edges are in the blocks.
                // Outside of any region it does nothing.
                Op::End => builder.edge(edge.from, Step::Skip, edge.to, edge.span),
            }
        }
        Ok(builder.finish(entry, exit).0)
    }

    /// A place whose only step is to do nothing is the place behind it.
    fn merge_skips(&mut self, entry: LocId, exit: LocId) -> (LocId, LocId) {
        let mut count = vec![0; self.locs];
        for edge in &self.edges {
            count[edge.from.index()] += 1;
        }
        let mut target: Vec<Option<LocId>> = vec![None; self.locs];
        for edge in &self.edges {
            let skip = matches!(edge.op, Op::Step(Step::Skip));
            if skip && count[edge.from.index()] == 1 && edge.from != exit {
                target[edge.from.index()] = Some(edge.to);
            }
        }
        let follow = |start: LocId| {
            let mut at = start;
            // A cycle of skips (an empty endless loop) stops somewhere on it.
            for _ in 0..target.len() {
                match target[at.index()] {
                    Some(next) => at = next,
                    None => return at,
                }
            }
            start
        };
        let endless = |loc: LocId| target[follow(loc).index()].is_some();
        let kept: Vec<Edge> = self
            .edges
            .iter()
            .filter(|e| target[e.from.index()].is_none() || endless(e.from))
            .map(|e| {
                let to = if endless(e.to) { e.to } else { follow(e.to) };
                Edge { to, ..e.clone() }
            })
            .collect();
        self.edges = kept;
        let entry = if endless(entry) { entry } else { follow(entry) };
        (entry, exit)
    }

    /// What runs from `start` up to the ends of the region.
    fn region(
        &self,
        start: LocId,
        exit: LocId,
        outgoing: &[Vec<usize>],
        span: Span,
    ) -> Result<Region, Diagnostic> {
        let mut region = Region::default();
        let mut work = vec![region.node(start, 1)];
        let mut done = 0;
        while let Some((loc, depth)) = work.pop() {
            done += 1;
            if loc == exit {
                region.leave(loc, depth, loc);
                continue;
            }
            for &i in &outgoing[loc.index()] {
                let edge = &self.edges[i];
                let (step, to_depth) = match &edge.op {
                    Op::Step(Step::Fence(
                        FenceKind::Full | FenceKind::StoreStore | FenceKind::Ordered(_),
                    )) => (Step::Skip, depth),
                    Op::Step(step) => (step.clone(), depth),
                    Op::Begin(_) => (Step::Skip, depth + 1),
                    Op::End => (Step::Skip, depth - 1),
                };
                if to_depth > MAX_NESTING {
                    return Err(Diagnostic::error(
                        span,
                        "unsupported: atomic regions nested too deeply",
                    )
                    .help("end each region once on every path"));
                }
                if to_depth == 0 {
                    region.leave(loc, depth, edge.to);
                } else {
                    let new = !region.nodes.contains_key(&(edge.to, to_depth));
                    let node = region.node(edge.to, to_depth);
                    region
                        .edges
                        .push(((loc, depth), step, (edge.to, to_depth), edge.span));
                    if new {
                        work.push(node);
                    }
                }
            }
        }
        debug_assert!(done <= self.locs * MAX_NESTING as usize + 1);
        Ok(region)
    }
}

/// A place in a region: the location, and how many regions are open there.
type Node = (LocId, u32);

/// An atomic region.
#[derive(Default)]
struct Region {
    nodes: BTreeMap<Node, usize>,
    order: Vec<Node>,
    edges: Vec<(Node, Step, Node, Span)>,
    /// Where it is left, and where to.
    leaves: Vec<(Node, LocId)>,
}

impl Region {
    fn node(&mut self, loc: LocId, depth: u32) -> Node {
        let next = self.nodes.len();
        if let std::collections::btree_map::Entry::Vacant(entry) = self.nodes.entry((loc, depth)) {
            entry.insert(next);
            self.order.push((loc, depth));
        }
        (loc, depth)
    }

    fn leave(&mut self, loc: LocId, depth: u32, to: LocId) {
        self.leaves.push(((loc, depth), to));
    }

    /// Adds the region as one atomic step, and where it leads after it.
    fn emit(
        &self,
        kind: AtomicKind,
        begin: &Edge,
        builder: &mut CfgBuilder,
        fresh: &mut dyn FnMut() -> LocalId,
    ) {
        let mut targets: Vec<LocId> = self.leaves.iter().map(|(_, to)| *to).collect();
        targets.sort_unstable();
        targets.dedup();
        let mut body = CfgBuilder::new();
        let locs: Vec<LocId> = self.order.iter().map(|_| body.loc()).collect();
        let at = |node: &Node| locs[self.nodes[node]];
        let end = body.loc();
        for (from, step, to, span) in &self.edges {
            body.edge(at(from), step.clone(), at(to), *span);
        }
        let which = (targets.len() > 1).then(fresh);
        for (node, to) in &self.leaves {
            let number = targets.iter().position(|t| t == to).unwrap_or(0) as i64;
            let step = which.map_or(Step::Skip, |dst| Step::Assign {
                dst,
                value: Expr::Const(number),
            });
            body.edge(at(node), step, end, begin.span);
        }
        let entry = locs[0];
        let (cfg, _) = body.finish(entry, end);
        let cfg = without_skips(&cfg);
        let step = Step::Atomic(Box::new(Atomic { kind, body: cfg }));
        match (which, targets.as_slice()) {
            (None, [to]) => builder.edge(begin.from, step, *to, begin.span),
            (None, _) => {
                // It never ends: a block that cannot happen.
                let nowhere = builder.loc();
                builder.edge(begin.from, step, nowhere, begin.span);
            }
            (Some(which), targets) => {
                let after = builder.loc();
                builder.edge(begin.from, step, after, begin.span);
                for (number, to) in targets.iter().enumerate() {
                    let here = LocalExpr::binary(
                        BinOp::Eq,
                        Expr::Atom(LocalAtom::Local(which)),
                        Expr::Const(number as i64),
                    );
                    builder.edge(after, Step::Assume(here), *to, begin.span);
                }
            }
        }
    }
}

/// A finished graph with places merged whose only step does nothing.
pub(crate) fn without_skips(cfg: &Cfg) -> Cfg {
    let mut graph = Graph {
        site: None,
        locs: cfg.loc_count(),
        edges: Vec::new(),
    };
    for edge in &cfg.edges {
        graph.edge(edge.from, Op::Step(edge.step.clone()), edge.to, edge.span);
    }
    let (entry, exit) = graph.merge_skips(cfg.entry, cfg.exit);
    let mut builder = CfgBuilder::new();
    (0..graph.locs).for_each(|_| {
        builder.loc();
    });
    for edge in graph.edges {
        if let Op::Step(step) = edge.op {
            builder.edge(edge.from, step, edge.to, edge.span);
        }
    }
    builder.finish(entry, exit).0
}
