//! Which variable or function a name means: linkage within and between files; and locks that
//! are tried, or waited for only some time.

use std::fs;
use std::process::Command;

/// The exit code of `verify` on these files, and what it says.
fn verify(files: &[(&str, &str)], more: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(
            path,
            format!("#include <assert.h>\n#include <pthread.h>\n{text}"),
        )
        .expect("written");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .arg("verify")
        .args(files.iter().map(|(name, _)| name))
        .args(more)
        .current_dir(folder.path())
        .output()
        .expect("palisade runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text + &errors)
}

#[test]
fn names_of_one_file_are_not_those_of_another() {
    for (a, b, code) in [
        (
            "static int f(void) { return 1; } int main(void) { assert(f() == 2); }",
            "int f(void) { return 2; }",
            1,
        ),
        (
            "static int f(void) { return 1; } int g(void); int main(void) { assert(f() == 1 && g() == 2); }",
            "int f(void) { return 2; } int g(void) { return f(); }",
            0,
        ),
        (
            "static int k; void set(void); int main(void) { set(); assert(k == 1); }",
            "int k; void set(void) { k = 1; }",
            1,
        ),
        (
            "static int k; void set(void); int main(void) { set(); assert(k == 0); }",
            "int k; void set(void) { k = 1; }",
            0,
        ),
        (
            "static int g = 3; int h(void); int main(void) { assert(g + h() == 10); }",
            "int g = 7; int h(void) { return g; }",
            0,
        ),
        // One name, two types; a block's declaration of what is static.
        (
            "extern unsigned x; int main(void) { assert(x > 0); }",
            "int x = -1;",
            2,
        ),
        (
            "long f(int); int main(void) { assert(f(1) == 1); }",
            "int f(int x) { return x; }",
            2,
        ),
        (
            "int x = 1; int f(void); int main(void) { assert(f() == 2); }",
            "static int x = 2; int f(void) { extern int x; return x; }",
            2,
        ),
    ] {
        let (found, text) = verify(&[("a.c", a), ("b.c", b)], &[]);
        assert_eq!(found, Some(code), "{a}\n{b}\n{text}");
    }
    let files = [
        (
            "a.c",
            "int f(void); int g(void); int main(void) { assert(f() == 1 && g() == 2); }",
        ),
        ("d/u.c", "static int v = 1; int f(void) { return v; }"),
        ("e/u.c", "static int v = 2; int g(void) { return v; }"),
    ];
    let (found, text) = verify(&files, &[]);
    assert_eq!(found, Some(0), "{text}");
}

#[test]
fn a_declaration_in_a_block_does_not_mean_the_local_around_it() {
    let text = "int g = 1; int main(void) { int g = 9; { extern int g; g = 2; } assert(g == 2); }";
    let (found, text) = verify(&[("a.c", text)], &[]);
    assert_eq!(found, Some(2), "{text}");
    let text = "int main(void) { extern int g; g = 2; assert(g == 2); } int g;";
    let (found, text) = verify(&[("a.c", text)], &[]);
    assert_eq!(found, Some(0), "{text}");
}

#[test]
fn a_wait_with_a_time_is_no_deadlock() {
    let text = "#include <time.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; struct timespec ts;\n\
        int main(void) { pthread_mutex_lock(&m); int late = pthread_mutex_timedlock(&m, &ts); assert(late != 0); }";
    let (found, text) = verify(&[("a.c", text)], &["--check", "deadlock"]);
    assert_eq!(found, Some(0), "{text}");
}

#[test]
fn trying_a_destroyed_mutex_is_misuse() {
    for call in ["trylock(&m)", "timedlock(&m, 0)"] {
        let text = format!(
            "pthread_mutex_t m; int main(void) {{ pthread_mutex_init(&m, 0); pthread_mutex_destroy(&m); \
             pthread_mutex_{call}; }}"
        );
        let (found, text) = verify(&[("a.c", &text)], &[]);
        assert_eq!(found, Some(1), "{text}");
        assert!(text.contains("destroyed"), "{text}");
    }
}
