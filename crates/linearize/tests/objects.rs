//! Data structures in C. Random methods are written twice, in C and by hand in the language of data structures: both have a
//! wrong run within bounds, or neither has. And a second way: what two calls at the same time can return is asked of the C front end and the
//! machine, which share nothing with the translation but the parser.
//! `PALISADE_SOAK=n` tries n programs, from `PALISADE_FIRST` on.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use palisade_frontend::c::{self, Object};
use palisade_linearize::{Found, Options, explore};
use palisade_program::heap::Program;
use palisade_program::random::Rng;
use palisade_program::{Model, Source, Verdict};

fn read(name: &str, text: &str) -> Result<Program, String> {
    let source = Source::new(name, text);
    let read = c::parse_object(
        Path::new(name),
        &source,
        &c::Options::default(),
        &Object::default(),
    );
    match read {
        Ok(read) => Ok(read.parsed.program),
        Err(errors) => Err(errors.render(false)),
    }
}

fn by_hand(text: &str) -> Program {
    match palisade_frontend::heap::parse(Source::new("by hand", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{}\n{text}", errors.render(false)),
    }
}

fn is_wrong(program: &Program, threads: u32, calls: u32) -> bool {
    let options = Options {
        threads,
        calls,
        ..Options::default()
    };
    let search = explore(program, &options).unwrap_or_else(|failure| panic!("{failure}"));
    matches!(search.found, Found::Wrong(_))
}

#[test]
fn examples_are_as_they_say() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/objects");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the examples are there") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let name = path.display().to_string();
        let program = read(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        let right = text.lines().nth(1) == Some("// expect: linearizable");
        assert_eq!(is_wrong(&program, 2, 4), !right, "{name}");
        count += 1;
    }
    assert!(count >= 7, "{count} examples");
}

/// What is said of a program with these methods.
fn refusal(text: &str) -> String {
    read("refused.c", text).err().unwrap_or_default()
}

#[test]
fn what_has_no_counterpart_is_refused_with_its_place() {
    let head = "#include <stdatomic.h>\n#include <stdlib.h>\n//@ spec { shared int n = 0; operation m(int a) returns int { return a; } }\n\
                static atomic_int x, y; static unsigned u; static int arr[2][2]; struct n { struct n *next; }; static struct n *p;\n";
    let cases = [
        (
            "int m(int a) { return a & x; }",
            "& with one less than a power of two",
        ),
        (
            "int m(int a) { return a % 3; }",
            "a remainder that may be negative",
        ),
        (
            "int m(int a) { if (u - a > 2) return 1; return 0; }",
            "which wrap below zero",
        ),
        (
            "int m(int a) { return a / 2; }",
            "use + - and % by constants",
        ),
        ("int m(int a) { return arr[0][a]; }", "an array of arrays"),
        (
            "int f(int); int m(int a) { return f(a); }",
            "which is not defined here",
        ),
        (
            "int m(int a, int b) { return a; }",
            "more parameters than the operation has",
        ),
        (
            "int m(void) { return 1; }",
            "fewer parameters than the operation has",
        ),
        ("void m(int a) { }", "without the result of its operation"),
        (
            "int m(int a) { p->next = p->next->next; x = (y = a) + x; return 0; }",
            "in an order that C leaves open",
        ),
        (
            "int m(int a) { return (char)a; }",
            "a cast to a smaller integer",
        ),
        (
            "int m(int a) { switch (a) { case 0: a = 1; case 1: a = 2; } return a; }",
            "falls through",
        ),
    ];
    for (text, expected) in cases {
        let found = refusal(&format!("{head}{text}\n"));
        assert!(found.contains(expected), "{text}: {found}");
        assert!(found.contains("refused.c:"), "{text}: {found}");
    }
    let data = "//@ spec stack;\nstatic int top; void push(int v) { top = v + 1; } int pop(void) { return -1; }\n";
    assert!(refusal(data).contains("something is computed with a value"));
    let constants = "//@ spec stack;\nstatic int top; void push(int v) { if (v == 7) return; top = v; } int pop(void) { return -1; }\n";
    assert!(refusal(constants).contains("several constants among the data"));
}

/// What a statement is in C, and in the language of data structures. `a` is the argument, `t` and `u` are locals, `x` and `y`
/// atomic, `z` is not.
const STATEMENTS: &[(&str, &str)] = &[
    ("t = atomic_load(&x);", "t = x;"),
    ("u = y;", "u = y;"),
    ("atomic_store(&x, t + 1);", "x = t + 1;"),
    ("y = a;", "y = a;"),
    ("t = atomic_fetch_add(&x, 2);", "t = fetch_add(x, 2);"),
    ("t = x++;", "t = fetch_add(x, 1);"),
    ("u = ++y;", "u = fetch_add(y, 1); u = u + 1;"),
    ("x -= 1;", "fetch_add(x, -1);"),
    ("u = z++;", "u = z; z = u + 1;"),
    ("z += a;", "z = z + a;"),
    (
        "if (atomic_compare_exchange_strong(&x, &t, u)) u = 5; else u = t;",
        "atomic { if (x == t) { x = u; ok = true; } else { t = x; ok = false; } } if (ok) { u = 5; } else { u = t; }",
    ),
    (
        "if (!atomic_compare_exchange_weak(&x, &t, a)) u = t;",
        "if (*) { atomic { if (x == t) { x = a; ok = true; } else { t = x; ok = false; } } } else { t = x; ok = false; } if (!ok) { u = t; }",
    ),
    (
        "if (atomic_compare_exchange_strong(&y, &t, a)) u = 1; t = 0;",
        "if (cas(y, t, a)) { u = 1; } t = 0;",
    ),
    (
        "do { t = x; } while (!atomic_compare_exchange_strong(&x, &t, t + a));",
        "do { t = x; } while (!cas(x, t, t + a));",
    ),
    ("u = bump(&x);", "u = x; x = u + 1;"),
    ("u = bump(&y);", "u = y; y = u + 1;"),
    ("exchange(&t, &u);", "s = t; t = u; u = s;"),
    (
        "u = attempt(&x, t);",
        "s = t; atomic { if (x == s) { x = 9; ok = true; } else { s = x; ok = false; } } if (ok) { u = 1; } else { u = s; }",
    ),
    ("u = trebled(t) + t;", "u = t + 3 + t;"),
    (
        "switch (t) { case 0: u = 1; break; case 1: case 2: u = a; break; default: u = 2; }",
        "if (t == 0) { u = 1; } else if (t == 1 || t == 2) { u = a; } else { u = 2; }",
    ),
    ("{ int t = y; u = t; }", "u = y;"),
    (
        "u = t && y ? 1 : 2;",
        "u = 2; if (t != 0 && y != 0) { u = 1; }",
    ),
    (
        "for (int i = 0; i < 2; i++) { if (t == i) continue; u += i; x = u; }",
        "s = 0; while (s < 2) { if (t != s) { u = u + s; x = u; } s = s + 1; }",
    ),
    (
        "retry: t = x; if (t > 2) { t = 1; } else if (!atomic_compare_exchange_strong(&x, &t, t + 1)) goto retry;",
        "while (true) { t = x; if (t > 2) { t = 1; break; } if (cas(x, t, t + 1)) { break; } }",
    ),
    (
        "while (1) { while (1) { if (y == a) goto out; t = y; break; } u = t; break; } out: ;",
        "while (true) { if (y == a) { break; } t = y; u = t; break; }",
    ),
    (
        "pthread_mutex_lock(&l); z = t; u = z; pthread_mutex_unlock(&l);",
        "lock(m); z = t; u = z; unlock(m);",
    ),
    (
        "u = __sync_val_compare_and_swap(&z, a, t);",
        "atomic { u = z; if (u == a) { z = t; } }",
    ),
    ("t = (u = y, u + 1);", "u = y; t = u + 1;"),
    (
        "if (t != 0 || (u = x) > 1) t = u;",
        "if (t != 0) { t = u; } else { u = x; if (u > 1) { t = u; } }",
    ),
];

const C_HEAD: &str = "#include <stdatomic.h>\n#include <pthread.h>\nstatic atomic_int x, y; static int z; static pthread_mutex_t l;\n\
    static int bump(atomic_int *p) { int v = atomic_load(p); atomic_store(p, v + 1); return v; }\n\
    static int attempt(atomic_int *p, int e) { if (atomic_compare_exchange_strong(p, &e, 9)) return 1; return e; }\n\
    static void more(int *p) { *p = *p + 3; } static int trebled(int v) { more(&v); return v; }\n\
    static void exchange(int *p, int *q) { int v = *p; *p = *q; *q = v; }\n";

/// The same statement in a specification: shared variables have other names there, and nobody else acts.
fn alone(statement: &str) -> String {
    let mut text = String::new();
    let mut word = String::new();
    for c in statement.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        match word.as_str() {
            "x" | "y" | "z" => {
                let _ = write!(text, "s{word}");
            }
            _ => text.push_str(&word),
        }
        word.clear();
        text.push(c);
    }
    text
}

struct Made {
    c: String,
    by_hand: String,
    methods: [String; 2],
}

fn made(seed: u64) -> Made {
    let mut random = Rng::new(seed);
    let mut pick = || -> Vec<(&str, &str)> {
        let count = 1 + random.below(2);
        (0..count).map(|_| *random.pick(STATEMENTS)).collect()
    };
    let bodies = [pick(), pick()];
    let mut spec = "spec { shared int sx = 0; shared int sy = 0; shared int sz = 0;\n".to_owned();
    let mut own =
        "shared int x = 0; shared int y = 0; shared int z = 0; shared lock m;\n".to_owned();
    let mut methods = [String::new(), String::new()];
    let locals = "int t = 0; int u = 0; int s = 0; bool ok = false;";
    for (index, (name, body)) in ["f", "g"].iter().zip(&bodies).enumerate() {
        let mut labels = 0;
        let mut text = format!("int {name}(int a) {{ int t = 0, u = 0;\n");
        let (mut hand, mut sequential) = (String::new(), String::new());
        for (c, pal) in body {
            labels += 1;
            // Labels are known in all of a function.
            let c = c
                .replace("retry", &format!("retry{labels}"))
                .replace("out", &format!("out{labels}"));
            let _ = writeln!(text, "  {c}");
            let _ = writeln!(hand, "  {pal}");
            let without_locks = pal.replace("unlock(m);", "").replace("lock(m);", "");
            let _ = writeln!(sequential, "  {}", alone(&without_locks));
        }
        let _ = writeln!(text, "  return u + t;\n}}");
        let _ = writeln!(
            own,
            "method {name}(int a) returns int {{ {locals}\n{hand}  return u + t; }}"
        );
        let _ = writeln!(
            spec,
            "operation {name}(int a) returns int {{ {locals}\n{sequential}  return u + t; }}"
        );
        methods[index] = text;
    }
    spec.push_str("}\n");
    let c = format!("{C_HEAD}/*@ {spec} */\n{}{}", methods[0], methods[1]);
    Made {
        c,
        by_hand: format!("{spec}{own}"),
        methods,
    }
}

fn seeds(few: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let first = number("PALISADE_FIRST").unwrap_or(0);
    first..first + number("PALISADE_SOAK").unwrap_or(few)
}

#[test]
fn random_methods_are_as_written_by_hand() {
    let (mut wrong, mut right) = (0, 0);
    for seed in seeds(40) {
        let made = made(seed);
        let program =
            read("random.c", &made.c).unwrap_or_else(|error| panic!("{error}\n{}", made.c));
        let found = is_wrong(&program, 2, 3);
        let expected = is_wrong(&by_hand(&made.by_hand), 2, 3);
        assert_eq!(found, expected, "seed {seed}\n{}\n{}", made.c, made.by_hand);
        if found { wrong += 1 } else { right += 1 }
    }
    println!("{wrong} wrong, {right} right");
    assert!(wrong > 5 && right > 5, "{wrong} wrong, {right} right");
}

/// The results that are looked at: of `f(1)` and of `g(1)`, which run at the same time.
const RESULTS: std::ops::Range<i64> = -3..20;

/// Whether the machine, by the C front end, finds a run in which they return these; `None` where it does not end.
fn returns_by_machine(made: &Made, (f, g): (i64, i64)) -> Option<bool> {
    let text = format!(
        "{C_HEAD}extern void reach_error(void); static int rf, rg;\n{}{}
static void *other(void *p) {{ rg = g(1); return 0; }}
int main(void) {{ pthread_t t; pthread_create(&t, 0, other, 0); rf = f(1); pthread_join(t, 0); if (rf == {f} && rg == {g}) reach_error(); }}\n",
        made.methods[0], made.methods[1]
    );
    let read = c::parse(
        Path::new("client.c"),
        &Source::new("client.c", text.as_str()),
        &c::Options::default(),
    );
    let program = read
        .unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
        .program;
    let limits = palisade_machine::Options {
        workers: 1,
        max_states: Some(200_000),
        ..palisade_machine::Options::new(Model::Sc)
    };
    let result = palisade_machine::explore(&program, &limits).expect("the machine takes it");
    match result.verdict {
        Verdict::Holds => Some(false),
        Verdict::Violated(_) => Some(true),
        Verdict::Unknown(_) => None,
    }
}

/// The same of the data structure: whether a specification that allows anything but these results is broken.
fn returns_by_structure(made: &Made, (f, g): (i64, i64)) -> bool {
    let mut any = String::new();
    for value in RESULTS {
        let _ = write!(any, "if (*) {{ r = {value}; }} else ");
    }
    any.push_str("{ }");
    let operation = |name: &str| {
        format!(
            "operation {name}() returns int {{ int r = {}; {any} r{name} = r; n{name} = n{name} + 1; \
             if (nf == 1 && ng == 1) {{ if (rf == {f}) {{ assume(rg != {g}); }} }} return r; }}\n",
            RESULTS.start
        )
    };
    let spec = format!(
        "spec {{ shared int rf = 0; shared int rg = 0; shared int nf = 0; shared int ng = 0;\n{}{} }}",
        operation("f"),
        operation("g")
    );
    let renamed = |text: &str, name: &str| {
        text.replace(
            &format!("int {name}(int a)"),
            &format!("int {name}_of(int a)"),
        )
    };
    let text = format!(
        "{C_HEAD}/*@ {spec} */\n{}{}int f(void) {{ return f_of(1); }}\nint g(void) {{ return g_of(1); }}\n",
        renamed(&made.methods[0], "f"),
        renamed(&made.methods[1], "g")
    );
    let program = read("observed.c", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    is_wrong(&program, 2, 2)
}

#[test]
fn random_methods_return_what_the_machine_finds() {
    let (mut yes, mut no, mut open) = (0, 0, 0);
    for seed in seeds(20) {
        let made = made(seed);
        let mut random = Rng::new(seed);
        for _ in 0..3 {
            let results = (random.between(0, 3), random.between(0, 3));
            let Some(expected) = returns_by_machine(&made, results) else {
                open += 1;
                continue;
            };
            let text = format!("seed {seed}, {results:?}\n{}", made.c);
            assert_eq!(returns_by_structure(&made, results), expected, "{text}");
            if expected { yes += 1 } else { no += 1 }
        }
    }
    println!("{yes} found, {no} not, {open} not ended");
    assert!(yes > 5 && no > 5, "{yes} found, {no} not");
}
