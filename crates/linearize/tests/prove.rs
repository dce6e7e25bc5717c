//! Proofs for any number of threads: what is right is proved, what is wrong is not.

use std::fs;
use std::path::PathBuf;

use palisade_linearize::prove::{
    Interleaving, Level, Options, Proof, Soft, emit, prove, prove_at, simplified,
};
use palisade_program::Source;
use palisade_program::heap::{Program, Step};

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

fn attempt(name: &str, text: &str, options: &Options<'_>) -> Proof {
    prove(&parsed(name, text), options).unwrap_or_else(|no| panic!("{name}: {no:?}"))
}

#[test]
fn inc_is_proved() {
    let proof = attempt("inc", &text("inc"), &Options::default());
    assert!(proof.holds(), "{:?} {:?}", proof.reason, proof.messages);
}

/// What is left suffices, and none of it can be left out: without any it is not proved.
#[test]
fn a_smallest_set_of_soft_invariants() {
    let options = Options {
        minimise: true,
        ..Options::default()
    };
    let proof = attempt("inc", &text("inc"), &options);
    assert!(proof.holds());
    let minimal = proof.minimal.expect("it was asked for");
    assert!(minimal.complete && minimal.of == proof.text.soft);
    assert!(!minimal.invariants.is_empty() && minimal.invariants.len() < minimal.of);
    assert!(
        minimal
            .invariants
            .iter()
            .all(|i| i.starts_with("inc, line"))
    );
    let without = Options {
        soft: Soft::None,
        ..options
    };
    let without = attempt("inc", &text("inc"), &without);
    assert!(!without.holds() && without.minimal.is_none());
}

#[test]
fn a_stack_is_proved() {
    let options = Options {
        interleaving: Interleaving::Restricted,
        ..Options::default()
    };
    let proof = attempt("treiber", &text("treiber"), &options);
    assert!(proof.holds(), "{:?} {:?}", proof.reason, proof.messages);
}

const STACK: &str = "spec stack; struct node { node next; data value; } shared node first;";

/// Stacks without races: under one lock, and with steps that nobody interrupts. They tell whether a
/// value that was read is still what memory has, also when it was null.
#[test]
fn stacks_without_races_are_proved() {
    let locked = format!(
        "{STACK} shared lock l;
        method push(data v) {{
            node n = new node; n.value = v;
            lock(l); n.next = first; first = n; commit; unlock(l);
        }}
        method pop() returns data {{
            node t; data v;
            lock(l); t = first; commit when t == null;
            if (t == null) {{ unlock(l); return empty; }}
            first = t.next; commit; unlock(l);
            v = t.value; return v;
        }}"
    );
    let atomic = format!(
        "{STACK}
        method push(data v) {{
            node n = new node; n.value = v;
            atomic {{ n.next = first; first = n; commit; }}
        }}
        method pop() returns data {{
            node t; data v;
            atomic {{ t = first; commit; if (t != null) first = t.next; }}
            if (t == null) return empty;
            v = t.value; return v;
        }}"
    );
    for (name, text) in [("locked", &locked), ("atomic", &atomic)] {
        for interleaving in [Interleaving::Full, Interleaving::Restricted] {
            let options = Options {
                interleaving,
                ..Options::default()
            };
            let proof = attempt(name, text, &options);
            assert!(proof.holds(), "{name}: {:?}", proof.messages);
        }
        // The link is set before the lock is held, or before the block.
        let early = if name == "locked" {
            text.replacen("lock(l); n.next = first;", "n.next = first; lock(l);", 1)
        } else {
            text.replacen("atomic { n.next = first;", "n.next = first; atomic {", 1)
        };
        assert_ne!(early, *text);
        let options = Options {
            max_structures: Some(1_000),
            ..Options::default()
        };
        let proof = prove_at(&parsed(name, &early), &options, Level::Ghosts);
        assert!(!proof.expect("supported").holds(), "{name}");
    }
}

/// A step that others do not notice stands first in an atomic block: they act before it.
#[test]
fn others_act_before_an_atomic_block() {
    let program = format!(
        "{STACK}
        method push(data v) {{
            node n = new node; node t;
            t = first;
            atomic {{ n.value = v; n.next = t; first = n; commit; }}
        }}
        method pop() returns data {{
            node t; data v;
            atomic {{ t = first; commit; if (t != null) first = t.next; }}
            if (t == null) return empty;
            v = t.value; return v;
        }}"
    );
    let local = program
        .replacen("atomic { n.value = v;", "atomic { if (t == n) t = n;", 1)
        .replacen("t = first;", "n.value = v; t = first;", 1);
    assert!(local.contains("n.value = v; t = first;") && local.contains("t == n"));
    for program in [program, local] {
        let options = Options {
            interleaving: Interleaving::Restricted,
            ..Options::default()
        };
        let proof = prove_at(&parsed("early", &program), &options, Level::Ghosts);
        assert!(!proof.is_ok_and(|proof| proof.holds()), "{program}");
    }
}

/// What must never hold may hold inside an atomic block, and nowhere else.
/// A lock of one's own making is a lock; a flag that is only used like one, and given back by others,
/// is left out.
#[test]
fn spin_locks_are_locks() {
    let restricted = Options {
        interleaving: Interleaving::Restricted,
        ..Options::default()
    };
    let stack = "
        spec stack;
        struct node { data value; node next; }
        shared node top;
        shared int l;
        method push(data v) {
            node n = new node, t;
            n.value = v;
            while (true) { while (l == 1) {} if (cas(l, 0, 1)) break; }
            t = top; n.next = t; top = n; commit;
            l = 0;
        }
        method pop() returns data {
            node t, n;
            while (!cas(l, 0, 1)) {}
            t = top;
            commit when t == null;
            if (t == null) { l = 0; return empty; }
            n = t.next; top = n; commit;
            l = 0;
            return t.value;
        }";
    assert!(attempt("spin lock", stack, &restricted).holds());
    // Each is a race, or an end without the lock.
    for (from, to) in [
        ("while (!cas(l, 0, 1)) {}", "cas(l, 0, 1);"),
        ("while (!cas(l, 0, 1)) {}", ""),
        ("while (!cas(l, 0, 1)) {}", "while (!cas(l, 1, 0)) {}"),
        (
            "if (cas(l, 0, 1)) break;",
            "if (cas(l, 0, 1)) break; l = 0;",
        ),
    ] {
        let wrong = stack.replacen(from, to, 1);
        assert_ne!(wrong, stack);
        assert!(!attempt("wrong", &wrong, &restricted).holds(), "{to}");
    }
    // Somebody else gives it back: nothing depends on it.
    let hint = text("treiber")
        .replacen("shared node top", "shared bool busy;\nshared node top", 1)
        .replacen("n.next = t;", "n.next = t; cas(busy, false, true);", 1)
        .replacen("n = t.next;", "n = t.next; busy = false;", 1);
    assert!(attempt("hint", &hint, &restricted).holds());
}

#[test]
fn never_is_looked_at_between_steps() {
    let program = |open: &str| {
        format!(
            "spec none; circular struct node {{ node next; }} shared node x;
            init {{ node first = new node; x = first; }}
            never x == null;
            method swap() {{ node n = new node; {open} {{ x = null; x = n; }} }}"
        )
    };
    for (open, right) in [("atomic", true), ("", false)] {
        let proof = attempt("swap", &program(open), &Options::default());
        assert_eq!(proof.holds(), right, "{open}: {:?}", proof.messages);
    }
}

/// Locals of type bool are told by the location, counters beside pointers are left out.
#[test]
fn flags_and_tags_are_no_obstacle() {
    let flags = text("treiber")
        .replace("    node t;\n", "    node t;\n    bool ok;\n    bool no = !ok;\n")
        .replace(
            "if (cas(top, t, n)) {\n            commit;\n            return;",
            "ok = cas(top, t, n);\n        commit when ok;\n        no = !ok;\n        if (!no) {\n            return;",
        );
    assert!(
        flags.contains("when ok") && flags.contains("= !ok;\n    n.value"),
        "{flags}"
    );
    let unread = flags.replace("ok = cas(top, t, n);", "cas(top, t, n); ok = true;");
    let options = Options {
        interleaving: Interleaving::Restricted,
        ..Options::default()
    };
    for (name, text, right) in [
        ("flags", &flags, true),
        ("unread", &unread, false),
        ("counted", &text("treiber_counted"), true),
    ] {
        let proof = attempt(name, text, &options);
        assert_eq!(proof.holds(), right, "{name}: {:?}", proof.messages);
    }
    // Where calls take effect must not depend on what is left out.
    let claim = text("treiber_counted").replacen("commit;", "commit when t.count != 3;", 1);
    let no = prove(&parsed("claim", &claim), &options).expect_err("refused");
    assert!(no.what.contains("depends on a number"), "{}", no.what);
}

/// Queues need no reachability; the one with two locks needs to know that
/// nobody else is where the lock holder is.
#[test]
fn queues_are_proved() {
    let mut queues = vec![
        ("ms_queue", Level::Ghosts),
        ("two_lock_queue", Level::Ghosts),
    ];
    if std::env::var_os("PALISADE_SOAK").is_some() {
        queues.push(("dglm_queue", Level::Ghosts));
    }
    for (name, level) in queues {
        let proof = attempt(name, &text(name), &Options::default());
        assert!(
            proof.holds(),
            "{name}: {:?} {:?}",
            proof.reason,
            proof.messages
        );
        assert_eq!(proof.level, level, "{name}");
        assert!(proof.acyclic, "{name}");
    }
}

/// A list that is made cyclic is not said to be none, whatever becomes of the rest.
#[test]
fn cycles_are_not_overlooked() {
    let treiber = text("treiber");
    let line = "        n.next = t;\n";
    assert!(treiber.contains(line));
    let cyclic = treiber.replacen(line, "        n.next = n;\n", 1);
    let options = Options {
        interleaving: Interleaving::Restricted,
        max_structures: Some(2_000),
        ..Options::default()
    };
    let proof = attempt("cyclic", &cyclic, &options);
    assert!(!(proof.holds() && proof.acyclic));
}

/// Programs that are wrong, or whose commit points are: none is proved.
#[test]
fn what_is_wrong_is_not_proved() {
    let treiber = text("treiber");
    let replaced = |from: &str, to: &str| {
        assert!(treiber.contains(from), "{from}");
        treiber.replacen(from, to, 1)
    };
    let wrong = [
        (
            "no commit of push",
            replaced(
                "            commit;\n            return;",
                "            return;",
            ),
        ),
        (
            "no commit of an empty pop",
            replaced("commit when t == null;", ""),
        ),
        (
            "a value too late",
            replaced("    n.value = v;\n", "").replacen("commit;", "commit; n.value = v;", 1),
        ),
        (
            "the next node's value",
            replaced("v = t.value;", "v = n.value;"),
        ),
        ("no link", replaced("        n.next = t;\n", "")),
        ("a plain store", text("treiber_store")),
        (
            "two commits",
            replaced(
                "            commit;\n            return;",
                "            commit; commit;\n            return;",
            ),
        ),
    ];
    let options = Options {
        interleaving: Interleaving::Restricted,
        max_structures: Some(4_000),
        ..Options::default()
    };
    for (what, program) in &wrong {
        // What the front end or the prover refuses is not proved either.
        let Ok(read) = palisade_frontend::heap::parse(Source::new("wrong", program.as_str()))
        else {
            continue;
        };
        if let Ok(proof) = prove(&read.program, &options) {
            assert!(!proof.holds(), "{what} was proved\n{program}");
        }
    }
}

/// The text can be read by the shape analysis at every level.
#[test]
fn models_are_readable() {
    let mut read = 0;
    for name in ["inc", "treiber", "two_lock_queue"] {
        for level in [Level::Ghosts, Level::Reach] {
            let made = emit(&parsed(name, &text(name)), &Options::default(), level);
            let made = made.unwrap_or_else(|no| panic!("{name}: {no:?}"));
            let mut errors = palisade_shape::syntax::Diagnostics::default();
            let input = palisade_shape::analysis::Input {
                name: "model.tvp",
                text: &made.program,
            };
            let options = palisade_shape::analysis::Options::default();
            let model = palisade_shape::analysis::read_program(input, &options, &mut errors);
            assert!(model.is_some() && made.soft > 0, "{name}: {errors:?}");
            read += 1;
        }
    }
    assert_eq!(read, 6);
}

const POP: &str = "method pop() returns data {
        node t, n; data v;
        while (true) {
            t = first; commit when t == null;
            if (t == null) return empty;
            n = t.next;
            if (cas(first, t, n)) { commit; v = t.value; return v; }
        }
    }";

/// What `init` does by `cas` is part of the model, whether it succeeds or not.
#[test]
fn a_cas_in_init_is_not_left_out() {
    let push = "n = new node; t = first; n.next = t; cas(first, t, n);";
    let stack = format!("{STACK} init {{ node n, t; {} }} {POP}", push.repeat(5));
    let proof = attempt("stack", &stack, &Options::default());
    assert!(
        !proof.holds(),
        "the first pop gives a value that nobody has pushed"
    );
    let nothing = |condition: &str, end: &str| {
        format!(
            "spec none; struct node {{ node next; }} shared node x, y;
            init {{ node n = new node; node m = new node; x = n; cas({condition}); {end} }}
            never x == y; method nothing() {{ node t; t = x; }}"
        )
    };
    // It succeeds, fails, is on a field, and null is expected.
    for (condition, end, holds) in [
        ("x, n, m", "y = m;", false),
        ("x, n, m", "y = n;", true),
        ("x, m, m", "y = m;", true),
        ("x, m, m", "y = n;", false),
        ("n.next, null, m", "node t = n.next; y = m; x = t;", false),
        ("n.next, m, m", "node t = n.next; y = m; x = t;", true),
        ("y, null, n", "", false),
        ("y, null, m", "", true),
    ] {
        let proof = attempt("nothing", &nothing(condition, end), &Options::default());
        assert_eq!(
            proof.holds(),
            holds,
            "{condition}; {end}: {:?}",
            proof.messages
        );
    }
}

/// Null cannot be freed, however many steps away.
#[test]
fn to_free_null_is_not_proved() {
    let program = |test: &str| {
        format!(
            "spec none; struct node {{ node next; }} shared node top;
            method push() {{ node n = new node; node t; t = top; n.next = t; cas(top, t, n); }}
            method drop() {{
                node a, b;
                a = top; if (a == null) return;
                b = a.next; {test}
                free(b);
            }}"
        )
    };
    let wrong = attempt("free", &program(""), &Options::default());
    assert!(!wrong.holds());
    let right = attempt(
        "free",
        &program("if (b == null) return;"),
        &Options::default(),
    );
    assert!(right.holds(), "{:?} {:?}", right.reason, right.messages);
}

/// Whatever methods and locals are called, predicates have names of their own.
#[test]
fn names_do_not_collide() {
    for (name, local) in [
        ("s", "top"),
        ("s", "next"),
        ("g", "z"),
        ("f", "next"),
        ("l2", "z"),
        ("call", "run"),
        ("e0", "at"),
        ("is_thread", "idle"),
    ] {
        let text = format!(
            "spec none; struct node {{ node next; }} shared node x;
            init {{ node n = new node; n.next = n; x = n; }}
            never x == null;
            method {name}() {{ node {local}; node y; {local} = x; y = {local}.next; x = y; }}
            method call{name}() {{ node {local} = new node; {local}.next = {local}; x = {local}; }}"
        );
        let proof = attempt(name, &text, &Options::default());
        assert!(
            proof.holds(),
            "{name}: {:?} {:?}",
            proof.reason,
            proof.messages
        );
    }
    let stack = format!(
        "{STACK} shared lock l;
        init {{ if (*) {{ node n = new node; n = null; first = n; }} else {{ node n = null; first = n; }} }}
        method push(data v) {{
            node n = new node; n.value = v;
            lock(l); n.next = first; first = n; commit; unlock(l);
        }}
        method pop() returns data {{
            data v; bool b = *;
            lock(l);
            if (b) {{
                node t = first; commit when t == null;
                if (t == null) {{ unlock(l); return empty; }}
                first = t.next; commit; unlock(l); v = t.value;
            }} else {{
                node t = first; commit when t == null;
                if (t == null) {{ unlock(l); return empty; }}
                first = t.next; commit; unlock(l); v = t.value;
            }}
            return v;
        }}"
    );
    let proof = attempt("siblings", &stack, &Options::default());
    assert!(proof.holds(), "{:?} {:?}", proof.reason, proof.messages);
}

/// The same queue in other words: an argument that is copied, shared pointers that nobody uses.
#[test]
fn copies_and_unused_pointers_are_no_matter() {
    let text = "
        spec queue;
        struct node { data value; node next; }
        shared node unused, first;
        shared node head, tail;
        init { node dummy = new node; first = dummy; head = dummy; tail = dummy; }
        method enqueue(data v) {
            node n = new node;
            node t;
            data x = v;
            data y;
            y = x;
            n.value = y;
            atomic { t = tail; t.next = n; tail = n; commit; }
        }
        method dequeue() returns data {
            node h, next;
            data v;
            atomic {
                h = head;
                next = h.next;
                commit when next == null;
                if (next == null) return empty;
                head = next;
                commit;
            }
            v = next.value;
            return v;
        }";
    let options = Options {
        interleaving: Interleaving::Restricted,
        ..Options::default()
    };
    let proof = attempt("queue", text, &options);
    assert!(proof.holds(), "{:?} {:?}", proof.reason, proof.messages);
    // A copy that is used before it is made is none.
    let wrong = text.replace(
        "data y;\n            y = x;",
        "data y;\n            if (*) y = x;",
    );
    let program = parsed("queue", &wrong);
    let proved = prove(&program, &options).is_ok_and(|proof| proof.holds());
    assert!(!proved, "a value that was perhaps never written");
}

const ROUNDS: &str = "
    spec stack;
    struct box { data value; }
    struct node { box item; node next; }
    shared node top;
    method push(data v) {
        while (true) {
            node t;
            node n = new node;
            box b = new box;
            b.value = v;
            n.item = b;
            t = top;
            n.next = t;
            if (cas(top, t, n)) { commit; return; }
        }
    }
    method pop() returns data {
        node t, n;
        box b;
        data v;
        while (true) {
            t = top;
            commit when t == null;
            if (t == null) return empty;
            n = t.next;
            if (cas(top, t, n)) { commit; b = t.item; v = b.value; return v; }
        }
    }";

/// An argument in a box, a node for each round of a loop, several methods that are alike.
#[test]
fn boxes_rounds_and_equal_methods_are_no_matter() {
    let options = Options {
        interleaving: Interleaving::Restricted,
        ..Options::default()
    };
    let proof = attempt("rounds", ROUNDS, &options);
    assert!(proof.holds(), "{:?} {:?}", proof.reason, proof.messages);
    let again = |name: &str, other: &str| {
        let at = ROUNDS.find(&format!("method {name}(")).expect("the method");
        let method = &ROUNDS[at..];
        let end = method.find("\n    }").expect("its end") + 6;
        let copy = method[..end].replace(&format!("method {name}("), &format!("method {other}("));
        let head = copy.find(" {").expect("a body");
        format!("{} as {name}{}", &copy[..head], &copy[head..])
    };
    let copies = [
        again("push", "put"),
        again("push", "add_one"),
        again("pop", "take"),
    ];
    let text = format!("{ROUNDS}{}", copies.concat());
    let more = attempt("copies", &text, &options);
    assert!(more.holds(), "{:?} {:?}", more.reason, more.messages);
    assert_eq!(more.text.locations, proof.text.locations);
}

/// Where somebody can tell, boxes and nodes stay as they are.
#[test]
fn boxes_and_rounds_that_matter() {
    let rewritten = |text: &str| {
        let simple = simplified(&parsed("rounds", text));
        let news = |m: usize| {
            let edges = simple.methods[m].body.edges.iter();
            edges.filter(|e| matches!(e.step, Step::New { .. })).count()
        };
        // Whether boxes are gone, and whether the allocation is in front of the loop.
        let body = &simple.methods[0].body;
        let first = body.edges.iter().find(|e| e.from == body.entry);
        let hoisted = first.is_some_and(|e| matches!(e.step, Step::New { .. }));
        (simple.structs.len() == 1 && news(0) == 1, hoisted)
    };
    assert_eq!(rewritten(ROUNDS), (true, true));
    for (old, new, expected) in [
        // The box is in a node before its value is written. One node is enough all the same.
        (
            "b.value = v;\n            n.item = b;",
            "n.item = b;\n            b.value = v;",
            (false, true),
        ),
        // Some nodes have no box.
        ("n.item = b;", "if (*) n.item = b;", (false, false)),
        // Boxes are compared.
        (
            "b = t.item; v",
            "b = t.item; if (b == null) return empty; v",
            (false, true),
        ),
        // A node that failed is known to others: it is a node of another round.
        (
            "t = top;\n            n.next = t;\n            if",
            "t = top;\n            n.next = t;\n            t.next = n;\n            if",
            (true, false),
        ),
        // What was written in the last round is read.
        (
            "t = top;\n            n.next = t;",
            "t = n.next;\n            t = top;\n            n.next = t;",
            (true, false),
        ),
    ] {
        let text = ROUNDS.replace(old, new);
        assert_ne!(text, ROUNDS);
        assert_eq!(rewritten(&text), expected, "{new}");
    }
}

/// A value that nobody needs is no reason to lose one that is needed.
#[test]
fn values_that_are_needed_are_kept() {
    let text = "
    spec none;
    shared data x, y;
    method get() returns data {
        data a, b;
        a = x;
        b = a;
        a = y;
        return b;
    }";
    let program = parsed("kept", text);
    assert_eq!(simplified(&program), program);
}
