//! OpenMP: programs with their verdicts, and random ones whose final values are those of an interpreter
//! written from the standard's words. It knows threads that step in any order, a barrier at which all step together, a
//! pool of tasks; nothing of flags, claims or outlined functions.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

fn has_compiler() -> bool {
    Command::new("cc").arg("--version").output().is_ok()
}

fn palisade(folder: &TempDir, words: &[&str], text: &str) -> Output {
    let file = folder.path().join("t.c");
    fs::write(&file, text).expect("written");
    Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(words)
        .arg(&file)
        .output()
        .expect("palisade runs")
}

/// A program whose parallel region is `body`, with ints `x`, `y` around it and what holds at the end.
fn region(clauses: &str, body: &str, end: &str) -> String {
    format!(
        "#include <assert.h>\n#include <omp.h>\nint g;\nint main(void) {{\nint x = 0, y = 0;\n\
         #pragma omp parallel num_threads(2) {clauses}\n{{\n{body}\n}}\nassert({end});\nreturn 0;\n}}\n"
    )
}

/// Exit codes of `verify` and of `verify --check races`.
fn check(folder: &TempDir, text: &str, codes: [i32; 2]) {
    for (words, code) in [
        (&["verify"][..], codes[0]),
        (&["verify", "--check", "races"][..], codes[1]),
    ] {
        let output = palisade(folder, words, text);
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{words:?}: {text}{said}{errors}"
        );
    }
}

#[test]
fn constructs_have_their_meaning() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let rows: &[(&str, &str, &str, [i32; 2])] = &[
        ("", "#pragma omp critical\nx++;", "x == 2", [0, 0]),
        ("", "x++;", "x == 2", [1, 1]),
        (
            "",
            "#pragma omp critical(a)\nx++;\n#pragma omp critical(b)\ny++;",
            "x + y == 4",
            [0, 0],
        ),
        ("", "#pragma omp atomic\nx += 2;", "x == 4", [0, 0]),
        ("", "#pragma omp master\nx++;", "x == 1", [0, 0]),
        (
            "",
            "#pragma omp single\nx++;\nint v = x;\nassert(v == 1);",
            "x == 1",
            [0, 0],
        ),
        (
            "",
            "#pragma omp single nowait\nx++;\nint v = x;\nassert(v == 1);",
            "x == 1",
            [1, 1],
        ),
        (
            "",
            "#pragma omp master\nx++;\n#pragma omp barrier\nint v = x;\nassert(v == 1);",
            "1",
            [0, 0],
        ),
        (
            "",
            "#pragma omp master\nx++;\nint v = x;\n(void) v;",
            "x == 1",
            [0, 1],
        ),
        ("private(x)", "x = omp_get_thread_num();", "x == 0", [0, 0]),
        ("firstprivate(x)", "x++;\nassert(x == 1);", "x == 0", [0, 0]),
        ("reduction(+:x)", "x += 2;", "x == 4", [0, 0]),
        (
            "",
            "#pragma omp sections\n{\n#pragma omp section\nx++;\n#pragma omp section\ny++;\n}",
            "x + y == 2",
            [0, 0],
        ),
        (
            "",
            "#pragma omp sections\n{\n#pragma omp section\nx++;\n#pragma omp section\nx++;\n}",
            "x == 2",
            [1, 1],
        ),
        (
            "",
            "#pragma omp for\nfor (int i = 0; i < 3; i++) {\n#pragma omp atomic\nx += i;\n}",
            "x == 3",
            [0, 0],
        ),
        (
            "",
            "#pragma omp for schedule(static, 1)\nfor (int i = 0; i < 2; i++)\nassert(i == omp_get_thread_num());",
            "1",
            [0, 0],
        ),
        (
            "",
            "#pragma omp for schedule(static)\nfor (int i = 0; i < 4; i++)\nassert(i / 2 == omp_get_thread_num());",
            "1",
            [0, 0],
        ),
        (
            "",
            "#pragma omp for schedule(dynamic)\nfor (int i = 0; i < 2; i++)\nassert(i == omp_get_thread_num());",
            "1",
            [1, 1],
        ),
        (
            "",
            "#pragma omp for ordered schedule(dynamic)\nfor (int i = 0; i < 3; i++) {\n#pragma omp ordered\nx = 10 * x + i;\n}",
            "x == 12",
            [0, 0],
        ),
        (
            "",
            "#pragma omp for reduction(*:g)\nfor (int i = 1; i <= 3; i++)\ng *= i;",
            "g == 0",
            [0, 0],
        ),
        (
            "",
            "#pragma omp single\n{\n#pragma omp task\nx = 1;\n#pragma omp taskwait\nassert(x == 1);\n}",
            "1",
            [0, 0],
        ),
        (
            "",
            "#pragma omp single\n{\n#pragma omp task\nx = 1;\nassert(x == 0);\n}",
            "x == 1",
            [1, 1],
        ),
        (
            "",
            "#pragma omp single\n{\nint k = 1;\n#pragma omp task\nx = k;\nk = 2;\n}",
            "x == 1",
            [0, 0],
        ),
        (
            "",
            "#pragma omp single\n{\nint k = 1;\n#pragma omp task shared(k)\nx = k;\nk = 2;\n#pragma omp taskwait\n}",
            "x == 1",
            [1, 1],
        ),
        (
            "",
            "#pragma omp single\n{\n#pragma omp task\nx = 1 + (omp_get_thread_num() == omp_get_thread_num());\n}",
            "x == 2",
            [0, 0],
        ),
        (
            "",
            "if (omp_get_thread_num() == 1) x = omp_get_num_threads();",
            "x == 2",
            [0, 0],
        ),
    ];
    for (clauses, body, end, codes) in rows {
        check(&folder, &region(clauses, body, end), *codes);
    }
}

/// No more tasks run at once than the team has threads, and their creator runs none while it does its
/// own work; whoever waits for its tasks may run them itself.
#[test]
fn tasks_run_in_threads_of_the_team() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let work = "int in;\nvoid work(int most) {\nint n;\n#pragma omp atomic capture\nn = ++in;\nassert(n <= most);\n\
                #pragma omp atomic\nin--;\n}\n";
    let tasks = |size: u32, most: u32, count: usize, own: &str| {
        let task = format!("#pragma omp task\nwork({most});\n");
        format!(
            "#include <assert.h>\n#include <omp.h>\nint ready;\n{work}int main(void) {{\n\
             #pragma omp parallel num_threads({size})\n#pragma omp single\n{{\n{}{own}\n}}\n}}\n",
            task.repeat(count)
        )
    };
    let explored = |text: &str, code: i32| {
        let output = palisade(&folder, &["explore"], text);
        assert_eq!(output.status.code(), Some(code), "{text}");
    };
    explored(&tasks(2, 2, 3, ""), 0);
    explored(&tasks(2, 1, 2, ""), 1);
    explored(&tasks(3, 2, 3, ""), 1);
    explored(&tasks(2, 2, 2, "work(2);"), 0);
    explored(&tasks(2, 1, 1, "work(1);"), 1);
    // The other thread may be busy for ever: the creator runs its task itself.
    let busy =
        "#pragma omp task\nwhile (!ready);\n#pragma omp task\nready = 1;\n#pragma omp taskwait";
    let text = tasks(2, 1, 0, busy);
    let output = palisade(&folder, &["explore", "--check", "deadlock"], &text);
    assert_eq!(output.status.code(), Some(0), "{text}");
    // Two tasks in one thread have its number, one after the other.
    let numbers = "int a = 0, b = 0;\n#pragma omp task shared(a)\na = 1 + omp_get_thread_num();\n\
                   #pragma omp task shared(b)\nb = 1 + omp_get_thread_num();\n#pragma omp taskwait\n\
                   assert(1 <= a && a <= 2 && 1 <= b && b <= 2);";
    explored(&tasks(2, 1, 0, numbers), 0);
    let differ = numbers.replace("assert(", "assert(a == b && ");
    explored(&tasks(2, 1, 0, &differ), 1);
    // A task that does not return to its creator's thread number would show here.
    let nested = "#pragma omp task\n{\nint me = omp_get_thread_num(), child = -1;\n#pragma omp task shared(child)\n\
                  child = omp_get_thread_num();\n#pragma omp taskwait\nassert(me == omp_get_thread_num());\n\
                  assert(child == 0 || child == 1);\n}";
    explored(&tasks(2, 1, 0, nested), 0);
}

#[test]
fn what_is_not_followed_is_refused_in_its_place() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let rows = [
        ("#pragma omp parallel\nx++;", "a team of any size"),
        (
            "#pragma omp parallel for num_threads(2) collapse(2)\nfor (int i = 0; i < 2; i++) x++;",
            "collapse",
        ),
        ("#pragma omp target\nx++;", "target"),
        (
            "#pragma omp parallel num_threads(2)\n{\n#pragma omp task untied\nx++;\n}",
            "untied",
        ),
        ("#pragma omp simd\nfor (int i = 0; i < 2; i++) x++;", "simd"),
        (
            "while (x) {\n#pragma omp parallel num_threads(2)\nx++;\n}",
            "loop of unknown length",
        ),
        (
            "#pragma omp parallel num_threads(2)\n{\n#pragma omp parallel num_threads(2)\nx++;\n}",
            "in another",
        ),
        ("#pragma omp parallel num_threads(x)\nx++;", "unknown size"),
        ("#pragma omp parallel num_threads(2)\nreturn 0;", "jump"),
    ];
    for (body, what) in rows {
        let text = format!("int x;\nint main(void) {{\n{body}\nreturn 0;\n}}\n");
        let output = palisade(&folder, &["verify"], &text);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}{errors}");
        assert!(
            errors.contains(what) && errors.contains("t.c:"),
            "{text}{errors}"
        );
    }
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// `g[to] = 3 * g[from] + add`, not at once.
#[derive(Clone, Copy, Debug)]
struct Update {
    from: usize,
    to: usize,
    add: i64,
}

#[derive(Clone, Debug)]
enum Work {
    Plain(Update),
    Critical(Update),
    Atomic(usize, i64),
    Barrier,
    Master(Update),
    Single(Update, bool),
    Sections(Vec<Update>, bool),
    /// The schedule, and whether the body is ordered.
    Loop(&'static str, bool, Update),
    /// Tasks that the master makes, and whether it waits for them before its own update.
    Tasks(Vec<Update>, bool, Update),
}

const NAMES: [&str; 2] = ["x", "y"];

fn update(random: &mut Random) -> Update {
    Update {
        from: random.below(2),
        to: random.below(2),
        add: 1 + random.below(3) as i64,
    }
}

fn work(random: &mut Random) -> Work {
    let (u, nowait) = (update(random), random.below(2) == 0);
    match random.below(9) {
        0 => Work::Plain(u),
        1 => Work::Critical(u),
        2 => Work::Atomic(u.to, u.add),
        3 => Work::Barrier,
        4 => Work::Master(u),
        5 => Work::Single(u, nowait),
        6 => Work::Sections(vec![u, update(random)], nowait),
        7 => {
            let schedules = [
                "",
                "schedule(static, 1)",
                "schedule(static)",
                "schedule(dynamic)",
            ];
            Work::Loop(schedules[random.below(4)], random.below(2) == 0, u)
        }
        _ => {
            let count = 1 + random.below(3);
            let tasks = (0..count).map(|_| update(random)).collect();
            Work::Tasks(tasks, nowait, u)
        }
    }
}

fn line(u: Update) -> String {
    format!("{} = 3 * {} + {};\n", NAMES[u.to], NAMES[u.from], u.add)
}

fn text(all: &[Work]) -> String {
    let mut text = String::new();
    for work in all {
        let nowait = |n: bool| if n { " nowait" } else { "" };
        let _ = match work {
            Work::Plain(u) => write!(text, "{}", line(*u)),
            Work::Critical(u) => write!(text, "#pragma omp critical\n{}", line(*u)),
            Work::Atomic(g, add) => write!(text, "#pragma omp atomic\n{} += {add};\n", NAMES[*g]),
            Work::Barrier => writeln!(text, "#pragma omp barrier"),
            Work::Master(u) => write!(text, "#pragma omp master\n{}", line(*u)),
            Work::Single(u, n) => write!(text, "#pragma omp single{}\n{}", nowait(*n), line(*u)),
            Work::Sections(all, n) => {
                let _ = writeln!(text, "#pragma omp sections{}\n{{", nowait(*n));
                for u in all {
                    let _ = write!(text, "#pragma omp section\n{}", line(*u));
                }
                writeln!(text, "}}")
            }
            Work::Loop(schedule, ordered, u) => {
                let (clause, inner) = if *ordered {
                    ("ordered", "#pragma omp ordered\n")
                } else {
                    ("", "")
                };
                let (to, from) = (NAMES[u.to], NAMES[u.from]);
                let body = format!("{to} = 3 * {from} + {} + i;", u.add);
                writeln!(
                    text,
                    "#pragma omp for {schedule} {clause}\nfor (int i = 0; i < 2; i++) {{\n{inner}{body}\n}}"
                )
            }
            Work::Tasks(tasks, waits, u) => {
                let _ = writeln!(text, "#pragma omp master\n{{");
                for t in tasks {
                    let _ = write!(text, "#pragma omp task\n{}", line(*t));
                }
                if *waits {
                    let _ = writeln!(text, "#pragma omp taskwait");
                }
                writeln!(text, "{}}}\n#pragma omp barrier", line(*u))
            }
        };
    }
    format!(
        "int x, y;\nint main(void) {{\n#pragma omp parallel num_threads(2)\n{{\n{text}}}\nreturn 0;\n}}\n"
    )
}

/// A step of a thread; jumps are to numbers of steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Micro {
    Load(usize),
    Store(usize, i64),
    Add(usize, i64),
    Lock,
    Unlock,
    Barrier,
    /// Goes on if nobody has taken the work with this number, else jumps.
    Take(usize, usize),
    /// The same for an iteration that anybody may be given.
    Draw(usize, usize),
    /// Waits until that work is done.
    After(usize),
    Done(usize),
    Spawn(usize),
    /// The thread may run a task here.
    Point,
    Wait,
}

fn steps(u: Update, add: i64) -> [Micro; 2] {
    [Micro::Load(u.from), Micro::Store(u.to, u.add + add)]
}

/// The steps of a thread, and the updates of tasks.
fn code(all: &[Work], me: usize, tasks: &mut Vec<Update>) -> Vec<Micro> {
    let mut code = Vec::new();
    let mut number = 0;
    for work in all {
        let mut taken = |code: &mut Vec<Micro>, inner: &[Micro], draws: bool| {
            let end = code.len() + 1 + inner.len();
            let take = if draws { Micro::Draw } else { Micro::Take };
            code.push(take(number, end));
            code.extend(inner);
            number += 1;
        };
        match work {
            Work::Plain(u) => code.extend(steps(*u, 0)),
            Work::Critical(u) => {
                code.push(Micro::Lock);
                code.extend(steps(*u, 0));
                code.push(Micro::Unlock);
            }
            Work::Atomic(g, add) => code.push(Micro::Add(*g, *add)),
            Work::Barrier => code.push(Micro::Barrier),
            Work::Master(u) if me == 0 => code.extend(steps(*u, 0)),
            Work::Master(_) => {}
            Work::Single(u, nowait) => {
                taken(&mut code, &steps(*u, 0), false);
                code.extend((!nowait).then_some(Micro::Barrier));
            }
            Work::Sections(all, nowait) => {
                for u in all {
                    taken(&mut code, &steps(*u, 0), false);
                }
                code.extend((!nowait).then_some(Micro::Barrier));
            }
            Work::Loop(schedule, ordered, u) => {
                let first = number;
                for i in 0..2 {
                    let mut inner = Vec::new();
                    // Two iterations: both ways of `static` give one to each thread.
                    if *ordered && i == 1 {
                        inner.push(Micro::After(first));
                    }
                    inner.extend(steps(*u, i as i64));
                    inner.push(Micro::Done(first + i));
                    if schedule.contains("static") {
                        if i == me {
                            code.extend(inner);
                        }
                        number += 1;
                    } else {
                        let end = code.len() + 1 + inner.len();
                        code.push(if schedule.is_empty() {
                            Micro::Draw(number, end)
                        } else {
                            Micro::Take(number, end)
                        });
                        code.extend(inner);
                        number += 1;
                    }
                }
                code.push(Micro::Barrier);
            }
            Work::Tasks(all, waits, u) => {
                if me == 0 {
                    for t in all {
                        code.extend([Micro::Spawn(tasks.len()), Micro::Point]);
                        tasks.push(*t);
                    }
                    code.extend(waits.then_some(Micro::Wait));
                    code.extend(steps(*u, 0));
                }
                code.push(Micro::Barrier);
            }
        }
    }
    code
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    memory: [i64; 2],
    at: [usize; 2],
    register: [i64; 2],
    locked: bool,
    /// Who has each work: none, or a thread and one.
    owner: Vec<usize>,
    done: Vec<bool>,
    /// Tasks that nobody runs yet.
    waiting: Vec<usize>,
    /// The task that each thread runs, and the value that it has loaded.
    runs: [Option<(usize, Option<i64>)>; 2],
    /// Who may leave the barrier that it stands at; until it does, it may still run tasks.
    released: [bool; 2],
}

/// Final values of all runs.
fn finals(all: &[Work]) -> BTreeSet<[i64; 2]> {
    let mut tasks = Vec::new();
    let codes = [code(all, 0, &mut tasks), code(all, 1, &mut Vec::new())];
    let start = State {
        memory: [0, 0],
        at: [0, 0],
        register: [0, 0],
        locked: false,
        owner: vec![0; 32],
        done: vec![false; 32],
        waiting: Vec::new(),
        runs: [None, None],
        released: [false, false],
    };
    let (mut seen, mut stack) = (HashSet::new(), vec![start]);
    let mut found = BTreeSet::new();
    while let Some(state) = stack.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let next = |t: usize| codes[t].get(state.at[t]).copied();
        let is_done = state.waiting.is_empty() && state.runs == [None, None];
        if (next(0), next(1)) == (None, None) && is_done {
            found.insert(state.memory);
        }
        let arrived = (next(0), next(1)) == (Some(Micro::Barrier), Some(Micro::Barrier));
        if arrived && is_done && state.released == [false, false] {
            let mut after = state.clone();
            after.released = [true, true];
            stack.push(after);
        }
        for me in 0..2 {
            if let Some((task, loaded)) = state.runs[me] {
                let (mut after, u) = (state.clone(), tasks[task]);
                if let Some(value) = loaded {
                    after.memory[u.to] = 3 * value + u.add;
                    after.runs[me] = None;
                } else {
                    after.runs[me] = Some((task, Some(state.memory[u.from])));
                }
                stack.push(after);
                continue;
            }
            if let None | Some(Micro::Barrier | Micro::Wait | Micro::Point) = next(me) {
                for k in 0..state.waiting.len() {
                    let mut after = state.clone();
                    after.runs[me] = Some((after.waiting.remove(k), None));
                    stack.push(after);
                }
            }
            let Some(step) = next(me) else { continue };
            let mut after = state.clone();
            after.at[me] += 1;
            match step {
                Micro::Load(g) => after.register[me] = state.memory[g],
                Micro::Store(g, add) => {
                    after.memory[g] = 3 * state.register[me] + add;
                    after.register[me] = 0;
                }
                Micro::Add(g, by) => after.memory[g] += by,
                Micro::Lock if state.locked => continue,
                Micro::Lock => after.locked = true,
                Micro::Unlock => after.locked = false,
                Micro::Barrier if !state.released[me] => continue,
                Micro::Barrier => after.released[me] = false,
                Micro::Take(k, end) => {
                    if state.owner[k] == 0 {
                        after.owner[k] = me + 1;
                    } else {
                        after.at[me] = end;
                    }
                }
                Micro::Draw(k, end) => {
                    for to in 0..2 {
                        if state.owner[k] == 0 || state.owner[k] == to + 1 {
                            let mut chosen = after.clone();
                            chosen.owner[k] = to + 1;
                            if to != me {
                                chosen.at[me] = end;
                            }
                            stack.push(chosen);
                        }
                    }
                    continue;
                }
                Micro::After(k) if !state.done[k] => continue,
                Micro::After(_) => {}
                Micro::Done(k) => after.done[k] = true,
                Micro::Spawn(k) => after.waiting.push(k),
                Micro::Wait if !is_done => continue,
                Micro::Wait | Micro::Point => {}
            }
            stack.push(after);
        }
    }
    found
}

/// The final values of `x` and `y` in the answer of `explore --final --json`.
fn values(json: &str) -> BTreeSet<[i64; 2]> {
    let number = |part: &str, name: &str| -> i64 {
        let key = format!("\"{name}\": ");
        let rest = part.split(&key).nth(1).unwrap_or_default();
        let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit());
        rest[..end.unwrap_or(0)].parse().expect("a number")
    };
    let finals = json.split("\"finals\": [").nth(1).unwrap_or_default();
    let finals = finals.split(']').next().unwrap_or_default();
    let objects = finals.split('{').skip(1);
    objects.map(|o| [number(o, "x"), number(o, "y")]).collect()
}

#[test]
fn final_values_are_those_of_an_interpreter() {
    if !has_compiler() {
        return;
    }
    let wanted = std::env::var("PALISADE_SOAK")
        .ok()
        .and_then(|n| n.parse().ok());
    let count: u64 = wanted.unwrap_or(40);
    let folder = tempfile::tempdir().expect("a folder");
    let mut several = 0;
    for seed in 0..count {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
        let all: Vec<Work> = (0..=random.below(4)).map(|_| work(&mut random)).collect();
        let text = text(&all);
        let output = palisade(&folder, &["explore", "--final", "--json"], &text);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "seed {seed}: {text}{errors}");
        let found = values(&String::from_utf8_lossy(&output.stdout));
        let expected = finals(&all);
        assert_eq!(found, expected, "seed {seed}: {text}");
        several += u64::from(expected.len() > 1);
    }
    assert!(
        several * 3 > count,
        "{several} programs with several outcomes"
    );
}
