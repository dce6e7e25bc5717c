//! The programs in `examples/checks` have the verdicts that their second line says, by `explore` and
//! by `verify`: `deadlock: sc holds, tso violated` asks with `--check deadlock`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is asked, and the verdict under each model.
fn expected(text: &str) -> (String, Vec<(String, String)>) {
    let line = text.lines().nth(1).unwrap_or_default();
    let line = line
        .trim_start_matches([' ', '*', '/'])
        .trim_end_matches("*/");
    let (checks, verdicts) = line.split_once(':').expect("CHECK: MODEL VERDICT, ..");
    let pairs = verdicts.split(',').filter_map(|p| p.trim().split_once(' '));
    let pairs = pairs.map(|(m, v)| (m.to_owned(), v.to_owned()));
    (checks.to_owned(), pairs.collect())
}

fn palisade(command: &str, file: &Path, checks: &str, model: &str) -> String {
    let mut run = Command::new(env!("CARGO_BIN_EXE_palisade"));
    run.arg(command).arg(file).args(["--model", model]);
    for check in checks.split_whitespace().filter(|c| *c != "verdicts") {
        run.args(["--check", check]);
    }
    let output = run.output().expect("palisade runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_example_has_its_verdicts() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/checks");
    let files = fs::read_dir(folder).expect("the examples are there");
    let mut files: Vec<PathBuf> = files.map(|f| f.expect("readable").path()).collect();
    files.sort();
    assert!(files.len() >= 6, "{} examples", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        let (checks, pairs) = expected(&text);
        for (model, verdict) in pairs {
            // Under RC11 a thread may lag behind without end: only summaries end.
            // And no search ends for any number of threads.
            let endless = verdict == "holds" && (model == "rc11" || text.contains("[*]"));
            let commands: &[&str] = if endless {
                &["verify"]
            } else {
                &["explore", "verify"]
            };
            for command in commands {
                let text = palisade(command, &file, &checks, &model);
                let word = text.split([':', ' ', '\n']).next().unwrap_or_default();
                assert_eq!(
                    word,
                    verdict,
                    "{command} {} {model}\n{text}",
                    file.display()
                );
                let certified = text.contains("(certified)");
                assert!(
                    *command != "verify" || word != "holds" || certified,
                    "{text}"
                );
            }
        }
    }
}

/// Assertions that the front end leaves out, since nothing stores what they wait for, are told, but not those
/// that the text switches off, nor those that one of several calls gets to.
#[test]
fn assertions_that_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c");
    let warned = |body: &str| -> usize {
        let text = format!(
            "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int data, ready, done;
static void look(int on) {{ if (on) assert(data < 9); }}
void *run(void *p) {{ data = 1; done = 1; return 0; }}
int main(void) {{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    {body}
    pthread_join(t, 0);
    return 0;
}}
"
        );
        fs::write(&file, text).expect("writable");
        let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
            .args(["verify", "--model", "tso", "--json"])
            .arg(&file)
            .output()
            .expect("it runs");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(document["verdict"], "holds", "{body}");
        let warnings = document["warnings"].as_array().cloned().unwrap_or_default();
        let is_vacuous = |w: &&serde_json::Value| w.to_string().contains("is never reached");
        warnings.iter().filter(is_vacuous).count()
    };
    assert_eq!(warned("if (ready) assert(data == 1);"), 1);
    assert_eq!(warned("while (!ready) ; assert(data == 1);"), 1);
    assert_eq!(warned("while (ready) assert(data == 1);"), 1);
    assert_eq!(warned("look(0);"), 1);
    assert_eq!(warned("look(0); look(1);"), 0);
    assert_eq!(warned("if (0) assert(data == 1);"), 0);
    assert_eq!(warned("if (done) assert(data == 1);"), 0);
    assert_eq!(warned("assert(1); assert(data < 2);"), 0);
    assert_eq!(
        warned("for (int i = 0; i < 2; i++) { if (i) assert(data < 2); }"),
        0
    );
}

/// A race that is asked for is named so, under every model, and its run can be replayed.
#[test]
fn races_have_their_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, run) = (folder.path().join("t.c"), folder.path().join("run.json"));
    let text = "#include <pthread.h>
int x;
void *run(void *p) { x = 1; return 0; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    x = 2;
    pthread_join(t, 0);
    return 0;
}
";
    fs::write(&file, text).expect("writable");
    let asked = [
        ("sc", "--check=races"),
        ("tso", "--check=races"),
        ("rc11", "--check=deadlock"),
    ];
    for (model, check) in asked {
        for command in ["explore", "verify"] {
            let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
                .args([command, "--model", model, check, "--json"])
                .arg(&file)
                .output()
                .expect("it runs");
            let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let kind = &document["property"]["kind"];
            assert_eq!(kind, "data-race", "{command} {model}");
            fs::write(&run, &output.stdout).expect("writable");
            let replayed = Command::new(env!("CARGO_BIN_EXE_palisade"))
                .args([Path::new("replay"), &file, &run])
                .output()
                .expect("it runs");
            let words = String::from_utf8_lossy(&replayed.stderr);
            assert_eq!(
                replayed.status.code(),
                Some(1),
                "{command} {model}: {words}"
            );
        }
    }
}
