//! Calls that can never return are noted, and only those.

use palisade_linearize::check::{Checked, Question, Verdict, check};
use palisade_linearize::{Options, Reclaim};
use palisade_program::Source;

const TEXT: &str = "
spec none;
shared int count;
shared lock l;
method increment() {
    lock(l);
    count = count + 1;
    UNLOCK
}
";

fn checked(text: &str) -> Checked {
    let source = Source::new("returns.pal", text);
    let parsed = palisade_frontend::heap::parse(source).unwrap_or_else(|e| panic!("{e}"));
    let question = Question {
        bounds: Options {
            reclaim: Reclaim::Never,
            ..Options::default()
        },
        proof: None,
        stopped: &|| None,
        progress: None,
    };
    check(&parsed.program, &question)
}

fn note(checked: &Checked) -> Option<&String> {
    checked.notes.iter().find(|n| n.contains("never return"))
}

#[test]
fn a_lock_that_is_kept() {
    let found = checked(&TEXT.replace("UNLOCK", "if (count == 1) { unlock(l); }"));
    assert!(
        !matches!(found.verdict, Verdict::Violated(_)),
        "{}",
        found.reason
    );
    let note = note(&found).expect("a note");
    assert!(note.contains("`increment` (line 6)"), "{note}");
}

#[test]
fn a_lock_that_is_given_back() {
    let found = checked(&TEXT.replace("UNLOCK", "unlock(l);"));
    assert_eq!(note(&found), None);
}

#[test]
fn spinning_for_ever() {
    let loops = "while (count == 2) { }";
    let found = checked(&TEXT.replace("UNLOCK", &format!("unlock(l); {loops}")));
    assert!(note(&found).is_some(), "{:?}", found.notes);
}
