//! *Who decides* whether a placement is right: `palisade-verify`. Under RMA it looks first at
//! value sets only (seed 004, section 3), which are decided soon: they have few states, and a
//! violation that they show is replayed by the machine. If they are too coarse, the concrete
//! machine searches all runs, with equal pending operations counted to one, then to two
//! ([`palisade_machine::Options::saturate`]): that covers any number of them. Such a report has
//! no certificate; the caller proves the program that comes out in the end once more. Only
//! then everything else is tried that `palisade-verify` knows.

use palisade_machine::{Options as Search, explore};
use palisade_program::{Model, Program, Unknown, Verdict};
use palisade_verify::{Knowledge, Options, Promote, Report, Stats, verify_with};

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
