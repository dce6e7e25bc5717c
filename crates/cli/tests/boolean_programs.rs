//! The programs of docs/boolean-programs.md do what it says, `abstract` and `check`
//! fit together, and errors have their exit code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of our own for this test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn palisade(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("the command runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `key=value` of the comment above a program.
fn announced<'t>(prose: &'t str, key: &str) -> Option<&'t str> {
    let line = prose.lines().rev().find(|l| l.starts_with("<!--"))?;
    let mut words = line.split_whitespace();
    words.find_map(|w| w.strip_prefix(key)?.strip_prefix('='))
}

#[test]
fn the_documented_programs() {
    let folder = folder("documented");
    let text = fs::read_to_string(repository().join("docs/boolean-programs.md"));
    let text = text.expect("readable");
    let mut pieces = text.split("```");
    let mut checked = 0;
    while let (Some(prose), Some(code)) = (pieces.next(), pieces.next()) {
        let expected = announced(prose, "expect").expect("announced above the program");
        let output = if let Some(program) = code.strip_prefix("bp\n") {
            fs::write(folder.join("p.bp"), program).expect("written");
            let threads = announced(prose, "threads").expect("announced");
            palisade(&folder, &["check", "p.bp", "--threads", threads])
        } else {
            let program = code.strip_prefix("pal\n").expect("a program");
            fs::write(folder.join("p.pal"), program).expect("written");
            let made = palisade(&folder, &["abstract", "p.pal"]);
            assert_eq!(made.status.code(), Some(0), "{made:?}");
            fs::write(folder.join("p.bp"), &made.stdout).expect("written");
            let threads = announced(prose, "threads").unwrap_or("1");
            palisade(&folder, &["check", "p.bp", "--threads", threads])
        };
        assert!(stdout(&output).starts_with(expected), "{code}\n{output:?}");
        let exit = i32::from(expected != "holds");
        assert_eq!(output.status.code(), Some(exit), "{code}\n{output:?}");
        checked += 1;
    }
    assert!(checked >= 5, "only {checked} programs found");
}

#[test]
fn predicates_from_a_file() {
    let folder = folder("predicates");
    let program = "shared x = 0;\nthread t { while (1) { atomic { int r = x; x = r + 2; } } }\n\
                   never x == 1;\n";
    let program = program.replace("int r", "local r");
    fs::write(folder.join("p.pal"), program).expect("written");
    fs::write(folder.join("weak"), "predicate x == 1;\n").expect("written");
    fs::write(
        folder.join("good"),
        "predicate x == 1;\npredicate x >= 0;\npredicate x < 2;\npredicate x == 0;\n",
    )
    .expect("written");
    for (file, strategy, expected) in [
        ("weak", "cores", "violated"),
        ("good", "cores", "holds"),
        ("good", "enumerate", "holds"),
    ] {
        let arguments = [
            "abstract",
            "p.pal",
            "--predicates",
            file,
            "--strategy",
            strategy,
        ];
        let made = palisade(&folder, &arguments);
        assert_eq!(made.status.code(), Some(0), "{made:?}");
        assert!(stdout(&made).contains("// x = 1"), "{}", stdout(&made));
        fs::write(folder.join("p.bp"), &made.stdout).expect("written");
        let checked = palisade(&folder, &["check", "p.bp", "--json"]);
        let document: serde_json::Value =
            serde_json::from_slice(&checked.stdout).expect("one document");
        assert_eq!(document["verdict"], expected, "{}", stdout(&made));
        assert_eq!(document["command"], "check");
        assert!(document["stats"]["states"].as_u64() > Some(0));
    }
}

#[test]
fn wrong_input_is_located() {
    let folder = folder("wrong");
    fs::write(folder.join("p.bp"), "shared a = 0;\n1: a = b;\n").expect("written");
    let output = palisade(&folder, &["check", "p.bp", "--threads", "1"]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        complaint.contains("p.bp:2:8") && complaint.contains("no variable `b`"),
        "{complaint}"
    );
    fs::write(folder.join("p.bp"), "shared a = 0;\n1: a = 1;\n").expect("written");
    let output = palisade(&folder, &["check", "p.bp"]);
    assert_eq!(
        output.status.code(),
        Some(2),
        "the number of threads is missing"
    );
    let output = palisade(
        &folder,
        &["check", "p.bp", "--threads", "2", "--max-states", "1"],
    );
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(
        stdout(&output).starts_with("unknown: bound touched"),
        "{output:?}"
    );
}

/// One small program of the suite, all strategies: the same verdict.
#[test]
fn a_suite_runs() {
    let folder = folder("suite");
    let arguments = [
        "bench",
        "cupex",
        "--model",
        "sc",
        "--program",
        "peterson",
        "--json",
    ];
    let output = palisade(&folder, &arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(row["verdict"], "holds", "{row}");
        assert_eq!(row["certified"], true, "{row}");
        assert_eq!(row["stats"]["predicates"], 7, "{row}");
        assert_eq!(row["paper"]["predicates"], 7, "{row}");
    }
}

/// The paper's methods under a weak model: PE and CE prove what lazy proves, at a
/// cost, and the predicates are as many as the paper has.
#[test]
fn a_suite_runs_under_pso() {
    let folder = folder("suite_pso");
    let arguments = "bench cupex --model pso --cells 1 --program ABP --json";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let output = palisade(&folder, &arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = document["rows"].as_array().expect("rows");
    let methods: Vec<&str> = rows.iter().filter_map(|r| r["method"].as_str()).collect();
    assert_eq!(methods, ["enumerate", "cubes", "lazy"]);
    let calls = |row: &serde_json::Value| row["stats"]["solver_calls"].as_u64().expect("calls");
    for row in rows {
        assert_eq!(row["verdict"], "holds", "{row}");
        assert_eq!(row["certified"], true, "{row}");
        let stats = &row["stats"];
        let counted = stats["predicates"].as_u64().expect("number")
            + stats["control_predicates"].as_u64().expect("number");
        assert_eq!(row["paper"]["predicates"], counted, "{row}");
        assert_eq!(row["cells"], 1, "{row}");
    }
    assert!(calls(&rows[0]) > calls(&rows[1]) && calls(&rows[1]) > calls(&rows[2]));
}

const TICKET: &str = "\
shared next = 0;
shared serving = 0;
thread left { local m = 0; local s = 0; atomic { m = next; next = m + 1; }
    do { s = serving; } while (s != m); critical: skip; serving = m + 1; FENCE }
thread right { local m = 0; local s = 0; atomic { m = next; next = m + 1; }
    do { s = serving; } while (s != m); critical: skip; serving = m + 1; FENCE }
never left@critical && right@critical;
predicate serving <= next;
predicate left.m < next;
predicate right.m < next;
predicate serving == left.m;
predicate serving == right.m;
predicate serving <= left.m;
predicate serving <= right.m;
predicate left.m == right.m;
";

const DEKKER: &str = "\
shared a = 0;
shared b = 0;
thread left { local r = 0; a = 1; FENCE r = b; if (r == 0) { critical: skip; } }
thread right { local r = 0; b = 1; FENCE r = a; if (r == 0) { critical: skip; } }
never left@critical && right@critical;
predicate a == 0;
predicate b == 0;
predicate left.r == 0;
predicate right.r == 0;
";

/// The Boolean program under a model, and its verdict.
fn two_phases(folder: &Path, arguments: &[&str]) -> (String, String) {
    let made = palisade(folder, &[&["abstract"], arguments].concat());
    assert_eq!(made.status.code(), Some(0), "{arguments:?} {made:?}");
    fs::write(folder.join("p.bp"), &made.stdout).expect("written");
    let checked = palisade(folder, &["check", "p.bp", "--threads", "2"]);
    let verdict = stdout(&checked);
    let verdict = verdict.split([':', '\n']).next().unwrap_or_default();
    (stdout(&made), verdict.to_owned())
}

/// Predicates and cubes are lifted, written, and read again: the same verdict.
#[test]
fn two_phases_under_weak_models() {
    let folder = folder("two_phases");
    for (text, fences, without) in [(DEKKER, "fence;", "violated"), (TICKET, "", "holds")] {
        fs::write(folder.join("fenced.pal"), text.replace("FENCE", fences)).expect("written");
        fs::write(folder.join("plain.pal"), text.replace("FENCE", "")).expect("written");
        for model in ["sc", "tso", "pso"] {
            let plain = ["fenced.pal", "--model", model];
            let (_, verdict) = two_phases(&folder, &plain);
            assert_eq!(verdict, "holds", "{model} {text}");
            let without = if model == "sc" { "holds" } else { without };
            let (_, verdict) = two_phases(&folder, &["plain.pal", "--model", model]);
            assert_eq!(verdict, without, "{model} without fences {text}");
        }
        let emit = |what: &str| {
            let arguments = ["abstract", "fenced.pal", "--model", "tso", "--emit", what];
            let made = palisade(&folder, &arguments);
            assert_eq!(made.status.code(), Some(0), "{made:?}");
            fs::write(folder.join(what), &made.stdout).expect("written");
            stdout(&made)
        };
        let lifted = emit("predicates");
        assert!(lifted.contains("left.$value0"), "{lifted}");
        assert!(!lifted.contains("cannot"), "{lifted}");
        let tso = ["fenced.pal", "--model", "tso"];
        let (made, _) = two_phases(&folder, &tso);
        let given = [&tso[..], &["--lifted", "predicates"]].concat();
        let (again, verdict) = two_phases(&folder, &given);
        let code = |text: &str| {
            let lines = text.lines().filter(|l| !l.starts_with("//"));
            lines.map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(verdict, "holds");
        assert_eq!(code(&made), code(&again), "the same predicates");
        if text == TICKET {
            assert!(emit("cubes").contains(" && "));
            let lifts = [&tso[..], &["--extrapolate", "cubes"]].concat();
            let (by_cubes, _) = two_phases(&folder, &lifts);
            let given = [&given[..], &["--cubes", "cubes"]].concat();
            let (again, _) = two_phases(&folder, &given);
            assert_eq!(code(&by_cubes), code(&again), "the same cubes");
        }
    }
}

const POINTERS: &str = "\
#include <pthread.h>
#include <assert.h>
int data = 0;
int *target = &data;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
//@ predicate shared data == 0
void *worker(void *arg) {
    int l = 0;
    int *p = target;
    pthread_mutex_lock(&m);
    *p = 1;
    l = data;
    assert(l == data);
    *p = 0;
    pthread_mutex_unlock(&m);
    return 0;
}
int main(void) {
    pthread_t t1, t2;
    pthread_create(&t1, 0, worker, 0);
    pthread_create(&t2, 0, worker, 0);
    pthread_join(t1, 0);
    pthread_join(t2, 0);
    assert(data == 0);
    return 0;
}
";

/// Predicates of a C program: in comments and in a file, shared, mixed, over pointers.
#[test]
fn predicates_of_c_programs() {
    let folder = folder("predicates_of_c");
    fs::write(folder.join("p.c"), POINTERS).expect("written");
    let given = "worker: l == data // mixed\nworker: *p == 1\nworker: p == &data\n";
    fs::write(folder.join("good"), given).expect("written");
    let (made, _) = two_phases(&folder, &["p.c", "--predicates", "good"]);
    assert!(made.contains("// data = 0"), "{made}");
    assert!(made.contains("thread worker[2]"), "{made}");
    assert!(made.contains("[b"), "passive threads are told: {made}");
    let (_, verdict) = two_phases(&folder, &["p.c", "--predicates", "good", "--explicit"]);
    assert_eq!(verdict, "holds");
    let twin = POINTERS.replace("*p = 0;", "");
    fs::write(folder.join("twin.c"), twin).expect("written");
    let (_, verdict) = two_phases(&folder, &["twin.c", "--predicates", "good", "--explicit"]);
    assert_eq!(verdict, "violated");
    let arguments = ["verify", "p.c", "--predicates", "good", "--no-explicit"];
    let proved = palisade(&folder, &arguments);
    assert!(stdout(&proved).starts_with("holds"), "{proved:?}");
    for (wrong, why) in [
        ("worker: l == nothing", "no variable `nothing`"),
        ("nobody: l == 0", "no thread runs `nobody`"),
        ("shared data = 1", "looks at one state"),
        ("worker: l ==", "is no expression"),
    ] {
        fs::write(folder.join("wrong"), format!("shared data == 0\n{wrong}\n")).expect("written");
        let refused = palisade(&folder, &["verify", "p.c", "--predicates", "wrong"]);
        assert_eq!(refused.status.code(), Some(2), "{wrong} {refused:?}");
        let complaint = String::from_utf8_lossy(&refused.stderr);
        assert!(
            complaint.contains("wrong:2") && complaint.contains(why),
            "{complaint}"
        );
    }
}

/// [Baumann et al., VMCAI 2018, Fig. 2] with the paper's predicates.
const FIGURE_2: &str = "\
process one { shared Y = 1; }
process two {
    shared R = 0;
    shared X = 2;
    local r = 0;
    put(Y, one, X);
    FLUSH
    X = 3;
    R = get(Y, one);
    r = R;
}
predicate two.r != 3;
predicate two.R != 3;
predicate one.Y != 3;
predicate two.X != 3;
finally two.r != 3;
";

/// The Boolean program under SC is extrapolated to sets without solver calls, as a file; it
/// agrees with the standard construction, and finds what the missing flush allows.
#[test]
fn extrapolated_boolean_programs() {
    let folder = folder("extrapolated");
    let rma = |strategy| {
        let how = ["p.pal", "--model", "rma", "--buffers", "abstract:0"];
        [&how[..], &["--sets", "summary", "--strategy", strategy]].concat()
    };
    for (flush, expected) in [("flush(one);", "holds"), ("", "violated")] {
        fs::write(folder.join("p.pal"), FIGURE_2.replace("FLUSH", flush)).expect("written");
        for strategy in ["program", "cores"] {
            let (made, verdict) = two_phases(&folder, &rma(strategy));
            assert_eq!(verdict, expected, "{strategy} {flush}");
            // Y = randomElem(XSet): Y is 3 if all elements are, and not if none is.
            let taken = "choose(b3_all, 0)";
            assert!(made.contains(taken), "{strategy}: {made}");
        }
        let arguments = [&["abstract"], &rma("program")[..], &["--json"]].concat();
        let made: serde_json::Value =
            serde_json::from_str(&stdout(&palisade(&folder, &arguments))).expect("a document");
        assert_eq!(made["stats"]["solver_calls"], 0, "{flush}");
        assert_eq!(made["stats"]["predicates"], 6, "four, and one for each set");
    }
}
