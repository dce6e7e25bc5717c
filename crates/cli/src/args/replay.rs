//! Options of `palisade replay`.

use std::path::PathBuf;

use clap::Args;

use super::{CommonArgs, TraceArg};

/// `palisade replay`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The program that the trace is of
    pub(crate) file: PathBuf,
    /// What `verify`, `explore` or `fence` have printed with --json; `-` reads standard input
    #[arg(value_name = "TRACE")]
    pub(crate) document: PathBuf,
    /// Compile the C program and run it as the trace (under sc) says: does its assertion fail?
    #[arg(long)]
    pub(crate) native: bool,
    /// Steps of the trace that are shown [default: events for C, full for others]
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Output")]
    pub(crate) trace: Option<TraceArg>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}
