//! `palisade abstract`: the Boolean program of a program and its predicates, under a memory
//! model ([Dan et al., SAS 2013, section 6.1], the first phase; `palisade check` is the second).

use std::fmt::Write;

use anyhow::bail;
use palisade_abstraction::command::Unsupported;
use palisade_abstraction::cores::ByCores;
use palisade_abstraction::enumerate::BySize;
use palisade_boolean::export::{self, Construction, Cubes, ExportError, construct};
use palisade_frontend::{Diagnostic, Diagnostics, rust};
use palisade_logic::{Limits, Prover};
use palisade_program::{Instance, Model, Program, Unknown};
use palisade_report::{Document, Outcome, Stats};
use palisade_verify::{Extrapolate, Gap, Options, Prepared, Promote, Strategy, prepare};

use crate::CommandResult;
use crate::args::{AbstractArgs, EmitArg, ExtrapolateArg, SetsArg, TableStrategy};
use crate::context::Context;
use crate::lifted::Vocabulary;
use crate::{input, predicates};

pub(super) fn run(args: &AbstractArgs, context: &Context) -> CommandResult {
    let model: Model = args.model.into();
    let given = args.predicates.as_deref();
    let how = (model, &rust::Options::default());
    let program = predicates::load_for(context, &args.file, given, how)?;
    input::refuse_processes(context, &program, model)?;
    args.buffers.check(&program, model)?;
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some(model.to_string()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let expand = args.expand || args.copies.is_some();
    let (threads, all) = match export::threads(&program, expand, args.copies.unwrap_or(2)) {
        Ok(threads) => threads,
        Err(unsupported) => return Ok(refuse(context, program, &unsupported)),
    };
    let options = options(args, model, context);
    let mut prepared = match prepare(&program, &threads, all, &options) {
        Ok(prepared) => prepared,
        Err(Gap::Unsupported(what, span)) => {
            return Ok(refuse(context, program, &Unsupported { what, span }));
        }
        Err(gap) => return Ok(ended(context, heading, &gap.unknown(&program))),
    };
    if let Some(files) = files(args, &mut prepared, &threads)? {
        let document = Document {
            text: Some(files.clone()),
            ..heading
        };
        context.print(&files, &document);
        return Ok(Outcome::Done);
    }
    let mut prover = Prover::new(palisade_logic::Options {
        limits: Limits {
            deadline: context.limits.deadline,
            cancel: context.limits.cancel.clone(),
            ..Limits::default()
        },
        ..palisade_logic::Options::default()
    });
    let (text, count) = match made(args, &program, &prepared, &mut prover) {
        Ok(made) => made,
        Err(ExportError::Unsupported(unsupported)) => {
            return Ok(refuse(context, program, &unsupported));
        }
        Err(ExportError::Limit(reason)) => {
            let why = Unknown::GaveUp(reason.to_string());
            return Ok(ended(context, heading, &why));
        }
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

fn options(args: &AbstractArgs, model: Model, context: &Context) -> Options {
    let lifts = args.lifted.is_none() || args.emit == EmitArg::Cubes;
    Options {
        model,
        threads: args.copies,
        buffers: args.buffers.how.clone(),
        keep: args.keep.into(),
        sets: args.sets.into(),
        list_sets: args.sets != SetsArg::Summary,
        extrapolate: match args.extrapolate {
            _ if !lifts => Extrapolate::None,
            _ if args.emit == EmitArg::Cubes => Extrapolate::Cubes,
            ExtrapolateArg::Auto | ExtrapolateArg::Predicates => Extrapolate::Predicates,
            ExtrapolateArg::Cubes => Extrapolate::Cubes,
            ExtrapolateArg::None => Extrapolate::None,
        },
        strategy: match args.strategy {
            TableStrategy::Enumerate => Strategy::Enumerate,
            TableStrategy::Cores => Strategy::Cores,
            TableStrategy::Program => Strategy::Program,
        },
        drop_buffered: args.drop_buffered,
        cube_size: largest_cube(args).unwrap_or(usize::MAX),
        promote: if args.explicit {
            Promote::Always
        } else {
            Promote::Never
        },
        compress: !args.no_compress,
        deadline: context.limits.deadline,
        cancel: context.limits.cancel.clone(),
        ..Options::default()
    }
}

/// Literals of the largest cubes; `None`: no limit.
fn largest_cube(args: &AbstractArgs) -> Option<usize> {
    let usual = match args.strategy {
        TableStrategy::Enumerate | TableStrategy::Cores => 4,
        TableStrategy::Program => 3,
    };
    Some(args.cube_size.unwrap_or(usual)).filter(|size| *size > 0)
}

/// Takes the predicates and cubes of files; the text of one that is asked for.
fn files(
    args: &AbstractArgs,
    prepared: &mut Prepared,
    threads: &[Instance],
) -> anyhow::Result<Option<String>> {
    let writes = args.emit != EmitArg::Bp;
    if args.lifted.is_none() && args.cubes.is_none() && !writes {
        return Ok(None);
    }
    let vocabulary = Vocabulary::new(&prepared.program, threads)?;
    if let Some(path) = &args.lifted {
        prepared.atoms = vocabulary.read_atoms(path)?;
    }
    if let Some(path) = &args.cubes {
        prepared.cubes = vocabulary.read_cubes(path)?;
    }
    Ok(match args.emit {
        EmitArg::Bp => None,
        EmitArg::Predicates => Some(vocabulary.write_atoms(&prepared.atoms)),
        EmitArg::Cubes if prepared.cubes.is_empty() => {
            bail!("there are no lifted cubes: they come from the Boolean program under SC")
        }
        EmitArg::Cubes => Some(vocabulary.write_cubes(&prepared.cubes)),
    })
}

/// The Boolean program as text, and the number of predicates.
fn made(
    args: &AbstractArgs,
    program: &Program,
    prepared: &Prepared,
    prover: &mut Prover,
) -> Result<(String, usize), ExportError> {
    let model: Model = args.model.into();
    let by_cubes = args.cubes.is_some() || args.extrapolate == ExtrapolateArg::Cubes;
    let search = match args.strategy {
        _ if by_cubes => Cubes::Listed(&prepared.cubes),
        TableStrategy::Enumerate => Cubes::By(&BySize),
        TableStrategy::Program if model != Model::Sc => Cubes::By(&prepared.facts),
        TableStrategy::Cores | TableStrategy::Program => Cubes::By(&ByCores),
    };
    let options = export::Options {
        max_size: largest_cube(args),
        cartesian: args.cartesian,
        relate: args.relate || (model == Model::Sc && !args.cartesian),
        compress: !args.no_compress,
    };
    let how = Construction {
        expand: args.expand || args.copies.is_some(),
        copies: args.copies.unwrap_or(2),
        explicit: args.explicit,
        atoms: Some(&prepared.atoms),
        search,
        options,
    };
    let mut text = export::heading(program.source.name(), search.name(), options);
    if model != Model::Sc {
        let what = match model {
            Model::Rma => "pending remote operations",
            Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => "store buffers",
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "// Under {model}: {what} are variables.");
    }
    for note in &prepared.notes {
        let _ = writeln!(text, "// {note}");
    }
    let (made, count) = construct(&prepared.program, how, prover)?;
    let _ = write!(text, "{made}");
    Ok((text, count))
}

fn refuse(context: &Context, program: Program, unsupported: &Unsupported) -> Outcome {
    let help = "write it in simpler terms (docs/language.md says what is linear); \
                --expand makes each copy of a template a thread of its own";
    let item =
        Diagnostic::error(unsupported.span, format!("unsupported: {unsupported}")).help(help);
    input::refuse(context, &Diagnostics::new(program.source, vec![item]))
}

fn ended(context: &Context, heading: Document, why: &Unknown) -> Outcome {
    let document = Document {
        verdict: Some("unknown"),
        reason: Some(why.to_string()),
        ..heading
    };
    context.print(&format!("unknown: {why}\n"), &document);
    Outcome::Unknown
}
