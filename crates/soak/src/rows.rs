//! The table of what is compared.

use std::fmt::Write;
use std::ops::RangeInclusive;

use palisade_arbitrary::{Rng, Shape, counters, generate, ordered, protocols};
use palisade_program::{Model, Orders, Program};
use palisade_verify::{Buffers, Extrapolate, Keep, Options, Promote, Sharing, Strategy};

use crate::compare::{
    any_number, deadlocks, fewest_fences, finals, gaps, machine, proof, reachable, read, reduced,
    shifted,
};
use crate::{Counts, Difference, Outcome};

/// One kind of program and one comparison.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What is compared with what.
    pub what: &'static str,
    /// Programs of a thousand of the whole campaign.
    pub share: u64,
    /// Programs in the tests.
    pub few: u64,
    /// The program of a seed.
    pub make: fn(u64) -> String,
    /// Compares a program: seed, text, program.
    pub compare: fn(u64, &str, &Program) -> Result<Outcome, Difference>,
    /// Of the programs compared, how many hundredths may be undecided.
    pub unknown: u64,
    /// Of the programs decided, how many hundredths are violated.
    pub violated: RangeInclusive<u64>,
}

impl Row {
    /// Whether the programs were such that the comparison says something.
    pub fn is_informative(&self, counts: &Counts) -> bool {
        let compared = counts.compared();
        let decided = counts.holds + counts.violated;
        let few_unknown = counts.unknown * 100 <= compared * self.unknown;
        let share = (counts.violated * 100).checked_div(decided);
        few_unknown && share.is_some_and(|s| self.violated.contains(&s))
    }
}

const THREADS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];
const WEAK: [Model; 2] = [Model::Tso, Model::Pso];

/// One of several by the seed.
fn pick<T: Clone>(seed: u64, all: &[T]) -> T {
    all[seed as usize % all.len()].clone()
}

/// Programs with threads, of several shapes in turn.
fn threads(seed: u64) -> String {
    let shape = match seed % 6 {
        0 => Shape {
            threads: 3,
            statements: 3,
            ..Shape::default()
        },
        1 => Shape {
            loops: false,
            statements: 6,
            ..Shape::default()
        },
        2 => Shape {
            threads: 3,
            vars: 3,
            statements: 3,
            modulus: 2,
            ..Shape::default()
        },
        3 if seed % 12 == 3 => Shape {
            threads: 4,
            statements: 2,
            ..Shape::default()
        },
        _ => Shape::default(),
    };
    failing(generate(seed, &shape), seed, 6)
}

/// The default shape; every second program has a property that often fails.
fn plain(seed: u64) -> String {
    let text = generate(seed, &Shape::default());
    failing(text, seed, 2)
}

/// One of `every` programs gets a property that often fails.
fn failing(mut text: String, seed: u64, every: u64) -> String {
    if seed.is_multiple_of(every) {
        let _ = writeln!(text, "finally (x0 != {});", seed % 3);
    }
    text
}

/// Programs whose threads often work apart.
fn sparse(seed: u64) -> String {
    let shape = Shape {
        threads: 2 + seed as usize % 2,
        vars: 3 + seed as usize % 5,
        statements: 3 + seed as usize % 3,
        modulus: 2 + seed as i64 % 2,
        ..Shape::default()
    };
    failing(generate(seed, &shape), seed, 6)
}

fn counting(seed: u64) -> String {
    counters::generate(seed)
}

fn publications(seed: u64) -> String {
    generate(seed, &Shape::publications())
}

fn processes(seed: u64) -> String {
    let shape = Shape {
        remote_atomics: seed % 8 == 5,
        local_flushes: seed % 3 == 1,
        statements: 3 + usize::from(seed % 8 != 5),
        ..Shape::rma()
    };
    let mut text = generate(seed, &shape);
    if seed.is_multiple_of(2) {
        let _ = writeln!(text, "finally (x00 != {} || x10 == 0);", seed % 3);
    }
    text
}

fn puts(seed: u64) -> String {
    let shape = Shape {
        local_flushes: seed % 3 == 1,
        ..Shape::rma()
    };
    generate(seed, &shape)
}

fn atomics(seed: u64) -> String {
    let shape = Shape {
        remote_atomics: true,
        ..Shape::rma()
    };
    generate(seed, &shape)
}

/// Templates with copies, and a property that is often violated, of one copy, of two, or of memory.
fn copies(seed: u64) -> String {
    let shape = Shape {
        statements: 3 + seed as usize % 2,
        arrays: false,
        finals: false,
        ..Shape::default()
    };
    let text = generate(seed, &shape);
    if !text.contains("thread t[") {
        return text;
    }
    let (a, b) = (seed / 4 % 3, seed / 12 % 3);
    let property = match seed % 4 {
        0 => format!("never x0 == {a} && t#1.r == {b};\n"),
        1 => format!("never t#1.r == {a} && t#2.s == {b};\n"),
        2 => format!("never x0 == {a} && x1 == {b};\n"),
        _ => String::new(),
    };
    text + &property
}

fn small(seed: u64) -> String {
    let plain = Shape {
        fences: false,
        store_store: false,
        arrays: false,
        statements: 3,
        ..Shape::default()
    };
    let shape = match seed % 4 {
        0 => plain,
        1 => Shape {
            threads: 3,
            statements: 2,
            loops: false,
            ..plain
        },
        2 => Shape {
            fences: true,
            store_store: true,
            ..plain
        },
        _ => Shape {
            statements: 4,
            loops: false,
            atomics: false,
            ..plain
        },
    };
    generate(seed, &shape)
}

/// Programs with memory orders, and one outcome that is forbidden.
fn orders(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let (threads, cells) = ordered::ordered(&mut rng, seed % 3 == 2);
    let loads = threads.iter().enumerate().flat_map(|(t, ops)| {
        let own = ops.iter().enumerate().filter(|(_, op)| op.reads());
        own.map(move |(i, _)| format!("t{t}.r{i}"))
    });
    let mut facts: Vec<String> = Vec::new();
    for load in loads {
        if rng.chance(70) {
            facts.push(format!("{load} == {}", rng.below(3)));
        }
    }
    let mut text = ordered::text(&threads, cells);
    if !facts.is_empty() {
        let _ = writeln!(text, "finally (!({}));", facts.join(" && "));
    }
    text
}

fn verified(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let options = Options {
        model: pick(seed, &THREADS),
        ..Options::default()
    };
    proof(program, options)
}

fn under_weak(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let options = Options {
        model: pick(seed, &[Model::Tso, Model::Pso, Model::Pso]),
        ..Options::default()
    };
    proof(program, options)
}

/// Nothing explicit but program counters: all the work is refinement's.
fn predicates(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let refined = !seed.is_multiple_of(3);
    let options = Options {
        promote: Promote::Never,
        transitions: refined,
        parameterised: refined,
        compress: !seed.is_multiple_of(5),
        max_rounds: 60,
        ..Options::default()
    };
    proof(program, options)
}

fn strategies(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let ways = [
        (Strategy::Lazy, Extrapolate::None),
        (Strategy::Lazy, Extrapolate::Auto),
        (Strategy::Enumerate, Extrapolate::None),
        (Strategy::Cores, Extrapolate::Predicates),
        (Strategy::Cubes, Extrapolate::Cubes),
    ];
    let (strategy, extrapolate) = pick(seed, &ways);
    let options = Options {
        model: pick(seed / 5, &THREADS),
        strategy,
        extrapolate,
        drop_buffered: seed.is_multiple_of(2),
        cube_size: 2,
        promote: Promote::Never,
        max_rounds: 8,
        max_states: 10_000,
        ..Options::default()
    };
    proof(program, options)
}

fn buffers(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let options = Options {
        model: pick(seed, &WEAK),
        keep: pick(seed / 2, &[Keep::Newest, Keep::Oldest]),
        buffers: Buffers::Abstract(1 + (seed / 4 % 2) as u32),
        ..Options::default()
    };
    proof(program, options)
}

fn remote(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let options = Options {
        model: Model::Rma,
        promote: pick(seed, &[Promote::Auto, Promote::Auto, Promote::Never]),
        max_rounds: 60,
        ..Options::default()
    };
    proof(program, options)
}

/// Remote operations in value sets, with none to two slots.
fn sets(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let options = Options {
        model: Model::Rma,
        promote: pick(seed, &[Promote::Auto, Promote::Never]),
        buffers: Buffers::Abstract((seed / 2 % 3) as u32),
        sets: pick(seed / 6, &[Sharing::Statement, Sharing::Variable]),
        max_rounds: 20,
        ..Options::default()
    };
    proof(program, options)
}

/// The Boolean program of the proof under SC, extrapolated.
fn extrapolated(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let options = Options {
        model: Model::Rma,
        strategy: Strategy::Program,
        promote: Promote::Never,
        buffers: Buffers::Abstract((seed % 2) as u32),
        sets: pick(seed / 2, &[Sharing::Statement, Sharing::Variable]),
        max_rounds: 20,
        ..Options::default()
    };
    proof(program, options)
}

/// The reduction lets atomics of one process on one cell happen in any order, so that a run may not be
/// the machine's.
fn remote_atomics(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let options = Options {
        model: Model::Rma,
        buffers: pick(seed, &[Buffers::Auto, Buffers::Abstract(1)]),
        max_rounds: 20,
        ..Options::default()
    };
    proof(program, options)
}

fn templates(seed: u64, text: &str, program: &Program) -> Result<Outcome, Difference> {
    if !text.contains("thread t[") {
        return Ok(Outcome::Skipped);
    }
    any_number(program, pick(seed, &THREADS))
}

fn rc11(_: u64, text: &str, _: &Program) -> Result<Outcome, Difference> {
    let program = read(text, Orders::Kept);
    let Some(program) = program else {
        return Ok(Outcome::Skipped);
    };
    let options = Options {
        model: Model::Rc11,
        ..Options::default()
    };
    proof(&program, options)
}

macro_rules! row {
    ($name:literal, $what:literal, $share:literal, $few:literal, $make:ident, $compare:ident,
     $unknown:literal, $violated:expr) => {
        Row {
            name: $name,
            what: $what,
            share: $share,
            few: $few,
            make: $make,
            compare: $compare,
            unknown: $unknown,
            violated: $violated,
        }
    };
}

/// All rows; their shares add up to 1000.
#[rustfmt::skip]
pub static ROWS: &[Row] = &[
    row!("machine", "explore and naive interpreter, SC, TSO, PSO", 95, 200, threads, machine, 0, 30..=80),
    row!("machine-rma", "explore and naive interpreter, SC, RMA", 100, 60, processes, machine, 0, 30..=80),
    row!("finals", "final states of explore and naive interpreter", 100, 100, threads, finals, 0, 0..=0),
    row!("protocols-machine", "explore and naive interpreter on protocols", 100, 60, protocol, machine, 0, 20..=80),
    row!("reachable", "states found by the checker, SC, TSO, PSO", 40, 600, threads, reachable, 5, 30..=70),
    row!("reachable-reduced", "steps that are enough and all steps, deadlocks too", 20, 600, sparse, reduced, 5, 20..=80),
    row!("counters", "the machine and a naive interpreter on counters, SC, TSO, PSO", 20, 300, counting, machine, 5, 20..=80),
    row!("counters-reachable", "counters shifted by the checker, SC, TSO, PSO", 10, 300, counting, shifted, 5, 20..=80),
    row!("counters-gaps", "counters far apart known by their order, SC, TSO, PSO", 10, 300, counting, gaps, 60, 10..=90),
    row!("protocols-reachable", "the same on protocols", 20, 200, protocol, reachable, 5, 20..=80),
    row!("verify", "proofs and bugs, SC, TSO, PSO", 120, 1500, threads, verified, 5, 30..=70),
    row!("protocols", "proofs and bugs of protocols, SC, TSO, PSO", 80, 200, protocol, verified, 5, 20..=80),
    row!("publications", "several publications in a row, TSO, PSO", 40, 100, publications, under_weak, 5, 10..=80),
    row!("predicates", "proofs by predicates only, SC", 20, 300, plain, predicates, 5, 20..=70),
    row!("strategies", "enumerate, cores, cubes, extrapolation", 20, 150, plain, strategies, 20, 20..=70),
    row!("buffers", "abstract buffers, TSO, PSO", 30, 240, plain, buffers, 20, 20..=80),
    row!("rma", "remote operations in slots", 20, 70, processes, remote, 5, 30..=70),
    row!("rma-sets", "remote operations in value sets", 5, 70, puts, sets, 30, 0..=70),
    row!("rma-extrapolated", "extrapolated Boolean programs", 5, 60, puts, extrapolated, 30, 0..=70),
    row!("rma-atomics", "remote atomics", 5, 60, atomics, remote_atomics, 50, 0..=70),
    row!("any-number", "proofs for any number of threads and 2, 3 copies", 15, 150, copies, templates, 10, 10..=80),
    row!("fences", "fewest fences and all placements, TSO, PSO", 10, 400, small, fewest_fences, 10, 10..=90),
    row!("deadlock", "absence of deadlock, SC, TSO, PSO", 15, 100, threads, deadlocks, 10, 20..=80),
    row!("rc11", "proofs under RC11 and the exact machine", 100, 60, orders, rc11, 20, 5..=90),
];

fn protocol(seed: u64) -> String {
    protocols::generate(seed)
}
