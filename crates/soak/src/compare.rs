//! How a program is decided twice. The expected verdict is the naive interpreter's where the
//! program is small enough for it, else the concrete machine's.

mod machine;
mod proof;
mod reach;
mod repair;

use palisade_frontend::pal;
use palisade_machine::explore;
use palisade_program::{Model, Orders, Program, Source, Unknown, Verdict};

use crate::{Difference, Outcome, reference};

pub(crate) use machine::{finals, machine};
pub(crate) use proof::{any_number, deadlocks, proof};
pub(crate) use reach::{gaps, reachable, reduced, shifted};
pub(crate) use repair::fewest_fences;

/// States that the naive interpreter visits at most.
const NAIVE: usize = 3_000;
/// States that the machine visits at most.
const STATES: u64 = 200_000;

/// The program of a text, if it is one, with memory orders mapped to fences or kept.
pub(crate) fn read(text: &str, orders: Orders) -> Option<Program> {
    let parsed = pal::parse_ordered(Source::new("random.pal", text), orders);
    parsed.ok().map(|p| p.program)
}

/// Whether a program holds, by the naive interpreter.
fn naive(program: &Program, model: Model) -> Option<bool> {
    let answer = reference::explore(program, model, NAIVE);
    answer.states.map(|_| !answer.violated)
}

/// Whether a program holds, by the concrete machine.
fn concrete(program: &Program, model: Model) -> Option<bool> {
    let options = palisade_machine::Options {
        max_states: Some(STATES),
        workers: 1,
        ..palisade_machine::Options::new(model)
    };
    match explore(program, &options).ok()?.verdict {
        Verdict::Holds => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// Whether a program holds, by an account that is not `verify`'s.
fn expected(program: &Program, model: Model) -> Option<bool> {
    let known = !program.deadlock && model != Model::Rc11;
    let naive = known.then(|| naive(program, model)).flatten();
    naive.or_else(|| concrete(program, model))
}

/// A verdict against what is expected.
fn judged(found: &Verdict, holds: bool, what: &str) -> Result<Outcome, Difference> {
    match found {
        Verdict::Holds if holds => Ok(Outcome::Holds),
        Verdict::Violated(_) if !holds => Ok(Outcome::Violated),
        Verdict::Unknown(why @ (Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_))) => {
            Err(format!("{what}: {why}"))
        }
        Verdict::Unknown(_) => Ok(Outcome::Unknown),
        Verdict::Holds => Err(format!("{what}: holds, but there is a violation")),
        Verdict::Violated(v) => Err(format!("{what}: violated ({}), but it holds", v.message)),
    }
}
