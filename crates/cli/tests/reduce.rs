//! `palisade reduce` prints programs that can be read again and that behave under
//! SC as the original does under TSO or PSO.

use std::path::{Path, PathBuf};
use std::process::Command;

use palisade_frontend::pal;
use palisade_machine::{Options, explore};
use palisade_program::{Model, Program, Source};
use palisade_report::verdict;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

fn reduced(name: &str, model: Model, buffers: &str) -> Program {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .arg("reduce")
        .arg(example(name))
        .args(["--model", &model.to_string(), "--buffers", buffers])
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{name}: {errors}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.starts_with("// "),
        "{name} does not say where it is from"
    );
    let parsed = pal::parse(Source::new(name, text.as_str()));
    parsed
        .unwrap_or_else(|error| panic!("{name}: {error}"))
        .program
}

/// The verdict with its reason.
fn explored(program: &Program, model: Model) -> (&'static str, Option<String>) {
    let result = explore(program, &Options::new(model)).expect("supported");
    (
        verdict::word(&result.verdict),
        verdict::reason(&result.verdict),
    )
}

/// Programs whose threads never have more stores under way than the cells given,
/// or that are wrong before they have: the same property is violated.
#[test]
fn the_verdict_is_that_of_the_model() {
    let cases = [
        ("mp.pal", Model::Tso, "bounded:2", "holds"),
        ("mp.pal", Model::Pso, "bounded:1", "violated"),
        ("mp_fenced.pal", Model::Pso, "bounded:1", "holds"),
        ("dekker.pal", Model::Tso, "bounded:4", "violated"),
        ("dekker_fenced.pal", Model::Tso, "bounded:4", "holds"),
        ("dekker_fenced.pal", Model::Pso, "bounded:2", "holds"),
        ("peterson_fenced.pal", Model::Tso, "bounded:3", "holds"),
        ("burns.pal", Model::Tso, "bounded:4", "violated"),
    ];
    for (name, model, buffers, expected) in cases {
        let program = reduced(name, model, buffers);
        let found = explored(&program, Model::Sc);
        assert_eq!(found.0, expected, "{name} under {model}");
        let text = std::fs::read_to_string(example(name)).expect("readable");
        let original = pal::parse(Source::new(name, text)).expect("right").program;
        let (word, reason) = explored(&original, model);
        assert_eq!(word, expected, "{name} itself under {model}");
        // The assertion on `data` reads a local of the reduced program.
        if reason
            .as_ref()
            .is_some_and(|reason| reason.starts_with("never"))
        {
            assert_eq!(found.1, reason, "{name} under {model}");
        }
    }
}

/// Abstract buffers miss nothing, and prove what they should.
#[test]
fn abstract_buffers_miss_nothing() {
    let cases = [
        ("mp.pal", Model::Tso, "abstract:2", "holds"),
        ("mp.pal", Model::Pso, "abstract:1", "violated"),
        ("mp_fenced.pal", Model::Pso, "abstract:1", "holds"),
        ("dekker.pal", Model::Tso, "abstract:1", "violated"),
        ("dekker.pal", Model::Pso, "abstract:1", "violated"),
        ("dekker_fenced.pal", Model::Tso, "abstract:4", "holds"),
        ("dijkstra.pal", Model::Tso, "abstract:1", "violated"),
        (
            "patient_dekker_fenced.pal",
            Model::Tso,
            "abstract:1",
            "holds",
        ),
        (
            "patient_dekker_fenced.pal",
            Model::Pso,
            "abstract:2",
            "holds",
        ),
    ];
    for (name, model, buffers, expected) in cases {
        let program = reduced(name, model, buffers);
        assert_eq!(
            explored(&program, Model::Sc).0,
            expected,
            "{name} under {model}"
        );
    }
}

/// Too few cells are no proof: the overflow is a violation of the printed program.
#[test]
fn overflow_is_never_hidden() {
    let program = reduced("mp.pal", Model::Tso, "bounded:1");
    assert_eq!(explored(&program, Model::Sc).0, "violated");
}

/// Sequential C of a reduced program, compiled without a warning: random runs of it violate what
/// the program violates under its model.
#[test]
fn reduced_programs_as_c() {
    if Command::new("cc").arg("--version").output().is_err() {
        return;
    }
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let cases = [
        ("mp.pal", "tso", "bounded:2", None),
        ("mp.pal", "pso", "bounded:1", Some("assertion failed")),
        ("mp_fenced.pal", "pso", "bounded:1", None),
        (
            "dekker.pal",
            "tso",
            "abstract:2",
            Some("never left@critical"),
        ),
        ("dekker_fenced.pal", "tso", "bounded:4", None),
        (
            "burns.pal",
            "tso",
            "bounded:1",
            Some("overflow of a bounded store buffer"),
        ),
        ("rma_put_get.pal", "rma", "bounded:1", Some("finally")),
        ("rma_put_get_flushed.pal", "rma", "bounded:1", None),
    ];
    for (number, (name, model, buffers, violated)) in cases.into_iter().enumerate() {
        let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
            .arg("reduce")
            .arg(example(name))
            .args(["--model", model, "--buffers", buffers, "--to", "c"])
            .output()
            .expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name}: {errors}");
        let (file, program) = (
            folder.join(format!("{number}.c")),
            folder.join(format!("{number}")),
        );
        std::fs::write(&file, &output.stdout).expect("written");
        let cc = |more: &[&str]| {
            let output = Command::new("cc")
                .args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-label"])
                .args(more)
                .arg(&file)
                .arg("-o")
                .arg(&program)
                .output()
                .expect("cc runs");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}: {errors}");
        };
        cc(&["-c"]);
        cc(&["-D", "RANDOM_RUNS=3000"]);
        let run = Command::new(&program).output().expect("it runs");
        let said = String::from_utf8_lossy(&run.stdout);
        match violated {
            None => assert_eq!((run.status.code(), &*said), (Some(0), ""), "{name}"),
            Some(what) => {
                assert_eq!(run.status.code(), Some(1), "{name}");
                assert!(said.contains(what), "{name}: {said}");
            }
        }
    }
}
