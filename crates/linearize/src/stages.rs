//! *Stages*: searches with more and more calls, so that short histories are found first.
//!
//! A history that is not linearizable says more about a structure than a leak or a cycle
//! that comes before it. When something else is found first, the search goes on from
//! there without looking for leaks and cycles, within a smaller number of states.

use palisade_program::heap::{Program, Specification};

use crate::explore::{Failure, Found, Search, explore};
use crate::machine::Wrong;
use crate::options::Options;
use crate::witness::Witness;

/// States of a stage once something was found.
const STATES_AFTER: usize = 50_000;

/// Searches runs with up to `options.calls` calls. States and moves are those of all
/// stages together.
pub fn search(program: &Program, options: &Options) -> Result<Search, Failure> {
    let mut first: Option<Box<Witness>> = None;
    let mut calls = options.calls.min(2);
    let (mut states, mut transitions) = (0, 0);
    loop {
        let stage = stage(options, calls, first.is_some());
        let mut search = explore(program, &stage)?;
        states += search.states;
        transitions += search.transitions;
        (search.states, search.transitions) = (states, transitions);
        let last = calls >= options.calls;
        match search.found {
            Found::Wrong(witness) if first.is_none() && !decisive(program, &witness) => {
                first = Some(witness);
            }
            Found::Wrong(witness) if decisive(program, &witness) => {
                search.also = first.or(search.also);
                search.found = Found::Wrong(witness);
                return Ok(search);
            }
            found @ (Found::Wrong(_) | Found::Nothing | Found::Stopped(_)) => {
                let stopped = matches!(found, Found::Stopped(_));
                if last || stopped {
                    search.found = first.map_or(found, Found::Wrong);
                    return Ok(search);
                }
                calls += 1;
            }
        }
    }
}

fn stage(options: &Options, calls: u32, after: bool) -> Options {
    let max_states = if after {
        options.max_states.min(STATES_AFTER)
    } else {
        options.max_states
    };
    Options {
        calls,
        threads: options.threads.min(calls),
        check_cycles: options.check_cycles && !after,
        check_leaks: options.check_leaks && !after,
        max_states,
        ..options.clone()
    }
}

/// Whether nothing more telling can be found.
fn decisive(program: &Program, witness: &Witness) -> bool {
    let specified = program.specification != Specification::Nothing;
    witness.what == Wrong::NotLinearizable || !specified || witness.happenings.is_empty()
}
