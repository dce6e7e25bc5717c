//! `palisade linearize`: whether a data structure is linearizable. All runs within
//! bounds are searched for a history that no order of its calls explains.

use std::fmt::Write;

use palisade_frontend::heap;
use palisade_linearize::points::{Points, Suggestion, applied, suggest};
use palisade_linearize::witness::Kind;
use palisade_linearize::{
    Bound, Failure, Found, Options, Reclaim, Search, Witness, check_commits, stages, timeline,
};
use palisade_program::heap::{Program, Specification, print};
use palisade_program::{Source, Unknown};
use palisade_report::{Document, Ink, Outcome, Stats};
use serde_json::{Value, json};

mod lockstep;
mod proof;

use self::proof::Attempt;
use crate::CommandResult;
use crate::args::{FreeArg, LinearEmitArg, LinearizeArgs};
use crate::context::{self, Context};
use crate::input;
use crate::progress::Progress;

/// Bounds of the searches about commit points: they are many, and a wrong point
/// shows early.
const COMMIT_THREADS: u32 = 2;
const COMMIT_CALLS: u32 = 3;
const COMMIT_STATES: usize = 100_000;

/// Further calls, and states, of the search for a wrong run that the prover says there may be.
const FURTHER_CALLS: u32 = 3;
const FURTHER_STATES: usize = 200_000;

pub(super) fn run(args: &LinearizeArgs, context: &Context) -> CommandResult {
    let source = input::read(&args.file)?;
    let program = match heap::parse(source) {
        Ok(parsed) => {
            input::warn(context, &parsed.program.source, &parsed.warnings);
            parsed.program
        }
        Err(diagnostics) => return Ok(input::refuse(context, &diagnostics)),
    };
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some("sc".to_owned()),
        ..context.document()
    };
    if let Some(what) = args.emit {
        return Ok(match emitted(args, what, context, &program) {
            Ok(text) => emit(context, heading, &text),
            Err(why) => {
                let result = unknown(why);
                let text = text(args, context, &program, &options(args, context), &result);
                context.print(&text, &document(heading, &program, &result));
                result.outcome
            }
        });
    }
    let options = options(args, context);
    let heading = Document {
        options: Some(options_value(&options)),
        ..heading
    };
    context.prepare_last_words(heading.clone());
    let progress = Progress::start("searching histories");
    let result = judge(args, &program, &options, context);
    drop(progress);
    let result = result.unwrap_or_else(|failure| failed(&failure));
    let text = text(args, context, &program, &options, &result);
    context.print(&text, &document(heading, &program, &result));
    Ok(result.outcome)
}

/// What `--emit` asks for, or why there is none.
fn emitted(
    args: &LinearizeArgs,
    what: LinearEmitArg,
    context: &Context,
    program: &Program,
) -> Result<String, String> {
    match what {
        LinearEmitArg::Program => Ok(print::program(program)),
        LinearEmitArg::Tvp => proof::text(args, context, program).map(|(tvp, _)| tvp),
        LinearEmitArg::Tvs => proof::text(args, context, program).map(|(_, tvs)| tvs),
        LinearEmitArg::Lockstep => lockstep::text(program),
    }
}

fn emit(context: &Context, heading: Document, text: &str) -> Outcome {
    let document = Document {
        text: Some(text.to_owned()),
        ..heading
    };
    context.print(text, &document);
    Outcome::Done
}

fn options(args: &LinearizeArgs, context: &Context) -> Options {
    let reclaim = match args.free {
        None => Reclaim::Never,
        Some(FreeArg::Recycle) => Reclaim::Recycle,
        Some(FreeArg::Strict) => Reclaim::Strict,
    };
    // A node that comes back takes more calls and fewer threads.
    let (threads, calls) = match reclaim {
        Reclaim::Never => (3, 4),
        Reclaim::Recycle | Reclaim::Strict => (2, 6),
    };
    Options {
        threads: args.threads.unwrap_or(threads),
        calls: args.ops.unwrap_or(calls),
        nodes: args.nodes,
        values: args.values,
        reclaim,
        max_states: args.max_states,
        deadline: context.limits.deadline,
        cancel: Some(context.limits.cancel.clone()),
        ..Options::default()
    }
}

const fn reclaim_word(reclaim: Reclaim) -> &'static str {
    match reclaim {
        Reclaim::Never => "never",
        Reclaim::Recycle => "recycle",
        Reclaim::Strict => "strict",
    }
}

fn options_value(options: &Options) -> Value {
    json!({
        "threads": options.threads,
        "ops": options.calls,
        "nodes": options.nodes,
        "values": options.values,
        "free": reclaim_word(options.reclaim),
        "max_states": options.max_states,
    })
}

/// What is known in the end.
struct Judgement {
    outcome: Outcome,
    /// Why: what is violated, or what is missing.
    reason: String,
    /// The bounds, if nothing else stands between this and a verdict.
    bound: Option<String>,
    /// The run that violates.
    witness: Option<Box<Witness>>,
    notes: Vec<String>,
    /// The program to prove, if nothing speaks against it: no bug was found, and no wrong
    /// commit point. It has the commit points of the text, or those that were found.
    may_hold: Option<Box<Program>>,
    /// Whether the proof's certificate was checked, if it has one.
    certified: Option<bool>,
    states: u64,
    transitions: u64,
}

fn unknown(reason: String) -> Judgement {
    Judgement {
        outcome: Outcome::Unknown,
        reason,
        bound: None,
        witness: None,
        notes: Vec::new(),
        may_hold: None,
        certified: None,
        states: 0,
        transitions: 0,
    }
}

fn failed(failure: &Failure) -> Judgement {
    unknown(failure.to_string())
}

/// Searches runs, looks at the commit points if none is wrong, and then for a proof.
fn judge(
    args: &LinearizeArgs,
    program: &Program,
    options: &Options,
    context: &Context,
) -> Result<Judgement, Failure> {
    let search = stages::search(program, options)?;
    let cost = (search.states, search.transitions);
    let mut judgement = judged(program, options, context, search);
    (judgement.states, judgement.transitions) = cost;
    let claims = judgement.may_hold.take();
    let searched = judgement.bound.is_some() && options.reclaim == Reclaim::Never;
    match claims {
        _ if args.no_proof => {}
        Some(claims) => {
            let found_points = !program.has_commits();
            let beyond = try_proof(args, context, &claims, found_points, &mut judgement);
            if beyond && let Some(found) = search_further(program, options, context)? {
                judgement = found;
            }
        }
        None if searched => judgement.notes.push(proof::not_tried(program)),
        None => {}
    }
    if options.reclaim != Reclaim::Never && !program.frees() {
        let note = "the program frees nothing: --free makes no difference but for leaks";
        judgement.notes.push(note.to_owned());
    }
    Ok(judgement)
}

/// A violation in runs with more calls than were asked for: the prover says that there may be one.
fn search_further(
    program: &Program,
    options: &Options,
    context: &Context,
) -> Result<Option<Judgement>, Failure> {
    let further = Options {
        calls: options.calls + FURTHER_CALLS,
        max_states: options.max_states.min(FURTHER_STATES),
        ..options.clone()
    };
    let search = stages::search(program, &further)?;
    let cost = (search.states, search.transitions);
    if !matches!(search.found, Found::Wrong(_)) {
        return Ok(None);
    }
    let mut judgement = judged(program, &further, context, search);
    (judgement.states, judgement.transitions) = cost;
    Ok(Some(judgement))
}

fn judged(program: &Program, options: &Options, context: &Context, search: Search) -> Judgement {
    let bounds = search.bounds;
    match search.found {
        Found::Wrong(witness) => {
            let also = search.also.map(|also| {
                let line = program.source.position(also.span.start).line;
                format!(
                    "another run: {} at line {line}",
                    timeline::words(&also.what)
                )
            });
            Judgement {
                outcome: Outcome::Violated,
                reason: timeline::words(&witness.what),
                witness: Some(witness),
                notes: also.into_iter().collect(),
                ..unknown(String::new())
            }
        }
        Found::Stopped(_) => {
            let why = context.limits.stopped().unwrap_or(Unknown::Interrupted);
            unknown(why.to_string())
        }
        Found::Nothing => {
            let bound = bounds_text(options, &bounds);
            let reason = format!("no violation in runs of {bound}");
            let mut judgement = Judgement {
                bound: Some(bound),
                ..unknown(reason)
            };
            // What was searched stands, whatever comes of the commit points.
            if let Err(failure) = about_commits(program, options, &mut judgement) {
                judgement.may_hold = None;
                judgement.notes.push(format!("commit points: {failure}"));
            }
            judgement
        }
    }
}

/// Beyond the bounds: a proof for any number of threads, nodes and values. Says whether there is
/// a run that may be wrong.
fn try_proof(
    args: &LinearizeArgs,
    context: &Context,
    program: &Program,
    found_points: bool,
    judgement: &mut Judgement,
) -> bool {
    let attempt = proof::attempt(args, context, program);
    let beyond = matches!(attempt, Attempt::Beyond(_));
    match attempt {
        Attempt::Proved(proved) => {
            let threads = match args.threads.filter(|_| args.no_collapse) {
                None => "any number of threads".to_owned(),
                Some(n) => format!("{n} threads"),
            };
            judgement.outcome = Outcome::Holds;
            judgement.bound = None;
            let nodes = if program.structs.is_empty() {
                ""
            } else {
                ", nodes"
            };
            judgement.reason = if program.specification == Specification::Nothing {
                format!("for {threads}{}", nodes.replace(',', " and"))
            } else {
                format!("linearizable, for {threads}{nodes} and values")
            };
            judgement.certified = proved.certified.then_some(true);
            // That points explain short runs is no news now; which ones were found is.
            judgement.notes.retain(|_| found_points);
            judgement.notes.extend(proved.notes);
        }
        Attempt::Failed(notes) | Attempt::Beyond(notes) => {
            if let Some(why) = context.limits.stopped() {
                judgement.notes.push(format!("no proof: {why}"));
            } else {
                judgement.notes.extend(notes);
            }
        }
    }
    beyond
}

fn bounds_text(options: &Options, touched: &[Bound]) -> String {
    let (threads, calls) = (options.threads, options.calls);
    let mut text = format!("{threads} threads with {calls} calls");
    for bound in touched {
        let more = match bound {
            Bound::Nodes => format!("{} nodes", options.nodes),
            Bound::LocalSteps => "short loops over locals".to_owned(),
            Bound::Numbers => "numbers of 64 bits".to_owned(),
            Bound::States => format!("{} states", options.max_states),
        };
        // Writing to a string does not fail.
        let _ = write!(text, ", {more}");
    }
    text
}

/// Whether the commit points explain short runs; others if they do not.
fn about_commits(
    program: &Program,
    options: &Options,
    judgement: &mut Judgement,
) -> Result<(), Failure> {
    if program.specification == Specification::Nothing {
        // The prover knows of no memory that is given back.
        if options.reclaim == Reclaim::Never {
            judgement.may_hold = Some(Box::new(program.clone()));
        }
        return Ok(());
    }
    let short = Options {
        threads: options.threads.min(COMMIT_THREADS),
        calls: options.calls.min(COMMIT_CALLS),
        max_states: options.max_states.min(COMMIT_STATES),
        ..options.clone()
    };
    let (threads, calls) = (short.threads, short.calls);
    if program.has_commits() {
        match check_commits(program, &short)?.found {
            Found::Nothing => {
                if options.reclaim == Reclaim::Never {
                    judgement.may_hold = Some(Box::new(program.clone()));
                }
                judgement.notes.push(format!(
                    "the commit points explain all runs of {threads} threads with {calls} calls"
                ));
                return Ok(());
            }
            Found::Stopped(_) => return Ok(()),
            Found::Wrong(witness) => {
                let line = program.source.position(witness.span.start).line;
                let what = timeline::words(&witness.what);
                judgement
                    .notes
                    .push(format!("commit point: {what} (line {line})"));
            }
        }
    }
    match suggest(program, &short)? {
        Points::Found(points) => {
            let found = points.iter().map(|point| suggestion(&program.source, point));
            judgement.notes.extend(found);
            // Where the text claims nothing, these are the claims.
            if !program.has_commits()
                && options.reclaim == Reclaim::Never
                && let Some(with_points) = applied(program, &points)
                && matches!(check_commits(&with_points, &short)?.found, Found::Nothing)
            {
                judgement.may_hold = Some(Box::new(with_points));
            }
        }
        Points::Cut => judgement
            .notes
            .push("the search for commit points was cut".to_owned()),
        Points::None => judgement.notes.push(format!(
            "no single access per `return` explains all runs of {threads} threads with {calls} calls"
        )),
    }
    Ok(())
}

fn suggestion(source: &Source, point: &Suggestion) -> String {
    format!(
        "{}: calls that return at line {} can commit at line {}: {}",
        point.method,
        source.position(point.at_return.start).line,
        source.position(point.span.start).line,
        point.step
    )
}

/// The result for people.
fn text(
    args: &LinearizeArgs,
    context: &Context,
    program: &Program,
    options: &Options,
    result: &Judgement,
) -> String {
    let mut text = String::new();
    let (word, ink) = match result.outcome {
        Outcome::Violated => ("violated", Ink::Bad),
        Outcome::Done | Outcome::Holds => ("holds", Ink::Good),
        Outcome::BadInput | Outcome::Unknown => ("unknown", Ink::Doubt),
    };
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "{}: {}",
        context.style.paint(ink, word),
        result.reason
    );
    if let Some(witness) = &result.witness {
        let place = program.source.position(witness.span.start);
        let _ = writeln!(text, "\n  at {}:{place}\n", program.source.name());
        text.push_str(&timeline::text(witness, &program.source));
    } else {
        text.push('\n');
    }
    for note in &result.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let free = match options.reclaim {
        Reclaim::Never => "garbage collection",
        Reclaim::Recycle => "nodes are recycled",
        Reclaim::Strict => "freed nodes must not be touched",
    };
    let summary = format!("model sc, {free}, {} states", result.states);
    let _ = writeln!(text, "{}", context.style.paint(Ink::Faint, &summary));
    if args.stats {
        let cost = context::stats();
        let _ = writeln!(text, "states {}", result.states);
        let _ = writeln!(text, "transitions {}", result.transitions);
        let _ = writeln!(text, "cpu seconds {:.3}", cost.cpu_seconds);
        let _ = writeln!(text, "peak memory bytes {}", cost.peak_memory_bytes);
    }
    text
}

/// The result for scripts.
fn document(heading: Document, program: &Program, result: &Judgement) -> Document {
    Document {
        verdict: Some(match result.outcome {
            Outcome::Violated => "violated",
            Outcome::Done | Outcome::Holds => "holds",
            Outcome::BadInput | Outcome::Unknown => "unknown",
        }),
        certified: result.certified,
        replayed: result.witness.is_some().then_some(true),
        reason: Some(result.reason.clone()),
        bound: result.bound.clone(),
        trace: result
            .witness
            .as_ref()
            .map(|witness| trace_value(witness, &program.source)),
        notes: result.notes.clone(),
        stats: Some(Stats {
            states: Some(result.states),
            transitions: Some(result.transitions),
            ..context::stats()
        }),
        ..heading
    }
}

/// The run: one object per call, step and return.
fn trace_value(witness: &Witness, source: &Source) -> Value {
    let events = witness.happenings.iter().map(|happening| {
        let place = source.position(happening.span.start);
        let (event, step) = match &happening.kind {
            Kind::Call(text) => ("call", text.clone()),
            Kind::Step(text) => ("step", text.clone()),
            Kind::Return(None) => ("return", "return".to_owned()),
            Kind::Return(Some(value)) => ("return", format!("return {value}")),
        };
        json!({
            "thread": format!("thread {}", happening.thread + 1),
            "line": place.line,
            "column": place.column,
            "event": event,
            "step": step,
        })
    });
    events.collect()
}
