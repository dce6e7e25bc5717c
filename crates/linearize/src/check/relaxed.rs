//! Data structures under *TSO and PSO*: runs with store buffers are searched; if none is wrong and the program is robust
//! ([`mod@crate::robust`]), what is proved under SC holds.

use palisade_program::heap::Program;

use super::{Checked, Question, Verdict, check, searched};
use crate::robust::{NotRobust, robust};
use crate::{Buffers, Failure, Found, Options, returns, stages};

/// The verdict.
pub(super) fn judge(program: &Program, question: &Question<'_>) -> Result<Checked, Failure> {
    let options = &question.bounds;
    let search = stages::search(program, options)?;
    let cost = (search.states, search.transitions);
    let is_open = matches!(search.found, Found::Nothing);
    let mut judgement = searched(program, options, question, search);
    (judgement.states, judgement.transitions) = cost;
    if !is_open {
        return Ok(judgement);
    }
    let robustness = robust(program, options);
    judgement.robust = Some(robustness.clone());
    if question.proof.is_some() {
        match &robustness {
            Ok(()) => judgement = proved_under_sc(program, question, judgement),
            Err(why) => judgement.notes.push(no_proof(program, options, why)),
        }
    }
    if !matches!(judgement.verdict, Verdict::Violated(_)) {
        judgement.notes.extend(returns::never(program, options)?);
    }
    Ok(judgement)
}

/// The verdict under SC, which is that of a robust program. A wrong run under SC, with more calls than were asked for, is
/// one under the other models.
fn proved_under_sc(program: &Program, question: &Question<'_>, searched: Checked) -> Checked {
    let under_sc = Question {
        bounds: Options {
            buffers: Buffers::Sc,
            ..question.bounds.clone()
        },
        proof: question.proof.clone(),
        stopped: question.stopped,
        progress: question.progress,
    };
    let mut found = check(program, &under_sc);
    match found.verdict {
        Verdict::Unknown => {
            let mut judgement = searched;
            judgement.notes.extend(found.notes);
            judgement.proof = found.proof;
            judgement
        }
        Verdict::Violated(_) => found,
        Verdict::Holds => {
            found.states += searched.states;
            found.transitions += searched.transitions;
            found.robust = searched.robust;
            found.notes.insert(0, robust_note(question.bounds.buffers));
            // The certificate says nothing of buffers.
            if found.certified.take() == Some(true) {
                let note = "the certificate of the proof under sc was checked; robustness has none";
                found.notes.push(note.to_owned());
            }
            found
        }
    }
}

const fn name(model: Buffers) -> &'static str {
    match model {
        Buffers::Sc => "sc",
        Buffers::Tso => "tso",
        Buffers::Pso => "pso",
    }
}

fn robust_note(model: Buffers) -> String {
    let orders = match model {
        Buffers::Sc | Buffers::Tso => "nothing that others write is loaded while stores wait",
        Buffers::Pso => {
            "nothing that others write is loaded, and nothing that they read is stored, while stores wait"
        }
    };
    format!(
        "robust: {orders}, so every run under {} is like one under sc, for which the proof is",
        name(model)
    )
}

fn no_proof(program: &Program, options: &Options, why: &NotRobust) -> String {
    let place = if why.method.is_empty() {
        String::new()
    } else {
        let line = program.source.position(why.span.start).line;
        format!(" (line {line})")
    };
    format!(
        "no proof: it is not seen that {} makes no difference to sc: {}{place}",
        name(options.buffers),
        why.what
    )
}
