//! Time, memory and Ctrl-C end a run as `unknown` with exit code 3 and a reason,
//! in text and in JSON; never as a crash, and never as another verdict.

#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Far more states than any machine visits: eight counters up to a million. The
/// abstract states are too many as well.
const ENDLESS: &str = "\
shared x[8] = 0;

thread t[8] {
    local i = 0;
    while (i < 1000000) {
        i = i + 1;
        x[self] = i;
    }
}

never x[0] == 999999 && x[1] == 999998;
";

struct Program {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn endless() -> Program {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("endless.pal");
    fs::write(&path, ENDLESS).expect("write the program");
    Program {
        _folder: folder,
        path,
    }
}

fn run(what: &str, program: &Program, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palisade"));
    command.arg(what).arg(&program.path).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn assert_unknown(output: &Output, reason: &str) {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{text}{errors}");
    assert!(text.starts_with("unknown: "), "{text}{errors}");
    assert!(text.contains(reason), "{text}");
}

#[test]
fn time() {
    for what in ["explore", "verify"] {
        let output = run(what, &endless(), &["--timeout", "100ms"]).output();
        assert_unknown(&output.expect("it runs"), "time limit reached");
    }
}

#[test]
fn time_in_json() {
    for what in ["explore", "verify"] {
        let output = run(what, &endless(), &["--timeout", "100ms", "--json"]).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(3));
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("one JSON document");
        assert_eq!(document["verdict"], "unknown");
        assert_eq!(document["reason"], "time limit reached");
        assert_eq!(document["command"], what);
        assert_eq!(document["model"], "sc");
    }
}

/// Functions that call each other inline to millions of steps.
fn endless_reading() -> Program {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("endless.c");
    let mut text = "int x; int *p[4]; void f0(int k) { *p[k & 3] = *p[x & 3]; }\n".to_owned();
    for n in 1..16 {
        let before = n - 1;
        let _ = writeln!(text, "void f{n}(int k) {{ f{before}(x); f{before}(k); }}");
    }
    text.push_str("int main(void) { for (int i = 0; i < 4; i++) p[i] = &x; f15(x); }\n");
    fs::write(&path, text).expect("write the program");
    Program {
        _folder: folder,
        path,
    }
}

#[test]
fn time_of_reading() {
    for what in ["explore", "verify", "fence"] {
        let more: &[&str] = match what {
            "fence" => &["--model", "tso", "--timeout", "100ms"],
            _ => &["--timeout", "100ms"],
        };
        let output = run(what, &endless_reading(), more).output();
        assert_unknown(&output.expect("it runs"), "time limit reached");
    }
}

#[test]
fn memory() {
    for what in ["explore", "verify"] {
        let output = run(what, &endless(), &["--memory", "40M"]).output();
        assert_unknown(&output.expect("it runs"), "memory limit reached");
    }
}

#[test]
fn states() {
    for what in ["explore", "verify"] {
        let output = run(what, &endless(), &["--max-states", "1000"]).output();
        assert_unknown(&output.expect("it runs"), "bound touched");
    }
}

/// Whether the process has a handler for the signal: the mask in its status.
fn catches(child: &Child, signal: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

#[test]
fn interrupt() {
    let cases = [
        ("explore", "INT", 2),
        ("explore", "TERM", 15),
        ("verify", "INT", 2),
    ];
    for (what, signal, number) in cases {
        let program = endless();
        let child = run(what, &program, &[]).spawn().expect("it starts");
        while !catches(&child, number) {
            thread::sleep(Duration::from_millis(1));
        }
        let killed = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status();
        assert!(killed.expect("kill runs").success());
        let output = child.wait_with_output().expect("it ends");
        assert_unknown(&output, "interrupted");
    }
}
