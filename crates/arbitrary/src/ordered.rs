//! *Programs with memory orders*, for RC11: few threads, locations and operations, so that the
//! axioms can be enumerated. Every store writes a value of its own.

use std::fmt::Write;

use palisade_program::Order;
use palisade_program::random::Rng;

/// One operation; locations are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A load.
    Load(usize, Order),
    /// A store.
    Store(usize, i64, Order),
    /// An exchange.
    Update(usize, i64, Order),
    /// A fence.
    Fence(Order),
}

impl Op {
    /// Whether it reads.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Load(..) | Self::Update(..))
    }
}

const CELLS: [&str; 3] = ["x", "y", "z"];

/// Straight-line threads and how many locations they have, all of which start as 0: 4 to 8 operations,
/// at most five loads and five stores. Some have plain accesses if `plain`.
pub fn ordered(rng: &mut Rng, plain: bool) -> (Vec<Vec<Op>>, usize) {
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
        for value in 1..=4 + rng.below(5) as i64 {
            let t = rng.below(count);
            let cell = rng.below(cells);
            let op = match rng.below(100) {
                0..42 => Op::Store(cell, value, *rng.pick(stores)),
                42..82 => Op::Load(cell, *rng.pick(loads)),
                82..90 => {
                    let orders = [Relaxed, Acquire, Release, AcqRel, SeqCst];
                    Op::Update(cell, value, *rng.pick(&orders))
                }
                _ => Op::Fence(*rng.pick(&[Acquire, Release, AcqRel, SeqCst, SeqCst, SeqCst])),
            };
            written += usize::from(matches!(op, Op::Store(..) | Op::Update(..)));
            read += usize::from(op.reads());
            threads[t].push(op);
        }
        if written <= 5 && read <= 5 {
            return (threads, cells);
        }
    }
}

/// A straight-line program as text.
pub fn text(threads: &[Vec<Op>], cells: usize) -> String {
    program_text(threads.iter().map(|ops| body(ops)), cells)
}

/// The program of threads with these bodies.
pub fn program_text(bodies: impl Iterator<Item = String>, cells: usize) -> String {
    let mut text = String::new();
    for cell in &CELLS[..cells] {
        // Writing to a string does not fail.
        let _ = writeln!(text, "shared {cell} = 0;");
    }
    for (t, body) in bodies.enumerate() {
        let _ = writeln!(text, "thread t{t} {{\n{body}}}");
    }
    text
}

/// The operations of a thread; the i-th one reads into `ri`.
pub fn body(ops: &[Op]) -> String {
    let mut text = String::new();
    for (i, _) in ops.iter().enumerate().filter(|(_, op)| op.reads()) {
        let _ = writeln!(text, "local r{i} = 0;");
    }
    for (i, op) in ops.iter().enumerate() {
        let _ = match *op {
            Op::Load(c, Order::Plain) => writeln!(text, "r{i} = {};", CELLS[c]),
            Op::Load(c, o) => writeln!(text, "r{i} = load({}, {o});", CELLS[c]),
            Op::Store(c, v, Order::Plain) => writeln!(text, "{} = {v};", CELLS[c]),
            Op::Store(c, v, o) => writeln!(text, "store({}, {v}, {o});", CELLS[c]),
            Op::Update(c, v, o) => writeln!(text, "r{i} = xchg({}, {v}, {o});", CELLS[c]),
            Op::Fence(o) => writeln!(text, "fence({o});"),
        };
    }
    text
}
