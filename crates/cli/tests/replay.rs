//! `palisade replay`: saved runs are run again, and whatever does not fit is refused. Several
//! files and models in one call.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn palisade(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(args)
        .current_dir(repository())
        .output()
        .expect("palisade runs");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// A saved run.
fn saved(folder: &Path, args: &[&str]) -> (PathBuf, Value) {
    let path = folder.join("trace.json");
    let name = path.to_str().expect("a name");
    let (code, text, errors) = palisade(&[args, &["--json", "-o", name]].concat());
    assert_eq!(code, Some(1), "{args:?}: {text}{errors}");
    let text = fs::read_to_string(&path).expect("a document");
    (path, serde_json::from_str(&text).expect("JSON"))
}

/// Runs of every kind of step: buffered stores, atomic blocks, memory orders, remote
/// operations, chosen values, copies, uninitialised memory, deadlocks, `fence`.
#[test]
fn runs_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = folder.path().join("wrong.pal");
    let text = "shared x = *; thread t { local r = *, s; s = *; assert(x + r != s + 7); }\n";
    fs::write(&wrong, text).expect("written");
    let c = folder.path().join("heap.c");
    let text = "#include <assert.h>\n#include <stdlib.h>\n\
        int main(void) { int *p = malloc(sizeof *p); assert(*p != 12); return 0; }\n";
    fs::write(&c, text).expect("written");
    for args in [
        &["verify", "examples/dekker.pal", "-m", "tso"][..],
        &[
            "verify",
            "examples/checks/missing_store.pal",
            "--check",
            "progress",
        ],
        &["verify", "examples/checks/used_after_free.c"],
        &["explore", "examples/mp.pal", "-m", "pso"],
        &["verify", "examples/c/try_lock.c", "-m", "tso"],
        &["explore", "examples/rc11/mp_relaxed.pal", "-m", "rc11"],
        &["verify", "examples/mpi/dekker.c", "-n", "2", "-m", "rma"],
        &["explore", "examples/many/p.pal", "--copies", "3"],
        &[
            "verify",
            "examples/checks/philosophers.pal",
            "--check",
            "deadlock",
        ],
        &["fence", wrong.to_str().expect("a name"), "-m", "tso"],
        &["verify", wrong.to_str().expect("a name")],
        &["verify", c.to_str().expect("a name")],
    ] {
        let (path, was) = saved(folder.path(), args);
        let trace = path.to_str().expect("a name");
        let (code, text, errors) = palisade(&["replay", args[1], trace, "--json"]);
        assert_eq!(code, Some(1), "{args:?}: {text}{errors}");
        let is: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(was["trace"], is["trace"], "{args:?}");
        assert_eq!(was["property"], is["property"], "{args:?}");
        assert_eq!(is["replayed"], json!(true));
    }
}

/// A document whose run was changed, in any of its parts, is refused.
#[test]
fn changed_runs_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, document) = saved(
        folder.path(),
        &["verify", "examples/dekker.pal", "-m", "tso"],
    );
    let refused = |changed: &Value, message: &str| {
        let path = folder.path().join("changed.json");
        fs::write(&path, changed.to_string()).expect("written");
        let path = path.to_str().expect("a name");
        let (code, text, errors) = palisade(&["replay", "examples/dekker.pal", path]);
        assert_eq!(code, Some(2), "{message}: {text}{errors}");
        assert!(errors.contains(message), "{message}: {errors}");
    };
    let steps = document["trace"].as_array().expect("steps").len();
    for (pointer, value, message) in [
        ("/trace/0/action/edge", json!(1), "step 1 is not possible"),
        ("/trace/1/memory/flag[0]", json!(1), "step 2: `memory`"),
        ("/trace/1/step", json!("skip"), "step 2: `step`"),
        ("/trace/0/line", json!(1), "step 1: `line`"),
        ("/start/memory/flag[0]", json!(1), "memory starts"),
        ("/start/threads/0", json!("middle"), "threads of the run"),
        ("/property/kind", json!("deadlock"), "another property"),
        ("/model", json!("sc"), "step"),
        ("/model", json!("x86"), "no memory model"),
        ("/verdict", json!("holds"), "the verdict is `holds`"),
        ("/schema", json!(2), "schema 1"),
        ("/arguments", json!(["--nothing"]), "`arguments`"),
        ("/command", json!("litmus"), "cannot be replayed"),
    ] {
        let mut changed = document.clone();
        *changed.pointer_mut(pointer).expect(pointer) = value;
        refused(&changed, message);
    }
    for left_out in 0..steps {
        let mut changed = document.clone();
        let trace = changed["trace"].as_array_mut().expect("steps");
        trace.remove(left_out);
        let path = folder.path().join("changed.json");
        fs::write(&path, changed.to_string()).expect("written");
        let path = path.to_str().expect("a name");
        let (code, text, errors) = palisade(&["replay", "examples/dekker.pal", path]);
        // Some rest may be a run, too: it violates nothing.
        assert!(matches!(code, Some(2 | 3)), "{left_out}: {text}{errors}");
    }
    let trace = folder.path().join("trace.json");
    let trace = trace.to_str().expect("a name");
    let (code, _, errors) = palisade(&["replay", "examples/dekker_fenced.pal", trace]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("has the program changed?"), "{errors}");
}

/// Every file under every model; a line for each, the worst exit code, one document.
#[test]
fn several_files_and_models() {
    let (code, text, _) = palisade(&["verify", "examples/mp.pal", "-m", "all"]);
    assert_eq!(code, Some(1), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!(lines[0], "examples/mp.pal  sc    holds (certified)");
    assert!(lines[2].contains("pso   violated: assertion"), "{text}");
    assert_eq!(
        lines[3],
        "the run: palisade verify examples/mp.pal --model pso"
    );
    let both = ["examples/mp.pal", "examples/mp_fenced.pal"];
    let (code, text, _) = palisade(&["explore", both[0], both[1], "-m", "TSO"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
    // A file that cannot be read leaves the others alone.
    let (code, text, errors) = palisade(&["explore", both[0], "missing.pal", both[1]]);
    assert_eq!(code, Some(2), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(errors.contains("missing.pal"), "{errors}");
    let (_, text, _) = palisade(&["fence", both[0], "-m", "all", "--json"]);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let models: Vec<&Value> = (0..2).map(|n| &document["runs"][n]["model"]).collect();
    assert_eq!(models, ["tso", "pso"]);
    assert_eq!(document["runs"][1]["verdict"], "holds");
    // Programs with processes have other models; C files are linked.
    let (_, text, _) = palisade(&["explore", "examples/mpi/dekker.c", "-n", "2", "-m", "all"]);
    assert!(text.contains("  rma   violated"), "{text}");
    let hint = "the run: palisade explore examples/mpi/dekker.c -n 2 --model rma\n";
    assert!(text.ends_with(hint), "{text}");
    let (code, _, errors) = palisade(&["verify", both[0], both[1], "--certificate", "c"]);
    assert_eq!(code, Some(2), "{errors}");
}

/// Of a document with several runs the violated one is replayed.
#[test]
fn one_of_several_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, _) = saved(folder.path(), &["verify", "examples/mp.pal", "-m", "all"]);
    let path = path.to_str().expect("a name");
    let (code, text, errors) = palisade(&["replay", "examples/mp.pal", path, "-q"]);
    assert_eq!(code, Some(1), "{text}{errors}");
    assert!(text.starts_with("violated: assertion failed"), "{text}");
    saved(
        folder.path(),
        &["verify", "examples/dekker.pal", "-m", "tso,pso"],
    );
    let (code, _, errors) = palisade(&["replay", "examples/dekker.pal", path]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("several runs"), "{errors}");
}
