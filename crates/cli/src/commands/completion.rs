//! `palisade fence` for programs whose remote races are always looked for: the fewest flushes (MPI), fences
//! and quiets (OpenSHMEM) and waits (GASPI) after remote operations with which the program holds.

use std::fmt::Write;

use anyhow::{Result, anyhow};
use palisade::c::{self, Library};
use palisade::repair::diff;
use palisade_fences::completion::{Call, Completed, Places, Rule, complete};
use palisade_program::{Gap, Model, Source, Verdict};
use palisade_report::{Document, Outcome, verdict};
use serde_json::json;

use super::fence::{c_options, changed_files, cost_text, options, write_repair};
use crate::args::FenceArgs;
use crate::context::Context;
use crate::shown::counted;
use crate::{c_task, input};

/// How calls are weighed.
fn rule(args: &FenceArgs) -> Result<Rule> {
    Ok(match args.cost.as_str() {
        "count" => Rule::Count,
        "loops" => Rule::Loops,
        file => {
            let text = cost_text(file)?;
            let table = Rule::parse(&text);
            table.map_err(|e| anyhow!("{file}:{}: {} (such as `flush 10`)", e.line, e.message))?
        }
    })
}

/// Repairs such a program; `None` if it is another one.
pub(super) fn run(args: &FenceArgs, context: &Context) -> Result<Option<Outcome>> {
    if !c_task::is_c(&args.file) {
        return Ok(None);
    }
    let text = input::read(&args.file)?;
    let c_options = c_options(args, context)?;
    let places = match c::remote_places(&args.file, &text, &c_options) {
        Ok(Some(places)) => places,
        Ok(None) => return Ok(None),
        Err(diagnostics) => return Ok(Some(input::refuse(context, &diagnostics))),
    };
    if let Err(diagnostics) = c::parse(&args.file, &places.source, &c_options) {
        return Ok(Some(input::refuse(context, &diagnostics)));
    }
    let read = |source: &Source| {
        let parsed = c::parse(&args.file, source, &c_options);
        parsed.map(|parsed| parsed.program).ok()
    };
    let calls: &[Call] = match places.library {
        Library::Mpi => &Call::MPI,
        Library::Shmem => &Call::SHMEM,
        Library::Gaspi => &Call::GASPI,
    };
    let rule = rule(args)?;
    let options = options(args, context, Model::Rma).verify;
    let options = palisade_verify::Options {
        falsify: true,
        ..options
    };
    let searched = Places {
        source: &places.source,
        gaps: &places.gaps,
        calls,
        rule: &rule,
        read: &read,
    };
    let mut found = complete(&searched, args.max_fences, &options);
    found.verdict = context.limits.explain(found.verdict);
    if found.verdict == Verdict::Holds {
        let proved = found.proof.as_ref().map(|(p, report)| (p, report));
        write_repair(args, &places.source, &found.patched, proved)?;
    }
    let shown = Shown {
        found: &found,
        source: &places.source,
        candidates: places.gaps.len(),
        library: places.library,
    };
    context.print(&shown.text(args, context), &shown.document(context));
    Ok(Some(Outcome::from(&found.verdict)))
}

/// A repair, to be shown.
struct Shown<'a> {
    found: &'a Completed,
    source: &'a Source,
    candidates: usize,
    library: Library,
}

impl Shown<'_> {
    fn is_certified(&self) -> bool {
        let proof = self.found.proof.as_ref();
        proof.is_some_and(|(_, report)| report.certified)
    }

    fn line(&self, gap: &Gap) -> usize {
        self.source.position(gap.statement.start).line as usize
    }

    const fn minimum(&self) -> &'static str {
        if self.found.is_minimum {
            "proved"
        } else {
            "unproved"
        }
    }

    fn text(&self, args: &FenceArgs, context: &Context) -> String {
        if self.found.verdict != Verdict::Holds {
            return verdict::line(&self.found.verdict, self.source, context.style);
        }
        let certified = if self.is_certified() {
            " (certified)"
        } else {
            ""
        };
        let calls = match (self.found.placed.len(), self.library) {
            (0, _) => "without further flushes".to_owned(),
            (n, Library::Shmem) => {
                format!("with {}", counted(n, "fence or quiet", "fences and quiets"))
            }
            (n, Library::Mpi) => format!("with {}", counted(n, "flush", "flushes")),
            (n, Library::Gaspi) => format!("with {}", counted(n, "wait", "waits")),
        };
        let mut text = format!("holds {calls}{certified}\n");
        // Writing to a string does not fail.
        for (gap, call) in &self.found.placed {
            let (file, line) = (self.source.file_at(gap.statement.start), self.line(gap));
            let (word, beside) = (call.word(), self.source.slice(gap.statement));
            let _ = writeln!(text, "  {file}:{line}: {word} after `{beside}`");
        }
        let _ = writeln!(text, "minimum: {}", self.minimum());
        if args.diff {
            text.push_str(&self.diff());
        }
        let tried = counted(self.found.tried, "placement", "placements");
        let candidates = counted(self.candidates, "candidate", "candidates");
        let _ = writeln!(text, "model rma, {candidates}, {tried} tried");
        text
    }

    fn diff(&self) -> String {
        let changed = changed_files(self.source, &self.found.patched);
        let diffs = changed.map(|(name, old, new)| diff::unified(name, name, old, new));
        diffs.collect()
    }

    fn document(&self, context: &Context) -> Document {
        let heading = Document {
            input: Some(self.source.name().to_owned()),
            model: Some(Model::Rma.to_string()),
            candidates: Some(self.candidates as u64),
            ..context.document()
        };
        let mut document = heading.with_verdict(&self.found.verdict, self.source);
        if self.found.verdict == Verdict::Holds {
            document.certified = Some(self.is_certified());
            document.minimum = Some(self.minimum());
            let placed = self.found.placed.iter();
            let placed = placed.map(|(gap, call)| {
                json!({
                    "file": self.source.file_at(gap.statement.start),
                    "line": self.line(gap),
                    "column": self.source.position(gap.statement.start).column,
                    "where": "after",
                    "kind": call.word(),
                })
            });
            document.fences = Some(placed.collect());
            document.text = Some(self.diff()).filter(|diff| !diff.is_empty());
        }
        document
    }
}
