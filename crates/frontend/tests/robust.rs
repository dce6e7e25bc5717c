//! No input makes the front end panic or hang, whatever it is; and whatever is a
//! program survives formatting and printing.
#![allow(missing_docs)]

use crate::common;

use palisade_frontend::pal;
use palisade_machine::{Options, explore};
use palisade_program::{Model, Program, Source, Verdict};
use proptest::prelude::*;

/// Programs that use every construct; mutations start from them.
const SEEDS: &[&str] = &[
    include_str!("../../../examples/dekker.pal"),
    include_str!("../../../examples/bakery_fenced.pal"),
    include_str!("../../../examples/queue.pal"),
    include_str!("../../../examples/rma_put_get.pal"),
    "const N = 2; shared x in 0..3 = *, a[N] = {1, 0}, m; // c
     fn f(p, q) { local s = p; if (p > q) return s; while (s < q) { s++; } return s - x; }
     thread t[N] { local r = 0, l[3] = {1, 2, 3}; lock(m); r = f(x, a[self]); unlock(m);
       for (r = 0; r < N; r++) { a[r] += x; if (a[r] == 1) break; else continue; }
       choose { assume(x == 1); goto out; } or { l[r] = l[r % 3] + 1; } or { x = choose(0..2); }
       atomic { r = x; if (r != 1 && a[0] == 1) { x = 1; } again: r++; if (r < 3) goto again; }
       do { r = cas(x, 0, 1) ? xchg(m, 0) : fetch_add(a[1], -1); fence?; } while (r > 0 || x == *);
       out: fence(ss); assert(l[0] >= 1 || r == -x); /* d */ skip; }
     thread u[*] { int w = self; x = w; fence; return; }
     never t#1@out && t#2@out && a[t#1.self] > x; finally (u.w >= 0); predicate t.l[1] < 3;",
    "process p[2] { shared X = {0, 1}; shared Y; local r; put(Y, p[1 - self], X); Y = get(X, p[r]); flush(p[1 - self]); }
     process q { shared Z[2]; local control c in 0..1 = 0; flush(all); put(Z[c], q, Z[1]); flush(q); } never p[0].X == Z[1];",
];

const WORDS: &[&str] = &[
    "shared",
    "local",
    "thread",
    "process",
    "fn",
    "if",
    "else",
    "while",
    "do",
    "for",
    "goto",
    "break",
    "continue",
    "choose",
    "or",
    "assume",
    "assert",
    "skip",
    "atomic",
    "cas",
    "lock",
    "fence",
    "return",
    "never",
    "finally",
    "predicate",
    "const",
    "self",
    "true",
    "put",
    "get",
    "flush",
    "in",
    "control",
    "x",
    "a",
    "t",
    "p",
    "r",
    "f",
    "0",
    "1",
    "2",
    "9223372036854775808",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "?",
    "=",
    "==",
    "<",
    "&&",
    "||",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "~",
    "@",
    "#",
    ".",
    "..",
    "++",
    "+=",
    "//",
    "/*",
    "*/",
    "\n",
    "é",
    "\0",
    "$1",
    "int32",
];

/// One change of a text.
#[derive(Clone, Debug)]
enum Change {
    Drop(prop::sample::Index),
    Double(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Word(prop::sample::Index, &'static str),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        at().prop_map(Change::Drop),
        at().prop_map(Change::Double),
        (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
        (at(), prop::sample::select(WORDS)).prop_map(|(i, w)| Change::Word(i, w)),
    ]
}

/// Roughly the words of a text, with the white space in front of them.
fn words(text: &str) -> Vec<String> {
    let mut all: Vec<String> = vec![String::new()];
    let mut last = ' ';
    for c in text.chars() {
        let joins = c.is_alphanumeric() && last.is_alphanumeric() || last.is_whitespace();
        if !joins {
            all.push(String::new());
        }
        if let Some(word) = all.last_mut() {
            word.push(c);
        }
        last = c;
    }
    all
}

fn mutated() -> impl Strategy<Value = String> {
    let seed = prop::sample::select(SEEDS);
    (seed, prop::collection::vec(change(), 0..4)).prop_map(|(seed, changes)| {
        let mut text = words(seed);
        for change in changes {
            let n = text.len();
            match change {
                Change::Drop(i) => {
                    text.remove(i.index(n));
                }
                Change::Double(i) => {
                    let word = text[i.index(n)].clone();
                    text.insert(i.index(n), word);
                }
                Change::Swap(a, b) => text.swap(a.index(n), b.index(n)),
                Change::Word(i, w) => text[i.index(n)] = format!(" {w} "),
            }
            if text.is_empty() {
                text.push(String::new());
            }
        }
        text.concat()
    })
}

/// How many cases to try: more in `make soak`.
fn cases(normal: u32) -> ProptestConfig {
    let soak = std::env::var("PALISADE_SOAK").ok();
    ProptestConfig {
        cases: soak.and_then(|n| n.parse().ok()).unwrap_or(normal),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn read(text: &str) -> Option<Program> {
    match pal::parse(Source::new("t.pal", text)) {
        Ok(parsed) => Some(parsed.program),
        Err(errors) => {
            assert!(!errors.items.is_empty());
            for item in &errors.items {
                assert!(item.span.start <= item.span.end);
                assert!(item.span.end as usize <= text.len());
            }
            assert!(errors.to_string().contains("error"));
            None
        }
    }
}

/// Formats `text`, which must change nothing but white space, and only once.
fn check_format(text: &str, program: &Program) {
    let formatted = pal::format(text).expect("it was parsed");
    let without_space = |s: &str| s.split_whitespace().collect::<String>();
    assert_eq!(without_space(text), without_space(&formatted));
    assert_eq!(
        pal::format(&formatted).expect("formatted"),
        formatted,
        "{text}"
    );
    let again = read(&formatted).unwrap_or_else(|| panic!("{text}\n->\n{formatted}"));
    assert_eq!(common::dump(program), common::dump(&again));
}

fn verdict(program: &Program, model: Model) -> &'static str {
    let options = Options {
        max_states: Some(2_000),
        workers: 1,
        ..Options::new(model)
    };
    match explore(program, &options).map(|e| e.verdict) {
        Ok(Verdict::Holds) => "holds",
        Ok(Verdict::Violated(_)) => "violated",
        Ok(Verdict::Unknown(_)) | Err(_) => "unknown",
    }
}

/// Prints the program; what is read back must have the same verdict.
fn check_print(program: &Program) {
    let text = pal::print(program);
    let again = match pal::parse(Source::new("printed", text.as_str())) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{errors}\n{text}"),
    };
    let model = if program.is_rma() {
        Model::Rma
    } else {
        Model::Tso
    };
    let (first, second) = (verdict(program, model), verdict(&again, model));
    if first != "unknown" && second != "unknown" {
        assert_eq!(first, second, "{text}");
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        read(&text);
        let _ = pal::format(&text);
    }

    #[test]
    fn any_words(words in prop::collection::vec(prop::sample::select(WORDS), 0..80)) {
        let text = words.join(" ");
        if let Some(program) = read(&text) {
            check_format(&text, &program);
        }
    }

    #[test]
    fn mutated_programs(text in mutated()) {
        if let Some(program) = read(&text) {
            check_format(&text, &program);
            check_print(&program);
        }
    }
}

#[test]
fn seeds_are_programs() {
    for seed in SEEDS {
        let program = read(seed).unwrap_or_else(|| {
            let errors = pal::parse(Source::new("seed", *seed)).expect_err("no program");
            panic!("{errors}")
        });
        check_format(seed, &program);
        check_print(&program);
    }
}

/// Very long texts on one line. (What they must not do is overflow the stack or
/// take time beyond linear; the test would not end.)
#[test]
fn long_lines() {
    let repeated = |n: usize, start: &str, part: &str, end: &str| {
        format!("{start}{}{end}", part.repeat(n / part.len()))
    };
    let (mega, ten) = (1_000_000, 10_000_000);
    for text in [
        repeated(ten, "", "a", ""),
        repeated(ten, "", "/*", ""),
        repeated(ten, "shared x; thread t { x = ", "(", ""),
        repeated(mega, "", "é", ""),
        repeated(mega, "// ", "a", ""),
        repeated(mega, "", "{", ""),
        repeated(mega, "thread t { ", "}", ""),
        repeated(mega, "shared x = ", "1", ";"),
        repeated(mega, "shared x; thread t { x = ", "1+", "1; }"),
        repeated(mega, "shared x; thread t { ", "y = 1;", " }"),
        repeated(mega, "shared x; thread t { ", "if (x) ", " skip; }"),
        repeated(mega, "", "\"", ""),
    ] {
        assert!(read(&text).is_none());
    }
    let text = repeated(mega, "shared x; thread t { ", "x = x + 1; ", "}");
    let program = read(&text).expect("a long program");
    assert!(program.templates[0].cfg.edges.len() > 100_000);
    let text = repeated(ten, "shared x; thread t { x = 1; /* ", "a", " */ }");
    let program = read(&text).expect("a long comment");
    check_format(&text, &program);
}

/// LLVM's text that was cut off: a block without an end, a function without code. Found by `make fuzz-targets`.
#[test]
fn llvm_that_was_cut_off() {
    let main = "define hidden void @_ZN1l4main17hfc665b17335c9548E() {\n";
    let store = "start:\n  store atomic i32 1, ptr @x seq_cst, align 4\n";
    let variable = "@x = internal global i32 0, align 4\n";
    for (text, reads) in [
        (format!("{variable}{main}{store}  ret void\n}}\n"), true),
        (format!("{variable}{main}{store}"), false),
        (
            format!("{variable}{main}{store}next:\n  ret void\n}}\n"),
            false,
        ),
        (format!("{variable}{main}}}\n"), false),
        (
            format!("{variable}{main}{store}  ret void\n  ret void\n}}\n"),
            false,
        ),
        (
            format!("{variable}{main}; a remark\n{store}  ret void\n}}\n"),
            true,
        ),
        (
            format!("{variable}{main}{store}  switch i32 0, label %a [\na:\n  ret void\n}}\n"),
            false,
        ),
    ] {
        let read = palisade_frontend::rust::read_llvm(&text, palisade_program::Orders::Mapped);
        assert_eq!(read.is_ok(), reads, "{text}\n{read:?}");
    }
}
