//! MPI and OpenSHMEM programs in C: the examples have the verdicts that their second line says, the
//! compiler accepts them, `fence` repairs the wrong ones, and what is not supported is an
//! error with its place.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn examples() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["examples/mpi", "examples/shmem", "examples/gaspi"] {
        let all = fs::read_dir(repository().join(folder)).expect("the examples are there");
        files.extend(all.map(|f| f.expect("readable").path()));
    }
    files.sort();
    assert!(files.len() >= 50, "{} examples", files.len());
    files
}

fn palisade(words: &[&str], file: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(words)
        .arg(file)
        .output()
        .expect("palisade runs")
}

fn has_compiler() -> bool {
    Command::new("cc").arg("--version").output().is_ok()
}

/// How many ranks the second line says.
fn ranks(text: &str) -> String {
    let line = text.lines().nth(1).unwrap_or_default();
    let (_, rest) = line.split_once("-n ").expect("announced");
    rest.split(' ').next().unwrap_or_default().to_owned()
}

/// ` * expect: -n 2 sc=holds rma=violated */`
fn expected(text: &str) -> Vec<(String, String)> {
    let line = text.lines().nth(1).unwrap_or_default();
    let (_, verdicts) = line.split_once(':').expect("announced");
    let words = verdicts.trim_end_matches("*/").split_whitespace();
    let pairs = words.filter_map(|word| word.split_once('='));
    pairs.map(|(m, v)| (m.to_owned(), v.to_owned())).collect()
}

#[test]
fn every_example_has_its_verdicts() {
    if !has_compiler() {
        return;
    }
    for file in examples() {
        let text = fs::read_to_string(&file).expect("readable");
        let (pairs, ranks) = (expected(&text), ranks(&text));
        assert_eq!(pairs.len(), 2, "{}", file.display());
        for (model, verdict) in pairs {
            let output = palisade(&["explore", "-n", &ranks, "--model", &model], &file);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let found = text.split([':', ' ', '\n']).next().unwrap_or_default();
            let errors = String::from_utf8_lossy(&output.stderr);
            let name = file.display();
            assert_eq!(found, verdict, "{name} under {model}\n{text}{errors}");
        }
    }
}

#[test]
fn the_compiler_accepts_every_example() {
    if !has_compiler() {
        return;
    }
    let headers = repository().join("crates/frontend/src/c/headers");
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    // Only these headers: the others are the compiler's own.
    for name in ["mpi.h", "shmem.h", "GASPI.h"] {
        fs::copy(headers.join(name), folder.join(name)).expect("the header");
    }
    let output = Command::new("cc")
        .args([
            "-fopenmp",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "-I",
        ])
        .arg(folder)
        .args(examples())
        .output()
        .expect("the compiler runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
}

#[test]
fn the_missing_flush_is_found() {
    if !has_compiler() {
        return;
    }
    for (name, flush) in [
        ("message_passing", "+        MPI_Win_flush(1, win);"),
        ("dekker", "+    MPI_Win_flush(1 - rank, win);"),
        ("lock", "+    MPI_Win_flush(0, win);"),
    ] {
        let file = repository().join(format!("examples/mpi/{name}.c"));
        let output = palisade(&["fence", "--model", "rma", "-n", "2", "--diff"], &file);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{name}: {text}");
        assert!(text.starts_with("holds with 1 flush"), "{name}: {text}");
        assert!(text.contains("minimum: proved"), "{name}: {text}");
        let added = text.lines().filter(|l| l.starts_with("+ "));
        assert_eq!(added.collect::<Vec<_>>(), [flush], "{name}: {text}");
    }
}

/// A put and a get with a flush between them that waits for the own side only, or for both.
#[test]
fn a_local_flush_lets_the_buffer_be_used_again() {
    if !has_compiler() {
        return;
    }
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let file = folder.join("t.c");
    let text = |flush: &str, last: &str, condition: &str| {
        format!(
            "#include <assert.h>\n#include <mpi.h>\n\nint main(int argc, char **argv) {{\n\
             int rank, x = 1, y = 5;\nint *m;\nMPI_Win win;\nMPI_Init(&argc, &argv);\n\
             MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
             MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &m, &win);\n\
             *m = 0;\nMPI_Barrier(MPI_COMM_WORLD);\nif (rank == 0) {{\n\
             MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);\n{flush}\nx = 2;\n\
             MPI_Get(&y, 1, MPI_INT, 1, 0, 1, MPI_INT, win);\n{last}\n\
             assert({condition});\n}}\nMPI_Win_free(&win);\nMPI_Finalize();\nreturn 0;\n}}\n"
        )
    };
    let (rank, all) = (
        "MPI_Win_flush_local(1, win);",
        "MPI_Win_flush_local_all(win);",
    );
    for (flush, last, condition, code) in [
        (rank, rank, "y != 2", 0),
        (all, all, "y != 2", 0),
        ("", rank, "y != 2", 1),
        (rank, all, "y != 5", 0),
        (rank, "", "y != 5", 1),
        (rank, rank, "y == 1", 1),
        ("MPI_Win_flush(1, win);", rank, "y == 1", 0),
    ] {
        fs::write(&file, text(flush, last, condition)).expect("written");
        let output = palisade(&["verify", "--model", "rma", "-n", "2"], &file);
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
        let context = format!("{flush} {last} {condition}: {words}");
        assert_eq!(output.status.code(), Some(code), "{context}");
    }
}

/// Programs that are refused, with the line and a word of the message.
const REFUSED: [(&str, &str, &str); 6] = [
    ("", ":5:", "how many ranks"),
    (
        "MPI_Aint s; int u; MPI_Win_shared_query(win, 0, &s, &u, &m);",
        ":10:",
        "unsupported",
    ),
    ("MPI_Win_lock_all(0);", ":10:", "unsupported"),
    (
        "MPI_Put(&x, 1, MPI_CHAR, 0, 0, 1, MPI_INT, win);",
        ":10:",
        "unsupported: a datatype",
    ),
    (
        "MPI_Put(&x, 2, MPI_INT, 0, 0, 1, MPI_INT, win);",
        ":10:",
        "unsupported: an operation",
    ),
    (
        "MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_PROD, win);",
        ":10:",
        "unsupported: this operation",
    ),
];

#[test]
fn what_is_not_supported_is_told_with_its_place() {
    if !has_compiler() {
        return;
    }
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let file = folder.join("t.c");
    for (statement, place, message) in REFUSED {
        let text = format!(
            "#include <mpi.h>\n\nint x;\n\nint main(int argc, char **argv) {{\n\
             int *m;\nMPI_Win win;\nMPI_Init(&argc, &argv);\n\
             MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &m, &win);\n\
             {statement}\nMPI_Finalize();\nreturn 0;\n}}\n"
        );
        fs::write(&file, text).expect("written");
        let words: &[&str] = if statement.is_empty() {
            &["explore", "--model", "rma"]
        } else {
            &["explore", "--model", "rma", "-n", "2"]
        };
        let output = palisade(words, &file);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{statement}: {errors}");
        assert!(errors.contains(message), "{statement}: {errors}");
        assert!(
            errors.contains(&format!("t.c{place}")),
            "{statement}: {errors}"
        );
    }
}

/// Two windows: a flush of one does not complete operations on the other.
#[test]
fn flushes_are_for_one_window() {
    if !has_compiler() {
        return;
    }
    let text = |flushed: &str| {
        format!(
            "#include <assert.h>\n#include <mpi.h>\nint a, b;\n\
             int main(int argc, char **argv) {{\n\
             int rank, one = 1;\nMPI_Win first, second;\n\
             MPI_Init(&argc, &argv);\nMPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
             MPI_Win_create(&a, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &first);\n\
             MPI_Win_create(&b, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &second);\n\
             MPI_Barrier(MPI_COMM_WORLD);\n\
             if (rank == 0) MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, first);\n\
             MPI_Win_flush_all({flushed});\nMPI_Barrier(MPI_COMM_WORLD);\n\
             if (rank == 1) assert(a == 1);\nMPI_Finalize();\nreturn 0;\n}}\n"
        )
    };
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let file = folder.join("t.c");
    for (flushed, code) in [("first", 0), ("second", 1)] {
        fs::write(&file, text(flushed)).expect("written");
        let output = palisade(&["explore", "--model", "rma", "-n", "2"], &file);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{flushed}: {words}");
    }
}
