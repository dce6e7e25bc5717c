//! Searches whose states memory, or one machine, does not hold: where `explore` keeps them, and
//! with which processes it searches.
//!
//! `--processes N` is `--cluster` on this machine: the process that the user has started is
//! process 0 and starts the others with its own arguments, which end with `--cluster` and
//! `--process`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use palisade_cluster::{ConnectError, Peers, free_addresses};
use palisade_machine::{
    Exploration, Network, Options, Storage, StorageError, Unsupported, explore_choosing,
    explore_choosing_in,
};
use palisade_program::{Chosen, Program};

use crate::args::ScaleArgs;

/// How long processes wait for each other at the beginning.
const PATIENCE: Duration = Duration::from_mins(1);

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
    if let (Some(file), Some(me)) = (&args.cluster, args.process) {
        let addresses = addresses(file)?;
        if me >= addresses.len() {
            bail!("{} has no line {me}, counted from 0", file.display());
        }
        return shared(args, program, options, &question, addresses, me);
    }
    if let Some(count) = args.processes {
        if input == Path::new("-") {
            bail!("--processes needs a file: standard input can be read once only");
        }
        let addresses = free_addresses(count as usize)?;
        let others = Others::start(&addresses)?;
        let explored = shared(args, program, options, &question, addresses, 0);
        others.end(explored.is_ok());
        return explored;
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
         {threads} {max_states:?} {partial_order} {symmetry} {shift} {shortest} {collect_finals}"
    )
}

/// One address a line.
fn addresses(file: &Path) -> anyhow::Result<Vec<String>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let addresses: Vec<String> = lines.map(str::to_owned).collect();
    if let Some(wrong) = addresses.iter().find(|a| !a.contains(':')) {
        bail!("{}: `{wrong}` is not HOST:PORT", file.display());
    }
    Ok(addresses)
}

/// Explores as process `me`.
fn shared(
    args: &ScaleArgs,
    program: &Program,
    options: &Options,
    question: &str,
    addresses: Vec<String>,
    me: usize,
) -> anyhow::Result<Explored> {
    let peers = Peers {
        addresses,
        me,
        question: palisade_machine::digest(question),
        patience: PATIENCE,
    };
    let (args, program, options) = (args.clone(), program.clone(), options.clone());
    let question = question.to_owned();
    let found = palisade_cluster::run(&peers, move |network: Box<dyn Network + '_>| {
        let storage = Storage::shared(network);
        let storage = match (&args.spill, &args.checkpoint) {
            (_, Some(folder)) => storage.with_checkpoint(folder, &question, args.resume)?,
            (Some(folder), None) => storage.spilling(folder)?,
            (None, None) => storage,
        };
        let mut storage = storage;
        Ok(explore_choosing_in(&program, &options, &mut storage))
    });
    let found = found.map_err(|e: ConnectError| anyhow!("{e}\n  help: {}", e.help()))?;
    found.map_err(|e| refused(&e))
}

fn refused(error: &StorageError) -> anyhow::Error {
    anyhow!("{error}\n  help: {}", error.help())
}

/// The other processes on this machine.
struct Others {
    children: Vec<Child>,
    hosts: tempfile::NamedTempFile,
}

impl Others {
    /// Starts processes 1 and up.
    fn start(addresses: &[String]) -> anyhow::Result<Self> {
        let hosts = tempfile::NamedTempFile::new().context("cannot write the list of processes")?;
        fs::write(hosts.path(), addresses.join("\n"))
            .with_context(|| format!("cannot write {}", hosts.path().display()))?;
        let program = std::env::current_exe().context("where is palisade?")?;
        let mut others = Self {
            children: Vec::new(),
            hosts,
        };
        for process in 1..addresses.len() {
            let child = Command::new(&program)
                .args(std::env::args_os().skip(1))
                .arg("--cluster")
                .arg(others.hosts.path())
                .args(["--process", &process.to_string()])
                // All report the same.
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            match child {
                Ok(child) => others.children.push(child),
                Err(error) => {
                    others.end(false);
                    return Err(error).context("cannot start another process");
                }
            }
        }
        Ok(others)
    }

    /// Waits for them, or ends them where this process has failed.
    fn end(mut self, in_order: bool) {
        for child in &mut self.children {
            if !in_order {
                // It may have ended by itself.
                let _ = child.kill();
            }
            let _ = child.wait();
        }
    }
}
