//! One file per command.

mod abstract_;
mod bench;
mod certify;
mod check;
mod completion;
mod completions;
mod explore;
mod fence;
mod fence_structure;
mod fmt;
mod linearize;
mod litmus;
mod lsp;
mod man;
mod orders;
mod reduce;
mod replay;
mod several;
mod shape;
mod show;
mod svcomp;
mod test;
mod verify;

use crate::CommandResult;
use crate::args::Command;
use crate::context::Context;

/// Runs a command.
pub(crate) fn run(command: Command, context: &Context) -> CommandResult {
    match command {
        Command::Explore(args) => explore::run_all(&args, context),
        Command::Verify(args) => verify::run_all(&args, context),
        Command::Fence(args) => fence::run_all(&args, context),
        Command::Certify(args) => certify::run(&args, context),
        Command::Replay(args) => replay::run(&args, context),
        Command::Reduce(args) => reduce::run(&args, context),
        Command::Shape(args) => shape::run(&args, context),
        Command::Linearize(args) => linearize::run(&args, context),
        Command::Litmus(args) => litmus::run(&args, context),
        Command::Test(args) => test::run(&args, context),
        Command::Fmt(args) => fmt::run(&args, context),
        Command::Show(args) => show::run(&args, context),
        Command::Abstract(args) => abstract_::run(&args, context),
        Command::Check(args) => check::run(&args, context),
        Command::Bench(args) => bench::run(&args, context),
        Command::Lsp(args) => lsp::run(&args),
        Command::Completions(args) => Ok(completions::run(&args, context)),
        Command::Man => man::run(context),
    }
}
