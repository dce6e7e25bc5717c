//! The *context* of a command: how it talks to the outside. Results go to
//! standard output, warnings and progress to standard error.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use palisade_program::{Model, Unknown};
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
    /// The words of the command line behind the command.
    arguments: Vec<String>,
    /// Where results go when the command has several runs.
    several: Option<Collected>,
}

/// The results of a command with several runs, so far.
type Collected = Arc<Mutex<Vec<(String, Document)>>>;

impl Context {
    /// The context of `command` with the options given.
    pub(crate) fn new(command: &'static str, args: &CommonArgs, arguments: Vec<String>) -> Self {
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
            arguments,
            several: None,
        }
    }

    /// A context for the next of several runs: results are collected, and limits are for
    /// each run.
    pub(crate) fn next_run(&self) -> Self {
        Self {
            limits: self.limits.renewed(),
            several: Some(self.several.clone().unwrap_or_default()),
            html: None,
            ..self.clone()
        }
    }

    /// What the runs have printed so far.
    pub(crate) fn collected(&self) -> Vec<(String, Document)> {
        let several = self.several.iter();
        several.flat_map(|list| locked(list).clone()).collect()
    }

    /// Whether lines may be printed before the last result is there.
    pub(crate) fn streams(&self) -> bool {
        !self.json && self.output.is_none()
    }

    /// Prints a line of the result.
    pub(crate) fn print_line(&self, line: &str) {
        if self.streams() {
            print(line);
        }
    }

    /// The command line once more, with this value of an option.
    pub(crate) fn again(&self, option: &str, value: &str) -> String {
        format!("{} {option} {value}", self.line_without(&[option], true))
    }

    /// The command line once more, under this model only.
    pub(crate) fn under(&self, model: Model) -> String {
        let line = self.line_without(&["--model", "-m"], true);
        format!("{line} --model {model}")
    }

    /// The command line once more, without this switch.
    pub(crate) fn without(&self, switch: &str) -> String {
        self.line_without(&[switch], false)
    }

    /// The command line without an option, and without what says where the result goes.
    fn line_without(&self, names: &[&str], has_value: bool) -> String {
        let output = ["-o", "--output", "--html"];
        let mut words = vec!["palisade".to_owned(), self.command.to_owned()];
        let mut given = self.arguments.iter();
        while let Some(word) = given.next() {
            let is_one_of = |names: &[&str]| names.contains(&word.as_str());
            let is_joined = names.iter().any(|n| word.starts_with(&format!("{n}=")));
            if is_one_of(&output) || has_value && is_one_of(names) {
                given.next();
            } else if !(is_one_of(names) || is_joined || is_one_of(&["--json", "-q"])) {
                words.push(word.clone());
            }
        }
        words.join(" ")
    }

    /// The value that an option was given on the command line.
    pub(crate) fn option(&self, long: &str, short: &str) -> Option<&str> {
        let is = |word: &String| word == long || word == short;
        let at = self.arguments.iter().position(is)?;
        self.arguments.get(at + 1).map(String::as_str)
    }

    /// The time limit of a run, in seconds.
    pub(crate) fn timeout(&self) -> Option<f64> {
        self.limits.timeout.map(|time| time.as_secs_f64())
    }

    /// A document for this command with what it cost so far.
    pub(crate) fn document(&self) -> Document {
        Document {
            stats: Some(stats()),
            arguments: Some(self.arguments.clone()),
            ..Document::new(self.command)
        }
    }

    /// Lets the watch print `unknown` for `document` if an engine hangs.
    pub(crate) fn prepare_last_words(&self, document: Document) {
        let json = self.json;
        let earlier = self.several.clone();
        self.limits.set_last_words(move |why| {
            let last = with_last_words(document, &why);
            let all = match earlier {
                Some(earlier) => {
                    let earlier = locked(&earlier).clone();
                    let runs = earlier.iter().map(|(_, run)| run).chain([&last]);
                    Document::of_runs(runs)
                }
                None => last,
            };
            if json {
                print(&all.to_json());
            } else {
                print(&format!("unknown: {why}\n"));
            }
            std::process::exit(i32::from(Outcome::Unknown.exit_code()));
        });
    }

    /// Prints the result: the document if JSON was asked for, else the text.
    pub(crate) fn print(&self, text: &str, document: &Document) {
        self.limits.finish();
        if let Some(several) = &self.several {
            locked(several).push((text.to_owned(), document.clone()));
            return;
        }
        if let Some(path) = &self.html {
            let mut page = document.page.as_deref().cloned().unwrap_or_default();
            if page.is_bare()
                && document.tests.is_none()
                && document.rows.is_none()
                && document.runs.is_none()
            {
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

fn with_last_words(mut document: Document, why: &Unknown) -> Document {
    document.verdict = Some("unknown");
    document.reason = Some(why.to_string());
    document.stats = Some(stats());
    document
}

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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

/// The error of a command that has printed what is wrong, with how it ends.
#[derive(Debug, thiserror::Error)]
#[error("see the messages")]
pub(crate) struct Told(pub(crate) Outcome);

/// Writes to standard error. Unlike `eprint!` it does not panic when nobody can
/// read: a lost warning must not change the exit code.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
