//! Runs `palisade bench` for tests.

use std::process::Command;

use serde_json::Value;

/// The rows of a suite with these arguments.
pub(crate) fn rows(suite: &str, arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(["bench", suite, "--json"])
        .args(arguments)
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    document["rows"].as_array().expect("rows").clone()
}
