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
