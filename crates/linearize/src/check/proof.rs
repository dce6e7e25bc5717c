//! The proof side: any number of threads, nodes and values, by shape analysis.

use std::collections::BTreeSet;
use std::fmt::Write;

use palisade_program::heap::print::Names;
use palisade_program::heap::{Program, Specification};
use palisade_shape::analysis::Analysis;
use palisade_shape::verdict::Verdict;

use super::{Question, lockstep};
use crate::prove::minimise::Minimal;
use crate::prove::{Options, Proof, Unsupported, prove};
use crate::sets::Certificate;

/// The model as text: program and structure.
///
/// # Errors
/// What the prover does not support.
pub fn text(program: &Program, options: &Options<'_>) -> Result<(String, String), String> {
    if program.specification == Specification::Set {
        return Err("sets are proved without the shape analysis: there is no model".to_owned());
    }
    // What is proved, or the last that was tried.
    let proof = prove(program, options);
    let made = proof.map_err(|no| unsupported(program, &no))?.text;
    Ok((made.program, made.structures))
}

/// A proof.
pub(super) struct Proved {
    /// What it rests on, and what else it shows.
    pub(super) notes: Vec<String>,
    /// Whether a certificate was checked.
    pub(super) certified: bool,
    /// The one of a set.
    pub(super) certificate: Option<Box<Certificate>>,
}

/// Why no proof is tried though nothing speaks against the program within the bounds.
pub(super) fn not_tried() -> String {
    "no proof was tried: a proof needs commit points that explain short runs".to_owned()
}

/// What came of it.
pub(super) enum Attempt {
    /// It was proved.
    Proved(Box<Proved>),
    /// It was not, and why.
    Failed(Vec<String>),
    /// It was not, and why: there is a run beyond the bounds that is wrong, or that the commit
    /// points do not explain.
    Beyond(Vec<String>),
}

/// Tries to prove the program; with the shape analysis, if there was one.
pub(super) fn attempt(
    question: &Question<'_>,
    options: &Options<'_>,
    program: &Program,
) -> (Attempt, Option<Box<Proof>>) {
    match prove(program, options) {
        Ok(proof) => {
            if proof.holds() {
                let mut notes = vec![summary(&proof), obligations(&proof, program)];
                notes.extend(proof.minimal.as_ref().map(minimal));
                let proved = Proved {
                    notes,
                    certified: false,
                    certificate: None,
                };
                return (Attempt::Proved(Box::new(proved)), Some(Box::new(proof)));
            }
            let mut notes = Vec::new();
            let why = proof.reason.clone().unwrap_or_default();
            notes.push(format!("no proof: {why}"));
            let complaints = proof.analysis.fixpoint.messages.iter();
            notes.extend(complaints.map(|m| {
                let place = place(program, &proof.analysis, m.edge);
                format!("the model may show: {}{place}", m.text)
            }));
            (Attempt::Failed(notes), Some(Box::new(proof)))
        }
        Err(no) => {
            let tried = lockstep::attempt(question, options, program);
            let attempt = tried.unwrap_or_else(|also_no| {
                let no = match program.specification {
                    Specification::Own(_) => Unsupported {
                        what: format!("{}, with a specification of one's own,", also_no.what),
                        ..also_no
                    },
                    Specification::Stack
                    | Specification::Queue
                    | Specification::Set
                    | Specification::Nothing => no,
                };
                Attempt::Failed(vec![unsupported(program, &no)])
            });
            (attempt, None)
        }
    }
}

/// What is said of a smallest set of soft invariants.
fn minimal(minimal: &Minimal) -> String {
    let Minimal {
        invariants,
        of,
        proofs,
        complete,
    } = minimal;
    let tried = format!(
        "{} of {of} soft invariants, {proofs} proofs tried",
        invariants.len()
    );
    match (*complete, invariants.is_empty()) {
        (true, true) => format!("no soft invariant is needed ({tried})"),
        (true, false) => format!("these suffice, and none can be left out ({tried})"),
        (false, _) => format!("these suffice; time was up before all were tried ({tried})"),
    }
}

/// The step of the program that an edge of the model stands for, with its line if only one
/// step reads like that.
fn place(program: &Program, analysis: &Analysis, edge: usize) -> String {
    let model = &analysis.model;
    let title = &model.actions[model.edges[edge].action].title;
    let steps = program.methods.iter().flat_map(|method| {
        let names = Names {
            structs: &program.structs,
            shared: &program.shared,
            body: Some(&method.body),
        };
        let edges = method.body.edges.iter();
        edges.filter(move |e| names.step(&e.step) == *title)
    });
    let lines: BTreeSet<u32> = steps
        .map(|e| program.source.position(e.span.start).line)
        .collect();
    match lines.first() {
        Some(line) if lines.len() == 1 => format!(", at `{title}` (line {line})"),
        Some(_) | None => format!(", at `{title}`"),
    }
}

pub(super) fn unsupported(program: &Program, no: &Unsupported) -> String {
    let mut text = format!("no proof: {} is not supported by the prover", no.what);
    if no.span.start > 0 {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            " (line {})",
            program.source.position(no.span.start).line
        );
    }
    text
}

/// What else was proved, and what was only searched for.
fn obligations(proof: &Proof, program: &Program) -> String {
    let circular = program.structs.iter().any(|s| s.circular);
    let mut text =
        "also proved: no null dereference, no lock given back that is not held".to_owned();
    if program.may_fail() {
        text.push_str(", no assertion that fails, no index out of range");
    }
    if !program.nevers.is_empty() {
        text.push_str(", no `never`");
    }
    if proof.acyclic {
        text.push_str(", no cyclic list");
    } else if !circular {
        text.push_str("; cycles were searched for within the bounds only");
    }
    text
}

/// What the proof rests on, in one line.
fn summary(proof: &Proof) -> String {
    let confirmed = match &proof.verdict {
        Verdict::Holds {
            worlds,
            steps,
            edges,
            fired,
            ..
        } => {
            format!(
                "; confirmed on {worlds} small worlds and {steps} steps, {edges} of {fired} actions, \
                 and on random runs of the program"
            )
        }
        Verdict::Violated(_) | Verdict::Unknown(_) => String::new(),
    };
    format!(
        "{} abstract states ({} stored), {} locations, {} soft invariants{confirmed}",
        proof.kept, proof.stored, proof.text.locations, proof.text.soft
    )
}
