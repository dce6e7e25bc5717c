//! Programs with *predicate files* (`--predicates FILE`).

use std::path::Path;

use anyhow::Result;
use palisade_frontend::{pal, rust};
use palisade_program::{Model, Program};
use palisade_report::Outcome;

use crate::context::Context;
use crate::input;

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
    let Some(path) = predicates else {
        return Ok(Ok(program));
    };
    let added = pal::with_predicates(&program, &input::read(path)?);
    Ok(added.map_err(|diagnostics| input::refuse(context, &diagnostics)))
}
