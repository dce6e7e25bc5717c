//! The suite `cupex` as data (`suites/cupex`): programs with candidate fences, the
//! fences that each model and buffer size need, the predicates that a person gives
//! for SC, and the published figures.

use anyhow::{Context as _, Result, anyhow};
use palisade_frontend::pal;
use palisade_program::{Model, Program, Source};
use serde_json::Value;

use super::super::suites::{Suite, text};
use crate::args::BenchArgs;
use crate::predicates;

/// The files of the suite `cupex`, by name.
macro_rules! cupex {
    ($($name:literal),* $(,)?) => {
        Suite {
            folder: "suites/cupex",
            files: &[$(($name, include_str!(concat!("../../../../../suites/cupex/", $name)))),*],
        }
    };
}

const CUPEX: Suite = cupex![
    "suite.json",
    "dekker.pal",
    "dekker.predicates",
    "peterson.pal",
    "peterson.predicates",
    "abp.pal",
    "abp.predicates",
    "szymanski.pal",
    "szymanski.predicates",
    "queue.pal",
    "queue.predicates",
    "bakery.pal",
    "bakery.predicates",
    "ticket.pal",
    "ticket.predicates",
];

/// A place where the suite may put a fence, in the text of its programs.
const CANDIDATE: &str = "fence?;";

/// One experiment: a program under a model with buffers of one size.
pub(super) struct Experiment {
    /// The program's name.
    pub(super) name: String,
    /// The program, with its fences and predicates.
    pub(super) program: Program,
    /// The model.
    pub(super) model: Model,
    /// Cells of each buffer; none under SC.
    pub(super) cells: Option<u32>,
    /// How many fences it has.
    pub(super) fences: usize,
    /// Literals of the largest cubes.
    pub(super) cube_size: usize,
    /// Whether cubes over buffered values are dropped (section 6.3).
    pub(super) drop_buffered: bool,
    /// The paper's rows for the program and the model.
    pub(super) paper: Vec<Value>,
}

/// The experiments that the arguments ask for, in the order of the rows.
pub(super) fn experiments(args: &BenchArgs) -> Result<Vec<Experiment>> {
    let mut all = Vec::new();
    for entry in &CUPEX.entries(args)? {
        for model in args.model.models() {
            if model == Model::Sc {
                all.push(experiment(args, entry, model, None)?);
                continue;
            }
            for cells in 1..=3 {
                if args.cells.is_none_or(|only| only == cells) {
                    all.push(experiment(args, entry, model, Some(cells))?);
                }
            }
        }
    }
    Ok(all)
}

fn experiment(
    args: &BenchArgs,
    entry: &Value,
    model: Model,
    cells: Option<u32>,
) -> Result<Experiment> {
    let chosen = match cells {
        Some(k) => numbers(&entry["fences"][model.to_string()][k.to_string()])
            .with_context(|| format!("suite.json lists no fences for {model} and {k} cells"))?,
        None => Vec::new(),
    };
    let source = CUPEX.file(args, text(entry, "program")?)?;
    let source = Source::new(source.name(), fenced(source.text(), &chosen)?);
    let parsed = pal::parse(source).map_err(|d| anyhow!("{}", d.render(false)))?;
    let extra = CUPEX.file(args, text(entry, "predicates")?)?;
    let program = predicates::add(&parsed.program, &extra)?;
    let paper = entry["paper"][model.to_string()].as_array();
    Ok(Experiment {
        name: text(entry, "name")?.to_owned(),
        program: program.map_err(|d| anyhow!("{}", d.render(false)))?,
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

/// The text with fences at the chosen candidates, which are numbered from 1 in the
/// order of the text.
fn fenced(text: &str, chosen: &[usize]) -> Result<String> {
    let count = text.matches(CANDIDATE).count();
    if let Some(n) = chosen.iter().find(|n| **n == 0 || **n > count) {
        return Err(anyhow!("suite.json names fence {n} of {count}"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{BenchModel, SuiteArg};

    fn arguments() -> BenchArgs {
        BenchArgs {
            suite: SuiteArg::Cupex,
            tasks: None,
            model: BenchModel::All,
            cells: None,
            program: None,
            strategy: None,
            folder: None,
            plot: None,
            constructions: false,
            row_timeout: std::time::Duration::from_mins(1),
            common: crate::args::CommonArgs::default(),
        }
    }

    #[test]
    fn the_suite_is_complete() {
        let all = experiments(&arguments()).expect("the suite can be read");
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
    }

    #[test]
    fn more_cells_need_no_more_fences() {
        let all = experiments(&arguments()).expect("the suite can be read");
        for pair in all.windows(2) {
            let same = pair[0].name == pair[1].name && pair[0].model == pair[1].model;
            assert!(
                !same || pair[0].fences >= pair[1].fences,
                "{}",
                pair[0].name
            );
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
