//! How fast the machine explores: states per CPU second and bytes per stored
//! state, on mutual-exclusion algorithms under TSO. `cargo bench -p
//! palisade-machine` prints a table; the goal is a million states per CPU second
//! and fewer than 64 bytes a state.
//!
//! The programs are safe, so every reachable state is visited. Small programs are
//! explored again and again for about a second. "plain" is without reductions. A second table has the time that notes
//! take (deadlocks that do not count, and what no run reaches); the goal is at most 10 % of a search.

use std::time::{Duration, Instant};

use palisade_frontend::pal;
use palisade_machine::{Options, Stats, explore};
use palisade_program::{Model, Program, Source, Verdict};

const PETERSON: &str = "
shared flag[2] = 0;
shared turn = 0;
thread t[2] {
    while (1) {
        flag[self] = 1;
        turn = 1 - self;
        fence;
        while (flag[1 - self] == 1 && turn == 1 - self) { }
        critical: skip;
        flag[self] = 0;
    }
}
never t#1@critical && t#2@critical;
";

/// Lamport's bakery for three threads with tickets up to 3.
const BAKERY: &str = "
const LAST = 3;
shared choosing[3] = 0;
shared ticket[3] = 0;
thread t[3] {
    local mine = 0;
    local other = 0;
    local j = 0;
    while (1) {
        choosing[self] = 1;
        fence;
        mine = 0;
        j = 0;
        while (j < 3) {
            other = ticket[j];
            if (other > mine) { mine = other; }
            j = j + 1;
        }
        if (mine < LAST) {
            mine = mine + 1;
            ticket[self] = mine;
            choosing[self] = 0;
            fence;
            j = 0;
            while (j < 3) {
                while (choosing[j] == 1) { }
                do {
                    other = ticket[j];
                } while (other != 0 && (other < mine || (other == mine && j < self)));
                j = j + 1;
            }
            critical: skip;
            ticket[self] = 0;
        } else {
            choosing[self] = 0;
        }
    }
}
never t#1@critical && t#2@critical;
";

fn program(text: &str) -> Program {
    match pal::parse(Source::new("bench.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics:?}"),
    }
}

/// CPU seconds that this process has used, all threads together; where the
/// system does not tell, wall-clock seconds since `start`.
fn cpu_seconds(start: Instant) -> f64 {
    // Fields 14 and 15, in ticks of 10 ms; the second field, a name in
    // parentheses, may hold blanks.
    let ticks = std::fs::read_to_string("/proc/self/stat")
        .ok()
        .and_then(|stat| {
            let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
            let user: u32 = fields.get(11)?.parse().ok()?;
            let system: u32 = fields.get(12)?.parse().ok()?;
            Some(f64::from(user + system) / 100.0)
        });
    ticks.unwrap_or_else(|| start.elapsed().as_secs_f64())
}

/// Explores until `time` is over, at least once; CPU seconds for one exploration.
fn measure(program: &Program, options: &Options, time: Duration) -> (Stats, f64) {
    let start = Instant::now();
    let before = cpu_seconds(start);
    let mut rounds = 0;
    loop {
        let found = explore(program, options).expect("the model fits");
        assert_eq!(found.verdict, Verdict::Holds);
        rounds += 1;
        if start.elapsed() >= time {
            let used = cpu_seconds(start) - before;
            return (found.stats, used.max(1e-9) / f64::from(rounds));
        }
    }
}

fn main() {
    // `cargo test --benches` passes this: then once is enough.
    let quick = std::env::args().any(|a| a == "--test");
    let time = Duration::from_secs(u64::from(!quick));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{:<12} {:<8} {:>7} {:>10} {:>12} {:>9} {:>13} {:>12}",
        "program",
        "search",
        "workers",
        "states",
        "transitions",
        "cpu s",
        "states/cpu s",
        "bytes/state"
    );
    for (name, text) in [("peterson", PETERSON), ("bakery3", BAKERY)] {
        let program = program(text);
        for plain in [true, false] {
            for workers in [1, cores] {
                let mut options = Options::new(Model::Tso);
                options.workers = workers;
                options.partial_order = !plain;
                options.symmetry = !plain;
                if quick {
                    options.model = Model::Sc;
                }
                let (stats, seconds) = measure(&program, &options, time);
                println!(
                    "{name:<12} {:<8} {workers:>7} {:>10} {:>12} {seconds:>9.5} {:>13.0} {:>12.1}",
                    if plain { "plain" } else { "reduced" },
                    stats.states,
                    stats.transitions,
                    stats.states as f64 / seconds,
                    stats.bytes_per_state(),
                );
            }
        }
    }
    println!(
        "\n{:<12} {:>12} {:>12} {:>10}",
        "notes", "with, cpu s", "without", "overhead"
    );
    for (name, text) in [("peterson", PETERSON), ("bakery3", BAKERY)] {
        let program = program(text);
        let mut options = Options::new(if quick { Model::Sc } else { Model::Tso });
        options.workers = 1;
        // By turns, and the best of each, so that what else the machine does counts little.
        let mut best = [f64::INFINITY; 2];
        for _ in 0..if quick { 1 } else { 5 } {
            for (best, notes) in best.iter_mut().zip([true, false]) {
                options.notes = notes;
                *best = best.min(measure(&program, &options, time).1);
            }
        }
        let [with, without] = best;
        let more = 100.0 * (with / without - 1.0);
        println!("{name:<12} {with:>12.5} {without:>12.5} {more:>8.1} %");
    }
}
