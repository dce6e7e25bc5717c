//! *Direct stores*: stores that wait until the thread's buffers are empty and reach
//! memory at once, as atomic blocks of one store do. Which stores of a program may be
//! made unbuffered without losing a violation is for the memory models to say; here is
//! what the program is then.

use crate::cfg::{Atomic, AtomicKind, CfgBuilder, Step};
use crate::ids::{EdgeId, TemplateId};
use crate::program::Program;
use crate::source::Span;

/// A store of the program: its template and its edge there.
pub type StoreEdge = (TemplateId, EdgeId);

/// The program with these stores unbuffered. Edges and locations keep their numbers.
/// `None` if one of them is no store.
pub fn with_unbuffered(program: &Program, direct: &[StoreEdge]) -> Option<Program> {
    let mut changed = program.clone();
    for (template, edge) in direct {
        let template = changed.templates.get_mut(template.index())?;
        let edge = template.cfg.edges.get_mut(edge.index())?;
        if !matches!(edge.step, Step::Store { .. }) {
            return None;
        }
        edge.step = alone(std::mem::replace(&mut edge.step, Step::Skip), edge.span);
    }
    Some(changed)
}

/// The step as an atomic block.
fn alone(step: Step, span: Span) -> Step {
    let mut builder = CfgBuilder::new();
    let (entry, exit) = (builder.loc(), builder.loc());
    builder.edge(entry, step, exit, span);
    let (body, _) = builder.finish(entry, exit);
    Step::Atomic(Box::new(Atomic {
        kind: AtomicKind::Block,
        body,
    }))
}
