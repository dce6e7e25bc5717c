//! Options of `palisade test`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::{ClusterArgs, CommonArgs, FlagArgs, Models};

/// `palisade test`.
#[derive(Clone, Debug, Args)]
pub(crate) struct TestArgs {
    /// Files, or folders of them. A file may expect verdicts on one of its first lines:
    /// `// expect: sc=holds tso=violated`; without that it is expected to hold
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Memory models, such as tso,pso, or all [default: those that a file expects verdicts
    /// for, else sc]
    #[arg(
        short,
        long,
        value_name = "MODELS",
        default_value = "expected",
        hide_default_value = true
    )]
    pub(crate) model: ModelsArg,
    /// Tests at the same time [default: the machine's processors]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Write the results as JUnit's XML here
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    /// Write what did not pass as SARIF here
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) sarif: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) flags: FlagArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Which models files are tested under.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ModelsArg {
    /// Those that a file speaks of.
    Expected,
    /// These.
    Named(Models),
}

impl FromStr for ModelsArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("expected") {
            return Ok(Self::Expected);
        }
        text.parse().map(Self::Named)
    }
}
