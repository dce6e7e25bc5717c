//! A program that is printed and read again behaves like the original.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::path::Path;

use palisade_frontend::pal;
use palisade_machine::{Options, explore};
use palisade_program::{Model, Program, Source, Verdict};

fn again(program: &Program) -> Program {
    let text = pal::print(program);
    match pal::parse(Source::new("printed", text.as_str())) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{errors}\n{text}"),
    }
}

/// The verdict in one word, and how many states were stored.
fn outcome(program: &Program, model: Model) -> (&'static str, u64) {
    let options = Options {
        max_states: Some(3_000),
        partial_order: false,
        symmetry: false,
        workers: 1,
        ..Options::new(model)
    };
    match explore(program, &options) {
        Err(refused) => panic!("{}", refused.message),
        Ok(result) => {
            match result.verdict {
                Verdict::Holds => ("holds", result.stats.states),
                Verdict::Violated(_) => ("violated", result.stats.states),
                // Where the search stopped says nothing.
                Verdict::Unknown(_) => ("unknown", 0),
            }
        }
    }
}

#[test]
fn examples_survive_printing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for entry in fs::read_dir(folder).expect("examples/ exists") {
        let path = entry.expect("readable folder").path();
        if path.extension().is_none_or(|e| e != "pal") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable file");
        let name = path.display().to_string();
        let parsed = pal::parse(Source::new(name.as_str(), text));
        let parsed = parsed.unwrap_or_else(|errors| panic!("{errors}"));
        let program = parsed.program;
        let printed = again(&program);
        let models: &[Model] = if program.is_rma() {
            &[Model::Sc, Model::Rma]
        } else {
            &[Model::Sc, Model::Tso, Model::Pso]
        };
        for &model in models {
            let (first, second) = (outcome(&program, model), outcome(&printed, model));
            assert_eq!(first, second, "{name} under {model}");
        }
        // Printing is stable from then on.
        assert_eq!(
            common::dump(&again(&printed)),
            common::dump(&printed),
            "{name}"
        );
    }
}
