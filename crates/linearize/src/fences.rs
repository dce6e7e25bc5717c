//! *Fences* in data structures: where one may stand, and the program with some. The candidates are the places behind plain stores:
//! with a fence behind each of them no store waits while its thread goes on, which is SC. A fence elsewhere may do the work of
//! several of these; such places are not tried.

use palisade_program::heap::{Body, Edge, Location, Program, Step};
use palisade_program::{LocId, Span};

/// Whether the edge is a store that waits in a buffer.
fn stores(body: &Body, edge: &Edge) -> bool {
    let atomic = |at: LocId| body.locations[at.index()].atomic;
    matches!(edge.step, Step::Write { .. }) && !atomic(edge.from) && !atomic(edge.to)
}

/// The statements of methods that store, in the order of the text, each with what stands between it and a fence behind it: its commit points.
pub fn candidates(program: &Program) -> Vec<(Span, Span)> {
    let mut all: Vec<(Span, Span)> = Vec::new();
    for method in &program.methods {
        for edge in method.body.edges.iter().filter(|e| stores(&method.body, e)) {
            let behind = edge.commits.iter().map(|commit| commit.span);
            let behind = behind.filter(|commit| commit.start >= edge.span.end);
            let last = behind.max_by_key(|span| span.end).unwrap_or(edge.span);
            match all.iter_mut().find(|(span, _)| *span == edge.span) {
                Some((_, known)) if last.end > known.end => *known = last,
                Some(_) => {}
                None => all.push((edge.span, last)),
            }
        }
    }
    all.sort_by_key(|(span, _)| (span.start, span.end));
    all
}

/// The program with a fence behind these stores, in the same step as nothing else. Commit points stay with the stores.
#[must_use]
pub fn with_fences(program: &Program, behind: &[Span]) -> Program {
    let mut program = program.clone();
    for method in &mut program.methods {
        let body = &mut method.body;
        let edges = 0..body.edges.len();
        let chosen: Vec<usize> = edges
            .filter(|&index| {
                let edge = &body.edges[index];
                stores(body, edge) && behind.contains(&edge.span)
            })
            .collect();
        for index in chosen {
            let at = LocId::from(body.locations.len());
            body.locations.push(Location::default());
            let edge = &mut body.edges[index];
            let fence = Edge {
                from: at,
                to: edge.to,
                step: Step::Fence,
                commits: Vec::new(),
                span: edge.span,
            };
            edge.to = at;
            body.edges.push(fence);
        }
    }
    program
}

/// Whether a fence behind the edge would be behind a store.
pub(crate) fn is_candidate(body: &Body, edge: usize) -> bool {
    stores(body, &body.edges[edge])
}
