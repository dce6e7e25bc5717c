//! The command line: every command and every option, in this file and those under
//! `args/`. Help, the man page and shell completions are made from it.

mod linearize;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use palisade_program::{Domain, Model};
use palisade_verify::Threads;

pub(crate) use self::linearize::{FreeArg, InterleavingArg, LinearEmitArg, LinearizeArgs};
use crate::buffers::BuffersArg;

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

/// The whole command line.
#[derive(Clone, Debug, Parser)]
#[command(name = "palisade", version, about = ABOUT, after_help = EXIT_CODES)]
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
    /// Find the fewest fences that make a program right under TSO or PSO, and prove it
    #[command(after_help = FENCE_EXIT_CODES)]
    Fence(FenceArgs),
    /// Check a certificate that `verify` has written
    #[command(after_help = EXIT_CODES)]
    Certify(CertifyArgs),
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
            Self::Reduce(_) => "reduce",
            Self::Shape(_) => "shape",
            Self::Linearize(_) => "linearize",
            Self::Litmus(_) => "litmus",
            Self::Fmt(_) => "fmt",
            Self::Show(_) => "show",
            Self::Abstract(_) => "abstract",
            Self::Check(_) => "check",
            Self::Bench(_) => "bench",
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
            Self::Reduce(args) => args.common.clone(),
            Self::Shape(args) => args.common.clone(),
            Self::Linearize(args) => args.common.clone(),
            Self::Litmus(args) => args.common.clone(),
            Self::Fmt(args) => args.common.clone(),
            Self::Show(args) => args.common.clone(),
            Self::Abstract(args) => args.common.clone(),
            Self::Check(args) => args.common.clone(),
            Self::Bench(args) => args.common.clone(),
            Self::Completions(_) | Self::Man => CommonArgs::default(),
        }
    }
}

/// Options of every command that reads programs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CommonArgs {
    /// Print one JSON document instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// End as `unknown` after this time: 10, 10s, 500ms, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Limits")]
    pub(crate) timeout: Option<Duration>,
    /// End as `unknown` when the process holds this much memory: 500M, 2G
    /// [default: three quarters of the machine]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub(crate) memory: Option<u64>,
}

/// `palisade explore`.
#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line are independent
pub(crate) struct ExploreArgs {
    /// The program (.pal, .rmm, .c, .i) or C task (.yml); `-` reads standard input, as .pal
    pub(crate) file: PathBuf,
    /// The memory model
    #[arg(long, value_enum, default_value_t = ModelArg::Sc)]
    pub(crate) model: ModelArg,
    /// What else counts as a violation
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) check: Vec<CheckArg>,
    /// Print the set of final states
    #[arg(long = "final", help_heading = "Output")]
    pub(crate) finals: bool,
    /// Print what the search cost
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
    /// Stores that each buffer may hold; a run that needs more makes the verdict unknown
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) buffer: Option<usize>,
    /// States to store at most
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_states: Option<u64>,
    /// Values that variables may take, such as -8..8; also what `*` chooses from
    #[arg(long, value_name = "LO..HI", value_parser = parse_range, allow_hyphen_values = true)]
    #[arg(help_heading = "Limits")]
    pub(crate) range: Option<Domain>,
    /// Copies of each thread declared with [*]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) copies: Option<u32>,
    /// Search without partial-order reduction
    #[arg(long, help_heading = "Search")]
    pub(crate) no_partial_order: bool,
    /// Search without symmetry reduction
    #[arg(long, help_heading = "Search")]
    pub(crate) no_symmetry: bool,
    /// Threads that search [default: the machine's]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) workers: Option<usize>,
    #[command(flatten)]
    pub(crate) c: CArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Options about C programs.
#[derive(Clone, Debug, Args)]
pub(crate) struct CArgs {
    /// What is asked of a C program: an SV-COMP property file (.prp)
    #[arg(long, value_name = "FILE", help_heading = "C programs")]
    pub(crate) property: Option<PathBuf>,
    /// Integers of C programs
    #[arg(long, value_enum, default_value_t = IntsArg::C, help_heading = "C programs")]
    pub(crate) ints: IntsArg,
    /// Widths of `long` and pointers [default: lp64, or what a task file says]
    #[arg(long, value_enum, value_name = "MODEL", help_heading = "C programs")]
    pub(crate) data_model: Option<DataModelArg>,
    /// Ranks of an MPI program
    #[arg(short = 'n', long, value_name = "RANKS", help_heading = "C programs")]
    pub(crate) ranks: Option<u32>,
}

/// Integers of C programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum IntsArg {
    /// Those of C: each type with its width
    C,
    /// Mathematical integers without bounds
    Math,
}

/// Data models of C.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DataModelArg {
    /// 32 bits
    Ilp32,
    /// 64 bits
    Lp64,
}

impl From<DataModelArg> for palisade_frontend::c::DataModel {
    fn from(model: DataModelArg) -> Self {
        match model {
            DataModelArg::Ilp32 => Self::Ilp32,
            DataModelArg::Lp64 => Self::Lp64,
        }
    }
}

/// `palisade verify`.
#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line are independent
pub(crate) struct VerifyArgs {
    /// The program (.pal, .rmm, .c, .i) or C task (.yml); `-` reads standard input, as .pal
    pub(crate) file: PathBuf,
    /// The memory model
    #[arg(long, value_enum, default_value_t = ModelArg::Sc)]
    pub(crate) model: ModelArg,
    /// What else counts as a violation (C programs)
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "C programs")]
    pub(crate) check: Vec<CheckArg>,
    /// Write the proof's certificate here
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) certificate: Option<PathBuf>,
    /// Print what it cost
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
    /// Further predicates: a file of `predicate ...;`
    #[arg(long, value_name = "FILE", help_heading = "Method")]
    pub(crate) predicates: Option<PathBuf>,
    /// Use exactly the predicates given
    #[arg(long, help_heading = "Method")]
    pub(crate) no_refine: bool,
    /// Sharpen abstract steps that are impossible by themselves before adding predicates
    #[arg(long, help_heading = "Method")]
    pub(crate) refine_transitions: bool,
    /// With each new predicate take those over the variables that its own are copied to
    #[arg(long, help_heading = "Method")]
    pub(crate) parameterised: bool,
    /// Ignore the program's own `predicate` hints
    #[arg(long, help_heading = "Method")]
    pub(crate) no_hints: bool,
    /// Abstract variables with few values too, instead of keeping their values
    #[arg(long, help_heading = "Method")]
    pub(crate) no_explicit: bool,
    /// Do not check the certificate
    #[arg(long, help_heading = "Method")]
    pub(crate) no_certify: bool,
    /// How abstract transformers are built
    #[arg(long, value_enum, default_value_t = StrategyArg::Lazy, help_heading = "Method")]
    pub(crate) strategy: StrategyArg,
    /// Literals of the largest cubes, for `enumerate` and `cores` [default: 3]
    #[arg(long, value_name = "N", help_heading = "Method")]
    pub(crate) cube_size: Option<usize>,
    /// What TSO and PSO take over from the proof under SC
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ExtrapolateArg::Auto)]
    #[arg(help_heading = "Method")]
    pub(crate) extrapolate: ExtrapolateArg,
    /// Leave predicates over buffered values out of lifted cubes
    #[arg(long, help_heading = "Method")]
    pub(crate) drop_buffered: bool,
    /// Join states of the same control
    #[arg(long, help_heading = "Method")]
    pub(crate) merge: bool,
    /// Store buffers under TSO and PSO: `auto`, `bounded:K` with K cells each,
    /// `bounded:K,x=2,y=1` with other sizes for some variables (PSO), or `abstract:K`:
    /// of every size, K stores known exactly and the others as a set; under RMA slots of
    /// remote operations
    #[arg(long, value_name = "HOW", default_value_t, help_heading = "Method")]
    pub(crate) buffers: BuffersArg,
    /// Which stores abstract buffers know exactly
    #[arg(long, value_enum, default_value_t = KeepArg::Newest, help_heading = "Method")]
    pub(crate) keep: KeepArg,
    /// How many copies of each thread declared with [n] or [*] run: a number, or `any`
    /// for a proof for every number
    #[arg(long, value_name = "N|any", value_parser = threads, help_heading = "Method")]
    #[arg(conflicts_with = "copies")]
    pub(crate) threads: Option<Threads>,
    /// Whether copies are interchangeable: with `off`, `[*]` is checked for --copies
    /// only, and each copy of `[n]` is a thread of its own
    #[arg(long, value_enum, value_name = "WHETHER", default_value_t = SymmetryArg::On)]
    #[arg(help_heading = "Method")]
    pub(crate) symmetry: SymmetryArg,
    /// Copies of each thread declared with [*], in place of any number
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) copies: Option<u32>,
    /// Abstract states of one search at most
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_states: Option<usize>,
    /// Rounds of refinement at most
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_rounds: Option<usize>,
    #[command(flatten)]
    pub(crate) c: CArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// `palisade fence`.
#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line are independent
pub(crate) struct FenceArgs {
    /// The program (.pal); `-` reads standard input
    pub(crate) file: PathBuf,
    /// The memory model: tso or pso for fences, rma for flushes
    #[arg(long, value_enum)]
    pub(crate) model: ModelArg,
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
    /// `loops` (ten times as much for each loop around the fence), or a file of costs
    #[arg(
        long,
        value_name = "RULE",
        default_value = "count",
        help_heading = "Method"
    )]
    pub(crate) cost: String,
    /// Fences in the text at most
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_fences: Option<usize>,
    /// How placements are found
    #[arg(long, value_enum, default_value_t = SearchArg::Exact, help_heading = "Method")]
    pub(crate) search: SearchArg,
    /// Flushes to choose from (RMA)
    #[arg(long, value_enum, default_value_t = StartArg::All, help_heading = "Method")]
    pub(crate) start: StartArg,
    /// Store buffers in proofs, as for `verify`
    #[arg(long, value_name = "HOW", default_value_t, help_heading = "Method")]
    pub(crate) buffers: BuffersArg,
    /// Ignore the program's own `predicate` hints
    #[arg(long, help_heading = "Method")]
    pub(crate) no_hints: bool,
    /// States that a hunt for bugs looks at before a proof is tried [default: 30000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) hunt_states: Option<u64>,
    /// Copies of each thread declared with [*]
    #[arg(long, value_name = "N", alias = "threads", help_heading = "Limits")]
    pub(crate) copies: Option<u32>,
    /// Ranks of an MPI program
    #[arg(short = 'n', long, value_name = "RANKS", help_heading = "C programs")]
    pub(crate) ranks: Option<u32>,
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

/// Which flushes `fence --model rma` chooses from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StartArg {
    /// One after every remote operation; those that the program has stay
    All,
    /// Those that the program has; what is not needed is taken out
    Own,
}

/// `palisade certify`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CertifyArgs {
    /// The program (.pal, .rmm)
    pub(crate) program: PathBuf,
    /// Its certificate
    pub(crate) certificate: PathBuf,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// `palisade reduce`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReduceArgs {
    /// The program (.pal, .rmm); `-` reads standard input, as .pal
    pub(crate) file: PathBuf,
    /// The memory model
    #[arg(long, value_enum)]
    pub(crate) model: ModelArg,
    /// Cells of the store buffers: `bounded:K`, or `bounded:K,x=2,y=1` with other
    /// sizes for some variables (PSO), or `abstract:K`
    #[arg(long, value_name = "HOW")]
    pub(crate) buffers: BuffersArg,
    /// Which stores abstract buffers know exactly
    #[arg(long, value_enum, default_value_t = KeepArg::Newest)]
    pub(crate) keep: KeepArg,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Whether copies of a template are interchangeable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SymmetryArg {
    /// Where the program allows it
    On,
    /// Never
    Off,
}

/// A number of copies, or `any`.
fn threads(text: &str) -> Result<Threads, String> {
    if text == "any" {
        return Ok(Threads::Any);
    }
    match text.parse::<u32>() {
        Ok(n) if n > 0 => Ok(Threads::Exactly(n)),
        Ok(_) | Err(_) => Err("a number from 1, or `any`".to_owned()),
    }
}

/// Which stores abstract buffers know exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum KeepArg {
    /// The newest; older ones are a set
    Newest,
    /// The oldest; newer ones are a set
    Oldest,
}

impl From<KeepArg> for palisade_verify::Keep {
    fn from(keep: KeepArg) -> Self {
        match keep {
            KeepArg::Newest => Self::Newest,
            KeepArg::Oldest => Self::Oldest,
        }
    }
}

/// `palisade shape`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShapeArgs {
    /// The program (.tvp, or .tvm for threads)
    pub(crate) program: PathBuf,
    /// The initial structures (.tvs) [default: the program's name with .tvs]
    pub(crate) states: Option<PathBuf>,
    /// Define a macro of the preprocessor; without a value it is 1
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]", value_parser = parse_define)]
    pub(crate) defines: Vec<(String, String)>,
    /// Settings in TVLA's form; those beside the program (PROGRAM.properties) and those that it asks
    /// for by @properties are read first, options of this command win over all
    #[arg(long, value_name = "FILE")]
    pub(crate) properties: Option<PathBuf>,
    /// Which structures are merged [default: part]
    #[arg(long, value_enum)]
    pub(crate) join: Option<JoinArg>,
    /// Let a thread that an update makes ready wait for one more step, as TVLA does; runs in which
    /// it starts at once are then not looked at
    #[arg(long)]
    pub(crate) delayed_start: bool,
    /// Draw the structures of every location
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        requires = "out",
        help_heading = "Output"
    )]
    pub(crate) dump: Option<DrawingFormat>,
    /// The folder for drawings
    #[arg(
        long,
        value_name = "FOLDER",
        requires = "dump",
        help_heading = "Output"
    )]
    pub(crate) out: Option<PathBuf>,
    /// Print what the analysis cost
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
    /// Structures to store at most
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_structures: Option<usize>,
    /// Messages to give at most
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_messages: Option<usize>,
    /// Small concrete worlds to look at to confirm that the result holds, and (forty times as
    /// many) for a run that violates [default: 80, and more after a long analysis]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) visits: Option<usize>,
    /// Threads that analyse [default: the machine's]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) workers: Option<usize>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Which structures `shape` merges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum JoinArg {
    /// None: relational
    Rel,
    /// Those with the same canonical names: partially disjunctive
    Part,
    /// Those with the same nullary values: independent attributes
    Ind,
    /// None, and nothing is abstracted
    Conc,
}

/// Drawings of structures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DrawingFormat {
    /// Graphviz, one file per location
    Dot,
    /// One picture per structure
    Svg,
    /// One page per location
    Html,
}

/// `palisade litmus`.
#[derive(Clone, Debug, Args)]
pub(crate) struct LitmusArgs {
    /// Litmus tests (.litmus), or folders of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The memory model
    #[arg(long, value_enum, default_value_t = ModelArg::Sc)]
    pub(crate) model: ModelArg,
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
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

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
    /// numbers
    #[arg(long, value_name = "N|any", value_parser = threads)]
    pub(crate) threads: Option<Threads>,
    /// States to store at most
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_states: Option<usize>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// `palisade bench`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchArgs {
    /// The suite
    #[arg(value_enum)]
    pub(crate) suite: SuiteArg,
    /// The folder of tasks, for `svcomp`
    #[arg(value_name = "FOLDER_OF_TASKS")]
    pub(crate) tasks: Option<PathBuf>,
    /// The memory model
    #[arg(long, value_enum, default_value_t = BenchModel::All)]
    pub(crate) model: BenchModel,
    /// Only buffers of K cells, 1 to 3 (TSO, PSO)
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=3))]
    pub(crate) cells: Option<u32>,
    /// Only programs whose name contains this
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Option<String>,
    /// Only this strategy
    #[arg(long, value_enum)]
    pub(crate) strategy: Option<StrategyArg>,
    /// Read the suite from this folder instead of the built-in one
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Draw cost against the number of threads into this SVG file instead (`sapa`)
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// A row that takes longer prints T/O
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60")]
    #[arg(help_heading = "Limits")]
    pub(crate) row_timeout: Duration,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// The suites under `suites/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SuiteArg {
    /// Predicate abstraction for relaxed memory models, tables 1 and 2
    Cupex,
    /// The fewest fences of eight programs, under TSO and PSO
    Fences,
    /// The fewest flushes of fifteen programs with remote memory access
    Rma,
    /// Symmetry-aware predicate abstraction, tables 1 and 2
    Sapa,
    /// SV-COMP tasks (.yml) below a folder
    Svcomp,
}

/// How abstract transformers are built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StrategyArg {
    /// All cubes by increasing size
    Enumerate,
    /// Minimal cubes as the dual of models
    Cores,
    /// Only what the search meets
    Lazy,
    /// Cubes of the proof under SC, lifted to store buffers
    Cubes,
    /// The Boolean program of the proof under SC, lifted without solver calls
    Program,
}

/// The models of a suite.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BenchModel {
    /// Sequential consistency
    Sc,
    /// x86-TSO
    Tso,
    /// PSO
    Pso,
    /// All of them
    All,
}

impl BenchModel {
    /// The models, in the order of the rows.
    pub(crate) fn models(self) -> Vec<Model> {
        match self {
            Self::Sc => vec![Model::Sc],
            Self::Tso => vec![Model::Tso],
            Self::Pso => vec![Model::Pso],
            Self::All => vec![Model::Sc, Model::Pso, Model::Tso],
        }
    }
}

impl std::fmt::Display for BenchModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sc => "sc",
            Self::Tso => "tso",
            Self::Pso => "pso",
            Self::All => "all",
        })
    }
}

/// What is taken over from the proof under SC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ExtrapolateArg {
    /// Predicates, if the program turns out to need any
    Auto,
    /// Predicates
    Predicates,
    /// Predicates and cubes (implies --strategy cubes)
    Cubes,
    /// Nothing
    None,
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
}

impl From<ModelArg> for Model {
    fn from(model: ModelArg) -> Self {
        match model {
            ModelArg::Sc => Self::Sc,
            ModelArg::Tso => Self::Tso,
            ModelArg::Pso => Self::Pso,
            ModelArg::Rma => Self::Rma,
        }
    }
}

/// What else counts as a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CheckArg {
    /// No thread can move although not all have ended (`explore`, not for C)
    Deadlock,
    /// Signed overflow in C programs
    Overflow,
    /// Data races on plain variables of C programs
    Races,
}

/// Formats of pictures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Graphviz
    Dot,
    /// A picture that browsers show
    Svg,
}

/// A time such as `10`, `1.5s`, `500ms`, `2m`, `1h`; a bare number is seconds.
fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("unknown unit `{unit}`; use ms, s, m or h")),
    };
    let seconds = parse_amount(number)? * factor;
    Duration::try_from_secs_f64(seconds).map_err(|_| "too long".to_owned())
}

/// A size such as `500M` or `2G` (powers of 1024); a bare number is bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(format!("unknown unit `{unit}`; use K, M, G or T")),
    };
    let bytes = parse_amount(number)? * (1_u64 << shift) as f64;
    if bytes < 1.0 {
        return Err("must be positive".to_owned());
    }
    // The conversion saturates: beyond 16 EiB there is no limit.
    Ok(bytes as u64)
}

/// Splits a number from the unit behind it.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

fn parse_amount(number: &str) -> Result<f64, String> {
    number
        .parse::<f64>()
        .map_err(|_| "expected a number, then a unit".to_owned())
}

/// A range of values such as `-8..8`, both ends included.
fn parse_range(text: &str) -> Result<Domain, String> {
    let parts = text
        .split_once("..")
        .ok_or("expected LO..HI, such as -8..8");
    let (lo, hi) = parts.map_err(str::to_owned)?;
    let hi = hi.strip_prefix('=').unwrap_or(hi);
    let number = |part: &str| {
        part.trim()
            .parse::<i64>()
            .map_err(|_| format!("`{part}` is no 64-bit integer"))
    };
    let domain = Domain {
        lo: number(lo)?,
        hi: number(hi)?,
    };
    if domain.lo > domain.hi {
        return Err(format!(
            "empty: {} is greater than {}",
            domain.lo, domain.hi
        ));
    }
    Ok(domain)
}

/// A macro such as `NAME`, `NAME=VALUE` or, as TVLA writes it, `NAME(VALUE)`.
fn parse_define(text: &str) -> Result<(String, String), String> {
    let in_parentheses = || text.strip_suffix(')').and_then(|text| text.split_once('('));
    let (name, value) = text
        .split_once('=')
        .or_else(in_parentheses)
        .unwrap_or((text, "1"));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let starts_well = !name.starts_with(|c: char| c.is_ascii_digit());
    if name.is_empty() || !name.chars().all(is_word) || !starts_well {
        return Err(format!("`{name}` is no name; expected NAME or NAME=VALUE"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn times() {
        assert_eq!(parse_time("10"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_mins(2)));
        assert!(parse_time("-1").is_err());
        assert!(parse_time("1 year").is_err());
        assert!(parse_time("").is_err());
    }

    #[test]
    fn defines() {
        let pair = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(parse_define("SOFT"), pair("SOFT", "1"));
        assert_eq!(parse_define("N=a(b)"), pair("N", "a(b)"));
        assert_eq!(parse_define("GNUM(3)"), pair("GNUM", "3"));
        assert_eq!(parse_define("EMPTY="), pair("EMPTY", ""));
        assert!(parse_define("=1").is_err());
        assert!(parse_define("1x").is_err());
        assert!(parse_define("a b").is_err());
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(parse_size("500 MiB"), Ok(500 << 20));
        assert_eq!(parse_size("0.5k"), Ok(512));
        assert!(parse_size("0").is_err());
        assert!(parse_size("G").is_err());
    }

    #[test]
    fn ranges() {
        assert_eq!(parse_range("-8..8"), Ok(Domain { lo: -8, hi: 8 }));
        assert_eq!(parse_range("0..=3"), Ok(Domain { lo: 0, hi: 3 }));
        assert!(parse_range("3..0").is_err());
        assert!(parse_range("3").is_err());
    }
}
