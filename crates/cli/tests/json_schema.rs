//! The JSON Schema in `docs` is what the commands print: documents of every command fit it,
//! and docs/json.md names every key.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema() -> Value {
    let text = fs::read_to_string(repository().join("docs/json.schema.json")).expect("a schema");
    serde_json::from_str(&text).expect("JSON")
}

fn document(args: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(args.split_whitespace())
        .arg("--json")
        .current_dir(repository())
        .output()
        .expect("palisade runs");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args}: {e}: {output:?}"))
}

#[test]
fn documents_of_every_command_fit() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let mut commands = Vec::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let flag = file(
        "flag.bp",
        "shared t = 0;\n1: assume !t;\n2: t = 1;\n3: assert !t;\n",
    );
    let cert = folder.path().join("mp.cert").display().to_string();
    document(&format!(
        "verify examples/mp_fenced.pal -m pso --certificate {cert}"
    ));
    // Each with a key that it has.
    for (args, key) in [
        ("verify examples/dekker.pal -m tso", "trace"),
        ("verify examples/dekker_fenced.pal -m tso", "attempts"),
        ("verify examples/dekker.pal -m all", "runs"),
        (
            "verify examples/bakery_unbounded.pal -m tso --timeout 1ms",
            "reason",
        ),
        ("verify examples/c/try_lock.c -m tso", "property"),
        ("verify examples/rc11/mp_relaxed.pal -m rc11", "trace"),
        ("verify examples/mpi/dekker.c -n 2 -m rma", "trace"),
        (
            "verify examples/checks/missing_store.pal --check progress",
            "property",
        ),
        ("verify examples/checks/used_after_free.c", "property"),
        ("verify missing.pal", "reason"),
        ("verify README.md", "diagnostics"),
        (
            "verify crates/cli/tests/cmd/errors.in/wrong.pal",
            "diagnostics",
        ),
        ("explore examples/mp.pal -m pso --final", "finals"),
        (
            "explore examples/bakery_unbounded.pal --max-states 100",
            "bound",
        ),
        ("fence examples/mp.pal -m pso --all", "alternatives"),
        ("fence examples/mpi/dekker.c -n 2 -m rma", "fences"),
        (&format!("certify examples/mp_fenced.pal {cert}"), "verdict"),
        ("reduce examples/mp.pal -m tso --buffers bounded:1", "text"),
        (
            "shape examples/shape/create.tvp examples/shape/list.tvs",
            "verdict",
        ),
        (
            "shape examples/shape/create_bug.tvp examples/shape/list.tvs",
            "messages",
        ),
        ("linearize examples/linear/treiber_store.pal", "trace"),
        ("linearize examples/linear/cas_counter.pal", "verdict"),
        ("litmus examples/litmus -m tso", "tests"),
        ("test examples/mp.pal", "tests"),
        ("fmt --check examples/mp.pal", "command"),
        ("show examples/mp.pal", "text"),
        ("show examples/mp.pal --cfg svg", "text"),
        ("abstract examples/mp.pal", "text"),
        (&format!("check {flag} --threads 2"), "trace"),
        ("bench fences --only dekker", "rows"),
    ] {
        let document = document(args);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{args}: {errors:#?}\n{document:#}");
        assert!(!document[key].is_null(), "{args}: no {key}\n{document:#}");
        commands.push(document["command"].as_str().unwrap_or_default().to_owned());
    }
    let all = &schema()["properties"]["command"]["enum"];
    for command in all.as_array().expect("names") {
        let name = command.as_str().expect("a name");
        let replayed = name == "replay";
        assert!(
            replayed || commands.iter().any(|c| c == name),
            "no document of {name}"
        );
    }
}

/// What is not as it should be does not fit.
#[test]
fn other_documents_do_not_fit() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let right = document("verify examples/dekker.pal -m tso");
    assert!(validator.is_valid(&right));
    for (pointer, value) in [
        ("/schema", json!(2)),
        ("/verdict", json!("maybe")),
        ("/trace/0/actor", json!("nobody")),
        ("/trace/0/action/kind", json!("jump")),
        ("/trace/0/memory/flag[0]", json!("one")),
        ("/property", json!({ "kind": "assertion" })),
        ("/stats/cpu_seconds", json!("fast")),
    ] {
        let mut wrong = right.clone();
        *wrong.pointer_mut(pointer).expect(pointer) = value;
        assert!(!validator.is_valid(&wrong), "{pointer}");
    }
    let mut wrong = right;
    wrong["unheard"] = json!(1);
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn the_page_names_every_key() {
    let page = fs::read_to_string(repository().join("docs/json.md")).expect("a page");
    let schema = schema();
    let keys = schema["properties"].as_object().expect("keys").keys();
    for key in keys {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
}
