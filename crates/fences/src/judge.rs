//! *Who decides* whether a placement is right: `palisade-verify`. Under RMA a program whose
//! variables take few values is searched by the concrete machine first, with equal pending
//! operations counted to one, then to two ([`palisade_machine::Options::saturate`]): that
//! covers any number of them, and costs less than a proof. Such a report has no
//! certificate; the caller proves the program that comes out in the end once more.

use palisade_machine::{Options as Search, explore};
use palisade_program::{Model, Program, Unknown, Verdict};
use palisade_verify::{Knowledge, Options, Report, Stats, verify_with};

/// How far equal operations are counted, and the states of each search.
const SEARCHES: [(usize, u64); 2] = [(1, 2_000_000), (2, 1_000_000)];

/// Whether the program satisfies its properties under the model of `options`.
pub fn decide(program: &Program, options: &Options, knowledge: &Knowledge) -> Report {
    let searched = match options.model {
        Model::Rma => searched(program, options),
        Model::Sc | Model::Tso | Model::Pso => None,
    };
    let mut report = searched.unwrap_or_else(|| verify_with(program, options, knowledge));
    // One placement that cannot be decided says nothing about the others.
    if let (Verdict::Unknown(Unknown::Unsupported(what, _)), Model::Rma) =
        (&report.verdict, options.model)
    {
        report.verdict = Verdict::Unknown(Unknown::GaveUp(what.clone()));
    }
    report
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
