//! Refinement of transitions: where the given predicates suffice and only the cone
//! of influence hides it, no predicate is added.

use palisade_frontend::pal;
use palisade_program::{Source, Verdict};
use palisade_verify::{Options, Report, verify};

/// `a < b < c < d` is known when `d < a` is tested: the step is impossible, but not
/// from predicates over `a` and `d` alone.
const CHAIN: &str = "
shared seen = 0;
thread t {
    local a = *;
    local b = *;
    local c = *;
    local d = *;
    assume(a < b);
    assume(b < c);
    assume(c < d);
    seen = 1;
    if (d < a) { wrong: seen = a + b + c + d; }
}
never t@wrong;
predicate t.a < t.b;
predicate t.b < t.c;
predicate t.c < t.d;
";

fn run(transitions: bool) -> Report {
    let parsed = pal::parse(Source::new("chain.pal", CHAIN)).expect("it parses");
    let options = Options {
        transitions,
        ..Options::default()
    };
    verify(&parsed.program, &options)
}

#[test]
fn a_sharper_step_saves_predicates() {
    let sharpened = run(true);
    assert_eq!(sharpened.verdict, Verdict::Holds);
    assert!(sharpened.certified);
    assert_eq!(sharpened.stats.predicates, 3, "{:?}", sharpened.predicates);
    let refined = run(false);
    assert_eq!(refined.verdict, Verdict::Holds);
    assert!(refined.stats.predicates > 3, "{:?}", refined.predicates);
}
