//! Options of `palisade shape`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::CommonArgs;
use super::values::parse_define;

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
    /// Draw the structures of every location, or write them (tvs)
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
    /// Structures to store at most [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_structures: Option<usize>,
    /// Messages to give at most [default: no limit]
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
    /// Not drawn: as text that `palisade shape` and TVLA read, one file per location
    Tvs,
}
