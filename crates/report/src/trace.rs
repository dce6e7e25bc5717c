//! A *trace*: a run of the program as a sequence of steps, each with the state
//! of memory and store buffers after it. Names and texts are already resolved:
//! a trace can be shown without the program at hand.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Who acts in a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Actor {
    /// The thread itself, at a place of its code.
    Thread,
    /// The memory system on behalf of the thread: a buffered store reaches
    /// memory, or half of a remote operation is done.
    Memory,
}

/// Memory and buffers at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Every cell of shared memory and its value, in order of declaration.
    pub memory: Vec<(String, i64)>,
    /// By thread: what its store buffer (or the network, for RMA) still holds,
    /// oldest first, each entry as text such as `x=1`.
    pub buffers: Vec<Vec<String>>,
}

/// One step of a [`Trace`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep {
    /// The thread it belongs to: index into [`Trace::threads`].
    pub thread: usize,
    /// Who acts.
    pub actor: Actor,
    /// Source line, from 1.
    pub line: Option<u32>,
    /// Source column, from 1.
    pub column: Option<u32>,
    /// The whole source line, if there is one.
    pub source: String,
    /// What happens, as the language writes it.
    pub step: String,
    /// The state afterwards.
    pub after: Snapshot,
}

/// A run from an initial state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Names of the threads, one per instance.
    pub threads: Vec<String>,
    /// The state it starts from.
    pub start: Snapshot,
    /// The steps in order of time.
    pub steps: Vec<TraceStep>,
    /// What is wrong at the end, as one sentence.
    pub conclusion: String,
}

impl Snapshot {
    /// The cells whose value differs from `before`.
    pub fn changed_memory<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = &'a (String, i64)> {
        self.memory
            .iter()
            .enumerate()
            .filter(|&(index, cell)| before.memory.get(index) != Some(cell))
            .map(|(_, cell)| cell)
    }

    /// The threads whose buffer differs from `before`, with what it holds now.
    pub fn changed_buffers<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = (usize, &'a [String])> {
        self.buffers
            .iter()
            .enumerate()
            .filter(|&(index, buffer)| {
                before.buffers.get(index).map_or(&[][..], Vec::as_slice) != buffer.as_slice()
            })
            .map(|(index, buffer)| (index, buffer.as_slice()))
    }
}

impl Trace {
    /// How often another thread takes over.
    pub fn context_switches(&self) -> usize {
        self.steps
            .windows(2)
            .filter(|pair| pair[0].thread != pair[1].thread)
            .count()
    }

    /// The `trace` value of the JSON document: one object per step with the
    /// whole memory and all non-empty buffers after it.
    pub fn to_json(&self) -> Value {
        self.steps
            .iter()
            .map(|step| self.step_to_json(step))
            .collect()
    }

    fn step_to_json(&self, step: &TraceStep) -> Value {
        let mut object = Map::new();
        object.insert("thread".into(), json!(self.thread_name(step.thread)));
        if let Some(line) = step.line {
            object.insert("line".into(), json!(line));
        }
        if let Some(column) = step.column {
            object.insert("column".into(), json!(column));
        }
        object.insert("actor".into(), json!(step.actor));
        object.insert("step".into(), json!(step.step));
        object.insert("memory".into(), self.memory_to_json(&step.after));
        object.insert("buffers".into(), self.buffers_to_json(&step.after));
        Value::Object(object)
    }

    #[allow(clippy::unused_self)] // beside `buffers_to_json`, which needs the names
    fn memory_to_json(&self, state: &Snapshot) -> Value {
        state
            .memory
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect()
    }

    fn buffers_to_json(&self, state: &Snapshot) -> Value {
        state
            .buffers
            .iter()
            .enumerate()
            .filter(|(_, buffer)| !buffer.is_empty())
            .map(|(thread, buffer)| (self.thread_name(thread).to_owned(), json!(buffer)))
            .collect()
    }

    /// The name of a thread; a number that is none of this trace is shown as such.
    pub fn thread_name(&self, thread: usize) -> &str {
        self.threads.get(thread).map_or("?", String::as_str)
    }
}

impl Serialize for Actor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Thread => "thread",
            Self::Memory => "memory",
        })
    }
}
