//! Certificates of sets: the check accepts those of right sets, with any number of further nodes in its fragments, and refuses forged ones.
//! What it accepts at all ([`close`]) are right sets only.

use std::fs;
use std::path::PathBuf;

use palisade_linearize::sets::certificate::{What, close, parse};
use palisade_linearize::sets::{Certificate, Refusal, prove};
use palisade_linearize::{Found, Options, explore};
use palisade_program::Source;
use palisade_program::heap::Program;

fn parsed(text: &str) -> Program {
    match palisade_frontend::heap::parse(Source::new("set.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{}", errors.render(false)),
    }
}

fn example(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/linear");
    fs::read_to_string(folder.join(format!("{name}.pal"))).expect("the example can be read")
}

fn certificate(program: &Program) -> Certificate {
    match prove(program, None) {
        Ok(Ok(proof)) => proof.certificate,
        other => panic!("not proved: {:?}", other.map(|o| o.map(|_| ()))),
    }
}

fn refusal(program: &Program, text: &str) -> Option<What> {
    let certificate = parse(text).unwrap_or_else(|wrong| panic!("{wrong}"));
    certificate.check(program, None).err().map(|no| no.what)
}

#[test]
fn what_is_written_can_be_read() {
    for name in ["coarse_set", "lazy_set", "harris_set"] {
        let made = certificate(&parsed(&example(name)));
        let read = parse(&made.to_string()).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        assert_eq!(read, made, "{name}");
    }
}

/// The cut-off: further nodes in the fragments change nothing.
#[test]
fn more_nodes_change_nothing() {
    for (name, more) in [("coarse_set", 2), ("lock_coupling_set", 1), ("lazy_set", 1)] {
        let program = parsed(&example(name));
        let made = certificate(&program);
        let checked = made.check_with(&program, more, None);
        assert!(checked.is_ok(), "{name}: {checked:?}");
    }
}

/// Whether a view says the same as another, or less: links that are not known.
fn says_less(view: &str, than: &str) -> bool {
    let alike = |(a, b): (&str, &str)| match (a.rsplit_once(':'), b.rsplit_once(':')) {
        (Some((a, link)), Some((b, other))) => a == b && (link == "?" || link == other),
        _ => a == b,
    };
    let words = view.split(' ').count() == than.split(' ').count();
    words && view.split(' ').zip(than.split(' ')).all(alike)
}

/// Without a view the certificate is refused, unless another view says less.
#[test]
fn views_that_are_missing_are_missed() {
    for (name, every) in [
        ("coarse_set", 9),
        ("lock_coupling_set", 17),
        ("harris_set", 700),
    ] {
        let program = parsed(&example(name));
        let text = certificate(&program).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let (mut refused, mut spare) = (0, 0);
        for dropped in (0..lines.len()).step_by(every) {
            if !lines[dropped].starts_with("view ") {
                continue;
            }
            let rest: Vec<&str> = (lines.iter().enumerate())
                .filter(|(n, _)| *n != dropped)
                .map(|(_, line)| *line)
                .collect();
            if refusal(&program, &rest.join("\n")).is_some() {
                refused += 1;
            } else {
                let mut others = rest.iter();
                assert!(
                    others.any(|other| says_less(other, lines[dropped])),
                    "{name}: nobody misses {}",
                    lines[dropped]
                );
                spare += 1;
            }
        }
        println!("{name}: {refused} refused, {spare} superfluous");
        assert!(
            refused > spare,
            "{name}: {refused} refused, {spare} superfluous"
        );
    }
}

#[test]
fn changed_lines_are_refused() {
    let program = parsed(&example("lazy_set"));
    let text = certificate(&program).to_string();
    assert_eq!(refusal(&program, &text), None);
    // Which nodes are not in the set.
    for mark in ["mark none", "mark 0 0"] {
        assert!(
            refusal(&program, &text.replace("mark 0 1", mark)).is_some(),
            "{mark}"
        );
    }
    // Kinds of nodes and links: without all of one sort, and one by one where it is in use.
    for word in ["kind ", "link ", "view "] {
        let rest: Vec<&str> = text.lines().filter(|l| !l.starts_with(word)).collect();
        assert!(
            refusal(&program, &rest.join("\n")).is_some(),
            "without {word}"
        );
    }
    for line in [
        "kind < listed 0",
        "kind = left 1",
        "link < null",
        "link u =",
    ] {
        let rest: Vec<&str> = text.lines().filter(|l| *l != line).collect();
        assert!(rest.len() < text.lines().count(), "it has {line}");
        assert!(
            refusal(&program, &rest.join("\n")).is_some(),
            "without {line}"
        );
    }
    // What calls have seen, locks they hold, whether the key is in: all views at once.
    for (old, new) in [
        (" in i", " in -"),
        (":0:1:", ":0:0:"),
        (" in ", " out "),
        ("d 0 0", "- 0 0"),
    ] {
        assert!(text.contains(old), "{old}");
        assert!(
            refusal(&program, &text.replace(old, new)).is_some(),
            "{old} as {new}"
        );
    }
    // A view more than there are does no harm if no call can have it: where the root leads to null, no key is in.
    let entry = text.lines().find(|l| l.starts_with("view 0 0 = out "));
    let (known, _) = entry.and_then(|l| l.rsplit_once('|')).expect("calls begin");
    let nowhere = format!("{known}| ^l:0:0:0").replace(" out -o- ", " in i-- ");
    let more = text.replace("\nend", &format!("\n{nowhere}\nend"));
    assert_eq!(refusal(&program, &more), None);
}

#[test]
fn certificates_are_for_their_program() {
    let lazy = parsed(&example("lazy_set"));
    let text = certificate(&lazy).to_string();
    // Harmless, but another program.
    let other = parsed(
        &example("lazy_set").replace("return !c.removed;", "bool b = c.removed; return !b;"),
    );
    assert_eq!(refusal(&other, &text), Some(What::Fingerprint));
    // Wrong programs with the certificate of the right one, and their own fingerprint.
    for (old, new) in [
        (
            "if (!p.removed && !c.removed && p.next == c)",
            "if (!c.removed && p.next == c)",
        ),
        ("return !c.removed;", "return c.removed;"),
        ("c.removed = true;\n", ""),
    ] {
        let text = example("lazy_set");
        assert!(text.contains(old), "{old}");
        let wrong = parsed(&text.replace(old, new));
        let forged = certificate(&lazy).forged(&wrong);
        let no = forged.check(&wrong, None).err().map(|no| no.what);
        assert!(
            no.is_some_and(|no| no != What::Fingerprint),
            "{old}: {no:?}"
        );
    }
}

#[test]
fn malformed_certificates_are_errors() {
    let program = parsed(&example("coarse_set"));
    let text = certificate(&program).to_string();
    for (old, new) in [
        ("\nend\n", "\n"),
        ("\nend\n", "\nend\nend\n"),
        ("mark none", "mark 9 1"),
        ("mark none\n", ""),
        ("kind ", "sort "),
        ("view 0 ", "view 0 0 "),
        (" | ", " "),
    ] {
        assert!(text.contains(old), "{old}");
        assert!(
            parse(&text.replacen(old, new, 1)).is_err(),
            "{old:?} as {new:?}"
        );
    }
    // Numbers of nothing are no views of the program.
    for (old, new) in [
        ("view 0 ", "view 9 "),
        ("^l:", "<l:"),
        ("view 0 0 ", "view 0 999 "),
    ] {
        assert!(text.contains(old), "{old}");
        let read = parse(&text.replacen(old, new, 1));
        let refused = read.is_ok_and(|read| read.check(&program, None).is_err());
        assert!(refused, "{old:?} as {new:?}");
    }
}

/// What the check accepts at all: right sets, and not those with a bug, whatever views one writes.
#[test]
fn closing_accepts_right_sets_only() {
    for name in ["coarse_set", "lock_coupling_set", "lazy_set"] {
        let program = parsed(&example(name));
        let closed = close(&program, 100_000).unwrap_or_else(|no| panic!("{name}: {no:?}"));
        let checked = closed.check(&program, None);
        assert!(checked.is_ok(), "{name}: {checked:?}");
    }
    for (name, old, new) in [
        (
            "coarse_set",
            "    p.next = n;\n    unlock(l);",
            "    unlock(l);\n    p.next = n;",
        ),
        ("coarse_set", "n.next = c;\n", ""),
        (
            "lock_coupling_set",
            "n = c.next;\n    p.next = n;",
            "p.next = null;",
        ),
        (
            "lazy_set",
            "if (!p.removed && !c.removed && p.next == c)",
            "if (true)",
        ),
        ("lazy_set", "return !c.removed;", "return true;"),
    ] {
        let text = example(name);
        assert!(text.contains(old), "{name}: {old}");
        let closed = close(&parsed(&text.replace(old, new)), 100_000);
        let no = closed.map(|_| ()).map_err(|no| no.what);
        println!("{name}: {no:?}");
        assert!(
            matches!(no, Err(What::Step(_) | What::Other(_))),
            "{name}, {old}: {no:?}"
        );
    }
}

/// A `contains` that takes the lock only where it finds the key.
const LOOKS_FIRST: (&str, &str) = (
    "    bool found;\n    lock(l);\n",
    "    bool found;
    c = head;
    c = c.next;
    while (c != null && c.key < k) c = c.next;
    if (c == null || c.key != k) return false;
    lock(l);
",
);

/// How `remove` unlinks a node.
const UNLINKS: &str = "    n = c.next;\n    p.next = n;\n";

/// Another round of `remove`.
const AGAIN: &str = "    p.next = n;
    unlock(l);
    lock(l);
    p = head;
    c = p.next;
    while (c != null && c.key < k) { p = c; c = c.next; }
    if (c != null && c.key == k) { n = c.next; p.next = n; }
    unlock(l);
    return true;
}

method contains";

/// A set, what is changed, the rule that refuses it, whether a short run is wrong.
type Case = (
    &'static str,
    &'static [(&'static str, &'static str)],
    Option<Refusal>,
    bool,
);

/// Sets that break one rule of the check, and are refused because of it: without the rule they would be accepted, or refused for
/// another reason.
#[test]
fn every_rule_is_needed() {
    let cases: &[Case] = &[
        ("coarse_set", &[LOOKS_FIRST], None, false),
        // What others read behind a node that has left is the end of the list.
        (
            "coarse_set",
            &[
                LOOKS_FIRST,
                (
                    UNLINKS,
                    "    n = c.next;\n    p.next = n;\n    c.next = null;\n",
                ),
            ],
            Some(Refusal::LinkOfLeft),
            true,
        ),
        // It comes back.
        (
            "coarse_set",
            &[(
                UNLINKS,
                "    n = c.next;\n    p.next = n;\n    p.next = c;\n",
            )],
            Some(Refusal::LinkToLeft),
            true,
        ),
        // What another call has put in between is removed as well.
        (
            "coarse_set",
            &[(
                "    p.next = n;\n    unlock(l);\n    return true;\n}\n\nmethod contains",
                AGAIN,
            )],
            Some(Refusal::Twice),
            true,
        ),
        (
            "coarse_set",
            &[(
                "n.next = c;\n",
                "p = head;\n    c = p.next;\n    n.next = c;\n",
            )],
            Some(Refusal::Unsorted),
            true,
        ),
        (
            "coarse_set",
            &[("if (c == null || c.key != k)", "if (c == null)")],
            Some(Refusal::OthersKey),
            true,
        ),
        (
            "coarse_set",
            &[(
                "    return true;\n}\n\nmethod remove",
                "    lock(l);\n    return true;\n}\n\nmethod remove",
            )],
            Some(Refusal::StillHeld),
            false,
        ),
        (
            "lazy_set",
            &[(
                "if (!p.removed && p.next == c) {\n            if (c",
                "if (p.next == c) {\n            if (c",
            )],
            Some(Refusal::LinkOfMarked),
            true,
        ),
        // Others act between two reads of one bit.
        (
            "lazy_set",
            &[
                ("node p, c, n;", "node p, c, n;\n    bool b, d;"),
                (
                    "        lock(p.l);\n        if (!p.removed && p.next == c) {\n            if (c",
                    "        if (c != null && c.key == k) {
            b = c.removed;
            d = c.removed;
            if (b != d) return true;
        }
        lock(p.l);
        if (!p.removed && p.next == c) {
            if (c",
                ),
            ],
            Some(Refusal::Result),
            true,
        ),
        // Wrong only where the node before has left, the next has the key, and this was in all the time.
        (
            "coarse_set",
            &[
                ("    node next;\n", "    node next;\n    bool gone;\n"),
                (
                    UNLINKS,
                    "    n = c.next;\n    p.next = n;\n    c.gone = true;\n",
                ),
                (
                    "    node c;\n    bool found;\n    lock(l);\n",
                    "    node p, c, n;
    bool found;
    p = head;
    c = p.next;
    while (c != null && c.key < k) { p = c; c = c.next; }
    if (c != null && c.key == k && p.gone) {
        n = c.next;
        if (n == null && p.next == c) return false;
    }
    lock(l);
",
                ),
            ],
            Some(Refusal::Result),
            true,
        ),
    ];
    for (name, changes, refusal, refuted) in cases {
        let mut text = example(name);
        for (old, new) in *changes {
            assert!(text.contains(old), "{name} has no {old}");
            text = text.replace(old, new);
        }
        let program = parsed(&text);
        let no = close(&program, 100_000).err().map(|no| no.what);
        assert_eq!(no, refusal.map(What::Step), "{text}");
        if *refuted {
            let options = Options {
                threads: 2,
                calls: 4,
                ..Options::default()
            };
            let search = explore(&program, &options).unwrap_or_else(|failure| panic!("{failure}"));
            assert!(
                matches!(search.found, Found::Wrong(_)),
                "not refuted: {text}"
            );
        }
    }
}
