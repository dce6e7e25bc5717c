//! `palisade completions SHELL`: a completion script made from the arguments.

use clap::CommandFactory;
use palisade_report::{Document, Outcome};

use crate::args::{Arguments, CompletionsArgs};
use crate::context::Context;

pub(super) fn run(args: &CompletionsArgs, context: &Context) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut Arguments::command(),
        "palisade",
        &mut script,
    );
    let script = String::from_utf8_lossy(&script);
    context.print(&script, &Document::new(context.command));
    Outcome::Done
}
