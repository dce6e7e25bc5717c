//! `palisade-soak`: random programs by the million, see the library. All rows run in rounds, so that a
//! campaign that was stopped has met programs of every row, and the time left is known after the
//! first round. With `--state` it goes on where it was stopped.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use palisade_soak::{Counts, ROWS, Row, run};

/// A third of the work of small programs is allocation.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compares every engine with another account on random programs.
#[derive(Parser)]
struct Args {
    /// Programs of all rows together
    #[arg(long, default_value_t = 1_000_000)]
    programs: u64,
    /// The first seed of each row
    #[arg(long, default_value_t = 1_000_000_000)]
    from: u64,
    /// Only these rows (all programs are theirs)
    #[arg(long)]
    row: Vec<String>,
    /// Threads; all cores unless said
    #[arg(short, long)]
    jobs: Option<usize>,
    /// Rounds into which every row is cut
    #[arg(long, default_value_t = 50)]
    rounds: u64,
    /// Keep the counts here after each round, and go on from there
    #[arg(long)]
    state: Option<PathBuf>,
}

/// A row and what came of it so far.
struct Progress {
    row: &'static Row,
    programs: u64,
    done: u64,
    counts: Counts,
    time: Duration,
    /// Whether two accounts differ: the row is over.
    differs: bool,
}

impl Progress {
    /// The programs up to the end of a round.
    fn upto(&self, round: u64, rounds: u64) -> u64 {
        self.programs * (round + 1) / rounds
    }

    fn line(&self) -> String {
        let Counts {
            holds,
            violated,
            unknown,
            skipped,
        } = self.counts;
        let (name, done, ms) = (self.row.name, self.done, self.time.as_millis());
        format!("{name} {done} {holds} {violated} {unknown} {skipped} {ms}")
    }

    /// Takes what a line says, if it is of this row.
    fn restore(&mut self, line: &str) {
        let mut words = line.split(' ');
        if words.next() != Some(self.row.name) {
            return;
        }
        let numbers: Vec<u64> = words.map_while(|w| w.parse().ok()).collect();
        if let [done, holds, violated, unknown, skipped, ms] = numbers[..] {
            self.done = done.min(self.programs);
            self.counts = Counts {
                holds,
                violated,
                unknown,
                skipped,
            };
            self.time = Duration::from_millis(ms);
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let wanted = |row: &&Row| args.row.is_empty() || args.row.iter().any(|r| r == row.name);
    let rows: Vec<&Row> = ROWS.iter().filter(wanted).collect();
    let shares: u64 = rows.iter().map(|r| r.share).sum();
    let progress = |row| Progress {
        row,
        programs: args.programs * row.share / shares.max(1),
        done: 0,
        counts: Counts::default(),
        time: Duration::ZERO,
        differs: false,
    };
    let mut all: Vec<Progress> = rows.into_iter().map(progress).collect();
    let heading = format!("palisade-soak {} {}", args.programs, args.from);
    if let Some(file) = &args.state {
        restore(file, &heading, &mut all);
    }
    let jobs = args
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    // A difference is reported at the end of its round; engines that panic say so there.
    std::panic::set_hook(Box::new(|_| {}));
    let rounds = args.rounds.max(1);
    for round in 0..rounds {
        for one in &mut all {
            let end = one.upto(round, rounds);
            if one.differs || one.done >= end {
                continue;
            }
            let started = Instant::now();
            match run(one.row, args.from + one.done, end - one.done, jobs) {
                Ok(counts) => one.counts.join(&counts),
                Err(failure) => {
                    eprintln!("{failure}");
                    one.differs = true;
                }
            }
            one.done = end;
            one.time += started.elapsed();
        }
        report(round + 1, rounds, &all);
        if let Some(file) = &args.state {
            save(file, &heading, &all);
        }
    }
    print_table(&all);
    let failures = all.iter().filter(|one| one.differs).count();
    if failures > 0 {
        eprintln!("{failures} rows with differences");
        return ExitCode::FAILURE;
    }
    if let Some(file) = &args.state {
        let _ = std::fs::remove_file(file);
    }
    ExitCode::SUCCESS
}

/// The rate so far, and the time that the rest will take at each row's own rate.
fn report(round: u64, rounds: u64, all: &[Progress]) {
    let done: u64 = all.iter().map(|one| one.done).sum();
    let time: Duration = all.iter().map(|one| one.time).sum();
    let rest = |one: &Progress| {
        let each = one.time.as_secs_f64() / one.done.max(1) as f64;
        each * (one.programs - one.done) as f64
    };
    let rest: f64 = all.iter().filter(|one| !one.differs).map(rest).sum();
    let rate = done as f64 / time.as_secs_f64().max(0.001);
    let minutes = rest / 60.0;
    eprintln!(
        "round {round} of {rounds}: {done} programs, {rate:.0} a second, about {minutes:.1} minutes left"
    );
}

fn restore(file: &Path, heading: &str, all: &mut [Progress]) {
    let Ok(text) = std::fs::read_to_string(file) else {
        return;
    };
    let mut lines = text.lines();
    if lines.next() != Some(heading) {
        eprintln!("{} is of another campaign", file.display());
        return;
    }
    for line in lines {
        for one in &mut *all {
            one.restore(line);
        }
    }
}

fn save(file: &Path, heading: &str, all: &[Progress]) {
    let whole = all.iter().filter(|one| !one.differs);
    let lines: Vec<String> = whole.map(Progress::line).collect();
    if let Err(e) = std::fs::write(file, format!("{heading}\n{}\n", lines.join("\n"))) {
        eprintln!("{}: {e}", file.display());
    }
}

fn print_table(all: &[Progress]) {
    println!(
        "| row | what is compared | programs | hold | violated | unknown | not compared | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut counts = Counts::default();
    let mut total = (0, Duration::ZERO);
    for one in all {
        let (name, what) = (one.row.name, one.row.what);
        if one.differs {
            println!("| {name} | {what} | DIFFERENCE | | | | | |");
            continue;
        }
        let cells = cells(one.done, &one.counts, one.time);
        println!("| {name} | {what} | {cells} |");
        counts.join(&one.counts);
        total = (total.0 + one.done, total.1 + one.time);
    }
    println!("| all | | {} |", cells(total.0, &counts, total.1));
}

fn cells(programs: u64, counts: &Counts, time: Duration) -> String {
    let Counts {
        holds,
        violated,
        unknown,
        skipped,
    } = counts;
    let seconds = time.as_secs();
    format!("{programs} | {holds} | {violated} | {unknown} | {skipped} | {seconds}")
}
