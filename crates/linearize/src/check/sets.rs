//! The proof side for sets: any number of threads, nodes and values, by views of single calls.

use palisade_program::Span;
use palisade_program::heap::Program;

use super::proof::{Attempt, Proved, unsupported};
use crate::prove::Options;
use crate::sets::certificate::What;
use crate::sets::prove;

/// Tries to prove a set; what is found is proved if the check of its certificate says so.
pub(super) fn attempt(program: &Program, options: &Options<'_>) -> Attempt {
    let place = |method: &str, span: Span| {
        if span.start == 0 {
            return String::new();
        }
        let line = program.source.position(span.start).line;
        format!(", in `{method}` (line {line})")
    };
    let proof = match prove(program, options.cancel) {
        Ok(Ok(proof)) => proof,
        Ok(Err(no)) => {
            let place = place(&no.method, no.span);
            return Attempt::Failed(vec![format!("no proof: {}{place}", no.refusal)]);
        }
        Err(no) => return Attempt::Failed(vec![unsupported(program, &no)]),
    };
    match proof.certificate.check(program, options.cancel) {
        Ok(checked) => {
            let found = format!(
                "{} views of calls, {} kinds of interference; checked: {} steps of calls, {} views after steps of others",
                proof.views, proof.actions, checked.steps, checked.noticed
            );
            let mut also = "also proved: no null dereference, no lock given back that is not held, no cyclic list".to_owned();
            if program.may_fail() {
                also.push_str(", no assertion that fails, no index out of range");
            }
            Attempt::Proved(Box::new(Proved {
                notes: vec![found, also],
                certified: true,
                certificate: Some(Box::new(proof.certificate)),
            }))
        }
        Err(no) if no.what == What::Stopped => Attempt::Failed(vec![
            "no proof: the check of the certificate was stopped".to_owned(),
        ]),
        Err(no) => Attempt::Failed(vec![format!(
            "no proof: the proof's certificate was refused (a bug in Palisade): {}{}",
            no.what,
            place(&no.method, no.span)
        )]),
    }
}
