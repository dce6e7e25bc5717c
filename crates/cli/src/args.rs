//! The command line: every command and every option, in this file and those under
//! `args/`. Help, the man page and shell completions are made from it.

mod bench;
mod boolean;
mod fence;
mod linearize;
mod lsp;
mod models;
mod replay;
mod scale;
mod shape;
mod test;
mod values;
mod verify;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use palisade_program::Model;

pub(crate) use self::bench::{BenchArgs, SuiteArg};
pub(crate) use self::boolean::{AbstractArgs, CheckArgs, EmitArg, TableStrategy};
pub(crate) use self::fence::{FenceArgs, SearchArg, StartArg};
pub(crate) use self::linearize::{
    FreeArg, InterleavingArg, LinearEmitArg, LinearModelArg, LinearizeArgs, SoftArg,
};
pub(crate) use self::lsp::LspArgs;
pub(crate) use self::models::Models;
pub(crate) use self::replay::ReplayArgs;
pub(crate) use self::scale::{ClusterArgs, ScaleArgs};
pub(crate) use self::shape::{DrawingFormat, JoinArg, ShapeArgs};
pub(crate) use self::test::{ModelsArg, TestArgs};
use self::values::{parse_size, parse_time};
pub(crate) use self::verify::{
    CArgs, CertifyArgs, CheckArg, ExploreArgs, ExtrapolateArg, FlagArgs, IntsArg, MethodArgs,
    PreprocessorArgs, ReduceArgs, SetsArg, StrategyArg, SymmetryArg, ToArg, VerifyArgs,
};

/// What the program is, for `--help`.
const ABOUT: &str = "Proves or refutes safety of concurrent programs on relaxed memory";

/// Exit codes, below every help text.
const EXIT_CODES: &str = "\
Exit codes:
  0  the properties hold, or the command did what was asked
  1  violated
  2  bad input or usage
  3  unknown: time, memory, a bound, or gave up";

/// Exit codes of `fence`.
const FENCE_EXIT_CODES: &str = "\
Exit codes:
  0  repaired and proved (also when no fence is needed)
  1  the bug exists under SC: no fence can repair it
  2  bad input or usage
  3  otherwise: unknown, or no placement at the candidates repairs it";

/// Exit codes of `test`.
const TEST_EXIT_CODES: &str = "\
Exit codes:
  0  every verdict is the expected one
  1  some verdict is another one
  2  some input could not be read
  3  some verdict is unknown";

/// What `palisade FILE` does.
const ABOUT_FILES: &str = "\
`palisade FILE` chooses the command: verify for .pal, .rmm, .c, .i and .rs, linearize for data
structures in .pal, litmus for .litmus, shape for .tvp and .tvm, check for .bp.";

/// The whole command line.
#[derive(Clone, Debug, Parser)]
#[command(name = "palisade", version, about = ABOUT, before_help = ABOUT_FILES, after_help = EXIT_CODES)]
#[command(max_term_width = 100, propagate_version = true)]
pub(crate) struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands, one file each under `commands/`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// Search all runs of a program under a memory model
    #[command(after_help = EXIT_CODES)]
    Explore(ExploreArgs),
    /// Prove or refute a program's properties, also with unbounded integers and loops
    #[command(after_help = EXIT_CODES)]
    Verify(VerifyArgs),
    /// Find the fewest fences, fewest flushes or weakest orders that suffice, and prove it
    #[command(after_help = FENCE_EXIT_CODES)]
    Fence(FenceArgs),
    /// Check a certificate that `verify` or `linearize` has written
    #[command(after_help = EXIT_CODES)]
    Certify(CertifyArgs),
    /// Run a trace that was saved with --json again, step by step
    #[command(after_help = EXIT_CODES)]
    Replay(ReplayArgs),
    /// Print a program that behaves under SC as the given one under a relaxed model
    Reduce(ReduceArgs),
    /// Analyse a heap program: 3-valued logic, TVLA's languages
    #[command(after_help = EXIT_CODES)]
    Shape(ShapeArgs),
    /// Prove or refute that a data structure is linearizable
    #[command(after_help = EXIT_CODES)]
    Linearize(LinearizeArgs),
    /// Run litmus tests and print their final states in herd's form
    Litmus(LitmusArgs),
    /// Run files and folders and compare the verdicts with those that the files expect
    #[command(after_help = TEST_EXIT_CODES)]
    Test(TestArgs),
    /// Format programs
    Fmt(FmtArgs),
    /// Show a program as the engines see it
    Show(ShowArgs),
    /// Write the Boolean program of a program and its predicates
    Abstract(AbstractArgs),
    /// Check a Boolean program with a number of threads, or with any number
    #[command(after_help = EXIT_CODES)]
    Check(CheckArgs),
    /// Run a suite of experiments beside the published figures
    Bench(BenchArgs),
    /// A language server for .pal files: errors, hover, definitions, verdicts on saving
    Lsp(LspArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page (roff): palisade man | man -l -
    Man,
}

impl Command {
    /// The command's name, as in the JSON document.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Explore(_) => "explore",
            Self::Verify(_) => "verify",
            Self::Fence(_) => "fence",
            Self::Certify(_) => "certify",
            Self::Replay(_) => "replay",
            Self::Reduce(_) => "reduce",
            Self::Shape(_) => "shape",
            Self::Linearize(_) => "linearize",
            Self::Litmus(_) => "litmus",
            Self::Test(_) => "test",
            Self::Fmt(_) => "fmt",
            Self::Show(_) => "show",
            Self::Abstract(_) => "abstract",
            Self::Check(_) => "check",
            Self::Bench(_) => "bench",
            Self::Lsp(_) => "lsp",
            Self::Completions(_) => "completions",
            Self::Man => "man",
        }
    }

    /// The options that every command has.
    pub(crate) fn common(&self) -> CommonArgs {
        match self {
            Self::Explore(args) => args.common.clone(),
            Self::Verify(args) => args.common.clone(),
            Self::Fence(args) => args.common.clone(),
            Self::Certify(args) => args.common.clone(),
            Self::Replay(args) => args.common.clone(),
            Self::Reduce(args) => args.common.clone(),
            Self::Shape(args) => args.common.clone(),
            Self::Linearize(args) => args.common.clone(),
            Self::Litmus(args) => args.common.clone(),
            Self::Test(args) => args.common.clone(),
            Self::Fmt(args) => args.common.clone(),
            Self::Show(args) => args.common.clone(),
            Self::Abstract(args) => args.common.clone(),
            Self::Check(args) => args.common.clone(),
            Self::Bench(args) => args.common.clone(),
            Self::Lsp(_) | Self::Completions(_) | Self::Man => CommonArgs::default(),
        }
    }
}

/// Options of every command that reads programs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CommonArgs {
    /// Print one JSON document instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print the verdict only
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Write a page for a browser here as well: a run step by step, a proof, a patch
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Colours: on a terminal, always, or never
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Output"
    )]
    pub(crate) color: ColorArg,
    /// End as `unknown` after this time: 10, 10s, 500ms, 2m, 1h [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Limits")]
    pub(crate) timeout: Option<Duration>,
    /// End as `unknown` when the process holds this much memory: 500M, 2G
    /// [default: three quarters of the machine]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub(crate) memory: Option<u64>,
}

/// When output is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum ColorArg {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Which steps of a trace are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TraceArg {
    /// Steps that touch shared memory
    Events,
    /// Every step
    Full,
}

/// `palisade litmus`.
#[derive(Clone, Debug, Args)]
pub(crate) struct LitmusArgs {
    /// Litmus tests (.litmus), or folders of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The memory model
    #[arg(short, long, value_enum, ignore_case = true, default_value_t = ModelArg::Sc)]
    pub(crate) model: ModelArg,
    /// Tests at the same time [default: the machine's processors]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// `palisade fmt`.
#[derive(Clone, Debug, Args)]
pub(crate) struct FmtArgs {
    /// Programs (.pal) to format in place; `-` formats standard input to standard output
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; name the files that are not formatted and exit with 1
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the formatted program instead of changing the file
    #[arg(long, conflicts_with = "check")]
    pub(crate) stdout: bool,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// `palisade show`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowArgs {
    /// The program; `-` reads standard input
    pub(crate) file: PathBuf,
    /// Draw the threads' control flow instead
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) cfg: Option<GraphFormat>,
    /// Mark the steps of this run in the picture: what `verify`, `explore` or `fence` have
    /// printed with --json
    #[arg(long, value_name = "TRACE", requires = "cfg")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// `palisade completions`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Memory models by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ModelArg {
    /// Sequential consistency
    Sc,
    /// x86-TSO: one store buffer per thread
    Tso,
    /// One store buffer per thread and variable
    Pso,
    /// Remote memory access: put, get, flush
    Rma,
    /// C11 with memory orders, repaired: for ARM, POWER and RISC-V, too
    Rc11,
}

impl From<ModelArg> for Model {
    fn from(model: ModelArg) -> Self {
        match model {
            ModelArg::Sc => Self::Sc,
            ModelArg::Tso => Self::Tso,
            ModelArg::Pso => Self::Pso,
            ModelArg::Rma => Self::Rma,
            ModelArg::Rc11 => Self::Rc11,
        }
    }
}

/// Formats of pictures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Graphviz
    Dot,
    /// A picture that browsers show
    Svg,
}

/// A number of ranks.
fn ranks(text: &str) -> Result<u32, String> {
    if text == "any" {
        let why = "MPI and OpenSHMEM programs are followed for a number of ranks that is given";
        return Err(format!(
            "{why}; give numbers one after the other, such as `-n 2` and `-n 3`"
        ));
    }
    let number = text.parse::<u32>();
    number.map_err(|_| "expected a number of ranks".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
