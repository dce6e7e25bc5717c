//! Options of `palisade lsp`.

use std::time::Duration;

use clap::Args;

use super::values::parse_time;

/// `palisade lsp`.
#[derive(Clone, Debug, Args)]
pub(crate) struct LspArgs {
    /// Memory models for verdicts on saving: sc,tso, all, off, or expected: those of the
    /// file's expect line, else sc. The client's option `models` comes first
    #[arg(long, value_name = "MODELS", default_value = "expected")]
    pub(crate) models: String,
    /// Time for each verdict on saving
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    pub(crate) verdict_timeout: Duration,
    /// Standard input and output, as some clients ask for; this is always so
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
}
