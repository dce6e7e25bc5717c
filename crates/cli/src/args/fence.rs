//! Options of `palisade fence`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CommonArgs, MethodArgs, Models, PreprocessorArgs, TraceArg};

/// `palisade fence`.
#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line are independent
pub(crate) struct FenceArgs {
    /// The program (.pal, .rmm, .c, .rs); `-` reads standard input
    pub(crate) file: PathBuf,
    /// The memory model: tso or pso for fences, rc11 for memory orders, rma for flushes;
    /// several as tso,pso, or all
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Models,
    /// Print the fences as a unified diff of the source
    #[arg(long, help_heading = "Output")]
    pub(crate) diff: bool,
    /// Write this statement for every fence instead of the language's own
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub(crate) fence_text: Option<String>,
    /// Write the fences into the source file
    #[arg(long, help_heading = "Output")]
    pub(crate) write: bool,
    /// Write the certificate of the program with its fences here
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) certificate: Option<PathBuf>,
    /// List every placement of minimum cost
    #[arg(long, help_heading = "Method")]
    pub(crate) all: bool,
    /// What fences cost: `count` (fewest full fences, then fewest store-store fences),
    /// `loops` (ten times as much for each loop around the fence), or a file of costs;
    /// rc11: `count` is 1 for acquire and release, 2 for `acq_rel`, 4 for `seq_cst`, and more for fences
    #[arg(
        long,
        value_name = "RULE",
        default_value = "count",
        help_heading = "Method"
    )]
    pub(crate) cost: String,
    /// Fences in the text at most [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_fences: Option<usize>,
    /// How placements are found
    #[arg(long, value_enum, default_value_t = SearchArg::Exact, help_heading = "Method")]
    pub(crate) search: SearchArg,
    /// Flushes to choose from (RMA), or orders (RC11) [default: all for rma, own for rc11]
    #[arg(long, value_enum, help_heading = "Method")]
    pub(crate) start: Option<StartArg>,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    /// States that the search for bugs looks at before a proof is tried [default: 30000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) hunt_states: Option<u64>,
    /// Copies of each thread declared with [*] [default: any number]
    #[arg(long, value_name = "N", alias = "threads", help_heading = "Limits")]
    pub(crate) copies: Option<u32>,
    /// Calls in one run that is searched, over all threads; data structures only
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Limits")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) ops: u32,
    /// Ranks of an MPI program; such a program needs it
    #[arg(
        short = 'n',
        long,
        value_name = "RANKS",
        value_parser = super::ranks,
        help_heading = "C programs"
    )]
    pub(crate) ranks: Option<u32>,
    #[command(flatten)]
    pub(crate) preprocessor: PreprocessorArgs,
    /// Steps of a trace that are shown [default: events for C, full for others]
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Output")]
    pub(crate) trace: Option<TraceArg>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// How `fence` finds placements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SearchArg {
    /// The minimum, by hitting sets over the bugs found
    Exact,
    /// The papers' own: fences after all writes of each bug's trace, then greedy removal;
    /// flushes removed one by one from all of them. No minimum is claimed
    Paper,
}

/// Which flushes `fence --model rma` chooses from, or which orders `fence --model rc11`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StartArg {
    /// RMA: one after every remote operation; those that the program has stay
    All,
    /// RMA: those that the program has; what is not needed is taken out. RC11: orders become
    /// stronger only, fences are added
    Own,
    /// RC11: any orders, and any fences
    Relaxed,
    /// RC11: any orders, and of the program's own fences those that are needed
    #[value(name = "seq_cst")]
    SeqCst,
}
