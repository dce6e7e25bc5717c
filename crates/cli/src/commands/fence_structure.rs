//! `palisade fence` for data structures: the fewest fences behind stores for which no run within bounds is wrong
//! ([`palisade::linearize::fences`] finds them).

use std::fmt::Write;

use anyhow::bail;
use palisade::linearize::fences::{End, Fenced, place};
use palisade::linearize::{Buffers, Options, Question, Verdict, prove, timeline};
use palisade_fences::diff;
use palisade_fences::plan::anchor;
use palisade_frontend::heap;
use palisade_program::Model;
use palisade_program::heap::Program;
use palisade_report::{Document, Ink, Outcome, Stats};
use serde_json::{Value, json};

use super::fence::{changed_files, write_repair};
use crate::CommandResult;
use crate::args::{FenceArgs, SearchArg};
use crate::context::{self, Context};
use crate::input;
use crate::progress::{self, Progress};
use crate::shown::counted;

/// Threads of the runs that are searched: most bugs of buffers need two, which may make more calls.
const THREADS: u32 = 2;

pub(super) fn run(args: &FenceArgs, context: &Context, model: Model) -> CommandResult {
    let buffers = match model {
        Model::Tso => Buffers::Tso,
        Model::Pso => Buffers::Pso,
        Model::Sc | Model::Rma | Model::Rc11 => {
            bail!("--model {model}: fences are placed in data structures for tso and pso")
        }
    };
    if args.search == SearchArg::Paper || args.cost != "count" || args.all {
        bail!(
            "--search, --cost, --all: a data structure gets one placement with the fewest fences"
        );
    }
    if args.fence_text.is_some() || args.certificate.is_some() {
        bail!("--fence-text, --certificate: not for data structures");
    }
    let program = match heap::parse(input::read(&args.file)?) {
        Ok(parsed) => {
            input::warn(context, &parsed.program.source, &parsed.warnings);
            parsed.program
        }
        Err(diagnostics) => return Ok(input::refuse(context, &diagnostics)),
    };
    let bounds = Options {
        threads: args.copies.unwrap_or(THREADS),
        calls: args.ops,
        buffers,
        deadline: context.limits.deadline,
        cancel: Some(context.limits.cancel.clone()),
        progress: Some(progress::states),
        ..Options::default()
    };
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some(model.to_string()),
        options: Some(json!({ "threads": bounds.threads, "ops": bounds.calls })),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let progress = Progress::start("placing fences");
    let question = Question {
        bounds,
        proof: Some(prove::Options {
            cancel: Some(&context.limits.cancel),
            ..prove::Options::default()
        }),
        stopped: &|| context.limits.stopped(),
        progress: None,
    };
    let found = place(&program, &question);
    drop(progress);
    if matches!(found.end, End::Placed(_)) {
        write_repair(args, &program.source, &found.patched, None)?;
    }
    let (outcome, text) = text(args, context, model, &program, &found);
    let document = document(heading, &program, &found, outcome);
    context.print(&text, &document);
    Ok(outcome)
}

/// The verdict, and the result for people.
fn text(
    args: &FenceArgs,
    context: &Context,
    model: Model,
    program: &Program,
    found: &Fenced,
) -> (Outcome, String) {
    let paint = |ink, word: &str| context.style.paint(ink, word);
    let fences = match found.fences.len() {
        0 => "without further fences".to_owned(),
        n => format!("with {}", counted(n, "fence", "fences")),
    };
    let mut text = String::new();
    // Writing to a string does not fail.
    let outcome = match &found.end {
        End::NoRepair(witness) => {
            let word = paint(Ink::Bad, "violated");
            let place = program.source.position(witness.span.start);
            let _ = writeln!(text, "{word}: {}", timeline::words(&witness.what));
            let _ = writeln!(text, "  at {}:{place}", program.source.name());
            text.push_str("the bug exists under sc: no fence can repair it\n\n");
            text.push_str(&timeline::text(witness, &program.source));
            Outcome::Violated
        }
        End::Stopped(why) => {
            let _ = writeln!(text, "{}: {why}", paint(Ink::Doubt, "unknown"));
            Outcome::Unknown
        }
        End::Failed(why) => {
            let _ = writeln!(text, "{}: {why}", paint(Ink::Doubt, "unknown"));
            Outcome::Unknown
        }
        End::Placed(checked) => {
            let outcome = match &checked.verdict {
                Verdict::Holds => {
                    let _ = writeln!(
                        text,
                        "{} {fences}: {}",
                        paint(Ink::Good, "holds"),
                        checked.reason
                    );
                    Outcome::Holds
                }
                // A longer run, which the proof has led to.
                Verdict::Violated(_) => {
                    let word = paint(Ink::Doubt, "unknown");
                    let _ = writeln!(
                        text,
                        "{word}: {fences} a longer run is wrong: {}",
                        checked.reason
                    );
                    Outcome::Unknown
                }
                Verdict::Unknown => {
                    let word = paint(Ink::Doubt, "unknown");
                    let _ = writeln!(text, "{word}: {fences} {}", checked.reason);
                    Outcome::Unknown
                }
            };
            for (store, gap) in &found.fences {
                let place = anchor(&program.source, gap);
                let statement = program.source.slice(*store);
                let name = program.source.file_at(gap.statement.start);
                let _ = writeln!(text, "  {name}:{place}: fence after `{statement}`");
            }
            if !found.fences.is_empty() {
                text.push_str(
                    "minimum: fewer fences behind stores leave a wrong run within the bounds\n",
                );
            }
            for note in &checked.notes {
                let _ = writeln!(text, "note: {note}");
            }
            if args.diff {
                for (name, old, new) in changed_files(&program.source, &found.patched) {
                    text.push_str(&diff::unified(name, name, old, new));
                }
            }
            outcome
        }
    };
    let summary = format!(
        "model {model}, {}, {}",
        counted(found.candidates, "candidate", "candidates"),
        counted(found.rounds, "round", "rounds"),
    );
    let _ = writeln!(text, "{}", paint(Ink::Faint, &summary));
    (outcome, text)
}

/// The result for scripts.
fn document(heading: Document, program: &Program, found: &Fenced, outcome: Outcome) -> Document {
    let fences = found.fences.iter().map(|(_, gap)| {
        let place = anchor(&program.source, gap);
        json!({
            "file": program.source.file_at(gap.statement.start),
            "line": place.line,
            "column": place.column,
            "where": "after",
            "kind": "fence",
        })
    });
    let fences: Vec<Value> = fences.collect();
    let (reason, notes, bound) = match &found.end {
        End::Placed(checked) => (
            checked.reason.clone(),
            checked.notes.clone(),
            checked.bound.clone(),
        ),
        End::NoRepair(witness) => (timeline::words(&witness.what), Vec::new(), None),
        End::Stopped(why) => (why.to_string(), Vec::new(), None),
        End::Failed(why) => (why.clone(), Vec::new(), None),
    };
    let changed = changed_files(&program.source, &found.patched);
    let diffs: String = changed
        .map(|(name, old, new)| diff::unified(name, name, old, new))
        .collect();
    Document {
        verdict: Some(match outcome {
            Outcome::Holds => "holds",
            Outcome::Violated => "violated",
            Outcome::Done | Outcome::BadInput | Outcome::Unknown => "unknown",
        }),
        reason: Some(reason),
        notes,
        bound,
        candidates: Some(found.candidates as u64),
        fences: matches!(found.end, End::Placed(_)).then_some(fences),
        text: Some(diffs).filter(|diff| !diff.is_empty()),
        stats: Some(Stats {
            more: [("rounds".to_owned(), json!(found.rounds))]
                .into_iter()
                .collect(),
            ..context::stats()
        }),
        ..heading
    }
}
