//! Memory that is read before anything was written to it: any value of its type, chosen
//! once. A proof if no value fails the assertion, a run if one does, and the variable is
//! named.

use crate::c_support;

use c_support::{PRELUDE, read};
use palisade_frontend::c::Options as COptions;
use palisade_machine::replay;
use palisade_program::{Model, Verdict};
use palisade_verify::{Options, verify};

/// The verdict and the variables that are named, under a model.
fn found(text: &str, model: Model) -> (String, Vec<String>) {
    let program = read(text, &COptions::default()).expect("a program");
    let options = Options {
        model,
        falsify: true,
        ..Options::default()
    };
    let report = verify(&program, &options);
    let word = match &report.verdict {
        Verdict::Holds => {
            assert!(report.certified, "{text}");
            "holds".to_owned()
        }
        Verdict::Violated(violation) => {
            let witness = report.witness.as_ref().expect("a run");
            let subject = report.subject(&program);
            let again = replay(&subject, &witness.start, &witness.actions).expect("a run");
            assert_eq!(
                again.violation.map(|v| v.message),
                Some(violation.message.clone())
            );
            format!("violated: {}", violation.message)
        }
        Verdict::Unknown(why) => format!("unknown: {why}"),
    };
    (word, report.chosen.into_keys().collect())
}

/// A node that one thread publishes and another reads, with what each does.
fn publication(writer: &str, reader: &str) -> String {
    format!(
        "struct node {{ int data; struct node *next; }};
struct node *head;
void *writer(void *a) {{ struct node *n = malloc(sizeof(struct node)); {writer} return 0; }}
void *reader(void *a) {{ struct node *n = head; if (n) {{ {reader} }} return 0; }}
int main(void) {{
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  return 0;
}}
"
    )
}

#[test]
fn a_published_node_that_nobody_wrote() {
    let early = publication("n->data = 1; head = n;", "check(n->data == 1);");
    for model in [Model::Sc, Model::Tso] {
        assert_eq!(found(&early, model), ("holds".to_owned(), vec![]));
    }
    let named = vec!["heap.data".to_owned()];
    let broken = "violated: reach_error is called".to_owned();
    assert_eq!(found(&early, Model::Pso), (broken.clone(), named.clone()));

    let never = publication("head = n;", "check(n->data != 77);");
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        assert_eq!(found(&never, model), (broken.clone(), named.clone()));
    }
    let holds = ("holds".to_owned(), named);
    for reader in [
        "int x = n->data; check(x >= 0 || x < 0);",
        "int x = n->data, y = n->data; check(x == y);",
    ] {
        for model in [Model::Sc, Model::Pso] {
            let text = publication("head = n;", reader);
            assert_eq!(found(&text, model), holds, "{reader}");
        }
    }
}

#[test]
fn locals() {
    let cases = [
        ("int x; check(x == 5 || x != 5);", "holds"),
        ("unsigned char x; check(x < 256);", "holds"),
        (
            "int x; check(x != 1234567);",
            "violated: reach_error is called",
        ),
        (
            "int x, *p = &x; check(*p != 1234567);",
            "violated: reach_error is called",
        ),
        ("int x, *p = &x, y = *p, z = x; check(y == z);", "holds"),
        ("int *p; check(p == 0);", "violated: reach_error is called"),
        ("int *p; check(p != 0);", "violated: reach_error is called"),
        (
            "int *p; if (p) *p = 1;",
            "violated: a pointer to no object is followed",
        ),
        ("int x, *p; p = &x; *p = 1; check(x == 1);", "holds"),
        // Each round has a variable of its own.
        (
            "for (int i = 0; i < 3; i++) { int x, *p = &x; if (i) *p = 1; check(i == 0 || x == 1); }",
            "holds",
        ),
        (
            "for (int i = 0; i < 3; i++) { int x, *p = &x; if (!i) *p = 1; check(x != 42); }",
            "violated: reach_error is called",
        ),
        (
            "struct n { struct n *next; int v; } *p = malloc(sizeof *p); p->v = 1; if (p->next) p->next->v = 2;",
            "violated: a pointer to no object is followed",
        ),
    ];
    for (body, expected) in cases {
        let text = format!("int main(void) {{ {body} return 0; }}");
        for model in [Model::Sc, Model::Tso] {
            assert_eq!(found(&text, model).0, expected, "{body} {model}");
        }
    }
}

/// A thread that is lowered before the one that allocates.
#[test]
fn memory_that_a_later_thread_allocates() {
    let text = "int *p, x;
void *reader(void *a) { if (p) x = *p; return 0; }
void *writer(void *a) { int *n = malloc(sizeof(int)); *n = 1; p = n; return 0; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, reader, 0);
  pthread_create(&b, 0, writer, 0);
  check(x == 0 || x == 1);
  return 0;
}
";
    assert_eq!(found(text, Model::Sc), ("holds".to_owned(), vec![]));
    assert_eq!(found(text, Model::Pso).1, ["heap"]);
}

#[test]
fn the_command_names_variable_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("node.c");
    let text = publication("head = n;", "check(n->data != 77);");
    std::fs::write(&path, format!("{PRELUDE}{text}")).expect("written");
    let run = |command: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_palisade"))
            .args([command, "--json", "--model", "pso"])
            .arg(&path)
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    let first = PRELUDE.lines().count() as u64;
    for command in ["verify", "explore"] {
        let document = run(command);
        let warning = &document["warnings"][0];
        assert_eq!(warning["line"], first + 4, "{document}");
        let message = warning["message"].as_str().unwrap_or_default();
        let declared = format!("`heap.data` (line {})", first + 3);
        assert!(message.contains(&declared), "{message}");
        // `explore` tries some values only.
        if command == "verify" {
            assert_eq!(document["verdict"], "violated");
        }
    }
}

/// With `--check uninitialised` each read of what nothing was written to is a violation; a copy of something larger is none, but
/// what was not written in it stays so.
#[test]
fn reads_that_are_asked_about() {
    let read_for = |body: &str| {
        let text = format!(
            "{PRELUDE}#include <string.h>
struct pair {{ int x, y; }};
struct bits {{ unsigned a : 3, b : 5; }};
int g;
void get(int ok, int *out) {{ if (ok) *out = 3; }}
int main(void) {{ {body} return 0; }}
"
        );
        let options = COptions {
            check_uninitialised: true,
            ..COptions::default()
        };
        let program = read(&text, &options).expect("a program");
        match verify(&program, &Options::default()).verdict {
            Verdict::Violated(violation) => violation.broken.kind(),
            Verdict::Holds => "holds",
            Verdict::Unknown(_) => "unknown",
        }
    };
    let wrong = [
        "int a; if (a) g = 1;",
        "int a; for (int i = 0; i < 3; i++) { if (i == 2) g = a; if (i == 5) a = i; }",
        "struct pair a, b; a.x = 1; b = a; g = b.y;",
        "int *p = malloc(2 * sizeof(int)); p[0] = 1; g = p[1]; free(p);",
        "int *p = malloc(sizeof(int)); int *q = realloc(p, 2 * sizeof(int)); g = q[0];",
        "int a[2], b[2]; a[0] = 1; memcpy(b, a, sizeof a); g = b[1];",
        "int a; get(g, &a); g = a;",
        "_Atomic int a; a++;",
        "switch (g) { int a; case 0: g = a; }",
    ];
    for body in wrong {
        assert_eq!(read_for(body), "uninitialised", "{body}");
    }
    let right = [
        "int a; for (int i = 0; i < 3; i++) { if (i == 2) g = a; if (i == 1) a = i; }",
        "struct pair a, b; a.x = 1; b = a; g = b.x;",
        "int *p = calloc(2, sizeof(int)); g = p[1]; free(p);",
        "int a[2], b[2]; a[0] = 1; memcpy(b, a, sizeof a); g = b[0];",
        "int a; get(1, &a); g = a;",
        "struct bits s; s.a = 1; s.b = 2; g = s.a;",
    ];
    for body in right {
        assert_eq!(read_for(body), "holds", "{body}");
    }
}

/// A variable whose declaration is jumped over has any value, initialiser or not.
#[test]
fn declarations_that_are_jumped_over() {
    let verdict = |body: &str| {
        let text = format!("{PRELUDE}int n;\nint main(void) {{ {body} return 0; }}\n");
        found(&text, Model::Sc).0
    };
    for body in [
        "switch (n) { int a; case 0: assert(a == 0); }",
        "switch (n) { case 1: ; int a = 0; break; case 0: assert(a == 0); }",
        "if (!n) goto in; { int a = 0; a = 3; in: assert(a == 0 || a == 3); }",
        "goto end; int a = 0; end: assert(a == 0);",
    ] {
        let word = verdict(body);
        assert!(word.starts_with("violated: assertion"), "{body}: {word}");
    }
    for body in [
        "int a = 1; switch (n) { case 0: assert(a == 1); }",
        "int a = 1; goto end; int b; end: assert(a == 1);",
        "for (int i = 0; i < 2; i++) { int a = i; if (i) goto next; a = 2; next: assert(a == 2 - i); }",
        "switch (n) { int a; case 0: a = 1; case 1: if (n == 0) assert(a == 1); }",
    ] {
        assert_eq!(verdict(body), "holds", "{body}");
    }
}
