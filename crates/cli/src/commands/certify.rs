//! `palisade certify`: checks a certificate that `verify --certificate` has
//! written, by the separate checker alone.

use palisade_certify::{Certificate, Options, check, parse};
use palisade_logic::Limits;
use palisade_program::{Unknown, Verdict};
use palisade_report::{Complaint, Document, Outcome, verdict};

use crate::CommandResult;
use crate::args::CertifyArgs;
use crate::context::Context;
use crate::input;

pub(super) fn run(args: &CertifyArgs, context: &Context) -> CommandResult {
    let program = match input::load(context, &args.program)? {
        Ok(program) => program,
        Err(outcome) => return Ok(outcome),
    };
    let text = input::read(&args.certificate)?;
    let certificate = match parse(&program, text.text()) {
        Ok(certificate) => certificate,
        Err(error) => return Ok(refuse(context, text.name(), &error)),
    };
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
    let verdict = match check(&program, &certificate, &options) {
        Ok(_) => Verdict::Holds,
        // A refusal says nothing about the program.
        Err(refusal) => Verdict::Unknown(match context.limits.stopped() {
            Some(why) => why,
            None => Unknown::GaveUp(format!("certificate refused: {refusal}")),
        }),
    };
    let is_confirmed = matches!(verdict, Verdict::Holds);
    let mut line = verdict::line(&verdict, &program.source, context.style);
    if is_confirmed {
        line.truncate(line.trim_end().len());
        line.push_str(" (certified)\n");
    }
    let document = Document {
        certified: Some(is_confirmed),
        stats: Some(crate::context::stats()),
        ..heading.with_verdict(&verdict, &program.source)
    };
    context.print(&line, &document);
    Ok(Outcome::from(&verdict))
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
    eprintln!("error: {file}:{error}\n  help: {help}");
    let document = Document {
        diagnostics: vec![Complaint {
            severity: "error",
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
