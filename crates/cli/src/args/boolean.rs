//! Options of the commands about Boolean programs: `abstract`, `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use palisade_verify::Threads;

use super::values::threads;
use super::verify::{ExtrapolateArg, KeepArg, SetsArg};
use super::{CommonArgs, ModelArg};
use crate::buffers::BuffersArg;

/// `palisade abstract`.
#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line are independent
pub(crate) struct AbstractArgs {
    /// The program; `-` reads standard input
    pub(crate) file: PathBuf,
    /// The memory model: store buffers and the network become variables first
    #[arg(short, long, value_enum, ignore_case = true, default_value_t = ModelArg::Sc)]
    pub(crate) model: ModelArg,
    /// What to write
    #[arg(long, value_enum, default_value_t = EmitArg::Bp)]
    pub(crate) emit: EmitArg,
    /// Further predicates: a file of `predicate ...;`
    #[arg(long, value_name = "FILE")]
    pub(crate) predicates: Option<PathBuf>,
    /// What is lifted to store buffers
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ExtrapolateArg::Auto)]
    pub(crate) extrapolate: ExtrapolateArg,
    /// The predicates of the program whose buffers are variables, and no others: a file that
    /// `--emit predicates` has written
    #[arg(long, value_name = "FILE")]
    pub(crate) lifted: Option<PathBuf>,
    /// The cubes to try beside single literals: a file that `--emit cubes` has written; each
    /// `predicate` is one
    #[arg(long, value_name = "FILE", conflicts_with = "strategy")]
    pub(crate) cubes: Option<PathBuf>,
    /// Leave predicates over buffered values out of lifted cubes
    #[arg(long)]
    pub(crate) drop_buffered: bool,
    /// Store buffers, or slots under RMA: `auto`, `bounded:K`, `abstract:K`
    #[arg(long, value_name = "HOW", default_value_t)]
    pub(crate) buffers: BuffersArg,
    /// Which stores abstract buffers know exactly
    #[arg(long, value_enum, default_value_t = KeepArg::Newest)]
    pub(crate) keep: KeepArg,
    /// Value sets of remote operations (RMA): what has one of its own
    #[arg(long, value_enum, default_value_t = SetsArg::Statement)]
    pub(crate) sets: SetsArg,
    /// How cubes are found
    #[arg(long, value_enum, default_value_t = TableStrategy::Cores)]
    pub(crate) strategy: TableStrategy,
    /// Literals of the largest cubes; 0: no limit [default: 4; for `program`, whose cubes are those
    /// of the Boolean program under SC: 3]
    #[arg(long, value_name = "N")]
    pub(crate) cube_size: Option<usize>,
    /// Leave out what relates new values to each other: smaller, less precise
    #[arg(long)]
    pub(crate) cartesian: bool,
    /// Say which new values go together, also under a weak model, where that takes long
    #[arg(long, conflicts_with = "cartesian")]
    pub(crate) relate: bool,
    /// Stop at every location, also where nobody can disturb a thread
    #[arg(long)]
    pub(crate) no_compress: bool,
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
    /// The predicates that it would have, lifted to buffers
    Predicates,
    /// The lifted cubes
    Cubes,
}

/// Strategies that build tables of cubes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TableStrategy {
    /// All cubes by increasing size
    Enumerate,
    /// Minimal cubes as the dual of models
    Cores,
    /// The Boolean program of the proof under SC, lifted without solver calls
    Program,
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
    /// Join 3-valued states where threads are at the same places: fewer states, less precise
    #[arg(long)]
    pub(crate) merge: bool,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}
