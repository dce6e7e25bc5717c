//! `palisade shape`: analyses a heap program by 3-valued logic (TVLA's languages).
//! The verdict and its evidence are the library's; this reads files and options.

use std::fmt::Write;

use palisade_frontend::{Diagnostic, Diagnostics};
use palisade_program::{Source, Unknown};
use palisade_report::html::Page;
use palisade_report::{Document, Outcome, Stats};
use palisade_shape::analysis::{Analysis, Input, Options, analyse};
use palisade_shape::draw;
use palisade_shape::engine::{Given, Limits, Stop};
use palisade_shape::explore::{Bounds, Objection, Run};
use palisade_shape::join::Join;
use palisade_shape::print::tvs;
use palisade_shape::properties::{self, Requested};
use palisade_shape::report;
use palisade_shape::verdict::{Reason, Verdict, explain};
use serde_json::{Map, Value, json};

use crate::CommandResult;
use crate::args::{JoinArg, ShapeArgs};
use crate::context::{self, Context};
use crate::models::{self, Texts};
use crate::progress::Progress;
use crate::{drawings, input};

pub(super) fn run(args: &ShapeArgs, context: &Context) -> CommandResult {
    let texts = Texts::default();
    let program = texts.read(&args.program)?;
    let states = match &args.states {
        Some(path) => texts.read(path)?,
        None => texts.read(&models::default_states(&args.program)?)?,
    };
    let load = |path: &str, from: &str| texts.load(path, from);
    let mut options = Options {
        bounds: Bounds {
            visits: args.visits.unwrap_or(Bounds::default().visits),
            ..Bounds::default()
        },
        defines: args.defines.clone(),
        delayed_start: args.delayed_start,
        loader: &load,
        cancel: Some(&context.limits.cancel),
        ..Options::default()
    };
    let heading = Document {
        input: Some(program.name().to_owned()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let settings = match settings(args, &texts, &program, &options) {
        Ok(settings) => settings,
        Err(Refusal::Wrong(diagnostics)) => return Ok(input::refuse(context, &diagnostics)),
        Err(Refusal::Unreadable(error)) => return Err(error),
    };
    options.limits = settings.limits;
    let progress = Progress::start("analysing");
    let result = analyse(text_of(&program), text_of(&states), &options);
    drop(progress);
    let mut analysis = match result {
        Ok(analysis) => analysis,
        Err(errors) => return Ok(models::refuse(context, &texts, &errors)),
    };
    name_the_limit(&mut analysis, context);
    let mut notes = settings.notes;
    if args.delayed_start {
        notes.push(
            "a thread that an update makes ready waits for one more step: runs in which it starts at \
             once were not looked at"
                .to_owned(),
        );
    }
    if let (Some(format), Some(folder)) = (args.dump, &args.out) {
        let count = drawings::write(&analysis, format, folder)?;
        notes.push(format!("{count} drawings are in {}", folder.display()));
    }
    let document = Document {
        options: Some(options_value(&options)),
        page: Some(Box::new(page(&program, &analysis))),
        ..document(heading, &analysis, &notes)
    };
    context.print(&text(args, &analysis, &notes), &document);
    Ok(outcome(&analysis.verdict))
}

fn text_of(source: &Source) -> Input<'_> {
    Input {
        name: source.name(),
        text: source.text(),
    }
}

/// Limits and join, and what is to be said about where they come from.
struct Settings {
    limits: Limits,
    notes: Vec<String>,
}

/// Why there are no settings.
enum Refusal {
    /// A setting is wrong.
    Wrong(Diagnostics),
    /// The file cannot be read.
    Unreadable(anyhow::Error),
}

/// The property file beside the program (as in TVLA, the one with its name), those that the program
/// asks for, then the one of the command line, then the options: the later wins.
fn settings(
    args: &ShapeArgs,
    texts: &Texts,
    program: &Source,
    options: &Options<'_>,
) -> Result<Settings, Refusal> {
    let mut settings = Settings {
        limits: Limits::default(),
        notes: Vec::new(),
    };
    let beside = args.program.with_extension("properties");
    if beside.is_file() {
        settings.apply(&texts.read(&beside).map_err(Refusal::Unreadable)?)?;
    }
    for Requested { path, from, found } in properties::requested(text_of(program), options) {
        match found {
            Some((name, text)) => settings.apply(&Source::new(name, text))?,
            None => settings.notes.push(format!(
                "{from} asks for the properties {path}, which cannot be read: nothing is set"
            )),
        }
    }
    if let Some(path) = &args.properties {
        let source = texts.read(path).map_err(Refusal::Unreadable)?;
        settings.apply(&source)?;
    }
    let limits = &mut settings.limits;
    limits.join = args.join.map_or(limits.join, join);
    limits.structures = args.max_structures.or(limits.structures);
    limits.messages = args.max_messages.or(limits.messages);
    limits.workers = args.workers.unwrap_or(limits.workers);
    Ok(settings)
}

impl Settings {
    fn apply(&mut self, source: &Source) -> Result<(), Refusal> {
        let ignored = properties::apply(source.text(), &mut self.limits).map_err(|error| {
            let line = source.line(error.line);
            let indent = line.chars().take_while(|c| c.is_whitespace()).count();
            let column = u32::try_from(indent).map_or(1, |indent| indent + 1);
            let span = models::word_at(source, error.line, column);
            let item = Diagnostic::error(span, error.message);
            Refusal::Wrong(Diagnostics::new(source.clone(), vec![item]))
        })?;
        if !ignored.is_empty() {
            let (name, keys) = (source.name(), ignored.join(", "));
            self.notes.push(format!("{name}: without effect: {keys}"));
        }
        Ok(())
    }
}

const fn join(join: JoinArg) -> Join {
    match join {
        JoinArg::Rel => Join::Rel,
        JoinArg::Part => Join::Part,
        JoinArg::Ind => Join::Ind,
        JoinArg::Conc => Join::Conc,
    }
}

const fn join_name(join: Join) -> &'static str {
    match join {
        Join::Rel => "rel",
        Join::Part => "part",
        Join::Ind => "ind",
        Join::Conc => "conc",
    }
}

/// The library cannot know who cancelled it.
fn name_the_limit(analysis: &mut Analysis, context: &Context) {
    if let Verdict::Unknown(Reason::Stopped(stop @ Stop::Cancelled)) = &mut analysis.verdict {
        match context.limits.stopped() {
            Some(Unknown::Time) => *stop = Stop::Time,
            Some(Unknown::Memory) => *stop = Stop::Memory,
            _ => {}
        }
    }
}

const fn outcome(verdict: &Verdict) -> Outcome {
    match verdict {
        Verdict::Holds { .. } => Outcome::Holds,
        Verdict::Violated(_) => Outcome::Violated,
        Verdict::Unknown(_) => Outcome::Unknown,
    }
}

/// The options that the result depends on, for the document.
fn options_value(options: &Options<'_>) -> Value {
    let defines: Map<String, Value> = options
        .defines
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    json!({
        "join": join_name(options.limits.join),
        "defines": defines,
        "delayed_start": options.delayed_start,
        "max_structures": options.limits.structures,
        "max_messages": options.limits.messages,
        "visits": options.bounds.visits,
    })
}

/// The result for people: the library's report, with our notes before it.
fn text(args: &ShapeArgs, analysis: &Analysis, notes: &[String]) -> String {
    let mut text = String::new();
    for note in notes {
        // Writing to a string does not fail.
        let _ = writeln!(text, "note: {note}");
    }
    text.push_str(&report::text(analysis));
    if let Verdict::Unknown(reason) = &analysis.verdict
        && let Some(remedy) = remedy(reason)
    {
        let _ = writeln!(text, "  help: {remedy}");
    }
    if args.stats {
        let cost = context::stats();
        let fixpoint = &analysis.fixpoint;
        let _ = writeln!(text, "structures {}", fixpoint.kept());
        let _ = writeln!(text, "structures in total {}", fixpoint.total);
        let _ = writeln!(text, "intermediate structures {}", fixpoint.intermediate);
        let _ = writeln!(text, "cpu seconds {:.3}", cost.cpu_seconds);
        let _ = writeln!(text, "peak memory bytes {}", cost.peak_memory_bytes);
    }
    text
}

/// What to do about an `unknown`.
fn remedy(reason: &Reason) -> Option<&'static str> {
    match reason {
        Reason::Messages => Some("--visits N looks at more worlds for a run"),
        Reason::Unconfirmed => Some("--visits N looks at more worlds"),
        Reason::Doubtful(_) => Some("focus on the formula of the message makes it definite"),
        Reason::Stopped(stop) => match stop {
            Stop::Structures => Some("--max-structures N stores more"),
            Stop::Messages => Some("--max-messages N goes on for more"),
            Stop::Finished
            | Stop::Time
            | Stop::Memory
            | Stop::TooLarge
            | Stop::Halted
            | Stop::Decided
            | Stop::Cancelled => None,
        },
        Reason::Objection(objection) => match **objection {
            Objection::NotCovered { .. } | Objection::MessageMissed { .. } => {
                Some("this is a defect of palisade; please report it with the input")
            }
            Objection::AxiomBroken { .. } => Some("correct the rule or property, or the action"),
            Objection::UpdateWrong { .. } => Some("correct the update, or leave it out"),
        },
    }
}

/// The result for scripts.
fn document(heading: Document, analysis: &Analysis, notes: &[String]) -> Document {
    let fixpoint = &analysis.fixpoint;
    let messages = fixpoint.messages.iter();
    let mut document = Document {
        verdict: Some(analysis.verdict.word()),
        messages: Some(
            messages
                .map(|given| message_value(analysis, given))
                .collect(),
        ),
        notes: [notes, &report::notes(analysis)].concat(),
        stats: Some(Stats {
            structures: Some(fixpoint.kept() as u64),
            more: more_stats(analysis),
            ..context::stats()
        }),
        ..heading
    };
    match &analysis.verdict {
        Verdict::Holds { .. } => {}
        Verdict::Violated(run) => {
            let (edge, index) = run.message;
            let message = report::message_of(analysis, edge, index);
            document.reason = message.map(|message| message.text.clone());
            document.replayed = Some(true);
            document.trace = Some(run_value(analysis, run));
        }
        Verdict::Unknown(reason) => {
            document.reason = Some(explain(&analysis.model, reason));
        }
    }
    document
}

/// Structures that a page shows at most.
const MOST_DRAWINGS: usize = 60;

/// The page: the run of a violation state by state, what caused messages, and the structures
/// at each location.
fn page(program: &Source, analysis: &Analysis) -> Page {
    let vocabulary = &analysis.model.vocabulary;
    let mut drawings = Vec::new();
    if let Verdict::Violated(run) = &analysis.verdict {
        let start = draw::svg(vocabulary, &run.start.structure(vocabulary));
        drawings.push(("The run: at the start".to_owned(), start));
        for (number, step) in run.steps.iter().enumerate() {
            let action = &analysis.model.actions[analysis.model.edges[step.edge].action];
            let title = action.title.trim().replace('\n', " ");
            let world = draw::svg(vocabulary, &step.world.structure(vocabulary));
            drawings.push((format!("The run: step {}, {title}", number + 1), world));
        }
    }
    for (title, structures) in drawings::groups(analysis) {
        let many = structures.len();
        for (number, structure) in structures.iter().enumerate() {
            let title = if title.starts_with("message-") {
                title.replace('-', " ")
            } else {
                format!("Location {title}, structure {} of {many}", number + 1)
            };
            drawings.push((title, draw::svg(vocabulary, structure)));
        }
    }
    drawings.truncate(MOST_DRAWINGS);
    let mut page = Page::of_source(program);
    page.drawings = drawings;
    page
}

/// What the document's fixed keys do not cover.
fn more_stats(analysis: &Analysis) -> Map<String, Value> {
    let fixpoint = &analysis.fixpoint;
    let locations = analysis.model.locations.iter().zip(&fixpoint.locations);
    let by_location: Map<String, Value> = locations
        .map(|(label, at)| (label.clone(), json!(at.set.structures().len())))
        .collect();
    let mut more = Map::new();
    more.insert("structures_total".into(), json!(fixpoint.total));
    more.insert("structures_built".into(), json!(fixpoint.intermediate));
    more.insert("structures_by_location".into(), by_location.into());
    if let Verdict::Holds {
        worlds,
        steps,
        edges,
        fired,
        ..
    } = &analysis.verdict
    {
        more.insert("confirmed_worlds".into(), json!(worlds));
        more.insert("confirmed_steps".into(), json!(steps));
        more.insert("confirmed_actions".into(), json!(edges));
        more.insert("actions".into(), json!(fired));
    }
    more
}

/// One message: its text, where it stands, how it was reached, what caused it.
fn message_value(analysis: &Analysis, given: &Given) -> Value {
    let span = report::message_of(analysis, given.edge, given.message).map(|m| m.span);
    let file = span.and_then(|span| analysis.files.get(span.file as usize));
    let before = analysis.fixpoint.trace(given.from);
    let edges = before.iter().map(|origin| origin.edge).chain([given.edge]);
    let trace: Vec<Value> = edges
        .map(|edge| Value::Object(step_value(analysis, edge)))
        .collect();
    json!({
        "text": given.text,
        "value": given.value.to_string(),
        "count": given.count,
        "location": location(analysis, given.edge),
        "file": file,
        "line": span.map(|span| span.line),
        "trace": trace,
        "structure": tvs(&analysis.model.vocabulary, &given.structure),
    })
}

/// The run that gives a message: every step with the world after it; the last
/// with the world in which the message was given.
fn run_value(analysis: &Analysis, run: &Run) -> Value {
    let vocabulary = &analysis.model.vocabulary;
    let mut start = Map::new();
    start.insert("step".into(), json!("start"));
    let world = tvs(vocabulary, &run.start.structure(vocabulary));
    start.insert("structure".into(), json!(world));
    let steps = run.steps.iter().map(|step| {
        let mut value = step_value(analysis, step.edge);
        let bound = report::bound(analysis, step.edge, &step.bound);
        if !bound.is_empty() {
            value.insert("bound".into(), json!(bound));
        }
        let world = tvs(vocabulary, &step.world.structure(vocabulary));
        value.insert("structure".into(), json!(world));
        value
    });
    let all = std::iter::once(start).chain(steps);
    all.map(Value::Object).collect()
}

/// An action with the location it leaves and where it is defined.
fn step_value(analysis: &Analysis, edge: usize) -> Map<String, Value> {
    let action = &analysis.model.actions[analysis.model.edges[edge].action];
    let mut value = Map::new();
    let title = action.title.trim().replace('\n', " ");
    value.insert("step".into(), json!(title));
    value.insert("location".into(), json!(location(analysis, edge)));
    if let Some(file) = analysis.files.get(action.span.file as usize)
        && action.span.line > 0
    {
        value.insert("file".into(), json!(file));
        value.insert("line".into(), json!(action.span.line));
    }
    value
}

fn location(analysis: &Analysis, edge: usize) -> &str {
    &analysis.model.locations[analysis.model.edges[edge].source]
}
