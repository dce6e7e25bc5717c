//! Random programs over memory whose size is computed when they run: arrays of such lengths, `alloca`, `malloc` and
//! `realloc`, and functions of the library on the texts in them.

use std::fmt::Write;

use crate::c_support::Rng;

const HEADERS: [(&str, &str); 3] = [
    (
        "stdlib.h",
        include_str!("../../../frontend/src/c/headers/stdlib.h"),
    ),
    (
        "string.h",
        include_str!("../../../frontend/src/c/headers/string.h"),
    ),
    (
        "ctype.h",
        include_str!("../../../frontend/src/c/headers/ctype.h"),
    ),
];
const TYPES: [&str; 5] = ["int", "unsigned char", "short", "long", "struct pair"];
const TEXTS: [&str; 10] = [
    "",
    "a",
    "ab",
    "ba,b",
    "-12",
    "0x1F",
    " +077",
    "99999999999999999999",
    "-9223372036854775808",
    "Zz 9",
];

/// The headers' functions as one text, without directives: programs come preprocessed.
pub(crate) fn library() -> String {
    let mut text =
        String::from("typedef unsigned long size_t;\nstruct pair { char first; int second; };\n");
    for (_, header) in HEADERS {
        for line in header.lines().filter(|line| !line.starts_with('#')) {
            text.push_str(&line.replace("NULL", "((void *)0)"));
            text.push('\n');
        }
    }
    text
}

/// A program, and whether its result is open.
pub(crate) fn program(number: usize) -> (String, bool) {
    let mut rng = Rng::new(number);
    let rng = &mut rng;
    let p = format!("p{number}_");
    let mut text = format!("volatile unsigned {p}zero;\n");
    let mut calls = String::new();
    for k in 0..=rng.below(2) {
        let body = if rng.below(3) == 0 {
            strings(rng)
        } else {
            memory(rng)
        };
        let _ = writeln!(
            text,
            "static unsigned {p}f{k}(unsigned n) {{\n  unsigned sum = 3;\n{body}  return sum;\n}}"
        );
        let n = 1 + rng.below(5);
        let _ = writeln!(calls, "  sum = sum * 31 + {p}f{k}({p}zero + {n});");
    }
    let _ = writeln!(
        text,
        "static unsigned {p}run(void) {{\n  unsigned sum = 17; {p}zero = 0;\n{calls}  return sum;\n}}"
    );
    (text, false)
}

/// An object of some elements that grows or shrinks.
fn memory(rng: &mut Rng) -> String {
    let ty = rng.pick(&TYPES);
    let member = if ty == "struct pair" { ".second" } else { "" };
    let on_heap = rng.below(3);
    let (more, less) = (rng.below(3), 1 + rng.below(3));
    let mut body = match on_heap {
        0 => format!("  {ty} a[n + {more}];\n"),
        1 => format!("  {ty} *a = __builtin_alloca((n + {more}) * sizeof({ty}));\n"),
        _ => format!("  {ty} *a = malloc((n + {more}) * sizeof({ty}));\n"),
    };
    let factor = 1 + rng.below(200);
    let _ = writeln!(
        body,
        "  for (unsigned i = 0; i < n + {more}; i++) a[i]{member} = i * {factor} + 1;"
    );
    let mut length = format!("n + {more}");
    if on_heap == 2 {
        for _ in 0..rng.below(3) {
            let old = std::mem::replace(
                &mut length,
                match rng.below(3) {
                    0 => format!("{less}"),
                    1 => "n".to_owned(),
                    _ => format!("n + {more} + 1"),
                },
            );
            let _ = writeln!(
                body,
                "  a = realloc(a, ({length}) * sizeof *a);\n  for (unsigned i = {old}; i < {length}; i++) a[i]{member} = i ^ 5;"
            );
        }
    }
    let _ = writeln!(
        body,
        "  for (unsigned i = 0; i < {length}; i++) sum = sum * 31 + (unsigned)a[i]{member};"
    );
    if rng.below(2) == 0 {
        let _ = writeln!(body, "  {ty} *last = &a[{length} - 1];\n  sum += last - a;");
    }
    if on_heap == 2 {
        body.push_str("  free(a);\n");
    }
    body
}

/// Functions on texts.
fn strings(rng: &mut Rng) -> String {
    let text = rng.pick(&TEXTS);
    let other = rng.pick(&TEXTS[..5]);
    let mut body = format!(
        "  char s[32], t[8];\n  strcpy(s, \"{text}\"); strcpy(t, \"{other}\");\n  char *end = s; long v;\n"
    );
    for _ in 0..=rng.below(3) {
        let base = rng.pick(&["0", "10", "16", "8", "2", "36"]);
        let c = rng.pick(&["'a'", "'b'", "'9'", "0", "'\\t'", "'Q'"]);
        let e = match rng.below(12) {
            0 => format!("(v = strtol(s, &end, {base}), v + (end - s))"),
            1 => format!("(v = strtoul(s, &end, {base}), v + (end - s))"),
            2 => "strspn(s, t) + 10 * strcspn(s, t)".to_owned(),
            3 => format!("strrchr(s, {c}) ? strrchr(s, {c}) - s : 77"),
            4 => "strstr(s, t) ? strstr(s, t) - s : 78".to_owned(),
            5 => "strpbrk(s, t) ? strpbrk(s, t) - s : 79".to_owned(),
            6 => "(memcmp(s, t, n) > 0) - (memcmp(s, t, n) < 0)".to_owned(),
            7 => format!(
                "(strcpy(t, \"{other}\"), strnlen(s, n) + strlen(strncat(t, s, n > 2 ? 2 : n)))"
            ),
            8 => format!("memchr(s, {c}, strlen(s) + 1) != 0"),
            9 => format!(
                "(isalpha({c}) != 0) + 2 * (isspace({c}) != 0) + 4 * (isxdigit({c}) != 0) + 8 * (ispunct({c}) != 0)"
            ),
            10 => format!("toupper({c}) + tolower({c})"),
            _ => "atoi(t) + n".to_owned(),
        };
        let _ = writeln!(body, "  sum = sum * 31 + (unsigned)({e});");
    }
    body
}
