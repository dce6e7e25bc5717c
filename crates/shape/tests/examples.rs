//! The models of `examples/shape`: every program holds, every buggy twin is refuted by a run.

use palisade_shape::analysis::{Analysis, Input, Options, analyse};
use palisade_shape::engine::Stop;
use palisade_shape::explore::Bounds;
use palisade_shape::join::Join;
use palisade_shape::verdict::{Means, Reason, Verdict, decide};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shape")
}

fn load(path: &str, _: &str) -> Option<(String, String)> {
    let text = std::fs::read_to_string(folder().join(path)).ok()?;
    Some((path.to_owned(), text))
}

fn run(program: &str, states: &str, change: impl FnOnce(&mut Options<'_>)) -> Analysis {
    let read = |name: &str| {
        load(name, "")
            .unwrap_or_else(|| panic!("{name} is missing"))
            .1
    };
    let mut options = Options {
        loader: &load,
        bounds: Bounds {
            visits: 50,
            worlds: 6,
            decisions: 1000,
            ..Bounds::default()
        },
        ..Options::default()
    };
    change(&mut options);
    let (p, s) = (read(program), read(states));
    let input = |name, text| Input { name, text };
    match analyse(input(program, &p), input(states, &s), &options) {
        Ok(a) => a,
        Err(e) => panic!("{e}"),
    }
}

/// Analyses a program, which must hold, and its twin, which must be refuted with the message.
fn twins(name: &str, language: &str, states: &str, message: &str) {
    let good = run(&format!("{name}.{language}"), states, |_| {});
    assert_eq!(
        good.verdict.word(),
        "holds",
        "{name}: {:?}",
        good.fixpoint.messages
    );
    let bad = run(&format!("{name}_bug.{language}"), states, |o| {
        o.bounds.visits = 100;
    });
    let Verdict::Violated(found) = &bad.verdict else {
        panic!("{name}_bug: {:?}", bad.verdict);
    };
    let (edge, index) = found.message;
    let action = &bad.model.actions[bad.model.edges[edge].action];
    let text = action
        .messages
        .iter()
        .chain(&action.post_messages)
        .nth(index)
        .map(|m| m.text.as_str());
    assert_eq!(text, Some(message), "{name}_bug");
}

#[test]
fn list_programs() {
    twins("create", "tvp", "nothing.tvs", "an element is lost");
    twins("insert", "tvp", "list.tvs", "an element is lost");
    twins("delete", "tvp", "list.tvs", "null dereference of c");
    twins("reverse", "tvp", "list.tvs", "an element is lost");
    twins("append", "tvp", "two_lists.tvs", "null dereference of l");
    twins("merge", "tvp", "two_lists.tvs", "null dereference of y");
}

#[test]
fn other_heaps() {
    twins("splice", "tvp", "doubly.tvs", "a backward pointer is wrong");
    twins("rotate", "tvp", "tree.tvs", "an object is lost");
    twins(
        "mark_sweep",
        "tvp",
        "graph.tvs",
        "a reachable object is freed",
    );
    twins(
        "insertion_sort",
        "tvp",
        "unsorted.tvs",
        "the list y is not sorted",
    );
}

#[test]
fn concurrent_programs() {
    twins(
        "mutex",
        "tvm",
        "mutex.tvs",
        "two threads are in the critical section",
    );
}

#[test]
fn two_lock_queue() {
    twins(
        "two_lock_queue",
        "tvm",
        "two_lock_queue.tvs",
        "tail.n is overwritten",
    );
}

fn inc(macros: &[&str]) -> Analysis {
    run("inc.tvp", "inc.tvs", |o| {
        o.defines = macros
            .iter()
            .map(|m| ((*m).to_owned(), "1".to_owned()))
            .collect();
    })
}

/// Section 3 of the paper.
#[test]
fn inc_has_255_states_and_with_soft_invariants_one() {
    let plain = inc(&[]);
    assert_eq!(
        (plain.verdict.word(), plain.fixpoint.kept()),
        ("holds", 255)
    );
    let collapsed = inc(&["COLLAPSE"]);
    assert!(matches!(
        collapsed.verdict,
        Verdict::Unknown(Reason::Messages)
    ));
    assert_eq!(collapsed.fixpoint.messages[0].text, "x is null");
    let soft = inc(&["COLLAPSE", "SOFT"]);
    assert_eq!((soft.verdict.word(), soft.fixpoint.kept()), ("holds", 1));
    let noise = inc(&["COLLAPSE", "SOFT", "NOISE"]);
    assert_eq!((noise.verdict.word(), noise.fixpoint.kept()), ("holds", 1));
    // Every action is confirmed, also where one structure stands for all states.
    for a in [plain, soft, noise] {
        let all = matches!(a.verdict, Verdict::Holds { edges, fired, .. } if edges == fired);
        assert!(all, "{:?}", a.verdict);
    }
}

#[test]
fn workers_do_not_change_the_result() {
    for join in [Join::Rel, Join::Part] {
        let with = |workers| {
            let a = run("reverse.tvp", "list.tvs", |o| {
                o.limits.workers = workers;
                o.limits.join = join;
                o.bounds.visits = 20;
            });
            let sets: Vec<_> = a
                .fixpoint
                .locations
                .iter()
                .map(|l| l.set.structures().to_vec())
                .collect();
            (sets, a.fixpoint.total, format!("{:?}", a.verdict))
        };
        assert_eq!(with(1), with(2), "{join:?}");
    }
}

/// A caller's flag ends the search for runs and the confirmation as well.
#[test]
fn a_cancelled_analysis_is_unknown() {
    static CANCEL: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);
    let a = run("reverse.tvp", "list.tvs", |o| o.cancel = Some(&CANCEL));
    assert!(matches!(
        a.verdict,
        Verdict::Unknown(Reason::Stopped(Stop::Cancelled))
    ));
    // The fixed point is there, the flag comes later.
    let done = run("reverse.tvp", "list.tvs", |_| {});
    let means = Means {
        bounds: &Bounds::default(),
        parallel: true,
        cancel: Some(&CANCEL),
    };
    let verdict = decide(&done.model, &done.initial, &done.fixpoint, means);
    assert!(matches!(
        verdict,
        Verdict::Unknown(Reason::Stopped(Stop::Cancelled))
    ));
}

#[test]
fn concrete_join_finds_the_bug_too() {
    // From the empty heap no structure needs blurring; the limit ends the growing lists.
    let a = run("create_bug.tvp", "nothing.tvs", |o| {
        o.limits.join = Join::Conc;
        o.limits.structures = Some(200);
    });
    assert!(
        a.fixpoint
            .messages
            .iter()
            .any(|m| m.text == "an element is lost")
    );
}
