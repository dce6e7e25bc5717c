//! The proof side of `palisade linearize`: any number of threads, nodes and values.

use std::fmt::Write;

use palisade_linearize::prove::{Interleaving, Level, Options, Proof, Unsupported, emit, prove};
use palisade_program::heap::Program;
use palisade_shape::verdict::Verdict;

use crate::args::{InterleavingArg, LinearizeArgs};
use crate::context::Context;

fn options<'c>(args: &LinearizeArgs, context: &'c Context) -> Options<'c> {
    Options {
        interleaving: match args.interleaving {
            InterleavingArg::Full => Interleaving::Full,
            InterleavingArg::Restricted => Interleaving::Restricted,
        },
        collapse: !args.no_collapse,
        threads: args
            .threads
            .filter(|_| args.no_collapse)
            .map(|n| n as usize),
        cancel: Some(&context.limits.cancel),
        ..Options::default()
    }
}

/// The model as text: program and structure.
pub(super) fn text(
    args: &LinearizeArgs,
    context: &Context,
    program: &Program,
) -> Result<(String, String), String> {
    // The level that says more: what a proof may come to need.
    let made = emit(program, &options(args, context), Level::Reach);
    let made = made.map_err(|no| unsupported(program, &no))?;
    Ok((made.program, made.structures))
}

/// What came of it.
pub(super) enum Attempt {
    /// It was proved.
    Proved(Box<Proof>),
    /// It was not, and why.
    Failed(Vec<String>),
}

/// Tries to prove the program.
pub(super) fn attempt(args: &LinearizeArgs, context: &Context, program: &Program) -> Attempt {
    match prove(program, &options(args, context)) {
        Ok(proof) if proof.holds() => Attempt::Proved(Box::new(proof)),
        Ok(proof) => {
            let mut notes = Vec::new();
            let why = proof.reason.unwrap_or_default();
            notes.push(format!("no proof: {why}"));
            let complaints = proof.messages.iter();
            notes.extend(complaints.map(|m| format!("the model may show: {m}")));
            Attempt::Failed(notes)
        }
        Err(no) => Attempt::Failed(vec![unsupported(program, &no)]),
    }
}

fn unsupported(program: &Program, no: &Unsupported) -> String {
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

/// What the proof rests on, in one line.
pub(super) fn summary(proof: &Proof) -> String {
    let confirmed = match &proof.verdict {
        Verdict::Holds { worlds, steps, .. } => {
            format!("; confirmed on {worlds} small worlds and {steps} steps")
        }
        Verdict::Violated(_) | Verdict::Unknown(_) => String::new(),
    };
    format!(
        "{} abstract states ({} stored), {} locations, {} soft invariants{confirmed}",
        proof.kept, proof.stored, proof.text.locations, proof.text.soft
    )
}
