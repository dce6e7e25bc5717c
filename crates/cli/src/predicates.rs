//! Programs with *predicate files* (`--predicates FILE`).

use std::path::Path;

use anyhow::Result;
use palisade_frontend::{Diagnostics, c, pal, rust};
use palisade_program::{Model, Program};

use crate::context::Context;
use crate::{c_task, input};

/// Reads a program for a model, with the predicates of another file if one is given.
pub(crate) fn load_for(
    context: &Context,
    file: &Path,
    predicates: Option<&Path>,
    (model, rust): (Model, &rust::Options),
) -> Result<Program> {
    let program = input::load_for(context, file, model, rust)?;
    added(context, program, file, predicates)
}

/// A program with the predicates of a file, if one is given; of a C program also with those in
/// its comments.
pub(crate) fn added(
    context: &Context,
    program: Program,
    file: &Path,
    predicates: Option<&Path>,
) -> Result<Program> {
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
    with(program).map_err(|diagnostics| input::refused(context, &diagnostics))
}
