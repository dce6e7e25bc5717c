//! `palisade explore`: the concrete machine searches all runs of the program.

use std::fmt::Write;

use palisade_frontend::{Diagnostic, Diagnostics};
use palisade_machine::{Exploration, Options, explore};
use palisade_program::{Broken, Domain, Model, Program, Verdict, Violation};
use palisade_report::html::Page;
use palisade_report::{Document, Ink, Outcome, Stats, finals, verdict};
use serde_json::{Value, json};

use super::several;
use super::verify::ask;
use crate::CommandResult;
use crate::args::{ExploreArgs, Models};
use crate::c_task::{self, Task};
use crate::c_witness;
use crate::context::Context;
use crate::input;
use crate::next::{Next, Situation};
use crate::progress::{self, Progress};
use crate::scale;
use crate::shown::{self, shown_trace, trace_of};
use crate::{uninitialised, vacuity};

/// Every file under every model.
pub(super) fn run_all(args: &ExploreArgs, context: &Context) -> CommandResult {
    let more = &args.c.preprocessor.more;
    let Some(pairs) = several::pairs(&args.file, more, &args.model, &[])? else {
        return run(args, context);
    };
    if args.c.witness.is_some() {
        anyhow::bail!("--witness is for one program under one model");
    }
    let whole = args.finals || args.stats;
    Ok(several::run(
        &pairs,
        whole,
        context,
        |file, model, context| {
            let mut args = args.clone();
            file.clone_into(&mut args.file);
            args.model = Models::one(model);
            if !c_task::is_c(file) {
                args.c.preprocessor.more.clear();
            }
            run(&args, context)
        },
    ))
}

/// Reads what is asked about.
pub(super) fn subject(
    args: &ExploreArgs,
    context: &Context,
) -> anyhow::Result<(Option<Task>, Program)> {
    let task = task(args)?;
    let mut program = if let Some(task) = &task {
        task.load(context)?
    } else {
        let (file, rust) = args.rust.program(&args.file)?;
        input::load_for(context, &file, args.model.only(), &rust)?
    };
    ask(&mut program, &args.check, args.model.only())?;
    input::refuse_processes(context, &program, args.model.only())?;
    Ok((task, program))
}

fn run(args: &ExploreArgs, context: &Context) -> CommandResult {
    let (task, program) = subject(args, context)?;
    let options = options(args, context);
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some(options.model.to_string()),
        options: Some(options_value(&options, &program)),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let progress = Progress::start("exploring");
    let explored = scale::explored(&args.scale, &args.file, &program, &options);
    drop(progress);
    let (mut result, chosen) = match explored? {
        Ok(explored) => explored,
        Err(unsupported) => {
            let item = Diagnostic::error(unsupported.span, unsupported.message.as_str())
                .help(unsupported.help.as_str());
            let diagnostics = Diagnostics::new(program.source, vec![item]);
            return Ok(input::refuse(context, &diagnostics));
        }
    };
    result.verdict = context.limits.explain(result.verdict);
    if task.is_some() {
        result.verdict = c_task::named(&program, result.verdict);
    }
    let finals = args
        .finals
        .then(|| Finals::collect(&program, &options, &result));
    let situation = Situation {
        program: &program,
        has_c_integers: false,
        takes_predicates: false,
        unrestricted: None,
        timeout: context.timeout(),
    };
    let limits = (options.buffer, options.max_states);
    let bounds = result.bounds.iter();
    let next = Next::of_search(&result.verdict, bounds, limits, &situation, context);
    let finals_shown = finals.as_ref();
    let mut text = text(
        args,
        context,
        &program,
        &options,
        &result,
        finals_shown,
        &next,
    );
    let mut document = document(heading, &program, &result, finals_shown);
    document.next = next.value(&program);
    if let Some(caveat) = options.model.caveat() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "note: {caveat}");
        document.notes.push(caveat.to_owned());
    }
    document.warnings = uninitialised::warn(context, &program, &chosen);
    document.uninitialised = chosen.into_keys().collect();
    if result.verdict == Verdict::Holds {
        let warnings = vacuity::warn(context, &program, &result.vacuous, None);
        document.warnings.extend(warnings);
    }
    if let Some(task) = &task {
        let mut notes = task.notes(&program, &result.verdict);
        if let Some(path) = &args.c.witness {
            let asked = c_witness::Asked {
                path,
                task,
                program: &program,
                model: options.model,
            };
            notes.extend(asked.write(&result.verdict, None)?);
        }
        notes.extend(task.race_notes(context));
        for note in notes {
            // Writing to a string does not fail.
            let _ = writeln!(text, "note: {note}");
            document.notes.push(note);
        }
        text.push_str(&task.verdict_line(&result.verdict));
    }
    context.print(&text, &document);
    Ok(match &task {
        Some(task) => task.outcome(&result.verdict),
        None => Outcome::from(&result.verdict),
    })
}

/// What is asked about a C program; `None` for other inputs.
fn task(args: &ExploreArgs) -> anyhow::Result<Option<Task>> {
    if !c_task::is_c(&args.file) {
        if let Some(second) = args.c.preprocessor.more.first() {
            anyhow::bail!("{}: several files are for C programs", second.display());
        }
        if args.check.iter().any(|c| c.is_of_c()) {
            anyhow::bail!("--check overflow, leak and races are for C programs");
        }
        return Ok(None);
    }
    let task = Task::new(&args.file, &args.c)?;
    Ok(Some(task.checking(&args.check).under(args.model.only())))
}

fn options(args: &ExploreArgs, context: &Context) -> Options {
    let defaults = Options::new(args.model.only());
    let plain = args.scale.is_plain();
    // Processes on one machine share it.
    let processes = args.scale.cluster.processes.unwrap_or(1).max(1);
    let workers = match std::thread::available_parallelism() {
        Ok(cores) if processes > 1 => (cores.get() / processes as usize).max(1),
        Ok(_) | Err(_) => defaults.workers,
    };
    let processes = u64::from(processes);
    Options {
        buffer: args.buffer.or(defaults.buffer),
        range: args.range,
        any: args.range.unwrap_or(defaults.any),
        threads: args.copies.unwrap_or(defaults.threads),
        max_states: args.max_states.or(plain.then_some(MOST_STATES)),
        progress: Some(progress::states),
        max_memory: context.limits.memory.map(|m| m / processes),
        deadline: context.limits.deadline,
        cancel: context.limits.cancel.clone(),
        partial_order: !args.no_partial_order,
        symmetry: !args.no_symmetry,
        shift: args.shift,
        collect_finals: args.finals,
        workers: args.workers.unwrap_or(workers),
        ..defaults
    }
}

/// States that `explore` stores if nobody says how many, and they are all in memory.
const MOST_STATES: u64 = 10_000_000;

/// The limits that the result depends on, for the document.
fn options_value(options: &Options, program: &Program) -> Value {
    let domain = |d: Domain| json!([d.lo, d.hi]);
    json!({
        "buffer": options.buffer,
        "range": options.range.map(domain),
        "any": domain(options.any),
        "copies": options.threads,
        "max_states": options.max_states,
        "check_deadlock": program.deadlock,
        "check_progress": program.progress,
        "partial_order": options.partial_order,
        "symmetry": options.symmetry,
    })
}

/// The result for people.
fn text(
    args: &ExploreArgs,
    context: &Context,
    program: &Program,
    options: &Options,
    result: &Exploration,
    finals: Option<&Finals>,
    next: &Next,
) -> String {
    let mut text = verdict::line(&result.verdict, &program.source, context.style);
    if let Verdict::Violated(violation) = &result.verdict
        && !matches!(violation.broken, Broken::Unreachable(_))
    {
        text.push_str(&shown_trace(context, program, &violation.trace, args.trace));
    }
    text.push_str(&next.text(program));
    text.push_str(&vacuity::reached(
        context,
        program,
        &result.reached,
        args.trace,
    ));
    if let Some(deadlock) = unasked_deadlock(result) {
        let _ = writeln!(text, "note: {}", shown::deadlock(program, deadlock));
        text.push_str(&shown_trace(context, program, &deadlock.trace, args.trace));
    }
    if let Some(finals) = finals {
        text.push_str(&finals::render(&finals.states));
        if !finals.are_all {
            text.push_str(INCOMPLETE);
            text.push('\n');
        }
    }
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{}",
        context.style.paint(Ink::Faint, &summary(options, result))
    );
    if args.stats {
        text.push_str(&shown_stats(result));
    }
    text
}

/// A deadlock that is only worth a note.
fn unasked_deadlock(result: &Exploration) -> Option<&Violation> {
    match result.verdict {
        Verdict::Violated(_) => None,
        Verdict::Holds | Verdict::Unknown(_) => result.deadlock.as_deref(),
    }
}

/// Model, limits and size of the search in one line.
fn summary(options: &Options, result: &Exploration) -> String {
    let mut parts = vec![format!("model {}", options.model)];
    let buffers = match options.model {
        Model::Sc => None,
        Model::Tso | Model::Pso => Some("buffers"),
        Model::Rma => Some("pending operations"),
        Model::Rc11 => Some("histories"),
    };
    if let (Some(buffers), Some(size)) = (buffers, options.buffer) {
        parts.push(format!("{buffers} up to {size}"));
    }
    if let Some(range) = options.range {
        parts.push(format!("values {}..{}", range.lo, range.hi));
    }
    parts.push(format!("{} states", result.stats.states));
    parts.join(", ")
}

fn shown_stats(result: &Exploration) -> String {
    let stats = &result.stats;
    let cost = crate::context::stats();
    format!(
        "states {}\ntransitions {}\ndepth {}\nbytes per state {:.1}\nseconds {:.3}\n\
         cpu seconds {:.3}\npeak memory bytes {}\n",
        stats.states,
        stats.transitions,
        stats.depth,
        stats.bytes_per_state(),
        stats.seconds,
        cost.cpu_seconds,
        cost.peak_memory_bytes
    )
}

/// The final states with names: memory, then the locals that the user declared.
struct Finals {
    states: Vec<Vec<(String, i64)>>,
    /// Whether the search saw every run.
    are_all: bool,
}

/// Said when the list may lack some.
const INCOMPLETE: &str = "note: the list of final states may be incomplete";

impl Finals {
    fn collect(program: &Program, options: &Options, result: &Exploration) -> Self {
        let rerun;
        let result = match &result.verdict {
            Verdict::Holds | Verdict::Unknown(_) => result,
            // The search ended at the violation. Without `never` and `finally` it
            // goes on; a failed assertion ends a run in any case.
            Verdict::Violated(_) => {
                let free = Program {
                    properties: Vec::new(),
                    deadlock: false,
                    ..program.clone()
                };
                rerun = explore(&free, options);
                rerun.as_ref().unwrap_or(result)
            }
        };
        let names = finals::names(program, options.threads);
        let named = |state: &palisade_machine::Final| {
            let locals = state.locals.iter().flatten();
            let values: Vec<i64> = state.cells.iter().chain(locals).copied().collect();
            finals::named(&names, &values)
        };
        let mut states: Vec<_> = result.finals.iter().map(named).collect();
        // States that differ in temporaries only look alike.
        states.dedup();
        Self {
            states,
            are_all: matches!(result.verdict, Verdict::Holds),
        }
    }
}

/// The result for scripts.
fn document(
    heading: Document,
    program: &Program,
    result: &Exploration,
    finals: Option<&Finals>,
) -> Document {
    let stats = &result.stats;
    let more = json!({
        "depth": stats.depth,
        "seconds": stats.seconds,
        "bytes_per_state": stats.bytes_per_state(),
    });
    let mut document = Document {
        stats: Some(Stats {
            states: Some(stats.states),
            transitions: Some(stats.transitions),
            more: more.as_object().cloned().unwrap_or_default(),
            ..crate::context::stats()
        }),
        ..heading.with_verdict(&result.verdict, &program.source)
    };
    let page = Page::of_program(program, trace_of(&result.verdict));
    document.page = Some(Box::new(page));
    document.reached = shown::reached(program, &result.reached);
    if let Some(deadlock) = unasked_deadlock(result) {
        document.notes.push(shown::deadlock(program, deadlock));
    }
    if let Some(finals) = finals {
        let states = finals.states.iter().cloned();
        document.finals = Some(states.map(finals::value).collect());
        if !finals.are_all {
            document.notes.push(INCOMPLETE.to_owned());
        }
    }
    document
}
