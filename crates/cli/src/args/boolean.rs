//! Options of the commands about Boolean programs: `abstract`, `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use palisade_verify::Threads;

use super::CommonArgs;
use super::values::threads;

/// `palisade abstract`.
#[derive(Clone, Debug, Args)]
pub(crate) struct AbstractArgs {
    /// The program; `-` reads standard input
    pub(crate) file: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value_t = EmitArg::Bp)]
    pub(crate) emit: EmitArg,
    /// Further predicates: a file of `predicate ...;`
    #[arg(long, value_name = "FILE")]
    pub(crate) predicates: Option<PathBuf>,
    /// How cubes are found
    #[arg(long, value_enum, default_value_t = TableStrategy::Cores)]
    pub(crate) strategy: TableStrategy,
    /// Literals of the largest cubes [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) cube_size: Option<usize>,
    /// Leave out what relates new values to each other: smaller, less precise
    #[arg(long)]
    pub(crate) cartesian: bool,
    /// Keep variables with few values exact: one Boolean for each value
    #[arg(long)]
    pub(crate) explicit: bool,
    /// Make each copy a thread of its own, with predicates of its own
    #[arg(long)]
    pub(crate) expand: bool,
    /// Copies of each thread declared with [*], each a thread of its own
    /// [default: templates are kept]
    #[arg(long, value_name = "N")]
    pub(crate) copies: Option<u32>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// What `abstract` writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum EmitArg {
    /// A Boolean program
    Bp,
}

/// Strategies that build tables of cubes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TableStrategy {
    /// All cubes by increasing size
    Enumerate,
    /// Minimal cubes as the dual of models
    Cores,
}

/// `palisade check`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckArgs {
    /// The Boolean program (.bp); `-` reads standard input
    pub(crate) file: PathBuf,
    /// Copies of each thread that runs in any number, or `any` for a proof for all
    /// numbers [default: 1 where the program fixes it]
    #[arg(long, value_name = "N|any", value_parser = threads)]
    pub(crate) threads: Option<Threads>,
    /// States to store at most [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_states: Option<usize>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}
