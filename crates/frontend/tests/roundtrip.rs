//! A program that is printed and read again behaves like the original.
#![allow(missing_docs)]

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use palisade_frontend::{litmus, pal, rmm};
use palisade_machine::{Options, explore};
use palisade_program::{Instance, Model, Origin, Program, Source, Verdict};

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

/// Memory and the user's locals in all final states.
fn finals(program: &Program, model: Model) -> BTreeSet<(Vec<i64>, Vec<Vec<i64>>)> {
    let options = Options {
        collect_finals: true,
        max_states: Some(20_000),
        workers: 1,
        ..Options::new(model)
    };
    let bare = Program {
        properties: Vec::new(),
        ..program.clone()
    };
    let found = explore(&bare, &options).unwrap_or_else(|refused| panic!("{}", refused.message));
    let of_users = |(values, instance): (&Vec<i64>, &Instance)| {
        let locals = &program.template(instance.template).locals;
        let own = values
            .iter()
            .zip(locals)
            .filter(|(_, local)| local.origin == Origin::User);
        own.map(|(value, _)| *value).collect()
    };
    let state = |f: palisade_machine::Final| {
        let instances = program.instances(2);
        let locals = f.locals.iter().zip(&instances).map(of_users).collect();
        (f.cells, locals)
    };
    found.finals.into_iter().map(state).collect()
}

/// As [`means_the_same`], with the same number of states; printing is stable from then on.
fn survives(name: &str, program: &Program) {
    let printed = means_the_same(name, program);
    for &model in models(program) {
        let (first, second) = (outcome(program, model), outcome(&printed, model));
        assert_eq!(first, second, "{name} under {model}");
    }
    assert_eq!(
        common::dump(&again(&printed)),
        common::dump(&printed),
        "{name}"
    );
}

fn models(program: &Program) -> &'static [Model] {
    if program.is_rma() {
        &[Model::Sc, Model::Rma]
    } else {
        &[Model::Sc, Model::Tso, Model::Pso]
    }
}

/// What is printed and read again has the same verdict and the same final states.
fn means_the_same(name: &str, program: &Program) -> Program {
    let printed = again(program);
    for &model in models(program) {
        let (first, second) = (outcome(program, model).0, outcome(&printed, model).0);
        assert_eq!(first, second, "{name} under {model}");
        if first != "unknown" {
            let (first, second) = (finals(program, model), finals(&printed, model));
            assert_eq!(first, second, "{name} under {model}");
        }
    }
    printed
}

/// The files of a folder with this extension, by name.
fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("readable folder").path();
        if path.extension().is_some_and(|e| e == extension) {
            let text = fs::read_to_string(&path).expect("readable file");
            all.push((path.display().to_string(), text));
        }
    }
    assert!(!all.is_empty());
    all.sort();
    all
}

#[test]
fn examples_survive_printing() {
    for (name, text) in files("../../examples", "pal") {
        let parsed = pal::parse(Source::new(name.as_str(), text));
        let parsed = parsed.unwrap_or_else(|errors| panic!("{errors}"));
        survives(&name, &parsed.program);
    }
}

#[test]
fn rmm_programs_survive_printing() {
    for (name, text) in files("../../examples/rmm", "rmm") {
        let parsed = rmm::parse(Source::new(name.as_str(), text));
        let parsed = parsed.unwrap_or_else(|errors| panic!("{errors}"));
        survives(&name, &parsed.program);
    }
}

/// Their answers are compared with those of other tools in `litmus.rs`. (Jumps to jumps are printed with other labels
/// each time.)
#[test]
fn litmus_tests_survive_printing() {
    for (name, text) in files("tests/litmus", "litmus") {
        let test = litmus::parse(Source::new(name.as_str(), text));
        let test = test.unwrap_or_else(|errors| panic!("{errors}"));
        means_the_same(&name, &test.program);
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
