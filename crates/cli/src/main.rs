//! The `palisade` command: a thin shell over the libraries. It reads arguments
//! and files, calls engines, prints their results through `palisade-report`, and
//! turns outcomes into exit codes. This is the only crate that uses `anyhow`.

mod args;
mod buffers;
mod c_task;
mod c_witness;
mod cluster;
mod commands;
mod context;
mod drawings;
mod expect;
mod input;
mod kind;
mod lifted;
mod limits;
mod models;
mod next;
mod predicates;
mod progress;
mod scale;
mod shown;
mod structure;
mod uninitialised;
mod units;
mod vacuity;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use anyhow::Result;
use clap::Parser;
use palisade_report::{Document, Outcome};

use crate::args::Arguments;
use crate::context::{Context, Told};
use crate::kind::Kind;

/// Deep programs need deep recursion; address space costs nothing.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    let words = with_command(std::env::args_os().map(as_option));
    let behind = words.iter().skip(2).map(|w| w.to_string_lossy().into());
    let behind: Vec<String> = behind.collect();
    let arguments = Arguments::parse_from(words);
    let context = Context::new(
        arguments.command.name(),
        &arguments.command.common(),
        behind,
    );
    let inner = context.clone();
    let outcome = guarded(&context, move || commands::run(arguments.command, &inner));
    ExitCode::from(outcome.exit_code())
}

/// `palisade FILE` as the command for such files: a first word that is a file's name and no
/// command's.
fn with_command(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.collect();
    if let Some(file) = all.get(1).map(Path::new).filter(|path| path.is_file())
        && let Some(kind) = Kind::of(file)
    {
        all.insert(1, kind.command().into());
    }
    all
}

/// Flags of C compilers that are long but have one dash only, as options of ours.
fn as_option(argument: OsString) -> OsString {
    match argument.to_str() {
        Some("-include") => "--include".into(),
        Some(text) if text.starts_with("-std=") => format!("-{text}").into(),
        Some(_) | None => argument,
    }
}

/// Runs a command with a deep stack. If it panics, there is no verdict.
fn guarded(context: &Context, run: impl FnOnce() -> CommandResult + Send + 'static) -> Outcome {
    let result = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(run)
        .map(thread::JoinHandle::join);
    match result {
        Ok(Ok(result)) => result.unwrap_or_else(|error| complain(context, &error)),
        Ok(Err(_panic)) => report_bug(context),
        Err(error) => complain(context, &error.into()),
    }
}

/// Says what is wrong with the input or the command line, unless that was said.
fn complain(context: &Context, error: &anyhow::Error) -> Outcome {
    if let Some(Told(outcome)) = error.downcast_ref() {
        return *outcome;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic of a command, or of a thread that it has started, is `unknown` (exit code 3).
    #[test]
    fn a_panic_is_no_verdict() {
        let arguments = Arguments::parse_from(["palisade", "verify", "nothing.pal"]);
        let context = Context::new("verify", &arguments.command.common(), Vec::new());
        let panics = || -> CommandResult { panic!("a defect, made for a test") };
        assert_eq!(guarded(&context, panics), Outcome::Unknown);
        let in_thread = || -> CommandResult {
            thread::scope(|scope| {
                scope.spawn(|| panic!("a defect of a worker, made for a test"));
            });
            Ok(Outcome::Holds)
        };
        assert_eq!(guarded(&context, in_thread), Outcome::Unknown);
        assert_eq!(guarded(&context, || Ok(Outcome::Holds)), Outcome::Holds);
    }
}
