//! Options of the commands about programs on relaxed memory: `explore`, `verify`,
//! `certify`, `reduce`.

use std::path::{Path, PathBuf};

use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum};
use palisade_frontend::rust;
use palisade_program::Domain;
use palisade_verify::{Extrapolate, Options, Promote, Strategy, Threads};
use serde_json::{Value, json};

use super::values::{parse_range, threads};
use super::{CommonArgs, ModelArg, Models, ScaleArgs, TraceArg};
use crate::buffers::BuffersArg;

/// `palisade explore`.
#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line are independent
pub(crate) struct ExploreArgs {
    /// The program (.pal, .rmm, .c, .i, .rs) or C task (.yml); `-` reads standard input, as .pal
    #[arg(
        required = false,
        required_unless_present = "package",
        default_value_if("package", ArgPredicate::IsPresent, "Cargo.toml")
    )]
    pub(crate) file: PathBuf,
    /// The memory model: sc, tso, pso, rma or rc11; several as sc,tso; all those that the
    /// program has a meaning under, without rc11, as all
    #[arg(short, long, value_name = "MODEL", default_value = "sc")]
    pub(crate) model: Models,
    /// What else counts as a violation
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) check: Vec<CheckArg>,
    /// Print the set of final states
    #[arg(long = "final", help_heading = "Output")]
    pub(crate) finals: bool,
    /// Print what the search cost
    #[arg(short = 'v', long, help_heading = "Output")]
    pub(crate) stats: bool,
    /// Stores that each buffer may hold; a run that needs more makes the verdict unknown
    /// [default: 16]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) buffer: Option<usize>,
    /// States to store at most [default: 10000000; none with options of Scale]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_states: Option<u64>,
    /// Values that variables may take, such as -8..8; also what `*` chooses from
    /// [default: all that fit 64 bits; `*` chooses from -4..4]
    #[arg(long, value_name = "LO..HI", value_parser = parse_range, allow_hyphen_values = true)]
    #[arg(help_heading = "Limits")]
    pub(crate) range: Option<Domain>,
    /// Copies of each thread declared with [*] [default: 2]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) copies: Option<u32>,
    /// Search without partial-order reduction
    #[arg(long, help_heading = "Search")]
    pub(crate) no_partial_order: bool,
    /// Search without symmetry reduction
    #[arg(long, help_heading = "Search")]
    pub(crate) no_symmetry: bool,
    /// Take states that differ by a shift of counters as one
    #[arg(long, help_heading = "Search")]
    pub(crate) shift: bool,
    /// Threads that search [default: the machine's]
    #[arg(short = 'j', long, value_name = "N", help_heading = "Search")]
    pub(crate) workers: Option<usize>,
    #[command(flatten)]
    pub(crate) scale: ScaleArgs,
    #[command(flatten)]
    pub(crate) c: CArgs,
    #[command(flatten)]
    pub(crate) rust: RustArgs,
    /// Steps of a trace that are shown [default: events for C, full for others]
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Output")]
    pub(crate) trace: Option<TraceArg>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Options about Rust programs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RustArgs {
    /// What integer overflow does: panic, as in debug builds, or wrap
    #[arg(
        long,
        value_enum,
        value_name = "BUILD",
        default_value_t = OverflowArg::Debug,
        help_heading = "Rust programs"
    )]
    overflow: OverflowArg,
    /// A cargo package, by its folder, in place of a file
    #[arg(long, value_name = "DIR", help_heading = "Rust programs")]
    package: Option<PathBuf>,
    /// The function to verify in place of `main`: a test, by its path
    #[arg(long, value_name = "NAME", help_heading = "Rust programs")]
    test: Option<String>,
    /// Another crate of the program: NAME=FILE, its root file; a later one may use those before
    #[arg(long = "extern", value_name = "CRATE", value_parser = named_file, help_heading = "Rust programs")]
    externs: Vec<(String, PathBuf)>,
    /// A condition for all crates, as rustc takes it
    #[arg(long, value_name = "SPEC", help_heading = "Rust programs")]
    cfg: Vec<String>,
}

/// NAME=FILE
fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("NAME=FILE is expected")?;
    Ok((name.to_owned(), PathBuf::from(file)))
}

impl RustArgs {
    /// The file to read, where `file` was given, and how the front end is to read it.
    pub(crate) fn program(&self, file: &Path) -> anyhow::Result<(PathBuf, rust::Options)> {
        let Some(folder) = &self.package else {
            return Ok((file.to_owned(), self.options()));
        };
        rust::package::program(folder, &self.options()).map_err(|trouble| {
            let rust::package::Trouble { message, help } = trouble;
            anyhow::anyhow!("{message}\n  help: {help}")
        })
    }

    fn options(&self) -> rust::Options {
        let mut crates = Vec::new();
        for (name, file) in &self.externs {
            let one = rust::Crate::new(name.clone(), file.clone(), &crates);
            crates.push(one);
        }
        rust::Options {
            overflow: match self.overflow {
                OverflowArg::Debug => rust::Overflow::Debug,
                OverflowArg::Release => rust::Overflow::Release,
            },
            test: self.test.clone(),
            crates,
            own: None,
            conditions: self.cfg.clone(),
        }
    }
}

/// Builds of Rust programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum OverflowArg {
    /// Overflow panics.
    #[default]
    Debug,
    /// Overflow wraps.
    Release,
}

/// Options about C programs.
#[derive(Clone, Debug, Args)]
pub(crate) struct CArgs {
    /// What is asked of a C program: an SV-COMP property file (.prp)
    #[arg(long, value_name = "FILE", help_heading = "C programs")]
    pub(crate) property: Option<PathBuf>,
    /// Write a witness of the verdict here: YAML, format 2 of SV-COMP, under SC
    #[arg(long, value_name = "FILE", help_heading = "C programs")]
    pub(crate) witness: Option<PathBuf>,
    /// Integers of C programs
    #[arg(long, value_enum, default_value_t = IntsArg::C, help_heading = "C programs")]
    pub(crate) ints: IntsArg,
    /// Widths of `long` and pointers [default: lp64, or what a task file says]
    #[arg(long, value_enum, value_name = "MODEL", help_heading = "C programs")]
    pub(crate) data_model: Option<DataModelArg>,
    /// Threads go on when `main` has returned, as if it had called `pthread_exit`
    #[arg(long, help_heading = "C programs")]
    pub(crate) outlive_main: bool,
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
}

/// The files of a C program beside the first, and flags for the preprocessor.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PreprocessorArgs {
    #[command(flatten)]
    pub(crate) flags: FlagArgs,
    /// The folder of a `compile_commands.json`: it says the flags of each file
    #[arg(long, value_name = "FOLDER", help_heading = "C programs")]
    pub(crate) compile_commands: Option<PathBuf>,
    /// Further C files of the program; for other languages, further programs
    #[arg(value_name = "FILE")]
    pub(crate) more: Vec<PathBuf>,
}

/// Flags for the preprocessor of C programs, as a compiler takes them.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FlagArgs {
    /// A folder with headers
    #[arg(short = 'I', value_name = "FOLDER", help_heading = "C programs")]
    folders: Vec<PathBuf>,
    /// A macro: NAME or NAME=VALUE
    #[arg(short = 'D', value_name = "MACRO", help_heading = "C programs")]
    defines: Vec<String>,
    /// A name that is no macro
    #[arg(short = 'U', value_name = "NAME", help_heading = "C programs")]
    undefines: Vec<String>,
    /// A file to read first (also -include)
    #[arg(long, value_name = "FILE", help_heading = "C programs")]
    include: Vec<PathBuf>,
    /// The language, such as c11 (also -std) [default: gnu11]
    #[arg(long, value_name = "NAME", help_heading = "C programs")]
    std: Option<String>,
}

impl FlagArgs {
    /// The options as on a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let paths = |flag: &str, paths: &[PathBuf]| -> Vec<String> {
            let words = paths.iter().map(|p| format!("{flag}{}", p.display()));
            words.collect()
        };
        let names = |flag: &str, names: &[String]| -> Vec<String> {
            names.iter().map(|name| format!("{flag}{name}")).collect()
        };
        let standard = self.std.iter().map(|name| format!("--std={name}"));
        [
            paths("-I", &self.folders),
            names("-D", &self.defines),
            names("-U", &self.undefines),
            paths("--include=", &self.include),
            standard.collect(),
        ]
        .concat()
    }
}

impl From<&PreprocessorArgs> for palisade_frontend::c::Preprocessor {
    fn from(args: &PreprocessorArgs) -> Self {
        Self {
            folders: args.flags.folders.clone(),
            defines: args.flags.defines.clone(),
            undefines: args.flags.undefines.clone(),
            includes: args.flags.include.clone(),
            standard: args.flags.std.clone(),
        }
    }
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
    /// The program (.pal, .rmm, .c, .i, .rs) or C task (.yml); `-` reads standard input, as .pal
    #[arg(
        required = false,
        required_unless_present = "package",
        default_value_if("package", ArgPredicate::IsPresent, "Cargo.toml")
    )]
    pub(crate) file: PathBuf,
    /// The memory model: sc, tso, pso, rma or rc11; several as sc,tso; all those that the
    /// program has a meaning under, without rc11, as all
    #[arg(short, long, value_name = "MODEL", default_value = "sc")]
    pub(crate) model: Models,
    /// What else counts as a violation
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) check: Vec<CheckArg>,
    /// Write the proof's certificate here
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) certificate: Option<PathBuf>,
    /// Print what was tried, in order, with time and outcome
    #[arg(short = 'v', long, help_heading = "Output")]
    pub(crate) explain: bool,
    /// Print what it cost
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    /// Use exactly the predicates given
    #[arg(long, help_heading = "Method")]
    pub(crate) no_refine: bool,
    /// Do not check the certificate
    #[arg(long, help_heading = "Method")]
    pub(crate) no_certify: bool,
    /// How many copies of each thread declared with [n] or [*] run: a number, or `any`
    /// for a proof for every number [default: as declared]
    #[arg(long, value_name = "N|any", value_parser = threads, help_heading = "Method")]
    #[arg(conflicts_with = "copies")]
    pub(crate) threads: Option<Threads>,
    /// Whether copies are interchangeable: with `off`, `[*]` is checked for --copies
    /// only, and each copy of `[n]` is a thread of its own
    #[arg(long, value_enum, value_name = "WHETHER", default_value_t = SymmetryArg::On)]
    #[arg(help_heading = "Method")]
    pub(crate) symmetry: SymmetryArg,
    /// Copies of each thread declared with [*], in place of any number [default: any number]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) copies: Option<u32>,
    /// Abstract states of one search at most [default: 4000000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_states: Option<usize>,
    /// Rounds of refinement at most [default: 200]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_rounds: Option<usize>,
    #[command(flatten)]
    pub(crate) c: CArgs,
    #[command(flatten)]
    pub(crate) rust: RustArgs,
    /// Steps of a trace that are shown [default: events for C, full for others]
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Output")]
    pub(crate) trace: Option<TraceArg>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// How a program is proved: options of `verify` and of `fence`.
#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line are independent
pub(crate) struct MethodArgs {
    /// Further predicates: a file of `predicate ...;`
    #[arg(long, value_name = "FILE", help_heading = "Method")]
    pub(crate) predicates: Option<PathBuf>,
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
    /// Keep the values of all variables: prove state by state, without predicates
    #[arg(long, help_heading = "Method", conflicts_with = "no_explicit")]
    pub(crate) state_by_state: bool,
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
    /// Drop states that several others cover together, not only those that one covers
    #[arg(long, help_heading = "Method", conflicts_with = "merge")]
    pub(crate) cover_by_several: bool,
    /// Store buffers under TSO and PSO: `auto`, `bounded:K` with K cells each,
    /// `bounded:K,x=2,y=1` with other sizes for some variables (PSO), `bounded:K,t=3` for the
    /// thread t, or `abstract:K`: of every size, K stores known exactly and the others as a set; `bounded:K+` and
    /// `abstract:K+` get more cells where K are too few; under RMA slots of remote operations
    #[arg(long, value_name = "HOW", default_value_t, help_heading = "Method")]
    pub(crate) buffers: BuffersArg,
    /// Which stores abstract buffers know exactly
    #[arg(long, value_enum, default_value_t = KeepArg::Newest, help_heading = "Method")]
    pub(crate) keep: KeepArg,
    /// Value sets of remote operations (RMA): what has one of its own
    #[arg(long, value_enum, default_value_t = SetsArg::Statement, help_heading = "Method")]
    pub(crate) sets: SetsArg,
}

impl MethodArgs {
    /// What these options say.
    pub(crate) fn options(&self) -> Options {
        let defaults = Options::default();
        Options {
            strategy: match self.strategy {
                StrategyArg::Lazy => Strategy::Lazy,
                StrategyArg::Enumerate => Strategy::Enumerate,
                StrategyArg::Cores => Strategy::Cores,
                StrategyArg::Cubes => Strategy::Cubes,
                StrategyArg::Program => Strategy::Program,
            },
            extrapolate: match self.extrapolate {
                ExtrapolateArg::Auto => Extrapolate::Auto,
                ExtrapolateArg::Predicates => Extrapolate::Predicates,
                ExtrapolateArg::Cubes => Extrapolate::Cubes,
                ExtrapolateArg::None => Extrapolate::None,
            },
            drop_buffered: self.drop_buffered,
            cube_size: self.cube_size.unwrap_or(defaults.cube_size),
            buffers: self.buffers.how.clone(),
            grow_buffers: self.buffers.grows,
            keep: self.keep.into(),
            sets: self.sets.into(),
            list_sets: self.sets != SetsArg::Summary,
            promote: match (self.no_explicit, self.state_by_state) {
                (true, _) => Promote::Never,
                (_, true) => Promote::All,
                (false, false) => defaults.promote,
            },
            merge: self.merge,
            cover_by_several: self.cover_by_several,
            transitions: self.refine_transitions,
            parameterised: self.parameterised,
            hints: !self.no_hints,
            ..defaults
        }
    }

    /// The same for a document: what the result depends on.
    pub(crate) fn value(&self) -> serde_json::Map<String, Value> {
        let name = |value: Option<clap::builder::PossibleValue>| {
            value.map_or_else(String::new, |value| value.get_name().to_owned())
        };
        let value = json!({
            "strategy": name(self.strategy.to_possible_value()),
            "cube_size": self.options().cube_size,
            "buffers": self.buffers.to_string(),
            "extrapolate": name(self.extrapolate.to_possible_value()),
            "drop_buffered": self.drop_buffered,
            "keep": name(self.keep.to_possible_value()),
            "sets": name(self.sets.to_possible_value()),
            "explicit": !self.no_explicit,
            "merge": self.merge,
            "cover_by_several": self.cover_by_several,
            "hints": !self.no_hints,
            "parameterised": self.parameterised,
            "refine_transitions": self.refine_transitions,
        });
        value.as_object().cloned().unwrap_or_default()
    }
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
    #[arg(short, long, value_enum, ignore_case = true)]
    pub(crate) model: ModelArg,
    /// Cells of the store buffers: `bounded:K`, or `bounded:K,x=2,y=1` with other
    /// sizes for some variables (PSO), or `abstract:K`
    #[arg(long, value_name = "HOW")]
    pub(crate) buffers: BuffersArg,
    /// Which stores abstract buffers know exactly
    #[arg(long, value_enum, default_value_t = KeepArg::Newest)]
    pub(crate) keep: KeepArg,
    /// Value sets of remote operations (RMA): what has one of its own
    #[arg(long, value_enum, default_value_t = SetsArg::Statement)]
    pub(crate) sets: SetsArg,
    /// The language of the result
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value_t = ToArg::Pal)]
    pub(crate) to: ToArg,
    /// Copies of each thread declared with [*], in C
    #[arg(long, value_name = "N")]
    pub(crate) copies: Option<u32>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Languages of `reduce`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ToArg {
    /// A program that `palisade` reads
    Pal,
    /// Sequential C, for other checkers: one step of one thread after another; with
    /// `RANDOM_RUNS=N` defined it makes N random runs
    C,
}

/// Whether copies of a template are interchangeable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SymmetryArg {
    /// Where the program allows it
    On,
    /// Never
    Off,
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

/// What has a value set of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SetsArg {
    /// Each remote statement
    Statement,
    /// Each variable that remote statements read: fewer sets, with more values
    Variable,
    /// Each remote statement, as a summary for predicates also where the values are few
    Summary,
}

impl From<SetsArg> for palisade_verify::Sharing {
    fn from(sets: SetsArg) -> Self {
        match sets {
            SetsArg::Statement | SetsArg::Summary => Self::Statement,
            SetsArg::Variable => Self::Variable,
        }
    }
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

/// What else counts as a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CheckArg {
    /// No thread can ever move again, and some are waiting
    Deadlock,
    /// Signed overflow in C programs
    Overflow,
    /// A thread spins for ever, and nobody can change what it waits for
    Progress,
    /// Memory of a C program that is not freed when it ends
    Leak,
    /// Data races on plain variables of C programs
    Races,
    /// Reads of what nothing was written to, in C programs
    Uninitialised,
}

impl CheckArg {
    /// Whether it is for C programs only.
    pub(crate) const fn is_of_c(self) -> bool {
        match self {
            Self::Deadlock | Self::Progress => false,
            Self::Overflow | Self::Leak | Self::Races | Self::Uninitialised => true,
        }
    }
}
