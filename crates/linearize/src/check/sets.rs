//! The proof side for sets: any number of threads, nodes and values, by views of single calls.

use palisade_program::heap::Program;

use super::proof::{Attempt, Proved, unsupported};
use crate::prove::Options;
use crate::sets::prove;

/// Tries to prove a set.
pub(super) fn attempt(program: &Program, options: &Options<'_>) -> Attempt {
    match prove(program, options.cancel) {
        Ok(Ok(proof)) => {
            let found = format!(
                "{} views of calls, {} kinds of interference; random runs of the program are among them; no certificate",
                proof.views, proof.actions
            );
            let also = "also proved: no null dereference, no lock given back that is not held, no cyclic list";
            Attempt::Proved(Box::new(Proved {
                notes: vec![found, also.to_owned()],
                certified: false,
            }))
        }
        Ok(Err(no)) => {
            let place = if no.span.start > 0 {
                let line = program.source.position(no.span.start).line;
                format!(", in `{}` (line {line})", no.method)
            } else {
                String::new()
            };
            Attempt::Failed(vec![format!("no proof: {}{place}", no.refusal)])
        }
        Err(no) => Attempt::Failed(vec![unsupported(program, &no)]),
    }
}
