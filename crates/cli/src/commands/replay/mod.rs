//! `palisade replay`: a run that `verify`, `explore` or `fence` have saved with `--json` is
//! done again on the concrete machine. The document says how the program was read
//! (`arguments`), how the run starts and which actions it takes; whatever else it says of
//! the run (steps, memory, buffers) must be what the machine sees. A run that differs is no
//! run of this program: an error.

mod native;

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Parser;
use palisade::repair::Rule;
use palisade_frontend::Stop;
use palisade_machine::{ReplayError, Replayed, Start, replay};
use palisade_program::{
    Action, ActionKind, Broken, Cell, Chosen, FenceKind, Init, Model, Program, Span, Step, Unknown,
    Verdict, Violation,
};
use palisade_report::html::Page;
use palisade_report::saved::Saved;
use palisade_report::{Document, Ink, Outcome, trace_value, verdict};
use serde_json::Value;

use self::native::Shown;
use super::{explore, fence, verify};
use crate::args::{Arguments, Command, Models, ReplayArgs};
use crate::c_task::Task;
use crate::context::Context;
use crate::shown::{counted, shown_trace, trace_of};
use crate::{CommandResult, c_task, input};

/// Reads a document and the program that its run is of.
fn read(file: &Path, saved: &Path, context: &Context) -> Result<Run> {
    let text = input::read(saved)?;
    let name = saved.display();
    let document: Value =
        serde_json::from_str(text.text()).with_context(|| format!("{name} is no JSON document"))?;
    let document = chosen(&document).with_context(|| name.to_string())?.clone();
    let saved = Saved::read(&document).map_err(|what| {
        anyhow!("{name}: no run that can be replayed: {what} is missing\n  help: {HELP}")
    })?;
    let model = document["model"]
        .as_str()
        .and_then(|m| m.parse::<Models>().ok());
    let model = model
        .with_context(|| format!("{name}: no memory model"))?
        .only();
    let subject = subject(&document, file, model, context)?;
    Ok(Run {
        document,
        saved,
        subject,
    })
}

/// The program of a saved run, the names of its threads and its actions, all checked by the
/// machine.
pub(super) fn checked(file: &Path, saved: &Path, context: &Context) -> Result<(Program, Saved)> {
    let run = read(file, saved, context)?;
    run.replayed()?;
    Ok((run.subject.program, run.saved))
}

pub(super) fn run(args: &ReplayArgs, context: &Context) -> CommandResult {
    let run = read(&args.file, &args.document, context)?;
    let heading = Document {
        input: Some(run.subject.program.source.name().to_owned()),
        model: Some(run.subject.model.to_string()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let replayed = run.replayed()?;
    let program = &run.subject.program;
    let steps = replayed.trace.steps.len();
    if args.native {
        let shown = run.native(replayed.violation.as_deref())?;
        return Ok(tell_native(shown, heading, program, context));
    }
    let verdict = match replayed.violation {
        Some(mut violation) => {
            violation
                .trace
                .steps
                .retain(|step| !is_candidate(&step.text));
            program.judged(violation)
        }
        None => Verdict::Unknown(Unknown::GaveUp(format!(
            "the {} are a run of the program, and it violates nothing",
            counted(steps, "step", "steps")
        ))),
    };
    let verdict = if run.subject.is_c {
        c_task::named(program, verdict)
    } else {
        verdict
    };
    let mut text = verdict::line(&verdict, &program.source, context.style);
    if let Some(trace) = trace_of(&verdict) {
        text.push_str(&shown_trace(context, program, trace, args.trace));
    }
    let summary = format!(
        "model {}, replayed: every step is as it was saved\n",
        run.subject.model
    );
    text.push_str(&context.style.paint(Ink::Faint, &summary));
    let mut document = heading.with_verdict(&verdict, &program.source);
    document.page = Some(Box::new(Page::of_program(program, trace_of(&verdict))));
    context.print(&text, &document);
    Ok(Outcome::from(&verdict))
}

/// Prints what came of a native run.
fn tell_native(
    (verdict, shown): (Verdict, Shown),
    heading: Document,
    program: &Program,
    context: &Context,
) -> Outcome {
    let (verdict, note) = match shown {
        Shown::Failed { words, accesses } => {
            let note = format!(
                "the compiled program fails as well, after {} of the trace\n{words}",
                counted(accesses as usize, "access or call", "accesses and calls")
            );
            (verdict, note)
        }
        Shown::Not(why) => (Verdict::Unknown(Unknown::GaveUp(why)), String::new()),
        Shown::Left { thread, place, why } => {
            let at = place
                .map(|place| format!(" at {place}"))
                .unwrap_or_default();
            let of = if thread.is_empty() {
                String::new()
            } else {
                format!(" (thread {thread})")
            };
            let why = format!("the native run left the trace{at}{of}: {why}");
            (Verdict::Unknown(Unknown::GaveUp(why)), String::new())
        }
    };
    let mut text = verdict::line(&verdict, &program.source, context.style);
    text.push_str(&context.style.paint(Ink::Faint, &note));
    let mut document = heading.with_verdict(&verdict, &program.source);
    document.notes.extend(note.lines().map(str::to_owned));
    context.print(&text, &document);
    Outcome::from(&verdict)
}

/// How to get a document.
const HELP: &str = "save one with `palisade verify FILE --model tso --json -o trace.json`";

/// The document with the run: of several, the one that is violated.
fn chosen(document: &Value) -> Result<&Value> {
    if document["schema"].as_u64() != Some(1) {
        bail!("not a document of palisade (schema 1)\n  help: {HELP}");
    }
    let Some(runs) = document["runs"].as_array() else {
        return match document["verdict"].as_str() {
            Some("violated") => Ok(document),
            Some(other) => bail!("nothing to replay: the verdict is `{other}`"),
            None => bail!("nothing to replay: there is no verdict"),
        };
    };
    let is_violated = |run: &&Value| run["verdict"].as_str() == Some("violated");
    let violated: Vec<&Value> = runs.iter().filter(is_violated).collect();
    match violated[..] {
        [one] => Ok(one),
        [] => bail!("nothing to replay: no verdict is `violated`"),
        [..] => bail!("several runs are violated; save one of them, with one file and one model"),
    }
}

/// What the run is of.
struct Subject {
    program: Program,
    model: Model,
    is_c: bool,
    /// How a C program was read.
    task: Option<Task>,
}

/// Reads the program as the command that has found the run did.
fn subject(document: &Value, file: &Path, model: Model, context: &Context) -> Result<Subject> {
    let command = document["command"].as_str().unwrap_or_default();
    let words = document["arguments"].as_array().into_iter().flatten();
    let words = words.filter_map(Value::as_str).map(str::to_owned);
    let line = ["palisade".to_owned(), command.to_owned()];
    let arguments = Arguments::try_parse_from(line.into_iter().chain(words));
    let arguments = arguments.map_err(|_| {
        anyhow!("the document does not say how it was made: `arguments` cannot be read")
    })?;
    let more = |more: &mut Vec<std::path::PathBuf>| {
        if !c_task::is_c(file) {
            more.clear();
        }
    };
    let mut model = model;
    let (task, program) = match arguments.command {
        Command::Verify(mut args) => {
            file.clone_into(&mut args.file);
            args.model = Models::one(model);
            more(&mut args.c.preprocessor.more);
            let options = verify::options(&args, context);
            let subject = verify::subject(&args, &options, context)?;
            (subject.task, subject.program)
        }
        Command::Explore(mut args) => {
            file.clone_into(&mut args.file);
            args.model = Models::one(model);
            more(&mut args.c.preprocessor.more);
            explore::subject(&args, context)?
        }
        Command::Fence(mut args) => {
            file.clone_into(&mut args.file);
            args.model = Models::one(model);
            more(&mut args.preprocessor.more);
            if model == Model::Rc11 {
                bail!("runs of `fence` under rc11 cannot be replayed; `verify` the program instead")
            }
            // A violation of `fence` is one that no fence repairs: it is under SC.
            model = Model::Sc;
            let candidates = fence::candidates(&args, context)?;
            (None, candidates.plan(&Rule::Count).program.clone())
        }
        _ => {
            bail!("runs of `{command}` cannot be replayed; those of verify, explore and fence can")
        }
    };
    let names = document["uninitialised"].as_array().into_iter().flatten();
    let chosen: Chosen = names
        .filter_map(Value::as_str)
        .map(|name| (name.to_owned(), Span::default()))
        .collect();
    Ok(Subject {
        program: program.choosing(&chosen),
        model,
        is_c: c_task::is_c(file),
        task,
    })
}

/// A saved run of a program.
struct Run {
    document: Value,
    saved: Saved,
    subject: Subject,
}

impl Run {
    /// Runs the compiled program as the trace of a violation says.
    fn native(&self, violation: Option<&Violation>) -> Result<(Verdict, Shown)> {
        let Subject { program, model, .. } = &self.subject;
        let Some(task) = &self.subject.task else {
            bail!(
                "only C programs can be compiled and run natively, from a trace of verify or explore"
            );
        };
        if *model != Model::Sc {
            bail!(
                "a native run follows traces under sc only, and this one is under {model}\n  \
                 help: `palisade verify FILE --model sc --json` saves one if there is one"
            );
        }
        let Some(violation) = violation else {
            bail!("the run violates nothing");
        };
        let shown = native::run(
            program,
            violation,
            &task.options(Stop::default()),
            &task.files(),
        )?;
        let verdict = program.judged(Box::new(violation.clone()));
        Ok((c_task::named(program, verdict), shown))
    }

    /// Runs it. Where other errors than those asked about were assumed away, the run is one
    /// of the narrowed program.
    fn replayed(&self) -> Result<Replayed> {
        let program = &self.subject.program;
        let first = self.on(program);
        match (first, program.narrowed()) {
            (Ok(replayed), _) => Ok(replayed),
            (Err(first), Some(narrowed)) => self.on(&narrowed).map_err(|_| first),
            (Err(first), None) => Err(first),
        }
    }

    fn on(&self, program: &Program) -> Result<Replayed> {
        let start = self.start(program)?;
        let (actions, numbers) = with_candidates(program, &start, &self.saved.actions);
        let Some(repeats) = self.document["property"]["repeats_from_step"].as_u64() else {
            return self.run(program, &start, &actions, &numbers);
        };
        // The machine adds a round of what spins for ever by itself: where it begins was not
        // saved, only where it repeats.
        let mut last = None;
        for length in (0..=actions.len().min(repeats as usize)).rev() {
            match self.run(program, &start, &actions[..length], &numbers) {
                Ok(replayed) => return Ok(replayed),
                Err(error) => last = last.or(Some(error)),
            }
        }
        Err(last.unwrap_or_else(|| anyhow!("the run has no step")))
    }

    /// Runs these actions, and compares what the machine sees with what was saved.
    fn run(
        &self,
        program: &Program,
        start: &Start,
        actions: &[Action],
        numbers: &[usize],
    ) -> Result<Replayed> {
        let mut replayed = replay(program, start, actions).map_err(|why| {
            let why = match why {
                ReplayError::Step { step, refused } => {
                    let number = numbers.get(step).copied().unwrap_or(step) + 1;
                    format!("step {number} is not possible: {refused}")
                }
                ReplayError::Unsupported(_)
                | ReplayError::Start(_)
                | ReplayError::NoOrder { .. }
                | ReplayError::GaveUp { .. } => why.to_string(),
            };
            anyhow!("this is no run of the program: {why}\n  help: has the program changed?")
        })?;
        replayed
            .trace
            .steps
            .retain(|step| !is_candidate(&step.text));
        self.compare(program, &replayed)?;
        Ok(replayed)
    }

    fn start(&self, program: &Program) -> Result<Start> {
        let copies = program.copies_named(&self.saved.threads);
        let copies = copies.context(
            "the threads of the run are not those of the program\n  help: has it changed?",
        )?;
        let mut start = Start::new(self.subject.model, copies);
        let free = program.initial_cells().into_iter().enumerate();
        for (number, _) in free.filter(|(_, init)| *init == Init::Any) {
            let cell = Cell::from(number);
            let name = program.cell_name(cell);
            let value = self.saved.cells.get(&name).with_context(|| {
                format!(
                    "the run does not say how `{name}` starts\n  help: has the program changed?"
                )
            })?;
            start.cells.insert(cell, *value);
        }
        start.locals.clone_from(&self.saved.locals);
        Ok(start)
    }

    /// Whatever was saved of a step must be what the machine sees. Names of files are the
    /// exception: the program may have been named by another path.
    fn compare(&self, program: &Program, replayed: &Replayed) -> Result<()> {
        if replayed.trace.initial != self.saved.cells {
            bail!("memory starts with other values\n  help: has the program changed?");
        }
        let seen = trace_value(&replayed.trace, &program.source);
        let seen = seen.as_array().map_or(&[][..], Vec::as_slice);
        let saved = self.document["trace"].as_array();
        let saved = saved.map_or(&[][..], Vec::as_slice);
        for (number, (was, is)) in saved.iter().zip(seen).enumerate() {
            let keys = is.as_object().into_iter().flat_map(|keys| keys.keys());
            let keys = keys.filter(|key| *key != "file");
            for key in keys {
                if was[key] != is[key] {
                    bail!(
                        "step {}: `{key}` was {}, and is {}\n  help: has the program changed?",
                        number + 1,
                        was[key],
                        is[key]
                    );
                }
            }
        }
        if saved.len() != seen.len() {
            bail!(
                "the run has {}, and {} were saved\n  help: has the program changed?",
                counted(seen.len(), "step", "steps"),
                saved.len()
            );
        }
        let kind = replayed.violation.as_ref().map(|v| match v.broken {
            // The properties of C programs are all about races.
            Broken::Property(_) if self.subject.is_c => Broken::DataRace.kind(),
            _ => v.broken.kind(),
        });
        match (self.document["property"]["kind"].as_str(), kind) {
            (Some(was), Some(is)) if was != is => {
                bail!("the run violates another property: `{was}` was saved, and it is `{is}`")
            }
            _ => Ok(()),
        }
    }
}

/// Whether a step passes a place where a fence could be: `fence` leaves these out of runs.
fn is_candidate(text: &str) -> bool {
    text.trim_end_matches(';') == "fence?"
}

/// The actions with those past candidates that were left out, and for each the index of the
/// saved one that it is or comes before.
fn with_candidates(
    program: &Program,
    start: &Start,
    actions: &[Action],
) -> (Vec<Action>, Vec<usize>) {
    let instances = program.instances(start.threads);
    let template = |thread: usize| instances.get(thread).map(|i| program.template(i.template));
    let mut at: Vec<_> = (0..instances.len())
        .map(|thread| template(thread).map(|t| t.cfg.entry))
        .collect();
    let mut all = Vec::new();
    let mut numbers = Vec::new();
    for (number, action) in actions.iter().enumerate() {
        let edge = match &action.kind {
            ActionKind::Step { edge, .. }
            | ActionKind::Block { edge, .. }
            | ActionKind::Ordered { edge, .. } => *edge,
            ActionKind::Update { .. }
            | ActionKind::NetworkRead { .. }
            | ActionKind::NetworkWrite { .. }
            | ActionKind::AtomicRead { .. }
            | ActionKind::AtomicApply { .. } => {
                all.push(action.clone());
                numbers.push(number);
                continue;
            }
        };
        let cfg = template(action.thread).map(|template| &template.cfg);
        let taken = cfg.and_then(|cfg| cfg.edges.get(edge.index()));
        if let (Some(cfg), Some(taken), Some(here)) = (cfg, taken, at.get_mut(action.thread)) {
            // No thread passes more candidates in a row than there are edges.
            for _ in 0..cfg.edges.len() {
                let candidate = cfg.edges.iter().position(|e| {
                    Some(e.from) == *here
                        && *here != Some(taken.from)
                        && e.step == Step::Fence(FenceKind::Candidate)
                });
                let Some(candidate) = candidate else { break };
                *here = Some(cfg.edges[candidate].to);
                all.push(Action {
                    thread: action.thread,
                    kind: ActionKind::Step {
                        edge: candidate.into(),
                        choice: None,
                    },
                });
            }
            *here = Some(taken.to);
        }
        all.push(action.clone());
        numbers.resize(all.len(), number);
    }
    (all, numbers)
}
