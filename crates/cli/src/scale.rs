//! Searches whose states memory, or one machine, does not hold: where `explore` keeps them.

use std::path::Path;

use anyhow::{anyhow, bail};
use palisade_machine::{
    Exploration, Network, Options, Storage, StorageError, Unsupported, explore_choosing,
    explore_choosing_in,
};
use palisade_program::{Chosen, Program};

use crate::args::ScaleArgs;
use crate::cluster;

type Explored = Result<(Exploration, Chosen), Unsupported>;

/// Explores with states and processes as `args` say; `input` is the file that is read.
pub(crate) fn explored(
    args: &ScaleArgs,
    input: &Path,
    program: &Program,
    options: &Options,
) -> anyhow::Result<Explored> {
    if args.is_plain() {
        return Ok(explore_choosing(program, options));
    }
    if options.collect_finals {
        bail!("--final needs all states in memory, and in one process");
    }
    let question = question(program, options);
    if !args.cluster.is_alone() {
        if input == Path::new("-") && args.cluster.processes.is_some() {
            bail!("--processes needs a file: standard input can be read once only");
        }
        return shared(args, program, options, question);
    }
    let storage = match (&args.spill, &args.checkpoint) {
        (_, Some(folder)) => Storage::checkpoint(folder, &question, args.resume),
        (Some(folder), None) => Storage::spill(folder),
        (None, None) => return Ok(explore_choosing(program, options)),
    };
    let mut storage = storage.map_err(|e| refused(&e))?;
    Ok(explore_choosing_in(program, options, &mut storage))
}

/// What the answer depends on: the program, and every option but those that only say how fast.
fn question(program: &Program, options: &Options) -> String {
    let Options {
        model,
        buffer,
        saturate,
        summary,
        races,
        range,
        any,
        threads,
        max_states,
        partial_order,
        symmetry,
        shift,
        notes,
        shortest,
        collect_finals,
        max_memory: _,
        deadline: _,
        cancel: _,
        workers: _,
        progress: _,
    } = options;
    format!(
        "{program:?} {model:?} {buffer:?} {saturate:?} {summary:?} {races} {range:?} {any:?} \
         {threads} {max_states:?} {partial_order} {symmetry} {shift} {notes} {shortest} {collect_finals}"
    )
}

/// Explores together with other processes.
fn shared(
    args: &ScaleArgs,
    program: &Program,
    options: &Options,
    question: String,
) -> anyhow::Result<Explored> {
    let (own, program, options) = (args.clone(), program.clone(), options.clone());
    let asked = palisade_machine::digest(&question);
    let found = cluster::together(
        &args.cluster,
        asked,
        move |network: Box<dyn Network + '_>| {
            let storage = Storage::shared(network);
            let mut storage = match (&own.spill, &own.checkpoint) {
                (_, Some(folder)) => storage.with_checkpoint(folder, &question, own.resume)?,
                (Some(folder), None) => storage.spilling(folder)?,
                (None, None) => storage,
            };
            Ok(explore_choosing_in(&program, &options, &mut storage))
        },
    )?;
    found.map_err(|e| refused(&e))
}

fn refused(error: &StorageError) -> anyhow::Error {
    anyhow!("{error}\n  help: {}", error.help())
}
