//! `palisade fence`: the cheapest fences that make a program right under TSO or
//! PSO, or flushes under RMA, proved, and shown as a patch of the source.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use palisade::c;
use palisade::repair::{
    Candidates, End, Flushes, Level, Options, Placement, Plan, Repaired, Rule, Search, Site, diff,
    nouns,
};
use palisade_fences::cost::Table;
use palisade_fences::plan::{anchor, side_name};
use palisade_program::{Gap, Model, Orders, Program, Side, Source, Verdict};
use palisade_report::html::Page;
use palisade_report::{Document, Ink, Outcome, Stats, verdict};
use palisade_verify::Report;
use serde_json::{Value, json};

use super::several;
use crate::CommandResult;
use crate::args::{FenceArgs, Models, SearchArg, StartArg};
use crate::context::{self, Context};
use crate::kind::Kind;
use crate::next::Next;
use crate::progress::{self, Progress};
use crate::shown::{counted, shown_trace, trace_of};
use crate::units::units;
use crate::{c_task, input, uninitialised};

/// Every file under every model.
pub(super) fn run_all(args: &FenceArgs, context: &Context) -> CommandResult {
    let more = &args.preprocessor.more;
    let Some(pairs) = several::pairs(&args.file, more, &args.model, &[Model::Sc])? else {
        return run(args, context);
    };
    if args.certificate.is_some() {
        anyhow::bail!("--certificate is for one program under one model");
    }
    if args.write && pairs.iter().any(|(_, model)| *model != pairs[0].1) {
        anyhow::bail!("--write is for one model");
    }
    let whole = args.diff;
    Ok(several::run(
        &pairs,
        whole,
        context,
        |file, model, context| {
            let mut args = args.clone();
            file.clone_into(&mut args.file);
            args.model = Models::one(model);
            if !c_task::is_c(file) {
                args.preprocessor.more.clear();
            }
            run(&args, context)
        },
    ))
}

/// Reads the program with its places for fences.
pub(super) fn candidates(args: &FenceArgs, context: &Context) -> Result<Candidates> {
    let model = model(args)?;
    let source = input::read(&args.file)?;
    let path = if args.file == Path::new("-") {
        Path::new("<stdin>.pal")
    } else {
        &args.file
    };
    let flushes = match args.start {
        None | Some(StartArg::All) => Flushes::All,
        Some(StartArg::Own) => Flushes::Own,
        Some(StartArg::Relaxed | StartArg::SeqCst) if model == Model::Rc11 => Flushes::All,
        Some(StartArg::Relaxed | StartArg::SeqCst) => {
            bail!("--start relaxed, --start seq_cst: these are for --model rc11")
        }
    };
    let c_options = c::Options {
        orders: match model {
            Model::Rc11 => Orders::Kept,
            Model::Sc | Model::Tso | Model::Pso | Model::Rma => Orders::Mapped,
        },
        ..c_options(args, context)?
    };
    input::begin(context, &source);
    let predicates = args.method.predicates.as_deref();
    let predicates = predicates.map(input::read).transpose()?;
    let candidates = Candidates::read_with(
        path,
        source.text(),
        model,
        flushes,
        &c_options,
        predicates.as_ref(),
    );
    let candidates = candidates.map_err(|diagnostics| input::refused(context, &diagnostics))?;
    let program = &candidates.program;
    input::refuse_processes(context, program, model)?;
    if model == Model::Rma && !program.is_rma() {
        bail!("--model rma: the program has no processes and nothing to flush; use tso or pso");
    }
    Ok(candidates)
}

fn run(args: &FenceArgs, context: &Context) -> CommandResult {
    let model = model(args)?;
    if args.write && args.file == Path::new("-") {
        bail!("--write needs a file: standard input cannot be written to; use --diff");
    }
    if matches!(Kind::of(&args.file), Some(Kind::DataStructure)) {
        return super::fence_structure::run(args, context, model);
    }
    if matches!(Kind::of(&args.file), Some(Kind::Object)) {
        bail!("fences are placed in data structures that are written in .pal, not yet in C");
    }
    if model == Model::Rc11 {
        return super::orders::run(args, context);
    }
    if model == Model::Rma
        && let Some(outcome) = super::completion::run(args, context)?
    {
        return Ok(outcome);
    }
    let rule = rule(args)?;
    let candidates = candidates(args, context)?;
    let program = &candidates.program;
    args.method.buffers.check(program, model)?;
    let plan = candidates.plan(&rule);
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some(model.to_string()),
        options: Some(options_value(args)),
        candidates: Some(plan.sites.len() as u64),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let options = options(args, context, model);
    let progress = Progress::start(match model {
        Model::Rma => "placing flushes",
        Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => "placing fences",
    });
    let spelling = match &args.fence_text {
        Some(text) => candidates.spelling().with_fence(text),
        None => candidates.spelling(),
    };
    let mut found = candidates.repair(&plan, spelling, &options);
    drop(progress);
    found.verdict = context.limits.explain(found.verdict);
    let result = Shown {
        plan: &plan,
        program,
        found,
    };
    result.write_files(args)?;
    let next = Next::of_limits(&result.found.verdict, program, context);
    let mut text = result.text(args, context);
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

/// How C is read.
pub(super) fn c_options(args: &FenceArgs, context: &Context) -> Result<c::Options> {
    if let (Some(second), false) = (args.preprocessor.more.first(), c_task::is_c(&args.file)) {
        bail!("{}: several files are for C programs", second.display());
    }
    let (preprocessor, units) = units(&args.file, &args.preprocessor.more, &args.preprocessor)?;
    Ok(c::Options {
        ranks: args.ranks,
        stop: context.limits.stop(),
        preprocessor,
        units,
        ..c::Options::default()
    })
}

fn model(args: &FenceArgs) -> Result<Model> {
    match args.model.only() {
        Model::Sc => {
            bail!("--model sc: under SC no fence has an effect; use tso, pso, rc11 or rma")
        }
        Model::Rma if args.fence_text.is_some() => {
            bail!("--fence-text: flushes are written in the language's own way")
        }
        Model::Rc11 if args.fence_text.is_some() => {
            bail!("--fence-text: fences of C11 are written in the language's own way")
        }
        Model::Rc11 if args.search == SearchArg::Paper => {
            bail!("--search paper: there is no paper's way to memory orders; leave it out")
        }
        model @ (Model::Tso | Model::Pso | Model::Rma | Model::Rc11) => Ok(model),
    }
}

/// The text of a file of costs.
pub(super) fn cost_text(file: &str) -> Result<String> {
    fs::read_to_string(file).with_context(|| {
        format!("--cost {file}: neither `count` nor `loops` nor a file that can be read")
    })
}

fn rule(args: &FenceArgs) -> Result<Rule> {
    Ok(match args.cost.as_str() {
        "count" => Rule::Count,
        "loops" => Rule::Loops,
        file => {
            let table = Table::parse(&cost_text(file)?);
            Rule::Table(table.map_err(|e| {
                anyhow::anyhow!("{file}:{}: {} (such as `full 10`)", e.line, e.message)
            })?)
        }
    })
}

pub(super) fn options(args: &FenceArgs, context: &Context, model: Model) -> Options {
    let defaults = Options::default();
    Options {
        verify: palisade_verify::Options {
            model,
            threads: args.copies,
            // Programs with few states are proved state by state.
            falsify: model != Model::Rma,
            deadline: context.limits.deadline,
            cancel: context.limits.cancel.clone(),
            ..args.method.options()
        },
        all: args.all,
        max_fences: args.max_fences,
        search: match args.search {
            SearchArg::Exact => Search::Exact,
            SearchArg::Paper => Search::Paper,
        },
        falsify_states: args.hunt_states.unwrap_or(defaults.falsify_states),
        progress: Some(|at| {
            progress::detail(format!(
                "round {}, {} bugs found, trying {}",
                at.round, at.bugs, at.best
            ));
        }),
        ..defaults
    }
}

/// The options that the result depends on, for the document.
fn options_value(args: &FenceArgs) -> Value {
    let own = json!({
        "search": match args.search {
            SearchArg::Exact => "exact",
            SearchArg::Paper => "paper",
        },
        "start": match args.start {
            None | Some(StartArg::All) => "all",
            Some(StartArg::Own) => "own",
            Some(StartArg::Relaxed) => "relaxed",
            Some(StartArg::SeqCst) => "seq_cst",
        },
        "cost": args.cost,
        "all": args.all,
        "max_fences": args.max_fences,
        "copies": args.copies,
    });
    let own = own.as_object().cloned().unwrap_or_default();
    args.method.value().into_iter().chain(own).collect()
}

/// A repair, to be shown.
struct Shown<'a, 'p> {
    plan: &'a Plan<'p>,
    program: &'a Program,
    found: Repaired,
}

impl Shown<'_, '_> {
    fn write_files(&self, args: &FenceArgs) -> Result<()> {
        if self.found.verdict != Verdict::Holds {
            return Ok(());
        }
        let proved = self.found.program.as_ref().zip(self.found.proof.as_ref());
        write_repair(args, &self.program.source, &self.found.patched, proved)
    }

    fn fences(&self) -> usize {
        let first = self.found.placements.first();
        first.map_or(0, |p| self.plan.fences(p).len())
    }

    /// The result for people.
    fn text(&self, args: &FenceArgs, context: &Context) -> String {
        let mut text = self.headline(context);
        if let Verdict::Violated(violation) = &self.found.verdict {
            let (one, _) = nouns(self.plan.model);
            let _ = writeln!(text, "the bug exists under sc: no {one} can repair it");
            text.push_str(&shown_trace(
                context,
                self.program,
                &violation.trace,
                args.trace,
            ));
        }
        if let End::NoRepair(violation) = &self.found.synthesis.end {
            let what = match self.plan.model {
                Model::Rma => "a flush",
                Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => "a full fence",
            };
            let _ = writeln!(text, "a run with {what} at every candidate:");
            text.push_str(&shown_trace(
                context,
                self.program,
                &violation.trace,
                args.trace,
            ));
        }
        for (number, placement) in self.found.placements.iter().enumerate() {
            if number > 0 {
                // Writing to a string does not fail.
                let _ = writeln!(text, "or:");
            }
            text.push_str(&self.placement_text(placement));
        }
        if self.found.verdict == Verdict::Holds {
            let _ = writeln!(text, "minimum: {}", self.minimum());
            if args.all && !self.found.synthesis.is_complete {
                text.push_str("note: there may be further placements of this cost\n");
            }
        }
        for (placement, why) in &self.found.synthesis.undecided {
            let placement = self.plan.describe(placement);
            let _ = writeln!(text, "note: undecided: {placement}: {why}");
        }
        if self.found.verdict == Verdict::Holds && args.diff {
            text.push_str(&self.diff());
        }
        let summary = format!(
            "model {}, {}, {}, {}",
            self.plan.model,
            counted(self.plan.sites.len(), "candidate", "candidates"),
            counted(self.found.synthesis.rounds, "round", "rounds"),
            counted(self.found.synthesis.bugs, "bug", "bugs"),
        );
        let _ = writeln!(text, "{}", context.style.paint(Ink::Faint, &summary));
        text
    }

    fn headline(&self, context: &Context) -> String {
        if self.found.verdict != Verdict::Holds {
            return verdict::line(&self.found.verdict, &self.program.source, context.style);
        }
        let word = context.style.paint(Ink::Good, "holds");
        let (one, many) = nouns(self.plan.model);
        let fences = match self.fences() {
            0 => format!("without further {many}"),
            n => format!("with {}", counted(n, one, many)),
        };
        let certified = if self.found.is_certified() {
            " (certified)"
        } else {
            ""
        };
        format!("{word} {fences}{certified}\n")
    }

    fn minimum(&self) -> &'static str {
        if self.found.synthesis.is_minimum {
            "proved"
        } else {
            "unproved"
        }
    }

    /// One line for each fence: where, beside what, in which threads.
    fn placement_text(&self, placement: &Placement) -> String {
        let source = &self.program.source;
        let mut text = String::new();
        for (site, level) in self.plan.fences(placement) {
            let place = anchor(source, &site.gap);
            let threads: Vec<String> = self.threads(site);
            // A statement of several lines is told by the line beside the fence.
            let statement = source.slice(site.gap.statement);
            let beside = if statement.contains('\n') {
                anchored_line(source, &site.gap)
            } else {
                statement
            };
            let _ = writeln!(
                text,
                "  {}:{place}: {} {} `{beside}` in {}",
                source.file_at(site.gap.statement.start),
                kind_text(self.plan.model, level),
                side_name(site.gap.side),
                threads.join(", ")
            );
        }
        text
    }

    fn threads(&self, site: &Site) -> Vec<String> {
        let program = self.plan.program;
        let instances = program.instances(2);
        let threads = self.plan.threads(site, &instances).into_iter();
        threads.map(|i| program.instance_name(i)).collect()
    }

    fn diff(&self) -> String {
        let changed = changed_files(&self.program.source, &self.found.patched);
        let diffs = changed.map(|(name, old, new)| diff::unified(name, name, old, new));
        diffs.collect()
    }

    /// The fences of a placement for the document, one entry per thread.
    fn fences_value(&self, placement: &Placement) -> Vec<Value> {
        let mut all = Vec::new();
        for (site, level) in self.plan.fences(placement) {
            let place = anchor(&self.program.source, &site.gap);
            for thread in self.threads(site) {
                all.push(json!({
                    "thread": thread,
                    "file": self.program.source.file_at(site.gap.statement.start),
                    "line": place.line,
                    "column": place.column,
                    "where": side_name(site.gap.side),
                    "kind": self.plan.kind(level),
                }));
            }
        }
        all
    }

    /// The result for scripts.
    fn document(&self, heading: Document) -> Document {
        let mut document = heading.with_verdict(&self.found.verdict, &self.program.source);
        if let Some(first) = self.found.placements.first() {
            document.certified = Some(self.found.is_certified());
            document.fences = Some(self.fences_value(first));
            document.minimum = Some(self.minimum());
            let others = self.found.placements[1..].iter();
            let others: Vec<Value> = others.map(|p| json!(self.fences_value(p))).collect();
            document.alternatives = Some(others);
            document.text = Some(self.diff()).filter(|diff| !diff.is_empty());
        }
        let mut page = Page::of_program(self.program, trace_of(&self.found.verdict));
        page.patch.clone_from(&document.text);
        document.page = Some(Box::new(page));
        for (placement, why) in &self.found.synthesis.undecided {
            let placement = self.plan.describe(placement);
            document
                .notes
                .push(format!("undecided: {placement}: {why}"));
        }
        let stats = &self.found.synthesis.stats;
        let more = json!({
            "rounds": self.found.synthesis.rounds,
            "bugs": self.found.synthesis.bugs,
        });
        document.stats = Some(Stats {
            predicates: Some(self.found.synthesis.predicates as u64),
            iterations: Some(stats.iterations as u64),
            solver_calls: Some(stats.solver_calls.iter().map(|&(_, calls)| calls).sum()),
            states: Some(stats.states as u64),
            more: more.as_object().cloned().unwrap_or_default(),
            ..context::stats()
        });
        document
    }
}

/// The line beside a fence after a statement of several lines.
pub(super) fn anchored_line<'s>(source: &'s Source, gap: &Gap) -> &'s str {
    let statement = gap.statement;
    let offset = match (gap.head, gap.side) {
        (Some(head), _) => head.condition.start,
        (None, Side::After) => statement.end.saturating_sub(1),
        (None, Side::Before | Side::Head | Side::At) => statement.start,
    };
    source.line_at(offset).trim()
}

/// Writes the files that a repair changes and the certificate of its proof, as asked.
pub(super) fn write_repair(
    args: &FenceArgs,
    source: &Source,
    patched: &Source,
    proved: Option<(&Program, &Report)>,
) -> Result<()> {
    if args.write {
        for (name, _, text) in changed_files(source, patched) {
            fs::write(name, text).with_context(|| format!("cannot write {name}"))?;
        }
    }
    let certificate = proved.and_then(|(p, report)| Some((p, report.certificate.as_ref()?)));
    if let (Some(path), Some((program, certificate))) = (&args.certificate, certificate) {
        let text = palisade_certify::print(program, certificate);
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The files that differ: their names, and their texts before and after.
pub(super) fn changed_files<'s>(
    old: &'s Source,
    new: &'s Source,
) -> impl Iterator<Item = (&'s str, &'s str, &'s str)> {
    let texts = old.files().zip(new.files());
    let texts = texts.map(|((name, a), (_, b))| (name, &old.text()[a], &new.text()[b]));
    texts.filter(|(_, a, b)| a != b)
}

const fn kind_text(model: Model, level: Level) -> &'static str {
    match level {
        Level::None => "nothing",
        Level::Full if matches!(model, Model::Rma) => "flush",
        Level::StoreStore => "fence(ss)",
        Level::Full => "fence",
    }
}
