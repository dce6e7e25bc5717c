//! Tests of the text format: round trip, errors with their places.

use palisade_boolean::resolve::resolve;
use palisade_boolean::{BpError, parse};

const SAMPLE: &str = "\
shared s = 0; // x < y
shared t = *;
initially !s || t;

thread left {
    local l = 1;
    top: goto 1, 2;
    1: s, l, [right.r] = choose(s && !l, l ^ t), *, [right.r] == l constrain 's || !t && 'l;
    2: assume s ? t : !(s => l); // r = x
        assert (s || t) && l;
    3: 4: skip;
        goto top, end;
    end:
}

thread right[2] {
    local r = 0;
    a: [r] = [r] && r;
}

never left@4 && s; // both
";

fn errors(text: &str) -> Vec<BpError> {
    match parse(text) {
        Err(errors) => errors,
        Ok(program) => resolve(&program).err().unwrap_or_default(),
    }
}

/// The first error as `text it points at: message`.
fn first(text: &str) -> String {
    let errors = errors(text);
    let error = errors.first().expect("this is wrong");
    assert!(!error.help.is_empty());
    let span = error.span;
    format!(
        "{}: {}",
        &text[span.start as usize..span.end as usize],
        error.message
    )
}

#[test]
fn printing_and_parsing_agree() {
    let program = parse(SAMPLE).expect("right");
    assert!(resolve(&program).is_ok(), "{:?}", resolve(&program));
    let printed = program.to_string();
    assert_eq!(printed, SAMPLE, "the sample is written as it is printed");
    assert_eq!(parse(&printed).as_ref(), Ok(&program));
}

#[test]
fn code_outside_of_threads_is_a_thread() {
    let text = "shared bool a = 0, b = 1;\nlocal bool c = *;\n1: a := b & ~c | 0;\n2: goto 1;\n";
    let program = parse(text).expect("right");
    assert_eq!(program.threads.len(), 1);
    assert_eq!(parse(&program.to_string()), Ok(program));
}

/// [Donaldson et al., CAV 2011, Fig. 1]: the keyword stands once, before the list.
#[test]
fn declarations_as_in_the_papers_grammar() {
    let listed = "shared a = 0; b = *; local l = 1; m = 0;\n1: a, [l] = l, [l]; 2: goto 1;";
    let single = "shared a = 0; shared b = *; local l = 1; local m = 0;\n\
                  1: a, [l] = l, [l]; 2: goto 1;";
    let read = |text: &str| parse(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(read(listed), read(single));
    // An assignment to a variable that exists is a statement, as before.
    let assigned = read("shared a = 0; a = 1; b: a = 0;");
    assert_eq!(
        (assigned.shared.len(), assigned.threads[0].body.len()),
        (1, 2)
    );
}

#[test]
fn errors_point_at_their_place() {
    assert_eq!(
        first("shared a = 2;"),
        "2: expected `0`, `1` or `*`, found `2`"
    );
    assert_eq!(
        first("shared a = 0;\na = b;"),
        "b: there is no variable `b`"
    );
    assert_eq!(
        first("local a = 0;\n1: goto 2;"),
        "2: there is no label `2`"
    );
    assert_eq!(
        first("local a = 0;\na = [a];"),
        "[a]: `[a]` is used outside of a broadcast"
    );
    assert_eq!(
        first("shared a = 0;\na, a = 0, 1;"),
        "a: `a` is assigned twice at once"
    );
    assert_eq!(
        first("shared a = 0;\n[a] = 0;"),
        "[a]: `a` is no local variable of the passive threads"
    );
    assert_eq!(
        first("shared a = 0;\na = 'a;"),
        "'a: a value after the assignment, outside of a constraint"
    );
    assert_eq!(
        first("shared a = 0;\na = a@b;"),
        "a@b: a location outside of `never`"
    );
    assert_eq!(first("shared a = 0, a = 1;"), "a: `a` is declared twice");
    assert_eq!(
        first("local a = 0;\n1: skip; 1: skip;"),
        "1: the label `1` stands twice"
    );
    assert_eq!(
        first("thread t[2] { 1: skip; }\nnever t@1;"),
        "t@1: `t` runs more than once"
    );
    assert_eq!(
        first("shared a = 0;\na, a = 0;"),
        "a, a = 0: 2 variables, but 1 values"
    );
    assert_eq!(first("local a = 0;\na = $;"), "$: unexpected character `$`");
}

#[test]
fn one_run_finds_many_errors() {
    let found = errors("shared a = 3;\nb = ;\nassume (a;\nthread { }\nskip");
    assert!(found.len() >= 4, "{found:?}");
    let found = errors("local a = 0;\nb = c;\ngoto d;\n[e] = f;");
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn no_input_breaks_the_parser() {
    let deep = format!(
        "local a = 0;\na = {}a{};",
        "(".repeat(5000),
        ")".repeat(5000)
    );
    assert!(first(&deep).ends_with("nested too deeply"));
    let nots = format!("local a = 0;\na = {}a;", "!".repeat(5000));
    assert!(first(&nots).ends_with("nested too deeply"));
    for text in [
        "",
        "}",
        "thread",
        "thread t {",
        "shared",
        "[",
        "1:",
        "a ? b",
        "never ;",
        "ä",
    ] {
        let _ = errors(text);
    }
    // Every prefix and every text with one byte left out.
    for at in 0..SAMPLE.len() {
        let _ = errors(&SAMPLE[..at]);
        let mut mutated = SAMPLE.to_owned();
        mutated.remove(at);
        let _ = errors(&mutated);
    }
}
