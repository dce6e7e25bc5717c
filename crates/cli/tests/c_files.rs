//! Programs of several C files, and of files with headers: everything is reported, traced
//! and patched where the user wrote it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

/// Runs the command there: exit code, output, errors.
fn palisade(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .current_dir(folder)
        .args(args)
        .output()
        .expect("runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

const MAIL: &str = "#ifndef MAIL_H
#define MAIL_H
struct mail { int data; struct mail *next; };
typedef struct { int size; } box_t;
extern int data, flag;
extern struct mail *head;
#define PUT(x, v) (x) = (v)
static inline void send(int v) {
  PUT(data, v);
  PUT(flag, 1);
}
int count(box_t *b);
void publish(struct mail *m);
#endif
";

const MAIN: &str = "#include <pthread.h>
#include <assert.h>
#include \"mail.h\"
static int total;
static int own(void) { return 1; }
void *writer(void *p) { send(7); return 0; }
int main(void) {
  pthread_t a;
  box_t b = { 3 };
  static struct mail m = { 5 };
  total = own();
  assert(count(&b) == 5);
  assert(total == 1);
  publish(&m);
  assert(head->data == 5);
  pthread_create(&a, 0, writer, 0);
  if (flag) assert(data == 7);
  return 0;
}
";

const BOX: &str = "#include \"mail.h\"
static int total = 2;
struct mail *head;
int data, flag;
static int own(void) { return total; }
int count(box_t *b) { return b->size + own(); }
void publish(struct mail *m) { head = m; }
";

fn mail() -> tempfile::TempDir {
    folder(&[("inc/mail.h", MAIL), ("main.c", MAIN), ("box.c", BOX)])
}

#[test]
fn several_files_are_one_program() {
    let folder = mail();
    let (code, text, errors) = palisade(
        folder.path(),
        &["verify", "-I", "inc", "main.c", "box.c", "--model", "tso"],
    );
    assert_eq!(code, Some(0), "{text}{errors}");
    // A task with several files, and a database of commands.
    let task = "format_version: '2.0'\ninput_files: ['main.c', 'box.c']\nproperties:\n  - property_file: unreach-call.prp\n    expected_verdict: true\noptions:\n  data_model: LP64\n";
    fs::write(folder.path().join("task.yml"), task).expect("written");
    let (code, text, errors) = palisade(folder.path(), &["verify", "-I", "inc", "task.yml"]);
    assert_eq!(code, Some(0), "{text}{errors}");
    let entry = |file: &str, flags: &str| {
        let directory = folder.path().display();
        format!(
            "{{\"directory\":\"{directory}\",\"command\":\"cc {flags} {file}\",\"file\":\"{file}\"}}"
        )
    };
    let database = [entry("main.c", "-Iinc"), entry("box.c", "-I inc -DX=1")].join(",");
    let path = folder.path().join("compile_commands.json");
    fs::write(path, format!("[{database}]")).expect("written");
    let args = ["verify", "--compile-commands", ".", "main.c", "box.c"];
    let (code, text, errors) = palisade(folder.path(), &args);
    assert_eq!(code, Some(0), "{text}{errors}");
}

#[test]
fn what_is_missing_or_twice_is_told_with_its_place() {
    let folder = mail();
    let more = [
        (
            "twice.c",
            "#include \"mail.h\"\nint other;\nint flag = 1;\n",
        ),
        ("other.c", "struct mail { long data; };\nint x;\n"),
    ];
    for (name, text) in more {
        fs::write(folder.path().join(name), text).expect("written");
    }
    let (code, _, errors) = palisade(
        folder.path(),
        &["verify", "-I", "inc", "main.c", "box.c", "twice.c"],
    );
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("`flag` is defined in another file, too"),
        "{errors}"
    );
    assert!(errors.contains("twice.c:3:5"), "{errors}");
    let (code, _, errors) = palisade(
        folder.path(),
        &["verify", "-I", "inc", "main.c", "box.c", "other.c"],
    );
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("`mail` has other members in another file"),
        "{errors}"
    );
    assert!(errors.contains("other.c:1:13"), "{errors}");
    let (code, _, errors) = palisade(folder.path(), &["verify", "ticket.pal", "box.c"]);
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("C files are parts of one program"),
        "{errors}"
    );
}

#[test]
fn traces_and_patches_name_the_header() {
    let folder = mail();
    let program = ["-I", "inc", "main.c", "box.c", "--model", "pso"];
    let args = [&["verify", "--json"][..], &program].concat();
    let (code, text, _) = palisade(folder.path(), &args);
    assert_eq!(code, Some(1), "{text}");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let steps = document["trace"].as_array().expect("steps");
    let places: Vec<(&str, u64)> = steps
        .iter()
        .filter(|step| step["actor"] == "thread" && step["thread"] == "writer")
        .filter_map(|step| Some((step["file"].as_str()?, step["line"].as_u64()?)))
        .collect();
    let expected = [("main.c", 6), ("inc/mail.h", 9), ("inc/mail.h", 10)];
    assert_eq!(places, expected, "{text}");

    let args = [&["fence", "--diff"][..], &program].concat();
    let (code, text, errors) = palisade(folder.path(), &args);
    assert_eq!(code, Some(0), "{text}{errors}");
    assert!(
        text.contains("inc/mail.h:9:3: fence(ss) after `PUT(data, v);`"),
        "{text}"
    );
    assert!(
        text.contains("--- inc/mail.h") && !text.contains("--- main.c"),
        "{text}"
    );
    let args = [&["fence", "--write"][..], &program].concat();
    assert_eq!(palisade(folder.path(), &args).0, Some(0));
    assert_eq!(
        fs::read_to_string(folder.path().join("main.c"))
            .ok()
            .as_deref(),
        Some(MAIN)
    );
    let args = [&["verify"][..], &program].concat();
    let (code, text, _) = palisade(folder.path(), &args);
    assert_eq!(code, Some(0), "{text}");
}

/// A verdict names the file that it is about.
#[test]
fn a_violation_in_a_header() {
    let folder = folder(&[
        (
            "check.h",
            "#include <assert.h>\nstatic int twice(int x) {\n  assert(x < 5);\n  return 2 * x;\n}\n",
        ),
        (
            "main.c",
            "#include \"check.h\"\nint main(void) { return twice(5); }\n",
        ),
        ("wrong.h", "int f(void) {\n  return 1 +;\n}\n"),
        (
            "wrong.c",
            "#include \"wrong.h\"\nint main(void) { return 0; }\n",
        ),
    ]);
    let (code, text, _) = palisade(folder.path(), &["verify", "main.c"]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("(./check.h:3:3)") || text.contains("(check.h:3:"),
        "{text}"
    );
    let (code, _, errors) = palisade(folder.path(), &["verify", "wrong.c"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("wrong.h:2:13"), "{errors}");
}
