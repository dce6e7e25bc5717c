//! *Forgetting* variables: the program in which nobody knows what some variables hold. What is
//! written to them goes nowhere, and what is read from them may be anything.
//!
//! | step | with a forgotten variable |
//! |---|---|
//! | store, put or get into it | nothing |
//! | load from it | the local gets any value |
//!
//! **No violation is lost**, whatever the memory model. Take a run of the program and leave out
//! the memory of the forgotten variables, and the buffered stores and pending operations that write
//! to them. It is a run of the changed program: a load has some value, and one of any is allowed;
//! fences, flushes and atomic blocks wait for what is left, which is less; nothing else reads what
//! was left out, since [`without`] refuses variables that properties speak of, or that remote
//! operations read. Edges and locations keep their numbers, so that assertions and properties see
//! the same locations and locals. The changed program has more runs: a violation of it need
//! not be one of the program.

use crate::cfg::{Cfg, Place, Step};
use crate::ids::GlobalId;
use crate::program::Program;
use crate::property::PropAtom;

/// The program without what these variables hold. `None` if one of them cannot be forgotten: a
/// property or a remote operation reads it, a remote atomic operation changes it, or there is
/// no such variable.
pub fn without(program: &Program, forgotten: &[GlobalId]) -> Option<Program> {
    let exist = forgotten.iter().all(|v| v.index() < program.globals.len());
    if !exist || is_asked_about(program, forgotten) {
        return None;
    }
    let mut changed = program.clone();
    for template in &mut changed.templates {
        forget(&mut template.cfg, forgotten)?;
    }
    Some(changed)
}

/// Whether a property speaks of one of the variables.
fn is_asked_about(program: &Program, forgotten: &[GlobalId]) -> bool {
    let mut found = false;
    for property in &program.properties {
        property.cond.for_each_atom(&mut |atom| match atom {
            PropAtom::Global(var, _) => found |= forgotten.contains(var),
            PropAtom::Local(..) | PropAtom::SelfOf(_) | PropAtom::At(..) => {}
        });
    }
    found
}

fn forget(cfg: &mut Cfg, forgotten: &[GlobalId]) -> Option<()> {
    let is = |place: &Place| forgotten.contains(&place.var);
    for edge in &mut cfg.edges {
        match &mut edge.step {
            Step::Load { dst, src } if is(src) => {
                edge.step = Step::Havoc {
                    dst: *dst,
                    domain: None,
                };
            }
            Step::Store { dst, .. } if is(dst) => edge.step = Step::Skip,
            Step::Put {
                remote: to,
                local: from,
            }
            | Step::Get {
                local: to,
                remote: from,
            } => match (is(from), is(to)) {
                (_, true) => edge.step = Step::Skip,
                (true, false) => return None,
                (false, false) => {}
            },
            Step::RemoteAtomic(atomic) if atomic.places().any(is) => return None,
            Step::Atomic(atomic) => forget(&mut atomic.body, forgotten)?,
            Step::Load { .. } | Step::Store { .. } | Step::RemoteAtomic(_) => {}
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
            Step::Fence(_) | Step::Assert { .. } | Step::Flush(_) => {}
        }
    }
    Some(())
}
