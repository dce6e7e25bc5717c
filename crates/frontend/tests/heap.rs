//! Heap programs: what they become, and what is said about wrong ones.

use palisade_frontend::heap::parse;
use palisade_program::Source;
use palisade_program::heap::print;

fn shown(text: &str) -> String {
    match parse(Source::new("t.pal", text)) {
        Ok(parsed) => print::program(&parsed.program),
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

/// The messages with their lines and remedies.
fn refused(text: &str) -> Vec<String> {
    let Err(diagnostics) = parse(Source::new("t.pal", text)) else {
        panic!("read without error: {text}");
    };
    let items = diagnostics.items.iter();
    items
        .map(|d| {
            let line = diagnostics.source.position(d.span.start).line;
            assert!(d.help.is_some(), "no remedy: {}", d.message);
            format!("{line}: {}", d.message)
        })
        .collect()
}

#[test]
fn treiber() {
    let text = include_str!("../../../examples/linear/treiber.pal");
    insta::assert_snapshot!(shown(text));
}

#[test]
fn michael_scott() {
    let text = include_str!("../../../examples/linear/ms_queue.pal");
    insta::assert_snapshot!(shown(text));
}

const MANY: &str = "\
spec {
    shared int c = 0;
    operation bump() returns int { c = c + 1; return c; }
    operation maybe() returns bool { if (*) return true; return c == 0 || c == 1; }
}
struct node { data value; marked node next; lock l; }
shared counted node top;
shared lock big;
shared int c = 0;
never c == 7 && top == null;
method bump() returns int {
    int x;
    do { x = c; } while (!cas(c, x, x + 1));
    commit;
    return x + 1;
}
method maybe() returns bool {
    counted node t = top;
    marked node m;
    node p = new node;
    bool b = *;
    lock(big);
    lock(p.l);
    m = p.next;
    m.mark = true;
    p.next = pack(m.ptr, !m.mark);
    p.next = pack(null, false);
    unlock(p.l);
    unlock(big);
    if (t == top && cas(top, t, pack(p, t.count + 1))) { commit when m.mark; b = t.ptr == null; }
    atomic { while (c != 0) { c--; } assume(c == 0); }
    choose { free(p); } or { skip; }
    return cas(p.next, m, pack(t.ptr, true));
}
";

#[test]
fn every_construct() {
    insta::assert_snapshot!(shown(MANY));
}

#[test]
fn wrong_programs_are_refused_where_they_are_wrong() {
    let text = "\
spec stak;
struct node { data value; nod next; int ptr; }
shared node top = 3;
thread t { }
method push(data v) { top = v; }
";
    insta::assert_snapshot!(refused(text).join("\n"));
    let text = "\
spec stack;
struct node { data value; node next; marked node other; }
shared node top;
shared lock l;
method push(data v) {
    node n = new nodes;
    tpo = n;
    n.nxt = v;
    n.other = n;
    n.value = n;
    v = l;
    lock(top);
    cas(n, n, n);
    free(null);
    commit when n.next == null;
    break;
    if (n < top) return;
    if (n) return;
    data null;
    n = pack(v, true);
    return v;
}
method pop() { }
method peek() returns data { }
method size() returns node { return null; }
init { commit; }
init { }
";
    insta::assert_snapshot!(refused(text).join("\n"));
    assert_eq!(
        refused("method m() { while (true) { goto x; } }"),
        ["1: `goto` cannot stand in a data structure"]
    );
    assert_eq!(
        refused("shared int x;"),
        ["1: there is no specification"],
        "a file without methods has no specification either"
    );
    assert_eq!(refused("spec none;"), ["1: there is no method"]);
    let deep = format!(
        "spec none; method m() {}{}",
        "{ ".repeat(300),
        "} ".repeat(300)
    );
    assert!(refused(&deep).concat().contains("nests too deeply"));
}

#[test]
fn no_text_makes_the_reader_panic() {
    // Every prefix of a text that has everything.
    for end in (0..MANY.len()).filter(|&end| MANY.is_char_boundary(end)) {
        let _ = parse(Source::new("t.pal", &MANY[..end]));
    }
    // And the text without each of its words.
    let words: Vec<&str> = MANY.split_inclusive([' ', '\n', '(', ')', ';']).collect();
    for skipped in 0..words.len() {
        let rest: String = words
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != skipped)
            .map(|(_, word)| *word)
            .collect();
        let _ = parse(Source::new("t.pal", rest.as_str()));
    }
}

#[test]
fn the_examples_are_formatted() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/linear");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the examples are there") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let formatted = palisade_frontend::pal::format(&text);
        let formatted = formatted.unwrap_or_else(|d| panic!("{}: {d}", path.display()));
        assert_eq!(formatted, text, "{}", path.display());
        count += 1;
    }
    assert!(count >= 15, "{count} examples");
}

#[test]
fn constants_and_swaps_are_checked() {
    let wrong = |text: &str| refused(text).join("\n");
    let cases = [
        (
            "const N = null; spec none; method m() { }",
            "not a constant",
        ),
        (
            "const N = 1; spec none; method m() { int N; }",
            "`N` is a constant",
        ),
        (
            "spec none; shared bool b; method m() { fetch_add(b, 1); }",
            "cannot be changed",
        ),
        (
            "spec none; method m() { int x; x = xchg(x, 1); }",
            "a local is not shared",
        ),
        ("spec none; method m() { for (;;) }", "expected"),
    ];
    for (text, expected) in cases {
        let found = wrong(text);
        assert!(found.contains(expected), "{text}: {found}");
    }
}

const ARRAYS: &str = "\
spec none;
const N = 2;
const M = N + 1;
struct node { int field[N]; node next; }
shared int a[N] = {0, 1}, b[M] = 4;
shared node nodes[N];
shared lock locks[N];
local counted node mine;
local int kept[N] = 1;
never a[1] == 7;
fn pick(node n, int i) returns node {
    if (i < 0) return n.next;
    n = nodes[i];
    return n;
}
method m(int i) by first {
    int x[N], y = i;
    lock(locks[i]);
    x[i] = a[i + 1] - b[i % M];
    nodes[i].field[y] = fetch_add(a[0], x[i] + x[1]);
    assert(cas(nodes[i].next, null, pick(nodes[0], i)));
    unlock(locks[i]);
    kept[i] = kept[0];
    mine = pack(nodes[1], mine.count + 1);
}
method k() as m by second { mine.count = 3; }
";

#[test]
fn arrays_functions_roles_and_kept_locals() {
    insta::assert_snapshot!(shown(ARRAYS));
    let words: Vec<&str> = ARRAYS
        .split_inclusive([' ', '\n', '(', ')', ';', '['])
        .collect();
    for skipped in 0..words.len() {
        let rest = words
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != skipped);
        let rest: String = rest.map(|(_, word)| *word).collect();
        let _ = parse(Source::new("t.pal", rest.as_str()));
    }
}

#[test]
fn arrays_functions_roles_and_kept_locals_are_checked() {
    let cases = [
        ("shared int a[0];", "", "fixed length"),
        ("shared int a[65];", "", "fixed length"),
        ("shared int a[2] = {1};", "", "1 values for 2 elements"),
        ("shared int a, a[2];", "", "declared twice"),
        ("shared int a[2];", "a[2] = 1;", "out of range"),
        ("shared int a[2];", "a[0 - 1] = 1;", "out of range"),
        ("shared int a[2];", "a = 1;", "as a whole"),
        ("shared int a[2];", "int a;", "hides a shared variable"),
        ("shared int a;", "a[0] = 1;", "no array"),
        ("shared int a[2];", "a[true] = 1;", "expected int"),
        ("shared int a;", "a = a % a;", "positive constant"),
        ("shared int a;", "a = a % 0;", "positive constant"),
        ("fn f() { f(); }", "f();", "calls itself"),
        ("fn f() { g(); } fn g() { f(); }", "f();", "calls itself"),
        ("fn f(int x) { }", "f();", "1 parameters, 0 are given"),
        ("fn f(int x) { }", "f(null);", "expected int"),
        ("fn f() { }", "int x = f();", "no result"),
        ("fn f() returns int { }", "f();", "without a result"),
        ("fn f() { return 1; }", "f();", "a result is returned"),
        (
            "fn f() returns int { return; }",
            "f();",
            "the result is missing",
        ),
        ("fn f() { } fn f() { }", "f();", "declared twice"),
        ("fn xchg() { }", "", "built in"),
        ("fn f() by r { }", "f();", "no operation"),
        ("fn f() { break; }", "while (true) f();", "outside a loop"),
        ("fn f() { y = 1; }", "int y; f();", "unknown variable"),
        ("", "g();", "unknown function"),
        ("local lock l;", "", "cannot be local"),
        ("local int k; shared int k;", "", "declared twice"),
        ("local int k; init { k = 1; }", "", "unknown variable"),
        (
            "shared counted node c;",
            "c.ptr = null;",
            "tag cannot be used alone",
        ),
    ];
    for (items, body, expected) in cases {
        let text =
            format!("spec none; struct node {{ node next; }} {items} method m() {{ {body} }}");
        let found = refused(&text).join("\n");
        assert!(found.contains(expected), "{text}: {found}");
    }
}
