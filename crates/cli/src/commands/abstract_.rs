//! `palisade abstract`: the Boolean program of a program and its predicates.

use palisade_abstraction::command::Unsupported;
use palisade_abstraction::cores::ByCores;
use palisade_abstraction::cubes::CubeSearch;
use palisade_abstraction::enumerate::BySize;
use palisade_boolean::export::{self, Construction, ExportError, construct};
use palisade_frontend::{Diagnostic, Diagnostics};
use palisade_logic::{Limits, Prover};
use palisade_program::{Program, Unknown};
use palisade_report::{Document, Outcome, Stats};

use crate::CommandResult;
use crate::args::{AbstractArgs, EmitArg, TableStrategy};
use crate::context::Context;
use crate::{input, predicates};

pub(super) fn run(args: &AbstractArgs, context: &Context) -> CommandResult {
    let program = match predicates::load(context, &args.file, args.predicates.as_deref())? {
        Ok(program) => program,
        Err(outcome) => return Ok(outcome),
    };
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let EmitArg::Bp = args.emit;
    let mut prover = Prover::new(palisade_logic::Options {
        limits: Limits {
            deadline: context.limits.deadline,
            cancel: context.limits.cancel.clone(),
            ..Limits::default()
        },
        ..palisade_logic::Options::default()
    });
    let (text, count) = match made(args, &program, &mut prover) {
        Ok(made) => made,
        Err(ExportError::Unsupported(unsupported)) => {
            return Ok(refuse(context, program, &unsupported));
        }
        Err(ExportError::Limit(reason)) => return Ok(ended(context, heading, &reason.to_string())),
    };
    let solver = prover.stats();
    let document = Document {
        text: Some(text.clone()),
        stats: Some(Stats {
            predicates: Some(count as u64),
            solver_calls: Some(solver.total_solver_calls()),
            ..crate::context::stats()
        }),
        ..heading
    };
    context.print(&text, &document);
    Ok(Outcome::Done)
}

/// The Boolean program as text, and the number of predicates.
fn made(
    args: &AbstractArgs,
    program: &Program,
    prover: &mut Prover,
) -> Result<(String, usize), ExportError> {
    let search: &dyn CubeSearch = match args.strategy {
        TableStrategy::Enumerate => &BySize,
        TableStrategy::Cores => &ByCores,
    };
    let options = export::Options {
        max_size: args.cube_size,
        cartesian: args.cartesian,
    };
    let how = Construction {
        expand: args.expand || args.copies.is_some(),
        copies: args.copies.unwrap_or(2),
        explicit: args.explicit,
        search,
        options,
    };
    let heading = export::heading(program.source.name(), search.name(), options);
    let (made, count) = construct(program, how, prover)?;
    Ok((format!("{heading}{made}"), count))
}

fn refuse(context: &Context, program: Program, unsupported: &Unsupported) -> Outcome {
    let help = "write it in simpler terms (docs/language.md says what is linear); \
                --expand makes each copy of a template a thread of its own";
    let item =
        Diagnostic::error(unsupported.span, format!("unsupported: {unsupported}")).help(help);
    input::refuse(context, &Diagnostics::new(program.source, vec![item]))
}

fn ended(context: &Context, heading: Document, reason: &str) -> Outcome {
    let why = Unknown::GaveUp(reason.to_owned());
    let document = Document {
        verdict: Some("unknown"),
        reason: Some(why.to_string()),
        ..heading
    };
    context.print(&format!("unknown: {why}\n"), &document);
    Outcome::Unknown
}
