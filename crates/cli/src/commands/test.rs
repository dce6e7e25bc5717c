//! `palisade test`: runs files, each under the models that it speaks of, and compares the
//! verdicts with those that the files expect. Every run is a process of its own, so that a
//! limit or a defect ends one test and not all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Error, Result, bail};
use palisade_program::Model;
use palisade_report::suite::{self, Status, Tested};
use palisade_report::{Document, Outcome};
use serde_json::Value;

use crate::CommandResult;
use crate::args::{ModelsArg, TestArgs};
use crate::cluster;
use crate::context::Context;
use crate::expect::{Expectations, Expected};
use crate::kind::{Kind, has_processes};
use crate::progress::{self, Progress};

/// One run.
struct Job {
    file: PathBuf,
    command: &'static str,
    model: Option<Model>,
    /// Options that the file asks for.
    options: Vec<String>,
    expected: Option<Expected>,
}

pub(super) fn run(args: &TestArgs, context: &Context) -> CommandResult {
    let files = inputs(&args.paths)?;
    let mut jobs = Vec::new();
    for file in &files {
        jobs.extend(jobs_of(file, &args.model)?);
    }
    if jobs.is_empty() {
        bail!("no test\n  help: name files, or folders with .pal, .c, .rmm, .litmus or .tvp files");
    }
    let tests = run_all(&files, jobs, args)?;
    if args.cluster.is_first() {
        write(args.junit.as_deref(), suite::junit(&tests))?;
        write(args.sarif.as_deref(), suite::sarif(&tests))?;
    }
    let document = Document {
        tests: Some(suite::values(&tests)),
        ..context.document()
    };
    context.print(&suite::table(&tests, context.style), &document);
    let any = |status| suite::count(&tests, status) > 0;
    Ok(if any(Status::Error) {
        Outcome::BadInput
    } else if any(Status::Failed) {
        Outcome::Violated
    } else if any(Status::Unknown) {
        Outcome::Unknown
    } else {
        Outcome::Done
    })
}

fn write(path: Option<&Path>, text: Option<String>) -> Result<()> {
    if let Some(path) = path {
        let text = text.context("the report has no text")?;
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The files named, and all of a kind that is known below the folders named.
fn inputs(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut found = Vec::new();
            collect(path, &mut found)?;
            found.sort();
            all.extend(found);
        } else if path.is_file() {
            all.push(path.clone());
        } else {
            bail!("cannot read {}: no such file or folder", path.display());
        }
    }
    Ok(all)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.starts_with('.')
        });
        if hidden {
            continue;
        }
        if path.is_dir() {
            collect(&path, found)?;
        } else if is_test(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// Whether a file of a folder is a test: a shape program without structures of its own name
/// is a part of others.
fn is_test(path: &Path) -> bool {
    let yaml = path.extension().is_some_and(|e| e == "yml" || e == "yaml");
    match Kind::of(path) {
        Some(Kind::Shape) => path.with_extension("tvs").is_file(),
        Some(Kind::C) => !yaml,
        Some(
            Kind::Program
            | Kind::DataStructure
            | Kind::Object
            | Kind::Litmus
            | Kind::Boolean
            | Kind::Rust,
        ) => true,
        None => false,
    }
}

/// The runs that a file asks for: under the models given, else under those that it has an
/// expectation for, else under SC.
fn jobs_of(file: &Path, models: &ModelsArg) -> Result<Vec<Job>> {
    let kind = Kind::of(file).with_context(|| {
        format!(
            "{}: not a kind of file that is known\n  help: .pal, .c, .i, .rs, .rmm, .litmus, .tvp, \
             .tvm, .bp and SV-COMP's .yml are",
            file.display()
        )
    })?;
    let expectations = Expectations::of_file(file)?;
    let own = expectations.by_model.iter().map(|(model, _)| *model);
    let models: Vec<Option<Model>> = match (kind, models) {
        (Kind::DataStructure | Kind::Object | Kind::Shape | Kind::Boolean, _) => vec![None],
        (Kind::Program | Kind::C | Kind::Rust | Kind::Litmus, ModelsArg::Named(models)) => models
            .of(has_processes(file))
            .into_iter()
            .map(Some)
            .collect(),
        (Kind::Program | Kind::C | Kind::Rust | Kind::Litmus, ModelsArg::Expected)
            if expectations.by_model.is_empty() =>
        {
            vec![Some(Model::Sc)]
        }
        (Kind::Program | Kind::C | Kind::Rust | Kind::Litmus, ModelsArg::Expected) => {
            own.map(Some).collect()
        }
    };
    let job = |model: Option<Model>| Job {
        file: file.to_owned(),
        command: kind.command(),
        model,
        options: expectations.options.clone(),
        expected: expectations.under(model),
    };
    Ok(models.into_iter().map(job).collect())
}

/// Runs all jobs, some at a time; results in the order of the jobs.
fn run_all(files: &[PathBuf], jobs: Vec<Job>, args: &TestArgs) -> Result<Vec<Tested>> {
    let total = jobs.len();
    let done = AtomicUsize::new(0);
    let _progress = Progress::start("testing");
    let own = args.clone();
    let one = move |job: &Job| {
        let tested = run_one(job, &own).map_err(|error| format!("{error:#}"));
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress::detail(format!("{done} of {total}"));
        tested
    };
    let tests: Vec<Result<Tested, String>> =
        cluster::done(&args.cluster, files, jobs, args.jobs, one)?;
    let tests = tests.into_iter().map(|tested| tested.map_err(Error::msg));
    tests.collect()
}

fn run_one(job: &Job, args: &TestArgs) -> Result<Tested> {
    let mut words = vec![job.command.to_owned(), job.file.display().to_string()];
    if let Some(model) = job.model {
        words.extend(["--model".to_owned(), model.to_string()]);
    }
    words.extend(job.options.iter().cloned());
    if job.command == "verify" && Kind::of(&job.file) == Some(Kind::C) {
        words.extend(args.flags.words());
    }
    let shown = format!("palisade {}", words.join(" "));
    words.push("--json".to_owned());
    for (name, value) in [
        (
            "--timeout",
            args.common.timeout.map(|t| format!("{}ms", t.as_millis())),
        ),
        (
            "--memory",
            args.common.memory.map(|bytes| bytes.to_string()),
        ),
    ] {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    }
    let started = Instant::now();
    let output = Command::new(std::env::current_exe()?)
        .args(&words)
        .stdin(Stdio::null())
        .output()
        .context("cannot start a test")?;
    let seconds = started.elapsed().as_secs_f64();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    Ok(judged(job, &document, output.status.code(), shown, seconds))
}

/// The test with how it ended.
fn judged(job: &Job, document: &Value, code: Option<i32>, shown: String, seconds: f64) -> Tested {
    let verdict = document["verdict"].as_str().and_then(Expected::named);
    let as_usual = if job.command == "litmus" {
        None
    } else {
        Some(Expected::Holds)
    };
    let expected = job.expected.or(as_usual);
    let ran = matches!(code, Some(0 | 1 | 3));
    let status = match (expected, verdict) {
        _ if !ran => Status::Error,
        (None, _) if code == Some(0) => Status::Passed,
        (None, _) => Status::Unknown,
        (Some(expected), Some(found)) if expected == found => Status::Passed,
        (Some(_), Some(Expected::Unknown) | None) => Status::Unknown,
        (Some(_), Some(Expected::Holds | Expected::Violated)) => Status::Failed,
    };
    let complaint = &document["diagnostics"][0];
    let texts = [&document["reason"], &complaint["message"]];
    let reason = texts.into_iter().find_map(Value::as_str).map(str::to_owned);
    let last_step = document["trace"].as_array().and_then(|steps| steps.last());
    let places = [Some(&document["property"]), Some(complaint), last_step];
    let place = places.into_iter().flatten().find_map(|at| {
        let line = at["line"].as_u64()?;
        Some((line, at["column"].as_u64().unwrap_or(1)))
    });
    Tested {
        file: job.file.display().to_string(),
        model: job.model.map(|model| model.to_string()),
        verdict: verdict.map(|verdict| verdict.word().to_owned()),
        expected: expected.map_or("a result", Expected::word).to_owned(),
        status,
        reason: reason.filter(|_| status != Status::Passed),
        place,
        command: shown,
        seconds,
    }
}
