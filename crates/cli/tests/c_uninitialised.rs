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
