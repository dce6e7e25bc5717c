//! RC11: the certificate checker against the exact machine on random programs. What the machine
//! can reach no certificate may exclude, however little of histories is kept; what it cannot reach
//! is excluded where everything is kept.

use palisade_arbitrary::ordered::{Op, body, ordered, program_text, text};
use palisade_arbitrary::orderly::{copied, orderly};
use palisade_certify::{Certificate, Fingerprint, Kind, Reason, Summary, check};
use palisade_frontend::pal;
use palisade_machine::{Options, explore};
use palisade_program::random::Rng;
use palisade_program::{Model, Orders, Program, Source, Verdict};

fn soak(few: u64) -> u64 {
    let count = std::env::var("PALISADE_SOAK").ok();
    count.and_then(|c| c.parse().ok()).unwrap_or(few)
}

fn read(text: &str) -> Program {
    match pal::parse_ordered(Source::new("test.pal", text), Orders::Kept) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics:?}\n{text}"),
    }
}

/// Whether a certificate is accepted, all runs or prompt ones; both agree where everything is kept.
fn accepted(program: &Program, kept: (u32, bool, u32)) -> bool {
    let all = accepted_as(program, summary(kept));
    let prompt = accepted_as(
        program,
        Summary {
            prompt: true,
            ..summary(kept)
        },
    );
    assert!(kept.0 < 64 || all == prompt, "{}", program.source.text());
    all || prompt
}

const fn summary((messages, carried, events): (u32, bool, u32)) -> Summary {
    Summary {
        messages,
        carried,
        events,
        shifted: false,
        prompt: false,
        many: false,
    }
}

fn accepted_as(program: &Program, summary: Summary) -> bool {
    let kind = Kind::Histories(summary);
    let fingerprint = Fingerprint::of(program, Model::Rc11, 2);
    let certificate = Certificate::empty(fingerprint, kind, Model::Rc11, 2);
    let most = if summary.prompt && summary.shifted {
        4_000
    } else {
        usize::MAX
    };
    let options = palisade_certify::Options {
        states: most,
        ..palisade_certify::Options::default()
    };
    match check(program, &certificate, &options) {
        Ok(_) => true,
        Err(refusal) => {
            let wanting = matches!(
                refusal.reason,
                Reason::Assertion | Reason::Race | Reason::Property(_)
            );
            // What is computed with counters far behind is not followed.
            let far = summary.prompt && summary.shifted;
            assert!(wanting || far, "{refusal}");
            false
        }
    }
}

const SUMMARIES: [(u32, bool, u32); 6] = [
    (1, false, 1),
    (2, false, 1),
    (1, true, 2),
    (2, true, 2),
    (3, true, 3),
    (64, true, 64),
];

/// All loads read these values and the locations end with those: as a condition.
fn outcome(threads: &[Vec<Op>], read: &[i64], last: &[i64]) -> String {
    let loads = threads.iter().enumerate().flat_map(|(t, ops)| {
        let own = ops.iter().enumerate().filter(|(_, op)| op.reads());
        own.map(move |(i, _)| format!("t{t}.r{i}"))
    });
    let reads = loads.zip(read).map(|(r, v)| format!("{r} == {v}"));
    let cells = ["x", "y", "z"].iter().zip(last);
    let ends = cells.map(|(cell, v)| format!("{cell} == {v}"));
    reads.chain(ends).collect::<Vec<_>>().join(" && ")
}

#[test]
fn the_checker_has_the_outcomes_of_the_machine() {
    let mut rng = Rng::new(21);
    let (mut reached, mut excluded) = (0, 0);
    for number in 0..soak(100) {
        let (threads, cells) = ordered(&mut rng, number % 3 == 2);
        let plain = text(&threads, cells);
        let program = read(&plain);
        let options = Options {
            buffer: None,
            collect_finals: true,
            workers: 1,
            shortest: false,
            partial_order: false,
            ..Options::new(Model::Rc11)
        };
        let found = explore(&program, &options).expect("it has a meaning");
        if let Verdict::Violated(_) = found.verdict {
            // A race.
            let all = SUMMARIES.iter().any(|s| accepted(&program, *s));
            assert!(!all, "program {number}:\n{plain}");
            continue;
        }
        let users = |t: usize, locals: &[i64]| {
            let own = program.templates[t].locals.iter().zip(locals);
            let own = own.filter(|(l, _)| l.origin == palisade_program::Origin::User);
            own.map(|(_, v)| *v).collect::<Vec<_>>()
        };
        let outcomes: Vec<(Vec<i64>, Vec<i64>)> = found
            .finals
            .iter()
            .map(|f| {
                let locals = f.locals.iter().enumerate();
                let read = locals.flat_map(|(t, l)| users(t, l)).collect();
                (read, f.cells.clone())
            })
            .collect();
        let Some((read_values, last)) = outcomes.get(rng.below(outcomes.len())) else {
            continue;
        };
        // One that is reached, and one that may not be.
        let mut other = read_values.clone();
        let place = rng.below(other.len().max(1));
        if let Some(value) = other.get_mut(place) {
            *value = rng.between(0, 8);
        }
        for values in [read_values, &other] {
            let is_reached = outcomes.iter().any(|(r, l)| (r, l) == (values, last));
            let cond = outcome(&threads, values, last);
            let text = format!("{plain}finally (!({cond}));\n");
            let program = read(&text);
            for summary in SUMMARIES {
                let accepted = accepted(&program, summary);
                let what = format!("program {number}, {summary:?}:\n{text}");
                assert!(!(accepted && is_reached), "{what}");
                assert!(accepted || is_reached || summary.0 < 64, "{what}");
            }
            reached += u64::from(is_reached);
            excluded += u64::from(!is_reached);
        }
    }
    assert!(reached > 0 && excluded > 0);
}

#[test]
fn endless_programs_that_fail_have_no_certificate() {
    let mut rng = Rng::new(22);
    let (mut failing, mut proved) = (0, 0);
    for number in 0..soak(40) {
        let (mut threads, cells) = ordered(&mut rng, false);
        threads.truncate(2);
        for ops in &mut threads {
            ops.truncate(3);
        }
        let load = |ops: &Vec<Op>| ops.iter().rposition(|op| op.reads());
        let found = threads.iter().enumerate();
        let Some((t, i)) = found.into_iter().find_map(|(t, ops)| Some((t, load(ops)?))) else {
            continue;
        };
        let value = rng.between(1, 8);
        let bodies = threads.iter().enumerate().map(|(number, ops)| {
            let check = format!("assert(r{i} != {value}); r{i} = 0;\n");
            let check = if number == t { check } else { String::new() };
            format!("while (true) {{\n{}{check}}}\n", body(ops))
        });
        let text = program_text(bodies, cells);
        let program = read(&text);
        let options = Options {
            buffer: Some(3),
            max_states: Some(2000),
            workers: 1,
            shortest: false,
            partial_order: false,
            ..Options::new(Model::Rc11)
        };
        let exact = explore(&program, &options).expect("it has a meaning");
        let fails = matches!(exact.verdict, Verdict::Violated(_));
        for summary in &SUMMARIES[..4] {
            let accepted = accepted(&program, *summary);
            assert!(
                !(accepted && fails),
                "program {number}, {summary:?}:\n{text}"
            );
            proved += u64::from(accepted);
        }
        failing += u64::from(fails);
    }
    assert!(failing > 0 && proved > 0, "{failing} {proved}");
}

/// A thread of operations on the counters `x` and `y`; `k` numbers its locals.
fn counting(rng: &mut Rng) -> String {
    let mut text = String::from("local a = 0;\nlocal b = 0;\n");
    for _ in 0..2 + rng.below(3) {
        let cell = *rng.pick(&["x", "y"]);
        let order = *rng.pick(&["relaxed", "acq_rel", "seq_cst"]);
        let plain = *rng.pick(&["relaxed", "seq_cst"]);
        let by = rng.below(3);
        let line = match rng.below(6) {
            0 | 1 => format!("a = fetch_add({cell}, {by}, {order});\n"),
            2 => format!("store({cell}, a + {by}, {plain});\n"),
            3 => format!("b = load({cell}, {plain});\n"),
            4 => format!("if (b - a > {by}) {{ b = a + 1; }}\n"),
            _ => format!("if ((a + {by}) % 3 == 1) {{ a = b; }}\n"),
        };
        text += &line;
    }
    text + &format!("assert(b - a != {});\n", rng.below(6) as i64 - 2)
}

#[test]
fn shifted_counters_are_those_of_the_machine() {
    let mut rng = Rng::new(5);
    let (mut right, mut wrong, mut larger, mut prompts) = (0, 0, 0, 0);
    for number in 0..soak(150) {
        let bodies = [counting(&mut rng), counting(&mut rng)];
        let text = program_text(bodies.into_iter(), 2);
        let program = read(&text);
        let groups = palisade_program::shift::Groups::infer(&program).0;
        larger += usize::from(
            groups
                .iter()
                .any(|g| g.modulus == 3 && g.globals.len() == 2),
        );
        let options = palisade_machine::Options {
            buffer: None,
            shortest: false,
            workers: 1,
            partial_order: false,
            ..palisade_machine::Options::new(Model::Rc11)
        };
        let exact = palisade_machine::explore(&program, &options).expect("it has a meaning");
        let holds = exact.verdict == palisade_program::Verdict::Holds;
        let shifted = Summary {
            shifted: true,
            ..summary((64, false, 64))
        };
        let proved = accepted_as(&program, shifted);
        assert_eq!(proved, holds, "program {number}:\n{text}");
        let prompt = Summary {
            prompt: true,
            ..shifted
        };
        let promptly = accepted_as(&program, prompt);
        assert!(holds || !promptly, "program {number}:\n{text}");
        prompts += usize::from(promptly);
        right += usize::from(holds);
        wrong += usize::from(!holds);
    }
    assert!(
        right > 10 && wrong > 10 && larger > 10 && prompts > 10,
        "{right} {wrong} {larger} {prompts}"
    );
}

/// A thread that counts without end: it publishes its number in `x`, between writes of others to `y` and `z`.
fn publishing(rng: &mut Rng) -> String {
    let order = |rng: &mut Rng| *rng.pick(&["relaxed", "release", "release"]);
    let mut text = String::from("local n = 0;\nwhile (true) {\n");
    let mut steps = Vec::new();
    for cell in ["y", "z"] {
        let value = *rng.pick(&["n + 2", "n + 2", "n", "n + 1"]);
        steps.push(format!("store({cell}, {value}, {});\n", order(rng)));
    }
    if rng.below(3) > 0 {
        let at = rng.below(2);
        steps.insert(at, format!("store(x, n + 1, {});\n", order(rng)));
    }
    if rng.below(3) > 0 {
        let at = rng.below(steps.len());
        steps.insert(at, "fence(release);\n".to_owned());
    }
    text += &steps.concat();
    text + &format!("n = n + 2;\nstore(x, n, {});\n}}\n", order(rng))
}

/// One that reads them, and compares.
fn comparing(rng: &mut Rng) -> String {
    let cells = if rng.below(2) == 0 {
        ["y", "z"]
    } else {
        ["z", "y"]
    };
    let orders = [0; 4].map(|_| *rng.pick(&["relaxed", "acquire", "acquire"]));
    let load =
        |local: &str, cell: &str, i: usize| format!("{local} = load({cell}, {});\n", orders[i]);
    let checks = [
        "a != d || b == c",
        "a == d || a < d",
        "a <= b",
        "b <= c",
        "a != d || c != b + 2",
        "b != d || c <= b",
        "a != d || b <= a",
        "c == d || c < d || a < c",
    ];
    let steps = [
        "local a = 0; local b = 0; local c = 0; local d = 0;\nwhile (true) {\n".to_owned(),
        load("a", "x", 0),
        "if (a % 2 == 0) {\n".to_owned(),
        load("b", cells[0], 1),
        load("c", cells[1], 2),
        (*rng.pick(&["fence(acquire);\n", ""])).to_owned(),
        load("d", "x", 3),
        format!("assert({});\n}}\n}}\n", rng.pick(&checks)),
    ];
    steps.concat()
}

#[test]
fn counters_far_behind_are_those_of_the_machine() {
    let mut rng = Rng::new(31);
    let (mut failing, mut proved) = (0, 0);
    for number in 0..soak(12) {
        let bodies = [publishing(&mut rng), comparing(&mut rng)];
        let text = program_text(bodies.into_iter(), 3);
        let program = read(&text);
        // Enough for the writer to get a few rounds ahead.
        let options = Options {
            buffer: Some(7),
            max_states: Some(8_000),
            workers: 1,
            shortest: false,
            partial_order: false,
            ..Options::new(Model::Rc11)
        };
        let exact = explore(&program, &options).expect("it has a meaning");
        let fails = matches!(exact.verdict, Verdict::Violated(_));
        for kept in [(1, false, 1), (1, true, 2), (3, true, 2)] {
            let prompt = Summary {
                shifted: true,
                prompt: true,
                ..summary(kept)
            };
            let accepted = accepted_as(&program, prompt);
            assert!(!(accepted && fails), "program {number}, {kept:?}:\n{text}");
            proved += u64::from(accepted);
        }
        failing += u64::from(fails);
    }
    println!("{failing} fail, {proved} proofs");
    assert!(failing > 0 && proved > 0, "{failing} {proved}");
}

/// A writer without end, all relaxed, and a reader that has seen `b` far ahead of `a`.
fn far_apart(rounds: &str, check: &str) -> Program {
    read(&format!(
        "shared x = 0;\nshared y = 0;\nshared z = 0;\n\
         thread writer {{\n local n = 0;\n while ({rounds}) {{\n n = n + 1;\n store(z, n, relaxed);\n \
         store(y, n, relaxed);\n store(x, n, relaxed);\n }}\n}}\n\
         thread reader {{\n local a = 0; local b = 0; local c = 0; local d = 0;\n a = load(x, relaxed);\n \
         b = load(y, relaxed);\n c = load(z, relaxed);\n d = load(x, relaxed);\n assert(b <= a + 5 || {check});\n}}\n"
    ))
}

#[test]
fn what_is_not_known_of_counters_far_behind_is_not_assumed() {
    // Each is violated when the writer is seven rounds ahead, and by no run in which it is close.
    for check in [
        "b <= c + 5 || c <= a || c != d",
        "c != a",
        "d != a",
        "c <= a || c >= b",
        "a >= b",
    ] {
        let options = Options {
            buffer: None,
            workers: 1,
            shortest: false,
            partial_order: false,
            ..Options::new(Model::Rc11)
        };
        let bounded = far_apart("n < 7", check);
        let exact = explore(&bounded, &options).expect("it has a meaning");
        assert!(matches!(exact.verdict, Verdict::Violated(_)), "{check}");
        let endless = far_apart("true", check);
        for kept in [(1, false, 1), (1, true, 2), (3, true, 2)] {
            let prompt = Summary {
                shifted: true,
                prompt: true,
                ..summary(kept)
            };
            assert!(!accepted_as(&endless, prompt), "{check}, {kept:?}");
        }
    }
}

/// Loads and fences of a thread that never writes, and what it asserts of two of its loads.
fn reader(rng: &mut Rng, cells: usize, values: &[i64]) -> String {
    use palisade_program::Order::{Acquire, Relaxed, SeqCst};
    let mut ops = Vec::new();
    for _ in 0..2 + rng.below(2) {
        if rng.below(5) == 0 {
            ops.push(Op::Fence(*rng.pick(&[Acquire, SeqCst])));
        }
        let order = *rng.pick(&[Relaxed, Acquire, SeqCst]);
        ops.push(Op::Load(rng.below(cells), order));
    }
    let loads: Vec<usize> = (0..ops.len()).filter(|&i| ops[i].reads()).collect();
    let (first, last) = (loads[0], loads[loads.len() - 1]);
    let (a, b) = (*rng.pick(values), *rng.pick(values));
    let assertion = format!("assert(!(r{first} == {a} && r{last} == {b}));\n");
    body(&ops) + &assertion
}

/// Of threads that never write all but one may be left out: the checker and the machine agree on programs with two of them.
#[test]
fn one_of_two_readers_is_enough() {
    let mut rng = Rng::new(77);
    let (mut right, mut wrong) = (0, 0);
    for number in 0..soak(20) {
        let (threads, cells) = ordered(&mut rng, false);
        // Few operations: all orders of them are searched.
        let few = threads.iter().take(2).map(|ops| &ops[..ops.len().min(2)]);
        let stored = few.clone().flatten().filter_map(|op| match op {
            Op::Store(_, value, _) | Op::Update(_, value, _) => Some(*value),
            Op::Load(..) | Op::Fence(_) => None,
        });
        let values: Vec<i64> = std::iter::once(0).chain(stored).collect();
        let readers = [(); 2].map(|()| reader(&mut rng, cells, &values));
        let writers = few.map(body);
        let text = program_text(writers.chain(readers), cells);
        let program = read(&text);
        let options = Options {
            buffer: None,
            workers: 1,
            shortest: false,
            ..Options::new(Model::Rc11)
        };
        let found = explore(&program, &options).expect("it has a meaning");
        let holds = matches!(found.verdict, Verdict::Holds);
        for summary in SUMMARIES {
            let accepted = accepted(&program, summary);
            assert!(holds || !accepted, "program {number}, {summary:?}:\n{text}");
            assert!(
                !holds || accepted || summary.0 < 64,
                "program {number}:\n{text}"
            );
        }
        right += usize::from(holds);
        wrong += usize::from(!holds);
    }
    assert!(right > 3 && wrong > 3, "{right} {wrong}");
}

/// What a search found: the kind of violation, or whether it was complete.
fn found(program: &Program, partial_order: bool, buffer: Option<usize>) -> Verdict {
    let options = Options {
        buffer,
        max_states: Some(8_000),
        workers: 1,
        shortest: false,
        partial_order,
        ..Options::new(Model::Rc11)
    };
    explore(program, &options)
        .expect("it has a meaning")
        .verdict
}

/// Prompt runs are enough: the machine with and without its reduction, and the checker with its own account, agree on
/// programs with conditions, loops, locks and updates.
#[test]
fn prompt_runs_are_enough() {
    let first = std::env::var("PALISADE_FIRST").ok();
    let mut rng = Rng::new(first.and_then(|f| f.parse().ok()).unwrap_or(501));
    let (mut right, mut wrong, mut undecided) = (0, 0, 0);
    for number in 0..soak(100) {
        let text = orderly(&mut rng, number % 3 == 0, number % 5 == 0);
        let program = read(&text);
        let all = found(&program, false, Some(5));
        let reduced = found(&program, true, Some(5));
        let prompt = Summary {
            prompt: true,
            ..summary((64, true, 64))
        };
        let kind = Kind::Histories(prompt);
        let fingerprint = Fingerprint::of(&program, Model::Rc11, 2);
        let certificate = Certificate::empty(fingerprint, kind, Model::Rc11, 2);
        let options = palisade_certify::Options {
            states: 8_000,
            ..palisade_certify::Options::default()
        };
        let checked = check(&program, &certificate, &options).map_err(|refusal| refusal.reason);
        let what = format!("program {number}: {all:?}, {reduced:?}, {checked:?}\n{text}");
        match &all {
            Verdict::Holds => {
                assert!(matches!(reduced, Verdict::Holds), "{what}");
                assert!(checked.is_ok(), "{what}");
                right += 1;
            }
            Verdict::Violated(_) => {
                assert!(!matches!(reduced, Verdict::Holds), "{what}");
                assert!(checked.is_err(), "{what}");
                wrong += 1;
            }
            Verdict::Unknown(_) => {
                let violated = matches!(
                    checked,
                    Err(Reason::Assertion | Reason::Race | Reason::Index | Reason::Property(_))
                );
                let reduced_violated = matches!(reduced, Verdict::Violated(_));
                assert!(!reduced_violated || checked.is_err(), "{what}");
                assert!(!violated || !matches!(reduced, Verdict::Holds), "{what}");
                undecided += 1;
            }
        }
    }
    println!("{right} hold, {wrong} are violated, {undecided} undecided");
    assert!(right > 20 && wrong > 5, "{right} {wrong} {undecided}");
}

/// An SC fence stands where what its thread knows allows, in whatever order threads are looked at.
#[test]
fn fences_keep_their_places_in_prompt_runs() {
    let program = read(
        "shared x = 0; shared y = 0; shared v = 0;\n\
        thread t2 { local r = 0; store(y, 1, relaxed); fence(seq_cst); r = load(x, relaxed); }\n\
        thread t3 { store(x, 5, relaxed); }\n\
        thread t1 { local a = 0; local b = 0; a = load(v, relaxed); fence(seq_cst); b = load(y, relaxed); }\n\
        finally (!(t2.r == 0 && t1.b == 0));\n",
    );
    for kept in SUMMARIES {
        assert!(!accepted(&program, kept), "{kept:?}");
    }
}

/// What is proved for any number of copies is so for few.
#[test]
fn few_copies_are_covered_by_views() {
    let first = std::env::var("PALISADE_FIRST").ok();
    let mut rng = Rng::new(first.and_then(|f| f.parse().ok()).unwrap_or(601));
    let (mut proved, mut failing) = (0, 0);
    for number in 0..soak(40) {
        let text = copied(&mut rng, number % 2 == 0);
        let program = read(&text);
        let fails = [2, 3].iter().find(|copies| {
            let options = Options {
                buffer: Some(4),
                max_states: Some(2_000),
                workers: 1,
                shortest: false,
                threads: **copies,
                partial_order: false,
                ..Options::new(Model::Rc11)
            };
            let found = explore(&program, &options).expect("it has a meaning");
            matches!(found.verdict, Verdict::Violated(_))
        });
        failing += u64::from(fails.is_some());
        for (copies, kept) in [(1, (1, false, 1)), (2, (1, true, 1)), (2, (2, true, 1))] {
            let kind = Kind::Histories(Summary {
                many: true,
                ..summary(kept)
            });
            let fingerprint = Fingerprint::of(&program, Model::Rc11, copies);
            let certificate = Certificate::empty(fingerprint, kind, Model::Rc11, copies);
            let options = palisade_certify::Options {
                states: 1_000,
                ..palisade_certify::Options::default()
            };
            let accepted = check(&program, &certificate, &options).is_ok();
            assert!(
                !accepted || fails.is_none(),
                "program {number}, {copies} seen, {kept:?}, {fails:?} fail:\n{text}"
            );
            proved += u64::from(accepted);
        }
    }
    println!("{proved} proofs, {failing} programs fail");
    assert!(proved > 20 && failing > 2, "{proved} {failing}");
}
