//! `explore` with states on disk, with checkpoints and with several processes: the same output
//! as in memory, whatever is killed and whenever.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Three counters, up to what, and a property: thousands of states on many levels. The first
/// has a violation at the very end.
const VIOLATED: (u32, &str) = (8, "never x[0] == 8 && x[1] == 8 && x[2] == 8;");
const HOLDS: (u32, &str) = (25, "never x[0] == 26;");

struct Case {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Case {
    fn new((most, property): (u32, &str)) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("counters.pal");
        let text = format!(
            "shared x[3] = 0;\nthread t[3] {{\n    local i = 0;\n    while (i < {most}) {{\n        \
             i = i + 1;\n        x[self] = i;\n    }}\n}}\n{property}\n"
        );
        fs::write(&program, text).expect("write the program");
        Self { folder, program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn explore(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palisade"));
        command.arg("explore").arg(&self.program);
        command.args(["--no-symmetry", "--json"]).args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What must not depend on where states are.
    fn result(&self, more: &[&str]) -> serde_json::Value {
        let output = self.explore(more).output().expect("it runs");
        told(&output)
    }
}

fn told(output: &Output) -> serde_json::Value {
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("no JSON: {}", String::from_utf8_lossy(&output.stderr));
    });
    let stats = &document["stats"];
    serde_json::json!({
        "code": output.status.code(),
        "verdict": document["verdict"],
        "reason": document["reason"],
        "trace": document["trace"],
        "states": stats["states"],
        "transitions": stats["transitions"],
        "depth": stats["depth"],
    })
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[test]
fn states_on_disk_and_several_processes() {
    for property in [VIOLATED, HOLDS] {
        let case = Case::new(property);
        let plain = case.result(&[]);
        assert!(plain["states"].as_u64() > Some(4000), "{plain}");
        let (spill, kept) = (case.path("spill"), case.path("kept"));
        assert_eq!(case.result(&["--spill", text(&spill)]), plain);
        assert_eq!(case.result(&["--checkpoint", text(&kept)]), plain);
        assert_eq!(
            case.result(&["--checkpoint", text(&kept), "--resume"]),
            plain
        );
        assert_eq!(case.result(&["--processes", "2"]), plain);
        assert_eq!(fs::read_dir(&spill).map_or(0, Iterator::count), 0);
    }
}

/// Tests and litmus tests are work items; what is printed does not depend on who did them.
#[test]
fn tests_with_several_processes() {
    let (small, wrong) = (Case::new((2, "never x[0] == 3;")), Case::new(VIOLATED));
    fs::copy(&wrong.program, small.path("wrong.pal")).expect("it can be copied");
    let litmus = concat!(env!("CARGO_MANIFEST_DIR"), "/../frontend/tests/litmus");
    for (command, path) in [("test", text(small.folder.path())), ("litmus", litmus)] {
        let run = |more: &[&str]| {
            let mut run = Command::new(env!("CARGO_BIN_EXE_palisade"));
            let output = run.args([command, path, "--json"]).args(more).output();
            let output = output.expect("it runs");
            let mut document: serde_json::Value =
                serde_json::from_slice(&output.stdout).expect("JSON");
            for test in document["tests"].as_array_mut().expect("tests") {
                test["seconds"].take();
            }
            (output.status.code(), document["tests"].take())
        };
        let alone = run(&[]);
        assert_eq!(run(&["--processes", "2", "-j", "1"]), alone);
        assert!(alone.1.as_array().is_some_and(|tests| tests.len() > 1));
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let case = Case::new(HOLDS);
    let kept = case.path("kept");
    let refused = |more: &[&str], why: &str| {
        let output = case.explore(more).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        let errors = format!("{errors}{}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(why), "{errors}");
    };
    let kept = text(&kept);
    case.result(&["--checkpoint", kept]);
    refused(&["--checkpoint", kept], "has a checkpoint already");
    let other = ["--checkpoint", kept, "--resume", "--model", "tso"];
    refused(&other, "another question");
    refused(&["--resume"], "--checkpoint");
    refused(&["--processes", "2", "--final"], "--final");
}

/// Kills the process after a while; whether it was still there.
fn killed_after(child: &mut Child, time: Duration) -> bool {
    thread::sleep(time);
    let runs = child.try_wait().expect("it can be asked").is_none();
    let _ = child.kill();
    child.wait().expect("it ends");
    runs
}

/// Times that are spread over the run, and differ from run to run of the test.
fn moments(whole: Duration) -> impl Iterator<Item = Duration> {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    let mut seed = since.map_or(1, |d| u64::from(d.subsec_nanos()) | 1);
    std::iter::from_fn(move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        Some(whole.mul_f64((seed % 1000) as f64 / 1000.0))
    })
}

#[test]
fn killed_twenty_times_and_resumed() {
    for property in [VIOLATED, HOLDS] {
        let case = Case::new(property);
        let kept = case.path("kept");
        let more = ["--checkpoint", text(&kept), "--resume"];
        let plain = case.result(&[]);
        let start = Instant::now();
        case.result(&["--checkpoint", text(&case.path("timed"))]);
        let whole = start.elapsed();
        let mut killed = 0;
        for moment in moments(whole).take(10) {
            let mut child = case.explore(&more).spawn().expect("it starts");
            killed += u32::from(killed_after(&mut child, moment));
        }
        assert!(killed > 0);
        assert_eq!(case.result(&more), plain, "after {killed} kills");
    }
}

/// Addresses on this machine that nobody listens at.
fn hosts(case: &Case, count: usize) -> PathBuf {
    let listeners: Vec<_> = (0..count)
        .map(|_| std::net::TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect();
    let lines = listeners
        .iter()
        .map(|l| l.local_addr().expect("an address"));
    let lines: Vec<String> = lines.map(|a| a.to_string()).collect();
    let path = case.path("hosts");
    fs::write(&path, lines.join("\n")).expect("write the hosts");
    path
}

#[test]
fn a_killed_process_is_told_to_others_and_nothing_is_lost() {
    let case = Case::new(VIOLATED);
    let plain = case.result(&[]);
    let kept = case.path("kept");
    let run = |hosts: &Path, process: &str| {
        let more = ["--cluster", text(hosts), "--process", process, "-j", "1"];
        let mut command = case.explore(&more);
        command.args(["--checkpoint", text(&kept), "--resume"]);
        command.spawn().expect("it starts")
    };
    let mut lost = 0;
    for moment in moments(Duration::from_millis(500)).take(3) {
        let hosts = hosts(&case, 2);
        let mut other = run(&hosts, "0");
        let mut child = run(&hosts, "1");
        let runs = killed_after(&mut child, moment);
        if !kept.join("process-0/question").exists() {
            // They had not met yet: the other would wait for a minute.
            let _ = other.kill();
            let _ = other.wait();
            continue;
        }
        let found = told(&other.wait_with_output().expect("it ends"));
        if found != plain {
            assert!(runs, "{found}");
            assert_eq!(found["code"], 3, "{found}");
            assert_eq!(found["verdict"], "unknown");
            let reason = found["reason"].as_str().unwrap_or_default();
            assert!(reason.contains("process 1 has ended"), "{found}");
            lost += 1;
        }
    }
    let hosts = hosts(&case, 2);
    let children = [run(&hosts, "0"), run(&hosts, "1")];
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(told(&output), plain, "after {lost} losses");
    }
}

/// What `litmus` prints, of tests and of a file that is none, does not depend on how many run at
/// the same time.
#[test]
fn litmus_tests_at_the_same_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let broken = folder.path().join("broken.litmus");
    fs::write(
        &broken,
        "X86 broken\n{ x=0; }\n P0 ;\n NONSENSE ;\nexists (x=1)\n",
    )
    .expect("written");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/litmus");
    let run = |jobs: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palisade"));
        command.args(["litmus", "--model", "tso", "-j", jobs]);
        let files = [&examples, &broken, &examples];
        let output = command.args(files).output().expect("it runs");
        (output.status.code(), output.stdout, output.stderr)
    };
    let one = run("1");
    assert_eq!(one.0, Some(2));
    assert!(one.1.len() > 500 && !one.2.is_empty());
    assert_eq!(run("3"), one);
}

/// Counters that grow without bound have finitely many states up to a shift.
#[test]
fn shifted_counters_come_to_an_end() {
    let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/spsc_ring.pal");
    let run = |model: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palisade"));
        command.arg("explore").arg(&ring).args(["--model", model]);
        command.args(["--max-states", "20000"]).args(more);
        command.output().expect("it runs").status.code()
    };
    assert_eq!(run("tso", &[]), Some(3));
    assert_eq!(run("tso", &["--shift"]), Some(0));
    assert_eq!(run("pso", &["--shift"]), Some(1));
}
