//! `palisade shape` on the examples: verdicts and their exit codes, the document,
//! drawings, limits, and the same output whatever the number of threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn example(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples/shape").join(name)
}

fn shape(program: &str, states: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palisade"))
        .arg("shape")
        .args([example(program), example(states)])
        .args(more)
        .output()
        .expect("it runs")
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn verdicts_and_exit_codes() {
    let cases = [
        ("create.tvp", "nothing.tvs", "holds", 0),
        ("create_bug.tvp", "nothing.tvs", "violated", 1),
        ("mutex.tvm", "mutex.tvs", "holds", 0),
        ("mutex_bug.tvm", "mutex.tvs", "violated", 1),
    ];
    for (program, states, verdict, code) in cases {
        let output = shape(program, states, &["--json"]);
        let document = document(&output);
        assert_eq!(output.status.code(), Some(code), "{program}: {document}");
        assert_eq!(document["verdict"], verdict, "{program}");
        assert_eq!(document["command"], "shape");
        let messages = document["messages"].as_array().expect("messages");
        assert_eq!(messages.is_empty(), verdict == "holds", "{program}");
        let stats = &document["stats"];
        let by_location = stats["structures_by_location"].as_object();
        let counts = by_location.expect("locations").values();
        let sum: u64 = counts.filter_map(Value::as_u64).sum();
        assert!(sum > 0, "{program}");
        assert_eq!(stats["structures"], sum, "{program}");
        let text = shape(program, states, &[]);
        assert_eq!(text.status.code(), Some(code), "{program}");
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        let last = text.lines().last().unwrap_or_default();
        assert!(last.starts_with(verdict), "{program}: {text}");
    }
}

#[test]
fn a_violation_says_what_and_shows_the_run() {
    let document = document(&shape("create_bug.tvp", "nothing.tvs", &["--json"]));
    assert_eq!(document["reason"], "an element is lost");
    assert_eq!(document["replayed"], true);
    let trace = document["trace"].as_array().expect("a trace");
    assert!(trace.len() > 1, "{document}");
    assert!(trace.iter().all(|step| step["structure"].is_string()));
    let message = &document["messages"][0];
    assert_eq!(message["text"], "an element is lost");
    assert!(message["line"].as_u64().is_some_and(|line| line > 0));
    let file = message["file"].as_str().unwrap_or_default();
    assert!(file.ends_with("list_actions.tvp"), "{message}");
}

#[test]
fn options_change_the_result() {
    let structures = |more: &[&str]| {
        let more = [more, &["--json", "--visits", "50"]].concat();
        let document = document(&shape("inc.tvp", "inc.tvs", &more));
        (
            document["stats"]["structures"].clone(),
            document["options"]["join"].clone(),
        )
    };
    let soft = structures(&["-D", "COLLAPSE", "-DSOFT"]);
    assert_eq!(soft, (1.into(), "part".into()));
    let relational = structures(&["-D", "COLLAPSE", "-D", "SOFT", "--join", "rel"]);
    assert_eq!(relational.1, "rel");
}

#[test]
fn any_number_of_workers_prints_the_same() {
    let one = shape("create_bug.tvp", "nothing.tvs", &["--workers", "1"]);
    let three = shape("create_bug.tvp", "nothing.tvs", &["--workers", "3"]);
    assert_eq!(one.status.code(), Some(1));
    assert_eq!(one, three);
}

#[test]
fn drawings_of_every_location_and_message() {
    let begins = [
        ("html", "<!"),
        ("dot", "digraph"),
        ("svg", "<svg"),
        ("tvs", "%n"),
    ];
    for (format, begin) in begins {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("new/folder");
        let path = out.display().to_string();
        let more = ["--dump", format, "--out", &path, "--json"];
        let document = document(&shape("create_bug.tvp", "nothing.tvs", &more));
        let mut count = 0;
        for entry in fs::read_dir(&out).expect("the folder is made") {
            let path = entry.expect("an entry").path();
            let text = fs::read_to_string(&path).expect("a text");
            assert!(path.extension().is_some_and(|e| e == format), "{path:?}");
            // A location that nothing reaches has an empty file of graphs.
            assert!(text.starts_with(begin) || text.is_empty(), "{path:?}");
            count += 1;
        }
        let stats = &document["stats"];
        let messages = document["messages"].as_array().map_or(0, Vec::len);
        let expected = if format == "svg" {
            stats["structures"].as_u64().map(|n| n as usize)
        } else {
            stats["structures_by_location"]
                .as_object()
                .map(serde_json::Map::len)
        };
        assert_eq!(Some(count), expected.map(|n| n + messages), "{format}");
    }
}

#[test]
fn time_and_memory_end_as_unknown() {
    // Without soft invariants this takes seconds; the process alone holds more than 1 MB.
    let limits = [
        (["--timeout", "1ms"], "time limit reached"),
        (["--memory", "1M"], "memory limit reached"),
    ];
    for (limit, reason) in limits {
        let text = shape("inc.tvp", "inc.tvs", &limit);
        assert_eq!(text.status.code(), Some(3), "{reason}");
        let stdout = String::from_utf8_lossy(&text.stdout).into_owned();
        assert!(stdout.contains(&format!("unknown: {reason}")), "{stdout}");
        let json = shape("inc.tvp", "inc.tvs", &[limit[0], limit[1], "--json"]);
        assert_eq!(json.status.code(), Some(3), "{reason}");
        let document = document(&json);
        assert_eq!(document["verdict"], "unknown");
        assert_eq!(document["reason"], reason);
        assert_eq!(document["command"], "shape");
    }
}
