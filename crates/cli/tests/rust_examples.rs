//! The Rust examples have the verdicts that their second line says: proofs are certified, and runs into
//! violations replayed. Programs that cannot be read, or not in full, say where and why.

use std::fs;
use std::path::Path;

use palisade::{Model, Options, Verdict, c, verify};
use palisade_program::{Orders, Unknown};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rust")
}

fn read(file: &Path, text: &str, orders: Orders) -> Result<palisade::Program, String> {
    let options = c::Options {
        orders,
        ..c::Options::default()
    };
    palisade_frontend::load_with(file, text, &options)
        .map(|parsed| parsed.program)
        .map_err(|diagnostics| diagnostics.to_string())
}

fn verdict(program: &palisade::Program, model: Model) -> (Verdict, bool) {
    let options = Options {
        model,
        falsify: true,
        ..Options::default()
    };
    let report = verify(program, &options);
    (report.verdict, report.certified)
}

#[test]
fn examples_have_their_verdicts() {
    let mut files: Vec<_> = fs::read_dir(folder())
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .filter(|file| file.extension().is_some_and(|e| e == "rs"))
        .collect();
    files.sort();
    assert!(files.len() >= 20, "{} examples", files.len());
    for file in files {
        let name = file.display();
        let text = fs::read_to_string(&file).expect("readable");
        let line = text.lines().nth(1).expect("a second line");
        let expected = line
            .split_once("expect:")
            .expect("it says what to expect")
            .1;
        let mapped = read(&file, &text, Orders::Mapped).unwrap_or_else(|e| panic!("{e}"));
        let kept = read(&file, &text, Orders::Kept).unwrap_or_else(|e| panic!("{e}"));
        for word in expected.split_whitespace() {
            let (model, wanted) = word.split_once('=').expect("model=verdict");
            let (model, program) = match model {
                "sc" => (Model::Sc, &mapped),
                "tso" => (Model::Tso, &mapped),
                "pso" => (Model::Pso, &mapped),
                "rc11" => (Model::Rc11, &kept),
                other => panic!("unknown model {other}"),
            };
            match (verdict(program, model), wanted) {
                ((Verdict::Holds, certified), "holds") => {
                    assert!(certified, "{name} {model}: not certified");
                }
                ((Verdict::Violated(violation), _), "violated") => {
                    let span = violation.span;
                    assert_ne!(span.start, span.end, "{name} {model}: no place");
                }
                ((found, _), _) => panic!("{name} {model}: {found:?}"),
            }
        }
    }
}

/// A file in a folder of its own, with the verdict under a model.
fn check(name: &str, text: &str, model: Model) -> Result<Verdict, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    fs::write(&file, text).expect("writable");
    let program = read(&file, text, model.orders())?;
    Ok(verdict(&program, model).0)
}

#[test]
fn what_the_compiler_refuses_is_refused_with_its_words() {
    let found = check(
        "t.rs",
        "fn main() {\n    let x: u32 = true;\n}\n",
        Model::Sc,
    );
    let words = found.expect_err("it does not compile");
    assert!(words.contains("mismatched types"), "{words}");
    assert!(words.contains("t.rs:2:"), "{words}");
}

#[test]
fn unknown_functions_are_located() {
    let text = "fn main() {\n    let t = std::env::args();\n    assert!(t.len() < 9);\n}\n";
    let words = check("t.rs", text, Model::Sc).expect_err("there are no arguments");
    assert!(
        words.contains("unsupported") && words.contains("t.rs:2:"),
        "{words}"
    );
}

#[test]
fn what_only_some_runs_reach_is_unknown_and_not_skipped() {
    let text = "use std::sync::atomic::{AtomicU32, Ordering::*};
static X: AtomicU32 = AtomicU32::new(0);
fn main() {
    let t = std::thread::spawn(|| X.store(1, Relaxed));
    if X.load(Relaxed) == 1 {
        std::env::args();
    }
    t.join().unwrap();
}
";
    match check("t.rs", text, Model::Sc) {
        Ok(Verdict::Unknown(Unknown::Unsupported(..))) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn panics_of_all_kinds_are_violations() {
    for (body, wanted) in [
        (
            "let a = [1, 2]; let i = X.load(Relaxed) as usize + 2; assert_eq!(a[i], 1);",
            "index out of bounds",
        ),
        (
            "let x = u32::MAX - X.load(Relaxed); let _y = x + 1;",
            "attempt to add with overflow",
        ),
        (
            "None::<u32>.or((X.load(Relaxed) == 1).then_some(1)).unwrap();",
            "called `Option::unwrap()` on a `None` value",
        ),
        ("assert!(X.load(Relaxed) == 1, \"so it is\");", "so it is"),
        ("if X.load(Relaxed) == 0 { panic!(\"no\") }", "no"),
        ("let _ = 7 / X.load(Relaxed);", "attempt to divide by zero"),
    ] {
        let text = format!(
            "use std::sync::atomic::{{AtomicU32, Ordering::*}};
static X: AtomicU32 = AtomicU32::new(0);
fn main() {{
    let t = std::thread::spawn(|| X.store(1, Relaxed));
    {body}
    t.join().unwrap();
}}
"
        );
        match check("t.rs", &text, Model::Sc) {
            Ok(Verdict::Violated(violation)) => assert_eq!(violation.message, wanted),
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn memory_errors_are_violations() {
    for (text, wanted) in [
        (
            "use std::sync::atomic::{AtomicPtr, Ordering::*};
static P: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
fn main() {
    P.store(Box::into_raw(Box::new(7)), Relaxed);
    let t = std::thread::spawn(|| drop(unsafe { Box::from_raw(P.load(Relaxed)) }));
    assert_eq!(unsafe { *P.load(Relaxed) }, 7);
    t.join().unwrap();
}
",
            "use after free",
        ),
        (
            "use std::sync::atomic::{AtomicPtr, Ordering::*};
static P: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
fn main() {
    let t = std::thread::spawn(|| P.store(Box::into_raw(Box::new(7)), Release));
    assert_eq!(unsafe { *P.load(Acquire) }, 7);
    t.join().unwrap();
}
",
            "null pointer dereference",
        ),
    ] {
        match check("t.rs", text, Model::Sc) {
            Ok(Verdict::Violated(violation)) => assert_eq!(violation.message, wanted),
            other => panic!("{wanted}: {other:?}"),
        }
    }
}

/// What people write for loom, unchanged: each test is named by its verdict.
#[test]
fn tests_for_loom_have_their_verdicts() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rust_loom/tests.rs");
    let text = fs::read_to_string(&file).expect("readable");
    let names = text.lines().filter_map(|line| line.strip_prefix("fn "));
    let names = names.map(|line| line.split('(').next().unwrap_or_default());
    let mut tried = 0;
    for name in names {
        let wanted = match name.split('_').next() {
            Some("holds") => true,
            Some("violated") => false,
            Some(_) | None => continue,
        };
        let options = c::Options {
            orders: Orders::Kept,
            rust: palisade_frontend::rust::Options {
                test: Some(name.to_owned()),
                ..palisade_frontend::rust::Options::default()
            },
            ..c::Options::default()
        };
        let program = palisade_frontend::load_with(&file, &text, &options);
        let program = program.unwrap_or_else(|e| panic!("{name}: {e}")).program;
        let (verdict, certified) = verdict(&program, Model::Rc11);
        match verdict {
            Verdict::Holds => assert!(wanted && certified, "{name} holds"),
            Verdict::Violated(_) => assert!(!wanted, "{name} is violated"),
            Verdict::Unknown(why) => panic!("{name}: {why}"),
        }
        tried += 1;
    }
    assert!(tried >= 11, "{tried} tests");
}

#[test]
fn objects_of_many_types_behind_a_lock() {
    for (what, holds) in [
        ("a == 9 && b == Some(1)", true),
        ("a == 9 && b.is_none()", false),
    ] {
        let text = format!(
            "use std::sync::Mutex;
enum Message {{ Empty, Data(u16, bool), Big {{ a: u64, b: Option<u8> }} }}
static LAST: Mutex<Message> = Mutex::new(Message::Empty);
fn main() {{
    let data = std::thread::spawn(|| *LAST.lock().unwrap() = Message::Data(3, true));
    let big = std::thread::spawn(|| *LAST.lock().unwrap() = Message::Big {{ a: 9, b: Some(1) }});
    data.join().unwrap();
    big.join().unwrap();
    match *LAST.lock().unwrap() {{
        Message::Empty => unreachable!(),
        Message::Data(x, y) => assert!(x == 3 && y),
        Message::Big {{ a, b }} => assert!({what}),
    }}
}}
"
        );
        for model in [Model::Sc, Model::Rc11] {
            let found = check("t.rs", &text, model).expect("read");
            assert_eq!(matches!(found, Verdict::Holds), holds, "{found:?}");
            assert_eq!(matches!(found, Verdict::Violated(_)), !holds, "{found:?}");
        }
    }
}

#[test]
fn memory_may_be_uninitialised_until_it_is_used() {
    let text = "use std::{cell::UnsafeCell, mem::MaybeUninit, sync::Arc};
struct Slots([UnsafeCell<MaybeUninit<u32>>; 4]);
unsafe impl Sync for Slots {}
fn main() {
    let slots = Arc::new(Slots([const { UnsafeCell::new(MaybeUninit::uninit()) }; 4]));
    let other = Arc::clone(&slots);
    let t = std::thread::spawn(move || unsafe { (*other.0[1].get()).write(5); });
    t.join().unwrap();
    assert_eq!(unsafe { (*slots.0[WHICH].get()).assume_init_read() }, 5);
}
";
    let found = |which| check("t.rs", &text.replace("WHICH", which), Model::Sc);
    let written = found("1");
    assert!(matches!(written, Ok(Verdict::Holds)), "{written:?}");
    let not = found("2");
    assert!(matches!(not, Ok(Verdict::Violated(_))), "{not:?}");
}

#[test]
fn what_is_chosen_by_choices_is_decided_by_its_states() {
    let text = "use std::sync::atomic::{AtomicI8, Ordering::*};
fn main() {
    let a = AtomicI8::new(-3);
    assert_eq!(a.fetch_nand(1, AcqRel), -3);
    let less = |x| if x < 0 { Some(x - 1) } else { None };
    assert_eq!(a.fetch_update(SeqCst, SeqCst, less), Ok(-2));
    for i in 0..4 {
        a.fetch_max(i * 3 - 7, Relaxed);
        a.fetch_xor(0x0f, SeqCst);
        a.fetch_min(40, Relaxed);
    }
    assert_eq!(a.load(Relaxed), 13);
}
";
    let found = check("t.rs", text, Model::Sc);
    assert!(matches!(found, Ok(Verdict::Holds)), "{found:?}");
}

/// Arrays and slices in shared memory are compared as what they hold, whatever their length; integers are ordered.
#[test]
fn comparisons_of_shared_arrays() {
    let program = |body: &str| {
        format!(
            "use std::cmp::Ordering::{{Equal, Greater, Less}};
use std::sync::Mutex;
static PAIR: Mutex<[[u8; 3]; 2]> = Mutex::new([[1, 2, 3], [4, 5, 6]]);
static WORDS: Mutex<[i32; 3]> = Mutex::new([1, -2, 3]);
fn main() {{
    let t = std::thread::spawn(|| {{
        PAIR.lock().unwrap()[0] = [7, 8, 9];
        WORDS.lock().unwrap()[1] = 256;
    }});
    let pair = *PAIR.lock().unwrap();
    let words = *WORDS.lock().unwrap();
    {body}
    t.join().unwrap();
}}
"
        )
    };
    let right = [
        "assert!(pair[0] == [1, 2, 3] || pair[0] == [7, 8, 9]);",
        "assert_eq!(pair[1], [4, 5, 6]);",
        "assert!(pair == [[1, 2, 3], [4, 5, 6]] || pair[0] > pair[1]);",
        "assert!(words[..] == [1, -2, 3][..] || words[..] == [1, 256, 3][..]);",
        "assert!(words[1].cmp(&0) == Less || words[1].cmp(&256) == Equal);",
        "assert!((words[1] as u32).cmp(&255) == Greater);",
    ];
    let wrong = [
        "assert!(pair[0] == [1, 2, 3]);",
        "assert_eq!(pair[1], [4, 5, 7]);",
        "assert!(pair < [[4, 5, 6], [0, 0, 0]]);",
        "assert!(words[..] != [1, 256, 3][..]);",
        "assert!(words[1].cmp(&0) == Less);",
        "assert!((words[1] as u32).cmp(&256) == Greater);",
    ];
    for model in [Model::Sc, Model::Rc11] {
        for body in right {
            let found = check("t.rs", &program(body), model);
            assert_eq!(found, Ok(Verdict::Holds), "{model}: {body}");
        }
        for body in wrong {
            let found = check("t.rs", &program(body), model);
            let panics = |v: &palisade_program::Violation| v.message.starts_with("assertion");
            assert!(
                matches!(&found, Ok(Verdict::Violated(v)) if panics(v)),
                "{model}: {body}: {found:?}"
            );
        }
    }
}

/// A program whose `main` is `body`, beside a thread that stores 1 into `X`.
fn beside_store(body: &str) -> String {
    format!(
        "use std::sync::atomic::{{AtomicU32, Ordering::*}};
static X: AtomicU32 = AtomicU32::new(0);
fn main() {{
    let t = std::thread::spawn(|| X.store(1, Relaxed));
    {body}
    t.join().unwrap();
}}
"
    )
}

/// What a run cannot decide rightly is unknown, and says so in words of Rust.
#[test]
fn what_is_not_modelled_is_unknown_in_words_of_rust() {
    for (body, words) in [
        // A variable of the library that has no contents here is no wild pointer.
        (
            "std::panic::resume_unwind(Box::new(1));",
            "function without code",
        ),
        (
            "let y = X.load(Relaxed) as f64 + 0.5; assert!(y > 0.0);",
            "floating-point",
        ),
        (
            "assert_eq!(format!(\"{}\", X.load(Relaxed)).len(), 1);",
            "a text that was formatted",
        ),
        (
            "let start = std::time::Instant::now(); assert!(start.elapsed().as_secs() < 9);",
            "how much time has passed",
        ),
    ] {
        match check("t.rs", &beside_store(body), Model::Sc) {
            Ok(Verdict::Unknown(why)) => {
                let why = why.to_string();
                assert!(why.contains(words), "{body}: {why}");
            }
            other => panic!("{body}: {other:?}"),
        }
    }
    let text = "fn main() {\n    loop {\n        std::thread::spawn(|| ());\n    }\n}\n";
    let words = check("t.rs", text, Model::Sc).expect_err("threads without end");
    assert!(
        words.contains("23 threads") && words.contains("t.rs:3:"),
        "{words}"
    );
}

/// What the compiler says of our library is not shown, and what only that lacks is told.
#[test]
fn messages_of_the_compiler_do_not_speak_of_our_library() {
    let missing = "use std::collections::HashMap;
fn main() {
    let mut map: HashMap<u32, u32> = HashMap::new();
    assert_eq!(map.extract_if(|_, v| *v > 1).count(), 0);
}
";
    let words = check("t.rs", missing, Model::Sc).expect_err("it is not modelled");
    assert!(
        words.contains("not modelled") && words.contains("t.rs:4:"),
        "{words}"
    );
    assert!(!words.contains("palisade-rust"), "{words}");
    let wrong = "fn main() {
    let x: std::sync::MutexGuard<u32> = std::sync::Mutex::new(true);
    std::thread::spawn(|x: u32| x);
}
";
    let words = check("t.rs", wrong, Model::Sc).expect_err("it does not compile");
    assert!(
        words.contains("refuses") && words.contains("t.rs:2:"),
        "{words}"
    );
    assert!(!words.contains("palisade-rust"), "{words}");
}

/// Names of threads, deadlines, values that are made once by a closure that moves, tags beside indices.
#[test]
fn more_of_the_library() {
    let holds = [
        "let named = std::thread::Builder::new().name(\"w\".to_string());
         let named = named.spawn(|| std::thread::current().name() == Some(\"w\")).unwrap();
         assert!(named.thread().name() == Some(\"w\") && named.join().unwrap());
         assert!(std::thread::current().name() == Some(\"main\") && t.thread().name().is_none());",
        "assert!(!std::thread::panicking());",
        "static ONCE: std::sync::Once = std::sync::ONCE_INIT;
         ONCE.call_once(|| ());
         assert!(ONCE.is_completed());",
        "let other = std::thread::Builder::new().name(format!(\"w{}\", 1));
         let other = other.spawn(|| X.load(Relaxed)).unwrap();
         assert!(other.join().unwrap() <= 1);",
        "let until = std::time::Instant::now() + std::time::Duration::from_millis(5);
         while X.load(Acquire) == 0 && std::time::Instant::now() < until {}
         assert!(X.load(Acquire) <= 1);",
        "let text = vec![7, X.load(Relaxed)];
         let once = std::sync::LazyLock::new(move || text);
         assert!(once.len() == 2 && once[0] == 7);",
        "let bits = f32::from_bits(0x3f80_0000 + X.load(Relaxed));
         assert!(bits.to_bits() >= 0x3f80_0000);",
        "let n = X.load(Relaxed) as usize * 300;
         assert!(vec![1_u8; n].len() == n);",
    ];
    for body in holds {
        let found = check("t.rs", &beside_store(body), Model::Rc11);
        assert_eq!(found, Ok(Verdict::Holds), "{body}");
    }
    let violated = [
        "let until = std::time::Instant::now() + std::time::Duration::from_millis(5);
         while X.load(Acquire) == 0 && std::time::Instant::now() < until {}
         assert!(X.load(Acquire) == 1);",
        "let named = std::thread::Builder::new().name(\"w\".to_string());
         let named = named.spawn(|| std::thread::current().name() == Some(\"v\")).unwrap();
         assert!(named.join().unwrap());",
    ];
    for body in violated {
        let found = check("t.rs", &beside_store(body), Model::Rc11);
        assert!(
            matches!(found, Ok(Verdict::Violated(_))),
            "{body}: {found:?}"
        );
    }
}

/// A list of free slots over indices, with a tag in the upper half of its head.
#[test]
fn indices_with_tags() {
    let text = "use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
const NIL: u32 = u32::MAX;
static HEAD: AtomicU64 = AtomicU64::new(0);
static NEXT: [AtomicU32; 2] = [AtomicU32::new(1), AtomicU32::new(NIL)];
static USED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
fn pop() -> Option<u32> {
    let mut old = HEAD.load(Ordering::Acquire);
    loop {
        let (tag, index) = ((old >> 32) as u32, old as u32);
        if index == NIL {
            return None;
        }
        let next = NEXT[index as usize].load(Ordering::Relaxed);
        let new = u64::from(tag.wrapping_add(1)) << 32 | u64::from(next);
        match HEAD.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Some(index),
            Err(now) => old = now,
        }
    }
}
fn push(index: u32) {
    let mut old = HEAD.load(Ordering::Relaxed);
    loop {
        NEXT[index as usize].store(old as u32, Ordering::Relaxed);
        let new = old & !0xffff_ffff | u64::from(index);
        match HEAD.compare_exchange_weak(old, new, Ordering::ORDER, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => old = now,
        }
    }
}
fn client() {
    if let Some(index) = pop() {
        assert_eq!(USED[index as usize].swap(1, Ordering::Relaxed), 0);
        USED[index as usize].store(0, Ordering::Relaxed);
        push(index);
    }
}
fn main() {
    std::thread::scope(|s| {
        s.spawn(client);
        s.spawn(client);
    });
}
";
    let found = |order| check("t.rs", &text.replace("ORDER", order), Model::Rc11);
    assert_eq!(found("Release"), Ok(Verdict::Holds));
    let weak = found("Relaxed");
    assert!(matches!(weak, Ok(Verdict::Violated(_))), "{weak:?}");
}
