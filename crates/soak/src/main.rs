//! `palisade-soak`: random programs by the million, see the library.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use palisade_soak::{Counts, ROWS, Row, run};

/// Compares every engine with another account on random programs.
#[derive(Parser)]
struct Args {
    /// Programs of all rows together
    #[arg(long, default_value_t = 1_000_000)]
    programs: u64,
    /// The first seed of each row
    #[arg(long, default_value_t = 1_000_000_000)]
    first: u64,
    /// Only these rows (all programs are theirs)
    #[arg(long)]
    row: Vec<String>,
    /// Threads
    #[arg(short, long, default_value_t = 2)]
    jobs: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let wanted = |row: &&Row| args.row.is_empty() || args.row.iter().any(|r| r == row.name);
    let rows: Vec<&Row> = ROWS.iter().filter(wanted).collect();
    let shares: u64 = rows.iter().map(|r| r.share).sum();
    println!(
        "| row | what is compared | programs | hold | violated | unknown | not compared | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    // A difference is reported at the end of its row; engines that panic say so there.
    std::panic::set_hook(Box::new(|_| {}));
    let mut all = Counts::default();
    let mut failures = 0;
    for row in rows {
        let count = args.programs * row.share / shares.max(1);
        let started = Instant::now();
        match run(row, args.first, count, args.jobs) {
            Ok(counts) => {
                let seconds = started.elapsed().as_secs();
                println!(
                    "| {} | {} {seconds} |",
                    row.name,
                    cells(row.what, count, &counts)
                );
                all.holds += counts.holds;
                all.violated += counts.violated;
                all.unknown += counts.unknown;
                all.skipped += counts.skipped;
            }
            Err(failure) => {
                failures += 1;
                println!("| {} | {} | DIFFERENCE | | | | | |", row.name, row.what);
                eprintln!("{failure}");
            }
        }
    }
    let total = all.compared() + all.skipped;
    println!("| all | {} |", cells("", total, &all));
    if failures > 0 {
        eprintln!("{failures} rows with differences");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn cells(what: &str, programs: u64, counts: &Counts) -> String {
    let Counts {
        holds,
        violated,
        unknown,
        skipped,
    } = counts;
    format!("{what} | {programs} | {holds} | {violated} | {unknown} | {skipped} |")
}
