//! Sets as sorted lists: right ones are proved for any number of threads, wrong ones are refuted by a
//! short run and never proved.

use std::fs;
use std::path::PathBuf;

use palisade_linearize::sets::certificate::close;
use palisade_linearize::sets::{Refusal, prove};
use palisade_linearize::{Found, Options, explore};
use palisade_program::Source;
use palisade_program::heap::Program;

fn parsed(name: &str, text: &str) -> Program {
    match palisade_frontend::heap::parse(Source::new(name, text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{name}: {}", errors.render(false)),
    }
}

fn text(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/linear");
    fs::read_to_string(folder.join(format!("{name}.pal"))).expect("the example can be read")
}

/// Why the program is not proved.
fn unproved(name: &str, text: &str) -> Option<Refusal> {
    let program = parsed(name, text);
    let outcome = prove(&program, None).unwrap_or_else(|no| panic!("{name}: {no:?}"));
    match outcome {
        Ok(proved) => {
            let checked = proved.certificate.check(&program, None);
            println!("{name}: {checked:?}");
            assert!(checked.is_ok(), "{name}: {checked:?}");
            None
        }
        Err(no) => {
            let line = program.source.position(no.span.start).line;
            println!("{name}: {no:?}, line {line}");
            Some(no.refusal)
        }
    }
}

/// Whether a short run is wrong.
fn refuted(name: &str, text: &str) -> bool {
    let program = parsed(name, text);
    (1..=4).any(|calls| {
        let options = Options {
            threads: 2,
            calls,
            ..Options::default()
        };
        let search = explore(&program, &options).unwrap_or_else(|failure| panic!("{failure}"));
        matches!(search.found, Found::Wrong(_))
    })
}

#[test]
fn examples_are_proved() {
    for name in [
        "coarse_set",
        "lock_coupling_set",
        "optimistic_set",
        "lazy_set",
        "harris_set",
        "harris_segments_set",
    ] {
        assert_eq!(unproved(name, &text(name)), None, "{name}");
    }
}

/// Texts to replace, one of them after the other.
type Changes = &'static [(&'static str, &'static str)];

fn changed(name: &str, changes: Changes) -> String {
    let mut text = text(name);
    for (old, new) in changes {
        assert!(text.contains(old), "{name} has no {old}");
        text = text.replace(old, new);
    }
    text
}

/// The same in other words.
#[test]
fn harmless_changes_are_proved() {
    let cases: &[(&str, Changes)] = &[
        // The argument in a local; another shared pointer that nobody uses, declared first.
        (
            "coarse_set",
            &[
                ("    lock(l);", "    data x = k;\n    lock(l);"),
                ("c.key < k", "x > c.key"),
                ("n.key = k;", "n.key = x;"),
                (
                    "shared node head;",
                    "shared node unused;\nshared node head;",
                ),
            ],
        ),
        // No first node: the shared pointer leads to the first key.
        (
            "coarse_set",
            &[
                (
                    "init {\n    node first = new node;\n    head = first;\n}",
                    "",
                ),
                ("p = head;\n    c = p.next;", "p = null;\n    c = head;"),
                ("p.next = n;", "if (p == null) head = n; else p.next = n;"),
                ("c = head;\n    c = c.next;", "c = head;"),
            ],
        ),
        // Sentinels at both ends.
        (
            "coarse_set",
            &[
                (
                    "    head = first;",
                    "    node last = new node;\n    first.key = -infinity;\n    last.key = infinity;\n    first.next = last;\n    head = first;",
                ),
                ("c != null && c.key", "c.key"),
                ("c == null || c.key", "c.key"),
                ("if (c != null) found", "found"),
            ],
        ),
        // A lock of one's own making.
        (
            "coarse_set",
            &[
                ("shared lock l;", "shared bool l;"),
                ("unlock(l);", "l = false;"),
                ("    lock(l);", "    while (!cas(l, false, true)) {}"),
            ],
        ),
        // One node for all rounds.
        (
            "lazy_set",
            &[
                (
                    "                n = new node;\n                n.key = k;\n",
                    "",
                ),
                (
                    "method add(data k) returns bool {\n    node p, c, n;",
                    "method add(data k) returns bool {\n    node p, c;\n    node n = new node;\n    n.key = k;",
                ),
            ],
        ),
        // The bit says that a node is there.
        (
            "lazy_set",
            &[
                ("bool removed;", "bool there;"),
                ("c.removed = true;", "c.there = false;"),
                ("!p.removed", "p.there"),
                ("!c.removed", "c.there"),
                ("n.key = k;", "n.key = k;\n                n.there = true;"),
                ("head = first;", "first.there = true;\n    head = first;"),
            ],
        ),
    ];
    for (name, changes) in cases {
        let text = changed(name, changes);
        assert_eq!(unproved(name, &text), None, "{text}");
    }
}

/// Bugs that people make: each is found in a short run, and not proved.
#[test]
fn planted_bugs_are_found_and_not_proved() {
    let cases: &[(&str, Changes)] = &[
        // The lock is given back too early, a key is added twice, the rest of the list is dropped.
        (
            "coarse_set",
            &[(
                "    p.next = n;\n    unlock(l);",
                "    unlock(l);\n    p.next = n;",
            )],
        ),
        (
            "coarse_set",
            &[(
                "if (c != null && c.key == k) {",
                "if (c != null && c.key != k) {",
            )],
        ),
        ("coarse_set", &[("n.next = c;\n", "")]),
        // Another comparison; the rest of the list is dropped; a node is unlinked without locks.
        ("lock_coupling_set", &[("c.key == k", "c.key != k")]),
        (
            "lock_coupling_set",
            &[("n = c.next;\n    p.next = n;", "p.next = null;")],
        ),
        (
            "lock_coupling_set",
            &[(
                "    p.next = n;\n    commit;\n    unlock(c.l);\n    unlock(p.l);",
                "    unlock(c.l);\n    unlock(p.l);\n    p.next = n;\n    commit;",
            )],
        ),
        // Nobody looks again; only at the link; only whether the node is there.
        (
            "optimistic_set",
            &[("if (v != null && p.next == c) {", "if (true) {")],
        ),
        (
            "optimistic_set",
            &[("if (v != null && p.next == c) {", "if (p.next == c) {")],
        ),
        (
            "optimistic_set",
            &[("if (v != null && p.next == c) {", "if (v != null) {")],
        ),
        (
            "lazy_set",
            &[("if (!p.removed && !c.removed && p.next == c)", "if (true)")],
        ),
        (
            "lazy_set",
            &[(
                "if (!p.removed && p.next == c) {\n            if (c",
                "if (!p.removed) {\n            if (c",
            )],
        ),
        ("lazy_set", &[("return !c.removed;", "return c.removed;")]),
        // The mark is not looked at; a node is unlinked but not marked; a mark is overwritten.
        ("harris_set", &[("if (s.mark) return false;", "")]),
        (
            "harris_set",
            &[("cas(c.next, s, pack(s.ptr, true))", "!s.mark")],
        ),
        (
            "harris_set",
            &[("n.next = pack(c, false);", "n.next = pack(null, false);")],
        ),
        (
            "harris_segments_set",
            &[("return !s.mark;", "return true;")],
        ),
        (
            "harris_segments_set",
            &[(
                "n.next = pack(right, false);",
                "n.next = pack(null, false);",
            )],
        ),
        (
            "harris_segments_set",
            &[(
                "if (cas(right.next, s, pack(s.ptr, true))) {",
                "if (cas(left.next, pack(right, false), pack(s.ptr, false))) {",
            )],
        ),
    ];
    for (name, changes) in cases {
        let text = changed(name, changes);
        let program = parsed(name, &text);
        let proved = prove(&program, None).is_ok_and(|outcome| outcome.is_ok());
        assert!(!proved, "proved: {text}");
        // Nor does the check accept any views of it.
        assert!(close(&program, 50_000).is_err(), "closed: {text}");
        assert!(refuted(name, &text), "not refuted: {text}");
    }
}

/// Between two atomic blocks others act, also where the second begins with a test of locals.
#[test]
fn others_act_between_atomic_blocks() {
    let text = "spec set;
struct node { data key; node next; }
shared node head;
init { node first = new node; head = first; }
method add(data k) returns bool {
    node p, c, n;
    atomic { p = head; c = p.next; while (c != null && c.key < k) { p = c; c = c.next; } }
    atomic { if (c != null && c.key == k) return false; n = new node; n.key = k; n.next = c; p.next = n; }
    return true;
}
";
    assert!(unproved("blocks", text).is_some());
    assert!(close(&parsed("blocks", text), 50_000).is_err());
    assert!(refuted("blocks", text));
    // One block is right.
    let one = text.replace("} }\n    atomic { if", "} if");
    assert_eq!(unproved("block", &one), None);
}

/// A call begins without knowing what stands beside the shared pointer.
#[test]
fn marks_beside_the_shared_pointer_are_unsupported() {
    let text = "spec set;
struct node { data key; marked node next; }
shared marked node head;
shared lock l;
method contains(data k) returns bool {
    marked node s;
    lock(l); s = head; unlock(l);
    if (s.mark) return false;
    return false;
}
";
    assert!(prove(&parsed("marked", text), None).is_err());
}

#[test]
fn large_programs_are_unsupported() {
    let more = (0..256).map(|k| {
        format!("method x{k}(data k) returns bool as contains {{ assume(false); return true; }}\n")
    });
    let text: Vec<String> = std::iter::once(text("coarse_set")).chain(more).collect();
    assert!(prove(&parsed("large", &text.concat()), None).is_err());
}

#[test]
fn other_shapes_are_unsupported() {
    let two = text("coarse_set").replace("node next;", "node next, back;");
    let no = prove(&parsed("two", &two), None).expect_err("two pointer fields");
    assert!(no.what.contains("several pointers"), "{}", no.what);
    assert!(prove(&parsed("treiber", &text("treiber")), None).is_err());
}
