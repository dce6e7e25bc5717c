//! `palisade litmus`: runs litmus tests.

use crate::CommandResult;
use crate::args::LitmusArgs;
use crate::context::Context;

pub(super) fn run(args: &LitmusArgs, context: &Context) -> CommandResult {
    let _ = (args, context);
    anyhow::bail!("litmus tests are not supported yet")
}
