//! Wrong `.rmm` texts: where errors are, and that no text makes the front end panic.
#![allow(missing_docs)]

use std::fmt::Write;

use palisade_frontend::rmm;
use palisade_machine::{Options, explore};
use palisade_program::{Model, Source};
use proptest::prelude::*;

/// Errors are at the marked place, with these words.
fn refuse(marked: &str, words: &str) {
    let start = marked.find('«').expect("marked");
    let text = marked.replacen('«', "", 1);
    let errors = rmm::parse(Source::new("t.rmm", text.as_str())).expect_err(marked);
    let found = errors.items.iter().any(|e| {
        let at = e.span.start as usize == start;
        at && e.message.contains(words) && e.help.is_some()
    });
    assert!(found, "{marked}: {words}\n{errors}");
}

#[test]
fn errors_are_located_and_come_with_help() {
    for (marked, words) in [
        ("«process text nop", "expected `forbidden`"),
        ("forbidden «process text nop", "a label or `*`"),
        ("forbidden A ; «process text A: nop", "a label or `*`"),
        (
            "forbidden «A A process text A: nop",
            "2 labels for 1 processes",
        ),
        ("forbidden «B process text A: nop", "no label `B`"),
        ("forbidden A«", "expected `process`"),
        ("forbidden A process text A: nop;«", "expected a statement"),
        (
            "forbidden A process text A: nop; «}",
            "expected a statement",
        ),
        ("forbidden A process text A: nop «nop", "expected `process`"),
        ("forbidden A process text A: goto «B", "no label `B`"),
        ("forbidden A process text A: nop; «A: nop", "used twice"),
        (
            "forbidden A process text A: write: «x := 1",
            "unknown variable `x`",
        ),
        (
            "forbidden A data flag = 0 process text A: write: «falg := 1",
            "unknown variable",
        ),
        (
            "forbidden A process data x = 0 text A: write: «x := 1",
            "unknown variable `x`",
        ),
        (
            "forbidden A data x = 0 process text A: write: «x[my] := 1",
            "is a global variable",
        ),
        (
            "forbidden A process data x = 0 text A: write: «x[0] := 1",
            "0 other processes",
        ),
        (
            "forbidden A * process text A: read: «x[0] = 1 process text nop",
            "unknown variable",
        ),
        (
            "forbidden A * process data x = 0 text A: read: «x[0] = 1 process text nop",
            "has no variable `x`",
        ),
        (
            "forbidden A process text A: «$r := 1",
            "unknown register `$r`",
        ),
        (
            "forbidden A data x = 0 process registers $r = 0 text A: if «x = 0 then nop",
            "cannot read memory",
        ),
        (
            "forbidden A data x = 0 process text A: write: «[1] := 0",
            "points to no memory",
        ),
        (
            "forbidden A process text A: write: «[0] := 0",
            "points to no memory",
        ),
        (
            "forbidden A data x = 0 «x = 1 process text A: nop",
            "declared twice",
        ),
        (
            "forbidden A data «x = 3 : [0:1] process text A: nop",
            "not in its domain",
        ),
        (
            "forbidden A data x = 0 : «[1:0] process text A: nop",
            "empty",
        ),
        (
            "forbidden A data x «: Z process text A: nop",
            "expected `=`",
        ),
        (
            "forbidden A data x = 0 : «Q process text A: nop",
            "expected `[`",
        ),
        (
            "forbidden A data x = «y process text A: nop",
            "expected a number",
        ),
        (
            "forbidden A data x = «99999999999999999999 process text A: nop",
            "too large",
        ),
        ("forbidden A process(«0) text A: nop", "unfit number"),
        ("forbidden A process(«99999) text A: nop", "unfit number"),
        (
            "forbidden A process data x = 0 «data y = 0 text A: nop",
            "a second time",
        ),
        (
            "forbidden A process registers «x = 0 text A: nop",
            "a register",
        ),
        (
            "forbidden A process text A: if $r «:= 1 then nop",
            "a comparison",
        ),
        (
            "forbidden A process text A: locked { «B: nop }",
            "no labels inside",
        ),
        (
            "forbidden A process text A: locked { «if true then nop }",
            "no `if` inside",
        ),
        (
            "forbidden A process text A: locked { «either { nop } }",
            "no `either` inside",
        ),
        (
            "forbidden A process text A: locked { «goto A }",
            "no `goto` inside",
        ),
        (
            "forbidden A process text A: locked { «while true do nop }",
            "no `while` inside",
        ),
        (
            "forbidden A process text A: nop «/* no end",
            "unclosed comment",
        ),
        ("forbidden A process text A: nop «%", "unknown character"),
        ("forbidden A process text A: «$ := 1", "needs a name"),
        (
            "forbidden A «endmacro process text A: nop",
            "without `macro`",
        ),
        ("«macro m nop forbidden A process text A: m", "no end"),
        (
            "macro m nop endmacro macro «m nop endmacro forbidden A process text A: m",
            "defined twice",
        ),
        (
            "macro m(a, «a) nop endmacro forbidden A process text A: m(1, 2)",
            "named twice",
        ),
        (
            "macro m(a) nop endmacro forbidden A process text A: «m",
            "needs arguments",
        ),
        (
            "macro m(a) nop endmacro forbidden A process text A: «m(1, 2)",
            "2 arguments",
        ),
        (
            "macro m(a) nop endmacro forbidden A process text A: «m(1",
            "no end",
        ),
        (
            "macro m(a) nop endmacro forbidden A process text A: m(1, «)",
            "empty",
        ),
        (
            "macro a «a endmacro forbidden A process text A: a",
            "uses itself",
        ),
        (
            "macro a b endmacro macro b «a endmacro forbidden A process text A: a",
            "uses itself",
        ),
        ("forbidden A process text A: «m(1)", "no statement"),
        (
            "forbidden A predicates «$r = 0 process text A: nop",
            "no process has the register",
        ),
        (
            "forbidden A process text A: assume: «me = 0",
            "expected an expression",
        ),
        (
            "forbidden A process text A: $r = 0; «else nop",
            "expected a statement",
        ),
    ] {
        refuse(marked, words);
    }
}

#[test]
fn several_errors_are_found_in_one_run() {
    let text = "forbidden A process text A: write x := 1; read: = 2; $q 3; { nop ) }; nop";
    let errors = rmm::parse(Source::new("t.rmm", text)).expect_err("wrong");
    assert_eq!(errors.items.len(), 4, "{errors}");
    let text = "forbidden B process text A: write: x := 1; read: y = 2; goto L; $q := 3";
    let errors = rmm::parse(Source::new("t.rmm", text)).expect_err("wrong");
    assert_eq!(errors.items.len(), 5, "{errors}");
}

#[test]
fn what_always_blocks_is_warned_about() {
    let text = "forbidden A data x = 0 : [0:1] process text A: write: x := 2; read: x = 5; B: nop";
    let parsed = rmm::parse(Source::new("t.rmm", text)).expect("right");
    assert_eq!(parsed.warnings.len(), 2);
}

#[test]
fn huge_texts_are_refused_or_read_quickly() {
    let mut bomb = "macro m0 nop ; nop endmacro ".to_owned();
    for i in 1..60 {
        write!(bomb, "macro m{i} m{0} ; m{0} endmacro ", i - 1).expect("fits");
    }
    bomb += "forbidden A process text A: m59";
    let errors = rmm::parse(Source::new("t.rmm", bomb.as_str())).expect_err("too large");
    assert!(errors.to_string().contains("too large"));
    // The same with macros that stand for nothing.
    let nothing = bomb.replace("nop ; nop", "").replace(" ; ", " ");
    let errors = rmm::parse(Source::new("t.rmm", nothing.as_str())).expect_err("too large");
    assert!(errors.to_string().contains("too large"));
    for deep in [
        "{ ",
        "if true then ",
        "while true do ",
        "either { ",
        "locked { ",
    ] {
        let text = format!("forbidden A process text A: {}", deep.repeat(50_000));
        assert!(rmm::parse(Source::new("t.rmm", text.as_str())).is_err());
    }
    for chain in ["1 + ", "- ", "("] {
        let text = format!(
            "forbidden A process text A: $r := {} 1",
            chain.repeat(50_000)
        );
        assert!(rmm::parse(Source::new("t.rmm", text.as_str())).is_err());
    }
    let stars = format!("forbidden {} process(4096) text A: nop", "* ".repeat(4096));
    assert!(rmm::parse(Source::new("t.rmm", stars.as_str())).is_ok());
    let labels = format!("forbidden {} process(4096) text A: nop", "A ".repeat(4096));
    assert!(rmm::parse(Source::new("t.rmm", labels.as_str())).is_ok());
}

const WORDS: &[&str] = &[
    "forbidden",
    "predicates",
    "data",
    "process",
    "registers",
    "text",
    "macro",
    "endmacro",
    "nop",
    "read:",
    "write:",
    "locked",
    "slocked",
    "syncwr:",
    "syncrd:",
    "cas(",
    "fence",
    "ssfence",
    "llfence",
    "assume:",
    "if",
    "then",
    "else",
    "while",
    "do",
    "goto",
    "either",
    "or",
    "not",
    "true",
    "my",
    "me",
    "x",
    "f",
    "L",
    "CS",
    "$r",
    "$",
    "0",
    "1",
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
    ":=",
    "=",
    "!=",
    "<",
    "&&",
    "||",
    "+",
    "-",
    "*",
    "/*",
    "*/",
    "Z",
    "\n",
    "é",
    "\0",
    "process(3)",
    "f[my]",
    "f[0]",
    "[$r]",
];

const SEED: &str = "macro set(v, e) write: v := e endmacro macro ONE 1 endmacro
    forbidden CS CS * ; * L CS predicates x < y ; $r = f[0] data x = 0 : [0:2] y = * : Z
    process(2) data f = 0 : [0:1] registers $r = * : [0:1] $s = 0 text L: set(f[my], ONE);
    either { read: f[0] = 0 or read: $r := x; while $r != 1 do { read: $r := [$r]; ssfence } };
    locked { cas(x, 0, 1); write: x := 2 or read: x = 1 }; if $r = 1 && not $s > 2 then goto L else nop;
    CS: locked write: f[my] := 0; goto L
    process data f = 1 registers $r = 0 text L: slocked write: y := -1; CS: syncrd: $r := f[1]; llfence; fence";

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_front_end_panic(
        changes in prop::collection::vec((0_u8..4, any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..WORDS.len()), 1..6)
    ) {
        let mut words: Vec<&str> = SEED.split_inclusive([' ', '(', ')', '[', ']', ':', ';']).collect();
        for (kind, a, b, word) in changes {
            let (a, b) = (a.index(words.len()), b.index(words.len()));
            match kind {
                0 if words.len() > 1 => { words.remove(a); }
                1 => words.insert(a, WORDS[word]),
                2 => words.swap(a, b),
                _ => words[a] = WORDS[word],
            }
        }
        let text = words.join(" ");
        match rmm::parse(Source::new("t.rmm", text.as_str())) {
            Err(errors) => prop_assert!(!errors.to_string().is_empty() && errors.items.iter().all(|e| e.help.is_some())),
            Ok(parsed) => {
                let options = Options { max_states: Some(200), ..Options::new(Model::Pso) };
                // An answer of any kind; the program can be run.
                prop_assert!(explore(&parsed.program, &options).is_ok());
            }
        }
    }
}

#[test]
fn the_seed_is_a_program() {
    let parsed = rmm::parse(Source::new("t.rmm", SEED));
    assert!(parsed.is_ok(), "{}", parsed.expect_err("shown"));
}
