//! Programs with known answers. Every program of `examples/` that says
//! `fences: tso=1 pso=1+2` (full fences, `+` store-store fences, as lines of source)
//! is held to it; others stand here.

use crate::common;

use std::fs;
use std::path::Path;

use common::{Found, synthesized};
use palisade_fences::cost::Table;
use palisade_fences::{End, Level, Options, Rule, Search};
use palisade_program::Model;

fn all() -> Options {
    Options {
        all: true,
        ..Options::default()
    }
}

fn minimum(text: &str, model: Model) -> Found {
    synthesized(text, model, &Rule::Count, &all())
}

/// The minimum placements, in words.
#[track_caller]
fn check(text: &str, model: Model, expected: &[&str]) {
    let found = minimum(text, model);
    assert_eq!(found.described, expected, "{:?}", found.outcome.end);
    assert!(found.outcome.is_minimum && found.outcome.is_complete);
}

/// Numbers of full and store-store fences.
fn counts(found: &Found) -> (usize, usize) {
    let first = found.described.first().expect("a repair");
    let kind = |name: &str| first.split(", ").filter(|f| f.starts_with(name)).count();
    (kind(Level::Full.name()), kind(Level::StoreStore.name()))
}

/// `1+2` or `1`.
fn announced(text: &str) -> (usize, usize) {
    let (full, ss) = text.split_once('+').unwrap_or((text, "0"));
    (
        full.parse().expect("a number"),
        ss.parse().expect("a number"),
    )
}

#[test]
fn examples_say_how_many() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for folder in [folder.clone(), folder.join("fence")] {
        let entries = fs::read_dir(folder).expect("the examples are there");
        let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let line = text.lines().find_map(|l| l.strip_prefix("// fences: "));
            for word in line.unwrap_or("").split_whitespace() {
                let (model, expected) = word.split_once('=').expect("model=number");
                let model = if model == "tso" {
                    Model::Tso
                } else {
                    Model::Pso
                };
                let found = synthesized(&text, model, &Rule::Count, &Options::default());
                let name = path.display();
                assert!(
                    !found.described.is_empty(),
                    "{name} {model}: {:?}",
                    found.outcome.end
                );
                assert_eq!(counts(&found), announced(expected), "{name} {model}");
                assert!(found.outcome.is_minimum, "{name} {model}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 12, "{seen}");
}

const STORE_BUFFER: &str = "shared x, y;
thread left {
    local r = 0;
    x = 1;
    r = y;
}
thread right {
    local r = 0;
    y = 1;
    r = x;
}
finally left.r == 1 || right.r == 1;
";

#[test]
fn store_buffering_needs_a_fence_in_each_thread() {
    for model in [Model::Tso, Model::Pso] {
        check(
            STORE_BUFFER,
            model,
            &["full after line 4, full after line 9"],
        );
    }
}

#[test]
fn right_already() {
    let text = STORE_BUFFER.replace("1;\n    r =", "1;\n    fence;\n    r =");
    for model in [Model::Tso, Model::Pso] {
        check(&text, model, &["no fence"]);
    }
}

#[test]
fn wrong_under_sc_is_refused_with_the_trace() {
    let text = STORE_BUFFER.replace("||", "&&");
    let found = minimum(&text, Model::Tso);
    let End::WrongUnderSc(violation) = &found.outcome.end else {
        panic!("{:?}", found.outcome.end)
    };
    assert!(!violation.trace.steps.is_empty());
    assert!(violation.trace.steps.iter().all(|s| s.buffers.is_empty()));
    assert!(
        violation
            .trace
            .steps
            .iter()
            .all(|s| !s.text.contains("fence"))
    );
}

#[test]
fn message_passing_needs_a_store_store_fence_under_pso() {
    let text = "shared data, ready;
thread writer {
    data = 1;
    ready = 1;
}
thread reader {
    local d = 1;
    if (ready == 1) d = data;
    assert(d == 1);
}
";
    check(text, Model::Tso, &["no fence"]);
    check(text, Model::Pso, &["ss after line 3"]);
    // A store-store fence that costs more than a full one is not taken.
    let rule = Rule::Table(Table::parse("full 2\nss 3\n").expect("a table"));
    let found = synthesized(text, Model::Pso, &rule, &all());
    assert_eq!(found.described, ["full after line 3"]);
}

#[test]
fn only_marked_places_if_there_are_any() {
    let text = "shared x, y, z;
thread left {
    local r = 0;
    x = 1;
    z = 1;
    fence?;
    r = y;
}
thread right {
    local r = 0;
    y = 1;
    fence;
    r = x;
}
finally left.r == 1 || right.r == 1;
";
    check(text, Model::Tso, &["full at line 6"]);
    let elsewhere = text.replace("    fence?;\n    r = y;", "    r = y;\n    fence?;");
    let found = minimum(&elsewhere, Model::Tso);
    assert!(
        matches!(found.outcome.end, End::NoRepair(_)),
        "{:?}",
        found.outcome.end
    );
}

#[test]
fn costs_choose_the_place() {
    // A fence in the loop, or one before it.
    let text = "shared x, y, z;
thread left {
    local r = 0;
    local i = 0;
    x = 1;
    while (i < 2) {
        z = i;
        r = y;
        i = i + 1;
    }
}
thread right {
    local r = 0;
    y = 1;
    fence;
    r = x;
}
finally left.r == 1 || right.r == 1;
";
    let found = synthesized(text, Model::Tso, &Rule::Loops, &all());
    assert_eq!(found.described, ["full after line 5"]);
    let dear = Rule::Table(Table::parse("full 1\n5 full 9\n").expect("a table"));
    let found = synthesized(text, Model::Tso, &dear, &all());
    assert!(
        found
            .described
            .iter()
            .all(|d| d.ends_with("line 7") || d.ends_with("line 9"))
    );
    assert!(!found.described.is_empty(), "{:?}", found.outcome.end);
}

#[test]
fn at_most_so_many() {
    let options = Options {
        max_fences: Some(1),
        ..all()
    };
    let found = synthesized(STORE_BUFFER, Model::Tso, &Rule::Count, &options);
    assert!(matches!(found.outcome.end, End::TooFew(1)));
}

#[test]
fn the_papers_way_is_right_but_claims_no_minimum() {
    let options = Options {
        search: Search::Paper,
        ..Options::default()
    };
    for model in [Model::Tso, Model::Pso] {
        let found = synthesized(STORE_BUFFER, model, &Rule::Count, &options);
        assert_eq!(found.described, ["full after line 4, full after line 9"]);
        assert!(!found.outcome.is_minimum);
    }
    let wrong = STORE_BUFFER.replace("||", "&&");
    let found = synthesized(&wrong, Model::Tso, &Rule::Count, &options);
    assert!(matches!(found.outcome.end, End::WrongUnderSc(_)));
}

#[test]
fn a_fence_in_a_function_serves_all_calls() {
    let text = "shared x, y;
fn swap_in(mine) {
    if (mine == 0) x = 1; else y = 1;
}
thread t[2] {
    local r = 0;
    swap_in(self);
    if (self == 0) r = y; else r = x;
}
finally t[0].r == 1 || t[1].r == 1;
";
    let found = minimum(text, Model::Tso);
    assert!(found.outcome.is_minimum);
    assert_eq!(counts(&found), (1, 0));
}

#[test]
fn identical_threads_get_the_same_fences() {
    // Two writers written out: one fence would do for neither.
    let writer = |name: &str| format!("thread {name} {{\n    data = 1;\n    ready = 1;\n}}\n");
    let text = format!(
        "shared data, ready;\n{}{}thread reader {{\n    local d = 1;\n    \
         if (ready == 1) d = data;\n    assert(d == 1);\n}}\n",
        writer("first"),
        writer("second")
    );
    let found = minimum(&text, Model::Pso);
    assert_eq!(found.described, ["ss after line 3, ss after line 7"]);
    // One decision for the two threads: one bug and one proof.
    assert_eq!(found.outcome.rounds, 2);
}

/// [Abdulla et al., SAS 2012, table 1]: fences per process under TSO, and ours under PSO, as lines of
/// source: Burns, Dekker and the bakery have both processes written out. Dijkstra's
/// algorithm stores without bound between fences.
#[test]
fn classical_algorithms() {
    let rows = [
        ("burns", "2", "2"),
        ("dekker", "2", "2"),
        ("peterson", "1", "1+1"),
        ("lamport_fast", "2", "2+1"),
        ("bakery_unbounded", "4", "4"),
        ("ticket_unbounded", "0", "0"),
        ("ticket", "0", "0+1"),
        ("mp", "0", "0+1"),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (name, tso, pso) in rows {
        let text = fs::read_to_string(folder.join(name).with_extension("pal")).expect("a text");
        let bare = |line: &&str| !line.trim_start().starts_with("fence");
        let text: String = text.split_inclusive('\n').filter(bare).collect();
        for (model, expected) in [(Model::Tso, tso), (Model::Pso, pso)] {
            let found = synthesized(&text, model, &Rule::Count, &Options::default());
            assert!(found.outcome.is_minimum, "{name}: {:?}", found.outcome.end);
            assert_eq!(counts(&found), announced(expected), "{name} {model}");
        }
    }
}

/// The second proof of a program starts from the predicates and answers of the first.
#[test]
fn verifications_share_their_work() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let text = fs::read_to_string(folder.join("bakery_unbounded.pal")).expect("a text");
    let program = common::gapped(&text).program;
    let options = palisade_verify::Options {
        model: Model::Tso,
        ..palisade_verify::Options::default()
    };
    let knowledge = palisade_verify::Knowledge::default();
    let first = palisade_verify::verify_with(&program, &options, &knowledge);
    let second = palisade_verify::verify_with(&program, &options, &knowledge);
    for report in [&first, &second] {
        assert_eq!(report.verdict, palisade_program::Verdict::Holds);
        assert!(report.certified);
    }
    assert!(first.stats.iterations > 1 && second.stats.iterations < first.stats.iterations);
    // Certificates are checked anew; what the search asks is remembered.
    let calls = |report: &palisade_verify::Report| -> u64 {
        let search = report.stats.solver_calls.iter();
        search.filter(|(p, _)| *p != "certify").map(|c| c.1).sum()
    };
    assert!(calls(&second) <= calls(&first));
}

/// A store in the parts of a `for` has a place behind it: the head of the loop.
#[test]
fn parts_of_a_for() {
    let text = "shared x = 0, y = 0;\n\
        thread t { local r = 0;\n\
        for (x = 1; y == 0; r = 1) { in: return; } }\n\
        thread u { y = 1; fence; if (x == 0) { cs: skip; } }\n\
        never t@in && u@cs;\n";
    for model in [Model::Tso, Model::Pso] {
        let found = minimum(text, model);
        assert_eq!(found.described, ["full before line 3"], "{model}");
    }
    let update = text.replace("x = 1; y == 0; r = 1", "r = 0; r == 0 || y == 0; x = 1");
    let update = update.replace("in: return;", "if (r == 1) { in: return; } r = 1;");
    for model in [Model::Tso, Model::Pso] {
        let found = minimum(&update, model);
        assert_eq!(counts(&found), (1, 0), "{model}: {:?}", found.described);
    }
}

/// Two jumps to one label: one fence behind the label serves both stores.
#[test]
fn a_label_joins() {
    let text = "shared x = 0, y = 0;\n\
        thread t {\n\
        if (*) { x = 1; goto out; }\n\
        x = 2; goto out;\n\
        out: if (y == 0) { in: skip; } }\n\
        thread u { y = 1; fence; if (x == 0) { cs: skip; } }\n\
        never t@in && u@cs;\n";
    check(text, Model::Tso, &["full before line 5"]);
    check(text, Model::Pso, &["full before line 5"]);
}

/// Buffers that are too small leave cheap placements undecided: what is found then is
/// a repair, and is not called a minimum.
#[test]
fn undecided_placements_end_in_some_repair() {
    let text = "shared x = 0, y = 0, z = 0, w = 0;\n\
        thread t { x = 1; z = 1; z = 2; if (y == 0) { in: skip; } }\n\
        thread u { y = 1; w = 1; w = 2; if (x == 0) { cs: skip; } }\n\
        never t@in && u@cs;\n";
    let options = Options {
        max_undecided: 1,
        verify: palisade_verify::Options {
            buffers: palisade_verify::Buffers::Bounded(palisade_verify::Sizes {
                default: 1,
                named: std::collections::BTreeMap::new(),
            }),
            ..palisade_verify::Options::default()
        },
        ..Options::default()
    };
    let found = synthesized(text, Model::Tso, &Rule::Count, &options);
    assert!(matches!(found.outcome.end, End::Repaired(_)));
    assert!(!found.outcome.is_minimum && !found.outcome.undecided.is_empty());
    assert_eq!(counts(&found), (4, 0), "{:?}", found.described);
    let at_most = Options {
        max_fences: Some(3),
        ..options
    };
    let found = synthesized(text, Model::Tso, &Rule::Count, &at_most);
    assert!(matches!(found.outcome.end, End::Unknown(_)));
}

/// Store buffering in a ring: every process needs its fence. One that lacks it is enough for the
/// bug, so that each bug should exclude half of all placements.
#[test]
fn a_bug_of_a_ring_excludes_half_of_the_placements() {
    let n = 7;
    let process = |i: usize| {
        let next = (i + 1) % n;
        format!("thread t{i} {{ local r = 1; x{i} = 1; r = x{next}; }}")
    };
    let mut lines: Vec<String> = (0..n).map(|i| format!("shared x{i} = 0;")).collect();
    lines.extend((0..n).map(process));
    let all: Vec<String> = (0..n).map(|i| format!("t{i}.r == 0")).collect();
    lines.push(format!("finally !({});", all.join(" && ")));
    let text = lines.join("\n");
    let found = synthesized(&text, Model::Tso, &Rule::Count, &Options::default());
    assert!(found.outcome.is_minimum, "{:?}", found.outcome.end);
    assert_eq!(counts(&found), (n, 0));
    assert_eq!((found.outcome.bugs, found.outcome.rounds), (n, n + 1));
}
