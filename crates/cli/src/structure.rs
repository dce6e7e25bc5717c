//! *Data structures* as input: `.pal`, or functions of a C program.

use anyhow::{Result, bail};
use palisade_frontend::{Diagnostics, c, heap};
use palisade_program::Source;
use palisade_program::heap::Program;

use crate::args::{LinearModelArg, LinearizeArgs};
use crate::context::Context;
use crate::kind::Kind;
use crate::{input, units};

/// A data structure and what is to be said of how it was read.
pub(crate) struct Structure {
    pub(crate) program: Program,
    pub(crate) notes: Vec<String>,
}

/// Reads a data structure; what is wrong with its text is the inner error.
pub(crate) fn load(
    args: &LinearizeArgs,
    context: &Context,
) -> Result<Result<Structure, Diagnostics>> {
    let source = input::read(&args.file)?;
    if !matches!(Kind::of(&args.file), Some(Kind::C | Kind::Object)) {
        if !args.object.is_empty() || args.init.is_some() || args.spec.is_some() {
            bail!(
                "--object, --init and --spec are for C programs: a data structure in .pal says all of this itself"
            );
        }
        let parsed = match heap::parse(source) {
            Ok(parsed) => parsed,
            Err(diagnostics) => return Ok(Err(diagnostics)),
        };
        input::warn(context, &parsed.program.source, &parsed.warnings);
        return Ok(Ok(Structure {
            program: parsed.program,
            notes: Vec::new(),
        }));
    }
    if args.model == LinearModelArg::Pso {
        bail!(
            "data structures in C are read for sc and tso: release stores have no counterpart under pso"
        );
    }
    let (preprocessor, more) =
        units::units(&args.file, &args.preprocessor.more, &args.preprocessor)?;
    let options = c::Options {
        stop: context.limits.stop(),
        preprocessor,
        units: more,
        ..c::Options::default()
    };
    let object = c::Object {
        operations: operations(&args.object)?,
        init: args.init.clone(),
        specification: args.spec.as_deref().map(specification).transpose()?,
        buffers: args.model == LinearModelArg::Tso,
    };
    let read = c::parse_object(&args.file, &source, &options, &object);
    Ok(read.map(|read| Structure {
        program: read.parsed.program,
        notes: read.notes,
    }))
}

/// `push=f`, or `push` for a function of that name.
fn operations(words: &[String]) -> Result<Vec<(String, String)>> {
    let pair = |word: &String| match word.split_once('=') {
        Some((operation, function)) if !operation.is_empty() && !function.is_empty() => {
            Ok((operation.to_owned(), function.to_owned()))
        }
        Some(_) => bail!("--object {word}: write OPERATION=FUNCTION"),
        None => Ok((word.clone(), word.clone())),
    };
    words.iter().map(pair).collect()
}

/// One of the built-in specifications, or a file.
fn specification(word: &str) -> Result<Source> {
    if matches!(word, "stack" | "queue" | "set" | "none") {
        return Ok(Source::new("--spec", format!("spec {word};")));
    }
    input::read(word.as_ref())
}
