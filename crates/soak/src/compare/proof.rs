//! `verify` with its certificate checker against the other accounts.

use std::time::{Duration, Instant};

use palisade_program::{Model, Program, Verdict};
use palisade_verify::{Options, Threads, refusal, verify, with_threads};

use super::{concrete, expected, judged};
use crate::{Difference, Outcome};

/// Time for one program: those that need more are unknown.
const LIMIT: Duration = Duration::from_secs(20);

/// One program and one way to prove it. A certificate survives printing, and the text is
/// accepted.
pub(crate) fn proof(program: &Program, options: Options) -> Result<Outcome, Difference> {
    let model = options.model;
    let Some(holds) = expected(program, model) else {
        return Ok(Outcome::Skipped);
    };
    let options = Options {
        deadline: Some(Instant::now() + LIMIT),
        ..options
    };
    let report = verify(program, &options);
    let what = format!("{model}, {:?}", options.strategy);
    if report.verdict == Verdict::Holds {
        let Some(certificate) = report.certificate.filter(|_| report.certified) else {
            return Err(format!("{what}: holds without certificate"));
        };
        let text = palisade_certify::print(program, &certificate);
        match palisade_certify::parse(program, &text) {
            Err(e) => return Err(format!("{what}: the certificate cannot be read: {e}")),
            Ok(again) if again != certificate => {
                return Err(format!("{what}: the certificate reads differently"));
            }
            Ok(_) => {}
        }
    }
    judged(&report.verdict, holds, &what)
}

/// Deadlocks as violations.
pub(crate) fn deadlocks(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let options = Options {
        model: [Model::Sc, Model::Tso, Model::Pso][seed as usize % 3],
        ..Options::default()
    };
    let program = Program {
        deadlock: true,
        ..program.clone()
    };
    proof(&program, options)
}

/// Any number of threads: what is proved holds with two and three copies.
pub(crate) fn any_number(program: &Program, model: Model) -> Result<Outcome, Difference> {
    let any = with_threads(program, Threads::Any);
    let Some(any) = any.ok().filter(|p| refusal(p).is_none()) else {
        return Ok(Outcome::Skipped);
    };
    let options = Options {
        model,
        deadline: Some(Instant::now() + LIMIT),
        ..Options::default()
    };
    let report = verify(&any, &options);
    if report.verdict == Verdict::Holds && !report.certified {
        return Err(format!("{model}: holds without certificate"));
    }
    // Two copies that are told apart, under SC: the ordinary method agrees with the machine.
    if model == Model::Sc {
        let two = with_threads(program, Threads::Exactly(2)).map_err(|e| format!("{e:?}"))?;
        let oblivious = Options {
            symmetry: false,
            ..options.clone()
        };
        proof(&two, oblivious)?;
    }
    for copies in [2, 3] {
        let few = with_threads(program, Threads::Exactly(copies))
            .map_err(|e| format!("{model}: {copies} copies: {e:?}"))?;
        if report.verdict == Verdict::Holds && concrete(&few, model) == Some(false) {
            let what = format!("{model}: holds for any number, violated with {copies}");
            return Err(what);
        }
    }
    let holds = report.verdict == Verdict::Holds;
    judged(&report.verdict, holds, &model.to_string())
}
