//! *Spin locks*: a shared bool or number that threads take with `cas(b, false, true)` (0 and 1) and
//! give back with `b = false` is a lock, and here it becomes one: the model has words for locks, and
//! would leave the variable out otherwise.
//!
//! The program with locks has every run of the original, as far as it is proved. A `cas` that
//! succeeds takes the lock; one that fails, and a read, may come out either way. A write gives the
//! lock back; that is wrong if the thread does not hold it, and the model complains: if it does
//! not, every write in a run of the original was the holder's, and the run is one with locks.

use palisade_program::SharedId;
use palisade_program::heap::{Cond, Edge, Place, Program, Step, Term, Type};

/// The program with locks for its spin locks.
pub(crate) fn with_locks(program: &Program) -> Program {
    let mut changed = program.clone();
    for id in (0..program.shared.len()).map(SharedId::from) {
        let Some(words) = words(program, id) else {
            continue;
        };
        if !is_lock(program, id, words) {
            continue;
        }
        changed.shared[id.index()].ty = Type::Lock;
        let place = Place::Shared(id);
        for method in &mut changed.methods {
            for edge in &mut method.body.edges {
                edge.step = locked(&edge.step, place);
            }
        }
        // `init` finds it free and leaves it so.
        for edge in changed.init.iter_mut().flat_map(|body| &mut body.edges) {
            if edge.step.written().is_some_and(|(to, _)| to == place) {
                edge.step = Step::Skip;
            }
        }
    }
    changed
}

/// How a variable says that it is free, and that it is taken.
fn words(program: &Program, id: SharedId) -> Option<(Term, Term)> {
    let shared = &program.shared[id.index()];
    let words = match shared.ty {
        Type::Bool => (Term::Bool(false), Term::Bool(true)),
        Type::Int => (Term::Int(0), Term::Int(1)),
        Type::Data | Type::Lock | Type::Pointer(_) => return None,
    };
    (shared.init == words.0).then_some(words)
}

/// Whether the variable is used as a lock only.
fn is_lock(program: &Program, id: SharedId, (free, taken): (Term, Term)) -> bool {
    let place = Place::Shared(id);
    let takes = |step: &Step| {
        matches!(step, Step::Cas { at, expect, new, .. }
            if (*at, *expect, *new) == (place, free, taken))
    };
    let fits = |edge: &Edge| {
        let swapped = edge.step.swapped().is_some_and(|(at, _)| at == place);
        let written = edge.step.written();
        let freed = written.is_none_or(|(to, value)| to != place || value == free);
        let claims = edge.commits.iter().any(|commit| speaks(&commit.when, id));
        (!swapped || takes(&edge.step)) && freed && !claims
    };
    // Alone, `init` may say once more that it is free.
    let apart = |edge: &Edge| edge.step.place() != Some(place) || edge.step.written().is_some();
    let mut edges = program.methods.iter().flat_map(|m| &m.body.edges);
    let mut init = program.init.iter().flat_map(|body| &body.edges);
    edges.clone().any(|edge| takes(&edge.step))
        && edges.all(fits)
        && init.all(|edge| fits(edge) && apart(edge))
        && !program.nevers.iter().any(|never| speaks(&never.cond, id))
}

fn speaks(cond: &Cond, id: SharedId) -> bool {
    let mut found = false;
    cond.for_each_term(&mut |term| found |= term == Term::Shared(id));
    found
}

/// The step with the lock.
fn locked(step: &Step, place: Place) -> Step {
    if step.place() != Some(place) {
        return step.clone();
    }
    match step {
        Step::Cas { success: true, .. } => Step::Lock(place),
        Step::Cas { success: false, .. } => Step::Skip,
        Step::Write { .. } => Step::Unlock(place),
        Step::Read { to, .. } => Step::Havoc { to: *to },
        Step::Skip
        | Step::Fence
        | Step::Assume(_)
        | Step::Assign { .. }
        | Step::Havoc { .. }
        | Step::New { .. }
        | Step::Lock(_)
        | Step::Unlock(_)
        | Step::Free(_)
        | Step::Compute { .. }
        | Step::Fail(_)
        | Step::Return(_) => step.clone(),
    }
}
