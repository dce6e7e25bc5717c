//! `palisade certify`: checks a certificate that `verify --certificate`, or `linearize --certificate`, has
//! written, by the separate checker alone.

use palisade_certify::{Certificate, Checked, Fingerprint, Options, check, parse};
use palisade_frontend::{c, heap};
use palisade_linearize::sets::certificate;
use palisade_logic::Limits;
use palisade_program::{Bound, Model, Program, Unknown, Verdict};
use palisade_report::{Complaint, Document, Ink, Outcome, Stats, verdict};
use palisade_verify::{Threads, waits_for_all, with_threads};
use serde_json::json;

use crate::CommandResult;
use crate::args::CertifyArgs;
use crate::context::{Context, complain};
use crate::progress::Progress;
use crate::uninitialised;
use crate::{input, kind};

pub(super) fn run(args: &CertifyArgs, context: &Context) -> CommandResult {
    let text = input::read(&args.certificate)?;
    if certificate::is_certificate(text.text()) {
        return of_set(args, context, text.text());
    }
    let model = model(text.text());
    let rust = palisade_frontend::rust::Options::default();
    let program = input::load_for(context, &args.program, model, &rust)?;
    let chosen = uninitialised::commented(text.text());
    let program = program.choosing(&chosen);
    // What is proved for any number of threads is the program that waits for none.
    let program = if waits_for_all(&program) && is_of_views(text.text()) {
        with_threads(&program, Threads::Any).unwrap_or(program)
    } else {
        program
    };
    let certificate = match parse(&program, text.text()) {
        Ok(certificate) => certificate,
        Err(error) => return Ok(refuse(context, text.name(), &error)),
    };
    // A proof that there is no deadlock, or that there is progress, says so by what it is for.
    let asking = [(true, false), (false, true), (true, true)].map(|(deadlock, progress)| Program {
        deadlock,
        progress,
        ..program.clone()
    });
    let is_for = |asking: &Program| {
        let own = Fingerprint::of(asking, certificate.model, certificate.threads);
        own == certificate.fingerprint
    };
    let program = asking.into_iter().find(is_for).unwrap_or(program);
    let heading = heading(context, program.source.name(), &certificate);
    context.prepare_last_words(heading.clone());
    let options = Options {
        limits: Limits {
            deadline: context.limits.deadline,
            cancel: context.limits.cancel.clone(),
            ..Limits::default()
        },
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        ..Options::default()
    };
    let progress = Progress::start("checking");
    let checked = check(&program, &certificate, &options);
    drop(progress);
    let (verdict, text) = match &checked {
        // What was checked is a proof for that many copies only.
        Ok(checked) if program.has_unbounded_threads() && !certificate.kind.is_for_any() => {
            let bound = Bound::Copies(certificate.threads);
            let verdict = Verdict::Unknown(Unknown::Bound(vec![bound]));
            let line = verdict::line(&verdict, &program.source, context.style);
            let what = format!("accepted for {} copies only", certificate.threads);
            let text = format!("{line}note: certificate {what}\n");
            (verdict, text + &figures(&certificate, checked))
        }
        Ok(checked) => {
            let figures = figures(&certificate, checked);
            let more = match (program.deadlock, program.progress) {
                (false, false) => "",
                (true, false) => ", no deadlock",
                (false, true) => ", no endless spinning",
                (true, true) => ", no deadlock, no endless spinning",
            };
            (
                Verdict::Holds,
                format!("certificate accepted{more}\n{figures}"),
            )
        }
        // A refusal says nothing about the program.
        Err(refusal) => {
            let verdict = Verdict::Unknown(match context.limits.stopped() {
                Some(why) => why,
                None => Unknown::GaveUp(format!("certificate refused: {refusal}")),
            });
            let line = verdict::line(&verdict, &program.source, context.style);
            (verdict, line)
        }
    };
    let document = Document {
        certified: Some(verdict == Verdict::Holds),
        stats: Some(stats(checked.as_ref().ok())),
        ..heading.with_verdict(&verdict, &program.source)
    };
    context.print(&text, &document);
    Ok(Outcome::from(&verdict))
}

/// Checks the certificate of a set that `linearize` has written.
fn of_set(args: &CertifyArgs, context: &Context, text: &str) -> CommandResult {
    let source = input::read(&args.program)?;
    let read = match kind::Kind::of(&args.program) {
        Some(kind::Kind::Object) => {
            let (options, object) = (c::Options::default(), c::Object::default());
            c::parse_object(&args.program, &source, &options, &object).map(|read| read.parsed)
        }
        _ => heap::parse(source),
    };
    let program = match read {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => return Ok(input::refuse(context, &diagnostics)),
    };
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some("sc".to_owned()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let (certified, text) = match certificate::parse(text) {
        Err(error) => {
            let help =
                "certificates of sets are written by `palisade linearize --certificate FILE`";
            complain(&format!(
                "error: {}: {error}\n  help: {help}\n",
                args.certificate.display()
            ));
            let document = Document {
                diagnostics: vec![Complaint {
                    severity: palisade_report::Severity::Error,
                    message: error.to_string(),
                    file: Some(args.certificate.display().to_string()),
                    line: u32::try_from(error.line).ok(),
                    column: None,
                    help: Some(help.to_owned()),
                }],
                ..heading
            };
            context.print("", &document);
            return Ok(Outcome::BadInput);
        }
        Ok(certificate) => match certificate.check(&program, Some(&context.limits.cancel)) {
            Ok(checked) => {
                let text = format!(
                    "certificate accepted: linearizable, for any number of threads, nodes and values\n{} views, {} steps, {} kinds of interference, {} views after steps of others\n",
                    checked.views, checked.steps, checked.actions, checked.noticed
                );
                (true, text)
            }
            Err(no) => {
                let line = program.source.position(no.span.start).line;
                let place = if no.span.start > 0 {
                    format!(", in `{}` (line {line})", no.method)
                } else {
                    String::new()
                };
                let why = match context.limits.stopped() {
                    Some(why) => why.to_string(),
                    None => format!("certificate refused: {}{place}", no.what),
                };
                (false, why)
            }
        },
    };
    let verdict = if certified { "holds" } else { "unknown" };
    let document = Document {
        verdict: Some(verdict),
        certified: Some(certified),
        reason: (!certified).then(|| text.clone()),
        stats: Some(crate::context::stats()),
        ..heading
    };
    let shown = if certified {
        text
    } else {
        let word = context.style.paint(Ink::Doubt, verdict);
        format!("{word}: {text}\n")
    };
    context.print(&shown, &document);
    Ok(if certified {
        Outcome::Holds
    } else {
        Outcome::Unknown
    })
}

/// The model that a certificate names, for which the program is read; what is wrong with its text is
/// said later.
fn model(text: &str) -> Model {
    let named = |line: &str| {
        let name = line.trim().strip_prefix("model ")?.trim();
        Model::ALL.into_iter().find(|m| m.to_string() == name)
    };
    text.lines().find_map(named).unwrap_or_default()
}

/// Whether the text is that of a certificate for any number of threads.
fn is_of_views(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "kind views")
}

/// The figures of a check.
fn figures(certificate: &Certificate, checked: &Checked) -> String {
    format!(
        "model {}, {} entries, {} atoms, {} obligations, {} solver calls\n",
        certificate.model,
        checked.entries,
        certificate.atoms.len(),
        checked.obligations,
        checked.solver_calls
    )
}

/// What the check cost.
fn stats(checked: Option<&Checked>) -> Stats {
    let mut stats = crate::context::stats();
    if let Some(checked) = checked {
        stats.solver_calls = Some(checked.solver_calls);
        let more = json!({
            "certificate_entries": checked.entries,
            "obligations": checked.obligations,
            "seconds": checked.time.as_secs_f64(),
        });
        stats.more = more.as_object().cloned().unwrap_or_default();
    }
    stats
}

fn heading(context: &Context, input: &str, certificate: &Certificate) -> Document {
    Document {
        input: Some(input.to_owned()),
        model: Some(certificate.model.to_string()),
        ..context.document()
    }
}

/// Says what is wrong with the certificate's text.
fn refuse(context: &Context, file: &str, error: &palisade_certify::ParseError) -> Outcome {
    let help = "certificates are written by `palisade verify --certificate FILE`";
    complain(&format!("error: {file}:{error}\n  help: {help}\n"));
    let document = Document {
        diagnostics: vec![Complaint {
            severity: palisade_report::Severity::Error,
            message: error.message.clone(),
            file: Some(file.to_owned()),
            line: Some(error.position.line),
            column: Some(error.position.column),
            help: Some(help.to_owned()),
        }],
        ..context.document()
    };
    context.print("", &document);
    Outcome::BadInput
}
