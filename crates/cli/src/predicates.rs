//! Programs with *predicate files* (`--predicates FILE`).

use std::path::Path;

use anyhow::Result;
use palisade_frontend::{Diagnostics, c, pal, rust};
use palisade_program::{Model, Program};
use palisade_report::Outcome;

use crate::context::Context;
use crate::{c_task, input};

/// Reads a program for a model, with the predicates of another file if one is given. What is
/// wrong has been printed when this returns an outcome.
pub(crate) fn load_for(
    context: &Context,
    file: &Path,
    predicates: Option<&Path>,
    (model, rust): (Model, &rust::Options),
) -> Result<Result<Program, Outcome>> {
    let program = match input::load_for(context, file, model, rust)? {
        Ok(program) => program,
        Err(outcome) => return Ok(Err(outcome)),
    };
    added(context, program, file, predicates)
}

/// A program with the predicates of a file, if one is given; of a C program also with those in
/// its comments.
pub(crate) fn added(
    context: &Context,
    program: Program,
    file: &Path,
    predicates: Option<&Path>,
) -> Result<Result<Program, Outcome>> {
    let given = predicates.map(input::read).transpose()?;
    let with = |program: Program| -> Result<Program, Diagnostics> {
        if !c_task::is_c(file) {
            return match &given {
                Some(given) => pal::with_predicates(&program, given),
                None => Ok(program),
            };
        }
        let noted = c::noted(&program.source);
        let mut sources = noted.iter().chain(&given);
        sources.try_fold(program, |program, source| {
            c::with_predicates(&program, source)
        })
    };
    Ok(with(program).map_err(|diagnostics| input::refuse(context, &diagnostics)))
}
