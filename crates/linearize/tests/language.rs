//! What statements and values mean, by the runs of small programs.

use palisade_linearize::{Found, Options, check_commits, explore, timeline};
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

#[test]
fn sums_and_remainders() {
    let text = |value: &str, of: i64| {
        format!(
            "spec none; shared int s = -7, t = 3;
            method m() {{ int x = s; int y = t; int z = {value}; assert(z == {of}); }}"
        )
    };
    for (value, of) in [
        ("x + y", -4),
        ("x - y", -10),
        ("y - x", 10),
        ("2 - x", 9),
        ("x % 2", 1),
        ("x % 4 + y % 2", 2),
        ("(x + y + 1) % 5", 2),
        ("s + t + s", -11),
    ] {
        assert_eq!(wrong(&text(value, of)), None, "{value}");
        assert_eq!(
            wrong(&text(value, of + 1)).as_deref(),
            Some("an assertion fails")
        );
    }
}

#[test]
fn a_sum_is_no_one_step() {
    let counter = |body: &str| wrong(&COUNTER.replace("BODY", body));
    assert_eq!(counter("int two = 2; x = fetch_add(c, two);"), None);
    assert!(counter("int two = 2; x = c; c = x + two;").is_some());
}

#[test]
fn an_index_is_in_range_or_a_violation() {
    let text = |index: &str| {
        format!(
            "spec none; const N = 3;
            struct node {{ int field[N]; }}
            shared int a[N] = {{4, 5, 6}};
            shared node p;
            init {{ p = new node; }}
            method m() {{
                int own[N] = 7;
                int i = {index};
                node q = p;
                int x = a[i];
                own[i] = x;
                q.field[i] = own[i];
                int y = q.field[i];
                int z = own[(i + 1) % N];
                assert(y == i + 4 && z == 7);
            }}"
        )
    };
    for index in ["0", "1", "2", "5 % N"] {
        assert_eq!(wrong(&text(index)), None, "{index}");
    }
    for index in ["-1", "3", "N + 1"] {
        assert_eq!(
            wrong(&text(index)).as_deref(),
            Some("an index is out of range"),
            "{index}"
        );
    }
}

/// The array is looked at when it is accessed, the index is taken before.
#[test]
fn elements_are_accessed_from_left_to_right() {
    let text = |claim: &str| {
        format!(
            "spec none; shared int a[2] = {{0, 1}}; shared int i = 0;
            fn next() returns int {{ i = 1; return 5; }}
            method m() {{ i = 0; a[0] = 0; a[1] = 1; a[i] = next(); int x = a[0]; assert({claim}); }}"
        )
    };
    let alone = |claim: &str| {
        let text = text(claim).replace("method m() {", "method m() by one {");
        wrong(&text)
    };
    assert_eq!(alone("x == 5"), None);
    assert!(alone("x == 0").is_some());
    assert!(wrong(&text("x == 5")).is_some(), "with two threads");
}

#[test]
fn functions_are_inlined() {
    let text = "
        spec none;
        shared int s = 0;
        fn twice(int x) returns int { int y; y = y + x; x = x + y; return x; }
        fn add(int by) { s = s + by; }
        fn positive(int x) returns bool { if (x > 0) return true; return x > 10; }
        method m() by one {
            int x = 3;
            for (int i = 0; i < 2; i++) { assert(twice(x) == 6); }
            assert(x == 3);
            s = 0;
            add(twice(2));
            add(x);
            assert(s == 7);
            if (!positive(s)) assert(false);
            bool b = positive(0 - s);
            assert(!b && !positive(0));
        }";
    assert_eq!(wrong(text), None);
    for (old, new) in [("== 6", "== 9"), ("s == 7", "s == 4"), ("x > 0", "x > 7")] {
        assert!(wrong(&text.replace(old, new)).is_some(), "{new}");
    }
}

/// Behind a call that is a condition, `commit` belongs to the step that has decided.
#[test]
fn commits_behind_functions() {
    let stack = "
        spec stack;
        struct node { data value; node next; }
        shared node top;
        fn swapped(node old, node new_top) returns bool { return cas(top, old, new_top); }
        method push(data v) {
            node n = new node;
            n.value = v;
            while (true) {
                node t = top;
                n.next = t;
                if (swapped(t, n)) { commit; return; }
            }
        }
        method pop() returns data {
            while (true) {
                node t = top;
                commit when t == null;
                if (t == null) return empty;
                node n = t.next;
                if (swapped(t, n)) { commit; return t.value; }
            }
        }";
    let source = Source::new("stack.pal", stack);
    let parsed = palisade_frontend::heap::parse(source).expect("it is right");
    let found = check_commits(&parsed.program, &Options::default()).expect("a search");
    assert!(matches!(found.found, Found::Nothing), "{:?}", found.found);
}

#[test]
fn threads_keep_locals_between_calls() {
    let text = "
        spec none;
        struct node { int n; }
        shared int calls = 0;
        shared bool bad = false;
        never bad == true;
        local int mine = 0;
        local node own[2];
        fn count() { mine++; }
        method m() {
            if (own[0] == null) own[0] = new node;
            own[0].n = own[0].n + 1;
            count();
            int all = fetch_add(calls, 1);
            if (own[0].n != mine || mine > all + 1 || own[1] != null) bad = true;
        }";
    assert_eq!(wrong(text), None);
    for (old, new) in [
        ("mine > all + 1", "mine != all + 1"),
        ("mine > all + 1", "mine > 2"),
        ("mine++;", "mine = 1;"),
        ("local int mine = 0", "local int mine = 1"),
        ("own[0] == null", "true"),
    ] {
        assert!(wrong(&text.replace(old, new)).is_some(), "{new}");
    }
}

#[test]
fn a_role_is_one_thread() {
    let text = |roles: [&str; 2]| {
        format!(
            "spec none; shared int s = 0;
            method up() {} {{ int x = s; s = x + 1; x = s - x; assert(x == 1); }}
            method zero() {} {{ int x = s; s = 0; }}",
            roles[0], roles[1]
        )
    };
    assert_eq!(wrong(&text(["by a", "by a"])), None);
    for roles in [["", ""], ["by a", ""], ["by a", "by b"]] {
        assert!(wrong(&text(roles)).is_some(), "{roles:?}");
    }
    // Without the other method nobody disturbs the one.
    assert_eq!(
        wrong(&text(["by a", "by b"]).replace("s = 0; }", "}")),
        None
    );
}
