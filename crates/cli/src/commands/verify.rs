//! `palisade verify`: proves or refutes the properties by predicate abstraction,
//! also where integers and loops are unbounded.

use std::collections::BTreeSet;
use std::fmt::{Display, Write};
use std::fs;

use anyhow::Context as _;
use palisade_certify::Certificate;
use palisade_certify::places::{Fact, by_place, can_wait_alone};
use palisade_frontend::{Diagnostic, Diagnostics};
use palisade_program::symmetry::Asymmetry;
use palisade_program::{Broken, Count, Model, Program, Verdict};
use palisade_report::html::{Page, Place};
use palisade_report::{Document, Ink, Outcome, Stats, verdict};
use palisade_verify::{
    Gap, Options, Report, Threads, refusal, verify, verify_threads, with_threads,
};
use serde_json::{Map, Value, json};

use super::several;
use crate::CommandResult;
use crate::args::{CheckArg, IntsArg, Models, SymmetryArg, VerifyArgs};
use crate::c_task::{self, Task};
use crate::c_witness;
use crate::context::Context;
use crate::next::{Next, Situation};
use crate::progress::{self, Progress};
use crate::shown::{self, counted, shown_trace, trace_of};
use crate::{context, input, predicates, uninitialised, vacuity};

/// Every file under every model.
pub(super) fn run_all(args: &VerifyArgs, context: &Context) -> CommandResult {
    let more = &args.c.preprocessor.more;
    let Some(pairs) = several::pairs(&args.file, more, &args.model, &[])? else {
        return run(args, context);
    };
    if args.certificate.is_some() {
        anyhow::bail!("--certificate is for one program under one model");
    }
    if args.c.witness.is_some() {
        anyhow::bail!("--witness is for one program under one model");
    }
    let whole = args.explain || args.stats;
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

/// What is asked about.
pub(super) struct Subject {
    pub(super) task: Option<Task>,
    /// The program as it is declared.
    declared: Program,
    /// The program with the number of threads that is asked for.
    pub(super) program: Program,
}

/// Reads what is asked about.
pub(super) fn subject(
    args: &VerifyArgs,
    options: &Options,
    context: &Context,
) -> anyhow::Result<Subject> {
    let task = task(args)?;
    let predicates = args.method.predicates.as_deref();
    let mut declared = if let Some(task) = &task {
        predicates::added(context, task.load(context)?, &args.file, predicates)?
    } else {
        let (file, rust) = args.rust.program(&args.file)?;
        predicates::load_for(context, &file, predicates, (args.model.only(), &rust))?
    };
    ask(&mut declared, &args.check, args.model.only())?;
    let program = match asked_for(args, options, &declared) {
        Ok(program) => program,
        Err((problem, help)) => {
            let source = declared.source.clone();
            let item = Diagnostic::error(problem.span, problem.reason).help(help);
            let diagnostics = Diagnostics::new(source, vec![item]);
            return Err(input::refused(context, &diagnostics));
        }
    };
    input::refuse_processes(context, &program, options.model)?;
    Ok(Subject {
        task,
        declared,
        program,
    })
}

fn run(args: &VerifyArgs, context: &Context) -> CommandResult {
    let options = options(args, context);
    let Subject {
        task,
        declared,
        program,
    } = subject(args, &options, context)?;
    args.method.buffers.check(&program, options.model)?;
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some(options.model.to_string()),
        options: Some(options_value(args, &options)),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let progress = Progress::start("verifying");
    let changed = args.threads.map(|n| verify_threads(&declared, n, &options));
    let mut report = match changed {
        Some(Ok(report)) => report,
        Some(Err(_)) | None => verify(&program, &options),
    };
    drop(progress);
    report.verdict = context.limits.explain(report.verdict);
    if let Some(deadlock) = &report.deadlock {
        report.notes.push(shown::deadlock(&program, deadlock));
    }
    if let Some(task) = &task {
        report.verdict = c_task::named(&program, report.verdict);
        report.notes.extend(task.notes(&program, &report.verdict));
        report.notes.extend(task.race_notes(context));
    }
    report
        .notes
        .extend(options.model.caveat().map(str::to_owned));
    if let (Some(path), Some(task)) = (&args.c.witness, &task) {
        let subject = report.subject(&program);
        let proof = report.certificate.as_ref().map(|c| (&*subject, c));
        let asked = c_witness::Asked {
            path,
            task,
            program: &program,
            model: options.model,
        };
        report.notes.extend(asked.write(&report.verdict, proof)?);
    }
    if let (Some(path), Some(certificate)) = (&args.certificate, &report.certificate) {
        let mut text = palisade_certify::print(&report.subject(&program), certificate);
        text.push_str(&uninitialised::comment(&report.chosen));
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut warnings = uninitialised::warn(context, &program, &report.chosen);
    if report.verdict == Verdict::Holds {
        let found = &report.vacuity;
        warnings.extend(vacuity::warn(
            context,
            &program,
            &found.unreached,
            found.states,
        ));
    }
    let situation = Situation {
        program: &program,
        has_c_integers: task.is_some() && args.c.ints == IntsArg::C,
        takes_predicates: task.is_none(),
        unrestricted: match args.max_rounds {
            _ if args.no_refine => Some(context.without("--no-refine")),
            Some(rounds) => Some(context.again("--max-rounds", &(10 * rounds).to_string())),
            None => None,
        },
        timeout: context.timeout(),
    };
    let stuck = report.stuck.iter();
    let next = Next::of_proof(&report.verdict, &situation, context)
        .stuck_at(stuck.map(|step| (step.thread.clone(), step.span)));
    let mut text = text(args, context, &program, &options, &report, &next);
    if let Some(task) = &task {
        text.push_str(&task.verdict_line(&report.verdict));
    }
    let document = Document {
        uninitialised: report.chosen.keys().cloned().collect(),
        next: matches!(report.verdict, Verdict::Unknown(_))
            .then(|| next.value(&program))
            .flatten(),
        warnings,
        ..document(heading, &program, &report)
    };
    context.print(&text, &document);
    Ok(match &task {
        Some(task) => task.outcome(&report.verdict),
        None => Outcome::from(&report.verdict),
    })
}

/// The program with the number of threads that is asked for; or why it has no proof
/// for every number of threads.
fn asked_for(
    args: &VerifyArgs,
    options: &Options,
    program: &Program,
) -> Result<Program, (Asymmetry, &'static str)> {
    let help = if program.templates.iter().all(|t| t.count == Count::Once) {
        "copies are declared by `thread t[2]` or `thread t[*]`; in C by pthread_create in a loop"
    } else {
        "--copies N looks at N copies, without a proof for all"
    };
    let program = match args.threads {
        Some(threads) => {
            let changed = with_threads(program, threads);
            changed.map_err(|why| (why, help))?
        }
        None => program.clone(),
    };
    let proved = program.has_unbounded_threads() && options.threads.is_none() && options.symmetry;
    match proved.then(|| refusal(&program)).flatten() {
        Some(Gap::Unsupported(reason, span)) => Err((Asymmetry { reason, span }, help)),
        Some(_) | None => Ok(program),
    }
}

/// What is asked about a C program; `None` for other inputs.
fn task(args: &VerifyArgs) -> anyhow::Result<Option<Task>> {
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

/// What `--check` asks of every program.
pub(super) fn ask(program: &mut Program, checks: &[CheckArg], model: Model) -> anyhow::Result<()> {
    program.deadlock = checks.contains(&CheckArg::Deadlock);
    program.progress = checks.contains(&CheckArg::Progress);
    if program.progress && model == Model::Rma {
        anyhow::bail!("--check progress: unsupported under RMA; use sc, tso, pso or rc11");
    }
    Ok(())
}

pub(super) fn options(args: &VerifyArgs, context: &Context) -> Options {
    let defaults = Options::default();
    Options {
        model: args.model.only(),
        threads: args.copies,
        symmetry: args.symmetry == SymmetryArg::On,
        refine: !args.no_refine,
        falsify: true,
        certify: !args.no_certify,
        max_states: args.max_states.unwrap_or(defaults.max_states),
        max_rounds: args.max_rounds.unwrap_or(defaults.max_rounds),
        deadline: context.limits.deadline,
        cancel: context.limits.cancel.clone(),
        progress: Some(|at| {
            progress::detail(format!(
                "round {}, {} predicates, {} states",
                at.round, at.predicates, at.states
            ));
        }),
        ..args.method.options()
    }
}

/// The options that the result depends on, for the document.
fn options_value(args: &VerifyArgs, options: &Options) -> Value {
    let own = json!({
        "copies": options.threads,
        "threads": args.threads.map(|threads| match threads {
            Threads::Exactly(n) => json!(n),
            Threads::Any => json!("any"),
        }),
        "symmetry": options.symmetry,
        "refine": options.refine,
        "max_states": options.max_states,
        "max_rounds": options.max_rounds,
        "check_deadlock": args.check.contains(&CheckArg::Deadlock),
        "check_progress": args.check.contains(&CheckArg::Progress),
    });
    let own = own.as_object().cloned().unwrap_or_default();
    args.method.value().into_iter().chain(own).collect()
}

/// The result for people.
fn text(
    args: &VerifyArgs,
    context: &Context,
    program: &Program,
    options: &Options,
    report: &Report,
    next: &Next,
) -> String {
    let mut text = verdict::line(&report.verdict, &program.source, context.style);
    match &report.verdict {
        Verdict::Holds if report.certified => {
            text.truncate(text.trim_end().len());
            text.push_str(" (certified)\n");
        }
        Verdict::Holds => {}
        Verdict::Violated(violation) if matches!(violation.broken, Broken::Unreachable(_)) => {
            if report.certified {
                text.truncate(text.trim_end().len());
                text.push_str(" (certified)\n");
            }
        }
        Verdict::Violated(violation) => {
            text.push_str(&shown_trace(context, program, &violation.trace, args.trace));
        }
        Verdict::Unknown(_) => {
            text.push_str(&next.text(program));
            push_predicates(&mut text, report);
        }
    }
    text.push_str(&vacuity::reached(
        context,
        program,
        &report.reached,
        args.trace,
    ));
    let reason = verdict::reason(&report.verdict).unwrap_or_default();
    for note in report.notes.iter().filter(|note| !reason.contains(*note)) {
        let _ = writeln!(text, "note: {note}");
    }
    let stats = &report.stats;
    let summary = format!(
        "model {}, {}, {}, {}",
        options.model,
        counted(stats.predicates, "predicate", "predicates"),
        counted(stats.iterations, "round", "rounds"),
        counted(stats.states, "abstract state", "abstract states")
    );
    let _ = writeln!(text, "{}", context.style.paint(Ink::Faint, &summary));
    if args.explain {
        push_attempts(&mut text, report);
    }
    if args.stats {
        push_stats(&mut text, report);
    }
    text
}

/// Predicates that are shown where a method gave up.
const SHOWN_PREDICATES: usize = 12;

/// What was learned before the method gave up.
fn push_predicates(text: &mut String, report: &Report) {
    if !report.predicates.is_empty() {
        text.push_str("predicates so far:\n");
    }
    for predicate in report.predicates.iter().take(SHOWN_PREDICATES) {
        let _ = writeln!(text, "  {predicate}");
    }
    let more = report.predicates.len().saturating_sub(SHOWN_PREDICATES);
    if more > 0 {
        let _ = writeln!(text, "  ... and {more} more (--json has all)");
    }
}

/// What was tried, in order.
fn push_attempts(text: &mut String, report: &Report) {
    text.push_str("tried:\n");
    for (number, attempt) in report.attempts.iter().enumerate() {
        let mut what = attempt.reductions.clone();
        what.push(attempt.method.clone());
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:3}. {} ({:.2} s)\n     {}",
            number + 1,
            what.join("; "),
            attempt.time.as_secs_f64(),
            attempt.outcome
        );
    }
}

/// One figure a line; those by purpose and by phase below their sum.
fn push_stats(text: &mut String, report: &Report) {
    let stats = &report.stats;
    let calls: u64 = stats.solver_calls.iter().map(|(_, calls)| calls).sum();
    let (posts, remembered) = stats.posts;
    let (cubes, largest) = stats.cubes;
    let cost = context::stats();
    // Writing to a string does not fail.
    let mut line = |name: &str, value: &dyn Display| {
        let _ = writeln!(text, "{name} {value}");
    };
    line("predicates", &stats.predicates);
    line("split predicates", &stats.split);
    line("explicit variables", &stats.explicit);
    line("iterations", &stats.iterations);
    line("states", &stats.states);
    line("steps", &stats.steps);
    line("solver calls", &calls);
    for (purpose, calls) in stats.solver_calls.iter().filter(|(_, calls)| *calls > 0) {
        line(&format!("  {purpose}"), calls);
    }
    if let Some((calls, facts)) = stats.extrapolated {
        line("solver calls for the extrapolated Boolean program", &calls);
        line("facts of the extrapolated Boolean program", &facts);
    }
    line("cache hits", &stats.cache_hits);
    line("posts", &format!("{posts}, {remembered} from memory"));
    if cubes > 0 {
        line("cubes", &format!("{cubes}, the largest of {largest}"));
    }
    line("certificate entries", &stats.certificate_entries);
    line("unbuffered stores", &stats.unbuffered_stores);
    if stats.state_by_state {
        line("interference-free accesses", &stats.interference_free);
    }
    line("falsified states", &stats.falsified_states);
    for (phase, time) in &stats.times {
        line(
            &format!("seconds of {phase}"),
            &format!("{:.3}", time.as_secs_f64()),
        );
    }
    line("cpu seconds", &format!("{:.3}", cost.cpu_seconds));
    line("peak memory bytes", &cost.peak_memory_bytes);
}

/// What the document's fixed keys do not cover.
fn more_stats(report: &Report) -> Map<String, Value> {
    let stats = &report.stats;
    let calls: Map<String, Value> = stats
        .solver_calls
        .iter()
        .map(|&(purpose, calls)| (purpose.to_owned(), json!(calls)))
        .collect();
    let seconds: Map<String, Value> = stats
        .times
        .iter()
        .map(|&(phase, time)| (phase.to_owned(), json!(time.as_secs_f64())))
        .collect();
    let all = json!({
        "split_predicates": stats.split,
        "explicit_variables": stats.explicit,
        "steps": stats.steps,
        "solver_calls_by_purpose": calls,
        "cache_hits": stats.cache_hits,
        "posts": stats.posts.0,
        "posts_from_memory": stats.posts.1,
        "cubes": stats.cubes.0,
        "largest_cube": stats.cubes.1,
        "seconds_by_phase": seconds,
        "certificate_entries": stats.certificate_entries,
        "unbuffered_stores": stats.unbuffered_stores,
        "interference_free": stats.interference_free,
        "falsified_states": stats.falsified_states,
        // Earlier names of the three above.
        "direct_stores": stats.unbuffered_stores,
        "undisturbed": stats.interference_free,
        "hunted_states": stats.falsified_states,
        "state_by_state": stats.state_by_state,
        "extrapolated_program_calls": stats.extrapolated.map(|e| e.0),
        "extrapolated_program_facts": stats.extrapolated.map(|e| e.1),
    });
    all.as_object().cloned().unwrap_or_default()
}

/// The result for scripts.
fn document(heading: Document, program: &Program, report: &Report) -> Document {
    let stats = &report.stats;
    let mut document = heading.with_verdict(&report.verdict, &program.source);
    if matches!(report.verdict, Verdict::Holds) {
        document.certified = Some(report.certified);
    }
    document.notes.clone_from(&report.notes);
    document.reached = shown::reached(program, &report.reached);
    document.predicates = Some(report.predicates.clone());
    let attempts = report.attempts.iter().map(|attempt| {
        json!({
            "reductions": attempt.reductions,
            "method": attempt.method,
            "seconds": attempt.time.as_secs_f64(),
            "outcome": attempt.outcome,
        })
    });
    document.attempts = Some(attempts.collect());
    let mut page = Page::of_program(program, trace_of(&report.verdict));
    if let (Verdict::Holds, Some(certificate)) = (&report.verdict, &report.certificate) {
        let text = palisade_certify::print(program, certificate);
        page.invariant = text.lines().map(str::to_owned).collect();
        page.places = places(&report.subject(program), certificate);
        let direct = "Stores that need no buffer count as done at once.";
        let waiting = "States in which a thread waits for ever at a condition over its own \
            variables are left out.";
        let notes = [
            (!certificate.unbuffered.is_empty()).then_some(direct),
            can_wait_alone(program).then_some(waiting),
        ];
        page.places_note = notes.into_iter().flatten().collect::<Vec<_>>().join(" ");
    }
    document.page = Some(Box::new(page));
    document.stats = Some(Stats {
        predicates: Some(stats.predicates as u64),
        iterations: Some(stats.iterations as u64),
        solver_calls: Some(stats.solver_calls.iter().map(|&(_, calls)| calls).sum()),
        states: Some(stats.states as u64),
        more: more_stats(report),
        ..context::stats()
    });
    document
}

/// Values of a variable that are listed; more are a range.
const LISTED: usize = 6;

/// What the proof shows at each line of each thread, for pages.
fn places(program: &Program, certificate: &Certificate) -> Vec<Place> {
    let mut all: Vec<Place> = Vec::new();
    for known in by_place(program, certificate) {
        let template = program.template(known.template);
        let next = template.cfg.edges.iter().find(|e| e.from == known.loc);
        let Some(span) = next.map(|edge| edge.span).filter(|s| s.start < s.end) else {
            continue;
        };
        let facts = known.facts.iter().filter_map(|fact| match fact {
            Fact::Values { name, .. } if program.names.is_made_up(name) => None,
            Fact::Values { name, values, .. } => Some(words(program, name, values)),
            Fact::Atom(text) => Some(text.clone()),
        });
        all.push(Place {
            thread: template.name.clone(),
            line: program.source.position(span.start).line,
            facts: facts.collect(),
        });
    }
    all.retain(|place| !place.facts.is_empty());
    all.sort_by(|a, b| (&a.thread, a.line).cmp(&(&b.thread, b.line)));
    all.dedup();
    all
}

/// `x = 0`, `x is 0, 1 or 4`, `x in 0..9`
fn words(program: &Program, name: &str, values: &BTreeSet<i64>) -> String {
    let shown: Vec<String> = values
        .iter()
        .map(|v| program.names.value(name, *v))
        .collect();
    match &shown[..] {
        [] => format!("{name} has no value"),
        [one] => format!("{name} = {one}"),
        [most @ .., last] if shown.len() <= LISTED => {
            format!("{name} is {} or {last}", most.join(", "))
        }
        [first, .., last] => format!("{name} in {first}..{last}"),
    }
}
