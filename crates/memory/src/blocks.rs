//! Building blocks of the reductions: expressions over locals, atomic blocks as
//! sums of alternatives, and the cells that a place may name.

use palisade_program::cfg::{Atomic, AtomicKind, Cfg, CfgBuilder, Place, Step, local};
use palisade_program::{
    BinOp, Cell, Domain, Expr, LocId, LocalExpr, LocalId, Order, Program, Span, Template,
};

/// `local == value`.
pub fn equals(id: LocalId, value: i64) -> LocalExpr {
    Expr::binary(BinOp::Eq, local(id), Expr::Const(value))
}

/// `dst = value`.
pub fn assign(dst: LocalId, value: LocalExpr) -> Step {
    Step::Assign { dst, value }
}

/// `dst = constant`.
pub fn set(dst: LocalId, value: i64) -> Step {
    assign(dst, Expr::Const(value))
}

/// The numbers from 0 to `hi`.
pub const fn range(hi: u32) -> Option<Domain> {
    Some(Domain {
        lo: 0,
        hi: hi as i64,
    })
}

/// An atomic block that does one of the alternatives, each a sequence of steps.
pub fn either(alternatives: Vec<Vec<Step>>, span: Span) -> Step {
    let mut builder = CfgBuilder::new();
    let (entry, exit) = (builder.loc(), builder.loc());
    for steps in alternatives {
        let mut at = entry;
        let count = steps.len();
        for (i, step) in steps.into_iter().enumerate() {
            let to = if i + 1 == count { exit } else { builder.loc() };
            builder.edge(at, step, to, span);
            at = to;
        }
        if count == 0 {
            builder.edge(at, Step::Skip, exit, span);
        }
    }
    let (body, _) = builder.finish(entry, exit);
    Step::Atomic(Box::new(Atomic {
        kind: AtomicKind::Block,
        body,
    }))
}

/// Alternatives, each a sequence of steps, one of which is done.
pub type Segment = Vec<Vec<Step>>;

/// An atomic block that does one of the chains: its segments one after another.
pub fn chains(chains: Vec<Vec<Segment>>, span: Span) -> Step {
    let mut builder = CfgBuilder::new();
    let (entry, exit) = (builder.loc(), builder.loc());
    for chain in chains {
        splice(&mut builder, entry, chain, exit, span);
    }
    let (body, _) = builder.finish(entry, exit);
    Step::Atomic(Box::new(Atomic {
        kind: AtomicKind::Block,
        body,
    }))
}

/// Adds the segments of a chain between two locations.
pub fn splice(builder: &mut CfgBuilder, from: LocId, chain: Vec<Segment>, to: LocId, span: Span) {
    let count = chain.len();
    let mut at = from;
    for (number, segment) in chain.into_iter().enumerate() {
        let end = if number + 1 == count {
            to
        } else {
            builder.loc()
        };
        for steps in segment {
            let steps = if steps.is_empty() {
                vec![Step::Skip]
            } else {
                steps
            };
            let (mut here, last) = (at, steps.len() - 1);
            for (i, step) in steps.into_iter().enumerate() {
                let next = if i == last { end } else { builder.loc() };
                builder.edge(here, step, next, span);
                here = next;
            }
        }
        at = end;
    }
    if count == 0 {
        builder.edge(from, Step::Skip, to, span);
    }
}

/// The atomic block `body` with a condition in front. Edges of the body keep
/// their order, after the one of the condition.
pub fn guarded(condition: LocalExpr, kind: AtomicKind, body: &Cfg, span: Span) -> Step {
    let mut builder = CfgBuilder::new();
    let entry = builder.loc();
    let locs: Vec<_> = body.locs().map(|_| builder.loc()).collect();
    builder.edge(
        entry,
        Step::Assume(condition),
        locs[body.entry.index()],
        span,
    );
    for edge in &body.edges {
        let (from, to) = (locs[edge.from.index()], locs[edge.to.index()]);
        builder.edge(from, edge.step.clone(), to, edge.span);
    }
    let (body, _) = builder.finish(entry, locs[body.exit.index()]);
    Step::Atomic(Box::new(Atomic { kind, body }))
}

/// A block that only reads: `body` with the ways of `loads` in place of each load.
/// Edges of the body keep their numbers; a load's is a `skip` to where its ways
/// start, and the edges of these come behind all others.
pub fn snapshot(body: &Cfg, loads: &dyn Fn(LocalId, &Place) -> Vec<Vec<Step>>) -> Step {
    let mut builder = CfgBuilder::new();
    for _ in body.locs() {
        builder.loc();
    }
    for edge in &body.edges {
        let Step::Load { dst, src } = &edge.step else {
            builder.edge(edge.from, edge.step.clone(), edge.to, edge.span);
            continue;
        };
        let start = builder.loc();
        builder.edge(edge.from, Step::Skip, start, edge.span);
        for steps in loads(*dst, src) {
            let mut at = start;
            for step in steps {
                let next = builder.loc();
                builder.edge(at, step, next, edge.span);
                at = next;
            }
            builder.edge(at, Step::Skip, edge.to, edge.span);
        }
    }
    // No location is lost, and edges are sorted by their source: see above.
    let body = builder.finish_whole(body.entry, body.exit);
    let kind = AtomicKind::Block;
    Step::Atomic(Box::new(Atomic { kind, body }))
}

/// The cells that a place may name, each with the conditions under which it does.
pub fn cells(program: &Program, place: &Place) -> Vec<(Vec<Step>, Cell)> {
    match &place.index {
        None => vec![(Vec::new(), program.cell(place.var, 0))],
        Some(Expr::Const(c)) => vec![(Vec::new(), program.cell(place.var, *c as u32))],
        Some(index) => (0..program.global(place.var).cell_count() as u32)
            .map(|element| {
                let here = Expr::binary(BinOp::Eq, index.clone(), Expr::Const(i64::from(element)));
                (vec![Step::Assume(here)], program.cell(place.var, element))
            })
            .collect(),
    }
}

/// The place that is a cell.
pub fn place_of(program: &Program, cell: Cell) -> Place {
    let (var, element) = program.variable_of(cell);
    let index = program
        .global(var)
        .len
        .map(|_| Expr::Const(i64::from(element)));
    let order = Order::Plain;
    Place { var, index, order }
}

/// The cells that a template may write outside atomic blocks, in order (Rule 5
/// of [Dan et al., SAS 2013]: the others need no buffer).
pub fn written_cells(program: &Program, template: &Template) -> Vec<Cell> {
    let mut written = Vec::new();
    for edge in &template.cfg.edges {
        if let Step::Store { dst, .. } = &edge.step {
            written.extend(cells(program, dst).into_iter().map(|(_, cell)| cell));
        }
    }
    written.sort_unstable();
    written.dedup();
    written
}
