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

/// The schema of SARIF 2.1.0 (OASIS), as the package that writes our reports brings it.
fn sarif_schema() -> serde_json::Value {
    // Without packages of other systems, which are not there.
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", &host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&metadata.stderr)));
    let mut packages = metadata["packages"].as_array().expect("packages").iter();
    let package = packages.find(|package| package["name"] == "serde-sarif");
    let manifest = package.and_then(|p| p["manifest_path"].as_str());
    let path = Path::new(manifest.expect("a dependency")).with_file_name("src/schema.json");
    let schema = fs::read_to_string(path).expect("the package has the schema");
    let mut schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    // A bracket too many: this is no regular expression, and reports have no such key.
    for part in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][part]["properties"]["language"]["pattern"];
        assert_eq!(*language, "^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$");
        *language = "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$".into();
    }
    schema
}

/// An element of JUnit's XML: which it may contain, which attributes it must and may have. From
/// the schema `junit-10.xsd` of Jenkins' xUnit plugin, as far as reports use it; with `disabled`, of the
/// schema of Ant's reports, which quick-junit writes and readers ignore.
type Element = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);
const JUNIT: [Element; 5] = [
    (
        "testsuites",
        &["testsuite"],
        &[],
        // `skipped` is of Ant's schema, too.
        &["name", "time", "tests", "failures", "errors", "skipped"],
    ),
    (
        "testsuite",
        &[
            "testsuite",
            "properties",
            "testcase",
            "system-out",
            "system-err",
        ],
        &["name", "tests", "failures", "errors"],
        &[
            "disabled",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
        ],
    ),
    (
        "testcase",
        &["skipped", "error", "failure", "system-out", "system-err"],
        &["name"],
        &["time", "classname", "group"],
    ),
    ("failure", &[], &[], &["type", "message"]),
    ("error", &[], &[], &["type", "message"]),
];

/// The names of a tag's attributes.
fn attributes(tag: &str) -> Vec<&str> {
    // Values are quoted; every second piece is one.
    let outside = tag.split('"').step_by(2);
    let names = outside.filter_map(|piece| piece.trim().strip_suffix('='));
    names
        .filter_map(|piece| piece.split_whitespace().last())
        .collect()
}

/// The tags of an XML text, outermost first; panics where they do not fit together, or are not as
/// [`JUNIT`] says.
fn tags(xml: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    for piece in xml.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name: String = tag.chars().take_while(|c| !" />".contains(*c)).collect();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed), "{xml}");
        } else if !tag.starts_with(['?', '!']) {
            let rule = |of: &str| JUNIT.into_iter().find(|(name, ..)| *name == of);
            let (_, _, must, may) = rule(&name).unwrap_or_else(|| panic!("{name}\n{xml}"));
            let has = attributes(tag);
            assert!(must.iter().all(|m| has.contains(m)), "{tag}");
            assert!(
                has.iter().all(|a| must.contains(a) || may.contains(a)),
                "{tag}"
            );
            let parent = open.last().and_then(|parent| rule(parent));
            let fits = parent.map_or(name == "testsuites", |p| p.1.contains(&name.as_str()));
            assert!(fits, "{name} in {open:?}");
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
    let rules = jsonschema::validator_for(&sarif_schema()).expect("a schema");
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
