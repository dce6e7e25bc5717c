//! Several processes that work together: `--cluster`, and `--processes N`, which is `--cluster` on this machine: the
//! process that the user has started is process 0 and starts the others with its own arguments, which end with
//! `--cluster` and `--process`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use palisade_cluster::{ConnectError, Peers, free_addresses, work};
use palisade_machine::{Alone, Lost, Network, digest};
use palisade_report::Outcome;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::ClusterArgs;
use crate::context::{Told, complain};

/// How long processes wait for each other at the beginning.
const PATIENCE: Duration = Duration::from_mins(1);

/// Calls `f` on the network of all processes; `question` is a digest of what they are asked.
pub(crate) fn together<T: Send + 'static>(
    args: &ClusterArgs,
    question: u64,
    f: impl FnOnce(Box<dyn Network + '_>) -> T + Send + 'static,
) -> anyhow::Result<T> {
    let peers = |addresses, me| Peers {
        addresses,
        me,
        question,
        patience: PATIENCE,
    };
    let run = |peers: Peers| {
        let found = palisade_cluster::run(&peers, f);
        found.map_err(|e: ConnectError| anyhow!("{e}\n  help: {}", e.help()))
    };
    if let (Some(file), Some(me)) = (&args.cluster, args.process) {
        let addresses = addresses(file)?;
        if me >= addresses.len() {
            bail!("{} has no line {me}, counted from 0", file.display());
        }
        return run(peers(addresses, me));
    }
    let addresses = free_addresses(args.processes.unwrap_or(1) as usize)?;
    let others = Others::start(&addresses)?;
    let found = run(peers(addresses, 0));
    others.end(found.is_ok());
    found
}

/// What `one` gives for each item, in the order of the items; up to `jobs` at a time in each process. `files` are what
/// all processes must find alike.
pub(crate) fn done<I, T>(
    args: &ClusterArgs,
    files: &[PathBuf],
    items: Vec<I>,
    jobs: Option<usize>,
    one: impl Fn(&I) -> T + Send + Sync + 'static,
) -> anyhow::Result<Vec<T>>
where
    I: Send + Sync + 'static,
    T: Serialize + DeserializeOwned,
{
    let processes = args.processes.unwrap_or(1).max(1) as usize;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = jobs
        .unwrap_or(cores / processes)
        .clamp(1, items.len().max(1));
    let work_on = move |network: &mut dyn Network| {
        let text = |item: usize| serde_json::to_string(&one(&items[item]));
        let text = |item| text(item).expect("results have a form in JSON");
        work(network, items.len(), threads, &text)
    };
    let texts: Result<Vec<String>, Lost> = if args.is_alone() {
        work_on(&mut Alone)
    } else {
        together(args, question(files), move |mut network| {
            work_on(&mut *network)
        })?
    };
    let texts = texts.map_err(|lost| {
        complain(&format!(
            "error: {lost}\n  help: start all processes again\n"
        ));
        Told(Outcome::Unknown)
    })?;
    let read = |text: String| serde_json::from_str(&text).context("a result cannot be read");
    texts.into_iter().map(read).collect()
}

/// The arguments but those that differ between processes, and the files with their contents.
fn question(files: &[PathBuf]) -> u64 {
    let mut words = Vec::new();
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        match word.as_str() {
            "--cluster" | "--process" | "--processes" => {
                given.next();
            }
            _ => words.push(word),
        }
    }
    let contents = files
        .iter()
        .map(|file| (file, fs::read(file).unwrap_or_default()));
    let contents: Vec<_> = contents.collect();
    digest(&format!("{words:?} {contents:?}"))
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
