//! `palisade bench soft` from the command line: the rows that take no time, and that rows out
//! of time say so; `linearize --soft`, and the drawing of a failed proof.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

fn palisade(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(arguments)
        .output()
        .expect("palisade runs");
    let text = String::from_utf8(output.stdout).expect("text");
    (output.status.code(), text)
}

fn inc() -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../suites/soft/inc.pal");
    file.to_string_lossy().into_owned()
}

#[test]
fn rows_stand_beside_the_paper() {
    let words = ["bench", "soft", "--only", "inc", "--row-timeout", "3"];
    let (code, text) = palisade(&[&words[..], &["--json"]].concat());
    assert_eq!(code, Some(0));
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 8);
    // The paper's own model, with its figures: 255 states against 1.
    let by_hand: Vec<&Value> = rows.iter().filter(|r| r["by_hand"] == true).collect();
    let figures = by_hand
        .iter()
        .map(|r| (&r["verdict"], &r["stats"]["states"]));
    let (holds, unknown) = (Value::from("holds"), Value::from("unknown"));
    let figures: Vec<_> = figures.collect();
    assert_eq!(figures[0], (&holds, &255.into()));
    assert_eq!(figures[1].0, &unknown);
    assert_eq!(figures[2], (&holds, &1.into()));
    for row in rows.iter().filter(|r| r["by_hand"] == false) {
        assert_eq!((&row["program"], &row["table"]), (&"INC".into(), &2.into()));
        assert!(row["paper"]["stored"].is_u64());
        assert!(row["stats"]["average_memory_bytes"].as_u64() > Some(0));
        let collapsed = row["collapsed"] == true;
        let method = row["method"].as_str().expect("a word");
        match (collapsed, method) {
            // With and without time both are right; without time the row says so.
            (false, "none") => assert!(row["verdict"] == "holds" || row["reason"] == "T/O"),
            (true, "none") => {
                assert_eq!(row["verdict"], "unknown");
                assert!(row["reason"].is_string());
            }
            (true, "hand") => {
                assert_eq!(row["stats"]["soft_invariants"], 2);
            }
            (true, "auto" | "over") => {
                let defined = row["stats"]["soft_invariants_defined"].as_u64();
                assert!(defined > row["stats"]["soft_invariants"].as_u64());
            }
            other => panic!("{other:?}"),
        }
    }
    let (code, text) = palisade(&["bench", "soft", "--only", "no such program"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("canonically abstract"), "{text}");
    let (code, _) = palisade(&["bench", "soft", "--model", "tso"]);
    assert_eq!(code, Some(2));
}

#[test]
fn soft_invariants_are_chosen_and_failures_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_string_lossy().into_owned();
    let (code, text) = palisade(&["linearize", &inc(), "--soft", "hand"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("2 soft invariants"), "{text}");
    let (code, text) = palisade(&["linearize", &inc(), "--soft", "none", "--out", &out]);
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.contains("the model may show: null dereference"),
        "{text}"
    );
    let picture = folder.path().join("palisade-inc.svg");
    assert!(
        text.contains(&picture.to_string_lossy().into_owned()),
        "{text}"
    );
    let picture = std::fs::read_to_string(picture).expect("the drawing is there");
    assert!(picture.contains("<svg"), "{picture}");
    let dump = ["--dump", "dot", "--out", &out];
    let (code, text) = palisade(&[&["linearize", &inc()], &dump[..]].concat());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("drawings in"), "{text}");
}
