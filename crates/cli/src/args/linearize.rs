//! Options of `palisade linearize`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CommonArgs, DrawingFormat, PreprocessorArgs};

/// `palisade linearize`.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches are independent")]
pub(crate) struct LinearizeArgs {
    /// The data structure as code (.pal, or functions of a C program); `-` reads standard input
    pub(crate) file: PathBuf,
    /// The functions of a C program that are the operations, as push=f,pop=g (else: by comments, or by names)
    #[arg(
        long,
        value_name = "OPERATION=FUNCTION",
        value_delimiter = ',',
        help_heading = "C programs"
    )]
    pub(crate) object: Vec<String>,
    /// The function of a C program that runs before all calls
    #[arg(long, value_name = "FUNCTION", help_heading = "C programs")]
    pub(crate) init: Option<String>,
    /// The specification for a C program: stack, queue, set, none, or a file with `spec { ... }`
    #[arg(long, value_name = "NAME|FILE", help_heading = "C programs")]
    pub(crate) spec: Option<String>,
    #[command(flatten)]
    pub(crate) preprocessor: PreprocessorArgs,
    /// The memory model: tso and pso are proved where every run is like one under sc, else searched
    #[arg(long, value_enum, value_name = "MODEL", default_value_t = LinearModelArg::Sc, ignore_case = true)]
    pub(crate) model: LinearModelArg,
    /// Take calls for complete when they return, though their stores may not have reached memory
    #[arg(long)]
    pub(crate) real_time: bool,
    /// Let `free` give nodes back to the allocator, which hands them out again: with
    /// `recycle` freed nodes may be read meanwhile, with `strict` that is a violation
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "recycle"
    )]
    pub(crate) free: Option<FreeArg>,
    /// Search runs within bounds only; do not try to prove
    #[arg(long, help_heading = "Proof")]
    pub(crate) no_proof: bool,
    /// Where other threads may act: after every step, or before accesses of shared memory
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = InterleavingArg::Full, help_heading = "Proof")]
    pub(crate) interleaving: InterleavingArg,
    /// Tell threads apart by location and locals instead of collapsing them into one
    /// object; with --threads N that many threads only, each an object of its own
    #[arg(long, help_heading = "Proof")]
    pub(crate) no_collapse: bool,
    /// Soft invariants: what the proof knows of threads that it has collapsed
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = SoftArg::Auto, help_heading = "Proof")]
    pub(crate) soft: SoftArg,
    /// Print a smallest set of soft invariants that suffices for the proof: none of them can be left out
    #[arg(long, help_heading = "Proof", conflicts_with = "no_proof")]
    pub(crate) minimise: bool,
    /// Draw the abstract structures of every location of the proof, and those that it failed at
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        requires = "out",
        help_heading = "Output"
    )]
    pub(crate) dump: Option<DrawingFormat>,
    /// The folder for drawings; without --dump only the structure that a proof failed at
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print something else instead of a verdict
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Output")]
    pub(crate) emit: Option<LinearEmitArg>,
    /// Write the proof's certificate here; sets have one
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) certificate: Option<PathBuf>,
    /// Print what the search cost
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
    /// Threads of the runs that are searched [default: 3, with --free 2]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) threads: Option<u32>,
    /// Calls in one run that is searched, over all threads [default: 4, with --free 6]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) ops: Option<u32>,
    /// Nodes that exist at the same time in the runs that are searched
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "Limits")]
    pub(crate) nodes: usize,
    /// Values of arguments that are compared, and of `*`, in the runs that are searched
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Limits")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) values: u32,
    /// Stores of one thread that wait for memory, in the runs that are searched
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "Limits")]
    pub(crate) stores: usize,
    /// States to store at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2_000_000,
        help_heading = "Limits"
    )]
    pub(crate) max_states: usize,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Memory models of data structures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LinearModelArg {
    /// Sequential consistency
    Sc,
    /// x86-TSO: one store buffer for each thread
    Tso,
    /// Partial store order: one buffer for each thread and word of memory
    Pso,
}

impl LinearModelArg {
    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sc => "sc",
            Self::Tso => "tso",
            Self::Pso => "pso",
        }
    }
}

/// What happens to freed nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FreeArg {
    /// They come back from `new` as they are; until then others may read them
    Recycle,
    /// They come back from `new` as they are; until then nobody may touch them
    Strict,
}

/// What to print instead of a verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LinearEmitArg {
    /// The methods as control-flow graphs
    Program,
    /// The model that the shape analysis is given, as text
    Tvp,
    /// The model's initial structure
    Tvs,
    /// Object and specification in lockstep as one program, for objects without lists
    Lockstep,
}

/// Which soft invariants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SoftArg {
    /// None
    None,
    /// Those in the text: `soft x != null;`
    Hand,
    /// Those in the text, and all that random runs do not refute
    Auto,
    /// Those in the text, and one for every location and thread predicate that random runs
    /// do not refute
    Over,
    /// The same with those that random runs refute: shows what they cost
    All,
}

/// Where other threads may act.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum InterleavingArg {
    /// After every step
    Full,
    /// Before accesses of memory that threads share
    Restricted,
}
