//! `palisade check`: search of a Boolean broadcast program with a given number of
//! threads, which are counted, or with any number.

use std::fmt::Write;

use palisade_boolean::ast::Copies;
use palisade_boolean::check::{Options, check};
use palisade_boolean::resolve::resolve;
use palisade_boolean::{BpError, parse};
use palisade_frontend::{Diagnostic, Diagnostics};
use palisade_logic::Limits;
use palisade_program::{Names, Verdict};
use palisade_report::columns::{Detail, View};
use palisade_report::{Document, Ink, Outcome, Stats, verdict};
use palisade_verify::Threads;

use crate::CommandResult;
use crate::args::CheckArgs;
use crate::context::Context;
use crate::input;
use crate::kind::Kind;

pub(super) fn run(args: &CheckArgs, context: &Context) -> CommandResult {
    if let Some(kind) = Kind::of(&args.file).filter(|kind| *kind != Kind::Boolean) {
        anyhow::bail!(
            "{} is no Boolean program\n  help: use palisade {}",
            args.file.display(),
            kind.command()
        );
    }
    let source = input::read(&args.file)?;
    let resolved = match parse(source.text()).and_then(|program| resolve(&program)) {
        Ok(resolved) => resolved,
        Err(errors) => {
            let items = errors.into_iter().map(diagnostic).collect();
            return Ok(input::refuse(context, &Diagnostics::new(source, items)));
        }
    };
    let mut threads = resolved.threads.iter();
    let many = threads.any(|t| t.copies == Copies::Any);
    let threads = match args.threads {
        Some(threads) => threads,
        None if many => anyhow::bail!("how many threads? say --threads 2, or --threads any"),
        None => Threads::Exactly(1),
    };
    let heading = Document {
        input: Some(source.name().to_owned()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let options = Options {
        threads: match threads {
            Threads::Exactly(n) => n,
            Threads::Any => 1,
        },
        max_states: args.max_states,
        merge: args.merge,
        limits: Limits {
            deadline: context.limits.deadline,
            cancel: context.limits.cancel.clone(),
            ..Limits::default()
        },
    };
    let found = check(&resolved, &source, threads == Threads::Any, &options);
    let verdict = context.limits.explain(found.verdict);
    let mut text = verdict::line(&verdict, &source, context.style);
    if let Verdict::Violated(violation) = &verdict {
        let view = View {
            source: &source,
            names: &Names::default(),
            detail: Detail::Full,
            style: context.style,
            width: context.width,
        };
        let table = view.render(&violation.trace);
        let steps = violation.trace.steps.len();
        // Writing to a string does not fail.
        let _ = write!(text, "\n{table}\n{steps} steps\n");
    }
    text.push_str(&context.style.paint(Ink::Faint, &found.summary));
    text.push('\n');
    let asked = match threads {
        Threads::Exactly(n) => serde_json::json!(n),
        Threads::Any => serde_json::json!("any"),
    };
    let document = Document {
        // The search itself is the machine here; nothing was replayed.
        replayed: None,
        options: Some(
            serde_json::json!({ "threads": asked, "max_states": args.max_states, "merge": args.merge }),
        ),
        stats: Some(Stats {
            states: Some(found.states as u64),
            ..crate::context::stats()
        }),
        ..heading.with_verdict(&verdict, &source)
    };
    context.print(&text, &document);
    Ok(Outcome::from(&verdict))
}

fn diagnostic(error: BpError) -> Diagnostic {
    Diagnostic::error(error.span, error.message).help(error.help)
}
