//! Random Rust programs with threads, as a second account of how they are read: the same operations are written
//! as Rust (statics, `thread::spawn`, results through `join`, an assertion at the end) and as `.pal` (a
//! `finally`). The machine must come to the same verdict for both, under every model.
//!
//! `PALISADE_SOAK=n` runs n programs, from `PALISADE_FIRST` on.

use std::fmt::Write;
use std::path::Path;

use palisade_arbitrary::ordered::{self, Op};
use palisade_frontend::{c, load_with};
use palisade_program::random::Rng;
use palisade_program::{Model, Order, Orders, Program, Verdict};

use crate::rust_random::number;

const MODELS: [(Orders, &[Model]); 2] = [
    (Orders::Mapped, &[Model::Sc, Model::Tso, Model::Pso]),
    (Orders::Kept, &[Model::Rc11]),
];

/// What one outcome says: of what the operations of threads read, and of memory at the end.
struct Outcome {
    reads: Vec<(usize, usize, i64)>,
    cells: Vec<(usize, i64)>,
}

impl Outcome {
    fn random(rng: &mut Rng, threads: &[Vec<Op>], cells: usize) -> Self {
        let values = |cell: usize| {
            let ops = threads.iter().flatten();
            let stored = ops.filter_map(move |op| match *op {
                Op::Store(c, value, _) | Op::Update(c, value, _) if c == cell => Some(value),
                Op::Load(..) | Op::Store(..) | Op::Update(..) | Op::Fence(_) => None,
            });
            std::iter::once(0).chain(stored).collect::<Vec<i64>>()
        };
        let mut outcome = Self {
            reads: Vec::new(),
            cells: Vec::new(),
        };
        for (t, ops) in threads.iter().enumerate() {
            for (i, op) in ops.iter().enumerate() {
                if let Op::Load(cell, _) | Op::Update(cell, ..) = *op
                    && rng.chance(70)
                {
                    outcome.reads.push((t, i, *rng.pick(&values(cell))));
                }
            }
        }
        for cell in 0..cells {
            if rng.chance(30) {
                outcome.cells.push((cell, *rng.pick(&values(cell))));
            }
        }
        outcome
    }

    /// As a condition, where reads and cells are written like this.
    fn text(
        &self,
        read: impl Fn(usize, usize) -> String,
        cell: impl Fn(usize) -> String,
    ) -> String {
        let reads = self.reads.iter().map(|(t, i, v)| (read(*t, *i), v));
        let cells = self.cells.iter().map(|(c, v)| (cell(*c), v));
        let parts = reads
            .chain(cells)
            .map(|(place, value)| format!("{place} == {value}"));
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() {
            return "true".to_owned();
        }
        parts.join(" && ")
    }
}

/// The operations as `.pal`.
fn pal(threads: &[Vec<Op>], cells: usize, outcome: &Outcome) -> String {
    let mut text = ordered::text(threads, cells);
    let cell = |c: usize| ["x", "y", "z"][c].to_owned();
    let condition = outcome.text(|t, i| format!("t{t}.r{i}"), cell);
    let _ = writeln!(text, "finally (!({condition}));");
    text
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Plain | Order::Relaxed => "Relaxed",
        Order::Acquire => "Acquire",
        Order::Release => "Release",
        Order::AcqRel => "AcqRel",
        Order::SeqCst => "SeqCst",
    }
}

/// The operations as Rust.
fn rust(threads: &[Vec<Op>], cells: usize, outcome: &Outcome) -> String {
    let mut text =
        String::from("use std::sync::atomic::{AtomicI32, Ordering::*, fence};\nuse std::thread;\n");
    for cell in 0..cells {
        let _ = writeln!(text, "static X{cell}: AtomicI32 = AtomicI32::new(0);");
    }
    text.push_str("fn main() {\n");
    for (t, ops) in threads.iter().enumerate() {
        let _ = writeln!(text, "let t{t} = thread::spawn(move || {{");
        let _ = writeln!(text, "let mut r = [0i32; {}];", ops.len().max(1));
        for (i, op) in ops.iter().enumerate() {
            let _ = match *op {
                Op::Load(c, o) => writeln!(text, "r[{i}] = X{c}.load({});", order(o)),
                Op::Store(c, v, o) => writeln!(text, "X{c}.store({v}, {});", order(o)),
                Op::Update(c, v, o) => writeln!(text, "r[{i}] = X{c}.swap({v}, {});", order(o)),
                Op::Fence(o) => writeln!(text, "fence({});", order(o)),
            };
        }
        text.push_str("r });\n");
    }
    for t in 0..threads.len() {
        let _ = writeln!(text, "let r{t} = t{t}.join().unwrap();");
    }
    let condition = outcome.text(
        |t, i| format!("r{t}[{i}]"),
        |c| format!("X{c}.load(Relaxed)"),
    );
    let _ = writeln!(text, "assert!(!({condition}));\n}}");
    text
}

fn read(file: &Path, text: &str, orders: Orders) -> Program {
    let options = c::Options {
        orders,
        ..c::Options::default()
    };
    match load_with(file, text, &options) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics}\n{text}"),
    }
}

/// Whether it holds; `None` where the machine cannot say.
fn holds(program: &Program, model: Model) -> Option<bool> {
    let options = palisade_machine::Options::new(model);
    match palisade_machine::explore(program, &options).ok()?.verdict {
        Verdict::Holds => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

#[test]
fn threads_do_what_the_same_ones_do_in_pal() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.rs");
    let first = number("PALISADE_FIRST", 0);
    let count = number("PALISADE_SOAK", 8);
    let (mut held, mut violated, mut unknown) = (0, 0, 0);
    for seed in first..first + count {
        let mut rng = Rng::new(seed as u64);
        let (threads, cells) = ordered::ordered(&mut rng, false);
        let outcome = Outcome::random(&mut rng, &threads, cells);
        let text = rust(&threads, cells, &outcome);
        std::fs::write(&file, &text).expect("writable");
        let twin = pal(&threads, cells, &outcome);
        for (orders, models) in MODELS {
            let program = read(&file, &text, orders);
            let twin_program = read(Path::new("p.pal"), &twin, orders);
            for model in models {
                match (holds(&program, *model), holds(&twin_program, *model)) {
                    (Some(a), Some(b)) => {
                        assert_eq!(a, b, "program {seed} under {model}:\n{text}\n{twin}");
                        held += usize::from(a);
                        violated += usize::from(!a);
                    }
                    (None, _) | (_, None) => unknown += 1,
                }
            }
        }
    }
    eprintln!("{held} hold, {violated} violated, {unknown} undecided");
    assert!(unknown * 10 <= held + violated, "{unknown} undecided");
    assert!(
        held > 0 && violated > 0,
        "{held} hold, {violated} are violated"
    );
}
