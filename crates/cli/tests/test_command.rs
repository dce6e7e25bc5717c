//! `palisade test`: verdicts against those that files expect, and the reports for other
//! tools. `palisade FILE` chooses the command.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const STORE_BUFFERING: &str = "shared x, y; \
    thread a { local r; x = 1; r = y; end_a: skip; } \
    thread b { local s; y = 1; s = x; end_b: skip; } \
    finally !(a.r == 0 && b.s == 0);\n";

fn palisade(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("palisade runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text + &errors)
}

fn folder(files: &[(&str, String)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

fn expecting(verdicts: &str) -> String {
    format!("// expect: {verdicts}\n{STORE_BUFFERING}")
}

#[test]
fn expectations_are_compared_below_folders() {
    let right = folder(&[
        ("right.pal", expecting("sc=holds tso=violated")),
        ("deep/also.pal", expecting("pso=violated")),
        ("notes.txt", "expect: nothing".to_owned()),
    ]);
    let (code, text) = palisade(right.path(), &["test", "."]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.ends_with("3 tests: 3 passed\n"), "{text}");
    // Models of the command line replace those of the file; no expectation is `holds`.
    let (code, text) = palisade(right.path(), &["test", "-m", "SC,pso", "right.pal"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("palisade verify right.pal --model pso"),
        "{text}"
    );
    assert!(text.ends_with("2 tests: 1 passed, 1 failed\n"), "{text}");
}

#[test]
fn what_is_wrong_is_reported_to_other_tools() {
    let mixed = folder(&[
        ("a_wrong.pal", expecting("tso=holds")),
        ("b_broken.pal", "shared x\n".to_owned()),
        ("c_right.pal", expecting("sc=holds")),
    ]);
    let at = mixed.path();
    let (code, text) = palisade(at, &["test", ".", "--junit", "j.xml", "--sarif", "s.sarif"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.ends_with("3 tests: 1 passed, 1 failed, 1 error\n"),
        "{text}"
    );
    let junit = fs::read_to_string(at.join("j.xml")).expect("written");
    assert!(junit.contains("tests=\"3\" "), "{junit}");
    assert!(junit.contains("failures=\"1\" errors=\"1\""), "{junit}");
    assert!(junit.contains("./a_wrong.pal (tso)"), "{junit}");
    let sarif = fs::read_to_string(at.join("s.sarif")).expect("written");
    let sarif: serde_json::Value = serde_json::from_str(&sarif).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let rules: Vec<&str> = results
        .iter()
        .filter_map(|r| r["ruleId"].as_str())
        .collect();
    assert_eq!(rules, ["verdict", "input"]);
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "./b_broken.pal");
    assert_eq!(place["region"]["startLine"], 1);
}

/// What SARIF 2.1.0 asks of the parts that are used, as its schema says it.
fn sarif_rules() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "required": ["version", "runs"],
        "properties": {
            "version": { "const": "2.1.0" },
            "$schema": { "type": "string" },
            "runs": { "type": "array", "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": { "type": "object", "required": ["driver"], "properties": {
                        "driver": { "type": "object", "required": ["name"], "properties": {
                            "name": { "type": "string" },
                            "rules": { "type": "array", "uniqueItems": true, "items": {
                                "type": "object", "required": ["id"]
                            } },
                        } },
                    } },
                    "results": { "type": "array", "items": {
                        "type": "object",
                        "required": ["message"],
                        "properties": {
                            "message": { "type": "object", "required": ["text"] },
                            "level": { "enum": ["none", "note", "warning", "error"] },
                            "ruleId": { "type": "string" },
                            "locations": { "type": "array", "items": { "properties": {
                                "physicalLocation": { "required": ["artifactLocation"], "properties": {
                                    "artifactLocation": { "properties": {
                                        "uri": { "type": "string", "pattern": "^[^\\\\ ]+$" },
                                    } },
                                    "region": { "properties": {
                                        "startLine": { "type": "integer", "minimum": 1 },
                                        "startColumn": { "type": "integer", "minimum": 1 },
                                    } },
                                } },
                            } } },
                        },
                    } },
                },
            } },
        },
    })
}

/// The tags of an XML text, outermost first; panics where they do not fit together.
fn tags(xml: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    for piece in xml.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name: String = tag.chars().take_while(|c| !" />".contains(*c)).collect();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed), "{xml}");
        } else if !tag.starts_with(['?', '!']) {
            seen.push([&open[..], std::slice::from_ref(&name)].concat().join("/"));
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{xml}");
    seen
}

/// Both reports have the form that their readers expect.
#[test]
fn reports_follow_the_rules_of_their_formats() {
    let mixed = folder(&[
        ("a_wrong.pal", expecting("tso=holds sc=violated")),
        ("b_broken.pal", "shared <x> & \"y\"\n".to_owned()),
        ("c_right.pal", expecting("sc=holds")),
    ]);
    let at = mixed.path();
    palisade(at, &["test", ".", "--junit", "j.xml", "--sarif", "s.sarif"]);
    let sarif = fs::read_to_string(at.join("s.sarif")).expect("written");
    let sarif: serde_json::Value = serde_json::from_str(&sarif).expect("JSON");
    let rules = jsonschema::validator_for(&sarif_rules()).expect("a schema");
    let errors: Vec<String> = rules.iter_errors(&sarif).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{sarif:#}");
    // Every result is of a rule that is declared.
    let run = &sarif["runs"][0];
    let declared = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for result in run["results"].as_array().expect("results") {
        assert!(
            declared.iter().any(|rule| rule["id"] == result["ruleId"]),
            "{result}"
        );
    }
    let junit = fs::read_to_string(at.join("j.xml")).expect("written");
    let tags = tags(&junit);
    let count = |path: &str| tags.iter().filter(|tag| *tag == path).count();
    assert_eq!(count("testsuites"), 1);
    assert_eq!(count("testsuites/testsuite/testcase"), 4, "{tags:?}");
    assert_eq!(
        count("testsuites/testsuite/testcase/failure"),
        2,
        "{tags:?}"
    );
    assert_eq!(count("testsuites/testsuite/testcase/error"), 1, "{tags:?}");
}

#[test]
fn a_word_that_is_no_expectation_is_an_error() {
    let typo = folder(&[("typo.pal", expecting("sc=safe"))]);
    let (code, text) = palisade(typo.path(), &["test", "typo.pal"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("`sc=safe` is no expectation"), "{text}");
}

#[test]
fn a_file_alone_is_given_to_its_command() {
    let files = folder(&[("sb.pal", STORE_BUFFERING.to_owned())]);
    let (code, text) = palisade(files.path(), &["sb.pal", "-m", "TSO", "-q"]);
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let (code, text) = palisade(files.path(), &["check", "sb.pal"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("use palisade verify"), "{text}");
}

#[test]
fn results_go_to_a_file_and_colours_are_as_asked() {
    let files = folder(&[("sb.pal", STORE_BUFFERING.to_owned())]);
    let (code, text) = palisade(files.path(), &["verify", "sb.pal", "-o", "out.txt"]);
    assert_eq!((code, text.as_str()), (Some(0), ""));
    let written = fs::read_to_string(files.path().join("out.txt")).expect("written");
    assert!(written.starts_with("holds (certified)\n"), "{written}");
    let (_, text) = palisade(files.path(), &["verify", "sb.pal", "--color", "always"]);
    assert!(text.contains('\u{1b}'), "{text}");
}
