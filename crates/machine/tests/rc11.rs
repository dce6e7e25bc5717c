//! RC11: the machine against the axioms on random straight-line programs, data races included;
//! and the summary of old messages against the exact machine.

mod axioms;
mod common;

use std::collections::BTreeSet;
use std::fmt::Write;

use axioms::{Meaning, Op, meaning};
use common::soak;
use palisade_frontend::pal;
use palisade_machine::{Exploration, Options, Summary, explore};
use palisade_program::random::Rng;
use palisade_program::{Broken, Model, Order, Orders, Program, Source, Verdict};

fn read(text: &str) -> Program {
    match pal::parse_ordered(Source::new("test.pal", text), Orders::Kept) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics:?}\n{text}"),
    }
}

const CELLS: [&str; 3] = ["x", "y", "z"];

/// A straight-line program as text.
fn text(threads: &[Vec<Op>], cells: usize) -> String {
    let mut text = String::new();
    for cell in &CELLS[..cells] {
        let _ = writeln!(text, "shared {cell} = 0;");
    }
    for (t, ops) in threads.iter().enumerate() {
        let _ = writeln!(text, "thread t{t} {{");
        for (i, op) in ops.iter().enumerate() {
            let _ = match *op {
                Op::Load(c, Order::Plain) => writeln!(text, "local r{i} = 0; r{i} = {};", CELLS[c]),
                Op::Load(c, o) => writeln!(text, "local r{i} = 0; r{i} = load({}, {o});", CELLS[c]),
                Op::Store(c, v, Order::Plain) => writeln!(text, "{} = {v};", CELLS[c]),
                Op::Store(c, v, o) => writeln!(text, "store({}, {v}, {o});", CELLS[c]),
                Op::Update(c, v, o) => {
                    writeln!(text, "local r{i} = 0; r{i} = xchg({}, {v}, {o});", CELLS[c])
                }
                Op::Fence(o) => writeln!(text, "fence({o});"),
            };
        }
        text.push_str("}\n");
    }
    text
}

/// Programs of 4 to 8 events, few enough of them loads and stores for the axioms.
fn random(rng: &mut Rng, plain: bool) -> (Vec<Vec<Op>>, usize) {
    use Order::{AcqRel, Acquire, Plain, Relaxed, Release, SeqCst};
    loop {
        let count = *rng.pick(&[2, 2, 3, 3, 4]);
        let cells = *rng.pick(&[1, 2, 2, 2, 3]);
        let mut threads = vec![Vec::new(); count];
        let (stores, loads): (&[Order], &[Order]) = match rng.below(if plain { 5 } else { 4 }) {
            0 => (&[Relaxed, Release, SeqCst], &[Relaxed, Acquire, SeqCst]),
            1 => (
                &[SeqCst, SeqCst, Relaxed, Release],
                &[SeqCst, SeqCst, Relaxed, Acquire],
            ),
            2 => (&[Relaxed], &[Relaxed]),
            3 => (&[Release, Relaxed], &[Acquire, Relaxed]),
            _ => (&[Plain, Release, Release], &[Plain, Acquire, Acquire]),
        };
        let (mut written, mut read) = (0, 0);
        let mut value = 0;
        for _ in 0..4 + rng.below(5) {
            let t = rng.below(count);
            let cell = rng.below(cells);
            value += 1;
            let op = match rng.below(100) {
                0..42 => Op::Store(cell, value, *rng.pick(stores)),
                42..82 => Op::Load(cell, *rng.pick(loads)),
                82..90 => Op::Update(
                    cell,
                    value,
                    *rng.pick(&[Relaxed, Acquire, Release, AcqRel, SeqCst]),
                ),
                _ => Op::Fence(*rng.pick(&[Acquire, Release, AcqRel, SeqCst, SeqCst, SeqCst])),
            };
            written += usize::from(matches!(op, Op::Store(..) | Op::Update(..)));
            read += usize::from(matches!(op, Op::Load(..) | Op::Update(..)));
            threads[t].push(op);
        }
        if written <= 5 && read <= 5 {
            return (threads, cells);
        }
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
    for number in 0..soak(3000) {
        let (threads, cells) = random(&mut rng, number % 2 == 1);
        let text = text(&threads, cells);
        let program = read(&text);
        let found = explore(&program, &options(None)).expect("it has a meaning");
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
