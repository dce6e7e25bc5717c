//! Data structures under TSO and PSO: what is known of them, with and without fences; robustness against the search with buffers on
//! mutants; reductions against none.

use std::time::{Duration, Instant};

use palisade_linearize::check::{Checked, Question, Verdict, check};
use palisade_linearize::robust::{Relaxation, robust};
use palisade_linearize::{Buffers, Found, Options, Wrong, explore, prove, stages};
use palisade_program::heap::Program;

use crate::mutants::{OTHERS, Random, example, mutated, read, small};

const MODELS: [Buffers; 2] = [Buffers::Tso, Buffers::Pso];

fn parsed(text: &str) -> Program {
    read(text).unwrap_or_else(|| panic!("it can be read:\n{text}"))
}

fn bounds(buffers: Buffers, threads: u32, calls: u32) -> Options {
    Options {
        threads,
        calls,
        buffers,
        ..Options::default()
    }
}

/// What is wrong in runs within bounds, if anything.
fn wrong(text: &str, options: &Options) -> Option<Wrong> {
    let search = stages::search(&parsed(text), options).unwrap_or_else(|no| panic!("{no}"));
    match search.found {
        Found::Nothing => None,
        Found::Wrong(witness) => Some(witness.what),
        Found::Stopped(stop) => panic!("{stop:?}"),
    }
}

fn verdict(text: &str, options: Options) -> Checked {
    let question = Question {
        bounds: options,
        proof: Some(prove::Options::default()),
        stopped: &|| None,
        progress: None,
    };
    check(&parsed(text), &question)
}

/// Lamport's ring for a producer that waits while it is full: that it was full is not observed.
const RING: &str = "\
spec queue;
shared data items[2];
shared int head = 0, tail = 0;
method enqueue(data v) by producer {
    int t = tail;
    int h = head;
    assume(h != t - 2);
    items[t % 2] = v;
    tail = t + 1;
}
method dequeue() returns data by consumer {
    int h = head;
    int t = tail;
    if (h == t) return empty;
    data v = items[h % 2];
    head = h + 1;
    return v;
}
";

/// The deque of Chase and Lev, with room for all values that are pushed.
fn deque() -> String {
    let text = example("chase_lev_deque").replace("const N = 2;", "const N = 4;");
    text.replace(
        "        a[0] = a[1];\n        a[1] = empty;\n",
        "        a[0] = a[1];\n        a[1] = a[2];\n        a[2] = a[3];\n        a[3] = empty;\n",
    )
}

/// With a fence behind the first statement that reads like this.
fn fenced(text: &str, statement: &str) -> String {
    assert!(text.contains(statement), "{statement}\n{text}");
    text.replacen(statement, &format!("{statement}\n    fence;"), 1)
}

#[test]
fn a_ring_needs_a_fence_under_pso_only() {
    assert_eq!(wrong(RING, &bounds(Buffers::Tso, 2, 5)), None);
    let pso = bounds(Buffers::Pso, 2, 5);
    assert_eq!(wrong(RING, &pso), Some(Wrong::NotLinearizable));
    let one = fenced(RING, "items[t % 2] = v;");
    assert_eq!(wrong(&one, &pso), None);
    // Its values may be read late: when calls are complete at their returns, that shows.
    let strict = Options {
        real_time: true,
        ..bounds(Buffers::Tso, 2, 2)
    };
    assert_eq!(wrong(RING, &strict), Some(Wrong::NotLinearizable));
    let both = fenced(RING, "tail = t + 1;");
    assert_eq!(wrong(&both, &strict), None);
}

#[test]
fn a_ring_that_says_whether_it_is_full_is_not_linearizable_under_tso() {
    let text = example("spsc_ring");
    assert_eq!(wrong(&text, &bounds(Buffers::Tso, 2, 4)), None);
    let tso = bounds(Buffers::Tso, 2, 5);
    assert_eq!(wrong(&text, &tso), Some(Wrong::NotLinearizable));
    assert_eq!(wrong(&text, &bounds(Buffers::Sc, 2, 5)), None);
    // Both ends store and then read what the other end stores.
    let one = fenced(&text, "tail = t + 1;\n    commit;");
    assert_eq!(wrong(&one, &tso), Some(Wrong::NotLinearizable));
    let both = fenced(&one, "head = h + 1;\n    commit;");
    let found = verdict(&both, tso);
    assert!(matches!(found.verdict, Verdict::Holds), "{found:?}");
}

#[test]
fn the_owner_of_a_deque_needs_a_fence_before_it_takes() {
    let text = deque();
    let tso = bounds(Buffers::Tso, 2, 5);
    assert_eq!(wrong(&text, &bounds(Buffers::Sc, 2, 5)), None);
    assert_eq!(wrong(&text, &tso), Some(Wrong::NotLinearizable));
    let taken = fenced(&text, "bottom = b;");
    assert_eq!(wrong(&taken, &tso), None);
    let pso = bounds(Buffers::Pso, 2, 4);
    assert_eq!(wrong(&taken, &pso), Some(Wrong::NotLinearizable));
    assert_eq!(wrong(&fenced(&taken, "items[b % N] = v;"), &pso), None);
}

#[test]
fn what_publishes_by_cas_or_under_locks_is_proved() {
    for name in ["treiber", "cas_counter", "coarse_set"] {
        for model in MODELS {
            let found = verdict(&example(name), bounds(model, 2, 3));
            assert!(matches!(found.verdict, Verdict::Holds), "{name}: {found:?}");
            assert_eq!(found.robust, Some(Ok(())), "{name}");
            assert_eq!(found.certified, None, "{name}");
        }
    }
}

#[test]
fn what_is_not_robust_is_not_proved() {
    let tso = verdict(RING, bounds(Buffers::Tso, 2, 3));
    assert!(matches!(tso.verdict, Verdict::Unknown));
    let why = tso
        .robust
        .expect("nothing was found")
        .expect_err("it loads");
    assert_eq!(
        (why.what, why.method.as_str()),
        (Relaxation::Load, "enqueue")
    );
    // A node that is published before its value under PSO.
    let published = "spec none; struct node { int x; } shared node top;
        method put() { node n = new node; n.x = 1; top = n; }
        method get() { node t = top; if (t != null) assert(t.x == 1); }";
    let tso = bounds(Buffers::Tso, 2, 3);
    assert_eq!(wrong(published, &tso), None);
    assert_eq!(
        robust(&parsed(published), &tso).map_err(|e| e.what),
        Err(Relaxation::Load)
    );
    let pso = bounds(Buffers::Pso, 2, 3);
    assert!(wrong(published, &pso).is_some());
    assert_eq!(
        robust(&parsed(published), &pso).map_err(|e| e.what),
        Err(Relaxation::Store)
    );
    // A word of which a `never` speaks is seen at any time, though a lock guards it.
    let pair = "spec none; shared lock l; shared int x = 0, y = 0;
        method set() { lock(l); x = 1; y = 1; unlock(l); }";
    assert_eq!(robust(&parsed(pair), &pso), Ok(()));
    let seen = format!("{pair} never y == 1 && x == 0;");
    assert!(wrong(&seen, &pso).is_some());
    assert_eq!(
        robust(&parsed(&seen), &pso).map_err(|e| e.what),
        Err(Relaxation::Store)
    );
}

/// Objects with stores of many kinds: under locks, spin locks, to nodes before and after they are published.
fn objects() -> Vec<String> {
    let mut all = small();
    for name in [
        "treiber",
        "two_lock_queue",
        "ms_queue",
        "elimination_slot",
        "pair_register",
        "semaphore",
    ] {
        all.push(example(name));
    }
    all.push(RING.to_owned());
    all.push(fenced(RING, "tail = t + 1;"));
    all
}

#[test]
fn robust_mutants_have_no_violation_with_buffers_only() {
    let soak = std::env::var("PALISADE_SOAK").ok();
    let wanted = soak.as_ref().and_then(|count| count.parse().ok());
    let count = wanted.unwrap_or(12);
    let (mut checked, mut relaxed, mut tried) = (0, 0, 0);
    let mut all = objects();
    if soak.is_some() {
        all.extend(OTHERS.map(example));
        all.extend(["lazy_set", "optimistic_set", "harris_set"].map(example));
    }
    for (number, text) in all.iter().enumerate() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1) << 20);
        for _ in 0..count {
            let Some((text, program)) = mutated(text, &mut random) else {
                continue;
            };
            let limited = |buffers| Options {
                max_states: 20_000,
                ..bounds(buffers, 2, 3)
            };
            let found = |buffers| explore(&program, &limited(buffers)).ok();
            let is_wrong =
                |search: &palisade_linearize::Search| matches!(search.found, Found::Wrong(_));
            let Some(under_sc) = found(Buffers::Sc) else {
                continue;
            };
            tried += 1;
            if is_wrong(&under_sc) {
                continue;
            }
            for model in MODELS {
                let Some(buffered) = found(model) else {
                    continue;
                };
                relaxed += u32::from(is_wrong(&buffered));
                if robust(&program, &limited(model)).is_ok() {
                    checked += 1;
                    assert!(!is_wrong(&buffered), "{model:?}:\n{text}");
                }
            }
        }
    }
    println!("{tried} mutants: {checked} robust, {relaxed} wrong with buffers only");
    assert!(checked > 30 && relaxed > 5, "{checked} {relaxed} {tried}");
}

/// The whole way to a verdict, with so short runs that most bugs are left to the provers: whatever holds has no wrong run
/// of more calls. `PALISADE_SOAK=n` tries n mutants of each object, and of further ones.
#[test]
fn mutants_that_hold_have_no_wrong_run() {
    let soak = std::env::var("PALISADE_SOAK").ok();
    let count: usize = soak.as_ref().and_then(|n| n.parse().ok()).unwrap_or(7);
    let mut all = small();
    if soak.is_some() {
        all.extend(OTHERS.map(example));
        all.extend(["treiber", "two_lock_queue", "cas_counter", "semaphore"].map(example));
        all.extend(["elimination_slot", "lazy_set", "harris_set", "coarse_set"].map(example));
    }
    let (mut tried, mut held, mut wrong) = (0, 0, 0);
    for (number, text) in all.iter().enumerate() {
        let seed = std::env::var("PALISADE_SEED").ok();
        let seed: u64 = seed.and_then(|seed| seed.parse().ok()).unwrap_or(0);
        let mut random = Random(0x2545_f491_4f6c_dd1d ^ (number as u64 + 1 + 100 * seed) << 20);
        for round in 0..count {
            let Some((text, program)) = mutated(text, &mut random) else {
                continue;
            };
            let model = [Buffers::Sc, Buffers::Tso, Buffers::Pso][(round + number) % 3];
            let question = Question {
                bounds: Options {
                    deadline: Some(Instant::now() + Duration::from_secs(4)),
                    max_states: 20_000,
                    ..bounds(model, 2, 2)
                },
                proof: Some(prove::Options {
                    max_structures: Some(20_000),
                    ..prove::Options::default()
                }),
                stopped: &|| None,
                progress: None,
            };
            tried += 1;
            match check(&program, &question).verdict {
                Verdict::Holds => held += 1,
                Verdict::Violated(_) => {
                    wrong += 1;
                    continue;
                }
                Verdict::Unknown => continue,
            }
            for (threads, calls) in [(2, 3), (2, 4), (3, 3)] {
                let longer = Options {
                    max_states: 40_000,
                    ..bounds(model, threads, calls)
                };
                let found = explore(&program, &longer).unwrap_or_else(|no| panic!("{no}"));
                if let Found::Wrong(witness) = found.found {
                    panic!("{model:?} holds, but {:?}:\n{text}", witness.what);
                }
            }
        }
    }
    println!("{tried} mutants: {held} hold, {wrong} wrong");
    assert!(held > 2 && wrong > 2, "{tried} {held} {wrong}");
}

#[test]
fn reductions_change_no_verdict() {
    for text in objects() {
        for model in MODELS {
            for text in [text.clone(), text.replace("cas(top, t, n)", "*")] {
                let Some(program) = read(&text) else { continue };
                let with = |reduce| Options {
                    reduce,
                    max_states: 60_000,
                    ..bounds(model, 2, 2)
                };
                let found = |reduce| {
                    let search =
                        explore(&program, &with(reduce)).unwrap_or_else(|no| panic!("{no}"));
                    matches!(search.found, Found::Wrong(_))
                };
                assert_eq!(found(true), found(false), "{model:?}:\n{text}");
            }
        }
    }
}
