//! `palisade bench svcomp FOLDER`: runs every SV-COMP task (`.yml`) below a folder
//! and tabulates the expected verdict, ours, and the time.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use palisade_frontend::{Stop, c};
use palisade_program::{Model, Unknown, Verdict};
use palisade_report::{Document, Outcome};
use palisade_verify::{Options, verify};
use serde_json::{Value, json};

use crate::CommandResult;
use crate::args::{BenchArgs, CArgs, IntsArg};
use crate::c_task::Task;
use crate::context::Context;
use crate::input;
use crate::progress::{self, Progress};

/// One task's result.
struct Row {
    name: String,
    expected: Option<bool>,
    /// `true`, `false`, `unknown`, `error` for tasks that could not be read, or
    /// `skipped` for those that ask something else than unreach-call.
    found: &'static str,
    note: String,
    seconds: f64,
}

impl Row {
    fn is_wrong(&self) -> bool {
        match (self.expected, self.found) {
            (Some(expected), "true") => !expected,
            (Some(expected), "false") => expected,
            _ => false,
        }
    }
}

pub(super) fn run(args: &BenchArgs, context: &Context) -> CommandResult {
    let Some(folder) = &args.tasks else {
        bail!("bench svcomp needs a folder of .yml tasks");
    };
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    if files.is_empty() {
        bail!("no .yml task below {}", folder.display());
    }
    let wanted = |file: &PathBuf| {
        let name = file.display().to_string();
        args.program.as_ref().is_none_or(|part| name.contains(part))
    };
    files.retain(wanted);
    files.sort();
    context.prepare_last_words(context.document());
    let progress = Progress::start("tasks");
    let mut rows = Vec::new();
    for file in &files {
        if context.limits.cancel.load(Ordering::Relaxed) {
            break;
        }
        progress::detail(format!("{} of {}", rows.len() + 1, files.len()));
        rows.push(row(file, args, context));
    }
    drop(progress);
    let document = Document {
        input: Some(folder.display().to_string()),
        model: Some(model(args).to_string()),
        rows: Some(rows.iter().map(value).collect()),
        ..context.document()
    };
    context.print(&table(&rows), &document);
    let unread = rows.iter().any(|r| r.found == "error");
    Ok(if unread {
        Outcome::BadInput
    } else if rows.len() < files.len() {
        Outcome::Unknown
    } else {
        Outcome::Done
    })
}

/// Tasks are about SC unless another model is asked for.
fn model(args: &BenchArgs) -> Model {
    args.model.model().unwrap_or(Model::Sc)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "yml") {
            files.push(path);
        }
    }
    Ok(())
}

fn row(file: &Path, args: &BenchArgs, context: &Context) -> Row {
    let start = Instant::now();
    if matches!(Task::asks_for_calls(file), Ok(false)) {
        return Row {
            name: file.display().to_string(),
            expected: None,
            found: "skipped",
            note: "does not ask for unreach-call".to_owned(),
            seconds: 0.0,
        };
    }
    let done = task(file, args, context, start);
    let (expected, found, note) = match done {
        Ok((expected, verdict)) => match verdict {
            Verdict::Holds => (expected, "true", String::new()),
            Verdict::Violated(v) => (expected, "false", v.message),
            Verdict::Unknown(why) => (expected, "unknown", why.to_string()),
        },
        Err(error) => (None, "error", error.to_string()),
    };
    Row {
        name: file.display().to_string(),
        expected,
        found,
        note,
        seconds: start.elapsed().as_secs_f64(),
    }
}

fn task(
    file: &Path,
    args: &BenchArgs,
    context: &Context,
    start: Instant,
) -> Result<(Option<bool>, Verdict)> {
    let options = CArgs {
        witness: None,
        ranks: None,
        preprocessor: crate::args::PreprocessorArgs::default(),
        property: None,
        ints: IntsArg::C,
        outlive_main: false,
        data_model: None,
    };
    let task = Task::new(file, &options)?;
    let source = input::read(&task.file)?;
    let row_end = start + args.row_timeout;
    let deadline = context.limits.deadline.map_or(row_end, |d| d.min(row_end));
    let stop = Stop::new(context.limits.cancel.clone(), Some(deadline));
    let parsed = match c::parse(&task.file, &source, &task.options(stop)) {
        Ok(parsed) => parsed,
        Err(diagnostics) if diagnostics.is_stopped() => {
            return Ok((task.expected, Verdict::Unknown(Unknown::Time)));
        }
        Err(diagnostics) => {
            let item = diagnostics.items.first();
            let message = item.map_or("cannot be read", |d| d.message.as_str());
            let line = item.map_or(0, |d| diagnostics.source.position(d.span.start).line);
            bail!("line {line}: {message}")
        }
    };
    let options = Options {
        model: model(args),
        deadline: Some(deadline),
        cancel: context.limits.cancel.clone(),
        falsify: true,
        ..Options::default()
    };
    let verdict = verify(&parsed.program, &options).verdict;
    Ok((task.expected, verdict))
}

fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|r| r.name.len()).max().unwrap_or(4);
    let mut text = format!("{:width$}  expected  found    seconds\n", "task");
    let (mut right, mut wrong) = (0, 0);
    let count = |found: &str| rows.iter().filter(|r| r.found == found).count();
    for row in rows {
        let expected = row.expected.map_or("-".to_owned(), |e| e.to_string());
        let mark = if row.is_wrong() { "  WRONG" } else { "" };
        wrong += usize::from(row.is_wrong());
        let same = row.expected.is_some_and(|e| row.found == e.to_string());
        right += usize::from(same);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:width$}  {expected:8}  {:7}  {:7.2}{mark}  {}",
            row.name, row.found, row.seconds, row.note
        );
    }
    let _ = writeln!(
        text,
        "{} tasks: {right} right, {wrong} wrong, {} unknown, {} not read, {} skipped",
        rows.len(),
        count("unknown"),
        count("error"),
        count("skipped")
    );
    text
}

fn value(row: &Row) -> Value {
    json!({
        "program": row.name,
        "expected": row.expected,
        "verdict": row.found,
        "wrong": row.is_wrong(),
        "reason": row.note,
        "seconds": row.seconds,
    })
}
