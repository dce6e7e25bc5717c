//! The classic shapes, each with its weak outcome: reachable or not under SC, TSO
//! and PSO, without and with fences.

use crate::common;

use common::{run, word};
use palisade_program::Model;

/// The verdicts of `threads` with the claim that `outcome` never is the end:
/// `v` for violated (the outcome is possible), `h` for holds; SC, TSO, PSO.
#[track_caller]
fn check(threads: &str, outcome: &str, expected: &str) {
    let text =
        format!("shared x = 0; shared y = 0; shared z = 0;\n{threads}\nfinally (!({outcome}));");
    let models = [Model::Sc, Model::Tso, Model::Pso];
    let found: String = models
        .iter()
        .map(|&model| match word(&run(&text, model).verdict) {
            "violated" => 'v',
            "holds" => 'h',
            _ => '?',
        })
        .collect();
    assert_eq!(found, expected, "{text}");
}

fn two(left: &str, right: &str) -> String {
    format!(
        "thread p {{ local r = 0; local s = 0; {left} }}\n\
         thread q {{ local r = 0; local s = 0; {right} }}"
    )
}

#[test]
fn store_buffering() {
    let weak = "p.r == 0 && q.r == 0";
    check(&two("x = 1; r = y;", "y = 1; r = x;"), weak, "hvv");
    check(&two("x = 1; fence; r = y;", "y = 1; r = x;"), weak, "hvv");
    check(
        &two("x = 1; fence; r = y;", "y = 1; fence; r = x;"),
        weak,
        "hhh",
    );
    // A store-store fence does not wait, so it does not help.
    let ss = two("x = 1; fence(ss); r = y;", "y = 1; fence(ss); r = x;");
    check(&ss, weak, "hvv");
    // An atomic operation waits for the buffer to empty.
    let xchg = two("r = xchg(x, 1); r = y;", "r = xchg(y, 1); r = x;");
    check(&xchg, weak, "hhh");
    let other = two(
        "x = 1; s = xchg(z, 1); r = y;",
        "y = 1; s = xchg(z, 1); r = x;",
    );
    check(&other, weak, "hhh");
}

#[test]
fn own_stores_are_seen_early() {
    // n6-like: both read their own store before the other's.
    let both = two("x = 1; r = x; s = y;", "y = 1; r = y; s = x;");
    check(&both, "p.r == 1 && p.s == 0 && q.r == 1 && q.s == 0", "hvv");
    check(&both, "p.r == 0", "hhh");
}

#[test]
fn message_passing() {
    let weak = "q.r == 1 && q.s == 0";
    check(&two("x = 1; y = 1;", "r = y; s = x;"), weak, "hhv");
    check(
        &two("x = 1; fence(ss); y = 1;", "r = y; s = x;"),
        weak,
        "hhh",
    );
    check(&two("x = 1; fence; y = 1;", "r = y; s = x;"), weak, "hhh");
    // The fence orders what stands before it with what stands after it only.
    check(
        &two("fence(ss); x = 1; y = 1;", "r = y; s = x;"),
        weak,
        "hhv",
    );
    check(
        &two("x = 1; y = 1; fence(ss);", "r = y; s = x;"),
        weak,
        "hhv",
    );
    // A candidate has no effect.
    check(&two("x = 1; fence?; y = 1;", "r = y; s = x;"), weak, "hhv");
}

#[test]
fn load_buffering_is_never_seen() {
    check(
        &two("r = x; y = 1;", "r = y; x = 1;"),
        "p.r == 1 && q.r == 1",
        "hhh",
    );
}

#[test]
fn two_plus_two_writes() {
    let weak = "x == 1 && y == 1";
    check(&two("x = 1; y = 2;", "y = 1; x = 2;"), weak, "hhv");
    check(
        &two("x = 1; fence(ss); y = 2;", "y = 1; x = 2;"),
        weak,
        "hhv",
    );
    let fenced = two("x = 1; fence(ss); y = 2;", "y = 1; fence(ss); x = 2;");
    check(&fenced, weak, "hhh");
}

#[test]
fn r_and_s() {
    let r = "y == 2 && q.r == 0";
    check(&two("x = 1; y = 1;", "y = 2; r = x;"), r, "hvv");
    check(&two("x = 1; y = 1;", "y = 2; fence; r = x;"), r, "hhv");
    check(
        &two("x = 1; fence(ss); y = 1;", "y = 2; fence; r = x;"),
        r,
        "hhh",
    );
    let s = "x == 2 && q.r == 1";
    check(&two("x = 2; y = 1;", "r = y; x = 1;"), s, "hhv");
    check(&two("x = 2; fence(ss); y = 1;", "r = y; x = 1;"), s, "hhh");
}

#[test]
fn coherence() {
    let twice = two("x = 1; x = 2;", "r = x; s = x;");
    check(&twice, "q.r == 2 && q.s == 1", "hhh");
    check(&twice, "x == 1", "hhh");
}

#[test]
fn stores_are_seen_by_all_others_at_once() {
    let threads = "
        thread a { x = 1; }
        thread b { y = 1; }
        thread p { local r = 0; local s = 0; r = x; s = y; }
        thread q { local r = 0; local s = 0; r = y; s = x; }";
    check(
        threads,
        "p.r == 1 && p.s == 0 && q.r == 1 && q.s == 0",
        "hhh",
    );
    let wrc = "
        thread a { x = 1; }
        thread p { local r = 0; r = x; y = r; }
        thread q { local r = 0; local s = 0; r = y; s = x; }";
    check(wrc, "q.r == 1 && q.s == 0", "hhh");
}

#[test]
fn array_elements_have_buffers_of_their_own() {
    let text = |fence: &str| {
        format!(
            "shared a[2] = 0;
             thread p {{ a[0] = 1; {fence} a[1] = 1; }}
             thread q {{ local r = 0; local s = 0; r = a[1]; s = a[0]; }}
             finally (!(q.r == 1 && q.s == 0));"
        )
    };
    assert_eq!(word(&run(&text(""), Model::Tso).verdict), "holds");
    assert_eq!(word(&run(&text(""), Model::Pso).verdict), "violated");
    assert_eq!(word(&run(&text("fence(ss);"), Model::Pso).verdict), "holds");
}

#[test]
fn store_store_fences_add_up() {
    // The second fence holds z back until y is out, and y waits for x.
    let text = |fence: &str| {
        format!(
            "shared x = 0; shared y = 0; shared z = 0;
             thread p {{ x = 1; fence(ss); y = 1; {fence} z = 1; }}
             never z == 1 && x == 0;"
        )
    };
    assert_eq!(word(&run(&text("fence(ss);"), Model::Pso).verdict), "holds");
    assert_eq!(word(&run(&text("skip;"), Model::Pso).verdict), "holds");
    let late = "shared x = 0; shared y = 0; shared z = 0;
                thread p { x = 1; y = 1; fence(ss); z = 1; }
                never y == 1 && x == 0;";
    assert_eq!(word(&run(late, Model::Pso).verdict), "violated");
}
