//! *Saved runs*: what a JSON document says of a run, beside what people read, so that the
//! concrete machine can run it again: how it starts (`start`), and of each step the action
//! (`action`) by the numbers of edges and cells.

use std::collections::BTreeMap;

use palisade_program::{Action, ActionKind, BlockStep, Cell, EdgeId, LocalId, Trace};
use serde_json::{Value, json};

/// A run as a document has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Saved {
    /// Names of the threads.
    pub threads: Vec<String>,
    /// Values of cells at the start, by name.
    pub cells: BTreeMap<String, i64>,
    /// Values of locals that may start with any value, by thread.
    pub locals: BTreeMap<(usize, LocalId), i64>,
    /// The steps.
    pub actions: Vec<Action>,
}

/// The `start` of a document.
pub(crate) fn start_value(trace: &Trace) -> Value {
    let local = |(&(thread, local), value): (&(usize, LocalId), &i64)| json!({ "thread": thread, "local": local.index(), "value": value });
    json!({
        "threads": trace.threads,
        "memory": trace.initial,
        "locals": trace.locals.iter().map(local).collect::<Vec<_>>(),
    })
}

/// The `action` of a step.
pub(crate) fn action_value(action: &Action) -> Value {
    let thread = action.thread;
    match &action.kind {
        ActionKind::Step { edge, choice: None } => {
            json!({ "kind": "step", "thread": thread, "edge": edge.index() })
        }
        ActionKind::Step {
            edge,
            choice: Some(choice),
        } => json!({ "kind": "step", "thread": thread, "edge": edge.index(), "choice": choice }),
        ActionKind::Block { edge, path } => {
            json!({ "kind": "block", "thread": thread, "edge": edge.index(), "path": path_value(path) })
        }
        ActionKind::Ordered { edge, path, pick } => json!({
            "kind": "ordered", "thread": thread, "edge": edge.index(),
            "path": path_value(path), "pick": pick,
        }),
        ActionKind::Update { cell } => {
            json!({ "kind": "update", "thread": thread, "cell": cell.index() })
        }
        ActionKind::NetworkRead { source, target } => json!({
            "kind": "network-read", "thread": thread,
            "source": source.index(), "cell": target.index(),
        }),
        ActionKind::AtomicRead {
            target,
            position,
            operand,
        } => json!({
            "kind": "atomic-read", "thread": thread, "cell": target.index(),
            "position": position, "operand": operand,
        }),
        ActionKind::AtomicApply { target } => {
            json!({ "kind": "atomic-apply", "thread": thread, "cell": target.index() })
        }
        ActionKind::NetworkWrite { target, value } => json!({
            "kind": "network-write", "thread": thread, "cell": target.index(), "value": value,
        }),
    }
}

fn path_value(path: &[BlockStep]) -> Vec<Value> {
    let step = |(edge, choice): &BlockStep| json!([edge.index(), choice]);
    path.iter().map(step).collect()
}

impl Saved {
    /// Reads the run of a document; the error says what is missing.
    ///
    /// # Errors
    /// The key that is not as it should be.
    pub fn read(document: &Value) -> Result<Self, String> {
        let start = &document["start"];
        let threads = start["threads"].as_array().and_then(|names| {
            let names = names.iter().map(|name| name.as_str().map(str::to_owned));
            names.collect::<Option<Vec<_>>>()
        });
        let cells = start["memory"].as_object().and_then(|cells| {
            let cells = cells.iter().map(|(k, v)| Some((k.clone(), v.as_i64()?)));
            cells.collect::<Option<BTreeMap<_, _>>>()
        });
        let local = |value: &Value| {
            let thread = number(&value["thread"])?;
            let local = LocalId::from(number(&value["local"])?);
            Some(((thread, local), value["value"].as_i64()?))
        };
        let locals = start["locals"].as_array();
        let locals = locals.and_then(|all| all.iter().map(local).collect::<Option<_>>());
        let steps = document["trace"].as_array().ok_or("`trace`")?;
        let mut actions = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            let action = read_action(&step["action"]);
            actions.push(action.ok_or_else(|| format!("`action` of step {}", number + 1))?);
        }
        Ok(Self {
            threads: threads.ok_or("`start.threads`")?,
            cells: cells.ok_or("`start.memory`")?,
            locals: locals.ok_or("`start.locals`")?,
            actions,
        })
    }
}

/// A number that counts or names something.
fn number(value: &Value) -> Option<usize> {
    u32::try_from(value.as_u64()?).ok().map(|n| n as usize)
}

fn read_action(value: &Value) -> Option<Action> {
    let edge = || number(&value["edge"]).map(EdgeId::from);
    let cell = |key: &str| number(&value[key]).map(Cell::from);
    let kind = match value["kind"].as_str()? {
        "step" => ActionKind::Step {
            edge: edge()?,
            choice: match &value["choice"] {
                Value::Null => None,
                chosen => Some(chosen.as_i64()?),
            },
        },
        "block" => ActionKind::Block {
            edge: edge()?,
            path: read_path(&value["path"])?,
        },
        "ordered" => ActionKind::Ordered {
            edge: edge()?,
            path: read_path(&value["path"])?,
            pick: number(&value["pick"])?,
        },
        "update" => ActionKind::Update {
            cell: cell("cell")?,
        },
        "network-read" => ActionKind::NetworkRead {
            source: cell("source")?,
            target: cell("cell")?,
        },
        "atomic-read" => ActionKind::AtomicRead {
            target: cell("cell")?,
            position: number(&value["position"])?,
            operand: number(&value["operand"])?,
        },
        "atomic-apply" => ActionKind::AtomicApply {
            target: cell("cell")?,
        },
        "network-write" => ActionKind::NetworkWrite {
            target: cell("cell")?,
            value: value["value"].as_i64()?,
        },
        _ => return None,
    };
    Some(Action {
        thread: number(&value["thread"])?,
        kind,
    })
}

fn read_path(value: &Value) -> Option<Vec<BlockStep>> {
    let step = |step: &Value| {
        let edge = EdgeId::from(number(&step[0])?);
        let choice = match &step[1] {
            Value::Null => None,
            chosen => Some(chosen.as_i64()?),
        };
        Some((edge, choice))
    };
    value.as_array()?.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_program::TraceStep;

    /// What is written is read again, for every kind of action.
    #[test]
    fn runs_come_back() {
        let kinds = [
            ActionKind::Step {
                edge: EdgeId::from(3),
                choice: None,
            },
            ActionKind::Step {
                edge: EdgeId::from(3),
                choice: Some(i64::MIN),
            },
            ActionKind::Block {
                edge: EdgeId::from(1),
                path: vec![(EdgeId::from(0), None), (EdgeId::from(2), Some(-7))],
            },
            ActionKind::Ordered {
                edge: EdgeId::from(1),
                path: Vec::new(),
                pick: 2,
            },
            ActionKind::Update {
                cell: Cell::from(4),
            },
            ActionKind::NetworkRead {
                source: Cell::from(4),
                target: Cell::from(5),
            },
            ActionKind::AtomicRead {
                target: Cell::from(4),
                position: 1,
                operand: 2,
            },
            ActionKind::AtomicApply {
                target: Cell::from(4),
            },
            ActionKind::NetworkWrite {
                target: Cell::from(4),
                value: -1,
            },
        ];
        let actions = kinds.map(|kind| Action { thread: 1, kind });
        let step = |action: &Action| TraceStep {
            thread: 1,
            action: Some(action.clone()),
            ..TraceStep::default()
        };
        let trace = Trace {
            threads: vec!["a".into(), "b".into()],
            initial: BTreeMap::from([("x".to_owned(), i64::MAX)]),
            locals: BTreeMap::from([((1, LocalId::from(2)), -5)]),
            steps: actions.iter().map(step).collect(),
            ..Trace::default()
        };
        let source = palisade_program::Source::new("a.pal", "");
        let mut document = json!({
            "start": start_value(&trace),
            "trace": crate::trace_value(&trace, &source),
        });
        let saved = Saved::read(&document).expect("it can be read");
        assert_eq!(saved.actions, actions);
        assert_eq!(saved.locals, trace.locals);
        assert_eq!(saved.cells, trace.initial);
        document["trace"][4]["action"]["cell"] = json!(-1);
        let wrong = Saved::read(&document).expect_err("no cell");
        assert!(wrong.contains("step 5"), "{wrong}");
    }
}
