//! The *document*: what `--json` prints, one for every command. Scripts rely on
//! the keys of schema 1; a key that does not apply is left out. New keys may be
//! added under the same schema number, never another meaning for an old one.

use std::collections::BTreeMap;

use palisade_program::{Broken, Event, Source, Trace, TraceStep, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::html::Page;
use crate::{saved, verdict};

/// The version of the keys below.
pub(crate) const SCHEMA: u32 = 1;

/// One JSON document.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Document {
    /// Always `SCHEMA`.
    pub schema: u32,
    /// The subcommand.
    pub command: String,
    /// The words behind it.
    pub arguments: Option<Vec<String>>,
    /// The input file as given; left out when there are several.
    pub input: Option<String>,
    /// The memory model.
    pub model: Option<String>,
    /// The answer: `holds`, `violated` or `unknown`.
    pub verdict: Option<&'static str>,
    /// `holds`: whether the separate checker confirmed the invariant.
    pub certified: Option<bool>,
    /// `violated`: whether the concrete machine ran the trace.
    pub replayed: Option<bool>,
    /// Why: what is violated, or what ran out.
    pub reason: Option<String>,
    /// The violated property: its `kind`, and where it stands.
    pub property: Option<Value>,
    /// The bound that was touched, for `unknown`.
    pub bound: Option<String>,
    /// `unknown`: what to try, and the abstract run at which it is stuck.
    pub next: Option<Value>,
    /// The fences of a repair, one entry per thread.
    pub fences: Option<Vec<Value>>,
    /// Whether the repair is known to be a cheapest one: `proved` or `unproved`.
    pub minimum: Option<&'static str>,
    /// Places where a fence could go.
    pub candidates: Option<u64>,
    /// Other repairs of the same cost, each like `fences`.
    pub alternatives: Option<Vec<Value>>,
    /// `verify`: what was tried, in order.
    pub attempts: Option<Vec<Value>>,
    /// How the run starts: memory, and locals that may start with any value.
    pub start: Option<Value>,
    /// The run that violates.
    pub trace: Option<Value>,
    /// Variables that are read before anything was written to them, so that they start with
    /// any value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uninitialised: Vec<String>,
    /// Several files or models: a document for each pair.
    pub runs: Option<Vec<Value>>,
    /// A run to each `reach` of the program: its `condition` and its `trace`.
    pub reached: Option<Vec<Value>>,
    /// The predicates that `verify` used.
    pub predicates: Option<Vec<String>>,
    /// Results of litmus tests.
    pub tests: Option<Vec<Value>>,
    /// Messages of a shape analysis.
    pub messages: Option<Vec<Value>>,
    /// Rows of a suite of experiments.
    pub rows: Option<Vec<Value>>,
    /// Final states (`explore --final`): values by name.
    pub finals: Option<Vec<Value>>,
    /// What the command produced if that is text: a formatted program, a graph.
    pub text: Option<String>,
    /// Further remarks, such as deadlocks that were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Errors and warnings about the input.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Complaint>,
    /// Memory that is read before anything was written to it: the verdict is about any
    /// values of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Complaint>,
    /// Limits and options that the result depends on.
    pub options: Option<Value>,
    /// What it cost.
    pub stats: Option<Stats>,
    /// What a page shows beside all this.
    #[serde(skip)]
    pub page: Option<Box<Page>>,
}

/// How much is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The input cannot be used.
    Error,
    /// It can be used, and is probably not what was meant.
    Warning,
    /// Nothing is wrong; something is worth knowing.
    Note,
}

/// One error or warning about an input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Complaint {
    /// Which of them it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The file.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column, from 1.
    pub column: Option<u32>,
    /// The remedy.
    pub help: Option<String>,
}

/// What a run cost. Engines fill in what they count.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Stats {
    /// Predicates in use at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicates: Option<u64>,
    /// Rounds of refinement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Calls of the solver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solver_calls: Option<u64>,
    /// States stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<u64>,
    /// Transitions taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transitions: Option<u64>,
    /// Shape structures stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structures: Option<u64>,
    /// Processor time of the whole process.
    pub cpu_seconds: f64,
    /// Largest resident memory of the whole process.
    pub peak_memory_bytes: u64,
    /// Whatever else an engine counts: solver calls by purpose, cache hits ...
    #[serde(flatten)]
    pub more: serde_json::Map<String, Value>,
}

impl Document {
    /// A document with nothing but the command's name.
    pub fn new(command: &str) -> Self {
        Self {
            schema: SCHEMA,
            command: command.to_owned(),
            ..Self::default()
        }
    }

    /// Fills in everything that the verdict says. A trace in a verdict has been
    /// run by the concrete machine: that is what [`Verdict::Violated`] means.
    #[must_use]
    pub fn with_verdict(mut self, verdict: &Verdict, source: &Source) -> Self {
        self.verdict = Some(verdict::word(verdict));
        self.reason = verdict::reason(verdict);
        self.bound = verdict::bound(verdict);
        if let Verdict::Violated(violation) = verdict {
            let place = source.position(violation.span.start);
            let mut property = json!({
                "kind": violation.broken.kind(),
                "file": source.file_at(violation.span.start),
                "line": place.line,
                "column": place.column,
            });
            if let Some(first) = violation.trace.repeats {
                property["repeats_from_step"] = json!(first);
            }
            self.property = Some(property);
            // What no run reaches has none to show.
            if !matches!(violation.broken, Broken::Unreachable(_)) {
                self.replayed = Some(true);
                self.start = Some(saved::start_value(&violation.trace));
                self.trace = Some(trace_value(&violation.trace, source));
            }
        }
        self
    }

    /// One document of several runs: what they share, and each of them.
    pub fn of_runs<'d>(runs: impl Iterator<Item = &'d Self> + Clone) -> Self {
        let first = runs.clone().next();
        Self {
            schema: SCHEMA,
            command: first.map_or_else(String::new, |run| run.command.clone()),
            arguments: first.and_then(|run| run.arguments.clone()),
            runs: Some(runs.map(Self::value).collect()),
            ..Self::default()
        }
    }

    /// The document as indented JSON, ended by a line break.
    pub fn to_json(&self) -> String {
        format!("{:#}\n", self.value())
    }

    fn value(&self) -> Value {
        // A tree of strings, numbers and lists always has a JSON form.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        for list in ["diagnostics", "warnings"] {
            let complaints = value.get_mut(list).and_then(Value::as_array_mut);
            complaints.into_iter().flatten().for_each(without_absent);
        }
        without_absent(&mut value);
        value
    }
}

/// The `trace` of a document: one object per step, with all of memory and all
/// non-empty buffers after it.
pub fn trace_value(trace: &Trace, source: &Source) -> Value {
    let steps = trace.steps.iter();
    steps.map(|step| step_value(trace, step, source)).collect()
}

fn step_value(trace: &Trace, step: &TraceStep, source: &Source) -> Value {
    let place = source.position(step.span.start);
    let mut value = json!({
        "thread": trace.threads.get(step.thread).map_or("?", String::as_str),
        "file": source.file_at(step.span.start),
        "line": place.line,
        "column": place.column,
        "actor": if step.by_memory { "memory" } else { "thread" },
        "step": step.text,
        "events": step.events.iter().map(event_value).collect::<Vec<_>>(),
        "memory": step.memory,
        "locals": step.locals,
        "buffers": step.buffers,
    });
    if !step.brings.is_empty() {
        let brings: BTreeMap<&str, i64> = step.brings.iter().map(|(c, v)| (&**c, *v)).collect();
        value["brings"] = json!(brings);
    }
    if let Some(action) = &step.action {
        value["action"] = saved::action_value(action);
    }
    value
}

fn event_value(event: &Event) -> Value {
    match event {
        Event::Read {
            cell,
            value,
            own,
            behind,
        } => {
            let mut read = json!({ "kind": "read", "cell": cell, "value": value, "own": own });
            if *behind > 0 {
                read["behind"] = json!(behind);
            }
            read
        }
        Event::Write {
            cell,
            value,
            buffered,
            below,
        } => {
            let mut write =
                json!({ "kind": "write", "cell": cell, "value": value, "buffered": buffered });
            if *below > 0 {
                write["behind"] = json!(below);
            }
            write
        }
        Event::Fence => json!({ "kind": "fence" }),
        Event::Other => json!({ "kind": "other" }),
    }
}

/// Leaves keys out that do not apply.
fn without_absent(value: &mut Value) {
    if let Value::Object(keys) = value {
        keys.retain(|_, value| !value.is_null());
    }
}
