//! The suite `rma`: *Automatic Verification of RMA Programs via Abstraction Extrapolation*
//! [Baumann et al., VMCAI 2018].
//!
//! Table 3 of the paper starts with a flush after every remote operation and removes flushes;
//! ours are found by synthesis with its defaults and without hints. The program with these
//! flushes has a certified proof, and every flush is taken out alone: the machine must then
//! find a bug. The table's Boolean programs are measured by [`crate::extrapolated`].
//!
//! [`constructions`] compares three ways to make the Boolean program under RMA, as the paper
//! does on Bakery (section 5): the standard construction, which makes tables of cubes for every
//! statement, the lazy one, which asks about what the search meets, and Boolean program
//! extrapolation, which renames the Boolean program under SC and asks no solver. The program
//! has a flush after every remote operation, and its pending operations are value sets only.
//! All three start with the same predicates, those of a proof under SC with what extrapolation
//! makes of them; tables have cubes of two literals at most. Where the extrapolated program is
//! too weak, `verify` goes on with the lazy construction: the row says so.

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use palisade_fences::{Level, Options, Outcome, Placement, Plan as Candidates};
use palisade_frontend::{c, load_gapped_with};
use palisade_logic::Purpose;
use palisade_program::{Model, Side, Source, Verdict};
use palisade_report::usage;
use palisade_report::verdict::word;
use palisade_verify::{Buffers, Extrapolate, Goal, Report, Strategy, falsify, verify, verify_with};
use serde_json::{Value, json};

use crate::suite::Files;
use crate::synthesis::{self, Experiment};
use crate::{Case, Error, Plan, Request, Row, extrapolated, metered};

/// States of a search for a bug when a flush is taken out.
const HUNT: u64 = 2_000_000;

/// The program that the paper compares constructions on.
const COMPARED: &str = "bakery";

/// The constructions, by name.
const CONSTRUCTIONS: [(&str, Strategy); 3] = [
    ("standard", Strategy::Cores),
    ("lazy", Strategy::Lazy),
    ("program", Strategy::Program),
];

/// Literals of the largest cubes: with three the standard construction takes some minutes for Bakery.
const CUBE_SIZE: usize = 2;

const LEGEND: &str = "\
V, B: predicates of a proof under SC without explicit variables, and the Boolean program with them (seconds to build it, lines)
V', B': their extrapolation for the program with all flushes, value sets only; calls of the solver to make it; what a check of it says
flushes of so many candidates, by synthesis with its defaults; needed: taken out alone, they give a replayed bug
seconds: of processor time, of the synthesis and its proof (the paper's seconds are those of its model checker)
";

const COLUMNS: &str = "\
program   < | {program}              | {program}
          < | ours                   | paper
verdict   < | {verdict}              | holds
V         > | {boolean_programs.sc_predicates}     | {sc_predicates}
B s       > | {boolean_programs.build_seconds:.2}  | {build_seconds}
B lines   > | {boolean_programs.sc_lines}          | {sc_lines}
V'        > | {boolean_programs.rma_predicates}    | {rma_predicates}
B' lines  > | {boolean_programs.rma_lines}         | {rma_lines}
calls     > | {boolean_programs.extrapolation_calls} | -
B' check  < | {boolean_programs.extrapolated}      | holds
check s   > | {boolean_programs.check_seconds:.2}  | {seconds}
flushes   > | {flushes}/{candidates}               | {flushes}/{candidates}
needed    > | {needed}                             | -
minimum   < | {minimum}                            | -
seconds   > | {synthesis_seconds:.2}               | -
          < | {remark}                             | {note:?}";

const CONSTRUCTIONS_LEGEND: &str = "a flush after every remote operation, value sets only; questions about transformers, \
     those of the proof under SC included; calls of the solver for the Boolean program under \
     RMA; seconds of processor time\n";

const CONSTRUCTIONS_COLUMNS: &str = "\
program      < | {program}              |
construction < | {method}               |
verdict      < | {verdict}              |
preds        > | {stats.predicates}     |
rounds       > | {stats.iterations}     |
states       > | {stats.states}         |
questions    > | {questions}            |
calls        > | {construction_calls}   |
seconds      > | {stats.cpu_seconds:.2} |
             < | {remark}               |";

pub(crate) fn plan(request: &Request) -> Result<Plan, Error> {
    let case = |experiment: Experiment| Case {
        table: Some(0),
        group: experiment.name.clone(),
        paper: experiment.published(Model::Rma),
        run: Box::new(move |request| measure(request, &experiment)),
    };
    let cases = experiments(request)?.into_iter().map(case).collect();
    Ok(Plan::of_one(LEGEND, COLUMNS, cases))
}

pub(crate) fn constructions(request: &Request) -> Result<Plan, Error> {
    let program = request.program.as_deref().unwrap_or(COMPARED);
    let request = Request {
        program: Some(program.to_owned()),
        ..request.clone()
    };
    let mut cases = Vec::new();
    for experiment in experiments(&request)? {
        let experiment = Rc::new(experiment);
        for (name, strategy) in CONSTRUCTIONS {
            let experiment = experiment.clone();
            cases.push(Case {
                table: Some(0),
                group: String::new(),
                paper: Vec::new(),
                run: Box::new(move |request| compare(request, &experiment, name, strategy)),
            });
        }
    }
    Ok(Plan::of_one(
        CONSTRUCTIONS_LEGEND,
        CONSTRUCTIONS_COLUMNS,
        cases,
    ))
}

fn experiments(request: &Request) -> Result<Vec<Experiment>, Error> {
    if request.model.is_some() {
        return Err(Error::Model(
            "this suite has rows under rma only; leave --model out",
        ));
    }
    let files = Files {
        name: "rma",
        request,
    };
    // A place for a flush after every remote operation.
    synthesis::experiments(&files, |path: &Path, source: &Source| {
        load_gapped_with(path, source.text(), &c::Options::default(), &|gap| {
            gap.flush.is_some() && gap.side == Side::After
        })
    })
}

fn measure(request: &Request, experiment: &Experiment) -> Row {
    let options = synthesis::options(request, Model::Rma);
    let plan = experiment.plan(Model::Rma);
    // The Boolean programs get a third of the time.
    let third = palisade_verify::Options {
        deadline: Instant::now().checked_add(request.row_timeout / 3),
        ..options.verify.clone()
    };
    let everything = plan.switched(&plan.everything());
    let (boolean_programs, boolean_seconds, _) =
        metered(|| extrapolated::measure(&everything, &third));
    let begun = usage::cpu_seconds();
    let (found, mut value) = synthesis::value(experiment, &plan, &options);
    let repair = synthesis::repair(&found);
    let repaired = repair.map(|repair| plan.switched(&repair.placement));
    // A search of all runs has no certificate: then a proof is looked for.
    let certified = repair.map(|r| r.report.clone()).filter(|r| r.certified);
    let last = palisade_verify::Options {
        goal: Goal::Repair,
        ..options.verify.clone()
    };
    let prove = |p| verify_with(p, &last, &options.knowledge);
    let proof = certified.or_else(|| repaired.as_ref().map(prove));
    let proof = proof.filter(|proof| proof.certified);
    value["certified"] = json!(proof.is_some());
    value["boolean_programs"] = boolean_programs;
    let how = if proof.is_some() {
        "certified"
    } else {
        "all runs searched"
    };
    let remark = synthesis::remark(&found, how, "flushes");
    match repair {
        Some(repair) => {
            value["flushes"] = json!(plan.fences(&repair.placement).len());
            value["needed"] = json!(needed(&plan, &repair.placement, &found, &options));
        }
        None => value["reason"] = json!(remark),
    }
    value["synthesis_seconds"] = json!(usage::cpu_seconds() - begun);
    value["boolean_seconds"] = json!(boolean_seconds);
    if !experiment.paper.is_null() {
        value["paper"] = experiment.paper.clone();
    }
    let shown = json!({ "remark": remark });
    Row { value, shown }
}

/// How many of the flushes give a replayed bug when they are taken out alone. The synthesis has
/// met one for each, if its placement is a minimum; else the machine looks for one.
fn needed(
    plan: &Candidates<'_>,
    placement: &Placement,
    found: &Outcome,
    options: &Options,
) -> usize {
    let chosen = (0..placement.0.len()).filter(|&d| placement.0[d] != Level::None);
    let has_bug = |&decision: &usize| {
        let fewer = placement.with(decision, Level::None);
        let searched = || falsify(&plan.switched(&fewer), Model::Rma, HUNT, &options.verify);
        found.has_bug(plan, &fewer) || searched().is_some()
    };
    chosen.filter(has_bug).count()
}

fn compare(
    request: &Request,
    experiment: &Experiment,
    construction: &str,
    strategy: Strategy,
) -> Row {
    let plan = experiment.plan(Model::Rma);
    let options = palisade_verify::Options {
        strategy,
        buffers: Buffers::Abstract(0),
        extrapolate: Extrapolate::Predicates,
        cube_size: CUBE_SIZE,
        ..synthesis::options(request, Model::Rma).verify
    };
    let report = verify(&plan.switched(&plan.everything()), &options);
    let stats = &report.stats;
    let calls = transformer_calls(&report);
    let is_weak = report.stats.lazy_was_needed;
    let mut value = json!({
        "program": experiment.name,
        "model": "rma",
        "method": construction,
        "verdict": word(&report.verdict),
        "certified": report.certified,
        // What extrapolation takes is counted by itself; the others' calls are those for
        // transformers, also of the proof under SC.
        "construction_calls": stats.extrapolated.map_or(calls, |(calls, _)| calls),
        "questions": calls + stats.cache_hits,
        "too_weak": is_weak,
        "stats": {
            "predicates": stats.predicates,
            "iterations": stats.iterations,
            "solver_calls": stats.solver_calls.iter().map(|(_, n)| n).sum::<u64>(),
            "states": stats.states,
        },
    });
    if let Some((_, facts)) = stats.extrapolated {
        value["facts"] = json!(facts);
    }
    let remark = match &report.verdict {
        Verdict::Unknown(why) => {
            value["reason"] = json!(why.to_string());
            why.to_string()
        }
        Verdict::Holds if is_weak => "certified by the lazy construction".to_owned(),
        Verdict::Holds if report.certified => "certified".to_owned(),
        Verdict::Violated(_) | Verdict::Holds => String::new(),
    };
    let shown: Value = json!({ "remark": remark });
    Row { value, shown }
}

/// Solver calls for transformers.
fn transformer_calls(report: &Report) -> u64 {
    let transformers = [Purpose::Abstract.name(), Purpose::Guard.name()];
    let all = report.stats.solver_calls.iter();
    let all = all.filter(|(purpose, _)| transformers.contains(purpose));
    all.map(|(_, n)| n).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_complete() {
        let all = experiments(&Request::all(crate::Suite::Rma)).expect("the suite can be read");
        assert_eq!(all.len(), 15, "table 3 and Bluetooth");
        for experiment in &all {
            let paper = &experiment.paper;
            assert_eq!(paper.is_null(), experiment.name == "Bluetooth");
            assert!(paper.is_null() || paper["flushes"].is_u64() && paper["candidates"].is_u64());
            assert!(experiment.gapped.program.hints.is_empty());
            assert!(!experiment.gapped.gaps.is_empty());
        }
    }
}
