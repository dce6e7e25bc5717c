//! What rows of fence synthesis have in common: a program with its candidates, the synthesis,
//! and what it has found.

use std::path::Path;

use palisade_fences::{End, Options, Outcome, Plan, Repair, Rule, sites, synthesize};
use palisade_frontend::{Diagnostics, Gapped};
use palisade_program::{Model, Source};
use serde_json::{Value, json};

use crate::suite::{Files, text, wrong};
use crate::{Error, Request};

/// One program of a suite.
pub(crate) struct Experiment {
    pub(crate) name: String,
    pub(crate) gapped: Gapped,
    /// Lines of its text that are neither empty nor comments.
    pub(crate) lines: usize,
    /// The paper's row.
    pub(crate) paper: Value,
}

/// The programs that are wanted; `read` finds the candidates.
pub(crate) fn experiments(
    files: &Files<'_>,
    read: impl Fn(&Path, &Source) -> Result<Gapped, Diagnostics>,
) -> Result<Vec<Experiment>, Error> {
    let experiment = |entry: &Value| {
        let source = files.read(text(entry, "program")?)?;
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        Ok(Experiment {
            name: text(entry, "name")?.to_owned(),
            gapped: read(Path::new(source.name()), &source).map_err(wrong)?,
            lines: source.text().lines().filter(is_code).count(),
            paper: entry["paper"].clone(),
        })
    };
    files.programs()?.iter().map(experiment).collect()
}

impl Experiment {
    /// Its candidates under a model; every fence costs the same.
    pub(crate) fn plan(&self, model: Model) -> Plan<'_> {
        let program = &self.gapped.program;
        let places = sites(program, &self.gapped.gaps);
        Plan::new(program, model, places, &Rule::Count)
    }

    /// The paper's row for the table, if there is one.
    pub(crate) fn published(&self, model: Model) -> Vec<Value> {
        if self.paper.is_null() {
            return Vec::new();
        }
        let mut line = self.paper.clone();
        line["program"] = json!(self.name);
        line["model"] = json!(model.to_string());
        vec![line]
    }
}

/// Synthesis with its defaults, without hints.
pub(crate) fn options(request: &Request, model: Model) -> Options {
    Options {
        verify: palisade_verify::Options {
            hints: false,
            ..request.verification(model)
        },
        ..Options::default()
    }
}

/// The repair that a synthesis gives.
pub(crate) fn repair(found: &Outcome) -> Option<&Repair> {
    match &found.end {
        End::Repaired(repairs) => repairs.first(),
        End::WrongUnderSc(_) | End::NoRepair(_) | End::TooFew(_) | End::Unknown(_) => None,
    }
}

/// A row of a synthesis for scripts: what all suites say of it.
pub(crate) fn value(
    experiment: &Experiment,
    plan: &Plan<'_>,
    options: &Options,
) -> (Outcome, Value) {
    let found = synthesize(plan, options);
    let stats = &found.stats;
    let value = json!({
        "program": experiment.name,
        "model": options.verify.model.to_string(),
        "method": "fence",
        "verdict": match &found.end {
            End::Repaired(_) => "holds",
            End::WrongUnderSc(_) => "violated",
            End::NoRepair(_) | End::TooFew(_) | End::Unknown(_) => "unknown",
        },
        "minimum": if found.is_minimum { "proved" } else { "unproved" },
        "candidates": plan.sites.len(),
        "stats": {
            "predicates": found.predicates,
            "iterations": stats.iterations,
            "solver_calls": stats.solver_calls.iter().map(|(_, n)| n).sum::<u64>(),
            "states": stats.states,
            "rounds": found.rounds,
            "bugs": found.bugs,
        },
    });
    (found, value)
}

/// Why there is no placement, or what is not known about it; `repaired` says how it was
/// shown to be right, `noun` what is placed.
pub(crate) fn remark(found: &Outcome, repaired: &str, noun: &str) -> String {
    match &found.end {
        End::Repaired(_) => match found.undecided.first() {
            None => repaired.to_owned(),
            Some((_, why)) => format!("{repaired}; fewer: {why}"),
        },
        End::WrongUnderSc(_) => "wrong under sc".to_owned(),
        End::NoRepair(_) => "no placement repairs it".to_owned(),
        End::TooFew(most) => format!("not by {most} {noun}"),
        End::Unknown(why) => why.to_string(),
    }
}
