//! What the machine's tests share.

// Each test binary uses some of it.
#![allow(dead_code)]

use palisade_frontend::pal;
use palisade_machine::{Exploration, Options, explore};
use palisade_program::{Model, Program, Source, Verdict};

/// The program of a text; panics with the diagnostics if there are any.
pub(crate) fn parse(text: &str) -> Program {
    match pal::parse(Source::new("test.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics:?}\n{text}"),
    }
}

/// Explores with defaults.
pub(crate) fn run(text: &str, model: Model) -> Exploration {
    explore(&parse(text), &Options::new(model)).expect("the program fits the model")
}

/// One word for a verdict.
pub(crate) fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// How many random programs to try: `PALISADE_SOAK`, or `few`.
pub(crate) fn soak(few: u64) -> u64 {
    let count = std::env::var("PALISADE_SOAK").ok();
    count.and_then(|c| c.parse().ok()).unwrap_or(few)
}

/// The models in which a program of this kind has a meaning.
pub(crate) fn models(program: &Program) -> &'static [Model] {
    if program.is_rma() {
        &[Model::Sc, Model::Rma]
    } else {
        &[Model::Sc, Model::Tso, Model::Pso]
    }
}
