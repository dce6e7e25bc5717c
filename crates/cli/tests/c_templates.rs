//! C programs whose threads run the same code: what becomes of `pthread_create`, and
//! that verdicts are those of the program as written.

use std::process::Command;

fn palisade(args: &[&str], program: &str, name: &str) -> (String, Option<i32>) {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let file = folder.join(format!("{name}.c"));
    let text = format!("#include <assert.h>\n#include <pthread.h>\n{program}");
    std::fs::write(&file, text).expect("a program");
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(args)
        .arg(&file)
        .output()
        .expect("palisade runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    (text + &errors, output.status.code())
}

/// The lines of `show` that begin threads.
fn threads(program: &str, name: &str) -> Vec<String> {
    let (text, code) = palisade(&["show"], program, name);
    assert_eq!(code, Some(0), "{name}: {text}");
    let lines = text.lines().filter(|l| l.starts_with("thread "));
    lines.map(|l| l["thread ".len()..].to_owned()).collect()
}

const WORKER: &str = "int x;\nstatic void *worker(void *a) { (void)a; x = x + 1; return 0; }\n";

#[test]
fn creations_in_a_row_are_one_template() {
    let row = format!(
        "{WORKER}int main(void) {{ pthread_t t[3];\n\
         for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, worker, 0);\n\
         for (int i = 0; i < 3; i++) pthread_join(t[i], 0);\n\
         assert(x CONDITION); }}"
    );
    let holds = row.replace("CONDITION", "<= 3");
    assert_eq!(threads(&holds, "row"), ["main", "worker[3]"]);
    assert_eq!(palisade(&["explore"], &holds, "row").1, Some(0));
    // A join-all that waits for nothing would let x be 0.
    let at_least = row.replace("CONDITION", ">= 1");
    assert_eq!(palisade(&["explore"], &at_least, "least").1, Some(0));
    let lost = row.replace("CONDITION", "== 3");
    assert_eq!(palisade(&["explore"], &lost, "lost").1, Some(1));
    let all = row.replace("CONDITION", ">= 2");
    assert_eq!(palisade(&["explore"], &all, "all").1, Some(1));
    // Arguments that nobody looks at do not matter.
    let numbered = holds.replace("worker, 0)", "worker, (void *)(long)i)");
    assert_eq!(threads(&numbered, "numbered"), ["main", "worker[3]"]);
}

#[test]
fn threads_that_differ_stay_apart() {
    let main = "int main(void) { pthread_t s, t;\n\
                pthread_create(&s, 0, worker, (void *)1); BETWEEN\n\
                pthread_create(&t, 0, worker, (void *)2);\n\
                pthread_join(s, 0); AFTER\n pthread_join(t, 0); assert(x CONDITION); }";
    let reads = "int x;\nstatic void *worker(void *a) { x = x + (int)(long)a; return 0; }\n";
    let plain = main.replace("BETWEEN", "").replace("AFTER", "");
    let program = format!("{reads}{}", plain.replace("CONDITION", "<= 3"));
    assert_eq!(
        threads(&program, "arguments"),
        ["main", "worker", "worker_2"]
    );
    // A store between the creations is seen by the first thread only at times.
    let between = main.replace("BETWEEN", "x = 5;").replace("AFTER", "");
    let program = format!("{WORKER}{}", between.replace("CONDITION", ">= 5"));
    assert_eq!(threads(&program, "between"), ["main", "worker", "worker_2"]);
    assert_eq!(palisade(&["explore"], &program, "between").1, Some(1));
    // One thread is awaited earlier than the other.
    let after = main
        .replace("BETWEEN", "")
        .replace("AFTER", "assert(x >= 1);");
    let program = format!("{WORKER}{}", after.replace("CONDITION", ">= 1"));
    assert_eq!(threads(&program, "after"), ["main", "worker", "worker_2"]);
    assert_eq!(palisade(&["explore"], &program, "after").1, Some(0));
}

#[test]
fn creation_without_end_is_any_number() {
    let main = "int main(void) { pthread_t t; FIRST while (1) { EACH pthread_create(&t, 0, worker, 0); } }";
    let program = |first: &str, each: &str| {
        let main = main.replace("FIRST", first).replace("EACH", each);
        format!("{WORKER}{main}")
    };
    // Nothing else happens: the threads run from the start, without flags.
    let (text, _) = palisade(&["show"], &program("", ""), "endless");
    assert!(text.contains("thread worker[*]"), "{text}");
    assert!(!text.contains("started"), "{text}");
    // Threads come after what main does first, and not before.
    let first = program("x = 7;", "").replace("x = x + 1", "assert(x >= 7)");
    let (text, _) = palisade(&["show"], &first, "first");
    assert!(
        text.contains("worker.started = 1") && !text.contains("worker.started = 0 }"),
        "{text}"
    );
    assert_eq!(
        palisade(&["explore", "--copies", "2"], &first, "first").1,
        Some(3)
    );
    let early = first
        .replace("x = 7;", "")
        .replace("{ pthread_t t;", "{ pthread_t t; x = 0;");
    assert_eq!(
        palisade(&["explore", "--copies", "2"], &early, "early").1,
        Some(1)
    );
    // The second thread is created only after main's second step: a flag that stays
    // up would let it come too early.
    let each = "int x, y;\nstatic void *worker(void *a) { (void)a; y = y + 1; int mine = y; assert(mine <= x); return 0; }\n";
    let each = format!(
        "{each}{}",
        main.replace("FIRST", "").replace("EACH", "x = x + 1;")
    );
    assert_eq!(
        palisade(&["explore", "--copies", "2"], &each, "each").1,
        Some(3)
    );
}

#[test]
fn a_loop_of_goto_creates_any_number() {
    let program = format!(
        "{WORKER}int main(void) {{ pthread_t t;\n again: pthread_create(&t, 0, worker, 0);\n\
         if (x < 3) goto again; }}"
    );
    let (text, code) = palisade(&["explore"], &program, "goto");
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("number of threads"), "{text}");
}
