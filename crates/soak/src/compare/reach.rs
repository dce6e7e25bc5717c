//! Certificates of reachable states: their check is a search of its own, which accepts the programs
//! that hold and no others.

use palisade_certify::{
    Certificate, Counters, Fingerprint, Kind, Options, Reachable, Reason, check,
};
use palisade_program::{Model, Program};

use super::expected;
use crate::{Difference, Outcome};

/// States that the check may find.
const MOST: u64 = 400_000;
/// Copies of templates declared with `[*]`; there are none.
const COPIES: u32 = 2;

pub(crate) fn reachable(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    compare(seed, program, Counters::Exact)
}

/// The same up to a shift of counters.
pub(crate) fn shifted(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    compare(seed, program, Counters::Shifted)
}

/// The same where counters far apart are known by their order. What is refused may hold.
pub(crate) fn gaps(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    compare(seed, program, Counters::Gaps)
}

fn compare(seed: u64, program: &Program, counters: Counters) -> Result<Outcome, Difference> {
    let model = [Model::Sc, Model::Tso, Model::Pso][seed as usize % 3];
    let Some(holds) = expected(program, model) else {
        return Ok(Outcome::Skipped);
    };
    let fingerprint = Fingerprint::of(program, model, COPIES);
    let most = MOST;
    let states = Reachable { most, counters };
    let certificate = Certificate::empty(fingerprint, Kind::Reachable(states), model, COPIES);
    match check(program, &certificate, &Options::default()) {
        Ok(_) if holds => Ok(Outcome::Holds),
        Ok(_) => Err(format!("{model}: accepted, but there is a violation")),
        Err(refusal) => match refusal.reason {
            Reason::Property(_) | Reason::Assertion | Reason::Index if holds => {
                if counters == Counters::Gaps {
                    return Ok(Outcome::Unknown);
                }
                Err(format!("{model}: refused ({refusal}), but it holds"))
            }
            Reason::Property(_) | Reason::Assertion | Reason::Index => Ok(Outcome::Violated),
            _ => Ok(Outcome::Unknown),
        },
    }
}

/// All steps, and those that are enough: the same is accepted. One of two programs is asked about deadlocks, too.
pub(crate) fn reduced(seed: u64, _: &str, program: &Program) -> Result<Outcome, Difference> {
    let model = [Model::Sc, Model::Tso, Model::Pso][seed as usize % 3];
    let mut program = program.clone();
    program.deadlock = (seed / 3).is_multiple_of(2);
    let fingerprint = Fingerprint::of(&program, model, COPIES);
    let counters = Counters::Exact;
    let found = |reduce, most| {
        let kind = Kind::Reachable(Reachable { most, counters });
        let certificate = Certificate::empty(fingerprint, kind, model, COPIES);
        let options = Options {
            reduce,
            ..Options::default()
        };
        check(&program, &certificate, &options)
    };
    match (found(false, MOST), found(true, MOST)) {
        (Ok(all), Ok(enough)) if enough.entries <= all.entries => Ok(Outcome::Holds),
        (Err(all), Err(enough)) => match (all.reason, enough.reason) {
            (Reason::States(_) | Reason::Unsupported(_) | Reason::Undecided(_), _) => {
                Ok(Outcome::Unknown)
            }
            (_, Reason::States(_) | Reason::Unsupported(_) | Reason::Undecided(_)) => Err(format!(
                "{model}: more states where some steps are left out"
            )),
            _ => Ok(Outcome::Violated),
        },
        // Some programs have so many states only with all steps.
        (Err(all), Ok(_)) if matches!(all.reason, Reason::States(_)) => Ok(Outcome::Unknown),
        (all, enough) => Err(format!("{model}: all steps: {all:?}; enough: {enough:?}")),
    }
}
