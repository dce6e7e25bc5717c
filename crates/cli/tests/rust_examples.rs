//! The Rust examples have the verdicts that their second line says: proofs are certified, and runs into
//! violations replayed. Programs that cannot be read, or not in full, say where and why.

use std::fs;
use std::path::Path;

use palisade::{Model, Options, Verdict, c, verify};
use palisade_program::{Orders, Unknown};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rust")
}

fn read(file: &Path, text: &str, orders: Orders) -> Result<palisade::Program, String> {
    let options = c::Options {
        orders,
        ..c::Options::default()
    };
    palisade_frontend::load_with(file, text, &options)
        .map(|parsed| parsed.program)
        .map_err(|diagnostics| diagnostics.to_string())
}

fn verdict(program: &palisade::Program, model: Model) -> (Verdict, bool) {
    let options = Options {
        model,
        falsify: true,
        ..Options::default()
    };
    let report = verify(program, &options);
    (report.verdict, report.certified)
}

#[test]
fn examples_have_their_verdicts() {
    let mut files: Vec<_> = fs::read_dir(folder())
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .filter(|file| file.extension().is_some_and(|e| e == "rs"))
        .collect();
    files.sort();
    assert!(files.len() >= 20, "{} examples", files.len());
    for file in files {
        let name = file.display();
        let text = fs::read_to_string(&file).expect("readable");
        let line = text.lines().nth(1).expect("a second line");
        let expected = line
            .split_once("expect:")
            .expect("it says what to expect")
            .1;
        let mapped = read(&file, &text, Orders::Mapped).unwrap_or_else(|e| panic!("{e}"));
        let kept = read(&file, &text, Orders::Kept).unwrap_or_else(|e| panic!("{e}"));
        for word in expected.split_whitespace() {
            let (model, wanted) = word.split_once('=').expect("model=verdict");
            let (model, program) = match model {
                "sc" => (Model::Sc, &mapped),
                "tso" => (Model::Tso, &mapped),
                "pso" => (Model::Pso, &mapped),
                "rc11" => (Model::Rc11, &kept),
                other => panic!("unknown model {other}"),
            };
            match (verdict(program, model), wanted) {
                ((Verdict::Holds, certified), "holds") => {
                    assert!(certified, "{name} {model}: not certified");
                }
                ((Verdict::Violated(violation), _), "violated") => {
                    let span = violation.span;
                    assert_ne!(span.start, span.end, "{name} {model}: no place");
                }
                ((found, _), _) => panic!("{name} {model}: {found:?}"),
            }
        }
    }
}

/// A file in a folder of its own, with the verdict under a model.
fn check(name: &str, text: &str, model: Model) -> Result<Verdict, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    fs::write(&file, text).expect("writable");
    let program = read(&file, text, model.orders())?;
    Ok(verdict(&program, model).0)
}

#[test]
fn what_the_compiler_refuses_is_refused_with_its_words() {
    let found = check(
        "t.rs",
        "fn main() {\n    let x: u32 = true;\n}\n",
        Model::Sc,
    );
    let words = found.expect_err("it does not compile");
    assert!(words.contains("mismatched types"), "{words}");
    assert!(words.contains("t.rs:2:"), "{words}");
}

#[test]
fn unknown_functions_are_located() {
    let text = "fn main() {\n    let t = std::time::Instant::now();\n    assert!(t.elapsed().as_secs() < 9);\n}\n";
    let words = check("t.rs", text, Model::Sc).expect_err("time is not modelled");
    assert!(
        words.contains("unsupported") && words.contains("t.rs:2:"),
        "{words}"
    );
}

#[test]
fn what_only_some_runs_reach_is_unknown_and_not_skipped() {
    let text = "use std::sync::atomic::{AtomicU32, Ordering::*};
static X: AtomicU32 = AtomicU32::new(0);
fn main() {
    let t = std::thread::spawn(|| X.store(1, Relaxed));
    if X.load(Relaxed) == 1 {
        std::time::Instant::now();
    }
    t.join().unwrap();
}
";
    match check("t.rs", text, Model::Sc) {
        Ok(Verdict::Unknown(Unknown::Unsupported(..))) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn panics_of_all_kinds_are_violations() {
    for (body, wanted) in [
        (
            "let a = [1, 2]; let i = X.load(Relaxed) as usize + 2; assert_eq!(a[i], 1);",
            "index out of bounds",
        ),
        (
            "let x = u32::MAX - X.load(Relaxed); let _y = x + 1;",
            "attempt to add with overflow",
        ),
        (
            "None::<u32>.or((X.load(Relaxed) == 1).then_some(1)).unwrap();",
            "called `Option::unwrap()` on a `None` value",
        ),
        ("assert!(X.load(Relaxed) == 1, \"so it is\");", "so it is"),
        ("if X.load(Relaxed) == 0 { panic!(\"no\") }", "no"),
        ("let _ = 7 / X.load(Relaxed);", "attempt to divide by zero"),
    ] {
        let text = format!(
            "use std::sync::atomic::{{AtomicU32, Ordering::*}};
static X: AtomicU32 = AtomicU32::new(0);
fn main() {{
    let t = std::thread::spawn(|| X.store(1, Relaxed));
    {body}
    t.join().unwrap();
}}
"
        );
        match check("t.rs", &text, Model::Sc) {
            Ok(Verdict::Violated(violation)) => assert_eq!(violation.message, wanted),
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn memory_errors_are_violations() {
    for (text, wanted) in [
        (
            "use std::sync::atomic::{AtomicPtr, Ordering::*};
static P: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
fn main() {
    P.store(Box::into_raw(Box::new(7)), Relaxed);
    let t = std::thread::spawn(|| drop(unsafe { Box::from_raw(P.load(Relaxed)) }));
    assert_eq!(unsafe { *P.load(Relaxed) }, 7);
    t.join().unwrap();
}
",
            "use after free",
        ),
        (
            "use std::sync::atomic::{AtomicPtr, Ordering::*};
static P: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
fn main() {
    let t = std::thread::spawn(|| P.store(Box::into_raw(Box::new(7)), Release));
    assert_eq!(unsafe { *P.load(Acquire) }, 7);
    t.join().unwrap();
}
",
            "null pointer dereference",
        ),
    ] {
        match check("t.rs", text, Model::Sc) {
            Ok(Verdict::Violated(violation)) => assert_eq!(violation.message, wanted),
            other => panic!("{wanted}: {other:?}"),
        }
    }
}

/// What people write for loom, unchanged: each test is named by its verdict.
#[test]
fn tests_for_loom_have_their_verdicts() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rust_loom/tests.rs");
    let text = fs::read_to_string(&file).expect("readable");
    let names = text.lines().filter_map(|line| line.strip_prefix("fn "));
    let names = names.map(|line| line.split('(').next().unwrap_or_default());
    let mut tried = 0;
    for name in names {
        let wanted = match name.split('_').next() {
            Some("holds") => true,
            Some("violated") => false,
            Some(_) | None => continue,
        };
        let options = c::Options {
            orders: Orders::Kept,
            rust: palisade_frontend::rust::Options {
                test: Some(name.to_owned()),
                ..palisade_frontend::rust::Options::default()
            },
            ..c::Options::default()
        };
        let program = palisade_frontend::load_with(&file, &text, &options);
        let program = program.unwrap_or_else(|e| panic!("{name}: {e}")).program;
        let (verdict, certified) = verdict(&program, Model::Rc11);
        match verdict {
            Verdict::Holds => assert!(wanted && certified, "{name} holds"),
            Verdict::Violated(_) => assert!(!wanted, "{name} is violated"),
            Verdict::Unknown(why) => panic!("{name}: {why}"),
        }
        tried += 1;
    }
    assert!(tried >= 11, "{tried} tests");
}
