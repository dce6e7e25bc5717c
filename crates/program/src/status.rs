//! A *status*: a variable of the front end that says whether an object is alive. Each of its loads is followed by the
//! assertion of a [`MemoryError`] about the loaded value. Where nothing orders such a load and the store that begins or ends the object's
//! life, a use and that are not ordered: what RC11 sees as a data race on
//! the status is that error.

use crate::cfg::{AssertKind, Cfg, Step};
use crate::ids::GlobalId;
use crate::memory_error::MemoryError;
use crate::program::{LocalAtom, Program};

impl Program {
    /// The error of which `var` is the status; of several, the one that is most of all a use.
    pub fn status_error(&self, var: GlobalId) -> Option<MemoryError> {
        let templates = self.templates.iter();
        let errors = templates.flat_map(|template| status_errors(&template.cfg, var));
        let ranked = errors.filter_map(|error| match error {
            MemoryError::UseAfterFree | MemoryError::UseAfterReturn => Some((0, error)),
            MemoryError::UseBeforeAllocation => Some((0, error)),
            MemoryError::DoubleFree => Some((1, error)),
            MemoryError::Leak => Some((2, error)),
            // These are said of pointers and values.
            MemoryError::Uninitialised => None,
            MemoryError::InvalidFree | MemoryError::Null | MemoryError::Wild => None,
        });
        ranked.min_by_key(|(rank, _)| *rank).map(|(_, error)| error)
    }
}

fn status_errors(cfg: &Cfg, var: GlobalId) -> impl Iterator<Item = MemoryError> {
    let loads = cfg.edges.iter().filter_map(move |edge| {
        let Step::Load { dst, src } = &edge.step else {
            return None;
        };
        (src.var == var).then_some((edge.to, *dst))
    });
    loads.flat_map(|(at, dst)| {
        let next = cfg.outgoing(at);
        next.filter_map(move |(_, edge)| {
            let Step::Assert { cond, kind } = &edge.step else {
                return None;
            };
            let AssertKind::Memory(error) = kind else {
                return None;
            };
            let reads = cond.any_atom(|atom| *atom == LocalAtom::Local(dst));
            reads.then_some(*error)
        })
    })
}
