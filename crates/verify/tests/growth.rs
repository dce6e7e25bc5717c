//! Growth: which programs compute finitely often, and that such a program is proved by its reachable states where
//! predicates would take long.

use palisade_abstraction::finite::Finite;
use palisade_abstraction::growth::grows;
use palisade_certify::{Counters, Kind, Reachable};
use palisade_program::{Program, Source, Verdict};
use palisade_verify::{Options, verify};

fn read(text: &str) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("growth.pal", text));
    parsed.unwrap_or_else(|_| panic!("{text}")).program
}

fn is_growing(text: &str) -> bool {
    let program = read(text);
    let threads = program.instances(1);
    grows(&program, &threads, &Finite::of(&program, &threads))
}

#[test]
fn what_counters_bound_does_not_grow() {
    let program = |body: &str| {
        format!(
            "shared x = 1; shared y = 1;
             thread t {{ local k = 0; local r = 0; local s = 0; {body} }}"
        )
    };
    for body in [
        "r = x; x = r + r; x = r + x;",
        "while (k < 100) { r = x; s = y; x = r + s; k = k + 1; }",
        "k = 100; while (k > 0) { r = x; x = r + r; k = k - 1; }",
        "k = 100; while (1) { s = k; k = k - 1; assume(s != 0); r = x; x = r + r; }",
        "while (k < 50) { s = 0; while (s < 50) { x = x + y; s = s + 1; } k = k + 1; }",
        // What goes round without computing.
        "while (1) { r = x; y = r; x = 7; assume(y < x); }",
        "while (1) { r = x; y = r % 4; }",
    ] {
        assert!(!is_growing(&program(body)), "{body}");
    }
    for body in [
        "while (1) { r = x; x = r + 1; }",
        "while (k < 100) { r = x; x = r + r; if (r > 7) { k = 0; } k = k + 1; }",
        "while (k < 100) { r = x; x = r + r; if (r > 7) { k = k + 1; } }",
        "while (k < x) { r = x; x = r + r; k = k + 1; }",
        "while (k < 100) { r = x; x = r + r; k = k - 1; }",
        "r = *; x = r;",
    ] {
        assert!(is_growing(&program(body)), "{body}");
    }
}

#[test]
fn numbers_that_grow_for_some_rounds() {
    let adder = |name: &str, own: &str, other: &str, most: i64| {
        format!(
            "thread {name} {{ local k = 0; local a = 0; local b = 0;
               while (k < 5) {{ a = {own}; b = {other}; {own} = a + b; k = k + 1; }}
               a = {own}; assert(a <= {most}); }}"
        )
    };
    let program = |most: i64| {
        let threads = adder("p", "i", "j", most) + &adder("q", "j", "i", most);
        read(&format!("shared i = 1; shared j = 1; {threads}"))
    };
    let options = Options {
        falsify: true,
        ..Options::default()
    };
    let report = verify(&program(144), &options);
    assert_eq!(report.verdict, Verdict::Holds);
    assert!(report.certified);
    let kind = report.certificate.map(|certificate| certificate.kind);
    let is_listed = matches!(
        kind,
        Some(Kind::Reachable(Reachable {
            counters: Counters::Exact,
            ..
        }))
    );
    assert!(is_listed, "{kind:?}");
    let report = verify(&program(143), &options);
    assert!(matches!(report.verdict, Verdict::Violated(_)));
}
