//! `palisade bench`: runs a suite of experiments and prints the published figures beside ours.

use std::io::{self, IsTerminal};

use anyhow::Context as _;
use palisade_experiments::{Request, Suite, plot, run as run_suite};
use palisade_report::{Document, Outcome, Stats};
use palisade_verify::Strategy;
use serde_json::json;

use super::svcomp;
use crate::CommandResult;
use crate::args::{BenchArgs, StrategyArg, SuiteArg};
use crate::context::Context;

pub(super) fn run(args: &BenchArgs, context: &Context) -> CommandResult {
    let suite = match args.suite {
        SuiteArg::Cupex if args.fewest_fences => Suite::FewestFences,
        SuiteArg::Cupex => Suite::Cupex,
        SuiteArg::Fences => Suite::Fences,
        SuiteArg::Rma if args.constructions => Suite::Constructions,
        SuiteArg::Rma => Suite::Rma,
        SuiteArg::Sapa => Suite::Sapa,
        SuiteArg::Scale => Suite::Scale,
        SuiteArg::Soft => Suite::Soft,
        SuiteArg::Svcomp => return svcomp::run(args, context),
    };
    let request = Request {
        suite,
        model: args.model.model(),
        cells: args.cells,
        program: args.program.clone(),
        strategy: args.strategy.map(|strategy| match strategy {
            StrategyArg::Enumerate => Strategy::Enumerate,
            StrategyArg::Cores => Strategy::Cores,
            StrategyArg::Lazy => Strategy::Lazy,
            StrategyArg::Cubes => Strategy::Cubes,
            StrategyArg::Program => Strategy::Program,
        }),
        folder: args.folder.clone(),
        row_timeout: args.row_timeout,
        deadline: context.limits.deadline,
        cancel: context.limits.cancel.clone(),
        // The table has its widths when all rows are there; a person sees them as they come.
        announce: io::stderr()
            .is_terminal()
            .then_some(|line| eprintln!("{line}")),
    };
    let heading = Document {
        model: (suite == Suite::Cupex).then(|| args.model.to_string()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    if let (Some(file), Suite::Sapa | Suite::Scale) = (&args.plot, suite) {
        let picture = plot(&request)?;
        std::fs::write(file, picture)
            .with_context(|| format!("cannot write {}", file.display()))?;
        context.print(&format!("{}\n", file.display()), &heading);
        return Ok(Outcome::Done);
    }
    let results = run_suite(&request)?;
    let document = Document {
        rows: Some(results.rows),
        options: Some(json!({ "row_timeout": args.row_timeout.as_secs_f64() })),
        stats: Some(Stats {
            peak_memory_bytes: results.memory,
            ..crate::context::stats()
        }),
        ..heading
    };
    context.print(&results.text, &document);
    // 0 when every input was read and run.
    Ok(if results.is_complete {
        Outcome::Done
    } else {
        Outcome::Unknown
    })
}
