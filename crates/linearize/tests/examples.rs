//! Every program of `examples/linear` does what its second line says, in all runs of
//! two and three threads with a few calls; and its commit points explain them.

use std::fs;
use std::path::PathBuf;

use palisade_linearize::{
    Found, Options, Reclaim, Search, Wrong, check_commits, explore, points, stages, timeline,
};
use palisade_program::Source;
use palisade_program::heap::{Program, Specification};

fn examples() -> Vec<(String, Program, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/linear");
    let files = fs::read_dir(folder).expect("the examples are there");
    let mut files: Vec<PathBuf> = files
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|e| e == "pal"))
        .collect();
    files.sort();
    assert!(files.len() >= 15, "{} examples", files.len());
    files.iter().map(|path| example(path)).collect()
}

fn example(path: &std::path::Path) -> (String, Program, String) {
    let text = fs::read_to_string(path).expect("the file can be read");
    let name = path.file_stem().map(|n| n.to_string_lossy().into_owned());
    let name = name.expect("it has a name");
    let expected = text
        .lines()
        .nth(1)
        .and_then(|l| l.strip_prefix("// expect: "));
    let expected = expected
        .unwrap_or_else(|| panic!("{name}: no expectation"))
        .to_owned();
    (name.clone(), parsed(&name, &text), expected)
}

fn parsed(name: &str, text: &str) -> Program {
    match palisade_frontend::heap::parse(Source::new(name, text)) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

fn search(program: &Program, threads: u32, calls: u32, reclaim: Reclaim) -> Search {
    let options = Options {
        threads,
        calls,
        reclaim,
        ..Options::default()
    };
    explore(program, &options).unwrap_or_else(|failure| panic!("{failure}"))
}

/// What was found, in words.
fn words(search: &Search) -> String {
    match &search.found {
        Found::Nothing => "nothing".to_owned(),
        Found::Stopped(stop) => format!("{stop:?}"),
        Found::Wrong(witness) => timeline::words(&witness.what),
    }
}

/// Bounds at which a program is looked at without `--free`.
const PLAIN: &[(u32, u32)] = &[(2, 4), (3, 3)];

#[test]
fn verdicts() {
    for (name, program, expected) in examples() {
        let plain = PLAIN
            .iter()
            .map(|&(threads, calls)| search(&program, threads, calls, Reclaim::Never));
        let mut wrong = plain.filter(|found| !matches!(found.found, Found::Nothing));
        match expected.as_str() {
            "linearizable"
            | "linearizable, also with --free"
            | "linearizable, but violated with --free" => {
                let wrong = wrong.next().map(|found| words(&found));
                assert_eq!(wrong, None, "{name}");
            }
            "not linearizable" => {
                let found = wrong
                    .next()
                    .unwrap_or_else(|| panic!("{name}: nothing found"));
                let Found::Wrong(witness) = &found.found else {
                    panic!("{name}: {}", words(&found));
                };
                assert_eq!(witness.what, Wrong::NotLinearizable, "{name}");
            }
            other => panic!("{name}: what is `{other}`?"),
        }
    }
}

#[test]
fn verdicts_with_reclamation() {
    let mut both = (0, 0);
    for (name, program, expected) in examples() {
        if expected.ends_with("also with --free") {
            both.0 += 1;
            for (threads, calls) in [(2, 5), (3, 3)] {
                let found = search(&program, threads, calls, Reclaim::Recycle);
                assert_eq!(words(&found), "nothing", "{name}");
            }
            // The counter does not help against reading what was freed.
            let found = search(&program, 2, 4, Reclaim::Strict);
            assert_eq!(words(&found), "use after free", "{name}");
        } else if expected.ends_with("violated with --free") {
            both.1 += 1;
            let options = Options {
                calls: 6,
                reclaim: Reclaim::Recycle,
                ..Options::default()
            };
            let found = stages::search(&program, &options).expect("a search");
            assert_eq!(
                words(&found),
                timeline::words(&Wrong::NotLinearizable),
                "{name}"
            );
        }
    }
    assert!(both.0 >= 2 && both.1 >= 2, "{both:?}");
}

#[test]
fn commit_points_explain_all_runs_of_right_programs() {
    let mut count = 0;
    for (name, program, expected) in examples() {
        if !program.has_commits() || !expected.starts_with("linearizable") {
            continue;
        }
        count += 1;
        for (threads, calls) in [(2, 4), (3, 3)] {
            let options = Options {
                threads,
                calls,
                ..Options::default()
            };
            let found = check_commits(&program, &options).expect("a search");
            assert_eq!(words(&found), "nothing", "{name}");
        }
    }
    assert!(count >= 8, "{count} programs");
}

#[test]
fn reductions_change_no_verdict() {
    for (name, program, _) in examples() {
        for calls in 1..=2 {
            for reclaim in [Reclaim::Never, Reclaim::Recycle] {
                let with = |reduce: bool| {
                    let options = Options {
                        threads: 2,
                        calls,
                        nodes: 4,
                        reclaim,
                        reduce,
                        ..Options::default()
                    };
                    explore(&program, &options).expect("a search")
                };
                let (all, reduced) = (with(false), with(true));
                assert_eq!(words(&all), words(&reduced), "{name} {calls} {reclaim:?}");
                assert!(reduced.states <= all.states, "{name}");
            }
        }
    }
}

/// A program of the examples with a text replaced.
fn changed(name: &str, old: &str, new: &str) -> Program {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/linear");
    let text = fs::read_to_string(folder.join(name)).expect("the file can be read");
    assert!(text.contains(old), "{name} has no {old}");
    parsed(name, &text.replacen(old, new, 1))
}

#[test]
fn slips_are_found() {
    let cases: &[(&str, &str, &str, &str)] = &[
        (
            "treiber.pal",
            "if (t == null) return empty;",
            "",
            "null dereference",
        ),
        ("treiber.pal", "n.next = t;", "n.next = n;", "cyclic list"),
        (
            "treiber.pal",
            "return empty",
            "return v",
            "not linearizable",
        ),
        ("ms_queue.pal", "tail = dummy;", "", "null dereference"),
        ("two_lock_queue.pal", "lock(back);", "", "not held"),
        (
            "cas_counter.pal",
            "if (cas(c, x, x + 1))",
            "c = x + 1;",
            "not linearizable",
        ),
        (
            "elimination_slot.pal",
            "return false;\n}",
            "return true;\n}",
            "not linearizable",
        ),
        (
            "lock_coupling_set.pal",
            "c.key == k",
            "c.key != k",
            "not linearizable",
        ),
        // A node is linked out after its lock was given back.
        (
            "lock_coupling_set.pal",
            "    p.next = n;\n    commit;\n    unlock(c.l);\n    unlock(p.l);",
            "    unlock(c.l);\n    unlock(p.l);\n    p.next = n;\n    commit;",
            "not linearizable",
        ),
        (
            "lock_coupling_set.pal",
            "n = c.next;\n    p.next = n;",
            "n = c.next;\n    p.next = c;",
            "not linearizable",
        ),
        // Nobody looks again behind the locks.
        (
            "lazy_set.pal",
            "if (!p.removed && !c.removed && p.next == c)",
            "if (true)",
            "not linearizable",
        ),
        (
            "lazy_set.pal",
            "if (!p.removed && p.next == c) {\n            if (c",
            "if (!p.removed) {\n            if (c",
            "not linearizable",
        ),
        (
            "harris_set.pal",
            "cas(c.next, s, pack(s.ptr, true))",
            "!s.mark",
            "not linearizable",
        ),
        ("inc.pal", "last.next = first;", "", "never"),
        // Arrays, roles, and what threads keep.
        (
            "spsc_ring.pal",
            "    items[t % N] = v;\n    tail = t + 1;\n    commit;",
            "    tail = t + 1;\n    commit;\n    items[t % N] = v;",
            "not linearizable",
        ),
        (
            "spsc_ring.pal",
            "if (h == t - N) return",
            "if (h == t - N - 1) return",
            "not linearizable",
        ),
        (
            "spsc_ring.pal",
            "    data v = items[h % N];\n    head = h + 1;\n    commit;",
            "    head = h + 1;\n    commit;\n    data v = items[h % N];",
            "not linearizable",
        ),
        ("spsc_ring.pal", " by producer", "", "not linearizable"),
        (
            "spsc_ring.pal",
            "items[t % N] = v",
            "items[t] = v",
            "index is out of range",
        ),
        (
            "vyukov_queue.pal",
            "            items[p % N] = v;\n            turn[p % N] = p + 1;",
            "            turn[p % N] = p + 1;\n            items[p % N] = v;",
            "not linearizable",
        ),
        (
            "vyukov_queue.pal",
            "if (t == p && cas(put, p, p + 1)) {",
            "if (t == p) { put = p + 1;",
            "not linearizable",
        ),
        (
            "vyukov_queue.pal",
            "            v = items[p % N];\n            turn[p % N] = p + N;",
            "            turn[p % N] = p + N;\n            v = items[p % N];",
            "not linearizable",
        ),
        (
            "chase_lev_deque.pal",
            "if (!cas(top, t, t + 1)) v = empty;",
            "top = t + 1;",
            "not linearizable",
        ),
        (
            "chase_lev_deque.pal",
            "if (cas(top, t, t + 1)) return v;",
            "top = t + 1; return v;",
            "not linearizable",
        ),
        (
            "chase_lev_deque.pal",
            "        v = items[t % N];\n        if (cas(top, t, t + 1)) return v;",
            "        if (cas(top, t, t + 1)) { v = items[t % N]; return v; }",
            "not linearizable",
        ),
        (
            "chase_lev_deque.pal",
            "push(data v) returns bool by owner",
            "push(data v) returns bool",
            "not linearizable",
        ),
        (
            "herlihy_wing_queue.pal",
            "v = xchg(items[i], empty);",
            "v = items[i]; items[i] = empty;",
            "not linearizable",
        ),
        (
            "herlihy_wing_queue.pal",
            "for (int i = 0; i < range; i++)",
            "for (int i = range - 1; i >= 0; i--)",
            "not linearizable",
        ),
        (
            "herlihy_wing_queue.pal",
            "items[i] = v;",
            "items[i] = v; items[i] = v;",
            "not linearizable",
        ),
        (
            "elimination_array_stack.pal",
            "return !cas(slots[i], n, null);",
            "slots[i] = null; return true;",
            "not linearizable",
        ),
        (
            "elimination_array_stack.pal",
            "return cas(top, t, n);",
            "top = n; return true;",
            "not linearizable",
        ),
        (
            "elimination_array_stack.pal",
            "slots[i % SLOTS]",
            "slots[i + 1]",
            "index is out of range",
        ),
        (
            "rdcss.pal",
            "if (c == 0) cas(word, d, values[1]);",
            "if (c == 0) word = values[1];",
            "not linearizable",
        ),
        (
            "rdcss.pal",
            "        complete(n);",
            "        cas(word, n, values[1]);",
            "not linearizable",
        ),
        (
            "rdcss.pal",
            "            complete(d);\n",
            "",
            "not linearizable",
        ),
        (
            "snapshot.pal",
            "if (a[i] != b[i]) same = false;",
            "",
            "not linearizable",
        ),
        (
            "snapshot.pal",
            "box b = new box;\n    b.value = v;\n    r[i % N] = b;",
            "box b = r[i % N];\n    b.value = v;",
            "not linearizable",
        ),
        (
            "snapshot.pal",
            "a[i] != b[i]",
            "a[1] != b[1]",
            "not linearizable",
        ),
        (
            "clh_counter.pal",
            "    while (before.busy) { }",
            "",
            "not linearizable",
        ),
        (
            "clh_counter.pal",
            "    mine.busy = true;\n    node before = xchg(tail, mine);",
            "    node before = xchg(tail, mine);\n    mine.busy = true;",
            "not linearizable",
        ),
        (
            "clh_counter.pal",
            "    c = x + 1;\n    mine.busy = false;",
            "    mine.busy = false;\n    c = x + 1;",
            "not linearizable",
        ),
        (
            "mcs_counter.pal",
            "    mine.next = null;\n",
            "",
            "cyclic list",
        ),
        (
            "mcs_counter.pal",
            "if (cas(tail, mine, null)) return;",
            "tail = null; return;",
            "cyclic list",
        ),
        (
            "mcs_counter.pal",
            "    while (mine.waits) { }",
            "",
            "not linearizable",
        ),
        (
            "flat_combining.pal",
            "            answer[i] = x;\n            asked[i] = false;",
            "            asked[i] = false;\n            answer[i] = x;",
            "not linearizable",
        ),
        (
            "flat_combining.pal",
            "cas(busy, false, true)",
            "!busy",
            "not linearizable",
        ),
        (
            "flat_combining.pal",
            "slot < 0",
            "true",
            "index is out of range",
        ),
        (
            "reference_count.pal",
            "        if (n == 0) return false;\n        if (cas",
            "        if (cas",
            "not linearizable",
        ),
        (
            "reference_count.pal",
            "int old = fetch_add(count, -1);",
            "int old = count; count = old - 1;",
            "not linearizable",
        ),
        (
            "reference_count.pal",
            "    if (old != 1) return false;\n    freed = true;",
            "    freed = true;\n    if (old != 1) return false;",
            "an assertion fails",
        ),
    ];
    for (name, old, new, expected) in cases {
        let found = search(&changed(name, old, new), 2, 4, Reclaim::Never);
        let Found::Wrong(witness) = &found.found else {
            panic!("{name} without {old}: nothing found");
        };
        let text =
            timeline::words(&witness.what).replace("that the thread does not hold", "not held");
        let main = text.contains(expected);
        let also = found
            .also
            .iter()
            .any(|w| timeline::words(&w.what).contains(expected));
        assert!(main || also, "{name} without {old}: {text}");
    }
}

#[test]
fn leaks_and_freed_nodes_are_found() {
    let free = |name, old, new| words(&search(&changed(name, old, new), 2, 3, Reclaim::Recycle));
    let leak = free("treiber_counted.pal", "free(t.ptr);", "");
    assert!(leak.starts_with("leak"), "{leak}");
    let twice = free(
        "treiber_counted.pal",
        "free(t.ptr);",
        "free(t.ptr); free(t.ptr);",
    );
    assert_eq!(twice, "a node is freed twice");
    let after = free("treiber_counted.pal", "return v;", "v = t.value; return v;");
    assert_eq!(after, "use after free");
}

#[test]
fn wrong_commit_points_are_noticed_and_others_suggested() {
    let cases = [
        (
            "treiber.pal",
            "commit when t == null;",
            "",
            "without a commit",
        ),
        ("treiber.pal", "commit when t == null;", "commit;", "twice"),
        (
            "treiber.pal",
            "n.next = t;",
            "n.next = t; commit later;",
            "nothing",
        ),
        (
            "treiber.pal",
            "n.value = v;",
            "n.value = v; commit;",
            "commit",
        ),
        ("ms_queue.pal", "confirm;", "commit;", "another result"),
        (
            "ms_queue.pal",
            "commit later when next == null;",
            "",
            "confirm",
        ),
    ];
    let options = Options {
        calls: 3,
        ..Options::default()
    };
    for (name, old, new, expected) in cases {
        let program = changed(name, old, new);
        let found = check_commits(&program, &options).expect("a search");
        assert!(
            words(&found).contains(expected),
            "{name} {new}: {}",
            words(&found)
        );
        let found = explore(&program, &options).expect("a search");
        assert_eq!(words(&found), "nothing", "commit points play no part");
    }
    let bare = changed("treiber.pal", "commit when t == null;", "");
    let points = points::suggest(&bare, &options).expect("a search");
    let points::Points::Found(points) = points else {
        panic!("{points:?}");
    };
    let shown: Vec<String> = points
        .iter()
        .map(|p| format!("{} {}", p.method, p.step))
        .collect();
    assert_eq!(
        shown,
        [
            "push cas(top, t, n) succeeds",
            "pop t = top",
            "pop cas(top, t, n) succeeds"
        ]
    );
    let wrong = changed("treiber_store.pal", "commit;", "");
    assert_eq!(points::suggest(&wrong, &options), Ok(points::Points::None));
}

#[test]
fn the_time_line_shows_calls_and_steps() {
    let program = changed("treiber_store.pal", "commit;", "");
    assert_ne!(program.specification, Specification::Nothing);
    let Found::Wrong(witness) = search(&program, 2, 3, Reclaim::Never).found else {
        panic!("a history is found");
    };
    insta::assert_snapshot!(timeline::text(&witness, &program.source));
}

/// Programs of the examples, each with one line of a method left out, if it is still
/// a program.
fn mutants() -> Vec<(String, Program)> {
    let mut all = Vec::new();
    for (name, program, _) in examples() {
        let lines: Vec<&str> = program.source.text().lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if !line.starts_with("    ") || !line.ends_with(';') {
                continue;
            }
            let mut rest = lines.clone();
            rest.remove(index);
            let text = rest.join("\n");
            let name = format!("{name} without line {}", index + 1);
            if let Ok(parsed) = palisade_frontend::heap::parse(Source::new(&name, text)) {
                all.push((name, parsed.program));
            }
        }
    }
    all
}

/// A search that takes every step apart and keeps threads apart finds something exactly
/// if the search that does not finds something; on right and on wrong programs.
#[test]
fn reductions_find_what_there_is() {
    let all = std::env::var_os("PALISADE_SOAK").is_some();
    let mutants = mutants();
    let stride = if all { 1 } else { 9 };
    let (mut wrong, mut right) = (0, 0);
    for (name, program) in mutants.iter().step_by(stride) {
        let reclaim = [Reclaim::Never, Reclaim::Recycle][wrong % 2];
        let with = |reduce: bool| {
            let options = Options {
                threads: 2,
                calls: 2,
                nodes: 4,
                reclaim,
                reduce,
                max_states: 30_000,
                ..Options::default()
            };
            explore(program, &options)
        };
        let (Ok(full), Ok(reduced)) = (with(false), with(true)) else {
            continue;
        };
        if full.bounds.contains(&palisade_linearize::Bound::States) {
            continue;
        }
        let violated = |search: &Search| matches!(search.found, Found::Wrong(_));
        assert_eq!(
            violated(&full),
            violated(&reduced),
            "{name}: {} {}",
            words(&full),
            words(&reduced)
        );
        *(if violated(&full) {
            &mut wrong
        } else {
            &mut right
        }) += 1;
    }
    assert!(wrong >= 5 && right >= 5, "{wrong} wrong, {right} right");
}

/// A run is run again also where garbage leads to a node that only one thread knows.
#[test]
fn garbage_does_not_get_in_the_way_of_a_replay() {
    let program = parsed(
        "garbage",
        "spec none; struct node { node next; int k; } shared int c; never c == 2;
        method m() {
            node a = new node; node b = new node;
            int t, u, k;
            b.next = a;
            t = c; a.k = t; u = c; k = a.k;
            if (u == k) c = u + 1;
        }",
    );
    let found = search(&program, 2, 2, Reclaim::Never).found;
    assert!(matches!(found, Found::Wrong(witness) if witness.what == Wrong::Never(0)));
}

/// A result that does not fit 64 bits is a bound, not a wrong result.
#[test]
fn a_result_beyond_the_range_of_numbers_is_no_violation() {
    let program = parsed(
        "large",
        "spec { operation next() returns int { return 0; } }
        shared int c = 9223372036854775807;
        method next() returns int { int t; t = c; return t + 1; }",
    );
    let search = search(&program, 1, 1, Reclaim::Never);
    assert!(matches!(search.found, Found::Nothing), "{:?}", search.found);
    assert!(!search.bounds.is_empty());
}

/// What `init` leaves locked nobody can give back.
#[test]
fn a_lock_that_init_keeps_is_no_thread_s() {
    let program = parsed(
        "kept",
        "spec none; shared lock l; init { lock(l); } method m() { unlock(l); }",
    );
    let found = search(&program, 2, 2, Reclaim::Never).found;
    assert!(matches!(found, Found::Wrong(_)), "{found:?}");
}
