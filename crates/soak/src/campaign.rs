//! One row, many programs: seeds in turn on several threads. The first difference (by its seed)
//! ends the row, shrunk. A panic of an engine is a difference, too.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use palisade_arbitrary::shrink;
use palisade_program::Orders;

use crate::rows::Row;
use crate::{Difference, Outcome};

/// What came of the programs of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Programs on which both accounts say `holds`.
    pub holds: u64,
    /// Programs on which both have a violation.
    pub violated: u64,
    /// Programs that the engine under test did not decide.
    pub unknown: u64,
    /// Programs that were not compared.
    pub skipped: u64,
}

impl Counts {
    /// Programs that were compared.
    pub const fn compared(&self) -> u64 {
        self.holds + self.violated + self.unknown
    }

    /// The counts of both.
    pub const fn join(&mut self, more: &Self) {
        self.holds += more.holds;
        self.violated += more.violated;
        self.unknown += more.unknown;
        self.skipped += more.skipped;
    }

    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Holds => self.holds += 1,
            Outcome::Violated => self.violated += 1,
            Outcome::Unknown => self.unknown += 1,
            Outcome::Skipped => self.skipped += 1,
        }
    }
}

/// A program on which two accounts differ.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The row's name.
    pub row: &'static str,
    /// The seed that gives the program.
    pub seed: u64,
    /// What the accounts say of the shrunk program.
    pub difference: Difference,
    /// The program, reduced to what is needed.
    pub program: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, seed, .. } = self;
        writeln!(f, "{row}, seed {seed}: {}", self.difference)?;
        f.write_str(&self.program)
    }
}

impl std::error::Error for Failure {}

/// Compares `count` programs of a row, from seed `first` on, with `jobs` threads.
pub fn run(row: &Row, first: u64, count: u64, jobs: usize) -> Result<Counts, Box<Failure>> {
    let next = AtomicU64::new(first);
    let end = first + count;
    let shared = Mutex::new((Counts::default(), None::<(u64, Difference)>));
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let outcome = compared(row, seed, &(row.make)(seed));
                    let mut guard = shared.lock().expect("no thread panics while it counts");
                    match outcome {
                        Ok(outcome) => guard.0.add(outcome),
                        Err(difference) => {
                            if guard.1.as_ref().is_none_or(|(s, _)| seed < *s) {
                                guard.1 = Some((seed, difference));
                            }
                            next.store(end, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let (counts, failure) = shared.into_inner().expect("as above");
    match failure {
        None => Ok(counts),
        Some((seed, _)) => Err(Box::new(shrunk(row, seed))),
    }
}

fn shrunk(row: &Row, seed: u64) -> Failure {
    let text = (row.make)(seed);
    let program = shrink(&text, |t| compared(row, seed, t).is_err());
    let difference = compared(row, seed, &program).err().unwrap_or_default();
    Failure {
        row: row.name,
        seed,
        difference,
        program,
    }
}

/// A text that is no program is none to compare; a panic is a difference.
fn compared(row: &Row, seed: u64, text: &str) -> Result<Outcome, Difference> {
    let Some(program) = crate::compare::read(text, Orders::Mapped) else {
        return Ok(Outcome::Skipped);
    };
    let work = AssertUnwindSafe(|| (row.compare)(seed, text, &program));
    catch_unwind(work).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("of another kind")))
    })
}
