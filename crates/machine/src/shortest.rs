//! From a violation that a search found to a run: a shortest one, and among the
//! shortest one with as few context switches as possible.
//!
//! The search tells the distance L of the nearest violations. Going back from
//! them level by level, the states that lie on some run of length L are *marked*
//! (up to symmetry). Going forward over marked states only, each pair of a state
//! and the thread that ran last gets the least number of switches: a shortest
//! path in a layered graph. Pairs that differ only by which copy of a symmetric template
//! is which are one.
//!
//! A step of memory does not change which thread runs; it counts as one switch
//! if it is for another thread than the running one, so that a buffered store of
//! `left` that reaches memory while `right` runs is not counted twice. Among runs
//! with equally many switches, one that changes columns rarely is taken.

use std::collections::{HashMap, HashSet};

use crate::canonical;
use crate::expand::{Move, Scratch, Sink};
use crate::search::{Found, Target, Task};
use crate::state::State;
use crate::store::{Part, StateId};
use palisade_program::Action;

/// Searches with more states do not look for all shortest runs, only for the
/// one by which the violation was found.
const MOST_STATES: u64 = 4_000_000;
/// Most pairs of state and thread in a layer; beyond, those with most switches go.
const MOST_NODES: usize = 20_000;
const NOBODY: usize = usize::MAX;

/// A run: the state in which it starts, and its steps.
pub(crate) struct Run {
    pub(crate) start: State,
    pub(crate) actions: Vec<Action>,
}

/// The best run to the targets of a search.
pub(crate) fn best_run(task: &Task<'_, '_>, found: &Found) -> Option<Run> {
    let small = found.stats.states <= MOST_STATES && task.stopped().is_none();
    let marks = if small && !task.partial_order {
        mark_all(task, found)
    } else {
        mark_chain(found)
    };
    let fails = matches!(found.targets.first(), Some(Target::Fails(_)));
    Forward { task, found, marks }.run(found.length as usize, fails)
}

/// A run to one state, by the way it was found.
pub(crate) fn run_to(task: &Task<'_, '_>, found: &Found, id: StateId) -> Option<Run> {
    let length = found.store.level(id);
    let marks = chain(found, id);
    let forward = Forward { task, found, marks };
    forward.run(length, false)
}

type Marks = Vec<HashSet<StateId>>;

fn mark_chain(found: &Found) -> Marks {
    let target = found.targets.first();
    target.map_or_else(Vec::new, |target| chain(found, target.state()))
}

fn chain(found: &Found, id: StateId) -> Marks {
    let mut ids = vec![id];
    while let Some(parent) = found.store.parent(ids[ids.len() - 1]) {
        ids.push(parent);
    }
    ids.reverse();
    ids.into_iter().map(|id| HashSet::from([id])).collect()
}

fn mark_all(task: &Task<'_, '_>, found: &Found) -> Marks {
    let mut marks: Marks = vec![HashSet::new(); found.length as usize + 1];
    for target in &found.targets {
        let id = target.state();
        marks[found.store.level(id)].insert(id);
    }
    for level in (0..found.length as usize).rev() {
        let reached = &marks[level + 1];
        if !reached.is_empty() {
            let more = predecessors(task, found, &found.levels[level], reached);
            marks[level].extend(more);
        }
    }
    marks
}

/// The states in `parts` with a successor in `reached`.
fn predecessors(
    task: &Task<'_, '_>,
    found: &Found,
    parts: &[Part],
    reached: &HashSet<StateId>,
) -> Vec<StateId> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let size = parts.len().div_ceil(cores).max(8);
    let work = |parts: &[Part]| {
        let mut back = Back {
            task,
            found,
            reached,
            hit: false,
            bytes: Vec::new(),
            scratch: canonical::Scratch::default(),
        };
        let (mut scratch, mut state) = (Scratch::default(), State::default());
        let mut hits = Vec::new();
        for part in parts {
            found.store.shards[part.shard].for_each(*part, |id, bytes| {
                task.machine.unpack(bytes, &mut state);
                back.hit = false;
                task.machine.expand(&state, false, &mut scratch, &mut back);
                if back.hit {
                    hits.push(id);
                }
            });
        }
        hits
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = parts
            .chunks(size)
            .map(|chunk| scope.spawn(move || work(chunk)))
            .collect();
        handles
            .into_iter()
            .flat_map(|h| h.join().expect("expanding a state does not panic"))
            .collect()
    })
}

struct Back<'a, 'p> {
    task: &'a Task<'a, 'p>,
    found: &'a Found,
    reached: &'a HashSet<StateId>,
    hit: bool,
    bytes: Vec<u8>,
    scratch: canonical::Scratch,
}

impl Sink for Back<'_, '_> {
    fn next(&mut self, next: &State, _step: Move<'_>) {
        if !self.hit {
            self.task.pack(next, &mut self.scratch, &mut self.bytes);
            let id = self.found.store.find(&self.bytes);
            self.hit = id.is_some_and(|id| self.reached.contains(&id));
        }
    }

    fn fails(&mut self, _step: Move<'_>) {}
}

/// The thread that ran last, and the one in whose column the last step stands.
type Last = (usize, usize);
/// Switches, then changes of column.
type Cost = (u32, u32);

/// A state with the thread that ran last, and how it was reached best.
struct Node {
    state: State,
    last: Last,
    cost: Cost,
    back: usize,
    action: Option<Action>,
}

struct Forward<'a, 'p> {
    task: &'a Task<'a, 'p>,
    found: &'a Found,
    marks: Marks,
}

impl Forward<'_, '_> {
    /// The best run of this length; `fails`: its last step fails an assertion
    /// and leads to no state, else it ends in a marked state.
    fn run(&self, length: usize, fails: bool) -> Option<Run> {
        let mut layers = vec![self.start()];
        for level in 1..self.marks.len() {
            let next = self.layer(&layers[level - 1], level);
            layers.push(next);
        }
        let (level, index, last) = if fails {
            let before = layers.get(length.checked_sub(1)?)?;
            let (index, action) = self.failing_step(before)?;
            (length - 1, index, Some(action))
        } else {
            let ends = layers.get(length)?.iter().enumerate();
            let (index, _) = ends.min_by_key(|(_, node)| node.cost)?;
            (length, index, None)
        };
        Some(collect(layers, level, index, last))
    }

    fn is_marked(&self, state: &State, level: usize, bytes: &mut Vec<u8>) -> bool {
        let mut scratch = canonical::Scratch::default();
        self.task.pack(state, &mut scratch, bytes);
        let id = self.found.store.find(bytes);
        id.is_some_and(|id| self.marks[level].contains(&id))
    }

    fn start(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut bytes = Vec::new();
        let machine = self.task.machine;
        machine.for_each_initial(&mut crate::options::Bounds::default(), |state, _| {
            if !self.marks.is_empty() && self.is_marked(state, 0, &mut bytes) {
                nodes.push(Node {
                    state: state.clone(),
                    last: (NOBODY, NOBODY),
                    cost: (0, 0),
                    back: 0,
                    action: None,
                });
            }
            nodes.len() < MOST_NODES
        });
        nodes
    }

    fn layer(&self, before: &[Node], level: usize) -> Vec<Node> {
        let mut step = Step::new(self, Some(level), before);
        let mut scratch = Scratch::default();
        for (index, node) in before.iter().enumerate() {
            step.index = index;
            let machine = self.task.machine;
            machine.expand(&node.state, false, &mut scratch, &mut step);
        }
        let mut nodes = step.nodes;
        if nodes.len() > MOST_NODES {
            nodes.sort_by_key(|n| n.cost);
            nodes.truncate(MOST_NODES);
        }
        nodes
    }

    /// The node from which a failing step costs least, and the step.
    fn failing_step(&self, before: &[Node]) -> Option<(usize, Action)> {
        let mut best: Option<(Cost, usize, Action)> = None;
        let mut scratch = Scratch::default();
        for (index, node) in before.iter().enumerate() {
            let mut step = Step::new(self, None, before);
            step.index = index;
            let machine = self.task.machine;
            machine.expand(&node.state, false, &mut scratch, &mut step);
            if let Some((cost, action)) = step.failing
                && best.as_ref().is_none_or(|b| cost < b.0)
            {
                best = Some((cost, index, action));
            }
        }
        best.map(|(_, index, action)| (index, action))
    }
}

/// A state and who was last, up to symmetry: the bytes of the state's representative, what
/// distinguishes the two threads, and whether they are one.
type Key = (Vec<u8>, [Vec<i64>; 2], bool);

struct Step<'a, 'p> {
    forward: &'a Forward<'a, 'p>,
    /// The layer that is built; none if only failing steps are looked for.
    level: Option<usize>,
    from: &'a [Node],
    index: usize,
    nodes: Vec<Node>,
    known: HashMap<Key, usize>,
    failing: Option<(Cost, Action)>,
    bytes: Vec<u8>,
}

impl<'a, 'p> Step<'a, 'p> {
    fn new(forward: &'a Forward<'a, 'p>, level: Option<usize>, from: &'a [Node]) -> Self {
        Self {
            forward,
            level,
            from,
            index: 0,
            nodes: Vec::new(),
            known: HashMap::new(),
            failing: None,
            bytes: Vec::new(),
        }
    }

    /// For a state whose representative is in `bytes`.
    fn key(&self, state: &State, (runner, column): Last) -> Key {
        let task = self.forward.task;
        let of = |thread: usize| match task.canonical {
            Some(canonical) if thread != NOBODY => canonical.key(task.machine, state, thread),
            Some(_) | None => vec![thread as i64],
        };
        let threads = [of(runner), of(column)];
        (self.bytes.clone(), threads, runner == column)
    }

    /// The cost after the step, and who was last.
    fn cost(&self, step: &Move<'_>) -> (Cost, Last) {
        let node = &self.from[self.index];
        let (runner, column) = node.last;
        let differs = |other: usize| u32::from(other != NOBODY && other != step.thread);
        let cost = (node.cost.0 + differs(runner), node.cost.1 + differs(column));
        let runner = if step.by_memory() {
            runner
        } else {
            step.thread
        };
        (cost, (runner, step.thread))
    }
}

impl Sink for Step<'_, '_> {
    fn next(&mut self, next: &State, step: Move<'_>) {
        let forward = self.forward;
        let marked = |level| forward.is_marked(next, level, &mut self.bytes);
        if !self.level.is_some_and(marked) {
            return;
        }
        let (cost, last) = self.cost(&step);
        let key = self.key(next, last);
        let node = |action| Node {
            state: next.clone(),
            last,
            cost,
            back: self.index,
            action: Some(action),
        };
        let action = step.action(&self.from[self.index].state);
        match self.known.get(&key) {
            Some(&at) if self.nodes[at].cost <= cost => {}
            Some(&at) => self.nodes[at] = node(action),
            None => {
                let node = node(action);
                self.known.insert(key, self.nodes.len());
                self.nodes.push(node);
            }
        }
    }

    fn fails(&mut self, step: Move<'_>) {
        let (cost, _) = self.cost(&step);
        if self.failing.as_ref().is_none_or(|f| cost < f.0) {
            let action = step.action(&self.from[self.index].state);
            self.failing = Some((cost, action));
        }
    }
}

fn collect(
    mut layers: Vec<Vec<Node>>,
    level: usize,
    mut index: usize,
    last: Option<Action>,
) -> Run {
    let mut actions: Vec<Action> = last.into_iter().collect();
    for layer in layers[1..=level].iter_mut().rev() {
        let node = &mut layer[index];
        actions.extend(node.action.take());
        index = node.back;
    }
    actions.reverse();
    let start = layers.swap_remove(0).swap_remove(index).state;
    Run { start, actions }
}
