//! Options of searches that memory, or one machine, does not hold.

use std::path::PathBuf;

use clap::Args;

/// Where `explore` keeps its states, and who searches with it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ScaleArgs {
    /// Write states to this folder when they exceed the memory limit (--memory)
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "checkpoint",
        help_heading = "Scale"
    )]
    pub(crate) spill: Option<PathBuf>,
    /// Keep all states in this folder, so that a search that was killed can go on with --resume
    #[arg(long, value_name = "DIR", help_heading = "Scale")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Go on from the last checkpoint; begin, if there is none
    #[arg(long, requires = "checkpoint", help_heading = "Scale")]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// The processes that work together.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ClusterArgs {
    /// Work with N processes on this machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    #[arg(help_heading = "Scale")]
    pub(crate) processes: Option<u32>,
    /// Work with a process on each of these machines: a file with one HOST:PORT a line
    #[arg(
        long,
        value_name = "FILE",
        requires = "process",
        help_heading = "Scale"
    )]
    pub(crate) cluster: Option<PathBuf>,
    /// Which line of --cluster this process is, from 0
    #[arg(long, value_name = "I", requires = "cluster", help_heading = "Scale")]
    pub(crate) process: Option<usize>,
}

impl ScaleArgs {
    /// Whether states are only in memory, and only here.
    pub(crate) fn is_plain(&self) -> bool {
        let kept = self.spill.is_some() || self.checkpoint.is_some();
        !kept && self.cluster.is_alone()
    }
}

impl ClusterArgs {
    /// Whether there is no other process.
    pub(crate) fn is_alone(&self) -> bool {
        self.processes.is_none() && self.cluster.is_none()
    }

    /// Whether this process was started by another one, or is not the first of several machines: the first one writes files.
    pub(crate) fn is_first(&self) -> bool {
        self.process.unwrap_or(0) == 0
    }
}
