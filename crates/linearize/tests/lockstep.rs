//! Objects without lists, in lockstep with their specification: what `palisade-verify` proves of
//! the translation, and what must not be proved.

use palisade_linearize::lockstep::{Nodes, translate};
use palisade_linearize::{Found, Options, check_commits, explore};
use palisade_program::heap::Program;
use palisade_program::{Count, Model, Source, Verdict};
use palisade_verify::verify;

fn read(text: &str) -> Program {
    match palisade_frontend::heap::parse(Source::new("object.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

fn example(name: &str) -> Program {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/linear");
    let text = std::fs::read_to_string(format!("{folder}/{name}.pal"));
    read(&text.expect("the example can be read"))
}

/// The verdict on the translation, without the machine's searches for bugs.
fn verdict(program: &Program, picks: &[usize]) -> Verdict {
    let made = translate(program, picks, Nodes::Any).unwrap_or_else(|no| panic!("{}", no.what));
    let options = palisade_verify::Options {
        max_rounds: 30,
        ..palisade_verify::Options::default()
    };
    let report = verify(&made.program, &options);
    assert!(report.certified || !matches!(report.verdict, Verdict::Holds));
    report.verdict
}

fn message(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Violated(violation) => &violation.message,
        Verdict::Holds => "holds",
        Verdict::Unknown(_) => "unknown",
    }
}

fn refused(text: &str) -> String {
    translate(&read(text), &[], Nodes::Any).map_or_else(|no| no.what, |_| "translated".to_owned())
}

const COUNTER: &str = "
spec {
    shared int n;
    operation up() { n = n + 1; }
    operation down() { assume(n > 0); n = n - 1; }
    operation read() returns int { return n; }
}
shared int c;
";

#[test]
fn examples_are_proved() {
    for name in ["cas_counter", "elimination_slot", "semaphore"] {
        assert_eq!(message(&verdict(&example(name), &[])), "holds", "{name}");
    }
}

/// Where the specification may always fail, one way must be picked for each commit point.
#[test]
fn choices_of_the_specification_are_picked() {
    let program = example("pair_register");
    let made = translate(&program, &[], Nodes::Any).expect("it is supported");
    assert_eq!(made.choices, [2, 2]);
    assert_ne!(message(&verdict(&program, &[])), "holds");
    assert_eq!(message(&verdict(&program, &[0, 1])), "holds");
    assert_ne!(message(&verdict(&program, &[1, 1])), "holds");
}

/// A block whose specification cannot go on must not make the step impossible.
#[test]
fn an_impossible_operation_is_no_proof() {
    let text = format!(
        "{COUNTER}
        method up() {{ atomic {{ c++; commit; }} }}
        method down() {{ atomic {{ c--; commit; }} }}
        method read() returns int {{ int v; v = c; commit; return v; }}"
    );
    let found = verdict(&read(&text), &[]);
    assert!(
        message(&found).contains("does not allow"),
        "{}",
        message(&found)
    );
    let waits = text.replace("{ c--;", "{ assume(c > 0); c--;");
    assert_eq!(message(&verdict(&read(&waits), &[])), "holds");
}

#[test]
fn wrong_commit_points_are_seen() {
    let text = format!(
        "{COUNTER}
        method up() {{ atomic {{ c++; }} commit; }}
        method read() returns int {{ int v; v = c; commit; return v; }}"
    );
    let cases = [
        (text.clone(), "holds"),
        (
            text.replace("{ c++; } commit;", "{ c++; }"),
            "not taken effect",
        ),
        (text.replace("} commit;", "} commit; commit;"), "twice"),
        (
            text.replace("v = c; commit;", "commit; v = c;"),
            "another result",
        ),
        (text.replace("v = c; commit;", "v = c; confirm;"), "noted"),
        (
            text.replace("v = c; commit;", "v = c; commit later; confirm;"),
            "holds",
        ),
        (
            text.replace("} commit;", "commit later; } confirm;"),
            "noted",
        ),
    ];
    for (text, expected) in cases {
        let found = verdict(&read(&text), &[]);
        assert!(
            message(&found).contains(expected),
            "{}: {text}",
            message(&found)
        );
        let options = Options::default();
        let commits = check_commits(&read(&text), &options).expect("the specification is sound");
        let wrong = matches!(commits.found, Found::Wrong(_));
        assert_eq!(wrong, expected != "holds", "{text}");
    }
}

/// Locks, tags, nodes of several fields, blocks with several ends, and commits on what is shared.
#[test]
fn all_kinds_of_words() {
    let text = "
    spec {
        shared data a;
        shared data b;
        shared bool set;
        operation put(data x, data y) returns bool { if (set) return false; set = true; a = x; b = y; return true; }
        operation get() returns data { if (!set) return empty; set = false; return b; }
        operation peek() returns data { if (set) return a; return empty; }
        operation full() returns bool { return set; }
    }
    struct pair { data first; data second; }
    shared lock l;
    shared counted pair at;
    shared int n;
    never n == 3;
    init { n = 1; }
    method put(data x, data y) returns bool {
        pair p = new pair;
        counted pair old;
        p.first = x;
        p.second = y;
        lock(l);
        old = at;
        commit when old != null;
        if (old != null) { unlock(l); return false; }
        at = pack(p, old.count + 1);
        commit when at != null;
        unlock(l);
        return true;
    }
    method get() returns data {
        counted pair old;
        while (true) {
            old = at;
            commit when old == null;
            if (old == null) return empty;
            if (cas(at, old, pack(null, old.count + 1))) { commit; break; }
        }
        free(old.ptr);
        return old.second;
    }
    method peek() returns data {
        counted pair old;
        atomic {
            old = at;
            if (old == null) { commit; return empty; }
            commit;
        }
        return old.first;
    }
    method full() returns bool {
        bool b = false;
        counted pair p;
        p = at;
        commit;
        if (p != null) b = true;
        return b;
    }";
    let program = read(text);
    assert_eq!(message(&verdict(&program, &[])), "holds");
    let wrong = [
        ("return old.second", "return old.first", "another result"),
        ("lock(l);\n        old", "old", "not hold"),
        (
            "if (old == null) return empty",
            "if (old != null) return empty",
            "effect",
        ),
        (
            "pack(null, old.count + 1)",
            "pack(old.ptr, old.count + 1)",
            "another result",
        ),
        ("init { n = 1; }", "init { n = 3; }", "never"),
        (
            "return old.first;\n    }",
            "return old.first;\n    } method other() { pair q; q.first = empty; }",
            "",
        ),
    ];
    for (from, to, expected) in wrong {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let Ok(parsed) = palisade_frontend::heap::parse(Source::new("object.pal", &*changed))
        else {
            continue;
        };
        let found = verdict(&parsed.program, &[]);
        assert!(
            message(&found).contains(expected),
            "{}: {changed}",
            message(&found)
        );
    }
    let search = explore(&program, &Options::default()).expect("the specification is sound");
    assert!(matches!(search.found, Found::Nothing));
}

#[test]
fn what_cannot_be_said_is_refused() {
    let body = "method f() { n n1 = new n; at = n1; commit; }";
    let nodes = |fields: &str| {
        format!("spec {{ operation f() {{}} }} struct n {{ {fields} }} shared n at; {body}")
    };
    assert_eq!(refused(&nodes("data v;")), "translated");
    assert_eq!(refused(&nodes("n next;")), "a pointer in a node");
    assert_eq!(refused(&nodes("lock l;")), "a lock in a node");
    let late = nodes("int v;").replace("at = n1;", "at = n1; n1.v = 2;");
    assert_eq!(refused(&late), "a write to a node that others may know");
    let copied = nodes("int v;").replace("at = n1;", "n n2 = n1; n2.v = 2; at = n1;");
    assert_eq!(refused(&copied), "a write to a node that others may know");
    let early = nodes("int v;").replace("at = n1;", "n1.v = 2; at = n1;");
    assert_eq!(refused(&early), "translated");
    let endless =
        "spec { shared int k; operation f() { while (k > 0) k = k - 1; } } method f() { commit; }";
    assert_eq!(refused(endless), "a loop in the specification");
    let any =
        "spec { operation f() {} } shared int k; init { int i = *; k = i; } method f() { commit; }";
    assert_eq!(refused(any), "`*` in `init`");
    let two =
        "spec { operation f() {} } shared int k; init { if (*) k = 1; } method f() { commit; }";
    assert_eq!(refused(two), "an `init` with several ends or none");
    let stack = "spec stack; method push(data v) { commit; }";
    assert!(refused(stack).contains("as the state of the specification"));
}

/// Two cells, of which a snapshot is taken by reading both twice: right because no two nodes have
/// the same number.
const SNAPSHOT: &str = "
spec {
    shared bool a; shared bool b;
    operation left(bool v) { a = v; }
    operation right(bool v) { b = v; }
    operation same() returns bool { return a == b; }
}
struct cell { bool v; }
shared cell x, y;
init { x = new cell; y = new cell; }
method left(bool v) { cell c = new cell; c.v = v; x = c; commit; }
method right(bool v) { cell c = new cell; c.v = v; y = c; commit; }
method same() returns bool {
    cell p, q, r, s; bool i, j;
    while (true) {
        p = x; q = y; r = x; commit later; s = y;
        if (p == r && q == s) { i = p.v; j = q.v; confirm; return i == j; }
    }
}";

/// With any numbers there are runs that the object does not have, and the translation says so; where
/// nodes are counted the machine finds none that is wrong, but those of a wrong snapshot.
#[test]
fn counted_nodes_are_those_of_the_object() {
    let bugs = |text: &str, nodes: Nodes| {
        let made = translate(&read(text), &[], nodes).unwrap_or_else(|no| panic!("{}", no.what));
        let mut program = made.program;
        for template in &mut program.templates {
            template.count = Count::Fixed(2);
        }
        let options = palisade_machine::Options {
            max_states: Some(150_000),
            ..palisade_machine::Options::new(Model::Sc)
        };
        let found = palisade_machine::explore(&program, &options).expect("it fits the model");
        (
            made.has_more_runs,
            matches!(found.verdict, Verdict::Violated(_)),
        )
    };
    assert_eq!(bugs(SNAPSHOT, Nodes::Counted), (false, false));
    let once = SNAPSHOT.replacen("p == r && q == s", "p == r", 1);
    assert_eq!(bugs(&once, Nodes::Counted), (false, true));
}

/// A ring with one thread at each end, an assertion, and a number that a thread keeps: all by the proof for any number of threads.
#[test]
fn arrays_roles_assertions_and_what_threads_keep() {
    let ring = example("spsc_ring");
    assert_eq!(message(&verdict(&ring, &[])), "holds");
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/linear/spsc_ring.pal"
    );
    let text = std::fs::read_to_string(folder).expect("the file can be read");
    for (old, new) in [
        (" by producer", ""),
        (" by consumer", ""),
        ("items[t % N] = v", "items[t] = v"),
        ("h == t - N", "h == t - 3"),
    ] {
        let changed = read(&text.replace(old, new));
        assert_ne!(message(&verdict(&changed, &[])), "holds", "{new}");
    }
    let kept = |claim: &str| {
        let text = format!(
            "spec none; shared int c = 0; local int seen = 0;
            method up() {{ int x; do {{ x = c; }} while (!cas(c, x, x + 1)); }}
            method look() {{ int x = c; assert({claim}); seen = x; }}"
        );
        message(&verdict(&read(&text), &[])).to_owned()
    };
    assert_eq!(kept("seen <= x"), "holds");
    assert!(
        kept("seen < x").contains("an assertion fails"),
        "{}",
        kept("seen < x")
    );
}
