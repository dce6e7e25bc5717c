//! The *document*: what `--json` prints, one for every command. Scripts rely on
//! the keys of schema 1; a key that does not apply is left out. New keys may be
//! added under the same schema number, never another meaning for an old one.

use serde::Serialize;
use serde_json::Value;

use crate::verdict::Verdict;

/// The version of the keys below.
pub const SCHEMA: u32 = 1;

/// One JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// The subcommand.
    pub command: String,
    /// The input file as given; left out when there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The memory model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// `holds`: whether the separate checker confirmed the invariant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified: Option<bool>,
    /// `violated`: whether the concrete machine replayed the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
    /// Why: what is violated, or what ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The bound that was touched, for `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// The run that violates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Value>,
    /// Results of litmus tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Vec<LitmusTest>>,
    /// Final states (`explore --final`): variable and value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_states: Option<Value>,
    /// Further remarks, such as deadlocks that were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Errors in the input: text, file, line, column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorEntry>,
    /// Limits and options that the result depends on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<Stats>,
}

/// One error in an input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ErrorEntry {
    /// What is wrong.
    pub message: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// The result of one litmus test, in herd's terms.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LitmusTest {
    /// The test's name.
    pub name: String,
    /// Its file.
    pub input: String,
    /// The memory model.
    pub model: String,
    /// The final states, each as herd prints it.
    pub states: Vec<String>,
    /// Whether the quantified condition is satisfied (herd's `Ok` or `No`).
    pub ok: bool,
    /// `Never`, `Sometimes` or `Always`.
    pub observation: String,
    /// Final states that satisfy the condition.
    pub positive: usize,
    /// Final states that do not.
    pub negative: usize,
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
}

impl Document {
    /// A document with nothing but the command's name.
    pub fn new(command: &str) -> Self {
        Self {
            schema: SCHEMA,
            command: command.to_owned(),
            input: None,
            model: None,
            verdict: None,
            certified: None,
            replayed: None,
            reason: None,
            bound: None,
            trace: None,
            tests: None,
            final_states: None,
            notes: Vec::new(),
            errors: Vec::new(),
            options: None,
            stats: None,
        }
    }

    /// The document as indented JSON, ended by a line break.
    pub fn to_json(&self) -> String {
        // A tree of strings, numbers and lists always has a JSON form.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
