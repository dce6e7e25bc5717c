//! What statements and values mean, by the runs of small programs.

use palisade_linearize::{Found, Options, explore, timeline};
use palisade_program::Source;

/// What is wrong in runs of two threads with three calls.
fn wrong(text: &str) -> Option<String> {
    let source = Source::new("language.pal", text);
    let program = match palisade_frontend::heap::parse(source) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{}", errors.render(false)),
    };
    let options = Options {
        threads: 2,
        calls: 3,
        ..Options::default()
    };
    let search = explore(&program, &options).unwrap_or_else(|failure| panic!("{failure}"));
    match search.found {
        Found::Nothing => None,
        Found::Wrong(witness) => Some(timeline::words(&witness.what)),
        Found::Stopped(stop) => panic!("{stop:?}"),
    }
}

const COUNTER: &str = "
    const STEP = 2;
    spec {
        shared int n = 0;
        operation next() returns int { n = n + 2; return n; }
    }
    shared int c = 0;
    method next() returns int { int x; BODY return x + STEP; }
";

#[test]
fn fetch_add_is_one_step() {
    let counter = |body: &str| wrong(&COUNTER.replace("BODY", body));
    assert_eq!(counter("x = fetch_add(c, STEP);"), None);
    assert_eq!(
        counter("x = fetch_add(c, 1); fetch_add(c, 1);"),
        counter("x = c; c = x + 2;")
    );
    assert!(counter("x = c; c = x + STEP;").is_some_and(|why| why.starts_with("not linear")));
}

#[test]
fn for_counts_and_continue_goes_to_its_step() {
    let counter = |body: &str| wrong(&COUNTER.replace("BODY", body));
    let body = |times: u32| {
        format!(
            "atomic {{
                x = c;
                for (int i = 0; i < {times}; i++) {{ if (i == 1) continue; c = c + 1; }}
            }}"
        )
    };
    // Of three rounds one is left out.
    assert_eq!(counter(&body(3)), None);
    assert!(counter(&body(2)).is_some());
    assert_eq!(
        counter("atomic { x = c; for (;;) { c = c + STEP; break; } }"),
        None
    );
}

#[test]
fn xchg_gives_the_old_value() {
    let register = |body: &str| {
        wrong(&format!(
            "spec {{
                shared data d;
                operation set(data v) returns data {{ data old = d; d = v; return old; }}
            }}
            shared data r;
            method set(data v) returns data {{ {body} }}"
        ))
    };
    assert_eq!(register("data old = xchg(r, v); return old;"), None);
    // Into the local that is written.
    assert_eq!(register("data x = v; x = xchg(r, x); return x;"), None);
    assert!(register("data old = r; r = v; return old;").is_some());
}

#[test]
fn infinite_values_are_below_and_above_all() {
    let text = "
        spec none;
        shared bool bad = false;
        never bad == true;
        method look(data v) { if (v <= -infinity || v >= infinity || infinity < -infinity) bad = true; }";
    assert_eq!(wrong(text), None);
    assert!(wrong(&text.replace("v >= infinity", "v > -infinity")).is_some());
}
