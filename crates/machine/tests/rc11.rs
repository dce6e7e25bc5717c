//! RC11: the machine against the axioms on random straight-line programs, data races included;
//! and the summary of old messages against the exact machine.

use crate::axioms;
use crate::common;

use std::collections::BTreeSet;

use axioms::{Meaning, meaning};
use common::soak;
use palisade_arbitrary::ordered::{Op, body, ordered as random, program_text, text};
use palisade_frontend::pal;
use palisade_machine::{Exploration, Options, Summary, explore};
use palisade_program::random::Rng;
use palisade_program::{Broken, Model, Orders, Program, Source, Verdict};

fn read(text: &str) -> Program {
    match pal::parse_ordered(Source::new("test.pal", text), Orders::Kept) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics:?}\n{text}"),
    }
}

fn options(summary: Option<Summary>) -> Options {
    Options {
        summary,
        buffer: None,
        collect_finals: true,
        shortest: false,
        workers: 1,
        ..Options::new(Model::Rc11)
    }
}

fn outcomes(exploration: &Exploration, program: &Program) -> BTreeSet<(Vec<i64>, Vec<i64>)> {
    let user = |t: usize, l: &usize| {
        program.templates[t].locals[*l].origin == palisade_program::Origin::User
    };
    let read = |locals: &[Vec<i64>]| {
        let all = locals.iter().enumerate();
        all.flat_map(|(t, values)| {
            let own = (0..values.len()).filter(move |l| user(t, l));
            own.map(|l| values[l])
        })
        .collect::<Vec<i64>>()
    };
    let finals = exploration.finals.iter();
    finals.map(|f| (read(&f.locals), f.cells.clone())).collect()
}

#[test]
fn the_machine_has_the_outcomes_of_the_axioms() {
    let mut rng = Rng::new(11);
    let mut races = 0;
    for number in 0..soak(1000) {
        let (threads, cells) = random(&mut rng, number % 2 == 1);
        let text = text(&threads, cells);
        let program = read(&text);
        // With the reduction and without it.
        let options = Options {
            partial_order: number % 4 > 0,
            ..options(None)
        };
        let found = explore(&program, &options).expect("it has a meaning");
        let Meaning {
            outcomes: wanted,
            has_race,
        } = meaning(&threads, cells);
        match &found.verdict {
            Verdict::Violated(violation) => {
                assert_eq!(violation.broken, Broken::DataRace, "{text}");
                assert!(has_race, "program {number}: no race in\n{text}");
                races += 1;
            }
            verdict => {
                assert_eq!(*verdict, Verdict::Holds, "{text}");
                assert!(!has_race, "program {number}: a race in\n{text}");
                assert_eq!(
                    outcomes(&found, &program),
                    wanted,
                    "program {number}:\n{text}"
                );
            }
        }
    }
    assert!(races > 0);
}

/// Summaries from coarse to fine.
const SUMMARIES: [(u32, bool, u32); 5] = [
    (1, false, 1),
    (2, false, 1),
    (1, true, 2),
    (2, true, 2),
    (3, true, 3),
];

fn summary((messages, carried, events): (u32, bool, u32)) -> Summary {
    Summary {
        messages,
        carried,
        events,
        shifted: false,
    }
}

#[test]
fn summaries_only_add_behaviours() {
    let mut rng = Rng::new(12);
    let mut equal = 0;
    for number in 0..soak(80) {
        let (threads, cells) = random(&mut rng, false);
        let text = text(&threads, cells);
        let program = read(&text);
        let exact = explore(&program, &options(None)).expect("it has a meaning");
        let exact = outcomes(&exact, &program);
        for sizes in SUMMARIES {
            let found = explore(&program, &options(Some(summary(sizes)))).expect("the same");
            let found = outcomes(&found, &program);
            assert!(
                found.is_superset(&exact),
                "program {number}, summary {sizes:?}:\n{text}"
            );
            equal += u64::from(found == exact);
        }
        // Nothing is folded: nothing is added.
        let all = explore(&program, &options(Some(summary((64, true, 64))))).expect("the same");
        assert_eq!(outcomes(&all, &program), exact, "program {number}:\n{text}");
    }
    assert!(equal > 0);
}

/// The exact machine with short histories finds no violation that summaries exclude: each thread
/// asserts of one of its loads that it does not read one of the values.
#[test]
fn summaries_of_endless_programs_are_sound() {
    let mut rng = Rng::new(13);
    let (mut proved, mut refuted) = (0, 0);
    for number in 0..soak(40) {
        let (mut threads, cells) = random(&mut rng, false);
        threads.truncate(2);
        for ops in &mut threads {
            ops.truncate(3);
        }
        let load = |op: &Op| op.reads();
        let Some((t, i)) = threads
            .iter()
            .enumerate()
            .find_map(|(t, ops)| Some((t, ops.iter().rposition(load)?)))
        else {
            continue;
        };
        let value = rng.between(1, 8);
        let bodies = threads.iter().enumerate().map(|(number, ops)| {
            let check = if number == t {
                format!("assert(r{i} != {value}); r{i} = 0;\n")
            } else {
                String::new()
            };
            format!("while (true) {{\n{}{check}}}\n", body(ops))
        });
        let text = program_text(bodies, cells);
        let program = read(&text);
        let bounded = |summary, buffer| Options {
            summary,
            buffer,
            max_states: Some(3000),
            collect_finals: false,
            partial_order: false,
            ..options(None)
        };
        let exact = explore(&program, &bounded(None, Some(3))).expect("it has a meaning");
        for sizes in SUMMARIES {
            let found = explore(&program, &bounded(Some(summary(sizes)), None)).expect("the same");
            match (&found.verdict, &exact.verdict) {
                (Verdict::Holds, Verdict::Violated(_)) => {
                    panic!("program {number}, summary {sizes:?}:\n{text}")
                }
                (Verdict::Holds, _) => proved += 1,
                (Verdict::Violated(_), _) => refuted += 1,
                (Verdict::Unknown(_), _) => {}
            }
        }
    }
    assert!(proved > 0 && refuted > 0, "{proved} {refuted}");
}

/// What is forgotten of a location that nobody accesses any more must not keep a fence from its place in the SC order.
#[test]
fn fences_stand_where_what_their_threads_know_allows() {
    let by_an_access = "shared x = 0; shared z = 0; shared w = 0;\n\
        thread t1 { local a = 0; local r = 0; a = load(w, relaxed); r = load(x, seq_cst);\n\
        fence(seq_cst); store(z, 6, seq_cst); }\n\
        thread t2 { store(z, 4, seq_cst); store(x, 5, seq_cst); store(w, 1, relaxed); }\n\
        finally (!(t1.a == 1 && t1.r == 0 && z == 4));\n";
    let by_another_fence = "shared x = 0; shared y = 0; shared v = 0;\n\
        thread t2 { local r = 0; store(y, 1, relaxed); fence(seq_cst); r = load(x, relaxed); }\n\
        thread t3 { store(x, 5, relaxed); }\n\
        thread t1 { local a = 0; local b = 0; a = load(v, relaxed); fence(seq_cst); b = load(y, relaxed); }\n\
        finally (!(t2.r == 0 && t1.b == 0));\n";
    for text in [by_an_access, by_another_fence] {
        let program = read(text);
        for partial_order in [false, true] {
            let options = Options {
                partial_order,
                collect_finals: false,
                ..options(None)
            };
            let found = explore(&program, &options).expect("it has a meaning");
            assert!(matches!(found.verdict, Verdict::Violated(_)), "{text}");
        }
    }
}
