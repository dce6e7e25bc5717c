//! Keeps the table of crates (ARCHITECTURE.md): which crate may use which, and
//! which must not know of which, not even through others. Reads `cargo metadata`;
//! tests' own dependencies may go further.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

/// Crate, and the crates of ours that it may use directly.
const TABLE: &[(&str, &[&str])] = &[
    ("program", &[]),
    // Scanner, cursor, precedence: for everything that reads text.
    ("syntax", &["program"]),
    ("frontend", &["program", "syntax"]),
    ("machine", &["program"]),
    ("memory", &["program"]),
    ("logic", &["program"]),
    ("abstraction", &["program", "logic"]),
    ("checker", &["program", "logic", "abstraction"]),
    // Boolean programs: nobody needs them for a verdict.
    ("boolean", &["program", "syntax", "logic", "abstraction"]),
    ("certify", &["program", "logic"]),
    (
        "verify",
        &[
            "program",
            "machine",
            "memory",
            "logic",
            "abstraction",
            "checker",
            "certify",
        ],
    ),
    // Several processes that search together: only the command knows of them.
    ("cluster", &["machine"]),
    ("fences", &["program", "verify", "machine"]),
    ("shape", &["syntax"]),
    ("linearize", &["program", "shape", "verify"]),
    ("report", &["program", "verify", "shape"]),
    // The library for users: what reads, decides and shows, together.
    (
        "palisade",
        &[
            "program",
            "frontend",
            "machine",
            "certify",
            "verify",
            "fences",
            "linearize",
            "report",
        ],
    ),
    // What reproduces papers: it uses what it measures, and only the command uses it.
    (
        "experiments",
        &[
            "program",
            "frontend",
            "machine",
            "memory",
            "logic",
            "abstraction",
            "boolean",
            "verify",
            "fences",
            "shape",
            "linearize",
            "report",
        ],
    ),
    // Random programs for tests: nobody's normal dependency.
    ("arbitrary", &["program"]),
    // Random programs by the million: it compares engines, and nobody uses it.
    (
        "soak",
        &[
            "program",
            "frontend",
            "machine",
            "certify",
            "verify",
            "fences",
            "arbitrary",
        ],
    ),
];

/// Pairs of independent accounts: the first must not know the second, not even
/// through others.
const APART: &[(&str, &str)] = &[
    // The machine and the reductions are tested against each other.
    ("machine", "memory"),
    ("memory", "machine"),
    // A wrong reduction or abstraction must not certify itself.
    ("certify", "memory"),
    ("certify", "abstraction"),
    ("certify", "machine"),
    ("certify", "checker"),
    // What only reproduces papers is not on the way to a verdict.
    ("verify", "boolean"),
    ("fences", "boolean"),
    ("linearize", "boolean"),
    // Engines do not know source languages.
    ("verify", "frontend"),
    ("fences", "frontend"),
    ("linearize", "frontend"),
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo metadata reads the workspace")
}

/// A crate's short name: `program` for `palisade-program`.
fn short(name: &str) -> Option<&str> {
    if name == "palisade" {
        return Some(name);
    }
    name.strip_prefix("palisade-")
}

/// The normal and build dependencies of a package.
fn used(package: &Package) -> BTreeSet<&str> {
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Development)
        .map(|dependency| dependency.name.as_str())
        .collect()
}

fn own_dependencies(metadata: &Metadata) -> BTreeMap<&str, BTreeSet<&str>> {
    metadata
        .packages
        .iter()
        .filter_map(|package| {
            let name = short(package.name.as_str())?;
            Some((name, used(package).into_iter().filter_map(short).collect()))
        })
        .collect()
}

#[test]
fn every_crate_keeps_to_its_row() {
    let metadata = metadata();
    let table: BTreeMap<&str, BTreeSet<&str>> = TABLE
        .iter()
        .map(|(name, may_use)| (*name, may_use.iter().copied().collect()))
        .collect();
    for (name, uses) in own_dependencies(&metadata) {
        if name == "cli" {
            continue;
        }
        let may_use = table
            .get(name)
            .unwrap_or_else(|| panic!("crate {name} is not in the table"));
        let too_much: Vec<_> = uses.difference(may_use).collect();
        assert!(too_much.is_empty(), "{name} must not use {too_much:?}");
    }
}

#[test]
fn independent_accounts_stay_apart() {
    let metadata = metadata();
    let direct = own_dependencies(&metadata);
    for &(one, other) in APART {
        let mut reached = BTreeSet::new();
        let mut open = vec![one];
        while let Some(name) = open.pop() {
            let uses = direct.get(name).into_iter().flatten().copied();
            open.extend(uses.filter(|used| reached.insert(*used)));
        }
        assert!(!reached.contains(other), "{one} must not know of {other}");
    }
}

#[test]
fn libraries_have_typed_errors_and_one_crate_has_the_solver() {
    let metadata = metadata();
    for package in &metadata.packages {
        let uses = used(package);
        let name = package.name.as_str();
        if !["palisade-cli", "palisade-soak"].contains(&name) {
            assert!(!uses.contains("anyhow"), "{name} is a library");
            assert!(!uses.contains("clap"), "{name} is a library");
        }
        if name != "palisade-logic" {
            assert!(
                !uses.contains("z3"),
                "{name} asks the solver by palisade-logic"
            );
        }
        if name != "palisade-cluster" {
            assert!(!uses.contains("timely"), "{name} knows no other processes");
        }
        if name != "palisade-cli" {
            assert!(
                !uses.contains("palisade-cluster"),
                "{name} is for one process"
            );
        }
        assert!(
            name == "palisade-soak" || !uses.contains("palisade-arbitrary"),
            "{name}: for tests only"
        );
    }
}

/// A file of tests that `tests/main.rs` does not name would never run.
#[test]
fn every_file_of_tests_is_run() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seen = 0;
    for entry in std::fs::read_dir(crates).expect("the crates are there") {
        let tests = entry.expect("a folder").path().join("tests");
        let Ok(main) = std::fs::read_to_string(tests.join("main.rs")) else {
            continue;
        };
        for file in std::fs::read_dir(&tests).expect("tests are there") {
            let path = file.expect("a file").path();
            let name = path.file_stem().and_then(|n| n.to_str()).unwrap_or("");
            let is_rust = path.extension().is_some_and(|e| e == "rs");
            if is_rust && name != "main" {
                seen += 1;
                assert!(
                    main.lines().any(|line| line == format!("mod {name};")),
                    "{} is not in main.rs",
                    path.display()
                );
            }
        }
    }
    assert!(seen > 100, "{seen} files of tests");
}

/// Unit tests of a crate that says it has none would never run.
#[test]
fn every_unit_test_is_run() {
    fn has_tests(folder: &std::path::Path) -> bool {
        let entries = std::fs::read_dir(folder).expect("the sources are there");
        entries
            .map(|entry| entry.expect("a file").path())
            .any(|path| {
                if path.is_dir() {
                    return has_tests(&path);
                }
                std::fs::read_to_string(&path).is_ok_and(|text| text.contains("#[test]"))
            })
    }
    let metadata = metadata();
    let mut without = 0;
    for target in metadata
        .packages
        .iter()
        .flat_map(|package| &package.targets)
    {
        let sources = target
            .src_path
            .parent()
            .filter(|folder| folder.ends_with("src"));
        if let Some(sources) = sources.filter(|_| !target.test && !target.is_custom_build()) {
            without += 1;
            assert!(
                !has_tests(sources.as_std_path()),
                "{} has tests",
                target.name
            );
        }
    }
    assert!(without > 3, "{without} crates without unit tests");
}
