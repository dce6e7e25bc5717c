//! Options of `palisade bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use palisade_program::Model;

use super::values::parse_time;
use super::{CommonArgs, StrategyArg};

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
    #[arg(short, long, value_enum, ignore_case = true, default_value_t = BenchModel::All)]
    pub(crate) model: BenchModel,
    /// Only buffers of K cells, 1 to 3 (TSO, PSO)
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=3))]
    pub(crate) cells: Option<u32>,
    /// Only programs whose name contains this
    #[arg(long, visible_alias = "only", value_name = "NAME")]
    pub(crate) program: Option<String>,
    /// Only this strategy
    #[arg(long, value_enum)]
    pub(crate) strategy: Option<StrategyArg>,
    /// Read the suite from this folder instead of the built-in one
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Draw cost against the number of threads into this SVG file instead (`sapa`, `scale`)
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Compare ways to make the Boolean program instead (`rma`), on Bakery if no --program is given
    #[arg(long)]
    pub(crate) constructions: bool,
    /// Search the fewest fences of the programs instead, under TSO against PSO (`cupex`)
    #[arg(long)]
    pub(crate) fewest_fences: bool,
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
    /// What `explore` costs against threads, rounds and buffers; beside SPIN, if it is installed
    Scale,
    /// Collapsed threads and soft invariants, tables 2 to 8
    Soft,
    /// SV-COMP tasks (.yml) below a folder
    Svcomp,
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
    /// The model, if it is one.
    pub(crate) const fn model(self) -> Option<Model> {
        match self {
            Self::Sc => Some(Model::Sc),
            Self::Tso => Some(Model::Tso),
            Self::Pso => Some(Model::Pso),
            Self::All => None,
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
