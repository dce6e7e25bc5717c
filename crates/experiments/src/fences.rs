//! The suite `fences`: the fewest fences of eight programs under TSO and PSO, beside table 1 of
//! *Automatic Fence Insertion in Integer Programs via Predicate Abstraction* [Abdulla et al.,
//! SAS 2012].
//! A row is one run of fence synthesis with its defaults and without hints.

use std::rc::Rc;

use palisade_fences::{Level, Placement, Plan as Candidates, useful};
use palisade_frontend::{Diagnostics, Gapped, load_gapped};
use palisade_program::{Model, Source};
use serde_json::json;

use crate::suite::Files;
use crate::synthesis::{self, Experiment};
use crate::{Case, Error, Plan, Request, Row};

const LEGEND: &str = "fences for each process; size: the paper's instructions, our lines; seconds of processor time\n";

const COLUMNS: &str = "\
program < | {program}                 | {program}
model   < | {model}                   | {model}
        < | ours                      | paper
verdict < | {verdict}                 | holds
size    > | {lines}                   | {loc}
full    > | {fences_per_process.full} | {fences_per_process}
ss      > | {fences_per_process.ss}   | -
minimum < | {minimum}                 | -
preds   > | {stats.predicates}        | {predicates}
places  > | {candidates}              | -
rounds  > | {stats.rounds}            | -
seconds > | {stats.cpu_seconds:.2}    | {seconds}
        < | {remark}                  |";

pub(crate) fn plan(request: &Request) -> Result<Plan, Error> {
    let models = match request.model {
        None => vec![Model::Tso, Model::Pso],
        Some(model @ (Model::Tso | Model::Pso)) => vec![model],
        Some(Model::Sc | Model::Rma | Model::Rc11) => {
            return Err(Error::Model(
                "fences are for --model tso and --model pso; without --model both are run",
            ));
        }
    };
    let experiments: Vec<_> = experiments(request)?.into_iter().map(Rc::new).collect();
    let mut cases = Vec::new();
    for model in models {
        for (number, experiment) in experiments.iter().enumerate() {
            let experiment = experiment.clone();
            // The paper has figures for TSO.
            let paper = (model == Model::Tso).then(|| experiment.published(model));
            cases.push(Case {
                table: Some(0),
                group: format!("{number} {model}"),
                paper: paper.unwrap_or_default(),
                run: Box::new(move |request| measure(request, model, &experiment)),
            });
        }
    }
    Ok(Plan::of_one(LEGEND, COLUMNS, cases))
}

fn experiments(request: &Request) -> Result<Vec<Experiment>, Error> {
    let files = Files {
        name: "fences",
        request,
    };
    synthesis::experiments(&files, gapped)
}

/// The program with a candidate at each place that can matter.
fn gapped(path: &std::path::Path, source: &Source) -> Result<Gapped, Diagnostics> {
    let all = load_gapped(path, source.text(), &|_| true)?;
    let kept = useful(&all.program, &all.gaps, Model::Pso);
    load_gapped(path, source.text(), &|gap| kept.contains(&gap.at))
}

fn measure(request: &Request, model: Model, experiment: &Experiment) -> Row {
    let plan = experiment.plan(model);
    let (found, mut value) =
        synthesis::value(experiment, &plan, &synthesis::options(request, model));
    let repair = synthesis::repair(&found);
    let certified = repair.is_some_and(|repair| repair.report.certified);
    value["certified"] = json!(certified);
    value["lines"] = json!(experiment.lines);
    let how = if certified {
        "certified"
    } else {
        "not certified"
    };
    let remark = synthesis::remark(&found, how, "fences");
    match repair {
        Some(repair) => {
            let (full, store_store) = most_fences(&plan, &repair.placement);
            value["fences_per_process"] = json!({ "full": full, "ss": store_store });
        }
        None => value["reason"] = json!(remark),
    }
    if model == Model::Tso {
        value["paper"] = experiment.paper.clone();
    }
    let shown = json!({ "remark": remark });
    Row { value, shown }
}

/// The fences of the process that has most: full, store-store.
fn most_fences(plan: &Candidates<'_>, placement: &Placement) -> (usize, usize) {
    let fences = plan.fences(placement);
    let of = |instance| {
        let own = |wanted: Level| {
            let own = fences.iter().filter(|(site, level)| {
                *level == wanted && !plan.threads(site, &[instance]).is_empty()
            });
            own.count()
        };
        (own(Level::Full), own(Level::StoreStore))
    };
    let all = plan.program.instances(2).into_iter().map(of);
    all.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_complete() {
        let all = experiments(&Request::all(crate::Suite::Fences)).expect("the suite can be read");
        assert_eq!(all.len(), 8);
        for experiment in &all {
            let paper = &experiment.paper;
            assert!(paper["loc"].is_u64() && paper["seconds"].is_number());
            assert!(paper["fences_per_process"].is_u64() && paper["predicates"].is_u64());
            assert!(experiment.gapped.program.hints.is_empty());
            assert!(!experiment.gapped.gaps.is_empty());
        }
    }
}
