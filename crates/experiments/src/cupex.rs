//! The suite `cupex`: predicate abstraction for relaxed memory models [Dan et al., SAS 2013],
//! tables 1 and 2. A row is one search with exactly the predicates that a person gives (under
//! TSO and PSO: extrapolated), by one strategy, with the fewest fences for the model and the
//! size of the buffers.
//!
//! The paper's own methods ask the solver every question, as published; what answers questions
//! without it (difference bounds, memory) is part of `lazy` and `cores`. Both counts are shown.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use palisade_frontend::pal;
use palisade_program::{Model, Program, Source, Unknown, Verdict};
use palisade_report::verdict::word;
use palisade_verify::{Buffers, Options, Promote, Report, Sizes, Strategy, check_given};
use serde_json::{Value, json};

use crate::suite::{Files, text, wrong};
use crate::{Case, Error, Plan, Request, Row};

/// A place where the suite may put a fence, in the text of its programs.
const CANDIDATE: &str = "fence?;";

const NOT_RUN: &str = "not run: fewer cells took too long already";

const LEGEND: &str = "\
preds: predicates over data + values of buffer counters (explicit here, predicates in the paper)
in cubes: cubes lifted from the proof under SC; cubes: those of two or more literals in the tables
asked: questions about cubes and states; calls: those that reached the solver (proof check apart);
enumerate (PE) and cubes (CE) ask the solver every time, as published; K: thousands
MB: the process's peak during the row; k: cells of each buffer; fences: the fewest that suffice
";

const COLUMNS: &str = "\
program  < | {program}                   | {program}
model    < | {model}                     | {model}
k        > | {cells}                     | {cells:-}
fences   > | {fences}                    | ?
method   < | {method}                    | paper's {method}
verdict  < | {verdict}                   | {verdict}
preds    > | {stats.predicates}          | {predicates}
in cubes > | {stats.input_cubes}         | {input_cubes:-}
cubes    > | {stats.cubes}               | {cubes}
size     > | {stats.cube_size}           | {cube_size}
asked K  > | {stats.queries:K}           | {solver_calls:k}
calls K  > | {stats.solver_calls:K}      | {solver_calls:k}
build s  > | {stats.build_seconds:.2}    | {build_seconds}
states K > | {stats.states:K}            | {states:k}
MB       > | {stats.peak_memory_bytes:M} | {memory_mb}
check s  > | {stats.check_seconds:.2}    | {check_seconds}
cert s   > | {stats.certify_seconds:.2}  | -
         < | {remark:?}                  |";

/// A program under a model with buffers of one size.
struct Experiment {
    name: String,
    /// The program, with its fences and predicates.
    program: Program,
    model: Model,
    /// Cells of each buffer; none under SC.
    cells: Option<u32>,
    fences: usize,
    /// Literals of the largest cubes.
    cube_size: usize,
    /// Whether cubes over buffered values are dropped (section 6.3).
    drop_buffered: bool,
    /// The paper's rows for the program and the model.
    paper: Vec<Value>,
}

pub(crate) fn plan(request: &Request) -> Result<Plan, Error> {
    let mut cases = Vec::new();
    // Whether a row timed out, by program, model and strategy.
    let mut late: BTreeMap<_, Rc<Cell<bool>>> = BTreeMap::new();
    for experiment in experiments(request)? {
        let experiment = Rc::new(experiment);
        for strategy in methods(request.strategy, experiment.model) {
            let key = (experiment.name.clone(), experiment.model, name(strategy));
            let is_late = late.entry(key).or_default().clone();
            let experiment = experiment.clone();
            cases.push(Case {
                table: Some(0),
                group: format!("{} {}", experiment.name, experiment.model),
                paper: experiment
                    .paper
                    .iter()
                    .map(|p| published(&experiment, p))
                    .collect(),
                run: Box::new(move |request| measure(request, &experiment, strategy, &is_late)),
            });
        }
    }
    Ok(Plan::of_one(LEGEND, COLUMNS, cases))
}

/// The strategies compared, in the order of the rows.
fn methods(only: Option<Strategy>, model: Model) -> Vec<Strategy> {
    let second = match model {
        Model::Sc => Strategy::Cores,
        Model::Tso | Model::Pso | Model::Rma | Model::Rc11 => Strategy::Cubes,
    };
    match only {
        // Under SC there is nothing to extrapolate from.
        Some(Strategy::Cubes | Strategy::Program) if model == Model::Sc => Vec::new(),
        Some(only) => vec![only],
        None => vec![Strategy::Enumerate, second, Strategy::Lazy],
    }
}

fn experiments(request: &Request) -> Result<Vec<Experiment>, Error> {
    let files = Files {
        name: "cupex",
        request,
    };
    let models = match request.model {
        Some(model) => vec![model],
        None => vec![Model::Sc, Model::Pso, Model::Tso],
    };
    let mut all = Vec::new();
    for entry in &files.programs()? {
        for &model in &models {
            let sizes: &[Option<u32>] = match model {
                Model::Sc => &[None],
                Model::Tso | Model::Pso | Model::Rma | Model::Rc11 => &[Some(1), Some(2), Some(3)],
            };
            for &cells in sizes {
                if cells.is_none() || request.cells.is_none_or(|only| cells == Some(only)) {
                    all.push(experiment(&files, entry, model, cells)?);
                }
            }
        }
    }
    Ok(all)
}

fn experiment(
    files: &Files<'_>,
    entry: &Value,
    model: Model,
    cells: Option<u32>,
) -> Result<Experiment, Error> {
    let chosen = match cells {
        Some(k) => {
            numbers(&entry["fences"][model.to_string()][k.to_string()]).ok_or_else(|| {
                Error::Suite(format!(
                    "suite.json lists no fences for {model} and {k} cells"
                ))
            })?
        }
        None => Vec::new(),
    };
    let source = files.read(text(entry, "program")?)?;
    let source = Source::new(source.name(), fenced(source.text(), &chosen)?);
    let parsed = pal::parse(source).map_err(wrong)?;
    let extra = files.read(text(entry, "predicates")?)?;
    let paper = entry["paper"][model.to_string()].as_array();
    Ok(Experiment {
        name: text(entry, "name")?.to_owned(),
        program: pal::with_predicates(&parsed.program, &extra).map_err(wrong)?,
        model,
        cells,
        fences: chosen.len(),
        cube_size: entry["cube_size"].as_u64().unwrap_or(4) as usize,
        drop_buffered: entry["drop_buffered"][model.to_string()] == Value::Bool(true),
        paper: paper.cloned().unwrap_or_default(),
    })
}

fn numbers(list: &Value) -> Option<Vec<usize>> {
    let number = |n: &Value| n.as_u64().map(|n| n as usize);
    list.as_array()?.iter().map(number).collect()
}

/// How many candidates a program has.
pub(crate) fn candidates(text: &str) -> usize {
    text.matches(CANDIDATE).count()
}

/// The text with fences at the chosen candidates, which are numbered from 1 in the
/// order of the text.
pub(crate) fn fenced(text: &str, chosen: &[usize]) -> Result<String, Error> {
    let count = candidates(text);
    if let Some(n) = chosen.iter().find(|n| **n == 0 || **n > count) {
        return Err(Error::Suite(format!(
            "suite.json names fence {n} of {count}"
        )));
    }
    let mut parts = text.split(CANDIDATE);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        if chosen.contains(&(index + 1)) {
            result.push_str("fence;");
        }
        result.push_str(part);
    }
    Ok(result)
}

const fn name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Enumerate => "enumerate",
        Strategy::Cores => "cores",
        Strategy::Lazy => "lazy",
        Strategy::Cubes => "cubes",
        Strategy::Program => "program",
    }
}

/// The paper's word for a method that is the paper's.
const fn paper_name(strategy: Strategy) -> Option<&'static str> {
    match strategy {
        Strategy::Enumerate => Some("PE"),
        Strategy::Cubes => Some("CE"),
        Strategy::Cores | Strategy::Lazy | Strategy::Program => None,
    }
}

/// A published row for the table: figures are for buffers of one cell.
fn published(experiment: &Experiment, paper: &Value) -> Value {
    let mut line = paper.clone();
    let is_late = paper["timeout"] == json!(true);
    line["program"] = json!(experiment.name);
    line["model"] = json!(experiment.model.to_string());
    line["cells"] = json!(experiment.cells.map(|_| 1));
    line["method"] = json!(paper["method"].as_str().unwrap_or("Trad"));
    line["verdict"] = json!(if is_late { "T/O" } else { "holds" });
    line
}

fn measure(
    request: &Request,
    experiment: &Experiment,
    strategy: Strategy,
    is_late: &Cell<bool>,
) -> Row {
    let own = paper_name(strategy);
    let mut value = json!({
        "program": experiment.name,
        "model": experiment.model.to_string(),
        "method": name(strategy),
        "fences": experiment.fences,
    });
    let mut shown = json!({});
    if let Some(own) = own {
        shown["method"] = json!(format!("{} ({own})", name(strategy)));
    }
    if let Some(cells) = experiment.cells {
        value["cells"] = json!(cells);
    }
    let same = |paper: &&Value| own.is_some_and(|own| paper["method"] == own);
    let paper = experiment.paper.iter().find(same);
    if let Some(paper) = paper.or_else(|| experiment.paper.last()) {
        value["paper"] = paper.clone();
    }
    if is_late.get() {
        value["verdict"] = json!("unknown");
        value["reason"] = json!(NOT_RUN);
        shown["verdict"] = json!("T/O");
        shown["remark"] = json!(NOT_RUN);
        return Row { value, shown };
    }
    let options = Options {
        strategy,
        shortcuts: own.is_none(),
        drop_buffered: experiment.drop_buffered,
        cube_size: experiment.cube_size,
        buffers: Buffers::Bounded(Sizes {
            default: experiment.cells.unwrap_or(1),
            named: BTreeMap::new(),
        }),
        promote: Promote::Never,
        refine: false,
        ..request.verification(experiment.model)
    };
    let started = Instant::now();
    let report = check_given(&experiment.program, &options);
    let stats = &report.stats;
    let certificate_calls = calls(&report, |purpose| purpose == "certify");
    let solver_calls = calls(&report, |purpose| purpose != "certify");
    value["verdict"] = json!(word(&report.verdict));
    value["certified"] = json!(report.certified);
    value["stats"] = json!({
        "predicates": stats.predicates,
        "control_predicates": stats.control_predicates,
        "split": stats.split,
        "input_cubes": stats.lifted_cubes,
        "cubes": stats.cubes.0,
        "cube_size": stats.cubes.1,
        "iterations": stats.iterations,
        "solver_calls": solver_calls,
        "certificate_calls": certificate_calls,
        "preparation_calls": stats.preparation_calls,
        "queries": solver_calls + stats.cache_hits,
        "states": stats.states,
        "build_seconds": seconds(&report, &["build"]),
        "check_seconds": seconds(&report, &["check"]),
        "certify_seconds": seconds(&report, &["certify"]),
        "seconds": started.elapsed().as_secs_f64(),
    });
    if stats.control_predicates > 0 {
        let sum = format!("{}+{}", stats.predicates, stats.control_predicates);
        shown["predicates"] = json!(sum);
    }
    if strategy != Strategy::Cubes {
        shown["input_cubes"] = Value::Null;
    }
    if strategy == Strategy::Lazy {
        shown["cubes"] = Value::Null;
        shown["cube_size"] = Value::Null;
    }
    if let Verdict::Unknown(why) = &report.verdict {
        value["reason"] = json!(why.to_string());
        if *why == Unknown::Time {
            is_late.set(true);
            shown["verdict"] = json!("T/O");
        }
    }
    if !report.notes.is_empty() {
        value["notes"] = json!(report.notes);
    }
    shown["remark"] = json!(remark(&report));
    Row { value, shown }
}

/// Solver calls for some purposes.
fn calls(report: &Report, wanted: impl Fn(&str) -> bool) -> u64 {
    let calls = report.stats.solver_calls.iter();
    calls.filter(|(p, _)| wanted(p)).map(|(_, n)| n).sum()
}

/// The time of some phases.
pub(crate) fn seconds(report: &Report, phases: &[&str]) -> f64 {
    let times = report
        .stats
        .times
        .iter()
        .filter(|(own, _)| phases.contains(own));
    times.map(|(_, time)| time.as_secs_f64()).sum()
}

fn remark(report: &Report) -> String {
    let mut remark = match &report.verdict {
        Verdict::Holds if report.certified => "certified".to_owned(),
        Verdict::Holds | Verdict::Violated(_) | Verdict::Unknown(Unknown::Time) => String::new(),
        Verdict::Unknown(why) => why.to_string(),
    };
    let noted = |word: &str| report.notes.iter().any(|note| note.contains(word));
    for (word, text) in [
        ("strengthened", "; SC proof strengthened"),
        ("rule 4", "; with rule 4"),
        ("copies", "; copies mixed"),
    ] {
        if noted(word) {
            remark.push_str(text);
        }
    }
    remark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_complete() {
        let all = experiments(&Request::all(crate::Suite::Cupex)).expect("the suite can be read");
        // Seven programs: under SC, and under two models with three sizes.
        assert_eq!(all.len(), 7 * (1 + 2 * 3));
        for experiment in &all {
            assert!(!experiment.paper.is_empty(), "{}", experiment.name);
            assert!(!experiment.program.hints.is_empty());
            if experiment.model == Model::Sc {
                let paper = &experiment.paper[0];
                assert!(paper["predicates"].is_u64() && paper["solver_calls"].is_u64());
            }
        }
        for pair in all.windows(2) {
            let same = pair[0].name == pair[1].name && pair[0].model == pair[1].model;
            let more = pair[1].fences > pair[0].fences;
            assert!(!(same && more), "more cells need no more fences");
        }
    }

    #[test]
    fn candidates_become_fences_or_nothing() {
        let text = "x = 1; fence?; y = 1; fence?;";
        let fenced_at = |chosen: &[usize]| fenced(text, chosen).expect("in range");
        assert_eq!(fenced_at(&[2]), "x = 1;  y = 1; fence;");
        assert_eq!(fenced_at(&[]), "x = 1;  y = 1; ");
        assert!(fenced(text, &[3]).is_err());
    }
}
