//! A program that is printed and read again behaves like the original.
#![allow(missing_docs)]

use crate::common;

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

/// What a reduction makes: names that the language has not, control variables,
/// several edges from one place, branching atomic blocks with a way back.
#[test]
fn machine_made_programs_survive_printing() {
    let text = "
        shared x, y, log in 0..2;
        shared control c in 0..2 = 0;
        thread t[2] {
            local control n in 0..1 = 0;
            local r = *, s;
            top: choose { assume(n == 0); n = 1; goto top; }
            or { atomic { assume(n == 1); r = x; again: if (r > 0) { r--; goto again; } else { n = 0; } y = r; } }
            or { x = 1; log = s % 2; }
            or { s = choose(0..2); atomic { assume(c < 2); c = s; } }
            if (s == 1) goto top;
            mid: assert(y <= 0 || r <= 0);
        }
        never t#1@mid && t#2@mid && t#1.n == 1;
        finally (x == 1 || t#1.s == 0);
        predicate t#1.r < y;";
    let parsed = pal::parse(Source::new("t", text)).unwrap_or_else(|errors| panic!("{errors}"));
    let mut program = parsed.program;
    let plain = common::dump(&program);
    let outcomes = |p: &Program| [Model::Sc, Model::Tso, Model::Pso].map(|m| outcome(p, m));
    let expected = outcomes(&program);
    assert_eq!(outcomes(&again(&program)), expected);
    program.globals[0].name = "while".to_owned();
    program.globals[1].name = "x.t[0]".to_owned();
    program.globals[2].name = "1st of all".to_owned();
    program.templates[0].name = "thread".to_owned();
    program.templates[0].locals[0].name = "x_t_0".to_owned();
    program.templates[0].locals[1].name = "x.t[1]".to_owned();
    program.templates[0].labels[0].name = "if".to_owned();
    assert_ne!(common::dump(&program), plain);
    let printed = pal::print(&program);
    assert_eq!(outcomes(&again(&program)), expected, "{printed}");
    insta::assert_snapshot!(printed);
}
