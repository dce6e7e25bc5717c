//! `palisade linearize`: whether a data structure is linearizable
//! ([`palisade_linearize::check`] decides).

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use palisade_linearize::check::{Checked, Question, Verdict, check, lockstep, proof};
use palisade_linearize::prove::{self, Interleaving, Proof, Soft};
use palisade_linearize::witness::{Happening, Kind};
use palisade_linearize::{Buffers, Options, Reclaim, Witness, timeline};
use palisade_program::Source;
use palisade_program::heap::{Program, print};
use palisade_report::html::{Page, Timeline, TimelineEvent};
use palisade_report::{Document, Ink, Outcome, Stats, listing};
use palisade_shape::draw;
use serde_json::{Value, json};

use crate::CommandResult;
use crate::args::{
    FreeArg, InterleavingArg, LinearEmitArg, LinearModelArg, LinearizeArgs, SoftArg,
};
use crate::context::{self, Context};
use crate::progress::{self, Progress};
use crate::structure::{self, Structure};
use crate::{drawings, input};

pub(super) fn run(args: &LinearizeArgs, context: &Context) -> CommandResult {
    let Structure { program, notes } = match structure::load(args, context)? {
        Ok(structure) => structure,
        Err(diagnostics) => return Ok(input::refuse(context, &diagnostics)),
    };
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some(args.model.name().to_owned()),
        ..context.document()
    };
    if let Some(what) = args.emit {
        return Ok(match emitted(args, what, context, &program) {
            Ok(text) => emit(context, heading, &text),
            Err(why) => {
                let document = Document {
                    verdict: Some("unknown"),
                    reason: Some(why.clone()),
                    ..heading
                };
                let word = context.style.paint(Ink::Doubt, "unknown");
                context.print(&format!("{word}: {why}\n"), &document);
                Outcome::Unknown
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
    let question = Question {
        bounds: palisade_linearize::Options {
            progress: Some(progress::states),
            ..options.clone()
        },
        proof: (!args.no_proof).then(|| proof_options(args, context)),
        stopped: &|| context.limits.stopped(),
        progress: Some(|at| {
            progress::detail(format!(
                "round {}, {} predicates, {} states",
                at.round, at.predicates, at.states
            ));
        }),
    };
    let mut result = check(&program, &question);
    drop(progress);
    result.notes.extend(notes);
    if let Some(proof) = &result.proof {
        let drawn = drawings_of(args, &program, proof);
        let drawn = drawn.unwrap_or_else(|error| Some(format!("nothing drawn: {error:#}")));
        result.notes.extend(drawn);
    }
    if let (Some(path), Some(certificate)) = (&args.certificate, &result.certificate) {
        fs::write(path, certificate.to_string())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.minimise && outcome(&result) == Outcome::Holds && minimal(&result).is_none() {
        let note = "--minimise: this proof has no soft invariants";
        result.notes.push(note.to_owned());
    }
    let next = next(context, &options, &result);
    let text = text(args, context, &program, &options, &result, next.as_deref());
    let document = Document {
        next: next.map(|command| json!({ "try": [command], "stuck": [] })),
        ..document(heading, &program, &result)
    };
    context.print(&text, &document);
    Ok(outcome(&result))
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
        LinearEmitArg::Tvp => proof::text(program, &proof_options(args, context)).map(|t| t.0),
        LinearEmitArg::Tvs => proof::text(program, &proof_options(args, context)).map(|t| t.1),
        LinearEmitArg::Lockstep => {
            lockstep::program(program).map(|program| listing::render(&program))
        }
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
        buffers: match args.model {
            LinearModelArg::Sc => Buffers::Sc,
            LinearModelArg::Tso => Buffers::Tso,
            LinearModelArg::Pso => Buffers::Pso,
        },
        stores: args.stores,
        real_time: args.real_time,
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
        "stores": options.stores,
        "real_time": options.real_time,
        "max_states": options.max_states,
    })
}

fn proof_options<'c>(args: &LinearizeArgs, context: &'c Context) -> prove::Options<'c> {
    prove::Options {
        interleaving: match args.interleaving {
            InterleavingArg::Full => Interleaving::Full,
            InterleavingArg::Restricted => Interleaving::Restricted,
        },
        soft: match args.soft {
            SoftArg::None => Soft::None,
            SoftArg::Hand => Soft::Hand,
            SoftArg::Auto => Soft::Found,
            SoftArg::Over => Soft::Over,
            SoftArg::All => Soft::All,
        },
        collapse: !args.no_collapse,
        threads: args
            .threads
            .filter(|_| args.no_collapse)
            .map(|n| n as usize),
        minimise: args.minimise,
        cancel: Some(&context.limits.cancel),
        ..prove::Options::default()
    }
}

/// Draws what was asked for, or the structure that the proof failed at, into the folder that
/// was given; says where. Without one nothing is written.
fn drawings_of(
    args: &LinearizeArgs,
    program: &Program,
    proof: &Proof,
) -> anyhow::Result<Option<String>> {
    if let (Some(format), Some(folder)) = (args.dump, &args.out) {
        let count = drawings::write(&proof.analysis, format, folder)?;
        return Ok(Some(format!("{count} drawings in {}", folder.display())));
    }
    let Some(message) = proof.analysis.fixpoint.messages.first() else {
        return Ok(None);
    };
    let Some(folder) = &args.out else {
        let hint = "--out FOLDER draws the abstract structure at which the proof fails";
        return Ok(Some(hint.to_owned()));
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let stem = Path::new(program.source.name()).file_stem();
    let stem = stem.map_or("structure".into(), |stem| stem.to_string_lossy());
    let path = folder.join(format!("palisade-{stem}.svg"));
    let picture = draw::svg(&proof.analysis.model.vocabulary, &message.structure);
    fs::write(&path, picture).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(format!(
        "the abstract structure at which the proof fails is drawn in {}",
        path.display()
    )))
}

fn outcome(result: &Checked) -> Outcome {
    match result.verdict {
        Verdict::Holds => Outcome::Holds,
        Verdict::Violated(_) => Outcome::Violated,
        Verdict::Unknown => Outcome::Unknown,
    }
}

const fn word(result: &Checked) -> &'static str {
    match result.verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown => "unknown",
    }
}

/// A command to try where nothing was shown: more time, longer histories, more states.
fn next(context: &Context, options: &Options, result: &Checked) -> Option<String> {
    if !matches!(result.verdict, Verdict::Unknown) {
        return None;
    }
    Some(match (context.limits.stopped(), &result.bound) {
        (Some(_), _) => {
            let seconds = context.timeout().map_or(60.0, |s| (6.0 * s).max(10.0));
            context.again("--timeout", &format!("{seconds:.0}s"))
        }
        (None, Some(_)) => context.again("--ops", &(options.calls + 2).to_string()),
        (None, None) => context.again("--max-states", &(10 * options.max_states).to_string()),
    })
}

/// The result for people.
fn text(
    args: &LinearizeArgs,
    context: &Context,
    program: &Program,
    options: &Options,
    result: &Checked,
    next: Option<&str>,
) -> String {
    let mut text = String::new();
    let ink = match result.verdict {
        Verdict::Violated(_) => Ink::Bad,
        Verdict::Holds => Ink::Good,
        Verdict::Unknown => Ink::Doubt,
    };
    let word = word(result);
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "{}{}: {}",
        context.style.paint(ink, word),
        if result.certified == Some(true) {
            " (certified)"
        } else {
            ""
        },
        result.reason
    );
    if let Verdict::Violated(witness) = &result.verdict {
        let place = program.source.position(witness.span.start);
        let _ = writeln!(text, "\n  at {}:{place}\n", program.source.name());
        text.push_str(&timeline::text(witness, &program.source));
    } else {
        text.push('\n');
    }
    if let Some(command) = next {
        let _ = writeln!(text, "  try: {command}");
    }
    for note in &result.notes {
        let _ = writeln!(text, "note: {note}");
    }
    for invariant in minimal(result).unwrap_or_default() {
        let _ = writeln!(text, "  {invariant}");
    }
    let free = match options.reclaim {
        Reclaim::Never => "garbage collection",
        Reclaim::Recycle => "nodes are recycled",
        Reclaim::Strict => "freed nodes must not be touched",
    };
    let model = args.model.name();
    let summary = format!("model {model}, {free}, {} states", result.states);
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

/// The soft invariants of a smallest sufficient set.
fn minimal(result: &Checked) -> Option<&[String]> {
    let minimal = result.proof.as_ref()?.minimal.as_ref()?;
    Some(&minimal.invariants)
}

/// The result for scripts.
fn document(heading: Document, program: &Program, result: &Checked) -> Document {
    let witness = match &result.verdict {
        Verdict::Violated(witness) => Some(witness),
        Verdict::Holds | Verdict::Unknown => None,
    };
    Document {
        verdict: Some(word(result)),
        certified: result.certified,
        replayed: witness.is_some().then_some(true),
        reason: Some(result.reason.clone()),
        bound: result.bound.clone(),
        trace: witness.map(|witness| trace_value(witness, &program.source)),
        page: Some(Box::new(page(program, result, witness.map(|w| &**w)))),
        notes: result.notes.clone(),
        predicates: minimal(result).map(<[String]>::to_vec),
        stats: Some(Stats {
            states: Some(result.states),
            transitions: Some(result.transitions),
            ..context::stats()
        }),
        ..heading
    }
}

/// The page: the time line of a violation, or the structure at which the proof fails.
fn page(program: &Program, result: &Checked, witness: Option<&Witness>) -> Page {
    let timeline = witness.map(|witness| {
        let events = witness.happenings.iter().map(|happening| {
            let (kind, text) = event_words(happening);
            TimelineEvent {
                thread: happening.thread,
                kind,
                text,
                line: program.source.position(happening.span.start).line,
            }
        });
        let count = witness.happenings.iter().map(|h| h.thread + 1).max();
        let names = (1..=count.unwrap_or(0)).map(|n| format!("thread {n}"));
        Timeline {
            threads: names.collect(),
            events: events.collect(),
        }
    });
    let failed = result.proof.iter().filter_map(|proof| {
        let messages = proof.analysis.fixpoint.messages.first();
        messages.map(|message| {
            let picture = draw::svg(&proof.analysis.model.vocabulary, &message.structure);
            ("Where the proof fails".to_owned(), picture)
        })
    });
    let mut page = Page::of_source(&program.source);
    page.timeline = timeline;
    page.drawings = failed.collect();
    page
}

/// The run: one object per call, step and return.
fn trace_value(witness: &Witness, source: &Source) -> Value {
    let events = witness.happenings.iter().map(|happening| {
        let place = source.position(happening.span.start);
        let (event, words) = event_words(happening);
        let step = match event {
            "return" => format!("return {words}").trim_end().to_owned(),
            _ => words,
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

/// What happens, and the call, the step or the result.
fn event_words(happening: &Happening) -> (&'static str, String) {
    match &happening.kind {
        Kind::Call(text) => ("call", text.clone()),
        Kind::Step(text) => ("step", text.clone()),
        Kind::Flush(text) => ("flush", format!("{text} reaches memory")),
        Kind::Return(value) => ("return", value.clone().unwrap_or_default()),
    }
}
