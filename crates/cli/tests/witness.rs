//! Witnesses of verdicts about C programs follow the rules of the public format (version 2:
//! entries, metadata, segments and waypoints, invariants), and say what the run says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The JSON document of a run, and its witness if there is one.
fn witness(args: &[&str]) -> (Value, Option<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("witness.yml");
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(args)
        .args(["--json", "--witness"])
        .arg(&path)
        .current_dir(repository())
        .output()
        .expect("palisade runs");
    let document = serde_json::from_slice(&output.stdout);
    let document = document.unwrap_or_else(|e| panic!("{args:?}: {e}: {output:?}"));
    (document, fs::read_to_string(path).ok())
}

fn keys(value: &Yaml) -> Vec<&str> {
    let keys = value.as_hash().into_iter().flatten();
    keys.filter_map(|(key, _)| key.as_str()).collect()
}

fn text<'y>(value: &'y Yaml, what: &str) -> Result<&'y str, String> {
    value
        .as_str()
        .ok_or_else(|| format!("{what} is no string: {value:?}"))
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// What is wrong with a witness.
fn check(witness: &str) -> Result<(), String> {
    let documents = YamlLoader::load_from_str(witness).map_err(|e| e.to_string())?;
    let [Yaml::Array(entries)] = &documents[..] else {
        return Err("a witness is a list of entries".to_owned());
    };
    if entries.is_empty() {
        return Err("there is no entry".to_owned());
    }
    entries.iter().try_for_each(check_entry)
}

fn check_entry(entry: &Yaml) -> Result<(), String> {
    if keys(entry) != ["entry_type", "metadata", "content"] {
        return Err(format!("keys of an entry: {:?}", keys(entry)));
    }
    let metadata = &entry["metadata"];
    let version = text(&metadata["format_version"], "the version")?;
    if !["2.0", "2.1", "2.2"].contains(&version) {
        return Err(format!("version {version}"));
    }
    let uuid: Vec<&str> = text(&metadata["uuid"], "the uuid")?.split('-').collect();
    let lengths = [8, 4, 4, 4, 12];
    if uuid.len() != 5 || !uuid.iter().zip(lengths).all(|(part, n)| is_hex(part, n)) {
        return Err(format!("uuid {uuid:?}"));
    }
    let time = text(&metadata["creation_time"], "the time")?;
    let shape: String = time
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    if shape != "0000-00-00T00:00:00Z" {
        return Err(format!("time {time}"));
    }
    text(&metadata["producer"]["name"], "the producer's name")?;
    text(&metadata["producer"]["version"], "the producer's version")?;
    let task = &metadata["task"];
    let files = task["input_files"].as_vec().ok_or("no input files")?;
    for file in files {
        let hash = text(&task["input_file_hashes"][text(file, "a file")?], "a hash")?;
        if !is_hex(hash, 64) {
            return Err(format!("hash {hash}"));
        }
    }
    let specification = text(&task["specification"], "the specification")?;
    let formula = specification.strip_prefix("CHECK( init(main()), LTL(G ! ");
    if formula.is_none_or(|rest| !rest.ends_with(") )")) {
        return Err(format!("specification {specification}"));
    }
    if !["LP64", "ILP32"].contains(&text(&task["data_model"], "the data model")?)
        || task["language"].as_str() != Some("C")
    {
        return Err("data model or language".to_owned());
    }
    let content = entry["content"].as_vec().filter(|c| !c.is_empty());
    let content = content.ok_or("no content")?;
    match text(&entry["entry_type"], "the type")? {
        "violation_sequence" => content
            .iter()
            .enumerate()
            .try_for_each(|(number, segment)| {
                let is_last = number + 1 == content.len();
                check_segment(segment, is_last, version)
                    .map_err(|e| format!("segment {number}: {e}"))
            }),
        "invariant_set" => content.iter().try_for_each(check_invariant),
        other => Err(format!("entry of type {other}")),
    }
}

fn check_location(location: &Yaml) -> Result<(), String> {
    text(&location["file_name"], "a file name")?;
    let line = location["line"].as_i64().filter(|line| *line > 0);
    line.ok_or("no line")?;
    let column = &location["column"];
    if !column.is_badvalue() && column.as_i64().is_none_or(|column| column < 1) {
        return Err("column".to_owned());
    }
    let known = ["file_name", "line", "column", "function"];
    match keys(location).iter().find(|key| !known.contains(key)) {
        Some(key) => Err(format!("key {key} of a location")),
        None => Ok(()),
    }
}

fn check_segment(segment: &Yaml, is_last: bool, version: &str) -> Result<(), String> {
    let waypoints = segment["segment"].as_vec().ok_or("no waypoints")?;
    for (number, waypoint) in waypoints.iter().enumerate() {
        let waypoint = &waypoint["waypoint"];
        let ends = number + 1 == waypoints.len();
        let action = text(&waypoint["action"], "the action")?;
        if (action == "follow") != ends || !["follow", "avoid"].contains(&action) {
            return Err(format!("action {action}"));
        }
        let kind = text(&waypoint["type"], "the type")?;
        if (kind == "target") != (is_last && ends) {
            return Err(format!("{kind} in the wrong place"));
        }
        check_location(&waypoint["location"])?;
        let thread = &waypoint["thread_id"];
        if !thread.is_badvalue() && (version < "2.2" || thread.as_i64().is_none()) {
            return Err(format!("thread_id {thread:?} in version {version}"));
        }
        let constraint = &waypoint["constraint"];
        let (value, format) = (constraint["value"].as_str(), constraint["format"].as_str());
        let fits = match kind {
            "assumption" => value.is_some() && format == Some("c_expression"),
            "branching" => matches!(value, Some("true" | "false")),
            "function_return" => {
                format == Some("acsl_expression")
                    && value.is_some_and(|v| v.starts_with("\\result "))
            }
            "function_enter" | "target" => constraint.is_badvalue(),
            _ => false,
        };
        if !fits {
            return Err(format!("{kind} with {constraint:?}"));
        }
    }
    Ok(())
}

fn check_invariant(element: &Yaml) -> Result<(), String> {
    let invariant = &element["invariant"];
    let kind = text(&invariant["type"], "the type")?;
    if !["loop_invariant", "location_invariant"].contains(&kind) {
        return Err(format!("an invariant of type {kind}"));
    }
    check_location(&invariant["location"])?;
    text(&invariant["value"], "the value")?;
    match text(&invariant["format"], "the format")? {
        "c_expression" => Ok(()),
        other => Err(format!("format {other}")),
    }
}

const RACY: &str = "#include <pthread.h>\n#include <assert.h>\nint x;\n\
extern int __VERIFIER_nondet_int(void);\n\
void *worker(void *p) {\n  x = 1;\n  x = 2;\n  return 0;\n}\n\
int main(void) {\n  pthread_t t;\n  int n = __VERIFIER_nondet_int();\n  pthread_create(&t, 0, worker, 0);\n\
  int seen = x;\n  if (n == 3)\n    assert(seen != 1);\n  pthread_join(t, 0);\n  return 0;\n}\n";

fn in_file(text: &str, run: impl FnOnce(&str)) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("program.c");
    fs::write(&path, text).expect("written");
    run(path.to_str().expect("a name"));
}

#[test]
fn violations_follow_the_run() {
    in_file(RACY, |file| {
        for command in ["verify", "explore"] {
            let (document, text) = witness(&[command, file]);
            assert_eq!(document["verdict"], "violated");
            let text = text.expect("a witness");
            check(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let yaml = &YamlLoader::load_from_str(&text).expect("YAML")[0][0];
            let segments = yaml["content"].as_vec().expect("segments");
            let waypoints: Vec<&Yaml> = segments
                .iter()
                .map(|s| &s["segment"][0]["waypoint"])
                .collect();
            let last = waypoints.last().expect("a target");
            assert_eq!(
                last["location"]["line"].as_i64(),
                document["property"]["line"].as_i64()
            );
            let lines: Vec<i64> = waypoints
                .iter()
                .filter_map(|w| w["location"]["line"].as_i64())
                .collect();
            // The input, the first store of the other thread, the load between the stores.
            let input = waypoints
                .iter()
                .find(|w| w["type"].as_str() == Some("function_return"));
            assert_eq!(
                input.expect("an input")["constraint"]["value"].as_str(),
                Some("\\result == 3")
            );
            let at = |line: i64| lines.iter().position(|l| *l == line);
            assert!(at(6) < at(14) && at(6).is_some(), "{lines:?}");
            assert!(at(7).is_none(), "{lines:?}");
            let threads: Vec<i64> = waypoints
                .iter()
                .filter_map(|w| w["thread_id"].as_i64())
                .collect();
            assert!(threads.contains(&0) && threads.contains(&1), "{threads:?}");
            assert!(text.contains("LTL(G ! call(__assert_fail()))"), "{text}");
        }
    });
}

#[test]
fn proofs_have_invariants() {
    let text = RACY
        .replace("seen != 1", "seen != 3")
        .replace("  x = 2;", "  while (x == 1) x = 2;");
    in_file(&text, |file| {
        let (document, text) = witness(&["verify", file]);
        assert_eq!(document["verdict"], "holds", "{document:#}");
        let text = text.expect("a witness");
        check(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert!(text.contains("entry_type: \"invariant_set\""), "{text}");
        assert!(text.contains("type: \"loop_invariant\""), "{text}");
        // The values of `x`, in the words of C.
        assert!(text.contains("(x == 0 || x == 1 || x == 2)"), "{text}");
    });
}

/// What the format cannot say is not written.
#[test]
fn other_models_have_no_witness() {
    let (document, text) = witness(&["verify", "examples/c/try_lock.c", "-m", "tso"]);
    assert_eq!(document["verdict"], "violated");
    assert_eq!(text, None);
    let notes = document["notes"].to_string();
    assert!(notes.contains("no witness: the format knows"), "{notes}");
}

/// The checker of these tests refuses what is wrong.
#[test]
fn wrong_witnesses_are_refused() {
    in_file(RACY, |file| {
        let text = witness(&["explore", file]).1.expect("a witness");
        check(&text).expect("right");
        for (from, to) in [
            ("violation_sequence", "loop_invariants"),
            ("\"2.2\"", "\"2.0\""),
            ("\"2.2\"", "2.2"),
            ("action: follow", "action: avoid"),
            ("type: \"target\"", "type: \"assumption\""),
            ("format: \"c_expression\"", "format: \"python\""),
            ("CHECK( init(main()), ", ""),
            ("LP64", "LP128"),
            ("line: ", "row: "),
            ("input_file_hashes", "hashes"),
        ] {
            assert!(text.contains(from), "{from}");
            assert!(check(&text.replace(from, to)).is_err(), "{from} to {to}");
        }
    });
}
