//! The *context* of a command: how it talks to the outside. Results go to
//! standard output, warnings and progress to standard error.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use palisade_program::Unknown;
use palisade_report::{Document, Outcome, Stats, Style, usage};

use crate::args::{ColorArg, CommonArgs};
use crate::limits::Limits;

/// Width of text that does not go to a terminal.
const DEFAULT_WIDTH: usize = 100;

/// Options and facilities that every command shares.
#[derive(Clone)]
pub(crate) struct Context {
    /// The command's name.
    pub(crate) command: &'static str,
    /// Whether to print a JSON document instead of text.
    pub(crate) json: bool,
    /// Whether to print no more than the verdict.
    quiet: bool,
    /// Where the result goes instead of standard output.
    output: Option<PathBuf>,
    /// Where a page with the result goes.
    html: Option<PathBuf>,
    /// Colours of standard output.
    pub(crate) style: Style,
    /// Width of standard output.
    pub(crate) width: usize,
    /// Whether standard error takes colours.
    pub(crate) coloured_errors: bool,
    /// Time, memory, Ctrl-C.
    pub(crate) limits: Limits,
}

impl Context {
    /// The context of `command` with the options given.
    pub(crate) fn new(command: &'static str, args: &CommonArgs) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let coloured = |is_terminal: bool| match args.color {
            ColorArg::Auto => is_terminal && !no_colour,
            ColorArg::Always => true,
            ColorArg::Never => false,
        };
        let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let columns = std::env::var("COLUMNS").ok().and_then(|n| n.parse().ok());
        Self {
            command,
            json: args.json,
            quiet: args.quiet,
            output: args.output.clone(),
            html: args.html.clone(),
            style: if coloured(io::stdout().is_terminal()) {
                Style::COLOURED
            } else {
                Style::PLAIN
            },
            width: terminal
                .filter(|_| io::stdout().is_terminal())
                .or(columns)
                .unwrap_or(DEFAULT_WIDTH),
            coloured_errors: coloured(io::stderr().is_terminal()),
            limits: Limits::watch(args.timeout, args.memory),
        }
    }

    /// A document for this command with what it cost so far.
    pub(crate) fn document(&self) -> Document {
        Document {
            stats: Some(stats()),
            ..Document::new(self.command)
        }
    }

    /// Lets the watch print `unknown` for `document` if an engine hangs.
    pub(crate) fn prepare_last_words(&self, document: Document) {
        let json = self.json;
        self.limits.set_last_words(move |why| {
            print(&last_words(document, &why, json));
            std::process::exit(i32::from(Outcome::Unknown.exit_code()));
        });
    }

    /// Prints the result: the document if JSON was asked for, else the text.
    pub(crate) fn print(&self, text: &str, document: &Document) {
        self.limits.finish();
        if let Some(path) = &self.html {
            let mut page = document.page.as_deref().cloned().unwrap_or_default();
            if page.is_bare() && document.tests.is_none() && document.rows.is_none() {
                page.text = Some(text.to_owned());
            }
            check_written(fs::write(path, page.render(document)));
        }
        let json = self.json.then(|| document.to_json());
        let first = text.lines().next().map(|line| format!("{line}\n"));
        let short = first.filter(|_| self.quiet && document.verdict.is_some());
        let result = json.or(short).unwrap_or_else(|| text.to_owned());
        match &self.output {
            Some(path) => check_written(fs::write(path, result)),
            None => print(&result),
        }
    }
}

fn last_words(mut document: Document, why: &Unknown, json: bool) -> String {
    let reason = why.to_string();
    if !json {
        return format!("unknown: {reason}\n");
    }
    document.verdict = Some("unknown");
    document.reason = Some(reason);
    document.stats = Some(stats());
    document.to_json()
}

/// What the process has cost so far.
pub(crate) fn stats() -> Stats {
    Stats {
        cpu_seconds: usage::cpu_seconds(),
        peak_memory_bytes: usage::peak_bytes(),
        ..Stats::default()
    }
}

/// Writes to standard output. A reader that has gone away (`| head`) is no error
/// of ours. Any other failure (a full disk) ends the process as a wrong call: a
/// script that finds exit code 0 must also find the whole result.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    check_written(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Ends the process if the result could not be written.
fn check_written(written: io::Result<()>) {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!("error: cannot write the result: {error}\n"));
            std::process::exit(i32::from(Outcome::BadInput.exit_code()));
        }
        Ok(()) | Err(_) => {}
    }
}

/// Writes to standard error. Unlike `eprint!` it does not panic when nobody can
/// read: a lost warning must not change the exit code.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
