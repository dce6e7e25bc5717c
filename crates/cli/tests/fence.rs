//! `palisade fence`: exit codes, the document, and patched files that verify.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn example(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples").join(name)
}

fn palisade(command: &str, file: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palisade"))
        .arg(command)
        .arg(file)
        .args(more)
        .output()
        .expect("it runs")
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn fence(name: &str, more: &[&str]) -> (Option<i32>, Value) {
    let more: Vec<&str> = more.iter().copied().chain(["--json"]).collect();
    let output = palisade("fence", &example(name), &more);
    (output.status.code(), document(&output))
}

#[test]
fn one_entry_for_each_thread() {
    let (code, document) = fence("peterson.pal", &["--model", "pso"]);
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["verdict"], "holds");
    assert_eq!(document["certified"], true);
    assert_eq!(document["minimum"], "proved");
    assert_eq!(document["candidates"], 4);
    let fences = document["fences"].as_array().expect("fences");
    let entry = |f: &Value| {
        let text = |key: &str| f[key].as_str().unwrap_or("?").to_owned();
        let (thread, side, kind) = (text("thread"), text("where"), text("kind"));
        format!("{thread} {side} {}:{} {kind}", f["line"], f["column"])
    };
    let fences: Vec<String> = fences.iter().map(entry).collect();
    let expected = [
        "t[0] after 8:9 ss",
        "t[1] after 8:9 ss",
        "t[0] after 9:9 full",
        "t[1] after 9:9 full",
    ];
    assert_eq!(fences, expected);
}

#[test]
fn all_minimum_placements() {
    let (code, document) = fence("fence/two_ways.pal", &["--model", "tso", "--all"]);
    assert_eq!(code, Some(0));
    let first = document["fences"].as_array().expect("fences");
    let others = document["alternatives"].as_array().expect("alternatives");
    assert_eq!((first.len(), others.len()), (1, 1));
    let mut lines = [&first[0]["line"], &others[0][0]["line"]].map(|l| l.as_u64().unwrap_or(0));
    lines.sort_unstable();
    assert_eq!(lines, [10, 11]);
}

#[test]
fn a_bug_under_sc_is_refused_with_its_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.pal");
    let text = "shared x;\nthread t[2] { local r = 0; r = x; x = r + 1; }\nfinally x == 2;\n";
    fs::write(&file, text).expect("written");
    let output = palisade("fence", &file, &["--model", "tso", "--json", "--write"]);
    assert_eq!(output.status.code(), Some(1));
    let document = document(&output);
    assert_eq!(document["verdict"], "violated");
    assert_eq!(document["replayed"], true);
    assert!(document["trace"].as_array().is_some_and(|t| !t.is_empty()));
    assert_eq!(document.get("fences"), None);
    assert_eq!(fs::read_to_string(&file).expect("still there"), text);
    let output = palisade("fence", &file, &["--model", "tso"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("the bug exists under sc"), "{shown}");
}

#[test]
fn usage_is_checked() {
    let file = example("peterson.pal");
    for wrong in [
        &["--model", "sc"][..],
        &["--model", "rma"],
        &["--model", "tso", "--cost", "nonsense"],
        &[],
    ] {
        assert_eq!(
            palisade("fence", &file, wrong).status.code(),
            Some(2),
            "{wrong:?}"
        );
    }
    let limited = ["--model", "tso", "--max-fences", "0"];
    assert_eq!(palisade("fence", &file, &limited).status.code(), Some(3));
    let timeout = ["--model", "tso", "--timeout", "0s"];
    assert_eq!(palisade("fence", &file, &timeout).status.code(), Some(3));
}

/// `--write` changes the file as `--diff` says, and what is written verifies, with
/// the certificate that came along.
#[test]
fn written_files_verify() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in [
        "burns.pal",
        "dekker.pal",
        "peterson.pal",
        "lamport_fast.pal",
        "fence/join.pal",
    ] {
        let file = folder.path().join("program.pal");
        let certificate = folder.path().join("certificate");
        let before = fs::read_to_string(example(name)).expect("an example");
        fs::write(&file, &before).expect("written");
        let path = certificate.display().to_string();
        let options = [
            "--model",
            "pso",
            "--write",
            "--diff",
            "--certificate",
            &path,
        ];
        let output = palisade("fence", &file, &options);
        assert_eq!(output.status.code(), Some(0), "{name}");
        let after = fs::read_to_string(&file).expect("still there");
        let diff = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            after.contains("fence;") && diff.contains("\n+"),
            "{name}: {diff}"
        );
        let verified = palisade("verify", &file, &["--model", "pso"]);
        assert_eq!(verified.status.code(), Some(0), "{name}:\n{after}");
        let certified = palisade("certify", &file, &[&path]);
        assert_eq!(certified.status.code(), Some(0), "{name}");
        let again = palisade("fence", &file, &["--model", "pso", "--json"]);
        let document = document(&again);
        assert_eq!(
            document["fences"].as_array().map(Vec::len),
            Some(0),
            "{name}"
        );
    }
}

/// Rust programs with an order that is too weak: what is written compiles and verifies. Under TSO and PSO fences are
/// written, also before statements: the guard's store is the only statement beside the other one's.
#[test]
fn written_rust_verifies() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, model) in [
        ("once_relaxed", "rc11"),
        ("once_relaxed", "pso"),
        ("spin_lock_relaxed", "rc11"),
        ("spin_lock_forever_relaxed", "pso"),
        ("spsc_ring_relaxed", "pso"),
        ("seqlock_unfenced", "rc11"),
        ("treiber_pop_relaxed", "rc11"),
        ("store_buffering", "tso"),
        ("store_buffering", "rc11"),
    ] {
        let file = folder.path().join(format!("{name}.rs"));
        fs::copy(example(&format!("rust/{name}.rs")), &file).expect("an example");
        let with = ["--model", model];
        let before = palisade("verify", &file, &with);
        assert_eq!(before.status.code(), Some(1), "{name} {model}");
        let output = palisade("fence", &file, &["--model", model, "--write", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{name} {model}");
        assert_eq!(document(&output)["minimum"], "proved", "{name} {model}");
        let compiled = Command::new("rustc")
            .args(["--edition", "2021", "--emit=metadata", "--out-dir"])
            .args([folder.path(), &file])
            .status();
        assert!(compiled.is_ok_and(|s| s.success()), "{name} {model}");
        let verified = palisade("verify", &file, &with);
        assert_eq!(verified.status.code(), Some(0), "{name} {model}");
    }
}

/// A C file whose orders are relaxed from seq_cst: the patch, and the patched file.
#[test]
fn memory_orders_of_c() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("tas.c");
    let text = "#include <pthread.h>
#include <stdatomic.h>
atomic_int held;
int data;
void *run(void *p) {
    for (;;) {
        while (atomic_exchange(&held, 1))
            ;
        data = !data;
        held = 0;
    }
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
";
    fs::write(&file, text).expect("written");
    let options = ["--model", "rc11", "--start", "seq_cst", "--write", "--json"];
    let output = palisade("fence", &file, &options);
    let document = document(&output);
    assert_eq!(output.status.code(), Some(0), "{document}");
    assert_eq!(document["certified"], true);
    assert_eq!(document["minimum"], "proved");
    let patched = fs::read_to_string(&file).expect("readable");
    let expected = text
        .replace(
            "atomic_exchange(&held, 1)",
            "atomic_exchange_explicit(&held, 1, memory_order_acquire)",
        )
        .replace(
            "held = 0;\n    }",
            "atomic_store_explicit(&held, 0, memory_order_release);\n    }",
        );
    assert_eq!(patched, expected);
    // One order weaker, and it is repaired.
    fs::write(
        &file,
        patched.replace("memory_order_release", "memory_order_relaxed"),
    )
    .expect("written");
    let output = palisade("fence", &file, &["--model", "rc11", "--write"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(fs::read_to_string(&file).expect("readable"), patched);
}

/// A fence that goes where one is taken out does not bring that one back.
#[test]
fn removed_fences_stay_removed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("removed");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("sb.pal");
    let text = "shared x = 0;\nshared y = 0;
thread t0 {\n  local r0 = 0;\n  store(x, 1, relaxed);\n  r0 = load(y, relaxed);\n}
thread t1 {\n  local r0 = 0;\n  store(y, 1, relaxed);\n  fence(acquire);\n  r0 = load(x, relaxed);\n}
finally (!(t0.r0 == 0 && t1.r0 == 0));\n";
    fs::write(&file, text).expect("written");
    let options = ["--model", "rc11", "--start", "relaxed", "--write", "--json"];
    let output = palisade("fence", &file, &options);
    assert_eq!(output.status.code(), Some(0), "{}", document(&output));
    let patched = fs::read_to_string(&file).expect("readable");
    assert_eq!(patched.matches("fence(seq_cst);").count(), 2, "{patched}");
    assert!(!patched.contains("fence(acquire);"), "{patched}");
}

/// The options of `verify` about the method are those of `fence`; predicates of another file are
/// no part of the patched text.
#[test]
fn methods_are_those_of_verify() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let (good, bad) = (folder.join("good.txt"), folder.join("bad.txt"));
    fs::write(&good, "predicate flag[0] == 1;\n").expect("written");
    fs::write(&bad, "predicate nobody == 1;\n").expect("written");
    let name = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let method = [
        "--keep",
        "oldest",
        "--strategy",
        "cores",
        "--no-explicit",
        "--buffers",
        "bounded:1+",
    ];
    let file = name(&good);
    let more = [&["--model", "tso", "--predicates", &file], &method[..]].concat();
    let (code, document) = fence("peterson.pal", &more);
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["certified"], true);
    let options = &document["options"];
    assert_eq!(
        (&options["keep"], &options["strategy"]),
        (&"oldest".into(), &"cores".into())
    );
    assert_eq!(
        (&options["explicit"], &options["buffers"]),
        (&false.into(), &"bounded:1+".into())
    );
    let diff = document["text"].as_str().expect("a patch");
    assert!(
        diff.contains("+        fence;") && !diff.contains("predicate"),
        "{diff}"
    );
    let more = ["--model", "tso", "--predicates", &name(&bad)];
    let refused = palisade("fence", &example("peterson.pal"), &more);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("bad.txt:1:11"), "{said}");
}
