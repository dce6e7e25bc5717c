//! `palisade fence --model rc11`: the weakest memory orders and the fewest fences that make a
//! program right, proved, and shown as a patch of the source.

use std::fmt::Write;
use std::fs;

use anyhow::{Context as _, Result, bail};
use palisade::repair::diff;
use palisade::repair::orders::{
    Carrier, Decision, End, Plan, Repaired, Rule, Spot, Start, Strength,
};
use palisade_fences::plan::{anchor, side_name};
use palisade_program::{Model, Order, Program, Verdict};
use palisade_report::html::Page;
use palisade_report::{Document, Ink, Outcome, Stats, verdict};
use serde_json::{Value, json};

use super::fence::{anchored_line, candidates, changed_files, options, write_repair};
use crate::CommandResult;
use crate::args::{FenceArgs, StartArg};
use crate::context::{self, Context};
use crate::next::Next;
use crate::progress::Progress;
use crate::shown::{counted, shown_trace, trace_of};
use crate::uninitialised;

pub(super) fn run(args: &FenceArgs, context: &Context) -> CommandResult {
    let model = Model::Rc11;
    let start = start(args)?;
    let rule = rule(args)?;
    let candidates = candidates(args, context)?;
    let program = &candidates.program;
    let plan = candidates.orders(start, &rule);
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some(model.to_string()),
        options: Some(json!({
            "start": start_name(start),
            "cost": args.cost,
            "all": args.all,
            "max_fences": args.max_fences,
            "copies": args.copies,
        })),
        candidates: Some(plan.decisions.len() as u64),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let options = options(args, context, model);
    let progress = Progress::start("choosing memory orders");
    let mut found = candidates.repair_orders(&plan, &candidates.spelling(), &options);
    drop(progress);
    found.verdict = context.limits.explain(found.verdict);
    let result = Shown {
        plan: &plan,
        program,
        found,
        start,
    };
    result.write_files(args)?;
    let mut text = result.text(args, context);
    let next = Next::of_limits(&result.found.verdict, program, context);
    if let Some(end) = text.find('\n') {
        text.insert_str(end + 1, &next.text(program));
    }
    if !args.diff {
        for assumption in &program.assumptions {
            // Writing to a string does not fail.
            let _ = writeln!(text, "note: {assumption}");
        }
    }
    let document = Document {
        warnings: uninitialised::warn(context, program, &candidates.chosen),
        uninitialised: candidates.chosen.keys().cloned().collect(),
        next: next.value(program),
        ..result.document(heading)
    };
    context.print(&text, &document);
    Ok(Outcome::from(&result.found.verdict))
}

fn start(args: &FenceArgs) -> Result<Start> {
    Ok(match args.start {
        None | Some(StartArg::Own) => Start::Own,
        Some(StartArg::Relaxed) => Start::Relaxed,
        Some(StartArg::SeqCst) => Start::SeqCst,
        Some(StartArg::All) => bail!("--start all: this is for --model rma"),
    })
}

const fn start_name(start: Start) -> &'static str {
    match start {
        Start::Own => "own",
        Start::Relaxed => "relaxed",
        Start::SeqCst => "seq_cst",
    }
}

fn rule(args: &FenceArgs) -> Result<Rule> {
    Ok(match args.cost.as_str() {
        "count" => Rule::default(),
        "loops" => Rule {
            loops: true,
            ..Rule::default()
        },
        file => {
            let text = fs::read_to_string(file).with_context(|| {
                format!("--cost {file}: neither `count` nor `loops` nor a file that can be read")
            })?;
            Rule::table(&text).map_err(|e| {
                anyhow::anyhow!(
                    "{file}:{}: {} (such as `load acquire 2`)",
                    e.line,
                    e.message
                )
            })?
        }
    })
}

/// A repair, to be shown.
struct Shown<'a, 'p> {
    plan: &'a Plan<'p>,
    program: &'a Program,
    found: Repaired,
    start: Start,
}

impl Shown<'_, '_> {
    fn write_files(&self, args: &FenceArgs) -> Result<()> {
        if self.found.verdict != Verdict::Holds {
            return Ok(());
        }
        let proved = self.found.program.as_ref().zip(self.found.proof.as_ref());
        write_repair(args, &self.program.source, &self.found.patched, proved)
    }

    /// The result for people.
    fn text(&self, args: &FenceArgs, context: &Context) -> String {
        let mut text = self.headline(context);
        if let (End::Wrong(violation), Verdict::Violated(_)) =
            (&self.found.outcome.end, &self.found.verdict)
        {
            text.push_str("the bug exists with the strongest orders: no order can repair it\n");
            let trace = &violation.trace;
            text.push_str(&shown_trace(context, self.program, trace, args.trace));
        }
        for (number, placement) in self.found.placements.iter().enumerate() {
            if number > 0 {
                text.push_str("or:\n");
            }
            for (decision, strength) in self.shown(placement) {
                // Writing to a string does not fail.
                let _ = writeln!(text, "  {}", self.line(decision, strength));
            }
        }
        if self.found.verdict == Verdict::Holds {
            let _ = writeln!(text, "minimum: {}", self.minimum());
            if args.all && !self.found.outcome.is_complete {
                text.push_str("note: there may be further placements of this cost\n");
            }
        }
        for note in self.notes() {
            let _ = writeln!(text, "note: {note}");
        }
        if self.found.verdict == Verdict::Holds && args.diff {
            text.push_str(&self.diff());
        }
        let summary = format!(
            "model rc11, {}, {}, {}",
            counted(self.plan.decisions.len(), "candidate", "candidates"),
            counted(self.found.outcome.rounds, "round", "rounds"),
            counted(self.found.outcome.bugs, "bug", "bugs"),
        );
        let _ = writeln!(text, "{}", context.style.paint(Ink::Faint, &summary));
        text
    }

    fn notes(&self) -> Vec<String> {
        let source = &self.program.source;
        let fixed = self.plan.fixed.iter().map(|at| {
            let place = source.place(at.start);
            format!("{place}: keeps its order, which is not written in its own text")
        });
        let undecided = self.found.outcome.undecided.iter();
        let undecided = undecided.map(|(placement, why)| {
            let placement = self.plan.describe(placement);
            format!("undecided: {placement}: {why}")
        });
        fixed.chain(undecided).collect()
    }

    fn headline(&self, context: &Context) -> String {
        if self.found.verdict != Verdict::Holds {
            return verdict::line(&self.found.verdict, &self.program.source, context.style);
        }
        let word = context.style.paint(Ink::Good, "holds");
        let changed = self.found.placements.first().map_or(0, |p| {
            let orders = self.plan.changed(p);
            orders.filter(|(d, _)| !is_new(d)).count()
        });
        let fences = self.found.placements.first().map_or(0, |p| {
            let changed = self.plan.changed(p);
            changed.filter(|(d, _)| is_new(d)).count()
        });
        let mut parts = Vec::new();
        if changed > 0 {
            parts.push(counted(changed, "other order", "other orders"));
        }
        if fences > 0 {
            parts.push(counted(fences, "new fence", "new fences"));
        }
        let how = if parts.is_empty() {
            "as it is".to_owned()
        } else {
            format!("with {}", parts.join(" and "))
        };
        let certified = if self.found.is_certified() {
            " (certified)"
        } else {
            ""
        };
        format!("{word} {how}{certified}\n")
    }

    fn minimum(&self) -> &'static str {
        if self.found.outcome.is_minimum {
            "proved"
        } else {
            "unproved"
        }
    }

    /// What is listed: a repair's changes, or all orders where they were chosen anew.
    fn shown<'a>(
        &'a self,
        placement: &'a [usize],
    ) -> impl Iterator<Item = (&'a Decision, Strength)> {
        let all = self.plan.decisions.iter().zip(placement);
        let listed = all.filter(|(d, l)| match (self.start, is_new(d)) {
            (Start::Own, _) | (_, true) => **l != d.own,
            (Start::Relaxed | Start::SeqCst, false) => true,
        });
        listed.map(|(d, &l)| (d, d.levels[l]))
    }

    /// Where, what, and what it was.
    fn line(&self, decision: &Decision, strength: Strength) -> String {
        let source = &self.program.source;
        let was = decision.levels[decision.own];
        match &decision.spot {
            Spot::Between(site) => {
                let place = anchor(source, &site.gap);
                let statement = source.slice(site.gap.statement);
                let beside = if statement.contains('\n') {
                    anchored_line(source, &site.gap)
                } else {
                    statement
                };
                let file = source.file_at(site.gap.statement.start);
                let side = side_name(site.gap.side);
                format!("{file}:{place}: fence({strength}) {side} `{beside}`")
            }
            Spot::Written { at, .. } => {
                let text = source.slice(*at);
                let text = match text.split_once('\n') {
                    Some((first, _)) => format!("{} ...", first.trim_end()),
                    None => text.trim_end_matches(';').to_owned(),
                };
                let word = match (decision.carrier, strength.order) {
                    (Carrier::Fence, Order::Relaxed) => "no fence".to_owned(),
                    _ => strength.to_string(),
                };
                let place = source.place(at.start);
                let same = if was == strength { ", as it is" } else { "" };
                format!("{place}: {word} at `{text}`{same}")
            }
        }
    }

    fn diff(&self) -> String {
        let changed = changed_files(&self.program.source, &self.found.patched);
        let diffs = changed.map(|(name, old, new)| diff::unified(name, name, old, new));
        diffs.collect()
    }

    fn value(&self, placement: &[usize]) -> Vec<Value> {
        let source = &self.program.source;
        let each = |(decision, strength): (&Decision, Strength)| {
            let span = decision.span();
            let (place, side) = match &decision.spot {
                Spot::Between(site) => (anchor(source, &site.gap), side_name(site.gap.side)),
                Spot::Written { at, .. } => (source.position(at.start), "at"),
            };
            json!({
                "file": source.file_at(span.start),
                "line": place.line,
                "column": place.column,
                "where": side,
                "kind": decision.carrier.name(),
                "order": strength.order.to_string(),
                "failing": strength.failing.map(|o| o.to_string()),
                "was": (!is_new(decision)).then(|| decision.levels[decision.own].order.to_string()),
            })
        };
        self.shown(placement).map(each).collect()
    }

    /// The result for scripts.
    fn document(&self, heading: Document) -> Document {
        let mut document = heading.with_verdict(&self.found.verdict, &self.program.source);
        if let Some(first) = self.found.placements.first() {
            document.certified = Some(self.found.is_certified());
            document.fences = Some(self.value(first));
            document.minimum = Some(self.minimum());
            let others = self.found.placements[1..].iter();
            document.alternatives = Some(others.map(|p| json!(self.value(p))).collect());
            document.text = Some(self.diff()).filter(|diff| !diff.is_empty());
        }
        let mut page = Page::of_program(self.program, trace_of(&self.found.verdict));
        page.patch.clone_from(&document.text);
        document.page = Some(Box::new(page));
        document.notes.extend(self.notes());
        let more = json!({
            "rounds": self.found.outcome.rounds,
            "bugs": self.found.outcome.bugs,
        });
        document.stats = Some(Stats {
            states: Some(self.found.outcome.states as u64),
            more: more.as_object().cloned().unwrap_or_default(),
            ..context::stats()
        });
        document
    }
}

/// Whether a decision is about a fence that is not in the text.
const fn is_new(decision: &Decision) -> bool {
    matches!(decision.spot, Spot::Between(_))
}
