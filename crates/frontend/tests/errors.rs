//! What is wrong, where, and the remedy: a corpus of mistakes. Each case must give
//! at least one error, and every error a help line.
#![allow(missing_docs)]

use palisade_frontend::{Severity, pal};
use palisade_program::Source;

fn shown(text: &str) -> String {
    match pal::parse(Source::new("t.pal", text)) {
        Ok(parsed) => panic!("no error in {text:?}: {:?}", parsed.warnings),
        Err(errors) => {
            let mut found = false;
            for item in &errors.items {
                found |= item.severity == Severity::Error;
                assert!(item.help.is_some(), "no help: {}", item.message);
            }
            assert!(found, "only warnings");
            errors.to_string()
        }
    }
}

fn all(cases: &[&str]) -> String {
    let shown: Vec<String> = cases.iter().map(|text| shown(text)).collect();
    shown.join("\n----\n\n")
}

#[test]
fn words_and_symbols() {
    insta::assert_snapshot!(all(&[
        "",
        "shared x = 99999999999999999999;",
        "shared x = 9223372036854775808;",
        "shared x = 0x10;",
        "thread t { x = 1 $; }",
        "thread t { skip; } /* never closed",
        "thread t { skip; } \u{1F980}",
        "int x; thread t { }",
        "thrad t { }",
    ]));
}

#[test]
fn brackets_and_semicolons() {
    insta::assert_snapshot!(all(&[
        "shared x = 0\nthread t { x = 1; }",
        "shared x;\nthread t {\n    if (x == 1 {\n        x = 2;\n    }\n}",
        "shared x;\nthread t {\n    while (x == 1) {\n        x = 2;\n}\nthread u { x = 1; }",
        "shared a[2];\nthread t { a[0 = 1; }",
        "thread t { skip; } }",
        "thread t { skip }",
        "shared x; thread t { x = (1 + 2; }",
        "shared x; thread t { x = ; x = 1 +; foo bar; do skip; until (1); }",
    ]));
}

#[test]
fn likely_slips() {
    insta::assert_snapshot!(all(&[
        "shared x; thread t { if (x = 1) skip; }",
        "shared x; thread t { local r; r = x++; }",
        "shared x; thread t { whlie (x == 1) { } }",
        "shared flag; thread t { falg = 1; }",
        "thread t { critical: skip; } never t@critcal;",
        "thread t { goto strat; start: skip; }",
        "thread t { local while = 1; }",
        "shared x; thread t { x = y = 1; }",
        "thread t { fence(full); }",
    ]));
}

#[test]
fn several_errors_in_one_run() {
    insta::assert_snapshot!(shown(
        "shared x;\nthread t {\n    y = 1;\n    x = * * 2 +;\n    z = 3;\n    local r = ;\n    r = 1;\n}\nnever u@here;\nshared = 3;\nthread t { if x { } }\n"
    ));
}

#[test]
fn declarations() {
    insta::assert_snapshot!(all(&[
        "shared x; shared x; thread t { }",
        "const N = M; thread t { }",
        "shared x = y; shared y; thread t { }",
        "shared a[0]; thread t { }",
        "shared a[10000000]; thread t { }",
        "shared a[2] = {1, 2, 3}; thread t { }",
        "shared x = {1}; thread t { }",
        "shared x in 3..1; thread t { }",
        "shared x in 1..3; thread t { }",
        "shared control x; thread t { }",
        "thread t[0] { } thread u[100000000] { }",
        "thread t { } thread t { }",
        "shared x; thread t { local x; local y; { local y; } }",
        "const N = 3; thread t { N = 4; }",
        "const N = 9223372036854775807 + 1; thread t { }",
        "thread t { shared x; }",
        "thread t { local a[65]; }",
        "fn cas(a) { } fn f() { } fn f() { } thread t { }",
        "shared x; fn f(x) { } thread t { f(1); }",
    ]));
}

#[test]
fn expressions() {
    insta::assert_snapshot!(all(&[
        "shared x, y; thread t { x = x * y; }",
        "shared x; thread t { x = 1 / x; x = 1 % 0; x = 3 / -2; }",
        "shared a[2]; thread t { a[2] = 1; a = 1; }",
        "shared x; thread t { x[0] = 1; }",
        "shared x; thread t { x = t@l; x = t.r; }",
        "shared x; thread t { x = cas(x, 1); cas(1, 2, 3); lock(r); local r; lock(r); }",
        "shared x; thread t { x = f(1); }",
        "fn f() { } shared x; thread t { x = f(); f(1); }",
        "shared x; thread t { x = choose(3..1); x = choose(0..x); }",
        "shared x; thread t { int32(x); x = lock(x); }",
    ]));
}

#[test]
fn control_flow() {
    insta::assert_snapshot!(all(&[
        "thread t { break; continue; }",
        "thread t { l: skip; l: skip; }",
        "fn f() { g(); } fn g() { f(); } thread t { f(); }",
        "thread t { return 1; }",
        "shared x; thread t { goto l; local r = 1; l: x = r; }",
        "shared x; thread t { while (1) { atomic { break; } } }",
        "shared x; thread t { atomic { goto out; in_there: skip; } out: goto in_there; }",
        "thread t { atomic { return; } }",
        "shared x; thread t { atomic(read) { x = 1; atomic { x = 2; } } }",
        "thread t { atomic(write) { } }",
        "thread t { atomic { fence; fence(ss); fence?; } }",
    ]));
}

#[test]
fn properties() {
    insta::assert_snapshot!(all(&[
        "shared x; thread t { local r; r = x; } never r == 1;",
        "thread t { } never u@l;",
        "thread t { local r; r = 1; } never t.q == 1; never t.r[0] == 1;",
        "thread t { atomic { l: skip; } } never t@l;",
        "thread t[2] { l: skip; } never t#3@l; never t[2]@l; never t#0@l;",
        "thread t { l: skip; } never t#1@l; never t[0]@l;",
        "thread t[*] { l: skip; } never t[0]@l;",
        "shared a[2], x; thread t { x = a[0]; } never a == 1; never a[x] == 1; never a[2] == 1; never x[0] == 1;",
        "thread t { } never self == 1; finally *; predicate f(1);",
        "shared x, y; thread t { x = y; } never x * y == 1; never x / 0 == 1;",
        "thread t { } never t@;",
        "thread t { } never t#x@l;",
    ]));
}

#[test]
fn processes() {
    insta::assert_snapshot!(all(&[
        "shared X; process p { X = 1; }",
        "process p { shared X; } thread t { }",
        "process p { shared X; } process q { X = 1; }",
        "process p { shared X; } process q { shared Z; put(X, q, Z); put(X, p, r); local r; put(X, p, r); r = get(X, p); }",
        "process p[2] { shared X; put(X, p, X); flush(p); put(X, p[2], X); }",
        "process p { shared X; put(X, p[0], X); put(X[0], p, X); }",
        "process p[*] { shared X; }",
        "process p[2] { shared A[2]; }",
        "process p { shared X; } process q { shared X; } never X == 1;",
        "process p { shared X; atomic { flush(p); } if (1) { shared Y; } }",
        "shared x; thread t { flush(all); put(x, t, x); }",
        "process p { shared X; local r; r = get(X, p) + 1; flush(q); }",
        "process p[2] { shared X; } never p.X == 1; never p#1.X == 1;",
    ]));
}

#[test]
fn limits() {
    // The text around the error is long; the message is what matters.
    let deep = format!("shared x; thread t {{ x = {}1; }}", "(".repeat(100_000));
    let braces = format!("thread t {}", "{".repeat(100_000));
    let unary = format!("shared x; thread t {{ x = {}1; }}", "!".repeat(99_999));
    let chain = format!("shared x; thread t {{ x = {}1; }}", "1 + ".repeat(100_000));
    let question = format!(
        "shared x; thread t {{ x = {}1; }}",
        "1 ? 2 : ".repeat(100_000)
    );
    let elses = format!(
        "shared x; thread t {{ {} skip; }}",
        "if (x) skip; else ".repeat(20_000)
    );
    let doubling: Vec<String> = (1..25)
        .map(|i| format!("fn f{i}() {{ f{0}(); f{0}(); }}\n", i - 1))
        .collect();
    let doubling = doubling.concat();
    let calls = format!("shared x; fn f0() {{ x = 1; }}\n{doubling}thread t {{ f24(); }}");
    for (text, expected) in [
        (deep, "nests too deeply"),
        (braces, "nests too deeply"),
        (unary, "nests too deeply"),
        (chain, "too long"),
        (question, "nests too deeply"),
        (calls, "inlining makes the program too large"),
    ] {
        let shown = shown(&text);
        assert!(shown.contains(expected), "{shown}");
    }
    // A long chain of `else if` is not deep.
    pal::parse(Source::new("t", elses)).expect("no error");
}

#[test]
fn warnings() {
    let text = "shared x, unused; fn f() { x = 1; }\nthread t {\n    local r, _s;\n    return;\n    x = 1;\n    while (1) { skip; }\n    dead: skip;\n}\nthread u { while (1) { } x = 2; goto l; l: x = 3; return; here: skip; }\nnever u@here;";
    let parsed = pal::parse(Source::new("t.pal", text)).expect("only warnings");
    let shown =
        palisade_frontend::diagnostic::render(&parsed.program.source, &parsed.warnings, false);
    insta::assert_snapshot!(shown);
}

#[test]
fn values_sent_over_the_network_stay_in_their_range() {
    insta::assert_snapshot!(all(&[
        "process p { shared Y in 0..1; } process q { shared X; put(Y, p, X); X = get(Y, p); }",
        "process p { shared Y in 0..9; } process q { shared X in 0..5; put(Y, p, X); X = get(Y, p); }",
    ]));
}
