//! *Who decides* whether a placement is right. Under RMA, one after another until there is a
//! verdict:
//!
//! 1. the concrete machine looks for bugs with room for one pending operation of each process.
//!    Most wrong placements have such a bug, often deep, and more room makes states by the
//!    million before its depth is reached;
//! 2. `palisade-verify` looks at value sets only (seed 004, section 3): they have few
//!    states, and a violation that they show is replayed by the machine;
//! 3. the machine looks for bugs with room for two and three operations;
//! 4. the machine searches all runs, with equal pending operations counted to one, then to two
//!    ([`palisade_machine::Options::saturate`]): that covers any number of them. Such a report
//!    has no certificate; the caller proves the program that comes out in the end once more;
//! 5. everything else that `palisade-verify` knows.

use palisade_machine::{Options as Search, explore};
use palisade_program::{Model, Program, Unknown, Verdict};
use palisade_verify::hunt::hunt_within;
use palisade_verify::{Knowledge, Options, Promote, Report, Stats, verify_with};

/// Pending operations of a process, and the states of each hunt for deep bugs.
const HUNTS: [(u32, u64); 2] = [(2, 1_000_000), (3, 1_000_000)];
/// The same for a first look.
const FIRST_HUNT: (u32, u64) = (1, 1_500_000);
/// How far equal operations are counted, and the states of each search.
const SEARCHES: [(usize, u64); 2] = [(1, 1_000_000), (2, 1_000_000)];
/// Abstract states of each search of the first look.
const FIRST_STATES: usize = 1_000_000;

/// Whether the program satisfies its properties under the model of `options`.
pub fn decide(program: &Program, options: &Options, knowledge: &Knowledge) -> Report {
    let mut report = match options.model {
        Model::Rma => remote(program, options, knowledge),
        Model::Sc | Model::Tso | Model::Pso => verify_with(program, options, knowledge),
    };
    // One placement that cannot be decided says nothing about the others.
    if let (Verdict::Unknown(Unknown::Unsupported(what, _)), Model::Rma) =
        (&report.verdict, options.model)
    {
        report.verdict = Verdict::Unknown(Unknown::GaveUp(what.clone()));
    }
    report
}

fn remote(program: &Program, options: &Options, knowledge: &Knowledge) -> Report {
    if let Some(bug) = hunt_within(program, options.model, FIRST_HUNT, options) {
        return bug.report();
    }
    let first = Options {
        brief: true,
        max_states: FIRST_STATES,
        promote: Promote::Always,
        ..options.clone()
    };
    let report = verify_with(program, &first, knowledge);
    match report.verdict {
        Verdict::Holds | Verdict::Violated(_) => return report,
        Verdict::Unknown(Unknown::Time | Unknown::Interrupted) => return report,
        Verdict::Unknown(_) => {}
    }
    let mut hunts = HUNTS.iter();
    if let Some(bug) = hunts.find_map(|&room| hunt_within(program, options.model, room, options)) {
        return bug.report();
    }
    searched(program, options).unwrap_or_else(|| verify_with(program, options, knowledge))
}

/// A proof with a certificate if there is one, else what [`decide`] says.
pub fn certify(program: &Program, options: &Options, knowledge: &Knowledge) -> Report {
    let proved = verify_with(program, options, knowledge);
    match (&proved.verdict, options.model) {
        (Verdict::Unknown(_), Model::Rma) => searched(program, options).unwrap_or(proved),
        (_, Model::Sc | Model::Tso | Model::Pso | Model::Rma) => proved,
    }
}

/// What searches of all runs say; `None` if they come to no verdict.
fn searched(program: &Program, options: &Options) -> Option<Report> {
    let mut all = SEARCHES.iter();
    all.find_map(|&(count, states)| counted(program, options, count, states))
}

fn counted(program: &Program, options: &Options, count: usize, states: u64) -> Option<Report> {
    let search = Search {
        saturate: Some(count),
        threads: options.copies(),
        max_states: Some(states),
        deadline: options.deadline,
        cancel: options.cancel.clone(),
        ..Search::new(options.model)
    };
    let found = explore(program, &search).ok()?;
    if let Verdict::Unknown(_) = found.verdict {
        return None;
    }
    Some(Report {
        verdict: found.verdict,
        witness: found.witness,
        certified: false,
        certificate: None,
        predicates: Vec::new(),
        notes: vec!["all runs were searched; there is no certificate".to_owned()],
        stats: Stats {
            states: found.stats.states as usize,
            ..Stats::default()
        },
    })
}
