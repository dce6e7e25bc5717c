//! The `palisade` command: a thin shell over the libraries. It reads arguments
//! and files, calls engines, prints their results through `palisade-report`, and
//! turns outcomes into exit codes. This is the only crate that uses `anyhow`.

mod args;
mod buffers;
mod c_task;
mod commands;
mod context;
mod drawings;
mod input;
mod limits;
mod models;
mod predicates;
mod progress;
mod shown;

use std::process::ExitCode;
use std::thread;

use anyhow::Result;
use clap::Parser;
use palisade_report::{Document, Outcome};

use crate::args::Arguments;
use crate::context::Context;

/// Deep programs need deep recursion; address space costs nothing.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let context = Context::new(arguments.command.name(), &arguments.command.common());
    let outcome = run_with_deep_stack(arguments, &context);
    ExitCode::from(outcome.exit_code())
}

fn run_with_deep_stack(arguments: Arguments, context: &Context) -> Outcome {
    let inner = context.clone();
    let result = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || commands::run(arguments.command, &inner))
        .map(thread::JoinHandle::join);
    match result {
        Ok(Ok(result)) => result.unwrap_or_else(|error| complain(context, &error)),
        Ok(Err(_panic)) => report_bug(context),
        Err(error) => complain(context, &error.into()),
    }
}

/// Says what is wrong with the input or the command line.
fn complain(context: &Context, error: &anyhow::Error) -> Outcome {
    context::complain(&format!("error: {error:#}\n"));
    let document = Document {
        reason: Some(format!("{error:#}")),
        ..context.document()
    };
    context.print("", &document);
    Outcome::BadInput
}

/// An engine panicked (its message is on standard error already): a bug, and no
/// verdict.
fn report_bug(context: &Context) -> Outcome {
    let reason = "internal error; please report it with the input";
    context::complain(&format!("error: {reason}\n"));
    let document = Document {
        verdict: Some("unknown"),
        reason: Some(reason.to_owned()),
        ..context.document()
    };
    context.print(&format!("unknown: {reason}\n"), &document);
    Outcome::Unknown
}

/// What commands return.
type CommandResult = Result<Outcome>;
