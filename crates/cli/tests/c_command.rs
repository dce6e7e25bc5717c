//! The command on C programs: SV-COMP tasks, properties, notes, patches.

use crate::c_support;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn palisade(args: &[&str], file: &Path) -> (Option<i32>, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(args)
        .arg(file)
        .output()
        .expect("palisade runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text + &errors)
}

const HEAD: &str =
    "extern void abort(void);\nvoid reach_error() { abort(); }\ntypedef unsigned long pthread_t;\n";

/// A task with its program and the verdicts that it expects.
fn task(folder: &Path, name: &str, program: &str, properties: &[(&str, bool)]) {
    fs::write(folder.join(format!("{name}.i")), format!("{HEAD}{program}")).expect("written");
    let mut text = format!("format_version: '2.0'\ninput_files: '{name}.i'\nproperties:\n");
    for (property, expected) in properties {
        let _ = writeln!(
            text,
            "  - property_file: {property}.prp\n    expected_verdict: {expected}"
        );
    }
    text += "options:\n  language: C\n  data_model: ILP32\n";
    fs::write(folder.join(format!("{name}.yml")), text).expect("written");
}

const SAFE: &str = "int x; void *f(void *a) { x = 1; return 0; }
int main() { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); if (x != 1) reach_error(); }\n";
const UNSAFE: &str = "int x; void *f(void *a) { x = 1; return 0; }
int main() { pthread_t t; pthread_create(&t, 0, f, 0); if (x != 1) reach_error(); }\n";
const REFUSED: &str = "int main() { _Complex double d = 1; return d > 2; }\n";

#[test]
fn a_folder_of_tasks() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let calls = "CHECK( init(main()), LTL(G ! call(reach_error())) )\n";
    fs::write(at.join("unreach-call.prp"), calls).expect("written");
    task(
        at,
        "a_safe",
        SAFE,
        &[("no-data-race", false), ("unreach-call", true)],
    );
    task(at, "b_unsafe", UNSAFE, &[("unreach-call", false)]);
    task(at, "c_mistaken", UNSAFE, &[("unreach-call", true)]);
    task(at, "d_other", SAFE, &[("termination", true)]);
    let (code, text) = palisade(&["bench", "svcomp", "--model", "sc"], at);
    assert_eq!(code, Some(0), "{text}");
    let row = |name: &str| {
        let line = text.lines().find(|l| l.contains(name));
        line.unwrap_or_default().to_owned()
    };
    let words = |name: &str| {
        let line = row(name);
        let words: Vec<&str> = line.split_whitespace().collect();
        words[1..3].join(" ")
    };
    assert_eq!(words("a_safe"), "true true", "{text}");
    assert_eq!(words("b_unsafe"), "false false", "{text}");
    assert_eq!(words("c_mistaken"), "true false", "{text}");
    assert!(row("c_mistaken").contains("WRONG"), "{text}");
    assert_eq!(words("d_other"), "- skipped", "{text}");
    assert!(
        text.contains("4 tasks: 2 right, 1 wrong, 0 unknown, 0 not read, 1 skipped"),
        "{text}"
    );

    // One task by itself; what it expects is compared.
    let (code, text) = palisade(&["verify"], &at.join("b_unsafe.yml"));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("note: as expected (false)"), "{text}");
    assert!(text.contains("VERDICT: false(unreach-call)\n"), "{text}");
    let (code, text) = palisade(&["verify"], &at.join("c_mistaken.yml"));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("note: NOT as expected (true)"), "{text}");
    task(at, "f_mistaken", SAFE, &[("unreach-call", false)]);
    for command in ["verify", "explore"] {
        let (code, text) = palisade(&[command], &at.join("f_mistaken.yml"));
        assert!(text.contains("note: NOT as expected (false)"), "{text}");
        assert_eq!(code, Some(1), "{text}");
    }

    // A second file is part of the program.
    let two = "input_files:\n  - 'a_safe.i'\n  - 'b_unsafe.i'\nproperties:\n  - property_file: unreach-call.prp\n    expected_verdict: true\n";
    fs::write(at.join("g_two.yml"), two).expect("written");
    let (code, text) = palisade(&["verify"], &at.join("g_two.yml"));
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("`reach_error` is defined in another file, too"),
        "{text}"
    );

    // A task that cannot be read is an error at its place.
    task(at, "e_refused", REFUSED, &[("unreach-call", true)]);
    let (code, text) = palisade(&["bench", "svcomp", "--program", "e_refused"], at);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("line 4: unsupported: "), "{text}");
}

#[test]
fn properties_by_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("p.c");
    let text = "void bad(void) {}\nvoid __palisade_assert(int);\nint g;\nint main(void) { g = 2147483647; g = g + 1; if (g < 0) bad(); __palisade_assert(g > 0); }\n";
    fs::write(&program, text).expect("written");
    let ask = |name: &str, property: &str| {
        let file = folder.path().join(name);
        fs::write(&file, property).expect("written");
        let file = file.to_str().expect("text").to_owned();
        palisade(&["verify", "--property", &file], &program)
    };
    let (code, text) = ask("a.prp", "CHECK( init(main()), LTL(G ! call(bad())) )");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("VERDICT: false(unreach-call)\n"), "{text}");
    let (code, text) = ask("b.prp", "CHECK( init(main()), LTL(G ! overflow) )");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("VERDICT: false(no-overflow)\n"), "{text}");
    let (code, text) = ask("c.prp", "CHECK( init(main()), LTL(G ! call(worse())) )");
    assert_eq!(
        code,
        Some(0),
        "a failing assertion ends the program\n{text}"
    );
    let (code, text) = ask("d.prp", "CHECK( init(main()), LTL(F end) )");
    assert_eq!(code, Some(2), "{text}");
}

/// Something unsupported on one way does not hide a violation on another, and never
/// becomes `holds`.
#[test]
fn unsupported_on_some_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.c");
    let text = |then: &str| {
        format!(
            "extern void reach_error(void);\nint scanf(const char *, ...);\nextern int __VERIFIER_nondet_int(void);\nint x;\nint main(void) {{ if (__VERIFIER_nondet_int()) scanf(\"%s\", &x); {then} }}\n"
        )
    };
    for command in ["verify", "explore"] {
        fs::write(&file, text("x = 2; x++; if (x == 3) reach_error();")).expect("written");
        let (code, found) = palisade(&[command], &file);
        assert_eq!(code, Some(1), "{found}");
        fs::write(&file, text("x = 2; if (x == 3) reach_error();")).expect("written");
        let (code, found) = palisade(&[command], &file);
        assert_eq!(code, Some(3), "{found}");
        assert!(
            found.contains("unsupported") && found.contains(":5:"),
            "{found}"
        );
    }
}

#[test]
fn races_are_notes_or_violations() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.c");
    let program = "typedef unsigned long pthread_t; typedef struct { int x; } pthread_mutex_t;\nint racy, locked; pthread_mutex_t m;\nvoid *f(void *a) { racy = 1; pthread_mutex_lock(&m); locked++; pthread_mutex_unlock(&m); return 0; }\nint main(void) { pthread_t t; pthread_create(&t, 0, f, 0); racy = 2; pthread_mutex_lock(&m); locked++; pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }\n";
    fs::write(&file, program).expect("written");
    for command in ["verify", "explore"] {
        let (code, text) = palisade(&[command], &file);
        assert_eq!(code, Some(0), "{text}");
        assert!(
            text.contains("note: data race on `racy`: `main` and `f`"),
            "{text}"
        );
        assert!(!text.contains("data race on `locked`"), "{text}");
        let (code, text) = palisade(&[command, "--check", "races"], &file);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("VERDICT: false(no-data-race)\n"), "{text}");
    }
    fs::write(&file, program.replace("racy = 2;", "")).expect("written");
    let (code, text) = palisade(&["verify", "--check", "races"], &file);
    assert_eq!(code, Some(0), "{text}");
}

/// Of an atomic operation only the access of its object is atomic.
#[test]
fn plain_operands_of_atomic_operations_race() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.c");
    for (operation, wanted) in [
        ("__atomic_store(&x, &y, 5);", 1),
        ("__atomic_load(&x, &y, 5);", 1),
        ("__atomic_exchange(&x, &e, &y, 5);", 1),
        ("__atomic_exchange(&x, &y, &e, 5);", 1),
        ("__atomic_compare_exchange_n(&x, &y, 3, 0, 5, 5);", 1),
        ("__atomic_compare_exchange(&x, &e, &y, 0, 5, 5);", 1),
        ("__atomic_store_n(&x, y, 5);", 1),
        ("__atomic_store(&x, &e, 5);", 0),
        ("__atomic_compare_exchange_n(&x, &e, 3, 0, 5, 5);", 0),
    ] {
        let program = format!(
            "typedef unsigned long pthread_t; int x, y, e;\nvoid *f(void *a) {{ y = 1; __atomic_store_n(&x, 2, 5); return 0; }}\nint main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); {operation} return 0; }}\n"
        );
        fs::write(&file, program).expect("written");
        let (code, text) = palisade(&["verify", "--check", "races"], &file);
        assert_eq!(code, Some(wanted), "{operation}\n{text}");
    }
}

/// An atomic block races with a plain access if some path through it accesses the variable in a state
/// in which the other thread is about to.
#[test]
fn races_with_atomic_blocks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.c");
    let flag = "__VERIFIER_atomic_begin(); f = 1; __VERIFIER_atomic_end();";
    for (first, block, wanted) in [
        (
            format!("x = 1; {flag}"),
            "__VERIFIER_assume(f == 1); x = 2;",
            0,
        ),
        (
            format!("{flag} x = 1;"),
            "__VERIFIER_assume(f == 1); x = 2;",
            1,
        ),
        (format!("x = 1; {flag}"), "if (f) x = 2;", 0),
        (format!("x = 1; {flag}"), "if (!f) x = 2;", 1),
        (
            format!("x = 1; {flag}"),
            "if (f) x = 2; __VERIFIER_assume(f == 0);",
            0,
        ),
        (format!("x = 1; {flag}"), "f = 1; if (f) x = 2;", 1),
        (format!("a[0] = 1; {flag}"), "a[1 - f] = 2;", 0),
        (format!("a[1] = 1; {flag}"), "a[1 - f] = 2;", 1),
        (format!("a[1] = 1; {flag}"), "if (f) a[1 - f] = 2;", 0),
        (format!("{flag} a[0] = 1;"), "if (f) a[1 - f] = 2;", 1),
        // The block looks at what its own thread stores through a buffer: refused.
        ("x = 1;".to_owned(), "if (own) x = 2;", 2),
        // A choice inside decides.
        (
            "x = 1;".to_owned(),
            "if (__VERIFIER_nondet_int()) x = 2;",
            2,
        ),
    ] {
        let program = format!(
            "typedef unsigned long pthread_t; int x, f, own, a[2];
void *t(void *p) {{ {first} return 0; }}
int main(void) {{ pthread_t h; pthread_create(&h, 0, t, 0); own = 1;
  __VERIFIER_atomic_begin(); {block} __VERIFIER_atomic_end(); return 0; }}\n"
        );
        fs::write(&file, &program).expect("written");
        for model in ["sc", "tso", "pso"] {
            let words = ["verify", "--check", "races", "--model", model];
            let (code, text) = palisade(&words, &file);
            assert_eq!(code, Some(wanted), "{model}\n{program}{text}");
        }
    }
}

/// Programs that the compiler runs into a failing assertion.
#[test]
fn order_and_bytes_are_those_of_the_compiler() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.c");
    for (program, wanted) in [
        (
            "int x; int f(void) { x = 10; return 1; }\nint main(void) { x = 1; int r = x + f(); assert(r == 2); }\n",
            1,
        ),
        (
            "struct hdr { char type; int len; } h;\nint main(void) { assert((char *)&h.len - &h.type == 1); }\n",
            1,
        ),
        (
            "struct hdr { char type; int len; } h;\nint main(void) { char *p = &h.type; p++; assert(p == (char *)&h.len); }\n",
            1,
        ),
        (
            "struct hdr { char type; int len; } a[2];\nint main(void) { assert((char *)&a[1] - (char *)&a[0] == sizeof(struct hdr)); }\n",
            0,
        ),
    ] {
        fs::write(&file, format!("#include <assert.h>\n{program}")).expect("written");
        let (code, text) = palisade(&["verify"], &file);
        assert_eq!(code, Some(wanted), "{program}\n{text}");
    }
}

/// The fences that `fence` writes stand on lines of their own with the right
/// indentation, the compiler accepts the file, and the proof of it is repeated.
#[test]
fn patched_files_compile_and_verify() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/c");
    for (name, model) in [("dekker", "tso"), ("latch", "pso")] {
        let file = folder.path().join(format!("{name}.c"));
        fs::copy(examples.join(format!("{name}.c")), &file).expect("copied");
        let before = fs::read_to_string(&file).expect("readable");
        let (code, diff) = palisade(&["fence", "--diff", "--model", model], &file);
        assert_eq!(code, Some(0), "{diff}");
        assert!(
            diff.contains("atomic_thread_fence(memory_order_seq_cst);"),
            "{diff}"
        );
        assert_eq!(fs::read_to_string(&file).expect("readable"), before);
        let (code, text) = palisade(&["fence", "--write", "--model", model], &file);
        assert_eq!(code, Some(0), "{text}");
        let after = fs::read_to_string(&file).expect("readable");
        assert_ne!(before, after);
        let built = c_support::compiler()
            .args(["-Wall", "-Wextra", "-Werror", "-pthread", "-fsyntax-only"])
            .arg(&file)
            .output()
            .expect("the compiler runs");
        let words = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{words}\n{after}");
        let (code, text) = palisade(&["verify", "--model", model], &file);
        assert_eq!(code, Some(0), "{text}");
    }
}

/// Only the weak outcome of store buffering reads input, which the front
/// end does not support: no run is a bug, and `fence` must not count it as one.
const UNSUPPORTED_OUTCOME: &str = "#include <assert.h>
#include <pthread.h>
#include <stdio.h>
int x, y, r1, r2;
void *t1(void *a) { x = 1; r1 = y; return 0; }
void *t2(void *a) { y = 1; r2 = x; return 0; }
int main(void) {
  pthread_t a, b;
  int v = 0;
  pthread_create(&a, 0, t1, 0);
  pthread_create(&b, 0, t2, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  if (r1 == 0 && r2 == 0) { scanf(\"%s\", &v); assert(v == 1); }
  return 0;
}
";

#[test]
fn a_run_into_something_unsupported_decides_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("sb.c");
    fs::write(&file, UNSUPPORTED_OUTCOME).expect("written");
    for command in ["verify", "explore"] {
        let (code, text) = palisade(&[command, "--model", "tso"], &file);
        assert_eq!(code, Some(3), "{text}");
        assert!(text.starts_with("unknown: unsupported: "), "{text}");
    }
    let (code, text) = palisade(&["fence", "--model", "tso"], &file);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("minimum: unproved"), "{text}");
    assert!(text.contains(" 0 bugs"), "{text}");
    // The library says the same as the command.
    let source = palisade_program::Source::new("sb.c", UNSUPPORTED_OUTCOME);
    let options = palisade_frontend::c::Options::default();
    let parsed = palisade_frontend::c::parse(Path::new("sb.c"), &source, &options);
    let program = parsed.expect("C").program;
    let options = palisade_verify::Options {
        model: palisade_program::Model::Tso,
        ..palisade_verify::Options::default()
    };
    let verdict = palisade_verify::verify(&program, &options).verdict;
    assert!(matches!(
        verdict,
        palisade_program::Verdict::Unknown(palisade_program::Unknown::Unsupported(..))
    ));
}

/// What is assumed follows from what the program does, not from its names.
#[test]
fn a_variable_named_heap_allocates_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("heap.c");
    let program = |body: &str| {
        format!(
            "#include <assert.h>\n#include <stdlib.h>\nint heap_count;\nint main(void) {{ {body} heap_count = 1; assert(heap_count == 1); return 0; }}\n"
        )
    };
    fs::write(&file, program("")).expect("written");
    let (_, text) = palisade(&["verify"], &file);
    assert!(
        text.contains("holds (certified)") && !text.contains("allocation"),
        "{text}"
    );
    fs::write(&file, program("int *p = malloc(sizeof(int)); *p = 1;")).expect("written");
    let (_, text) = palisade(&["verify"], &file);
    assert!(text.contains("assumes that allocation succeeds"), "{text}");
}

/// Flags of the preprocessor, spelled as for a compiler.
#[test]
fn preprocessor_flags() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let headers = folder.path().join("include");
    fs::create_dir(&headers).expect("a folder");
    fs::write(
        headers.join("lib.h"),
        "static int twice(int x) { return FACTOR * x; }\n",
    )
    .expect("written");
    fs::write(headers.join("first.h"), "#define LIMIT 6\n").expect("written");
    let file = folder.path().join("client.c");
    let text = "#include <assert.h>\n#include <lib.h>\nint main(void) { assert(twice(3) == LIMIT); return 0; }\n";
    fs::write(&file, text).expect("written");
    let include = headers.to_str().expect("UTF-8");
    let first = headers.join("first.h");
    let first = first.to_str().expect("UTF-8");
    for command in ["verify", "explore"] {
        let right = [
            command,
            "-I",
            include,
            "-DFACTOR=2",
            "-include",
            first,
            "-std=c11",
        ];
        let (code, text) = palisade(&right, &file);
        assert_eq!(code, Some(0), "{text}");
        let wrong = [command, "-I", include, "-D", "FACTOR=3", "--include", first];
        assert_eq!(palisade(&wrong, &file).0, Some(1));
    }
    // Without the folder the header is missing.
    assert_eq!(palisade(&["verify", "-DFACTOR=2"], &file).0, Some(2));
}

/// Inputs of any value, and sums that wrap: with the lock the account is right, without it is not.
#[test]
fn sums_of_any_inputs() {
    const ACCOUNT: &str = "
#include <assert.h>
#include <pthread.h>
int nondet_int(void);
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int start, in, out, balance, deposited, withdrawn;
void *deposit(void *unused) {
  pthread_mutex_lock(&lock); balance = balance + in; deposited = 1; pthread_mutex_unlock(&lock); return 0;
}
void *withdraw(void *unused) {
  pthread_mutex_lock(&lock); balance = balance - out; withdrawn = 1; pthread_mutex_unlock(&lock); return 0;
}
int main(void) {
  pthread_t a, b;
  start = nondet_int(); in = nondet_int(); out = nondet_int(); balance = start;
  pthread_create(&a, 0, deposit, 0);
  pthread_create(&b, 0, withdraw, 0);
  pthread_mutex_lock(&lock);
  if (deposited && withdrawn) assert(balance == start + in - out);
  pthread_mutex_unlock(&lock);
}
";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("account.c");
    fs::write(&file, ACCOUNT).expect("written");
    let (code, text) = palisade(&["verify"], &file);
    assert!(
        code == Some(0) && text.contains("holds (certified)"),
        "{text}"
    );
    let locked = "pthread_mutex_lock(&lock); balance = balance - out; withdrawn = 1; pthread_mutex_unlock(&lock);";
    let wrong = ACCOUNT.replace(locked, "balance = balance - out; withdrawn = 1;");
    fs::write(&file, wrong).expect("written");
    let (code, text) = palisade(&["verify"], &file);
    assert!(
        code == Some(1) && text.contains("balance == start + in - out"),
        "{text}"
    );
}
