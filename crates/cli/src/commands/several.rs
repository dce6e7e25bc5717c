//! *Several runs* of one command: every file under every model, one line for each pair,
//! and in JSON a document for each. Further C files are parts of one program, further
//! files of other languages are programs.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use palisade_program::Model;
use palisade_report::{Document, Outcome};

use crate::CommandResult;
use crate::args::Models;
use crate::c_task::is_c;
use crate::context::{Context, Told, complain};
use crate::kind::has_processes;

/// One run.
pub(super) type Pair = (PathBuf, Model);

/// The pairs that are asked about; none if there is one only.
pub(super) fn pairs(
    file: &Path,
    more: &[PathBuf],
    models: &Models,
    without: &[Model],
) -> Result<Option<Vec<Pair>>> {
    if let Some(part) = more.iter().find(|other| is_c(other) != is_c(file)) {
        let (one, other) = (file.display(), part.display());
        bail!(
            "{one} and {other}: C files are parts of one program, name them in a call of their own"
        );
    }
    let mut files = vec![file.to_owned()];
    if !is_c(file) {
        files.extend(more.iter().cloned());
    }
    let under = |file: &PathBuf| -> Vec<Pair> {
        let all = *models == Models::All;
        let models = models.of(all && has_processes(file)).into_iter();
        let models = models.filter(|model| !all || !without.contains(model));
        models.map(|model| (file.clone(), model)).collect()
    };
    let pairs: Vec<Pair> = files.iter().flat_map(under).collect();
    let is_several = files.len() > 1 || pairs.len() > 1 || *models == Models::All;
    Ok(is_several.then_some(pairs))
}

/// Runs all pairs. `whole` prints the whole result of each.
pub(super) fn run(
    pairs: &[Pair],
    whole: bool,
    context: &Context,
    one: impl Fn(&Path, Model, &Context) -> CommandResult,
) -> Outcome {
    let width = |pair: &Pair| pair.0.display().to_string().chars().count();
    let width = pairs.iter().map(width).max().unwrap_or_default();
    let mut text = String::new();
    let mut all = Vec::new();
    let mut outcomes = Vec::new();
    let mut inner = context.next_run();
    for (number, (file, model)) in pairs.iter().enumerate() {
        if number > 0 {
            inner = inner.next_run();
        }
        let before = all.len();
        let outcome = one(file, *model, &inner).unwrap_or_else(|error| {
            if let Some(Told(outcome)) = error.downcast_ref() {
                return *outcome;
            }
            let name = file.display();
            complain(&format!("error: {name} under {model}: {error:#}\n"));
            let document = Document {
                input: Some(name.to_string()),
                model: Some(model.to_string()),
                reason: Some(format!("{error:#}")),
                ..inner.document()
            };
            inner.print("", &document);
            Outcome::BadInput
        });
        all = inner.collected();
        let printed = all.get(before).map_or("", |(text, _)| text.as_str());
        let first = printed.lines().next();
        let first = first.unwrap_or("error: see the messages");
        let name = file.display().to_string();
        let mut lines = format!("{name:width$}  {:4}  {first}\n", model.to_string());
        if whole {
            lines.extend(printed.split_inclusive('\n').skip(1));
        }
        context.print_line(&lines);
        text.push_str(&lines);
        outcomes.push(outcome);
        if inner.limits.was_interrupted() {
            break;
        }
    }
    let document = Document::of_runs(all.iter().map(|(_, document)| document));
    let hint = hint(context, pairs, &outcomes, whole);
    text.push_str(&hint);
    context.print(if context.streams() { &hint } else { &text }, &document);
    worst(&outcomes)
}

/// How to see a violation.
fn hint(context: &Context, pairs: &[Pair], outcomes: &[Outcome], whole: bool) -> String {
    let mut ended = pairs.iter().zip(outcomes);
    let violated = ended.find(|(_, outcome)| **outcome == Outcome::Violated);
    let Some(((file, model), _)) = violated.filter(|_| !whole) else {
        return String::new();
    };
    let is_one_file = pairs.iter().all(|(other, _)| other == file);
    let command = if is_one_file {
        context.under(*model)
    } else {
        let (name, file) = (context.command, file.display());
        format!("palisade {name} {file} --model {model}")
    };
    format!("the run: {command}\n")
}

/// How all of it ended.
fn worst(outcomes: &[Outcome]) -> Outcome {
    let ranked = [
        Outcome::BadInput,
        Outcome::Violated,
        Outcome::Unknown,
        Outcome::Holds,
    ];
    let found = ranked.into_iter().find(|o| outcomes.contains(o));
    found.unwrap_or(Outcome::Done)
}
