//! The *execution graph* of a run: its reads and writes, and between them program order
//! (`po`), which write a read reads from (`rf`), the order in which writes of one cell reach
//! memory (coherence, `co`), and from-reads (`fr`: a read, and the write that follows in
//! coherence the one that it read from). This is the picture that the literature on memory
//! models argues with: under SC the union of the four has no cycle.

use std::collections::BTreeMap;

use palisade_program::{Event, Trace, TraceStep};

/// A read or a write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The thread; `None` for the initial value of a cell.
    pub thread: Option<usize>,
    /// The step of the trace.
    pub step: Option<usize>,
    /// Whether it writes.
    pub writes: bool,
    /// The cell.
    pub cell: String,
    /// The value.
    pub value: i64,
}

/// The relations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Relation {
    /// Program order.
    Po,
    /// Reads-from.
    Rf,
    /// Coherence.
    Co,
    /// From-reads.
    Fr,
}

impl Relation {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Po => "po",
            Self::Rf => "rf",
            Self::Co => "co",
            Self::Fr => "fr",
        }
    }
}

/// The graph; edges by indices of nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Execution {
    /// Reads and writes.
    pub nodes: Vec<Node>,
    /// What relates them.
    pub edges: Vec<(usize, usize, Relation)>,
}

/// Builds the graph step by step.
#[derive(Default)]
struct Builder {
    graph: Execution,
    /// The last event of each thread.
    last: BTreeMap<usize, usize>,
    /// Writes of each cell in the order in which they reached memory.
    coherence: BTreeMap<String, Vec<usize>>,
    /// Writes that wait in buffers: thread, cell, node; oldest first.
    waiting: Vec<(usize, String, usize)>,
    /// What each read reads from.
    sources: Vec<(usize, usize)>,
}

impl Builder {
    /// The write of a cell that memory shows, or one so many writes before it: its initial value if there was
    /// none yet.
    fn newest(&mut self, trace: &Trace, cell: &str, behind: usize) -> usize {
        if let Some(all) = self.coherence.get(cell) {
            return all[all.len().saturating_sub(behind + 1)];
        }
        let node = self.graph.nodes.len();
        self.graph.nodes.push(Node {
            thread: None,
            step: None,
            writes: true,
            cell: cell.to_owned(),
            value: trace.initial.get(cell).copied().unwrap_or_default(),
        });
        self.coherence.insert(cell.to_owned(), vec![node]);
        node
    }

    fn reaches_memory(&mut self, trace: &Trace, cell: &str, node: usize, below: usize) {
        self.newest(trace, cell, 0);
        let order = self.coherence.entry(cell.to_owned()).or_default();
        order.insert(order.len().saturating_sub(below).max(1), node);
    }

    /// A step of the memory system: the oldest store of the thread to that cell arrives.
    fn arrives(&mut self, trace: &Trace, thread: usize, cell: &str) {
        let mut waiting = self.waiting.iter();
        let first = waiting.position(|(t, c, _)| *t == thread && c == cell);
        if let Some(first) = first {
            let (_, _, node) = self.waiting.remove(first);
            self.reaches_memory(trace, cell, node, 0);
        }
    }

    fn add(&mut self, trace: &Trace, step: &TraceStep, number: usize, event: &Event) {
        let (cell, value, writes) = match event {
            Event::Read { cell, value, .. } => (cell, *value, false),
            Event::Write { cell, value, .. } => (cell, *value, true),
            Event::Fence | Event::Other => return,
        };
        let source = match event {
            Event::Read { own: true, .. } => {
                let mut own = self.waiting.iter().rev();
                own.find(|(t, c, _)| *t == step.thread && c == cell)
                    .map(|w| w.2)
            }
            Event::Read {
                own: false, behind, ..
            } => Some(self.newest(trace, cell, *behind)),
            Event::Write { .. } | Event::Fence | Event::Other => None,
        };
        let node = self.graph.nodes.len();
        self.graph.nodes.push(Node {
            thread: Some(step.thread),
            step: Some(number),
            writes,
            cell: cell.clone(),
            value,
        });
        if let Some(before) = self.last.insert(step.thread, node) {
            self.graph.edges.push((before, node, Relation::Po));
        }
        self.sources.extend(source.map(|source| (source, node)));
        match event {
            Event::Write { buffered: true, .. } => {
                self.waiting.push((step.thread, cell.clone(), node));
            }
            Event::Write {
                buffered: false,
                below,
                ..
            } => self.reaches_memory(trace, cell, node, *below),
            Event::Read { .. } | Event::Fence | Event::Other => {}
        }
    }

    fn finish(mut self, trace: &Trace) -> Execution {
        // What still waits comes after all that has arrived.
        for (_, cell, node) in std::mem::take(&mut self.waiting) {
            self.reaches_memory(trace, &cell, node, 0);
        }
        let edges = &mut self.graph.edges;
        for order in self.coherence.values() {
            edges.extend(
                order
                    .windows(2)
                    .map(|pair| (pair[0], pair[1], Relation::Co)),
            );
        }
        for (source, read) in self.sources {
            edges.push((source, read, Relation::Rf));
            let order = self
                .coherence
                .values()
                .find(|order| order.contains(&source));
            let next = order.and_then(|order| {
                let at = order.iter().position(|node| *node == source)?;
                order.get(at + 1)
            });
            // A read-modify-write is not before its own write.
            let step = |node: usize| (self.graph.nodes[node].thread, self.graph.nodes[node].step);
            if let Some(next) = next.filter(|next| step(**next) != step(read)) {
                edges.push((read, *next, Relation::Fr));
            }
        }
        self.graph
    }
}

impl Execution {
    /// The graph of a run; cells that `hidden` says yes to are left out.
    pub fn of(trace: &Trace, hidden: impl Fn(&str) -> bool) -> Self {
        let mut builder = Builder::default();
        for (number, step) in trace.steps.iter().enumerate() {
            for event in &step.events {
                let cell = match event {
                    Event::Read { cell, .. } | Event::Write { cell, .. } => cell,
                    Event::Fence | Event::Other => continue,
                };
                if hidden(cell) {
                    continue;
                }
                if step.by_memory {
                    builder.arrives(trace, step.thread, cell);
                } else {
                    builder.add(trace, step, number, event);
                }
            }
        }
        builder.finish(trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(thread: usize, by_memory: bool, event: Event) -> TraceStep {
        TraceStep {
            thread,
            by_memory,
            events: vec![event],
            ..TraceStep::default()
        }
    }

    fn write(cell: &str, buffered: bool) -> Event {
        Event::Write {
            cell: cell.to_owned(),
            value: 1,
            buffered,
            below: 0,
        }
    }

    fn read(cell: &str, value: i64, own: bool) -> Event {
        Event::Read {
            cell: cell.to_owned(),
            value,
            own,
            behind: 0,
        }
    }

    /// Store buffering: both read the initial value, so from-reads close a cycle with program
    /// order.
    #[test]
    fn store_buffering_is_a_cycle() {
        let cells = ["x", "y"].map(|name| (name.to_owned(), 0));
        let trace = Trace {
            threads: vec!["a".into(), "b".into()],
            initial: BTreeMap::from(cells),
            steps: vec![
                step(0, false, write("x", true)),
                step(0, false, read("x", 1, true)),
                step(0, false, read("y", 0, false)),
                step(1, false, write("y", true)),
                step(1, false, read("x", 0, false)),
                step(0, true, write("x", true)),
            ],
            ..Trace::default()
        };
        let graph = Execution::of(&trace, |_| false);
        let node = |thread, writes, cell: &str| {
            let is = |n: &Node| n.thread == thread && n.writes == writes && n.cell == cell;
            graph.nodes.iter().position(is).expect("a node")
        };
        let (wx, wy) = (node(Some(0), true, "x"), node(Some(1), true, "y"));
        let (own, ry) = (node(Some(0), false, "x"), node(Some(0), false, "y"));
        let rx = node(Some(1), false, "x");
        for edge in [
            (wx, own, Relation::Po),
            (own, ry, Relation::Po),
            (wy, rx, Relation::Po),
            (wx, own, Relation::Rf),
            (node(None, true, "y"), ry, Relation::Rf),
            (node(None, true, "x"), wx, Relation::Co),
            (ry, wy, Relation::Fr),
            (rx, wx, Relation::Fr),
        ] {
            assert!(graph.edges.contains(&edge), "{edge:?} not in {graph:?}");
        }
        assert_eq!(graph.edges.len(), 10, "{graph:?}");
    }

    #[test]
    fn hidden_cells_are_left_out() {
        let trace = Trace {
            threads: vec!["a".into()],
            steps: vec![step(0, false, write("t.started", false))],
            ..Trace::default()
        };
        assert!(
            Execution::of(&trace, |cell| cell == "t.started")
                .nodes
                .is_empty()
        );
    }

    /// RC11: a stale read reads from an older write, and a write may go below newer ones.
    #[test]
    fn stale_reads_and_writes_below() {
        let write = |value, below| Event::Write {
            cell: "x".to_owned(),
            value,
            buffered: false,
            below,
        };
        let stale = Event::Read {
            cell: "x".to_owned(),
            value: 2,
            own: false,
            behind: 1,
        };
        let trace = Trace {
            threads: vec!["a".into(), "b".into()],
            initial: BTreeMap::from([("x".to_owned(), 0)]),
            steps: vec![
                step(0, false, write(1, 0)),
                step(1, false, write(2, 1)),
                step(1, false, stale),
            ],
            ..Trace::default()
        };
        let graph = Execution::of(&trace, |_| false);
        let node = |writes, value| {
            let is = |n: &Node| n.writes == writes && n.value == value;
            graph.nodes.iter().position(is).expect("a node")
        };
        let (first, second, read) = (node(true, 1), node(true, 2), node(false, 2));
        for edge in [
            (second, first, Relation::Co),
            (second, read, Relation::Rf),
            (read, first, Relation::Fr),
        ] {
            assert!(graph.edges.contains(&edge), "{edge:?} {graph:?}");
        }
    }
}
